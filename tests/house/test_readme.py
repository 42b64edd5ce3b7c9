"""The README says what is there: tools, settings, files, tests, and blocks that a client can read."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from holdfast.settings import SETTINGS
from processes import HOLDFAST, environment_in

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
CLIENTS = README
SETTINGS_PAGE = (ROOT / "docs" / "settings.md").read_text("utf-8")
EXAMPLE = ROOT / "mcp.json.example"
GOLDEN_TOOLS = Path(__file__).parent / "tools.json"


def section(heading: str) -> str:
    """The text between `## heading` and the next heading of its rank."""
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL)
    assert found, f"README.md has no section {heading!r}"
    return found[1]


def first_column(text: str) -> list[str]:
    """The `code` in the first cell of each row of a table."""
    return re.findall(r"^\| *`([^`]+)` *\|", text, re.MULTILINE)


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def golden_tool_names() -> list[str]:
    golden = json.loads(GOLDEN_TOOLS.read_text("utf-8"))
    tools = golden["tools"] if isinstance(golden, dict) else golden
    return [tool["name"] for tool in tools]


def test_the_tool_table_is_the_tool_list() -> None:
    assert sorted(first_column(section("The tools"))) == sorted(golden_tool_names())


def test_the_settings_table_is_the_list_of_settings() -> None:
    assert sorted(first_column(SETTINGS_PAGE)) == sorted(setting.variable for setting in SETTINGS)


def test_there_are_two_commands_and_the_second_runs_the_tests() -> None:
    commands = blocks("sh", section("Two commands"))
    assert len(commands) == 2
    assert commands[0].rstrip().endswith("holdfast try")
    assert " -m pytest" in commands[1].splitlines()[-1]


def test_requirement_files_in_the_commands_exist() -> None:
    names = re.findall(r" -r (\S+)", section("Two commands"))
    assert names
    assert not [name for name in names if not (ROOT / name).is_file()]


@pytest.mark.parametrize("text", blocks("json", CLIENTS))
def test_a_json_block_configures_a_server(text: str) -> None:
    assert_servers(json.loads(text)["mcpServers"])


@pytest.mark.parametrize("text", blocks("toml", CLIENTS))
def test_a_toml_block_makes_codex_wait_for_the_server(text: str) -> None:
    assert_waits(tomllib.loads(text))


def test_the_example_configures_servers() -> None:
    assert_servers(json.loads(EXAMPLE.read_text("utf-8"))["mcpServers"])


def test_the_example_makes_codex_wait_for_the_server() -> None:
    lines = json.loads(EXAMPLE.read_text("utf-8"))["_codex_config_toml"]
    assert_waits(tomllib.loads("\n".join(lines)))


def test_the_session_is_a_real_one(tmp_path: Path) -> None:
    """Its commands answer as the page says, but for ids, days and the last figure of a relevance."""
    [told] = blocks("console")
    place = tmp_path / "harbour"
    (place / ".git").mkdir(parents=True)
    environment = environment_in(tmp_path) | {"HOLDFAST_ENCODER": "builtin"}
    del environment["HOLDFAST_SPACE"]
    ids: dict[str, str] = {}
    for asked, answer in re.findall(r"^\$ holdfast (.*)\n((?:(?!\$ ).*\n)*)", told, re.MULTILINE):
        words = [ids.get(word, word) for word in shlex.split(asked)]
        said = subprocess.run(
            [*HOLDFAST, *words], cwd=place, env=environment, capture_output=True, text=True, check=False
        )
        assert said.returncode in (0, 1), said.stderr
        ids |= dict(zip(ID.findall(answer), ID.findall(said.stdout), strict=True))
        assert plain(said.stdout).strip() == plain(answer).strip()


ID, CHANGE = re.compile(r"mem_[0-9a-z]{16}"), re.compile(r"chg_[0-9a-z]{16}")


def plain(text: str) -> str:
    text = re.sub(r"(relevance 0\.\d)\d", r"\1", ID.sub("mem_", CHANGE.sub("chg_", text)))
    return re.sub(r"\d{4}-\d\d-\d\d", "today", text)


def assert_servers(servers: dict[str, dict[str, Any]]) -> None:
    assert servers
    assert not [name for name, entry in servers.items() if ("command" in entry) == ("url" in entry)]


def assert_waits(config: dict[str, Any]) -> None:
    assert [entry["required"] for entry in config["mcp_servers"].values()] == [True]
