"""`holdfast view` serves one page and MCP, to this machine's browser alone, for whoever has the key."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from browser.harness import Site, viewing
from processes import PATIENCE, environment_in
from storages import storage_asked_for

pytestmark = pytest.mark.timeout(300)


storage = pytest.fixture(scope="module", autouse=True)(storage_asked_for)


@pytest.fixture(scope="module")
def site(storage: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with viewing(environment_in(tmp_path_factory.mktemp("home"))) as started:
        yield started


def test_the_page_holds_no_secret_and_may_be_framed_by_nobody(site: Site) -> None:
    page = httpx.get(site.address)
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert site.key not in page.text
    assert page.headers["content-security-policy"] == "frame-ancestors 'none'"
    assert page.headers["x-frame-options"] == "DENY"
    assert "access-control-allow-origin" not in page.headers
    assert len(site.key) >= 43


def test_with_the_key_it_speaks_mcp_and_without_it_to_nobody(site: Site) -> None:
    assert {"memory_view", "remember"} <= {tool["name"] for tool in site.post("tools/list").json()["result"]["tools"]}
    for key in ("x", site.key[:-1], site.key + "x", "é"):
        given = {"Authorization": f"Bearer {key}".encode()}
        assert httpx.post(f"{site.address}mcp", json={}, headers=given).status_code == 401
    assert httpx.post(f"{site.address}mcp", json={}).status_code == 401
    twice = [(b"Authorization", f"Bearer {site.key}".encode())] * 2
    assert httpx.post(f"{site.address}mcp", json={}, headers=twice).status_code == 401


@pytest.mark.parametrize("path", ["mcp", ""])
def test_another_host_or_origin_is_refused_before_anything_else(site: Site, path: str) -> None:
    key = {"Authorization": f"Bearer {site.key}"}
    port = urlsplit(site.address).port
    send = httpx.post if path else httpx.get
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"[::1]:{port}", ""):
        assert send(f"{site.address}{path}", headers=key | {"Host": host}).status_code in (400, 421), host
    for origin in ("http://evil.example", "null", f"https://127.0.0.1:{port}", "http://127.0.0.1"):
        assert send(f"{site.address}{path}", headers=key | {"Origin": origin}).status_code == 403, origin


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "mcp"), ("DELETE", "mcp"), ("OPTIONS", "mcp"), ("POST", ""), ("GET", "view.html"), ("GET", "admin/mcp"),
     ("GET", "health"), ("POST", "mcp/"), ("GET", "..%2fetc"), ("PUT", ""), ("TRACE", "")],
)  # fmt: skip
def test_nothing_else_is_served(site: Site, method: str, path: str) -> None:
    answer = httpx.request(method, f"{site.address}{path}", headers={"Authorization": f"Bearer {site.key}"})
    assert answer.status_code in (404, 405)


def test_a_body_is_bounded(site: Site) -> None:
    headers = {"Authorization": f"Bearer {site.key}", "Content-Length": str(5 << 20)}
    answer = httpx.post(f"{site.address}mcp", headers=headers, content=b"x" * (5 << 20))
    assert answer.status_code == 413
    pieces = httpx.post(f"{site.address}mcp", headers={"Authorization": f"Bearer {site.key}"}, content=iter([b"{}"]))
    assert pieces.status_code == 413


def test_it_listens_on_this_machine_alone_and_ends_with_its_terminal(tmp_path: Path) -> None:
    with viewing(environment_in(tmp_path), "--admin") as site:
        port = urlsplit(site.address).port
        assert port is not None
        assert urlsplit(site.address).hostname == "127.0.0.1"
        assert "admin_purge" in {tool["name"] for tool in site.post("tools/list").json()["result"]["tools"]}
        site.process.send_signal(signal.SIGINT)
        assert site.process.wait(PATIENCE) == 0
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.1", port)) != 0
