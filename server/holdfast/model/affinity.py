"""What feedback does to the order: a note that was liked for a question comes a little earlier for questions like it.

    affinity = 0.15 tanh( sum over signals of  signal * weight * similarity * 2^(-age / 30 days) )

with weight 1 for what somebody said and 0.5 for what an agent inferred. It is added to the score that orders and
never to the relevance that gates, so it hides nothing and shows nothing that was not there. The bound and the
half-life are Ormah's (its affinity boost); the sum inside tanh replaces its mean, so that repeated signals count for
more than one and never for more than the bound.
"""

from __future__ import annotations

import hashlib
import math
import unicodedata
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

BOUND = 0.15
HALF_LIFE_DAYS = 30.0
FORGOTTEN_DAYS = 300.0  # a thousandth is left of a signal this old: it no longer counts
EXPLICIT, IMPLICIT = 1.0, 0.5
TOLD = 0.01  # an affinity smaller than this is not worth a word

# Calibrated with the embedded encoder on the questions of a coding assistant's memory: of 6,000 pairs that need
# different notes of one project one in a thousand comes above NEAR (a cosine of 0.55); rewordings reach 0.7 to 0.95.
_NEAR, _SAME = 0.5, 0.9
_FEW_WORDS, _MOST_WORDS = 0.4, 0.9


@dataclass(frozen=True, slots=True)
class Signal:
    """One signal on a note: `signal` is 1 or -1, `similarity` in 0..1 says how like now's question its own is."""

    question: str
    signal: int
    explicit: bool
    age_days: float
    similarity: float


def affinity(signals: Iterable[Signal]) -> float:
    """A note's affinity for a question, within -BOUND..BOUND; 0 without signals.

    What somebody said about a question overrides what was inferred about the same one. An age below zero, from a
    clock that went back, counts as none.
    """
    given = [item for item in signals if item.age_days <= FORGOTTEN_DAYS]
    said = {item.question for item in given if item.explicit}
    total = sum(_weight(item) for item in given if item.explicit or item.question not in said)
    return BOUND * math.tanh(total)


def by_meaning(cosine: float, background: float) -> float:
    """Similarity in 0..1 of two questions by their vectors' cosine.

    Linear in how far the cosine is on the way from `background`, which unrelated texts have in this vector set, to 1:
    0 up to half of the way, 1 from nine tenths on.
    """
    way = (cosine - background) / (1.0 - background) if background < 1.0 else 0.0
    return _ramp(way, _NEAR, _SAME)


def by_words(asked: AbstractSet[str], other: AbstractSet[str], weights: Mapping[str, float]) -> float:
    """Similarity in 0..1 of two questions by their words: the share of all their words' weight that both have."""
    total = sum(weights[word] for word in asked | other)
    shared = sum(weights[word] for word in asked & other)
    return _ramp(shared / total if total > 0 else 0.0, _FEW_WORDS, _MOST_WORDS)


def numbered(words: Iterable[str]) -> frozenset[str]:
    """Words with a digit: ids, versions, years. Vectors hardly tell them apart, and different ones ask differently."""
    return frozenset(word for word in words if any(letter.isdigit() for letter in word))


def question_key(text: str) -> str:
    """A short stable name of a question, the same however it is spaced, capitalised and ended."""
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split()).strip(" ?!.。？！")  # noqa: RUF001 - theirs
    return hashlib.sha256((folded or text.strip()).encode()).hexdigest()[:32]


def _weight(item: Signal) -> float:
    kept = math.exp2(-max(0.0, item.age_days) / HALF_LIFE_DAYS)
    return item.signal * (EXPLICIT if item.explicit else IMPLICIT) * item.similarity * kept


def _ramp(value: float, low: float, high: float) -> float:
    return min(1.0, max(0.0, (value - low) / (high - low)))
