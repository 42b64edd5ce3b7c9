"""Thousands of wrong lines, bodies and arguments, made from right ones, for a server that must stay as it is.

Whatever comes, the next sound request is answered without five seconds of computing, nothing but protocol comes out,
and what a tool says is an answer of its shape or an error with a name.
"""

from __future__ import annotations

import json
import random
import socket
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import httpx
import jsonschema
import pytest

from conftest import Effort
from fuzzing import (
    Growth,
    arguments,
    beginning_lost,
    cases,
    cut_short,
    harmed,
    overwritten,
    pages_lost,
    removed,
    sendable,
    spoil,
    text,
    watched,
    wire,
)
from processes import MODERN, PATIENCE, Stdio, http
from served import ERAS, SELF, Agent, assert_named, serving

pytestmark = pytest.mark.timeout(300)

TOGETHER = 5  # wrong lines between two sound requests


# --- lines on a pipe ------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
def test_whatever_line_comes_the_next_request_is_answered(
    environment: dict[str, str], effort: Effort, tally: Counter[str], era: str
) -> None:
    rounds = effort.of(60, 900)
    with watched(environment, era) as server:
        server.begin()
        ids = [server.remember(content) for content in ("The crane lifts forty tonnes.", "Seven lamps.")]
        growth = Growth(server.process.pid)
        with cases("JSON-RPC", tally) as case:
            for number in range(rounds):
                for place in range(TOGETHER):
                    with case(ERAS.index(era) * 10**6 + number * TOGETHER + place) as rng:
                        line = wire(rng, [*ids, SELF], {} if era == "legacy" else MODERN)
                        server.write(line.replace(b"\n", b" "))
                asked(server, f"sound-{number}")
                if number == rounds // 3:
                    growth = Growth(server.process.pid)
        growth.judge()
        assert server.end()[0] == 0


def asked(server: Stdio, name: str) -> None:
    """A sound request, whose answer may come after those to what came before."""
    parameters = {"name": "recall", "arguments": {"query": "crane", "include_outdated": True}}
    extra = {} if server.era == "legacy" else MODERN
    server.write(json.dumps({"jsonrpc": "2.0", "id": name, "method": "tools/call", "params": parameters | extra}))
    while (answer := server.read()).get("id") != name:
        pass
    assert answer["result"]["structuredContent"]["results"]


# --- the index of a running server ----------------------------------------------------------------

HARMS = (overwritten, cut_short, pages_lost, beginning_lost, removed)


def test_an_index_that_is_harmed_under_a_running_server_is_made_anew(
    environment: dict[str, str], effort: Effort, tally: Counter[str]
) -> None:
    """All of it but the `-shm` file: SQLite maps that into memory, and whoever cuts it short ends the process."""
    derived = Path(environment["HOLDFAST_HOME"]) / ".holdfast"
    with watched(environment, ERAS[0]) as server:
        server.begin()
        kept = {server.remember(f"The crane {number} lifts."): f"The crane {number} lifts." for number in range(9)}
        with cases("index", tally) as case:
            for number in range(effort.of(40, 600)):
                with case(3 * 10**6 + number) as rng:
                    spoil(rng, derived, HARMS, ("index.db", "index.db-wal"))
                    given = {"node_id": rng.choice(list(kept))}
                    answers = [server.tool("recall_node", **given) for _ in range(3)]
                    said = [answer["structuredContent"]["content"] for answer in answers if not answer["isError"]]
                    assert said, answers
                    assert set(said) == {kept[given["node_id"]]}
                    stored_too = server.tool("remember", content=f"Lamp {number}.")
                    assert not stored_too["isError"], stored_too
        assert server.end()[0] == 0


# --- HTTP -----------------------------------------------------------------------------------------

_HEADERS = (
    ("Content-Type", ("application/json", "text/plain", "", "application/json; charset=utf-16", "multipart/form-data")),
    ("Accept", ("application/json, text/event-stream", "*/*", "", "text/html", "application/json;q=0", "x" * 5000)),
    ("MCP-Protocol-Version", ("2025-06-18", "2026-07-28", "1999-01-01", "", "\u00ff", "x" * 3000)),
    ("Mcp-Session-Id", ("", "x", "\u00e9", "0" * 32, "../../x", "y" * 9000)),
    ("Mcp-Method", ("tools/call", "initialize", "", "x")),
    ("Mcp-Name", ("recall", "remember", "", "x")),
    ("Content-Length", ("0", "-1", "5", "99999999999", "x", "1, 2")),
    ("Transfer-Encoding", ("chunked", "gzip", "chunked, chunked")),
    ("Host", ("evil.example", "", "127.0.0.1", "[::1]", "127.0.0.1:1:2", "\u00ff")),
    ("Origin", ("null", "https://evil.example", "", "file://")),
    ("Expect", ("100-continue",)),
    ("Connection", ("close", "keep-alive", "Upgrade")),
    ("Upgrade", ("websocket", "h2c")),
    ("Last-Event-ID", ("1", "", "x" * 500)),
    ("Authorization", ("Bearer x", "Basic \u00ff")),
)  # fmt: skip


def http_request(rng: random.Random, port: int, ids: list[str]) -> bytes:
    """The bytes of an HTTP request: sound in most parts."""
    body = wire(rng, ids, MODERN if rng.random() < 0.5 else {})
    headers = {
        "Host": f"127.0.0.1:{port}", "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json", "Content-Length": str(len(body)), "Connection": "close",
    }  # fmt: skip
    for name, values in rng.sample(_HEADERS, rng.choice((0, 0, 1, 2, 3))):
        headers[name] = rng.choice(values)
    method = "POST" if rng.random() < 0.8 else rng.choice(("GET", "DELETE", "PUT", "HEAD", "OPTIONS", "PATCH", "X", ""))
    path = "/mcp" if rng.random() < 0.85 else rng.choice(("/", "/mcp/", "/admin/mcp", "//", "/%00", "/mcp?x=%ff", "*"))
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    data = "\r\n".join(lines).encode("latin-1") + body
    return harmed(rng, data) if rng.random() < 0.1 else data


def send(port: int, data: bytes) -> None:
    """Send it, and read until the server has said something, or hung up; a request that is not whole gets nothing."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            connection.recv(65536)
        except OSError as error:
            if isinstance(error, TimeoutError):
                raise


def test_whatever_body_and_headers_come_the_next_request_is_answered(
    environment: dict[str, str], effort: Effort, tally: Counter[str]
) -> None:
    rounds = effort.of(40, 600)
    with http(environment) as (process, port), httpx.Client(trust_env=False, timeout=PATIENCE) as client:
        sound = Sound(client, port)
        ids = [sound.tool("remember", content=content)["id"] for content in ("The crane lifts.", "Seven lamps.")]
        growth = Growth(process.pid)
        with cases("JSON-RPC", tally) as case:
            for number in range(rounds):
                for place in range(TOGETHER):
                    with case(2 * 10**6 + number * TOGETHER + place) as rng:
                        send(port, http_request(rng, port, ids))
                assert sound.tool("recall", query="crane", include_outdated=True)["results"]
                if number == rounds // 3:
                    growth = Growth(process.pid)
        growth.judge()


class Sound:
    """A client that asks as it should, in a session of its own."""

    def __init__(self, client: httpx.Client, port: int) -> None:
        self._client = client
        self._address = f"http://127.0.0.1:{port}/mcp"
        self._last = 0

    def tool(self, name: str, **given: Any) -> dict[str, Any]:
        self._last += 1
        parameters = {"name": name, "arguments": given} | MODERN
        answer = self._client.post(
            self._address,
            json={"jsonrpc": "2.0", "id": self._last, "method": "tools/call", "params": parameters},
            headers={
                "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": ERAS[1],
                "Mcp-Method": "tools/call", "Mcp-Name": name,
            },
        )  # fmt: skip
        return dict(answer.json()["result"]["structuredContent"])


# --- arguments ------------------------------------------------------------------------------------

CALLS = 250  # of one memory
CONTENTS = ("The crane lifts forty tonnes.", "Seven lamps.", "Anna prefers tea.")


@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
async def test_whatever_a_tool_is_given_it_answers_in_its_shape_or_with_a_named_error(
    effort: Effort, tally: Counter[str], tmp_path: Path, anyio_backend: str, era: str
) -> None:
    growth = Growth()
    with cases("arguments", tally) as case:
        memories = effort.of(1, 30)
        for memory in range(memories):
            async with serving(tmp_path / f"home{memory}", era) as agent:
                stored = [await agent.remember(content, session="s", subject="Anna") for content in CONTENTS]
                belief = await agent.omi("memory_store", content="Tides help.", memory_type="belief")
                ids = [SELF, belief["memory_id"], *(answer["id"] for answer in stored)]
                for number in range(CALLS):
                    with case((ERAS.index(era) * 10**4 + memory) * CALLS + number) as rng:
                        await judged(agent, *arguments(rng, ids))
                assert (await agent.node(SELF))["id"] == SELF
                answer = await agent.recall("crane", include_outdated=True)
                assert not any("Quarantined" in notice for notice in answer["notices"])
            if memory == memories // 5:
                growth = Growth()
    growth.judge()


async def judged(agent: Agent, tool: str, given: dict[str, Any]) -> None:
    with anyio.fail_after(PATIENCE):
        result = await agent.client.call_tool_mcp(tool, sendable(given))
    told = "\n".join(block.text for block in result.content)
    if result.is_error:
        assert_named(told)
    else:
        jsonschema.Draft202012Validator(agent.schemas[tool]).validate(result.structured_content)


@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
async def test_whatever_tool_is_named_there_is_an_answer(
    effort: Effort, tally: Counter[str], tmp_path: Path, anyio_backend: str, era: str
) -> None:
    async with serving(tmp_path, era) as agent:
        with cases("arguments", tally) as case:
            for number in range(effort.of(30, 200)):
                with case((2 + ERAS.index(era)) * 10**7 + number) as rng, anyio.fail_after(PATIENCE):
                    with suppress(Exception):
                        await agent.client.call_tool_mcp(text(rng).encode("utf-8", "ignore").decode(), {})
                    assert (await agent.node(SELF)) if number else await agent.remember("The crane.")
