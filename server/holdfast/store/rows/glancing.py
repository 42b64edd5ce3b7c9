"""A question that is asked before every answer, in one message there and one back, waited for in no thread.

What else is asked goes through threads and psycopg, which takes longer than the database does for this.
"""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import psycopg
from psycopg.pq.abc import PGresult

from holdfast.store.rows.schema import Connection


def scope(tenant: str) -> str:
    """The statement that holds a transaction to a tenant."""
    if not tenant.isalnum():
        raise ValueError("a tenant is hexadecimal digits")
    return f"SET LOCAL holdfast.tenant = '{tenant}'"


def message(connection: Connection, tenant: str, statement: str, values: Sequence[object]) -> bytes:
    """A statement that only reads, with its values in it, behind the tenant's scope: both are one transaction."""
    escaping = psycopg.pq.Escaping(connection.pgconn)
    literals = tuple(
        value if isinstance(value, int) else escaping.escape_literal(str(value).encode()).decode() for value in values
    )
    return f"{scope(tenant)}; {statement % literals}".encode()


async def answered(connection: Connection, message: bytes) -> list[tuple[str | None, ...]] | None:
    """The rows of the last statement of a message, as texts; None where it was refused.

    Raises:
        psycopg.OperationalError: the connection is lost.
    """
    line = connection.pgconn
    line.send_query(message)
    if line.flush():  # so full that a few bytes find no room
        return None
    results = []
    while True:
        while line.is_busy():
            await anyio.wait_readable(line.socket)
            line.consume_input()
        result = line.get_result()
        if result is None:
            break
        results.append(result)
    last = results[-1]
    if last.status != psycopg.pq.ExecStatus.TUPLES_OK:
        return None
    return [tuple(_text(last, row, column) for column in range(last.nfields)) for row in range(last.ntuples)]


def _text(result: PGresult, row: int, column: int) -> str | None:
    value = result.get_value(row, column)
    return None if value is None else value.decode()
