"""Between a note and its file: which keys it has, in which order, and what a person may leave out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

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
    space_name,
    title_of,
)
from holdfast.model.times import read_instant
from holdfast.store.frontmatter import Document, MalformedError

_OWN = ("id", "created")
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
    return Note(
        id=_id(values, note_id),
        content=content,
        title=_text(values, "title") or title_of(content),
        created=created,
        updated=_time(values, "updated") or created,
        space=_space(values, around.space),
        **{name: read(values, name) for name, read in _READERS},
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
    if isinstance(found, dict | list):
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
    if not isinstance(items, list) or any(isinstance(item, dict | list) for item in items):
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
    return _text(values, key) or _text(values, "merged_into")  # as other systems have it


def _type(values: Mapping[str, Any], key: str) -> str:
    return _choice(values, key, NOTE_TYPES, "fact")


def _tier(values: Mapping[str, Any], key: str) -> str:
    return _choice(values, key, TIERS, "working")


_OF_KIND: dict[FieldKind, Callable[[Mapping[str, Any], str], Any]] = {
    "type": _type, "tier": _tier, "tags": _tags, "fraction": _fraction, "word": _word, "text": _text, "count": _count,
    "time": _time, "flag": _flag, "successor": _successor, "ids": _ids, "evidence": _evidence, "links": _links,
}  # fmt: skip
_READERS = [(field.name, _OF_KIND[field.kind]) for field in FIELDS if field.kind != "own"]
