"""The whole memory on a bad disk: a verb's answer is the truth, and recall agrees with the files, then and later."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import pytest

from conftest import Effort
from disks import CHANGING, STEPS, Disk, Failing, Found, Recorded, Small, lay_out, one_by_one, seeded
from holdfast.engine.agent.feedback import MarkOutdated, mark_outdated
from holdfast.engine.runtime import Memory
from holdfast.errors import HoldfastError, StorageError
from holdfast.model.note import Note
from holdfast.store.codec import Surroundings, note_of, parse
from worlds import CALLER, ask, found, keep, living, show

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(600), pytest.mark.usefixtures("no_waiting_for_the_disk")]

TEXTS = ("The harbour opens at six", "The lighthouse keeper is called Ada", "The ferry leaves twice a day")
NEW_TEXT = "The harbour opens at seven since the spring"


@dataclass(frozen=True)
class World:
    """A closed folder with three notes, and what a verb makes of it."""

    home: Path
    old: dict[str, Note]

    @property
    def ids(self) -> list[str]:
        return sorted(self.old)


@dataclass(frozen=True)
class Verb:
    """A call, how many notes it adds, and which of the old ones it retires."""

    call: Callable[[Memory, list[str]], Awaitable[object]]
    adds: int
    retires: slice


async def outdate(memory: Memory, ids: list[str]) -> object:
    request = MarkOutdated(ids[1], "she retired", ids[2])
    return await memory.attend(lambda ports: mark_outdated(ports, CALLER, request))


VERBS = {
    "remember in a new space": Verb(lambda memory, _: keep(memory, NEW_TEXT, space="elsewhere"), 1, slice(0, 0)),
    "remember what replaces two": Verb(
        lambda memory, ids: keep(memory, NEW_TEXT, supersedes=ids[1:3], session="today"), 1, slice(1, 3)
    ),
    "mark outdated": Verb(outdate, 0, slice(1, 2)),
}
verbs = pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)


@pytest.fixture
async def world(tmp_path: Path) -> World:
    home = tmp_path / "template"
    async with living(home) as memory:
        for text in TEXTS:
            await keep(memory, text)
    return World(home, notes_in(home))


def notes_in(home: Path) -> dict[str, Note]:
    found = [note_of(parse(path.read_bytes()), Surroundings()) for path in (home / "memories").rglob("*.md")]
    assert len({note.id for note in found}) == len(found)
    return {note.id: note for note in found}


def is_done(verb: Verb, world: World, home: Path) -> bool:
    """Whether the files say that the verb was carried out; a part of it is as bad as nothing at all."""
    now = notes_in(home)
    added = now.keys() - world.old.keys()
    retired = {note_id for note_id, old in world.old.items() if now[note_id] != old}
    if not added and not retired:
        return False
    assert len(added) == verb.adds
    assert retired == set(world.ids[verb.retires])
    for note_id in retired:
        assert {now[note_id].superseded_by} == (added or {world.ids[2]})
    return True


async def assert_recall_agrees(memory: Memory, home: Path) -> dict[str, int]:
    """Every note of the files is found and shown as it stands there, and nothing else is; how often each changed."""
    await ask(memory, "harbour")  # the first request settles what was left open
    there = notes_in(home)
    changes = {}
    for note_id, note in there.items():
        shown = await show(memory, note_id)
        assert shown.note == replace(note, connections=(), outdated=note.is_outdated)
        assert {to.to for to in note.connections} <= {item.id for item in shown.connections if item.direction == "out"}
        changes[note_id] = shown.changes
        hits = (await ask(memory, note.content, include_outdated=True, limit=50)).hits
        assert note_id in {hit.note.id for hit in hits} <= there.keys()
    assert await memory.ports.index.count_files() == len(there)
    return changes


def hidden(home: Path) -> list[str]:
    """What was laid aside and not taken away again."""
    return [path.name for path in home.rglob(".*") if path.name != ".holdfast"]


async def assert_a_restart_agrees(home: Path, verb: Verb, world: World) -> bool:
    """A new process, and one that has to make the index anew, tell the same as the files do."""
    async with living(home) as memory:
        changes = await assert_recall_agrees(memory, home)
    done = is_done(verb, world, home)
    shutil.rmtree(home / ".holdfast")
    async with living(home) as memory:
        assert await assert_recall_agrees(memory, home) == changes
    assert is_done(verb, world, home) == done
    assert hidden(home) == []
    return done


def copies(world: World, parent: Path) -> Iterator[tuple[int, Path]]:
    number = 0
    while True:
        home = parent / f"round-{number}"
        shutil.copytree(world.home, home)
        yield number, home
        shutil.rmtree(home)
        number += 1


async def tried(verb: Verb, memory: Memory, world: World, home: Path) -> bool:
    """Carry out the verb; whether it was acknowledged. What the answer says is compared with the files."""
    try:
        await verb.call(memory, world.ids)
    except HoldfastError as error:
        refusal = str(error)
    else:
        assert is_done(verb, world, home)
        return True
    if "look before you repeat it" not in refusal:
        assert not is_done(verb, world, home), refusal
    return False


@verbs
async def test_after_a_step_that_failed_recall_agrees_with_the_files_in_this_process_and_the_next(
    verb: Verb, world: World, tmp_path: Path, tally: Counter[str], effort: Effort
) -> None:
    for number, home in copies(world, tmp_path):
        files = Failing(number, stays=False, steps=STEPS if effort.long else CHANGING)
        async with living(home, files=files) as memory:
            await assert_recall_agrees(memory, home)
            files.armed = True
            done = await tried(verb, memory, world, home)
            files.armed = False
            await assert_recall_agrees(memory, home)
            assert is_done(verb, world, home) == done
            if not done:
                await verb.call(memory, world.ids)
            await assert_recall_agrees(memory, home)
        assert await assert_a_restart_agrees(home, verb, world), number
        tally["faults injected"] += files.fired
        if not files.fired:
            assert number > 4
            return


@verbs
async def test_after_a_disk_broke_for_good_a_restart_agrees_with_the_files(
    verb: Verb, world: World, tmp_path: Path, tally: Counter[str], effort: Effort
) -> None:
    for number, home in copies(world, tmp_path):
        files = Failing(number, stays=True, steps=STEPS if effort.long else CHANGING)
        answered = False
        with suppress(HoldfastError):
            async with living(home, files=files) as memory:
                await ask(memory, "harbour")
                files.armed = True
                answered = await tried(verb, memory, world, home)
        assert await assert_a_restart_agrees(home, verb, world) or not answered, number
        tally["faults injected"] += files.fired
        if not files.fired:
            assert answered
            return


@verbs
async def test_while_the_disk_is_full_notes_are_recalled_and_when_there_is_room_they_are_stored(
    verb: Verb, world: World, tmp_path: Path, tally: Counter[str], effort: Effort
) -> None:
    for number, home in copies(world, tmp_path):
        files = Small()
        with files.mounted():
            async with living(home, files=files) as memory:
                await assert_recall_agrees(memory, home)
                files.room = number * effort.of(331, 41)
                done = await tried(verb, memory, world, home)
                await assert_recall_agrees(memory, home)
                full, files.room = files.refused, 1 << 30
                assert bool(full) != done
                if not done:
                    await verb.call(memory, world.ids)
        assert await assert_a_restart_agrees(home, verb, world), number
        tally["faults injected"] += full
        if not full:
            assert number > 2
            return


async def test_a_server_that_ends_while_the_disk_is_full_lets_go_of_everything(world: World) -> None:
    files = Small()
    with files.mounted():
        async with living(world.home, files=files) as memory:
            await keep(memory, NEW_TEXT)
            files.room = 0
    async with living(world.home) as memory:
        await assert_recall_agrees(memory, world.home)


# Power cuts


@verbs
async def test_after_a_power_cut_recall_agrees_with_the_files_whatever_became_of_the_index(
    verb: Verb, world: World, tmp_path: Path, tally: Counter[str], effort: Effort
) -> None:
    home = tmp_path / "home"
    shutil.copytree(world.home, home)
    indexes = {"as it was": world.home / ".holdfast", "as it is": tmp_path / "as it is", "gone": None}
    for seed in range(effort.of(1, 10)):
        files = Recorded(Disk(home, tmp_path / f"kept-{seed}"), seeded(seed), effort.of(3, 24))
        with files.mounted(), patch("holdfast.store.writer.together", one_by_one(backwards=seed % 2 == 0)):
            async with living(home, files=files) as memory:
                await ask(memory, "harbour")
                files.recording = True
                await verb.call(memory, world.ids)
                files.acknowledged = True
                files.take("the next request")
                shutil.copytree(home / ".holdfast", tmp_path / "as it is")
        cuts = list(files.images)
        chosen = seeded(seed).sample(cuts, min(len(cuts), effort.of(12, 10**6)))
        for number, (answered, state) in enumerate(chosen):
            fate = list(indexes)[number % len(indexes)] if answered else ("as it was", "gone")[number % 2]
            picture = after_the_cut(tmp_path / "picture", state, indexes[fate])
            moment = f"{files.images[answered, state]}, index {fate}"
            assert await assert_a_restart_agrees(picture, verb, world) or not answered, moment
            tally["power cuts simulated"] += 1
            shutil.rmtree(picture)
        shutil.rmtree(tmp_path / "as it is")
        shutil.rmtree(home)
        shutil.copytree(world.home, home)


def after_the_cut(home: Path, state: Found, index: Path | None) -> Path:
    lay_out(state, home)
    if index is not None:
        shutil.copytree(index, home / ".holdfast")
    return home


# The index refuses


async def on_the_writer(memory: Memory, work: Callable[[sqlite3.Connection], object]) -> None:
    writer = memory.ports.index._writer  # type: ignore[attr-defined] # looks inside
    await writer.run(work)


@verbs
async def test_an_index_that_is_full_refuses_the_whole_call_and_takes_it_when_there_is_room(
    verb: Verb, world: World, tally: Counter[str]
) -> None:
    async with living(world.home) as memory:
        await ask(memory, "harbour")
        await on_the_writer(memory, lambda connection: connection.execute("CREATE TABLE ballast (text)"))
        await on_the_writer(memory, lambda connection: connection.execute("PRAGMA max_page_count = 1"))
        await on_the_writer(memory, fill)
        with pytest.raises(StorageError, match="full"):
            await keep(memory, NEW_TEXT + " and more" * 3000)
        await assert_recall_agrees(memory, world.home)
        assert notes_in(world.home) == world.old
        await on_the_writer(memory, lambda connection: connection.execute("PRAGMA max_page_count = 1000000"))
        await verb.call(memory, world.ids)
        await assert_recall_agrees(memory, world.home)
    assert await assert_a_restart_agrees(world.home, verb, world)
    tally["faults injected"] += 1


def fill(connection: sqlite3.Connection) -> None:
    """Until not one page is free."""
    with suppress(sqlite3.OperationalError):
        while True:
            connection.execute("INSERT INTO ballast VALUES (zeroblob(3000))")


@verbs
async def test_an_index_transaction_that_breaks_off_anywhere_leaves_the_files_as_they_were(
    verb: Verb, world: World, tmp_path: Path, tally: Counter[str], effort: Effort
) -> None:
    """At every so many of SQLite's own instructions."""
    for number, home in copies(world, tmp_path):
        left = [number * effort.of(97, 11)]

        def breaks(left: list[int] = left) -> bool:
            left[0] -= 1
            return left[0] == -1

        async with living(home) as memory:
            await ask(memory, "harbour")
            await on_the_writer(memory, lambda connection: connection.set_progress_handler(breaks, 1))
            done = await tried(verb, memory, world, home)
            await on_the_writer(memory, lambda connection: connection.set_progress_handler(None, 1))
            await assert_recall_agrees(memory, home)
            if not done:
                await verb.call(memory, world.ids)
        assert await assert_a_restart_agrees(home, verb, world), number
        tally["faults injected"] += left[0] < 0
        if left[0] >= 0:
            assert done
            assert number > 2
            return


async def test_an_index_that_another_program_keeps_locked_refuses_the_call_and_is_used_when_it_is_let_go(
    world: World, tally: Counter[str]
) -> None:
    other = sqlite3.connect(world.home / ".holdfast" / "index.db", isolation_level=None)
    async with living(world.home) as memory:
        await ask(memory, "harbour")
        await on_the_writer(memory, lambda connection: connection.execute("PRAGMA busy_timeout = 50"))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match="locked"):
            await keep(memory, NEW_TEXT)
        assert notes_in(world.home) == world.old
        other.execute("ROLLBACK")
        other.close()
        await keep(memory, NEW_TEXT)
        await assert_recall_agrees(memory, world.home)
    tally["faults injected"] += 1


@verbs
async def test_an_index_that_cannot_be_written_any_more_is_made_anew_and_the_call_is_carried_out_once(
    verb: Verb, world: World, tally: Counter[str]
) -> None:
    async with living(world.home) as memory:
        await ask(memory, "harbour")
        await on_the_writer(memory, lambda connection: connection.execute("PRAGMA query_only = ON"))
        await verb.call(memory, world.ids)
        await assert_recall_agrees(memory, world.home)
    assert await assert_a_restart_agrees(world.home, verb, world)
    tally["faults injected"] += 1


@verbs
async def test_when_index_and_disk_fail_together_the_answer_says_so_and_nothing_is_halved(
    verb: Verb, world: World, tmp_path: Path, tally: Counter[str]
) -> None:
    for number, home in copies(world, tmp_path):
        files = Failing(number, stays=True, steps=CHANGING)

        def refuse(files: Failing = files) -> bool:
            broken, files.armed = files.armed, True
            return not broken

        with suppress(StorageError):
            async with living(home, files=files) as memory:
                await ask(memory, "harbour")
                await on_the_writer(memory, lambda connection: connection.set_progress_handler(refuse, 1))
                with pytest.raises(StorageError) as refusal:
                    await verb.call(memory, world.ids)
                assert ("Nothing was" in str(refusal.value)) or "look before you repeat it" in str(refusal.value)
        await assert_a_restart_agrees(home, verb, world)
        tally["faults injected"] += 1 + files.fired
        if not files.fired:
            return


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere changes are found by scans")
async def test_a_look_at_a_changed_file_that_fails_is_told_and_the_change_is_seen_by_the_next_request(
    tmp_path: Path,
) -> None:
    files = Failing(0, stays=False, steps=("look",))
    async with living(tmp_path, files=files) as memory:
        await keep(memory, "The crane lifts forty tonnes.")
        await ask(memory, "crane")  # the new folder is known from here on
        [path] = (tmp_path / "memories").rglob("*crane*.md")
        path.write_text(path.read_text().replace("forty", "fifty"))
        files.armed = True
        with pytest.raises(StorageError, match="cannot be used"):
            await ask(memory, "crane")
        assert files.fired
        assert found(await ask(memory, "crane")) == ["The crane lifts fifty tonnes."]
