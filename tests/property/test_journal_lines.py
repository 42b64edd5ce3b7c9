"""The codec of journal lines: what is written is read again, what is foreign is passed over, and all is documented."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model import records
from holdfast.model.maintenance import KINDS
from holdfast.model.records import (
    Asked,
    FileChange,
    GivenId,
    JournalRecord,
    Judged,
    Maintained,
    Offered,
    Opposed,
    PageMark,
    Ran,
    Rating,
)
from holdfast.store.journal import line_of, read_line
from holdfast.store.records import KEYS, as_line, read_record

DOCUMENT = Path(__file__).parents[2] / "docs" / "journal.md"
EXAMPLE = re.compile(r'\{"seq":.*\}(?=`|$)', re.MULTILINE)
NOTES = [f"mem_{letter * 16}" for letter in "abc"]

texts = st.text(max_size=12)
names = st.text("abcdefgh_-.", min_size=1, max_size=8)
notes = st.sampled_from(NOTES)
hashes = st.sampled_from([letter * 64 for letter in "0af"])
some = st.none() | texts
marks = st.builds(PageMark, names, st.none() | hashes, st.none() | st.integers(0, 9))
files = st.builds(FileChange, notes, names, st.none() | hashes, st.none() | hashes, names, st.none() | st.integers(0))
asked = st.builds(Asked, *(st.text(min_size=1, max_size=9) for _ in range(3)))
ratings = st.builds(Rating, notes, names, st.sampled_from([1, -1]), st.booleans(), st.none() | asked)
items = st.lists(st.tuples(texts, st.lists(st.tuples(notes, texts), max_size=2).map(tuple)), max_size=2).map(tuple)


def many(each: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(each, max_size=3).map(tuple)


COMMON: dict[str, st.SearchStrategy[Any]] = {
    "at": texts, "by": texts, "source": texts, "seq": st.integers(1, 1 << 50),
    "done": many(texts), "void": many(texts), "settled": st.integers(0, 1 << 50), "undoes": some,
    "unplaced": st.booleans(), "same_text": st.booleans(), "admin": some, "outcome": some, "change_id": some,
    "dry_run": st.booleans(), "note": some, "guards": many(texts), "change": some, "files": many(files), "item": some,
    "maintenance": st.none() | st.builds(Maintained, some), "judged": many(st.builds(Judged, *[texts] * 5)),
    "kept": some, "discarded": some, "forgotten": many(texts), "seen": many(marks), "accepted": many(marks),
    "more": st.dictionaries(st.sampled_from(["evidence", "edge", "space"]), st.integers() | texts, max_size=2),
}  # fmt: skip
OWN: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    records.USE: {"use": notes},
    records.FEEDBACK: {"feedback": ratings},
    records.JOB: {"job": st.builds(Ran, texts, texts, st.integers(), st.integers())},
    records.CONTRADICTION: {"found": many(st.builds(Opposed, texts, texts, texts))},
    records.GIVEN: {"given": many(st.builds(GivenId, notes, texts))},
    records.MAINTENANCE_BATCH: {
        "batch": st.none() | st.builds(Offered, texts, texts, items),
        "cursors": st.dictionaries(st.sampled_from(KINDS), st.tuples(texts, texts), max_size=2),
    },
    records.RESTORE: {"restored": st.dictionaries(names, hashes, max_size=3)},
    "remember": {},
    "": {},
}


@st.composite
def lines(draw: st.DrawFn) -> JournalRecord:
    op = draw(st.sampled_from(list(OWN)))
    said = draw(st.fixed_dictionaries({}, optional=COMMON))
    return JournalRecord(op, **said, **draw(st.fixed_dictionaries(OWN[op])))


@given(lines())
def test_what_is_written_is_read_again(record: JournalRecord) -> None:
    assert read_record(json.loads(json.dumps(as_line(record)))) == record


@given(lines(), st.sampled_from([key.key for key in KEYS]), st.recursive(
    st.none() | st.booleans() | st.integers() | texts, lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
))  # fmt: skip
def test_whatever_stands_in_a_line_it_is_read_and_what_is_foreign_counts_as_not_said(
    record: JournalRecord, key: str, foreign: object
) -> None:
    read = read_record({**as_line(record), key: foreign})
    assert read_record(json.loads(json.dumps(as_line(read)))) == read


def examples() -> list[str]:
    return [*EXAMPLE.findall(DOCUMENT.read_text("utf-8"))]


def test_the_document_has_an_example_of_every_kind_of_line() -> None:
    shown = {json.loads(example)["op"] for example in examples()}
    assert set(records.OPERATIONS) <= shown
    assert {key.op for key in KEYS if key.op} <= set(records.OPERATIONS)
    assert "remember" in shown


@pytest.mark.parametrize("example", examples())
def test_an_example_of_the_document_is_a_line_as_it_is_written(example: str) -> None:
    told = json.loads(example)
    record = read_record(told)
    assert as_line(record) == told
    assert list(as_line(record)) == list(told)
    assert read_line(line_of(as_line(record)).removesuffix(b"\n")) == told


def test_the_first_line_of_the_document_is_whole() -> None:
    [line] = [text.strip() for text in DOCUMENT.read_text("utf-8").splitlines() if text.startswith('    {"sum"')]
    assert read_line(line.encode()) is not None


def test_the_document_names_every_key() -> None:
    text = DOCUMENT.read_text("utf-8")
    for key in KEYS:
        assert f"`{key.key}`" in text, key.key
