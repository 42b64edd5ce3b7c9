"""Statements tried as another tenant at the moment at which they are sent, in the transaction that they are part of.

Each is carried out three times more and taken back each time: as it is, which shows whether it reaches rows at all; in
the name of another tenant, with its own values, so that row-level security alone stands before the rows; and with the
other tenant in its values, by a role above row-level security, so that its own filter alone does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest

from holdfast.store.rows.database import Asked, Connection, Database, Question, Transaction

_COUNTED = re.compile(r"^SELECT coalesce\(sum\(|SELECT count\(\*\) FROM gone$")
_INSERTED = re.compile(r"^INSERT INTO holdfast\.(\w+)")


async def _asked_as_any_other(_database: Database, _asked: Mapping[str, Question]) -> None:
    """What is asked in one message with its tenant is asked in a transaction, where it can be tried."""


@dataclass(slots=True)
class Probe:
    """What became of every statement about `tenants`: the rows that it reached as it is, and who else reached any.

    `above` is a role above row-level security that the servers' role may become.
    """

    tenants: tuple[str, ...]
    other: str
    above: str
    reached: dict[str, int] = field(default_factory=dict)
    leaks: set[tuple[str, str]] = field(default_factory=set)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Try what is sent inside, each statement until it has reached rows."""
        asking, asking_each = Transaction.ask, Transaction.each

        def ask(transaction: Transaction, statement: str, *values: object) -> Asked:
            self._try(transaction, statement, values)
            return asking(transaction, statement, *values)

        def each(transaction: Transaction, statement: str, rows: Sequence[Sequence[object]]) -> None:
            if rows:
                self._try(transaction, statement, tuple(rows[0]))
            asking_each(transaction, statement, rows)

        patch = pytest.MonkeyPatch()
        patch.setattr(Transaction, "ask", ask)
        patch.setattr(Transaction, "each", each)
        patch.setattr(Database, "_glanced", _asked_as_any_other)
        try:
            yield
        finally:
            patch.undo()

    def _try(self, transaction: Transaction, statement: str, values: tuple[object, ...]) -> None:
        if "FROM holdfast." not in statement and not re.match(r"(INSERT INTO|UPDATE) holdfast\.", statement):
            return
        own = next((value for value in values if value in self.tenants), None)
        if self.reached.get(statement, 0) or not isinstance(own, str):
            return
        transaction.sync()
        trial = _Trial(transaction._connection, transaction._pipeline, statement)
        self.reached[statement] = trial.rows(values)
        if trial.rows(values, f"SET LOCAL holdfast.tenant = '{self.other}'"):
            self.leaks.add((statement, "row-level security"))
        theirs = tuple(self.other if value == own else value for value in values)
        if trial.changes(theirs, f"SET LOCAL ROLE {self.above}", own):
            self.leaks.add((statement, "its own filter"))


@dataclass(frozen=True, slots=True)
class _Trial:
    connection: Connection
    pipeline: psycopg.Pipeline
    statement: str

    def rows(self, values: tuple[object, ...], before: str = "") -> int:
        """How many rows it reaches behind another statement; both are taken back."""
        with self._taken_back():
            if before:
                self._do(before)
            try:
                return _reached(self.statement, self._do(self.statement, values))
            except psycopg.errors.InsufficientPrivilege:  # of a row that is another tenant's
                return 0

    def changes(self, values: tuple[object, ...], before: str, tenant: str) -> bool:
        """As `rows`; what inserts rows, which are others', is held against those of the tenant before and behind it."""
        inserted = _INSERTED.match(self.statement)
        if inserted is None:
            return self.rows(values, before) > 0
        of_tenant = (
            "SELECT count(*), md5(coalesce(string_agg(t::text, ',' ORDER BY t::text), ''))"  # noqa: S608 - a name of ours
            f" FROM holdfast.{inserted[1]} t WHERE tenant = %s"
        )
        with self._taken_back():
            self._do(before)
            known = self._do(of_tenant, (tenant,)).fetchall()
            self._do(self.statement, values)
            return bool(self._do(of_tenant, (tenant,)).fetchall() != known)

    @contextmanager
    def _taken_back(self) -> Iterator[None]:
        self._do("SAVEPOINT trial")
        try:
            yield
        finally:
            self._do("ROLLBACK TO SAVEPOINT trial")

    def _do(self, statement: str, values: tuple[object, ...] = ()) -> psycopg.Cursor[tuple[Any, ...]]:
        cursor = self.connection.cursor(binary=True).execute(statement.encode(), values, prepare=False)
        self.pipeline.sync()
        return cursor


def _reached(statement: str, cursor: psycopg.Cursor[tuple[Any, ...]]) -> int:
    if _COUNTED.search(statement):
        row = cursor.fetchone()
        return int(row[0]) if row else 0
    return cursor.rowcount
