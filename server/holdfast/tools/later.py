"""Resources, prompts, completion and subscriptions, made when they are first asked for: no start waits for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import anyio
from fastmcp import FastMCP
from fastmcp.prompts import Prompt
from fastmcp.resources import Resource, ResourceTemplate
from fastmcp.server.providers import LocalProvider, Provider
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

from holdfast.tools.agent import Desk

if TYPE_CHECKING:
    from holdfast.tools.subscriptions import Subscriptions

Request = ServerRequestContext[Any, Any]


def add_later(server: FastMCP[Any], desk: Desk, admin: FastMCP[Any] | None = None) -> None:
    """Let a server have all of them, and the server of the admin namespace, if there is one, subscriptions."""
    later = Later(desk, admin)
    server.add_provider(later)
    server.completion(later.complete)
    _take_subscriptions(server, later)
    if admin is not None:
        _take_subscriptions(admin, later)
    desk.memory.beside(later.watch)


def _take_subscriptions(server: FastMCP[Any], later: Later) -> None:
    low = server._mcp_server  # noqa: SLF001 - the framework has no subscriptions of its own
    low.add_request_handler("resources/subscribe", SubscribeRequestParams, later.subscribe)
    low.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, later.unsubscribe)
    low.add_request_handler("subscriptions/listen", SubscriptionsListenRequestParams, later.listen)


class Later(Provider):
    """What a desk has to read."""

    def __init__(self, desk: Desk, admin: FastMCP[Any] | None = None) -> None:
        super().__init__()
        self._desk = desk
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
        from holdfast.tools.completion import complete  # noqa: PLC0415 - at first use, as all below

        return await complete(self._desk, ref, argument)

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
            add_resources(self._shelf, self._desk)
            add_prompts(self._shelf, self._desk)
        return self._shelf

    def _subscriptions(self) -> Subscriptions:
        if self._subscribed is None:
            from holdfast.tools.subscriptions import Subscriptions  # noqa: PLC0415

            self._subscribed = Subscriptions(self._desk, self._admin)
            self._subscribing.set()
        return self._subscribed
