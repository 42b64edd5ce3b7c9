"""The admin namespace's tools on notes: change, connect, delete, bring back, undo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, assert_never

from fastmcp import Context, FastMCP
from fastmcp.tools import ToolResult
from mcp_types import ToolAnnotations
from pydantic import Field
from typing_extensions import TypedDict

from holdfast.engine.admin.gate import AdminCall, Confirmations, journalled, named
from holdfast.engine.admin.notes import (
    BroughtBack,
    Connect,
    Deleted,
    Edit,
    Edited,
    WouldDelete,
    connect_notes,
    delete_note,
    restore_note,
    update_note,
)
from holdfast.engine.admin.undo import Affected, AlreadyUndone, Outcome, Undone, WouldUndo, undo, undo_merge
from holdfast.model.note import EdgeType, NoteType, Tier
from holdfast.tools.agent import ServedMemory
from holdfast.tools.errors import answered
from holdfast.tools.fitting import on_one_line
from holdfast.tools.results import Noted, beside, schema_of

UPDATE = """Change a stored note in place, when the user asks to correct or re-file it. What is left out stays. Not \
for news: store those with remember and `supersedes`, so that the old note stays known. Can be undone with the \
change_id."""

CONNECT = """Put a typed edge from one note to another, in place of one of the same type. Can be undone with the \
change_id."""

DELETE = """Put a note into the trash. The first call says what it would do and gives a token; show that to the user, \
and with their consent call again with the token as `confirm`. Not for what is no longer true: mark_outdated. It can \
be brought back."""

RESTORE = """Bring a deleted note back from the trash, its file as it was."""

UNDO = """Undo a change by its change_id, whichever tool made it, also an undo: the files of its notes are byte for \
byte what they were. When a note has changed since nothing is done, and the answer says conflict."""

UNDO_MERGE = """Undo a merge or consolidation: both notes, their text, edges and files are what they were. The first \
call says what it would do and gives a token; with the user's consent call again with it as `confirm`."""

CHANGES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
DESTROYS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False)

NodeId = Annotated[str, Field(description="A note's id, or the beginning of it.")]
Confirm = Annotated[str | None, Field(description="The token of the first call.")]


class EditResult(TypedDict):
    id: str
    title: str
    changed: list[str]
    change_id: str | None
    notices: list[str]


class DeleteResult(Noted):
    id: str
    title: str
    dry_run: bool
    links_in: int
    links_out: int
    confirm: str | None
    change_id: str | None


class RestoreNoteResult(Noted):
    id: str
    title: str
    change_id: str


class UndoneNote(TypedDict):
    id: str
    title: str
    effect: str


class UndoResult(Noted):
    undoes: str
    status: str
    change_id: str | None
    notes: list[UndoneNote]
    confirm: str | None


def add_note_tools(server: FastMCP[Any], served: ServedMemory) -> None:
    """Put the admin tools on notes on a server."""
    for add in (_add_update, _add_connect, _add_delete, _add_restore, _add_undo, _add_undo_merge):
        add(server, served)


def _add_update(server: FastMCP[Any], served: ServedMemory) -> None:
    @server.tool(
        name="admin_update_memory", description=UPDATE, annotations=CHANGES, output_schema=schema_of(EditResult)
    )
    async def _admin_update_memory(
        context: Context,
        node_id: NodeId,
        content: str | None = None,
        type: NoteType | None = None,  # noqa: A002 - the contract's name
        tier: Tier | None = None,
        tags: Annotated[list[str] | None, Field(description="All of them; [] for none.")] = None,
        title: str | None = None,
        space: Annotated[str | None, Field(description='"global" for none.')] = None,
    ) -> ToolResult:
        who, edit = served.caller(context), Edit(node_id, content, type, tier, tags, title, space)
        call = AdminCall(who, "admin_update_memory", named(node_id))
        done = await answered(journalled(served.memory, call, lambda ports: update_note(ports, who, edit), _as_record))
        return beside(_edited(done.answer), done.notices)


def _add_connect(server: FastMCP[Any], served: ServedMemory) -> None:
    @server.tool(
        name="admin_connect_memories", description=CONNECT, annotations=CHANGES, output_schema=schema_of(EditResult)
    )
    async def _admin_connect_memories(
        context: Context,
        source_id: Annotated[str, Field(description="The note that the edge leaves.")],
        target_id: Annotated[str, Field(description="The note that it reaches.")],
        edge: EdgeType = "related_to",
        weight: Annotated[float, Field(ge=0, le=1)] = 0.5,
    ) -> ToolResult:
        who, asked = served.caller(context), Connect(source_id, target_id, edge, weight)
        call = AdminCall(who, "admin_connect_memories", named(source_id))
        done = await answered(
            journalled(served.memory, call, lambda ports: connect_notes(ports, who, asked), _as_record)
        )
        return beside(_edited(done.answer), done.notices)


def _add_delete(server: FastMCP[Any], served: ServedMemory) -> None:
    tokens = Confirmations()

    @server.tool(
        name="admin_delete_memory", description=DELETE, annotations=DESTROYS, output_schema=schema_of(DeleteResult)
    )
    async def _admin_delete_memory(context: Context, node_id: NodeId, confirm: Confirm = None) -> ToolResult:
        who = served.caller(context)
        call = AdminCall(who, "admin_delete_memory", named(node_id))
        done = await answered(
            journalled(served.memory, call, lambda ports: delete_note(ports, who, tokens, node_id, confirm), _as_record)
        )
        return beside(_deleted(done.answer), done.notices)


def _add_restore(server: FastMCP[Any], served: ServedMemory) -> None:
    @server.tool(
        name="admin_restore_memory",
        description=RESTORE,
        annotations=CHANGES,
        output_schema=schema_of(RestoreNoteResult),
    )
    async def _admin_restore_memory(context: Context, node_id: NodeId) -> ToolResult:
        who = served.caller(context)
        call = AdminCall(who, "admin_restore_memory", named(node_id))
        done = await answered(
            journalled(served.memory, call, lambda ports: restore_note(ports, who, node_id), _as_record)
        )
        return beside(_brought_back(done.answer), done.notices)


def _add_undo(server: FastMCP[Any], served: ServedMemory) -> None:
    @server.tool(name="admin_undo", description=UNDO, annotations=CHANGES, output_schema=schema_of(UndoResult))
    async def _admin_undo(
        context: Context,
        change_id: Annotated[str, Field(description="From the answer of a tool, or admin_list_audit_log.")],
    ) -> ToolResult:
        who = served.caller(context)
        call = AdminCall(who, "admin_undo")
        done = await answered(journalled(served.memory, call, lambda ports: undo(ports, who, change_id), _as_record))
        return beside(_undone(done.answer), done.notices)


def _add_undo_merge(server: FastMCP[Any], served: ServedMemory) -> None:
    tokens = Confirmations()

    @server.tool(
        name="admin_undo_merge", description=UNDO_MERGE, annotations=DESTROYS, output_schema=schema_of(UndoResult)
    )
    async def _admin_undo_merge(
        context: Context,
        merge_id: Annotated[str, Field(description="From admin_list_merges.")],
        confirm: Confirm = None,
    ) -> ToolResult:
        who = served.caller(context)
        call = AdminCall(who, "admin_undo_merge")
        done = await answered(
            journalled(served.memory, call, lambda ports: undo_merge(ports, who, tokens, merge_id, confirm), _as_record)
        )
        return beside(_undone(done.answer), done.notices)


def _as_record(answer: object) -> Mapping[str, object]:
    """What the journal's line says of an answer: ids alone."""
    told: dict[str, object] = {}
    if isinstance(answer, Edited | Deleted | BroughtBack | WouldDelete):
        told["note"] = answer.note.id
    if isinstance(answer, WouldUndo | Undone | AlreadyUndone):
        told["about"] = answer.undoes
    if isinstance(answer, WouldDelete | WouldUndo):
        told["dry_run"] = True
    if isinstance(answer, Edited | Deleted | BroughtBack | Undone) and answer.change_id:
        told["change_id"] = answer.change_id
    return told


def _edited(outcome: Edited) -> ToolResult:
    note = outcome.note
    told = f"Changed {', '.join(outcome.changed)}" if outcome.changed else "Unchanged"
    text = f"{told}: {note.id} ({on_one_line(note.title)}). {_handle(outcome.change_id)}"
    return _said(
        "\n".join([text.strip(), *(f"Note: {notice}" for notice in outcome.notices)]),
        EditResult(
            id=note.id,
            title=note.title,
            changed=list(outcome.changed),
            change_id=outcome.change_id,
            notices=list(outcome.notices),
        ),
    )


def _deleted(outcome: WouldDelete | Deleted) -> ToolResult:
    note = outcome.note
    if isinstance(outcome, Deleted):
        return _said(
            f"In the trash: {note.id} ({on_one_line(note.title)}). admin_restore_memory brings it back.",
            DeleteResult(
                id=note.id,
                title=note.title,
                dry_run=False,
                links_in=0,
                links_out=0,
                confirm=None,
                change_id=outcome.change_id,
            ),
        )
    return _said(
        f"Nothing was changed yet. {note.id} ({on_one_line(note.title)}) would go to the trash; "
        f"{outcome.links_in} edges lead to it and {outcome.links_out} leave it. {_again(outcome.confirm)}",
        DeleteResult(
            id=note.id,
            title=note.title,
            dry_run=True,
            links_in=outcome.links_in,
            links_out=outcome.links_out,
            confirm=outcome.confirm,
            change_id=None,
        ),
    )


def _brought_back(outcome: BroughtBack) -> ToolResult:
    note = outcome.note
    return _said(
        f"Brought back: {note.id} ({on_one_line(note.title)}). {_handle(outcome.change_id)}",
        RestoreNoteResult(id=note.id, title=note.title, change_id=outcome.change_id),
    )


def _undone(outcome: WouldUndo | Outcome) -> ToolResult:
    match outcome:
        case AlreadyUndone(undoes=change, by=by):
            text = f"{change} was undone before, by {by}; nothing was done."
            return _said(text, UndoResult(undoes=change, status="already_undone", change_id=by, notes=[], confirm=None))
        case WouldUndo(undoes=change, notes=notes, confirm=confirm):
            text = _lines(notes, f"Nothing was changed yet. {_again(confirm)}")
            told = UndoResult(undoes=change, status="dry_run", change_id=None, notes=_named(notes), confirm=confirm)
            return _said(text, told)
        case Undone(undoes=change, notes=notes, change_id=handle):
            text = _lines(notes, f"Undone. {_handle(handle)}")
            told = UndoResult(undoes=change, status="undone", change_id=handle, notes=_named(notes), confirm=None)
            return _said(text, told)
        case _:
            assert_never(outcome)


def _named(notes: Sequence[Affected]) -> list[UndoneNote]:
    return [UndoneNote(id=each.id, title=each.title, effect=each.effect) for each in notes]


def _lines(notes: Sequence[Affected], ending: str) -> str:
    return "\n".join([*(f"{each.id} ({on_one_line(each.title)}): {each.effect}" for each in notes), ending])


def _handle(change_id: str | None) -> str:
    return f"admin_undo with {change_id} takes it back." if change_id else ""


def _again(confirm: str) -> str:
    return f"To do it, call again within five minutes with confirm={confirm}."


def _said(text: str, structured: Any) -> ToolResult:
    return ToolResult(content=text, structured_content=structured)
