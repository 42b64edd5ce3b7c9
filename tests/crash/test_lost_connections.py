"""Connections to the database that died while nobody used them, and a server that stood still in a transaction."""

from __future__ import annotations

import threading
import time

import anyio
import psycopg
import pytest

import postgres
from holdfast.store.rows import database
from holdfast.store.rows.database import CONNECTIONS, Database, Question, Transaction, hurried

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not postgres.is_there(), reason=postgres.MISSING)]

ONE = Question("SELECT 1")


async def filled(url: str) -> Database:
    """A database whose connections are all open and idle."""
    made, met = Database(url), threading.Barrier(CONNECTIONS)

    def work(transaction: Transaction) -> None:
        transaction.ask("SELECT 1").fetchone()
        met.wait(postgres.PATIENCE)

    async with anyio.create_task_group() as tasks:
        for number in range(CONNECTIONS):
            tasks.start_soon(made.run, f"a{number}", work)
    assert made.pool.idle == CONNECTIONS
    return made


@pytest.mark.parametrize("was_away", [False, True])
async def test_a_database_that_was_started_again_is_not_called_away_for_the_connections_that_died(
    was_away: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "HURRIED_SECONDS", postgres.PATIENCE)  # a busy machine is no database that is away
    with postgres.postgres() as pg:
        made = await filled(pg.url)
        pg.kill()
        pg.start()
        if was_away:
            made._is_away()
        with hurried():
            assert await made.read("ab", ONE) == [[(1,)]]
        assert made.away_since is None
        assert made.pool.tries_again == 1  # one dead connection told of all
        assert made.pool.idle == 1
        await made.aclose()


async def test_connections_that_came_back_whole_since_are_kept_when_another_one_is_lost() -> None:
    pg = postgres.shared()
    made = await filled(pg.url)
    reached, go_on = threading.Event(), threading.Event()
    tries: list[int] = []

    def work(transaction: Transaction) -> object:
        found = transaction.ask("SELECT pg_backend_pid()").fetchone()
        assert found is not None
        tries.append(found[0])
        if len(tries) == 1:
            reached.set()
            go_on.wait(postgres.PATIENCE)
        return transaction.ask("SELECT 2").fetchone()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(made.run, "ab", work)
        await anyio.to_thread.run_sync(reached.wait, postgres.PATIENCE)
        assert await made.read("ab", ONE) == [[(1,)]]
        with psycopg.connect(pg.owner, autocommit=True) as owner:
            owner.execute("SELECT pg_terminate_backend(%s, 60000)", tries)
        go_on.set()
    assert len(tries) == 2
    assert made.pool.idle == 1  # the one that answered meanwhile, which then did the work again
    await made.aclose()


async def test_a_transaction_that_the_database_ended_because_its_server_stood_still_is_made_again() -> None:
    """The error is one of the database's own: whether a pipeline tells it, or a lost line, is a matter of chance."""
    pg = postgres.shared()
    made = Database(pg.url)
    tries: list[int] = []

    def work(transaction: Transaction) -> object:
        tries.append(len(tries))
        if len(tries) == 1:
            _stand_still(pg.url, pg.owner)
        return transaction.ask("SELECT 2").fetchone()

    assert await made.run("ab", work) == (2,)
    assert len(tries) == 2
    await made.aclose()


def _stand_still(url: str, owner: str) -> None:
    """Do nothing in a transaction until the database has ended it, then go on."""
    with psycopg.connect(owner, autocommit=True) as watching, psycopg.connect(url, autocommit=True) as connection:
        connection.execute("BEGIN")
        connection.execute("SET LOCAL idle_in_transaction_session_timeout = '50ms'")
        until = time.monotonic() + postgres.PATIENCE
        statement = "SELECT 1 FROM pg_stat_activity WHERE pid = %s"
        while watching.execute(statement, (connection.info.backend_pid,)).fetchone() is not None:
            assert time.monotonic() < until, "the database did not end the transaction"
            time.sleep(0.05)
        with pytest.raises(psycopg.errors.IdleInTransactionSessionTimeout) as raised:
            connection.execute("SELECT 1")
        raise raised.value
