"""What the View's tools answer: structured content for the page, each text in it cut to a length."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from typing_extensions import TypedDict

from holdfast.engine.agent.answer import Hit
from holdfast.engine.maintenance.verdicts import Proposal
from holdfast.engine.view.inspect import Graph, Held, Inspected
from holdfast.engine.view.review import ChangeShown, Month, Pair, Pairs, Review, Timeline
from holdfast.model.note import Note
from holdfast.model.passages import first_sentence
from holdfast.model.ranking import FLOOR, GATE, WEAK
from holdfast.model.tokens import beginning
from holdfast.tools.render import DIGITS
from holdfast.tools.results import filled

TITLE_TOKENS, TEXT_TOKENS, NAME_TOKENS, REASON_TOKENS, VERDICT_TOKENS = 40, 60, 25, 60, 1500
MOST_TAGS = 12
LEAST_SHOWN = 0.00005  # of a term of a score


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
            {"path": beginning(path, REASON_TOKENS), "reason": beginning(reason, REASON_TOKENS)}
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
