"""A process that purges a note and kills itself at one of its steps: home, note, step."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import anyio

from holdfast.engine.gated import Confirmations
from holdfast.engine.purge import WouldPurge, purge
from vault_worker import Mortal
from worlds import CALLER, living


async def work(home: Path, note: str, at: int) -> None:
    disk, tokens = Mortal(), Confirmations()
    async with living(home, files=disk) as memory:
        dry = await memory.attend(lambda ports: purge(ports, CALLER, tokens, note, None))
        assert isinstance(dry, WouldPurge)
        disk.left, disk.done = at, 0
        await memory.attend(lambda ports: purge(ports, CALLER, tokens, note, dry.confirm))
        steps, disk.left = disk.done, -1
    sys.stdout.write(str(steps))


if __name__ == "__main__":
    os.umask(0o077)
    anyio.run(work, Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
