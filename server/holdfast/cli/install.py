"""install and uninstall: one entry in a client's file, shown before it is written, with a backup beside the file."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from holdfast.cli import entries
from holdfast.cli.agents import place_agents, remove_agents
from holdfast.cli.clients import Client, clients, entry_for
from holdfast.cli.files import read_file, write_file
from holdfast.cli.terminal import DONE, out
from holdfast.errors import InvalidArgumentError
from holdfast.model.secrets import redact

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
        screen.say(entries.shown(client, name, entry).rstrip())
        return DONE
    agents = _agents(options, client)
    file = read_file(_place(options, client))
    admin = options.admin
    if admin is None and (admin := "--admin" in entries.arguments_in(client, file.text, name)):
        screen.say("The entry has --admin, and keeps it; --no-admin takes it out.")
    entry = entry_for(client, server_command(), variables, admin=admin)
    changed = write_file(screen, file, entries.with_entry(client, file.text, name, entry), dry_run=options.dry_run)
    if agents is not None:
        place_agents(screen, options.client, agents, name, dry_run=options.dry_run)
    for variable in left_out:
        screen.say(f"{variable} is set here and may hold a secret: it was not written; give it to the client yourself.")
    if changed:
        screen.say("Start the client anew: it reads this file when it starts.")
    return DONE


def run_uninstall(options: argparse.Namespace) -> int:
    """Take the entry out, and the agents, commands and skills that are as they were placed."""
    name, client, screen = _name(options.name), _client(options), out()
    if options.client == "print":
        raise InvalidArgumentError("There is no client to take it out of.", "Name one.")
    agents = _agents(options, client)
    file = read_file(_place(options, client))
    write_file(screen, file, entries.without_entry(client, file.text, name), dry_run=options.dry_run)
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
    if not options.agents:
        return None
    place = client.project_agents if options.project else client.agents
    if place is None:
        raise InvalidArgumentError("There are no agents for this client, or not for a project.", "Leave --agents out.")
    return place.absolute()


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
