"""What becomes a backup: the folder as it is at one moment, and the archive that is written of it and read again.

The moment is held by second names for its files, taken while nobody changes any. What we write replaces a file by a
rename, so a second name goes on to lead to the text of that moment; the compression needs no lock then. Where a disk
has no second names the files are copied.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, BinaryIO, Protocol

from holdfast.errors import IntegrityError
from holdfast.store.filesystem import FILE_MODE, FileSystem
from holdfast.store.folder import Folder, is_laid_aside
from holdfast.store.stored import CONFIG, REPLACED, REPLACED_FILES, REPLACED_FOLDERS, Manifest, Packed, is_ours

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


CHUNK = 1 << 20
LEVEL = 6
_OVERHEAD = 16 * 1024  # bytes of headers that one file may have
_HARM = (tarfile.TarError, zlib.error, EOFError, gzip.BadGzipFile, UnicodeError, ValueError)


class Target(Protocol):
    """Where bytes go one after the other."""

    def write(self, data: bytes | memoryview, /) -> int: ...
    def close(self) -> None: ...


class Readable(Protocol):
    """Where an archive is read from; `read` may give fewer bytes than were asked for."""

    def read(self, size: int = -1, /) -> bytes: ...
    def seek(self, at: int, /) -> int: ...


Taker = Callable[[str, Packed], Target | None]  # where a file goes, which is closed behind it; None: it is only checked


class UnreadableError(Exception):
    """A file cannot be put into an archive, for it cannot be read."""


class _Counted(io.RawIOBase):
    """Writes through, counting and hashing."""

    def __init__(self, file: Target) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self.size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        view = memoryview(data)  # type: ignore[arg-type] # whatever has a buffer
        self._hash.update(view)
        self.size += view.nbytes
        return self._file.write(view)

    @property
    def checksum(self) -> str:
        return self._hash.hexdigest()


class Chunked(Protocol):
    """What the bytes of one file are read from."""

    def read(self, size: int = -1, /) -> bytes: ...


class _Exactly(io.RawIOBase):
    """So many bytes of a file, hashed; zeros where somebody has cut it short meanwhile."""

    def __init__(self, file: Chunked, size: int) -> None:
        self._file = file
        self._left = size
        self.hash = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        wanted = self._left if size < 0 else min(size, self._left)
        data = self._file.read(wanted)
        data += bytes(wanted - len(data))
        self._left -= wanted
        self.hash.update(data)
        return data


class ArchiveStream:
    """An archive that is being written; `files` are those that are in it.

    Args:
        target: where its bytes go.
    """

    def __init__(self, target: Target) -> None:
        self._counted = _Counted(target)
        self._gzip = gzip.GzipFile("", "wb", LEVEL, self._counted, mtime=0)
        self._tar = tarfile.TarFile(mode="w", fileobj=self._gzip, format=tarfile.PAX_FORMAT)
        self.files: dict[str, Packed] = {}

    def add_bytes(self, path: str, data: bytes, modified_ns: int) -> None:
        """Add a file of these bytes."""
        self._add(path, data, modified_ns)
        self.files[path] = Packed(hashlib.sha256(data).hexdigest(), len(data), modified_ns)

    def add_read(self, path: str, source: Chunked, size: int, modified_ns: int) -> None:
        """Add a file that is read meanwhile: so many bytes of it."""
        reader = _Exactly(source, size)
        self._tar.addfile(_member(path, size, modified_ns), reader)
        self._forget_members()
        self.files[path] = Packed(reader.hash.hexdigest(), size, modified_ns)

    def add_first(self, path: str, data: bytes) -> None:
        """Add what tells of the other files, and is none of them."""
        self._add(path, data, 0)

    def end(self) -> tuple[str, int]:
        """Write what is left; the archive's SHA-256 and size."""
        self._tar.close()
        self._gzip.close()
        return self._counted.checksum, self._counted.size

    def _add(self, path: str, data: bytes, modified_ns: int) -> None:
        self._tar.addfile(_member(path, len(data), modified_ns), io.BytesIO(data))
        self._forget_members()

    def _forget_members(self) -> None:
        self._tar.members = []  # type: ignore[attr-defined] # it would keep them all


class ArchiveWriter(ArchiveStream):
    """An archive that is being written into a file, of files."""

    def __init__(self, disk: FileSystem, path: Path) -> None:
        self._disk = disk
        self._file = disk.begin(path)
        super().__init__(self._file)

    def add(self, path: str, source: Path, most: int | None = None) -> None:
        """Add a file, or its first `most` bytes.

        Raises:
            UnreadableError: it cannot be read; nothing of it is in the archive.
            OSError: the archive cannot be written.
        """
        with _opened(self._disk, source) as file:
            status = os.fstat(file.fileno())
            size = status.st_size if most is None else min(most, status.st_size)
            if size <= CHUNK:  # most files: whole, or not at all, whoever is cutting it short
                self.add_bytes(path, _read(file, size), status.st_mtime_ns)
            else:
                self.add_read(path, file, size, status.st_mtime_ns)

    def add_changed(self, path: str, source: Path, change: Callable[[bytes], bytes]) -> bool:
        """Add a small file as `change` makes it, or not at all where that is nothing; whether it was changed.

        Raises:
            UnreadableError: it cannot be read.
            OSError: the archive cannot be written.
        """
        with _opened(self._disk, source) as file:
            data = _read(file, CHUNK)
            changed = change(data)
            if changed:
                self.add_bytes(path, changed, os.fstat(file.fileno()).st_mtime_ns)
        return changed != data

    def finish(self) -> tuple[str, int]:
        """Flush everything to the disk; the archive's SHA-256 and size."""
        written = self.end()
        self._disk.flush_file(self._file)
        self._file.close()
        return written

    def abandon(self) -> None:
        """Let go of the file, finished or not: an unfinished one is not wanted, so it need not come to the disk."""
        with suppress(OSError):
            self._file.close()


def _opened(disk: FileSystem, path: Path) -> BinaryIO:
    try:
        return disk.open(path)
    except OSError as error:
        raise UnreadableError from error


def _read(file: BinaryIO, most: int) -> bytes:
    try:
        return file.read(most)
    except OSError as error:
        raise UnreadableError from error


def _member(path: str, size: int, modified_ns: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(path)
    member.size, member.mtime, member.mode = size, max(0, modified_ns // 1_000_000_000), FILE_MODE
    return member


class _Bounded(io.RawIOBase):
    """Reads through, and no more than was promised: what unpacks to more is no backup of ours."""

    def __init__(self, file: gzip.GzipFile, most: int) -> None:
        self._file = file
        self._left = most

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(self._left + 1 if size < 0 else min(size, self._left + 1))
        self._left -= len(data)
        if self._left < 0:
            raise tarfile.ReadError("more than its manifest says")
        return data


def check_sum(file: Readable, manifest: Manifest) -> None:
    """Compare the archive with the checksum in its manifest.

    Raises:
        IntegrityError: it is not the archive that was written.
    """
    total, size = hashlib.sha256(), 0
    while data := file.read(CHUNK):
        total.update(data)
        size += len(data)
    if (total.hexdigest(), size) != (manifest.backup.checksum, manifest.backup.file_size):
        raise IntegrityError("The backup's archive is harmed: its checksum does not fit.", "Nothing was changed.")
    file.seek(0)


@contextmanager
def unpacking(file: Readable, manifest: Manifest, take: Taker, *, embedded: int = -1) -> Iterator[Callable[[], bool]]:
    """Read an archive file by file; the block calls what it is given until that says that there is no more.

    Args:
        file: the archive.
        manifest: what is in it.
        take: where its files go.
        embedded: bytes of the manifest where that is the archive's first file, as in an export.

    Raises:
        IntegrityError: it holds anything but the files of its manifest, each once and unharmed.
    """
    most = manifest.backup.size + _OVERHEAD * (len(manifest.files) + 3) + max(0, embedded)
    missing = dict(manifest.files)
    with gzip.GzipFile(fileobj=file) as packed:
        try:
            with tarfile.open(mode="r|", fileobj=_Bounded(packed, most)) as archive:
                if embedded >= 0:
                    archive.next()
                yield lambda: _take_next(archive, missing, take)
        except _HARM as error:
            raise IntegrityError("The backup's archive cannot be read.", "Nothing was changed.") from error
    if missing:
        raise IntegrityError("The backup's archive lacks files of its manifest.", "Nothing was changed.")


def first_file(file: BinaryIO, name: str, most: int) -> bytes | None:
    """The first file of an archive, if it has this name and no more than `most` bytes; else None.

    Raises:
        IntegrityError: it is no archive of ours.
    """
    try:
        with gzip.GzipFile(fileobj=file) as packed, tarfile.open(mode="r|", fileobj=packed) as archive:
            member = archive.next()
            if member is None or member.name != name or not _is_plain(member) or member.size > most:
                return None
            source = archive.extractfile(member)
            return None if source is None else source.read()
    except (*_HARM, OSError) as error:
        raise IntegrityError("The archive cannot be read.", "Nothing was changed.") from error


def _take_next(archive: tarfile.TarFile, missing: dict[str, Packed], take: Taker) -> bool:
    """Take one file out; False where there was none left."""
    member = archive.next()
    if member is None:
        return False
    packed = missing.pop(member.name, None)
    if packed is None or not _is_plain(member) or member.size != packed.size:
        raise IntegrityError("The backup's archive holds what its manifest does not name.", "Nothing was changed.")
    source = archive.extractfile(member)
    if source is None or _copied(source, take(member.name, packed)) != packed.sha256:
        raise IntegrityError("A file in the backup is not as it was.", "Nothing was changed. Take another backup.")
    archive.members = []  # type: ignore[attr-defined] # it would keep them all
    return True


def _is_plain(member: tarfile.TarInfo) -> bool:
    """Whether it is a file, no link, device or folder, that stays in the folder it is unpacked in."""
    if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or member.sparse is not None:
        return False
    judge = getattr(tarfile, "data_filter", None)  # Pythons before 3.11.4 have none
    try:
        return judge is None or judge(member, "/nowhere").name == member.name
    except tarfile.TarError:
        return False


def _copied(source: IO[bytes], target: Target | None) -> str:
    """Copy to the end; the SHA-256 of what was copied."""
    total = hashlib.sha256()
    try:
        while data := source.read(CHUNK):
            total.update(data)
            if target is not None:
                target.write(data)
    finally:
        if target is not None:
            target.close()
    return total.hexdigest()
