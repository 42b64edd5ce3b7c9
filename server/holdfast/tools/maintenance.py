"""run_maintenance as a model meets it: what there is to judge, fenced as data, and how each verdict ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, NotRequired, TypeVar, cast

from fastmcp import Context, FastMCP
from fastmcp.tools import ToolResult
from pydantic import ConfigDict, Field, ValidationError, ValidatorFunctionWrapHandler, WithJsonSchema, WrapValidator
from typing_extensions import TypedDict

from holdfast.engine.maintenance.batches import BATCH_PREFIX, LIMIT, MOST, Batch, Tended, Verdicts, find_work, judge
from holdfast.engine.maintenance.verdicts import ConsolidationVerdict, EdgeVerdict, MergeVerdict, Outcome, WrongVerdict
from holdfast.engine.presence.distilling import ExtractionVerdict
from holdfast.errors import InvalidArgumentError
from holdfast.model.maintenance import Candidate, Kind, Text, Verdict
from holdfast.model.note import Note
from holdfast.model.tokens import LONGEST_NOTICE, beginning
from holdfast.model.transcripts.pieces import Piece
from holdfast.model.words import counted
from holdfast.tools.agent import ServedMemory
from holdfast.tools.errors import LONGEST_FAILURE, answered, sentence_of
from holdfast.tools.fitting import LINE_TOKENS, fenced, new_mark, on_one_line, trust_rule
from holdfast.tools.results import ADDS, Fraction, filled, tool

LONGEST_TITLE = 60
V = TypeVar("V", EdgeVerdict, MergeVerdict, ConsolidationVerdict, ExtractionVerdict)

RUN_MAINTENANCE = """Tend the memory when a notice or the user asks, not during other work. Without arguments: notes \
to judge. Then `batch_id` and `results`: an edge for every pair (`none` where nothing applies; a evolved_from b \
retires b, the older), merges, consolidations (what a given list does not name is declined). Can be undone."""

JUDGE = """Judge these; call run_maintenance with this batch_id and results:
- edges: each pair; edge_type none where they are two matters or nothing applies. a evolved_from b retires b, the \
older: dates decide, that of an edit too. contradicts keeps both, the newer first: for a tension, and where you are \
unsure.
- merges: pairs that say the same (keep_id, discard_id, merged_content that loses nothing).
- consolidations: clusters of K that one note tells better; [] for none.
What a list of merges or consolidations that you give does not name is taken as declined: give a list whole, or not yet.
Where a note is cut (…) and it matters: recall_node."""

DISTIL = """
extractions: what was said in past sessions. In results, one entry for each thing worth keeping: {piece_id, content, \
type, title?, about_self?}. Few, self-contained, specific: decisions with what was rejected and why, corrections, \
preferences (about_self), procedures that were hard to find. Nothing generic, nothing that the code or a note says, no \
plans that were dropped. Two to five sentences in the piece's own words, names and language. A piece without an entry \
is done with; [] where none has any. Leave extractions out to look at them later."""

REASONS_TOKENS = 8000  # of all reasons of an answer

_MARKS: tuple[tuple[Kind, str, str], ...] = (
    ("conflicts", "C", "Does one contradict or replace the other?"),
    ("merges", "M", "Do they say the same?"),
    ("links", "L", "Do they belong together?"),
    ("consolidations", "K", "Is one note better?"),
)


AnyKind = Literal[Kind, "extractions"]
OptionalText = Annotated[str | None, WithJsonSchema({"type": "string"})]


class EdgeItem(TypedDict):
    __pydantic_config__ = ConfigDict(extra="ignore")  # type: ignore[misc] # read by pydantic

    node_a_id: str
    node_b_id: str
    edge_type: Verdict
    reason: NotRequired[OptionalText]


class MergeItem(TypedDict):
    __pydantic_config__ = ConfigDict(extra="ignore")  # type: ignore[misc]

    keep_id: str
    discard_id: str
    merged_title: NotRequired[OptionalText]
    merged_content: NotRequired[OptionalText]


class ConsolidationItem(TypedDict):
    __pydantic_config__ = ConfigDict(extra="ignore")  # type: ignore[misc]

    node_ids: list[str]
    title: str
    content: str
    type: NotRequired[str]


class ExtractionItem(TypedDict):
    __pydantic_config__ = ConfigDict(extra="ignore")  # type: ignore[misc]

    piece_id: str
    content: str
    type: NotRequired[str]
    title: NotRequired[OptionalText]
    about_self: NotRequired[bool]
    confidence: NotRequired[Fraction | None]


def _or_wrong(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    """An item, or what is wrong with it: the others are applied all the same."""
    try:
        return read(value)
    except ValidationError as error:
        return WrongVerdict(sentence_of(error))


_SHAPE_COMES_LATER = WithJsonSchema({"type": "object"})  # how they look is told where there are any: see DISTIL


class Results(TypedDict, total=False):
    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc] # read by pydantic

    edges: list[Annotated[EdgeItem, WrapValidator(_or_wrong)]]
    merges: list[Annotated[MergeItem, WrapValidator(_or_wrong)]]
    consolidations: list[Annotated[ConsolidationItem, WrapValidator(_or_wrong)]]
    extractions: list[Annotated[ExtractionItem, WrapValidator(_or_wrong), _SHAPE_COMES_LATER]]


class PlainNote(TypedDict):
    id: str
    title: str
    type: str
    space: str
    created: str
    content: str


class ShownNote(PlainNote):
    edited: NotRequired[str]  # when its text was, after it was stored


class ShownPair(TypedDict):
    node_a: ShownNote
    node_b: ShownNote
    similarity: float


class ShownCluster(TypedDict):
    nodes: list[ShownNote]
    similarity: float


class ItemOutcome(TypedDict):
    item: str
    status: str
    reason: str
    change_id: str | None
    proposal_id: str | None


class MaintenanceResult(TypedDict):
    batch_id: str | None
    expires_at: str | None
    links: list[ShownPair]
    conflicts: list[ShownPair]
    merges: list[ShownPair]
    consolidations: list[ShownCluster]
    outcomes: list[ItemOutcome]
    notices: list[str]


def add_maintenance_tools(server: FastMCP, served: ServedMemory) -> None:
    """Put run_maintenance on a server. Without `results` it reads; with them it writes."""

    @tool(server, "run_maintenance", RUN_MAINTENANCE, ADDS, MaintenanceResult)
    async def _run_maintenance(
        context: Context,
        results: Results | None = None,
        batch_id: str | None = None,
        job_id: str | None = None,
        kinds: list[AnyKind] | None = None,
        limit: Annotated[int, Field(ge=1, le=MOST)] = LIMIT,
        dry_run: bool = False,
    ) -> ToolResult:
        who = served.caller(context)
        batch_id, notices = _batch_of(batch_id, job_id)
        if results is None:
            if batch_id is not None:
                await answered(_missing())
            found = await answered(
                served.memory.attend(lambda ports: find_work(ports, who, kinds, limit, dry_run=dry_run))
            )
            return _batch(found)
        async with served.memory.own() as memory:
            judged = await answered(judge(memory, who, _verdicts(results), batch_id, dry_run=dry_run))
        return _outcomes(judged.outcomes, dry_run, [*notices, *_declined(judged, dry_run)])


def _batch_of(batch_id: str | None, job_id: str | None) -> tuple[str | None, list[str]]:
    """The batch that is meant: Ormah calls it a job. A job of Ormah's own is none of ours."""
    if batch_id is not None or job_id is None or not job_id.strip():
        return batch_id, []
    if job_id.strip().startswith(BATCH_PREFIX):
        return job_id.strip(), []
    return None, ["job_id names no batch of Holdfast: the verdicts were taken without one."]


async def _missing() -> None:
    raise InvalidArgumentError("results is missing.", "Give the verdicts on this batch, or leave batch_id out.")


def _verdicts(results: Results) -> Verdicts:
    return Verdicts(
        _each(results.get("edges"), lambda item: EdgeVerdict(**_known(EdgeItem, item))),
        _each(results.get("merges"), lambda item: MergeVerdict(**_known(MergeItem, item))),
        _each(results.get("consolidations"), _consolidation),
        _each(results.get("extractions"), lambda item: ExtractionVerdict(**_known(ExtractionItem, item))),
    )


def _each(items: Sequence[Any] | None, read: Callable[[Any], V]) -> list[V | WrongVerdict] | None:
    return None if items is None else [item if isinstance(item, WrongVerdict) else read(item) for item in items]


def _consolidation(item: Any) -> ConsolidationVerdict:
    return ConsolidationVerdict(**_known(ConsolidationItem, item) | {"node_ids": tuple(item["node_ids"])})


def _known(shape: Any, item: Any) -> dict[str, Any]:
    return {key: item[key] for key in shape.__annotations__ if key in item}


def _batch(batch: Batch) -> ToolResult:
    structured = _nothing() | {"batch_id": batch.id, "expires_at": batch.expires_at}
    structured["notices"] = _notices(batch)
    for kind, items in batch.items.items():
        structured[kind] = [_shown(item, batch.edited) for item in items]
    if batch.pieces:
        structured["extractions"] = [_shown_piece(piece) for piece in batch.pieces]
    return ToolResult(content=batch_text(batch), structured_content=structured)


def _notices(batch: Batch) -> list[str]:
    larger = f"{', '.join(batch.names[note] for note in batch.larger)} {_LARGER}" if batch.larger else ""
    return [notice for notice in (batch.notice, larger) if notice]


_LARGER = "told more than is shown: evolved_from would retire all of it, contradicts keeps both."


def _nothing() -> dict[str, Any]:
    lists: dict[str, Any] = {key: [] for key in ("links", "conflicts", "merges", "consolidations", "outcomes")}
    return {"batch_id": None, "expires_at": None, **lists, "notices": []}


def batch_text(batch: Batch) -> str:
    """A batch as a model reads it: each note on a line of its own within fences, the same passage once."""
    counts = [counted(len(items), kind.removesuffix("s"), kind) for kind, items in batch.items.items() if items]
    counts += [counted(len(batch.pieces), "piece") + " of past sessions"] if batch.pieces else []
    notices = [f"Note: {notice}" for notice in _notices(batch)]
    if not counts:
        return "\n".join(["Nothing to process." if batch.is_all else "Nothing to process yet.", *notices])
    head = f"Batch {batch.id}, open until {batch.expires_at}" if batch.id else "Dry run: no batch was opened"
    mark = new_mark()
    lines = [f"{head}: {', '.join(counts)}.", *notices, _rules(batch), trust_rule(mark)]
    shown: set[tuple[str, str]] = set()
    for kind, letter, question in _MARKS:
        items = batch.items.get(kind, ())
        rows = [
            f"{letter}{number} {_row(text, passage, batch, shown)}"
            for number, item in enumerate(items, 1)
            for text, passage in zip(item.texts, item.passages, strict=True)
        ]
        if rows:
            lines += [f"\n{kind}: {question}", fenced("\n".join(rows), mark)]
    if batch.pieces:
        lines += [*([DISTIL] if batch.id else []), *(_fenced_piece(piece, mark) for piece in batch.pieces)]
    return "\n".join(lines)


def _rules(batch: Batch) -> str:
    """What to do with a batch; of a dry run how to have one."""
    if batch.id is None:
        return "To judge these, call run_maintenance without dry_run."
    return JUDGE if any(batch.items.values()) else "Judge these; call run_maintenance with this batch_id and results."


def _fenced_piece(piece: Piece, mark: str) -> str:
    """A piece in a fence of its own: what was said there may be anything, fences too."""
    where = on_one_line(f"{piece.at[:10]} {piece.source} space {piece.space or 'global'} session {piece.session}")
    return f"{piece.id} {where}\n{fenced(piece.shown, mark)}"


def _shown_piece(piece: Piece) -> dict[str, str]:
    return {"piece_id": piece.id, "session": piece.session, "space": piece.space, "at": piece.at, "text": piece.shown}


def _row(text: Text, passage: str, batch: Batch, shown: set[tuple[str, str]]) -> str:
    """A note on one line: its id, when it happened, what it is, and what of it is shown unless it was before."""
    note = text.note
    name = f"{batch.names[note.id]} {note.happened[:10]} {note.type}"
    if note.id in batch.edited:
        name += f" edited {batch.edited[note.id][:10]}"
    if (note.id, passage) in shown:
        return f"{name} (above)"
    shown.add((note.id, passage))
    title = on_one_line(note.title, LONGEST_TITLE)
    return f"{name} | {f'{title}: ' if _says_more(note, title, passage) else ''}{passage}"


def _says_more(note: Note, title: str, passage: str) -> bool:
    """Whether a title is more than how the note begins."""
    return bool(note.shown_title) and not passage.startswith(title)


def _shown(item: Candidate, edited: Mapping[str, str]) -> dict[str, Any]:
    notes = [_note(text, passage, edited) for text, passage in zip(item.texts, item.passages, strict=True)]
    similarity = round(item.similarity, 3)
    if item.kind == "consolidations":
        return {"nodes": notes, "similarity": similarity}
    return {"node_a": notes[0], "node_b": notes[1], "similarity": similarity}


def _note(text: Text, passage: str, edited: Mapping[str, str]) -> ShownNote:
    title = beginning(text.note.title, 2 * LINE_TOKENS)
    is_told = passage.startswith("…") or _says_more(text.note, title, passage)
    note = filled(PlainNote, text.note, title=title if is_told else "", content=passage)
    return cast("ShownNote", {**note, "edited": edited[text.note.id]} if text.note.id in edited else note)


def _fitted(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """With reasons that fit: the more there are the shorter."""
    most = max(LINE_TOKENS, min(LONGEST_NOTICE, REASONS_TOKENS // max(1, len(outcomes))))
    return [replace(outcome, reason=beginning(outcome.reason, most)) for outcome in outcomes]


def _outcomes(outcomes: Sequence[Outcome], dry_run: bool, notices: Sequence[str]) -> ToolResult:
    outcomes, counts = _fitted(outcomes), dict[str, int]()
    for outcome in outcomes:
        counts[outcome.status] = counts.get(outcome.status, 0) + 1
    would = {"applied": "would be applied"} if dry_run else {}
    listed = ", ".join(f"{count} {would.get(each, each)}" for each, count in counts.items()) or "nothing to apply"
    head = f"Dry run, nothing was written: {listed}." if dry_run else f"Maintenance: {listed}."
    lines = [
        f"{item.item} {would.get(item.status, item.status)}: {on_one_line(item.reason, LONGEST_FAILURE)}{_undo(item)}"
        for item in outcomes
    ]
    if any(item.change_id for item in outcomes):
        lines.append("Undo one: mark_outdated(undo=its handle)")
    lines += [f"Note: {notice}" for notice in notices]
    structured = _nothing() | {
        "outcomes": [filled(ItemOutcome, outcome) for outcome in outcomes],
        "notices": list(notices),
    }
    return ToolResult(content="\n".join([head, *lines]), structured_content=structured)


def _declined(judged: Tended, dry_run: bool) -> list[str]:
    """That what was not named was taken as declined, and how to have it all the same."""
    taken = "would be taken as declined." if dry_run else f"taken as declined. {_STILL}"
    return [f"{counted(count, kind[:-1], kind)} not named: {taken}" for kind, count in judged.declined.items()]


_STILL = "What you want all the same, name in another call with this batch_id; else it comes back when a text changes."


def _undo(outcome: Outcome) -> str:
    return f" Undo handle: {outcome.change_id}" if outcome.change_id else ""
