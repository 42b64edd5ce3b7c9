"""Thousands of wrong inputs, made from right ones: no exception without a name, no hang, no growth, nothing lost.

Every case is numbered and has random numbers of its own; a failure tells how to make it again. The long form makes
more than 100,000 of them.
"""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest

from conftest import Effort
from fuzzing import (
    GARBAGE,
    NOTICED,
    PARTS,
    Growth,
    bits_flipped,
    cases,
    flipped,
    harmed,
    noise,
    note_file,
    other_tables,
    revised,
    shuffled_lines,
    spoil,
)
from holdfast.encode.provider import CachedEncoder, VectorSet
from holdfast.engine.agent.browse import Node
from holdfast.engine.runtime import Memory
from holdfast.errors import HoldfastError
from holdfast.index.recalls import RecallLog
from holdfast.model.note import Note, title_of
from holdfast.model.records import RecallEvent
from holdfast.store.codec import (
    Document,
    MalformedError,
    Surroundings,
    changed_document,
    frontmatter_of,
    note_of,
    parse,
    with_id,
)
from holdfast.store.filesystem import FileSystem
from holdfast.store.folder import Folder
from holdfast.store.journal import Journal, Record, line_of
from worlds import PATIENCE, ask, keep, living, show

pytestmark = pytest.mark.timeout(300)

AROUND = Surroundings("garden", "2026-11-20T10:15:00Z")
LONGEST_REASON = 300
SPARE_ID = "mem_" + "7" * 16


# --- note files -----------------------------------------------------------------------------------


def read(data: bytes) -> tuple[Document, Note] | None:
    """A file as the store reads it; None where it is malformed, which must be said in a short sentence."""
    try:
        document = parse(data)
        return document, note_of(document, AROUND, SPARE_ID)
    except MalformedError as error:
        if not 0 < len(str(error)) < LONGEST_REASON:
            raise
        return None


def rewritten(document: Document, old: Note, new: Note) -> None:
    """Change the note in its file: the file then holds the new note, and all else that it held before."""
    if not document.values.get("title") and new.title == old.title:
        new = replace(new, title=title_of(new.content))  # the first line is the title of a file that names none
    data = changed_document(document, old, new).render()
    after = parse(data)
    assert note_of(after, AROUND, SPARE_ID) == new
    before = frontmatter_of(old)
    touched = {key for key, value in frontmatter_of(new).items() if value != before[key]} | {"id", "created"}
    assert told(after.values, touched) == told(document.values, touched)
    kept = [lines for key, lines in document.spans or () if key not in touched]
    assert [lines for lines in kept if lines.removesuffix("\n").encode() not in data] == []
    if new.content == old.content:
        assert after.body == document.body


def told(values: Mapping[str, Any], touched: Collection[str]) -> str:
    """What the other keys say; a date may have become its text, where the whole frontmatter had to be written anew."""
    return json.dumps({key: value for key, value in values.items() if key not in touched}, default=as_text)


def as_text(value: object) -> str:
    return str(value) if isinstance(value, date) else f"{type(value).__name__} {value!r}"


def test_any_file_is_a_note_that_survives_its_rewriting_or_is_malformed(effort: Effort, tally: Counter[str]) -> None:
    notes = 0
    growth = Growth()
    count = effort.of(1500, 60_000)
    with cases("frontmatter", tally) as case:
        for number in range(count):
            with case(number) as rng:
                data = note_file(rng)
                found = read(data)
                if found is None:
                    continue
                notes += 1
                document, old = found
                assert document.render() == data
                rewritten(document, old, revised(rng, old))
                if "id" not in document.values:
                    adopted, same = read(with_id(data, document, SPARE_ID)) or (None, None)
                    assert adopted is not None
                    assert (repr(same), adopted.body) == (repr(old), document.body)
            if number == count // 5:
                growth = Growth()
    growth.judge()
    assert count * 0.2 < notes < count * 0.8  # both ways are gone often


FOUND = (  # by the test above
    b"---\n~\n---\nA buoy.\n",
    b"---\nsubject: buoy\n...\n---\nA buoy.\n",
    b"---\n\xef\xbb\xbf---\nsubject: buoy\n---\nA buoy.\n",
    b"---\n1st: x\nicon: !!binary aGk=\n---\nA buoy.\n",
    b"---\n1st: x\nbuoys: !!set {red, green}\n---\nA buoy.\n",
    b"---\nsource: 1e3\nsubject: 1_000\n---\nA buoy.\n",
    b"---\nsource: 1.5e3\nsubject: 1_000\n---\nA buoy.\n",
    b'---\nyes: 1\ntitle: "1e5"\n---\nA buoy.\n',
    b"---\noff: y\nnull: z\n---\nA buoy.\n",
    "A buoy.\u2004\n".encode(),
)


@pytest.mark.parametrize("data", FOUND)
def test_what_was_found_stays_mended(data: bytes) -> None:
    found = read(data)
    if found is None:
        return
    document, old = found
    assert read(with_id(data, document, SPARE_ID)) is not None
    for number in range(40):
        rewritten(document, old, revised(random.Random(number), old))  # noqa: S311 - the same again
    title = document.values.get("title") or title_of(old.content)
    rewritten(document, old, replace(old, title=title, subject="a lamp", tags=("lamp",)))
    assert title == title.strip()


@pytest.mark.anyio
async def test_files_of_any_bytes_in_a_living_memory_are_found_or_marked_and_left_alone(
    effort: Effort, tally: Counter[str], tmp_path: Path, anyio_backend: str
) -> None:
    together = 20
    async with living(tmp_path) as memory:
        known = await keep(memory, "The crane lifts forty tonnes.")
        folder = tmp_path / "memories" / "garden"
        folder.mkdir()
        with cases("frontmatter", tally) as case:
            for number in range(effort.of(5, 250)):
                dropped: dict[str, bytes] = {}
                for place in range(together):
                    with case(10**6 + number * together + place) as rng:
                        data = note_file(rng)
                        dropped[f"garden/{place}.md"] = data
                        (folder / f"{place}.md").write_bytes(data)
                with anyio.fail_after(PATIENCE):
                    answer = await ask(memory, "crane forty tonnes", limit=50)
                assert known.note.id in {hit.note.id for hit in answer.hits}, number
                await judge_dropped(memory, dropped, tmp_path)
                async with memory.ports.store.quiet():  # nobody is giving a file its id just then
                    shutil.rmtree(folder)
                    folder.mkdir()
        assert [hit.note.id for hit in (await ask(memory, "crane tonnes")).hits] == [known.note.id]


async def judge_dropped(memory: Memory, dropped: dict[str, bytes], home: Path) -> None:
    """Each file is a note with what it says, or stands in quarantine with a reason, and is as it was."""
    rows = await memory.ports.index.files(dropped)
    notes = await memory.ports.index.notes(row.note for row in rows.values() if row.note)
    for path, data in dropped.items():
        found = read(data)
        row = rows[path]
        if found is None:
            assert row.problem, path
        elif row.problem is not None:
            assert row.problem.startswith("it has the same id"), (path, row.problem)
        else:
            assert row.note is not None
            assert notes[row.note].note.content == found[1].content, path
            assert notes[row.note].note.tags == found[1].tags, path
        kept = (home / "memories" / path).read_bytes()
        assert kept == data or (found is not None and kept == with_id(data, found[0], str(row.note))), path


# --- the journal ----------------------------------------------------------------------------------

STRANGE_RECORDS: tuple[Record, ...] = (
    {"done": 5}, {"done": "chg"}, {"done": [[]]}, {"done": [None]}, {"done": None}, {"void": {"a": 1}}, {"void": 7},
    {"settled": "x"}, {"settled": True}, {"settled": -1}, {"settled": 2**70}, {"settled": None}, {"change": []},
    {"change": "chg_x"}, {"change": "chg_x", "files": []}, {"change": "chg_x", "files": {}}, {"op": 5}, {"at": None},
    {"change": "chg_x", "op": "remember", "at": "2026-11-20T10:15:00Z", "files": [{}]},
    {"change": "chg_x", "op": "remember", "at": "2026-11-20T10:15:00Z", "files": [1]},
    {"change": "chg_x", "op": "remember", "at": "2026-11-20T10:15:00Z", "files": ["path"]},
    {"change": "chg_x", "op": "x", "at": "x", "files": [
        {"note": SPARE_ID, "path": "../../outside.md", "before": None, "after": "0" * 64, "aside": "../../outside"}]},
    {"change": "chg_x", "op": "x", "at": "x", "files": [
        {"note": SPARE_ID, "path": "/outside.md", "before": None, "after": "0" * 64, "aside": "/outside"}]},
    {"change": "chg_x", "op": "x", "at": "x", "files": [
        {"note": SPARE_ID, "path": "a\0b", "before": None, "after": None, "aside": "a\0b"}]},
    {"change": "chg_x", "op": "x", "at": "x", "files": [
        {"note": SPARE_ID, "path": "x" * 5000, "before": None, "after": "0" * 64, "aside": "y" * 5000}]},
    {"change": "chg_x", "op": "x", "at": "x", "files": [
        {"note": [1], "path": 5, "before": 5, "after": {}, "aside": None}]},
    {"change": "chg_x", "op": "x", "at": "x", "files": [
        {"note": SPARE_ID, "path": "", "before": None, "after": "0" * 64, "aside": ""}]},
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class World:
    """A folder that a killed server left, with what it had acknowledged, and the journal lines of another one."""

    home: Path
    closed: Path  # the same after a server that ended in peace: its index is all in one file
    notes: dict[str, Note]
    foreign: list[bytes]

    def copy(self, to: Path, *, closed: bool = False) -> Path:
        shutil.rmtree(to, ignore_errors=True)
        shutil.copytree(self.closed if closed else self.home, to)
        return to

    def months(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (self.home / "journal").iterdir()}


CONTENTS = ("The crane lifts forty tonnes.", "Seven lamps on the quay.", "Anna prefers tea.", "The pump is broken.")
QUERIES = ("crane tonnes", "lamps", "tea", "pump", "who prefers what on the quay")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Filled, then copied while its server still runs: the last changes have no outcome in the journal."""
    top = tmp_path_factory.mktemp("world")

    async def fill(home: Path) -> list[str]:
        async with living(home) as memory:
            ids = [(await keep(memory, content, session="s", tags=("quay",))).note.id for content in CONTENTS]
            ids.append((await keep(memory, "The pump is mended.", supersedes=[ids[3]])).note.id)
            ids.append((await keep(memory, "Tea is in the tin.", links=[(ids[2], "supports")])).note.id)
            shutil.copytree(home, home.with_name("killed"))
        return ids

    async def hold(home: Path, ids: Sequence[str]) -> dict[str, Note]:
        async with living(home) as memory:
            return {note_id: (await show(memory, note_id)).note for note_id in ids}

    ids = anyio.run(fill, top / "one")
    home = (top / "killed").rename(top / "left")
    anyio.run(fill, top / "other")
    foreign = [
        line for path in (top / "other" / "journal").iterdir() for line in path.read_bytes().splitlines(keepends=True)
    ]
    closed = shutil.copytree(home, top / "closed")
    return World(home, closed, anyio.run(hold, closed, ids), foreign)


def harmed_journal(rng: random.Random, data: bytes, foreign: Sequence[bytes]) -> bytes:
    """A month's file: its tail or its middle harmed, in the ways of crashes, disks and sync tools."""
    ways: tuple[Callable[[], bytes], ...] = (
        lambda: data[: rng.randint(max(0, len(data) - 900), len(data))],
        lambda: b"",
        lambda: data + rng.choice((noise(rng, 300), *GARBAGE, b"x" * 1_000_000, bytes(4096))),
        lambda: shuffled_lines(rng, data, foreign),
        lambda: data + rng.choice(foreign)[: rng.randint(1, 400)],
        lambda: data[: -rng.randint(1, 600)] + bytes(rng.randint(1, 600)),
        lambda: shuffled_lines(rng, data, [strange_line(rng)]),
        lambda: data + strange_line(rng),
        lambda: flipped(rng, data),
        lambda: harmed(rng, data),
    )
    return rng.choice(ways)()


def strange_line(rng: random.Random) -> bytes:
    """A line that is whole and in whose record nothing is as it should be."""
    seq = rng.choice((rng.randint(1, 40), 0, -5, True, 1.5, "7", None, 2**63, 2**70))
    return line_of({"seq": seq, **rng.choice(STRANGE_RECORDS)})


def harmed_months(rng: random.Random, world: World) -> dict[str, bytes]:
    months = world.months()
    (name, data), *_ = months.items()
    for _ in range(rng.choice((1, 1, 2))):
        months[name] = harmed_journal(rng, months[name], world.foreign)
    if rng.random() < 0.1:
        months[rng.choice(("2026-10.jsonl", "2020-01.jsonl", "0000-00.jsonl"))] = harmed(rng, data)
    if rng.random() < 0.1:
        months["9999-12.jsonl"] = rng.choice((harmed(rng, data), b"", noise(rng)))
    if rng.random() < 0.05:
        del months[name]
    return months


def write_months(home: Path, months: dict[str, bytes]) -> None:
    shutil.rmtree(home / "journal", ignore_errors=True)
    (home / "journal").mkdir(parents=True)
    for name, data in months.items():
        (home / "journal" / name).write_bytes(data)


@asynccontextmanager
async def journal_on(home: Path) -> AsyncIterator[Journal]:
    journal = Journal(Folder(home), FileSystem(), lambda: datetime(2026, 11, 21, tzinfo=UTC))
    await journal.open()
    try:
        yield journal
    finally:
        journal.close()


@pytest.mark.anyio
async def test_a_harmed_journal_gives_every_unharmed_line_no_other_and_goes_on(
    effort: Effort, tally: Counter[str], tmp_path: Path, world: World, anyio_backend: str
) -> None:
    (tmp_path / "locks").mkdir()
    growth = Growth()
    count = effort.of(250, 12_500)
    with cases("journal", tally) as case:
        for number in range(count):
            with case(number) as rng:
                months = harmed_months(rng, world)
                write_months(tmp_path, months)
                await judge_journal(tmp_path, world, months)
            if number == count // 5:
                growth = Growth()
    growth.judge()


async def judge_journal(home: Path, world: World, months: dict[str, bytes]) -> None:
    ours = {line.removesuffix(b"\n") for line in [*b"".join(world.months().values()).splitlines(), *world.foreign]}
    whole = [line for data in months.values() for line in data.split(b"\n")[:-1] if line in ours]
    async with journal_on(home) as journal:
        told = [line_of(record) for record in journal.records()]
        for line in whole:
            assert stripped(line) in [stripped(item) for item in told]
        strange = [item for item in told if item.removesuffix(b"\n") not in ours and not is_strange(item)]
        assert strange == []
        highest = max((record["seq"] for record in journal.records()), default=0)
        given = [await journal.append({"note": number}, flush=False) for number in range(3)]
    assert given == [highest + 1, highest + 2, highest + 3]
    async with journal_on(home) as journal:
        assert [record["note"] for record in journal.records() if record["seq"] in given] == [0, 1, 2]
        assert await journal.append({"note": 3}, flush=False) == highest + 4


def stripped(line: bytes) -> bytes:
    return line.removesuffix(b"\n")


def is_strange(line: bytes) -> bool:
    """Whether a record is one of those that this test makes."""
    record = json.loads(line)
    return {name: item for name, item in record.items() if name not in ("sum", "len", "seq")} in STRANGE_RECORDS


@pytest.mark.anyio
async def test_whatever_the_journal_holds_the_next_start_keeps_every_note_and_takes_more(
    effort: Effort, tally: Counter[str], tmp_path: Path, world: World, anyio_backend: str
) -> None:
    with cases("journal", tally) as case:
        for number in range(effort.of(50, 2500)):
            with case(10**6 + number) as rng:
                home = world.copy(tmp_path / "inner" / "home")
                write_months(home, harmed_months(rng, world))
                if rng.random() < 0.5:
                    shutil.rmtree(home / ".holdfast")
                files = note_files(home)
                async with living(home) as memory:
                    await holds(memory, world.notes)
                    new = (await keep(memory, f"A buoy of case {number}.", session="s")).note
                    assert {path: note_files(home).get(path) for path in files} == files
                async with living(home) as memory:
                    await holds(memory, world.notes | {new.id: new})
                assert strangers(tmp_path) == []


async def holds(memory: Memory, notes: dict[str, Note]) -> None:
    assert (await ask(memory, "crane")).hits
    there = await memory.ports.index.notes(notes)
    assert {note_id: item.note.content for note_id, item in there.items()} == {
        note_id: note.content for note_id, note in notes.items()
    }


def strangers(top: Path) -> list[str]:
    """What a path of `STRANGE_RECORDS` would have made."""
    return [path.name for path in top.rglob("*") if path.name.startswith("outside")]


def note_files(home: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (home / "memories").rglob("*.md")}


# --- the index ------------------------------------------------------------------------------------

Said = dict[str, Any]


async def said(memory: Memory, ids: Sequence[str]) -> Said:
    """All that is said of the notes, less what is new in each answer."""
    answers: Said = {}
    for query in QUERIES:
        answer = await ask(memory, query, include_outdated=True, limit=50)
        answers[query] = [hit.note for hit in answer.hits]
    for given in ids:
        node: Node = await show(memory, given)
        answers[given] = (node.note, node.path, sorted(node.connections, key=lambda link: (link.id, link.type)))
    return answers


async def said_in_the_end(memory: Memory, ids: Sequence[str]) -> Said | None:
    """What is said once an error with a name has told of the harm, if one does; None where it is told each time."""
    for _ in range(4):
        with suppress(HoldfastError), anyio.fail_after(PATIENCE):
            return await said(memory, ids)
    return None


@pytest.mark.anyio
async def test_a_harmed_index_is_noticed_and_answers_are_those_of_the_files(
    effort: Effort, tally: Counter[str], tmp_path: Path, world: World, anyio_backend: str
) -> None:
    async with living(world.copy(tmp_path / "clean")) as memory:
        expected = await said(memory, list(world.notes))
    with cases("index", tally) as case:
        for number in range(effort.of(40, 2500)):
            with case(number) as rng:
                home = world.copy(tmp_path / "home", closed=rng.random() < 0.6)
                done = spoil(rng, home / ".holdfast", NOTICED, PARTS)
                async with living(home) as memory:
                    assert await said_in_the_end(memory, list(world.notes)) == expected, done
                    while_open = spoil(rng, home / ".holdfast", NOTICED, PARTS[:3])
                    assert await said_in_the_end(memory, list(world.notes)) == expected, (done, while_open)
                    new = await keep(memory, "A lantern.")
                    assert new.note.content == (await show(memory, new.note.id)).note.content


@pytest.mark.anyio
async def test_flipped_bits_in_an_index_raise_nothing_and_go_with_it(
    effort: Effort, tally: Counter[str], tmp_path: Path, world: World, anyio_backend: str
) -> None:
    """SQLite has no checksums: a bit that flips inside of a text cannot be seen. It is never written into a note."""
    async with living(world.copy(tmp_path / "clean")) as memory:
        expected = await said(memory, list(world.notes))
    with cases("index", tally) as case:
        for number in range(effort.of(20, 1200)):
            with case(10**6 + number) as rng:
                home = world.copy(tmp_path / "home", closed=rng.random() < 0.6)
                spoil(rng, home / ".holdfast", [bits_flipped], PARTS)
                files = note_files(home)
                async with living(home) as memory:
                    await said_in_the_end(memory, list(world.notes))
                    with suppress(HoldfastError):
                        await keep(memory, "A lantern.")
                    assert {path: note_files(home).get(path) for path in files} == files
                shutil.rmtree(home / ".holdfast")
                async with living(home) as memory:
                    for note_id in world.notes:
                        assert (await show(memory, note_id)).note == expected[note_id][0]


@pytest.mark.anyio
@pytest.mark.parametrize(
    "harm",
    [
        "links SET type = CAST(type AS BLOB)",
        "notes SET source = CAST(source AS BLOB)",
        "notes SET source = CAST(x'd8ff' AS TEXT)",
        "sqlite_schema SET sql = CAST(x'd8ff' AS TEXT) WHERE name = 'links'",
    ],
)
async def test_a_text_that_became_something_else_is_noticed_and_the_index_made_anew(
    tmp_path: Path, world: World, anyio_backend: str, harm: str
) -> None:
    home = world.copy(tmp_path / "home", closed=True)
    async with living(home) as memory:
        expected = await said(memory, list(world.notes))
    with closing(sqlite3.connect(home / ".holdfast/index.db")) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        assert connection.execute(f"UPDATE {harm}").rowcount
    async with living(home) as memory:
        assert await said_in_the_end(memory, list(world.notes)) == expected


class Plain:
    """An encoder whose vectors are easily told."""

    vector_set = VectorSet("fake", "fake", "", 2, ("", ""), 0.1, 0.1)
    backlog = 0

    async def encode_documents(self, texts: Sequence[str]) -> list[list[bytes]]:
        return [[item.encode()[:8].ljust(8, b".")] for item in texts]

    async def encode_query(self, text: str) -> bytes:
        return text.encode()[:8].ljust(8, b".")

    async def aclose(self) -> None:
        """Nothing to close."""


@pytest.mark.anyio
async def test_harmed_caches_beside_the_index_are_started_anew(
    effort: Effort, tally: Counter[str], tmp_path: Path, anyio_backend: str
) -> None:
    names = ("recalls.db", "recalls.db-wal", "encodings.db", "encodings.db-wal")
    with cases("index", tally) as case:
        for number in range(effort.of(40, 1300)):
            with case(2 * 10**6 + number) as rng:
                folder = tmp_path / "inner"
                shutil.rmtree(folder, ignore_errors=True)
                for part in names[::2] if rng.random() < 0.8 else names[1::2]:
                    log, encoder = RecallLog(folder / names[0]), CachedEncoder(Plain(), folder / names[2])
                    await use(log, encoder, "crane")
                    if rng.random() < 0.5:  # while it is closed
                        await log.aclose()
                        await encoder.aclose()
                    spoil(rng, folder, [harm for harm in NOTICED if harm is not other_tables], [part])
                    await use(log, encoder, "crane")
                    await use(log, encoder, f"crane {number}")
                    await log.aclose()
                    await encoder.aclose()
                    log = RecallLog(folder / names[0])
                    assert await log.add(RecallEvent("again", "2026-11-20T10:15:00Z", "crane", None, []))
                    assert (await log.get("again", "2026-11-20T00:00:00Z")) is not None
                    await log.aclose()


@pytest.mark.anyio
async def test_a_cache_whose_harm_cannot_even_be_told_is_started_anew(tmp_path: Path, anyio_backend: str) -> None:
    log, encoder = RecallLog(tmp_path / "recalls.db"), CachedEncoder(Plain(), tmp_path / "encodings.db")
    await use(log, encoder, "crane")
    await log.aclose()
    await encoder.aclose()
    for path in (tmp_path / "recalls.db", tmp_path / "encodings.db"):
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("PRAGMA writable_schema = ON")
            connection.execute("UPDATE sqlite_schema SET sql = 'CREATE nonsense', name = CAST(x'd8ff' AS TEXT)")
    await use(log, encoder, "crane")
    assert await log.add(RecallEvent("again", "2026-11-20T10:15:00Z", "crane", None, []))
    await log.aclose()
    await encoder.aclose()


async def use(log: RecallLog, encoder: CachedEncoder, text: str) -> None:
    await log.add(RecallEvent(text, "2026-11-20T10:15:00Z", text, "work", [(SPARE_ID, 0.5)]))
    assert await encoder.encode_documents([text, "lamps"]) == await Plain().encode_documents([text, "lamps"])
