"""What a person does about maintenance: approve or reject what waits, and look at what was merged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from holdfast.engine.admin.gate import AdminCall, Journalled, journalled
from holdfast.engine.admin.undo import MERGE
from holdfast.engine.history import PastLine, look_back, whole
from holdfast.engine.maintenance.batches import apply_verdict
from holdfast.engine.maintenance.verdicts import (
    Outcome,
    Proposal,
    VerdictRefusedError,
    Work,
    drop_proposal,
    find_proposal,
)
from holdfast.engine.ports import Attending, Caller, Ports
from holdfast.errors import InvalidArgumentError, StorageError
from holdfast.index.journal import LinesWanted
from holdfast.index.rows import IndexedNote

Action = Literal["approve", "reject", "approved", "rejected"]  # the second two are Ormah's


@dataclass(frozen=True, slots=True)
class Merged:
    """A merge that was made. `undone` says that it was taken back, and that this still holds."""

    merge_id: str
    at: str
    by: str
    kept: str
    kept_title: str
    discarded: str
    undone: bool


async def resolve_proposal(memory: Attending, caller: Caller, proposal_id: str, action: str) -> Journalled[Outcome]:
    """Apply a verdict that waits, or drop it; it waits on only where it cannot be applied to the notes as they are.

    Raises:
        ProposalNotFoundError: none with this id waits.
        InvalidArgumentError: the action is none.
        ConflictError, StorageError: nothing was written.
    """
    if action not in get_args(Action):
        raise InvalidArgumentError("action is unknown.", "Use approve or reject.")
    is_rejected = action.startswith("reject")
    known = await memory.attend(lambda ports: find_proposal(ports, proposal_id))

    async def resolve(ports: Ports) -> Outcome:
        proposal = await find_proposal(ports, proposal_id)
        if is_rejected:
            outcome = Outcome(proposal.id, "skipped", "Rejected; nothing was changed.", proposal_id=proposal.id)
        else:
            outcome = await _approve(ports, caller, proposal)
        if outcome.change_id is not None:
            return await _dropped(ports, proposal, outcome)
        if outcome.status in ("applied", "skipped"):
            await drop_proposal(ports, proposal)
        return outcome

    about = {"proposal": known.id, "action": action, "notes": sorted(known.hashes)}
    return await journalled(memory, AdminCall(caller, "admin_resolve_proposal", about), resolve, _as_record)


async def _dropped(ports: Ports, proposal: Proposal, outcome: Outcome) -> Outcome:
    """Take an applied proposal off the list; where that fails it is applied all the same."""
    try:
        await drop_proposal(ports, proposal)
    except StorageError as error:
        return replace(outcome, reason=f"{outcome.reason} It still waits; reject it later: {error.sentence}")
    return outcome


async def _approve(ports: Ports, caller: Caller, proposal: Proposal) -> Outcome:
    """The verdict, on the very texts that it was given on."""
    work = Work(ports, caller, proposal.id, None, (dict(proposal.hashes),), approved=True)
    try:
        outcome = await apply_verdict(work, proposal.verdict)
    except VerdictRefusedError as refusal:
        outcome = work.outcome(refusal.status, f"{refusal.reason} The proposal still waits; reject it if it is void.")
    return replace(outcome, proposal_id=proposal.id)


def _as_record(outcome: Outcome) -> Mapping[str, object]:
    return {"status": outcome.status, "applied": outcome.change_id}


async def list_merges(ports: Ports, limit: int) -> list[Merged]:
    """The latest merges, the last one first.

    Raises:
        InvalidArgumentError: the limit is out of range.
    """
    if not 1 <= limit <= 500:  # noqa: PLR2004 - said in the next line
        raise InvalidArgumentError("limit is outside 1 to 500.")
    rows = await look_back(ports, lambda view: view.lines(LinesWanted(limit, ops=[MERGE])))
    merges = await whole(ports, (row for row in rows if row.change is not None))
    notes = await ports.index.notes({line.record.kept for line in merges if line.record.kept})
    return [_merged(line, notes) for line in merges if line.record.kept and line.record.discarded]


def _merged(line: PastLine, notes: Mapping[str, IndexedNote]) -> Merged:
    kept = line.record.kept or ""
    return Merged(
        merge_id=line.row.change or "",
        at=line.row.at,
        by=line.row.by,
        kept=kept,
        kept_title=notes[kept].note.title if kept in notes else "",
        discarded=line.record.discarded or "",
        undone=line.row.undone_by is not None,
    )
