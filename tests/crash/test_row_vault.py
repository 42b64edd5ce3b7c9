"""Backups of a memory in a database: at one moment, whole or not there, for every server, and for no other memory."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
import tracemalloc
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import anyio
import psycopg
import pytest

import postgres
from conftest import Effort
from forked import run
from holdfast.app import new_change_id, now
from holdfast.backup import row_vault
from holdfast.backup.archive import Target
from holdfast.backup.row_vault import RowVault
from holdfast.backup.vault import ROUNDS
from holdfast.engine.agent.feedback import MarkOutdated, mark_outdated
from holdfast.engine.omi.now import NowUpdate, now_update
from holdfast.engine.ports import Vault
from holdfast.engine.runtime import Memory
from holdfast.errors import BackupNotFoundError, ConflictError, IntegrityError
from holdfast.model.access import tenant_key
from holdfast.model.records import JournalRecord
from holdfast.store.codec import content_hash
from holdfast.store.folder import Folder
from holdfast.store.rows import database as database_module
from holdfast.store.rows.backups import RowFile, dump_backups, load_backups
from holdfast.store.rows.database import Database, Transaction
from holdfast.store.rows.moving import dump, load
from holdfast.store.rows.restoring import Exchange
from holdfast.store.rows.texts import record_of
from holdfast.store.stored import Packed
from processes import ROOT, until
from tables import assert_whole, rows, server, texts_in
from vaults import fill, opened, tree, wreck
from worlds import CALLER, ask, found, keep, purged

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not postgres.is_there(), reason=postgres.MISSING)]

EVER = 1_000_000
LARGEST_ROW = 4 << 20
KEPT = {
    "notes": "path, hash, modified_ns, data", "pages": "path, hash, modified_ns, data", "texts": "hash, data",
    "trash": "aside, data", "journal": "seq, line", "backups": "backup, head",
    "backup_parts": "backup, file, part, data",
}  # fmt: skip
Table = list[tuple[Any, ...]]


@asynccontextmanager
async def vault_of(tenant: str, clock: Callable[[], datetime] = now) -> AsyncIterator[RowVault]:
    """A server's vault of a memory, without the rest of the server."""
    async with connected() as database:
        yield RowVault(database, tenant_key(tenant), clock, new_change_id, 90)


def vault(memory: Memory) -> Vault:
    assert memory.ports.vault is not None
    return memory.ports.vault


def seen(tenant: str, *tables: str) -> dict[str, Table]:
    """What is there of a memory, once nobody of a dead process is left in the database."""
    owner = postgres.shared().owner
    busy = "SELECT pid FROM pg_stat_activity WHERE usename = 'holdfast_server' AND state <> 'idle' AND %s <> ''"
    until(lambda: not rows(owner, busy, tenant))
    asked = "SELECT {} FROM holdfast.{} WHERE tenant = %s ORDER BY 1, 2"
    return {name: rows(owner, asked.format(KEPT[name], name), tenant) for name in tables or KEPT}


@asynccontextmanager
async def connected() -> AsyncIterator[Database]:
    database = Database(postgres.shared().url)
    yield database
    await database.aclose()


async def loaded(home: Path, tenant: str) -> None:
    """A folder that becomes a memory of the database."""
    async with connected() as database:
        load(database, tenant_key(tenant), Folder(home), {}, lambda _done, _total: None)


def work(tenant: str, verb: str, backup_id: str, at: int) -> int | str:
    """What a process said that was to die at a step; the signal that ended it."""
    path = os.pathsep.join([str(ROOT / "server"), str(ROOT / "tests" / "support")])
    worker = ROOT / "tests" / "support" / "row_vault_worker.py"
    command = [sys.executable, worker, postgres.shared().url, tenant, verb, backup_id, str(at)]
    ended = run(command, {**os.environ, "PYTHONPATH": path}, None)
    return ended.stdout.decode() if ended.returncode == 0 else ended.returncode


def sampled(steps: int, effort: Effort, short: int) -> list[int]:
    """Some steps, or every one: the last among them, behind which all is done."""
    return sorted({*random.Random(5).sample(range(steps), min(steps, effort.of(short, steps))), steps - 1, steps})  # noqa: S311


async def assert_sound(tenant: str) -> None:
    """Whatever counts as a backup is whole, there is nothing else, and the next one is made."""
    async with vault_of(tenant) as kept:
        await kept.back_up("the next one")
        backups = await kept.backups()
        for backup in backups:
            assert await kept.verify(backup.backup_id) == backup
    parts = {row[0] for row in seen(tenant, "backup_parts")["backup_parts"]}
    assert parts == {backup.backup_id for backup in backups}


@pytest.mark.timeout(300)
async def test_a_backup_whose_server_is_killed_at_any_step_is_whole_or_leaves_nothing(
    tmp_path: Path, effort: Effort, tally: Counter[str]
) -> None:
    fill(tmp_path / "home", 4)
    await loaded(tmp_path / "home", counted := f"{tmp_path} counted")
    steps = int(work(counted, "back_up", "", EVER))
    ends = set()
    for at in sampled(steps, effort, 6):
        tenant = f"{tmp_path} {at}"
        await loaded(tmp_path / "home", tenant)
        before = seen(tenant)
        assert work(tenant, "back_up", "", at) == -signal.SIGKILL
        after = seen(tenant)
        ends.add(made := bool(after["backups"]))
        assert made or after == before
        await assert_sound(tenant)
        tally["kills survived"] += 1
    assert ends == {True, False}


@pytest.mark.timeout(300)
async def test_a_restore_whose_server_is_killed_at_any_step_is_done_or_never_happened(
    tmp_path: Path, effort: Effort, tally: Counter[str]
) -> None:
    fill(tmp_path / "home", 4)
    first, counted = f"{tmp_path} first", f"{tmp_path} counted"
    await loaded(tmp_path / "home", first)
    async with vault_of(first) as kept:
        backup_id = (await kept.back_up("a test")).backup_id
    whole = seen(first, "notes", "pages")
    await anyio.to_thread.run_sync(wreck_rows, first)
    wrecked = seen(first, "notes", "pages")
    copied(first, counted)
    steps = int(work(counted, "restore", backup_id, EVER))
    assert seen(counted, "notes", "pages") == whole
    ends = set()
    for at in sampled(steps, effort, 12):
        tenant = f"{tmp_path} {at}"
        copied(first, tenant)
        assert work(tenant, "restore", backup_id, at) == -signal.SIGKILL
        after = seen(tenant)
        done = any(record_of(line).op == "restore" for _, line in after["journal"])
        assert {name: after[name] for name in whole} == (whole if done else wrecked), f"killed at step {at}"
        ends.add(done)
        assert_whole(postgres.shared().owner, tenant)
        await assert_sound(tenant)
        async with vault_of(tenant) as kept:
            await kept.restore(backup_id, JournalRecord())  # it can be done again by any other server
        assert seen(tenant, "notes", "pages") == whole
        assert_whole(postgres.shared().owner, tenant)
        tally["kills survived"] += 1
    assert ends == {True, False}


def wreck_rows(tenant: str) -> None:
    """Delete, scribble over and add, past every server."""
    with psycopg.connect(postgres.shared().owner, autocommit=True) as connection:
        key = tenant_key(tenant)
        paths = [path for (path,) in connection.execute("SELECT path FROM holdfast.notes WHERE tenant = %s", (key,))]
        for number, path in enumerate(sorted(paths)):
            if number % 2:
                connection.execute("DELETE FROM holdfast.notes WHERE tenant = %s AND path = %s", (key, path))
            else:
                connection.execute(
                    "UPDATE holdfast.notes SET data = 'scribbled', hash = %s WHERE tenant = %s AND path = %s",
                    (content_hash(b"scribbled"), key, path),
                )
        connection.execute(
            "INSERT INTO holdfast.pages SELECT tenant, 'daily/2026-11-21.md', hash, 1, data FROM holdfast.pages"
            " WHERE tenant = %s AND path = 'NOW.md'", (key,)
        )  # fmt: skip
        connection.execute("DELETE FROM holdfast.pages WHERE tenant = %s AND path = 'NOW.md'", (key,))


def copied(tenant: str, other: str) -> None:
    """All rows of a memory, for another one."""
    with psycopg.connect(postgres.shared().owner, autocommit=True) as connection:
        for table in postgres.schema.TABLES:
            names = connection.execute(
                "SELECT string_agg(column_name, ', ') FROM information_schema.columns WHERE table_schema = 'holdfast'"
                " AND table_name = %s AND column_name <> 'tenant'", (table,)
            ).fetchone()  # fmt: skip
            assert names is not None
            copy = "INSERT INTO holdfast.{0} (tenant, {1}) SELECT %s, {1} FROM holdfast.{0} WHERE tenant = %s"
            values = tenant_key(other), tenant_key(tenant)
            connection.execute(copy.format(table, names[0]).encode(), values)


async def test_every_server_finds_what_a_restore_brought_back_and_no_more_what_it_took_away(
    tmp_path: Path, tenant: str
) -> None:
    pg = postgres.shared()
    async with server(tmp_path / "one", pg.url, tenant) as one, server(tmp_path / "other", pg.url, tenant) as other:
        crane = (await keep(one, "The crane lifts forty tonnes.")).note.id
        backup = await vault(one).back_up("a test")
        await other.attend(lambda ports: mark_outdated(ports, CALLER, MarkOutdated(crane, "it sank")))
        await keep(other, "The ferry leaves at noon.")
        for memory in (one, other):
            assert not found(await ask(memory, "crane tonnes"))
            assert found(await ask(memory, "ferry noon"))
        await vault(one).restore(backup.backup_id, JournalRecord())
        for memory in (other, one):
            assert found(await ask(memory, "crane tonnes")) == ["The crane lifts forty tonnes."]
            assert not found(await ask(memory, "ferry noon"))


async def test_a_restore_beside_writers_keeps_whatever_comes_behind_it(tmp_path: Path, tenant: str) -> None:
    pg = postgres.shared()
    async with server(tmp_path / "one", pg.url, tenant) as one, server(tmp_path / "other", pg.url, tenant) as other:
        await keep(one, "The crane lifts forty tonnes.")
        backup = await vault(one).back_up("a test")
        stored: dict[str, int] = {}

        async def write(name: str, count: int) -> None:
            for number in range(count):
                await keep(other, text := f"Writer {name} noted item {number}.")
                stored[text] = len(stored)

        async with anyio.create_task_group() as tasks:
            for name in "abc":
                tasks.start_soon(write, name, 8)
            await vault(one).restore(backup.backup_id, JournalRecord())
        lines = [record_of(line) for _, line in seen(tenant, "journal")["journal"]]
        restored = next(line.seq for line in lines if line.op == "restore")
        later = {file.path for line in lines if line.seq > restored for file in line.files if file.before is None}
        assert later >= {path for path, *_ in seen(tenant, "notes")["notes"] if "writer" in path}
        assert len([path for path, *_ in seen(tenant, "notes")["notes"] if path in later]) == len(later)
        for text in texts_in(pg.owner, tenant):
            for memory in (one, other):
                assert text in found(await ask(memory, text))
    assert_whole(pg.owner, tenant)


async def test_a_restore_comes_to_its_end_though_somebody_writes_all_the_time(tmp_path: Path, tenant: str) -> None:
    written: list[str] = []
    async with server(tmp_path / "one", postgres.shared().url, tenant) as one, vault_of(tenant) as kept:
        await keep(one, "The crane lifts forty tonnes.")
        before = seen_texts(tenant)
        backup = await kept.back_up("a test")
        usual = kept._made

        async def and_then_written(plan: Any) -> Any:
            made = await usual(plan)
            await keep(one, text := f"The ferry leaves at {len(written)} o'clock.")
            written.append(text)
            return made

        with patch.object(kept, "_made", and_then_written):
            done = await kept.restore(backup.backup_id, JournalRecord())
        assert seen_texts(tenant) == before
        assert len(written) == ROUNDS - 1
        assert await kept.backups() == [done.safety, backup]  # those that somebody wrote behind are gone
        await kept.restore(done.safety.backup_id, JournalRecord())
        assert texts_in(postgres.shared().owner, tenant) == Counter(["The crane lifts forty tonnes.", *written])


async def test_what_was_decided_before_a_restore_is_decided_again(tmp_path: Path, tenant: str) -> None:
    pg = postgres.shared()
    async with server(tmp_path / "one", pg.url, tenant) as one, server(tmp_path / "other", pg.url, tenant) as other:
        await keep(one, "The crane lifts forty tonnes.")
        backup = await vault(one).back_up("a test")
        await ask(other, "crane")
        store = other.ports.store
        async with store.hold(["retry:something"]):  # nothing that a restore changes
            await vault(one).restore(backup.backup_id, JournalRecord())
            with pytest.raises(ConflictError):
                await store.record(JournalRecord("note"))
        await keep(other, "The ferry leaves at noon.")


async def test_two_servers_whose_daily_backup_is_due_make_one(tenant: str) -> None:
    made: list[object] = []

    async def look(kept: RowVault) -> None:
        made.append(await kept.back_up_when_due(timedelta(days=1), "daily", 0.01))

    async with vault_of(tenant) as one, vault_of(tenant) as other:
        for _ in range(3):
            async with anyio.create_task_group() as tasks:
                for kept in (one, other, one, other):
                    tasks.start_soon(look, kept)
        [backup] = await other.backups()
    assert [each for each in made if each is not None] == [backup]


@pytest.fixture
def halted(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[threading.Event, threading.Event]]:
    """The first backup stands still in the middle: it sets the first of these, and goes on when the second is set."""
    reached, going = threading.Event(), threading.Event()
    usual = row_vault.check_cancelled

    def halting() -> None:
        usual()
        if not reached.is_set():
            reached.set()
            assert going.wait(postgres.PATIENCE)

    monkeypatch.setattr(row_vault, "check_cancelled", halting)
    yield reached, going
    going.set()


async def test_a_backup_that_a_purge_comes_between_has_nothing_of_the_note(
    tmp_path: Path, tenant: str, halted: tuple[threading.Event, threading.Event]
) -> None:
    reached, going = halted
    pg, made = postgres.shared(), list[str]()
    async with server(tmp_path / "one", pg.url, tenant) as one, server(tmp_path / "other", pg.url, tenant) as other:
        note = (await keep(one, "The zanzibar crane.")).note.id
        await keep(one, "The ferry leaves at noon.")

        async def back_up() -> None:
            made.append((await vault(one).back_up("a test")).backup_id)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(back_up)
            await anyio.to_thread.run_sync(reached.wait, postgres.PATIENCE)
            assert (await purged(other, note)).kept.backups == ()
            going.set()
        async with vault_of(tenant) as kept:
            assert [backup.backup_id for backup in await kept.backups()] == made
            await kept.restore(made[0], JournalRecord())
        assert not found(await ask(other, "zanzibar crane"))
        assert found(await ask(other, "ferry noon")) == ["The ferry leaves at noon."]
    assert b"zanzibar" not in repr(seen(tenant, "notes", "journal", "texts", "trash")).lower().encode()


async def test_a_backup_is_of_one_moment_and_holds_up_no_writer(
    tmp_path: Path, tenant: str, halted: tuple[threading.Event, threading.Event]
) -> None:
    reached, going = halted
    pg, made = postgres.shared(), list[str]()
    async with server(tmp_path / "one", pg.url, tenant) as one, server(tmp_path / "other", pg.url, tenant) as other:
        await keep(one, "The crane lifts forty tonnes.")
        before = seen_texts(tenant)

        async def back_up() -> None:
            made.append((await vault(one).back_up("a test")).backup_id)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(back_up)
            await anyio.to_thread.run_sync(reached.wait, postgres.PATIENCE)
            await keep(other, "The ferry leaves at noon.")
            assert await vault(other).back_up_when_due(timedelta(days=1), "daily", 0.0) is None  # another is at it
            going.set()
        await vault(other).restore(made[0], JournalRecord())
        assert seen_texts(tenant) == before


def seen_texts(tenant: str) -> dict[str, Table]:
    return seen(tenant, "notes", "pages")


async def test_a_server_that_is_stopped_in_the_middle_of_a_backup_does_not_wait_for_its_end(
    tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = threading.Event()

    def endless(_transaction: Transaction, _tenant: str, _left: list[str]) -> Iterator[RowFile]:
        for number in range(EVER):
            yield RowFile(f"trash/{number}.md", 4, 1, b"text")
            begun.set()

    monkeypatch.setattr(row_vault, "files_of", endless)
    async with vault_of(tenant) as kept:
        with anyio.fail_after(postgres.PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(partial(kept.back_up, "a test", pause=0.001))
                await anyio.to_thread.run_sync(begun.wait, postgres.PATIENCE)
                tasks.cancel_scope.cancel()
        assert await kept.backups() == []
    assert seen(tenant, "backup_parts")["backup_parts"] == []


async def test_no_other_memory_has_any_part_of_it(tenant: str) -> None:
    async with vault_of(tenant) as own, vault_of(f"{tenant} other") as other:
        backup = await own.back_up("a test")
        assert await other.backups() == []
        assert await other.holding("mem_", {"0" * 64}) == []
        for verb in (other.verify, other.effect, lambda backup_id: other.restore(backup_id, JournalRecord())):
            with pytest.raises(BackupNotFoundError):
                await verb(backup.backup_id)
        assert await own.backups() == [backup]
    async with connected() as database:
        for asked in ("SELECT count(*) FROM holdfast.backups", "SELECT count(*) FROM holdfast.backup_parts"):
            assert await database.run(tenant_key("a third"), lambda tx, asked=asked: tx.ask(asked).fetchone()) == (0,)  # type: ignore[misc]


@pytest.mark.parametrize("verb", ["back_up", "restore"])
async def test_what_is_done_once_is_done_once_though_the_answer_to_its_commit_is_lost(
    tmp_path: Path, tenant: str, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    fill(tmp_path / "home", 4)
    await loaded(tmp_path / "home", tenant)
    lost: list[int] = []
    usual = database_module._transacted

    def losing(begin: Any, work: Callable[[Transaction], Any], connection: Any) -> Any:
        answer = usual(begin, work, connection)
        if answer.__class__.__name__ in {"_Made", "Restored"}:
            lost.append(1)
            if len(lost) % 2:
                raise psycopg.OperationalError("the line is dead")
        return answer

    async with vault_of(tenant) as kept:
        backup = await kept.back_up("a test")
        monkeypatch.setattr(database_module, "_transacted", losing)
        done = await (kept.back_up("again") if verb == "back_up" else kept.restore(backup.backup_id, JournalRecord()))
        assert len(lost) == (2 if verb == "back_up" else 4)
        assert len(await kept.backups()) == 2
        for each in await kept.backups():
            await kept.verify(each.backup_id)
    lines = [record_of(line).op for _, line in seen(tenant, "journal")["journal"]]
    assert lines.count("restore") == (verb == "restore")
    assert done is not None
    assert_whole(postgres.shared().owner, tenant)


async def test_no_row_is_large_and_no_backup_comes_into_memory_as_a_whole(tmp_path: Path, tenant: str) -> None:
    size, pages = 1 << 20, 40
    fill(tmp_path / "home", 4)
    for number in range(pages):
        page = tmp_path / "home" / "now" / f"space-{number}.md"
        page.write_bytes(random.Random(number).randbytes(size))  # noqa: S311 - which nothing makes smaller
    await loaded(tmp_path / "home", tenant)
    async with vault_of(tenant) as kept:
        tracemalloc.start()
        backup = await kept.back_up("a test")
        await kept.verify(backup.backup_id)
        await anyio.to_thread.run_sync(wreck_rows, tenant)
        await kept.restore(backup.backup_id, JournalRecord())
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert backup.file_size > pages * size
    assert peak < pages * size // 2
    largest = "SELECT max(octet_length(data)) FROM holdfast.backup_parts WHERE tenant = %s"
    assert 0 < rows(postgres.shared().owner, largest, tenant)[0][0] <= LARGEST_ROW // 4


async def test_a_backup_of_a_folder_is_restored_in_a_database_and_the_other_way(tmp_path: Path, tenant: str) -> None:
    home, out = tmp_path / "home", tmp_path / "out"
    fill(home, 6)
    async with opened(home) as store:
        first = await store.vault.back_up("a test")
    kept_as = tree(home)
    wreck(home)
    (home / "vault" / "omi_backup_full_20261120_101500_000000_00000000.json").write_text("{}", "utf-8")
    brought: list[Any] = []
    async with connected() as database:
        key = tenant_key(tenant)
        load(
            database, key, Folder(home), {}, lambda _done, _total: None,
            lambda: brought.append(load_backups(database, key, Folder(home))),
        )  # fmt: skip
        assert brought == [(1, ("vault/omi_backup_full_20261120_101500_000000_00000000.json",))]
        async with vault_of(tenant) as kept:
            assert await kept.backups() == [first]
            assert (await kept.effect(first.backup_id)).strange == 1  # a picture among the notes
            await kept.restore(first.backup_id, JournalRecord())
            second = await kept.back_up("a test")
            listed = await kept.backups()
        dump(database, key, out, beside=lambda: brought.append(dump_backups(database, key, Folder(out))))
    assert brought[1:] == [3]
    whole = tree(out)
    assert whole == {path: text for path, text in kept_as.items() if not path.endswith(".png")}
    for name in (f"{first.backup_id}.json", f"{first.backup_id}.tar.gz"):
        assert (out / "vault" / name).read_bytes() == (home / "vault" / name).read_bytes()
    async with opened(out) as store:
        assert await store.vault.backups() == listed
        for backup in listed:
            await store.vault.verify(backup.backup_id)
        wreck(out)
        await store.vault.restore(second.backup_id, JournalRecord())
    assert tree(out) == whole


async def test_a_restore_of_what_is_there_as_it_was_is_not_taken_for_one_that_hangs(
    tmp_path: Path, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database gives up who says nothing for some time, so that a server that hangs holds up nobody."""
    fill(tmp_path / "home", 12)
    await loaded(tmp_path / "home", tenant)
    usual = Exchange.take

    def slow(self: Exchange, path: str, packed: Packed) -> Target | None:
        time.sleep(0.2)  # as much of it does on a slow machine
        return usual(self, path, packed)

    async with vault_of(tenant) as kept:
        backup = await kept.back_up("a test")
        monkeypatch.setattr(Exchange, "take", slow)
        monkeypatch.setattr(database_module, "_STAY_SECONDS", 0.0)
        monkeypatch.setattr(database_module, "_begin", partial(database_module._begin, idle="2s"))
        await kept.restore(backup.backup_id, JournalRecord())
    assert_whole(postgres.shared().owner, tenant)


async def test_a_harmed_archive_is_refused_and_changes_nothing(tmp_path: Path, tenant: str) -> None:
    fill(tmp_path / "home", 4)
    await loaded(tmp_path / "home", tenant)
    harm = {
        "a byte of it": "UPDATE holdfast.backup_parts SET data = set_byte(data, 99, get_byte(data, 99) # 1)"
        " WHERE tenant = %s AND file = 'archive'",
        "its end": "DELETE FROM holdfast.backup_parts WHERE tenant = %s AND file = 'archive'",
        "its manifest": "UPDATE holdfast.backup_parts SET data = set_byte(data, 99, get_byte(data, 99) # 1)"
        " WHERE tenant = %s AND file = 'manifest'",
    }
    for statement in harm.values():
        async with vault_of(tenant) as kept:
            backup = await kept.back_up("a test")
            with psycopg.connect(postgres.shared().owner, autocommit=True) as connection:
                connection.execute(f"{statement} AND backup = '{backup.backup_id}'".encode(), (tenant_key(tenant),))
            before = seen(tenant)
            with pytest.raises(IntegrityError):
                await kept.restore(backup.backup_id, JournalRecord())
            assert seen(tenant) == before


async def test_pages_and_journal_come_back_as_they_were_and_numbers_have_no_gaps(tmp_path: Path, tenant: str) -> None:
    pg = postgres.shared()
    async with server(tmp_path / "one", pg.url, tenant) as one, server(tmp_path / "other", pg.url, tenant) as other:
        await keep(one, "The crane lifts forty tonnes.")
        await one.attend(lambda ports: now_update(ports, CALLER, NowUpdate(current_task="mend the crane")))
        before = seen_texts(tenant)
        backup = await vault(one).back_up("a test")
        await other.attend(lambda ports: now_update(ports, CALLER, NowUpdate(current_task="rest")))
        with psycopg.connect(pg.owner, autocommit=True) as connection:  # as a database that lost its end
            key = (tenant_key(tenant),)
            connection.execute("DELETE FROM holdfast.journal WHERE tenant = %s AND seq > 2", key)
            connection.execute("UPDATE holdfast.tenants SET seq = 2 WHERE tenant = %s", key)
        lost = [record_of(line) for _, line in seen(tenant, "journal")["journal"]]
        for _ in range(2):
            await vault(other).restore(backup.backup_id, JournalRecord())
            assert seen_texts(tenant) == before
            assert_whole(pg.owner, tenant)
        lines = [record_of(line) for _, line in seen(tenant, "journal")["journal"]]
        assert [line.op for line in lines].count("restore") == 2
        assert [line.change for line in lines[:2]] == [line.change for line in lost]
        assert found(await ask(one, "crane")) == ["The crane lifts forty tonnes."]
        await keep(one, "The ferry leaves at noon.")
        assert found(await ask(other, "ferry noon"))[0] == "The ferry leaves at noon."


async def test_backups_are_kept_for_their_time_and_the_newest_for_ever(tenant: str) -> None:
    moment = now()
    async with vault_of(tenant, lambda: moment) as kept:
        first = await kept.back_up("a test")
        moment += timedelta(days=89)
        second = await kept.back_up("a test")
        assert await kept.backups() == [second, first]
        moment += timedelta(days=2)
        third = await kept.back_up("a test")
        assert await kept.backups() == [third, second]
        moment += timedelta(days=400)
        assert await kept.backups() == [third, second]
        fourth = await kept.back_up("a test")
        assert await kept.backups() == [fourth]
    assert {row[0] for row in seen(tenant, "backup_parts")["backup_parts"]} == {fourth.backup_id}
