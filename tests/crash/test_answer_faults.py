"""Every kind of change on a failing disk: what was answered is held against what is there after a restart."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import anyio
import pytest
from fastmcp import Client

import holdfast.app
from answers import (
    KINDS,
    Given,
    Kind,
    Shape,
    State,
    Told,
    copied,
    difference,
    make_world,
    possible,
    state_of,
    told_of,
    verdict_of,
)
from conftest import Effort
from disks import CHANGING, STEPS, Failing
from holdfast.app import build_memory, build_server
from holdfast.errors import HoldfastError
from holdfast.settings import load_settings
from holdfast.store.codec import content_hash
from holdfast.store.filesystem import FileSystem
from worlds import ask, living

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(900)]
kinds = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)

FAULTS = ((errno.EIO, False), (errno.ENOSPC, False), (errno.EIO, True), (errno.ENOSPC, True))  # and whether it stays


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _handle: None)


@dataclass(frozen=True)
class World:
    """A closed folder, what is in it, and what each kind makes of it on a sound disk."""

    home: Path
    ids: Given
    before: State


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    place = tmp_path_factory.mktemp("answers")

    async def make() -> Given:
        async with serving(place / "home", FileSystem()) as client:

            async def asks(tool: str, /, **arguments: Any) -> Told:
                return told_of(await client.call_tool_mcp(tool, arguments))

            return await make_world(asks, place / "home", place / "source")

    ids = anyio.run(make)
    anyio.run(settled, place / "home")
    return World(place / "home", ids, state_of(place / "home"))


@asynccontextmanager
async def serving(home: Path, files: FileSystem) -> AsyncIterator[Client[Any]]:
    plain = {"HOLDFAST_ENCODER": "none", "HOLDFAST_VAULT_ENABLED": "false", "HOLDFAST_LOG_LEVEL": "error"}
    settings = load_settings({"HOLDFAST_HOME": str(home), "HOLDFAST_SPACE": "harbour", **plain})
    with patch.object(holdfast.app, "FileSystem", lambda: files):
        memory = build_memory(settings)
        async with memory.running(), Client(build_server(settings, memory, admin=True)) as client:
            yield client


async def settled(home: Path) -> None:
    """What a new process makes of the folder; its index agrees with the files."""
    async with living(home) as memory:
        await ask(memory, "harbour")
        known = await memory.ports.index.read(lambda view: view.hashes())
        there = {str(path.relative_to(home / "memories")): path for path in (home / "memories").rglob("*.md")}
        assert {path for _, path, _ in known} == there.keys()
        assert all(content_hash(there[path].read_bytes()) == value for _, path, value in known)
    assert [
        path for path in home.rglob(".*") if path.name != ".holdfast" and not {"vault", "trash"} & set(path.parts)
    ] == []


async def called(home: Path, kind: Kind, ids: Given, files: FileSystem) -> Told:
    """One call on a disk that begins to fail with it, and is healed when it has been answered."""
    told: Told | None = None
    with suppress(HoldfastError):  # the end of a server whose disk has failed is judged elsewhere
        async with serving(home, files) as client:

            async def asks(tool: str, /, **arguments: Any) -> Told:
                return told_of(await client.call_tool_mcp(tool, arguments))

            await asks("recall", query="harbour")
            arguments = await kind.prepared(asks, ids)
            arm(files, on=True)
            told = await asks(kind.tool, **arguments)
            arm(files, on=False)
    assert told is not None
    return told


def arm(files: FileSystem, *, on: bool) -> None:
    if isinstance(files, Failing):
        files.armed = on


async def made_by(kind: Kind, world: World, home: Path) -> Shape:
    """What the kind makes on a sound disk."""
    told = await called(copied(world.home, home), kind, world.ids, FileSystem())
    assert verdict_of(kind, told) == "done", told
    await settled(home)
    shape = difference(world.before, state_of(home))
    shutil.rmtree(home)
    return shape


@kinds
async def test_no_answer_says_that_nothing_happened_when_something_did_nor_the_other_way_round(
    kind: Kind, world: World, tmp_path: Path, tally: Counter[str], effort: Effort
) -> None:
    home = tmp_path / "home"
    whole = await made_by(kind, world, home)
    assert whole
    for number, error, stays in moments(effort):
        files = Failing(number, stays=stays, steps=STEPS if effort.long else CHANGING, error=error)
        told = await called(copied(world.home, home), kind, world.ids, files)
        if not files.fired:
            assert number > 0
            return
        verdict = verdict_of(kind, told)
        await settled(home)
        found = difference(world.before, state_of(home))
        moment = f"step {number}, {errno.errorcode[error]}, stays {stays}: {verdict}: {told['content']}"
        assert found in possible(kind, told, whole), moment
        tally[f"faults answered: {verdict}"] += 1
        shutil.rmtree(home)


def moments(effort: Effort) -> Iterator[tuple[int, int, bool]]:
    """Each step with each fault, or in the short form each step with one, in turn."""
    for number in itertools.count():
        for error, stays in FAULTS if effort.long else FAULTS[number % 4 : number % 4 + 1]:
            yield number, error, stays
