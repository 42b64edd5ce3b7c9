"""The storage port without a disk: a second implementation, which proves that the first is not the only one possible.

Nothing here is a file, a folder or a lock of the system: notes are bytes in a dictionary, a change is made at once,
locks are those of one event loop. What it keeps ends with the process.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime

import anyio

from holdfast.errors import ConflictError
from holdfast.model.pages import is_page
from holdfast.model.records import FileChange, JournalRecord
from holdfast.model.times import instant
from holdfast.store.frontmatter import parse
from holdfast.store.memory.past import MemoryPast
from holdfast.store.memory.state import State, Text, nanoseconds
from holdfast.store.planned import planned, touched_ns
from holdfast.store.stored import Change, Committed, Followed, Mark, Page, PageChange, Stored, Unreadable


@dataclass(frozen=True, slots=True)
class Told:
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

    @asynccontextmanager
    async def encoding_turn(self, *, remote: bool) -> AsyncIterator[bool]:
        """Be the only one that encodes the queue; yields whether it is."""
        lock = self._turn[remote]
        if lock.locked():
            yield False
            return
        async with lock:
            yield True

    async def every(self) -> list[str]:
        """The paths of all notes."""
        return sorted(self.state.notes)

    async def journal_end(self) -> str:
        """The place behind the last line."""
        return str(len(self.state.records))

    async def load(self, paths: Sequence[str], known_ids: Mapping[str, str]) -> list[Stored | Unreadable]:
        """Read notes; one that is gone is left out."""
        found = (self.state.read(path, known_ids.get(path)) for path in paths)
        return [item for item in found if item is not None]

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

    async def journal_since(self, known: str, most: int) -> Sequence[Told] | None:
        """The next lines behind a place, each with its own."""
        start = int(known or 0)
        return [Told(line) for line in self.state.records[start : start + most]]

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
        plans = [planned(item, lambda note, _path: f"{change}.{note}") for item in changes]
        before = {plan.file: self.state.texts_of(plan.file).get(plan.file.path) for plan in plans}
        for file, text in before.items():
            if (text.hash if text else None) != file.before:
                raise ConflictError("The note was changed in the meantime.", "Nothing was written; read it again.")
        line = replace(said, op=op, change=change, files=tuple(before))
        record = self.state.append(line, now)
        for plan, item in zip(plans, changes, strict=True):
            old = before[plan.file]
            self._put(plan.file, plan.data, old, touched_ns(item, old.touched_ns if old else None, nanoseconds(now)))
        whole = False
        try:
            yield self._committed(record, changes)
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
