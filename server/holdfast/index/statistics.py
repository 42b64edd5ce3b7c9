"""How much there is of what."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

_CURRENT = "outdated = 0 AND merged_into IS NULL"
_MOST_SPACES = 200


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts of the index. `notes` counts all, the three that follow what is current; `vectors` are chunks by set."""

    notes: int
    retired: int
    by_type: dict[str, int]
    by_tier: dict[str, int]
    by_space: dict[str, int]
    links: dict[str, int]
    vectors: dict[str, int]
    uses: int
    feedback: int


def statistics(connection: sqlite3.Connection) -> Statistics:
    """All of them, of one state of the index."""
    total, current = (_one(connection, f"SELECT count(*) FROM notes WHERE {which}") for which in ("true", _CURRENT))  # noqa: S608 - own clauses
    by = {
        column: _counts(connection, f"SELECT {column}, count(*) FROM notes WHERE {_CURRENT} GROUP BY 1")  # noqa: S608 - own clauses
        for column in ("type", "tier", "space")
    }
    return Statistics(
        total,
        total - current,
        by["type"],
        by["tier"],
        dict(list(by["space"].items())[:_MOST_SPACES]),
        _counts(connection, "SELECT type, count(*) FROM links GROUP BY 1"),
        _counts(connection, "SELECT vector_set, count(*) FROM vectors GROUP BY 1"),
        _one(connection, "SELECT count(*) FROM uses"),
        _one(connection, "SELECT count(*) FROM feedback"),
    )


def _one(connection: sqlite3.Connection, query: str) -> int:
    return int(connection.execute(query).fetchone()[0])


def _counts(connection: sqlite3.Connection, query: str) -> dict[str, int]:
    """By name, the most frequent first."""
    return dict(connection.execute(f"{query} ORDER BY 2 DESC, 1").fetchall())
