"""The journal, read into the index from where the index knows it: changes, feedback, uses, runs, verdicts, baselines.

What the index knows is a prefix of the journal in which every change is known to be done or void. It never goes beyond
a change that is still open, which is read again; at the end of the journal it counts as done until it is told void.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import structlog
from anyio import to_thread

from holdfast.engine.agent.feedback import feedback_row
from holdfast.engine.agent.uses import use_row
from holdfast.engine.jobs.runs import run_row
from holdfast.engine.maintenance.notice import maintenance_row
from holdfast.engine.maintenance.records import remembered
from holdfast.engine.ports import Ports
from holdfast.index.history import Advance, Known
from holdfast.index.maintenance import JobRun, Remembered, UseRow
from holdfast.index.projection import HistoryRow, Update
from holdfast.index.recalls import FeedbackRow
from holdfast.model.omi import Baseline, is_about_pages, with_line
from holdfast.model.pages import is_page_key
from holdfast.store.position import START, Read, read_position

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
    """A change without an outcome: what it would add, its number, and the last record before it."""

    seq: int
    before: Read | None
    history: tuple[HistoryRow, ...]
    remembered: Remembered | None


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
    _last: Read | None = None
    _open: dict[str, _Open] = field(default_factory=dict)
    _done: set[str] = field(default_factory=set)
    _settled: set[str] = field(default_factory=set)  # of which only that is told
    _void: set[str] = field(default_factory=set)
    _pages: dict[str, Baseline] = field(default_factory=dict)
    _told: dict[str, Baseline] = field(default_factory=dict)
    _of_pages: deque[Mapping[str, Any]] = field(default_factory=deque)
    _pages_seq: int = 0
    _history: list[HistoryRow] = field(default_factory=list)
    _feedback: list[FeedbackRow] = field(default_factory=list)
    _uses: list[UseRow] = field(default_factory=list)
    _runs: list[JobRun] = field(default_factory=list)
    _remembered: list[Remembered] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._place, self._pages_seq = self.known.place, self.known.pages_seq
        self._pages, self._told = dict(self.known.pages), dict(self.known.pages)

    def take(self, read: Read) -> None:
        """Take the next record in.

        Raises:
            ContradictedError: it tells otherwise of a change than what is known of it.
        """
        record = read.record
        self._close(record)
        if "change" in record:
            self._announce(record)
        elif (told := remembered(record)) is not None:
            self._remembered.append(told)
        if (given := feedback_row(record)) is not None:
            self._feedback.append(given)
        if (use := use_row(record)) is not None:
            self._uses.append(use)
        if (run := run_row(record) or maintenance_row(record)) is not None:
            self._runs.append(run)
        if record["seq"] > self._pages_seq and is_about_pages(record):
            self._of_pages.append(record)
        self._last = read

    def step(self) -> Update:
        """What is to be written now, with the place up to which everything is written then."""
        self._count_pages()
        since, place = self._place, self._sure_place()
        gone = bool(self._told.keys() - self._pages.keys())
        pages = {path: base for path, base in self._pages.items() if gone or self._told.get(path) != base}
        self._place, self._told = place, dict(self._pages)
        rows = (self._history, self._feedback, self._uses, self._runs, self._remembered)
        self._history, self._feedback, self._uses, self._runs, self._remembered = [], [], [], [], []
        void, self._void = self._void, set()
        self.known = replace(self.known, void=self.known.void | void)
        advanced = Advance(since, place, void, self._pages_seq, pages, gone)
        history, feedback, uses, runs, kept = rows
        return Update(history=history, feedback=feedback, uses=uses, runs=runs, remembered=kept, journal=(advanced,))

    def open_history(self) -> list[HistoryRow]:
        """Rows of changes whose outcome nobody has told yet: others may be at them, and most are made."""
        return [row for item in self._open.values() for row in item.history]

    def _sure_place(self) -> str:
        """Behind the last record before the first change that is still open."""
        first = next(iter(self._open.values()), None)
        last = self._last if first is None else first.before
        return self.known.place if last is None else last.position.render()

    def _announce(self, record: Mapping[str, Any]) -> None:
        change, seq, op = record["change"], record["seq"], record["op"]
        notes = [file["note"] for file in record["files"] if op != "adopt" and not is_page_key(file["note"])]
        rows = tuple(HistoryRow(note, seq, change, op, record["at"]) for note in notes)
        self._open[change] = _Open(seq, self._last, rows, remembered(record))
        if len(self._open) > MOST_OPEN:
            self._presume(next(iter(self._open)))

    def _close(self, record: Mapping[str, Any]) -> None:
        for change in record.get("void", ()):
            self._drop(change)
        for change in record.get("done", ()):
            self._keep(change)
        settled = record.get("settled", 0)
        for change in [change for change, item in self._open.items() if item.seq <= settled]:
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
            self._history += item.history
            self._remembered += [item.remembered] if item.remembered else []
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
        while self._of_pages and self._of_pages[0].get("change") not in self._open:
            record = self._of_pages.popleft()
            change = record.get("change")
            self._pages = with_line(self._pages, record, void=change in self._void or change in self.known.void)
            self._pages_seq = record["seq"]


async def follow(ports: Ports, slices: int | None = None) -> bool:
    """Bring what is new in the journal into the index; all of it where the journal is not the one that was read.

    Args:
        ports: the world.
        slices: how many pieces at the most. Returns whether that was the end.

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
            end = await _read_on(ports, Replay(known, whole, outcomes), slices)
        except ContradictedError as error:
            outcomes, end = error.outcomes, None
        if end is not None:
            return end
        whole = True


async def _begin_anew(ports: Ports) -> Known:
    """Forget whatever came from the journal, before anything of it is read: what others add meanwhile is read too."""
    place = START.render()
    await ports.index.apply(Update(journal=(Advance("", place, anew=True),)))
    return Known(place)


async def _read_on(ports: Ports, replay: Replay, slices: int | None) -> bool | None:
    """Read to the end, or so many slices; None where the journal does not go on from the place that is known."""
    place = replay.known.place
    harmed = _damaged(place)
    while slices is None or slices > 0:
        reads = await ports.store.journal_since(place, SLICE)
        if reads is None:
            return None
        if reads:
            await to_thread.run_sync(_take_all, replay, reads)
            await ports.index.apply(replay.step())
            place = reads[-1].position.render()
        if len(reads) < SLICE:
            if still := replay.open_history():
                await ports.index.apply(Update(history=still))
            _warn(place, harmed)
            return True
        slices = None if slices is None else slices - 1
    return False


async def harmed_lines(ports: Ports) -> tuple[int, tuple[str, ...]]:
    """How many lines of the journal could not be read when they were, and where the first of them are."""
    known = await ports.index.read(lambda view: view.known_journal())
    reads = await ports.store.journal_since(known.place, SLICE)
    last = reads[-1].position if reads else read_position(known.place)
    return (last.damaged, last.harmed) if last else (0, ())


def _take_all(replay: Replay, reads: Sequence[Read]) -> None:
    for read in reads:
        replay.take(read)


def _damaged(place: str) -> int:
    position = read_position(place)
    return position.damaged if position else 0


def _warn(place: str, before: int) -> None:
    """Say in the log that lines are damaged, when they are first met; where they are, never what is in them."""
    position = read_position(place)
    if position is not None and position.damaged > before:
        log.warning("journal_damaged", lines=position.damaged, places=list(position.harmed))
