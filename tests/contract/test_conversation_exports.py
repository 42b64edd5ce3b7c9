"""Data exports of Claude and ChatGPT: their conversations wait to be distilled, each turn once, as room allows."""

from __future__ import annotations

import json
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.ingest import Brought, bring_export
from holdfast.errors import InvalidArgumentError
from holdfast.model.transcripts.turns import addresses_of, conversations_in, turns_in
from processes import HOLDFAST
from transcripts_worker import built

pytestmark = pytest.mark.anyio

CHAI = "ചായ മതി, കാപ്പി വേണ്ട."


def claude(number: int = 0, size: int = 0) -> dict[str, Any]:
    def message(place: int, sender: str, text: str) -> dict[str, Any]:
        block = {"type": "text", "text": text}
        at = f"2026-10-{1 + number:02d}T10:0{place}:00.123456Z"
        return {"uuid": f"c{number}-{place}", "sender": sender, "text": "", "content": [block], "created_at": at}

    messages = [message(0, "human", f"Question {number} {'x' * size}"), message(1, "assistant", f"Answer {number}.")]
    return {"uuid": f"conversation-{number}", "name": "Tea", "chat_messages": messages}


def chatgpt() -> dict[str, Any]:
    def node(name: str, parent: str | None, role: str, text: str, **more: Any) -> dict[str, Any]:
        content = {"content_type": "text", "parts": [text]}
        message = {"id": f"g-{name}", "author": {"role": role}, "content": content, "create_time": 1790000000.5}
        return {"id": name, "parent": parent, "message": message | more}

    nodes = [
        {"id": "root", "parent": None, "message": None},
        node("system", "root", "system", "You are helpful.", weight=0),
        node("old", "system", "user", "An edited prompt."),
        node("asked", "system", "user", f"{CHAI} <private>My pin is 4711.</private>"),
        node("search", "asked", "assistant", "search(tea)", recipient="browser"),
        node("tool", "search", "tool", "A page."),
        node("thought", "tool", "assistant", "Hm.", channel="commentary"),
        node("said", "thought", "assistant", "Noted."),
    ]
    mapping = {each["id"]: each for each in nodes}
    return {"conversation_id": "g1", "title": "Tea", "current_node": "said", "mapping": mapping}


def test_what_was_said_in_claude_is_read_in_order() -> None:
    turns = turns_in(claude(3))
    assert [(turn.role, turn.text, turn.at) for turn in turns] == [
        ("user", "Question 3", "2026-10-04T10:00:00Z"), ("assistant", "Answer 3.", "2026-10-04T10:01:00Z"),
    ]  # fmt: skip
    assert {(turn.source, turn.session) for turn in turns} == {("claude", "conversation-3")}


def test_what_was_said_in_chatgpt_is_the_way_to_the_current_message_alone() -> None:
    turns = turns_in(chatgpt())
    assert [(turn.role, turn.text) for turn in turns] == [("user", f"{CHAI} [private]"), ("assistant", "Noted.")]
    assert turns[0].at == "2026-09-21T14:13:20Z"


def test_a_note_of_a_conversation_leads_back_to_it() -> None:
    addresses = [addresses_of(turn.source, turn.session) for turn in (turns_in(claude(3))[0], turns_in(chatgpt())[0])]
    assert [each["source_url"] for each in addresses] == [
        "https://claude.ai/chat/conversation-3", "https://chatgpt.com/c/g1",
    ]  # fmt: skip
    assert addresses_of("claude-code", "a session") == {}


@pytest.mark.parametrize(
    "broken",
    [None, 7, [], {}, [None], [{"chat_messages": [None, {"sender": 3}]}], [{"mapping": {"a": {"parent": "a"}}}],
     [{"mapping": {"a": {"parent": "b"}, "b": {"parent": "a"}}, "current_node": "a"}],
     [{"mapping": {"a": {"message": {"author": {"role": "user"}, "content": {"content_type": "text"}}}}}]],
)  # fmt: skip
def test_what_has_another_form_tells_nothing(broken: Any) -> None:
    assert [turn for conversation in conversations_in(broken) for turn in turns_in(conversation)] == []


@pytest.mark.parametrize("form", ["file", "archive", "folder"])
async def test_an_export_is_brought_once_in_any_form(form: str, tmp_path: Path) -> None:
    text = json.dumps([chatgpt(), claude(1), claude(2)])
    (tmp_path / "export").mkdir()
    path = tmp_path / "export" / "conversations.json"
    path.write_text(text, "utf-8")
    if form == "folder":
        path = path.parent
    if form == "archive":
        path = tmp_path / "export.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("data/conversations.json", text)
            archive.writestr("user.json", "{}")
    memory = built(tmp_path)
    async with memory.running():
        queue = memory.ports.transcripts
        assert queue is not None
        for dry_run, brought in ((True, Brought(3, 6)), (False, Brought(3, 6)), (False, Brought())):
            steps: list[tuple[int, int]] = []

            def said(done: int, total: int, steps: list[tuple[int, int]] = steps) -> None:
                steps.append((done, total))

            told = await memory.attend_folder(
                lambda ports, dry=dry_run, said=said: bring_export(  # type: ignore[misc]
                    ports, queue, path, "tea", said, dry_run=dry
                )
            )
            assert told == brought
            assert steps == [(1, 3), (2, 3), (3, 3)]
        assert (await queue.state()).turns == 6
        pieces = await queue.offer("", memory.ports.now, "", 50, lambda _: True, iter(map(str, range(99))).__next__)
        assert {piece.space for piece in pieces} == {"tea"}
        assert not [piece for piece in pieces if "4711" in piece.text]


async def test_an_export_without_room_is_brought_in_parts_the_newest_first(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([claude(number, 40_000) for number in range(28)]), "utf-8")
    memory = built(tmp_path)
    async with memory.running():
        queue = memory.ports.transcripts
        assert queue is not None
        queue._bounds = type(queue._bounds)(days=30, mib=1)  # type: ignore[attr-defined]
        first = await memory.attend_folder(lambda ports: bring_export(ports, queue, path, ""))
        assert (first.conversations, first.later) == (26, 2)
        assert (await queue.state()).dropped == 0
        pieces = await queue.offer("", memory.ports.now, "~", 50, lambda _: True, iter(map(str, range(99))).__next__)
        assert pieces[0].turns[0].text.startswith("Question 27")
        for piece in pieces:
            await queue.finish(piece.id)
        rest = await memory.attend_folder(lambda ports: bring_export(ports, queue, path, ""))
        assert (rest.conversations, rest.later) == (2, 0)


@pytest.mark.parametrize("data", [b"{", b"[]", b"\xff", b"[" * 200_000])
async def test_what_is_no_export_is_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_bytes(data)
    memory = built(tmp_path)
    async with memory.running():
        queue = memory.ports.transcripts
        assert queue is not None
        with pytest.raises(InvalidArgumentError):
            await memory.attend_folder(lambda ports: bring_export(ports, queue, path, ""))


def test_the_command_says_what_would_come_and_then_takes_it(environment: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([chatgpt()]), "utf-8")
    told = []
    for more in (["--dry-run"], []):
        command = [*HOLDFAST, "ingest-session", str(path), *more]
        told.append(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert "2 turns would be taken in." in told[0]
    assert "0 turns wait" in told[0]
    assert "2 turns taken in." in told[1]
    assert "2 turns wait" in told[1]
