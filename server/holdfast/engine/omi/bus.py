"""The event bus: whoever wants to know in this process is called when something happens, one after the other."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeAlias

import structlog

from holdfast.model.omi import Event
from holdfast.model.times import instant

Callback: TypeAlias = Callable[[Any], object]
EVERYTHING = "*"

log = structlog.get_logger()


def _now() -> datetime:
    return datetime.now(UTC)


class EventBus:
    """Calls subscribers in the thread that publishes, in the order in which they subscribed.

    A subscriber that fails is logged and stops nobody. Used from any thread; callbacks may subscribe and unsubscribe.
    """

    def __init__(self, clock: Callable[[], datetime] = _now) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._subscribers: list[tuple[str, Callback]] = []

    def subscribe(self, what: type[Event] | str, callback: Callback) -> None:
        """Call `callback` with each event of a class, of a type such as `memory.stored`, or with all (`*`)."""
        with self._lock:
            self._subscribers.append((_name(what), callback))

    def unsubscribe(self, what: type[Event] | str, callback: Callback) -> bool:
        """Take one such subscription back; False where there is none."""
        with self._lock:
            try:
                self._subscribers.remove((_name(what), callback))
            except ValueError:
                return False
            return True

    def clear(self) -> None:
        """Forget every subscriber."""
        with self._lock:
            self._subscribers.clear()

    def subscriber_count(self, what: type[Event] | str | None = None) -> int:
        """How many subscriptions there are, of all kinds or exactly of this one."""
        with self._lock:
            return sum(what is None or name == _name(what) for name, _ in self._subscribers)

    def publish(self, event: Event) -> None:
        """Tell everybody who subscribed to its type or to everything; stamps it with the time where it has none."""
        with self._lock:
            wanted = (event.event_type, EVERYTHING)
            callbacks = [callback for name, callback in self._subscribers if name in wanted]
        if callbacks and not event.timestamp:
            event = replace(event, timestamp=instant(self._clock()))
        for callback in callbacks:
            try:
                callback(event)
            except Exception as error:  # noqa: BLE001 - whatever a stranger's function raises
                log.warning("event_subscriber_failed", event_type=event.event_type, error=type(error).__name__)


@functools.cache
def get_event_bus() -> EventBus:
    """The bus that all of this process share, for those who do not hold a memory's own."""
    return EventBus()


def _name(what: type[Event] | str) -> str:
    return what if isinstance(what, str) else what.event_type
