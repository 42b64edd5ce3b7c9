"""The tools of the View: one opens it, the others are for its page alone and only read.

What a person does in it are calls of the tools that there are anyway, so that gate, scopes, journal and undo hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from importlib.resources import files
from typing import Annotated, Any, Final

from fastmcp import Context
from fastmcp.apps.config import AppConfig, ResourceCSP, app_config_to_meta_dict
from fastmcp.server.providers import LocalProvider
from fastmcp.tools import ToolResult
from mcp_types import TextContent
from pydantic import Field
from typing_extensions import TypedDict

from holdfast.engine.agent.answer import Hit
from holdfast.engine.maintenance.verdicts import Proposal
from holdfast.engine.view.inspect import MOST_HITS, MOST_NODES, Around, Graph, Held, Inspected, graph, inspect
from holdfast.engine.view.review import (
    MOST_CHANGES,
    MOST_OF_TIMELINE,
    ChangeShown,
    Month,
    Pair,
    Pairs,
    Review,
    Timeline,
    change_number,
    pairs,
    recent,
    review,
    timeline,
)
from holdfast.model.access import WRITE
from holdfast.model.note import Note
from holdfast.model.passages import first_sentence
from holdfast.model.ranking import FLOOR, GATE, WEAK
from holdfast.model.tokens import beginning
from holdfast.tools.agent import ServedMemory
from holdfast.tools.auth import asking, missing
from holdfast.tools.errors import answered
from holdfast.tools.render import DIGITS
from holdfast.tools.results import READS, Verb, filled, tool
from holdfast.tools.server import AppResult, shows_apps

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

TITLE_TOKENS, TEXT_TOKENS, NAME_TOKENS, REASON_TOKENS, VERDICT_TOKENS = 40, 60, 25, 60, 1500
MOST_TAGS = 12
LEAST_SHOWN = 0.00005  # of a term of a score

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
    @_inside(provider, "view_recent", "the latest changes of notes, and what may be done here.", RecentResult)
    async def _view_recent(
        context: Context,
        space: Space = None,
        before: Annotated[int | None, Field(ge=1, description="`before` of the page that this one follows.")] = None,
        known: Annotated[int | None, Field(description="The `number` of the last answer.")] = None,
        limit: Annotated[int, Field(ge=1, le=MOST_CHANGES)] = 25,
    ) -> ToolResult:
        who, acts = served.caller(context), await _acts(context, served)
        number = await answered(served.memory.attend(change_number))
        shown = RecentResult(
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
            "changes": [change_shape(change) for change in found.changes],
            "before": found.before or 0,
        }
        return _for_page(f"{len(found.changes)} changes.", shown)


def _add_review(provider: LocalProvider, served: ServedMemory) -> None:
    @_inside(provider, "view_review", "what waits for a person.", ReviewResult)
    async def _view_review(context: Context, space: Space = None) -> ToolResult:
        gated = await _may(context, "admin_resolve_proposal")
        found = await answered(served.memory.attend(lambda ports: review(ports, space, gated=gated)))
        return _for_page("What waits for a person.", review_shape(found))


def _add_pairs(provider: LocalProvider, served: ServedMemory) -> None:
    @_inside(
        provider,
        "view_pairs",
        "near duplicates and perhaps contradictions around the next few notes, newest first.",
        PairsResult,
    )
    async def _view_pairs(
        context: Context,
        space: Space = None,
        offset: Annotated[int, Field(ge=0, description="`looked` of the answer that this one follows.")] = 0,
    ) -> ToolResult:
        who = served.caller(context)
        found = await answered(served.memory.attend(lambda ports: pairs(ports, who, space, offset)))
        return _for_page(f"Looked at {found.looked} of {found.total} notes.", pairs_shape(found))


def _add_ask(provider: LocalProvider, served: ServedMemory) -> None:
    @_inside(provider, "view_ask", "asks as recall does, and says how the answer came about.", InspectResult)
    async def _view_ask(
        context: Context,
        question: str,
        space: Space = None,
        limit: Annotated[int, Field(ge=1, le=MOST_HITS)] = 10,
    ) -> ToolResult:
        who = served.caller(context)
        found = await answered(served.memory.attend(lambda ports: inspect(ports, who, question, space, limit)))
        return _for_page(f"{len(found.hits)} notes answer.", inspect_shape(found))


def _add_graph(provider: LocalProvider, served: ServedMemory) -> None:
    @_inside(provider, "view_map", "notes and links around a note, a question or a space.", GraphResult)
    async def _view_map(
        context: Context,
        node_id: str | None = None,
        question: str | None = None,
        space: Space = None,
        most: Annotated[int, Field(ge=1, le=MOST_NODES)] = 120,
    ) -> ToolResult:
        who, around = served.caller(context), Around(node_id, question, space)
        found = await answered(served.memory.attend(lambda ports: graph(ports, who, around, most)))
        return _for_page(f"{len(found.notes)} notes.", graph_shape(found))


def _add_timeline(provider: LocalProvider, served: ServedMemory) -> None:
    @_inside(provider, "view_timeline", "what happened, by the time of the events.", TimelineResult)
    async def _view_timeline(
        space: Space = None,
        before: Annotated[str | None, Field(description="ISO-8601.")] = None,
        offset: Annotated[int, Field(ge=0)] = 0,
        limit: Annotated[int, Field(ge=1, le=MOST_OF_TIMELINE)] = 50,
    ) -> ToolResult:
        found = await answered(served.memory.attend(lambda ports: timeline(ports, space, before, offset, limit)))
        return _for_page(f"{len(found.notes)} of {found.total} notes.", timeline_shape(found))


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


# --- what the tools answer: structured content, each text in it cut to a length ----------------


class Card(TypedDict):
    """A note as lists show it: what stands for it, and how it stands."""

    id: str
    title: str
    text: str
    type: str
    tier: str
    space: str
    tags: list[str]
    created: str
    updated: str
    happened: str
    confidence: float
    outdated: bool
    outdated_reason: str
    superseded_by: str


class ShownChange(TypedDict):
    change_id: str
    op: str
    at: str
    by: str
    source: str
    undone_by: str
    own: bool
    notes: list[Card]
    gone: list[str]
    more: int


class RecentResult(TypedDict):
    """With `unchanged` nothing has changed since the number that was given, and the lists are empty."""

    unchanged: bool
    number: int
    count: int
    spaces: list[str]
    space: str
    acts: list[str]
    changes: list[ShownChange]
    before: int


class ShownPair(TypedDict):
    first: str
    second: str
    reason: str
    similarity: float


class ShownProposal(TypedDict):
    id: str
    kind: str
    created: str
    by: str
    notes: list[str]
    title: str
    content: str
    reason: str
    keep: str
    edge: str


class ShownBelief(TypedDict):
    id: str
    standing: str


class ShownProblem(TypedDict):
    path: str
    reason: str


class ReviewResult(TypedDict):
    proposals: list[ShownProposal]
    count_proposals: int
    opposed: list[ShownPair]
    doubted: list[ShownBelief]
    quarantined: list[ShownProblem]
    count_quarantined: int
    notes: list[Card]


class PairsResult(TypedDict):
    """With `looked` as large as `total` every note has been looked at."""

    conflicts: list[ShownPair]
    alike: list[ShownPair]
    notes: list[Card]
    looked: int
    total: int


class Term(TypedDict):
    name: str
    value: float


class Reason(TypedDict):
    """A hit: `terms` add up to its score as it was first, before notes that replace others took their places."""

    note: Card
    relevance: float
    score: float
    weak: bool
    listed: bool
    coverage: float
    z: float | None
    matched: list[str]
    terms: list[Term]
    why: str
    earlier: list[str]
    belief: str


class HeldReason(TypedDict):
    hit: Reason
    why: str
    lacking: float | None
    instead: str


class InspectResult(TypedDict):
    hits: list[Reason]
    held: list[HeldReason]
    space: str
    after: str
    before: str
    time_words: str
    elsewhen: bool
    by_meaning: bool
    described: str
    event_id: str
    gate: float
    floor: float
    weak: float
    notices: list[str]


class ShownEdge(TypedDict):
    source: str
    target: str
    type: str
    weight: float
    reason: str


class GraphResult(TypedDict):
    notes: list[Card]
    edges: list[ShownEdge]
    seeds: list[str]
    total: int


class TimelineResult(TypedDict):
    notes: list[Card]
    offset: int
    total: int
    months: list[Month]


def card(note: Note) -> Card:
    return filled(
        Card,
        note,
        title=beginning(note.title, TITLE_TOKENS),
        text=first_sentence(note.content, TEXT_TOKENS),
        space=beginning(note.space, NAME_TOKENS),
        tags=[beginning(tag, NAME_TOKENS) for tag in note.tags[:MOST_TAGS]],
        confidence=round(note.confidence, DIGITS),
        outdated=note.is_outdated,
        outdated_reason=beginning(note.outdated_reason or "", REASON_TOKENS),
        superseded_by=note.superseded_by or "",
    )


def change_shape(change: ChangeShown) -> ShownChange:
    return filled(
        ShownChange,
        change,
        by=beginning(change.by, NAME_TOKENS),
        source=beginning(change.source, NAME_TOKENS),
        undone_by=change.undone_by or "",
        notes=[card(note) for note in change.notes],
    )


def review_shape(found: Review) -> ReviewResult:
    return filled(
        ReviewResult,
        found,
        proposals=[_proposal(each) for each in found.proposals],
        opposed=[
            filled(ShownPair, each, reason=beginning(each.reason, REASON_TOKENS), similarity=1)
            for each in found.opposed
        ],
        doubted=[{"id": each, "standing": found.beliefs.get(each, "")} for each in found.doubted],
        quarantined=[
            {"path": beginning(f"memories/{path}", REASON_TOKENS), "reason": beginning(reason, REASON_TOKENS)}
            for path, reason in found.quarantined
        ],
        notes=[card(note) for note in found.notes.values()],
    )


def pairs_shape(found: Pairs) -> PairsResult:
    notes = [card(note) for note in found.notes.values()]
    return filled(PairsResult, found, conflicts=_pairs(found.conflicts), alike=_pairs(found.alike), notes=notes)


def _pairs(pairs: Iterable[Pair]) -> list[ShownPair]:
    return [filled(ShownPair, each, reason="", similarity=round(each.similarity, 3)) for each in pairs]


def _proposal(proposal: Proposal) -> ShownProposal:
    """A proposal with what its verdict says; the keys of verdicts differ by kind."""
    values: Mapping[str, Any] = asdict(proposal.verdict)

    def said(*names: str) -> str:
        return str(next((values[name] for name in names if values.get(name)), ""))

    return filled(
        ShownProposal,
        proposal,
        by=beginning(proposal.by, NAME_TOKENS),
        notes=list(proposal.hashes),
        title=beginning(said("merged_title", "title"), TITLE_TOKENS),
        content=beginning(said("merged_content", "content"), VERDICT_TOKENS),
        reason=beginning(said("reason"), REASON_TOKENS),
        keep=said("keep_id", "node_a_id"),
        edge=said("edge_type"),
    )


def inspect_shape(found: Inspected) -> InspectResult:
    return filled(
        InspectResult,
        found,
        hits=[_reason(hit) for hit in found.hits],
        held=[_held(each) for each in found.held],
        space=found.spaces[0] if found.spaces else found.space or "",
        after=found.after or "",
        before=found.before or "",
        time_words=beginning(found.time_words, NAME_TOKENS),
        described=beginning(found.described, REASON_TOKENS),
        gate=GATE,
        floor=FLOOR,
        weak=WEAK,
        notices=[beginning(notice, REASON_TOKENS * 2) for notice in found.notices],
    )


def _reason(hit: Hit) -> Reason:
    ranked = hit.ranked
    terms = ranked.terms._asdict() if ranked.terms is not None else {}
    return {
        "note": card(hit.note),
        "relevance": round(ranked.relevance, 4),
        "score": _finite(ranked.score),
        "weak": ranked.weak,
        "listed": hit.listed,
        "coverage": round(ranked.candidate.coverage, 4),
        "z": None if ranked.candidate.z is None else round(ranked.candidate.z, 3),
        "matched": [beginning(word, NAME_TOKENS) for word in sorted(ranked.candidate.matched)[:MOST_TAGS]],
        "terms": [
            {"name": name, "value": round(value, 4)} for name, value in terms.items() if abs(value) >= LEAST_SHOWN
        ],
        "why": beginning(ranked.why, REASON_TOKENS * 2),
        "earlier": [item.note.id for item in hit.earlier],
        "belief": hit.belief,
    }


def _finite(score: float) -> float:
    """A score as JSON has it: what stands only for another note has minus infinity of its own."""
    return round(max(score, -1000.0), 4)


def _held(each: Held) -> HeldReason:
    lacking = None if each.lacking is None else round(each.lacking, 4)
    return {"hit": _reason(each.hit), "why": each.why, "lacking": lacking, "instead": each.instead or ""}


def graph_shape(found: Graph) -> GraphResult:
    edges = [filled(ShownEdge, edge, reason=beginning(edge.reason, NAME_TOKENS)) for edge in found.edges]
    notes = [card(note) for note in found.notes]
    return filled(GraphResult, found, notes=notes, edges=edges, seeds=sorted(found.seeds))


def timeline_shape(found: Timeline) -> TimelineResult:
    return filled(TimelineResult, found, notes=[card(note) for note in found.notes])
