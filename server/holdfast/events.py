"""The events under the name that OMI's reference gives them."""

from holdfast.model.lifecycle import (
    BeliefUpdatedEvent,
    ContradictionDetectedEvent,
    MemoryRecalledEvent,
    MemoryStoredEvent,
)

__all__ = ["BeliefUpdatedEvent", "ContradictionDetectedEvent", "MemoryRecalledEvent", "MemoryStoredEvent"]
