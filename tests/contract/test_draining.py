"""A server over HTTP that is told to end says so, answers what still comes, then what is under way. Real processes."""

from __future__ import annotations

import json
import signal
import socket

import httpx
import pytest

from processes import MODERN, PATIENCE, http, notes_in, until

STORE = {
    "jsonrpc": "2.0", "id": 1, "method": "tools/call",
    "params": {"name": "remember", "arguments": {"content": "The lock gate was closed in time."}} | MODERN,
}  # fmt: skip
HEADERS = {
    "Accept": "application/json, text/event-stream", "Content-Type": "application/json",
    "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "remember",
}  # fmt: skip


def status(port: int, path: str) -> int:
    return httpx.get(f"http://127.0.0.1:{port}{path}", trust_env=False, timeout=PATIENCE).status_code


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["TERM", "INT"])
def test_who_is_told_to_end_is_not_ready_and_answers_until_the_time_is_over_or_it_is_told_again(
    environment: dict[str, str], number: signal.Signals
) -> None:
    with http(environment | {"HOLDFAST_DRAIN_SECONDS": "3600"}) as (server, port):
        assert status(port, "/ready") == 200
        server.send_signal(number)
        until(lambda: status(port, "/ready") == 503)
        assert status(port, "/health") == 200
        stored = httpx.post(
            f"http://127.0.0.1:{port}/mcp", json=STORE, headers=HEADERS, trust_env=False, timeout=PATIENCE
        )
        assert not stored.json()["result"]["isError"]
        server.send_signal(number)
        assert server.wait(PATIENCE) == 0
    assert "closed in time" in notes_in(environment)


def test_what_is_under_way_when_the_time_is_over_is_answered(environment: dict[str, str]) -> None:
    body = json.dumps(STORE).encode()
    lines = [f"{name}: {value}" for name, value in HEADERS.items()]
    patient = {"HOLDFAST_DRAIN_SECONDS": "15", "HOLDFAST_REQUEST_SECONDS": "3600"}
    with http(environment | patient) as (server, port):
        head = "\r\n".join(["POST /mcp HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Content-Length: {len(body)}", *lines])
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as line:
            line.sendall(head.encode() + b"\r\n\r\n" + body[:20])
            server.send_signal(signal.SIGTERM)
            until(lambda: not listens(port))  # nobody new is taken
            assert server.poll() is None
            line.sendall(body[20:])
            answer = httpx.Response(200, content=_whole_answer(line))
        assert b"200 OK" in answer.content
        assert b"lock gate" in answer.content or b"structuredContent" in answer.content
        assert server.wait(PATIENCE) == 0
    assert "closed in time" in notes_in(environment)


def _whole_answer(line: socket.socket) -> bytes:
    said = b""
    while part := line.recv(1 << 16):
        said += part
    return said
