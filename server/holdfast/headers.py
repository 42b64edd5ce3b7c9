"""Headers over HTTP: what pages of allowed origins may send and read (CORS), and the space that a client asks in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import unquote_to_bytes

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from holdfast.model.spaces import space_name

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
        told = f"InvalidArgumentError: {SPACE_HEADER} names no space: {error}."
        body = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": told}}
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
