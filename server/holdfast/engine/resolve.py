"""From what a caller wrote to a note id: a full id, or a prefix that only one note has."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.engine.ports import Index
from holdfast.errors import AmbiguousIdError, MemoryNotFoundError, QuarantinedError
from holdfast.index.rows import IndexedNote
from holdfast.model.ids import id_range, is_note_id
from holdfast.model.memory import title_of

_SHOWN = 5


async def resolve(index: Index, given: str, *, what: str = "node_id") -> IndexedNote:
    """The one note that `given` means; a merged note leads to the one that it was merged into.

    Raises:
        MemoryNotFoundError: no id is or begins with it.
        AmbiguousIdError: several do.
        QuarantinedError: its file cannot be read as a note.
    """
    if id_range(given) is None:
        raise MemoryNotFoundError(
            f"{what} is not a note id.", "Ids look like mem_ and 16 letters and digits; recall shows them."
        )
    found = await index.matching(given, _SHOWN + 1)
    if not found:
        await _tell_quarantine(index, given)
        raise MemoryNotFoundError(f"{what} names no note.", "Find it with recall.")
    if len(found) > 1:
        shown = "; ".join(f"{note_id} ({title_of(title)})" for note_id, title in found[:_SHOWN])
        more = " and more" if len(found) > _SHOWN else ""
        raise AmbiguousIdError(f"{what} begins several ids: {shown}{more}.", "Give more of the id.")
    note = (await index.notes([found[0][0]])).get(found[0][0])
    if note is None:
        raise MemoryNotFoundError(f"{what} names no note.", "Find it with recall.")
    return await _merged(index, note)


async def _merged(index: Index, note: IndexedNote) -> IndexedNote:
    """The note that this one was merged into in the end; itself where the way leads nowhere or in a ring."""
    step: IndexedNote | None = note
    passed: set[str] = set()
    while step is not None and step.note.merged_into and step.note.id not in passed:
        passed.add(step.note.id)
        step = (await index.notes([step.note.merged_into])).get(step.note.merged_into)
    return note if step is None or step.note.id in passed else step


async def resolve_all(index: Index, given: Sequence[str], *, what: str) -> list[IndexedNote]:
    """Each of several ids, without repetition, in order; one that cannot be found is named by its place."""
    notes = [await resolve(index, item, what=f"{what}[{place}]") for place, item in enumerate(given)]
    return list({note.note.id: note for note in notes}.values())


async def _tell_quarantine(index: Index, given: str) -> None:
    wanted = given.strip().lower()
    if not is_note_id(wanted):
        return
    for row in (await index.files_of([wanted])).values():
        if row.problem:
            raise QuarantinedError(
                f"The file of this note is quarantined: {row.problem}.", "Mend the file in an editor; it is then found."
            )
