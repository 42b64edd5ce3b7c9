"""Processes that purge a note and kill themselves at one of their steps: folder of homes by step, note, steps."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import anyio

from holdfast.engine import runtime as memory
from holdfast.engine.admin.gate import Confirmations
from holdfast.engine.admin.notes import WouldPurge, purge
from vault_worker import Mortal
from worlds import CALLER, living


async def work(home: Path, note: str, at: int) -> None:
    disk, tokens = Mortal(), Confirmations()
    async with living(home, files=disk) as purged:
        dry = await purged.attend(lambda ports: purge(ports, CALLER, tokens, note, None))
        assert isinstance(dry, WouldPurge)
        disk.left, disk.done = at, 0
        await purged.attend(lambda ports: purge(ports, CALLER, tokens, note, dry.confirm))
        disk.left, count = -1, disk.done
    (home / "steps").write_text(str(count), "utf-8")


def ended(home: Path, note: str, at: int) -> int:
    """How a process of its own ended that was to die at a step."""
    child = os.fork()
    if not child:
        anyio.run(work, home, note, at)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    os.umask(0o077)
    memory.START_SECONDS = 1e9  # no step but those of the purge, however long it takes
    root, name, *steps = sys.argv[1:]
    sys.stdout.write(" ".join(str(ended(Path(root) / step, name, int(step))) for step in steps))
