"""Verdicts on pairs: an edge with a real weight, the retirement of what was replaced, or `none`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from holdfast.engine.arguments import Door
from holdfast.engine.candidates import likeness, stored_set
from holdfast.engine.commit import check_known, commit
from holdfast.engine.judging import EdgeVerdict, Outcome, RefusedError, Work, needs_person, under_lock
from holdfast.engine.ports import View
from holdfast.engine.proposals import propose
from holdfast.engine.remember import AUTO_REASONS
from holdfast.engine.remembered import judgement
from holdfast.index.maintenance import JudgedRow
from holdfast.index.rows import IndexedNote, LinkRow
from holdfast.model.ids import SELF_ID
from holdfast.model.maintenance import SYMMETRIC, weight_of
from holdfast.model.memory import Link, Note
from holdfast.store.stored import Change

RETIRED = "outdate_by_verdict"


async def apply_edge(work: Work, verdict: EdgeVerdict) -> Outcome:
    """Apply a verdict on a pair.

    Raises:
        RefusedError: it cannot be applied.
        HoldfastError: nothing was written.
    """
    reason = Door(work.ports).line("reason", verdict.reason) or ""
    one = await work.resolve(verdict.node_a_id, "node_a_id")
    other = await work.resolve(verdict.node_b_id, "node_b_id")
    if one.note.id == other.note.id:
        if verdict.node_a_id.strip().lower() == verdict.node_b_id.strip().lower():
            raise RefusedError("rejected", "node_a_id and node_b_id are the same note.")
        return work.outcome("skipped", f"Both ids mean {one.note.id} now.")
    entry = judgement((one.note.id, one.encode_hash), (other.note.id, other.encode_hash), verdict.edge_type)
    told = await _told_before(work, verdict, one, other, entry)
    if told is not None:
        return told
    if verdict.edge_type == "none":
        return work.outcome("applied", "Remembered: the pair comes back when a text changes.", judged=(entry,))
    if verdict.edge_type == "evolved_from":
        return await _evolve(work, verdict, one, other, reason, entry)
    if one.note.id == SELF_ID:
        raise RefusedError("rejected", "The Self note's file is the person's; name it as node_b_id.")
    return await _link(work, one, other, verdict.edge_type, reason, entry)


async def _told_before(
    work: Work, verdict: EdgeVerdict, one: IndexedNote, other: IndexedNote, entry: list[str]
) -> Outcome | None:
    """How an item ends that there is nothing to do for; None where it is to be applied.

    Raises:
        RefusedError: it cannot be applied.
    """
    kind = verdict.edge_type
    links, rows = await _standing(work, verdict, one, other)
    given = [row for row in rows if row.verdict == kind]
    if kind != "none" and _is_there(links, kind, one.note.id, other.note.id):
        return work.outcome("skipped", f"They are linked by {kind} already.", given[0].change if given else None)
    if kind == "none" and any(_texts(row) == tuple(entry[2:4]) for row in given):
        return work.outcome("skipped", "This was judged before.")
    try:
        work.check([one, other])
    except RefusedError:  # what has changed since may be what followed from this very verdict
        shown = [(texts.get(row.a), texts.get(row.b)) for row in given for texts in work.shown or ()]
        before = next((row for row in given if _texts(row) in shown), None)
        if before is None:
            raise
        return work.outcome("skipped", "This was judged before.", before.change)
    return None


async def _standing(
    work: Work, verdict: EdgeVerdict, one: IndexedNote, other: IndexedNote
) -> tuple[list[LinkRow], list[JudgedRow]]:
    """The edges between two notes, and what was said of how they belong together, on whatever texts.

    First what was said of the very ids that are given: one of them may have been merged since.
    """
    ids = {one.note.id, other.note.id}
    given = [each.strip().lower() for each in (verdict.node_a_id, verdict.node_b_id)]

    def read(view: View) -> tuple[list[LinkRow], list[JudgedRow]]:
        links = [link for link in view.links([one.note.id]) if {link.source, link.target} == ids]
        return links, [*_of_edges(view, *given), *_of_edges(view, one.note.id, other.note.id)]

    return await work.ports.index.read(read)


def _of_edges(view: View, one: str, other: str) -> list[JudgedRow]:
    return [row for row in view.judged(one, [other]).get(other, []) if row.scope == "edge"]


def _texts(row: JudgedRow) -> tuple[str, str]:
    return row.hash_a, row.hash_b


def _is_there(links: Sequence[LinkRow], edge_type: str, source: str, target: str) -> bool:
    """Whether somebody has drawn this edge; one that has no direction counts either way, and so does a successor."""
    return any(
        link.type == edge_type
        and link.reason not in AUTO_REASONS
        and (edge_type in SYMMETRIC or edge_type == "evolved_from" or (link.source, link.target) == (source, target))
        for link in links
    )


async def _link(
    work: Work, one: IndexedNote, other: IndexedNote, edge_type: str, reason: str, entry: list[str]
) -> Outcome:
    if work.dry_run:
        return work.outcome("applied", f"It would link them by {edge_type}.")
    ports = work.ports
    link = await _new_link(work, one, other, edge_type, reason)
    async with ports.store.hold({one.note.id, other.note.id}) as made:
        await check_known(ports, made)
        before = await under_lock(ports, one)
        await under_lock(ports, other)
        after = _with_link(before.note, link)
        done = await commit(
            ports, work.caller, "link", [Change(before, after)], detail=work.detail([entry], edge=edge_type)
        )
    return work.outcome("applied", f"Linked by {edge_type}, weight {link.weight}.", done.change_id)


async def _evolve(
    work: Work, verdict: EdgeVerdict, one: IndexedNote, other: IndexedNote, reason: str, entry: list[str]
) -> Outcome:
    """Retire the older note of the two, with an edge from the newer; what happened later is the newer."""
    newer, older = (other, one) if one.note.happened < other.note.happened else (one, other)
    if SELF_ID in (newer.note.id, older.note.id):
        raise RefusedError("rejected", "ProtectedNoteError: the Self note is neither retired nor the successor of one.")
    if not work.approved and needs_person(work.ports, [older]):
        return await propose(work, replace(verdict, reason=reason or None), [one, other], [entry])
    told = "" if newer is one else " What happened later was taken for the newer one."
    if work.dry_run:
        return work.outcome("applied", f"It would retire {older.note.id} for {newer.note.id}.{told}")
    ports = work.ports
    link = await _new_link(work, newer, older, "evolved_from", reason)
    async with ports.store.hold({newer.note.id, older.note.id}) as made:
        await check_known(ports, made)
        heir, old = await under_lock(ports, newer), await under_lock(ports, older)
        changes = [Change(heir, _with_link(heir.note, link)), Change(old, _retired(old.note, heir.note, ports.now))]
        said = work.detail([entry], edge="evolved_from", retired=old.note.id)
        done = await commit(ports, work.caller, RETIRED, changes, detail=said)
    return work.outcome("applied", f"{old.note.id} is superseded by {heir.note.id}.{told}", done.change_id)


def _retired(old: Note, heir: Note, now: str) -> Note:
    """The older note, true until the newer one's time."""
    return replace(
        old,
        superseded_by=heir.id,
        valid_until=old.valid_until or max(heir.happened, old.happened),
        updated=max(now, old.created),
    )


async def _new_link(work: Work, source: IndexedNote, target: IndexedNote, edge_type: str, reason: str) -> Link:
    vectors = stored_set(work.ports)
    ends = source.note.id, target.note.id
    alike = await work.ports.index.read(lambda view: likeness(view, vectors, *ends))
    return Link(target.note.id, edge_type, weight_of(alike), reason, work.ports.now)


def _with_link(note: Note, link: Link) -> Note:
    """The note with an edge more; one of the same type to the same note, drawn by itself, gives way."""
    kept = tuple(item for item in note.connections if (item.to, item.type) != (link.to, link.type))
    return replace(note, connections=(*kept, link))
