"""A picture of the folder at one moment: second names for its files, taken while nobody changes any.

What we write replaces a file by a rename, so a second name goes on to lead to the text of that moment; the compression
needs no lock then. Where a disk has no second names the files are copied.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.store.filesystem import FileSystem
from holdfast.store.folder import Folder, is_laid_aside
from holdfast.store.manifest import CONFIG, REPLACED, REPLACED_FILES, REPLACED_FOLDERS, is_ours

COPY_CHUNK = 1 << 20
_PICTURED = (*REPLACED_FOLDERS, "trash")
Marks = dict[str, tuple[int, int, int]]  # by path: time of change in ns, size, inode


@dataclass(slots=True)
class FolderSnapshot:
    """What a backup will hold. `sources` lead from paths in the folder to where their bytes are now.

    Of the journal's files, which only grow, the first `lengths` bytes count. `left_out` are things that are no files.
    """

    sources: dict[str, Path] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    marks: Marks = field(default_factory=dict)


def take_snapshot(
    folder: Folder, disk: FileSystem, staging: Path, earlier: FolderSnapshot | None = None
) -> FolderSnapshot:
    """Give every file a second name in `staging`. The caller holds every lock of the folder.

    Args:
        folder: the layout.
        disk: the file system.
        staging: an empty folder, or the one of `earlier`.
        earlier: a picture that was taken just before without any lock: of it stays what is still as it was, so that
            the locks are held for a look at the folder only.
    """
    picture = FolderSnapshot()
    for _ in picturing(folder, disk, staging, picture, earlier):
        pass
    return picture


def picturing(
    folder: Folder, disk: FileSystem, staging: Path, picture: FolderSnapshot, earlier: FolderSnapshot | None = None
) -> Iterator[None]:
    """Fill a picture, file by file; see `take_snapshot`."""
    known = earlier.marks if earlier else {}
    for number, (path, status) in enumerate(_files(folder, picture.left_out)):
        mark = (status.st_mtime_ns, status.st_size, status.st_ino)
        picture.marks[path] = mark
        if earlier and known.get(path) == mark:
            picture.sources[path] = earlier.sources[path]
        else:
            picture.sources[path] = staging / f"{number}{'.late' if earlier else ''}"
            _second_name(folder.home / path, picture.sources[path], disk)
            yield
    for month in disk.list_folder(folder.journal):
        if not month.startswith("."):
            picture.sources[f"journal/{month}"] = folder.journal / month
            picture.lengths[f"journal/{month}"] = disk.size(folder.journal / month)


def add_history(folder: Folder, disk: FileSystem, picture: FolderSnapshot) -> None:
    """Add replaced texts: they never change, and what the journal names is there before it does."""
    for name in disk.list_folder(folder.history):
        if not name.startswith("."):
            picture.sources[f"history/{name}"] = folder.history / name


def marks(folder: Folder) -> Marks:
    """What tells whether a file that a restore replaces has been touched."""
    return replaced({path: (s.st_mtime_ns, s.st_size, s.st_ino) for path, s in _files(folder, [])})


def replaced(marks_of_all: Marks) -> Marks:
    """Of a picture's marks those of files that a restore replaces."""
    return {path: mark for path, mark in marks_of_all.items() if path.partition("/")[0] in REPLACED}


def _files(folder: Folder, left_out: list[str]) -> Iterator[tuple[str, os.stat_result]]:
    """Regular files that a backup holds, relative to the folder; what is neither file nor folder is `left_out`."""
    stack = [*_PICTURED]
    for name in (*REPLACED_FILES, CONFIG):
        try:
            status = (folder.home / name).lstat()
        except FileNotFoundError:
            continue
        if stat.S_ISREG(status.st_mode):
            yield name, status
        else:
            left_out.append(name)
    while stack:
        path = stack.pop()
        for entry in _entries(folder.home / path, path in _PICTURED, left_out, path):
            below = f"{path}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                stack.append(below)
            elif not is_ours(below) or not entry.is_file(follow_symlinks=False):
                left_out.append(below)
            elif not is_laid_aside(entry.name):
                try:
                    yield below, entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue  # a person took it away just now


def _entries(folder: Path, top: bool, left_out: list[str], path: str) -> list[os.DirEntry[str]]:
    if top and folder.is_symlink():
        left_out.append(path)
        return []
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except PermissionError:
        left_out.append(path)
        return []


def _second_name(path: Path, name: Path, disk: FileSystem) -> None:
    try:
        disk.link(path, name)
    except FileNotFoundError:
        return  # a person took it away just now
    except OSError:
        copy(path, name, disk)


def copy(path: Path, name: Path, disk: FileSystem) -> None:
    """A new file with the same bytes and time, not flushed. One that cannot be read is left to whoever reads it."""
    try:
        source = disk.open(path)
    except (FileNotFoundError, PermissionError):
        return
    with source, disk.begin(name) as target:
        while data := source.read(COPY_CHUNK):
            target.write(data)
    disk.set_time(name, path.lstat().st_mtime_ns)
