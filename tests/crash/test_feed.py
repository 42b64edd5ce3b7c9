"""Those who listen through a server of a database: it asks once for all of them, and for memories that gave way too."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ResourceUpdated

import postgres
import sent
from holdfast.engine.agent.feedback import MarkOutdated, mark_outdated
from holdfast.model.access import tenant_key
from holdfast.store.rows.database import Database
from holdfast.store.rows.shared import TOGETHER, RowFeed
from processes import PATIENCE, environment_in, http
from tables import server
from worlds import CALLER, keep

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not postgres.is_there(), reason=postgres.MISSING)]


def token_of(name: str) -> str:
    return f"{name}-has-a-token-that-nobody-guesses"


def environment(tmp_path: Path, pg: postgres.Postgres, names: list[str], opened: int) -> dict[str, str]:
    tokens = [{"token": token_of(name), "client_id": name, "scopes": ["memory:read"]} for name in names]
    return environment_in(tmp_path) | {
        "HOLDFAST_STORE": pg.url,
        "HOLDFAST_TENANCY": "user",
        "HOLDFAST_AUTH_TOKENS": json.dumps(tokens),
        "HOLDFAST_TENANTS_OPEN": str(opened),
        "HOLDFAST_JOBS": "false",
    }


@asynccontextmanager
async def client_of(port: int, name: str) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token_of(name)}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as web,
        Client(streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=web)) as client,
    ):
        yield client


@asynccontextmanager
async def listening(port: int, name: str, uri: str) -> AsyncIterator[list[str]]:
    """What a principal hears of a resource while the block lasts."""
    heard: list[str] = []

    async def hear(changes: Any) -> None:
        async for change in changes:
            heard.extend([str(change.uri)] if isinstance(change, ResourceUpdated) else [])

    async with (
        client_of(port, name) as client,
        client.listen(resource_subscriptions=[uri]) as changes,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(hear, changes)
        yield heard
        tasks.cancel_scope.cancel()


async def test_who_listens_to_a_memory_that_gave_way_to_another_hears_what_changes_there(tmp_path: Path) -> None:
    pg, anna, bert = postgres.shared(), f"anna {tmp_path}", f"bert {tmp_path}"
    async with server(tmp_path / "elsewhere", pg.url, anna) as hers:
        note = (await keep(hers, "The crane is red.")).note.id
        uri = f"memory://note/{note}"
        (tmp_path / "home").mkdir()
        with http(environment(tmp_path / "home", pg, [anna, bert], 1)) as (_, port):
            async with listening(port, anna, uri) as heard:
                async with client_of(port, bert) as other:  # the one memory that may be open is his now
                    assert not (await other.call_tool("recall", {"query": "crane"})).is_error
                await hers.attend(lambda ports: mark_outdated(ports, CALLER, MarkOutdated(note, "painted")))
                with anyio.fail_after(PATIENCE):
                    while uri not in heard:  # noqa: ASYNC110 - it comes when it comes
                        await anyio.sleep(0.02)


async def test_one_question_is_asked_for_all_to_whom_somebody_listens(tmp_path: Path) -> None:
    names = ["anna", "bert", "carl"]
    with postgres.postgres(*sent.LOGGED) as pg:
        notes = []
        for name in names:
            async with server(tmp_path / name, pg.url, name) as memory:
                notes.append((await keep(memory, "The crane is red.")).note.id)
        with http(environment(tmp_path, pg, names, 3)) as (_, port):
            async with (
                listening(port, names[0], f"memory://note/{notes[0]}"),
                listening(port, names[1], f"memory://note/{notes[1]}"),
                listening(port, names[2], f"memory://note/{notes[2]}"),
            ):
                asked = await _questions(pg, 3)
                begin = len(asked)
                asked = (await _questions(pg, begin + 12))[begin:]
        keys = {tenant_key(name) for name in names}
        polls = [line for line in asked if "holdfast.tenants" in line]
        assert all(key in line for key in keys for line in polls)
        assert len(asked) - len(polls) < len(polls), asked  # each memory by itself was three questions for one


async def _questions(pg: postgres.Postgres, polls: int) -> list[str]:
    """What was asked in one message until so many of them were for all memories."""
    with anyio.fail_after(PATIENCE):
        while True:
            lines = (pg.folder / "log").read_text("utf-8").splitlines()
            found = [line for line in lines if "statement: SET LOCAL holdfast.tenant" in line and "SELECT" in line]
            if sum(line.count("holdfast.tenants") == 3 for line in found) >= polls:
                return found
            await anyio.sleep(0.05)


async def test_the_numbers_of_many_memories_are_each_its_own(tmp_path: Path) -> None:
    pg = postgres.shared()
    names = [f"{tmp_path} {number}" for number in range(2 * TOGETHER + 3)]
    async with server(tmp_path / "one", pg.url, names[1]) as memory:
        await keep(memory, "The crane is red.")
    database = Database(pg.url)
    feed = RowFeed(database, tenant_key)
    first = await feed.numbers(names)  # where no connection is idle
    assert first == dict.fromkeys(names, 0) | {names[1]: first[names[1]]}
    assert first[names[1]] > 0
    async with server(tmp_path / "two", pg.url, names[-1]) as memory:
        await keep(memory, "The buoy is blue.")
    assert await feed.numbers(names) == first | {names[-1]: first[names[1]]}
    await database.aclose()
