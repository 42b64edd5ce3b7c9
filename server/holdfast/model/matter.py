"""Whether two notes speak of the same matter and say something else of it: two versions of one fact.

A pair is such where enough of what they are about is the same, where what differs is a value (a number, a day, a name,
a choice), and where nothing shows that they speak of siblings: of the test server and the live one, of two people, of
two steps; or that they say other things of one subject. For this the first statement of each note is taken apart
(`holdfast.model.statement`). Words that announce a change ("no longer", "now") count for it. The weights were fitted on
the pairs of bench/currency.py's first half and on DevMem. What differs is told in the notes' own words.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TypeAlias

from holdfast.model.statement import (
    ADDITIVE_STEMS,
    AXIS_OF,
    CHANGE_WORDS,
    CHANGES_OF,
    GENERIC,
    GENERIC_STEMS,
    LONGEST,
    UNSPACED,
    VERBS,
    Statement,
    Word,
    statement,
    stem,
)
from holdfast.model.words import STOP_WORDS, folded

LONGEST_PART = 60  # characters that are shown of what differs
COVERED = 0.5  # of the words of a claim, from which on another note speaks of the same
LEAST_WORDS = 2  # of a claim: a single word behind "and" is one more thing that the verb before it speaks of
_CLAIMS = re.compile(
    r"(?<=[.!?])\s+|[;\u3002\uff0c\uff1b\uff01\uff1f]|\n+|,?\s+(?:and|but|und|aber|y|pero|et|mais|ed?|ma|en|maar)\s+"
)
_EDGES = ".,:;!?()[]\"'\u201c\u201d\u201e\u00ab\u00bb\u00bf\u00a1\u2019"
_VERBS = frozenset(map(stem, VERBS | GENERIC))
_VERB_ENDINGS = ("s", "t", "en", "ed")
_FEW = 3  # words that differ in one place of a text
_SHORT, _ENOUGH = 10, 2  # words that a text says; topics that two long ones must share
_FAR = 0.5  # a cosine below which two texts are about one thing only where their words show it
_NEAR = 0.6  # a cosine that tells that two texts are about one thing, where their words hardly do


Slot: TypeAlias = tuple[list[Word], list[Word]]


@dataclass(frozen=True, slots=True)
class Signs:
    """What is seen of a pair, the older first.

    `shared` is how much of the shorter one's topics both have, `topics` how many those are; `changed` that the newer
    tells of a change of what the older one says, `quotes` that it names the older one's value; `differ` that both have
    a value of their own; `siblings` that their subjects are told apart; `plain` that they differ in one place only;
    `moved` that the newer tells of a change of the older one's subject, to another value of its sort;
    `subject_alone` that they share what they are about and nothing of what they say of it; `otherwise_said` that
    another verb says another thing of one subject; `additive` that of what they tell there can be many.
    """

    likeness: float | None
    shared: float
    topics: int
    changed: bool
    quotes: bool
    replaced: bool
    differ: bool
    opposed: bool
    siblings: bool
    plain: bool
    apart: int
    heads: bool
    length: int
    happened: bool
    chatty: bool
    moved: bool
    subject_alone: bool
    otherwise_said: bool
    additive: bool


def may_speak_of_one(one: Statement, other: Statement) -> bool:
    """Whether two statements have anything in common; most pairs have not, and need no closer look."""
    return not (one.topics.isdisjoint(other.stems) and other.topics.isdisjoint(one.stems))


def may_be_versions(older: Statement, newer: Statement) -> bool:
    """Whether `sameness` can be more than nothing: what rules it out and is seen without a comparison word by word."""
    if older.chatty or newer.chatty or (older.happened and newer.happened):
        return False
    if min(len(older.stems), len(newer.stems)) <= _SHORT:
        return True
    if newer.changed and len(older.topics & newer.topics) >= _ENOUGH:
        return True
    return _are_few(older, newer) and _are_few(newer, older)


def _are_few(one: Statement, other: Statement) -> bool:
    """Whether so few words are only in one of them that the two can differ in one place."""
    return sum(word.stem not in other.stems for word in one.telling) <= _FEW


def signs(older: Statement, newer: Statement, likeness: float | None) -> Signs:
    """What is seen of two statements; `likeness` is the cosine of their vectors."""
    mine, theirs = older.topics, newer.topics
    shared = [len(mine & newer.stems) / max(1, len(mine)), len(theirs & older.stems) / max(1, len(theirs))]
    only_old, only_new = _only(older, newer), _only(newer, older)
    slots = _slots(older, newer)
    differ = any(word.chosen for word in only_old) and any(word.chosen for word in only_new)
    differ = differ and (newer.changed or _are_of_one_sort(only_old, only_new))
    differ = differ and not _measure_another_thing(only_old, only_new)
    if newer.changed and only_old and only_new and all(UNSPACED.search(word.text) for word in (*only_old, *only_new)):
        differ = True  # no word of these scripts shows that it is a name
    replaced = bool(only_old) and bool(only_new)
    quotes = bool(older.values - newer.values == frozenset() and older.values and newer.values - older.values)
    return Signs(
        likeness=likeness,
        shared=sum(shared) / 2,
        topics=len(mine & theirs),
        changed=newer.changed and (differ or quotes or _say_the_same(older, newer)),
        quotes=quotes,
        replaced=replaced,
        differ=differ,
        opposed=older.negated != newer.negated,
        siblings=_are_siblings(older, newer, only_old, only_new, slots),
        plain=_differ_in_one_place(older, newer, only_old, only_new, slots),
        apart=min(_many(only_old), _many(only_new)),
        heads=_has_head(only_old) and _has_head(only_new),
        length=min(len(older.stems), len(newer.stems)),
        happened=older.happened and newer.happened,
        chatty=older.chatty or newer.chatty,
        moved=newer.changed and differ and _takes_over(older, newer, only_old, only_new),
        subject_alone=not differ and not _say_the_same(older, newer),
        otherwise_said=_is_said_otherwise(older, newer, only_old, only_new),
        additive=_is_additive(older, newer),
    )


def sameness(seen: Signs) -> float:
    """How likely the pair is two versions of one fact, in 0..1."""
    if (
        seen.siblings
        or seen.additive
        or seen.happened
        or seen.chatty
        or not (seen.replaced or seen.opposed or seen.changed)
    ):
        return 0.0
    if seen.length > _SHORT and not seen.plain and (not seen.changed or seen.topics < _ENOUGH):
        return 0.0  # of two long texts something always differs
    likeness = seen.shared if seen.likeness is None else seen.likeness
    weight = (
        1.6
        + 3.5 * (likeness - 0.6)
        + 2.0 * (seen.shared - 0.6)
        + 1.4 * (min(seen.topics, 4) - 2)
        + 1.8 * seen.changed
        + 1.2 * seen.quotes
        + 1.8 * (seen.moved and not seen.otherwise_said)
        + 1.8 * seen.plain
        + 0.8 * seen.opposed
        - 0.7 * min(seen.apart, 6)
        - 1.5 * seen.heads
        - 2.5 * (seen.topics < _ENOUGH and not seen.differ and likeness < _NEAR)
        - 2.5 * (seen.subject_alone and not (seen.changed or seen.plain or seen.quotes or seen.opposed))
        - 4.0 * seen.otherwise_said
        - 1.0 * (likeness < _FAR and not (seen.differ or seen.changed or seen.plain or seen.opposed or seen.quotes))
        - 0.3 * (seen.length > _FEW and not (seen.plain or seen.changed or seen.quotes))
        - 0.1 * max(0, seen.length - 8)
    )
    return 0.5 + 0.5 * math.tanh(weight / 2)


def _only(one: Statement, other: Statement) -> list[Word]:
    return [word for word in one.telling if word.stem not in other.stems]


def _many(only: list[Word]) -> int:
    """How many words; of scripts without spaces two pieces share a sign, and are one."""
    pieces = sum(bool(UNSPACED.search(word.text)) for word in only)
    return sum(word.kind != "value" for word in only) - pieces // 2


def _sorts(only: list[Word]) -> set[str]:
    return {word.sort for word in only if word.sort}


def _are_of_one_sort(only_old: list[Word], only_new: list[Word]) -> bool:
    """Whether days stand against days, and figures against figures: a day is no other version of an amount."""
    mine, its = _sorts(only_old), _sorts(only_new)
    return not (mine and its) or _meet(mine, its)


def _meet(mine: set[str], its: set[str]) -> bool:
    """Whether two sets have a sort in common; a figure without a unit may be any."""
    if not mine.isdisjoint(its):
        return True
    bare = "figure" in mine or "figure" in its
    return bare and all(any(each.startswith("figure") for each in side) for side in (mine, its))


def _measure_another_thing(only_old: list[Word], only_new: list[Word]) -> bool:
    """Whether nothing but figures stand against each other, of which no two can be compared, as hours and euros."""
    mine, its = _sorts(only_old), _sorts(only_new)
    return all(each.startswith("figure ") for each in (*mine, *its)) and bool(mine and its) and mine.isdisjoint(its)


def _takes_over(older: Statement, newer: Statement, only_old: list[Word], only_new: list[Word]) -> bool:
    """Whether the newer one's whole subject is the older one's, and each has a value of one sort ("moved to 9:45")."""
    mine, its = (
        {word.stem for word in each.words if word.subject and word.kind != "value" and not word.generic}
        for each in (older, newer)
    )
    return bool(its) and its <= mine and _meet(_sorts(only_old), _sorts(only_new))


def _is_said_otherwise(older: Statement, newer: Statement, only_old: list[Word], only_new: list[Word]) -> bool:
    """Whether they share their subject alone, and what each says of it is no other state of the same."""
    mine, its = ({word.stem for word in each.words if word.subject} for each in (older, newer))
    if mine.isdisjoint(its) or _say_the_same(older, newer):
        return False
    if newer.shifted and newer.shifted.isdisjoint(older.stems):
        return True
    if _measure_another_thing(only_old, only_new) or (newer.changed and not _are_of_one_sort(only_old, only_new)):
        return True
    is_anybody = mine & its <= GENERIC_STEMS  # of a user, and of us, much is said
    return (is_anybody and mine != its) or _is_another_state(older, newer, is_anybody=is_anybody)


def _is_another_state(older: Statement, newer: Statement, *, is_anybody: bool) -> bool:
    """Whether the verbs tell of other things, and none of a change of what the other says."""
    changes = CHANGES_OF.get(older.predicate, frozenset())
    if changes and newer.changed:
        return changes.isdisjoint(newer.said)
    if is_anybody:
        return older.predicate != newer.predicate or not older.predicate
    verbs = stem(older.predicate), stem(newer.predicate)
    return all(verbs) and verbs[0] != verbs[1] and verbs[0] not in newer.stems and verbs[1] not in older.stems


def _is_additive(older: Statement, newer: Statement) -> bool:
    verb = stem(older.predicate)
    if not verb or verb != stem(newer.predicate) or verb not in ADDITIVE_STEMS or newer.changed:
        return False
    more = {word.stem for word in older.words if not word.subject and word.stem != verb} & newer.stems
    return older.negated == newer.negated and not more


def _say_the_same(older: Statement, newer: Statement) -> bool:
    """Whether both say something of the same of their subject, and do not only share that."""
    return any(not word.subject and not word.generic and word.stem in newer.stems for word in older.words)


def _differ_in_one_place(
    older: Statement, newer: Statement, only_old: list[Word], only_new: list[Word], slots: list[Slot]
) -> bool:
    """Whether one place tells them apart. Where they share their subject alone, it must hold one thing each."""
    if len(slots) != 1 or not all(slots[0]) or max(len(only_old), len(only_new)) > _FEW:
        return False
    if not newer.changed and not _are_of_one_sort(only_old, only_new):
        return False
    return _say_the_same(older, newer) or all(sum(word.kind == "word" for word in side) <= 1 for side in slots[0])


def _has_head(only: list[Word]) -> bool:
    """Whether one of these words tells what the sentence is about."""
    return any(word.subject and word.kind == "word" and not word.generic for word in only)


def _slots(older: Statement, newer: Statement) -> list[Slot]:
    """The places where one text has other words than the other, in order; either side may be empty."""
    mine, theirs = older.telling, newer.telling
    blocks = SequenceMatcher(None, [word.stem for word in mine], [word.stem for word in theirs], autojunk=False)
    return [(list(mine[a:b]), list(theirs[c:d])) for kind, a, b, c, d in blocks.get_opcodes() if kind != "equal"]


def _are_siblings(
    older: Statement,
    newer: Statement,
    only_old: list[Word],
    only_new: list[Word],
    slots: list[Slot],
) -> bool:
    """Whether what differs tells two subjects apart, and not what is said of one."""
    if _on_one_axis(older, newer, only_old, only_new) or _are_two_of_a_kind(older, newer):
        return True
    for place, (mine, theirs) in enumerate(slots):
        ours = [word for word in mine if word.subject and word in only_old]
        its = [word for word in theirs if word.subject and word in only_new]
        if ours and its and _is_identifier(ours[-1]) and _is_identifier(its[-1]):
            return True
        if not ours or not its or ours[-1].kind != its[-1].kind:
            continue
        others = any(left and right for left, right in slots[place + 1 :])
        if others or not (older.role or newer.role or newer.changed):
            return True
    named_old = [word for word in only_old if word.subject and (word.kind == "name" or word.first)]
    named_new = [word for word in only_new if word.subject and (word.kind == "name" or word.first)]
    return bool(named_old and named_new) and len(only_old) > len(named_old) and len(only_new) > len(named_new)


def _are_two_of_a_kind(older: Statement, newer: Statement) -> bool:
    """As season tickets and day tickets: the last words of the subjects are one, those before it are told apart."""
    mine, its = ([word for word in each.words if word.subject] for each in (older, newer))
    if newer.changed or min(len(mine), len(its)) < 2 or mine[-1].stem != its[-1].stem:  # noqa: PLR2004 - two words
        return False
    if older.role or newer.role or any(word.kind == "value" for word in (*mine, *its)):
        return False
    own, other = (
        {word.stem for word in one[:-1]} - {word.stem for word in two} for one, two in ((mine, its), (its, mine))
    )
    return bool(own) and bool(other)


def _is_identifier(word: Word) -> bool:
    """Whether a word is letters with digits, as the names of single things are."""
    return any(sign.isdecimal() for sign in word.text) and any(sign.isalpha() for sign in word.text)


def _on_one_axis(older: Statement, newer: Statement, only_old: list[Word], only_new: list[Word]) -> bool:
    """As staging and production, where something else differs too."""
    mine, theirs = _axes(older), _axes(newer)
    more = any(word.text not in AXIS_OF for word in only_old) and any(word.text not in AXIS_OF for word in only_new)
    return more and any(not mine[axis] & theirs[axis] for axis in mine.keys() & theirs.keys())


def _axes(said: Statement) -> dict[int, set[str]]:
    """The words that tell siblings apart, by what they are siblings in."""
    axes: dict[int, set[str]] = {}
    for word in said.words:
        if word.text in AXIS_OF:
            axes.setdefault(AXIS_OF[word.text], set()).add(word.text)
    return axes


def parts_that_differ(one: str, other: str) -> tuple[str, str] | None:
    """What each text has and the other has not, of the claims that are likest; None where that tells nothing.

    Either part may be empty.
    """
    mine, its = max(
        ((mine, its) for mine in _claims(one) for its in _claims(other)),
        key=lambda pair: len({word.stem for word in pair[0].said.words} & {word.stem for word in pair[1].said.words}),
        default=(_Claim("", statement("")), _Claim("", statement(""))),
    )
    here, there = _tokens(mine.text), _tokens(its.text)
    blocks = SequenceMatcher(
        None, [token.compared for token in here], [token.compared for token in there], autojunk=False
    ).get_opcodes()
    left = [here[a:b] for kind, a, b, _, _ in blocks if kind != "equal"]
    right = [there[a:b] for kind, _, _, a, b in blocks if kind != "equal"]
    parts = _shown(left, there), _shown(right, here)
    return parts if any(parts) else None


def say_the_same(one: str, other: str) -> bool:
    """Whether two statements name the same values and the same names, and both deny it or neither does.

    The name of what they speak of is none of these: of one thing they may say different things without any.
    """
    mine, its = statement(one), statement(other)
    tells = any(word.kind != "word" and not word.subject for word in (*mine.words, *its.words))
    return tells and (mine.values | mine.names) == (its.values | its.names) and mine.negated == its.negated


def says_more(older: str, newer: str) -> bool:
    """Whether the older text says something beside that of which the newer one is a version."""
    said = statement(newer).stems
    return any(
        len({word.stem for word in claim.said.words} & said) < COVERED * len(claim.said.words)
        for claim in _claims(older)[1:]
    )


@dataclass(frozen=True, slots=True)
class _Claim:
    """One of the things that a text says, as it is written."""

    text: str
    said: Statement


@dataclass(frozen=True, slots=True)
class _Token:
    """A word as it is written and as it is compared; whether it tells anything."""

    written: str
    compared: str
    tells: bool


def _claims(text: str) -> list[_Claim]:
    """The first is the beginning of the text, whatever it says; of the others what has a verb."""
    parts = [_Claim(part.strip(), statement(part)) for part in _CLAIMS.split(text[:LONGEST]) if part.strip()]
    return [claim for place, claim in enumerate(parts) if place == 0 or _has_verb(claim)]


def _has_verb(claim: _Claim) -> bool:
    words = [folded(word.strip(_EDGES)) for word in claim.text.split()]
    if len(claim.said.words) < LEAST_WORDS:
        return False
    return len(words) == 1 or any(stem(word) in _VERBS or word.endswith(_VERB_ENDINGS) for word in words)


def _tokens(text: str) -> list[_Token]:
    found = []
    for token in text.split():
        written = token.strip(_EDGES)
        plain = folded(written).removesuffix("'s")
        if written:
            compared = plain if any(map(str.isdecimal, plain)) or "/" in plain else stem(plain)
            found.append(_Token(written, compared, plain not in STOP_WORDS and plain not in CHANGE_WORDS))
    return found


def _shown(blocks: list[list[_Token]], other: list[_Token]) -> str:
    """The blocks that tell something new, each without the words at its edges that tell nothing."""
    known = {token.compared for token in other}
    parts = []
    for block in blocks:
        places = [place for place, token in enumerate(block) if token.tells]
        if any(block[place].compared not in known for place in places):
            parts.append(" ".join(token.written for token in block[places[0] : places[-1] + 1]))
    text = " \u2026 ".join(parts)
    return text if len(text) <= LONGEST_PART else text[: LONGEST_PART - 1] + "\u2026"
