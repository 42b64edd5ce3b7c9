"""The storage port on PostgreSQL: the notes of one tenant as rows, shared by any number of servers.

A change is one transaction. It takes the tenant's next number first, so that all that follow wait for its end; then it
looks whether anybody touched what its server held since that server's index was last brought up to date. If so, nothing
is written and the verb is done again on what is there now. No lock of the database outlives a transaction.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial

import anyio

from holdfast.errors import HoldfastError, StorageError
from holdfast.model.note import instant, moment
from holdfast.model.records import FileChange, JournalRecord, is_page
from holdfast.store.codec import parse
from holdfast.store.locks import if_free
from holdfast.store.rows.commits import Commits, Wanted, Written
from holdfast.store.rows.database import Database, Row, TenantRows, hurried
from holdfast.store.rows.texts import (
    LAYOUT,
    START,
    RowJournal,
    RowPast,
    RowReading,
    next_notes_question,
    note_question,
    number_of,
    page_question,
    read_note,
    read_page,
    signature_of,
)
from holdfast.store.rows.upkeep import HELD, LEASE, Held, KeyLocks
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
    wanted_names,
    with_a_free_name,
)

_MARKS = "SELECT path, modified_ns, seq, hash, octet_length(data) FROM holdfast.notes"


class RowNotes(TenantRows):
    """All notes of one tenant; see `holdfast.engine.ports.Store`.

    Args:
        database: where they are; others may use it too.
        tenant: whose they are, in hexadecimal digits.
        clock: the time now.
        change_id: gives a new id for each change.
        own: whether the database is closed with it.
    """

    is_there = True
    watches = True
    open_changes = 0
    journal_start = START

    def __init__(
        self,
        database: Database,
        tenant: str,
        clock: Callable[[], datetime],
        change_id: Callable[[], str],
        *,
        own: bool = True,
    ) -> None:
        super().__init__(database, tenant)
        self._clock = clock
        self._change_id = change_id
        self._own = own
        self._locks = KeyLocks()
        self._turn = {remote: anyio.Lock() for remote in (False, True)}
        self._journal = RowJournal(database, tenant)
        self.past = RowPast(database, tenant, self._journal, clock, change_id)
        self.followed = Followed()
        self._commits = Commits(database, tenant, self.followed)

    @property
    def reading_only(self) -> str:
        """Since when the database is away: what is read is what this server's index knows from before."""
        since = self._database.away_since
        if since is None:
            return ""
        return (
            f"the database of the memory cannot be reached since {since:%H:%M:%S} UTC; "
            "this is what this server knew of it then"
        )

    def hurried(self) -> AbstractContextManager[None]:
        """What is read inside waits for the database for a moment only."""
        return hurried()

    async def aclose(self) -> None:
        """Let go of the connections."""
        if self._own:
            await self._database.aclose()

    def check_writing(self) -> None:
        """Whether it can be written is found out by writing."""

    def take_reports(self) -> list[str]:
        """Nobody edits rows by hand, so there is nothing to report."""
        return []

    @asynccontextmanager
    async def hold(self, keys: Iterable[str]) -> AsyncIterator[frozenset[str]]:
        """Own these keys in this process, on an index that knows what others did to them until now."""
        wanted = frozenset(keys)
        async with self._locks.hold(wanted), self._holding(wanted):
            yield frozenset()

    @asynccontextmanager
    async def try_hold(self, keys: Iterable[str], patience: float) -> AsyncIterator[frozenset[str]]:
        """As `hold`, for those of the keys that others let go of in so many seconds; yields what is owned."""
        async with self._locks.try_hold(keys, patience) as owned, self._holding(owned):
            yield owned

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Be the only one in this process that works on all of it."""
        async with self._locks.whole:
            yield

    @asynccontextmanager
    async def quiet(self) -> AsyncIterator[None]:
        """Own every key that anybody in this process uses."""
        async with self._locks.hold(self._locks.keys):
            yield

    @asynccontextmanager
    async def _holding(self, keys: frozenset[str]) -> AsyncIterator[None]:
        news = self.followed.news
        if news is not None:
            await news()
        base = number_of(self.followed.place) if self.followed.place else None
        outer = HELD.get()
        if outer is not None and outer.store is not self:
            outer = None
        if outer is not None:
            known = [each for each in (outer.base, base) if each is not None]
            keys, base = keys | outer.keys, min(known, default=None)
        token = HELD.set(Held(self, keys, base, outer=outer))
        try:
            yield
        finally:
            HELD.reset(token)

    async def settled(self, keys: Iterable[str], patience: float) -> None:
        """No change is ever left half made."""

    def encoding_turn(self, *, remote: bool) -> AbstractAsyncContextManager[bool]:
        """Be the only one of this process that encodes its queue; yields whether it is."""
        return if_free(self._turn[remote])

    async def every(self) -> dict[str, str]:
        """Which versions of all notes are there, by path."""
        rows = await self._rows(f"{_MARKS} WHERE tenant = %s")
        return await anyio.to_thread.run_sync(_marks_of, rows)

    async def load(self, paths: Sequence[str], known_ids: Mapping[str, str]) -> list[Stored | Unreadable]:
        """Read notes; one that is gone is left out."""
        if not paths:
            return []
        [rows] = await self._database.read(self._tenant, note_question(self._tenant, paths))
        found = {item.path: item for item in await anyio.to_thread.run_sync(_read_all, rows, known_ids)}
        return [found[path] for path in paths if path in found]

    async def load_after(self, path: str, most: int) -> list[Stored | Unreadable]:
        """Read the next notes behind a path, in the order of the database."""
        [rows] = await self._database.read(self._tenant, next_notes_question(self._tenant, path, most))
        return await anyio.to_thread.run_sync(_read_all, rows, {})

    async def marks(self, paths: Iterable[str]) -> dict[str, str]:
        """Which versions are there now, by path."""
        return _marks_of(await self._rows(f"{_MARKS} WHERE tenant = %s AND path = ANY(%s)", list(paths)))

    async def note_hashes(self, paths: Iterable[str]) -> dict[str, str]:
        """The content hashes of notes as they are now, by path."""
        rows = await self._rows(
            "SELECT path, hash FROM holdfast.notes WHERE tenant = %s AND path = ANY(%s)", list(paths)
        )
        return {row[0]: row[1] for row in rows}

    def check_still(self, stored: Stored) -> None:
        """Nobody is ever in the middle of saving."""

    async def pages(self, paths: Iterable[str]) -> dict[str, Page]:
        """Pages by path; those that are not there are left out."""
        [rows] = await self._database.read(self._tenant, page_question(self._tenant, paths))
        return {page.path: page for page in map(read_page, rows)}

    async def list_pages(self, folder: str) -> list[str]:
        """The pages whose names begin with this and a slash, in order."""
        rows = await self._rows(
            "SELECT path FROM holdfast.pages WHERE tenant = %s AND starts_with(path, %s)", f"{folder}/"
        )
        return sorted(row[0] for row in rows if is_page(row[0]))

    async def drop_page(self, path: str) -> None:
        """Take away a page that is one of many and worth no history."""
        await self._database.run(
            self._tenant,
            lambda transaction: transaction.ask(
                "DELETE FROM holdfast.pages WHERE tenant = %s AND path = %s", self._tenant, path
            ),
        )

    async def page_marks(self, paths: Iterable[str]) -> dict[str, Mark]:
        """Hash and bytes of pages, by path."""
        rows = await self._rows(
            "SELECT path, hash, octet_length(data) FROM holdfast.pages WHERE tenant = %s AND path = ANY(%s)",
            list(paths),
        )
        return {row[0]: (row[1], row[2]) for row in rows}

    def pages_in_change(self) -> Mapping[str, FileChange]:
        """A change is made at once: nobody meets it half way."""
        return {}

    async def page_records(self, known: str) -> tuple[list[JournalRecord], str] | None:
        """The lines behind a place that tell of pages, or of what never happened; and the place behind all."""
        return await self._journal.about_pages(known)

    async def journal_since(self, known: str, most: int) -> Sequence[RowReading] | None:
        """The next lines behind a place; None where the journal does not go on from there."""
        return await self._journal.since(known, most)

    async def journal_end(self) -> str:
        """The place behind the last line."""
        return await self._journal.end()

    def damage_before(self, place: str) -> tuple[int, tuple[str, ...]]:
        """Lines are checked when they are loaded; the database keeps them whole."""
        del place
        return 0, ()

    async def damaged_lines(self) -> tuple[int, tuple[str, ...]]:
        """As `damage_before`."""
        return 0, ()

    async def record(self, record: JournalRecord, *, flush: bool = False) -> int:
        """Add a line to the journal; returns its number.

        Raises:
            ConflictError: another server changed what is held; nothing was written.
            StorageError: the database refused, or is not known to have taken it.
        """
        line = replace(record, at=record.at or instant(self._clock()))
        async with self._commits.made(Wanted(self._change_id(), line, self._held(), flush=flush)) as written:
            return written.line.seq

    @asynccontextmanager
    async def commit(
        self, op: str, changes: Sequence[Change | PageChange], said: JournalRecord
    ) -> AsyncIterator[Committed]:
        """Make a change of one or more notes and pages; when it is committed the block brings it into the index.

        Raises:
            LimitExceededError: a note would be too long; nothing was changed.
            ConflictError: another server changed what is held, or a text is not what it was; nothing was changed.
            StorageError: the database refused; or the block failed, and the change is made.
        """
        change, now = self._change_id(), instant(self._clock())
        names = wanted_names(changes)
        taken = await self.note_hashes(names) if names else {}
        items = tuple(with_a_free_name(each, change, taken) for each in changes)
        plans = tuple(planned(item, partial(_aside, change)) for item in items)
        line = replace(said, op=op, change=change, files=tuple(plan.file for plan in plans), at=said.at or now)
        async with self._commit(Wanted(change, line, self._held(), plans, items, _nanoseconds(now))) as committed:
            yield committed

    @asynccontextmanager
    async def _commit(self, wanted: Wanted) -> AsyncIterator[Committed]:
        async with self._commits.made(wanted) as written:
            try:
                yield _committed(wanted, written)
            except Exception as error:  # it is committed: whatever this was, the verb must not be done once more
                raise _not_indexed(error) from error

    def _held(self) -> Held:
        held = HELD.get()
        if held is None or held.store is not self:
            held = Held(self, frozenset(), None)
        return replace(held, lease=LEASE.get(), outer=held)


def _not_indexed(error: Exception) -> StorageError:
    why = error.sentence if isinstance(error, HoldfastError) else "it was lost, and is made anew."
    return StorageError(
        f"It is stored, and the index of this server could not take it in: {why}",
        "It is found when that has caught up; look before you repeat it.",
    )


def _aside(change: str, _note: str, path: str) -> str:
    return LAYOUT.below_home(LAYOUT.trash_path(path, change))


def _nanoseconds(at: str) -> int:
    return round(moment(at).timestamp() * 1_000_000_000)


def _marks_of(rows: Iterable[Row]) -> dict[str, str]:
    return {row[0]: signature_of(*row[1:]).mark for row in rows}


def _read_all(rows: Iterable[Row], known_ids: Mapping[str, str]) -> list[Stored | Unreadable]:
    return [read_note(row, known_ids) for row in rows]


def _committed(wanted: Wanted, written: Written) -> Committed:
    line = written.line
    stored: list[Stored] = []
    for plan, item in zip(wanted.plans, wanted.items, strict=True):
        if isinstance(item, Change) and item.after is not None and plan.data is not None:
            document, hash_ = parse(plan.data), plan.file.after or ""
            modified_ns = written.times.get(plan.file, wanted.now_ns)
            signature = signature_of(modified_ns, line.seq, hash_, len(plan.data))
            stored.append(Stored(item.after, plan.file.path, hash_, signature, document, "id" in document.values))
    gone = tuple(file.note for file in wanted.files if file.after is None)
    pages = tuple(file.path for file in wanted.files if file.is_page)
    return Committed(wanted.tag, line.seq, line.op, tuple(stored), gone, pages, line)
