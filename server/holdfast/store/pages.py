"""Pages as they lie on the disk: read whole, or only weighed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from holdfast.errors import StorageError
from holdfast.store.codec import content_hash
from holdfast.store.filesystem import NO_SIGNATURE, FileSystem
from holdfast.store.folder import Folder
from holdfast.store.stored import LARGEST_PAGE, Page, time_of

Mark = tuple[str, int]  # a file's hash and bytes; the hash is empty where it cannot be read, or is too long


def read_page(folder: Folder, files: FileSystem, path: str) -> Page | None:
    """A page, or None where there is none.

    Raises:
        StorageError: it lies behind a symbolic link, or is too long.
        OSError: it cannot be read.
    """
    absolute = folder.inside(path)
    if _is_linked(folder, absolute):
        raise StorageError(f"The folder of {path} is a symbolic link.", "Put a folder in its place.")
    try:
        signature, data = files.signature(absolute), files.read(absolute, LARGEST_PAGE + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if len(data) > LARGEST_PAGE:
        raise StorageError(f"{path} is longer than {LARGEST_PAGE >> 20} MiB.", "Cut it, or move it away.")
    return Page(path, data, content_hash(data), time_of(signature or NO_SIGNATURE))


def weigh_pages(folder: Folder, files: FileSystem, paths: Iterable[str]) -> dict[str, Mark]:
    """The marks of pages, by path; those that are not there are left out."""
    found = ((path, _weigh(files, at, linked=_is_linked(folder, at))) for path in paths for at in [folder.inside(path)])
    return {path: mark for path, mark in found if mark is not None}


def weigh_notes(folder: Folder, files: FileSystem, paths: Iterable[str]) -> dict[str, str]:
    """The content hashes of note files, by path; those that are not there are left out."""
    found = ((path, _weigh(files, folder.absolute(path), linked=False)) for path in paths)
    return {path: mark[0] for path, mark in found if mark is not None}


def _weigh(files: FileSystem, path: Path, *, linked: bool) -> Mark | None:
    if linked:
        return "", 0
    try:
        data = files.read(path, LARGEST_PAGE + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return "", 0
    return (content_hash(data), len(data)) if len(data) <= LARGEST_PAGE else ("", 0)


def _is_linked(folder: Folder, path: Path) -> bool:
    return path.parent != folder.home and path.parent.is_symlink()
