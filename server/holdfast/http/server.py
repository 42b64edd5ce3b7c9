"""The HTTP side of a server: which path leads where, for whom, and within which limits.

    request -> CORS -> Host and Origin -> token -> pace -> path, space and scope -> how many at once -> body -> MCP

`/mcp` is for all who have a scope, `/admin/mcp` is there only for tokens with the scope `memory:admin`: for everybody
else it is a path like any other that does not exist. `/health` says that the server lives, and `/ready`
whether it can answer now: not while what keeps the notes is away, nor once it is to end. `/metrics` is there for who
brings the token that the settings name, and for everybody else a path that does not exist.

CORS headers are given to pages of allowed origins alone; a header names the space that a client asks in.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from socket import socket
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote_to_bytes, urlsplit

import uvicorn
from fastmcp.server.http import HostOriginGuardMiddleware, StarletteWithLifespan
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from holdfast.app import Servers
from holdfast.http.connections import CONNECTION, LEAST_SHARE, MOST_HEAD, Places, address_of, connection
from holdfast.http.limits import (
    HAD_TURN,
    RETRY_SECONDS,
    STRANGER_RATE,
    Apart,
    Bodies,
    Guesses,
    Pace,
    Readiness,
    Sessions,
    Turns,
    UnderWay,
    lasting,
    later,
    refusal,
    replayed,
)
from holdfast.model.access import READ, WRITE
from holdfast.model.note import space_name
from holdfast.settings import Settings
from holdfast.tools.auth import SPACE, has_any_scope, is_admin, principal_of, verifier_of
from holdfast.tools.errors import observed

if TYPE_CHECKING:
    from holdfast.http.metrics import Metrics

SPACE_HEADER: Final = "X-Holdfast-Space"
METHODS: Final = ("GET", "POST", "DELETE")
_SENT: Final = ("Authorization", "Last-Event-ID", "Mcp-Method", "Mcp-Name", "MCP-Protocol-Version", "Mcp-Session-Id")
_READ: Final = ("MCP-Protocol-Version", "Mcp-Session-Id", "Retry-After", "WWW-Authenticate")
_MOST_NAMED: Final = 512  # bytes


def for_pages(app: ASGIApp, origins: Sequence[str]) -> ASGIApp:
    """An application whose answers, refusals too, pages of these origins may read; for all others nothing changes.

    Tokens come in a header that a page sets itself, so that cookies and the like (credentials) are never asked for.
    """
    if not origins:
        return app
    answering = CORSMiddleware(
        app,
        allow_origins=frozenset(origins),
        allow_methods=METHODS,
        allow_headers=(*_SENT, SPACE_HEADER),
        allow_private_network=True,
        expose_headers=_READ,
    )

    async def chosen(scope: Scope, receive: Receive, send: Send) -> None:
        known = Headers(scope=scope).get("origin") in answering.allow_origins
        await (answering if known else app)(scope, receive, send)

    return chosen


def asked_space(headers: Iterable[tuple[bytes, bytes]]) -> str | Response | None:
    """The space that a request's header names, in UTF-8 or percent-encoded; None without one, 400 for what is none."""
    given = {value.strip() for name, value in headers if name == SPACE_HEADER.lower().encode() and value.strip()}
    if not given:
        return None
    try:
        return _space(given)
    except ValueError as error:
        sentence = f"InvalidArgumentError: {SPACE_HEADER} names no space: {error}."
        body = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": sentence}}
        return JSONResponse(body, 400)


def _space(given: set[bytes]) -> str:
    value, *others = given
    if others:
        raise ValueError("it is given twice")
    if len(value) > _MOST_NAMED:
        raise ValueError("it is too long")
    if b"${" in value:
        raise ValueError("the client left a variable in it as it stands")
    try:
        return space_name(unquote_to_bytes(value).decode())
    except UnicodeDecodeError:
        raise ValueError("it is no UTF-8") from None


MCP_PATH: Final = "/mcp"
ADMIN_PATH: Final = "/admin/mcp"
HEALTH_PATH: Final = "/health"
READY_PATH: Final = "/ready"
METRICS_PATH: Final = "/metrics"
METADATA: Final = "/.well-known/oauth-protected-resource"
_SCOPES = f"{READ} {WRITE}"
_SPARE_FILES = 256  # open files that are no connections
TENANT_FILES = 96  # open at the most for one tenant: its stripes of locks, its databases, its journal


class Web:
    """A server over HTTP.

    Args:
        settings: all settings.
        servers: what is served.
        host: the address that it listens on.
        reaches: whether what keeps the notes can be reached; by default it always can.
        metrics: what counts, where anybody may read it.
    """

    def __init__(
        self,
        settings: Settings,
        servers: Servers,
        host: str,
        reaches: Callable[[], Awaitable[bool]] | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self._metrics = metrics
        self._readiness = Readiness(reaches)
        self._settings = settings
        self._main = _endpoint(servers.main, MCP_PATH, settings)
        self._admin = (
            _endpoint(servers.admin, ADMIN_PATH, settings, telling=True) if servers.admin is not None else None
        )
        self._sessions = Sessions(self._main)
        self._admin_sessions = None if self._admin is None else Sessions(self._admin)
        self._verifier = verifier_of(settings)
        self._pace = Pace(settings.rate_limit)
        self._guesses = Guesses()
        self._strangers = Pace(min(settings.rate_limit, STRANGER_RATE))
        self._bodies = Bodies(settings.request_seconds)
        self._turns = Turns()
        self._apart = Apart()
        self._under_way = UnderWay(settings.max_requests, _share(settings))
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # else whoever sends rubbish fills the log
        self._uvicorn = _Server(
            uvicorn.Config(
                self._app(host),
                http=connection(_places(settings), settings.request_seconds),
                h11_max_incomplete_event_size=MOST_HEAD,
                proxy_headers=bool(settings.trusted_proxies),
                forwarded_allow_ips=list(settings.trusted_proxies),
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                ws="none",
            )
        )

    async def serve(self, listener: socket) -> None:
        await self._uvicorn.serve(sockets=[listener])

    def leave(self) -> None:
        """Say that no more requests are to be sent here; those that come are answered."""
        self._readiness.ends = True

    async def ended(self) -> None:
        """Take no more connections, and wait until what is under way is answered."""
        self.leave()
        self._uvicorn.should_exit = True
        await self._under_way.ended()

    def _app(self, host: str) -> ASGIApp:
        app: ASGIApp = self._answer
        if self._verifier is not None:
            for layer in reversed(self._verifier.get_middleware()):
                app = layer.cls(app, *layer.args, **layer.kwargs)
            app = self._unhurried(app)
        app = HostOriginGuardMiddleware(app, self._hosts(host), self._origins(), "strict")
        app = for_pages(app, self._settings.allowed_origins)

        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            send = self._apart.of(lambda: _asker(scope), scope, send)
            if scope["path"] == HEALTH_PATH:
                await PlainTextResponse("ok\n")(scope, receive, send)
                return
            if scope["path"] == READY_PATH:
                ready = await self._readiness.is_ready()
                answer = PlainTextResponse("ready\n") if ready else PlainTextResponse("not ready\n", 503)
                await answer(scope, receive, send)
                return
            if scope["path"] == METRICS_PATH and self._metrics is not None and self._metrics.is_asked_by(scope):
                await self._metrics.answer(self._under_way.count, scope, receive, send)
                return
            if not scope[CONNECTION].asked_by(address_of(scope)):
                await _busy("Your address has too many connections.")(scope, receive, send)
                return
            with suppress(ClientDisconnect):  # whoever hangs up in the middle of a request wants no answer
                await observed(app, scope, receive, send, self._metrics)

        return Starlette(routes=[Mount("", guarded)], lifespan=self._lifespan)

    def _unhurried(self, app: ASGIApp) -> ASGIApp:
        """Tokens are looked at as often as their address may guess."""

        async def looking(scope: Scope, receive: Receive, send: Send) -> None:
            token, address = _token_of(scope), address_of(scope)
            if token and not self._guesses.may_try(address, token):
                sentence = "Your address has tried many tokens that are not valid; try again in a moment."
                await later(429, sentence, scope)(scope, receive, send)
                return
            await app(scope, receive, send)

        return looking

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for endpoint in (self._main, self._admin):
                if endpoint is not None:
                    await stack.enter_async_context(endpoint.lifespan(app))
            yield

    def _hosts(self, host: str) -> list[str]:
        public = urlsplit(self._settings.public_url).hostname
        return [*self._settings.allowed_hosts, host, *([public] if public else [])]

    def _origins(self) -> list[str] | None:
        public = urlsplit(self._settings.public_url)
        own = [f"{public.scheme}://{public.netloc}"] if public.netloc else []
        return [*self._settings.allowed_origins, *own] or None

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        access, asker = _access(scope), _asker(scope)
        if token := _token_of(scope):
            self._guesses.tried(address_of(scope), token, good=access is not None)
        found = self._paced(scope, access, asker) or self._way(scope, access, asker)
        if isinstance(found, Response):
            await found(scope, receive, send)
            return
        app = self._bodily(found, asker)
        if access is not None and access.expires_at is not None:  # who may no longer ask may no longer listen
            app = lasting(app, max(0.0, access.expires_at - time.time()))
        await self._under_way.serve(asker, app, scope, receive, send)

    def _bodily(self, app: ASGIApp, asker: str) -> ASGIApp:
        """An endpoint that meets requests only when they are there as a whole, and it is their client's turn."""

        async def answering(scope: Scope, receive: Receive, send: Send) -> None:
            path = scope["path"].rstrip("/")
            inner = {**scope, "path": path, "raw_path": path.encode()}
            if scope["method"] != "POST":
                await app(inner, receive, send)
                return
            async with self._bodies.whole(asker, scope, receive) as body:
                if isinstance(body, Response):
                    await body(scope, receive, send)
                else:
                    scope[HAD_TURN] = True
                    await self._turns.serve(asker, app, inner, replayed(body, receive), send)

        return answering

    def _way(self, scope: Scope, access: Any, asker: str) -> ASGIApp | Response:
        """Where a request leads, or why it is refused."""
        path = scope["path"].rstrip("/")
        if self._verifier is not None and path in self._metadata_paths():
            return JSONResponse(self._metadata(scope))
        if self._verifier is not None and access is None:
            return self._challenge(scope)
        if path == MCP_PATH:
            known = access is None or has_any_scope(access.scopes)
            return _served(self._sessions, scope, asker) if known else self._insufficient(scope)
        if path == ADMIN_PATH and self._admin_sessions is not None and is_admin(access):
            return _served(self._admin_sessions, scope, asker)
        return PlainTextResponse("Not Found", 404)

    def _paced(self, scope: Scope, access: Any, asker: str) -> Response | None:
        """429 for who asks too often."""
        pace = self._strangers if self._verifier is not None and access is None else self._pace
        return None if pace.take(asker) else later(429, f"More than {pace.rate} requests in a second.", scope)

    def _base(self, scope: Scope) -> str:
        """The address that the client knows this server by; its Host has been checked."""
        host = dict(scope["headers"]).get(b"host", b"localhost").decode("latin-1")
        return self._settings.public_url or f"{scope['scheme']}://{host}"

    def _metadata_paths(self) -> tuple[str, ...]:
        return METADATA, METADATA + urlsplit(self._settings.public_url).path + MCP_PATH

    def _metadata(self, scope: Scope) -> dict[str, Any]:
        """RFC 9728."""
        issuers = [self._settings.auth_issuer] if self._settings.auth_issuer else []
        return {
            "resource": self._base(scope) + MCP_PATH,
            **({"authorization_servers": issuers} if issuers else {}),
            "scopes_supported": [READ, WRITE],
            "bearer_methods_supported": ["header"],
            "resource_name": "Holdfast",
        }

    def _challenge(self, scope: Scope) -> Response:
        """401, in the words of RFC 6750: without an error where no token was given."""
        headers = dict(scope["headers"])
        given = headers.get(b"authorization", b"")[:7].lower() == b"bearer "
        error = {
            "error": "invalid_token",
            "error_description": "The token is unknown, not valid now, or not for here.",
        }
        return self._unauthorized(scope, 401, error if given else {})

    def _insufficient(self, scope: Scope) -> Response:
        error = {"error": "insufficient_scope", "error_description": f"The token has none of the scopes {_SCOPES}."}
        return self._unauthorized(scope, 403, error)

    def _unauthorized(self, scope: Scope, status: int, error: dict[str, str]) -> Response:
        base = urlsplit(self._base(scope))
        where = f"{base.scheme}://{base.netloc}{METADATA}{base.path}{MCP_PATH}"
        said = error | {"scope": _SCOPES, "resource_metadata": where}
        challenge = "Bearer " + ", ".join(f'{key}="{value}"' for key, value in said.items())
        needed = {"error": "unauthorized", "error_description": "A bearer token is needed."}
        return JSONResponse(error or needed, status, headers={"WWW-Authenticate": challenge})


class _Server(uvicorn.Server):
    """Leaves signals alone: they are the runner's."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _endpoint(server: Any, path: str, settings: Settings, *, telling: bool = False) -> StarletteWithLifespan:
    """An endpoint; one that is `telling` sends progress before its answers, which makes all of them slower."""
    app: StarletteWithLifespan = server.http_app(
        path=path, json_response=not telling, stateless_http=settings.stateless, host_origin_protection=False
    )
    return app


def _served(sessions: Sessions, scope: Scope, asker: str) -> ASGIApp | Response:
    """An endpoint for one client, with the space that it asks in."""
    if scope["method"] not in METHODS:
        return PlainTextResponse("Method Not Allowed", 405, {"Allow": ", ".join(METHODS)})
    scope[SPACE] = space = asked_space(scope["headers"])
    return space if isinstance(space, Response) else sessions.of(asker)


def _access(scope: Scope) -> Any:
    """The token of a request, once it was verified; else None."""
    user = scope.get("user")
    return user.access_token if isinstance(user, AuthenticatedUser) else None


def _asker(scope: Scope) -> str:
    """For whom a request counts: its principal, or its address where nobody said who they are."""
    access = _access(scope)
    return address_of(scope) if access is None else principal_of(access)


def _token_of(scope: Scope) -> bytes:
    """The token of a request; empty where it has none."""
    given: bytes = dict(scope["headers"]).get(b"authorization", b"")
    return given[7:] if given[:7].lower() == b"bearer " else b""


def _busy(sentence: str) -> Response:
    return refusal(503, sentence, **{"Retry-After": str(RETRY_SECONDS), "Connection": "close"})


def _share(settings: Settings) -> int:
    """How many requests of one client are worked on at once: a quarter of all where each has a memory of its own.

    Where all share one, many agents of one user ask as one client: they leave an eighth to others.
    """
    most = settings.max_requests
    return max(1, most // 4) if settings.tenancy == "user" else min(most, max(LEAST_SHARE, most - most // 8))


def _places(settings: Settings) -> Places:
    trusted = ProxyHeadersMiddleware(_nobody, list(settings.trusted_proxies)).trusted_hosts
    return Places(_room(settings), trusted.__contains__)


async def _nobody(_scope: Any, _receive: Any, _send: Any) -> None:
    """An application that is never called."""


def _room(settings: Settings) -> int:
    """How many connections there can be: no more than files may be open, whose number is raised where that goes."""
    connections = settings.max_connections
    spare = _SPARE_FILES + (settings.tenants_open * TENANT_FILES if settings.tenancy == "user" else 0)
    if sys.platform == "win32":
        return connections
    import resource  # noqa: PLC0415 - not on every platform

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + spare
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return connections if soft == resource.RLIM_INFINITY else max(1, min(connections, max(soft - spare, soft // 4)))
