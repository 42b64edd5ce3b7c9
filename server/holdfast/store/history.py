"""What was: lines of the journal by number, texts that were replaced, the trash; and how all of it is erased.

Numbers of lines grow along the files and along the months, so that a line is found by halving, without reading what
lies before it. A journal that somebody has put together anew may have them in another order: what is not found that way
is looked for from the beginning.

Of a note that is erased no byte stays in files, history, trash or journal. That is announced by a plan, as a restore
is: from then on it can only go forward, and whoever next needs the folder finishes it before anything else. Each step
can be made twice. The journal's lines keep their number, length and order; names of files, words of questions and
whatever else may come from the note's text are taken out of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio.to_thread
from anyio.to_thread import run_sync

from holdfast.errors import IntegrityError, StorageError
from holdfast.model.note import Note, moment
from holdfast.model.records import CAPSULES, NO_HASH, PROPOSALS, PURGE, FileChange, JournalRecord, without_memory
from holdfast.store.codec import MalformedError, Surroundings, content_hash, note_of, parse
from holdfast.store.filesystem import FileSystem
from holdfast.store.folder import SUFFIX, Folder, on_disk
from holdfast.store.journal import Journal, Record, line_of, read_line
from holdfast.store.records import START, as_line, lines_since, months_in, read_record
from holdfast.store.restore import going_forward
from holdfast.store.settle import PlannedFile, intent_of, laid_aside
from holdfast.store.stored import time_at

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


_NOWHERE = "-"  # stands for a path; no longer than any
_PLAIN_KEYS = frozenset(  # of values that never come from a text
    {"op", "admin", "by", "source", "note", "outcome", "at", "kind", "status", "type", "maintenance", "proposal"}
)
_PLAIN_PARTS = frozenset({"judged", "batch", "cursors", "pages_seen", "pages_accepted"})
_PLAIN = re.compile(r"(mem|chg)_[0-9a-hjkmnp-tv-z]{16}|[0-9a-f]{64}|\d{4}-\d\d-\d\d(T[\d:.]+Z)?")
_QUESTION = ("question", "asked", "embedded")


@dataclass(frozen=True, slots=True)
class Erasure:
    """An erasure that is decided: the note, its files below `memories/`, and what the journal's line says of it.

    `encoded` are texts of which servers may share vectors.
    """

    note: str
    paths: tuple[str, ...]
    said: JournalRecord
    encoded: tuple[str, ...] = ()

    def render(self) -> bytes:
        return json.dumps({"note": self.note, "paths": list(self.paths), "said": as_line(self.said)}).encode() + b"\n"


@dataclass(frozen=True, slots=True)
class Remains:
    """Everything that is kept of a note: files by where they are, hashes of its texts, and title and body of each."""

    files: tuple[Path, ...]
    past: tuple[Path, ...]
    trash: tuple[Path, ...]
    hashes: frozenset[str]
    texts: frozenset[tuple[str, str]]
    lines: int

    @property
    def all(self) -> tuple[Path, ...]:
        return (*self.files, *self.past, *self.trash)


def write_plan(erasure: Erasure, folder: Folder, disk: FileSystem) -> None:
    """Decide it: from here on it is carried on, whatever happens."""
    fresh = folder.purge_plan.with_name(".purge.tmp")
    disk.make_folder(fresh.parent)
    disk.remove(fresh)
    disk.create(fresh, erasure.render())
    disk.move(fresh, folder.purge_plan)
    disk.flush_folder(fresh.parent)


async def carry_out(folder: Folder, disk: FileSystem, journal: Journal) -> None:
    """Do what the plan says, from wherever it stands. The caller holds every lock.

    Index and caches were erased before the plan was written, and nobody builds them anew until it is done.
    """
    erasure = await run_sync(lambda: _read_plan(disk.read(folder.purge_plan)))
    remains = await run_sync(remains_of, erasure.note, erasure.paths, folder, disk, journal)
    await run_sync(_remove, remains.all, disk)
    await run_sync(_clear_capsules, erasure.note, folder, disk)
    questions = await run_sync(_questions, erasure.note, journal)
    await journal.rewrite(lambda data: redacted(data, erasure.note, questions))
    seq = await journal.append(as_line(replace(erasure.said, op=PURGE, note=erasure.note)))
    await journal.append({"settled": seq})
    await run_sync(disk.remove, folder.purge_plan)
    with suppress(OSError):  # it is erased: a plan that comes back by a power cut finds nothing to do
        await run_sync(disk.flush_folder, folder.purge_plan.parent)


def remains_of(note: str, paths: Sequence[str], folder: Folder, disk: FileSystem, journal: Journal) -> Remains:
    """Look for everything that is kept of a note, by its id and by what the journal says of it."""
    records = list(journal.records([note.encode()]))
    named = [
        (intent.change, file)
        for record in records
        if (intent := intent_of(record)) is not None
        for file in intent.files
        if file.note == note
    ]
    hashes = {value for _, file in named for value in (file.before, file.after) if value not in (None, NO_HASH)}
    shared = _hashes_of_others(note, hashes, journal)
    search = _Search(note, frozenset(hashes - shared), disk)
    here = [*(folder.absolute(path) for path in paths), *laid_aside(folder, disk)]
    files = [path for path in here if search.is_found(path, only=path.name.startswith("."))]
    files += [path for path in _below(folder.home / PROPOSALS) if note.encode() in disk.read(path)]
    past = [path for path in _below(folder.history) if search.is_found(path)]
    asides = {folder.inside(file.aside) for _, file in named if file.after is None and file.aside != _NOWHERE}
    changes = tuple(f"{change}." for change, _ in named)
    trash = [
        path
        for path in _below(folder.trash)
        if search.is_found(path) or path in asides or (path.name.startswith(changes) and note in path.name)
    ]
    return Remains(
        tuple(files), tuple(past), tuple(trash), frozenset(search.hashes), frozenset(search.texts), len(records)
    )


class _Search:
    """Whether files hold a note; gathers its texts on the way."""

    def __init__(self, note: str, hashes: Collection[str], disk: FileSystem) -> None:
        self._note = note
        self._disk = disk
        self.hashes = hashes
        self.texts: set[tuple[str, str]] = set()

    def is_found(self, path: Path, *, only: bool = True) -> bool:
        """Whether a file is of this note; where not `only`, also one without any id, or that cannot be read."""
        try:
            data = self._disk.read(path)
        except OSError:
            return False
        own = path.name.removesuffix(SUFFIX) in self.hashes or f".{self._note}." in path.name
        if only and not own and self._note.encode() not in data:
            return False
        try:
            document = parse(data)
            found = document.values.get("id")
            if found != self._note and not (found is None and (own or not only)):
                return False
            read = note_of(document, Surroundings(), self._note)
        except MalformedError:
            return own or not only
        self.texts.add((read.title, read.content))
        return True


def redacted(data: bytes, note: str, questions: Collection[str]) -> bytes:
    """The bytes of a journal file without what may come from a note's text; every line keeps its place and length."""
    words = [word.encode() for word in (note, *questions)]
    lines = data.split(b"\n")
    return b"\n".join(_line(line, note) if any(word in line for word in words) else line for line in lines)


def _line(line: bytes, note: str) -> bytes:
    record = read_line(line)
    if record is None:
        return b" " * len(line)  # torn or harmed: nobody reads it
    plain = _without_words(record, note)
    return _padded(plain, line) or _padded({"seq": record["seq"], "at": record.get("at", "")}, line) or line


def _padded(record: Record, line: bytes) -> bytes | None:
    """The record as a line that is as long as another; None where it is longer."""
    made = line_of(record)[:-1]
    if made == line:
        return line
    room = len(line) - len(made)
    for blanks in (room, room - 1):  # the number that tells the length may have one digit less without them
        if blanks >= 0 and len(filled := line_of(record, blanks)[:-1]) == len(line):
            return filled
    return None


def _without_words(record: Record, note: str) -> Record:
    feedback = record.get("feedback")
    if isinstance(feedback, dict):
        return {**record, "feedback": {key: value for key, value in feedback.items() if key not in _QUESTION}}
    plain: Record = {key: _plain(key, value) for key, value in record.items() if key not in ("files", "guards")}
    if isinstance(record.get("files"), list):
        plain["files"] = [_nowhere(file) if file.get("note") == note else file for file in record["files"]]
    return plain


def _nowhere(file: Mapping[str, Any]) -> dict[str, Any]:
    gone = {key: None if file.get(key) is None else NO_HASH for key in ("before", "after")}
    return {"note": file["note"], "path": _NOWHERE, **gone, "aside": _NOWHERE}


def _plain(key: str, value: Any) -> Any:
    match value:
        case list() | dict() if key in _PLAIN_PARTS:
            return value
        case str():
            return value if key in _PLAIN_KEYS or _PLAIN.fullmatch(value) else ""
        case list():
            return [_plain(key, item) for item in value]
        case dict():
            return {name: _plain(name, item) for name, item in value.items()}
        case _:
            return value


def _questions(note: str, journal: Journal) -> set[str]:
    """The keys of questions that the note was rated for."""
    given = [record.get("feedback") for record in journal.records([note.encode()])]
    return {
        item["question"]
        for item in given
        if isinstance(item, dict) and item.get("note") == note and isinstance(item.get("question"), str)
    }


def _hashes_of_others(note: str, hashes: Collection[str], journal: Journal) -> set[str]:
    """Those of these hashes that are another note's text too: files without an id may be alike."""
    if not hashes:
        return set()
    return {
        value
        for record in journal.records([value.encode() for value in hashes])
        for file in record.get("files", ())
        if file.get("note") != note
        for value in (file.get("before"), file.get("after"))
        if value in hashes
    }


def _below(root: Path) -> Iterator[Path]:
    yield from sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())


def _remove(paths: Collection[Path], disk: FileSystem) -> None:
    for path in paths:
        disk.remove(path)
    for parent in dict.fromkeys(path.parent for path in paths):
        disk.flush_folder(parent)


def _clear_capsules(note: str, folder: Folder, disk: FileSystem) -> None:
    """Take the note out of what was known at some moment; a capsule that cannot be read goes."""
    holding = [path for path in _below(folder.home / CAPSULES) if note.encode() in disk.read(path)]
    for path in holding:
        cleared = without_memory(disk.read(path), note) if path.suffix == ".json" else None
        old = path
        if cleared is not None:
            old = path.with_suffix(".tmp")
            disk.remove(old)
            disk.create(old, cleared)
            disk.swap(old, path)
        disk.remove(old)
    for parent in dict.fromkeys(path.parent for path in holding):
        disk.flush_folder(parent)


def _read_plan(data: bytes) -> Erasure:
    try:
        said = json.loads(data)
        return Erasure(str(said["note"]), tuple(map(str, said["paths"])), read_record(dict(said["said"])))
    except (ValueError, TypeError, KeyError) as error:
        raise StorageError(
            "A purge was interrupted, and trash/purge.json, which says how to finish it, cannot be read.",
            "Move that file away, then purge the note again.",
        ) from error


@dataclass(frozen=True, slots=True)
class PastText:
    """A file as it was. `modified_ns` is its time where the note has no other date."""

    note: Note
    data: bytes
    modified_ns: int | None


@dataclass(frozen=True, slots=True)
class Deletion:
    """How a note came into the trash: the change, its verb, when, and the file."""

    change: str
    op: str
    at: str
    file: PlannedFile


class FolderHistory:
    """The history of one folder.

    Args:
        folder: the layout.
        files: the file system.
        journal: the folder's.
    """

    def __init__(self, folder: Folder, files: FileSystem, journal: Journal) -> None:
        self._folder = folder
        self._files = files
        self._journal = journal

    async def records(self, ops: Collection[str] = ()) -> list[JournalRecord]:
        """The lines of some verbs, or of all, in order; without changes that never happened."""
        return await on_disk(self._records, ops)

    async def lines(self, numbers: Iterable[int]) -> dict[int, JournalRecord]:
        """The lines of these numbers, by number; those that are not there are left out."""
        return await on_disk(lambda: {number: read_record(raw) for number, raw in self._lines(numbers).items()})

    async def replaced(self, file: PlannedFile, created: str = "") -> PastText:
        """The text that a change took away.

        Args:
            file: the change's plan for it.
            created: when the note was made, for a file that does not say so.

        Raises:
            IntegrityError: it is not kept any more.
        """
        return await on_disk(self._replaced, file, created)

    async def drop(self, deletion: PlannedFile) -> None:
        """Take a file out of the trash, if it is still the one that was put there."""
        await on_disk(self._drop, deletion)

    async def remains(self, note: str, paths: Sequence[str]) -> Remains:
        """Everything that is kept of a note; `paths` are its files below `memories/`."""
        return await on_disk(remains_of, note, paths, self._folder, self._files, self._journal)

    async def erase(self, erasure: Erasure) -> None:
        """Erase a note from files, history, trash and journal. The caller is alone and owns every key.

        Once begun it is carried on by whoever next needs the folder.
        """
        with going_forward("purge", self._files, self._folder.purge_plan):
            await anyio.to_thread.run_sync(write_plan, erasure, self._folder, self._files)
            await carry_out(self._folder, self._files, self._journal)

    def _records(self, ops: Collection[str]) -> list[JournalRecord]:
        """Only lines that can be of these verbs, or that tell of an outcome, are taken apart."""
        words = [f'"op":"{op}"'.encode() for op in ops]
        lines = list(self._journal.records([*words, b'"void":'] if ops else (b"",)))
        void = void_changes(lines)
        wanted = (record for record in lines if not ops or record.get("op") in ops)
        return [read_record(record) for record in wanted if record.get("change") not in void]

    def _lines(self, numbers: Iterable[int]) -> dict[int, Record]:
        return records_at(numbers, self._folder.journal, self._files, read_line)

    def _replaced(self, file: PlannedFile, created: str) -> PastText:
        kept = self._folder.history / f"{file.before}.md"
        trash = self._folder.inside(file.aside)
        for path in (kept, trash) if file.after is None else (kept,):
            data = self._bytes(path)
            if data is not None and content_hash(data) == file.before:
                deleted = self._files.signature(trash) if file.after is None else None
                space = self._folder.space_of(file.path)
                return past_text(file, data, space, deleted.modified_ns if deleted else None, created)
        raise IntegrityError(
            "The text from before this change is not kept any more: it was purged, or history/ was tidied by hand.",
            "Nothing was changed; a backup may have it.",
        )

    def _bytes(self, path: Path) -> bytes | None:
        try:
            return self._files.read(path)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _drop(self, deletion: PlannedFile) -> None:
        path = self._folder.inside(deletion.aside)
        data = self._bytes(path)
        if data is not None and content_hash(data) == deletion.before:
            self._files.remove(path)


def void_changes(records: Sequence[Record]) -> set[str]:
    """Changes that never happened; of two lines that differ the one that says so of its own change is right."""
    done = {change for record in records for change in record.get("done", ())}
    return {change for record in records for change in record.get("void", ())} - done


def past_text(
    file: PlannedFile | FileChange, data: bytes, space: str, modified_ns: int | None, created: str
) -> PastText:
    """A file of this space as it was; a note without a date has the file's in the trash, else `created`.

    Raises:
        IntegrityError: it cannot be read as a note.
    """
    if modified_ns is None and created:
        modified_ns = int(moment(created).timestamp()) * 1_000_000_000
    try:
        document = parse(data)
        if "created" in document.values or modified_ns is None:
            modified_ns, around = None, Surroundings(space)
        else:
            around = Surroundings(space, time_at(modified_ns))
        return PastText(note_of(document, around, file.note), data, modified_ns)
    except MalformedError as error:
        raise IntegrityError("The text from before this change cannot be read as a note.") from error
