"""Recalls are kept behind their answers, for feedback."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.index import recalls
from holdfast.index.recalls import RecallLog
from holdfast.model.records import RecallEvent

pytestmark = pytest.mark.anyio


def event(number: int) -> RecallEvent:
    return RecallEvent(
        f"evt_{number:04}", f"2026-11-21T12:00:{number % 60:02}Z", "which crane?", None, (("mem_1", 0.5),)
    )


def written(path: Path) -> int:
    if not path.exists():
        return 0
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT count(*) FROM recalls").fetchone()[0])


async def test_an_event_can_be_asked_for_before_it_is_written(tmp_path: Path) -> None:
    log = RecallLog(tmp_path / "recalls.db")
    assert await log.add(event(1))
    assert written(tmp_path / "recalls.db") == 0
    assert await log.get("evt_0001", "") == event(1)
    assert await log.latest("mem_1", "", "local") == event(1)
    assert await log.recent("local", 5) == [event(1)]
    await log.aclose()


async def test_whoever_closes_the_log_writes_what_waits(tmp_path: Path) -> None:
    log = RecallLog(tmp_path / "recalls.db")
    for number in range(5):
        await log.add(event(number))
    await log.aclose()
    assert written(tmp_path / "recalls.db") == 5


async def test_not_more_than_so_many_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recalls, "MOST_WAITING", 3)
    log = RecallLog(tmp_path / "recalls.db")
    for number in range(4):
        await log.add(event(number))
    assert written(tmp_path / "recalls.db") == 3
    await log.aclose()


async def test_a_log_that_cannot_be_written_is_told_at_once_after_the_first_time_and_catches_up(tmp_path: Path) -> None:
    path = tmp_path / "derived" / "recalls.db"
    path.parent.touch()
    log = RecallLog(path)
    assert await log.add(event(1))
    assert not await log.flush()
    assert not await log.add(event(2))
    path.parent.unlink()
    assert await log.add(event(3))
    assert written(path) == 3
    await log.aclose()


async def test_what_waits_for_a_log_that_stays_broken_does_not_grow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recalls, "MOST_WAITING", 3)
    path = tmp_path / "derived" / "recalls.db"
    path.parent.touch()
    log = RecallLog(path)
    for number in range(20):
        await log.add(event(number))
    path.parent.unlink()
    assert await log.flush()
    assert [item.id for item in await log.recent("local", 50)] == ["evt_0019", "evt_0018", "evt_0017"]
    await log.aclose()


async def test_what_waited_when_the_log_was_taken_away_is_not_written_into_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "recalls.db"
    one, other = RecallLog(path), RecallLog(path)
    await one.add(event(1))
    await one.flush()
    await one.add(event(2))
    await other.erase()
    await one.add(event(3))
    assert [item.id for item in await one.recent("local", 5)] == ["evt_0003"]
    await one.aclose()
    await other.aclose()
