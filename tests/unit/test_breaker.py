"""The breaker on a clock of its own, and the cutting of long notes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.encode.remote import (
    FIRST_REST,
    LONGEST_ASKED_REST,
    LONGEST_REST,
    MOST_WINDOWS,
    TOLERANCE,
    Breaker,
    prefixes_of,
    windows,
)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker(clock)


def fail(breaker: Breaker, times: int = 1) -> None:
    for _ in range(times):
        assert breaker.enter()
        breaker.fail()


def test_a_single_quick_failure_is_borne_and_a_second_is_not(breaker: Breaker) -> None:
    fail(breaker, TOLERANCE - 1)
    assert breaker.state == "closed"
    fail(breaker)
    assert (breaker.state, breaker.enter()) == ("open", False)


def test_what_cost_time_opens_it_at_once(breaker: Breaker) -> None:
    breaker.enter()
    breaker.fail(at_once=True)
    assert breaker.state == "open"


def test_after_a_rest_one_probes_and_the_others_do_not(breaker: Breaker, clock: Clock) -> None:
    fail(breaker, TOLERANCE)
    clock.now += FIRST_REST
    assert [breaker.enter(), breaker.enter(), breaker.state] == [True, False, "probing"]
    breaker.succeed()
    assert [breaker.enter(), breaker.enter(), breaker.state] == [True, True, "closed"]


def test_a_probe_that_taught_nothing_lets_the_next_one_probe(breaker: Breaker, clock: Clock) -> None:
    fail(breaker, TOLERANCE)
    clock.now += FIRST_REST
    assert breaker.enter()
    breaker.leave()
    assert breaker.enter()


def test_rests_double_up_to_a_bound_and_a_success_forgets_them(breaker: Breaker, clock: Clock) -> None:
    fail(breaker, TOLERANCE)
    rests = []
    for _ in range(8):
        rests.append(breaker.remaining)
        clock.now += breaker.remaining
        fail(breaker)
    assert rests == [1.0, 2.0, 4.0, 8.0, 16.0, LONGEST_REST, LONGEST_REST, LONGEST_REST]
    clock.now += LONGEST_REST
    assert breaker.enter()
    breaker.succeed()
    fail(breaker, TOLERANCE)
    assert breaker.remaining == FIRST_REST


def test_of_many_that_fail_together_one_counts(breaker: Breaker) -> None:
    for _ in range(20):
        breaker.enter()
    for _ in range(20):
        breaker.fail(at_once=True)
    assert breaker.remaining == FIRST_REST


@pytest.mark.parametrize(("asked", "rest"), [(0.0, 1.0), (17.0, 17.0), (1e9, LONGEST_ASKED_REST)])
def test_who_asks_for_a_rest_gets_it_within_bounds(breaker: Breaker, asked: float, rest: float) -> None:
    breaker.enter()
    breaker.fail(asked=asked)
    assert breaker.remaining == rest


# --- Windows and prefixes -------------------------------------------------------------------------


@given(st.text(alphabet=st.sampled_from("ab \n日本é"), max_size=400), st.integers(4, 60))
def test_windows_reach_from_beginning_to_end_and_none_is_too_long(text: str, tokens: int) -> None:
    pieces = windows(text, tokens, most=10_000)
    assert all(piece in text for piece in pieces)
    assert text.startswith(pieces[0])
    assert text.endswith(pieces[-1])
    assert {word for piece in pieces for word in piece} == set(text)
    assert all(sum(0.3 if letter.isascii() else 1.0 for letter in piece) <= tokens + 1 for piece in pieces)


def test_a_short_text_is_one_window_and_a_very_long_one_not_more_than_allowed() -> None:
    assert windows("") == [""]
    assert windows("A crane.") == ["A crane."]
    assert len(windows("word " * 100_000)) == MOST_WINDOWS


def test_windows_of_a_text_without_blanks_go_on() -> None:
    text = "水" * 1000
    pieces = windows(text, 100, most=1000)
    assert pieces[0] + "".join(piece[25:] for piece in pieces[1:]) == text


@pytest.mark.parametrize(
    ("model", "document", "query"),
    [
        ("nomic-embed-text:v1.5", "search_document: ", "search_query: "),
        ("hf.co/intfloat/multilingual-e5-large", "passage: ", "query: "),
        ("mxbai-embed-large:latest", "", "Represent this sentence for searching relevant passages: "),
        ("bge-m3", "", ""),
        ("BAAI/bge-small-en-v1.5", "", "Represent this sentence for searching relevant passages: "),
        ("snowflake-arctic-embed2", "", "query: "),
        ("all-minilm", "", ""),
        ("text-embedding-3-small", "", ""),
    ],
)
def test_known_models_have_their_makers_prefixes(model: str, document: str, query: str) -> None:
    assert prefixes_of(model) == (document, query)
