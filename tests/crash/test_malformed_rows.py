"""Rows that are no notes, and rows that claim one id: each is told, none is taken for a deletion."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
import pytest

import postgres
from holdfast.app import build_memory
from holdfast.engine.admin.health import quarantine
from holdfast.engine.runtime import Memory
from holdfast.engine.sync import follow
from holdfast.model.access import tenant_key
from holdfast.settings import load_settings
from holdfast.store.codec import content_hash
from holdfast.store.folder import Folder
from holdfast.store.rows.database import Database
from holdfast.store.rows.moving import load
from holdfast.store.stored import LARGEST_FILE
from worlds import ask, deleted, found, keep, living

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not postgres.is_there(), reason=postgres.MISSING)]

HARMED = b"---\nid: [\n---\nnobody reads this\n"


@asynccontextmanager
async def server(home: Path, tenant: str) -> AsyncIterator[Memory]:
    given = {"HOLDFAST_HOME": str(home), "HOLDFAST_TENANT": tenant, "HOLDFAST_ENCODER": "none"}
    memory = build_memory(load_settings(given | {"HOLDFAST_STORE": postgres.shared().url}))
    async with memory.running():
        yield memory


async def told(memory: Memory) -> dict[object, object]:
    """What is quarantined, and why."""
    return {item["path"]: item["reason"] for item in await memory.attend(quarantine)}


async def load_folder(home: Path, tenant: str) -> None:
    database = Database(postgres.shared().url)
    load(database, tenant_key(tenant), Folder(home), {}, lambda _done, _total: None)
    await database.aclose()


def write(tenant: str, note: str, data: bytes, hash_: str) -> bytes:
    """Change a note's row past all servers; returns what it was."""
    with psycopg.connect(postgres.shared().owner, autocommit=True) as connection:
        key = (tenant_key(tenant), note)
        before = connection.execute("SELECT data FROM holdfast.notes WHERE tenant = %s AND note = %s", key).fetchone()
        connection.execute(
            "UPDATE holdfast.notes SET data = %s, hash = %s WHERE tenant = %s AND note = %s", (data, hash_, *key)
        )
    assert before is not None
    return bytes(before[0])


async def test_what_a_folder_has_in_quarantine_is_in_quarantine_in_the_database_that_it_is_loaded_into(
    tmp_path: Path, tenant: str
) -> None:
    home = tmp_path / "old"
    async with living(home) as memory:
        whole = await keep(memory, "The orders service uses PostgreSQL 15.")
        harmed = await keep(memory, "The billing team meets on Tuesdays.")
    notes = {path.name.split(".")[-2]: path for path in (home / "memories").rglob("*.md")}
    original = notes[whole.note.id]
    original.with_name("a-copy.md").write_text(original.read_text("utf-8").replace("SQL 15", "SQL 11"), "utf-8")
    original.with_name("long.md").write_text("too long " * LARGEST_FILE, "utf-8")
    notes[harmed.note.id].write_bytes(HARMED)
    async with living(home) as memory:
        expected = await told(memory)
    assert len(expected) == 3
    await load_folder(home, tenant)
    for _ in range(2):  # with an index that is made, and with one that is there
        async with server(tmp_path / "one", tenant) as memory:
            assert await told(memory) == expected
            assert found(await ask(memory, "orders service"))[:1] == ["The orders service uses PostgreSQL 15."]
            assert "SQL 11" not in " ".join(found(await ask(memory, "orders service")))


@pytest.mark.parametrize("is_hash_of_it", [True, False])
async def test_a_row_that_is_harmed_is_told_and_is_a_note_again_when_it_is_mended(
    tmp_path: Path, tenant: str, is_hash_of_it: bool
) -> None:
    async with server(tmp_path / "one", tenant) as memory:
        note = (await keep(memory, "The capstan turns to the left.")).note
    before = write(tenant, note.id, HARMED, content_hash(HARMED if is_hash_of_it else b"another"))
    async with server(tmp_path / "one", tenant) as memory:
        problems = await told(memory)
        assert [note.id in str(path) for path in problems] == [True]
        answer = await ask(memory, "capstan")
        assert not found(answer)
        assert any(note.id in notice for notice in answer.notices)
        await keep(memory, "The winch turns to the right.")
        assert await told(memory) == problems
    write(tenant, note.id, before, content_hash(before))
    async with server(tmp_path / "one", tenant) as memory:
        assert await told(memory) == {}
        assert found(await ask(memory, "capstan")) == ["The capstan turns to the left."]


@pytest.mark.parametrize("rows_at_a_time", [1, 1000])
async def test_when_the_note_of_two_rows_with_one_id_is_deleted_the_other_is_the_note_on_every_server(
    tmp_path: Path, tenant: str, monkeypatch: pytest.MonkeyPatch, rows_at_a_time: int
) -> None:
    monkeypatch.setattr(follow, "_BATCH", rows_at_a_time)
    home = tmp_path / "old"
    async with living(home) as memory:
        note = (await keep(memory, "The ferry leaves at noon.")).note
    [path] = (home / "memories").rglob(f"*{note.id}.md")
    path.with_name("a-copy.md").write_text(path.read_text("utf-8").replace("noon", "dusk"), "utf-8")
    await load_folder(home, tenant)
    async with server(tmp_path / "one", tenant) as one, server(tmp_path / "other", tenant) as other:
        for memory in (one, other):
            assert found(await ask(memory, "When does the ferry leave?")) == ["The ferry leaves at noon."]
        await deleted(one, note.id)
        for memory in (one, other):
            assert await told(memory) == {}
            assert found(await ask(memory, "When does the ferry leave?")) == ["The ferry leaves at dusk."]
