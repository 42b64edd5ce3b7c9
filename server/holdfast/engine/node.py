"""recall_node: one note, whole, with what it is connected to."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.engine.ports import Caller, Ports
from holdfast.engine.resolve import resolve
from holdfast.engine.uses import confirm_use
from holdfast.model.ids import id_range
from holdfast.model.memory import Note

MOST_NEIGHBOURS = 10


@dataclass(frozen=True, slots=True)
class Connection:
    """An edge of the note; `direction` is out where it leaves it, in where it reaches it."""

    id: str
    title: str
    type: str
    weight: float
    direction: str
    reason: str


@dataclass(frozen=True, slots=True)
class Node:
    """A note with its surroundings; `changes` is how many changes its history has."""

    note: Note
    path: str
    connections: tuple[Connection, ...]
    neighbours: tuple[Note, ...]
    changes: int
    notices: tuple[str, ...] = ()


async def use_node(ports: Ports, caller: Caller, node_id: str) -> Node:
    """As `recall_node`, for somebody who has a use for the note: that is recorded, once for each day.

    Raises:
        MemoryNotFoundError, AmbiguousIdError, QuarantinedError: there is no such note to show.
    """
    found = await recall_node(ports, node_id)
    if not ports.reading_notice:
        await confirm_use(ports, caller, found.note.id)
    return found


async def recall_node(ports: Ports, node_id: str) -> Node:
    """Look a note up by its id or a prefix of it.

    Raises:
        MemoryNotFoundError, AmbiguousIdError, QuarantinedError: there is no such note to show.
    """
    found = await resolve(ports.index, node_id)
    links = await ports.index.links([found.note.id])
    ends = {link.target if link.source == found.note.id else link.source for link in links}
    notes = await ports.index.notes(ends)
    connections = []
    for link in links:
        out = link.source == found.note.id
        end = link.target if out else link.source
        if end in notes:
            title = notes[end].note.title
            direction = "out" if out else "in"
            connections.append(Connection(end, title, link.type, link.weight, direction, link.reason))
    current = [notes[item.id].note for item in connections if not notes[item.id].note.is_outdated]
    return Node(
        found.note,
        found.path,
        tuple(connections),
        tuple({note.id: note for note in current}.values())[:MOST_NEIGHBOURS],
        await ports.index.changes(found.note.id),
        tuple(_notices(ports, found.note.id, node_id)),
    )


def _notices(ports: Ports, note_id: str, given: str) -> list[str]:
    notices = [ports.reading_notice] if ports.reading_notice else []
    return notices if _is_own(note_id, given) else [*notices, f"The note of that id was merged into {note_id}."]


def _is_own(note_id: str, given: str) -> bool:
    low, high = id_range(given) or ("", "")
    return low <= note_id <= high
