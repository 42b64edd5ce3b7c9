"""Tables that become those of a newer Holdfast while servers of this one run: these refuse, and write nothing."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread
import psycopg
import pytest

import postgres
from holdfast.engine.admin.gate import Confirmations
from holdfast.engine.admin.notes import purge
from holdfast.engine.agent.feedback import MarkOutdated, mark_outdated
from holdfast.engine.omi.now import NowUpdate, now_update
from holdfast.engine.runtime import Memory
from holdfast.errors import StorageError
from holdfast.model.access import tenant_key
from holdfast.model.records import JournalRecord
from holdfast.store.rows import commits, schema
from holdfast.store.rows.commits import Outcome, Wanted
from holdfast.store.rows.database import Transaction
from holdfast.store.rows.notes import RowNotes
from processes import ROOT, until
from tables import server
from worlds import CALLER, ask, found, keep

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not postgres.is_there(), reason=postgres.MISSING)]

NEWER = (schema.VERSION + 1,) * 2
USUAL = (schema.VERSION, schema.COMPATIBLE_FROM)
KNOWN = ("notes", "pages", "journal", "texts", "trash", "leases", "tokens", "recalls", "encodings", "backups")
# `holdfast store migrate` of a Holdfast whose tables no server of this one may use.
MIGRATE = """
import sys, psycopg
from holdfast.store.rows import schema
schema.STEPS = (*schema.STEPS, ("ALTER TABLE holdfast.texts RENAME COLUMN data TO packed",))
schema.VERSION = schema.COMPATIBLE_FROM = len(schema.STEPS)
with psycopg.connect(sys.argv[1], autocommit=True, application_name="migrate") as connection:
    print(schema.migrate(connection))
"""


@dataclass(frozen=True, slots=True)
class Own:
    """A database of a test's own, with the tables of today."""

    owner: str
    url: str

    def run(self, statement: str, *values: object) -> None:
        with psycopg.connect(self.owner, autocommit=True) as connection:
            connection.execute(statement.encode(), values)

    def make(self, version: int, compatible_from: int) -> None:
        self.run("UPDATE holdfast.meta SET version = %s, compatible_from = %s", version, compatible_from)

    def rows(self) -> dict[str, Sequence[object]]:
        with psycopg.connect(self.owner, autocommit=True) as connection:
            asked = "SELECT t::text FROM holdfast.{} t ORDER BY 1"
            return {table: connection.execute(asked.format(table).encode()).fetchall() for table in KNOWN}


@pytest.fixture
def own(tmp_path: Path) -> Own:
    pg, name = postgres.shared(), f"migrated_{tenant_key(str(tmp_path))}"
    with psycopg.connect(pg.owner, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    here = Own(*(address.replace("/postgres", f"/{name}") for address in (pg.owner, pg.url)))
    with psycopg.connect(here.owner, autocommit=True) as connection:
        schema.migrate(connection, postgres.ROLE)
    return here


@pytest.mark.parametrize("connections", ["idle", "lost"])
async def test_a_server_that_runs_while_the_tables_become_newer_ones_refuses_every_call_and_writes_nothing(
    tmp_path: Path, own: Own, connections: str
) -> None:
    async with server(tmp_path / "one", own.url, "a team") as memory:
        note = (await keep(memory, "The tables are of today.")).note.id
        assert found(await ask(memory, "tables of today"))
        await memory.ports.recalls.flush()
        store, upkeep, fleet = memory.ports.store, memory.ports.upkeep, memory.ports.fleet
        assert isinstance(store, RowNotes)
        assert upkeep is not None
        assert fleet is not None
        own.make(*NEWER)
        if connections == "lost":
            ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND"
            own.run(f"{ended} usename = %s", postgres.ROLE)
        before = own.rows()
        for call in (
            lambda: keep(memory, "The tables are of tomorrow."),
            lambda: ask(memory, "tables of today"),
            lambda: memory.attend(lambda ports: mark_outdated(ports, CALLER, MarkOutdated(note, "it was yesterday"))),
            lambda: memory.attend(lambda ports: now_update(ports, CALLER, NowUpdate(current_task="migrate"))),
            lambda: memory.attend(lambda ports: purge(ports, CALLER, Confirmations(), note, None)),
            lambda: store.record(JournalRecord("job")),  # what comes from the background asks for no news before
            lambda: upkeep.purge_trash({"chg_1": ()}),
            lambda: fleet.reminders.tell_today("a hint", "2026-11-24"),
            lambda: fleet.vectors.drop("a set"),
            lambda: fleet.feed.numbers([CALLER.principal]),
            store._database.check,
        ):
            with pytest.raises(StorageError, match=r"newer Holdfast made the tables .*Update this Holdfast"):
                await call()
        assert not store.reading_only
        assert own.rows() == before
        own.make(*USUAL)
        await keep(memory, "The tables are of today again.")
        assert len(found(await ask(memory, "tables of today"))) == 2


async def test_a_change_that_was_decided_before_the_tables_became_newer_ones_is_not_made(
    tmp_path: Path, own: Own, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = commits.Commits._outcomes

    async def too_late(self: commits.Commits, group: Sequence[Wanted]) -> Sequence[Outcome]:
        own.make(*NEWER)
        return await usual(self, group)

    async with server(tmp_path / "one", own.url, "a team") as memory:
        await keep(memory, "The tables are of today.")
        await memory.ports.recalls.flush()
        before = own.rows()
        with monkeypatch.context() as patched:
            patched.setattr(commits.Commits, "_outcomes", too_late)
            with pytest.raises(StorageError, match="newer Holdfast made the tables"):
                await keep(memory, "The tables are of tomorrow.")
        assert own.rows() == before


async def test_a_migration_to_tables_that_servers_cannot_use_waits_for_the_change_that_is_under_way(
    tmp_path: Path, own: Own, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on, write = threading.Event(), threading.Event(), commits._write
    waits = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'migrate' AND wait_event_type = 'Lock'"

    def stand_still(transaction: Transaction, *given: object) -> object:
        begun.set()
        while not go_on.wait(0.2):
            transaction.stay()
        return write(transaction, *given)  # type: ignore[arg-type]

    def migrate() -> str:
        command, environment = [sys.executable, "-c", MIGRATE, own.owner], {"PYTHONPATH": str(ROOT / "server")}
        with (
            subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as migrating,
            psycopg.connect(own.owner, autocommit=True) as connection,
        ):
            until(lambda: connection.execute(waits).fetchone() is not None or migrating.poll() is not None)
            go_on.set()
            return migrating.communicate()[0]

    async def outdate(memory: Memory, note: str) -> None:
        await memory.attend(lambda ports: mark_outdated(ports, CALLER, MarkOutdated(note, "it was yesterday")))

    async with server(tmp_path / "one", own.url, "a team") as memory:
        note = (await keep(memory, "The tables are of today.")).note.id
        monkeypatch.setattr(commits, "_write", stand_still)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(outdate, memory, note)
            await anyio.to_thread.run_sync(begun.wait)
            told = await anyio.to_thread.run_sync(migrate)
        assert told.split() == [f"({schema.VERSION},", f"{schema.VERSION + 1})"]
        with pytest.raises(StorageError, match="newer Holdfast made the tables"):
            await keep(memory, "The tables are of tomorrow.")
    with psycopg.connect(own.owner, autocommit=True) as connection:
        assert connection.execute("SELECT count(*) FROM holdfast.texts").fetchone() == (1,)
        [(line,)] = connection.execute("SELECT line FROM holdfast.journal ORDER BY seq DESC LIMIT 1").fetchall()
    assert b'"op":"mark_outdated"' in line
