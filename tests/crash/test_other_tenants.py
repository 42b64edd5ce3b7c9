"""Every statement of the servers, tried as another tenant: each of two walls alone keeps the rows from it."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

import postgres
import sent
from broad import beside, everything
from holdfast.model.access import tenant_key
from probed import Probe
from tables import server

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not postgres.is_there(), reason=postgres.MISSING)]


async def test_every_statement_reaches_rows_as_the_owner_and_none_as_another_tenant(tmp_path: Path) -> None:
    """By row-level security alone, and by its own filter alone."""
    pg, tenant = postgres.shared(), str(tmp_path)
    key = tenant_key(tenant)
    role, above = f"tried_{key[:8]}", f"above_{key[:8]}"
    with psycopg.connect(pg.owner, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN".encode())
        connection.execute(f"CREATE ROLE {above} BYPASSRLS".encode())
        for name in (role, above):
            postgres.schema.migrate(connection, name)
        connection.execute(f"GRANT {above} TO {role}".encode())
    url = pg.url.replace(postgres.ROLE, role)
    probe = Probe((key, tenant_key(f"{tenant} loaded")), tenant_key("somebody else"), above)
    with probe.listening():
        async with server(tmp_path / "one", url, tenant) as memory:
            await everything(memory)
        await beside(url, tenant, tmp_path)
    assert probe.leaks == set()
    assert {text for text, count in probe.reached.items() if not count} == set()
    source = sent.about_tenants()
    assert len(source) > 70
    assert [text for text, pattern in source.items() if not any(map(pattern.fullmatch, probe.reached))] == []
