"""The figures that bench/ prints mean what their names say."""

from __future__ import annotations

import pytest

from benches import loaded

scoring = loaded("scoring")
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


def test_identifiers_count_where_evidence_is_the_very_first() -> None:
    answers = [Answer("exact", ("a", "b"), ("a",)), Answer("exact", ("b", "a"), ("a",)), Answer("k", ("a",), ("a",))]
    assert scoring.first_of_all(answers, "exact") == scoring.Count(found=1, of=2)


def test_a_query_of_a_kind_is_found_with_any_of_its_evidence_within_the_depth() -> None:
    answers = [Answer("k", tuple("xyab"), ("a", "b")), Answer("k", tuple("xyb"), ("a",))]
    assert scoring.found_at_all(answers, "k", 3) == scoring.Count(found=1, of=2)
    assert scoring.found_at_all(answers, "k", 2) == scoring.Count(found=0, of=2)


def test_stale_errors_are_counted_over_queries_that_have_stale_notes() -> None:
    answers = [Answer("k", ("old", "new"), ("new",), stale=("old",)), Answer("k", ("old", "new"), ("new",))]
    assert scoring.stale_errors(answers) == scoring.Count(found=1, of=1)


def test_counts_are_shown_as_counts_and_left_out_where_there_are_none() -> None:
    assert scoring.count_line("found", {"us": scoring.Count(2, 3), "them": scoring.Count(0, 3)}) == (
        "found: us 2 of 3, them 0 of 3"
    )
    assert scoring.count_line("found", {"us": scoring.Count(0, 0)}) == ""


def test_an_interval_lies_around_the_mean_and_is_the_same_for_the_same_seed() -> None:
    values = [0.0] * 50 + [1.0] * 50
    found = scoring.bootstrap(values)
    assert found.mean == 0.5
    assert (found.low, found.high) == pytest.approx((0.40, 0.60), abs=0.03)  # a binomial of 100
    assert scoring.bootstrap(values) == found
    assert scoring.bootstrap(values, seed=8) != found


def test_what_never_varies_has_an_interval_of_no_width() -> None:
    assert scoring.bootstrap([0.25] * 9) == scoring.Interval(mean=0.25, low=0.25, high=0.25)
    assert scoring.bootstrap([]) == scoring.Interval(mean=0.0, low=0.0, high=0.0)


@pytest.mark.parametrize(
    ("low", "high", "excludes"), [(0.1, 0.2, True), (-0.2, -0.1, True), (-0.1, 0.1, False), (0.0, 0.1, False)]
)
def test_an_interval_says_whether_zero_is_outside(low: float, high: float, *, excludes: bool) -> None:
    assert scoring.Interval(mean=0.0, low=low, high=high).excludes_zero is excludes


def test_differences_are_paired_by_query_and_leave_off_topic_queries_out() -> None:
    found, missed = Answer("k", ("a",), ("a",)), Answer("k", ("x",), ("a",))
    noise = Answer("offtopic", ("a",), ())
    row = scoring.differences([found, missed, noise], [missed, found, noise])
    assert row["R@10"].mean == 0.0
    assert row["R@10"].low < 0.0 < row["R@10"].high
    better = scoring.differences([found, found, noise], [missed, missed, noise])
    assert better["MRR"] == scoring.Interval(mean=1.0, low=1.0, high=1.0)


def test_each_measure_has_its_interval_over_answerable_queries() -> None:
    answers = [Answer("k", tuple("xxxxxa"), ("a",))] * 4 + [Answer("offtopic", ("a",), ())]
    row = scoring.intervals(answers)
    assert {name: each.mean for name, each in row.items()} == {"R@5": 0.0, "R@10": 1.0, "MRR": pytest.approx(1 / 6)}


def test_the_half_of_a_query_hangs_on_its_id_alone() -> None:
    halves = [scoring.half(f"q{number:03}") for number in range(200)]
    assert [scoring.half(f"q{number:03}") for number in range(200)] == halves
    assert halves[:4] == ["B", "A", "B", "A"]  # for good: what was held out once must stay so
    assert 80 < halves.count("A") < 120


def test_auc_counts_pairs_in_order_and_ties_as_a_half() -> None:
    assert scoring.auc([0.9, 0.8], [0.1, 0.2]) == 1.0
    assert scoring.auc([0.1], [0.9]) == 0.0
    assert scoring.auc([0.5, 0.9], [0.5]) == 0.75


def test_abstention_compares_the_best_hits_and_tells_silence_from_doubt() -> None:
    answerable = [
        Answer("k", ("a", "b"), ("a",), strong=1, nearest=(0.6, 0.9)),
        Answer("k", ("a",), ("a",), strong=0, nearest=(0.4,)),
    ]
    off_topic = [
        Answer("offtopic", (), (), nearest=(0.7, 0.1)),
        Answer("offtopic", ("a",), (), strong=0, nearest=(0.3,)),
        Answer("offtopic", (), ()),
        Answer("offtopic", ("a",), (), strong=1, nearest=(0.5,)),
    ]
    found = scoring.abstention([*answerable, *off_topic])
    assert found.auc_first == 5 / 8
    assert found.auc_highest == 6 / 8
    assert found.answerable == scoring.Silence(queries=2, silenced=0.0, only_weak=0.5)
    assert found.off_topic == scoring.Silence(queries=4, silenced=0.5, only_weak=0.25)


def test_without_off_topic_queries_there_is_nothing_to_abstain_from() -> None:
    assert scoring.abstention([Answer("k", ("a",), ("a",))]) is None


@pytest.mark.parametrize(("share", "value"), [(0.5, 50), (0.95, 95), (0.01, 1), (1.0, 100)])
def test_a_percentile_is_a_value_that_was_measured(share: float, value: int) -> None:
    assert scoring.percentile(list(range(100, 0, -1)), share) == value


def test_kinds_set_apart_are_shown_but_not_averaged() -> None:
    answers = [Answer("plain", ("a",), ("a",)), Answer("odd", ("x",), ("a",))]
    rows = scoring.table({"us": answers, "them": answers}, apart={"odd"}).splitlines()
    micro = next(row for row in rows if row.startswith("micro"))
    assert micro.split() == ["micro", "1", "|", "1.000", "1.000", "1.000", "|", "1.000", "1.000", "1.000"]
    assert any(row.startswith("(odd)") for row in rows)
