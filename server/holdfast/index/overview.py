"""What a person looks at: changes by time, tensions, doubted beliefs, which notes stand for a whole, months."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from holdfast.index.aliases import meant
from holdfast.index.current import CURRENT
from holdfast.model.belief import FIRST_CONFIDENCE
from holdfast.model.note import SELF_ID

_CURRENT = CURRENT.replace("outdated", "n.outdated").replace("valid_until", "n.valid_until")


@dataclass(frozen=True, slots=True)
class ChangedNotes:
    """A change of notes: its number and id, its verb, when it was made, and the ids of its notes."""

    seq: int
    change: str
    op: str
    at: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Opposed:
    """Two current notes of which the first contradicts the second."""

    first: str
    second: str
    reason: str


def changes_before(connection: sqlite3.Connection, space: str | None, before: int, most: int) -> list[ChangedNotes]:
    """Changes of notes, newest first.

    Args:
        connection: one state of the index.
        space: only changes of notes that are in it; None for all, those of notes that are gone too.
        before: only changes with a smaller number.
        most: how many.
    """
    of_space = "AND EXISTS (SELECT 1 FROM notes n WHERE n.id = h.note AND n.space = :space)" if space else ""
    rows = connection.execute(
        "SELECT h.seq, h.change, h.op, h.at, group_concat(h.note) FROM history h "  # noqa: S608 - own clause
        f"WHERE h.seq < :before {of_space} GROUP BY h.seq ORDER BY h.seq DESC LIMIT :most",
        {"before": before, "space": space, "most": most},
    )
    return [ChangedNotes(seq, change, op, at, tuple(sorted(notes.split(",")))) for seq, change, op, at, notes in rows]


def opposed(connection: sqlite3.Connection, space: str | None, now: str, most: int) -> list[Opposed]:
    """Pairs of current notes with an edge that says they contradict each other; with a space, those that touch it."""
    rows = connection.execute(
        f"SELECT n.id, m.id, max(l.reason) FROM links l JOIN notes n ON n.id = {meant('l.source')} "  # noqa: S608 - own
        f"JOIN notes m ON m.id = {meant('l.target')} WHERE l.type = 'contradicts' AND n.id <> m.id AND {_CURRENT} "
        f"AND {_CURRENT.replace('n.', 'm.')} AND (:space IS NULL OR :space IN (n.space, m.space)) "
        "GROUP BY n.id, m.id ORDER BY max(n.updated, m.updated) DESC, n.id, m.id LIMIT :most",
        {"now": now, "space": space, "most": most},
    )
    return [Opposed(*row) for row in rows]


def doubted(connection: sqlite3.Connection, space: str | None, now: str, most: int) -> list[str]:
    """Ids of current beliefs that are held no longer, the least believed first."""
    rows = connection.execute(
        f"SELECT n.id FROM notes n WHERE n.type = 'belief' AND n.confidence < :held AND {_CURRENT} "  # noqa: S608 - own
        "AND (:space IS NULL OR n.space = :space) ORDER BY n.confidence, n.updated DESC, n.id LIMIT :most",
        {"now": now, "held": FIRST_CONFIDENCE, "space": space, "most": most},
    )
    return [note for (note,) in rows]


def foremost(connection: sqlite3.Connection, space: str | None, now: str, most: int) -> tuple[list[str], int]:
    """Current notes that stand for a space, or for all: core ones, then by importance; and how many there are."""
    where = f"WHERE {_CURRENT} AND n.id <> '{SELF_ID}' AND (:space IS NULL OR n.space = :space)"
    values = {"now": now, "space": space, "most": most}
    (count,) = connection.execute(f"SELECT count(*) FROM notes n {where}", values).fetchone()  # noqa: S608 - own clause
    rows = connection.execute(
        "SELECT n.id FROM notes n LEFT JOIN importance i ON i.note = n.id "  # noqa: S608 - own clause
        f"{where} ORDER BY n.tier <> 'core', coalesce(i.value, 0) DESC, n.happened DESC, n.id DESC LIMIT :most",
        values,
    )
    return [note for (note,) in rows], int(count)


def replaced_by(connection: sqlite3.Connection, ids: str, most: int) -> list[str]:
    """Ids of notes that one of these replaced, the last retired first; `ids` is a JSON list."""
    rows = connection.execute(
        "SELECT id FROM notes WHERE superseded_by IN (SELECT value FROM json_each(?)) "
        "ORDER BY updated DESC, id LIMIT ?",
        (ids, most),
    )
    return [note for (note,) in rows]


def months(connection: sqlite3.Connection, space: str | None, most: int) -> list[tuple[str, int, int]]:
    """How many notes are about what happened in each month, and how many of them are retired; the newest first."""
    return connection.execute(
        "SELECT substr(happened, 1, 7) AS month, count(*), sum(outdated) FROM notes "
        "WHERE id <> ?1 AND (?2 IS NULL OR space = ?2) "
        "GROUP BY month ORDER BY month DESC LIMIT ?3",
        (SELF_ID, space, most),
    ).fetchall()
