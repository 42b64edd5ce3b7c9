"""Search by words with nothing but sqlite3, for a hook that is a command and runs where no server does.

The same coverage as `holdfast.index.search.snapshot`, whose sentences say how it is worked out, by the same numbers and
rules (`holdfast.model.identifiers`), and the same candidates. That one keeps what it counted in memory and answers many
questions; this one answers a single question in a process that is just for it, where importing numpy would cost more
than the whole search.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, NamedTuple

from holdfast.index.current import CURRENT, SCHEMA
from holdfast.model.identifiers import (
    BM25,
    MOST_CANDIDATES,
    MOST_TERMS,
    OFTEN_SHARE,
    OVER,
    OWN,
    POOL,
    RELATED_SHARE,
    USUAL_SHARE,
    Term,
    Unit,
    counts_fully,
    is_scored,
    most_rare,
    term_of,
    units_of,
    weighed,
)
from holdfast.model.note import SELF_ID, Note
from holdfast.model.ranking import ROW_COLUMNS, WEIGHTS, Found, RankCandidate
from holdfast.model.words import query_terms

_LAST: Final = "\U0010ffff"  # sorts behind every name
_ID, _CREATED = map(RankCandidate._fields.index, ("id", "created"))
_AT_ONCE: Final = 200  # rows that are looked at together
_COLUMNS: Final = (
    "id", "content", "title", "created", "updated", "type", "tier", "space", "confidence", "event_time",
)  # fmt: skip


class Indexed(NamedTuple):
    """A note of the index, with the place of its file below `memories/` and which version of it the index knows."""

    note: Note
    path: str
    mark: str


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


def known_marks(connection: sqlite3.Connection, most: int) -> dict[str, str] | None:
    """Which version of each file the index knows, by path; None where there are more than so many."""
    rows = connection.execute("SELECT path, mark FROM files LIMIT ?", (most + 1,)).fetchall()
    return dict(rows) if len(rows) <= most else None


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
    whole = [item for item in rare if counts_fully(item[0], query, len(rare), extraordinary)]
    spelt = {term: rows for unit, rows in whole for term in unit.terms}
    terms = [term_of(word, total, lambda each: _count(connection, each)) for word in query_terms(query)]
    unknown = frozenset(term.word for term in terms if not term.found and term.word not in spelt)
    looked_at, weight = weighed(terms, total, MOST_TERMS)
    coverage, matched = _covered(connection, looked_at, weight, spelt, now)
    found = coverage.keys() | {row for _, rows in rare for row in rows}
    held = {row: tuple(unit.label for unit, rows in rare if row in rows) for row in found}
    worth = {row: coverage.get(row, 0.0) + WEIGHTS.rare * len(held[row]) / max(1, len(rare)) for row in found}
    candidates = [
        RankCandidate._make((*row, coverage[row[0]], None, None, tuple(matched[row[0]]), held[row[0]]))
        for row in _best_current(connection, worth, now)
    ]
    return Found(tuple(candidates), unknown, {unit.label: len(rows) for unit, rows in rare}, total)


def _best_current(connection: sqlite3.Connection, worth: Mapping[int, float], now: str) -> list[tuple[Any, ...]]:
    """The rows of the current notes that are worth most; of equal ones the newest."""
    order, found = sorted(worth, key=lambda row: (-worth[row], -row)), list[tuple[Any, ...]]()
    for start in range(0, len(order), _AT_ONCE):
        if len(found) < POOL:
            found += _current(connection, ROW_COLUMNS, order[start : start + _AT_ONCE], now)
    found.sort(key=lambda row: row[_ID])
    found.sort(key=lambda row: (worth[row[0]], row[_CREATED]), reverse=True)
    return found[:MOST_CANDIDATES]


def _current(connection: sqlite3.Connection, columns: str, rows: Sequence[int], now: str) -> Iterator[tuple[Any, ...]]:
    """Columns of those of these notes that are current."""
    statement = f"SELECT {columns} FROM notes WHERE rowid IN (SELECT value FROM json_each(:rows)) AND {CURRENT}"  # noqa: S608 - own words
    yield from connection.execute(statement, {"rows": json.dumps(rows), "now": now})


def _covered(
    connection: sqlite3.Connection,
    terms: Sequence[Term],
    weight: float,
    spelt: Mapping[str, AbstractSet[int]],
    now: str,
) -> tuple[dict[int, float], dict[int, list[str]]]:
    """By row the share of the question's weight that a note carries, and the words that were found in it."""
    coverage: dict[int, float] = defaultdict(float)
    matched: dict[int, list[str]] = defaultdict(list)
    for term in terms:
        if not term.found:  # an identifier that is spelt in another way
            for row in spelt.get(term.word, ()):
                coverage[row] += term.idf / weight
    common, scored, rows = [term for term in terms if term.found], list[Term](), 0

    def reached() -> int:
        return sum(1 for _ in _current(connection, "1", list(matched), now))

    while common and is_scored(common[0], rows, reached):
        term = common.pop(0)
        rows += term.found
        scored.append(term)
        here = spelt.get(term.word, frozenset())
        for row, share in _shares(connection, term).items():
            coverage[row] += term.idf / weight * (max(1.0, share) if row in here else share)
            matched[row].append(term.word)
    either = " OR ".join(term.either for term in scored)
    for term in common if scored else ():
        if term.tells:
            expression = f"({either}) AND {OWN} : ({term.either})"
            for (row,) in connection.execute("SELECT rowid FROM texts WHERE texts MATCH ?", (expression,)):
                coverage[row] += term.idf / weight * USUAL_SHARE
    return defaultdict(float, {row: _mostly_all(share) for row, share in coverage.items()}), matched


def _mostly_all(share: float) -> float:
    """A share of which what is more than all, in a long note, hardly counts."""
    return share if share <= 1.0 else 1.0 + OVER * (share - 1.0)


def _shares(connection: sqlite3.Connection, term: Term) -> dict[int, float]:
    """By row which share of its weight a word scores; another of its family scores less."""
    statement = f"SELECT n.rowid, -{BM25}, n.long FROM texts JOIN notes n ON n.rowid = texts.rowid WHERE texts MATCH ?"  # noqa: S608 - own words
    found = connection.execute(statement, (term.phrase,))
    shares = {row: min(OFTEN_SHARE if long else 1.0, score / term.fts_idf) for row, score, long in found}
    for other in term.related:
        for row, share in _shares(connection, other).items():
            shares[row] = max(shares.get(row, 0.0), RELATED_SHARE * share)
    return shares


def _rare(connection: sqlite3.Connection, query: str, total: int) -> list[tuple[Unit, frozenset[int]]]:
    """The identifiers and words of a question that few notes hold in their own text, each with their rows."""
    most, found = most_rare(total), []
    for unit in units_of(query):
        if unit.kind in ("identifier", "name") or 0 < _count(connection, unit.label) <= most:
            expression = f"{OWN} : ({' OR '.join(map(_quoted, unit.phrases))})"
            rows = connection.execute("SELECT rowid FROM texts WHERE texts MATCH ? LIMIT ?", (expression, most + 1))
            places = frozenset(row for (row,) in rows)
            if 0 < len(places) <= most:
                found.append((unit, places))
    return found


def _count(connection: sqlite3.Connection, word: str) -> int:
    """How many notes have a word, in whatever column."""
    return int(connection.execute("SELECT count(*) FROM texts WHERE texts MATCH ?", (_quoted(word),)).fetchone()[0])


def _quoted(word: str) -> str:
    return f'"{word}"'
