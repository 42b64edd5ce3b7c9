"""A primary that dies under load and gives way to its standby; a network that is cut between a server and its database.

Nothing that was acknowledged is lost or doubled, reads go on and say so, and writes are refused in words.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from anyio.abc import TaskGroup

import postgres
from conftest import Effort
from forked import run
from holdfast.engine.runtime import Memory
from holdfast.errors import StorageError
from holdfast.store.rows import database, schema
from network import Forwarder, before
from processes import HOLDFAST, environment_in
from tables import assert_whole, server, texts_in
from worlds import ask, found, keep

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not postgres.is_there(), reason=postgres.MISSING)]
PATIENCE = 120.0  # for what waits for the database twice


class Load:
    """Writers that repeat what was refused, and what was acknowledged to them."""

    def __init__(self, tasks: TaskGroup) -> None:
        self.acknowledged: list[str] = []
        self.refused: list[str] = []
        self.over = False
        self._tasks = tasks

    def begin(self, memory: Memory, name: str) -> None:
        self._tasks.start_soon(self._write, memory, name)

    async def _write(self, memory: Memory, name: str) -> None:
        number = 0
        while not self.over:
            number += 1
            await self._store(memory, f"Writer {name} noted item {number}.")
            await anyio.sleep(0.02)

    async def _store(self, memory: Memory, text: str) -> None:
        while True:
            try:
                await keep(memory, text)
            except StorageError as error:
                self.refused.append(str(error))
                await anyio.sleep(0.1)
            else:
                self.acknowledged.append(text)
                return

    async def grow(self, by: int, of: str = "") -> None:
        """Wait until so many more were acknowledged, to writers whose names begin so."""
        wanted = self._count(of) + by
        with anyio.fail_after(PATIENCE):
            while self._count(of) < wanted:  # noqa: ASYNC110 - several writers tell it
                await anyio.sleep(0.01)

    def _count(self, of: str) -> int:
        return sum(text.startswith(f"Writer {of}") for text in self.acknowledged)


def assert_ledger(load: Load, owner: str, tenant: str) -> None:
    """Each text is there once, and what was acknowledged is there."""
    there = texts_in(owner, tenant)
    assert set(there) >= set(load.acknowledged)
    assert max(there.values()) == 1
    assert_whole(owner, tenant)


async def test_a_primary_that_dies_gives_way_to_its_standby_without_loss(
    tmp_path: Path, effort: Effort, tally: Counter[str]
) -> None:
    for number in range(effort.of(1, 10)):
        await _failover(tmp_path / str(number), tally)


async def _failover(folder: Path, tally: Counter[str]) -> None:
    tenant = str(folder)
    with postgres.postgres() as primary, postgres.standby_of(primary) as standby:
        both = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
        url = f"postgresql://{postgres.ROLE}@{both}/postgres?target_session_attrs=read-write"
        async with server(folder / "one", url, tenant) as one, server(folder / "two", url, tenant) as two:
            async with anyio.create_task_group() as tasks:
                load = Load(tasks)
                for name, memory in {"a1": one, "a2": one, "b1": two, "b2": two}.items():
                    load.begin(memory, name)
                await load.grow(10)
                await anyio.to_thread.run_sync(primary.kill)
                began = time.monotonic()
                for memory in (one, two):
                    answer = await ask(memory, "noted item")
                    assert found(answer)
                    assert "cannot be reached since" in " ".join(answer.notices)
                await anyio.to_thread.run_sync(standby.promote)
                for name in ("a1", "a2", "b1", "b2"):
                    await load.grow(1, name)
                lasted = time.monotonic() - began
                await load.grow(10)
                load.over = True
            await is_there(one, load.acknowledged[-1])
        assert_ledger(load, standby.owner, tenant)
    tally["failovers to a streaming standby"] += 1
    tally["seconds of failovers until every writer went on"] += round(lasted)
    tally["notes acknowledged around failovers"] += len(load.acknowledged)


async def test_of_several_hosts_the_one_that_can_be_written_to_is_asked_whatever_their_order(tmp_path: Path) -> None:
    with postgres.postgres() as primary, postgres.standby_of(primary) as standby:
        both = [primary.port, standby.port]
        for number, ports in enumerate((both, both[::-1])):
            hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
            for asked in ("", "?target_session_attrs=any", "?target_session_attrs=primary"):
                url = f"postgresql://{postgres.ROLE}@{hosts}/postgres{asked}"
                with closing(schema.connect(url)) as connection:
                    assert connection.info.port == primary.port
            async with server(tmp_path / str(number), url, str(tmp_path)) as memory:
                await keep(memory, f"Ship {number} came in.")
                assert f"Ship {number} came in." in found(await ask(memory, f"ship {number}"))
        alone = database.Database(standby.url, patience=0.0)
        with pytest.raises(StorageError, match="leads to a standby"):
            await alone.run("0" * 32, lambda transaction: transaction.ask("SELECT 1").fetchone())


@pytest.mark.parametrize("asked", ["standby", "prefer-standby", "read-only"])
def test_an_address_that_asks_for_a_standby_is_refused_in_words(tmp_path: Path, asked: str) -> None:
    url = f"postgresql://pilot:hush@127.0.0.1:1/none?target_session_attrs={asked}"
    for arguments in (("store", "check"), ("stats",), ("--http", "--port", "0"), ()):
        said = run([*HOLDFAST, *arguments], environment_in(tmp_path) | {"HOLDFAST_STORE": url}, 2).stderr.decode()
        assert f"HOLDFAST_STORE asks for a standby: target_session_attrs={asked}" in said
        assert "hush" not in said
        assert "Traceback" not in said


async def is_there(memory: Memory, text: str) -> None:
    """A note is found, by a server that reaches the database."""
    with anyio.fail_after(PATIENCE):
        while True:
            answer = await ask(memory, text)
            if "cannot be reached" not in " ".join(answer.notices):
                assert text in found(answer)
                return
            await anyio.sleep(0.05)


async def test_a_server_that_is_cut_off_reads_on_refuses_writes_and_doubles_nothing(
    tmp_path: Path, effort: Effort, tally: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes on their way are held, and come late. Another server of the same memory goes on meanwhile."""
    if not effort.long:
        monkeypatch.setattr(database.Database.__init__, "__defaults__", (database.CONNECTIONS, 8.0))
        monkeypatch.setattr(schema, "UNANSWERED_SECONDS", 6.0)
    pg, tenant = postgres.shared(), str(tmp_path)
    with before(pg, Forwarder) as (network, far):
        async with server(tmp_path / "far", far, tenant) as cut, server(tmp_path / "near", pg.url, tenant) as near:
            async with anyio.create_task_group() as tasks:
                load = Load(tasks)
                for number in range(database.CONNECTIONS + 2):  # more than it has connections
                    load.begin(cut, f"far{number}")
                load.begin(near, "near")
                for _ in range(effort.of(1, 12)):
                    await _partition(network, load, cut)
                    tally["networks cut between a server and its database"] += 1
                load.over = True
            await is_there(cut, load.acknowledged[-1])
    assert all("cannot be reached" in sentence for sentence in load.refused), set(load.refused)
    assert_ledger(load, pg.owner, tenant)


async def _partition(network: Forwarder, load: Load, cut: Memory) -> None:
    await load.grow(10, "far")
    network.cut()
    refused = len(load.refused)
    for _ in range(3):
        answer = await ask(cut, "noted item")
        assert found(answer)
        assert "cannot be reached since" in " ".join(answer.notices)
    with anyio.fail_after(PATIENCE):
        while len(load.refused) == refused:  # noqa: ASYNC110 - several writers tell it
            await anyio.sleep(0.05)
    await load.grow(3, "near")  # what the one that is cut off holds keeps the other waiting for a few seconds
    network.mend()
    await load.grow(10, "far")
    await is_there(cut, load.acknowledged[-1])


async def test_a_look_that_never_had_its_turn_keeps_nobody_from_looking_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "HURRIED_SECONDS", PATIENCE)
    with before(postgres.shared(), Forwarder) as (network, url):
        reached = database.Database(url, connections=1)
        assert await reached.answers()
        network.cut()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(reached.run, "0" * 32, lambda transaction: transaction.ask("SELECT 1").fetchone())
            with anyio.fail_after(PATIENCE):
                while reached._limit.available_tokens:  # noqa: ASYNC110 - until that has the one connection
                    await anyio.sleep(0.01)
            with monkeypatch.context() as hasty:
                hasty.setattr(database, "HURRIED_SECONDS", 0.5)
                assert not await reached.answers()
            network.mend()
        reached._is_away()  # as where a connection is refused once
        assert await reached.answers()
        assert reached.away_since is None
        await reached.aclose()
