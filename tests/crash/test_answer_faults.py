"""Every kind of change on a failing disk: what was answered is held against what is there after a restart."""

from __future__ import annotations

import errno
import itertools
import mmap
import os
import shutil
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
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
from disks import CHANGING, STEPS, Failing, seeded
from holdfast.app import build_memory, build_server
from holdfast.errors import HoldfastError
from holdfast.settings import load_settings
from holdfast.store.codec import content_hash
from holdfast.store.filesystem import FileSystem
from processes import HOLDFAST, stdio
from worlds import ask, living

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(900)]
kinds = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)

ONE_LINE = "submit_feedback"  # a change that is one line of the journal has few steps: each is tried with every fault
EDGE = 4  # steps
NEVER = 1 << 30
FAULTS = ((errno.EIO, False), (errno.ENOSPC, False), (errno.EIO, True), (errno.ENOSPC, True))  # and whether it stays


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _handle: None)  # in this process; what is flushed is not the matter here


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
    assert left_aside(home) == []


def left_aside(home: Path) -> list[Path]:
    """What nobody takes away any more; vault, trash and exports are tidied by whoever next needs them."""
    hidden = [path for path in home.rglob(".*") if path.name != ".holdfast"]
    return [path for path in hidden if not {"vault", "trash", "exports"} & set(path.parts)]


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


async def made_by(kind: Kind, world: World, home: Path, steps: Sequence[str]) -> tuple[Shape, int]:
    """What the kind makes on a sound disk, and in how many of these steps."""
    files = Failing(NEVER, stays=False, steps=steps)
    told = await called(copied(world.home, home), kind, world.ids, files)
    assert verdict_of(kind, told) == "done", told
    await settled(home)
    shape = difference(world.before, state_of(home))
    shutil.rmtree(home)
    return shape, files.seen


@kinds
async def test_no_answer_says_that_nothing_happened_when_something_did_nor_the_other_way_round(
    kind: Kind, world: World, tmp_path: Path, tally: Counter[str], effort: Effort
) -> None:
    home = tmp_path / "home"
    steps = STEPS if effort.long else CHANGING
    whole, count = await made_by(kind, world, home, steps)
    assert whole
    for number, error, stays in moments(count, every=effort.long or kind.tool == ONE_LINE):
        files = Failing(number, stays=stays, steps=steps, error=error)
        told = await called(copied(world.home, home), kind, world.ids, files)
        if not files.fired:  # what a server does beside a call may come before or behind it
            assert number > count // 2
            continue
        verdict = verdict_of(kind, told)
        await settled(home)
        found = difference(world.before, state_of(home))
        moment = f"step {number}, {errno.errorcode[error]}, stays {stays}: {verdict}: {told['content']}"
        assert found in possible(kind, told, whole), moment
        tally[f"faults answered: {verdict}"] += 1
        shutil.rmtree(home)


async def test_a_file_that_is_to_get_its_id_keeps_every_byte_and_has_one_id_or_none(
    world: World, tmp_path: Path, tally: Counter[str], effort: Effort, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody asked for that, so nobody is answered: the folder alone must be right."""
    monkeypatch.setattr("holdfast.engine.runtime.START_SECONDS", NEVER)  # nobody else writes the id meanwhile
    text = "# The pilot\n\nThe pilot boards at the outer buoy.\n"
    for number, error, stays in moments(None, every=effort.long):
        home = copied(world.home, tmp_path / f"home{number}{stays}{error}")
        place_by_hand(home / "memories" / "pilot.md", text)
        files = Failing(number, stays=stays, steps=STEPS if effort.long else CHANGING, error=error)
        with suppress(HoldfastError):
            async with living(home, files=files) as memory:
                await ask(memory, "pilot")
                files.armed = True
                with suppress(HoldfastError, OSError):
                    await memory._reconciler.adopt()
                files.armed = False
        await settled(home)
        [found] = (path.read_text() for path in (home / "memories").rglob("*pilot*.md"))
        assert found.endswith(text)
        assert found.count("id:") <= 1
        if not files.fired:
            assert "id:" in found
            assert number > 0
            return
        tally["faults while an id was written"] += 1
        shutil.rmtree(home)


def place_by_hand(path: Path, text: str) -> None:
    """A file that nobody has touched for a while."""
    path.write_text(text)
    os.utime(path, (1_700_000_000, 1_700_000_000))


# The same with a server of its own whose system calls fail: of the index too, and of what goes past `FileSystem`


LIBRARY = Path(__file__).parents[1] / "faults.c"
COMPILER = shutil.which("cc")
CONTROL = struct.Struct("6i")


class Calls:
    """The system calls of a server process that has the library loaded; see faults.c."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(CONTROL.size))
        with path.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), CONTROL.size)

    def arm(self, left: int, error: int, *, stays: bool) -> None:
        self._shared[:] = CONTROL.pack(0, left, error, stays, 0, 0)
        self._shared[:4] = struct.pack("i", 1)

    def disarm(self) -> tuple[bool, int]:
        """Whether one failed, and how many there were."""
        self._shared[:4] = bytes(4)
        *_, fired, seen = CONTROL.unpack(self._shared[:])
        return bool(fired), seen


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if COMPILER is None or sys.platform != "linux":
        pytest.skip("NOT TESTED: failing system calls of a real server need Linux and a C compiler (cc)")
    made = tmp_path_factory.mktemp("library") / "faults.so"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-O1", "-o", made, LIBRARY, "-ldl"], check=True)
    return made


async def served(
    environment: dict[str, str], library: Path, kind: Kind, ids: Given, fault: tuple[int, int, bool]
) -> tuple[Told, bool, int]:
    """One call of a server whose `fault`-th system call fails; it is killed when it has answered."""
    place = Path(environment["HOME"])
    calls = Calls(place / "control")
    more = {
        "LD_PRELOAD": str(library), "FAULTS_CONTROL": str(place / "control"),
        "FAULTS_BELOW": environment["HOLDFAST_HOME"], "HOLDFAST_VAULT_ENABLED": "false",
    }  # fmt: skip
    with stdio(environment | more, command=(*HOLDFAST, "--admin")) as server:
        server.begin()

        async def asks(tool: str, /, **arguments: Any) -> Told:
            return server.tool(tool, **arguments)

        await asks("recall", query="harbour")
        arguments = await kind.prepared(asks, ids)
        number, error, stays = fault
        calls.arm(number, error, stays=stays)
        told = await asks(kind.tool, **arguments)
        return told, *calls.disarm()


@kinds
async def test_a_real_server_whose_system_calls_fail_answers_what_is_true(
    kind: Kind, world: World, library: Path, environment: dict[str, str], tally: Counter[str], effort: Effort
) -> None:
    home = copied(world.home, Path(environment["HOLDFAST_HOME"]))
    told, _, count = await served(environment, library, kind, world.ids, (NEVER, 0, False))
    assert verdict_of(kind, told) == "done", told
    await settled(home)
    whole = difference(world.before, state_of(home))
    assert count > 3
    for number, fault in itertools.product(numbers(count, kind.tool, effort), FAULTS):
        if not effort.long and (number + FAULTS.index(fault)) % 4:
            continue
        shutil.rmtree(home)
        copied(world.home, home)
        told, fired, _ = await served(environment, library, kind, world.ids, (number, *fault))
        await settled(home)
        found = difference(world.before, state_of(home))
        verdict = verdict_of(kind, told)
        assert found in possible(kind, told, whole), (number, fault, verdict, told["content"])
        tally[f"system calls failed: {verdict}"] += fired


def numbers(count: int, name: str, effort: Effort) -> Sequence[int]:
    """Which of so many calls fail: all, or one of them; with each fault, or with one, in turn."""
    return range(count) if effort.long else [seeded(len(name)).randrange(count)]


def moments(count: int | None, *, every: bool) -> Iterator[tuple[int, int, bool]]:
    """Each step with each fault, or in the short form some steps with one each, in turn; None is without end."""
    for place, number in enumerate(itertools.count() if count is None else range(count) if every else some(count)):
        for error, stays in FAULTS if every else FAULTS[place % 4 : place % 4 + 1]:
            yield number, error, stays


def some(count: int) -> Sequence[int]:
    """The first and the last steps, where a change is announced and ends, and as many again, evenly between them."""
    if count <= 3 * EDGE:
        return range(count)
    between = [EDGE + place * (count - 2 * EDGE) // EDGE for place in range(EDGE)]
    return [*range(EDGE), *between, *range(count - EDGE, count)]
