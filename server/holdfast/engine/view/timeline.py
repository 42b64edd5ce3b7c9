"""What happened in a space, by the time of the events: a page of notes, and how many there are in each month."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.engine.arguments import space as space_named
from holdfast.engine.arguments import until
from holdfast.engine.ports import Ports, View
from holdfast.errors import InvalidArgumentError
from holdfast.model.note import Note
from holdfast.model.ranking import Filter

MOST_NOTES = 100
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
    if not 1 <= limit <= MOST_NOTES:
        raise InvalidArgumentError(f"limit is outside 1 to {MOST_NOTES}.")
    if offset < 0:
        raise InvalidArgumentError("offset is below 0.")
    name = None if space is None else space_named("space", space)
    wanted = Filter(ports.now, spaces=(name,) if name else (), before=until("before", before), include_outdated=True)

    def read(view: View) -> Timeline:
        page = view.by_time(wanted, limit, offset)
        notes = view.notes(page.ids)
        months = tuple(Month(*row) for row in view.months(name, MOST_MONTHS))
        return Timeline(tuple(notes[each].note for each in page.ids if each in notes), offset, page.total, months)

    return await ports.index.read(read)
