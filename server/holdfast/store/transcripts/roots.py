"""Which files are transcripts: below the clients' own folders, reached without a link, and nothing else.

The path of a transcript is a client's word. It is never opened as it stands: each folder of it is opened from the one
above, and none of them, nor the file, may be a symbolic link.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

SUFFIX: Final = ".jsonl"
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)
_FOLDER: Final = getattr(os, "O_DIRECTORY", 0)
_MOST_FOLDERS: Final = 16
_GONE: Final = frozenset({errno.ENOENT, errno.ENOTDIR})


class NoTranscriptError(Exception):
    """A path that is not taken for a transcript; the words say why and do not repeat it."""


class MissingTranscriptError(NoTranscriptError):
    """There is no file, or none yet."""


@dataclass(frozen=True, slots=True)
class Located:
    """A transcript below one of the roots: `parts` lead there from the root."""

    root: Path
    parts: tuple[str, ...]

    @property
    def name(self) -> str:
        """The one spelling of its path, whatever way the root was named."""
        return os.path.join(os.path.realpath(self.root), *self.parts)  # noqa: PTH118 - realpath, for a root that is a link


def client_roots(environ: Mapping[str, str], home: Path, more: Sequence[Path] = ()) -> tuple[Path, ...]:
    """Where Claude Code and Codex keep their transcripts on this machine, and further folders that settings name."""
    claude = [Path(given) for given in (environ.get("CLAUDE_CONFIG_DIR"),) if given]
    codex = [Path(given) for given in (environ.get("CODEX_HOME"),) if given]
    roots = [folder / "projects" for folder in (*claude, home / ".claude", home / ".config" / "claude")]
    for folder in (*codex, home / ".codex"):
        roots += [folder / "sessions", folder / "archived_sessions"]
    return tuple(dict.fromkeys((*roots, *more)))


def locate(path: str, roots: Sequence[Path]) -> Located:
    """The transcript that a path names.

    Raises:
        NoTranscriptError: it is none: not below a root, or not called like one.
    """
    if "\0" in path or not Path(path).is_absolute() or ".." in Path(path).parts:
        raise NoTranscriptError("the path is not a whole one")
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise NoTranscriptError("the path is no text in UTF-8") from error
    if not path.endswith(SUFFIX):
        raise NoTranscriptError(f"the file's name does not end in {SUFFIX}")
    for root in roots:
        for spelled in dict.fromkeys((str(root), os.path.realpath(root))):
            with suppress(ValueError):
                parts = Path(path).relative_to(spelled).parts
                if 0 < len(parts) <= _MOST_FOLDERS:
                    return Located(root, parts)
    raise NoTranscriptError("the path leads to no folder in which a client keeps transcripts")


@contextmanager
def opened(found: Located) -> Iterator[BinaryIO]:
    """The transcript's file, for reading.

    Raises:
        MissingTranscriptError: there is none.
        NoTranscriptError: a link leads there, or it is no regular file.
        OSError: it cannot be read.
    """
    try:
        handle = _open_below(found) if sys.platform != "win32" else _open_checked(found)
    except OSError as error:
        if error.errno == errno.ELOOP or (error.errno == errno.ENOTDIR and _leads_through_link(found)):
            raise NoTranscriptError("a symbolic link leads there, and those are not followed") from error
        if error.errno in _GONE:
            raise MissingTranscriptError("there is no such file") from error
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise NoTranscriptError("it is no regular file")
    with os.fdopen(handle, "rb") as file:
        yield file


def _open_below(found: Located) -> int:
    """Open each part from the folder above it."""
    folder = os.open(found.root, os.O_RDONLY | _FOLDER)
    try:
        for part in found.parts[:-1]:
            inner = os.open(part, os.O_RDONLY | _FOLDER | _NO_LINK, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(found.parts[-1], os.O_RDONLY | _NO_LINK | os.O_NONBLOCK, dir_fd=folder)
    finally:
        os.close(folder)


def _open_checked(found: Located) -> int:
    """The same where no folder can be opened: look at each part first."""
    if _leads_through_link(found):
        raise NoTranscriptError("a symbolic link leads there, and those are not followed")
    return os.open(found.root.joinpath(*found.parts), os.O_RDONLY | getattr(os, "O_BINARY", 0))


def _leads_through_link(found: Located) -> bool:
    place = found.root
    for part in found.parts:
        place /= part
        if place.is_symlink():
            return True
    return False


def list_transcripts(roots: Sequence[Path], most: int) -> list[tuple[Path, float, int]]:
    """Transcripts below the roots with their times of change and sizes, the newest first; links are not followed."""
    found: list[tuple[Path, float, int]] = []
    stack = [os.fspath(root) for root in dict.fromkeys(Path(os.path.realpath(root)) for root in roots)]
    while stack:
        with suppress(OSError), os.scandir(stack.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    stack.append(entry.path)
                elif entry.name.endswith(SUFFIX) and entry.is_file(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    found.append((Path(entry.path), status.st_mtime, status.st_size))
    found.sort(key=lambda item: (-item[1], item[0]))
    return found[:most]
