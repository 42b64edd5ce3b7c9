"""Pages and notes of one change: whatever fails, is killed, loses power or is edited, it is all old or all new."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from conftest import Effort
from disks import CHANGING, Disk, Failing, Recorded, Watched, lay_out, one_by_one, seeded, without_exchange
from holdfast.errors import ConflictError, HoldfastError, StorageError
from holdfast.model.note import Note
from holdfast.model.records import JournalRecord, page_key
from holdfast.store.codec import content_hash
from holdfast.store.journal import line_of, read_line
from holdfast.store.notes import NoteFiles
from holdfast.store.stored import Change, Committed, PageChange
from plans import IDS, OLD, leftovers, let_go, load_all, make_template, opened

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(600), pytest.mark.usefixtures("no_waiting_for_the_disk")]

Pages = dict[str, bytes]
NOW, SPACED, LOG, CAPSULE = "NOW.md", "now/harbour.md", "daily/2026-11-20.md", "capsules/20261120T120000.json"
BEFORE: Pages = {NOW: b"# NOW\n\nthe old task\n", LOG: b"# 2026-11-20\n\n\n## [then]\n\nan entry\n"}
LONGER = BEFORE[LOG] + b"\n\n## [now]\n\nanother entry\n"
PLANS: dict[str, Pages] = {
    "a new page": {SPACED: b"# NOW\n\na task\n"},
    "a rewrite": {NOW: b"# NOW\n\nthe new task\n"},
    "a log that grows": {LOG: LONGER},
    "all of it, with a note": {NOW: b"# NOW\n\nthe new task\n", LOG: LONGER, CAPSULE: b"{}\n"},
}
plans = pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
REWRITTEN = replace(OLD["a"], content="the second text of a")
EDITED = b"what the person typed\n"

State = tuple[Pages, Note]
OLD_STATE: State = (BEFORE, OLD["a"])


def after(plan: Pages) -> State:
    return BEFORE | plan, REWRITTEN if CAPSULE in plan else OLD["a"]


@pytest.fixture
async def template(tmp_path: Path) -> Path:
    """A folder with three notes, a NOW file and a log."""
    home = tmp_path / "template"
    await make_template(home)
    store = opened(home)
    await store.open()
    await carry_out(store, BEFORE)
    await store.aclose()
    return home


def copies(template: Path, parent: Path) -> Iterator[tuple[int, Path]]:
    for number in range(10**6):
        home = parent / f"round-{number}"
        shutil.copytree(template, home)
        yield number, home
        shutil.rmtree(home)


async def carry_out(store: NoteFiles, plan: Pages) -> Committed:
    keys = {page_key(path) for path in plan}
    changes: list[Change | PageChange] = []
    async with store.hold(keys | {IDS["a"]}):
        there = await store.pages(plan)
        changes += [PageChange(path, there.get(path), text) for path, text in plan.items()]
        if CAPSULE in plan:
            changes.append(Change((await load_all(store))["a"], REWRITTEN))
        async with store.commit("change", changes, JournalRecord()) as done:
            pass
    return done


async def state_of(store: NoteFiles) -> State:
    found = await store.pages([NOW, SPACED, LOG, CAPSULE])
    return {path: page.data for path, page in found.items()}, (await load_all(store))["a"].note


async def after_restart(home: Path) -> State:
    """What a new process finds once it has settled what was left open; nothing lies about then."""
    store = opened(home)
    await store.open()
    found = await state_of(store)
    await store.aclose()
    assert leftovers(home) == []
    return found


def replaced_texts(plan: Pages) -> list[bytes]:
    return [BEFORE[path] for path in plan if path == NOW]


async def test_pages_are_told_and_listed_and_their_old_texts_kept_but_not_those_of_a_log_that_grows(
    template: Path,
) -> None:
    store = opened(template)
    await store.open()
    done = await carry_out(store, PLANS["all of it, with a note"])
    assert done.pages == (NOW, LOG, CAPSULE)
    assert done.notes == (IDS["a"],)
    assert await store.list_pages("daily") == [LOG]
    assert await store.list_pages("now") == []
    kept = {path.name for path in (template / "history").iterdir()}
    assert f"{content_hash(BEFORE[NOW])}.md" in kept
    assert f"{content_hash(BEFORE[LOG])}.md" not in kept
    await store.drop_page(CAPSULE)
    assert await store.pages([CAPSULE]) == {}
    await store.aclose()


async def test_the_journal_names_a_page_its_hash_and_its_size(template: Path) -> None:
    store = opened(template)
    await store.open()
    await carry_out(store, PLANS["a log that grows"])
    intent = [record for record in await store.past.records() if record.change][-1]
    [file] = intent.files
    assert file.record() == {
        "note": f"page:{LOG}", "path": LOG, "aside": file.aside, "size": len(LONGER),
        "before": content_hash(BEFORE[LOG]), "after": content_hash(LONGER),
    }  # fmt: skip
    await store.aclose()


@pytest.mark.parametrize(
    ("name", "path"),
    [("page:NOW.md", "config.yaml"), ("page:config.yaml", "config.yaml"), ("page:now/x.md", "NOW.md")],
)
def test_a_line_that_calls_another_file_a_page_is_not_read(name: str, path: str) -> None:
    def line(name: str, path: str) -> bytes:
        file = {"note": name, "path": path, "before": None, "after": "0" * 64, "aside": "now/.chg_1.0.tmp", "size": 1}
        return line_of({"seq": 1, "at": "x", "op": "now", "change": "chg_1", "files": [file]})[:-1]

    assert read_line(line("page:NOW.md", "NOW.md")) is not None
    assert read_line(line(name, path)) is None


async def test_a_page_that_changed_since_it_was_read_is_a_conflict_and_stays(template: Path) -> None:
    store = opened(template)
    await store.open()
    page = (await store.pages([NOW]))[NOW]
    (template / NOW).write_bytes(EDITED)
    with pytest.raises(ConflictError):
        async with (
            store.hold([page_key(NOW)]),
            store.commit("change", [PageChange(NOW, page, b"new")], JournalRecord()),
        ):
            pass
    await store.aclose()
    assert (template / NOW).read_bytes() == EDITED


async def test_a_page_or_its_folder_that_is_a_symbolic_link_is_not_followed(template: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "x.md").write_bytes(b"mine")
    (template / "now").symlink_to(elsewhere)
    (template / NOW).unlink()
    (template / NOW).symlink_to(elsewhere / "x.md")
    store = opened(template)
    await store.open()
    for path in (NOW, "now/x.md"):
        with pytest.raises(StorageError):
            await store.pages([path])
    with pytest.raises(StorageError):
        async with (
            store.hold([page_key(SPACED)]),
            store.commit("change", [PageChange(SPACED, None, b"new")], JournalRecord()),
        ):
            pass
    await store.aclose()
    assert [path.name for path in elsewhere.iterdir()] == ["x.md"]


@plans
@pytest.mark.parametrize("stays", [False, True], ids=["once", "for good"])
async def test_a_step_that_fails_leaves_all_old_or_all_new(
    plan: Pages, stays: bool, template: Path, tmp_path: Path, tally: Counter[str]
) -> None:
    for number, home in copies(template, tmp_path):
        files = Failing(number, stays=stays, steps=CHANGING)
        store = opened(home, files)
        await store.open()
        files.armed = True
        told = False
        try:
            await carry_out(store, plan)
        except HoldfastError:
            told = True
        with suppress(HoldfastError):
            await store.aclose()
        found = await after_restart(home)
        assert found in (OLD_STATE, after(plan)), number
        assert told == (found == OLD_STATE) or (stays and told), number
        tally["faults injected"] += files.fired
        if not files.fired:
            assert number > 3
            return


@plans
async def test_a_kill_at_any_step_leaves_all_old_or_all_new(
    plan: Pages, template: Path, tmp_path: Path, tally: Counter[str]
) -> None:
    for number, home in copies(template, tmp_path):
        dying = Failing(number, stays=True, steps=CHANGING, torn=False)
        store = opened(home, dying)
        await store.open()
        dying.armed = True
        with suppress(HoldfastError):
            await carry_out(store, plan)
        let_go(store)
        assert await after_restart(home) in (OLD_STATE, after(plan)), number
        tally["kills survived"] += dying.fired
        if not dying.fired:
            assert number > 3
            return


@plans
@pytest.mark.parametrize("exchange", ["exchanged", "linked"])
@pytest.mark.parametrize("order", ["forwards", "backwards"])
async def test_a_power_cut_at_any_step_leaves_all_old_or_all_new_and_keeps_what_was_acknowledged(
    plan: Pages, order: str, exchange: str, template: Path, tmp_path: Path, effort: Effort, tally: Counter[str]
) -> None:
    home = tmp_path / "cut"
    shutil.copytree(template, home)
    files = Recorded(Disk(home, tmp_path / "kept"), seeded(0), effort.of(3, 30))
    with (
        files.mounted(),
        patch("holdfast.store.writer.together", one_by_one(backwards=order == "backwards")),
        without_exchange() if exchange == "linked" else nullcontext(),
    ):
        store = opened(home, files)
        await store.open()
        files.recording = True
        await carry_out(store, plan)
        files.acknowledged = True
        files.take("the next request")
        await store.aclose()
        files.take("the end")
    for (answered, picture), moment in files.images.items():
        left = tmp_path / "left"
        lay_out(picture, left)
        assert await after_restart(left) in ([after(plan)] if answered else [OLD_STATE, after(plan)]), moment
        if answered:
            for text in replaced_texts(plan):
                assert (left / "history" / f"{content_hash(text)}.md").read_bytes() == text, moment
        shutil.rmtree(left)
        tally["power cuts simulated"] += 1


class Interrupted(Watched):
    """An editor saves a page before the n-th step."""

    def __init__(self, path: Path, at: int) -> None:
        super().__init__()
        self.armed = False
        self.fired = False
        self.before = self._slip_in
        self._path = path
        self._left = at

    def _slip_in(self, _name: str, _arguments: tuple[Any, ...]) -> None:
        self._left -= self.armed
        if self.armed and self._left == -1:
            fresh = self._path.with_name("editor.swp")
            fresh.write_bytes(EDITED)
            fresh.replace(self._path)
            self.fired = True


@pytest.mark.parametrize("path", [NOW, LOG])
async def test_what_an_editor_saves_between_any_two_steps_is_never_lost(
    path: str, template: Path, tmp_path: Path
) -> None:
    plan = PLANS["all of it, with a note"]
    for number, home in copies(template, tmp_path):
        files = Interrupted(home / path, number)
        store = opened(home, files)
        await store.open()
        files.armed = True
        refused = False
        try:
            await carry_out(store, plan)
        except HoldfastError:
            refused = True
        files.armed = False
        await store.aclose()
        stands = (home / path).read_bytes()
        kept = [text.read_bytes() for text in (*home.glob("history/*.md"), *home.glob("trash/conflicts/*"))]
        if files.fired:
            assert stands == EDITED or EDITED in kept, number
        if refused:
            assert stands == EDITED, number
        elif files.fired:
            assert stands in (EDITED, plan[path]), number
        if not files.fired:
            return


async def test_a_page_that_a_crash_left_is_settled_by_whoever_locks_it_and_is_told_as_no_note(template: Path) -> None:
    dying = Failing(1, stays=True, steps=("swap",), torn=False)
    store = opened(template, dying)
    await store.open()
    dying.armed = True
    with suppress(HoldfastError):
        await carry_out(store, PLANS["all of it, with a note"])
    let_go(store)
    other = opened(template)
    await other._journal.open()  # as a process that was there before: nothing was settled at its start
    async with other.hold({page_key(NOW)}) as made:
        assert made == {IDS["a"]}
        assert await state_of(other) == after(PLANS["all of it, with a note"])
    await other.aclose()
