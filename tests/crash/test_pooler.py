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
from backed_up import backed_up, brought_elsewhere
from conftest import Effort
from holdfast.engine.admin.gate import Confirmations
from holdfast.engine.admin.notes import WouldPurge, purge
from holdfast.engine.admin.undo import undo
from holdfast.engine.agent.feedback import Feedback, MarkOutdated, mark_outdated, submit_feedback
from holdfast.engine.omi.now import NowUpdate, now_read, now_update
from holdfast.engine.runtime import Memory
from holdfast.model.access import tenant_key
from holdfast.store.folder import Folder
from holdfast.store.rows.database import Database
from holdfast.store.rows.moving import dump, load
from holdfast.store.rows.shared import RowVectors
from tables import assert_whole, server, texts_in
from worlds import CALLER, ask, found, keep

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not postgres.is_there(), reason=postgres.MISSING)]
pooled = pytest.mark.skipif(pgbouncer.PROGRAM is None, reason=pgbouncer.MISSING)
SPARED = 0.1  # of the statements in the source: those that only a mishap sends


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


async def everything(memory: Memory) -> None:
    """Enough of what a memory does that its statements are sent."""
    first = (await keep(memory, "The pilot boat is moored at berth four.")).note.id
    second = (await keep(memory, "The pilot boat is moored at berth nine.", supersedes=(first,))).note.id
    async with anyio.create_task_group() as many:  # they become one transaction
        for number in range(8):
            many.start_soon(keep, memory, f"Buoy {number} is lit.")
    taken_back = (await keep(memory, "The pilot boat is for sale.")).change_id
    assert taken_back is not None
    await memory.attend(lambda ports: undo(ports, CALLER, taken_back))
    answer = await ask(memory, "pilot boat")
    await memory.attend(lambda ports: submit_feedback(ports, CALLER, Feedback(second, 1, event_id=answer.event_id)))
    await memory.attend(lambda ports: submit_feedback(ports, CALLER, Feedback(second, 1)))
    await memory.attend(lambda ports: mark_outdated(ports, CALLER, MarkOutdated(second, "it sank")))
    for task in ("raise the boat", "dry the engine"):
        await memory.attend(lambda ports, task=task: now_update(ports, CALLER, NowUpdate(current_task=task)))  # type: ignore[misc]
    await memory.attend(lambda ports: now_read(ports, CALLER))
    ports, past = memory.ports, memory.ports.store.past
    await past.records()
    deleted = [file for line in await past.records(("remember",)) for file in line.files if file.before]
    await past.replaced(deleted[0])
    await past.drop(deleted[0])
    await past.lines([1])
    await ports.store.list_pages("now")
    await ports.store.page_marks(["NOW.md"])
    await ports.store.page_records("")
    await ports.store.drop_page("proposals/none.json")
    await ports.recalls.recent("local", 3)
    await ports.recalls.prune()
    upkeep = ports.upkeep
    assert upkeep is not None
    async with upkeep.turn() as mine:
        assert mine
        await keep(memory, "This is written in the turn of the jobs.")
    await upkeep.sizes()
    await upkeep.purge_trash({"chg_none": ["0" * 64]})
    await backed_up(memory)
    tokens = Confirmations()
    asked = await memory.attend(lambda ports: purge(ports, CALLER, tokens, first, None))
    assert isinstance(asked, WouldPurge)
    await memory.attend(lambda ports: purge(ports, CALLER, tokens, first, asked.confirm))


async def beside(url: str, tenant: str, folder: Path) -> None:
    """What else servers and `holdfast store` send."""
    database = Database(url)
    vectors = RowVectors(database, tenant_key(tenant))
    await vectors.keep("a set", {"0" * 64: [b"1234"]})
    assert await vectors.known("a set", ["0" * 64]) == {"0" * 64: [b"1234"]}
    await vectors.forget(["a text"])
    await vectors.drop("a set")
    out = folder / "dumped"
    await anyio.to_thread.run_sync(dump, database, tenant_key(tenant), out, _quiet)
    await anyio.to_thread.run_sync(load, database, tenant_key(f"{tenant} loaded"), Folder(out), {}, _quiet)
    assert await database.answers()
    await brought_elsewhere(database, tenant, f"{tenant} loaded", folder)
    await database.aclose()


def _quiet(_done: int, _total: int) -> None:
    """Nobody watches."""


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
    missing = [text for text, pattern in source.items() if not any(pattern.search(each) for each in texts)]
    assert len(source) > 50
    assert len(missing) <= SPARED * len(source), missing


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
