"""A note that many others are like, as a long one in a diary is, makes no answer slow: few are compared."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from disks import seeded
from holdfast.engine.agent import answer, listing, matters
from holdfast.index.rows import IndexedNote
from holdfast.index.view import IndexView
from worlds import ask, keep, living

pytestmark = pytest.mark.anyio

MANY = 80
SAID = (
    "The build took twelve minutes on the old runner",
    "We moved the cache to a larger disk",
    "Tests of the parser are slow, so they run at night",
    "The release notes are written by hand",
    "Reviews wait for two people at least",
)
MOST_COMPARED = 3 * matters.LOOKED  # those found, those near the best, and those near these when they were stored


@pytest.mark.parametrize("query", ["what about zorvekmal?", "recent decisions"])
async def test_few_of_many_alike_notes_are_held_against_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    compared: list[int] = []

    def counted(view: IndexView, notes: Mapping[str, IndexedNote], *given: Any) -> matters.Matters:
        compared.append(len(notes))
        return matters.compared(view, notes, *given)

    monkeypatch.setattr(answer, "compared", counted)
    monkeypatch.setattr(listing, "compared", counted)
    async with living(tmp_path) as memory:
        whole = ". ".join([*SAID * 20, "We looked into zorvekmal for a day"])
        await keep(memory, whole, type="decision")
        for week in range(MANY):
            first, second = seeded(week).sample(SAID, 2)
            await keep(memory, f"{first}. {second}, as of week {week}.")
        assert (await ask(memory, query)).hits
    assert compared
    assert max(compared) <= MOST_COMPARED
