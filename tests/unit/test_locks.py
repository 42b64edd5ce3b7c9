"""Locks hold between tasks and between processes, whatever becomes of their files, and nobody waits in a ring."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import anyio
import pytest

from holdfast.errors import StorageError
from holdfast.store import locks
from holdfast.store.locks import STRIPES, Lock, Stripes, _stripe

pytestmark = pytest.mark.anyio

SERVER = Path(__file__).parents[2] / "server"

# Holds the lock, says so, and lets go when it is told to.
HOLDER = """
import sys
import zlib
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
import zlib
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
        named = f"process {other.pid}" if sys.platform == "linux" else "another process"
        with pytest.raises(StorageError, match=f"The lock lock has been held for 0 s by {named}"):
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


def strangers() -> tuple[str, str]:
    """Two keys that are hashed to the same stripe."""
    first = "key"
    return first, next(key for number in range(10_000) if _stripe(key := f"other{number}") == _stripe(first))


async def missed(stripes: Stripes, *keys: str, patience: float = 0.01) -> set[str]:
    """What another task of this process cannot have now."""
    rest: list[set[str]] = []

    async def work() -> None:
        async with stripes.try_hold(keys, patience) as owned:
            rest.append(set(keys) - owned)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work)
    return rest[0]


async def test_tasks_of_one_process_wait_for_nobody_who_holds_another_key(tmp_path: Path) -> None:
    one, other = strangers()
    stripes = Stripes(tmp_path)
    async with stripes.hold({one}):
        assert await missed(stripes, other) == set()
        assert await missed(stripes, one, other) == {one}


async def test_a_stripe_stays_locked_for_other_processes_until_the_last_of_its_keys_is_let_go(tmp_path: Path) -> None:
    one, other = strangers()
    mine, theirs = Stripes(tmp_path), Stripes(tmp_path)  # two open files: as good as two processes
    async with mine.hold({one}):
        assert await missed(mine, other) == set()
        assert await missed(theirs, other) == {other}
    assert await missed(theirs, other, patience=5) == set()


async def test_another_process_gets_its_turn_though_tasks_of_this_one_take_turns_without_a_break(
    tmp_path: Path,
) -> None:
    one, other = strangers()
    mine, theirs = Stripes(tmp_path), Stripes(tmp_path)
    over = False

    async def overlapping(key: str, seconds: float) -> None:
        await anyio.sleep(seconds)
        while not over:
            async with mine.hold({key}):
                await anyio.sleep(0.04)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(overlapping, one, 0)
        tasks.start_soon(overlapping, other, 0.02)
        await anyio.sleep(0.1)
        async with theirs.hold({one}):
            over = True


async def test_an_older_holdfast_and_this_one_lock_the_same_file_for_a_note(tmp_path: Path) -> None:
    key = "mem_01jd4x0k3v8q2m7z"
    with holder(tmp_path / f"{zlib.crc32(key.encode()) % 64:02x}") as older:
        assert await missed(Stripes(tmp_path), key) == {key}
        older.communicate("\n")
    assert await missed(Stripes(tmp_path), key, patience=5) == set()


async def test_who_waits_too_long_for_a_task_of_this_process_is_not_sent_to_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "PATIENCE_SECONDS", 0.01)
    stripes, lock = Stripes(tmp_path), Lock(tmp_path / "lock", patience=0.01)

    async def wait(holding: AbstractAsyncContextManager[None]) -> None:
        with pytest.raises(StorageError, match="Other requests of this server") as told:
            async with holding:
                pass
        assert "process" not in told.value.sentence + told.value.remedy

    async with stripes.hold({"key"}), lock.hold(), anyio.create_task_group() as tasks:
        tasks.start_soon(wait, stripes.hold({"key"}))
        tasks.start_soon(wait, lock.hold())


async def test_whoever_wants_everything_keeps_new_keys_out_until_it_is_done(tmp_path: Path) -> None:
    stripes = Stripes(tmp_path)
    async with stripes.hold_all():
        assert await missed(stripes, "key") == {"key"}
    assert await missed(stripes, "key") == set()


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
