"""Locks hold between tasks and between processes, whatever becomes of their files, and nobody waits in a ring."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from holdfast.errors import StorageError
from holdfast.store.locks import STRIPES, Lock, Stripes

pytestmark = pytest.mark.anyio

SERVER = Path(__file__).parents[2] / "server"

# Holds the lock, says so, and lets go when it is told to.
HOLDER = """
import sys
from pathlib import Path
import anyio
from holdfast.store.locks import Lock

async def main():
    async with Lock(Path(sys.argv[1])).hold():
        print("held", flush=True)
        sys.stdin.readline()

anyio.run(main)
"""

# Adds one to a number in a file, often, reading and writing it in two steps.
COUNTER = """
import sys
from pathlib import Path
import anyio
from holdfast.store.locks import Stripes

async def main(folder):
    stripes = Stripes(folder / "locks")
    number = folder / "number"
    for _ in range(200):
        async with stripes.hold({"one", "two"}):
            number.write_text(str(int(number.read_text()) + 1))

anyio.run(main, Path(sys.argv[1]))
"""


def process(script: str, argument: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, str(argument)],
        env={**os.environ, "PYTHONPATH": str(SERVER)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def holder(path: Path) -> subprocess.Popen[str]:
    worker = process(HOLDER, path)
    assert worker.stdout is not None
    assert worker.stdout.readline() == "held\n"
    return worker


async def test_one_task_at_a_time_holds_a_lock(tmp_path: Path) -> None:
    stripes = Stripes(tmp_path)
    inside = 0

    async def work() -> None:
        nonlocal inside
        async with stripes.hold({"key"}):
            inside += 1
            await anyio.lowlevel.checkpoint()
            assert inside == 1
            inside -= 1

    async with anyio.create_task_group() as tasks:
        for _ in range(50):
            tasks.start_soon(work)


async def test_processes_do_not_lose_each_others_updates(tmp_path: Path) -> None:
    (tmp_path / "number").write_text("0")
    for worker in [process(COUNTER, tmp_path) for _ in range(4)]:
        worker.communicate()
    assert (tmp_path / "number").read_text() == "800"


async def test_a_lock_that_another_process_holds_is_refused_after_a_while_and_had_when_that_process_dies(
    tmp_path: Path,
) -> None:
    path = tmp_path / "lock"
    with holder(path) as other:
        with pytest.raises(StorageError, match="The lock lock has been held for 0 s, probably by another process"):
            async with Lock(path, patience=0.01).hold():
                pass
        other.kill()
    async with Lock(path).hold():
        pass


@pytest.mark.parametrize("replaced", [False, True])
async def test_whoever_waits_takes_the_file_that_others_will_lock(tmp_path: Path, replaced: bool) -> None:
    path = tmp_path / "lock"
    lock = Lock(path)
    async with lock.hold():
        pass  # the file is open from here on
    path.unlink()
    if replaced:
        path.touch()
    async with lock.hold():
        with pytest.raises(StorageError):
            async with Lock(path, patience=0.01).hold():
                pass


async def test_a_lock_file_deleted_while_somebody_waits_does_not_let_two_in(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    waiting = Lock(path)
    order: list[str] = []

    async def wait() -> None:
        async with waiting.hold():
            order.append("in")
            with pytest.raises(StorageError):
                async with Lock(path, patience=0.01).hold():
                    pass

    with holder(path) as other:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            while waiting._handle is None:
                await anyio.lowlevel.checkpoint()
            path.unlink()
            order.append("deleted")
            other.communicate("\n")
    assert order == ["deleted", "in"]


async def test_overlapping_sets_of_keys_never_wait_for_each_other_in_a_ring(tmp_path: Path) -> None:
    keys = [f"key{number}" for number in range(2 * STRIPES)]
    first, second = Stripes(tmp_path), Stripes(tmp_path)

    async def work(stripes: Stripes, offset: int) -> None:
        async with stripes.hold(keys[offset : offset + 8][:: 1 if offset % 2 else -1]):
            await anyio.lowlevel.checkpoint()

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            for offset in range(60):
                tasks.start_soon(work, first, offset)
                tasks.start_soon(work, second, 59 - offset)


async def test_holding_everything_waits_for_whoever_holds_anything(tmp_path: Path) -> None:
    stripes = Stripes(tmp_path)
    events: list[str] = []

    async def all_of_it() -> None:
        async with stripes.hold_all():
            events.append("all")

    async with anyio.create_task_group() as tasks, stripes.hold({"key"}):
        tasks.start_soon(all_of_it)
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        events.append("key let go")
    assert events == ["key let go", "all"]


async def test_closing_does_not_let_go_of_what_is_held(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "lock")
    async with lock.hold():
        lock.close()
        with pytest.raises(StorageError):
            async with Lock(tmp_path / "lock", patience=0.01).hold():
                pass
    async with Lock(tmp_path / "lock").hold():
        lock.close()


async def test_a_folder_that_cannot_be_made_is_told_in_plain_words(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="lock file lock cannot be opened"):
        async with Lock(tmp_path / "file" / "lock").hold():
            pass
