"""Which notes each session of a client was shown without asking, so that none is shown twice. Kept for a while.

A small database in `.holdfast/`, shared by all servers of a folder. It may be deleted at any time: then a session is
told once more what it was told already. Where it cannot be written, this process remembers for itself.
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio

from holdfast.index.database import Database, connect, file_identity
from holdfast.index.shown import (
    NOTHING_YET,
    Shown,
    add_shown,
    forget_shown,
    latest,
    prepare_shown,
    read_shown,
)

MOST_HERE: Final = 256  # sessions that this process remembers for itself
FAILURES: Final = (sqlite3.Error, OSError)


class SessionLog:
    """The database of one folder.

    Args:
        path: its file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._database: Database | None = None
        self._identity: tuple[int, int] | None = None
        self._opening = anyio.Lock()
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

    async def _open(self) -> Database:
        async with self._opening:
            if self._database is not None and not self._is_still_there():
                await self._close()
            if self._database is None:
                self._path.parent.mkdir(mode=0o700, exist_ok=True)
                self._database = await self._prepared()
                self._identity = file_identity(self._path)
            return self._database

    def _is_still_there(self) -> bool:
        try:
            return file_identity(self._path) == self._identity
        except OSError:
            return False

    async def _prepared(self) -> Database:
        """The database opened and with its table; one that is harmed is thrown away and made anew."""
        try:
            return await self._connected()
        except (sqlite3.OperationalError, sqlite3.ProgrammingError):  # it is in use, or cannot be written
            raise
        except sqlite3.Error:
            self._discard()
            return await self._connected()

    async def _connected(self) -> Database:
        database = await connect(self._path, extension=False)
        try:
            await database.run(prepare_shown)
        except sqlite3.Error:
            await database.close()
            raise
        return database

    async def _close(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            with suppress(sqlite3.Error):
                await database.close()

    def _discard(self) -> None:
        with suppress(OSError):
            for end in ("", "-wal", "-shm"):
                Path(f"{self._path}{end}").unlink(missing_ok=True)
