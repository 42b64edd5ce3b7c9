"""Forgetting texts: no byte of their vectors, nor of the hashes that name them, stays in the cache of encodings."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import anyio.to_thread

_STATEMENTS = ("PRAGMA busy_timeout = 5000", "PRAGMA secure_delete = ON")


async def forget(path: Path, texts: Sequence[str]) -> None:
    """Take the vectors of documents out of a cache file; all of it where that cannot be done, for it is derived.

    Args:
        path: the cache; it may be missing.
        texts: as they were encoded.

    Raises:
        OSError: the file cannot be removed.
    """
    await anyio.to_thread.run_sync(_forget, path, texts)


def _forget(path: Path, texts: Sequence[str]) -> None:
    if not path.exists():
        return
    keys = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            whole = _taken_out(connection, keys)
    except (sqlite3.Error, UnicodeDecodeError):  # what SQLite says of harm may itself be no text
        whole = False
    if not whole:
        for end in ("", "-wal", "-shm"):
            Path(f"{path}{end}").unlink(missing_ok=True)


def _taken_out(connection: sqlite3.Connection, keys: Sequence[str]) -> bool:
    """Whether the rows are gone from the file and from the log of its writes, which others may keep from being cut."""
    for statement in _STATEMENTS:
        connection.execute(statement)
    connection.execute("DELETE FROM encodings WHERE content IN (SELECT value FROM json_each(?))", (json.dumps(keys),))
    busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return bool(busy == 0)
