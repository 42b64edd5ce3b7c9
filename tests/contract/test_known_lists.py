"""Lists that are known are those that the framework makes: for each scope, form, era and endpoint, to the byte."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastmcp import Client

from doors import ACCEPT, KEEPER, TLS, bearer, with_tokens
from holdfast.app import build_memory, build_server
from holdfast.settings import load_settings
from holdfast.tools.server import LISTS
from processes import MODERN, PATIENCE, environment_in, http

LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
CLIENTS = ("test", "claude-code")  # the second gets no structured content
PLAIN = """
import sys
from holdfast.tools.server import KnownLists
KnownLists.serve = lambda self: None
from holdfast.__main__ import main
sys.exit(main(sys.argv[1:]))
"""
ODD: tuple[dict[str, Any], ...] = (
    {"cursor": "zanzibar"}, {"cursor": ""}, {"cursor": 7}, {"cursor": None}, {"_meta": 7},
    {"_meta": {"progressToken": []}}, {"zanzibar": 1},
)  # fmt: skip


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, int]]:
    """A server that knows its lists, and one whose framework makes them each time."""
    known, plain = (with_tokens(environment_in(tmp_path_factory.mktemp(name))) for name in ("known", "plain"))
    with http(known) as (_, one), http(plain, command=(sys.executable, "-c", PLAIN)) as (_, other):
        yield one, other


class Asking:
    """A client of one server, which says who it is in the words of its era."""

    def __init__(self, port: int, path: str, token: str, version: str, name: str) -> None:
        self._url = f"http://127.0.0.1:{port}{path}"
        self._modern = version not in LEGACY
        self._client = httpx.Client(trust_env=False, verify=TLS, timeout=PATIENCE, headers=ACCEPT | bearer(token))
        self._information = {"name": name, "version": "1"}
        if not self._modern:
            opening = {"protocolVersion": version, "capabilities": {}, "clientInfo": self._information}
            opened = self.post("initialize", opening)
            told = {"mcp-session-id": opened.headers.get("mcp-session-id", ""), "mcp-protocol-version": version}
            self._client.headers.update({key: value for key, value in told.items() if value})

    def post(self, method: str, parameters: dict[str, Any]) -> httpx.Response:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
        headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": method} if self._modern else {}
        return self._client.post(self._url, json=message, headers=headers)

    def ask(self, method: str, odd: dict[str, Any]) -> tuple[int, str]:
        own = {"_meta": MODERN["_meta"] | {"io.modelcontextprotocol/clientInfo": self._information}}
        answer = self.post(method, (own if self._modern else {}) | odd)
        return answer.status_code, answer.text


def asked(port: int, path: str, token: str, version: str, name: str) -> list[tuple[int, str]]:
    """The answers to each list, asked for twice and then in odd ways."""
    asking = Asking(port, path, token, version, name)
    try:
        plain = [asking.ask(method, {}) for _ in range(2) for method in LISTS]
        return plain + [asking.ask(method, odd) for method, odd in product(LISTS, ODD)]
    finally:
        asking._client.close()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("path", ["/mcp", "/admin/mcp"])
@pytest.mark.parametrize("version", [*LEGACY, "2026-07-28"])
def test_each_list_is_the_one_that_the_framework_makes(ports: tuple[int, int], version: str, path: str) -> None:
    known, plain = ports
    for token, name in product(("reader", KEEPER, "writer"), CLIENTS):
        assert asked(known, path, token, version, name) == asked(plain, path, token, version, name), (token, name)


@pytest.mark.anyio
async def test_what_is_added_later_is_listed(tmp_path: Path, anyio_backend: str, era: str) -> None:
    settings = load_settings({"HOLDFAST_HOME": str(tmp_path), "HOLDFAST_ENCODER": "none"})
    memory = build_memory(settings)
    server = build_server(settings, memory)
    async with memory.running(), Client(server, mode=era) as client:
        before = {tool.name for tool in await client.list_tools()}
        assert before == {tool.name for tool in await client.list_tools()}

        @server.tool
        def zanzibar() -> str:
            return "here"

        assert {tool.name for tool in await client.list_tools()} == before | {"zanzibar"}
        server.local_provider.remove_tool("zanzibar")
        assert {tool.name for tool in await client.list_tools()} == before
