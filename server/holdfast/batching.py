"""One flush for everybody who waits: many callers, one trip to the disk."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
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
