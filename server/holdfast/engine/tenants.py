"""One memory for each principal: opened when it is asked for, closed when nobody has asked for a while.

A principal is told apart by the server alone, for each request anew. Nothing here takes a name from the request's
arguments, so nothing that a client may say leads into the memory of another.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

import anyio
import structlog
from anyio.abc import TaskGroup

from holdfast.engine.ports import Feed, Ports
from holdfast.engine.runtime import Memory, kept_going, reason_of
from holdfast.errors import ServerBusyError, StorageError

Answer = TypeVar("Answer")
Memories: TypeAlias = "Memory | Tenants"

PATIENCE_SECONDS = 5.0  # of a request for which no memory can be opened at once
LOOKS = 4  # in each span of idleness, for what may be closed

_acting: ContextVar[str | None] = ContextVar("acting", default=None)

log = structlog.get_logger()


@dataclass(slots=True, eq=False)
class _Tenant:
    """A memory that is open. `leases` is how many work with it now; times are those of the event loop, in seconds.

    `used` is when somebody asked last, `heard` when somebody who waits for news was listening last.
    """

    memory: Memory
    leases: int = 0
    used: float = 0.0
    heard: float = 0.0
    leave: anyio.Event = field(default_factory=anyio.Event)
    gone: anyio.Event = field(default_factory=anyio.Event)

    @property
    def is_idle(self) -> bool:
        return not self.leases and not self.leave.is_set()


class Tenants:
    """The memories of all principals, of which a bounded number is open.

    Args:
        build: the memory of a principal, not running yet.
        who: the principal of the request under way. It raises a HoldfastError where there is none.
        most_open: how many memories are open at a time.
        idle_seconds: after which one is closed that nobody uses.
        aclose: lets go of what all share, when all are closed.
        feed: what tells which of the memories have changed, open or not; None where only looking does.
    """

    def __init__(
        self,
        build: Callable[[str], Memory],
        who: Callable[[], str],
        *,
        most_open: int,
        idle_seconds: float,
        aclose: Callable[[], Awaitable[None]],
        feed: Feed | None = None,
    ) -> None:
        self.feed = feed
        self._build = build
        self._who = who
        self._most_open = most_open
        self._idle_seconds = idle_seconds
        self._aclose = aclose
        self._open: dict[str, _Tenant] = {}
        self._tasks: TaskGroup | None = None
        self._moved = anyio.Event()  # somebody left, or a memory was closed
        self._stopping = False
        self._beside: list[Callable[[], Coroutine[Any, Any, None]]] = []
        self._caught_up: Callable[[float], None] | None = None

    @property
    def count(self) -> int:
        """How many memories are open."""
        return len(self._open)

    def beside(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Have this run in the background, once for all memories, as long as these are served; see `Memory.beside`."""
        self._beside.append(work)

    def tell_catching_up(self, observer: Callable[[float], None]) -> None:
        """As `Memory.tell_catching_up`, of each memory that is opened from now on."""
        self._caught_up = observer

    def those_open(self) -> Sequence[Memory]:
        """The memories that are open."""
        return [tenant.memory for tenant in self._open.values()]

    @property
    def principals(self) -> list[str]:
        """Whose memories are open."""
        return list(self._open)

    def let_one_go(self) -> None:
        """Have the memory closed that was used longest ago, if there is one that nobody uses."""
        idle = [tenant for tenant in self._open.values() if tenant.is_idle]
        if idle:
            min(idle, key=lambda tenant: max(tenant.used, tenant.heard)).leave.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Open and close memories until the block ends, then close all."""
        try:
            async with anyio.create_task_group() as self._tasks:
                self._tasks.start_soon(self._close_idle)
                for work in self._beside:
                    self._tasks.start_soon(kept_going, work)
                try:
                    yield
                finally:
                    self._stopping = True
                    self._tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await self._aclose()

    async def stop(self) -> None:
        """Take no more requests, let those under way end, then close."""
        self._stopping = True
        async with anyio.create_task_group() as tasks:
            for tenant in list(self._open.values()):
                tasks.start_soon(tenant.memory.stop)
        await self._aclose()

    async def attend(
        self, verb: Callable[[Ports], Awaitable[Answer]], *, anew: bool = False, past: bool = True
    ) -> Answer:
        """As `Memory.attend`, on the memory of whoever asks.

        Raises:
            ServerBusyError: too many memories are in use.
            HoldfastError: whatever the verb raises.
        """
        async with self.own() as memory:
            return await memory.attend(verb, anew=anew, past=past)

    async def attend_folder(self, verb: Callable[[Ports], Awaitable[Answer]]) -> Answer:
        """As `Memory.attend_folder`, on the memory of whoever asks.

        Raises:
            ServerBusyError: too many memories are in use.
            HoldfastError: whatever the verb raises.
        """
        async with self.own() as memory:
            return await memory.attend_folder(verb)

    @asynccontextmanager
    async def own(self) -> AsyncIterator[Memory]:
        """The memory of whoever asks, for requests of several steps; it stays open until the block ends.

        Raises:
            ServerBusyError: too many others are in use, and stayed so.
            StorageError: the server is stopping.
        """
        async with self.lease(_acting.get() or self._who()) as memory:
            yield memory

    @asynccontextmanager
    async def lease(self, principal: str) -> AsyncIterator[Memory]:
        """A principal's memory, which stays open until the block ends. What is asked inside, this principal asks.

        Raises:
            ServerBusyError: too many others are in use, and stayed so.
            StorageError: the server is stopping.
        """
        tenant = await self._entered(principal)
        acting = _acting.set(principal)
        try:
            yield tenant.memory
        finally:
            _acting.reset(acting)
            tenant.used = anyio.current_time()
            self._left(tenant)

    @asynccontextmanager
    async def glance(self, principal: str) -> AsyncIterator[Memory | None]:
        """As `lease` if it is open; who listens keeps a memory from being closed as idle, not from giving way."""
        tenant = self._open.get(principal)
        if tenant is None or tenant.leave.is_set():
            yield None
            return
        tenant.leases += 1
        acting = _acting.set(principal)
        try:
            yield tenant.memory
        finally:
            _acting.reset(acting)
            tenant.heard = anyio.current_time()
            self._left(tenant)

    def _left(self, tenant: _Tenant) -> None:
        tenant.leases -= 1
        self._move()

    async def _entered(self, principal: str) -> _Tenant:
        """A lease on an open memory, which is opened if need be, in the place of the one that was used longest ago."""
        with anyio.move_on_after(PATIENCE_SECONDS):
            while True:
                if self._stopping or self._tasks is None:
                    raise StorageError("The server is stopping.", "Call again when it is back.")
                tenant = self._open.get(principal)
                if tenant is None and len(self._open) < self._most_open:
                    tenant = self._open[principal] = self._made(principal)
                    self._tasks.start_soon(self._live, principal, tenant)
                if tenant is not None and not tenant.leave.is_set():
                    tenant.leases += 1
                    return tenant
                await self._room(tenant)
        raise ServerBusyError("As many memories as this server may open are in use.", "Call again in a few seconds.")

    def _made(self, principal: str) -> _Tenant:
        memory = self._build(principal)
        if self._caught_up is not None:
            memory.tell_catching_up(self._caught_up)
        return _Tenant(memory)

    async def _room(self, leaving: _Tenant | None) -> None:
        """Wait until it is worth looking again whether a memory can be opened."""
        if leaving is None:
            idle = [tenant for tenant in self._open.values() if tenant.is_idle]
            leaving = min(idle, key=lambda tenant: tenant.used, default=None)
        if leaving is None:
            await self._moved.wait()
        else:
            leaving.leave.set()
            await leaving.gone.wait()

    async def _live(self, principal: str, tenant: _Tenant) -> None:
        """Run a memory until it is to be left. What fails there ends it, and no other; the next request opens it."""
        structlog.contextvars.clear_contextvars()  # it is not part of the request that opened it
        try:
            async with tenant.memory.running():
                await tenant.leave.wait()
        except Exception as error:  # noqa: BLE001 - whatever it is, it ends this memory alone
            log.error("tenant_failed", **reason_of(error))  # noqa: TRY400 - the words of a trace may be a note's
            await tenant.memory.stop()  # who has a lease on it opens nothing any more
        finally:
            tenant.leave.set()
            del self._open[principal]
            tenant.gone.set()
            self._move()

    def _move(self) -> None:
        self._moved.set()
        self._moved = anyio.Event()

    async def _close_idle(self) -> None:
        while True:
            await anyio.sleep(self._idle_seconds / LOOKS)
            since = anyio.current_time() - self._idle_seconds
            for tenant in self._open.values():
                if tenant.is_idle and max(tenant.used, tenant.heard) < since:
                    tenant.leave.set()
