"""Folders of markdown that are kept in step: what is known of each file, and what has changed since.

`watch/state.db` in the memory folder has a row for each file. A look goes through a folder without reading any file;
each is read when its turn comes to be taken. Symbolic links are not followed, hidden names and what an ignore pattern
matches are passed over. Nothing is ever written to such a folder.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sqlite3
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Final, NamedTuple

from anyio.to_thread import run_sync

from holdfast.errors import StorageError
from holdfast.importers.markdown import SUFFIXES, read_markdown
from holdfast.model.moving import ArrivedDocument, LeftOut
from holdfast.store.filesystem import NO_TEXT, FileSystem
from holdfast.store.locks import Lock

MOST_TOLD: Final = 100_000  # files that one look tells of; the next one tells of others
MOST_NAMELESS: Final = 100  # of which one look tells
_AT_ONCE: Final = 256  # names that are looked at before others have their turn
_BREATH: Final = 0.0005  # seconds
STILL_SECONDS: Final = 2.0  # since the last change: an editor may be in the middle of saving
_BUSY_SECONDS: Final = 10.0
_TABLES: Final = """
    CREATE TABLE IF NOT EXISTS files (
        root TEXT, folder TEXT, name TEXT, key TEXT NOT NULL, mark TEXT NOT NULL, hash TEXT NOT NULL,
        notes TEXT NOT NULL, PRIMARY KEY (root, folder, name)) WITHOUT ROWID;
    CREATE UNIQUE INDEX IF NOT EXISTS files_key ON files (key);
"""


@dataclass(frozen=True, slots=True)
class Watched:
    """A folder that is watched: `space` is that of its notes."""

    root: Path
    space: str


@dataclass(frozen=True, slots=True)
class Row:
    """A file as it was last taken: `key` is its identity, which a new name does not change; `notes` are ids."""

    root: str
    folder: str
    name: str
    key: str
    mark: str
    hash: str
    notes: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Below the root, with forward slashes."""
        return f"{self.folder}/{self.name}" if self.folder else self.name


@dataclass(slots=True)
class Seen:
    """What a look at one folder found: `is_there` whether it could be listed, `known` how many files were taken.

    `changed` and `missing` are the first ones of many; `gone` counts all that are missing. `nameless` are files and
    folders whose names are no text in UTF-8: they are passed over.
    """

    is_there: bool = True
    changed: list[Row] = field(default_factory=list)
    missing: list[Row] = field(default_factory=list)
    nameless: list[str] = field(default_factory=list)
    gone: int = 0
    known: int = 0
    seconds: float = 0.0


class _Found(NamedTuple):
    """A file as it stands in its folder: `changed` in seconds since the epoch; in no time that comes if too large."""

    mark: str
    changed: float


class WatchedFolders:
    """The folders that are watched, and what is known of them.

    Args:
        home: the memory folder, which is none of them.
        watched: the folders.
        ignored: patterns of paths below them, and of names, that are passed over.
        largest: bytes of a file that is taken.
    """

    def __init__(self, home: Path, watched: Sequence[Watched], ignored: Sequence[str], largest: int) -> None:
        self.watched = tuple(watched)
        self._home = home
        self._path = home / "watch" / "state.db"
        self._ignored = tuple(ignored)
        self._largest = largest
        self._lock = Lock(home / "locks" / "watch")
        self._disk = FileSystem()

    def turn(self) -> AbstractAsyncContextManager[bool]:
        """Be the only process that looks; yields whether it is. Free again when its holder dies."""
        return self._lock.hold_if_free()

    async def look(self, watched: Watched) -> Seen:
        """What has changed in a folder since its files were taken; what is still being written waits.

        Raises:
            StorageError: the state cannot be read.
        """
        return await run_sync(self._look, watched)

    async def as_now(self, watched: Watched, row: Row) -> Row | None:
        """A file of which a look told, with the hash of what it holds now; None where it is not to be taken now."""
        return await run_sync(self._as_now, watched, row)

    async def read(self, watched: Watched, row: Row) -> ArrivedDocument | LeftOut:
        """A file as notes."""
        return await run_sync(read_markdown, self._disk, watched.root, row.path, row.key, watched.space)

    async def put(self, row: Row, before: Row | None = None) -> None:
        """Write down that a file is taken as it is; `before` is where it was."""
        await run_sync(self._put, row, before)

    async def drop(self, row: Row) -> None:
        """Forget a file."""
        await run_sync(self._drop, row)

    def _look(self, watched: Watched) -> Seen:
        began, seen, root = time.monotonic(), Seen(), str(watched.root)
        with self._connected() as connection:
            (seen.known,) = connection.execute("SELECT count(*) FROM files WHERE root = ?", (root,)).fetchone()
            left = {row[0] for row in connection.execute("SELECT DISTINCT folder FROM files WHERE root = ?", (root,))}
            stack = [""]
            while stack:
                folder = stack.pop()
                names = self._list(watched.root, folder, stack, seen.nameless)
                if names is None:
                    seen.is_there = seen.is_there and bool(folder)
                    continue
                left.discard(folder)
                rows = _rows(connection, root, folder)
                _tell_missing(seen, [row for name, row in rows.items() if name not in names])
                for name, found in names.items():
                    _tell_changed(seen, Row(root, folder, name, "", found.mark, ""), rows.get(name), found)
            for folder in left:
                if not (watched.root / folder).is_dir():
                    _tell_missing(seen, list(_rows(connection, root, folder).values()))
        seen.seconds = time.monotonic() - began
        return seen

    def _as_now(self, watched: Watched, row: Row) -> Row | None:
        path = watched.root / row.path
        with suppress(OSError):
            status = path.lstat()
            if stat.S_ISREG(status.st_mode) and _is_still(status.st_mtime):
                data = self._disk.read(path, self._largest + 1)
                if len(data) <= self._largest:
                    return replace(row, mark=_mark(status), hash=hashlib.sha256(data).hexdigest())
        return None

    def _list(self, root: Path, folder: str, stack: list[str], nameless: list[str]) -> dict[str, _Found] | None:
        """The files of one folder by name; the folders within it go onto the stack. None where it cannot be listed."""
        names: dict[str, _Found] = {}
        try:
            with os.scandir(root / folder) as entries:
                for number, entry in enumerate(entries):
                    if number % _AT_ONCE == 0:
                        time.sleep(_BREATH)
                    path = f"{folder}/{entry.name}" if folder else entry.name
                    if entry.name.startswith(".") or self._is_ignored(path, entry.name):
                        continue
                    is_folder = entry.is_dir(follow_symlinks=False)
                    if not is_folder and not entry.name.lower().endswith(SUFFIXES):
                        continue
                    if NO_TEXT.search(entry.name):
                        nameless += [path] if len(nameless) < MOST_NAMELESS else []
                    elif is_folder:
                        if Path(entry.path) != self._home:
                            stack.append(path)
                    elif entry.is_file(follow_symlinks=False):
                        status = entry.stat(follow_symlinks=False)
                        changed = status.st_mtime if status.st_size <= self._largest else math.inf
                        names[entry.name] = _Found(_mark(status), changed)
        except OSError:
            return None
        return names

    def _is_ignored(self, path: str, name: str) -> bool:
        return any(fnmatch(path, pattern) or fnmatch(name, pattern) for pattern in self._ignored)

    def _put(self, row: Row, before: Row | None) -> None:
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            if before is not None:
                _delete(connection, before)
            connection.execute(
                "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?)",
                (row.root, row.folder, row.name, row.key, row.mark, row.hash, json.dumps(row.notes)),
            )
            connection.execute("COMMIT")

    def _drop(self, row: Row) -> None:
        with self._connected() as connection:
            _delete(connection, row)

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None)) as connection:
                connection.executescript(_TABLES)
                yield connection
        except (sqlite3.Error, OSError) as error:
            code = getattr(error, "sqlite_errorname", "") or type(error).__name__
            raise StorageError(
                f"What is known of watched folders cannot be used: {code}.", "Check free space."
            ) from error


def _tell_missing(seen: Seen, rows: Sequence[Row]) -> None:
    seen.gone += len(rows)
    seen.missing += rows[: MOST_TOLD - len(seen.missing)]


def _tell_changed(seen: Seen, row: Row, known: Row | None, found: _Found) -> None:
    """Put a file among the changed ones if it is, and is still."""
    is_same = known is not None and known.mark == row.mark
    if not is_same and len(seen.changed) < MOST_TOLD and _is_still(found.changed):
        seen.changed.append(replace(row, key=known.key, notes=known.notes) if known else row)


def _is_still(changed: float) -> bool:
    return time.time() - changed >= STILL_SECONDS


def _rows(connection: sqlite3.Connection, root: str, folder: str) -> dict[str, Row]:
    found = connection.execute(
        "SELECT root, folder, name, key, mark, hash, notes FROM files WHERE root = ? AND folder = ?", (root, folder)
    ).fetchall()
    return {
        name: Row(root, folder, name, key, mark, hash_, tuple(json.loads(notes)))
        for _, _, name, key, mark, hash_, notes in found
    }


def _delete(connection: sqlite3.Connection, row: Row) -> None:
    where = (row.root, row.folder, row.name)
    connection.execute("DELETE FROM files WHERE root = ? AND folder = ? AND name = ?", where)


def _mark(status: os.stat_result) -> str:
    return f"{status.st_mtime_ns}:{status.st_size}:{status.st_ino}"
