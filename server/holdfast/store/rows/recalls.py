"""What was asked lately as rows, so that any server can take feedback on an answer that another one gave.

An answer does not wait for its row: it is written a moment later, with all that came meanwhile.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from holdfast.batching import WriteBehind
from holdfast.errors import StorageError
from holdfast.model.records import RecallEvent
from holdfast.model.times import instant
from holdfast.store.rows.database import Database, Question, Row, TenantRows, Transaction, hurried

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
        [rows] = await self._database.read(self._tenant, Question(_FOUND + clause, (self._tenant, *values)))
        return [_event(row) for row in rows]

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
