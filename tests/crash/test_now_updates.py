"""now_update is killed at every step: its pages are all old or all new, and nobody takes that for tampering."""

from __future__ import annotations

import shutil
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from disks import CHANGING, Failing
from holdfast.engine.omi.integrity import integrity_check
from holdfast.engine.omi.now import NowUpdate, now_read, now_update, read_daily
from holdfast.engine.ports import Caller
from holdfast.engine.runtime import Memory
from holdfast.errors import HoldfastError
from holdfast.store.notes import NoteFiles
from plans import leftovers, let_go
from worlds import living, memory_on

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300), pytest.mark.usefixtures("no_waiting_for_the_disk")]

CALLER = Caller("harbour", "a test", "pytest")


async def update(memory: Memory, task: str, done: str) -> None:
    request = NowUpdate(current_task=task, recent_completions=[done])
    await memory.attend(lambda ports: now_update(ports, CALLER, request))


@pytest.mark.parametrize("first", [True, False], ids=["the first update", "a later one"])
async def test_a_kill_at_any_step_of_an_update_leaves_all_pages_old_or_all_new(
    first: bool, tmp_path: Path, tally: Counter[str]
) -> None:
    template = tmp_path / "template"
    async with living(template) as memory:
        await memory.attend(lambda ports: now_read(ports, CALLER))
        if not first:
            await update(memory, "old", "a")
    outcomes = set()
    for number in range(1000):
        home = tmp_path / f"round-{number}"
        shutil.copytree(template, home)
        files = Failing(number, stays=True, steps=CHANGING, torn=False)
        dying = memory_on(home, files=files)
        await dying.attend(lambda ports: now_read(ports, CALLER))
        files.armed = True
        with suppress(HoldfastError):
            await update(dying, "new", "b")
        store = dying.ports.store
        assert isinstance(store, NoteFiles)
        let_go(store)
        await dying.ports.index.aclose()
        async with living(home) as heir:
            found = await heir.attend(lambda ports: now_read(ports, CALLER))
            log = await heir.attend(read_daily)
            report = await heir.attend(integrity_check)
        new = found is not None and found.now.current_task == "new"
        before = () if first else ("a",)
        assert (found.now.recent_completions if found else ()) == ((*before, "b") if new else before), number
        assert ("- [x] b\n" in log, "- [x] a\n" in log) == (new, not first), number
        assert len(list(home.glob("capsules/*.json"))) == len(before) + new, number
        assert report.overall_safe, (number, report.problems)
        assert leftovers(home) == [], number
        outcomes.add(new)
        tally["kills survived"] += files.fired
        shutil.rmtree(home)
        if not files.fired:
            assert new
            assert outcomes == {True, False}
            return
