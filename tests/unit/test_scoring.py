"""The figures that bench/ prints mean what their names say."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType


def load_scoring() -> ModuleType:
    """bench/ is no package and not on the path, so its file is loaded by place."""
    spec = importlib.util.spec_from_file_location("bench_scoring", Path(__file__).parents[2] / "bench" / "scoring.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


scoring = load_scoring()
Answer = scoring.Answer


def test_recall_is_the_share_of_the_evidence_within_the_depth() -> None:
    answer = Answer("k", ranked=tuple("abcdefg"), evidence=("b", "g", "z"))
    assert scoring.recall_at(answer, 5) == pytest.approx(1 / 3)
    assert scoring.recall_at(answer, 10) == pytest.approx(2 / 3)


def test_evidence_named_twice_counts_once() -> None:
    assert scoring.recall_at(Answer("k", ranked=("a",), evidence=("a", "a")), 5) == 1.0


def test_reciprocal_rank_is_that_of_the_first_evidence_note() -> None:
    assert scoring.reciprocal_rank(Answer("k", ranked=("x", "y", "b", "a"), evidence=("a", "b"))) == 1 / 3
    assert scoring.reciprocal_rank(Answer("k", ranked=("x",), evidence=("a",))) == 0.0


@pytest.mark.parametrize(
    ("ranked", "is_error"),
    [
        (("old", "new"), True),
        (("x", "old"), True),
        (("new", "old"), False),
        (("new", "x"), False),
        (("x",), False),
        ((), False),
    ],
)
def test_a_stale_note_errs_only_above_the_best_evidence(ranked: tuple[str, ...], *, is_error: bool) -> None:
    assert scoring.is_stale_error(Answer("k", ranked, evidence=("new",), stale=("old",))) is is_error


def test_the_stale_share_is_over_queries_that_have_stale_notes() -> None:
    answers = [
        Answer("k", ("old", "new"), ("new",), stale=("old",)),
        Answer("k", ("new", "old"), ("new",), stale=("old",)),
        Answer("k", ("new",), ("new",)),
    ]
    assert scoring.stale_error(answers) == 0.5
    assert scoring.stale_error(answers[2:]) is None


def test_micro_counts_queries_and_macro_counts_kinds() -> None:
    answers = [Answer("often", ("a",), ("a",))] * 3 + [Answer("seldom", ("x",), ("a",))]
    kinds = scoring.by_kind(answers)
    assert list(kinds) == ["often", "seldom"]
    assert scoring.figures(answers) == scoring.Figures(queries=4, recall5=0.75, recall10=0.75, mrr=0.75)
    assert scoring.macro(kinds) == scoring.Figures(queries=4, recall5=0.5, recall10=0.5, mrr=0.5)


def test_off_topic_queries_are_no_part_of_recall() -> None:
    answers = [Answer("k", ("a",), ("a",)), Answer("offtopic", ("a",), ())]
    assert scoring.figures(answers).queries == 1
    assert list(scoring.by_kind(answers)) == ["k"]


def test_false_positives_tell_weak_hits_from_strong_ones() -> None:
    off_topic = [
        Answer("offtopic", ("a", "b"), (), strong=1),
        Answer("offtopic", ("a",), (), strong=0),
        Answer("offtopic", (), ()),
        Answer("offtopic", (), ()),
    ]
    answers = [*off_topic, Answer("k", ("a",), ("a",), strong=1)]
    assert scoring.false_positives(answers) == scoring.FalsePositives(queries=4, strong=0.25, returned=0.5)
    assert scoring.false_positives(answers[4:]) is None


def test_nothing_asked_is_nothing_found() -> None:
    assert scoring.figures([]) == scoring.Figures(queries=0, recall5=0.0, recall10=0.0, mrr=0.0)


@pytest.mark.parametrize(("share", "value"), [(0.5, 50), (0.95, 95), (0.01, 1), (1.0, 100)])
def test_a_percentile_is_a_value_that_was_measured(share: float, value: int) -> None:
    assert scoring.percentile(list(range(100, 0, -1)), share) == value


def test_kinds_set_apart_are_shown_but_not_averaged() -> None:
    answers = [Answer("plain", ("a",), ("a",)), Answer("odd", ("x",), ("a",))]
    rows = scoring.table({"us": answers, "them": answers}, apart={"odd"}).splitlines()
    micro = next(row for row in rows if row.startswith("micro"))
    assert micro.split() == ["micro", "1", "|", "1.000", "1.000", "1.000", "|", "1.000", "1.000", "1.000"]
    assert any(row.startswith("(odd)") for row in rows)
