"""The command line is the same memory that the tools serve: what one stores the other finds."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import forked
from commands import ran
from holdfast.cli.terminal import Screen
from processes import HOLDFAST, PATIENCE, ROOT, environment_in, notes_in, own_port, stdio

GOLDEN = {tool["name"]: tool for tool in json.loads((ROOT / "tests/house/tools.json").read_text("utf-8"))}
FACT = "The tide table hangs in the kitchen."
ESCAPE = "\x1b[31mred"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return environment_in(tmp_path)


def told(environment: dict[str, str], tool: str, *arguments: str, given: str = "", code: int = 0) -> Any:
    """What `--json` prints, which is what the tool of this name answers."""
    answer = json.loads(ran(environment, *arguments, "--json", given=given, code=code).stdout)
    if tool:
        jsonschema.Draft202012Validator(GOLDEN[tool]["outputSchema"]).validate(answer)
    return answer


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_person_who_starts_an_http_server_is_told_where_it_is(environment: dict[str, str]) -> None:
    with own_port() as port:
        ours, theirs = pty.openpty()
        command = [*HOLDFAST, "--http", "--port", str(port)]
        with forked.begin(command, env=environment, stdin=theirs, stdout=theirs, stderr=theirs) as process:
            os.close(theirs)
            said = b""
            while f"http://127.0.0.1:{port}/mcp".encode() not in said:  # other remarks may come before it
                more = _read(ours)
                assert more, said
                said += more
            process.terminate()
            process.wait(PATIENCE)
        os.close(ours)


def on_a_terminal(environment: dict[str, str], *arguments: str) -> str:
    """What a person sees."""
    ours, theirs = pty.openpty()
    with forked.begin([*HOLDFAST, *arguments], env=environment, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        said = b""
        while more := _read(ours):
            said += more
        process.wait(PATIENCE)
    os.close(ours)
    return said.decode()


def _read(handle: int) -> bytes:
    try:
        return os.read(handle, 65_536)
    except OSError:  # Linux's end of a terminal
        return b""


def test_a_note_goes_its_way_from_remember_to_outdated(environment: dict[str, str]) -> None:
    stored = told(environment, "remember", "remember", FACT, "--type", "decision", "--tag", "home", "--tag", "sea")
    assert (stored["type"], stored["space"]) == ("decision", "harbour")
    found = told(environment, "recall", "recall", "Where does the tide table hang?", "--tag", "sea")
    assert [hit["content"] for hit in found["results"]] == [FACT]
    assert found["results"][0]["source"] == "holdfast-cli"
    shown = told(environment, "recall_node", "node", stored["id"][:14])
    assert (shown["content"], shown["tags"]) == (FACT, ["home", "sea"])
    retired = told(environment, "mark_outdated", "outdated", stored["id"], "--reason", "It was taken down.")
    assert retired["change_id"]
    assert told(environment, "recall", "recall", "Where does the tide table hang?", code=1)["results"] == []


def test_what_remember_prints_is_how_to_take_it_back(environment: dict[str, str]) -> None:
    said = ran(environment, "remember", FACT).stdout
    (undo,) = re.findall(r"to undo: holdfast outdated --undo (chg_\w+)", said)
    ran(environment, "outdated", "--undo", undo)
    assert FACT not in notes_in(environment)
    ran(environment, "remember", FACT)
    assert "to undo" not in ran(environment, "remember", FACT).stdout, "nothing was changed"


def test_a_list_without_a_question_tells_how_many_there_are_and_no_relevance(environment: dict[str, str]) -> None:
    ran(environment, "remember", FACT)
    ran(environment, "remember", "The anchor is in the shed.")
    said = ran(environment, "recall", "").stdout
    assert said.startswith("2 notes\n")
    assert (said.count(", listed"), "relevance" in said) == (2, False)
    assert ran(environment, "recall", "", "--limit", "1").stdout.startswith("2 notes, 1 of them here\n")
    assert "relevance" in ran(environment, "recall", "tide table").stdout


def test_what_the_command_line_stores_a_running_server_finds_and_the_other_way(environment: dict[str, str]) -> None:
    with stdio(environment) as server:
        server.begin()
        ran(environment, "remember", FACT)
        hits = server.tool("recall", query="tide table")["structuredContent"]["results"]
        assert [hit["content"] for hit in hits] == [FACT]
        server.tool("remember", content="The anchor is in the shed.")
        assert "in the shed" in ran(environment, "recall", "anchor").stdout


def test_content_and_question_come_from_standard_input_for_a_dash(environment: dict[str, str]) -> None:
    text = f"{FACT}\n\nIt is from März, 海.\n"
    stored = told(environment, "remember", "remember", "-", given=text)
    assert text.strip() in notes_in(environment)
    assert told(environment, "recall", "recall", "-", given="tide table")["results"][0]["id"] == stored["id"]
    assert "no UTF-8" in ran(environment, "remember", "-", given=b"\xff\xfe", code=2).stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("node", "mem_zzzz"), "node_id names no note. Find it"),
        (("remember", "x", "--link", "mem_zzzz"), "links[0] names no note."),
        (("remember", "  "), "content"),
        (("remember", "x", "--type", "poem"), "invalid choice"),
        (("recall", "x", "--limit", "0"), "limit"),
    ],
)
def test_a_wrong_call_ends_with_two_and_a_sentence(
    environment: dict[str, str], arguments: Sequence[str], sentence: str
) -> None:
    ended = ran(environment, *arguments, code=2)
    assert sentence in ended.stderr
    assert ended.stdout == ""


def test_nothing_found_is_said_and_ends_with_one(environment: dict[str, str]) -> None:
    assert ran(environment, "recall", "moon base", code=1).stdout.startswith("Nothing relevant is stored.\n")


def test_the_time_that_a_question_was_read_as_is_said(environment: dict[str, str]) -> None:
    said = ran(environment, "recall", "the moon base in March 2025", code=1).stdout
    assert 'Nothing that fits is from "in March 2025".' in said
    assert "to now" in ran(environment, "recall", "moon base", "--after", "2026-01-01", code=1).stdout
    assert "asked for" not in ran(environment, "recall", "moon base", code=1).stdout


def test_colours_are_on_a_terminal_only_and_never_against_the_users_wish(environment: dict[str, str]) -> None:
    ran(environment, "remember", FACT)
    environment |= {"TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    assert "\x1b[" in on_a_terminal(environment, "recall", "tide table")
    assert "\x1b" not in on_a_terminal(environment | {"NO_COLOR": "1"}, "recall", "tide table")
    assert "\x1b" not in ran(environment, "recall", "tide table").stdout
    assert not Screen.of(Terminal(), {"TERM": "dumb"}).colour
    assert Screen.of(Terminal(), {"NO_COLOR": ""}).colour  # set, and empty, is no wish


def test_a_note_cannot_steer_the_terminal_that_shows_it(environment: dict[str, str]) -> None:
    stored = told(environment, "remember", "remember", f"{FACT} {ESCAPE}")
    for command in (("recall", "tide table"), ("node", stored["id"])):
        shown = ran(environment, *command).stdout
        assert "tide table" in shown
        assert "\x1b" not in shown
    assert ESCAPE in told(environment, "recall_node", "node", stored["id"])["content"]


@pytest.mark.files("a file that cannot be read is put there by hand")
def test_stats_count_what_is_there(environment: dict[str, str]) -> None:
    ran(environment, "remember", FACT, "--space", "global")
    old = told(environment, "remember", "remember", "The anchor is red.", "--type", "decision")
    ran(environment, "outdated", old["id"])
    broken = Path(environment["HOLDFAST_HOME"]) / "memories" / "broken.md"
    broken.write_text("---\nid: [\n---\nx", "utf-8")
    counted = told(environment, "", "stats")
    assert (counted["notes"], counted["outdated"], counted["quarantined"]) == (3, 1, 1)  # one of them is Self
    assert (counted["spaces"], counted["types"]) == ({"global": 2}, {"fact": 1, "person": 1})  # of what is current
    assert ran(environment, "stats").stdout.startswith("3 notes, 1 of them outdated, in ")


@pytest.mark.files("what is imported comes into a folder")
def test_what_was_ingested_is_found_by_meaning_without_any_server(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "tea.md").write_text("Anna takes her tea without sugar.", "utf-8")
    (tmp_path / "crane.md").write_text("The crane is painted yellow.", "utf-8")
    encoding = environment | {"HOLDFAST_ENCODER": "builtin"}
    ran(encoding, "ingest", str(tmp_path / "tea.md"), str(tmp_path / "crane.md"))
    assert told(encoding, "", "stats")["pending_vectors"] == 0
    (hit,) = told(encoding, "recall", "recall", "who likes an unsweetened drink?")["results"]
    assert hit["content"] == "Anna takes her tea without sugar."


@pytest.mark.files("what is imported comes into a folder")
def test_ingest_stores_every_file_once_and_names_those_it_refuses(environment: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    (folder / "deep").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / "one.md").write_bytes(b"\xef\xbb\xbf# Anchor\r\n\r\nIt is in the shed.\r\n")
    (folder / "deep" / "two.txt").write_text("The buoy is green.", "utf-8")
    (folder / "bad.md").write_bytes(b"\xff\xfe\x00")
    (folder / "long.md").write_text("long " * 60_000, "utf-8")
    (folder / ".git" / "hidden.md").write_text("Hidden.", "utf-8")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    (tried,) = told(environment, "", "ingest", str(folder), "--dry-run", code=1)
    assert (tried["notes"], tried["dry_run"], notes_in(environment)) == (2, True, "")
    (first,) = told(environment, "", "ingest", str(folder), code=1)
    assert first["notes"] == 2
    assert sorted(left["where"] for left in first["refused"]) == ["bad.md", "long.md"]
    assert "# Anchor\n\nIt is in the shed." in notes_in(environment)
    (hit,) = told(environment, "recall", "recall", "buoy green")["results"]
    assert (hit["content"], hit["space"]) == ("The buoy is green.", "harbour")
    ran(environment, "outdated", hit["id"])
    (again,) = told(environment, "", "ingest", str(folder), code=1)
    assert (again["notes"], again["known"]) == (0, 2)
    ran(environment, "recall", "buoy green", code=1)
    (other,) = told(environment, "", "ingest", str(_copied(folder, "elsewhere")))
    assert other["notes"] == 1
    (alone,) = told(environment, "", "ingest", str(folder / "one.md"))
    assert (alone["notes"], alone["known"]) == (0, 1)
    assert "memory folder" in ran(environment, "ingest", environment["HOLDFAST_HOME"], code=2).stderr
    assert "no file" in ran(environment, "ingest", str(tmp_path / "none"), code=2).stderr


@pytest.mark.files("what is imported comes into a folder")
def test_ingest_names_the_links_and_special_files_that_it_passes_over(
    environment: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "one.md").write_text("The anchor is in the shed.", "utf-8")
    (folder / "link.md").symlink_to(folder / "one.md")
    os.mkfifo(folder / "pipe.md")
    said = ran(environment, "ingest", str(folder)).stdout
    assert "1 note stored" in said
    assert "link.md: it is a symbolic link" in said
    assert "pipe.md: it is a pipe, a socket or a device" in said
    (again,) = told(environment, "", "ingest", str(folder))
    assert {"link.md", "pipe.md"} <= {left["where"] for left in again["unmapped"]}


@pytest.mark.files("what is imported comes into a folder")
def test_ingest_says_what_it_does_not_store_again(environment: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "anchor.md"
    path.write_text("The anchor is in the shed.", "utf-8")
    (done,) = told(environment, "", "ingest", str(path))
    ran(environment, "outdated", "--undo", done["changes"][0])
    assert "1 note not stored again: deleted, merged or taken back" in ran(environment, "ingest", str(path)).stdout


@pytest.mark.files("what is imported comes into a folder")
def test_ingest_joins_what_is_stored_already(environment: dict[str, str], tmp_path: Path) -> None:
    first = told(environment, "remember", "remember", "The anchor is in the shed.")
    (tmp_path / "Anchor.md").write_text("the anchor  is in the SHED.\n", "utf-8")
    (done,) = told(environment, "", "ingest", str(tmp_path / "Anchor.md"))
    assert (done["notes"], done["same"]) == (0, 1)
    (hit,) = told(environment, "recall", "recall", "where is the anchor?")["results"]
    assert hit["id"] == first["id"]
    again = told(environment, "remember", "remember", "THE anchor is in the shed.", "--tag", "boat")
    assert (again["id"], again["notices"][1]) == (first["id"], "Joined to it: tags.")


def _copied(folder: Path, name: str) -> Path:
    """Another folder with a file of the same name and other words."""
    other = folder.parent / name
    other.mkdir()
    (other / "one.md").write_text("The chain is long.", "utf-8")
    return other


def test_whoever_closes_the_pipe_early_gets_no_trace(environment: dict[str, str]) -> None:
    line = f"'{HOLDFAST[0]}' -m holdfast tools --format mcp | head -c 10"
    found = subprocess.run(["sh", "-c", line], env=environment, capture_output=True, timeout=PATIENCE, check=True)
    assert found.stderr == b""


@pytest.mark.files("it shows itself in a folder of its own, whatever is set")
def test_a_first_run_is_not_disturbed_by_settings_nor_by_whoever_has_seen_enough(environment: dict[str, str]) -> None:
    own = {"HOLDFAST_ENCODER": "magic", "HOLDFAST_TENANCY": "user", "HOLDFAST_SECRETS": "perhaps"}
    own |= {"HOLDFAST_STORE": "postgresql://nobody@127.0.0.1:9/nothing"}
    line = f"'{HOLDFAST[0]}' -m holdfast try"
    for end, last in (("", "the same server."), (" | head -n 1", "/memory")):
        found = subprocess.run(
            ["sh", "-c", line + end], env=environment | own, capture_output=True, timeout=PATIENCE, check=False
        )
        assert (found.returncode, found.stderr) == (0, b"")
        assert found.stdout.decode().rstrip().endswith(last)
    assert not Path(environment["HOLDFAST_HOME"]).exists()


@pytest.mark.parametrize(
    ("line", "code", "sentence"),
    [
        ("stats >/dev/full", 2, "cannot be written"),
        ("try >/dev/full", 2, "cannot be written"),
        ("tools >/dev/full", 2, "cannot be written"),
        ("view --no-browser >/dev/full", 2, "cannot be written"),
        ("stats >&-", 0, ""),
        ("remember - <&-", 2, "no standard input"),
        ("remember '' 2>&-", 2, ""),
    ],
)
def test_a_stream_that_is_full_or_closed_ends_a_command_without_a_trace(
    environment: dict[str, str], line: str, code: int, sentence: str
) -> None:
    command = f"'{HOLDFAST[0]}' -m holdfast {line}"
    found = subprocess.run(["sh", "-c", command], env=environment, capture_output=True, timeout=PATIENCE, check=False)
    assert (found.returncode, b"Traceback" in found.stderr) == (code, False), found
    assert sentence in found.stderr.decode()


def test_help_names_every_command_and_no_command_means_a_server(environment: dict[str, str]) -> None:
    said = ran(environment, "--help").stdout
    for command in ("try", "remember", "recall", "node", "outdated", "stats", "ingest", "tools", "install", "doctor"):
        assert command in said
    with stdio(environment) as server:
        assert server.begin()
