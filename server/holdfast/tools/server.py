"""The framework's server, less what a memory does not use."""

from __future__ import annotations

from typing import Any

from fastmcp import FastMCP


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


class MemoryServer(FastMCP[Any]):
    """FastMCP without session state."""

    @property
    def _state_store(self) -> Any:
        return _NoSessionState()
