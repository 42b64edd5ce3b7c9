"""The framework's server, less what a memory does not use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from fastmcp import FastMCP
from fastmcp.tools import Tool


class _NoSessionState:
    """Session state that is never there: no tool of ours keeps any.

    The framework looks here for visibility rules before each list; its own store imports some 450 modules first,
    which costs the first `tools/list` about a quarter of a second.
    """

    async def get(self, *_arguments: Any, **_options: Any) -> None:
        return None

    async def put(self, *_arguments: Any, **_options: Any) -> None:
        return None

    async def delete(self, *_arguments: Any, **_options: Any) -> bool:
        return False


class _Listed(Tool):
    """A tool as it is listed: without the framework's empty list of tags."""

    def get_meta(self) -> dict[str, Any]:
        meta = super().get_meta()
        own = {key: value for key, value in meta.pop("fastmcp", {}).items() if value}
        return (meta | ({"fastmcp": own} if own else {})) or cast("dict[str, Any]", None)  # {} would be listed


class MemoryServer(FastMCP[Any]):
    """FastMCP without session state, and with tools that a model need not pay twice for."""

    async def list_tools(self, *, run_middleware: bool = True) -> Sequence[Tool]:
        tools = await super().list_tools(run_middleware=run_middleware)
        return [_listed(tool) for tool in tools]

    @property
    def _state_store(self) -> Any:
        return _NoSessionState()


def spare_listing(server: FastMCP[Any]) -> None:
    """Have no tool call over HTTP begin with a list of all tools.

    From 2026-07-28 on a tool may ask for arguments in headers, and the list is how the framework would find out which.
    None of ours does.
    """
    server._mcp_server.get_tool_input_schema = _nothing_in_headers  # noqa: SLF001 - the framework has no door to it


def _nothing_in_headers(_tool: str) -> None:
    """No schema: there is nothing to compare headers with."""


def _listed(tool: Tool) -> Tool:
    fields = {name: getattr(tool, name) for name in Tool.model_fields}
    return _Listed.model_construct(**fields | {"parameters": _short(tool.parameters)})


def _short(schema: dict[str, Any]) -> dict[str, Any]:
    """An input schema in which null, where it may be given for a parameter, goes without saying."""
    properties = schema.get("properties", {})
    return schema | {"properties": {name: _without_null(value) for name, value in properties.items()}}


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in schema.items() if key != "anyOf" and (key, value) != ("default", None)}
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    return kept | (choices[0] if len(choices) == 1 else {"anyOf": choices} if choices else {})
