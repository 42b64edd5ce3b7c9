"""Confidence in a belief moves as OMI's reference says, whatever the evidence."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.lifecycle import Evidence, breaks, edited, read_evidence, replayed, updated

FRACTIONS = st.floats(0.0, 1.0)
CALLS = st.lists(st.tuples(st.booleans(), FRACTIONS), min_size=1, max_size=30)
SOURCE = "mem_01m7ywf1ckbv4qhn"


def chain(first: float, calls: list[tuple[bool, float]]) -> list[Evidence]:
    """The list that these calls leave in a belief."""
    entries: list[Evidence] = []
    confidence = first
    for supports, strength in calls:
        after = updated(confidence, supports=supports, strength=strength)
        entries.append(Evidence(SOURCE, supports, strength, "2026-11-21T10:00:00Z", confidence, after))
        confidence = after
    return entries


@given(FRACTIONS, CALLS)
def test_confidence_stays_between_0_and_1(first: float, calls: list[tuple[bool, float]]) -> None:
    assert all(0.0 <= entry.new_confidence <= 1.0 for entry in chain(first, calls))


@given(FRACTIONS, FRACTIONS)
def test_support_never_lowers_and_contradiction_never_raises(confidence: float, strength: float) -> None:
    assert updated(confidence, supports=True, strength=strength) >= confidence
    assert updated(confidence, supports=False, strength=strength) <= confidence


@given(confidence=FRACTIONS, supports=st.booleans())
def test_evidence_of_no_strength_changes_nothing(confidence: float, *, supports: bool) -> None:
    assert updated(confidence, supports=supports, strength=0.0) == confidence


@given(st.booleans(), FRACTIONS)
def test_certainty_is_not_left_in_its_own_direction(supports: bool, strength: float) -> None:
    target = 1.0 if supports else 0.0
    assert updated(target, supports=supports, strength=strength) == target


@given(st.floats(0.4, 0.6), st.floats(0.01, 1.0))
def test_contradiction_hits_harder_than_support(confidence: float, strength: float) -> None:
    up = updated(confidence, supports=True, strength=strength) - confidence
    down = confidence - updated(confidence, supports=False, strength=strength)
    assert down > up


@given(FRACTIONS, CALLS)
def test_the_list_of_evidence_leads_to_the_confidence_again(first: float, calls: list[tuple[bool, float]]) -> None:
    entries = chain(first, calls)
    assert replayed(entries) == entries[-1].new_confidence
    assert breaks(entries) == []
    assert edited(entries, entries[-1].new_confidence) == ""
    assert [read_evidence(entry.as_entry()) for entry in entries] == entries


def test_without_evidence_there_is_nothing_to_replay() -> None:
    assert replayed([]) is None
    assert breaks([]) == []
    assert edited([], 0.3) == ""


@given(FRACTIONS, CALLS, FRACTIONS)
def test_a_confidence_that_a_person_sets_between_updates_is_where_the_later_one_begins(
    first: float, calls: list[tuple[bool, float]], by_hand: float
) -> None:
    later = chain(by_hand, calls)
    entries = [*chain(first, calls), *later]
    assert replayed(entries) == pytest.approx(later[-1].new_confidence, abs=1e-8)
    assert breaks(entries) == []
    assert edited(entries, later[-1].new_confidence) == ""


def test_what_does_not_follow_from_the_list_is_named() -> None:
    first, second = chain(0.5, [(True, 0.9), (False, 0.6)])
    assert breaks([replace(first, strength=0.2), second]) == ["entry 1 of its evidence does not follow the formula"]
    assert breaks([replace(first, strength=0.2), replace(second, new_confidence=0.9)]) == [
        "entry 1 of its evidence does not follow the formula",
        "entry 2 of its evidence does not follow the formula",
    ]
    assert edited([second], 0.9) == "its confidence was edited by hand: 0.90, its evidence comes to 0.47"
    close = second.new_confidence + 2e-9
    told = f"its confidence was edited by hand: {close}, its evidence comes to {second.new_confidence}"
    assert edited([first, second], close) == told


@pytest.mark.parametrize(
    ("first", "calls", "expected"),
    [
        (0.5, [(True, 0.9), (False, 0.6)], [0.5675, 0.46535]),
        (0.5, [(True, 0.8), (False, 0.6), (True, 0.7), (False, 0.5)], [0.56, 0.4592, 0.515984, 0.4385864]),
    ],
)
def test_the_numbers_of_the_reference_come_out(
    first: float, calls: list[tuple[bool, float]], expected: list[float]
) -> None:
    assert [entry.new_confidence for entry in chain(first, calls)] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    "changed",
    [
        {"memory_id": "somewhere/else"},
        {"memory_id": None},
        {"supports": "yes"},
        {"strength": 1.5},
        {"strength": True},
        {"old_confidence": "high"},
        {"new_confidence": None},
        {"timestamp": "last week"},
        {"timestamp": None},
    ],
)
def test_an_entry_that_a_person_has_made_something_else_of_is_not_read(changed: dict[str, object]) -> None:
    (entry,) = chain(0.5, [(True, 0.9)])
    assert read_evidence(entry.as_entry() | changed) is None
