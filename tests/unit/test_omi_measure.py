"""OMI's four types, its final score and its threshold, as its reference has them."""

from __future__ import annotations

import itertools
import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.model.lifecycle import final_score, recency
from holdfast.model.note import MEMORY_TYPES, NOTE_TYPES, instant, memory_type, note_types
from holdfast.model.ranking import never_rising

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


@example(worth=[0.0, 1.2e-7])
@given(worth=st.lists(FRACTIONS, max_size=40))
def test_relevances_in_the_order_of_the_hits_never_rise_and_stay_within_their_bounds(worth: list[float]) -> None:
    found = never_rising(worth)
    assert len(found) == len(worth)
    assert all(above >= below - 1e-9 for above, below in itertools.pairwise(found))
    assert all(min(worth) - 1e-3 <= each <= max(worth) + 1e-3 for each in found)


@given(worth=st.lists(FRACTIONS, max_size=40))
def test_relevances_that_fall_already_are_left_as_they_are(worth: list[float]) -> None:
    falling = sorted(worth, reverse=True)
    assert never_rising(falling) == pytest.approx(falling)


def test_a_note_above_one_of_more_relevance_shares_the_mean_of_their_log_odds() -> None:
    assert never_rising([0.9, 0.2, 0.8, 0.1]) == pytest.approx([0.9, 0.5, 0.5, 0.1])
