"""Ids of merged notes: each means the note that it was merged into, unless a note with that id is there again."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence

from holdfast.model.note import Note


def meant(column: str) -> str:
    """SQL for the id that an id in `column` stands for."""
    return (
        f"coalesce((SELECT min(x.note) FROM aliases x WHERE x.alias = {column} "  # noqa: S608 - own columns
        f"AND NOT EXISTS (SELECT 1 FROM notes y WHERE y.id = x.alias)), {column})"
    )


def put_aliases(connection: sqlite3.Connection, notes: Iterable[Note]) -> None:
    """Write what was merged into these notes."""
    for note in notes:
        drop_aliases(connection, note.id)
        connection.executemany(
            "INSERT OR IGNORE INTO aliases (alias, note) VALUES (?, ?)", [(alias, note.id) for alias in note.merged]
        )


def drop_aliases(connection: sqlite3.Connection, note_id: str) -> None:
    connection.execute("DELETE FROM aliases WHERE note = ?", (note_id,))


def aliases_of(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, str]:
    """The ids that mean one of these notes now, each with that note's."""
    rows = connection.execute(
        "SELECT a.alias, min(a.note) FROM json_each(?) w CROSS JOIN aliases a ON a.note = w.value "
        "WHERE NOT EXISTS (SELECT 1 FROM notes n WHERE n.id = a.alias) GROUP BY a.alias ORDER BY 1",
        (json.dumps(list(ids)),),
    )
    return dict(rows.fetchall())


def all_aliases(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """Every id that means another note, with that note's."""
    return connection.execute(
        "SELECT a.alias, min(a.note) FROM aliases a "
        "WHERE NOT EXISTS (SELECT 1 FROM notes n WHERE n.id = a.alias) GROUP BY a.alias"
    ).fetchall()


def matching(connection: sqlite3.Connection, low: str, high: str, most: int) -> list[tuple[str, str]]:
    """Notes whose id, or that of one merged into them, lies in a range: ids with titles, in order.

    Raises:
        sqlite3.DatabaseError: there is none, and yet a file that holds one: pages of the index were lost.
    """
    rows = connection.execute(
        "SELECT id, title FROM notes WHERE id BETWEEN ?1 AND ?2 UNION "
        "SELECT n.id, n.title FROM aliases a JOIN notes n ON n.id = a.note WHERE a.alias BETWEEN ?1 AND ?2 "
        "AND NOT EXISTS (SELECT 1 FROM notes m WHERE m.id = a.alias) ORDER BY id LIMIT ?3",
        (low, high, most),
    ).fetchall()
    if not rows and _is_in_a_file(connection, low, high):
        raise sqlite3.DatabaseError("a note is missing whose file is known")
    return rows


def _is_in_a_file(connection: sqlite3.Connection, low: str, high: str) -> bool:
    """Whether a readable file holds a note of this range; its row is written in one transaction with the note's."""
    found = connection.execute(
        "SELECT 1 FROM files WHERE note BETWEEN ? AND ? AND problem IS NULL LIMIT 1", (low, high)
    )
    return found.fetchone() is not None
