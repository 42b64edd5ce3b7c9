"""Whatever the ablation takes out of the ranking is still there to be taken out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

BENCH = Path(__file__).parents[2] / "bench"

if TYPE_CHECKING:
    import pytest


def test_each_variant_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(BENCH), *sys.path])
    import ablation  # noqa: PLC0415 - bench/ is not on the path
    import datasets  # noqa: PLC0415

    notes = (
        datasets.BenchNote("old", {"content": "The limit is 100 requests a minute."}),
        datasets.BenchNote("new", {"content": "The limit is 300 requests a minute."}, ("old",)),
        datasets.BenchNote("other", {"content": "Ben bakes bread on Fridays."}),
    )
    query = datasets.BenchQuery("q", "plain", "What is the limit?", ("new",))
    answers = ablation.measured(datasets.Dataset("small", notes, (query,)))
    assert set(answers) == {variant.name for variant in ablation.variants()}
    first = {name: answer.ranked[:1] for name, (answer,) in answers.items()}
    assert first == {name: answer.evidence for name, (answer,) in answers.items()}
