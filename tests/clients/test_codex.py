"""Codex, set up as the README says, with a model that plays a script."""

from __future__ import annotations

import json

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
    readme,
)
from doors import KEEPER
from holdfast.app import INSTRUCTIONS
from processes import notes_in

pytestmark = [pytest.mark.clients, pytest.mark.timeout(300)]

SERVER = readme("toml", "[mcp_servers.holdfast]")
TRIES = 3
SETTINGS = """\
model = "scripted"
model_provider = "scripted"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"

"""


def session(machine: Machine, model: Model, server: str, **variables: str) -> None:
    """A client process of its own, from its start to its end."""
    said = start(machine, model, server, **variables)
    items = [event["item"] for event in map(json.loads, said.splitlines()) if event["type"] == "item.completed"]
    calls = [(item["tool"], item["status"]) for item in items if item["type"] == "mcp_tool_call"]
    assert calls == [(call.tool, "completed") for call in model.script]
    assert_played(model)


def start(machine: Machine, model: Model, server: str, **variables: str) -> str:
    """The same; what the client says of it."""
    (machine.home / ".codex" / "config.toml").write_text(SETTINGS.format(url=model.url) + server, "utf-8")
    return machine.run("codex", "exec", "--skip-git-repo-check", "--json", "Begin.", variables=variables)


def test_over_stdio_a_session_stores_and_the_next_one_finds_reads_and_retires(machine: Machine) -> None:
    with scripted(STORE, FIND) as model:
        session(machine, model, machine.here(SERVER))
    assert_offered(model, *TOOLS)
    assert json.dumps(INSTRUCTIONS).strip('"') in model.turns[0].everything
    assert FACT in model.results[1]
    assert [text for text in machine.notes().values() if FACT in text]
    with scripted(*LATER) as model:
        session(machine, model, machine.here(SERVER))
    assert_found_and_retired(machine, model)


def test_the_first_turn_has_the_tools_although_codex_does_not_wait_for_the_server(machine: Machine) -> None:
    server = machine.here(SERVER).replace("required = true\n", "")
    assert "required" not in server
    for _ in range(TRIES):  # Codex waits less than a second, which a machine with much else to do may need for itself
        with scripted(STORE) as model:
            start(machine, model, server)
        if model.results:
            break
    assert {name.rpartition("__")[2] for name in model.turns[0].tools} >= TOOLS
    assert_played(model)


def test_over_http_a_session_stores_and_the_next_one_finds(
    machine: Machine, environment: dict[str, str], port: int
) -> None:
    server = f'[mcp_servers.holdfast]\nurl = "http://127.0.0.1:{port}/mcp"\nrequired = true\n'
    with scripted(STORE, FIND) as model:
        session(machine, model, server)
    assert_offered(model, *TOOLS)
    assert FACT in model.results[1]
    assert FACT in notes_in(environment)
    with scripted(FIND) as model:
        session(machine, model, server)
    assert FACT in model.results[0]


def test_it_tends_the_memory_and_an_administrator_looks_at_what_was_done(machine: Machine) -> None:
    machine.write_twins()
    with scripted(*TEND, Call("admin_list_merges", {})) as model:
        session(machine, model, machine.here(SERVER) + 'args = ["--admin"]\n')
    assert_tended(machine, model.results[1])
    assert "chg_" in model.results[2]


@pytest.mark.parametrize("who", ["writer", KEEPER])
def test_over_http_with_a_token_it_may_do_what_its_scopes_say(
    machine: Machine, environment: dict[str, str], guarded_port: int, who: str
) -> None:
    server = f'[mcp_servers.holdfast]\nurl = "http://127.0.0.1:{guarded_port}/mcp"\nrequired = true\n'
    look = [Call("admin_list_audit_log", {})] if who == KEEPER else []
    with scripted(STORE, FIND, *look) as model:
        session(machine, model, server + 'bearer_token_env_var = "MEMORY_TOKEN"\n', MEMORY_TOKEN=who)
    assert FACT in notes_in(environment)
    assert any(name.endswith("admin_backup") for name in model.turns[-1].tools) == (who == KEEPER)


def test_codex_reads_the_entry_of_the_readme_as_its_own_command_would_write_it(machine: Machine) -> None:
    config = machine.home / ".codex" / "config.toml"
    config.write_text(machine.here(SERVER), "utf-8")
    (ours,) = json.loads(machine.run("codex", "mcp", "list", "--json"))
    config.unlink()
    machine.run("codex", "mcp", "add", "holdfast", "--", f"{machine.clone}/.venv/bin/holdfast")
    (theirs,) = json.loads(machine.run("codex", "mcp", "list", "--json"))
    assert ours["enabled"]
    assert ours["transport"] == theirs["transport"]
