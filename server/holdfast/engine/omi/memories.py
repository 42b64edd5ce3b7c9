"""OMI's memory_store and memory_recall: the same notes and the same search as remember and recall, in OMI's measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from holdfast.engine.agent.answer import MOST_TERMS, Answer, Budget, answer, budget_of, most_of_each
from holdfast.engine.agent.recall import asked, kept_event, reading_of, standing_notices
from holdfast.engine.agent.remember import NoteStored, Remember, remember
from holdfast.engine.arguments import check_count, check_query, resolve_all
from holdfast.engine.omi.beliefs import Contradiction, keep_contradictions, opposed_notes, standings
from holdfast.engine.ports import Caller, Ports, View
from holdfast.engine.state import Stages
from holdfast.errors import InvalidArgumentError
from holdfast.index.rows import LinkRow
from holdfast.model.belief import FIRST_CONFIDENCE, is_held
from holdfast.model.note import Note
from holdfast.model.omi import MEMORY_TYPES, final_score, memory_type, note_types, similarity
from holdfast.model.passages import NOTHING, Passage, passage
from holdfast.model.ranking import Filter, Ranked, likelihood
from holdfast.model.words import query_terms

LARGEST_LIMIT = 100
MOST_RELATED = 10
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
    """The note is kept, or was a moment ago (`is_new` is False); what contradicts it is told for beliefs alone.

    `change_id` undoes it; None where nothing was changed.
    """

    note: Note
    is_new: bool
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
        is_told = self.belief and not is_held(self.note.confidence)
        return f"({self.belief.capitalize()}.) {self.shown.text}" if is_told else self.shown.text


@dataclass(frozen=True, slots=True)
class MemoriesRecalled:
    """The answer, best first. `event_id` names it for submit_feedback."""

    memories: tuple[RecalledMemory, ...]
    event_id: str
    notices: tuple[str, ...]
    budget: Budget


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
    return MemoryStored(
        outcome.note, isinstance(outcome, NoteStored), outcome.change_id, tuple(opposed), outcome.notices
    )


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

    def relevance_of(item: Ranked) -> float:
        likely = likelihood(item.relevance, by_words=item.candidate.z is None)
        return round(
            similarity(likely, item.unknown, by_meaning=(asking.vector or asking.beside) is not None), RELEVANCE_DIGITS
        )

    def passing(item: Ranked) -> bool:
        return relevance_of(item) >= request.min_relevance

    def read(view: View) -> tuple[Answer, list[RecalledMemory], list[str]]:
        found = answer(view, asking, EVERYTHING, explain=False, passing=passing)
        best = _in_order(ports, found, relevance_of)[: request.limit]
        return (
            found,
            _with_passages(_with_neighbours(view, best), query_terms(asking.text), budget),
            standing_notices(view, ports, asking.vector),
        )

    found, memories, standing = await ports.index.read(read)
    stages.ended("search")
    event_id, unrated = await kept_event(ports, caller, asking, [(item.note.id, item.relevance) for item in memories])
    stages.ended("keep")
    stages.tell("recalled", hits=len(memories), related=0)
    beliefs = await standings(ports, [item.note for item in memories])
    memories = [replace(item, belief=beliefs.get(item.note.id, "")) for item in memories]
    stances = [f"{note_id} is a belief, {told}." for note_id, told in beliefs.items()]
    told = (*reading_of(asking, found), notice, *stances, *standing, unrated)
    return MemoriesRecalled(tuple(memories), event_id, tuple(text for text in told if text), budget)


def check_memory_type(given: str) -> None:
    if given not in MEMORY_TYPES:
        raise InvalidArgumentError("memory_type is unknown.", f"Use one of {', '.join(MEMORY_TYPES)}.")


def _filter(ports: Ports, request: MemoryRecall) -> Filter:
    check_query(request.query)
    if not 1 <= request.limit <= LARGEST_LIMIT:
        raise InvalidArgumentError(f"limit is outside 1 to {LARGEST_LIMIT}.")
    if not 0.0 <= request.min_relevance <= 1.0:
        raise InvalidArgumentError("min_relevance is outside 0 to 1.")
    if request.memory_type is None:
        return Filter(now=ports.now)
    check_memory_type(request.memory_type)
    return Filter(now=ports.now, types=note_types(request.memory_type))


def _in_order(ports: Ports, found: Answer, relevance_of: Callable[[Ranked], float]) -> list[RecalledMemory]:
    """By final score, relevance and age, the newest first, then by id."""
    now = ports.clock()
    memories = []
    for hit in found.hits:
        relevance = relevance_of(hit.ranked)
        final = final_score(relevance, hit.note.created, now, ports.recency_days)
        memories.append(RecalledMemory(hit.note, memory_type(hit.note.type), relevance, final, ()))
    memories.sort(key=lambda item: item.note.id)
    memories.sort(
        key=lambda item: (item.final_score, item.relevance, item.note.created, item.note.happened), reverse=True
    )
    return memories


def _with_neighbours(view: View, memories: Sequence[RecalledMemory]) -> list[RecalledMemory]:
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
