"""What was done to notes lately, by whom, and whether whoever looks may take it back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from holdfast.engine.admin.undo import OWN_FOR, is_own
from holdfast.engine.arguments import space as space_named
from holdfast.engine.ports import Caller, Ports, View
from holdfast.errors import InvalidArgumentError
from holdfast.index.journal import LineRow
from holdfast.index.overview import ChangedNotes
from holdfast.index.rows import IndexedNote
from holdfast.model.note import SELF_ID, Note
from holdfast.model.records import JournalRecord
from holdfast.model.times import moment

MOST_CHANGES = 50
MOST_NOTES = 10  # of one change that are shown
MOST_SPACES = 200
_NEWEST = 2**62  # above every number of a change


@dataclass(frozen=True, slots=True)
class ChangeShown:
    """A change of notes.

    `notes` are those of it that are still there, `gone` the ids of others, `more` how many are left out of both. `own`
    says that whoever looks may take it back without the gate.
    """

    seq: int
    change_id: str
    op: str
    at: str
    by: str
    source: str
    undone_by: str | None
    own: bool
    notes: tuple[Note, ...]
    gone: tuple[str, ...]
    more: int


@dataclass(frozen=True, slots=True)
class Recent:
    """Changes, newest first.

    `before` continues the list, None where it ends; `number` is another one after every change of the index; `spaces`
    are all that hold notes, `count` how many notes there are.
    """

    changes: tuple[ChangeShown, ...]
    before: int | None
    number: int
    spaces: tuple[str, ...]
    count: int


async def change_number(ports: Ports) -> int:
    """Another number after each change of the index: as long as it is the same there is nothing new to show."""
    return await ports.index.read(lambda view: view.change_number())


async def recent(ports: Ports, caller: Caller, space: str | None, before: int | None, limit: int) -> Recent:
    """The latest changes of notes, of one space or of all.

    Raises:
        InvalidArgumentError: `space` can be no space's name, or `limit` is out of range.
    """
    if not 1 <= limit <= MOST_CHANGES:
        raise InvalidArgumentError(f"limit is outside 1 to {MOST_CHANGES}.")
    name = None if space is None else space_named("space", space)

    def read(view: View) -> tuple[list[ChangedNotes], dict[str, LineRow], dict[str, IndexedNote], int, list[str], int]:
        found = view.changes_before(name, before or _NEWEST, limit + 1)
        rows = {change.change: row for change in found if (row := view.line_of_change(change.change)) is not None}
        shown = [note for change in found[:limit] for note in _told_of(change)]
        return found, rows, view.notes(shown), view.change_number(), view.spaces(), view.count_notes()

    found, rows, notes, number, spaces, count = await ports.index.read(read)
    lines = await ports.store.past.lines(change.seq for change in found[:limit])
    changes = tuple(
        _shown(ports, caller, change, (rows.get(change.change), lines.get(change.seq)), notes)
        for change in found[:limit]
    )
    following = found[limit - 1].seq if len(found) > limit else None
    return Recent(changes, following, number, tuple(spaces[:MOST_SPACES]), count)


def _told_of(change: ChangedNotes) -> Sequence[str]:
    """The notes to show of a change: Self, which comes to be with the first note, only where it alone was changed."""
    others = [note for note in change.notes if note != SELF_ID]
    return (others or change.notes)[:MOST_NOTES]


def _shown(
    ports: Ports,
    caller: Caller,
    change: ChangedNotes,
    told: tuple[LineRow | None, JournalRecord | None],
    notes: Mapping[str, IndexedNote],
) -> ChangeShown:
    row, line = told
    undone_by = row.undone_by if row else None
    is_young = abs(ports.clock() - moment(change.at)) <= OWN_FOR
    ids: Sequence[str] = _told_of(change)
    return ChangeShown(
        change.seq,
        change.change,
        change.op,
        change.at,
        row.by if row else "",
        row.source if row else "",
        undone_by,
        undone_by is None and is_young and line is not None and is_own(line, caller),
        tuple(notes[each].note for each in ids if each in notes),
        tuple(each for each in ids if each not in notes),
        len([note for note in change.notes if note != SELF_ID or len(change.notes) == 1]) - len(ids),
    )
