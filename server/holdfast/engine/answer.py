"""The answer to a question, from one state of the index: hits, what stands around them, and what was left out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from holdfast.engine.asking import Asking, Window, hard_filter, window_of
from holdfast.engine.ports import View
from holdfast.index.rows import IndexedNote, LinkRow
from holdfast.model.ids import SELF_ID
from holdfast.model.memory import Note
from holdfast.model.query import Filter, Found
from holdfast.model.ranking import Ranked, gated, rank

SEEDS, MOST_RELATED = 5, 5
CHARACTERS_PER_TOKEN = 4
ENTRY_TOKENS = 40  # what a result's own line costs
INHERITED = 0.9  # of the relevance of a replaced note goes to the one that replaced it


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
class Answer:
    """`window` is the time that the question was taken to speak of; `elsewhen` says that the hits are from others."""

    hits: tuple[Hit, ...]
    related: tuple[Neighbour, ...]
    tensions: tuple[Tension, ...]
    omitted: Omitted
    window: Window | None
    elsewhen: bool


def answer(view: View, asking: Asking, limit: int, budget: int | None, *, explain: bool) -> Answer:
    """Find the best notes, nothing that falls short of the lines, at most `limit` and within `budget` tokens.

    What is asked for by its time is looked for there first; where nothing there fits, everywhere. With `explain` the
    nearest notes are shown where nothing is good enough.
    """
    window = window_of(view, asking)
    if window is not None:
        question = replace(asking.question, after=window.after, before=window.before)
        asking = replace(asking, question=question)
    narrow = hard_filter(asking)
    wanted = narrow or asking.wanted
    best = gated(_ranked(view, asking, wanted), limit)
    if not best:
        wanted = asking.wanted
        ranked = _ranked(view, asking, wanted)
        best = gated(ranked, limit) or (ranked[:limit] if explain else [])
    notes = view.notes(item.candidate.id for item in best)
    hits = [Hit(notes[item.candidate.id].note, item) for item in best if item.candidate.id in notes]
    kept, omitted = _within(hits if asking.question.past else _corrected(hits), budget)
    related, tensions = _around(view, kept, wanted, min(limit, MOST_RELATED))
    elsewhen = bool(kept) and narrow is not None and wanted is not narrow
    return Answer(tuple(kept), related, tensions, omitted, window, elsewhen)


def _ranked(view: View, asking: Asking, wanted: Filter) -> list[Ranked]:
    if wanted.include_outdated:
        return _in_order(view, asking, view.search(asking.text, asking.vector, wanted))
    found = view.search(asking.text, asking.vector, replace(wanted, include_superseded=True))
    return _replaced(view, _in_order(view, asking, found), wanted)


def _in_order(view: View, asking: Asking, found: Found) -> list[Ranked]:
    liked = view.affinities([item.id for item in found.candidates], asking.query, asking.vector, asking.wanted.now)
    return rank(found, replace(asking.question, affinity=liked))


def _replaced(view: View, ranked: Sequence[Ranked], wanted: Filter) -> list[Ranked]:
    """Notes that were superseded give way to the last of those that replaced them, if that may be shown."""
    best = {item.candidate.id: item for item in ranked if not item.candidate.outdated}
    retired = [item for item in ranked if item.candidate.outdated]
    if not retired:
        return list(ranked)
    last = view.successors([item.candidate.id for item in retired])
    missing = view.notes({last[item.candidate.id] for item in retired if item.candidate.id in last} - best.keys())
    for item in retired:
        successor = last.get(item.candidate.id, "")
        heir = best.get(successor) or _heir(item, missing.get(successor), wanted)
        if heir is not None:
            best[successor] = _inheriting(heir, item)
    return sorted(best.values(), key=lambda item: -item.score)


def _heir(item: Ranked, successor: IndexedNote | None, wanted: Filter) -> Ranked | None:
    """The successor as if it had been found, worth nothing of its own."""
    if successor is None or not _passes(successor, wanted):
        return None
    note = successor.note
    candidate = replace(
        item.candidate, id=note.id, space=note.space, tier=note.tier, created=note.created, outdated=False
    )
    return Ranked(candidate, -math.inf, 0.0)


def _inheriting(heir: Ranked, item: Ranked) -> Ranked:
    """Worth what the replaced note is, a little less, where that is more than it is worth by itself."""
    if item.score <= heir.score:
        return heir
    worth = max(heir.relevance, INHERITED * item.relevance)
    also = (*heir.also, f"replaces {item.candidate.id}, which fits")
    return replace(heir, score=item.score, relevance=worth, also=also)


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


def _around(
    view: View, hits: Sequence[Hit], wanted: Filter, most: int
) -> tuple[tuple[Neighbour, ...], tuple[Tension, ...]]:
    """Notes next to the best hits that pass the same filter, what contradicts them first; and all contradictions."""
    ids = [hit.note.id for hit in hits]
    links = view.links(ids)
    ways = _ways(links, ids)
    notes = {end: item for end, item in view.notes(ways).items() if _passes(item, wanted)}
    related = tuple(
        Neighbour(notes[end].note, link.source if link.target == end else link.target, link.type)
        for end, link in ways.items()
        if end in notes
    )[:most]
    shown = {*ids, *notes}
    tensions = (
        Tension(link.source, link.target, link.reason)
        for link in links
        if link.type == "contradicts" and {link.source, link.target} <= shown
    )
    return related, tuple(dict.fromkeys(tensions))


def _ways(links: Iterable[LinkRow], ids: Sequence[str]) -> dict[str, LinkRow]:
    """For each note next to the best hits the edge that leads to it, in the order in which they matter."""
    found, seeds = set(ids), set(ids[:SEEDS])
    ways: dict[str, LinkRow] = {}
    for link in sorted(links, key=lambda link: link.type != "contradicts"):
        end = link.target if link.source in seeds else link.source
        if end not in found and seeds & {link.source, link.target} and end != SELF_ID and link.type != "preceded_by":
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
