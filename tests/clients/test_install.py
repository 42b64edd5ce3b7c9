"""What `holdfast install` writes is what the real clients read."""

from __future__ import annotations

import json

import pytest

from clients.fake_llm import scripted
from clients.machine import FACT, FIND, STORE, TOOLS, Machine, assert_offered, holdfast
from clients.test_codex import session

pytestmark = [pytest.mark.clients, pytest.mark.timeout(300)]


@pytest.mark.parametrize("scope", [(), ("--project",)])
def test_claude_code_lists_what_was_installed_and_no_more_what_was_uninstalled(
    machine: Machine, scope: tuple[str, ...]
) -> None:
    holdfast(machine, "install", "claude-code", *scope)
    listed = machine.run("claude", "mcp", "list")
    assert "holdfast: " in listed
    assert scope or "✔ Connected" in listed  # that of a project waits for the user's consent
    holdfast(machine, "uninstall", "claude-code", *scope)
    assert "holdfast" not in machine.run("claude", "mcp", "list")


def test_codex_works_with_what_was_installed_and_its_own_command_takes_it_out(machine: Machine) -> None:
    holdfast(machine, "install", "codex")
    config = machine.home / ".codex" / "config.toml"
    entry = config.read_text("utf-8")
    (listed,) = json.loads(machine.run("codex", "mcp", "list", "--json"))
    assert (listed["name"], listed["enabled"]) == ("holdfast", True)
    with scripted(STORE, FIND) as model:
        session(machine, model, entry)
    assert_offered(model, *TOOLS)
    assert FACT in model.results[1]
    machine.run("codex", "mcp", "remove", "holdfast")
    assert "holdfast" not in config.read_text("utf-8")
    holdfast(machine, "install", "codex")
    holdfast(machine, "uninstall", "codex")
    assert "mcp_servers" not in config.read_text("utf-8")


def test_codex_offers_the_skill_that_was_installed(machine: Machine) -> None:
    holdfast(machine, "install", "codex", "--agents")
    entry = (machine.home / ".codex" / "config.toml").read_text("utf-8")
    with scripted(FIND) as model:
        session(machine, model, entry)
    assert "holdfast-maintain" in model.turns[0].everything
    assert "when an answer of recall says that maintenance is due" in model.turns[0].everything
    holdfast(machine, "uninstall", "codex")
    with scripted(FIND) as model:
        session(machine, model, entry)
    assert "holdfast-maintain" not in model.turns[0].everything
