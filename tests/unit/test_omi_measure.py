"""OMI's four types, its final score and its threshold, as its reference has them."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.note import NOTE_TYPES
from holdfast.model.omi import (
    LINE,
    LINE_OF_WORDS,
    MEMORY_TYPES,
    SIMILAR,
    final_score,
    memory_type,
    note_types,
    recency,
    similarity,
)
from holdfast.model.times import instant

NOW = datetime(2026, 11, 21, 10, tzinfo=UTC)
FRACTIONS = st.floats(0.0, 1.0)


@pytest.mark.parametrize(
    ("seen", "stored"),
    [
        ("fact", {"fact", "preference", "person", "project", "concept", "procedure"}),
        ("experience", {"experience", "event", "observation"}),
        ("decision", {"decision", "goal"}),
        ("belief", {"belief"}),
    ],
)
def test_twelve_types_are_seen_as_four(seen: str, stored: set[str]) -> None:
    assert set(note_types(seen)) == stored
    assert {memory_type(name) for name in stored} == {seen}


def test_every_type_is_seen_as_one_of_the_four() -> None:
    assert sorted(name for seen in MEMORY_TYPES for name in note_types(seen)) == sorted(NOTE_TYPES)


@pytest.mark.parametrize(
    ("days", "expected"),
    [(0, 1.0), (1, 0.96722), (7, 0.79189), (14, 0.62709), (30, 0.36788), (60, 0.13534), (90, 0.04979)],
)
def test_recency_fades_with_a_constant_of_thirty_days(days: int, expected: float) -> None:
    assert recency(instant(NOW - timedelta(days=days)), NOW) == pytest.approx(expected, abs=5e-6)


@pytest.mark.parametrize(("days", "expected"), [(0, 0.8950), (1, 0.8852), (7, 0.8326), (30, 0.7054), (90, 0.6099)])
def test_the_final_score_is_seven_parts_relevance_and_three_recency(days: int, expected: float) -> None:
    assert final_score(0.85, instant(NOW - timedelta(days=days)), NOW) == pytest.approx(expected, abs=5e-5)


def test_days_count_in_fractions() -> None:
    half = recency(instant(NOW - timedelta(hours=12)), NOW)
    assert half == pytest.approx(math.exp(-0.5 / 30), abs=1e-12)


def test_what_seems_to_be_made_tomorrow_is_as_recent_as_now() -> None:
    assert recency(instant(NOW + timedelta(days=3)), NOW) == 1.0


@given(one=FRACTIONS, other=FRACTIONS, unknown=FRACTIONS, by_meaning=st.booleans())
def test_similarity_rises_with_relevance_and_stays_between_0_and_1(
    one: float, other: float, unknown: float, *, by_meaning: bool
) -> None:
    low, high = sorted((one, other))
    first, second = (similarity(value, unknown, by_meaning=by_meaning) for value in (low, high))
    assert 0.0 <= first <= second + 1e-12 <= 1.0 + 1e-12


@given(FRACTIONS, st.floats(0.0, 0.6), st.floats(0.0, 0.6))
def test_words_that_no_note_has_never_make_a_note_more_similar(relevance: float, one: float, other: float) -> None:
    few, many = sorted((one, other))
    assert similarity(relevance, many, by_meaning=True) <= similarity(relevance, few, by_meaning=True) + 1e-12


def test_the_default_threshold_lies_at_the_line() -> None:
    assert similarity(LINE, 0.0, by_meaning=True) == pytest.approx(SIMILAR)
    assert similarity(LINE_OF_WORDS, 0.9, by_meaning=False) == pytest.approx(SIMILAR)


def test_a_question_of_unknown_words_is_taken_for_another_language() -> None:
    assert similarity(0.5, 0.9, by_meaning=True) == similarity(0.5, 0.0, by_meaning=True)
