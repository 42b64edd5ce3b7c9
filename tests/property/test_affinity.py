"""What feedback does to the score: bounded, fading, in no order, and never to what is shown."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from holdfast.model.lifecycle import (
    BOUND,
    HALF_LIFE_DAYS,
    IMPLICIT,
    WORN_OFF_DAYS,
    Signal,
    affinity,
    by_meaning,
    by_words,
)
from holdfast.model.ranking import Found, Question, RankCandidate, gated, rank
from holdfast.model.words import question_key

NOW = "2026-11-20T12:00:00Z"
shares = st.floats(0, 1)
signals = st.lists(
    st.builds(
        Signal,
        question=st.sampled_from("abc"),
        signal=st.sampled_from([1, -1]),
        explicit=st.booleans(),
        age_days=st.floats(-400, 400),
        similarity=shares,
    ),
    max_size=12,
)


@given(signals)
def test_it_never_leaves_its_bounds(signals: list[Signal]) -> None:
    assert -BOUND <= affinity(signals) <= BOUND


@given(signals, st.randoms())
def test_it_is_the_same_in_whatever_order_the_signals_came(signals: list[Signal], random: object) -> None:
    shuffled = sorted(signals, key=lambda _: random.random())  # type: ignore[attr-defined] # hypothesis' own
    assert affinity(shuffled) == pytest.approx(affinity(signals), abs=1e-12)


@given(signals)
def test_opposite_signals_move_as_far_the_other_way(signals: list[Signal]) -> None:
    opposite = [replace(item, signal=-item.signal) for item in signals]
    assert affinity(opposite) == pytest.approx(-affinity(signals))


@given(signals, st.builds(Signal, st.just("a"), st.just(1), st.just(True), st.floats(0, 300), shares))  # noqa: FBT003
def test_a_like_lowers_nothing_unless_it_silences_what_was_inferred(signals: list[Signal], like: Signal) -> None:
    assume(all(item.explicit or item.question != "a" for item in signals))
    assert affinity([*signals, like]) >= affinity(signals)


@given(signals)
def test_what_is_said_of_a_question_silences_what_was_inferred_of_it(signals: list[Signal]) -> None:
    said = Signal("a", -1, explicit=True, age_days=1.0, similarity=1.0)
    others = [item for item in signals if item.explicit or item.question != "a"]
    assert affinity([*signals, said]) == pytest.approx(affinity([*others, said]))


def test_one_signal_is_worth_what_the_formula_says() -> None:
    fresh = Signal("a", 1, explicit=True, age_days=0.0, similarity=1.0)
    assert affinity([]) == 0
    assert affinity([fresh]) == pytest.approx(BOUND * math.tanh(1.0))
    assert affinity([replace(fresh, age_days=HALF_LIFE_DAYS)]) == pytest.approx(BOUND * math.tanh(0.5))
    assert affinity([replace(fresh, explicit=False)]) == pytest.approx(BOUND * math.tanh(IMPLICIT))
    assert affinity([replace(fresh, similarity=0.5)]) == pytest.approx(BOUND * math.tanh(0.5))
    assert affinity([replace(fresh, age_days=-1000.0)]) == affinity([fresh])
    assert affinity([replace(fresh, age_days=WORN_OFF_DAYS + 1)]) == 0


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(0, 1))
def test_a_nearer_question_is_no_less_like_it(one: float, two: float, background: float) -> None:
    low, high = sorted((one, two))
    assert 0 <= by_meaning(low, background) <= by_meaning(high, background) <= 1


def test_meaning_counts_from_half_of_the_way_between_unrelated_and_the_same() -> None:
    assert by_meaning(1.0, 0.1) == 1
    assert by_meaning(0.54, 0.1) == 0
    assert by_meaning(0.73, 0.1) == pytest.approx(0.5)
    assert by_meaning(0.73, 0.5) == 0, "with an encoder for which unrelated texts are nearer, it is not near"


words = st.frozensets(st.sampled_from("abcdefgh"), min_size=1)


@given(words, words)
def test_words_are_compared_both_ways_alike(one: frozenset[str], two: frozenset[str]) -> None:
    weights = {word: place + 0.5 for place, word in enumerate("abcdefgh")}
    assert 0 <= by_words(one, two, weights) <= 1
    assert by_words(one, two, weights) == pytest.approx(by_words(two, one, weights))
    assert by_words(one, one, weights) == 1
    if not one & two:
        assert by_words(one, two, weights) == 0


def test_a_telling_word_weighs_more_than_a_common_one() -> None:
    weights = {"crane": 3.0, "lifts": 3.0, "harbour": 0.1, "ferry": 3.0}
    assert by_words({"crane", "lifts", "harbour"}, {"crane", "lifts"}, weights) == 1
    assert by_words({"crane", "harbour"}, {"ferry", "harbour"}, weights) == 0


@given(st.text())
def test_any_text_is_a_question(text: str) -> None:
    assert len(question_key(text)) == 32
    assert question_key(f"  {text}  ") == question_key(text)


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("Where is it?", "where  is it", True),
        ("where is it", "where was it", False),
        ("??", "!!", False),
        ("\uff57here is it", "where is it", True),  # full-width
    ],
)
def test_spaces_capitals_and_the_last_mark_do_not_make_another_question(one: str, two: str, same: bool) -> None:
    assert (question_key(one) == question_key(two)) is same


candidates = st.lists(st.tuples(shares, st.none() | st.floats(-2, 8), st.floats(-BOUND, BOUND)), min_size=1, max_size=8)


@given(candidates, st.integers(1, 8))
def test_it_moves_notes_and_takes_none_away_and_adds_none(
    drawn: list[tuple[float, float | None, float]], limit: int
) -> None:
    found = Found(
        tuple(
            RankCandidate(
                rowid=place,
                id=f"mem_{place}",
                space="work",
                session=None,
                subject=None,
                tier="working",
                confidence=1.0,
                outdated=False,
                superseded_by=None,
                created=NOW,
                happened=NOW,
                long=False,
                coverage=coverage,
                z=z,
                session_z=z,
            )
            for place, (coverage, z, _) in enumerate(drawn)
        )
    )
    liked = {f"mem_{place}": value for place, (_, _, value) in enumerate(drawn)}
    plain = rank(found, Question("query"))
    moved = rank(found, Question("query", affinity=liked))
    before = {item.candidate.id: item for item in plain}
    assert {item.candidate.id for item in moved} == before.keys()
    for item in moved:
        assert item.relevance == before[item.candidate.id].relevance
        assert item.score - before[item.candidate.id].score == pytest.approx(liked[item.candidate.id])
    assert len(gated(moved, limit)) == len(gated(plain, limit))
    assert {item.candidate.id for item in gated(moved, 99)} == {item.candidate.id for item in gated(plain, 99)}
