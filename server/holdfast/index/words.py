"""The lexical leg: how much of what a query could score a note scores (BM25 coverage)."""

from __future__ import annotations

import math
import sqlite3
from collections import defaultdict
from dataclasses import dataclass, field

from holdfast.index.filters import Where

# Weights of title, body, tags, subject, earlier, later; measured on notes and dialogue (bench/retrieval.py).
_BM25 = "bm25(texts, 2.0, 1.0, 1.0, 1.0, 0.45, 0.3)"
_FLOOR = 1e-6  # FTS5's own idf never falls below this
PRIOR_NOTES = 50  # a small store is taken as part of a larger one, or a word in two of three notes would say nothing
MOST_TERMS = 32
_RARE_BUDGET = 2000


@dataclass(frozen=True, slots=True)
class Lexical:
    """`coverage` by rowid in 0..1: the share of the query's weight that the note's words carry.

    `matched` names the terms found, by rowid. `weights` are the terms' idf.
    """

    coverage: dict[int, float] = field(default_factory=dict)
    matched: dict[int, list[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Term:
    phrase: str
    word: str
    found: int
    idf: float
    fts_idf: float


def search_words(connection: sqlite3.Connection, words: list[str], where: Where) -> Lexical:
    """Score every note that passes the filter and holds a word of the query.

    coverage = sum(idf * min(1, tf)) / sum(idf) over the query's terms, where tf is BM25's saturated, length-normalised
    term frequency (Robertson and Zaragoza 2009) over weighted columns, as FTS5 computes it.
    """
    total = connection.execute("SELECT count(*) FROM notes").fetchone()[0]
    terms = sorted((_term(connection, word, total) for word in words), key=lambda term: term.found)
    if len(terms) > MOST_TERMS:  # a pasted log: its rarest words that are known at all
        terms = [term for term in terms if term.found][:MOST_TERMS]
    weight = sum(term.idf for term in terms)
    coverage: dict[int, float] = defaultdict(float)
    matched: dict[int, list[str]] = defaultdict(list)
    budget = max(_RARE_BUDGET, total // 20)
    anchor: list[str] = []
    for term in terms:
        if not term.found:
            continue
        budget -= term.found
        rows = (
            _rows(connection, term, where) if budget >= 0 or not anchor else _anchored(connection, term, anchor, where)
        )
        if rows and (budget >= 0 or not anchor):  # what only stands outside the filter is nothing to hold on to
            anchor.append(term.phrase)
        for rowid, frequency in rows:
            coverage[rowid] += term.idf * min(1.0, frequency) / weight
            matched[rowid].append(term.word)
    return Lexical(dict(coverage), dict(matched))


def _term(connection: sqlite3.Connection, word: str, total: int) -> _Term:
    phrase = f'"{word}"'
    found = connection.execute("SELECT count(*) FROM texts WHERE texts MATCH ?", (phrase,)).fetchone()[0]
    idf = math.log(1 + (PRIOR_NOTES + total - found + 0.5) / (found + 0.5))
    fts_idf = max(_FLOOR, math.log((total - found + 0.5) / (found + 0.5))) if total >= found else _FLOOR
    return _Term(phrase, word, found, idf, fts_idf)


def _rows(connection: sqlite3.Connection, term: _Term, where: Where) -> list[tuple[int, float]]:
    """Every note with the term, and its frequency there."""
    found = connection.execute(
        f"SELECT texts.rowid, {_BM25} FROM texts JOIN notes n ON n.rowid = texts.rowid "  # noqa: S608 - own clauses
        f"WHERE texts MATCH ? AND {where.clause}",
        (term.phrase, *where.values),
    )
    return [(rowid, -score / term.fts_idf) for rowid, score in found]


def _anchored(connection: sqlite3.Connection, term: _Term, anchor: list[str], where: Where) -> list[tuple[int, float]]:
    """A common term, looked at only where a rarer one was found: its share of a joint score is what is left over.

    FTS5 scores the whole expression, so the anchor's part is asked for by itself and taken off.
    """
    either = " OR ".join(anchor)
    both = f"({either}) AND {term.phrase}"
    statement = (
        f"SELECT texts.rowid, {_BM25} FROM texts JOIN notes n ON n.rowid = texts.rowid "  # noqa: S608 - own clauses
        f"WHERE texts MATCH ? AND {where.clause}"
    )
    joint = connection.execute(statement, (both, *where.values)).fetchall()
    alone = dict(connection.execute(statement, (either, *where.values)))
    return [(rowid, max(0.0, alone.get(rowid, 0.0) - score) / term.fts_idf) for rowid, score in joint]
