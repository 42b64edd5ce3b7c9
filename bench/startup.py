"""How long a client waits: from starting the process to the answer of `tools/list`, beside `import fastmcp` alone.

    python bench/startup.py [--runs N]

Both are taken in turn, so that a machine that changes its speed changes both. Prints medians, their ratio, and the
server's resident memory before and after the encoder is loaded.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

HANDSHAKE: tuple[dict[str, Any], ...] = (
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
)


class Server:
    """A server process spoken to line by line."""

    def __init__(self, home: str) -> None:
        environment = {**os.environ, "HOLDFAST_HOME": home, "HOLDFAST_SPACE": "bench"}
        command = [sys.executable, "-m", "holdfast"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
        )

    def ask(self, *messages: dict[str, Any]) -> dict[str, Any]:
        """Send messages; return the answer to the last."""
        assert self._process.stdin
        assert self._process.stdout
        for message in messages:
            self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        while True:
            answer: dict[str, Any] = json.loads(self._process.stdout.readline())
            if answer.get("id") == messages[-1]["id"]:
                return answer

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        request = {"jsonrpc": "2.0", "id": 3, "method": "tools/call"}
        return self.ask({**request, "params": {"name": tool, "arguments": arguments}})

    def resident_megabytes(self) -> float:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(10)
        assert self._process.stdout
        self._process.stdout.close()


def seconds_to_list(home: str) -> float:
    began = time.perf_counter()
    server = Server(home)
    server.ask(*HANDSHAKE)
    took = time.perf_counter() - began
    server.close()
    return took


def seconds_to_import() -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import fastmcp; fastmcp.FastMCP"], check=True)
    return time.perf_counter() - began


def memory(home: str) -> tuple[float, float]:
    """Resident megabytes after `tools/list`, and after a note was stored with its vector."""
    server = Server(home)
    server.ask(*HANDSHAKE)
    before = server.resident_megabytes()
    server.call("remember", {"content": "The bench was here."})
    after = server.resident_megabytes()
    server.close()
    return before, after


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    with TemporaryDirectory() as home:
        seconds_to_list(home)
        seconds_to_import()  # bytecode is warm now
        pairs = [(seconds_to_list(home), seconds_to_import()) for _ in range(runs)]
        before, after = memory(home)
    listed = statistics.median(pair[0] for pair in pairs)
    imported = statistics.median(pair[1] for pair in pairs)
    ratio = statistics.median(first / second for first, second in pairs)
    print(f"spawn to tools/list   {listed:6.2f} s   median of {runs}")
    print(f"import fastmcp        {imported:6.2f} s   median of {runs}, in turn with it")
    print(f"ratio                 {ratio:6.2f}     median of pairs")
    print(f"RSS before the encoder {before:5.0f} MB")
    print(f"RSS after the encoder  {after:5.0f} MB")


if __name__ == "__main__":
    main()
