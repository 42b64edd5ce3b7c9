"""A clock that goes back or stands still, files from other centuries, the longest names, and very many notes."""

from __future__ import annotations

import errno
import json
import os
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest

from conftest import Effort
from holdfast.engine import ports
from holdfast.engine.agent.feedback import MarkOutdated, mark_outdated
from holdfast.engine.runtime import Memory
from holdfast.errors import ConflictError, StorageError
from holdfast.model.note import note_id
from holdfast.store.filesystem import FileSystem
from processes import most_memory, stdio, until
from served import ERAS, SPACE, Clock, serving
from worlds import CALLER, ask, found, keep, living

pytestmark = pytest.mark.anyio

GOOD = "The ferry leaves from pier seven."
ID = "mem_01hf7yat00000000"
MEGABYTE = 1 << 20


def journalled(home: Path) -> list[dict[str, Any]]:
    """All records, in the order of files and lines."""
    return [json.loads(line) for path in sorted((home / "journal").iterdir()) for line in path.read_text().splitlines()]


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def to_the_next_month(clock: Clock, minutes: int) -> None:
    """Set the clock to some minutes after a month has begun."""
    first = (clock().replace(day=1) + timedelta(days=32)).replace(day=1, hour=0, minute=minutes)
    clock.forward(seconds=(first - clock()).total_seconds())


@pytest.mark.parametrize("border", [False, True], ids=["within a month", "into the month before"])
async def test_a_clock_that_goes_back_an_hour_changes_no_order_and_loses_nothing(
    border: bool, tmp_path: Path, tally: Counter[str]
) -> None:
    clock = Clock()
    if border:
        to_the_next_month(clock, minutes=30)
    notes: list[str] = []
    async with serving(tmp_path, ERAS[1], clock=clock) as agent:
        for number in range(6):
            if number == 3:
                clock.forward(hours=-1)
            stored = await agent.remember(f"Buoy number {number} is green.", session="night")
            notes.append(stored["id"])
        await agent.outdate(notes[0], reason="repainted")
        red = (await agent.remember("Buoy number 1 is red.", supersedes=[notes[1]]))["id"]
        assert len(set(notes)) == 6
        shown = await agent.recall("buoy green", limit=50)
        assert set(notes[2:]) <= set(shown.found)
        assert not {notes[0], notes[1]} & set(shown.found)
        assert red in (await agent.recall("buoy red")).found
    async with serving(tmp_path, ERAS[1], clock=clock) as agent:
        await agent.remember("The crane lifts forty tonnes.")
        for number, note in enumerate(notes):
            written = agent.file_of(note).read_text()
            assert f"seq: {number + 1}\n" in written
            if number < 2:
                assert (await agent.node(note))["changes"] == 2
    numbers = [record["seq"] for record in journalled(tmp_path)]
    assert numbers == list(range(1, len(numbers) + 1))
    tally["hostile folders survived"] += 1


@pytest.mark.parametrize("way", ["outdated", "superseded"])
async def test_a_note_is_not_older_after_a_change_than_when_it_was_made(way: str, tmp_path: Path) -> None:
    clock = Clock()
    async with serving(tmp_path, ERAS[1], clock=clock) as agent:
        note = (await agent.remember(GOOD))["id"]
        clock.forward(hours=-1)
        if way == "outdated":
            await agent.outdate(note)
        else:
            await agent.remember("The ferry leaves from pier eight.", supersedes=[note])
        shown = await agent.node(note)
        assert moment(shown["updated"]) >= moment(shown["created"])


async def test_a_clock_that_stands_still_gives_every_note_an_id_of_its_own(tmp_path: Path) -> None:
    still = time.time_ns()
    frozen = datetime.now(UTC)
    with patch.object(ports, "time", SimpleNamespace(time_ns=lambda: still)):
        async with serving(tmp_path, ERAS[1], clock=lambda: frozen) as agent:
            ids = [(await agent.remember(f"Buoy number {number} is green."))["id"] for number in range(40)]
            assert len(set(ids)) == 40
            assert set((await agent.recall("buoy green", limit=50)).found) >= set(ids)


CENTURIES = {
    "2099": 4_075_000_000.5, "2400": 13_570_000_000.0, "1970": 0.0, "1969": -1.5, "1905": -2_040_000_000.0,
    "a moment ahead": None,
}  # fmt: skip


@pytest.mark.parametrize("year", CENTURIES)
async def test_a_file_from_another_century_is_a_note_and_its_edits_are_seen(year: str, tmp_path: Path) -> None:
    at = CENTURIES[year]
    at = time.time() + 3 if at is None else at
    async with serving(tmp_path, ERAS[1]) as agent:
        known = agent.write_by_hand(f"{SPACE}/winch.{ID}.md", f"---\nid: {ID}\n---\nThe winch needs oil.")
        new = agent.write_by_hand(f"{SPACE}/anchor.md", "The anchor is rusty.")
        for path in (known, new):
            os.utime(path, (at, at))
        stamped = known.stat().st_mtime_ns
        found_ids = (await agent.recall("winch anchor")).found
        assert len(found_ids) == 2
        assert ID in found_ids
        before = known.read_bytes()
        known.write_bytes(before.replace(b"oil", b"tar"))
        os.utime(known, ns=(stamped, stamped))
        assert [hit["content"] for hit in (await agent.recall("winch tar"))["results"]] == ["The winch needs tar."]
        assert known.stat().st_mtime_ns == stamped
        assert moment((await agent.node(ID))["created"]).year >= 1
    async with serving(tmp_path, ERAS[1]) as agent:
        assert sorted((await agent.recall("winch anchor")).found) == sorted(found_ids)


# Names that leave no room for a prefix


class Racing(FileSystem):
    """An editor saves over a note that was just exchanged, and then the disk fails, so that all is taken back."""

    def __init__(self, path: Path, text: bytes) -> None:
        super().__init__()
        self._path = path
        self._text = text
        self._exchanged = False

    def swap(self, new: Path, current: Path) -> None:
        super().swap(new, current)
        self._exchanged = self._exchanged or current == self._path

    def flush_folder(self, path: Path) -> None:
        if self._exchanged and self._text:
            self._path.write_bytes(self._text)
            self._text = b""
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        super().flush_folder(path)


async def outdate(memory: Memory) -> None:
    await memory.attend(lambda ports: mark_outdated(ports, CALLER, MarkOutdated(ID)))


@pytest.mark.skipif(sys.platform == "win32", reason="names of 255 bytes")
@pytest.mark.parametrize("length", [20, 255])
async def test_a_text_that_lost_a_race_is_kept_however_long_its_files_name_is(length: int, tmp_path: Path) -> None:
    path = tmp_path / "memories" / "work" / f"{'a' * (length - 3)}.md"
    path.parent.mkdir(parents=True)
    path.write_text(f"---\nid: {ID}\n---\nThe winch needs oil.")
    typed = f"---\nid: {ID}\n---\nThe winch needs what the person typed.".encode()
    async with living(tmp_path, files=Racing(path, typed)) as memory:
        assert found(await ask(memory, "winch")) == ["The winch needs oil."]
        with pytest.raises((ConflictError, StorageError)):
            await outdate(memory)
        assert any(b"the person typed" in text for text in everything(tmp_path))
        await outdate(memory)
        await keep(memory, GOOD)
    async with living(tmp_path) as memory:
        assert found(await ask(memory, "ferry")) == [GOOD]
        assert found(await ask(memory, "winch")) == []
    assert any(b"the person typed" in text for text in everything(tmp_path))


def everything(home: Path) -> list[bytes]:
    return [file.read_bytes() for file in home.rglob("*") if file.is_file()]


# Very many notes


def canonical(number: int) -> tuple[str, bytes]:
    """A note as Holdfast itself writes it, with its file's name."""
    note = note_id(1_763_000_000_000 + number, number)
    lines = {
        "id": note, "type": "fact", "title": f"Berth {number}", "tier": "working", "space": "harbour",
        "tags": ["berth"], "confidence": 1.0, "created": "2026-01-05T10:00:00Z", "updated": "2026-01-05T10:00:00Z",
        "source": "test",
    }  # fmt: skip
    head = "".join(f"{key}: {json.dumps(value)}\n" for key, value in lines.items())
    return f"berth-{number}.{note}.md", f"---\n{head}---\nBerth {number} is for barges of kind k{number}k.\n".encode()


@pytest.mark.timeout(300)
def test_a_memory_of_very_many_files_is_discovered_at_once_and_answers_and_hears_of_edits(
    environment: dict[str, str], effort: Effort, tally: Counter[str]
) -> None:
    count = effort.of(3_000, 100_000)
    folder = Path(environment["HOLDFAST_HOME"]) / "memories" / "harbour"
    folder.mkdir(parents=True)
    for number in range(count):
        name, data = canonical(number)
        (folder / name).write_bytes(data)
    edited = folder / canonical(count // 2)[0]
    with stdio(environment, command=(sys.executable, "-c", UNDISTURBED)) as server:
        server.begin()
        server.ask("tools/list")
        assert not (Path(environment["HOLDFAST_HOME"]) / ".holdfast").exists()  # nothing was opened for that
        assert texts(server, f"k{count - 7}k") == [f"Berth {count - 7} is for barges of kind k{count - 7}k."]
        edited.write_bytes(edited.read_bytes().replace(b"barges", b"zeppelins"))
        until(lambda: texts(server, "zeppelins") != [])
        new = folder / "new.md"
        new.write_text("The dirigible is moored.")
        until(lambda: texts(server, "dirigible") != [])
        new.unlink()
        until(lambda: texts(server, "dirigible") == [])
        assert "id" in server.tool("remember", content=GOOD)["structuredContent"]
        assert GOOD in texts(server, "ferry pier")
        assert most_memory(server.process.pid) < (200 if count < 10_000 else 600) * MEGABYTE
        assert server.end()[0] == 0
    with stdio(environment) as server:
        server.begin()
        assert texts(server, "k3k") == ["Berth 3 is for barges of kind k3k."]
    tally["hostile folders survived"] += 1


def texts(server: Any, query: str) -> list[str]:
    answer = server.tool("recall", query=query)
    assert not answer.get("isError"), answer
    return [hit["content"].strip() for hit in answer["structuredContent"]["results"]]


# Nothing happens in the background: what is there was made by what was asked.
UNDISTURBED = """
import sys
from holdfast.engine import runtime as memory
memory.START_SECONDS = 1e9
from holdfast.__main__ import main
sys.exit(main())
"""
