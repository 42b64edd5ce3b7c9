"""The View in the MCP Inspector: its command line, which says whether there is an App, and its page, in a Chromium."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import httpx
import pytest

from browser.harness import CHROMIUM, NO_BROWSER, Shown, opened
from browser.test_view import HOSTILE
from clients.machine import FACT, TWINS, Machine
from doors import KEEPER, web
from processes import http, own_port, until
from served import ERAS

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from doors import Web

pytestmark = [pytest.mark.clients, pytest.mark.timeout(300)]

EMPTY = base64.urlsafe_b64encode(b"{}").decode().rstrip("=")
LINKED = "deep-link"  # the Inspector's name for the server that its page's address speaks of
TOKEN = "for-this-test-alone"  # noqa: S105 - of nobody


@contextmanager
def inspecting(machine: Machine, server: str, token: str = "") -> Iterator[str]:
    """The Inspector with a server that it brings a token to; the address at which its page opens the View."""
    headers = {"headers": {"Authorization": f"Bearer {token}"}} if token else {}
    config = machine.root / "inspector.json"
    config.write_text(
        json.dumps({"mcpServers": {LINKED: {"type": "streamable-http", "url": server, **headers}}}), "utf-8"
    )
    asked = {
        "serverUrl": server, "transport": "http", "autoConnect": TOKEN,
        "openApp": "memory_view", "appArgs": EMPTY, "autoOpen": TOKEN,
    }  # fmt: skip
    with own_port() as port, own_port() as sandbox:
        settings = {
            "HOST": "127.0.0.1",
            "CLIENT_PORT": str(port),
            "MCP_SANDBOX_PORT": str(sandbox),
            "MCP_AUTO_OPEN_ENABLED": "false",
            "MCP_INSPECTOR_API_TOKEN": TOKEN,
        }
        command = ["mcp-inspector", "--web", "--config", str(config)]
        with subprocess.Popen(command, env=machine.environment | settings, stdout=subprocess.DEVNULL) as process:
            try:
                address = f"http://127.0.0.1:{port}/"
                until(lambda: _answers(address))
                yield f"{address}?{urlencode(asked)}"
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


@pytest.fixture
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip(NO_BROWSER)
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only where there is a browser

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@contextmanager
def inspected(
    machine: Machine, browser: Browser, environment: dict[str, str], token: str = ""
) -> Iterator[tuple[Shown, Web]]:
    """The View in the Inspector's page, and another client of the same server."""
    with (
        http(environment) as (_, port),
        web(port, "/mcp", ERAS[1], token or None) as door,
        inspecting(machine, f"http://127.0.0.1:{port}/mcp", token) as address,
        opened(browser, address, inside=2, viewport={"width": 1280, "height": 900}) as shown,
    ):
        yield shown, door


def tool(door: Web, name: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool that is to succeed; its structured answer."""
    answer = door.ask("tools/call", name=name, arguments=arguments)["result"]
    assert not answer.get("isError"), answer
    return dict(answer["structuredContent"])


def test_in_the_inspector_a_stored_note_appears_is_edited_retired_and_taken_back_and_a_proposal_is_approved(
    machine: Machine, browser: Browser, environment: dict[str, str]
) -> None:
    tokens = json.dumps([{"token": KEEPER, "client_id": "kit", "scopes": ["memory:admin"]}])
    guarded = environment | {"HOLDFAST_AUTH_TOKENS": tokens, "HOLDFAST_REVIEW": "true"}
    with inspected(machine, browser, guarded, KEEPER) as (shown, door):
        shown.view.get_by_text("Nothing has been stored yet").wait_for()
        note = tool(door, "remember", content=FACT)["id"]
        shown.card(FACT).wait_for()
        dialog = shown.open(FACT)
        dialog.get_by_role("button", name="Edit").click()
        dialog.get_by_label("Text").fill(f"{FACT} Beside the door.")
        dialog.get_by_role("button", name="Save").click()
        dialog.locator("div.text").filter(has_text="Beside the door.").wait_for()
        assert tool(door, "recall_node", node_id=note)["content"] == f"{FACT} Beside the door."
        dialog.get_by_role("button", name="Retire").click()
        dialog.get_by_role("button", name="Retire", exact=True).click()
        dialog.get_by_text("Retired since").wait_for()
        shown.picture("inspector")
        dialog.get_by_role("button", name="Undo").click()
        dialog.get_by_text("Retired since").wait_for(state="detached")
        assert tool(door, "recall_node", node_id=note)["outdated"] is False
        dialog.get_by_role("button", name="Close", exact=True).click()
        keep, discard = (tool(door, "remember", content=text)["id"] for text in TWINS)
        batch = tool(door, "run_maintenance")["batch_id"]
        merge = {"keep_id": keep, "discard_id": discard, "merged_content": f"{TWINS[0]} That is settled."}
        tool(door, "run_maintenance", batch_id=batch, results={"merges": [merge]})
        shown.tab("Review")
        proposal = shown.view.locator("[data-proposal]")
        proposal.get_by_role("button", name="Approve").click()
        proposal.wait_for(state="detached")
        assert tool(door, "recall_node", node_id=discard)["id"] == keep


def test_in_the_inspector_without_the_gate_a_hostile_note_is_text_and_no_admin_act_is_offered_or_possible(
    machine: Machine, browser: Browser, environment: dict[str, str]
) -> None:
    with inspected(machine, browser, environment) as (shown, door):
        note = tool(door, "remember", content=HOSTILE, title="Beside it")["id"]
        dialog = shown.open("Beside it")
        assert HOSTILE in dialog.locator("div.text").inner_text().replace("\u00a0", " ")
        assert shown.view.locator("#root script, #root img, #root iframe, #root a[href], #root object").count() == 0
        names = {button.inner_text() for button in dialog.get_by_role("button").all()}
        assert {"Replace", "Retire"} <= names
        assert not {"Edit", "Delete", "Erase", "Link"} & names
        shown.picture("inspector-hostile")
        frame = shown.page.frames[-1]
        by_hand = """([name, node]) => new Promise((answered) => {
            addEventListener("message", ({ data }) => data?.id === "by hand" && answered(JSON.stringify(data)));
            const params = { name, arguments: { node_id: node } };
            parent.postMessage({ jsonrpc: "2.0", id: "by hand", method: "tools/call", params }, "*");
        })"""
        for name in ("admin_purge", "admin_delete_memory", "admin_undo"):
            assert "nknown tool" in frame.evaluate(by_hand, [name, note])
        assert tool(door, "recall_node", node_id=note)["content"] == HOSTILE
