"""What was asked, rated and shown, each in a small database of its own beside the index, kept for a while.

Recent recalls, so that feedback can say which answer it is about, with the questions that notes were rated for; and
which notes each session of a client was shown without asking, so that none is shown twice. All servers of a folder
share them. They may be deleted at any time: then a session is told once more what it was told already. Where they
cannot be written, this process remembers for itself.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from holdfast.batching import WriteBehind
from holdfast.errors import StorageError
from holdfast.index.current import (
    NOTHING_YET,
    Shown,
    add_shown,
    forget_shown,
    latest,
    prepare_shown,
    read_shown,
)
from holdfast.index.database import SideDatabase, file_identity
from holdfast.index.rows import aliases_of
from holdfast.model.records import RecallEvent


@dataclass(frozen=True, slots=True)
class RatedQuestion:
    """A question that notes were rated for.

    `key` names it (`holdfast.model.words.question_key` of all of it), `asked` is its text without secrets, cut at
    the cap, `embedded` what its vector is made from: `asked` without the names of subjects.
    """

    key: str
    asked: str
    embedded: str


@dataclass(frozen=True, slots=True)
class FeedbackRow:
    """One signal on one note: `signal` is 1 or -1, `event` the recall that it is about, `at` an instant.

    Without a question it moves nothing; `event` is then the day.
    """

    note: str
    event: str
    seq: int
    signal: int
    explicit: bool
    at: str
    question: RatedQuestion | None


@dataclass(frozen=True, slots=True)
class QuestionVector:
    """A question's embedding (float32 bytes, unit length) in one vector set."""

    question: str
    vector_set: str
    vector: bytes


# An explicit signal outlasts an implicit one; of two of a kind the later counts, in whatever order they are replayed.
_PUT = (
    "INSERT INTO feedback (note, event, seq, signal, explicit, at, question, changed) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (note, event) DO UPDATE SET seq = excluded.seq, signal = excluded.signal, "
    "explicit = excluded.explicit, at = excluded.at, question = excluded.question, changed = excluded.changed "
    "WHERE (excluded.explicit, excluded.seq) > (explicit, seq)"
)
_READ = (
    "SELECT f.note, f.event, f.seq, f.signal, f.explicit, f.at, q.key, q.asked, q.embedded "
    "FROM feedback f LEFT JOIN questions q ON q.key = f.question WHERE"
)


def put_feedback(connection: sqlite3.Connection, rows: Sequence[FeedbackRow], change_seq: int) -> None:
    """Keep signals; one that is known already, or gives way to what is known, changes nothing."""
    questions = [row.question for row in rows if row.question is not None]
    connection.executemany(
        "INSERT OR IGNORE INTO questions (key, asked, embedded) VALUES (?, ?, ?)",
        [(question.key, question.asked, question.embedded) for question in questions],
    )
    connection.executemany(
        _PUT,
        [
            (row.note, row.event, row.seq, row.signal, row.explicit, row.at,
             row.question.key if row.question else None, change_seq)
            for row in rows
        ],
    )  # fmt: skip


def put_question_vectors(connection: sqlite3.Connection, rows: Sequence[QuestionVector]) -> None:
    """Keep vectors; a question's first one in a set stays."""
    connection.executemany(
        "INSERT OR IGNORE INTO question_vectors (question, vector_set, vector) VALUES (?, ?, ?)",
        [(row.question, row.vector_set, row.vector) for row in rows],
    )


def feedback_of(connection: sqlite3.Connection, note_id: str) -> list[FeedbackRow]:
    """All signals on a note, and on those merged into it, in the order of their events."""
    names = json.dumps([note_id, *aliases_of(connection, [note_id])])
    clause = "f.note IN (SELECT value FROM json_each(?)) ORDER BY f.event"
    return [_row(values) for values in connection.execute(f"{_READ} {clause}", (names,))]


def feedback_since(connection: sqlite3.Connection, change_seq: int) -> list[FeedbackRow]:
    """All signals that were written after a change number."""
    return [_row(values) for values in connection.execute(f"{_READ} f.changed > ?", (change_seq,))]


def pending_questions(connection: sqlite3.Connection, key: str, since: str, most: int) -> list[RatedQuestion]:
    """Questions of signals that are not older than `since` and have no vector of this set, newest first."""
    rows = connection.execute(
        "SELECT q.key, q.asked, q.embedded FROM feedback f JOIN questions q ON q.key = f.question "
        "WHERE f.at >= ? AND NOT EXISTS "
        "(SELECT 1 FROM question_vectors v WHERE v.vector_set = ? AND v.question = q.key) "
        "GROUP BY q.key ORDER BY max(f.seq) DESC LIMIT ?",
        (since, key, most),
    )
    return [RatedQuestion(*row) for row in rows]


def vectors_of(connection: sqlite3.Connection, key: str, questions: Sequence[str]) -> list[tuple[str, bytes]]:
    """Those of these questions that have a vector of the set `key`, with it."""
    return connection.execute(
        "SELECT v.question, v.vector FROM json_each(?) w CROSS JOIN question_vectors v "
        "ON v.vector_set = ? AND v.question = w.value",
        (json.dumps(questions), key),
    ).fetchall()


def _row(values: tuple[str, str, int, int, int, str, str | None, str, str]) -> FeedbackRow:
    note, event, seq, signal, explicit, at, key, asked, embedded = values
    question = None if key is None else RatedQuestion(key, asked, embedded)
    return FeedbackRow(note, event, seq, signal, bool(explicit), at, question)


KEPT_DAYS = 14
MOST_KEPT = 20_000
MOST_WAITING = 256
EVENT_PREFIX = "evt_"
BEHIND_SECONDS = 0.1  # from an answer to its line here, so that a burst of them is one transaction
_COLUMNS = ["id", "at", "query", "space", "shown", "vector_set", "vector", "principal", "server"]
_INSERT = "INSERT OR IGNORE INTO recalls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_FOUND = f"SELECT {', '.join(_COLUMNS[:-1])} FROM recalls"  # noqa: S608 - own names
_BY_ID = f"{_FOUND} WHERE id = ? AND at >= ?"
_LATEST = (
    f"{_FOUND} WHERE instr(shown, ?) > 0 AND principal = ? AND at >= ? "  # a name in the JSON of what was shown
    "ORDER BY server = ? DESC, at DESC, id DESC LIMIT 1"
)
_RECENT = f"{_FOUND} WHERE principal = ? ORDER BY at DESC, id DESC LIMIT ?"
_Waiting: TypeAlias = tuple[RecallEvent, tuple[int, int] | None]  # and the log that was there when it came


class RecallLog(SideDatabase):
    """A small database beside the index; losing it loses nothing but the chance to rate old answers.

    All servers of a folder share it; each marks its own events with a random number.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, _prepare)
        self._server = secrets.token_hex(8)
        self._behind = WriteBehind[_Waiting](self._write, MOST_WAITING, BEHIND_SECONDS, self._not_erased)

    async def add(self, event: RecallEvent) -> bool:
        """Take an event, to be kept with the next `flush`; returns whether the last one worked.

        An answer does not wait for this: a process that is killed loses the events of its last moment.
        """
        return await self._behind.add((event, self._there()))

    async def write_behind(self) -> None:
        """Write what is added soon after it was; until cancelled."""
        await self._behind.run()

    async def flush(self) -> bool:
        """Write what waits in one transaction, not flushed to the disk; returns whether that worked."""
        return await self._behind.flush()

    def _not_erased(self, waiting: list[_Waiting]) -> list[_Waiting]:
        here = self._there()
        return [(event, log) for event, log in waiting if log in (None, here)]

    def _there(self) -> tuple[int, int] | None:
        """Which log is there now, as far as that can be seen."""
        with suppress(OSError):
            return file_identity(self._path)
        return None

    async def _write(self, waiting: Sequence[_Waiting]) -> bool:
        rows = [self._row(event) for event, _ in waiting]
        for _ in range(2):
            try:
                database = await self._open()
                await database.write(lambda connection: connection.executemany(_INSERT, rows))
            except (sqlite3.OperationalError, sqlite3.ProgrammingError, OSError):
                await self._close()  # it is opened anew for the next one
                return False
            except sqlite3.Error:
                await self._close()
                self._discard()
            else:
                return True
        return False

    def _row(self, event: RecallEvent) -> tuple[object, ...]:
        return (
            event.id,
            event.at,
            event.query,
            event.space,
            json.dumps(list(event.shown)),
            event.vector_set,
            event.vector,
            event.principal,
            self._server,
        )

    async def get(self, event_id: str, since: str) -> RecallEvent | None:
        """The event of this id, unless it is older than `since`.

        Raises:
            StorageError: the log cannot be read now.
        """
        return await self._find(_BY_ID, (event_id, since))

    async def latest(self, note_id: str, since: str, principal: str) -> RecallEvent | None:
        """The latest event not older than `since` in which this principal was shown the note.

        One of this server comes before those of others: two clients of one folder may be shown the same note.

        Raises:
            StorageError: the log cannot be read now.
        """
        return await self._find(_LATEST, (f'["{note_id}",', principal, since, self._server))

    async def recent(self, principal: str, most: int) -> list[RecallEvent]:
        """The last recalls of a principal, newest first.

        Raises:
            StorageError: the log cannot be read now.
        """
        return await self._find_all(_RECENT, (principal, most))

    async def prune(self) -> int:
        """Let go of what cannot be rated any more; returns how many recalls went.

        Raises:
            StorageError: the log cannot be written now.
        """
        try:
            database = await self._open()
            return await database.write(_prune)
        except (sqlite3.Error, OSError) as error:
            await self._close()
            raise StorageError("The log of recent recalls cannot be written.") from error

    async def _find(self, statement: str, values: tuple[str, ...]) -> RecallEvent | None:
        return next(iter(await self._find_all(statement, values)), None)

    async def _find_all(self, statement: str, values: tuple[str | int, ...]) -> list[RecallEvent]:
        await self.flush()
        try:
            database = await self._open()
            found = await database.run(lambda connection: connection.execute(statement, values).fetchall())
        except (sqlite3.OperationalError, sqlite3.ProgrammingError, OSError) as error:
            await self._close()
            raise StorageError(
                "The log of recent recalls cannot be read.", "Nothing was recorded; call again in a moment."
            ) from error
        except sqlite3.Error:  # harmed: as good as deleted, which it may be at any time
            await self._close()
            self._discard()
            return []
        return [_event(row) for row in found]

    async def erase(self) -> None:
        """Take the log away with all that was ever in it, and what waits to be written."""
        async with self._behind.dropped():
            await self._close()
            self._discard()

    async def aclose(self) -> None:
        """Write what waits, then let go of the file."""
        await self.flush()
        await self._close()


def _event(row: tuple[str, str, str, str | None, str, str, bytes, str]) -> RecallEvent:
    event_id, at, query, space, shown, vector_set, vector, principal = row
    pairs = tuple((note, relevance) for note, relevance in json.loads(shown))
    return RecallEvent(event_id, at, query, space, pairs, vector_set, vector, principal)


def _prepare(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA synchronous = OFF")
    columns = [name for _, name, *_ in connection.execute("PRAGMA table_info(recalls)")]
    if columns and columns != _COLUMNS:
        connection.execute("DROP TABLE recalls")  # of an earlier version: only the chance to rate its answers is lost
    connection.execute(
        "CREATE TABLE IF NOT EXISTS recalls (id TEXT PRIMARY KEY, at TEXT NOT NULL, query TEXT NOT NULL, space TEXT, "
        "shown TEXT NOT NULL, vector_set TEXT NOT NULL, vector BLOB NOT NULL, principal TEXT NOT NULL, "
        "server TEXT NOT NULL) WITHOUT ROWID"
    )
    connection.execute("CREATE INDEX IF NOT EXISTS recalls_at ON recalls (at)")
    _prune(connection)


def _prune(connection: sqlite3.Connection) -> int:
    return connection.execute(
        "DELETE FROM recalls WHERE at < strftime('%Y-%m-%dT%H:%M:%SZ', 'now', ?) "
        "OR at < (SELECT at FROM recalls ORDER BY at DESC LIMIT 1 OFFSET ?)",
        (f"-{KEPT_DAYS} days", MOST_KEPT),
    ).rowcount


MOST_HERE: Final = 256  # sessions that this process remembers for itself
FAILURES: Final = (sqlite3.Error, OSError)


class SessionLog(SideDatabase):
    """The database of one folder.

    Args:
        path: its file.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, prepare_shown)
        self._here: OrderedDict[str, dict[str, str]] = OrderedDict()

    async def shown(self, key: str) -> Shown:
        """What the session was shown, as far as that is known."""
        here = self._here.get(key)
        try:
            database = await self._open()
            found = await database.run(lambda connection: read_shown(connection, key))
        except FAILURES:
            await self._close()
            found = None
        if found is None and here is None:
            return NOTHING_YET
        if found is None and self._database is not None:  # another process forgot it
            self._here.pop(key, None)
            return NOTHING_YET
        return Shown(begun=True, texts={**(here or {}), **(found or {})})

    async def add(self, key: str, texts: Mapping[str, str], at: str) -> Mapping[str, str] | None:
        """Keep that the session was shown these notes; with none, that it has begun.

        Returns what was known of it before, as far as that can be read; None where it had not begun.
        """
        here = self._here.get(key)
        self._here[key] = latest({**(here or {}), **texts})
        self._here.move_to_end(key)
        while len(self._here) > MOST_HERE:
            self._here.popitem(last=False)

        def write(connection: sqlite3.Connection) -> dict[str, str] | None:
            return add_shown(connection, key, texts, at)

        try:
            return await (await self._open()).write(write)
        except FAILURES:
            return here

    async def forget(self, key: str) -> None:
        """Begin the session anew: what it was shown is no longer before the model."""
        self._here.pop(key, None)
        with suppress(*FAILURES):
            database = await self._open()
            await database.write(lambda connection: forget_shown(connection, key))

    async def erase(self) -> None:
        """Take away all that is kept."""
        self._here.clear()
        await self._close()
        self._discard()

    async def aclose(self) -> None:
        await self._close()
