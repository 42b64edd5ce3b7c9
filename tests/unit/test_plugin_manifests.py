"""Manifests that no client's validator sees in CI: OpenClaw's, and those of the Agent Plugins standard.

OpenClaw 2026.9.6 takes both folders for what they are ("Bundle format: agent") and its `plugins doctor` passes; it is
too large to be installed for each run.
"""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import pytest

from holdfast.settings import EncoderName, load_settings

MANIFEST = Path(__file__).parents[2] / "plugins" / "openclaw" / "plugin.json"
FORMS = ("agent-plugin/plugin.json", "holdfast/.claude-plugin/plugin.json", "holdfast/.codex-plugin/plugin.json")


def manifest() -> dict[str, Any]:
    return dict(json.loads(MANIFEST.read_text("utf-8")))


def test_its_settings_are_those_of_omis_block_and_every_provider_is_one_of_ours() -> None:
    told = manifest()
    assert told["name"] == "omi"
    assert {"data_dir", "embedding_provider"} <= told["configSchema"]["properties"].keys()
    assert told["configSchema"]["properties"]["embedding_provider"]["enum"] == list(get_args(EncoderName))
    assert told["config"].keys() <= told["configSchema"]["properties"].keys()


def test_its_entry_point_opens_the_folder_that_the_block_names(tmp_path: Path) -> None:
    module, _, name = manifest()["entry"].partition(":")
    config = {"data_dir": str(tmp_path / "omi"), "embedding_provider": "none"}
    tools = getattr(import_module(module), name)(config)
    stored = tools["memory"].store("The crane lifts forty tonnes.")
    assert tools["memory"].recall("crane")
    assert stored
    assert list((tmp_path / "omi" / "memories").rglob("*.md"))


PLUGINS = MANIFEST.parents[1]
SCHEMAS = "https://agent-plugins.org/schemas/1.0.0"


@pytest.mark.parametrize("plugin", ["agent-plugin", "openclaw"])
def test_it_is_an_agent_plugin_whose_server_is_the_command_that_is_installed(plugin: str) -> None:
    told = json.loads((PLUGINS / plugin / "plugin.json").read_text("utf-8"))
    servers = json.loads((PLUGINS / plugin / "mcp.json").read_text("utf-8"))
    assert told["$schema"] == f"{SCHEMAS}/plugin.schema.json"
    assert re.fullmatch(r"[a-z][a-z0-9-]*", told["name"])
    assert servers.keys() == {"$schema", "mcpServers"}
    assert servers["$schema"] == f"{SCHEMAS}/mcp.schema.json"
    (server,) = servers["mcpServers"].values()
    assert (server["type"], server["command"], server["args"]) == ("stdio", "holdfast", [])


def test_all_manifests_of_the_plugin_say_the_same_of_it() -> None:
    manifests = [json.loads((PLUGINS / name).read_text("utf-8")) for name in FORMS]
    for key in ("name", "version", "license", "description"):
        assert len({told[key] for told in manifests}) == 1, key


def test_an_openclaw_of_today_opens_the_folder_that_omi_had() -> None:
    (server,) = json.loads((MANIFEST.parent / "mcp.json").read_text("utf-8"))["mcpServers"].values()
    assert load_settings(server["env"]).home == Path(manifest()["config"]["data_dir"]).expanduser()


def test_the_agent_plugin_has_the_same_skill_and_the_plugin_with_hooks_is_taken_for_none() -> None:
    skill = Path("skills") / "holdfast-memory" / "SKILL.md"
    assert (PLUGINS / "agent-plugin" / skill).read_bytes() == (PLUGINS / "holdfast" / skill).read_bytes()
    assert not (PLUGINS / "holdfast" / "plugin.json").exists(), "Codex would pass over the hooks"
