"""A packed folder taken apart; `TarFile.extractall(filter=...)` is younger than the oldest Python that is promised."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tarfile
    from pathlib import Path


def unpack(archive: tarfile.TarFile, folder: Path) -> None:
    """Writes the regular files of an archive of our own making below `folder`; what else it holds is left out."""
    for member in archive:
        packed = archive.extractfile(member)
        if packed is not None:
            path = folder / member.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(packed.read())
