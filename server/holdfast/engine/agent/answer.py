"""The answer to a question, from one state of the index: hits, and what stands around them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final, TypeAlias

from holdfast.engine.agent.doubting import (
    MAY_NOT_ANSWER,
    Told,
    averaged,
    bare,
    before_that,
    beside_the_point,
    doubted_last,
    first_read,
    held_then,
    inheriting,
    is_of_several,
    names_in,
    of_another_place,
    placed_in,
    singled,
    with_doubts,
    with_meaning,
    worth_reading,
)
from holdfast.engine.agent.listing import (
    Listed,
    Listing,
    by_fit,
    listed,
    of_their_kind,
    off_the_list,
    persons,
    vacant,
    versions_on,
)
from holdfast.engine.agent.matters import (
    CLOSE_SEEDS,
    LOOKED,
    NEAR_THE_BEST,
    Earlier,
    Era,
    Matters,
    close_ones,
    compared,
    consolidated,
    current_first,
    earlier_of,
    valid_then,
)
from holdfast.engine.agent.question import (
    Asking,
    TimeWindow,
    anytime,
    hard_filter,
    in_time,
    lacking_of,
    of_that_time,
    outer,
    passes,
    ranked_phrasing,
    sought_of,
    tells_of_then,
)
from holdfast.index.rows import IndexedNote, LinkRow
from holdfast.index.view import IndexView
from holdfast.model.identifiers import identifiers_of
from holdfast.model.intent import asks_what_is_on, may_be_one
from holdfast.model.maintenance import cosine
from holdfast.model.note import SELF_ID, Note
from holdfast.model.opposition import CLOSE_Z, opposition, takes_sides
from holdfast.model.parts import says_it_alone
from holdfast.model.passages import NOTHING, Passage
from holdfast.model.ranking import FLOOR, LEVELLED, Filter, QueryVector, Question, Ranked, gated, levelled, rank
from holdfast.model.words import query_terms

Passing: TypeAlias = Callable[[Ranked], bool]

SEEDS, MOST_RELATED = 5, 5
LEAST_RANKED, MOST_RANKED = 64, 200  # candidates, of which some give way to others
LISTED, BESIDE = 1.0, 0.5  # the relevance of what is on a list that was asked for; beside what answers for certain
NAMED = 0.85  # at the least, of the note of a person who is asked for
_ABOUT, _OF_THE_KIND = ("is about whom was asked for",), ("is of the kind that was asked for",)
LOOKED_OF_A_LIST = 50  # of the notes on a list, which are compared with each other
MOST_OF_AN_ORDER = 3  # weak hits for an order that names nothing in particular
SAY_DIFFERENT = "they say different things about the same matter"


@dataclass(frozen=True, slots=True)
class Hit:
    """A note that answers, with what is known of how well, and what of it is shown.

    `earlier` are older notes about the same matter, which it stands for; `later_since` says since when it holds, where
    that is after the time that is asked about; `belief` says how a belief stands, and is empty for others. With
    `listed` it is on a list that was asked for, and its relevance says nothing. `terms` chose what is `shown`.
    """

    note: Note
    ranked: Ranked
    earlier: tuple[Earlier, ...] = ()
    later_since: str | None = None
    belief: str = ""
    shown: Passage = NOTHING
    listed: bool = False
    terms: tuple[str, ...] = ()


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
    """Hits with what stands around them, and where they are from.

    `passed` is how many hits were left out before these. `elsewhen` says that the best hits are from other times than
    the question speaks of; else `window` is its time, if a hit is from it. `listing` says what the hits are some of,
    where a list was asked for, `vacant` that nothing is on the one that was.
    """

    hits: tuple[Hit, ...]
    related: tuple[Neighbour, ...]
    tensions: tuple[Tension, ...]
    elsewhen: bool
    listing: Listing | None = None
    window: TimeWindow | None = None
    passed: int = 0
    vacant: str = ""


NOTHING_FOUND: Final = Answer((), (), (), elsewhen=False)


def answer(
    view: IndexView,
    asking: Asking,
    limit: int,
    *,
    explain: bool,
    passing: Passing | None = None,
    offset: int = 0,
    only_strong: bool = False,
) -> Answer:
    """Find the best notes, nothing that falls short of the lines, `limit` behind the first `offset`.

    A list that is asked for is one. What is asked for by its time is looked for there first; where nothing there fits,
    or only badly, everywhere. With `explain` the nearest notes are shown where nothing is good enough. Where the caller
    says what is `passing`, that alone decides. Nothing is looked for where the question names nothing, unless with
    `explain`. With `only_strong`, and of what is planned, nothing is told where words and meaning find only weak hits.
    """
    lists = listed(view, asking, limit, offset) if asking.may_list else None
    if lists is not None and (on_list := _of_list(view, asking, lists, limit, passing)) is not NOTHING_FOUND:
        return on_list
    is_of_plans = asking.intent is not None and asking.intent.planned
    if (asking.idle == "empty" or (is_of_plans and asks_what_is_on(asking.text))) and not explain:
        return NOTHING_FOUND
    most = offset + (min(limit, MOST_OF_AN_ORDER) if asking.idle == "order" else limit)
    found = _searched(view, asking, most, passing)
    is_doubtful = all(item.weak for item in found.best)
    if is_doubtful and not explain and (is_of_plans or (only_strong and asking.intent is None)):
        return NOTHING_FOUND
    if passing is None and asking.asks_back and is_doubtful:
        found = _retired(view, asking, most) or found
    best = found.best if found.is_inside else in_time(view, asking, found.best)
    fitting = [item for item in best if not asking.open or item.candidate.id != SELF_ID]  # of no time
    lacking = vacant(view, asking) if lists is None and asking.may_list else ""
    best = _asked_for_first(view, asking, off_the_list(fitting, asking) if lacking else fitting, passing)
    if not best and explain:
        best = found.ranked[:most]
    is_then = asking.question.past and found.is_inside  # what was valid then may have been said long before
    others = _ranked(view, asking, asking.wanted, most) if is_then else found.ranked
    hits, matters = _hits(view, asking, best, others, folding=passing is None)
    if not asking.question.past:  # what is only newer goes before no person
        hits.sort(key=lambda hit: not set(_ABOUT) <= set(hit.ranked.also))
    passed, hits = min(offset, len(hits)), hits[offset:most]
    if asking.time is None:  # what is of another time may say what held then
        hits = [replace(hits[at], ranked=item) for at, item in doubted_last([hit.ranked for hit in hits])]
    shown = [note.id for hit in hits for note in (hit.note, *(item.note for item in hit.earlier))]
    seeds = [hit.note.id for hit in hits if explain or not hit.ranked.weak]  # what is beside a doubtful one says little
    around, tensions = _around(view, hits, seeds, shown, found.wanted, min(most - offset, MOST_RELATED))
    tensions = (*tensions, *_seen_tensions(hits, asking.vector, matters, tensions))
    if passing is None and asking.asks_back and not asking.wanted.include_outdated:
        hits = _with_replaced(view, hits)
    first = hits[0].note if hits and not hits[0].ranked.weak and hits[0].note.event_time is None else None
    telling = first is not None and tells_of_then(asking, first)
    elsewhen = found.elsewhen and bool(hits) and not (telling or held_then(hits[0].note, asking.question))
    window = None if elsewhen else _claimed(asking, hits)
    return Answer(tuple(hits), around, tensions, elsewhen, window=window, passed=passed, vacant=lacking)


@dataclass(frozen=True, slots=True)
class _Search:
    """What was found with which filter, and what of it may be shown. With `is_inside` that is the time asked for."""

    wanted: Filter
    ranked: list[Ranked]
    best: list[Ranked]
    elsewhen: bool = False
    is_inside: bool = False


def _searched(view: IndexView, asking: Asking, most: int, passing: Passing | None) -> _Search:
    """What answers from the time asked for; where that is nothing, or weak, what is better elsewhere, or names it."""
    inside = hard_filter(asking)
    found = replace(_search(view, asking, inside or asking.wanted, most, passing), is_inside=inside is not None)
    if asking.window is None or any(not item.weak for item in found.best):
        held = _held_before(view, asking, inside, found, most, passing)
        return held or _with_what_tells_of_it(view, asking, found, most, passing)
    anyhow = anytime(asking)
    if inside is None and anyhow.text == asking.text:
        return found
    outside = _search(view, anyhow, asking.wanted, most, passing)
    if (found.best or inside is None) and (not outside.best or outside.best[0].weak):
        there = {item.candidate.id: item.relevance for item in found.best}
        worth, named = max(there.values(), default=1.0), {*query_terms(anyhow.text)} - {*query_terms(asking.text)}
        naming = (item for item in outside.best if not named.isdisjoint(item.candidate.matched))
        better = [item for item in naming if item.relevance >= worth and item.candidate.id not in there]
        return replace(found, best=sorted([*better, *found.best], key=lambda item: -item.score)) if better else found
    return replace(outside, elsewhen=inside is not None)


def _with_what_tells_of_it(
    view: IndexView, asking: Asking, found: _Search, most: int, passing: Passing | None
) -> _Search:
    """What is from the time asked about, with what was said at another time, speaks of it, and answers as well."""
    if asking.window is None or not found.is_inside:
        return found
    there = {item.candidate.id for item in found.best}
    outside = _search(view, anytime(asking), asking.wanted, most, passing).best[:LOOKED]
    others = [item for item in outside if not item.weak and item.candidate.id not in there]
    telling, sooner = of_that_time(asking, others, view.notes(item.candidate.id for item in others))
    best = sorted([*telling, *found.best], key=lambda item: -item.score)
    strong = next((place for place, item in enumerate(best) if item.weak), len(best))
    return replace(found, best=[*best[:strong], *sooner, *best[strong:]])


def _held_before(
    view: IndexView, asking: Asking, inside: Filter | None, found: _Search, most: int, passing: Passing | None
) -> _Search | None:
    """What was said up to the end of the time asked about, where that has more of the question's words, and all found.

    It may have held then: "what was Marte's cat called in May?" is not answered by what was told of Ingrid's in May.
    """
    if not asking.question.past or inside is None or inside.before is None:
        return None
    known = _search(view, anytime(asking), replace(asking.wanted, before=inside.before), most, passing)
    first = known.best[0] if known.best else None
    if first is None or first.weak or not set(first.candidate.matched) > set(found.best[0].candidate.matched):
        return None
    return replace(known, is_inside=True)


def _retired(view: IndexView, asking: Asking, most: int) -> _Search | None:
    """What was true once and fits what is asked in the past tense; None where that is nothing, or only weak."""
    past = _search(view, asking, replace(asking.wanted, include_outdated=True), most, None)
    first = past.best[0] if past.best else None
    return past if first is not None and first.candidate.outdated and not first.weak else None


def _with_replaced(view: IndexView, hits: Sequence[Hit]) -> list[Hit]:
    """The hits, the best of them with what they replaced behind them: "what was the fee?" may mean that."""
    best = [hit.note.id for hit in hits if not hit.ranked.weak][:SEEDS]
    links = [link for link in view.links(best) if link.type == "evolved_from" and link.source in best]
    notes = view.notes(link.target for link in links)

    def replaced_by(hit: Hit) -> list[str]:
        ends = [link.target for link in links if link.source == hit.note.id and link.target in notes]
        return [end for end in ends if notes[end].note.superseded_by == hit.note.id and end not in hit.ranked.untold]

    older = (earlier_of(hit.note, replaced_by(hit), notes, ()) for hit in hits)
    return [replace(hit, earlier=(*hit.earlier, *each)) for hit, each in zip(hits, older, strict=True)]


def _search(view: IndexView, asking: Asking, wanted: Filter, most: int, passing: Passing | None) -> _Search:
    ranked = _ranked(view, asking, wanted, most)
    return _Search(wanted, ranked, gated(ranked, max(most, LOOKED), passing, asks=asking.asks))


def _claimed(asking: Asking, hits: Sequence[Hit]) -> TimeWindow | None:
    """The time that the answer is from: that of the question, or with the days around it, where a hit is.

    Of strong hits one has to be; where the past is asked for it may be from before: it may have held then.
    """
    strong = [hit.note.happened for hit in hits if not hit.ranked.weak]
    for each in filter(None, (asking.window, outer(asking))):
        then = replace(each, after=None) if asking.question.past else each
        if any(each.holds(hit.note.happened) for hit in hits) and (not strong or any(map(then.holds, strong))):
            return each
    return None


def _of_list(view: IndexView, asking: Asking, lists: Listed, limit: int, passing: Passing | None) -> Answer:
    """The notes of a list. What the question's words find is on it too where they say what is meant."""
    listing, ids = lists.listing, lists.ids
    found: dict[str, Ranked] = {}
    everything, beside = ids, frozenset[str]()
    if lists.searched:
        ranked = _ranked(view, replace(asking, reading=None), lists.among or asking.wanted, LEAST_RANKED)
        strong = {item.candidate.id: item for item in ranked if not item.weak}
        if asking.intent is None or not asking.intent.liking:
            there = set(ids)
            found = {end: item for end, item in strong.items() if end not in there}
        everything = by_fit(view, (*ids, *found), asking, ranked)
        if asking.intent is not None and asking.intent.single:
            read = {end: item.note for end, item in view.notes(everything).items()}
            one = singled(read, asking.intent, everything, found, strong.keys())
            found = {end: item for end, item in found.items() if end not in one.strangers}
            everything, beside = one.ids, one.beside
            listing = replace(listing, lacking=one.lacking, which=f"{listing.which}{one.others}")
            if not everything:
                return NOTHING_FOUND
    if lists.whole:
        ids = everything[listing.offset : listing.offset + limit]
        listing = replace(listing, total=len(everything))
    notes = view.notes(ids)
    if lists.lacking:
        others = (end for end, item in notes.items() if not may_be_one(lists.lacking, asking.query, item.note.content))
        beside = frozenset(others)
        listing = replace(listing, lacking=f"no {' or '.join(lists.lacking)}; ")
    worth = {end: BESIDE if end in beside else LISTED for end in ids if end in notes}
    listed_ones = {end: Ranked(bare(notes[end].note), 0.0, each, ("listed",)) for end, each in worth.items()}
    hits = [Hit(notes[end].note, found.get(end, item), listed=end not in found) for end, item in listed_ones.items()]
    kept = [hit for hit in hits if passing is None or passing(hit.ranked)]
    asked = lists.window
    is_of_what_comes = asking.of_now or bool(asking.intent and (asking.intent.due or asking.intent.planned))
    has_begun = asked is not None and asked.after is not None and asked.after < asking.wanted.now
    is_chronicle = has_begun and not is_of_what_comes  # each did happen
    if passing is None and not is_chronicle and (asking.question.past or not asking.wanted.include_outdated):
        kept = _folded(view, asking, kept)
    _, tensions = _around(view, kept, (), [hit.note.id for hit in kept], asking.wanted, 0)
    window = asked if asked and any(asked.holds(hit.note.happened) for hit in kept) else None
    return Answer(tuple(kept), (), tensions, elsewhen=False, listing=listing, window=window)


def _folded(view: IndexView, asking: Asking, hits: Sequence[Hit]) -> list[Hit]:
    """The hits of a list, each with its older version behind it, or with the note that says otherwise since."""
    looked = {hit.note.id: hit.ranked for hit in hits[:LOOKED_OF_A_LIST] if not hit.note.is_outdated}
    found = versions_on(view, looked, asking.wanted, asking.vector.key if asking.vector else None)
    folded = {end for each in found.behind.values() for end in each}
    return [
        replace(
            hit,
            earlier=earlier_of(hit.note, found.behind.get(end, ()), found.notes, ()),
            ranked=hit.ranked._replace(doubt=found.doubts[end]) if end in found.doubts else hit.ranked,
        )
        for hit in hits
        if (end := hit.note.id) not in folded
    ]


def _asked_for_first(view: IndexView, asking: Asking, best: Sequence[Ranked], passing: Passing | None) -> list[Ranked]:
    """The note of a person who is asked for by name leads, then what has that name; or what is of a kind asked for."""
    ids: Sequence[str] = persons(view, asking.wanted, asking.person) if asking.person else ()
    is_plain = asking.time is None and asking.idle is None and not asking.wanted.types
    if is_plain and asking.intent is not None and asking.intent.several:
        ids = of_their_kind(view, asking, asking.intent)
    found = {item.candidate.id: item for item in best}
    missing = view.notes(end for end in ids if end not in found)
    found |= {end: Ranked(bare(item.note), 0.0, 0.0) for end, item in missing.items()}
    most = max((item.relevance for item in best), default=0.0)
    why = _ABOUT if asking.person else _OF_THE_KIND
    leading = [found[end]._replace(relevance=max(most, NAMED), doubt="", also=why) for end in ids]
    leading = [item for item in leading if passing is None or passing(item)]
    return [*leading, *(item for item in best if item.candidate.id not in ids)]


def _hits(
    view: IndexView, asking: Asking, best: Sequence[Ranked], others: Sequence[Ranked], *, folding: bool
) -> tuple[list[Hit], Matters]:
    """The best, but of several about one matter what is current first, or what was valid at the time asked about.

    `others` may be about the same matter, and are not shown for any other reason.
    """
    key = asking.vector.key if asking.vector else None
    rest = {item.candidate.id: item for item in others[LOOKED:]}
    seeds = [item.candidate.id for item in best[:CLOSE_SEEDS]]
    near_best = (rest[end] for end in view.near_ones(key, seeds[:NEAR_THE_BEST], list(rest)))
    looked = {item.candidate.id: item for item in (*others[:LOOKED], *best[:LOOKED], *near_best)}
    links = view.links(list(looked))
    near = [end for end in close_ones(links, view.readings(seeds), seeds) if end not in looked][:LOOKED]
    untold = {end for item in best for end in item.untold}
    notes = view.notes([*(item.candidate.id for item in best), *looked, *near, *untold])
    fitting = (end for end in near if end in notes and passes(notes[end], asking.wanted))
    looked |= {end: Ranked(bare(notes[end].note), -math.inf, 0.0) for end in fitting}
    retired = [end for end, item in looked.items() if item.candidate.outdated]
    chains = view.successors(retired) if retired else {}
    wholes = {} if asking.question.past else consolidated(links, {item.candidate.id for item in best})
    there = {end: notes[end] for end in looked if end in notes}
    matters = compared(view, there, links, key, {**chains, **wholes}, asking.text)
    fit = (item.candidate.id for item in best if not item.weak or item.doubt == MAY_NOT_ANSWER)
    strong = [notes[end].note for end in fit if end in notes]
    if not asking.question.past and not is_of_several(asking.nth, strong):
        folding = folding and not asking.wanted.include_outdated
        naming, names = identifiers_of(asking.text), names_in(asking.question)
        told = Told(asking.reading, {end: item.note for end, item in notes.items()})
        led = current_first(best, looked, matters, naming, names, lacking_of(asking, notes), told, folding=folding)
    else:
        telling = (end for end, item in notes.items() if tells_of_then(asking, item.note))
        led = valid_then(best, looked, matters, _era(asking, frozenset(telling)))
    shown = ((each, notes[each.item.candidate.id].note) for each in led if each.item.candidate.id in notes)
    hits = [
        Hit(note, each.item, earlier_of(note, (*each.behind, *each.item.untold), notes, wholes), each.later_since)
        for each, note in shown
    ]
    return hits, matters


def _era(asking: Asking, telling: frozenset[str]) -> Era:
    """The time in the past that the question means."""
    window, before = asking.window, asking.question.before
    after_it = window is not None and window.event is not None and window.before is not None
    name = (asking.time and asking.time.event) or ""
    turn = query_terms(name) if window is None or name[:1].isupper() else ()  # of "the outage" its day tells
    nth = 1 if asking.time is not None and asking.time.first else asking.nth
    event, comes_again = window.event if window and after_it else None, asking.time is not None and asking.time.coming
    return Era(before, nth, event, frozenset(turn), bool(comes_again), telling)


def _ranked(view: IndexView, asking: Asking, wanted: Filter, limit: int) -> list[Ranked]:
    """What may be shown, best first; what replaced a note stands before it, unless the question is about the past."""
    searched = wanted if wanted.include_outdated else replace(wanted, include_superseded=True)
    most = min(MOST_RANKED, max(LEAST_RANKED, 2 * limit))
    strange = asking.question.extraordinary | asking.question.seldom
    found = view.search(asking.text, asking.vector, searched, most=most, extraordinary=strange, beside=asking.beside)
    liked = view.affinities([item.id for item in found.candidates], asking.query, asking.vector, wanted.now)
    question = placed_in(replace(asking.question, affinity=liked), found)
    everything = averaged(
        with_meaning(found, rank(found, question, asking.weights)),
        [ranked_phrasing(view, each, asking.question, searched, asking.weights, most) for each in asking.also],
        by_name=asking.by_name,
    )
    ranked = [item for item in everything if item.candidate.id != SELF_ID or not item.weak]  # its text fits many things
    ranked = _doubted(view, asking, of_another_place(ranked, found.places), max(limit, LEVELLED))
    retired = [item.candidate.id for item in ranked if item.candidate.outdated]
    chains = view.successors(retired) if retired else {}
    if retired and not asking.question.past:
        ranked = _replaced(view, asking, ranked, chains, wanted)
    ranked = _newest_first(view, ranked, chains, asking.question)
    return levelled(first_read(ranked, asking.reading, lambda end: [item.note for item in view.notes([end]).values()]))


def _doubted(view: IndexView, asking: Asking, ranked: Sequence[Ranked], most: int) -> list[Ranked]:
    asked = sought_of(asking)
    read = view.notes(worth_reading(ranked[:most], asked))
    notes = {end: item.note for end, item in read.items()}
    return with_doubts(ranked, most, notes, asked, before_that(asking.question, asking.time))


def _replaced(
    view: IndexView, asking: Asking, ranked: Sequence[Ranked], chains: Mapping[str, Sequence[str]], wanted: Filter
) -> list[Ranked]:
    """Notes that were superseded give way to the last of those that replaced them, if that may be shown."""
    best = {item.candidate.id: item for item in ranked if wanted.include_outdated or not item.candidate.outdated}
    if asking.nth:  # the first of several was replaced
        return [item for item in ranked if item.candidate.id in best or item.candidate.superseded_by]
    notes = view.notes({end for old, chain in chains.items() for end in (old, chain[-1])})
    told = {end: item.note for end, item in notes.items()}
    alone = says_it_alone(asking.text, sought_of(asking), told, asks=asking.asks)
    for item in ranked:
        old = item.candidate.id
        if old in chains:
            last = chains[old][-1]
            successor = best.get(last) or _successor(item, notes.get(last), wanted)
            if successor is not None:
                is_asked = item.relevance >= FLOOR and not wanted.include_outdated and alone(item, successor)
                best[last] = beside_the_point(successor, item) if is_asked else inheriting(successor, item)
    return sorted(best.values(), key=lambda item: -item.score)


def _newest_first(
    view: IndexView, ranked: Sequence[Ranked], chains: Mapping[str, Sequence[str]], question: Question
) -> list[Ranked]:
    """In order, but what evolved from a note, or replaced it, directly before that note, with no lower a score.

    Of a question about the past that holds only for what was there by then.
    """
    found = {item.candidate.id: item for item in ranked}
    end_of_it = (question.before or "") if question.past else "~"
    then = {end for end, item in found.items() if item.candidate.happened <= end_of_it}
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
            item = item._replace(score=score, also=(*item.also, f"newer than {older}"))
        placed[note_id] = item

    for item in ranked:
        place(item, item.score, "")
    return list(placed.values())


def _successor(item: Ranked, successor: IndexedNote | None, wanted: Filter) -> Ranked | None:
    """The successor as if it had been found, worth nothing of its own."""
    if successor is None or not passes(successor, wanted):
        return None
    candidate = bare(successor.note)._replace(coverage=item.candidate.coverage)
    return Ranked(candidate, -math.inf, 0.0, unknown=item.unknown)


def _around(
    view: IndexView, kept: Sequence[Hit], seeds: Sequence[str], found: Sequence[str], wanted: Filter, most: int
) -> tuple[tuple[Neighbour, ...], tuple[Tension, ...]]:
    """Notes next to the best hits that pass the same filter, what contradicts them first; and all contradictions.

    `seeds` are the ids of the hits whose neighbours are looked for; `found` those of all hits and of what stands behind
    them: they are no neighbours.
    """
    links = view.links([hit.note.id for hit in kept])
    ways = _ways(links, seeds[:SEEDS], found)
    notes = {end: item for end, item in view.notes(ways).items() if passes(item, wanted)}
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
    paired = {frozenset((item.first, item.second)) for item in known}
    unclear = (Tension(*pair, SAY_DIFFERENT) for pair in matters.unclear if shown.keys() >= set(pair))
    found = (*_opposed(list(shown.values()), matters.vectors, vector), *unclear)
    return _tying([each for each in found if frozenset((each.first, each.second)) not in paired])


def _tying(pairs: Iterable[Tension]) -> list[Tension]:
    """Those of the pairs that tie notes which none before does: of several that all differ, not every two."""
    told: list[Tension] = []
    together: dict[str, set[str]] = {}
    for pair in pairs:
        first, second = (together.setdefault(end, {end}) for end in (pair.first, pair.second))
        if first is not second:
            told.append(pair)
            first |= second
            together.update(dict.fromkeys(second, first))
    return told


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


def _opposed(notes: Sequence[Note], vectors: Mapping[str, bytes], asked: QueryVector | None) -> Iterator[Tension]:
    """Which of these notes say the opposite of each other; `asked` has mean and deviation of their cosines."""
    near = asked.mean + CLOSE_Z * asked.deviation if asked else 0.0
    for one, other in combinations([note for note in notes if takes_sides(note.content)], 2):
        pattern = opposition(one.content, other.content)
        are_known = {one.id, other.id} <= vectors.keys()
        if pattern is None and are_known and cosine(vectors[one.id], vectors[other.id]) >= near:
            pattern = opposition(one.content, other.content, close=True)
        if pattern is not None:
            yield Tension(one.id, other.id, pattern)
