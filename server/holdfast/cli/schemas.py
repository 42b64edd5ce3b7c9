"""The tools' definitions for frameworks that speak no MCP, from the definitions that the server itself lists."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import anyio

from holdfast.app import build_memory, build_server
from holdfast.cli.terminal import DONE, as_json, out
from holdfast.settings import load_settings

ORMAH: Final = (
    "remember", "recall", "recall_node", "mark_outdated", "submit_feedback", "run_maintenance",
    "admin_update_memory", "admin_connect_memories", "admin_list_proposals", "admin_resolve_proposal",
    "admin_list_merges", "admin_undo_merge", "admin_list_audit_log",
)  # fmt: skip
OMI: Final = ("memory_recall", "memory_store", "belief_update", "now_read", "now_update", "integrity_check")
FAMILIES: Final[Mapping[str, Sequence[str]]] = {"both": (*ORMAH, *OMI), "ormah": ORMAH, "omi": OMI}

ADMIN: Final = "admin_"  # how the names of the tools begin that only a server with --admin has

Definition = dict[str, Any]


def run_tools(options: argparse.Namespace) -> int:
    """Print them as a JSON list."""
    tools = listed()
    family = FAMILIES.get(options.family, sorted(tools))
    names = [name for name in family if options.admin or not name.startswith(ADMIN)]
    out().say(as_json([_formed(tools[name], options.format) for name in names if name in tools]))
    return DONE


def listed() -> dict[str, Definition]:
    """Every tool of a server with the admin namespace, by name, as `tools/list` has it. No memory is opened."""
    with TemporaryDirectory() as folder:
        settings = load_settings({"HOLDFAST_HOME": str(Path(folder) / "memory"), "HOLDFAST_ENCODER": "none"})
        server = build_server(settings, build_memory(settings), admin=True)

        async def ask() -> dict[str, Definition]:
            tools = [tool.to_mcp_tool() for tool in await server.list_tools()]
            return {tool.name: tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools}

        return anyio.run(ask)


def _formed(tool: Definition, form: str) -> Definition:
    match form:
        case "openai":
            told = {"description": tool["description"], "parameters": tool["inputSchema"]}
            return {"type": "function", "function": {"name": tool["name"], **told}}
        case "anthropic":
            return {"name": tool["name"], "description": tool["description"], "input_schema": tool["inputSchema"]}
        case _:
            return tool
