"""What is written a moment after it came."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import pytest

from holdfast.batching import WriteBehind

pytestmark = pytest.mark.anyio
LONG = 3600.0


class Disk:
    def __init__(self) -> None:
        self.written: list[list[int]] = []
        self.is_full = False
        self.began, self.wrote, self.go_on = anyio.Event(), anyio.Event(), anyio.Event()
        self.go_on.set()

    async def write(self, items: Sequence[int]) -> bool:
        self.began.set()
        await self.go_on.wait()
        if not self.is_full:
            self.written.append(list(items))
            self.wrote.set()
        return not self.is_full


async def test_what_comes_in_a_moment_is_written_in_one_go() -> None:
    disk = Disk()
    behind = WriteBehind(disk.write, most=10, seconds=0.05)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(behind.run)
        for number in range(5):
            assert await behind.add(number)
        assert disk.written == []
        with anyio.fail_after(60):
            await disk.wrote.wait()
        tasks.cancel_scope.cancel()
    assert disk.written == [[0, 1, 2, 3, 4]]


async def test_whoever_adds_the_last_that_may_wait_writes_them() -> None:
    disk = Disk()
    behind = WriteBehind(disk.write, most=3, seconds=LONG)
    for number in range(4):
        assert await behind.add(number)
    assert disk.written == [[0, 1, 2]]


async def test_what_could_not_be_written_comes_with_the_next_and_the_oldest_are_let_go_of() -> None:
    disk = Disk()
    disk.is_full = True
    behind = WriteBehind(disk.write, most=3, seconds=LONG)
    assert [await behind.add(number) for number in range(5)] == [True, True, False, False, False]
    disk.is_full = False
    assert await behind.add(5)
    assert disk.written == [[2, 3, 4, 5]]


async def test_what_came_while_a_write_runs_waits_for_the_next() -> None:
    disk = Disk()
    behind = WriteBehind(disk.write, most=10, seconds=LONG)
    disk.go_on = anyio.Event()
    await behind.add(1)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(behind.flush)
        await disk.began.wait()
        await behind.add(2)
        disk.go_on.set()
    assert disk.written == [[1]]
    assert await behind.flush()
    assert disk.written == [[1], [2]]


async def test_what_is_not_wanted_any_more_or_was_dropped_is_never_written() -> None:
    disk, wanted = Disk(), {1, 3, 5}
    behind = WriteBehind(disk.write, 10, LONG, lambda items: [item for item in items if item in wanted])
    for number in (1, 2, 3):
        await behind.add(number)
    assert await behind.flush()
    await behind.add(5)
    async with behind.dropped():
        pass
    assert await behind.flush()
    assert disk.written == [[1, 3]]
