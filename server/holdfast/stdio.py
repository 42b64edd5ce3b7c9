"""Serving over stdin and stdout: what was heard before the framework was there, and a client that changes the era.

The framework decides by the first request which era of the protocol a connection speaks, for good. A client that asked
in the newer way, gave up waiting and shakes hands in the older way must be served all the same: the connection then
begins anew with the handshake.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, cast

import anyio
import structlog
from fastmcp import FastMCP
from fastmcp.server.context import reset_transport, set_transport
from mcp.server.stdio import stdio_server

from holdfast.early import Heard, write_whole

_HALF_A_PAIR: Final = re.compile(r"\\u[dD](?:[89abAB]..(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..\\u[dD])[c-fC-F]..)")
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
        line = _well_formed(line)
        if self._probes is not False and (probes := _probes(line)) is not None:
            self._probes = probes
        return line


def _well_formed(line: str) -> str:
    """The same request with U+FFFD for each half of a surrogate pair: the framework would drop it and never answer."""
    if not _HALF_A_PAIR.search(line) or (message := _parsed(line)) is None:
        return line
    written = json.dumps(message, ensure_ascii=False)
    return written.encode("utf-16", "surrogatepass").decode("utf-16", "replace") + "\n"


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
        await anyio.to_thread.run_sync(write_whole, self._sink, text.encode())

    async def flush(self) -> None:
        """Nothing waits here."""

    def _was_given(self, text: str) -> bool:
        found = _ANSWER.match(text)
        given = self._answered.pop(json.loads(found[1]), None) if found else None
        if given is not None and given != text:
            log.warning("early_answer_differs", reason="remake early.json: see docs/development.md")
        return given is not None
