"""The event bus under the name that OMI's reference gives it."""

from holdfast.engine.state import EventBus, get_event_bus

__all__ = ["EventBus", "get_event_bus"]
