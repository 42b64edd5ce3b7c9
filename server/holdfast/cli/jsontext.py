"""One member of an object in JSON text, put in or taken out; every other byte stays. Whoever uses it reads it back.

Text with comments and trailing commas is looked at in a copy of the same length without them (`plain`), so that every
place in the one is the same place in the other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_INDENT: Final = re.compile(r'^([ \t]+)"', re.MULTILINE)
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING: Final = re.compile(r'"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])', re.DOTALL)
_NOT_BREAK: Final = re.compile(r"[^\n]")
_DECODER: Final = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class _Member:
    """A key and its value: from `first` to `end`, the value from `value` on."""

    key: str
    first: int
    value: int
    end: int


@dataclass(frozen=True, slots=True)
class _Object:
    """An object, from its opening bracket to behind its closing one."""

    first: int
    end: int
    members: tuple[_Member, ...]

    def find(self, key: str) -> _Member | None:
        return next((member for member in self.members if member.key == key), None)


def plain(text: str) -> str:
    """The text with blanks in the place of comments and trailing commas; lines stay where they are."""
    return _TRAILING.sub(lambda found: found[0] if found[0][0] == '"' else " ", _without_comments(text))


def _without_comments(text: str) -> str:
    return _TOKEN.sub(lambda found: found[0] if found[0][0] == '"' else _NOT_BREAK.sub(" ", found[0]), text)


def with_member(text: str, clear: str, path: tuple[str, str], value: Mapping[str, Any]) -> str:
    """The text with a value at `path[0]`, `path[1]` of its outermost object, in the style that the text has.

    Args:
        text: the text.
        clear: the same without what is no plain JSON.
        path: two keys.
        value: what is to stand there.

    Raises:
        ValueError: it is no JSON, or there is something else than objects on the way.
    """
    if not clear.strip():
        return text + json.dumps({path[0]: {path[1]: value}}, indent=2, ensure_ascii=False) + "\n"
    whole = _object(clear, 0)
    outer = whole.find(path[0])
    if outer is None:
        return _added(text, clear, whole, path[0], {path[1]: value})
    inner = _object(clear, outer.value)
    old = inner.find(path[1])
    if old is None:
        return _added(text, clear, inner, path[1], value)
    if "\n" in text[old.value : old.end]:
        made = _rendered(text, value, _line_indent(text, old.first))
    else:
        made = json.dumps(value, ensure_ascii=False)
    return text[: old.value] + made + text[old.end :]


def without_member(text: str, clear: str, path: tuple[str, str]) -> str:
    """The text without what is at `path[0]`, `path[1]`; also without `path[0]` where nothing else is there.

    Args:
        text: the text.
        clear: the same without what is no plain JSON.
        path: two keys.

    Raises:
        ValueError: as above, or it is not there.
    """
    whole = _object(clear, 0)
    outer = whole.find(path[0])
    inner = _object(clear, outer.value) if outer else None
    if outer is None or inner is None or (member := inner.find(path[1])) is None:
        raise ValueError("it is not there")
    around = text[inner.first : member.first] + text[member.end : inner.end]
    if len(inner.members) > 1 or around != clear[inner.first : member.first] + clear[member.end : inner.end]:
        return _removed(text, clear, inner, path[1])
    return _removed(text, clear, whole, path[0])


def _object(text: str, start: int) -> _Object:
    first = place = _after_space(text, start)
    if text[place : place + 1] != "{":
        raise ValueError("no object")
    members: list[_Member] = []
    place = _after_space(text, place + 1)
    while text[place : place + 1] != "}":
        key, behind = _DECODER.raw_decode(text, place)
        colon = _after_space(text, behind)
        value = _after_space(text, colon + 1)
        _, end = _DECODER.raw_decode(text, value)
        members.append(_Member(str(key), place, value, end))
        place = _after_space(text, end)
        if text[place : place + 1] == ",":
            place = _after_space(text, place + 1)
    return _Object(first, place + 1, tuple(members))


def _after_space(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place


def _added(text: str, clear: str, to: _Object, key: str, value: Mapping[str, Any]) -> str:
    """The text with a member at an object's end: on a line of its own where the others are, or where there is none."""
    if not to.members:
        return _added_first(text, clear, to, key, value)
    last = to.members[-1]
    before = text[: last.first]
    space = before[len(before.rstrip(" \t\n\r")) :]
    if "\n" in space:
        made = f"{space}{json.dumps(key)}: {_rendered(text, value, space.rpartition(chr(10))[2])}"
    else:
        made = f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
    trailing = _trailing_comma(text, clear, last.end)
    if trailing >= 0:
        rest = _end_of_remark(text, clear, trailing + 1)
        return f"{text[:rest]}{made},{text[rest:]}"
    rest = _end_of_remark(text, clear, last.end)
    return f"{text[: last.end]},{text[last.end : rest]}{made}{text[rest:]}"


def _added_first(text: str, clear: str, to: _Object, key: str, value: Mapping[str, Any]) -> str:
    outer = _line_indent(text, to.first)
    indent = outer + _unit(text)
    made = f"\n{indent}{json.dumps(key)}: {_rendered(text, value, indent)}\n{outer}"
    inside = text[to.first + 1 : to.end - 1]
    if inside == clear[to.first + 1 : to.end - 1]:
        return f"{text[: to.first]}{{{made}}}{text[to.end :]}"
    kept = inside.rstrip(" \t\n\r")  # a comment stands there
    return f"{text[: to.first + 1]}{kept}{made}{text[to.end - 1 :]}"


def _removed(text: str, clear: str, of: _Object, key: str) -> str:
    place = next(number for number, member in enumerate(of.members) if member.key == key)
    member = of.members[place]
    inside = text[of.first : member.first] + text[member.end : of.end]
    if len(of.members) == 1 and inside == clear[of.first : member.first] + clear[member.end : of.end]:
        return text[: of.first] + "{}" + text[of.end :]
    if place < len(of.members) - 1:
        behind = _after_space(text, clear.index(",", member.end) + 1)
        return text[: member.first] + text[behind:]
    before = text[: member.first].rstrip(" \t\n\r")
    trailing = _trailing_comma(text, clear, member.end)
    if trailing >= 0:
        return before + text[member.end : trailing] + text[trailing + 1 :]
    if place:
        comma = clear.index(",", of.members[place - 1].end)
        before = before[:comma] + before[comma + 1 :]
    return before + text[member.end :]


def _trailing_comma(text: str, clear: str, place: int) -> int:
    """Where a trailing comma stands behind a place; -1 where there is none."""
    return _without_comments(text).find(",", place, _after_space(clear, place))


def _end_of_remark(text: str, clear: str, place: int) -> int:
    """Behind a comment that stands on the same line; the place itself where there is none."""
    end = text.find("\n", place)
    end = len(text) if end < 0 else end
    line, cleared = text[place:end], clear[place:end]
    return end if line.strip() and not cleared.strip(" ") else place


def _rendered(text: str, value: Mapping[str, Any], indent: str) -> str:
    return json.dumps(value, indent=_unit(text), ensure_ascii=False).replace("\n", f"\n{indent}")


def _unit(text: str) -> str:
    found = _INDENT.search(text)
    return found[1] if found else "  "


def _line_indent(text: str, place: int) -> str:
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]
