"""The sockets in a memory folder over which a hook's command asks a running server: where they are, and who may ask.

Only the standard library is imported, and little of it: a hook stands in the way of a prompt.
"""

from __future__ import annotations

import os
import socket
import sys
from typing import Final

SOCKETS: Final = os.path.join(".holdfast", "sockets")  # noqa: PTH118 - pathlib is a tenth of the start
MOST_READ: Final = 4 << 20  # bytes of the hook's JSON
LONGEST_NAME: Final = 100  # bytes of a socket's path that every system takes


class reachable:  # noqa: N801 - used as a function
    """A socket's path in a form that the system takes, for as long as the block lasts.

    A longer one is named by way of its open folder, where the system can do that.

    Args:
        path: of the socket.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._folder = -1

    def __enter__(self) -> str:
        if len(os.fsencode(self._path)) <= LONGEST_NAME:
            return self._path
        if sys.platform != "linux":
            raise OSError("the path is too long for a socket")
        folder, name = os.path.split(self._path)
        self._folder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        return f"/proc/self/fd/{self._folder}/{name}"

    def __exit__(self, *_error: object) -> None:
        if self._folder >= 0:
            os.close(self._folder)
            self._folder = -1


def is_of_this_user(connection: socket.socket) -> bool:
    """Whether the other end is a process of the same user, where the system tells; else the folder's mode decides."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(peer[4:8], sys.byteorder) == os.getuid()
