"""The queue's database: one file in the memory folder, opened for each use and closed after it.

`transcripts/queue.db` is no part of the index: how far each transcript was read and what waits to be judged stand in
no other place. Cursor and turns change in one transaction, so that a crash keeps both or neither. What is deleted is
overwritten (`secure_delete`).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from holdfast.errors import IndexSchemaError, StorageError

VERSION: Final = 1
_BUSY_SECONDS: Final = 10.0
_PRAGMAS: Final = ("PRAGMA journal_mode = DELETE", "PRAGMA synchronous = EXTRA", "PRAGMA secure_delete = ON")
_TABLES: Final = (
    """CREATE TABLE cursors (
        path TEXT PRIMARY KEY, place INTEGER NOT NULL, head TEXT NOT NULL, tail TEXT NOT NULL, source TEXT NOT NULL,
        session TEXT NOT NULL, cwd TEXT NOT NULL, version INTEGER NOT NULL, day TEXT NOT NULL) WITHOUT ROWID""",
    "CREATE TABLE known (key TEXT PRIMARY KEY, day TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE turns (
        number INTEGER PRIMARY KEY AUTOINCREMENT, role TEXT NOT NULL, at TEXT NOT NULL, source TEXT NOT NULL,
        session TEXT NOT NULL, space TEXT NOT NULL, path TEXT NOT NULL, queued TEXT NOT NULL, bytes INTEGER NOT NULL,
        text TEXT NOT NULL, piece TEXT)""",
    "CREATE INDEX turns_loose ON turns (source, session, space, number) WHERE piece IS NULL",
    "CREATE INDEX turns_piece ON turns (piece) WHERE piece IS NOT NULL",
    "CREATE INDEX turns_size ON turns (queued, bytes)",
    """CREATE TABLE pieces (
        id TEXT PRIMARY KEY, source TEXT NOT NULL, session TEXT NOT NULL, space TEXT NOT NULL, path TEXT NOT NULL,
        first INTEGER NOT NULL, shown_until TEXT NOT NULL, attempt TEXT NOT NULL) WITHOUT ROWID""",
    "CREATE TABLE counts (name TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID",
)


@contextmanager
def connected(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection for one use; the file is made if it is missing.

    Raises:
        StorageError: it cannot be opened, read or written; nothing was changed.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise StorageError(
            f"The queue of transcripts cannot be opened: {error.strerror or type(error).__name__}.",
            "Nothing was taken; check the memory folder.",
        ) from error
    try:
        with closing(sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)) as connection:
            for pragma in _PRAGMAS:
                connection.execute(pragma)
            _prepare(connection)
            yield connection
    except sqlite3.Error as error:
        raise _refused(error) from error


@contextmanager
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    """As `connected`, within one transaction: whatever the block raises undoes it."""
    with connected(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            if connection.in_transaction:  # the block may have taken it back itself
                connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


def _prepare(connection: sqlite3.Connection) -> None:
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    if found == VERSION:
        return
    if found > VERSION:
        raise IndexSchemaError("The queue of transcripts was written by a newer Holdfast.", "Use that version.")
    connection.execute("BEGIN IMMEDIATE")
    try:
        if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
            for table in _TABLES:
                connection.execute(table)
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _refused(error: sqlite3.Error) -> StorageError:
    """The database's error in plain words."""
    code = getattr(error, "sqlite_errorname", "") or type(error).__name__
    if isinstance(error, sqlite3.DatabaseError) and code in ("SQLITE_CORRUPT", "SQLITE_NOTADB"):
        return StorageError(
            "The queue of transcripts is harmed and cannot be read.",
            "Move transcripts/queue.db in the memory folder away: transcripts are then read anew.",
        )
    return StorageError(
        f"The queue of transcripts cannot be used: {code}.", "Nothing was taken; check free space and permissions."
    )
