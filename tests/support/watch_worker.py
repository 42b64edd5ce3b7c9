"""A process that keeps a folder in step until it is killed: home, folder."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio

from holdfast.engine.sync.watched import Hippocampus
from holdfast.importers.markdown import Watched, WatchedFolders
from transcripts_worker import built


async def watch(home: Path, root: Path) -> None:
    memory = built(home)
    watcher = Hippocampus(memory, WatchedFolders(home / "memory", [Watched(root, "docs")], (), 1 << 20))
    async with memory.running():
        while True:
            await watcher.tend()
            await anyio.sleep(0.01)


if __name__ == "__main__":
    anyio.run(watch, Path(sys.argv[1]), Path(sys.argv[2]))
