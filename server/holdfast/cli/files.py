"""A client's file: read whole, shown as a difference, kept beside itself and replaced at once."""

from __future__ import annotations

import difflib
import os
import shutil
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from holdfast.cli.terminal import Screen, clean
from holdfast.errors import ClientConfigError
from holdfast.model.secrets import redact

_MARK: Final = "\ufeff"


@dataclass(frozen=True, slots=True)
class ClientFile:
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


def read_file(path: Path) -> ClientFile:
    """The file at a path.

    Raises:
        ClientConfigError: it cannot be read, or not as text.
    """
    try:
        data = path.read_bytes()
        return ClientFile(path, data, data.decode("utf-8").removeprefix(_MARK).replace("\r\n", "\n"))
    except FileNotFoundError:
        return ClientFile(path, None, "")
    except UnicodeDecodeError as error:
        raise ClientConfigError("The client's file is no UTF-8; nothing was changed.", "Mend it by hand.") from error
    except OSError as error:
        raise ClientConfigError(f"The client's file cannot be read: {error.strerror}.") from error


def write_file(screen: Screen, file: ClientFile, after: str, *, dry_run: bool) -> bool:
    """Show what changes, and change it; returns whether it was changed.

    Raises:
        ClientConfigError: it was changed meanwhile, or cannot be written; it is as it was.
    """
    if file.text == after:
        screen.say(f"{file.path}: nothing to change")
        return False
    _show(screen, file, after)
    if dry_run:
        screen.say("Nothing was changed: this is what would be.")
        return False
    if read_file(file.path) != file:
        raise ClientConfigError("The client's file was changed a moment ago; nothing was written.", "Try again.")
    try:
        backup = _back_up(file.path)
        _replace(file.path, file.spelled(after))
    except OSError as error:
        raise ClientConfigError(
            f"The client's file cannot be written: {error.strerror}; it is as it was.", "Check its permissions."
        ) from error
    screen.say(f"Written: {file.path}" + (f" (before: {backup.name})" if backup else ""))
    return True


def _show(screen: Screen, file: ClientFile, after: str) -> None:
    name = str(file.path)
    for line in difflib.unified_diff(file.text.splitlines(), after.splitlines(), name, name, lineterm=""):
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
        told = clean(redact(line).text)  # other servers' keys stand in the same file
        screen.say(screen.paint(told, style) if style else told)


def _back_up(path: Path) -> Path | None:
    """A copy beside the file under a name that nothing has yet; None where there is no file."""
    if not path.exists():
        return None
    stem = f"{path.name}.holdfast-backup-{datetime.now().astimezone():%Y%m%dT%H%M%S}"
    names = (f"{stem}{'-' * bool(number)}{number or ''}" for number in range(1000))
    backup = next(place for name in names if not os.path.lexists(place := path.with_name(name)))
    _create(backup, path.read_bytes())
    shutil.copystat(path, backup)
    return backup


def _replace(path: Path, data: bytes) -> None:
    """Put bytes in a file's place, whole or not at all; it keeps its mode, a new one is nobody else's."""
    path.parent.mkdir(parents=True, exist_ok=True)
    waiting = path.with_name(f".{path.name}.holdfast-{os.getpid()}")
    try:
        _create(waiting, data)
        if path.exists():
            shutil.copymode(path, waiting)
        waiting.replace(path)
    finally:
        waiting.unlink(missing_ok=True)


def _create(path: Path, data: bytes) -> None:
    """A new file that nobody else may read, also while it is being written."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:  # noqa: PTH123 - a mode
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
