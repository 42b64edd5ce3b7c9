"""How long a client waits: from starting the process to the answers of `initialize`, `tools/list` and a first call.

    python bench/startup.py [--runs N] [--lines 500,50000,500000]

With early answers (see `holdfast.early`), without them, and beside `import fastmcp` alone. All are taken in turn, so
that a machine that changes its speed changes all. Prints medians, and the server's resident memory before and after the
encoder is loaded.

Then the first answer of a server whose journal is long: from starting the process to the answer of `recall`, with the
index there and with the index deleted, and the most memory that the process took; each beside the shortest journal.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from holdfast.store.journal import line_of

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
    {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "now_read", "arguments": {}}},
)
ANSWERED = ("initialize", "tools/list", "a first call")
WITHOUT = """
import sys
import holdfast.early
holdfast.early.stored_answers = lambda *_, **__: None
from holdfast.__main__ import main
sys.exit(main())
"""
EARLY, LATE = (sys.executable, "-m", "holdfast"), (sys.executable, "-c", WITHOUT)

RECALL: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 5,
    "method": "tools/call",
    "params": {"name": "recall", "arguments": {"query": "what was noted about the bench"}},
}


class Server:
    """A server process spoken to line by line."""

    def __init__(self, home: str, command: tuple[str, ...] = EARLY, more: Mapping[str, str] | None = None) -> None:
        environment = {**os.environ, "HOLDFAST_HOME": home, "HOLDFAST_SPACE": "bench", **(more or {})}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
        )

    def ask(self, *messages: dict[str, Any]) -> dict[str, Any]:
        """Send messages; return the answer to the last."""
        self.send(*messages)
        while (answer := self.read()).get("id") != messages[-1]["id"]:
            pass
        return answer

    def send(self, *messages: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write("".join(json.dumps(message) + "\n" for message in messages))
        self._process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self._process.stdout
        return dict(json.loads(self._process.stdout.readline()))

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        request = {"jsonrpc": "2.0", "id": 4, "method": "tools/call"}
        return self.ask({**request, "params": {"name": tool, "arguments": arguments}})

    def resident_megabytes(self) -> float:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def most_megabytes(self) -> float:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1024

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(60)
        assert self._process.stdout
        self._process.stdout.close()


def seconds_to_answers(home: str, command: tuple[str, ...]) -> tuple[float, ...]:
    """When each answer came, of requests that were sent at once."""
    began = time.perf_counter()
    server = Server(home, command)
    server.send(*HANDSHAKE)
    took = []
    for _ in ANSWERED:
        server.read()
        took.append(time.perf_counter() - began)
    server.close()
    return tuple(took)


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


def write_journal(home: Path, lines: int) -> None:
    """A journal of so many lines: uses of a note, and changes with their outcomes."""
    folder = home / "journal"
    folder.mkdir(parents=True)
    with (folder / "2026-01.jsonl").open("wb") as file:
        file.writelines(line_of(_record(seq)) for seq in range(1, lines + 1))


def _record(seq: int) -> dict[str, Any]:
    record = {"seq": seq, "at": f"{2000 + seq % 26}-{seq % 12 + 1:02}-{seq % 28 + 1:02}T12:00:00Z", "by": "local"}
    note = f"mem_{seq % 1000:016d}"
    if seq % 2:
        return {**record, "op": "use", "source": "bench", "use": {"note": note}}
    path = f"bench/a note about something.{note}.md"
    file = {"note": note, "path": path, "before": None, "after": f"{seq:064x}", "aside": f"memories/bench/.{seq}.tmp"}
    done = [f"chg_{seq - 2:016d}"] if seq > 2 else []
    return {**record, "op": "remember", "change": f"chg_{seq:016d}", "done": done, "files": [file]}


def first_answer(home: str) -> tuple[float, float]:
    """Seconds until `recall` was answered, and the most megabytes that this took."""
    began = time.perf_counter()
    server = Server(home, more={"HOLDFAST_ENCODER": "none", "HOLDFAST_VAULT_ENABLED": "no"})
    server.ask(*HANDSHAKE[:2], RECALL)
    took = time.perf_counter() - began
    most = server.most_megabytes()
    server.close()
    return took, most


def long_journals(folder: Path, sizes: Sequence[int], runs: int) -> None:
    homes = {lines: str(folder / str(lines)) for lines in sizes}
    for lines, home in homes.items():
        write_journal(Path(home), lines)
    anew = {lines: first_answer(home) for lines, home in homes.items()}
    known: dict[int, list[tuple[float, float]]] = {lines: [] for lines in sizes}
    for _ in range(runs):
        for lines, home in homes.items():
            known[lines].append(first_answer(home))
    shortest = known[sizes[0]]
    print("first answer of recall, by lines of the journal")
    for lines in sizes:
        seconds, most = (statistics.median(values) for values in zip(*known[lines], strict=True))
        against = [first[0] / second[0] for first, second in zip(known[lines], shortest, strict=True)]
        print(
            f"{lines:8,} lines  known {seconds:6.2f} s  {statistics.median(against):5.2f} x  {most:5.0f} MB"
            f"   index deleted {anew[lines][0]:7.2f} s  {anew[lines][1]:5.0f} MB"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--lines", default="500,50000,500000")
    options = parser.parse_args()
    runs, sizes = options.runs, [int(lines) for lines in options.lines.split(",") if lines]
    with TemporaryDirectory() as home:
        seconds_to_answers(home, EARLY)
        seconds_to_import()  # bytecode is warm now
        taken = [
            (seconds_to_answers(home, EARLY), seconds_to_answers(home, LATE), seconds_to_import()) for _ in range(runs)
        ]
        before, after = memory(home)
    for place, name in enumerate(ANSWERED):
        early, late = (statistics.median(run[way][place] for run in taken) for way in (0, 1))
        print(f"spawn to {name:13}{early:6.2f} s   without early answers {late:.2f} s, median of {runs}")
    print(
        f"import fastmcp        {statistics.median(run[2] for run in taken):6.2f} s   median of {runs}, in turn with it"
    )
    print(f"RSS before the encoder {before:5.0f} MB")
    print(f"RSS after the encoder  {after:5.0f} MB")
    with TemporaryDirectory(dir=Path.cwd(), prefix="bench-") as folder:  # on this disk: /tmp may be memory
        long_journals(Path(folder), sizes, runs)


if __name__ == "__main__":
    main()
