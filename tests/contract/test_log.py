"""The log: JSON lines on stderr, one for each request at level info, and nothing in them of what was said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from processes import INITIALIZE, MODERN, PATIENCE, Stdio, http, stdio
from served import ERAS

each_era = pytest.mark.parametrize("era", ERAS)

SAID = "xylophone"  # in every note, query, name and argument below: it must not come back in the log


def lines_of(server: Stdio) -> list[dict[str, Any]]:
    return [json.loads(line) for line in server.stderr.splitlines()]


def requests_of(server: Stdio) -> list[dict[str, Any]]:
    return [line for line in lines_of(server) if line["event"] == "request"]


def talk(server: Stdio) -> None:
    """Requests that succeed, that fail, that nobody understands; each holds the word."""
    server.begin()
    server.ask("tools/list")
    kept = server.tool("remember", content=f"The {SAID} is in the attic.", tags=[SAID], subject=SAID)
    note = kept["structuredContent"]["id"]
    server.tool("recall", query=f"where is the {SAID}?")
    server.tool("memory_recall", query=SAID)
    server.tool("recall_node", node_id=note)
    server.tool("recall_node", node_id=f"mem_{SAID}")
    server.tool("remember", content=SAID, tier=SAID)
    for method, given in (
        ("tools/call", {"name": f"{SAID}_tool", "arguments": {SAID: SAID}}),
        (f"{SAID}/none", {}),
        ("resources/read", {"uri": f"memory://note/{SAID}"}),
        ("resources/read", {"uri": SAID}),
        ("prompts/get", {"name": "session_start", "arguments": {"task": SAID}}),
        ("prompts/get", {"name": SAID}),
        ("tools/call", {"arguments": SAID}),
        ("completion/complete", {"ref": {"type": "ref/resource", "uri": "memory://note/{id}"},
                                 "argument": {"name": "id", "value": SAID}}),
    ):  # fmt: skip
        server.send(method, **given)
        server.read()


OUTCOMES = [
    ("tools/list", None, "ok"),
    ("tools/call", "remember", "ok"),
    ("tools/call", "recall", "ok"),
    ("tools/call", "memory_recall", "ok"),
    ("tools/call", "recall_node", "ok"),
    ("tools/call", "recall_node", "MemoryNotFoundError"),
    ("tools/call", "remember", "InvalidArgumentError"),
    ("tools/call", "other", None),
    ("other", None, "error -32601"),
    ("resources/read", None, "error -32602"),
    ("resources/read", None, "error -32602"),
    ("prompts/get", None, "ok"),
    ("prompts/get", None, None),
    ("tools/call", "other", "error -32602"),
    ("completion/complete", None, "ok"),
]


@each_era
def test_at_info_each_request_has_one_line_with_an_id_and_nothing_of_what_was_said(
    environment: dict[str, str], era: str
) -> None:
    with stdio(environment | {"HOLDFAST_LOG_LEVEL": "info"}, era) as server:
        talk(server)
        server.end()
        told, logged = requests_of(server), server.stderr
    first = "server/discover" if era == ERAS[1] else "initialize"
    assert [line["method"] for line in told] == [first, *(method for method, _, _ in OUTCOMES)]
    for line, (_, tool, outcome) in zip(told[1:], OUTCOMES, strict=True):
        assert line.get("tool") == tool
        assert outcome in (None, line["outcome"]), line
        assert outcome is not None or line["outcome"] != "ok"
    assert len({line["request"] for line in told}) == len(told)
    assert all(line["who"] == "local" and line["milliseconds"] >= 0 for line in told)
    assert {line["era"] for line in told[1:]} == {"2025-06-18" if era == ERAS[0] else era}
    assert SAID not in logged


@pytest.mark.files("beside a database a start says first what is not there")
def test_by_default_nothing_is_logged_of_a_session_in_which_nothing_is_wrong(environment: dict[str, str]) -> None:
    with stdio(environment) as server:
        talk(server)
        server.end()
        assert server.stderr == ""


def test_at_debug_each_recall_tells_its_stages_under_the_id_of_its_request(environment: dict[str, str]) -> None:
    with stdio(environment | {"HOLDFAST_LOG_LEVEL": "debug"}) as server:
        talk(server)
        server.end()
        told = lines_of(server)
    recalls = {line["request"] for line in told if line.get("tool") in ("recall", "memory_recall")}
    stages = [line for line in told if line["event"] == "recalled"]
    assert len(recalls) == 2
    assert {line["request"] for line in stages} >= recalls
    for line in stages:
        parts = [line[f"{stage}_ms"] for stage in ("read", "encode", "search", "keep")]
        assert sum(parts) == pytest.approx(line["total_ms"], abs=0.1)
        assert line["level"] == "debug"
    looked = {line.get("request") for line in told if line["event"] == "index_is_fresh" and "fresh_ms" in line}
    assert recalls <= looked  # work in the background looks too, and has no request
    assert SAID not in server.stderr


def test_over_http_what_is_refused_has_a_line_too_and_no_line_has_a_token(environment: dict[str, str]) -> None:
    token = {"token": SAID, "client_id": f"{SAID}@example.org", "scopes": ["memory:read"]}
    more = {"HOLDFAST_LOG_LEVEL": "info", "HOLDFAST_AUTH_TOKENS": json.dumps([token])}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
    accept = {"Accept": "application/json, text/event-stream"}
    known, unknown = (f"Bearer {SAID}{end}" for end in ("", "2"))
    with http(environment | more) as (_, port), httpx.Client(trust_env=False, timeout=PATIENCE) as client:
        for path, headers, status in (
            ("/mcp", {"Authorization": known}, 200),
            ("/mcp", {"Authorization": unknown}, 401),
            ("/mcp", {}, 401),
            ("/mcp", {"Authorization": known, "Host": f"{SAID}.example.org"}, 421),
            ("/mcp", {"Authorization": known, "Origin": f"https://{SAID}.example.org"}, 403),
            ("/admin/mcp", {"Authorization": known}, 404),
            (f"/{SAID}", {"Authorization": known}, 404),
        ):
            answer = client.post(f"http://127.0.0.1:{port}{path}?{SAID}", json=message, headers=accept | headers)
            assert answer.status_code == status
        assert client.get(f"http://127.0.0.1:{port}/health").status_code == 200
        asked = {"name": "recall", "arguments": {"query": SAID}} | MODERN
        named = {"MCP-Protocol-Version": ERAS[1], "Mcp-Method": "tools/call", "Mcp-Name": "recall"}
        answer = client.post(
            f"http://127.0.0.1:{port}/mcp", headers={"Authorization": known} | accept | named,
            json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked},
        )  # fmt: skip
        assert answer.json()["result"]["isError"] is False
    logged = (Path(environment["HOME"]) / "stderr").read_text("utf-8")
    told = [line for line in map(json.loads, logged.splitlines()) if line["event"] == "request"]
    refused = [f"http {status}" for status in (401, 401, 421, 403, 404, 404)]
    assert [line["outcome"] for line in told] == ["ok", *refused, "ok"]
    assert [line["method"] for line in told] == ["initialize", *["http"] * 6, "tools/call"]
    assert len({line["request"] for line in told}) == len(told)
    assert len(told[0]["who"]) == 12
    assert SAID not in logged
