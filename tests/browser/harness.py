"""The View in a real browser: `holdfast view` in a process of its own, Chromium, and a client beside them."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from processes import HOLDFAST, MODERN, PATIENCE, ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser, FrameLocator, Locator, Page

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = os.environ.get("HOLDFAST_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
NO_BROWSER = "NO CHROMIUM IS INSTALLED: THE VIEW WAS NOT TRIED IN A BROWSER (apt-get install chromium)"
MILLISECONDS = PATIENCE * 1000
PICTURES = Path(os.environ.get("HOLDFAST_PICTURES", ROOT / "build" / "view"))
AXE = ROOT / "view" / "node_modules" / "axe-core" / "axe.min.js"


@dataclass
class Site:
    """A running `holdfast view`: its address, its key, and a client that asks the same server."""

    address: str
    key: str
    process: subprocess.Popen[str]
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def url(self) -> str:
        return f"{self.address}#{self.key}"

    def post(self, method: str, **parameters: Any) -> httpx.Response:
        body = {"jsonrpc": "2.0", "id": next(self._numbers), "method": method, "params": parameters | MODERN}
        headers = {
            "Authorization": f"Bearer {self.key}",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": method,
            **({"Mcp-Name": parameters["name"]} if "name" in parameters else {}),
        }
        return httpx.post(f"{self.address}mcp", json=body, headers=headers, timeout=PATIENCE)

    def tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that is to succeed; its structured answer."""
        result = self.post("tools/call", name=name, arguments=arguments).json()["result"]
        assert not result.get("isError"), result
        return dict(result["structuredContent"])


@contextmanager
def viewing(environment: dict[str, str], *options: str) -> Iterator[Site]:
    """A `holdfast view` that ends with the block, as it ends with its terminal."""
    command = [*HOLDFAST, "view", "--no-browser", *options]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address, _, key = process.stdout.readline().strip().partition("#")
            assert key, "it said no address"
            yield Site(address, key, process)
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()


@dataclass
class Shown:
    """A page of the browser with the View in it; `complaints` is what the page's console told as errors."""

    page: Page
    view: FrameLocator
    complaints: list[str]

    def tab(self, name: str) -> None:
        self.view.get_by_role("tab", name=name, exact=True).click()

    def card(self, text: str) -> Locator:
        return self.view.locator("article.card").filter(has_text=text)

    def open(self, text: str) -> Locator:
        """Open the first note of this text; the dialog."""
        self.card(text).first.locator("button.title").first.click()
        dialog = self.view.get_by_role("dialog")
        dialog.locator("h2").wait_for()
        return dialog

    def picture(self, name: str) -> None:
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{name}.png")


@contextmanager
def opened(browser: Browser, url: str, *, inside: int = 1, script: str = "", **options: Any) -> Iterator[Shown]:
    """The View at an address, `inside` so many frames; a script is run in each frame before its own."""
    context = browser.new_context(**({"viewport": {"width": 1000, "height": 760}} | options))
    context.set_default_timeout(MILLISECONDS)
    if script:
        context.add_init_script(script)
    try:
        page = context.new_page()
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(url)
        view = page.frame_locator("iframe")
        for _ in range(inside - 1):
            view = view.frame_locator("iframe")
        view.get_by_role("tablist").wait_for()
        yield Shown(page, view, complaints)
    finally:
        context.close()


def violations(shown: Shown) -> list[str]:
    """What axe-core has against the View as it is now, by rule and element. It is run inside the frame."""
    frame = shown.page.frames[-1]
    frame.evaluate(AXE.read_text("utf-8"))
    found = json.loads(frame.evaluate("axe.run(document).then((found) => JSON.stringify(found.violations))"))
    return [f"{rule['id']}: {node['html'][:200]}" for rule in found for node in rule["nodes"]]
