"""Whether the memory folder can be written to: its disk may be full, read-only or closed to us."""

from __future__ import annotations

import os
from contextlib import suppress

import anyio.to_thread

from holdfast.errors import StorageError
from holdfast.store.filesystem import FileSystem
from holdfast.store.folder import Folder

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
