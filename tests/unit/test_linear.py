"""The checker of histories finds an order where there is one, and none in histories that no single memory gives."""

from __future__ import annotations

import itertools
from dataclasses import replace
from random import Random

import pytest

from holdfast.model.lifecycle import updated
from linear import FOREVER, NOTE, Op, belief_step, note_step, register_step, unexplained


def op(kind: str, began: float, ended: float, argument: object = None, answer: object = None, name: str = "") -> Op:
    return Op("key", kind, argument, answer, began, ended, name)


STORED = op("store", 0, 1, name="s")
GOOD = {
    "one after the other": [STORED, op("read", 2, 3, answer=""), op("find", 4, 5, answer=True)],
    "a read beside a write may see either": [
        STORED, op("outdate", 2, 6, "why", name="o"), op("read", 3, 5, answer=""), op("read", 4, 6, answer="why"),
    ],
    "a call that nobody heard of may have happened": [
        STORED, op("outdate", 2, FOREVER, "why", name="o"), op("read", 7, 8, answer="why"),
    ],
    "or not": [STORED, op("outdate", 2, FOREVER, "why", name="o"), op("read", 7, 8, answer="")],
    "or later": [
        STORED, op("outdate", 2, FOREVER, "why", name="o"), op("read", 7, 8, answer=""),
        op("read", 9, 10, answer="why"),
    ],
    "a deletion that is undone": [
        STORED, op("delete", 2, 3, name="d"), op("missing", 4, 5), op("undo", 6, 7, "d", name="u"),
        op("find", 8, 9, answer=True),
    ],
}  # fmt: skip
BAD = {
    "a stale read": [STORED, op("outdate", 2, 3, "why", name="o"), op("read", 4, 5, answer="")],
    "a read of what comes later": [STORED, op("read", 2, 3, answer="why"), op("outdate", 4, 5, "why", name="o")],
    "a lost note": [STORED, op("find", 2, 3, answer=False)],
    "a note that comes back": [
        STORED, op("outdate", 2, FOREVER, "why", name="o"), op("read", 4, 5, answer="why"), op("read", 6, 7, answer=""),
    ],
    "a deletion that did not happen": [STORED, op("delete", 2, 3, name="d"), op("find", 4, 5, answer=True)],
    "two orders for two readers": [
        STORED, op("outdate", 2, 9, "a", name="a"), op("outdate", 2, 9, "b", name="b"),
        op("read", 3, 4, answer="a"), op("read", 5, 6, answer="b"), op("read", 7, 8, answer="a"),
    ],
    "an undo over a later change": [
        STORED, op("outdate", 2, 3, "a", name="a"), op("outdate", 4, 5, "b", name="b"), op("undo", 6, 7, "a", name="u"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("history", GOOD.values(), ids=GOOD)
def test_an_order_is_found_where_there_is_one(history: list[Op]) -> None:
    assert unexplained(history, note_step, NOTE) == []


@pytest.mark.parametrize("history", BAD.values(), ids=BAD)
def test_none_is_found_where_there_is_none(history: list[Op]) -> None:
    assert unexplained(history, note_step, NOTE) != []


def test_a_lost_update_of_a_belief_is_found() -> None:
    moved = updated(0.5, supports=True, strength=0.5)
    first, second = op("believe", 0, 5, (True, 0.5), moved), op("believe", 1, 6, (True, 0.5), moved)
    assert unexplained([first], belief_step, 0.5) == []
    assert unexplained([first, second], belief_step, 0.5) != []


def test_histories_of_a_real_register_pass_and_each_with_one_answer_exchanged_is_judged_as_by_hand() -> None:
    """Against the definition itself: every order of the calls is tried."""
    chance = Random(7)  # noqa: S311 - histories, not secrets
    verdicts = set()
    for _ in range(300):
        history = [_made_up(chance, number) for number in range(5)]
        found = unexplained(history, register_step, "")
        assert (found == []) is _by_definition(history)
        verdicts.add(found == [])
    assert verdicts == {True, False}


def _made_up(chance: Random, number: int) -> Op:
    began = chance.uniform(0, 10)
    ended = began + chance.uniform(0, 6)
    if chance.random() < 0.5:
        return op("write", began, FOREVER if chance.random() < 0.3 else ended, f"{number}")
    return op("read", began, ended, answer=chance.choice(["", *map(str, range(5))]))


def _by_definition(history: list[Op]) -> bool:
    unheard = [each for each in history if not each.is_known]
    for size in range(len(unheard) + 1):
        for happened in itertools.combinations(unheard, size):
            chosen = [each for each in history if each.is_known or each in happened]
            if any(_is_run(order) for order in itertools.permutations(chosen)):
                return True
    return False


def _is_run(order: tuple[Op, ...]) -> bool:
    if any(later.ended < earlier.began for earlier, later in itertools.combinations(order, 2)):
        return False
    state: str | None = ""
    for each in order:
        state = register_step(state, replace(each))
        if state is None:
            return False
    return True
