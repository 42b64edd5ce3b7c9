"""Commands that import the framework: `tools` prints the tools' definitions, `view` shows the View in a browser."""

from __future__ import annotations

import argparse
import os
import secrets
import webbrowser
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from holdfast.adapters.openai import ORMAH, Definition, listed, openai_form
from holdfast.cli.terminal import DONE, as_json, out
from holdfast.running import configure_logs, serve_view, warn_of_unknown
from holdfast.settings import load_settings

OMI: Final = ("memory_recall", "memory_store", "belief_update", "now_read", "now_update", "integrity_check")
FAMILIES: Final[Mapping[str, Sequence[str]]] = {"both": (*ORMAH, *OMI), "ormah": ORMAH, "omi": OMI}

ADMIN: Final = "admin_"  # how the names of the tools begin that only a server with --admin has


def run_tools(options: argparse.Namespace) -> int:
    """Print them as a JSON list."""
    tools = listed()
    family = FAMILIES.get(options.family, sorted(tools))
    names = [name for name in family if options.admin or not name.startswith(ADMIN)]
    out().say(as_json([_formed(tools[name], options.format) for name in names if name in tools]))
    return DONE


def _formed(tool: Definition, form: str) -> Definition:
    match form:
        case "openai":
            return openai_form(tool)
        case "anthropic":
            return {"name": tool["name"], "description": tool["description"], "input_schema": tool["inputSchema"]}
        case _:
            return tool


HOST = "127.0.0.1"


def run_view(options: argparse.Namespace) -> int:
    """Serve the View on this machine until Ctrl-C, and open it in the browser unless asked not to."""
    os.umask(0o077)  # what is kept is nobody else's business
    settings = replace(load_settings(os.environ), view="always")
    configure_logs(settings.log_level)
    warn_of_unknown(settings)

    def listening(port: int, key: str) -> None:
        address = f"http://{HOST}:{port}/#{key}"
        out().say(f"{address}\nThe View is at this address, for you alone; Ctrl-C ends it.")
        if options.browser:
            webbrowser.open(address)

    serve_view(settings, options.port, secrets.token_urlsafe(32), admin=options.admin, listening=listening)
    return 0
