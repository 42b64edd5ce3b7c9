"""What the user may want to know once, said with an answer."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Protocol

from holdfast.errors import StorageError


class Told(Protocol):
    """Remembers for the whole folder what was said."""

    async def tell_once(self, name: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class Tip:
    """A sentence, and the name under which it is said once in a folder."""

    name: str
    sentence: str


class Tips:
    """Sentences that wait for an answer to be told with."""

    def __init__(self) -> None:
        self._waiting: deque[Tip] = deque()

    def add(self, tip: Tip) -> None:
        self._waiting.append(tip)

    async def take(self, told: Told) -> str:
        """The next sentence, unless it was told before; empty where there is none."""
        while self._waiting:
            tip = self._waiting.popleft()
            try:
                if await told.tell_once(tip.name):
                    return tip.sentence
            except StorageError:
                return ""  # no answer fails for that
        return ""
