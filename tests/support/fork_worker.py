"""A process that has imported a server, and divides into programs that need it; see forked.py.

The one argument is the handle of a socket. Each message there is JSON with a command, its environment and its folder,
and brings the handles of its stdin, stdout and stderr. Answered are the process id, and that the process is there.
"""

from __future__ import annotations

import gc
import importlib
import io
import json
import os
import runpy
import socket
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

from holdfast.settings import quieten_framework

LOADED = (  # what a server loads when it starts, and with its first requests, and what programs of tests load
    "anyio._backends._asyncio", "fastmcp.client", "fastmcp.server.middleware.dereference",
    "fastmcp.server.transforms.catalog", "inotify_simple", "jsonref", "jwt", "numpy", "sqlite_vec",
    "holdfast.cli.commands", "holdfast.http.server", "holdfast.index.search.finder",
    "holdfast.running", "holdfast.stdio", "holdfast.tools.admin.server", "holdfast.tools.agent",
    "holdfast.tools.server", "holdfast.tools.omi", "holdfast.tools.view.opening",
)  # fmt: skip
LONGEST = 1 << 17  # bytes of a message


def divide(parent: socket.socket) -> None:
    """Answer messages until there are no more, or for good as the program that was asked for."""
    while True:
        message, handles, _, _ = socket.recv_fds(parent, LONGEST, 3)
        if not message:
            return
        between = os.fork()
        if between == 0:
            program = os.fork()
            if program:  # its parent ends at once, so that it becomes a child of whoever asked
                parent.sendall(b"%d" % program)
                os._exit(0)
            parent.close()
            be(json.loads(message), handles)
        for handle in handles:
            os.close(handle)
        os.waitpid(between, 0)
        parent.sendall(b"divided")


def be(wanted: dict[str, Any], handles: list[int]) -> NoReturn:
    """Be that program; ends the process."""
    for number, handle in enumerate(handles):
        os.dup2(handle, number)
        os.close(handle)
        open_anew(number, ("stdin", "stdout", "stderr")[number])
    if wanted["session"]:
        os.setsid()
    os.umask(wanted["umask"])
    os.chdir(wanted["folder"])
    os.environ.clear()
    os.environ.update(wanted["environment"])
    time.tzset()
    program, *arguments = wanted["arguments"]
    if program == "-m":
        sys.exit(importlib.import_module("holdfast.__main__").main(arguments[1:]))
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if program == "-c":
        sys.argv[:], sys.path[:0] = ["-c", *arguments[1:]], ["", *paths]
        exec(arguments[0], {"__name__": "__main__"})  # noqa: S102 - as `python -c` does
    else:
        sys.argv[:], sys.path[:0] = [program, *arguments], [str(Path(program).parent), *paths]
        runpy.run_path(program, run_name="__main__")
    sys.exit(0)


def open_anew(number: int, name: str) -> None:
    """A stream knows what it was opened on: have one that knows what is there now."""
    old = getattr(sys, name)
    mode, unbuffered = ("rb", False) if name == "stdin" else ("wb", old.write_through)
    raw = open(number, mode, buffering=0 if unbuffered else -1, closefd=False)  # noqa: SIM115 - stays open
    lines = name == "stderr" or raw.isatty()
    stream = io.TextIOWrapper(raw, old.encoding, old.errors, line_buffering=lines, write_through=unbuffered)
    setattr(sys, name, stream)
    setattr(sys, f"__{name}__", stream)


def load() -> None:
    """Import what a server does, and start no thread by it."""
    quieten_framework(os.environ)  # as a server does, before it imports the framework
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for name in LOADED:
        importlib.import_module(name)
    assert len(os.listdir("/proc/self/task")) == 1, "a process with several threads cannot be divided"  # noqa: PTH208


if __name__ == "__main__":
    load()
    gc.freeze()  # what is loaded stays, in every process that comes of it
    divide(socket.socket(fileno=int(sys.argv[1])))
