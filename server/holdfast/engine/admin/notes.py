"""Notes behind the gate: edited, connected, deleted into the trash, brought back, erased for good."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any

from holdfast.engine.admin.gate import Confirmations, give_token, using_token
from holdfast.engine.admin.undo import clear_trash, find_change, plan
from holdfast.engine.commit import LARGEST_CONTENT, TextGate, check_choice, check_known, commit, load_current, resolve
from holdfast.engine.encoding import encode_note
from holdfast.engine.jobs.changes import core_notices
from holdfast.engine.ports import Caller, Ports
from holdfast.engine.sync.replay import deletions
from holdfast.errors import (
    AmbiguousIdError,
    ConflictError,
    HoldfastError,
    IntegrityError,
    InvalidArgumentError,
    MemoryNotFoundError,
    ProtectedNoteError,
    StorageError,
    UndoConflictError,
)
from holdfast.index.projection import text_to_encode
from holdfast.index.rows import IndexedNote, digest
from holdfast.model.note import EDGE_TYPES, NOTE_TYPES, SELF_ID, TIERS, Link, Note, id_range, title_of
from holdfast.model.records import UPDATE, JournalRecord
from holdfast.store.history import Deletion, Erasure, Remains
from holdfast.store.stored import Change
from holdfast.store.transcripts.queue import Repeated

DELETE, RESTORE = "admin_delete_memory", "admin_restore_memory"
MOST_SUCCESSORS = 10


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
        return WouldDelete(found.note, len(links) - out, out, await give_token(ports, tokens, about))
    async with ports.store.hold({found.note.id}):
        stored = await load_current(ports, found)
        async with using_token(ports, tokens, confirm, about):
            done = await commit(ports, caller, DELETE, [Change(stored, None)], detail=JournalRecord(admin=DELETE))
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
    successors = await _successors(ports, note_id)
    async with ports.store.hold({note_id, *successors}) as made:
        await check_known(ports, made)
        if await ports.index.files_of([note_id]):
            raise _not_deleted()
        there = await _successors(ports, note_id)
        if there.keys() != successors.keys():
            raise ConflictError("The note was merged meanwhile.", "Nothing was written; repeat the call.")
        changes = [Change(None, past.note, past.data, deletion.file.path, past.modified_ns)]
        for successor in there.values():
            stored = await load_current(ports, successor)
            changes.append(Change(stored, _without(stored.note, note_id, ports.now)))
        done = await commit(ports, caller, RESTORE, changes, {note_id: encoded}, JournalRecord(admin=RESTORE))
        await clear_trash(ports, [deletion.file])
    return BroughtBack(past.note, done.change_id)


async def _successors(ports: Ports, note_id: str) -> dict[str, IndexedNote]:
    """The notes that the id of a note means which is not there; more than one only by a person's hand."""
    found = await ports.index.matching(note_id, MOST_SUCCESSORS)
    return await ports.index.notes([each for each, _ in found if each != note_id])


def _without(successor: Note, note_id: str, now: str) -> Note:
    merged = tuple(each for each in successor.merged if each != note_id)
    return replace(successor, merged=merged, updated=max(now, successor.created))


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
    trashed = await deletions(ports, *bounds) if bounds is not None else {}
    meant = sorted(trashed)
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


CONNECT = "admin_connect_memories"


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
    gate = TextGate(ports)
    size = len(request.content or "")
    wanted = await ports.computing.run(caller.principal, size, lambda: _wanted(gate, request))
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
        said = JournalRecord(admin=UPDATE, same_text={"title", "content"}.isdisjoint(changed))
        done = await commit(ports, caller, UPDATE, [Change(stored, edited)], vectors, said)
    shed = await core_notices(ports, edited.id) if "tier" in changed and edited.tier == "core" else []
    return Edited(edited, done.change_id, changed, (*gate.notices(), *shed))


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
        done = await commit(ports, caller, CONNECT, [Change(stored, connected)], detail=JournalRecord(admin=CONNECT))
    return Edited(connected, done.change_id, ("connections",), ())


def _wanted(gate: TextGate, request: Edit) -> dict[str, Any]:
    """The new values of the keys that are to change."""
    if request.type is not None:
        check_choice("type", request.type, NOTE_TYPES)
    if request.tier is not None:
        check_choice("tier", request.tier, TIERS)
    given = {
        "content": None if request.content is None else gate.text("content", request.content, LARGEST_CONTENT),
        "type": request.type,
        "tier": request.tier,
        "tags": None if request.tags is None else gate.tags(request.tags),
        "title": gate.line("title", request.title),
        "space": gate.space(request.space),
    }
    wanted = {name: value for name, value in given.items() if value is not None}
    if not wanted:
        raise InvalidArgumentError("Nothing is to be changed.", "Give content, type, tier, tags, title or space.")
    return wanted


def _text(note: Note, wanted: dict[str, Any]) -> tuple[str, str]:
    """Title and content as they will be; a title that only repeats the first line follows it."""
    content = wanted.get("content", note.content)
    title = note.own_title or title_of(content)
    return wanted.get("title", title), content


PURGE = "admin_purge"
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class NoteTraces:
    """Where a note is kept, in files: notes, replaced texts, the trash; lines of the journal; ids of backups.

    `waiting_turns` are those of sessions that wait to be distilled in which the same was said.
    `told_by` are notes that it was merged or consolidated into: they stay, whatever they have of its words.
    """

    note_id: str
    files: int
    history: int
    trash: int
    journal_lines: int
    told_by: tuple[str, ...]
    waiting_turns: int = 0
    backups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WouldPurge:
    """What a purge would erase, and the token that makes it happen."""

    kept: NoteTraces
    confirm: str


@dataclass(frozen=True, slots=True)
class Purged:
    """What was erased; `kept.backups` still hold it."""

    kept: NoteTraces


async def purge(
    ports: Ports, caller: Caller, tokens: Confirmations, node_id: str, confirm: str | None
) -> WouldPurge | Purged:
    """Say what erasing a note would take away; with the token that this gives, erase it.

    A note in the trash can be purged too. A merged note's id means that note, never the one it was merged into.

    Raises:
        MemoryNotFoundError, AmbiguousIdError, ProtectedNoteError: nothing was done.
        InvalidArgumentError: the token is not one of this call, or the note has changed since.
        StorageError: nothing was done; or, once it is begun, it is carried on at the next request.
    """
    note_id = await _target(ports, node_id)
    if note_id == SELF_ID:
        raise ProtectedNoteError("The Self note cannot be purged.", "Edit it with admin_update_memory instead.")
    remains = await _remains(ports, note_id)
    repeated = await _repeated(ports, remains, None)  # which may take long: under the locks only what came since
    if confirm is None:
        token = await give_token(ports, tokens, _about(caller, note_id, remains))
        kept = await _kept(ports, note_id, remains, repeated)
        return WouldPurge(replace(kept, backups=await _backups_with(ports, note_id, remains)), token)
    async with AsyncExitStack() as stack:
        if ports.vault is not None:
            await stack.enter_async_context(ports.vault.resting())
        await stack.enter_async_context(ports.store.alone())
        await stack.enter_async_context(ports.store.quiet())
        remains = await _remains(ports, note_id)
        about = _about(caller, note_id, remains)
        await stack.enter_async_context(using_token(ports, tokens, confirm, about))
        repeated = await _repeated(ports, remains, repeated)
        kept = await _kept(ports, note_id, remains, repeated)
        paths = tuple(await ports.index.files_of([note_id]))
        encoded = tuple(text_to_encode(title, content) for title, content in sorted(remains.texts))
        await ports.forget(encoded)
        await ports.recalls.erase()
        if ports.waiting is not None and repeated is not None:
            await ports.waiting.erase(repeated)
        if ports.presence is not None:
            await ports.presence.sessions.erase()
        await ports.index.erase()
        said = JournalRecord(by=caller.principal, source=caller.source, admin=PURGE)
        await ports.store.past.erase(Erasure(note_id, paths, said, encoded))
        return Purged(replace(kept, backups=await _backups_still_with(ports, note_id, remains)))


async def _target(ports: Ports, node_id: str) -> str:
    """The note that an id or a prefix means, wherever it is kept."""
    bounds = id_range(node_id)
    if bounds is None:
        raise MemoryNotFoundError(
            "node_id is not a note id.", "Ids look like mem_ and 16 letters and digits; recall shows them."
        )
    living = {each for each, _ in await ports.index.matching(node_id, _SHOWN + 1) if bounds[0] <= each <= bounds[1]}
    trashed = set(await deletions(ports, *bounds))
    found = sorted(living | trashed)
    if not found and bounds[0] == bounds[1]:  # deleted by hand, or quarantined: it may be kept all the same
        remains = await _remains(ports, bounds[0])
        found = [bounds[0]] if remains.all else []
    if not found:
        raise MemoryNotFoundError("Nothing is kept of a note of this id.", "Find it with recall.")
    if len(found) > 1:
        raise AmbiguousIdError(f"node_id begins several ids: {', '.join(found[:_SHOWN])}.", "Give more of the id.")
    return found[0]


async def _remains(ports: Ports, note_id: str) -> Remains:
    return await ports.store.past.remains(note_id, tuple(await ports.index.files_of([note_id])))


async def _repeated(ports: Ports, remains: Remains, before: Repeated | None) -> Repeated | None:
    """The waiting turns that repeat any text that the note ever had; a title alone says too little to know one by."""
    if ports.waiting is None:
        return None
    return await ports.waiting.repeating([content for _, content in remains.texts], before)


async def _kept(ports: Ports, note_id: str, remains: Remains, repeated: Repeated | None) -> NoteTraces:
    successors = {each for each, _ in await ports.index.matching(note_id, _SHOWN)}
    links = await ports.index.links([note_id])
    successors |= {link.source for link in links if link.type == "derived_from" and link.target == note_id}
    return NoteTraces(
        note_id,
        files=len(remains.files),
        history=len(remains.past),
        trash=len(remains.trash),
        journal_lines=remains.lines,
        told_by=tuple(sorted(successors - {note_id})),
        waiting_turns=len(repeated.turns) if repeated is not None else 0,
    )


async def _backups_with(ports: Ports, note_id: str, remains: Remains) -> tuple[str, ...]:
    return () if ports.vault is None else tuple(await ports.vault.holding(note_id, remains.hashes))


async def _backups_still_with(ports: Ports, note_id: str, remains: Remains) -> tuple[str, ...]:
    """As `_backups_with`, but after the note is erased, when no new backup can have it any more.

    Raises:
        StorageError: the note is erased, and the backups could not be read.
    """
    try:
        return await _backups_with(ports, note_id, remains)
    except HoldfastError as error:
        raise StorageError(
            f"The note is erased; which older backups hold it could not be read: {error.sentence}",
            "See admin://vault for those there are; look before you repeat it.",
        ) from error


def _about(caller: Caller, note_id: str, remains: Remains) -> tuple[str, ...]:
    """What a token is bound to: who, what, and every text that goes."""
    texts = [part for text in sorted(remains.texts) for part in text]
    return caller.principal, PURGE, note_id, digest(*texts), *sorted(map(str, remains.all))
