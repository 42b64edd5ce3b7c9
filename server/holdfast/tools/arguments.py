"""Arguments as some clients send them: lists and objects as their JSON, numbers and truth values as texts.

What a parameter's schema takes as it is stays as it is, and what cannot be read so is left for the usual refusal.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from fastmcp.server.middleware import Middleware, MiddlewareContext

Answer = TypeVar("Answer")

_WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_WORDS = {"true": ("boolean", True), "false": ("boolean", False), "null": ("null", None)}


class ReadTexts(Middleware):
    """Reads texts where a tool's schema asks for something else."""

    def __init__(self) -> None:
        self._schemas: dict[str, Mapping[str, Any]] = {}

    async def on_call_tool(
        self, context: MiddlewareContext[Any], call_next: Callable[[MiddlewareContext[Any]], Awaitable[Answer]]
    ) -> Answer:
        message = context.message
        schema = await self._schema_of(context) if message.arguments else None
        if schema is None:
            return await call_next(context)
        arguments = read_as(message.arguments, schema, schema.get("$defs", {}))
        return await call_next(context.copy(message=message.model_copy(update={"arguments": arguments})))

    async def _schema_of(self, context: MiddlewareContext[Any]) -> Mapping[str, Any] | None:
        name = context.message.name
        if name not in self._schemas and context.fastmcp_context is not None:
            tool = await context.fastmcp_context.fastmcp.get_tool(name)
            if tool is not None:
                self._schemas[name] = tool.parameters
        return self._schemas.get(name)


def read_as(value: Any, schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Any:
    """The value that was meant, by a JSON schema; the same one where nothing else fits better."""
    choices = [_resolved(choice, definitions) for choice in schema.get("anyOf", [schema])]
    if isinstance(value, str):
        value = _parsed(value, {choice.get("type", "") for choice in choices})
    for choice in choices:
        if isinstance(value, list) and choice.get("type") == "array":
            return [read_as(item, choice.get("items", {}), definitions) for item in value]
        if isinstance(value, dict) and choice.get("type") == "object":
            known = choice.get("properties", {})
            return {key: read_as(item, known.get(key, {}), definitions) for key, item in value.items()}
    return value


def _resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    found: Mapping[str, Any] = definitions.get(name, schema)
    return found


def _parsed(text: str, types: set[str]) -> Any:
    """What a text stands for among these types; the text where it is one of them, or stands for none."""
    plain = text.strip()
    if plain.startswith("{") and "object" in types:
        return _json(plain, dict, text)
    if "string" in types or not types - {""}:
        return text
    if plain.startswith("[") and "array" in types:
        return _json(plain, list, text)
    kind, meant = _WORDS.get(plain.lower(), ("", None))
    if kind in types:
        return meant
    if _WHOLE.fullmatch(plain) and types & {"integer", "number"}:
        return int(plain)
    return _number(plain, text) if "number" in types else text


def _json(plain: str, kind: type, text: str) -> Any:
    try:
        found = json.loads(plain)
    except (ValueError, RecursionError):
        return text
    return found if isinstance(found, kind) else text


def _number(plain: str, text: str) -> float | str:
    try:
        found = float(plain)
    except ValueError:
        return text
    return found if math.isfinite(found) else text
