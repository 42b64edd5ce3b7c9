"""Several notes about one matter: what is current comes first, the older ones stand behind it, each in one line.

Nothing but the order and the form of an answer follows from this: no note is retired by it, and every note that gives
way is named. Of a question about the past, what was valid then comes first, and what came later is marked.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import combinations

from holdfast.engine.agent.doubting import Told
from holdfast.index.rows import IndexedNote, LinkRow, contradicting, read_pairs
from holdfast.index.view import IndexView
from holdfast.model.claims import claim, said_besides
from holdfast.model.note import SELF_ID, Note, are_near, in_time, may_be_versions, moment, said_at
from holdfast.model.opposition import compared as differing
from holdfast.model.opposition import differ_in_one_place, of_one_frame, one_each, told_anew_in_part
from holdfast.model.parts import Lack, tells_of_another
from holdfast.model.ranking import Ranked
from holdfast.model.statement import statement, stem
from holdfast.model.versions import (
    AUTO_REASONS,
    BESIDE,
    FAR,
    FOLDED,
    LED,
    MADE_OF,
    PERHAPS,
    SURE,
    SURELY_READ,
    UNASKED,
    as_read,
    judged,
    of_one_chain,
)
from holdfast.model.words import folded_words

LOOKED = 15  # of the best hits, which are compared with each other
NEAR_THE_BEST = 3  # hits: a note further down that is near one of them by its own meaning is looked at too
_MOST_TOLD = 15  # pairs that were read, of which the notes are looked at too
CLOSE_SEEDS = 5  # of the best hits, whose close notes are compared too
MOST_EARLIER = 5  # that stand behind one hit; what is more stays a hit of its own
# How the odds that a newer note is a version of an older one (`Judged.odds`) change with what is around the two: for
# each note that is nearer to either (times the logarithm), for as much as the older one is nearer to the newer than all
# others are; `_OF_READ` of that where they were read together. They are to reach `_AHEAD`, and more with the newer's
# place (times the logarithm), less for each deviation that its meaning is nearer to the question than all others';
# `_FULLER` more where the older one says more. Fitted with what reading tells, on pairs that the model was not taught
# and halves A, E and G of bench/versions.py: a lower line puts more newer versions first, and more that is beside.
_NEARER_TO_NEWER, _NEARER_TO_OLDER, _APART, _OF_READ = 1.33, 1.23, 1.67, 0.47
_AHEAD, _BEHIND, _CLEAR = -1.0, 0.49, 0.27
_MOST_APART, _MOST_CLEAR, _NEIGHBOURS = 0.4, 3.0, 5  # so many are nearer to either: such pairs are not looked at
_UNKNOWN_Z, _NOWHERE = -1.0, 99  # of what no leg found; the place of what is no hit
_FIRST = 8  # hits, that one may go ahead of: what hardly answers is no reason to show more
# The same by words alone, where relevance stands for meaning; `_LESS` and `_WEAK` by hand, for notes of one word more.
_WORDS_AHEAD, _WORDS_BEHIND, _LESS, _FULLER = -4.55, 0.9, 10.0, 1.7
_WEAK = -1.3  # the same, at the least, of what hardly answers
_OF_A_GROUP, _LIKELY_ONE = 0.2, 0.4  # where the past is asked for; the other if the newer lacks words asked for
_OVERTAKEN = 4.0  # the odds for a newer version of a part of what was consolidated: above every line
# How likely versions of one fact they are to be at the least, where the newer lacks more than half of the words of the
# question that the older has; lacks fewer, and is strong all the same, or is not.
_NEEDED_IN_SPITE: Mapping[Lack, float] = {"": 0.0, "name": FOLDED, "value": UNASKED, "thing": math.inf}
_LEAST_MOST, _LEAST_STRONG, _LEAST_LIKELY = 0.35, 0.05, 0.2
_READ = 3  # of the best hits, with the question
_ITS_LIKE = 4.4  # deviations, as near as another of its like is to a question; the same in other words is less near
_NEARLY_STRONG = 0.5  # the relevance of what has all the words asked for but those of the change
_ONE_GO = timedelta(seconds=90)  # and within this it is a list, if no word tells of a change
_IN_TIME = frozenset({"preceded_by", "evolved_from", "contradicts"})  # edges between versions of one fact


@dataclass(frozen=True, slots=True)
class Earlier:
    """A note that a hit stands for: what was said before, `days` older; or a part that was consolidated in it."""

    note: Note
    days: int
    is_part: bool = False


@dataclass(frozen=True, slots=True)
class Led:
    """A hit with the ids of the notes that it stands for; `later_since` is set where it held only later than asked."""

    item: Ranked
    behind: tuple[str, ...] = ()
    later_since: str | None = None


@dataclass(frozen=True, slots=True)
class Matters:
    """Pairs of notes, the older and the newer, by how likely they are two versions of one fact.

    `unclear` are pairs that say different things but were told in one go, the newer first. `compared` are pairs that
    nothing but their texts made likely. `odds` are for an order, siblings included; `framed` those by words, of pairs
    that differ in one place and were read together. `overtaken` are pairs of what was consolidated and a newer version
    of a part of it, with its other parts. `vectors` and `texts` are by id.
    """

    said: Mapping[str, str]
    likely: Mapping[tuple[str, str], float]
    odds: Mapping[tuple[str, str], float]
    unclear: tuple[tuple[str, str], ...]
    compared: Collection[tuple[str, str]]
    overtaken: Mapping[tuple[str, str], Sequence[str]]
    vectors: Mapping[str, bytes]
    texts: Mapping[str, str]
    framed: Mapping[tuple[str, str], float]

    def of(self, older: str, newer: str) -> float:
        return self.likely.get((older, newer), 0.0)

    def ahead(self, older: str, newer: str, *, as_well: bool) -> float:
        """The odds for an order. `as_well`: the newer has all words of the question that the older has."""
        odds = self.odds.get((older, newer), -math.inf)
        return max(odds, self.framed.get((older, newer), odds)) if as_well else odds

    def besides(self, older: str, newer: str) -> frozenset[str]:
        """The stems of what the older of a pair that was compared says besides."""
        return said_besides(self.texts[older], self.texts[newer]) if (older, newer) in self.compared else frozenset()


def compared(
    view: IndexView,
    notes: Mapping[str, IndexedNote],
    links: Sequence[LinkRow],
    key: str | None,
    chains: Mapping[str, Sequence[str]],
    asked: str = "",
) -> Matters:
    """Compare notes with each other.

    Args:
        view: where their vectors are.
        notes: what is compared.
        links: edges between them: those that somebody made say how two belong together, others how two were read.
        key: the vector set; None where there is none.
        chains: for a note that was replaced, or consolidated, those that stand for it.
        asked: the question; of long notes what they say of that is compared too.
    """
    tied = _tied(view, notes, links)
    read = view.readings(list(notes)) | read_pairs(links, notes)
    vectors = view.first_vectors(key, list(notes)) if key else {}
    texts = {each: item.note.content for each, item in notes.items()}
    likely = {(old, new): 1.0 for old, chain in chains.items() for new in chain if old in notes and new in notes}
    unclear: list[tuple[str, str]] = []
    found, odds, framed = (dict[tuple[str, str], float]() for _ in range(3))
    ordered = sorted((item.note for item in notes.values()), key=lambda note: (note.happened, note.created, note.id))
    in_part = told_anew_in_part(ordered, asked, tied | {frozenset(pair) for pair in likely})
    around = _Around(ordered, view.likenesses([vectors.get(note.id) for note in ordered]))
    for one, other, is_same, likeness in around.pairs(read):
        if is_same and one.space == other.space and SELF_ID not in (one.id, other.id):  # two files of one text, say
            likely[one.id, other.id] = 1.0
            continue
        is_known = (one.id, other.id) in likely or (other.id, one.id) in likely
        if is_known or frozenset((one.id, other.id)) in tied or not may_be_versions(one, other):
            continue
        older, newer = in_time(one, other)
        pair, (worth, weight) = (older.id, newer.id), judged(older.content, newer.content, likeness)
        known = read.get(frozenset(pair)) if key is None or (likeness or 0.0) >= FAR else None
        if known is not None and worth >= FOLDED and differ_in_one_place(older.content, newer.content):
            framed[pair] = weight + around.odds(*pair)
        if known is not None:
            worth, weight = as_read(known, weight, older.content, newer.content)
        if weight > -math.inf and _at_once(older, newer, worth, is_read=known is not None):
            differ = worth >= FOLDED and differing(older, newer).difference != "none"
            if worth < PERHAPS or (known is None and not differ):
                continue
            unclear += [(newer.id, older.id)] * differ
            worth, weight = (LED, -math.inf) if known is None else (min(worth, BESIDE), weight)
        if worth >= LED:
            likely[pair] = found[pair] = worth
        if weight > -math.inf:
            odds[pair] = weight if likeness is None else weight + around.odds(*pair, is_read=known is not None)
    said = {each: said_at(item.note) for each, item in notes.items()}
    told = {(link.target, link.source): 1.0 for link in links if link.type == "evolved_from"} | likely
    late, opposed = overtaken(consolidated(links), told, said), contradicting(links, notes)
    likely |= of_one_frame(found, texts, SURELY_READ, unclear) | of_one_chain(found, texts, said)
    likely |= {pair: max(BESIDE, likely.get(pair, 0.0)) for pair in opposed} | dict.fromkeys((*late, *in_part), PERHAPS)
    odds |= dict.fromkeys((*late, *in_part), _OVERTAKEN) | dict.fromkeys(opposed, math.inf)
    by_texts = {*found, *odds}.difference(in_part)
    return Matters(said, one_each(likely), odds, tuple(unclear), by_texts, late, vectors, texts, framed)


def _tied(view: IndexView, notes: Mapping[str, IndexedNote], links: Iterable[LinkRow]) -> set[frozenset[str]]:
    """Pairs that somebody tied in another way than versions are, or judged to be of two matters."""
    made = (link for link in links if link.reason not in AUTO_REASONS and link.type not in _IN_TIME)
    return {frozenset((link.source, link.target)) for link in made} | view.judged_apart(notes)


class _Around:
    """How near the compared notes are to each other: `cosines` of each with each, NaN without a vector."""

    def __init__(self, notes: Sequence[Note], cosines: Sequence[Sequence[float]]) -> None:
        self._notes = notes
        self._cosines = cosines or [[math.nan] * len(notes)] * len(notes)
        self._places = {note.id: place for place, note in enumerate(notes)}
        self._near = [  # of each the others' cosines, the least first
            sorted(value for value in (*row[:place], *row[place + 1 :]) if not math.isnan(value))
            for place, row in enumerate(self._cosines)
        ]

    def pairs(self, read: Collection[frozenset[str]]) -> Iterator[tuple[Note, Note, bool, float | None]]:
        """The pairs that may be two versions: whether their texts are one, and their cosine if it is known.

        They are near, among the nearest of either, of one text, or were `read` together.
        """
        notes, texts = self._notes, [note.content.strip() for note in self._notes]
        least = [near[-_NEIGHBOURS] if len(near) >= _NEIGHBOURS else -math.inf for near in self._near]
        known = {frozenset(self._places.get(end) for end in pair) for pair in read}
        for place, at in combinations(range(len(notes)), 2):
            value = self._cosines[place][at]
            is_same = texts[place] == texts[at] != ""
            is_far = value < min(FAR, max(least[place], least[at]))  # NaN is not
            if is_same or not is_far or {place, at} in known:
                yield notes[place], notes[at], is_same, None if math.isnan(value) else value

    def odds(self, older: str, newer: str, *, is_read: bool = False) -> float:
        """What the others say for two notes being versions of one fact: the nearer they are to either, the less."""
        one, other = self._places[older], self._places[newer]
        value, near = self._cosines[one][other], self._near[other]
        next_one = near[-2 if near[-1] == value else -1] if len(near) > 1 else 0.0
        apart = max(-_MOST_APART, min(_MOST_APART, value - next_one))
        return (_OF_READ if is_read else 1.0) * (
            _APART * apart
            - _NEARER_TO_NEWER * math.log1p(self._nearer(other, value))
            - _NEARER_TO_OLDER * math.log1p(self._nearer(one, value))
        )

    def _nearer(self, place: int, value: float) -> int:
        """How many are nearer to a note than that."""
        return len(self._near[place]) - bisect_right(self._near[place], value)


def _at_once(older: Note, newer: Note, likely: float, *, is_read: bool) -> bool:
    """Whether two were told in one go, as a list is, and it is not beyond doubt that the newer corrects the older."""
    dated = any(said_at(note) != note.created for note in (older, newer))  # else midnight may lie between them
    if (dated and said_at(newer)[:10] > said_at(older)[:10]) or not are_near(older.created, newer.created):
        return False
    if likely < (SURELY_READ if is_read else SURE):
        return True
    return are_near(older.created, newer.created, _ONE_GO) and not statement(newer.content).changed


def current_first(
    shown: Sequence[Ranked],
    looked: Mapping[str, Ranked],
    matters: Matters,
    naming: Collection[str],
    names: Collection[str],
    lacking: Callable[[str], Lack],
    told: Told,
    *,
    folding: bool,
) -> list[Led]:
    """In order, but the newest about a matter in the place of the best about it, with the ids that it stands for.

    Args:
        shown: the hits.
        looked: those that were compared, of which some may be shown only where they are the newest.
        matters: which of them are about one matter.
        naming: identifiers in the question: who holds one gives way to none that does not.
        names: other words in it that name one thing: who holds one gives way to others only where it is nearly sure.
        lacking: what of that which is asked for they do not tell: who does gives way to them as seldom, or never.
        told: how surely they say it.
        folding: whether what gives way is no longer a hit of its own.
    """
    order = dict.fromkeys([*(item.candidate.id for item in shown), *looked])
    places = {end: place for place, end in enumerate(order)}
    heads, leads = _heads(looked, matters, frozenset(naming), frozenset(names), places, lacking, told)
    placed: dict[str, Ranked] = {}
    behind: dict[str, list[str]] = {}
    under_way: set[str] = set()

    def tell(item: Ranked) -> None:
        end = item.candidate.id
        if end in placed or end in under_way:
            return
        under_way.add(end)
        if ahead := heads.get(end) or leads.get(end):
            tell(_lifted(looked[ahead], item))
        if folding and end in heads and len(behind.get(heads[end], ())) < MOST_EARLIER:
            behind.setdefault(heads[end], []).append(end)
        else:  # whichever of two was moved says how they belong together
            newer = placed.get(ahead) if ahead else None
            is_told = newer is None or f"newer than {end}" in newer.also
            placed[end] = item if is_told else item._replace(also=(*item.also, f"older than {ahead}"))

    for item in shown:
        tell(item)
    return [Led(item, tuple(behind.get(end, ()))) for end, item in placed.items()]


@dataclass(frozen=True, slots=True)
class Era:
    """The time that a question about the past means.

    `before` is its end; None where the question does not say when: then it means what was replaced last, or with `nth`
    what was so at the very first (1), or as the second. `event` is the id of a note: what that tells came only
    afterwards. `turn` are words for a change: what was so before the note that has one of them is meant. With `unsure`
    nothing but its month or day, which comes again, says that the past is meant. `telling` notes name that very time.
    """

    before: str | None
    nth: int = 0
    event: str | None = None
    turn: frozenset[str] = frozenset()
    unsure: bool = False
    telling: frozenset[str] = frozenset()


def valid_then(shown: Sequence[Ranked], looked: Mapping[str, Ranked], matters: Matters, era: Era) -> list[Led]:
    """In order, but of each matter what was valid then first, with what was before it; then what came later.

    Whoever asks about the past may mean what was retired by then: it stays a hit.
    """
    ends = {item.candidate.id for item in shown}
    shown = _with_the_event_behind(shown, matters, era.event)
    shown = shown if era.before or era.nth else _before_the_turn(shown, matters, era.turn)
    led: list[Led] = []
    done: set[str] = set()
    for item in shown:
        if item.candidate.id in done:
            continue
        left = _group(item.candidate.id, looked, matters) - done
        group = sorted(left, key=lambda end: (matters.said.get(end, ""), end))
        done.update(group)
        if len(group) == 1:
            led.append(Led(item))
            continue
        turn = _turn(group, looked, matters, era.turn)
        is_turned = turn is not None and not era.nth and era.event not in group
        then = _held_then(group, matters, era) if (era.before or era.nth) and not is_turned else group[: turn or -1]
        then = then or (group if era.unsure else ())
        if then:
            sure = _surely_with({then[-1]}, looked, matters)
            folded = [end for end in then[-2::-1] if end in sure and not looked[end].candidate.outdated]
            led.append(Led(_lifted(looked[then[-1]], item, "held before"), tuple(folded)))
            others = [end for end in then[-2::-1] if end in ends and end not in folded]
            led += [Led(looked[end]._replace(score=item.score)) for end in others]
        later = [end for end in group if end in ends and end not in then]
        led += [Led(looked[end]._replace(score=item.score), later_since=matters.said[end]) for end in later]
    return led


def _with_the_event_behind(shown: Sequence[Ranked], matters: Matters, event: str | None) -> Sequence[Ranked]:
    """The same, but what was told before the event that is asked about goes before it where it fits as well."""
    first = shown[0] if shown else None
    if first is None or first.candidate.id != event:
        return shown
    said = matters.said
    as_well = (item for item in shown[1:] if item.score >= first.score)
    older = next((item for item in as_well if said.get(item.candidate.id, "~") < said.get(event, "")), None)
    return shown if older is None else [older, *(item for item in shown if item is not older)]


def _before_the_turn(shown: Sequence[Ranked], matters: Matters, words: frozenset[str]) -> Sequence[Ranked]:
    """The same, but where the first tells of the change, one from before it leads that has its other words.

    It is a strong one, or nearly so where it has no other words of the question.

    That is for what nothing else makes versions of one fact. By words alone these words are all there is to go by.
    """
    first = shown[0] if shown else None
    if first is None or not words.intersection(first.candidate.matched):
        return shown
    rest, when = set(first.candidate.matched) - words, matters.said.get(first.candidate.id, "")

    def held_before(item: Ranked) -> bool:
        matched, said = set(item.candidate.matched), matters.said.get(item.candidate.id, when)
        likely = item.by_words or not item.weak or (matched == rest and item.relevance >= _NEARLY_STRONG)
        known = likely and item.candidate.space == first.candidate.space
        return known and said < when and bool(matched) and rest <= matched and words.isdisjoint(matched)

    older = next(filter(held_before, shown[1:]), None)
    if older is None:
        return shown
    return [_lifted(older, first, "told before"), first, *(item for item in shown[1:] if item is not older)]


def _turn(group: Sequence[str], looked: Mapping[str, Ranked], matters: Matters, words: frozenset[str]) -> int | None:
    """The place of the note that tells of the change, by words that not all of one matter have.

    That is the first with the most of them: what came later speaks of who had it too, as "taken over from Tom" does.
    """
    texts = (folded_words(matters.texts.get(end, "")) for end in group)
    held = [words.intersection((*looked[end].candidate.matched, *text)) for end, text in zip(group, texts, strict=True)]
    telling = frozenset.union(*held) - frozenset.intersection(*held)
    most = max((len(each & telling) for each in held[1:]), default=0)
    return next((place for place in range(1, len(group)) if len(held[place] & telling) == most > 0), None)


def _held_then(group: Sequence[str], matters: Matters, era: Era) -> Sequence[str]:
    """Those of one matter, the oldest first, that were said by the time that is meant."""
    if era.before is None:
        return group[: era.nth]
    then = [end for end in group if matters.said[end] <= era.before or end in era.telling]
    return then[: then.index(era.event)] if era.event in then else then


def earlier_of(
    head: Note, ends: Iterable[str], notes: Mapping[str, IndexedNote], parts: Collection[str]
) -> tuple[Earlier, ...]:
    """What stands behind a hit, the latest first; `parts` are what was consolidated."""
    older = sorted((notes[end].note for end in ends if end in notes), key=said_at, reverse=True)
    since = moment(said_at(head))
    return tuple(Earlier(note, max(0, (since - moment(said_at(note))).days), note.id in parts) for note in older)


def consolidated(links: Iterable[LinkRow], shown: Collection[str] | None = None) -> dict[str, list[str]]:
    """For each note that was consolidated the one that says it all; where both are shown, if that is said."""
    wholes: dict[str, list[str]] = {}
    for link in links:
        are_shown = shown is None or (link.source in shown and link.target in shown)
        if link.type == "derived_from" and link.reason == MADE_OF and are_shown:
            wholes.setdefault(link.target, []).append(link.source)
    return wholes


def overtaken(
    wholes: Mapping[str, Sequence[str]], likely: Mapping[tuple[str, str], float], said: Mapping[str, str]
) -> dict[tuple[str, str], list[str]]:
    """What was made of several notes beside each newer version of one of these, with the other notes it was made of.

    Args:
        wholes: for each note that was consolidated what it was made into.
        likely: how likely the first is the older version of the second.
        said: since when each holds, of those that may be shown.
    """
    return {
        (whole, newer): [other for other in wholes if whole in wholes[other] and other != part]
        for (part, newer), worth in likely.items()
        for whole in wholes.get(part, ())
        if worth >= FOLDED
        and {whole, newer} <= said.keys()
        and likely.get((whole, newer)) != 1.0
        and whole not in wholes.get(newer, ())
        and said[newer] > said[whole]
    }


def close_ones(links: Iterable[LinkRow], read: Mapping[frozenset[str], float], seeds: Sequence[str]) -> list[str]:
    """Notes that tell the same fact as these, as they were read, then what was near them when it was stored."""
    ends = [
        link.source if link.target in seeds else link.target
        for link in links
        if link.reason in AUTO_REASONS and (link.source in seeds or link.target in seeds)
    ]
    likely = sorted((pair for pair in read if read[pair] >= PERHAPS), key=lambda pair: (-read[pair], sorted(pair)))
    told = [end for pair in likely[:_MOST_TOLD] for end in sorted(pair - set(seeds))]
    return [end for end in dict.fromkeys((*told, *ends)) if end != SELF_ID]


def versions_of(found: Mapping[str, Ranked], matters: Matters) -> dict[str, list[str]]:
    """For each newest note of a matter the ids of its older versions, the latest first and a few at most."""
    heads = _heads(found, matters, frozenset(), frozenset(), {}, lambda _: "", Told())[0]
    older: dict[str, list[str]] = {}
    for old in sorted(heads, key=lambda end: (matters.said[end], end), reverse=True):
        older.setdefault(heads[old], []).append(old)
    return {new: each[:MOST_EARLIER] for new, each in older.items()}


def _heads(
    found: Mapping[str, Ranked],
    matters: Matters,
    naming: frozenset[str],
    names: frozenset[str],
    places: Mapping[str, int],
    lacking: Callable[[str], Lack],
    told: Told,
) -> tuple[dict[str, str], dict[str, str]]:
    """For each older note the newest of its matter, where that is sure; and one that goes ahead, where it is likely."""
    heads, leads = dict[str, str](), dict[str, str]()
    pairs = matters.likely.keys() | matters.odds.keys()
    best = sorted(((_z(item), end) for end, item in found.items()), reverse=True)[:3]  # a pair, and the next
    for old, new in sorted(pairs, key=lambda pair: (matters.said[pair[1]], pair), reverse=True):
        if old not in found or new not in found:
            continue
        lost = _lost(found[old], found[new])
        if not naming.isdisjoint(lost):
            continue
        line = UNASKED if found[old].weak else FOLDED  # who hardly answers is one line already
        answers_as_well, place = found[new].has_the_words_of(found[old]), places.get(new, _NOWHERE)
        is_sure, odds = matters.of(old, new) >= line, matters.ahead(old, new, as_well=answers_as_well)
        may_lead = matters.of(old, new) >= _least(found[old], found[new], lost, as_well=answers_as_well)
        if {old, new} <= matters.vectors.keys():
            alone = 0.0 if answers_as_well else _z(found[new])  # what lacks words is not clear where nothing else is
            rest = next((z for z, end in best if end not in (old, new)), alone)
            is_like = _z(found[new]) >= _ITS_LIKE and not answers_as_well
            is_another = is_like and tells_of_another(matters.texts[old], matters.texts[new], lost)
            may_lead = may_lead and places.get(old, _NOWHERE) < _FIRST and not is_another
            needed = _needed(_z(found[new]) - rest, place)
        else:
            needed = _needed_by_words(found[new], found[old], place)
        if not is_sure and not (may_lead and odds >= needed):
            continue
        is_named = names.issuperset(found[old].candidate.matched) and not names.isdisjoint(lost)
        needs = "" if lacking(old) else lacking(new)
        is_other = bool(found[new].doubt) and not found[old].doubt
        is_unsure = matters.of(old, new) < max(_NEEDED_IN_SPITE[needs], UNASKED * is_named, FOLDED * is_other)
        if is_unsure and odds < math.inf:
            continue
        besides, is_whole = matters.besides(old, new), (old, new) in matters.overtaken
        is_fuller = is_whole or bool(besides)
        is_likely = not is_whole and matters.of(old, new) >= _LIKELY_ONE and besides.isdisjoint(map(stem, lost))
        is_read = (old, new) in matters.compared and places.get(old, _NOWHERE) < _READ and not found[old].weak
        tells = is_read and is_fuller and matters.of(old, new) >= PERHAPS and told.as_well(old, new)
        if is_fuller and not (is_likely or tells or (answers_as_well and _is_nearest(found, matters, old, new))):
            continue
        least = UNASKED if is_sure else _LIKELY_ONE
        is_beside = is_read and matters.of(old, new) < least and told.less(old, new)
        is_told = matters.of(old, new) >= PERHAPS and claim(matters.texts[new]).changed  # that it is a newer version
        if is_sure and (answers_as_well or not is_fuller) and _last(new, heads) != old:
            (leads if is_beside and not answers_as_well else heads).setdefault(old, new)
        elif may_lead and not is_beside and odds >= needed + _FULLER * (is_fuller and not (is_told or tells)):
            leads[old] = max(new, leads.get(old, new), key=lambda end: matters.odds.get((old, end), -math.inf))
    return {old: _last(old, heads) for old in heads}, leads


def _is_nearest(found: Mapping[str, Ranked], matters: Matters, old: str, new: str) -> bool:
    """Whether no other part of what was consolidated is nearer to the question."""
    return all(_z(found[part]) <= _z(found[new]) for part in matters.overtaken.get((old, new), ()) if part in found)


def _least(older: Ranked, newer: Ranked, lost: Collection[str], *, as_well: bool) -> float:
    """How likely two are to be versions of one fact for the newer to go ahead by the odds for an order."""
    if as_well and older.candidate.matched:
        return 0.0
    is_most = 2 * len(lost) > len({*older.candidate.matched, *older.candidate.held})
    return _LEAST_MOST if is_most else _LEAST_LIKELY if newer.weak else _LEAST_STRONG


def _lost(older: Ranked, newer: Ranked) -> set[str]:
    """The words of the question, and its identifiers, that only the older one has."""
    there, here = older.candidate, newer.candidate
    return {*there.matched, *there.held}.difference(here.matched, here.held)


def _needed(clear: float, place: int) -> float:
    """The odds that it takes for a note at this place to go ahead of an older one.

    `clear` is by how many deviations its meaning is nearer to the question than that of the best of all others but the
    older one.
    """
    clear = max(-_MOST_CLEAR, min(_MOST_CLEAR, clear))
    return _AHEAD + _BEHIND * math.log1p(place) - _CLEAR * clear


def _needed_by_words(newer: Ranked, older: Ranked, place: int) -> float:
    """The same where meanings are not known: the less it answers, the better they must be."""
    needed = _WORDS_AHEAD + _WORDS_BEHIND * math.log1p(place) + _LESS * max(0.0, older.relevance - newer.relevance)
    return max(needed, _WEAK) if newer.weak else needed


def _z(item: Ranked) -> float:
    return _UNKNOWN_Z if item.candidate.z is None else item.candidate.z


def _last(old: str, heads: Mapping[str, str]) -> str:
    seen, end = {old}, heads.get(old, old)
    while end in heads and end not in seen:
        seen.add(end)
        end = heads[end]
    return end


def _group(end: str, found: Mapping[str, Ranked], matters: Matters) -> set[str]:
    """All that speak of the matter of one: surely, over any number of steps; or likely, if the newer has its words."""
    near = {
        each
        for (old, new), likely in matters.likely.items()
        if likely >= _OF_A_GROUP and end in (old, new) and {old, new} <= found.keys()
        for each in (old, new)
        if likely >= FOLDED or found[new].has_the_words_of(found[old])
    }
    return _surely_with({end} | near, found, matters)


def _surely_with(ends: set[str], found: Mapping[str, Ranked], matters: Matters) -> set[str]:
    """These with all that surely tell the same facts, over any number of steps."""
    pairs = [pair for pair, likely in matters.likely.items() if likely >= FOLDED and set(pair) <= found.keys()]
    group = set(ends)
    while more := {each for pair in pairs if group & set(pair) for each in pair} - group:
        group |= more
    return group


def _lifted(head: Ranked, item: Ranked, how: str = "newer than") -> Ranked:
    """Worth at the least what another note about the same matter is worth."""
    if head.candidate.id == item.candidate.id:
        return item
    if head.score >= item.score and head.relevance >= item.relevance:
        return head
    also = (*head.also, f"{how} {item.candidate.id}")
    return head._replace(score=max(head.score, item.score), relevance=max(head.relevance, item.relevance), also=also)
