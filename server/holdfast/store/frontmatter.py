"""A markdown file with frontmatter, kept as it was written: only the keys that change are written anew.

Canonical frontmatter is `key: <JSON value>` lines, which is valid YAML and fast to read. Block YAML that a person
wrote is read too; its comments, order and spelling survive, because a change replaces the lines of its key alone.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import yaml

from holdfast.model.note import FIELDS

_OPENING = re.compile(r"\A\ufeff?---[ \t]*\r?\n")
_CLOSING = re.compile(r"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_KEY = re.compile(r"""(?:([A-Za-z_][\w.-]*)|"([^"\\]+)"|'([^']+)')[ \t]*:(?=[ \t\r\n]|\Z)""")
_JSON_KEY = re.compile(r"[A-Za-z_][\w.-]*\Z")
_USUAL = frozenset(field.name for field in FIELDS)  # need not be matched again and again
_STRING_OR_EXPONENT = re.compile(r'"(?:[^"\\]|\\.)*"|(?<![\d.])(-?\d+)(e[+-]\d+)')
_NO_TEXTS = {"yes", "no", "on", "off", "true", "false", "null"}  # to YAML 1.1, unless they are quoted
_DEEPEST = 32
_NOT_OURS = re.compile(r"^(?:\ufeff|\.\.\.(?:[ \t\r\n]|\Z))", re.MULTILINE)  # ends or begins another YAML document
_NOT_YAML = re.compile(r"(?<![\w.+-])-?\d+(?:\.\d+)?[eE]\d|(?<![\w.+-])-?\d+[eE]")  # to YAML 1.1 a text
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


class MalformedError(ValueError):
    """The file cannot be read as a note; the message says why, without its text."""


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_JSON = json.JSONDecoder(parse_constant=_refuse_constant)


@dataclass(frozen=True, slots=True)
class Document:
    """A file in three parts: `head` up to the first key, `spans` of raw lines by key, and the `body`.

    `values` are the parsed keys. `spans` is None where the lines cannot be told apart by key (a frontmatter in
    one flow mapping, say): such a frontmatter is kept in `whole`, and written anew when a key changes.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    body: str = ""
    head: str = ""
    spans: tuple[tuple[str, str], ...] | None = ()
    closing: str = "---\n"
    whole: str = ""

    def render(self) -> bytes:
        """The file's bytes."""
        if not self.values and not self.head:
            return self.body.encode()
        lines = [self.whole] if self.spans is None else [text for _, text in self.spans]
        return "".join([self.head or "---\n", *lines, self.closing, self.body]).encode()

    def with_values(self, changes: Mapping[str, Any]) -> Document:
        """The document with these keys set, or taken out where the value is None."""
        values = {**self.values, **changes}
        kept = {key: value for key, value in values.items() if not (key in changes and value is None)}
        spans = _canonical_spans(kept) if self.spans is None else _changed_spans(self.spans, changes)
        return replace(self, values=kept, spans=spans)

    def with_body(self, body: str) -> Document:
        closing = self.closing if not body or self.closing.endswith("\n") else self.closing + "\n"
        return replace(self, body=body, closing=closing)


def parse(data: bytes) -> Document:
    """Read a file's bytes.

    Raises:
        MalformedError: not text, or its frontmatter is not closed, not a mapping, has a key twice or an alias.
    """
    if b"\0" in data:
        raise MalformedError("it holds NUL bytes")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise MalformedError(f"it is not UTF-8 at byte {error.start}") from error
    opening = _OPENING.match(text)
    if opening is None:
        return Document(body=text)
    closing = _CLOSING.search(text, opening.end())
    if closing is None:
        raise MalformedError("the frontmatter opened on line 1 is never closed with ---")
    lines = [line + "\n" for line in text[opening.end() : closing.start()].split("\n")[:-1]]
    values, spans = _json_lines(lines) or _block_yaml(lines)
    whole = "" if spans is not None else text[opening.end() : closing.start()]
    return Document(values, text[closing.end() :], opening.group(), spans, closing.group(), whole)


def _json_lines(lines: list[str]) -> tuple[dict[str, Any], tuple[tuple[str, str], ...]] | None:
    """Every line `key: <JSON>`: read with one call of the JSON decoder; None where a line is not of that form."""
    pairs = [line.partition(":") for line in lines]
    if not all(colon and (key in _USUAL or _JSON_KEY.match(key)) for key, colon, _ in pairs):
        return None
    text = "{" + ",".join([f'"{key}":{value}' for key, _, value in pairs]) + "}"
    if _NOT_YAML.search(text):
        return None
    keys = [key for key, _, _ in pairs]
    try:
        values = _JSON.decode(text)
        if "\\u" in text:
            json.dumps(values, ensure_ascii=False).encode()  # half a surrogate pair is no text
    except (ValueError, RecursionError):
        return None
    if text.count("[") + text.count("{") > _DEEPEST and _is_deep(values):
        return None
    return (values, tuple(zip(keys, lines, strict=True))) if list(values) == keys else None


def _is_deep(values: dict[str, Any]) -> bool:
    """Whether it is nested more deeply than is read; how deep JSON may be depends on the version of Python."""
    level: list[Any] = [values]
    for _ in range(_DEEPEST):
        inside = (item for value in level for item in (value.values() if isinstance(value, dict) else value))
        level = [item for item in inside if isinstance(item, dict | list)]
    return bool(level)


def _block_yaml(lines: list[str]) -> tuple[dict[str, Any], tuple[tuple[str, str], ...] | None]:
    text = "".join(lines)
    spans = _spans(lines)
    keys = [key for key, _ in spans if key]
    twice = next((key for key, count in Counter(keys).items() if count > 1), None)
    if twice is not None:
        raise MalformedError(f"the key {twice!r} stands twice in its frontmatter")
    if _NOT_OURS.search(text):
        raise MalformedError("its frontmatter ends or begins again in the middle")
    values = _load_yaml(text)
    if values is None and all(not line.strip() or line.lstrip().startswith("#") for line in lines):
        values = {}
    if isinstance(values, dict) and len(values) == len(keys):  # `yes` and `1` are keys as they stand there
        named = [key if isinstance(key, str) else spelled for key, spelled in zip(values, keys, strict=True)]
        values = dict(zip(named, values.values(), strict=True))
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise MalformedError("its frontmatter is not a list of keys and values")
    if set(keys) == set(values):
        return values, spans
    try:
        _canonical_spans(values)
    except (ValueError, TypeError) as error:
        raise MalformedError("its frontmatter has a value that could not be written again") from error
    return values, None


def _load_yaml(text: str) -> object:
    try:
        _check_events(text)
        values = yaml.load(text, Loader=yaml.CSafeLoader)
    except MalformedError:
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f" on line {mark.line + 2}" if mark else ""
        raise MalformedError(f"its frontmatter is not valid YAML{where}") from error
    except (yaml.YAMLError, RecursionError, OverflowError) as error:
        raise MalformedError("its frontmatter is not valid YAML") from error
    except (ValueError, LookupError, AttributeError, TypeError) as error:  # a tag on a value that it does not fit
        raise MalformedError("its frontmatter has a value that cannot be read") from error
    return values


def _check_events(text: str) -> None:
    """Refuse, before anything is built, what would take the C loader beyond its stack or without end."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.AliasEvent):
            raise MalformedError("its frontmatter uses YAML aliases, which are not read")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _DEEPEST:
            raise MalformedError("its frontmatter is nested too deeply")


def _spans(lines: list[str]) -> tuple[tuple[str, str], ...]:
    """Raw lines grouped under the top-level key they belong to; lines before the first key under ''."""
    spans: list[tuple[str, list[str]]] = [("", [])]
    for line in lines:
        found = _KEY.match(line)
        if found is not None:
            spans += [(next(name for name in found.groups() if name), [line]), ("", [])]
        elif line.startswith("#") or not line.strip() or len(spans) == 1:
            spans[-1][1].append(line)  # a comment outlives the key that it follows,
        else:
            spans[-2][1].extend([*spans[-1][1], line])  # unless it stands amid that key's value
            spans[-1][1].clear()
    return tuple((key, "".join(group)) for key, group in spans if group)


def _changed_spans(spans: tuple[tuple[str, str], ...], changes: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    there = {key for key, _ in spans}
    result = []
    for key, text in spans:
        if key not in changes:
            result.append((key, text))
        elif changes[key] is not None:
            result.append((key, _line(key, changes[key])))
    if result and not result[-1][1].endswith("\n"):
        result[-1] = (result[-1][0], result[-1][1] + "\n")
    added = [(key, _line(key, value)) for key, value in changes.items() if key not in there and value is not None]
    return tuple(result + added)


def _canonical_spans(values: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((key, _line(key, value)) for key, value in values.items())


def _line(key: str, value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=_dated)
    text = _STRING_OR_EXPONENT.sub(_with_point, text)
    spelled = key if _JSON_KEY.match(key) and key.lower() not in _NO_TEXTS else json.dumps(key, ensure_ascii=False)
    return f"{spelled}: {_UNPRINTABLE.sub(_escape, text)}\n"


def _dated(value: object) -> str:
    if isinstance(value, date):
        return str(value)
    raise TypeError("no JSON")


def _with_point(found: re.Match[str]) -> str:
    """1e-05 as 1.0e-05: without the point it is a text to YAML 1.1."""
    return f"{found[1]}.0{found[2]}" if found[1] else found[0]


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found.group()):04x}"
