"""Disks of a test's own: mounted where nobody else sees them, filled up, or not to be written to."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from pathlib import Path

MOUNTING = ("unshare", "--mount", *(() if os.geteuid() == 0 else ("--map-root-user",)))

# Root may write everywhere, unless it gives that up for good before it becomes the server.
UNPRIVILEGED = """
import ctypes, os, sys
for capability in (1, 2, 3):  # to override permissions, in three ways
    os.geteuid() == 0 and ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)
os.execv(sys.executable, [sys.executable, "-m", "holdfast", *sys.argv[1:]])
"""


def can_mount() -> bool:
    if shutil.which(MOUNTING[0]) is None:
        return False
    probe = [*MOUNTING, "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(probe, check=False, capture_output=True).returncode == 0


def fill(ballast: Path, spare: int) -> None:
    """Use up all but so many bytes of the disk, on which the server may still write what it puts off."""
    with ballast.open("wb") as file:
        while True:
            status = os.statvfs(ballast.parent)
            try:
                os.posix_fallocate(file.fileno(), 0, status.f_bavail * status.f_bsize - spare)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
            else:
                return
