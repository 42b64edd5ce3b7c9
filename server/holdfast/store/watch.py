"""What the kernel tells of changes below the note folder, so that a request need not look at every file.

An event lies ready before the call that caused it has returned: whoever asks afterwards hears of it. That holds on
Linux, on disks whose every change passes through this kernel; elsewhere `Watch.news` is None and folders are scanned.
"""

from __future__ import annotations

import errno
import functools
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog

if TYPE_CHECKING:
    from holdfast.store.filesystem import Signature

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
