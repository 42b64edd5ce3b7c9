"""How likely two notes are two versions of one fact: what speaks for it and against it, weighed.

Every sign is a number that two claims show together (`Evidence`); the weights are those of a logistic regression
(L2 = 1) over all pairs of the notes in bench/data/versions_a.txt and the first halves of bench/data/currency.json
(`python bench/versions.py --fit` prints them anew). What tells siblings apart for certain, as "berth 4" and "berth 7",
is no matter of weight: it rules a pair out. The decisions that follow have a line each, for they are not equally dear
when wrong: which of two hits comes first (`odds`, weighed with how near both are to the question), and whether the
older shrinks to a line behind the newer (`FOLDED`; `UNASKED` where the older one hardly answers).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import permutations
from typing import NamedTuple

from holdfast.model.claims import (
    ABOUT_OF,
    ATTRIBUTES,
    KIN,
    OF_ONE,
    SAME_KIN,
    SUCCEEDING,
    VAGUE,
    Claim,
    Term,
    claim,
    ends_something_else,
    said_besides,
)
from holdfast.model.identifiers import which_of
from holdfast.model.numbers import came_of_two, period_of
from holdfast.model.statement import CODE, LONGEST, NEGATIONS, PAID, SINCE, Statement, is_done, kind_of, statement, stem
from holdfast.model.values import spelled_as
from holdfast.model.words import folded, is_one_english, regex, table_parts

LED, FOLDED, UNASKED = 0.002, 0.5, 0.85
BESIDE = 0.49  # of two that were read and told in one go: not folded, the newer goes ahead
SURELY_APART, PERHAPS = 0.05, 0.2  # of two read together: less is two things; from the other on it is kept of any two
FAR = 0.3  # a cosine below which two notes are about two things
# Reasons of the edges that a note gets when it is stored. Of those that say how two notes were read together the weight
# is how likely they tell one fact, but for `APART`: they tell of two things.
CLOSE, FIRST, BEFORE = "close by content", "first of its space", "stored before it"
ANEW, MAYBE, APART = "told anew", "perhaps told anew", "close, of another matter"
AUTO_REASONS = (CLOSE, FIRST, BEFORE, ANEW, MAYBE, APART)
MADE_OF = "consolidated from it"  # the reason of an edge from a note to what it was made of
SURE, SURELY_READ = 0.95, 0.8  # beyond doubt, even where both were told at once: by words, and where both were read
_USUAL, _NEAR, _ASSUMED = 0.6, 0.75, 0.75  # a cosine that tells nothing; without vectors words alone must do
_SAME_FRAME, _HALF, _ALIKE = 0.6, 0.5, 0.4  # of their words are the same: by the first one is written as the other is
_SUCCEEDED = 1.5  # logarithm of odds, by hand: "Meera changed teams. The service is owned by Joaquin."
_ONE_MORE = regex(r"\b(?:second|other|another|zweite[nrsm]?|andere[nrsm]?|deuxieme|autre|segund[oa]|otr[oa]) (\w+)")
_NTH = regex(r"\W*第 ?([\d一二三四五六七八九十百]+) ?(\w)")
_OWN = frozenset("his her their sein seine seinen ihr ihre ihren son sa ses su sus".split())  # noqa: SIM905 - as one text
_MY_SON = regex(r"\W*(?:my|our|the user's) (?:\w+ )?son\b", re.IGNORECASE)
_DONE, _SURELY_AHEAD = 0.9, 3.0  # how likely what tells that it is done replaces it, by hand
_FEW = 2  # words in the one place in which two claims differ
_PIECES, _SHARED_PIECES, _CHANGED_PIECES = -2.5, 4.0, 2.0  # weights for scripts without spaces
# The odds for an order, where the cosine is known: fitted with what `holdfast.engine.agent.matters` adds, on the notes
# of bench/data/versions_a, c, e and g.txt, the first halves of bench/data/currency.json, half A of DevMem's questions.
_AHEAD, _WEIGHED, _LEAST, _SIBLINGS, _TELLING, _FRAMED = 5.17, 0.67, -6.0, 1.53, 0.58, 2.48
_WORDS_SIBLINGS, _WORDS_ALIKENESS = 2.5, 2.3  # by words alone: of siblings, and at the usual cosine
_MOST_REST, _MOST_SHARED, _MOST_GAP, _MOST_ODDS = 5.0, 4.0, 6.0, 6.0  # the last of what reading together gives
_READ_WHOLE = 160  # characters, that are surely read to their end
_READ_AHEAD, _READ_WEIGHED, _LEAST_READ = 1.92, 1.31, 0.02  # the odds for an order, where two were read together


def _weights() -> list[dict[str, float]]:
    """The parts of the table: for each sign its weight."""
    return [
        {name: float(weight) for weight, name in re.findall(r"^ *(\S+)  (.+)$", part, re.MULTILINE)}
        for part in table_parts(__file__, "versions.txt")()
    ]


WEIGHTS, READ_TOGETHER = _weights()


class ReadTogether(NamedTuple):
    """What a model that reads two notes at once makes of them: logarithms of odds against two things being told.

    `anew`: the second tells another value of the fact that the first tells. `again`: it says the same once more.
    """

    anew: float
    again: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """What two claims show together: `signs` by name, and whether they are siblings for certain."""

    signs: Mapping[str, float]
    siblings: bool


@dataclass(frozen=True, slots=True)
class _Both:
    """Two claims side by side: what is only in the older (`left`) and in the newer (`fresh`), values apart.

    `mine` and `its` are all the words of each that belong to something in particular. `changed` tells that the newer
    says so of what the older speaks of. `places` are where they differ; `frame`: how many words they share, in 0..1.
    """

    older: Claim
    newer: Claim
    mine: tuple[Term, ...]
    its: tuple[Term, ...]
    left: list[Term]
    fresh: list[Term]
    values: _Values
    changed: bool
    places: list[tuple[list[Term], list[Term]]]
    frame: float

    @property
    def shared(self) -> float:
        return (len(self.mine) - len(self.left) + len(self.its) - len(self.fresh)) / 2

    @property
    def share_only_their_subject(self) -> bool:
        return not (_says_the_same(self.older, self.newer) or _says_the_same(self.newer, self.older))

    @property
    def contrast(self) -> int:
        return min(len(self.left), len(self.fresh))  # so many words of each stand against each other


@lru_cache(2048)  # as many as there are claims: each is compared with many
def _values_in(said: Claim) -> tuple[Term, ...]:
    return tuple(term for term in said.head if term.kind == "value")


@lru_cache(2048)
def _particular(said: Claim) -> tuple[Term, ...]:
    """Its words that belong to something in particular, values apart."""
    return tuple(term for term in said.head if term.kind != "value" and not term.generic)


def _says_the_same(one: Claim, other: Claim) -> bool:
    about = {term.stem for term in one.head if term.subject}
    return any(other.holds(term) for term in one.head if term.stem not in about)


class Judged(NamedTuple):
    """How likely two texts are two versions of one fact, in 0..1, and the logarithm of odds by which one goes ahead.

    Siblings, and what shares no word, are not likely at all; their odds are only lower, for an order hides nothing.
    """

    likely: float
    odds: float


UNLIKELY = Judged(0.0, -math.inf)


def judged(older: str, newer: str, likeness: float | None) -> Judged:
    """What two texts are to each other. `likeness` is the cosine of their vectors, None without vectors.

    The odds are on two scales: with vectors those of the notes around are to be added.
    """
    return _judged(older[:LONGEST], newer[:LONGEST], likeness)


def likelihood(older: str, newer: str, likeness: float | None) -> float:
    """How likely two texts are two versions of one fact, in 0..1."""
    return judged(older, newer, likeness).likely


def likelihood_together(older: str, newer: str, likeness: float, read: ReadTogether) -> float:
    """The same, also by what they say when they are read together: that tells what few shared words cannot."""
    older, newer = older[:LONGEST], spelled_as(older[:LONGEST], newer[:LONGEST])
    is_unread = is_one_english(older, newer) or not (
        claim(older).spaced and claim(newer).spaced
    )  # English alone is read
    if is_unread or _are_no_statements(statement(older), statement(newer)):
        return judged(older, newer, likeness).likely
    if kind_of(older) != kind_of(newer):
        return _DONE if is_done(older, newer) else 0.0
    one, other = claim(older), claim(newer)
    values = _values(one, other)
    is_one_more = _is_one_more(older, newer) or are_entries(older, newer) or ends_something_else(older, newer)
    is_of_two = _name_two(one, other) and (values.differ or values.other)
    if is_of_two or is_one_more or _belong_to_two(one, other) or are_twins(one, other):
        return 0.0  # what is written says more than what is read
    return _likely(weighed(together(evidence(older, newer, likeness), read), READ_TOGETHER))


def succeeded(likely: float) -> float:
    """How likely, where the newer text also speaks of what was there before: "Meera changed teams", as its owner."""
    return likely / (likely + (1.0 - likely) * math.exp(-_SUCCEEDED))


def as_read(likely: float, odds: float, older: str, newer: str) -> Judged:
    """What two texts are to each other of which that was said, where they were read together.

    `odds` are those by their words and vectors: they count too where not all of a text was read.
    """
    likely = max(_LEAST_READ, min(1.0 - _LEAST_READ, likely))
    read = _READ_AHEAD + _READ_WEIGHED * math.log(likely / (1.0 - likely))
    return Judged(likely, max(read, odds) if max(len(older), len(newer)) > _READ_WHOLE else read)


def of_one_chain(
    likely: Mapping[tuple[str, str], float], texts: Mapping[str, str], said: Mapping[str, str]
) -> dict[tuple[str, str], float]:
    """Pairs of which both are surely newer versions of a third note that tells one fact alone: of each other, too.

    `said` is since when each holds; the older of a pair comes first.
    """
    newer: dict[str, list[str]] = {}
    for older, end in likely:
        if likely[older, end] >= SURELY_READ and not said_besides(texts[older], texts[end]):
            newer.setdefault(older, []).append(end)
    pairs = (pair for ends in newer.values() for pair in permutations(ends, 2) if said[pair[0]] < said[pair[1]])
    return {pair: FOLDED for pair in pairs if likely.get(pair, 0.0) < FOLDED > likely.get(pair[::-1], 0.0)}


def told_as(likely: float) -> str:
    """The reason of an edge between two notes that were read together, and are not surely of two things."""
    return ANEW if likely >= FOLDED else MAYBE


def together(seen: Evidence, read: ReadTogether) -> dict[str, float]:
    """The signs of two texts with what reading them together told."""
    anew, again = (max(-_MOST_ODDS, min(_MOST_ODDS, odds)) for odds in read)
    return {**seen.signs, "siblings": float(seen.siblings), "anew": anew, "again": again}


@lru_cache(8192)  # the same notes meet again in the answers to other questions
def _judged(older: str, newer: str, likeness: float | None) -> Judged:
    newer = spelled_as(older, newer)
    one, other = statement(older), statement(newer)
    if _are_no_statements(one, other) or kind_of(older) != kind_of(newer):
        return Judged(_DONE, _SURELY_AHEAD) if is_done(older, newer) else UNLIKELY
    is_apart = (likeness is not None and likeness < FAR) or not _share_a_topic(older, newer)
    if is_apart and likeness is None:
        return UNLIKELY
    if claim(older).spaced and claim(newer).spaced:  # the signs are of words
        seen = evidence(older, newer, likeness)
        weight, is_sibling = weighed(seen.signs), seen.siblings
    else:
        weight, is_sibling = _of_pieces(one, other), _are_of_a_row(older, newer)
    if likeness is None:
        odds = weight + _WORDS_ALIKENESS * (_ASSUMED - _USUAL) - _WORDS_SIBLINGS * is_sibling
    else:
        frame = _frame(claim(older), claim(newer))
        odds = _AHEAD + _WEIGHED * max(weight, _LEAST) - _SIBLINGS * is_sibling - _FRAMED * frame
        odds += _TELLING * (claim(newer).changed or other.changed)
    return Judged(0.0 if is_sibling or is_apart else _likely(weight), odds)


def _are_no_statements(one: Statement, other: Statement) -> bool:
    """Whether they are talk, both a record of what took place, a plan and what came of it, or what holds and a case."""
    is_outcome = one.meant and other.came and not other.meant
    is_case = (other.one_time and not one.one_time) or (other.wanted and not (one.wanted or one.meant))
    return one.chatty or other.chatty or (one.happened and other.happened) or is_outcome or is_case


def _share_a_topic(older: str, newer: str) -> bool:
    """Whether two texts have anything in common that either may be about."""
    one, other = statement(older), statement(newer)
    if not (one.topics.isdisjoint(other.stems) and other.topics.isdisjoint(one.stems)):
        return True
    return not claim(older).about.isdisjoint(claim(newer).about)


def _frame(older: Claim, newer: Claim) -> float:
    """How many of all words two claims share, in 0..1."""
    return 2 * len(older.words & newer.words) / max(1, len(older.words) + len(newer.words))


def _of_pieces(older: Statement, newer: Statement) -> float:
    """The same of texts without spaces, by the pairs of signs that they share and by words that tell of a change."""
    shared = len(older.stems & newer.stems) / max(1, min(len(older.stems), len(newer.stems)))
    return _PIECES + _SHARED_PIECES * shared + _CHANGED_PIECES * newer.changed


def _are_of_a_row(older: str, newer: str) -> bool:
    """Whether both begin with the number that tells one of many, as the minutes of the third and the fourth meeting."""
    one, other = _NTH.match(older), _NTH.match(newer)
    return one is not None and other is not None and one[1] != other[1] and one[2] == other[2]


def weighed(seen: Mapping[str, float], weights: Mapping[str, float] = WEIGHTS) -> float:
    """The signs as the logarithm of the odds."""
    return sum(weights.get(name, 0.0) * value for name, value in seen.items())


def _likely(weight: float) -> float:
    return 0.5 + 0.5 * math.tanh(weight / 2)


def evidence(older: str, newer: str, likeness: float | None) -> Evidence:
    """What is seen of two texts."""
    one, other = statement(older), statement(newer)
    both = _side_by_side(claim(older), claim(newer))
    cosine = _ASSUMED if likeness is None else likeness
    found = {
        "always": 1.0,
        "cosine": cosine - _USUAL,
        "near": max(0.0, cosine - _NEAR),
        "one denies": one.negated != other.negated,
        "denies the same": one.negated != other.negated and not both.fresh and both.shared > 0,
        **_of_words(both),
        **_of_values(both),
        **_of_changes(both),
        **_of_form(both, is_role=one.role or other.role),
    }
    signs = {name: float(value) for name, value in found.items()}
    return Evidence(signs, _are_siblings(both) or are_entries(older, newer) or ends_something_else(older, newer))


def _side_by_side(older: Claim, newer: Claim) -> _Both:
    mine, its = _particular(older), _particular(newer)
    return _Both(
        older,
        newer,
        mine,
        its,
        left=[term for term in mine if not newer.holds(term)],
        fresh=[term for term in its if not older.holds(term)],
        values=_values(older, newer),
        changed=newer.changed or not newer.renewed.isdisjoint(older.stems),
        places=_places(older, newer),
        frame=_frame(older, newer),
    )


def _of_words(both: _Both) -> dict[str, float]:
    """What they share, what each has alone, and what is asked with their words."""
    older, newer = both.older, both.newer
    mine, its = older.about - VAGUE, newer.about - VAGUE
    is_another = not both.values.differ and both.share_only_their_subject
    return {
        "shared": min(both.shared, _MOST_SHARED),
        "nothing shared": both.shared == 0,
        "only the subject is shared": is_another and not both.changed,
        "only the subject is shared, no such value": is_another and both.values.one and not both.changed,
        "newer is covered": 1 - len(both.fresh) / max(1, len(both.its)),
        "newer's subject is the older's": bool(both.its)
        and all(older.holds(each) for each in both.its if each.subject),
        "older's subject is the newer's": all(newer.holds(each) for each in both.mine if each.subject),
        "left": min(len(both.left), _MOST_REST),
        "fresh": min(len(both.fresh), _MOST_REST),
        "left in the subject": min(sum(each.subject for each in both.left), 2),
        "fresh in the subject": min(sum(each.subject for each in both.fresh), 2),
        "more than one other word": max(0, both.contrast - 1) * (not both.values.differ),
        "asks for the same": not mine.isdisjoint(its),
        "asks for something else": bool(mine and its) and mine.isdisjoint(its),
        "longer": min(_MOST_GAP, abs(len(older.head) - len(newer.head))),
    }


def _of_values(both: _Both) -> dict[str, float]:
    values, contrast = both.values, both.contrast
    are_named = all(any(each.kind == "name" for each in rest) for rest in (both.left, both.fresh))
    return {
        "other values": values.differ,
        "other values alone": values.differ and contrast == 0,
        "other words beside other values": min(contrast, 3) * values.differ,
        "other names beside other values": are_named and values.differ,
        "same values": values.same and not values.differ,
        "values of other sorts": values.other,
        "one has a value": values.one,
    }


def _of_changes(both: _Both) -> dict[str, float]:
    """Whether the newer tells that something is no longer as it was, and of what."""
    changed, values = both.changed, both.values
    ended = both.older.ended_by(both.newer)
    is_new = values.fresh or any(each.kind == "name" for each in both.fresh)
    return {
        "changed": changed,
        "changed, other words and values": changed and both.contrast > 0 and values.differ,
        "changed, no other words": changed and not values.differ and both.contrast <= 1,
        "changed to another value": changed and values.differ and not both.left,
        "its state has changed": changed and ended is True,
        "another state has changed": changed and ended is False,
        "quotes": changed and is_new and _quotes(both.older, both.newer),
    }


def _of_form(both: _Both, *, is_role: bool) -> dict[str, float]:
    """Whether one is written as the other is, and where they differ."""
    places, differ = both.places, both.values.differ
    is_one = len(places) == 1 and all(0 < len(side) <= _FEW for side in places[0])
    in_subject = is_one and any(each.subject for each in places[0][0])
    return {
        "one frame, other words and values": both.frame >= _SAME_FRAME and both.contrast > 0 and differ,
        "one frame, other values": both.frame >= _SAME_FRAME and both.contrast == 0 and differ,
        "one place, another value": is_one and not in_subject and differ,
        "one place in the subject": in_subject,
        "one place in the subject, of a role": in_subject and is_role,
    }


@dataclass(frozen=True, slots=True)
class _Values:
    """How the values of two claims compare; `fresh` are those of the newer alone."""

    differ: bool
    same: bool
    other: bool
    one: bool
    fresh: bool


def _values(older: Claim, newer: Claim) -> _Values:
    mine, its = _values_in(older), _values_in(newer)
    left = {term.sort for term in mine if term.stem not in newer.stems}
    fresh = {term.sort for term in its if term.stem not in older.stems}
    differ = _can_be_exchanged(left, fresh)
    same = not {term.stem for term in mine}.isdisjoint(term.stem for term in its)
    return _Values(differ, same, bool(left and fresh) and not differ, bool(mine) != bool(its), bool(fresh))


def _can_be_exchanged(left: set[str], fresh: set[str]) -> bool:
    """Whether a value of one side may stand in the place of one of the other; a bare figure for any amount."""
    if not left.isdisjoint(fresh):
        return True
    return any(
        "figure" in one and any(each.startswith(("amount", "clock")) for each in other)
        for one, other in ((left, fresh), (fresh, left))
    )


def _quotes(older: Claim, newer: Claim) -> bool:
    """Whether the newer names what the older said of its subject."""
    return any(term.text in newer.texts for term in older.head if not term.subject and term.kind != "word")


def _places(older: Claim, newer: Claim) -> list[tuple[list[Term], list[Term]]]:
    """Where the words of two claims differ, if they are written alike; either side of a place may be empty."""
    mine, its = ([term for term in each.head if not term.generic] for each in (older, newer))
    if len({term.stem for term in mine} & {term.stem for term in its}) < _ALIKE * min(len(mine), len(its)):
        return []
    blocks = SequenceMatcher(None, [term.stem for term in mine], [term.stem for term in its], autojunk=False)
    return [(mine[a:b], its[c:d]) for kind, a, b, c, d in blocks.get_opcodes() if kind != "equal"]


def _are_siblings(both: _Both) -> bool:
    """Whether something tells for certain that they are about two things of one kind."""
    older, newer = both.older, both.newer
    return (
        _are_opposites(older, newer)
        or _are_numbered(older, newer)
        or _is_kin_of(older, newer)
        or _are_of_two(older, newer)
        or _belong_to_two(older, newer)
        or (both.values.differ and (_tells_of_a_part(older, newer) or _tells_of_a_part(newer, older)))
        or ((both.values.differ or both.values.other) and _name_two(older, newer))
        or _fill_one_form(both)
        or (both.values.other and both.share_only_their_subject)  # a day of one thing and an amount of another
        or (newer.ended and bool(both.left) and bool(both.fresh))  # what is no longer so is something else
    )


def _are_opposites(older: Claim, newer: Claim, *, subjects: int = 0) -> bool:
    """Whether one is of the north gate, the other of the south, in so many subjects; not where it has moved."""
    for axis in older.axes.keys() & newer.axes.keys():
        mine, its = older.axes[axis], newer.axes[axis]
        told = sum(any(term.subject and term.text in mine | its for term in each.head) for each in (older, newer))
        holds = told >= subjects and (told or not (older.changed or newer.changed))
        if holds and _meant(mine).isdisjoint(_meant(its)):
            return True
    return False


def _meant(words: Iterable[str]) -> set[object]:
    """Which of its like each word means: "prod" and "production" mean the same, "night" and "nights" too."""
    return {which_of(word) or word.removesuffix("s") for word in words}


def are_twins(older: Claim, newer: Claim) -> bool:
    """Whether nearly the same is said of two that one word tells apart: grandpa and grandma, tank 1 and tank 2."""
    if newer.changed or not OF_ONE.isdisjoint(older.words | newer.words):
        return False
    if (mine := _kin_in(older)) and (its := _kin_in(newer)) and mine.isdisjoint(its):
        return True
    if _frame(older, newer) < _HALF:
        return _are_opposites(older, newer, subjects=2)
    return _are_opposites(older, newer, subjects=1) or _have_two_labels(older, newer, both=True)


def are_entries(older: str, newer: str) -> bool:
    """Whether both are of a series: of another month with its amount, a payment, somebody's turn, a numbered report."""
    one, other = claim(older), claim(newer)
    codes, days, much, words = (bool(a - b and b - a) for a, b in zip(_series(one), _series(other), strict=True))
    turns = {turn for text in (older, newer) if (turn := period_of(text))}
    is_of_day = days and (much or (not PAID.isdisjoint(one.words & other.words) and _frame(one, other) >= _SAME_FRAME))
    is_told = other.changed or not SINCE.isdisjoint(other.words)  # since when it is so
    return (not is_told and (codes or is_of_day or (words and len(turns) > 1))) or came_of_two(older, newer)


@lru_cache(2048)
def _series(said: Claim) -> tuple[frozenset[str], ...]:
    """The codes of its subject, its days and months but no years, amounts right behind one of these, other words."""
    codes = {term.stem for term in said.head if term.subject and CODE.fullmatch(term.text)}
    days = {term.stem for term in said.head if term.sort == "date" and not term.stem[2:].isdecimal()}
    both = zip(said.head, said.head[1:], strict=False)
    much = {two.stem for one, two in both if one.stem in days and two.sort.startswith(("amount", "figure"))}
    return tuple(map(frozenset, (codes, days, much, {term.stem for term in said.head if term.kind != "value"})))


def _fill_one_form(both: _Both) -> bool:
    """As "Anna takes 5 mg of this" and "of that 10 mg": one sentence with other words in several places."""
    places = [(a, b) for a, b in both.places if _meant(term.text for term in a) != _meant(term.text for term in b)]
    return (
        len(places) > 1
        and both.frame >= _HALF
        and all(a and b for a, b in places)
        and any(all(any(term.kind != "value" for term in side) for side in place) for place in places)
    )


def _are_numbered(older: Claim, newer: Claim) -> bool:
    """Whether numbers in their subjects differ, or what they number does."""
    mine, its = ({term.stem for term in each.head if _tells_which(term)} for each in (older, newer))
    return _have_two_labels(older, newer) or bool(mine - newer.stems and its - older.stems)


def _tells_which(term: Term) -> bool:
    """Whether it is a value that tells one of many, as no amount does and no decimal."""
    is_much = term.sort.startswith("amount") or (term.sort == "figure" and "." in term.text)
    return term.kind == "value" and term.subject and not is_much


def _have_two_labels(older: Claim, newer: Claim, *, both: bool = False) -> bool:
    """Whether the number that tells one of many differs, in the subject of one or of both."""
    return any(
        one.sort == other.sort
        and one.sort.startswith("label")
        and one.stem != other.stem
        and (one.subject and other.subject and one.sort not in SUCCEEDING if both else one.subject or other.subject)
        for one in _values_in(older)
        for other in _values_in(newer)
    )


def _is_kin_of(older: Claim, newer: Claim) -> bool:
    """Whether one tells of somebody, the other of a relative."""
    mine, its = (_kin_in(each) for each in (older, newer))
    told, tells = ({SAME_KIN.get(word, word) for word in each.texts if mine != its} for each in (older, newer))
    return mine != its and mine.isdisjoint(tells) and its.isdisjoint(told)


@lru_cache(2048)
def _kin_in(said: Claim) -> frozenset[str]:
    """The relatives in a subject, each by one of its words; "Frau" before a name is a title, "son" may be French."""
    following, son = [*said.head[1:], None], {"son"} if _MY_SON.match(said.text) else set()
    return frozenset(son) | {
        SAME_KIN.get(term.text, term.text)
        for term, after in zip(said.head, following, strict=False)
        if term.subject and term.text in KIN and not (term.text == "frau" and after and after.kind == "name")
    }


def _belong_to_two(older: Claim, newer: Claim) -> bool:
    """Whether they tell of one sort of thing of two others, as "the saddle of Stella" and "of Blitz"; two allergies."""
    is_added = ABOUT_OF["allergic"] & older.about & newer.about and newer.words.isdisjoint(NEGATIONS)
    is_apart = older.part == newer.part and older.wholes - newer.stems and newer.wholes - older.stems
    is_own = _name_two(older, newer) and bool(_OWN & older.words and _OWN & newer.words)  # each drinks theirs
    return bool(is_added or is_apart or is_own) and not newer.changed


def _name_two(older: Claim, newer: Claim) -> bool:
    """Whether each begins with a name that the other has not: Anna's dose is none of Ben's."""
    return bool(older.named and newer.named) and older.named not in newer.stems and newer.named not in older.stems


def _is_one_more(older: str, newer: str) -> bool:
    """As "Ada's second supervisor is Dr. Faye" beside "Ada's supervisor is Dr. Lund": with a name of their own."""
    mine, its, found = claim(older), claim(newer), _ONE_MORE.search(folded(newer))
    about = {term.stem for term in mine.head if term.subject}
    if found is None or its.changed or _ONE_MORE.search(folded(older)) or stem(found[1]) not in about:
        return False
    return any(term.kind == "name" and not mine.holds(term) for term in its.terms)


def _tells_of_a_part(one: Claim, other: Claim) -> bool:
    """Whether one tells of a thing that belongs to what the other is about, as "the fitter of the kitchen"."""
    about = {term.stem for term in other.head if term.subject}
    return bool(one.wholes) and one.wholes <= about and one.part not in other.stems | ATTRIBUTES


def _are_of_two(older: Claim, newer: Claim) -> bool:
    """Whether what they tell of belongs to two people."""
    return any(
        any(term.owner and term.stem not in other.stems for term in one.head)
        and (other.mine or any(term.owner for term in other.head))
        for one, other in ((older, newer), (newer, older))
    )
