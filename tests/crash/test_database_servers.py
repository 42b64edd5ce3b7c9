"""What servers of one database share beside notes, and what each answers while the database is away.

A dry run's token, a recall that is rated, the turn of jobs and vectors: given by one server, any other goes on with it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from unittest.mock import patch

import anyio
import httpx
import psycopg
import pytest

import postgres
from holdfast.app import build_memory
from holdfast.encode.builtin import BuiltinEncoder
from holdfast.engine.admin.gate import Confirmations
from holdfast.engine.admin.notes import Deleted, WouldDelete, delete_note
from holdfast.engine.agent.feedback import Feedback, MarkOutdated, mark_outdated, submit_feedback
from holdfast.engine.agent.recall import LEAST
from holdfast.engine.omi.integrity import UNLOCKED_LOOKS, integrity_check
from holdfast.engine.omi.now import append_daily
from holdfast.engine.ports import Reading
from holdfast.engine.runtime import Memory
from holdfast.errors import InvalidArgumentError, StorageError
from holdfast.index.projection import Update
from holdfast.model.access import tenant_key
from holdfast.model.records import JournalRecord
from holdfast.settings import load_settings
from holdfast.store.codec import content_hash
from holdfast.store.rows import database, schema
from holdfast.store.stored import Mark
from processes import PATIENCE, environment_in, http, until
from worlds import CALLER, ask, found, keep, show

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not postgres.is_there(), reason=postgres.MISSING)]


@asynccontextmanager
async def servers(
    tmp_path: Path, url: str, tenant: str, count: int = 2, encoder: str = "none"
) -> AsyncIterator[list[Memory]]:
    """So many servers of a memory, each with a disk of its own for what is derived."""
    async with AsyncExitStack() as stack:
        running = []
        for number in range(count):
            home = tmp_path / f"server-{number}"
            given = {"HOLDFAST_HOME": str(home), "HOLDFAST_STORE": url, "HOLDFAST_TENANT": tenant}
            memory = build_memory(load_settings(given | {"HOLDFAST_ENCODER": encoder}))
            await stack.enter_async_context(memory.running())
            running.append(memory)
        yield running


async def test_two_memories_on_one_disk_know_nothing_of_each_other(tmp_path: Path, tenant: str) -> None:
    url = postgres.shared().url
    settings = {"HOLDFAST_HOME": str(tmp_path / "home"), "HOLDFAST_ENCODER": "none"}
    folder = build_memory(load_settings(settings))
    settings |= {"HOLDFAST_STORE": url}
    ours = build_memory(load_settings(settings | {"HOLDFAST_TENANT": f"{tenant} ours"}))
    theirs = build_memory(load_settings(settings | {"HOLDFAST_TENANT": f"{tenant} theirs"}))
    said = {folder: "The diary of Eve.", ours: "The salary of Anna.", theirs: "The crane of Bert."}
    async with folder.running(), ours.running(), theirs.running():
        for memory, text in said.items():
            await keep(memory, text)
        for memory, own in said.items():
            for text in said.values():
                hits = [hit.note.content for hit in (await ask(memory, text)).hits]
                assert (text in hits) == (text == own), text


@pytest.mark.parametrize("gone", ["index*.db*", "*"])
async def test_an_index_that_is_deleted_while_a_server_runs_or_sleeps_changes_no_answer(
    tmp_path: Path, tenant: str, gone: str
) -> None:
    """What `test_index_deleted` proves of a folder: the same notes in the same order, as relevant, from rows alone."""
    url, questions = postgres.shared().url, ("which boat is at berth four?", "capstan", "what rusts?")

    async def answers(memory: Memory) -> list[object]:
        asked = [await ask(memory, question) for question in questions]
        ranked = [[(hit.note.id, hit.ranked.relevance) for hit in answer.hits] for answer in asked]
        return [*ranked, *[await show(memory, note) for note in notes]]

    def delete() -> None:
        parts = [part for part in (tmp_path / "server-0").rglob(gone) if part.is_file() and part.parent.name != "locks"]
        assert any(part.name.startswith("index") for part in parts)
        for part in parts:
            part.unlink()

    async with servers(tmp_path, url, tenant, 1) as (memory,):
        old = (await keep(memory, "The pilot boat is at berth three.")).note.id
        notes = [old, (await keep(memory, "The pilot boat is at berth four.", supersedes=(old,))).note.id]
        for text in ("The capstan jams.", "The winch and the capstan rust in the rain."):
            notes.append((await keep(memory, text, session="talk", links=[(notes[1], "related_to")])).note.id)
        rated = Feedback(notes[-1], -1, event_id=(await ask(memory, "what rusts?")).event_id)
        await memory.attend(lambda ports: submit_feedback(ports, CALLER, rated))
        before = await answers(memory)
        assert all(before)
        delete()
        assert await answers(memory) == before
    delete()
    async with servers(tmp_path, url, tenant, 1) as (memory,):
        assert await answers(memory) == before


async def test_of_two_processes_on_one_disk_neither_writes_an_older_version_over_a_newer_one(
    tmp_path: Path, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first reads a note and stands still; meanwhile the second changes it and has that in its index."""
    given = {"HOLDFAST_HOME": str(tmp_path), "HOLDFAST_STORE": postgres.shared().url, "HOLDFAST_ENCODER": "none"}
    slow, quick = (build_memory(load_settings(given | {"HOLDFAST_TENANT": tenant})) for _ in range(2))
    async with servers(tmp_path, postgres.shared().url, tenant, 1) as (other,), slow.running(), quick.running():
        await ask(slow, "capstan")
        await ask(quick, "capstan")
        note = (await keep(other, "The capstan jams.")).note.id
        read, go_on, wrote, catch_up = (anyio.Event() for _ in range(4))
        apply = slow.ports.index.apply

        async def stand_still(update: Update) -> None:
            if update.notes:
                read.set()
                await (catch_up if wrote.is_set() else go_on).wait()
            await apply(update)
            if update.notes:
                wrote.set()

        monkeypatch.setattr(slow.ports.index, "apply", stand_still)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, slow, "capstan")
            await read.wait()
            await quick.attend(lambda ports: mark_outdated(ports, CALLER, MarkOutdated(note, "it was oiled")))
            go_on.set()
            await wrote.wait()
            meanwhile = await show(quick, note)
            catch_up.set()
        assert meanwhile.note.outdated_reason == "it was oiled"
        assert (await show(slow, note)).note.outdated_reason == "it was oiled"


async def test_a_process_takes_over_the_index_of_one_that_ended_and_clears_away_what_nobody_has(
    tmp_path: Path, tenant: str
) -> None:
    given = {"HOLDFAST_HOME": str(tmp_path), "HOLDFAST_STORE": postgres.shared().url, "HOLDFAST_ENCODER": "none"}

    def process() -> Memory:
        return build_memory(load_settings(given | {"HOLDFAST_TENANT": tenant}))

    def indexes() -> list[str]:
        return sorted(path.name for path in tmp_path.rglob("index*.db"))

    first, second = process(), process()
    async with first.running(), second.running():
        await keep(first, "The capstan jams.")
        assert found(await ask(second, "capstan")) == ["The capstan jams."]
    assert indexes() == ["index-2.db", "index.db"]
    again = process()
    async with again.running():
        assert found(await ask(again, "capstan")) == ["The capstan jams."]
        assert indexes() == ["index.db"]


async def test_the_token_of_a_dry_run_is_taken_by_any_server_once(tmp_path: Path, tenant: str) -> None:
    async with servers(tmp_path, postgres.shared().url, tenant, 3) as (one, other, third):
        notes = [(await keep(one, f"Bollard {number} is loose.")).note.id for number in range(2)]

        async def delete(memory: Memory, note: str, confirm: str | None) -> WouldDelete | Deleted:
            own = Confirmations()  # as another process has its own
            return await memory.attend(lambda ports: delete_note(ports, CALLER, own, note, confirm))

        asked = await delete(one, notes[0], None)
        assert isinstance(asked, WouldDelete)
        with pytest.raises(InvalidArgumentError, match="not a token"):
            await delete(other, notes[1], asked.confirm)  # given for another note; and so it is used up
        asked = await delete(one, notes[0], None)
        assert isinstance(asked, WouldDelete)
        assert isinstance(await delete(other, notes[0], asked.confirm), Deleted)
        again = await delete(third, notes[1], None)
        assert isinstance(again, WouldDelete)
        assert isinstance(await delete(one, notes[1], again.confirm), Deleted)
    with psycopg.connect(postgres.shared().owner, autocommit=True) as connection:
        left = connection.execute("SELECT 1 FROM holdfast.tokens WHERE tenant = %s", (tenant_key(tenant),)).fetchall()
    assert not left  # each was used up


async def test_an_answer_of_one_server_is_rated_through_another(tmp_path: Path, tenant: str) -> None:
    async with servers(tmp_path, postgres.shared().url, tenant) as (one, other):
        note = (await keep(one, "The sluice opens at half tide.")).note.id
        answer = await ask(one, "when does the sluice open")
        rated = await other.attend(
            lambda ports: submit_feedback(ports, CALLER, Feedback(note, 1, event_id=answer.event_id))
        )
        assert rated.recorded
        assert rated.affinity is not None
        assert rated.affinity > 0
        await ask(one, "when does the sluice open")
        latest = await one.attend(lambda ports: submit_feedback(ports, CALLER, Feedback(note, -1)))
        assert latest.affinity is not None  # without an id it is the last recall, whichever server gave it


async def test_who_lost_the_turn_of_jobs_to_another_server_writes_nothing_more(tmp_path: Path, tenant: str) -> None:
    pg = postgres.shared()
    async with servers(tmp_path, pg.url, tenant) as (one, other):
        await keep(one, "The dredger comes on Monday.")
        first, second = one.ports.upkeep, other.ports.upkeep
        assert first is not None
        assert second is not None
        async with first.turn() as mine:
            assert mine
            await one.ports.store.record(JournalRecord("job", source="the first"))
            async with second.turn() as busy:
                assert not busy
            with psycopg.connect(pg.owner, autocommit=True) as connection:  # as if it had stood still for long
                connection.execute(
                    "UPDATE holdfast.leases SET until = now() - interval '1 second' WHERE tenant = %s",
                    (tenant_key(tenant),),
                )
            async with second.turn() as now_theirs:
                assert now_theirs
                with pytest.raises(StorageError, match="taken over the jobs"):
                    await _as_first(one, first)
                await other.ports.store.record(JournalRecord("job", source="the second"))
        async with second.turn() as again:
            assert again
    with psycopg.connect(pg.owner, autocommit=True) as connection:
        told = connection.execute(
            "SELECT convert_from(line, 'utf8') FROM holdfast.journal WHERE tenant = %s AND op = 'job'",
            (tenant_key(tenant),),
        ).fetchall()
    assert [("the first" in line, "the second" in line) for (line,) in told] == [(True, False), (False, True)]


async def _as_first(memory: Memory, upkeep: object) -> None:
    """What the first holder writes now: in this task the turn under way is that of the second."""
    from holdfast.store.rows.upkeep import LEASE, Lease  # noqa: PLC0415 - only here

    token = LEASE.set(Lease("jobs", upkeep._holder, 1))  # type: ignore[attr-defined]
    try:
        await memory.ports.store.record(JournalRecord("job", source="the first, too late"))
    finally:
        LEASE.reset(token)


async def test_that_maintenance_is_worthwhile_is_said_once_a_day_by_one_of_all_servers(
    tmp_path: Path, tenant: str
) -> None:
    async with servers(tmp_path, postgres.shared().url, tenant, 3) as running:
        for number in range(LEAST):
            await keep(running[0], f"Buoy {number} carries a green light.")
        said = [" ".join((await ask(memory, "green light")).notices) for memory in running * 2]
        assert [text.count("Maintenance is worthwhile") for text in said] == [1, 0, 0, 0, 0, 0]
        fleet = running[1].ports.fleet
        assert fleet is not None
        told = fleet.reminders
        assert not await told.tell_today("maintenance", running[1].ports.now[:10])
        assert await told.tell_today("maintenance", "9999-12-30")
        assert not await told.tell_today("maintenance", "9999-12-29")  # a server whose clock is behind


async def test_what_one_server_encoded_no_other_encodes(tmp_path: Path, tenant: str) -> None:
    pg = postgres.shared()
    encoded: list[str] = []
    encode = BuiltinEncoder.encode_documents

    async def noting(self: BuiltinEncoder, texts: Sequence[str]) -> list[list[bytes]]:
        encoded.extend(texts)
        return await encode(self, texts)

    with patch.object(BuiltinEncoder, "encode_documents", noting):
        async with servers(tmp_path / "first", pg.url, tenant, 1, "builtin") as (one,):
            notes = [(await keep(one, f"Buoy {number} carries a green light.")).note.id for number in range(5)]
            await one.catch_up()
            assert len({text for text in encoded if "Buoy" in text}) == 5
        encoded.clear()
        async with servers(tmp_path / "second", pg.url, tenant, 1, "builtin") as (other,):
            await ask(other, "which light does the buoy carry")
            await other.catch_up()
            assert await other.ports.index.count_pending(_set_of(other)) == 0
            key = _set_of(other)
            assert set(await other.ports.index.read(lambda view: view.first_vectors(key, notes))) == set(notes)
    assert not [text for text in encoded if "Buoy" in text]
    with psycopg.connect(pg.owner, autocommit=True) as connection:
        statement = "SELECT count(DISTINCT content) FROM holdfast.encodings WHERE tenant = %s"
        [(count,)] = connection.execute(statement, (tenant_key(tenant),)).fetchall()
    assert count >= 5


def _set_of(memory: Memory) -> str:
    assert memory.ports.encoder is not None
    return memory.ports.encoder.vector_set.key


async def test_reads_go_on_while_the_database_is_away_and_say_so(
    tmp_path: Path, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "HURRIED_SECONDS", 0.5)
    with postgres.postgres() as pg, patch.object(database.Database.__init__, "__defaults__", (10, 1.0)):
        async with servers(tmp_path, pg.url, tenant) as (one, other):
            note = (await keep(one, "The pilot boat lies in the basin.")).note.id
            assert found(await ask(other, "pilot boat"))
            pg.kill()
            for memory in (one, other):
                answer = await ask(memory, "pilot boat")
                assert found(answer) == ["The pilot boat lies in the basin."]
                assert "cannot be reached since" in " ".join(answer.notices)
                assert (await show(memory, note)).note.id == note
                with pytest.raises(StorageError, match="cannot be reached"):
                    await keep(memory, "This is not stored.")
            pg.start()
            await keep(one, "The pilot boat was painted.")
            answer = await ask(other, "pilot boat painted")  # at the first question behind the return
            assert "The pilot boat was painted." in found(answer)
            assert "cannot be reached" not in " ".join(answer.notices)


async def test_who_writes_all_the_time_keeps_no_other_server_from_answering_and_writing(
    tmp_path: Path, tenant: str
) -> None:
    """Whenever one server looks for news there is another line by the time that it has taken them in."""
    async with servers(tmp_path, postgres.shared().url, tenant) as (busy, other):
        await keep(busy, "The pilot boat lies in the basin.")
        assert found(await ask(other, "pilot boat"))
        store, looks = other.ports.store, 0
        look = store.journal_since

        async def looked_at_by_a_crowd(known: str, most: int) -> Sequence[Reading] | None:
            nonlocal looks
            looks += 1
            await keep(busy, f"Ship {looks} came in.")
            return await look(known, most)

        with patch.object(store, "journal_since", looked_at_by_a_crowd), anyio.fail_after(PATIENCE):
            assert "The pilot boat lies in the basin." in found(await ask(other, "pilot boat"))
            note = (await keep(other, "The tug was painted.")).note.id
            assert (await show(other, note)).note.content == "The tug was painted."
        assert 2 <= looks <= 20


@pytest.mark.parametrize("former", range(1, schema.VERSION))
async def test_servers_of_a_schema_before_go_on_beside_newer_ones(
    tmp_path: Path, tenant: str, monkeypatch: pytest.MonkeyPatch, former: int
) -> None:
    """An upgrade without downtime: the tables are migrated first, then one server after the other is exchanged."""
    pg = postgres.shared()
    name = f"older_{tenant_key(tenant)}"
    owner, url = (address.replace("/postgres", f"/{name}") for address in (pg.owner, pg.url))
    with psycopg.connect(pg.owner, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    with monkeypatch.context() as before, psycopg.connect(owner, autocommit=True) as connection:
        before.setattr(schema, "STEPS", schema.STEPS[:former])
        before.setattr(schema, "VERSION", former)
        tables = (schema._FIRST_TABLES, schema._SECOND_TABLES, schema._THIRD_TABLES)
        before.setattr(schema, "TABLES", sum(tables[:former], ()))
        assert schema.migrate(connection, postgres.ROLE) == (0, former)
    async with servers(tmp_path / "early", url, tenant, 1) as (early,):
        with pytest.raises(StorageError, match="holdfast store migrate"):
            await keep(early, "This comes before the tables.")
    with psycopg.connect(owner, autocommit=True) as connection:
        assert schema.migrate(connection) == (
            former,
            schema.VERSION,
        )  # roles that had rights have them on new ones too
    with monkeypatch.context() as before:
        before.setattr(schema, "VERSION", former)
        with psycopg.connect(url, autocommit=True) as connection:
            schema.check_schema(connection)
    async with servers(tmp_path, url, tenant) as (one, other):
        await keep(one, "The tables are new.")
        assert found(await ask(other, "tables")) == ["The tables are new."]
        assert one.ports.vault is not None
        assert other.ports.vault is not None
        made = await one.ports.vault.back_up("a test")
        assert await other.ports.vault.verify(made.backup_id) == made


async def test_tables_of_a_newer_schema_are_worked_with_where_that_says_so_and_left_alone(
    tmp_path: Path, tenant: str
) -> None:
    """The other half of an upgrade without downtime: these servers are those that are exchanged next time."""
    pg, name = postgres.shared(), f"newer_{tenant_key(tenant)}"
    owner, url = (address.replace("/postgres", f"/{name}") for address in (pg.owner, pg.url))
    with psycopg.connect(pg.owner, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    with psycopg.connect(owner, autocommit=True) as connection:
        schema.migrate(connection, postgres.ROLE)
        async with servers(tmp_path, url, tenant) as (one, other):
            await keep(one, "The tables are of today.")
            newer = schema.VERSION + 1
            connection.execute("UPDATE holdfast.meta SET version = %s, compatible_from = %s", (newer, schema.VERSION))
            for table in schema.TABLES:
                connection.execute(f"ALTER TABLE holdfast.{table} ADD COLUMN later text".encode())
            connection.execute("CREATE TABLE holdfast.later (tenant text PRIMARY KEY)")
            note = (await keep(other, "The tables are of tomorrow.")).note.id
            await one.attend(lambda ports: mark_outdated(ports, CALLER, MarkOutdated(note, "it is today")))
            assert (await show(other, note)).note.outdated_reason == "it is today"
            assert schema.migrate(connection) == (newer, newer)
        async with servers(tmp_path / "started later", url, tenant, 1) as (again,):
            assert found(await ask(again, "tables of today")) == ["The tables are of today."]


def test_a_server_over_http_is_ready_while_the_database_is_there_and_alive_without_it(tmp_path: Path) -> None:
    with postgres.postgres() as pg:
        given = {"HOLDFAST_STORE": pg.url, "HOLDFAST_TENANT": str(tmp_path), "HOLDFAST_STATELESS": "true"}
        with http(environment_in(tmp_path) | given) as (_, port):

            def says(path: str) -> int:
                answer = httpx.get(f"http://127.0.0.1:{port}{path}", trust_env=False, timeout=PATIENCE)
                return answer.status_code

            until(lambda: says("/ready") == 200)
            pg.kill()
            until(lambda: says("/ready") == 503)
            assert says("/health") == 200
            pg.start()
            until(lambda: says("/ready") == 200)


async def test_a_page_that_another_server_writes_between_two_looks_is_no_foreign_change(
    tmp_path: Path, tenant: str
) -> None:
    async with servers(tmp_path, postgres.shared().url, tenant) as (ours, other):
        store = ours.ports.store
        marks_of, looks = store.page_marks, 0

        async def marks_behind_another(paths: Iterable[str]) -> dict[str, Mark]:
            nonlocal looks
            looks += 1
            await other.attend(lambda ports: append_daily(ports, CALLER, f"entry {looks}"))
            return await marks_of(paths)

        await other.attend(lambda ports: append_daily(ports, CALLER, "the first"))
        with patch.object(store, "page_marks", marks_behind_another):
            assert (await ours.attend(integrity_check)).problems == ()
        assert looks > UNLOCKED_LOOKS + 1
        [day] = pages_kept(tenant)
        rewrite(tenant, day, b"Not by any tool.")
        assert [told.where for told in (await ours.attend(integrity_check)).problems] == [day]


def pages_kept(tenant: str) -> list[str]:
    with psycopg.connect(postgres.shared().owner) as connection:
        asked = "SELECT path FROM holdfast.pages WHERE tenant = %s"
        return [path for (path,) in connection.execute(asked, (tenant_key(tenant),)).fetchall()]


def rewrite(tenant: str, path: str, data: bytes) -> None:
    """As somebody who writes into the table."""
    with psycopg.connect(postgres.shared().owner) as connection:
        connection.execute(
            "UPDATE holdfast.pages SET data = %s, hash = %s WHERE tenant = %s AND path = %s",
            (data, content_hash(data), tenant_key(tenant), path),
        )
