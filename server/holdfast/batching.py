"""One flush for many: of callers who wait for it, or of items that nobody waits for."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

import anyio

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(slots=True, eq=False)
class _Ticket(Generic[Item, Result]):
    item: Item
    results: list[Result]
    error: BaseException | None = None

    @property
    def settled(self) -> bool:
        return bool(self.results) or self.error is not None


class Batcher(Generic[Item, Result]):
    """Groups concurrent submissions: while one flush runs, the next batch gathers.

    Args:
        flush: takes the waiting items and returns one result for each, in order. What it raises is raised
            to every caller of that batch.
        most: how many items one flush takes at the most.
    """

    def __init__(self, flush: Callable[[Sequence[Item]], Awaitable[Sequence[Result]]], most: int = 256) -> None:
        self._flush = flush
        self._most = most
        self._waiting: deque[_Ticket[Item, Result]] = deque()
        self._turn = anyio.Lock()

    def __len__(self) -> int:
        """How many items wait for the next flush."""
        return len(self._waiting)

    async def submit(self, item: Item) -> Result:
        """Flush `item` together with whatever else waits. Not cancellable once accepted."""
        ticket: _Ticket[Item, Result] = _Ticket(item, [])
        self._waiting.append(ticket)
        with anyio.CancelScope(shield=True):
            async with self._turn:
                while not ticket.settled:
                    await self._flush_waiting()
        if ticket.error is not None:
            raise ticket.error
        return ticket.results[0]

    async def _flush_waiting(self) -> None:
        batch = [self._waiting.popleft() for _ in range(min(self._most, len(self._waiting)))]
        try:
            results = await self._flush([ticket.item for ticket in batch])
        except BaseException as error:  # handed to each caller of the batch, never swallowed
            for ticket in batch:
                ticket.error = error
            if not isinstance(error, Exception):
                raise
            return
        for ticket, result in zip(batch, results, strict=True):
            ticket.results.append(result)


class WriteBehind(Generic[Item]):
    """Items that are written a moment after they came, with all that came meanwhile; nobody waits for the write.

    Args:
        write: takes the items that wait and returns whether it wrote them. Those that it did not write are tried
            again with the next, the latest `most` of them.
        most: how many wait at the most before whoever adds one waits for the write.
        seconds: from an item to its write.
        still_wanted: those of the items that are still to be written; the others are let go of. Unless given, all.
    """

    def __init__(
        self,
        write: Callable[[Sequence[Item]], Awaitable[bool]],
        most: int,
        seconds: float,
        still_wanted: Callable[[list[Item]], list[Item]] = list,
    ) -> None:
        self._write = write
        self._still_wanted = still_wanted
        self._most = most
        self._seconds = seconds
        self._waiting: list[Item] = []
        self._turn = anyio.Lock()
        self._news = anyio.Event()
        self._works = True

    async def add(self, item: Item) -> bool:
        """Take an item, to be written with the next `flush`; returns whether the last one worked."""
        self._waiting.append(item)
        self._news.set()
        if self._works and len(self._waiting) < self._most:
            return True
        return await self.flush()

    async def run(self) -> None:
        """Write what is added soon after it was; until cancelled."""
        while True:
            await self._news.wait()
            await anyio.sleep(self._seconds)
            self._news = anyio.Event()
            await self.flush()

    async def flush(self) -> bool:
        """Write what waits; returns whether that worked."""
        async with self._turn:
            self._waiting = self._still_wanted(self._waiting)
            items = list(self._waiting)
            self._works = not items or await self._write(items)
            del self._waiting[: len(items) if self._works else max(0, len(items) - self._most)]
        return self._works

    @asynccontextmanager
    async def dropped(self) -> AsyncIterator[None]:
        """Let go of what waits; nothing is written while the block runs."""
        async with self._turn:
            self._waiting.clear()
            yield


async def together(*calls: Callable[[], Awaitable[object]]) -> None:
    """Run all of them at once and wait for all; then raise the first error, if there was one."""
    errors: list[Exception] = []

    async def attempt(call: Callable[[], Awaitable[object]]) -> None:
        try:
            await call()
        except Exception as error:  # noqa: BLE001 - raised below, when nothing runs any more
            errors.append(error)

    async with anyio.create_task_group() as tasks:
        for call in calls:
            tasks.start_soon(attempt, call)
    if errors:
        raise errors[0]
