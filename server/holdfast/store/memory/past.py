"""The history of a memory without a disk: its journal, replaced texts, the trash, and their erasure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from holdfast.errors import IntegrityError
from holdfast.model.records import NO_HASH, PURGE, FileChange, JournalRecord
from holdfast.model.times import instant
from holdfast.store.codec import Surroundings, note_of
from holdfast.store.erasure import Erasure, Remains
from holdfast.store.frontmatter import MalformedError, parse
from holdfast.store.history import PastText
from holdfast.store.memory.state import State, nanoseconds

_NOWHERE = "-"


class MemoryPast:
    """See `holdfast.store.history.FolderHistory`, which has the same for a folder.

    Args:
        state: the memory.
        clock: the time now.
    """

    def __init__(self, state: State, clock: Callable[[], datetime]) -> None:
        self._state = state
        self._clock = clock

    async def records(self, ops: Collection[str] = ()) -> list[JournalRecord]:
        """The lines of some verbs, or of all, in order; without changes that never happened."""
        void = self._state.void()
        return [line for line in self._state.records if (not ops or line.op in ops) and line.change not in void]

    async def lines(self, numbers: Iterable[int]) -> dict[int, JournalRecord]:
        """The lines of these numbers, by number."""
        return {number: self._state.records[number - 1] for number in numbers if 0 < number <= len(self._state.records)}

    async def replaced(self, file: FileChange, created: str = "") -> PastText:
        """The text that a change took away.

        Raises:
            IntegrityError: it is not kept any more.
        """
        deleted = self._state.trash.get(file.aside) if file.after is None else None
        data = self._state.replaced.get(file.before or "")
        if data is None:
            raise IntegrityError("The text from before this change is not kept any more: it was purged.")
        touched = deleted.touched_ns if deleted else nanoseconds(created) if created else None
        try:
            document = parse(data)
            space = file.path.partition("/")[0]
            note = note_of(document, Surroundings(space, created or instant(self._clock())), file.note)
        except MalformedError as error:
            raise IntegrityError("The text from before this change cannot be read as a note.") from error
        return PastText(note, data, None if "created" in document.values else touched)

    async def drop(self, deletion: FileChange) -> None:
        """Take a note out of the trash."""
        self._state.trash.pop(deletion.aside, None)

    async def remains(self, note: str, paths: Sequence[str]) -> Remains:
        """Everything that is kept of a note; `paths` are its own."""
        state = self._state
        lines = [line for line in state.records if note in _concerned(line)]
        files = [file for line in lines for file in line.files if file.note == note]
        hashes = {value for file in files for value in (file.before, file.after) if value and value != NO_HASH}
        others = {
            value
            for line in state.records
            for file in line.files
            if file.note != note
            for value in (file.before, file.after)
        }
        own = frozenset(hashes) - others
        here = [path for path in paths if path in state.notes]
        here += [path for path, text in state.pages.items() if note.encode() in text.data and path.endswith(".json")]
        trash = [file.aside for file in files if file.aside in state.trash]
        texts = {state.notes[path].data for path in here if path in state.notes}
        texts |= {state.replaced[value] for value in own if value in state.replaced}
        return Remains(
            tuple(map(Path, here)),
            tuple(Path(value) for value in sorted(own) if value in state.replaced),
            tuple(map(Path, trash)),
            own,
            frozenset(_said(data, note) for data in texts),
            len(lines),
        )

    async def erase(self, erasure: Erasure) -> None:
        """Erase a note from notes, history, trash and journal. The caller is alone and owns every key."""
        state, remains = self._state, await self.remains(erasure.note, erasure.paths)
        for path in map(str, remains.files):
            state.notes.pop(path, None)
            state.pages.pop(path, None)
        for value in remains.hashes:
            state.replaced.pop(value, None)
        for aside in map(str, remains.trash):
            state.trash.pop(aside, None)
        state.records = [_redacted(line, erasure.note) for line in state.records]
        state.append(replace(erasure.said, op=PURGE, note=erasure.note), instant(self._clock()))


def _concerned(line: JournalRecord) -> Iterator[str | None]:
    yield from (file.note for file in line.files)
    yield from (line.note, line.use, line.feedback.note if line.feedback else None)


def _redacted(line: JournalRecord, note: str) -> JournalRecord:
    """A line without what may come from the note's text."""
    if note not in _concerned(line):
        return line
    if line.feedback is not None:
        return replace(line, feedback=replace(line.feedback, question=None))
    files = tuple(_nowhere(file) if file.note == note else file for file in line.files)
    return replace(line, files=files, guards=(), more={})


def _nowhere(file: FileChange) -> FileChange:
    before, after = (None if value is None else NO_HASH for value in (file.before, file.after))
    return FileChange(file.note, _NOWHERE, before, after, _NOWHERE)


def _said(data: bytes, note: str) -> tuple[str, str]:
    found = note_of(parse(data), Surroundings(), note)
    return found.title, found.content
