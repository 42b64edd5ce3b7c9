"""Where things lie in the memory folder: the only place where a path is put together. Whether it can be written to."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TypeVar

import anyio.to_thread

from holdfast.errors import StorageError
from holdfast.model.note import GLOBAL_SPACE, PREFIX, is_note_id, slug, space_name
from holdfast.model.pages import CAPSULES, DAILY, NOW_FOLDER, PROPOSALS, is_page_key
from holdfast.store.filesystem import FileSystem

Answer = TypeVar("Answer")

SUFFIX = ".md"
LONGEST_NAME = 255  # bytes, on most file systems
_LAID_ASIDE = re.compile(r"\.chg_.*\.tmp(\.old)?", re.DOTALL)


class Folder:
    """The layout below `home`. Note paths are told to others relative to `memories/`, with forward slashes."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._home = str(home)
        self.memories = home / "memories"
        self._cut = len(str(self.memories)) + 1
        self.journal = home / "journal"
        self.history = home / "history"
        self.trash = home / "trash"
        self.conflicts = home / "trash" / "conflicts"
        self.purge_plan = home / "trash" / "purge.json"
        self.vault = home / "vault"
        self.restore_plan = home / "vault" / "restore.json"
        self.exports = home / "exports"
        self.imports = home / "imports"  # what an admin who is elsewhere may import from
        self.locks = home / "locks"
        self.derived = home / ".holdfast"
        self.pages = tuple(home / name for name in (NOW_FOLDER, DAILY, CAPSULES, PROPOSALS))

    @property
    def all(self) -> tuple[Path, ...]:
        return (self.memories, self.journal, self.history, self.conflicts, self.locks, self.derived)

    def note_path(self, space: str, title: str, note_id: str) -> str:
        """The canonical name of a new note's file."""
        return f"{space}/{slug(title)}.{note_id}{SUFFIX}"

    def absolute(self, path: str) -> Path:
        """The file of a path that a scan or `note_path` gave.

        Raises:
            ValueError: the path would leave `memories/`.
        """
        return self.inside(f"{self.memories.name}/{path}")

    def inside(self, path: str) -> Path:
        """The file of a path that is told relative to `home`.

        Raises:
            ValueError: the path would leave `home`.
        """
        return Path(self._checked(path))

    def place(self, name: str, path: str) -> Path:
        """The file that the journal speaks of: a page's path is relative to `home`, a note's to `memories/`."""
        return self.inside(path) if is_page_key(name) else self.absolute(path)

    def file(self, path: str) -> str:
        """As `absolute`, without the weight of a `Path`.

        Raises:
            ValueError: the path would leave `memories/`.
        """
        return self._checked(f"{self.memories.name}/{path}")

    def _checked(self, path: str) -> str:
        if path.startswith("/") or ".." in path.split("/"):
            raise ValueError("the path leaves the folder")
        return f"{self._home}/{path}"

    def relative(self, path: str) -> str:
        """A scanned file, relative to `memories/`."""
        return path[self._cut :].replace(os.sep, "/")

    def below_home(self, path: Path) -> str:
        """A path below `home`, relative to it, as the journal names it."""
        return path.relative_to(self.home).as_posix()

    def trash_path(self, path: str, change: str) -> Path:
        """Where a deleted note's file goes."""
        return self.trash / _named_after(path, change)

    def conflict_path(self, path: str, change: str) -> Path:
        """Where a text goes that lost a race."""
        return self.conflicts / _named_after(path, change)

    def space_of(self, path: str) -> str:
        """The space that a file's folder stands for; global at the top or below a folder with an unusable name."""
        first, deeper, _ = path.partition("/")
        if not deeper:
            return GLOBAL_SPACE
        try:
            return space_name(first)
        except ValueError:
            return GLOBAL_SPACE


def _named_after(path: str, change: str) -> str:
    """A name that no other change gives; the end of the file's own is kept, as much as a name may hold."""
    room = LONGEST_NAME - len(f"{change}.".encode())
    return f"{change}.{PurePosixPath(path).name.encode()[-room:].decode(errors='ignore')}"


def is_laid_aside(name: str) -> bool:
    """Whether a file has a name that only a change under way gives."""
    return _LAID_ASIDE.fullmatch(name) is not None


def is_canonical(path: str, note_id: str) -> bool:
    """Whether the file still has the name that Holdfast gives: `<slug>.<id>.md`."""
    return path.endswith(f".{note_id}{SUFFIX}")


def id_in_name(path: str) -> str | None:
    """The id that a file's name ends with, as canonical ones do."""
    stem = path.rpartition("/")[2].removesuffix(SUFFIX).rpartition(".")[2]
    return stem if stem.startswith(PREFIX) and is_note_id(stem) else None


PROBE_BYTES = 1 << 16  # a disk that has no room for these is full


class Writable:
    """Whether changes may be written.

    Args:
        folder: the layout.
        files: the file system.

    Attributes:
        obstacle: why nothing can be written, in a few words; empty where it can.
    """

    def __init__(self, folder: Folder, files: FileSystem) -> None:
        self._folder = folder
        self._files = files
        self._tried_last = folder.derived
        self.obstacle = ""

    def check(self) -> None:
        """Make sure that changes can be written at all.

        Raises:
            StorageError: nothing can be written now.
        """
        if self.obstacle:
            raise StorageError(
                f"Nothing can be stored now: {self.obstacle}.",
                "Nothing was changed; what is stored can be read. Check free space and permissions, then call again.",
            )

    async def find_obstacle(self) -> str:
        """Try whether every part of the folder can be written to; why not, empty where it can."""
        return await anyio.to_thread.run_sync(self._find_obstacle)

    def _find_obstacle(self) -> str:
        folder = self._folder
        parts = (folder.derived, folder.home, folder.memories, folder.journal, folder.locks)
        for part in sorted(parts, key=lambda each: each != self._tried_last):  # where the last try ended first
            self._tried_last = part
            probe = part / f".chg_probe.{os.getpid()}.tmp"  # what is left of it goes with the next start
            try:
                if self._files.exists(part):
                    self._files.create(probe, bytes(PROBE_BYTES))
                    self._files.remove(probe)
            except FileExistsError:
                continue
            except OSError as error:
                with suppress(OSError):
                    self._files.remove(probe)
                where = "the memory folder" if part != folder.derived else f"{part.name}/ in the memory folder"
                return f"{where} cannot be written: {error.strerror or type(error).__name__}"
        return ""


async def on_disk(call: Callable[..., Answer], *arguments: object) -> Answer:
    """What blocks, in a thread.

    Raises:
        StorageError: the system refused it.
    """
    try:
        return await anyio.to_thread.run_sync(call, *arguments)
    except OSError as error:
        raise unreadable(error) from error


def unreadable(error: OSError) -> StorageError:
    return StorageError(
        f"The memory folder cannot be used: {error.strerror or type(error).__name__}.",
        "Nothing was changed. Check that it is there, its permissions and the free space.",
    )
