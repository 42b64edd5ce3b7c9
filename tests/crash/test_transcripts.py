"""The queue of what was said: no turn twice and none lost, with kills, with two processes at once, on a full disk."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import anyio
import pytest

from conftest import Effort
from holdfast.engine.runtime import Memory
from holdfast.model.transcripts.pieces import Piece
from mounts import MOUNTING, can_mount
from processes import ROOT
from sessions import claude_session
from transcripts_worker import built, distil_some, take

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300), pytest.mark.skipif(sys.platform == "win32", reason="forks")]


def worker(*arguments: object, before: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    """A process that kills those that it makes."""
    path = os.pathsep.join([str(ROOT / "server"), str(ROOT / "tests" / "support")])
    command = [*before, sys.executable, str(ROOT / "tests" / "support" / "transcripts_worker.py"), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path})


async def test_processes_that_take_in_one_transcript_are_killed_and_no_turn_is_lost_or_kept_twice(
    tmp_path: Path, effort: Effort, tally: Counter[str]
) -> None:
    session, times = claude_session(tmp_path), effort.of(6, 200)
    session.path.parent.mkdir(parents=True)
    with worker("hand", tmp_path, times) as killer, session.path.open("ab") as file:
        while killer.poll() is None:  # the client writes all the time, each line in two halves
            line = (session.line("user", f"Turn {session.said}: {'word ' * 50}") + "\n").encode()
            for half in (line[: len(line) // 2], line[len(line) // 2 :]):
                file.write(half)
                file.flush()
                await anyio.sleep(0.002)
        tally["kills while a transcript is taken in"] += int(killer.communicate()[0])
    memory = built(tmp_path)
    async with memory.running():
        tally["turns that those had taken in"] += sum(len(piece.turns) for piece in await waiting(memory))
        while (await take(memory, session)).turns:
            pass
        said = [turn.text.partition(":")[0] for piece in await waiting(memory) for turn in piece.turns]
    assert sorted(said) == sorted(f"Turn {number}" for number in range(session.said))


async def waiting(memory: Memory) -> list[Piece]:
    queue = memory.ports.transcripts
    assert queue is not None
    names = iter(range(100_000))
    return await queue.offer("", memory.ports.now, "", 100_000, lambda _: True, lambda: f"pce_{next(names)}")


async def test_processes_that_distil_the_same_pieces_are_killed_and_each_becomes_a_note_once(
    tmp_path: Path, effort: Effort, tally: Counter[str]
) -> None:
    session, cranes = claude_session(tmp_path), effort.of(30, 600)
    for number in range(cranes):
        session.say(f"Crane CR-{1000 + number} stands at quay Q{number}.", "Noted. " + "word " * 200)
    memory = built(tmp_path)
    async with memory.running():
        await take(memory, session)
    with worker("distil", tmp_path, effort.of(5, 100)) as killer:
        tally["kills while sessions are distilled"] += int(killer.communicate()[0])
    tally["notes that those had stored"] += len(list((tmp_path / "memory" / "memories" / "harbour").glob("*.md")))
    memory = built(tmp_path)
    async with memory.running():
        while await distil_some(memory):
            pass
    texts = [path.read_text("utf-8") for path in (tmp_path / "memory" / "memories" / "harbour").glob("*.md")]
    stored = Counter(word for text in texts for word in text.split("---")[-1].split() if word.startswith("CR-"))
    assert stored == Counter({f"CR-{1000 + number}": 1 for number in range(cranes)})


@pytest.mark.skipif(not can_mount(), reason="no disk of its own can be mounted here")
def test_on_a_full_disk_nothing_is_taken_and_all_of_it_when_there_is_room(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = (*MOUNTING, "sh", "-c", 'mount -t tmpfs -o size=4m tmpfs "$0" && exec "$@"', str(disk))
    with worker("full", tmp_path, disk, before=mount) as filled:
        assert filled.wait() == 0
