"""A client's configuration file: read whole, changed in one place, shown as a difference, replaced with a backup.

JSON may have comments and trailing commas: it is looked at in a copy of the same length without them (`plain`), so that
every place in the one is the same place in the other. TOML is changed line by line. In both every other byte stays;
whoever changes a file reads the result back.

In JSON an item can be put at the end of a list or taken out of it. The lists are members of an object that is itself a
member of the outermost one, as hooks are: `hooks`, then the event. An item that is put in and taken out again leaves
the text as it was.
"""

from __future__ import annotations

import difflib
import glob
import json
import os
import re
import shutil
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from holdfast.cli.terminal import Screen, clean
from holdfast.errors import ClientConfigError
from holdfast.model.secrets import redact

_MARK: Final = "\ufeff"


@dataclass(frozen=True, slots=True)
class ClientFile:
    """A client's file: its bytes, None where it is not there yet, and its text with plain newlines."""

    path: Path
    data: bytes | None
    text: str

    def spelled(self, text: str) -> bytes:
        """Another text in the way that this file is written: with its byte order mark and its newlines."""
        data = self.data or b""
        mark = _MARK if data.startswith(_MARK.encode()) else ""
        crlf = 0 < data.count(b"\n") == data.count(b"\r\n")
        return (mark + (text.replace("\n", "\r\n") if crlf else text)).encode()


def read_file(path: Path) -> ClientFile:
    """The file at a path.

    Raises:
        ClientConfigError: it cannot be read, or not as text.
    """
    try:
        data = path.read_bytes()
        return ClientFile(path, data, data.decode("utf-8").removeprefix(_MARK).replace("\r\n", "\n"))
    except FileNotFoundError:
        return ClientFile(path, None, "")
    except UnicodeDecodeError as error:
        raise ClientConfigError("The client's file is no UTF-8; nothing was changed.", "Mend it by hand.") from error
    except OSError as error:
        raise ClientConfigError(f"The client's file cannot be read: {error.strerror}.") from error


def write_file(screen: Screen, file: ClientFile, after: str, *, dry_run: bool) -> bool:
    """Show what changes, and change it; returns whether it was changed.

    Raises:
        ClientConfigError: it was changed meanwhile, or cannot be written; it is as it was.
    """
    if file.text == after:
        screen.say(f"{file.path}: nothing to change")
        return False
    _show(screen, file, after)
    if dry_run:
        screen.say("Nothing was changed: this is what would be.")
        return False
    if read_file(file.path) != file:
        raise ClientConfigError("The client's file was changed a moment ago; nothing was written.", "Try again.")
    is_ours = _is_left_empty(file, after)
    try:
        backup = _back_up(file.path)
        if is_ours:
            file.path.unlink()
            screen.say(f"Removed: {file.path}, for nothing is left in it (before: {backup.name if backup else 'none'})")
            return True
        _replace(file.path, file.spelled(after))
    except OSError as error:
        raise ClientConfigError(
            f"The client's file cannot be written: {error.strerror}; it is as it was.", "Check its permissions."
        ) from error
    screen.say(f"Written: {file.path}" + (f" (before: {backup.name})" if backup else ""))
    return True


def _is_left_empty(file: ClientFile, after: str) -> bool:
    """Whether a change leaves nothing in a file that Holdfast itself once made: then it has no older copy beside it."""
    if file.data is None or after.strip() not in ("", "{}"):
        return False
    return not any(file.path.parent.glob(f"{glob.escape(file.path.name)}.holdfast-backup-*"))


def _show(screen: Screen, file: ClientFile, after: str) -> None:
    name = str(file.path)
    for line in difflib.unified_diff(file.text.splitlines(), after.splitlines(), name, name, lineterm=""):
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
        shown = clean(redact(line).text)  # other servers' keys stand in the same file
        screen.say(screen.paint(shown, style) if style else shown)


def _back_up(path: Path) -> Path | None:
    """A copy beside the file under a name that nothing has yet; None where there is no file."""
    if not path.exists():
        return None
    stem = f"{path.name}.holdfast-backup-{datetime.now().astimezone():%Y%m%dT%H%M%S}"
    names = (f"{stem}{'-' * bool(number)}{number or ''}" for number in range(1000))
    backup = next(place for name in names if not os.path.lexists(place := path.with_name(name)))
    _create(backup, path.read_bytes())
    shutil.copystat(path, backup)
    return backup


def _replace(path: Path, data: bytes) -> None:
    """Put bytes in a file's place, whole or not at all; it keeps its mode, a new one is nobody else's."""
    path.parent.mkdir(parents=True, exist_ok=True)
    waiting = path.with_name(f".{path.name}.holdfast-{os.getpid()}")
    try:
        _create(waiting, data)
        if path.exists():
            shutil.copymode(path, waiting)
        waiting.replace(path)
    finally:
        waiting.unlink(missing_ok=True)


def _create(path: Path, data: bytes) -> None:
    """A new file that nobody else may read, also while it is being written."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:  # noqa: PTH123 - a mode
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


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


def with_member(text: str, clear: str, path: tuple[str, str], value: Any) -> str:
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
    whole = object_at(clear, 0)
    outer = whole.find(path[0])
    if outer is None:
        return _added(text, clear, whole, path[0], {path[1]: value})
    inner = object_at(clear, outer.value)
    old = inner.find(path[1])
    if old is None:
        return _added(text, clear, inner, path[1], value)
    if "\n" in text[old.value : old.end]:
        made = rendered(text, value, _line_indent(text, old.first))
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
    whole = object_at(clear, 0)
    outer = whole.find(path[0])
    inner = object_at(clear, outer.value) if outer else None
    if outer is None or inner is None or (member := inner.find(path[1])) is None:
        raise ValueError("it is not there")
    around = text[inner.first : member.first] + text[member.end : inner.end]
    if len(inner.members) > 1 or around != clear[inner.first : member.first] + clear[member.end : inner.end]:
        return _removed(text, clear, inner, path[1])
    return _removed(text, clear, whole, path[0])


def object_at(text: str, start: int) -> _Object:
    first = place = after_space(text, start)
    if text[place : place + 1] != "{":
        raise ValueError("no object")
    members: list[_Member] = []
    place = after_space(text, place + 1)
    while text[place : place + 1] != "}":
        key, behind = _DECODER.raw_decode(text, place)
        colon = after_space(text, behind)
        value = after_space(text, colon + 1)
        _, end = _DECODER.raw_decode(text, value)
        members.append(_Member(str(key), place, value, end))
        place = after_space(text, end)
        if text[place : place + 1] == ",":
            place = after_space(text, place + 1)
    return _Object(first, place + 1, tuple(members))


def after_space(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place


def _added(text: str, clear: str, to: _Object, key: str, value: Any) -> str:
    """The text with a member at an object's end: on a line of its own where the others are, or where there is none."""
    if not to.members:
        return _added_first(text, clear, to, key, value)
    last = to.members[-1]
    before = text[: last.first]
    space = before[len(before.rstrip(" \t\n\r")) :]
    if "\n" in space:
        made = f"{space}{json.dumps(key)}: {rendered(text, value, space.rpartition(chr(10))[2])}"
    else:
        made = f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
    trailing = _trailing_comma(text, clear, last.end)
    if trailing >= 0:
        rest = _end_of_remark(text, clear, trailing + 1)
        return f"{text[:rest]}{made},{text[rest:]}"
    rest = _end_of_remark(text, clear, last.end)
    return f"{text[: last.end]},{text[last.end : rest]}{made}{text[rest:]}"


def _added_first(text: str, clear: str, to: _Object, key: str, value: Any) -> str:
    outer = _line_indent(text, to.first)
    indent = outer + _unit(text)
    made = f"\n{indent}{json.dumps(key)}: {rendered(text, value, indent)}\n{outer}"
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
        behind = after_space(text, clear.index(",", member.end) + 1)
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
    return _without_comments(text).find(",", place, after_space(clear, place))


def _end_of_remark(text: str, clear: str, place: int) -> int:
    """Behind a comment that stands on the same line; the place itself where there is none."""
    end = text.find("\n", place)
    end = len(text) if end < 0 else end
    line, cleared = text[place:end], clear[place:end]
    return end if line.strip() and not cleared.strip(" ") else place


def rendered(text: str, value: Any, indent: str) -> str:
    return json.dumps(value, indent=_unit(text), ensure_ascii=False).replace("\n", f"\n{indent}")


def _unit(text: str) -> str:
    found = _INDENT.search(text)
    return found[1] if found else "  "


def _line_indent(text: str, place: int) -> str:
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]


_HEADER: Final = re.compile(r"\s*\[[^\[\]\n]+\]\s*(#.*)?\n?")
_KEY: Final = re.compile(r"\s*([A-Za-z0-9_-]+)\s*=")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]+")

KeyPath = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Table:
    """A table in a list of lines: its header at `first`, its last key before `end`."""

    path: KeyPath
    first: int
    end: int


def with_table(text: str, path: KeyPath, values: Mapping[str, Any]) -> str:
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


def without_table(text: str, path: KeyPath) -> str:
    """The text without a table, those below it, and the empty line before each."""
    lines = text.splitlines(keepends=True)
    for table in reversed([table for table in _tables(lines) if table.path[: len(path)] == path]):
        last = table.end == len(lines) or not lines[table.end].strip()
        blank = table.first > 0 and not lines[table.first - 1].strip()
        del lines[table.first - (blank and last) : table.end]
    return "".join(lines)


def appended(text: str, path: KeyPath, values: Mapping[str, Any]) -> str:
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


def _header(line: str) -> KeyPath:
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


Span = tuple[int, int]


def with_item(text: str, path: tuple[str, str], item: Any) -> str:
    """The text with an item at the end of the list at `path[0]`, `path[1]`; what is missing on the way is made.

    Raises:
        ValueError: it is no JSON, or there is something else on the way.
    """
    found = _list_at(text, path)
    if found is None:
        return with_member(text, text, path, [item])
    first, spans, end = found
    if not spans:
        return f"{text[:first]}[{json.dumps(item, ensure_ascii=False)}]{text[end:]}"
    start, behind = spans[-1]
    before = text[:start]
    space = before[len(before.rstrip(" \t\n\r")) :]
    if "\n" in space:
        made = f"{space}{rendered(text, item, space.rpartition(chr(10))[2])}"
    else:
        made = f" {json.dumps(item, ensure_ascii=False)}"
    return f"{text[:behind]},{made}{text[behind:]}"


def without_item(text: str, path: tuple[str, str], number: int) -> str:
    """The text without the item of this number; with the last one the list goes, and what else is empty then.

    Raises:
        ValueError: it is not there.
    """
    found = _list_at(text, path)
    if found is None or not 0 <= number < len(found[1]):
        raise ValueError("it is not there")
    _, spans, _ = found
    if len(spans) == 1:
        return without_member(text, text, path)
    start, end = spans[number]
    if number == len(spans) - 1:
        return text[: spans[number - 1][1]] + text[end:]
    return text[:start] + text[spans[number + 1][0] :]


def _list_at(text: str, path: tuple[str, str]) -> tuple[int, list[Span], int] | None:
    """Where the list begins, where each of its items stands, and where it ends; None where there is none yet."""
    if not text.strip():
        return None
    outer = object_at(text, 0).find(path[0])
    inner = object_at(text, outer.value).find(path[1]) if outer else None
    if inner is None:
        return None
    if text[inner.value : inner.value + 1] != "[":
        raise ValueError("no list")
    spans: list[Span] = []
    place = after_space(text, inner.value + 1)
    while text[place : place + 1] != "]":
        _, end = _DECODER.raw_decode(text, place)
        spans.append((place, end))
        place = after_space(text, end)
        if text[place : place + 1] == ",":
            place = after_space(text, place + 1)
    return inner.value, spans, place + 1
