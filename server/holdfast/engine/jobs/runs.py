"""Runs of jobs, as the journal tells them: a restart, or a new index, knows when each was.

{"op": "job", "at": instant, "by": "holdfast", "source": "holdfast",
 "job": {"name": name, "outcome": "done" or an error's name, "changed": count, "ms": milliseconds}}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from holdfast.engine.jobs.changes import HOUSE
from holdfast.engine.ports import Ports
from holdfast.index.maintenance import JobRun
from holdfast.model.times import read_instant

DONE = "done"
_OP = "job"


async def record_run(ports: Ports, run: JobRun) -> JobRun:
    """Tell the journal of a run; returns it with its number there.

    Raises:
        StorageError: the journal cannot be written.
    """
    told = {"name": run.name, "outcome": run.outcome, "changed": run.changed, "ms": run.milliseconds}
    line = {"op": _OP, "at": run.at, "by": HOUSE.principal, "source": HOUSE.source, _OP: told}
    return replace(run, seq=await ports.store.record(line))


def run_row(record: Mapping[str, Any]) -> JobRun | None:
    """The run that a line of the journal tells, or None where it tells none or is none of ours."""
    given = record.get(_OP)
    if record.get("op") != _OP or not isinstance(given, Mapping):
        return None
    name, outcome, changed, spent = (given.get(key) for key in ("name", "outcome", "changed", "ms"))
    if not (isinstance(name, str) and isinstance(outcome, str) and type(changed) is int and type(spent) is int):
        return None
    try:
        return JobRun(name, record["seq"], read_instant(record.get("at")), outcome, changed, spent)
    except ValueError:
        return None
