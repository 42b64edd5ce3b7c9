"""Seeing what others wrote: editors, sync tools, other processes, and whoever deleted the index."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import anyio
import structlog

from holdfast.batching import together
from holdfast.engine.commit import note_row
from holdfast.engine.omi.integrity import first_look
from holdfast.engine.ports import MakeKeeper, Ports
from holdfast.engine.sync.batch import (
    GIVEN_LINES,
    Ahead,
    FileBatch,
    FolderStore,
    given_id,
    given_ids,
    is_young,
    load,
    note_of,
    unchanged,
    uncollected,
)
from holdfast.engine.sync.replay import follow
from holdfast.errors import ConflictError, StorageError
from holdfast.index.note_index import IndexLostError, IndexUnopenedError
from holdfast.index.projection import Update
from holdfast.index.rows import FileRow
from holdfast.store.filesystem import Entry, Signature
from holdfast.store.folder import id_in_name
from holdfast.store.settle import STILL_NS
from holdfast.store.stored import Stored

# Where the kernel tells of changes, every request hears of all of them. Elsewhere:
FEW_FILES = 4000  # a folder this small is scanned before every request,
SHARE = 20  # a larger one at most for a twentieth of the time,
OLDEST_SECONDS = 2.0  # and always after two seconds
BACKSTOP_SECONDS = 300.0  # a watched folder is scanned now and then too: writing to mapped files, say, is not told,
BACKSTOP_SHARE = 200  # and takes no more than this part of the time
STILL_SECONDS = STILL_NS / 1e9  # how long a new file must be left alone before its id is written into it
PATIENT_SECONDS = 2.0  # how long a request waits for notes that others hold; what is held longer is looked at later,
BRIEF_SECONDS = 0.1  # and waited for no more than this until it is free
GROWN_BYTES = 1 << 18  # of the journal, until the index is told how far it is known
_BATCH = 512
_ROUNDS = 4

log = structlog.get_logger()


def keeping(folder: FolderStore) -> MakeKeeper:
    """A factory of reconcilers, for `Ports.keeper`."""
    return lambda ports, verbs_done: Reconciler(ports, verbs_done, folder)


@dataclass(slots=True)
class Reconciler:
    """Keeps the index equal to the files. One for each process; `verbs_done` waits until nobody uses the index."""

    ports: Ports
    verbs_done: Callable[[], Awaitable[None]]
    folder: FolderStore
    _seen: dict[str, Signature] = field(default_factory=dict)
    _young: set[str] = field(default_factory=set)
    _lock: anyio.Lock = field(default_factory=anyio.Lock)
    _opened: bool = False
    _warned: bool = False  # whoever stores was told that the folder has vanished
    _missed: bool = False  # news were asked for, and whoever did failed before the index had them
    _late: set[str] = field(default_factory=set)  # files of notes that somebody else held
    _refused: set[str] = field(default_factory=set)  # files that the disk did not let be read: they are tried again
    _patience: float = 0.0
    _count: int = 0
    _looked_at: float = -1e9
    _cost: float = 0.0
    _followed: int = 0  # bytes of the journal when the index was last brought up to its end
    _given: dict[str, str] = field(default_factory=dict)  # ids of files that may not carry them, from the journal

    async def fresh(self, *, force: bool = False, anew: bool = False, past: bool = True) -> None:
        """Return with an index that is there, built, and knows every file as it was when this was called.

        On a large folder that is not watched "as it was" may be two seconds ago, for a scan itself takes time.

        Args:
            force: scan, whatever is known.
            anew: make a folder that has vanished anew, the second time that this is asked for.
            past: a folder's journal is always known.

        Raises:
            StorageError: the folder has vanished, or cannot be used.
        """
        del past
        asked = time.monotonic()
        async with self._lock:
            await self._write_again()
            try:
                await self._refresh(asked, force=force, anew=anew)
            except (StorageError, IndexLostError):
                if not await self._reads_only():
                    raise
                await self._refresh(asked, force=True, anew=False)

    async def _refresh(self, asked: float, *, force: bool, anew: bool) -> None:
        await self._open_store(anew=anew)
        if self.ports.index.lost:
            await self.verbs_done()
            await self._open_index()
            return
        missed, self._missed = self._missed, True
        news = None if force or missed else await self._news()
        if news:
            await self._take_in_news(news)
        elif news is None and (force or missed or self._due(asked)):
            await self._look()
        self._missed = False

    async def _reads_only(self) -> bool:
        """Whether nothing can be written; requests are then answered from the files, with an index elsewhere.

        Raises:
            StorageError: the folder cannot be read either, or there is no place for an index.
        """
        reason = await self.folder.why_not_written()
        if not reason or not self.ports.store.is_there:
            return False
        log.warning("reading_only", reason=reason)
        await self.verbs_done()
        await self.folder.read_only(reason)
        await self.ports.index.stand_in()
        return True

    async def _write_again(self) -> None:
        """Go on as usual when the folder can be written again."""
        if not self.ports.store.reading_only or await self.folder.why_not_written():
            return
        log.warning("writing_again")
        await self.verbs_done()
        await self.ports.index.leave_stand_in()
        await self.folder.write_again()
        self._opened = False

    async def open_store(self) -> None:
        """Open the folder if nobody has, for requests that are about itself and not about its notes.

        Raises:
            StorageError: it cannot be used, not even to be read.
        """
        async with self._lock:
            await self._write_again()
            if self._opened or self.ports.store.reading_only:
                return
            try:
                await self.folder.open(await self.ports.index.last_place())
            except StorageError:
                if not await self._reads_only():
                    raise
                return
            self._opened, self._missed = True, True

    async def _open_store(self, *, anew: bool) -> None:
        """Open the folder once. When it vanishes later its disk may be unmounted: nobody makes it anew unwarned."""
        if self.ports.store.reading_only:
            return
        if self._opened and await self._is_there():
            self._warned = False
            return
        if self._opened and not (anew and self._warned):
            self._warned |= anew  # a look in between, as of the background, takes no warning back
            raise StorageError(
                "The folder of the notes is gone: memories/ is no folder any more.",
                "Mount or restore it. If it is gone for good, call remember again: that makes it anew.",
            )
        await self.folder.open(await self.ports.index.last_place())
        await self._notice_restore()
        await first_look(self.ports)
        self._opened, self._missed = True, True

    async def _is_there(self) -> bool:
        """Whether the notes are where they belong; while a backup takes their place, that is waited for."""
        await self._notice_restore()
        if not self.ports.store.is_there:
            await self._notice_restore()
        return self.ports.store.is_there

    async def _notice_restore(self) -> None:
        if await self.folder.exchanged():
            self.ports.index.discard()  # it knows the notes that were there before

    async def tend(self) -> float | None:
        """Do what is due beside the requests; returns seconds until more is.

        Raises:
            HoldfastError, IndexLostError: it is tried again later.
        """
        await self.backstop()
        await self.keep_up()
        seconds = (await self.adopt(), await self.folder.look_again())
        return min((each for each in seconds if each is not None), default=None)

    async def backstop(self) -> None:
        """Scan a watched folder if that was not done for long."""
        age = time.monotonic() - self._looked_at
        if self.ports.store.watches and age >= max(BACKSTOP_SECONDS, self._cost * BACKSTOP_SHARE):
            await self.fresh(force=True)

    async def _news(self) -> dict[str, Entry | None] | None:
        """What others changed, and what was put off before."""
        news = await self.folder.news()
        if news is None:
            return None
        late = self._begin_late() | self._refused
        return {**dict.fromkeys(late), **await self.folder.look(late), **news} if late else news

    def _begin_late(self) -> set[str]:
        """What was put off is due again, and whoever held it then is not waited for as long once more."""
        late, self._late = self._late, set()
        self._patience = BRIEF_SECONDS if late else PATIENT_SECONDS
        return late

    def _due(self, asked: float) -> bool:
        if self._looked_at >= asked:
            return False
        age = time.monotonic() - self._looked_at
        return self._count <= FEW_FILES or age >= min(self._cost * SHARE, OLDEST_SECONDS)

    async def _open_index(self) -> None:
        """Open the index, or whoever finds it gone makes it anew, all others waiting."""
        async with self.ports.store.alone():
            try:
                await self._build_index()
            except IndexLostError as error:  # it cannot be read, or was deleted meanwhile: from the beginning
                if not isinstance(error, IndexUnopenedError):
                    self.ports.index.discard()
                await self._build_index()
        await self._follow_journal()  # a long one keeps no other process waiting

    async def _follow_journal(self) -> None:
        """Read the journal to its end, or the index is as good as not open."""
        whole = False
        try:
            await follow(self.ports)
            self._followed = self.folder.journal_bytes
            whole = True
        finally:
            if not whole:
                with anyio.CancelScope(shield=True):
                    await self.ports.index.aclose()

    async def keep_up(self) -> None:
        """Tell the index how far the journal is known when it has grown, so that no start has much to read."""
        grown = self.folder.journal_bytes - self._followed
        writes = not self.ports.store.reading_only
        if grown >= GROWN_BYTES and writes and not self.ports.index.lost:  # no request waits for this
            await self.folder.tell_outcomes()
            self._followed += grown
            await follow(self.ports)

    async def _build_index(self) -> None:
        await self.ports.index.aclose()
        whole = False
        try:
            built = await self.ports.index.open()
            self._seen, self._young = {}, set()
            self._given = {} if built else given_ids(await self.ports.store.past.records(GIVEN_LINES))
            await follow(self.ports, slices=1)  # what a process that was killed had not told the index, too
            await self._look()
            if not built:
                await self.ports.index.mark_built()
            whole = True
        finally:
            if not whole:  # a half-built index answers nobody: the next request begins again
                with anyio.CancelScope(shield=True):
                    await self.ports.index.aclose()

    async def _look(self) -> None:
        started, now_ns = time.monotonic(), time.time_ns()
        self._begin_late()
        entries = await self.folder.scan()
        self._cost = time.monotonic() - started
        touched = {path for path, entry in entries.items() if self._seen.get(path) != entry.signature}
        young = self._young & entries.keys()
        if touched or young:
            known = await self.ports.index.files(touched)
            young |= {path for path in touched if is_young(entries[path].signature, now_ns)}
            changed = {path for path in touched if not unchanged(known.get(path), entries[path])}
            await self._take_in(entries, changed | young)
        if await self.ports.index.count_files() != len(entries):  # some are gone, whoever saw them last
            known = await self.ports.index.files()
            closed = tuple(f"{path}/" for path, entry in entries.items() if entry.kind == "closed")
            known_problems = {path for path, row in known.items() if row.problem and path.startswith(closed)}
            await self._take_in({}, known.keys() - entries.keys() - known_problems)
        self._count = len(entries)
        self._young = {path for path in young if is_young(entries[path].signature, now_ns)}
        seen = {} if self.ports.store.watches else entries
        self._seen = {path: entry.signature for path, entry in seen.items() if path not in self._late | self._refused}
        self._looked_at = started

    async def _take_in_news(self, news: Mapping[str, Entry | None]) -> None:
        known = await self.ports.index.files(news)
        there = {path: entry for path, entry in news.items() if entry is not None}
        changed = {path for path, entry in there.items() if not unchanged(known.get(path), entry)}
        await self._take_in(there, changed | (known.keys() - there.keys()))

    async def _take_in(self, entries: Mapping[str, Entry], paths: Collection[str]) -> None:
        """Bring changed and vanished files into the index, batch by batch, until nothing more follows from it."""
        waiting = sorted(paths)
        for _ in range(_ROUNDS):
            again: set[str] = set()
            batches = [waiting[start : start + _BATCH] for start in range(0, len(waiting), _BATCH)]
            ahead = await self._read_ahead(entries, batches[:1])
            for number, batch in enumerate(batches):
                with uncollected():
                    followers, ahead = await self._take_in_batch(
                        entries, batch, ahead, batches[number + 1 : number + 2]
                    )
                again |= followers
            if not again:
                return
            waiting = sorted(again)
            entries = await self.folder.look(waiting)

    async def _take_in_batch(
        self, entries: Mapping[str, Entry], batch: Collection[str], ahead: Ahead, coming: Sequence[Collection[str]]
    ) -> tuple[set[str], Ahead]:
        """Take one batch in while the next is read; returns what must be looked at again, and the next one's files."""
        again: list[set[str]] = []
        read: list[Ahead] = []

        async def take() -> None:
            again.append(await self._take_in_locked(entries, batch, ahead))

        async def read_on() -> None:
            read.append(await self._read_ahead(entries, coming))

        await together(take, read_on)
        return again[0], read[0]

    async def _read_ahead(self, entries: Mapping[str, Entry], batches: Sequence[Collection[str]]) -> Ahead:
        paths = [path for batch in batches for path in batch if path in entries and entries[path].kind == "file"]
        now = time.time_ns()
        known = await self.ports.index.files(paths) if paths else {}
        rows = {path: found for path, row in known.items() if (found := given_id(row))}
        given = {path: self._given.get(path, "") for path in paths} | rows
        return Ahead(now, {item.path: item for item in await load(self.ports, paths, given)})

    async def _take_in_locked(self, entries: Mapping[str, Entry], paths: Collection[str], ahead: Ahead) -> set[str]:
        known = await self.ports.index.files(paths)
        keys = {path: _keys(path, known.get(path), ahead) for path in paths}
        while True:
            every = {key for own in keys.values() for key in own}
            async with self.ports.store.try_hold(every, self._patience) as owned:
                free = [path for path in paths if keys[path] <= owned]
                batch = FileBatch(self.ports, self.folder, entries, await self.ports.index.files(free))
                await batch.read(free, ahead)
                if batch.ids <= owned:
                    self._put_off(set(paths).difference(free))
                    again = await batch.apply()
                    self._refused = self._refused.difference(free) | batch.refused
                    return again
            for path, stored in batch.stored.items():
                keys[path].add(stored.note.id)  # a file came to hold another note's id just now: lock that too
            ahead = Ahead(0, {**ahead.items, **batch.stored})  # for the ids that were given

    def _put_off(self, paths: Collection[str]) -> None:
        """Look at these again with the next request: somebody holds their notes, which is no reason to wait for all."""
        if paths:
            log.warning("notes_locked_by_another", count=len(paths))
            self._late |= set(paths)
            self._patience = BRIEF_SECONDS

    async def adopt(self) -> float | None:
        """Write ids into new hand-written files that have been left alone; returns seconds until the next is due."""
        waiting = await self.ports.index.unadopted()
        due: list[float] = []
        for path, note_id, modified_ns in waiting:
            age = time.time() - modified_ns / 1e9
            if 0 <= age < STILL_SECONDS:
                due.append(STILL_SECONDS - age)
            else:
                await self._adopt_one(path, note_id)
        return min(due, default=None)

    async def _adopt_one(self, path: str, note_id: str) -> None:
        keys = {note_id, f"path:{path}"}
        async with self.ports.store.try_hold(keys, BRIEF_SECONDS) as owned:
            if not keys <= owned:
                return  # it keeps its id in the index and is tried again
            found = await self.ports.store.load([path], {path: note_id})
            if not found or not isinstance(found[0], Stored) or found[0].has_id or found[0].note.id != note_id:
                return
            try:
                adopted = await self.folder.adopt(found[0])
            except (ConflictError, StorageError):
                return  # somebody writes it, or nobody may: the same
            if adopted is not None:
                await self.ports.index.apply(Update(notes=[note_row(adopted)]))


def _keys(path: str, row: FileRow | None, ahead: Ahead) -> set[str]:
    """The locks of a file: of the note that its name tells, of the one it held, and of the one that was read in it."""
    named = id_in_name(path)
    item = ahead.items.get(path)
    read = item.note.id if isinstance(item, Stored) else None
    return {key for key in (named or f"path:{path}", note_of(row), read) if key}
