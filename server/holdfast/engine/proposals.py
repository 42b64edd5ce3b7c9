"""Verdicts that wait for a person: one JSON file each in `proposals/`, until it is approved or rejected.

Its name comes from what is proposed, so that the same verdict given again finds itself waiting.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from holdfast.engine.commit import commit
from holdfast.engine.judging import ConsolidationVerdict, EdgeVerdict, MergeVerdict, Outcome, Verdict, Work
from holdfast.engine.ports import Ports
from holdfast.errors import ProposalNotFoundError
from holdfast.index.projection import digest
from holdfast.index.rows import IndexedNote
from holdfast.model.pages import PROPOSALS, is_page, page_key
from holdfast.store.stored import Page, PageChange

PROPOSAL_PREFIX = "prp_"
_VERDICTS = {"retire": EdgeVerdict, "merge": MergeVerdict, "consolidate": ConsolidationVerdict}
_NAMES = {verdict: kind for kind, verdict in _VERDICTS.items()}


@dataclass(frozen=True, slots=True)
class Proposal:
    """A verdict that waits: `kind` is retire, merge or consolidate, `hashes` name the texts that were judged."""

    id: str
    kind: str
    created: str
    by: str
    source: str
    hashes: Mapping[str, str]
    verdict: Verdict


async def propose(work: Work, verdict: Verdict, notes: Sequence[IndexedNote], judged: Sequence[list[str]]) -> Outcome:
    """Have a verdict wait instead of applying it; `judged` says that the agent has done its part."""
    kind = _NAMES[type(verdict)]
    hashes = {item.note.id: item.encode_hash for item in notes}
    told = asdict(verdict)
    proposal_id = f"{PROPOSAL_PREFIX}{digest(kind, json.dumps([told, hashes], sort_keys=True))[:16]}"
    reason = f"It waits for a person as proposal {proposal_id}."
    if work.dry_run:
        return work.outcome("applied", "It would wait for a person as a proposal.")
    path = _path(proposal_id)
    ports, caller = work.ports, work.caller
    async with ports.store.hold({page_key(path)}):
        if await ports.store.pages([path]):
            return work.outcome("skipped", reason, proposal_id=proposal_id, judged=tuple(judged))
        record = {
            "id": proposal_id, "kind": kind, "created": ports.now, "by": caller.principal, "source": caller.source,
            "hashes": hashes, "verdict": told,
        }  # fmt: skip
        data = json.dumps(record, ensure_ascii=False, indent=2).encode() + b"\n"
        said = work.detail([], proposal=proposal_id, notes=sorted(hashes))
        await commit(ports, caller, "propose", [PageChange(path, None, data)], detail=said)
    return work.outcome("skipped", reason, proposal_id=proposal_id, judged=tuple(judged))


async def list_proposals(ports: Ports) -> list[Proposal]:
    """Everything that waits, the oldest first; a file that is none of ours is left out."""
    pages = await ports.store.pages(await ports.store.list_pages(PROPOSALS))
    found = [proposal for page in pages.values() if (proposal := _read(page))]
    return sorted(found, key=lambda proposal: (proposal.created, proposal.id))


async def find_proposal(ports: Ports, proposal_id: str) -> Proposal:
    """One that waits.

    Raises:
        ProposalNotFoundError: there is none of this id; it may have been resolved.
    """
    path = _path(proposal_id)
    pages = await ports.store.pages([path]) if is_page(path) else {}
    proposal = _read(pages[path]) if path in pages else None
    if proposal is None:
        raise ProposalNotFoundError(
            "No proposal with this id waits.", "admin_list_proposals shows those that do; it may be resolved already."
        )
    return proposal


async def drop_proposal(ports: Ports, proposal: Proposal) -> None:
    """Have it wait no longer."""
    path = _path(proposal.id)
    async with ports.store.hold({page_key(path)}):
        await ports.store.drop_page(path)


def _path(proposal_id: str) -> str:
    return f"{PROPOSALS}/{proposal_id}.json"


def _read(page: Page) -> Proposal | None:
    try:
        record: dict[str, Any] = json.loads(page.data)
        kind, told = record["kind"], dict(record["verdict"])
        if "node_ids" in told:
            told["node_ids"] = tuple(told["node_ids"])
        verdict: Verdict = _VERDICTS[kind](**told)
        return Proposal(
            record["id"], kind, record["created"], record["by"], record["source"], dict(record["hashes"]), verdict
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
