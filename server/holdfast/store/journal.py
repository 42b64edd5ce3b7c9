"""The journal: an append-only history of every change, one checked line each, in one sequence for all processes.

A line is a JSON object that begins with `sum` (CRC-32 of what follows it) and `len` (its bytes). A line that was torn
by a crash is cut off, under the lock, before the next one is added. Records with a `change` are intents: they are
flushed before the files that they name are renamed. A key `done`, written lazily, lists changes that are whole, `void`
those that never happened; `settled` says that every change up to a sequence is either.
"""

from __future__ import annotations

import itertools
import json
import re
import threading
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import anyio.to_thread

from holdfast.batching import Batcher
from holdfast.errors import StorageError
from holdfast.model.note import instant
from holdfast.model.records import is_page, is_page_key, page_key
from holdfast.store.filesystem import FileSystem
from holdfast.store.folder import LONGEST_NAME, Folder
from holdfast.store.locks import Lock
from holdfast.store.records import (
    START,
    Line,
    Position,
    Read,
    fits,
    lines_backwards,
    lines_since,
    months_in,
    reads_since,
)

Record = dict[str, Any]

MOST_NEWS = 4096  # records that are read in one go
_PREFIX = re.compile(rb'\{"sum":"([0-9a-f]{8})","len":(\d{1,9}),')
_LATEST = 2  # months that may still grow
_SETTLED = b'"settled":'
_OUTCOME = re.compile(rb'"(?:done|void)":\[([^\]]*)\]')
_ANNOUNCED = re.compile(rb'"change":"([^"\\]*)"')


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


def unnumbered(record: Record) -> Record:
    """A line without what only its place in the journal tells."""
    return {key: value for key, value in record.items() if key not in ("seq", "settled")}


def checked_record(line: bytes) -> bytes | None:
    """What a whole, unharmed line (without its line end) tells, behind its checksum; else None."""
    found = _PREFIX.match(line)
    if found is None:
        return None
    rest = line[found.end() :]
    return rest if len(rest) == int(found[2]) and zlib.crc32(rest) == int(found[1], 16) else None


def read_line(line: bytes) -> Record | None:
    """The record of a whole, unharmed line (without its line end), else None."""
    rest = checked_record(line)
    if rest is None:
        return None
    try:
        record = json.loads(b"{" + rest)
    except (ValueError, RecursionError):
        return None
    return record if _is_sound(record) else None


_LARGEST_SEQ = 1 << 53
_TEXTS = frozenset({str})  # of a line that was read as JSON
_NO_NAMES = frozenset({"", ".", ".."})
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
    return isinstance(values, list) and _TEXTS.issuperset(map(type, values))


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
    if "\0" in path or not _NO_NAMES.isdisjoint(names):
        return False
    is_short = len(path) <= LONGEST_NAME and path.isascii()
    return is_short or all(len(name.encode("utf-8", "replace")) <= LONGEST_NAME for name in names)


class Journal:
    """Appends and reads the records of one folder.

    Args:
        folder: the layout; files are `journal/YYYY-MM.jsonl`.
        files: the file system.
        clock: the time now; it names the month's file and stamps the records, never orders them.
    """

    def __init__(self, folder: Folder, files: FileSystem, clock: Callable[[], datetime]) -> None:
        self._folder = folder.journal
        self._files = files
        self._clock = clock
        self._lock = Lock(folder.locks / "journal")
        self._appends: Batcher[_Entry, int] = Batcher(self._append_all)
        self._place = START  # behind the last line that was read or written
        self._durable = ""  # the month whose name is known to be flushed
        self._fresh: list[Record] = []  # read from the files and not yet handed to `news`
        self._handing = threading.Lock()  # `_fresh` is filled in threads
        self._up_to_date = False  # ours is the turn to write, and what others had written before is read

    async def open(self, known: Position | None = None) -> None:
        """Find the place from which on changes may be open; `news` begins there.

        Args:
            known: a place up to which every change is known to be done or void. Where the files do not go on from
                there, or without one, the last line is looked for that says so.
        """
        async with self._lock.hold():
            self._place = await anyio.to_thread.run_sync(self._begin, known)
            await anyio.to_thread.run_sync(self._read_latest, MOST_NEWS)

    @property
    def position(self) -> Position:
        """How far this process has read and written."""
        return self._place

    async def mark_settled(self, upto: int, least: int) -> None:
        """Say that every change up to a number is settled, if that spares the next start `least` records or more."""
        if upto - self._place.settled >= least:
            await self.append({"settled": upto}, flush=False)

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
        """Records of other processes that were not handed out before; of very many only the first, ask again then.

        Costs a look at two files when there are none. While a line of ours is being written nobody else can write one,
        and what they wrote before was read.
        """
        if not self._up_to_date and self._grown():
            async with self._lock.hold():
                await anyio.to_thread.run_sync(self._read_latest, MOST_NEWS)
        with self._handing:
            fresh, self._fresh = self._fresh, []
        return fresh

    def records(self, holding: Sequence[bytes] = (b"",)) -> Iterator[Record]:
        """Every readable record of every month, in the order of its sequence; only lines with one of these words."""
        return iter(self.records_since(START, holding)[0])

    def records_since(self, position: Position, holding: Sequence[bytes]) -> tuple[list[Record], Position]:
        """The readable records behind a place whose lines have one of these words, in order; and the place behind them.

        The number and the damaged lines of that place are those of the first.
        """
        found: list[Record] = []
        last: Line | None = None
        for line in lines_since(position, self._folder, self._files):
            last = line
            if any(word in line.raw for word in holding) and (record := read_line(line.raw)) is not None:
                found.append(record)
        found.sort(key=lambda record: int(record["seq"]))
        if last is None:
            return found, position
        names = [name for name in months_in(self._folder, self._files) if name < last.month]
        months = {**{name: self._files.size(self._folder / name) for name in names}, last.month: last.end}
        checksum = zlib.crc32(last.raw)
        return found, replace(position, months=months, line=last.number, length=len(last.raw), checksum=checksum)

    def reads_since(self, position: Position) -> Iterator[Read]:
        """Every readable record behind a place, with its own."""
        return reads_since(position, self._folder, self._files, read_line)

    def fits(self, position: Position) -> bool:
        """Whether the files go on from a place."""
        return fits(position, self._folder, self._files)

    def backwards(self) -> Iterator[Record]:
        """Every readable record, the newest first, as far as one asks."""
        for _, _, raw in lines_backwards(self._folder, self._files):
            record = read_line(raw)
            if record is not None:
                yield record

    async def rewrite(self, change: Callable[[bytes], bytes]) -> None:
        """Change the bytes of the files, of which each keeps its length, so that no reader loses its place in it."""
        async with self._lock.hold():
            await anyio.to_thread.run_sync(self._rewrite, change)

    def _rewrite(self, change: Callable[[bytes], bytes]) -> None:
        for name in months_in(self._folder, self._files):
            path = self._folder / name
            aside = path.with_name(f".{name}.tmp")
            self._files.remove(aside)  # of a process that died here
            before = self._bytes(path)
            after = change(before)
            if len(after) != len(before):
                raise ValueError("a file of the journal must keep its length")
            if after != before:
                self._files.create(aside, after)
                self._files.swap(aside, path)
                self._files.remove(aside)
            self._files.flush_folder(path.parent)

    @property
    def damaged(self) -> int:
        """How many lines up to here cannot be read."""
        return self._place.damaged

    def close(self) -> None:
        self._lock.close()

    async def _append_all(self, entries: Sequence[_Entry]) -> Sequence[int]:
        async with self._lock.hold():
            try:
                return await anyio.to_thread.run_sync(self._write, entries)
            finally:
                self._up_to_date = False

    def _write(self, entries: Sequence[_Entry]) -> Sequence[int]:
        now = self._clock()
        try:
            self._read_latest()
            self._up_to_date = True
            name = max([f"{now:%Y-%m}.jsonl", *self._months()[-1:]])  # a clock that went back opens no old month
            path = self._folder / name
            there = self._files.size(path)
        except OSError as error:
            raise _refused(error) from error
        size = min(self._place.months.get(name, 0), there)
        lines = [
            line_of({"seq": seq, "at": instant(now), **entry.record})
            for seq, entry in enumerate(entries, self._place.seq + 1)
        ]
        data = b"".join(lines)
        try:
            if there > size:
                self._files.truncate(path, size)  # a torn tail: nobody else can be writing now
            if not there:  # new, or removed under us with its folder
                self._files.make_folder(path.parent)
                self._durable = ""
            self._files.append(path, data, flush=any(entry.flush for entry in entries))
            if self._durable != name:  # whoever made the file may have died before its name was flushed
                self._files.flush_folder(self._folder)
                self._durable = name
        except OSError as error:
            undone = self._undo_append(path, size)
            self._place = replace(self._place, seq=self._place.seq + len(entries))  # a half-undone line has them
            raise (_refused if undone else _unknown)(error) from error
        first = self._place.seq + 1
        settled = max(entry.record.get("settled", 0) for entry in entries)
        self._place = self._behind(name, size + len(data), lines, settled)
        return range(first, first + len(entries))

    def _behind(self, name: str, end: int, lines: Sequence[bytes], settled: int) -> Position:
        """The place behind lines that were just written to the end of a file."""
        place, last = self._place, lines[-1][:-1]
        months = {each: self._files.size(self._folder / each) for each in place.months if each < name}
        return replace(
            place,
            seq=place.seq + len(lines),
            months={**months, name: end},
            line=len(lines) + (place.line if place.month == name else 0),
            length=len(last),
            checksum=zlib.crc32(last),
            settled=max(place.settled, settled),
        )

    def _undo_append(self, path: Path, size: int) -> bool:
        """Cut off what was added; False where the disk refuses that too, and a whole line may stay."""
        try:
            if self._files.size(path) > size:
                self._files.truncate(path, size)
        except OSError:
            return False
        return True

    def _months(self) -> list[str]:
        return months_in(self._folder, self._files)

    def _grown(self) -> bool:
        """Whether a file is of another size than it was: one of the latest, or one behind the last that has lines."""
        known, names = self._place.months, self._months()
        growing = [*names[-_LATEST:], *(name for name in names[:-_LATEST] if name >= self._place.month)]
        return any(self._files.size(self._folder / name) != known.get(name, 0) for name in growing)

    def _bytes(self, path: Path) -> bytes:
        try:
            return self._files.read(path)
        except FileNotFoundError:
            return b""

    def _read_latest(self, most: int | None = None) -> None:
        """Take in the whole lines that were added since the files were last read, or so many of them."""
        if not self._grown():
            return
        self._place = self._shrunk()
        last: Read | None = None
        try:
            for last in itertools.islice(self.reads_since(self._place), most):
                with self._handing:
                    self._fresh.append(last.record)
        finally:
            if last is not None:
                self._place = last.position

    def _shrunk(self) -> Position:
        """The place, not behind the end of files that somebody has cut or taken away."""
        known = self._place.months
        there = {name: min(known[name], self._files.size(self._folder / name)) for name in sorted(known)[-_LATEST:]}
        months = {name: size for name, size in {**known, **there}.items() if size}
        return self._place if months == known else replace(self._place, months=months)

    def _begin(self, known: Position | None) -> Position:
        """Where reading begins: behind what is known, else behind what the last such line calls settled."""
        if known is not None and self.fits(known):
            return known
        settled = 0
        for month, start, raw in lines_backwards(self._folder, self._files):
            if not settled and _SETTLED not in raw:
                continue
            record = read_line(raw)
            if record is None:
                continue
            settled = settled or record.get("settled", 0)
            if settled and record["seq"] <= settled:
                return self._placed(month, start + len(raw) + 1, record["seq"], settled)
        return self._before_open()

    def _before_open(self) -> Position:
        """Before the first change without an outcome and the latest lines: a look that makes no records of the others.

        The beginning where a line before that is damaged, which is to be counted.
        """
        open_: dict[bytes, Line] = {}
        latest: deque[Line] = deque(maxlen=MOST_NEWS)
        for line in lines_since(START, self._folder, self._files):
            latest.append(line)
            if (rest := checked_record(line.raw)) is None:
                return START
            for outcomes in _OUTCOME.findall(rest):
                for change in outcomes.split(b'"')[1::2]:
                    open_.pop(change, None)
            if (announced := _ANNOUNCED.search(rest)) is not None:
                open_[announced[1]] = line
        if len(latest) < MOST_NEWS:
            return START
        first = min([latest[0], *open_.values()], key=lambda line: (line.month, line.number))
        return self._placed(first.month, first.end - len(first.raw) - 1, 0, 0)

    def _placed(self, month: str, end: int, seq: int, settled: int) -> Position:
        """A place that is known by its offset alone: nothing is read before it."""
        earlier = {name: self._files.size(self._folder / name) for name in self._months() if name < month}
        return Position(seq, settled, {**earlier, month: end})


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
