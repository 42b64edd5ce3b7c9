"""Presence in `install`: whether it is wanted, what the server is told of it, and what the user has to do yet."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from holdfast.cli.hooks import EXPLAINED, place_hooks, remove_hooks
from holdfast.cli.terminal import Screen

SWITCH: Final = "HOLDFAST_PRESENCE"
_ON: Final = frozenset({"true", "yes", "on", "1"})
_FOLDERS: Final = {"claude-code": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME"}  # clients do not hand these on
_TRUST: Final = """\
Codex runs new hooks only when you trust them: start `codex` once and choose "Trust all and continue"."""


def wants_presence(
    options: argparse.Namespace, screen: Screen, given: Mapping[str, Any], hooks: Path | None
) -> bool | None:
    """Whether presence is to be on; None where nothing about it is to change.

    Args:
        options: of the command.
        screen: where a person is asked, if there is one.
        given: the environment that the server's entry has now.
        hooks: the client's file for hooks, if it has one.
    """
    if options.presence is not None:
        return bool(options.presence)
    if hooks is None:
        return None
    if is_on(given):
        return True
    if SWITCH in given or options.dry_run or not (screen.live and sys.stdin and sys.stdin.isatty()):
        return None
    screen.say(EXPLAINED)
    screen.say("Install it too? [y/N]")
    return True if sys.stdin.readline().strip().lower() in {"y", "yes"} else None


def is_on(variables: Mapping[str, Any]) -> bool:
    """Whether the environment of an entry turns presence on."""
    return str(variables.get(SWITCH, "")).lower() in _ON


def presence_variables(client: str, environ: Mapping[str, str], *, on: bool) -> dict[str, str]:
    """What the server is to find in its environment."""
    if not on:
        return {SWITCH: "false"}
    folder = _FOLDERS.get(client, "")
    return {SWITCH: "true"} | ({folder: environ[folder]} if environ.get(folder) else {})


def tell_presence(options: argparse.Namespace, screen: Screen, path: Path, server: str, *, on: bool) -> bool:
    """Put the hooks in or take them out, and say what is left to do; returns whether the file was changed.

    Raises:
        ClientConfigError: the file cannot be read, kept or written.
    """
    if not on:
        return remove_hooks(screen, path, server, dry_run=options.dry_run)
    changed = place_hooks(screen, options.client, path, server, dry_run=options.dry_run)
    if changed and options.client == "codex":
        screen.say(_TRUST)
    return changed
