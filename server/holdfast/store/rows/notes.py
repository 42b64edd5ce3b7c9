"""The storage port on PostgreSQL: the notes of one tenant as rows, shared by any number of servers.

A change is one transaction. It takes the tenant's next number first, so that all that follow wait for its end; then it
looks whether anybody touched what its server held since that server's index was last brought up to date. If so, nothing
is written and the verb is done again on what is there now. No lock of the database outlives a transaction.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

import anyio

from holdfast.errors import ConflictError, HoldfastError, StorageError
from holdfast.model.pages import is_page
from holdfast.model.records import FileChange, JournalRecord
from holdfast.model.times import instant, moment
from holdfast.store.frontmatter import parse
from holdfast.store.planned import Planned, planned, touched_ns
from holdfast.store.rows.database import Database, Question, Row, Transaction, hurried
from holdfast.store.rows.journal import (
    START,
    RowJournal,
    Told,
    make_tenant,
    number_of,
    place_of,
    record_of,
    take_back_number,
    take_number,
    write_line,
)
from holdfast.store.rows.locks import HELD, LEASE, Held, KeyLocks
from holdfast.store.rows.past import RowPast
from holdfast.store.rows.texts import (
    LAYOUT,
    Text,
    delete,
    keep,
    note_question,
    page_question,
    put,
    read_note,
    read_page,
    signature_of,
    touch,
)
from holdfast.store.rows.upkeep import still_mine
from holdfast.store.stored import Change, Committed, Followed, Mark, Page, PageChange, Stored, Unreadable

_AGAIN_SECONDS = (0.01, 0.08)  # until a verb is done again that came second
_NOTE = "mem_"


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A change that is decided: its id, its line, and for each text what becomes of it and what time it then has."""

    change: str
    line: JournalRecord
    plans: tuple[Planned, ...]
    items: tuple[Change | PageChange, ...]
    now_ns: int

    @property
    def files(self) -> tuple[FileChange, ...]:
        return tuple(plan.file for plan in self.plans)


class RowNotes:
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
        self._database = database
        self._tenant = tenant
        self._clock = clock
        self._change_id = change_id
        self._own = own
        self._locks = KeyLocks()
        self._turn = {remote: anyio.Lock() for remote in (False, True)}
        self._journal = RowJournal(database, tenant)
        self.past = RowPast(database, tenant, self._journal, clock, change_id)
        self.followed = Followed()

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
        if outer is not None and outer.store is self:
            known = [each for each in (outer.base, base) if each is not None]
            keys, base = keys | outer.keys, min(known, default=None)
        token = HELD.set(Held(self, keys, base))
        try:
            yield
        finally:
            HELD.reset(token)

    async def settled(self, keys: Iterable[str], patience: float) -> None:
        """No change is ever left half made."""

    @asynccontextmanager
    async def encoding_turn(self, *, remote: bool) -> AsyncIterator[bool]:
        """Be the only one of this process that encodes its queue; yields whether it is."""
        lock = self._turn[remote]
        if lock.locked():
            yield False
            return
        async with lock:
            yield True

    async def every(self) -> list[str]:
        """The paths of all notes."""
        return sorted(row[0] for row in await self._rows("SELECT path FROM holdfast.notes WHERE tenant = %s"))

    async def load(self, paths: Sequence[str], known_ids: Mapping[str, str]) -> list[Stored | Unreadable]:
        """Read notes; one that is gone is left out."""
        if not paths:
            return []
        [rows] = await self._database.read(self._tenant, note_question(self._tenant, paths))
        found = {item.path: item for item in await anyio.to_thread.run_sync(_read_all, rows, known_ids)}
        return [found[path] for path in paths if path in found]

    async def marks(self, paths: Iterable[str]) -> dict[str, str]:
        """Which versions are there now, by path."""
        rows = await self._rows(
            "SELECT path, modified_ns, seq, hash, octet_length(data) FROM holdfast.notes"
            " WHERE tenant = %s AND path = ANY(%s)",
            list(paths),
        )
        return {row[0]: signature_of(*row[1:]).mark for row in rows}

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

    async def journal_since(self, known: str, most: int) -> Sequence[Told] | None:
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
        tag, held = self._change_id(), self._held()
        line = replace(record, at=record.at or instant(self._clock()))
        work = partial(_record, self._tenant, tag, line, held)
        async with self.followed.lock:
            seq = await self._database.run(self._tenant, work, flush=flush)
            self._advance(seq, tag)
        return seq

    def commit(
        self, op: str, changes: Sequence[Change | PageChange], said: JournalRecord
    ) -> AbstractAsyncContextManager[Committed]:
        """Make a change of one or more notes and pages; when it is committed the block brings it into the index.

        Raises:
            LimitExceededError: a note would be too long; nothing was changed.
            ConflictError: another server changed what is held, or a text is not what it was; nothing was changed.
            StorageError: the database refused; or the block failed, and the change is made.
        """
        change, now = self._change_id(), instant(self._clock())
        plans = tuple(planned(item, partial(_aside, change)) for item in changes)
        line = replace(said, op=op, change=change, files=tuple(plan.file for plan in plans), at=said.at or now)
        return self._commit(_Wanted(change, line, plans, tuple(changes), _nanoseconds(now)))

    @asynccontextmanager
    async def _commit(self, wanted: _Wanted) -> AsyncIterator[Committed]:
        held = self._held()
        async with self.followed.lock:  # what follows the journal meets this change before or after it, not between
            done = await self._database.run(self._tenant, partial(_commit, self._tenant, wanted, held))
            try:
                yield done
            except Exception as error:  # it is committed: whatever this was, the verb must not be done once more
                raise _not_indexed(error) from error
            if not done.gone:  # which is taken out of what is known of paths by whoever reads the journal
                self._advance(done.seq, wanted.change)

    def _held(self) -> Held:
        held = HELD.get()
        if held is None or held.store is not self:
            held = Held(self, frozenset(), None)
        return replace(held, lease=LEASE.get())

    def _advance(self, seq: int, tag: str) -> None:
        """What this process wrote itself it need not read, if nobody wrote before it."""
        if self.followed.place and number_of(self.followed.place) == seq - 1:
            self.followed.place = place_of(seq, tag)

    async def _rows(self, statement: str, *values: object) -> list[Row]:
        [rows] = await self._database.read(self._tenant, Question(statement, (self._tenant, *values)))
        return rows


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


def _read_all(rows: Iterable[Row], known_ids: Mapping[str, str]) -> list[Stored | Unreadable]:
    return [read_note(row, known_ids) for row in rows]


@dataclass(frozen=True, slots=True)
class _Begun:
    """A change whose turn it is: its number, the texts as they are, the line of an earlier try that was committed."""

    seq: int
    before: Mapping[FileChange, Text]
    times: Mapping[FileChange, int]
    earlier: JournalRecord | None


def _begin(transaction: Transaction, tenant: str, tag: str, held: Held, files: Sequence[FileChange] = ()) -> _Begun:
    """Take the next number and look at what is there: one trip to the server.

    Raises:
        ConflictError: somebody came first.
        StorageError: the memory is being loaded.
    """
    number = take_number(transaction, tenant)
    check_lease = still_mine(transaction, tenant, held.lease) if held.lease else None
    lines = transaction.ask("SELECT line FROM holdfast.journal WHERE tenant = %s AND tag = %s", tenant, tag)
    newer = transaction.ask(
        "SELECT seq FROM holdfast.touched WHERE tenant = %s AND key = ANY(%s) ORDER BY seq DESC LIMIT 1",
        tenant, sorted(held.keys),
    )  # fmt: skip
    asked = [note_question(tenant, [file.path for file in files if not file.is_page])]
    asked.append(page_question(tenant, [file.path for file in files if file.is_page]))
    found = [transaction.ask(each.statement, *each.values) for each in asked] if files else []
    taken = number.fetchone()
    if taken is None:
        make_tenant(transaction, tenant)
        return _begin(transaction, tenant, tag, held, files)
    if taken[1]:
        raise StorageError(
            "This memory is being loaded into the database.", "Let `holdfast store load` come to its end first."
        )
    if check_lease is not None:
        check_lease()
    earlier, last = lines.fetchone(), newer.fetchone()
    if earlier is None and last is not None and held.base is not None and last[0] > held.base:
        raise _came_second()
    notes, pages = ({row[0]: row for row in cursor.fetchall()} for cursor in found) if found else ({}, {})
    before: dict[FileChange, Text] = {}
    for file in files:
        if file.is_page and (row := pages.get(file.path)):
            before[file] = Text(row[1], row[2], row[3])
        elif not file.is_page and (row := notes.get(file.path)):
            before[file] = Text(row[2], row[3], row[5])
    times = {file: text.modified_ns for file, text in before.items()}
    return _Begun(int(taken[0]), before, times, record_of(earlier[0]) if earlier else None)


def _came_second() -> ConflictError:
    return ConflictError(
        "Another server changed the note in the meantime.",
        "Nothing was written; repeat the call.",
        settles_in=random.uniform(*_AGAIN_SECONDS),  # noqa: S311 - so that two do not meet again
    )


def _record(tenant: str, tag: str, line: JournalRecord, held: Held, transaction: Transaction) -> int:
    begun = _begin(transaction, tenant, tag, held)
    if begun.earlier is not None:
        take_back_number(transaction, tenant)
        return begun.earlier.seq
    write_line(transaction, tenant, tag, replace(line, seq=begun.seq))
    if held.keys:
        touch(transaction, tenant, begun.seq, held.keys)
    return begun.seq


def _commit(tenant: str, wanted: _Wanted, held: Held, transaction: Transaction) -> Committed:
    begun = _begin(transaction, tenant, wanted.change, held, wanted.files)
    if begun.earlier is not None:  # its connection was lost at COMMIT, which had succeeded
        take_back_number(transaction, tenant)
        return _committed(wanted, begun.earlier, begun.times)
    for file in wanted.files:
        text = begun.before.get(file)
        if (None if text is None else text.hash) != file.before:
            raise _came_second()
    times: dict[FileChange, int] = {}
    for plan, item in zip(wanted.plans, wanted.items, strict=True):
        old = begun.before.get(plan.file)
        times[plan.file] = touched_ns(item, old.modified_ns if old else None, wanted.now_ns)
        if old is not None:
            keep(transaction, tenant, old)
        if plan.data is not None:
            put(transaction, tenant, begun.seq, plan.file, plan.data, times[plan.file])
        elif old is not None:
            delete(transaction, tenant, plan.file, old)
    written = write_line(transaction, tenant, wanted.change, replace(wanted.line, seq=begun.seq))
    touch(transaction, tenant, begun.seq, _touched(wanted, held))
    return _committed(wanted, written, times)


def _touched(wanted: _Wanted, held: Held) -> Collection[str]:
    """Keys under which others must not go on with what they knew: a note that was only read stays as it was."""
    own = {file.note for file in wanted.files}
    return own | set(wanted.line.guards) | {key for key in held.keys if not key.startswith(_NOTE)}


def _committed(wanted: _Wanted, line: JournalRecord, times: Mapping[FileChange, int]) -> Committed:
    stored: list[Stored] = []
    for plan, item in zip(wanted.plans, wanted.items, strict=True):
        if isinstance(item, Change) and item.after is not None and plan.data is not None:
            document, hash_ = parse(plan.data), plan.file.after or ""
            modified_ns = times.get(plan.file, wanted.now_ns)
            signature = signature_of(modified_ns, line.seq, hash_, len(plan.data))
            stored.append(Stored(item.after, plan.file.path, hash_, signature, document, "id" in document.values))
    gone = tuple(file.note for file in wanted.files if file.after is None)
    pages = tuple(file.path for file in wanted.files if file.is_page)
    return Committed(wanted.change, line.seq, line.op, tuple(stored), gone, pages, line)
