"""A process that tends a folder: `python jobs_worker.py <home> [stall]`; with `stall` its first job never ends.

It says `at work` when it begins a job that stalls, and `waits` when it has left the work to another process.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from unittest.mock import patch

import anyio

from holdfast.app import build_memory
from holdfast.engine.agent.remember import Remember, remember
from holdfast.engine.jobs import daily as housekeeping
from holdfast.engine.jobs.daily import JOBS, Job, JobContext
from holdfast.engine.ports import Caller
from holdfast.settings import load_settings
from holdfast.store.upkeep import FolderUpkeep


async def _stall(_house: JobContext) -> int:
    print("at work", flush=True)  # noqa: T201 - its parent listens
    await anyio.sleep_forever()
    return 0


@asynccontextmanager
async def _telling(upkeep: FolderUpkeep) -> AsyncIterator[bool]:
    async with upkeep._lock.hold_if_free() as mine:
        yield mine
        if not mine:
            print("waits", flush=True)  # noqa: T201 - its parent listens


async def main(home: str, *, stall: bool) -> None:
    jobs = (Job("importance", "", _stall), *JOBS[1:]) if stall else JOBS
    with patch("holdfast.app.JOBS", jobs):
        memory = build_memory(load_settings({"HOLDFAST_HOME": home, "HOLDFAST_ENCODER": "none"}))
    async with memory.running():
        await memory.attend(lambda ports: remember(ports, Caller(None, "", "worker"), Remember("A crane lifts.")))
        await anyio.sleep_forever()


if __name__ == "__main__":
    with (
        patch.multiple(housekeeping, START_SECONDS=0.0, LOOK_SECONDS=0.02, ELSEWHERE_SECONDS=0.02),
        patch.object(FolderUpkeep, "turn", _telling),
    ):
        anyio.run(lambda: main(sys.argv[1], stall="stall" in sys.argv))
