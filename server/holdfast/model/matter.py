"""Whether two notes speak of the same matter and say something else of it: two versions of one fact.

A pair is such where enough of what they are about is the same, where what differs is a value (a number, a day, a name,
a choice), and where nothing shows that they speak of siblings: of the test server and the live one, of two people, of
two steps. The weights were fitted on the pairs of bench/currency.py's first half and on DevMem.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TypeAlias

from holdfast.model.changewords import AXIS_OF
from holdfast.model.statement import Statement, Word

FOLDED, LED, SURE = (
    0.5,
    0.3,
    0.8,
)  # from which likelihood one note stands behind another, comes after it; and beyond doubt
_FEW = 3  # words that differ in one place of a text
_SHORT, _ENOUGH = 10, 2  # words that a text says; topics that two long ones must share
_NEAR = 0.6  # a cosine that tells that two texts are about one thing, where their words hardly do


Slot: TypeAlias = tuple[list[Word], list[Word]]


@dataclass(frozen=True, slots=True)
class Signs:
    """What is seen of a pair, the older first.

    `shared` is how much of the shorter one's topics both have, `topics` how many those are; `changed` that the newer
    tells of a change of what the older one says, `quotes` that it names the older one's value; `differ` that both have
    a value of their own; `siblings` that their subjects are told apart; `plain` that they differ in one place only;
    `subject_alone` that they share what they are about and nothing of what they say of it.
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
    subject_alone: bool


def may_speak_of_one(one: Statement, other: Statement) -> bool:
    """Whether two statements have anything in common; most pairs have not, and need no closer look."""
    return not (one.topics.isdisjoint(other.stems) and other.topics.isdisjoint(one.stems))


def signs(older: Statement, newer: Statement, likeness: float | None) -> Signs:
    """What is seen of two statements; `likeness` is the cosine of their vectors."""
    mine, theirs = older.topics, newer.topics
    shared = [len(mine & newer.stems) / max(1, len(mine)), len(theirs & older.stems) / max(1, len(theirs))]
    only_old, only_new = _only(older, newer), _only(newer, older)
    slots = _slots(older, newer)
    differ = any(word.chosen for word in only_old) and any(word.chosen for word in only_new)
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
        apart=min(sum(word.kind != "value" for word in only_old), sum(word.kind != "value" for word in only_new)),
        heads=_has_head(only_old) and _has_head(only_new),
        length=min(len(older.stems), len(newer.stems)),
        happened=older.happened and newer.happened,
        chatty=older.chatty or newer.chatty,
        subject_alone=not differ and not _say_the_same(older, newer),
    )


def sameness(seen: Signs) -> float:
    """How likely the pair is two versions of one fact, in 0..1."""
    if seen.siblings or seen.happened or seen.chatty or not (seen.replaced or seen.opposed or seen.changed):
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
        + 1.8 * seen.plain
        + 0.8 * seen.opposed
        - 0.7 * min(seen.apart, 6)
        - 1.5 * seen.heads
        - 2.5 * (seen.topics < _ENOUGH and not seen.differ and likeness < _NEAR)
        - 2.5 * (seen.subject_alone and not (seen.changed or seen.plain or seen.quotes or seen.opposed))
        - 0.3 * (seen.length > _FEW and not (seen.plain or seen.changed or seen.quotes))
        - 0.1 * max(0, seen.length - 8)
    )
    return 0.5 + 0.5 * math.tanh(weight / 2)


def _only(one: Statement, other: Statement) -> list[Word]:
    return [word for word in one.words if word.stem not in other.stems and not word.generic]


def _say_the_same(older: Statement, newer: Statement) -> bool:
    """Whether both say something of the same of their subject, and do not only share that."""
    return any(not word.subject and not word.generic and word.stem in newer.stems for word in older.words)


def _differ_in_one_place(
    older: Statement, newer: Statement, only_old: list[Word], only_new: list[Word], slots: list[Slot]
) -> bool:
    """Whether one place tells them apart. Where they share their subject alone, it must hold one thing each."""
    if len(slots) != 1 or not all(slots[0]) or max(len(only_old), len(only_new)) > _FEW:
        return False
    return _say_the_same(older, newer) or all(sum(word.kind == "word" for word in side) <= 1 for side in slots[0])


def _has_head(only: list[Word]) -> bool:
    """Whether one of these words tells what the sentence is about."""
    return any(word.subject and word.kind == "word" and not word.generic for word in only)


def _slots(older: Statement, newer: Statement) -> list[Slot]:
    """The places where one text has other words than the other, in order; either side may be empty."""
    mine = [word for word in older.words if not word.generic]
    theirs = [word for word in newer.words if not word.generic]
    blocks = SequenceMatcher(None, [word.stem for word in mine], [word.stem for word in theirs], autojunk=False)
    return [(mine[a:b], theirs[c:d]) for kind, a, b, c, d in blocks.get_opcodes() if kind != "equal"]


def _are_siblings(
    older: Statement,
    newer: Statement,
    only_old: list[Word],
    only_new: list[Word],
    slots: list[Slot],
) -> bool:
    """Whether what differs tells two subjects apart, and not what is said of one."""
    if _on_one_axis(older, newer, only_old, only_new):
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
