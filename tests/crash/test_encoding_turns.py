"""Servers of one memory encode what waits once: one at a time for each set, and another where that one dies."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from unittest.mock import patch

import anyio
import psycopg
import pytest

import postgres
from holdfast.app import build_memory
from holdfast.encode.builtin import BuiltinEncoder
from holdfast.encode.provider import content_of
from holdfast.engine import runtime
from holdfast.engine.encoding import DRAIN_BATCH, drain
from holdfast.engine.runtime import Memory
from holdfast.model.access import tenant_key
from holdfast.settings import load_settings
from holdfast.store.rows import shared
from holdfast.store.rows.database import Database
from holdfast.store.rows.shared import RowVectors
from holdfast.store.rows.upkeep import take_lease
from tables import rows, server
from worlds import PATIENCE, keep

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not postgres.is_there(), reason=postgres.MISSING)]

MANY = DRAIN_BATCH + 20
Encode = Callable[[BuiltinEncoder, Sequence[str]], Awaitable[None]]


@pytest.fixture
def tenant(tmp_path: Path) -> str:
    return str(tmp_path)


async def backlog(tmp_path: Path, url: str, tenant: str) -> None:
    """Notes that nobody has encoded."""
    async with server(tmp_path / "without", url, tenant) as memory, anyio.create_task_group() as tasks:
        for number in range(MANY):
            tasks.start_soon(keep, memory, f"Buoy {number} carries a green light.")


@asynccontextmanager
async def encoding_servers(
    tmp_path: Path, url: str, tenant: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[list[Memory]]:
    """So many servers, which know all notes and encode when the test has them do so."""
    monkeypatch.setattr(runtime, "START_SECONDS", 1e6)
    async with AsyncExitStack() as stack:
        running = []
        for number in range(count):
            given = {"HOLDFAST_HOME": str(tmp_path / f"server-{number}"), "HOLDFAST_STORE": url}
            memory = build_memory(load_settings(given | {"HOLDFAST_TENANT": tenant, "HOLDFAST_ENCODER": "builtin"}))
            await stack.enter_async_context(memory.running())
            await memory._reconciler.fresh()
            running.append(memory)
        yield running


@contextmanager
def encoding(told: Encode) -> Iterator[None]:
    encode = BuiltinEncoder.encode_documents

    async def telling(self: BuiltinEncoder, texts: Sequence[str]) -> list[list[bytes]]:
        await told(self, texts)
        return await encode(self, texts)

    with patch.object(BuiltinEncoder, "encode_documents", telling):
        yield


def set_of(memory: Memory) -> str:
    assert memory.ports.encoder is not None
    return memory.ports.encoder.vector_set.key


async def is_encoded(memory: Memory) -> bool:
    return await memory.ports.index.count_pending(set_of(memory)) == 0


async def encoded_by(*memories: Memory) -> None:
    with anyio.fail_after(PATIENCE):
        while not all([await is_encoded(each) for each in memories]):
            for each in memories:
                await drain(each.ports)


async def test_what_waits_is_encoded_once_though_two_servers_find_it_at_the_same_time(
    tmp_path: Path, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, times = postgres.shared().url, Counter[str]()
    await backlog(tmp_path, url, tenant)
    async with encoding_servers(tmp_path, url, tenant, 2, monkeypatch) as (one, other):
        busy = False

        async def let_the_other_try(_encoder: BuiltinEncoder, texts: Sequence[str]) -> None:
            nonlocal busy
            times.update(text for text in texts if "Buoy" in text)
            if not busy:
                busy = True
                await drain(other.ports)
                busy = False

        with encoding(let_the_other_try):
            while await drain(one.ports):
                pass
        assert len(times) == MANY
        assert set(times.values()) == {1}
        await encoded_by(other)
        assert set(times.values()) == {1}
        assert await other.ports.index.read(lambda view: len(view.first_vectors(set_of(other), _notes(tenant)))) == MANY


def _notes(tenant: str) -> list[str]:
    asked = "SELECT note FROM holdfast.notes WHERE tenant = %s AND note <> 'mem_0000000000000000'"
    return [note for (note,) in rows(postgres.shared().owner, asked, tenant)]


async def test_where_the_server_that_encodes_dies_another_goes_on_within_ten_seconds(
    tmp_path: Path, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pg = postgres.shared()
    await backlog(tmp_path, pg.url, tenant)
    async with encoding_servers(tmp_path, pg.url, tenant, 1, monkeypatch) as (memory,):
        await dead(pg.url, tenant, set_of(memory))
        assert await drain(memory.ports) == 0
        assert not rows(pg.owner, "SELECT 1 FROM holdfast.encodings WHERE tenant = %s", tenant)
        assert memory.ports.fleet is not None
        assert memory.ports.fleet.vectors.elsewhere
        with psycopg.connect(pg.owner, autocommit=True) as connection:  # so much later
            connection.execute("UPDATE holdfast.leases SET until = now() WHERE tenant = %s", (tenant_key(tenant),))
        await encoded_by(memory)
        assert not memory.ports.fleet.vectors.elsewhere
    assert shared.TURN_SECONDS + runtime.ELSEWHERE_SECONDS <= 11  # after which it is taken over, and looked whether


async def dead(url: str, tenant: str, vector_set: str) -> None:
    """A server takes its turn for a set, and is not heard of again."""
    database, name = Database(url), f"{shared.ENCODING}:{vector_set}"
    lease = await database.run(tenant_key(tenant), lambda tx: take_lease(tenant_key(tenant), name, "dead", 3600, tx))
    assert lease is not None
    await database.aclose()


async def test_a_turn_lasts_as_long_as_its_holder_encodes_and_is_free_at_once_behind_it(
    tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "PROLONG_SECONDS", 0.05)
    pg, key = postgres.shared(), tenant_key(tenant)
    databases = [Database(pg.url), Database(pg.url)]
    one, other = (RowVectors(each, key) for each in databases)
    asked = "SELECT until FROM holdfast.leases WHERE tenant = %s"
    async with one.turn("a set") as mine:
        assert mine
        first = rows(pg.owner, asked, tenant)
        with anyio.fail_after(PATIENCE):
            while rows(pg.owner, asked, tenant) <= first:  # noqa: ASYNC110 - the database tells nobody
                await anyio.sleep(0.01)
        async with other.turn("a set") as theirs, other.turn("another set") as of_another:
            assert (theirs, of_another) == (False, True)
    async with other.turn("a set") as theirs:
        assert theirs
    with pytest.raises(ValueError, match="it failed"):
        async with other.turn("a set"):
            raise ValueError("it failed")
    async with one.turn("a set") as mine:
        assert mine
    for each in databases:
        await each.aclose()


async def test_what_a_server_makes_whose_turn_another_has_taken_over_is_not_shared(tenant: str) -> None:
    """As one that stood still, while the set was taken away because its model had made it wrongly."""
    pg, key = postgres.shared(), tenant_key(tenant)
    databases = [Database(pg.url), Database(pg.url)]
    one, other = (RowVectors(each, key) for each in databases)
    contents = [content_of(text) for text in ("wrong", "wrong as well", "right")]
    async with one.turn("a set"):
        await one.keep("a set", {contents[0]: [b"0000"]})
        assert await other.made("a set", contents) == {contents[0]}
        await other.drop("a set")
        await one.keep("a set", {contents[1]: [b"0000"]})
        async with other.turn("a set") as theirs:
            assert theirs
            await other.keep("a set", {contents[2]: [b"0000"]})
        await one.keep("a set", {contents[1]: [b"0000"]})
    assert await other.made("a set", contents) == {contents[2]}
    for each in databases:
        await each.aclose()


async def test_a_note_behind_much_that_waits_has_its_vector_on_other_servers_at_once(
    tmp_path: Path, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pg = postgres.shared()
    await backlog(tmp_path, pg.url, tenant)
    async with encoding_servers(tmp_path, pg.url, tenant, 2, monkeypatch) as (one, other):
        await dead(pg.url, tenant, set_of(one))  # whoever encodes what waits has its hands full
        note = (await keep(one, "The lock keeper has a parrot.")).note.id
        await other._reconciler.fresh()
        assert await drain(other.ports) == 1
        assert list(await other.ports.index.read(lambda view: view.first_vectors(set_of(other), [note]))) == [note]


async def test_while_the_database_is_away_a_server_encodes_what_it_knows_by_itself(
    tmp_path: Path, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with postgres.postgres() as pg:
        await backlog(tmp_path, pg.url, tenant)
        async with encoding_servers(tmp_path, pg.url, tenant, 1, monkeypatch) as (memory,):
            pg.kill()
            await encoded_by(memory)
            pg.start()
            with psycopg.connect(pg.owner, autocommit=True) as connection:
                assert connection.execute("SELECT count(*) FROM holdfast.encodings").fetchone() == (0,)
