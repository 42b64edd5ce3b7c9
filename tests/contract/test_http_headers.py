"""What headers do over HTTP: a space for each project, pages of allowed origins, and the page on plain clients."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from doors import ACCEPT, KEEPER, TLS, Web, bearer, web
from holdfast.errors import SettingsError
from holdfast.settings import load_settings
from issuer import issuing
from processes import INITIALIZE, MODERN, PATIENCE, ROOT, environment_in, http

PAGE, OTHER = "https://app.example", "https://evil.example"
TOKENS = [
    {"token": "writer", "client_id": "ann", "scopes": ["memory:read", "memory:write"], "space": "quay"},
    {"token": "plain", "client_id": "bob", "scopes": ["memory:read", "memory:write"]},
    {"token": KEEPER, "client_id": "kit", "scopes": ["memory:admin"]},
]


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    environment = environment_in(tmp_path_factory.mktemp("headers"))
    del environment["HOLDFAST_SPACE"]
    given = {"HOLDFAST_AUTH_TOKENS": json.dumps(TOKENS), "HOLDFAST_ALLOWED_ORIGINS": f'["{PAGE}:443/"]'}
    with http(environment | given) as (_, found):
        yield found


@pytest.fixture(scope="module")
def unguarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    environment = environment_in(tmp_path_factory.mktemp("unguarded"))
    del environment["HOLDFAST_SPACE"]
    with http(environment) as (_, found):
        yield found


def call(door: Web, tool: str, **arguments: Any) -> Any:
    answer = door.ask("tools/call", name=tool, arguments=arguments)["result"]
    assert not answer.get("isError"), answer
    return answer["structuredContent"]


@contextmanager
def project(port: int, era: str, space: str | None, token: str | None = None) -> Iterator[Web]:
    with web(port, "/mcp", era, token) as door:
        if space is not None:
            door.say(**{"X-Holdfast-Space": space})
        yield door


# --- spaces ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("token", [None, "writer", "plain"])
def test_two_projects_of_one_user_keep_two_nows(port: int, unguarded: int, era: str, token: str | None) -> None:
    at = unguarded if token is None else port
    name = f"{era}-{token}"
    with project(at, era, f"crane-{name}", token) as crane, project(at, era, f"buoy-{name}", token) as buoy:
        call(crane, "now_update", current_task=f"Oil the crane of {name}")
        call(buoy, "now_update", current_task=f"Paint the buoy of {name}")
        assert f"crane of {name}" in json.dumps(call(crane, "now_read"))
        assert f"buoy of {name}" in json.dumps(call(buoy, "now_read"))
        assert "buoy" not in json.dumps(call(crane, "now_read"))
        shown = crane.ask("resources/read", uri="memory://now")["result"]
        assert f"crane of {name}" in json.dumps(shown)


def test_what_is_said_comes_before_the_header_and_that_before_the_tokens_default(port: int, era: str) -> None:
    for header, given, token, space, why in (
        ("Lighthouse", "shed", "writer", "shed", "as given"),
        ("Lighthouse", None, "writer", "lighthouse", "the X-Holdfast-Space header"),
        ("global", None, "writer", "global", "the X-Holdfast-Space header"),
        (None, None, "writer", "quay", "the token's default"),
        ("", None, "writer", "quay", "the token's default"),
        (None, None, "plain", "global", "none named over HTTP"),
        ("lighthouse", None, "plain", "lighthouse", "the X-Holdfast-Space header"),
    ):
        with project(port, era, header, token) as door:
            arguments = {"content": f"{header} {given} {token} {era}"} | ({"space": given} if given else {})
            answer = door.ask("tools/call", name="remember", arguments=arguments)["result"]
            assert answer["structuredContent"]["space"] == space, header
            assert f"(space {space}, {why})" in answer["content"][0]["text"]


def test_a_header_opens_nothing_that_the_token_does_not(port: int, era: str) -> None:
    """A token's space is where it stores by default: with a tool's own argument it reaches every other anyway."""
    with project(port, era, "vault", "plain") as bob, project(port, era, None, "writer") as ann:
        stored = call(bob, "remember", content=f"The windlass of {era} is behind the shed.")
        found = call(ann, "recall", query=f"windlass of {era}", spaces=["vault"])["results"]
        assert stored["id"] in [hit["id"] for hit in found]


@pytest.mark.parametrize(
    ("given", "space"),
    [
        ("Café du Port".encode(), "café-du-port"),
        (b"caf%C3%A9%20du%20port", "café-du-port"),
        ("波止場".encode(), "波止場"),
        (b"../../etc", "etc"),
        (b"a" * 300, "a" * 64),
    ],
)
def test_a_space_is_known_by_one_spelling(port: int, era: str, given: bytes, space: str) -> None:
    with project(port, era, None, "writer") as door:
        door._client.headers = httpx.Headers([*door._client.headers.raw, (b"X-Holdfast-Space", given)])
        assert call(door, "remember", content=f"{space} {era}")["space"] == space


@pytest.mark.parametrize(
    "given", [b"///", b"con", b"${workspaceFolderBasename}", b"\xff\xfe", b"%ff", b"%00", b"a" * 600, b"one, two\xe9"]
)
def test_what_is_no_space_is_refused_and_not_repeated(port: int, given: bytes) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
    headers = [(name.encode(), value.encode()) for name, value in (ACCEPT | bearer("writer")).items()]
    with httpx.Client(trust_env=False, verify=TLS, timeout=PATIENCE) as client:
        answer = client.post(
            f"http://127.0.0.1:{port}/mcp", json=body, headers=[*headers, (b"X-Holdfast-Space", given)]
        )
        twice = [*headers, (b"X-Holdfast-Space", b"one"), (b"X-Holdfast-Space", b"two")]
        assert client.post(f"http://127.0.0.1:{port}/mcp", json=body, headers=twice).status_code == 400
    assert answer.status_code == 400
    assert "InvalidArgumentError: X-Holdfast-Space" in answer.text
    assert "workspaceFolder" not in answer.text


# --- pages ----------------------------------------------------------------------------------------


def ask(port: int, method: str = "POST", path: str = "/mcp", **headers: str) -> httpx.Response:
    with httpx.Client(trust_env=False, verify=TLS, timeout=PATIENCE) as client:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": MODERN} if method == "POST" else None
        modern = ACCEPT | {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}
        return client.request(method, f"http://127.0.0.1:{port}{path}", json=body, headers=modern | headers)


def preflight(port: int, origin: str, path: str = "/mcp", **more: str) -> httpx.Response:
    wanted = "authorization, content-type, mcp-protocol-version, mcp-method, mcp-name, mcp-session-id, x-holdfast-space"
    headers = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": wanted} | more
    return ask(port, "OPTIONS", path, Origin=origin, **headers)


def cors(answer: httpx.Response) -> set[str]:
    return {name for name in answer.headers if name.startswith("access-control-")}


def test_a_page_of_an_allowed_origin_may_ask_and_read(port: int) -> None:
    answer = preflight(port, PAGE, **{"Access-Control-Request-Private-Network": "true"})
    assert answer.status_code == 200
    assert answer.headers["Access-Control-Allow-Origin"] == PAGE
    assert "Access-Control-Allow-Credentials" not in answer.headers
    assert {"POST", "GET", "DELETE"} <= set(answer.headers["Access-Control-Allow-Methods"].split(", "))
    assert "x-holdfast-space" in answer.headers["Access-Control-Allow-Headers"].lower()
    assert "Origin" in answer.headers["Vary"]
    asked = ask(port, Origin=PAGE, **bearer("writer"))
    assert (asked.status_code, asked.headers["Access-Control-Allow-Origin"]) == (200, PAGE)
    read = {name.strip().lower() for name in asked.headers["Access-Control-Expose-Headers"].split(",")}
    assert {"mcp-session-id", "mcp-protocol-version", "www-authenticate", "retry-after"} <= read


def test_a_page_can_read_why_it_is_refused(port: int) -> None:
    opening = {"Origin": PAGE, **bearer("writer")}
    for status, answer in (
        (401, ask(port, Origin=PAGE)),
        (401, ask(port, Origin=PAGE, **bearer("zanzibar"))),
        (404, ask(port, path="/zanzibar", **opening)),
        (404, ask(port, path="/admin/mcp", **opening)),
        (405, ask(port, "PUT", **opening)),
        (400, ask(port, **opening, **{"X-Holdfast-Space": "///"})),
        (413, _large(port, opening)),
        (421, ask(port, **opening, Host="evil.example")),
    ):
        assert answer.status_code == status
        assert answer.headers["Access-Control-Allow-Origin"] == PAGE, status


def _large(port: int, headers: dict[str, str]) -> httpx.Response:
    with httpx.Client(trust_env=False, verify=TLS, timeout=PATIENCE) as client:
        body = b"x" * (4 * 1024 * 1024 + 1)
        return client.post(f"http://127.0.0.1:{port}/mcp", content=body, headers=ACCEPT | headers)


def test_a_page_can_read_that_its_token_has_none_of_the_scopes(tmp_path: Path) -> None:
    with (
        issuing() as issuer,
        http(environment_in(tmp_path) | issuer.settings() | {"HOLDFAST_ALLOWED_ORIGINS": PAGE}) as (_, port),
    ):
        allowed, other = (ask(port, Origin=page, **bearer(issuer.token(scope="zanzibar"))) for page in (PAGE, OTHER))
    assert (allowed.status_code, allowed.headers["Access-Control-Allow-Origin"]) == (403, PAGE)
    assert "www-authenticate" in allowed.headers["Access-Control-Expose-Headers"].lower()
    assert "insufficient_scope" in allowed.headers["WWW-Authenticate"]
    assert "memory:read" in allowed.headers["WWW-Authenticate"]
    assert (other.status_code, cors(other)) == (403, set())


def test_a_page_that_asks_too_often_can_read_that(tmp_path: Path) -> None:
    given = {"HOLDFAST_AUTH_TOKENS": json.dumps(TOKENS), "HOLDFAST_ALLOWED_ORIGINS": PAGE, "HOLDFAST_RATE_LIMIT": "1"}
    with http(environment_in(tmp_path) | given) as (_, port):
        answers = [ask(port, Origin=PAGE) for _ in range(10)]
    assert {answer.headers["Access-Control-Allow-Origin"] for answer in answers} == {PAGE}
    assert 429 in {answer.status_code for answer in answers}


@pytest.mark.parametrize(
    "origin", [OTHER, "null", "http://app.example", "https://app.example:8443", "https://app.example.evil.example",
               "https://xapp.example", "HTTPS://APP.EXAMPLE", "https://app.example/", "http://localhost:5173", "*"],
)  # fmt: skip
def test_for_all_other_pages_there_is_nothing_to_read(port: int, origin: str) -> None:
    for answer in (preflight(port, origin), ask(port, Origin=origin), ask(port, Origin=origin, **bearer("writer"))):
        assert not cors(answer)
        assert answer.status_code in {200, 401, 403}
        assert "mcp-session-id" not in answer.headers


def test_without_a_setting_no_page_is_answered_and_a_preflight_opens_no_session(unguarded: int) -> None:
    for origin in (PAGE, "http://localhost:5173"):
        answer = preflight(unguarded, origin)
        assert answer.status_code in {401, 403, 405}
        assert not cors(answer)
        assert "mcp-session-id" not in answer.headers
    assert "mcp-session-id" not in ask(unguarded, "OPTIONS").headers
    assert set(ask(unguarded, "OPTIONS").headers["Allow"].split(", ")) == {"GET", "POST", "DELETE"}


def test_a_page_is_told_nothing_of_the_admin_endpoint_without_its_scope(port: int) -> None:
    known, unknown = (ask(port, "PUT", path, **bearer("writer")) for path in ("/admin/mcp", "/zanzibar"))
    assert (known.status_code, known.text) == (unknown.status_code, unknown.text) == (404, "Not Found")
    assert preflight(port, PAGE, "/admin/mcp").headers == preflight(port, PAGE, "/zanzibar").headers


@pytest.mark.parametrize(
    "wrong",
    ["*", "https://*.example", "null", "zanzibar.example", "https://zanzibar.example/page", "https://a@b.example"],
)
def test_an_origin_that_stands_for_many_or_for_none_is_refused_at_the_start(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(SettingsError, match="HOLDFAST_ALLOWED_ORIGINS") as told:
        load_settings({"HOLDFAST_HOME": str(tmp_path), "HOLDFAST_ALLOWED_ORIGINS": wrong})
    assert "zanzibar" not in str(told.value)


# --- the page -------------------------------------------------------------------------------------


def commands() -> list[list[str]]:
    blocks = re.findall(r"^```sh\n(.*?)^```$", (ROOT / "docs/http.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return [shlex.split(block.replace("\\\n", " ")) for block in blocks]


def curl(words: list[str], port: int, session: str) -> httpx.Response:
    """What curl would send."""
    given = [words[at + 1] for at, word in enumerate(words) if word == "-H"]
    headers = dict(line.replace("$SESSION", session).split(": ", 1) for line in given)
    body = words[words.index("-d") + 1]
    (url,) = (word for word in words if word.startswith("http://"))
    with httpx.Client(trust_env=False, verify=TLS, timeout=PATIENCE) as client:
        return client.post(url.replace("8765", str(port)), content=body.encode(), headers=headers)


def test_the_commands_of_the_page_work_as_they_stand(unguarded: int) -> None:
    with project(unguarded, "2026-07-28", "lighthouse") as door:
        stored = call(door, "remember", content="The crane is oiled each spring.")["id"]
    modern, opening, legacy = commands()
    session = curl(opening, unguarded, "").headers["Mcp-Session-Id"]
    for words in (modern, legacy):
        answer = curl(words, unguarded, session)
        found = answer.json()["result"]["structuredContent"]
        assert [hit["id"] for hit in found["results"]] == [stored]
        assert "lighthouse" in json.dumps(found["read_as"])
