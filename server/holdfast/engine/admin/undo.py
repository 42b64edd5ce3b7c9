"""Undoing a change: its notes' files are byte for byte what they were, by one change that can be undone in turn.

A person behind the gate undoes any change. Who made one takes it back without the gate: the same principal through the
same program, knowing its handle, within the hour. Processes do not count, for a client may restart its server; what a
person did behind the gate is not theirs to take back, whoever they are.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, TypeAlias

import structlog

from holdfast.engine.admin.gate import Confirmations, give_token, using_token
from holdfast.engine.agent.remember import same_guard
from holdfast.engine.commit import check_known, commit, load_current
from holdfast.engine.encoding import Encoded, encode_note
from holdfast.engine.maintenance.verdicts import PROPOSAL_PREFIX
from holdfast.engine.ports import Caller, Ports
from holdfast.engine.sync.replay import deletions, find_line, look_back
from holdfast.errors import (
    ChangeNotFoundError,
    ConflictError,
    HoldfastError,
    InvalidArgumentError,
    StorageError,
    UndoConflictError,
    UndoRefusedError,
)
from holdfast.index.rows import IndexedNote
from holdfast.index.view import IndexView
from holdfast.model.note import SELF_ID, Note, id_range, moment
from holdfast.model.records import NO_HASH, FileChange, JournalRecord
from holdfast.store.stored import Change

log = structlog.get_logger()

MERGE = "merge"
MERGES = (MERGE, "consolidate")
MOST_ENCODED = 20  # notes whose vectors are made at once; others are queued
OWN_FOR = timedelta(hours=1)  # how long whoever made a change may take it back
_WHO = "Who made a change can take it back for an hour; a person can undo any with admin_undo (holdfast --admin)."
_FIRST = "Undo your later change first, mark_outdated(undo={}), then this one; or say what is true now with remember."
_INSTEAD = "Say what is true now with remember and supersedes; a person can undo later changes first with admin_undo."

Effect = Literal["put back", "moved to the trash", "brought back from the trash"]


@dataclass(frozen=True, slots=True)
class Affected:
    """What an undo does to one note: as it is then, or as it was when it went to the trash."""

    note: Note
    effect: Effect

    @property
    def id(self) -> str:
        return self.note.id

    @property
    def title(self) -> str:
        return self.note.title


@dataclass(frozen=True, slots=True)
class Undone:
    """The change is undone; `change_id` undoes that in turn."""

    undoes: str
    change_id: str
    notes: tuple[Affected, ...]


@dataclass(frozen=True, slots=True)
class AlreadyUndone:
    """The change, which was of `ids`, was undone before, by the change `by`; nothing was done."""

    undoes: str
    by: str
    ids: tuple[str, ...]


Outcome: TypeAlias = Undone | AlreadyUndone


@dataclass(frozen=True, slots=True)
class PastChange:
    """A change as the journal has it; `undone_by` is the change that undid it and is not undone itself."""

    id: str
    record: JournalRecord
    undone_by: str | None

    @property
    def keys(self) -> set[str]:
        """The locks that guard its files."""
        return {file.note for file in self.record.files}


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """What undoing a change comes to: the changes to make, and the files that they take out of the trash."""

    changes: tuple[Change, ...]
    notes: tuple[Affected, ...]
    from_trash: tuple[FileChange, ...]


async def undo(ports: Ports, caller: Caller, change_id: str) -> Outcome:
    """Undo a change of notes, whichever verb made it.

    Raises:
        ChangeNotFoundError: there is no such change.
        InvalidArgumentError: it is no change of notes.
        UndoConflictError: one of its notes has changed since; nothing was done.
        IntegrityError: a text from before it is not kept any more; nothing was done.
        StorageError: nothing was done.
    """
    return await _undo(ports, caller, lambda: find_change(ports, change_id), by_admin=True)


@dataclass(frozen=True, slots=True)
class TakeBack:
    """Which change is to be taken back. `node_id`, where it is given, is a note of it.

    `reason` and `superseded_by` are for retiring. `by_owner` says that whoever asks is behind the gate as it is.
    """

    change_id: str
    node_id: str | None = None
    reason: str | None = None
    superseded_by: str | None = None
    by_owner: bool = False


async def take_back(ports: Ports, caller: Caller, request: TakeBack) -> Outcome:
    """Undo the caller's own change of the last hour.

    Raises:
        ChangeNotFoundError, InvalidArgumentError, IntegrityError, StorageError: as for `undo`.
        UndoRefusedError: it is somebody else's, or older; nothing was done.
        UndoConflictError: a note of it has changed since, or another note relies on it; nothing was done.
    """
    if request.reason or request.superseded_by:
        raise InvalidArgumentError("undo takes a change back, reason and superseded_by retire a note.", "Give one.")
    try:
        return await _undo(ports, caller, lambda: _own_change(ports, caller, request), by_admin=False)
    except UndoConflictError as error:
        first = await _first_to_undo(ports, caller, request)
        raise UndoConflictError(error.sentence, _FIRST.format(first) if first else _INSTEAD) from error
    except ChangeNotFoundError as error:
        raise ChangeNotFoundError(error.sentence, "The answer of the tool that made it has it.") from error


async def _first_to_undo(ports: Ports, caller: Caller, request: TakeBack) -> str | None:
    """The later change that the caller can take back as things are, so that the way to this one is open or shorter."""
    change = request.change_id
    while (later := await _change_after(ports, change)) is not None:
        change = later
        try:
            await plan(ports, await _own_change(ports, caller, TakeBack(change, by_owner=request.by_owner)))
        except UndoConflictError:
            continue  # something later stands in the way of that one too
        except HoldfastError:
            return None
        return change
    return None


async def _change_after(ports: Ports, change: str) -> str | None:
    """The last change of the notes that one is about, and of those that rely on it, made after it."""
    found = await find_change(ports, change)
    notes = {*found.keys, *await _relying(ports, found)}
    return await look_back(ports, lambda view: view.change_since(notes, found.record.seq))


async def _undo(ports: Ports, caller: Caller, find: Callable[[], Awaitable[PastChange]], *, by_admin: bool) -> Outcome:
    """Undo what `find` finds, which is asked again under the locks."""
    found = await find()
    if found.undone_by:
        return already_undone(found, found.undone_by)
    coming = await _coming(ports, found)
    vectors = await _encoded(ports, coming)
    guards = {same_guard(note) for note in coming}
    async with ports.store.hold(found.keys | guards) as made:
        await check_known(ports, made)
        found = await find()
        if found.undone_by:
            return already_undone(found, found.undone_by)
        try:
            planned = await plan(ports, found)
        except UndoConflictError:
            if by := (await find()).undone_by:  # by another, of whom the index heard between the two
                return already_undone(found, by)
            raise
        if {same_guard(change.after) for change in planned.changes if change.after is not None} != guards:
            raise ConflictError("A note of this change was changed a moment ago; nothing was done.", "Try again.")
        if not by_admin:
            await _check_none_alike(ports, planned, found.record.at)
        admin = "admin_undo" if by_admin else None
        said = JournalRecord(undoes=found.id, guards=tuple(sorted(guards)), admin=admin)
        done = await commit(ports, caller, "undo", planned.changes, vectors, said)
        await clear_trash(ports, planned.from_trash)
    return Undone(found.id, done.change_id, planned.notes)


async def _coming(ports: Ports, found: PastChange) -> list[Note]:
    """What the notes will say; nothing where they have changed since, which is decided under the locks.

    Another may have taken the same change back a moment ago: that is no conflict.
    """
    try:
        planned = await plan(ports, found)
    except UndoConflictError:
        return []
    return [change.after for change in planned.changes if change.after is not None]


async def _check_none_alike(ports: Ports, planned: UndoPlan, since: str) -> None:
    """Refuse to bring a note back beside another that says the same and was stored after the change was made."""
    ids = [each.id for each in planned.notes]
    coming = [each.note for each in planned.notes if each.effect != "moved to the trash" and not each.note.is_outdated]

    def alike(view: IndexView) -> bool:
        same = [found for note in coming if (found := view.same_note(note, ports.now, ids))]
        return any(row.note.created >= since for row in view.notes(same).values())

    if await ports.index.read(alike):
        raise UndoConflictError("conflict: the same note was stored again since; nothing was done.")


def already_undone(found: PastChange, by: str) -> AlreadyUndone:
    return AlreadyUndone(found.id, by, tuple(file.note for file in found.record.files))


async def _own_change(ports: Ports, caller: Caller, request: TakeBack) -> PastChange:
    """A change that the caller may take back."""
    found = await find_change(ports, request.change_id)
    record, now = found.record, ports.clock()
    if not is_own(record, caller, by_owner=request.by_owner):
        raise UndoRefusedError("This change was made by somebody else; nothing was done.", _WHO)
    if abs(now - moment(record.at)) > OWN_FOR:  # a clock that went back makes no change young
        raise UndoRefusedError("This change was made more than an hour ago; nothing was done.", _WHO)
    low, high = (request.node_id and id_range(request.node_id)) or ("", "~")
    if not any(low <= key <= high for key in found.keys):
        raise InvalidArgumentError("node_id is no note of the change to undo.", "Give undo alone.")
    if not found.undone_by:
        await _check_nothing_relies(ports, found)
    return found


def is_own(record: JournalRecord, caller: Caller, *, by_owner: bool = False) -> bool:
    """Whether the caller made a change without the gate; `by_owner` says that behind it is theirs as well."""
    made_by = (record.by, record.source)
    return made_by == (caller.principal, caller.source) and (by_owner or not _is_of_a_person(record))


def _is_of_a_person(record: JournalRecord) -> bool:
    """Whether somebody made the change behind the gate, approving what waited for a person included."""
    return record.admin is not None or (record.item or "").startswith(PROPOSAL_PREFIX)


async def _check_nothing_relies(ports: Ports, found: PastChange) -> None:
    """Refuse to take a note away that others, which stay retired, name as the one that is true now."""
    if await _relying(ports, found):
        raise UndoConflictError("conflict: another note was retired for one of this change; nothing was done.")


async def _relying(ports: Ports, found: PastChange) -> list[str]:
    """Notes that this change did not touch and that were retired for one that it made."""
    born = [file.note for file in found.record.files if file.before is None]
    links = await ports.index.links(born)
    ends = {link.target for link in links if link.source in born} - found.keys
    return [note for note, row in (await ports.index.notes(ends)).items() if row.note.superseded_by in born]


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
    if found.record.op not in MERGES:
        raise InvalidArgumentError("merge_id is the id of a change that is no merge.", "Undo it with admin_undo.")
    if found.undone_by:
        return already_undone(found, found.undone_by)
    planned = await plan(ports, found)
    about = (caller.principal, "admin_undo_merge", found.id, *(file.path for file in found.record.files))
    if confirm is None:
        return WouldUndo(found.id, planned.notes, await give_token(ports, tokens, about))
    async with using_token(ports, tokens, confirm, about):
        return await undo(ports, caller, found.id)


async def clear_trash(ports: Ports, files: Sequence[FileChange]) -> None:
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
    found = await find_line(ports, wanted) if wanted.startswith("chg_") else None
    if found is None:
        raise ChangeNotFoundError(
            "No change has this change_id.", "admin_list_audit_log lists changes with theirs; tools answer with it."
        )
    return PastChange(wanted, found.record, found.row.undone_by)


async def plan(ports: Ports, found: PastChange) -> UndoPlan:
    """What undoing comes to now.

    Raises:
        InvalidArgumentError, UndoConflictError, IntegrityError: it cannot be done.
        ConflictError: the index does not know a file as it is; look again.
    """
    files = [file for file in found.record.files if file.note != SELF_ID or file.before is not None]
    if not files or any(file.is_page for file in files):
        raise InvalidArgumentError("This is no change of notes.", "NOW files and logs are changed by now_update.")
    ids = [file.note for file in files]
    there = await ports.index.notes(ids)
    held = {row.note for row in (await ports.index.files_of(ids)).values()}
    last: dict[str, FileChange] = {}
    for file in files:
        if file.after is None and file.note not in held:
            last |= {each: gone.file for each, gone in (await deletions(ports, file.note, file.note)).items()}
    steps = [await _step(ports, file, there.get(file.note), last.get(file.note)) for file in files]
    return UndoPlan(
        changes=tuple(change for change, _ in steps),
        notes=tuple(affected for _, affected in steps),
        from_trash=tuple(last[file.note] for file in files if file.after is None),
    )


async def _step(
    ports: Ports, file: FileChange, current: IndexedNote | None, deleted: FileChange | None
) -> tuple[Change, Affected]:
    """The change that undoes one file of a change; `deleted` is how its note came into the trash, if it is there."""
    if file.after is None:
        if file.before != NO_HASH and (deleted is None or deleted.before != file.before):
            raise _conflict()
        past = await ports.store.past.replaced(deleted or file)
        change = Change(None, past.note, past.data, file.path, past.modified_ns)
        return change, Affected(past.note, "brought back from the trash")
    if current is None or current.hash != file.after:
        raise _conflict()
    stored = await load_current(ports, current)
    if file.before is None:
        return Change(stored, None), Affected(stored.note, "moved to the trash")
    past = await ports.store.past.replaced(file, stored.note.created)
    change = Change(stored, past.note, past.data, modified_ns=past.modified_ns)
    return change, Affected(past.note, "put back")


async def _encoded(ports: Ports, coming: Sequence[Note]) -> dict[str, Encoded]:
    """Vectors of what comes back, made before any lock is taken."""
    return {note.id: await encode_note(ports, note.title, note.content) for note in coming[:MOST_ENCODED]}


def _conflict() -> UndoConflictError:
    return UndoConflictError(
        "conflict: a note of this change has changed since, so it cannot be undone exactly; nothing was done.",
        "Undo the later changes first (admin_list_audit_log names them), or change the note with admin_update_memory; "
        "admin_restore_memory brings back what a merge took away.",
    )
