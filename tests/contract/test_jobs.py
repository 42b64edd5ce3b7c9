"""Jobs: what fades leaves the working tier and comes back when it is used; once a day, in one process at a time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import anyio
import pytest

import holdfast.engine.jobs.changes
import holdfast.engine.jobs.daily
from holdfast.engine.jobs.daily import JOBS
from holdfast.model.lifecycle import CORE_CAP
from holdfast.model.note import instant
from processes import PATIENCE, ROOT, until
from served import ERAS, SELF, Agent, Clock, journal_in, kept_in, serving

pytestmark = pytest.mark.anyio


@contextmanager
def busy_house() -> Iterator[None]:
    """Jobs begin at once, look again all the time and give way to nobody."""
    with (
        patch.object(holdfast.engine.jobs.daily, "START_SECONDS", 0.0),
        patch.object(holdfast.engine.jobs.daily, "LOOK_SECONDS", 0.02),
        patch.object(holdfast.engine.jobs.daily, "_PAUSE_SECONDS", 0.0),
        patch.object(holdfast.engine.jobs.daily, "_SHARE", 0.0),
    ):
        yield


@pytest.fixture
async def tended(anyio_backend: str, era: str, tmp_path: Path) -> AsyncIterator[Agent]:
    with busy_house():
        async with serving(tmp_path / "home", era) as agent:
            yield agent


def lines(agent: Agent, op: str) -> list[dict[str, Any]]:
    return [line for line in agent.journal() if line.get("op") == op]


def runs(agent: Agent, name: str) -> int:
    return len([line for line in lines(agent, "job") if line["job"]["name"] == name])


async def a_day_passes(agent: Agent, **amount: float) -> None:
    """Time goes by, and every job is done once more."""
    agent.clock.forward(**(amount or {"days": 1}))
    now = instant(agent.clock())
    names = {job.name for job in JOBS} - {"forgetting"}  # which is off, or comes before the last of them
    await until_true(lambda: {line["job"]["name"] for line in later(agent, now)} >= names)


def later(agent: Agent, than: str) -> list[dict[str, Any]]:
    return [line for line in lines(agent, "job") if line["at"] >= than]


async def until_true(condition: Any) -> None:
    with anyio.fail_after(PATIENCE):
        while not condition():  # noqa: ASYNC110 - it is about the disk, which tells nobody
            await anyio.sleep(0.03)


async def tier(agent: Agent, note_id: str) -> str:
    """By a look that is no use."""
    text = agent.file_of(note_id).read_text("utf-8")
    return str(json.loads(text.partition("\ntier: ")[2].partition("\n")[0]))


async def test_a_note_that_nobody_uses_goes_to_archival_after_a_week_and_comes_back_with_its_use(tended: Agent) -> None:
    note = (await tended.remember("The crane lifts forty tonnes."))["id"]
    before = tended.file_of(note).read_bytes()
    await a_day_passes(tended, days=6)
    assert tended.file_of(note).read_bytes() == before
    await a_day_passes(tended, days=2)
    assert await tier(tended, note) == "archival"
    assert tended.file_of(note).read_bytes() == before.replace(b'"working"', b'"archival"')
    [demoted] = lines(tended, "demote")
    assert (demoted["source"], demoted["by"]) == ("holdfast", "holdfast")
    assert (await tended.recall("crane forty tonnes")).found == [note]
    await a_day_passes(tended)
    assert await tier(tended, note) == "archival"  # to be found is no use
    assert (await tended.node(note))["tier"] == "archival"
    await a_day_passes(tended)
    assert await tier(tended, note) == "working"
    assert [line["op"] for line in tended.journal() if line["op"] in {"demote", "promote"}] == ["demote", "promote"]


@pytest.mark.parametrize("era", ERAS[:1])
async def test_a_note_that_helps_now_and_then_stays(tended: Agent) -> None:
    used, helped, idle = [(await tended.remember(f"{word} is by the quay."))["id"] for word in ("Tug", "Buoy", "Lock")]
    for _ in range(4):
        await a_day_passes(tended, days=5)
        await tended.node(used)
        await tended.rate(helped, 1)
    assert [await tier(tended, note) for note in (used, helped, idle)] == ["working", "working", "archival"]


@pytest.mark.parametrize("era", ERAS[:1])
async def test_what_is_about_the_user_core_or_retired_never_fades(tended: Agent) -> None:
    mine = (await tended.remember("Prefers tea.", about_self=True))["id"]
    core = (await tended.remember("Ships over 80 m need a pilot.", tier="core"))["id"]
    wrong = (await tended.remember("The crane is red."))["id"]
    await tended.outdate(wrong)
    await a_day_passes(tended, days=400)
    assert [await tier(tended, note) for note in (SELF, mine, core, wrong)] == ["core", "working", "core", "working"]


async def test_a_use_counts_once_a_day_and_outlives_the_index(era: str, tmp_path: Path) -> None:
    clock = Clock()
    async with serving(tmp_path / "home", era, clock=clock) as agent:
        note = (await agent.remember("The crane lifts forty tonnes."))["id"]
        for _ in range(3):
            await agent.node(note)
        clock.forward(days=5)
        await agent.node(note)
        assert [line["use"] for line in lines(agent, "use")] == [{"note": note}] * 2
        await agent.node(SELF)
        assert len(lines(agent, "use")) == 2
    for path in (tmp_path / "home" / ".holdfast").glob("index.db*"):
        path.unlink()
    with busy_house():
        async with serving(tmp_path / "home", era, clock=clock) as agent:
            await a_day_passes(agent, days=6)
            assert await tier(agent, note) == "working"


@pytest.mark.parametrize("era", ERAS[:1])
async def test_a_job_runs_once_a_day_also_after_a_restart_without_the_index(era: str, tmp_path: Path) -> None:
    clock = Clock()
    with busy_house():
        async with serving(tmp_path / "home", era, clock=clock) as agent:
            await anyio.sleep(0.1)
            assert not list(kept_in(tmp_path / "home").glob("journal/*"))  # nothing is tended where nothing is
            await agent.remember("The crane lifts forty tonnes.")
            await until_true(lambda: runs(agent, "retention"))
        for path in (tmp_path / "home" / ".holdfast").glob("index.db*"):
            path.unlink()
        async with serving(tmp_path / "home", era, clock=clock) as agent:
            clock.forward(hours=23)
            await agent.recall("crane")
            await anyio.sleep(0.2)
            assert runs(agent, "importance") == runs(agent, "decay") == 1
            await a_day_passes(agent, hours=2)
            assert runs(agent, "importance") == runs(agent, "decay") == 2
            clock.forward(days=-400)
            await until_true(lambda: runs(agent, "retention") == 3)
            await anyio.sleep(0.2)
            assert runs(agent, "retention") == 3  # a clock that went back makes nobody hurry


@pytest.mark.parametrize("era", ERAS[:1])
async def test_jobs_can_be_switched_off(era: str, tmp_path: Path) -> None:
    with busy_house():
        async with serving(tmp_path / "home", era, jobs=False) as agent:
            await agent.remember("The crane lifts forty tonnes.")
            agent.clock.forward(days=30)
            await anyio.sleep(0.2)
            assert lines(agent, "job") == []


@pytest.fixture
def small_core() -> Iterator[None]:
    with patch.object(holdfast.engine.jobs.changes, "CORE_CAP", 5):
        yield


@pytest.mark.usefixtures("small_core")
async def test_core_is_bounded_self_counted(tended: Agent) -> None:
    assert CORE_CAP == 50
    core = [(await tended.remember(f"Rule {number} of the port.", tier="core"))["id"] for number in range(4)]
    assert [await tier(tended, note) for note in core] == ["core"] * 4
    await tended.node(core[0])
    await a_day_passes(tended)
    last = await tended.remember("The most important rule.", tier="core")
    assert any("Core holds 5 " in notice for notice in last["notices"])
    tiers = [await tier(tended, note) for note in core]
    assert tiers.count("working") == 1
    assert tiers[0] == await tier(tended, last["id"]) == await tier(tended, SELF) == "core"
    by_hand = tended.write_by_hand("harbour/mine.md", "---\ntier: core\n---\nA rule by hand.\n")
    await until_true(lambda: "\nid:" in by_hand.read_text("utf-8"))  # until then it is left to who edits it
    await a_day_passes(tended)
    files = [file.read_text("utf-8") for file in (tended.files / "memories").rglob("*.md")]
    assert len([text for text in files if "tier: core" in text.replace('"', "")]) == 5


@pytest.mark.parametrize("era", ERAS[:1])
async def test_a_note_of_no_space_gets_that_of_most_of_its_neighbours(era: str, tmp_path: Path) -> None:
    with busy_house():
        async with serving(tmp_path / "home", era, http=True, space=None) as agent:
            here = {"space": "harbour"}
            placed, meant, torn = [
                (await agent.remember(text, **where))["id"]
                for text, where in (
                    ("Cranes need oil.", {}),
                    ("Oil is dear.", {"space": "global"}),
                    ("Oil floats.", {}),
                )
            ]
            for number in range(3):
                await agent.remember(f"Pier {number} has a winch.", links=[placed, meant, SELF], **here)
            await agent.remember("Winches rust.", links=[torn], **here)
            await agent.remember("Rust is red.", links=[torn], space="paint")
            await a_day_passes(agent)
            spaces = [(await agent.node(note))["space"] for note in (placed, meant, torn, SELF)]
            assert spaces == ["harbour", "global", "global", "global"]
            assert len(lines(agent, "cluster")) == 1


@pytest.mark.parametrize("era", ERAS[:1])
async def test_nothing_is_forgotten_unless_that_is_switched_on(tended: Agent) -> None:
    note = (await tended.remember("The crane lifts forty tonnes."))["id"]
    for _ in range(3):
        await a_day_passes(tended, days=200)
    assert await tier(tended, note) == "archival"


@pytest.mark.parametrize("era", ERAS[:1])
async def test_forgetting_goes_by_the_trash_and_spares_what_helped(era: str, tmp_path: Path) -> None:
    clock = Clock()
    with busy_house():
        async with serving(tmp_path / "home", era, clock=clock, forgetting=True) as agent:
            names = ("Tug", "Buoy", "Lock")
            idle, helped, core = [
                (await agent.remember(f"{name} is by the quay.", tier="core" if name == "Lock" else "working"))["id"]
                for name in names
            ]
            await agent.rate(helped, 1)
            await a_day_passes(agent, days=60)
            assert await tier(agent, idle) == "archival"
            await a_day_passes(agent, days=60)
            assert await tier(agent, idle) == "archival"
            await a_day_passes(agent, days=100)
            kept = sorted(path.name for path in (agent.files / "memories").rglob("*.md"))
            assert not any(idle in name for name in kept)
            assert all(any(note in name for name in kept) for note in (helped, core, SELF))
            trash = [path for path in (agent.files / "trash").iterdir() if path.is_file()]
            assert [idle in path.name for path in trash] == [True]
            await a_day_passes(agent, days=20)
            assert trash[0].exists()
            forgotten = lines(agent, "forget")[0]["files"][0]["before"]
            assert (agent.files / "history" / f"{forgotten}.md").exists()
            await a_day_passes(agent, days=11)
            assert not trash[0].exists()
            assert not (agent.files / "history" / f"{forgotten}.md").exists()


@pytest.mark.parametrize("era", ERAS[:1])
async def test_what_is_purged_after_a_month_takes_no_past_of_a_note_that_was_brought_back(
    era: str, tmp_path: Path
) -> None:
    with busy_house():
        async with serving(tmp_path / "home", era, clock=Clock(), forgetting=True, admin=True) as agent:
            back, gone = [(await agent.remember(f"{name} is by the quay."))["id"] for name in ("Tug", "Buoy")]
            for days in (60, 60, 100):
                await a_day_passes(agent, days=days)
            await agent.call("admin_restore_memory", node_id=back)
            before = agent.file_of(back).read_bytes()
            edit = await agent.call("admin_update_memory", node_id=back, content="Tug is at the pier.")
            await a_day_passes(agent, days=31)
            assert not any(gone in path.name for path in (agent.files / "trash").iterdir())
            await agent.call("admin_undo", change_id=edit["change_id"])
            assert agent.file_of(back).read_bytes() == before


@pytest.mark.files("its workers keep a folder; those of a database are leased, which tests/fleet shows")
def test_another_process_takes_over_when_the_one_that_tends_is_killed(tmp_path: Path) -> None:
    with worker(tmp_path, "stall") as first:
        assert next(said(first)) == "at work"
        with worker(tmp_path) as second:
            assert next(said(second)) == "waits"
            assert not [line for line in journal_in(tmp_path) if line.get("op") == "job"]
            first.kill()
            until(lambda: any(line.get("job", {}).get("name") == "retention" for line in journal_in(tmp_path)))


@contextmanager
def worker(home: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "server")}
    command = [sys.executable, str(ROOT / "tests" / "support" / "jobs_worker.py"), str(home), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def said(process: subprocess.Popen[str]) -> Iterator[str]:
    assert process.stdout is not None
    return (line.strip() for line in process.stdout)
