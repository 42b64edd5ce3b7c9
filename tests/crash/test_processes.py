"""Four processes write into one folder at once: nothing is lost or doubled, and each sees what the others wrote."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from holdfast.store.codec import Surroundings, note_of
from holdfast.store.filesystem import FileSystem
from holdfast.store.folder import Folder
from holdfast.store.frontmatter import parse
from holdfast.store.journal import read_line
from worlds import SERVER, keep, living, show

pytestmark = pytest.mark.anyio

PROCESSES, NOTES = 4, 12
TESTS = Path(__file__).parents[1]

# Stores notes of its own, each replacing one that all share if it still can, and looks each up; then waits for a word
# on its input and finds every note of the others, in one recall each, before it has written anything more.
WORKER = """
import sys
from pathlib import Path
import anyio
from holdfast.errors import ConflictError
from worlds import ask, keep, living

async def store(memory, me, number, shared):
    done = await keep(memory, f"Process{me} says item{me}n{number}", supersedes=[shared], session="all of us")
    print("new", done.note.id, done.note.seq, flush=True)

async def main(home, me, processes, notes, shared):
    async with living(Path(home)) as memory:
        async with anyio.create_task_group() as tasks:
            for number in range(notes):
                tasks.start_soon(store, memory, me, number, shared)
        print("done", flush=True)
        await anyio.to_thread.run_sync(sys.stdin.readline)
        for other in range(processes):
            for number in range(notes):
                word = f"item{other}n{number}"
                hits = (await ask(memory, word, limit=5)).hits
                print("saw" if any(word in hit.note.content.split() for hit in hits) else "missed", word, flush=True)

anyio.run(main, sys.argv[1], *map(int, sys.argv[2:5]), sys.argv[5])
"""


def started(home: Path, number: int, shared: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, str(home), str(number), str(PROCESSES), str(NOTES), shared],
        env={"PYTHONPATH": f"{SERVER}:{TESTS}", "PATH": ""},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def lines_until_done(worker: subprocess.Popen[str]) -> list[list[str]]:
    assert worker.stdout is not None
    return [line.split() for line in iter(worker.stdout.readline, "done\n") if line]


async def test_four_processes_on_one_folder_lose_and_double_nothing_and_see_each_other(tmp_path: Path) -> None:
    async with living(tmp_path) as memory:
        shared = (await keep(memory, "What all of them want to replace")).note.id
    with ExitStack() as stack:
        workers = [stack.enter_context(started(tmp_path, number, shared)) for number in range(PROCESSES)]
        answers = [line for worker in workers for line in lines_until_done(worker)]
        told = [worker.communicate("look\n")[0].split() for worker in workers]
    stored = {note_id: int(seq) for _, note_id, seq in answers}
    assert len(stored) == PROCESSES * NOTES
    assert sorted(stored.values()) == list(range(1, PROCESSES * NOTES + 1))
    assert [word for words in told for word in words if word == "missed"] == []
    assert sum(words.count("saw") for words in told) == PROCESSES * PROCESSES * NOTES

    notes = [note_of(parse(path.read_bytes()), Surroundings()) for path in (tmp_path / "memories").rglob("*.md")]
    assert Counter(note.id for note in notes) == Counter([*stored, shared, "mem_0000000000000000"])
    assert len({note.content for note in notes}) == len(notes)
    async with living(tmp_path) as memory:
        assert (await show(memory, shared)).note.superseded_by in stored


async def test_the_journal_of_four_processes_is_one_sequence_without_a_gap_or_a_double(tmp_path: Path) -> None:
    async with living(tmp_path) as memory:
        shared = (await keep(memory, "What all of them want to replace")).note.id
    with ExitStack() as stack:
        workers = [stack.enter_context(started(tmp_path, number, shared)) for number in range(PROCESSES)]
        for worker in workers:
            lines_until_done(worker)
            worker.communicate("look\n")
    names = FileSystem().list_folder(Folder(tmp_path).journal)
    lines = [line for name in names for line in (tmp_path / "journal" / name).read_bytes().splitlines()]
    records = [read_line(line) for line in lines]
    assert None not in records
    assert [record["seq"] for record in records if record] == list(range(1, len(records) + 1))
