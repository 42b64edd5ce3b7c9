"""The folder is taken away, replaced, locked or forbidden under a running server, and comes back.

Until then every call works or names its error; afterwards everything is there again, without a restart.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from conftest import Effort
from processes import HOLDFAST, PATIENCE, Stdio, stdio
from served import ERAS, SPACE, Agent, assert_named, serving

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be taken away there"),
]

GOOD = "The ferry leaves from pier seven."
PARTS = ("", "memories", f"memories/{SPACE}", "history", "journal", "locks", ".holdfast", "trash")
NAMES = ("the whole folder", *PARTS[1:])
UNPRIVILEGED = """
import ctypes, os, sys
for capability in range(5):  # a superuser's rights over files of others: without them it is a user like any other
    ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


def unprivileged(*command: str) -> tuple[str, ...]:
    """A Python command that a file's permissions hold for, whoever runs the tests."""
    return (sys.executable, "-c", UNPRIVILEGED, *command)


def texts(answer: Any) -> list[str]:
    return sorted(hit["content"] for hit in answer["results"])


async def tried(agent: Agent, tool: str, **arguments: Any) -> dict[str, Any] | None:
    """A call that works, or says why not in the way of all failures, and either soon."""
    with anyio.fail_after(20):
        answer = await agent.client.call_tool_mcp(tool, arguments)
    if answer.is_error:
        assert_named("\n".join(block.text for block in answer.content))
        return None
    return dict(answer.structured_content)


async def works_again(agent: Agent, text: str) -> str:
    """A note is stored at the second attempt at the latest, and found; its id."""
    answer = await tried(agent, "remember", content=text) or (await agent.remember(text)).structured
    assert text in texts(await agent.recall(text))
    return str(answer["id"])


def bytes_of_notes(home: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (home / "memories").rglob("*.md")}


# Removed


@pytest.mark.parametrize("part", PARTS, ids=NAMES)
async def test_what_is_removed_while_the_server_runs_is_made_anew(
    part: str, tmp_path: Path, tally: Counter[str]
) -> None:
    home = tmp_path / "memory"
    async with serving(home, ERAS[1]) as agent:
        await agent.remember(GOOD)
        shutil.rmtree(home / part)
        answer = await tried(agent, "recall", query="ferry")
        if "memories" not in (home / part).parts and part:
            assert answer is not None
            assert texts(answer) == [GOOD]
        note = await works_again(agent, "The buoy is green.")
        await agent.outdate(note)
        assert part == "" or (home / "journal").is_dir()
    async with serving(home, ERAS[1]) as agent:
        assert "The buoy is green." in texts(await agent.recall("buoy", include_outdated=True))
    tally["hostile folders survived"] += 1


@pytest.mark.parametrize("part", ["", "memories"], ids=["the whole folder", "memories"])
async def test_a_memory_that_is_gone_is_not_told_as_nothing_known(part: str, tmp_path: Path) -> None:
    """The disk may have been unmounted: an agent must not conclude that there never was a note."""
    home = tmp_path / "memory"
    async with serving(home, ERAS[1]) as agent:
        await agent.remember(GOOD)
        usual = (await agent.recall("winch"))["notices"]
        (home / part).rename(tmp_path / "away")
        answer = await tried(agent, "recall", query="ferry")
        assert answer is None or answer["notices"] != usual


@pytest.mark.parametrize("part", ["", "memories"], ids=["the whole folder", "memories"])
async def test_a_memory_that_is_gone_is_made_anew_by_nobody_who_was_not_told(part: str, tmp_path: Path) -> None:
    home, away = tmp_path / "memory", tmp_path / "away"
    async with serving(home, ERAS[1]) as agent:
        note = (await agent.remember(GOOD))["id"]
        (home / part).rename(away)
        for _ in range(2):
            assert "gone" in await agent.refused("recall", query="ferry")
        assert "gone" in await agent.refused("mark_outdated", node_id=note)
        assert "call remember again" in await agent.refused("remember", content="The buoy is green.")
        assert not (home / part).exists()
        away.rename(home / part)
        assert texts(await agent.recall("ferry buoy")) == [GOOD]
        (home / part).rename(away)
    assert not (home / part).exists()


@pytest.mark.parametrize("part", ["", "memories"], ids=["the whole folder", "memories"])
async def test_who_was_told_that_the_memory_is_gone_makes_it_anew_whatever_is_looked_for_meanwhile(
    part: str, tmp_path: Path
) -> None:
    """As a server does by itself, a second after its start and now and then."""
    home = tmp_path / "memory"
    async with serving(home, ERAS[1]) as agent:
        await agent.remember(GOOD)
        (home / part).rename(tmp_path / "away")
        assert "call remember again" in await agent.refused("remember", content="The buoy is green.")
        assert "gone" in await agent.refused("recall", query="ferry")
        await agent.remember("The buoy is green.")
        assert texts(await agent.recall("ferry buoy")) == ["The buoy is green."]


@pytest.mark.parametrize("part", PARTS, ids=NAMES)
async def test_what_was_away_for_a_moment_is_there_again_when_it_is_back(
    part: str, tmp_path: Path, tally: Counter[str]
) -> None:
    home, away = tmp_path / "memory", tmp_path / "away"
    async with serving(home, ERAS[1]) as agent:
        note = (await agent.remember(GOOD))["id"]
        old = (await agent.remember("The buoy is green."))["id"]
        new = (await agent.remember("The buoy is red.", supersedes=[old]))["id"]
        before, shown = bytes_of_notes(home), (await agent.node(old)).structured
        (home / part).rename(away)
        for tool, arguments in (
            ("recall", {"query": "ferry"}), ("recall_node", {"node_id": note}),
            ("mark_outdated", {"node_id": note}), ("recall", {"query": "buoy"}),
        ):  # fmt: skip
            if tool != "mark_outdated" or part in ("", "memories", f"memories/{SPACE}"):
                await tried(agent, tool, **arguments)
        shutil.rmtree(home / part, ignore_errors=True)
        away.rename(home / part)
        assert texts(await agent.recall("ferry")) == [GOOD]
        assert (await agent.recall("buoy")).found == [new]
        assert bytes_of_notes(home) == before
        assert {**(await agent.node(old)).structured, "changes": 0} == {**shown, "changes": 0}
        await works_again(agent, "The crane lifts forty tonnes.")
    tally["hostile folders survived"] += 1


@pytest.mark.parametrize("part", PARTS, ids=NAMES)
async def test_a_file_in_the_place_of_a_folder_is_told_and_kept(part: str, tmp_path: Path, tally: Counter[str]) -> None:
    home, away = tmp_path / "memory", tmp_path / "away"
    async with serving(home, ERAS[1]) as agent:
        note = (await agent.remember(GOOD))["id"]
        (home / part).rename(away)
        (home / part).write_text("not a folder")
        await tried(agent, "recall", query="ferry")
        await tried(agent, "remember", content="The buoy is green.")
        await tried(agent, "recall_node", node_id=note)
        assert (home / part).read_text() == "not a folder"
        (home / part).unlink()
        away.rename(home / part)
        assert GOOD in texts(await agent.recall("ferry"))
        await works_again(agent, "The crane lifts forty tonnes.")
    tally["hostile folders survived"] += 1


async def test_another_memory_in_the_same_place_is_the_memory_from_then_on(tmp_path: Path, tally: Counter[str]) -> None:
    home, first, second = tmp_path / "memory", tmp_path / "first", tmp_path / "second"
    async with serving(second, ERAS[1]) as agent:
        for number in range(5):
            await agent.remember(f"The buoy {number} is green.")
    async with serving(home, ERAS[1]) as agent:
        note = (await agent.remember(GOOD))["id"]
        home.rename(first)
        before = bytes_of_notes(first)
        second.rename(home)
        assert len((await agent.recall("buoy green ferry"))["results"]) == 5
        assert "MemoryNotFoundError" in await agent.refused("recall_node", node_id=note)
        await works_again(agent, "The crane lifts forty tonnes.")
        assert bytes_of_notes(first) == before
        home.rename(second)
        first.rename(home)
        assert texts(await agent.recall("buoy green ferry crane")) == [GOOD]
        await works_again(agent, "The winch needs oil.")
    for place, words, count in ((home, "ferry winch", 2), (second, "buoy crane", 6)):
        numbers = sequence(place)
        assert numbers == sorted(set(numbers))
        async with serving(place, ERAS[1]) as agent:
            assert len((await agent.recall(words))["results"]) == count
    tally["hostile folders survived"] += 1


def sequence(home: Path) -> list[int]:
    """The numbers of all records of the journal, in the order of its files and lines."""
    files = sorted((home / "journal").iterdir())
    return [json.loads(line)["seq"] for file in files for line in file.read_text().splitlines()]


@pytest.mark.parametrize("part", PARTS, ids=NAMES)
def test_a_server_whose_folder_is_gone_ends_like_any_other(part: str, environment: dict[str, str]) -> None:
    home = Path(environment["HOLDFAST_HOME"])
    with stdio(environment) as server:
        server.begin()
        server.tool("remember", content=GOOD)
        shutil.rmtree(home / part)
        assert server.end()[0] == 0


# Forbidden


@contextmanager
def forbidden(path: Path, mode: int) -> Iterator[None]:
    """Take permissions away from a file or from a whole tree, for a while."""
    tree = [path, *path.rglob("*")] if mode else [path]
    before = {item: item.stat().st_mode for item in tree}
    for item in reversed(tree):
        item.chmod(before[item] & ~0o222 if mode else 0)
    try:
        yield
    finally:
        for item in tree:
            item.chmod(before[item])


def outcome(server: Stdio, tool: str, **arguments: Any) -> dict[str, Any] | None:
    answer = server.tool(tool, **arguments)
    if not answer.get("isError"):
        return dict(answer["structuredContent"])
    assert_named(answer["content"][0]["text"])
    return None


def test_permissions_hold_for_the_servers_of_these_tests(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch(0)
    ended = subprocess.run(
        unprivileged("-c", "import sys; open(sys.argv[1])", str(file)), capture_output=True, text=True, check=False
    )
    assert "PermissionError" in ended.stderr


@pytest.mark.parametrize("mode", [0, 0o500], ids=["no access", "read-only"])
def test_a_folder_without_permission_is_told_until_it_has_it_again(
    mode: int, environment: dict[str, str], tally: Counter[str]
) -> None:
    home = Path(environment["HOLDFAST_HOME"])
    failures: dict[str, BaseException] = {}
    with stdio(environment, command=unprivileged("-m", "holdfast")) as server:
        server.begin()
        note = server.remember(GOOD)
        for number, part in enumerate(PARTS):
            before = bytes_of_notes(home)
            try:
                with forbidden(home / part, mode):
                    outcome(server, "recall", query="ferry")
                    outcome(server, "recall_node", node_id=note)
                    stored = outcome(server, "remember", content=f"Buoy number {number} is green.")
                after = bytes_of_notes(home)
                assert {name: after[name] for name in before} == before
                assert len(after) == len(before) + (stored is not None)
                found = server.tool("recall", query=f"ferry buoy {number}")["structuredContent"]
                assert GOOD in texts(found)
                assert (f"Buoy number {number} is green." in texts(found)) == (stored is not None)
                assert "id" in server.tool("remember", content=f"The crane lifts {number} tonnes.")["structuredContent"]
            except (AssertionError, KeyError) as error:
                failures[part or "the whole folder"] = error
        assert failures == {}
        assert server.end()[0] == 0
    tally["hostile folders survived"] += len(PARTS)


def test_a_server_that_starts_on_a_read_only_folder_says_so_and_works_when_it_can(environment: dict[str, str]) -> None:
    home = Path(environment["HOLDFAST_HOME"])
    with stdio(environment) as server:
        server.begin()
        server.tool("remember", content=GOOD)
        server.end()
    before = bytes_of_notes(home)
    with forbidden(home, 0o500), stdio(environment, command=unprivileged("-m", "holdfast")) as server:
        server.begin()
        outcome(server, "recall", query="ferry")
        assert outcome(server, "remember", content="The buoy is green.") is None
        assert bytes_of_notes(home) == before
        for item in (home, *home.rglob("*")):
            item.chmod(0o700)
        assert texts(server.tool("recall", query="ferry")["structuredContent"]) == [GOOD]
        assert "id" in server.tool("remember", content="The buoy is green.")["structuredContent"]


def test_a_file_or_folder_that_may_not_be_read_is_told_and_all_other_notes_are_found(
    environment: dict[str, str],
) -> None:
    home = Path(environment["HOLDFAST_HOME"])
    with stdio(environment) as server:
        server.begin()
        server.tool("remember", content=GOOD)
        server.tool("remember", content="The barge is long.", space="barges")
        server.tool("remember", content="The yard crane is red.", space="yard")
    (file,) = (home / "memories" / "barges").iterdir()
    (home / "memories" / "yard" / "way out").symlink_to(home / "memories" / "yard")
    for forgotten in (False, True):
        for place, lost in ((file, "The barge is long."), (home / "memories" / "yard", "The yard crane is red.")):
            if forgotten:
                shutil.rmtree(home / ".holdfast")
            with forbidden(place, 0), stdio(environment, command=unprivileged("-m", "holdfast")) as server:
                server.begin()
                answer = server.tool("recall", query="ferry crane barge")
                assert not answer.get("isError"), answer["content"][0]["text"]
                found = answer["structuredContent"]
                assert GOOD in texts(found)
                assert "Permission denied" in " ".join(found["notices"])
                assert "id" in server.tool("remember", content=f"Buoy {lost}")["structuredContent"]
                place.chmod(0o700)
                assert lost in texts(server.tool("recall", query="ferry crane barge")["structuredContent"])


@pytest.mark.parametrize("watched", [True, False], ids=["watched", "scanned"])
@pytest.mark.parametrize("mode", [0, 0o400], ids=["no access", "names only"])
def test_a_folder_that_loses_its_permissions_is_no_deletion(
    mode: int, watched: bool, environment: dict[str, str]
) -> None:
    program = "import holdfast.store.folder\n"
    program += "" if watched else "holdfast.store.folder.is_local = lambda _path: False\n"
    program += "from holdfast.__main__ import main\nraise SystemExit(main())"
    yard = Path(environment["HOLDFAST_HOME"]) / "memories" / "yard"
    with stdio(environment, command=unprivileged("-c", program)) as server:
        server.begin()
        server.tool("remember", content=GOOD)
        note = server.tool("remember", content="The yard crane is red.", space="yard")["structuredContent"]["id"]
        before = server.tool("recall_node", node_id=note)["structuredContent"]
        for _ in range(2):
            yard.chmod(mode)
            for _ in range(2):
                found = server.tool("recall", query="ferry crane")["structuredContent"]
                assert texts(found) == [GOOD]
                assert "Permission denied" in " ".join(found["notices"])
            assert "QuarantinedError" in server.tool("recall_node", node_id=note)["content"][0]["text"]
            yard.chmod(0o700)
            found = server.tool("recall", query="ferry crane")["structuredContent"]
            assert texts(found) == [GOOD, "The yard crane is red."]
            assert "Quarantined" not in " ".join(found["notices"])
            assert server.tool("recall_node", node_id=note)["structuredContent"] == before


# Locked by a stranger

SOON = 4  # seconds of patience with a lock, in the short form


@contextmanager
def held(*locks: Path) -> Iterator[None]:
    """Another program has these locks and does not let go."""
    handles = [os.open(path, os.O_RDWR | os.O_CREAT, 0o600) for path in locks]
    try:
        for handle in handles:
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        for handle in handles:
            os.close(handle)


def impatient(effort: Effort, seconds: int = SOON) -> tuple[tuple[str, ...], int]:
    """A server that waits for a lock as long as it does, or so long in the short form; and how long that is."""
    program = (
        "from holdfast.store import locks\n"
        f"locks.PATIENCE_SECONDS = {seconds}.0\n"
        f"locks.Lock.__init__.__defaults__ = locks.LockFile.__init__.__defaults__ = ({seconds}.0,)\n"
        "from holdfast.__main__ import main\n"
        "raise SystemExit(main())"
    )
    return (HOLDFAST, 30) if effort.long else ((sys.executable, "-c", program), seconds)


def stripe(note: str) -> str:
    """The lock of a note, as the layout of `locks/` gives it."""
    import zlib  # noqa: PLC0415

    return f"{zlib.crc32(note.encode()) % 64:02x}"


def beside(server: Stdio, note: str) -> str:
    """A new note whose lock is another one's: of 64 locks, two notes have the same now and then."""
    for number in itertools.count():
        other = server.remember(f"Buoy {number} is green.")
        if stripe(other) != stripe(note):
            return other
    raise AssertionError("unreachable")


def test_a_lock_that_a_stranger_holds_is_told_in_time_and_other_notes_are_read_and_written(
    environment: dict[str, str], effort: Effort, tally: Counter[str]
) -> None:
    home = Path(environment["HOLDFAST_HOME"])
    command, patience = impatient(effort, seconds=6)
    with stdio(environment, command=command) as server:
        server.begin()
        note = server.remember(GOOD)
        other = beside(server, note)
        with held(home / "locks" / stripe(note)):
            began = time.monotonic()
            asked = [server.send("tools/call", name="mark_outdated", arguments={"node_id": note}) for _ in range(4)]
            asked.append(server.send("tools/call", name="recall", arguments={"query": "ferry buoy"}))
            asked.append(server.send("tools/call", name="mark_outdated", arguments={"node_id": other}))
            answers = {}
            for _ in asked:
                answer = server.read()
                answers[answer["id"]] = answer["result"]
            took = time.monotonic() - began
            assert {*list(answers)[:2]} == {*asked[4:]}  # before those that wait
            for number in asked[:4]:
                assert "StorageError" in answers[number]["content"][0]["text"]
            for number in asked[4:]:
                assert not answers[number].get("isError"), answers[number]
            assert took < 3.5 * patience  # each in its own time, not one after the other
        assert outcome(server, "mark_outdated", node_id=note) is not None
    tally["hostile folders survived"] += 1


def test_a_lock_file_that_was_removed_and_made_anew_is_the_one_that_counts(
    environment: dict[str, str], effort: Effort
) -> None:
    """Otherwise the old server and a new one would both own the note."""
    home = Path(environment["HOLDFAST_HOME"])
    command, _ = impatient(effort)
    with stdio(environment, command=command) as server:
        server.begin()
        note = server.remember(GOOD)
        shutil.rmtree(home / "locks")
        (home / "locks").mkdir()
        with held(home / "locks" / stripe(note)):
            assert outcome(server, "mark_outdated", node_id=note) is None
        assert outcome(server, "mark_outdated", node_id=note) is not None


def test_a_hand_edit_of_a_note_whose_lock_a_stranger_holds_does_not_stop_the_others(
    environment: dict[str, str], effort: Effort
) -> None:
    home = Path(environment["HOLDFAST_HOME"])
    command, patience = impatient(effort, seconds=6)  # more than a request waits for an edited note
    with stdio(environment, command=command) as server:
        server.begin()
        note = server.remember(GOOD)
        server.tool("remember", content="The buoy is green.")
        (file,) = home.glob(f"memories/*/*{note}.md")
        with held(home / "locks" / stripe(note)):
            file.write_bytes(file.read_bytes().replace(b"seven", b"eight"))
            began = time.monotonic()
            answer = server.tool("recall", query="buoy green")
            assert time.monotonic() - began < 2 * patience + PATIENCE
            assert not answer.get("isError"), answer["content"][0]["text"]
            assert texts(answer["structuredContent"]) == ["The buoy is green."]
        found = server.tool("recall", query="ferry pier")["structuredContent"]
        assert texts(found) == [GOOD.replace("seven", "eight")]


@pytest.mark.parametrize("name", ["journal", "folder"])
def test_a_lock_of_the_whole_memory_that_a_stranger_holds_is_told_in_time(
    name: str, environment: dict[str, str], effort: Effort
) -> None:
    home = Path(environment["HOLDFAST_HOME"])
    command, patience = impatient(effort)
    with stdio(environment, command=command) as server:
        server.begin()
        server.tool("remember", content=GOOD)
        with held(home / "locks" / name):
            began = time.monotonic()
            outcome(server, "remember", content="The buoy is green.")
            found = outcome(server, "recall", query="ferry")
            assert found is not None
            assert GOOD in texts(found)
            assert time.monotonic() - began < 3 * patience + PATIENCE
        assert outcome(server, "remember", content="The buoy is green.") is not None
        assert outcome(server, "recall", query="buoy") is not None
