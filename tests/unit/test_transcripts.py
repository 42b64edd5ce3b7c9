"""Transcripts of real clients, read into turns: what was said, and nothing of tools, hooks and summaries."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.transcripts.pieces import Kept, first_piece
from holdfast.model.transcripts.turns import LONGEST_TURN, Setting, Turn, read_turns, said
from holdfast.store.transcripts.reading import NoTranscriptError, Place, client_roots, locate, opened, read_chunk
from sessions import REAL, Session, claude_session

CHAI = "ചായ വേണം, കാപ്പി വേണ്ട."
CHOICE = "We use SQLite instead of Postgres, because the index must be disposable."


def turns_of(name: str) -> list[Turn]:
    return read_turns((REAL / name).read_bytes().split(b"\n"), Setting())[0]


def test_a_session_of_claude_code_is_what_the_two_said() -> None:
    turns = turns_of("claude-code-2.1.jsonl")
    assert [(turn.role, turn.text) for turn in turns] == [
        ("user", f"{CHOICE} [private]"), ("assistant", "Done."), ("user", f"{CHAI} Go on."), ("assistant", "Done."),
        ("user", "And after the compaction?"), ("assistant", "Done."),
    ]  # fmt: skip
    assert {(turn.source, turn.cwd) for turn in turns} == {("claude-code", "/home/ada/lighthouse")}
    assert turns[0].at == "2026-11-23T02:52:37Z"


def test_a_session_of_codex_is_what_the_two_said() -> None:
    turns = turns_of("codex-0.169.jsonl")
    assert [(turn.role, turn.text) for turn in turns] == [
        ("user", CHOICE), ("assistant", "Done."), ("user", CHAI), ("assistant", "Done."),
    ]  # fmt: skip
    assert {(turn.source, turn.session, turn.cwd) for turn in turns} == {
        ("codex", "01a20652-280f-7c61-b647-3acd72111ef2", "/home/ada/lighthouse")
    }


def test_a_forked_session_has_the_keys_of_the_turns_that_it_copies() -> None:
    first, fork = (turns_of(name) for name in ("claude-code-2.1.jsonl", "claude-code-2.1-fork.jsonl"))
    new = [turn.text for turn in fork if turn.key not in {turn.key for turn in first}]
    assert new == ["A fork.", "Done."]


def test_what_is_private_is_never_read_whatever_stands_around_it() -> None:
    assert "4711" in (REAL / "claude-code-2.1.jsonl").read_text("utf-8")
    assert not [turn for turn in turns_of("claude-code-2.1.jsonl") if "4711" in turn.text]
    assert said("a<private>b<PRIVATE >c</private>d</private>e") == "a[private]e"
    assert said("kept <private>to the end") == "kept [private]"
    assert "hidden" not in said("<system-reminder>x <private>hidden</system-reminder> hidden")


def test_what_a_client_or_a_memory_put_in_is_not_what_somebody_said() -> None:
    text = "Before.\n<system-reminder>\nrules\n</system-reminder>\n<note 0123abcd>\nrecalled\n</note 0123abcd>\nAfter."
    assert said(text) == "Before.\n\nAfter."
    assert (
        said("I write <system-reminder> by hand, and <note> too") == "I write <system-reminder> by hand, and <note> too"
    )


@pytest.mark.parametrize("opening", ["<system-reminder>", "<private>", "</private><note 01234567>", "<", "<private"])
def test_a_text_of_nothing_but_marks_is_read_in_linear_time(opening: str) -> None:
    def took(times: int) -> float:
        """The least of three: a collection of garbage in one of them says nothing of the text."""
        seconds = []
        for _ in range(3):
            began = time.process_time()
            said(opening * times)
            seconds.append(time.process_time() - began)
        return min(seconds)

    assert took(200_000) < 12 * took(50_000) + 0.5


PARTS = ["<", ">", "/", " ", "a", "<private>", "</private>", "<note 0123abcd>", "</note 0123abcd>", "<system-reminder>"]


@given(st.lists(st.sampled_from(PARTS), max_size=30), st.lists(st.sampled_from(PARTS), max_size=30))
def test_nothing_around_a_private_block_brings_it_out(before: list[str], after: list[str]) -> None:
    assert "zebra" not in said(f"{''.join(before)}<private>zebra</private>{''.join(after)}")


@pytest.mark.parametrize(
    "hidden",
    [
        {"isSidechain": True}, {"isMeta": True}, {"isCompactSummary": True}, {"isVisibleInTranscriptOnly": True},
        {"type": "attachment"}, {"type": "api-request-blob"},
        {"message": {"role": "user", "content": [{"type": "tool_result", "content": "noise"}]}},
        {"message": {"role": "user", "content": "<local-command-stdout>noise</local-command-stdout>"}},
        {"message": {"role": "user", "content": "[Request interrupted by user]"}},
        {"message": {"role": "system", "content": "noise"}}, {"message": None}, {"message": {"role": "user"}},
    ],
)  # fmt: skip
def test_a_line_that_is_no_turn_tells_nothing(hidden: dict[str, object], tmp_path: Path) -> None:
    line = Session(tmp_path / "s.jsonl").line("user", "noise", **hidden)
    assert read_turns([line.encode()], Setting())[0] == []


@given(st.lists(st.binary(max_size=80), max_size=12))
def test_no_line_is_too_broken_to_be_passed_over(lines: list[bytes]) -> None:
    read_turns(lines, Setting())


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda inner: (
    st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["type", "message", "payload", "role", "content", "text", "cwd", "id"]), inner)
), max_leaves=12))  # fmt: skip
def test_no_json_is_too_strange_to_be_passed_over(value: object) -> None:
    read_turns([json.dumps(value).encode()], Setting())


def test_a_very_long_turn_is_cut_in_its_middle(tmp_path: Path) -> None:
    line = Session(tmp_path / "s.jsonl").line("user", f"begin {'x' * 1_000_000} end")
    (turn,) = read_turns([line.encode()], Setting())[0]
    assert len(turn.text) <= LONGEST_TURN + 10
    assert turn.text.startswith("begin")
    assert turn.text.endswith("end")


def test_a_cut_last_line_waits_until_it_is_whole(tmp_path: Path) -> None:
    session = claude_session(tmp_path)
    session.say("One.", "Two.")
    whole = session.line("user", f"Three: {CHAI}") + "\n"
    data = whole.encode()
    with session.path.open("ab") as file:
        file.write(data[:-20])
    found = locate(str(session.path), client_roots({}, tmp_path))
    first = read_chunk(found, Place())
    assert [turn.text for turn in first.turns] == ["One.", "Two."]
    with session.path.open("ab") as file:
        file.write(data[-20:])
    second = read_chunk(found, first.after)
    assert [turn.text for turn in second.turns] == [f"Three: {CHAI}"]
    assert read_chunk(found, second.after).turns == ()


def test_a_transcript_that_was_replaced_by_a_longer_one_is_read_from_its_beginning(tmp_path: Path) -> None:
    session = claude_session(tmp_path)
    session.say("One.", "Two.")
    found = locate(str(session.path), client_roots({}, tmp_path))
    place = read_chunk(found, Place()).after
    session.path.unlink()
    session.name = "another"
    session.say("A much longer first turn than there was before.", "Two.", "Three.")
    again = read_chunk(found, place)
    assert again.turns[0].text.startswith("A much longer")


def test_a_line_without_end_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.store.transcripts.reading.CHUNK", 1000)
    monkeypatch.setattr("holdfast.store.transcripts.reading.LONGEST_LINE", 5000)
    session = claude_session(tmp_path)
    session.write("x" * 20_000)
    found = locate(str(session.path), client_roots({}, tmp_path))
    assert read_chunk(found, Place()).after.offset == 0
    session.write("\n")
    session.say("Behind it.")
    chunk = read_chunk(found, Place())
    while not chunk.is_last:
        chunk = read_chunk(found, chunk.after)
    assert [turn.text for turn in chunk.turns] == ["Behind it."]


@pytest.mark.parametrize(
    "path",
    ["", "relative.jsonl", "/etc/passwd", "/etc/passwd.jsonl", "{root}/../../../../etc/passwd.jsonl",
     "{root}/a\0.jsonl",      "{root}", "{root}/notes.md", "{root}x/a.jsonl", "~/.claude/projects/a.jsonl", "file://{root}/a.jsonl",
     "{root}/" + "d/" * 40 + "a.jsonl"],
)  # fmt: skip
def test_a_path_elsewhere_is_refused_before_anything_is_opened(path: str, tmp_path: Path) -> None:
    root = tmp_path / ".claude" / "projects"
    with pytest.raises(NoTranscriptError):
        locate(path.replace("{root}", str(root)), client_roots({}, tmp_path))


@pytest.mark.parametrize("linked", ["file", "folder", "fifo", "folder itself"])
def test_a_link_or_what_is_no_file_is_not_read(linked: str, tmp_path: Path) -> None:
    root = tmp_path / ".claude" / "projects"
    (root / "p").mkdir(parents=True)
    secret = tmp_path / "elsewhere"
    secret.mkdir()
    (secret / "a.jsonl").write_text("{}\n", "utf-8")
    path = root / "p" / "a.jsonl"
    match linked:
        case "file":
            path.symlink_to(secret / "a.jsonl")
        case "folder":
            (root / "q").symlink_to(secret)
            path = root / "q" / "a.jsonl"
        case "fifo":
            os.mkfifo(path)
        case _:
            path.mkdir()
    with pytest.raises(NoTranscriptError), opened(locate(str(path), client_roots({}, tmp_path))):
        pass


def test_a_root_that_is_a_link_itself_is_the_users_own_choice(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles"
    (real / "projects").mkdir(parents=True)
    (tmp_path / ".claude").symlink_to(real)
    (real / "projects" / "a.jsonl").write_text("{}\n", "utf-8")
    by_link = locate(str(tmp_path / ".claude" / "projects" / "a.jsonl"), client_roots({}, tmp_path))
    by_name = locate(str(real / "projects" / "a.jsonl"), client_roots({}, tmp_path))
    assert by_link.name == by_name.name
    with opened(by_link) as file:
        assert file.read() == b"{}\n"


def test_a_piece_is_short_enough_and_keeps_an_answer_with_its_question() -> None:
    turns = [Kept(number, ("user", "assistant")[number % 2], "word " * 300, "") for number in range(20)]
    count = first_piece(turns)
    assert 0 < count < len(turns)
    assert turns[count].role == "user"
    assert first_piece([Kept(0, "user", "word " * 9000, "")]) == 1
