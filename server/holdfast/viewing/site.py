"""What `holdfast view` serves, on this machine alone: the host page, and MCP for whoever has the key.

    request -> Host -> Origin -> path -> key (for MCP) -> MCP

The page holds no secret. The key is drawn anew at each start and is in the part of the address behind `#`, which a
browser sends to nobody; the page sends it with each request. Nothing else is served.
"""

from __future__ import annotations

import hmac
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from socket import socket
from typing import Any, Final

import uvicorn
from fastmcp import FastMCP
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount
from starlette.types import ASGIApp, Receive, Scope, Send

PAGE: Final = Path(__file__).with_name("host.html")
MCP_PATH: Final = "/mcp"
LARGEST_BODY: Final = 4 << 20  # bytes of a request
_GUARDS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",  # the page itself says the rest
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Site:
    """A server of the host page and of one memory's MCP, at a port of this machine.

    Args:
        server: the memory's MCP server.
        key: what requests to it must bring.
        port: where it listens.
    """

    def __init__(self, server: FastMCP[Any], key: str, port: int) -> None:
        self._key = key.encode()
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._origins = {f"http://{host}" for host in self._hosts}
        self._page = PAGE.read_bytes()
        self._mcp = server.http_app(
            path=MCP_PATH, json_response=True, stateless_http=True, host_origin_protection=False
        )
        self._uvicorn = _Server(
            uvicorn.Config(
                self.app(), lifespan="on", log_config=None, access_log=False, server_header=False, proxy_headers=False,
                ws="none",
            )
        )  # fmt: skip

    async def serve(self, listener: socket) -> None:
        await self._uvicorn.serve(sockets=[listener])

    async def ended(self) -> None:
        """Take no more connections."""
        self._uvicorn.should_exit = True

    def app(self) -> ASGIApp:
        return Starlette(routes=[Mount("", self._answer)], lifespan=self._lifespan)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        async with self._mcp.lifespan(app):
            yield

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        refused = self._refusal(scope, headers)
        if refused is not None:
            await refused(scope, receive, send)
        elif scope["path"] == "/":
            await Response(self._page, media_type="text/html", headers=_GUARDS)(scope, receive, send)
        else:
            await self._mcp({**scope, "root_path": ""}, receive, send)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """Why a request is not answered; None where it is."""
        path, method = scope["path"], scope["method"]
        if headers.getlist("host") not in [[host] for host in self._hosts]:
            return _said(421, "Misdirected Request")
        if any(origin not in self._origins for origin in headers.getlist("origin")):
            return _said(403, "Forbidden Origin")
        if path not in ("/", MCP_PATH):
            return _said(404, "Not Found")
        if method not in (("GET", "HEAD") if path == "/" else ("POST",)):
            return _said(405, "Method Not Allowed")
        return self._refused_call(headers) if path == MCP_PATH else None

    def _refused_call(self, headers: Headers) -> Response | None:
        given = headers.getlist("authorization")
        known = len(given) == 1 and hmac.compare_digest(given[0].encode(), b"Bearer " + self._key)
        if not known:
            return _said(401, "The key of this page is not valid: run holdfast view again.")
        size = headers.get("content-length", "")
        if not size.isascii() or not size.isdigit() or int(size) > LARGEST_BODY:
            return _said(413, "Content Too Large")
        return None


class _Server(uvicorn.Server):
    """Leaves signals alone: they are the runner's."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _said(status: int, text: str) -> Response:
    return PlainTextResponse(text, status, headers=_GUARDS)
