"""What recall costs beside watched folders of many files: none, files that are taken, files that are looked at.

    python bench/watching.py [--files 200000] [--asked 200] [--seconds 60] [--notes 1000]

The files are small, a thousand to a folder, in the temporary folder of this machine. What is printed for the looks: how
long one takes that finds nothing new, how many files become notes in a minute, and the most memory of the process.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from holdfast.app import build_memory
from holdfast.engine.agent.recall import Recall, recall
from holdfast.engine.ports import Caller
from holdfast.engine.runtime import Memory
from holdfast.engine.sync.watched import Hippocampus
from holdfast.importers.markdown import Watched, WatchedFolders
from holdfast.running import configure_logs
from holdfast.settings import load_settings
from worlds import queries, write_folder

WHO = Caller("docs", "HOLDFAST_SPACE", "bench")
LARGEST = 256 * 1024
A_FOLDER = 1000
OLD = 1_700_000_000


def fill(root: Path, count: int) -> None:
    """Small files that were written long ago."""
    for number in range(count):
        if number % A_FOLDER == 0:
            folder = root / f"d{number // A_FOLDER:05d}"
            folder.mkdir(parents=True)
        path = folder / f"n{number % A_FOLDER:04d}.md"
        path.write_text(f"# Note {number}\n\nThe crane lifts {number} tonnes at quay {number % 97}.\n", "utf-8")
        os.utime(path, (OLD, OLD))


async def asked(memory: Memory, texts: list[str]) -> list[float]:
    """Milliseconds of each question."""
    times = []
    for text in texts:
        begun = time.perf_counter()
        await memory.attend(lambda ports, text=text: recall(ports, WHO, Recall(text)))  # type: ignore[misc]
        times.append((time.perf_counter() - begun) * 1000)
        await anyio.sleep(0.02)
    return times


def told(name: str, times: list[float]) -> None:
    ordered = sorted(times)
    p95 = ordered[int(len(ordered) * 0.95)]
    print(f"{name:44} {statistics.median(ordered):8.1f} {p95:8.1f} {ordered[-1]:8.1f}")


async def run(options: argparse.Namespace, home: Path, root: Path) -> None:
    settings = load_settings({"HOLDFAST_HOME": str(home), "HOLDFAST_ENCODER": "none", "HOLDFAST_JOBS": "no"})
    memory = build_memory(settings)
    watcher = Hippocampus(memory, WatchedFolders(home, [Watched(root, "docs")], (), LARGEST))
    texts = queries(options.asked)
    async with memory.running():
        await asked(memory, texts[:5])
        print(f"{'milliseconds of a recall':44} {'median':>8} {'p95':>8} {'most':>8}")
        told("nothing is watched", await asked(memory, texts))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(taking, watcher, options.seconds)
            told("files become notes", await asked(memory, texts))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(looking, watcher)
            told("a folder is looked through", await asked(memory, texts))
            tasks.cancel_scope.cancel()
    print(f"the process at its largest: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")


async def taking(watcher: Hippocampus, seconds: float) -> None:
    """Take files for a while."""
    begun, taken = time.monotonic(), 0
    while time.monotonic() - begun < seconds:
        taken += await watcher.look()
    took = time.monotonic() - begun
    print(f"{taken:,} files became notes in {took:.0f} s")


async def looking(watcher: Hippocampus) -> None:
    """Look through the folders, again and again; nothing is read of them."""
    while True:
        begun, spent = time.monotonic(), time.process_time()
        for watched in watcher.folders.watched:
            await watcher.folders.look(watched)
        print(
            f"a look: {time.monotonic() - begun:.1f} s, {time.process_time() - spent:.1f} s of processor with recalls"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=200_000)
    parser.add_argument("--asked", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--notes", type=int, default=1000, help="notes that are there before")
    parser.add_argument("--root", type=Path, help="a folder that is there already, instead of one that is made")
    options = parser.parse_args()
    configure_logs("error")
    with TemporaryDirectory() as folder:
        home, root = Path(folder) / "memory", options.root or Path(folder) / "files"
        write_folder(home, options.notes)
        if options.root is None:
            fill(root, options.files)
        print(f"{options.files:,} files, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
        anyio.run(run, options, home, root)


if __name__ == "__main__":
    main()
