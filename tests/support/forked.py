"""Servers that start at once, for tests that need thousands: a process imports the code once and divides for each.

Each is a process of its own with its own pipes and environment, and does all that `python -m holdfast` does after its
imports. Linux alone.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Self

from processes import Stdio
from served import ERAS

WORKER = Path(__file__).with_name("fork_worker.py")
_MESSAGE = 64  # bytes: the longest thing that the worker says


class Forked(Stdio):
    """A server that was divided off, spoken to like any other over pipes."""

    def __init__(self, errors: Path, asked: BinaryIO, told: BinaryIO) -> None:
        self.era = ERAS[0]
        self._errors = errors
        self._asked = asked
        self._told = told
        self._last = 0

    def write(self, line: str | bytes) -> None:
        self._asked.write(line.encode() + b"\n" if isinstance(line, str) else line + b"\n")
        self._asked.flush()

    def read(self) -> dict[str, object]:
        line = self._told.readline()
        assert line, f"the server has ended: {self.stderr}"
        return self._message(line)


class Forks:
    """The process that divides; one server at a time. `more` is set in its environment before anything is loaded."""

    def __init__(self, environment: Mapping[str, str], more: Mapping[str, str]) -> None:
        self._environment = dict(environment)
        self._errors = Path(environment["HOME"]) / "stderr"
        self._worker, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = (sys.executable, WORKER, str(theirs.fileno()))
            own = {**environment, **more}
            self._process = subprocess.Popen(command, env=own, pass_fds=(theirs.fileno(),))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._worker.close()
        self._process.wait()

    @contextmanager
    def server(self, *arguments: str) -> Iterator[Forked]:
        """A new server; it is killed when the block ends, and has ended then."""
        (reads, asked), (told, writes) = os.pipe(), os.pipe()
        with self._errors.open("wb") as errors, open(asked, "wb") as asks, open(told, "rb") as tells:  # noqa: PTH123
            message = json.dumps({"arguments": arguments, "environment": self._environment}).encode()
            socket.send_fds(self._worker, [message], [reads, writes, errors.fileno()])
            os.close(reads)
            os.close(writes)
            process = int(self._worker.recv(_MESSAGE))
            server = Forked(self._errors, asks, tells)
            try:
                yield server
                assert "Traceback" not in server.stderr
                assert "early_answer_differs" not in server.stderr
            finally:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
                assert self._worker.recv(_MESSAGE) == b"ended"
                with suppress(BrokenPipeError):
                    asks.close()
