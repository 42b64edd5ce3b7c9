"""Who answers requests, as a verb sees it that makes several: one memory, or each caller's own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from holdfast.engine.ports import Ports

Answer = TypeVar("Answer")


class Attending(Protocol):
    """See `holdfast.engine.memory.Memory.attend`."""

    async def attend(self, verb: Callable[[Ports], Awaitable[Answer]]) -> Answer: ...
    async def attend_folder(self, verb: Callable[[Ports], Awaitable[Answer]]) -> Answer: ...


async def world(ports: Ports) -> Ports:
    """The world behind a memory: its door, its clock. Whatever is stored asks for it anew, for it may be closed."""
    return ports
