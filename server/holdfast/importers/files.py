"""What all sources share: files below a folder in a fixed order, symbolic links never followed, a mark of the whole."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
from collections.abc import Callable, Collection, Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anyio.to_thread import run_sync

from holdfast.errors import StorageError
from holdfast.model.moving import Item, LeftOut, SourceKind
from holdfast.model.note import FIELDS, read_instant
from holdfast.store.codec import Document, MalformedError, parse
from holdfast.store.filesystem import FileSystem
from holdfast.store.stored import LARGEST_FILE

CHUNK = 32  # things
_SUCCESSOR = ("superseded_by", "merged_into", "replaced_by")
_RETIRED = ("superseded", "deprecated", "obsolete", "outdated", "retired")
_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)
NO_FILE = "it is a pipe, a socket or a device, not a file"
NOT_FOLLOWED = "it is a symbolic link, and those are not followed"


class UnreadableSourceError(Exception):
    """The source as a whole cannot be read; the words say why, without its texts."""


class BrokenError(Exception):
    """One thing of a source cannot be taken over; the words say why, without its text."""


class Source:
    """Another memory that is open for reading.

    Args:
        kind: what it is.
        mark: changes when any of its files does.
        total: how many things there are to be read, about.
        items: gives them, in an order that is always the same; what is broken is one of them.
        close: lets go of it.
        own: ids that its notes have there and keep here.
    """

    def __init__(
        self,
        kind: SourceKind,
        mark: str,
        total: int,
        items: Callable[[], Generator[Item, None, None]],
        close: Callable[[], None] = lambda: None,
        own: Collection[str] = (),
    ) -> None:
        self.kind = kind
        self.own = frozenset(own)
        self.mark = mark
        self.total = total
        self._items = items()
        self._close = close

    async def read(self) -> list[Item]:
        """The next few things; none at the end.

        Raises:
            StorageError: the source cannot be read any more.
        """
        try:
            return await run_sync(self._next)
        except OSError as error:
            raise StorageError(
                f"The source cannot be read: {error.strerror or type(error).__name__}.",
                "What was imported stays; call again to go on.",
            ) from error

    async def aclose(self) -> None:
        """Let go of it."""
        await run_sync(self._end)

    def _end(self) -> None:
        self._items.close()
        self._close()

    def _next(self) -> list[Item]:
        return list(itertools.islice(self._items, CHUNK))


@dataclass(slots=True)
class Files:
    """The files below a folder, by path relative to it with forward slashes."""

    root: Path
    paths: list[str] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    mark: str = ""

    def absolute(self, path: str) -> Path:
        return self.root / path


def list_files(root: Path) -> Files:
    """Every regular file below a folder, or the one file that is named.

    What begins with a dot is passed over, links are told.

    Raises:
        OSError: the folder cannot be listed.
    """
    if root.is_file():
        mark = hashlib.sha256(f"{_shown_path(root.name)}\0{stamp(root)}\n".encode()).hexdigest()
        return Files(root.parent, [root.name], mark=mark)
    found = Files(root)
    total = hashlib.sha256()
    stack = [""]
    while stack:
        folder = stack.pop()
        try:
            with os.scandir(root / folder) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError as error:
            if not folder:
                raise
            found.left_out.append(LeftOut(folder, f"it cannot be listed: {error.strerror}"))
            continue
        for entry in entries:
            path = f"{folder}{entry.name}"
            if entry.name.startswith("."):
                continue
            if entry.is_symlink():
                found.left_out.append(LeftOut(_shown_path(path), NOT_FOLLOWED, broken=False))
            elif entry.is_dir(follow_symlinks=False):
                stack.append(f"{path}/")
            elif entry.is_file(follow_symlinks=False):
                found.paths.append(path)
                total.update(f"{_shown_path(path)}\0{stamp(root / path)}\n".encode())
            else:
                found.left_out.append(LeftOut(_shown_path(path), NO_FILE, broken=False))
    found.paths.sort()
    found.mark = total.hexdigest()
    return found


def stamp(path: Path) -> str:
    """Size, time of change and inode of a file."""
    status = path.lstat()
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ino}"


def _shown_path(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def read_document(disk: FileSystem, path: Path) -> Document:
    """A markdown file with its frontmatter.

    Raises:
        BrokenError: it cannot be read as one.
    """
    return parsed(read_bytes(disk, path, LARGEST_FILE))


def parsed(data: bytes) -> Document:
    """The document in these bytes.

    Raises:
        BrokenError: there is none.
    """
    try:
        return parse(data)
    except MalformedError as error:
        raise BrokenError(str(error)) from error


def read_bytes(disk: FileSystem, path: Path, most: int) -> bytes:
    """All of a file.

    Raises:
        BrokenError: it cannot be read, or is longer than `most` bytes.
    """
    try:
        data = disk.read(path, most + 1)
    except OSError as error:
        raise BrokenError(f"it cannot be read: {error.strerror}") from error
    if len(data) > most:
        raise BrokenError(f"it is longer than {most // 1024:,} kB")
    return data


def text_in(values: Mapping[str, Any], key: str) -> str:
    """A value as one text; empty where it is none."""
    found = values.get(key)
    return "" if found is None or isinstance(found, dict | list | bytes) else str(found).strip().replace("\0", " ")


def time_in(values: Mapping[str, Any], *keys: str) -> str:
    """The first of these values that is a time, as an instant; empty where none is."""
    for key in keys:
        try:
            return read_instant(values.get(key))
        except (ValueError, OverflowError):
            continue
    return ""


def addresses_in(values: Mapping[str, Any]) -> dict[str, str]:
    """The web addresses that belong to a note, by the names of its fields; see `holdfast.model.note.NoteField`."""
    found = {
        name: next((text for key in keys if _ADDRESS.fullmatch(text := text_in(values, key))), "")
        for name, keys in ((field.name, field.addresses) for field in FIELDS)
    }
    return {name: address for name, address in found.items() if address}


def number_in(values: Mapping[str, Any], key: str) -> float | None:
    """A number from 0 to 1; None where there is none."""
    found = values.get(key)
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found <= 1:
        return None
    return float(found)


@dataclass(frozen=True, slots=True)
class Validity:
    """Whether a thing still holds, as its source says it.

    `successor` is how the source names what replaced it, `reason` why it holds no more: None where it does.
    """

    deleted: bool
    archived: bool
    since: str
    until: str
    successor: str
    reason: str | None


def standing_in(values: Mapping[str, Any]) -> Validity:
    """What the keys that memories and decision records use for it say."""
    status = text_in(values, "status").lower()
    is_past = status.partition(" ")[0] in _RETIRED  # "superseded by ADR 7" is one, too
    successor = next((found for key in _SUCCESSOR if (found := _first_text(values.get(key)))), "")
    retired = flag_in(values, "outdated") or is_past or bool(successor)
    reason = text_in(values, "outdated_reason") or (text_in(values, "status") if is_past else "")
    return Validity(
        deleted=bool(text_in(values, "deleted_at")) or flag_in(values, "deleted"),
        archived=flag_in(values, "archived") or bool(text_in(values, "archived_at")) or status == "archived",
        since=time_in(values, "valid_from"),
        until=time_in(values, "valid_until"),
        successor=successor,
        reason=reason if retired else None,
    )


def flag_in(values: Mapping[str, Any], key: str) -> bool:
    """Whether a value says yes."""
    return text_in(values, key).lower() in ("true", "yes", "1")


def _first_text(value: object) -> str:
    items = value if isinstance(value, list) else [value]
    return next((text for item in items if (text := text_in({"": item}, ""))), "")


def tags_in(values: Mapping[str, Any]) -> tuple[str, ...]:
    """The tags of a frontmatter, as a list or as words with commas or spaces between."""
    found = values.get("tags", values.get("tag"))
    items = found.replace(",", " ").split() if isinstance(found, str) else found if isinstance(found, list) else []
    plain = (str(item).strip().removeprefix("#") for item in items if not isinstance(item, dict | list | bytes))
    return tuple(dict.fromkeys(tag for tag in plain if tag))
