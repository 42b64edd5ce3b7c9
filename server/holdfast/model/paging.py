"""A long text in pages that a client takes, each as large as may be, cut at the end of a line where there is one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from holdfast.model.tokens import most_tokens

_PIECE = 800  # characters of a line that are measured at once
_PIECES = re.compile(rf"[^\n]{{0,{_PIECE - 1}}}\n|[^\n]{{1,{_PIECE}}}(?<=[ \t])|[^\n]{{1,{_PIECE}}}")
_ALWAYS_FITS = 5  # tokens of a character, at the most and as JSON
_ESCAPED, _CONTROL = re.compile(r'["\\\n\r\t]'), re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_ESCAPED_COST, _CONTROL_COST = 2, 5  # tokens more, where a character is written as JSON has it


@dataclass(frozen=True, slots=True)
class TextPage:
    """A part of a text; `left` is how many characters come after it, `number` begins at 1."""

    text: str
    number: int
    left: int


def page_at(text: str, number: int, most: int) -> TextPage | None:
    """One page of a text; None where it has fewer. Put together the pages are the text.

    Args:
        text: the whole.
        number: 1 for the first page.
        most: tokens of a page, as it stands and as JSON.
    """
    return next(islice(_pages(text, most), number - 1, number), None) if number > 0 else None


def _pages(text: str, most: int) -> Iterator[TextPage]:
    if len(text) * _ALWAYS_FITS <= most:
        yield TextPage(text, 1, 0)
        return
    number, begin, end, spent = 1, 0, 0, 0
    for found in _PIECES.finditer(text):
        cost = _cost(found.group())
        if spent + cost > most and end > begin:
            yield TextPage(text[begin:end], number, len(text) - end)
            number, begin, spent = number + 1, end, 0
        spent, end = spent + cost, found.end()
    yield TextPage(text[begin:], number, 0)


def _cost(text: str) -> int:
    """What a piece costs in the dearer of both forms."""
    escaped, controls = len(_ESCAPED.findall(text)), len(_CONTROL.findall(text))
    return most_tokens(text) + _ESCAPED_COST * escaped + _CONTROL_COST * controls
