"""Which clients show MCP Apps: those that say so, or all of them where the settings say it for them."""

from __future__ import annotations

from typing import Any

from fastmcp import Context
from fastmcp.tools import ToolResult
from mcp.server.context import ServerRequestContext

from holdfast.model.access import APPS


class AppResult(ToolResult):
    """An answer for the View's page: structured content is kept whatever form the client's model gets."""


def shows_apps(context: Context | ServerRequestContext[Any, Any] | None, setting: str) -> bool:
    """Whether the client of a request shows Apps, as it declared, or as `HOLDFAST_VIEW` has it for all."""
    if setting != "auto":
        return setting == "always"
    if context is None:
        return False
    try:
        capabilities = context.session.client_capabilities
    except RuntimeError:  # nobody asks over the protocol
        return False
    return capabilities is not None and APPS in (capabilities.extensions or {})
