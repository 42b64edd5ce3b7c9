"""What is kept of a text that is compared with many: no more than the beginning that is looked at."""

from __future__ import annotations

import pytest

from holdfast.model.claims import say_the_same
from holdfast.model.statement import LONGEST, statement


def test_texts_that_begin_alike_are_taken_apart_once() -> None:
    begins = "The crane stands at the north quay. " * 20
    assert len(begins) > LONGEST
    assert statement(f"{begins} One.") is statement(f"{begins} Another.")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Anna is our contact at the bank.", "Our contact at the bank is Anna.", True),
        ("Anna is our contact at the bank.", "Our contact at the bank is Bert.", False),
        ("Anna manages Ben.", "Ben manages Anna.", False),
        ("The gate opens at 12 am.", "The gate opens at 00:00.", True),
        ("The gate opens at 9:30 p.m.", "The gate opens at 21:30.", True),
        ("The gate opens at 9 am.", "The gate opens at 21:00.", False),
        ("The ratio is 3:1.", "The ratio is 03:01.", False),
    ],
)
def test_the_same_said_in_another_order_or_with_another_clock_is_the_same(one: str, other: str, *, same: bool) -> None:
    assert say_the_same(one, other) is same
