"""OMI's view of a memory: four types for our twelve, its order, its measure of relevance, its events, its baselines.

* Types are never translated in storage: each family of tools sees its own view.
* Order: final = 0.7 relevance + 0.3 exp(-days / 30), as OMI's reference has it.
* Relevance: OMI's threshold of 0.7 means "similar enough"; here it is the line of a strong hit, the same in every tool.
* Integrity: the baselines of pages, as the journal tells them, and the evidence of a belief.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from holdfast.model.lifecycle import breaks, edited, read_evidence
from holdfast.model.note import NOTE_TYPES, moment
from holdfast.model.records import DAILY, MEMORY, NOW, NOW_FOLDER, FileChange, JournalRecord, PageMark, is_page

MemoryType = Literal["fact", "experience", "belief", "decision"]

MEMORY_TYPES: tuple[str, ...] = get_args(MemoryType)
_SEEN_AS = {
    "decision": "decision",
    "goal": "decision",
    "experience": "experience",
    "event": "experience",
    "observation": "experience",
    "belief": "belief",
}  # the rest are facts


def memory_type(note_type: str) -> str:
    """What OMI's tools call a note of this type."""
    return _SEEN_AS.get(note_type, "fact")


def note_types(memory_type_: str) -> tuple[str, ...]:
    """The stored types that OMI's tools call `memory_type_`."""
    return tuple(name for name in NOTE_TYPES if memory_type(name) == memory_type_)


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


THEN = ", then "  # between what was done to a page
BLANK = frozenset(sha256(data).hexdigest() for data in (b"", b"\n", b"\r\n"))  # the hashes of pages without a text
MOST_ORPHANS = 5  # more are unsafe
CORE_LINKS, CORE_WINDOW, CORE_USES = 5, timedelta(hours=24), 3


@dataclass(frozen=True, slots=True)
class Baseline:
    """How a page is to look: its hash and bytes, None where it is to be missing.

    `foreign` says what somebody else did to it before a write of ours, which went on from that and is no consent to
    it: "edited", "made", "emptied" or "deleted", several of them joined by `THEN` in their order, each once.
    """

    hash: str | None
    size: int | None = None
    foreign: str = ""


def baselines(records: Iterable[JournalRecord], before: Mapping[str, Baseline] | None = None) -> dict[str, Baseline]:
    """The baselines of pages, by path, from the journal's lines in order.

    Every change of ours sets one. What it found in place of the last one was somebody else's, and that stays known
    until it is accepted. A restore sets them all. A page that was seen before any change of ours is trusted as it was
    then.

    Args:
        records: lines of the journal.
        before: the baselines that follow from the lines before these.
    """
    lines = list(records)
    void = {change for line in lines for change in line.void}
    void -= {change for line in lines for change in line.done}  # its own writer knows best
    found = dict(before or {})
    for line in lines:
        found = with_line(found, line, void=line.change in void)
    return found


def with_line(before: Mapping[str, Baseline], line: JournalRecord, *, void: bool) -> dict[str, Baseline]:
    """The baselines behind one line; `void` says that its change never happened."""
    found = dict(before)
    for path, mark in _watched(line.seen):
        found.setdefault(path, mark)
    if line.restored is not None:  # the pages of a backup are in the place of all that were there
        found = {path: Baseline(mark) for path, mark in line.restored.items() if is_watched(path)}
    if not void:
        for file in line.files:
            if file.is_page and is_watched(file.path):
                found[file.path] = _following(found.get(file.path), file)
    found.update(_watched(line.accepted))
    return found


def is_watched(path: str) -> bool:
    """Whether a path is that of a page whose changes by others are reported: NOW files, MEMORY.md and logs."""
    return is_page(path) and (path in (NOW, MEMORY) or path.startswith((f"{NOW_FOLDER}/", f"{DAILY}/")))


def _following(last: Baseline | None, file: FileChange) -> Baseline:
    if last is None or file.before == last.hash:
        return Baseline(file.after, file.size, last.foreign if last else "")
    before = last.foreign.split(THEN) if last.foreign else []
    return Baseline(file.after, file.size, THEN.join(dict.fromkeys([*before, _kind(last.hash, file.before)])))


def _kind(expected: str | None, found: str | None) -> str:
    """What was done to a page that is not as it was left."""
    if found is None:
        return "deleted"
    if expected is None:
        return "made"
    return "emptied" if found in BLANK else "edited"


def marks_of(pages: Mapping[str, Baseline]) -> tuple[PageMark, ...]:
    """Baselines as a journal line tells them."""
    return tuple(PageMark(path, mark.hash, mark.size) for path, mark in sorted(pages.items()))


def _watched(marks: Iterable[PageMark]) -> list[tuple[str, Baseline]]:
    return [(mark.path, Baseline(mark.hash, mark.size)) for mark in marks if is_watched(mark.path)]


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
