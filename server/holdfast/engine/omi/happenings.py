"""What happened lately, in OMI's words: changes as the journal tells them, and what was asked while that is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from holdfast.engine.history import look_back, whole
from holdfast.engine.omi.beliefs import read_contradictions
from holdfast.engine.ports import Ports
from holdfast.errors import ConflictError
from holdfast.index.journal import LinesWanted
from holdfast.index.projection import HistoryRow
from holdfast.index.rows import IndexedNote
from holdfast.model.note import SELF_ID, Note
from holdfast.model.omi import BeliefUpdatedEvent, Event, MemoryRecalledEvent, MemoryStoredEvent, memory_type
from holdfast.model.records import CONTRADICTION, RecallEvent
from holdfast.store.stored import Stored

MOST_CHANGES, MOST_RECALLS, MOST_CONTRADICTIONS = 150, 50, 50
LONGEST_CONTENT = 300  # characters of a note in an event; its own resource has the rest
_MOVED = frozenset({"memory_id", "old_confidence", "new_confidence"})
STORING = frozenset({"remember", "memory_store"})

_Moves: TypeAlias = Mapping[tuple[str, int], Mapping[str, Any]]  # updates of beliefs, by note and journal number


async def happenings(ports: Ports, principal: str) -> list[dict[str, Any]]:
    """The last changes and recalls, newest last.

    Each has OMI's keys for its type: `memory.stored`, `belief.updated`, `belief.contradiction_detected` and
    `memory.recalled`, and as `event` the name that OMI's reference gives it; the types `memory.updated`,
    `memory.superseded`, `memory.outdated` and `memory.deleted` have `memory_id`.
    """
    rows = await ports.index.read(lambda view: view.latest_changes(MOST_CHANGES))
    notes = await ports.index.notes({row.note for row, _ in rows})
    together: dict[str, set[str]] = {}
    for row, _ in rows:
        together.setdefault(row.change, set()).add(row.note)
    moved = await _moved(ports, [row for row, _ in rows if row.op == "belief_update"], notes, together)
    told = [
        _change(row, notes.get(row.note), together[row.change], moved, first=first)
        for row, first in reversed(rows)
        if row.note != SELF_ID
    ]
    wanted = LinesWanted(MOST_CONTRADICTIONS, ops=[CONTRADICTION])
    opposed = await whole(ports, await look_back(ports, lambda view: view.lines(wanted)))
    told += [_named(event) for line in reversed(opposed) for event in read_contradictions(line.record)]
    told += [_recall(event) for event in reversed(await ports.recalls.recent(principal, MOST_RECALLS))]
    return sorted(told, key=lambda event: str(event["timestamp"]))


def _change(
    row: HistoryRow, found: IndexedNote | None, together: set[str], moves: _Moves, *, first: bool
) -> dict[str, Any]:
    note = found.note if found else None
    moved = moves.get((row.note, row.seq))
    more = {"op": row.op, "change_id": row.change, "seq": row.seq}
    if moved is not None:
        event = BeliefUpdatedEvent(
            row.note, moved["old_confidence"], moved["new_confidence"], moved["memory_id"], timestamp=row.at
        )
        return _named(event) | {"metadata": more}
    kind = _kind(row, note, together, first=first)
    if kind == MemoryStoredEvent.event_type and note is not None:
        content = note.content if len(note.content) <= LONGEST_CONTENT else note.content[: LONGEST_CONTENT - 1] + "…"
        later = min((move for move in moves if move[0] == note.id), key=lambda move: move[1], default=None)
        confidence = moves[later]["old_confidence"] if later else note.confidence  # as it was then
        stored = MemoryStoredEvent(note.id, content, memory_type(note.type), confidence, timestamp=row.at)
        return _named(stored) | {"metadata": more}
    return {"event_type": kind, "memory_id": row.note, "timestamp": row.at, "metadata": more}


def _kind(row: HistoryRow, note: Note | None, together: set[str], *, first: bool) -> str:
    if row.op == "mark_outdated":
        return "memory.outdated"
    if "delete" in row.op:
        return "memory.deleted"
    if row.op in STORING:
        if note is not None and note.superseded_by in together:
            return "memory.superseded"  # by the note that was stored with it
        return "memory.stored" if first else "memory.superseded"
    return "memory.updated"


async def _moved(
    ports: Ports, rows: Sequence[HistoryRow], notes: Mapping[str, IndexedNote], together: Mapping[str, set[str]]
) -> _Moves:
    """What each update of a belief was, from the list in the belief's own file; its last entry is its last update's."""
    beliefs = {row.note: notes[row.note] for row in rows if row.note in notes and notes[row.note].note.type == "belief"}
    paths = {item.path: note_id for note_id, item in beliefs.items()}
    moved: dict[tuple[str, int], Mapping[str, Any]] = {}
    for item in await ports.store.load(list(paths), paths):
        if not isinstance(item, Stored):
            raise ConflictError("A note's file has changed on disk.", "Read it again.")
        entries = [entry for entry in item.note.evidence if entry.keys() >= _MOVED]
        for row in (row for row in rows if row.note == item.note.id):  # newest first
            others = together[row.change] - {row.note}
            if entries and (not others or entries[-1]["memory_id"] in others):
                moved[row.note, row.seq] = entries.pop()
    return moved


def _recall(event: RecallEvent) -> dict[str, Any]:
    best = tuple({"memory_id": note_id, "score": round(worth, 4)} for note_id, worth in event.shown if worth > 0)
    told = MemoryRecalledEvent(event.query, len(best), best, timestamp=event.at, metadata={"event_id": event.id})
    return _named(told)


def _named(event: Event) -> dict[str, Any]:
    return {"event": type(event).__name__, **event.to_dict()}
