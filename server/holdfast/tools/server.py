"""The framework's server, less what a memory does not use, and what stands around its calls and lists.

Some clients send lists and objects as their JSON, numbers and truth values as texts, and null for what their model left
out. What a parameter's schema takes as it is stays as it is, and what cannot be read so is left for the usual refusal.

What there is to call, read and ask for is worked out once for each kind of client, and then known. The framework makes
each list anew: `tools/list` takes it ten milliseconds, in which nobody else is answered. The lists differ by protocol
version, by the form that a client gets, by whether it may see the admin namespace, and by whether it shows Apps; by
nothing else, not by whose memory it is. Resources, prompts, completion and subscriptions are made late, so that no
start waits for them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import anyio
from fastmcp import Context, FastMCP
from fastmcp.prompts import Prompt
from fastmcp.resources import Resource, ResourceTemplate
from fastmcp.server.middleware import Middleware, MiddlewareContext
from fastmcp.server.providers import LocalProvider, Provider
from fastmcp.tools import Tool, ToolResult
from fastmcp.utilities.components import FastMCPComponent
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp_types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    EmptyResult,
    PaginatedRequestParams,
    PromptReference,
    ResourceTemplateReference,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)

from holdfast.engine.omi.integrity import Scope, integrity_check
from holdfast.model.access import APPS, Answers, Form, form_for
from holdfast.tools.agent import ServedMemory, client_name
from holdfast.tools.auth import access_of, is_admin
from holdfast.tools.errors import answered
from holdfast.tools.fitting import Room
from holdfast.tools.omi import ChangedResult, StoredResult, omi_object
from holdfast.tools.results import READS, IntegrityResult, tool

if TYPE_CHECKING:
    from holdfast.tools.resources import Subscriptions

Answer = TypeVar("Answer")

_WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_WORDS = {"true": ("boolean", True), "false": ("boolean", False), "null": ("null", None)}


class ReadTexts(Middleware):
    """Reads texts where a tool's schema asks for something else."""

    def __init__(self) -> None:
        self._schemas: dict[str, Mapping[str, Any]] = {}

    async def on_call_tool(
        self, context: MiddlewareContext[Any], call_next: Callable[[MiddlewareContext[Any]], Awaitable[Answer]]
    ) -> Answer:
        message = context.message
        schema = await self._schema_of(context) if message.arguments else None
        if schema is None:
            return await call_next(context)
        arguments = as_meant(message.arguments, schema)
        return await call_next(context.copy(message=message.model_copy(update={"arguments": arguments})))

    async def _schema_of(self, context: MiddlewareContext[Any]) -> Mapping[str, Any] | None:
        name = context.message.name
        if name not in self._schemas and context.fastmcp_context is not None:
            tool = await context.fastmcp_context.fastmcp.get_tool(name)
            if tool is not None:
                self._schemas[name] = tool.parameters
        return self._schemas.get(name)


def as_meant(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call as they were meant, by the schema of the tool's parameters."""
    definitions, known = schema.get("$defs", {}), schema.get("properties", {})
    optional = known.keys() - set(schema.get("required", ()))
    meant = {}
    for name, given in arguments.items():
        parameter = known.get(name, {})
        choices = _choices(parameter, definitions)
        if given is None and name in optional and not any(choice.get("type") == "null" for choice in choices):
            continue
        meant[name] = read_as(given, parameter, definitions)
    return meant


def read_as(value: Any, schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Any:
    """The value that was meant, by a JSON schema; the same one where nothing else fits better."""
    choices = _choices(schema, definitions)
    if isinstance(value, str):
        value = _parsed(value, {choice.get("type", "") for choice in choices})
    for choice in choices:
        if isinstance(value, list) and choice.get("type") == "array":
            return [read_as(item, choice.get("items", {}), definitions) for item in value]
        if isinstance(value, dict) and choice.get("type") == "object":
            known = choice.get("properties", {})
            return {key: read_as(item, known.get(key, {}), definitions) for key, item in value.items()}
    return value


def _choices(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What a value may be, with every name in the schema looked up."""
    return [_resolved(choice, definitions) for choice in schema.get("anyOf", [schema])]


def _resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    found: Mapping[str, Any] = definitions.get(name, schema)
    return found


def _parsed(text: str, types: set[str]) -> Any:
    """What a text stands for among these types; the text where it is one of them, or stands for none."""
    plain = text.strip()
    if plain.startswith("{") and "object" in types:
        return _json(plain, dict, text)
    if "string" in types or not types - {""}:
        return text
    if plain.startswith("[") and "array" in types:
        return _json(plain, list, text)
    kind, meant = _WORDS.get(plain.lower(), ("", None))
    if kind in types:
        return meant
    if _WHOLE.fullmatch(plain) and types & {"integer", "number"}:
        return int(plain)
    return _number(plain, text) if "number" in types else text


def _json(plain: str, kind: type, text: str) -> Any:
    try:
        found = json.loads(plain)
    except (ValueError, RecursionError):
        return text
    return found if isinstance(found, kind) else text


def _number(plain: str, text: str) -> float | str:
    try:
        found = float(plain)
    except ValueError:
        return text
    return found if math.isfinite(found) else text


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


LISTS: Final = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
ListContext = ServerRequestContext[Any, Any]


@dataclass(frozen=True, slots=True)
class _Kind:
    """What an answer depends on."""

    method: str
    version: str
    structured: bool
    admin: bool
    apps: bool


class _KnownError(Exception):
    """Ends a request whose answer is known."""

    def __init__(self, answer: dict[str, Any]) -> None:
        super().__init__()
        self.answer = answer


class KnownLists:
    """Gives the lists of a server as the framework gave them before, as long as its parts are the same.

    A request passes all checks of the framework first. Its handler then either knows the answer, as it is on the wire,
    or has it made.

    Args:
        servers: the one that is served, and others that it shows.
        answers: which form clients get, from the settings.
        view: whom the View is offered to, from the settings.
    """

    def __init__(self, servers: Sequence[FastMCP[Any]], answers: Answers, view: str = "auto") -> None:
        self._servers = tuple(servers)
        self._answers = answers
        self._view = view
        self._parts: list[object] = []
        self._known: dict[_Kind, dict[str, Any]] = {}

    def serve(self) -> None:
        """Have the first of the servers answer so."""
        low = self._servers[0]._mcp_server  # noqa: SLF001 - the framework has no way to it
        low.middleware.append(self)
        for method in LISTS:
            self._handle(low, method)

    def _handle(self, low: Any, method: str) -> None:
        made = low.get_request_handler(method).handler

        async def handler(context: ListContext, params: PaginatedRequestParams) -> Any:
            known = None if params.cursor else self._now_known().get(self._kind(context))
            if known is not None:
                raise _KnownError(known)
            return await made(context, params)

        low.add_request_handler(method, PaginatedRequestParams, handler)

    async def __call__(self, ctx: ListContext, call_next: CallNext) -> HandlerResult:
        known_now = self._now_known()
        try:
            answer = await call_next(ctx)
        except _KnownError as known:
            return known.answer
        if ctx.method in LISTS and isinstance(answer, dict) and not (ctx.params or {}).get("cursor"):
            known_now[self._kind(ctx)] = answer
        return answer

    def _kind(self, context: ListContext) -> _Kind:
        structured = form_for(client_name(context), self._answers).structured
        apps = shows_apps(context, self._view)
        return _Kind(context.method, context.protocol_version, structured, is_admin(access_of(context)), apps)

    def _now_known(self) -> dict[_Kind, dict[str, Any]]:
        """What is known of the servers as they are now."""
        parts = [part for server in self._servers for part in _parts(server)]
        if list(map(id, parts)) != list(map(id, self._parts)):
            self._parts, self._known = parts, {}
        return self._known


def _parts(server: FastMCP[Any]) -> list[object]:
    """What the lists of a server are made from and by."""
    own = server.local_provider._components.values()  # noqa: SLF001 - as above
    return [*own, *server.providers, *server.transforms, *server.middleware]


INTEGRITY_CHECK = """Check whether the NOW file, MEMORY.md or the daily logs were changed outside of the tools, and \
whether notes stand alone or got many links within a day. Call it when memory looks tampered with, or for an audit; \
not before every task. It repairs nothing: tell the user what it reports."""

LIST_TOKENS = 3000  # of each list in the report


def _fitting(shape: dict[str, Any]) -> dict[str, Any]:
    """The report with as many warnings, problems and names of files as there is room for."""
    topology, details = dict(shape["topology"]), dict(shape["details"])
    for part, name in ((topology, "warnings"), (details, "problems"), (details, "checked")):
        room = Room(LIST_TOKENS)
        part[name] = [item for item in part[name] if room.take_json(item)]
    return {**shape, "topology": topology, "details": details}


def add_security_tools(server: FastMCP, served: ServedMemory) -> None:
    """Put the integrity check on a server."""

    @tool(server, "integrity_check", INTEGRITY_CHECK, READS, IntegrityResult)
    async def _integrity_check(scope: Scope = "all") -> ToolResult:
        report = await answered(served.memory.attend(lambda ports: integrity_check(ports, scope)))
        return omi_object(_fitting(report.shape()), ())  # it names files


Request = ServerRequestContext[Any, Any]


def add_later(server: FastMCP[Any], served: ServedMemory, admin: FastMCP[Any] | None) -> None:
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
        self._provider: LocalProvider | None = None
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
        if self._provider is None:
            from holdfast.tools.presence import add_prompts  # noqa: PLC0415
            from holdfast.tools.resources import add_resources  # noqa: PLC0415

            self._provider = LocalProvider()
            add_resources(self._provider, self._served)
            add_prompts(self._provider, self._served)
        return self._provider

    def _subscriptions(self) -> Subscriptions:
        if self._subscribed is None:
            from holdfast.tools.resources import Subscriptions  # noqa: PLC0415

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
