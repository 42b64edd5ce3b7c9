"""One member of an object in JSON text, put in or taken out; every other byte stays. Whoever uses it reads it back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_INDENT: Final = re.compile(r'^([ \t]+)"', re.MULTILINE)
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


def with_member(text: str, path: tuple[str, str], value: Mapping[str, Any]) -> str:
    """The text with a value at `path[0]`, `path[1]` of its outermost object, in the style that the text has.

    Raises:
        ValueError: it is no JSON, or there is something else than objects on the way.
    """
    if not text.strip():
        return json.dumps({path[0]: {path[1]: value}}, indent=2, ensure_ascii=False) + "\n"
    whole = _object(text, 0)
    outer = whole.find(path[0])
    if outer is None:
        return _added(text, whole, path[0], {path[1]: value})
    inner = _object(text, outer.value)
    old = inner.find(path[1])
    if old is None:
        return _added(text, inner, path[1], value)
    if "\n" in text[old.value : old.end]:
        made = _rendered(text, value, _line_indent(text, old.first))
    else:
        made = json.dumps(value, ensure_ascii=False)
    return text[: old.value] + made + text[old.end :]


def without_member(text: str, path: tuple[str, str]) -> str:
    """The text without what is at `path[0]`, `path[1]`; also without `path[0]` where nothing else is there.

    Raises:
        ValueError: as above, or it is not there.
    """
    whole = _object(text, 0)
    outer = whole.find(path[0])
    inner = _object(text, outer.value) if outer else None
    if outer is None or inner is None or inner.find(path[1]) is None:
        raise ValueError("it is not there")
    return _removed(text, inner, path[1]) if len(inner.members) > 1 else _removed(text, whole, path[0])


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


def _added(text: str, to: _Object, key: str, value: Mapping[str, Any]) -> str:
    """The text with a member at an object's end: on a line of its own where the others are, or where there is none."""
    if not to.members:
        outer = _line_indent(text, to.first)
        indent = outer + _unit(text)
        made = f"{{\n{indent}{json.dumps(key)}: {_rendered(text, value, indent)}\n{outer}}}"
        return text[: to.first] + made + text[to.end :]
    last = to.members[-1]
    before = text[: last.first]
    space = before[len(before.rstrip(" \t\n\r")) :]
    if "\n" in space:
        made = f",{space}{json.dumps(key)}: {_rendered(text, value, space.rpartition(chr(10))[2])}"
    else:
        made = f", {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
    return text[: last.end] + made + text[last.end :]


def _removed(text: str, of: _Object, key: str) -> str:
    place = next(number for number, member in enumerate(of.members) if member.key == key)
    if len(of.members) == 1:
        return text[: of.first] + "{}" + text[of.end :]
    if place == len(of.members) - 1:
        return text[: of.members[place - 1].end] + text[of.members[place].end :]
    return text[: of.members[place].first] + text[of.members[place + 1].first :]


def _rendered(text: str, value: Mapping[str, Any], indent: str) -> str:
    return json.dumps(value, indent=_unit(text), ensure_ascii=False).replace("\n", f"\n{indent}")


def _unit(text: str) -> str:
    found = _INDENT.search(text)
    return found[1] if found else "  "


def _line_indent(text: str, place: int) -> str:
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]
