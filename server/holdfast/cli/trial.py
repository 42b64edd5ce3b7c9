"""`holdfast try`: the main job once, for real, in a temporary folder: store, kill, start again, find by meaning."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from holdfast.cli.terminal import DONE, out
from holdfast.errors import StorageError
from holdfast.settings import PREFIX, quieten_framework

if TYPE_CHECKING:
    from fastmcp import Client

SPACE = "first-run"
NOTES = (
    ("decision", "We keep the search index in SQLite instead of Postgres: no server to run, and it can be rebuilt."),
    ("preference", "The user wants commit messages in the imperative mood, with the reason in the body."),
    ("procedure", "To release: bump the version, tag it, wait for CI, then publish the wheel. Never on a Friday."),
)
QUESTION = "why did we choose SQLite over Postgres?"
# The server itself, after telling its process id: `try` must kill it the way a crash would.
_SERVER = """import os, pathlib, runpy, sys
pathlib.Path(sys.argv.pop(1)).write_text(str(os.getpid()))
runpy.run_module("holdfast", run_name="__main__")"""


def run_trial(_options: argparse.Namespace) -> int:
    """Show the main job on the terminal; the folder is gone afterwards."""
    quieten_framework(os.environ)
    with tempfile.TemporaryDirectory(prefix="holdfast-try-") as folder:
        anyio.run(_trial, Path(folder))
    return DONE


async def _trial(folder: Path) -> None:
    home = folder / "memory"
    _say(f"A memory in {home}")
    with _timed("started the server over stdio, remembered three notes"):
        async with _server(folder, home) as (client, process):
            for kind, text in NOTES:
                stored = await _call(client, "remember", {"content": text, "type": kind})
                _say(f"  {stored['id']}  {text}")
            os.kill(process(), getattr(signal, "SIGKILL", signal.SIGTERM))
    _say("  killed it with SIGKILL")
    with _timed("started it again and asked by meaning"):
        async with _server(folder, home) as (client, _):
            hits = (await _call(client, "recall", {"query": QUESTION, "limit": 1}))["results"]
    found = [hit for hit in hits if not hit["weak"]]
    if not found:
        raise StorageError("The stored note was not found again, or only as a weak match.", "Please report this.")
    _say(f"  {QUESTION}\n  → {found[0]['content']}  (relevance {found[0]['relevance']:.2f})")
    _show_folder(home, found[0]["id"])


@asynccontextmanager
async def _server(folder: Path, home: Path) -> AsyncIterator[tuple[Client[Any], Any]]:
    """A client of a real server process, and a function that tells that process's id."""
    from fastmcp import Client  # noqa: PLC0415 - after its settings
    from fastmcp.client.transports import StdioTransport  # noqa: PLC0415

    told = folder / "process-id"
    others = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}  # for another memory
    environment = {**others, "HOLDFAST_HOME": str(home), "HOLDFAST_SPACE": SPACE}
    transport = StdioTransport(sys.executable, ["-c", _SERVER, str(told)], env=environment, keep_alive=False)
    async with Client(transport) as client:
        yield client, lambda: int(told.read_text())


async def _call(client: Client[Any], tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """A tool's structured answer; its errors are raised."""
    return (await client.call_tool(tool, arguments)).structured_content or {}


def _show_folder(home: Path, note_id: str) -> None:
    file = next((home / "memories").rglob(f"*.{note_id}.md"))
    _say(f"\nThe note is a file you can read and edit:\n  {file.relative_to(home)}\n")
    _say("\n".join(f"    {line}" for line in file.read_text("utf-8").splitlines()))
    _say("\nThe folder:")
    for path in sorted(home.rglob("*.md")):
        _say(f"  {path.relative_to(home)}")
    _say(f"  {len(list((home / 'journal').iterdir()))} journal file, and .holdfast/ with what can be rebuilt")
    _say("\nAdd it to your client as the README says; it is the same server.")


@contextmanager
def _timed(what: str) -> Iterator[None]:
    began = time.perf_counter()
    yield
    _say(f"{time.perf_counter() - began:5.2f} s  {what}")


def _say(text: str) -> None:
    out().say(text)
