"""A session of a real client is taken in from its own transcript, and a later session makes a note of it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from clients.fake_llm import Call, scripted
from clients.machine import BATCH_ID, FIND, STORE, Machine
from clients.test_claude_code import ADD_COMMAND, AT_ONCE
from clients.test_codex import SERVER, SETTINGS

pytestmark = [pytest.mark.clients, pytest.mark.timeout(300)]

PIECE = re.compile(r"pce_[0-9a-z]+")
CHOICE = "The beam burns acetylene, not oil, because oil froze at -12 in March. <private>My pin is 4711.</private>"
DISTILLED = "The beam burns acetylene, not oil: oil froze at -12 in March."


def extracted(results: list[str]) -> dict[str, Any]:
    """What the model makes of the one piece that it was shown."""
    (piece,) = dict.fromkeys(PIECE.findall(results[-1]))
    item = {"piece_id": piece, "content": DISTILLED, "type": "decision"}
    return {"batch_id": BATCH_ID.findall(results[-1])[0], "results": {"extractions": [item]}}


DISTIL = (Call("run_maintenance", {"kinds": ["extractions"]}), Call("run_maintenance", extracted))


def told(machine: Machine, *arguments: str) -> Any:
    """What our own command says."""
    command = [str(machine.clone / ".venv" / "bin" / "holdfast"), *arguments, "--json"]
    return json.loads(machine.run(*command))


def assert_distilled(machine: Machine, shown: str, source: str) -> None:
    """The second session was shown what was said in the first, and a note was made of it."""
    assert "because oil froze at -12 in March." in shown
    assert "4711" not in shown
    assert "tide table" not in shown, "what tools were told and what they answered is not what was said"
    (note,) = [text for text in machine.notes().values() if DISTILLED in text]
    assert f'source: "{source}"' in note
    assert "distilled_from:" in note


def test_a_session_of_claude_code_becomes_a_note_in_a_later_one(machine: Machine) -> None:
    machine.run("sh", "-c", ADD_COMMAND, where=machine.clone)

    def session(prompt: str, *script: Call) -> list[str]:
        with scripted(*script) as model:
            variables = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none", **AT_ONCE}
            command = ["claude", "-p", prompt, "--allowedTools", "mcp__holdfast", "--output-format", "json"]
            machine.run(*command, variables=variables)
        return model.results

    session(CHOICE, STORE, FIND)
    assert told(machine, "ingest-session", "--latest")["sessions"][0]["turns"] == 2
    shown, _ = session("Tend the memory.", *DISTIL)
    assert_distilled(machine, shown, "claude-code")


def test_a_session_of_codex_becomes_a_note_in_a_later_one(machine: Machine) -> None:
    def session(prompt: str, *script: Call) -> list[str]:
        with scripted(*script) as model:
            text = SETTINGS.format(url=model.url) + machine.here(SERVER)
            (machine.home / ".codex" / "config.toml").write_text(text, "utf-8")
            machine.run("codex", "exec", "--skip-git-repo-check", "--json", prompt)
        return model.results

    session(CHOICE, STORE, FIND)
    assert told(machine, "ingest-session", "--latest")["sessions"][0]["turns"] == 2
    shown, _ = session("Tend the memory.", *DISTIL)
    assert_distilled(machine, shown, "codex")
