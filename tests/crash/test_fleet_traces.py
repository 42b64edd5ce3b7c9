"""What a server derives from a database on its own disk: nothing of it outlives a purge, and all are scored alike."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import anyio
import psycopg
import pytest

import postgres
from holdfast.app import build_memory, build_tenants, tenant_home
from holdfast.engine.jobs import daily
from holdfast.engine.jobs.daily import JOBS, JobRunner
from holdfast.engine.runtime import Memory
from holdfast.errors import StorageError
from holdfast.index.projection import text_to_encode
from holdfast.model.access import tenant_key
from holdfast.settings import load_settings
from holdfast.store import upkeep
from holdfast.store.rows.database import Database
from holdfast.store.rows.shared import RowVectors
from holdfast.store.rows.upkeep import JOBS as JOBS_TURN
from holdfast.store.rows.upkeep import LEASE, Lease
from worlds import ask, found, keep, purged

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not postgres.is_there(), reason=postgres.MISSING)]

SECRET = "The lamp room is behind the third door."  # noqa: S105 - it is a note


@asynccontextmanager
async def server(home: Path, tenant: str, encoder: str = "none") -> AsyncIterator[Memory]:
    """A server with a disk of its own."""
    given = {"HOLDFAST_HOME": str(home), "HOLDFAST_STORE": postgres.shared().url, "HOLDFAST_TENANT": tenant}
    memory = build_memory(load_settings(given | {"HOLDFAST_ENCODER": encoder}))
    async with memory.running():
        yield memory


async def traces_of(memory: Memory, note: str) -> list[bytes]:
    """The vector of a note, and the hash by which the cache knows what it was made from."""
    await memory.catch_up()
    assert memory.ports.encoder is not None
    key = memory.ports.encoder.vector_set.key
    kept = (await memory.ports.index.notes([note]))[note].note
    vectors = await memory.ports.index.read(lambda view: view.first_vectors(key, [note]))
    return [vectors[note], sha256(text_to_encode(kept.title, kept.content).encode()).hexdigest().encode()]


def files_with(folder: Path, traces: list[bytes]) -> set[str]:
    return {
        path.name
        for path in folder.rglob("*")
        if path.is_file() and any(trace in path.read_bytes() for trace in (*traces, b"lamp room"))
    }


async def test_a_purge_takes_the_vector_from_the_disk_of_every_server_that_runs(tmp_path: Path) -> None:
    tenant, one_home, other_home = str(tmp_path), tmp_path / "one", tmp_path / "other"
    async with server(one_home, tenant, "builtin") as one, server(other_home, tenant, "builtin") as other:
        note = (await keep(one, SECRET)).note.id
        await keep(one, "The tide gauge is read at noon.")
        assert SECRET in found(await ask(other, "lamp room"))
        traces = await traces_of(other, note)
        assert any(name.startswith("encodings.db") for name in files_with(other_home, traces))
        await purged(one, note)
        assert SECRET not in found(await ask(other, "lamp room"))
        for home in (one_home, other_home):
            assert not files_with(home, traces)
        await other.catch_up()  # what was taken away with it is had again
        assert "The tide gauge is read at noon." in found(await ask(other, "when is the level of the water noted"))
    with psycopg.connect(postgres.shared().owner, autocommit=True) as connection:
        rows = connection.execute("SELECT vector FROM holdfast.encodings WHERE tenant = %s", (tenant_key(tenant),))
        assert traces[0] not in [bytes(vector) for (vector,) in rows]


async def test_a_server_that_was_away_while_a_note_was_purged_has_nothing_of_it_when_it_is_back(tmp_path: Path) -> None:
    tenant, away = str(tmp_path), tmp_path / "away"
    async with server(tmp_path / "one", tenant, "builtin") as one:
        note = (await keep(one, SECRET)).note.id
        await keep(one, "The tide gauge is read at noon.")
        async with server(away, tenant, "builtin") as other:
            await ask(other, "lamp room")
            traces = await traces_of(other, note)
        assert files_with(away, traces)
        await purged(one, note)
    async with server(away, tenant, "builtin") as other:
        assert found(await ask(other, "tide gauge")) == ["The tide gauge is read at noon."]
        assert not files_with(away, traces)


async def test_a_server_that_ends_before_it_heard_of_a_purge_hears_of_it_when_it_is_back(tmp_path: Path) -> None:
    tenant, idle = str(tmp_path), tmp_path / "idle"
    async with server(tmp_path / "one", tenant, "builtin") as one:
        note = (await keep(one, SECRET)).note.id
        async with server(idle, tenant, "builtin") as other:
            await ask(other, "lamp room")
            traces = await traces_of(other, note)
            await purged(one, note)
            await other._reconciler.tend()  # what it does when nobody asks
    async with server(idle, tenant, "builtin") as other:
        assert not found(await ask(other, "lamp room"))
        assert not files_with(idle, traces)


def encoded_texts(tenant: str) -> set[str]:
    with psycopg.connect(postgres.shared().owner, autocommit=True) as connection:
        rows = connection.execute("SELECT content FROM holdfast.encodings WHERE tenant = %s", (tenant_key(tenant),))
        return {content for (content,) in rows}


def hash_of(text: str) -> str:
    return sha256(text.encode()).hexdigest()


async def test_what_another_server_shares_while_a_note_is_purged_goes_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tenant = str(tmp_path)
    vectors = RowVectors(Database(postgres.shared().url), tenant_key(tenant))
    async with server(tmp_path / "one", tenant) as one:
        note = (await keep(one, SECRET)).note.id
        forget = one.ports.forget

        async def forget_and_hear_of_it_again(texts: Sequence[str]) -> None:
            await forget(texts)
            await vectors.keep("a set", {hash_of(text): [b"vector"] for text in texts})

        monkeypatch.setattr(one, "ports", replace(one.ports, forget=forget_and_hear_of_it_again))
        await purged(one, note)
    assert encoded_texts(tenant) == set()
    await vectors._database.aclose()


async def test_vectors_of_texts_that_no_note_has_go_with_the_daily_jobs_and_all_others_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daily, "VECTORS", 2)  # so that it takes several slices
    monkeypatch.setattr(daily, "_PAUSE_SECONDS", 0.0)
    tenant = str(tmp_path)
    async with server(tmp_path / "one", tenant, "builtin") as one:
        for number in range(3):
            await keep(one, f"Bollard {number} is loose.")
        await one.catch_up()
        needed = encoded_texts(tenant)
        assert hash_of("Bollard 2 is loose.") in needed
        unneeded = {hash_of(f"Bollard {number} was painted.") for number in range(5)}
        shared = RowVectors(Database(postgres.shared().url), tenant_key(tenant))
        for vector_set in ("a set", "of another model"):
            await shared.keep(vector_set, {content: [b"one", b"two"] for content in unneeded})
        await shared._database.aclose()
        first = one.ports.upkeep
        assert first is not None
        async with first.turn() as mine:
            assert mine
            assert await daily.retire_logs(daily.JobContext(one)) >= len(unneeded)
        assert encoded_texts(tenant) == needed
        assert await daily.retire_logs(daily.JobContext(one)) == 0
        lost = LEASE.set(Lease(JOBS_TURN, "one that was taken for dead", 0))
        with pytest.raises(StorageError, match="Another server has taken over"):
            await first.drop_encoded([(vector_set, content) for content in needed])
        LEASE.reset(lost)
        assert encoded_texts(tenant) == needed


async def test_every_server_has_the_importance_that_a_daily_job_found_and_has_it_again_in_a_new_index(
    tmp_path: Path,
) -> None:
    tenant = str(tmp_path)

    async def scores(memory: Memory) -> dict[str, float | None]:
        rows = await memory.peek(lambda ports: ports.index.read(lambda view: view.living(0, 1000, ("working",))))
        return {row.id: row.importance for row in rows}

    async with server(tmp_path / "one", tenant) as one, server(tmp_path / "other", tenant) as other:
        said = ("Beacon paint is green.", "Customs are paid on Fridays.", "Eel traps are forbidden here.")
        notes = [(await keep(one, text)).note.id for text in said]
        await keep(one, "Pots of it stand in the shed.", links=((notes[0], "supports"),))
        await ask(other, "beacon")
        await JobRunner(one, JOBS)._do(JOBS[0])
        told = await scores(one)
        assert set(notes) < told.keys()
        assert None not in told.values()
        assert len(set(told.values())) > 1
        assert set((await scores(other)).values()) == {None}
        keeper = JobRunner(other, JOBS)
        await keeper.derive()
        assert await scores(other) == told
        await other.ports.index.erase()
        assert set((await scores(other)).values()) == {None}
        await keeper.derive()
        assert await scores(other) == told


async def test_of_principals_with_indexes_on_one_disk_the_least_recently_used_go_and_are_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "LOOK_SECONDS", 0.05)
    given = {
        "HOLDFAST_HOME": str(tmp_path), "HOLDFAST_STORE": postgres.shared().url, "HOLDFAST_TENANCY": "user",
        "HOLDFAST_AUTH_TOKENS": json.dumps([{"token": "t" * 32, "client_id": "x", "scopes": ["memory:read"]}]),
        "HOLDFAST_ENCODER": "none",
    }  # fmt: skip
    settings = replace(load_settings(given), local_gib=0)  # so that every index is too much
    tenants = build_tenants(settings)
    names = [f"{tmp_path} {number}" for number in range(3)]

    def there() -> set[str]:
        return {name for name in names if (tenant_home(settings.home, name) / ".holdfast" / "index.db").exists()}

    async with tenants.running():
        for name in names:
            async with tenants.lease(name) as memory:
                await keep(memory, f"The mooring of {name} is paid.")
                assert name in there()
        async with tenants.lease(names[0]) as memory:
            with anyio.fail_after(postgres.PATIENCE):
                while there() - {names[0]}:  # noqa: ASYNC110 - the background does it
                    await anyio.sleep(0.05)
            assert found(await ask(memory, "mooring paid")) == [f"The mooring of {names[0]} is paid."]
        for name in reversed(names):
            async with tenants.lease(name) as memory:
                assert found(await ask(memory, "mooring paid")) == [f"The mooring of {name} is paid."]
