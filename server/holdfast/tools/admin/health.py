"""The admin resources: counts, health, jobs, quarantine, settings, tools. Each read is journalled as a call is."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import anyio
import structlog
from fastmcp import FastMCP
from fastmcp.server.middleware import Middleware, MiddlewareContext
from fastmcp.tools import Tool

from holdfast.engine.admin import health as looks
from holdfast.engine.admin.gate import looked, named
from holdfast.engine.ports import Ports
from holdfast.errors import HoldfastError
from holdfast.model.secrets import redact
from holdfast.settings import SETTINGS, Late, Settings
from holdfast.tools.agent import ServedMemory
from holdfast.tools.errors import readable

Answer = TypeVar("Answer")

TOLD_SECONDS = 3600.0  # within which the same look of the same principal is told once
_MOST_KNOWN = 10_000

log = structlog.get_logger()


class Reads(Middleware):
    """Has the journal told of every resource that is read, and by whom.

    A page that shows `admin://stats` reads it every few seconds, and each line would change what it shows: the same
    look is told once an hour. What cannot be told is shown all the same, since a full disk is a reason to look.
    """

    def __init__(self, served: ServedMemory) -> None:
        self._served = served
        self._told: OrderedDict[tuple[str, str, str], float] = OrderedDict()

    async def on_read_resource(
        self, context: MiddlewareContext[Any], call_next: Callable[[MiddlewareContext[Any]], Awaitable[Answer]]
    ) -> Answer:
        answer = await call_next(context)
        if context.fastmcp_context is None:
            return answer
        who = self._served.caller(context.fastmcp_context)
        name, about = _looked_at(str(context.message.uri))
        look, now = (who.principal, name, str(about)), anyio.current_time()
        if now - self._told.get(look, -TOLD_SECONDS) >= TOLD_SECONDS:
            try:
                await self._served.memory.attend_folder(lambda ports: looked(ports, who, name, about))
                self._keep(look, now)
            except HoldfastError as error:
                log.warning("read_not_journalled", resource=name, error=type(error).__name__)
        return answer

    def _keep(self, look: tuple[str, str, str], now: float) -> None:
        self._told[look] = now
        self._told.move_to_end(look)
        if len(self._told) > _MOST_KNOWN:
            self._told.popitem(last=False)


def _looked_at(uri: str) -> tuple[str, dict[str, object]]:
    """The name of a resource that was read, and what the journal may tell of the note that was asked for."""
    parts = urlsplit(uri)
    return parts.netloc, named(next(iter(parse_qs(parts.query).get("node", ())), ""))


ToolListing = Callable[[], Awaitable[Sequence[Tool]]]
JSON = "application/json"
MASK = "***"

_SECRET = re.compile(r"(?:.*_)?(?:key|keys|token|tokens|secret|password|passphrase)", re.IGNORECASE)
_PASSWORD = re.compile(r"//[^/@\s]*@")

# What shapes a tenant's own memory. All else is of the host: where it lies, whom it knows, what it guards itself with.
_TENANTS = frozenset(
    """encoder encoder_model encoder_dimensions secrets rate_limit request_seconds max_now_tokens recency_half_life_days
    vault_enabled vault_provider vault_retention_days integrity_check_on_start jobs forgetting review enable_consensus
    tenancy now""".split()  # noqa: SIM905
)

LOOKS: tuple[tuple[str, str, Callable[[Ports], Awaitable[object]]], ...] = (
    ("stats", "Counts of notes, links and vectors, bytes on disk, last maintenance.", looks.stats),
    ("health", "Whether everything works: encoder, queue, sqlite-vec, watcher, disk, quarantine.", looks.health),
    ("jobs", "What is done each day by itself, and how far the vectors are.", looks.jobs),
    ("quarantine", "Files that cannot be read as notes, with the reason.", looks.quarantine),
)


def add_looks(server: FastMCP[Any], served: ServedMemory, listed: ToolListing) -> None:
    """Put the resources on a server.

    Args:
        server: of the admin namespace.
        served: where requests are answered.
        listed: lists the tools of the whole server.
    """
    for name, description, look in LOOKS:
        _add_look(server, served, name, description, look)

    @server.resource("admin://config", name="config", description="The settings that are in force.", mime_type=JSON)
    def _config() -> str:
        return _json(settings_shown(served.settings) if served.settings else {})

    @server.resource("admin://tools", name="tools", description="Each tool: its size and hints.", mime_type=JSON)
    async def _tools() -> str:
        return _json([_tool_shown(tool) for tool in await listed()])


def _add_look(
    server: FastMCP[Any], served: ServedMemory, name: str, description: str, look: Callable[[Ports], Awaitable[object]]
) -> None:
    @server.resource(f"admin://{name}", name=name, description=description, mime_type=JSON)
    async def _look() -> str:
        return _json(await readable(served.memory.attend(look)))


def settings_shown(settings: Settings) -> dict[str, object]:
    """All settings by their environment variables, secrets masked; also the keys of config.yaml that nobody reads.

    Where principals have memories of their own these are told of no other settings than those that shape them.
    """
    known = {setting.key: setting.variable for setting in SETTINGS}
    values = {item.name: _masked(item.name, getattr(settings, item.name)) for item in fields(settings)}
    if settings.tenancy == "user":
        values = {name: value for name, value in values.items() if name in _TENANTS}
    return {known.get(name, name): value for name, value in values.items()}


def _masked(name: str, value: object) -> object:
    match value:
        case None | bool() | int() | float():
            return value
        case Late(text=text, problem=problem):
            return f"not set: {problem}" if problem else MASK if text else ""
        case Mapping():
            return {key: MASK if given else "" for key, given in value.items()}
        case _ if _SECRET.fullmatch(name):
            return MASK if value else ""
        case tuple() | list():
            return [_masked("", item) for item in value]
        case _:
            return redact(_PASSWORD.sub(f"//{MASK}@", str(value))).text


def _tool_shown(tool: Tool) -> dict[str, object]:
    whole = tool.to_mcp_tool().model_dump(mode="json", by_alias=True, exclude_none=True)
    bare = {key: value for key, value in whole.items() if key != "outputSchema"}
    return {
        "name": tool.name,
        "characters": _size(bare),
        "with_output_schema": _size(whole),
        "annotations": whole.get("annotations", {}),
    }


def _size(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, indent=1)
