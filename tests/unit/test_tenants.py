"""A memory for each principal: opened on demand, a bounded number at a time, closed when idle, none in another's."""

from __future__ import annotations

import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import anyio
import pytest
import structlog
from anyio.abc import TaskStatus

import holdfast.app
import holdfast.engine.tenants
from holdfast.app import build_memory, build_tenants, tenant_home
from holdfast.engine.admin.gate import MOST_OPEN, Confirmations
from holdfast.engine.agent.browse import recall_node
from holdfast.engine.agent.recall import Recall, recall
from holdfast.engine.agent.remember import Remember, remember
from holdfast.engine.ports import Caller, Ports
from holdfast.engine.runtime import Memory
from holdfast.engine.tenants import Tenants
from holdfast.errors import InvalidArgumentError, MemoryNotFoundError, ServerBusyError, SettingsError, StorageError
from holdfast.settings import Settings, load_settings
from worlds import WordBag, until

pytestmark = pytest.mark.anyio

WHO: ContextVar[str] = ContextVar("who")


def settings_of(home: Path, **more: str) -> Settings:
    return load_settings(
        {"HOLDFAST_HOME": str(home), "HOLDFAST_ENCODER": "none", "HOLDFAST_TENANCY": "user",
         "HOLDFAST_AUTH_TOKENS": '[{"token": "t", "client_id": "anna", "scopes": ["memory:read"]}]',
         **{f"HOLDFAST_{name.upper()}": value for name, value in more.items()}}
    )  # fmt: skip


@asynccontextmanager
async def tenants_in(home: Path, **more: str) -> AsyncIterator[Tenants]:
    tenants = build_tenants(settings_of(home, **more), WHO.get)
    async with tenants.running():
        yield tenants


@contextmanager
def asking(principal: str) -> Iterator[Caller]:
    token = WHO.set(principal)
    try:
        yield Caller(None, "a test", "pytest", principal)
    finally:
        WHO.reset(token)


async def store(tenants: Tenants, principal: str, content: str) -> str:
    with asking(principal) as who:
        outcome = await tenants.attend(lambda ports: remember(ports, who, Remember(content)), anew=True)
    return str(getattr(outcome, "note").id)  # noqa: B009 - one of several outcomes


async def contents(tenants: Tenants, principal: str, query: str) -> list[str]:
    with asking(principal) as who:
        answer = await tenants.attend(lambda ports: recall(ports, who, Recall(query)))
    return [hit.note.content for hit in answer.hits]


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


async def test_each_principal_has_a_folder_of_its_own_and_finds_what_is_in_it_alone(tmp_path: Path) -> None:
    async with tenants_in(tmp_path) as tenants:
        kept = await store(tenants, "anna", "The crane lifts forty tonnes.")
        await store(tenants, "bert", "The crane is out of order.")
        assert await contents(tenants, "anna", "crane") == ["The crane lifts forty tonnes."]
        assert await contents(tenants, "bert", "crane") == ["The crane is out of order."]
        assert await contents(tenants, "carl", "crane") == []
        for given in (kept, kept[:14]):
            with asking("bert"), pytest.raises(MemoryNotFoundError):
                await tenants.attend(lambda ports, given=given: recall_node(ports, given))  # type: ignore[misc]
    assert names_in(tmp_path) == {"tenants"}
    assert len(list((tmp_path / "tenants").glob("*/memories/global/the-crane*.md"))) == 2


@pytest.mark.parametrize(
    "principal", ["../../etc", "/etc/passwd", "", "..", "a/../b", "NUL", "con.", "x" * 5000, "\0", "é", "e\u0301"]
)
def test_no_name_of_a_principal_leads_out_of_the_folder_of_all(tmp_path: Path, principal: str) -> None:
    home = tenant_home(tmp_path, principal)
    assert home.parent == tmp_path / "tenants"
    assert home.name.isalnum()
    assert len(home.name) == 32


def test_names_that_look_alike_are_different_principals(tmp_path: Path) -> None:
    names = ("é", "e\u0301", "anna", "Anna", "anna ", "anna/", "an\0na")
    assert len({tenant_home(tmp_path, name) for name in names}) == len(names)


def test_a_memory_of_everybody_is_refused_where_each_is_to_have_its_own(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="HOLDFAST_TENANCY"):
        build_memory(settings_of(tmp_path))
    with pytest.raises(SettingsError, match="authentication"):
        build_tenants(settings_of(tmp_path, auth_tokens="[]"))


async def test_the_memory_that_was_used_longest_ago_gives_way_to_another(tmp_path: Path) -> None:
    async with tenants_in(tmp_path, tenants_open="2") as tenants:
        for principal in ("anna", "bert", "anna", "carl"):
            await store(tenants, principal, f"The crane of {principal}.")
            assert tenants.count <= 2
        async with tenants.glance("anna") as anna, tenants.glance("bert") as bert, tenants.glance("carl") as carl:
            assert anna is not None
            assert bert is None
            assert carl is not None
        assert await contents(tenants, "bert", "crane") == ["The crane of bert."]


async def test_when_all_memories_are_in_use_a_request_waits_a_while_and_is_told_so(tmp_path: Path) -> None:
    done = anyio.Event()

    async def use(*, task_status: TaskStatus[None]) -> None:
        async with tenants.lease("anna"):
            task_status.started()
            await done.wait()

    async with tenants_in(tmp_path, tenants_open="1") as tenants, anyio.create_task_group() as tasks:
        await tasks.start(use)
        with patch.object(holdfast.engine.tenants, "PATIENCE_SECONDS", 0.05), pytest.raises(ServerBusyError):
            await store(tenants, "bert", "The crane.")
        assert names_in(tmp_path) == set()
        tasks.start_soon(store, tenants, "bert", "The crane.")
        await anyio.wait_all_tasks_blocked()
        done.set()
    async with tenants_in(tmp_path) as tenants:
        assert await contents(tenants, "bert", "crane") == ["The crane."]


async def test_a_memory_that_nobody_uses_is_closed_and_opened_again_when_asked(tmp_path: Path) -> None:
    tenants = build_tenants(settings_of(tmp_path), WHO.get)
    tenants._idle_seconds = 0.2
    async with tenants.running():
        await store(tenants, "anna", "The crane lifts forty tonnes.")
        await until(lambda: tenants.count == 0)
        assert await contents(tenants, "anna", "crane") == ["The crane lifts forty tonnes."]


class ByHand:
    """anyio, but for a clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def current_time(self) -> float:
        return self.now

    def __getattr__(self, name: str) -> Any:
        return getattr(anyio, name)


async def test_who_listens_keeps_a_memory_open_until_somebody_else_needs_the_room(tmp_path: Path) -> None:
    tenants = build_tenants(settings_of(tmp_path, tenants_open="1"), WHO.get)
    tenants._idle_seconds = 0.2
    loop = ByHand()
    with patch.object(holdfast.engine.tenants, "anyio", loop):
        async with tenants.running():
            await store(tenants, "anna", "The crane.")
            for _ in range(10):
                loop.now += 0.15  # less than what is idle
                async with tenants.glance("anna") as memory:
                    assert memory is not None
                await anyio.sleep(0.1)  # for a look or two at what is idle
            await store(tenants, "bert", "The crane.")
            async with tenants.glance("anna") as memory:
                assert memory is None


async def test_many_principals_in_few_places_lose_nothing_and_see_nothing_of_each_other(tmp_path: Path) -> None:
    names = [f"principal {number}" for number in range(7)]

    async def work(name: str) -> None:
        for number in range(4):
            await store(tenants, name, f"Crane {number} of {name}.")
            assert all(name in text for text in await contents(tenants, name, "crane"))

    async with tenants_in(tmp_path, tenants_open="2") as tenants:
        async with anyio.create_task_group() as tasks:
            for name in names:
                tasks.start_soon(work, name)
        for name in names:
            assert len(await contents(tenants, name, "crane")) == 4
    for name in names:
        assert len(list((tenant_home(tmp_path, name) / "memories").rglob("crane-*.md"))) == 4


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
async def test_memories_that_come_and_go_leave_no_thread_and_no_file_open(tmp_path: Path) -> None:
    def held() -> tuple[int, int]:
        """Threads, those aside that a process keeps for whoever needs one, and files."""
        threads = [thread for thread in threading.enumerate() if not thread.name.startswith("AnyIO worker")]
        return len(threads), len(list(Path("/proc/self/fd").iterdir()))

    async with tenants_in(tmp_path, tenants_open="1") as tenants:
        seen: list[tuple[int, int]] = []
        for number in range(8):
            for principal in ("anna", "bert"):
                await store(tenants, principal, f"Crane {number}.")
            async with tenants.lease("carl"):
                seen.append(held())
        async with tenants.lease("carl"):  # a thread that was told to end may take a moment
            await until(lambda: all(now <= then + 2 for now, then in zip(held(), min(seen[2:4]), strict=True)))


async def test_what_fails_behind_one_memory_ends_no_other(tmp_path: Path) -> None:
    now = anyio.Event()

    async def fail(*_: Any) -> None:
        await now.wait()
        raise AssertionError("made up")

    async with tenants_in(tmp_path) as tenants:
        await store(tenants, "anna", "The crane of Anna.")
        with structlog.testing.capture_logs() as logs, patch.object(Memory, "_tend", fail):
            await store(tenants, "bert", "The crane of Bert.")
            async with tenants.lease("bert") as memory:
                now.set()
                await until(lambda: tenants.count == 1)
                with pytest.raises(StorageError):
                    await memory.attend(_nothing)
        [told] = [line for line in logs if line["log_level"] != "debug"]
        assert (told["event"], told["error"]) == ("tenant_failed", "AssertionError")
        assert "exc_info" not in told  # with which the words would be logged
        assert told["at"].rpartition(" > ")[2].startswith("test_tenants.py:")
        for name in ("Anna", "Bert"):
            assert await contents(tenants, name.lower(), "crane") == [f"The crane of {name}."]


async def _nothing(_ports: Ports) -> None:
    """A request that needs nothing but a memory."""


async def test_all_memories_share_one_encoder_which_outlives_each_of_them(tmp_path: Path) -> None:
    closed: list[int] = []

    class Bag(WordBag):
        async def aclose(self) -> None:
            closed.append(1)

    with patch.object(holdfast.app, "_provider", lambda _: Bag(quay="crane")):
        async with tenants_in(tmp_path, tenants_open="1", encoder="builtin") as tenants:
            await store(tenants, "anna", "The crane lifts forty tonnes.")
            await store(tenants, "bert", "The quay is long.")
            assert closed == []
            with asking("anna") as who:
                answer = await tenants.attend(lambda ports: recall(ports, who, Recall("quay", explain=True)))
            assert answer.notices == ()
        assert closed == [1]


async def test_nobody_opens_a_memory_of_a_server_that_stops(tmp_path: Path) -> None:
    async with tenants_in(tmp_path) as tenants:
        await store(tenants, "anna", "The crane.")
        await tenants.stop()
        for principal in ("anna", "bert"):
            with pytest.raises(StorageError):
                await store(tenants, principal, "The crane.")


def test_no_principal_crowds_out_or_uses_up_the_confirm_tokens_of_another() -> None:
    tokens, now = Confirmations(), datetime.now(UTC)
    hers = tokens.give(("anna", "admin_purge"), now)
    for _ in range(2 * MOST_OPEN):
        tokens.give(("bert", "admin_purge"), now)
    with pytest.raises(InvalidArgumentError):
        tokens.take(hers, ("bert", "admin_purge"), now)
    tokens.take(hers, ("anna", "admin_purge"), now)
    with pytest.raises(InvalidArgumentError):
        tokens.take(hers, ("anna", "admin_purge"), now)
