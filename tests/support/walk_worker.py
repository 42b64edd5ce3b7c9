"""A process that does one verb on a folder and kills itself at one of its steps: home, verb, arguments, step."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio

from holdfast.errors import HoldfastError
from vault_worker import Mortal
from walking import do
from worlds import ask, living


async def work(home: Path, verb: str, given: dict[str, Any], at: int) -> None:
    disk = Mortal()
    async with living(home, files=disk) as memory:
        await ask(memory, "anything")  # the index is open
        disk.left = at
        with suppress(HoldfastError):
            await do(memory, verb, given)
        disk.left = -1


if __name__ == "__main__":
    os.umask(0o077)
    anyio.run(work, Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]), int(sys.argv[4]))
