"""What the agent tools answer, as structured content. Field for field the contract in the README."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, NotRequired, TypeVar, cast

from fastmcp import FastMCP
from fastmcp.server.providers import LocalProvider
from fastmcp.tools import ToolResult
from mcp_types import TextContent, ToolAnnotations
from pydantic import Field, TypeAdapter, ValidationError, ValidatorFunctionWrapHandler, WrapValidator
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import PydanticCustomError, core_schema
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from holdfast.engine.agent.browse import Connection
from holdfast.engine.agent.remember import Linked, Similar
from holdfast.engine.omi.integrity import Problem, Topology
from holdfast.tools.fitting import fitting_notices, notice_lines

Verb = TypeVar("Verb", bound=Callable[..., Any])
Shape = TypeVar("Shape")


def _hints(*, reads: bool = False, destroys: bool = False, again: bool = True) -> ToolAnnotations:
    """What a tool does; `again` says that the same call made twice changes no more than one."""
    return ToolAnnotations(
        read_only_hint=reads, destructive_hint=destroys, idempotent_hint=again, open_world_hint=False
    )


def _from_0_to_1(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    """The number; what is none, or outside, is told all that is wanted: "at most 1" is little help for NaN."""
    try:
        return read(value)
    except ValidationError:
        raise PydanticCustomError("fraction", "Input should be a number from 0 to 1") from None


Fraction = Annotated[float, Field(ge=0, le=1), WrapValidator(_from_0_to_1)]

READS = _hints(reads=True)
ADDS = _hints()
MAKES = _hints(again=False)
REPLACES = _hints(destroys=True)
DESTROYS = _hints(destroys=True, again=False)


class Indexed(TypedDict):
    text: bool
    vector: bool | Literal["pending"]


class RememberResult(TypedDict):
    id: str
    title: str
    type: str
    tier: str
    space: str
    created: str
    indexed: Indexed
    linked: list[Linked]
    similar: list[Similar]
    change_id: str | None
    notices: list[str]


class RecallHit(TypedDict):
    """What is always told of a hit, and what is left out where it says nothing, or there is no room for it."""

    id: str
    title: str
    content: str
    relevance: float
    weak: bool
    type: NotRequired[str]
    tier: NotRequired[str]
    space: NotRequired[str]
    created: NotRequired[str]
    event_time: NotRequired[str | None]
    cut: NotRequired[int]
    score: NotRequired[float]
    source: NotRequired[str]
    confidence: NotRequired[float]
    outdated: NotRequired[bool]
    why: NotRequired[str]
    belief: NotRequired[str]
    earlier: NotRequired[list[str]]
    later_since: NotRequired[str]


class RelatedNote(TypedDict):
    id: str
    title: str
    type: str
    space: str
    content: str
    outdated: bool
    via: str
    edge: str


class TensionPair(TypedDict):
    a: str
    b: str
    reason: str


class OmittedHits(TypedDict):
    count: int
    ids: list[str]


class ReadAs(TypedDict):
    after: str | None
    before: str | None
    space: str | None
    space_from: str


class RecallResult(TypedDict):
    results: list[RecallHit]
    related: list[RelatedNote]
    tensions: list[TensionPair]
    total: int | None
    omitted: OmittedHits
    read_as: ReadAs
    event_id: str
    notices: list[str]


class NeighbourNote(TypedDict):
    id: str
    title: str
    type: str


class NodeFields(TypedDict):
    """The fields of a note that are told as they are; see `holdfast.model.note.NoteField.shown`."""

    source_url: str | None
    session: str | None
    subject: str | None


class NodeResult(NodeFields):
    id: str
    type: str
    title: str
    tier: str
    space: str
    tags: list[str]
    content: str
    confidence: float
    created: str
    updated: str
    event_time: str | None
    valid_until: str | None
    outdated: bool
    outdated_reason: str | None
    superseded_by: str | None
    source: str
    path: str
    connections: list[Connection]
    neighbours: list[NeighbourNote]
    changes: int
    notices: list[str]


class OutdatedResult(TypedDict):
    id: str
    title: str
    valid_until: str | None
    superseded_by: str | None
    change_id: str | None
    notices: list[str]


class FeedbackResult(TypedDict):
    id: str
    recorded: bool
    effect: str
    notices: list[str]


class NowResult(TypedDict, total=False):
    """All of it, or nothing."""

    current_task: str
    recent_completions: list[str]
    pending_decisions: list[str]
    key_files: list[str]
    timestamp: str


class IntegrityDetails(TypedDict):
    checked: list[str]
    problems: list[Problem]
    summary: str


class IntegrityResult(TypedDict):
    now_md: bool
    memory_md: bool
    topology: Topology
    overall_safe: bool
    details: IntegrityDetails


class Noted(TypedDict):
    """An answer that may have something said beside it; the key is left out where there is nothing."""

    notices: NotRequired[list[str]]


def said(text: str, structured: Any, notices: Sequence[str] = ()) -> ToolResult:
    """An answer in both forms, with what is to be said beside it."""
    return beside(ToolResult(content=text, structured_content=structured), notices)


def beside(answer: ToolResult, notices: Sequence[str]) -> ToolResult:
    """The answer with these notices, in its text and in its structure."""
    if not notices:
        return answer
    texts = [block.text for block in answer.content if isinstance(block, TextContent)]
    structured = dict(answer.structured_content or {})
    fitting = fitting_notices(notices)
    structured["notices"] = [*structured.get("notices", ()), *fitting]
    return ToolResult(
        content="\n".join([*texts, *notice_lines(fitting)]),
        structured_content=structured,
    )


def tool(
    server: FastMCP[Any] | LocalProvider, name: str, description: str, hints: ToolAnnotations, result: Any, **more: Any
) -> Callable[[Verb], Verb]:
    """Put a tool on a server; its answers have the shape of `result`, a TypedDict or a schema."""
    schema = result if isinstance(result, dict) else schema_of(result)
    put: Callable[[Verb], Verb] = server.tool(
        name=name, description=description, annotations=hints, output_schema=schema, **more
    )
    return put


def filled(shape: type[Shape], source: object, /, **given: Any) -> Shape:
    """A result with what is given; whatever else it needs are attributes of the source."""
    needed = [name for name in shape.__annotations__ if name in given or name not in Noted.__annotations__]
    return cast("Shape", {name: given[name] if name in given else getattr(source, name) for name in needed})


def schema_of(result: type) -> dict[str, Any]:
    """The JSON schema of a result, without the titles that a generator adds and a model pays for."""
    return cast("dict[str, Any]", _bare(TypeAdapter(result).json_schema(schema_generator=_Undescribed)))


class _Undescribed(GenerateJsonSchema):
    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        """Without the docstring, which is for readers of the code."""
        return {key: value for key, value in super().dataclass_schema(schema).items() if key != "description"}


def _bare(value: Any) -> Any:
    if isinstance(value, list):
        return [_bare(item) for item in value]
    if not isinstance(value, dict):
        return value
    properties = value.get("properties")
    kept = {key: _bare(item) for key, item in value.items() if key not in ("title", "properties")}
    if isinstance(properties, dict):
        kept["properties"] = {name: _bare(item) for name, item in properties.items()}
    return kept
