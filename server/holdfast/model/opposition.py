"""Whether two texts say opposite things, as far as words can tell: OMI's five pairs of opposites.

should always / should never, works well / doesn't work, causes / prevents, increases / decreases, enables / blocks.
Whole words count, in any inflection. "Does not prevent" opposes "prevents" but is not yet "causes". Clauses are
compared, not whole texts, and only where they speak of the same: they share more than half of what the shorter says
(two words where the texts are known to be close), and some of what is increased, blocked and so on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from holdfast.model.words import STOP_WORDS, folded

LONGEST, MOST_CLAUSES = 4000, 40  # characters and clauses of a text that are looked at
LEAST_SHARED, SHARED_WHERE_CLOSE = 0.5, 2
_REACH = 3  # a negation is looked for in so many words before
_CLAUSES = re.compile(r"[.!?;:\n]+|\b(?:but|whereas|while|although|though|however)\b")
_WORD = re.compile(r"[^\W_](?:[\w-]*[^\W_])?")
_NEGATIONS = frozenset({"not", "never", "hardly", "rarely", "seldom", "without", "nor", "fail", "fails", "failed"})
_DUTIES = frozenset({"should", "must", "shall"})
_WELL = frozenset({"well", "fine", "great", "reliably", "perfectly", "flawlessly", "properly", "correctly"})
_WORKS = frozenset({"work", "works", "worked", "working"})
_PAIRS = (
    "should always vs should never",
    "works well vs doesn't work",
    "causes vs prevents",
    "increases vs decreases",
    "enables vs blocks",
)
_VERBS = {
    stem + ending: (name, side)
    for name, side, stem, endings in (
        (_PAIRS[2], 1, "caus", "e es ed ing"),
        (_PAIRS[2], -1, "prevent", " s ed ing"),
        (_PAIRS[3], 1, "increas", "e es ed ing"),
        (_PAIRS[3], -1, "decreas", "e es ed ing"),
        (_PAIRS[4], 1, "enabl", "e es ed ing"),
        (_PAIRS[4], -1, "block", " s ed ing"),
    )
    for ending in endings.split(" ")
}
_SAYS_NOTHING = STOP_WORDS | _NEGATIONS | _DUTIES | _WELL | _WORKS | {"always", "longer", "very", "use", "using"}
_ENDINGS = re.compile(r"(?<=\w{3})(?:ing|ied|ies|ed|es|s|e|y)\Z")


@dataclass(frozen=True, slots=True)
class _Stance:
    """What one clause says of one pair: its side (1 or -1), denied or not, of what and with which object."""

    pair: str
    side: int
    denied: bool
    about: frozenset[str]
    of: frozenset[str]


def opposition(one: str, other: str, *, close: bool = False) -> str | None:
    """The pair of opposites by which two texts contradict each other; None where they do not.

    Symmetric; a text never contradicts itself. `close` says that their vectors are near.
    """
    one, other = one[:LONGEST], other[:LONGEST]
    ours, theirs = _stances(one), _stances(other)
    if not {mine.pair for mine in ours} & {its.pair for its in theirs} or _words(one) == _words(other):
        return None
    found = {mine.pair for mine in ours for its in theirs if _opposed(mine, its, close=close)}
    return next((pair for pair in _PAIRS if pair in found), None)


def _opposed(one: _Stance, other: _Stance, *, close: bool) -> bool:
    if one.pair != other.pair or not _clash(one, other):
        return False
    if one.of and other.of and not one.of & other.of:
        return False
    shared, least = len(one.about & other.about), min(len(one.about), len(other.about))
    return shared > LEAST_SHARED * least or (close and shared >= SHARED_WHERE_CLOSE)


def _clash(one: _Stance, other: _Stance) -> bool:
    """Opposite sides, both affirmed; or one side, affirmed and denied."""
    if one.side == other.side:
        return one.denied != other.denied
    return not one.denied and not other.denied


@lru_cache(512)  # one text is compared with many
def _stances(text: str) -> tuple[_Stance, ...]:
    return tuple(_stances_of(text))


def _stances_of(text: str) -> Iterator[_Stance]:
    subject: frozenset[str] = frozenset()
    for clause in _CLAUSES.split(_spelled_out(text))[:MOST_CLAUSES]:
        words = _WORD.findall(clause)
        marks = {pair: (place, side, denied) for place, pair, side, denied in reversed(list(_marks(words)))}
        for pair, (place, side, denied) in marks.items():
            before, after = _telling(words[:place]), _telling(words[place + 1 :])
            passive = words[place + 1 : place + 2] == ["by"]
            yield _Stance(pair, side, denied, (before or subject) | after, before if passive else after)
        subject = _telling(words[: min((place for place, _, _ in marks.values()), default=len(words))]) or subject


def _marks(words: Sequence[str]) -> Iterator[tuple[int, str, int, bool]]:
    """Where a clause takes a side: place, pair, side, denied."""
    for place, word in enumerate(words):
        denied = _denied(words, place)
        if word in _VERBS:
            yield place, *_VERBS[word], denied
        elif word in _WORKS:
            if _WELL & set(words[place + 1 : place + 3]):
                yield place, _PAIRS[1], 1, denied
            elif denied:
                yield place, _PAIRS[1], -1, False
        elif word in _DUTIES:
            yield from _duty(words, place)
        elif word in ("always", "never") and place == 0:
            yield place, _PAIRS[0], 1 if word == "always" else -1, False


def _duty(words: Sequence[str], place: int) -> Iterator[tuple[int, str, int, bool]]:
    """Should always, should never, should not."""
    near = [*words[max(0, place - 1) : place], *words[place + 1 : place + 3]]
    denied = "not" in near
    if "always" in near:
        yield place, _PAIRS[0], 1, denied
    elif "never" in near or denied:
        yield place, _PAIRS[0], -1, False


def _denied(words: Sequence[str], place: int) -> bool:
    """Whether an odd number of negations stands shortly before; "not only" is none, "no longer" is one."""
    start = max(0, place - _REACH)
    window = words[start : place + 1]
    plain = [word in _NEGATIONS and following not in ("only", "just") for word, following in pairwise(window)]
    gone = [(word, following) == ("no", "longer") for word, following in pairwise(window)]
    return (sum(plain) + sum(gone)) % 2 == 1


def _telling(words: Sequence[str]) -> frozenset[str]:
    """What a part of a clause is about: its words without those that only build the sentence, by their stems."""
    return frozenset(_ENDINGS.sub("", word) for word in words if word not in _SAYS_NOTHING and word not in _VERBS)


def _words(text: str) -> list[str]:
    return _WORD.findall(_spelled_out(text))


def _spelled_out(text: str) -> str:
    """Folded, with "don't" as "do not"."""
    plain = folded(text).replace("\u2019", "'").replace("cannot", "can not")
    return plain.replace("can't", "can not").replace("won't", "will not").replace("n't", " not")
