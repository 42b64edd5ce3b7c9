"""A purge whose process is killed is finished by whoever comes next, or it never began."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from conftest import Effort
from holdfast.engine.admin.notes import Edit, update_note
from holdfast.model.records import checksum, sealed
from holdfast.store.journal import read_line
from processes import ROOT
from worlds import CALLER, keep, living, show

pytestmark = pytest.mark.anyio

EVER = 1_000_000
FERRY = "The ferry leaves at noon."


def ends(root: Path, note: str, steps: Sequence[int]) -> list[int]:
    """Exit codes of processes that purge the note in `root`/<step> and die at that step."""
    path = os.pathsep.join([str(ROOT / "server"), str(ROOT / "tests" / "support")])
    worker = [sys.executable, str(ROOT / "tests" / "support" / "purge_worker.py"), str(root), note, *map(str, steps)]
    done = subprocess.run(worker, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path})
    return [int(code) for code in done.stdout.split()]


def holding(home: Path) -> list[Path]:
    """Files of the folder that hold a word of the note, in their name or their bytes."""
    files = [path for path in home.rglob("*") if path.is_file()]
    return [path for path in files if b"zanzibar" in (str(path).encode() + path.read_bytes()).lower()]


@pytest.mark.timeout(300)
async def test_a_purge_that_is_killed_at_any_step_is_finished_or_never_began(
    tmp_path: Path, effort: Effort, tally: Counter[str]
) -> None:
    async with living(tmp_path / "home") as memory:
        note = (await keep(memory, "The zanzibar crane.", session="talk")).note.id
        ferry = (await keep(memory, FERRY, session="talk")).note.id
        for number in range(2):
            edit = Edit(note, content=f"The zanzibar crane, edition {number}.")
            await memory.attend(lambda ports, edit=edit: update_note(ports, CALLER, edit))
    told = {"beliefs": [{"memory_id": note, "title": "The zanzibar crane."}], "recent": [note, ferry]}
    (tmp_path / "home" / "capsules").mkdir()
    (tmp_path / "home" / "capsules" / "20261120T101500.000000Z.json").write_bytes(sealed(told))
    whole = {path.name: path.read_bytes() for path in (tmp_path / "home").glob("*/**/*.md")}
    counted = shutil.copytree(tmp_path / "home", tmp_path / str(EVER))
    assert ends(tmp_path, note, [EVER]) == [0]
    assert holding(counted) == []
    count = int((counted / "steps").read_text("utf-8"))
    steps = range(0, count, effort.of(max(1, count // 8), 1))
    homes = [shutil.copytree(tmp_path / "home", tmp_path / str(at)) for at in steps]
    assert set(ends(tmp_path, note, steps)) == {-signal.SIGKILL}
    found: Counter[str] = Counter()
    for home in homes:
        tally["kills of a purge"] += 1
        async with living(home) as memory:
            assert (await show(memory, ferry)).note.content == FERRY
            left = holding(home)
            [capsule] = [json.loads(path.read_bytes()) for path in (home / "capsules").glob("*.json")]
            assert capsule["checksum"] == checksum(capsule)
            assert ferry in capsule["recent"]
            found["never began" if left else "finished"] += 1
            if left:
                assert {path.name: path.read_bytes() for path in home.glob("*/**/*.md")} == whole
                assert (await show(memory, note)).note.content == "The zanzibar crane, edition 1."
        assert not (home / "trash" / "purge.json").exists()
        for file in (home / "journal").glob("*.jsonl"):
            assert all(read_line(line) is not None for line in file.read_bytes().splitlines())
    assert found["never began"]
    assert found["finished"] > found["never began"]
