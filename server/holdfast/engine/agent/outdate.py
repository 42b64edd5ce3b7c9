"""mark_outdated: a note is kept and no longer counts as current."""

from __future__ import annotations

from dataclasses import dataclass, replace

from holdfast.engine.arguments import TextGate, resolve
from holdfast.engine.commit import commit, load_current
from holdfast.engine.ports import Caller, Ports
from holdfast.errors import InvalidArgumentError, ProtectedNoteError
from holdfast.index.rows import IndexedNote
from holdfast.model.note import SELF_ID, Note
from holdfast.store.stored import Change

_LONGEST_CHAIN = 1000


@dataclass(frozen=True, slots=True)
class MarkOutdated:
    """Which note is no longer true, why, and which note says what is true now."""

    node_id: str | None
    reason: str | None = None
    superseded_by: str | None = None


@dataclass(frozen=True, slots=True)
class Outdated:
    """The note is retired. `change_id` undoes it; None where it was retired like this already."""

    note: Note
    change_id: str | None
    notices: tuple[str, ...]


async def mark_outdated(ports: Ports, caller: Caller, request: MarkOutdated) -> Outdated:
    """Retire a note.

    Raises:
        MemoryNotFoundError, AmbiguousIdError, ProtectedNoteError, InvalidArgumentError: nothing was written.
        ConflictError, StorageError: nothing was written.
    """
    if request.node_id is None:
        raise InvalidArgumentError("node_id is missing.", "Name the note to retire, or give undo a change_id.")
    gate = TextGate(ports)
    reason = gate.line("reason", request.reason)
    found = await resolve(ports.index, request.node_id)
    if found.note.id == SELF_ID:
        raise ProtectedNoteError("The Self note cannot be marked outdated.", "Edit its file instead.")
    successor = await _successor(ports, found, request.superseded_by)
    async with ports.store.hold({found.note.id, *([successor] if successor else [])}):
        stored = await load_current(ports, found)
        closed = replace(
            stored.note,
            outdated=True,
            outdated_reason=reason or stored.note.outdated_reason,
            superseded_by=successor or stored.note.superseded_by,
            valid_until=_end(stored.note, ports.now),
        )
        if closed == stored.note:
            return Outdated(closed, None, ("The note was already marked outdated like this; nothing was changed.",))
        closed = replace(closed, updated=max(ports.now, closed.created))
        done = await commit(ports, caller, "mark_outdated", [Change(stored, closed)])
    return Outdated(closed, done.change_id, gate.notices())


def _end(note: Note, now: str) -> str:
    """A planned expiry that has passed, or an earlier retirement, stays; anything else ends now."""
    return note.valid_until if note.valid_until and (note.is_outdated or note.valid_until <= now) else now


async def _successor(ports: Ports, old: IndexedNote, given: str | None) -> str | None:
    """The id of the note that replaces `old`, which must not itself be replaced by `old`."""
    if given is None or not given.strip():
        return None
    successor = await resolve(ports.index, given, what="superseded_by")
    step: IndexedNote | None = successor
    for _ in range(_LONGEST_CHAIN):
        if step is None:
            break
        if step.note.id == old.note.id:
            raise InvalidArgumentError(
                "superseded_by is this note, or is itself superseded by it.", "Name the note that is true now."
            )
        following = step.note.superseded_by
        step = (await ports.index.notes([following])).get(following) if following else None
    return successor.note.id
