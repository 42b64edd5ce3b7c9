"""One change, whole: files, journal and index, or nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from holdfast.engine.encoding import Encoded
from holdfast.engine.ports import Caller, Ports
from holdfast.errors import ConflictError, StorageError
from holdfast.index.projection import FileRow, MadeVectors, NoteRow, Update
from holdfast.index.rows import IndexedNote
from holdfast.model.omi import marks_of
from holdfast.model.records import JournalRecord
from holdfast.store.stored import Change, Committed, PageChange, Stored

NO_DETAIL = JournalRecord()


async def load_current(ports: Ports, indexed: IndexedNote) -> Stored:
    """The note's file as it is now. The caller holds its lock.

    Raises:
        ConflictError: the file is not what the index knows, or is being saved; look again, then repeat.
    """
    found = await ports.store.load([indexed.path], {indexed.path: indexed.note.id})
    if len(found) != 1 or not isinstance(found[0], Stored) or found[0].hash != indexed.hash:
        raise ConflictError("The note's file has changed on disk.", "Nothing was written; repeat the call.")
    ports.store.check_still(found[0])
    return found[0]


async def check_known(ports: Ports, made: Collection[str]) -> None:
    """Look again where a process died between the files and the index, before anything is decided by the index.

    Raises:
        ConflictError: the index does not know all of these notes; look again, then repeat.
    """
    if made and (await ports.index.notes(made)).keys() != set(made):
        raise ConflictError("Another server died in the middle of a change.", "Repeat the call.")


@contextmanager
def behind_the_journal() -> Iterator[None]:
    """What follows a line of the journal that is a record by itself: the line stays, whatever fails."""
    try:
        yield
    except StorageError as error:
        raise StorageError(
            f"It is in the journal, and the index could not take it in: {error.sentence}",
            "It counts when the index is next built; look before you repeat it.",
        ) from error


async def commit(
    ports: Ports,
    caller: Caller,
    op: str,
    changes: Sequence[Change | PageChange],
    vectors: Mapping[str, Encoded] | None = None,
    detail: JournalRecord = NO_DETAIL,
) -> Committed:
    """Write a change and make it findable; returns when it is flushed and indexed. The caller holds the locks.

    Args:
        ports: the world.
        caller: who asks; told in the journal.
        op: the verb.
        changes: notes made, rewritten or deleted together, and pages.
        vectors: what was made, by note id, for notes that were encoded already.
        detail: what else the journal's line is to say; never text of a note.

    Raises:
        QuotaExceededError, ConflictError, StorageError: nothing was written.
    """
    at = ports.now  # said once: an index that is made anew from the journal has the same time
    seen = dict(ports.first_seen)
    said = replace(detail, at=at, by=caller.principal, source=caller.source, seen=marks_of(seen))
    usage = partial(ports.index.read, lambda view: view.usage())
    async with ports.quota.room(changes, usage), ports.store.commit(op, changes, said) as done:
        for path in seen:
            ports.first_seen.pop(path, None)
        if done.notes:  # pages are in no index
            await ports.index.apply(
                Update(
                    records=[done.record],
                    notes=[note_row(stored) for stored in done.stored],
                    gone=done.gone,
                    vectors=_made(done, vectors or {}),
                )
            )
    ports.made.append(done.change_id)
    return done


def note_row(stored: Stored) -> NoteRow:
    """A stored note as it is indexed."""
    return NoteRow(stored.note, stored.hash, file_row(stored))


def file_row(stored: Stored) -> FileRow:
    return FileRow(stored.path, stored.mark, stored.touched_ns, stored.size, stored.note.id, has_id=stored.has_id)


def _made(done: Committed, vectors: Mapping[str, Encoded]) -> list[MadeVectors]:
    pairs = [(note_row(stored), vectors.get(stored.note.id)) for stored in done.stored]
    return [
        MadeVectors(row.note.id, row.encode_hash, encoded.made_with.key, encoded.chunks)
        for row, encoded in pairs
        if encoded is not None and encoded.made_with is not None and encoded.chunks
    ]
