"""A process that has imported a server, and divides into one whenever it is asked to; see forked.py.

The one argument is the handle of a socket. Each message there is JSON with the server's arguments and environment, and
brings the handles of its stdin, stdout and stderr. Told are the server's process id, and later that it has ended.
"""

from __future__ import annotations

import json
import os
import socket
import sys

import holdfast.running
import holdfast.stdio  # noqa: F401 - what a server imports when it starts
from holdfast.__main__ import main

LONGEST = 1 << 17  # bytes of a message


def divide(parent: socket.socket) -> None:
    """Answer messages until there are no more, or for good as the server that was asked for."""
    while True:
        message, handles, _, _ = socket.recv_fds(parent, LONGEST, 3)
        if not message:
            return
        child = os.fork()
        if child == 0:
            parent.close()
            serve(json.loads(message), handles)
        for handle in handles:
            os.close(handle)
        parent.sendall(b"%d" % child)
        os.waitpid(child, 0)
        parent.sendall(b"ended")


def serve(wanted: dict[str, object], handles: list[int]) -> None:
    """Be the server; ends the process."""
    for number, handle in enumerate(handles):
        os.dup2(handle, number)
        os.close(handle)
    os.environ.clear()
    os.environ.update(wanted["environment"])
    sys.exit(main(wanted["arguments"]))


if __name__ == "__main__":
    assert len(os.listdir("/proc/self/task")) == 1, "a process with several threads cannot be divided"  # noqa: PTH208
    divide(socket.socket(fileno=int(sys.argv[1])))
