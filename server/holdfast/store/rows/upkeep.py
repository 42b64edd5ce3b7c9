"""Whose turn it is: keys within a process, the lease for jobs between servers; what is kept in order by its holder."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import anyio

from holdfast.errors import StorageError
from holdfast.store.rows.database import Database, Question, TenantRows, Transaction


@dataclass(slots=True)
class _Lock:
    lock: anyio.Lock = field(default_factory=anyio.Lock)
    wanted: int = 0


JOBS: Final = "jobs"
JOBS_SECONDS: Final = 600


@dataclass(frozen=True, slots=True)
class Lease:
    """A turn among all servers. `fence` is another for each holder: what an earlier one still writes is refused.

    After the death of its holder others wait so many seconds for their turn.
    """

    name: str
    holder: str
    fence: int
    seconds: int = JOBS_SECONDS


LEASE: ContextVar[Lease | None] = ContextVar("lease", default=None)  # of the task under way


@dataclass(slots=True, eq=False)
class Held:
    """What the task under way holds: keys of a store, and the number of the journal up to which no other changed them.

    `base` is None where nobody follows the journal. `outer` is what the same task held before.
    """

    store: object
    keys: frozenset[str]
    base: int | None
    lease: Lease | None = None
    outer: Held | None = None

    def wrote(self, seq: int) -> None:
        """A change of its own has this number. It was made because nobody else had touched these keys until then."""
        held: Held | None = self
        while held is not None:
            held.base = None if held.base is None else max(held.base, seq)
            held = held.outer


HELD: ContextVar[Held | None] = ContextVar("held", default=None)


class KeyLocks:
    """Locks by name, there for as long as somebody wants one."""

    def __init__(self) -> None:
        self._locks: dict[str, _Lock] = {}
        self.whole = anyio.Lock()

    @property
    def keys(self) -> frozenset[str]:
        """Those that somebody holds or waits for."""
        return frozenset(self._locks)

    @asynccontextmanager
    async def hold(self, keys: Iterable[str]) -> AsyncIterator[None]:
        """Own these keys among the tasks of this process."""
        owned: list[str] = []
        try:
            for key in sorted(set(keys)):
                await self._take(key)
                owned.append(key)
            yield
        finally:
            for key in owned:
                self._let_go(key)

    @asynccontextmanager
    async def try_hold(self, keys: Iterable[str], patience: float) -> AsyncIterator[frozenset[str]]:
        """Own those of the keys that others let go of in so many seconds; yields what is owned."""
        owned: list[str] = []
        try:
            for key in sorted(set(keys)):
                with anyio.move_on_after(patience):
                    await self._take(key)
                    owned.append(key)
            yield frozenset(owned)
        finally:
            for key in owned:
                self._let_go(key)

    async def _take(self, key: str) -> None:
        entry = self._locks.setdefault(key, _Lock())
        entry.wanted += 1
        try:
            await entry.lock.acquire()
        except BaseException:
            self._forget(key, entry)
            raise

    def _let_go(self, key: str) -> None:
        entry = self._locks[key]
        entry.lock.release()
        self._forget(key, entry)

    def _forget(self, key: str, entry: _Lock) -> None:
        entry.wanted -= 1
        if not entry.wanted:
            del self._locks[key]


_SIZED: Final = ("notes", "pages", "texts", "trash")
_SIZE: Final = "SELECT coalesce(sum(octet_length({})), 0) FROM holdfast.{} WHERE tenant = %s"
_TRASH: Final = "trash"
_PURGED_LAST: Final = "purged trash"  # the row of `leases` that says which call did so last, and how many notes went


class RowUpkeep(TenantRows):
    """The rows of a tenant as the jobs see them; see `holdfast.store.upkeep.FolderUpkeep`."""

    has_others = True

    def __init__(self, database: Database, tenant: str) -> None:
        super().__init__(database, tenant)
        self._holder = secrets.token_hex(8)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[bool]:
        """Be the only server that runs jobs for this tenant; yields whether it is.

        Whatever the block writes is refused once another server has the turn, see `still_mine`.
        """
        take = partial(take_lease, self._tenant, JOBS, self._holder, JOBS_SECONDS)
        lease = await self._database.run(self._tenant, take)
        if lease is None:
            yield False
            return
        token = LEASE.set(lease)
        try:
            yield True
        finally:
            LEASE.reset(token)
            with anyio.CancelScope(shield=True):
                await self._database.run(self._tenant, partial(give_back, self._tenant, lease))

    async def sizes(self) -> dict[str, int]:
        """Bytes of what is kept in each table, before the database packs them."""
        columns = {table: ("data", table) for table in _SIZED}
        columns |= {"journal": ("line", "journal"), "vault": ("data", "backup_parts")}
        statements = [_SIZE.format(*columns[name]) for name in sorted(columns)]
        rows = await self._database.read(self._tenant, *(Question(each, (self._tenant,)) for each in statements))
        return dict(zip(sorted(columns), (int(row[0][0]) for row in rows), strict=True))

    async def free_bytes(self) -> int | None:
        """How much room the database has is for its own tools to say."""
        return None

    async def purge_trash(self, texts: Mapping[str, Collection[str]]) -> int:
        """Take away what some changes put into the trash, with its past; returns how many notes went."""
        work = partial(_purge, self._tenant, secrets.token_hex(8), dict(texts), LEASE.get())
        return await self._database.run(self._tenant, work)

    async def sweep(self) -> int:
        """An index that could not be read lies on the disk of one server, and goes with that."""
        return 0

    async def encoded(self, after: tuple[str, str], most: int) -> list[tuple[str, str]]:
        """The next vectors that servers share, in order: of which set, and of which text, by its SHA-256."""
        question = Question(
            "SELECT vector_set, content FROM holdfast.encodings WHERE tenant = %s AND chunk = 0"
            " AND (vector_set, content) > (%s, %s) ORDER BY vector_set, content LIMIT %s",
            (self._tenant, *after, most),
        )
        [rows] = await self._database.read(self._tenant, question)
        return [(row[0], row[1]) for row in rows]

    async def drop_encoded(self, contents: Collection[tuple[str, str]]) -> int:
        """Take such vectors away; returns of how many texts.

        Raises:
            StorageError: the database refused, or another server has the turn.
        """
        work = partial(_drop_encoded, self._tenant, frozenset(contents), LEASE.get())
        return await self._database.run(self._tenant, work, flush=False)

    def close(self) -> None:
        """There is nothing to let go of."""


def take_lease(tenant: str, name: str, holder: str, seconds: int, transaction: Transaction) -> Lease | None:
    """Take a lease for so many seconds, if it is free or ours; its fence grows with each holder."""
    row = transaction.ask(
        "INSERT INTO holdfast.leases AS l (tenant, name, holder, fence, until)"
        " VALUES (%s, %s, %s, 1, now() + make_interval(secs => %s)) ON CONFLICT (tenant, name) DO UPDATE"
        " SET holder = excluded.holder, until = excluded.until, fence = l.fence + (l.holder <> excluded.holder)::int"
        " WHERE l.until < now() OR l.holder = excluded.holder RETURNING fence",
        tenant, name, holder, seconds,
    ).fetchone()  # fmt: skip
    return None if row is None else Lease(name, holder, int(row[0]), seconds)


def still_mine(transaction: Transaction, tenant: str, lease: Lease) -> Callable[[], None]:
    """Prolong a lease in the transaction of what its holder writes; what is returned fails where it is another's.

    Raises:
        StorageError: (what is returned) another server has the turn; the transaction is taken back.
    """
    cursor = transaction.ask(
        "UPDATE holdfast.leases SET until = now() + make_interval(secs => %s)"
        " WHERE tenant = %s AND name = %s AND holder = %s AND fence = %s RETURNING fence",
        lease.seconds, tenant, lease.name, lease.holder, lease.fence,
    )  # fmt: skip

    def check() -> None:
        if cursor.fetchone() is None:
            raise StorageError(
                f"Another server has taken over the {lease.name.partition(':')[0]} of this memory.",
                "Nothing was written.",
            )

    return check


def give_back(tenant: str, lease: Lease, transaction: Transaction) -> None:
    transaction.ask(
        "UPDATE holdfast.leases SET until = now() - interval '1 second'"
        " WHERE tenant = %s AND name = %s AND holder = %s AND fence = %s",
        tenant, lease.name, lease.holder, lease.fence,
    )  # fmt: skip


def _drop_encoded(
    tenant: str, contents: Collection[tuple[str, str]], lease: Lease | None, transaction: Transaction
) -> int:
    """Needs no id of its own: a second try behind a COMMIT that was not heard of takes away and counts the same."""
    if lease is not None:
        still_mine(transaction, tenant, lease)()
    for vector_set in sorted({vector_set for vector_set, _ in contents}):
        transaction.ask(
            "DELETE FROM holdfast.encodings WHERE tenant = %s AND vector_set = %s AND content = ANY(%s)",
            tenant, vector_set, sorted(content for of, content in contents if of == vector_set),
        )  # fmt: skip
    return len(contents)


def _purge(
    tenant: str, tag: str, texts: Mapping[str, Collection[str]], lease: Lease | None, transaction: Transaction
) -> int:
    earlier = transaction.ask(
        "SELECT fence FROM holdfast.leases WHERE tenant = %s AND name = %s AND holder = %s", tenant, _PURGED_LAST, tag
    )
    check = still_mine(transaction, tenant, lease) if lease is not None else None
    if made := earlier.fetchone():  # by a try whose COMMIT was not heard of, whoever has the turn since
        return int(made[0])
    if check is not None:
        check()
    gone = _empty(tenant, texts, transaction)
    transaction.ask(
        "INSERT INTO holdfast.leases AS l (tenant, name, holder, fence, until) VALUES (%s, %s, %s, %s, now())"
        " ON CONFLICT (tenant, name) DO UPDATE SET holder = excluded.holder, fence = excluded.fence",
        tenant, _PURGED_LAST, tag, gone,
    )  # fmt: skip
    return gone


def _empty(tenant: str, texts: Mapping[str, Collection[str]], transaction: Transaction) -> int:
    cursors = [
        (transaction.ask(
            "DELETE FROM holdfast.trash WHERE tenant = %s AND starts_with(aside, %s) RETURNING aside",
            tenant, f"{_TRASH}/{change}.",
        ), hashes)
        for change, hashes in texts.items()
    ]  # fmt: skip
    gone = 0
    for cursor, hashes in cursors:
        if found := cursor.fetchall():
            gone += len(found)
            transaction.ask("DELETE FROM holdfast.texts WHERE tenant = %s AND hash = ANY(%s)", tenant, list(hashes))
    return gone
