"""Changes of a small folder at the level of the store: what they begin with, how they are made, what they leave."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from disks import Failing
from holdfast.errors import StorageError
from holdfast.model.note import Note
from holdfast.model.records import JournalRecord
from holdfast.store.codec import content_hash
from holdfast.store.filesystem import FileSystem
from holdfast.store.folder import Folder
from holdfast.store.notes import NoteFiles
from holdfast.store.stored import Change, Committed, Stored, Unreadable

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
IDS = {name: f"mem_{name * 16}" for name in "abcde"}


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


async def make_template(home: Path) -> None:
    """A folder with three notes, closed in peace."""
    store = opened(home)
    await store.open()
    async with (
        store.hold(IDS.values()),
        store.commit("made", [Change(None, made) for made in OLD.values()], JournalRecord()),
    ):
        pass
    await store.aclose()


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
        async with store.commit("change", changes, JournalRecord()) as done:
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


def let_go(store: NoteFiles) -> None:
    """What the system does for a process that was killed."""
    for held in (store._stripes, store._whole, store._journal, store._watch):
        held.close()


THREE = PLANS["three notes rewritten"]
HALF_MADE = {name: made.content for name, made in after(THREE).items()}  # once somebody has settled it


async def die_half_way(home: Path) -> None:
    """A process that had exchanged one file of three when it was killed."""
    files = Failing(1, stays=True, steps=("swap",))
    dying = opened(home, files)
    await dying.open()
    files.armed = True
    with pytest.raises(StorageError):
        await carry_out(dying, THREE)
    let_go(dying)


async def texts(store: NoteFiles) -> dict[str, str]:
    """The texts of all notes, by title."""
    return {name: stored.note.content for name, stored in (await load_all(store)).items()}
