"""Confidence in a belief: an exponential moving average with asymmetric rates, and the list of evidence behind it.

    new = old + rate * strength * (target - old)

`rate` is 0.15 and `target` 1 for evidence that supports, 0.30 and 0 for evidence that contradicts (OMI's reference,
belief_update). The result stays in 0..1; support never lowers, contradiction never raises, strength 0 changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from holdfast.model.note import is_note_id
from holdfast.model.times import read_instant
from holdfast.model.words import counted

SUPPORT_RATE, CONTRADICTION_RATE = 0.15, 0.30
FIRST_CONFIDENCE = 0.5  # of a belief that is stored without one
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Evidence:
    """One call of belief_update, as the belief's `evidence` keeps it. `timestamp` is an instant."""

    memory_id: str
    supports: bool
    strength: float
    timestamp: str
    old_confidence: float
    new_confidence: float

    def as_entry(self) -> dict[str, Any]:
        """The entry of the frontmatter's list, in the order of its keys."""
        return asdict(self)


def updated(confidence: float, *, supports: bool, strength: float) -> float:
    """The confidence after evidence of `strength` in 0..1; not rounded."""
    rate, target = (SUPPORT_RATE, 1.0) if supports else (CONTRADICTION_RATE, 0.0)
    return confidence + rate * strength * (target - confidence)


def is_held(confidence: float) -> bool:
    """Whether a belief may be told as one: below one half it is rather not so."""
    return confidence >= FIRST_CONFIDENCE


def standing(confidence: float, contradictions: int) -> str:
    """How a belief stands, in a few words; `contradictions` is how much of its evidence is against it."""
    told = f"{confidence:.2f}".removeprefix("0")
    if is_held(confidence):
        return f"believed: {told}"
    if not contradictions:
        return f"doubted: {told}"
    return f"held no longer: {told} after {counted(contradictions, 'contradiction')}"


def read_evidence(entry: Mapping[str, Any]) -> Evidence | None:
    """An entry of the list; None where a person has made something else of it."""
    memory_id, supports = entry.get("memory_id"), entry.get("supports")
    if not isinstance(memory_id, str) or not is_note_id(memory_id) or not isinstance(supports, bool):
        return None
    try:
        timestamp = read_instant(entry.get("timestamp"))
        strength, old, new = (_fraction(entry.get(key)) for key in ("strength", "old_confidence", "new_confidence"))
    except ValueError:
        return None
    return Evidence(memory_id, supports, strength, timestamp, old, new)


def replayed(evidence: Sequence[Evidence]) -> float | None:
    """The confidence that the list leads to, computed anew from its first entry; None for an empty one.

    A confidence that a person set between two updates is where the later one began: it is taken as it stands.
    """
    if not evidence:
        return None
    confidence = evidence[0].old_confidence
    for item in evidence:
        if _differ(item.old_confidence, confidence):
            confidence = item.old_confidence
        confidence = updated(confidence, supports=item.supports, strength=item.strength)
    return confidence


def breaks(evidence: Sequence[Evidence], confidence: float) -> list[str]:
    """What does not follow from the list: entries that were altered, confidences that were set in between or after."""
    told = [
        f"entry {place} of its evidence does not follow the formula"
        for place, item in enumerate(evidence, 1)
        if _differ(updated(item.old_confidence, supports=item.supports, strength=item.strength), item.new_confidence)
    ]
    told += [
        f"entry {place} of its evidence does not go on from the one before it"
        for place, (before, item) in enumerate(pairwise(evidence), 2)
        if _differ(before.new_confidence, item.old_confidence)
    ]
    led_to = replayed(evidence)
    if led_to is not None and _differ(led_to, confidence):
        told.append("its confidence is not what its evidence leads to")
    return told


def _differ(one: float, other: float) -> bool:
    return not math.isclose(one, other, rel_tol=0.0, abs_tol=_TOLERANCE)


def _fraction(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError("not a number from 0 to 1")
    return float(value)
