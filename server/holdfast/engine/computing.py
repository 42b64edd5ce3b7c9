"""Computing that may take long is done in threads, shared fairly by those who ask; the event loop goes on meanwhile.

Threads do not make Python faster: while two compute, the loop gets a third of the time. So there are few, and of these
one principal never has all.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from typing import Final, TypeVar

import anyio
import anyio.to_thread

Value = TypeVar("Value")

THREADS: Final = 2  # of all principals together
SHARE: Final = 1  # of one of them
SMALL: Final = 2048  # characters that are dealt with faster than a thread is reached


class Computing:
    """Places for computing. Who waits is served in turn by principal, the calls of one principal in their order."""

    def __init__(self, threads: int = THREADS, share: int = SHARE) -> None:
        self._limiter: anyio.CapacityLimiter | None = None
        self._threads = threads
        self._share = share
        self._running: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[anyio.Event]] = OrderedDict()

    async def run(self, principal: str, size: int, work: Callable[[], Value]) -> Value:
        """What `work` returns; done at once where the text that it looks at has few characters.

        Args:
            principal: who asks.
            size: how many characters are looked at.
            work: touches nothing that others change meanwhile.

        Raises:
            Exception: whatever `work` raises.
        """
        if size <= SMALL:
            return work()
        await self._enter(principal)
        try:
            if self._limiter is None:  # it belongs to an event loop
                self._limiter = anyio.CapacityLimiter(self._threads)
            return await anyio.to_thread.run_sync(work, limiter=self._limiter)
        finally:
            self._leave(principal)

    async def _enter(self, principal: str) -> None:
        if self._is_free(principal) and principal not in self._waiting:
            self._running[principal] += 1
            return
        turn = anyio.Event()
        self._waiting.setdefault(principal, deque()).append(turn)
        came = False
        try:
            await turn.wait()
            came = True
        finally:
            if not came:  # cancelled
                self._give_up(principal, turn)

    def _give_up(self, principal: str, turn: anyio.Event) -> None:
        """Leave the queue, or give the place on that was given in the same moment."""
        if turn.is_set():
            self._leave(principal)
            return
        queue = self._waiting[principal]
        queue.remove(turn)
        if not queue:
            del self._waiting[principal]

    def _leave(self, principal: str) -> None:
        self._running[principal] -= 1
        if not self._running[principal]:
            del self._running[principal]
        for name in list(self._waiting):
            if self._is_free(name):
                self._admit(name)

    def _admit(self, principal: str) -> None:
        """Give the next call of a principal its place; the principal's others wait behind those of everybody else."""
        queue = self._waiting.pop(principal)
        self._running[principal] += 1
        queue.popleft().set()
        if queue:
            self._waiting[principal] = queue

    def _is_free(self, principal: str) -> bool:
        return self._running.total() < self._threads and self._running[principal] < self._share
