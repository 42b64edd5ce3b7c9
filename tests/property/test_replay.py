"""The journal read in pieces, at whatever lines one stops, leads to the index that reading all of it at once gives."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from types import SimpleNamespace
from typing import Any, TypeVar

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.engine.sync import replay
from holdfast.index.journal import Known, known_journal
from holdfast.index.projection import Update, apply_update, put_notes
from holdfast.index.schema import make_tables
from holdfast.model.records import JournalRecord, baselines
from holdfast.store.records import START, Line, Read, Reading, read_position, read_record

Answer = TypeVar("Answer")
Record = dict[str, Any]

NOTES = [f"mem_{letter * 16}" for letter in "abc"]
PAGES = ["NOW.md", "MEMORY.md"]
AT = "2026-11-20T12:00:00Z"
HASHES = [letter * 64 for letter in "abc"]

changes = st.integers(0, 5)
hashes = st.sampled_from([None, *HASHES])
steps = st.one_of(
    st.tuples(st.sampled_from(["note", "adopt"]), st.sampled_from(NOTES)),
    st.tuples(st.just("page"), st.sampled_from(PAGES), hashes, st.sampled_from(HASHES)),
    st.tuples(st.sampled_from(["done", "void"]), changes),
    st.tuples(st.just("settled")),
    st.tuples(st.just("use"), st.sampled_from(NOTES)),
    st.tuples(st.sampled_from(["pages_seen", "pages_accepted"]), st.sampled_from(PAGES), st.sampled_from(HASHES)),
    st.tuples(st.just("restore"), st.sampled_from(HASHES)),
)


def file(note: str, before: str | None, after: str | None) -> Record:
    path = note.removeprefix("page:") if note.startswith("page:") else f"work/{note}.md"
    return {"note": note, "path": path, "before": before, "after": after, "aside": "work/.x.tmp"}


def journal(made: Sequence[tuple[Any, ...]]) -> list[Record]:
    """Lines as they could be: an outcome is told after its change, once or twice and not always the same."""
    records: list[Record] = []
    announced: list[str] = []
    for step in made:
        record: Record = {"seq": len(records) + 1, "at": AT}
        match step:
            case ("note" | "adopt" as op, note):
                record |= {"op": op, "change": f"c{len(announced)}", "files": [file(note, None, HASHES[0])]}
            case ("page", path, before, after):
                files = [file(f"page:{path}", before, after)]
                record |= {"op": "page", "change": f"c{len(announced)}", "files": files}
            case ("done" | "void" as outcome, which) if which < len(announced):
                record[outcome] = [announced[-1 - which]]
            case ("settled",):
                record["settled"] = record["seq"] - 1
            case ("use", note):
                record |= {"op": "use", "use": {"note": note}}
            case ("pages_seen" | "pages_accepted" as key, path, value):
                record |= {"op": key, key: [{"path": path, "hash": value, "size": 1}]}
            case ("restore", value):
                record |= {"op": "restore", "pages": {"NOW.md": value}}
        announced += [record["change"]] if "change" in record else []
        records.append(record)
    return records


def reads(records: Sequence[Record], since: str) -> list[Reading]:
    start = (read_position(since) or START).seq
    settled = 0
    found = []
    for record in records:
        settled = max(settled, record.get("settled", 0))
        line = Line("2026-11.jsonl", record["seq"], record["seq"] * 10, b"x")
        found.append(Reading(Read(record, line, record["seq"], settled, {}, 0, ())))
    return found[start:]


class World:
    """An index and as much of a journal as is written."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.written: Sequence[Record] = ()
        self.index = self.store = self

    async def read(self, work: Callable[[Any], Answer]) -> Answer:
        return work(SimpleNamespace(known_journal=lambda: known_journal(self.connection)))

    async def apply(self, update: Update) -> None:
        apply_update(self.connection, update, 1, put_notes)

    journal_start = START.render()

    async def journal_since(self, place: str, most: int) -> list[Reading] | None:
        return reads(self.written, place)[:most]

    def damage_before(self, _place: str) -> tuple[int, tuple[str, ...]]:
        return 0, ()

    def follow(self, written: Sequence[Record]) -> None:
        self.written = written
        anyio.run(replay.follow, self)

    def contents(self) -> list[list[Any]]:
        tables = ("history", "journal", "concerned", "uses", "judged", "job_runs")
        return [self.connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3").fetchall() for table in tables]  # noqa: S608

    @property
    def known(self) -> Known:
        return known_journal(self.connection)


@contextmanager
def world() -> Iterator[World]:
    with closing(sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)) as connection:
        make_tables(connection)
        yield World(connection)


def expected(records: Sequence[Record]) -> list[tuple[str, int, str, str, str]]:
    """Every change but those that never happened; one whose outcome nobody has told yet is there as well."""
    done = {change for record in records for change in record.get("done", ())}
    void = {change for record in records for change in record.get("void", ())} - done
    return sorted(
        (each["note"], record["seq"], record["change"], record["op"], AT)
        for record in records
        if "change" in record and record["op"] == "note" and record["change"] not in void
        for each in record["files"]
    )


@settings(max_examples=600)
@given(st.lists(steps, max_size=30), st.lists(st.integers(0, 30), max_size=4), st.sampled_from([1, 3, 4096]))
def test_pieces_of_any_length_give_what_the_whole_gives(
    made: list[tuple[Any, ...]], cuts: list[int], length: int
) -> None:
    records = journal(made)
    usual = replay.SLICE
    replay.SLICE = length
    try:
        with world() as pieces, world() as whole:
            for cut in sorted(cuts):
                pieces.follow(records[:cut])
            pieces.follow(records)
            whole.follow(records)
            assert pieces.contents() == whole.contents()
            assert pieces.contents()[0] == expected(records)
            for each in (pieces, whole):
                known = each.known
                lines = [read_record(record) for record in records]
                later = [line for line in lines if line.seq > known.pages_seq]
                void = JournalRecord(void=tuple(known.void))
                assert baselines([void, *later], known.pages) == baselines(lines)
                assert_nothing_open_before(read_position(known.place), records)
    finally:
        replay.SLICE = usual


def assert_nothing_open_before(place: Any, records: Sequence[Record]) -> None:
    told = {change for record in records for key in ("done", "void") for change in record.get(key, ())}
    settled = max((record.get("settled", 0) for record in records), default=0)
    for record in records:
        if "change" in record and record["change"] not in told and record["seq"] > settled:
            assert place.seq < record["seq"]


@settings(max_examples=300)
@given(st.lists(steps, max_size=30), st.lists(st.integers(0, 30), max_size=4), st.sampled_from([1, 2, 3]))
def test_however_few_open_changes_are_kept_in_mind_the_index_is_the_same(
    made: list[tuple[Any, ...]], cuts: list[int], most: int
) -> None:
    records = journal(made)
    with pytest.MonkeyPatch.context() as patched, world() as pieces:
        patched.setattr(replay, "MOST_OPEN", most)
        for cut in sorted(cuts):
            pieces.follow(records[:cut])
        pieces.follow(records)
        assert pieces.contents()[0] == expected(records)


def test_where_no_change_has_an_outcome_few_are_kept_in_mind() -> None:
    records = journal([("note", NOTES[0])] * (3 * replay.MOST_OPEN))
    taking = replay.Replay(Known(START.render()))
    for read in reads(records, ""):
        taking.take(read)
    assert len(taking.announced()) == replay.MOST_OPEN
    taken = taking.step()
    assert len(taken.records) == 2 * replay.MOST_OPEN
