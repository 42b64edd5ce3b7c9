"""What the View lists: what was done lately, what happened when, what waits for a person, and which notes are alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from holdfast.engine.admin.undo import OWN_FOR, is_own
from holdfast.engine.commit import check_offset, check_range, space_named, until
from holdfast.engine.maintenance.candidates import HOP, look_around
from holdfast.engine.maintenance.verdicts import Proposal, list_proposals
from holdfast.engine.omi.beliefs import standings
from holdfast.engine.ports import Caller, Ports
from holdfast.index.journal import LineRow
from holdfast.index.queries import ChangedNotes, Opposed
from holdfast.index.rows import IndexedNote
from holdfast.index.view import IndexView
from holdfast.model.maintenance import Candidate
from holdfast.model.note import SELF_ID, Note, moment
from holdfast.model.ranking import Filter
from holdfast.model.records import JournalRecord

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
    check_range("limit", limit, MOST_CHANGES)
    name = None if space is None else space_named("space", space)

    def read(
        view: IndexView,
    ) -> tuple[list[ChangedNotes], dict[str, LineRow], dict[str, IndexedNote], int, list[str], int]:
        found = view.changes_before(name, before or _NEWEST, limit + 1)
        rows = {change.change: row for change in found if (row := view.line_of_change(change.change)) is not None}
        shown = [note for change in found[:limit] for note in _shown_notes(change)]
        return found, rows, view.notes(shown), view.change_number(), view.spaces(), view.count_notes()

    found, rows, notes, number, spaces, count = await ports.index.read(read)
    lines = await ports.store.past.lines(change.seq for change in found[:limit])
    changes = tuple(
        _shown(ports, caller, change, (rows.get(change.change), lines.get(change.seq)), notes)
        for change in found[:limit]
    )
    following = found[limit - 1].seq if len(found) > limit else None
    return Recent(changes, following, number, tuple(spaces[:MOST_SPACES]), count)


def _shown_notes(change: ChangedNotes) -> Sequence[str]:
    """The notes to show of a change: Self, which comes to be with the first note, only where it alone was changed."""
    others = [note for note in change.notes if note != SELF_ID]
    return (others or change.notes)[:MOST_NOTES]


def _shown(
    ports: Ports,
    caller: Caller,
    change: ChangedNotes,
    records: tuple[LineRow | None, JournalRecord | None],
    notes: Mapping[str, IndexedNote],
) -> ChangeShown:
    row, line = records
    undone_by = row.undone_by if row else None
    is_young = abs(ports.clock() - moment(change.at)) <= OWN_FOR
    ids: Sequence[str] = _shown_notes(change)
    return ChangeShown(
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


MOST_OF_TIMELINE = 100
MOST_MONTHS = 240


@dataclass(frozen=True, slots=True)
class Month:
    """A month such as 2026-01, with how many notes are about what happened in it, and how many of these are retired."""

    month: str
    count: int
    retired: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """Notes in the order of what they tell of, retired ones too, newest first: a page from `offset` on, of `total`."""

    notes: tuple[Note, ...]
    offset: int
    total: int
    months: tuple[Month, ...]


async def timeline(ports: Ports, space: str | None, before: str | None, offset: int, limit: int) -> Timeline:
    """A page of what happened in a space or everywhere, up to `before`.

    Raises:
        InvalidArgumentError: an argument cannot be used.
    """
    check_range("limit", limit, MOST_OF_TIMELINE)
    check_offset(offset)
    name = None if space is None else space_named("space", space)
    wanted = Filter(ports.now, spaces=(name,) if name else (), before=until("before", before), include_outdated=True)

    def read(view: IndexView) -> Timeline:
        page = view.by_time(wanted, limit, offset)
        notes = view.notes(page.ids)
        months = tuple(Month(*row) for row in view.months(name, MOST_MONTHS))
        return Timeline(tuple(notes[each].note for each in page.ids if each in notes), offset, page.total, months)

    return await ports.index.read(read)


STEP = HOP // 2  # notes whose surroundings one call looks at: each is a search through the whole memory


@dataclass(frozen=True, slots=True)
class Pair:
    """Two notes that maintenance would have judged: near duplicates, or what may be a contradiction."""

    first: str
    second: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Pairs:
    """What was found around some notes; `notes` has every note that is named.

    `looked` is how many notes have been looked at, those before `offset` included, of `total`.
    """

    conflicts: tuple[Pair, ...]
    alike: tuple[Pair, ...]
    notes: dict[str, Note]
    looked: int
    total: int


async def pairs(ports: Ports, caller: Caller, space: str | None, offset: int) -> Pairs:
    """Pairs with the next current notes of a space or of all, those that happened last first, from `offset` on.

    Looking settles nothing, and takes nothing off an agent's maintenance.

    Raises:
        InvalidArgumentError: `space` can be no space's name, or `offset` is below 0.
    """
    check_offset(offset)
    name = None if space is None else space_named("space", space)
    wanted = Filter(ports.now, spaces=(name,) if name else ())
    page = await ports.index.read(lambda view: view.by_time(wanted, STEP, offset))
    found = await look_around(ports, caller.principal, page.ids, ("conflicts", "merges"))
    notes = {text.note.id: text.note for item in found for text in item.texts}
    looked = min(offset + STEP, page.total)
    return Pairs(_of("conflicts", found), _of("merges", found), notes, looked, page.total)


def _of(kind: str, candidates: Iterable[Candidate]) -> tuple[Pair, ...]:
    return tuple(
        Pair(first.note.id, second.note.id, item.similarity)
        for item in candidates
        if item.kind == kind
        for first, second in [item.texts]
    )


MOST = 20  # of each kind
MOST_PROPOSALS = 50


@dataclass(frozen=True, slots=True)
class Review:
    """What waits; `notes` has every note that is named, `beliefs` how each doubted one stands.

    `quarantined` are the first files that cannot be read as notes, of `count_quarantined`; `count_proposals` is how
    many wait in all.
    """

    proposals: tuple[Proposal, ...]
    count_proposals: int
    opposed: tuple[Opposed, ...]
    doubted: tuple[str, ...]
    beliefs: dict[str, str]
    quarantined: tuple[tuple[str, str], ...]
    count_quarantined: int
    notes: dict[str, Note]


async def review(ports: Ports, space: str | None, *, gated: bool) -> Review:
    """What is known to wait in a space, or everywhere; `pairs` looks for more. Looking settles nothing.

    Args:
        ports: storage, index, encoder, clock and ids.
        space: where, None for everywhere. Files that are no notes are told of in any case.
        gated: whoever looks is behind the gate. Without it there are no proposals, and of the files that cannot be
            read as notes the first alone is named, as `recall` does.

    Raises:
        InvalidArgumentError: `space` can be no space's name.
    """
    name = None if space is None else space_named("space", space)
    proposals = await list_proposals(ports) if gated else []

    def read(view: IndexView) -> tuple[list[Opposed], list[str], dict[str, IndexedNote], list[tuple[str, str]]]:
        opposed = view.opposed(name, ports.now, MOST)
        doubted = view.doubted(name, ports.now, MOST)
        ids = {note for proposal in proposals[:MOST_PROPOSALS] for note in proposal.hashes}
        ids |= {note for item in opposed for note in (item.first, item.second)}
        return opposed, doubted, view.notes(ids | set(doubted)), view.problems()

    opposed, doubted, rows, problems = await ports.index.read(read)
    notes = {note_id: row.note for note_id, row in rows.items()}
    here = [proposal for proposal in proposals if name is None or _touches(proposal, name, notes)]
    return Review(
        tuple(here[:MOST_PROPOSALS]),
        len(here),
        tuple(opposed),
        tuple(each for each in doubted if each in notes),
        await standings(ports, [notes[each] for each in doubted if each in notes]),
        tuple(problems[: MOST if gated else 1]),
        len(problems),
        notes,
    )


def _touches(proposal: Proposal, space: str, notes: dict[str, Note]) -> bool:
    spaces: Sequence[str] = [notes[each].space for each in proposal.hashes if each in notes]
    return space in spaces or not spaces
