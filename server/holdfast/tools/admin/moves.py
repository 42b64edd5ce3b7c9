"""Admin tools that take long: `admin_import`, `admin_export` and `admin_reencode`, with progress for whoever waits."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from fastmcp import Context, FastMCP
from fastmcp.tools import ToolResult
from pydantic import Field
from typing_extensions import TypedDict

from holdfast.engine.admin.gate import Confirmations, afterwards
from holdfast.engine.admin.health import Reencoding, follow, reencode
from holdfast.engine.admin.imports import Imported, ImportFrom, ImportReport, export_memory, import_memory
from holdfast.model.moving import SourceKind
from holdfast.model.words import counted
from holdfast.tools.agent import ServedMemory
from holdfast.tools.errors import answered
from holdfast.tools.fitting import fenced, new_mark, on_one_line
from holdfast.tools.results import ADDS, MAKES, Noted, beside, filled, said, tool

REENCODE = """Make the vectors of all notes anew with the encoder of the settings, when search by meaning seems wrong. \
Notes stay findable meanwhile. It goes on in the background; who asks for progress hears of it up to fifty seconds. A \
change of the encoder needs no call: its vectors are made by themselves."""


class BesideResult(TypedDict):
    vector_set: str
    model: str
    encoded: int


class ReencodeResult(Noted):
    vector_set: str
    model: str
    notes: int
    encoded: int
    finished: bool
    beside: NotRequired[BesideResult]


def add_encoding(server: FastMCP[Any], served: ServedMemory) -> None:
    """Put the tool on a server of the admin namespace."""

    @tool(server, "admin_reencode", REENCODE, ADDS, ReencodeResult)
    async def _admin_reencode(context: Context) -> ToolResult:
        who = served.caller(context)
        begun = await answered(reencode(served.memory, who))
        state = begun.answer
        failed: tuple[str, ...] = ()
        if _is_waited_for(context):
            await context.report_progress(*state.made)
            last, failed = await afterwards(_followed(served, context, state))
            state = last or state
        return beside(_as_result(state), (*begun.notices, *failed))


async def _followed(served: ServedMemory, context: Context, begun: Reencoding) -> Reencoding:
    state = begun
    async with served.memory.own() as memory:
        async for state in follow(memory, begun):
            await context.report_progress(*state.made)
    return state


def _is_waited_for(context: Context) -> bool:
    """Whether the caller sent a progress token."""
    request = context.request_context
    return request is not None and (request.meta or {}).get("progressToken") is not None


def _as_result(state: Reencoding) -> ToolResult:
    second = state.beside
    waiting = sum(each.notes - each.done for each in (state, second) if each)
    vectors = " vectors" if second else ""
    rest = f" {waiting:,}{vectors} wait; admin://jobs shows how far it is." if waiting else ""
    other = f" With {second.model}: {second.done:,} of {second.notes:,}." if second else ""
    result = ReencodeResult(
        vector_set=state.key, model=state.model, notes=state.notes, encoded=state.done, finished=state.is_whole
    )
    if second:
        result["beside"] = BesideResult(vector_set=second.key, model=second.model, encoded=second.done)
    return said(
        f"Encoded anew with {state.model}: {state.done:,} of {counted(state.notes, 'note')}.{other}{rest}", result
    )


IMPORT = """Bring in the notes of another memory: an Ormah or OMI folder, the reference memory server's JSONL file, a \
folder of markdown such as an Obsidian vault, an export of Holdfast. The first call reads everything, says what would \
come and gives a token; show that to the user, and with their consent call again with the token as `confirm`. Nothing \
is imported twice, nothing here is overwritten; an import that was interrupted goes on when it is called again."""

EXPORT = """Write all notes, logs and history, with checksums, to exports/ in the memory folder, for keeping or for \
admin_import elsewhere. For safety before a risky step use admin_backup."""

_SHOWN = 10


class LeftOutResult(TypedDict):
    where: str
    reason: str


class ImportResult(Noted):
    kind: str
    dry_run: bool
    confirm: str | None
    notes: int
    links: int
    pages: int
    known: int
    differing: int
    gone: int
    same: int
    updated: int
    changes: list[str]
    secrets: dict[str, int]
    refused_count: int
    refused: list[LeftOutResult]
    unmapped_count: int
    unmapped: list[LeftOutResult]


class ExportResult(Noted):
    path: str
    created: str
    files: int
    size: int
    left_out: list[str]


def add_moves(server: FastMCP[Any], served: ServedMemory) -> None:
    """Put the tools for moving in and out on the admin server."""
    _add_import(server, served)
    _add_export(server, served)


def _add_import(server: FastMCP[Any], served: ServedMemory) -> None:
    tokens = Confirmations()

    @tool(server, "admin_import", IMPORT, ADDS, ImportResult)
    async def _admin_import(
        context: Context,
        path: Annotated[str, Field(description="A file or folder; over HTTP, and if relative, in imports/.")],
        kind: Annotated[SourceKind | None, Field(description="What it is, if that is not recognised.")] = None,
        space: Annotated[str | None, Field(description="For notes that name none; default global.")] = None,
        confirm: Annotated[str | None, Field(description="The token of the first call.")] = None,
    ) -> ToolResult:
        request = ImportFrom(path, kind, space, confirm, anywhere=_is_here(context))

        async def progress(done: int, total: int) -> None:
            await context.report_progress(done, total)

        done = await answered(import_memory(served.memory, served.caller(context), tokens, request, progress))
        return _imported(done)


def _add_export(server: FastMCP[Any], served: ServedMemory) -> None:
    @tool(server, "admin_export", EXPORT, MAKES, ExportResult)
    async def _admin_export(
        context: Context,
        path: Annotated[
            str | None, Field(description="Its name in exports/: x.tar.gz for one file, x for a folder.")
        ] = None,
    ) -> ToolResult:
        who = served.caller(context)
        done = await answered(export_memory(served.memory, who, path))
        made = done.answer
        head = made.manifest.backup
        missing = len(head.left_out)
        rest = f" Left out, for it is no readable file: {counted(missing, 'thing')}." if missing else ""
        return said(
            f"Exported {counted(head.file_count, 'file')}, {counted(head.size, 'byte')}, to {made.path}.{rest}",
            filled(ExportResult, head, path=made.path, created=head.created_at, files=head.file_count),
            done.notices,
        )


def _is_here(context: Context) -> bool:
    """Whether the client runs this process itself, and so may read what it reads: it came over no network."""
    request = context.request_context
    return context.transport in (None, "stdio") and request is not None and request.request is None


def _imported(done: Imported) -> ToolResult:
    report, dry = done.report, done.confirm is not None
    lines = [_summary(report, dry=dry), *_problems(report)]
    if dry:
        lines.append(f"To do it, call again within five minutes with confirm={done.confirm}.")
    left_out = {
        name: [filled(LeftOutResult, item) for item in getattr(report, name)] for name in ("refused", "unmapped")
    }
    shape = filled(ImportResult, report, dry_run=dry, confirm=done.confirm, **left_out)
    return said("\n".join(lines), shape, done.notices)


def _summary(report: ImportReport, *, dry: bool) -> str:
    verb = "Nothing was changed yet. It would bring" if dry else "Imported"
    brought = ", ".join(
        counted(number, noun)
        for number, noun in ((report.notes, "note"), (report.links, "link"), (report.pages, "page"))
    )
    parts = [f"{verb} {brought} ({report.kind})."]
    if report.same:
        parts.append(f"The same as a note that is there, and joined to it: {report.same:,}.")
    if report.known:
        parts.append(
            f"Came before and left as they are: {report.known:,}; of these different now: {report.differing:,}."
        )
    if report.updated:
        parts.append(f"Notes whose text changed there and not here, brought up to date: {report.updated:,}.")
    if report.gone:
        parts.append(f"Came before and were deleted or merged here since, which stays so: {report.gone:,}.")
    if report.secrets:
        kinds = ", ".join(f"{kind} ({count})" for kind, count in sorted(report.secrets.items()))
        parts.append(f"Secrets are replaced by placeholders: {kinds}.")
    if report.changes:
        parts.append(f"To take it back: admin_undo with each of {', '.join(report.changes[-_SHOWN:])}, the last first.")
    return " ".join(parts)


def _problems(report: ImportReport) -> list[str]:
    """What was refused and what has no place, the first of each between marks: names in it are a stranger's."""
    lines: list[str] = []
    for title, count, items in (
        ("Broken and left out", report.refused_count, report.refused),
        ("Not taken over", report.unmapped_count, report.unmapped),
    ):
        if count:
            shown = [on_one_line(f"{item.where or '-'}: {item.reason}") for item in items[:_SHOWN]]
            more = [f"and {count - len(shown):,} more"] if count > len(shown) else []
            lines += [f"{title}: {count:,}.", fenced("\n".join([*shown, *more]), new_mark())]
    return lines
