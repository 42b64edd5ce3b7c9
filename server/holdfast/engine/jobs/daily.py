"""Jobs that need no judgement: once a day each, in one process at a time, in short slices that give way to requests.

Each run is one line of the journal: a restart, or a new index, knows when each was.

Forgetting is one of them, and off unless it is switched on. A note is forgotten (put into the trash, and after a
month erased) only if every sign says so: archival and untouched for 90 days, faded to a twentieth, of little
importance, with few and light links, never said to have helped, and not what another note was made from.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

import anyio
import structlog

from holdfast.engine.jobs.changes import (
    CLUSTER,
    DEMOTE,
    FORGET,
    OWN_CALLER,
    PROMOTE,
    change_if,
    in_tier,
    life_of,
    shed_core,
    was_used_since,
)
from holdfast.engine.ports import Ports, Upkeep
from holdfast.engine.runtime import PASSING, Memory
from holdfast.engine.sync.replay import look_back, whole
from holdfast.errors import ConflictError
from holdfast.index.journal import LinesWanted
from holdfast.index.maintenance import JobRun, Living
from holdfast.index.projection import Update, encode_hash
from holdfast.index.view import IndexView
from holdfast.model.lifecycle import has_faded, majority, may_be_forgotten
from holdfast.model.note import GLOBAL_SPACE, TIERS, instant, moment
from holdfast.model.records import FORGOTTEN, JOB, JournalRecord, Ran
from holdfast.store.stored import Stored

Answer = TypeVar("Answer")

START_SECONDS = 30.0  # a new server has better things to do at first
LOOK_SECONDS = 300.0  # between two looks whether something is due
ELSEWHERE_SECONDS = 5.0  # another process is at it: it may die
EVERY = timedelta(hours=24)
DONE = "done"
AGAIN = timedelta(hours=1)  # after a failure
_PAUSE_SECONDS, _SHARE = 0.02, 4.0  # after each slice: at least so long, and so many times as long as it took
_LONGEST_WAIT, _WAIT = 1.0, 0.01  # for requests under way

log = structlog.get_logger()


class JobContext:
    """What a job works with."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.ports = memory.ports

    async def step(self, verb: Callable[[Ports], Awaitable[Answer]]) -> Answer:
        """Do one slice when no request is under way, and rest.

        Raises:
            HoldfastError, IndexLostError, OSError: whatever the slice raises.
        """
        deadline = time.monotonic() + _LONGEST_WAIT
        while self.memory.is_busy and time.monotonic() < deadline:  # noqa: ASYNC110 - a burst of requests has many ends
            await anyio.sleep(_WAIT)
        began = time.monotonic()
        try:
            return await self.memory.peek(verb)
        finally:
            await anyio.sleep(max(_PAUSE_SECONDS, _SHARE * (time.monotonic() - began)))

    async def read(self, work: Callable[[IndexView], Answer]) -> Answer:
        """As `step`, for a look at one state of the index."""
        return await self.step(lambda ports: ports.index.read(work))

    async def try_step(self, verb: Callable[[Ports], Awaitable[Answer]]) -> Answer | None:
        """As `step`, for one of many notes: None where somebody else changes it all the time."""
        try:
            return await self.step(verb)
        except ConflictError:
            return None


@dataclass(frozen=True, slots=True)
class Job:
    """Something that is done once a day: `run` returns how much it changed. `does` says what, in a line.

    `derive` is what a job only writes into the index, as of the time of a run: every server does it to its own.
    """

    name: str
    does: str
    run: Callable[[JobContext], Awaitable[int]]
    is_on: Callable[[Ports], bool] = lambda _: True
    derive: Callable[[JobContext, datetime], Awaitable[int]] | None = None


@dataclass(frozen=True, slots=True)
class JobState:
    """How it stands with a job; times are instants. `next_due` is None where it is switched off."""

    name: str
    does: str
    last_run: str | None
    last_success: str | None
    last_error: str | None
    run_count: int
    duration_ms: int | None
    changed: int | None
    next_due: str | None


class JobRunner:
    """Sees to the jobs of one memory, for as long as it runs.

    Args:
        memory: the memory.
        jobs: in the order in which they are done.
    """

    def __init__(self, memory: Memory, jobs: tuple[Job, ...]) -> None:
        self._context = JobContext(memory)
        self._jobs = jobs
        self._derived: dict[str, str] = {}  # when the run of a job was whose outcome this index has

    async def run(self) -> None:
        """Look now and then whether something is due, and do it."""
        upkeep, jobs = self._context.ports.upkeep, self._context.ports.jobs
        if upkeep is None or not (jobs or upkeep.has_others):
            return
        await anyio.sleep(START_SECONDS)
        while True:
            rest = LOOK_SECONDS
            try:
                rest = await self._look() if jobs else LOOK_SECONDS
                if upkeep.has_others:
                    await self.derive()
            except PASSING as error:
                log.warning("jobs_put_off", error=type(error).__name__, reason=str(error))
            await anyio.sleep(rest)

    async def _look(self) -> float:
        upkeep = self._context.ports.upkeep
        if upkeep is None or not self._context.ports.store.is_there or not await self._due():
            return LOOK_SECONDS
        async with upkeep.turn() as mine:
            if not mine:
                return ELSEWHERE_SECONDS
            for job in await self._due():  # another process may have done some meanwhile
                await self._do(job)
        return LOOK_SECONDS

    async def derive(self) -> None:
        """Do to this server's index what another server's run of a job did to its own.

        Raises:
            HoldfastError, IndexLostError, OSError: it is done the next time.
        """
        if await self._context.step(lambda ports: ports.index.tell_once("jobs derived")):  # an index that was made anew
            self._derived.clear()
        for job in self._jobs:
            if job.derive is None:
                continue
            _, runs = await self._context.read(partial(_runs, job.name))
            at = next((run.at for run in runs if run.outcome == DONE), "")
            if at and self._derived.get(job.name) != at:
                await job.derive(self._context, moment(at))
                self._derived[job.name] = at

    async def _due(self) -> list[Job]:
        now = self._context.ports.clock()
        if not await self._context.memory.peek(lambda ports: ports.index.count_files()):
            return []
        states = await self._context.memory.peek(lambda ports: job_states(ports, self._jobs))
        return [
            job
            for job, state in zip(self._jobs, states, strict=True)
            if state.next_due is not None and _is_past(state, now)
        ]

    async def _do(self, job: Job) -> None:
        ports, at, began = self._context.ports, self._context.ports.now, time.monotonic()
        changed, outcome = 0, DONE
        try:
            changed = await job.run(self._context)
            self._derived[job.name] = at
        except PASSING as error:
            outcome = type(error).__name__
            log.warning("job_failed", job=job.name, error=outcome, reason=str(error))
        spent = round((time.monotonic() - began) * 1000)
        line = await record_run(ports, JobRun(job.name, 0, at, outcome, changed, spent))
        await self._context.memory.peek(lambda ports: ports.index.apply(Update(records=[line])))


async def job_states(ports: Ports, jobs: tuple[Job, ...]) -> list[JobState]:
    """How it stands with each of these jobs, in their order."""
    found = await ports.index.read(lambda view: [view.job_runs(job.name) for job in jobs])
    is_on = ports.jobs and ports.upkeep is not None
    return [
        _state(job, count, runs, ports.now, is_on=is_on and job.is_on(ports))
        for job, (count, runs) in zip(jobs, found, strict=True)
    ]


def _runs(name: str, view: IndexView) -> tuple[int, list[JobRun]]:
    return view.job_runs(name)


def _state(job: Job, count: int, runs: list[JobRun], now: str, *, is_on: bool) -> JobState:
    last = runs[0] if runs else None
    well = next((run for run in runs if run.outcome == DONE), None)
    badly = next((run for run in runs if run.outcome != DONE), None)
    due = now if last is None else instant(moment(last.at) + (EVERY if last is well else AGAIN))
    return JobState(
        job.name,
        job.does,
        last.at if last else None,
        well.at if well else None,
        f"{badly.outcome} ({badly.at})" if badly else None,
        count,
        last.milliseconds if last else None,
        well.changed if well else None,
        due if is_on else None,
    )


def _is_past(state: JobState, now: datetime) -> bool:
    """Whether a job is due; one that is said to have run later than now was so by a clock that was wrong."""
    due = moment(str(state.next_due))
    return due <= now or state.last_run is None or moment(state.last_run) > now


async def record_run(ports: Ports, run: JobRun) -> JournalRecord:
    """Tell the journal of a run; returns its line, which the index is to know.

    Raises:
        StorageError: the journal cannot be written.
    """
    ran = Ran(run.name, run.outcome, run.changed, run.milliseconds)
    line = JournalRecord(JOB, run.at, OWN_CALLER.principal, OWN_CALLER.source, job=ran)
    return replace(line, seq=await ports.store.record(line))


SPAN = 100  # rows of one slice
MOST_CHANGES = 500  # notes that one run rewrites; the others wait for the next day
VECTORS = 2000  # that are looked through at a time
_NOTEWORTHY = 0.01  # of importance: less is not written down


async def slices(context: JobContext, tiers: Sequence[str] = TIERS) -> AsyncIterator[list[Living]]:
    """All notes of some tiers that may fade or rise (neither Self nor what is about the user), slice by slice."""
    for first in await _spans(context):
        yield await _slice(context, first, tiers)


async def _spans(context: JobContext) -> range:
    return range(0, await context.read(lambda view: view.last_row()), SPAN)


async def _slice(context: JobContext, first: int, tiers: Sequence[str]) -> list[Living]:
    return await context.read(lambda view: view.living(first, first + SPAN, tiers))


async def score(context: JobContext) -> int:
    """Compute every note's importance anew."""
    return await score_as_of(context, context.ports.clock())


async def score_as_of(context: JobContext, now: datetime) -> int:
    """Compute what every note's importance was at some time, which was not long ago."""
    changed = 0
    async for notes in slices(context):
        fresh = [(note.id, round(life_of(note, now).importance, 4), note.importance) for note in notes]
        moved = [(note, new) for note, new, old in fresh if old is None or abs(new - old) >= _NOTEWORTHY]
        if moved:
            await _keep(context, Update(importance=moved))
            changed += len(moved)
    return changed


async def _keep(context: JobContext, update: Update) -> None:
    await context.step(lambda ports: ports.index.apply(update))


async def demote_faded(context: JobContext) -> int:
    """Move working notes that have faded and matter little to archival, those that faded most first."""
    faded: list[tuple[float, str]] = []
    async for notes in slices(context, ("working",)):
        now = context.ports.clock()
        lives = ((note.id, life_of(note, now)) for note in notes)
        faded += [(state.retention, note_id) for note_id, state in lives if has_faded(state)]
        faded = sorted(faded)[:MOST_CHANGES]

    def is_due(note: Living) -> bool:
        return note.tier == "working" and has_faded(life_of(note, context.ports.clock()))

    return await _each(context, [note for _, note in faded], lambda ports, note: _move(ports, note, DEMOTE, is_due))


async def promote_used(context: JobContext) -> int:
    """Move archival notes that were used since they came there back to working, unless another one sums them up."""

    def is_due(note: Living) -> bool:
        return note.tier == "archival" and was_used_since(note) and not note.is_summed

    used: list[str] = []
    async for notes in slices(context, ("archival",)):
        used += [note.id for note in notes if is_due(note)]
    return await _each(context, used, lambda ports, note: _move(ports, note, PROMOTE, is_due))


async def _move(ports: Ports, note_id: str, op: str, is_due: Callable[[Living], bool]) -> str | None:
    return await change_if(ports, note_id, op, is_due, in_tier("archival" if op == DEMOTE else "working"))


async def _each(
    context: JobContext, notes: Sequence[str], change: Callable[[Ports, str], Awaitable[str | None]]
) -> int:
    """Change notes one by one, as many as one run may; returns how many were."""
    changes = [await _one(context, note, change) for note in notes[:MOST_CHANGES]]
    return len([done for done in changes if done])


async def _one(context: JobContext, note: str, change: Callable[[Ports, str], Awaitable[str | None]]) -> str | None:
    return await context.try_step(lambda ports: change(ports, note))


async def cap_core(context: JobContext) -> int:
    """Keep core at fifty notes."""
    count = 0
    while shed := await context.try_step(shed_core):
        count += len(shed)
    return count


async def place_notes(context: JobContext) -> int:
    """Give notes of no space the space that most of their neighbours have."""
    wanted: dict[str, str] = {}
    loose: set[str] = set()  # at the top of the folder, where a person put them
    for first in await _spans(context):
        for note, path, spaces in await _spaceless(context, first):
            space = majority(spaces)
            if space not in (None, GLOBAL_SPACE):
                wanted[note] = space
                loose |= {note} if "/" not in path else set()
    if not wanted:
        return 0
    known = loose | await context.step(lambda ports: look_back(ports, lambda view: view.unplaced(wanted)))
    return await _each(
        context, [note for note in wanted if note in known], lambda ports, note: _place(ports, note, wanted[note])
    )


async def _spaceless(context: JobContext, first: int) -> list[tuple[str, str, tuple[str, ...]]]:
    return await context.read(lambda view: view.without_space(first, first + SPAN))


async def _place(ports: Ports, note_id: str, space: str) -> str | None:
    def placed(stored: Stored) -> Stored:
        if "/" not in stored.path and "space" in stored.document.values:
            return stored  # a person wrote it there
        return replace(stored, note=replace(stored.note, space=space))

    return await change_if(ports, note_id, CLUSTER, lambda _: True, placed)


async def retire_logs(context: JobContext) -> int:
    """Let go of recalls that cannot be rated any more, of what was derived and is of no use; never of the journal."""
    pruned = await context.step(lambda ports: ports.recalls.prune())
    upkeep = context.ports.upkeep
    if upkeep is None:
        return pruned
    return pruned + await context.step(lambda _: upkeep.sweep()) + await _drop_unneeded(context, upkeep)


async def _drop_unneeded(context: JobContext, upkeep: Upkeep) -> int:
    """Let go of vectors that servers share of texts that no note has; returns how many.

    Each slice looks at the notes after it looked at the vectors. One of a note that is stored just then may go all the
    same: other servers encode it once more.
    """
    gone, after = 0, ("", "")
    while there := await _encoded(context, upkeep, after):
        gone += await _drop_of(context, upkeep, there)
        after = there[-1]
    return gone


async def _encoded(context: JobContext, upkeep: Upkeep, after: tuple[str, str]) -> list[tuple[str, str]]:
    return await context.step(lambda _: upkeep.encoded(after, VECTORS))


async def _drop_of(context: JobContext, upkeep: Upkeep, there: Sequence[tuple[str, str]]) -> int:
    named = {content: encode_hash(content) for _, content in there}
    kept = await context.read(lambda view: view.having_text(named.values()))
    unneeded = [each for each in there if named[each[1]] not in kept]
    return await context.step(lambda _: upkeep.drop_encoded(unneeded)) if unneeded else 0


async def forget_unused(context: JobContext) -> int:
    """Put archival notes into the trash that nobody has used for long, and purge what lies there for a month."""
    gone: list[str] = []
    async for notes in slices(context, ("archival",)):
        gone += [note.id for note in notes if is_forgettable(note, context.ports)]
    return await _each(context, gone, forget) + await context.step(purge_forgotten)


JOBS = (
    Job("importance", "scores how much each note matters", score, derive=score_as_of),
    Job("promotion", "moves archival notes that were used back to working", promote_used),
    Job("decay", "moves working notes that nobody used for long to archival", demote_faded),
    Job("core_cap", "keeps core at fifty notes", cap_core),
    Job("auto_cluster", "gives notes of no space that of most of their neighbours", place_notes),
    Job(
        "forgetting", "moves what nobody used for a season to the trash", forget_unused, lambda ports: ports.forgetting
    ),
    Job("retention", "drops recalls that cannot be rated any more; never the journal", retire_logs),
)


KEPT_DAYS = 30  # in the trash
_ALL = 1 << 30


def is_forgettable(note: Living, ports: Ports) -> bool:
    """Whether a note may go, as far as its life tells."""
    return note.tier == "archival" and may_be_forgotten(life_of(note, ports.clock()), note.degree, 0.0)


async def forget(ports: Ports, note_id: str) -> str | None:
    """Put a note into the trash if it may be forgotten; returns the change's id.

    Raises:
        ConflictError, StorageError: nothing was written.
    """
    links = await ports.index.links([note_id])
    heaviest = max((link.weight for link in links), default=0.0)
    helped = await ports.index.read(lambda view: any(row.signal > 0 for row in view.feedback(note_id)))
    if helped:
        return None

    def is_due(note: Living) -> bool:
        state = life_of(note, ports.clock())
        return note.tier == "archival" and not note.is_summed and may_be_forgotten(state, note.degree, heaviest)

    return await change_if(ports, note_id, FORGET, is_due, lambda _: None)


async def purge_forgotten(ports: Ports) -> int:
    """Take what was forgotten a month ago out of the trash, and its last text out of the history."""
    if ports.upkeep is None:
        return 0
    due = await _due(ports, instant(ports.clock() - timedelta(days=KEPT_DAYS)))
    if not due:
        return 0
    texts = {record.change or "": [file.before for file in record.files if file.before] for record in due}
    gone = await ports.upkeep.purge_trash(texts)
    line = JournalRecord(FORGOTTEN, ports.now, OWN_CALLER.principal, OWN_CALLER.source, forgotten=tuple(texts))
    await ports.store.record(line)
    return gone


async def _due(ports: Ports, before: str) -> list[JournalRecord]:
    """The changes that forgot notes up to an instant and were neither undone nor purged."""
    wanted = (LinesWanted(_ALL, ops=[FORGET], until=before), LinesWanted(_ALL, ops=[FORGOTTEN]))
    forgot, purged = await look_back(ports, lambda view: [view.lines(each) for each in wanted])
    over = {change for line in await whole(ports, purged) for change in line.record.forgotten}
    left = [row for row in forgot if row.change is not None and row.change not in over and not row.was_undone]
    return [line.record for line in reversed(await whole(ports, left))]
