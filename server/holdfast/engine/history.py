"""What was: lines of the journal, asked of the index, which is brought up to the journal's end before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from holdfast.engine.ports import Ports, View
from holdfast.engine.sync.replay import follow
from holdfast.index.journal import LineRow
from holdfast.model.records import FileChange, JournalRecord
from holdfast.store.history import Deletion

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class PastLine:
    """A line as the index has it, and all that it says."""

    row: LineRow
    record: JournalRecord


async def look_back(ports: Ports, look: Callable[[View], Answer]) -> Answer:
    """Ask the index of the journal, once it knows every line that is there now.

    Raises:
        IndexLostError: the index is gone.
        StorageError: the journal cannot be read.
    """
    await follow(ports)
    return await ports.index.read(look)


async def whole(ports: Ports, rows: Iterable[LineRow]) -> list[PastLine]:
    """The lines that these rows are of; what has become unreadable since is left out."""
    wanted = list(rows)
    records = await ports.store.past.lines(row.seq for row in wanted)
    return [PastLine(row, records[row.seq]) for row in wanted if row.seq in records]


async def find_line(ports: Ports, change: str) -> PastLine | None:
    """The line that announced a change; None where there is none, or where it never happened."""
    row = await look_back(ports, lambda view: view.line_of_change(change))
    found = await whole(ports, [row]) if row else []
    return found[0] if found and found[0].record.change == change else None


async def deletions(ports: Ports, low: str, high: str) -> dict[str, Deletion]:
    """The last deletion of each note with an id between these two that was ever deleted and not purged, by id."""
    numbers: Mapping[str, int] = await look_back(ports, lambda view: view.deletions(low, high))
    records = await ports.store.past.lines(numbers.values())
    found = {note: records[seq] for note, seq in numbers.items() if seq in records}
    return {
        note: Deletion(record.change or "", record.op, record.at, file)
        for note, record in found.items()
        if (file := _of_note(note, record.files)) is not None
    }


def _of_note(note: str, files: Iterable[FileChange]) -> FileChange | None:
    return next((file for file in files if file.note == note and file.after is None), None)
