"""The tools' definitions for frameworks that speak no MCP, from the definitions that the server itself lists."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Final

from holdfast.adapters.openai import ORMAH, Definition, listed, openai_form
from holdfast.cli.terminal import DONE, as_json, out

OMI: Final = ("memory_recall", "memory_store", "belief_update", "now_read", "now_update", "integrity_check")
FAMILIES: Final[Mapping[str, Sequence[str]]] = {"both": (*ORMAH, *OMI), "ormah": ORMAH, "omi": OMI}

ADMIN: Final = "admin_"  # how the names of the tools begin that only a server with --admin has


def run_tools(options: argparse.Namespace) -> int:
    """Print them as a JSON list."""
    tools = listed()
    family = FAMILIES.get(options.family, sorted(tools))
    names = [name for name in family if options.admin or not name.startswith(ADMIN)]
    out().say(as_json([_formed(tools[name], options.format) for name in names if name in tools]))
    return DONE


def _formed(tool: Definition, form: str) -> Definition:
    match form:
        case "openai":
            return openai_form(tool)
        case "anthropic":
            return {"name": tool["name"], "description": tool["description"], "input_schema": tool["inputSchema"]}
        case _:
            return tool
