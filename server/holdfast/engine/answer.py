"""The answer to a question, from one state of the index: hits, what stands around them, and what was left out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from holdfast.engine.asking import Asking, hard_filter, narrowed
from holdfast.engine.contradiction import opposed_pairs
from holdfast.engine.matters import (
    CLOSE_SEEDS,
    LOOKED,
    Earlier,
    Led,
    Matters,
    bare,
    close_ones,
    compared,
    consolidated,
    current_first,
    earlier_of,
    valid_then,
)
from holdfast.engine.phrasings import averaged, ranked_phrasing
from holdfast.engine.ports import View
from holdfast.engine.remember import AUTO_REASONS
from holdfast.index.rows import IndexedNote, LinkRow
from holdfast.model.ids import SELF_ID
from holdfast.model.memory import Note
from holdfast.model.passages import NOTHING, Passage
from holdfast.model.query import Filter, QueryVector
from holdfast.model.ranking import FLOOR, Question, Ranked, gated, rank

NO_MATTERS = Matters({}, {})
Passing: TypeAlias = Callable[[Ranked], bool]

SEEDS, MOST_RELATED = 5, 5
LEAST_RANKED, MOST_RANKED = 64, 200  # candidates, of which some give way to others
OPENLY_ASKED = 0.7  # the relevance of what is from the time that an open question asks for
MOST_OF_AN_ORDER = 3  # weak hits for an order that names nothing in particular
SAY_DIFFERENT = "they say different things of the same"
FROM_THEN = "from the time that was asked for"
INHERITED = 0.9  # of the relevance of a replaced note goes to the one that replaced it


@dataclass(frozen=True, slots=True)
class Hit:
    """A note that answers, with what is known of how well, and what of it is shown.

    `earlier` are older notes about the same matter, which it stands for; `later_since` says since when it holds, where
    that is after the time that is asked about; `belief` says how a belief stands, and is empty for others.
    """

    note: Note
    ranked: Ranked
    earlier: tuple[Earlier, ...] = ()
    later_since: str | None = None
    belief: str = ""
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
    listed = _from_then(view, asking, limit, passing)
    best = ranked = [hit.ranked for hit in listed]
    if not best:
        ranked = _ranked(view, asking, narrow, limit)
        best = gated(ranked, max(limit, LOOKED), passing)
    if not best and narrow is not asking.wanted:
        wanted = asking.wanted
        ranked = _ranked(view, asking, wanted, limit)
        best = gated(ranked, max(limit, LOOKED), passing)
    if not best and explain:
        best = ranked[:limit]
    others = ranked if passing is None else []
    if asking.question.past and narrow is not asking.wanted and wanted is narrow:
        others = _ranked(view, asking, asking.wanted, limit)  # what was valid then may have been said long before
    hits, matters = (listed, NO_MATTERS) if listed else _hits(view, asking, best, others, folding=passing is None)
    hits = hits[:limit]
    told = [note.id for hit in hits for note in (hit.note, *(item.note for item in hit.earlier))]
    around, tensions = _around(view, hits, told, wanted, min(limit, MOST_RELATED))
    tensions = (*tensions, *_seen_tensions(hits, asking.vector, matters, tensions))
    elsewhen = bool(hits) and wanted is not narrow
    return Answer(tuple(hits), around, tensions, elsewhen)


def _hits(
    view: View, asking: Asking, best: Sequence[Ranked], others: Sequence[Ranked], *, folding: bool
) -> tuple[list[Hit], Matters]:
    """The best, but of several about one matter what is current first, or what was valid at the time asked about.

    `others` may be about the same matter, and are not shown for any other reason.
    """
    looked = {item.candidate.id: item for item in (*others[:LOOKED], *best[:LOOKED])}
    links = view.links(list(looked))
    seeds = [item.candidate.id for item in best[:CLOSE_SEEDS]]
    near = [end for end in close_ones(links, seeds, AUTO_REASONS) if end not in looked] if folding else []
    notes = view.notes([*(item.candidate.id for item in best), *looked, *near])
    fitting = (end for end in near if end in notes and _passes(notes[end], asking.wanted))
    looked |= {end: Ranked(bare(notes[end].note), -math.inf, 0.0) for end in fitting}
    retired = [end for end, item in looked.items() if item.candidate.outdated]
    chains = view.successors(retired) if retired else {}
    wholes = {} if asking.question.past else consolidated(links, {item.candidate.id for item in best})
    key = asking.vector.key if asking.vector else None
    made = [link for link in links if link.reason not in AUTO_REASONS]
    matters = compared(view, {end: notes[end] for end in looked if end in notes}, made, key, {**chains, **wholes})
    if not asking.question.past:
        led = current_first(best, looked, matters, folding=folding and not asking.wanted.include_outdated)
    elif asking.question.before is None:
        led = [Led(item) for item in best]
    else:
        led = valid_then(best, looked, matters, asking.question.before)
    shown = ((each, notes[each.item.candidate.id].note) for each in led if each.item.candidate.id in notes)
    hits = [
        Hit(note, each.item, earlier_of(note, each.behind, notes, wholes), each.later_since) for each, note in shown
    ]
    return hits, matters


def _from_then(view: View, asking: Asking, limit: int, passing: Passing | None) -> list[Hit]:
    """What "what did we do last week" asks for: all that is from then, the newest first."""
    if asking.window is None or not asking.open:
        return []
    wanted = narrowed(asking.wanted, asking.window.after, asking.window.before)
    ids = view.latest(wanted, limit + 1)
    notes = view.notes(ids)
    found = [
        Hit(notes[end].note, Ranked(bare(notes[end].note), -float(place), OPENLY_ASKED, (FROM_THEN,)))
        for place, end in enumerate(ids)
        if end in notes and end != SELF_ID
    ]
    return [hit for hit in found if passing is None or passing(hit.ranked)][:limit]


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
    candidate = bare(successor.note)._replace(coverage=item.candidate.coverage)
    return Ranked(candidate, -math.inf, 0.0, unknown=item.unknown)


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

    `found` are the ids of all hits and of what stands behind them: they are no neighbours.
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


def _seen_tensions(
    kept: Sequence[Hit], vector: QueryVector | None, matters: Matters, known: Sequence[Tension]
) -> list[Tension]:
    """What the hits say against each other and against what stands behind them, where no edge tells it."""
    shown = {note.id: note for hit in kept for note in (hit.note, *(item.note for item in hit.earlier))}
    background = (vector.mean, vector.deviation) if vector else (0.0, 0.0)
    pairs = [
        (item.memory_id_1, item.memory_id_2, item.pattern)
        for item in opposed_pairs(list(shown.values()), matters.vectors, background)
    ]
    pairs += [(*pair, SAY_DIFFERENT) for pair in matters.unclear if shown.keys() >= set(pair)]
    told = {frozenset((item.first, item.second)) for item in known}
    return [Tension(*pair) for pair in pairs if frozenset(pair[:2]) not in told]


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
