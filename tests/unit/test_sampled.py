"""Which calls of a change are made to fail: every sort of them, and every step of a change that has few of each."""

from __future__ import annotations

import pytest

from disks import LOOKING
from sampled import ALIKE, FAULTS, moments, sort_of, unfailed

APPEND, READ = "append journal .jsonl", "read memories .md"


@pytest.mark.parametrize(
    ("name", "path", "sort"),
    [
        ("write", "/memories/harbour/crane.mem_01m834ja0hvdz6dv.md", "write memories .md"),
        ("write", "/memories/harbour/.chg_01m834ja1hk6efnf.0.tmp", "write memories hidden"),
        ("fsync", "/memories/harbour", "fsync memories at depth 2"),
        ("append", "journal/2026-11.jsonl", "append journal .jsonl"),
        ("pwrite64", "/.holdfast/index.db-wal", "pwrite64 .holdfast/index.db-wal"),
        ("write", "/journal/2026-11.jsonl (deleted)", "write journal .jsonl"),
        ("scan", ".", "scan the folder"),
        ("fsync", "", "fsync the folder"),
    ],
)
def test_calls_are_of_one_sort_when_they_do_the_same_to_the_same_kind_of_file(name: str, path: str, sort: str) -> None:
    assert sort_of(name, path) == sort


def test_every_sort_fails_and_every_step_of_a_change_that_has_few_of_each() -> None:
    sorts = [APPEND, READ, "move memories hidden", *[APPEND] * (ALIKE + 1)]
    numbers = {number for number, _ in moments(sorts, "remember")}
    assert numbers == set(range(len(sorts)))


def test_of_many_that_are_alike_the_first_the_last_and_a_share_fail_the_same_in_each_run() -> None:
    sorts = [APPEND] * 500
    found = moments(sorts, "purge")
    numbers = [number for number, _ in found]
    assert numbers[0] == numbers[1] == 0
    assert numbers[-1] == 499
    assert len(set(numbers)) == ALIKE + 2
    assert found == moments(sorts, "purge")
    assert found != moments(sorts, "restore")


def test_what_changes_something_fails_once_and_for_good_and_all_faults_have_their_turn() -> None:
    sorts = [f"{name} memories .md" for name in ("create", "move", "remove", "append")]
    found = moments(sorts, "update")
    for number in range(len(sorts)):
        assert {stays for each, (_, stays) in found if each == number} == {False, True}
    assert {fault for _, fault in found} == set(FAULTS)


def test_what_only_looks_fails_less_often() -> None:
    for name in LOOKING:
        assert len(moments([f"{name} memories .md"] * 100, "update")) == 4


def test_a_sort_that_came_at_another_number_is_named_with_where_it_is_now() -> None:
    assert unfailed([APPEND, READ, APPEND], {APPEND}) == [1]
    assert unfailed([APPEND, READ], {APPEND, READ}) == []
