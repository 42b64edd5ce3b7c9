"""admin_reencode: vectors made anew, with progress for whoever waits."""

from __future__ import annotations

from typing import Any

from fastmcp import Context, FastMCP
from fastmcp.tools import ToolResult
from mcp_types import ToolAnnotations

from holdfast.engine.gated import afterwards
from holdfast.engine.reencode import Reencoding, follow, reencode
from holdfast.model.words import counted
from holdfast.tools.agent import Desk
from holdfast.tools.errors import answered
from holdfast.tools.results import Noted, beside, schema_of

REENCODE = """Make the vectors of all notes anew with the encoder of the settings, when search by meaning seems wrong. \
Notes stay findable meanwhile. It goes on in the background; who asks for progress hears of it up to fifty seconds. A \
change of the encoder needs no call: its vectors are made by themselves."""

_AGAIN = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


class ReencodeResult(Noted):
    vector_set: str
    model: str
    notes: int
    encoded: int
    finished: bool


def add_encoding(server: FastMCP[Any], desk: Desk) -> None:
    """Put the tool on a server of the admin namespace."""

    @server.tool(
        name="admin_reencode", description=REENCODE, annotations=_AGAIN, output_schema=schema_of(ReencodeResult)
    )
    async def _admin_reencode(context: Context) -> ToolResult:
        who = desk.caller(context)
        begun = await answered(reencode(desk.memory, who))
        state = begun.answer
        failed: tuple[str, ...] = ()
        if _is_waited_for(context):
            await context.report_progress(state.done, state.notes)
            last, failed = await afterwards(_followed(desk, context, state))
            state = last or state
        return beside(_told(state), (*begun.notices, *failed))


async def _followed(desk: Desk, context: Context, begun: Reencoding) -> Reencoding:
    state = begun
    async with desk.memory.own() as memory:
        async for state in follow(memory, begun):
            await context.report_progress(state.done, state.notes)
    return state


def _is_waited_for(context: Context) -> bool:
    """Whether the caller sent a progress token."""
    request = context.request_context
    return request is not None and (request.meta or {}).get("progressToken") is not None


def _told(state: Reencoding) -> ToolResult:
    waiting = state.notes - state.done
    rest = f" {waiting:,} wait; admin://jobs shows how far it is." if waiting else ""
    return ToolResult(
        content=f"Encoded anew with {state.model}: {state.done:,} of {counted(state.notes, 'note')}.{rest}",
        structured_content=ReencodeResult(
            vector_set=state.key,
            model=state.model,
            notes=state.notes,
            encoded=state.done,
            finished=state.is_whole,
        ),
    )
