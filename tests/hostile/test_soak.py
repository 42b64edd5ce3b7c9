"""Hours of use in minutes: what a server holds stays flat, an idle one does nothing, and none outlives its client.

An active agent makes perhaps one call every two seconds: 1,800 calls stand for an hour.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from conftest import Effort
from fuzzing import rss, seconds_used
from holdfast.store.folder import is_laid_aside
from holdfast.store.locks import STRIPES
from processes import HOLDFAST, INITIALIZE, MODERN, PATIENCE, Stdio, http, stdio, until
from served import ERAS

pytestmark = [
    pytest.mark.whole_start("what a server comes to hold is counted from nothing"),
    pytest.mark.timeout(300),
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"),
]

CALLS_PER_HOUR = 1800
LOOKS = 6  # while it is soaked
WINDOWS = 8  # in which it may come to rest

# The second half may take what it stores, a few KB each for text, index pages and what is known of files, and what
# allocators and SQLite's page caches (16 MiB for each of a few connections) have not taken before.
GROWTH = 40 * 1024 * 1024
GROWTH_PER_NOTE = 8 * 1024
MOST_WAL = 16 * 1024 * 1024  # SQLite's own checkpoints keep it near 4 MiB; a reader may hold one up
MOST_JOURNAL_PER_CHANGE = 2500


@dataclass(frozen=True, slots=True)
class Look:
    """What a process holds at one moment."""

    memory: int
    handles: int  # less those of locks, which are opened when they are first needed and are as many as there are
    threads: int
    wal: int
    journal: int
    changes: int
    notes: int


Call = Callable[..., dict[str, Any]]


class Agent:
    """Calls as an agent makes them: mostly questions, then notes, corrections, looks; and a person who edits."""

    def __init__(self, call: Call, home: Path, seed: str) -> None:
        self._call = call
        self._home = home
        self._rng = random.Random(seed)  # noqa: S311 - the same again
        self.ids: list[str] = []
        self.changes = 0
        self._edited = 0

    def step(self) -> None:
        chance = self._rng.random()
        if not self.ids or chance < 0.2:
            self._remember()
        elif chance < 0.23:
            self._remember(supersedes=[self._any()])
        elif chance < 0.26:
            self._call("mark_outdated", node_id=self._any(), reason="No longer true.")
            self.changes += 1
        elif chance < 0.4:
            assert self._call("recall_node", node_id=self._any())["id"]
        elif chance < 0.42:
            self._edit()
        else:
            self._call("recall", query=self._words(5), limit=self._rng.randint(1, 20))

    def _remember(self, **more: Any) -> None:
        self.changes += 1
        kept = self._call(
            "remember", content=f"Note {self.changes} of {self._words(20)}.", tags=[self._words(1)],
            session=f"day {self.changes // 50}", **more,
        )  # fmt: skip
        self.ids.append(kept["id"])

    def _edit(self) -> None:
        """A person saves a note of their own, an old one or a new one."""
        self._edited += self._rng.random() < 0.2
        path = self._home / "memories" / "harbour" / f"by-hand-{self._edited}.md"
        path.write_text(f"# By hand {self._edited}\n\n{self._words(30)}\n", "utf-8")

    def _any(self) -> str:
        return self._rng.choice(self.ids)

    def _words(self, count: int) -> str:
        words = ("crane", "quay", "lamp", "rope", "pump", "tide", "buoy", "anchor", "harbour", "Anna", "tea", "signal")
        return " ".join(f"{self._rng.choice(words)}{self._rng.randrange(40)}" for _ in range(count))


LOCKS = {"journal", "folder", "jobs", "vault", "encode", *(f"{number:02x}" for number in range(STRIPES))}


def handles_of(process: int) -> int:
    held: list[str] = []
    for link in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):
            held.append(str(link.readlink()))
    locks = [path for path in held if Path(path).parent.name == "locks"]
    assert len(locks) == len(set(locks)), locks
    assert {Path(path).name for path in locks} <= LOCKS
    return len(held) - len(locks)


def look(process: int, home: Path, agent: Agent) -> Look:
    return Look(
        memory=rss(process),
        handles=handles_of(process),
        threads=len(list(Path(f"/proc/{process}/task").iterdir())),
        wal=max((path.stat().st_size for path in (home / ".holdfast").glob("*-wal")), default=0),
        journal=sum(path.stat().st_size for path in (home / "journal").iterdir()),
        changes=agent.changes,
        notes=len(agent.ids),
    )


def soak(process: int, home: Path, agent: Agent, calls: int) -> list[Look]:
    looks = []
    for number in range(1, calls + 1):
        agent.step()
        if number % (calls // LOOKS) == 0:
            come_to_rest(process, home, looks)
            looks.append(look(process, home, agent))
    return looks


def come_to_rest(process: int, home: Path, looks: list[Look]) -> None:
    """Wait for what is opened behind the first answers, and then for what is open for a moment, as for a backup."""
    until((home / ".holdfast" / "recalls.db").exists)
    if looks:
        until(lambda: handles_of(process) <= looks[0].handles + 4)


def judge(looks: list[Look]) -> None:
    """The first third is the warm-up; what is held then is what is held at the end."""
    warm, end = looks[LOOKS // 3 - 1], looks[-1]
    assert end.memory - warm.memory < GROWTH + GROWTH_PER_NOTE * (end.notes - warm.notes), looks
    assert max(item.handles for item in looks) <= warm.handles + 4, looks
    assert max(item.threads for item in looks) <= warm.threads + 4, looks
    assert max(item.wal for item in looks) < MOST_WAL, looks
    assert end.journal - warm.journal < MOST_JOURNAL_PER_CHANGE * (end.changes - warm.changes), looks
    early, late = per_change(looks[0], warm), per_change(warm, end)
    assert late < early * 1.5, looks


def per_change(one: Look, two: Look) -> float:
    return (two.journal - one.journal) / (two.changes - one.changes)


def assert_idle(process: int, seconds: float) -> None:
    """After its work is done, a server uses less than two percent of a processor, once what is put off is done too."""
    shares: list[float] = []
    while not shares or (shares[-1] >= 0.02 and len(shares) < WINDOWS):
        before = seconds_used(process)
        time.sleep(seconds)
        shares.append((seconds_used(process) - before) / seconds)
    assert shares[-1] < 0.02, shares


def assert_clean(home: Path) -> None:
    assert [path for path in home.rglob("*") if is_laid_aside(path.name) or path.suffix == ".tmp"] == []


def until_backed_up(home: Path) -> None:
    """Wait for the day's one backup: what a server that stops in the middle has laid aside, the next one takes away."""
    vault = home / "vault"
    until(lambda: any(vault.glob("*.json")) and not any(vault.glob(".*.tmp")))


def over_stdio(server: Stdio) -> Call:
    def call(name: str, **given: Any) -> dict[str, Any]:
        answer = server.tool(name, **given)
        assert not answer["isError"], answer
        return dict(answer["structuredContent"])

    return call


@pytest.mark.parametrize(("era", "share"), [(ERAS[0], 6), (ERAS[1], 6)])
def test_hours_of_calls_over_a_pipe_leave_the_server_as_it_was(
    environment: dict[str, str], effort: Effort, tally: Counter[str], era: str, share: int
) -> None:
    calls = effort.of(CALLS_PER_HOUR, 10 * CALLS_PER_HOUR) * share // 20
    home = Path(environment["HOLDFAST_HOME"])
    with stdio(environment, era) as server:
        server.begin()
        agent = Agent(over_stdio(server), home, f"soak {era}")
        judge(soak(server.process.pid, home, agent, calls))
        until_backed_up(home)
        assert_idle(server.process.pid, effort.of(2, 10))
        assert server.end()[0] == 0
    assert_clean(home)
    count(tally, calls)


def count(tally: Counter[str], calls: int) -> None:
    tally["calls soaked"] += calls
    tally["hours compressed"] = tally["calls soaked"] // CALLS_PER_HOUR


def test_an_encoder_keeps_no_more_with_each_call(environment: dict[str, str], effort: Effort) -> None:
    home = Path(environment["HOLDFAST_HOME"])
    with stdio(environment | {"HOLDFAST_ENCODER": "builtin"}) as server:
        server.begin()
        call = over_stdio(server)
        agent = Agent(call, home, "soak builtin")
        read_two_together(call)
        judge(soak(server.process.pid, home, agent, effort.of(60, 1200)))
        assert_idle(server.process.pid, effort.of(2, 10))
        assert server.end()[0] == 0


def read_two_together(call: Call) -> None:
    """Have what reads two notes together loaded: that is done once, at the first note that is near another."""
    for price in ("forty", "fifty"):
        kept = call("remember", content=f"The wharf pass costs {price} euros a month.")
        assert kept["indexed"]["vector"], kept
    assert kept["similar"], kept


# --- HTTP -----------------------------------------------------------------------------------------

_FIXED = {"Accept": "application/json, text/event-stream"}


class Client:
    """A sound client over HTTP, and a crowd of those that come and are gone."""

    def __init__(self, client: httpx.Client, port: int) -> None:
        self._client = client
        self._port = port
        self._last = 0

    def tool(self, name: str, **given: Any) -> dict[str, Any]:
        self._last += 1
        headers = {**_FIXED, "MCP-Protocol-Version": ERAS[1], "Mcp-Method": "tools/call", "Mcp-Name": name}
        result = self._post(headers, "tools/call", {"name": name, "arguments": given} | MODERN)["result"]
        assert not result["isError"], result
        return dict(result["structuredContent"])

    def leave_a_session_open(self) -> None:
        """Begin one in the older way, and never come back."""
        assert self._post(_FIXED, "initialize", INITIALIZE)["result"]["serverInfo"]["name"] == "holdfast"

    def vanish(self, rng: random.Random) -> None:
        """Be gone in the middle of a request, before its answer, or while listening."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}).encode()
        method, head = ("GET", b"") if rng.random() < 0.3 else ("POST", b"Content-Type: application/json\r\n")
        with socket.create_connection(("127.0.0.1", self._port), PATIENCE) as connection:
            request = f"{method} /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: {_FIXED['Accept']}\r\n".encode()
            request += head + f"Content-Length: {len(body) if head else 0}\r\n\r\n".encode() + body
            connection.sendall(request[: rng.randint(1, len(request))])
            if rng.random() < 0.5:  # as a process that is killed: the other side gets a reset
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def _post(self, headers: dict[str, str], method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": self._last, "method": method, "params": parameters}
        answer = self._client.post(f"http://127.0.0.1:{self._port}/mcp", json=message, headers=headers)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())


def test_hours_of_calls_over_http_and_clients_that_vanish_leave_the_server_as_it_was(
    environment: dict[str, str], effort: Effort, tally: Counter[str]
) -> None:
    calls = effort.of(CALLS_PER_HOUR, 20 * CALLS_PER_HOUR) * 4 // 20
    home = Path(environment["HOLDFAST_HOME"])
    rng = random.Random("those that vanish")  # noqa: S311 - the same again
    with http(environment) as (process, port), httpx.Client(trust_env=False, timeout=PATIENCE) as connection:
        client = Client(connection, port)
        agent = Agent(client.tool, home, "soak http")
        looks = []
        for number in range(1, calls + 1):
            agent.step()
            if number % 10 == 0:
                client.vanish(rng)
            if number % 20 == 0:
                client.leave_a_session_open()
            if number % (calls // LOOKS) == 0:
                come_to_rest(process.pid, home, looks)
                looks.append(look(process.pid, home, agent))
        judge(looks)
        until_backed_up(home)
        assert_idle(process.pid, effort.of(2, 10))
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    assert_clean(home)
    count(tally, calls)


# --- the end --------------------------------------------------------------------------------------

PARENT = """
import subprocess, sys, time
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
print(child.pid, flush=True)
for line in sys.stdin:
    child.stdin.write(line.encode())
    child.stdin.flush()
    print(child.stdout.readline().decode(), end="", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "with calls under way"])
def test_a_server_whose_parent_is_killed_ends(environment: dict[str, str], busy: bool) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, *HOLDFAST], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        try:
            for method, parameters in (
                ("server/discover", {}),
                ("tools/call", {"name": "recall", "arguments": {"query": "crane"}}),
            ):
                message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters | MODERN}
                parent.stdin.write(json.dumps(message).encode() + b"\n")
                parent.stdin.flush()
                assert b'"result"' in parent.stdout.readline()
            if busy:
                given = {"name": "remember", "arguments": {"content": "The crane."}} | MODERN
                for number in range(30):
                    message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": given}
                    parent.stdin.write(json.dumps(message).encode() + b"\n")
                parent.stdin.flush()
            parent.kill()
            until(lambda: has_ended(child))
        finally:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            parent.kill()


def request(tool: str, **given: Any) -> bytes:
    parameters = {"name": tool, "arguments": given} | MODERN
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters}).encode() + b"\n"


def has_ended(process: int) -> bool:
    """Gone, or only waiting for somebody to ask how it ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.parametrize("era", ERAS)
def test_a_server_whose_input_is_closed_ends_at_once_after_much_work(environment: dict[str, str], era: str) -> None:
    with stdio(environment, era) as server:
        server.begin()
        for number in range(40):
            server.tool("remember", content=f"Crane {number}.")
        closed = time.monotonic()
        assert server.end() == (0, [])
        assert time.monotonic() - closed < PATIENCE / 3


def test_an_idle_server_with_thousands_of_files_does_nothing(environment: dict[str, str], effort: Effort) -> None:
    folder = Path(environment["HOLDFAST_HOME"]) / "memories" / "harbour"
    folder.mkdir(parents=True)
    for number in range(effort.of(1000, 10_000)):
        text = f'---\nid: "mem_{number:016d}"\ncreated: "2026-11-20T10:15:00Z"\n---\nCrane {number}.\n'
        (folder / f"{number}.md").write_text(text)
    with stdio(environment) as server:
        server.begin()
        assert server.tool("recall", query="crane 7")["structuredContent"]["results"]
        assert_idle(server.process.pid, effort.of(3, 10))
