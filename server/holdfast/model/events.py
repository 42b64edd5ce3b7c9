"""What happened in a memory, as OMI's users know it: the names and payloads of its events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class _Happening:
    """`timestamp` is an ISO-8601 UTC instant; the bus fills it in where it is empty."""

    event_type: ClassVar[str]
    timestamp: str = ""
    metadata: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The event for JSON: its type, its payload, when it was, and metadata (`{}` where there is none)."""
        own = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}
        told = {"timestamp": own.pop("timestamp"), "metadata": own.pop("metadata") or {}}
        return {"event_type": self.event_type, **own, **told}


@dataclass(frozen=True, slots=True)
class MemoryStoredEvent(_Happening):
    """A note was stored. `content` is as it was stored, without secrets; `memory_type` is one of OMI's four."""

    event_type: ClassVar[str] = "memory.stored"
    memory_id: str
    content: str
    memory_type: str
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class MemoryRecalledEvent(_Happening):
    """Notes were asked for. `top_results` are {memory_id, score}, best first; never texts or vectors."""

    event_type: ClassVar[str] = "memory.recalled"
    query: str
    result_count: int
    top_results: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class BeliefUpdatedEvent(_Happening):
    """A belief's confidence moved. Both confidences are in 0..1; `evidence_id` is the note that moved it."""

    event_type: ClassVar[str] = "belief.updated"
    belief_id: str
    old_confidence: float
    new_confidence: float
    evidence_id: str


@dataclass(frozen=True, slots=True)
class ContradictionDetectedEvent(_Happening):
    """Two notes seem to say opposite things; `contradiction_pattern` names what gave it away."""

    event_type: ClassVar[str] = "belief.contradiction_detected"
    memory_id_1: str
    memory_id_2: str
    contradiction_pattern: str


Event: TypeAlias = MemoryStoredEvent | MemoryRecalledEvent | BeliefUpdatedEvent | ContradictionDetectedEvent


def _plain(value: Any) -> Any:
    """Tuples and mappings as JSON has them."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value
