"""Processes that take in a transcript, or distil what waits, until they are killed; and one whose disk is full.

transcripts_worker.py hand|distil HOME TIMES     children that are killed one after the other
transcripts_worker.py full HOME DISK             a memory on a small disk, which is filled up
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import anyio

import holdfast.app
from holdfast.engine import runtime as memories
from holdfast.engine.maintenance.batches import Verdicts, find_work, judge
from holdfast.engine.ports import Caller
from holdfast.engine.presence.distilling import ExtractionVerdict
from holdfast.engine.presence.taking import hand_over
from holdfast.engine.runtime import Memory
from holdfast.errors import StorageError
from holdfast.settings import load_settings
from mounts import fill
from sessions import Session, claude_session

WHO = Caller("harbour", "git folder", "claude-code")
PATIENCE = 60.0  # seconds
_DRAWN = random.Random(7)  # noqa: S311 - when a process dies


def built(home: Path, folder: Path | None = None) -> Memory:
    os.environ["HOME"] = str(home)
    return holdfast.app.build_memory(
        load_settings({"HOLDFAST_HOME": str(folder or home / "memory"), "HOLDFAST_ENCODER": "none"})
    )


async def take(memory: Memory, session: Session) -> Any:
    return await memory.attend_folder(
        lambda ports: hand_over(ports, WHO, path=str(session.path), session="", cwd="", event="Stop", last=None)
    )


async def hand(home: Path) -> None:
    memory = built(home)
    async with memory.running():
        while True:
            await take(memory, claude_session(home))


async def distil(home: Path) -> None:
    memory = built(home)
    async with memory.running():
        while await distil_some(memory):
            pass


async def distil_some(memory: Memory) -> bool:
    """Make a note of everything that the user said in a few pieces; whether there were any."""
    batch = await memory.attend(lambda ports: find_work(ports, WHO, ["extractions"]))
    verdicts = [
        ExtractionVerdict(piece.id, turn.text) for piece in batch.pieces for turn in piece.turns if turn.role == "user"
    ]
    await judge(memory, WHO, Verdicts(extractions=verdicts), batch.id)
    return bool(batch.pieces)


def killed(work: Any, home: Path, times: int) -> int:
    """Children at work, each killed a moment after one of them has written; returns how many were alive then."""
    alive, queue = 0, home / "memory" / "transcripts" / "queue.db"
    for _ in range(times):
        before = changed(queue)
        children = [os.fork() for _ in range(2) if os.getpid() == PARENT]
        if 0 in children or os.getpid() != PARENT:
            anyio.run(work, home)
            os._exit(0)
        deadline = time.monotonic() + PATIENCE
        while changed(queue) == before and any(map(is_at_work, children)):
            assert time.monotonic() < deadline, "no child has written anything"
            time.sleep(0.005)
        time.sleep(_DRAWN.uniform(0, 0.3))
        for child in children:
            os.kill(child, signal.SIGKILL)
            alive += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    return alive


def changed(path: Path) -> int:
    """When a file was written last; 0 where there is none."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def is_at_work(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


async def fills_up(home: Path, disk: Path) -> None:
    memory, session = built(home, disk / "memory"), claude_session(home)
    async with memory.running():
        session.say("First.", "Yes.")
        assert (await take(memory, session)).turns == 2
        for number in range(40):
            session.say(f"{number} " + "long " * 4000, "Yes.")
        fill(disk / "ballast", 0)
        for _ in range(3):
            try:
                await take(memory, session)
            except StorageError as error:
                assert "free space" in str(error), error  # noqa: PT017 - no test frame here
            else:
                raise AssertionError("a full disk took it")
        (disk / "ballast").unlink()
        told = await take(memory, session)
        assert (told.turns, told.waiting) == (80, 41), told


PARENT = os.getpid()

if __name__ == "__main__":
    os.umask(0o077)
    memories.START_SECONDS = 1e9
    mode, root, more = sys.argv[1:]
    if mode == "full":
        anyio.run(fills_up, Path(root), Path(more))
    else:
        sys.stdout.write(str(killed({"hand": hand, "distil": distil}[mode], Path(root), int(more))))
