"""Reading the data exports of Claude and ChatGPT: a conversations.json, or the archive or folder that holds it."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from holdfast.errors import InvalidArgumentError
from holdfast.model.transcripts.exports import conversations_in

SUFFIXES: Final = (".json", ".zip")
LARGEST: Final = 1 << 30  # bytes of one file
_NAMED: Final = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")


def is_export(path: Path) -> bool:
    """Whether a path may be that of an export."""
    return path.suffix.lower() in SUFFIXES or path.is_dir()


def read_export(path: Path) -> list[Mapping[str, Any]]:
    """The conversations of an export.

    Raises:
        InvalidArgumentError: there are none, or it is too large.
        OSError: it cannot be read.
    """
    found: list[Mapping[str, Any]] = []
    try:
        for data in _files(path):
            found += conversations_in(json.loads(data))
    except (ValueError, RecursionError, zipfile.BadZipFile) as error:
        raise InvalidArgumentError("The export cannot be read: it is harmed, or no export.", "Export anew.") from error
    if not found:
        raise InvalidArgumentError(
            "The path holds no conversations.", "Name the export's archive or conversations.json."
        )
    return found


def _files(path: Path) -> Iterator[bytes]:
    """The files of conversations, each whole."""
    if path.is_dir():
        for inner in sorted(path.glob("conversations*.json")):
            yield from _files(inner)
    elif path.suffix.lower() == ".zip":
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                if _NAMED.fullmatch(entry.filename):
                    _check(entry.file_size)
                    with archive.open(entry) as file:
                        yield file.read(LARGEST)
    elif path.is_file():
        _check(path.stat().st_size)
        yield path.read_bytes()


def _check(size: int) -> None:
    if size > LARGEST:
        raise InvalidArgumentError(f"A file of the export is larger than {LARGEST >> 20:,} MiB.", "Import it in parts.")
