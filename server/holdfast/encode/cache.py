"""Vectors by content, kept beside the index: a deleted index gets its vectors back without encoding anything."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol, TypeVar

import anyio
import anyio.to_thread

from holdfast.encode.vectorset import VectorSet

Answer = TypeVar("Answer")

MOST_ROWS = 500_000
_KEEP = "INSERT OR REPLACE INTO encodings (vector_set, content, chunk, vector) VALUES (?, ?, ?, ?)"


class Provider(Protocol):
    """An encoder without a cache."""

    @property
    def vector_set(self) -> VectorSet: ...
    @property
    def backlog(self) -> int: ...
    async def encode_documents(self, texts: Sequence[str]) -> list[list[bytes]]: ...
    async def encode_query(self, text: str) -> bytes: ...
    async def aclose(self) -> None: ...


class CachedEncoder:
    """An encoder that never encodes a document twice. Queries are not kept.

    Args:
        provider: what encodes.
        path: the cache's database file; it may be deleted at any time.
    """

    def __init__(self, provider: Provider, path: Path) -> None:
        self._provider = provider
        self._path = path
        self._thread = anyio.CapacityLimiter(1)
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None

    @property
    def vector_set(self) -> VectorSet:
        return self._provider.vector_set

    @property
    def backlog(self) -> int:
        return self._provider.backlog

    async def encode_documents(self, texts: Sequence[str]) -> list[list[bytes]]:
        """Chunks of each text, from the cache or made now."""
        keys = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
        known = await self._on_thread(self._look_up, keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            made = await self._provider.encode_documents(list(missing.values()))
            fresh = dict(zip(missing, made, strict=True))
            await self._on_thread(self._keep, fresh)
            known |= fresh
        return [known[key] for key in keys]

    async def encode_query(self, text: str) -> bytes:
        return await self._provider.encode_query(text)

    async def aclose(self) -> None:
        await self._on_thread(self._close)
        await self._provider.aclose()

    def _look_up(self, keys: Sequence[str]) -> dict[str, list[bytes]]:
        found: dict[str, list[bytes]] = {}

        def work(connection: sqlite3.Connection) -> None:
            for key in keys:
                rows = connection.execute(
                    "SELECT chunk, vector FROM encodings WHERE vector_set = ? AND content = ? ORDER BY chunk",
                    (self.vector_set.key, key),
                ).fetchall()
                if self._is_whole(rows):
                    found[key] = [bytes(vector) for _, vector in rows]

        self._attempt(work)
        return found

    def _is_whole(self, rows: Sequence[tuple[int, bytes]]) -> bool:
        """Whether these are all chunks of a text: the oldest rows are dropped one by one."""
        width = self.vector_set.dimension * 4
        return bool(rows) and all(chunk == place and len(vector) == width for place, (chunk, vector) in enumerate(rows))

    def _keep(self, fresh: dict[str, list[bytes]]) -> None:
        def work(connection: sqlite3.Connection) -> None:
            with connection:  # all chunks of a text, or none
                connection.execute("BEGIN IMMEDIATE")
                for key, chunks in fresh.items():
                    rows = [(self.vector_set.key, key, number, chunk) for number, chunk in enumerate(chunks)]
                    connection.executemany(_KEEP, rows)

        self._attempt(work)

    def _attempt(self, work: Callable[[sqlite3.Connection], None]) -> None:
        """Use the cache if it can be used. It only spares work: when it fails, nothing else does."""
        for _ in range(2):
            try:
                return work(self._open())
            except (sqlite3.OperationalError, OSError):
                return self._close()  # full, locked or not there
            except sqlite3.Error:
                self._close()
                with suppress(OSError):
                    for end in ("", "-wal", "-shm"):  # derived: an unreadable cache is started anew
                        Path(f"{self._path}{end}").unlink(missing_ok=True)
        return None

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None and self._identity != _identity(self._path):
            self._close()
        if self._connection is None:
            self._path.parent.mkdir(mode=0o700, exist_ok=True)
            self._connection = _connect(self._path)
            self._identity = _identity(self._path)
        return self._connection

    def _close(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    async def _on_thread(self, call: Callable[..., Answer], *arguments: object) -> Answer:
        return await anyio.to_thread.run_sync(call, *arguments, limiter=self._thread)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        for pragma in ("busy_timeout = 10000", "journal_mode = WAL", "synchronous = OFF"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS encodings (vector_set TEXT NOT NULL, content TEXT NOT NULL, "
            "chunk INTEGER NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (vector_set, content, chunk))"
        )
        connection.execute("DELETE FROM encodings WHERE rowid <= (SELECT max(rowid) FROM encodings) - ?", (MOST_ROWS,))
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file is at the path now: another process may have thrown ours away."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino
