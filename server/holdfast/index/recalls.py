"""Recent recalls, so that feedback can say which answer it is about. Kept for a while, apart from the index."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import anyio

from holdfast.index.database import Database, connect, file_identity

KEPT_DAYS = 14
MOST_KEPT = 20_000


@dataclass(frozen=True, slots=True)
class RecallEvent:
    """One recall: what was asked and which notes were shown. `vector` is the query's, empty without an encoder."""

    id: str
    at: str
    query: str
    space: str | None
    shown: Sequence[tuple[str, float]]  # note id, relevance
    vector_set: str = ""
    vector: bytes = b""


class RecallLog:
    """A small database beside the index; losing it loses nothing but the chance to rate old answers."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._database: Database | None = None
        self._identity: tuple[int, int] | None = None
        self._opening = anyio.Lock()

    async def add(self, event: RecallEvent) -> bool:
        """Keep an event, not flushed; returns whether that worked."""
        for _ in range(2):
            try:
                await self._add(event)
            except (sqlite3.OperationalError, sqlite3.ProgrammingError, OSError):
                await self.aclose()  # it is opened anew for the next one
                return False
            except sqlite3.Error:
                await self.aclose()
                self._discard()
            else:
                return True
        return False

    async def _add(self, event: RecallEvent) -> None:
        database = await self._open()
        row = (
            event.id,
            event.at,
            event.query,
            event.space,
            json.dumps(list(event.shown)),
            event.vector_set,
            event.vector,
        )
        await database.write(
            lambda connection: connection.execute("INSERT OR IGNORE INTO recalls VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        )

    async def get(self, event_id: str) -> RecallEvent | None:
        database = await self._open()
        found = await database.run(
            lambda connection: connection.execute("SELECT * FROM recalls WHERE id = ?", (event_id,)).fetchone()
        )
        if found is None:
            return None
        note_id, at, query, space, shown, vector_set, vector = found
        pairs = tuple((note, relevance) for note, relevance in json.loads(shown))
        return RecallEvent(note_id, at, query, space, pairs, vector_set, vector)

    async def aclose(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            with suppress(sqlite3.Error):
                await database.close()

    async def _open(self) -> Database:
        async with self._opening:
            if self._database is not None and self._identity != file_identity(self._path):
                await self.aclose()
            if self._database is None:
                self._path.parent.mkdir(mode=0o700, exist_ok=True)
                database = await connect(self._path, extension=False)
                self._database, self._identity = database, file_identity(self._path)
                await database.run(_prepare)
            return self._database

    def _discard(self) -> None:
        """Throw an unreadable log away."""
        with suppress(OSError):
            for end in ("", "-wal", "-shm"):
                Path(f"{self._path}{end}").unlink(missing_ok=True)


def _prepare(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS recalls (id TEXT PRIMARY KEY, at TEXT NOT NULL, query TEXT NOT NULL, space TEXT, "
        "shown TEXT NOT NULL, vector_set TEXT NOT NULL, vector BLOB NOT NULL) WITHOUT ROWID"
    )
    connection.execute("CREATE INDEX IF NOT EXISTS recalls_at ON recalls (at)")
    connection.execute(
        "DELETE FROM recalls WHERE at < strftime('%Y-%m-%dT%H:%M:%SZ', 'now', ?) "
        "OR at < (SELECT at FROM recalls ORDER BY at DESC LIMIT 1 OFFSET ?)",
        (f"-{KEPT_DAYS} days", MOST_KEPT),
    )
