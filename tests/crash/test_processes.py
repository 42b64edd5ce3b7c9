"""Four processes write into one folder at once: nothing is lost or doubled, and each sees what the others wrote."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager, ExitStack
from functools import partial
from pathlib import Path

import anyio
import pytest

from forked import begin_program
from holdfast.index.note_index import NoteIndex
from holdfast.index.rows import Place
from holdfast.store.codec import Surroundings, note_of, parse
from holdfast.store.filesystem import FileSystem
from holdfast.store.folder import Folder
from holdfast.store.journal import read_line
from holdfast.store.notes import NoteFiles
from ledger import notes_on
from worlds import SERVER, ask, keep, living, show

pytestmark = pytest.mark.anyio

PROCESSES, NOTES = 4, 12
SUPPORT = Path(__file__).parents[1] / "support"

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


# Stores the same notes as all others at the same moment, each in its own case and spacing and with a tag of its own.
SAME = """
import sys
from pathlib import Path
import anyio
from holdfast.engine.runtime import Memory
from worlds import keep, living

async def main(home, me, notes):
    async with living(Path(home)) as memory:
        print("ready", flush=True)
        await anyio.to_thread.run_sync(sys.stdin.readline)
        for number in range(notes):
            text = "  ".join(f"Everybody says item{number}".split())
            done = await keep(memory, text.upper() if me % 2 else text, tags=[f"by {me}"])
            print("kept", number, done.note.id, flush=True)

anyio.run(main, sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
"""


def started(home: Path, number: int, shared: str) -> subprocess.Popen[str]:
    return begun(WORKER, str(home), str(number), str(PROCESSES), str(NOTES), shared)


def begun(worker: str, *arguments: str) -> subprocess.Popen[str]:
    return begin_program(
        [sys.executable, "-c", worker, *arguments],
        env={"PYTHONPATH": f"{SERVER}:{SUPPORT}", "PATH": ""},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def lines_until_done(worker: subprocess.Popen[str]) -> list[list[str]]:
    assert worker.stdout is not None
    return [line.split() for line in iter(worker.stdout.readline, "done\n") if line]


async def test_eight_processes_that_store_the_same_at_one_moment_store_one_note(tmp_path: Path) -> None:
    async with living(tmp_path) as memory:
        await keep(memory, "There is a folder")
    with ExitStack() as stack:
        workers = [stack.enter_context(begun(SAME, str(tmp_path), str(number), "4")) for number in range(8)]
        for worker in workers:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write("go\n")
            worker.stdin.flush()
        answers = [line.split() for worker in workers for line in worker.communicate()[0].splitlines()]
    assert [answer[0] for answer in answers] == ["kept"] * 32
    ids = {number: {answer[2] for answer in answers if answer[1] == number} for number in "0123"}
    assert [len(found) for found in ids.values()] == [1, 1, 1, 1]
    notes = [note_of(parse(path.read_bytes()), Surroundings()) for path in (tmp_path / "memories").rglob("*.md")]
    stored = [note for note in notes if note.content.lower().startswith("everybody")]
    assert sorted(note.id for note in stored) == sorted(note_id for found in ids.values() for note_id in found)
    assert [set(note.tags) for note in stored] == [{f"by {number}" for number in range(8)}] * 4


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


# Stops when it has the number of its note, and again when the note is on the disk and not in the index.
HALTING = """
import sys
from contextlib import asynccontextmanager
from pathlib import Path
import anyio
from holdfast.index.note_index import NoteIndex
from holdfast.store.notes import NoteFiles
from worlds import ask, keep, living

commit = NoteFiles.commit

@asynccontextmanager
async def halting(self, *arguments):
    print("numbered", flush=True)
    await anyio.to_thread.run_sync(sys.stdin.readline)
    async with commit(self, *arguments) as done:
        yield done

async def apply(self, update):
    print("written", flush=True)
    await anyio.sleep_forever()

async def main(home):
    async with living(Path(home)) as memory:
        await keep(memory, "The first of them", session="the tide")
    # Closed, so that nobody has to settle the first one: its lock may be one with those that are held from here on.
    async with living(Path(home)) as memory:
        await ask(memory, "first")
        NoteFiles.commit, NoteIndex.apply = halting, apply
        await keep(memory, "The second of them", session="the tide")

anyio.run(main, sys.argv[1])
"""


def numbers_in(home: Path) -> list[int]:
    return sorted(note.seq for note in notes_on(home).values() if note.seq is not None)


def halting_worker(home: Path) -> subprocess.Popen[str]:
    return begin_program(
        [sys.executable, "-c", HALTING, str(home)],
        env={"PYTHONPATH": f"{SERVER}:{SUPPORT}", "PATH": ""},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


async def test_a_number_that_a_killed_process_gave_to_a_note_is_not_given_again(
    anyio_backend: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with halting_worker(tmp_path) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        assert await anyio.to_thread.run_sync(worker.stdout.readline) == "numbered\n"
        hold, waits = NoteFiles.hold, anyio.Event()

        def holding(self: NoteFiles, keys: Iterable[str]) -> AbstractAsyncContextManager[frozenset[str]]:
            waits.set()
            return hold(self, keys)

        async with living(tmp_path) as memory, anyio.create_task_group() as tasks:
            await ask(memory, "first")
            monkeypatch.setattr(NoteFiles, "hold", holding)
            tasks.start_soon(partial(keep, memory, "The third of them", session="the tide", space="work"))
            await waits.wait()  # it has looked at the folder, and waits for whoever numbers notes of this session
            print(file=worker.stdin, flush=True)
            assert await anyio.to_thread.run_sync(worker.stdout.readline) == "written\n"
            worker.kill()
    assert numbers_in(tmp_path) == [1, 2, 3]


async def test_a_number_is_not_taken_from_an_index_that_is_being_made(
    anyio_backend: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with living(tmp_path) as memory, anyio.create_task_group() as tasks:
        for content in ("The first of them", "The second of them"):
            await keep(memory, content, session="the tide")
        place, scan, enough = NoteIndex.place, NoteFiles.scan, anyio.Event()

        async def slow_scan(self: NoteFiles) -> object:
            await enough.wait()
            return await scan(self)

        async def late_place(self: NoteIndex, *arguments: object) -> Place:
            monkeypatch.setattr(NoteIndex, "place", place)
            for part in (tmp_path / ".holdfast").glob("index.db*"):
                part.unlink()
            monkeypatch.setattr(NoteFiles, "scan", slow_scan)
            tasks.start_soon(ask, memory, "first")
            with anyio.move_on_after(1):
                while self.lost:  # noqa: ASYNC110 - it is about the disk, which tells nobody
                    await anyio.sleep(0.01)
            try:
                return await place(self, *arguments)  # type: ignore[arg-type]
            finally:
                enough.set()

        monkeypatch.setattr(NoteIndex, "place", late_place)
        await keep(memory, "The third of them", session="the tide")
    assert numbers_in(tmp_path) == [1, 2, 3]
