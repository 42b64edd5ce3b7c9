"""The storage port without a disk: a second implementation, which proves that the first is not the only one possible.

Nothing here is a file, a folder or a lock of the system: notes are bytes in a dictionary, a change is made at once,
locks are those of one event loop. What it keeps ends with the process.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import anyio

from holdfast.errors import ConflictError, IntegrityError
from holdfast.model.note import instant, moment
from holdfast.model.records import NO_HASH, PURGE, FileChange, JournalRecord, is_page
from holdfast.store.codec import MalformedError, Surroundings, content_hash, note_of, parse
from holdfast.store.filesystem import Signature
from holdfast.store.history import Erasure, PastText, Remains
from holdfast.store.locks import if_free
from holdfast.store.stored import (
    Change,
    Committed,
    Followed,
    Mark,
    Page,
    PageChange,
    Stored,
    Unreadable,
    planned,
    time_of,
    touched_ns,
    with_a_free_name,
)


@dataclass(frozen=True, slots=True)
class Text:
    """The bytes of a note or page: `version` is another one each time that they change."""

    data: bytes
    touched_ns: int
    version: int

    @property
    def hash(self) -> str:
        return content_hash(self.data)

    @property
    def signature(self) -> Signature:
        return Signature(self.touched_ns, self.touched_ns, len(self.data), self.version)


@dataclass(slots=True)
class State:
    """A memory: several stores may share one, as servers share a database. Paths are those that an export would have.

    Attributes:
        notes: texts by path.
        pages: texts by path.
        replaced: texts that changes took away, by their hash.
        trash: notes that were deleted, by the `aside` of their change.
        records: the journal; the number of each is its place, from 1.
    """

    notes: dict[str, Text] = field(default_factory=dict)
    pages: dict[str, Text] = field(default_factory=dict)
    replaced: dict[str, bytes] = field(default_factory=dict)
    trash: dict[str, Text] = field(default_factory=dict)
    records: list[JournalRecord] = field(default_factory=list)
    versions: int = 0

    def append(self, record: JournalRecord, at: str) -> JournalRecord:
        """Write a line; one that tells no time has `at`."""
        written = replace(record, seq=len(self.records) + 1, at=record.at or at)
        self.records.append(written)
        return written

    def text(self, data: bytes, touched_ns: int) -> Text:
        """New bytes, as a version that no other has."""
        self.versions += 1
        return Text(data, touched_ns, self.versions)

    def texts_of(self, file: FileChange) -> dict[str, Text]:
        """Where a file of a change belongs."""
        return self.pages if file.is_page else self.notes

    def read(self, path: str, known_id: str | None) -> Stored | Unreadable | None:
        """A note as it is now; None where there is none."""
        text = self.notes.get(path)
        if text is None:
            return None
        try:
            document = parse(text.data)
            around = Surroundings(path.partition("/")[0], time_of(text.signature))
            note = note_of(document, around, known_id)
        except MalformedError as error:
            return Unreadable(path, str(error), text.signature)
        return Stored(note, path, text.hash, text.signature, document, "id" in document.values)

    def page(self, path: str) -> Page | None:
        """A page as it is now; None where there is none."""
        text = self.pages.get(path)
        return None if text is None else Page(path, text.data, text.hash, time_of(text.signature))

    def void(self) -> set[str]:
        """Changes that never happened."""
        return {change for record in self.records for change in record.void}


def nanoseconds(at: str) -> int:
    """An instant in nanoseconds since 1970."""
    return round(moment(at).timestamp() * 1_000_000_000)


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


@dataclass(frozen=True, slots=True)
class MemoryReading:
    """A line of the journal, and the place behind it."""

    record: JournalRecord

    @property
    def place(self) -> str:
        return str(self.record.seq)


@dataclass(slots=True)
class Locks:
    """Locks by name, and one for everything."""

    named: dict[str, anyio.Lock] = field(default_factory=dict)
    whole: anyio.Lock = field(default_factory=anyio.Lock)

    def of(self, key: str) -> anyio.Lock:
        return self.named.setdefault(key, anyio.Lock())


class MemoryNotes:
    """All notes of one memory; see `holdfast.engine.ports.Store`.

    Args:
        state: the memory, which several of these may share.
        locks: those of everybody who shares it.
        clock: the time now.
        change_id: gives a new id for each change.
    """

    is_there = True
    watches = True
    open_changes = 0
    reading_only = ""
    journal_start = "0"

    def __init__(self, state: State, locks: Locks, clock: Callable[[], datetime], change_id: Callable[[], str]) -> None:
        self.state = state
        self._locks = locks
        self._clock = clock
        self._change_id = change_id
        self._turn = {remote: anyio.Lock() for remote in (False, True)}
        self.past = MemoryPast(state, clock)
        self.followed = Followed()

    async def aclose(self) -> None:
        """Nothing to let go of."""

    def hurried(self) -> AbstractContextManager[None]:
        """Nothing is ever waited for."""
        return nullcontext()

    def check_writing(self) -> None:
        """It can always be written."""

    def take_reports(self) -> list[str]:
        """Nobody else writes into it, so there is nothing to report."""
        return []

    @asynccontextmanager
    async def hold(self, keys: Iterable[str]) -> AsyncIterator[frozenset[str]]:
        """Own these keys; nobody dies in the middle of a change, so that none turned out to be made."""
        async with self._owning(sorted(set(keys))):
            yield frozenset()

    @asynccontextmanager
    async def try_hold(self, keys: Iterable[str], patience: float) -> AsyncIterator[frozenset[str]]:
        """Own those of the keys that others let go of in so many seconds; yields what is owned."""
        owned: dict[str, anyio.Lock] = {}
        try:
            for key in sorted(set(keys)):
                lock = self._locks.of(key)
                with anyio.move_on_after(patience) as waiting:
                    await lock.acquire()
                if not waiting.cancelled_caught:
                    owned[key] = lock
            yield frozenset(owned)
        finally:
            for lock in owned.values():
                lock.release()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Be the only one that works on all of it."""
        async with self._locks.whole:
            yield

    @asynccontextmanager
    async def quiet(self) -> AsyncIterator[None]:
        """Own every key that anybody has used."""
        async with self._owning(sorted(self._locks.named)):
            yield

    @asynccontextmanager
    async def _owning(self, keys: Sequence[str]) -> AsyncIterator[None]:
        if not keys:
            yield
            return
        async with self._locks.of(keys[0]), self._owning(keys[1:]):
            yield

    async def settled(self, keys: Iterable[str], patience: float) -> None:
        """No change is ever left half made."""

    def encoding_turn(self, *, remote: bool) -> AbstractAsyncContextManager[bool]:
        """Be the only one that encodes the queue; yields whether it is."""
        return if_free(self._turn[remote])

    async def every(self) -> dict[str, str]:
        """Which versions of all notes are there, by path."""
        return await self.marks(self.state.notes)

    async def journal_end(self) -> str:
        """The place behind the last line."""
        return str(len(self.state.records))

    async def load(self, paths: Sequence[str], known_ids: Mapping[str, str]) -> list[Stored | Unreadable]:
        """Read notes; one that is gone is left out."""
        found = (self.state.read(path, known_ids.get(path)) for path in paths)
        return [item for item in found if item is not None]

    async def load_after(self, path: str, most: int) -> list[Stored | Unreadable]:
        """Read the next notes behind a path."""
        return await self.load(sorted(each for each in self.state.notes if each > path)[:most], {})

    async def marks(self, paths: Iterable[str]) -> dict[str, str]:
        """Which versions are there now, by path."""
        there = self.state.notes
        return {path: there[path].signature.mark for path in paths if path in there}

    async def note_hashes(self, paths: Iterable[str]) -> dict[str, str]:
        """The content hashes of notes as they are now, by path."""
        return {path: self.state.notes[path].hash for path in paths if path in self.state.notes}

    def check_still(self, stored: Stored) -> None:
        """Nobody is ever in the middle of saving."""

    async def pages(self, paths: Iterable[str]) -> dict[str, Page]:
        """Pages by path; those that are not there are left out."""
        found = (self.state.page(path) for path in paths)
        return {page.path: page for page in found if page is not None}

    async def list_pages(self, folder: str) -> list[str]:
        """The pages whose names begin with this and a slash, in order."""
        return [path for path in sorted(self.state.pages) if path.startswith(f"{folder}/") and is_page(path)]

    async def drop_page(self, path: str) -> None:
        """Take away a page that is one of many and worth no history."""
        self.state.pages.pop(path, None)

    async def page_marks(self, paths: Iterable[str]) -> dict[str, Mark]:
        """Hash and bytes of pages, by path."""
        return {path: (page.hash, len(page.data)) for path, page in (await self.pages(paths)).items()}

    def pages_in_change(self) -> Mapping[str, FileChange]:
        """A change is made at once: nobody meets it half way."""
        return {}

    async def record(self, record: JournalRecord, *, flush: bool = False) -> int:
        """Add a line to the journal; returns its number."""
        del flush
        return self.state.append(record, instant(self._clock())).seq

    async def page_records(self, known: str) -> tuple[list[JournalRecord], str] | None:
        """The lines behind a place that tell of pages, or of what never happened; and the place behind them."""
        lines = self.state.records[int(known or 0) :]
        return [line for line in lines if line.is_about_pages or line.void], str(len(self.state.records))

    async def journal_since(self, known: str, most: int) -> Sequence[MemoryReading] | None:
        """The next lines behind a place, each with its own."""
        start = int(known or 0)
        return [MemoryReading(line) for line in self.state.records[start : start + most]]

    def damage_before(self, place: str) -> tuple[int, tuple[str, ...]]:
        """No line is ever damaged."""
        del place
        return 0, ()

    async def damaged_lines(self) -> tuple[int, tuple[str, ...]]:
        """No line is ever damaged."""
        return 0, ()

    @asynccontextmanager
    async def commit(
        self, op: str, changes: Sequence[Change | PageChange], said: JournalRecord
    ) -> AsyncIterator[Committed]:
        """Make a change of one or more notes and pages, then hand over to the block; when that raises it is taken back.

        Raises:
            LimitExceededError: a note would be too long; nothing was changed.
            ConflictError: a text is no longer what `before` says; nothing was changed.
        """
        change, now = self._change_id(), instant(self._clock())
        items = [with_a_free_name(each, change, self.state.notes) for each in changes]
        plans = [planned(item, lambda note, _path: f"{change}.{note}") for item in items]
        before = {plan.file: self.state.texts_of(plan.file).get(plan.file.path) for plan in plans}
        for file, text in before.items():
            if (text.hash if text else None) != file.before:
                raise ConflictError("The note was changed in the meantime.", "Nothing was written; read it again.")
        line = replace(said, op=op, change=change, files=tuple(before))
        record = self.state.append(line, now)
        for plan, item in zip(plans, items, strict=True):
            old = before[plan.file]
            self._put(plan.file, plan.data, old, touched_ns(item, old.touched_ns if old else None, nanoseconds(now)))
        whole = False
        try:
            yield self._committed(record, items)
            whole = True
        finally:
            for file, text in () if whole else before.items():
                self._put_back(file, text)
            outcome = JournalRecord(done=(change,)) if whole else JournalRecord(void=(change,))
            self.state.append(outcome, now)

    def _put(self, file: FileChange, data: bytes | None, before: Text | None, touched_ns: int) -> None:
        texts = self.state.texts_of(file)
        if before is not None:
            self.state.replaced[before.hash] = before.data
        if data is not None:
            texts[file.path] = self.state.text(data, touched_ns)
        elif before is not None:
            self.state.trash[file.aside] = texts.pop(file.path)

    def _put_back(self, file: FileChange, text: Text | None) -> None:
        texts = self.state.texts_of(file)
        self.state.trash.pop(file.aside, None)
        if text is None:
            texts.pop(file.path, None)
        else:
            texts[file.path] = text

    def _committed(self, record: JournalRecord, changes: Sequence[Change | PageChange]) -> Committed:
        stored: list[Stored] = []
        for file, item in zip(record.files, changes, strict=True):
            if isinstance(item, Change) and item.after is not None:
                text = self.state.notes[file.path]
                document = parse(text.data)
                has_id = "id" in document.values
                stored.append(Stored(item.after, file.path, text.hash, text.signature, document, has_id))
        gone = tuple(file.note for file in record.files if file.after is None)
        pages = tuple(file.path for file in record.files if file.is_page)
        return Committed(record.change or "", record.seq, record.op, tuple(stored), gone, pages, record)
