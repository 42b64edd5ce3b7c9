"""Many words as one pattern that looks at each place of a text once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

_STRETCH: Final = 16_384  # characters that one call into `re` looks at: other threads wait for it


def any_of(words: Iterable[str]) -> str:
    """A pattern that matches the longest of these words."""
    tree: dict[str, Any] = {}
    for word in words:
        node = tree
        for character in word:
            node = node.setdefault(character, {})
        node[""] = {}
    return _pattern(tree)


def _pattern(node: dict[str, Any]) -> str:
    branches = [re.escape(character) + _pattern(below) for character, below in sorted(node.items()) if character]
    if not branches:
        return ""
    whole = f"(?:{'|'.join(branches)})"
    return f"{whole}?" if "" in node else whole


def matches(pattern: re.Pattern[str], text: str, longest: int) -> Iterator[re.Match[str]]:
    """As `finditer` for matches of at most `longest` characters, in calls that are each short."""
    at = 0
    while at < len(text):
        until = min(at + _STRETCH, len(text))
        for match in pattern.finditer(text, at, until + longest):
            if match.start() >= until:
                break
            yield match
            at = max(at, match.end())
        at = max(at, until)
