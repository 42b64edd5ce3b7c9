"""What the servers of a memory share beside its notes: recent recalls, tokens of dry runs, vectors.

* What was asked lately, so that any server can take feedback on an answer that another one gave. An answer does not
  wait for its row: it is written a moment later, with all that came meanwhile.
* Tokens of dry runs: what one server gave, any server of the memory takes, once. A token's row has hashes alone: who
  reads the table can confirm nothing, and learns of no note.
* Vectors by content: what one server of a memory encoded, no other needs to encode. They are kept for each tenant
  apart: what is stored for one tells nothing to another, and a purge takes all of them.
* What was said today, and which of many memories have changed: one question for all of which somebody wants to know.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from typing import Final

import anyio
import structlog

from holdfast.batching import WriteBehind
from holdfast.errors import StorageError
from holdfast.model.note import instant
from holdfast.model.records import RecallEvent
from holdfast.store.rows.database import Database, Question, Row, TenantRows, Transaction, hurried
from holdfast.store.rows.upkeep import Lease, give_back, still_mine, take_lease

KEPT_DAYS: Final = 14
MOST_KEPT: Final = 20_000
MOST_WAITING: Final = 256
BEHIND_SECONDS: Final = 0.1  # from an answer to its row, so that a burst of them is one transaction
_FOUND: Final = (
    "SELECT id, at, query, space, shown, vector_set, vector, principal FROM holdfast.recalls WHERE tenant = %s"
)
_INSERT: Final = (
    "INSERT INTO holdfast.recalls (tenant, id, at, query, space, shown, vector_set, vector, principal, server)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (tenant, id) DO NOTHING"
)


class RowRecalls(TenantRows):
    """See `holdfast.engine.ports.Recalls`, and `holdfast.index.recalls.RecallLog`, which keeps them beside an index."""

    def __init__(self, database: Database, tenant: str) -> None:
        super().__init__(database, tenant)
        self._server = secrets.token_hex(8)
        self._behind = WriteBehind(self._write, MOST_WAITING, BEHIND_SECONDS)

    async def add(self, event: RecallEvent) -> bool:
        """Take an event, to be kept in a moment; returns whether the last one worked."""
        return await self._behind.add(event)

    async def write_behind(self) -> None:
        """Write what is added soon after it was; until cancelled."""
        await self._behind.run()

    async def flush(self) -> bool:
        """Write what waits, without waiting for a database that is away; returns whether that worked."""
        return await self._behind.flush()

    async def _write(self, events: Sequence[RecallEvent]) -> bool:
        rows = [_row(self._tenant, self._server, event) for event in events]
        try:
            with hurried():
                await self._database.run(self._tenant, lambda tx: tx.each(_INSERT, rows), flush=False)
        except StorageError:
            return False
        return True

    async def get(self, event_id: str, since: str) -> RecallEvent | None:
        """The event of this id, unless it is older than `since`.

        Raises:
            StorageError: the database cannot be asked.
        """
        return next(iter(await self._find(" AND id = %s AND at >= %s", event_id, since)), None)

    async def latest(self, note_id: str, since: str, principal: str) -> RecallEvent | None:
        """The latest event not older than `since` in which this principal was shown the note; one of this server first.

        Raises:
            StorageError: the database cannot be asked.
        """
        found = await self._find(
            " AND principal = %s AND at >= %s AND position(%s IN shown) > 0"
            " ORDER BY (server = %s) DESC, at DESC, id DESC LIMIT 1",
            principal, since, f'["{note_id}",', self._server,
        )  # fmt: skip
        return next(iter(found), None)

    async def recent(self, principal: str, most: int) -> list[RecallEvent]:
        """The last recalls of a principal, newest first.

        Raises:
            StorageError: the database cannot be asked.
        """
        return await self._find(" AND principal = %s ORDER BY at DESC, id DESC LIMIT %s", principal, most)

    async def _find(self, clause: str, *values: object) -> list[RecallEvent]:
        await self.flush()
        return [_event(row) for row in await self._rows(_FOUND + clause, *values)]

    async def prune(self) -> int:
        """Let go of what cannot be rated any more; returns how many recalls went.

        Raises:
            StorageError: the database refused.
        """
        since = instant(datetime.now(UTC) - timedelta(days=KEPT_DAYS))
        return await self._database.run(self._tenant, partial(_prune, self._tenant, since))

    async def erase(self) -> None:
        """Take all of them away, and what waits to be written.

        Raises:
            StorageError: the database refused.
        """
        async with self._behind.dropped():
            await self._database.run(
                self._tenant,
                lambda tx: tx.ask("DELETE FROM holdfast.recalls WHERE tenant = %s", self._tenant),
            )

    async def aclose(self) -> None:
        """Write what waits; the database is closed by whoever opened it."""
        await self.flush()


def _row(tenant: str, server: str, event: RecallEvent) -> tuple[object, ...]:
    shown = json.dumps(list(event.shown))
    asked = event.query.replace("\0", " ")
    return (
        tenant, event.id, event.at, asked, event.space, shown, event.vector_set, event.vector, event.principal, server
    )  # fmt: skip


def _event(row: Row) -> RecallEvent:
    event_id, at, query, space, shown, vector_set, vector, principal = row
    pairs = tuple((note, relevance) for note, relevance in json.loads(shown))
    return RecallEvent(event_id, at, query, space, pairs, vector_set, bytes(vector), principal)


def _prune(tenant: str, since: str, transaction: Transaction) -> int:
    row = transaction.ask(
        "WITH gone AS (DELETE FROM holdfast.recalls WHERE tenant = %s AND (at < %s OR at < (SELECT at"
        " FROM holdfast.recalls WHERE tenant = %s ORDER BY at DESC LIMIT 1 OFFSET %s)) RETURNING 1)"
        " SELECT count(*) FROM gone",
        tenant, since, tenant, MOST_KEPT,
    ).fetchone()  # fmt: skip
    return int(row[0]) if row else 0


MOST_OPEN: Final = 100  # of one principal; the oldest go


class RowTokens(TenantRows):
    """See `holdfast.engine.ports.Tokens`."""

    async def keep(self, token: str, about: tuple[str, ...], until: str) -> None:
        """Have a token taken for what `about` says (principal first), before an instant.

        Raises:
            StorageError: the database refused, or is not known to have taken it.
        """
        await self._database.run(self._tenant, partial(_keep, self._tenant, token, about, until))

    async def take(self, token: str, about: tuple[str, ...], now: str) -> bool:
        """Use a token up; whether it was one for this. That of another principal stays theirs.

        Where the connection is lost at COMMIT a second try finds nothing: the dry run is then asked for again.

        Raises:
            StorageError: the database refused, or is not known to have given it.
        """
        return await self._database.run(self._tenant, partial(_take, self._tenant, token, about, now))


def _hash(*parts: str) -> str:
    return sha256("\0".join(parts).encode()).hexdigest()


def _keep(tenant: str, token: str, about: tuple[str, ...], until: str, transaction: Transaction) -> None:
    principal = _hash(about[0])
    transaction.ask(
        "DELETE FROM holdfast.tokens WHERE tenant = %s AND principal = %s AND token IN (SELECT token"
        " FROM holdfast.tokens WHERE tenant = %s AND principal = %s ORDER BY until DESC OFFSET %s)",
        tenant, principal, tenant, principal, MOST_OPEN - 1,
    )  # fmt: skip
    transaction.ask(
        "INSERT INTO holdfast.tokens (tenant, token, principal, about, until) VALUES (%s, %s, %s, %s, %s)"
        " ON CONFLICT (tenant, token) DO UPDATE SET until = excluded.until",
        tenant, _hash(token), principal, _hash(*about), until,
    )  # fmt: skip


def _take(tenant: str, token: str, about: tuple[str, ...], now: str, transaction: Transaction) -> bool:
    transaction.ask("DELETE FROM holdfast.tokens WHERE tenant = %s AND until <= %s", tenant, now)
    row = transaction.ask(
        "DELETE FROM holdfast.tokens WHERE tenant = %s AND token = %s AND principal = %s RETURNING about",
        tenant, _hash(token), _hash(about[0]),
    ).fetchone()  # fmt: skip
    return row is not None and row[0] == _hash(*about)


class RowReminders(TenantRows):
    """See `holdfast.engine.ports.Reminders`. Days are kept beside the turns, one row for each thing that is said.

    A day stands there with an id of whoever said it: where a COMMIT was not heard of, that tells whether it was made.
    """

    def __init__(self, database: Database, tenant: str) -> None:
        super().__init__(database, tenant)
        self._unheard: dict[str, str] = {}  # by what is said: day and id of a call that failed, and may have been made

    async def tell_today(self, what: str, today: str) -> bool:
        """Whether no server said this on this day yet, nor on a later one. Where it fails it can be asked again.

        Raises:
            StorageError: the database is away.
        """
        mark = self._unheard.pop(what, "")
        if not mark.startswith(today):
            mark = f"{today} {secrets.token_hex(8)}"
        work = partial(_tell_today, self._tenant, what, today, mark)
        try:
            with hurried():
                return await self._database.run(self._tenant, work, flush=False)
        except StorageError:
            self._unheard[what] = mark
            raise


def _tell_today(tenant: str, what: str, today: str, mark: str, transaction: Transaction) -> bool:
    row = transaction.ask(
        "INSERT INTO holdfast.leases AS l (tenant, name, holder, fence, until) VALUES (%s, %s, %s, 1, now())"
        " ON CONFLICT (tenant, name) DO UPDATE SET holder = excluded.holder"
        " WHERE l.holder < %s OR l.holder = excluded.holder RETURNING holder",
        tenant, f"told:{what}", mark, today,
    ).fetchone()  # fmt: skip
    return row is not None


_INSERT_VECTOR: Final = (
    "INSERT INTO holdfast.encodings (tenant, vector_set, content, chunk, vector) VALUES (%s, %s, %s, %s, %s)"
    " ON CONFLICT (tenant, vector_set, content, chunk) DO NOTHING"
)

ENCODING: Final = "encoding"
TURN_SECONDS: Final = 6  # after the death of a server that encodes another one takes over
PROLONG_SECONDS: Final = 2.0

log = structlog.get_logger()
_turn: ContextVar[Lease | None] = ContextVar("turn", default=None)  # of the task under way, to encode what waits


class RowVectors(TenantRows):
    """See `holdfast.encode.provider.SharedVectors`."""

    def __init__(self, database: Database, tenant: str) -> None:
        super().__init__(database, tenant)
        self._server = secrets.token_hex(8)
        self._elsewhere: set[str] = set()  # sets for which another server had the turn when it was last wanted

    @property
    def elsewhere(self) -> bool:
        """Whether another server makes vectors that this one waits for."""
        return bool(self._elsewhere)

    @asynccontextmanager
    async def turn(self, vector_set: str) -> AsyncIterator[bool]:
        """Be the only server that encodes what waits for this set; yields whether it is.

        While the database is away each server encodes for itself: notes that are found by their words alone for as
        long as that lasts would be the worse thing.
        """
        take = partial(take_lease, self._tenant, f"{ENCODING}:{vector_set}", self._server, TURN_SECONDS)
        try:
            with hurried():
                lease = await self._database.run(self._tenant, take, flush=False)
        except StorageError as error:
            log.info("encoding_turn_not_asked", reason=str(error))
            yield True
            return
        if lease is None:
            self._elsewhere.add(vector_set)
            yield False
            return
        self._elsewhere.discard(vector_set)
        async with self._prolonged(lease):
            yield True

    @asynccontextmanager
    async def _prolonged(self, lease: Lease) -> AsyncIterator[None]:
        """Keep a turn until the block ends, then let others have it."""
        failed: Exception | None = None
        token = _turn.set(lease)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._prolong, lease)
                try:
                    yield
                finally:
                    _turn.reset(token)
                    tasks.cancel_scope.cancel()
        except ExceptionGroup as group:  # what the block raised is raised as such
            failed = group.exceptions[0]
        with anyio.CancelScope(shield=True), suppress(StorageError), hurried():
            await self._database.run(self._tenant, partial(give_back, self._tenant, lease), flush=False)
        if failed is not None:
            raise failed

    async def _prolong(self, lease: Lease) -> None:
        while True:
            await anyio.sleep(PROLONG_SECONDS)
            with suppress(StorageError), hurried():  # where it is another's by now, what is made is refused
                await self._database.run(self._tenant, lambda tx: still_mine(tx, self._tenant, lease)(), flush=False)

    async def made(self, vector_set: str, contents: Sequence[str]) -> frozenset[str]:
        """Which of these contents anybody encoded; none where the database is away."""
        statement = (
            "SELECT content FROM holdfast.encodings WHERE tenant = %s AND vector_set = %s AND content = ANY(%s)"
            " AND chunk = 0"
        )
        try:
            with hurried():
                rows = await self._rows(statement, vector_set, list(contents))
        except StorageError as error:  # as in `known`
            log.info("shared_vectors_not_read", reason=str(error))
            return frozenset()
        return frozenset(content for (content,) in rows)

    async def known(self, vector_set: str, contents: Sequence[str]) -> dict[str, list[bytes]]:
        """The chunks of those of these contents that anybody encoded; none where the database is away."""
        statement = (
            "SELECT content, chunk, vector FROM holdfast.encodings"
            " WHERE tenant = %s AND vector_set = %s AND content = ANY(%s) ORDER BY content, chunk"
        )
        try:
            with hurried():
                rows = await self._rows(statement, vector_set, list(contents))
        except StorageError as error:  # they only spare work
            log.info("shared_vectors_not_read", reason=str(error))
            return {}
        found: dict[str, list[bytes]] = {}
        for content, chunk, vector in rows:
            if chunk == len(found.setdefault(content, [])):
                found[content].append(bytes(vector))
        return found

    async def keep(self, vector_set: str, made: Mapping[str, Sequence[bytes]]) -> None:
        """Keep what was made, as far as nobody did, and unless the database is away."""
        rows = [
            (self._tenant, vector_set, content, number, chunk)
            for content, chunks in sorted(made.items())
            for number, chunk in enumerate(chunks)
        ]
        try:
            with hurried():
                await self._database.run(
                    self._tenant, partial(_keep_vectors, self._tenant, rows, _turn.get()), flush=False
                )
        except StorageError as error:  # as above
            log.info("shared_vectors_not_kept", reason=str(error))

    async def drop(self, vector_set: str) -> None:
        """Take away all of a set, whose model made them wrongly.

        Raises:
            StorageError: the database refused.
        """
        await self._database.run(self._tenant, partial(_drop_set, self._tenant, vector_set))

    async def forget(self, texts: Sequence[str]) -> None:
        """Take away the vectors of these texts, in every set.

        Raises:
            StorageError: the database refused.
        """
        await self._database.run(self._tenant, partial(forget, self._tenant, texts))


def _keep_vectors(tenant: str, rows: Sequence[Sequence[object]], turn: Lease | None, transaction: Transaction) -> None:
    if turn is not None:
        still_mine(transaction, tenant, turn)()
    transaction.each(_INSERT_VECTOR, rows)


def _drop_set(tenant: str, vector_set: str, transaction: Transaction) -> None:
    """Take away a set; a server that is making more of it, as they were, has lost its turn."""
    transaction.ask(
        "UPDATE holdfast.leases SET fence = fence + 1, until = now() - interval '1 second'"
        " WHERE tenant = %s AND name = %s",
        tenant, f"{ENCODING}:{vector_set}",
    )  # fmt: skip
    transaction.ask("DELETE FROM holdfast.encodings WHERE tenant = %s AND vector_set = %s", tenant, vector_set)


def forget(tenant: str, texts: Sequence[str], transaction: Transaction) -> None:
    """Take away the vectors of these texts, in a transaction."""
    contents = [sha256(text.encode()).hexdigest() for text in texts]
    transaction.ask("DELETE FROM holdfast.encodings WHERE tenant = %s AND content = ANY(%s)", tenant, contents)


TOGETHER: Final = 100  # memories in one message
_NUMBER: Final = "SELECT tenant, seq FROM holdfast.tenants WHERE tenant = %s"


class RowFeed:
    """See `holdfast.engine.ports.Feed`.

    Args:
        database: where the memories are.
        key: the tenant of a principal.
    """

    def __init__(self, database: Database, key: Callable[[str], str]) -> None:
        self._database = database
        self._key = key

    async def numbers(self, principals: Sequence[str]) -> Mapping[str, int]:
        """The number of the last change of each principal's memory; 0 where nothing was ever written.

        Raises:
            StorageError: the database does not answer.
        """
        keys = {principal: self._key(principal) for principal in principals}
        tenants = sorted(set(keys.values()))
        found: dict[str, int] = {}
        for start in range(0, len(tenants), TOGETHER):
            part = {tenant: Question(_NUMBER, (tenant,)) for tenant in tenants[start : start + TOGETHER]}
            with hurried():
                rows = await self._database.glances(part)
            found |= {tenant: int(seq) for tenant, seq in rows}
        return {principal: found.get(tenant, 0) for principal, tenant in keys.items()}
