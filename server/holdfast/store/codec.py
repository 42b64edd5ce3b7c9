"""A note as a markdown file with frontmatter, kept as it was written: only the keys that change are written anew.

Canonical frontmatter is `key: <JSON value>` lines, which is valid YAML and fast to read. Block YAML that a person
wrote is read too; its comments, order and spelling survive, because a change replaces the lines of its key alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import yaml

from holdfast.model.note import (
    EDGE_TYPES,
    FIELDS,
    GLOBAL_SPACE,
    NOTE_TYPES,
    TIERS,
    FieldKind,
    Link,
    Note,
    is_note_id,
    read_instant,
    space_name,
    title_of,
)
from holdfast.model.words import regex

_OPENING = regex(r"\A\ufeff?---[ \t]*\r?\n")
_FENCE = "---"
_CLOSING = regex(r"---[ \t]*(?:\r?\n|\Z)")  # at the beginning of a line
_KEY = regex(r"""(?:([A-Za-z_][\w.-]*)|"([^"\\]+)"|'([^']+)')[ \t]*:(?=[ \t\r\n]|\Z)""")
_JSON_KEY = regex(r"[A-Za-z_][\w.-]*\Z")
_USUAL = frozenset(field.name for field in FIELDS)  # need not be matched again and again
_STRING_OR_EXPONENT = regex(r'"(?:[^"\\]|\\.)*"|(?<![\d.])(-?\d+)(e[+-]\d+)')
_NO_TEXTS = {"yes", "no", "on", "off", "true", "false", "null"}  # to YAML 1.1, unless they are quoted
_DEEPEST = 32
_NOT_OURS = regex(r"^(?:\ufeff|\.\.\.(?:[ \t\r\n]|\Z))", re.MULTILINE)  # ends or begins another YAML document
_UNPRINTABLE = regex("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


class MalformedError(ValueError):
    """The file cannot be read as a note; the message says why, without its text."""


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _number(spelled: str) -> float:
    mantissa, _, exponent = spelled.lower().partition("e")
    if exponent and not ("." in mantissa and exponent[0] in "+-"):
        raise ValueError("to YAML 1.1 that is a text")
    return float(spelled)


_JSON = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_number)


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
    closing = _closing(text, opening.end())
    if closing is None:
        raise MalformedError("the frontmatter opened on line 1 is never closed with ---")
    lines = [line + "\n" for line in text[opening.end() : closing.start()].split("\n")[:-1]]
    values, spans = _json_lines(lines) or _block_yaml(lines)
    whole = "" if spans is not None else text[opening.end() : closing.start()]
    return Document(values, text[closing.end() :], opening.group(), spans, closing.group(), whole)


def _closing(text: str, start: int) -> re.Match[str] | None:
    """The line that closes a frontmatter, at `start`, where a line begins, or later."""
    at = text.find(_FENCE, start)
    while at >= 0:
        found = _CLOSING.match(text, at) if text[at - 1] == "\n" else None
        if found is not None:
            return found
        at = text.find(_FENCE, at + 1)
    return None


def _json_lines(lines: list[str]) -> tuple[dict[str, Any], tuple[tuple[str, str], ...]] | None:
    """Every line `key: <JSON>`: read with one call of the JSON decoder; None where a line is not of that form."""
    pairs = [line.partition(":") for line in lines]
    keys = [key for key, _, _ in pairs]
    if not (_USUAL.issuperset(keys) or all(colon and _JSON_KEY.match(key) for key, colon, _ in pairs)):
        return None
    text = "{" + ",".join([f'"{key}":{value}' for key, _, value in pairs]) + "}"
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


_OWN = ("id", "created")
_SUCCESSOR, _MERGED_INTO = "superseded_by", "merged_into"  # the second is how other systems have it
_NESTED = (dict, list)
_KEYS = frozenset(field.name for field in FIELDS)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the file's place says where its frontmatter is silent."""

    space: str = GLOBAL_SPACE
    modified: str = "1970-01-01T00:00:00Z"


def content_hash(data: bytes) -> str:
    """SHA-256 in hexadecimal: the name of a text in the journal and in `history/`."""
    return hashlib.sha256(data).hexdigest()


def note_of(document: Document, around: Surroundings, note_id: str | None = None) -> Note:
    """The note that a document holds.

    Args:
        document: the parsed file.
        around: space and time for a file that names none.
        note_id: the id to take where the frontmatter has none yet.

    Raises:
        MalformedError: a known key has a value that it cannot have.
    """
    values = document.values
    content = _content(document.body)
    created = _time(values, "created") or around.modified
    fields = {name: _READERS[name](values, name) for name in values if name in _READERS}
    if _MERGED_INTO in values:
        fields[_SUCCESSOR] = _successor(values, _SUCCESSOR)
    return Note(
        id=_id(values, note_id),
        content=content,
        title=_text(values, "title") or title_of(content),
        created=created,
        updated=_time(values, "updated") or created,
        space=_space(values, around.space),
        **(_SILENT | fields),
    )


def frontmatter_of(note: Note) -> dict[str, Any]:
    """Canonical keys in canonical order; None where a key is not written."""
    return {field.name: _written(field.kind, getattr(note, field.name)) for field in FIELDS}


def _written(kind: FieldKind, value: Any) -> Any:
    match kind:
        case "tags":
            return list(value)
        case "links":
            return [_link_value(link) for link in value] or None
        case "ids" | "evidence":
            return list(value) or None
        case "flag":
            return value or None
    return value


def frontmatter_keys() -> frozenset[str]:
    """Every key that is ours."""
    return _KEYS


def new_document(note: Note) -> Document:
    """The canonical file of a note that has none yet."""
    return Document(body=_body(note.content)).with_values(
        {key: value for key, value in frontmatter_of(note).items() if value is not None}
    )


def changed_document(document: Document, old: Note, new: Note) -> Document:
    """The file with what differs between `old` and `new`, everything else as it stands.

    A hand-written file is given its id and its date too, which so far came from elsewhere.
    """
    before, after = frontmatter_of(old), frontmatter_of(new)
    changes = {key: value for key, value in after.items() if value != before[key]}
    if changes or new.content != old.content:
        changes |= {key: after[key] for key in _OWN if key not in document.values}
    changed = document.with_values(changes)
    return changed if new.content == old.content else changed.with_body(_body(new.content))


def with_id(data: bytes, document: Document, note_id: str) -> bytes:
    """The bytes of a hand-written file with its id put first, every other byte as it was."""
    line = f'id: "{note_id}"\n'
    if not document.head:
        return f"---\n{line}---\n".encode() + data
    head = document.head.encode()
    if document.spans is None:  # one flow mapping, say: a line above it would not be part of it
        return document.with_values({"id": note_id}).render()
    return head + line.encode() + data[len(head) :]


def _body(content: str) -> str:
    return content + ("\r\n" if content.endswith("\r") else "\n")  # `_content` takes exactly this off again


def _content(body: str) -> str:
    """The body without its one closing line end."""
    return body.removesuffix("\n").removesuffix("\r") if body.endswith("\r\n") else body.removesuffix("\n")


def _link_value(link: Link) -> dict[str, Any]:
    value: dict[str, Any] = {"to": link.to, "type": link.type, "weight": link.weight}
    if link.reason:
        value["reason"] = link.reason
    if link.created:
        value["created"] = link.created
    return value


def _id(values: Mapping[str, Any], given: str | None) -> str:
    found = values.get("id")
    if found is None and given is not None:
        return given
    if not isinstance(found, str) or not is_note_id(found):
        raise MalformedError("its id is not a note id; remove the line and the file is given one")
    return found


def _text(values: Mapping[str, Any], key: str) -> str | None:
    found = values.get(key)
    if found is None:
        return None
    if isinstance(found, _NESTED):
        raise MalformedError(f"{key} is not a text")
    return _plain(found, key) or None


def _plain(found: object, key: str) -> str:
    """A single value as text, however it was spelled."""
    try:
        text = str(found).strip()
    except ValueError as error:  # a number of thousands of digits
        raise MalformedError(f"{key} is not a text") from error
    if "\0" in text:
        raise MalformedError(f"{key} holds a NUL")
    return text


def _choice(values: Mapping[str, Any], key: str, allowed: tuple[str, ...], default: str) -> str:
    found = values.get(key)
    if found is None:  # left out, or left blank as some editors do
        return default
    if found not in allowed:
        raise MalformedError(f"{key} is none of {', '.join(allowed)}")
    return str(found)


def _time(values: Mapping[str, Any], key: str) -> str | None:
    found = values.get(key)
    if found is None or found == "":
        return None
    try:
        return read_instant(found)
    except (ValueError, OverflowError) as error:
        raise MalformedError(f"{key} is not an ISO-8601 date or time") from error


def _space(values: Mapping[str, Any], default: str) -> str:
    found = _text(values, "space")
    if found is None:
        return default
    try:
        return space_name(found)
    except ValueError as error:
        raise MalformedError(f"space: {error}") from error


def _tags(values: Mapping[str, Any], key: str) -> tuple[str, ...]:
    found = values.get(key)
    if found is None:
        return ()
    items = found.split(",") if isinstance(found, str) else found
    if not isinstance(items, list) or any(isinstance(item, _NESTED) for item in items):
        raise MalformedError(f"{key} is not a list of words")
    return tuple(dict.fromkeys(tag for item in items if (tag := _plain(item, key).removeprefix("#"))))


def _fraction(values: Mapping[str, Any], key: str, default: float = 1.0) -> float:
    found = default if values.get(key) is None else values[key]
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise MalformedError(f"{key} is not a number from 0 to 1")
    if not 0 <= found <= 1:  # compared as it is: a whole number may be too large for a float, and nan is neither
        raise MalformedError(f"{key} is not a number from 0 to 1")
    return float(found)


def _count(values: Mapping[str, Any], key: str) -> int | None:
    found = values.get(key)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found < 1 << 53:
        raise MalformedError(f"{key} is not a whole number")
    return found


def _flag(values: Mapping[str, Any], key: str) -> bool:
    found = False if values.get(key) is None else values[key]
    if not isinstance(found, bool):
        raise MalformedError(f"{key} is neither true nor false")
    return found


def _links(values: Mapping[str, Any], key: str) -> tuple[Link, ...]:
    found = values.get(key)
    if found is None:
        return ()
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise MalformedError(f"{key} is not a list of {{to, type, weight}}")
    return tuple(_link(item) for item in found)


def _link(item: dict[str, Any]) -> Link:
    target = item.get("to")
    if not isinstance(target, str) or not is_note_id(target):
        raise MalformedError("a connection's `to` is not a note id")
    return Link(
        to=target,
        type=_choice(item, "type", EDGE_TYPES, "related_to"),
        weight=_fraction(item, "weight", 0.5),
        reason=_text(item, "reason") or "",
        created=_time(item, "created") or "",
    )


def _ids(values: Mapping[str, Any], key: str) -> tuple[str, ...]:
    found = values.get(key)
    if found is None:
        return ()
    if not isinstance(found, list) or not all(isinstance(item, str) and is_note_id(item) for item in found):
        raise MalformedError(f"{key} is not a list of note ids")
    return tuple(dict.fromkeys(found))


def _evidence(values: Mapping[str, Any], key: str) -> tuple[dict[str, Any], ...]:
    found = values.get(key)
    if found is None:
        return ()
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise MalformedError(f"{key} is not a list")
    return tuple(found)


def _word(values: Mapping[str, Any], key: str) -> str:
    return _text(values, key) or ""


def _successor(values: Mapping[str, Any], key: str) -> str | None:
    return _text(values, key) or _text(values, _MERGED_INTO)


def _type(values: Mapping[str, Any], key: str) -> str:
    return _choice(values, key, NOTE_TYPES, "fact")


def _tier(values: Mapping[str, Any], key: str) -> str:
    return _choice(values, key, TIERS, "working")


_OF_KIND: dict[FieldKind, Callable[[Mapping[str, Any], str], Any]] = {
    "type": _type, "tier": _tier, "tags": _tags, "fraction": _fraction, "word": _word, "text": _text, "count": _count,
    "time": _time, "flag": _flag, "successor": _successor, "ids": _ids, "evidence": _evidence, "links": _links,
}  # fmt: skip
_READERS = {field.name: _OF_KIND[field.kind] for field in FIELDS if field.kind != "own"}
_SILENT = {name: read({}, name) for name, read in _READERS.items()}  # what a file says that has none of these keys
