"""The tools of the View: one opens it, the others are for its page alone and only read.

What a person does in it are calls of the tools that there are anyway, so that gate, scopes, journal and undo hold.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import Annotated, Any, Final

from fastmcp import Context
from fastmcp.apps.config import AppConfig, ResourceCSP, app_config_to_meta_dict
from fastmcp.server.providers import LocalProvider
from fastmcp.tools import ToolResult
from mcp_types import TextContent
from pydantic import Field
from typing_extensions import TypedDict

from holdfast.engine.view.inspect import MOST_HITS, MOST_NODES, Around, graph, inspect
from holdfast.engine.view.review import MOST_CHANGES, MOST_OF_TIMELINE, change_number, pairs, recent, review, timeline
from holdfast.model.access import WRITE
from holdfast.tools.agent import ServedMemory
from holdfast.tools.auth import asking, missing
from holdfast.tools.errors import answered
from holdfast.tools.results import READS, Verb, tool
from holdfast.tools.server import AppResult, shows_apps
from holdfast.tools.view import shapes

URI: Final = "ui://holdfast/view.html"
MIME: Final = "text/html;profile=mcp-app"
PAGE: Final = files(__package__) / "view.html"
OPEN: Final = AppConfig(resource_uri=URI, visibility=["model", "app"])
INSIDE: Final = AppConfig(resource_uri=URI, visibility=["app"])
ACTS: Final = (
    "remember", "mark_outdated", "submit_feedback", "admin_update_memory", "admin_connect_memories",
    "admin_delete_memory", "admin_restore_memory", "admin_purge", "admin_undo", "admin_undo_merge",
    "admin_resolve_proposal",
)  # fmt: skip

MEMORY_VIEW = """Open the View, in which the user sees what is stored, why a recall found it, and puts it right. \
When the user wants to look at the memory; not for finding something yourself: recall."""

SHOWN = "The View is open: the user sees the memory there and can change it. There is nothing to read here."
NOT_SHOWN = (
    "This client shows no MCP Apps, so the View cannot be opened here. The user can run `holdfast view` in a terminal, "
    "which opens it in the browser; recall, recall_node and mark_outdated do their part without it."
)

Space = Annotated[str | None, Field(description='A project, "global" for none; left out: all.')]


class OpenResult(TypedDict):
    """What the page begins with."""

    shown: bool
    question: str
    node_id: str
    space: str


def add_view(provider: LocalProvider, served: ServedMemory, setting: str) -> None:
    """Put the View's page and its tools where a server finds them."""
    _add_page(provider)
    _add_open(provider, setting)
    for add in (_add_recent, _add_review, _add_pairs, _add_ask, _add_graph, _add_timeline):
        add(provider, served)


def _add_page(provider: LocalProvider) -> None:
    @provider.resource(
        URI,
        name="view",
        title="Holdfast",
        description="The View: a page in which a person sees the memory and puts it right.",
        mime_type=MIME,
        meta=_meta(AppConfig(csp=ResourceCSP(), prefers_border=False)),
    )
    def _page() -> str:
        return PAGE.read_text("utf-8")


def _add_open(provider: LocalProvider, setting: str) -> None:
    @tool(provider, "memory_view", MEMORY_VIEW, READS, OpenResult, title="Memory", meta=_meta(OPEN))
    async def _memory_view(
        context: Context,
        question: Annotated[str | None, Field(description="Shows what answers it and why.")] = None,
        node_id: Annotated[str | None, Field(description="Shows this note.")] = None,
        space: Space = None,
    ) -> ToolResult:
        shown = shows_apps(context, setting)
        begin = OpenResult(shown=shown, question=question or "", node_id=node_id or "", space=space or "")
        return _for_page(SHOWN if shown else NOT_SHOWN, begin)


def _add_recent(provider: LocalProvider, served: ServedMemory) -> None:
    @_inside(provider, "view_recent", "the latest changes of notes, and what may be done here.", shapes.RecentResult)
    async def _view_recent(
        context: Context,
        space: Space = None,
        before: Annotated[int | None, Field(ge=1, description="`before` of the page that this one follows.")] = None,
        known: Annotated[int | None, Field(description="The `number` of the last answer.")] = None,
        limit: Annotated[int, Field(ge=1, le=MOST_CHANGES)] = 25,
    ) -> ToolResult:
        who, acts = served.caller(context), await _acts(context, served)
        number = await answered(served.memory.attend(change_number))
        shown = shapes.RecentResult(
            unchanged=True, number=number, count=0, spaces=[], space=who.space or "", acts=acts, changes=[], before=0
        )
        if known == number and before is None:
            return _for_page("Nothing has changed.", shown)
        found = await answered(served.memory.attend(lambda ports: recent(ports, who, space, before, limit)))
        shown |= {
            "unchanged": False,
            "number": found.number,
            "count": found.count,
            "spaces": list(found.spaces),
            "changes": [shapes.change_shape(change) for change in found.changes],
            "before": found.before or 0,
        }
        return _for_page(f"{len(found.changes)} changes.", shown)


def _add_review(provider: LocalProvider, served: ServedMemory) -> None:
    @_inside(provider, "view_review", "what waits for a person.", shapes.ReviewResult)
    async def _view_review(context: Context, space: Space = None) -> ToolResult:
        gated = await _may(context, "admin_resolve_proposal")
        found = await answered(served.memory.attend(lambda ports: review(ports, space, gated=gated)))
        return _for_page("What waits for a person.", shapes.review_shape(found))


def _add_pairs(provider: LocalProvider, served: ServedMemory) -> None:
    @_inside(
        provider,
        "view_pairs",
        "near duplicates and perhaps contradictions around the next few notes, newest first.",
        shapes.PairsResult,
    )
    async def _view_pairs(
        context: Context,
        space: Space = None,
        offset: Annotated[int, Field(ge=0, description="`looked` of the answer that this one follows.")] = 0,
    ) -> ToolResult:
        who = served.caller(context)
        found = await answered(served.memory.attend(lambda ports: pairs(ports, who, space, offset)))
        return _for_page(f"Looked at {found.looked} of {found.total} notes.", shapes.pairs_shape(found))


def _add_ask(provider: LocalProvider, served: ServedMemory) -> None:
    @_inside(provider, "view_ask", "asks as recall does, and says how the answer came about.", shapes.InspectResult)
    async def _view_ask(
        context: Context,
        question: str,
        space: Space = None,
        limit: Annotated[int, Field(ge=1, le=MOST_HITS)] = 10,
    ) -> ToolResult:
        who = served.caller(context)
        found = await answered(served.memory.attend(lambda ports: inspect(ports, who, question, space, limit)))
        return _for_page(f"{len(found.hits)} notes answer.", shapes.inspect_shape(found))


def _add_graph(provider: LocalProvider, served: ServedMemory) -> None:
    @_inside(provider, "view_map", "notes and links around a note, a question or a space.", shapes.GraphResult)
    async def _view_map(
        context: Context,
        node_id: str | None = None,
        question: str | None = None,
        space: Space = None,
        most: Annotated[int, Field(ge=1, le=MOST_NODES)] = 120,
    ) -> ToolResult:
        who, around = served.caller(context), Around(node_id, question, space)
        found = await answered(served.memory.attend(lambda ports: graph(ports, who, around, most)))
        return _for_page(f"{len(found.notes)} notes.", shapes.graph_shape(found))


def _add_timeline(provider: LocalProvider, served: ServedMemory) -> None:
    @_inside(provider, "view_timeline", "what happened, by the time of the events.", shapes.TimelineResult)
    async def _view_timeline(
        space: Space = None,
        before: Annotated[str | None, Field(description="ISO-8601.")] = None,
        offset: Annotated[int, Field(ge=0)] = 0,
        limit: Annotated[int, Field(ge=1, le=MOST_OF_TIMELINE)] = 50,
    ) -> ToolResult:
        found = await answered(served.memory.attend(lambda ports: timeline(ports, space, before, offset, limit)))
        return _for_page(f"{len(found.notes)} of {found.total} notes.", shapes.timeline_shape(found))


def _inside(provider: LocalProvider, name: str, description: str, result: type) -> Callable[[Verb], Verb]:
    """A tool for the page alone."""
    return tool(provider, name, f"For the View: {description}", READS, result, meta=_meta(INSIDE))


def _meta(app: AppConfig) -> dict[str, Any]:
    return {"ui": app_config_to_meta_dict(app)}


async def _acts(context: Context, served: ServedMemory) -> list[str]:
    """The tools with which whoever looks may change something: those that are there for them."""
    if served.guarded and missing(asking(), WRITE) is not None:
        return []
    return [name for name in ACTS if await _may(context, name)]


async def _may(context: Context, tool: str) -> bool:
    return await context.fastmcp.get_tool(tool) is not None


def _for_page(text: str, structured: Any) -> ToolResult:
    return AppResult(content=[TextContent(type="text", text=text)], structured_content=dict(structured))
