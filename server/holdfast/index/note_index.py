"""The index of one folder: SQLite, derived from the notes, thrown away and rebuilt at will.

Where its own place cannot be written, it is kept in a temporary folder, with a copy of what there is.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import anyio
import anyio.to_thread

from holdfast.batching import Batcher
from holdfast.errors import StorageError
from holdfast.index.current import SCHEMA
from holdfast.index.database import (
    MORE,
    USUAL,
    Database,
    Readers,
    connect,
    end_filling,
    file_identity,
    prepare_to_fill,
    vector_extension,
)
from holdfast.index.journal import known_journal
from holdfast.index.projection import Update, apply_update, fill_notes, fill_texts, put_notes
from holdfast.index.rows import (
    FileRow,
    IndexedNote,
    LinkRow,
    PendingVector,
    Place,
    SetRow,
    file_rows,
    matching,
    pending_vectors,
    place_of,
    queue_again,
    set_rows,
)
from holdfast.index.schema import drop_indexes, make_indexes, make_tables, version
from holdfast.index.view import IndexView, Kept
from holdfast.model.identifiers import MOST_TERMS, POOL
from holdfast.model.note import Note, id_range
from holdfast.model.ranking import Filter, Found, QueryVector

if TYPE_CHECKING:
    from holdfast.index.search.finder import FeedbackIndex, Finder

MEMORY_DISK = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it


def make_stand_in(path: Path) -> Path:
    """The path of a database in a temporary folder, private to the user; a copy of the one at `path` where that can be.

    Raises:
        StorageError: there is no folder that can be written to.
    """
    for place in _places():
        try:
            folder = Path(tempfile.mkdtemp(prefix="holdfast-", dir=place))
        except OSError:
            continue
        if _copied(path, folder) or _is_writable(folder):
            return folder / path.name
        shutil.rmtree(folder, ignore_errors=True)
    raise StorageError(
        "Neither the memory folder nor a temporary folder can be written to.", "Check free space and permissions."
    )


def drop_stand_in(path: Path) -> None:
    """Take such a folder away."""
    shutil.rmtree(path.parent, ignore_errors=True)


def _places() -> Iterator[Path]:
    with suppress(OSError):  # none of the usual ones can be written to
        yield Path(tempfile.gettempdir())
    yield MEMORY_DISK


def _copied(path: Path, folder: Path) -> bool:
    """Copy the database with what was not yet moved into it; a process that writes meanwhile may harm the copy."""
    try:
        for end in ("", "-wal"):
            source = path.with_name(path.name + end)
            if source.exists():
                shutil.copyfile(source, folder / source.name)
    except OSError:
        for file in folder.iterdir():
            file.unlink(missing_ok=True)
        return False
    return True


def _is_writable(folder: Path) -> bool:
    try:
        (folder / "probe").write_bytes(bytes(1 << 16))
        (folder / "probe").unlink()
    except OSError:
        return False
    return True


Answer = TypeVar("Answer")

_SIGN_OF_NO_FILE = "unable to open"
_SIGNS_OF_HARM = (
    "malformed", "no such", "already exists", "has no column", "readonly", "disk I/O", "decode", "invalid fts5",
)  # fmt: skip
LAST = "\U0010ffff"  # sorts behind every name


class IndexLostError(Exception):
    """The database file is gone, was replaced or cannot be read: rebuild it, then ask again."""


class IndexHarmedError(IndexLostError):
    """The database file is there and cannot be read."""


class IndexUnopenedError(IndexLostError):
    """No file could be opened: its folder was deleted in that moment, or is no place for one."""


class OwnPlace(Protocol):
    """Which file is this process's own, see `holdfast.store.upkeep.OwnIndex`."""

    def take(self) -> Path: ...
    def leave(self) -> None: ...
    def sweep(self) -> None: ...


class NoteIndex:
    """Reads on about as many connections as there are cores, writes on one; waiting writers share a transaction.

    Args:
        path: the database file.
        extension: use sqlite-vec where it can be loaded; without it vectors are compared with numpy.
        readers: how many connections read; a few more while all are in long readings.
        own: says which file it is in place of `path`, where each process has one of its own.
    """

    def __init__(
        self, path: Path, *, extension: bool = True, readers: int = USUAL, own: OwnPlace | None = None
    ) -> None:
        self._path = self._own_path = path
        self._own = own
        self._usual_readers = readers
        self._extension = extension
        self._writer: Database | None = None
        self._readers = self._fresh_readers()
        self._identity: tuple[int, int] | None = None
        self._parts: list[tuple[int, int] | None] = []  # those of its log and of that log's index
        self._unreadable: tuple[int, int] | None = None  # the identity of a file that turned out to be harmed
        self._updates: Batcher[Update, None] = Batcher(self._apply_all)
        self._in_memory: tuple[Finder, FeedbackIndex] | None = None
        self._kept = Kept()
        self._sets: tuple[SetRow, ...] = ()
        self.uses_extension = False  # whether sqlite-vec is loaded

    async def last_place(self) -> str:
        """How far the index knows the journal, see `holdfast.index.journal`; asked before it is opened.

        Empty where that is not known: there is no index, or it cannot be read.
        """

        def look() -> str:
            self._take_own()
            if not self._path.exists():
                return ""
            with closing(sqlite3.connect(f"{self._path.absolute().as_uri()}?mode=rw", uri=True)) as connection:
                return known_journal(connection).place

        try:
            return await anyio.to_thread.run_sync(look)
        except (sqlite3.Error, UnicodeDecodeError, ValueError, OSError):
            return ""

    async def open(self) -> bool:
        """Open or make the database. Returns whether it is built; if not, apply every note, then `mark_built`.

        Raises:
            IndexSchemaError: a newer Holdfast wrote it.
            IndexLostError: it cannot be read as a database, or its folder was deleted meanwhile.
            StorageError: it cannot be opened now.
        """
        try:
            self._take_own()
            self._path.parent.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise _refusal(error.strerror) from error
        if self._on_disk() in (None, self._unreadable):
            self.discard()
        self._unreadable = None
        self._in_memory, self._kept = None, Kept()
        self.uses_extension = self._extension and vector_extension() != ""
        whole = False
        try:
            built = await _guarded(self._open())
            whole = True
            return built
        finally:
            if not whole:
                with anyio.CancelScope(shield=True):
                    await self.aclose()

    async def _open(self) -> bool:
        self._writer = await connect(self._path, extension=self._extension)
        if 0 < await self._writer.run(version) < SCHEMA:  # of an earlier version: everything in it can be made anew
            await self.erase()
            self._writer = await connect(self._path, extension=self._extension)
        await self._writer.run(make_tables)
        self._identity, self._parts = self._on_disk(), self._parts_on_disk()
        self._readers = self._fresh_readers()
        await self._readers.open()
        built = await self._writer.run(lambda connection: _meta(connection, "built") is not None)
        if not built:
            await self._writer.run(prepare_to_fill)
            await self._writer.write(drop_indexes)
        return built

    def _fresh_readers(self) -> Readers:
        usual = self._usual_readers
        return Readers(self._connected, usual, usual + MORE)

    async def _connected(self) -> Database:
        """One more reading connection; to the file that the others have, for another process may be making a new one.

        Raises:
            IndexLostError: another file is there, or its log is gone.
            sqlite3.Error: none is there.
        """
        reader = await connect(self._path, extension=self._extension, anew=False)
        is_it = False
        try:
            is_it = not self.lost
        finally:
            if not is_it:
                with anyio.CancelScope(shield=True), suppress(sqlite3.Error):
                    await reader.close()
        if not is_it:
            raise IndexLostError("deleted before it was read")
        return reader

    async def aclose(self) -> None:
        with suppress(StorageError):  # where nothing can be looked at, nothing can be opened either
            if self._is_parted():
                self._unreadable = self._identity  # what its log holds is in no file any more: it is made anew
                self.discard()  # or closing would move this log over what others wrote with theirs
        writer = self._writer
        self._writer, self._identity = None, None
        await self._readers.aclose()
        if writer is not None:
            with suppress(sqlite3.Error):  # a harmed file cannot be put in order, and need not be
                await writer.close()

    def _take_own(self) -> None:
        if self._own is not None and self._path == self._own_path:
            self._path = self._own_path = self._own.take()

    async def leave(self) -> None:
        """Close for good: another process may have the file."""
        await self.aclose()
        if self._own is not None:
            self._own.leave()

    @property
    def lost(self) -> bool:
        """Whether the file that was opened is no longer the one at the path, or cannot be read any more."""
        return self._identity in (None, self._unreadable) or self._identity != self._on_disk() or self._is_parted()

    def _is_parted(self) -> bool:
        """Whether the file that was opened is there without its log: whoever opens it next begins another one."""
        is_there = self._identity is not None and self._identity == self._on_disk()
        return is_there and self._parts != self._parts_on_disk()

    def _parts_on_disk(self) -> list[tuple[int, int] | None]:
        try:
            return [file_identity(Path(f"{self._path}{end}")) for end in ("-wal", "-shm")]
        except OSError as error:
            raise _refusal(error.strerror) from error

    def _on_disk(self) -> tuple[int, int] | None:
        try:
            return file_identity(self._path)
        except OSError as error:
            raise _refusal(error.strerror) from error

    def discard(self) -> None:
        """Put an unreadable database aside, and take away what a deleted one left behind.

        Raises:
            StorageError: the folder cannot be written to.
        """
        try:
            if self._path.exists():
                self._path.replace(self._path.with_suffix(".unreadable"))
            for end in ("-wal", "-shm", "-journal"):
                Path(f"{self._path}{end}").unlink(missing_ok=True)
        except OSError as error:
            raise _refusal(error.strerror) from error

    async def stand_in(self) -> None:
        """Close, and work on a copy in a temporary folder from the next `open` on.

        Raises:
            StorageError: there is none.
        """
        await self.leave_stand_in()
        self._path = await anyio.to_thread.run_sync(make_stand_in, self._own_path)

    async def leave_stand_in(self) -> None:
        """Close, and work on the own file again from the next `open` on."""
        await self.aclose()
        stand_in, self._path = self._path, self._own_path
        if stand_in != self._own_path:
            await anyio.to_thread.run_sync(drop_stand_in, stand_in)

    async def erase(self) -> None:
        """Take the database away with all that was ever in it; it is built anew from the notes.

        Raises:
            StorageError: the folder cannot be written to.
        """
        await self.aclose()
        try:
            for end in (".db", ".db-wal", ".db-shm", ".db-journal", ".unreadable"):
                self._path.with_suffix(end).unlink(missing_ok=True)
            if self._own is not None:
                self._own.sweep()
        except OSError as error:
            raise _refusal(error.strerror) from error

    async def mark_built(self) -> None:
        """Everything was applied: make what is faster made in one go."""
        await self._write(_finish)
        if self._writer is not None:
            await self._noticing(_guarded(self._writer.run(end_filling)))

    async def apply(self, update: Update) -> None:
        """Write an update, together with those of everybody who waits.

        Raises:
            IndexLostError: the database was deleted meanwhile.
        """
        await self._updates.submit(update)

    async def read(self, work: Callable[[IndexView], Answer]) -> Answer:
        """Run a function on one state of the index, in one hop.

        Raises:
            IndexLostError: the database is gone.
        """

        def on_one_state(connection: sqlite3.Connection) -> Answer:
            connection.execute("BEGIN")
            try:
                return work(IndexView(connection, self._searcher, self._ratings, self._kept))
            finally:
                connection.rollback()

        return await self._read(on_one_state)

    async def search(
        self,
        query: str,
        vector: QueryVector | None,
        wanted: Filter,
        pool_size: int = POOL,
        most_terms: int = MOST_TERMS,
    ) -> Found:
        """See `holdfast.index.search.finder.Finder.search`."""
        return await self.read(lambda view: view.search(query, vector, wanted, pool_size, most_terms))

    def _searcher(self) -> Finder:
        return self._made()[0]

    def _ratings(self) -> FeedbackIndex:
        return self._made()[1]

    def _made(self) -> tuple[Finder, FeedbackIndex]:
        """Made at the first search, all at once: numpy comes along, which the start of a server does not wait for."""
        if self._in_memory is None:
            from holdfast.index.search.finder import FeedbackIndex, Finder  # noqa: PLC0415

            self._in_memory = (Finder(extension=self.uses_extension), FeedbackIndex())
        return self._in_memory

    async def notes(self, ids: Iterable[str]) -> dict[str, IndexedNote]:
        """Notes by id; unknown ids are left out. Their connections are told by `links`."""
        wanted = list(ids)
        return await self.read(lambda view: view.notes(wanted))

    async def matching(self, prefix: str, most: int) -> list[tuple[str, str]]:
        """Notes whose id, or that of one merged into them, begins with `prefix`: ids with titles, in order."""
        bounds = id_range(prefix)
        if bounds is None:
            return []
        return await self._read(lambda connection: matching(connection, *bounds, most))

    async def links(self, ids: Sequence[str]) -> list[LinkRow]:
        """Edges that leave or reach these notes and whose both ends are there."""
        return await self.read(lambda view: view.links(ids))

    async def changes(self, note_id: str) -> int:
        """How many changes the journal knows of this note."""
        return await self._read(
            lambda connection: int(
                connection.execute("SELECT count(*) FROM history WHERE note = ?", (note_id,)).fetchone()[0]
            )
        )

    async def place(self, note: Note, now: str) -> Place:
        """What a new note meets; see `Place`."""
        return await self._read(lambda connection: place_of(connection, note, now))

    async def files(self, paths: Collection[str] | None = None) -> dict[str, FileRow]:
        """Files that were seen, by path: these, or all of them. A path that ends in / stands for all files below it."""
        if paths is None:
            return await self._read(lambda connection: file_rows(connection, "true", ()))
        folders = [path for path in paths if path.endswith("/")]
        below = " OR path BETWEEN ? AND ?" * len(folders)
        bounds = [bound for path in folders for bound in (path, path + LAST)]
        clause = f"path IN (SELECT value FROM json_each(?)){below}"  # noqa: S608 - fixed words
        return await self._read(lambda connection: file_rows(connection, clause, (json.dumps(list(paths)), *bounds)))

    async def count_files(self) -> int:
        return await self._read(lambda connection: int(connection.execute("SELECT count(*) FROM files").fetchone()[0]))

    async def files_of(self, ids: Collection[str]) -> dict[str, FileRow]:
        """Files that hold, or claim to hold, these notes."""
        wanted = json.dumps(list(ids))
        clause = "note IN (SELECT value FROM json_each(?))"
        return await self._read(lambda connection: file_rows(connection, clause, (wanted,)))

    async def problems(self) -> list[tuple[str, str]]:
        """Quarantined files with their reasons, by path."""
        return await self.read(lambda view: view.problems())

    async def unadopted(self) -> list[tuple[str, str, int]]:
        """Path, id and time of change (ns) of files that do not carry their id yet."""
        return await self._read(
            lambda connection: connection.execute(
                "SELECT path, note, touched FROM files WHERE has_id = 0 AND note IS NOT NULL ORDER BY path"
            ).fetchall()
        )

    async def pending_vectors(self, key: str, most: int) -> list[PendingVector]:
        """Notes that have no vector of this set: its queue, in the order they came."""
        return await self._read(lambda connection: pending_vectors(connection, key, most))

    async def count_pending(self, key: str) -> int:
        """How many notes have no vector of this set."""
        return await self.read(lambda view: view.count_pending(key))

    @property
    def vector_sets(self) -> tuple[SetRow, ...]:
        """The vector sets as of what was read last, by whatever request; the one that was begun last first."""
        return self._sets

    @property
    def vector_search(self) -> str:
        """How vectors are compared: by sqlite-vec, loaded officially or through ctypes, or by numpy alone."""
        return (
            {"official": "official", "auto": "ctypes"}.get(vector_extension(), "numpy") if self._extension else "numpy"
        )

    async def tell_once(self, name: str) -> bool:
        """Whether nobody has asked this of the database before."""
        return await self._write(
            lambda connection: bool(
                connection.execute("INSERT OR IGNORE INTO meta (key, value) VALUES (?, 1)", (f"told {name}",)).rowcount
            )
        )

    async def _read(self, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
        def with_sets(connection: sqlite3.Connection) -> Answer:
            self._sets = set_rows(connection)
            return work(connection)

        return await self._noticing(_guarded(self._readers.run(with_sets)))

    async def _write(self, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
        if self._writer is None:
            raise IndexLostError("not open")

        def while_it_is_there(connection: sqlite3.Connection) -> Answer:
            self._check_there()
            answer = work(connection)
            self._check_there()  # nothing is written into a log, or over a file, that others have begun anew
            return answer

        answer = await self._noticing(_guarded(self._writer.write(while_it_is_there)))
        if self.lost:
            raise IndexLostError("deleted while it was written")
        return answer

    def _check_there(self) -> None:
        if self._identity is not None and self.lost:  # while it is being closed, that is known
            raise IndexLostError("deleted while it was written")

    async def _noticing(self, answer: Awaitable[Answer]) -> Answer:
        """Remember when the file that is open turns out to be harmed, so that it is opened no more."""
        opened = self._identity
        try:
            return await answer
        except IndexHarmedError:
            if opened is not None and opened == self._identity == self._on_disk():
                self._unreadable = opened
            raise

    async def _apply_all(self, updates: Sequence[Update]) -> Sequence[None]:
        def work(connection: sqlite3.Connection) -> None:
            seq = int(_meta(connection, "change_seq") or 0)
            if any(update.is_seen for update in updates):
                seq += 1
                _set_meta(connection, "change_seq", seq)
            put = put_notes if _meta(connection, "built") else fill_notes  # what it lacks is made at the end
            for update in updates:
                apply_update(connection, update, seq, put)

        await self._write(work)
        return [None] * len(updates)


async def _guarded(answer: Awaitable[Answer]) -> Answer:
    """A database that cannot be read is as good as lost; a lock that was not had in time is not."""
    try:
        return await answer
    except sqlite3.ProgrammingError as error:
        raise IndexLostError(str(error)) from error
    except (sqlite3.OperationalError, sqlite3.IntegrityError) as error:
        if any(sign in str(error) for sign in _SIGNS_OF_HARM):
            raise IndexHarmedError(str(error)) from error
        if _SIGN_OF_NO_FILE in str(error):
            raise IndexUnopenedError(str(error)) from error
        raise _refusal(error) from error
    except sqlite3.DatabaseError as error:
        raise IndexHarmedError(str(error)) from error


def _refusal(reason: object) -> StorageError:
    return StorageError(f"The index cannot be used: {reason}.", "Nothing was stored. Check free space, then try again.")


def _meta(connection: sqlite3.Connection, key: str) -> int | None:
    found = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return int(found[0]) if found else None


def _set_meta(connection: sqlite3.Connection, key: str, value: int) -> None:
    connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, value))


def _finish(connection: sqlite3.Connection) -> None:
    make_indexes(connection)
    fill_texts(connection)
    queue_again(connection)
    _set_meta(connection, "built", 1)
    _set_meta(connection, "change_seq", (_meta(connection, "change_seq") or 0) + 1)  # the texts are new to readers
