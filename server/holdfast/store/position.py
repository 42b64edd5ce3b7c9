"""Places in the journal: how far somebody has read it, and its lines from there on, a piece of a file at a time."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.store.filesystem import FileSystem

PIECE = 1 << 18  # bytes that are read at a time
MOST_HARMED = 5  # damaged lines whose places are told
_MONTH = re.compile(r"\d{4}-\d\d\.jsonl")


@dataclass(frozen=True, slots=True)
class Position:
    """A place in the journal, behind a whole line or before all of them.

    `months` has the bytes of every file up to there. Number, length and checksum of the last line tell whether the
    files are still those that were read: one that was cut, replaced or taken from a backup does not fit.

    Attributes:
        seq: the highest number of a record up to there.
        settled: the highest number that a record up to there calls settled.
        months: bytes by file name.
        line: the number of the last line in its file, from 1.
        length: its bytes without the line end.
        checksum: CRC-32 of these.
        damaged: how many lines up to there cannot be read.
        harmed: where the first of them are.
    """

    seq: int = 0
    settled: int = 0
    months: Mapping[str, int] = field(default_factory=dict)
    line: int = 0
    length: int = 0
    checksum: int = 0
    damaged: int = 0
    harmed: tuple[str, ...] = ()

    def render(self) -> str:
        """As text, to be kept by whoever has read so far."""
        told = {name: getattr(self, name) for name in _NUMBERS}
        return json.dumps({**told, "months": dict(self.months), "harmed": list(self.harmed)}, separators=(",", ":"))

    @property
    def month(self) -> str:
        """The file that it is in; empty at the very beginning."""
        return max(self.months, default="")


_NUMBERS = ("seq", "settled", "line", "length", "checksum", "damaged")
START = Position()


def read_position(text: str) -> Position | None:
    """What `render` has made; None for anything else."""
    try:
        told: dict[str, Any] = json.loads(text)
        numbers = {name: told[name] for name in _NUMBERS}
        months, harmed = dict(told["months"]), tuple(told["harmed"])
    except (ValueError, TypeError, KeyError):
        return None
    sound = all(type(value) is int and value >= 0 for value in (*numbers.values(), *months.values()))
    named = all(map(_MONTH.fullmatch, months)) and all(isinstance(place, str) for place in harmed)
    return Position(months=months, harmed=harmed, **numbers) if sound and named else None


class Line(NamedTuple):
    """A line as it stands in its file: `number` counts from 1, `end` is the offset behind it, `raw` has no line end."""

    month: str
    number: int
    end: int
    raw: bytes


class Read(NamedTuple):
    """A record with its place: `earlier` has the bytes of the files before its own, the others count up to here."""

    record: dict[str, Any]
    line: Line
    seq: int
    settled: int
    earlier: Mapping[str, int]
    damaged: int
    harmed: tuple[str, ...]

    @property
    def position(self) -> Position:
        """The place behind it."""
        month, number, end, raw = self.line
        months = {**self.earlier, month: end}
        return Position(self.seq, self.settled, months, number, len(raw), zlib.crc32(raw), self.damaged, self.harmed)


def months_in(folder: Path, disk: FileSystem) -> list[str]:
    """The journal's files in order."""
    return [name for name in disk.list_folder(folder) if _MONTH.fullmatch(name)]


def fits(position: Position, folder: Path, disk: FileSystem) -> bool:
    """Whether the journal still begins with all that was read up to there, as far as sizes and one line can tell."""
    there, last = months_in(folder, disk), position.month
    sizes = {name: disk.size(folder / name) for name in there if name <= last}
    if sizes.keys() != position.months.keys():
        return False
    if any(size != position.months[name] for name, size in sizes.items() if name != last):
        return False
    if not last:
        return True
    end = position.months[last]
    if sizes[last] < end:
        return False
    start = end - position.length - 1
    data = b"" if start < 0 else disk.read(folder / last, position.length + 1, start)
    return data.endswith(b"\n") and zlib.crc32(data[:-1]) == position.checksum


def lines_since(position: Position, folder: Path, disk: FileSystem) -> Iterator[Line]:
    """Every line with its end behind a place, in order; what has no line end yet is left out."""
    for name in months_in(folder, disk):
        if name >= position.month:
            start = position.months.get(name, 0)
            number = position.line if name == position.month else 0
            yield from _lines_of(folder / name, start, number, disk)


def reads_since(
    position: Position, folder: Path, disk: FileSystem, read: Callable[[bytes], dict[str, Any] | None]
) -> Iterator[Read]:
    """Every readable record behind a place. A damaged line counts when a readable one follows: the last may be torn.

    Args:
        position: the place.
        folder: the journal's.
        disk: the file system.
        read: makes a record of a line, None of one that cannot be read.
    """
    seq, settled, damaged, harmed = position.seq, position.settled, position.damaged, position.harmed
    earlier: dict[str, int] = {}
    month = ""
    bad: list[Line] = []
    for line in lines_since(position, folder, disk):
        if line.month != month:
            month = line.month
            earlier = {name: disk.size(folder / name) for name in months_in(folder, disk) if name < month}
        record = read(line.raw)
        if record is None:
            bad += [line] if line.raw.strip(b" ") else []  # blanks: what a purge took away
            continue
        seq, settled = max(seq, record["seq"]), max(settled, record.get("settled", 0))
        if bad:
            damaged += len(bad)
            harmed = (*harmed, *(f"{each.month} line {each.number}" for each in bad))[:MOST_HARMED]
            bad = []
        yield Read(record, line, seq, settled, earlier, damaged, harmed)


def _lines_of(path: Path, start: int, number: int, disk: FileSystem) -> Iterator[Line]:
    rest = b""
    while piece := _piece(path, start, disk):
        start += len(piece)
        *whole, rest = (rest + piece).split(b"\n")
        end = start - len(rest) - sum(map(len, whole)) - len(whole)
        for raw in whole:
            number += 1
            end += len(raw) + 1
            yield Line(path.name, number, end, raw)


def _piece(path: Path, start: int, disk: FileSystem) -> bytes:
    try:
        return disk.read(path, PIECE, start)
    except FileNotFoundError:
        return b""


def lines_backwards(folder: Path, disk: FileSystem) -> Iterator[tuple[str, int, bytes]]:
    """Every line, the last one first: its file, the offset where it begins, and its bytes."""
    for name in reversed(months_in(folder, disk)):
        start, rest = disk.size(folder / name), b""
        while start > 0:
            begin = max(0, start - PIECE)
            data = disk.read(folder / name, start - begin, begin) + rest
            start = begin
            first, *whole = data.split(b"\n")
            offset = begin + len(data)
            for raw in reversed(whole):
                offset -= len(raw)
                yield name, offset, raw
                offset -= 1
            rest = first
        yield name, 0, rest
