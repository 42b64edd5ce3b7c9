"""recall: the notes that answer a question, or the word that there are none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from holdfast.engine.arguments import MOST_IDS, check_query, space, until, when
from holdfast.engine.encoding import encode_query
from holdfast.engine.ports import Caller, Ports
from holdfast.errors import InvalidArgumentError, LimitExceededError
from holdfast.index.recalls import RecallEvent
from holdfast.index.rows import IndexedNote, LinkRow
from holdfast.model.ids import PREFIX, SELF_ID
from holdfast.model.memory import NOTE_TYPES, TIERS, Note
from holdfast.model.query import Filter, QueryVector
from holdfast.model.ranking import Ranked, rank, without_names
from holdfast.model.words import query_terms

LARGEST_LIMIT = 50
SEEDS, MOST_RELATED = 5, 5
CHARACTERS_PER_TOKEN = 4
LONGEST_PATH, CUT = 400, 100
ENTRY_TOKENS = 40  # what a result's own line costs


@dataclass(frozen=True, slots=True)
class Recall:
    """A question and what may answer it. Empty filters do not restrict; `budget` is in tokens."""

    query: str
    limit: int = 10
    types: Sequence[str] = ()
    spaces: Sequence[str] = ()
    tags: Sequence[str] = ()
    tiers: Sequence[str] = ()
    created_after: str | None = None
    created_before: str | None = None
    include_outdated: bool = False
    budget: int | None = None
    explain: bool = False


@dataclass(frozen=True, slots=True)
class Hit:
    """A note that answers, with what is known of how well."""

    note: Note
    ranked: Ranked


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A note that no leg found, reached over an edge of a hit."""

    note: Note
    via: str
    edge: str


@dataclass(frozen=True, slots=True)
class Tension:
    """Two notes of which one contradicts the other."""

    first: str
    second: str
    reason: str


@dataclass(frozen=True, slots=True)
class Omitted:
    """What the budget cut off."""

    count: int
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recalled:
    """The answer. `after` and `before` are the window that applied."""

    hits: tuple[Hit, ...]
    related: tuple[Neighbour, ...]
    tensions: tuple[Tension, ...]
    omitted: Omitted
    after: str | None
    before: str | None
    event_id: str
    notices: tuple[str, ...]


async def recall(ports: Ports, caller: Caller, request: Recall) -> Recalled:
    """Find notes by words and meaning.

    Raises:
        InvalidArgumentError: the query is blank or an argument is out of its range.
    """
    wanted = _filter(ports, request)
    words = query_terms(request.query)
    subjects = await ports.index.subjects(words)
    vector, notice = await encode_query(ports, without_names(request.query, subjects))
    candidates = await ports.index.search(request.query, vector, wanted)
    ranked = rank(candidates, request.query, caller.space if not wanted.spaces else None, limit=request.limit)
    if request.explain and not ranked:
        ranked = rank(candidates, request.query, caller.space, limit=request.limit, gated=False)
    notes = await ports.index.notes([item.candidate.id for item in ranked])
    hits = _corrected([Hit(notes[item.candidate.id].note, item) for item in ranked if item.candidate.id in notes])
    kept, omitted = _within(hits, request.budget)
    related, tensions = await _around(ports, kept, wanted)
    event = _event(ports, caller, request, kept, vector)
    unrated = "" if await ports.recalls.add(event) else "This recall was not kept, so it cannot be rated later."
    notices = tuple(text for text in (notice, *await _notices(ports), unrated) if text)
    return Recalled(tuple(kept), related, tensions, omitted, wanted.after, wanted.before, event.id, notices)


def _event(
    ports: Ports, caller: Caller, request: Recall, hits: Sequence[Hit], vector: QueryVector | None
) -> RecallEvent:
    """The recall as it is kept for feedback; the query passes the same door as a note."""
    query = request.query if ports.secrets == "allow" else ports.door(request.query).text
    shown = tuple((hit.note.id, hit.ranked.relevance) for hit in hits)
    event_id = "evt_" + ports.new_id().removeprefix(PREFIX)
    event = RecallEvent(event_id, ports.now, query, caller.space, shown)
    return event if vector is None else replace(event, vector_set=vector.key, vector=vector.vector)


def _filter(ports: Ports, request: Recall) -> Filter:
    check_query(request.query)
    if not 1 <= request.limit <= LARGEST_LIMIT:
        raise InvalidArgumentError(f"limit is outside 1 to {LARGEST_LIMIT}.")
    if request.budget is not None and request.budget < 1:
        raise InvalidArgumentError("budget is below 1 token.")
    for name, values in (("spaces", request.spaces), ("tags", request.tags)):
        if len(values) > MOST_IDS:
            raise LimitExceededError(f"{name} takes at most {MOST_IDS} entries.")
    _known("types", request.types, NOTE_TYPES)
    _known("tiers", request.tiers, TIERS)
    return Filter(
        now=ports.now,
        spaces=tuple(space("spaces", name) for name in request.spaces),
        types=tuple(request.types),
        tiers=tuple(request.tiers),
        tags=tuple(" ".join(tag.split()) for tag in request.tags),  # as they are stored
        after=when("created_after", request.created_after),
        before=until("created_before", request.created_before),
        include_outdated=request.include_outdated,
    )


def _known(name: str, values: Sequence[str], allowed: Sequence[str]) -> None:
    if any(value not in allowed for value in values):
        raise InvalidArgumentError(f"{name} has an unknown entry.", f"Use {', '.join(allowed)}.")


def _corrected(hits: list[Hit]) -> list[Hit]:
    """Hits in order, but a superseded note behind the note that replaced it, with no higher a score."""
    shown = {hit.note.id: hit for hit in hits}
    ordered: dict[str, Hit] = {}
    for hit in hits:
        chain: list[Hit] = []
        step: Hit | None = hit
        while step is not None and step not in chain and step.note.id not in ordered:
            chain.append(step)
            step = shown.get(step.note.superseded_by or "")
        best = math.inf if step is None else ordered.get(step.note.id, step).ranked.score
        for later in reversed(chain):
            best = min(best, later.ranked.score)
            ordered[later.note.id] = replace(later, ranked=replace(later.ranked, score=best))
    return sorted(ordered.values(), key=lambda hit: -hit.ranked.score)


def _within(hits: list[Hit], budget: int | None) -> tuple[list[Hit], Omitted]:
    """As many whole hits as the budget holds, at least the first."""
    if budget is None:
        return hits, Omitted(0, ())
    spent = 0
    for place, hit in enumerate(hits):
        spent += ENTRY_TOKENS + len(hit.note.content) // CHARACTERS_PER_TOKEN
        if spent > budget and place:
            return hits[:place], Omitted(len(hits) - place, tuple(later.note.id for later in hits[place:]))
    return hits, Omitted(0, ())


async def _around(
    ports: Ports, hits: Sequence[Hit], wanted: Filter
) -> tuple[tuple[Neighbour, ...], tuple[Tension, ...]]:
    """Notes next to the best hits that pass the same filter, and contradictions among all that is shown."""
    ids = [hit.note.id for hit in hits]
    links = await ports.index.links(ids)
    found = set(ids)
    seeds = set(ids[:SEEDS])
    ways: dict[str, LinkRow] = {}
    for link in links:
        end = link.target if link.source in seeds else link.source
        if end not in found and seeds & {link.source, link.target} and end != SELF_ID and link.type != "preceded_by":
            ways.setdefault(end, link)
    notes = await ports.index.notes(ways)
    related = [
        Neighbour(notes[end].note, link.source if link.target == end else link.target, link.type)
        for end, link in ways.items()
        if end in notes and _passes(notes[end], wanted)
    ][:MOST_RELATED]
    shown = found | {item.note.id for item in related}
    tensions = [
        Tension(link.source, link.target, link.reason)
        for link in links
        if link.type == "contradicts" and {link.source, link.target} <= shown
    ]
    return tuple(related), tuple(dict.fromkeys(tensions))


def _passes(item: IndexedNote, wanted: Filter) -> bool:
    note = item.note
    current = not note.is_outdated and (note.valid_until is None or note.valid_until > wanted.now)
    return (
        (current or wanted.include_outdated)
        and note.merged_into is None
        and (not wanted.spaces or note.space in wanted.spaces)
        and (not wanted.types or note.type in wanted.types)
        and (not wanted.tiers or note.tier in wanted.tiers)
        and (not wanted.tags or bool({tag.lower() for tag in wanted.tags} & {tag.lower() for tag in note.tags}))
        and (wanted.after is None or note.happened >= wanted.after)
        and (wanted.before is None or note.happened <= wanted.before)
    )


async def _notices(ports: Ports) -> list[str]:
    """What stands in the way of a whole answer."""
    notices = []
    if ports.encoder is not None:
        pending = await ports.index.count_pending(ports.encoder.vector_set.key)
        if pending:
            these = "1 note has" if pending == 1 else f"{pending} notes have"
            notices.append(f"{these} no vector yet (pending): found by words until then.")
    problems = await ports.index.problems()
    if problems:
        path, reason = problems[0]
        more = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
        notices.append(f"Quarantined, not searched: {_shown(path)} ({reason}){more}.")
    return notices


def _shown(path: str) -> str:
    """A file's name on one line, the middle of a very long one left out."""
    name = path if path.isprintable() else path.encode("unicode_escape").decode()
    return f"memories/{name}" if len(name) <= LONGEST_PATH else f"memories/{name[:CUT]}...{name[-CUT:]}"
