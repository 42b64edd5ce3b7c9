"""Note ids: `mem_` and 16 characters of lower-case Crockford base32 (48-bit milliseconds, 30 random bits)."""

from __future__ import annotations

import re

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
PREFIX = "mem_"
LENGTH = 16
RANDOM_BITS = 30
SELF_ID = PREFIX + "0" * LENGTH

_DIGITS = str.maketrans(ALPHABET, "0123456789abcdefghijklmnopqrstuv")  # as Python counts in base 32
_FULL = re.compile(rf"{PREFIX}[{ALPHABET}]{{{LENGTH}}}\Z")
_PART = re.compile(rf"(?:{PREFIX})?([{ALPHABET}]{{0,{LENGTH}}})\Z")


def note_id(milliseconds: int, random_bits: int) -> str:
    """An id that sorts by time.

    Args:
        milliseconds: since the epoch, below 2**48.
        random_bits: 30 of them.
    """
    value = (milliseconds % (1 << 48)) << RANDOM_BITS | random_bits % (1 << RANDOM_BITS)
    digits = [ALPHABET[value >> shift & 31] for shift in range(5 * (LENGTH - 1), -1, -5)]
    return PREFIX + "".join(digits)


def id_number(note_id: str) -> int:
    """The 80 bits of an id; they sort as the ids do."""
    return int(note_id.removeprefix(PREFIX).translate(_DIGITS), 32)


def id_milliseconds(note_id: str) -> int:
    """When an id was made, since the epoch."""
    return id_number(note_id) >> RANDOM_BITS


def is_note_id(text: str) -> bool:
    return _FULL.match(text) is not None


def id_range(text: str) -> tuple[str, str] | None:
    """The first and last id that begin with `text`, or None where it can begin no id.

    Upper case and surrounding space are forgiven; `mem_` may be left out; at least one character must remain.
    """
    found = _PART.match(text.strip().lower())
    if found is None or not found.group(1):
        return None
    stem = found.group(1)
    return PREFIX + stem.ljust(LENGTH, "0"), PREFIX + stem.ljust(LENGTH, "z")
