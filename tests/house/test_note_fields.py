"""A field of a note is one row of a table: file, index, merges, imports and answers read it there."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from holdfast.model.note import FIELDS, FILLED, Note

PACKAGE = Path(__file__).parents[2] / "server" / "holdfast"
MOST_FILES = 4  # that name a field which was added
ADDED = "source_url"


def naming(word: str) -> set[str]:
    """The modules in which a name stands."""
    found = re.compile(rf"\b{word}\b")
    return {
        path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if found.search(path.read_text("utf-8"))
    }


def test_a_field_that_was_added_is_named_in_few_modules() -> None:
    assert {"model/note.py"} < naming(ADDED)
    assert len(naming(ADDED)) <= MOST_FILES, sorted(naming(ADDED))


def test_the_table_has_each_field_of_a_note_once() -> None:
    assert sorted(field.name for field in FIELDS) == sorted(
        field.name for field in fields(Note) if field.name != "content"
    )


@pytest.mark.parametrize("name", FILLED)
def test_what_one_note_takes_over_from_another_is_one_text_or_nothing(name: str) -> None:
    [field] = [field for field in FIELDS if field.name == name]
    assert field.kind in ("text", "time")
    assert field.column
