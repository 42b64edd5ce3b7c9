"""What a server derives from memories in databases is bounded in bytes: the least recently used goes, nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.store.upkeep import LocalIndexes

pytestmark = pytest.mark.anyio


def derived(home: Path, size: int, used: int) -> Path:
    """A folder with an index and vectors of so many bytes together, and with what is not derived."""
    folder = home / ".holdfast"
    folder.mkdir(parents=True)
    (folder / "index.db").write_bytes(b"x" * (size // 2))
    (folder / "encodings.db").write_bytes(b"x" * (size - size // 2))
    (folder / "sessions.db").write_bytes(b"x")
    (home / "transcripts").mkdir()
    (home / "transcripts" / "queue.db").write_bytes(b"x" * 1000)
    (folder / "used").touch()
    for file in folder.iterdir():
        os.utime(file, (used, used))
    return folder


def has_index(folder: Path) -> bool:
    rest = {"sessions.db", "used"}
    assert {file.name for file in folder.iterdir()} - {"index.db", "encodings.db"} == rest
    assert (folder.parent / "transcripts" / "queue.db").stat().st_size == 1000
    return (folder / "index.db").exists() and (folder / "encodings.db").exists()


async def test_the_least_recently_used_go_until_the_rest_fits(tmp_path: Path) -> None:
    first = derived(tmp_path / "a", 400, 1_000)
    second = derived(tmp_path / "b", 400, 3_000)
    third = derived(tmp_path / "c" / "tenants" / "d", 400, 2_000)
    assert await LocalIndexes(tmp_path, 1200, list).tidy() == 1200
    assert all(map(has_index, (first, second, third)))
    assert await LocalIndexes(tmp_path, 1199, list).tidy() == 800
    assert [has_index(each) for each in (first, second, third)] == [False, True, True]
    assert await LocalIndexes(tmp_path, 500, list).tidy() == 400
    assert [has_index(each) for each in (first, second, third)] == [False, True, False]


async def test_what_is_open_stays_and_counts_as_used_now(tmp_path: Path) -> None:
    oldest = derived(tmp_path / "a", 400, 1_000)
    newer = derived(tmp_path / "b", 400, 2_000)
    assert await LocalIndexes(tmp_path, 500, lambda: [oldest]).tidy() == 400
    assert [has_index(each) for each in (oldest, newer)] == [True, False]
    assert await LocalIndexes(tmp_path, 100, lambda: [oldest]).tidy() == 400
    third = derived(tmp_path / "c", 400, 3_000)
    assert await LocalIndexes(tmp_path, 500, list).tidy() == 400  # the mark of the first is of today
    assert [has_index(each) for each in (oldest, third)] == [True, False]


async def test_a_folder_that_is_not_there_has_nothing_to_bound(tmp_path: Path) -> None:
    assert await LocalIndexes(tmp_path / "none", 0, lambda: [tmp_path / "none" / "a"]).tidy() == 0
