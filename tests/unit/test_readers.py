"""Who reads the index waits for no long reading while there is, or could be, a connection that is free."""

from __future__ import annotations

import functools
import itertools
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import anyio
import pytest

from holdfast.index import database, note_index
from holdfast.index.database import MORE, Database, connect
from holdfast.index.note_index import IndexLostError, NoteIndex
from holdfast.index.projection import Update
from holdfast.index.view import IndexView
from indexes import row

pytestmark = pytest.mark.anyio

NEVER = 20.0  # seconds
CONNECTIONS = 2


class Reading:
    """A reading that lasts until it is let go."""

    def __init__(self) -> None:
        self._begun, self._end = threading.Event(), threading.Event()

    def __call__(self, _: IndexView) -> None:
        self._begun.set()
        self._end.wait(NEVER)

    async def begun(self) -> None:
        waited = functools.partial(self._begun.wait, NEVER)
        assert await anyio.to_thread.run_sync(waited), "it has not begun"

    def let_go(self) -> None:
        self._end.set()


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[NoteIndex]:
    index = NoteIndex(tmp_path / "index.db", readers=CONNECTIONS)
    await index.open()
    await index.mark_built()
    await index.apply(Update(notes=[row(1, "one")]))
    yield index
    await index.aclose()


@asynccontextmanager
async def long_readings(index: NoteIndex, count: int) -> AsyncIterator[list[Reading]]:
    readings = [Reading() for _ in range(count)]
    try:
        async with anyio.create_task_group() as tasks:
            for reading in readings:
                tasks.start_soon(index.read, reading)
                await reading.begun()
            yield readings
            for reading in readings:
                reading.let_go()
    finally:
        for reading in readings:
            reading.let_go()


def delete(folder: Path) -> None:
    for file in folder.glob("index.db*"):
        file.unlink()


class Clock:
    """Time that passes only while somebody reads; a short real while each, so that those who wait look at it."""

    def __init__(self) -> None:
        self._now = 0.0

    def monotonic(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        time.sleep(0.005)
        self._now += seconds


async def short_readings(index: NoteIndex, count: int) -> None:
    with anyio.fail_after(NEVER / 2):
        async with anyio.create_task_group() as tasks:
            for _ in range(count):
                tasks.start_soon(index.read, IndexView.count_notes)


@pytest.mark.parametrize("count", [1, CONNECTIONS, CONNECTIONS + MORE - 1])
async def test_short_readings_wait_for_no_long_one(index: NoteIndex, count: int) -> None:
    async with long_readings(index, count):
        await short_readings(index, 8)


async def test_a_connection_whose_caller_went_away_is_taken_until_its_reading_ends(index: NoteIndex) -> None:
    left = Reading()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(index.read, left)
        await left.begun()
        tasks.cancel_scope.cancel()
    await short_readings(index, 8)
    left.let_go()


async def test_many_short_readings_open_no_further_connection(
    index: NoteIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []

    async def counted(path: Path, **given: bool) -> Database:
        made.append(path)
        return await connect(path, **given)

    monkeypatch.setattr(note_index, "connect", counted)
    with monkeypatch.context() as patched:
        clock = Clock()  # the machine's own may jump: it can stand still for a second
        patched.setattr(database, "time", clock)
        async with anyio.create_task_group() as tasks:
            for _ in range(150):
                tasks.start_soon(index.read, lambda _: clock.sleep(database.PATIENCE_SECONDS / 5))
        assert clock.monotonic() > 20 * database.PATIENCE_SECONDS
    assert made == []
    async with long_readings(index, CONNECTIONS):
        await short_readings(index, 8)
    assert made


async def test_who_gives_up_waiting_costs_nobody_a_connection(index: NoteIndex) -> None:
    async with long_readings(index, CONNECTIONS + MORE) as readings:
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(index.read, IndexView.count_notes)
            await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        readings[0].let_go()
        await short_readings(index, 8)


async def test_who_waits_while_the_index_is_closed_is_told(index: NoteIndex) -> None:
    told: list[str] = []

    async def read() -> None:
        try:
            await index.read(IndexView.count_notes)
        except IndexLostError as error:
            told.append(str(error))

    async with long_readings(index, CONNECTIONS + MORE) as readings, anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await anyio.lowlevel.checkpoint()
        tasks.start_soon(index.aclose)
        with anyio.fail_after(NEVER / 2):
            while not told:  # noqa: ASYNC110 - it is told by an exception
                await anyio.sleep(0.01)
        for reading in readings:
            reading.let_go()


async def test_a_connection_that_is_opened_while_the_index_is_closed_is_closed_too(
    index: NoteIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, opened, made = anyio.Event(), anyio.Event(), list[Database]()

    async def slow(path: Path, **given: bool) -> Database:
        asked.set()
        await opened.wait()
        made.append(await connect(path, **given))
        return made[0]

    monkeypatch.setattr(note_index, "connect", slow)

    async def read() -> None:
        with pytest.raises(IndexLostError):
            await index.read(IndexView.count_notes)

    async with long_readings(index, CONNECTIONS) as readings, anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await asked.wait()
        for reading in readings:
            reading.let_go()
        await index.aclose()
        opened.set()
    with pytest.raises(sqlite3.ProgrammingError):
        await made[0].run(lambda connection: connection.execute("SELECT 1"))


async def test_a_connection_that_is_added_reads_no_index_that_another_process_is_making(
    index: NoteIndex, tmp_path: Path
) -> None:
    """The old one was deleted, and what was acknowledged is not in the new one yet: nothing would be found."""
    answers: list[int] = []
    async with AsyncExitStack() as stack, long_readings(index, CONNECTIONS):
        delete(tmp_path)
        other = NoteIndex(tmp_path / "index.db")
        stack.push_async_callback(other.aclose)
        await other.open()
        with suppress(IndexLostError):
            answers.append(await index.read(IndexView.count_notes))
    assert answers == []


async def test_a_connection_that_is_added_makes_no_file(index: NoteIndex, tmp_path: Path) -> None:
    answers: list[int] = []
    async with long_readings(index, CONNECTIONS):
        delete(tmp_path)
        with suppress(IndexLostError):
            answers.append(await index.read(IndexView.count_notes))
    assert answers == []
    assert not (tmp_path / "index.db").exists()


async def test_an_index_that_is_exchanged_while_it_is_opened_is_told_as_lost(
    index: NoteIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await index.aclose()
    count = itertools.count()

    async def connect_late(path: Path, **given: bool) -> Database:
        if next(count) == 1:  # the writing one is open
            delete(tmp_path)
            await (await connect(path, **given)).close()
        return await connect(path, **given)

    with monkeypatch.context() as patched:
        patched.setattr(note_index, "connect", connect_late)
        with pytest.raises(IndexLostError):
            await index.open()
    assert not await index.open()
    await index.mark_built()
    assert await index.read(IndexView.count_notes) == 0


async def test_as_many_readings_as_ever_end_each_with_its_own_answer(index: NoteIndex) -> None:
    answers: list[int] = []

    async def read(work: Callable[[IndexView], int]) -> None:
        answers.append(await index.read(work))

    async with anyio.create_task_group() as tasks:
        for number in range(200):
            tasks.start_soon(read, lambda _, number=number: number)
    assert sorted(answers) == list(range(200))


def test_a_connection_that_cannot_be_opened_has_ended_when_that_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raised: list[object] = []
    monkeypatch.setattr(threading, "excepthook", raised.append)

    async def fail() -> None:
        with pytest.raises(sqlite3.OperationalError):
            await connect(tmp_path / "no folder" / "index.db")

    before = set(threading.enumerate())  # other tests may have left some that wait for good
    for _ in range(20):
        anyio.run(fail)
    for thread in set(threading.enumerate()) - before:
        if "connection_worker" in thread.name:
            thread.join(NEVER)
            assert not thread.is_alive()
    assert not raised
