"""OMI's view of a memory: its order, its measure of relevance, its events, what it checks.

* Order: final = 0.7 relevance + 0.3 exp(-days / 30), as OMI's reference has it.
* Relevance: OMI's threshold of 0.7 means "similar enough"; here it is the line of a strong hit, the same in every tool.
* Integrity: the evidence of a belief, and links for a core; the baselines of pages are in `holdfast.model.records`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any, ClassVar, TypeAlias

from holdfast.model.lifecycle import breaks, edited, read_evidence
from holdfast.model.note import moment

RELEVANCE_SHARE, RECENCY_SHARE = 0.7, 0.3
DAYS = 30.0  # a time constant: after as many days 1/e is left
_SECONDS_OF_A_DAY = 86_400.0


def recency(created: str, now: datetime, constant: float = DAYS) -> float:
    """1 for what was made now or, by a clock that went back, later; falls to 1/e in `constant` days, then towards 0."""
    days = (now - moment(created)).total_seconds() / _SECONDS_OF_A_DAY
    return math.exp(-max(0.0, days) / constant)


def final_score(relevance: float, created: str, now: datetime, constant: float = DAYS) -> float:
    """In 0..1 for a relevance in 0..1. Days count in fractions."""
    return RELEVANCE_SHARE * relevance + RECENCY_SHARE * recency(created, now, constant)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Happening:
    """`timestamp` is an ISO-8601 UTC instant; the bus fills it in where it is empty."""

    event_type: ClassVar[str]
    timestamp: str = ""
    metadata: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The event for JSON: its type, its payload, when it was, and metadata (`{}` where there is none)."""
        own = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}
        shared = {"timestamp": own.pop("timestamp"), "metadata": own.pop("metadata") or {}}
        return {"event_type": self.event_type, **own, **shared}


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


MOST_ORPHANS = 5  # more are unsafe
CORE_LINKS, CORE_WINDOW, CORE_USES = 5, timedelta(hours=24), 3


def evidence_problem(evidence: Sequence[Mapping[str, Any]]) -> str:
    """Why a belief's evidence cannot be followed; empty where it can."""
    entries = [read_evidence(entry) for entry in evidence]
    whole = [entry for entry in entries if entry is not None]
    if len(whole) < len(entries):
        return f"entry {entries.index(None) + 1} of its evidence is not whole"
    return next(iter(breaks(whole)), "")


def edited_confidence(evidence: Sequence[Mapping[str, Any]], confidence: float) -> str:
    """That a person set a belief's confidence, which is theirs to set; empty where it follows from its evidence."""
    return edited([read for entry in evidence if (read := read_evidence(entry))], confidence)


def is_sudden(times: Sequence[str]) -> bool:
    """Whether enough links for a core were made within one window.

    Args:
        times: when each link was made, canonical instants in order.
    """
    moments = [moment(time) for time in times]
    return any(last - first <= CORE_WINDOW for first, last in zip(moments, moments[CORE_LINKS - 1 :], strict=False))
