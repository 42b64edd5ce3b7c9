"""Subagents, commands and skills that tend the memory, for clients that have them: files beside the client's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from holdfast.cli.files import read_file, write_file
from holdfast.cli.terminal import Screen

_CALLED: Final = "mcp__holdfast__"  # how these texts name tools of a server that is called holdfast

# By client and path: the SHA-256 of every text that earlier versions placed and this one does not.
_EARLIER: Final[Mapping[str, Mapping[str, frozenset[str]]]] = {
    "codex": {
        "prompts/holdfast-maintain.md": frozenset(
            {"dc9447cb4eb6bc0c2d7958c75551075de1b309d0980d826d832dfe483b35be97"}  # Codex reads no prompts since 0.117
        ),
    },
}


def place_agents(screen: Screen, client: str, folder: Path, name: str, *, dry_run: bool) -> None:
    """Write every file of a client below a folder; what is there and differs is kept beside it.

    Raises:
        ClientConfigError: a file cannot be read or written.
    """
    texts = dict(_texts(client, name))
    for path, text in texts.items():
        write_file(screen, read_file(folder / path), text, dry_run=dry_run)
    for path in _EARLIER.get(client, {}).keys() - texts.keys():
        _remove(screen, client, folder, path, name, None, dry_run=dry_run)


def remove_agents(screen: Screen, client: str, folder: Path, name: str, *, dry_run: bool) -> None:
    """Take away those that are as this or an earlier version placed them, and name the others.

    Raises:
        ClientConfigError: a file cannot be read.
    """
    texts = dict(_texts(client, name))
    for path in sorted(texts.keys() | _EARLIER.get(client, {}).keys()):
        _remove(screen, client, folder, path, name, texts.get(path), dry_run=dry_run)


def _remove(
    screen: Screen, client: str, folder: Path, path: str, name: str, text: str | None, *, dry_run: bool
) -> None:
    found = read_file(folder / path)
    if found.data is None:
        return
    placed = found.text.replace(f"mcp__{name}__", _CALLED)
    earlier = _EARLIER.get(client, {}).get(path, frozenset())
    if found.text != text and sha256(placed.encode()).hexdigest() not in earlier:
        screen.say(f"{found.path}: it was changed, and stays")
        return
    screen.say(f"{'Would be removed' if dry_run else 'Removed'}: {found.path}")
    if not dry_run:
        found.path.unlink()
        if found.path.name == "SKILL.md" and not any(found.path.parent.iterdir()):
            found.path.parent.rmdir()


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
