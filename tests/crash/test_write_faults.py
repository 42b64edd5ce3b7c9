"""Every step of the write path fails, meets a full disk or an editor's save; a kill is followed by a person's edit."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from conftest import Effort
from disks import CHANGING, STEPS, Failing, Small, Watched, failing_flush
from holdfast.errors import ConflictError, HoldfastError, StorageError
from holdfast.model.note import Note
from holdfast.model.records import JournalRecord
from holdfast.store.codec import content_hash
from holdfast.store.filesystem import FileSystem
from holdfast.store.journal import read_line
from holdfast.store.stored import Change, Committed
from plans import (
    IDS,
    OLD,
    PLANS,
    Plan,
    after,
    assert_old_texts_are_kept,
    carry_out,
    let_go,
    load_all,
    make_template,
    notes_after_restart,
    opened,
    plans,
)

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("no_waiting_for_the_disk")]

EDITED = b"what the person typed\n"


@pytest.fixture
async def template(tmp_path: Path) -> Path:
    home = tmp_path / "template"
    await make_template(home)
    return home


def copies(template: Path, parent: Path) -> Iterator[tuple[int, Path]]:
    """A fresh copy of the folder for each round."""
    number = 0
    while True:
        home = parent / f"round-{number}"
        shutil.copytree(template, home)
        yield number, home
        shutil.rmtree(home)
        number += 1


# A step fails


@plans
async def test_a_step_that_fails_once_leaves_all_old_or_all_new_and_the_answer_says_which(
    plan: Plan, template: Path, tmp_path: Path, tally: Counter[str]
) -> None:
    for number, home in copies(template, tmp_path):
        files = Failing(number, stays=False)
        store = opened(home, files)
        await store.open()
        files.armed = True
        try:
            await carry_out(store, plan)
            expected = after(plan)
        except HoldfastError:
            expected = OLD
        files.armed = False
        assert {name: stored.note for name, stored in (await load_all(store)).items()} == expected, number
        await store.aclose()
        assert await notes_after_restart(home) == expected, number
        if expected is not OLD:
            assert_old_texts_are_kept(home, template, plan)
        tally["faults injected"] += files.fired
        if not files.fired:
            assert number > 10
            return


@plans
async def test_the_same_process_can_go_on_after_a_step_has_failed(
    plan: Plan, template: Path, tmp_path: Path, tally: Counter[str], effort: Effort
) -> None:
    for number, home in copies(template, tmp_path):
        files = Failing(number, stays=False, steps=STEPS if effort.long else CHANGING)
        store = opened(home, files)
        await store.open()
        files.armed = True
        with suppress(HoldfastError):
            await carry_out(store, plan)
        files.armed = False
        await carry_out(store, {"b": None} if "b" in await load_all(store) else {"a": None})
        await store.aclose()
        await notes_after_restart(home)
        tally["faults injected"] += files.fired
        if not files.fired:
            return


@plans
async def test_a_disk_that_stays_broken_leaves_all_old_or_all_new(
    plan: Plan, template: Path, tmp_path: Path, tally: Counter[str], effort: Effort
) -> None:
    for number, home in copies(template, tmp_path):
        files = Failing(number, stays=True, steps=STEPS if effort.long else CHANGING)
        store = opened(home, files)
        await store.open()
        files.armed = True
        told = ""
        try:
            await carry_out(store, plan)
        except HoldfastError as error:
            told = str(error)
        with suppress(HoldfastError):
            await store.aclose()
        found = await notes_after_restart(home)
        assert found in (OLD, after(plan)), number
        assert found == after(plan) or told, number
        assert found == OLD or "Nothing was changed" not in told, number
        tally["faults injected"] += files.fired
        if not files.fired:
            return


@plans
async def test_a_disk_that_mends_is_used_again_and_nothing_is_mixed(
    plan: Plan, template: Path, tmp_path: Path, tally: Counter[str], effort: Effort
) -> None:
    for number, home in copies(template, tmp_path):
        files = Failing(number, stays=True, steps=STEPS if effort.long else CHANGING)
        store = opened(home, files)
        await store.open()
        files.armed = True
        with suppress(HoldfastError):
            await carry_out(store, plan)
        files.armed = False
        async with store.hold(IDS.values()):
            found = {name: stored.note for name, stored in (await load_all(store)).items()}
        assert found in (OLD, after(plan)), number
        await store.aclose()
        assert await notes_after_restart(home) == found, number
        tally["faults injected"] += files.fired
        if not files.fired:
            return


@plans
async def test_a_flush_that_fails_leaves_all_old_or_all_new_and_the_answer_says_which(
    plan: Plan, template: Path, tmp_path: Path, tally: Counter[str]
) -> None:
    for number, home in copies(template, tmp_path):
        store = opened(home)
        await store.open()
        expected = OLD
        with failing_flush(number) as flushes, suppress(HoldfastError):
            await carry_out(store, plan)
            expected = after(plan)
        assert {name: stored.note for name, stored in (await load_all(store)).items()} == expected, number
        await carry_out(store, PLANS["a rewrite"])
        await store.aclose()
        assert await notes_after_restart(home) == expected | PLANS["a rewrite"], number
        if flushes[0] <= number:
            assert number > 2
            return
        tally["faults injected"] += 1


async def notes_on_the_full_disk(home: Path, files: Small) -> dict[str, Note]:
    """What a second process finds, which must be able to read although it cannot write down what it settled."""
    store = opened(home, files)
    await store.open()
    found = {name: stored.note for name, stored in (await load_all(store)).items()}
    with suppress(StorageError):
        await store.aclose()
    return found


@plans
async def test_a_disk_that_is_full_refuses_the_whole_change_and_takes_it_when_there_is_room(
    plan: Plan, template: Path, tmp_path: Path, tally: Counter[str], effort: Effort
) -> None:
    """The disk stays full, from whatever byte of whatever write, until something is taken away."""
    for number, home in copies(template, tmp_path):
        files = Small()
        with files.mounted():
            store = opened(home, files)
            await store.open()
            files.room = number * effort.of(97, 7)
            try:
                await carry_out(store, plan)
                expected = after(plan)
            except StorageError:
                expected = OLD
            full = files.refused
            assert {name: stored.note for name, stored in (await load_all(store)).items()} == expected, number
            if full:
                with pytest.raises(StorageError):
                    await carry_out(store, {"a": replace(OLD["a"], content="a long text " * 200)})
                assert (
                    await notes_on_the_full_disk(shutil.copytree(home, tmp_path / f"full-{number}"), files) == expected
                )
            files.room = 1 << 30
            await carry_out(store, PLANS["a rewrite"])
            await store.aclose()
        assert await notes_after_restart(home) == expected | PLANS["a rewrite"], number
        tally["faults injected"] += full
        if not full:
            assert expected != OLD
            assert number > 3
            return


@plans
async def test_when_the_index_refuses_the_files_are_put_back(plan: Plan, template: Path) -> None:
    async def refuse() -> None:
        raise StorageError("The index is full.")

    store = opened(template)
    await store.open()
    with pytest.raises(StorageError, match="index is full"):
        await carry_out(store, plan, refuse)
    await store.aclose()
    assert await notes_after_restart(template) == OLD


# A crash, and then a person


async def killed_after(home: Path, plan: Plan, exchanged: int) -> None:
    """Leave the folder as a process that was killed when it had exchanged so many of the plan's files."""
    files = Failing(exchanged, stays=True, steps=("swap",), torn=False)
    store = opened(home, files)
    await store.open()
    files.armed = True
    with pytest.raises(HoldfastError):
        await carry_out(store, plan)
    let_go(store)


def file_of(home: Path, name: str) -> Path:
    return next((home / "memories").rglob(f"{name}.*.md"))


def edited(home: Path, name: str) -> Note:
    """A person changes the text of a note in their editor."""
    path = file_of(home, name)
    path.write_bytes(path.read_bytes().replace(b"text of", b"text, edited, of"))
    return replace(OLD[name], content=path.read_text("utf-8").rpartition("---\n")[2].rstrip())


async def test_an_edit_of_a_note_that_was_exchanged_before_the_kill_does_not_leave_the_others_behind(
    template: Path,
) -> None:
    plan = PLANS["three notes rewritten"]
    await killed_after(template, plan, 1)
    mine = edited(template, "a")
    assert await notes_after_restart(template) == {**after(plan), "a": mine}
    assert list((template / "trash" / "conflicts").iterdir()) == []


async def test_an_edit_of_a_note_whose_new_text_was_torn_by_the_kill_carries_no_other_note_with_it(
    template: Path,
) -> None:
    plan = PLANS["three notes rewritten"]
    await killed_after(template, plan, 0)
    aside = min(path for path in (template / "memories").rglob(".chg*.tmp") if b"text of a" in path.read_bytes())
    aside.write_bytes(aside.read_bytes()[:50])
    mine = edited(template, "a")
    assert await notes_after_restart(template) == {**OLD, "a": mine}


@pytest.mark.parametrize("name", ["a", "d"], ids=["a rewrite", "a new note"])
async def test_a_change_that_was_whole_before_the_kill_is_history_even_if_its_file_is_edited_or_moved_by_hand(
    name: str, template: Path
) -> None:
    plan = PLANS["a rewrite"] if name == "a" else PLANS["a new note"]
    store = opened(template)
    await store.open()
    await carry_out(store, plan)
    let_go(store)
    if name == "a":
        edited(template, name)
    else:
        file_of(template, name).rename(template / "memories" / "my own name.md")
    await notes_after_restart(template)
    records = [read_line(line) for path in (template / "journal").iterdir() for line in path.read_bytes().splitlines()]
    assert not any(record is None or "void" in record for record in records)


async def test_two_files_of_one_name_can_be_deleted_in_one_change(template: Path) -> None:
    for name in "ac":
        path = file_of(template, name)
        path.rename(path.with_name("plans.md"))
    store = opened(template)
    await store.open()
    await carry_out(store, {"a": None, "c": None})
    await store.aclose()
    assert await notes_after_restart(template) == {"b": OLD["b"]}
    texts = "".join(path.read_text("utf-8") for path in (template / "trash").glob("*.md"))
    assert "the first text of a" in texts
    assert "the first text of c" in texts


# An editor saves


def in_place(path: Path) -> None:
    path.write_bytes(EDITED)


def by_rename(path: Path) -> None:
    fresh = path.with_name("editor.swp")
    fresh.write_bytes(EDITED)
    fresh.replace(path)


def by_removal_first(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.write_bytes(EDITED)


editors = pytest.mark.parametrize("save", [in_place, by_rename, by_removal_first])


class Interrupted(Watched):
    """An editor saves before the n-th step; what a kill would leave is pictured from then on."""

    def __init__(self, home: Path, pictures: Path, at: int, save: Callable[[], None], *, pictured: bool) -> None:
        super().__init__()
        self.home = home
        self.pictures: list[tuple[str, Path]] = []
        self.fired = False
        self.armed = False
        self.before = self._slip_in
        self._folder = pictures
        self._left = at
        self._save = save
        self._pictured = pictured

    def _slip_in(self, name: str, arguments: tuple[Any, ...]) -> None:
        if not self.armed:
            return
        self._left -= 1
        if self._left == -1:
            self._save()
            self.fired = True
        if self.fired and self._pictured and name in CHANGING:
            target = self._folder / f"{len(self.pictures):04d}"
            shutil.copytree(self.home, target)
            self.pictures.append((f"edited, then killed before {name} {arguments[0].name}", target))


def texts_of_the_person(home: Path) -> tuple[bool, bool]:
    """Whether the editor's text is the note's file, and whether it was filed as a conflict."""
    stands = any(path.read_bytes() == EDITED for path in (home / "memories").rglob("*.md"))
    filed = any(path.read_bytes() == EDITED for path in (home / "trash").rglob("*.md"))
    return stands, filed


@pytest.mark.in_turn(3)
@editors
@pytest.mark.parametrize("what", ["a rewrite", "a deletion", "three notes rewritten"])
async def test_what_an_editor_saves_between_any_two_steps_is_never_lost(
    what: str, save: Callable[[Path], None], template: Path, tmp_path: Path
) -> None:
    plan = PLANS[what]
    for number, home in copies(template, tmp_path):
        path = next(home.rglob(f"memories/**/{next(iter(plan))}.*.md"))
        pictures = tmp_path / f"pictures-{number}"
        pictures.mkdir()
        files = Interrupted(home, pictures, number, partial(save, path), pictured=len(plan) == 1)
        store = opened(home, files)
        await store.open()
        async with store.hold(IDS.values()):
            there = await load_all(store)
            changes = [Change(there[name], made) for name, made in plan.items()]
            files.armed = True
            refused = False
            done = None
            try:
                async with store.commit("change", changes, JournalRecord()) as done:
                    pass
            except ConflictError:
                refused = True
            files.armed = False
        await store.aclose()
        stands, filed = texts_of_the_person(home)
        if files.fired:
            assert stands or filed, number
        if refused:
            assert stands, number
        if done is not None and not refused:
            assert_the_index_is_told_the_truth(home, done)
        for told, picture in files.pictures:
            await settled(picture)
            assert any(texts_of_the_person(picture)), (number, told)
        shutil.rmtree(pictures)
        if not files.fired:
            return


async def settled(home: Path) -> None:
    store = opened(home)
    await store.open()
    await store.aclose()


def assert_the_index_is_told_the_truth(home: Path, done: Committed) -> None:
    """A signature of the editor's file beside the hash of ours would hide the edit from every later look."""
    for stored in done.stored:
        path = home / "memories" / stored.path
        if FileSystem().signature(path) == stored.signature:
            assert content_hash(path.read_bytes()) == stored.hash
