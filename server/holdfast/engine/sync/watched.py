"""Folders of markdown that are watched: their files are notes by section, kept in step for as long as a server runs.

A changed section updates its note, one that is gone retires it, a file with another name keeps its notes. What somebody
has edited here is left alone. A note is stored before the state says so: whoever dies in between does it again, which
changes nothing. The files themselves are never written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import anyio
import structlog

from holdfast.engine.admin.arrivals import LastInSpace, Ready, Taken, made_ready, take_document
from holdfast.engine.commit import commit, load_current
from holdfast.engine.jobs.changes import HOUSE
from holdfast.engine.jobs.scheduler import JobContext
from holdfast.engine.ports import Ports
from holdfast.engine.runtime import PASSING, Memory
from holdfast.errors import HoldfastError
from holdfast.importers.watched import Row, Seen, Watched, WatchedFolders
from holdfast.index.projection import digest
from holdfast.model.moving import IMPORTED_TEXT, ArrivedDocument
from holdfast.store.stored import Change, Stored

OP: Final = "watch"
LOOK_SECONDS: Final = 3.0
START_SECONDS: Final = 5.0
ELSEWHERE_SECONDS: Final = 10.0  # another process does it: it may die
GONE_SECONDS: Final = 10.0  # that a file is missing before its notes are retired: it may come back under another name
_SHARE: Final = 20.0  # a look may take so small a part of the time, however large the folders are
_MOST_LOST: Final = 5  # files that may all be missing at once: beyond that the disk is
_LEFT: Final = "not in the watched file any more"
_GONE: Final = "the watched file is gone"

log = structlog.get_logger()


class Hippocampus:
    """Keeps the notes of watched folders in step.

    Args:
        memory: the memory.
        folders: what is watched.
    """

    def __init__(self, memory: Memory, folders: WatchedFolders) -> None:
        self._house = JobContext(memory)
        self.folders = folders
        self._missing: dict[str, float] = {}  # since when, by key

    async def run(self) -> None:
        """Look again and again, unless another process does."""
        await anyio.sleep(START_SECONDS)
        while True:
            rest = LOOK_SECONDS
            try:
                async with self.folders.turn() as mine:
                    began = time.monotonic()
                    if mine:
                        await self.look()
                    rest = max(rest, _SHARE * (time.monotonic() - began)) if mine else ELSEWHERE_SECONDS
            except PASSING as error:
                log.warning("watching_put_off", error=type(error).__name__, reason=str(error))
            await anyio.sleep(rest)

    async def look(self) -> int:
        """Bring the notes of all watched folders up to date; returns how many files were taken or retired."""
        return sum([await self._look_at(watched) for watched in self.folders.watched])

    async def _look_at(self, watched: Watched) -> int:
        seen = await self.folders.look(watched)
        if not seen.is_there or _is_lost(seen):
            log.warning("watched_folder_missing", known=seen.known)
            return 0
        gone = {row.key: row for row in seen.missing}
        for row in seen.changed:
            before = None if row.key else _renamed(row, list(gone.values()))
            if before is not None:
                gone.pop(before.key)
            await self._take(watched, row, before)
        return len(seen.changed) + sum([await self._let_go(row) for row in self._due(gone)])

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
            await self._house.step(lambda ports: retire(ports, left, _LEFT))
        await self.folders.put(replace(row, notes=tuple(notes)), before)

    async def _store(self, item: ArrivedDocument, row: Row) -> tuple[str, ...]:
        in_sections = item.is_long or len(row.notes) > 1
        arrivals = item.parts if in_sections else (item.whole,)
        ports, threads = self._house.ports, LastInSpace()
        size = sum(len(arrival.content) for arrival in arrivals)
        ready = await ports.computing.run(
            HOUSE.principal, size, lambda: [made_ready(ports, arrival, threads) for arrival in arrivals]
        )
        await self._house.step(lambda ports: bring_back(ports, [part.note.id for part in ready]))
        await self._house.step(lambda ports: _write(ports, ready, item.whole.content))
        return tuple(part.note.id for part in ready)

    async def _let_go(self, row: Row) -> int:
        await self._house.step(lambda ports: retire(ports, row.notes, _GONE))
        await self.folders.drop(row)
        self._missing.pop(row.key, None)
        return 1

    def _due(self, gone: dict[str, Row]) -> list[Row]:
        """Those that have been missing for long enough."""
        now = time.monotonic()
        self._missing = {key: self._missing.get(key, now) for key in gone}
        return [row for key, row in gone.items() if now - self._missing[key] >= GONE_SECONDS]


async def _write(ports: Ports, ready: Sequence[Ready], whole: str) -> Taken:
    return await take_document(ports, HOUSE, ready, whole, writes=True)


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
            await commit(ports, HOUSE, OP, changes)


def _is_lost(seen: Seen) -> bool:
    """Whether all that is known is missing at once, as when a disk is not mounted."""
    return seen.known > _MOST_LOST and len(seen.missing) == seen.known and not seen.changed


def _renamed(row: Row, gone: Sequence[Row]) -> Row | None:
    """The file that is known under another name: the same text, or the same file on the disk."""
    same = [each for each in gone if each.hash == row.hash]
    moved = [each for each in gone if each.mark.rpartition(":")[2] == row.mark.rpartition(":")[2]]
    return next(iter([*same, *moved]), None)


def _new_key(watched: Watched, row: Row) -> str:
    """The identity of a new file: its first name, and its first state, for the name may have been another file's."""
    return f"{OP}:{watched.space}/{watched.root.name}:{row.path}~{row.hash[:12]}"
