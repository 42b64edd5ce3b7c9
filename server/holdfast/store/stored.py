"""What a storage hands out and is handed: notes, pages and changes as values; what a backup holds."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import Any

import anyio

from holdfast.errors import IntegrityError, LimitExceededError, StorageError
from holdfast.model.note import Note, instant, slug
from holdfast.model.records import PROPOSALS, FileChange, JournalRecord, page_key
from holdfast.store.codec import (
    Document,
    MalformedError,
    Surroundings,
    changed_document,
    content_hash,
    new_document,
    note_of,
    parse,
)
from holdfast.store.filesystem import NO_SIGNATURE, FileSystem, Signature
from holdfast.store.folder import LONGEST_NAME, Folder

REPLACED_FOLDERS = ("memories", "now", "daily", "capsules", PROPOSALS)
REPLACED_FILES = ("NOW.md", "MEMORY.md")
REPLACED = (*REPLACED_FOLDERS, *REPLACED_FILES)  # a restore puts them back as they were
ADDED_FOLDERS = ("journal", "history", "trash")  # of these it puts back what is missing
CONFIG = "config.yaml"
PAGES = frozenset({"now", "daily", *REPLACED_FILES})  # files that are watched for foreign changes

BACKUP_ID = re.compile(r"omi_backup_full_\d{8}_\d{6}_\d{6}_[0-9a-f]{8}")
_HASH = re.compile(r"[0-9a-f]{64}")
_FILES = b',\n"files": '
HEAD = 64 * 1024  # bytes that hold everything of a manifest but its files


@dataclass(frozen=True, slots=True)
class Packed:
    """One file of a backup; `path` is its key in the manifest, relative to the folder."""

    sha256: str
    size: int
    modified_ns: int


@dataclass(frozen=True, slots=True)
class Backup:
    """One backup. Sizes are bytes: `size` of the files, `file_size` of the archive, whose SHA-256 is `checksum`.

    `left_out` are files that could not be read and are not in it; `masked` says that values in config.yaml that look
    like keys were left out.
    """

    backup_id: str
    backup_type: str
    reason: str
    created_at: str
    file_count: int
    size: int
    file_size: int
    checksum: str
    retention_days: int
    left_out: tuple[str, ...] = ()
    masked: bool = False

    def as_record(self) -> dict[str, Any]:
        return {**asdict(self), "left_out": list(self.left_out)}


@dataclass(frozen=True, slots=True)
class Manifest:
    """A backup and its files by path."""

    backup: Backup
    files: Mapping[str, Packed]

    def render(self) -> bytes:
        """The manifest file: the head, sealed together with the files, then the files."""
        listed = json.dumps({path: [f.sha256, f.size, f.modified_ns] for path, f in sorted(self.files.items())})
        head = self.backup.as_record()
        return _head({**head, "seal": _seal(head, listed)}) + _FILES + listed.encode() + b"}\n"

    @property
    def pages(self) -> dict[str, str]:
        """SHA-256 by path of the files that are watched for foreign changes."""
        return {path: file.sha256 for path, file in self.files.items() if path.partition("/")[0] in PAGES}


def read_manifest(data: bytes) -> Manifest:
    """Read and check a manifest.

    Raises:
        IntegrityError: it is not as it was written, or names what no backup of ours holds.
    """
    head, found, rest = data.partition(_FILES)
    try:
        listed = rest.rstrip(b"\n")[:-1].decode()
        files = {path: Packed(*entry) for path, entry in json.loads(listed).items()}
        said = json.loads(head + b"}")
        sealed = found and said.pop("seal") == _seal(said, listed)
        backup = _backup(said)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _harmed() from error
    if not sealed or len(files) != backup.file_count:
        raise _harmed()
    for path, file in files.items():
        if not is_ours(path) or not _is_sound(file):
            raise IntegrityError("The backup's manifest names a file that no backup holds.", "Nothing was changed.")
    return Manifest(backup, files)


def head_of(manifest: bytes) -> bytes:
    """The beginning of a rendered manifest, which tells of the backup and names no file."""
    head, found, _ = manifest.partition(_FILES)
    return head + found


def read_head(data: bytes) -> Backup | None:
    """The backup that the beginning of a manifest tells of; None where it is none."""
    head, found, _ = data.partition(_FILES)
    try:
        said = json.loads(head + b"}")
        said.pop("seal")
        return _backup(said) if found else None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def is_ours(path: str) -> bool:
    """Whether a backup may hold a file of this name: inside a known folder, or one of the known files."""
    names = path.split("/")
    try:
        longest = max(len(os.fsencode(name)) for name in names)
    except UnicodeEncodeError:
        return False
    if longest > LONGEST_NAME or any(name in {"", ".", ".."} for name in names):
        return False
    if "\0" in path or (os.sep != "/" and (os.sep in path or PurePath(path).drive)):
        return False
    if len(names) == 1:
        return path in (*REPLACED_FILES, CONFIG)
    return names[0] in (*REPLACED_FOLDERS, *ADDED_FOLDERS)


def _backup(said: dict[str, Any]) -> Backup:
    backup = Backup(**{**said, "left_out": tuple(said["left_out"])})
    kinds = {field.name: field.type for field in fields(Backup)}
    if not all(_fits(getattr(backup, name), str(kind)) for name, kind in kinds.items()):
        raise ValueError("a value is of another kind")
    return backup


def _fits(value: object, kind: str) -> bool:
    wanted = {"str": str, "int": int, "bool": bool}.get(kind, tuple)
    return type(value) is wanted


def _is_sound(file: Packed) -> bool:
    if not (_fits(file.sha256, "str") and _fits(file.size, "int") and _fits(file.modified_ns, "int")):
        return False
    return _HASH.fullmatch(file.sha256) is not None and file.size >= 0


def _head(said: Mapping[str, Any]) -> bytes:
    return json.dumps(said).encode()[:-1]


def _seal(head: Mapping[str, Any], listed: str) -> str:
    return hashlib.sha256(json.dumps(head, sort_keys=True).encode() + listed.encode()).hexdigest()


def _harmed() -> IntegrityError:
    return IntegrityError("The backup's manifest is not as it was written.", "Nothing was changed. Take another one.")


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
    """When the file was last changed."""
    return time_at(signature.modified_ns)


def time_at(modified_ns: int) -> str:
    """An instant of a file, as far as a calendar goes."""
    try:
        return instant(datetime.fromtimestamp(modified_ns / 1e9, UTC))
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


NO_PLACE = "-"  # where nothing is put aside


@dataclass(frozen=True, slots=True)
class Planned:
    """What becomes of one text: `data` are its new bytes, None where it goes."""

    file: FileChange
    data: bytes | None


def with_a_free_name(item: Change | PageChange, change_id: str, taken: Collection[str]) -> Change | PageChange:
    """The item; a note that is to lie where another one does gets a name of its own, as it would in a folder."""
    if isinstance(item, PageChange) or item.before is not None or item.after is None or item.path not in taken:
        return item
    return replace(item, path=f"{item.after.space}/{slug(f'{change_id[-4:]} {item.after.title}')}.{item.after.id}.md")


def wanted_names(items: Iterable[Change | PageChange]) -> list[str]:
    """The paths that notes which are made have to have if they are free."""
    return [each.path for each in items if isinstance(each, Change) and each.before is None and each.path is not None]


def planned(item: Change | PageChange, aside: Callable[[str, str], str]) -> Planned:
    """The plan for one item of a change.

    Args:
        item: a note or a page that is made, rewritten or deleted.
        aside: where a deleted note goes, by its id and its path.

    Raises:
        LimitExceededError: the note would be too long.
        ValueError: it is none of these.
    """
    if isinstance(item, PageChange):
        before = item.before.hash if item.before else None
        key, after = page_key(item.path), content_hash(item.after)
        return Planned(FileChange(key, item.path, before, after, NO_PLACE, len(item.after)), item.after)
    note, path = _named(item)
    old = item.before.hash if item.before else None
    if item.after is None:
        return Planned(FileChange(note, path, old, None, aside(note, path)), None)
    data = item.raw if item.raw is not None else rendered(document_of(item, item.after))
    return Planned(FileChange(note, path, old, content_hash(data), NO_PLACE), data)


def touched_ns(item: Change | PageChange, before_ns: int | None, now_ns: int) -> int:
    """The time that a text then has, in nanoseconds: given bytes without a date of their own are dated by it.

    Args:
        item: of a change.
        before_ns: the time of the text that it takes the place of.
        now_ns: when the change is made.
    """
    if isinstance(item, PageChange) or item.raw is None:
        return now_ns
    given = before_ns if item.modified_ns is None and before_ns is not None else item.modified_ns
    return given or now_ns


def _named(item: Change) -> tuple[str, str]:
    if item.before is not None:
        return item.before.note.id, item.before.path
    if item.after is None:
        raise ValueError("a change makes, rewrites or deletes a note")
    return item.after.id, item.path or f"{item.after.space}/{slug(item.after.title)}.{item.after.id}.md"


def document_of(item: Change, after: Note) -> Document:
    """The note's file as it is to be: the given bytes, or the old one with what changed."""
    if item.raw is not None:
        return parse(item.raw)
    return changed_document(item.before.document, item.before.note, after) if item.before else new_document(after)


def rendered(document: Document) -> bytes:
    """The bytes of a note's file. One that is too long would be quarantined, and its note lost from sight.

    Raises:
        LimitExceededError: it is.
    """
    data = document.render()
    if len(data) > LARGEST_FILE:
        raise LimitExceededError(
            f"The note's file would be longer than {LARGEST_FILE // 1024} kB.",
            "Nothing was written; shorten its text, or give it fewer tags, links or evidence.",
        )
    return data
