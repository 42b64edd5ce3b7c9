"""What is done each day without anybody's judgement; among it forgetting, which is off unless it is switched on.

A note is forgotten (put into the trash, and after a month erased) only if every sign says so: archival and untouched
for 90 days, faded to a twentieth, of little importance, with few and light links, never said to have helped, and not
what another note was made from.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from holdfast.engine.history import look_back, whole
from holdfast.engine.jobs.changes import (
    CLUSTER,
    DEMOTE,
    FORGET,
    HOUSE,
    PROMOTE,
    change_if,
    in_tier,
    life_of,
    shed_core,
    was_used_since,
)
from holdfast.engine.jobs.scheduler import Job, JobContext
from holdfast.engine.ports import Ports
from holdfast.index.journal import LinesWanted
from holdfast.index.maintenance import Living
from holdfast.index.projection import Update
from holdfast.model.lifecycle import has_faded, majority, may_be_forgotten
from holdfast.model.note import GLOBAL_SPACE, TIERS
from holdfast.model.records import FORGOTTEN, JournalRecord
from holdfast.model.times import instant
from holdfast.store.stored import Stored

SPAN = 100  # rows of one slice
MOST_CHANGES = 500  # notes that one run rewrites; the others wait for the next day
_NOTEWORTHY = 0.01  # of importance: less is not written down


async def slices(context: JobContext, tiers: Sequence[str] = TIERS) -> AsyncIterator[list[Living]]:
    """All notes of some tiers whose life is their own, slice by slice."""
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
    """Let go of recalls that cannot be rated any more and of indexes that were put aside; never of the journal."""
    pruned = await context.step(lambda ports: ports.recalls.prune())
    upkeep = context.ports.upkeep
    return pruned + (await context.step(lambda _: upkeep.sweep()) if upkeep else 0)


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
    told = tuple(texts)
    await ports.store.record(JournalRecord(FORGOTTEN, ports.now, HOUSE.principal, HOUSE.source, forgotten=told))
    return gone


async def _due(ports: Ports, before: str) -> list[JournalRecord]:
    """The changes that forgot notes up to an instant and were neither undone nor purged."""
    wanted = (LinesWanted(_ALL, ops=[FORGET], until=before), LinesWanted(_ALL, ops=[FORGOTTEN]))
    forgot, purged = await look_back(ports, lambda view: [view.lines(each) for each in wanted])
    over = {change for line in await whole(ports, purged) for change in line.record.forgotten}
    left = [row for row in forgot if row.change is not None and row.change not in over and not row.was_undone]
    return [line.record for line in reversed(await whole(ports, left))]
