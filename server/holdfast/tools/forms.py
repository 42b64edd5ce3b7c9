"""Answers and lists of tools in the form that the client gets: see `holdfast.model.access`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from fastmcp import Context
from fastmcp.server.middleware import Middleware, MiddlewareContext
from fastmcp.tools import Tool, ToolResult

from holdfast.model.access import Answers, Form, form_for
from holdfast.tools.agent import client_name
from holdfast.tools.omi import ChangedResult, StoredResult
from holdfast.tools.view.clients import AppResult

Next = Callable[[MiddlewareContext[Any]], Awaitable[Any]]


class ClientForm(Middleware):
    """Leaves out what the client that asks is not to get."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    async def on_list_tools(self, context: MiddlewareContext[Any], call_next: Next) -> Sequence[Tool]:
        tools: Sequence[Tool] = await call_next(context)
        if self._form(context.fastmcp_context).structured:
            return tools
        return [tool.model_copy(update={"output_schema": None}) for tool in tools]

    async def on_call_tool(self, context: MiddlewareContext[Any], call_next: Next) -> ToolResult:
        result: ToolResult = await call_next(context)
        if isinstance(result, AppResult):
            return result
        if result.structured_content is None or self._form(context.fastmcp_context).structured:
            return result
        if isinstance(result, StoredResult | ChangedResult):
            return ToolResult(content=result.for_model)
        return ToolResult(content=result.content)

    def _form(self, context: Context | None) -> Form:
        asked = context is not None and context.request_context is not None  # or nobody asks over the protocol
        return form_for(client_name(context) if context and asked else "", self._answers)
