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
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
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
from forked import Forks
from holdfast.app import build_memory, build_server
from holdfast.errors import HoldfastError
from holdfast.settings import load_settings
from holdfast.store.codec import content_hash
from holdfast.store.filesystem import FileSystem
from processes import HOLDFAST, environment_in, stdio
from sampled import FAULTS, Fault, moments, sort_of, unfailed
from worlds import ask, living

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(900), pytest.mark.usefixtures("no_waiting_for_the_disk")]
kinds = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)

ONE_LINE = "submit_feedback"  # a change that is one line of the journal has few steps: each is tried with every fault
EDGE = 4  # steps
NEVER = 1 << 30
TRIES = 4  # at a sort of call that comes at another number each time
LANES = 2  # servers that are tried at the same time, in the long form


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


async def made_by(kind: Kind, world: World, home: Path, steps: Sequence[str]) -> tuple[Shape, list[str]]:
    """What the kind makes on a sound disk, and the sorts of these steps that it takes."""
    files = Failing(NEVER, stays=False, steps=steps)
    told = await called(copied(world.home, home), kind, world.ids, files)
    assert verdict_of(kind, told) == "done", told
    await settled(home)
    shape = difference(world.before, state_of(home))
    shutil.rmtree(home)
    return shape, sorts_of(files, home)


def sorts_of(files: Failing, home: Path) -> list[str]:
    places = ((name, os.path.relpath(path, home)) for name, path in files.made)
    return [sort_of(name, path) for name, path in places]


@kinds
async def test_no_answer_says_that_nothing_happened_when_something_did_nor_the_other_way_round(
    kind: Kind, world: World, tmp_path: Path, tally: Counter[str], effort: Effort
) -> None:
    home = tmp_path / "home"
    steps = STEPS if effort.long else CHANGING
    whole, sorts = await made_by(kind, world, home, steps)
    assert whole
    failed: set[str] = set()

    async def judge(number: int, fault: Fault) -> None:
        files = Failing(number, stays=fault[1], steps=steps, error=fault[0])
        told = await called(copied(world.home, home), kind, world.ids, files)
        if files.fired:
            failed.add(sorts_of(files, home)[number])
            await judged(kind, world, home, whole, (number, fault, told))
            tally[f"faults answered: {verdict_of(kind, told)}"] += 1
        else:  # what a server does beside a call may come before or behind it
            assert number > len(sorts) // 2
        shutil.rmtree(home)

    for number, fault in planned(kind, sorts, effort):
        await judge(number, fault)
    for number in unfailed(sorts, failed) if effort.long else ():
        await judge(number, FAULTS[0])


async def judged(kind: Kind, world: World, home: Path, whole: Shape, moment: tuple[int, Fault, Told]) -> None:
    """What is there after a restart is what was answered."""
    number, (error, stays), told = moment
    await settled(home)
    found = difference(world.before, state_of(home))
    words = f"step {number}, {errno.errorcode[error]}, stays {stays}: {verdict_of(kind, told)}: {told['content']}"
    assert found in possible(kind, told, whole), words


def planned(kind: Kind, sorts: Sequence[str], effort: Effort) -> list[tuple[int, Fault]]:
    """Which steps fail and how; in the short form some, with one fault each, in turn."""
    if effort.long:
        return moments(sorts, str(kind.tool))
    if kind.tool == ONE_LINE:
        return list(itertools.product(range(len(sorts)), FAULTS))
    return [(number, FAULTS[place % 4]) for place, number in enumerate(some(len(sorts)))]


async def test_a_file_that_is_to_get_its_id_keeps_every_byte_and_has_one_id_or_none(
    world: World, tmp_path: Path, tally: Counter[str], effort: Effort, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody asked for that, so nobody is answered: the folder alone must be right."""
    monkeypatch.setattr("holdfast.engine.runtime.START_SECONDS", NEVER)  # nobody else writes the id meanwhile
    text = "# The pilot\n\nThe pilot boards at the outer buoy.\n"
    for number, (error, stays) in without_end(every=effort.long):
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


LIBRARY = Path(__file__).parents[1] / "support" / "faults.c"
COMPILER = shutil.which("cc")
MOST_CALLS, LETTERS = 4096, 192  # as in faults.c
CONTROL = struct.Struct(f"6i32s{LETTERS}s")
Call = tuple[str, str]  # its name, and its path below the folder


class Calls:
    """The system calls of a server process that has the library loaded; see faults.c."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(CONTROL.size + MOST_CALLS * LETTERS))
        with path.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), CONTROL.size + MOST_CALLS * LETTERS)

    def arm(self, left: int, fault: Fault, only: Call = ("", "")) -> None:
        """Let the one fail that comes after `left` others, of all or of those that are meant; see faults.c."""
        name, path = only
        self._shared[: CONTROL.size] = CONTROL.pack(0, left, *fault, 0, 0, name.encode(), path.encode())
        self._shared[:4] = struct.pack("i", 1)

    def disarm(self) -> tuple[bool, list[Call]]:
        """Whether one failed, and all that there were."""
        self._shared[:4] = bytes(4)
        *_, fired, seen, _, _ = CONTROL.unpack(self._shared[: CONTROL.size])
        assert seen <= MOST_CALLS
        lines = [self._shared[start : start + LETTERS] for start in range(CONTROL.size, len(self._shared), LETTERS)]
        words = (line.partition(b"\0")[0].decode(errors="replace").partition(" ") for line in lines[:seen])
        return bool(fired), [(name, path) for name, _, path in words]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if COMPILER is None or sys.platform != "linux":
        pytest.skip("NOT TESTED: failing system calls of a real server need Linux and a C compiler (cc)")
    made = tmp_path_factory.mktemp("library") / "faults.so"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-O1", "-o", made, LIBRARY, "-ldl"], check=True)
    return made


@dataclass(frozen=True)
class Lane:
    """A folder with one server at a time on it, whose system calls can be made to fail."""

    environment: dict[str, str]
    calls: Calls
    forks: Forks

    @property
    def home(self) -> Path:
        return Path(self.environment["HOLDFAST_HOME"])

    async def served(
        self, world: World, kind: Kind, number: int, fault: Fault, only: Call = ("", "")
    ) -> tuple[Told, bool, list[Call]]:
        """One call of a server whose `number`-th system call fails; it is killed when it has answered."""
        shutil.rmtree(self.home, ignore_errors=True)
        copied(world.home, self.home)
        with stdio(self.environment, command=(*HOLDFAST, "--admin"), begin=self.forks.begin) as server:

            async def asks(tool: str, /, **arguments: Any) -> Told:
                return await anyio.to_thread.run_sync(partial(server.tool, tool, **arguments))

            await anyio.to_thread.run_sync(server.begin)
            await asks("recall", query="harbour")
            arguments = await kind.prepared(asks, world.ids)
            self.calls.arm(number, fault, only)
            told = await asks(kind.tool, **arguments)
            return told, *self.calls.disarm()


@pytest.fixture(scope="module")
def lanes(library: Path, tmp_path_factory: pytest.TempPathFactory, effort: Effort) -> Iterator[list[Lane]]:
    with ExitStack() as stack:
        made = []
        for _ in range(effort.of(1, LANES)):
            place = tmp_path_factory.mktemp("lane")
            environment = environment_in(place) | {"HOLDFAST_VAULT_ENABLED": "false"}
            home, control = Path(environment["HOLDFAST_HOME"]), place / "control"
            calls = Calls(control)
            more = {"LD_PRELOAD": str(library), "FAULTS_CONTROL": str(control), "FAULTS_BELOW": str(home)}
            made.append(Lane(environment, calls, stack.enter_context(Forks(more))))
        yield made


@kinds
async def test_a_real_server_whose_system_calls_fail_answers_what_is_true(
    kind: Kind, world: World, lanes: Sequence[Lane], tally: Counter[str], effort: Effort
) -> None:
    first = lanes[0]
    told, _, calls = await first.served(world, kind, NEVER, (0, False))
    assert verdict_of(kind, told) == "done", told
    await settled(first.home)
    whole = difference(world.before, state_of(first.home))
    assert len(calls) > 3
    failed: set[str] = set()

    async def judge(lane: Lane, number: int, fault: Fault, only: Call = ("", "")) -> list[str]:
        """The sorts of all calls that were made, if one failed."""
        told, fired, made = await lane.served(world, kind, number, fault, only)
        await judged(kind, world, lane.home, whole, (number, fault, told))
        tally[f"system calls failed: {verdict_of(kind, told)}"] += fired
        return [sort_of(*call) for call in made] if fired else []

    async def drive(lane: Lane, waiting: Iterator[tuple[int, Fault]]) -> None:
        for number, fault in waiting:
            failed.update((await judge(lane, number, fault))[number : number + 1])

    sorts = [sort_of(*call) for call in calls]
    waiting = iter(moments(sorts, kind.tool) if effort.long else one_of(len(sorts), kind.tool))
    async with anyio.create_task_group() as tasks:
        for lane in lanes:
            tasks.start_soon(drive, lane, waiting)
    always = set(sorts)
    for _ in range(TRIES if effort.long else 0):  # what is done in several threads comes at another number each time
        for number in unfailed(sorts, failed):
            name, path = calls[number]
            hidden = Path(path).name.startswith(".")  # and has another name each time
            if await judge(first, 0, FAULTS[0], (name, f"{Path(path).parent}/." if hidden else path)):
                failed.add(sorts[number])
        _, _, calls = await first.served(world, kind, NEVER, (0, False))
        sorts = [sort_of(*call) for call in calls]
        always &= set(sorts)
        if always <= failed:
            break
    tally["sorts of system calls failed"] += len(failed)
    assert not effort.long or always <= failed


def one_of(count: int, name: str) -> list[tuple[int, Fault]]:
    """One call, with one fault."""
    number = seeded(len(name)).randrange(count)
    return [(number, FAULTS[-number % 4])]


def without_end(*, every: bool) -> Iterator[tuple[int, Fault]]:
    """Each step with each fault, or with one, in turn."""
    for number in itertools.count():
        for fault in FAULTS if every else FAULTS[number % 4 : number % 4 + 1]:
            yield number, fault


def some(count: int) -> Sequence[int]:
    """The first and the last steps, where a change is announced and ends, and as many again, evenly between them."""
    if count <= 3 * EDGE:
        return range(count)
    between = [EDGE + place * (count - 2 * EDGE) // EDGE for place in range(EDGE)]
    return [*range(EDGE), *between, *range(count - EDGE, count)]
