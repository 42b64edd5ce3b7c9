"""What the journal says a page is to look like, and what a belief's evidence leads to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.lifecycle import Evidence, edited_confidence, evidence_problem, updated
from holdfast.model.note import SELF_ID
from holdfast.model.records import Baseline, baselines, marks_of
from holdfast.store.codec import content_hash
from holdfast.store.records import read_record

NOW = "NOW.md"


def line(change: str, before: str | None, after: str | None, path: str = NOW, **more: Any) -> dict[str, Any]:
    file = {"note": f"page:{path}", "path": path, "before": before, "after": after, "size": 3}
    return {"seq": 1, "op": "now_update", "change": change, "files": [file], **more}


def seen(hash_: str | None, key: str = "pages_seen", path: str = NOW) -> dict[str, Any]:
    marks = marks_of({path: Baseline(hash_, 3)})
    return {"seq": 1, key: [{"path": mark.path, "hash": mark.hash, "size": mark.size} for mark in marks]}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], None),
        ([line("1", None, "a")], Baseline("a", 3)),
        ([line("1", "x", "a")], Baseline("a", 3)),  # whatever was there before our first change is trusted
        ([line("1", None, "a"), line("2", "a", "b")], Baseline("b", 3)),
        ([line("1", None, "a"), line("2", "x", "b")], Baseline("b", 3, foreign="edited")),
        ([line("1", None, "a"), line("2", None, "b")], Baseline("b", 3, foreign="deleted")),
        ([line("1", None, "a"), line("2", content_hash(b""), "b")], Baseline("b", 3, foreign="emptied")),
        ([line("1", None, "a"), seen(None, "pages_accepted"), line("2", "x", "b")], Baseline("b", 3, foreign="made")),
        ([line("1", None, "a"), line("2", "x", "b"), line("3", "b", "c")], Baseline("c", 3, foreign="edited")),
        ([line("1", None, "a"), line("2", "x", "b"), line("3", "y", "c")], Baseline("c", 3, foreign="edited")),
        (
            [line("1", None, "a"), line("2", "x", "b"), line("3", None, "c"), line("4", "y", "d")],
            Baseline("d", 3, foreign="edited, then deleted"),
        ),
        ([line("1", None, "a"), line("2", "x", "b"), seen("b", "pages_accepted")], Baseline("b", 3)),
        ([line("1", None, "a"), seen(None, "pages_accepted"), line("2", None, "b")], Baseline("b", 3)),
        ([line("1", None, "a"), line("2", "x", "b"), {"seq": 3, "void": ["2"]}], Baseline("a", 3)),
        ([line("1", None, "a"), line("2", "a", "b"), line("3", "a", "c", void=["2"])], Baseline("c", 3)),
        ([seen("x"), seen("y")], Baseline("x", 3)),
        ([seen("x"), line("1", "y", "a")], Baseline("a", 3, foreign="edited")),
        ([line("1", "y", "a", **seen("x"))], Baseline("a", 3, foreign="edited")),
        ([{"seq": 1, "pages_seen": "x", "pages_accepted": [{"path": 1}, 2, {"path": "a/b", "hash": "x"}]}], None),
        ([{"seq": 1, "change": "1", "files": [{"note": "mem_1", "path": NOW, "before": None, "after": "a"}]}], None),
    ],
)
def test_the_last_change_of_ours_that_was_made_counts_and_what_it_found_instead_is_remembered(
    lines: list[dict[str, Any]], expected: Baseline | None
) -> None:
    assert baselines([read_record(each) for each in lines]).get(NOW) == expected


fractions = st.floats(0, 1)
updates = st.lists(st.tuples(fractions, st.booleans()), min_size=1, max_size=20)


def chain(first: float, given_: list[tuple[float, bool]]) -> tuple[list[dict[str, Any]], float]:
    entries, confidence = [], first
    for strength, supports in given_:
        new = updated(confidence, supports=supports, strength=strength)
        entries.append(Evidence(SELF_ID, supports, strength, "2026-11-20T10:15:00Z", confidence, new).as_entry())
        confidence = new
    return entries, confidence


@given(fractions, updates)
def test_what_the_formula_leads_to_is_no_problem_and_stays_a_confidence(
    first: float, given_: list[tuple[float, bool]]
) -> None:
    entries, confidence = chain(first, given_)
    assert 0 <= confidence <= 1
    assert evidence_problem(entries) == edited_confidence(entries, confidence) == ""


@given(fractions, updates, st.floats(1e-6, 1), st.data())
def test_any_number_that_is_changed_is_seen(
    first: float, given_: list[tuple[float, bool]], change: float, data: st.DataObject
) -> None:
    entries, _ = chain(first, given_)
    which = data.draw(st.integers(0, len(entries) - 1))
    changed = entries[which] | {"new_confidence": (entries[which]["new_confidence"] + change) % 1.0000001}
    if abs(changed["new_confidence"] - entries[which]["new_confidence"]) > 1e-8:
        assert evidence_problem([*entries[:which], changed, *entries[which + 1 :]])


def test_the_documents_own_numbers() -> None:
    first = updated(0.5, supports=True, strength=0.9)
    assert first == pytest.approx(0.5675, abs=1e-12)
    assert updated(first, supports=False, strength=0.6) == pytest.approx(0.46535, abs=1e-12)
    series, last = chain(0.5, [(0.8, True), (0.6, False), (0.7, True), (0.5, False)])
    assert [entry["new_confidence"] for entry in series] == pytest.approx([0.56, 0.4592, 0.51598, 0.43859], abs=1e-5)
    assert evidence_problem(series) == edited_confidence(series, last) == ""
