"""Memories in OMI's terms: stored, recalled, and what happened to them lately."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from holdfast.engine.agent.answer import Answer, Hit, answer
from holdfast.engine.agent.question import Asking
from holdfast.engine.agent.recall import (
    MOST_TERMS,
    as_event,
    asked,
    kept_event,
    reading_of,
    standing_notices,
    title_in_notice,
)
from holdfast.engine.agent.remember import Remember, remember
from holdfast.engine.commit import check_choice, check_count, check_query, check_range, resolve_all
from holdfast.engine.omi.beliefs import (
    believed_first,
    keep_contradictions,
    opposed_notes,
    read_contradictions,
    standings,
)
from holdfast.engine.ports import Caller, Ports
from holdfast.engine.state import Stages
from holdfast.engine.sync.replay import look_back, whole
from holdfast.errors import ConflictError, InvalidArgumentError
from holdfast.index.journal import LinesWanted
from holdfast.index.projection import HistoryRow
from holdfast.index.rows import IndexedNote, LinkRow
from holdfast.index.view import IndexView
from holdfast.model.lifecycle import (
    FIRST_CONFIDENCE,
    BeliefUpdatedEvent,
    Event,
    MemoryStoredEvent,
    final_score,
    is_held,
)
from holdfast.model.note import MEMORY_TYPES, SELF_ID, Note, memory_type, note_types
from holdfast.model.opposition import Contradiction
from holdfast.model.passages import NOTHING, Budget, Passage, budget_of, most_of_each, passage
from holdfast.model.ranking import Filter, Ranked
from holdfast.model.records import CONTRADICTION
from holdfast.model.words import floored, query_terms
from holdfast.store.stored import Stored

LARGEST_LIMIT = 100
MOST_RELATED = 10
MOST_NEAREST = 3  # that are seen at the least, where there are so many: what is served, then what is just below
SHAPE_TOKENS = 150  # what a memory costs beside its content
EVERYTHING = 1000  # more than a search finds: the line decides what is shown, and the limit only once it is in order
RELEVANCE_DIGITS = 4  # the final score and the line follow from what is told


@dataclass(frozen=True, slots=True)
class MemoryStore:
    """What is to be stored. Without `confidence` a belief begins at 0.5, everything else at 1."""

    content: str
    memory_type: str = "experience"
    related_to: Sequence[str] = ()
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class MemoryStored:
    """The note is kept, or was a moment ago; what contradicts it is told for beliefs alone.

    `change_id` undoes it; None where nothing was changed.
    """

    note: Note
    change_id: str | None
    contradictions: tuple[Contradiction, ...]
    notices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MemoryRecall:
    """A question; every note of at least `min_relevance` answers it."""

    query: str
    limit: int = 10
    min_relevance: float = 0.7
    memory_type: str | None = None


@dataclass(frozen=True, slots=True)
class RecalledMemory:
    """A note that answers, and what is shown of it; `related` are ids of its neighbours.

    `belief` says how a belief stands. The shape has no word for that: what is held no longer says so in its content,
    which would be read as a fact.
    """

    note: Note
    memory_type: str
    relevance: float
    final_score: float
    related: tuple[str, ...]
    shown: Passage = NOTHING
    belief: str = ""

    def shape(self) -> dict[str, Any]:
        """The seven keys that OMI's reference documents, in its order."""
        return {
            "memory_id": self.note.id,
            "content": self.content,
            "memory_type": self.memory_type,
            "created_at": self.note.created,
            "relevance": self.relevance,
            "final_score": self.final_score,
            "related_memories": list(self.related),
        }

    @property
    def content(self) -> str:
        """What is shown of the note; of a belief that is held no longer, that first."""
        has_lapsed = self.belief and not is_held(self.note.confidence)
        return f"({self.belief.capitalize()}.) {self.shown.text}" if has_lapsed else self.shown.text


@dataclass(frozen=True, slots=True)
class MemoriesRecalled:
    """The answer, best first. `event_id` names it for submit_feedback.

    `below` are notes that fall short of `min_relevance`, where few reach it: doubtful, and no part of the answer.
    """

    memories: tuple[RecalledMemory, ...]
    event_id: str
    notices: tuple[str, ...]
    budget: Budget
    below: tuple[Hit, ...] = ()


async def memory_store(ports: Ports, caller: Caller, request: MemoryStore) -> MemoryStored:
    """Keep a note, tied to others.

    Raises:
        InvalidArgumentError, MemoryNotFoundError, AmbiguousIdError, SecretRefusedError: nothing was written.
        ConflictError, StorageError: nothing was written.
    """
    check_memory_type(request.memory_type)
    if request.confidence is not None and not 0.0 <= request.confidence <= 1.0:
        raise InvalidArgumentError("confidence is outside 0 to 1.")
    given = check_count("related_to", list(request.related_to))
    related = await resolve_all(ports.index, given, what="related_to")
    is_belief = request.memory_type == "belief"
    wanted = Remember(
        request.content,
        request.memory_type,
        confidence=request.confidence,
        unsaid=FIRST_CONFIDENCE if is_belief else 1.0,
        links=[(item.note.id, "related_to") for item in related],
        compared=False,  # beliefs are, in another way, and nothing else is: as OMI does
    )
    outcome = await remember(ports, caller, wanted)
    opposed = await opposed_notes(ports, outcome.note) if is_belief else []
    await keep_contradictions(ports, caller, opposed)
    return MemoryStored(outcome.note, outcome.change_id, tuple(opposed), outcome.notices)


async def memory_recall(ports: Ports, caller: Caller, request: MemoryRecall) -> MemoriesRecalled:
    """Find current notes by words, meaning and time, ordered by relevance and recency.

    Raises:
        InvalidArgumentError: the query is blank or an argument is out of its range.
    """
    wanted, budget = _filter(ports, request), budget_of(None, request.limit)
    stages = Stages()
    asking, notice = await asked(ports, request.query, wanted, caller, stages)
    # Also of a question about the past only what is current is told: this family has no word for "outdated".
    asking = replace(asking, wanted=wanted, question=replace(asking.question, past=False))

    def passing(item: Ranked) -> bool:
        return _relevance(item) >= request.min_relevance

    def read(view: IndexView) -> tuple[Answer, list[RecalledMemory], tuple[Hit, ...], list[str]]:
        found = answer(view, asking, EVERYTHING, explain=False, passing=passing)
        best = _in_order(ports, found)[: request.limit]
        return (
            found,
            _with_passages(_with_neighbours(view, best), query_terms(asking.text), budget),
            _below(view, asking, best, request),
            [_hidden(view, asking, found), *standing_notices(view, ports, asking.vector)],
        )

    found, memories, below, standing = await ports.index.read(read)
    stages.ended("search")
    event_id, unrated = await kept_event(ports, caller, asking, [(item.note.id, item.relevance) for item in memories])
    stages.ended("keep")
    stages.tell("recalled", hits=len(memories), related=0)
    beliefs = await standings(ports, [item.note for item in memories])
    memories = [replace(item, belief=beliefs.get(item.note.id, "")) for item in memories]
    stances = [f"{note_id} is a belief, {stands}." for note_id, stands in beliefs.items()]
    notices = (_below_hint(memories, below, request), *reading_of(asking, found), notice, *stances, *standing, unrated)
    return MemoriesRecalled(tuple(memories), event_id, tuple(text for text in notices if text), budget, below)


def _hidden(view: IndexView, asking: Asking, found: Answer) -> str:
    """The best note of all, where memory_type keeps it out and nothing strong is of that kind; mostly empty."""
    if not asking.wanted.types or any(not hit.ranked.weak for hit in found.hits):
        return ""
    free = replace(asking, wanted=Filter(asking.wanted.now))
    best = answer(view, free, 1, explain=False, only_strong=True).hits
    if not best or best[0].ranked.weak or best[0].note.type in asking.wanted.types:
        return ""
    note = best[0].note
    left_out = f'A relevant note is left out by memory_type (its own is "{memory_type(note.type)}")'
    return f"{left_out}: {note.id} {title_in_notice(note)}"


def check_memory_type(given: str) -> None:
    check_choice("memory_type", given, MEMORY_TYPES)


def _filter(ports: Ports, request: MemoryRecall) -> Filter:
    check_query(request.query)
    check_range("limit", request.limit, LARGEST_LIMIT)
    if not 0.0 <= request.min_relevance <= 1.0:
        raise InvalidArgumentError("min_relevance is outside 0 to 1.")
    if request.memory_type is None:
        return Filter(now=ports.now)
    check_memory_type(request.memory_type)
    return Filter(now=ports.now, types=note_types(request.memory_type))


def _relevance(item: Ranked) -> float:
    return round(item.relevance, RELEVANCE_DIGITS)


def _below(view: IndexView, asking: Asking, best: Sequence[RecalledMemory], request: MemoryRecall) -> tuple[Hit, ...]:
    """Where few notes reach the line, those that `recall` would show as weak behind them, three in all at most."""
    if len(best) >= min(MOST_NEAREST, request.limit):
        return ()
    served = {item.note.id for item in best}
    near = answer(view, asking, MOST_NEAREST, explain=False).hits
    short = (hit for hit in near if hit.note.id not in served and _relevance(hit.ranked) < request.min_relevance)
    return tuple(short)[: MOST_NEAREST - len(best)]


def _below_hint(memories: Sequence[RecalledMemory], below: Sequence[Hit], request: MemoryRecall) -> str:
    """How to have what is below the line served too; empty where nothing is seen below it."""
    if not below:
        return ""
    lower = floored(min(_relevance(hit.ranked) for hit in below))
    many = "Few reach" if memories else "None reaches"
    return f"{many} {request.min_relevance:g}; min_relevance={lower:g} returns what is seen just below it."


def _in_order(ports: Ports, found: Answer) -> list[RecalledMemory]:
    """By final score, relevance and age, the newest first, then by id; what is believed before what is not."""
    now = ports.clock()
    memories = []
    for hit in found.hits:
        relevance = _relevance(hit.ranked)
        final = final_score(relevance, hit.note.created, now, ports.recency_days)
        memories.append(RecalledMemory(hit.note, memory_type(hit.note.type), relevance, final, ()))
    memories.sort(key=lambda item: item.note.id)
    memories.sort(
        key=lambda item: (item.final_score, item.relevance, item.note.created, item.note.happened), reverse=True
    )
    ranked = {hit.note.id: hit.ranked for hit in found.hits}
    order = believed_first([(item.note, ranked[item.note.id]) for item in memories])
    return [memories[place] for place in order]


def _with_neighbours(view: IndexView, memories: Sequence[RecalledMemory]) -> list[RecalledMemory]:
    links = view.links([item.note.id for item in memories])
    around = _neighbours(links)
    return [replace(item, related=tuple(around.get(item.note.id, ()))[:MOST_RELATED]) for item in memories]


def _with_passages(memories: Sequence[RecalledMemory], terms: Sequence[str], budget: Budget) -> list[RecalledMemory]:
    contents = [item.note.content for item in memories]
    most = most_of_each(contents, budget.passage, budget.structured - SHAPE_TOKENS * len(memories))
    return [replace(item, shown=passage(item.note.content, terms[:MOST_TERMS], most)) for item in memories]


def _neighbours(links: Sequence[LinkRow]) -> Mapping[str, list[str]]:
    """For each end of these edges the other ends, each once, over the strongest edge first."""
    around: dict[str, dict[str, None]] = {}
    for link in sorted(links, key=lambda link: -link.weight):
        around.setdefault(link.source, {})[link.target] = None
        around.setdefault(link.target, {})[link.source] = None
    return {end: list(others) for end, others in around.items()}


MOST_CHANGES, MOST_RECALLS, MOST_CONTRADICTIONS = 150, 50, 50
LONGEST_CONTENT = 300  # characters of a note in an event; its own resource has the rest
_MOVED = frozenset({"memory_id", "old_confidence", "new_confidence"})
STORING = frozenset({"remember", "memory_store"})

_Moves: TypeAlias = Mapping[tuple[str, int], Mapping[str, Any]]  # updates of beliefs, by note and journal number


async def happenings(ports: Ports, principal: str) -> list[dict[str, Any]]:
    """The last changes and recalls, newest last.

    Each has OMI's keys for its type: `memory.stored`, `belief.updated`, `belief.contradiction_detected` and
    `memory.recalled`, and as `event` the name that OMI's reference gives it; the types `memory.updated`,
    `memory.superseded`, `memory.outdated` and `memory.deleted` have `memory_id`.
    """
    rows = await ports.index.read(lambda view: view.latest_changes(MOST_CHANGES))
    notes = await ports.index.notes({row.note for row, _ in rows})
    together: dict[str, set[str]] = {}
    for row, _ in rows:
        together.setdefault(row.change, set()).add(row.note)
    moved = await _moved(ports, [row for row, _ in rows if row.op == "belief_update"], notes, together)
    events = [
        _change(row, notes.get(row.note), together[row.change], moved, first=first)
        for row, first in reversed(rows)
        if row.note != SELF_ID
    ]
    wanted = LinesWanted(MOST_CONTRADICTIONS, ops=[CONTRADICTION])
    opposed = await whole(ports, await look_back(ports, lambda view: view.lines(wanted)))
    events += [_named(event) for line in reversed(opposed) for event in read_contradictions(line.record)]
    recalls = reversed(await ports.recalls.recent(principal, MOST_RECALLS))
    events += [_named(as_event(each)) | {"metadata": {"event_id": each.id}} for each in recalls]
    return sorted(events, key=lambda event: str(event["timestamp"]))


def _change(
    row: HistoryRow, found: IndexedNote | None, together: set[str], moves: _Moves, *, first: bool
) -> dict[str, Any]:
    note = found.note if found else None
    moved = moves.get((row.note, row.seq))
    more = {"op": row.op, "change_id": row.change, "seq": row.seq}
    if moved is not None:
        event = BeliefUpdatedEvent(
            row.note, moved["old_confidence"], moved["new_confidence"], moved["memory_id"], timestamp=row.at
        )
        return _named(event) | {"metadata": more}
    kind = _kind(row, note, together, first=first)
    if kind == MemoryStoredEvent.event_type and note is not None:
        content = note.content if len(note.content) <= LONGEST_CONTENT else note.content[: LONGEST_CONTENT - 1] + "…"
        later = min((move for move in moves if move[0] == note.id), key=lambda move: move[1], default=None)
        confidence = moves[later]["old_confidence"] if later else note.confidence  # as it was then
        stored = MemoryStoredEvent(note.id, content, memory_type(note.type), confidence, timestamp=row.at)
        return _named(stored) | {"metadata": more}
    return {"event_type": kind, "memory_id": row.note, "timestamp": row.at, "metadata": more}


def _kind(row: HistoryRow, note: Note | None, together: set[str], *, first: bool) -> str:
    if row.op == "mark_outdated":
        return "memory.outdated"
    if "delete" in row.op:
        return "memory.deleted"
    if row.op in STORING:
        if note is not None and note.superseded_by in together:
            return "memory.superseded"  # by the note that was stored with it
        return "memory.stored" if first else "memory.superseded"
    return "memory.updated"


async def _moved(
    ports: Ports, rows: Sequence[HistoryRow], notes: Mapping[str, IndexedNote], together: Mapping[str, set[str]]
) -> _Moves:
    """What each update of a belief was, from the list in the belief's own file; its last entry is its last update's."""
    beliefs = {row.note: notes[row.note] for row in rows if row.note in notes and notes[row.note].note.type == "belief"}
    paths = {item.path: note_id for note_id, item in beliefs.items()}
    moved: dict[tuple[str, int], Mapping[str, Any]] = {}
    for item in await ports.store.load(list(paths), paths):
        if not isinstance(item, Stored):
            raise ConflictError("A note's file has changed on disk.", "Read it again.")
        entries = [entry for entry in item.note.evidence if entry.keys() >= _MOVED]
        for row in (row for row in rows if row.note == item.note.id):  # newest first
            others = together[row.change] - {row.note}
            if entries and (not others or entries[-1]["memory_id"] in others):
                moved[row.note, row.seq] = entries.pop()
    return moved


def _named(event: Event) -> dict[str, Any]:
    return {"event": type(event).__name__, **event.to_dict()}
