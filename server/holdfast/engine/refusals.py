"""Texts that a provider does not take: put aside for a while, so that they hold up no other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from holdfast.index.sets import PendingVector

AGAIN_SECONDS = 600.0  # then it is tried once more: the provider may have other limits by now
MOST = 10_000


class Refusals:
    """Which notes were refused lately, by the hash of what was to be encoded: a text that is changed is another."""

    def __init__(self) -> None:
        self._until: dict[tuple[str, str], float] = {}

    def __len__(self) -> int:
        return len(self._until)

    def add(self, items: Iterable[PendingVector], now: float) -> None:
        """Put these aside; `now` is in seconds of the event loop."""
        if len(self._until) >= MOST:
            self._until.clear()
        self._until |= {(item.id, item.encode_hash): now + AGAIN_SECONDS for item in items}

    def without(self, waiting: Sequence[PendingVector], now: float) -> list[PendingVector]:
        """What of this queue may be tried now."""
        self._until = {key: until for key, until in self._until.items() if until > now}
        return [item for item in waiting if (item.id, item.encode_hash) not in self._until]
