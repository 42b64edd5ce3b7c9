"""A server process over HTTP, to be measured from outside: calls to it, and what it holds."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

PATIENCE = 120.0
MODERN = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
}
HEADERS = {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
}


@dataclass(frozen=True, slots=True)
class Held:
    """What a process holds: memory in MiB, open files, threads."""

    memory: float
    files: int
    threads: int


@dataclass(frozen=True, slots=True)
class Served:
    """A server that listens."""

    url: str
    process: int

    def held(self) -> Held:
        """From /proc, so on Linux alone."""
        status = Path(f"/proc/{self.process}/status").read_text().splitlines()
        fields = {name: value for name, _, value in (line.partition(":") for line in status)}
        files = len(list(Path(f"/proc/{self.process}/fd").iterdir()))
        return Held(int(fields["VmRSS"].split()[0]) / 1024, files, int(fields["Threads"]))


@contextmanager
def served(home: Path, environment: Mapping[str, str]) -> Iterator[Served]:
    """Serve a folder until the block ends."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = int(probe.getsockname()[1])
    own = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    given = own | {"HOLDFAST_HOME": str(home), "HOLDFAST_VAULT_ENABLED": "no"} | environment
    command = [sys.executable, "-m", "holdfast", "--http", "--port", str(port)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, env=given) as server:
        try:
            _until_it_listens(port)
            yield Served(f"http://127.0.0.1:{port}/mcp", server.pid)
        finally:
            server.terminate()


def _until_it_listens(port: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError("the server does not listen")


async def call(client: httpx.AsyncClient, url: str, tool: str, token: str = "", **arguments: Any) -> dict[str, Any]:
    """A tool's structured answer.

    Raises:
        RuntimeError: the call failed.
    """
    headers = HEADERS | {"Mcp-Name": tool} | ({"Authorization": f"Bearer {token}"} if token else {})
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    message["params"] |= MODERN  # type: ignore[operator] # it is a dict, one line above
    answer = await client.post(url, json=message, headers=headers)
    if answer.status_code != httpx.codes.OK or answer.json().get("result", {}).get("isError", True):
        raise RuntimeError(f"{answer.status_code}: {answer.text[:200]}")
    return dict(answer.json()["result"]["structuredContent"])


def share(times: Sequence[float], of: float) -> float:
    """The time in milliseconds that this share of `times` (seconds) stays within."""
    return sorted(times)[min(len(times) - 1, int(of * len(times)))] * 1000
