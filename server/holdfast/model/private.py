"""What a person marked as private: it is taken out of a text before anything is done with the text.

As in "deploy to <private>10.0.0.7</private>". A mark that is never closed counts to the end: too much is left out
rather than too little. Letters may be capital or small, and marks may have blanks inside.
"""

from __future__ import annotations

import re
from typing import Final

LEFT_OUT: Final = "[private]"
_MARK: Final = re.compile(r"<\s*(/?)\s*private\s*>", re.IGNORECASE)


def without_private(text: str) -> str:
    """The text with `[private]` in the place of each such part; an inner one belongs to the outer one."""
    kept: list[str] = []
    depth = start = 0  # start: of what is kept next
    for mark in _MARK.finditer(text):
        closes = bool(mark[1])
        if not closes and not depth:
            kept += [text[start : mark.start()], LEFT_OUT]
        if closes and depth:
            start = mark.end()
        depth = max(0, depth - 1) if closes else depth + 1
    return "".join(kept if depth else [*kept, text[start:]])
