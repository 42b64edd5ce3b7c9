"""Keeping the index equal to a storage that nobody writes into but through its port: the journal tells what is new."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import Protocol

import anyio

from holdfast.batching import Batcher, together
from holdfast.engine.commit import note_row
from holdfast.engine.omi.integrity import first_look
from holdfast.engine.ports import MakeKeeper, Ports, Reading, Store
from holdfast.engine.sync.batch import TWIN, note_of, uncollected, winner_first
from holdfast.engine.sync.replay import SLICE, follow
from holdfast.errors import StorageError
from holdfast.index.journal import Advance
from holdfast.index.note_index import IndexLostError
from holdfast.index.projection import NoteRow, Update, text_to_encode
from holdfast.index.rows import FileRow
from holdfast.model.records import OPERATIONS, PURGE, RESTORE
from holdfast.store.folder import id_in_name
from holdfast.store.stored import Followed, Stored, Unreadable

_BATCH = 1000
_LOOK_SECONDS = 0.2  # between looks whether the storage is away while another task waits for it


class FollowedStore(Store, Protocol):
    """A storage that can name all of its notes with their marks, and the end of its journal.

    `hurried` is for what can do without an answer: inside, one that cannot be reached is not waited for.
    """

    @property
    def followed(self) -> Followed: ...
    def hurried(self) -> AbstractContextManager[None]: ...
    async def every(self) -> dict[str, str]: ...
    async def load_after(self, path: str, most: int) -> list[Stored | Unreadable]: ...
    async def journal_end(self) -> str: ...


def following(store: FollowedStore) -> MakeKeeper:
    """What makes the follower of a storage."""

    def make(ports: Ports, verbs_done: Callable[[], Awaitable[None]]) -> Follower:
        follower = Follower(ports, verbs_done, store)
        store.followed.news = follower.news
        return follower

    return make


class Follower:
    """Keeps the index equal to the store. One for each process.

    Who asks while another asks waits for the next time, which then is for all who wait.

    Args:
        ports: storage, index, encoder, clock and ids.
        verbs_done: waits until nobody uses the index.
        store: what is followed.
    """

    def __init__(self, ports: Ports, verbs_done: Callable[[], Awaitable[None]], store: FollowedStore) -> None:
        self.ports = ports
        self._verbs_done = verbs_done
        self._store = store
        self._followed = store.followed
        self._freshening: Batcher[bool, None] = Batcher(self._freshen)
        self._hearing: Batcher[None, None] = Batcher(self._hear)
        self._looked = False
        self._past_is_known = False  # whether the whole journal is in the index, up to where its notes are
        self._erased = False  # a purge was heard of, and the index may still have what it took away
        self._texts: set[str] = set()  # of the notes that it took away, as this server encoded them

    async def fresh(self, *, force: bool = False, anew: bool = False, past: bool = True) -> None:
        """Return with an index that knows every note as it was when this was called.

        While the storage cannot be reached that is the index as it is; `Store.reading_only` says so.

        Args:
            force: compare every note, whatever is known.
            anew: of no meaning here.
            past: with every line of the journal, too. Without it an index that was just made has those lines only
                that answers are ranked by.
        """
        del anew
        await self._freshening.submit(force)
        if past and not self._past_is_known:
            await self._read_past()

    async def _read_past(self) -> None:
        """Bring in the lines of the journal that the first answer did not wait for."""
        async with self._followed.lock:
            if self._past_is_known or self.ports.index.lost or self._erased:
                return
            try:
                with self._store.hurried():
                    await self._follow()
            except StorageError:
                if not self._store.reading_only:
                    raise

    async def news(self) -> None:
        """As `fresh`, from within a verb, which then goes on with the same index: one that is lost stays so."""
        await self._hearing.submit(None)

    async def open_store(self) -> None:
        """There is nothing to open."""

    async def tend(self) -> float | None:
        """Tell the index how far the journal is known."""
        if not self.ports.index.lost and not self._erased:
            await self._follow()
        return None

    async def _follow(self) -> None:
        """Read the journal into the index, up to what its notes are known by: a purge behind that was not heard of."""
        await follow(self.ports, until=int(self._followed.place.partition(":")[0] or 0))
        self._past_is_known = True

    async def _take_what_ranks(self) -> None:
        """Bring in the lines of the journal that are no changes of notes: what was used, rated, judged, and run.

        All lines are read after the first answer; those that are known by then change nothing.
        """
        self._past_is_known = False
        lines = await self._store.past.records(OPERATIONS)
        await self.ports.index.apply(Update(journal=(Advance("", self._store.journal_start, anew=True),)))
        await self.ports.index.apply(Update(records=lines))

    async def _freshen(self, forces: Sequence[bool]) -> Sequence[None]:
        if not self._looked:
            await first_look(self.ports)
            self._looked = True
        if self.ports.index.lost or self._erased:
            await self._verbs_done()  # without the lock, which they need to end
            async with self._followed.lock:
                await self._open_index()
            return [None for _ in forces]
        if any(forces):
            async with self._followed.lock:
                await self._take_all()
        elif await self._take_what_can_be_reached():
            return await self._freshen(forces)
        return [None for _ in forces]

    async def _take_what_can_be_reached(self) -> bool:
        """As `_take_news`, without waiting for a storage that is away, nor for a writer that waits for it."""
        if not await self._locked():
            return False
        try:
            with self._store.hurried():
                return await self._take_news()
        except StorageError:
            if not self._store.reading_only:
                raise
            return False
        finally:
            self._followed.lock.release()

    async def _locked(self) -> bool:
        """Take the lock, unless the storage is away while somebody else has it; returns whether it was taken."""
        while True:
            with suppress(anyio.WouldBlock):
                self._followed.lock.acquire_nowait()
                return True
            with anyio.move_on_after(_LOOK_SECONDS):
                await self._followed.lock.acquire()
                return True
            if self._store.reading_only:
                return False

    async def _hear(self, waiting: Sequence[None]) -> Sequence[None]:
        async with self._followed.lock:
            if self._looked and not self.ports.index.lost:
                await self._take_news()
        return waiting

    async def _open_index(self) -> None:
        async with self.ports.store.alone():
            if self._erased:
                await self._erase()
            elif await self._was_purged():  # by another server, which took it from what all share
                await self._erase_own()
            await self.ports.index.aclose()
            whole = False
            try:
                try:
                    built = await self.ports.index.open()
                except IndexLostError:
                    self.ports.index.discard()
                    built = await self.ports.index.open()
                with uncollected():
                    await self._take_all()
                    await (self._follow() if built else self._take_what_ranks())
                if not built:
                    await self.ports.index.mark_built()
                whole = True
            finally:
                if not whole:
                    with anyio.CancelScope(shield=True):
                        await self.ports.index.aclose()

    async def _erase(self) -> None:
        """Take away whatever this server derived from what was purged."""
        if self._texts:  # this server may have shared what it made of them after they were taken from all
            await self.ports.forget(sorted(self._texts))
        await self.ports.recalls.erase()
        await self._erase_own()
        self._erased, self._texts = False, set()

    async def _erase_own(self) -> None:
        """Take away what lies on this server's disk: vectors are had again from those that servers share."""
        await self.ports.forget_all()
        await self.ports.index.erase()

    async def _was_purged(self) -> bool:
        """Whether a note was purged since the index was last equal to the journal; at any time, where there is none."""
        place = await self.ports.index.last_place()
        if not place:
            return bool(await self._store.past.records((PURGE,)))
        while readings := await self._store.journal_since(place, SLICE):
            if any(each.record.op == PURGE for each in readings):
                return True
            if len(readings) < SLICE:  # see `_take_news`
                break
            place = readings[-1].place
        return False

    async def _take_all(self) -> None:
        """Bring in every note whose version is another than the index knows, and know the journal up to here."""
        place = await self._store.journal_end()
        await self._compare_all()
        self._followed.place = place

    async def _compare_all(self) -> None:
        known = await self.ports.index.files()
        if not known:
            await self._fill()
            return
        marks = await self._store.every()
        paths = sorted(path for path, mark in marks.items() if not _is_known(known.get(path), mark))
        for start in range(0, len(paths), _BATCH):
            await self._take(paths[start : start + _BATCH])
        await self._take(sorted(known.keys() - marks.keys()))

    async def _fill(self) -> None:
        """Bring every note into an index that has none: while one page of them is written, the next is read."""
        page = await self._store.load_after("", _BATCH)
        claimed: set[str] = set()
        late: list[str] = []  # of notes whose id one of an earlier page has
        while page:
            following: list[Stored | Unreadable] = []

            async def read_on(last: str = page[-1].path, into: list[Stored | Unreadable] = following) -> None:
                into += await self._store.load_after(last, _BATCH)

            again = {item.path for item in page if isinstance(item, Stored) and item.note.id in claimed}
            claimed |= {item.note.id for item in page if isinstance(item, Stored)}
            late += sorted(again)
            update = _update_of([item for item in page if item.path not in again], {})
            await together(partial(self.ports.index.apply, update), read_on)
            page = following
        await self._take(late)

    async def _take_news(self) -> bool:
        """Bring in what changed since the last look, as the journal's lines name it; whether a purge is among it.

        It ends with the line that was the last one when it looked: who writes all the time holds up nobody for good.
        """
        heard = False
        while readings := await self._store.journal_since(self._followed.place, SLICE):
            heard = True
            paths = {file.path for each in readings for file in each.record.files if not file.is_page}
            paths |= await self._of_void([change for each in readings for change in each.record.void])
            await self._take(sorted(paths | await self._of_purged(readings)))
            if any(each.record.op == RESTORE for each in readings):  # a backup took the place of all that was there
                await self._compare_all()
            self._followed.place = readings[-1].place
            if len(readings) < SLICE:
                break
        if readings is None:  # the storage lost its end, or was put back: nothing is sure that was known of it
            await self._take_all()
        if (heard or readings is None) and not self._erased:  # else it is still to be known that it has to be erased
            await self._follow()
        return self._erased

    async def _of_purged(self, readings: Sequence[Reading]) -> set[str]:
        """The paths of notes that another server erased: its line names none."""
        erased = [each.record.note for each in readings if each.record.op == PURGE and each.record.note]
        if not erased:
            return set()
        self._erased = True
        known = await self.ports.index.notes(erased)
        self._texts |= {text_to_encode(each.note.title, each.note.content) for each in known.values()}
        return set(await self.ports.index.files_of(erased))

    async def _of_void(self, changes: Sequence[str]) -> set[str]:
        """The paths of changes that turned out not to have happened."""
        if not changes:
            return set()
        readings = await self._store.journal_since("", 1 << 30) or ()
        records = [each.record for each in readings if each.record.change in changes]
        return {file.path for record in records for file in record.files if not file.is_page}

    async def _take(self, paths: Sequence[str]) -> None:
        """Bring these into the index, with all others that claim the id of one of them."""
        if not paths:
            return
        known = await self.ports.index.files(paths)
        found = await self._read(paths, known)
        claimed = {item.note.id for item in found if isinstance(item, Stored)} | _notes_of(known)
        rivals = await self.ports.index.files_of(claimed)
        others = {path: rivals[path] for path in rivals.keys() - set(paths)}
        found += await self._read(sorted(others), others)
        update = _update_of(found, known | others)
        if update != Update():
            await self.ports.index.apply(update)

    async def _read(self, paths: Sequence[str], known: Mapping[str, FileRow]) -> list[Stored | Unreadable]:
        if not paths:
            return []
        ids = {path: row.note for path, row in known.items() if row.note}
        return await self._store.load(paths, ids)


def _is_known(row: FileRow | None, mark: str) -> bool:
    """Whether the index has this version; one that is quarantined is read again, for what mends it tells nobody."""
    return row is not None and row.mark == mark and not row.problem


def _notes_of(known: Mapping[str, FileRow]) -> set[str]:
    return {row.note for row in known.values() if row.note}


def _update_of(found: Sequence[Stored | Unreadable], known: Mapping[str, FileRow]) -> Update:
    """What stored texts, all that claim the ids of any of them, change in an index that knows these versions.

    One that cannot be read, or whose id another one has, is quarantined as a file in a folder is.
    """
    stored = {item.path: item for item in found if isinstance(item, Stored)}
    claims: dict[str, list[str]] = {}
    for path, item in stored.items():
        claims.setdefault(item.note.id, []).append(path)
    problems = [_quarantined(item, item.reason, known) for item in found if isinstance(item, Unreadable)]
    rows: list[NoteRow] = []
    for note, paths in claims.items():
        winner, *losers = winner_first(paths, note)
        rows.append(note_row(stored[winner]))
        problems += [_quarantined(stored[path], f"{TWIN} {winner}", known) for path in losers]
    held = {row.note for row in known.values() if row.note and not row.problem}
    return Update(
        notes=[row for row in rows if known.get(row.file.path) != row.file],
        gone=sorted(held - claims.keys()),
        files=[row for row in problems if known.get(row.path) != row],
        gone_files=sorted(known.keys() - {item.path for item in found}),
    )


def _quarantined(item: Stored | Unreadable, reason: str, known: Mapping[str, FileRow]) -> FileRow:
    note_id = item.note.id if isinstance(item, Stored) else note_of(known.get(item.path)) or id_in_name(item.path)
    signature = item.signature
    return FileRow(item.path, signature.mark, signature.modified_ns, signature.size, note_id, reason)
