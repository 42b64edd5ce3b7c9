"""Runs of jobs, as the journal tells them: a restart, or a new index, knows when each was."""

from __future__ import annotations

from dataclasses import replace

from holdfast.engine.jobs.changes import HOUSE
from holdfast.engine.ports import Ports
from holdfast.index.maintenance import JobRun
from holdfast.model.records import JOB, JournalRecord, Ran

DONE = "done"


async def record_run(ports: Ports, run: JobRun) -> JournalRecord:
    """Tell the journal of a run; returns its line, which the index is to know.

    Raises:
        StorageError: the journal cannot be written.
    """
    told = Ran(run.name, run.outcome, run.changed, run.milliseconds)
    line = JournalRecord(JOB, run.at, HOUSE.principal, HOUSE.source, job=told)
    return replace(line, seq=await ports.store.record(line))
