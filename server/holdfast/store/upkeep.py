"""What keeps the folder in order apart from its notes: whose turn it is, how large things are, what may go."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Collection, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from holdfast.store.filesystem import FileSystem
from holdfast.store.folder import Folder, on_disk
from holdfast.store.locks import Lock

LEFT_SECONDS = 7 * 86_400.0  # how long an index that could not be read is kept, for whoever wants to see why
_UNREADABLE = "*.unreadable"


class FolderUpkeep:
    """The folder as the jobs see it.

    Args:
        folder: the layout.
        files: the file system.
        alone: whether nobody else, of whom it must not tell, has a folder beside it.
    """

    has_others = False  # whoever uses the folder uses its index too

    def __init__(self, folder: Folder, files: FileSystem, *, alone: bool = True) -> None:
        self._folder = folder
        self._files = files
        self._alone = alone
        self._lock = Lock(folder.locks / "jobs")

    def turn(self) -> AbstractAsyncContextManager[bool]:
        """Be the only process that runs jobs; yields whether it is. Free again when its holder dies."""
        return self._lock.hold_if_free()

    async def sizes(self) -> dict[str, int]:
        """Bytes in each part of the folder, by its name."""
        parts = {path.name: path for path in (*self._folder.all, self._folder.history, self._folder.vault)}
        parts.pop(self._folder.conflicts.name)
        parts |= {path.name: path for path in (self._folder.trash, *self._folder.pages)}
        return await on_disk(lambda: {name: _bytes_in(path) for name, path in sorted(parts.items())})

    async def free_bytes(self) -> int | None:
        """What the disk has left; None where that would tell how much others write."""
        if not self._alone:
            return None
        return await on_disk(lambda: shutil.disk_usage(self._folder.home).free)

    async def purge_trash(self, texts: Mapping[str, Collection[str]]) -> int:
        """Take away what some changes put into the trash; returns how many files went.

        Args:
            texts: for each change the hashes of what it put there. They leave the history too, but only with the
                file: who took that out of the trash may still need its past.
        """
        return await on_disk(self._purge, texts)

    async def sweep(self) -> int:
        """Take away unreadable indexes that were put aside long ago; returns how many."""
        return await on_disk(self._sweep)

    def close(self) -> None:
        self._lock.close()

    def _purge(self, texts: Mapping[str, Collection[str]]) -> int:
        gone = 0
        for name in self._files.list_folder(self._folder.trash):
            change = name.partition(".")[0]
            if change in texts:
                self._files.remove(self._folder.trash / name)
                gone += 1
                for kept in texts[change]:
                    self._files.remove(self._folder.inside(f"{self._folder.history.name}/{kept}.md"))
        return gone

    def _sweep(self) -> int:
        old = [
            path for path in self._folder.derived.glob(_UNREADABLE) if time.time() - path.stat().st_mtime > LEFT_SECONDS
        ]
        for path in old:
            self._files.remove(path)
        return len(old)


def _bytes_in(top: Path) -> int:
    total = 0
    for place, _, names in os.walk(top):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_size  # noqa: PTH118 - a hundred thousand of them
            except OSError:
                continue  # gone between listing and looking
    return total
