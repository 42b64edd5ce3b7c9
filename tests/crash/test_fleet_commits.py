"""Changes of one memory that come at once are one transaction in the database, and each of them ends for itself."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import psycopg
import pytest

import postgres
from holdfast.app import build_memory, new_note_id
from holdfast.engine.commit import commit
from holdfast.engine.runtime import Memory
from holdfast.errors import ConflictError, StorageError
from holdfast.model.access import tenant_key
from holdfast.model.note import Note
from holdfast.model.records import JournalRecord
from holdfast.settings import load_settings
from holdfast.store.rows import commits
from holdfast.store.rows.commits import MOST_TOGETHER
from holdfast.store.rows.database import Database, Transaction
from holdfast.store.rows.notes import RowNotes
from holdfast.store.rows.texts import record_of
from holdfast.store.rows.upkeep import LEASE, Lease
from holdfast.store.stored import Change, Committed, Stored
from worlds import CALLER, ask, found, keep

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not postgres.is_there(), reason=postgres.MISSING)]


@asynccontextmanager
async def server(home: Path, tenant: str) -> AsyncIterator[Memory]:
    given = {"HOLDFAST_HOME": str(home), "HOLDFAST_STORE": postgres.shared().url, "HOLDFAST_TENANT": tenant}
    memory = build_memory(load_settings(given | {"HOLDFAST_ENCODER": "none", "HOLDFAST_JOBS": "false"}))
    async with memory.running():
        yield memory


def store_of(memory: Memory) -> RowNotes:
    store = memory.ports.store
    assert isinstance(store, RowNotes)
    return store


def lines(tenant: str) -> list[JournalRecord]:
    """The journal, whose numbers have no gap and end where the counter is."""
    with psycopg.connect(postgres.shared().owner, autocommit=True) as connection:
        key = (tenant_key(tenant),)
        rows = connection.execute("SELECT seq, line FROM holdfast.journal WHERE tenant = %s ORDER BY seq", key)
        told = rows.fetchall()
        [(last,)] = connection.execute("SELECT seq FROM holdfast.tenants WHERE tenant = %s", key).fetchall()
    assert [seq for seq, _ in told] == list(range(1, last + 1))
    records = [record_of(line) for _, line in told]
    assert [record.seq for record in records] == [seq for seq, _ in told]
    return records


def new_note(memory: Memory, text: str) -> Note:
    return Note(new_note_id(), text, text, memory.ports.now, memory.ports.now)


async def change(memory: Memory, before: Stored | None, after: Note) -> Committed:
    """A change that nobody looked at first: what it rests on is for the database to say."""
    return await commit(memory.ports, CALLER, "remember", [Change(before, after)])


Write = Callable[[], Awaitable[object]]


async def at_once(memory: Memory, writes: Sequence[Write]) -> list[object]:
    """Have all of these wait for the same transaction; what came of each: its value, or its error."""
    store, outcomes = store_of(memory), dict[int, object]()

    async def one(number: int, write: Write) -> None:
        try:
            outcomes[number] = await write()
        except (ConflictError, StorageError) as error:
            outcomes[number] = error

    async with anyio.create_task_group() as tasks:
        await store.followed.lock.acquire()
        for number, write in enumerate(writes):
            tasks.start_soon(one, number, write)
        with anyio.fail_after(postgres.PATIENCE):
            while len(store._commits._waiting) < len(writes):  # noqa: ASYNC110 - each comes in its own time
                await anyio.sleep(0.001)
        store.followed.lock.release()
    return [outcomes[number] for number in range(len(writes))]


@pytest.fixture
def together(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many changes each transaction made."""
    counted: list[int] = []
    write_all = commits._write_all

    def noting(tenant: str, group: Sequence[commits.Wanted], transaction: Transaction) -> list[commits.Outcome]:
        counted.append(len(group))
        return write_all(tenant, group, transaction)

    monkeypatch.setattr(commits, "_write_all", noting)
    return counted


async def test_all_that_wait_are_one_transaction_and_each_is_found_through_another_server(
    tmp_path: Path, together: list[int]
) -> None:
    tenant = str(tmp_path)
    async with server(tmp_path / "one", tenant) as one, server(tmp_path / "other", tenant) as other:
        await keep(one, "The first note opens the index.")
        together.clear()
        texts = [f"Fender {number} is worn." for number in range(20)]
        done = await at_once(one, [lambda text=text: change(one, None, new_note(one, text)) for text in texts])  # type: ignore[misc]
        assert all(isinstance(each, Committed) for each in done)
        assert together == [20]
        for memory in (one, other):
            assert set(texts) <= set(found(await ask(memory, "fender worn", limit=50)))
        more = MOST_TOGETHER + 6
        together.clear()
        told = await at_once(one, [lambda: store_of(one).record(JournalRecord("use"))] * more)
        assert together == [MOST_TOGETHER, 6]
        assert len(set(told)) == more
    assert len(lines(tenant)) >= 20 + more


async def test_one_that_fails_fails_alone(tmp_path: Path) -> None:
    tenant = str(tmp_path)
    too_long = JournalRecord(secrets.token_hex(10_000))  # no key of the database may be so long
    async with server(tmp_path / "one", tenant) as one:
        kept = (await keep(one, "The jetty is closed.")).note.id
        path = (await one.ports.index.notes([kept]))[kept].path
        [stored] = await one.ports.store.load([path], {})
        assert isinstance(stored, Stored)
        await change(one, stored, new_note(one, "Somebody else was first."))

        async def without_the_turn() -> object:
            LEASE.set(Lease("jobs", "nobody", 1))
            return await store_of(one).record(JournalRecord("job"))

        outcomes = await at_once(one, [
            lambda: change(one, None, new_note(one, "The hawser is new.")),
            lambda: change(one, stored, new_note(one, "This comes second.")),
            lambda: store_of(one).record(too_long),
            without_the_turn,
            lambda: change(one, None, new_note(one, "Oil for lamps was bought.")),
        ])  # fmt: skip
        assert [type(each) for each in outcomes] == [Committed, ConflictError, StorageError, StorageError, Committed]
        assert "ProgramLimitExceeded" in str(outcomes[2])
        assert "taken over the jobs" in str(outcomes[3])
        assert found(await ask(one, "hawser")) == ["The hawser is new."]
        assert found(await ask(one, "oil for lamps")) == ["Oil for lamps was bought."]
        assert not found(await ask(one, "comes second"))
    assert not [line for line in lines(tenant) if line.op in (too_long.op, "job")]


async def test_of_two_changes_of_one_note_that_come_at_once_the_second_is_refused(tmp_path: Path) -> None:
    tenant = str(tmp_path)
    async with server(tmp_path / "one", tenant) as one:
        kept = (await keep(one, "The quay is dry.")).note
        path = (await one.ports.index.notes([kept.id]))[kept.id].path
        [stored] = await one.ports.store.load([path], {})
        assert isinstance(stored, Stored)
        outcomes = await at_once(one, [
            lambda: change(one, stored, Note(kept.id, "The quay is wet.", kept.title, kept.created, one.ports.now)),
            lambda: change(one, stored, Note(kept.id, "The quay is gone.", kept.title, kept.created, one.ports.now)),
            lambda: store_of(one).record(JournalRecord("use")),
        ])  # fmt: skip
        assert [type(each) for each in outcomes] == [Committed, ConflictError, int]
        assert found(await ask(one, "quay")) == ["The quay is wet."]
    lines(tenant)


async def test_a_change_that_the_index_could_not_take_in_is_heard_of_and_holds_up_no_other(tmp_path: Path) -> None:
    tenant = str(tmp_path)
    async with server(tmp_path / "one", tenant) as one:
        await keep(one, "The first note opens the index.")

        async def lost() -> object:
            note = new_note(one, "The slipway is lost on the way.")
            async with store_of(one).commit("remember", [Change(None, note)], JournalRecord()):
                raise ConflictError("The index is elsewhere.")

        outcomes = await at_once(one, [lost, lambda: change(one, None, new_note(one, "The slipway is free."))])
        assert isinstance(outcomes[0], StorageError)
        assert "It is stored" in str(outcomes[0])
        assert isinstance(outcomes[1], Committed)
        with anyio.fail_after(postgres.PATIENCE):
            assert set(found(await ask(one, "slipway"))) == {"The slipway is lost on the way.", "The slipway is free."}
    assert len([line for line in lines(tenant) if line.op == "remember"]) >= 3


async def test_who_is_cancelled_while_waiting_leaves_the_others_their_transaction(tmp_path: Path) -> None:
    tenant = str(tmp_path)
    async with server(tmp_path / "one", tenant) as one:
        await keep(one, "The first note opens the index.")
        store, texts = store_of(one), [f"Cleat {number} holds." for number in range(6)]
        scopes = [anyio.CancelScope() for _ in texts]

        async def write(number: int) -> None:
            with scopes[number]:
                await change(one, None, new_note(one, texts[number]))

        with anyio.fail_after(postgres.PATIENCE):
            async with anyio.create_task_group() as tasks:
                await store.followed.lock.acquire()
                for number in range(len(texts)):
                    tasks.start_soon(write, number)
                while len(store._commits._waiting) < len(texts):  # noqa: ASYNC110 - each comes in its own time
                    await anyio.sleep(0.001)
                for number in (0, 3):  # the one that leads, and one that follows it
                    scopes[number].cancel()
                store.followed.lock.release()
            await keep(one, "The trawler goes on.")
        assert set(texts) <= set(found(await ask(one, "cleat holds", limit=50)))  # it was accepted before
    lines(tenant)


@pytest.mark.parametrize("where", ["in line", "at the lock", "in the transaction"])
async def test_who_is_interrupted_by_force_leaves_nobody_waiting(
    tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a loop that ends interrupts its tasks, which no shield keeps out."""
    tenant = str(tmp_path)
    async with server(tmp_path / "one", tenant) as one:
        await keep(one, "The first note opens the index.")
        store, begun, run = store_of(one), asyncio.Event(), Database.run

        async def slow(self: Database, *given: Any, **named: Any) -> Any:
            begun.set()
            await asyncio.sleep(0.05)
            return await run(self, *given, **named)

        monkeypatch.setattr(Database, "run", slow)
        await store.followed.lock.acquire()
        writers = [
            asyncio.create_task(change(one, None, new_note(one, f"Cleat {number} holds."))) for number in range(4)
        ]
        with anyio.fail_after(postgres.PATIENCE):
            while len(store._commits._waiting) < len(writers):  # noqa: ASYNC110 - each comes in its own time
                await asyncio.sleep(0.001)
            if where == "in the transaction":
                store.followed.lock.release()
                await begun.wait()
                writers[0].cancel()
            else:
                writers[0 if where == "at the lock" else 2].cancel()
                await asyncio.sleep(0)
                store.followed.lock.release()
            outcomes = await asyncio.gather(*writers, return_exceptions=True)
            monkeypatch.setattr(Database, "run", run)
            await keep(one, "The trawler goes on.")
        kinds = {"in line": (Committed, 3), "at the lock": (Committed, 3), "in the transaction": (StorageError, 3)}
        kind, count = kinds[where]
        assert [isinstance(each, kind) for each in outcomes].count(True) == count
        assert [isinstance(each, asyncio.CancelledError) for each in outcomes].count(True) == 1
        assert found(await ask(one, "trawler"))
    lines(tenant)
