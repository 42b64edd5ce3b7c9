"""A process that backs up or restores a folder and kills itself at one of its steps: home, verb, backup, step."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import anyio

from holdfast.model.records import JournalRecord
from holdfast.store.filesystem import FileSystem
from vaults import opened

STEPS = (
    "create", "begin", "link", "append", "truncate", "move", "swap", "set_time", "remove", "remove_tree", "flush_tree",
    "flush_file", "flush_folder", "make_folder",
)  # fmt: skip


class Mortal(FileSystem):
    """Dies before its n-th change of the disk."""

    left = -1
    done = 0

    def __init__(self) -> None:
        super().__init__()
        self._turn = threading.Lock()

    def count(self) -> None:
        """One step more, of whatever thread: none is passed over."""
        with self._turn:
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            self.left -= 1
            self.done += 1


def _step(name: str) -> Any:
    def step(self: Mortal, *arguments: Any, **options: Any) -> Any:
        self.count()
        return getattr(FileSystem, name)(self, *arguments, **options)

    return step


for _name in STEPS:
    setattr(Mortal, _name, _step(_name))


async def work(home: Path, verb: str, backup_id: str, at: int) -> None:
    disk = Mortal()
    async with opened(home, files=disk) as store:
        disk.left, disk.done = at, 0
        if verb == "restore":
            await store.vault.restore(backup_id, JournalRecord())
        else:
            await store.vault.back_up("a test")
        disk.left = -1
        sys.stdout.write(str(disk.done))


if __name__ == "__main__":
    os.umask(0o077)
    anyio.run(work, Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))
