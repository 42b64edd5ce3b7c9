"""ingest-session and the watcher of sessions: the same queue as hooks fill, from the clients' own folders."""

from __future__ import annotations

import errno
import itertools
import json
import os
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO
from unittest.mock import patch

import anyio
import anyio.lowlevel
import pytest

from forked import run
from holdfast.cli.ingest import hours_in
from holdfast.engine.presence import taking as looking
from holdfast.errors import InvalidArgumentError
from holdfast.store.transcripts import reading
from holdfast.store.transcripts.reading import Located
from processes import HOLDFAST
from sessions import claude_session
from transcripts_worker import built, take

pytestmark = pytest.mark.anyio


def command(environment: dict[str, str], *arguments: str) -> Any:
    ran = run([*HOLDFAST, "ingest-session", *arguments, "--json"], environment, None)
    assert ran.returncode in (0, 1), ran.stderr
    return json.loads(ran.stdout)


def test_sessions_of_the_last_days_are_taken_in_once_those_that_are_long_enough(
    environment: dict[str, str], tmp_path: Path
) -> None:
    long, short, old = (claude_session(tmp_path, number) for number in range(3))
    for session, asked in ((long, 5), (short, 4), (old, 5)):
        for number in range(asked):
            session.say(f"Question {number}?", "Answer.")
    before = time.time() - 100 * 3600
    os.utime(old.path, (before, before))
    told = command(environment)
    assert [(each["path"], each["turns"]) for each in told["sessions"]] == [(str(long.path), 10)]
    assert told["waiting"] == 10
    assert command(environment)["waiting"] == 10
    assert command(environment, "--since", "7d")["waiting"] == 20
    assert command(environment, str(short.path))["waiting"] == 28
    old.say("One more?")
    assert command(environment, "--latest")["sessions"] == [{"path": str(old.path), "turns": 1, "refused": ""}]


def test_a_path_elsewhere_is_named_and_nothing_is_read(environment: dict[str, str], tmp_path: Path) -> None:
    told = command(environment, str(tmp_path / "secrets.jsonl"))
    assert "no folder in which a client keeps transcripts" in told["sessions"][0]["refused"]
    assert told["waiting"] == 0


def test_a_file_whose_name_is_no_utf_8_keeps_no_session_from_being_taken_in(
    environment: dict[str, str], tmp_path: Path
) -> None:
    session, strange = claude_session(tmp_path, 1), claude_session(tmp_path, 2)
    strange.path = strange.path.with_name(os.fsdecode(b"\xff\xfe.jsonl"))
    for each in (session, strange):
        for number in range(5):
            each.say(f"Question {number}?", "Answer.")
    assert command(environment)["waiting"] == 10
    assert "UTF-8" in command(environment, "--latest")["sessions"][0]["refused"]


@pytest.mark.parametrize("reads_before", [0, 1])
async def test_a_session_that_cannot_be_read_keeps_no_other_from_being_taken_in_and_is_looked_at_again(
    reads_before: int, tmp_path: Path
) -> None:
    bad, session = claude_session(tmp_path, 1), claude_session(tmp_path, 2)
    for each in (bad, session):
        for number in range(5):
            each.say(f"Question {number}?", "Answer.")
    memory, seen, reads = built(tmp_path), dict[Path, tuple[float, int]](), itertools.count()
    really = reading.opened

    def refuse(found: Located) -> AbstractContextManager[BinaryIO]:
        if found.name == str(bad.path) and next(reads) >= reads_before:  # its turns may have been counted
            raise PermissionError(errno.EACCES, "Permission denied")
        return really(found)

    async with memory.running():
        queue = memory.ports.transcripts
        assert queue is not None

        async def take_all() -> int:
            taken = await memory.attend_folder(
                lambda ports: looking.take_sessions(ports, queue, looking.Wanted(), seen=seen)
            )
            return sum(each.took.turns for each in taken)

        with patch.object(reading, "opened", refuse):
            assert await take_all() == 10
        assert await take_all() == 10
        assert await take_all() == 0


def test_a_span_of_time_is_hours_days_or_weeks() -> None:
    assert [hours_in(span) for span in ("72h", "7d", "2w")] == [72, 168, 336]
    with pytest.raises(InvalidArgumentError):
        hours_in("a week")


async def test_the_watcher_takes_in_what_is_still_and_goes_on_where_it_was(tmp_path: Path) -> None:
    session, fresh = claude_session(tmp_path, 1), claude_session(tmp_path, 2)
    for number in range(5):
        session.say(f"Question {number}?", "Answer.")
    moment = time.time() - 100
    os.utime(session.path, (moment, moment))
    fresh.say(*["Being written."] * 12)
    with patch.object(looking, "START_SECONDS", 0), patch.object(looking, "LOOK_SECONDS", 0.05):
        memory = built(tmp_path)
        await memory.attend_folder(lambda _: anyio.lowlevel.checkpoint())
        watcher = looking.SessionWatcher(memory, looking.Wanted(72, 5, 60))
        queue = memory.ports.transcripts
        assert queue is not None
        async with memory.running(), anyio.create_task_group() as tasks:
            tasks.start_soon(watcher.run)
            while (await queue.state()).turns < 10:  # noqa: ASYNC110 - a file that others write
                await anyio.sleep(0.02)
            session.say("And one more?")
            os.utime(session.path, (moment, moment))
            while (await queue.state()).turns < 11:  # noqa: ASYNC110 - as above
                await anyio.sleep(0.02)
            tasks.cancel_scope.cancel()


async def test_one_process_watches_and_what_it_took_no_hook_takes_again(tmp_path: Path) -> None:
    session = claude_session(tmp_path)
    for number in range(5):
        session.say(f"Question {number}?", "Answer.")
    one, other = built(tmp_path), built(tmp_path)
    async with one.running(), other.running():
        await take(other, claude_session(tmp_path, 9))
        queue, its = one.ports.transcripts, other.ports.transcripts
        assert queue is not None
        assert its is not None
        await one.attend_folder(lambda _: anyio.lowlevel.checkpoint())
        async with queue.turn() as mine, its.turn() as also:
            assert (mine, also) == (True, False)
            await one.attend_folder(lambda ports: looking.take_sessions(ports, queue, looking.Wanted()))
        assert (await take(other, session)).turns == 0
