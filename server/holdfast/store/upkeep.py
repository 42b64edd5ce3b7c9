"""Keeping order on this server's disk: in the folder, and among the indexes of memories in databases.

Of these it is known whose each is and how much all may take. They are derived: one that was taken away is made anew
when its memory is asked for. Nothing else there is touched.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
import structlog

from holdfast.store.filesystem import FileSystem
from holdfast.store.folder import Folder, on_disk
from holdfast.store.locks import Lock, OwnLock

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

    async def encoded(self, after: tuple[str, str], most: int) -> list[tuple[str, str]]:
        """Vectors are no part of the folder: what is kept of them beside the index goes with that."""
        del after, most
        return []

    async def drop_encoded(self, contents: Collection[tuple[str, str]]) -> int:
        """As `encoded`."""
        del contents
        return 0

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


LOOK_SECONDS: Final = 30.0
_FOLDERS: Final = ("*/.holdfast", "*/tenants/*/.holdfast")
_DERIVED: Final = ("index.*", "index-*.*", "encodings.*")
_FIRST: Final = "index.db"
_MARK: Final = "used"  # its time is when somebody last had the index open

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Local:
    """What is derived from one memory: its folder, its bytes, and when it was used last."""

    folder: Path
    size: int
    used: float


class LocalIndexes:
    """The indexes below a folder.

    Args:
        root: has a folder for each memory of a database, or for each database with a folder for each principal.
        most: how many bytes they may take together.
        in_use: the folders of memories that are open here.
        let_go: has one of these closed that nobody uses, where they alone take more than that.
    """

    def __init__(
        self,
        root: Path,
        most: int,
        in_use: Callable[[], Collection[Path]],
        let_go: Callable[[], None] = lambda: None,
    ) -> None:
        self._root = root
        self._most = most
        self._in_use = in_use
        self._let_go = let_go

    async def run(self) -> None:
        """Look now and then, for as long as the server runs."""
        while True:
            try:
                if await self.tidy() > self._most:
                    self._let_go()
            except OSError as error:
                log.warning("local_indexes_not_bounded", error=type(error).__name__, reason=error.strerror)
            await anyio.sleep(LOOK_SECONDS)

    async def tidy(self) -> int:
        """Take away what is beyond the bound; returns how many bytes are left.

        Raises:
            OSError: a file cannot be removed.
        """
        return await anyio.to_thread.run_sync(self._tidy, frozenset(self._in_use()))

    def _tidy(self, in_use: frozenset[Path]) -> int:
        for folder in in_use:
            if folder.is_dir():
                (folder / _MARK).touch()
        found = sorted(self._found(), key=lambda each: each.used)
        left = sum(each.size for each in found)
        for each in found:
            if left <= self._most:
                break
            if each.folder not in in_use and each.size:
                for file in _files(each.folder):
                    file.unlink(missing_ok=True)
                left -= each.size
                log.info("local_index_taken_away", bytes=each.size)
        return left

    def _found(self) -> list[_Local]:
        found = []
        for pattern in _FOLDERS:
            for folder in self._root.glob(pattern):
                size, used = 0, 0.0
                for file in (*_files(folder), folder / _MARK):
                    with suppress(FileNotFoundError):  # others open and close theirs meanwhile
                        status = file.stat()
                        size += status.st_size
                        used = max(used, status.st_mtime)
                found.append(_Local(folder, size, used))
        return found


class OwnIndex:
    """The index file of this process alone, among those of one memory in one folder.

    The database orders what servers write; nothing orders what two processes would make of one index, where a version
    that one read earlier could be written after the newer one of the other. So each has a file: the first `index.db`,
    those that run beside it `index-2.db` and so on. A process that ends leaves its file to the next.

    Args:
        folder: where they are.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock: OwnLock | None = None
        self._path = folder / _FIRST

    def take(self) -> Path:
        """The file that is this process's own until `leave`; those that nobody has any more are taken away.

        Raises:
            StorageError: the folder cannot be written to.
            OSError: a file cannot be removed.
        """
        if self._lock is None or not self._lock.take():
            number = 1
            while not (lock := self._lock_of(number)).take():
                number += 1
            self._lock, self._path = lock, self._path_of(number)
        self.sweep()
        return self._path

    def leave(self) -> None:
        """Leave it to whoever comes next."""
        if self._lock is not None:
            self._lock.leave()
            self._lock = None

    def sweep(self) -> None:
        """Take away the files of processes that have ended, whatever is in them.

        Raises:
            OSError: one cannot be removed.
        """
        for path in self._folder.glob("index*.db"):
            number = path.stem.partition("-")[2] or "1"
            if path != self._path and number.isdecimal():
                self._drop(path, self._lock_of(int(number)))

    @staticmethod
    def _drop(path: Path, lock: OwnLock) -> None:
        if lock.take():
            try:
                for file in path.parent.glob(f"{path.stem}.*"):
                    file.unlink(missing_ok=True)
            finally:
                lock.leave()

    def _lock_of(self, number: int) -> OwnLock:
        return OwnLock(self._folder / f"own-{number}.lock")  # of another name than what may be taken away

    def _path_of(self, number: int) -> Path:
        return self._folder / (_FIRST if number == 1 else f"index-{number}.db")


def _files(folder: Path) -> list[Path]:
    return [file for pattern in _DERIVED for file in folder.glob(pattern)]
