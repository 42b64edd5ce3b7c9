"""Lines of the journal by their number, without reading what lies before them.

Numbers grow along the files and along the months, so that a line is found by halving. A journal that somebody has put
together anew may have them in another order: what is not found that way is looked for from the beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from holdfast.store.filesystem import FileSystem
from holdfast.store.position import START, lines_since, months_in

_SPAN = 1 << 16  # bytes; so few are read through
Read = Callable[[bytes], dict[str, Any] | None]


def records_at(numbers: Iterable[int], folder: Path, disk: FileSystem, read: Read) -> dict[int, dict[str, Any]]:
    """The readable records of these numbers, by number; those that are not there are left out.

    Args:
        numbers: of the lines.
        folder: the journal's.
        disk: the file system.
        read: makes a record of a line, None of one that cannot be read.
    """
    months = [folder / name for name in months_in(folder, disk)]
    found: dict[int, dict[str, Any]] = {}
    missing: set[int] = set()
    for number in sorted(set(numbers)):
        record = _halving(number, months, disk, read)
        if record is None:
            missing.add(number)
        else:
            found[number] = record
    for line in lines_since(START, folder, disk) if missing else ():
        record = read(line.raw)
        if record is not None and record["seq"] in missing:
            found[record["seq"]] = record
    return found


def _halving(number: int, months: list[Path], disk: FileSystem, read: Read) -> dict[str, Any] | None:
    for path in reversed(months):
        first = _first_from(0, path, disk, read)
        if first is not None and first["seq"] <= number:
            return _in_file(number, path, disk, read)
    return None


def _in_file(number: int, path: Path, disk: FileSystem, read: Read) -> dict[str, Any] | None:
    """The record in a file whose first number is not behind it."""
    begin, end = 0, disk.size(path)  # it begins at or behind the one, and before the other
    while end - begin > _SPAN:
        middle = (begin + end) // 2
        record = _first_from(middle, path, disk, read)
        if record is not None and record["seq"] <= number:
            begin = middle
        else:
            end = middle
    data = disk.read(path, end - begin + _SPAN, begin)
    while (more := disk.read(path, _SPAN, begin + len(data))) and b"\n" not in data[end - begin :]:
        data += more  # a line that is longer than usual
    lines = data.split(b"\n")
    records = (read(line) for line in (lines if begin == 0 else lines[1:]))
    return next((record for record in records if record is not None and record["seq"] == number), None)


def _first_from(offset: int, path: Path, disk: FileSystem, read: Read) -> dict[str, Any] | None:
    """The first readable record that begins behind an offset, or at it where that is the beginning."""
    start, rest, skips = offset, b"", offset > 0
    while piece := disk.read(path, _SPAN, start):
        start += len(piece)
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            if skips:
                skips = False
            elif (record := read(line)) is not None:
                return record
    return None
