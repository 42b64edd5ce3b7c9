"""A circuit breaker: who failed is left alone for a while, then asked by one caller before by all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

FIRST_REST: Final = 1.0  # seconds; doubled with every failed probe
LONGEST_REST: Final = 30.0
LONGEST_ASKED_REST: Final = 60.0  # what a provider may ask for: its queue is drained within two minutes of its return
TOLERANCE: Final = 2  # quick failures in a row; what cost somebody time opens it at once

State = Literal["closed", "open", "probing"]


class Breaker:
    """Whether a provider is asked at all.

    Every `enter` that returns True is followed by one of `succeed`, `fail` and `leave`.

    Args:
        clock: seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failures = 0
        self._rest = 0.0
        self._until = 0.0
        self._probing = False

    @property
    def state(self) -> State:
        if not self._rest:
            return "closed"
        return "probing" if self._probing else "open"

    @property
    def remaining(self) -> float:
        """Seconds until somebody may ask again."""
        return max(0.0, self._until - self._clock()) if self._rest else 0.0

    def enter(self) -> bool:
        """Whether to ask now. While it is open one caller at a time may, when the rest is over."""
        if not self._rest:
            return True
        if self._probing or self.remaining:
            return False
        self._probing = True
        return True

    def succeed(self) -> None:
        self._failures, self._rest, self._probing = 0, 0.0, False

    def fail(self, *, at_once: bool = False, asked: float | None = None) -> None:
        """Count a failure.

        Args:
            at_once: it took somebody's time, or the provider is gone: do not wait for a second one.
            asked: how many seconds the provider wants to be left alone.
        """
        self._failures += 1
        probed, self._probing = self._probing, False
        if not (probed or at_once or asked is not None or self._failures >= TOLERANCE):
            return
        if probed or not self._rest:  # of many calls that fail together one counts
            self._rest = min(max(FIRST_REST, self._rest * 2), LONGEST_REST)
        wanted = min(asked or 0.0, LONGEST_ASKED_REST)
        self._until = max(self._until, self._clock() + max(self._rest, wanted))

    def leave(self) -> None:
        """Nothing was learnt."""
        self._probing = False
