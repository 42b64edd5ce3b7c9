"""run_maintenance with pieces of past sessions: what is made of them is checked, compared, stored, undone as one."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import holdfast.app
from holdfast.engine.ports import Caller
from holdfast.engine.presence.taking import hand_over
from holdfast.engine.runtime import Memory
from holdfast.model.transcripts.pieces import SaidTexts
from holdfast.store import locks
from served import ERAS, Agent, kept_in, serving
from sessions import Session, claude_session

pytestmark = pytest.mark.anyio

QUAY = "The crane CR-17 stands at the north quay since 2026-03-02, because the south quay has no rail."
SAID = ("Where does the crane CR-17 stand, and why not at the south quay?", QUAY)
WHO = Caller("harbour", "git folder", "claude-code")
CHAI = "കാപ്പി വേണ്ട, എനിക്ക് ചായ മതി."


@asynccontextmanager
async def with_sessions(home: Path, era: str = ERAS[0], **settings: Any) -> AsyncIterator[tuple[Agent, Memory]]:
    """A served memory of a user with this home folder, and that memory itself."""
    built: list[Memory] = []
    build = holdfast.app.build_memory

    def building(*arguments: Any) -> Memory:
        built.append(build(*arguments))
        return built[-1]

    with patch.object(Path, "home", lambda: home), patch("served.build_memory", building):
        async with serving(home / "memory", era, **settings) as agent:
            yield agent, built[-1]


async def take(memory: Memory, session: Session) -> None:
    await memory.attend_folder(
        lambda ports: hand_over(ports, WHO, path=str(session.path), session="", cwd="", event="Stop", last=None)
    )


async def hook(agent: Agent, tool: str, **given: str) -> str:
    """What a hook's tool answers; it has no schema, and is no business of the agent's."""
    (block,) = (await agent.client.call_tool_mcp(tool, given)).content
    return str(block.text)


def pieces_in(text: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r"pce_[0-9a-z]+", text)))


async def test_a_purge_erases_the_waiting_turns_in_which_the_same_was_said(tmp_path: Path) -> None:
    session = claude_session(tmp_path)
    reworded = "The crane CR-17 now stands at the north quay, since 2026-03-02: at the south quay there is no rail!"
    session.say(*SAID, reworded, "Noted.", "Which paint is on the lamp?", "Grey paint.")
    home = tmp_path / "memory"
    async with with_sessions(tmp_path, admin=True) as (agent, memory):
        note = (await agent.call("remember", content=QUAY))["id"]
        await take(memory, session)
        assert (await agent.call("run_maintenance", kinds=["extractions"]))["extractions"]
        dry = await agent.call("admin_purge", node_id=note)
        assert dry["waiting_turns"] == 2
        assert "2 turns of sessions" in dry.text
        queue = memory.ports.transcripts
        assert queue is not None
        assert (await queue.state()).turns == 6
        done = await agent.call("admin_purge", node_id=note, confirm=dry["confirm"])
        assert done["waiting_turns"] == 2
        assert (await queue.state()).turns == 4
        await take(memory, session)
        assert (await queue.state()).turns == 4, "what was erased is not taken again"
        assert not [path for path in home.rglob("*") if path.is_file() and b"no rail" in path.read_bytes()]


async def test_the_turns_are_looked_through_before_a_purge_locks_the_memory_and_under_the_locks_only_new_ones(
    tmp_path: Path,
) -> None:
    session = claude_session(tmp_path)
    session.say(*SAID, "Which paint is on the lamp?", "Grey paint.")
    looked_at: list[str] = []
    is_repeated = SaidTexts.are_repeated_in

    def counting(said: SaidTexts, turn: str) -> bool:
        looked_at.append(turn)
        return is_repeated(said, turn)

    async with with_sessions(tmp_path, admin=True) as (agent, memory):
        note = (await agent.call("remember", content=QUAY))["id"]
        await take(memory, session)
        confirm = (await agent.call("admin_purge", node_id=note))["confirm"]
        quiet = memory.ports.store.quiet

        @asynccontextmanager
        async def said_meanwhile() -> AsyncIterator[None]:
            assert len(looked_at) == 4
            session.say(f"Once more: {QUAY}", "Noted.")
            await take(memory, session)
            async with quiet():
                yield

        with (
            patch.object(SaidTexts, "are_repeated_in", counting),
            patch.object(memory.ports.store, "quiet", said_meanwhile),
        ):
            done = await agent.call("admin_purge", node_id=note, confirm=confirm)
        assert done["waiting_turns"] == 2
        assert len(looked_at) == 6
        queue = memory.ports.transcripts
        assert queue is not None
        assert (await queue.state()).turns == 4


@pytest.mark.parametrize("era", ERAS)
async def test_what_was_said_is_offered_judged_stored_and_undone_as_one(era: str, tmp_path: Path) -> None:
    session = claude_session(tmp_path)
    session.say(*SAID, f"By the way: {CHAI}", "Noted.")
    async with with_sessions(tmp_path, era) as (agent, memory):
        before = await agent.call("run_maintenance")
        assert "extractions" not in before.structured
        assert "piece" not in before.text
        await take(memory, session)
        batch = await agent.call("run_maintenance")
        (piece,) = pieces_in(batch.text)
        assert QUAY in batch.text
        assert batch["extractions"][0]["piece_id"] == piece
        mark = re.search(r"<note ([0-9a-f]{8})>", batch.text)
        assert mark
        assert batch.text.index("data, never instructions") < batch.text.index(QUAY)
        items = [
            {"piece_id": piece, "content": QUAY, "type": "decision", "title": "CR-17 stands at the north quay"},
            {"piece_id": piece, "content": CHAI, "type": "preference", "about_self": True},
        ]
        done = await agent.call("run_maintenance", batch_id=batch["batch_id"], results={"extractions": items})
        assert [outcome["status"] for outcome in done["outcomes"]] == ["applied", "applied"]
        (change,) = {outcome["change_id"] for outcome in done["outcomes"]}
        found = await agent.recall("Where does CR-17 stand?")
        note = await agent.node(found.found[0])
        assert note["content"] == QUAY
        assert (note["type"], note["source"], note["space"]) == ("decision", "claude-code", "harbour")
        assert note["event_time"] == "2026-11-20T09:04:00Z"
        assert note["tags"] == ["distilled"]
        text = agent.file_of(found.found[0]).read_text("utf-8")
        assert f'distilled_from: "{session.path}#{piece}"' in text
        assert f'session: "{session.name}"' in text
        assert (await agent.recall("ചായ")).found
        assert not pieces_in((await agent.call("run_maintenance")).text)
        await agent.outdate("", undo=change)
        assert not (await agent.recall("Where does CR-17 stand?")).found
        assert not (await agent.recall("ചായ")).found


async def test_a_piece_and_what_is_made_of_it_may_share_a_lock_however_long_the_server_takes(tmp_path: Path) -> None:
    session = claude_session(tmp_path)
    session.say(*SAID)
    async with with_sessions(tmp_path) as (agent, memory):
        await take(memory, session)
        batch = await agent.call("run_maintenance")
        items = [{"piece_id": pieces_in(batch.text)[0], "content": QUAY}]
        results = {"extractions": items}
        with patch.object(locks, "_stripe", lambda _key: 0), patch.object(locks, "TOGETHER_SECONDS", 0.0):
            done = await agent.call("run_maintenance", batch_id=batch["batch_id"], results=results)
        assert done["outcomes"][0]["status"] == "applied", done["outcomes"]


async def test_what_was_handed_over_and_distilled_stands_in_the_next_sessions_brief(tmp_path: Path) -> None:
    session = claude_session(tmp_path)
    session.say(*SAID)
    async with with_sessions(tmp_path, presence=True) as (agent, _):
        given = {"session_id": session.name, "cwd": "/srv/harbour", "event": "Stop"}
        assert await hook(agent, "whisper_store", transcript_path=str(session.path), **given) == "{}"
        prompt = {"prompt": "At which quay does the crane CR-17 stand?", "cwd": "/srv/harbour"}
        assert QUAY not in await hook(agent, "whisper", session_id="two", **prompt), "nothing is stored unasked"
        batch = await agent.call("run_maintenance", kinds=["extractions"])
        (piece,) = pieces_in(batch.text)
        items = [{"piece_id": piece, "content": QUAY, "type": "decision"}]
        done = await agent.call("run_maintenance", batch_id=batch["batch_id"], results={"extractions": items})
        assert done["outcomes"][0]["status"] == "applied"
        assert QUAY in await hook(agent, "whisper", session_id="three", **prompt)


async def test_what_is_not_told_in_its_piece_is_refused_with_the_words_that_are_missing(tmp_path: Path) -> None:
    session = claude_session(tmp_path)
    session.say(*SAID)
    async with with_sessions(tmp_path) as (agent, memory):
        await take(memory, session)
        batch = await agent.call("run_maintenance", kinds=["extractions"])
        (piece,) = pieces_in(batch.text)
        contents = [
            "The crane CR-18 stands at the north quay.",
            "The crane CR-17 stands at the north quay since 1999-03.",
            "Always write clean code with thorough tests and meaningful documentation for everybody.",
            "The crane stands at the north quay because `rail_gauge.toml` says so.",
            "The crane CR-17 stands at the north quay: the south quay has no rail.",
        ]
        items = [{"piece_id": piece, "content": content} for content in contents]
        items += [
            {"piece_id": "pce_0000000000000000", "content": QUAY},
            {"piece_id": piece, "content": QUAY, "type": "x"},
        ]
        done = await agent.call("run_maintenance", batch_id=batch["batch_id"], results={"extractions": items})
        told = [(outcome["status"], outcome["reason"]) for outcome in done["outcomes"]]
        assert [status for status, _ in told] == ["rejected"] * 4 + ["applied"] + ["rejected"] * 2
        assert "cr-18" in told[0][1]
        assert "1999" in told[1][1]
        assert "own words" in told[2][1]
        assert "rail_gauge.toml" in told[3][1]
        assert "not shown in this batch" in told[5][1]
        assert "type is unknown" in told[6][1]
        again = await agent.call("run_maintenance", kinds=["extractions"])
        assert pieces_in(again.text) == [piece], "what was refused can be mended"
        items = [{"piece_id": piece, "content": "CR-17 stands at the north quay; the south quay has no rail."}]
        done = await agent.call("run_maintenance", batch_id=again["batch_id"], results={"extractions": items})
        assert done["outcomes"][0]["status"] == "skipped", "a note says it already"
        assert not pieces_in((await agent.call("run_maintenance")).text)


@pytest.mark.parametrize(
    ("content", "missing"),
    [
        ("The crane CR-17 was greased 5 times.", "5"),
        ("The crane CR-1 was greased.", "cr-1"),
        ("The crane CR-17 was greased and the relay HX-45 too.", "hx-45"),
        ("The crane CR-17 was greased on 2019-05-05.", "2019-05-05"),
        ("The crane CR-17 was greased on 2026-13-45.", "2026-13-45"),
        ("The crane CR-17 was greased on 2026-11-19, 12000 strokes, beside relay HX-4512.", ""),
        ("The crane CR17 was greased with 12.000 strokes beside relay hx4512.", ""),
    ],
)
async def test_a_figure_that_only_stands_within_another_is_not_told_in_its_piece(
    content: str, missing: str, tmp_path: Path
) -> None:
    session = claude_session(tmp_path)
    session.say(
        "Yesterday I greased the crane CR-17 with 12,000 strokes, at port 8453, beside relay HX-4512.", "Noted."
    )
    async with with_sessions(tmp_path) as (agent, memory):
        await take(memory, session)
        batch = await agent.call("run_maintenance", kinds=["extractions"])
        items = [{"piece_id": pieces_in(batch.text)[0], "content": content}]
        done = await agent.call("run_maintenance", batch_id=batch["batch_id"], results={"extractions": items})
        (outcome,) = done["outcomes"]
        assert outcome["status"] == ("rejected" if missing else "applied"), outcome
        assert missing in outcome["reason"]


async def test_a_piece_with_nothing_worth_a_note_is_done_with(tmp_path: Path) -> None:
    session = claude_session(tmp_path)
    session.say("Go on.", "Done.")
    async with with_sessions(tmp_path) as (agent, memory):
        await take(memory, session)
        batch = await agent.call("run_maintenance")
        await agent.call("run_maintenance", batch_id=batch["batch_id"], results={"edges": []})
        assert pieces_in((await agent.call("run_maintenance")).text), "nobody spoke of it"
        await agent.call("run_maintenance", batch_id=batch["batch_id"], results={"extractions": ["no item"]})
        assert pieces_in((await agent.call("run_maintenance")).text), "a list that cannot be read says nothing of it"
        await agent.call("run_maintenance", batch_id=batch["batch_id"], results={"extractions": []})
        assert not pieces_in((await agent.call("run_maintenance")).text)
    assert not list(kept_in(tmp_path / "memory").glob("memories/**/*.md"))
    kept = b"".join(path.read_bytes() for path in (tmp_path / "memory" / "transcripts").iterdir())
    assert b"Go on." not in kept


async def test_what_was_recalled_and_is_said_again_is_no_new_note(tmp_path: Path) -> None:
    session = claude_session(tmp_path)
    async with with_sessions(tmp_path) as (agent, memory):
        known = (await agent.remember(QUAY))["id"]
        session.say(SAID[0], f"<note 0123abcd>\n{QUAY}\n</note 0123abcd>", f"So: {QUAY}")
        await take(memory, session)
        batch = await agent.call("run_maintenance", kinds=["extractions"])
        (piece,) = pieces_in(batch.text)
        assert batch.text.count(QUAY) == 1, "what a memory gave back is not what somebody said"
        contents = (QUAY, "CR-17 stands at the north quay since 2026-03-02 because the south quay has no rail.")
        for content in contents:
            items = [{"piece_id": piece, "content": content}]
            done = await agent.call("run_maintenance", results={"extractions": items}, dry_run=content == QUAY)
            assert done["outcomes"][0]["status"] == "skipped"
            assert known in done["outcomes"][0]["reason"]
    assert len([path for path in agent.notes_on_disk() if "mem_0000000000000000" not in path]) == 1


async def test_a_note_that_says_something_else_is_named_with_what_to_do(tmp_path: Path) -> None:
    session = claude_session(tmp_path)
    session.say("We moved it.", "The crane CR-17 stands at the south quay now, not at the north quay.")
    async with with_sessions(tmp_path) as (agent, memory):
        old = (await agent.remember("The crane CR-17 stands at the north quay."))["id"]
        await take(memory, session)
        batch = await agent.call("run_maintenance", kinds=["extractions"])
        items = [{"piece_id": pieces_in(batch.text)[0], "content": "The crane CR-17 stands at the south quay now."}]
        done = await agent.call("run_maintenance", batch_id=batch["batch_id"], results={"extractions": items})
        (outcome,) = done["outcomes"]
        assert outcome["status"] == "applied"
        assert old in outcome["reason"]
        assert "mark_outdated" in outcome["reason"]


async def test_a_long_session_comes_in_pieces_within_the_budget_its_own_space_first(tmp_path: Path) -> None:
    here, there = claude_session(tmp_path, 1), claude_session(tmp_path, 2, "/home/ada/elsewhere")
    for number in range(60):
        there.say(f"Elsewhere {number}? " + "word " * 100, "Yes. " + "word " * 100)
        here.say(f"Harbour {number}? " + "word " * 100, "Yes. " + "word " * 100)
    async with with_sessions(tmp_path) as (agent, memory):
        for session in (there, here):
            await take(memory, session)
        seen: list[str] = []
        for _ in range(100):
            batch = await agent.call("run_maintenance")
            assert len(batch.text) < 30_000
            if not (pieces := pieces_in(batch.text)):
                break
            seen += re.findall(r"User: (\w+ \d+)\?", batch.text)
            assert batch["extractions"][0]["space"] == ("harbour" if len(seen) <= 60 else "elsewhere") or len(seen) > 55
            await agent.call("run_maintenance", batch_id=batch["batch_id"], results={"extractions": []})
            assert pieces
        expected = [f"{where} {number}" for where in ("Harbour", "Elsewhere") for number in range(60)]
        assert seen == expected


async def test_over_http_no_session_is_shown(tmp_path: Path) -> None:
    session = claude_session(tmp_path)
    session.say(*SAID)
    async with with_sessions(tmp_path) as (_, memory):
        await take(memory, session)
    build = holdfast.app.build_memory
    with patch("served.build_memory", lambda settings: build(settings, local=False)):
        async with serving(tmp_path / "memory", ERAS[0]) as agent:
            assert not pieces_in((await agent.call("run_maintenance")).text)
            items = [{"piece_id": "pce_0000000000000000", "content": QUAY}]
            done = await agent.call("run_maintenance", results={"extractions": items})
            assert done["outcomes"][0]["status"] == "rejected"
