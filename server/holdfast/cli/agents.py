"""Subagents and slash commands that tend the memory, for clients that have them: files beside the client's own."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from holdfast.cli.files import read_file, write_file
from holdfast.cli.terminal import Screen

_CALLED: Final = "mcp__holdfast__"  # how these texts name tools of a server that is called holdfast


def place_agents(screen: Screen, client: str, folder: Path, name: str, *, dry_run: bool) -> None:
    """Write every file of a client below a folder; what is there and differs is kept beside it.

    Raises:
        ClientConfigError: a file cannot be read or written.
    """
    for path, text in _texts(client, name):
        write_file(screen, read_file(folder / path), text, dry_run=dry_run)


def remove_agents(screen: Screen, client: str, folder: Path, name: str, *, dry_run: bool) -> None:
    """Take away those that are as they were placed.

    Raises:
        ClientConfigError: a file cannot be read.
    """
    for path, text in _texts(client, name):
        found = read_file(folder / path)
        if found.data is None:
            continue
        if found.text != text:
            screen.say(f"{found.path}: it was changed, and stays")
            continue
        screen.say(f"{'Would be removed' if dry_run else 'Removed'}: {found.path}")
        if not dry_run:
            found.path.unlink()


def _texts(client: str, name: str) -> Iterator[tuple[str, str]]:
    """Each file's path and text, for a server of this name."""
    for path, file in _below(files("holdfast") / "clients" / client, ""):
        yield path, file.read_text("utf-8").replace(_CALLED, f"mcp__{name}__")


def _below(folder: Traversable, before: str) -> Iterator[tuple[str, Traversable]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        path = f"{before}{entry.name}"
        if entry.is_dir():
            yield from _below(entry, f"{path}/")
        else:
            yield path, entry
