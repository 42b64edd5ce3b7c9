"""The framework's server, less what a memory does not use; OMI's security tool; what is made when first asked for.

Resources, prompts, completion and subscriptions are made late, so that no start waits for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import anyio
from fastmcp import FastMCP
from fastmcp.prompts import Prompt
from fastmcp.resources import Resource, ResourceTemplate
from fastmcp.server.providers import LocalProvider, Provider
from fastmcp.tools import Tool, ToolResult
from fastmcp.utilities.components import FastMCPComponent
from mcp.server.context import ServerRequestContext
from mcp_types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    EmptyResult,
    PromptReference,
    ResourceTemplateReference,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)

from holdfast.engine.omi.integrity import Scope, integrity_check
from holdfast.tools.agent import READS, ServedMemory
from holdfast.tools.errors import answered
from holdfast.tools.fitting import Room
from holdfast.tools.omi import omi_object
from holdfast.tools.results import IntegrityResult, schema_of

if TYPE_CHECKING:
    from holdfast.tools.subscriptions import Subscriptions

INTEGRITY_CHECK = """Check whether the NOW file, MEMORY.md or the daily logs were changed outside of the tools, and \
whether notes stand alone or got many links within a day. Call it when memory looks tampered with, or for an audit; \
not before every task. It repairs nothing: tell the user what it reports."""

LIST_TOKENS = 3000  # of each list in the report


def _fitting(shape: dict[str, Any]) -> dict[str, Any]:
    """The report with as many warnings, problems and names of files as there is room for."""
    topology, details = dict(shape["topology"]), dict(shape["details"])
    for told, name in ((topology, "warnings"), (details, "problems"), (details, "checked")):
        room = Room(LIST_TOKENS)
        told[name] = [item for item in told[name] if room.take_json(item)]
    return {**shape, "topology": topology, "details": details}


def add_security_tools(server: FastMCP, served: ServedMemory) -> None:
    """Put the integrity check on a server."""

    @server.tool(
        name="integrity_check",
        description=INTEGRITY_CHECK,
        annotations=READS,
        output_schema=schema_of(IntegrityResult),
    )
    async def _integrity_check(scope: Scope = "all") -> ToolResult:
        report = await answered(served.memory.attend(lambda ports: integrity_check(ports, scope)))
        return omi_object(_fitting(report.shape()), (), stored=True)  # it names files


Request = ServerRequestContext[Any, Any]


def add_later(server: FastMCP[Any], served: ServedMemory, admin: FastMCP[Any] | None = None) -> None:
    """Let a server have all of them, and the server of the admin namespace, if there is one, subscriptions."""
    later = LazyResources(served, admin)
    server.add_provider(later)
    server.completion(later.complete)
    _take_subscriptions(server, later)
    if admin is not None:
        _take_subscriptions(admin, later)
    served.memory.beside(later.watch)


def _take_subscriptions(server: FastMCP[Any], later: LazyResources) -> None:
    low = server._mcp_server  # noqa: SLF001 - the framework has no subscriptions of its own
    low.add_request_handler("resources/subscribe", SubscribeRequestParams, later.subscribe)
    low.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, later.unsubscribe)
    low.add_request_handler("subscriptions/listen", SubscriptionsListenRequestParams, later.listen)


class LazyResources(Provider):
    """What a served has to read."""

    def __init__(self, served: ServedMemory, admin: FastMCP[Any] | None = None) -> None:
        super().__init__()
        self._served = served
        self._admin = admin
        self._shelf: LocalProvider | None = None
        self._subscribed: Subscriptions | None = None
        self._subscribing = anyio.Event()

    async def _list_resources(self) -> Sequence[Resource]:
        return await self._made().list_resources()

    async def _list_resource_templates(self) -> Sequence[ResourceTemplate]:
        return await self._made().list_resource_templates()

    async def _list_prompts(self) -> Sequence[Prompt]:
        return await self._made().list_prompts()

    async def get_tasks(self) -> Sequence[FastMCPComponent]:
        return []  # asked for at the start

    async def complete(
        self,
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        _context: CompletionContext | None,
    ) -> Completion:
        from holdfast.tools.resources import complete  # noqa: PLC0415 - at first use, as all below

        return await complete(self._served, ref, argument)

    async def subscribe(self, context: Request, params: SubscribeRequestParams) -> EmptyResult:
        return await self._subscriptions().subscribe(context, params)

    async def unsubscribe(self, context: Request, params: UnsubscribeRequestParams) -> EmptyResult:
        return await self._subscriptions().unsubscribe(context, params)

    async def listen(self, context: Request, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        return await self._subscriptions().listen(context, params)

    async def watch(self) -> None:
        """Look for changes from the first subscription on."""
        await self._subscribing.wait()
        await self._subscriptions().watch()

    def _made(self) -> LocalProvider:
        if self._shelf is None:
            from holdfast.tools.prompts import add_prompts  # noqa: PLC0415
            from holdfast.tools.resources import add_resources  # noqa: PLC0415

            self._shelf = LocalProvider()
            add_resources(self._shelf, self._served)
            add_prompts(self._shelf, self._served)
        return self._shelf

    def _subscriptions(self) -> Subscriptions:
        if self._subscribed is None:
            from holdfast.tools.subscriptions import Subscriptions  # noqa: PLC0415

            self._subscribed = Subscriptions(self._served, self._admin)
            self._subscribing.set()
        return self._subscribed


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
    server._mcp_server.get_tool_input_schema = _nothing_in_headers  # noqa: SLF001 - the framework has no way to it


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
