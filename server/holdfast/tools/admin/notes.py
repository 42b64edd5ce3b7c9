"""The admin namespace's tools on notes: change, connect, delete, bring back, undo."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, TypeVar, assert_never

from fastmcp import Context, FastMCP
from fastmcp.tools import ToolResult
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
from holdfast.engine.ports import Caller, Ports
from holdfast.model.note import EdgeType, NoteType, Tier
from holdfast.tools.agent import ServedMemory
from holdfast.tools.errors import answered, readable
from holdfast.tools.fitting import on_one_line
from holdfast.tools.results import ADDS, DESTROYS, Fraction, Noted, beside, filled, said, tool

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


Answer = TypeVar("Answer")
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


async def admin_call(
    served: ServedMemory,
    context: Context,
    name: str,
    verb: Callable[[Ports, Caller], Awaitable[Answer]],
    rendered: Callable[[Answer], ToolResult],
    node_id: str = "",
    as_record: Callable[[Answer], Mapping[str, object]] = lambda _: {},
) -> ToolResult:
    """Make a call that the journal is told of, with the note that it is about; see `journalled`."""
    who = served.caller(context)
    call = AdminCall(who, name, named(node_id))
    done = await answered(journalled(served.memory, call, lambda ports: verb(ports, who), as_record))
    return beside(rendered(done.answer), done.notices)


def add_look(server: FastMCP[Any], name: str, description: str, look: Callable[[], Awaitable[object]]) -> None:
    """Put a resource on a server: what `look` finds, as JSON."""

    @server.resource(f"admin://{name}", name=name, description=description, mime_type="application/json")
    async def _look() -> str:
        return json.dumps(await readable(look()), ensure_ascii=True, indent=1)


def add_note_tools(server: FastMCP[Any], served: ServedMemory) -> None:
    """Put the admin tools on notes on a server."""
    for add in (_add_update, _add_connect, _add_delete, _add_restore, _add_undo, _add_undo_merge):
        add(server, served)


def _add_update(server: FastMCP[Any], served: ServedMemory) -> None:
    @tool(server, "admin_update_memory", UPDATE, ADDS, EditResult)
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
        edit = Edit(node_id, content, type, tier, tags, title, space)
        verb = partial(update_note, request=edit)
        return await admin_call(served, context, "admin_update_memory", verb, _edited, node_id, _as_record)


def _add_connect(server: FastMCP[Any], served: ServedMemory) -> None:
    @tool(server, "admin_connect_memories", CONNECT, ADDS, EditResult)
    async def _admin_connect_memories(
        context: Context,
        source_id: Annotated[str, Field(description="The note that the edge leaves.")],
        target_id: Annotated[str, Field(description="The note that it reaches.")],
        edge: EdgeType = "related_to",
        weight: Fraction = 0.5,
    ) -> ToolResult:
        verb = partial(connect_notes, request=Connect(source_id, target_id, edge, weight))
        return await admin_call(served, context, "admin_connect_memories", verb, _edited, source_id, _as_record)


def _add_delete(server: FastMCP[Any], served: ServedMemory) -> None:
    tokens = Confirmations()

    @tool(server, "admin_delete_memory", DELETE, DESTROYS, DeleteResult)
    async def _admin_delete_memory(context: Context, node_id: NodeId, confirm: Confirm = None) -> ToolResult:
        verb = partial(delete_note, tokens=tokens, node_id=node_id, confirm=confirm)
        return await admin_call(served, context, "admin_delete_memory", verb, _deleted, node_id, _as_record)


def _add_restore(server: FastMCP[Any], served: ServedMemory) -> None:
    @tool(server, "admin_restore_memory", RESTORE, ADDS, RestoreNoteResult)
    async def _admin_restore_memory(context: Context, node_id: NodeId) -> ToolResult:
        verb = partial(restore_note, node_id=node_id)
        return await admin_call(served, context, "admin_restore_memory", verb, _restored, node_id, _as_record)


def _add_undo(server: FastMCP[Any], served: ServedMemory) -> None:
    @tool(server, "admin_undo", UNDO, ADDS, UndoResult)
    async def _admin_undo(
        context: Context,
        change_id: Annotated[str, Field(description="From the answer of a tool, or admin_list_audit_log.")],
    ) -> ToolResult:
        verb = partial(undo, change_id=change_id)
        return await admin_call(served, context, "admin_undo", verb, _undone, as_record=_as_record)


def _add_undo_merge(server: FastMCP[Any], served: ServedMemory) -> None:
    tokens = Confirmations()

    @tool(server, "admin_undo_merge", UNDO_MERGE, DESTROYS, UndoResult)
    async def _admin_undo_merge(
        context: Context,
        merge_id: Annotated[str, Field(description="From admin_list_merges.")],
        confirm: Confirm = None,
    ) -> ToolResult:
        verb = partial(undo_merge, tokens=tokens, merge_id=merge_id, confirm=confirm)
        return await admin_call(served, context, "admin_undo_merge", verb, _undone, as_record=_as_record)


def _as_record(answer: object) -> Mapping[str, object]:
    """What the journal's line says of an answer: ids alone."""
    ids: dict[str, object] = {}
    if isinstance(answer, Edited | Deleted | BroughtBack | WouldDelete):
        ids["note"] = answer.note.id
    if isinstance(answer, WouldUndo | Undone | AlreadyUndone):
        ids["about"] = answer.undoes
    if isinstance(answer, WouldDelete | WouldUndo):
        ids["dry_run"] = True
    if isinstance(answer, Edited | Deleted | BroughtBack | Undone) and answer.change_id:
        ids["change_id"] = answer.change_id
    return ids


def _edited(outcome: Edited) -> ToolResult:
    note = outcome.note
    done = f"Changed {', '.join(outcome.changed)}" if outcome.changed else "Unchanged"
    text = f"{done}: {note.id} ({on_one_line(note.title)}). {_handle(outcome.change_id)}"
    return said(
        "\n".join([text.strip(), *(f"Note: {notice}" for notice in outcome.notices)]),
        filled(EditResult, outcome, id=note.id, title=note.title, notices=outcome.notices),
    )


def _deleted(outcome: WouldDelete | Deleted) -> ToolResult:
    note = outcome.note
    named = {"id": note.id, "title": note.title}
    if isinstance(outcome, Deleted):
        return said(
            f"In the trash: {note.id} ({on_one_line(note.title)}). admin_restore_memory brings it back.",
            filled(DeleteResult, outcome, **named, dry_run=False, links_in=0, links_out=0, confirm=None),
        )
    return said(
        f"Nothing was changed yet. {note.id} ({on_one_line(note.title)}) would go to the trash; "
        f"edges that lead to it: {outcome.links_in}, that leave it: {outcome.links_out}. {_again(outcome.confirm)}",
        filled(DeleteResult, outcome, **named, dry_run=True, change_id=None),
    )


def _restored(outcome: BroughtBack) -> ToolResult:
    note = outcome.note
    return said(
        f"Brought back: {note.id} ({on_one_line(note.title)}). {_handle(outcome.change_id)}",
        RestoreNoteResult(id=note.id, title=note.title, change_id=outcome.change_id),
    )


def _undone(outcome: WouldUndo | Outcome) -> ToolResult:
    match outcome:
        case AlreadyUndone(undoes=change, by=by):
            text = f"{change} was undone before, by {by}; nothing was done."
            return said(text, UndoResult(undoes=change, status="already_undone", change_id=by, notes=[], confirm=None))
        case WouldUndo(notes=notes, confirm=confirm):
            text = _lines(notes, f"Nothing was changed yet. {_again(confirm)}")
            return said(text, filled(UndoResult, outcome, status="dry_run", change_id=None, notes=_named(notes)))
        case Undone(notes=notes, change_id=handle):
            text = _lines(notes, f"Undone. {_handle(handle)}")
            return said(text, filled(UndoResult, outcome, status="undone", confirm=None, notes=_named(notes)))
        case _:
            assert_never(outcome)


def _named(notes: Sequence[Affected]) -> list[UndoneNote]:
    return [filled(UndoneNote, each) for each in notes]


def _lines(notes: Sequence[Affected], ending: str) -> str:
    return "\n".join([*(f"{each.id} ({on_one_line(each.title)}): {each.effect}" for each in notes), ending])


def _handle(change_id: str | None) -> str:
    return f"admin_undo with {change_id} takes it back." if change_id else ""


def _again(confirm: str) -> str:
    return f"To do it, call again within five minutes with confirm={confirm}."
