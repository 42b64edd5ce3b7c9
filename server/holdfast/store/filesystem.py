"""The blocking file operations of the write path, each of them a place where a disk can fail.

Everything that touches the folder goes through one `FileSystem`, so that a test can hand in one that fails,
tears a write or forgets what was not flushed.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import io
import os
import re
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from holdfast.store.locks import lone_reader

FOLDER_MODE = 0o700
FILE_MODE = 0o600
KEPT = ".old"  # ends the second name of a file that is being replaced
_LATEST_NS = (1 << 63) - 1  # the year 2262; the index's whole numbers end there
_RENAME_NOREPLACE, _RENAME_EXCHANGE = 1, 2
_NO_LINKS = frozenset({errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.EMLINK, errno.EISDIR})
_AT_FDCWD = -100
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR})
_CLOSED = frozenset({errno.EACCES, errno.EPERM, errno.ENAMETOOLONG})  # one place cannot be looked at; others can
NO_TEXT = re.compile("[\ud800-\udfff]")  # how Python spells bytes in a name that are not UTF-8


class Signature(NamedTuple):
    """What `stat` says of a file; equal signatures mean untouched, unless the file is younger than a tick."""

    modified_ns: int
    changed_ns: int
    size: int
    inode: int

    @property
    def mark(self) -> str:
        """The same as one text, for whoever only has to know whether it is still the same."""
        return f"{self.modified_ns}.{self.changed_ns}.{self.size}.{self.inode}"


NO_SIGNATURE = Signature(0, 0, -1, 0)  # equals that of no file


class Entry(NamedTuple):
    """One thing found by a scan: `kind` is file, link, other (device, socket, fifo), name (not valid UTF-8) or closed.

    Closed is a file or folder that cannot be looked at, for the `reason` that the system gives.
    """

    path: str
    kind: str
    signature: Signature
    reason: str = ""

    @property
    def mark(self) -> str:
        """See `Signature.mark`."""
        return self.signature.mark


class FileSystem:
    """The real disk. Paths are absolute; errors are the operating system's own `OSError`."""

    def __init__(self) -> None:
        self._durable: set[Path] = set()  # folders whose names are known to be flushed

    def read(self, path: Path | str, most: int = -1, start: int = 0) -> bytes:
        """The file's bytes from `start`, at most `most` of them; never through a symbolic link, never from a device."""
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(handle, "rb", buffering=0) as file:
            _check_regular(handle, path)
            if start:
                file.seek(start)
            return _whole(file, most)

    def create(self, path: Path, data: bytes) -> None:
        """A new file, flushed to the disk; fails where the name is taken, and then leaves nothing behind."""
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(handle)
        except OSError:
            with suppress(OSError):
                path.unlink()
            raise

    def begin(self, path: Path) -> BinaryIO:
        """A new file to be written bit by bit; fails where the name is taken. `flush_file` ends it."""
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE), "wb")

    def flush_file(self, file: BinaryIO) -> None:
        """Bring what was written to the disk."""
        file.flush()
        os.fsync(file.fileno())

    def open(self, path: Path) -> BinaryIO:
        """A file to be read bit by bit; never through a symbolic link, never from a device."""
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        file = os.fdopen(handle, "rb")
        try:
            _check_regular(handle, path)
        except OSError:
            file.close()
            raise
        return file

    def link(self, path: Path, name: Path) -> None:
        """A second name for a file: what replaces the first by a rename leaves the second as it was."""
        os.link(path, name, follow_symlinks=False)

    def append(self, path: Path, data: bytes, *, flush: bool) -> None:
        """Add to the end of a file, flushed to the disk if asked; never to a device or a fifo, nor waiting for one."""
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NONBLOCK", 0), FILE_MODE)
        with os.fdopen(handle, "ab") as file:
            _check_regular(handle, path)
            file.write(data)
            file.flush()
            if flush:
                os.fsync(handle)

    def truncate(self, path: Path, size: int) -> None:
        with path.open("r+b") as file:
            file.truncate(size)
            os.fsync(file.fileno())

    def move(self, source: Path, target: Path) -> None:
        """Give `source` a name that nobody holds; what somebody else puts there in that moment is never replaced."""
        rename = _renameat2()
        if rename is not None and rename(os.fsencode(source), os.fsencode(target), _RENAME_NOREPLACE):
            return
        if _linked(source, target):
            self.flush_folder(target.parent)  # or a power cut could keep the next step alone
            source.unlink()
        else:
            _move_after_look(source, target)

    def swap(self, new: Path, current: Path) -> None:
        """Put `new` in the place of `current`; what stood there is then found under `new`'s name.

        Atomic where the kernel can exchange two names. Elsewhere the old file is kept by a second name first,
        which leaves an editor a few microseconds in which its save is not kept.
        """
        rename = _renameat2()
        if rename is not None and rename(os.fsencode(new), os.fsencode(current), _RENAME_EXCHANGE):
            return
        kept = new.with_name(new.name + KEPT)
        os.link(current, kept)
        try:
            new.replace(current)
        except OSError:
            kept.unlink()
            raise
        self.flush_folder(current.parent)  # or a power cut could keep the next step alone: the new text would be gone
        try:
            kept.rename(new)
        except OSError:
            kept.replace(current)
            raise

    def lone_reader(self, path: Path) -> AbstractContextManager[bool | None]:
        """See `holdfast.store.locks.lone_reader`."""
        return lone_reader(path)

    def now_ns(self) -> int:
        """The time now by the clock that files are dated by."""
        return time.time_ns()

    def set_time(self, path: Path, modified_ns: int) -> None:
        """Give a file another one's time of change."""
        os.utime(path, ns=(modified_ns, modified_ns))

    def remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def remove_tree(self, path: Path) -> None:
        """Take away a folder with all that is in it, if it is there."""
        if os.path.lexists(path):
            shutil.rmtree(path)

    def flush_tree(self, root: Path) -> None:
        """Bring all files and names below a folder to the disk."""
        if _flush_disk(root):
            return
        for folder, _, names in os.walk(root, onerror=_raised):
            for name in names:
                with (Path(folder) / name).open("r+b") as file:
                    os.fsync(file.fileno())
            self.flush_folder(Path(folder))

    def flush_folder(self, path: Path) -> None:
        """Make every rename in this folder survive a power cut."""
        if sys.platform == "win32":
            return  # NTFS journals names by itself; a folder cannot be opened for flushing
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def make_folder(self, path: Path) -> None:
        """The folder and its missing parents, private to the user, and durable."""
        there = path.is_dir()
        if there and path in self._durable:
            return
        if not there:
            self.make_folder(path.parent)
            path.mkdir(mode=FOLDER_MODE, exist_ok=True)
        with suppress(PermissionError) if there else nullcontext():
            self.flush_folder(path.parent)  # whoever made it may have died before its name was flushed
        self._durable.add(path)

    def exists(self, path: Path) -> bool:
        return os.path.lexists(path)

    def signature(self, path: Path | str) -> Signature | None:
        """The file's own signature (never a link target's), or None where there is no file."""
        try:
            return _signature(os.lstat(path))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def size(self, path: Path) -> int:
        """Bytes in the file; 0 where there is none."""
        found = self.signature(path)
        return found.size if found else 0

    def scan(
        self, root: Path, suffix: str, *, below: str = "", entered: Callable[[str], object] = lambda _: None
    ) -> Iterator[Entry]:
        """Everything in a folder whose name ends in `suffix` and begins with no dot; links are not followed.

        Args:
            root: where notes lie; what its own path is made of is not judged.
            suffix: how a note's name ends.
            below: the folder to look through, if it is not all of `root`.
            entered: told of each folder before it is listed.

        Raises:
            OSError: `root` itself is gone or cannot be listed; a folder below it is found as closed then.
        """
        top = str(root)
        stack = [below or top]
        given = len(top)
        while stack:
            folder = stack.pop()
            entered(folder)
            try:
                with os.scandir(folder) as found:
                    entries = list(found)
            except OSError as error:
                if folder == top:
                    raise
                if error.errno not in _GONE:
                    yield _closed(folder, error, given)
                continue
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    stack.append(entry.path)
                elif entry.name.endswith(suffix) or (entry.is_symlink() and _leads_to_folder(entry.path)):
                    seen = _seen(entry, given)
                    if seen is not None:
                        yield seen

    def look(self, path: str, root: Path, suffix: str) -> Entry | None:
        """What a scan of `root` would find at one path."""
        try:
            status = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            return _closed(path, error, len(str(root))) if path.endswith(suffix) else None
        noted = path.endswith(suffix) or (stat.S_ISLNK(status.st_mode) and _leads_to_folder(path))
        return None if stat.S_ISDIR(status.st_mode) or not noted else _entry(path, status, len(str(root)))

    def list_hidden(self, root: Path) -> list[Path]:
        """Files below `root` whose names begin with a dot; links are not followed, nor what is closed looked into."""
        found: list[Path] = []
        stack = [str(root)]
        while stack:  # not os.walk: it calls itself for every folder in a folder
            try:
                with os.scandir(stack.pop()) as listed:
                    entries = list(listed)
            except OSError as error:
                if error.errno not in _CLOSED | _GONE:
                    raise
                continue
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    stack.append(entry.path)
                elif entry.name.startswith("."):
                    found.append(Path(entry.path))
        return found

    def list_folder(self, path: Path) -> list[str]:
        """Names in a folder in order; empty where there is none."""
        try:
            return sorted(entry.name for entry in path.iterdir())
        except FileNotFoundError:
            return []


def _raised(error: OSError) -> None:
    raise error


def _flush_disk(path: Path) -> bool:
    """Linux's syncfs: everything on the disk of a path at once. False where there is none."""
    if sys.platform != "linux":
        return False
    flush = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if flush is None:
        return False
    handle = os.open(path, os.O_RDONLY)
    try:
        return bool(flush(handle) == 0)
    finally:
        os.close(handle)


def _check_regular(handle: int, path: Path | str) -> None:
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))


def _leads_to_folder(link: str) -> bool:
    return os.path.isdir(link)  # noqa: PTH112 - False for a link in a circle, where the others raise


def _whole(file: io.FileIO, most: int) -> bytes:
    """All of an open file, or as much as is asked for; one read may give less."""
    if most < 0:
        return file.readall()
    data = file.read(most)
    while len(data) < most and (more := file.read(most - len(data))):
        data += more
    return data


def _seen(entry: os.DirEntry[str], given: int) -> Entry | None:
    """What stands at an entry; the first `given` characters of its path are not judged. None where it is gone."""
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None  # gone between listing and looking
    except OSError as error:
        return _closed(entry.path, error, given)
    return _entry(entry.path, status, given)


def _closed(path: str, error: OSError, given: int) -> Entry:
    """A place that cannot be looked at. Raises the error again where it may be about the whole disk."""
    if error.errno not in _CLOSED:
        raise error
    return Entry(spelled(path, given), "closed", NO_SIGNATURE, os.strerror(error.errno))


def _entry(path: str, status: os.stat_result, given: int) -> Entry:
    name = spelled(path, given)
    if name != path:
        return Entry(name, "name", _signature(status))
    kind = "file" if stat.S_ISREG(status.st_mode) else "link" if stat.S_ISLNK(status.st_mode) else "other"
    return Entry(path, kind, _signature(status))


def spelled(path: str, given: int = 0) -> str:
    """A path as text, bytes that are none as `%ff`; the first `given` characters are not judged."""
    name = path[given:]
    return path if name.isascii() else path[:given] + NO_TEXT.sub(_escaped, name)


def _escaped(found: re.Match[str]) -> str:
    return f"%{ord(found.group()) & 0xFF:02x}"


def _signature(status: os.stat_result) -> Signature:
    modified = max(-_LATEST_NS, min(status.st_mtime_ns, _LATEST_NS))  # a person may have set any time
    return Signature(modified, status.st_ctime_ns, status.st_size, status.st_ino)


def _linked(source: Path, target: Path) -> bool:
    """Give a file a second name, which fails where that is taken. False for what is no file, or cannot have one."""
    if source.is_symlink() or source.is_dir():
        return False
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return False
    return True


def _move_after_look(source: Path, target: Path) -> None:
    """For folders, and where a file can have one name only: a rename replaces no folder that holds something."""
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, "name is taken", str(target))
    source.rename(target)


@functools.cache
def _renameat2() -> Callable[[bytes, bytes, int], bool] | None:
    """Linux's call of that name through libc, with its flags, or None where there is none.

    It says False where this file system cannot do what the flag asks for.
    """
    if sys.platform != "linux":
        return None
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return None
    call.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]

    def rename(first: bytes, second: bytes, flag: int) -> bool:
        if call(_AT_FDCWD, first, _AT_FDCWD, second, flag) == 0:
            return True
        code = ctypes.get_errno()
        if code in (errno.EINVAL, errno.ENOSYS):
            return False
        raise OSError(code, os.strerror(code), os.fsdecode(second))

    return rename
