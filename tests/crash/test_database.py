"""A memory in PostgreSQL under two servers at once, lost connections, kill -9 of the database and of servers.

What was acknowledged is there once, is found at once through any other server, and no statement reaches another tenant.
"""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import psycopg
import pytest

import postgres
import sent
from conftest import Effort
from holdfast.engine.agent.feedback import MarkOutdated, mark_outdated
from holdfast.engine.runtime import Memory
from holdfast.errors import StorageError
from holdfast.index.note_index import IndexLostError, NoteIndex
from holdfast.model.access import tenant_key
from holdfast.store.rows.database import Database, Question
from holdfast.store.rows.texts import record_of
from network import CuttingProxy, before
from processes import environment_in, own_port, stdio
from tables import assert_whole, rows, server, texts_in
from unpacked import unpack
from worlds import CALLER, ask, found, keep, purged

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not postgres.is_there(), reason=postgres.MISSING)]


@asynccontextmanager
async def two_servers(tmp_path: Path, url: str, tenant: str) -> AsyncIterator[tuple[Memory, Memory]]:
    async with server(tmp_path / "one", url, tenant) as one, server(tmp_path / "other", url, tenant) as other:
        yield one, other


async def test_what_one_server_acknowledges_is_found_at_once_through_the_other(tmp_path: Path, tenant: str) -> None:
    pg = postgres.shared()
    async with two_servers(tmp_path, pg.url, tenant) as (one, other):
        for number in range(6):
            writer, reader = (one, other) if number % 2 else (other, one)
            text = f"The capstan number {number} turns to the left."
            await keep(writer, text)
            assert text in found(await ask(reader, f"capstan number {number}"))
    assert_whole(pg.owner, tenant)


async def test_the_same_text_sent_to_two_servers_at_once_is_one_note(tmp_path: Path, tenant: str) -> None:
    pg = postgres.shared()
    async with two_servers(tmp_path, pg.url, tenant) as both:
        for number in range(5):
            async with anyio.create_task_group() as tasks:
                for memory in both:
                    tasks.start_soon(keep, memory, f"Winch {number} was greased.")
    assert texts_in(pg.owner, tenant) == Counter({f"Winch {number} was greased.": 1 for number in range(5)})
    assert_whole(pg.owner, tenant)


async def test_many_writers_on_two_servers_lose_nothing_and_write_nothing_twice(
    tmp_path: Path, tenant: str, effort: Effort, tally: Counter[str]
) -> None:
    pg, each = postgres.shared(), effort.of(4, 60)

    async def write(memory: Memory, name: str) -> None:
        for number in range(each):
            await keep(memory, f"Writer {name} noted item {number}.", session="the same session")

    async with two_servers(tmp_path, pg.url, tenant) as both, anyio.create_task_group() as tasks:
        for number, memory in enumerate(both * 4):
            tasks.start_soon(write, memory, f"w{number}")
    wanted = {f"Writer w{number} noted item {item}." for number in range(8) for item in range(each)}
    assert texts_in(pg.owner, tenant) == Counter(dict.fromkeys(wanted, 1))
    assert_whole(pg.owner, tenant)
    tally["stores through two servers of one database"] += len(wanted)


async def test_of_two_servers_that_retire_one_note_neither_undoes_the_other(tmp_path: Path, tenant: str) -> None:
    pg = postgres.shared()
    async with two_servers(tmp_path, pg.url, tenant) as both:
        notes = [(await keep(both[0], f"Berth {number} is free.")).note.id for number in range(4)]

        async def retire(memory: Memory, note: str, reason: str) -> None:
            await memory.attend(lambda ports: mark_outdated(ports, CALLER, MarkOutdated(note, reason)))

        for note in notes:
            async with anyio.create_task_group() as tasks:
                for memory, reason in zip(both, ("sold", "sunk"), strict=True):
                    tasks.start_soon(retire, memory, note, reason)
    lines = rows(pg.owner, "SELECT line FROM holdfast.journal WHERE tenant = %s ORDER BY seq", tenant)
    last: dict[str, str | None] = {}
    for record in (record_of(line) for (line,) in lines):
        for file in record.files:
            assert last.get(file.path) == file.before, "a change was made on a text that was not the last"
            last[file.path] = file.after
    assert_whole(pg.owner, tenant)


async def test_a_line_that_is_cut_at_commit_neither_loses_nor_doubles_a_change(
    tmp_path: Path, tenant: str, effort: Effort, tally: Counter[str]
) -> None:
    pg = postgres.shared()
    with before(pg, CuttingProxy) as (proxy, url):
        async with server(tmp_path / "one", url, tenant) as memory:
            await keep(memory, "The first note finds the line whole.")
            cuts = effort.of(8, 200)
            for number in range(cuts):
                proxy.cuts.append("before" if number % 2 else "behind")
                await keep(memory, f"Line {number} was cut.")
    wanted = {f"Line {number} was cut." for number in range(cuts)} | {"The first note finds the line whole."}
    assert texts_in(pg.owner, tenant) == Counter(dict.fromkeys(wanted, 1))
    assert_whole(pg.owner, tenant)
    assert proxy.done == cuts
    tally["lines cut at COMMIT"] += proxy.done


async def test_a_line_that_is_cut_under_many_writers_neither_loses_nor_doubles_any_of_their_changes(
    tmp_path: Path, tenant: str, effort: Effort, tally: Counter[str]
) -> None:
    pg, writers, each = postgres.shared(), 8, effort.of(2, 40)
    with before(pg, CuttingProxy) as (proxy, url):

        async def write(memory: Memory, name: int) -> None:
            for number in range(each):
                proxy.cuts.append("before" if (name + number) % 2 else "behind")
                await keep(memory, f"Writer {name} met cut {number}.")

        async with server(tmp_path / "one", url, tenant) as memory:
            await keep(memory, "The first note finds the line whole.")
            async with anyio.create_task_group() as tasks:
                for name in range(writers):
                    tasks.start_soon(write, memory, name)
    wanted = {f"Writer {name} met cut {number}." for name in range(writers) for number in range(each)}
    assert texts_in(pg.owner, tenant) == Counter(dict.fromkeys(wanted | {"The first note finds the line whole."}, 1))
    assert_whole(pg.owner, tenant)
    assert proxy.done >= each
    tally["lines cut at COMMIT"] += proxy.done


async def test_a_database_that_is_killed_and_comes_back_has_all_that_was_acknowledged(
    tmp_path: Path, tenant: str, effort: Effort, tally: Counter[str]
) -> None:
    with postgres.postgres() as pg:
        async with two_servers(tmp_path, pg.url, tenant) as both:
            acknowledged: set[str] = set()
            over = False

            async def write(memory: Memory, name: str) -> None:
                number = 0
                while not over:
                    number += 1
                    text = f"Writer {name} noted item {number}."
                    await keep(memory, text)
                    acknowledged.add(text)

            async def grow(by: int) -> None:
                wanted = len(acknowledged) + by
                with anyio.fail_after(postgres.PATIENCE):
                    while len(acknowledged) < wanted:  # noqa: ASYNC110 - two writers tell it
                        await anyio.sleep(0.01)

            async with anyio.create_task_group() as tasks:
                for name, memory in zip("ab", both, strict=True):
                    tasks.start_soon(write, memory, name)
                for _ in range(effort.of(2, 40)):
                    await grow(4)
                    await anyio.to_thread.run_sync(pg.kill)
                    await anyio.to_thread.run_sync(pg.start)
                    tally["kill -9 of PostgreSQL"] += 1
                await grow(4)
                over = True
        there = texts_in(pg.owner, tenant)
        assert set(there) >= acknowledged
        assert max(there.values()) == 1
        assert_whole(pg.owner, tenant)


def test_a_server_that_is_killed_in_the_middle_loses_nothing_that_it_said(
    tmp_path: Path, tenant: str, effort: Effort, tally: Counter[str]
) -> None:
    pg = postgres.shared()
    environment = environment_in(tmp_path) | {"HOLDFAST_STORE": pg.url, "HOLDFAST_TENANT": tenant}
    said: set[str] = set()
    for run in range(effort.of(2, 50)):
        with stdio(environment) as client:
            client.begin()
            texts = {
                client.send("tools/call", name="remember", arguments={"content": f"Run {run} stored item {number}."}):
                f"Run {run} stored item {number}." for number in range(12)
            }  # fmt: skip
            for _ in range(3 + run % 5):
                answer = client.read()
                while answer.get("id") not in texts:
                    answer = client.read()
                assert not answer["result"].get("isError"), answer
                said.add(texts[answer["id"]])
            client.process.kill()
            client.process.wait()
        tally["kill -9 of a server with a database"] += 1
    there = texts_in(pg.owner, tenant)
    assert set(there) >= said
    assert max(there.values()) == 1
    assert_whole(pg.owner, tenant)


async def test_whether_there_is_news_is_one_message_to_the_database_and_one_back(tmp_path: Path, tenant: str) -> None:
    with postgres.postgres(*sent.LOGGED) as pg:
        async with server(tmp_path / "one", pg.url, tenant) as one, server(tmp_path / "two", pg.url, tenant) as two:
            await keep(two, "The pilot boat is moored at berth four.")
            assert found(await ask(one, "pilot boat"))
            before = _log(pg)
            for _ in range(3):
                await one._reconciler.fresh()
            asked = [line for line in _log(pg)[len(before) :] if "holdfast" in line]
            assert len(asked) == 3, asked
            assert all("SET LOCAL holdfast.tenant" in line and "SELECT seq, tag" in line for line in asked)
            await keep(two, "The pilot boat is moored at berth nine.")
            assert "The pilot boat is moored at berth nine." in found(await ask(one, "pilot boat"))
            with psycopg.connect(pg.owner, autocommit=True) as connection:
                connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", (
                    postgres.ROLE,
                ))  # fmt: skip
            await keep(two, "The pilot boat is moored at berth twelve.")
            answer = await ask(one, "pilot boat twelve")
            assert "The pilot boat is moored at berth twelve." in found(answer)
            assert not [notice for notice in answer.notices if "cannot be reached" in notice]


def _log(pg: postgres.Postgres) -> list[str]:
    return (pg.folder / "log").read_text("utf-8").splitlines()


async def test_a_glance_sees_rows_of_its_own_tenant_alone(tmp_path: Path, tenant: str) -> None:
    pg = postgres.shared()
    async with server(tmp_path / "one", pg.url, tenant) as memory:
        await keep(memory, "The sluice opens at six.")
    key, other, database = tenant_key(tenant), tenant_key("somebody else"), Database(pg.url)
    asked = Question("SELECT path, seq FROM holdfast.notes WHERE tenant = %s AND path <> %s", (key, "it's \\ none"))
    whole = Question("SELECT path, seq FROM holdfast.notes WHERE tenant = %s OR true", (key,))
    assert await database.read(key, asked)  # and there is an idle connection now
    here = await database._glanced({key: asked})
    assert here == [(path, str(seq)) for path, seq in (await database.read(key, asked))[0]]
    assert await database._glanced({key: whole}) == here
    assert await database._glanced({other: asked}) == await database._glanced({other: whole}) == []
    assert await database._glanced({key: Question("SELECT nothing FROM holdfast.notes")}) is None
    with pytest.raises(StorageError, match="UndefinedColumn"):
        await database.glance(key, Question("SELECT nothing FROM holdfast.notes"))
    await database.aclose()


async def test_without_a_tenant_nothing_is_seen_and_nothing_can_be_written(tmp_path: Path, tenant: str) -> None:
    pg = postgres.shared()
    async with server(tmp_path / "one", pg.url, tenant) as memory:
        await keep(memory, "The sluice opens at six.")
    with psycopg.connect(pg.url, autocommit=True) as connection:
        assert connection.execute("SELECT count(*) FROM holdfast.notes").fetchone() == (0,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("INSERT INTO holdfast.tenants (tenant) VALUES ('somebody')")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("ALTER TABLE holdfast.notes DISABLE ROW LEVEL SECURITY")


async def test_a_role_above_row_level_security_is_refused(tmp_path: Path, tenant: str) -> None:
    async with server(tmp_path / "one", postgres.shared().owner, tenant) as memory:
        with pytest.raises(StorageError, match="row-level security"):
            await keep(memory, "Nobody reads this.")


async def test_a_database_without_tables_or_with_newer_ones_is_refused_with_what_to_do(
    tmp_path: Path, tenant: str
) -> None:
    pg = postgres.shared()
    with psycopg.connect(pg.owner, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE empty_{tenant_key(tenant)}".encode())
    empty = f"/empty_{tenant_key(tenant)}"
    async with server(tmp_path / "one", pg.url.replace("/postgres", empty), tenant) as memory:
        with pytest.raises(StorageError, match="holdfast store init"):
            await keep(memory, "Nobody reads this.")
    with psycopg.connect(pg.owner.replace("/postgres", empty), autocommit=True) as connection:
        postgres.schema.migrate(connection, postgres.ROLE)
        connection.execute("UPDATE holdfast.meta SET version = 99, compatible_from = 98")
        with pytest.raises(StorageError, match="newer Holdfast"):
            postgres.schema.migrate(connection)
    async with server(tmp_path / "two", pg.url.replace("/postgres", empty), tenant) as memory:
        with pytest.raises(StorageError, match="newer Holdfast"):
            await keep(memory, "Nobody reads this.")


async def test_an_address_that_leads_nowhere_is_told_without_its_password(tmp_path: Path) -> None:
    with own_port() as port:
        database = Database(f"postgresql://pilot:hush@127.0.0.1:{port}/none", patience=0.2)
        with pytest.raises(StorageError) as told:
            await database.run("0", lambda _: None)
    assert "hush" not in str(told.value)
    assert "pilot" not in str(told.value)


def code_of_schema_1(folder: Path) -> Path:
    """The last state of this project's history that knew schema 1 alone, unpacked."""
    schema = "server/holdfast/store/rows/schema.py"
    git = ("git", "-C", str(Path(__file__).parents[2]))
    asked = [*git, "log", "--format=%H", "-S_SECOND_TABLES", "--", schema]
    told = subprocess.run(asked, check=False, capture_output=True, text=True)
    first = f"{(told.stdout.split() or ['none'])[-1]}^"
    packed = subprocess.run([*git, "archive", first, "server"], check=False, capture_output=True)
    if packed.returncode == 0:
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
            unpack(archive, folder)
    if not (folder / schema).is_file():
        pytest.skip(
            "NO HISTORY TO BE HAD: the release before is not tried beside this one; a clone with all commits has it"
        )
    return folder / "server"


def test_the_code_before_schema_2_and_this_one_work_side_by_side_on_one_database(
    tmp_path: Path, tenant: str, effort: Effort
) -> None:
    """As in an upgrade without downtime: tables that are migrated, servers of which some are exchanged."""
    pg, said = postgres.shared(), set[str]()
    own = {"HOLDFAST_STORE": pg.url, "HOLDFAST_TENANT": tenant}
    older = own | {"PYTHONPATH": str(code_of_schema_1(tmp_path / "older"))}
    homes = tmp_path / "one", tmp_path / "other"
    for home in homes:
        home.mkdir()
    with stdio(environment_in(homes[0]) | older) as before, stdio(environment_in(homes[1]) | own) as now:
        before.begin()
        now.begin()
        for number in range(effort.of(4, 100)):
            for writer, reader, name in ((before, now, "earlier"), (now, before, "later")):
                text = f"Bollard {number} was painted by the {name} hand."
                answer = writer.tool("remember", content=text)
                assert not answer.get("isError"), answer
                said.add(text)
                heard = reader.tool("recall", query=text)
                assert text in json.dumps(heard), heard
    assert texts_in(pg.owner, tenant) == Counter(said)
    assert_whole(pg.owner, tenant)


async def test_a_user_whom_the_database_does_not_let_in_is_told_so_at_once() -> None:
    refused = ("nobody:hush@{there}/postgres", "owner:hush@{there}/elsewhere", "locked:wrong@{there}/postgres",
               "locked@{there}/postgres?passfile=/dev/null", "shut:hush@{there}/postgres")  # fmt: skip
    with postgres.postgres() as pg, own_port() as none:
        rules = "host all locked 127.0.0.1/32 scram-sha-256\nhost all shut 127.0.0.1/32 reject\n"
        (pg.folder / "data" / "pg_hba.conf").write_text(f"{rules}host all all 127.0.0.1/32 trust\n")
        with psycopg.connect(pg.owner, autocommit=True) as connection:
            connection.execute("CREATE ROLE locked LOGIN PASSWORD 'right'")
            connection.execute("SELECT pg_reload_conf()")
        there = f"127.0.0.1:{pg.port}"
        for address in refused:
            database = Database(f"postgresql://{address.format(there=there)}")
            with pytest.raises(StorageError, match="refuses the user of HOLDFAST_STORE") as told:
                await database.run("0", lambda _: None)
            assert database.pool.tries_again == 0
            assert database.away_since is None
            assert not any(word in str(told.value) for word in ("hush", "wrong", "locked", "nobody", "elsewhere"))
        hosts = f"locked:wrong@127.0.0.1:{pg.port},127.0.0.1:{none}"
        with pytest.raises(StorageError, match="cannot be reached"):  # the other one may be there later
            await Database(f"postgresql://{hosts}/postgres", patience=0.2).run("0", lambda _: None)


async def test_a_purge_through_one_server_leaves_nothing_in_the_other(tmp_path: Path, tenant: str) -> None:
    pg = postgres.shared()
    async with two_servers(tmp_path, pg.url, tenant) as (one, other):
        note = await keep(one, "The password of the lighthouse is xylophone.")
        assert found(await ask(other, "password of the lighthouse"))
        await purged(one, note.note.id)
        assert not found(await ask(other, "password of the lighthouse"))
    for column in ("data FROM holdfast.notes", "data FROM holdfast.texts", "data FROM holdfast.trash",
                   "line FROM holdfast.journal"):  # fmt: skip
        told = rows(pg.owner, f"SELECT {column} WHERE tenant = %s", tenant)
        assert not [data for (data,) in told if b"xylophone" in bytes(data)], column
    assert not _files_with(tmp_path, b"xylophone")


def _files_with(folder: Path, word: bytes) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and word in path.read_bytes()]


async def test_a_database_that_was_put_back_makes_every_index_anew(tmp_path: Path, tenant: str) -> None:
    """As after a failover that lost its end: lines that the index knows are gone, and others have their numbers."""
    pg = postgres.shared()
    async with two_servers(tmp_path, pg.url, tenant) as (one, other):
        await keep(one, "The old lock keeper is Aagot.")
        lost = await keep(one, "The new lock keeper is Bergljot.")
        assert found(await ask(other, "lock keeper"))
        with psycopg.connect(pg.owner, autocommit=True) as connection:
            key = (tenant_key(tenant),)
            [(last,)] = connection.execute("SELECT max(seq) FROM holdfast.journal WHERE tenant = %s", key).fetchall()
            connection.execute("DELETE FROM holdfast.notes WHERE tenant = %s AND note = %s", (*key, lost.note.id))
            connection.execute("DELETE FROM holdfast.journal WHERE tenant = %s AND seq = %s", (*key, last))
            connection.execute("UPDATE holdfast.tenants SET seq = seq - 1 WHERE tenant = %s", key)
        assert "Bergljot" not in " ".join(found(await ask(other, "Bergljot lock keeper")))
        await keep(one, "The third lock keeper is Cecilie.")
        answer = found(await ask(other, "lock keeper"))
        assert any("Cecilie" in text for text in answer)
        assert not any("Bergljot" in text for text in answer)


async def test_a_change_is_not_made_twice_where_the_index_is_lost_behind_its_commit(
    tmp_path: Path, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pg = postgres.shared()

    async def lost(*_: object) -> None:
        raise IndexLostError("deleted meanwhile")

    async with server(tmp_path / "one", pg.url, tenant) as memory:
        note = (await keep(memory, "The mole is closed in winter.")).note.id
        with monkeypatch.context() as patch:
            patch.setattr(NoteIndex, "apply", lost)
            with pytest.raises(StorageError, match="It is stored, and the index"):
                await memory.attend(lambda ports: mark_outdated(ports, CALLER, MarkOutdated(note, "it opened")))
        assert not found(await ask(memory, "mole winter"))
    lines = rows(pg.owner, "SELECT line FROM holdfast.journal WHERE tenant = %s ORDER BY seq", tenant)
    assert [record_of(line).op for (line,) in lines].count("mark_outdated") == 1
    assert_whole(pg.owner, tenant)
