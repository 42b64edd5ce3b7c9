"""What was written lately is known, however much was written before it, at little cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.errors import ConflictError
from holdfast.store.filesystem import FileSystem
from holdfast.store.settle import Stillness


class Told(str):
    """A text's hash that counts how often anybody looks for it."""

    __slots__ = ()
    looks = 0

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        Told.looks += 1
        return str.__hash__(self)


class Standing(FileSystem):
    """A clock that stands still."""

    def __init__(self, now: int) -> None:
        super().__init__()
        self._now = now

    def now_ns(self) -> int:
        return self._now


def test_what_a_long_journal_tells_costs_the_same_for_each_line_and_takes_little_memory() -> None:
    stillness = Stillness(FileSystem())
    Told.looks = 0
    stillness.learn({"files": [{"after": Told(f"{number:064x}")}]} for number in range(40_000))
    assert Told.looks < 10 * 40_000
    assert len(stillness._own) < 20_000


def test_the_last_text_of_many_is_ours_and_that_of_a_stranger_is_not(tmp_path: Path) -> None:
    place = tmp_path / "note.md"
    place.write_bytes(b"The crane is yellow.")
    stillness = Stillness(Standing(place.stat().st_ctime_ns + 1_000_000))
    stillness.wrote("ours")
    for number in range(5000):
        stillness.wrote(f"{number:064x}")
    stillness.check(place, "ours")
    with pytest.raises(ConflictError, match="saved by another program"):
        stillness.check(place, "a stranger's")
