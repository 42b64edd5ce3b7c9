"""Presence with the real clients: installed by one command, memory is before the model without being asked."""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from clients.fake_llm import Call, Model, scripted
from clients.machine import Machine, holdfast
from clients.test_codex import SETTINGS

pytestmark = [pytest.mark.clients, pytest.mark.timeout(300)]

LAMP = "The lamp of the lighthouse is trimmed by tenacity with five attempts, never by the old loop."
PROMPT = "How many attempts does tenacity make to trim the lamp of the lighthouse?"
STORE = Call("remember", {"content": LAMP, "type": "decision"})
FENCE = re.compile(r"<note [0-9a-f]{8}>")
AT_ONCE = {
    "ENABLE_TOOL_SEARCH": "false",
    "MCP_CONNECTION_NONBLOCKING": "0",
    "MCP_TIMEOUT": "120000",
    "MCP_CONNECT_TIMEOUT_MS": "30000",
}
CLIENTS = ("claude-code", "codex")
TEN = 10


def install(machine: Machine, client: str) -> None:
    holdfast(machine, "install", client, "--presence", "--env", "HOLDFAST_ENCODER=none")


def start(machine: Machine, client: str, model: Model, prompt: str, where: Path | None = None) -> None:
    """A session of its own, from its start to its end."""
    where = where or machine.project
    where.mkdir(exist_ok=True)
    if client == "claude-code":
        command = ["claude", "-p", prompt, "--allowedTools", "mcp__holdfast", "--output-format", "json"]
        variables = AT_ONCE | {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none"}
        assert not json.loads(machine.run(*command, where=where, variables=variables))["is_error"]
        return
    config = machine.home / ".codex" / "config.toml"
    entry = config.read_text("utf-8").partition("[mcp_servers")
    config.write_text(SETTINGS.format(url=model.url) + entry[1] + entry[2], "utf-8")
    trusted = "--dangerously-bypass-hook-trust"  # as a user does once in the terminal interface
    machine.run("codex", "exec", "--skip-git-repo-check", trusted, "--json", prompt, where=where)


def is_kept(machine: Machine, text: str) -> bool:
    """Whether a text stands anywhere in the memory folder."""
    home = machine.home / ".local" / "share" / "holdfast"
    return any(text.encode() in path.read_bytes() for path in home.rglob("*") if path.is_file())


def told(model: Model, prompt: str) -> str:
    """The first request to the model that has the prompt."""
    return next(turn.everything for turn in model.turns if prompt in turn.everything)


@pytest.mark.parametrize("client", CLIENTS)
def test_what_one_session_stored_the_next_one_is_told_and_small_talk_and_other_projects_are_not(
    machine: Machine, client: str
) -> None:
    install(machine, client)
    with scripted(STORE) as model:
        start(machine, client, model, "Note down how the lamp is trimmed.")
    assert "whisper" not in {name.rpartition("__")[2] for turn in model.turns for name in turn.tools}
    assert "whisper" not in json.dumps(sorted(model.turns[-1].tools))
    assert is_kept(machine, "Note down how the lamp is trimmed."), "what was said waits in the queue"
    with scripted() as model:
        start(machine, client, model, PROMPT)
    request = told(model, PROMPT)
    assert LAMP in request
    assert FENCE.search(request)
    assert "never instructions" in request
    with scripted() as model:
        start(machine, client, model, "thanks, that is all")
    assert LAMP not in told(model, "thanks, that is all")
    with scripted() as model:
        start(machine, client, model, "Set up the oven of the bakery", where=machine.root / "bakery")
    assert LAMP not in told(model, "Set up the oven of the bakery")


@pytest.mark.parametrize("client", CLIENTS)
def test_uninstalled_it_is_gone_and_every_file_is_as_it_was(machine: Machine, client: str) -> None:
    places = files(machine)
    before = {path: path.read_bytes() for path in places}
    install(machine, client)
    holdfast(machine, "uninstall", client)
    kept = {path: path.read_bytes() for path in files(machine)}
    assert {path: data for path, data in kept.items() if data.strip() not in (b"", b"{}")} == before


def files(machine: Machine) -> Sequence[Path]:
    return [
        path for path in sorted(machine.home.rglob("*"))
        if path.is_file() and "holdfast-backup" not in path.name and ".local" not in path.parts
    ]  # fmt: skip


@pytest.mark.parametrize("client", CLIENTS)
def test_with_a_server_that_is_not_there_or_that_dies_the_session_goes_on(machine: Machine, client: str) -> None:
    install(machine, client)
    launcher = machine.clone / ".venv" / "bin" / "holdfast"
    whole = launcher.read_text("utf-8")
    if client == "codex":  # which refuses to start without a server that is required
        config = machine.home / ".codex" / "config.toml"
        config.write_text(config.read_text("utf-8").replace("required = true", "required = false"), "utf-8")
    for broken in ("#!/bin/sh\nexit 1\n", whole.replace("exec ", "timeout -s KILL 2 ")):
        launcher.write_text(broken, "utf-8")
        with scripted() as model:
            start(machine, client, model, PROMPT)
        assert told(model, PROMPT)


A, B = "Decide: the beam burns acetylene, because oil froze.", "Now say which keeper has the night watch."


def waiting(machine: Machine) -> list[tuple[str, str]]:
    """Who said what, of all that waits to be distilled."""
    queue = machine.home / ".local" / "share" / "holdfast" / "transcripts" / "queue.db"
    with closing(sqlite3.connect(queue)) as connection:
        return connection.execute("SELECT role, text FROM turns ORDER BY number").fetchall()


SPOKEN = [("user", A), ("assistant", "Done."), ("user", B), ("assistant", "Done.")]


def test_a_compaction_in_the_middle_of_a_session_of_claude_code_loses_nothing(machine: Machine) -> None:
    install(machine, "claude-code")

    def go_on(prompt: str, *options: str) -> None:
        with scripted() as model:
            variables = AT_ONCE | {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none"}
            machine.run("claude", "-p", prompt, *options, "--allowedTools", "mcp__holdfast", variables=variables)

    go_on(A)
    go_on("/compact", "--continue")
    (transcript,) = (machine.home / ".claude" / "projects").rglob("*.jsonl")
    assert '"isCompactSummary":true' in transcript.read_text("utf-8")
    go_on(B, "--continue")
    assert waiting(machine) == SPOKEN, "each turn once, and neither the command nor the summary"


def test_a_compaction_in_the_middle_of_a_session_of_codex_loses_nothing(machine: Machine) -> None:
    install(machine, "codex")
    config = machine.home / ".codex" / "config.toml"
    server = config.read_text("utf-8")
    for prompt, options in ((A, ()), (B, ("resume", "--last"))):
        with scripted() as model:
            limit = "model_auto_compact_token_limit = 1\n"  # so that each further prompt begins with a compaction
            config.write_text(limit + SETTINGS.format(url=model.url) + server, "utf-8")
            trusted = "--dangerously-bypass-hook-trust"
            machine.run("codex", "exec", *options, "--skip-git-repo-check", trusted, "--json", prompt)
    (transcript,) = (machine.home / ".codex" / "sessions").rglob("*.jsonl")
    assert '"type":"compacted"' in transcript.read_text("utf-8")
    assert waiting(machine) == SPOKEN, "each turn once, and not the summary"


HARM = """import json, os, sys
path = json.load(sys.stdin).get("transcript_path") or ""
if not path or not os.path.exists(path):
    sys.exit()
if sys.argv[1] == "gone":
    os.unlink(path)
else:
    with open(path, "ab") as file:
        file.write(b'\\xff\\xfe\\x00 no text\\n{"type": "user", "mess\\n[[[[\\n{"type": 7, "message": []}\\n')
        file.write(b'"a word"\\n{"type": "assistant", "message": {"role": "assistant", "content": {"text": 5}}}\\n')
        file.write(b"[" * 100000 + b"\\n")
"""


@pytest.mark.parametrize("harm", ["broken", "gone"])
@pytest.mark.parametrize("client", CLIENTS)
def test_with_a_transcript_that_is_broken_or_gone_the_session_goes_on_and_what_is_there_is_kept(
    machine: Machine, client: str, harm: str
) -> None:
    install(machine, client)
    script = machine.root / "harm.py"
    script.write_text(HARM, "utf-8")
    folder = machine.home / (".claude/settings.json" if client == "claude-code" else ".codex/hooks.json")
    settings = json.loads(folder.read_text("utf-8"))
    command = {"type": "command", "command": f"{sys.executable} {script} {harm}"}
    for event in ("UserPromptSubmit", "Stop"):
        settings["hooks"][event].insert(0, {"hooks": [command]})
    folder.write_text(json.dumps(settings), "utf-8")
    for prompt in (A, B):
        with scripted() as model:
            start(machine, client, model, prompt)
        assert told(model, prompt)
    if harm == "broken":
        assert waiting(machine) == SPOKEN


def test_ten_sessions_at_once_are_all_told(machine: Machine) -> None:
    """All ten start a client and a server each.

    The clients are given two minutes for a hook and for a server instead of their ten and thirty seconds: on two busy
    processors ten clients need longer than that to start themselves.
    """
    install(machine, "claude-code")
    settings = machine.home / ".claude" / "settings.json"
    settings.write_text(settings.read_text("utf-8").replace('"timeout": 10', '"timeout": 120'), "utf-8")
    with scripted(STORE) as model:
        start(machine, "claude-code", model, "Note down how the lamp is trimmed.")
    with scripted() as model, ThreadPoolExecutor(TEN) as pool:
        list(pool.map(lambda _: start(machine, "claude-code", model, PROMPT), range(TEN)))
    requests = [turn.everything for turn in model.turns if PROMPT in turn.everything]
    assert len(requests) >= TEN
    assert sum(LAMP in request for request in requests) >= TEN
