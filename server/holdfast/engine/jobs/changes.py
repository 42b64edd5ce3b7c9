"""Changes that are made without being asked: one note each, whole, undoable by its change_id, journalled as ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from holdfast.engine.commit import commit, load_current
from holdfast.engine.ports import Caller, Ports
from holdfast.errors import ConflictError, StorageError
from holdfast.index.maintenance import Living
from holdfast.index.note_index import IndexLostError
from holdfast.model.lifecycle import CORE_CAP, Life, life
from holdfast.model.note import SELF_ID, instant, read_instant
from holdfast.store.stored import Change, Stored

OWN_CALLER = Caller(None, "nobody asks", "holdfast", "holdfast")
BRIEF_SECONDS = 0.1  # a note that somebody holds is left for another day
MOST_AT_ONCE = 5  # core notes; more come from a person's editor, and are moved by the daily job in turns
DEMOTE, PROMOTE, CLUSTER, FORGET = "demote", "promote", "cluster", "forget"


def life_of(note: Living, now: datetime) -> Life:
    """A note's life; a change of its file is a sign of it, by whomever."""
    touched = max(note.updated, _sound(note.changed_at), _instant_of(note.touched_ns))
    return life(note.created, touched, note.uses, note.degree, now)


def was_used_since(note: Living) -> bool:
    """Whether a use was confirmed after the last change of the note, by whomever that was made."""
    if note.used_seq <= note.changed_seq or not note.uses:
        return False
    return max(note.uses) >= _instant_of(note.touched_ns)  # both in whole seconds


async def change_if(
    ports: Ports, note_id: str, op: str, is_due: Callable[[Living], bool], changed: Callable[[Stored], Stored | None]
) -> str | None:
    """Change or delete a note if that is still due once it is held; returns the change's id.

    Args:
        ports: storage, index, encoder, clock and ids.
        note_id: the note.
        op: the verb.
        is_due: asked again under the lock.
        changed: the note as it is to be (only `note` counts); None deletes it; the same note leaves it alone.

    Raises:
        ConflictError: its file was changed meanwhile; look again, then repeat.
        StorageError: nothing was written.
    """
    async with ports.store.try_hold({note_id}, BRIEF_SECONDS) as owned:
        if note_id not in owned:
            return None
        found = await ports.index.read(lambda view: (view.living_among([note_id]), view.notes([note_id])))
        if not found[0] or not is_due(found[0][0]):
            return None
        stored = await load_current(ports, found[1][note_id])
        after = changed(stored)
        if after is stored:
            return None
        done = await commit(ports, OWN_CALLER, op, [Change(stored, after.note if after else None)])
        return done.change_id


def in_tier(tier: str) -> Callable[[Stored], Stored]:
    """The same note in another tier; what it says and when it was last said stay."""
    return lambda stored: replace(stored, note=replace(stored.note, tier=tier))


async def shed_core(ports: Ports, spared: str = "") -> list[tuple[str, str]]:
    """Move some of what is beyond fifty core notes to working, the least important first.

    Returns the notes that were moved with the ids of their changes; none where nothing is beyond.

    Args:
        ports: storage, index, encoder, clock and ids.
        spared: a note that was made core just now and stays.
    """
    surplus = await ports.index.read(lambda view: view.surplus_core(CORE_CAP, spared))
    shed = []
    for note_id in surplus[:MOST_AT_ONCE]:
        change = await _shed(ports, note_id)
        if change is not None:
            shed.append((note_id, change))
    return shed


async def core_notices(ports: Ports, note_id: str) -> list[str]:
    """Keep core small after a note was made core, and say so. What cannot be done now is done by the daily job."""
    try:
        shed = await shed_core(ports, note_id)
    except (ConflictError, StorageError, IndexLostError):  # the note is stored, whatever becomes of others
        shed = []
    return [
        f"Core holds {CORE_CAP} notes at most: {note}, the least important, is working now (change_id {change})."
        for note, change in shed
    ]


async def _shed(ports: Ports, note_id: str) -> str | None:
    """As `change_if`, for core notes: what is about the user may leave core too, Self may not."""
    if note_id == SELF_ID:
        return None
    async with ports.store.try_hold({note_id}, BRIEF_SECONDS) as owned:
        found = await ports.index.notes(owned)
        if note_id not in found or found[note_id].note.tier != "core":
            return None
        stored = await load_current(ports, found[note_id])
        done = await commit(ports, OWN_CALLER, DEMOTE, [Change(stored, replace(stored.note, tier="working"))])
        return done.change_id


def _sound(at: str) -> str:
    """An instant of the journal; empty where a line that is none of ours tells no time."""
    try:
        return read_instant(at)
    except ValueError:
        return ""


def _instant_of(nanoseconds: int) -> str:
    try:
        return instant(datetime.fromtimestamp(nanoseconds // 1_000_000_000, UTC))
    except (ValueError, OverflowError, OSError):  # a person may have set any time
        return ""
