"""Durable changes a second of one memory in PostgreSQL, by how many writers one server has.

    python bench/database.py [--seconds S] [--flush-ms 0,5] [--what changes,notes]

`changes` are the storage alone: a small note and its line, committed and on the disk. `notes` are whole calls of
remember, without vectors. A PostgreSQL of one's own is started and flushes for real; `--flush-ms` makes each flush that
much longer (commit_delay), as disks that others use have it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from holdfast.app import build_memory, new_note_id
from holdfast.engine.agent.remember import Remember, remember
from holdfast.engine.ports import Caller
from holdfast.engine.runtime import Memory
from holdfast.model.note import Note
from holdfast.model.records import JournalRecord
from holdfast.running import configure_logs
from holdfast.settings import load_settings
from holdfast.store.stored import Change

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import postgres

CALLER = Caller("bench", "bench", "bench")
WRITERS = (1, 8, 32)


@asynccontextmanager
async def memory_in(url: str, name: str) -> AsyncIterator[Memory]:
    with TemporaryDirectory() as home:
        given = {"HOLDFAST_HOME": home, "HOLDFAST_STORE": url, "HOLDFAST_TENANT": name, "HOLDFAST_ENCODER": "none"}
        memory = build_memory(load_settings(given | {"HOLDFAST_JOBS": "false"}))
        async with memory.running():
            await store_note(memory, "the first")
            yield memory


async def store_note(memory: Memory, text: str) -> None:
    await memory.attend(lambda ports: remember(ports, CALLER, Remember(f"The berth {text} was taken by a lighter.")))


async def store_change(memory: Memory, text: str) -> None:
    """What a change costs in the storage: nothing is looked for, and the index is left alone."""
    store, note_id = memory.ports.store, new_note_id()
    now = memory.ports.now
    note = Note(note_id, f"The berth {text} was taken by a lighter.", f"berth {text}", now, now)
    async with store.hold({note_id}), store.commit("remember", [Change(None, note)], JournalRecord()):
        pass


async def rate(
    memory: Memory, writers: int, seconds: float, write: Callable[[Memory, str], Awaitable[None]]
) -> tuple[float, float]:
    """Changes a second, and the milliseconds of this process's processors that each took."""
    done, until = 0, time.perf_counter() + seconds

    async def one(name: int) -> None:
        nonlocal done
        number = 0
        while time.perf_counter() < until:
            number += 1
            await write(memory, f"{writers}-{name}-{number}")
            done += 1

    began, spent = time.perf_counter(), time.process_time()
    async with anyio.create_task_group() as tasks:
        for name in range(writers):
            tasks.start_soon(one, name)
    return done / (time.perf_counter() - began), (time.process_time() - spent) * 1000 / done


async def measure(url: str, seconds: float, what: list[str]) -> None:
    for name in what:
        write = {"changes": store_change, "notes": store_note}[name]
        async with memory_in(url, name) as memory:
            for writers in WRITERS:
                found, spent = await rate(memory, writers, seconds, write)
                print(f"{name:8} {writers:3} writers {found:8.0f}/s {spent:6.1f} ms of processor each", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--what", default="changes,notes")
    parser.add_argument("--flush-ms", default="0")
    options = parser.parse_args()
    configure_logs("error")
    for pause in options.flush_ms.split(","):
        flags = ("fsync=on", f"commit_delay={int(float(pause) * 1000)}", "commit_siblings=0")
        with postgres.postgres(*flags) as server:
            print(f"flushes longer by {pause} ms")
            anyio.run(measure, server.url, options.seconds, options.what.split(","))


if __name__ == "__main__":
    main()
