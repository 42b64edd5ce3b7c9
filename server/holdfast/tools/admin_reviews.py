"""Admin: what waits for a person, and what was merged."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated, Any

from fastmcp import Context, FastMCP
from fastmcp.tools import ToolResult
from mcp_types import ToolAnnotations
from pydantic import Field
from typing_extensions import TypedDict

from holdfast.engine.gated import AdminCall, journalled
from holdfast.engine.ports import Ports
from holdfast.engine.proposals import Proposal, list_proposals
from holdfast.engine.reviews import Action, Merged, list_merges, resolve_proposal
from holdfast.tools.agent import READS, Desk
from holdfast.tools.errors import LONGEST_FAILURE, answered, readable
from holdfast.tools.fence import fenced, new_mark, on_one_line
from holdfast.tools.maintenance import ItemOutcome, outcome_of
from holdfast.tools.results import Noted, beside, schema_of

LIST_PROPOSALS = """List merges, consolidations and retirements that maintenance proposed and that wait for a person, \
oldest first."""

RESOLVE_PROPOSAL = """Approve a proposal, which applies it, or reject it. Only with the user's consent. It waits on \
where its notes have changed since."""

LIST_MERGES = """List the latest merges with their merge_id, for admin_undo_merge."""

ACTS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)


class ProposedNote(TypedDict):
    id: str
    title: str
    space: str


class ProposalItem(TypedDict):
    id: str
    kind: str
    created: str
    by: str
    source: str
    notes: list[ProposedNote]
    verdict: dict[str, Any]


class ProposalsResult(Noted):
    proposals: list[ProposalItem]


class ResolvedResult(ItemOutcome, Noted):
    """How the proposal ended."""


class MergeRow(TypedDict):
    merge_id: str
    at: str
    by: str
    kept: str
    kept_title: str
    discarded: str
    undone: bool


class MergesResult(Noted):
    merges: list[MergeRow]


def add_reviews(server: FastMCP[Any], desk: Desk) -> None:
    """Put the tools and resources on the admin server."""
    _add_proposals(server, desk)
    _add_merges(server, desk)


def _add_proposals(server: FastMCP[Any], desk: Desk) -> None:
    @server.tool(
        name="admin_list_proposals",
        description=LIST_PROPOSALS,
        annotations=READS,
        output_schema=schema_of(ProposalsResult),
    )
    async def _admin_list_proposals(context: Context) -> ToolResult:
        who = desk.caller(context)
        done = await answered(journalled(desk.memory, AdminCall(who, "admin_list_proposals"), _proposals))
        items, mark = done.answer, new_mark()
        lines = [f"{len(items)} waiting.", *(line for item in items for line in _lines(item, mark))]
        return beside(ToolResult(content="\n".join(lines), structured_content={"proposals": items}), done.notices)

    @server.tool(
        name="admin_resolve_proposal",
        description=RESOLVE_PROPOSAL,
        annotations=ACTS,
        output_schema=schema_of(ResolvedResult),
    )
    async def _admin_resolve_proposal(
        context: Context,
        proposal_id: Annotated[str, Field(description="From admin_list_proposals.")],
        action: Action,
    ) -> ToolResult:
        who = desk.caller(context)
        done = await answered(resolve_proposal(desk.memory, who, proposal_id, action))
        outcome = done.answer
        told = f"{outcome.item} {outcome.status}: {on_one_line(outcome.reason, LONGEST_FAILURE)}"
        undo = f" Undo handle: {outcome.change_id}" if outcome.change_id else ""
        return beside(ToolResult(content=told + undo, structured_content=dict(outcome_of(outcome))), done.notices)

    @server.resource(
        "admin://proposals",
        name="proposals",
        description="What maintenance proposed and waits for a person.",
        mime_type="application/json",
    )
    async def _resource() -> str:
        return json.dumps(await readable(desk.memory.attend(_proposals)), ensure_ascii=True)


def _add_merges(server: FastMCP[Any], desk: Desk) -> None:
    @server.tool(
        name="admin_list_merges",
        description=LIST_MERGES,
        annotations=READS,
        output_schema=schema_of(MergesResult),
    )
    async def _admin_list_merges(context: Context, limit: Annotated[int, Field(ge=1, le=500)] = 20) -> ToolResult:
        who = desk.caller(context)
        call = AdminCall(who, "admin_list_merges")
        done = await answered(journalled(desk.memory, call, lambda ports: list_merges(ports, limit)))
        lines = [_merge_line(merge) for merge in done.answer] or ["No merges."]
        merges = [asdict(merge) for merge in done.answer]
        return beside(ToolResult(content="\n".join(lines), structured_content={"merges": merges}), done.notices)

    @server.resource(
        "admin://merges",
        name="merges",
        description="The latest merges, the last one first.",
        mime_type="application/json",
    )
    async def _resource() -> str:
        merges = await readable(desk.memory.attend(lambda ports: list_merges(ports, 100)))
        return json.dumps([asdict(merge) for merge in merges], ensure_ascii=True)


async def _proposals(ports: Ports) -> list[ProposalItem]:
    found = await list_proposals(ports)
    notes = await ports.index.notes({note_id for proposal in found for note_id in proposal.hashes})
    titles = {note_id: (item.note.title, item.note.space) for note_id, item in notes.items()}
    return [_item(proposal, titles) for proposal in found]


def _item(proposal: Proposal, titles: dict[str, tuple[str, str]]) -> ProposalItem:
    shown = [(note_id, *titles.get(note_id, ("", ""))) for note_id in proposal.hashes]
    return {
        "id": proposal.id,
        "kind": proposal.kind,
        "created": proposal.created,
        "by": proposal.by,
        "source": proposal.source,
        "notes": [{"id": note_id, "title": title, "space": space} for note_id, title, space in shown],
        "verdict": asdict(proposal.verdict),
    }


def _lines(item: ProposalItem, mark: str) -> list[str]:
    lines = [f"{item['id']} {item['kind']}, {item['created']}"]
    lines += [f"  {note['id']} {on_one_line(note['title'])} (space {note['space']})" for note in item["notes"]]
    told = {key: value for key, value in item["verdict"].items() if value is not None}
    return [*lines, fenced(json.dumps(told, ensure_ascii=False), mark)]


def _merge_line(merge: Merged) -> str:
    undone = ", undone" if merge.undone else ""
    return f"{merge.merge_id} {merge.at}: {merge.discarded} into {merge.kept} {on_one_line(merge.kept_title)}{undone}"
