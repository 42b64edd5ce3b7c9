"""Servers of one memory encode what waits once: one at a time for each set, and another where that one dies."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from unittest.mock import patch

import anyio
import anyio.to_thread
import psycopg
import pytest

import postgres
from conftest import Effort
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
from ollama_server import MODEL, Ollama, serving_ollama
from processes import environment_in, stdio, until
from tables import rows, server
from worlds import PATIENCE, keep

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not postgres.is_there(), reason=postgres.MISSING)]

MANY = DRAIN_BATCH + 20
PREFIX = "search_document: "  # that Holdfast puts before a note for this model
HURRY = 20.0  # seconds that a machine may need with which much else goes on
TURN = "SELECT until FROM holdfast.leases WHERE tenant = %s AND name LIKE 'encoding:%%'"
Encode = Callable[[BuiltinEncoder, Sequence[str]], Awaitable[None]]


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


async def test_another_server_goes_on_where_one_is_killed_while_it_encodes_and_encodes_nothing_twice_that_was_shared(
    tmp_path: Path, tenant: str, effort: Effort, tally: Counter[str]
) -> None:
    """Two real servers, SIGKILL, and an Ollama that stands still while the first of them waits for its second batch."""
    if not effort.long:
        pytest.skip("a server waits some ten seconds for the turn of one that died: tried in the long form")
    pg, ollama, stands_still = postgres.shared(), Ollama(), threading.Event()
    homes = [tmp_path / name for name in ("killed", "left")]
    await backlog(tmp_path, pg.url, tenant)

    def buoys() -> Counter[str]:
        return Counter(text for text in ollama.texts if "Buoy" in text)

    def stand_still(text: str, model: str = f"{MODEL}:latest") -> list[float]:
        if "Buoy" in text and len(buoys()) > DRAIN_BATCH:
            stands_still.set()
            ollama.released.wait(PATIENCE)
        return Ollama.vector(ollama, text, model)

    def shared_by_now() -> set[str]:
        found = rows(pg.owner, "SELECT content FROM holdfast.encodings WHERE tenant = %s", tenant)
        return {content for (content,) in found}

    def killed_and_followed() -> tuple[float, set[str]]:
        environments = []
        for home in homes:
            home.mkdir()
            given = {
                "HOLDFAST_STORE": pg.url,
                "HOLDFAST_TENANT": tenant,
                "HOLDFAST_ENCODER": "ollama",
                "HOLDFAST_LOG_LEVEL": "info",
            }
            environments.append(environment_in(home) | given | {"HOLDFAST_ENCODER_URL": f"http://{ollama.host}"})
        with ExitStack() as stack:
            first = stack.enter_context(stdio(environments[0]))
            assert stands_still.wait(PATIENCE)
            second = stack.enter_context(stdio(environments[1]))
            second.begin()
            until(lambda: len(shared_by_now()) >= DRAIN_BATCH)
            until(lambda: "pending" in json.dumps(second.tool("recall", query="which light has a buoy?")))
            [(turn,)] = rows(pg.owner, TURN, tenant)
            until(lambda: rows(pg.owner, TURN, tenant) > [(turn,)])  # prolonged by the one that stands still
            assert max(buoys().values()) == 1 or "encoding_turn_not_asked" in second.stderr
            first.process.kill()
            first.process.wait()
            killed = time.monotonic()
            unheard = {text for text in buoys() if content_of(text.removeprefix(PREFIX)) not in shared_by_now()}
            ollama.released.set()
            until(lambda: len(shared_by_now()) >= MANY)
            took = time.monotonic() - killed
            until(lambda: "pending" not in json.dumps(second.tool("recall", query="which light has a buoy?")))
            return took, unheard

    with serving_ollama(ollama):
        ollama.vector = stand_still  # type: ignore[method-assign]
        took, unheard = await anyio.to_thread.run_sync(killed_and_followed)
    times = buoys()
    assert len(times) == MANY
    assert unheard
    assert times == Counter(times.keys()) + Counter(unheard)  # those on which it died are encoded once more
    tally["kill -9 of a server that encodes"] += 1
    assert took > shared.TURN_SECONDS - shared.PROLONG_SECONDS - 1, "nobody waited for the turn of the one that died"
    assert took < shared.TURN_SECONDS + runtime.ELSEWHERE_SECONDS + HURRY, took


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
