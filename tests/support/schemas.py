"""JSON schemas that are the same for every server of a process are worked out once in it.

A test's server is a new one, and so is its client, but their schemas follow from the code alone: to generate, inline
and check them took half of a short test's time. Here each step is done in full for the first server; later ones read
its outcome, which is kept as JSON, wherever the step is given the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from typing import Any
from unittest.mock import patch

import fastmcp.server.middleware.dereference as inlining
from fastmcp.tools.function_parsing import ParsedFunction
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

import holdfast.tools.results

Schema = dict[str, Any]


@contextmanager
def worked_out_once() -> Iterator[None]:
    """In the block every schema is worked out once."""
    with ExitStack() as replaced:
        replaced.enter_context(patch.object(holdfast.tools.results, "TypeAdapter", _Adapter))
        replaced.enter_context(patch.object(ParsedFunction, "from_function", _parsing()))
        replaced.enter_context(patch.object(inlining, "dereference_refs", _inlining(inlining.dereference_refs)))
        replaced.enter_context(patch.object(Draft202012Validator, "check_schema", _checking()))
        yield


class _Adapter:
    """The schema of a result's type."""

    def __init__(self, result: type) -> None:
        self._result = result

    def json_schema(self, *, schema_generator: type[GenerateJsonSchema]) -> Schema:
        return _read(_schema_of(self._result, schema_generator))


@cache
def _schema_of(result: type, schema_generator: type[GenerateJsonSchema]) -> str:
    return json.dumps(TypeAdapter(result).json_schema(schema_generator=schema_generator))


def _read(schema: str) -> Schema:
    """A new one: whoever has it may change it."""
    return dict(json.loads(schema))


def _parsing() -> Callable[..., ParsedFunction]:
    """The schemas of a tool's function: one function of a server is like that of another server but for its closure."""
    parse, known = ParsedFunction.from_function, dict[tuple[object, ...], tuple[ParsedFunction, str, str]]()

    def parsed(function: Any, validate: bool = True, wrap_non_object_output_schema: bool = True) -> ParsedFunction:
        if not hasattr(function, "__code__"):
            return parse(function, validate, wrap_non_object_output_schema)
        parts = (function.__annotations__, function.__defaults__, function.__kwdefaults__, function.__dict__)
        key = (function.__code__, function.__doc__, repr(parts), validate, wrap_non_object_output_schema)
        if key not in known:
            found = parse(function, validate, wrap_non_object_output_schema)
            known[key] = (found, json.dumps(found.input_schema), json.dumps(found.output_schema))
        found, takes, gives = known[key]
        if (signature := getattr(found.fn, "__signature__", None)) is not None:  # parameters that are injected
            function.__signature__ = signature
        return replace(
            found,
            fn=function,
            input_schema=_read(takes),
            output_schema=json.loads(gives),
        )

    return parsed


def _inlining(inline: Callable[[Schema], Schema]) -> Callable[[Schema], Schema]:
    """A schema with its definitions put where they are named."""
    known: dict[str, str] = {}

    def inlined(schema: Schema) -> Schema:
        if (text := json.dumps(schema)) not in known:
            known[text] = json.dumps(inline(schema))
        return _read(known[text])

    return inlined


def _checking() -> Callable[..., None]:
    """Whether a schema is one: a client asks that of every schema that it validates by."""
    check, sound = Draft202012Validator.check_schema, set[str]()

    def checked(schema: Schema, **options: Any) -> None:
        if (text := json.dumps(schema)) not in sound or options:
            check(schema, **options)
            sound.add(text)

    return checked
