"""What an administrator sees: counts, health, jobs, quarantine, settings and tools; and vectors made anew."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import anyio
import jsonschema
import pytest
from fastmcp import Client

import holdfast.engine.jobs.daily
import holdfast.engine.runtime
from holdfast.app import build_memory, build_server, build_servers
from holdfast.encode.provider import VectorSet
from holdfast.errors import EncoderError, StorageError
from holdfast.settings import SETTINGS, load_settings
from holdfast.tools.agent import ServedMemory
from holdfast.tools.resources import Subscriptions
from served import journal_in
from worlds import WordBag

pytestmark = pytest.mark.anyio

KEY = "sk-" + "very-secret-0123456789"


class Bag(WordBag):
    """Counts what it encodes, and can be told to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.encoded = 0
        self.free = anyio.Event()
        self.free.set()

    async def encode_documents(self, texts: Any) -> list[list[bytes]]:
        await self.free.wait()
        self.encoded += len(texts)
        return await super().encode_documents(texts)

    async def forget(self) -> None:
        """Nothing is kept."""


class Unreached(Bag):
    """Of another model, and has not told yet what it is."""

    told = anyio.Event()

    @property
    def vector_set(self) -> VectorSet:
        if not self.told.is_set():
            raise EncoderError("The provider has not answered yet.")
        return replace(super().vector_set, model="another bag")

    async def identify(self) -> VectorSet:
        await self.told.wait()
        return self.vector_set


class Admin:
    def __init__(self, client: Client[Any], home: Path, bag: Bag) -> None:
        self.client, self.home, self.bag = client, home, bag

    async def look(self, name: str) -> Any:
        [content] = await self.client.read_resource(f"admin://{name}")
        assert content.mime_type == "application/json"
        return json.loads(content.text)

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = await self.client.call_tool_mcp(tool, arguments)
        assert not result.is_error, result.content
        schema = next(each.output_schema for each in await self.client.list_tools() if each.name == tool)
        jsonschema.Draft202012Validator(schema).validate(result.structured_content)
        return dict(result.structured_content or {})


@asynccontextmanager
async def behind_the_gate(home: Path, era: str, kind: type[Bag] = Bag, **environment: str) -> AsyncIterator[Admin]:
    settings = load_settings({"HOLDFAST_HOME": str(home), "HOLDFAST_ENCODER": "openai", **environment})
    bag = kind()
    with (
        patch("holdfast.app._provider", lambda _: object()),
        patch("holdfast.app.CachedEncoder", lambda *_: bag),
    ):
        memory = build_memory(settings)
    async with memory.running(), Client(build_server(settings, memory, admin=True), mode=era) as client:
        yield Admin(client, home, bag)


@pytest.fixture
async def admin(anyio_backend: str, era: str, tmp_path: Path) -> AsyncIterator[Admin]:
    async with behind_the_gate(tmp_path / "home", era) as asking:
        yield asking


@pytest.fixture
def at_once() -> Iterator[None]:
    """What waits for a vector is not left alone in the first second."""
    with patch.object(holdfast.engine.runtime, "START_SECONDS", 0.0):
        yield


@pytest.mark.files("it counts the bytes of folders")
async def test_stats_count_what_is_there(admin: Admin) -> None:
    crane = (await admin.call("remember", content="The crane lifts forty tonnes.", space="harbour"))["id"]
    await admin.call("remember", content="Use tabs.", type="preference", tier="core", space="global")
    await admin.call("remember", content="It lifts fifty.", supersedes=[crane], space="harbour")
    await admin.call("recall_node", node_id=crane)
    stats = await admin.look("stats")
    assert (stats["notes"], stats["retired"], stats["uses"]) == (4, 1, 1)  # one is Self
    assert stats["by_type"] == {"fact": 1, "person": 1, "preference": 1}
    assert stats["by_tier"] == {"core": 2, "working": 1}
    assert stats["by_space"] == {"global": 2, "harbour": 1}
    assert stats["links"]["evolved_from"] == 1
    assert sum(stats["vectors"].values()) == 4
    assert stats["bytes"]["memories"] > 500
    assert stats["bytes"]["journal"] > 500
    assert stats["maintenance"] == {"last": None, "notes_since": 3}


async def test_health_counts_what_waits_for_a_model_that_has_not_told_what_it_is(era: str, tmp_path: Path) -> None:
    async with behind_the_gate(tmp_path, era) as admin:
        await admin.call("remember", content="The crane lifts forty tonnes.")
        assert (await admin.look("health"))["pending_vectors"] == 0
    Unreached.told = anyio.Event()
    with patch("holdfast.engine.encoding.BRIEF_SECONDS", 0.05):
        async with behind_the_gate(tmp_path, era, Unreached) as admin:
            admin.bag.free = anyio.Event()
            health = await admin.look("health")
            assert (health["pending_vectors"], health["encoder"]["state"]) == (2, "not reached yet")
            Unreached.told.set()
            assert (await admin.look("health"))["pending_vectors"] == 2
            admin.bag.free.set()
            with anyio.fail_after(30):
                while (await admin.look("health"))["pending_vectors"]:  # noqa: ASYNC110 - it is about the disk
                    await anyio.sleep(0.02)


async def test_health_counts_the_vectors_in_memory_against_those_in_the_database(admin: Admin) -> None:
    before = (await admin.look("health"))["vectors_in_memory"]
    assert (before["in_memory"], "none to count" in before["said"]) == (None, True)
    await admin.call("remember", content="The crane lifts forty tonnes.")
    await admin.call("recall", query="what lifts?")
    health = await admin.look("health")
    assert health["ok"]
    assert health["vectors_in_memory"] == {
        "in_memory": 2, "in_database": 2, "said": "This process compares 2 of the 2 vectors in the database."
    }  # fmt: skip
    with patch("holdfast.index.search.vectors.VectorTable.count", 1):
        health = await admin.look("health")
    assert not health["ok"]
    assert "1 of the 2 vectors" in health["vectors_in_memory"]["said"]
    assert "restart this server" in health["vectors_in_memory"]["said"]


@pytest.mark.files("it writes files by hand")
async def test_health_tells_what_waits_and_by_which_ways_it_works(admin: Admin) -> None:
    admin.bag.free = anyio.Event()
    with patch("holdfast.engine.encoding.PATIENCE_SECONDS", 0.05):
        await admin.call("remember", content="The crane lifts forty tonnes.")
    health = await admin.look("health")
    assert health["pending_vectors"] == 2
    assert health["encoder"] == {"state": "known", "provider": "test", "model": "word bag", "dimension": 256}
    assert health["sqlite_vec"] in {"official", "ctypes", "numpy"}
    assert health["watcher"] in {"kernel", "scan"}
    assert health["disk_free_bytes"] > 0
    assert (health["ok"], health["quarantined"]) == (True, 0)
    admin.bag.free.set()
    (admin.home / "memories" / "bad.md").write_bytes(b"---\nid: [\n---\n\0")
    health = await admin.look("health")
    assert (health["ok"], health["quarantined"]) == (False, 1)
    [bad] = await admin.look("quarantine")
    assert bad["path"] == "memories/bad.md"
    assert bad["reason"]


@pytest.mark.files("a line of the journal's file is harmed")
async def test_health_tells_where_the_journal_is_damaged(admin: Admin) -> None:
    for number in range(3):
        await admin.call("remember", content=f"The crane lifts {number} tonnes.")
    assert (await admin.look("health"))["damaged_journal_lines"] == 0
    [month] = (admin.home / "journal").iterdir()
    lines = month.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1][:40] + b"?" + lines[1][41:]
    month.write_bytes(b"".join(lines))
    for part in (admin.home / ".holdfast").glob("index.db*"):
        part.unlink()
    health = await admin.look("health")
    assert (health["ok"], health["damaged_journal_lines"]) == (False, 1)
    assert health["damaged_journal_places"] == [f"journal/{month.name} line 2"]
    assert "backup" in health["damaged_journal_remedy"]


async def when_all_have_run(admin: Admin) -> dict[str, dict[str, Any]]:
    with anyio.fail_after(30):
        while not (jobs := {job["name"]: job for job in (await admin.look("jobs"))["jobs"]})["retention"]["run_count"]:  # noqa: ASYNC110
            await anyio.sleep(0.02)
    return jobs


async def test_jobs_tell_when_each_ran_and_is_due(era: str, tmp_path: Path) -> None:
    with patch.multiple(holdfast.engine.jobs.daily, START_SECONDS=0.0, LOOK_SECONDS=0.02):
        async with behind_the_gate(tmp_path / "home", era) as admin:
            await admin.call("remember", content="The crane lifts forty tonnes.")
            jobs = await when_all_have_run(admin)
            decay = jobs["decay"]
            assert (decay["run_count"], decay["last_error"], decay["changed"]) == (1, None, 0)
            assert decay["last_run"] == decay["last_success"] < decay["next_due"]
            assert decay["duration_ms"] >= 0
            assert jobs["importance"]["changed"] == 1
            assert jobs["forgetting"]["next_due"] is None
            assert jobs["vault"]["run_count"] == 0
            [made] = (await admin.look("jobs"))["vector_sets"]
            assert (made["model"], made["notes"], made["wanted"]) == ("word bag", 2, True)


async def test_a_job_that_fails_says_so_and_the_others_go_on(era: str, tmp_path: Path) -> None:
    with patch.multiple(holdfast.engine.jobs.daily, START_SECONDS=0.0, LOOK_SECONDS=0.02):
        async with behind_the_gate(tmp_path / "home", era) as admin:
            with patch("holdfast.index.view.IndexView.surplus_core", side_effect=OSError("no such luck")):
                await admin.call("remember", content="The crane lifts forty tonnes.")
                jobs = await when_all_have_run(admin)
            assert jobs["core_cap"]["last_error"].startswith("OSError")
            assert jobs["core_cap"]["last_success"] is None
            assert jobs["core_cap"]["run_count"] == 1
            assert jobs["auto_cluster"]["last_success"]


async def test_config_shows_every_setting_and_no_secret(era: str, tmp_path: Path) -> None:
    secrets = {
        "OPENAI_API_KEY": KEY,
        "HOLDFAST_ENCODER_KEY": KEY,
        "HOLDFAST_ENCODER_URL": f"https://user:{KEY}@models.example/v1",
        "OLLAMA_HOST": f"http://:{KEY}@localhost",
    }
    async with behind_the_gate(tmp_path / "home", era, **secrets) as admin:
        config = await admin.look("config")
    assert KEY not in json.dumps(config)
    assert {setting.variable for setting in SETTINGS} <= set(config)
    assert config["HOLDFAST_ENCODER_KEY"] == "***"
    assert config["HOLDFAST_ENCODER_URL"] == "https://***@models.example/v1"
    assert config["keys"] == {"NIM_API_KEY": "", "OPENAI_API_KEY": "***"}
    assert config["HOLDFAST_FORGETTING"] is False


async def test_tools_are_told_with_sizes_and_hints(admin: Admin) -> None:
    told = {tool["name"]: tool for tool in await admin.look("tools")}
    assert set(told) == {tool.name for tool in await admin.client.list_tools()}
    assert told["recall"]["annotations"]["readOnlyHint"] is True
    assert 500 < told["recall"]["characters"] < told["recall"]["with_output_schema"]
    assert "admin_reencode" in told


async def test_all_vectors_are_made_anew_and_whoever_waits_hears_how_far_it_is(at_once: None, admin: Admin) -> None:
    for number in range(3):
        await admin.call("remember", content=f"Crane {number} is by the quay.")
    before = admin.bag.encoded
    heard: list[tuple[float, float | None]] = []

    async def hear(done: float, total: float | None, _message: str | None) -> None:
        heard.append((done, total))

    result = await admin.client.call_tool("admin_reencode", progress_handler=hear)
    assert result.structured_content == {
        "vector_set": WordBag.vector_set.key, "model": "word bag", "notes": 4, "encoded": 4, "finished": True,
    }  # fmt: skip
    assert "4 of 4 notes" in result.content[0].text
    assert admin.bag.encoded - before >= 4
    assert (heard[0], heard[-1]) == ((0, 4), (4, 4))
    assert [line["by"] for line in journal_in(admin.home) if line.get("admin") == "admin_reencode"] == ["local"]


async def test_meanwhile_the_old_vectors_answer_and_who_does_not_wait_is_told_how_many_wait(
    at_once: None, admin: Admin
) -> None:
    await admin.call("remember", content="Crane one is by the quay.")
    admin.bag.free = anyio.Event()
    with patch("holdfast.engine.admin.health.LONGEST_SECONDS", 0.1):  # this client always asks for progress
        begun = await admin.call("admin_reencode")
    assert (begun["notes"], begun["encoded"], begun["finished"]) == (2, 0, False)
    found = await admin.call("recall", query="Where is crane one?")
    assert "meaning" in found["results"][0]["why"]
    assert not [notice for notice in found["notices"] if "no vector" in notice]
    assert (await admin.look("health"))["pending_vectors"] == 2
    admin.bag.free.set()
    with anyio.fail_after(30):
        while (await admin.look("health"))["pending_vectors"]:  # noqa: ASYNC110 - it is about the disk
            await anyio.sleep(0.02)


async def test_without_an_encoder_nothing_can_be_made_anew(era: str, tmp_path: Path) -> None:
    settings = load_settings({"HOLDFAST_HOME": str(tmp_path / "home"), "HOLDFAST_ENCODER": "none"})
    memory = build_memory(settings)
    async with memory.running(), Client(build_server(settings, memory, admin=True), mode=era) as client:
        result = await client.call_tool_mcp("admin_reencode", {})
        assert result.is_error
        assert str(result.content[0].text).startswith("EncoderError")


async def test_what_is_only_watched_was_read_by_nobody(tmp_path: Path, anyio_backend: str) -> None:
    """Else each look would change the bytes that are looked at, and the journal would grow for ever."""
    settings = load_settings({"HOLDFAST_HOME": str(tmp_path), "HOLDFAST_ENCODER": "none"})
    memory = build_memory(settings)
    servers = build_servers(settings, memory, admin=True)
    watching = Subscriptions(ServedMemory(memory, None, "", guarded=False, settings=settings), servers.admin)
    async with memory.running(), Client(servers.main, mode="legacy") as client:
        await client.read_resource("admin://jobs")
        versions = {await watching._admin_version("admin://stats") for _ in range(3)}
    assert len(versions) == 1
    assert [line["op"] for line in journal_in(tmp_path) if "admin_read" in str(line)] == ["admin_read_jobs"]


async def test_a_look_is_shown_though_the_journal_cannot_be_told_of_it(admin: Admin) -> None:
    await admin.call("remember", content="The crane lifts forty tonnes.")
    with patch("holdfast.store.notes.NoteFiles.record", side_effect=StorageError("The disk is full.")):
        assert (await admin.look("health"))["ok"] is True
    for _ in range(2):
        await admin.look("health")
    assert [line["op"] for line in journal_in(admin.home) if "admin_read" in str(line)] == ["admin_read_health"]
