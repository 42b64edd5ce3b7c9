"""HTTP for others: who has a token may do what its scopes say, by a name of their own. Real servers, both eras."""

from __future__ import annotations

import hashlib
import json
import signal
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from fastmcp import Client
from mcp.shared.exceptions import MCPDeprecationWarning

from doors import ACCEPT, bearer, web
from holdfast.model.access import signed_principal
from holdfast.settings import load_settings
from issuer import NAME, Issuer, issuing
from processes import INITIALIZE, MODERN, PATIENCE, environment_in, http
from served import journal_in
from storages import storage_asked_for

READS = ("recall", "recall_node", "memory_recall", "now_read", "integrity_check")
WRITES = ("remember", "mark_outdated", "submit_feedback", "memory_store", "belief_update", "now_update")
TOKENS = (
    {"token": "reader", "client_id": "ann", "scopes": ["memory:read"]},
    {"token": "writer", "client_id": "ann", "scopes": ["memory:read", "memory:write"]},
    {"token": "feeder", "client_id": "feed", "scopes": ["memory:write"], "space": "Quay"},
    {"token_sha256": hashlib.sha256(b"keeper").hexdigest(), "client_id": "kit", "scopes": ["memory:admin"]},
)


@dataclass(frozen=True)
class Served:
    """A server that takes tokens of both kinds."""

    port: int
    memory: Path
    own: Path  # where it looks for what it is to take in: that folder, or beside a database another one
    issuer: Issuer

    def journal(self) -> list[dict[str, Any]]:
        return journal_in(self.memory)

    def post(self, path: str = "/mcp", **headers: str) -> httpx.Response:
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
        with httpx.Client(trust_env=False, timeout=PATIENCE) as client:
            return client.post(f"http://127.0.0.1:{self.port}{path}", json=message, headers=ACCEPT | headers)


storage = pytest.fixture(scope="module", autouse=True)(storage_asked_for)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, storage: str) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("served")
    with issuing() as issuer:
        environment = environment_in(home) | issuer.settings() | {"HOLDFAST_AUTH_TOKENS": json.dumps(TOKENS)}
        environment.pop("HOLDFAST_SPACE")
        quiet = {"HOLDFAST_JOBS": "false", "HOLDFAST_VAULT_ENABLED": "false"}  # or there is news at a time of its own
        with http(environment | quiet) as (_, port):
            yield Served(port, home / "memory", load_settings(environment).home, issuer)


def refused(answer: dict[str, Any]) -> str:
    assert answer["isError"], answer
    return str(answer["content"][0]["text"])


def test_who_may_read_is_told_which_scope_writing_needs(served: Served, era: str) -> None:
    with web(served.port, "/mcp", era, "reader") as door:
        names = [tool["name"] for tool in door.ask("tools/list")["result"]["tools"]]
        assert {*READS, *WRITES} <= set(names)
        for tool in WRITES:
            told = refused(door.tool(tool, zanzibar=1))
            assert told.startswith("ScopeError"), tool
            assert "memory:write" in told
        for tool in READS:
            assert "InvalidArgumentError" in refused(door.tool(tool, zanzibar=1))
        assert not door.tool("recall", query="crane").get("isError")
        assert "result" in door.ask("resources/read", uri="memory://self")


def test_who_may_only_write_learns_nothing_by_reading(served: Served, era: str) -> None:
    with web(served.port, "/mcp", era, "feeder") as door:
        assert not door.tool("remember", content=f"The {era} buoy is green.").get("isError")
        for tool in READS:
            assert "memory:read" in refused(door.tool(tool, zanzibar=1))
        reference = {"type": "ref/resource", "uri": "memory://note/{id}"}
        requests: list[tuple[str, dict[str, Any]]] = [
            ("resources/read", {"uri": "memory://self"}),
            ("prompts/get", {"name": "session_start"}),
            ("completion/complete", {"ref": reference, "argument": {"name": "id", "value": "mem"}}),
        ]
        if era == "legacy":
            requests.append(("resources/subscribe", {"uri": "memory://self"}))
        else:
            requests.append(("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["memory://self"]}}))
        for method, parameters in requests:
            answer = door.ask(method, **parameters)
            assert "memory:read" in answer["error"]["message"], method


def test_the_answer_to_no_token_and_to_a_wrong_one_says_where_to_learn_more(served: Served) -> None:
    where = f"http://127.0.0.1:{served.port}/.well-known/oauth-protected-resource/mcp"
    none, wrong = served.post(), served.post(**bearer("zanzibar"))
    assert (none.status_code, wrong.status_code) == (401, 401)
    for answer in (none, wrong):
        assert f'resource_metadata="{where}"' in answer.headers["WWW-Authenticate"]
        assert "zanzibar" not in answer.text
    assert "error=" not in none.headers["WWW-Authenticate"]
    assert 'error="invalid_token"' in wrong.headers["WWW-Authenticate"]
    for header in ("Basic cmVhZGVyOg==", "Bearer", "bearer", "reader"):
        assert served.post(Authorization=header).status_code == 401, header
    assert served.post(Authorization="bearer reader").status_code == 200
    metadata = httpx.get(where, trust_env=False, timeout=PATIENCE).json()
    assert metadata["resource"] == f"http://127.0.0.1:{served.port}/mcp"
    assert metadata["authorization_servers"] == [NAME]
    assert metadata["scopes_supported"] == ["memory:read", "memory:write"]


def test_a_signed_token_without_our_scopes_is_told_which_there_are(served: Served) -> None:
    answer = served.post(**bearer(served.issuer.token(scope="email profile")))
    assert answer.status_code == 403
    assert 'error="insufficient_scope"' in answer.headers["WWW-Authenticate"]
    assert 'scope="memory:read memory:write"' in answer.headers["WWW-Authenticate"]


def test_each_principal_stands_in_the_journal_by_a_name_of_its_own(served: Served, era: str) -> None:
    signed = served.issuer.token(scope="memory:read memory:write")
    asking = ((TOKENS[1]["token"], "ann"), (TOKENS[2]["token"], "feed"), (signed, signed_principal(NAME, "ann")))
    for token, name in asking:
        with web(served.port, "/mcp", era, str(token)) as door:
            stored = door.tool("remember", content=f"The {era} crane of {name}.")["structuredContent"]
        lines = [line for line in served.journal() if stored["id"] in json.dumps(line) and "by" in line]
        assert {line["by"] for line in lines} == {name}
        assert stored["space"] == ("quay" if name == "feed" else "global")
    with web(served.port, "/admin/mcp", era, "keeper") as door:
        door.tool("admin_backup")
    assert [line["by"] for line in served.journal() if "admin" in line][-1] == "kit"


@pytest.mark.parametrize("path", ["/mcp", "/admin/mcp"])
def test_who_looks_behind_the_gate_stands_in_the_journal(served: Served, era: str, path: str) -> None:
    subject = f"guest of {era} at {path}"
    with web(served.port, path, era, served.issuer.token(sub=subject, scope="memory:admin")) as door:
        about = "admin://audit?node=mem_0000000000000000&limit=3"
        for uri in ("admin://stats", "admin://stats", about, "admin://config", "admin://zanzibar"):
            shown = door.ask("resources/read", uri=uri)
        logged = door.tool("admin_list_audit_log", operation="read", limit=50)["structuredContent"]["entries"]
        hidden = door.tool("admin_list_audit_log", limit=50)["structuredContent"]["entries"]
    assert "zanzibar" in json.dumps(shown)
    name = signed_principal(NAME, subject)
    reads = [line for line in served.journal() if line.get("by") == name and "read" in line["op"]]
    assert [line["admin"] for line in reads] == ["admin_read_stats", "admin_read_audit", "admin_read_config"]
    assert [line.get("note") for line in reads] == [None, "mem_0000000000000000", None]
    assert [entry["operation"] for entry in reversed(logged) if entry["by"] == name] == [line["op"] for line in reads]
    assert not [entry for entry in hidden if "read" in entry["operation"]]


def test_what_one_principal_asked_another_does_not_see(served: Served, era: str) -> None:
    question = f"where is the {era} windlass?"
    with web(served.port, "/mcp", era, "writer") as ann, web(served.port, "/mcp", era, "keeper") as kit:
        ann.tool("recall", query=question)
        assert question in json.dumps(ann.ask("resources/read", uri="memory://events"))
        assert question not in json.dumps(kit.ask("resources/read", uri="memory://events"))


def test_a_session_takes_the_scopes_of_each_requests_own_token(served: Served) -> None:
    """The same client may have several tokens; what the one that opened a session could do, others cannot."""
    with web(served.port, "/mcp", "legacy", "writer") as door:
        assert not door.tool("remember", content="The capstan is oak.").get("isError")
        door.become("reader")
        assert "memory:write" in refused(door.tool("remember", content="The capstan is elm."))
        assert not door.tool("recall", query="capstan").get("isError")


def test_a_session_is_nobody_elses(served: Served) -> None:
    with web(served.port, "/mcp", "legacy", "writer") as door:
        assert "result" in door.ask("tools/list")
        for other in ("keeper", "feeder", served.issuer.token(sub="bob", scope="memory:admin")):
            door.become(other)
            assert "result" not in door.ask("tools/list")
            assert door.status == 404
        door.become("writer")
        assert "result" in door.ask("tools/list")


async def test_a_listener_hears_of_its_own_recalls_alone(anyio_backend: str, served: Served) -> None:
    address = f"http://127.0.0.1:{served.port}/mcp"
    heard: dict[str, list[str]] = {"ann": [], "kit": []}

    def hearing(name: str) -> Any:
        async def hear(message: Any) -> None:
            if "resources/updated" in str(getattr(message, "method", "")):
                heard[name].append(str(message.params.uri))

        return hear

    async def heard_of(uri: str, *names: str) -> None:
        with anyio.fail_after(PATIENCE):
            while not all(uri in heard[name] for name in names):  # noqa: ASYNC110 - told from another task
                await anyio.sleep(0.02)

    async with (
        Client(address, mode="legacy", auth="writer", message_handler=hearing("ann")) as ann,
        Client(address, mode="legacy", auth="keeper", message_handler=hearing("kit")) as kit,
    ):
        stored = (await ann.call_tool("remember", {"content": "The anchor is rusty."})).structured_content["id"]
        for client in (ann, kit):
            for uri in ("memory://events", f"memory://note/{stored}"):
                with pytest.warns(MCPDeprecationWarning):
                    await client.session.subscribe_resource(uri)
        await kit.call_tool("recall", {"query": "where is the anchor?"})
        await heard_of("memory://events", "kit")
        assert not heard["ann"]
        await kit.call_tool("mark_outdated", {"node_id": stored})
        await heard_of(f"memory://note/{stored}", "ann", "kit")
        await heard_of("memory://events", "ann")  # the log's line may be written behind a look at the note
        assert heard["ann"].count("memory://events") == 1  # the change is for both


def test_other_machines_are_served_with_tokens_and_by_the_names_that_are_allowed(environment: dict[str, str]) -> None:
    given = {"HOLDFAST_AUTH_TOKENS": json.dumps(TOKENS), "HOLDFAST_PUBLIC_URL": "https://memory.example/notes"}
    with http(environment | given, "--host", "0.0.0.0") as (_, port):  # noqa: S104 - that is the point
        served = Served(port, Path(environment["HOME"]), Path(environment["HOME"]), Issuer())
        assert served.post(**bearer("reader")).status_code == 200
        assert served.post(**bearer("reader"), Host="memory.example").status_code == 200
        assert served.post(**bearer("reader"), Host="evil.example").status_code == 421
        assert served.post(**bearer("reader"), Origin="https://evil.example").status_code == 403
        assert served.post(**bearer("reader"), Origin="https://memory.example").status_code == 200
        where = "https://memory.example/.well-known/oauth-protected-resource/notes/mcp"
        assert where in served.post().headers["WWW-Authenticate"]
        path = "/.well-known/oauth-protected-resource/notes/mcp"
        found = httpx.get(f"http://127.0.0.1:{port}{path}", trust_env=False, timeout=PATIENCE).json()
        assert found["resource"] == "https://memory.example/notes/mcp"


def test_health_is_told_to_anybody_and_tells_nothing_else(served: Served) -> None:
    answer = httpx.get(
        f"http://127.0.0.1:{served.port}/health", trust_env=False, timeout=PATIENCE, headers={"Host": "10.0.0.1"}
    )
    assert (answer.status_code, answer.text) == (200, "ok\n")
    assert set(answer.headers) <= {"content-length", "content-type", "date"}


def test_tokens_stand_in_no_log_and_no_file(environment: dict[str, str]) -> None:
    secret = "a-token-that-nobody-may-see-anywhere"  # noqa: S105 - so it is
    tokens = [{"token": secret, "client_id": "ann", "scopes": ["memory:admin"]}]
    given = {"HOLDFAST_AUTH_TOKENS": json.dumps(tokens), "HOLDFAST_LOG_LEVEL": "debug"}
    with http(environment | given) as (_, port):
        with web(port, "/mcp", "legacy", secret) as door:
            door.tool("remember", content="The crane is red.")
            door.tool("admin_backup")
        with web(port, "/mcp", "legacy", f"{secret}-nearly") as door:
            assert door.status == 401
    files = [path for path in Path(environment["HOME"]).rglob("*") if path.is_file()]
    assert (Path(environment["HOME"]) / "stderr") in files
    assert [path for path in files if secret.encode() in path.read_bytes()] == []


def test_without_sessions_every_request_stands_alone(environment: dict[str, str], era: str) -> None:
    given = {"HOLDFAST_AUTH_TOKENS": json.dumps(TOKENS), "HOLDFAST_STATELESS": "true"}
    with http(environment | given) as (_, port), web(port, "/mcp", era, "writer") as door:
        stored = door.tool("remember", content="The crane is red.")["structuredContent"]
        assert not door.has_session
        door.become("reader")
        found = door.tool("recall", query="crane")["structuredContent"]["results"]
        assert [hit["id"] for hit in found] == [stored["id"]]
        if era == "legacy":
            assert "no session" in door.ask("resources/subscribe", uri="memory://self")["error"]["message"]
        else:
            assert door.listen(["memory://self"]) == ["memory://self"]


# A server that gives what is under way as long as a slow machine takes; a usual one gives it less than a second.
_PATIENT = """
import sys
from holdfast import running
from holdfast.__main__ import main
running.STOP_SECONDS = 10.0
sys.exit(main(sys.argv[1:]))
"""


def test_what_is_under_way_when_a_signal_comes_is_answered(environment: dict[str, str]) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": MODERN}).encode()
    head = (
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json\r\n"
        "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\nExpect: 100-continue\r\n"
        f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with http(environment, command=(sys.executable, "-c", _PATIENT)) as (server, port):
        assert httpx.get(f"http://127.0.0.1:{port}/health", trust_env=False, timeout=PATIENCE).text == "ok\n"
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
            connection.sendall(head.encode())
            assert connection.recv(4096).startswith(b"HTTP/1.1 100 ")  # it is under way now
            server.send_signal(signal.SIGTERM)
            connection.sendall(body)
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert b'"remember"' in answer
        assert server.wait(PATIENCE) == 0


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_an_administrator_at_the_endpoint_of_their_own_hears_how_far_a_long_call_is(served: Served, mode: Any) -> None:
    folder = served.own / "imports" / mode
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(40):
        (folder / f"{number}.md").write_text(f"# Buoy {number} of {mode}\n\nIt is green.\n", "utf-8")
    heard: list[float] = []

    async def hear(done: float, _total: float | None, _message: str | None) -> None:
        heard.append(done)

    async def move_in() -> Any:
        async with Client(f"http://127.0.0.1:{served.port}/admin/mcp", auth="keeper", mode=mode) as client:
            would = (await client.call_tool("admin_import", {"path": mode})).structured_content or {}
            given = {"path": mode, "confirm": would["confirm"]}
            return await client.call_tool("admin_import", given, progress_handler=hear)

    assert not anyio.run(move_in).is_error
    assert heard
    assert heard == sorted(heard)
