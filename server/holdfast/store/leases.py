"""Whether another program has a file open for writing, as far as the system can tell.

Linux grants a read lease only where nobody has the file open for writing, not even by a mapping into memory. Elsewhere,
on a network disk or for a file of another user this is not known.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_F_SETSIG = 10
_REFUSED = frozenset({errno.EAGAIN, errno.EWOULDBLOCK})


@contextmanager
def lone_reader(path: Path) -> Iterator[bool | None]:
    """Yields whether nobody has the file open for writing, None where that cannot be known.

    Where it is True, whoever opens the file for writing meanwhile waits until the block has ended.

    Raises:
        OSError: the file cannot be opened.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        yield _leased(handle)
    finally:
        os.close(handle)  # this gives the lease back


def _leased(handle: int) -> bool | None:
    if sys.platform != "linux":
        return None
    import fcntl  # noqa: PLC0415 - there is none on Windows

    try:
        fcntl.fcntl(handle, _F_SETSIG, signal.SIGURG)  # which is ignored: the usual signal would end the process
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return False if error.errno in _REFUSED else None
    return True
