"""Folders of markdown that are watched: their files are notes by section, kept in step for as long as a server runs.

A changed section updates its note, one that is gone retires it, a file with another name keeps its notes. What somebody
has edited here is left alone. A note is stored before the state says so: whoever dies in between does it again, which
changes nothing. The files themselves are never written.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

import anyio
import structlog

from holdfast.engine.admin.arrivals import LastInSpace, Ready, Taken, made_ready, take_document
from holdfast.engine.commit import commit, load_current
from holdfast.engine.jobs.changes import OWN_CALLER
from holdfast.engine.jobs.daily import JobContext
from holdfast.engine.ports import Ports
from holdfast.engine.runtime import PASSING, Memory
from holdfast.errors import HoldfastError
from holdfast.importers.markdown import Row, Seen, Watched, WatchedFolders
from holdfast.index.rows import digest
from holdfast.model.moving import IMPORTED_TEXT, ArrivedDocument
from holdfast.store.stored import Change, Stored

OP: Final = "watch"
LOOK_SECONDS: Final = 3.0
START_SECONDS: Final = 5.0
ELSEWHERE_SECONDS: Final = 10.0  # another process does it: it may die
GONE_SECONDS: Final = 10.0  # that a file is missing before its notes are retired: it may come back under another name
MOST_TAKEN: Final = 200  # files of one folder, before other folders have their turn
_SHARE: Final = 20.0  # a look may take so small a part of the time, however large the folders are
_MOST_LOST: Final = 5  # files that may all be missing at once: beyond that the disk is
_LEFT: Final = "not in the watched file any more"
_GONE: Final = "the watched file is gone"

log = structlog.get_logger()


class _Work:
    """Files of one folder that have changed and are yet to be taken, and those that are gone, by key."""

    def __init__(self, changed: Iterable[Row], gone: Iterable[Row]) -> None:
        self.changed = deque(changed)
        self.gone = {row.key: row for row in gone}
        self._alike: dict[str, list[str]] = {}
        for row in self.gone.values():
            for sign in _signs(row):
                self._alike.setdefault(sign, []).append(row.key)

    def renamed(self, row: Row) -> Row | None:
        """The file that was known under another name: the same text, else the same file on the disk; gone no more."""
        alike = (key for sign in _signs(row) for key in self._alike.get(sign, ()) if key in self.gone)
        key = next(alike, None)
        return None if key is None else self.gone.pop(key)


def _signs(row: Row) -> tuple[str, str]:
    """By which a file is known whatever it is called: its text, and its inode."""
    return row.hash, "inode " + row.mark.rpartition(":")[2]


class Hippocampus:
    """Keeps the notes of watched folders in step.

    Args:
        memory: the memory.
        folders: what is watched.
    """

    def __init__(self, memory: Memory, folders: WatchedFolders) -> None:
        self._memory = memory
        self._context = JobContext(memory)
        self.folders = folders
        self._missing: dict[str, float] = {}  # since when, by key
        self._behind: dict[Watched, _Work] = {}
        self._nameless: set[str] = set()  # names that were told of
        self._looked = 0.0  # seconds that looking itself took

    async def run(self) -> None:
        """Look again and again, unless another process does."""
        rest = START_SECONDS
        while True:
            await anyio.sleep(rest)
            rest = await self.tend()

    async def tend(self) -> float:
        """Look, unless another process does; returns the seconds until it is time to look again."""
        try:
            await self._memory.attend_folder(_nothing)  # a memory that nobody has asked for anything is no folder yet
            async with self.folders.turn() as mine:
                if mine:
                    await self.look()
                    return LOOK_SECONDS if self._behind else max(LOOK_SECONDS, _SHARE * self._looked)
        except PASSING as error:
            log.warning("watching_put_off", error=type(error).__name__, reason=str(error))
            return LOOK_SECONDS
        self._behind.clear()
        return ELSEWHERE_SECONDS

    async def look(self) -> int:
        """Bring the notes of all watched folders nearer to their files; returns how many were taken or retired.

        Of a folder in which much has changed some files are taken, and the next call goes on with the others.
        """
        self._looked = 0.0
        return sum([await self._look_at(watched) for watched in self.folders.watched])

    async def _look_at(self, watched: Watched) -> int:
        work = self._behind.pop(watched, None) or await self._found_work(watched)
        taken = 0
        while work.changed and taken < MOST_TAKEN:
            row = await self.folders.as_now(watched, work.changed.popleft())
            if row is not None:
                await self._take(watched, row, None if row.key else work.renamed(row))
                taken += 1
        if work.changed:
            self._behind[watched] = work
            return taken
        return taken + sum([await self._let_go(row) for row in self._due(work.gone)])

    async def _found_work(self, watched: Watched) -> _Work:
        """What is to be done for a folder; nothing where it is not there."""
        seen = await self.folders.look(watched)
        self._looked += seen.seconds
        self._tell_nameless(seen.nameless)
        if not seen.is_there or _is_lost(seen):
            log.warning("watched_folder_missing", known=seen.known)
            return _Work((), ())
        return _Work(seen.changed, seen.missing)

    def _tell_nameless(self, paths: Sequence[str]) -> None:
        """Say once of each of these that it is left out, with what is no text spelled as bytes."""
        for path in paths:
            if path not in self._nameless:
                self._nameless.add(path)
                log.warning("watched_name_no_utf8", path=os.fsencode(path).decode("utf-8", "backslashreplace"))

    async def _take(self, watched: Watched, row: Row, before: Row | None) -> None:
        """Store what a file says, then write down that it is so."""
        named = before or row
        row = replace(row, key=named.key or _new_key(watched, row), notes=named.notes)
        try:
            item = await self.folders.read(watched, row)
            notes = await self._store(item, row) if isinstance(item, ArrivedDocument) else ()
        except HoldfastError as error:
            log.warning("watched_file_left_out", error=type(error).__name__, reason=error.sentence)
            notes = ()
        left = [note for note in named.notes if note not in notes]
        if left:
            await self._context.step(lambda ports: retire(ports, left, _LEFT))
        await self.folders.put(replace(row, notes=tuple(notes)), before)

    async def _store(self, item: ArrivedDocument, row: Row) -> tuple[str, ...]:
        in_sections = item.is_long or len(row.notes) > 1
        arrivals = item.parts if in_sections else (item.whole,)
        ports, threads = self._context.ports, LastInSpace()
        size = sum(len(arrival.content) for arrival in arrivals)
        ready = await ports.computing.run(
            OWN_CALLER.principal, size, lambda: [made_ready(ports, arrival, threads) for arrival in arrivals]
        )
        await self._context.step(lambda ports: bring_back(ports, [part.note.id for part in ready]))
        await self._context.step(lambda ports: _write(ports, ready, item.whole.content))
        return tuple(part.note.id for part in ready)

    async def _let_go(self, row: Row) -> int:
        await self._context.step(lambda ports: retire(ports, row.notes, _GONE))
        await self.folders.drop(row)
        self._missing.pop(row.key, None)
        return 1

    def _due(self, gone: dict[str, Row]) -> list[Row]:
        """Those that have been missing for long enough."""
        now = time.monotonic()
        self._missing = {key: self._missing.get(key, now) for key in gone}
        return [row for key, row in gone.items() if now - self._missing[key] >= GONE_SECONDS]


async def _nothing(_ports: Ports) -> None:
    """Opens the folder, and no more."""


async def _write(ports: Ports, ready: Sequence[Ready], whole: str) -> Taken:
    return await take_document(ports, OWN_CALLER, ready, whole, writes=True)


async def retire(ports: Ports, notes: Sequence[str], reason: str) -> None:
    """Retire those of these notes that are current and that nobody has edited, as one change."""

    def closed(stored: Stored) -> Stored | None:
        if stored.note.is_outdated or stored.document.values.get(IMPORTED_TEXT) != digest(stored.note.content):
            return None
        note = replace(stored.note, outdated=True, outdated_reason=reason, valid_until=ports.now)
        return replace(stored, note=note)

    await _change(ports, notes, closed)


async def bring_back(ports: Ports, notes: Sequence[str]) -> None:
    """Make those of these notes current that were retired because their text was gone: it is there again."""

    def opened(stored: Stored) -> Stored | None:
        if stored.note.outdated_reason not in (_LEFT, _GONE):
            return None
        return replace(stored, note=replace(stored.note, outdated=False, outdated_reason=None, valid_until=None))

    await _change(ports, notes, opened)


async def _change(ports: Ports, notes: Sequence[str], after: Callable[[Stored], Stored | None]) -> None:
    async with ports.store.hold(notes):
        there = await ports.index.notes(notes)
        before = [await load_current(ports, there[note]) for note in notes if note in there]
        pairs = [(stored, changed) for stored in before if (changed := after(stored)) is not None]
        changes = [
            Change(stored, replace(changed.note, updated=max(ports.now, stored.note.created)))
            for stored, changed in pairs
        ]
        if changes:
            await commit(ports, OWN_CALLER, OP, changes)


def _is_lost(seen: Seen) -> bool:
    """Whether all that is known is missing at once, as when a disk is not mounted."""
    return seen.known > _MOST_LOST and seen.gone == seen.known and not seen.changed


def _new_key(watched: Watched, row: Row) -> str:
    """The identity of a new file: its first name, and its first state, for the name may have been another file's."""
    return f"{OP}:{watched.space}/{watched.root.name}:{row.path}~{row.hash[:12]}"
