"""How many modules a reader of a verb has to follow, as `bench/walk.py` counts them while it runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from processes import PATIENCE

ROOT = Path(__file__).parents[2]
# Modules; may only become fewer. The question that is asked names a day, and what days its notes name is read since.
MOST = {"remember": 39, "recall": 38, "recall_node": 14, "mark_outdated": 30}
RUNS = 6  # on a busy machine a verb also meets what falls due by the clock: the run in which it did not counts


def run() -> dict[str, int]:
    """Modules by verb."""
    ran = subprocess.run(
        [sys.executable, "bench/walk.py"], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE * 2, check=True
    )
    rows = [line.split() for line in ran.stdout.splitlines()[1:]]
    return {row[0]: int(row[1]) for row in rows}


@pytest.fixture(scope="module")
def runs() -> list[dict[str, int]]:
    """Those that were made until now; shared, so that most tests need one."""
    return [run()]


@pytest.mark.parametrize("verb", MOST)
def test_a_verb_enters_few_modules(runs: list[dict[str, int]], verb: str) -> None:
    while min(each[verb] for each in runs) > MOST[verb] and len(runs) < RUNS:
        runs.append(run())
    assert 0 < min(each[verb] for each in runs) <= MOST[verb]
