"""A transcript from where it was read to, in whole lines; one that was cut or replaced is read from its beginning.

Whether it is still the same file is told by its content: the hash of its beginning and of what stands right before the
place. A size alone says nothing of a file that was replaced by a longer one.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from typing import BinaryIO, Final

from holdfast.model.transcripts.turns import Setting, Turn, read_turns
from holdfast.store.transcripts.roots import Located, opened

CHUNK: Final = 2 * 1024 * 1024
LONGEST_LINE: Final = 24 * 1024 * 1024  # a longer one is passed over: no turn is that long
_HEAD, _TAIL = 1024, 4096
_LOOKED_BACK: Final = 256 * 1024


@dataclass(frozen=True, slots=True)
class Place:
    """How far a transcript was read. `version` counts the times that this was written down.

    `head` and `tail` are hashes of the file's beginning and of what stands before `offset`.
    """

    offset: int = 0
    head: str = ""
    tail: str = ""
    setting: Setting = field(default_factory=Setting)
    version: int = 0


@dataclass(frozen=True, slots=True)
class Chunk:
    """The turns between two places. `began_anew`: the file is another one than before. `is_last`: nothing follows."""

    before: Place
    after: Place
    turns: tuple[Turn, ...]
    began_anew: bool
    is_last: bool


def read_chunk(found: Located, place: Place) -> Chunk:
    """What stands behind a place, as much as is read at once.

    Raises:
        NoTranscriptError: it is none, or there is none.
        OSError: it cannot be read.
    """
    with opened(found) as file:
        size = os.fstat(file.fileno()).st_size
        start = place if _is_same(file, place, size) else Place(version=place.version)
        data, end = _whole_lines(file, start.offset)
        turns, setting = read_turns(data.split(b"\n"), start.setting)
        after = Place(end, *_marks(file, end), setting, place.version)
        return Chunk(place, after, tuple(turns), start is not place, end >= size or end == start.offset)


def last_said(found: Located, place: Place) -> str:
    """What the agent said last before a place; empty where the user spoke behind it, or it stands too far back.

    Raises:
        NoTranscriptError: it is none, or there is none.
        OSError: it cannot be read.
    """
    start = max(0, place.offset - _LOOKED_BACK)
    with opened(found) as file:
        data = _read(file, start, place.offset - start)
    turns, _ = read_turns(data.split(b"\n")[1 if start else 0 :], place.setting)
    return turns[-1].text if turns and turns[-1].role == "assistant" else ""


def _is_same(file: BinaryIO, place: Place, size: int) -> bool:
    if not place.offset:
        return True
    return place.offset <= size and _marks(file, place.offset) == (place.head, place.tail)


def _marks(file: BinaryIO, offset: int) -> tuple[str, str]:
    """The hashes that tell the file as it is up to an offset."""
    first = max(0, offset - _TAIL)
    return _hash(_read(file, 0, min(offset, _HEAD))), _hash(_read(file, first, offset - first))


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _whole_lines(file: BinaryIO, start: int) -> tuple[bytes, int]:
    """The lines that end within a chunk, and where the last of them ends."""
    data = _read(file, start, CHUNK)
    is_end = len(data) < CHUNK
    cut = data.rfind(b"\n")
    while cut < 0 and not is_end and len(data) <= LONGEST_LINE:
        more = _read(file, start + len(data), CHUNK)
        is_end = len(more) < CHUNK
        cut = more.rfind(b"\n")
        cut += len(data) if cut >= 0 else 0
        data += more
    if cut >= 0:
        return data[:cut], start + cut + 1
    return b"", start if is_end else _behind_line(file, start + len(data), start)


def _behind_line(file: BinaryIO, at: int, start: int) -> int:
    """Where an endless line ends; where it began as long as it has no end."""
    while data := _read(file, at, CHUNK):
        cut = data.find(b"\n")
        if cut >= 0:
            return at + cut + 1
        at += len(data)
    return start


def _read(file: BinaryIO, start: int, most: int) -> bytes:
    """Up to so many bytes; one read may give less than there are."""
    file.seek(start)
    data = file.read(most)
    while len(data) < most and (more := file.read(most - len(data))):
        data += more
    return data
