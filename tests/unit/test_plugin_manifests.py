"""The manifest for OpenClaw: OMI's name, entry point and settings, and what they lead to is there."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

from holdfast.settings import EncoderName

MANIFEST = Path(__file__).parents[2] / "plugins" / "openclaw" / "plugin.json"


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
