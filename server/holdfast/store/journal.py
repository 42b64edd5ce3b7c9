"""The journal: an append-only history of every change, one checked line each, in one sequence for all processes.

A line is a JSON object that begins with `sum` (CRC-32 of what follows it) and `len` (its bytes). A line that was torn
by a crash is cut off, under the lock, before the next one is added. Records with a `change` are intents: they are
flushed before the files that they name are renamed. A key `done`, written lazily, lists changes that are whole, `void`
those that never happened; `settled` says that every change up to a sequence is either.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import anyio.to_thread

from holdfast.batching import Batcher
from holdfast.errors import StorageError
from holdfast.model.pages import is_page, is_page_key, page_key
from holdfast.model.times import instant
from holdfast.store.filesystem import FileSystem
from holdfast.store.folder import LONGEST_NAME, Folder
from holdfast.store.locks import Lock

Record = dict[str, Any]

_PREFIX = re.compile(rb'\{"sum":"([0-9a-f]{8})","len":(\d{1,9}),')
_MONTH = re.compile(r"\d{4}-\d\d\.jsonl")
_SHORTEST = 30
_LATEST = 2  # months that may still grow


@dataclass(frozen=True, slots=True)
class _Entry:
    record: Record
    flush: bool


def line_of(record: Record, blanks: int = 0) -> bytes:
    """One journal line: `{"sum":"<crc32>","len":<bytes>,<the record's own keys>}` and a line end.

    `blanks` before the last brace take the place of what was taken out of a line.
    """
    rest = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()[1:-1] + b" " * blanks + b"}"
    return b'{"sum":"%08x","len":%d,' % (zlib.crc32(rest), len(rest)) + rest + b"\n"


def read_line(line: bytes) -> Record | None:
    """The record of a whole, unharmed line (without its line end), else None."""
    found = _PREFIX.match(line)
    if found is None:
        return None
    rest = line[found.end() :]
    if len(rest) != int(found.group(2)) or zlib.crc32(rest) != int(found.group(1), 16):
        return None
    try:
        record = json.loads(b"{" + rest)
    except (ValueError, RecursionError):
        return None
    return record if _is_sound(record) else None


_LARGEST_SEQ = 1 << 53
_HASH = re.compile(r"[0-9a-f]{64}")


def _is_sound(record: Record) -> bool:
    """Whether a record has the form of ours: a checksum does not say who wrote the line."""
    seq, settled = record.get("seq"), record.get("settled", 0)
    if type(seq) is not int or not 0 < seq < _LARGEST_SEQ or type(settled) is not int or settled > seq:
        return False
    if not all(_are_texts(record.get(key, [])) for key in ("done", "void")):
        return False
    if "change" not in record:
        return "files" not in record
    files = record.get("files")
    return (
        _are_texts([record["change"], record.get("op"), record.get("at")])
        and _are_texts(record.get("guards", []))
        and isinstance(files, list)
        and all(isinstance(file, dict) and _is_planned(file) for file in files)
    )


def _are_texts(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def _is_planned(file: Record) -> bool:
    names = [file.get("path"), file.get("aside")]
    hashes = [value for value in (file.get("before"), file.get("after")) if value is not None]
    return (
        _are_texts([file.get("note"), *names, *hashes])
        and type(file.get("size", 0)) is int
        and _is_named(file["note"], file["path"])
        and all(_HASH.fullmatch(value) for value in hashes)
        and all(_is_inside(str(name)) for name in names)
    )


def _is_named(name: str, path: str) -> bool:
    """Whether a page's key goes with its path: no line may speak of any other file of the folder."""
    return not is_page_key(name) or (name == page_key(path) and is_page(path))


def _is_inside(path: str) -> bool:
    names = path.split("/")
    return "\0" not in path and not any(
        name in {"", ".", ".."} or len(name.encode("utf-8", "replace")) > LONGEST_NAME for name in names
    )


class Journal:
    """Appends and reads the records of one folder.

    Args:
        folder: the layout; files are `journal/YYYY-MM.jsonl`.
        files: the file system.
        clock: the time now; it names the month's file and stamps the records, never orders them.
    """

    def __init__(self, folder: Folder, files: FileSystem, clock: Callable[[], datetime]) -> None:
        self._folder = folder
        self._files = files
        self._clock = clock
        self._lock = Lock(folder.locks / "journal")
        self._appends: Batcher[_Entry, int] = Batcher(self._append_all)
        self._read: dict[str, int] = {}  # bytes of each file that were read and held whole lines
        self._seq = 0
        self._opened_at = 0
        self._since_settled = 0
        self._appending = False
        self._durable = ""  # the month whose name is known to be flushed
        self._fresh: list[Record] = []  # read from the files and not yet handed to `news`
        self.damaged = 0  # lines in the middle of a file that cannot be read

    async def open(self) -> None:
        """Find the last sequence number and everything since the last `settled` record."""
        async with self._lock.hold():
            await anyio.to_thread.run_sync(self._read_back)

    async def mark_settled(self, least: int) -> None:
        """Say that every change known at `open` is settled, if that spares the next start `least` records."""
        if self._since_settled >= least:
            await self.append({"settled": self._opened_at}, flush=False)

    async def append(self, record: Record, *, flush: bool = True) -> int:
        """Add a record; returns its sequence number, once it is on the disk if `flush` is set.

        Raises:
            StorageError: the disk refused; the record is not in the journal.
        """
        return await self._appends.submit(_Entry(record, flush))

    async def append_all(self, records: Sequence[Record]) -> None:
        """Add records that were written once before, in one go and flushed; those with a time keep it.

        Raises:
            StorageError: the disk refused; none of them is in the journal.
        """
        if records:
            await self._append_all([_Entry(record, flush=True) for record in records])

    async def news(self) -> list[Record]:
        """Records of other processes that were not handed out before. Costs a look at two files when there are none."""
        if not self._appending and self._grown():  # an append reads what is new by itself
            async with self._lock.hold():
                await anyio.to_thread.run_sync(self._read_latest)
        fresh, self._fresh = self._fresh, []
        return fresh

    def records(self, holding: Sequence[bytes] = (b"",)) -> Iterator[Record]:
        """Every readable record of every month, in the order of its sequence; only lines with one of these words."""
        found = [record for name in self._months() for record, _ in _whole_lines(self._bytes(name), holding)]
        return iter(sorted(found, key=lambda record: int(record["seq"])))

    def backwards(self) -> Iterator[Record]:
        """Every readable record, the newest first, as far as one asks."""
        for name in reversed(self._months()):
            for line in reversed(self._bytes(name).split(b"\n")):
                record = read_line(line) if len(line) >= _SHORTEST else None
                if record is not None:
                    yield record

    async def rewrite(self, change: Callable[[bytes], bytes]) -> None:
        """Change the bytes of the files, of which each keeps its length, so that no reader loses its place in it."""
        async with self._lock.hold():
            await anyio.to_thread.run_sync(self._rewrite, change)

    def _rewrite(self, change: Callable[[bytes], bytes]) -> None:
        for name in self._months():
            path = self._folder.journal / name
            aside = path.with_name(f".{name}.tmp")
            self._files.remove(aside)  # of a process that died here
            before = self._bytes(name)
            after = change(before)
            if len(after) != len(before):
                raise ValueError("a file of the journal must keep its length")
            if after != before:
                self._files.create(aside, after)
                self._files.swap(aside, path)
                self._files.remove(aside)
            self._files.flush_folder(path.parent)

    def close(self) -> None:
        self._lock.close()

    async def _append_all(self, entries: Sequence[_Entry]) -> Sequence[int]:
        self._appending = True
        try:
            async with self._lock.hold():
                return await anyio.to_thread.run_sync(self._write, entries)
        finally:
            self._appending = False

    def _write(self, entries: Sequence[_Entry]) -> Sequence[int]:
        now = self._clock()
        try:
            name = max([f"{now:%Y-%m}.jsonl", *self._months()[-1:]])  # a clock that went back opens no old month
            self._read_latest()
            path = self._folder.journal / name
            there = self._files.size(path)
        except OSError as error:
            raise _refused(error) from error
        size = min(self._read.get(name, 0), there)
        data = b""
        given = []
        for entry in entries:
            self._seq += 1
            given.append(self._seq)
            data += line_of({"seq": self._seq, "at": instant(now), **entry.record})
        try:
            if there > size:
                self._files.truncate(path, size)  # a torn tail: nobody else can be writing now
            if not there:  # new, or removed under us with its folder
                self._files.make_folder(path.parent)
                self._durable = ""
            self._files.append(path, data, flush=any(entry.flush for entry in entries))
            if self._durable != name:  # whoever made the file may have died before its name was flushed
                self._files.flush_folder(self._folder.journal)
                self._durable = name
        except OSError as error:
            raise (_refused if self._undo_append(path, size) else _unknown)(error) from error
        self._read[name] = size + len(data)
        return given

    def _undo_append(self, path: Path, size: int) -> bool:
        """Cut off what was added; False where the disk refuses that too, and a whole line may stay."""
        try:
            if self._files.size(path) > size:
                self._files.truncate(path, size)
        except OSError:
            return False
        return True

    def _months(self) -> list[str]:
        return [name for name in self._files.list_folder(self._folder.journal) if _MONTH.fullmatch(name)]

    def _grown(self) -> bool:
        names = self._months()[-_LATEST:]
        return any(self._files.size(self._folder.journal / name) != self._read.get(name, 0) for name in names)

    def _bytes(self, name: str, start: int = 0) -> bytes:
        try:
            return self._files.read(self._folder.journal / name, start=start)
        except FileNotFoundError:
            return b""

    def _read_new(self, name: str) -> None:
        """Take in the whole lines that were added to a file since it was last read."""
        start = self._read.get(name, 0)
        size = self._files.size(self._folder.journal / name)
        if size <= start:
            if size < start:
                self._read[name] = size
            return
        data = self._bytes(name, start)
        end = 0
        for record, stop in _whole_lines(data):
            self._fresh.append(record)
            self._seq = max(self._seq, int(record["seq"]))
            end = stop
        self.damaged += _unreadable(data[:end])
        self._read[name] = start + end

    def _read_latest(self) -> None:
        for name in self._months()[-_LATEST:]:
            self._read_new(name)

    def _read_back(self) -> None:
        """Newest month first, until one says that all before it is settled; two at least, for clocks that went back."""
        found: list[Record] = []
        for count, name in enumerate(reversed(self._months()), 1):
            self._read_new(name)
            found, self._fresh = self._fresh + found, []
            if count >= _LATEST and any("settled" in record for record in found):
                break
        self._fresh = found
        self._opened_at = self._seq
        marks = [place for place, record in enumerate(found) if "settled" in record]
        self._since_settled = len(found) - (marks[-1] + 1 if marks else 0)


def _refused(error: OSError) -> StorageError:
    return StorageError(
        f"The journal cannot be written: {error.strerror}.",
        "Nothing was stored. Check free space and permissions of the memory folder.",
    )


def _unknown(error: OSError) -> StorageError:
    return StorageError(
        f"The journal failed while it was written, and again while that was taken back: {error.strerror}.",
        "It may be there or not; look before you repeat it.",
    )


def _whole_lines(data: bytes, holding: Sequence[bytes] = (b"",)) -> Iterator[tuple[Record, int]]:
    """Each readable line's record and the offset behind it; only of lines that hold one of these words."""
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        line = data[start:end]
        record = read_line(line) if len(line) >= _SHORTEST and any(word in line for word in holding) else None
        if record is not None:
            yield record, end + 1
        start = end + 1


def _unreadable(data: bytes) -> int:
    return sum(1 for line in data.split(b"\n") if line and read_line(line) is None)
