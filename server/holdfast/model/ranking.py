"""Order and relevance of what was found, and the values in which the index is asked and answers.

    score = coverage^1.5 + 0.10 z + 0.05 session_z [0.13 z for a note of no session, or a long one, if nothing is named]
            + 0.80 [share of the question's rare words] + 0.40 [the question names the note's subject]
            + 0.40 time agreement - 0.20 [another space] - 0.15 [retired] - 0.10 (1 - confidence)
            +- 0.02 [core, archival] + affinity

`coverage` is the share of the query's word weight that the note carries, `z` its cosine in deviations above the
store's background: both absolute, so neither is ever divided by its own best hit. The power keeps a note that shares a
few common words with a paraphrase from standing above the one that means the same. The turns of a talk and what is
named are best told apart by words; of notes that stand alone meaning tells more. Every term is measured on notes and on
dialogue (bench/ablation.py). Relevance is a calibrated probability of another kind: it says how good a hit is, whatever
else was found, and only it decides what is returned and what is marked as weak.

What feedback does to the order (`affinity`) is no part of relevance, so it hides nothing and shows nothing that was not
there.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, Literal, NamedTuple

from holdfast.model.doubts import VALUE_WORDS
from holdfast.model.identifiers import (
    NEARLY_ALL,
    Unit,
    asks_for_one_thing,
    content_of,
    is_strange,
    lost_identifiers,
    named_nowhere,
    shows_another_language,
    unheard_of,
    units_of,
)
from holdfast.model.lifecycle import LEAST_AFFINITY
from holdfast.model.note import GLOBAL_SPACE, moment
from holdfast.model.words import inside, query_terms, written_as_names


@dataclass(frozen=True, slots=True)
class Filter:
    """Which notes may be found. Empty tuples do not restrict; times are instants, `before` inclusive.

    `dated` says which time of a note they mean: when what it tells "happened"; when it was "known", which is when it
    was noted where that is still to come; or when it was "noted".
    `include_superseded` lets notes through that a newer one replaced, whatever else retired them: they lead to it.
    """

    now: str
    spaces: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    after: str | None = None
    before: str | None = None
    include_outdated: bool = False
    include_superseded: bool = False
    dated: Literal["happened", "known", "noted"] = "happened"


@dataclass(frozen=True, slots=True)
class Timeline:
    """Some of the notes that a filter lets through, by id and in order of time; `total` is how many there are."""

    ids: tuple[str, ...]
    total: int


class RankCandidate(NamedTuple):  # many are made for each recall, and a tuple is made five times as fast
    """A note that some leg found: what the index's row of it says, under the names of its columns, and the legs.

    `coverage` is the lexical leg in 0..1.05; `z` the cosine in deviations above the store's background, None where the
    note has no vector or the query none; `session_z` the mean of the three best of its session, itself included, or its
    own z where it is `long` and says itself what it is about; `matched` the query's words that were found in it; `held`
    the rare ones, and the identifiers, that stand in its own text.
    """

    rowid: int
    id: str
    space: str
    session: str | None
    subject: str | None
    tier: str
    confidence: float
    outdated: int  # 0 or 1, as SQLite has it, and `long` too
    superseded_by: str | None
    created: str
    happened: str
    long: int
    coverage: float
    z: float | None
    session_z: float | None
    matched: tuple[str, ...] = ()
    held: tuple[str, ...] = ()


ROW_COLUMNS: Final = ", ".join(RankCandidate._fields[: RankCandidate._fields.index("coverage")])


@dataclass(frozen=True, slots=True)
class Found:
    """What the legs found, unordered; how many notes hold each rare word or identifier of the query (`rare`).

    `unknown` are the query's terms that no note has, `places` those that name a space; there are `notes` in all.
    """

    candidates: tuple[RankCandidate, ...]
    unknown: frozenset[str] = frozenset()
    rare: Mapping[str, int] = field(default_factory=dict)
    notes: int = 0
    places: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QueryVector:
    """A query's embedding: `vector` is float32 bytes of unit length, made with the vector set `key`.

    `mean` and `deviation` are the encoder's own background, used while the store is too small to have one. `is_read` is
    False where the encoder does not read the question's language, `is_second` True in the set that stands beside.
    """

    key: str
    vector: bytes
    mean: float
    deviation: float
    is_read: bool = True
    is_second: bool = False


GATE = 0.31  # nothing is returned unless the best hit reaches it
ASKED_GATE, MOST_DOUBTFUL = 0.21, 3  # of a question it is this, and between the two no more than so many are shown
FLOOR = 0.14  # below it a single note is not returned
WEAK, DOUBTED = 0.7, 0.69  # below it a note is marked as doubtful; the most of what something stated speaks against
_BEYOND_DOUBT, BESIDE_SURE = 0.985, 0.3  # beside a hit of the first, one below the second is left out
LEVELLED = 32  # places whose relevances are brought into order
_BEST, _NEARLY, _HIGHEST = 8, 0.93, 0.999  # places in which words decide, from which share of a score on; the most odds
_CAREFUL = (WEAK / (1 - WEAK)) / (0.55 / (1 - 0.55))  # see `careful`
_STEEPNESS, _MIDDLE, _Z_SHARE, _NAMED, _WORDS_ONLY = 4.24, 0.6, 0.2, 0.1, 1.5
_LENGTH_SHARE, _USUAL_TERMS, _MOST_TERMS, _STRANGE = 0.1, 5, 8, 0.3  # longer questions tell more
_NAMED_FLOOR, _HIGHEST_FLOOR, _SHOWN_WORDS = 0.72, 0.85, 5  # relevance of what holds one identifier, and all
_FEW, _ENOUGH = 0.1, 0.5  # share of the notes; of what is asked about
_SURELY_ALL = 0.75  # of it, where a word is only seldom: of less than that two of three are there by the way
_DOUBTFUL, _STEEP = 0.39, 3  # the floor just below _ENOUGH, and how fast it falls
_EXTRAORDINARY, _UNREAD = 0.8, 0.6  # what a word weighs more that is no ordinary one; the share of unknown ones
_Z_OF_ALL_WORDS = 7.0  # of a note with all words of a question, where it is the one that answers
_ORDER_SHARE = 0.5  # of its relevance has what an order finds that names nothing: always below WEAK
_RELEVANT_WORDS, _ALL_WORDS, _GUESSED = 0.3, 2 / 3, 0.5  # coverages; what a meaning counts that was hardly read
_BY_MEANING, _DOUBT = 0.67, 0.5  # the most of a note that shares no word; of what may be beside the point: below WEAK
# By how much doubts lower the log odds, fitted (docs/measured-history.md): for each deviation that the meaning
# of a note is below _PLAIN, where one word is shared; for words and for a name that no note has. Without them: _SURER.
_PLAIN, _ONE_WORD, _NOBODY_KNOWS, _NO_SUCH_NAME, _SURER = 4.5, 0.33, 0.9, 2.0, 0.36
_FOREIGN, _SUREST = 2 / 3, 0.97  # more unknown words are rather another language's; from here on odds are counted
_TIME_ALONE = 0.5  # of the agreement with its time has a note without any word of the question
_LIKELIEST = 0.95  # of a note that lacks what is asked for: a tenth of these odds is below WEAK, however near it is


@dataclass(frozen=True, slots=True)
class Weights:
    """What each term of the score counts for; a field of 0 takes its term out.

    `words` is a power, of coverage. `alone` stands in the place of `session` where a note has none, or is long, and the
    question names nobody and nothing.
    """

    words: float = 1.5
    z: float = 0.10
    session: float = 0.05
    alone: float = 0.13
    rare: float = 0.80
    subject: float = 0.40
    time: float = 0.40
    other_space: float = 0.20
    retired: float = 0.15
    doubt: float = 0.10
    tier: float = 0.02
    affinity: float = 1.0
    fading: timedelta = timedelta(days=14)  # behind the time asked for, agreement falls to 1/e in this
    lasting: timedelta = timedelta(days=42)  # before it; what was told, but in a talk, may still have held


WEIGHTS = Weights()


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, as far as ranking cares.

    `space` is the one asked from; None where there is none, then all are equal. `after` and `before` are the time
    that it speaks of, None where it speaks of none. With `past` it asks for what was true then: what is retired by
    now is as good. `extraordinary` are the words of it that are no ordinary English, `formed` those of them that are
    made of ordinary words; `seldom` those that are none of the most used. `is_order`: it orders something and names
    only what every project has, so nothing that it finds is more than a weak match. `one_language`: vectors were made
    by an encoder that reads English alone. `affinity` is what feedback added to a note's score for questions like this
    one, by id.
    """

    text: str
    space: str | None = None
    after: str | None = None
    before: str | None = None
    past: bool = False
    extraordinary: frozenset[str] = frozenset()
    formed: frozenset[str] = frozenset()
    seldom: frozenset[str] = frozenset()
    is_order: bool = False
    affinity: Mapping[str, float] = field(default_factory=dict)
    one_language: bool = False


class Terms(NamedTuple):
    """What each term of a score came to, as they stand in the formula: the score is their sum."""

    words: float
    meaning: float
    session: float
    subject: float
    rare: float
    time: float
    other_space: float
    retired: float
    doubt: float
    tier: float
    affinity: float


class Ranked(NamedTuple):  # as many are made as candidates
    """A candidate with the number that orders and the one that gates; `also` are reasons beside words and meaning.

    `unknown` is the share of the question's words that no note has. `terms` are of the score as it was first, if any.
    `share` is what doubts have left of the odds of its relevance, `doubt` says why; `alone` is that before `levelled`.
    `by_words`: no meanings were compared. `untold` are ids of what it replaced that alone says what is asked.
    """

    candidate: RankCandidate
    score: float
    relevance: float
    also: tuple[str, ...] = ()
    unknown: float = 0.0
    terms: Terms | None = None
    share: float = 1.0
    doubt: str = ""
    by_words: bool = False
    alone: float | None = None
    untold: tuple[str, ...] = ()

    @property
    def likeness(self) -> float:
        """How relevant it would be if nothing spoke against it: that decides whether it is shown at all."""
        own = self.relevance if self.alone is None else self.alone
        return own if self.share == 1.0 else with_odds(own, 1.0 / self.share)

    @property
    def weak(self) -> bool:
        return self.relevance < WEAK

    def has_the_words_of(self, other: Ranked) -> bool:
        """Whether it holds all the words of the question that the other does."""
        return set(other.candidate.matched) <= set(self.candidate.matched)

    @property
    def why(self) -> str:
        """Which legs found it, in a few words."""
        reasons = []
        if self.candidate.matched:
            reasons.append(f"words: {', '.join(sorted(self.candidate.matched)[:_SHOWN_WORDS])}")
        if self.candidate.z is not None and self.candidate.z > 1.0:
            reasons.append(f"meaning: {self.candidate.z:.1f} deviations")
        return "; ".join(filter(None, [*reasons, *self.also, self.doubt])) or "near by meaning"


def careful(likely: float) -> float:
    """What `relevance` comes to on the scale that every tool shows, in 0..1, monotone: its odds, multiplied.

    So that 0.7 is the line from which a careful reader calls a note relevant. It stands where on half A of the bench's
    questions about nothing stored (bench/doubt.py) no more than one in twenty gets a hit above it.
    """
    return with_odds(likely, _CAREFUL)


def levelled(ranked: Sequence[Ranked]) -> list[Ranked]:
    """The same in the same order, with relevances that never rise from one to the next: see `never_rising`."""
    worth = never_rising([item.relevance for item in ranked[:LEVELLED]])
    worth += [min(item.relevance, worth[-1]) for item in ranked[LEVELLED:]]
    pairs = zip(ranked, worth, strict=True)
    return [
        item if item.relevance == most else item._replace(relevance=most, alone=item.relevance) for item, most in pairs
    ]


def never_rising(relevances: Sequence[float]) -> list[float]:
    """Relevances of notes in their order, changed as little as is needed so that they never rise.

    Order and relevance are two judgements of one thing. Where a note stands above one of more relevance, both get the
    mean of their log odds, and so on until nothing rises (isotonic regression by pooling adjacent violators). What only
    looks like the question loses by that, and what also stands first by all else gains (docs/measured.md).
    """
    blocks: list[tuple[float, int]] = []
    for worth in relevances:
        mean, size = _log_odds(worth), 1
        while blocks and blocks[-1][0] < mean:
            above, count = blocks.pop()
            mean, size = (above * count + mean * size) / (count + size), count + size
        blocks.append((mean, size))
    pooled = [0.5 + 0.5 * math.tanh(mean / 2) for mean, size in blocks for _ in range(size)]
    alone = [size == 1 for _, size in blocks for _ in range(size)]
    levelled = (own if is_alone else worth for own, worth, is_alone in zip(relevances, pooled, alone, strict=True))
    return list(itertools.accumulate(levelled, min))  # nearer to 0 or 1 than log odds are told apart here


def _log_odds(probability: float) -> float:
    likely = min(max(probability, 1.0 - _HIGHEST), _HIGHEST)
    return math.log(likely / (1.0 - likely))


def doubted(item: Ranked, share: float, why: str) -> Ranked:
    """The same note with a share of its odds to be relevant, and why."""
    relevance = min(DOUBTED, with_odds(min(item.relevance, _LIKELIEST), share))
    return item._replace(share=item.share * share, doubt=item.doubt or why, relevance=relevance)


def with_odds(probability: float, factor: float) -> float:
    """The probability with its odds multiplied."""
    return probability * factor / (probability * factor + 1.0 - probability)


def by_words_alone(coverage: float) -> float:
    """On the same scale the relevance of a note that was compared by words alone, in 0..1, monotone.

    Two straight pieces that meet where coverage alone was found to tell relevant notes; at two thirds it is 1.
    """
    if coverage < _RELEVANT_WORDS:
        return WEAK * max(coverage, 0.0) / _RELEVANT_WORDS
    return min(1.0, WEAK + (1.0 - WEAK) * (coverage - _RELEVANT_WORDS) / (_ALL_WORDS - _RELEVANT_WORDS))


def relevance(
    coverage: float, z: float | None, *, terms: int = _USUAL_TERMS, named: int = 0, strange: bool = False
) -> float:
    """How alike a note and a question, or two notes, are by words and meaning, in 0..1.

    Logistic in coverage^2 + z/5, fitted to judged notes, with three corrections: a tenth for each thing about the note
    that the query names (`named`: its subject, its time); a tenth of the logarithm of the number of its `terms`, since
    the answer to a short query shares its words; and 0.3 off where the query names something that no note knows
    (`strange`). Without a vector, linear in coverage. Monotone in coverage and z.
    """
    words = min(max(coverage, 0.0), 1.0)
    if z is None:
        return min(1.0, _WORDS_ONLY * words)
    length = math.log(min(max(terms, 1), _MOST_TERMS) / _USUAL_TERMS)
    evidence = words * words + _Z_SHARE * z + _NAMED * named + _LENGTH_SHARE * length - _STRANGE * strange
    return 0.5 + 0.5 * math.tanh(_STEEPNESS / 2 * (evidence - _MIDDLE))  # the logistic function, without overflow


def rank(found: Found, question: Question, weights: Weights = WEIGHTS) -> list[Ranked]:
    """Every candidate, best first; equal scores newest first, then by id."""
    terms = query_terms(question.text)
    lost = len(terms) <= _MOST_TERMS and lost_identifiers(question.text, found.rare, found.unknown)
    strange = is_strange(question.text, question.extraordinary, found.unknown)
    unknown = len(found.unknown) / len(terms) if terms else 0.0
    foreign = shows_another_language(question.text)
    within = inside(question.text)
    unheard = strange and is_strange(within, question.extraordinary, found.unknown)
    strange_share = len(found.unknown - VALUE_WORDS) / max(1, len(terms)) * (unknown <= _FOREIGN)
    nobody = "" if foreign else named_nowhere(question.text, found.unknown)
    subjects = {candidate.subject or "" for candidate in found.candidates}
    asked = _Asked(
        question,
        len(terms),
        unknown,
        strange=strange,
        unheard=unheard,
        beside=bool(lost) or (question.one_language and foreign and unheard_of(terms, found.unknown) >= _UNREAD),
        names=bool(written_as_names(within)),
        foreign=question.one_language and foreign,
        telling=_telling(question, found),
        content=content_of(question.text),
        is_specific=asks_for_one_thing(question.text),
        by_words=all(candidate.z is None for candidate in found.candidates),
        subjects=frozenset(filter(lambda each: each and set(query_terms(each)) <= set(terms), subjects)),
        nobody=nobody,
        known=math.exp(_SURER - _NOBODY_KNOWS * strange_share - _NO_SUCH_NAME * bool(nobody)),
    )
    ranked = sorted((_ranked(each, asked, weights) for each in found.candidates), key=lambda item: item.candidate.id)
    ranked.sort(key=lambda item: item.candidate.created, reverse=True)
    ranked.sort(key=lambda item: item.score, reverse=True)
    return _with_more_words_first(ranked)


def _with_more_words_first(ranked: list[Ranked]) -> list[Ranked]:
    """Of two of the best that are nearly as good and have some of the words, what has more, if it is no long note."""
    best = ranked[:_BEST]
    for place in range(len(best) - 1, 0, -1):
        better, item = best[place - 1 : place + 1]
        is_near = not (item.by_words or item.candidate.long) and item.score >= _NEARLY * better.score
        if is_near and set(item.candidate.matched) > set(better.candidate.matched) > set():
            best[place - 1 : place + 1] = item._replace(also=(*item.also, "more of the words")), better
    scores = [*itertools.accumulate((item.score for item in reversed(best)), max)][::-1]
    return [*(item._replace(score=score) for item, score in zip(best, scores, strict=True)), *ranked[_BEST:]]


def is_sure(ranked: Iterable[Ranked]) -> bool:
    """Whether one is beyond doubt, which words alone never are."""
    return any(item.relevance >= _BEYOND_DOUBT and not item.by_words for item in ranked)


def gated(
    ranked: Sequence[Ranked], limit: int, passing: Callable[[Ranked], bool] | None = None, *, asks: bool = False
) -> list[Ranked]:
    """The best that may be shown: none where not one of them is good enough, and no single one below the floor.

    Beside a sure answer that is higher. With `asks` a few are shown also where the best is only near what is asked:
    the answer may be said in quite other words. Where the caller says what is `passing`, that alone decides.
    """
    if passing is not None:
        return [item for item in ranked if passing(item)][:limit]
    least = BESIDE_SURE if is_sure(ranked) else 0.0
    shown = [item for item in ranked if item.likeness >= FLOOR and item.relevance >= least]
    if (best := max((item.likeness for item in shown), default=0.0)) < GATE:
        near = asks and best >= ASKED_GATE and not shown[0].by_words
        return shown[: min(limit, MOST_DOUBTFUL)] if near else []
    return shown[:limit]


@dataclass(frozen=True, slots=True)
class _Telling:
    """What a question names: identifiers, words that are no ordinary ones, ordinary ones that are seldom, others.

    `rare` are those that few notes have, `single` those that one note has. `known` is how many identifiers and
    extraordinary words some note holds. `weights` tells by label what of the question each is.
    """

    units: tuple[Unit, ...]
    identifiers: frozenset[str]
    strange: frozenset[str]
    seldom: frozenset[str]
    rare: frozenset[str]
    single: frozenset[str]
    known: int
    weights: Mapping[str, float]
    whole: float


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question with what is worked out once for all candidates."""

    question: Question
    count: int
    unknown: float
    strange: bool
    unheard: bool
    beside: bool  # what it finds may be beside the point, whatever it has in common with it
    names: bool  # a word in it is written as a name
    foreign: bool  # in a language that the encoder does not read: meaning alone tells little
    telling: _Telling | None
    content: frozenset[str]
    is_specific: bool
    by_words: bool
    subjects: frozenset[str]  # of the candidates, that it names
    nobody: str  # a name in it that no note has
    known: float  # what is left of the odds for words, and for a name, that no note has


def _ranked(candidate: RankCandidate, asked: _Asked, weights: Weights) -> Ranked:
    question = asked.question
    subject = candidate.subject in asked.subjects
    foreign = question.space is not None and candidate.space not in (question.space, GLOBAL_SPACE)
    agreement = _agreement(candidate, question, weights)
    affinity = question.affinity.get(candidate.id, 0.0)
    floor, rare = _rarity(candidate, asked.telling)
    guessed = asked.foreign and asked.content and asked.content.isdisjoint(candidate.matched + candidate.held)
    read = _GUESSED if guessed else 1.0
    z = _guessed_z(candidate) if candidate.z is None and not asked.by_words else candidate.z or 0.0
    is_turn = bool(candidate.session) and not candidate.long
    beside = weights.session if is_turn or asked.names else weights.alone * read
    terms = Terms(
        words=candidate.coverage**weights.words,
        meaning=weights.z * z * read,
        session=beside * (candidate.session_z or 0.0),
        subject=weights.subject * subject,
        rare=weights.rare * rare,
        time=weights.time * agreement * (1.0 if candidate.matched or candidate.held else _TIME_ALONE),
        other_space=-weights.other_space * foreign,
        retired=-weights.retired * (candidate.outdated and not question.past),
        doubt=-weights.doubt * (1.0 - candidate.confidence),
        tier=weights.tier * ((candidate.tier == "core") - (candidate.tier == "archival")),
        affinity=weights.affinity * affinity,
    )
    named = subject + (agreement == 1.0)
    if candidate.z is None:
        likely = by_words_alone(candidate.coverage)
    else:
        alike = relevance(candidate.coverage, candidate.z, terms=asked.count, named=named, strange=asked.strange)
        likely = careful(alike if candidate.coverage else min(alike, _BY_MEANING))
    worth = max(likely, floor) * (_ORDER_SHARE if question.is_order else 1.0)
    doubtful = asked.beside or guessed or (asked.unheard and candidate.z is not None)
    if doubtful and not (asked.telling and asked.telling.identifiers.intersection(candidate.held)):
        worth = min(worth, _DOUBT)
    left = _left(candidate, asked)
    worth = with_odds(min(worth, _SUREST if left < 1.0 else 1.0), left)
    also = _also(subject=subject, affinity=affinity)
    doubt = asked.nobody and f"{asked.nobody} is named nowhere"
    return Ranked(candidate, sum(terms), worth, also, asked.unknown, terms, left, doubt, asked.by_words)


def _guessed_z(candidate: RankCandidate) -> float:
    """The deviations of a note that has no vector yet, beside others that have one: as many as its words let expect."""
    return _Z_OF_ALL_WORDS * candidate.coverage


def _left(candidate: RankCandidate, asked: _Asked) -> float:
    """What is left of a note's odds by what the legs know: a single word in common may be there in another sense.

    Not so where it is an identifier or no ordinary word, nor a seldom word that is nearly all that is asked for, nor
    where it is all, as in "what about X".
    """
    telling = asked.telling
    if candidate.z is None or (telling and telling.identifiers.intersection(candidate.held)):
        return 1.0
    if telling and telling.strange.intersection(candidate.held):
        return asked.known
    if telling and telling.seldom.intersection(candidate.held) and _share_had(candidate, telling) >= _SURELY_ALL:
        return asked.known
    shared = asked.content.intersection(candidate.matched + candidate.held)
    if len(shared) != 1 or not (len(asked.content) > 1 or asked.is_specific):
        return asked.known
    return asked.known * math.exp(-_ONE_WORD * max(0.0, _PLAIN - candidate.z))


def _telling(question: Question, found: Found) -> _Telling | None:
    """Which words of the question tell by themselves what it is about; None where no note holds a rare one of them."""
    if not found.rare:
        return None
    units = units_of(question.text)
    odd = question.extraordinary - question.formed
    identifiers = frozenset(unit.label for unit in units if unit.kind == "identifier")
    strange = frozenset(unit.label for unit in units if unit.kind == "name" or unit.label in odd) - identifiers
    seldom = frozenset(unit.label for unit in units if unit.label in question.seldom) - identifiers - strange
    few = max(1, _FEW * found.notes)
    rare = frozenset(label for label, count in found.rare.items() if count <= few or label in identifiers | strange)
    single = frozenset(label for label, count in found.rare.items() if count == 1)
    weights = {unit.label: 1.0 + _EXTRAORDINARY * (unit.label in identifiers | strange | seldom) for unit in units}
    known = len((identifiers | strange) & found.rare.keys())
    return _Telling(tuple(units), identifiers, strange, seldom, rare, single, known, weights, sum(weights.values()))


def _share_had(candidate: RankCandidate, telling: _Telling) -> float:
    """The share of what is asked about that a note has."""
    there = {*candidate.held, *candidate.matched}
    has = (telling.weights[unit.label] for unit in telling.units if unit.label in there or unit.terms <= there)
    return sum(has) / telling.whole


def _rarity(candidate: RankCandidate, telling: _Telling | None) -> tuple[float, float]:
    """The relevance that a note has at the least by the rare words that it holds, and what they add to its score.

    An identifier counts whatever else is asked. Other words count by how much the note has of what is asked about,
    where words that are no ordinary ones, or seldom, weigh more: all of it makes it relevant, less than half makes it
    doubtful, and less than three quarters where the words are only seldom.
    """
    held = telling.rare.intersection(candidate.held) if telling else frozenset()
    if telling is None or not held:
        return 0.0, 0.0
    named, strange = telling.identifiers & held, telling.strange & held
    if named:
        share = len(named | strange) / max(1, telling.known)
        return _NAMED_FLOOR + share * (_HIGHEST_FLOOR - _NAMED_FLOOR), share
    seldom = telling.seldom.intersection((*held, *candidate.matched))  # a form of it is as good
    if not strange and not seldom:
        share = sum(telling.weights[label] for label in held) / telling.whole
        return (WEAK + share * (_HIGHEST_FLOOR - WEAK), share) if share >= NEARLY_ALL else (0.0, 0.0)
    share = _share_had(candidate, telling)
    if share < _ENOUGH:
        return _DOUBTFUL * (share / _ENOUGH) ** _STEEP, 0.0
    adds = float(bool((strange | seldom) & telling.single))
    return (WEAK + share * (_HIGHEST_FLOOR - WEAK) if strange or share >= _SURELY_ALL else _DOUBTFUL), adds


def _also(*, subject: bool, affinity: float) -> tuple[str, ...]:
    named = ("names its subject",) if subject else ()
    rated = ("liked before" if affinity > 0 else "disliked before",) if abs(affinity) >= LEAST_AFFINITY else ()
    return named + rated


def _agreement(candidate: RankCandidate, question: Question, weights: Weights) -> float:
    """1 within the time asked for, less the further outside; 0 where the question speaks of no time."""
    when, after, before = candidate.happened, question.after, question.before
    if after is not None and when < after:
        return math.exp((moment(when) - moment(after)) / (weights.fading if candidate.session else weights.lasting))
    if before is not None and when > before:
        return math.exp((moment(before) - moment(when)) / weights.fading)
    return float(after is not None or before is not None)
