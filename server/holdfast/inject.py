"""`holdfast whisper inject`: a hook that is a command, for clients whose hooks cannot call a tool.

It reads the hook's JSON from standard input and prints the client's JSON, or nothing. A server of the same user that
serves the same memory is asked over its socket; then nothing is imported but a few modules of Python's own, and the
settings where the memory is in a database. Where none runs, notes are found by their words alone, in the index as it
is. Whatever fails, it says nothing and ends well, within its limit: it stands in the way of a prompt.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import sys
from typing import Any, Final

from holdfast.sockets import MOST_READ, SOCKETS, is_of_this_user, reachable

SECONDS: Final = 2.0
MOST_TRIED: Final = 32  # servers; those that are gone cost nothing
_TAKING_SECONDS: Final = 0.5  # for a server to take the connection
_LEFT_OUT: Final = ("rich", "sqlite_vec")  # half of the start, for coloured logs and for vectors: neither is needed
_FIELDS: Final = {"prompt": "prompt", "session_id": "session_id", "cwd": "cwd", "hook_event_name": "event"}

Given = dict[str, str]


def inject(arguments: list[str]) -> int:
    """Answer one hook; always 0."""
    try:
        seconds = _options(arguments)
        _limit(seconds)
        said = _answer(_read(), seconds)
        _say(said.encode())
    except Exception:  # noqa: BLE001, S110 - a hook that fails is in the user's way, and nobody reads what it says
        pass
    finally:
        _lift_limit()
    return 0


def _options(arguments: list[str]) -> float:
    """The limit in seconds; where the folder is goes to the environment."""
    seconds = SECONDS
    for name, value in zip(arguments[::2], arguments[1::2], strict=False):
        if name == "--home":
            os.environ["HOLDFAST_HOME"] = os.path.abspath(os.path.expanduser(value))  # noqa: PTH100, PTH111 - as above
        elif name == "--seconds":
            seconds = min(60.0, max(0.1, float(value)))
    return seconds


def _limit(seconds: float) -> None:
    """End the process, silently and well, when this time is over."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
        signal.setitimer(signal.ITIMER_REAL, seconds)
        return
    from threading import Timer  # noqa: PLC0415 - only where there are no such signals

    timer = Timer(seconds, os._exit, [0])
    timer.daemon = True
    timer.start()


def _lift_limit() -> None:
    """The interpreter gives its signals back as it ends: the limit would end the process as a failure then."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)


def _read() -> Given:
    """What the hook tells, by the names of the tool's arguments."""
    asked: Any = json.loads(sys.stdin.buffer.read(MOST_READ))
    return {ours: asked[name] for name, ours in _FIELDS.items() if isinstance(asked.get(name), str)}


def _say(said: bytes) -> None:
    """Past the buffer: what it holds is tried once more when the process ends, which would end it as a failure."""
    while said:
        said = said[os.write(sys.stdout.fileno(), said) :]


def _answer(given: Given, seconds: float) -> str:
    home = _home()
    for path in _sockets(os.path.join(home, SOCKETS)):  # noqa: PTH118 - as above
        said = _asked(path, given, seconds)
        if said is not None:
            return "" if said == "{}" else said
    return _by_words(given)


def _by_words(given: Given) -> str:
    """From the index alone; where that does not tell it, from the whole engine, which takes several times as long."""
    import sqlite3  # noqa: PLC0415 - only where no server runs

    from holdfast.from_index import NotFromIndexError, by_words  # noqa: PLC0415 - as above
    from holdfast.settings import load_settings  # noqa: PLC0415 - as above

    try:
        return by_words(given, load_settings(os.environ))
    except (NotFromIndexError, sqlite3.Error):
        for name in _LEFT_OUT:
            sys.modules.setdefault(name, None)  # type: ignore[arg-type] # who asks for it is told that it is not there
        from holdfast import whispering  # noqa: PLC0415 - as above

        return whispering.by_words(given)


def _home() -> str:
    """Where the servers of this memory have their sockets; of a memory in a database that is not the memory folder.

    Raises:
        SettingsError: the settings may name a database and cannot be used.
    """
    home = _folder()
    if not os.environ.get("HOLDFAST_STORE") and not _may_name_a_store(os.path.join(home, "config.yaml")):  # noqa: PTH118
        return home
    from holdfast.settings import load_settings  # noqa: PLC0415 - only where it is needed

    return str(load_settings(os.environ).home)


def _may_name_a_store(config: str) -> bool:
    """Whether the file may name a database: it says so somewhere, or may say it in another spelling."""
    try:
        with open(config, "rb") as file:  # noqa: PTH123 - as above
            text = file.read()
    except FileNotFoundError:
        return False
    return b"store" in text or b"\\" in text


def _folder() -> str:
    given = os.environ.get("HOLDFAST_HOME")
    if given:
        return os.path.abspath(os.path.expanduser(given))  # noqa: PTH100, PTH111 - as above
    system: str = sys.platform
    if system == "linux":  # as platformdirs has it, which takes longer to import than all of this
        data = os.environ.get("XDG_DATA_HOME", "").strip() or os.path.expanduser("~/.local/share")  # noqa: PTH111
        return os.path.join(data, "holdfast")  # noqa: PTH118 - as above
    import platformdirs  # noqa: PLC0415 - only where it is needed

    return platformdirs.user_data_dir("holdfast", appauthor=False)


def _sockets(folder: str) -> list[str]:
    """Sockets of this user in the folder, those of the servers that started last first."""
    try:
        with os.scandir(folder) as entries:
            found = [(entry.stat(follow_symlinks=False), entry.path) for entry in entries]
    except OSError:
        return []
    own = os.getuid()
    good = [(seen.st_mtime, path) for seen, path in found if stat.S_ISSOCK(seen.st_mode) and seen.st_uid == own]
    return [path for _, path in sorted(good, reverse=True)[:MOST_TRIED]]


def _asked(path: str, given: Given, seconds: float) -> str | None:
    """A server's answer; None where nobody listens there any more.

    Who has taken the question is waited for: asked elsewhere again, the session would count as told.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        try:
            asking.settimeout(_TAKING_SECONDS)
            with reachable(path) as short:
                asking.connect(short)
            if not is_of_this_user(asking):
                return None
        except OSError:
            return None
        asking.settimeout(seconds)
        asking.sendall(json.dumps(given).encode() + b"\n")
        parts = []
        while part := asking.recv(65536):
            parts.append(part)
    return b"".join(parts).decode() or None
