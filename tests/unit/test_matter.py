"""Which two notes are versions of one fact, by their texts alone."""

from __future__ import annotations

import pytest

from holdfast.engine.agent.matters import likelihood
from holdfast.model.matter import FOLDED, LED
from holdfast.model.note import Note

DAYS = ("2026-10-01T09:00:00Z", "2026-10-11T09:00:00Z")


def likely(older: str, newer: str) -> float:
    one, other = (
        Note(f"mem_000000000000000{number}", content, content[:40], at, at, space="harbour")
        for number, (content, at) in enumerate(zip((older, newer), DAYS, strict=True), 1)
    )
    return likelihood(one, other, {})


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Standup is at 9:15 every weekday.", "Standup moved to 9:45 since Priya joined."),
        ("Standup is at 9:15 every weekday in the big room.", "Standup moved to 9:45 since Priya joined."),
        ("Deploys go out on Tuesdays.", "Deploys moved to Thursdays."),
        ("The weekly sync takes place in room Atlas.", "The weekly sync moved to room Zephyr."),
        ("Backups run at 2 am.", "Backups now run at 4 am because of the batch job."),
        ("Das Standup ist um 9:15 Uhr.", "Das Standup wurde auf 9:45 Uhr verschoben."),
        ("The release date is 12 January.", "The release slipped to 12 February."),
    ],
)
def test_what_has_moved_is_a_version_of_what_it_was(older: str, newer: str) -> None:
    assert likely(older, newer) >= FOLDED


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The retro is on Fridays at 15:00.", "The retro board is in Miro."),
        ("Deploys go out on Tuesdays.", "Deploys need two approvals."),
        ("The pilot boat leaves at 6:30.", "The pilot boat belongs to Rasmussen."),
        ("Invoices are sent on Mondays.", "Invoices have 14 fields."),
        ("Standup is at 9:15 every weekday.", "Standup notes go to the wiki page Standup."),
    ],
)
def test_a_day_a_figure_and_a_name_of_one_subject_are_no_versions_of_each_other(older: str, newer: str) -> None:
    assert likely(older, newer) < LED
    assert likely(newer, older) < LED
