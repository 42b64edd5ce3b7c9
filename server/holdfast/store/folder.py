"""The memory folder: where things lie, whether it can be written to, and what the kernel tells of changes below it.

The kernel tells of changes so that a request need not look at every file. An event lies ready before the call that
caused it has returned: whoever asks afterwards hears of it. That holds on Linux, on disks whose every change passes
through this kernel; elsewhere `Watch.news` is None and folders are scanned.
"""

from __future__ import annotations

import errno
import functools
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeVar

import anyio.to_thread
import structlog

from holdfast.errors import StorageError
from holdfast.model.note import GLOBAL_SPACE, PREFIX, is_note_id, slug, space_name
from holdfast.model.records import CAPSULES, DAILY, NOW_FOLDER, PROPOSALS, is_page_key
from holdfast.store.filesystem import FileSystem

if TYPE_CHECKING:
    from holdfast.store.filesystem import Signature

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


LOCAL_DISKS = frozenset(
    {"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "ramfs", "tmpfs", "xfs", "zfs"}
)
_MOUNTS = Path("/proc/self/mountinfo")
_PASSED_OVER = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ENAMETOOLONG})
_OCTAL = re.compile(r"\\([0-7]{3})")

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class News:
    """Absolute paths where something happened, with whether the file there was written in place; and new folders."""

    paths: dict[str, bool] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)


class Watch:
    """Events below one folder since they were last asked for. Used from one thread at a time.

    Changes of our own are told to it as well: a path that only we have touched is no news.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._inotify: Any = None
        self._folders: dict[int, str] = {}
        self._identity: tuple[int, int] | None = None
        self._expected: dict[str, int] = {}  # the inode that a change of ours is about to put at a path
        self._ours: dict[str, Signature] = {}
        self._later: set[str] = set()

    @property
    def on(self) -> bool:
        return self._inotify is not None

    def begin(self) -> None:
        """Start anew, before a scan that tells `add` of every folder before it lists it."""
        self.close()
        if not is_local(self._root):
            return
        import inotify_simple  # noqa: PLC0415 - there is one on Linux only

        try:
            self._inotify = inotify_simple.INotify(nonblocking=True)
            status = self._root.stat()
        except OSError as error:
            self._give_up(error)
            return
        self._identity = status.st_dev, status.st_ino

    def add(self, folder: str) -> None:
        """Hear of what happens in one folder from now on."""
        inotify = self._inotify
        if inotify is None:
            return
        try:
            mask = _asked() if folder == str(self._root) else _asked() | _not_through_links()
            self._folders[inotify.add_watch(folder, mask)] = folder
        except ValueError:
            return  # closed while this thread scans: nobody wants to hear of the folder any more
        except OSError as error:
            if error.errno in _PASSED_OVER and folder != str(self._root):
                return  # the scan tells of it; the folder above tells when its permissions change
            # the user's share of watches is used up, most likely
            self._give_up(error)

    def close(self) -> None:
        if self._inotify is not None:
            self._inotify.close()
        self._inotify, self._identity = None, None
        self._folders.clear()
        self._ours.clear()
        self._later.clear()

    def expect(self, path: Path, inode: int) -> None:
        """A change of ours is about to put this file there (0: to take the file away)."""
        self._expected[str(path)] = inode

    def changed_by_us(self, paths: Iterable[Path], known: Mapping[Path, Signature]) -> None:
        """It has ended; `known` are the files that the index has been told of."""
        for path in paths:
            self._expected.pop(str(path), None)
            if self.on and path in known:
                self._ours[str(path)] = known[path]

    def news(self) -> News | None:
        """What happened since this was last asked; None where only a scan can tell, which must begin anew."""
        if self._inotify is None or not self._is_root_there():
            self.close()
            return None
        news = News(dict.fromkeys(self._later, False))
        self._later.clear()
        for event in self._inotify.read(timeout=0):
            if not self._take(event, news):
                self.close()
                return None
        return news

    def is_ours(self, path: str, found: Signature | None) -> bool:
        """Whether what stands at a path is our own change; one that is still under way is asked about again later."""
        if path in self._expected:
            if self._expected[path] == (found.inode if found else 0):
                self._later.add(path)
                return True
            return False
        landed = self._ours.pop(path, None)
        return landed is not None and landed == found

    def _take(self, event: Any, news: News) -> bool:
        """Note down one event; False where it says that events are missing."""
        from inotify_simple import flags  # noqa: PLC0415 - there is one on Linux only

        if event.mask & (flags.Q_OVERFLOW | flags.UNMOUNT):
            return False
        if event.mask & flags.IGNORED:
            return self._folders.pop(event.wd, None) != str(self._root)
        if event.wd not in self._folders or event.name.startswith("."):
            return True
        if not event.name:  # a folder itself: the one above tells the same, but for the first
            return self._folders[event.wd] != str(self._root)
        path = f"{self._folders[event.wd]}/{event.name}"
        if not event.mask & flags.ISDIR:
            written = bool(event.mask & (flags.CREATE | flags.MODIFY | flags.CLOSE_WRITE | flags.ATTRIB))
            news.paths[path] = written or news.paths.get(path, False)
        elif event.mask & flags.MOVED_FROM:
            return False  # everything below it has other names now
        elif event.mask & (flags.CREATE | flags.MOVED_TO | flags.ATTRIB):  # or what is in it may be read now, or not
            news.folders.append(path)
        return True

    def _is_root_there(self) -> bool:
        try:
            status = self._root.stat()
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._identity

    def _give_up(self, error: OSError) -> None:
        self.close()
        log.info("folder_not_watched", reason=error.strerror)


@functools.cache
def _asked() -> int:
    from inotify_simple import flags  # noqa: PLC0415 - there is one on Linux only

    files = flags.CREATE | flags.MODIFY | flags.CLOSE_WRITE | flags.ATTRIB | flags.DELETE
    return int(files | flags.MOVED_FROM | flags.MOVED_TO | flags.ONLYDIR | flags.EXCL_UNLINK)


@functools.cache
def _not_through_links() -> int:
    from inotify_simple import flags  # noqa: PLC0415 - there is one on Linux only

    return int(flags.DONT_FOLLOW)


def is_local(path: Path) -> bool:
    """Whether every change below a path passes through this kernel, as far as it tells."""
    if sys.platform != "linux":
        return False
    try:
        real = path.resolve(strict=True)
        mounts = _MOUNTS.read_text("utf-8", "surrogateescape")
    except OSError:
        return False
    kinds: dict[Path, str] = {}
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        place = _OCTAL.sub(lambda found: chr(int(found.group(1), 8)), before.split(" ")[4])
        kinds[Path(place)] = after.split(" ")[0]
    return next((kinds[place] for place in (real, *real.parents) if place in kinds), "") in LOCAL_DISKS
