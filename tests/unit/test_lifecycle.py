"""Importance and fading: what the formulas promise, at their edges too."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.lifecycle import (
    FIRST_STABILITY,
    LONGEST_STABILITY,
    Life,
    grown,
    has_faded,
    importance,
    life,
    majority,
    may_be_forgotten,
)
from holdfast.model.note import instant

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TIMES = st.integers(-62_135_500_000, 253_402_200_000).map(lambda seconds: EPOCH + timedelta(seconds=seconds))


def ago(**amount: float) -> str:
    return instant(NOW - timedelta(**amount))


def test_the_first_lease_is_seven_days() -> None:
    assert pytest.approx(5.814, abs=0.001) == FIRST_STABILITY
    assert not has_faded(life(ago(days=7), ago(days=7), [], 0, NOW))
    assert has_faded(life(ago(days=7, seconds=2), ago(days=7, seconds=2), [], 0, NOW))


def test_a_use_lengthens_the_lease_by_the_bounded_formula() -> None:
    after = grown(FIRST_STABILITY, 5.0)
    assert after == pytest.approx(
        FIRST_STABILITY * (1 + 0.5 * FIRST_STABILITY**-0.5 * math.exp(0.2 * 5 / FIRST_STABILITY))
    )
    assert grown(FIRST_STABILITY, 1e9) == pytest.approx(FIRST_STABILITY * (1 + FIRST_STABILITY**-0.5))
    assert grown(364.9, 1000) == LONGEST_STABILITY


def test_uses_within_a_day_count_once() -> None:
    once = life(ago(days=10), ago(days=10), [ago(days=3)], 0, NOW)
    assert life(ago(days=10), ago(days=10), [ago(days=3), ago(days=2, hours=1)], 0, NOW).stability == once.stability
    assert life(ago(days=10), ago(days=10), [ago(days=3), ago(days=1, hours=23)], 0, NOW).uses == 2


def test_a_note_that_is_used_now_and_then_does_not_fade() -> None:
    assert not has_faded(life(ago(days=40), ago(days=40), [ago(days=day) for day in (38, 33, 26, 12)], 0, NOW))
    assert has_faded(life(ago(days=40), ago(days=40), [ago(days=38)], 0, NOW))


def test_a_note_that_was_touched_has_a_new_lease() -> None:
    assert not has_faded(life(ago(days=40), ago(days=6), [], 0, NOW))


def test_a_note_with_many_uses_and_links_is_no_minor_one() -> None:
    state = life(ago(days=400), ago(days=400), [ago(days=100 + 2 * day) for day in range(100)], 20, NOW)
    assert state.importance > 0.5
    assert not has_faded(Life(0.0, 0.5, 400, 6, 0))
    assert importance(0, 0, 0) == pytest.approx(0.33)
    assert importance(50, 20, 14) == pytest.approx(0.34 + 0.33 + 0.165)
    assert importance(10**9, 10**9, 0) == pytest.approx(1.0)


def test_a_note_from_the_future_has_not_faded() -> None:
    assert (
        life(instant(NOW + timedelta(days=900)), ago(days=1), [instant(NOW + timedelta(days=901))], 0, NOW).retention
        == 1.0
    )


@given(TIMES, TIMES, st.lists(TIMES, max_size=5), st.integers(0, 10**6), TIMES)
def test_no_time_and_no_number_of_links_makes_a_number_that_is_none(
    since: datetime, touched: datetime, uses: list[datetime], degree: int, now: datetime
) -> None:
    state = life(instant(since), instant(touched), [instant(use) for use in uses], degree, now)
    assert 0.0 <= state.retention <= 1.0
    assert 0.0 <= state.importance <= 1.0
    assert FIRST_STABILITY <= state.stability <= LONGEST_STABILITY
    assert life(instant(since), instant(touched), [instant(use) for use in reversed(uses)], degree, now) == state


def test_forgetting_asks_for_every_sign_at_once() -> None:
    gone = Life(0.04, 0.1, 91.0, 6.0, 0)
    assert may_be_forgotten(gone, 2, 0.69)
    assert not may_be_forgotten(gone, 3, 0.1)
    assert not may_be_forgotten(gone, 2, 0.7)
    assert not may_be_forgotten(Life(0.05, 0.1, 91.0, 6.0, 0), 0, 0)
    assert not may_be_forgotten(Life(0.04, 0.5, 91.0, 6.0, 0), 0, 0)
    assert not may_be_forgotten(Life(0.04, 0.1, 89.9, 6.0, 0), 0, 0)


@pytest.mark.parametrize(
    ("votes", "winner"),
    [([], None), (["a"], None), (["a", "a"], "a"), (["a", "a", "b", "b"], None), (["a", "a", "b"], "a")],
)
def test_a_majority_is_more_than_half_and_more_than_one(votes: list[str], winner: str | None) -> None:
    assert majority(votes) == winner
