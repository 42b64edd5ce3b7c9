"""NOW while others change it: readers and checks wait for nobody, and updates that wait are written together."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint

from disks import CHANGING, Failing
from holdfast.batching import Batcher
from holdfast.engine.agent.browse import now_text
from holdfast.engine.omi import now
from holdfast.engine.omi import now as daily
from holdfast.engine.omi.integrity import IntegrityReport, integrity_check
from holdfast.engine.omi.now import Context, NowUpdate, NowUpdated, now_read, now_update, read_daily
from holdfast.engine.ports import Caller
from holdfast.engine.runtime import Memory
from holdfast.errors import HoldfastError, LimitExceededError
from holdfast.model.records import NOW, page_key
from holdfast.store.filesystem import FileSystem
from holdfast.store.journal import read_line
from holdfast.store.notes import NoteFiles
from plans import let_go
from worlds import living, memory_on

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

CALLER = Caller(None, "a test", "pytest")
OTHER = Caller(None, "a test", "another program", "somebody")
FULL = Caller(None, "a test", "whoever meets a full disk")
GENEROUS = 60.0


class Pausing(FileSystem):
    """Stops behind one step on a file until it may go on."""

    def __init__(self, step: str) -> None:
        super().__init__()
        self._step = step
        self.armed = False
        self.refuse = False
        self.began, self.go_on = anyio.Event(), anyio.Event()

    def append(self, path: Path, data: bytes, *, flush: bool) -> None:
        self._wait("announce")
        super().append(path, data, flush=flush)
        self._wait("append")

    def swap(self, new: Path, current: Path) -> None:
        super().swap(new, current)
        self._wait("swap")

    def create(self, path: Path, data: bytes) -> None:
        if self.refuse:
            raise OSError(28, os.strerror(28))
        super().create(path, data)

    def _wait(self, step: str) -> None:
        if self.armed and step == self._step:
            self.armed = False
            anyio.from_thread.run_sync(self.began.set)
            anyio.from_thread.run(self.go_on.wait)


class Counting(Batcher[Any, Any]):
    """Counts how often anybody asked for something to be written."""

    asked = 0

    async def submit(self, item: Any) -> Any:
        Counting.asked += 1
        return await super().submit(item)


@pytest.fixture(autouse=True)
def _counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(now, "Batcher", Counting)


async def update(memory: Memory, *done: str, caller: Caller = CALLER) -> NowUpdated:
    request = NowUpdate(current_task=f"after {done[-1]}", recent_completions=done)
    return await memory.attend(lambda ports: now_update(ports, caller, request))


async def read(memory: Memory) -> Context:
    found = await memory.attend(lambda ports: now_read(ports, CALLER))
    assert found is not None
    return found


async def check(memory: Memory) -> IntegrityReport:
    return await memory.attend(integrity_check)


@asynccontextmanager
async def updating(
    home: Path, step: str, before: Callable[[], None] = lambda: None
) -> AsyncIterator[tuple[Memory, TaskGroup]]:
    """A memory in the middle of an update, from `old` to `new`, and tasks that are waited for."""
    files = Pausing(step)
    memory = memory_on(home, files=files)
    try:
        await update(memory, "old")
        before()
        files.armed = True
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(update, memory, "new")
            await files.began.wait()
            try:
                yield memory, tasks
            finally:
                files.go_on.set()
    finally:
        await memory.aclose()


async def test_a_reader_waits_for_nobody_who_is_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(now, "SETTLE_SECONDS", 3600.0)
    async with living(tmp_path) as memory:
        await update(memory, "old")
        async with memory.ports.store.hold({page_key(NOW)}):
            with anyio.fail_after(GENEROUS):
                assert (await read(memory)).now.current_task == "after old"
                assert "after old" in await memory.attend(lambda ports: now_text(ports, None))


@pytest.mark.parametrize("step", ["announce", "append", "swap"])
async def test_a_check_in_the_middle_of_an_update_waits_for_nobody_and_finds_nothing(tmp_path: Path, step: str) -> None:
    async with updating(tmp_path, step) as (memory, _):
        with anyio.fail_after(25):  # less than the patience for a lock
            report = await check(memory)
        assert report.overall_safe, report.problems


@pytest.mark.parametrize("step", ["announce", "append", "swap"])
async def test_a_foreign_change_is_found_in_the_middle_of_the_update_that_kept_it(tmp_path: Path, step: str) -> None:
    def edit() -> None:
        page = tmp_path / "NOW.md"
        page.write_text(page.read_text("utf-8") + "\nBy hand.\n", "utf-8")

    reports: list[IntegrityReport] = []

    async def look(memory: Memory) -> None:
        reports.append(await check(memory))

    async with updating(tmp_path, step, edit) as (memory, tasks):
        tasks.start_soon(look, memory)
        await anyio.sleep(0.05)
    assert [report.now_md for report in reports] == [False]


def lines(home: Path) -> list[dict[str, Any]]:
    found = [read_line(raw) for path in (home / "journal").iterdir() for raw in path.read_bytes().splitlines()]
    return [line for line in found if line is not None and line.get("op") == "now_update"]


async def crowd(memory: Memory, files: Pausing, *callers: Caller) -> list[NowUpdated | HoldfastError]:
    """One update that is stopped on its way, and one of each of these callers that come meanwhile."""
    answers: dict[int, NowUpdated | HoldfastError] = {}

    async def one(number: int, caller: Caller) -> None:
        try:
            answers[number] = await update(memory, f"item {number}", caller=caller)
        except HoldfastError as error:
            answers[number] = error

    files.armed = True
    before = Counting.asked
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(one, 0, CALLER)
        await files.began.wait()
        for number, caller in enumerate(callers, 1):
            tasks.start_soon(one, number, caller)
        with anyio.fail_after(GENEROUS):
            while Counting.asked < before + 1 + len(callers):
                await checkpoint()
        files.refuse = FULL in callers
        files.go_on.set()
    return [answers[number] for number in sorted(answers)]


async def test_updates_that_wait_are_written_together_and_each_is_kept(tmp_path: Path) -> None:
    files = Pausing("swap")
    async with living(tmp_path, files=files) as memory:
        await update(memory, "old")
        answers = await crowd(memory, files, *[CALLER] * 20)
        found = (await read(memory)).now
        log = await memory.attend(read_daily)
    changes = [answer.change_id for answer in answers if isinstance(answer, NowUpdated)]
    assert len(changes) == 21
    assert len(set(changes)) == 2
    assert found.recent_completions == ("old", *(f"item {number}" for number in range(21)))
    assert found.current_task == "after item 20"
    assert all(log.count(f"- [x] item {number}\n") == 1 for number in range(21))
    assert memory.ports.joined == {}


async def test_what_leaves_now_in_the_same_change_is_logged_once(tmp_path: Path) -> None:
    files = Pausing("swap")
    async with living(tmp_path, files=files) as memory:
        await update(memory, "old")
        await crowd(memory, files, *[Caller(None, "a test", "pytest")] * 3)
        long = ["x" * 3900 + str(number) for number in range(4)]
        async with anyio.create_task_group() as tasks:
            for item in long:
                tasks.start_soon(update, memory, item)
        log = await memory.attend(read_daily)
    assert all(log.count(f"- [x] {item}\n") == 1 for item in long)


async def test_the_journal_names_each_caller_with_what_is_theirs(tmp_path: Path) -> None:
    files = Pausing("swap")
    async with living(tmp_path, files=files) as memory:
        await update(memory, "old")
        answers = await crowd(memory, files, CALLER, OTHER, CALLER, OTHER)
    told = {line["change"]: (line["by"], line["source"]) for line in lines(tmp_path)}
    changes = [answer.change_id for answer in answers if isinstance(answer, NowUpdated)]
    assert [told[change] for change in changes] == [
        (caller.principal, caller.source) for caller in (CALLER, CALLER, OTHER, CALLER, OTHER)
    ]


async def test_updates_that_are_too_much_together_are_made_each_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = Pausing("swap")
    async with living(tmp_path, files=files) as memory:
        await update(memory, "old")
        monkeypatch.setattr(daily, "LARGEST_PAGE", len((await memory.attend(read_daily)).encode()) + 180)
        answers = await crowd(memory, files, *[CALLER] * 20)
        log = await memory.attend(read_daily)
    kept = [number for number, answer in enumerate(answers) if isinstance(answer, NowUpdated)]
    assert 1 < len(kept) < 20
    assert all(isinstance(answer, LimitExceededError) for answer in answers if not isinstance(answer, NowUpdated))
    assert [f"- [x] item {number}\n" in log for number in range(21)] == [number in kept for number in range(21)]


async def test_a_full_disk_refuses_all_that_were_to_be_written_together_and_keeps_none(tmp_path: Path) -> None:
    files = Pausing("swap")
    async with living(tmp_path, files=files) as memory:
        await update(memory, "old")
        answers = await crowd(memory, files, *[FULL] * 5)
        files.refuse = False
        found = (await read(memory)).now
    assert [isinstance(answer, NowUpdated) for answer in answers] == [True, *[False] * 5]
    assert found.recent_completions == ("old", "item 0")


async def test_what_a_killed_server_left_half_done_is_settled_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _handle: None)
    seen = set()
    async with living(tmp_path) as memory:
        await update(memory, "old")
        for number in range(1000):
            files = Failing(number, stays=True, steps=CHANGING, torn=False)
            dying = memory_on(tmp_path, files=files)
            await read(dying)
            files.armed = True
            with suppress(HoldfastError):
                await update(dying, f"step {number}")
            store = dying.ports.store
            assert isinstance(store, NoteFiles)
            let_go(store)
            await dying.ports.index.aclose()
            is_new = f"step {number}" in (await read(memory)).now.recent_completions
            assert (f"- [x] step {number}\n" in await memory.attend(read_daily)) == is_new
            assert memory.ports.store.open_changes == 0
            seen.add(is_new)
            if not files.fired:
                break
    assert seen == {True, False}
