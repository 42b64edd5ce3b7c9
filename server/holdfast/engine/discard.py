"""Deleting a note, which puts it into the trash, and bringing it back."""

from __future__ import annotations

from dataclasses import dataclass, replace

from holdfast.engine.commit import check_known, commit, load_current
from holdfast.engine.encoding import encode_note
from holdfast.engine.gated import Confirmations
from holdfast.engine.ports import Caller, Ports
from holdfast.engine.resolve import resolve
from holdfast.engine.undo import clear_trash, find_change, plan
from holdfast.errors import (
    AmbiguousIdError,
    ConflictError,
    IntegrityError,
    InvalidArgumentError,
    MemoryNotFoundError,
    ProtectedNoteError,
    UndoConflictError,
)
from holdfast.index.rows import IndexedNote
from holdfast.model.ids import SELF_ID, id_range
from holdfast.model.memory import Note
from holdfast.store.past import Deletion
from holdfast.store.stored import Change

DELETE, RESTORE = "admin_delete_memory", "admin_restore_memory"
MOST_HEIRS = 10


@dataclass(frozen=True, slots=True)
class WouldDelete:
    """What a deletion would do: `links_in` and `links_out` are edges of other notes to it and its own to others."""

    note: Note
    links_in: int
    links_out: int
    confirm: str


@dataclass(frozen=True, slots=True)
class Deleted:
    """The note is in the trash. `change_id` undoes it."""

    note: Note
    change_id: str


@dataclass(frozen=True, slots=True)
class BroughtBack:
    """The note is back from the trash, its file as it was. `change_id` undoes it."""

    note: Note
    change_id: str


async def delete_note(
    ports: Ports, caller: Caller, tokens: Confirmations, node_id: str, confirm: str | None
) -> WouldDelete | Deleted:
    """Say what deleting a note would do; with the token that this gives, put it into the trash.

    Raises:
        MemoryNotFoundError, AmbiguousIdError, QuarantinedError, ProtectedNoteError: nothing was done.
        InvalidArgumentError: the token is not one of this call, or the note has changed since.
        ConflictError, StorageError: nothing was done.
    """
    found = await resolve(ports.index, node_id)
    if found.note.id == SELF_ID:
        raise ProtectedNoteError("The Self note cannot be deleted.", "Edit it with admin_update_memory instead.")
    about = (caller.principal, DELETE, found.note.id, found.hash)
    if confirm is None:
        links = await ports.index.links([found.note.id])
        out = sum(link.source == found.note.id for link in links)
        return WouldDelete(found.note, len(links) - out, out, tokens.give(about, ports.clock()))
    async with ports.store.hold({found.note.id}):
        stored = await load_current(ports, found)
        with tokens.using(confirm, about, ports.clock()):
            done = await commit(ports, caller, DELETE, [Change(stored, None)], detail={"admin": DELETE})
    return Deleted(stored.note, done.change_id)


async def restore_note(ports: Ports, caller: Caller, node_id: str) -> BroughtBack:
    """Bring a deleted note back, byte for byte; a merged one only where the merge cannot be undone any more.

    Raises:
        MemoryNotFoundError, AmbiguousIdError: the trash holds no such note, or several.
        InvalidArgumentError: the note is not deleted, or its merge is to be undone.
        IntegrityError: its text is not kept any more.
        StorageError: nothing was done.
    """
    note_id, deletion = await find_deleted(ports, node_id)
    if deletion.op == "merge" and await _can_be_undone(ports, deletion.change):
        raise InvalidArgumentError(
            "This note was merged into another one.", f"Undo the merge: admin_undo_merge with {deletion.change}."
        )
    past = await ports.store.past.replaced(deletion.file)
    encoded = await encode_note(ports, past.note.title, past.note.content)
    heirs = await _heirs(ports, note_id)
    async with ports.store.hold({note_id, *heirs}) as made:
        await check_known(ports, made)
        if await ports.index.files_of([note_id]):
            raise _not_deleted()
        there = await _heirs(ports, note_id)
        if there.keys() != heirs.keys():
            raise ConflictError("The note was merged meanwhile.", "Nothing was written; repeat the call.")
        changes = [Change(None, past.note, past.data, deletion.file.path, past.modified_ns)]
        for heir in there.values():
            stored = await load_current(ports, heir)
            changes.append(Change(stored, _without(stored.note, note_id, ports.now)))
        done = await commit(ports, caller, RESTORE, changes, {note_id: encoded}, {"admin": RESTORE})
        await clear_trash(ports, [deletion.file])
    return BroughtBack(past.note, done.change_id)


async def _heirs(ports: Ports, note_id: str) -> dict[str, IndexedNote]:
    """The notes that the id of a note means which is not there; more than one only by a person's hand."""
    found = await ports.index.matching(note_id, MOST_HEIRS)
    return await ports.index.notes([each for each, _ in found if each != note_id])


def _without(heir: Note, note_id: str, now: str) -> Note:
    merged = tuple(each for each in heir.merged if each != note_id)
    return replace(heir, merged=merged, updated=max(now, heir.created))


async def _can_be_undone(ports: Ports, change_id: str) -> bool:
    try:
        await plan(ports, await find_change(ports, change_id))
    except (UndoConflictError, IntegrityError):
        return False
    return True


async def find_deleted(ports: Ports, node_id: str) -> tuple[str, Deletion]:
    """The deleted note that an id or a prefix means.

    Raises:
        MemoryNotFoundError, AmbiguousIdError: none does, or several.
        InvalidArgumentError: the one that it means is not deleted.
    """
    bounds = id_range(node_id)
    trashed = await ports.store.past.trashed()
    meant = [each for each in sorted(trashed) if bounds is not None and bounds[0] <= each <= bounds[1]]
    held = {row.note for row in (await ports.index.files_of(meant)).values()}
    deleted = [each for each in meant if each not in held]
    if len(deleted) > 1:
        raise AmbiguousIdError(f"node_id begins several ids: {', '.join(deleted[:5])}.", "Give more of the id.")
    if deleted:
        return deleted[0], trashed[deleted[0]]
    if held or await ports.index.matching(node_id, 1):
        raise _not_deleted()
    raise MemoryNotFoundError(
        "The trash holds no note of this id.", "admin_list_audit_log with operation=delete lists what was deleted."
    )


def _not_deleted() -> InvalidArgumentError:
    return InvalidArgumentError("This note is not deleted.", "recall_node shows it.")
