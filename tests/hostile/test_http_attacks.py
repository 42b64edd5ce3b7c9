"""A server on the network, and what is sent to it by those who mean no good. It answers in order, and goes on."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from conftest import Effort
from doors import ACCEPT, TLS, bearer, web, with_tokens
from holdfast.sessions import MOST_SESSIONS
from issuer import Issuer, issuing
from processes import INITIALIZE, MODERN, PATIENCE, environment_in, http, until

LIST = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": MODERN})
LISTING = ACCEPT | {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}
CONNECTIONS, SECONDS, AT_ONCE = 40, 1, 3
READER = "reader"  # a name and its token


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with issuing() as found:
        yield found


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, issuer: Issuer) -> Iterator[int]:
    """The port of a server that takes tokens."""
    with http(with_tokens(environment_in(tmp_path_factory.mktemp("guarded"))) | issuer.settings()) as (_, port):
        yield port


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a server with room for few, who must be quick."""
    environment = with_tokens(environment_in(tmp_path_factory.mktemp("narrow")))
    limits = {"HOLDFAST_MAX_CONNECTIONS": str(CONNECTIONS), "HOLDFAST_REQUEST_SECONDS": str(SECONDS)}
    with http(environment | limits) as (_, port):
        yield port


@pytest.fixture(scope="module")
def paced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a server that each may ask once a second."""
    environment = with_tokens(environment_in(tmp_path_factory.mktemp("paced")))
    with http(environment | {"HOLDFAST_RATE_LIMIT": "1"}) as (_, port):
        yield port


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a server that does few things at once."""
    environment = with_tokens(environment_in(tmp_path_factory.mktemp("small")))
    with http(environment | {"HOLDFAST_MAX_REQUESTS": str(AT_ONCE)}) as (_, port):
        yield port


def listing(port: int, token: str | None = READER, path: str = "/mcp", **headers: str) -> httpx.Response:
    """A harmless request, in whatever dress."""
    said = LISTING | (bearer(token) if token else {}) | headers
    with httpx.Client(trust_env=False, verify=TLS, timeout=PATIENCE) as client:
        return client.post(f"http://127.0.0.1:{port}{path}", content=LIST, headers=said)


def well(port: int) -> None:
    """The server still does what it is for."""
    assert listing(port).status_code == 200


@contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        yield connection


def head(token: str = READER, **headers: str) -> bytes:
    """The beginning of a request that is written by hand."""
    said = {"Host": "localhost"} | LISTING | bearer(token) | headers
    return ("POST /mcp HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in said.items())).encode()


def is_gone(connection: socket.socket) -> bool:
    """Whether the server has hung up, though there is more to be read."""
    try:
        connection.sendall(b"\r\n")
    except TimeoutError:
        return False
    except OSError:
        return True
    return False


def everything(connection: socket.socket) -> bytes:
    """All that is still said, until the server hangs up."""
    return b"".join(iter(lambda: connection.recv(65536), b""))


# --- who asks -------------------------------------------------------------------------------------


@pytest.mark.parametrize("token", [None, "reader", "keeper"])
def test_a_page_that_rebinds_its_name_to_this_machine_is_not_served(guarded: int, token: str | None) -> None:
    for host in ("evil.example", f"evil.example:{guarded}", "127.0.0.1.evil.example", "localhost.evil.example", ""):
        assert listing(guarded, token, Host=host).status_code == 421, host
    for origin in ("https://evil.example", "null", "http://localhost.evil.example", "file://", "http://[::1"):
        assert listing(guarded, token, Origin=origin).status_code == 403, origin
    assert listing(guarded, token, path="/admin/mcp", Host="evil.example").status_code == 421


def test_a_forged_token_gets_the_answer_that_any_wrong_one_gets(guarded: int, issuer: Issuer) -> None:
    assert listing(guarded, issuer.token()).status_code == 200
    answers = {listing(guarded, token).text for token in issuer.forgeries().values()}
    answers |= {
        listing(guarded, token).text for token in ("x", "reade", "readerr", "READER", "a" * 20_000, "reader,keeper")
    }
    assert answers == {listing(guarded, "zanzibar").text}
    assert all(listing(guarded, token).status_code == 401 for token in issuer.forgeries().values())
    for where in ("/mcp?access_token=reader", "/mcp?token=keeper"):
        assert listing(guarded, None, where).status_code == 401, where
    assert listing(guarded, None, Cookie="Authorization=Bearer reader").status_code == 401
    well(guarded)


def test_a_scope_must_be_one_and_not_only_look_like_one(guarded: int, issuer: Issuer) -> None:
    for scope in ("", "memory", "memory:", "memory:readx", "MEMORY:READ", "memory:read,memory:admin", "*", "admin"):
        answer = listing(guarded, issuer.token(scope=scope))
        assert answer.status_code == 403, scope
    answer = listing(guarded, issuer.token(scope="memory:read memory:Admin"))
    assert answer.status_code == 200
    assert "admin" not in answer.text


@pytest.mark.parametrize(
    "path",
    ["/admin/mcp", "/admin/mcp/", "//admin/mcp", "/admin//mcp", "/admin%2Fmcp", "/admin/mcp%00", "/ADMIN/mcp",
     "/mcp/../admin/mcp", "/mcp/%2e%2e/admin/mcp", "/mcp;/admin/mcp", "/health/../admin/mcp", "/mcp/admin",
     "/.well-known/oauth-protected-resource/admin/mcp", "/%61dmin/mcp", "/admin/mcp?x=/mcp", "/mcp%20"],
)  # fmt: skip
def test_no_way_of_writing_a_path_leads_past_the_gate(guarded: int, path: str) -> None:
    unknown = listing(guarded, "writer", "/zanzibar")
    with connected(guarded) as connection:
        request = head("writer", Connection="close", **{"Content-Length": str(len(LIST))}) + b"\r\n" + LIST.encode()
        connection.sendall(request.replace(b"POST /mcp ", f"POST {path} ".encode()))
        answer = everything(connection)
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert answer.endswith(unknown.content)


def test_what_a_request_says_of_proxies_is_not_believed(paced: int) -> None:
    answer = listing(paced, None, **{"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https"})
    assert "evil" not in answer.headers["WWW-Authenticate"]
    assert "https" not in answer.headers["WWW-Authenticate"]
    found = [listing(paced, None, **{"X-Forwarded-For": f"10.0.0.{n}"}).status_code for n in range(20)]
    assert 429 in found


def test_a_confirmation_is_for_whom_it_was_given(tmp_path: Path) -> None:
    tokens = [{"token": name, "client_id": name, "scopes": ["memory:admin"]} for name in ("ann", "bob")]
    with (
        http(environment_in(tmp_path) | {"HOLDFAST_AUTH_TOKENS": json.dumps(tokens)}) as (_, port),
        web(port, "/mcp", "legacy", "ann") as ann,
        web(port, "/admin/mcp", "2026-07-28", "bob") as bob,
    ):

        def call(door: Any, tool: str, **arguments: Any) -> dict[str, Any]:
            return dict(door.ask("tools/call", name=tool, arguments=arguments)["result"])

        one = call(ann, "admin_backup")["structuredContent"]["backup_id"]
        confirm = call(ann, "admin_restore_backup", backup_id=one)["structuredContent"]["confirm"]
        for forged in (confirm, "0" * 16, confirm[::-1], ""):
            answer = call(bob, "admin_restore_backup", backup_id=one, confirm=forged)
            assert answer["isError"]
            assert "InvalidArgumentError" in answer["content"][0]["text"]


def test_who_opens_sessions_without_end_loses_the_idle_ones_and_nobody_elses(guarded: int) -> None:
    opening = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE})
    with (
        web(guarded, "/mcp", "legacy", "writer") as other,
        web(guarded, "/mcp", "legacy", "reader") as idle,
        web(guarded, "/mcp", "legacy", "reader") as used,
        httpx.Client(trust_env=False, verify=TLS, timeout=PATIENCE, headers=ACCEPT | bearer("reader")) as client,
    ):
        for number in range(MOST_SESSIONS - 1):
            assert client.post(f"http://127.0.0.1:{guarded}/mcp", content=opening).status_code == 200
            if number % 100 == 0:
                assert "result" in used.ask("ping")
        assert "result" in used.ask("ping")
        assert "result" in other.ask("ping")
        idle.ask("ping")
        assert idle.status == 404


def test_a_session_that_nobody_opened_is_not_found(guarded: int) -> None:
    said = {"mcp-protocol-version": INITIALIZE["protocolVersion"]}
    for session in ("0" * 32, "../../etc/passwd", "x" * 10_000, "%00", "'; DROP TABLE notes; --"):
        answer = listing(guarded, **said, **{"mcp-session-id": session})
        assert answer.status_code in {400, 404}, session
        assert session[:20] not in answer.text
    well(guarded)


# --- how much, how slowly, how often --------------------------------------------------------------


def test_a_body_that_is_too_large_is_refused_whether_it_says_so_or_not(guarded: int) -> None:
    size = 4 * 1024 * 1024 + 1
    with connected(guarded) as connection:  # it need not even be sent
        connection.sendall(head(**{"Content-Length": str(size)}) + b"\r\n")
        answer = everything(connection)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"LimitExceededError" in answer
    assert b"4 MiB" in answer
    with httpx.Client(trust_env=False, verify=TLS, timeout=PATIENCE) as client:
        chunks = (b"x" * 65536 for _ in range(size // 65536 + 1))
        said = LISTING | bearer("reader")
        assert client.post(f"http://127.0.0.1:{guarded}/mcp", content=chunks, headers=said).status_code == 413
    for length in ("-1", "1e3", "9" * 30, "0x10"):
        with connected(guarded) as connection:
            connection.sendall(head(**{"Content-Length": length, "Connection": "close"}) + b"\r\n")
            assert connection.recv(4096).split()[1] in {b"400", b"413"}, length
    well(guarded)


def test_a_body_that_does_not_come_is_not_waited_for(narrow: int) -> None:
    with connected(narrow) as connection:
        connection.sendall(head(**{"Content-Length": "100"}) + b"\r\n{")
        answer = everything(connection)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"LimitExceededError: The body did not arrive within 1 seconds." in answer
    well(narrow)


@pytest.mark.parametrize("said", [b"", b"POST /mcp HT", head()])
def test_a_head_that_does_not_come_is_not_waited_for(narrow: int, said: bytes) -> None:
    with connected(narrow) as connection:
        connection.sendall(said)
        answer = everything(connection)
    assert answer.startswith(b"HTTP/1.1 408 ")
    well(narrow)


def test_a_head_that_comes_letter_by_letter_is_late_all_the_same(narrow: int) -> None:
    with connected(narrow) as connection:
        connection.settimeout(0.05)
        answer = b""
        for letter in head() * 100:
            try:
                connection.sendall(bytes([letter]))
                answer = connection.recv(4096)
            except TimeoutError:
                continue
            except OSError:
                break
            if answer:
                break
        assert answer.startswith(b"HTTP/1.1 408 ")


def test_a_head_that_is_too_long_is_refused(guarded: int) -> None:
    with connected(guarded) as connection:
        connection.sendall(head(**{"X-Long": "x" * 100_000}))
        answer = connection.recv(4096)
    assert answer.startswith(b"HTTP/1.1 431 ")
    well(guarded)


def test_more_at_once_than_there_is_room_for_is_told_to_come_again(small: int) -> None:
    with ExitStack() as held:
        for _ in range(AT_ONCE):
            connection = held.enter_context(connected(small))
            connection.sendall(head(**{"Content-Length": "100", "Expect": "100-continue"}) + b"\r\n")
            assert connection.recv(4096).startswith(b"HTTP/1.1 100 ")  # it is being worked on
        answer = listing(small)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
        assert "LimitExceededError" in answer.text
        assert httpx.get(f"http://127.0.0.1:{small}/health", trust_env=False, timeout=PATIENCE).status_code == 200
    until(lambda: listing(small).status_code == 200)


def test_one_tenant_cannot_take_the_places_of_all(tmp_path: Path) -> None:
    own = {"HOLDFAST_TENANCY": "user", "HOLDFAST_MAX_REQUESTS": "8"}
    with http(with_tokens(environment_in(tmp_path)) | own) as (_, port), ExitStack() as held:
        for _ in range(2):
            connection = held.enter_context(connected(port))
            connection.sendall(head(**{"Content-Length": "100", "Expect": "100-continue"}) + b"\r\n")
            assert connection.recv(4096).startswith(b"HTTP/1.1 100 ")
        refused = listing(port)
        assert (refused.status_code, "2 requests of yours" in refused.text) == (503, True)
        assert listing(port, "writer").status_code == 200


def test_who_asks_and_never_reads_keeps_no_place_from_others(tmp_path: Path) -> None:
    """Their answers would wait to be sent for as long as they like, and count as worked on."""
    limits = {"HOLDFAST_MAX_REQUESTS": "1", "HOLDFAST_REQUEST_SECONDS": str(SECONDS)}
    with http(with_tokens(environment_in(tmp_path)) | limits) as (_, port), socket.socket() as connection:
        asked = head(**{"Content-Length": str(len(LIST))}) + b"\r\n" + LIST.encode()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", port))
        connection.settimeout(0.1)
        with suppress(OSError):  # in the end it takes no more of them
            connection.sendall(asked * 1000)
        until(lambda: is_gone(connection))
        well(port)


def test_one_who_asks_too_often_waits_and_others_do_not(paced: int) -> None:
    said = LISTING | bearer("reader")
    with httpx.Client(trust_env=False, verify=TLS, timeout=PATIENCE, headers=said) as client:
        answers = [client.post(f"http://127.0.0.1:{paced}/zanzibar", content="{}") for _ in range(20)]
    refused = [answer for answer in answers if answer.status_code == 429]
    assert refused
    assert refused[0].headers["Retry-After"] == "1"
    assert "LimitExceededError" in refused[0].text
    assert [answer.status_code for answer in answers[:2]] == [404] * 2
    assert listing(paced, "writer").status_code == 200


def test_more_connections_than_there_is_room_for_are_refused_in_order(narrow: int, effort: Effort) -> None:
    opened = 0
    with ExitStack() as held:
        refused = 0
        for _ in range(effort.of(400, 10_000)):
            connection = socket.create_connection(("127.0.0.1", narrow), timeout=PATIENCE)
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            try:
                answer = connection.recv(4096)
            except ConnectionResetError:
                answer = b"HTTP/1.1 503 "  # it had hung up before the request came
            if answer.startswith(b"HTTP/1.1 200 "):
                opened += 1
                held.enter_context(closing(connection))
                continue
            assert answer.startswith(b"HTTP/1.1 503 ")
            refused += 1
            connection.close()
        assert opened + refused == effort.of(400, 10_000)
        assert refused
        assert opened >= CONNECTIONS
    until(lambda: listing(narrow).status_code == 200)


@contextmanager
def stream(port: int, token: str) -> Iterator[Iterator[str]]:
    """The lines of a subscription that stays open."""
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen"}
    body["params"] = {"notifications": {"resourceSubscriptions": ["memory://self"]}} | MODERN
    said = LISTING | bearer(token) | {"Mcp-Method": body["method"]}
    with (
        httpx.Client(trust_env=False, verify=TLS, timeout=PATIENCE) as client,
        client.stream("POST", f"http://127.0.0.1:{port}/mcp", json=body, headers=said) as answer,
    ):
        assert answer.status_code == 200
        lines = answer.iter_lines()
        next(lines)
        yield lines


def test_those_who_listen_do_not_take_the_places_of_those_who_ask(small: int) -> None:
    with ExitStack() as held:
        for _ in range(2 * AT_ONCE):
            held.enter_context(stream(small, "reader"))
            door = held.enter_context(web(small, "/mcp", "legacy", "writer"))
            held.enter_context(door.hearing())
        assert listing(small).status_code == 200


def test_who_may_no_longer_ask_may_no_longer_listen(guarded: int, issuer: Issuer) -> None:
    with stream(guarded, issuer.token(exp=int(time.time()) + 8)) as lines:
        assert not [line for line in lines if "resources/updated" in line]  # until the server ends it
    well(guarded)


def test_what_is_not_http_is_refused_and_forgotten(guarded: int) -> None:
    for said in (
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\0" * 1000,
        b"SSH-2.0-x\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /mcp HTTP/1.1\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ):
        with connected(guarded) as connection:
            connection.sendall(said)
            connection.shutdown(socket.SHUT_WR)
            assert b"200 OK" not in everything(connection)
    smuggled = (
        head(**{"Content-Length": "4", "Transfer-Encoding": "chunked"}) + b"\r\n0\r\n\r\nPOST /admin/mcp HTTP/1.1\r\n"
    )
    with connected(guarded) as connection:
        connection.sendall(smuggled)
        connection.shutdown(socket.SHUT_WR)
        assert b"admin_" not in everything(connection)
    well(guarded)
