"""Changes that were announced in the journal and are not known to be whole: what happened to each of their files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from holdfast.model.pages import is_page_key
from holdfast.model.records import FileChange
from holdfast.store.codec import content_hash
from holdfast.store.filesystem import Entry, FileSystem
from holdfast.store.folder import SUFFIX, Folder, id_in_name
from holdfast.store.frontmatter import MalformedError, parse
from holdfast.store.journal import Record
from holdfast.store.stored import LARGEST_FILE

FileState = Literal["applied", "pending", "untouched", "foreign"]


PlannedFile = FileChange  # as the journal announces it


@dataclass(slots=True)
class AnnouncedChange:
    """A change as the journal announced it."""

    change: str
    seq: int
    files: tuple[PlannedFile, ...]
    guards: frozenset[str] = frozenset()  # further keys that its writer held: what it decided under them must be known
    passed: set[str] = field(default_factory=set)  # paths that a later change took further

    @property
    def keys(self) -> set[str]:
        """The locks that guard its files."""
        return {file.note for file in self.files}


def intent_of(record: Record) -> AnnouncedChange | None:
    """The intent that a journal record announces, or None where it is none or cannot be trusted."""
    files = record.get("files")
    if not isinstance(files, list) or not isinstance(record.get("change"), str):
        return None
    try:
        planned = tuple(PlannedFile(**_only(file)) for file in files)
    except TypeError:
        return None
    return AnnouncedChange(record["change"], record["seq"], planned, frozenset(record.get("guards", ())))


def _only(file: dict[str, Any]) -> dict[str, Any]:
    return {name: file.get(name) for name in ("note", "path", "before", "after", "aside", "size")}


class OpenIntents:
    """The changes of other processes, living or dead, that have no outcome in the journal yet."""

    def __init__(self) -> None:
        self._open: dict[str, AnnouncedChange] = {}
        self._ends: dict[tuple[str, str | None], set[str]] = {}  # changes by what they say

    def learn(self, records: Iterable[Record]) -> None:
        for record in records:
            self._close(record)
            intent = intent_of(record)
            if intent is not None:
                for file in intent.files:
                    for earlier in self._ends.get((file.path, file.before), ()):
                        self._open[earlier].passed.add(file.path)
                self._open[intent.change] = intent
                for file in intent.files:
                    self._ends.setdefault((file.path, file.after), set()).add(intent.change)

    def forget(self, change: str) -> None:
        intent = self._open.pop(change, None)
        for file in intent.files if intent else ():
            end = (file.path, file.after)
            others = self._ends[end] = self._ends[end] - {change}
            if not others:
                del self._ends[end]

    def touching(self, keys: set[str]) -> list[AnnouncedChange]:
        return [intent for intent in self._open.values() if (intent.keys | intent.guards) & keys]

    def all(self) -> list[AnnouncedChange]:
        return sorted(self._open.values(), key=lambda intent: intent.seq)

    def _close(self, record: Record) -> None:
        for change in (*record.get("done", ()), *record.get("void", ())):
            self.forget(change)
        settled = record.get("settled")
        if isinstance(settled, int):
            for change in [name for name, intent in self._open.items() if intent.seq <= settled]:
                self.forget(change)


def state_of(file: PlannedFile, intent: AnnouncedChange, folder: Folder, files: FileSystem) -> FileState:
    """What became of one file of an intent whose writer is gone.

    The new text waits aside until it is exchanged with the file; after that the old text lies there until it is
    removed. So a missing text aside means that the exchange happened, unless the file is still as before; a torn one
    means that it did not. A new note that is neither here nor there may have been given another name by a person.
    """
    current = hash_of(files, folder.place(file.note, file.path))
    if current == file.after or file.path in intent.passed:
        return "applied"
    if file.after is None:
        return "pending" if current == file.before else "foreign"
    waiting = hash_of(files, folder.inside(file.aside))
    if waiting == file.after:
        return "pending" if current == file.before else "foreign"
    if current == file.before:
        gone = current is None and waiting is None and not is_page_key(file.note)
        return "applied" if gone and _is_elsewhere(file.note, folder, files) else "untouched"
    return "applied" if waiting in (None, file.before) else "foreign"


def _is_elsewhere(note: str, folder: Folder, files: FileSystem) -> bool:
    """Whether a file of any name holds this note. Read are those whose names tell no other."""
    return any(
        entry.kind == "file" and id_in_name(entry.path) in (None, note) and _id_in(entry, files) == note
        for entry in files.scan(folder.memories, SUFFIX)
    )


def _id_in(entry: Entry, files: FileSystem) -> object:
    """The id that a file carries; None where it cannot be read as a note."""
    if entry.signature.size > LARGEST_FILE:
        return None
    try:
        return parse(files.read(entry.path, LARGEST_FILE)).values.get("id")
    except (MalformedError, FileNotFoundError, PermissionError):
        return None


def hash_of(files: FileSystem, path: Path) -> str | None:
    """The content hash of a file; None where there is none."""
    try:
        return content_hash(files.read(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
