"""Undoing a change: its notes' files are byte for byte what they were, by one change that can be undone in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import structlog

from holdfast.engine.commit import check_known, commit, load_current
from holdfast.engine.encoding import Encoded, encode_note
from holdfast.engine.gated import Confirmations
from holdfast.engine.ports import Caller, Ports
from holdfast.errors import ChangeNotFoundError, InvalidArgumentError, StorageError, UndoConflictError
from holdfast.index.rows import IndexedNote
from holdfast.model.ids import SELF_ID
from holdfast.model.pages import is_page_key
from holdfast.store.erasing import NO_HASH
from holdfast.store.intents import Intent, PlannedFile, intent_of
from holdfast.store.past import void_changes
from holdfast.store.stored import Change

log = structlog.get_logger()

_OUTCOMES = ('"void":', '"undoes":')  # lines that tell what became of changes
MERGES = ("merge", "consolidate")
MOST_ENCODED = 20  # notes whose vectors are made at once; others are queued

Effect = Literal["put back", "moved to the trash", "brought back from the trash"]


@dataclass(frozen=True, slots=True)
class Affected:
    """What an undo does to one note."""

    id: str
    title: str
    effect: Effect


@dataclass(frozen=True, slots=True)
class Undone:
    """The change is undone; `change_id` undoes that in turn."""

    undoes: str
    change_id: str
    notes: tuple[Affected, ...]


@dataclass(frozen=True, slots=True)
class AlreadyUndone:
    """The change was undone before, by the change `by`; nothing was done."""

    undoes: str
    by: str


Outcome: TypeAlias = Undone | AlreadyUndone


@dataclass(frozen=True, slots=True)
class PastChange:
    """A change as the journal has it; `undone_by` is the change that undid it and is not undone itself."""

    op: str
    intent: Intent
    undone_by: str | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What undoing a change comes to: the changes to make, and the files that they take out of the trash."""

    changes: tuple[Change, ...]
    notes: tuple[Affected, ...]
    from_trash: tuple[PlannedFile, ...]


async def undo(ports: Ports, caller: Caller, change_id: str) -> Outcome:
    """Undo a change of notes, whichever verb made it.

    Raises:
        ChangeNotFoundError: there is no such change.
        InvalidArgumentError: it is no change of notes.
        UndoConflictError: one of its notes has changed since; nothing was done.
        IntegrityError: a text from before it is not kept any more; nothing was done.
        StorageError: nothing was done.
    """
    found = await find_change(ports, change_id)
    if found.undone_by:
        return AlreadyUndone(found.intent.change, found.undone_by)
    vectors = await _encoded(ports, (await plan(ports, found)).changes)
    async with ports.store.hold(found.intent.keys) as made:
        await check_known(ports, made)
        found = await find_change(ports, change_id)
        if found.undone_by:
            return AlreadyUndone(found.intent.change, found.undone_by)
        planned = await plan(ports, found)
        done = await commit(
            ports, caller, "undo", planned.changes, vectors, {"undoes": found.intent.change, "admin": "admin_undo"}
        )
        await clear_trash(ports, planned.from_trash)
    return Undone(found.intent.change, done.change_id, planned.notes)


@dataclass(frozen=True, slots=True)
class WouldUndo:
    """What undoing a merge would do to each note, and the token that makes it happen."""

    undoes: str
    notes: tuple[Affected, ...]
    confirm: str


async def undo_merge(
    ports: Ports, caller: Caller, tokens: Confirmations, merge_id: str, confirm: str | None
) -> WouldUndo | Outcome:
    """Say what undoing a merge or a consolidation would do; with the token that this gives, do it.

    Raises:
        ChangeNotFoundError: there is no such change.
        InvalidArgumentError: it is no merge, or the token is not one of this call.
        UndoConflictError, IntegrityError, StorageError: nothing was done.
    """
    found = await find_change(ports, merge_id)
    if found.op not in MERGES:
        raise InvalidArgumentError("merge_id is the id of a change that is no merge.", "Undo it with admin_undo.")
    if found.undone_by:
        return AlreadyUndone(found.intent.change, found.undone_by)
    planned = await plan(ports, found)
    about = (caller.principal, "admin_undo_merge", found.intent.change, *(file.path for file in found.intent.files))
    if confirm is None:
        return WouldUndo(found.intent.change, planned.notes, tokens.give(about, ports.clock()))
    with tokens.using(confirm, about, ports.clock()):
        return await undo(ports, caller, found.intent.change)


async def clear_trash(ports: Ports, files: Sequence[PlannedFile]) -> None:
    """Take out of the trash what was brought back; a file that stays there for once does no harm."""
    try:
        for file in files:
            await ports.store.past.drop(file)
    except StorageError as error:
        log.warning("trash_not_cleared", reason=str(error))


async def find_change(ports: Ports, change_id: str) -> PastChange:
    """Look a change up in the journal.

    Raises:
        ChangeNotFoundError: there is none of this id, or it never happened.
    """
    wanted = change_id.strip().lower()
    records = await ports.store.past.told([f'"change":"{wanted}"', *_OUTCOMES]) if wanted.startswith("chg_") else []
    void = void_changes(records)
    for record in records:
        intent = intent_of(record)
        if intent is not None and intent.change == wanted and wanted not in void:
            return PastChange(record["op"], intent, undone_by(records, void).get(wanted))
    raise ChangeNotFoundError(
        "No change has this change_id.", "admin_list_audit_log lists changes with theirs; tools answer with it."
    )


def undone_by(records: Sequence[Mapping[str, Any]], void: set[str]) -> dict[str, str]:
    """Which change undid which, by the undone one's id: an undo that was undone itself does not count."""
    undos = [(record["change"], record["undoes"]) for record in records if isinstance(record.get("undoes"), str)]
    by: dict[str, str] = {}
    for change, undone in reversed(undos):
        if change not in by and change not in void:
            by[undone] = change
    return by


async def plan(ports: Ports, found: PastChange) -> Plan:
    """What undoing comes to now.

    Raises:
        InvalidArgumentError, UndoConflictError, IntegrityError: it cannot be done.
        ConflictError: the index does not know a file as it is; look again.
    """
    files = [file for file in found.intent.files if file.note != SELF_ID or file.before is not None]
    if not files or any(is_page_key(file.note) for file in files):
        raise InvalidArgumentError("This is no change of notes.", "NOW files and logs are changed by now_update.")
    ids = [file.note for file in files]
    there = await ports.index.notes(ids)
    held = {row.note for row in (await ports.index.files_of(ids)).values()}
    trashed = await ports.store.past.trashed() if any(file.after is None for file in files) else {}
    last = {each: deletion.file for each, deletion in trashed.items() if each in ids and each not in held}
    steps = [await _step(ports, file, there.get(file.note), last.get(file.note)) for file in files]
    return Plan(
        changes=tuple(change for change, _ in steps),
        notes=tuple(affected for _, affected in steps),
        from_trash=tuple(last[file.note] for file in files if file.after is None),
    )


async def _step(
    ports: Ports, file: PlannedFile, current: IndexedNote | None, deleted: PlannedFile | None
) -> tuple[Change, Affected]:
    """The change that undoes one file of a change; `deleted` is how its note came into the trash, if it is there."""
    if file.after is None:
        if file.before != NO_HASH and (deleted is None or deleted.before != file.before):
            raise _conflict()
        past = await ports.store.past.replaced(deleted or file)
        change = Change(None, past.note, past.data, file.path, past.modified_ns)
        return change, Affected(file.note, past.note.title, "brought back from the trash")
    if current is None or current.hash != file.after:
        raise _conflict()
    stored = await load_current(ports, current)
    if file.before is None:
        return Change(stored, None), Affected(file.note, stored.note.title, "moved to the trash")
    past = await ports.store.past.replaced(file, stored.note.created)
    change = Change(stored, past.note, past.data, modified_ns=past.modified_ns)
    return change, Affected(file.note, past.note.title, "put back")


async def _encoded(ports: Ports, changes: Sequence[Change]) -> dict[str, Encoded]:
    """Vectors of what comes back, made before any lock is taken."""
    coming = [change.after for change in changes if change.after is not None][:MOST_ENCODED]
    return {note.id: await encode_note(ports, note.title, note.content) for note in coming}


def _conflict() -> UndoConflictError:
    return UndoConflictError(
        "conflict: a note of this change has changed since, so it cannot be undone exactly; nothing was done.",
        "Undo the later changes first (admin_list_audit_log names them), or change the note with admin_update_memory; "
        "admin_restore_memory brings back what a merge took away.",
    )
