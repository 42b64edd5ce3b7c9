"""Running a server until it is told to stop: transports, signals, logs."""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING

import anyio
import structlog

from holdfast.app import build_memory, build_server, build_servers, build_tenants, open_database
from holdfast.early import Heard, Opening
from holdfast.errors import SettingsError
from holdfast.settings import Settings

if TYPE_CHECKING:
    from holdfast.engine.tenants import Memories
    from holdfast.http.metrics import Metrics
    from holdfast.store.rows.database import Database

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
    from holdfast.stdio import run_stdio  # noqa: PLC0415 - brings the framework, after it was made quiet

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
        database = open_database(settings) if settings.store else None
        memory: Memories = (
            build_tenants(settings, database=database)
            if settings.tenancy == "user"
            else build_memory(settings, local=False, database=database)
        )
        metrics = _metrics(settings, memory, database)
        servers = build_servers(settings, memory, http=True, counts=metrics)
        from holdfast.http.server import Web  # noqa: PLC0415 - a stdio server does not need it

        looking = open_database(settings, 1) if settings.store else None  # not of those that requests wait for
        web = Web(settings, servers, host, looking.answers if looking is not None else None, metrics)
        _collect_from_here()
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{listener.getsockname()[1]}/mcp"
        if sys.stderr.isatty():
            sys.stderr.write(f"Serving MCP at {address}; Ctrl-C ends it.\n")
        else:
            structlog.get_logger().warning("serving", address=address)  # whoever started it must know where it is
        anyio.run(
            _until_signal, lambda: web.serve(listener), memory, Leaving(web.ended, web.leave, settings.drain_seconds)
        )


def _metrics(settings: Settings, memory: Memories, database: Database | None) -> Metrics | None:
    """What counts for Prometheus, where somebody may read it.

    Raises:
        SettingsError: its library is not installed.
    """
    if not settings.metrics_token:
        return None
    try:
        from holdfast.http.metrics import Metrics  # noqa: PLC0415 - most servers have none
    except ImportError as error:
        raise SettingsError(
            "HOLDFAST_METRICS_TOKEN needs the library of Prometheus.",
            "Install the clone's requirements-postgres.txt with pip.",
        ) from error
    return Metrics(settings.metrics_token, memory, None if database is None else lambda: database.pool)


def serve_view(settings: Settings, port: int, key: str, *, admin: bool, listening: Callable[[int, str], None]) -> None:
    """Serve the View in a browser of this machine until a signal comes; see `holdfast.viewing`.

    Args:
        settings: all settings.
        port: where, 0 for one that is free.
        key: what the page must bring to be answered.
        admin: the admin namespace is there.
        listening: is told the port and the key as soon as the page can be asked for.
    """
    with _listen("127.0.0.1", port) as listener:
        memory = build_memory(settings)
        server = build_server(settings, memory, admin=admin)
        from holdfast.viewing.site import Site  # noqa: PLC0415 - brings the framework, after it was made quiet

        port = listener.getsockname()[1]
        site = Site(server, key, port)
        _collect_from_here()
        listening(port, key)
        anyio.run(_until_signal, lambda: site.serve(listener), memory, Leaving(site.ended))


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


@dataclass(frozen=True, slots=True)
class Leaving:
    """How a transport ends.

    At a signal `begin` is called, and requests are taken for so many `seconds` more; then `ended` takes no more, and
    returns when those under way are answered.
    """

    ended: Callable[[], Awaitable[None]] = _nothing
    begin: Callable[[], None] = lambda: None
    seconds: int = 0


async def _until_signal(serve: Callable[[], Awaitable[None]], memory: Memories, leaving: Leaving = Leaving()) -> None:
    """Run a transport; a signal lets what is under way end, closes the memory and ends the process.

    The transport's reader may sit in a read that nothing can interrupt, so the process does not wait for it.
    """
    if not HEARS_SIGNALS:
        async with memory.running():
            await serve()
        return
    async with anyio.create_task_group() as tasks:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            heard, hurried = aiter(signals), anyio.Event()

            async def hurry_on_signal() -> None:
                await anext(heard)
                threading.Timer(STOP_SECONDS, os._exit, [0]).start()
                hurried.set()

            async def stop_on_signal() -> None:
                await anext(heard)
                last = leaving.seconds + max(STOP_SECONDS, leaving.seconds)
                threading.Timer(last, os._exit, [0]).start()
                tasks.start_soon(hurry_on_signal)  # who asks twice does not want to wait
                leaving.begin()
                with anyio.move_on_after(leaving.seconds):
                    await hurried.wait()
                await leaving.ended()
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
