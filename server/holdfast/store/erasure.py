"""Erasing a note: no byte of it stays in files, history, trash or journal.

Announced by a plan, as a restore is: from then on it can only go forward, and whoever next needs the folder finishes
it before anything else. Each step can be made twice. The journal's lines keep their number, length and order; names of
files, words of questions and whatever else may come from the note's text are taken out of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from anyio.to_thread import run_sync

from holdfast.errors import StorageError
from holdfast.model.pages import CAPSULES, PROPOSALS, without_memory
from holdfast.model.records import NO_HASH, PURGE, JournalRecord
from holdfast.store.codec import Surroundings, note_of
from holdfast.store.filesystem import FileSystem
from holdfast.store.folder import SUFFIX, Folder
from holdfast.store.frontmatter import MalformedError, parse
from holdfast.store.intents import intent_of
from holdfast.store.journal import Journal, Record, line_of, read_line
from holdfast.store.records import as_line, read_record
from holdfast.store.settle import laid_aside

_NOWHERE = "-"  # stands for a path; no longer than any
_PLAIN_KEYS = frozenset(  # of values that never come from a text
    {"op", "admin", "by", "source", "note", "outcome", "at", "kind", "status", "type", "maintenance", "proposal"}
)
_PLAIN_PARTS = frozenset({"judged", "batch", "cursors", "pages_seen", "pages_accepted"})
_PLAIN = re.compile(r"(mem|chg)_[0-9a-hjkmnp-tv-z]{16}|[0-9a-f]{64}|\d{4}-\d\d-\d\d(T[\d:.]+Z)?")
_QUESTION = ("question", "asked", "embedded")


@dataclass(frozen=True, slots=True)
class Erasure:
    """An erasure that is decided: the note, its files below `memories/`, and what the journal's line says of it."""

    note: str
    paths: tuple[str, ...]
    said: JournalRecord

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
    told = [path for path in _below(folder.home / CAPSULES) if note.encode() in disk.read(path)]
    for path in told:
        cleared = without_memory(disk.read(path), note) if path.suffix == ".json" else None
        old = path
        if cleared is not None:
            old = path.with_suffix(".tmp")
            disk.remove(old)
            disk.create(old, cleared)
            disk.swap(old, path)
        disk.remove(old)
    for parent in dict.fromkeys(path.parent for path in told):
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
