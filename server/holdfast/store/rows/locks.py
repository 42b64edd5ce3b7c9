"""Keys that the tasks of one process take turns with; between processes the commit finds out who came second."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import anyio


@dataclass(slots=True)
class _Lock:
    lock: anyio.Lock = field(default_factory=anyio.Lock)
    wanted: int = 0


@dataclass(frozen=True, slots=True)
class Lease:
    """A turn among all servers. `fence` is another for each holder: what an earlier one still writes is refused."""

    name: str
    holder: str
    fence: int


LEASE: ContextVar[Lease | None] = ContextVar("lease", default=None)  # of the task under way


@dataclass(frozen=True, slots=True)
class Held:
    """What the task under way holds: keys of a store, and the number of the journal up to which its index was then.

    `base` is None where nobody follows the journal.
    """

    store: object
    keys: frozenset[str]
    base: int | None
    lease: Lease | None = None


HELD: ContextVar[Held | None] = ContextVar("held", default=None)


class KeyLocks:
    """Locks by name, there for as long as somebody wants one."""

    def __init__(self) -> None:
        self._locks: dict[str, _Lock] = {}
        self.whole = anyio.Lock()

    @property
    def keys(self) -> frozenset[str]:
        """Those that somebody holds or waits for."""
        return frozenset(self._locks)

    @asynccontextmanager
    async def hold(self, keys: Iterable[str]) -> AsyncIterator[None]:
        """Own these keys among the tasks of this process."""
        owned: list[str] = []
        try:
            for key in sorted(set(keys)):
                await self._take(key)
                owned.append(key)
            yield
        finally:
            for key in owned:
                self._let_go(key)

    @asynccontextmanager
    async def try_hold(self, keys: Iterable[str], patience: float) -> AsyncIterator[frozenset[str]]:
        """Own those of the keys that others let go of in so many seconds; yields what is owned."""
        owned: list[str] = []
        try:
            for key in sorted(set(keys)):
                with anyio.move_on_after(patience):
                    await self._take(key)
                    owned.append(key)
            yield frozenset(owned)
        finally:
            for key in owned:
                self._let_go(key)

    async def _take(self, key: str) -> None:
        entry = self._locks.setdefault(key, _Lock())
        entry.wanted += 1
        try:
            await entry.lock.acquire()
        except BaseException:
            self._forget(key, entry)
            raise

    def _let_go(self, key: str) -> None:
        entry = self._locks[key]
        entry.lock.release()
        self._forget(key, entry)

    def _forget(self, key: str, entry: _Lock) -> None:
        entry.wanted -= 1
        if not entry.wanted:
            del self._locks[key]
