"""An editor saves in place while a tool changes the note: at every point, whoever is killed, both texts are kept."""

from __future__ import annotations

import functools
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from disks import STEPS, KilledError
from holdfast.errors import ConflictError, HoldfastError, StorageError
from holdfast.model.records import NOW, JournalRecord, page_key
from holdfast.store.notes import NoteFiles
from holdfast.store.stored import Change, PageChange, Stored
from inplace import SECOND, STAGES, Dated, Editor, Unknowing
from plans import IDS, let_go, make_template, opened

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("no_waiting_for_the_disk")]

MARK = b"what the person typed"
AGAIN = b"what the person typed later"
DISKS = {"who has a file open is known": Dated, "it is not known": Unknowing}
disks = pytest.mark.parametrize("disk", DISKS.values(), ids=DISKS)
whats = pytest.mark.parametrize("what", ["rewrite", "deletion", "page"])
stages = pytest.mark.parametrize("stage", STAGES)


@pytest.fixture
async def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    await make_template(home)
    store = opened(home)
    await store.open()
    async with (
        store.hold({page_key(NOW)}),
        store.commit("now", [PageChange(NOW, None, b"# NOW\n\nthe old page\n")], JournalRecord()),
    ):
        pass
    await store.aclose()
    return home


def file_of(home: Path, what: str) -> Path:
    return home / NOW if what == "page" else next((home / "memories").rglob("a.*.md"))


def typed(path: Path) -> bytes:
    """What the editor saves: the text as it was, and more."""
    return path.read_bytes() + b"\n" + MARK + b"\n"


def typed_again(text: bytes) -> bytes:
    return text + AGAIN + b"\n"


async def change(store: NoteFiles, home: Path, what: str) -> None:
    """Rewrite or delete a note, or rewrite a page, as a tool does."""
    key, changed = await planned(store, home, what)
    async with store.hold({key}), store.commit("change", [changed], JournalRecord()):
        pass


async def planned(store: NoteFiles, home: Path, what: str) -> tuple[str, Change | PageChange]:
    if what == "page":
        page = (await store.pages([NOW]))[NOW]
        return page_key(NOW), PageChange(NOW, page, b"# NOW\n\nthe new page\n")
    path = file_of(home, what).relative_to(home / "memories").as_posix()
    (before,) = await store.load([path], {path: IDS["a"]})
    assert isinstance(before, Stored)
    return IDS["a"], Change(before, None if what == "deletion" else replace(before.note, content="the second text"))


def texts(home: Path) -> dict[str, bytes]:
    """Every text of a note or page, wherever it is, by path."""
    folders = ("memories", "history", "trash")
    found = [path for folder in folders for path in (home / folder).rglob("*") if path.is_file()]
    return {path.relative_to(home).as_posix(): path.read_bytes() for path in (*found, home / NOW) if path.exists()}


def holding(home: Path, text: bytes, *folders: str) -> list[str]:
    return [path for path, data in texts(home).items() if text in data and path.startswith(folders)]


def assert_kept(home: Path, text: bytes, *about: object) -> None:
    """As the note or page, in the history, or filed; nothing lies about under a hidden name."""
    assert holding(home, text, "memories", "history", "NOW", "trash/conflicts"), about
    assert not [path for path in home.rglob(".chg*") if path.is_file()], about


def assert_all_is_reported(home: Path, reports: list[str]) -> None:
    filed = holding(home, b"", "trash/conflicts")
    assert all(any(path in report for report in reports) for path in filed), (filed, reports)


async def settled(store: NoteFiles, files: Dated) -> list[str]:
    """What is reported when all that waited has been looked at."""
    files.ahead += 60 * SECOND
    reports: list[str] = []
    for _ in range(3):
        await store.look_again()
        reports += store.take_reports()
    return reports


@stages
@whats
async def test_what_is_being_saved_is_not_rewritten_until_it_is_still(what: str, stage: str, home: Path) -> None:
    files = Dated()
    store = opened(home, files)
    await store.open()
    path = file_of(home, what)
    text = typed(path)
    editor = Editor(path, text)
    editor.save_until(stage)
    if stage == "opened":
        return  # nobody can see that on every system, and what follows is kept: see below
    inode = path.stat().st_ino
    with pytest.raises(ConflictError) as refused:
        await change(store, home, what)
    assert 0 < refused.value.settles_in <= 1
    assert path.stat().st_ino == inode
    editor.finish()
    assert path.read_bytes() == text
    files.ahead = 2 * SECOND
    await change(store, home, what)
    await store.aclose()
    assert holding(home, MARK, "history") or holding(home, MARK, "trash")


@pytest.mark.in_turn(2)
@disks
@pytest.mark.parametrize("killed", [False, True], ids=["alive", "killed"])
@pytest.mark.parametrize("again", [False, True], ids=["saved once", "saved again"])
@stages
@whats
async def test_what_an_editor_saves_after_the_change_stands_or_is_filed_and_reported(
    what: str, stage: str, again: bool, killed: bool, disk: type[Dated], home: Path
) -> None:
    """It was still for long when the tool came: an editor that hangs, or has the file open all the time."""
    files = disk()
    path = file_of(home, what)
    old, text = path.read_bytes(), typed(path)
    editor = Editor(path, text)
    store = opened(home, files)
    await store.open()
    editor.save_until(stage)
    files.ahead = 2 * SECOND
    await change(store, home, what)
    if killed:
        let_go(store)
        store = opened(home, files)
        await store.open()
    if again and stage != "closed":
        editor.save_until("written")
        await store.look_again()
        editor.write_again(typed_again(text))
    editor.finish()
    reports = await settled(store, files)
    await store.aclose()
    if stage == "opened":
        assert_kept(home, old)
    assert_kept(home, MARK)
    if again and stage != "closed":
        assert_kept(home, AGAIN)
    assert_all_is_reported(home, reports)


@disks
async def test_while_the_folder_is_only_read_nothing_that_waits_is_put_back_or_taken_away(
    disk: type[Dated], home: Path
) -> None:
    files = disk()
    path = file_of(home, "rewrite")
    editor = Editor(path, typed(path))
    store = opened(home, files)
    await store.open()
    editor.save_until("opened")
    files.ahead = 2 * SECOND
    await change(store, home, "rewrite")
    editor.finish()
    await store.read_only("the disk is full")
    before = files_in(home)
    files.ahead += 60 * SECOND
    assert await store.look_again() is not None  # it waits on
    assert files_in(home) == before
    await store.write_again()
    await settled(store, files)
    await store.aclose()
    assert_kept(home, MARK)


async def test_while_the_folder_is_only_read_a_file_of_a_person_is_given_no_id(home: Path) -> None:
    store = opened(home)
    await store.open()
    path = home / "memories" / "mine.md"
    path.write_text("The gulls nest on the roof.\n")
    (mine,) = await store.load(["mine.md"], {"mine.md": IDS["e"]})
    assert isinstance(mine, Stored)
    await store.read_only("the disk is full")
    before = files_in(home)
    with pytest.raises(StorageError):
        await store.adopt(mine)
    assert files_in(home) == before
    await store.write_again()
    os.utime(path, (1, 1))
    async with store.hold({IDS["e"]}):
        assert await store.adopt(mine)
    await store.aclose()


class Counting(Unknowing):
    """Counts how many bytes of the journal are read."""

    read_of_journal = 0

    def read(self, path: Path | str, most: int = -1, start: int = 0) -> bytes:
        data = super().read(path, most, start)
        self.read_of_journal += len(data) * (Path(path).suffix == ".jsonl")
        return data


async def test_a_start_reads_the_journal_for_all_that_waits_at_once(home: Path) -> None:
    files = Counting()
    store = opened(home, files)
    await store.open()
    for number in range(20):
        _, changed = await planned(store, home, "rewrite")
        assert isinstance(changed, Change)
        assert changed.before is not None
        after = replace(changed.before.note, content=f"text {number}")
        async with store.hold({IDS["a"]}), store.commit("change", [Change(changed.before, after)], JournalRecord()):
            pass
    let_go(store)
    files.read_of_journal = 0
    store = opened(home, files)
    await store.open()
    there = sum(path.stat().st_size for path in (home / "journal").iterdir())
    await store.aclose()
    assert len([path for path in files_in(home) if path.suffix == ".old"]) == 20
    assert files.read_of_journal < 8 * there


class Overtaken(Dated):
    """Just before one looks at a file that waits, another has done so."""

    def __init__(self) -> None:
        super().__init__()
        self.first: Callable[[], Any] | None = None

    @contextmanager
    def lone_reader(self, path: Path) -> Iterator[bool | None]:
        first, self.first = self.first, None
        if first is not None:
            first()
        with super().lone_reader(path) as alone:
            yield alone


async def test_two_may_look_at_what_waits_at_the_same_time(home: Path) -> None:
    files = Overtaken()
    path = file_of(home, "rewrite")
    store = opened(home, files)
    await store.open()
    with path.open("r+b"):
        files.ahead = 2 * SECOND
        await change(store, home, "rewrite")
    swapped = store._swapped
    [(kept, plan)] = swapped.waiting
    files.first = functools.partial(swapped.is_due, kept, plan)
    assert await store.look_again() is None
    assert files.first is None
    assert not swapped.waiting
    await store.aclose()


def files_in(home: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}


class Slipping(Dated):
    """At the n-th step an editor goes on as far as to a stage; the process may die some steps later."""

    def __init__(self, at: int, dies_after: int | None) -> None:
        super().__init__()
        self.editor: Editor | None = None
        self.stage = ""
        self.fired = self.dead = False
        self._left, self._dies_after = at, dies_after

    def step(self) -> None:
        if self.editor is None:
            return
        self._left -= 1
        if self._left == -1:
            self.editor.save_until(self.stage)
            self.fired = True
        self.dead = self._dies_after is not None and self._left < -1 - self._dies_after
        if self.dead:
            raise KilledError


def _slipping(name: str) -> Any:
    def step(self: Slipping, *arguments: Any, **options: Any) -> Any:
        self.step()
        return getattr(Dated, name)(self, *arguments, **options)

    return step


for _name in (*STEPS, "lone_reader", "link"):
    setattr(Slipping, _name, _slipping(_name))


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("dies_after", [None, 0, 3], ids=["alive", "killed at once", "killed a little later"])
@pytest.mark.parametrize(("before", "stage"), [("opened", "cut"), ("", "half"), ("opened", "half"), ("cut", "closed")])
@whats
async def test_what_an_editor_saves_around_any_step_is_never_lost(
    what: str, before: str, stage: str, dies_after: int | None, home: Path, tmp_path: Path, tally: Counter[str]
) -> None:
    for number in range(200):
        here = shutil.copytree(home, tmp_path / f"round-{number}")
        files = Slipping(number, dies_after)
        path = file_of(here, what)
        old, text = path.read_bytes(), typed(path)
        store = opened(here, files)
        await store.open()
        editor = Editor(path, text)
        key, changed = await planned(store, here, what)
        editor.save_until(before)
        files.stage, files.editor = stage, editor
        with suppress(HoldfastError, KilledError):
            async with store.hold({key}), store.commit("change", [changed], JournalRecord()):
                pass
        files.editor = None
        let_go(store)
        if not files.fired:
            assert number > 10
            return
        disk = Dated()
        store = opened(here, disk)
        if dies_after is not None:
            await store.open()
        editor.finish()
        if dies_after is None:
            await store.open()
        reports = await settled(store, disk)
        await store.aclose()
        assert_kept(here, MARK, number)
        assert_all_is_reported(here, reports)
        assert any(old in data for data in texts(here).values()), number
        tally["saves in place"] += 1
        shutil.rmtree(here)
    pytest.fail("the change has no end")


class Finishing(Dated):
    """A disk on which an editor finishes its save right after a cut file has been read so many times."""

    def __init__(self, reads: int) -> None:
        super().__init__()
        self.left = reads
        self.editor: Editor | None = None

    def read(self, path: Path | str, most: int = -1, start: int = 0) -> bytes:
        data = super().read(path, most, start)
        if not data and self.editor is not None:
            self.left -= 1
            if self.left == 0:
                self.editor.finish()
        return data


@pytest.mark.parametrize("reads", range(1, 7))
async def test_what_is_written_at_last_into_a_file_that_was_cut_long_before_is_kept(reads: int, home: Path) -> None:
    files = Finishing(reads)
    store = opened(home, files)
    await store.open()
    editor = Editor(file_of(home, "rewrite"), typed(file_of(home, "rewrite")))
    editor.save_until("opened")
    await change(store, home, "rewrite")
    editor.save_until("cut")
    files.ahead += 2 * SECOND
    files.editor = editor
    for _ in range(3):
        await store.look_again()
    editor.finish()
    await settled(store, files)
    await store.aclose()
    assert_kept(home, MARK, reads)
