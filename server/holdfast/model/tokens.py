"""How many tokens a text costs a model at most, without a tokenizer.

Written for tokenizers of the kind of o200k and cl100k, which cut a text into words, groups of three digits, signs and
white space and then join frequent bytes. The figure lies above the real count of any text of some length, whatever its
script, and within about a third of it for English and for code; `tests/property/test_tokens.py` measures both.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate, takewhile
from math import ceil

from holdfast.model.token_pieces import PIECES, SINGLE
from holdfast.model.token_pieces import SIGNS as KNOWN_SIGNS

_PART = re.compile(
    r"(?P<word>[A-Za-z]+)|(?P<number>[0-9]+)|(?P<spaces> +)|(?P<lines>\n+)|"
    r"(?P<signs>[!-/:-@\[-`{-~]+)|(?P<other>[^ -~\n]+)"
)
_CASED = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_LETTER, _CAPITAL = 0.6, 0.62  # of a word that is in no list
_ENDLESS = 0.7  # of a longer word than is looked at
_BROKEN = 0.48  # for a word that is not made of known pieces
_JOINT = 0.1  # for each part of a word such as camelCase
_SIGN, _SIGNS = 0.72, 0.2
_MARK = 2  # what "…" may cost
_JOINED = 1.01  # frequent bytes are not always joined in the best order
_BLANKS = 12  # blanks that are one token at the least
_LONGEST_PIECE, _SHORTEST_PIECE = max(map(len, PIECES)), 3
_ALWAYS_ONE = 2  # letters
_LONGEST_WORD = 64  # that is looked at
_MOST_LETTERS = 16  # of a token
# The last character of each range, and what a character of it costs that is not known as a token of its own.
_ENDS = (0x1F, 0x7FF, 0x8FF, 0xDFF, 0xE7F, 0x10FF, 0x303F, 0x30FF, 0xFEFF, 0xFF9F, 0xFFFF)
_COSTS = (1, 2, 3, 2, 2, 3, 3, 2, 3, 2, 3, 4)


def most_tokens(text: str) -> int:
    """An upper bound of what a text costs."""
    costs = (_COST[found.lastgroup or "other"](found.group()) for found in _PART.finditer(text))
    return ceil(sum(costs))


def beginning(text: str, most: int) -> str:
    """A text as far as it costs at most so many tokens, with "…" where more follows, cut at a blank if one is near."""
    if len(text) <= most * _MOST_LETTERS and most_tokens(text) <= most:
        return text
    if most < _MARK:
        return ""
    end = _end(text, most - _MARK)
    blank = max(text.rfind(" ", end // 2, end), text.rfind("\n", end // 2, end))
    return f"{text[: blank if blank > 0 else end].rstrip()}…"


def _end(text: str, most: float) -> int:
    """How many of the first characters cost at most so many tokens."""
    left = most
    for found in _PART.finditer(text):
        cost = _COST[found.lastgroup or "other"](found.group())
        if cost > left:
            return found.start() + _fitting(found.group(), found.lastgroup == "other", cost, left)
        left -= cost
    return len(text)


def _fitting(part: str, is_other: bool, cost: float, left: float) -> int:
    """How many characters of a part that costs more than is left may stand."""
    if is_other:
        spent = accumulate(_JOINED * _character(each) for each in part)
        return sum(1 for _ in takewhile(lambda each: each <= left, spent))
    return int(len(part) * max(0.0, left - 1) / cost)


def _word(word: str) -> float:
    return _letters(word) if len(word) <= _LONGEST_WORD else len(word) * _ENDLESS


@lru_cache(maxsize=8192)
def _letters(word: str) -> float:
    parts: list[str] = _CASED.findall(word)
    return sum(map(_cased, parts)) + (_JOINT * len(parts) if len(parts) > 1 else 0.0)


def _cased(part: str) -> float:
    if len(part) <= _ALWAYS_ONE:
        return 1.0
    if part.isupper():
        return _CAPITAL * len(part) + _BROKEN
    known, strange, at = 0, 0, 0
    lower = part.lower()
    while at < len(lower):
        size = _piece_at(lower, at)
        known, strange, at = (known + 1, strange, at + size) if size else (known, strange + 1, at + 1)
    return max(1.0, known + strange * _LETTER + (_BROKEN if strange else 0.0))


def _piece_at(word: str, at: int) -> int:
    """The length of the longest known piece that begins there; 0 where none does."""
    longest = min(len(word) - at, _LONGEST_PIECE)
    return next((size for size in range(longest, _SHORTEST_PIECE - 1, -1) if word[at : at + size] in PIECES), 0)


def _number(digits: str) -> float:
    return ceil(len(digits) / 3)


def _spaces(blanks: str) -> float:
    return 0.0 if len(blanks) == 1 else 1 + len(blanks) / _BLANKS


def _lines(ends: str) -> float:
    return 1 + (len(ends) - 1) / _BLANKS


def _signs(signs: str) -> float:
    return 1.0 if signs in KNOWN_SIGNS else max(1.0, _SIGN * len(signs) + _SIGNS)


def _other(text: str) -> float:
    return _JOINED * sum(map(_character, text))


@lru_cache(maxsize=8192)
def _character(letter: str) -> int:
    return 1 if letter in SINGLE else _COSTS[bisect_left(_ENDS, ord(letter))]


_COST: dict[str, Callable[[str], float]] = {
    "word": _word, "number": _number, "spaces": _spaces, "lines": _lines, "signs": _signs, "other": _other,
}  # fmt: skip
