"""An export of another Holdfast, or its folder: notes as they are, byte for byte, and the texts beside them."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Generator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from holdfast.backup.archive import first_file, unpacking
from holdfast.backup.export import MANIFEST, sweep
from holdfast.errors import IntegrityError
from holdfast.importers.files import (
    BrokenError,
    Files,
    Source,
    UnreadableSourceError,
    list_files,
    read_bytes,
    stamp,
)
from holdfast.model.moving import ArrivedFile, ArrivedPage, Item, LeftOut
from holdfast.model.note import is_note_id
from holdfast.model.pages import is_page
from holdfast.store.filesystem import FileSystem
from holdfast.store.manifest import Manifest, Packed, read_manifest
from holdfast.store.stored import EPOCH, LARGEST_FILE, LARGEST_PAGE, time_of

NOTES = "memories/"
_LARGEST_MANIFEST = 256 * 1024 * 1024
_HISTORY = ("journal", "history", "trash")
_NOT_TOLD = (*(f"{name}/" for name in _HISTORY), "locks/", "vault/", "exports/", "imports/")


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
        if not path.startswith(_NOT_TOLD) and path not in (MANIFEST, "config.yaml"):
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
