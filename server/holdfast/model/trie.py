"""Many words as one pattern that looks at each place of a text once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

_STRETCH: Final = 32_768  # characters that one call into `re` looks at: other threads wait for it


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
    """As `finditer`, in calls that are each short. What is longer than `longest` is looked at once more."""
    at = 0
    while at < len(text):
        until = min(at + _STRETCH, len(text))
        for match in pattern.finditer(text, at, until + longest):
            if match.start() >= until or match.start() < at:
                break
            if match.end() == until + longest:  # it may go on
                match = pattern.match(text, match.start()) or match  # noqa: PLW2901 - the whole of it
            yield match
            at = max(at, match.end())
        at = max(at, until)
