"""Seeing what others wrote: editors, sync tools, other processes, and whoever deleted the index."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

import anyio

from holdfast.engine.commit import note_row
from holdfast.engine.ports import Ports
from holdfast.errors import ConflictError, StorageError
from holdfast.index.note_index import HistoryRow, IndexLostError, Update
from holdfast.index.projection import FileRow, NoteRow
from holdfast.index.rows import IndexedNote
from holdfast.model.ids import PREFIX, is_note_id
from holdfast.store.filesystem import Entry, Signature
from holdfast.store.folder import is_canonical
from holdfast.store.stored import Stored, Unreadable

# Where the kernel tells of changes, every request hears of all of them. Elsewhere:
FEW_FILES = 4000  # a folder this small is scanned before every request,
SHARE = 20  # a larger one at most for a twentieth of the time,
OLDEST_SECONDS = 2.0  # and always after two seconds
BACKSTOP_SECONDS = 300.0  # a watched folder is scanned now and then too: writing to mapped files, say, is not told,
BACKSTOP_SHARE = 200  # and takes no more than this part of the time
STILL_SECONDS = 1.0  # how long a new file must be left alone before its id is written into it
_TICK_NS = 20_000_000  # a file changed this recently may change again without a new time
_NEVER = 0  # as a file's time of change: equal to none
_BATCH = 256
_ROUNDS = 4

_KINDS = {
    "link": "it is a symbolic link, and those are not followed",
    "other": "it is not a regular file",
    "name": "its name is not valid UTF-8",
}


@dataclass(slots=True)
class Reconciler:
    """Keeps the index equal to the files. One for each process."""

    ports: Ports
    _seen: dict[str, Signature] = field(default_factory=dict)
    _young: set[str] = field(default_factory=set)
    _lock: anyio.Lock = field(default_factory=anyio.Lock)
    _opened: bool = False
    _missed: bool = False  # news were asked for, and whoever did failed before the index had them
    _count: int = 0
    _looked_at: float = -1e9
    _cost: float = 0.0

    async def fresh(self, *, force: bool = False) -> None:
        """Return with an index that is there, built, and knows every file as it was when this was called.

        On a large folder that is not watched "as it was" may be two seconds ago, for a scan itself takes time.
        """
        asked = time.monotonic()
        async with self._lock:
            if not self._opened:
                await self.ports.store.open()
                self._opened = True
            if self.ports.index.lost:
                await self._open_index()
                return
            missed, self._missed = self._missed, True
            news = None if force or missed else await self.ports.store.news()
            if news:
                await self._take_in_news(news)
            elif news is None and (force or missed or self._due(asked)):
                await self._look()
            self._missed = False

    async def backstop(self) -> None:
        """Scan a watched folder if that was not done for long."""
        age = time.monotonic() - self._looked_at
        if self.ports.store.watches and age >= max(BACKSTOP_SECONDS, self._cost * BACKSTOP_SHARE):
            await self.fresh(force=True)

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
            except IndexLostError:  # it cannot be read, or was deleted meanwhile: from the beginning
                self.ports.index.discard()
                await self._build_index()

    async def _build_index(self) -> None:
        await self.ports.index.aclose()
        whole = False
        try:
            built = await self.ports.index.open()
            self._seen, self._young = {}, set()
            if not built:
                await self._replay_journal()
            await self._look()
            if not built:
                await self.ports.index.mark_built()
            whole = True
        finally:
            if not whole:  # a half-built index answers nobody: the next request begins again
                with anyio.CancelScope(shield=True):
                    await self.ports.index.aclose()

    async def _replay_journal(self) -> None:
        """History of changes, from the journal. That a file was given its id is no change of its note."""
        records = await self.ports.store.journal()
        done = {change for record in records for change in record.get("done", ())}
        void = {change for record in records for change in record.get("void", ())} - done  # its own writer knows best
        rows = [
            HistoryRow(file["note"], record["seq"], record["change"], record["op"], record["at"])
            for record in records
            if record.get("change") and record["change"] not in void and record["op"] != "adopt"
            for file in record.get("files", ())
        ]
        await self.ports.index.apply(Update(history=rows))

    async def _look(self) -> None:
        started, wall = time.monotonic(), time.time_ns()
        entries = await self.ports.store.scan()
        self._cost = time.monotonic() - started
        touched = {path for path, entry in entries.items() if self._seen.get(path) != entry.signature}
        young = self._young & entries.keys()
        if touched or young:
            known = await self.ports.index.files(touched)
            young |= {path for path in touched if _is_young(entries[path].signature, wall)}
            changed = {path for path in touched if not _unchanged(known.get(path), entries[path])}
            await self._take_in(entries, changed | young)
        if await self.ports.index.count_files() != len(entries):  # some are gone, whoever saw them last
            known = await self.ports.index.files()
            await self._take_in({}, known.keys() - entries.keys())
        self._count = len(entries)
        self._young = {path for path in young if _is_young(entries[path].signature, wall)}
        self._seen = {path: entry.signature for path, entry in entries.items()} if not self.ports.store.watches else {}
        self._looked_at = started

    async def _take_in_news(self, news: Mapping[str, Entry | None]) -> None:
        known = await self.ports.index.files(news)
        there = {path: entry for path, entry in news.items() if entry is not None}
        changed = {path for path, entry in there.items() if not _unchanged(known.get(path), entry)}
        await self._take_in(there, changed | (known.keys() - there.keys()))

    async def _take_in(self, entries: Mapping[str, Entry], paths: Collection[str]) -> None:
        """Bring changed and vanished files into the index, batch by batch, until nothing more follows from it."""
        waiting = sorted(paths)
        for _ in range(_ROUNDS):
            again: set[str] = set()
            for start in range(0, len(waiting), _BATCH):
                again |= await self._take_in_batch(entries, waiting[start : start + _BATCH])
            if not again:
                return
            waiting = sorted(again)
            entries = await self.ports.store.look(waiting)

    async def _take_in_batch(self, entries: Mapping[str, Entry], paths: Collection[str]) -> set[str]:
        known = await self.ports.index.files(paths)
        keys = {key for path in paths for key in (_id_in_name(path), _note_of(known.get(path))) if key}
        keys |= {f"path:{path}" for path in paths if _id_in_name(path) is None}
        async with self.ports.store.hold(keys):
            batch = _Batch(self.ports, entries, await self.ports.index.files(paths))
            await batch.read(paths)
            strangers = batch.ids - keys
            if strangers:  # a file's name does not tell its id: lock that too
                keys |= strangers
            else:
                return await batch.apply()
        async with self.ports.store.hold(keys):
            batch = _Batch(self.ports, entries, await self.ports.index.files(paths))
            await batch.read(paths)
            return await batch.apply()

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
        async with self.ports.store.hold({note_id, f"path:{path}"}):
            found = await self.ports.store.load([path], {path: note_id})
            if not found or not isinstance(found[0], Stored) or found[0].has_id or found[0].note.id != note_id:
                return
            try:
                adopted = await self.ports.store.adopt(found[0])
            except (ConflictError, StorageError):
                return  # somebody writes it, or nobody may: it keeps its id in the index and is tried again
            if adopted is not None:
                await self.ports.index.apply(Update(notes=[note_row(adopted)]))


class _Batch:
    """Files read together under their locks, and what they make of the index."""

    def __init__(self, ports: Ports, entries: Mapping[str, Entry], known: Mapping[str, FileRow]) -> None:
        self._ports = ports
        self._entries = entries
        self._known = known
        self._stored: dict[str, Stored] = {}
        self._problems: list[FileRow] = []
        self._paths: Collection[str] = ()
        self._rivals: Mapping[str, Entry] = {}  # files elsewhere that the index has for notes of this batch
        self._read_at = time.time_ns()

    @property
    def ids(self) -> set[str]:
        return {stored.note.id for stored in self._stored.values()}

    async def read(self, paths: Collection[str]) -> None:
        self._paths = paths
        readable = []
        for path in paths:
            entry = self._entries.get(path)
            if entry is None or entry.kind == "file":  # one that the scan missed may have been written since
                readable.append(path)
            else:
                self._mark(path, entry.signature, _KINDS[entry.kind])
        ids = {path: _given_id(self._known.get(path)) or self._ports.new_id() for path in readable}
        for item in await self._ports.store.load(readable, ids):
            if isinstance(item, Unreadable):
                self._mark(
                    item.path,
                    item.signature,
                    item.reason,
                    _note_of(self._known.get(item.path)) or _id_in_name(item.path),
                )
            else:
                self._stored[item.path] = item

    async def apply(self) -> set[str]:
        """Write the batch to the index; returns files that must be looked at again because of it."""
        holders = await self._ports.index.notes({*self.ids, *(row.note for row in self._known.values() if row.note)})
        place = {note_id: row.path for note_id, row in holders.items()}
        self._rivals = await self._ports.store.look(set(place.values()) - set(self._paths))
        rows = {row.note.id: row for row in self._winners(place)}
        gone = {
            row.note for path, row in self._known.items()
            if row.note and row.note not in rows and place.get(row.note) == path
        }  # fmt: skip
        update = Update(
            notes=[self._wary(row) for row in rows.values() if not self._is_known(row, holders)],
            gone=sorted(gone),
            gone_files=[path for path in self._paths if path not in self._stored and path in self._known],
            files=self._problems,
        )
        if update != Update(notes=[], gone=[], gone_files=[], files=[]):
            await self._ports.index.apply(update)
        moved = {note_id for note_id, row in rows.items() if place.get(note_id, row.file.path) != row.file.path}
        return await self._follow_up(gone | moved)

    def _winners(self, place: Mapping[str, str]) -> Iterator[NoteRow]:
        """The notes of this batch. Of files with one id the canonically named one is the note, else the smallest path.

        Args:
            place: the file that the index has for a note.
        """
        claims: dict[str, list[str]] = {}
        for path, stored in self._stored.items():
            claims.setdefault(stored.note.id, []).append(path)
        for note_id, paths in claims.items():
            rival = place.get(note_id)
            if rival is not None and rival in self._rivals:
                paths.append(rival)
            winner, *losers = sorted(paths, key=lambda path: (not is_canonical(path, note_id), path))
            for loser in losers:
                self._mark_twin(loser, winner, note_id)
            if winner in self._stored:
                yield note_row(self._stored[winner])

    def _is_known(self, row: NoteRow, holders: Mapping[str, IndexedNote]) -> bool:
        """Whether the index has this very file already: somebody else read or wrote it."""
        holder = holders.get(row.note.id)
        return holder is not None and holder.hash == row.hash and self._known.get(row.file.path) == row.file

    def _wary(self, row: NoteRow) -> NoteRow:
        return replace(row, file=self._wary_file(row.file))

    def _wary_file(self, row: FileRow) -> FileRow:
        """A file that could change again within the same tick of its clock is remembered as never seen whole."""
        mark = Signature(row.modified, row.changed, row.size, row.inode)
        return replace(row, changed=_NEVER) if _is_young(mark, self._read_at) else row

    async def _follow_up(self, ids: Collection[str]) -> set[str]:
        """Twins of notes whose file went away or moved: one of them may be the note now."""
        if not ids:
            return set()
        twins = await self._ports.index.files_of(ids)
        return {path for path, row in twins.items() if (row.problem or "").startswith(_TWIN)} - set(self._paths)

    def _mark(self, path: str, signature: Signature, reason: str, note: str | None = None) -> None:
        mark = (signature.modified_ns, signature.changed_ns, signature.size, signature.inode)
        self._problems.append(self._wary_file(FileRow(path, *mark, note, reason)))

    def _mark_twin(self, loser: str, winner: str, note_id: str) -> None:
        known = self._stored.get(loser) or self._rivals[loser]
        self._mark(loser, known.signature, f"{_TWIN} {winner}", note_id)


_TWIN = "it has the same id as"


def _is_young(mark: Signature, now_ns: int) -> bool:
    """Whether the file changed so recently that it may change again without a new time."""
    return any(abs(now_ns - at) < _TICK_NS for at in (mark.modified_ns, mark.changed_ns))


def _unchanged(row: FileRow | None, entry: Entry) -> bool:
    mark = entry.signature
    return row is not None and (row.modified, row.changed, row.size, row.inode) == (
        mark.modified_ns, mark.changed_ns, mark.size, mark.inode,
    )  # fmt: skip


def _id_in_name(path: str) -> str | None:
    stem = path.rpartition("/")[2].removesuffix(".md").rpartition(".")[2]
    return stem if stem.startswith(PREFIX) and is_note_id(stem) else None


def _note_of(row: FileRow | None) -> str | None:
    return row.note if row else None


def _given_id(row: FileRow | None) -> str | None:
    """The id that was given to a file that does not carry it yet."""
    return row.note if row and not row.has_id else None
