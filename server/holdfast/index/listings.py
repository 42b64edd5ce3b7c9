"""What can be looked through without a question: notes of a space, what is always relevant, names that begin so."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from holdfast.index.update import HistoryRow
from holdfast.model.ids import SELF_ID, id_range
from holdfast.model.memory import GLOBAL_SPACE

Standing = Literal["core", "recent", "self"]

_CURRENT = "outdated = 0 AND merged_into IS NULL AND (valid_until IS NULL OR valid_until > :now)"
_STANDING = {
    "core": f"tier = 'core' AND space IN (:space, '{GLOBAL_SPACE}') AND id <> '{SELF_ID}'",
    "recent": f"tier = 'working' AND space = :space AND id <> '{SELF_ID}'",
    "self": f"(about_self = 1 OR id = '{SELF_ID}')",
}
_ORDER = {
    "core": "space <> :space, updated DESC, id DESC",
    "recent": "updated DESC, id DESC",
    "self": f"id <> '{SELF_ID}', tier <> 'core', updated DESC, id DESC",
}


@dataclass(frozen=True, slots=True)
class ListedNote:
    """A note as a listing shows it; `hash` names what its file holds."""

    id: str
    title: str
    type: str
    tier: str
    updated: str
    hash: str


def change_number(connection: sqlite3.Connection) -> int:
    """Another one after each change of the index."""
    found = connection.execute("SELECT value FROM meta WHERE key = 'change_seq'").fetchone()
    return int(found[0]) if found else 0


def listed(connection: sqlite3.Connection, space: str, now: str, most: int) -> tuple[list[ListedNote], int]:
    """Current notes of a space, the last changed first, and how many there are in all."""
    values = {"space": space, "now": now, "most": most}
    (count,) = connection.execute(f"SELECT count(*) FROM notes WHERE space = :space AND {_CURRENT}", values).fetchone()  # noqa: S608 - own clauses
    rows = connection.execute(
        f"SELECT id, title, type, tier, updated, hash FROM notes WHERE space = :space AND {_CURRENT} "  # noqa: S608 - own clauses
        "ORDER BY updated DESC, id DESC LIMIT :most",
        values,
    )
    return [ListedNote(*row) for row in rows], int(count)


def standing(connection: sqlite3.Connection, which: Standing, space: str, now: str, most: int) -> list[str]:
    """Ids of current notes that matter without a question.

    `core` are those of the space and of none; `recent` the working ones of the space, the last changed first; `self`
    the Self note and what is about it.
    """
    rows = connection.execute(
        f"SELECT id FROM notes WHERE {_STANDING[which]} AND {_CURRENT} ORDER BY {_ORDER[which]} LIMIT :most",  # noqa: S608 - own clauses
        {"space": space, "now": now, "most": most},
    )
    return [note_id for (note_id,) in rows]


def personal(connection: sqlite3.Connection, now: str, most: int) -> list[str]:
    """Ids of current notes about the user, then of their preferences; core ones first, then what happened last."""
    rows = connection.execute(
        f"SELECT id FROM notes WHERE (about_self = 1 OR type = 'preference') AND id <> '{SELF_ID}' AND {_CURRENT} "  # noqa: S608 - own clauses
        "ORDER BY about_self DESC, tier <> 'core', happened DESC, id DESC LIMIT :most",
        {"now": now, "most": most},
    )
    return [note_id for (note_id,) in rows]


def completing(connection: sqlite3.Connection, typed: str, only_type: str | None, most: int) -> list[str]:
    """Ids that begin with what was typed, then those of notes whose titles hold its words, the last changed first."""
    ids: dict[str, None] = {}
    bounds = id_range(typed)
    if bounds is not None:
        found = connection.execute(
            "SELECT id FROM notes WHERE id BETWEEN ?1 AND ?2 AND (?3 IS NULL OR type = ?3) ORDER BY id LIMIT ?4",
            (*bounds, only_type, most),
        )
        ids.update(dict.fromkeys(note_id for (note_id,) in found))
    words = [] if typed.strip().lower() in ("m", "me", "mem", "mem_") else typed.casefold().split()
    titles = connection.execute(
        "SELECT id, title FROM notes WHERE outdated = 0 AND merged_into IS NULL AND (?1 IS NULL OR type = ?1) "
        "ORDER BY updated DESC, id DESC",
        (only_type,),
    )
    for note_id, title in titles:
        if len(ids) >= most:
            break
        if all(word in title.casefold() for word in words):
            ids[note_id] = None
    return list(ids)


def spaces(connection: sqlite3.Connection) -> list[str]:
    """Names of all spaces that hold notes."""
    return [space for (space,) in connection.execute("SELECT DISTINCT space FROM notes ORDER BY space")]


def latest_changes(connection: sqlite3.Connection, most: int) -> list[tuple[HistoryRow, bool]]:
    """The last changes of notes, newest first, each with whether it is the first that is known of its note."""
    rows: Sequence[tuple[str, int, str, str, str, int]] = connection.execute(
        "SELECT note, seq, change, op, at, seq = (SELECT min(seq) FROM history f WHERE f.note = h.note) "
        "FROM history h ORDER BY seq DESC, note LIMIT ?",
        (most,),
    ).fetchall()
    return [(HistoryRow(*row[:5]), bool(row[5])) for row in rows]
