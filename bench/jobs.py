"""Whether the daily jobs are in the way: recall latency with and without them.

    python bench/jobs.py [--notes 10000] [--seconds 20] [--seed 7]

Notes are made up from the seed and old enough that the jobs have much to do: all are scored, the faded ones rewritten.
Both runs ask the same questions for the same time, one after the other, with a short pause between; the pause is there
because jobs give way to requests, and would do nothing at all where these never end.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from holdfast.app import build_memory
from holdfast.engine.agent.recall import Recall, recall
from holdfast.engine.jobs import daily as housekeeping
from holdfast.engine.ports import Caller
from holdfast.engine.runtime import Memory
from holdfast.running import configure_logs
from holdfast.settings import load_settings
from worlds import queries, write_folder

CALLER = Caller("space-1", "bench", "bench")
PAUSE_SECONDS = 0.02
OLD = 1_780_000_000  # seconds since 1970: before the notes' own time


def settings(home: Path, *, jobs: bool) -> dict[str, str]:
    return {
        "HOLDFAST_HOME": str(home),
        "HOLDFAST_ENCODER": "none",
        "HOLDFAST_VAULT_ENABLED": "no",
        "HOLDFAST_JOBS": str(jobs),
    }


async def asked(home: Path, seconds: float, seed: int, *, jobs: bool) -> tuple[list[float], str]:
    """Seconds of each recall, and what the jobs did meanwhile."""
    configure_logs("warning")
    memory = build_memory(load_settings(settings(home, jobs=jobs)))
    times: list[float] = []
    async with memory.running():
        for query in queries(20, seed):  # what is kept in memory is there then
            await ask(memory, query)
        end = time.monotonic() + seconds
        for query in itertools.cycle(queries(500, seed + 1)):
            if time.monotonic() > end:
                break
            began = time.perf_counter()
            await ask(memory, query)
            times.append(time.perf_counter() - began)
            await anyio.sleep(PAUSE_SECONDS)
        lines = [read.record for read in await memory.ports.store.journal_since("", 1_000_000) or ()]
    done = [f"{line['job']['name']} {line['job']['changed']}" for line in lines if line.get("op") == "job"]
    rewritten = sum(line.get("op") == "demote" for line in lines)
    return times, f"{', '.join(done) or 'no job ended'}; {rewritten} notes rewritten"


async def ask(memory: Memory, query: str) -> None:
    await memory.attend(lambda ports: recall(ports, CALLER, Recall(query)))


def row(name: str, times: Sequence[float]) -> str:
    ranked = sorted(times)
    p50, p95, p99 = (ranked[int(len(ranked) * share)] * 1e3 for share in (0.5, 0.95, 0.99))
    most = ranked[-1] * 1e3
    return f"{name:14} {len(times):6} recalls   p50 {p50:6.1f}   p95 {p95:6.1f}   p99 {p99:6.1f}   most {most:6.1f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    housekeeping.START_SECONDS = 0.5  # not half a minute after the start
    with TemporaryDirectory(dir=Path.cwd(), prefix="bench-") as folder:
        home = Path(folder)
        write_folder(home, options.notes, options.seed)
        for path in home.rglob("*.md"):
            os.utime(path, (OLD, OLD))
        for name, jobs in (("without jobs", False), ("with jobs", True)):
            times, told = anyio.run(lambda jobs=jobs: asked(home, options.seconds, options.seed, jobs=jobs))
            print(row(name, times))
            print(f"{'':14} {told}", flush=True)


if __name__ == "__main__":
    main()
