"""Which notes are current, by which short ids they are told, and which notes were shown to a session.

Only sqlite3 and the model are imported: a hook that is a command, and runs where no server does, waits for it, and
keeps the same rows of what was shown as a server (`holdfast.index.recalls`).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Literal

from holdfast.model.note import GLOBAL_SPACE, PREFIX, SELF_ID

SCHEMA: Final = 13  # of the index's tables; whoever changes them counts on
LONG: Final = 600  # characters; a note of so many says itself what it is about
NOT_RETIRED: Final = "outdated = 0"  # superseded ones count as outdated, see `Note.is_outdated`


def current(notes: str = "") -> str:
    """SQL for what is current at `:now`, where a query calls the notes by a name of its own; as `Note.is_current`."""
    own = f"{notes}." if notes else ""
    return f"{own}{NOT_RETIRED} AND ({own}valid_until IS NULL OR {own}valid_until > :now)"


CURRENT: Final = current()
TIME_DIGITS: Final = 8  # of an id: a quarter of a second
Standing = Literal["core", "recent", "self"]
_STANDING: Final = {
    "core": f"tier = 'core' AND space IN (:space, '{GLOBAL_SPACE}') AND id <> '{SELF_ID}'",
    "recent": f"tier = 'working' AND space = :space AND id <> '{SELF_ID}'",
    "self": f"(id = '{SELF_ID}' OR id IN (SELECT target FROM links WHERE source = '{SELF_ID}') AND about_self = 1)",  # noqa: S608 - own words
}
_ORDER: Final = {
    "core": "space <> :space, updated DESC, id DESC",
    "recent": "updated DESC, id DESC",
    "self": f"id <> '{SELF_ID}', tier <> 'core', updated DESC, id DESC",
}


def standing(connection: sqlite3.Connection, which: Standing, space: str, now: str, most: int) -> list[str]:
    """Ids of current notes that matter without a question.

    `core` are those of the space and of none; `recent` the working ones of the space, the last changed first; `self`
    the Self note and what is about it.
    """
    rows = connection.execute(
        f"SELECT id FROM notes WHERE {_STANDING[which]} AND {CURRENT} ORDER BY {_ORDER[which]} LIMIT :most",  # noqa: S608 - own clauses
        {"space": space, "now": now, "most": most},
    )
    return [note_id for (note_id,) in rows]


def short_ids(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, str]:
    """For each of these ids the shortest beginning that no other id has; one of a later note has another time."""
    rows = connection.execute(
        "SELECT w.value, "
        "(SELECT max(id) FROM notes WHERE id < w.value), (SELECT min(id) FROM notes WHERE id > w.value), "
        "(SELECT max(alias) FROM aliases WHERE alias < w.value), (SELECT min(alias) FROM aliases WHERE alias > w.value)"
        " FROM json_each(?) w",
        (json.dumps(list(ids)),),
    )
    return {note: _beginning(note, [other for other in others if other]) for note, *others in rows}


def _beginning(note: str, others: Sequence[str]) -> str:
    longest = max((next(at for at in range(len(note)) if note[at] != other[at]) for other in others), default=0)
    return note[: max(longest + 1, len(PREFIX) + TIME_DIGITS)]


KEPT_DAYS: Final = 14  # after the last prompt of a session
MOST_SESSIONS: Final = 2000
MOST_SHOWN: Final = 400  # notes of one session, the last ones
_COLUMNS: Final = ["session", "at", "shown"]


@dataclass(frozen=True, slots=True)
class Shown:
    """What a session was shown: by each note's id a digest of its text then. `begun`: its first prompt was answered."""

    begun: bool
    texts: Mapping[str, str]


NOTHING_YET: Final = Shown(begun=False, texts={})


def session_key(principal: str, session: str) -> str:
    """Under what a session is kept; its own name is not."""
    return sha256(f"{principal}\0{session}".encode(errors="surrogatepass")).hexdigest()[:32]


def latest(texts: Mapping[str, str]) -> dict[str, str]:
    """The last ones of many."""
    return dict(list(texts.items())[-MOST_SHOWN:])


def read_shown(connection: sqlite3.Connection, key: str) -> dict[str, str] | None:
    """By each note's id a digest of its text then; None where nothing is known of the session."""
    row = connection.execute("SELECT shown FROM sessions WHERE session = ?", (key,)).fetchone()
    if row is None:
        return None
    try:
        return dict(json.loads(row[0]))
    except (ValueError, TypeError):  # not as it was written
        return {}


def add_shown(connection: sqlite3.Connection, key: str, texts: Mapping[str, str], at: str) -> dict[str, str] | None:
    """Keep that a session was shown these notes too; with none, that it has begun. Returns what was known before.

    Called within a transaction that nobody else writes in.
    """
    known = read_shown(connection, key)
    row = (key, at, json.dumps(latest({**(known or {}), **texts}), separators=(",", ":")))
    connection.execute("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?)", row)
    return known


def shown_meanwhile(seen: Shown, known: Mapping[str, str] | None, texts: Mapping[str, str]) -> bool:
    """Whether another hook of the session, asked at the same time, has told it this.

    Args:
        seen: what the session had been shown when the hook was asked.
        known: what it had been shown when these texts were kept; None where it had not begun.
        texts: what this hook is about to tell, by each note's id a digest of its text.
    """
    if known is None:
        return False
    return not seen.begun or any(known.get(note) == digest for note, digest in texts.items())


def forget_shown(connection: sqlite3.Connection, key: str) -> None:
    """Begin a session anew."""
    connection.execute("DELETE FROM sessions WHERE session = ?", (key,))


def prepare_shown(connection: sqlite3.Connection) -> None:
    """Make the table, and let go of what is old."""
    connection.execute("PRAGMA synchronous = OFF")
    columns = [name for _, name, *_ in connection.execute("PRAGMA table_info(sessions)")]
    if columns and columns != _COLUMNS:
        connection.execute("DROP TABLE sessions")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS sessions "
        "(session TEXT PRIMARY KEY, at TEXT NOT NULL, shown TEXT NOT NULL) WITHOUT ROWID"
    )
    connection.execute(
        "DELETE FROM sessions WHERE at < strftime('%Y-%m-%dT%H:%M:%SZ', 'now', ?) "
        "OR at < (SELECT at FROM sessions ORDER BY at DESC LIMIT 1 OFFSET ?)",
        (f"-{KEPT_DAYS} days", MOST_SESSIONS),
    )
