"""A full memory takes nothing more, says so, and goes on with everything else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from holdfast.app import build_memory
from holdfast.engine.admin.notes import Edit, update_note
from holdfast.engine.agent.feedback import MarkOutdated, mark_outdated
from holdfast.engine.agent.remember import Duplicate
from holdfast.engine.omi.now import NowUpdate, now_update
from holdfast.engine.runtime import Memory
from holdfast.engine.state import Quota
from holdfast.errors import QuotaExceededError, SettingsError
from holdfast.settings import load_settings
from holdfast.store.stored import Change
from served import kept_in
from worlds import CALLER, ask, deleted, found, keep, living, memory_on, show, until

pytestmark = pytest.mark.anyio

LARGE = "A long paragraph about the harbour and its cranes. " * 5000  # a quarter of a MiB


@asynccontextmanager
async def limited(home: Path, notes: int = 0, mebibytes: int = 0) -> AsyncIterator[Memory]:
    memory = memory_on(home)
    memory.ports = replace(memory.ports, quota=Quota(notes, mebibytes))
    async with memory.running():
        yield memory


def files_in(home: Path) -> int:
    """Notes' files besides Self."""
    return sum("mem_0000000000000000" not in path.name for path in kept_in(home).glob("memories/*/*.md"))


async def test_a_full_memory_takes_no_note_more_and_names_the_setting(tmp_path: Path) -> None:
    async with limited(tmp_path, notes=3) as memory:
        for number in range(3):
            await keep(memory, f"Crane {number} lifts {number} tonnes.")
        with pytest.raises(QuotaExceededError, match="HOLDFAST_MAX_NOTES"):
            await keep(memory, "One too many.")
        assert files_in(tmp_path) == 3
        assert found(await ask(memory, "One too many")) == []


async def test_reading_retiring_deleting_and_notes_of_the_day_go_on_when_it_is_full(tmp_path: Path) -> None:
    async with limited(tmp_path, notes=2) as memory:
        first = await keep(memory, "The crane lifts forty tonnes.")
        second = await keep(memory, "The lantern hangs in the hall.")
        assert found(await ask(memory, "what does the crane lift?")) == [first.note.content]
        assert (await show(memory, first.note.id)).note.content == first.note.content
        assert isinstance(await keep(memory, "The crane lifts forty tonnes."), Duplicate)
        await memory.attend(lambda ports: now_update(ports, CALLER, NowUpdate(current_task="make room")))
        await memory.attend(lambda ports: mark_outdated(ports, CALLER, MarkOutdated(first.note.id, "wrong")))
        await memory.attend(lambda ports: update_note(ports, CALLER, Edit(second.note.id, content="Shorter.")))
        await deleted(memory, first.note.id)
        await keep(memory, "There is room again.")
        with pytest.raises(QuotaExceededError):
            await keep(memory, "But for one note alone.")


async def test_bytes_are_limited_too_and_a_note_may_not_grow_past_them(tmp_path: Path) -> None:
    async with limited(tmp_path, mebibytes=1) as memory:
        kept = [await keep(memory, f"{number} {LARGE}") for number in range(3)]
        small = await keep(memory, "A short one.")
        await keep(memory, f"3 {LARGE}")
        with pytest.raises(QuotaExceededError, match="HOLDFAST_MAX_NOTES_MIB"):
            await keep(memory, f"4 {LARGE}")
        with pytest.raises(QuotaExceededError):
            await memory.attend(lambda ports: update_note(ports, CALLER, Edit(small.note.id, content=LARGE)))
        await deleted(memory, kept[0].note.id)
        await memory.attend(lambda ports: update_note(ports, CALLER, Edit(small.note.id, content=LARGE)))


async def test_what_is_there_counts_right_after_a_restart(tmp_path: Path) -> None:
    async with living(tmp_path) as memory:
        for number in range(4):
            await keep(memory, f"Crane {number} lifts {number} tonnes.")
    for path in (tmp_path / ".holdfast").glob("index.db*"):
        path.unlink()
    async with limited(tmp_path, notes=4) as memory:
        with pytest.raises(QuotaExceededError):
            await keep(memory, "One too many.")


async def test_hand_edits_count_and_are_never_refused(tmp_path: Path) -> None:
    async with limited(tmp_path, notes=2) as memory:
        await keep(memory, "The crane lifts forty tonnes.")
        folder = kept_in(tmp_path) / "memories" / "global"
        folder.mkdir(exist_ok=True)
        for name in ("one", "two"):
            (folder / f"{name}.md").write_text(f"The {name} lantern was lit by hand.\n")

        async def is_seen() -> bool:
            return len(found(await ask(memory, "which lantern was lit by hand?"))) == 2

        with anyio.fail_after(60):
            while not await is_seen():  # noqa: ASYNC110 - a folder tells nobody
                await anyio.sleep(0.05)
        with pytest.raises(QuotaExceededError):
            await keep(memory, "One too many.")
        for name in ("one", "two"):
            next(path for path in folder.glob("*.md") if path.read_text().find(f"The {name} lantern") >= 0).unlink()
        await until(lambda: len(list(folder.glob("*.md"))) <= 1)
        with anyio.fail_after(60):
            while await is_seen() or found(await ask(memory, "which lantern was lit by hand?")):  # noqa: ASYNC110
                await anyio.sleep(0.05)
        await keep(memory, "There is room again.")


async def test_many_at_once_do_not_pass_the_limit_together(tmp_path: Path) -> None:
    outcomes: list[bool] = []

    async with limited(tmp_path, notes=6) as memory:
        await keep(memory, "A first note, with which Self comes.")

        async def store(number: int) -> None:
            try:
                await keep(memory, f"Crane {number} lifts {number} tonnes.")
            except QuotaExceededError:
                outcomes.append(False)
            else:
                outcomes.append(True)

        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(store, number)
    assert outcomes.count(True) == 5
    assert files_in(tmp_path) == 6


async def test_a_change_that_fails_gives_its_room_back(tmp_path: Path) -> None:
    async def usage() -> tuple[int, int]:
        return 0, 0

    async with limited(tmp_path, notes=1) as memory:
        note = (await keep(memory, "The crane lifts forty tonnes.")).note
    quota = Quota(1)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            async with quota.room([Change(None, note)], usage):
                raise ZeroDivisionError
    async with quota.room([Change(None, note)], usage):
        pass


@pytest.mark.files("it keeps no notes")
def test_the_settings_have_bounds_and_are_off_by_default(tmp_path: Path) -> None:
    home = {"HOLDFAST_HOME": str(tmp_path), "HOLDFAST_ENCODER": "none"}
    settings = load_settings(home)
    assert (settings.max_notes, settings.max_notes_mib) == (0, 0)
    for name in ("MAX_NOTES", "MAX_NOTES_MIB"):
        for value in ("-1", "many", "99999999"):
            with pytest.raises(SettingsError):
                load_settings({**home, f"HOLDFAST_{name}": value})


async def test_the_settings_reach_the_memory(tmp_path: Path) -> None:
    memory = build_memory(
        load_settings({"HOLDFAST_HOME": str(tmp_path), "HOLDFAST_ENCODER": "none", "HOLDFAST_MAX_NOTES": "1"})
    )
    async with memory.running():
        await keep(memory, "The crane lifts forty tonnes.")
        with pytest.raises(QuotaExceededError):
            await keep(memory, "One too many.")
