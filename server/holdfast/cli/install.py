"""install and uninstall: one entry in a client's file, shown before it is written, with a backup beside the file."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from holdfast.cli import entries
from holdfast.cli.clients import SERVERS, Client, clients, entry_for
from holdfast.cli.terminal import DONE, Screen, as_json, clean, out
from holdfast.errors import ClientConfigError, InvalidArgumentError

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PREFIX: Final = "HOLDFAST_"
_OWN: Final = frozenset({"HOLDFAST_SPACE", "HOLDFAST_NOW", "HOLDFAST_CLIENTS"})  # of one project or one run
_SECRET: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD")
_MARK: Final = "\ufeff"


@dataclass(frozen=True, slots=True)
class _File:
    """A client's file: its bytes, None where it is not there yet, and its text with plain newlines."""

    path: Path
    data: bytes | None
    text: str

    def spelled(self, text: str) -> bytes:
        """Another text in the way that this file is written: with its byte order mark and its newlines."""
        data = self.data or b""
        mark = _MARK if data.startswith(_MARK.encode()) else ""
        crlf = 0 < data.count(b"\n") == data.count(b"\r\n")
        return (mark + (text.replace("\n", "\r\n") if crlf else text)).encode()


def run_install(options: argparse.Namespace) -> int:
    """Put the entry in, or print it for `print`."""
    name = _name(options.name)
    variables, left_out = _variables(options, os.environ)
    screen = out()
    client = _client(options)
    entry = entry_for(client, server_command(), variables, admin=options.admin)
    if options.client == "print":
        screen.say(as_json({SERVERS: {name: entry}}))
        return DONE
    file = _read(_place(options, client))
    _write(screen, file, entries.with_entry(client, file.text, name, entry), dry_run=options.dry_run)
    for variable in left_out:
        screen.say(f"{variable} is set here and may hold a secret: it was not written; give it to the client yourself.")
    return DONE


def run_uninstall(options: argparse.Namespace) -> int:
    """Take the entry out."""
    name, client = _name(options.name), _client(options)
    if options.client == "print":
        raise InvalidArgumentError("There is no client to take it out of.", "Name one.")
    file = _read(_place(options, client))
    _write(out(), file, entries.without_entry(client, file.text, name), dry_run=options.dry_run)
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


def _name(given: str) -> str:
    if not _NAME.fullmatch(given):
        raise InvalidArgumentError("--name has letters that not all clients take.", "Use letters, digits, - and _.")
    return given


def _variables(options: argparse.Namespace, environ: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """What the server is given: what is set here for Holdfast, but for secrets, then what was asked for."""
    ours = sorted(name for name in environ.keys() - _OWN if name.startswith(_PREFIX) and environ[name])
    variables = {name: environ[name] for name in ours if not _SECRET.search(name)}
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


def _read(path: Path) -> _File:
    try:
        data = path.read_bytes()
        return _File(path, data, data.decode("utf-8").removeprefix(_MARK).replace("\r\n", "\n"))
    except FileNotFoundError:
        return _File(path, None, "")
    except UnicodeDecodeError as error:
        raise ClientConfigError("The client's file is no UTF-8; nothing was changed.", "Mend it by hand.") from error
    except OSError as error:
        raise ClientConfigError(f"The client's file cannot be read: {error.strerror}.") from error


def _write(screen: Screen, file: _File, after: str, *, dry_run: bool) -> None:
    """Show what changes, and change it."""
    if file.text == after:
        screen.say(f"{file.path}: nothing to change")
        return
    _show(screen, file, after)
    if dry_run:
        screen.say("Nothing was changed: this is what would be.")
        return
    if _read(file.path) != file:
        raise ClientConfigError("The client's file was changed a moment ago; nothing was written.", "Try again.")
    try:
        backup = _back_up(file.path)
        _replace(file.path, file.spelled(after))
    except OSError as error:
        raise ClientConfigError(
            f"The client's file cannot be written: {error.strerror}; it is as it was.", "Check its permissions."
        ) from error
    screen.say(f"Written: {file.path}" + (f" (before: {backup.name})" if backup else ""))
    screen.say("Start the client again to see it.")


def _show(screen: Screen, file: _File, after: str) -> None:
    name = str(file.path)
    for line in difflib.unified_diff(file.text.splitlines(), after.splitlines(), name, name, lineterm=""):
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
        screen.say(screen.paint(clean(line), style) if style else clean(line))


def _back_up(path: Path) -> Path | None:
    """A copy beside the file under a name that nothing has yet; None where there is no file."""
    if not path.exists():
        return None
    stem = f"{path.name}.holdfast-backup-{datetime.now().astimezone():%Y%m%dT%H%M%S}"
    names = (f"{stem}{'-' * bool(number)}{number or ''}" for number in range(1000))
    backup = next(place for name in names if not (place := path.with_name(name)).exists())
    shutil.copy2(path, backup)
    return backup


def _replace(path: Path, data: bytes) -> None:
    """Put bytes in a file's place, whole or not at all; it keeps its mode, a new one is nobody else's."""
    path.parent.mkdir(parents=True, exist_ok=True)
    waiting = path.with_name(f".{path.name}.holdfast-{os.getpid()}")
    try:
        with open(os.open(waiting, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:  # noqa: PTH123 - a mode
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, waiting)
        waiting.replace(path)
    finally:
        waiting.unlink(missing_ok=True)
