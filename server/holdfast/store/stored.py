"""Notes and pages as they lie on the disk, how they are read, and what a change makes of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import anyio

from holdfast.errors import StorageError
from holdfast.model.note import Note
from holdfast.model.records import JournalRecord
from holdfast.model.times import instant
from holdfast.store.codec import Surroundings, content_hash, note_of
from holdfast.store.filesystem import NO_SIGNATURE, FileSystem, Signature
from holdfast.store.folder import Folder
from holdfast.store.frontmatter import Document, MalformedError, parse

EPOCH = "1970-01-01T00:00:00Z"
LARGEST_FILE = 384 * 1024
LARGEST_PAGE = 16 * 1024 * 1024
TOO_LONG = f"it is longer than {LARGEST_FILE // 1024} kB"


@dataclass(frozen=True, slots=True)
class Stored:
    """A note and its file. `path` is relative to `memories/`; `hash` is the SHA-256 of the file's bytes.

    `has_id` is False for a hand-written file whose id is not in its frontmatter yet.
    """

    note: Note
    path: str
    hash: str
    signature: Signature
    document: Document
    has_id: bool = True

    @property
    def mark(self) -> str:
        """Names this version of the file: the same for as long as nobody touched it."""
        return self.signature.mark

    @property
    def touched_ns(self) -> int:
        """When it was last changed, by whomever, in nanoseconds since 1970."""
        return self.signature.modified_ns

    @property
    def size(self) -> int:
        """Its bytes."""
        return self.signature.size


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that is quarantined: it stays where it is, marked with the reason."""

    path: str
    reason: str
    signature: Signature


@dataclass(frozen=True, slots=True)
class Change:
    """One note made (`before` is None), rewritten, or put into the trash (`after` is None).

    `raw` are the new file's bytes, where they are not the codec's; it then has the time `modified_ns`, else that of
    `before`. `path` is where a note that is made is to lie if nobody has that name.
    """

    before: Stored | None
    after: Note | None
    raw: bytes | None = None
    path: str | None = None
    modified_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """A text file beside the notes as it was read; `modified` is an ISO-8601 UTC instant."""

    path: str
    data: bytes
    hash: str
    modified: str


@dataclass(frozen=True, slots=True)
class PageChange:
    """A page made (`before` is None) or rewritten.

    A text that the new one begins with is not kept apart in the history: it is still there.
    """

    path: str
    before: Page | None
    after: bytes


@dataclass(frozen=True, slots=True)
class Committed:
    """A change that is on the disk, flushed: the notes made or rewritten, in the order asked for, and those gone.

    `pages` are the paths of the pages made or rewritten. `record` is the journal's line.
    """

    change_id: str
    seq: int
    op: str
    stored: tuple[Stored, ...]
    gone: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    record: JournalRecord = field(default_factory=JournalRecord)

    @property
    def notes(self) -> tuple[str, ...]:
        return (*(item.note.id for item in self.stored), *self.gone)


@dataclass(slots=True)
class Followed:
    """How far the index of this process follows a storage that others write into too.

    Attributes:
        lock: held by whoever brings notes into the index: it takes them in the order of the journal.
        place: in the journal, up to which its notes are in the index; empty where nothing is known.
        news: brings in what is new, where somebody follows.
    """

    lock: anyio.Lock = field(default_factory=anyio.Lock)
    place: str = ""
    news: Callable[[], Awaitable[None]] | None = None


def time_of(signature: Signature) -> str:
    """When the file was last changed, as far as a calendar goes."""
    try:
        return instant(datetime.fromtimestamp(signature.modified_ns / 1e9, UTC))
    except (ValueError, OverflowError):
        return EPOCH


def read_note(folder: Folder, files: FileSystem, path: str, known_id: str | None) -> Stored | Unreadable | None:
    """A note file as it is now; None where there is none.

    Args:
        folder: the layout.
        files: the file system.
        path: relative to `memories/`.
        known_id: the id of a file whose frontmatter has none.
    """
    absolute = folder.file(path)
    try:
        signature = files.signature(absolute)
        return None if signature is None else _read(folder, files, path, signature, known_id)
    except OSError as error:
        return _closed(path, error)


def _read(
    folder: Folder, files: FileSystem, path: str, signature: Signature, known_id: str | None
) -> Stored | Unreadable | None:
    if signature.size > LARGEST_FILE:
        return Unreadable(path, TOO_LONG, signature)
    try:
        data = files.read(folder.file(path), LARGEST_FILE + 1)
        document = parse(data)
        modified = "" if "created" in document.values else time_of(signature)
        note = note_of(document, Surroundings(folder.space_of(path), modified), known_id)
    except FileNotFoundError:
        return None
    except MalformedError as error:
        return Unreadable(path, str(error), signature)
    except OSError as error:
        return _closed(path, error)
    return Stored(note, path, content_hash(data), signature, document, "id" in document.values)


def _closed(path: str, error: OSError) -> Unreadable:
    """The disk refused, which may pass while the file stays as it is: it is seen as changed by whoever looks again."""
    return Unreadable(path, f"it cannot be read: {error.strerror}", NO_SIGNATURE)


Mark = tuple[str, int]  # a file's hash and bytes; the hash is empty where it cannot be read, or is too long


def read_page(folder: Folder, files: FileSystem, path: str) -> Page | None:
    """A page, or None where there is none.

    Raises:
        StorageError: it lies behind a symbolic link, or is too long.
        OSError: it cannot be read.
    """
    absolute = folder.inside(path)
    if _is_linked(folder, absolute):
        raise StorageError(f"The folder of {path} is a symbolic link.", "Put a folder in its place.")
    try:
        signature, data = files.signature(absolute), files.read(absolute, LARGEST_PAGE + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if len(data) > LARGEST_PAGE:
        raise StorageError(f"{path} is longer than {LARGEST_PAGE >> 20} MiB.", "Cut it, or move it away.")
    return Page(path, data, content_hash(data), time_of(signature or NO_SIGNATURE))


def weigh_pages(folder: Folder, files: FileSystem, paths: Iterable[str]) -> dict[str, Mark]:
    """The marks of pages, by path; those that are not there are left out."""
    found = ((path, _weigh(files, at, linked=_is_linked(folder, at))) for path in paths for at in [folder.inside(path)])
    return {path: mark for path, mark in found if mark is not None}


def weigh_notes(folder: Folder, files: FileSystem, paths: Iterable[str]) -> dict[str, str]:
    """The content hashes of note files, by path; those that are not there are left out."""
    found = ((path, _weigh(files, folder.absolute(path), linked=False)) for path in paths)
    return {path: mark[0] for path, mark in found if mark is not None}


def _weigh(files: FileSystem, path: Path, *, linked: bool) -> Mark | None:
    if linked:
        return "", 0
    try:
        data = files.read(path, LARGEST_PAGE + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return "", 0
    return (content_hash(data), len(data)) if len(data) <= LARGEST_PAGE else ("", 0)


def _is_linked(folder: Folder, path: Path) -> bool:
    return path.parent != folder.home and path.parent.is_symlink()
