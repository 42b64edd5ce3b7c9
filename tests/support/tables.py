"""A server's memory in PostgreSQL, and what its tables hold, seen past the servers: by the owner of the tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg

from holdfast.app import build_memory
from holdfast.engine.runtime import Memory
from holdfast.model.access import tenant_key
from holdfast.settings import load_settings
from holdfast.store.rows.texts import record_of


def rows(owner: str, statement: str, tenant: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(owner, autocommit=True) as connection:
        return connection.execute(statement.encode(), (tenant_key(tenant),)).fetchall()


def texts_in(owner: str, tenant: str) -> Counter[str]:
    """The bodies of all notes, Self aside."""
    told = rows(owner, "SELECT data FROM holdfast.notes WHERE tenant = %s AND note <> 'mem_0000000000000000'", tenant)
    return Counter(bytes(data).decode().rpartition("---\n")[2].strip() for (data,) in told)


def assert_whole(owner: str, tenant: str) -> None:
    """The journal has every number once, each change once, and the counter is where it ends."""
    lines = rows(owner, "SELECT seq, line FROM holdfast.journal WHERE tenant = %s ORDER BY seq", tenant)
    assert [seq for seq, _ in lines] == list(range(1, len(lines) + 1))
    records = [record_of(line) for _, line in lines]
    assert [record.seq for record in records] == [seq for seq, _ in lines]
    changes = [record.change for record in records if record.change]
    assert len(changes) == len(set(changes))
    assert rows(owner, "SELECT seq FROM holdfast.tenants WHERE tenant = %s", tenant) == [(len(lines),)]


@asynccontextmanager
async def server(home: Path, url: str, tenant: str, *, backs_up: bool = True) -> AsyncIterator[Memory]:
    """A server with a disk of its own for what is derived, as in another place."""
    given = {"HOLDFAST_HOME": str(home), "HOLDFAST_STORE": url, "HOLDFAST_TENANT": tenant, "HOLDFAST_ENCODER": "none"}
    memory = build_memory(load_settings(given | {"HOLDFAST_VAULT_ENABLED": str(backs_up).lower()}))
    async with memory.running():
        yield memory
