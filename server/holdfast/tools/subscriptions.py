"""Telling a client that what it reads has changed, whoever changed it: in both eras of the protocol.

Up to 2025-11-25 a session subscribes to one resource after another; from 2026-07-28 on a request that stays open
lists them. The framework has neither, so both are handlers of the server below it. As long as anybody is subscribed,
the resources in question are compared with what they were, a few times a second; nothing is looked at otherwise.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import structlog
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

from holdfast.engine.memory import PASSING, Memory
from holdfast.engine.ports import Caller, Ports
from holdfast.engine.tenants import Memories
from holdfast.errors import ConflictError, HoldfastError
from holdfast.tools.resources import Kind, find

TOLD_SECONDS = 0.25  # between two looks; a folder that is not watched is scanned for each,
SCANNED_SECONDS = 1.0  # so less often
SEND_SECONDS = 2.0  # a client that does not read keeps the others waiting no longer
MOST_URIS = 256  # of one client

log = structlog.get_logger()


@dataclass(slots=True)
class _Watched:
    """A resource that somebody is subscribed to; `count` is by how many, `version` None where it is not known."""

    kind: Kind
    value: str
    version: str | None
    count: int = 0


@dataclass(slots=True)
class _Client:
    """What one session of the older era is subscribed to."""

    session: ServerSession
    uris: set[str] = field(default_factory=set)


class Subscriptions:
    """What one listener's clients want to know of, and what it was when they were last told.

    Nobody is told of what another listener waits for.
    """

    def __init__(self, memory: Memories, listener: Caller) -> None:
        self._memory = memory
        self._caller = listener
        self._rest = TOLD_SECONDS
        self._bus = InMemorySubscriptionBus()
        self._streams = ListenHandler(self._bus)
        self._clients: dict[Connection, _Client] = {}
        self._watched: dict[str, _Watched] = {}
        self._pulse: object = None

    async def subscribe(self, context: ServerRequestContext[Any, Any], params: SubscribeRequestParams) -> EmptyResult:
        """resources/subscribe.

        Raises:
            MCPError: it is no resource of ours, too many are subscribed to, or nothing can be sent to this client.
        """
        uri = str(params.uri)
        if find(uri) is None:
            raise MCPError(INVALID_PARAMS, "Resource not found: there is none of this form.", {"uri": uri})
        connection = context.session._connection  # noqa: SLF001 - the framework knows a session by it too
        if not connection.has_standalone_channel:
            raise MCPError(INVALID_REQUEST, "This connection keeps no session that could be told of changes.")
        client = self._clients.get(connection)
        if client is None:
            client = self._clients[connection] = _Client(context.session)
            connection.exit_stack.callback(self._forget, connection)
        if uri not in client.uris:
            if len(client.uris) >= MOST_URIS:
                raise MCPError(INVALID_PARAMS, f"A client may subscribe to {MOST_URIS} resources.")
            client.uris.add(uri)
            await self._begin([uri])
        return EmptyResult()

    async def unsubscribe(
        self, context: ServerRequestContext[Any, Any], params: UnsubscribeRequestParams
    ) -> EmptyResult:
        """resources/unsubscribe; what was not subscribed to is no error."""
        client = self._clients.get(context.session._connection)  # noqa: SLF001 - as above
        uri = str(params.uri)
        if client is not None and uri in client.uris:
            client.uris.discard(uri)
            self._end([uri])
        return EmptyResult()

    async def listen(
        self, context: ServerRequestContext[Any, Any], params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """subscriptions/listen: open until the client ends it. Resources that are none of ours are not acknowledged."""
        asked = dict.fromkeys(params.notifications.resource_subscriptions or ())
        uris = [uri for uri in asked if find(uri) is not None][:MOST_URIS]
        notifications = params.notifications.model_copy(update={"resource_subscriptions": uris or None})
        async with self._watching(uris):
            return await self._streams(context, params.model_copy(update={"notifications": notifications}))

    async def watch(self) -> None:
        """Tell of changes for as long as anybody is subscribed."""
        while self._watched:
            await anyio.sleep(self._rest)
            try:
                async with self._memory.glance(self._caller.principal) as memory:
                    changed = [] if memory is None else await self._changes(memory)
            except PASSING as error:
                log.info("subscriptions_not_looked_at", error=type(error).__name__)
                continue
            for uri in changed:
                await self._tell(uri)

    async def _changes(self, memory: Memory) -> list[str]:
        self._rest = TOLD_SECONDS if memory.ports.store.watches else SCANNED_SECONDS
        if not memory.ports.store.is_there:
            return []  # whoever stores next is to be asked whether it shall be made anew
        return await memory.peek(self._changed)

    async def _tell(self, uri: str) -> None:
        await self._bus.publish(ResourceUpdated(uri=uri))
        for client in list(self._clients.values()):
            if uri in client.uris:
                with anyio.move_on_after(SEND_SECONDS):
                    await client.session.send_resource_updated(uri)

    @asynccontextmanager
    async def _watching(self, uris: list[str]) -> AsyncIterator[None]:
        try:
            await self._begin(uris)
            yield
        finally:
            self._end(uris)

    async def _begin(self, uris: Iterable[str]) -> None:
        """Count one more who wants to know of these, and see how they are now."""
        new: list[_Watched] = []
        for uri in uris:
            if uri not in self._watched:
                kind, value = find(uri) or _unreachable()
                self._watched[uri] = _Watched(kind, value, None)
                new.append(self._watched[uri])
            self._watched[uri].count += 1
        try:
            async with self._memory.lease(self._caller.principal) as memory:
                await memory.peek(lambda ports: self._look(ports, new))
        except PASSING as error:  # as soon as it can be looked at, that is what it was
            log.info("subscriptions_not_looked_at", error=type(error).__name__)

    def _end(self, uris: Iterable[str]) -> None:
        for uri in uris:
            self._watched[uri].count -= 1
            if not self._watched[uri].count:
                del self._watched[uri]

    def _forget(self, connection: Connection) -> None:
        self._end(self._clients.pop(connection).uris)

    async def _changed(self, ports: Ports) -> list[str]:
        """Which of the resources are no longer what they were."""
        pulse = await self._pulse_of(ports)
        moved = pulse != self._pulse
        due = {uri: item for uri, item in self._watched.items() if moved or not item.kind.indexed}
        found = {uri: await self._version(ports, item) for uri, item in due.items()}
        changed = [uri for uri, item in due.items() if item.version not in (None, found[uri])]
        for uri, item in due.items():
            item.version = found[uri]
        self._pulse = pulse
        return changed

    async def _pulse_of(self, ports: Ports) -> object:
        """Something that differs after each change of the index, and after each recall where events are watched."""
        number = await ports.index.read(lambda view: view.change_number())
        if not any(item.kind.name == "events" for item in self._watched.values()):
            return number, None
        return number, [event.id for event in await ports.recalls.recent(self._caller.principal, 1)]

    async def _look(self, ports: Ports, watched: Iterable[_Watched]) -> None:
        for item in watched:
            item.version = await self._version(ports, item)

    async def _version(self, ports: Ports, item: _Watched) -> str:
        try:
            return (await item.kind.read(ports, self._caller, item.value, "")).version
        except ConflictError:  # it is being changed: look again
            raise
        except HoldfastError as error:
            return type(error).__name__  # not there, or not readable: that is a state too


def _unreachable() -> tuple[Kind, str]:
    raise AssertionError("unreachable: only resources of ours are watched")
