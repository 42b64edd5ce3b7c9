"""Failures as a model meets them: the error's name, what was wrong, what to do. Never a value, never a trace."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from fastmcp.exceptions import ResourceError, ToolError, ValidationError
from fastmcp.server.middleware import Middleware, MiddlewareContext
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS
from pydantic import ValidationError as PydanticValidationError

from holdfast.errors import AmbiguousIdError, HoldfastError, InvalidArgumentError, MemoryNotFoundError
from holdfast.tools.fitting import on_one_line

Answer = TypeVar("Answer")

LONGEST_FAILURE = 2000
_SHOWN = 3


class PlainErrors(Middleware):
    """Says what is wrong with arguments in one sentence; the framework's own report would repeat their values."""

    async def on_call_tool(
        self, context: MiddlewareContext[Any], call_next: Callable[[MiddlewareContext[Any]], Awaitable[Answer]]
    ) -> Answer:
        try:
            return await call_next(context)
        except ValidationError as error:
            raise ToolError(_sentence(error.__cause__).public) from None

    async def on_read_resource(
        self, context: MiddlewareContext[Any], call_next: Callable[[MiddlewareContext[Any]], Awaitable[Answer]]
    ) -> Answer:
        try:
            return await call_next(context)
        except MCPError as error:  # a client that asked for several must know which one it was
            raise MCPError(error.code, error.message, {"uri": str(context.message.uri)}) from None


async def answered(call: Awaitable[Answer]) -> Answer:
    """Await an engine's answer; its errors become tool errors with their public words."""
    try:
        return await call
    except HoldfastError as error:
        raise ToolError(on_one_line(error.public, LONGEST_FAILURE)) from None  # it may name notes


async def read(call: Awaitable[Answer]) -> Answer:
    """As `answered`, for resources and prompts: failures are errors of the protocol, -32602 for what is not there."""
    try:
        return await call
    except (InvalidArgumentError, MemoryNotFoundError, AmbiguousIdError) as error:
        raise MCPError(INVALID_PARAMS, _text_of("Resource not found", error)) from None
    except HoldfastError as error:
        raise MCPError(INTERNAL_ERROR, _text_of("Not readable", error)) from None


def _text_of(what: str, error: HoldfastError) -> str:
    return on_one_line(f"{what}: {error.public}", LONGEST_FAILURE)


async def readable(call: Awaitable[Answer]) -> Answer:
    """As `answered`, for resources."""
    try:
        return await call
    except HoldfastError as error:
        raise ResourceError(on_one_line(error.public, LONGEST_FAILURE)) from None


def _sentence(cause: BaseException | None) -> InvalidArgumentError:
    if not isinstance(cause, PydanticValidationError):
        return InvalidArgumentError("The arguments do not fit this tool.", "See its input schema.")
    return InvalidArgumentError(sentence_of(cause), "Nothing was done.")


def sentence_of(error: PydanticValidationError) -> str:
    """What does not fit, by its place, without its value."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    wrong = list(dict.fromkeys(_one(each["type"], each["loc"], each["msg"]) for each in found))
    more = f" and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
    return "; ".join(wrong[:_SHOWN]) + more + "."


def _one(kind: str, place: tuple[int | str, ...], message: str) -> str:
    name = _named(place)
    if kind == "unexpected_keyword_argument":
        return "there is an argument that this tool does not have (see its input schema)"
    if kind in ("missing_argument", "missing"):
        inner = f": {place[-1]}" if len(place) > 1 else ""
        return f"{name}{inner} is missing"
    return f"{name}: {message[:1].lower()}{message[1:]}"


def _named(place: tuple[int | str, ...]) -> str:
    """A parameter, with the place in its list: `tags[2]`."""
    name = str(place[0]) if place else "argument"
    return name + "".join(f"[{part}]" for part in place[1:] if isinstance(part, int))
