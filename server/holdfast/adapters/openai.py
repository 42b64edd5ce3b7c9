"""The tools' definitions as OpenAI's function calling has them, for programs that speak no MCP.

    from holdfast.adapters.openai import get_openai_tools

    client.responses.create(model=..., tools=get_openai_tools(), input=...)

They are those of Ormah's export: its six tools for agents and its seven for administrators, as the server itself lists
them. Definitions alone: what the model then calls, the program calls over MCP, or by `holdfast`'s own commands.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import anyio

from holdfast.app import build_memory, build_server
from holdfast.settings import load_settings

ORMAH: Final = (
    "remember", "recall", "recall_node", "mark_outdated", "submit_feedback", "run_maintenance",
    "admin_update_memory", "admin_connect_memories", "admin_list_proposals", "admin_resolve_proposal",
    "admin_list_merges", "admin_undo_merge", "admin_list_audit_log",
)  # fmt: skip

Definition = dict[str, Any]


def get_openai_tools() -> list[Definition]:
    """All thirteen of Ormah's, in its order. May be called wherever an event loop runs or none does."""
    with ThreadPoolExecutor(1) as thread:
        tools = thread.submit(listed).result()
    return [openai_form(tools[name]) for name in ORMAH]


def openai_form(tool: Definition) -> Definition:
    """A definition as `tools/list` has it, in OpenAI's form."""
    described = {"description": tool["description"], "parameters": tool["inputSchema"]}
    return {"type": "function", "function": {"name": tool["name"], **described}}


def listed() -> dict[str, Definition]:
    """Every tool of a server with the admin namespace, by name, as `tools/list` has it. No memory is opened."""
    with TemporaryDirectory() as folder:
        settings = load_settings({"HOLDFAST_HOME": str(Path(folder) / "memory"), "HOLDFAST_ENCODER": "none"})
        server = build_server(settings, build_memory(settings), admin=True)

        async def ask() -> dict[str, Definition]:
            tools = [tool.to_mcp_tool() for tool in await server.list_tools()]
            return {tool.name: tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools}

        return anyio.run(ask)
