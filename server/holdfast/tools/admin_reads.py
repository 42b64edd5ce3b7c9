"""Who looked at what of the admin namespace: a read is told to the journal as a call is."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import anyio
import structlog
from fastmcp.server.middleware import Middleware, MiddlewareContext

from holdfast.engine.gated import looked, named
from holdfast.errors import HoldfastError
from holdfast.tools.agent import Desk

Answer = TypeVar("Answer")

TOLD_SECONDS = 3600.0  # within which the same look of the same principal is told once
_MOST_KNOWN = 10_000

log = structlog.get_logger()


class Reads(Middleware):
    """Has the journal told of every resource that is read, and by whom.

    A page that shows `admin://stats` reads it every few seconds, and each line would change what it shows: the same
    look is told once an hour. What cannot be told is shown all the same, since a full disk is a reason to look.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._told: OrderedDict[tuple[str, str, str], float] = OrderedDict()

    async def on_read_resource(
        self, context: MiddlewareContext[Any], call_next: Callable[[MiddlewareContext[Any]], Awaitable[Answer]]
    ) -> Answer:
        answer = await call_next(context)
        if context.fastmcp_context is None:
            return answer
        who = self._desk.caller(context.fastmcp_context)
        name, about = _looked_at(str(context.message.uri))
        look, now = (who.principal, name, str(about)), anyio.current_time()
        if now - self._told.get(look, -TOLD_SECONDS) >= TOLD_SECONDS:
            try:
                await self._desk.memory.attend_folder(lambda ports: looked(ports, who, name, about))
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
