"""Keeping the index equal to a storage that nobody writes into but through its port: the journal tells what is new."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import anyio

from holdfast.engine.commit import note_row
from holdfast.engine.omi.integrity import first_look
from holdfast.engine.ports import MakeKeeper, Ports, Store
from holdfast.engine.sync.replay import SLICE, follow
from holdfast.index.note_index import IndexLostError
from holdfast.index.projection import Update
from holdfast.store.stored import Stored

_BATCH = 512


class FollowedStore(Store, Protocol):
    """A storage that can name all of its notes."""

    async def every(self) -> list[str]: ...


def following(store: FollowedStore) -> MakeKeeper:
    """What makes the follower of a storage."""
    return lambda ports, verbs_done: Follower(ports, verbs_done, store)


@dataclass(slots=True)
class Follower:
    """Keeps the index equal to the store. One for each process; `verbs_done` waits until nobody uses the index."""

    ports: Ports
    verbs_done: Callable[[], Awaitable[None]]
    store: FollowedStore
    _lock: anyio.Lock = field(default_factory=anyio.Lock)
    _place: str = ""  # in the journal, up to which the notes are in the index
    _looked: bool = False

    async def fresh(self, *, force: bool = False, anew: bool = False) -> None:
        """Return with an index that knows every note as it was when this was called."""
        del anew
        async with self._lock:
            if not self._looked:
                await first_look(self.ports)
                self._looked = True
            if self.ports.index.lost:
                await self.verbs_done()
                await self._open_index()
            elif force:
                await self._take_all()
            else:
                await self._take_news()

    async def open_store(self) -> None:
        """There is nothing to open."""

    async def tend(self) -> float | None:
        """Tell the index how far the journal is known."""
        if not self.ports.index.lost:
            await follow(self.ports)
        return None

    async def _open_index(self) -> None:
        async with self.ports.store.alone():
            await self.ports.index.aclose()
            whole = False
            try:
                try:
                    built = await self.ports.index.open()
                except IndexLostError:
                    self.ports.index.discard()
                    built = await self.ports.index.open()
                await self._take_all()
                if not built:
                    await self.ports.index.mark_built()
                await follow(self.ports)
                whole = True
            finally:
                if not whole:
                    with anyio.CancelScope(shield=True):
                        await self.ports.index.aclose()

    async def _take_all(self) -> None:
        place = await self._end(self._place)
        paths = await self.store.every()
        for start in range(0, len(paths), _BATCH):
            await self._take(paths[start : start + _BATCH])
        known = await self.ports.index.files()
        await self._take(sorted(known.keys() - set(paths)))
        self._place = place

    async def _take_news(self) -> None:
        """Bring in what changed since the last look, as the journal's lines name it."""
        readings = await self.store.journal_since(self._place, SLICE)
        while readings:
            paths = {file.path for each in readings for file in each.record.files if not file.is_page}
            paths |= await self._of_void([change for each in readings for change in each.record.void])
            await self._take(sorted(paths))
            self._place = readings[-1].place
            readings = await self.store.journal_since(self._place, SLICE)

    async def _of_void(self, changes: Sequence[str]) -> set[str]:
        """The paths of changes that turned out not to have happened."""
        if not changes:
            return set()
        readings = await self.store.journal_since("", 1 << 30) or ()
        told = [each.record for each in readings if each.record.change in changes]
        return {file.path for record in told for file in record.files if not file.is_page}

    async def _end(self, place: str) -> str:
        readings = await self.store.journal_since(place, 1 << 30)
        return readings[-1].place if readings else place

    async def _take(self, paths: Sequence[str]) -> None:
        if not paths:
            return
        known = await self.ports.index.files(paths)
        ids = {path: row.note for path, row in known.items() if row.note}
        found = [item for item in await self.store.load(paths, ids) if isinstance(item, Stored)]
        rows = [note_row(item) for item in found]
        there = {item.path for item in found}
        fresh = [row for row in rows if known.get(row.file.path) != row.file]
        gone_files = [path for path in known if path not in there]
        moved = {item.note.id for item in found}
        gone = sorted({row.note for path, row in known.items() if path in gone_files and row.note} - moved)
        if fresh or gone or gone_files:
            await self.ports.index.apply(Update(notes=fresh, gone=gone, gone_files=gone_files))
