"""Telling a client that what it reads has changed, whoever changed it: in both eras of the protocol.

Up to 2025-11-25 a session subscribes to one resource after another; from 2026-07-28 on a request that stays open
lists them. The framework has neither, so both are handlers of the server below it. As long as anybody is subscribed,
the resources in question are compared with what they were, a few times a second; nothing is looked at otherwise.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import structlog
from fastmcp import FastMCP
from fastmcp.exceptions import FastMCPError
from fastmcp.server.auth import AccessToken
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    EmptyResult,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)

from holdfast.engine.ports import Caller, Ports
from holdfast.engine.runtime import PASSING, Memory
from holdfast.errors import ConflictError, HoldfastError
from holdfast.model.access import READ
from holdfast.tools.agent import ServedMemory
from holdfast.tools.auth import access_of, asked_space, is_admin, require
from holdfast.tools.resources import Kind, find

TOLD_SECONDS = 0.25  # between two looks; a folder that is not watched is scanned for each,
SCANNED_SECONDS = 1.0  # so less often
ADMIN_SECONDS = 2.0
SEND_SECONDS = 2.0  # a client that does not read keeps the others waiting no longer
MOST_URIS = 256  # of one client
MOST_STREAMS = 256  # of one principal

log = structlog.get_logger()


@dataclass(slots=True)
class _Watched:
    """A resource that somebody is subscribed to, `kind` None where it is one of the admin namespace.

    `count` is by how many, `version` None where it is not known.
    """

    kind: Kind | None
    value: str
    version: str | None = None
    count: int = 0


@dataclass(slots=True)
class _Audience:
    """All who see the same, since they are the same principal in the same space."""

    caller: Caller
    bus: InMemorySubscriptionBus
    streams: ListenHandler
    watched: dict[str, _Watched] = field(default_factory=dict)
    pulse: object = None
    admin_due: float = 0.0
    followed: bool = False
    rest: float = TOLD_SECONDS


@dataclass(slots=True)
class _Client:
    """What one session of the older era is subscribed to."""

    session: ServerSession
    caller: Caller
    uris: set[str] = field(default_factory=set)


class Subscriptions:
    """Who wants to know of what, and what it was when they were last told."""

    def __init__(self, served: ServedMemory, admin: FastMCP[Any] | None) -> None:
        self._served = served
        self._memory = served.memory
        self._admin = admin
        self._audiences: dict[Caller, _Audience] = {}
        self._clients: dict[Connection, _Client] = {}
        self._somebody = anyio.Event()

    async def subscribe(self, context: ServerRequestContext[Any, Any], params: SubscribeRequestParams) -> EmptyResult:
        """resources/subscribe.

        Raises:
            MCPError: it is no resource of ours, too many are subscribed to, nothing can be sent to this client, or
                its token may not read.
        """
        uri, access = str(params.uri), access_of(context)
        self._check(access)
        if await self._find(access, uri) is None:
            raise MCPError(INVALID_PARAMS, "Resource not found: there is none of this form.", {"uri": uri})
        connection = context.session._connection  # noqa: SLF001 - the framework knows a session by it too
        if not connection.has_standalone_channel:
            raise MCPError(INVALID_REQUEST, "This connection keeps no session that could be told of changes.")
        client = self._clients.get(connection)
        if client is None:
            client = self._clients[connection] = _Client(context.session, self._asker(context))
            connection.exit_stack.callback(self._forget, connection)
        if uri not in client.uris:
            if len(client.uris) >= MOST_URIS:
                raise MCPError(INVALID_PARAMS, f"A client may subscribe to {MOST_URIS} resources.")
            client.uris.add(uri)
            await self._begin(client.caller, [uri])
        return EmptyResult()

    async def unsubscribe(
        self, context: ServerRequestContext[Any, Any], params: UnsubscribeRequestParams
    ) -> EmptyResult:
        """resources/unsubscribe; what was not subscribed to is no error."""
        client = self._clients.get(context.session._connection)  # noqa: SLF001 - as above
        uri = str(params.uri)
        if client is not None and uri in client.uris:
            client.uris.discard(uri)
            self._end(client.caller, [uri])
        return EmptyResult()

    async def listen(
        self, context: ServerRequestContext[Any, Any], params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """subscriptions/listen: open until the client ends it. Resources that are none of ours are not acknowledged.

        Raises:
            MCPError: the client's token may not read.
        """
        access = access_of(context)
        self._check(access)
        asked = dict.fromkeys(params.notifications.resource_subscriptions or ())
        uris = [uri for uri in asked if await self._find(access, uri) is not None][:MOST_URIS]
        notifications = params.notifications.model_copy(update={"resource_subscriptions": uris or None})
        async with self._watching(self._asker(context), uris) as audience:
            return await audience.streams(context, params.model_copy(update={"notifications": notifications}))

    def _asker(self, context: ServerRequestContext[Any, Any]) -> Caller:
        return self._served.asker(access_of(context), "mcp", asked_space(context.request))

    async def watch(self) -> None:
        """Tell of changes for as long as the server runs; no audience waits for what is slow for another."""
        async with anyio.create_task_group() as tasks:
            while True:
                self._somebody = anyio.Event()
                for audience in self._audiences.values():
                    if not audience.followed:
                        audience.followed = True
                        tasks.start_soon(self._follow, audience)
                await self._somebody.wait()

    async def _follow(self, audience: _Audience) -> None:
        while audience.watched:
            await anyio.sleep(audience.rest)
            try:
                async with self._memory.glance(audience.caller.principal) as memory:
                    changed = [] if memory is None else await self._changes(memory, audience)
            except PASSING as error:
                log.info("subscriptions_not_looked_at", error=type(error).__name__)
                continue
            for uri in changed:
                await self._tell(audience, uri)
        audience.followed = False

    async def _changes(self, memory: Memory, audience: _Audience) -> list[str]:
        audience.rest = TOLD_SECONDS if memory.ports.store.watches else SCANNED_SECONDS
        if not memory.ports.store.is_there:
            return []  # whoever stores next is to be asked whether it shall be made anew
        changed = await memory.peek(lambda ports: self._changed(ports, audience))
        return [*changed, *await self._changed_for_admin(audience)]

    async def _tell(self, audience: _Audience, uri: str) -> None:
        await audience.bus.publish(ResourceUpdated(uri=uri))
        for client in list(self._clients.values()):
            if client.caller == audience.caller and uri in client.uris:
                with anyio.move_on_after(SEND_SECONDS):
                    await client.session.send_resource_updated(uri)

    def _check(self, access: AccessToken | None) -> None:
        if self._served.guarded:
            require(access, READ)

    async def _find(self, access: AccessToken | None, uri: str) -> tuple[Kind | None, str] | None:
        """What a URI names for whoever asks; None where there is nothing, or nothing for them."""
        if (found := find(uri)) is not None:
            return found
        if self._admin is None or (self._served.guarded and not is_admin(access)):
            return None
        there = await self._admin.get_resource(uri) or await self._admin.get_resource_template(uri)
        return (None, uri) if there is not None else None

    @asynccontextmanager
    async def _watching(self, caller: Caller, uris: list[str]) -> AsyncIterator[_Audience]:
        try:
            yield await self._begin(caller, uris)
        finally:
            self._end(caller, uris)

    async def _begin(self, caller: Caller, uris: Iterable[str]) -> _Audience:
        """Count one more who wants to know of these, and see how they are now."""
        if caller not in self._audiences:
            bus = InMemorySubscriptionBus()
            self._audiences[caller] = _Audience(caller, bus, ListenHandler(bus, max_subscriptions=MOST_STREAMS))
        audience = self._audiences[caller]
        new: list[_Watched] = []
        for uri in uris:
            if uri not in audience.watched:
                kind, value = find(uri) or (None, uri)
                audience.watched[uri] = _Watched(kind, value)
                new.append(audience.watched[uri])
            audience.watched[uri].count += 1
        try:
            async with self._memory.lease(caller.principal) as memory:
                await memory.peek(lambda ports: self._look(ports, audience, new))
                for item in new:
                    item.version = await self._admin_version(item.value) if item.kind is None else item.version
        except PASSING as error:  # as soon as it can be looked at, that is what it was
            log.info("subscriptions_not_looked_at", error=type(error).__name__)
        self._somebody.set()
        return audience

    def _end(self, caller: Caller, uris: Iterable[str]) -> None:
        audience = self._audiences.get(caller)
        if audience is None:  # who listens to nothing is not counted
            return
        for uri in uris:
            audience.watched[uri].count -= 1
            if not audience.watched[uri].count:
                del audience.watched[uri]
        if not audience.watched:
            del self._audiences[caller]

    def _forget(self, connection: Connection) -> None:
        client = self._clients.pop(connection)
        if client.uris:
            self._end(client.caller, client.uris)

    async def _changed(self, ports: Ports, audience: _Audience) -> list[str]:
        """Which of the resources are no longer what they were."""
        pulse = await self._pulse_of(ports, audience)
        moved = pulse != audience.pulse
        due = {uri: item for uri, item in audience.watched.items() if item.kind and (moved or not item.kind.indexed)}
        found = {uri: await self._version(ports, audience, item) for uri, item in due.items()}
        changed = [uri for uri, item in due.items() if item.version not in (None, found[uri])]
        for uri, item in due.items():
            item.version = found[uri]
        audience.pulse = pulse
        return changed

    async def _pulse_of(self, ports: Ports, audience: _Audience) -> object:
        """Something that differs after each change of the index, and after each recall where events are watched."""
        number = await ports.index.read(lambda view: view.change_number())
        if not any(item.kind is not None and item.kind.name == "events" for item in audience.watched.values()):
            return number, None
        return number, [event.id for event in await ports.recalls.recent(audience.caller.principal, 1)]

    async def _look(self, ports: Ports, audience: _Audience, watched: Iterable[_Watched]) -> None:
        for item in watched:
            if item.kind is not None:
                item.version = await self._version(ports, audience, item)

    async def _version(self, ports: Ports, audience: _Audience, item: _Watched) -> str:
        if item.kind is None:
            return ""
        try:
            return (await item.kind.read(ports, audience.caller, item.value, "")).version
        except ConflictError:  # it is being changed: look again
            raise
        except HoldfastError as error:
            return type(error).__name__  # not there, or not readable: that is a state too

    async def _changed_for_admin(self, audience: _Audience) -> list[str]:
        """As `_changed`, of the admin namespace; less often, since nothing tells when to look."""
        watched = {uri: item for uri, item in audience.watched.items() if item.kind is None}
        if not watched or anyio.current_time() < audience.admin_due:
            return []
        audience.admin_due = anyio.current_time() + ADMIN_SECONDS
        found = {uri: await self._admin_version(uri) for uri in watched}
        changed = [uri for uri, item in watched.items() if item.version not in (None, found[uri])]
        for uri, item in watched.items():
            item.version = found[uri]
        return changed

    async def _admin_version(self, uri: str) -> str:
        """What a resource of the admin namespace holds, as a hash. It asks the memory itself: never within a verb."""
        if self._admin is None:
            return ""
        try:
            found = await self._admin.read_resource(uri, run_middleware=False)  # nobody has read it
        except (FastMCPError, MCPError) as error:
            return type(error).__name__
        return hashlib.sha256(repr([content.content for content in found.contents]).encode()).hexdigest()
