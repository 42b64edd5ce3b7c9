"""A question that is asked before every answer, in one message there and one back, waited for in no thread.

What else is asked goes through threads and psycopg, which takes longer than the database does for this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import anyio
import psycopg
from psycopg.pq.abc import Escaping, PGresult

from holdfast.store.rows.schema import Connection

_WENT_WELL: Final = {psycopg.pq.ExecStatus.COMMAND_OK, psycopg.pq.ExecStatus.TUPLES_OK}


def scope(tenant: str) -> str:
    """The statement that holds a transaction to a tenant."""
    if not tenant.isalnum():
        raise ValueError("a tenant is hexadecimal digits")
    return f"SET LOCAL holdfast.tenant = '{tenant}'"


def message(connection: Connection, asked: Mapping[str, tuple[str, Sequence[object]]]) -> bytes:
    """A question of each of these tenants, with its values in it, behind the tenant's scope, in one transaction."""
    escaping = psycopg.pq.Escaping(connection.pgconn)
    return "; ".join(f"{scope(tenant)}; {_whole(escaping, *question)}" for tenant, question in asked.items()).encode()


def _whole(escaping: Escaping, statement: str, values: Sequence[object]) -> str:
    literals = tuple(
        value if isinstance(value, int) else escaping.escape_literal(str(value).encode()).decode() for value in values
    )
    return statement % literals


async def answered(connection: Connection, message: bytes) -> list[tuple[str | None, ...]] | None:
    """The rows that the statements of a message find, as texts; None where one was refused.

    Raises:
        psycopg.OperationalError: the connection is lost.
    """
    line = connection.pgconn
    line.send_query(message)
    if line.flush():  # so full that a few bytes find no room
        return None
    rows: list[tuple[str | None, ...]] = []
    is_whole = True
    while True:
        while line.is_busy():
            await anyio.wait_readable(line.socket)
            line.consume_input()
        result = line.get_result()
        if result is None:
            break
        is_whole = is_whole and result.status in _WENT_WELL
        rows += (tuple(_text(result, row, at) for at in range(result.nfields)) for row in range(result.ntuples))
    return rows if is_whole else None


def _text(result: PGresult, row: int, column: int) -> str | None:
    value = result.get_value(row, column)
    return None if value is None else value.decode()
