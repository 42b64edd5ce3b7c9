"""How long the parts of a request took, for the log at level debug. Times and counts, never text."""

from __future__ import annotations

import time

import structlog

log = structlog.get_logger()


class Stages:
    """A stopwatch for one request."""

    def __init__(self) -> None:
        self._began = self._last = time.perf_counter()
        self._spent: dict[str, float] = {}

    def ended(self, stage: str) -> None:
        """What was done since the last stage ended was this one."""
        now = time.perf_counter()
        self._spent[f"{stage}_ms"] = round((now - self._last) * 1000, 2)
        self._last = now

    def tell(self, event: str, **counts: int) -> None:
        """Log all stages with their times in milliseconds, unless nobody has said yet where logs go."""
        if structlog.is_configured():
            total = round((self._last - self._began) * 1000, 2)
            log.debug(event, **self._spent, total_ms=total, **counts)
