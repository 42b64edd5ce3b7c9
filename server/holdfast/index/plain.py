"""Search by words with nothing but sqlite3, for a hook that is a command and runs where no server does.

The same coverage as `holdfast.index.search.words`, whose sentences say how it is worked out, and the same candidates.
That one keeps what it counted in memory and answers many questions; this one answers a single question in a process
that is just for it, where importing numpy would cost more than the whole search.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from holdfast.index.current import CURRENT, SCHEMA
from holdfast.model.identifiers import Unit, units_of
from holdfast.model.note import SELF_ID, Note
from holdfast.model.ranking import Found, RankCandidate
from holdfast.model.words import query_terms, relatives

_BM25: Final = "bm25(texts, 2.0, 1.0, 1.0, 1.0, 0.45, 0.3)"
_OWN: Final = "{title body tags subject}"
_FLOOR, _PRIOR_NOTES, _PASTED_TERMS = 1e-6, 50, 5
_RELATED_SHARE, _USUAL_SHARE = 0.6, 0.8
_RARE_AT_LEAST, _RARE_SHARE, _RARE_ROWS, _ENOUGH = 5, 100, 1500, 50
_MOST_TERMS: Final = 32
_LAST: Final = "\U0010ffff"  # sorts behind every name
_MOST_LOOKED_AT: Final = 200  # of the notes that were found, those with the best words
_COLUMNS: Final = (
    "id", "content", "title", "created", "updated", "type", "tier", "space", "confidence", "event_time",
)  # fmt: skip


class Indexed(NamedTuple):
    """A note of the index, with the place of its file below `memories/` and which version of it the index knows."""

    note: Note
    path: str
    mark: str


class _Term(NamedTuple):
    """A word with those of its family that some note has; `found` is how many notes have one of them."""

    word: str
    found: int
    idf: float
    counts: dict[str, int]


def open_index(uri: str) -> sqlite3.Connection | None:
    """The index at a file's URI, to be read alone; None where it is of another version, or still being built.

    Raises:
        sqlite3.Error: there is none, or it cannot be read.
    """
    connection = sqlite3.connect(f"{uri}?mode=ro", uri=True, timeout=0.3, isolation_level=None)
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == SCHEMA:
        connection.execute("BEGIN")  # everything is read of one state
        if connection.execute("SELECT 1 FROM meta WHERE key = 'built'").fetchone():
            return connection
    connection.close()
    return None


def known_files(connection: sqlite3.Connection, folder: str) -> set[str]:
    """The names of the files that the index knows directly in a folder below `memories/`; of the top one for none."""
    before = f"{folder}/" if folder else ""
    rows = connection.execute(
        "SELECT substr(path, length(?1) + 1) FROM files WHERE path >= ?1 AND path < ?2 "
        "AND instr(substr(path, length(?1) + 1), '/') = 0",
        (before, before + _LAST),
    )
    return {name for (name,) in rows}


def has_notes(connection: sqlite3.Connection) -> bool:
    """Whether any note is there but the Self note, which every memory has."""
    return connection.execute("SELECT 1 FROM notes WHERE id <> ? LIMIT 1", (SELF_ID,)).fetchone() is not None


def indexed(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, Indexed]:
    """Notes by id, as far as they are there."""
    columns = ", ".join(f"n.{name}" for name in _COLUMNS)
    rows = connection.execute(
        f"SELECT n.path, coalesce(f.mark, ''), {columns} FROM notes n LEFT JOIN files f ON f.note = n.id "  # noqa: S608 - own names
        "AND f.path = n.path WHERE n.id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(ids)),),
    )
    notes = ((row[0], row[1], Note(**dict(zip(_COLUMNS, row[2:], strict=True)))) for row in rows)
    return {note.id: Indexed(note, path, mark) for path, mark, note in notes}


def found_by_words(connection: sqlite3.Connection, query: str, now: str, extraordinary: frozenset[str]) -> Found:
    """The current notes that hold words of a question.

    Args:
        connection: to the index.
        query: the question.
        now: the instant that notes must be valid at.
        extraordinary: words of the question that are no ordinary ones.
    """
    (total,) = connection.execute("SELECT count(*) FROM notes").fetchone()
    rare = _rare(connection, query, total)
    whole = [item for item in rare if item[0].kind in ("identifier", "name") or item[0].label in extraordinary]
    terms = [_term(connection, word, total) for word in query_terms(query)]
    spelt = {term: rows for unit, rows in whole for term in unit.terms}
    unknown = frozenset(term.word for term in terms if not term.found and term.word not in spelt)
    coverage, matched = _covered(connection, terms, spelt, total)
    best = sorted(coverage, key=lambda row: -coverage[row] - sum(row in rows for _, rows in rare))[:_MOST_LOOKED_AT]
    held = {row: tuple(unit.label for unit, rows in rare if row in rows) for row in best}
    rows = connection.execute(
        "SELECT rowid, id, space, session, subject, tier, confidence, outdated, superseded_by, created, happened "  # noqa: S608 - own clause
        f"FROM notes WHERE rowid IN (SELECT value FROM json_each(:rows)) AND {CURRENT} AND superseded_by IS NULL",
        {"rows": json.dumps(best), "now": now},
    )
    candidates = tuple(
        RankCandidate._make(
            (*row[:7], bool(row[7]), *row[8:], coverage[row[0]], None, None, tuple(matched[row[0]]), held[row[0]])
        )
        for row in rows
    )
    return Found(candidates, unknown, {unit.label: len(rows) for unit, rows in rare}, total)


def _covered(
    connection: sqlite3.Connection, terms: Iterable[_Term], spelt: dict[str, frozenset[int]], total: int
) -> tuple[dict[int, float], dict[int, list[str]]]:
    """By row the share of the question's weight that a note carries, and the words that were found in it."""
    known = sorted((term for term in terms if term.found or term.word in spelt), key=lambda term: term.found)
    weight = sum(term.idf for term in terms) or 1.0
    if len(known) > _MOST_TERMS:
        known = known[:_MOST_TERMS]
        weight = max(_PASTED_TERMS * _idf(total, 0), sum(term.idf for term in known))
    coverage: dict[int, float] = defaultdict(float)
    matched: dict[int, list[str]] = defaultdict(list)
    budget = _RARE_ROWS
    scored: list[_Term] = []
    for term in known:
        if scored and budget < term.found and len(coverage) >= _ENOUGH:
            break
        budget -= term.found
        scored.append(term)
        shares = _shares(connection, term, total)
        shares |= dict.fromkeys(spelt.get(term.word, ()), 1.0)
        for row, share in shares.items():
            coverage[row] += term.idf / weight * share
            matched[row].append(term.word)
    either = " OR ".join(f'"{word}"' for term in scored for word in term.counts)
    for term in known[len(scored) :] if either else ():
        expression = f"({either}) AND {_OWN} : ({' OR '.join(map(_quoted, term.counts))})"
        for (row,) in connection.execute("SELECT rowid FROM texts WHERE texts MATCH ?", (expression,)):
            coverage[row] += term.idf / weight * _USUAL_SHARE
    return coverage, matched


def _shares(connection: sqlite3.Connection, term: _Term, total: int) -> dict[int, float]:
    """By row which share of its weight a word scores; another of its family scores less."""
    shares: dict[int, float] = {}
    for word, count in term.counts.items():
        most = max(_FLOOR, math.log((max(total, count) - count + 0.5) / (count + 0.5)))
        part = 1.0 if word == term.word else _RELATED_SHARE
        statement = f"SELECT rowid, -{_BM25} FROM texts WHERE texts MATCH ?"  # noqa: S608 - own words
        for row, score in connection.execute(statement, (_quoted(word),)):
            shares[row] = max(shares.get(row, 0.0), part * min(1.0, score / most))
    return shares


def _rare(connection: sqlite3.Connection, query: str, total: int) -> list[tuple[Unit, frozenset[int]]]:
    """The identifiers and words of a question that few notes hold in their own text, each with their rows."""
    most, found = _RARE_AT_LEAST + total // _RARE_SHARE, []
    for unit in units_of(query):
        if unit.kind in ("identifier", "name") or 0 < _count(connection, unit.label) <= most:
            expression = f"{_OWN} : ({' OR '.join(map(_quoted, unit.phrases))})"
            rows = connection.execute("SELECT rowid FROM texts WHERE texts MATCH ? LIMIT ?", (expression, most + 1))
            places = frozenset(row for (row,) in rows)
            if 0 < len(places) <= most:
                found.append((unit, places))
    return found


def _term(connection: sqlite3.Connection, word: str, total: int) -> _Term:
    counts = {each: _count(connection, each) for each in (word, *relatives(word))}
    known = {each: count for each, count in counts.items() if count}
    found = min(total, sum(known.values()))
    return _Term(word, found, _idf(total, found), known)


def _count(connection: sqlite3.Connection, word: str) -> int:
    return int(connection.execute("SELECT count(*) FROM texts WHERE texts MATCH ?", (_quoted(word),)).fetchone()[0])


def _idf(total: int, found: int) -> float:
    return math.log(1 + (_PRIOR_NOTES + max(0, total - found) + 0.5) / (found + 0.5))


def _quoted(word: str) -> str:
    return f'"{word}"'
