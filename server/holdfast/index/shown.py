"""What a session was shown, as rows of a small database; see `holdfast.index.sessions`.

Only sqlite3 is imported: a hook that is a command, and runs where no server does, keeps the same rows.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

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


def told_meanwhile(seen: Shown, known: Mapping[str, str] | None, texts: Mapping[str, str]) -> bool:
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
