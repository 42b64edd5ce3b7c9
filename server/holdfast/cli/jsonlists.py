"""One item of a list in JSON text, put in at its end or taken out; every other byte stays.

The lists are members of an object that is itself a member of the outermost one, as hooks are: `hooks`, then the event.
What is put in at the end and taken out again leaves the text as it was. Whoever uses it reads the result back.
"""

from __future__ import annotations

import json
from typing import Any, Final

from holdfast.cli.files import after_space, object_at, rendered, with_member, without_member

_DECODER: Final = json.JSONDecoder()
Span = tuple[int, int]


def with_item(text: str, path: tuple[str, str], item: Any) -> str:
    """The text with an item at the end of the list at `path[0]`, `path[1]`; what is missing on the way is made.

    Raises:
        ValueError: it is no JSON, or there is something else on the way.
    """
    found = _list_at(text, path)
    if found is None:
        return with_member(text, text, path, [item])
    first, spans, end = found
    if not spans:
        return f"{text[:first]}[{json.dumps(item, ensure_ascii=False)}]{text[end:]}"
    start, behind = spans[-1]
    before = text[:start]
    space = before[len(before.rstrip(" \t\n\r")) :]
    if "\n" in space:
        made = f"{space}{rendered(text, item, space.rpartition(chr(10))[2])}"
    else:
        made = f" {json.dumps(item, ensure_ascii=False)}"
    return f"{text[:behind]},{made}{text[behind:]}"


def without_item(text: str, path: tuple[str, str], number: int) -> str:
    """The text without the item of this number; with the last one the list goes, and what else is empty then.

    Raises:
        ValueError: it is not there.
    """
    found = _list_at(text, path)
    if found is None or not 0 <= number < len(found[1]):
        raise ValueError("it is not there")
    _, spans, _ = found
    if len(spans) == 1:
        return without_member(text, text, path)
    start, end = spans[number]
    if number == len(spans) - 1:
        return text[: spans[number - 1][1]] + text[end:]
    return text[:start] + text[spans[number + 1][0] :]


def _list_at(text: str, path: tuple[str, str]) -> tuple[int, list[Span], int] | None:
    """Where the list begins, where each of its items stands, and where it ends; None where there is none yet."""
    if not text.strip():
        return None
    outer = object_at(text, 0).find(path[0])
    inner = object_at(text, outer.value).find(path[1]) if outer else None
    if inner is None:
        return None
    if text[inner.value : inner.value + 1] != "[":
        raise ValueError("no list")
    spans: list[Span] = []
    place = after_space(text, inner.value + 1)
    while text[place : place + 1] != "]":
        _, end = _DECODER.raw_decode(text, place)
        spans.append((place, end))
        place = after_space(text, end)
        if text[place : place + 1] == ",":
            place = after_space(text, place + 1)
    return inner.value, spans, place + 1
