"""The View in the MCP Inspector: its command line, which says whether there is an App, and its page, in a Chromium."""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from browser.harness import CHROMIUM, MILLISECONDS, NO_BROWSER, PICTURES
from clients.machine import FACT, Machine
from clients.test_inspector import ask, call
from processes import http, own_port, until

pytestmark = [pytest.mark.clients, pytest.mark.timeout(300)]

EMPTY = base64.urlsafe_b64encode(b"{}").decode().rstrip("=")
TOKEN = "for-this-test-alone"  # noqa: S105 - of nobody


@contextmanager
def inspecting(machine: Machine, port: int, sandbox: int) -> Iterator[str]:
    """The Inspector's page; where it is."""
    settings = {
        "HOST": "127.0.0.1",
        "CLIENT_PORT": str(port),
        "MCP_SANDBOX_PORT": str(sandbox),
        "MCP_AUTO_OPEN_ENABLED": "false",
        "MCP_INSPECTOR_API_TOKEN": TOKEN,
    }
    command = ["mcp-inspector", "--web"]
    with subprocess.Popen(command, env=machine.environment | settings, stdout=subprocess.DEVNULL) as process:
        try:
            address = f"http://127.0.0.1:{port}/"
            until(lambda: _answers(address))
            yield address
        finally:
            process.terminate()


def _answers(address: str) -> bool:
    try:
        return httpx.get(address).status_code == 200
    except httpx.TransportError:
        return False


def test_the_inspectors_command_line_which_declares_no_apps_finds_one_where_all_are_offered_it(
    machine: Machine, environment: dict[str, str]
) -> None:
    with http(environment | {"HOLDFAST_VIEW": "always"}) as (_, port):
        server = ["--transport", "http", "--server-url", f"http://127.0.0.1:{port}/mcp"]
        command = ["mcp-inspector", "--cli", "-q", "--format", "json", *server]
        told = machine.run(*command, "--method", "tools/call", "--tool-name", "memory_view", "--app-info")
    assert '"hasApp":true' in told.replace(" ", "")


def test_in_the_inspectors_page_a_stored_note_appears_is_retired_and_taken_back(
    machine: Machine, environment: dict[str, str]
) -> None:
    if CHROMIUM is None:
        pytest.skip(NO_BROWSER)
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only where there is a browser

    with own_port() as page_port, own_port() as sandbox, http(environment) as (_, port):
        server = ["--transport", "http", "--server-url", f"http://127.0.0.1:{port}/mcp"]
        asked = {
            "serverUrl": f"http://127.0.0.1:{port}/mcp", "transport": "http", "autoConnect": TOKEN,
            "openApp": "memory_view", "appArgs": EMPTY, "autoOpen": TOKEN,
        }  # fmt: skip
        with inspecting(machine, page_port, sandbox) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.set_default_timeout(MILLISECONDS)
            page.goto(f"{address}?{urlencode(asked)}")
            page.locator('[data-app-status="ready"]').wait_for()
            view: Any = page.frame_locator("iframe").frame_locator("iframe")
            view.get_by_text("Nothing has been stored yet").wait_for()
            note = ask(machine, "modern", server, *call("remember", content=FACT))["structuredContent"]["id"]
            view.locator("article.card").filter(has_text=FACT).locator("button.title").click()
            dialog = view.get_by_role("dialog")
            dialog.get_by_role("button", name="Retire").click()
            dialog.get_by_role("button", name="Retire", exact=True).click()
            dialog.get_by_text("Retired since").wait_for()
            PICTURES.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=PICTURES / "inspector.png")
            dialog.get_by_role("button", name="Undo").click()
            dialog.get_by_text("Retired since").wait_for(state="detached")
            browser.close()
        known = ask(machine, "modern", server, *call("recall_node", node_id=note))["structuredContent"]
        assert known["outdated"] is False
