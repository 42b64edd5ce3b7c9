"""A server on the network, and what is sent to it by those who mean no good. It answers in order, and goes on."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from conftest import Effort
from doors import ACCEPT, KEEPER, TLS, bearer, web, with_tokens
from holdfast.http.limits import MOST_SESSIONS
from issuer import Issuer, issuing
from processes import INITIALIZE, MODERN, PATIENCE, ROOT, environment_in, http, until

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


@pytest.mark.parametrize("token", [None, "reader", KEEPER])
def test_a_page_that_rebinds_its_name_to_this_machine_is_not_served(guarded: int, token: str | None) -> None:
    for host in ("evil.example", f"evil.example:{guarded}", "127.0.0.1.evil.example", "localhost.evil.example", ""):
        assert listing(guarded, token, Host=host).status_code == 421, host
    for origin in ("https://evil.example", "null", "http://localhost.evil.example", "file://", "http://[::1"):
        assert listing(guarded, token, Origin=origin).status_code == 403, origin
    assert listing(guarded, token, path="/admin/mcp", Host="evil.example").status_code == 421


def test_a_forged_token_gets_the_answer_that_any_wrong_one_gets(guarded: int, issuer: Issuer) -> None:
    assert listing(guarded, issuer.token()).status_code == 200
    static = ("x", "reade", "readerr", "READER", "a" * 20_000, f"reader,{KEEPER}", KEEPER[:-1])
    answers = [listing(guarded, token) for token in (*issuer.forgeries().values(), *static)]
    assert {answer.text for answer in answers} == {listing(guarded, "zanzibar").text}
    assert {answer.status_code for answer in answers} == {401}
    for where in ("/mcp?access_token=reader", f"/mcp?token={KEEPER}"):
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
    ann_s, bob_s = (f"{name}-has-a-token-that-nobody-guesses" for name in ("ann", "bob"))
    tokens = [{"token": token, "client_id": token[:3], "scopes": ["memory:admin"]} for token in (ann_s, bob_s)]
    with (
        http(environment_in(tmp_path) | {"HOLDFAST_AUTH_TOKENS": json.dumps(tokens)}) as (_, port),
        web(port, "/mcp", "legacy", ann_s) as ann,
        web(port, "/admin/mcp", "2026-07-28", bob_s) as bob,
    ):
        one = ann.tool("admin_backup")["structuredContent"]["backup_id"]
        confirm = ann.tool("admin_restore_backup", backup_id=one)["structuredContent"]["confirm"]
        for forged in (confirm, "0" * 16, confirm[::-1], ""):
            answer = bob.tool("admin_restore_backup", backup_id=one, confirm=forged)
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
    well(guarded)


@pytest.mark.parametrize(
    "framing",
    [
        "Content-Length: 4\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 4",
        "transfer-encoding: chunked\r\nCONTENT-LENGTH: 4",
        "Content-Length: 4\r\nContent-Length: 5",
        "Content-Length: 4\r\nContent-Length: 4",
        "Content-Length: 4, 4",
        "Content-Length: 4\r\n ",
        "Content-Length:\r\n 4",
        "X-Long: a\r\n\tContent-Length: 4",
        "Content-Length : 4",
        "Content-Length: +4",
        "Content-Length: 4\nX-Bare: 1",
        "Content-Length: 4\rX-Bare: 1",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding: chunked\x0b",
        "Host: localhost\r\nContent-Length: 4",
    ],
)
def test_a_request_whose_end_could_be_read_in_two_ways_is_refused_and_hung_up_on(guarded: int, framing: str) -> None:
    hidden = b"POST /admin/mcp HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with connected(guarded) as connection:
        connection.sendall(head(KEEPER) + framing.encode("latin-1") + b"\r\n\r\n0\r\n\r\n" + hidden)
        answer = everything(connection)
    assert answer.split()[1] in {b"400", b"501"}, answer
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b"connection: close" in answer.lower()


def test_what_only_looks_like_a_second_end_is_served(guarded: int) -> None:
    said = head(**{"Content-Length": str(len(LIST)), "X-Content-Length": "4", "X-Transfer-Encoding": "chunked"})
    chunked = f"{len(LIST):x};name=value\r\n{LIST}\r\n0\r\n\r\n".encode()
    for request in (
        said + b"\r\n" + LIST.encode(),
        head(**{"Transfer-Encoding": "chunked", "Connection": "close"}) + b"\r\n" + chunked,
    ):
        with connected(guarded) as connection:
            connection.sendall(request)
            assert connection.recv(4096).startswith(b"HTTP/1.1 200 ")


def test_an_older_request_has_no_chunks(guarded: int) -> None:
    with connected(guarded) as connection:
        said = head(**{"Transfer-Encoding": "chunked"}).replace(b"HTTP/1.1", b"HTTP/1.0")
        connection.sendall(said + b"\r\n0\r\n\r\n")
        assert everything(connection).startswith(b"HTTP/1.1 400 ")


def test_a_chunk_whose_extension_does_not_end_is_not_waited_for(narrow: int) -> None:
    with connected(narrow) as connection:
        connection.sendall(head(**{"Transfer-Encoding": "chunked"}) + b"\r\n5;" + b"x" * 20_000)
        assert everything(connection).startswith(b"HTTP/1.1 408 ")
    with connected(narrow) as connection:
        connection.sendall(head(**{"Transfer-Encoding": "chunked"}) + b"\r\n5;" + b"x" * 100_000)
        assert everything(connection).split()[1] in {b"400", b"431"}
    well(narrow)


# --- shares ---------------------------------------------------------------------------------------


@contextmanager
def coming_from(address: str, port: int) -> Iterator[httpx.Client]:
    """A client at another address of this machine."""
    transport = httpx.HTTPTransport(local_address=address, verify=TLS)
    headers = LISTING | bearer(READER)
    with httpx.Client(transport=transport, timeout=PATIENCE, headers=headers) as client:
        client.base_url = httpx.URL(f"http://127.0.0.1:{port}")
        yield client


@pytest.mark.skipif(sys.platform != "linux", reason="this machine has one address of its own")
@pytest.mark.parametrize("said", [b"", b"POST /mcp HT", b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"])
def test_who_takes_all_connections_makes_room_for_another_address(narrow: int, said: bytes) -> None:
    with ExitStack() as held:
        for _ in range(2 * CONNECTIONS):
            connection = held.enter_context(connected(narrow))
            with suppress(OSError):
                connection.sendall(said)
                if said.endswith(b"\r\n\r\n"):  # none is idle before it has its answer, and only idle ones give way
                    connection.recv(1)
        with coming_from("127.0.0.9", narrow) as other:
            assert [other.post("/mcp", content=LIST).status_code for _ in range(3)] == [200] * 3
    until(lambda: listing(narrow).status_code == 200)


def test_an_address_that_has_its_share_is_told_so_at_once(tmp_path: Path) -> None:
    """Also those who never say anything are answered, and hung up on."""
    room = {"HOLDFAST_MAX_CONNECTIONS": "280"}
    with http(with_tokens(environment_in(tmp_path)) | room) as (_, port), ExitStack() as held:
        for _ in range(280 // 4):
            held.enter_context(connected(port))
        for _ in range(20):
            with connected(port) as connection:
                answer = everything(connection)
            assert answer.startswith(b"HTTP/1.1 503 ")
            assert b"retry-after: 1" in answer
            assert b"Your address has 70 connections already." in answer
        if sys.platform == "linux":
            with coming_from("127.0.0.9", port) as other:
                assert other.post("/mcp", content=LIST).status_code == 200


def test_behind_a_proxy_the_share_is_that_of_the_client_it_names(tmp_path: Path) -> None:
    trusting = {"HOLDFAST_MAX_CONNECTIONS": "280", "HOLDFAST_TRUSTED_PROXIES": "127.0.0.1"}
    asked = b"GET /zanzibar HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: %s\r\n\r\n"
    with http(with_tokens(environment_in(tmp_path)) | trusting) as (_, port), ExitStack() as held:

        def ask(client: str) -> bytes:
            connection = held.enter_context(connected(port))
            connection.sendall(asked % client.encode())
            return connection.recv(4096).split()[1]

        crowd = [ask(f"2001:db8::{number:x}") for number in range(72)]
        assert set(crowd[:70]) == {b"401"}
        assert crowd[70:] == [b"503"] * 2
        assert ask("2001:db8:0:1::1") == b"401"
        assert ask("198.51.100.7") == b"401"


def test_who_guesses_tokens_is_slowed_down_and_keeps_nobody_out(tmp_path: Path) -> None:
    with http(with_tokens(environment_in(tmp_path))) as (_, port):
        well(port)
        old = [listing(port, "an-old-token").status_code for _ in range(150)]
        assert set(old) <= {401, 429}  # 429: by the pace of whoever has no token
        time.sleep(2)
        answers = [listing(port, f"guess-{number}") for number in range(150)]
        slowed = [answer for answer in answers if answer.status_code == 429]
        assert {answer.status_code for answer in answers} == {401, 429}
        assert slowed[-1].headers["Retry-After"] == "1"
        assert "many tokens" in slowed[-1].text
        well(port)
        until(lambda: listing(port, "writer").status_code == 200)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("token", ["", READER], ids=["a stranger", "a client"])
@pytest.mark.parametrize(
    "kind",
    ["silence", "slow_heads", "slow_bodies", "half_open", "never_reading", "sessions", "big_bodies", "pipelining",
     "streams"],
)  # fmt: skip
def test_an_honest_client_is_answered_while_many_connections_attack(
    guarded: int, kind: str, token: str, effort: Effort, tally: Counter[str]
) -> None:
    """From the same address: 50, or 200. How long it waits is printed, as a ratio; that it is answered is tested."""
    crowd = str(effort.of(50, 200))
    alone = patience_of(guarded, 20)
    command = [sys.executable, str(ROOT / "tests" / "support" / "attackers.py"), kind, str(guarded), crowd, "60"]
    with subprocess.Popen([*command, *([token] if token else [])], stdout=subprocess.PIPE) as attackers:
        try:
            assert attackers.stdout is not None
            assert attackers.stdout.readline() == b"ready\n"
            attacked = patience_of(guarded, effort.of(5, 200))
        finally:
            attackers.kill()
    well(guarded)
    who = "a client" if token else "a stranger"
    tally[f"p95 of an honest client, in % of being alone: {kind} by {who}"] += round(100 * attacked / alone)


def patience_of(port: int, times: int) -> float:
    """How long 95 % of the answers take at most, in seconds; each must be one."""
    spent = []
    with httpx.Client(trust_env=False, verify=TLS, timeout=PATIENCE, headers=LISTING | bearer("writer")) as client:
        for _ in range(times):
            began = time.perf_counter()
            assert client.post(f"http://127.0.0.1:{port}/mcp", content=LIST).status_code == 200
            spent.append(time.perf_counter() - began)
    return sorted(spent)[int(0.95 * (len(spent) - 1))]
