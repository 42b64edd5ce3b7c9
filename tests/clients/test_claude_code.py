"""Claude Code, set up as the README says, with a model that plays a script."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from clients.fake_llm import Call, Model, scripted
from clients.machine import (
    FACT,
    FIND,
    LATER,
    STORE,
    TEND,
    TOOLS,
    Machine,
    assert_found_and_retired,
    assert_offered,
    assert_played,
    assert_tended,
    example,
    readme,
)
from doors import KEEPER
from holdfast.app import INSTRUCTIONS
from processes import notes_in

pytestmark = [pytest.mark.clients, pytest.mark.timeout(300)]

ADD_COMMAND = readme("sh", "claude mcp add --scope user")
ADD_ADDRESS = readme("sh", "claude mcp add --transport http")
# All tools in the first turn, as docs/clients.md has it.
AT_ONCE = {"ENABLE_TOOL_SEARCH": "false", "MCP_CONNECTION_NONBLOCKING": "0", "MCP_CONNECT_TIMEOUT_MS": "30000"}


def session(machine: Machine, model: Model, *arguments: str, **variables: str) -> None:
    """A client process of its own, from its start to its end."""
    command = ["claude", "-p", "Begin.", "--allowedTools", "mcp__holdfast", "--output-format", "json", *arguments]
    variables |= {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none"}
    said = json.loads(machine.run(*command, variables=variables))
    assert (said["is_error"], said["permission_denials"]) == (False, [])
    assert_played(model)


@pytest.mark.parametrize("negotiation", ["legacy", "auto"])
def test_over_stdio_a_session_stores_and_the_next_one_finds_reads_and_retires(
    machine: Machine, negotiation: str
) -> None:
    machine.run("sh", "-c", ADD_COMMAND, where=machine.clone)
    with scripted(STORE, FIND) as model:
        session(machine, model, MCP_PROTOCOL_NEGOTIATION=negotiation, **AT_ONCE)
    assert_offered(model, *TOOLS)
    assert FACT in model.results[1]
    assert [text for text in machine.notes().values() if FACT in text]
    with scripted(*LATER) as model:
        session(machine, model, MCP_PROTOCOL_NEGOTIATION=negotiation, **AT_ONCE)
    assert_found_and_retired(machine, model)


def test_over_http_a_session_stores_and_the_next_one_finds(
    machine: Machine, environment: dict[str, str], port: int
) -> None:
    machine.run("sh", "-c", ADD_ADDRESS.replace("8765", str(port)), where=machine.clone)
    with scripted(STORE, FIND) as model:
        session(machine, model, **AT_ONCE)
    assert_offered(model, *TOOLS)
    assert FACT in model.results[1]
    assert FACT in notes_in(environment)
    with scripted(FIND) as model:
        session(machine, model, **AT_ONCE)
    assert FACT in model.results[0]


def test_it_tends_the_memory_and_an_administrator_looks_at_what_was_done(machine: Machine) -> None:
    machine.write_twins()
    machine.run("sh", "-c", ADD_COMMAND.replace('holdfast"', 'holdfast" --admin'), where=machine.clone)
    look = Call("admin_list_merges", {})
    undo = Call("admin_undo_merge", lambda results: {"merge_id": re.findall(r"chg_[0-9a-z]+", results[-1])[0]})
    with scripted(*TEND, look, undo) as model:
        session(machine, model, **AT_ONCE)
    assert_tended(machine, model.results[1])
    assert "confirm" in model.results[3], "a merge is undone after a look at what that does"


@pytest.mark.parametrize(("who", "path"), [("writer", "/mcp"), (KEEPER, "/mcp"), (KEEPER, "/admin/mcp")])
def test_over_http_with_a_token_it_may_do_what_its_scopes_say(
    machine: Machine, environment: dict[str, str], guarded_port: int, who: str, path: str
) -> None:
    address = f"http://127.0.0.1:{guarded_port}{path}"
    add = ("claude", "mcp", "add", "--transport", "http", "--scope", "user", "holdfast", address)
    machine.run(*add, "--header", f"Authorization: Bearer {who}")
    calls = [STORE, FIND] if path == "/mcp" else []
    calls += [Call("admin_backup", {})] if who == KEEPER else []
    with scripted(*calls) as model:
        session(machine, model, **AT_ONCE)
    if path == "/mcp":
        assert FACT in notes_in(environment)
    offered = {name.rpartition("__")[2] for name in model.turns[-1].tools if name.startswith("mcp__holdfast__")}
    assert ("remember" in offered, "admin_backup" in offered) == (path == "/mcp", who == KEEPER)


def test_with_nothing_set_the_model_searches_for_the_tools_and_reads_the_instructions(
    machine: Machine, tmp_path: Path
) -> None:
    entry = json.loads(machine.here(json.dumps(example("holdfast"))))
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"holdfast": entry}}), "utf-8")
    select = Call("ToolSearch", {"query": "select:mcp__holdfast__remember,mcp__holdfast__recall", "max_results": 5})
    with scripted(select, STORE, FIND) as model:
        session(machine, model, "--mcp-config", str(config), "--strict-mcp-config")
    assert_offered(model, "remember", "recall")
    assert json.dumps(INSTRUCTIONS).strip('"') in model.turns[-1].everything
    assert FACT in model.results[2]


@pytest.mark.parametrize(
    ("searched", "found"),
    [
        ("memory", {"memory_recall", "memory_store"}),  # the client puts names that hold the word first
        ("remember recall", {"remember", "recall"}),
    ],
)
def test_a_search_for_memory_finds_tools_to_store_and_to_recall(
    machine: Machine, searched: str, found: set[str]
) -> None:
    machine.run("sh", "-c", ADD_COMMAND, where=machine.clone)
    with scripted(Call("ToolSearch", {"query": searched, "max_results": 5})) as model:
        session(machine, model, MCP_CONNECTION_NONBLOCKING="0", MCP_CONNECT_TIMEOUT_MS="30000")
    assert found <= {item["tool_name"].removeprefix("mcp__holdfast__") for item in json.loads(model.results[0])}


def test_the_command_of_the_readme_adds_a_server_that_is_listed_as_connected(machine: Machine) -> None:
    machine.run("sh", "-c", ADD_COMMAND, where=machine.clone)
    assert "✔ Connected" in machine.run("claude", "mcp", "list")


def test_the_address_of_the_readme_adds_a_server_that_is_listed_as_connected(machine: Machine, port: int) -> None:
    machine.run("sh", "-c", ADD_ADDRESS.replace("8765", str(port)), where=machine.clone)
    assert "✔ Connected" in machine.run("claude", "mcp", "list")
