"""Moving in and out: which memory is opened for reading; our own exports, written and read."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Generator
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, get_args

from anyio.to_thread import run_sync

from holdfast.backup.archive import first_file, unpacking
from holdfast.backup.export import ARCHIVE, MANIFEST, Exported, Exporter, Picturing, sweep
from holdfast.errors import IntegrityError, InvalidArgumentError, StorageError
from holdfast.importers.files import (
    BrokenError,
    Files,
    Source,
    UnreadableSourceError,
    list_files,
    read_bytes,
    stamp,
)
from holdfast.importers.markdown import SUFFIXES, open_markdown
from holdfast.importers.memories import is_memory_server, is_ormah, open_memory_server, open_ormah
from holdfast.importers.omi import is_omi, open_omi
from holdfast.model.moving import ArrivedFile, ArrivedPage, Item, LeftOut, SourceKind
from holdfast.model.note import is_note_id
from holdfast.model.records import is_page
from holdfast.store.filesystem import FileSystem
from holdfast.store.folder import Folder
from holdfast.store.stored import EPOCH, LARGEST_FILE, LARGEST_PAGE, Manifest, Packed, read_manifest, time_of

NOTES = "memories/"
_LARGEST_MANIFEST = 256 * 1024 * 1024
_HISTORY = ("journal", "history", "trash")
_PASSED_OVER = (*(f"{name}/" for name in _HISTORY), "locks/", "vault/", "exports/", "imports/")


def is_export(root: Path) -> bool:
    """Whether a folder is an export or a memory folder of Holdfast."""
    return (root / "memories").is_dir() and ((root / MANIFEST).is_file() or (root / "journal").is_dir())


def open_export(root: Path, disk: FileSystem, mark: str = "", close: Callable[[], None] = lambda: None) -> Source:
    """Open an export that is a folder; where it has a manifest, every file is compared with it.

    Args:
        root: the folder.
        disk: the file system.
        mark: of the file that it was unpacked from.
        close: what to do at the end.

    Raises:
        OSError: it cannot be read.
        UnreadableSourceError: its manifest is harmed.
    """
    files = list_files(root)
    manifest = None
    if MANIFEST in files.paths:
        try:
            manifest = read_manifest(disk.read(root / MANIFEST, _LARGEST_MANIFEST))
        except IntegrityError as error:
            raise UnreadableSourceError("its manifest is not as it was written") from error
    taken = [path for path in files.paths if path.startswith(NOTES) or is_page(path)]
    own = {part for path in taken if is_note_id(part := path.removesuffix(".md").rpartition(".")[2])}
    return Source("holdfast", mark or files.mark, len(taken), lambda: _items(files, taken, manifest, disk), close, own)


def open_archive(path: Path, disk: FileSystem, scratch: Path) -> Source:
    """Open an export that is one file: it is checked and unpacked into a folder of `scratch` until it is closed.

    Raises:
        OSError: it cannot be read, or there is no room for what is in it.
        UnreadableSourceError: it is none, or harmed.
    """
    mark = stamp(path)
    disk.make_folder(scratch)
    sweep(scratch, disk)
    unpacked = tempfile.TemporaryDirectory(".tmp", "import-", scratch, ignore_cleanup_errors=True)
    with ExitStack() as on_failure:
        on_failure.callback(unpacked.cleanup)
        try:
            _unpack(path, disk, Path(unpacked.name))
        except IntegrityError as error:
            raise UnreadableSourceError("it is no export, or it is harmed") from error
        source = open_export(Path(unpacked.name), disk, mark, unpacked.cleanup)
        on_failure.pop_all()
    return source


def _unpack(path: Path, disk: FileSystem, folder: Path) -> None:
    with disk.open(path) as file:
        data = first_file(file, MANIFEST, _LARGEST_MANIFEST)
    if data is None:
        raise IntegrityError("The archive does not begin with a manifest.")
    manifest = read_manifest(data)
    (folder / MANIFEST).write_bytes(data)

    def take(name: str, _packed: Packed) -> BinaryIO | None:
        if not (name.startswith(NOTES) or is_page(name)):
            return None
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        return disk.begin(target)

    with disk.open(path) as file, unpacking(file, manifest, take, embedded=len(data)) as step:
        while step():
            pass


def _items(files: Files, taken: list[str], manifest: Manifest | None, disk: FileSystem) -> Generator[Item, None, None]:
    yield from files.left_out
    yield LeftOut("", f"{', '.join(_HISTORY)} are not taken over: an unpacked export is a memory folder that has them",
                  broken=False)  # fmt: skip
    for path in sorted(set(files.paths).difference(taken)):
        if not path.startswith(_PASSED_OVER) and path not in (MANIFEST, "config.yaml"):
            yield LeftOut(path, "it is no part of a memory folder", broken=False)
    for path in taken:
        try:
            yield _item(files, path, manifest, disk)
        except BrokenError as error:
            yield LeftOut(path, str(error))
    if manifest is not None:
        there = set(files.paths)
        lost = [path for path in manifest.files if path not in there and (path.startswith(NOTES) or is_page(path))]
        yield from (LeftOut(path, "the manifest names it, and it is not there") for path in lost)


def _item(files: Files, path: str, manifest: Manifest | None, disk: FileSystem) -> Item:
    is_note = path.startswith(NOTES)
    if is_note and not path.endswith(".md"):
        return LeftOut(path, "it is no note", broken=False)
    data = read_bytes(disk, files.absolute(path), LARGEST_FILE if is_note else LARGEST_PAGE)
    packed = manifest.files.get(path) if manifest else None
    if manifest and (packed is None or hashlib.sha256(data).hexdigest() != packed.sha256):
        raise BrokenError("it is not as the manifest says")
    if not is_note:
        return ArrivedPage(path, path, data)
    signature = disk.signature(files.absolute(path))
    return ArrivedFile(f"holdfast:{path}", path, data, time_of(signature) if signature else EPOCH)


KINDS: tuple[str, ...] = get_args(SourceKind)


class FolderTransfers:
    """Imports into a memory from files of this machine, and exports of it to files.

    Args:
        folder: the layout; of a memory in a database the one for what lies on this machine.
        files: the file system.
        picturing: makes the picture that is exported.
        clock: the time now.
        base: the folder that users know, from which paths are told; by default that of the memory.
    """

    def __init__(
        self,
        folder: Folder,
        files: FileSystem,
        picturing: Picturing,
        clock: Callable[[], datetime],
        base: Path | None = None,
    ) -> None:
        self._folder = folder
        self._files = files
        self._base = base or folder.home
        self._exporter = Exporter(folder, files, picturing, clock, self._base)

    async def export(self, name: str | None) -> Exported:
        """See `Exporter.export`."""
        return await self._exporter.export(name)

    async def open(self, path: str, kind: str | None, space: str, *, anywhere: bool) -> Source:
        """Open another memory for reading.

        Args:
            path: where it is; one that is relative is looked for in `imports/` of the memory folder.
            kind: what it is; recognised where that is not told.
            space: for what has none of its own.
            anywhere: whether the path may be outside of `imports/`.

        Raises:
            InvalidArgumentError: there is nothing, nothing that is known, or it may not be read from there.
            StorageError: the disk refused.
        """
        try:
            return await run_sync(self._open, path, kind, space, anywhere)
        except UnreadableSourceError as error:
            raise InvalidArgumentError(f"path cannot be imported: {error}.", "Nothing was changed.") from error
        except OSError as error:
            raise StorageError(
                f"path cannot be read: {error.strerror or type(error).__name__}.", "Nothing was changed."
            ) from error

    def _open(self, path: str, kind: str | None, space: str, anywhere: bool) -> Source:
        place = self._place(path, anywhere=anywhere)
        if place.is_symlink() or not place.exists():
            raise InvalidArgumentError(
                "path leads to no file or folder, or is a symbolic link.", "Name the file or folder itself."
            )
        match kind or self._recognised(place):
            case "ormah":
                return open_ormah(place, self._files)
            case "omi":
                return open_omi(place, self._files, space)
            case "memory-server":
                return open_memory_server(place, self._files, space)
            case "markdown":
                return open_markdown(place, self._files, space)
            case "holdfast" if place.is_dir():
                return open_export(place, self._files)
            case "holdfast":
                return open_archive(place, self._files, self._folder.derived / "imports")
            case _:
                raise InvalidArgumentError(
                    "path holds nothing that can be recognised.", f"Say what it is, as kind: {', '.join(KINDS)}."
                )

    def _place(self, path: str, *, anywhere: bool) -> Path:
        given = Path(path)
        if "\0" in path or not path.strip():
            raise InvalidArgumentError("path is blank or holds a NUL.", "Name a file or folder.")
        if anywhere and given.is_absolute():
            return given
        if given.is_absolute() or given.drive or ".." in given.parts:
            raise InvalidArgumentError(
                "path may not be read from here.",
                f"Put it into {self._inside} and name it from there.",
            )
        place = self._folder.imports
        for part in given.parts:
            place /= part
            if place.is_symlink():
                raise InvalidArgumentError("path leads through a symbolic link.", "Name the file or folder itself.")
        return place

    @property
    def _inside(self) -> str:
        """`imports/` as users find it."""
        below = self._folder.imports.relative_to(self._base).as_posix()
        return f"{below} in the memory folder" if self._base == self._folder.home else f"{below} in HOLDFAST_HOME"

    def _recognised(self, place: Path) -> str:
        if place.is_file():
            if place.name.endswith(ARCHIVE):
                return "holdfast"
            if is_memory_server(place, self._files):
                return "memory-server"
            return "markdown" if place.name.lower().endswith(SUFFIXES) else ""
        for kind, fits in (("holdfast", is_export), ("ormah", is_ormah), ("omi", is_omi)):
            if fits(place):
                return kind
        return "markdown" if any(path.name.lower().endswith(SUFFIXES) for path in place.rglob("*")) else ""
