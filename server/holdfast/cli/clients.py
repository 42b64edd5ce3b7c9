"""The clients that Holdfast can be added to: where each keeps its servers, and in which form."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

Form = Literal["json", "jsonc", "toml"]  # jsonc: JSON with comments and trailing commas

SERVERS: Final = "mcpServers"  # the key that most clients have
START_SECONDS: Final = 30  # Codex waits ten, which a cold disk may need


@dataclass(frozen=True, slots=True)
class Client:
    """One client.

    Attributes:
        user: its file for all projects of a user.
        project: its file in a project's folder; None where it has none.
        key: under which its file has the servers.
        typed: whether an entry says what transport it is.
        agents: where it looks for subagents, commands and skills; None where it has none.
        project_agents: the same in a project's folder.
        name: what the command line calls it.
    """

    user: Path
    project: Path | None = None
    key: str = SERVERS
    form: Form = "json"
    typed: bool = False
    agents: Path | None = None
    project_agents: Path | None = None
    name: str = "print"


def clients(environ: Mapping[str, str], home: Path, platform: str = sys.platform) -> dict[str, Client]:
    """All clients by name, with their places on this machine.

    Args:
        environ: the environment, in which some clients let their places be named.
        home: the user's home folder.
        platform: as `sys.platform` has it.
    """
    applications = _applications(environ, home, platform)
    claude = environ.get("CLAUDE_CONFIG_DIR")
    codex = environ.get("CODEX_HOME")
    known = {
        "claude-code": Client(
            (Path(claude) if claude else home) / ".claude.json", project=Path(".mcp.json"), typed=True,
            agents=Path(claude) if claude else home / ".claude", project_agents=Path(".claude"),
        ),
        "claude-desktop": Client(applications / "Claude" / "claude_desktop_config.json"),
        "codex": Client(
            (Path(codex) if codex else home / ".codex") / "config.toml",
            project=Path(".codex/config.toml"), key="mcp_servers", form="toml",
            agents=Path(codex) if codex else home / ".codex",
        ),
        "cursor": Client(home / ".cursor" / "mcp.json", project=Path(".cursor/mcp.json")),
        "gemini": Client(
            home / ".gemini" / "settings.json", project=Path(".gemini/settings.json"), form="jsonc"
        ),
        "vscode": Client(
            applications / "Code" / "User" / "mcp.json", project=Path(".vscode/mcp.json"), key="servers",
            form="jsonc", typed=True,
        ),
        "windsurf": Client(home / ".codeium" / "windsurf" / "mcp_config.json"),
    }  # fmt: skip
    return {name: replace(client, name=name) for name, client in known.items()}


def _applications(environ: Mapping[str, str], home: Path, platform: str) -> Path:
    """Where applications keep what they know of a user."""
    if platform == "win32":
        return Path(environ.get("APPDATA") or home / "AppData" / "Roaming")
    if platform == "darwin":
        return home / "Library" / "Application Support"
    return Path(environ.get("XDG_CONFIG_HOME") or home / ".config")


def entry_for(client: Client, command: list[str], variables: Mapping[str, str], *, admin: bool) -> dict[str, Any]:
    """What a client is to know of the server.

    Args:
        client: which client.
        command: an absolute path, and arguments.
        variables: what the server finds in its environment beside what the client passes on.
        admin: the server has the admin namespace.
    """
    entry: dict[str, Any] = {"type": "stdio"} if client.typed else {}
    entry |= {"command": command[0], "args": [*command[1:], *(["--admin"] if admin else [])]}
    if client.form == "toml":
        entry |= {"required": True, "startup_timeout_sec": START_SECONDS}
        # what destroys is there with the admin namespace alone; "auto" goes by what the tools say of themselves
        entry |= {"default_tools_approval_mode": "auto" if admin else "approve"}
    return entry | ({"env": dict(variables)} if variables else {})
