"""Every step of the write path fails, is the last one before a kill or a power cut, or meets an editor's save."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import ConflictError, HoldfastError, StorageError
from holdfast.model.memory import Note
from holdfast.store.codec import content_hash
from holdfast.store.filesystem import FileSystem
from holdfast.store.folder import Folder
from holdfast.store.notes import NoteFiles
from holdfast.store.stored import Change, Committed, Stored, Unreadable

pytestmark = pytest.mark.anyio

LOOKING = ("read", "exists", "signature", "size", "scan", "list_folder", "list_hidden")
STEPS = (*LOOKING, "create", "append", "truncate", "move", "swap", "remove", "flush_folder", "make_folder")
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
IDS = {name: f"mem_{name * 16}" for name in "abcd"}
ERRORS = (errno.ENOSPC, errno.EACCES, errno.EIO)
EDITED = b"what the person typed\n"


class Watched(FileSystem):
    """The real disk, one step at a time; `look` is told of each step before it is made."""

    def __init__(self) -> None:
        self.look: Callable[[str, tuple[Any, ...]], None] = lambda _name, _arguments: None
        self._turn = threading.RLock()


def _watched(name: str) -> Callable[..., Any]:
    def step(self: Watched, *arguments: Any, **options: Any) -> Any:
        with self._turn:
            self.look(name, arguments)
            return getattr(FileSystem, name)(self, *arguments, **options)

    return step


for _name in STEPS:
    setattr(Watched, _name, _watched(_name))


class Failing(Watched):
    """Fails at the n-th step, and at all later ones if it `stays` broken. A failing write leaves half of it behind."""

    def __init__(self, at: int, *, stays: bool) -> None:
        super().__init__()
        self.look = self._fail
        self.armed = False
        self.fired = False
        self._left = at
        self._stays = stays
        self._error = ERRORS[at % len(ERRORS)]

    def _fail(self, name: str, arguments: tuple[Any, ...]) -> None:
        if not self.armed:
            return
        self._left -= 1
        if self._left == -1 or (self._stays and self._left < 0):
            self.fired = True
            if name in {"create", "append"} and self._left == -1:
                with suppress(OSError), arguments[0].open("ab") as file:
                    file.write(arguments[1][: len(arguments[1]) // 2])
            raise OSError(self._error, os.strerror(self._error), str(arguments[0]))


def opened(home: Path, files: FileSystem | None = None) -> NoteFiles:
    numbers = iter(range(1, 100))
    return NoteFiles(
        Folder(home), files or FileSystem(), lambda: NOON, lambda: f"chg_{next(numbers) + _next_generation():016d}"
    )


_generation = [0]


def _next_generation() -> int:
    _generation[0] += 100
    return _generation[0]


def note(name: str, content: str, space: str) -> Note:
    return Note(IDS[name], content, name, "2026-11-20T10:00:00Z", "2026-11-20T10:00:00Z", space=space)


OLD = {
    "a": note("a", "the first text of a", "here"),
    "b": note("b", "the first text of b", "here"),
    "c": note("c", "the first text of c", "there"),
}
NEW_D = note("d", "the new note", "elsewhere")

Plan = dict[str, Note | None]
PLANS: dict[str, Plan] = {
    "a new note": {"d": NEW_D},
    "a rewrite": {"a": replace(OLD["a"], content="the second text of a")},
    "a deletion": {"b": None},
    "three notes rewritten": {name: replace(OLD[name], content=f"the second text of {name}") for name in "abc"},
    "a new note, a rewrite and a deletion": {"d": NEW_D, "a": replace(OLD["a"], superseded_by=IDS["d"]), "c": None},
}
plans = pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)


def after(plan: Plan) -> dict[str, Note]:
    return {name: made for name, made in (OLD | plan).items() if made is not None}


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _handle: None)  # what is flushed is modelled, not done


@pytest.fixture
async def template(tmp_path: Path) -> Path:
    """A folder with three notes, closed in peace."""
    home = tmp_path / "template"
    store = opened(home)
    await store.open()
    async with store.hold(IDS.values()), store.commit("made", [Change(None, made) for made in OLD.values()], {}):
        pass
    await store.aclose()
    return home


async def load_all(store: NoteFiles) -> dict[str, Stored]:
    found = await store.load(sorted(await store.scan()), {})
    unread = [item.reason for item in found if isinstance(item, Unreadable)]
    if unread:
        assert all(reason.startswith("it cannot be read") for reason in unread), unread
        raise StorageError("A file cannot be read.")
    return {item.note.title: item for item in found if isinstance(item, Stored)}


async def carry_out(store: NoteFiles, plan: Plan, inside: Callable[[], Awaitable[None]] | None = None) -> Committed:
    async with store.hold(IDS[name] for name in plan):
        there = await load_all(store)
        changes = [Change(there.get(name), made) for name, made in plan.items()]
        async with store.commit("change", changes, {}) as done:
            if inside is not None:
                await inside()
    return done


async def notes_after_restart(home: Path) -> dict[str, Note]:
    """What a new process finds, once it has settled what was left open; the folder is then clean."""
    store = opened(home)
    await store.open()
    found = {name: stored.note for name, stored in (await load_all(store)).items()}
    await store.aclose()
    assert leftovers(home) == []
    return found


def leftovers(home: Path) -> list[str]:
    return [path.relative_to(home).as_posix() for path in home.rglob(".*") if path.name != ".holdfast"]


def assert_old_texts_are_kept(home: Path, template: Path, plan: Plan) -> None:
    for path in template.rglob("memories/**/*.md"):
        if path.name.partition(".")[0] in plan:
            data = path.read_bytes()
            assert (home / "history" / f"{content_hash(data)}.md").read_bytes() == data


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
    plan: Plan, template: Path, tmp_path: Path
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
        if not files.fired:
            assert number > 10
            return


@plans
async def test_the_same_process_can_go_on_after_a_step_has_failed(plan: Plan, template: Path, tmp_path: Path) -> None:
    for number, home in copies(template, tmp_path):
        files = Failing(number, stays=False)
        store = opened(home, files)
        await store.open()
        files.armed = True
        with suppress(HoldfastError):
            await carry_out(store, plan)
        files.armed = False
        await carry_out(store, {"b": None} if "b" in await load_all(store) else {"a": None})
        await store.aclose()
        await notes_after_restart(home)
        if not files.fired:
            return


@plans
async def test_a_disk_that_stays_broken_leaves_all_old_or_all_new(plan: Plan, template: Path, tmp_path: Path) -> None:
    for number, home in copies(template, tmp_path):
        files = Failing(number, stays=True)
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
        if not files.fired:
            return


@plans
async def test_a_disk_that_mends_is_used_again_and_nothing_is_mixed(plan: Plan, template: Path, tmp_path: Path) -> None:
    for number, home in copies(template, tmp_path):
        files = Failing(number, stays=True)
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
        if not files.fired:
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


# A kill or a power cut


@dataclass
class Disk:
    """What would be found after a power cut: only what was flushed. Names and contents are flushed apart."""

    home: Path
    kept: Path  # second names, so that no inode is used twice
    contents: dict[int, bytes] = field(default_factory=dict)
    names: dict[int, dict[str, tuple[int, bool]]] = field(default_factory=dict)

    def begin(self) -> None:
        self.kept.mkdir()
        for folder, _, files in os.walk(self.home):
            self.flush_names(Path(folder))
            for name in files:
                self.flush_content(Path(folder, name))

    def flush_content(self, path: Path) -> None:
        inode = path.stat().st_ino
        with suppress(FileExistsError):
            os.link(path, self.kept / str(inode))
        self.contents[inode] = path.read_bytes()

    def flush_names(self, folder: Path) -> None:
        self.names[folder.stat().st_ino] = self.names_of(folder)

    def names_of(self, folder: Path) -> dict[str, tuple[int, bool]]:
        with os.scandir(folder) as found:
            return {entry.name: (entry.inode(), entry.is_dir()) for entry in found}

    def image(self, target: Path) -> None:
        self._build(self.home.stat().st_ino, target)

    def _build(self, folder: int, target: Path) -> None:
        target.mkdir()
        for name, (inode, is_folder) in self.names.get(folder, {}).items():
            if is_folder:
                self._build(inode, target / name)
            else:
                (target / name).write_bytes(self.contents.get(inode, b""))


class Recorded(Watched):
    """Takes a picture of the folder before every step: as a kill would leave it, and as a power cut would."""

    def __init__(self, home: Path, pictures: Path) -> None:
        super().__init__()
        self.home = home
        self.disk = Disk(home, pictures / "kept")
        self.pictures: list[tuple[str, Path]] = []
        self.look = self._take
        self.recording = False
        self.acknowledged = False
        self._before_flushes: dict[int, dict[str, tuple[int, bool]]] = {}
        self._folder = pictures

    def start(self) -> None:
        self.disk.begin()
        self._before_flushes = dict(self.disk.names)
        self.recording = True

    def picture(self, what: str, *, answered: bool | None = None) -> Path:
        target = self._folder / f"{len(self.pictures):04d}"
        told = self.acknowledged if answered is None else answered
        self.pictures.append((f"{what}{' after the answer' if told else ''}", target))
        return target

    def take(self, step: str) -> None:
        for folder, names in self.disk.names.items():
            if names != self._before_flushes.get(folder, names):  # flushed side by side: any may have come last
                late = replace(self.disk, names={**self.disk.names, folder: self._before_flushes[folder]})
                late.image(self.picture("power cut while folders were flushed", answered=False))
        self._before_flushes = dict(self.disk.names)
        shutil.copytree(self.home, self.picture(f"killed before {step}"))
        self.disk.image(self.picture(f"power cut before {step}"))

    def _take(self, name: str, arguments: tuple[Any, ...]) -> None:
        if not self.recording or name in LOOKING:
            return
        self.take(f"{name} {arguments[0].name}")
        if name in {"create", "append"}:
            torn = self.picture(f"killed within {name} {arguments[0].name}")
            shutil.copytree(self.home, torn)
            with (torn / arguments[0].relative_to(self.home)).open("ab") as file:
                file.write(arguments[1][: len(arguments[1]) // 2])

    def create(self, path: Path, data: bytes) -> None:
        with self._turn:
            self.look("create", (path, data))
            FileSystem.create(self, path, data)
            self._flushed(path)

    def append(self, path: Path, data: bytes, *, flush: bool) -> None:
        with self._turn:
            self.look("append", (path, data))
            FileSystem.append(self, path, data, flush=flush)
            if flush:
                self._flushed(path)

    def truncate(self, path: Path, size: int) -> None:
        with self._turn:
            self.look("truncate", (path,))
            FileSystem.truncate(self, path, size)
            self._flushed(path)

    def flush_folder(self, path: Path) -> None:
        with self._turn:
            if not self.recording:
                return
            self.disk.flush_names(path)
            alone = replace(self.disk, names={**self._before_flushes, path.stat().st_ino: self.disk.names_of(path)})
            alone.image(self.picture(f"power cut when only {path.name} was flushed"))

    def _flushed(self, path: Path) -> None:
        if self.recording:
            self.disk.flush_content(path)


class Ordered(Recorded):
    """New texts are laid aside before the journal announces them, or after: both happen, they run side by side."""

    def __init__(self, home: Path, pictures: Path, *, first: str, texts: int) -> None:
        super().__init__(home, pictures)
        self._first = first
        self._texts = texts
        self._announced = threading.Event()
        self._laid = threading.Event()
        if texts == 0:
            self._laid.set()

    def create(self, path: Path, data: bytes) -> None:
        if self.recording and self._first == "journal":
            self._announced.wait()
        super().create(path, data)
        if self.recording and path.name.startswith(".chg"):
            self._texts -= 1
            if self._texts == 0:
                self._laid.set()

    def append(self, path: Path, data: bytes, *, flush: bool) -> None:
        if self.recording and self._first == "texts":
            self._laid.wait()
        super().append(path, data, flush=flush)
        if self.recording:
            self._announced.set()


@plans
@pytest.mark.parametrize("first", ["journal", "texts"])
async def test_a_kill_or_power_cut_at_any_step_leaves_all_old_or_all_new_and_keeps_what_was_acknowledged(
    plan: Plan, first: str, template: Path, tmp_path: Path
) -> None:
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    texts = sum(made is not None for made in plan.values())
    files = Ordered(template, pictures, first=first, texts=texts)
    before = tmp_path / "before"
    shutil.copytree(template, before)
    store = opened(template, files)
    await store.open()
    files.start()
    await carry_out(store, plan)
    files.acknowledged = True
    files.take("the next request")
    await store.aclose()
    files.take("the end")
    files.recording = False
    assert len(files.pictures) > 15
    for what, home in files.pictures:
        found = await notes_after_restart(home)
        if "after the answer" in what:
            assert found == after(plan), what
        else:
            assert found in (OLD, after(plan)), what
        if found != OLD:
            assert_old_texts_are_kept(home, before, plan)
        assert list((home / "trash" / "conflicts").iterdir()) == [], what


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


class Interrupted(Recorded):
    """An editor saves `path` before the n-th step; what a kill would leave is pictured from then on."""

    def __init__(self, home: Path, pictures: Path, at: int, save: Callable[[], None], *, pictured: bool) -> None:
        super().__init__(home, pictures)
        self._left = at
        self._save = save
        self._pictured = pictured
        self.fired = False
        self.look = self._slip_in
        self.armed = False

    def _slip_in(self, name: str, arguments: tuple[Any, ...]) -> None:
        if not self.armed:
            return
        self._left -= 1
        if self._left == -1:
            self._save()
            self.fired = True
        if self.fired and self._pictured and name not in LOOKING:
            shutil.copytree(self.home, self.picture(f"edited, then killed before {name} {arguments[0].name}"))


def texts_of_the_person(home: Path) -> tuple[bool, bool]:
    """Whether the editor's text is the note's file, and whether it was filed as a conflict."""
    stands = any(path.read_bytes() == EDITED for path in (home / "memories").rglob("*.md"))
    filed = any(path.read_bytes() == EDITED for path in (home / "trash").rglob("*.md"))
    return stands, filed


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
                async with store.commit("change", changes, {}) as done:
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
