"""Spaces: one per project, and `global` for what belongs to none."""

from __future__ import annotations

import functools
import re
import unicodedata

from holdfast.model.memory import GLOBAL_SPACE

LONGEST = 64
DEVICES = frozenset(
    ["con", "prn", "aux", "nul"] + [f"{port}{digit}" for port in ("com", "lpt") for digit in range(1, 10)]
)
_FORBIDDEN = re.compile(r"[^\w.-]+", re.UNICODE)
_DASHES = re.compile(r"-{2,}")


@functools.lru_cache(maxsize=512)
def space_name(text: str) -> str:
    """The one spelling of a space: NFC, lower case, letters and digits of any script, `-`, `_` and `.`.

    Raises:
        ValueError: nothing usable is left, or the name is a device's.
    """
    name = unicodedata.normalize("NFC", text).strip().lower()
    name = _DASHES.sub("-", _FORBIDDEN.sub("-", name)).strip("-.")[:LONGEST].strip("-.")
    name = unicodedata.normalize("NFC", name)
    if not name:
        raise ValueError("a space needs at least one letter or digit")
    if name.split(".")[0] in DEVICES:
        raise ValueError("that name belongs to a device")
    return name


def slug(title: str) -> str:
    """A readable file name stem of at most 40 characters; cosmetic, never an identity."""
    words = re.findall(r"[^\W_]+", unicodedata.normalize("NFC", title).lower(), re.UNICODE)
    stem = ""
    for word in words:
        longer = f"{stem}-{word}" if stem else word
        if len(longer.encode()) > 40:  # noqa: PLR2004 - bytes: file systems count those
            break
        stem = longer
    return f"note-{stem}" if stem in DEVICES else stem or "note"


__all__ = ["DEVICES", "GLOBAL_SPACE", "slug", "space_name"]
