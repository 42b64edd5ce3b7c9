"""The journal: checked lines, one sequence for everybody, and no half line whatever happens."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import zlib
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from holdfast.errors import StorageError
from holdfast.store.filesystem import FileSystem
from holdfast.store.folder import Folder
from holdfast.store.journal import Journal, line_of, read_line

pytestmark = pytest.mark.anyio

SERVER = Path(__file__).parents[2] / "server"
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 12, 1, tzinfo=UTC)


class Clock:
    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


class Broken(FileSystem):
    """A disk that writes half of what it is given, then fails, for as long as `broken` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.broken = False
        self.cut = True

    def append(self, path: Path, data: bytes, *, flush: bool) -> None:
        if self.broken:
            super().append(path, data[: len(data) // 2], flush=flush)
            raise OSError(28, "No space left on device")
        super().append(path, data, flush=flush)

    def truncate(self, path: Path, size: int) -> None:
        if self.broken and not self.cut:
            raise OSError(5, "Input/output error")
        super().truncate(path, size)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    found = Folder(tmp_path)
    found.journal.mkdir()
    return found


async def opened(folder: Folder, clock: Clock | None = None, files: FileSystem | None = None) -> Journal:
    journal = Journal(folder, files or FileSystem(), clock or Clock())
    await journal.open()
    return journal


def month(folder: Folder, name: str = "2026-11") -> Path:
    return folder.journal / f"{name}.jsonl"


def sequence(folder: Folder) -> list[int]:
    lines = [line for path in sorted(folder.journal.iterdir()) for line in path.read_bytes().split(b"\n")[:-1]]
    records = [read_line(line) for line in lines]
    assert None not in records
    return [record["seq"] for record in records if record]


def test_a_line_carries_its_checksum_and_its_length() -> None:
    line = line_of({"seq": 1, "at": "now", "text": "ü\u2028\n"})
    found = json.loads(line)
    rest = line.rstrip(b"\n").partition(b",")[2].partition(b",")[2]
    assert line.count(b"\n") == 1
    assert found["len"] == len(rest)
    assert int(found["sum"], 16) == zlib.crc32(rest)
    assert read_line(line.rstrip(b"\n")) == {"seq": 1, "at": "now", "text": "ü\u2028\n"}


def test_a_line_that_differs_in_any_byte_is_not_read() -> None:
    line = line_of({"seq": 1, "op": "remember"}).rstrip(b"\n")
    harmed = [line[:place] + bytes([line[place] ^ 1]) + line[place + 1 :] for place in range(len(line))]
    assert [each for each in harmed if read_line(each) is not None] == []
    assert [place for place in range(len(line)) if read_line(line[:place]) is not None] == []


@pytest.mark.parametrize(
    "path", ["../elsewhere.md", "/elsewhere.md", "here/../../elsewhere.md", "here//a.md", "a\0.md"]
)
@pytest.mark.parametrize("key", ["path", "aside"])
def test_a_line_that_names_a_file_outside_the_folder_is_not_read(key: str, path: str) -> None:
    file = {"note": "mem_1", "path": "here/a.md", "before": None, "after": None, "aside": "memories/here/.a.tmp"}
    record = {"seq": 1, "at": "2026-11-20T12:00:00Z", "op": "change", "change": "chg_1"}
    assert read_line(line_of({**record, "files": [file]}).rstrip(b"\n")) is not None
    assert read_line(line_of({**record, "files": [file | {key: path}]}).rstrip(b"\n")) is None


@pytest.mark.parametrize("left", [1, 20, -1])
async def test_a_torn_tail_is_cut_off_before_the_next_line(folder: Folder, left: int) -> None:
    first = await opened(folder)
    await first.append({"op": "one"})
    torn = line_of({"seq": 2, "op": "torn"})
    month(folder).write_bytes(month(folder).read_bytes() + torn[:left])
    second = await opened(folder)
    assert await second.append({"op": "two"}) == 2
    assert await first.append({"op": "three"}) == 3
    assert sequence(folder) == [1, 2, 3]
    assert b"torn" not in month(folder).read_bytes()


async def test_a_damaged_line_in_the_middle_is_skipped_and_counted(folder: Folder) -> None:
    journal = await opened(folder)
    for number in range(3):
        await journal.append({"op": f"op{number}"})
    month(folder).write_bytes(month(folder).read_bytes().replace(b"op1", b"opX"))
    again = await opened(folder)
    assert again.damaged == 1
    assert [record["op"] for record in again.records()] == ["op0", "op2"]
    assert await again.append({"op": "next"}) == 4


async def test_the_sequence_goes_on_over_months(folder: Folder) -> None:
    clock = Clock(MIDNIGHT - timedelta(hours=1))
    journal = await opened(folder, clock)
    await journal.append({"op": "old"})
    clock.now = MIDNIGHT + timedelta(hours=1)
    assert await journal.append({"op": "new"}) == 2
    assert [path.name for path in sorted(folder.journal.iterdir())] == ["2026-11.jsonl", "2026-12.jsonl"]
    assert await (await opened(folder, clock)).append({}) == 3


@pytest.mark.parametrize("back", [timedelta(hours=2), timedelta(days=400)])
async def test_a_clock_that_goes_back_changes_neither_the_order_nor_what_others_hear(
    folder: Folder, back: timedelta
) -> None:
    await (await opened(folder, Clock(NOON))).append({"op": "zero"})
    late = await opened(folder, Clock(MIDNIGHT + timedelta(hours=1)))
    early = await opened(folder, Clock(MIDNIGHT + timedelta(hours=1) - back))
    assert await late.append({"op": "a"}) == 2
    assert await early.append({"op": "b"}) == 3
    assert [record["op"] for record in await late.news()] == ["zero", "b"]
    assert await late.append({"op": "c"}) == 4
    assert [record["op"] for record in await early.news()] == ["zero", "a", "c"]
    assert [record["op"] for record in early.records()] == ["zero", "a", "b", "c"]


async def test_a_number_is_given_once_though_the_latest_months_are_empty(folder: Folder) -> None:
    journal = await opened(folder)
    assert await journal.append({"note": 1}) == 1
    journal.close()
    for name in ("2026-12", "2027-01", "2027-02"):  # of processes that died with the file made and nothing in it
        month(folder, name).touch()
    journal = await opened(folder, Clock(MIDNIGHT))
    assert [record["note"] for record in await journal.news()] == [1]
    assert await journal.append({"note": 2}) == 2
    assert sequence(folder) == [1, 2]
    journal.close()


async def test_news_of_a_month_that_another_clock_has_begun_are_heard(folder: Folder) -> None:
    early = await opened(folder, Clock(MIDNIGHT - timedelta(hours=1)))
    late = await opened(folder, Clock(MIDNIGHT))
    await late.append({"op": "a"})
    assert [record["op"] for record in await early.news()] == ["a"]


async def test_news_are_the_records_of_others_each_told_once(folder: Folder) -> None:
    mine, other = await opened(folder), await opened(folder)
    await other.append({"op": "theirs"})
    await mine.append({"op": "mine"})
    await other.append({"op": "theirs too"})
    assert [record["op"] for record in await mine.news()] == ["theirs", "theirs too"]
    assert await mine.news() == []


async def test_two_journals_in_threads_of_their_own_never_give_a_number_twice(folder: Folder) -> None:
    together = threading.Barrier(2)

    async def write(given: list[int]) -> None:
        journal = await opened(folder)
        together.wait()
        async with anyio.create_task_group() as tasks:
            for _ in range(40):
                tasks.start_soon(self_append, journal, given)

    async def self_append(journal: Journal, given: list[int]) -> None:
        given.append(await journal.append({"op": "x"}, flush=False))

    first: list[int] = []
    second: list[int] = []
    async with anyio.create_task_group() as tasks:
        for given in (first, second):
            tasks.start_soon(anyio.to_thread.run_sync, partial(anyio.run, write, given))
    assert sorted(first + second) == list(range(1, 81)) == sequence(folder)


WORKER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
import anyio
from holdfast.store.filesystem import FileSystem
from holdfast.store.folder import Folder
from holdfast.store.journal import Journal

async def main():
    journal = Journal(Folder(Path(sys.argv[1])), FileSystem(), lambda: datetime(2026, 11, 20, tzinfo=UTC))
    await journal.open()
    for _ in range(100):
        print(await journal.append({"op": "x"}, flush=False))

anyio.run(main)
"""


def process(home: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(SERVER)}
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, str(home)], env=environment, stdout=subprocess.PIPE, text=True
    )


async def test_processes_never_give_a_number_twice(folder: Folder) -> None:
    workers = [process(folder.home) for _ in range(3)]
    given = [int(number) for worker in workers for number in worker.communicate()[0].split()]
    assert sorted(given) == list(range(1, 301)) == sequence(folder)


async def test_an_append_that_fails_leaves_no_half_line(folder: Folder) -> None:
    files = Broken()
    journal = await opened(folder, files=files)
    await journal.append({"op": "one"})
    before = month(folder).read_bytes()
    files.broken = True
    with pytest.raises(StorageError, match="No space left"):
        await journal.append({"op": "two"})
    assert month(folder).read_bytes() == before
    files.broken = False
    assert await journal.append({"op": "three"}) > 1
    assert [record["op"] for record in journal.records()] == ["one", "three"]


async def test_a_half_line_that_could_not_be_cut_off_is_cut_off_later(folder: Folder) -> None:
    files = Broken()
    journal = await opened(folder, files=files)
    files.broken, files.cut = True, False
    with suppress(StorageError):
        await journal.append({"op": "two"})
    files.broken = False
    await journal.append({"op": "three"})
    assert [record["op"] for record in journal.records()] == ["three"]
    assert len(sequence(folder)) == 1


async def test_a_stray_file_among_the_months_is_left_alone(folder: Folder) -> None:
    stray = folder.journal / "zzz.jsonl"
    stray.write_text("mine\n")
    journal = await opened(folder)
    assert await journal.append({"op": "one"}) == 1
    assert stray.read_text() == "mine\n"
    assert month(folder).exists()
