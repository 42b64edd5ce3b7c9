"""Connections to SQLite: one that writes, several that read, the pragmas, and sqlite-vec where it can be loaded.

A request is one function on one connection's thread. Each takes a free reading connection, so that none waits behind a
long reading while another is free.
"""

from __future__ import annotations

import asyncio
import ctypes
import functools
import importlib.util
import json
import sqlite3
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import aiosqlite
import anyio

Answer = TypeVar("Answer")

PATIENCE_SECONDS = 0.05  # longer than nearly every reading takes
USUAL = 1  # two threads of Python that read take turns, and each reading costs twice the processor
MORE = 6  # connections beyond the usual ones, for when all of these are in long readings


class _Turn:
    """A place in the queue, and the connection that was given to it."""

    __slots__ = ("come", "reader")

    def __init__(self) -> None:
        self.come = anyio.Event()
        self.reader: Database | None = None


class Readers:
    """A few connections on one database; one more is opened where no reading ends for longer than a short one takes.

    Many short readings wait for each other: beside each other they would take longer.

    Args:
        make: opens a connection.
        usual: how many are opened at first.
        most: how many there are at most.
    """

    def __init__(self, make: Callable[[], Awaitable[Database]], usual: int, most: int) -> None:
        self._make = make
        self._usual = usual
        self._most = most
        self._count = 0
        self._all: list[Database] = []
        self._free: list[Database] = []
        self._waiting: deque[_Turn] = deque()
        self._moved_at = 0.0  # when a reading last ended, or one more connection was asked for
        self._closed = True

    def __iter__(self) -> Iterator[Database]:
        return iter(self._all)

    async def open(self) -> None:
        self._closed = False
        for _ in range(self._usual):
            await self._add()

    async def aclose(self) -> None:
        """Close all; what runs is waited for, what waits is refused."""
        self._closed = True
        for turn in self._waiting:
            turn.come.set()
        readers, self._all = self._all, []  # whoever closes them meanwhile finds none: none is closed twice
        for reader in readers:
            with suppress(sqlite3.Error):  # a harmed file cannot be put in order, and need not be
                await reader.close()

    async def run(self, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """Run `work` on a connection's thread. Cancelling the caller does not stop it: the connection stays taken."""
        reader = await self._taken()
        loop = asyncio.get_running_loop()

        def whole(connection: sqlite3.Connection) -> Answer:
            try:
                return work(connection)
            finally:
                with suppress(RuntimeError):  # the loop is closed, and nobody waits any more
                    loop.call_soon_threadsafe(self._give, reader)

        return await reader.run(whole)

    async def _taken(self) -> Database:
        if self._closed:
            raise sqlite3.ProgrammingError("the connections were closed")
        if self._free:
            return self._free.pop()
        turn = _Turn()
        self._waiting.append(turn)
        patience = PATIENCE_SECONDS
        try:
            while not turn.come.is_set():
                with anyio.move_on_after(patience):
                    await turn.come.wait()
                if not turn.come.is_set() and self._is_stuck():
                    await self._add()
                patience *= 2  # of many who wait the first are enough to see it
        except BaseException:
            self._leave(turn)
            raise
        if turn.reader is None:
            raise sqlite3.ProgrammingError("the connections were closed")
        return turn.reader

    def _is_stuck(self) -> bool:
        """Whether all are in long readings, and there may be more."""
        return self._count < self._most and time.monotonic() - self._moved_at >= PATIENCE_SECONDS

    async def _add(self) -> None:
        self._count += 1
        self._moved_at = time.monotonic()
        try:
            reader = await self._make()
        except BaseException:
            self._count -= 1
            raise
        if self._closed:  # meanwhile; nobody else would close it
            with anyio.CancelScope(shield=True), suppress(sqlite3.Error):
                await reader.close()
            raise sqlite3.ProgrammingError("the connections were closed")
        self._all.append(reader)
        self._give(reader)

    def _give(self, reader: Database) -> None:
        """A connection is free: for who has waited longest, if anybody has."""
        self._moved_at = time.monotonic()
        if self._waiting:
            turn = self._waiting.popleft()
            turn.reader = reader
            turn.come.set()
        else:
            self._free.append(reader)

    def _leave(self, turn: _Turn) -> None:
        if turn.reader is not None:
            self._give(turn.reader)
        elif turn in self._waiting:
            self._waiting.remove(turn)


BUSY_MILLISECONDS = 10_000
_PRAGMAS = (  # no mmap_size: whoever cuts a mapped file short, as `cp` over it does, kills the process
    f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",
    "PRAGMA journal_size_limit = 16777216",
    "PRAGMA temp_store = MEMORY",
)
_USUAL_PRAGMAS = ("PRAGMA cache_size = -16384", "PRAGMA wal_autocheckpoint = 1000")
_FILLING_PRAGMAS = ("PRAGMA cache_size = -65536", "PRAGMA wal_autocheckpoint = 65536")


class Database(aiosqlite.Connection):
    """A connection on a thread of its own that runs whole functions: a request is one hop, not one for each row."""

    async def run(self, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """Run `work` on the connection's thread. Cancelling the caller does not stop it."""
        if self._connection is None:
            raise sqlite3.ProgrammingError("the connection was closed")
        with _telling_harm():
            answer: Answer = await self._execute(work, self._conn)  # type: ignore[no-untyped-call] # aiosqlite's own
        return answer

    async def write(self, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """Run `work` inside one BEGIN IMMEDIATE transaction; whatever it raises undoes it."""
        return await self.run(functools.partial(_in_transaction, work))

    async def close(self) -> None:
        """Close when all that was begun is done. Cancelling the caller stops nothing: no thread outlives its loop."""
        with anyio.CancelScope(shield=True):
            await super().close()


@contextmanager
def _telling_harm() -> Iterator[None]:
    """Where a harmed file makes SQLite say what is no text, Python cannot even tell of the error.

    A bit that flips in a list that is kept as JSON makes it none; nothing else that runs on a connection reads JSON.
    """
    try:
        yield
    except UnicodeDecodeError as error:
        raise sqlite3.DatabaseError("a text is no UTF-8") from error
    except json.JSONDecodeError as error:
        raise sqlite3.DatabaseError("a text is no JSON") from error


def _in_transaction(work: Callable[[sqlite3.Connection], Answer], connection: sqlite3.Connection) -> Answer:
    connection.execute("BEGIN IMMEDIATE")
    try:
        answer = work(connection)
        connection.commit()
    except BaseException:
        if connection.in_transaction:
            connection.rollback()
        raise
    return answer


async def connect(path: Path, *, extension: bool = True, anew: bool = True) -> Database:
    """Open a database file with the project's pragmas.

    Args:
        path: the file.
        extension: load sqlite-vec if this Python can.
        anew: make the file if it is missing.
    """

    def open_file() -> sqlite3.Connection:
        if extension:
            vector_extension()  # must be registered before the connection is opened
        file = path.absolute().as_uri()
        file = file if file.startswith("file:///") else f"file://{file.removeprefix('file:')}"  # of a share of Windows
        file = f"{file}?mode={'rwc' if anew else 'rw'}"
        connection = sqlite3.connect(file, uri=True, isolation_level=None, check_same_thread=False)
        try:
            for pragma in _PRAGMAS + _USUAL_PRAGMAS:
                connection.execute(pragma)
            if extension and vector_extension() == "official":
                load_officially(connection)
        except (sqlite3.Error, UnicodeDecodeError):
            connection.close()
            raise
        return connection

    failed: list[Exception] = []

    def open_or_stand_in() -> sqlite3.Connection:
        try:
            return open_file()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            failed.append(error)
            return sqlite3.connect(":memory:")  # so that the thread is ended in the usual way, and waited for

    database = Database(open_or_stand_in, iter_chunk_size=64)
    with _telling_harm(), anyio.CancelScope(shield=True):  # cancelled here, it would be nobody's to close
        await database
        if failed:
            await database.close()
            raise failed[0]
    return database


def prepare_to_fill(connection: sqlite3.Connection) -> None:
    """For whoever writes a whole database: more stays in memory, and the log is moved into the file less often."""
    for pragma in _FILLING_PRAGMAS:
        connection.execute(pragma)


def end_filling(connection: sqlite3.Connection) -> None:
    """Take that back; the log is moved into the file with the next transaction."""
    for pragma in _USUAL_PRAGMAS:
        connection.execute(pragma)


def file_identity(path: Path) -> tuple[int, int] | None:
    """Which file is at a path now; None where there is none. A deleted file that is still open is another one."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


class SideDatabase:
    """A small database beside the index that all servers of a folder share. It may be deleted at any time.

    Args:
        path: its file.
        prepare: makes its tables.
    """

    def __init__(self, path: Path, prepare: Callable[[sqlite3.Connection], None]) -> None:
        self._path = path
        self._prepare = prepare
        self._database: Database | None = None
        self._identity: tuple[int, int] | None = None
        self._opening = anyio.Lock()

    async def _open(self) -> Database:
        """The database at the path, opened anew where another one is there now.

        Raises:
            sqlite3.Error, OSError: it cannot be used now.
        """
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
            return self._identity is not None and file_identity(self._path) == self._identity
        except OSError:
            return False

    async def _prepared(self) -> Database:
        """The database opened and with its tables; one that is harmed is thrown away and made anew."""
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
            with anyio.CancelScope(shield=True):  # else nobody would know of a connection to close
                await database.run(self._prepare)
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
        """Throw its file away."""
        with suppress(OSError):
            for end in ("", "-wal", "-shm"):
                Path(f"{self._path}{end}").unlink(missing_ok=True)


def load_officially(connection: sqlite3.Connection) -> None:
    import sqlite_vec  # noqa: PLC0415 - not needed before the first connection

    connection.enable_load_extension(True)  # noqa: FBT003 - positional in sqlite3
    sqlite_vec.load(connection)
    connection.enable_load_extension(False)  # noqa: FBT003 - positional in sqlite3


@functools.cache
def vector_extension() -> str:
    """How sqlite-vec gets into connections: `official`, `auto` (registered for all of them), or `` where it cannot.

    Some Python builds have no `enable_load_extension`; there the extension's entry point is registered with the
    SQLite library itself through ctypes. Where that fails too, vectors are compared with numpy.
    """
    if importlib.util.find_spec("sqlite_vec") is None:
        return ""
    probe = sqlite3.connect(":memory:")
    try:
        if hasattr(probe, "enable_load_extension"):
            load_officially(probe)
            return "official"
    except sqlite3.Error:
        pass  # the build has the call but refuses it: the next way may still work
    finally:
        probe.close()
    return "auto" if _register_through_ctypes() else ""


def _register_through_ctypes() -> bool:
    import _sqlite3  # noqa: PLC0415 - CPython's own

    import sqlite_vec  # noqa: PLC0415

    library_file = next(
        (found for end in (".so", ".dylib", ".dll") if (found := Path(sqlite_vec.loadable_path() + end)).exists()), None
    )
    if library_file is None or not getattr(_sqlite3, "__file__", None):
        return False
    try:
        sqlite = ctypes.CDLL(_sqlite3.__file__)
        entry = ctypes.CDLL(str(library_file)).sqlite3_vec_init
        register = sqlite.sqlite3_auto_extension
    except (OSError, AttributeError):
        return False
    if register(ctypes.cast(entry, ctypes.c_void_p)) != 0:
        return False
    probe = sqlite3.connect(":memory:")
    try:
        probe.execute("SELECT vec_version()")
    except sqlite3.Error:
        return False
    finally:
        probe.close()
    return True
