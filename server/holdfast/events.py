"""The events under the name that OMI's reference gives them."""

from holdfast.model.omi import (
    BeliefUpdatedEvent,
    ContradictionDetectedEvent,
    MemoryRecalledEvent,
    MemoryStoredEvent,
)

__all__ = ["BeliefUpdatedEvent", "ContradictionDetectedEvent", "MemoryRecalledEvent", "MemoryStoredEvent"]
