"""admin_purge: a note is erased wherever a byte of it may be, but for backups that were made before."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass

from holdfast.engine.admin.gate import Confirmations, give_token, using_token
from holdfast.engine.history import deletions
from holdfast.engine.ports import Caller, Ports
from holdfast.errors import AmbiguousIdError, MemoryNotFoundError, ProtectedNoteError
from holdfast.index.projection import digest, text_to_encode
from holdfast.model.note import SELF_ID, id_range
from holdfast.model.records import JournalRecord
from holdfast.store.erasure import Erasure, Remains
from holdfast.store.transcripts.queue import Repeated

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
    backups: tuple[str, ...]
    told_by: tuple[str, ...]
    waiting_turns: int = 0


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
        return WouldPurge(await _kept(ports, note_id, remains, repeated), token)
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
        await ports.forget([text_to_encode(title, content) for title, content in remains.texts])
        await ports.recalls.erase()
        if ports.waiting is not None and repeated is not None:
            await ports.waiting.erase(repeated)
        if ports.presence is not None:
            await ports.presence.sessions.erase()
        await ports.index.erase()
        said = JournalRecord(by=caller.principal, source=caller.source, admin=PURGE)
        await ports.store.past.erase(Erasure(note_id, paths, said))
    return Purged(kept)


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
    backups = await ports.vault.holding(note_id, remains.hashes) if ports.vault is not None else []
    heirs = {each for each, _ in await ports.index.matching(note_id, _SHOWN)}
    links = await ports.index.links([note_id])
    heirs |= {link.source for link in links if link.type == "derived_from" and link.target == note_id}
    return NoteTraces(
        note_id,
        files=len(remains.files),
        history=len(remains.past),
        trash=len(remains.trash),
        journal_lines=remains.lines,
        backups=tuple(backups),
        told_by=tuple(sorted(heirs - {note_id})),
        waiting_turns=len(repeated.turns) if repeated is not None else 0,
    )


def _about(caller: Caller, note_id: str, remains: Remains) -> tuple[str, ...]:
    """What a token is bound to: who, what, and every text that goes."""
    texts = [part for text in sorted(remains.texts) for part in text]
    return caller.principal, PURGE, note_id, digest(*texts), *sorted(map(str, remains.all))
