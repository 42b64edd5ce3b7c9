"""Processes that start at once: one imports the code, which is most of a start, and divides for each.

Each is a process of its own, a child of the tests like any other, with its own pipes, folder and environment, and does
all that it does after its imports. How a server starts from nothing is for tests that are marked `whole_start`, and for
the long form. Where a process cannot be had in this way, it is started in the ordinary one.
"""

from __future__ import annotations

import ctypes
import inspect
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from subprocess import PIPE
from subprocess import CompletedProcess as Ended
from typing import Any, Self

WORKER = Path(__file__).with_name("fork_worker.py")
SERVER = Path(__file__).parents[2] / "server"
_MESSAGE = 64  # bytes: the longest thing that the worker says
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER: who becomes the parent of a process whose own has ended
_AT_THE_START = ("PYTHON", "LC_", "LANG", "LD_", "FASTMCP_")  # what a process reads then, or when it imports
_TAKEN = {"stdin", "stdout", "stderr", "cwd", "env", "text", "encoding", "start_new_session"}  # what a division can do
_RUNNING = ExitStack()  # what ends with the tests of this process
_whole = _is_long = False
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as servers do: on a busy machine threads spin


def whole_starts(*, wanted: bool, is_long: bool | None = None) -> None:
    """Whether processes are started in the ordinary way from now on; in the long form of a run all of them are."""
    global _whole, _is_long  # noqa: PLW0603 - one switch for all that a test starts
    _is_long = _is_long if is_long is None else is_long
    _whole = wanted or _is_long


@contextmanager
def divided() -> Iterator[None]:
    """In a test about starts: what is only to be compared with one starts at once, but for the long form."""
    before = _whole
    whole_starts(wanted=False)
    try:
        yield
    finally:
        whole_starts(wanted=before)


def begin(command: Sequence[str | Path], **options: Any) -> subprocess.Popen[Any]:
    """As `subprocess.Popen`; divided off where it is `python -m holdfast` of this project."""
    return _begun(command, options, divisible=command[1] == "-m")


def begin_program(command: Sequence[str | Path], **options: Any) -> subprocess.Popen[Any]:
    """The same for a program that imports this project, and finds it loaded: a file, or what follows `-c`."""
    return _begun(command, options, divisible=command[1] == "-c" or not str(command[1]).startswith("-"))


def _begun(command: Sequence[str | Path], options: dict[str, Any], *, divisible: bool) -> subprocess.Popen[Any]:
    parts = [str(part) for part in command]
    if divisible and not _whole and sys.platform == "linux" and _is_ours(parts, options):
        return _Divided(parts, **options)
    return subprocess.Popen(parts, **options)


def run(command: Sequence[str | Path], environment: Mapping[str, str], code: int | None = 0) -> Ended:
    """A command to its end, with what it said; it has to end with this code, if any."""
    how = begin if command[1] == "-m" else begin_program
    with how(command, env=environment, stdin=PIPE, stdout=PIPE, stderr=PIPE) as process:
        said, complained = process.communicate()
    assert code in (None, process.returncode), complained.decode()
    return Ended(process.args, process.returncode, said, complained)


def _is_ours(parts: Sequence[str], options: Mapping[str, Any]) -> bool:
    environment = options.get("env")
    if environment is None or options.keys() - _TAKEN or parts[0] != sys.executable:
        return False
    if parts[1] == "-m" and parts[2] != "holdfast":
        return False
    if str(SERVER) not in environment.get("PYTHONPATH", "").split(os.pathsep):
        return False
    said = {name: value for name, value in environment.items() if name.startswith(_AT_THE_START)}
    return all(os.environ.get(name) == value for name, value in said.items() if name != "PYTHONPATH")


class Forks:
    """The process that divides. `more` is set in its environment before anything is loaded."""

    def __init__(self, more: Mapping[str, str]) -> None:
        self._turn = threading.Lock()
        self._worker, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = (sys.executable, WORKER, str(theirs.fileno()))
            own = {**os.environ, "PYTHONPATH": str(SERVER), **more}
            self._process = subprocess.Popen(command, env=own, pass_fds=(theirs.fileno(),))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._worker.close()
        self._process.wait()

    def divide(self, wanted: Mapping[str, Any], handles: Sequence[int]) -> int:
        """The number of a new process, a child of this one."""
        with self._turn:
            _adopt(orphans=True)
            try:
                socket.send_fds(self._worker, [json.dumps(wanted).encode()], handles)
                number = int(self._worker.recv(_MESSAGE))
                assert self._worker.recv(_MESSAGE) == b"divided"
            finally:
                _adopt(orphans=False)
        return number

    def begin(self, command: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
        """As the function of this name, with this process."""
        return _Divided(command, of=self, **options)


def _adopt(*, orphans: bool) -> None:
    assert ctypes.CDLL(None).prctl(_SUBREAPER, int(orphans), 0, 0, 0) == 0


@cache
def _shared() -> Forks:
    return _RUNNING.enter_context(Forks({}))


def end_shared() -> None:
    """Stop the process that divides for all, if there is one."""
    _RUNNING.close()


class _Divided(subprocess.Popen[Any]):
    """A process that was divided off; all but its beginning is as ever."""

    def __init__(self, command: Sequence[str], *, of: Forks | None = None, **options: Any) -> None:
        self._forks = of or _shared()
        super().__init__(command, **options)

    def _execute_child(self, *given: Any) -> None:  # the one step that is another
        beginning = inspect.signature(subprocess.Popen._execute_child).parameters  # type: ignore[attr-defined]
        asked = dict(zip(list(beginning)[1:], given, strict=True))
        pipes = [asked[name] for name in ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")]
        handles = [own if pipe == -1 else pipe for own, pipe in zip((0, 1, 2), pipes[0:1] + pipes[3::2], strict=True)]
        wanted = {
            "arguments": asked["args"][1:],
            "environment": dict(asked["env"]),
            "folder": os.fspath(asked["cwd"] or Path.cwd()),
            "session": asked["start_new_session"],
            "umask": _umask(),
        }
        try:
            self.pid = self._forks.divide(wanted, handles)
            self._child_created = True
        finally:
            self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


def _umask() -> int:
    """That of this process, which nothing tells without changing it but this file."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("Umask:")), 8)
