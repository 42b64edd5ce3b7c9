"""Tables in TOML text, changed line by line so that comments and order stay. Whoever uses it reads the result back."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from holdfast.errors import ClientConfigError

_HEADER: Final = re.compile(r"\s*\[[^\[\]\n]+\]\s*(#.*)?\n?")
_KEY: Final = re.compile(r"\s*([A-Za-z0-9_-]+)\s*=")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]+")

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Table:
    """A table in a list of lines: its header at `first`, its last key before `end`."""

    path: Path
    first: int
    end: int


def with_table(text: str, path: Path, values: Mapping[str, Any]) -> str:
    """The text with these values in the table: lines of other values are replaced, missing ones added at its end."""
    lines = text.splitlines(keepends=True)
    table = next((table for table in _tables(lines) if table.path == path), None)
    if table is None:
        return appended(text, path, values)
    inner = {found.path[-1] for found in _tables(lines) if found.path[:-1] == path}
    flat = {key: value for key, value in values.items() if key not in inner}
    changed = "".join([*lines[: table.first + 1], *_with_values(lines[table.first + 1 : table.end], flat)])
    text = changed + "".join(lines[table.end :])
    for key in sorted(inner & values.keys()):
        text = with_table(text, (*path, key), values[key])
    return text


def without_table(text: str, path: Path) -> str:
    """The text without a table, those below it, and the empty line before each."""
    lines = text.splitlines(keepends=True)
    for table in reversed([table for table in _tables(lines) if table.path[: len(path)] == path]):
        last = table.end == len(lines) or not lines[table.end].strip()
        blank = table.first > 0 and not lines[table.first - 1].strip()
        del lines[table.first - (blank and last) : table.end]
    return "".join(lines)


def appended(text: str, path: Path, values: Mapping[str, Any]) -> str:
    """The text with a table at its end."""
    before = text if not text or text.endswith("\n") else text + "\n"
    header = f"[{'.'.join(_key(part) for part in path)}]\n"
    body = "".join(f"{_key(key)} = {_value(value)}\n" for key, value in values.items())
    return f"{before}{before and chr(10)}{header}{body}"


def _tables(lines: Sequence[str]) -> list[_Table]:
    heads = [(number, path) for number, line in enumerate(lines) if (path := _header(line))]
    ends = [number for number, _ in heads[1:]] + [len(lines)]
    return [_Table(path, first, _last_key(lines, first, end)) for (first, path), end in zip(heads, ends, strict=False)]


def _last_key(lines: Sequence[str], first: int, end: int) -> int:
    """Where a table ends: blank lines and comments behind its last key belong to what comes next."""
    while end > first + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return end


def _header(line: str) -> Path:
    if not _HEADER.fullmatch(line):
        return ()
    try:
        return tuple(_nested(tomllib.loads(line)))
    except tomllib.TOMLDecodeError:
        return ()


def _nested(table: Mapping[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        yield key
        yield from _nested(value)


def _with_values(lines: Sequence[str], values: Mapping[str, Any]) -> Iterator[str]:
    left = dict(values)
    for line in lines:
        found = _KEY.match(line)
        key = found[1] if found else ""
        if key in left and _single(line) != {key: left[key]}:
            yield f"{key} = {_value(left[key])}\n"
        else:
            yield line if line.endswith("\n") else line + "\n"
        left.pop(key, None)
    for key, value in left.items():
        yield f"{_key(key)} = {_value(value)}\n"


def _single(line: str) -> dict[str, Any] | None:
    """What a line says by itself; None where it goes on in the next."""
    try:
        return tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return None


def _key(key: str) -> str:
    return key if _PLAIN.fullmatch(key) else json.dumps(key, ensure_ascii=False)


def _value(value: Any) -> str:
    match value:
        case bool() | int() | float() | str():
            return json.dumps(value, ensure_ascii=False)
        case list():
            return f"[{', '.join(_value(item) for item in value)}]"
        case dict():
            return f"{{ {', '.join(f'{_key(key)} = {_value(item)}' for key, item in value.items())} }}"
        case _:
            raise ClientConfigError("The client's entry has a value that cannot be kept.", "Change it by hand.")
