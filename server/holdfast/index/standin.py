"""A place for the index where its own cannot be written: a temporary folder, with a copy of what there is."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from holdfast.errors import StorageError

MEMORY_DISK = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it


def make_stand_in(path: Path) -> Path:
    """The path of a database in a temporary folder, private to the user; a copy of the one at `path` where that can be.

    Raises:
        StorageError: there is no folder that can be written to.
    """
    for place in _places():
        try:
            folder = Path(tempfile.mkdtemp(prefix="holdfast-", dir=place))
        except OSError:
            continue
        if _copied(path, folder) or _is_writable(folder):
            return folder / path.name
        shutil.rmtree(folder, ignore_errors=True)
    raise StorageError(
        "Neither the memory folder nor a temporary folder can be written to.", "Check free space and permissions."
    )


def drop_stand_in(path: Path) -> None:
    """Take such a folder away."""
    shutil.rmtree(path.parent, ignore_errors=True)


def _places() -> Iterator[Path]:
    with suppress(OSError):  # none of the usual ones can be written to
        yield Path(tempfile.gettempdir())
    yield MEMORY_DISK


def _copied(path: Path, folder: Path) -> bool:
    """Copy the database with what was not yet moved into it; a process that writes meanwhile may harm the copy."""
    try:
        for end in ("", "-wal"):
            source = path.with_name(path.name + end)
            if source.exists():
                shutil.copyfile(source, folder / source.name)
    except OSError:
        for file in folder.iterdir():
            file.unlink(missing_ok=True)
        return False
    return True


def _is_writable(folder: Path) -> bool:
    try:
        (folder / "probe").write_bytes(bytes(1 << 16))
        (folder / "probe").unlink()
    except OSError:
        return False
    return True
