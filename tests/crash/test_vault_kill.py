"""Backups beside writers, and processes that are killed while they back up or restore."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
from collections import Counter
from pathlib import Path

import anyio
import pytest

from conftest import Effort
from crowd import HANG
from forked import run
from holdfast.store.codec import parse
from processes import ROOT, environment_in, stdio, until
from served import ERAS
from vaults import fill, opened, tree, wreck

WRITERS = 4
EVER = 1_000_000


def work(home: Path, verb: str, backup_id: str, at: int) -> subprocess.CompletedProcess[bytes]:
    path = os.pathsep.join([str(ROOT / "server"), str(ROOT / "tests" / "support")])
    command = [sys.executable, ROOT / "tests" / "support" / "vault_worker.py", home, verb, backup_id, str(at)]
    return run(command, {**os.environ, "PYTHONPATH": path}, None)


async def backed_up(home: Path) -> str:
    async with opened(home) as store:
        return (await store.vault.back_up("a test")).backup_id


async def looked_at(home: Path) -> None:
    """Whatever counts as a backup is whole, and nothing half done is left behind the next one."""
    async with opened(home) as store:
        await store.vault.back_up("a test")
        backups = await store.vault.backups()
        for backup in backups:
            await store.vault.verify(backup.backup_id)
    names = sorted(path.name for path in (home / "vault").iterdir())
    assert names == sorted(f"{backup.backup_id}{end}" for backup in backups for end in (".json", ".tar.gz"))


@pytest.mark.timeout(300)
def test_a_backup_that_is_killed_at_any_step_leaves_no_half_backup(
    tmp_path: Path, effort: Effort, tally: Counter[str]
) -> None:
    fill(tmp_path / "home", 4)
    shutil.copytree(tmp_path / "home", tmp_path / "whole")  # the first backup of a folder has a step more than others
    steps = range(int(work(tmp_path / "whole", "back_up", "", EVER).stdout))
    for at in random.Random(5).sample(steps, min(len(steps), effort.of(8, len(steps)))):  # noqa: S311 - no secret
        home = tmp_path / str(at)
        shutil.copytree(tmp_path / "home", home)
        before = tree(home)
        assert work(home, "back_up", "", at).returncode == -signal.SIGKILL
        assert tree(home) == before
        anyio.run(looked_at, home)
        tally["kills survived"] += 1


@pytest.mark.timeout(300)
def test_a_restore_that_is_killed_at_any_step_is_finished_or_never_happened(
    tmp_path: Path, effort: Effort, tally: Counter[str]
) -> None:
    fill(tmp_path / "home", 4)
    kept = tree(tmp_path / "home")
    backup_id = anyio.run(backed_up, tmp_path / "home")
    wreck(tmp_path / "home")
    wrecked = tree(tmp_path / "home")
    shutil.copytree(tmp_path / "home", tmp_path / "whole")
    steps = int(work(tmp_path / "whole", "restore", backup_id, EVER).stdout)
    assert tree(tmp_path / "whole") == kept
    late = range(max(0, steps - 40), steps)  # where the folder is exchanged
    wanted = {*random.Random(5).sample(late, effort.of(10, len(late))), *range(0, steps, effort.of(steps // 4, 1))}  # noqa: S311
    ends = set()
    for at in sorted(wanted):
        home = tmp_path / str(at)
        shutil.copytree(tmp_path / "home", home)
        assert work(home, "restore", backup_id, at).returncode == -signal.SIGKILL
        decided = (home / "vault" / "restore.json").exists() or any(
            '"op":"restore"' in file.read_text("utf-8") for file in (home / "journal").glob("*.jsonl")
        )
        anyio.run(looked_at, home)
        assert tree(home) == (kept if decided else wrecked), f"killed at step {at}"
        ends.add(decided)
        tally["kills survived"] += 1
    assert ends == {True, False}


@pytest.mark.timeout(300)
def test_a_living_server_finishes_the_restore_of_a_dead_process(environment: dict[str, str]) -> None:
    home = Path(environment["HOLDFAST_HOME"])
    with stdio(environment) as server:
        server.begin()
        server.tool("remember", content="The crane lifts forty tonnes.")
        backup_id = anyio.run(backed_up, home)
        server.tool("remember", content="The ferry leaves at noon.")
        steps = int(work(_copy(home), "restore", backup_id, EVER).stdout)
        for at in range(steps - 1, 0, -1):  # the last step before which it is decided and not done
            trial = _copy(home)
            work(trial, "restore", backup_id, at)
            if (trial / "vault" / "restore.json").exists():
                break
        assert work(home, "restore", backup_id, at).returncode == -signal.SIGKILL
        assert (home / "vault" / "restore.json").exists()
        assert server.contents("crane tonnes") == ["The crane lifts forty tonnes."]
        assert server.contents("ferry noon") == []
        assert not (home / "vault" / "restore.json").exists()
        assert not server.tool("remember", content="The tug is in dock.").get("isError")
        assert server.contents("tug dock") == ["The tug is in dock."]


def _copy(home: Path) -> Path:
    target = home.with_name("trial")
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(home, target)
    return target


class Writing(threading.Thread):
    """A server that stores pairs, of which the second note replaces the first, until it is told to stop."""

    def __init__(self, environment: dict[str, str], number: int) -> None:
        super().__init__(daemon=True)
        self._environment, self._number = environment, number
        self.pairs = 0
        self.begun, self.stop = threading.Event(), threading.Event()
        self.failed: list[object] = []

    def run(self) -> None:
        with stdio(self._environment, ERAS[self._number % 2]) as server:
            server.begin()
            while not self.stop.is_set():
                name = f"w{self._number}p{self.pairs}"
                first = server.tool("remember", content=f"{name} old: the tide table.")
                second = server.tool(
                    "remember", content=f"{name} new: the tide table.", supersedes=[first["structuredContent"]["id"]]
                )
                if second.get("isError"):
                    self.failed.append(second)
                self.pairs += 1
                self.begun.set()


@pytest.mark.timeout(300)  # four servers start at once
def test_a_backup_beside_four_writers_holds_whole_changes(tmp_path: Path, effort: Effort) -> None:
    home = tmp_path / "memory"
    writers = []
    for number in range(WRITERS):
        (tmp_path / str(number)).mkdir()
        environment = environment_in(tmp_path / str(number)) | {"HOLDFAST_HOME": str(home)}
        writers.append(Writing(environment, number))
    for writer in writers:
        writer.start()
    assert all(writer.begun.wait(HANG) for writer in writers)
    backups = []
    for _ in range(effort.of(4, 30)):
        reached = sum(writer.pairs for writer in writers)
        backups.append(anyio.run(backed_up, home))
        until(lambda reached=reached: sum(writer.pairs for writer in writers) > reached)
    for writer in writers:
        writer.stop.set()
        writer.join()
        assert writer.failed == []
    assert [assert_whole(home / "vault" / f"{backup}.tar.gz") for backup in backups][-1] > WRITERS


def assert_whole(archive: Path) -> int:
    """Every note can be read; of a pair the second is there if, and only if, the first says so. Returns the pairs."""
    olds, news = {}, set()
    with tarfile.open(archive) as opened_archive:
        for member in opened_archive:
            source = opened_archive.extractfile(member)
            assert source is not None
            data = source.read()
            if member.name.startswith("journal/"):
                assert all(json.loads(line) for line in data.splitlines() if line.endswith(b"}"))
            if not member.name.startswith("memories/"):
                continue
            document = parse(data)
            found = re.match(r"(w\d+p\d+) (old|new)", document.body)
            if found is None:
                assert document.values["about_self"]
                continue
            name, age = found.groups()
            if age == "old":
                olds[name] = bool(document.values.get("superseded_by"))
            else:
                news.add(name)
    assert {name for name, superseded in olds.items() if superseded} == news
    return len(news)
