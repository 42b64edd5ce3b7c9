"""The admin gate, from every side: what is behind it is there for those who may, and for nobody else in any way.

What is behind it is asked of the server, so that a tool or a resource that is added is tried here without a word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from doors import KEEPER, Pipe, Web, pipe, web, with_tokens
from holdfast.app import build_memory, build_servers
from holdfast.settings import load_settings
from processes import environment_in, http

TEMPLATE_VALUE = "mem_0000000000000000"
UNKNOWN = "admin_zanzibar"
UNKNOWN_URI = "admin://zanzibar"


@dataclass(frozen=True)
class Behind:
    """The names of all that is behind the gate."""

    tools: list[str]
    resources: list[str]
    templates: list[str]

    @property
    def readable(self) -> list[str]:
        """Every resource, and every template with something in it."""
        return [*self.resources, *(filled(template) for template in self.templates)]


def filled(template: str) -> str:
    """A URI of a template; a query that may be left out is."""
    return re.sub(r"\{[^}]*\}", TEMPLATE_VALUE, re.sub(r"\{\?[^}]*\}", "", template))


@pytest.fixture
async def behind(anyio_backend: str, tmp_path: Path) -> Behind:
    settings = load_settings({"HOLDFAST_HOME": str(tmp_path / "other"), "HOLDFAST_ENCODER": "none"})
    admin = build_servers(settings, build_memory(settings), admin=True).admin
    assert admin is not None
    found = Behind(
        [tool.name for tool in await admin.list_tools()],
        [str(resource.uri) for resource in await admin.list_resources()],
        [template.uri_template for template in await admin.list_resource_templates()],
    )
    assert "admin_backup" in found.tools
    assert "admin://vault" in found.resources
    return found


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a server that knows tokens."""
    with http(with_tokens(environment_in(tmp_path_factory.mktemp("guarded")))) as (_, port):
        yield port


@pytest.fixture(scope="module")
def unguarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a server of this machine alone, started with a flag that is for stdio."""
    with http(environment_in(tmp_path_factory.mktemp("unguarded")), "--admin") as (_, port):
        yield port


CLOSED = ("stdio", "unguarded", "reader", "writer")
OPEN = ("stdio --admin", KEEPER, f"{KEEPER} at /admin/mcp")
NOT_THERE = ("unguarded", "no token", "unknown token", "reader", "writer")


@pytest.fixture
def doors(environment: dict[str, str], era: str, guarded: int, unguarded: int) -> Any:
    """Opens a door by its name."""

    @contextmanager
    def opened(name: str) -> Iterator[Pipe | Web]:
        who, _, path = name.partition(" at ")
        if who.startswith("stdio"):
            with pipe(environment, era, *who.split()[1:]) as door:
                yield door
            return
        token = {"unguarded": None, "no token": None, "unknown token": "zanzibar"}.get(who, who)
        with web(unguarded if who == "unguarded" else guarded, path or "/mcp", era, token) as door:
            yield door

    return opened


def told(answer: dict[str, Any], *names: str) -> str:
    """An answer without the name that was asked for, to compare it with that for another name."""
    text = json.dumps(answer)
    for name in names:
        text = text.replace(json.dumps(name)[1:-1], "NAME")
    return text


def listed(door: Pipe | Web) -> dict[str, Any]:
    return {
        method: door.ask(f"{method}/list")["result"]
        for method in ("tools", "resources", "resources/templates", "prompts")
    }


@pytest.mark.parametrize("name", CLOSED)
def test_behind_a_closed_gate_there_is_nothing(doors: Any, behind: Behind, era: str, name: str) -> None:
    with doors(name) as door:
        assert "admin" not in json.dumps(listed(door))
        for tool in behind.tools:
            for arguments in ({}, {"confirm": "0" * 16}):
                hidden = door.ask("tools/call", name=tool, arguments=arguments)
                unknown = door.ask("tools/call", name=UNKNOWN, arguments=arguments)
                assert hidden["result"]["isError"], tool
                assert told(hidden, tool) == told(unknown, UNKNOWN)
        for uri in behind.readable:
            hidden, unknown = (door.ask("resources/read", uri=each) for each in (uri, UNKNOWN_URI))
            assert "error" in hidden, uri
            assert told(hidden, uri) == told(unknown, UNKNOWN_URI)
        for template in (*behind.templates, *behind.resources):
            assert completed(door, template) == completed(door, "admin://zanzibar/{id}")
        if era == "legacy":
            for uri in behind.readable:
                hidden, unknown = (door.ask("resources/subscribe", uri=each) for each in (uri, UNKNOWN_URI))
                assert "error" in hidden, uri
                assert told(hidden, uri) == told(unknown, UNKNOWN_URI)
        else:
            assert door.listen([*behind.readable, UNKNOWN_URI, "memory://self"]) == ["memory://self"]


def completed(door: Pipe | Web, template: str) -> dict[str, Any]:
    name = (re.findall(r"\{\??(\w+)", template) or ["id"])[0]
    reference = {"type": "ref/resource", "uri": template}
    return door.ask("completion/complete", ref=reference, argument={"name": name, "value": "mem"})


@pytest.mark.parametrize("name", OPEN)
def test_behind_the_open_gate_everything_is_there(doors: Any, behind: Behind, era: str, name: str) -> None:
    with doors(name) as door:
        found = listed(door)
        assert {tool["name"] for tool in found["tools"]["tools"]} >= set(behind.tools)
        assert {each["uri"] for each in found["resources"]["resources"]} >= set(behind.resources)
        templates = found["resources/templates"]["resourceTemplates"]
        assert {each["uriTemplate"] for each in templates} >= set(behind.templates)
        for tool in behind.tools:  # an argument that there is not: each is there to refuse it, and does nothing
            answer = door.ask("tools/call", name=tool, arguments={"zanzibar": 1})["result"]
            assert "InvalidArgumentError" in answer["content"][0]["text"], tool
        for uri in behind.resources:
            assert door.ask("resources/read", uri=uri)["result"]["contents"], uri
        if era == "legacy":
            for uri in behind.resources:
                assert door.ask("resources/subscribe", uri=uri) == {"result": {}}, uri
                assert door.ask("resources/unsubscribe", uri=uri) == {"result": {}}, uri
            assert "error" in door.ask("resources/subscribe", uri=UNKNOWN_URI)
        else:
            assert door.listen([*behind.resources, UNKNOWN_URI]) == behind.resources


def test_alone_the_namespace_has_nothing_else(doors: Any, behind: Behind) -> None:
    with doors(f"{KEEPER} at /admin/mcp") as door:
        found = listed(door)
        assert [tool["name"] for tool in found["tools"]["tools"]] == behind.tools
        assert [each["uri"] for each in found["resources"]["resources"]] == behind.resources
        answer = door.ask("tools/call", name="recall", arguments={"query": "crane"})
        assert answer["result"]["isError"]


@pytest.mark.parametrize("name", NOT_THERE)
def test_the_endpoint_of_the_namespace_is_a_path_like_any_other(doors: Any, name: str) -> None:
    answers = []
    for path in ("/admin/mcp", "/zanzibar/mcp"):
        with doors(f"{name} at {path}") as door:
            answer = door.ask("tools/list")
            answers.append(answer)
            assert "result" not in answer
            assert door.status == (401 if "token" in name else 404)
    assert answers[0] == answers[1]


def test_administrators_are_told_when_what_they_look_at_changes(doors: Any, era: str) -> None:
    if era == "legacy":
        with doors("stdio --admin") as door:
            assert door.ask("resources/subscribe", uri="admin://vault") == {"result": {}}
            door.server.send("tools/call", name="admin_backup", arguments={})
            heard = [door.server.read() for _ in range(2)]
            assert [each["params"]["uri"] for each in heard if "method" in each] == ["admin://vault"]
