"""What arrives from another memory, made ready to be stored: without secrets, within limits, in our form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from holdfast.engine.arguments import LARGEST_CONTENT, LONGEST_LINE, LONGEST_TAG, MOST_TAGS, Door
from holdfast.engine.ports import Ports
from holdfast.engine.remember import BEFORE, FIRST, THREAD_WEIGHT
from holdfast.errors import HoldfastError, InvalidArgumentError, LimitExceededError, SecretRefusedError
from holdfast.model.ids import SELF_ID
from holdfast.model.memory import GLOBAL_SPACE, Link, Note, title_of
from holdfast.model.moving import (
    IMPORTED_FROM,
    IMPORTED_KEYS,
    IMPORTED_SECTIONS,
    IMPORTED_TEXT,
    Arrival,
    ArrivedFile,
    imported_id,
)
from holdfast.model.spaces import space_name
from holdfast.store.codec import Surroundings, content_hash, frontmatter_keys, new_document, note_of, with_id
from holdfast.store.frontmatter import MalformedError, parse
from holdfast.store.stored import LARGEST_FILE, LARGEST_PAGE


@dataclass(frozen=True, slots=True)
class Ready:
    """A note that can be stored as `raw`; `labels` are the secrets that were taken out of it."""

    note: Note
    raw: bytes
    where: str
    labels: tuple[str, ...] = ()
    unmapped: tuple[str, ...] = ()
    is_foreign: bool = False  # it has frontmatter that is not ours

    @property
    def hash(self) -> str:
        return content_hash(self.raw)


@dataclass(slots=True)
class Threads:
    """The last note of each space: what would stand alone is tied to it, as a note is that a tool stores."""

    last: dict[str, str] = field(default_factory=dict)

    def link(self, note: Note) -> Link:
        before = self.last.get(note.space)
        if before is None:
            return Link(SELF_ID, "related_to", THREAD_WEIGHT, FIRST)
        return Link(before, "preceded_by", THREAD_WEIGHT, BEFORE)


def made_ready(ports: Ports, item: Arrival | ArrivedFile, threads: Threads) -> Ready:
    """A note of another memory in our form.

    Raises:
        HoldfastError: it cannot be stored as it is; the others can.
    """
    try:
        ready = _of_file(ports, item) if isinstance(item, ArrivedFile) else _of_arrival(ports, item, threads)
        again = note_of(parse(ready.raw), Surroundings(ready.note.space))
    except (MalformedError, ValueError, TypeError, RecursionError) as error:
        said = str(error) if isinstance(error, MalformedError) else "it has a value that cannot be written"
        raise InvalidArgumentError(f"It cannot be stored: {said}.") from error
    if again != ready.note or len(ready.raw) > LARGEST_FILE:
        raise LimitExceededError("It is too long, or would not be read back as it is.")
    threads.last[ready.note.space] = ready.note.id
    return ready


def clean_page(ports: Ports, data: bytes) -> tuple[bytes, tuple[str, ...]]:
    """A text beside the notes without its secrets, and their kinds.

    Raises:
        SecretRefusedError, LimitExceededError: it cannot be stored.
    """
    if len(data) > LARGEST_PAGE:
        raise LimitExceededError(f"It is longer than {LARGEST_PAGE >> 20} MiB.")
    text, labels = _redacted(ports, data.decode("utf-8", "surrogateescape"))
    return text.encode("utf-8", "surrogateescape"), labels


def _of_file(ports: Ports, item: ArrivedFile) -> Ready:
    text, labels = _redacted(ports, item.data.decode())
    data = text.encode()
    document = parse(data)
    own = document.values.get("id")
    if own is None:
        given = imported_id(item.key)
        data = with_id(data, document, given)
        document = parse(data)
    if "created" not in document.values:
        data = document.with_values({"created": item.modified}).render()
    note = note_of(parse(data), Surroundings(_space_of(item.where)))
    foreign = document.values.keys() - frontmatter_keys() - {IMPORTED_FROM, IMPORTED_TEXT, IMPORTED_SECTIONS}
    return Ready(note, data, item.where, labels, is_foreign=bool(foreign))


def _space_of(where: str) -> str:
    """The space of a note that names none: its folder's."""
    parts = where.split("/")[1:-1]
    try:
        return space_name(parts[0]) if parts else GLOBAL_SPACE
    except ValueError:
        return GLOBAL_SPACE


def _of_arrival(ports: Ports, item: Arrival, threads: Threads) -> Ready:
    door = Door(ports)
    unmapped = list(item.unmapped)
    extra = dict(item.extra)
    content = door.text("content", item.content, LARGEST_CONTENT)
    is_retired = item.outdated_reason is not None or bool(item.superseded_by)
    note = Note(
        id=imported_id(item.key),
        content=content,
        title=_line(door, item.title) or title_of(content),
        created=item.created,
        updated=max(item.created, item.updated),
        type=item.type,
        tier=item.tier,
        space=_space(item.space, unmapped),
        tags=_tags(door, item.tags, extra, unmapped),
        confidence=item.confidence,
        source=_line(door, item.source) or item.key.partition(":")[0],
        subject=_line(door, item.subject) or None,
        event_time=item.event_time or None,
        valid_from=item.valid_from or None,
        valid_until=item.valid_until or (max(item.created, item.updated) if is_retired else None),
        outdated=item.outdated_reason is not None,
        outdated_reason=_line(door, item.outdated_reason or "") or None,
        superseded_by=imported_id(item.superseded_by) if item.superseded_by else None,
        session=_line(door, item.session) or None,
        about_self=item.about_self,
        connections=tuple(
            Link(imported_id(tie.to), tie.type, tie.weight, _line(door, tie.reason)) for tie in item.ties
        ),
    )
    if not note.connections and not note.about_self:
        note = replace(note, connections=(threads.link(note),))
    keys = _extra_keys(ports, extra, door)
    raw = new_document(note).with_values({IMPORTED_FROM: _line(door, item.key), **keys}).render()
    return Ready(note, raw, item.where, tuple(door.labels), tuple(unmapped), bool(keys))


def _line(door: Door, text: str) -> str:
    """A short text on one line, cut where it is too long for one."""
    line = " ".join(text.split()).encode()[:LONGEST_LINE].decode("utf-8", "ignore")
    return door.line("line", line) or ""


def _space(given: str, unmapped: list[str]) -> str:
    try:
        return space_name(given) if given.strip() else GLOBAL_SPACE
    except ValueError:
        unmapped.append("its space cannot be one here: global is taken")
        return GLOBAL_SPACE


def _tags(door: Door, given: tuple[str, ...], extra: dict[str, Any], unmapped: list[str]) -> tuple[str, ...]:
    tags = [" ".join(tag.split()) for tag in given]
    fit = [tag for tag in dict.fromkeys(tags) if tag and len(tag) <= LONGEST_TAG and "," not in tag][:MOST_TAGS]
    if len(fit) < len(set(tags)):
        unmapped.append(f"some of its {len(tags)} tags are too long or too many: they are kept in its frontmatter")
        kept = extra.get(IMPORTED_KEYS)
        extra[IMPORTED_KEYS] = {**(kept if isinstance(kept, dict) else {}), "tags": list(given)}
    return tuple(dict.fromkeys(_line(door, tag).removeprefix("#") for tag in fit))


def _extra_keys(ports: Ports, extra: Mapping[str, Any], door: Door) -> dict[str, Any]:
    """Foreign frontmatter without secrets; what has a name of ours goes below one key."""
    ours = frontmatter_keys() | {IMPORTED_FROM, IMPORTED_KEYS}
    kept = extra.get(IMPORTED_KEYS)
    below = dict(kept) if isinstance(kept, dict) else {}
    below |= {key: value for key, value in extra.items() if key in ours and key != IMPORTED_KEYS}
    keys = {key: value for key, value in extra.items() if key not in ours}
    clean = _clean({**keys, **({IMPORTED_KEYS: below} if below else {})}, ports, door)
    return dict(clean)


def _clean(value: Any, ports: Ports, door: Door) -> Any:
    match value:
        case dict():
            return {str(_clean(str(key), ports, door)): _clean(inner, ports, door) for key, inner in value.items()}
        case list() | tuple():
            return [_clean(item, ports, door) for item in value]
        case str():
            text, labels = _redacted(ports, value)
            door.labels.extend(labels)
            return text
        case _:
            return value


def _redacted(ports: Ports, text: str) -> tuple[str, tuple[str, ...]]:
    if ports.secrets == "allow":
        return text, ()
    redaction = ports.door(text)
    if redaction.labels and ports.secrets == "refuse":
        raise SecretRefusedError(f"It holds a secret ({', '.join(redaction.labels)}).", "Leave it out.")
    return redaction.text, redaction.labels


def why(error: HoldfastError) -> str:
    """An error as the reason that one of many things was left out."""
    return f"{type(error).__name__}: {error.sentence}"
