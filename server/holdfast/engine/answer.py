"""The answer to a question, from one state of the index: hits, what stands around them, and what was left out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from holdfast.engine.asking import Asking, hard_filter, narrowed
from holdfast.engine.phrasings import averaged, ranked_phrasing
from holdfast.engine.ports import View
from holdfast.index.rows import IndexedNote, LinkRow
from holdfast.model.ids import SELF_ID
from holdfast.model.memory import Note
from holdfast.model.passages import NOTHING, Passage
from holdfast.model.query import Candidate, Filter
from holdfast.model.ranking import FLOOR, Question, Ranked, gated, rank

Passing: TypeAlias = Callable[[Ranked], bool]

SEEDS, MOST_RELATED = 5, 5
LEAST_RANKED, MOST_RANKED = 64, 200  # candidates, of which some give way to others
OPENLY_ASKED = 0.7  # the relevance of what is from the time that an open question asks for
MOST_OF_AN_ORDER = 3  # weak hits for an order that names nothing in particular
INHERITED = 0.9  # of the relevance of a replaced note goes to the one that replaced it


@dataclass(frozen=True, slots=True)
class Hit:
    """A note that answers, with what is known of how well, and what of it is shown."""

    note: Note
    ranked: Ranked
    shown: Passage = NOTHING


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
class Answer:
    """`elsewhen` says that the hits are from other times than the question speaks of."""

    hits: tuple[Hit, ...]
    related: tuple[Neighbour, ...]
    tensions: tuple[Tension, ...]
    elsewhen: bool


def answer(view: View, asking: Asking, limit: int, *, explain: bool, passing: Passing | None = None) -> Answer:
    """Find the best notes, nothing that falls short of the lines, at most `limit`.

    What is asked for by its time is looked for there first; where nothing there fits, everywhere. With `explain` the
    nearest notes are shown where nothing is good enough. Where the caller says what is `passing`, that alone decides.
    Nothing is looked for where the question names nothing, unless with `explain`.
    """
    if asking.idle == "empty" and not explain:
        return Answer((), (), (), elsewhen=False)
    if asking.idle == "order":
        limit = min(limit, MOST_OF_AN_ORDER)
    wanted = narrow = hard_filter(asking) or asking.wanted
    best = ranked = [item for item in _from_then(view, asking, limit) if passing is None or passing(item)]
    if not best:
        ranked = _ranked(view, asking, narrow, limit)
        best = gated(ranked, limit, passing)
    if not best and narrow is not asking.wanted:
        wanted = asking.wanted
        ranked = _ranked(view, asking, wanted, limit)
        best = gated(ranked, limit, passing)
    if not best and explain:
        best = ranked[:limit]
    notes = view.notes(item.candidate.id for item in best)
    hits = [Hit(notes[item.candidate.id].note, item) for item in best if item.candidate.id in notes]
    around, tensions = _around(view, hits, [hit.note.id for hit in hits], wanted, min(limit, MOST_RELATED))
    elsewhen = bool(hits) and wanted is not narrow
    return Answer(tuple(hits), around, tensions, elsewhen)


def _from_then(view: View, asking: Asking, limit: int) -> list[Ranked]:
    """What "what did we do last week" asks for: all that is from then, the newest first."""
    if asking.window is None or not asking.open:
        return []
    wanted = narrowed(asking.wanted, asking.window.after, asking.window.before)
    ids = view.latest(wanted, limit + 1)
    notes = view.notes(ids)
    return [
        Ranked(_bare(notes[end].note), -float(place), OPENLY_ASKED, ("from the time that was asked for",))
        for place, end in enumerate(ids)
        if end in notes and end != SELF_ID
    ][:limit]


def _ranked(view: View, asking: Asking, wanted: Filter, limit: int) -> list[Ranked]:
    """What may be shown, best first; what replaced a note stands before it, unless the question is about the past."""
    searched = wanted if wanted.include_outdated else replace(wanted, include_superseded=True)
    most = min(MOST_RANKED, max(LEAST_RANKED, 2 * limit))
    strange = asking.question.extraordinary
    found = view.search(asking.text, asking.vector, searched, most=most, extraordinary=strange)
    liked = view.affinities([item.id for item in found.candidates], asking.query, asking.vector, wanted.now)
    everything = averaged(
        rank(found, replace(asking.question, affinity=liked), asking.weights),
        [ranked_phrasing(view, each, asking.question, searched, asking.weights, most) for each in asking.also],
    )
    ranked = [item for item in everything if item.candidate.id != SELF_ID or not item.weak]  # its text fits many things
    retired = [item.candidate.id for item in ranked if item.candidate.outdated]
    chains = view.successors(retired) if retired else {}
    if not asking.question.past:
        ranked = _replaced(view, ranked, chains, wanted)
    return _newest_first(view, ranked, chains, asking.question)


def _replaced(
    view: View, ranked: Sequence[Ranked], chains: Mapping[str, Sequence[str]], wanted: Filter
) -> list[Ranked]:
    """Notes that were superseded give way to the last of those that replaced them, if that may be shown."""
    best = {item.candidate.id: item for item in ranked if wanted.include_outdated or not item.candidate.outdated}
    missing = view.notes({chain[-1] for chain in chains.values()} - best.keys()) if chains else {}
    for item in ranked:
        if item.candidate.id in chains:
            last = chains[item.candidate.id][-1]
            heir = best.get(last) or _heir(item, missing.get(last), wanted)
            if heir is not None:
                best[last] = _inheriting(heir, item)
    return sorted(best.values(), key=lambda item: -item.score)


def _newest_first(
    view: View, ranked: Sequence[Ranked], chains: Mapping[str, Sequence[str]], question: Question
) -> list[Ranked]:
    """In order, but what evolved from a note, or replaced it, directly before that note, with no lower a score.

    Of a question about the past that holds only for what was there by then.
    """
    found = {item.candidate.id: item for item in ranked}
    then = {end for end, item in found.items() if not question.past or _was_there(item, question)}
    later = {old: [new for new in reversed(chain) if new in then] for old, chain in chains.items()}
    for new, old in view.evolved([item.candidate.id for item in ranked if item.relevance >= FLOOR]):
        later.setdefault(old, []).extend({new} & then)
    placed: dict[str, Ranked] = {}
    under_way: set[str] = set()

    def place(item: Ranked, score: float, older: str) -> None:
        note_id = item.candidate.id
        if note_id in under_way:
            return
        under_way.add(note_id)
        for new in later.get(note_id, ()):
            place(found[new], max(score, item.score), note_id)
        if score > item.score:
            item = replace(item, score=score, also=(*item.also, f"newer than {older}"))
        placed[note_id] = item

    for item in ranked:
        place(item, item.score, "")
    return list(placed.values())


def _was_there(item: Ranked, question: Question) -> bool:
    return question.before is not None and item.candidate.happened <= question.before


def _heir(item: Ranked, successor: IndexedNote | None, wanted: Filter) -> Ranked | None:
    """The successor as if it had been found, worth nothing of its own."""
    if successor is None or not _passes(successor, wanted):
        return None
    candidate = _bare(successor.note)._replace(coverage=item.candidate.coverage)
    return Ranked(candidate, -math.inf, 0.0, unknown=item.unknown)


def _bare(note: Note) -> Candidate:
    """A note that no leg found."""
    return Candidate(
        rowid=0,
        id=note.id,
        space=note.space,
        session=note.session,
        subject=note.subject,
        tier=note.tier,
        confidence=note.confidence,
        outdated=note.is_outdated,
        superseded_by=note.superseded_by,
        created=note.created,
        happened=note.happened,
        coverage=0.0,
        z=None,
        session_z=None,
    )


def _inheriting(heir: Ranked, item: Ranked) -> Ranked:
    """Worth what the replaced note is, a little less, where that is more than it is worth by itself."""
    if item.score <= heir.score:
        return heir
    worth = max(heir.relevance, INHERITED * item.relevance)
    also = (*heir.also, f"replaces {item.candidate.id} ({item.why})")
    return replace(heir, score=item.score, relevance=worth, also=also)


def _around(
    view: View, kept: Sequence[Hit], found: Sequence[str], wanted: Filter, most: int
) -> tuple[tuple[Neighbour, ...], tuple[Tension, ...]]:
    """Notes next to the best hits that pass the same filter, what contradicts them first; and all contradictions.

    `found` are the ids of all hits: they are no neighbours.
    """
    ids = [hit.note.id for hit in kept]
    links = view.links(ids)
    ways = _ways(links, ids[:SEEDS], found)
    notes = {end: item for end, item in view.notes(ways).items() if _passes(item, wanted)}
    related = tuple(
        Neighbour(notes[end].note, link.source if link.target == end else link.target, link.type)
        for end, link in ways.items()
        if end in notes
    )[:most]
    shown = {*found, *notes}
    tensions = (
        Tension(link.source, link.target, link.reason)
        for link in links
        if link.type == "contradicts" and {link.source, link.target} <= shown
    )
    return related, tuple(dict.fromkeys(tensions))


def _ways(links: Iterable[LinkRow], seeds: Sequence[str], found: Sequence[str]) -> dict[str, LinkRow]:
    """For each note next to the best hits the edge that leads to it, in the order in which they matter."""
    ways: dict[str, LinkRow] = {}
    for link in sorted(links, key=lambda link: (link.type != "contradicts", link.type != "evolved_from")):
        end = link.target if link.source in seeds else link.source
        if end in found or end == SELF_ID or link.type == "preceded_by":
            continue
        if link.source in seeds or link.target in seeds:
            ways.setdefault(end, link)
    return ways


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
