"""What an administrator may look at: how much there is, how it does, and what is done by itself."""

from __future__ import annotations

import platform
import sqlite3
from dataclasses import asdict
from typing import Any

from holdfast import __version__
from holdfast.engine.due import MAINTENANCE, waiting_notes
from holdfast.engine.housekeeping import job_states
from holdfast.engine.jobs import JOBS
from holdfast.engine.ports import Ports, View
from holdfast.engine.replay import harmed_lines
from holdfast.engine.vault import DAY
from holdfast.engine.vectorsets import identity, progress
from holdfast.model.times import instant, moment

Shown = dict[str, Any]

DAMAGED_REMEDY = (
    "Notes are not touched by it; what these lines told of history, undo and feedback is lost. Stop every Holdfast, "
    "then bring the file back from a backup, or delete these lines."
)


async def stats(ports: Ports) -> Shown:
    """Counts by type, tier and space, links, vectors, bytes, and when maintenance was last seen to."""

    def read(view: View) -> Shown:
        _, runs = view.job_runs(MAINTENANCE)
        last = {"last": runs[0].at if runs else None, "notes_since": waiting_notes(view)}
        return {**asdict(view.statistics()), "maintenance": last}

    told = await ports.index.read(read)
    return {**told, "bytes": await ports.upkeep.sizes() if ports.upkeep else {}}


async def health(ports: Ports) -> Shown:
    """Whether everything works, and by which way. `ok` is False where something waits for a person."""
    own = identity(ports.encoder)
    quarantined = len(await ports.index.problems())
    damaged, places = await harmed_lines(ports)
    pending = await ports.index.count_pending(own.key) if own else 0
    named = {"provider": own.provider, "model": own.model, "dimension": own.dimension} if own else {}
    state = "none" if ports.encoder is None else "known" if own else "not reached yet"
    return {
        "ok": quarantined == 0 and damaged == 0,
        "version": __version__,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "sqlite_vec": ports.index.vector_search,
        "pending_vectors": pending,
        "encoder": {"state": state, **named},
        "watcher": "kernel" if ports.store.watches else "scan",
        "quarantined": quarantined,
        "damaged_journal_lines": damaged,
        "damaged_journal_places": [f"journal/{place}" for place in places],
        **({"damaged_journal_remedy": DAMAGED_REMEDY} if damaged else {}),
        "disk_free_bytes": await ports.upkeep.free_bytes() if ports.upkeep else None,
    }


async def jobs(ports: Ports) -> Shown:
    """Each job with its last run, and how far each vector set is."""
    states = [asdict(state) for state in await job_states(ports, JOBS)]
    sets = [asdict(item) for item in await progress(ports)]
    return {"jobs": [*states, await _vault(ports)], "vector_sets": sets}


async def quarantine(ports: Ports) -> list[Shown]:
    """Files that are no notes and stay where they are, with the reason."""
    return [{"path": f"memories/{path}", "reason": reason} for path, reason in await ports.index.problems()]


async def _vault(ports: Ports) -> Shown:
    """The daily backup in the form of a job."""
    backups = await ports.vault.backups() if ports.vault else []
    last = backups[0].created_at if backups else None
    is_on = ports.vault is not None and ports.daily_backups
    return {
        "name": "vault",
        "does": "makes a backup of the whole memory",
        "last_run": last,
        "last_success": last,
        "last_error": None,
        "run_count": len(backups),
        "duration_ms": None,
        "changed": None,
        "next_due": (instant(moment(last) + DAY) if last else ports.now) if is_on else None,
    }
