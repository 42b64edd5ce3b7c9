"""All of `.holdfast/` may be deleted at any time: the answers stay, and nothing that was acknowledged is lost."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from fastmcp import Client
from fastmcp.exceptions import ToolError

from worlds import PATIENCE, call, remove_everything, remove_index, results, serving

pytestmark = pytest.mark.anyio

NOTES = (
    "We chose SQLite over Postgres for the index, because it needs no server.",
    "The staging database is reset every Sunday night at two.",
    "Maria prefers short commit messages and dislikes emoji in them.",
    "Deploys go through the blue pipeline; the green one is only for rollback.",
    "The office in Lisbon closes at six on Fridays.",
    "Use tabs in the Makefile and four spaces everywhere else.",
    "The customer in Oslo pays by invoice, thirty days.",
    "The backup job writes to the cold bucket, once a week.",
    "Error E0432 in tcp_stream.rs came from a missing feature flag.",
    "会議は毎週金曜日に東京で行われます。",
)
SPOKEN = ("We met at the harbour.", "Anna brought the tickets.", "They were for the second of May.")
QUERIES = (
    "which database did we choose for the index",
    "how should commit messages look",
    "what happens if a deployment goes wrong",
    "when is the test environment wiped",
    "E0432",
    "金曜日",
    "tickets for May",
    "backup",
    "how does Oslo pay",
    "what is the colour of the moon",
)


def remove_database(home: Path) -> None:
    (home / ".holdfast" / "index.db").unlink()


def remove_part(end: str, home: Path) -> None:
    (home / ".holdfast" / f"index.db{end}").unlink()


Removal = Callable[[Path], None]
REMOVALS = [
    pytest.param(remove_database, id="index.db alone"),
    pytest.param(remove_index, id="index.db, -wal and -shm"),
    pytest.param(remove_everything, id="all of .holdfast"),
]
PARTS = [
    pytest.param(partial(remove_part, end), id=f"index.db{end} alone") for end in ("-wal", "-shm")
]  # of which there are none while it sleeps


MORE: tuple[dict[str, Any], ...] = (
    *({"content": text} for text in NOTES),
    *({"content": text, "session": "trip", "subject": "Anna"} for text in SPOKEN),
    {"content": "We chose DuckDB for the reports, not for the index.", "links": [0], "type": "decision"},
    {"content": "The staging database is reset on Mondays now.", "supersedes": [1]},
    {"content": "The user lives in Lisbon.", "about_self": True, "tier": "core"},
    {"content": "Elsewhere the index is a flat file.", "space": "elsewhere", "tags": ["index"]},
    {"content": "Nothing is backed up in global.", "space": "global"},
    {"content": "The old office was in Porto.", "event_time": "2020-05-01"},
)


async def filled(client: Client) -> list[str]:
    """A memory with every kind of note: linked, retired, superseded, outdated, of a session, of other spaces."""
    ids: list[str] = []
    for given in MORE:
        named = {key: [ids[place] for place in given[key]] for key in ("links", "supersedes") if key in given}
        ids.append(str((await call(client, "remember", **{**given, **named}))["id"]))
    await call(client, "mark_outdated", node_id=ids[4], reason="They moved.", superseded_by=ids[6])
    return ids


async def said(client: Client, ids: list[str]) -> dict[str, Any]:
    """All that the reading tools say, without what is new in every answer."""
    answers: dict[str, Any] = {}
    for query in QUERIES:
        for given in ({}, {"include_outdated": True, "limit": 50}, {"spaces": ["elsewhere"]}, {"explain": True}):
            answer = await call(client, "recall", query=query, **given)
            answers[f"{query} {given}"] = {
                key: value for key, value in answer.items() if key not in ("event_id", "notices")
            }
    for note_id in ids:
        answers[note_id] = await call(client, "recall_node", node_id=note_id)
    return answers


def close_to(expected: Any) -> Any:
    """The same, with relevance and score within a hundredth."""
    if isinstance(expected, dict):
        return {
            key: pytest.approx(value, abs=0.01) if key in ("relevance", "score") else close_to(value)
            for key, value in expected.items()
            if key != "why"
        }
    return [close_to(item) for item in expected] if isinstance(expected, list) else expected


def bare(answer: Any) -> Any:
    """An answer without its reasons, which hold rounded numbers."""
    if isinstance(answer, dict):
        return {key: bare(value) for key, value in answer.items() if key != "why"}
    return [bare(item) for item in answer] if isinstance(answer, list) else answer


async def incomplete(client: Client) -> bool:
    """Whether a note has no vector yet."""
    return any("no vector" in notice for notice in (await call(client, "recall", query="anything"))["notices"])


async def complete(client: Client) -> None:
    with anyio.fail_after(PATIENCE):
        while await incomplete(client):  # noqa: ASYNC110 - another process makes them
            await anyio.sleep(0.05)


def encoded(home: Path) -> list[Any]:
    """What the cache of encodings holds; a text that is encoded again gets new rows."""
    with closing(sqlite3.connect(home / ".holdfast" / "encodings.db")) as connection:
        return connection.execute("SELECT rowid, content FROM encodings ORDER BY rowid").fetchall()


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


class Original:
    """A folder that was filled once, and what was said of it then."""

    def __init__(self, home: Path, ids: list[str], answers: dict[str, Any]) -> None:
        self.home = home
        self.ids = ids
        self.answers = answers


@pytest.fixture(scope="module")
async def original(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> Original:
    home = tmp_path_factory.mktemp("original")
    async with serving(home, "builtin") as client:
        ids = await filled(client)
        await complete(client)
        answers = await said(client, ids)
    return Original(home, ids, answers)


@pytest.fixture
def home(original: Original, tmp_path: Path) -> Path:
    """A copy of the folder as it lay when its server had stopped."""
    return Path(shutil.copytree(original.home, tmp_path / "home"))


@pytest.fixture
async def client(anyio_backend: str, home: Path) -> AsyncIterator[Client]:
    async with serving(home, "builtin") as ready:
        yield ready


def test_the_proof_is_about_something(original: Original) -> None:
    answered = [answer for answer in original.answers.values() if answer.get("results")]
    assert len(answered) > len(QUERIES)
    assert any(answer.get("connections") for answer in original.answers.values())
    assert any(answer.get("changes", 0) > 1 for answer in original.answers.values())


async def test_a_restart_alone_changes_no_answer(original: Original, client: Client) -> None:
    assert bare(await said(client, original.ids)) == close_to(original.answers)


@pytest.mark.parametrize("remove", REMOVALS)
async def test_after_a_deletion_while_it_sleeps_every_answer_is_the_same(
    original: Original, home: Path, remove: Removal
) -> None:
    remove(home)
    async with serving(home, "builtin") as client:
        assert (await results(client, "E0432"))[0]["id"] == original.ids[8], "its words find it at once"
        await complete(client)
        assert bare(await said(client, original.ids)) == close_to(original.answers)


@pytest.mark.parametrize("remove", [*REMOVALS, *PARTS])
async def test_after_a_deletion_while_it_runs_every_answer_is_the_same(
    original: Original, home: Path, client: Client, remove: Removal
) -> None:
    await results(client, "warming up")
    remove(home)
    assert [hit["id"] for hit in await results(client, "E0432")] == [original.ids[8]], "its words find it at once"
    await complete(client)
    assert bare(await said(client, original.ids)) == close_to(original.answers)
    assert (home / ".holdfast" / "index.db").exists(), "it is made anew"


async def test_vectors_come_back_without_encoding_anything_again(home: Path, client: Client) -> None:
    await complete(client)
    before = encoded(home)
    remove_index(home)
    await complete(client)
    assert len(before) == len(MORE)  # Self too, but not the note in a script that the model does not read
    assert encoded(home) == before


@pytest.mark.parametrize("remove", REMOVALS)
async def test_both_of_two_servers_recover_when_somebody_deletes_it(
    original: Original, home: Path, client: Client, remove: Removal
) -> None:
    async with serving(home, "builtin") as other:
        await results(other, "warming up")
        await results(client, "warming up")
        remove(home)
        after: list[Any] = [None, None]

        async def ask(place: int, asked: Client) -> None:
            await complete(asked)
            after[place] = bare(await said(asked, original.ids))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, 0, client)
            tasks.start_soon(ask, 1, other)
        assert after == [close_to(original.answers)] * 2
        note_id = (await call(other, "remember", content="The tide table hangs in the kitchen."))["id"]
        assert (await results(client, "tide table kitchen"))[0]["id"] == note_id


class Writer:
    """Stores notes with one server, and remembers what was acknowledged."""

    def __init__(self, server: Client, name: str) -> None:
        self.server = server
        self.name = name
        self.acknowledged: dict[str, str] = {}
        self.refused: list[str] = []
        self.done = False

    async def write(self, count: int) -> None:
        for number in range(count):
            content = f"Buoy {self.name}{number}q is painted red."
            try:
                self.acknowledged[content] = (await call(self.server, "remember", content=content))["id"]
            except ToolError as error:
                self.refused.append(str(error))
        self.done = True


@pytest.mark.parametrize("remove", REMOVALS)
async def test_what_is_acknowledged_while_it_is_deleted_again_and_again_is_kept(
    tmp_path: Path, anyio_backend: str, remove: Removal
) -> None:
    """Two servers write while the index is taken away under them, at whatever moment that hits."""
    async with AsyncExitStack() as stack, anyio.create_task_group() as tasks:
        writers = [Writer(await stack.enter_async_context(serving(tmp_path)), name) for name in "ab"]
        for writer in writers:
            await results(writer.server, "warming up")
            tasks.start_soon(writer.write, 40)
        last = deletions = 0
        while not all(writer.done for writer in writers):
            answered = sum(len(writer.acknowledged) + len(writer.refused) for writer in writers)
            if answered >= last + 3:
                with suppress(OSError):  # it is not there again yet, or is being made
                    remove(tmp_path)
                    deletions += 1
                last = answered
            await anyio.sleep(0.001)

        acknowledged = {text: note_id for writer in writers for text, note_id in writer.acknowledged.items()}
        assert deletions > 5
        assert len(acknowledged) > 40
        assert not [refusal for writer in writers for refusal in writer.refused if "StorageError" not in refusal]
        for writer in writers:
            for content, note_id in acknowledged.items():
                found = await results(writer.server, content.split()[1])
                assert [(hit["id"], hit["content"]) for hit in found] == [(note_id, content)]
    assert len(owned(tmp_path / "memories" / "work")) == len(acknowledged), "refused and yet stored, or stored twice"


def cut_to_nothing(path: Path) -> None:
    os.truncate(path, 0)


def cut_in_half(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def overwrite(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"\xff" * path.stat().st_size)


@pytest.mark.parametrize("harm", [cut_to_nothing, cut_in_half, overwrite])
async def test_a_database_that_is_harmed_in_place_ends_no_server_and_is_rebuilt(
    tmp_path: Path, anyio_backend: str, harm: Removal
) -> None:
    path = tmp_path / ".holdfast" / "index.db"
    async with serving(tmp_path) as client:
        for number in range(60):
            await call(client, "remember", content=f"Buoy {number}q is painted red and rings in the fog.")
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # so that nothing is left but the file
        harm(path)
        assert len(await results(client, "7q")) == 1
        await call(client, "remember", content="The harbour light was replaced.")
        assert len(await results(client, "harbour light replaced")) == 1
    async with serving(tmp_path) as client:
        for number in (7, 42):
            assert len(await results(client, f"{number}q")) == 1
        assert len(await results(client, "harbour light replaced")) == 1


async def test_a_note_that_the_index_lost_without_a_sign_is_answered_from_its_file(
    tmp_path: Path, anyio_backend: str
) -> None:
    """SQLite keeps no checksums: a page that a disk loses can leave a database that reads well and holds less."""
    async with serving(tmp_path) as client:
        note = await call(client, "remember", content="The crane lifts forty tonnes.")
        with closing(sqlite3.connect(tmp_path / ".holdfast" / "index.db")) as connection, connection:
            connection.execute("DELETE FROM notes WHERE id = ?", (note["id"],))
        assert (await call(client, "recall_node", node_id=note["id"]))["content"] == "The crane lifts forty tonnes."
        assert len(await results(client, "crane tonnes")) == 1


def owned(home: Path) -> dict[str, tuple[bytes, int, int]]:
    """Bytes, time and inode of every file that is the user's."""
    return {
        path.relative_to(home).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino)
        for path in sorted(home.rglob("*"))
        if path.is_file() and path.relative_to(home).parts[0] not in (".holdfast", "locks", "journal")
    }


@pytest.mark.parametrize("remove", [*REMOVALS, pytest.param(lambda _: None, id="nothing")])
async def test_reading_changes_no_file_of_yours(
    original: Original, home: Path, client: Client, remove: Removal
) -> None:
    before = owned(home)
    await said(client, original.ids)
    remove(home)
    await said(client, original.ids)
    await complete(client)
    assert owned(home) == before
