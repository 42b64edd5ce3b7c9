"""What a process keeps of the index in memory: never said to be newer than what was read, and no larger than it is."""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from holdfast.index import projection
from holdfast.index.note_index import NoteIndex
from holdfast.index.projection import Update
from holdfast.index.recalls import FeedbackRow, RatedQuestion
from holdfast.index.search import finder as search
from holdfast.index.search.finder import FeedbackIndex, Finder
from holdfast.index.search.vectors import Background, VectorTable
from holdfast.model.ranking import QueryVector
from holdfast.model.words import question_key
from indexes import ANY, NOW, SET, an_id, made, opened, random_units, row, unit

pytestmark = pytest.mark.anyio

EAST = QueryVector(SET, unit(1), 0.0, 1.0)


@contextmanager
def two_readers(path: Path) -> Iterator[tuple[sqlite3.Connection, sqlite3.Connection]]:
    with closing(sqlite3.connect(path)) as first, closing(sqlite3.connect(path)) as second:
        yield first, second


def found(finder: Finder, connection: sqlite3.Connection, vector: QueryVector | None = EAST) -> dict[str, float | None]:
    """Ids with their z."""
    answer = finder.search(connection, "zzz" if vector else "winch", vector, ANY, 500, 10, 500)
    return {item.id: item.z for item in answer.candidates}


async def put(index: NoteIndex, number: int, vector: bytes, text: str = "a winch") -> None:
    item = row(number, f"{text} {number}")
    await index.apply(Update(notes=[item], vectors=[made(item, vector)]))


@pytest.fixture(params=["small", "bytes", "sqlite-vec", "numpy"])
def finder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Finder:
    """Each way in which vectors are kept and compared."""
    if request.param != "small":
        held = 10_000 if request.param == "bytes" else 0
        monkeypatch.setattr(search, "VectorTable", functools.partial(VectorTable, exact_notes=2, held_vectors=held))
    return Finder(extension=False)


async def test_a_second_search_on_an_earlier_state_costs_no_later_search_a_vector(
    tmp_path: Path, finder: Finder
) -> None:
    async with opened(tmp_path / "index.db", extension=False) as index:
        for number in range(1, 6):
            await put(index, number, unit(1, 0.1 * number))
        with two_readers(tmp_path / "index.db") as (earlier, later):
            earlier.execute("BEGIN")
            assert len(found(finder, earlier)) == 5
            await put(index, 6, unit(1, 0.6))
            assert finder.subjects(later, []) == []  # the snapshot is of the later state now, the vectors are not
            assert set(found(finder, earlier)) == {an_id(number) for number in range(1, 6)}
            earlier.rollback()
            assert set(found(finder, later)) == {an_id(number) for number in range(1, 7)}
            assert finder.held(later, [SET]) == (6, 6)


async def test_vectors_read_on_an_earlier_state_are_never_those_of_another_note(tmp_path: Path, finder: Finder) -> None:
    async with opened(tmp_path / "index.db", extension=False) as index:
        for number in range(1, 4):
            await put(index, number, unit(1, 0.1 * number))
        with two_readers(tmp_path / "index.db") as (earlier, later):
            assert found(finder, later).keys() == {an_id(1), an_id(2), an_id(3)}
            await put(index, 4, unit(-1))
            earlier.execute("BEGIN")
            earlier.execute("SELECT count(*) FROM notes").fetchone()
            await index.apply(Update(gone=[an_id(4)]))
            await put(index, 5, unit(1))  # takes over the row id of the vector that went
            assert finder.subjects(later, []) == []
            assert found(finder, earlier).keys() <= {an_id(1), an_id(2), an_id(3), an_id(4)}
            after = found(finder, later)
            assert after.keys() == {an_id(1), an_id(2), an_id(3), an_id(5)}
            assert after == found(Finder(extension=False), later)


async def test_a_vector_goes_with_the_text_that_it_was_made_from(tmp_path: Path, finder: Finder) -> None:
    async with opened(tmp_path / "index.db", extension=False) as index:
        for number in range(1, 5):
            await put(index, number, unit(1, 0.1 * number))
        with closing(sqlite3.connect(tmp_path / "index.db")) as reader:
            assert an_id(2) in found(finder, reader)
            await index.apply(Update(notes=[row(2, "another text, that has no vector yet")]))
            await index.apply(Update(gone=[an_id(3)]))
            assert found(finder, reader).keys() == {an_id(1), an_id(4)}
            assert finder.held(reader, []) == (2, 2)


async def test_a_background_measured_on_an_earlier_state_is_measured_again_on_the_later(tmp_path: Path) -> None:
    async with opened(tmp_path / "index.db", extension=False) as index:
        for number, vector in enumerate(random_units(20, seed=1), start=1):
            await put(index, number, vector)
        finder, background = Finder(extension=False), Background()
        with two_readers(tmp_path / "index.db") as (earlier, later):
            earlier.execute("BEGIN")
            found(finder, earlier)
            await put(index, 21, unit(1))
            finder.subjects(later, [])
            found(finder, earlier)
            assert found(finder, later) == found(Finder(extension=False), later)
            before = background.statistics(earlier, SET, (0.0, 1.0), 1)
            after = background.statistics(later, SET, (0.0, 1.0), 2)
            assert before != after
            assert background.statistics(earlier, SET, (0.0, 1.0), 1) == before


async def test_weights_of_words_counted_on_an_earlier_state_are_counted_again_on_the_later(tmp_path: Path) -> None:
    rated = "how much oil does the winch on the quay take"
    question = RatedQuestion(question_key(rated), rated, rated)
    async with opened(tmp_path / "index.db", extension=False) as index:
        await index.apply(Update(notes=[row(1, "winch oil"), *(row(number, "crane") for number in range(10, 14))]))
        signal = FeedbackRow(an_id(1), "evt_1", 1, 1, explicit=True, at="2026-11-20T11:00:00Z", question=question)
        await index.apply(Update(feedback=[signal]))
        ratings = FeedbackIndex()

        def affinity(by: FeedbackIndex, connection: sqlite3.Connection) -> dict[str, float]:
            return by.affinities(connection, [an_id(1)], "how much oil does a winch take", None, NOW)

        with two_readers(tmp_path / "index.db") as (earlier, later):
            earlier.execute("BEGIN")
            affinity(ratings, earlier)
            await index.apply(Update(notes=[row(number, "oil oil") for number in range(20, 60)]))
            ratings.affinities(later, [an_id(99)], "anything", None, NOW)  # takes the commit in, and counts no word
            affinity(ratings, earlier)
            assert affinity(ratings, later) == affinity(FeedbackIndex(), later) != {}


async def test_replaced_vectors_leave_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.index.search.vectors._GAPS", 10)
    items = [row(number, f"note {number}") for number in range(100)]
    async with opened(tmp_path / "index.db", extension=False) as index:
        await index.apply(Update(notes=items))
        finder = Finder(extension=False)
        with closing(sqlite3.connect(tmp_path / "index.db")) as reader:
            for turn in range(20):
                vectors = [made(item, vector) for item, vector in zip(items, random_units(100, turn), strict=True)]
                await index.apply(Update(vectors=vectors))
                last = found(finder, reader)
            assert last == found(Finder(extension=False), reader)
            assert len(last) == 100
            table = finder._vectors[SET]
            assert table is not None
            assert table._size <= 125


async def test_tombstones_do_not_grow_for_ever_and_who_missed_some_reads_all_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, finder: Finder
) -> None:
    monkeypatch.setattr(projection, "TOMBSTONES", 5)
    async with opened(tmp_path / "index.db", extension=False) as index:
        for number in range(1, 6):
            await put(index, number, unit(1, 0.1 * number))
        up_to_date = Finder(extension=False)
        with closing(sqlite3.connect(tmp_path / "index.db")) as reader:
            assert len(found(finder, reader)) == 5
            await index.apply(Update(gone=[an_id(1)]))
            for number in range(100, 150):
                await put(index, number, unit(1))
                await index.apply(Update(gone=[an_id(number)]))
                assert len(found(up_to_date, reader)) == 4
            assert reader.execute("SELECT count(*) FROM tombstones").fetchone()[0] <= 11
            left = {an_id(number) for number in range(2, 6)}
            assert found(finder, reader).keys() == left
            assert found(finder, reader) == found(up_to_date, reader) == found(Finder(extension=False), reader)
            assert found(finder, reader, None).keys() == left
            assert finder.held(reader, [SET]) == (4, 4)


async def test_words_that_were_looked_for_before_the_index_was_whole_are_found_when_it_is(tmp_path: Path) -> None:
    index = NoteIndex(tmp_path / "index.db", extension=False)
    assert not await index.open()
    await index.apply(Update(notes=[row(1, "the winch needs oil")]))
    assert (await index.search("winch", None, ANY)).candidates == ()
    await index.mark_built()
    assert [item.id for item in (await index.search("winch", None, ANY)).candidates] == [an_id(1)]
    await index.aclose()
