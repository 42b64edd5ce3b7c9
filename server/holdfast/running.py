"""Run a server until it is told to stop: transports, signals, logs.

Over stdio the framework decides by the first request which era of the protocol a connection speaks, for good. A client
that asked in the newer way, gave up waiting and shakes hands in the older way is served all the same: the connection
then begins anew with the handshake.
"""

from __future__ import annotations

import gc
import io
import json
import logging
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final, cast

import anyio
import structlog
from fastmcp import FastMCP
from fastmcp.server.context import reset_transport, set_transport
from mcp.server.stdio import stdio_server

from holdfast.app import build_memory, build_server, build_servers, build_tenants
from holdfast.early import Heard, Opening
from holdfast.errors import SettingsError
from holdfast.settings import Settings

if TYPE_CHECKING:
    from holdfast.engine.tenants import Memories

_ANSWER: Final = re.compile(r'\{"jsonrpc":"2\.0","id":(-?\d+|"[^"\\]*"),"(?:result|error)":')

log = structlog.get_logger()


async def run_stdio(server: FastMCP[Any], heard: Heard) -> None:
    """Serve until the input ends; with what was heard already, whose answers are not given a second time."""
    if sys.platform == "win32":  # there the framework sees to the standard handles itself
        await server.run_stdio_async(show_banner=False)
        return
    token = set_transport("stdio")
    try:
        with _own_streams() as (source, sink):
            lines, output = _Lines(_Joined(heard.data, source)), _Output(sink, heard.answered)
            async with server._lifespan_manager():  # noqa: SLF001 - once for all eras, as `run_stdio_async` has it
                while lines.begin():
                    await _serve(server, lines, output)
    finally:
        reset_transport(token)


async def _serve(server: FastMCP[Any], lines: _Lines, output: _Output) -> None:
    low = server._mcp_server  # noqa: SLF001 - as above
    async with stdio_server(cast("Any", lines), cast("Any", output)) as (incoming, outgoing):
        await low.run(incoming, outgoing, low.create_initialization_options())


@contextmanager
def _own_streams() -> Iterator[tuple[int, int]]:
    """Copies of stdin and stdout that nobody else has: whatever else reads finds the end, whatever prints, stderr."""
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    try:
        yield source, sink  # never closed: a thread may still wait for input
    finally:
        os.dup2(sink, 1)
        os.dup2(source, 0)


class _Joined(io.RawIOBase):
    """What was read before, and behind it what comes."""

    def __init__(self, before: bytes, source: int) -> None:
        self._before, self._source = before, source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = len(buffer)
        read = self._before[:size] or os.read(self._source, size)
        self._before = self._before[size:]
        buffer[: len(read)] = read
        return len(read)


class _Lines:
    """The lines of a connection, up to a handshake that comes after nothing but probes for the newer era."""

    def __init__(self, raw: io.RawIOBase) -> None:
        self._text = io.TextIOWrapper(io.BufferedReader(raw), encoding="utf-8", errors="replace")
        self._next = ""
        self._ended = False
        self._probes: bool | None = None  # whether the newer era was only asked for until now

    def begin(self) -> bool:
        """Whether there is a connection to serve; from here on it may be of either era."""
        self._probes = None
        return not self._ended

    def __aiter__(self) -> _Lines:
        return self

    async def __anext__(self) -> str:
        line, self._next = self._next or await anyio.to_thread.run_sync(self._text.readline), ""
        if not line:
            self._ended = True
            raise StopAsyncIteration
        if self._probes and _shakes_hands(line):
            self._next = line
            raise StopAsyncIteration
        if self._probes is not False and (probes := _probes(line)) is not None:
            self._probes = probes
        return line


def _probes(line: str) -> bool | None:
    """Whether a request only asks for the newer era; None for what is no request."""
    match _parsed(line):
        case {"method": "server/discover", "id": _, "params": {"_meta": dict(meta)}}:
            return "io.modelcontextprotocol/protocolVersion" in meta
        case {"method": str(), "id": _}:
            return False
    return None


def _shakes_hands(line: str) -> bool:
    if '"initialize"' not in line:
        return False
    message = _parsed(line)
    return isinstance(message, dict) and message.get("method") == "initialize" and "id" in message


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


class _Output:
    """Where the framework writes its lines; those that answer what was answered already end here."""

    def __init__(self, sink: int, answered: dict[int | str, str]) -> None:
        self._sink = sink
        self._answered = answered

    async def write(self, text: str) -> None:
        if self._answered and self._was_given(text):
            return
        await anyio.to_thread.run_sync(_write, self._sink, text.encode())

    async def flush(self) -> None:
        """Nothing waits here."""

    def _was_given(self, text: str) -> bool:
        found = _ANSWER.match(text)
        given = self._answered.pop(json.loads(found[1]), None) if found else None
        if given is not None and given != text:
            log.warning("early_answer_differs", reason="remake early.json: see docs/development.md")
        return given is not None


def _write(number: int, data: bytes) -> None:
    while data:
        data = data[os.write(number, data) :]


HEARS_SIGNALS = sys.platform != "win32"  # there a signal ends the process at once, by the handlers set at the start
STOP_SECONDS = 0.8  # for what is under way when a signal comes; what was acknowledged is on the disk anyway


def configure_logs(level: str) -> None:
    """JSON lines on stderr; stdout belongs to the protocol."""
    number = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(handlers=[_Plain(level=logging.WARNING)])


class _Plain(logging.Handler):
    """What libraries log, as one JSON line each, without a trace."""

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else None
        structlog.get_logger().warning("library", logger=record.name, said=record.msg, error=error)


def warn_of_unknown(settings: Settings) -> None:
    """Name the keys and variables that nobody reads, probably misspelt, and what is not followed, or not safe."""
    if settings.unknown:
        structlog.get_logger().warning("unknown_settings", keys=settings.unknown)
    for remark in settings.remarks:
        structlog.get_logger().warning("setting_remark", reason=remark)


def serve_stdio(settings: Settings, *, admin: bool = False, opening: Opening | None = None) -> None:
    """Serve one client over stdin and stdout until either ends or a signal comes; with the admin namespace if asked.

    Args:
        settings: all settings.
        admin: the admin namespace is there.
        opening: what answers the first requests meanwhile.
    """
    memory = build_memory(settings)
    server = build_server(settings, memory, admin=admin)
    from holdfast.running import run_stdio  # noqa: PLC0415 - brings the framework, after it was made quiet

    _collect_from_here()
    heard = opening.finish() if opening else Heard()
    try:
        anyio.run(_until_signal, lambda: run_stdio(server, heard), memory)
    except* BrokenPipeError:  # a client that no longer listens has ended its server
        structlog.get_logger().info("client_gone")


def serve_http(settings: Settings, host: str, port: int, *, admin: bool = False) -> None:
    """Serve streamable HTTP at `/mcp`, and with authentication at `/admin/mcp`, until a signal comes.

    Raises:
        SettingsError: the address is not this machine's own, and there is no authentication to guard it.
    """
    if not _is_loopback(host) and not settings.authenticates:
        raise SettingsError(
            "Without authentication only this machine is served.",
            "Use --host 127.0.0.1, localhost or ::1, or set HOLDFAST_AUTH_TOKENS or HOLDFAST_AUTH_JWKS_URL.",
        )
    if admin:
        reason = "over HTTP it is there for tokens with the scope memory:admin, and for nobody without tokens"
        structlog.get_logger().warning("admin_not_served", reason=reason)
    with _listen(host, port) as listener:
        memory: Memories = build_tenants(settings) if settings.tenancy == "user" else build_memory(settings)
        servers = build_servers(settings, memory, http=True)
        from holdfast.http.server import Web  # noqa: PLC0415 - a stdio server does not need it

        web = Web(settings, servers, host)
        _collect_from_here()
        if sys.stderr.isatty():
            shown = f"[{host}]" if ":" in host else host
            sys.stderr.write(f"Serving MCP at http://{shown}:{listener.getsockname()[1]}/mcp; Ctrl-C ends it.\n")
        anyio.run(_until_signal, lambda: web.serve(listener), memory, web.ended)


def _collect_from_here() -> None:
    """Look for garbage from now on, and no more through what was made until now: it stays as long as the process."""
    gc.freeze()
    gc.enable()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=256)
    except OverflowError as error:
        raise SettingsError(f"{port} is no port.", "Choose one from 1 to 65535 with --port.") from error
    except OSError as error:
        raise SettingsError(
            f"Port {port} on {host} cannot be listened on: {str(error.strerror).partition(' (')[0]}.",
            "Another server may have it: choose one with --port.",
        ) from error
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # handed on to every connection
    return listener


async def _nothing() -> None:
    """What is under way over stdio ends with the memory."""


async def _until_signal(
    serve: Callable[[], Awaitable[None]], memory: Memories, ended: Callable[[], Awaitable[None]] = _nothing
) -> None:
    """Run a transport; a signal lets what is under way end, closes the memory and ends the process.

    The transport's reader may sit in a read that nothing can interrupt, so the process does not wait for it.
    """
    if not HEARS_SIGNALS:
        async with memory.running():
            await serve()
        return
    async with anyio.create_task_group() as tasks:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:

            async def stop_on_signal() -> None:
                async for _ in signals:
                    threading.Timer(STOP_SECONDS, os._exit, [0]).start()
                    await ended()
                    await memory.stop()
                    os._exit(0)

            tasks.start_soon(stop_on_signal)
            async with memory.running():
                await serve()
            tasks.cancel_scope.cancel()


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
