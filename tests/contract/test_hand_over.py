"""Handing over a transcript: what was said waits in the queue, each turn once, nothing of it is a note."""

from __future__ import annotations

import errno
import itertools
import json
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import BinaryIO
from unittest.mock import patch

import anyio
import pytest
from structlog.testing import capture_logs

import holdfast.app
from holdfast.app import build_memory
from holdfast.engine.jobs.daily import JobContext
from holdfast.engine.ports import Caller
from holdfast.engine.presence import taking as hand_over_module
from holdfast.engine.presence.distilling import tidy
from holdfast.engine.presence.taking import HandedOver, hand_over
from holdfast.engine.runtime import Memory
from holdfast.model.transcripts.pieces import Piece
from holdfast.settings import load_settings
from holdfast.store.transcripts import reading
from holdfast.store.transcripts.queue import TranscriptQueue
from holdfast.store.transcripts.reading import Chunk, Located
from served import Clock, kept_in, made_up_secret
from sessions import REAL, Session, claude_session

pytestmark = pytest.mark.anyio

WHO = Caller("harbour", "git folder", "claude-code")
CHAI = "ചായ വേണം, കാപ്പി വേണ്ട."


@asynccontextmanager
async def remembering(home: Path, clock: Clock | None = None, **variables: str) -> AsyncIterator[Memory]:
    """A memory whose user has this home folder."""
    environ = {"HOLDFAST_HOME": str(home / "memory"), "HOLDFAST_ENCODER": "none"} | variables
    with patch.object(Path, "home", lambda: home), patch.object(holdfast.app, "now", clock or Clock()):
        memory = build_memory(load_settings(environ))
        async with memory.running():
            yield memory


async def handed(
    memory: Memory, session: Session | Path | str, event: str = "Stop", who: Caller = WHO, last: str | None = None
) -> HandedOver:
    path, cwd = (session.path, session.cwd) if isinstance(session, Session) else (session, "/home/ada/harbour")
    return await memory.attend_folder(
        lambda ports: hand_over(ports, who, path=str(path), session="s", cwd=cwd, event=event, last=last)
    )


async def waiting(memory: Memory, most: int = 50) -> list[Piece]:
    """What would be offered."""
    queue = memory.ports.transcripts
    assert queue is not None
    names = iter(f"pce_{number:08d}" for number in range(1000))
    return await queue.offer("harbour", memory.ports.now, "", most, lambda _: True, lambda: next(names))


async def test_each_turn_is_kept_once_as_the_session_goes_on(tmp_path: Path) -> None:
    session = claude_session(tmp_path)
    async with remembering(tmp_path) as memory:
        assert (await handed(memory, session)).status == "nothing"
        session.say("Where is the crane?", "At the north quay.")
        assert await handed(memory, session) == HandedOver("kept", 2, 1)
        assert (await handed(memory, session)).status == "nothing"
        session.say(CHAI)
        assert await handed(memory, session, "PreCompact") == HandedOver("kept", 1, 2)
        (piece,) = await waiting(memory)
        assert [turn.text for turn in piece.turns] == ["Where is the crane?", "At the north quay.", CHAI]
        assert (piece.session, piece.space, piece.source) == (session.name, "harbour", "claude-code")
    assert not list(kept_in(tmp_path / "memory").glob("memories/**/*.md")), "nothing is stored unasked"


async def test_a_real_session_its_resumption_and_its_fork_are_kept_once(tmp_path: Path) -> None:
    folder = tmp_path / ".claude" / "projects" / "-home-ada-lighthouse"
    folder.mkdir(parents=True)
    for name in ("claude-code-2.1", "claude-code-2.1-fork"):
        (folder / f"{name}.jsonl").write_bytes((REAL / f"{name}.jsonl").read_bytes())
    async with remembering(tmp_path) as memory:
        first = await handed(memory, folder / "claude-code-2.1.jsonl")
        fork = await handed(memory, folder / "claude-code-2.1-fork.jsonl")
        assert (first.turns, fork.turns) == (6, 2)


async def test_a_session_of_codex_is_found_where_codex_has_its_home(tmp_path: Path) -> None:
    file = tmp_path / "codex" / "sessions" / "2026" / "11" / "23" / "rollout-2026.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes((REAL / "codex-0.169.jsonl").read_bytes())
    async with remembering(tmp_path) as memory:
        assert (await handed(memory, file)).status == "refused"
    async with remembering(tmp_path, HOLDFAST_TRANSCRIPT_ROOTS=str(tmp_path / "codex" / "sessions")) as memory:
        assert (await handed(memory, file)).turns == 4
        (piece,) = await waiting(memory)
        assert (piece.space, piece.source) == ("lighthouse", "codex")


async def test_secrets_are_replaced_and_what_is_private_is_left_out_before_anything_is_kept(tmp_path: Path) -> None:
    session, secret = claude_session(tmp_path), made_up_secret()
    session.say(f"The key is {secret}. <private>My pin is 4711.</private>", "Noted.")
    async with remembering(tmp_path) as memory:
        assert (await handed(memory, session)).turns == 2
        (piece,) = await waiting(memory)
        assert piece.turns[0].text == "The key is [redacted: GitHub token]. [private]"
    kept = b"".join(path.read_bytes() for path in (tmp_path / "memory").rglob("*") if path.is_file())
    assert secret.encode() not in kept
    assert b"4711" not in kept


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/etc/hosts.jsonl", "../x.jsonl", "{home}/memory/journal/2026-11.jsonl"]
)
async def test_a_path_elsewhere_is_refused_with_a_reason_that_does_not_repeat_it(path: str, tmp_path: Path) -> None:
    async with remembering(tmp_path) as memory:
        told = await handed(memory, path.replace("{home}", str(tmp_path)))
        assert told.status == "refused"
        assert told.reason
        assert "passwd" not in told.reason


async def test_over_http_no_path_is_read(tmp_path: Path) -> None:
    session = claude_session(tmp_path)
    session.say("One.")
    with patch.object(Path, "home", lambda: tmp_path):
        settings = load_settings({"HOLDFAST_HOME": str(tmp_path / "memory"), "HOLDFAST_ENCODER": "none"})
        memory = build_memory(settings, local=False)
    async with memory.running():
        assert (await handed(memory, session)).status == "off"


async def test_a_broken_transcript_gives_what_is_whole_in_it(tmp_path: Path) -> None:
    session = claude_session(tmp_path)
    session.say("Before.")
    with session.path.open("ab") as file:
        file.write(b'{"type": "user", "message": \xff\xfe\n\x00\x00\x00\n[1, 2\n"x"\n' + b"[" * 100_000 + b"\n")
    session.say("Behind.")
    async with remembering(tmp_path) as memory:
        assert (await handed(memory, session)).turns == 2


@contextmanager
def just_waiting(memory: Memory, then: Callable[[], Awaitable[None]]) -> Iterator[None]:
    """This happens once the transcript was looked into."""
    queue = memory.ports.transcripts
    assert isinstance(queue, TranscriptQueue)
    read, looked = queue.read, itertools.count()

    async def late(found: Located) -> Chunk:
        try:
            return await read(found)
        finally:
            if next(looked) == 1:
                await then()

    with patch.object(queue, "read", late):
        yield


@contextmanager
def writing_late(memory: Memory, session: Session, *texts: str, answer: str = "") -> Iterator[None]:
    """The client writes this down after it was looked for."""

    async def write() -> None:
        session.say(*texts)
        if answer:
            session.write(session.line("assistant", answer) + "\n")

    with just_waiting(memory, write):
        yield


async def said(memory: Memory) -> list[str]:
    return [turn.text for piece in await waiting(memory, 1000) for turn in piece.turns]


@pytest.mark.parametrize("is_there", [False, True])
async def test_a_turn_that_the_client_writes_down_after_it_has_told_of_it_is_waited_for(
    is_there: bool, tmp_path: Path
) -> None:
    session = claude_session(tmp_path)
    if is_there:
        session.write('{"type": "tools-used", "tools": ["mcp__holdfast__whisper"]}\n')
    async with remembering(tmp_path) as memory:
        with patch.object(hand_over_module, "WRITTEN_SECONDS", 60), writing_late(memory, session, "Where?", "There."):
            assert (await handed(memory, session, last=" There.\n")).turns == 2
        assert await said(memory) == ["Where?", "There."]


async def test_what_is_written_down_when_no_hook_is_called_any_more_is_taken_with_the_next_session(
    tmp_path: Path,
) -> None:
    session, missing, following = (claude_session(tmp_path, number) for number in (1, 2, 3))
    async with remembering(tmp_path) as memory:
        with patch.object(hand_over_module, "WRITTEN_SECONDS", 0):
            session.say("Where is the crane?")
            assert (await handed(memory, session, last="At the north quay.")).turns == 1
            assert (await handed(memory, missing, last="In the boathouse.")).status == "nothing"
        session.write(session.line("assistant", "At the north quay.") + "\n")
        missing.say("Where is the oar?", "In the boathouse.")
        following.say("Where is the lamp?", "In the tower.")
        assert (await handed(memory, following, last="In the tower.")).turns == 5
        assert (await handed(memory, following)).turns == 0
        told = await said(memory)
    assert len(told) == 6
    assert {"Where is the crane?", "At the north quay.", "Where is the oar?", "In the boathouse."} <= set(told)


@contextmanager
def unreadable(*sessions: Session) -> Iterator[None]:
    """The system refuses to open these transcripts."""
    really = reading.opened

    def refuse(found: Located) -> AbstractContextManager[BinaryIO]:
        if found.name in {str(session.path) for session in sessions}:
            raise PermissionError(errno.EACCES, "Permission denied")
        return really(found)

    with patch.object(reading, "opened", refuse):
        yield


async def test_a_transcript_that_cannot_be_read_keeps_no_other_from_being_taken_and_is_taken_later(
    tmp_path: Path,
) -> None:
    bad, late, session, following = (claude_session(tmp_path, number) for number in range(4))
    async with remembering(tmp_path) as memory:
        for each in (bad, late):
            each.say("Hello.")
            assert (await handed(memory, each)).turns == 1
        for each in (bad, late):
            each.say("Written late.")
        with unreadable(bad), capture_logs() as logs:
            session.say("Where is the lamp?")
            assert (await handed(memory, session)).turns == 2
        assert "transcript_put_off" in {line["event"] for line in logs}
        following.say("Where is the crane?")
        assert (await handed(memory, following)).turns == 2
        assert len(await said(memory)) == 6


async def test_a_session_whose_own_transcript_cannot_be_read_takes_the_others_and_is_taken_with_the_next(
    tmp_path: Path,
) -> None:
    bad, late, following = (claude_session(tmp_path, number) for number in range(3))
    async with remembering(tmp_path) as memory:
        late.say("Hello.")
        await handed(memory, late)
        late.say("Written late.")
        bad.say("Where is the lamp?", "In the tower.")
        with unreadable(bad):
            assert (await handed(memory, bad, last="In the tower.")).turns == 1
            told = await handed(memory, bad, "PreCompact")
            assert (told.status, told.reason) == ("refused", "The transcript cannot be read now: Permission denied.")
        assert (await handed(memory, following)).turns == 2
        assert len(await said(memory)) == 4


async def test_a_folder_that_is_gone_keeps_no_other_transcript_from_being_taken(tmp_path: Path) -> None:
    gone, session = claude_session(tmp_path, 1), claude_session(tmp_path, 2, "/home/ada/harbour")
    gone.path = gone.path.parents[1] / "-home-ada-gone" / gone.path.name
    async with remembering(tmp_path) as memory:
        gone.say("Hello.")
        await handed(memory, gone)
        shutil.rmtree(gone.path.parent)
        session.say("Where is the lamp?")
        assert (await handed(memory, session)).turns == 1
        gone.path.parent.touch()
        session.say("And the oar?")
        assert (await handed(memory, session)).turns == 1


async def test_a_path_that_is_no_utf_8_is_refused(tmp_path: Path) -> None:
    session = claude_session(tmp_path)
    session.path = session.path.with_name(os.fsdecode(b"\xff\xfe.jsonl"))
    session.say("Hello.")
    async with remembering(tmp_path) as memory:
        assert (await handed(memory, session)).status == "refused"


@pytest.mark.parametrize("odd", ["/" + "a" * 300, "/a" * 3000, "/\udce9", "/nul\0", "relative"])
async def test_a_working_folder_that_cannot_be_looked_at_keeps_no_turn_from_being_taken(
    tmp_path: Path, odd: str
) -> None:
    session = claude_session(tmp_path)
    session.say("Where is the lamp?", "In the tower.")
    session.write(json.dumps(json.loads(session.line("user", "And the oar?", cwd=odd))) + "\n")
    session.say("And the net?")
    async with remembering(tmp_path) as memory:
        assert (await handed(memory, session)).turns == 4
        assert (await handed(memory, session)).turns == 0
        assert "And the oar?" in await said(memory)


async def test_an_answer_that_another_hook_or_process_has_taken_is_not_waited_for(tmp_path: Path) -> None:
    session = claude_session(tmp_path)
    session.say("Where?", "There.")
    async with remembering(tmp_path) as memory, remembering(tmp_path) as other:
        with patch.object(hand_over_module, "WRITTEN_SECONDS", 3600):
            assert (await handed(memory, session, last="There.")).turns == 2
            with anyio.fail_after(60):
                assert (await handed(memory, session, last="There.")).turns == 0
            session.say("And the oar?")

            async def taken_elsewhere() -> None:
                session.write(session.line("assistant", "In the boathouse.") + "\n")
                assert (await handed(other, session)).turns == 1

            with anyio.fail_after(60), just_waiting(memory, taken_elsewhere):
                assert (await handed(memory, session, last="In the boathouse.")).turns == 1
        assert await said(memory) == ["Where?", "There.", "And the oar?", "In the boathouse."]


async def test_the_same_answer_to_an_earlier_question_is_not_taken_for_the_one_that_is_awaited(tmp_path: Path) -> None:
    session = claude_session(tmp_path)
    session.say("First?", "Done.")
    async with remembering(tmp_path) as memory:
        await handed(memory, session, last="Done.")
        session.say("Second?")
        with patch.object(hand_over_module, "WRITTEN_SECONDS", 60), writing_late(memory, session, answer="Done."):
            assert (await handed(memory, session, last="Done.")).turns == 2


async def test_the_same_answer_is_awaited_though_not_even_its_question_is_written_yet(tmp_path: Path) -> None:
    session, clock = claude_session(tmp_path), Clock()
    session.say("First?", "Done.")
    async with remembering(tmp_path, clock) as memory:
        await handed(memory, session, last="Done.")
        clock.forward(seconds=3)
        with patch.object(hand_over_module, "WRITTEN_SECONDS", 60), writing_late(memory, session, "Second?", "Done."):
            assert (await handed(memory, session, last="Done.")).turns == 2


async def test_an_answer_of_signs_alone_which_is_no_turn_is_not_waited_for(tmp_path: Path) -> None:
    session = claude_session(tmp_path)
    session.say("Go on.", "👍")
    async with remembering(tmp_path) as memory:
        with patch.object(hand_over_module, "WRITTEN_SECONDS", 3600), anyio.fail_after(60):
            assert (await handed(memory, session, last="👍")).turns == 1


async def test_a_session_that_is_resumed_after_days_is_taken_whole_though_its_last_answer_comes_late(
    tmp_path: Path,
) -> None:
    session, following, clock = claude_session(tmp_path, 1), claude_session(tmp_path, 2), Clock()
    session.say("Hello.", "Hi.")
    async with remembering(tmp_path, clock) as memory:
        with patch.object(hand_over_module, "WRITTEN_SECONDS", 0):
            assert (await handed(memory, session, last="Hi.")).turns == 2
            clock.forward(days=5)
            assert (await handed(memory, session, last="In the tower.")).turns == 0
        session.say("Where is the lamp?", "In the tower.")
        following.say("Good morning.")
        assert (await handed(memory, following)).turns == 3


async def test_without_a_transcript_the_last_answer_alone_is_kept(tmp_path: Path) -> None:
    async with remembering(tmp_path) as memory:
        for turns in (1, 0):
            told = await memory.attend_folder(
                lambda ports: hand_over(
                    ports,
                    WHO,
                    path="",
                    session="s1",
                    cwd="/home/ada/harbour",
                    event="Stop",
                    last="We chose the blue one.",
                )
            )
            assert told.turns == turns
        (piece,) = await waiting(memory)
        assert (piece.text, piece.session) == ("We chose the blue one.", "s1")


async def test_ten_sessions_at_once_and_two_servers_on_one_of_them_lose_nothing_and_repeat_nothing(
    tmp_path: Path,
) -> None:
    sessions = [claude_session(tmp_path, number) for number in range(10)]
    async with remembering(tmp_path) as one, remembering(tmp_path) as other:
        for turn in range(5):
            for session in sessions:
                session.say(f"Question {turn} of {session.name}", f"Answer {turn} of {session.name}")
            async with anyio.create_task_group() as tasks:
                for session in sessions:
                    for memory in (one, other):
                        tasks.start_soon(handed, memory, session)
        said = [turn.text for piece in await waiting(one, 1000) for turn in piece.turns]
    assert len(said) == len(set(said)) == 100


async def test_the_queue_lets_go_of_what_is_too_old_and_of_the_oldest_where_it_is_too_much(tmp_path: Path) -> None:
    session, clock = claude_session(tmp_path), Clock()
    async with remembering(tmp_path, clock, HOLDFAST_TRANSCRIPT_MIB="1", HOLDFAST_TRANSCRIPT_DAYS="3") as memory:
        queue = memory.ports.transcripts
        assert queue is not None
        for number in range(40):
            session.say(f"{number} " + "long " * 8000)
        await handed(memory, session)
        state = await queue.state()
        assert state.bytes <= 1 << 20
        assert state.turns + state.dropped == 40
        assert (await waiting(memory))[-1].turns[-1].text.startswith("39 ")
        clock.forward(days=4)
        assert await queue.tidy(memory.ports.now) == state.turns
        assert await queue.waiting() == 0
        assert (await handed(memory, session)).turns == 0, "what was let go of does not come again"


async def test_a_space_that_is_set_by_hand_is_that_of_the_session(tmp_path: Path) -> None:
    session = claude_session(tmp_path, cwd="/home/ada/elsewhere")
    session.say("One.")
    async with remembering(tmp_path) as memory:
        await handed(memory, session, who=Caller("set-by-hand", "HOLDFAST_SPACE", "claude-code"))
        session.say("Two.")
        await handed(memory, session)
        assert sorted(piece.space for piece in await waiting(memory)) == ["elsewhere", "set-by-hand"]


async def test_what_another_session_wrote_late_is_filed_under_its_own_folder(tmp_path: Path) -> None:
    late, session = claude_session(tmp_path, 1, "/home/ada/client"), claude_session(tmp_path, 2, "/home/ada/harbour")
    async with remembering(tmp_path) as memory:
        assert (await handed(memory, late, last="The client is Acme.")).turns == 0
        late.say("Who is the client?", "The client is Acme.")
        session.say("Where is the lamp?", "In the tower.")
        await handed(memory, session, who=Caller("harbour", "HOLDFAST_SPACE", "claude-code"))
        spaces = {turn.text: piece.space for piece in await waiting(memory) for turn in piece.turns}
    assert spaces["The client is Acme."] == "client"
    assert spaces["In the tower."] == "harbour"


@pytest.mark.parametrize("raw", ["true", "false"])
async def test_what_nobody_distils_goes_or_stays_as_it_was_said_where_that_is_wanted(raw: str, tmp_path: Path) -> None:
    session, clock = claude_session(tmp_path), Clock()
    session.say("Where does the crane stand?", "At the north quay.", CHAI)
    async with remembering(tmp_path, clock, HOLDFAST_RAW_TURNS=raw) as memory:
        await handed(memory, session)
        house = JobContext(memory)
        assert await tidy(house) == 0
        clock.forward(days=31 if raw == "false" else 29)
        assert await tidy(house) == (3 if raw == "false" else 1)
        assert await tidy(house) == 0
        assert not await waiting(memory)
    notes = [path.read_text("utf-8") for path in kept_in(tmp_path / "memory").glob("memories/harbour/*.md")]
    assert [CHAI in note and 'tier: "archival"' in note for note in notes] == ([True] if raw == "true" else [])
