"""The index: tables that are brought up to date, words of any script, filters before the cut, two ways to a cosine."""

from __future__ import annotations

import functools
import itertools
import math
import random
import shutil
import sqlite3
import threading
import time
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock, patch

import anyio
import anyio.lowlevel
import numpy as np
import pytest

from holdfast.errors import IndexSchemaError, StorageError
from holdfast.index import current, database, note_index, schema
from holdfast.index.maintenance import UseRow, first_vectors
from holdfast.index.note_index import IndexLostError, NoteIndex
from holdfast.index.projection import NoteRow, Update
from holdfast.index.rows import links_of, note_rows
from holdfast.index.search import finder as search
from holdfast.index.search import snapshot
from holdfast.index.search import vectors as search_vectors
from holdfast.index.search.finder import Finder
from holdfast.index.search.vectors import Background, VectorTable, likenesses
from holdfast.index.view import IndexView, Kept
from holdfast.model import identifiers
from holdfast.model.maintenance import cosine
from holdfast.model.note import Link, Note, note_id
from holdfast.model.ranking import Filter, QueryVector, RankCandidate
from holdfast.model.records import FileChange, JournalRecord
from indexes import ANY, NOW, SET, WIDTH, an_id, made, opened, random_units, row, unit
from worlds import ask, found, keep, living, show

pytestmark = pytest.mark.anyio


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[NoteIndex]:
    async with opened(tmp_path / "index.db") as ready:
        yield ready


async def ids(index: NoteIndex, query: str, wanted: Filter = ANY, vector: QueryVector | None = None) -> set[str]:
    return {item.id for item in (await index.search(query, vector, wanted)).candidates}


def looked_up(path: Path, statement: str, *values: object) -> list[Any]:
    """What the file says to a stranger."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(statement, values).fetchall()


# Tables


async def test_an_index_of_a_newer_version_is_refused_politely_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    async with opened(path):
        pass
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    threads = set(threading.enumerate())
    index = NoteIndex(path)

    with pytest.raises(IndexSchemaError, match="99") as refusal:
        await index.open()

    assert "delete .holdfast/" in refusal.value.remedy
    assert looked_up(path, "PRAGMA user_version") == [(99,)]
    for thread in set(threading.enumerate()) - threads:
        thread.join(10)
        assert not thread.is_alive(), "a connection was left open"


async def test_an_index_of_an_earlier_version_is_made_anew_with_nothing_left_of_it(tmp_path: Path) -> None:
    async with living(tmp_path) as memory:
        await keep(memory, "The lighthouse has a keeper called Ragnar.")
    path = tmp_path / ".holdfast" / "index.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE journal")
        connection.execute("CREATE TABLE of_before (x)")
        connection.execute(f"PRAGMA user_version = {current.SCHEMA - 1}")
    async with living(tmp_path) as memory:
        hit = (await ask(memory, "lighthouse keeper")).hits[0]
        assert (await show(memory, hit.note.id)).changes == 1
    assert looked_up(path, "PRAGMA user_version") == [(current.SCHEMA,)]
    assert looked_up(path, "SELECT name FROM sqlite_master WHERE name = 'of_before'") == []
    assert not path.with_suffix(".unreadable").exists()


async def test_tables_that_cannot_be_made_leave_none_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "index.db"
    with monkeypatch.context() as broken:
        broken.setattr(schema, "_TABLES", f"{schema._TABLES};\nSELECT full_disk()")
        with pytest.raises(IndexLostError):
            await NoteIndex(path).open()
    assert looked_up(path, "PRAGMA user_version") == [(0,)]
    assert looked_up(path, "SELECT name FROM sqlite_master") == []
    async with opened(path) as index:
        await index.apply(Update(notes=[row(1, "kept after a failing start")]))
        assert await ids(index, "failing start") == {an_id(1)}


@pytest.mark.parametrize("harm", ["garbage", "zero bytes", "truncated", "second half overwritten"])
async def test_an_unreadable_database_is_put_aside_and_rebuilt_from_the_notes(tmp_path: Path, harm: str) -> None:
    async with living(tmp_path) as memory:
        for number in range(120):
            await keep(memory, f"The lighthouse number {number} has {number * 3} steps and a keeper called Ragnar.")
        expected = found(await ask(memory, "lighthouse number 77"))
    path = tmp_path / ".holdfast" / "index.db"
    data = path.read_bytes()
    harmed = {
        "garbage": b"this was never a database " * 4000,
        "zero bytes": b"",
        "truncated": data[: len(data) // 3 // 4096 * 4096],
        "second half overwritten": data[: len(data) // 2] + bytes(reversed(data[len(data) // 2 :])),
    }[harm]
    path.write_bytes(harmed)

    async with living(tmp_path) as memory:
        assert found(await ask(memory, "lighthouse number 77")) == expected
        assert len(found(await ask(memory, "lighthouse", limit=50))) == 50
        assert (await show(memory, (await ask(memory, "lighthouse number 77")).hits[0].note.id)).changes == 1
    if harm != "zero bytes":  # an empty file is a database with nothing in it
        assert (tmp_path / ".holdfast" / "index.unreadable").read_bytes() == harmed


async def test_a_database_that_breaks_while_it_is_used_is_rebuilt(tmp_path: Path) -> None:
    async with living(tmp_path) as memory:
        for number in range(150):
            await keep(memory, f"Buoy {number} is painted red and rings in the fog.")
    path = tmp_path / ".holdfast" / "index.db"
    root = looked_up(path, "SELECT rootpage FROM sqlite_master WHERE name = 'texts_data'")[0][0]
    size = looked_up(path, "PRAGMA page_size")[0][0]
    with path.open("r+b") as file:  # the words alone: files and notes can still be read
        file.seek((root - 1) * size)
        file.write(b"\xff" * size)

    async with living(tmp_path) as memory:
        assert found(await ask(memory, "buoy 42"))[0].startswith("Buoy 42 ")
        await keep(memory, "The harbour light was replaced in 1931.")
        assert found(await ask(memory, "harbour light replaced")) == ["The harbour light was replaced in 1931."]


async def test_a_busy_database_is_never_taken_for_an_unreadable_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "index.db"
    async with opened(path) as index:
        await index.apply(Update(notes=[row(1, "still here")]))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 0")  # so that opening has something to write
    monkeypatch.setattr(database, "_PRAGMAS", ("PRAGMA busy_timeout = 1", *database._PRAGMAS[1:]))
    with closing(sqlite3.connect(path, isolation_level=None)) as somebody:
        somebody.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match="locked"):
            await NoteIndex(path).open()
        somebody.execute("ROLLBACK")
    assert looked_up(path, "SELECT content FROM notes") == [("still here",)]


# Rows


async def test_replacing_a_note_keeps_the_links_that_lead_to_it(index: NoteIndex) -> None:
    pointing = row(1, "The crane needs the winch.", connections=(Link(an_id(2), "depends_on", 0.9),))
    await index.apply(Update(notes=[pointing, row(2, "The winch.")]))
    await index.apply(Update(notes=[row(2, "The winch, repaired.")]))
    assert [(link.source, link.target, link.type) for link in await index.links([an_id(2)])] == [
        (an_id(1), an_id(2), "depends_on")
    ]


async def test_links_to_a_note_that_went_away_are_there_again_when_it_is(index: NoteIndex) -> None:
    await index.apply(Update(notes=[row(1, "one", connections=(Link(an_id(2)),)), row(2, "two")]))
    await index.apply(Update(gone=[an_id(2)]))
    assert await index.links([an_id(1)]) == []
    await index.apply(Update(notes=[row(2, "two")]))
    assert len(await index.links([an_id(1)])) == 1


async def test_a_note_that_keeps_its_text_keeps_its_vectors_and_one_that_changes_it_loses_them(
    index: NoteIndex,
) -> None:
    item = row(1, "the same text")
    await index.apply(Update(notes=[item], vectors=[made(item, unit(1))]))
    await index.apply(Update(notes=[row(1, "the same text", tier="core")]))
    assert await index.count_pending(SET) == 0
    await index.apply(Update(notes=[row(1, "another text")]))
    assert await index.count_pending(SET) == 1


async def test_vectors_of_a_text_that_has_changed_meanwhile_are_not_kept(index: NoteIndex) -> None:
    old = row(1, "old text")
    await index.apply(Update(notes=[row(1, "new text")], vectors=[made(old, unit(1))]))
    assert await index.count_pending(SET) == 1


async def test_the_vectors_of_a_few_notes_are_looked_up_one_by_one(index: NoteIndex, tmp_path: Path) -> None:
    rows = [row(number, f"note {number}") for number in range(1, 1500)]
    await index.apply(Update(notes=rows, vectors=[made(item, unit(1)) for item in rows]))
    with closing(sqlite3.connect(tmp_path / "index.db")) as connection:
        steps = itertools.count()
        connection.set_progress_handler(lambda: next(steps) < 0, 1)
        found = first_vectors(connection, SET, [an_id(7), an_id(900), "mem_nobody"])
        assert found.keys() == {an_id(7), an_id(900)}
        assert next(steps) < 500, "all 1,500 were walked through"


async def test_while_one_request_reads_a_few_notes_each_is_read_once(index: NoteIndex) -> None:
    await index.apply(Update(notes=[row(number, f"note {number}") for number in range(1, 4)]))

    def read(view: IndexView) -> None:
        with patch("holdfast.index.view.note_rows", wraps=note_rows) as asked:
            assert view.notes([an_id(2), an_id(1), "mem_nobody"]).keys() == {an_id(2), an_id(1)}
            assert view.notes([an_id(1), an_id(3), "mem_nobody"])[an_id(3)].note.content == "note 3"
        assert [call.args[1] for call in asked.call_args_list] == [[an_id(2), an_id(1), "mem_nobody"], [an_id(3)]]

    await index.read(read)


async def test_what_was_read_of_a_note_is_read_anew_once_the_index_has_changed(index: NoteIndex) -> None:
    await index.apply(
        Update(notes=[row(1, "the old text", connections=(Link(an_id(2), "related_to", 0.5),)), row(2, "b")])
    )
    assert (await index.notes([an_id(1), an_id(3)]))[an_id(1)].note.content == "the old text"
    assert [link.target for link in await index.links([an_id(1)])] == [an_id(2)]
    await index.apply(Update(notes=[row(1, "the new text"), row(3, "c")], gone=[an_id(2)]))
    read = await index.notes([an_id(1), an_id(2), an_id(3)])
    assert {note: item.note.content for note, item in read.items()} == {an_id(1): "the new text", an_id(3): "c"}
    assert await index.links([an_id(1)]) == []


async def test_links_are_the_same_whatever_was_read_before(index: NoteIndex, tmp_path: Path) -> None:
    generator = random.Random(5)  # noqa: S311 - made-up data
    kinds = ("related_to", "contradicts", "part_of")

    def links() -> tuple[Link, ...]:
        ends = (an_id(generator.randint(1, 12)) for _ in range(3))
        return tuple(Link(end, generator.choice(kinds), generator.choice((0.5, 0.7))) for end in ends)

    rows = [
        row(number, f"note {number}", connections=links(), merged=(an_id(20),) if number == 3 else ())
        for number in range(1, 11)
    ]
    rows.append(row(11, "a hub", connections=tuple(Link(an_id(number), "part_of", 1.0) for number in range(1, 11))))
    await index.apply(Update(notes=rows))
    for _ in range(30):
        asked = [an_id(number) for number in generator.sample([*range(1, 12), 20], generator.randint(1, 6))]
        with closing(sqlite3.connect(tmp_path / "index.db")) as connection:
            assert await index.links(asked) == links_of(connection, asked)


def test_cosines_of_many_are_those_of_each_pair_to_four_places() -> None:
    vectors = random_units(7, 3)
    found = likenesses(vectors)
    for one, other in itertools.product(range(7), repeat=2):
        assert found[one][other] == pytest.approx(cosine(vectors[one], vectors[other]), abs=6e-5)
        assert found[one][other] == likenesses([vectors[one], vectors[other]])[0][1]


def test_the_cosine_of_a_note_without_a_vector_is_unknown() -> None:
    one, other = random_units(2, 3)
    found = likenesses([one, None, other])
    assert found[0][2] == likenesses([one, other])[0][1]
    assert all(math.isnan(each) for each in (*found[1], found[0][1], found[2][1]))


# Context columns


def in_session(number: int, content: str, seq: int, **given: Any) -> NoteRow:
    return row(number, content, **{"session": "talk", "seq": seq, **given})


WORDS = ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf")


async def contexts(path: Path) -> dict[str, tuple[str, str]]:
    """By a note's own word: the words that its earlier and its later neighbours lend it."""
    rows = looked_up(path, "SELECT body, earlier, later FROM texts ORDER BY rowid")
    return {body.split()[0]: (" ".join(earlier.split()), " ".join(later.split())) for body, earlier, later in rows}


async def talk(index: NoteIndex) -> None:
    await index.apply(Update(notes=[in_session(10 * place, word, 10 * place) for place, word in enumerate(WORDS)]))


async def test_a_note_is_found_by_the_two_before_it_and_the_one_after_it_in_its_session(
    index: NoteIndex, tmp_path: Path
) -> None:
    await talk(index)
    assert (await contexts(tmp_path / "index.db"))["delta"] == ("charlie bravo", "echo")
    assert {an_id(10 * WORDS.index(word)) for word in ("charlie", "delta", "echo", "bravo")} == await ids(
        index, "charlie"
    )


async def test_a_long_note_borrows_no_words_and_lends_those_it_begins_with(index: NoteIndex, tmp_path: Path) -> None:
    await talk(index)
    long = f"whole {'told at length ' * 60}end"
    await index.apply(Update(notes=[in_session(35, long, 35)]))
    found = await contexts(tmp_path / "index.db")
    assert found["whole"] == ("", "")
    earlier, later = found["echo"][0], found["delta"][1]
    assert earlier.startswith("whole told at length")
    assert later == earlier.removesuffix(" delta")
    assert "end" not in earlier
    assert earlier.endswith(" delta")
    assert an_id(35) not in await ids(index, "delta")
    assert an_id(40) not in await ids(index, "end")


async def test_context_follows_a_note_put_in_the_middle(index: NoteIndex, tmp_path: Path) -> None:
    await talk(index)
    await index.apply(Update(notes=[in_session(35, "middle", 35)]))
    assert await contexts(tmp_path / "index.db") == {
        "alpha": ("", "bravo"),
        "bravo": ("alpha", "charlie"),
        "charlie": ("bravo alpha", "delta"),
        "delta": ("charlie bravo", "middle"),
        "middle": ("delta charlie", "echo"),
        "echo": ("middle delta", "foxtrot"),
        "foxtrot": ("echo middle", "golf"),
        "golf": ("foxtrot echo", ""),
    }


@pytest.mark.parametrize("how", ["outdated", "superseded", "deleted", "moved away", "another session"])
async def test_context_follows_a_note_that_leaves(index: NoteIndex, tmp_path: Path, how: str) -> None:
    await talk(index)
    changed: dict[str, dict[str, Any]] = {
        "outdated": {"outdated": True},
        "superseded": {"superseded_by": an_id(999)},
        "moved away": {"space": "elsewhere"},
        "another session": {"session": "other"},
    }
    if how == "deleted":
        await index.apply(Update(gone=[an_id(30)]))
    else:
        await index.apply(Update(notes=[in_session(30, "delta", 30, **changed[how])]))
    assert {word: found for word, found in (await contexts(tmp_path / "index.db")).items() if word != "delta"} == {
        "alpha": ("", "bravo"),
        "bravo": ("alpha", "charlie"),
        "charlie": ("bravo alpha", "echo"),
        "echo": ("charlie bravo", "foxtrot"),
        "foxtrot": ("echo charlie", "golf"),
        "golf": ("foxtrot echo", ""),
    }


async def test_a_text_that_was_taken_out_stays_nowhere_in_the_context_of_others(
    index: NoteIndex, tmp_path: Path
) -> None:
    await talk(index)
    for number in (10, 20, 40, 50):
        await index.apply(Update(notes=[in_session(number, WORDS[number // 10], number, outdated=True)]))
    await index.apply(Update(notes=[in_session(30, "redacted", 30)]))
    assert looked_up(tmp_path / "index.db", "SELECT rowid FROM texts WHERE texts MATCH 'delta'") == []


async def test_context_never_crosses_spaces_or_sessions(index: NoteIndex, tmp_path: Path) -> None:
    await index.apply(
        Update(
            notes=[
                in_session(1, "alpha", 1),
                in_session(2, "bravo", 2, space="elsewhere"),
                in_session(3, "charlie", 3, session="other"),
                in_session(4, "delta", 4, session=None),
                in_session(5, "echo", 5),
            ]
        )
    )
    assert await contexts(tmp_path / "index.db") == {
        "alpha": ("", "echo"), "bravo": ("", ""), "charlie": ("", ""), "delta": ("", ""), "echo": ("alpha", ""),
    }  # fmt: skip


# Words


@pytest.mark.parametrize(
    ("content", "query"),
    [
        ("会議は来週の金曜日に東京で行われます", "金曜日"),
        ("会議は来週の金曜日に東京で行われます", "東京の会議"),
        ("数据库迁移到新的服务器", "服务器"),
        ("第3回の打ち合わせ", "打ち合わせ"),
        ("회의는 금요일에 열린다", "금요일에"),
        ("การประชุมจะจัดขึ้นในวันศุกร์", "วันศุกร์"),
        ("Встреча состоится в пятницу", "ПЯТНИЦУ"),
        ("Ёлка стоит возле двери", "ёлка"),
        ("बैठक शुक्रवार को होगी", "शुक्रवार"),
        ("বৈঠক শুক্রবার হবে", "শুক্রবার"),
        ("συνάντηση είναι την Παρασκευή", "παρασκευή"),
        ("הפגישה ביום שישי", "שישי"),
        ("الاجتماع يوم الجمعة", "الجمعة"),
        ("Le café est à côté", "cafe"),
        ("Le cafe\u0301 est la", "café"),
        ("naïve Bayes", "naive"),
        ("Straße nach Łódź", "łódź"),
        ("call parse_config_file() before start", "parse_config_file"),
        ("raises E0432 in src/net/tcp_stream.rs:118", "tcp_stream.rs"),
        ("raises E0432 in src/net/tcp_stream.rs:118", "E0432"),
        ("getUserById returns None", "getUserById"),
        ("the flag --no-cache-dir", "--no-cache-dir"),
        ("commit 8f3a9c1e broke it", "8f3a9c1e"),
        ("C++ and C# and .NET", "C#"),
        ("\uff46\uff55\uff4c\uff4c width text", "full"),
    ],
)
async def test_words_of_any_script_are_found(index: NoteIndex, content: str, query: str) -> None:
    await index.apply(Update(notes=[row(1, content), row(2, "something else entirely, 完全 другое")]))
    assert await ids(index, query) == {an_id(1)}


@pytest.mark.parametrize(
    "query",
    [
        '"', "'", '" OR 1', "NEAR(a b)", "a AND", "AND", "*", "a*", "^a", "col:a", "title:", "(", ")", "{}", "-", "--",
        "\\", "।", "\u200d", "\u0301", "😀", "a\0b", "%_%", "rowid", "x" * 5000, "\u202e", ";DROP TABLE notes", "+",
    ],
)  # fmt: skip
async def test_no_query_is_too_strange(index: NoteIndex, query: str) -> None:
    await index.apply(Update(notes=[row(1, "an ordinary note")]))
    assert isinstance((await index.search(query, None, ANY)).candidates, tuple)
    assert isinstance(await index.read(lambda view: view.subjects([query])) if query.isalpha() else [], list)


async def test_a_pasted_log_still_finds_the_note_with_its_rare_word(index: NoteIndex) -> None:
    noise = [row(number, f"INFO worker started in phase b{number}z and took long") for number in range(2, 60)]
    await index.apply(Update(notes=[row(1, "kubelet evicts pods when imagefs is below its threshold"), *noise]))
    log = "\n".join(f"2026-11-20 INFO worker {number} started, phase x{number}q" for number in range(900))
    candidates = (await index.search(f"{log}\nERROR imagefs evicts\n{log}", None, ANY)).candidates
    assert max(candidates, key=lambda item: item.coverage).id == an_id(1)


async def test_coverage_stays_between_nothing_and_all(index: NoteIndex) -> None:
    await index.apply(Update(notes=[row(number, "bell " * number) for number in range(1, 30)]))
    coverages = [item.coverage for item in (await index.search("bell bell tower", None, ANY)).candidates]
    assert coverages
    assert all(0.0 < coverage <= 1.0 for coverage in coverages)


async def test_common_words_that_are_only_looked_for_order_notes_as_where_they_are_scored(
    index: NoteIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    common = ("alder", "birch", "cedar", "maple")
    telling = [row(1 + have, " ".join(("quokka", *common[:have], *["moss"] * (4 - have)))) for have in range(5)]
    borrowed = [in_session(20, "quokka moss moss moss moss", 1), in_session(21, "alder birch cedar maple", 2)]
    noise = [row(100 + number, " ".join(common) if number < 50 else f"fern {number}") for number in range(150)]
    await index.apply(Update(notes=[*telling, *borrowed, *noise]))

    async def coverages() -> dict[str, float]:
        found = (await index.search("quokka alder birch cedar maple", None, ANY)).candidates
        return {item.id: item.coverage for item in sorted(found, key=lambda item: (-item.coverage, item.id))}

    scored = await coverages()
    monkeypatch.setattr(identifiers, "_RARE_ROWS", 10)
    monkeypatch.setattr(identifiers, "_ENOUGH", 1)
    looked_for = await coverages()
    ours = [an_id(number) for number in (5, 4, 3, 2, 1)]
    assert [found for found in scored if found in ours] == [found for found in looked_for if found in ours] == ours
    assert looked_for.keys() < scored.keys()  # a rare word must be there too
    assert looked_for[an_id(20)] <= looked_for[an_id(1)]  # what only its neighbour says is not looked at
    assert looked_for[an_id(5)] == pytest.approx(scored[an_id(5)], abs=0.1)


async def test_what_a_word_scores_is_looked_up_once_in_each_state(index: NoteIndex) -> None:
    await index.apply(Update(notes=[row(1, "The winch needs oil."), row(2, "A heron.")]))
    with patch.object(snapshot, "_scored", side_effect=snapshot._scored) as looked_up:
        for _ in range(3):
            assert await ids(index, "winch") == {an_id(1)}
        assert looked_up.call_count == 1
        await index.apply(Update(notes=[row(3, "Another winch.")]))
        assert await ids(index, "winch") == {an_id(1), an_id(3)}


async def test_words_are_found_however_few_of_them_are_kept(index: NoteIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "_MOST_SCORES", 2)
    await index.apply(Update(notes=[row(number, f"bell {number}") for number in range(1, 6)]))
    for _ in range(2):
        assert await ids(index, "bell") == {an_id(number) for number in range(1, 6)}
        assert await ids(index, "bell 4") >= {an_id(4)}


async def test_a_connection_whose_owner_is_cancelled_is_closed_when_its_work_is_done(tmp_path: Path) -> None:
    """What was still at work when the loop was closed said so on stderr, at the end of a server."""
    connection, done = await database.connect(tmp_path / "index.db"), threading.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.run, lambda _: (time.sleep(0.2), done.set()))
        await anyio.lowlevel.checkpoint()
        with anyio.CancelScope() as scope:
            scope.cancel()
            await connection.close()
        assert done.is_set()


async def test_a_connection_that_is_opened_while_its_owner_is_cancelled_has_an_owner(tmp_path: Path) -> None:
    opened: list[database.Database] = []
    with anyio.CancelScope() as scope:
        scope.cancel()
        opened.append(await database.connect(tmp_path / "index.db", extension=False))
    [connection] = opened
    await connection.close()


async def test_a_reader_of_an_earlier_state_leaves_nothing_behind_for_the_next(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    async with opened(path) as index:
        await index.apply(Update(notes=[row(1, "The winch needs oil.")]))
        finder = Finder(extension=False)
        with closing(sqlite3.connect(path)) as earlier, closing(sqlite3.connect(path)) as later:

            def find(connection: sqlite3.Connection, finder: Finder = finder) -> dict[str, float]:
                found = finder.search(connection, "winch", None, ANY, 10, 10, 10).candidates
                return {item.id: item.coverage for item in found}

            earlier.execute("BEGIN")
            earlier.execute("SELECT count(*) FROM notes").fetchone()
            await index.apply(Update(notes=[row(2, "Another winch.")]))
            assert finder.subjects(later, []) == []  # what is in memory is of the later state now
            assert find(earlier).keys() == {an_id(1)}
            assert find(later).keys() == {an_id(1), an_id(2)}
            assert find(later) == find(later, Finder(extension=False))  # and scored as by who saw no other state


async def test_a_reader_of_an_earlier_state_leaves_no_note_and_no_link_behind_for_the_next(
    tmp_path: Path,
) -> None:
    path, kept = tmp_path / "index.db", Kept()
    async with opened(path) as index:
        link = Link(an_id(3), "related_to", 0.5)
        await index.apply(Update(notes=[row(1, "the old text", connections=(link,)), row(2, "b"), row(3, "c")]))
        with closing(sqlite3.connect(path)) as earlier, closing(sqlite3.connect(path)) as later:
            before, now = (IndexView(each, Mock(), Mock(), kept) for each in (earlier, later))
            earlier.execute("BEGIN")
            assert before.notes([an_id(2)])
            await index.apply(Update(notes=[row(1, "the new text")], gone=[an_id(3)]))
            assert now.notes([an_id(2)])  # what is kept is of the later state now
            assert now.links([an_id(2)]) == []
            assert before.notes([an_id(1), an_id(3)])[an_id(1)].note.content == "the old text"
            assert [each.target for each in before.links([an_id(1)])] == [an_id(3)]
            told = now.notes([an_id(1), an_id(3)])
            assert {note: item.note.content for note, item in told.items()} == {an_id(1): "the new text"}
            assert now.links([an_id(1)]) == []


CHANGES: tuple[dict[str, Any], ...] = (
    {"tier": "core"}, {"confidence": 0.5}, {"superseded_by": an_id(2), "outdated": True}, {"outdated": True},
)  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
async def test_what_ranking_knows_of_a_note_is_read_anew_once_the_index_has_changed(
    index: NoteIndex, change: dict[str, Any]
) -> None:
    wanted = replace(ANY, include_outdated=True)
    await index.apply(Update(notes=[row(1, "The winch needs oil."), row(2, "Another winch.")]))
    before = {item.id: item._asdict() for item in (await index.search("winch", None, wanted)).candidates}
    await index.apply(Update(notes=[row(1, "The winch needs oil.", **change)]))
    after = {item.id: item._asdict() for item in (await index.search("winch", None, wanted)).candidates}
    assert after == before | {an_id(1): before[an_id(1)] | change}


# Filters


FILTERS: dict[str, tuple[Filter, dict[str, Any], dict[str, Any]]] = {
    "space": (Filter(now=NOW, spaces=("work",)), {"space": "work"}, {"space": "other"}),
    "type": (Filter(now=NOW, types=("decision",)), {"type": "decision"}, {"type": "fact"}),
    "tier": (Filter(now=NOW, tiers=("core",)), {"tier": "core"}, {"tier": "working"}),
    "tag": (Filter(now=NOW, tags=("Blue",)), {"tags": ("bLUE",)}, {"tags": ("red",)}),
    "after": (
        Filter(now=NOW, after="2026-10-01T00:00:00Z"),
        {"event_time": "2026-10-01T00:00:00Z"},
        {"event_time": "2026-09-30T23:59:59Z"},
    ),
    "before": (
        Filter(now=NOW, before="2026-10-01T00:00:00Z"),
        {"event_time": "2026-10-01T00:00:00Z"},
        {"event_time": "2026-10-01T00:00:01Z"},
    ),
    "outdated": (ANY, {}, {"outdated": True}),
    "superseded": (ANY, {}, {"superseded_by": "mem_0000000000000009"}),
    "expired": (ANY, {"valid_until": "2026-11-20T12:00:01Z"}, {"valid_until": NOW}),
}


@pytest.fixture(params=[0, 10_000], ids=["in the table", "in memory"])
def large(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten notes count as a large store: bits in memory choose, and closer comparison is with what lies elsewhere."""
    monkeypatch.setattr(
        search, "VectorTable", functools.partial(VectorTable, exact_notes=10, held_vectors=request.param)
    )


@pytest.fixture(params=["small", "bytes", "sqlite-vec", "numpy"])
def extension(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Each way to take cosines."""
    if request.param != "small":
        held = 10_000 if request.param == "bytes" else 0
        monkeypatch.setattr(search, "VectorTable", functools.partial(VectorTable, exact_notes=10, held_vectors=held))
    return bool(request.param != "numpy")


@pytest.mark.parametrize("kind", FILTERS)
async def test_500_better_matches_that_a_filter_shuts_out_hide_none_that_it_lets_in(
    tmp_path: Path, kind: str, extension: bool
) -> None:
    wanted, inside, outside = FILTERS[kind]
    crowd = [row(number, "harbour harbour bell", **outside) for number in range(100, 600)]
    # one is found by a word only, the other by its vector only
    worded = row(1, "a long note in which, among many other words, the harbour is named once", **inside)
    meant = row(2, "ships come in", **inside)
    async with opened(tmp_path / "index.db", extension=extension) as index:
        vectors = [made(item, unit(1, 0.01)) for item in crowd] + [made(meant, unit(1, 1.5))]
        await index.apply(Update(notes=[*crowd, worded, meant], vectors=vectors))
        query = QueryVector(SET, unit(1), 0.1, 0.1)
        candidates = (await index.search("harbour bell", query, wanted)).candidates
        assert {item.id for item in candidates} == {an_id(1), an_id(2)}
        shut_out = (await index.search("harbour bell", query, Filter(now=NOW, spaces=("nowhere",)))).candidates
        assert shut_out == ()


async def test_a_rare_word_of_another_space_does_not_hide_a_common_one_of_this_space(index: NoteIndex) -> None:
    common = [row(number, f"deploy {number}", space="other") for number in range(10, 2600)]
    rare = [row(number, "zanzibar deploy", space="other") for number in range(3000, 3010)]
    mine = row(1, "how to deploy")
    await index.apply(Update(notes=[*common, *rare, mine]))
    assert await ids(index, "zanzibar deploy", Filter(now=NOW, spaces=("work",))) == {an_id(1)}


async def test_outdated_notes_come_back_when_they_are_asked_for(index: NoteIndex) -> None:
    await index.apply(Update(notes=[row(1, "old truth", outdated=True), row(2, "new truth")]))
    assert await ids(index, "truth") == {an_id(2)}
    assert await ids(index, "truth", Filter(now=NOW, include_outdated=True)) == {an_id(1), an_id(2)}


# Vectors


async def compared(tmp_path: Path, wanted: Filter = ANY) -> tuple[list[RankCandidate], list[RankCandidate]]:
    """The same 400 notes with one to three chunks each, searched with the extension and with numpy."""
    answers = []
    blobs = random_units(1200, seed=7)
    for extension in (True, False):
        async with opened(tmp_path / f"{extension}.db", extension=extension) as index:
            assert index.uses_extension is extension
            rows = [row(number, f"note {number}", space="work" if number % 3 else "other") for number in range(400)]
            vectors = [made(item, *blobs[3 * at : 3 * at + 1 + at % 3]) for at, item in enumerate(rows)]
            await index.apply(Update(notes=rows, vectors=vectors))
            found = (
                await index.search("zzz", QueryVector(SET, random_units(1, seed=3)[0], 0.0, 0.1), wanted)
            ).candidates
            answers.append(sorted(found, key=lambda item: (-(item.z or 0), item.id)))
    return answers[0], answers[1]


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("wanted", [ANY, Filter(now=NOW, spaces=("other",))], ids=["all", "filtered"])
async def test_both_ways_give_the_same_cosines_in_the_same_order(tmp_path: Path, wanted: Filter) -> None:
    by_extension, by_numpy = await compared(tmp_path, wanted)
    assert len(by_extension) >= 64
    assert [item.id for item in by_extension] == [item.id for item in by_numpy]
    assert [item.z for item in by_extension] == pytest.approx([item.z for item in by_numpy], abs=1e-4)


async def test_a_long_note_counts_with_its_best_chunk(tmp_path: Path, extension: bool) -> None:
    rows = [row(number, "long") for number in range(20)]
    vectors = [made(item, unit(0, 1), unit(1), unit(0, 0, 1)) for item in rows]
    async with opened(tmp_path / "index.db", extension=extension) as index:
        await index.apply(Update(notes=rows, vectors=vectors))
        best = (await index.search("zzz", QueryVector(SET, unit(1), 0.0, 1.0), ANY)).candidates
        other = (await index.search("zzz", QueryVector(SET, unit(0, 0, 0, 1), 0.0, 1.0), ANY)).candidates
    assert len(best) == len(rows)
    assert len({item.z for item in best}) == 1
    assert (best[0].z or 0) > (other[0].z or 0), "another chunk than the best was taken"


async def test_vectors_of_another_set_are_never_compared(index: NoteIndex) -> None:
    item = row(1, "a note")
    await index.apply(Update(notes=[item], vectors=[made(item, unit(1))]))
    assert (await index.search("zzz", QueryVector("another-set", unit(1), 0.0, 1.0), ANY)).candidates == ()


async def test_numpy_sees_what_was_written_since(tmp_path: Path) -> None:
    query = QueryVector(SET, unit(1), 0.0, 1.0)
    async with opened(tmp_path / "index.db", extension=False) as index:
        for number in range(1, 4):
            item = row(number, f"note {number}")
            await index.apply(Update(notes=[item], vectors=[made(item, unit(1, 0.1 * number))]))
            assert len((await index.search("zzz", query, ANY)).candidates) == number


async def test_numpy_forgets_the_vectors_of_an_index_that_was_deleted(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    query = QueryVector(SET, unit(1), 0.0, 1.0)
    index = NoteIndex(path, extension=False)
    first, second = row(1, "first"), row(2, "second")
    await index.open()
    await index.mark_built()
    await index.apply(Update(notes=[first], vectors=[made(first, unit(1))]))
    assert [item.id for item in (await index.search("zzz", query, ANY)).candidates] == [an_id(1)]
    await index.aclose()
    path.unlink()
    await index.open()  # counts its changes from one again
    await index.mark_built()
    await index.apply(Update(notes=[second], vectors=[made(second, unit(0, 1))]))
    again = (await index.search("zzz", query, ANY)).candidates
    await index.aclose()
    assert [(item.id, item.z) for item in again] == [(an_id(2), pytest.approx(0.0, abs=1e-6))]


async def test_many_readers_of_numpy_at_once_meet_whole_vectors(tmp_path: Path) -> None:
    query = QueryVector(SET, unit(1), 0.0, 1.0)
    async with opened(tmp_path / "index.db", extension=False) as index, anyio.create_task_group() as tasks:
        done = anyio.Event()

        async def read() -> None:
            while not done.is_set():
                answer = (await index.search("zzz", query, ANY)).candidates
                assert len({item.z for item in answer}) <= 1, "equal vectors, unequal cosines"

        for _ in range(8):
            tasks.start_soon(read)
        for number in range(60):
            item = row(number, f"note {number}")
            await index.apply(Update(notes=[item], vectors=[made(item, unit(1))]))
        done.set()


class WithoutLoading(sqlite3.Connection):
    """A connection as some Python builds have it."""

    def __getattribute__(self, name: str) -> Any:
        if name in ("enable_load_extension", "load_extension"):
            raise AttributeError(name)
        return super().__getattribute__(name)


@pytest.fixture
def fresh_loader() -> Iterator[None]:
    """The way to sqlite-vec is looked for anew, before the test and after it."""
    database.vector_extension.cache_clear()
    yield
    database.vector_extension.cache_clear()


class WithLoading(sqlite3.Connection):
    """A connection that can be asked to load, whatever this Python was built with."""

    def enable_load_extension(self, enabled: bool, /) -> None:
        """Say nothing: what is loaded is told by the test."""


def connections_of(monkeypatch: pytest.MonkeyPatch, factory: type[sqlite3.Connection]) -> None:
    real = sqlite3.connect

    def connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
        return real(*arguments, **{**options, "factory": factory})

    monkeypatch.setattr(database.sqlite3, "connect", connect)


@pytest.mark.usefixtures("fresh_loader")
async def test_the_official_loader_is_taken_where_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[sqlite3.Connection] = []
    connections_of(monkeypatch, WithLoading)
    monkeypatch.setattr("sqlite_vec.load", loaded.append)
    assert database.vector_extension() == "official"
    connection = await database.connect(tmp_path / "index.db")
    assert await connection.run(lambda inner: inner in loaded)
    await connection.close()


class RefusingToLoad(WithLoading):
    """A connection whose library was built to refuse."""

    def enable_load_extension(self, _enabled: bool, /) -> None:
        raise sqlite3.NotSupportedError("not authorized")


@pytest.mark.usefixtures("fresh_loader")
def test_a_loader_that_refuses_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    connections_of(monkeypatch, RefusingToLoad)
    assert database.vector_extension() in ("auto", "")


@pytest.mark.usefixtures("fresh_loader")
def test_without_it_the_extension_is_registered_with_the_library_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    connections_of(monkeypatch, WithoutLoading)
    way = database.vector_extension()
    if way == "auto":
        with closing(database.sqlite3.connect(":memory:")) as connection:
            assert connection.execute("SELECT vec_version()").fetchone()[0].startswith("v0.")
    else:  # a library that hides its symbols: numpy it is
        assert way == ""


@pytest.mark.usefixtures("fresh_loader")
@pytest.mark.parametrize("harm", ["no symbol", "refused", "no library file", "cannot be opened", "built in"])
async def test_where_that_fails_too_vectors_are_compared_with_numpy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    import _sqlite3  # noqa: PLC0415 - CPython's own

    connections_of(monkeypatch, WithoutLoading)
    library: Callable[[str], object] = {
        "no symbol": lambda _: object(),
        "refused": lambda _: Refusing(),
        "cannot be opened": refuse_to_open,
    }.get(harm, lambda _: object())
    monkeypatch.setattr(database.ctypes, "CDLL", library)
    if harm == "refused":
        monkeypatch.setattr(database.ctypes, "cast", lambda *_: None)
    if harm == "no library file":
        monkeypatch.setattr("sqlite_vec.loadable_path", lambda: str(tmp_path / "nowhere"))
    if harm == "built in":
        monkeypatch.delattr(_sqlite3, "__file__", raising=False)

    assert database.vector_extension() == ""
    async with opened(tmp_path / "index.db") as index:
        assert not index.uses_extension
        item = row(1, "found with numpy")
        await index.apply(Update(notes=[item], vectors=[made(item, unit(1))]))
        assert await ids(index, "zzz", vector=QueryVector(SET, unit(1), 0.0, 1.0)) == {an_id(1)}


class Refusing:
    """A library whose registration says no."""

    sqlite3_vec_init = None

    @staticmethod
    def sqlite3_auto_extension(_: object) -> int:
        return 1


def refuse_to_open(_: str) -> object:
    raise OSError("cannot be opened")


async def test_what_one_process_wrote_with_the_extension_another_reads_with_numpy(tmp_path: Path) -> None:
    item = row(1, "shared")
    async with opened(tmp_path / "index.db") as writer, opened(tmp_path / "index.db", extension=False) as reader:
        await writer.apply(Update(notes=[item], vectors=[made(item, unit(1))]))
        assert await ids(reader, "zzz", vector=QueryVector(SET, unit(1), 0.0, 1.0)) == {an_id(1)}


# Background


def measured(path: Path) -> tuple[float, float]:
    with closing(sqlite3.connect(path)) as connection:
        return Background().statistics(connection, SET, (0.1, 0.1), 1)


async def test_the_background_depends_on_the_notes_and_not_on_the_order_they_came_in(tmp_path: Path) -> None:
    blobs = random_units(600, seed=1)
    rows = [row(number, f"note {number}") for number in range(600)]
    backgrounds = []
    for order in (1, -1):
        path = tmp_path / f"{order}.db"
        async with opened(path) as index:
            pairs = list(zip(rows, blobs, strict=True))[::order]
            await index.apply(Update(notes=[item for item, _ in pairs]))
            await index.apply(Update(vectors=[made(item, blob) for item, blob in pairs]))
        backgrounds.append(measured(path))
    assert backgrounds[0] == backgrounds[1]


async def test_the_background_of_notes_whose_ids_end_alike_does_not_depend_on_their_order_either(
    tmp_path: Path,
) -> None:
    blobs = random_units(600, seed=1)
    rows = [row(number, f"note {number}") for number in range(600)]
    alike = [
        NoteRow(Note(**{**as_values(item.note), "id": note_id(1000 * at, 5)}), item.hash, item.file)
        for at, item in enumerate(rows)
    ]
    backgrounds = []
    for order in (1, -1):
        path = tmp_path / f"{order}.db"
        async with opened(path) as index:
            pairs = list(zip(alike, blobs, strict=True))[::order]
            await index.apply(Update(notes=[item for item, _ in pairs], vectors=[made(item, b) for item, b in pairs]))
        backgrounds.append(measured(path))
    assert backgrounds[0] == backgrounds[1]


def as_values(note: Note) -> dict[str, Any]:
    return {name: getattr(note, name) for name in Note.__dataclass_fields__}


@pytest.mark.parametrize("change", ["vectors came", "a text changed", "a note went"])
async def test_the_background_is_that_of_the_vectors_as_they_are_now(tmp_path: Path, change: str) -> None:
    """After a deletion notes are asked for before they have vectors, which must not fix what they are compared with."""
    rows = [row(number, f"note {number}") for number in range(20)]
    vectors = [made(item, unit(1, 0.1 * at)) for at, item in enumerate(rows)]
    query = QueryVector(SET, unit(1), 0.1, 0.1)
    async with opened(tmp_path / "index.db") as index:
        await index.apply(Update(notes=rows, vectors=() if change == "vectors came" else vectors))
        await index.search("zzz", query, ANY)
        if change == "vectors came":
            await index.apply(Update(vectors=vectors))
        elif change == "a text changed":
            edited = row(3, "another text")
            await index.apply(Update(notes=[edited], vectors=[made(edited, unit(0, 0, 1))]))
        else:
            await index.apply(Update(gone=[an_id(19)]))
        late = {item.id: item.z for item in (await index.search("zzz", query, ANY)).candidates}
    async with opened(tmp_path / "index.db") as index:
        assert {item.id: item.z for item in (await index.search("zzz", query, ANY)).candidates} == pytest.approx(late)


async def test_long_notes_are_no_measure_of_what_a_question_is_like(tmp_path: Path) -> None:
    """Texts that say many things are all alike; measured among them, every question would seem far from every note."""
    long = [row(number, f"message {number} " + "and so on " * 60) for number in range(60)]
    async with opened(tmp_path / "long.db") as index:
        await index.apply(
            Update(notes=long, vectors=[made(item, unit(1, 0.3 * (at % 5))) for at, item in enumerate(long)])
        )
    mean, deviation = measured(tmp_path / "long.db")
    assert 0.05 <= mean <= 0.1
    assert deviation == pytest.approx(0.1)


async def test_a_few_short_notes_among_long_ones_say_little_of_the_background(tmp_path: Path) -> None:
    rows = [row(number, "and so on " * (60 if number % 10 else 1) + str(number)) for number in range(60)]
    async with opened(tmp_path / "index.db") as index:
        await index.apply(Update(notes=rows, vectors=[made(item, unit(1)) for item in rows]))
    assert measured(tmp_path / "index.db")[0] < 0.2
    short = [row(number, f"note {number}") for number in range(60)]
    async with opened(tmp_path / "short.db") as index:
        await index.apply(Update(notes=short, vectors=[made(item, unit(1)) for item in short]))
    assert measured(tmp_path / "short.db")[0] > 0.3


# The same answer whatever the rowids


async def test_which_of_many_equal_notes_are_told_does_not_depend_on_rowids(tmp_path: Path) -> None:
    rows = [row(number, "the very same words", title=f"t{number}"[:2]) for number in range(450)]
    blobs = [unit(1)] * 450
    answers = []
    for order in (1, -1):
        async with opened(tmp_path / f"{order}.db") as index:
            ordered = rows[::order]
            vectors = [made(item, blob) for item, blob in zip(ordered, blobs, strict=True)]
            await index.apply(Update(notes=ordered, vectors=vectors))
            words = await ids(index, "same words")
            meaning = await ids(index, "zzz", vector=QueryVector(SET, unit(1), 0.0, 1.0))
            answers.append((words, meaning))
    assert answers[0] == answers[1]


async def test_a_subject_is_told_where_all_of_its_words_are_asked_for_and_a_note_still_has_it(index: NoteIndex) -> None:
    rows = [row(1, "met her", subject="Anna Karenina"), row(2, "met them", subject="Zoë"), row(3, "met", subject="Ann")]
    await index.apply(Update(notes=rows))

    async def told(*words: str) -> list[str]:
        return await index.read(lambda view: view.subjects(words))

    assert await told("zoe", "karenina", "anna") == ["Anna Karenina", "Zoë"]
    assert await told("anna") == []
    await index.apply(Update(notes=[row(1, "met her", subject="Vronsky")]))
    assert await told("karenina", "anna", "vronsky") == ["Vronsky"]
    await index.apply(Update(gone=[rows[1].note.id]))
    assert await told("zoe") == []


# Many writers


async def test_updates_that_share_a_transaction_are_all_there_or_told_that_they_are_not(index: NoteIndex) -> None:
    bad = Update(notes=[row(999, "half a pair", source="\ud800")])
    outcomes: dict[int, str] = {}

    async def write(number: int) -> None:
        try:
            await index.apply(bad if number == 5 else Update(notes=[row(number, f"note {number}")]))
            outcomes[number] = "there"
        except (StorageError, IndexLostError, UnicodeEncodeError):
            outcomes[number] = "refused"

    async with anyio.create_task_group() as tasks:
        for number in range(10):
            tasks.start_soon(write, number)
    known = await index.notes([an_id(number) for number in (*range(10), 999)])
    assert outcomes[5] == "refused"
    assert {number for number, outcome in outcomes.items() if outcome == "there"} == {
        number for number in range(10) if an_id(number) in known
    }
    assert an_id(999) not in known
    await index.apply(Update(notes=[row(50, "afterwards")]))
    assert an_id(50) in await index.notes([an_id(50)])


async def test_an_update_is_written_whole_or_not_at_all(index: NoteIndex) -> None:
    files = (FileChange(an_id(1), "harbour/one.md", None, "0" * 64, "memories/harbour/.one.tmp"),)
    line = JournalRecord("remember", NOW, seq=1, change="chg_1", files=files)
    with pytest.raises(UnicodeEncodeError):
        await index.apply(Update(notes=[row(1, "one"), row(2, "two", source="\ud800")], records=[line]))
    assert await index.notes([an_id(1)]) == {}
    assert await index.changes(an_id(1)) == 0


async def test_a_write_into_a_database_that_was_deleted_is_not_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    async with opened(path) as index:
        path.unlink()
        assert index.lost
        with pytest.raises(IndexLostError):
            await index.apply(Update(notes=[row(1, "into the void")]))


async def test_a_table_of_words_that_cannot_be_read_is_one_more_harm_and_no_full_disk(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    async with opened(path) as index:
        await index.apply(Update(notes=[row(1, "A crane lifts.")]))
        with closing(sqlite3.connect(path)) as stranger, stranger:
            stranger.execute("DELETE FROM texts_config")
    async with opened(path) as index:
        with pytest.raises(IndexLostError, match="invalid fts5 file format"):
            await index.apply(Update(notes=[row(2, "A lamp shines.")]))


@pytest.mark.parametrize("end", ["", "-wal", "-shm"])
async def test_what_is_written_while_a_database_is_deleted_is_not_written_over_what_others_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    path, applied = tmp_path / "index.db", note_index.apply_update

    def late(*given: Any) -> None:
        Path(f"{path}{end}").unlink()
        applied(*given)

    async with opened(path) as index:
        await index.apply(Update(notes=[row(1, "one")]))
        other = sqlite3.connect(path)
        other.execute("SELECT count(*) FROM notes").fetchone()
        monkeypatch.setattr(note_index, "apply_update", late)
        with pytest.raises(IndexLostError):
            await index.apply(Update(notes=[row(2, "into the void")]))
        with closing(other):
            assert other.execute("SELECT count(*) FROM notes").fetchone() == (1,)


@pytest.mark.parametrize("end", ["-wal", "-shm"])
async def test_a_log_that_was_deleted_is_moved_over_nothing_when_its_owner_ends(tmp_path: Path, end: str) -> None:
    """Others may have begun a log of their own by then, and moved it into the file."""
    path = tmp_path / "index.db"
    async with opened(path) as index:
        await index.apply(Update(notes=[row(1, "one")]))
        (tmp_path / f"index.db{end}").unlink()
    assert not path.exists()


def finish_slowly(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """An index becomes whole as one of many notes does."""
    finish = note_index._finish

    def slow(connection: sqlite3.Connection) -> None:
        time.sleep(seconds)
        finish(connection)

    monkeypatch.setattr(note_index, "_finish", slow)


async def test_what_is_applied_while_an_index_becomes_whole_is_found_by_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish_slowly(monkeypatch, 0.1)
    index = NoteIndex(tmp_path / "index.db")
    await index.open()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(index.mark_built)
        await anyio.lowlevel.checkpoint()
        tasks.start_soon(index.apply, Update(notes=[row(1, "colza oil")]))
        await anyio.sleep(0.05)
        time.sleep(0.3)  # noqa: ASYNC251 - the connection's thread does both before the loop hears of the first
    found = await ids(index, "colza")
    await index.aclose()
    assert found == {an_id(1)}


async def test_an_index_that_becomes_whole_while_it_is_closed_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish_slowly(monkeypatch, 0.3)
    index = NoteIndex(tmp_path / "index.db")
    await index.open()
    with anyio.move_on_after(0.1):
        await index.mark_built()
    await index.aclose()
    built = await index.open()
    await index.aclose()
    assert built


@pytest.mark.parametrize("end", ["-wal", "-shm"])
async def test_a_database_whose_log_was_deleted_is_made_anew(tmp_path: Path, end: str) -> None:
    """Another process would begin a log of its own, and neither would see or respect what the other writes."""
    async with opened(tmp_path / "index.db") as index:
        await index.apply(Update(notes=[row(1, "one")]))
        (tmp_path / f"index.db{end}").unlink()
        assert index.lost
        with pytest.raises(IndexLostError):
            await index.apply(Update(notes=[row(2, "into the void")]))
        await index.aclose()
        assert not await index.open()
        await index.mark_built()
        assert await index.notes([an_id(1), an_id(2)]) == {}
        assert not index.lost


@pytest.mark.parametrize("number", range(1 + database.USUAL))  # the connection that writes, and those that read
async def test_a_folder_that_is_deleted_while_the_index_is_opened_keeps_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    async with living(tmp_path) as memory:
        await keep(memory, "The crane lifts forty tonnes.")
        connect, count = database.connect, itertools.count()

        async def connect_late(path: Path, **given: bool) -> database.Database:
            if next(count) == number:
                shutil.rmtree(path.parent)
            return await connect(path, **given)

        monkeypatch.setattr("holdfast.index.note_index.connect", connect_late)
        shutil.rmtree(tmp_path / ".holdfast")
        assert found(await ask(memory, "crane")) == ["The crane lifts forty tonnes."]
        assert next(count) > number


async def test_an_index_that_can_never_be_opened_is_told_as_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def connect(path: Path, **given: bool) -> database.Database:
        raise sqlite3.OperationalError("unable to open database file")

    async with living(tmp_path) as memory:
        monkeypatch.setattr("holdfast.index.note_index.connect", connect)
        with pytest.raises(StorageError, match="The index cannot be used: unable to open"):
            await ask(memory, "crane")


@pytest.mark.anyio
async def test_a_table_without_row_ids_begins_with_its_key(index: NoteIndex, tmp_path: Path) -> None:
    """SQLite's quick_check takes any other order for damage."""
    path = tmp_path / "index.db"
    tables = looked_up(path, "SELECT name FROM pragma_table_list WHERE wr AND schema = 'main'")
    assert tables
    for (table,) in tables:
        columns = looked_up(path, "SELECT name, pk FROM pragma_table_info(?) ORDER BY cid", table)
        key = [name for name, place in sorted(columns, key=lambda column: column[1]) if place]
        assert [name for name, _ in columns][: len(key)] == key, table


# What is kept in memory


async def test_cosines_from_eight_bits_are_those_of_the_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = np.random.default_rng(5)
    vectors = {number: generator.standard_normal(WIDTH) for number in range(1, 40)}
    rows = [row(number, f"note {number}") for number in vectors]
    asked = QueryVector(SET, unit(*generator.standard_normal(WIDTH)), 0.1, 0.1)
    found = []
    for name, exact_notes in (("exact", 1000), ("bytes", 0)):
        monkeypatch.setattr(search, "VectorTable", functools.partial(VectorTable, exact_notes=exact_notes))
        async with opened(tmp_path / f"{name}.db") as index:
            await index.apply(
                Update(
                    notes=rows, vectors=[made(item, unit(*vectors[n])) for n, item in zip(vectors, rows, strict=True)]
                )
            )
            found.append({item.id: item.z or 0.0 for item in (await index.search("", asked, ANY)).candidates})
    assert found[0].keys() == found[1].keys()
    assert max(abs(z - found[1][note]) for note, z in found[0].items()) < 0.05


async def test_a_word_that_is_in_every_note_still_finds_them(index: NoteIndex) -> None:
    await index.apply(Update(notes=[row(number, f"crane {number}") for number in range(1, 5)]))
    candidates = (await index.search("crane", None, ANY)).candidates
    assert len(candidates) == 4
    assert min(item.coverage for item in candidates) > 0.5


async def test_a_word_is_counted_anew_when_a_note_with_it_has_come(index: NoteIndex) -> None:
    await index.apply(Update(notes=[row(number, f"crane {number}") for number in range(1, 5)]))
    assert (await index.search("zanzibar crane", None, ANY)).unknown == {"zanzibar"}
    await index.apply(Update(notes=[row(9, "zanzibar")]))
    assert not (await index.search("zanzibar crane", None, ANY)).unknown


async def test_a_use_of_a_note_makes_nobody_look_anew_and_a_change_of_it_does(index: NoteIndex) -> None:
    await index.apply(Update(notes=[row(1, "crane")]))
    before = await index.read(lambda view: view.change_number())
    await index.apply(Update(uses=[UseRow(an_id(1), NOW, 1)], importance=[(an_id(1), 0.5)]))
    assert await index.read(lambda view: view.change_number()) == before
    assert await index.read(lambda view: view.used_on(an_id(1), NOW[:10]))
    await index.apply(Update(notes=[row(1, "crane two")], uses=[UseRow(an_id(1), NOW, 2)]))
    assert await index.read(lambda view: view.change_number()) == before + 1


@pytest.mark.parametrize("seed", range(30))
def test_notes_are_as_near_each_other_however_many_are_compared_at_a_time(seed: int) -> None:
    """Of whole numbers, so that sums are exact."""
    chance = np.random.default_rng(seed)
    sizes = chance.integers(1, 5, size=chance.integers(1, 40))
    table = chance.integers(-9, 10, size=(sizes.sum(), WIDTH)).astype("<f4")
    starts = np.cumsum(sizes) - sizes
    with patch.object(search_vectors, "_AT_A_TIME", 7):
        found = search_vectors._of_each_with_each(table, starts)
    whole = table @ table.T
    plainly = np.maximum.reduceat(np.maximum.reduceat(whole, starts, axis=0), starts, axis=1)
    assert np.array_equal(found, plainly)


def test_long_notes_are_compared_in_bounded_memory() -> None:
    """Compared all at once these would take a gigabyte."""
    starts = np.arange(0, 16_000, 16)
    table = np.zeros((16_000, 2), "<f4")
    tracemalloc.start()
    search_vectors._of_each_with_each(table, starts)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 128 * 2**20


def test_names_may_be_added_while_they_are_gone_through() -> None:
    """As by another request, while one looks for a space that its question names."""
    names = snapshot.NameTable(("harbour", "tollgate"))
    for name in names:
        names.number(f"{name} again")
    assert len([*names]) == 4
