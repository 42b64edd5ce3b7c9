"""The doors for moving in and out: other memories are opened for reading, exports are written."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import get_args

from anyio.to_thread import run_sync

from holdfast.backup.export import ARCHIVE, Exported, Exporter
from holdfast.errors import InvalidArgumentError, StorageError
from holdfast.importers.export import is_export, open_archive, open_export
from holdfast.importers.files import Source, UnreadableSourceError
from holdfast.importers.markdown import SUFFIXES, open_markdown
from holdfast.importers.memory_server import is_memory_server, open_memory_server
from holdfast.importers.omi import is_omi, open_omi
from holdfast.importers.ormah import is_ormah, open_ormah
from holdfast.model.moving import SourceKind
from holdfast.store.filesystem import FileSystem
from holdfast.store.folder import Folder
from holdfast.store.notes import NoteFiles

KINDS: tuple[str, ...] = get_args(SourceKind)


class FolderTransfers:
    """Imports and exports of one folder.

    Args:
        folder: the layout.
        files: the file system.
        notes: whose locks say when the folder is whole.
        clock: the time now.
    """

    def __init__(self, folder: Folder, files: FileSystem, notes: NoteFiles, clock: Callable[[], datetime]) -> None:
        self._folder = folder
        self._files = files
        self._exporter = Exporter(folder, files, notes, clock)

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
                "Put it into imports/ in the memory folder and name it from there.",
            )
        place = self._folder.imports
        for part in given.parts:
            place /= part
            if place.is_symlink():
                raise InvalidArgumentError("path leads through a symbolic link.", "Name the file or folder itself.")
        return place

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
