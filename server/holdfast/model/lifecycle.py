"""What changes with time and evidence: confidence in a belief, how long a note stays at hand, feedback, and OMI's view.

Confidence in a belief is an exponential moving average with asymmetric rates, with the list of evidence behind it:

    new = old + rate * strength * (target - old)

`rate` is 0.15 and `target` 1 for evidence that supports, 0.30 and 0 for evidence that contradicts (OMI's reference,
belief_update). The result stays in 0..1; support never lowers, contradiction never raises, strength 0 changes nothing.

How long a note stays at hand follows Ormah's formulas in their late form: R = exp(-days / S) is how much is left of a
note after so many days without use; each use that is confirmed lengthens S, by more the more had faded. Computed in log
space and bounded, so that neither an ancient note nor a clock that goes back makes a number that is none.

Feedback changes the order of what is found by

    affinity = 0.15 tanh( sum over signals of  signal * weight * similarity * 2^(-age / 30 days) )

Weight is 1 for what somebody said, 0.5 for what an agent inferred. The bound and the half-life are Ormah's; the sum
replaces its mean, so that repeated signals count for more than one and never for more than the bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta
from typing import Any, ClassVar, TypeAlias

from holdfast.model.note import is_note_id, moment, read_instant
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
    share = f"{confidence:.2f}".removeprefix("0")
    if is_held(confidence):
        return f"believed: {share}"
    if not contradictions:
        return f"doubted: {share}"
    return f"held no longer: {share} after {counted(contradictions, 'contradiction')}"


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


def breaks(evidence: Sequence[Evidence]) -> list[str]:
    """Which entries were altered. That one begins where a person set the confidence is no break."""
    return [
        f"entry {place} of its evidence does not follow the formula"
        for place, item in enumerate(evidence, 1)
        if _differ(updated(item.old_confidence, supports=item.supports, strength=item.strength), item.new_confidence)
    ]


def edited(evidence: Sequence[Evidence], confidence: float) -> str:
    """That a person set the confidence since the last entry, which the next one goes on from; empty where not."""
    led_to = replayed(evidence)
    if led_to is None or not _differ(led_to, confidence):
        return ""
    now, before = f"{confidence:.2f}", f"{led_to:.2f}"
    if now == before:
        now, before = f"{confidence}", f"{led_to}"
    return f"its confidence was edited by hand: {now}, its evidence comes to {before}"


def _differ(one: float, other: float) -> bool:
    return not math.isclose(one, other, rel_tol=0.0, abs_tol=_TOLERANCE)


def _fraction(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError("not a number from 0 to 1")
    return float(value)


FADED = 0.3  # of R: below it a note may leave the working tier
MINOR = 0.5  # of importance: at or above it a note stays where it is
FIRST_LEASE_DAYS = 7.0
FIRST_STABILITY = -FIRST_LEASE_DAYS / math.log(FADED)  # days; R falls to 0.3 when the lease ends
LONGEST_STABILITY = 365.0
COOLDOWN = timedelta(hours=24)
CORE_CAP = 50
FORGOTTEN, FORGOTTEN_DAYS, FORGOTTEN_DEGREE, FORGOTTEN_WEIGHT = 0.05, 90.0, 2, 0.7

_GROWTH, _EXPONENT, _SPACING, _MOST_SPACING = 0.5, 0.5, 0.2, 2.0
_SHARES = (0.34, 0.33, 0.33)  # of uses, links and recency
_MANY_USES, _MANY_LINKS, _HALF_LIFE_DAYS = 50, 20, 14.0
_SECONDS_PER_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Life:
    """How a note stands: `retention` is R in 0..1, `importance` in 0..1, `idle` the days since its last sign of life.

    `stability` is S in days, `uses` how many confirmed uses counted.
    """

    retention: float
    importance: float
    idle: float
    stability: float
    uses: int


def life(created: str, touched: str, uses: Iterable[str], degree: int, now: datetime) -> Life:
    """A note's life now.

    Args:
        created: when it was made, an instant.
        touched: when its file was last changed, which is a sign of life and no use.
        uses: when its uses were confirmed, in any order; those within 24 hours of one that counted add nothing to S,
            nor do those after `now`.
        degree: how many links lead to or from it.
        now: the time now; earlier than the last sign of life counts as the same time.
    """
    stability, last, counted = FIRST_STABILITY, moment(created), 0
    every = sorted(used for used in map(moment, uses) if used <= now)
    before: datetime | None = None
    for used in every:
        if before is None or used - before >= COOLDOWN:
            stability = grown(stability, days_between(last, used))
            before, last, counted = used, used, counted + 1
    idle = days_between(max([moment(created), moment(touched), *every[-1:]]), now)
    return Life(math.exp(-idle / stability), importance(counted, degree, idle), idle, stability, counted)


def grown(stability: float, idle: float) -> float:
    """S after a use: min(365, S (1 + 0.5 S^-0.5 min(R^-0.2, 2))), for a note that was idle for so many days."""
    exponent = _SPACING * idle / stability  # of R^-0.2 = exp(0.2 days / S)
    spacing = _MOST_SPACING if exponent >= math.log(_MOST_SPACING) else math.exp(exponent)
    return min(LONGEST_STABILITY, stability * (1 + _GROWTH * math.pow(stability, -_EXPONENT) * spacing))


def importance(uses: int, degree: int, idle: float) -> float:
    """In 0..1: uses and links count by their logarithm, up to 50 and 20; recency halves in 14 days."""
    used = min(1.0, math.log1p(max(0, uses)) / math.log1p(_MANY_USES))
    linked = min(1.0, math.log1p(max(0, degree)) / math.log1p(_MANY_LINKS))
    recent = math.exp(-max(0.0, idle) / _HALF_LIFE_DAYS * math.log(2))
    return sum(share * part for share, part in zip(_SHARES, (used, linked, recent), strict=True))


def has_faded(state: Life) -> bool:
    """Whether a note in the working tier may go to archival."""
    return state.retention < FADED and state.importance < MINOR


def may_be_forgotten(state: Life, degree: int, heaviest: float) -> bool:
    """Whether an archival note may go to the trash, where forgetting is switched on.

    Args:
        state: its life.
        degree: how many links it has.
        heaviest: the weight of the heaviest of them.
    """
    return (
        state.retention < FORGOTTEN
        and state.importance < MINOR
        and state.idle >= FORGOTTEN_DAYS
        and degree <= FORGOTTEN_DEGREE
        and heaviest < FORGOTTEN_WEIGHT
    )


def majority(votes: Iterable[str]) -> str | None:
    """What more than half of the votes, and at least two of them, are for."""
    given = list(votes)
    best = max(set(given), key=lambda choice: (given.count(choice), choice), default=None)
    if best is None or given.count(best) < 2 or given.count(best) * 2 <= len(given):  # noqa: PLR2004 - two
        return None
    return best


def days_between(start: datetime, end: datetime) -> float:
    """Days from one time to another, 0 where the second is the earlier one."""
    return max(0.0, (end - start).total_seconds() / _SECONDS_PER_DAY)


BOUND = 0.15
HALF_LIFE_DAYS = 30.0
WORN_OFF_DAYS = 300.0  # a thousandth is left of a signal this old: it no longer counts
EXPLICIT, IMPLICIT = 1.0, 0.5
LEAST_AFFINITY = 0.01  # an affinity smaller than this is not worth a word

# Calibrated with the embedded encoder on the questions of a coding assistant's memory: of 6,000 pairs that need
# different notes of one project one in a thousand comes above NEAR (a cosine of 0.55); rewordings reach 0.7 to 0.95.
_NEAR, _SAME = 0.5, 0.9
_FEW_WORDS, _MOST_WORDS = 0.4, 0.9


@dataclass(frozen=True, slots=True)
class Signal:
    """One signal on a note: `signal` is 1 or -1, `similarity` in 0..1 says how like now's question its own is."""

    question: str
    signal: int
    explicit: bool
    age_days: float
    similarity: float


def affinity(signals: Iterable[Signal]) -> float:
    """A note's affinity for a question, within -BOUND..BOUND; 0 without signals.

    What somebody said about a question overrides what was inferred about the same one. An age below zero, from a
    clock that went back, counts as none.
    """
    given = [item for item in signals if item.age_days <= WORN_OFF_DAYS]
    said = {item.question for item in given if item.explicit}
    total = sum(_weight(item) for item in given if item.explicit or item.question not in said)
    return BOUND * math.tanh(total)


def by_meaning(cosine: float, background: float) -> float:
    """Similarity in 0..1 of two questions by their vectors' cosine.

    Linear in how far the cosine is on the way from `background`, which unrelated texts have in this vector set, to 1:
    0 up to half of the way, 1 from nine tenths on.
    """
    way = (cosine - background) / (1.0 - background) if background < 1.0 else 0.0
    return _ramp(way, _NEAR, _SAME)


def by_words(asked: AbstractSet[str], other: AbstractSet[str], weights: Mapping[str, float]) -> float:
    """Similarity in 0..1 of two questions by their words: the share of all their words' weight that both have."""
    total = sum(weights[word] for word in asked | other)
    shared = sum(weights[word] for word in asked & other)
    return _ramp(shared / total if total > 0 else 0.0, _FEW_WORDS, _MOST_WORDS)


def _weight(item: Signal) -> float:
    kept = math.exp2(-max(0.0, item.age_days) / HALF_LIFE_DAYS)
    return item.signal * (EXPLICIT if item.explicit else IMPLICIT) * item.similarity * kept


def _ramp(value: float, low: float, high: float) -> float:
    return min(1.0, max(0.0, (value - low) / (high - low)))


# --- OMI's view: its order, its events, what it checks -----------------------------------------------
# Order: final = 0.7 relevance + 0.3 exp(-days / 30), as OMI's reference has it. Relevance: its threshold of 0.7 means
# "similar enough"; here it is the line of a strong hit, the same in every tool. Baselines of pages: see `records`.

RELEVANCE_SHARE, RECENCY_SHARE = 0.7, 0.3
DAYS = 30.0  # a time constant: after as many days 1/e is left


def recency(created: str, now: datetime, constant: float = DAYS) -> float:
    """1 for what was made now or, by a clock that went back, later; falls to 1/e in `constant` days, then towards 0."""
    days = (now - moment(created)).total_seconds() / _SECONDS_PER_DAY
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
