"""The second set of vectors with real providers: through Ollama's API, shared in PostgreSQL, and erased by a purge."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path

import anyio
import psycopg
import pytest

import postgres
from holdfast.app import build_memory
from holdfast.engine.encoding import drain, progress
from holdfast.engine.runtime import Memory
from holdfast.model.access import tenant_key
from holdfast.settings import load_settings
from holdfast.store.rows.database import Database
from holdfast.store.rows.shared import RowVectors
from ollama_server import MODEL, Ollama, serving_ollama
from worlds import PATIENCE, ask, found, keep, purged

pytestmark = pytest.mark.anyio
shared = pytest.mark.skipif(not postgres.is_there(), reason=postgres.MISSING)

SECOND = "embeddinggemma"
BOTH = (MODEL, SECOND)
CRANE = "The harbour crane lifts forty tons."
FERRY = "The ferry leaves at noon."
ASKED = "wieviel hebt hafenkran"
ALIKE = {"hafenkran": "crane", "hebt": "lifts", "wieviel": "forty"}
FIRST_ALONE = {"HOLDFAST_MULTILINGUAL": "off"}


class TwoModels(Ollama):
    """Both models are of one server; only the second knows which words of two languages mean the same."""

    def vector(self, text: str, model: str = f"{MODEL}:latest") -> list[float]:
        # A copy: each request has a thread of its own.
        knowing = self if model.startswith(SECOND) else replace(self, alike={})
        return Ollama.vector(knowing, text, model)

    def asked_of(self, model: str) -> list[str]:
        """The texts that one of the models was given, without what is written before them."""
        bodies = [body for path, body in self.asked if path == "/api/embed" and body["model"].startswith(model)]
        return [text for body in bodies for text in body["input"]]


@pytest.fixture
def ollama() -> Iterator[TwoModels]:
    models = {f"{MODEL}:latest": "d1" * 32, f"{SECOND}:latest": "e1" * 32}
    with serving_ollama(TwoModels(models=models, alike=ALIKE)) as server:
        assert isinstance(server, TwoModels)
        yield server


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """How soon an encoder answers here is this machine's affair."""
    for place in ("holdfast.engine.encoding.PATIENCE_SECONDS", "holdfast.engine.encoding.REMOTE_PATIENCE_SECONDS"):
        monkeypatch.setattr(place, PATIENCE)


@asynccontextmanager
async def living(home: Path, ollama: Ollama, **given: str) -> AsyncIterator[Memory]:
    """A memory as the settings make it: both encoders are of this Ollama, each with a model of its own."""
    settings = {
        "HOLDFAST_HOME": str(home),
        "HOLDFAST_ENCODER": "ollama",
        "HOLDFAST_ENCODER_MODEL": MODEL,
        "HOLDFAST_MULTILINGUAL": f"ollama:{SECOND}",
        "OLLAMA_HOST": ollama.host,
    }
    memory = build_memory(load_settings(settings | given))
    async with memory.running():
        yield memory


async def encode_all(memory: Memory, *models: str) -> dict[str, str]:
    """Encodes what waits, beside the background, until the sets of these models are whole; their keys by the model."""
    with anyio.fail_after(PATIENCE):
        while True:
            sets = {each.model.partition(":")[0]: each for each in await memory.attend(progress)}
            await memory.catch_up()
            if sets.keys() == set(models) and all(each.done == each.notes and each.ready for each in sets.values()):
                return {model: each.key for model, each in sets.items()}
            if not await drain(memory.ports):
                await anyio.sleep(0.02)


def vectors_in(home: Path, name: str, table: str) -> set[bytes]:
    """Of the one file of this name below a folder."""
    [path] = home.rglob(name)
    with closing(sqlite3.connect(path)) as connection:
        return {bytes(vector) for (vector,) in connection.execute(f"SELECT vector FROM {table}")}  # noqa: S608 - ours


def holding(home: Path, vectors: set[bytes]) -> list[Path]:
    """The files below a folder that have the bytes of one of these vectors."""
    files = (path for path in home.rglob("*") if path.is_file())
    return [path for path in files if any(each in data for data in [path.read_bytes()] for each in vectors)]


def shared_rows(owner: str, tenant: str) -> set[tuple[str, bytes]]:
    """Set and vector of each row that servers of a tenant share."""
    with psycopg.connect(owner, autocommit=True) as connection:
        statement = "SELECT vector_set, vector FROM holdfast.encodings WHERE tenant = %s"
        rows = connection.execute(statement, (tenant_key(tenant),)).fetchall()
    return {(key, bytes(vector)) for key, vector in rows}


async def test_a_named_model_of_ollama_stands_beside_the_first_and_finds_across_languages(
    tmp_path: Path, ollama: TwoModels
) -> None:
    async with living(tmp_path, ollama, **FIRST_ALONE) as memory:
        await keep(memory, CRANE)
        await keep(memory, FERRY)
        await encode_all(memory, MODEL)
        assert found(await ask(memory, ASKED)) == []
    assert not ollama.asked_of(SECOND)
    async with living(tmp_path, ollama) as memory:
        await encode_all(memory, *BOTH)
        answer = await ask(memory, ASKED)
        assert found(answer)[0] == CRANE
        assert answer.notices == ()
    asked = ollama.asked_of(SECOND)
    assert any(CRANE in text for text in asked)
    assert any(ASKED in text for text in asked)


async def test_where_ollama_has_not_the_named_model_the_first_answers_and_says_so(
    tmp_path: Path, ollama: TwoModels
) -> None:
    del ollama.models[f"{SECOND}:latest"]
    async with living(tmp_path, ollama) as memory:
        await keep(memory, CRANE)
        answer = await ask(memory, "harbour crane")
        assert found(answer) == [CRANE]
        told = " ".join(answer.notices)
    assert SECOND in told, told


async def test_a_purge_takes_both_vectors_out_of_the_index_and_the_cache(tmp_path: Path, ollama: TwoModels) -> None:
    async with living(tmp_path, ollama) as memory:
        crane = (await keep(memory, CRANE)).note.id
        await keep(memory, FERRY)
        keys = await encode_all(memory, *BOTH)
        gone: set[bytes] = set()
        for key in keys.values():
            chunks = await memory.ports.index.read(lambda view, key=key: view.first_vectors(key, [crane]))
            gone |= set(chunks.values())
        assert len(gone) == 2
        assert gone <= vectors_in(tmp_path, "index.db", "vectors")
        assert gone <= vectors_in(tmp_path, "encodings.db", "encodings")
        await purged(memory, crane)
        await encode_all(memory, *BOTH)
        kept = vectors_in(tmp_path, "index.db", "vectors")
        assert kept
        assert not gone & (kept | vectors_in(tmp_path, "encodings.db", "encodings"))
    assert holding(tmp_path, gone) == []


@shared
async def test_what_one_server_encoded_in_both_sets_no_other_encodes(tmp_path: Path, ollama: TwoModels) -> None:
    pg = postgres.shared()
    given = {"HOLDFAST_STORE": pg.url, "HOLDFAST_TENANT": str(tmp_path)}
    texts = [f"Buoy {number} carries a green light." for number in range(5)]
    async with living(tmp_path / "first", ollama, **given) as one:
        notes = [(await keep(one, text)).note.id for text in texts]
        keys = await encode_all(one, *BOTH)
    for model in BOTH:
        assert sum("Buoy" in text for text in ollama.asked_of(model)) == len(texts), model
    ollama.asked.clear()
    async with living(tmp_path / "second", ollama, **given) as other:
        assert await encode_all(other, *BOTH) == keys
        for key in keys.values():
            made = await other.ports.index.read(lambda view, key=key: view.first_vectors(key, notes))
            assert set(made) == set(notes)
    assert not [text for model in BOTH for text in ollama.asked_of(model) if "Buoy" in text]
    assert {key for key, _ in shared_rows(pg.owner, str(tmp_path))} == set(keys.values())


@shared
async def test_a_purge_takes_both_vectors_from_every_server_and_from_the_database(
    tmp_path: Path, ollama: TwoModels
) -> None:
    pg = postgres.shared()
    given = {"HOLDFAST_STORE": pg.url, "HOLDFAST_TENANT": str(tmp_path)}
    async with AsyncExitStack() as stack:
        homes = [tmp_path / "one", tmp_path / "other"]
        one, other = [await stack.enter_async_context(living(home, ollama, **given)) for home in homes]
        crane = (await keep(one, CRANE)).note.id
        await keep(one, FERRY)
        keys = await encode_all(one, *BOTH)
        assert await encode_all(other, *BOTH) == keys
        gone: set[bytes] = set()
        for key in keys.values():
            chunks = await one.ports.index.read(lambda view, key=key: view.first_vectors(key, [crane]))
            gone |= set(chunks.values())
        before = {vector for _, vector in shared_rows(pg.owner, str(tmp_path))}
        assert len(gone) == 2
        assert gone <= before
        await purged(one, crane)
        left = {vector for _, vector in shared_rows(pg.owner, str(tmp_path))}
        assert left
        assert not gone & left
        assert found(await ask(other, "harbour crane")) == []
        for memory in (one, other):
            await encode_all(memory, *BOTH)
        for home in homes:
            assert not gone & vectors_in(home, "index.db", "vectors"), home
    assert holding(tmp_path, gone) == []


@shared
async def test_one_set_is_dropped_from_the_database_and_the_other_stays(tmp_path: Path, ollama: TwoModels) -> None:
    pg = postgres.shared()
    given = {"HOLDFAST_STORE": pg.url, "HOLDFAST_TENANT": str(tmp_path)}
    async with living(tmp_path / "home", ollama, **given) as memory:
        await keep(memory, CRANE)
        keys = await encode_all(memory, *BOTH)
    database = Database(pg.url)
    try:
        await RowVectors(database, tenant_key(str(tmp_path))).drop(keys[SECOND])
    finally:
        await database.aclose()
    assert {key for key, _ in shared_rows(pg.owner, str(tmp_path))} == {keys[MODEL]}
