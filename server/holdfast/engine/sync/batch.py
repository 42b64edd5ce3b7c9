"""Files of a folder, a batch at a time: others write into a folder, and it may go or be read-only.

Only the folder's own synchroniser uses this: scanning, taking in what was written by hand, quarantine. The rest of
the engine knows notes by id and version, and asks `holdfast.engine.ports.Store`.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

import structlog

from holdfast.engine.commit import note_row
from holdfast.engine.ports import Ports, Store
from holdfast.errors import StorageError
from holdfast.index.projection import NO_MARK, NoteRow, Update
from holdfast.index.rows import FileRow, IndexedNote
from holdfast.model.note import Link, Note
from holdfast.model.records import ADOPT, GIVEN, GivenId, JournalRecord
from holdfast.store.filesystem import NO_SIGNATURE, Entry, Signature
from holdfast.store.folder import id_in_name, is_canonical
from holdfast.store.stored import Stored, Unreadable


class FolderStore(Store, Protocol):
    """See `holdfast.store.notes.NoteFiles`."""

    async def open(self, known: str = ...) -> None: ...
    async def exchanged(self) -> bool: ...
    async def read_only(self, reason: str) -> None: ...
    async def write_again(self) -> None: ...
    async def why_not_written(self) -> str: ...
    async def scan(self) -> dict[str, Entry]: ...
    async def news(self) -> dict[str, Entry | None] | None: ...
    async def look(self, paths: Iterable[str]) -> dict[str, Entry]: ...
    async def adopt(self, stored: Stored) -> Stored | None: ...
    async def look_again(self) -> float | None: ...
    async def keep_text(self, note: Note, path: str, text: str) -> None: ...
    async def tell_outcomes(self) -> None: ...
    @property
    def journal_bytes(self) -> int: ...


TICK_NS = 20_000_000  # a file changed this recently may change again without a new time
GIVEN_LINES = (GIVEN, ADOPT)  # of the journal
TWIN = "it has the same id as"
_KINDS = {
    "link": "it is a symbolic link, and those are not followed",
    "other": "it is not a regular file",
    "name": "its name is not valid UTF-8",
    "closed": "it cannot be read: ",
}

log = structlog.get_logger()


@contextmanager
def uncollected() -> Iterator[None]:
    """Inside, nobody looks for garbage: whole notes by the hundred are no cycles, and are let go of at the end."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@dataclass(frozen=True, slots=True)
class Ahead:
    """Files as they were read without a lock, at a time in ns: good while their signatures are the same."""

    at: int
    items: dict[str, Stored | Unreadable]

    @property
    def given(self) -> dict[str, str]:
        """The ids that files without one were given."""
        return {path: item.note.id for path, item in self.items.items() if isinstance(item, Stored) and not item.has_id}

    def still(self, path: str, entry: Entry | None, row: FileRow | None) -> Stored | Unreadable | None:
        """What was read, if the file is as it was then and has the id it was given."""
        item = self.items.get(path)
        if entry is None or item is None or item.signature != entry.signature or is_young(item.signature, self.at):
            return None
        given = given_id(row)
        return None if given and isinstance(item, Stored) and item.note.id != given else item


class FileBatch:
    """Files read together under their locks, and what they make of the index."""

    def __init__(
        self, ports: Ports, folder: FolderStore, entries: Mapping[str, Entry], known: Mapping[str, FileRow]
    ) -> None:
        self._ports = ports
        self._folder = folder
        self._entries = entries
        self._known = known
        self.stored: dict[str, Stored] = {}  # what was read, by path
        self._problems: list[FileRow] = []
        self._paths: Collection[str] = ()
        self._rivals: Mapping[str, Entry] = {}  # files elsewhere that the index has for notes of this batch
        self._read_at = time.time_ns()
        self._unread: set[str] = set()  # paths of files that hold no note any more
        self.refused: set[str] = set()  # of these, files that the disk did not let be read

    @property
    def ids(self) -> set[str]:
        return {stored.note.id for stored in self.stored.values()}

    async def read(self, paths: Collection[str], ahead: Ahead) -> None:
        self._paths = paths
        given = ahead.given | {path: found for path, row in self._known.items() if (found := given_id(row))}
        readable = []
        for path in paths:
            entry = self._entries.get(path)
            if entry is None or entry.kind == "file":  # one that the scan missed may have been written since
                readable.append(path)
            else:
                note = self._note_at(path) if entry.kind == "closed" else None
                self._mark(path, entry.signature, _KINDS[entry.kind] + entry.reason, note)
        there = await self._folder.look(readable)
        same = {path: item for path in readable if (item := ahead.still(path, there.get(path), self._known.get(path)))}
        rest = [path for path in readable if path in there and path not in same]
        for item in (*same.values(), *await load(self._ports, rest, given)):
            if isinstance(item, Unreadable):
                self._mark(item.path, item.signature, item.reason, self._note_at(item.path))
                self._unread.add(item.path)
                self.refused |= {item.path} if item.signature == NO_SIGNATURE else set()
            else:
                self.stored[item.path] = item

    async def apply(self) -> set[str]:
        """Write the batch to the index; returns files that must be looked at again because of it."""
        holders = await self._ports.index.notes({*self.ids, *(row.note for row in self._known.values() if row.note)})
        await self._keep_texts(holders)
        place = {note_id: row.path for note_id, row in holders.items()}
        self._rivals = await self._folder.look(set(place.values()) - set(self._paths))
        rows = {row.note.id: row for row in self._winners(place)}
        gone = {
            row.note for path, row in self._known.items()
            if row.note and row.note not in rows and place.get(row.note) == path
        }  # fmt: skip
        same = {row.path for row in self._problems if self._known.get(row.path) == row}
        kept = self.stored.keys() | same
        update = Update(
            notes=[self._wary(row) for row in rows.values() if not self._is_known(row, holders)],
            gone=sorted(gone),
            gone_files=[path for path in self._paths if path in self._known and path not in kept],
            files=[row for row in self._problems if row.path not in same],
        )
        if update != Update(notes=[], gone=[], gone_files=[], files=[]):
            await self._keep_given(update.notes)
            await self._ports.index.apply(update)
        moved = {note_id for note_id, row in rows.items() if place.get(note_id, row.file.path) != row.file.path}
        return await self._follow_up(gone | moved)

    async def _keep_given(self, rows: Sequence[NoteRow]) -> None:
        """Write down ids that files do not carry yet: whoever makes the index anew must give the same ones.

        Without a flush: what uses such an id flushes the journal itself.
        """
        fresh = [
            GivenId(row.note.id, row.file.path)
            for row in rows
            if not row.file.has_id and given_id(self._known.get(row.file.path)) != row.note.id
        ]
        if not fresh or self._ports.store.reading_only:
            return
        try:
            await self._ports.store.record(JournalRecord(GIVEN, given=tuple(fresh)))
        except StorageError as error:  # they may be read all the same
            log.warning("given_ids_not_kept", reason=str(error))

    async def _keep_texts(self, holders: Mapping[str, IndexedNote]) -> None:
        """Put the texts of files that are empty or no notes now into the history: only the index still knows them."""
        blank = {path for path, stored in self.stored.items() if not stored.note.content.strip()}
        lost = [
            holder
            for path in blank | self._unread
            if (holder := holders.get(note_of(self._known.get(path)) or "")) is not None
            and holder.path == path
            and holder.note.content.strip()
        ]
        if not lost:
            return
        links = await self._ports.index.links([holder.note.id for holder in lost])
        for holder in lost:
            own = [
                Link(link.target, link.type, link.weight, link.reason, holder.note.created)
                for link in links
                if link.source == holder.note.id
            ]
            try:
                await self._folder.keep_text(replace(holder.note, connections=tuple(own)), holder.path, holder.hash)
            except StorageError as error:  # it may be read all the same
                log.warning("text_not_kept", reason=str(error))

    def _winners(self, place: Mapping[str, str]) -> Iterator[NoteRow]:
        """The notes of this batch. Of files with one id the canonically named one is the note, else the smallest path.

        Args:
            place: the file that the index has for a note.
        """
        claims: dict[str, list[str]] = {}
        for path, stored in self.stored.items():
            claims.setdefault(stored.note.id, []).append(path)
        for note_id, paths in claims.items():
            rival = place.get(note_id)
            if rival is not None and rival in self._rivals:
                paths.append(rival)
            winner, *losers = winner_first(paths, note_id)
            for loser in losers:
                self._mark_twin(loser, winner, note_id)
            if winner in self.stored:
                yield note_row(self.stored[winner])

    def _is_known(self, row: NoteRow, holders: Mapping[str, IndexedNote]) -> bool:
        """Whether the index has this very file already: somebody else read or wrote it."""
        holder = holders.get(row.note.id)
        return holder is not None and holder.hash == row.hash and self._known.get(row.file.path) == row.file

    def _wary(self, row: NoteRow) -> NoteRow:
        return replace(row, file=self._wary_file(row.file, self.stored[row.file.path].signature))

    def _wary_file(self, row: FileRow, signature: Signature) -> FileRow:
        """The row, without a mark where the file may change again within the same clock tick: it is then read again."""
        return replace(row, mark=NO_MARK) if is_young(signature, self._read_at) else row

    async def _follow_up(self, ids: Collection[str]) -> set[str]:
        """Twins of notes whose file went away or moved: one of them may be the note now."""
        if not ids:
            return set()
        twins = await self._ports.index.files_of(ids)
        return {path for path, row in twins.items() if (row.problem or "").startswith(TWIN)} - set(self._paths)

    def _note_at(self, path: str) -> str | None:
        """The note of a file that cannot be read, as far as that is known."""
        return note_of(self._known.get(path)) or id_in_name(path)

    def _mark(self, path: str, signature: Signature, reason: str, note: str | None = None) -> None:
        mark = NO_MARK if signature == NO_SIGNATURE else signature.mark  # that of no file, seen or written
        row = FileRow(path, mark, signature.modified_ns, signature.size, note, reason)
        self._problems.append(self._wary_file(row, signature))

    def _mark_twin(self, loser: str, winner: str, note_id: str) -> None:
        known = self.stored.get(loser) or self._rivals[loser]
        self._mark(loser, known.signature, f"{TWIN} {winner}", note_id)


def winner_first(paths: Collection[str], note_id: str) -> list[str]:
    """Files that claim one id: the canonically named one is the note, else the one with the smallest path."""
    return sorted(paths, key=lambda path: (not is_canonical(path, note_id), path))


async def load(ports: Ports, paths: Sequence[str], given: Mapping[str, str]) -> Sequence[Stored | Unreadable]:
    """Read files. One without an id keeps the one it was given, or has the one in its name, or gets a new one."""
    if not paths:
        return ()
    ids = {path: given.get(path) or id_in_name(path) or ports.new_id() for path in paths}
    return await ports.store.load(paths, ids)


def is_young(mark: Signature, now_ns: int) -> bool:
    """Whether the file changed so recently that it may change again without a new time."""
    return any(abs(now_ns - at) < TICK_NS for at in (mark.modified_ns, mark.changed_ns))


def unchanged(row: FileRow | None, entry: Entry) -> bool:
    return row is not None and row.mark == entry.mark


def given_ids(records: Sequence[JournalRecord]) -> dict[str, str]:
    """Ids that files were given and may not carry yet, by path, as these lines of the journal tell."""
    given: dict[str, str] = {}
    for record in records:
        if record.op == ADOPT:
            carried = {file.note for file in record.files}
            given = {path: note for path, note in given.items() if note not in carried}
        given |= {item.path: item.note for item in record.given}
    return given


def note_of(row: FileRow | None) -> str | None:
    return row.note if row else None


def given_id(row: FileRow | None) -> str | None:
    """The id that was given to a file that does not carry it yet."""
    return row.note if row and not row.has_id else None
