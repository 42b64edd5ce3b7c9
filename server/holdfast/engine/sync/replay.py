"""The journal is read into the index from where the index knows it, and the index is then asked for its lines.

What the index knows is a prefix of the journal in which every change is known to be done or void. It never goes beyond
a change that is still open, which is read again; at the end of the journal it counts as done until it is told void.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import structlog
from anyio import to_thread

from holdfast.engine.ports import Ports, Reading
from holdfast.index.journal import Advance, Known, LineRow
from holdfast.index.projection import Update
from holdfast.index.view import IndexView
from holdfast.model.records import Baseline, FileChange, JournalRecord, with_line
from holdfast.store.history import Deletion

SLICE = 4096  # records that are read and written at a time
MOST_OPEN = 4096  # changes that are kept in mind; of more without an outcome the oldest count as done until told void

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Changes of which it is known from an earlier reading how they ended, where the journal tells it late."""

    done: frozenset[str] = frozenset()
    void: frozenset[str] = frozenset()


class ContradictedError(Exception):
    """A change ended otherwise than was known of it: everything must be read again, with these outcomes in mind."""

    def __init__(self, outcomes: Outcomes) -> None:
        super().__init__("an outcome was told twice and differently")
        self.outcomes = outcomes


@dataclass(frozen=True, slots=True)
class _Open:
    """A change without an outcome, and the last line before it."""

    record: JournalRecord
    before: Reading | None


@dataclass(slots=True)
class Replay:
    """One reading from a place on.

    Args:
        known: what is known up to there.
        whole: whether that is the beginning, so that no outcome is told of a change before it.
        outcomes: what an earlier reading found out.
    """

    known: Known
    whole: bool = True
    outcomes: Outcomes = Outcomes()
    _place: str = ""
    _last: Reading | None = None
    _open: dict[str, _Open] = field(default_factory=dict)
    _done: set[str] = field(default_factory=set)
    _settled: set[str] = field(default_factory=set)  # of which only that is told
    _void: set[str] = field(default_factory=set)
    _pages: dict[str, Baseline] = field(default_factory=dict)
    _written: dict[str, Baseline] = field(default_factory=dict)
    _of_pages: deque[JournalRecord] = field(default_factory=deque)
    _pages_seq: int = 0
    _records: list[JournalRecord] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._place, self._pages_seq = self.known.place, self.known.pages_seq
        self._pages, self._written = dict(self.known.pages), dict(self.known.pages)

    def take(self, reading: Reading) -> None:
        """Take the next line in.

        Raises:
            ContradictedError: it tells otherwise of a change than what is known of it.
        """
        record = reading.record
        self._close(record)
        if record.change is not None:
            self._announce(record.change, record)
        else:
            self._records.append(record)
        if record.seq > self._pages_seq and record.is_about_pages:
            self._of_pages.append(record)
        self._last = reading

    def step(self) -> Update:
        """What is to be written now, with the place up to which everything is written then."""
        self._count_pages()
        since, place = self._place, self._sure_place()
        gone = bool(self._written.keys() - self._pages.keys())
        pages = {path: base for path, base in self._pages.items() if gone or self._written.get(path) != base}
        self._place, self._written = place, dict(self._pages)
        records, self._records = self._records, []
        void, self._void = self._void, set()
        self.known = replace(self.known, void=self.known.void | void)
        advanced = Advance(since, place, void, self._pages_seq, pages, gone)
        return Update(records=records, journal=(advanced,))

    def announced(self) -> list[JournalRecord]:
        """Changes whose outcome nobody has told yet: others may be at them, and most are made."""
        return [item.record for item in self._open.values()]

    def _sure_place(self) -> str:
        """Behind the last record before the first change that is still open."""
        first = next(iter(self._open.values()), None)
        last = self._last if first is None else first.before
        return self.known.place if last is None else last.place

    def _announce(self, change: str, record: JournalRecord) -> None:
        self._open[change] = _Open(record, self._last)
        if len(self._open) > MOST_OPEN:
            self._presume(next(iter(self._open)))

    def _close(self, record: JournalRecord) -> None:
        for change in record.void:
            self._drop(change)
        for change in record.done:
            self._keep(change)
        for change in [change for change, item in self._open.items() if item.record.seq <= record.settled]:
            self._presume(change)

    def _presume(self, change: str) -> None:
        """Take a change for done of which no line says so by its name, unless an earlier reading found it void."""
        if change in self.outcomes.void - self.outcomes.done:
            self._drop(change)
        else:
            self._keep(change)
            self._settled.add(change)

    def _keep(self, change: str) -> None:
        if change in self.known.void or change in self._void:
            raise ContradictedError(replace(self.outcomes, done=self.outcomes.done | {change}))
        self._settled.discard(change)
        item = self._open.pop(change, None)
        if item is not None:
            self._records.append(item.record)
        if not self.whole:
            self._done.add(change)

    def _drop(self, change: str) -> None:
        if change in self.outcomes.done:
            return  # its own writer says so, and knows best
        if self._open.pop(change, None) is not None:
            self._void.add(change)
        elif change in self._settled or not (
            self.whole or change in self._done or change in self.known.void or change in self._void
        ):
            raise ContradictedError(replace(self.outcomes, void=self.outcomes.void | {change}))

    def _count_pages(self) -> None:
        """Count in what is told of pages, in order, as far as it is known whether it happened."""
        while self._of_pages and self._of_pages[0].change not in self._open:
            record = self._of_pages.popleft()
            void = record.change in self._void or record.change in self.known.void
            self._pages = with_line(self._pages, record, void=void)
            self._pages_seq = record.seq


async def follow(ports: Ports, slices: int | None = None, until: int | None = None) -> bool:
    """Bring what is new in the journal into the index; all of it where the journal is not the one that was read.

    Args:
        ports: storage, index, encoder, clock and ids.
        slices: how many pieces at the most. Returns whether that was the end.
        until: the number of the last line that is read; the index is not to know more of the journal than of notes.

    Raises:
        IndexLostError: the index is gone.
        StorageError: the journal cannot be read.
    """
    known = await ports.index.read(lambda view: view.known_journal())
    outcomes = Outcomes()
    whole = not known.place
    while True:
        if whole:
            known = await _begin_anew(ports)
        try:
            end = await _read_on(ports, Replay(known, whole, outcomes), slices, until)
        except ContradictedError as error:
            outcomes, end = error.outcomes, None
        if end is not None:
            return end
        whole = True


async def _begin_anew(ports: Ports) -> Known:
    """Forget whatever came from the journal, before anything of it is read: what others add meanwhile is read too."""
    place = ports.store.journal_start
    await ports.index.apply(Update(journal=(Advance("", place, anew=True),)))
    return Known(place)


async def _read_on(ports: Ports, replay: Replay, slices: int | None, until: int | None) -> bool | None:
    """Read to the end, or so many slices; None where the journal does not go on from the place that is known."""
    place = replay.known.place
    harmed, _ = ports.store.damage_before(place)
    while slices is None or slices > 0:
        readings = await ports.store.journal_since(place, SLICE)
        if readings is None:
            return None
        if until is not None:
            readings = [each for each in readings if each.record.seq <= until]
        if readings:
            await to_thread.run_sync(_take_all, replay, readings)
            await ports.index.apply(replay.step())
            place = readings[-1].place
        if len(readings) < SLICE:
            if still := replay.announced():
                await ports.index.apply(Update(announced=still))
            _warn(ports, place, harmed)
            return True
        slices = None if slices is None else slices - 1
    return False


async def harmed_lines(ports: Ports) -> tuple[int, tuple[str, ...]]:
    """How many lines of the journal could not be read when they were, and where the first of them are."""
    known = await ports.index.read(lambda view: view.known_journal())
    readings = await ports.store.journal_since(known.place, SLICE)
    return ports.store.damage_before(readings[-1].place if readings else known.place)


def _take_all(replay: Replay, readings: Sequence[Reading]) -> None:
    for reading in readings:
        replay.take(reading)


def _warn(ports: Ports, place: str, before: int) -> None:
    """Say in the log that lines are damaged, when they are first met; where they are, never what is in them."""
    damaged, places = ports.store.damage_before(place)
    if damaged > before:
        log.warning("journal_damaged", lines=damaged, places=list(places))


Answer = TypeVar("Answer")
MOST_LOOKS = 3  # where others write all the time there is always a newer line


@dataclass(frozen=True, slots=True)
class PastLine:
    """A line as the index has it, and all that it says."""

    row: LineRow
    record: JournalRecord


async def look_back(ports: Ports, look: Callable[[IndexView], Answer]) -> Answer:
    """Ask the index of the journal, once it knows every line that is there now.

    Another request may begin to read the journal anew meanwhile, as after a purge: what knew a part is asked again.

    Raises:
        IndexLostError: the index is gone.
        StorageError: the journal cannot be read.
    """
    looks = 0
    while True:
        await follow(ports)
        known, answer = await ports.index.read(lambda view: (view.known_journal(), look(view)))
        looks += 1
        left = await ports.store.journal_since(known.place, 1)
        if looks == MOST_LOOKS or (left is not None and not left):
            return answer


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
