"""The tools' definitions for frameworks that speak no MCP are those of the server, in the form that is asked for."""

from __future__ import annotations

import argparse
import json
from typing import Any

import jsonschema
import pytest

from holdfast.adapters.openai import get_openai_tools
from holdfast.cli.verbs import OMI, ORMAH, listed, run_tools


@pytest.fixture(scope="module")
def tools() -> dict[str, Any]:
    return listed()


def printed(capsys: pytest.CaptureFixture[str], form: str, family: str, *, admin: bool = True) -> list[dict[str, Any]]:
    assert run_tools(argparse.Namespace(format=form, family=family, admin=admin)) == 0
    return list(json.loads(capsys.readouterr().out))


def test_openai_functions_are_the_thirteen_of_ormah_and_the_six_of_omi(
    capsys: pytest.CaptureFixture[str], tools: dict[str, Any]
) -> None:
    functions = printed(capsys, "openai", "both")
    assert [item["function"]["name"] for item in functions] == [*ORMAH, *OMI]
    assert (len(ORMAH), len(OMI)) == (13, 6)
    for item in functions:
        function, tool = item["function"], tools[item["function"]["name"]]
        assert (item["type"], set(item)) == ("function", {"type", "function"})
        assert function["description"] == tool["description"]
        assert function["parameters"] == tool["inputSchema"]
        jsonschema.Draft202012Validator.check_schema(function["parameters"])


@pytest.mark.parametrize("family", ["both", "ormah", "omi", "all"])
def test_admin_tools_are_printed_only_where_they_are_asked_for(capsys: pytest.CaptureFixture[str], family: str) -> None:
    plain = [item["name"] for item in printed(capsys, "mcp", family, admin=False)]
    whole = [item["name"] for item in printed(capsys, "mcp", family)]
    assert plain == [name for name in whole if not name.startswith("admin_")]
    assert plain
    assert (plain == whole) == (family == "omi")


def test_other_forms_say_the_same(capsys: pytest.CaptureFixture[str], tools: dict[str, Any]) -> None:
    for item in printed(capsys, "anthropic", "omi"):
        assert item == {
            "name": item["name"],
            "description": tools[item["name"]]["description"],
            "input_schema": tools[item["name"]]["inputSchema"],
        }
    everything = printed(capsys, "mcp", "all")
    assert {item["name"]: item for item in everything} == tools


@pytest.mark.anyio
async def test_ormahs_function_gives_its_thirteen_tools_also_where_an_event_loop_runs() -> None:
    functions = get_openai_tools()
    assert [item["function"]["name"] for item in functions] == list(ORMAH)
    for item in functions:
        jsonschema.Draft202012Validator.check_schema(item["function"]["parameters"])
        assert item["function"]["description"]
