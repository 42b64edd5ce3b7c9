"""Admin tools on records: the audit log, the index, the erasure of a note, what waits for a person, what was merged."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any

from fastmcp import Context, FastMCP
from fastmcp.tools import ToolResult
from pydantic import Field
from typing_extensions import TypedDict

from holdfast.engine.admin.gate import (
    DEFAULT_ENTRIES,
    MOST_ENTRIES,
    AdminCall,
    AuditLine,
    AuditQuery,
    Confirmations,
    afterwards,
    audit_log,
    journalled,
    named,
)
from holdfast.engine.admin.health import count_notes, discard_index
from holdfast.engine.admin.notes import NoteTraces, Purged, WouldPurge, purge
from holdfast.engine.maintenance.batches import Action, Merged, list_merges, resolve_proposal
from holdfast.engine.maintenance.verdicts import Proposal, list_proposals
from holdfast.engine.ports import Ports
from holdfast.model.words import counted
from holdfast.tools.admin.notes import add_look, admin_call
from holdfast.tools.agent import ServedMemory
from holdfast.tools.errors import LONGEST_FAILURE, answered, read
from holdfast.tools.fitting import fenced, new_mark, on_one_line
from holdfast.tools.maintenance import ItemOutcome
from holdfast.tools.results import ADDS, DESTROYS, READS, REPLACES, Noted, filled, said, tool

AUDIT = """List what was done to the memory and by whom, newest first: changes with their change_id, feedback, admin \
calls; never a note's text. For finding what to undo, not for searching notes."""

REBUILD = """Throw the search index away and build it anew from the notes. Only when admin://health or an answer says \
that the index is damaged: it is derived and otherwise keeps itself up to date. No note is changed."""

PURGE = """Erase a note for good, so that no byte of it stays in files, history, trash, index, caches or journal; only \
when the user wants it gone for ever. The first call says what goes and which older backups still hold it, and gives a \
token; show that to the user, and with their consent call again with the token as `confirm`. Cannot be undone."""


class AuditEntry(TypedDict):
    seq: int
    at: str
    operation: str
    by: str
    source: str
    change_id: str | None
    nodes: list[str]
    outcome: str
    dry_run: bool
    undoes: str | None
    undone_by: str | None


class AuditResult(Noted):
    entries: list[AuditEntry]


class RebuildResult(Noted):
    notes: int | None


class PurgeResult(Noted):
    id: str
    dry_run: bool
    files: int
    history: int
    trash: int
    journal_lines: int
    backups: list[str]
    told_by: list[str]
    waiting_turns: int
    confirm: str | None


def add_record_tools(server: FastMCP[Any], served: ServedMemory) -> None:
    """Put the audit log, the rebuild and the purge on a server."""
    for add in (_add_audit_log, _add_audit, _add_rebuild, _add_purge):
        add(server, served)


def _add_audit_log(server: FastMCP[Any], served: ServedMemory) -> None:
    @tool(server, "admin_list_audit_log", AUDIT, READS, AuditResult)
    async def _admin_list_audit_log(
        context: Context,
        limit: Annotated[int, Field(ge=1, le=MOST_ENTRIES)] = DEFAULT_ENTRIES,
        node_id: Annotated[str | None, Field(description="A note's id, or the beginning of it.")] = None,
        operation: Annotated[str | None, Field(description="Such as remember, update, delete, merge, undo.")] = None,
    ) -> ToolResult:
        query = AuditQuery(limit, node_id, operation)
        return await admin_call(
            served, context, "admin_list_audit_log", lambda ports, _: audit_log(ports, query), _entries, node_id or ""
        )


def _add_audit(server: FastMCP[Any], served: ServedMemory) -> None:
    @server.resource(
        "admin://audit{?node,operation,limit}",
        name="audit",
        description="What was done to the memory and by whom, newest first.",
        mime_type="application/json",
    )
    async def _audit(node: str | None = None, operation: str | None = None, limit: int = DEFAULT_ENTRIES) -> str:
        query = AuditQuery(limit, node, operation)
        entries = await read(served.memory.attend(lambda ports: audit_log(ports, query)))
        return json.dumps([_entry(row) for row in entries], ensure_ascii=True)


def _add_rebuild(server: FastMCP[Any], served: ServedMemory) -> None:
    @tool(server, "admin_rebuild_index", REBUILD, ADDS, RebuildResult)
    async def _admin_rebuild_index(context: Context) -> ToolResult:
        who = served.caller(context)
        call = AdminCall(who, "admin_rebuild_index", anywhere=True)
        done = await answered(journalled(served.memory, call, discard_index))
        notes, failed = await afterwards(served.memory.attend(count_notes))
        sentence = "The index is thrown away; the next request builds it anew."
        if notes is not None:
            sentence = f"The index was built anew from {counted(notes, 'note')}."
        return said(sentence, RebuildResult(notes=notes), (*done.notices, *failed))


def _add_purge(server: FastMCP[Any], served: ServedMemory) -> None:
    tokens = Confirmations()

    @tool(server, "admin_purge", PURGE, DESTROYS, PurgeResult)
    async def _admin_purge(
        context: Context,
        node_id: Annotated[str, Field(description="A note's id, or the beginning of it; also of a deleted note.")],
        confirm: Annotated[str | None, Field(description="The token of the first call.")] = None,
    ) -> ToolResult:
        who = served.caller(context)

        async def run(ports: Ports) -> WouldPurge | Purged:
            return await purge(ports, who, tokens, node_id, confirm)

        done = await answered(journalled(served.memory, AdminCall(who, "admin_purge", named(node_id)), run, _as_record))
        if isinstance(done.answer, WouldPurge):
            return _purged(done.answer.kept, done.answer.confirm, done.notices)
        _, failed = await afterwards(served.memory.attend(count_notes))  # whoever recalls next need not wait for it
        return _purged(done.answer.kept, None, (*done.notices, *failed))


def _as_record(answer: WouldPurge | Purged) -> Mapping[str, object]:
    dry = {"dry_run": True} if isinstance(answer, WouldPurge) else {}
    return {"note": answer.kept.note_id, **dry}


def _purged(kept: NoteTraces, confirm: str | None, notices: Sequence[str]) -> ToolResult:
    what = (
        f"{counted(kept.files, 'file')}, {counted(kept.history, 'earlier text')} and "
        f"{counted(kept.trash, 'file')} in the trash, with index and "
        f"caches, and its words in {counted(kept.journal_lines, 'line')} of the journal"
    )
    text = (
        f"Erased: {kept.note_id}: {what}."
        if confirm is None
        else f"Nothing was changed yet. Purging {kept.note_id} erases {what}. It cannot be undone."
    )
    if kept.waiting_turns:
        waits = counted(kept.waiting_turns, "turn")
        text += f" With it {'go' if confirm is None else 'would go'} {waits} of sessions that wait to be distilled."
    if kept.backups:
        text += f" Backups from before still hold it, and are not changed: {', '.join(kept.backups)}."
    if kept.told_by:
        text += f" It was merged or consolidated into {', '.join(kept.told_by)}, which stay as they are: look at them."
    if confirm is not None:
        text += f" To do it, call again within five minutes with confirm={confirm}."
    shape = filled(PurgeResult, kept, id=kept.note_id, dry_run=confirm is not None, confirm=confirm)
    return said(text, shape, notices)


def _entries(found: Sequence[AuditLine]) -> ToolResult:
    lines = [_line(row) for row in found] or ["Nothing of that kind is in the journal."]
    return said("\n".join(lines), {"entries": [_entry(row) for row in found]})


def _entry(row: AuditLine) -> AuditEntry:
    return filled(AuditEntry, row, operation=row.op, change_id=row.change, outcome=row.outcome or "done")


def _line(row: AuditLine) -> str:
    parts = [row.at, row.op, row.change or "", *row.nodes[:5], f"by {row.by}"]
    if row.outcome and row.outcome != "done":
        parts.append(f"-> {row.outcome}")
    if row.dry_run:
        parts.append("(dry run)")
    if row.undone_by:
        parts.append(f"(undone by {row.undone_by})")
    return on_one_line(" ".join(part for part in parts if part))


LIST_PROPOSALS = """List merges, consolidations and retirements that maintenance proposed and that wait for a person, \
oldest first."""

RESOLVE_PROPOSAL = """Approve a proposal, which applies it, or reject it. Only with the user's consent. It waits on \
where its notes have changed since."""

LIST_MERGES = """List the latest merges with their merge_id, for admin_undo_merge."""


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


class MergesResult(Noted):
    merges: list[Merged]


def add_reviews(server: FastMCP[Any], served: ServedMemory) -> None:
    """Put the tools and resources on the admin server."""
    _add_proposals(server, served)
    _add_merges(server, served)


def _add_proposals(server: FastMCP[Any], served: ServedMemory) -> None:
    @tool(server, "admin_list_proposals", LIST_PROPOSALS, READS, ProposalsResult)
    async def _admin_list_proposals(context: Context) -> ToolResult:
        return await admin_call(served, context, "admin_list_proposals", lambda ports, _: _proposals(ports), _waiting)

    @tool(server, "admin_resolve_proposal", RESOLVE_PROPOSAL, REPLACES, ResolvedResult)
    async def _admin_resolve_proposal(
        context: Context,
        proposal_id: Annotated[str, Field(description="From admin_list_proposals.")],
        action: Action,
    ) -> ToolResult:
        who = served.caller(context)
        done = await answered(resolve_proposal(served.memory, who, proposal_id, action))
        outcome = done.answer
        text = f"{outcome.item} {outcome.status}: {on_one_line(outcome.reason, LONGEST_FAILURE)}"
        undo = f" Undo handle: {outcome.change_id}" if outcome.change_id else ""
        return said(text + undo, filled(ItemOutcome, outcome), done.notices)

    waits = "What maintenance proposed and waits for a person."
    add_look(server, "proposals", waits, lambda: served.memory.attend(_proposals))


def _add_merges(server: FastMCP[Any], served: ServedMemory) -> None:
    @tool(server, "admin_list_merges", LIST_MERGES, READS, MergesResult)
    async def _admin_list_merges(context: Context, limit: Annotated[int, Field(ge=1, le=500)] = 20) -> ToolResult:
        return await admin_call(
            served, context, "admin_list_merges", lambda ports, _: list_merges(ports, limit), _merges
        )

    async def look() -> object:
        return [asdict(merge) for merge in await served.memory.attend(lambda ports: list_merges(ports, 100))]

    add_look(server, "merges", "The latest merges, the last one first.", look)


async def _proposals(ports: Ports) -> list[ProposalItem]:
    found = await list_proposals(ports)
    notes = await ports.index.notes({note_id for proposal in found for note_id in proposal.hashes})
    titles = {note_id: (item.note.title, item.note.space) for note_id, item in notes.items()}
    return [_item(proposal, titles) for proposal in found]


def _item(proposal: Proposal, titles: dict[str, tuple[str, str]]) -> ProposalItem:
    shown = [(note_id, *titles.get(note_id, ("", ""))) for note_id in proposal.hashes]
    notes = [{"id": note_id, "title": title, "space": space} for note_id, title, space in shown]
    return filled(ProposalItem, proposal, notes=notes, verdict=asdict(proposal.verdict))


def _waiting(items: Sequence[ProposalItem]) -> ToolResult:
    mark = new_mark()
    lines = [f"{len(items)} waiting.", *(line for item in items for line in _lines(item, mark))]
    return said("\n".join(lines), {"proposals": items})


def _lines(item: ProposalItem, mark: str) -> list[str]:
    lines = [f"{item['id']} {item['kind']}, {item['created']}"]
    lines += [f"  {note['id']} {on_one_line(note['title'])} (space {note['space']})" for note in item["notes"]]
    verdict = {key: value for key, value in item["verdict"].items() if value is not None}
    return [*lines, fenced(json.dumps(verdict, ensure_ascii=False), mark)]


def _merges(found: Sequence[Merged]) -> ToolResult:
    lines = [_merge_line(merge) for merge in found] or ["No merges."]
    return said("\n".join(lines), {"merges": found})


def _merge_line(merge: Merged) -> str:
    undone = ", undone" if merge.undone else ""
    return f"{merge.merge_id} {merge.at}: {merge.discarded} into {merge.kept} {on_one_line(merge.kept_title)}{undone}"
