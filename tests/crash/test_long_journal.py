"""A start reads what is new in the journal and no more; what was changed behind its back is read anew, all of it."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import patch

import anyio
import pytest
import structlog.testing

from holdfast.store import journal
from holdfast.store.filesystem import FileSystem
from holdfast.store.journal import line_of, read_line
from holdfast.store.records import read_position, read_record
from plans import HALF_MADE, IDS, die_half_way, load_all, make_template
from worlds import keep, living, memory_on, show

pytestmark = pytest.mark.anyio

TABLES = ("history", "journal", "concerned", "feedback", "uses", "judged", "job_runs", "batches", "cursors")
NOW, BEFORE = "NOW.md", "0" * 64


class Counting(FileSystem):
    """Counts the bytes of the journal that are read."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def read(self, path: Path | str, most: int = -1, start: int = 0) -> bytes:
        data = super().read(path, most, start)
        self.bytes += len(data) if Path(path).parent.name == "journal" else 0
        return data


def month(home: Path) -> Path:
    return max((home / "journal").iterdir())


def grow(home: Path, lines: int, note: str) -> None:
    """So many lines more: uses of one note, each on a day of its own, and changes that came to nothing."""
    last = read_line(month(home).read_bytes().splitlines()[-1])
    assert last is not None
    made = [line(last["seq"] + number, note) for number in range(1, lines + 1)]
    made[0].pop("void", None)
    made[1].pop("void", None)
    with month(home).open("ab") as file:
        file.write(b"".join(line_of(record) for record in made))


def line(seq: int, note: str) -> dict[str, Any]:
    at = f"{1900 + seq // 300:04}-{seq % 12 + 1:02}-{seq % 28 + 1:02}T12:00:00Z"
    if seq % 2:
        return {"seq": seq, "at": at, "op": "use", "by": "local", "source": "a test", "use": {"note": note}}
    file = {"note": note, "path": "harbour/x.md", "before": BEFORE, "after": BEFORE, "aside": "memories/harbour/.x.tmp"}
    void = [f"chg_{seq - 2:016d}"]
    return {"seq": seq, "at": at, "op": "edit", "change": f"chg_{seq:016d}", "files": [file], "void": void}


async def started(home: Path, files: FileSystem | None = None) -> None:
    async with living(home, files=files) as memory:
        await show(memory, "mem_0000000000000000")


async def folder_with(home: Path, lines: int) -> None:
    async with living(home) as memory:
        note = (await keep(memory, "The tide table hangs in the kitchen.")).note.id
    grow(home, lines, note)
    await started(home)


async def bytes_of_a_start(home: Path) -> int:
    files = Counting()
    await started(home, files)
    return files.bytes


async def test_a_start_does_not_read_what_the_index_knows(tmp_path: Path) -> None:
    read: dict[int, int] = {}
    for lines in (500, 10_000):
        await folder_with(tmp_path / str(lines), lines)
        read[lines] = await bytes_of_a_start(tmp_path / str(lines))
        assert read[lines] < month(tmp_path / str(lines)).stat().st_size / 10
    assert read[10_000] < read[500] * 1.2


async def test_what_a_running_server_writes_is_known_to_the_next_start_though_it_was_killed(tmp_path: Path) -> None:
    home, killed = tmp_path / "home", tmp_path / "killed"
    memory = memory_on(home)  # nothing goes on in the background
    note = (await keep(memory, "The tide table hangs in the kitchen.")).note.id
    grow(home, 5000, note)
    await keep(memory, "The crane is painted yellow.")
    await memory._reconciler.keep_up()
    shutil.copytree(home, killed)  # as a kill leaves it
    await memory.aclose()
    assert await bytes_of_a_start(killed) < month(killed).stat().st_size / 10


def rows(home: Path) -> dict[str, list[Any]]:
    with closing(sqlite3.connect(home / ".holdfast" / "index.db")) as connection:
        return {name: sorted(connection.execute(f"SELECT * FROM {name}").fetchall(), key=str) for name in TABLES}  # noqa: S608


def cut(path: Path) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-20]))


def replace(path: Path) -> None:
    """A backup from before, that somebody has gone on from."""
    lines = path.read_bytes().splitlines(keepends=True)
    note = "mem_aaaaaaaaaaaaaaaa"
    path.write_bytes(b"".join([*lines[:20], *(line_of(line(seq, note)) for seq in range(1000, 1400))]))


def redate(path: Path) -> None:
    """Another history of exactly the same size, line by line: only what is in them tells."""
    records = [read_line(raw) for raw in path.read_bytes().splitlines()]
    told = [line_of(_without_sum(record, "2031")) for record in records if record is not None]
    assert sum(map(len, told)) == path.stat().st_size
    path.write_bytes(b"".join(told))


def _without_sum(record: dict[str, Any], year: str) -> dict[str, Any]:
    rest = {key: value for key, value in record.items() if key not in ("sum", "len")}
    return {**rest, "at": year + record["at"][4:]}


def rename(path: Path) -> None:
    path.rename(path.with_name("2001-01.jsonl"))


def take_away(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("change", [cut, replace, redate, rename, take_away])
async def test_a_journal_that_is_not_the_one_that_was_read_is_read_anew(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    home, anew = tmp_path / "home", tmp_path / "anew"
    await folder_with(home, 200)
    change(month(home))
    shutil.copytree(home, anew)
    shutil.rmtree(anew / ".holdfast")
    await started(home)
    await started(anew)
    assert rows(home) == rows(anew)


async def test_an_open_change_is_settled_however_much_was_written_after_it(tmp_path: Path) -> None:
    await make_template(tmp_path)
    memory = memory_on(tmp_path)  # nothing goes on in the background, which would settle it
    note = (await keep(memory, "The tide table hangs in the kitchen.")).note.id
    await die_half_way(tmp_path)
    announced = read_line(month(tmp_path).read_bytes().splitlines()[-1])
    assert announced is not None
    async with anyio.create_task_group() as tasks:  # all at once: they share their way to the disk
        for number in range(1500):
            said = read_record(line(2 * number + 1, note) | {"padding": "x" * 300})
            tasks.start_soon(memory.ports.store.record, said)
    await memory._reconciler.keep_up()
    known = await memory.ports.index.read(lambda view: view.known_journal())
    await memory.aclose()
    place = read_position(known.place)
    assert place is not None
    assert 0 < place.seq < announced["seq"]
    async with living(tmp_path) as memory:
        await show(memory, note)
        found = {stored.note.id: stored.note.content for stored in (await load_all(memory.ports.store)).values()}  # type: ignore[arg-type]
        assert {IDS[name]: text for name, text in HALF_MADE.items()}.items() <= found.items()
        assert await memory.ports.index.changes(IDS["a"]) == 2


async def test_damaged_lines_are_told_with_their_place_once_and_counted_ever_after(tmp_path: Path) -> None:
    await folder_with(tmp_path, 200)
    path = month(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[9] = lines[9].replace(b'"use"', b'"abc"').replace(b'"edit"', b'"abcd"')
    path.write_bytes(b"".join(lines))
    shutil.rmtree(tmp_path / ".holdfast")
    with structlog.testing.capture_logs() as told:
        await started(tmp_path)
        await started(tmp_path)
    said = [entry for entry in told if entry["event"] == "journal_damaged"]
    assert [(entry["lines"], entry["places"]) for entry in said] == [(1, [f"{path.name} line 10"])]


async def test_a_first_start_on_a_journal_that_nobody_knows_reads_every_line_once(tmp_path: Path) -> None:
    async with living(tmp_path) as memory:
        note = (await keep(memory, "The tide table hangs in the kitchen.")).note.id
    grow(tmp_path, 20_000, note)
    file = month(tmp_path)
    kept = [raw for raw in file.read_bytes().splitlines() if b'"settled":' not in raw]
    file.write_bytes(b"".join(raw + b"\n" for raw in kept))
    shutil.rmtree(tmp_path / ".holdfast")
    with patch.object(journal, "read_line", wraps=read_line) as reading:
        await started(tmp_path)
    assert (
        len(kept) <= reading.call_count < len(kept) * 1.8
    )  # of the latest, and of voids for ids that were given, once more
    assert rows(tmp_path)["uses"]


async def test_a_change_that_is_open_in_the_middle_of_an_unknown_journal_is_settled(tmp_path: Path) -> None:
    async with living(tmp_path) as memory:
        note = (await keep(memory, "The tide table hangs in the kitchen.")).note.id
    place = month(tmp_path)
    last = read_line(place.read_bytes().splitlines()[-1])
    assert last is not None
    paths = {"path": "harbour/y.md", "aside": "trash/y.md"}
    planned = {"note": "mem_01aaaaaaaaaaaaaa", "before": None, "after": BEFORE, **paths}
    mine = {
        "seq": last["seq"] + 1,
        "at": "2026-11-20T10:00:00Z",
        "op": "remember",
        "change": "chg_open",
        "files": [planned],
    }
    with place.open("ab") as file:
        file.write(line_of(mine))
    grow(tmp_path, 9000, note)
    kept = [raw for raw in place.read_bytes().splitlines() if b'"settled":' not in raw]
    place.write_bytes(b"".join(raw + b"\n" for raw in kept))
    shutil.rmtree(tmp_path / ".holdfast")
    await started(tmp_path)
    told = [record for raw in place.read_bytes().splitlines() if (record := read_line(raw))]
    assert any("chg_open" in record.get("void", ()) for record in told)
