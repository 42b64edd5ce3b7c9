"""The MCP Inspector's command line: both protocol eras, over stdio and over HTTP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clients.machine import FACT, TOOLS, Machine, readme
from doors import KEEPER

pytestmark = [pytest.mark.clients, pytest.mark.timeout(300)]

ERAS = ("legacy", "modern")
LIST = ("--method", "tools/list", "--strict")


def ask(machine: Machine, era: str, server: list[str], *request: str) -> Any:
    """One call of the Inspector; its answer's `result`."""
    command = ["mcp-inspector", "--cli", "-q", "--format", "json", "--protocol-era", era]
    return json.loads(machine.run(*command, *request, *server))["result"]


def call(tool: str, **arguments: Any) -> list[str]:
    return ["--method", "tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments)]


@pytest.mark.parametrize("era", ERAS)
def test_over_stdio_it_lists_stores_and_recalls_with_the_configuration_for_claude_desktop(
    machine: Machine, tmp_path: Path, era: str
) -> None:
    config = tmp_path / "claude_desktop_config.json"
    config.write_text(machine.here(readme("json", "mcpServers")), "utf-8")
    server = ["--config", str(config), "--server", "holdfast"]
    listed = ask(machine, era, server, *LIST)
    assert {tool["name"] for tool in listed["tools"]} == TOOLS
    stored = ask(machine, era, server, *call("remember", content=FACT))
    found = ask(machine, era, server, *call("recall", query="tide table"))
    assert [hit["id"] for hit in found["structuredContent"]["results"]] == [stored["structuredContent"]["id"]]


@pytest.mark.parametrize("era", ERAS)
def test_over_http_it_lists_stores_retires_and_recalls(machine: Machine, port: int, era: str) -> None:
    server = ["--transport", "http", "--server-url", f"http://127.0.0.1:{port}/mcp"]
    listed = ask(machine, era, server, *LIST)
    assert {tool["name"] for tool in listed["tools"]} == TOOLS
    note_id = ask(machine, era, server, *call("remember", content=FACT))["structuredContent"]["id"]
    retired = ask(machine, era, server, *call("mark_outdated", node_id=note_id, reason="taken down"))
    assert retired["structuredContent"]["change_id"].startswith("chg_")
    found = ask(machine, era, server, *call("recall", query="tide table"))
    assert found["structuredContent"]["results"] == []


@pytest.mark.parametrize("era", ERAS)
def test_over_http_with_a_token_it_sees_what_that_may(machine: Machine, guarded_port: int, era: str) -> None:
    def server(token: str) -> list[str]:
        address = f"http://127.0.0.1:{guarded_port}/mcp"
        return ["--transport", "http", "--server-url", address, "--header", f"Authorization: Bearer {token}"]

    def names(token: str) -> set[str]:
        return {tool["name"] for tool in ask(machine, era, server(token), *LIST)["tools"]}

    assert names("writer") == TOOLS
    assert names(KEEPER) > TOOLS
    note_id = ask(machine, era, server("writer"), *call("remember", content=FACT))["structuredContent"]["id"]
    gone = ask(machine, era, server(KEEPER), *call("admin_delete_memory", node_id=note_id))
    assert gone["structuredContent"]["confirm"]
