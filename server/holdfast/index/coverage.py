"""What the words of a question score in a note: the numbers and rules that both searches by words share.

A server counts in arrays and keeps what it counted (`holdfast.index.search.words`); a hook without one asks a single
question of the same tables with nothing but sqlite3 (`holdfast.index.plain`). Both must find the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.model.words import relatives

# Weights of title, body, tags, subject, earlier, later; measured on notes and dialogue (bench/retrieval.py).
BM25: Final = "bm25(texts, 2.0, 1.0, 1.0, 1.0, 0.45, 0.3)"
OWN: Final = "{title body tags subject}"  # columns of a note's own words
POOL: Final = 150  # candidates of each leg
MOST_TERMS: Final = 32  # words of a query that are looked at
MOST_CANDIDATES: Final = 64
RELATED_SHARE: Final = 0.6  # of its weight a word scores where only another of its family stands
USUAL_SHARE: Final = 0.8  # of its weight a common word scores where it stands in a note's own text
_FLOOR: Final = 1e-6  # FTS5's own idf never falls below this
_PRIOR_NOTES: Final = 50  # a small store is taken as part of a larger one, or a word in 2 of 3 notes would say nothing
_PASTED_TERMS: Final = 5  # a paste counts as a query of at least so many words, however few of its own are known
_ENOUGH: Final = 50  # notes in reach that a rare term must have found
_RARE_ROWS: Final = 1500  # rows scored term by term; behind them a term is only looked at where a rarer one was found
_RARE_AT_LEAST, _RARE_SHARE = 5, 100  # a word of so many notes, and of one in so many more, is rare


@dataclass(frozen=True, slots=True)
class Term:
    """A word of a question with those of its family that some note has.

    `found` is how many notes have it or one of `related`.
    """

    word: str
    found: int
    idf: float
    fts_idf: float
    related: tuple[Term, ...] = ()

    @property
    def phrase(self) -> str:
        return f'"{self.word}"'

    @property
    def either(self) -> str:
        """The word or another of its family."""
        return " OR ".join(term.phrase for term in (self, *self.related))

    @property
    def tells(self) -> bool:
        """Whether it says something where it is not scored: a word of every other note says nothing."""
        return self.fts_idf > _FLOOR


def idf(total: int, found: int) -> float:
    """What a word tells that `found` of `total` notes have, as in BM25, in a store that is larger by `_PRIOR_NOTES`."""
    return math.log(1 + (_PRIOR_NOTES + max(0, total - found) + 0.5) / (found + 0.5))


def term_of(word: str, total: int, count: Callable[[str], int]) -> Term:
    """A word with those of its family that some note has; it counts as found wherever one of them is.

    Args:
        word: of the question.
        total: how many notes there are.
        count: tells how many of them have a word, in whatever column.
    """
    own = _single(word, total, count)
    related = tuple(other for other in (_single(each, total, count) for each in relatives(word)) if other.found)
    if not related:
        return own
    found = min(total, own.found + sum(other.found for other in related))
    return Term(word, found, idf(total, found), own.fts_idf, related)


def _single(word: str, total: int, count: Callable[[str], int]) -> Term:
    found = count(word)
    most = max(_FLOOR, math.log((max(total, found) - found + 0.5) / (found + 0.5)))  # as FTS5 has it
    return Term(word, found, idf(total, found), most)


def weighed(terms: Sequence[Term], total: int, most: int) -> tuple[list[Term], float]:
    """The terms that are looked at, the rarest first, and the weight that all of them are a share of.

    Of a pasted log these are its rarest words that are known at all; a few of them say little.
    """
    known, least = sorted(terms, key=lambda term: term.found), 0.0
    if len(known) > most:
        known, least = [term for term in known if term.found][:most], _PASTED_TERMS * idf(total, 0)
    return known, max(least, sum(term.idf for term in known)) or 1.0


def is_scored(term: Term, rows: int, reached: Callable[[], int]) -> bool:
    """Whether the next term is scored wherever it stands, and not only looked for where a rarer one was found.

    Args:
        term: the rarest of those that are left.
        rows: how many were scored for the rarer ones.
        reached: tells how many notes that may be told these were found in.
    """
    return rows + term.found <= _RARE_ROWS or reached() < _ENOUGH


def most_rare(total: int) -> int:
    """How many of so many notes may have a word that is rare."""
    return _RARE_AT_LEAST + total // _RARE_SHARE
