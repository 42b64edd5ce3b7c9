"""Cutting long notes for models whose tokeniser is somewhere else: by an estimate of tokens, at blanks, overlapping."""

from __future__ import annotations

from typing import Final

WINDOW_TOKENS: Final = 400
OVERLAP_TOKENS: Final = 50
MOST_WINDOWS: Final = 16

_ASCII_TOKENS: Final = 0.3  # a letter of English; of other scripts one token each, which is the most they take
_BLANK_WITHIN: Final = 60  # characters before the end of a window in which a blank is looked for


def windows(text: str, tokens: int = WINDOW_TOKENS, most: int = MOST_WINDOWS) -> list[str]:
    """The text in pieces of at most `tokens` by estimate, the beginning first; at least one, at most `most`."""
    if len(text) <= tokens:
        return [text]
    pieces: list[str] = []
    start = 0
    while start < len(text) and len(pieces) < most:
        end = _end(text, start, tokens)
        pieces.append(text[start:end])
        if end == len(text):
            break
        start = max(start + 1, _back(text, end, min(OVERLAP_TOKENS, tokens // 4)))
    return pieces


def _end(text: str, start: int, tokens: int) -> int:
    """Where a window that begins at `start` ends."""
    spent = 0.0
    end = start
    while end < len(text):
        spent += _ASCII_TOKENS if text[end].isascii() else 1.0
        if spent > tokens:
            break
        end += 1
    if end < len(text):
        blank = text.rfind(" ", max(start + 1, end - _BLANK_WITHIN), end)
        end = blank if blank > start else max(end, start + 1)
    return end


def _back(text: str, end: int, tokens: int) -> int:
    """Where the next window begins so that it repeats some of the last."""
    spent = 0.0
    start = end
    while start and spent < tokens:
        start -= 1
        spent += _ASCII_TOKENS if text[start].isascii() else 1.0
    blank = text.find(" ", start, end)
    return blank + 1 if blank >= 0 else start
