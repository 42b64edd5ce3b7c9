"""The plugin, with the clients' own commands: it is valid, and installed it makes memory present."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from clients.fake_llm import Call, scripted
from clients.machine import Machine
from clients.test_codex import SETTINGS
from clients.test_presence import AT_ONCE, LAMP, PROMPT, told
from processes import ROOT

pytestmark = [pytest.mark.clients, pytest.mark.timeout(300)]

PLUGINS = ROOT / "plugins"
STORE = Call("remember", {"content": LAMP, "type": "decision"})


def on_path(machine: Machine) -> dict[str, str]:
    """The command `holdfast` is found, and notes are found by words."""
    launcher = machine.clone / ".venv" / "bin"
    path = f"{launcher}:{machine.environment['PATH']}"
    return {"PATH": path, "HOLDFAST_ENCODER": "none"}


def test_claude_codes_own_validator_accepts_the_plugin_and_its_marketplace(machine: Machine) -> None:
    for folder in (PLUGINS, PLUGINS / "holdfast"):
        assert "Validation passed" in machine.run("claude", "plugin", "validate", str(folder))


def test_in_claude_code_the_plugin_tells_a_session_what_another_stored(machine: Machine) -> None:
    machine.run("claude", "plugin", "marketplace", "add", str(PLUGINS))
    machine.run("claude", "plugin", "install", "holdfast@holdfast")
    for prompt, script in (("Note down how the lamp is trimmed.", (STORE,)), (PROMPT, ())):
        with scripted(*script) as model:
            variables = AT_ONCE | on_path(machine) | {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none"}
            tools = "mcp__plugin_holdfast_memory"
            said = machine.run(
                "claude", "-p", prompt, "--allowedTools", tools, "--output-format", "json", variables=variables
            )
            assert not json.loads(said)["is_error"]
    assert LAMP in told(model, PROMPT)
    assert "holdfast-memory" in model.turns[-1].everything
    assert not any("whisper" in name for name in model.turns[-1].tools)


def test_in_codex_the_plugin_tells_a_session_what_another_stored(machine: Machine) -> None:
    plugins = machine.root / "plugins"
    shutil.copytree(PLUGINS, plugins)
    machine.run("codex", "plugin", "marketplace", "add", str(plugins))
    machine.run("codex", "plugin", "add", "holdfast@holdfast")
    config = machine.home / ".codex" / "config.toml"
    installed = config.read_text("utf-8")
    approve = '\n[plugins."holdfast@holdfast".mcp_servers.memory]\ndefault_tools_approval_mode = "approve"\n'
    for prompt, script in (("Note down how the lamp is trimmed.", (STORE,)), (PROMPT, ())):
        with scripted(*script) as model:
            config.write_text(SETTINGS.format(url=model.url) + installed + approve, "utf-8")
            start = ("codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "--json", prompt)
            machine.run(*start, variables=on_path(machine))
    assert LAMP in told(model, PROMPT)
    assert "holdfast-memory" in model.turns[-1].everything


def test_both_kinds_of_hooks_are_those_that_install_writes() -> None:
    from holdfast.cli.hooks import hooks_for  # noqa: PLC0415

    folder: Path = PLUGINS / "holdfast" / "hooks"
    for client, server in (("claude-code", "plugin:holdfast:memory"), ("codex", "memory")):
        assert json.loads((folder / f"{client}.json").read_text("utf-8"))["hooks"] == hooks_for(client, server)
