"""Exports: the folder as it is at one moment, with a manifest of checksums, as one archive or as a folder.

`config.yaml` goes along without keys, tokens and passwords.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import anyio
from anyio.to_thread import run_sync

from holdfast import __version__
from holdfast.backup.archive import CHUNK, ArchiveWriter, FolderSnapshot, add_history, take_snapshot
from holdfast.errors import InvalidArgumentError, StorageError
from holdfast.model.note import instant
from holdfast.model.secrets import redact
from holdfast.store.filesystem import FileSystem
from holdfast.store.folder import Folder
from holdfast.store.notes import NoteFiles
from holdfast.store.stored import CONFIG, Backup, Manifest, Packed

_SECRET = re.compile(r"(?:.*[_.-])?(?:key|token|secret|password|passphrase)(s?)", re.IGNORECASE)
_REFERENCE = re.compile(r"\s*\$\{[A-Za-z_][A-Za-z0-9_]*\}\s*")
_ENTRY = {"token", "token_sha256", "client_id"}  # of an entry that has its secret at a key of its own
MASK = "***"


def masked(data: bytes) -> bytes:
    """The same bytes where they hold no secret; else the values without theirs; empty where they cannot be read."""
    import yaml  # noqa: PLC0415 - only where there is such a file

    try:
        text = data.decode()
        found = yaml.safe_load(text)
        clean = _clean(found)
        if clean == found and not redact(text).labels:
            return data
        return redact(yaml.safe_dump(clean, sort_keys=False, allow_unicode=True)).text.encode()
    except (yaml.YAMLError, ValueError, RecursionError):
        return b""


def _clean(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _clean_at(key, inner) for key, inner in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list) else value


def _clean_at(key: object, value: Any) -> Any:
    """What stands at a key. `tokens` may hold them, as a list or as its JSON, or be how many there may be."""
    named = _SECRET.fullmatch(str(key))
    if named and isinstance(value, list):
        return [_clean_at(key, item) for item in value]
    if named and not named[1] and isinstance(value, int | float) and not isinstance(value, bool):
        return MASK
    if named and isinstance(value, str) and value and _REFERENCE.fullmatch(value) is None:
        return value if named[1] and value.isdecimal() else MASK
    if named and named[1] and isinstance(value, dict) and not value.keys() & _ENTRY:
        return {name: _clean_at(key, inner) for name, inner in value.items()}
    return _clean(value)


Answer = TypeVar("Answer")

ARCHIVE = ".tar.gz"
MANIFEST = "manifest.json"
MOST_LEFT_OUT = 100  # files that a manifest names as left out
DAY_SECONDS = 86_400
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}(?:\.tar\.gz)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Exported:
    """A finished export. `path` is relative to the memory folder, or with a database to HOLDFAST_HOME."""

    path: str
    manifest: Manifest


Picturing = Callable[[Path], Awaitable[FolderSnapshot]]


def picturing_folder(folder: Folder, files: FileSystem, notes: NoteFiles) -> Picturing:
    """What makes a picture of a folder in an empty one; `notes` has the locks that say when the folder is whole."""

    async def picture(staging: Path) -> FolderSnapshot:
        await notes.finish_restore()
        async with notes.quiet():
            taken = await _on_disk(take_snapshot, folder, files, staging)
        await _on_disk(add_history, folder, files, taken)
        return taken

    return picture


def picturing_written(write: Callable[[Path], object], files: FileSystem) -> Picturing:
    """The same of a memory that is no folder, for which `write` makes one."""

    async def picture(staging: Path) -> FolderSnapshot:
        copy = Folder(staging / "memory")
        await _on_disk(write, copy.home)
        taken = await _on_disk(take_snapshot, copy, files, staging)
        await _on_disk(add_history, copy, files, taken)
        return taken

    return picture


class Exporter:
    """Writes exports of one memory into its `exports/`.

    Args:
        folder: the layout; of a memory that is no folder the one for what lies beside it.
        files: the file system.
        picturing: makes the picture that is exported.
        clock: the time now.
        base: the folder that paths are told from.
    """

    def __init__(
        self, folder: Folder, files: FileSystem, picturing: Picturing, clock: Callable[[], datetime], base: Path
    ) -> None:
        self._folder = folder
        self._files = files
        self._picturing = picturing
        self._clock = clock
        self._base = base

    async def export(self, name: str | None) -> Exported:
        """Write an export; it has its name when it is whole and flushed, or there is none.

        Args:
            name: a file that ends in `.tar.gz`, or a folder; by default a file named after the time.

        Raises:
            InvalidArgumentError: the name is none, or taken.
            StorageError: the disk refused.
        """
        now = self._clock()
        chosen = name or f"holdfast-{now:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}{ARCHIVE}"
        target = self._folder.exports / chosen
        if _NAME.fullmatch(chosen) is None:
            raise InvalidArgumentError(
                "path is no name for an export.", "Use letters, digits, - and _, and .tar.gz for an archive."
            )
        if await _on_disk(self._files.exists, target):
            raise InvalidArgumentError("There is an export of this name.", "Choose another, or leave path out.")
        await _on_disk(sweep, self._folder.exports, self._files)
        staging = self._folder.exports / f".{chosen}.{secrets.token_hex(8)}.tmp"
        try:
            await _on_disk(self._files.make_folder, staging)
            picture = await self._picturing(staging)
            manifest = await _on_disk(self._weigh, picture, instant(now))
            write = self._write_archive if chosen.endswith(ARCHIVE) else self._write_folder
            await _on_disk(write, picture, manifest, staging / ".whole")
            await _on_disk(self._keep, staging / ".whole", target)
        finally:
            with anyio.CancelScope(shield=True), suppress(StorageError):  # the next export a day later takes it away
                await _on_disk(self._files.remove_tree, staging)
        return Exported(target.relative_to(self._base).as_posix(), manifest)

    def _keep(self, made: Path, target: Path) -> None:
        self._files.move(made, target)
        try:
            self._files.flush_folder(target.parent)
        except OSError as error:
            try:
                self._files.move(target, made)
            except OSError:
                raise StorageError(
                    f"The export was written, and the disk failed while it got its name: {error.strerror}.",
                    "It may be there or not: look into exports/, look before you repeat it.",
                ) from error
            raise

    def _weigh(self, picture: FolderSnapshot, created: str) -> Manifest:
        """The manifest of what the picture shows; what cannot be read is left out of both."""
        files: dict[str, Packed] = {}
        left_out = list(picture.left_out)
        config_changed = False
        for path, source in list(picture.sources.items()):
            try:
                if path == CONFIG:
                    config_changed = self._mask_config(picture, source)
                files[path] = self._packed(picture, path)
            except OSError:
                left_out.append(path)
                del picture.sources[path]
        head = Backup(
            backup_id=f"holdfast_export_{secrets.token_hex(8)}",
            backup_type="export",
            reason=f"exported by Holdfast {__version__}",
            created_at=created,
            file_count=len(files),
            size=sum(file.size for file in files.values()),
            file_size=0,
            checksum="",
            retention_days=0,
            left_out=tuple(left_out[:MOST_LEFT_OUT]),
            masked=config_changed,
        )
        return Manifest(head, files)

    def _mask_config(self, picture: FolderSnapshot, source: Path) -> bool:
        """Have the settings without keys in the place of those with them; whether that is a difference."""
        data = self._files.read(source)
        changed = masked(data)
        if changed != data:
            aside = source.with_name(f"{source.name}.masked")
            self._files.create(aside, changed)
            picture.sources[CONFIG] = aside
        return changed != data

    def _packed(self, picture: FolderSnapshot, path: str) -> Packed:
        total, size = hashlib.sha256(), 0
        for data in self._pieces(picture, path):
            total.update(data)
            size += len(data)
        return Packed(total.hexdigest(), size, picture.sources[path].lstat().st_mtime_ns)

    def _pieces(self, picture: FolderSnapshot, path: str) -> Iterator[bytes]:
        left = picture.lengths.get(path)
        with self._files.open(picture.sources[path]) as file:
            while data := file.read(CHUNK if left is None else min(CHUNK, left)):
                left = None if left is None else left - len(data)
                yield data

    def _write_archive(self, picture: FolderSnapshot, manifest: Manifest, path: Path) -> None:
        writer = ArchiveWriter(self._files, path)
        try:
            writer.add_first(MANIFEST, manifest.render())
            for name in manifest.files:
                writer.add(name, picture.sources[name], picture.lengths.get(name))
            writer.finish()
        finally:
            writer.abandon()

    def _write_folder(self, picture: FolderSnapshot, manifest: Manifest, path: Path) -> None:
        for name, packed in manifest.files.items():
            self._files.make_folder((path / name).parent)
            with self._files.begin(path / name) as target:
                for data in self._pieces(picture, name):
                    target.write(data)
            self._files.set_time(path / name, packed.modified_ns)
        self._files.make_folder(path)
        self._files.create(path / MANIFEST, manifest.render())
        self._files.flush_tree(path)


def sweep(folder: Path, disk: FileSystem) -> None:
    """Take away what processes that died left half done in a folder; a day later nobody works on it any more."""
    oldest = time.time() - DAY_SECONDS
    for name in disk.list_folder(folder):
        if name.endswith(".tmp") and (folder / name).lstat().st_mtime < oldest:
            disk.remove_tree(folder / name)


async def _on_disk(call: Callable[..., Answer], *arguments: object) -> Answer:
    try:
        return await run_sync(call, *arguments)
    except OSError as error:
        raise StorageError(
            f"The export cannot be written: {error.strerror or type(error).__name__}.",
            "There is none of this name. Check the free space and the permissions of the folder exports/.",
        ) from error
