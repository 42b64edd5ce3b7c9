"""Jobs that need no judgement: once a day each, in one process at a time, in short slices that give way to requests.

Each run is one line of the journal: a restart, or a new index, knows when each was.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

import anyio
import structlog

from holdfast.engine.jobs.changes import HOUSE
from holdfast.engine.ports import Ports, View
from holdfast.engine.runtime import PASSING, Memory
from holdfast.errors import ConflictError
from holdfast.index.maintenance import JobRun
from holdfast.index.projection import Update
from holdfast.model.records import JOB, JournalRecord, Ran
from holdfast.model.times import instant, moment

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

    async def read(self, work: Callable[[View], Answer]) -> Answer:
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


class Housekeeper:
    """Sees to the jobs of one memory, for as long as it runs.

    Args:
        memory: the memory.
        jobs: in the order in which they are done.
    """

    def __init__(self, memory: Memory, jobs: tuple[Job, ...]) -> None:
        self._house = JobContext(memory)
        self._jobs = jobs
        self._derived: dict[str, str] = {}  # when the run of a job was whose outcome this index has

    async def run(self) -> None:
        """Look now and then whether something is due, and do it."""
        upkeep, jobs = self._house.ports.upkeep, self._house.ports.jobs
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
        upkeep = self._house.ports.upkeep
        if upkeep is None or not self._house.ports.store.is_there or not await self._due():
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
        if await self._house.step(lambda ports: ports.index.tell_once("jobs derived")):  # an index that was made anew
            self._derived.clear()
        for job in self._jobs:
            if job.derive is None:
                continue
            _, runs = await self._house.read(partial(_runs, job.name))
            at = next((run.at for run in runs if run.outcome == DONE), "")
            if at and self._derived.get(job.name) != at:
                await job.derive(self._house, moment(at))
                self._derived[job.name] = at

    async def _due(self) -> list[Job]:
        now = self._house.ports.clock()
        if not await self._house.memory.peek(lambda ports: ports.index.count_files()):
            return []
        states = await self._house.memory.peek(lambda ports: job_states(ports, self._jobs))
        return [
            job
            for job, state in zip(self._jobs, states, strict=True)
            if state.next_due is not None and _is_past(state, now)
        ]

    async def _do(self, job: Job) -> None:
        ports, at, began = self._house.ports, self._house.ports.now, time.monotonic()
        changed, outcome = 0, DONE
        try:
            changed = await job.run(self._house)
            self._derived[job.name] = at
        except PASSING as error:
            outcome = type(error).__name__
            log.warning("job_failed", job=job.name, error=outcome, reason=str(error))
        spent = round((time.monotonic() - began) * 1000)
        line = await record_run(ports, JobRun(job.name, 0, at, outcome, changed, spent))
        await self._house.memory.peek(lambda ports: ports.index.apply(Update(records=[line])))


async def job_states(ports: Ports, jobs: tuple[Job, ...]) -> list[JobState]:
    """How it stands with each of these jobs, in their order."""
    found = await ports.index.read(lambda view: [view.job_runs(job.name) for job in jobs])
    is_on = ports.jobs and ports.upkeep is not None
    return [
        _state(job, count, runs, ports.now, is_on=is_on and job.is_on(ports))
        for job, (count, runs) in zip(jobs, found, strict=True)
    ]


def _runs(name: str, view: View) -> tuple[int, list[JobRun]]:
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
    told = Ran(run.name, run.outcome, run.changed, run.milliseconds)
    line = JournalRecord(JOB, run.at, HOUSE.principal, HOUSE.source, job=told)
    return replace(line, seq=await ports.store.record(line))
