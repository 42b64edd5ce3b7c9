"""The lexical leg: how much of what a query could score a note scores (BM25 coverage)."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from holdfast.index.coverage import (
    BM25,
    OWN,
    RELATED_SHARE,
    USUAL_SHARE,
    Term,
    is_scored,
    most_rare,
    term_of,
    weighed,
)
from holdfast.index.search.snapshot import Floats, Mask, Positions, Snapshot
from holdfast.model.identifiers import Unit, units_of

_PART = 1e-10  # of a score, which is told in whole numbers of it; the least that a word can score is about 1e-6
# Many rows are told as one: a row each would cost up to five times as much, and other threads would wait for each.
_SCORED = (  # bm25 works in no aggregate: the LIMIT keeps the inner query apart
    f"SELECT group_concat(rowid), group_concat(score) FROM (SELECT rowid, CAST(-{BM25} / {_PART} AS INTEGER) AS score "  # noqa: S608 - own words
    "FROM texts WHERE texts MATCH ? LIMIT -1)"
)
_PRESENT = "SELECT group_concat(rowid) FROM texts WHERE texts MATCH ?"


@dataclass(frozen=True, slots=True)
class Lexical:
    """`coverage` by position in 0..1: the share of the query's weight that the note's words carry.

    `matched` has bit i set where term i of `words` was found. `unknown` are terms that no note of the store has.
    """

    coverage: Floats
    matched: npt.NDArray[np.uint32]
    words: tuple[str, ...]
    unknown: frozenset[str]

    def words_of(self, bits: int) -> tuple[str, ...]:
        """The words that an entry of `matched` stands for."""
        return tuple(word for place, word in enumerate(self.words) if bits >> place & 1)


@dataclass(frozen=True, slots=True)
class Rare:
    """A rare word or identifier of the query, and the positions of the notes that pass and have it in their own text.

    `count` is how many notes have it, whether or not they pass.
    """

    unit: Unit
    count: int
    positions: Positions


def rare_words(connection: sqlite3.Connection, snapshot: Snapshot, query: str, passes: Mask) -> list[Rare]:
    """The identifiers and words of a query that few notes hold in their own text, each with those that pass."""
    total = snapshot.count
    most = most_rare(total)
    found: list[Rare] = []
    for unit in units_of(query):
        if unit.kind in ("identifier", "name") or 0 < _count(connection, snapshot, unit.label) <= most:
            places = _holding(connection, snapshot, unit, most)
            if 0 < len(places) <= most:
                found.append(Rare(unit, len(places), places[passes[places]]))
    return found


def _holding(connection: sqlite3.Connection, snapshot: Snapshot, unit: Unit, most: int) -> Positions:
    """Positions of the notes that have one of the spellings in their own text; of many only some, more than `most`."""
    either = " OR ".join(f'"{phrase}"' for phrase in unit.phrases)
    statement = "SELECT group_concat(rowid) FROM (SELECT rowid FROM texts WHERE texts MATCH ? LIMIT ?)"
    (rowids,) = connection.execute(statement, (f"{OWN} : ({either})", most + 1)).fetchone()
    places, known = snapshot.places(_numbers(rowids))
    return places[known]


def search_words(
    connection: sqlite3.Connection,
    snapshot: Snapshot,
    words: list[str],
    passes: Mask,
    most: int,
    rare_ones: Sequence[Rare] = (),
) -> Lexical:
    """Score every note that passes the filter and holds a word of the query.

    coverage = sum(idf * min(1, tf)) / sum(idf) over the query's terms, where tf is BM25's saturated, length-normalised
    term frequency (Robertson and Zaragoza 2009) over weighted columns, as FTS5 computes it. Of common terms, which are
    only looked for where a rare one was found, tf is taken as 0.8. Of `rare_ones` it is 1 in whatever holds them: a
    long note has a passage about such a word, and its other passages do not speak against it.
    """
    whole = {term: rare.positions for rare in rare_ones for term in rare.unit.terms}
    total = snapshot.count
    terms = [term_of(word, total, lambda each: _count(connection, snapshot, each)) for word in words]
    unknown = frozenset(term.word for term in terms if not term.found and term.word not in whole)
    terms, weight = weighed(terms, total, most)
    coverage = np.zeros(snapshot.size, np.float32)
    for term in terms:
        if not term.found and term.word in whole:  # an identifier that is spelt in another way
            coverage[whole[term.word]] += term.idf / weight
    matched = np.zeros(snapshot.size, np.uint32)
    rare: list[Term] = []
    common = [term for term in terms if term.found]
    rows = 0
    while common and is_scored(common[0], rows, lambda: int(np.count_nonzero(matched))):
        term = common.pop(0)
        rows += term.found
        positions, share = _shares(connection, snapshot, term, passes)
        place = len(rare)
        rare.append(term)
        if term.word in whole:
            share[np.isin(positions, whole[term.word])] = 1.0
        coverage[positions] += term.idf / weight * share
        matched[positions] |= np.uint32(1 << place)
    if common and rare:
        _add_common(connection, snapshot, rare, common, weight, passes, coverage)
    return Lexical(coverage, matched, tuple(term.word for term in rare), unknown)


def _shares(connection: sqlite3.Connection, snapshot: Snapshot, term: Term, passes: Mask) -> tuple[Positions, Floats]:
    """Where a word stands, or another of its family, and which share of its weight it scores there."""
    positions, scores = _of_term(connection, snapshot, term, passes)
    share = np.minimum(np.float32(1.0), scores / np.float32(term.fts_idf))
    if not term.related:
        return positions, share
    everywhere = np.zeros(snapshot.size, np.float32)
    everywhere[positions] = share
    for other in term.related:
        places, theirs = _shares(connection, snapshot, other, passes)
        everywhere[places] = np.maximum(everywhere[places], np.float32(RELATED_SHARE) * theirs)
    positions = np.flatnonzero(everywhere)
    return positions, everywhere[positions]


def _count(connection: sqlite3.Connection, snapshot: Snapshot, word: str) -> int:
    """How many notes have a word, as far as possible from memory."""
    counts = snapshot.document_counts
    found = counts.of(word)
    if found is None:
        found = document_count(connection, word)
        counts.keep(word, found)
    return found


def document_count(connection: sqlite3.Connection, word: str) -> int:
    """How many notes have a word, in whatever column."""
    return int(connection.execute("SELECT count(*) FROM texts WHERE texts MATCH ?", (f'"{word}"',)).fetchone()[0])


def _of_term(connection: sqlite3.Connection, snapshot: Snapshot, term: Term, passes: Mask) -> tuple[Positions, Floats]:
    """As `_scored`, for one word."""
    known = snapshot.word_scores.of(term.word)
    if known is None:
        known = _scored(connection, snapshot, term.phrase)
        snapshot.word_scores.keep(term.word, *known)
    places, scores = known
    kept = passes[places]
    return places[kept], scores[kept]


def _scored(connection: sqlite3.Connection, snapshot: Snapshot, expression: str) -> tuple[Positions, Floats]:
    """Positions and BM25 scores of the notes that match an expression."""
    rowids, scores = connection.execute(_SCORED, (expression,)).fetchone()
    places, known = snapshot.places(_numbers(rowids))
    return places[known], (_numbers(scores)[known] * _PART).astype(np.float32)


def _numbers(told: str | None) -> npt.NDArray[np.int64]:
    return np.fromstring(told or "", np.int64, sep=",")


def _add_common(
    connection: sqlite3.Connection,
    snapshot: Snapshot,
    rare: list[Term],
    common: list[Term],
    weight: float,
    passes: Mask,
    coverage: Floats,
) -> None:
    """Add what common words say of notes that have a rare one; how often they stand there is left open.

    To score them would cost more than all the rest, since bm25 walks through all notes of every word, and finds
    nothing better.
    """
    either = " OR ".join(term.either for term in rare)
    for term in common:
        if term.tells:
            expression = f"({either}) AND {OWN} : ({term.either})"
            (found,) = connection.execute(_PRESENT, (expression,)).fetchone()
            places, known = snapshot.places(_numbers(found))
            places = places[known]
            coverage[places[passes[places]]] += term.idf / weight * USUAL_SHARE
