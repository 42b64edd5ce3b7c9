"""A memory in PostgreSQL through a real PgBouncer that gives each transaction another connection.

And the statements that were really sent, held against what poolers and distributed engines allow.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import anyio
import psycopg
import pytest

import pgbouncer
import postgres
import sent
from broad import beside, everything
from conftest import Effort
from holdfast.engine.runtime import Memory
from tables import assert_whole, server, texts_in
from worlds import ask, found, keep

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not postgres.is_there(), reason=postgres.MISSING)]
pooled = pytest.mark.skipif(pgbouncer.PROGRAM is None, reason=pgbouncer.MISSING)


@pooled
async def test_many_writers_share_two_connections_of_a_pooler_that_is_killed_meanwhile(
    tmp_path: Path, effort: Effort, tally: Counter[str]
) -> None:
    pg, tenant, acknowledged = postgres.shared(), str(tmp_path), set[str]()
    with pgbouncer.before(pg, connections=2) as pooler:
        async with (
            server(tmp_path / "one", pooler.url, tenant) as one,
            server(tmp_path / "two", pooler.url, tenant) as two,
        ):

            async def write(memory: Memory, name: str) -> None:
                for number in range(effort.of(4, 60)):
                    text = f"Writer {name} noted item {number}."
                    await keep(memory, text)
                    acknowledged.add(text)
                    answer = await ask(two, text)
                    assert text in found(answer) or "cannot be reached" in " ".join(answer.notices)

            async with anyio.create_task_group() as tasks:
                for number, memory in enumerate((one, two) * 4):
                    tasks.start_soon(write, memory, f"w{number}")
                for kill in range(1, effort.of(1, 20) + 1):
                    with anyio.fail_after(postgres.PATIENCE):
                        while len(acknowledged) < 8 * kill:  # noqa: ASYNC110 - several writers tell it
                            await anyio.sleep(0.01)
                    await anyio.to_thread.run_sync(pooler.kill)
                    await anyio.to_thread.run_sync(pooler.start)
                    tally["kill -9 of PgBouncer"] += 1
        shown = await anyio.to_thread.run_sync(pooler.asked, "SHOW SERVERS")
        assert 1 <= len(shown) <= 2
    assert texts_in(pg.owner, tenant) == Counter(dict.fromkeys(acknowledged, 1))
    assert_whole(pg.owner, tenant)
    tally["notes stored through PgBouncer"] += len(acknowledged)


@pytest.mark.parametrize("through", ["PostgreSQL", pytest.param("PgBouncer", marks=pooled)])
async def test_every_statement_that_is_sent_needs_no_session_and_one_tenant(tmp_path: Path, through: str) -> None:
    tenant = str(tmp_path)
    with postgres.postgres(*sent.LOGGED) as pg:
        if through == "PostgreSQL":
            async with server(tmp_path / "one", pg.url, tenant) as memory:
                await everything(memory)
            await beside(pg.url, tenant, tmp_path)
        else:
            with pgbouncer.before(pg, connections=1) as pooler:
                async with server(tmp_path / "one", pooler.url, tenant) as memory:
                    await everything(memory)
                await beside(pooler.url, tenant, tmp_path)
        told = sent.statements(pg)
    texts = {each.text for each in told}
    assert "COMMIT" in texts
    assert {each.text: rules for each in told if (rules := sent.broken_rules(each))} == {}
    source = sent.in_source()
    assert len(source) > 50
    assert [text for text, pattern in source.items() if not any(pattern.search(each) for each in texts)] == []


def test_the_rules_notice_what_is_forbidden() -> None:
    for text in (
        "LISTEN changes", "SET holdfast.tenant = 'a'", "SELECT pg_advisory_xact_lock(1)", "SELECT nextval('a')",
        "SELECT path FROM holdfast.notes", "INSERT INTO holdfast.notes (path, tenant) VALUES ($1, $2)",
        "SELECT n.path FROM holdfast.notes n, holdfast.pages p WHERE n.tenant = $1", "CREATE TEMP TABLE a (b text)",
        "INSERT INTO holdfast.notes (tenant, path) VALUES ($1, $2) ON CONFLICT (path) DO NOTHING",
    ):  # fmt: skip
        assert sent.broken_rules(sent.Sent(text, "")), text
    assert sent.broken_rules(sent.Sent("SELECT 1", "_pg3_0"))
    assert not sent.broken_rules(sent.Sent("SET LOCAL holdfast.tenant = 'a'", ""))


def test_every_key_of_the_tables_begins_with_the_tenant_and_nothing_is_numbered_or_triggered() -> None:
    """So that the tables can be spread over many machines by tenant, as Citus and YugabyteDB do."""
    with psycopg.connect(postgres.shared().owner, autocommit=True) as connection:
        keys = connection.execute(
            "SELECT c.relname, (SELECT attname FROM pg_attribute WHERE attrelid = c.oid AND attnum = i.indkey[0])"
            " FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid"
            " WHERE c.relnamespace = 'holdfast'::regnamespace AND c.relname <> 'meta'"
        ).fetchall()
        assert {first for _, first in keys} == {"tenant"}
        assert len({table for table, _ in keys}) == len(postgres.schema.TABLES)
        others = connection.execute(
            "SELECT conname FROM pg_constraint WHERE connamespace = 'holdfast'::regnamespace"
            " AND contype NOT IN ('p', 'u', 'c', 'n')"
            " UNION ALL SELECT relname FROM pg_class WHERE relnamespace = 'holdfast'::regnamespace"
            " AND relkind NOT IN ('r', 'i')"
            " UNION ALL SELECT tgname FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid"
            " WHERE c.relnamespace = 'holdfast'::regnamespace"
            " UNION ALL SELECT typname FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid JOIN pg_type t"
            " ON t.oid = atttypid WHERE c.relnamespace = 'holdfast'::regnamespace AND attnum > 0 AND relkind = 'r'"
            " AND typname NOT IN ('text', 'int8', 'int4', 'bool', 'bytea', 'timestamptz', 'float8')"
        ).fetchall()
        assert others == []
