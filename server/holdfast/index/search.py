"""One search: both legs over the same filter, and what ranking needs to know of each note found."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable

from holdfast.index.filters import Where, where_of
from holdfast.index.vectors import Background, VectorSearch
from holdfast.index.words import Lexical, search_words
from holdfast.model.query import Candidate, Filter, QueryVector
from holdfast.model.words import query_terms

WIDE_POOL = 300  # candidates of each leg
SESSION_BEST = 3


def search(
    connection: sqlite3.Connection,
    vectors: VectorSearch,
    background: Background,
    query: str,
    vector: QueryVector | None,
    wanted: Filter,
    pool_size: int = WIDE_POOL,
) -> list[Candidate]:
    """The notes that either leg finds, at most `pool_size` from each, unordered, with coverage and z."""
    where = where_of(wanted)
    lexical = search_words(connection, query_terms(query), where)
    best = _best(connection, lexical.coverage, pool_size)
    z: dict[int, float] = {}
    if vector is not None:
        mean, deviation = background.statistics(connection, vector.key, vector.mean, vector.deviation)
        found = vectors.nearest(connection, vector.key, vector.vector, where, pool_size)
        found |= vectors.cosines(connection, vector.key, vector.vector, [rowid for rowid in best if rowid not in found])
        z = {rowid: (cosine - mean) / deviation for rowid, cosine in found.items()}
        pool = dict.fromkeys((*best, *z))
        siblings = _siblings(connection, pool, where)
        unseen = [rowid for rowids in siblings.values() for rowid in rowids if rowid not in z]
        more = vectors.cosines(connection, vector.key, vector.vector, unseen)
        session_z = _session_means(siblings, z | {rowid: (cosine - mean) / deviation for rowid, cosine in more.items()})
    else:
        pool, session_z = dict.fromkeys(best), {}
    return _candidates(connection, pool, lexical, z, session_z)


def _best(connection: sqlite3.Connection, coverage: dict[int, float], count: int) -> list[int]:
    """The notes with the highest coverage; of equal ones the newest, so that row numbers decide nothing."""
    best = sorted(coverage, key=lambda rowid: (-coverage[rowid], rowid))
    if len(best) <= count:
        return best
    lowest = coverage[best[count - 1]]
    above = [rowid for rowid in best if coverage[rowid] > lowest]
    level = [rowid for rowid in best if coverage[rowid] == lowest]
    newest = connection.execute(
        "SELECT rowid FROM notes WHERE rowid IN (SELECT value FROM json_each(?)) ORDER BY created DESC, id LIMIT ?",
        (json.dumps(level), count - len(above)),
    )
    return [*above, *(rowid for (rowid,) in newest)]


def _siblings(connection: sqlite3.Connection, pool: Iterable[int], where: Where) -> dict[tuple[str, str], list[int]]:
    """All notes in reach that share a session with a note of the pool."""
    rows = connection.execute(
        "SELECT n.space, n.session, n.rowid FROM (SELECT DISTINCT space, session FROM notes "  # noqa: S608 - own clauses
        "WHERE session IS NOT NULL AND rowid IN (SELECT value FROM json_each(?))) s "
        f"CROSS JOIN notes n ON n.space = s.space AND n.session = s.session WHERE {where.clause}",
        (json.dumps(list(pool)), *where.values),
    )
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for space, session, rowid in rows:
        found[space, session].append(rowid)
    return found


def _session_means(siblings: dict[tuple[str, str], list[int]], z: dict[int, float]) -> dict[int, float]:
    means: dict[int, float] = {}
    for rowids in siblings.values():
        top = sorted((z[rowid] for rowid in rowids if rowid in z), reverse=True)[:SESSION_BEST]
        if top:
            means.update((rowid, sum(top) / len(top)) for rowid in rowids)
    return means


def _candidates(
    connection: sqlite3.Connection,
    pool: Iterable[int],
    lexical: Lexical,
    z: dict[int, float],
    session_z: dict[int, float],
) -> list[Candidate]:
    rows = connection.execute(
        "SELECT rowid, id, space, session, subject, tier, confidence, outdated, created FROM notes "
        "WHERE rowid IN (SELECT value FROM json_each(?))",
        (json.dumps(list(pool)),),
    )
    return [
        Candidate(
            rowid=row[0],
            id=row[1],
            space=row[2],
            session=row[3],
            subject=row[4],
            tier=row[5],
            confidence=row[6],
            outdated=bool(row[7]),
            created=row[8],
            coverage=lexical.coverage.get(row[0], 0.0),
            z=z.get(row[0]),
            session_z=session_z.get(row[0], z.get(row[0])),
            matched=tuple(lexical.matched.get(row[0], ())),
        )
        for row in rows
    ]
