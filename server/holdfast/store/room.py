"""How much of this server's disk the indexes of memories in databases may take: the least recently used go.

They are derived: one that was taken away is made anew when its memory is asked for. Nothing else there is touched.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
import structlog

LOOK_SECONDS: Final = 30.0
_FOLDERS: Final = ("*/.holdfast", "*/tenants/*/.holdfast")
_DERIVED: Final = ("index.*", "encodings.*")
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


def _files(folder: Path) -> list[Path]:
    return [file for pattern in _DERIVED for file in folder.glob(pattern)]
