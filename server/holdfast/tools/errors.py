"""How a request ends: a failure as a model meets it, and one line in the log for each.

The line says what was asked, by whom, how long it took and how it ended; never what was said. It stands around
everything that the server does with a request, whichever era and transport that came by, so that a request without a
handler or with malformed parameters has its line too.
"""

from __future__ import annotations

import difflib
import json
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from typing import Any, Protocol, TypeVar

import anyio
import structlog
from fastmcp import FastMCP
from fastmcp.exceptions import PromptError, ResourceError, ToolError, ValidationError
from fastmcp.server.middleware import Middleware, MiddlewareContext
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS
from pydantic import ValidationError as PydanticValidationError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.errors import NAMES, AmbiguousIdError, HoldfastError, InvalidArgumentError, MemoryNotFoundError
from holdfast.model.access import LOCAL
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
            raise ToolError(_sentence(error.__cause__, await _parameters(context)).public) from None

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
    """As `answered`, for resources: failures are errors of the protocol, -32602 for what is not there."""
    try:
        return await call
    except (InvalidArgumentError, MemoryNotFoundError, AmbiguousIdError) as error:
        raise MCPError(INVALID_PARAMS, _text_of("Resource not found", error)) from None
    except HoldfastError as error:
        raise MCPError(INTERNAL_ERROR, _text_of("Not readable", error)) from None


async def prompted(call: Awaitable[Answer]) -> Answer:
    """As `answered`, for prompts: the framework passes on its own errors as they are said, no others."""
    try:
        return await call
    except InvalidArgumentError as error:
        raise ValidationError(on_one_line(error.public, LONGEST_FAILURE), log_level=logging.INFO) from None
    except HoldfastError as error:
        raise PromptError(on_one_line(error.public, LONGEST_FAILURE)) from None


def _text_of(what: str, error: HoldfastError) -> str:
    return on_one_line(f"{what}: {error.public}", LONGEST_FAILURE)


async def readable(call: Awaitable[Answer]) -> Answer:
    """As `answered`, for resources."""
    try:
        return await call
    except HoldfastError as error:
        raise ResourceError(on_one_line(error.public, LONGEST_FAILURE)) from None


async def _parameters(context: MiddlewareContext[Any]) -> frozenset[str]:
    """The names of those arguments of the called tool that were not given."""
    if context.fastmcp_context is None:
        return frozenset()
    tool = await context.fastmcp_context.fastmcp.get_tool(context.message.name)
    return frozenset(tool.parameters.get("properties", ()) if tool else ()) - set(context.message.arguments or ())


def _sentence(cause: BaseException | None, free: AbstractSet[str]) -> InvalidArgumentError:
    if not isinstance(cause, PydanticValidationError):
        return InvalidArgumentError("The arguments do not fit this tool.", "See its input schema.")
    return InvalidArgumentError(sentence_of(cause, free), "Nothing was done.")


def sentence_of(error: PydanticValidationError, free: AbstractSet[str] = frozenset()) -> str:
    """What does not fit, by its place, without its value; `free` are arguments that may be meant by an unknown one."""
    found = error.errors(include_url=False, include_context=False)
    said = ((each, (each["type"] in _OF_JSON and _broken_json(each["input"])) or each["msg"]) for each in found)
    wrong = list(dict.fromkeys(_one(each["type"], each["loc"], message, free) for each, message in said))
    more = f" and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
    return "; ".join(wrong[:_SHOWN]) + more + "."


def _one(kind: str, place: tuple[int | str, ...], message: str, free: AbstractSet[str]) -> str:
    name = _named(place)
    if kind == "unexpected_keyword_argument":
        which = f'"{name}" is an' if _PLAIN.fullmatch(name) and len(name) <= _LONGEST_NAME else "there is an"
        meant = _nearly(name, free)
        return f"{which} argument that this tool does not have ({f'use {meant}' if meant else 'see its input schema'})"
    if kind == "extra_forbidden" and len(place) > 1:
        key = str(place[-1])
        which = f'"{key}"' if _PLAIN.fullmatch(key) and len(key) <= _LONGEST_NAME else "a key that is given"
        return f"{name}: {which} is no key of it (see the tool's input schema)"
    if kind in ("missing_argument", "missing"):
        inner = f": {place[-1]}" if len(place) > 1 else ""
        return f"{name}{inner} is missing"
    example = ', as ["one"]' if kind == "list_type" and not message.startswith("the text") else ""
    return f"{name}: {message[:1].lower()}{message[1:]}{example}"


def _broken_json(given: object) -> str:
    """Where a text that was to be JSON breaks; empty where it does not look like any, or is sound."""
    if not isinstance(given, str) or not given.lstrip().startswith(("{", "[")):
        return ""
    try:
        json.loads(given)
    except json.JSONDecodeError as error:
        return f"the text is no valid JSON: {error.msg[:1].lower()}{error.msg[1:]} at character {error.pos + 1:,}"
    except RecursionError:
        return "the text is JSON that is nested too deeply"
    except ValueError:
        return "the text is JSON with a number of too many digits"
    return ""


_OF_JSON = frozenset({"list_type", "dict_type", "model_type", "dataclass_type"})  # where JSON may stand
_LONGEST_NAME = 40
_PLAIN = re.compile(r"[a-z]+(?:_[a-z]+){0,3}")  # as names of parameters are; what else a client sends is not repeated


def _nearly(name: str, free: AbstractSet[str]) -> str:
    """The one of these arguments that is nearly called so, or as others call it; empty where none or several are."""
    last = name.rpartition("_")[2].rstrip("s")
    alike = [each for each in free if each.rpartition("_")[2].rstrip("s") == last]
    alike = alike or [each for group in _SAME if name in group for each in free & group]
    alike = alike or difflib.get_close_matches(name, free, n=1, cutoff=_MUCH_LIKE)
    return alike[0] if len(alike) == 1 else ""


_MUCH_LIKE = 0.75  # as difflib measures it
_SAME = tuple(
    frozenset(line.split())
    for line in (
        "content text body message memory note fact",
        "query q question search text prompt",
        "limit n k top_k count max_results",
        "space spaces project workspace namespace scope",
        "reason why comment",
    )
)


def _named(place: tuple[int | str, ...]) -> str:
    """A parameter, with the place in its list: `tags[2]`."""
    name = str(place[0]) if place else "argument"
    return name + "".join(f"[{part}]" for part in place[1:] if isinstance(part, int))


OTHER = "other"  # what a client calls by a name that is none of ours: its words are not for the log
_DATE = re.compile(r"\d{4}-\d\d-\d\d")

log = structlog.get_logger()


@dataclass(slots=True)
class RequestLogged:
    """Whether a request of the protocol was logged while an HTTP request was answered."""

    done: bool = False


class Counts(Protocol):
    """Counts what is logged; see `holdfast.http.metrics.Metrics`."""

    def request(self, method: str, tool: str, outcome: str, seconds: float) -> None: ...
    def refused(self, status: int) -> None: ...


_logged: ContextVar[RequestLogged | None] = ContextVar("logged", default=None)


def observe(server: FastMCP[Any], who: Callable[[], str], counts: Counts | None = None) -> None:
    """Have every request of a server logged at level info, and give what is logged meanwhile the same id.

    Args:
        server: the server.
        who: the principal of the request under way; its hash alone is logged.
        counts: what counts them, at every level.
    """
    server._mcp_server.middleware.insert(0, _Observer(server, who, counts))  # noqa: SLF001 - the framework's own see less


def hashed(principal: str) -> str:
    """What stands for a principal in the log: 12 hexadecimal digits, with which a tenant's folder begins too."""
    return principal if principal == LOCAL else sha256(principal.encode()).hexdigest()[:12]


@contextmanager
def noticing() -> Iterator[RequestLogged]:
    """Notice whether a request of the protocol is logged inside."""
    logged = RequestLogged()
    token = _logged.set(logged)
    try:
        yield logged
    finally:
        _logged.reset(token)


async def observed(app: ASGIApp, scope: Scope, receive: Receive, send: Send, counts: Counts | None) -> None:
    """Answer an HTTP request. One that is refused before it is a request of the protocol has a line of its own."""
    if counts is None and not log.is_enabled_for(logging.INFO):
        await app(scope, receive, send)
        return
    began, status = time.perf_counter(), 0

    async def noting(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        await send(message)

    with noticing() as noticed:
        await app(scope, receive, noting)
    if status >= HTTPStatus.BAD_REQUEST and not noticed.done:
        milliseconds = round((time.perf_counter() - began) * 1000, 1)
        outcome = f"http {status}"
        if counts is not None:
            counts.refused(status)
        log.info("request", request=secrets.token_hex(8), method="http", milliseconds=milliseconds, outcome=outcome)


class _Observer:
    """Sees every message that a server gets, before anything else does."""

    def __init__(self, server: FastMCP[Any], who: Callable[[], str], counts: Counts | None) -> None:
        self._server = server
        self._low = server._mcp_server  # noqa: SLF001 - as above
        self._who = who
        self._counts = counts

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if ctx.request_id is None:  # a notification
            return await call_next(ctx)
        with structlog.contextvars.bound_contextvars(request=secrets.token_hex(8)):
            if self._counts is None and not log.is_enabled_for(logging.INFO):
                return await call_next(ctx)
            return await self._observed(ctx, call_next)

    async def _observed(self, context: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        began, outcome = time.perf_counter(), "failed"
        called = await self._called(context)
        try:
            result = await call_next(context)
            outcome = _outcome(result)
        except MCPError as error:
            outcome = f"error {error.error.code}"
            raise
        except PydanticValidationError:
            outcome = f"error {INVALID_PARAMS}"
            raise
        except anyio.get_cancelled_exc_class():
            outcome = "cancelled"
            raise
        else:
            return result
        finally:
            seconds = time.perf_counter() - began
            if self._counts is not None:
                self._counts.request(called["method"], called.get("tool", ""), outcome, seconds)
            milliseconds = round(seconds * 1000, 1)
            era = context.protocol_version if _DATE.fullmatch(context.protocol_version) else OTHER
            log.info("request", **called, era=era, who=hashed(self._who()), milliseconds=milliseconds, outcome=outcome)
            if (logged := _logged.get()) is not None:
                logged.done = True

    async def _called(self, context: ServerRequestContext[Any, Any]) -> dict[str, str]:
        """The method and, of a tool call, the tool: where they are ours."""
        if context.method != "initialize" and self._low.get_request_handler(context.method) is None:
            return {"method": OTHER}
        if context.method != "tools/call":
            return {"method": context.method}
        name = (context.params or {}).get("name")
        tool = await self._server.get_tool(name) if isinstance(name, str) else None
        return {"method": context.method, "tool": OTHER if tool is None else tool.name}


def _outcome(result: object) -> str:
    """How a request ended: `ok`, or the name of the error that the answer tells."""
    match result:
        case {"isError": True, "content": [{"text": str(text)}, *_]}:
            name = text.partition(":")[0]
            return name if name in NAMES else "failed"
        case _:
            return "ok"
