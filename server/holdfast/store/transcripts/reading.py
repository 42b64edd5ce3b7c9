"""Files around the queue: which are transcripts, one read from where it was read to, and the queue's own database.

Transcripts lie below the clients' own folders, reached without a link; the path of one is a client's word. It is never
opened as it stands: each folder of it is opened from the one above, and none of them, nor the file, may be a symbolic
link.

One is read in whole lines from where it was read to; one that was cut or replaced from its beginning. Whether it is
still the same file is told by its content: the hash of its beginning and of what stands right before the place. A size
alone says nothing of a file that was replaced by a longer one.

`transcripts/queue.db` is no part of the index: how far each transcript was read and what waits to be judged stand in no
other place. It is opened for each use and closed after it. Cursor and turns change in one transaction, so that a crash
keeps both or neither. What is deleted is overwritten (`secure_delete`).
"""

from __future__ import annotations

import errno
import hashlib
import os
import sqlite3
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from holdfast.errors import IndexSchemaError, StorageError
from holdfast.model.transcripts.turns import Setting, Turn, read_turns

SUFFIX: Final = ".jsonl"
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)
_FOLDER: Final = getattr(os, "O_DIRECTORY", 0)
_MOST_FOLDERS: Final = 16
_GONE: Final = frozenset({errno.ENOENT, errno.ENOTDIR})


class NoTranscriptError(Exception):
    """A path that is not taken for a transcript; the words say why and do not repeat it."""


class MissingTranscriptError(NoTranscriptError):
    """There is no file, or none yet."""


@dataclass(frozen=True, slots=True)
class Located:
    """A transcript below one of the roots: `parts` lead there from the root."""

    root: Path
    parts: tuple[str, ...]

    @property
    def name(self) -> str:
        """The one spelling of its path, whatever way the root was named."""
        return os.path.join(os.path.realpath(self.root), *self.parts)  # noqa: PTH118 - realpath, for a root that is a link


def client_roots(environ: Mapping[str, str], home: Path, more: Sequence[Path] = ()) -> tuple[Path, ...]:
    """Where Claude Code and Codex keep their transcripts on this machine, and further folders that settings name."""
    claude = [Path(given) for given in (environ.get("CLAUDE_CONFIG_DIR"),) if given]
    codex = [Path(given) for given in (environ.get("CODEX_HOME"),) if given]
    roots = [folder / "projects" for folder in (*claude, home / ".claude", home / ".config" / "claude")]
    for folder in (*codex, home / ".codex"):
        roots += [folder / "sessions", folder / "archived_sessions"]
    return tuple(dict.fromkeys((*roots, *more)))


def locate(path: str, roots: Sequence[Path]) -> Located:
    """The transcript that a path names.

    Raises:
        NoTranscriptError: it is none: not below a root, or not called like one.
    """
    if "\0" in path or not Path(path).is_absolute() or ".." in Path(path).parts:
        raise NoTranscriptError("the path is not a whole one")
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise NoTranscriptError("the path is no text in UTF-8") from error
    if not path.endswith(SUFFIX):
        raise NoTranscriptError(f"the file's name does not end in {SUFFIX}")
    for root in roots:
        for spelled in dict.fromkeys((str(root), os.path.realpath(root))):
            with suppress(ValueError):
                parts = Path(path).relative_to(spelled).parts
                if 0 < len(parts) <= _MOST_FOLDERS:
                    return Located(root, parts)
    raise NoTranscriptError("the path leads to no folder in which a client keeps transcripts")


@contextmanager
def opened(found: Located) -> Iterator[BinaryIO]:
    """The transcript's file, for reading.

    Raises:
        MissingTranscriptError: there is none.
        NoTranscriptError: a link leads there, or it is no regular file.
        OSError: it cannot be read.
    """
    try:
        handle = _open_below(found) if sys.platform != "win32" else _open_checked(found)
    except OSError as error:
        if error.errno == errno.ELOOP or (error.errno == errno.ENOTDIR and _leads_through_link(found)):
            raise NoTranscriptError("a symbolic link leads there, and those are not followed") from error
        if error.errno in _GONE:
            raise MissingTranscriptError("there is no such file") from error
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise NoTranscriptError("it is no regular file")
    with os.fdopen(handle, "rb") as file:
        yield file


def _open_below(found: Located) -> int:
    """Open each part from the folder above it."""
    folder = os.open(found.root, os.O_RDONLY | _FOLDER)
    try:
        for part in found.parts[:-1]:
            inner = os.open(part, os.O_RDONLY | _FOLDER | _NO_LINK, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(found.parts[-1], os.O_RDONLY | _NO_LINK | os.O_NONBLOCK, dir_fd=folder)
    finally:
        os.close(folder)


def _open_checked(found: Located) -> int:
    """The same where no folder can be opened: look at each part first."""
    if _leads_through_link(found):
        raise NoTranscriptError("a symbolic link leads there, and those are not followed")
    return os.open(found.root.joinpath(*found.parts), os.O_RDONLY | getattr(os, "O_BINARY", 0))


def _leads_through_link(found: Located) -> bool:
    place = found.root
    for part in found.parts:
        place /= part
        if place.is_symlink():
            return True
    return False


def list_transcripts(roots: Sequence[Path], most: int) -> list[tuple[Path, float, int]]:
    """Transcripts below the roots with their times of change and sizes, the newest first; links are not followed."""
    found: list[tuple[Path, float, int]] = []
    stack = [os.fspath(root) for root in dict.fromkeys(Path(os.path.realpath(root)) for root in roots)]
    while stack:
        with suppress(OSError), os.scandir(stack.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    stack.append(entry.path)
                elif entry.name.endswith(SUFFIX) and entry.is_file(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    found.append((Path(entry.path), status.st_mtime, status.st_size))
    found.sort(key=lambda item: (-item[1], item[0]))
    return found[:most]


CHUNK: Final = 2 * 1024 * 1024
LONGEST_LINE: Final = 24 * 1024 * 1024  # a longer one is passed over: no turn is that long
_HEAD, _TAIL = 1024, 4096
_LOOKED_BACK: Final = 256 * 1024


@dataclass(frozen=True, slots=True)
class Place:
    """How far a transcript was read. `version` counts the times that this was written down.

    `head` and `tail` are hashes of the file's beginning and of what stands before `offset`.
    """

    offset: int = 0
    head: str = ""
    tail: str = ""
    setting: Setting = field(default_factory=Setting)
    version: int = 0


@dataclass(frozen=True, slots=True)
class Chunk:
    """The turns between two places. `is_last`: nothing follows."""

    before: Place
    after: Place
    turns: tuple[Turn, ...]
    is_last: bool


def read_chunk(found: Located, place: Place) -> Chunk:
    """What stands behind a place, as much as is read at once.

    Raises:
        NoTranscriptError: it is none, or there is none.
        OSError: it cannot be read.
    """
    with opened(found) as file:
        size = os.fstat(file.fileno()).st_size
        start = place if _is_same(file, place, size) else Place(version=place.version)
        data, end = _whole_lines(file, start.offset)
        turns, setting = read_turns(data.split(b"\n"), start.setting)
        after = Place(end, *_marks(file, end), setting, place.version)
        return Chunk(place, after, tuple(turns), end >= size or end == start.offset)


def last_said(found: Located, place: Place) -> str:
    """What the agent said last before a place; empty where the user spoke behind it, or it stands too far back.

    Raises:
        NoTranscriptError: it is none, or there is none.
        OSError: it cannot be read.
    """
    start = max(0, place.offset - _LOOKED_BACK)
    with opened(found) as file:
        data = _read(file, start, place.offset - start)
    turns, _ = read_turns(data.split(b"\n")[1 if start else 0 :], place.setting)
    return turns[-1].text if turns and turns[-1].role == "assistant" else ""


def _is_same(file: BinaryIO, place: Place, size: int) -> bool:
    if not place.offset:
        return True
    return place.offset <= size and _marks(file, place.offset) == (place.head, place.tail)


def _marks(file: BinaryIO, offset: int) -> tuple[str, str]:
    """The hashes that tell the file as it is up to an offset."""
    first = max(0, offset - _TAIL)
    return _hash(_read(file, 0, min(offset, _HEAD))), _hash(_read(file, first, offset - first))


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _whole_lines(file: BinaryIO, start: int) -> tuple[bytes, int]:
    """The lines that end within a chunk, and where the last of them ends."""
    data = _read(file, start, CHUNK)
    is_end = len(data) < CHUNK
    cut = data.rfind(b"\n")
    while cut < 0 and not is_end and len(data) <= LONGEST_LINE:
        more = _read(file, start + len(data), CHUNK)
        is_end = len(more) < CHUNK
        cut = more.rfind(b"\n")
        cut += len(data) if cut >= 0 else 0
        data += more
    if cut >= 0:
        return data[:cut], start + cut + 1
    return b"", start if is_end else _behind_line(file, start + len(data), start)


def _behind_line(file: BinaryIO, at: int, start: int) -> int:
    """Where an endless line ends; where it began as long as it has no end."""
    while data := _read(file, at, CHUNK):
        cut = data.find(b"\n")
        if cut >= 0:
            return at + cut + 1
        at += len(data)
    return start


def _read(file: BinaryIO, start: int, most: int) -> bytes:
    """Up to so many bytes; one read may give less than there are."""
    file.seek(start)
    data = file.read(most)
    while len(data) < most and (more := file.read(most - len(data))):
        data += more
    return data


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
