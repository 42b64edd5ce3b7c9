"""Editing notes through the admin gate: their text and place, and the edges between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from holdfast.engine.arguments import LARGEST_CONTENT, Door
from holdfast.engine.commit import commit, load_current
from holdfast.engine.encoding import encode_note
from holdfast.engine.ports import Caller, Ports
from holdfast.engine.resolve import resolve
from holdfast.engine.tending import core_notices
from holdfast.errors import InvalidArgumentError, ProtectedNoteError
from holdfast.model.ids import SELF_ID
from holdfast.model.memory import EDGE_TYPES, NOTE_TYPES, TIERS, Link, Note, title_of
from holdfast.store.stored import Change

UPDATE, CONNECT = "admin_update_memory", "admin_connect_memories"


@dataclass(frozen=True, slots=True)
class Edit:
    """What is to be different; None leaves it as it is."""

    node_id: str
    content: str | None = None
    type: str | None = None
    tier: str | None = None
    tags: Sequence[str] | None = None
    title: str | None = None
    space: str | None = None


@dataclass(frozen=True, slots=True)
class Connect:
    """An edge from one note to another, `weight` in 0..1."""

    source_id: str
    target_id: str
    edge: str = "related_to"
    weight: float = 0.5


@dataclass(frozen=True, slots=True)
class Edited:
    """A note as it is now, and which of its keys changed. `change_id` undoes it; None where nothing changed."""

    note: Note
    change_id: str | None
    changed: tuple[str, ...]
    notices: tuple[str, ...]


async def update_note(ports: Ports, caller: Caller, request: Edit) -> Edited:
    """Change a note. Its file keeps its name: names are cosmetic.

    Raises:
        InvalidArgumentError, MemoryNotFoundError, AmbiguousIdError, SecretRefusedError: nothing was written.
        ProtectedNoteError: the Self note keeps its type, tier and space.
        ConflictError, StorageError: nothing was written.
    """
    door = Door(ports)
    size = len(request.content or "")
    wanted = await ports.computing.run(caller.principal, size, lambda: _wanted(door, request))
    found = await resolve(ports.index, request.node_id)
    if found.note.id == SELF_ID and wanted.keys() & {"type", "tier", "space"}:
        raise ProtectedNoteError("The Self note keeps its type, tier and space.", "Change its content, title or tags.")
    encoded = await encode_note(ports, *_text(found.note, wanted)) if wanted.keys() & {"title", "content"} else None
    async with ports.store.hold({found.note.id}):
        stored = await load_current(ports, found)
        title, _ = _text(stored.note, wanted)
        edited = replace(stored.note, **{**wanted, "title": title})
        changed = tuple(name for name in Edit.__slots__[1:] if getattr(edited, name) != getattr(stored.note, name))
        if not changed:
            return Edited(stored.note, None, (), ("The note is like this already; nothing was changed.",))
        edited = replace(edited, updated=max(ports.now, edited.created))
        vectors = {edited.id: encoded} if encoded else {}
        done = await commit(ports, caller, UPDATE, [Change(stored, edited)], vectors, {"admin": UPDATE})
    shed = await core_notices(ports, edited.id) if "tier" in changed and edited.tier == "core" else []
    return Edited(edited, done.change_id, changed, (*door.notices(), *shed))


async def connect_notes(ports: Ports, caller: Caller, request: Connect) -> Edited:
    """Put an edge from one note to another, in place of one of the same type.

    Raises:
        InvalidArgumentError, MemoryNotFoundError, AmbiguousIdError: nothing was written.
        ConflictError, StorageError: nothing was written.
    """
    if request.edge not in EDGE_TYPES:
        raise InvalidArgumentError("edge is unknown.", f"Use one of {', '.join(EDGE_TYPES)}.")
    if not 0.0 <= request.weight <= 1.0:
        raise InvalidArgumentError("weight is outside 0 to 1.")
    source = await resolve(ports.index, request.source_id, what="source_id")
    target = (await resolve(ports.index, request.target_id, what="target_id")).note.id
    if source.note.id == target:
        raise InvalidArgumentError("source_id and target_id are the same note.", "Name two notes.")
    async with ports.store.hold({source.note.id, target}):
        stored = await load_current(ports, source)
        links = stored.note.connections
        same = next((link for link in links if (link.to, link.type) == (target, request.edge)), None)
        if same is not None and same.weight == request.weight:
            return Edited(stored.note, None, (), ("They are connected like this already; nothing was changed.",))
        edge = replace(same or Link(target, request.edge, created=ports.now), weight=request.weight)
        others = [link for link in links if (link.to, link.type) != (target, request.edge)]
        connected = replace(stored.note, connections=(*others, edge), updated=max(ports.now, stored.note.created))
        done = await commit(ports, caller, CONNECT, [Change(stored, connected)], detail={"admin": CONNECT})
    return Edited(connected, done.change_id, ("connections",), ())


def _wanted(door: Door, request: Edit) -> dict[str, Any]:
    """The new values of the keys that are to change."""
    for name, value, allowed in (("type", request.type, NOTE_TYPES), ("tier", request.tier, TIERS)):
        if value is not None and value not in allowed:
            raise InvalidArgumentError(f"{name} is unknown.", f"Use one of {', '.join(allowed)}.")
    given = {
        "content": None if request.content is None else door.text("content", request.content, LARGEST_CONTENT),
        "type": request.type,
        "tier": request.tier,
        "tags": None if request.tags is None else door.tags(request.tags),
        "title": door.line("title", request.title),
        "space": door.space(request.space),
    }
    wanted = {name: value for name, value in given.items() if value is not None}
    if not wanted:
        raise InvalidArgumentError("Nothing is to be changed.", "Give content, type, tier, tags, title or space.")
    return wanted


def _text(note: Note, wanted: dict[str, Any]) -> tuple[str, str]:
    """Title and content as they will be; a title that only repeats the first line follows it."""
    content = wanted.get("content", note.content)
    title = title_of(content) if note.title == title_of(note.content) else note.title
    return wanted.get("title", title), content
