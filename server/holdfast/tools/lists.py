"""What there is to call, read and ask for is worked out once for each kind of client, and then known.

The framework makes each list anew: `tools/list` takes it ten milliseconds, in which nobody else is answered. The lists
differ by protocol version, by the form that a client gets, by whether it may see the admin namespace, and by whether it
shows Apps; by nothing else, not by whose memory it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from fastmcp import FastMCP
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp_types import PaginatedRequestParams

from holdfast.model.access import Answers, form_for
from holdfast.tools.agent import client_name
from holdfast.tools.auth import access_of, is_admin
from holdfast.tools.view.clients import shows_apps

LISTS: Final = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
Context = ServerRequestContext[Any, Any]


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

        async def handler(context: Context, params: PaginatedRequestParams) -> Any:
            known = None if params.cursor else self._now_known().get(self._kind(context))
            if known is not None:
                raise _KnownError(known)
            return await made(context, params)

        low.add_request_handler(method, PaginatedRequestParams, handler)

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        known_now = self._now_known()
        try:
            answer = await call_next(ctx)
        except _KnownError as known:
            return known.answer
        if ctx.method in LISTS and isinstance(answer, dict) and not (ctx.params or {}).get("cursor"):
            known_now[self._kind(ctx)] = answer
        return answer

    def _kind(self, context: Context) -> _Kind:
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
