"""Servers in processes of their own, over a pipe or a port, as a client meets them."""

from __future__ import annotations

import json
import os
import re
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import forked
import served
from served import ERAS

ROOT = Path(__file__).parents[2]
HOLDFAST = (sys.executable, "-m", "holdfast")
Begin = Callable[..., subprocess.Popen[Any]]
PATIENCE = 60.0  # for a slow machine; nothing here waits for time to pass
MODERN = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
}
INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def environment_in(home: Path) -> dict[str, str]:
    """The environment of a server whose user lives in `home`, and nothing of what this one's says about Holdfast.

    It keeps compiled code: to compile all of it anew is a quarter of a start. What it writes is buffered, as users have
    it.
    """
    foreign = ("HOLDFAST_", "FASTMCP_", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")
    own = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return own | {
        "PYTHONPATH": str(ROOT / "server"),
        "HOME": str(home),
        "HOLDFAST_HOME": str(home / "memory"),
        "HOLDFAST_SPACE": "harbour",
        "HOLDFAST_ENCODER": "none",
        **stored_at(home / "memory"),
    }


def most_memory(pid: int) -> int:
    """The most that a process has ever held, in bytes; 0 where a system does not tell."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return 0
    (line,) = (line for line in status.read_text("ascii").splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) << 10


def stored_at(home: Path) -> dict[str, str]:
    """What servers are told of where notes are kept, if not in the folder."""
    del home
    return {}


class Stdio:
    """A server on two pipes, spoken to in lines; everything that it says on stdout must be JSON-RPC."""

    def __init__(
        self, environment: dict[str, str], era: str, command: Sequence[str] = HOLDFAST, begin: Begin = forked.begin
    ) -> None:
        self.era = era
        self._errors = Path(environment["HOME"]) / "stderr"
        with self._errors.open("ab") as errors:
            self.process = begin(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=environment)
        self._last = 0

    def begin(self) -> dict[str, Any]:
        """What a client asks first."""
        if self.era != "legacy":
            return self.ask("server/discover")
        answer = self.ask("initialize", **INITIALIZE)
        self.write(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        return answer

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        asked = self.send(method, **parameters)
        answer = self.read()
        assert answer["id"] == asked
        assert "error" not in answer, answer
        return dict(answer["result"])

    def tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        return self.ask("tools/call", name=name, arguments=arguments)

    def remember(self, content: str) -> str:
        """A note's id."""
        return str(self.tool("remember", content=content)["structuredContent"]["id"])

    def contents(self, query: str) -> list[str]:
        return [hit["content"] for hit in self.tool("recall", query=query)["structuredContent"]["results"]]

    def send(self, method: str, **parameters: Any) -> int:
        self._last += 1
        extra = {} if self.era == "legacy" else MODERN
        self.write(json.dumps({"jsonrpc": "2.0", "id": self._last, "method": method, "params": parameters | extra}))
        return self._last

    def write(self, line: str | bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n" if isinstance(line, str) else line + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        """The next line."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the server has ended: {self.stderr}"
        return self._message(line)

    def end(self) -> tuple[int, list[dict[str, Any]]]:
        """Close its input; the exit code, and what it still said."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.ended()

    def ended(self) -> tuple[int, list[dict[str, Any]]]:
        assert self.process.stdout is not None
        rest = [self._message(line) for line in self.process.stdout]
        return self.process.wait(PATIENCE), rest

    @property
    def stderr(self) -> str:
        return self._errors.read_text("utf-8")

    @staticmethod
    def _message(line: bytes) -> dict[str, Any]:
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return dict(message)


@contextmanager
def stdio(
    environment: dict[str, str], era: str = ERAS[0], command: Sequence[str] = HOLDFAST, begin: Begin = forked.begin
) -> Iterator[Stdio]:
    server = Stdio(environment, era, command, begin)
    try:
        yield server
        assert "Traceback" not in server.stderr
        assert "early_answer_differs" not in server.stderr
    finally:
        server.process.kill()
        server.process.wait()
        for pipe in (server.process.stdin, server.process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()


def until(condition: Callable[[], bool]) -> None:
    """Look again and again, with a limit that only a failure reaches."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def notes_in(environment: dict[str, str]) -> str:
    """The text of all notes, as the storage has them."""
    home = Path(environment["HOLDFAST_HOME"])
    rows = [data.decode() for place, data in served.beside(home).items() if place.startswith("notes/")]
    return "\n".join([*rows, *(path.read_text("utf-8") for path in home.glob("memories/**/*.md"))])


def take_back_building(index: Path) -> None:
    """Make an index one whose building was begun and has found no note yet."""
    with closing(sqlite3.connect(index, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("DELETE FROM meta WHERE key = 'built'")
        for table in ("texts", "links", "files", "notes"):
            connection.execute(f"DELETE FROM {table}")  # noqa: S608 - own names
        connection.execute("COMMIT")


@contextmanager
def own_port() -> Iterator[int]:
    """A port that nobody else is given while the block lasts: a socket that does not listen keeps it."""
    with socket.socket() as kept:
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as whoever listens there does
        kept.bind(("127.0.0.1", 0))
        port = int(kept.getsockname()[1])
        if sys.platform != "linux":  # elsewhere nobody could listen beside it
            kept.close()
        yield port


@contextmanager
def http(
    environment: dict[str, str], *arguments: str, command: Sequence[str] = HOLDFAST
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A server over HTTP that answers."""
    with own_port() as port, _listening(environment, [*command, "--http", *arguments], port) as server:
        yield server, port


@contextmanager
def _listening(environment: dict[str, str], command: Sequence[str], port: int) -> Iterator[subprocess.Popen[bytes]]:
    errors = Path(environment["HOME"]) / "stderr"
    with errors.open("ab") as sink:
        server = forked.begin(
            [*command, "--port", str(port)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=sink, env=environment,
        )  # fmt: skip
    assert server.stdout is not None
    try:
        until(lambda: listens(port, server))
        _await_health(port)  # it listens before it can answer, and clients have their own ideas of how long they wait
        yield server
        assert not re.findall(r"Traceback|tenant_failed.*", errors.read_text("utf-8"))
    finally:
        server.kill()
        assert server.stdout.read() == b""
        server.stdout.close()
        server.wait()


def _await_health(port: int) -> None:
    with closing(HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as connection:
        connection.request("GET", "/health", headers={"Connection": "close"})
        assert connection.getresponse().read() == b"ok\n"


def listens(port: int, server: subprocess.Popen[bytes]) -> bool:
    assert server.poll() is None
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
