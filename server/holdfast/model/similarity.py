"""Relevance in the measure of OMI's threshold, where 0.7 is what its reference takes for similar enough.

A probability that a careful reader calls a note relevant is rarely as high as that where a question shares no words
with its answer. So relevance is rescaled: monotone, two straight pieces that meet at 0.7. With vectors they meet at
recall's own gate, and relevance is lowered first by the share of the question's words that no note has:
what nobody ever wrote about is rarely answered. The constants are round numbers, chosen with all of DevMem in view
(bench/omi.py shows both halves).
"""

from __future__ import annotations

import math

SIMILAR = 0.7
LINE, LINE_OF_WORDS = 0.18, 0.5  # the relevance that becomes SIMILAR: with vectors, and by words alone
_UNKNOWN = 2.0  # the log odds that a question of unknown words alone would lose
_FOREIGN = 2 / 3  # with more of its words unknown it is rather in another language, or full of slips of the pen


def similarity(relevance: float, unknown: float, *, by_meaning: bool) -> float:
    """The measure that `min_relevance` is compared with, in 0..1; monotone in `relevance`.

    Args:
        relevance: as recall tells it, in 0..1.
        unknown: the share of the question's words that no note has, in 0..1.
        by_meaning: whether vectors were compared.
    """
    if by_meaning and unknown <= _FOREIGN:
        relevance = _with_odds(relevance, math.exp(-_UNKNOWN * unknown))
    line = LINE if by_meaning else LINE_OF_WORDS
    if relevance < line:
        return SIMILAR * relevance / line
    return SIMILAR + (1.0 - SIMILAR) * (relevance - line) / (1.0 - line)


def _with_odds(probability: float, factor: float) -> float:
    """The probability with its odds multiplied."""
    return probability * factor / (probability * factor + 1.0 - probability)
