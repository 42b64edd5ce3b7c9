"""The admin namespace on what is kept: the audit log, the index, and the erasure of a note."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

from fastmcp import Context, FastMCP
from fastmcp.tools import ToolResult
from mcp_types import ToolAnnotations
from pydantic import Field
from typing_extensions import TypedDict

from holdfast.engine.audit import DEFAULT_ENTRIES, MOST_ENTRIES, AuditQuery, audit_log
from holdfast.engine.gated import AdminCall, Confirmations, afterwards, journalled, named
from holdfast.engine.ports import Ports
from holdfast.engine.purge import Kept, Purged, WouldPurge, purge
from holdfast.engine.rebuild import count_notes, discard_index
from holdfast.model.words import counted
from holdfast.tools.agent import Desk
from holdfast.tools.errors import answered, read
from holdfast.tools.fence import on_one_line
from holdfast.tools.results import Noted, beside, schema_of

AUDIT = """List what was done to the memory and by whom, newest first: changes with their change_id, feedback, admin \
calls; never a note's text. For finding what to undo, not for searching notes."""

REBUILD = """Throw the search index away and build it anew from the notes. Only when admin://health or an answer says \
that the index is damaged: it is derived and otherwise keeps itself up to date. No note is changed."""

PURGE = """Erase a note for good, so that no byte of it stays in files, history, trash, index, caches or journal; only \
when the user wants it gone for ever. The first call says what goes and which older backups still hold it, and gives a \
token; show that to the user, and with their consent call again with the token as `confirm`. Cannot be undone."""

READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
CHANGES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
DESTROYS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False)


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
    confirm: str | None


def add_record_tools(server: FastMCP[Any], desk: Desk) -> None:
    """Put the audit log, the rebuild and the purge on a server."""
    for add in (_add_audit_log, _add_audit, _add_rebuild, _add_purge):
        add(server, desk)


def _add_audit_log(server: FastMCP[Any], desk: Desk) -> None:
    @server.tool(
        name="admin_list_audit_log", description=AUDIT, annotations=READS, output_schema=schema_of(AuditResult)
    )
    async def _admin_list_audit_log(
        context: Context,
        limit: Annotated[int, Field(ge=1, le=MOST_ENTRIES)] = DEFAULT_ENTRIES,
        node_id: Annotated[str | None, Field(description="A note's id, or the beginning of it.")] = None,
        operation: Annotated[str | None, Field(description="Such as remember, update, delete, merge, undo.")] = None,
    ) -> ToolResult:
        who, query = desk.caller(context), AuditQuery(limit, node_id, operation)
        call = AdminCall(who, "admin_list_audit_log", named(node_id or ""), anywhere=True)
        done = await answered(journalled(desk.memory, call, lambda ports: audit_log(ports, query)))
        told = ToolResult(
            content="\n".join(map(_line, done.answer)) or "Nothing of that kind is in the journal.",
            structured_content={"entries": done.answer},
        )
        return beside(told, done.notices)


def _add_audit(server: FastMCP[Any], desk: Desk) -> None:
    @server.resource(
        "admin://audit{?node,operation,limit}",
        name="audit",
        description="What was done to the memory and by whom, newest first.",
        mime_type="application/json",
    )
    async def _audit(node: str | None = None, operation: str | None = None, limit: int = DEFAULT_ENTRIES) -> str:
        query = AuditQuery(limit, node, operation)
        entries = await read(desk.memory.attend_folder(lambda ports: audit_log(ports, query)))
        return json.dumps(entries, ensure_ascii=True)


def _add_rebuild(server: FastMCP[Any], desk: Desk) -> None:
    @server.tool(
        name="admin_rebuild_index", description=REBUILD, annotations=CHANGES, output_schema=schema_of(RebuildResult)
    )
    async def _admin_rebuild_index(context: Context) -> ToolResult:
        who = desk.caller(context)
        call = AdminCall(who, "admin_rebuild_index", anywhere=True)
        done = await answered(journalled(desk.memory, call, discard_index))
        notes, failed = await afterwards(desk.memory.attend(count_notes))
        told = "The index is thrown away; the next request builds it anew."
        if notes is not None:
            told = f"The index was built anew from {counted(notes, 'note')}."
        answer = ToolResult(content=told, structured_content=RebuildResult(notes=notes))
        return beside(answer, (*done.notices, *failed))


def _add_purge(server: FastMCP[Any], desk: Desk) -> None:
    tokens = Confirmations()

    @server.tool(name="admin_purge", description=PURGE, annotations=DESTROYS, output_schema=schema_of(PurgeResult))
    async def _admin_purge(
        context: Context,
        node_id: Annotated[str, Field(description="A note's id, or the beginning of it; also of a deleted note.")],
        confirm: Annotated[str | None, Field(description="The token of the first call.")] = None,
    ) -> ToolResult:
        who = desk.caller(context)

        async def run(ports: Ports) -> WouldPurge | Purged:
            return await purge(ports, who, tokens, node_id, confirm)

        done = await answered(journalled(desk.memory, AdminCall(who, "admin_purge", named(node_id)), run, _told))
        if isinstance(done.answer, WouldPurge):
            return beside(_purged(done.answer.kept, done.answer.confirm), done.notices)
        _, failed = await afterwards(desk.memory.attend(count_notes))  # whoever recalls next need not wait for it
        return beside(_purged(done.answer.kept, None), (*done.notices, *failed))


def _told(answer: WouldPurge | Purged) -> Mapping[str, object]:
    dry = {"dry_run": True} if isinstance(answer, WouldPurge) else {}
    return {"note": answer.kept.note_id, **dry}


def _purged(kept: Kept, confirm: str | None) -> ToolResult:
    what = (
        f"{counted(kept.files, 'file')}, {counted(kept.history, 'earlier text')} and "
        f"{counted(kept.trash, 'file')} in the trash, with index and "
        f"caches, and its words in {counted(kept.journal_lines, 'line')} of the journal"
    )
    told = (
        f"Erased: {kept.note_id}: {what}."
        if confirm is None
        else f"Nothing was changed yet. Purging {kept.note_id} erases {what}. It cannot be undone."
    )
    if kept.backups:
        told += f" Backups from before still hold it, and are not changed: {', '.join(kept.backups)}."
    if kept.told_by:
        told += f" It was merged or consolidated into {', '.join(kept.told_by)}, which stay as they are: look at them."
    if confirm is not None:
        told += f" To do it, call again within five minutes with confirm={confirm}."
    return ToolResult(
        content=told,
        structured_content=PurgeResult(
            id=kept.note_id,
            dry_run=confirm is not None,
            files=kept.files,
            history=kept.history,
            trash=kept.trash,
            journal_lines=kept.journal_lines,
            backups=list(kept.backups),
            told_by=list(kept.told_by),
            confirm=confirm,
        ),
    )


def _line(entry: Mapping[str, Any]) -> str:
    parts = [entry["at"], entry["operation"], entry["change_id"] or "", *entry["nodes"][:5], f"by {entry['by']}"]
    if entry["outcome"] != "done":
        parts.append(f"-> {entry['outcome']}")
    if entry["dry_run"]:
        parts.append("(dry run)")
    if entry["undone_by"]:
        parts.append(f"(undone by {entry['undone_by']})")
    return on_one_line(" ".join(part for part in parts if part))
