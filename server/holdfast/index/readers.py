"""Connections that read: each request takes a free one, and none waits behind a long reading while another is free."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import TypeVar

import anyio

from holdfast.index.database import Database

Answer = TypeVar("Answer")

PATIENCE_SECONDS = 0.05  # longer than nearly every reading takes
MORE = 6  # connections beyond the usual ones, for when all of these are in long readings


class _Turn:
    """A place in the queue, and the connection that was given to it."""

    __slots__ = ("come", "reader")

    def __init__(self) -> None:
        self.come = anyio.Event()
        self.reader: Database | None = None


class Readers:
    """A few connections on one database; one more is opened while all are busy for longer than a short reading takes.

    Args:
        make: opens a connection.
        usual: how many are opened at first.
        most: how many there are at most.
    """

    def __init__(self, make: Callable[[], Awaitable[Database]], usual: int, most: int) -> None:
        self._make = make
        self._usual = usual
        self._most = most
        self._count = 0
        self._all: list[Database] = []
        self._free: list[Database] = []
        self._waiting: deque[_Turn] = deque()
        self._closed = True

    def __iter__(self) -> Iterator[Database]:
        return iter(self._all)

    async def open(self) -> None:
        self._closed = False
        for _ in range(self._usual):
            await self._add()

    async def aclose(self) -> None:
        """Close all; what runs is waited for, what waits is refused."""
        self._closed = True
        for turn in self._waiting:
            turn.come.set()
        for reader in self._all:
            with suppress(sqlite3.Error):  # a harmed file cannot be put in order, and need not be
                await reader.close()

    async def run(self, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """Run `work` on a connection's thread. Cancelling the caller does not stop it: the connection stays taken."""
        reader = await self._taken()
        loop = asyncio.get_running_loop()

        def whole(connection: sqlite3.Connection) -> Answer:
            try:
                return work(connection)
            finally:
                with suppress(RuntimeError):  # the loop is closed, and nobody waits any more
                    loop.call_soon_threadsafe(self._give, reader)

        return await reader.run(whole)

    async def _taken(self) -> Database:
        if self._closed:
            raise sqlite3.ProgrammingError("the connections were closed")
        if self._free:
            return self._free.pop()
        turn = _Turn()
        self._waiting.append(turn)
        try:
            with anyio.move_on_after(PATIENCE_SECONDS):
                await turn.come.wait()
            if not turn.come.is_set() and self._count < self._most:
                await self._add()
            await turn.come.wait()
        except BaseException:
            self._leave(turn)
            raise
        if turn.reader is None:
            raise sqlite3.ProgrammingError("the connections were closed")
        return turn.reader

    async def _add(self) -> None:
        self._count += 1
        try:
            reader = await self._make()
        except BaseException:
            self._count -= 1
            raise
        if self._closed:  # meanwhile; nobody else would close it
            with anyio.CancelScope(shield=True), suppress(sqlite3.Error):
                await reader.close()
            raise sqlite3.ProgrammingError("the connections were closed")
        self._all.append(reader)
        self._give(reader)

    def _give(self, reader: Database) -> None:
        """A connection is free: for who has waited longest, if anybody has."""
        if self._waiting:
            turn = self._waiting.popleft()
            turn.reader = reader
            turn.come.set()
        else:
            self._free.append(reader)

    def _leave(self, turn: _Turn) -> None:
        if turn.reader is not None:
            self._give(turn.reader)
        elif turn in self._waiting:
            self._waiting.remove(turn)
