"""What an administrator may look at (counts, health, jobs), and making index or vectors anew.

admin_rebuild_index throws the index away; the next request builds it from the notes. admin_reencode makes all vectors
of the settings' encoder anew, and of the one beside it; the old ones answer until then.
"""

from __future__ import annotations

import platform
import sqlite3
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import anyio

from holdfast import __version__
from holdfast.engine.admin.gate import DAY, AdminCall, Journalled, journalled
from holdfast.engine.agent.recall import waiting_notes
from holdfast.engine.encoding import count_waiting, identified, identity, progress
from holdfast.engine.jobs.daily import JOBS, job_states
from holdfast.engine.ports import Attending, Caller, Ports
from holdfast.engine.presence.distilling import TIDY
from holdfast.engine.runtime import Memory
from holdfast.engine.sync.replay import harmed_lines
from holdfast.errors import EncoderError
from holdfast.index.projection import Update
from holdfast.index.rows import SetRow
from holdfast.index.view import IndexView
from holdfast.model.note import instant, moment
from holdfast.model.records import MAINTENANCE


async def discard_index(ports: Ports) -> None:
    """Take the index away, unless somebody is building it just now, which is waited for.

    Raises:
        StorageError: it cannot be removed.
    """
    async with ports.store.alone():
        await ports.index.erase()


async def count_notes(ports: Ports) -> int:
    """How many notes the index knows."""
    return await ports.index.read(lambda view: view.count_notes())


LOOK_SECONDS = 0.2
LONGEST_SECONDS = 50.0  # many clients give a call up after a minute; the work goes on without it


@dataclass(frozen=True, slots=True)
class Reencoding:
    """How far it is: `done` of `notes` have their new vectors in the set `key`.

    `beside` is the same of the set that stands beside that of the settings, None where there is none.
    """

    key: str
    model: str
    done: int
    notes: int
    beside: Reencoding | None = None

    @property
    def is_whole(self) -> bool:
        return self.done >= self.notes and (self.beside is None or self.beside.is_whole)

    @property
    def made(self) -> tuple[int, int]:
        """How many vectors of notes are there in all sets that are made anew, and how many there will be."""
        more = self.beside.made if self.beside else (0, 0)
        return self.done + more[0], self.notes + more[1]


async def reencode(memory: Attending, caller: Caller) -> Journalled[Reencoding]:
    """Queue every note for the encoder that the settings name, and for the one beside it.

    What was queued before counts as not done.

    Raises:
        EncoderError: no encoder is set, or its provider cannot be asked which model it has.
    """

    async def begin(ports: Ports) -> Reencoding:
        encoder = ports.encoder
        if encoder is None:
            raise EncoderError("No encoder is set.", "Set HOLDFAST_ENCODER; auto needs nothing else.")
        own = await identified(encoder)
        await encoder.forget()
        sets = [own]
        if ports.beside is not None and (second := identity(ports.beside)) is not None:
            await ports.beside.forget()
            sets.append(second)
        opened = [SetRow(each.key, each.described) for each in sets]
        await ports.index.apply(Update(opened=opened, requeued=[each.key for each in sets]))
        return await _state(ports, [each.key for each in sets])

    return await journalled(memory, AdminCall(caller, "admin_reencode"), begin, lambda begun: {"notes": begun.notes})


async def follow(memory: Memory, begun: Reencoding) -> AsyncIterator[Reencoding]:
    """How far it is, each time that this has changed, until it is whole or a client would give up waiting."""
    keys = [begun.key, *([begun.beside.key] if begun.beside else [])]
    last, deadline = begun, time.monotonic() + LONGEST_SECONDS
    while not last.is_whole and time.monotonic() < deadline:
        await anyio.sleep(LOOK_SECONDS)
        state = await memory.peek(lambda ports: _state(ports, keys))
        if state != last:
            last = state
            yield state


async def _state(ports: Ports, keys: Sequence[str]) -> Reencoding:
    """How far the first of these sets is, with the second, where there is one, beside it."""
    found = {each.key: each for each in await progress(ports)}

    def of(key: str) -> Reencoding:
        known = found.get(key)  # none where the index is being made anew
        return Reencoding(key, known.model, known.done, known.notes) if known else Reencoding(key, "", 0, 0)

    return replace(of(keys[0]), beside=of(keys[1]) if len(keys) > 1 else None)


Shown = dict[str, Any]

DAMAGED_REMEDY = (
    "Notes are not touched by it; what these lines told of history, undo and feedback is lost. Stop every Holdfast, "
    "then bring the file back from a backup, or delete these lines."
)


async def stats(ports: Ports) -> Shown:
    """Counts by type, tier and space, links, vectors, bytes, and when maintenance was last seen to."""

    def read(view: IndexView) -> Shown:
        _, runs = view.job_runs(MAINTENANCE)
        last = {"last": runs[0].at if runs else None, "notes_since": waiting_notes(view)}
        return {**asdict(view.statistics()), "maintenance": last}

    counts = await ports.index.read(read)
    return {**counts, "bytes": await ports.upkeep.sizes() if ports.upkeep else {}}


async def health(ports: Ports) -> Shown:
    """Whether everything works, and by which way. `ok` is False where something waits for a person."""
    pending = await count_waiting(ports)
    own = identity(ports.encoder)
    quarantined = len(await ports.index.problems())
    held = await ports.index.read(lambda view: view.held())
    damaged, places = await harmed_lines(ports)
    named = {"provider": own.provider, "model": own.model, "dimension": own.dimension} if own else {}
    state = "none" if ports.encoder is None else "known" if own else "not reached yet"
    obstacle = ports.store.reading_only
    return {
        "ok": not obstacle and quarantined == 0 and damaged == 0 and (held is None or held[0] == held[1]),
        "version": __version__,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "sqlite_vec": ports.index.vector_search,
        "pending_vectors": pending,
        "vectors_in_memory": vectors_in_memory(held),
        "encoder": {"state": state, **named},
        **_beside(ports),
        "reading_only": obstacle or None,
        "watcher": "kernel" if ports.store.watches else "scan",
        "quarantined": quarantined,
        "damaged_journal_lines": damaged,
        "damaged_journal_places": [f"journal/{place}" for place in places],
        **({"damaged_journal_remedy": DAMAGED_REMEDY} if damaged else {}),
        "disk_free_bytes": await ports.upkeep.free_bytes() if ports.upkeep else None,
    }


async def read_vectors(ports: Ports) -> tuple[int, int] | None:
    """Read the vectors of the sets that answer: how many came, and how many there are; None where no set is ready."""
    await ports.index.read(lambda view: view.change_number())  # the sets are known after any reading
    ready = [row.key for row in ports.index.vector_sets if row.ready]
    second = identity(ports.beside)
    beside = [second.key] if second is not None and second.key in ready else []
    keys = [*[key for key in ready if key not in beside][:1], *beside]
    return await ports.index.read(lambda view: view.held(*keys)) if keys else None


def _beside(ports: Ports) -> Shown:
    """The encoder beside that of the settings; nothing where there is none."""
    if ports.beside is None:
        return {}
    second = identity(ports.beside)
    row = next((row for row in ports.index.vector_sets if second and row.key == second.key), None)
    if second is None:
        return {"beside": {"state": "does not answer"}}
    state = "answers" if row is not None and row.ready else "vectors are being made"
    return {"beside": {"state": state, "provider": second.provider, "model": second.model, "set": second.key}}


def vectors_in_memory(held: tuple[int, int] | None) -> Shown:
    """How many vectors this process compares, beside those of the same set in the database.

    What other processes have in memory cannot be known.
    """
    if held is None:
        said = "This process has compared no vectors yet, so there are none to count."
        return {"in_memory": None, "in_database": None, "said": said}
    here, there = held
    said = f"This process compares {here:,} of the {there:,} vectors in the database."
    if here != there:
        said += " Some notes are not found by meaning, or are by a text that they had before: restart this server."
    return {"in_memory": here, "in_database": there, "said": said}


async def jobs(ports: Ports) -> Shown:
    """Each job with its last run, and how far each vector set is."""
    states = [asdict(state) for state in await job_states(ports, (*JOBS, TIDY))]
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
