"""A server that is killed in the middle of fifty stores: what it acknowledged is there, and nothing is half done."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from holdfast.store.codec import Surroundings, note_of
from holdfast.store.frontmatter import parse
from worlds import SERVER, ask, living, show

pytestmark = pytest.mark.anyio

WRITERS = 50
TESTS = Path(__file__).parents[1]

# Tells each answer on a line of its own the moment it has it: `new <word> <id> <id of what it replaces>`.
WORKER = """
import sys
from pathlib import Path
import anyio
from worlds import keep, living

async def store(memory, word, old):
    done = await keep(memory, f"The {word} is where it was left", supersedes=[old] if old else [])
    print("new", word, done.note.id, old, flush=True)
    return done.note.id

async def write(memory, round, number):
    last = ""
    for step in range(100):
        last = await store(memory, f"w{round}x{number}x{step}", last)

async def main(home, round, writers):
    async with living(Path(home)) as memory:
        print("ready", flush=True)
        async with anyio.create_task_group() as tasks:
            for number in range(writers):
                tasks.start_soon(write, memory, round, number)

anyio.run(main, sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
"""


@dataclass
class Told:
    """What killed servers had acknowledged: ids by word, and which note replaced which."""

    ids: dict[str, str] = field(default_factory=dict)
    replaced: dict[str, str] = field(default_factory=dict)

    def take(self, line: str) -> None:
        _, word, note_id, *old = line.split()
        self.ids[word] = note_id
        self.replaced |= dict.fromkeys(old, note_id)


def kill_after(home: Path, number: int, answers: int) -> Iterator[str]:
    """The lines that a worker wrote until it was killed, which is right after it gave so many answers."""
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(home), str(number), str(WRITERS)],
        env={"PYTHONPATH": f"{SERVER}:{TESTS}", "PATH": ""},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert worker.stdout is not None
    with worker:
        assert worker.stdout.readline() == "ready\n"
        for _ in range(answers):
            yield worker.stdout.readline()
        worker.kill()
        yield from worker.stdout
    assert worker.returncode == -signal.SIGKILL


def assert_no_file_is_torn_doubled_or_left(home: Path) -> None:
    files = list((home / "memories").rglob("*"))
    notes = [note_of(parse(path.read_bytes()), Surroundings()) for path in files if path.suffix == ".md"]
    assert [path.name for path in files if path.is_file() and path.suffix != ".md"] == []
    assert [path.name for path in (home / "history").rglob(".*")] == []
    assert list((home / "trash").rglob("*.md")) == []
    assert len({note.id for note in notes}) == len({note.content for note in notes}) == len(notes)
    there = {note.id for note in notes}
    assert {note.superseded_by for note in notes if note.superseded_by} <= there
    by_word = {note.content.split()[1]: note for note in notes if "x" in note.content.split()[1]}
    for word, note in by_word.items():
        stem, _, step = word.rpartition("x")
        if int(step) > 0:
            assert by_word[f"{stem}x{int(step) - 1}"].superseded_by == note.id


@pytest.mark.parametrize("seed", range(3))
async def test_what_was_acknowledged_before_a_kill_is_there_after_it(seed: int, tmp_path: Path) -> None:
    told = Told()
    moments = random.Random(seed)  # noqa: S311 - a moment, not a secret
    for number in range(2):
        for line in kill_after(tmp_path, number, moments.randrange(1, 2 * WRITERS)):
            if line.endswith("\n"):
                told.take(line)
    async with living(tmp_path) as memory:
        for word, note_id in told.ids.items():
            note = (await show(memory, note_id)).note
            assert note.content == f"The {word} is where it was left"
            if note_id in told.replaced:
                assert note.superseded_by == told.replaced[note_id]
        for word, note_id in list(told.ids.items())[:: max(1, len(told.ids) // 40)]:
            hits = (await ask(memory, word, include_outdated=True, limit=3)).hits
            assert note_id in [hit.note.id for hit in hits], word
    assert_no_file_is_torn_doubled_or_left(tmp_path)
