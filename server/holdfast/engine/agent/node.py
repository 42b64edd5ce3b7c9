"""recall_node: one note, whole, with what it is connected to."""

from __future__ import annotations

from dataclasses import dataclass, replace

from holdfast.engine.arguments import resolve
from holdfast.engine.ports import Caller, Ports
from holdfast.errors import InvalidArgumentError
from holdfast.model.note import SELF_ID, Note, id_range
from holdfast.model.passages import page_at
from holdfast.model.records import USE, JournalRecord

MOST_NEIGHBOURS = 10
PAGE_TOKENS = 12_000  # of a note's text; some clients take no answer of more than 25,000


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
    """A note with its surroundings; `text` is the page of its content that is shown.

    `changes` is how many changes its history has.
    """

    note: Note
    text: str
    path: str
    connections: tuple[Connection, ...]
    neighbours: tuple[Note, ...]
    changes: int
    notices: tuple[str, ...] = ()


async def use_node(ports: Ports, caller: Caller, node_id: str, page: int = 1) -> Node:
    """As `recall_node`, for somebody who has a use for the note: that is recorded, once for each day.

    Raises:
        MemoryNotFoundError, AmbiguousIdError, QuarantinedError: there is no such note to show.
        InvalidArgumentError: it has no such page.
    """
    found = await recall_node(ports, node_id)
    content = found.note.content
    shown = await ports.computing.run(caller.principal, len(content), lambda: page_at(content, page, PAGE_TOKENS))
    if shown is None:
        raise InvalidArgumentError("page is outside the pages that the note has.")
    if page > 1 or shown.left:
        more = f", {shown.left:,} more characters: page={page + 1} goes on" if shown.left else ", the last"
        found = replace(found, text=shown.text, notices=(f"Page {page}{more}.", *found.notices))
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
    connections.sort(key=lambda item: item.direction == "in")  # its own first: of a hub not all can be shown
    current = [notes[item.id].note for item in connections if not notes[item.id].note.is_outdated]
    return Node(
        found.note,
        found.note.content,
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


async def confirm_use(ports: Ports, caller: Caller, note_id: str) -> None:
    """Record that a note was looked at whole: of use, once for each note and day.

    One line of the journal without `files`, so that it is no change of the note; written without a flush: it outlives
    the process, and a power cut within seconds may take it. Nobody waits for it while others are being written, and
    nobody is kept from reading where it cannot be written.
    """
    now = ports.now
    if note_id == SELF_ID or await ports.index.read(lambda view: view.used_on(note_id, now[:10])):
        return
    line = JournalRecord(USE, now, caller.principal, caller.source, use=note_id)
    await ports.uses.add(ports, note_id, line)
