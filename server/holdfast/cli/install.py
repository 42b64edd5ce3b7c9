"""install and uninstall: Holdfast's entry in a client's file, shown before it is written, with a backup beside it.

A change is first made to the text and then read back: what comes out must be what was there, but for the entry. For
clients that have subagents, commands or skills, those that tend the memory are files beside the client's own.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final, Literal

from holdfast.cli import files as jsontext
from holdfast.cli import files as toml
from holdfast.cli.files import read_file, write_file
from holdfast.cli.hooks import hooks_place, presence_variables, remove_hooks, tell_presence, wants_presence
from holdfast.cli.terminal import DONE, Screen, out
from holdfast.errors import ClientConfigError, InvalidArgumentError
from holdfast.inject import inject
from holdfast.model.secrets import redact

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
        hooks: its file with hooks that call a tool of a server; None where it has no such hooks.
        project_hooks: the same in a project's folder.
        name: what the command line calls it.
    """

    user: Path
    project: Path | None = None
    key: str = SERVERS
    form: Form = "json"
    typed: bool = False
    agents: Path | None = None
    project_agents: Path | None = None
    hooks: Path | None = None
    project_hooks: Path | None = None
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
            hooks=(Path(claude) if claude else home / ".claude") / "settings.json",
            project_hooks=Path(".claude/settings.json"),
        ),
        "claude-desktop": Client(applications / "Claude" / "claude_desktop_config.json"),
        "codex": Client(
            (Path(codex) if codex else home / ".codex") / "config.toml",
            project=Path(".codex/config.toml"), key="mcp_servers", form="toml",
            agents=Path(codex) if codex else home / ".codex",
            hooks=(Path(codex) if codex else home / ".codex") / "hooks.json",
            project_hooks=Path(".codex/hooks.json"),
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


Data = dict[str, Any]


def read(client: Client, text: str) -> Data:
    """What a client's file says.

    Raises:
        ClientConfigError: the client could not read it either, or it has forms that cannot be kept.
    """
    try:
        data = tomllib.loads(text) if client.form == "toml" else _json(_plain(client, text))
    except (ValueError, RecursionError) as error:
        form = {"toml": "TOML", "json": "plain JSON", "jsonc": "JSON"}[client.form]
        raise ClientConfigError(
            f"The client's file is no {form}; nothing was changed.",
            f"Mend it, or add by hand what `{_printing(client)}` shows.",
        ) from error
    if not isinstance(data, dict) or not isinstance(data.get(client.key, {}), dict):
        raise ClientConfigError(
            f"The client's file has no list of servers under {client.key}; nothing was changed.", "Mend it by hand."
        )
    return data


def entry_in(client: Client, text: str, name: str) -> Data | None:
    """A server's entry, or None.

    Raises:
        ClientConfigError: as for `read`.
    """
    found = read(client, text).get(client.key, {}).get(name)
    return found if isinstance(found, dict) else None


def arguments_in(client: Client, text: str, name: str) -> list[Any]:
    """With which arguments a server's entry starts it; none where there is no entry.

    Raises:
        ClientConfigError: as for `read`.
    """
    given = (entry_in(client, text, name) or {}).get("args")
    return given if isinstance(given, list) else []


def variables_in(client: Client, text: str, name: str) -> dict[str, Any]:
    """The environment that a server's entry gives it; none where there is no entry.

    Raises:
        ClientConfigError: as for `read`.
    """
    given = (entry_in(client, text, name) or {}).get("env")
    return given if isinstance(given, dict) else {}


def with_entry(client: Client, text: str, name: str, entry: Mapping[str, Any]) -> str:
    """The text with an entry. Keys and variables of an earlier one that this one does not speak of stay.

    Raises:
        ClientConfigError: as for `read`, or the file's form does not let an entry be added.
    """
    data = read(client, text)
    old = data.get(client.key, {}).get(name)
    merged = _merged(old, entry) if isinstance(old, dict) else dict(entry)
    if old == merged:
        return text
    wanted = {**data, client.key: {**data.get(client.key, {}), name: merged}}
    path = (client.key, name)
    if client.form != "toml":
        return _checked(client, jsontext.with_member(text, _plain(client, text), path, merged), wanted)
    for made in (toml.with_table(text, path, merged), toml.appended(toml.without_table(text, path), path, merged)):
        if _says(made, wanted):
            return made
    raise _unchangeable(client)


def without_entry(client: Client, text: str, name: str) -> str:
    """The text without that entry; the same text where there is none.

    Raises:
        ClientConfigError: as for `with_entry`.
    """
    data = read(client, text)
    if name not in data.get(client.key, {}):
        return text
    servers = {key: value for key, value in data[client.key].items() if key != name}
    wanted = {**data, client.key: servers}
    path = (client.key, name)
    rest = wanted if servers else {key: value for key, value in data.items() if key != client.key}
    if client.form != "toml":
        made = jsontext.without_member(text, _plain(client, text), path)
        return _checked(client, made, rest if client.key not in read(client, made) else wanted)
    made = toml.without_table(text, path)
    if _says(made, wanted) or _says(made, rest):
        return made
    raise _unchangeable(client)


def shown(client: Client, name: str, entry: Mapping[str, Any]) -> str:
    """An entry as the client's file has it, to be put there by hand."""
    if client.form == "toml":
        return toml.appended("", (client.key, name), entry)
    return jsontext.with_member("", "", (client.key, name), entry)


def _merged(old: Data, entry: Mapping[str, Any]) -> Data:
    variables = {**old.get("env", {}), **entry.get("env", {})}
    kept = {key: value for key, value in old.items() if key != "env"}
    return {**kept, **entry} | ({"env": variables} if variables or "env" in old else {})


def _checked(client: Client, text: str, wanted: Data) -> str:
    """A text that says what is wanted.

    Raises:
        ClientConfigError: it does not.
    """
    said, meant = (json.dumps(data, sort_keys=True) for data in (read(client, text), wanted))
    if said != meant:  # compared as text, since NaN does not equal itself
        raise _unchangeable(client)
    return text


def _says(text: str, wanted: Data) -> bool:
    try:
        return tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        return False


def _unchangeable(client: Client) -> ClientConfigError:
    return ClientConfigError(
        "The client's file is written in a way that this command cannot change safely; nothing was changed.",
        f"Change the entry by hand; `{_printing(client)}` shows one.",
    )


def _printing(client: Client) -> str:
    return "holdfast install print" if client.name == "print" else f"holdfast install {client.name} --print"


def _plain(client: Client, text: str) -> str:
    return jsontext.plain(text) if client.form == "jsonc" else text


def _json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_unique) if text.strip() else {}


def _unique(pairs: list[tuple[str, Any]]) -> Data:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


_CALLED: Final = "mcp__holdfast__"  # how these texts name tools of a server that is called holdfast

# By client and path: the SHA-256 of every text that earlier versions placed and this one does not.
_EARLIER: Final[Mapping[str, Mapping[str, frozenset[str]]]] = {
    "claude-code": {
        "agents/holdfast-maintain.md": frozenset({"fdcf1ab3da2cba308b5980caa09c554b24e27b4b5365facc6162aa01cd86c004"}),
        "commands/holdfast-maintain.md": frozenset(
            {"3552cd7fed489d11e8cbca09a9687d5354f1d051666d8d77ba05b95692192268"}
        ),
    },
    "codex": {
        "skills/holdfast-maintain/SKILL.md": frozenset(
            {"a7808dfe5635f70072c8648d5019653d0e8a27f4dc8696b463339a6651912d7f"}
        ),
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


_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PREFIX: Final = "HOLDFAST_"
_OWN: Final = frozenset({"HOLDFAST_SPACE", "HOLDFAST_NOW", "HOLDFAST_CLIENTS"})  # of one project or one run
_SECRET: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD")
_HARMLESS: Final = frozenset({"HOLDFAST_SECRETS", "HOLDFAST_MAX_NOW_TOKENS"})  # say how secrets are met, how much fits


def run_install(options: argparse.Namespace) -> int:
    """Put the entry in, or print it for `print`."""
    name = _name(options.name)
    variables, left_out = _variables(options, os.environ)
    screen = out()
    client = _client(options)
    if options.client == "print" or options.print:
        entry = entry_for(client, server_command(), variables, admin=bool(options.admin))
        screen.say(shown(client, name, entry).rstrip())
        return DONE
    agents = _agents(options, client)
    file = read_file(_place(options, client))
    hooks = client.project_hooks if options.project else client.hooks
    present = wants_presence(options, screen, variables_in(client, file.text, name), hooks)
    if present is not None:
        variables |= presence_variables(options.client, os.environ, on=present)
    if present:
        hooks = hooks_place(options.client, hooks)
        agents = agents or _agents_place(options, client)
    admin = options.admin
    if admin is None and (admin := "--admin" in arguments_in(client, file.text, name)):
        screen.say("The entry has --admin, and keeps it; --no-admin takes it out.")
    entry = entry_for(client, server_command(), variables, admin=admin)
    changed = write_file(screen, file, with_entry(client, file.text, name, entry), dry_run=options.dry_run)
    if agents is not None:
        place_agents(screen, options.client, agents, name, dry_run=options.dry_run)
    if present is not None and hooks is not None:
        changed |= tell_presence(options, screen, hooks.absolute(), name, on=present)
    for variable in left_out:
        screen.say(f"{variable} is set here and may hold a secret: it was not written; give it to the client yourself.")
    if changed:
        screen.say("Start the client anew: it reads this file when it starts.")
    return DONE


def run_whisper(options: argparse.Namespace) -> int:
    """Presence under the name that Ormah's users know it by: set it up, or answer a hook.

    A hook is answered by `holdfast.inject` before any of this is imported; it is here for those who ask what there is.
    """
    if options.action == "setup":
        return run_install(options)
    given = [(f"--{name}", getattr(options, name)) for name in ("home", "seconds")]
    return inject([str(part) for name, value in given if value is not None for part in (name, value)])


def run_uninstall(options: argparse.Namespace) -> int:
    """Take the entry out, and the agents, commands and skills that are as they were placed."""
    name, client, screen = _name(options.name), _client(options), out()
    if options.client == "print":
        raise InvalidArgumentError("There is no client to take it out of.", "Name one.")
    agents = _agents(options, client)
    file = read_file(_place(options, client))
    hooks = client.project_hooks if options.project else client.hooks
    if hooks is not None and not options.config:
        remove_hooks(screen, hooks.absolute(), name, dry_run=options.dry_run)
    write_file(screen, file, without_entry(client, file.text, name), dry_run=options.dry_run)
    if agents is None and not options.config:
        agents = client.project_agents if options.project else client.agents
    if agents is not None:
        remove_agents(screen, options.client, agents.absolute(), name, dry_run=options.dry_run)
    return DONE


def server_command() -> list[str]:
    """How a client starts this installation: the command beside this interpreter, else the interpreter itself."""
    folder = Path(sys.executable).absolute().parent
    command = folder / ("holdfast.exe" if sys.platform == "win32" else "holdfast")
    return (
        [str(command)] if os.access(command, os.X_OK) else [str(folder / Path(sys.executable).name), "-m", "holdfast"]
    )


def _client(options: argparse.Namespace) -> Client:
    return clients(os.environ, Path.home()).get(options.client) or Client(Path())


def _place(options: argparse.Namespace, client: Client) -> Path:
    """The file; where it is a link, what that leads to.

    Raises:
        InvalidArgumentError: the client has no files for single projects.
    """
    if options.config:
        return Path(options.config).expanduser().resolve()
    if not options.project:
        return client.user.resolve()
    if client.project is None:
        raise InvalidArgumentError("This client has no file for one project.", "Leave --project out.")
    return client.project.resolve()


def _agents(options: argparse.Namespace, client: Client) -> Path | None:
    """Where the client looks for subagents, commands and skills; None where none were asked for.

    Raises:
        InvalidArgumentError: nowhere.
    """
    return _agents_place(options, client) if options.agents else None


def _agents_place(options: argparse.Namespace, client: Client) -> Path | None:
    place = client.project_agents if options.project else client.agents
    if place is None and options.agents:
        raise InvalidArgumentError("There are no agents for this client, or not for a project.", "Leave --agents out.")
    return place and place.absolute()


def _name(given: str) -> str:
    if not _NAME.fullmatch(given):
        raise InvalidArgumentError("--name has letters that not all clients take.", "Use letters, digits, - and _.")
    return given


def _variables(options: argparse.Namespace, environ: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """What the server is given: what is set here for Holdfast, but for secrets, then what was asked for."""
    ours = sorted(name for name in environ.keys() - _OWN if name.startswith(_PREFIX) and environ[name])
    kept = (name for name in ours if name in _HARMLESS or not (_SECRET.search(name) or redact(environ[name]).labels))
    variables = {name: environ[name] for name in kept}
    for given in options.env:
        name, sign, value = given.partition("=")
        if not sign or not _VARIABLE.fullmatch(name):
            raise InvalidArgumentError("--env is no NAME=VALUE.", "Write --env HOLDFAST_ENCODER=none, say.")
        variables[name] = value
    if options.home:
        variables["HOLDFAST_HOME"] = options.home
    if "HOLDFAST_HOME" in variables:  # the client starts the server who knows where
        variables["HOLDFAST_HOME"] = str(Path(variables["HOLDFAST_HOME"]).expanduser().absolute())
    return variables, [name for name in ours if name not in variables]
