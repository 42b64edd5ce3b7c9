"""Folders of markdown that are watched: their notes follow the files, and the files are never touched."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from unittest.mock import patch

import pytest
from structlog.testing import capture_logs

from holdfast.engine.agent.recall import Recall, recall
from holdfast.engine.runtime import Memory
from holdfast.engine.sync import watched as hippocampus
from holdfast.engine.sync.watched import Hippocampus
from holdfast.importers.markdown import Watched, WatchedFolders
from holdfast.index.rows import IndexedNote
from holdfast.model.note import SELF_ID
from transcripts_worker import WHO, built

pytestmark = pytest.mark.anyio

LONG = """# Harbour

Opening.

## Cranes

The crane stands north. {pad}

## Ferries

The ferry leaves at {noon}. {pad}
"""
PAD = "It is so. " * 250


class Docs:
    """A folder of a user, whose files look as if they had been still for long."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.root.mkdir(parents=True)
        self._age = time.time() - 10_000

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        self._age += 1
        os.utime(path, (self._age, self._age))
        return path

    def bytes(self) -> dict[str, tuple[bytes, int]]:
        files = (path for path in self.root.rglob("*") if path.is_file() and not path.is_symlink())
        return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


@asynccontextmanager
async def watching(home: Path, docs: Docs, ignored: Sequence[str] = ()) -> AsyncIterator[tuple[Memory, Hippocampus]]:
    memory = built(home)
    folders = WatchedFolders(home / "memory", [Watched(docs.root, "docs")], ignored, 64 * 1024)
    with patch.object(hippocampus, "GONE_SECONDS", 0.0):
        async with memory.running():
            yield memory, Hippocampus(memory, folders)


async def notes(memory: Memory) -> dict[str, IndexedNote]:
    """All notes but Self, by their titles."""
    ids = await memory.attend(lambda ports: ports.index.read(lambda view: view.ids_before("", ports.now, 1000)))
    retired = await memory.attend(lambda ports: ports.index.notes(ids))
    return {item.note.title: item for item in retired.values() if item.note.id != SELF_ID}


async def found(memory: Memory, query: str, *, outdated: bool = False) -> list[str]:
    told = await memory.attend(lambda ports: recall(ports, WHO, Recall(query, include_outdated=outdated)))
    return [hit.note.id for hit in told.hits]


async def test_files_become_notes_and_follow_what_changes_in_them(tmp_path: Path) -> None:
    docs = Docs(tmp_path / "docs")
    docs.write("harbour.md", LONG.format(pad=PAD, noon="noon"))
    docs.write("tea.md", "ചായ മതി, കാപ്പി വേണ്ട.")
    async with watching(tmp_path, docs) as (memory, watcher):
        assert await watcher.look() == 2
        first = await notes(memory)
        assert set(first) == {"Harbour", "Cranes", "Ferries", "tea"}
        assert {item.note.space for item in first.values()} == {"docs"}
        assert await watcher.look() == 0
        docs.write("harbour.md", LONG.format(pad=PAD, noon="dusk"))
        before = docs.bytes()
        assert await watcher.look() == 1
        after = await notes(memory)
        assert {title: item.note.id for title, item in after.items()} == {t: i.note.id for t, i in first.items()}
        assert "dusk" in after["Ferries"].note.content
        assert after["Cranes"].hash == first["Cranes"].hash
        assert docs.bytes() == before, "the files are never touched"


async def test_a_section_that_is_gone_is_retired_and_comes_back_as_the_same_note(tmp_path: Path) -> None:
    docs = Docs(tmp_path / "docs")
    whole = LONG.format(pad=PAD, noon="noon")
    docs.write("harbour.md", whole)
    async with watching(tmp_path, docs) as (memory, watcher):
        await watcher.look()
        ferries = (await notes(memory))["Ferries"].note.id
        docs.write("harbour.md", whole.replace("## Ferries", "## Boats"))
        await watcher.look()
        kept = await memory.attend(lambda ports: ports.index.notes([ferries]))
        assert kept[ferries].note.outdated_reason == "not in the watched file any more"
        docs.write("harbour.md", whole)
        await watcher.look()
        back = await memory.attend(lambda ports: ports.index.notes([ferries]))
        assert not back[ferries].note.is_outdated


async def test_a_file_with_another_name_keeps_its_notes_and_one_that_is_gone_retires_them(tmp_path: Path) -> None:
    docs = Docs(tmp_path / "docs")
    path = docs.write("harbour.md", LONG.format(pad=PAD, noon="noon"))
    other = docs.write("tea.md", "The tea is green.")
    async with watching(tmp_path, docs) as (memory, watcher):
        await watcher.look()
        first = await notes(memory)
        (docs.root / "deep").mkdir()
        path.rename(docs.root / "deep" / "port.md")
        assert await watcher.look() == 1
        moved = await notes(memory)
        assert {item.note.id for item in moved.values()} == {item.note.id for item in first.values()}
        assert not [item for item in moved.values() if item.note.is_outdated]
        other.unlink()
        await watcher.look()
        await watcher.look()
        tea = first["tea"].note.id
        kept = await memory.attend(lambda ports: ports.index.notes([tea]))
        assert kept[tea].note.outdated_reason == "the watched file is gone"
        docs.write("tea.md", "The tea is green.")
        await watcher.look()
        back = await memory.attend(lambda ports: ports.index.notes([tea]))
        assert not back[tea].note.is_outdated


async def test_links_hidden_ignored_and_large_files_and_others_are_passed_over(tmp_path: Path) -> None:
    docs = Docs(tmp_path / "docs")
    secret = tmp_path / "secret.md"
    secret.write_text("The secret.", "utf-8")
    (docs.root / "link.md").symlink_to(secret)
    (docs.root / "folder").symlink_to(tmp_path)
    for name in (".hidden.md", ".git/x.md", "drafts/y.md", "z.draft.md", "image.png"):
        docs.write(name, "Not to be taken.")
    docs.write("large.md", "x" * 70_000)
    docs.write("broken.md", "---\nid: [\n---\n\x00")
    docs.write("kept.md", "To be taken.")
    async with watching(tmp_path, docs, ("drafts", "*.draft.md")) as (memory, watcher):
        await watcher.look()
        assert set(await notes(memory)) == {"kept"}
        fresh = docs.write("fresh.md", "Being written.")
        fresh.touch()
        await watcher.look()
        assert set(await notes(memory)) == {"kept"}, "a file that was saved this moment waits"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no name is like that")
async def test_a_name_that_is_no_utf_8_is_passed_over_and_told_once(tmp_path: Path) -> None:
    docs = Docs(tmp_path / "docs")
    for name in (b"caf\xe9.md", b"d\xe9j\xe0/kept.md", b"caf\xe9.png", b".caf\xe9.md", b"drafts/\xe9.md"):
        docs.write(os.fsdecode(name), "The canteen opens at nine.")
    docs.write("kept.md", "The canteen closes at ten.")
    docs.write("café.md", "The café opens at eight.")
    async with watching(tmp_path, docs, ("drafts",)) as (memory, watcher):
        with capture_logs() as logs:
            assert [await watcher.look() for _ in range(3)] == [2, 0, 0]
        assert set(await notes(memory)) == {"kept", "café"}
    told = sorted(line["path"] for line in logs if line["event"] == "watched_name_no_utf8")
    assert told == ["caf\\xe9.md", "d\\xe9j\\xe0"]


async def test_many_files_are_taken_some_at_a_time_and_a_folder_with_another_name_keeps_all_its_notes(
    tmp_path: Path,
) -> None:
    docs = Docs(tmp_path / "docs")
    for number in range(10):
        docs.write(f"old/{number}.md", f"Quay {number} has the crane CR-{1000 + number}.")
    with patch.object(hippocampus, "MOST_TAKEN", 4):
        async with watching(tmp_path, docs) as (memory, watcher):
            assert [await watcher.look() for _ in range(4)] == [4, 4, 2, 0]
            ids = {item.note.id for item in (await notes(memory)).values()}
            (docs.root / "old").rename(docs.root / "new")
            docs.write("new/more.md", "Quay 11 has none.")
            assert [await watcher.look() for _ in range(4)] == [4, 4, 3, 0]
            kept = (await notes(memory)).values()
            assert ids < {item.note.id for item in kept}
            assert len(kept) == 11
            assert not any(item.note.outdated for item in kept)


async def test_a_file_that_changes_while_it_waits_is_taken_as_it_is_then_or_not_at_all(tmp_path: Path) -> None:
    docs = Docs(tmp_path / "docs")
    for name in ("a.md", "b.md", "c.md"):
        docs.write(name, f"The file {name}.")
    with patch.object(hippocampus, "MOST_TAKEN", 1):
        async with watching(tmp_path, docs) as (memory, watcher):
            assert await watcher.look() == 1
            (taken,) = (item.note.content for item in (await notes(memory)).values())
            changed, gone = (path for path in docs.root.iterdir() if path.name not in taken)
            docs.write(changed.name, "It says something else now.")
            gone.unlink()
            assert sum([await watcher.look() for _ in range(4)]) == 1
            told = {item.note.content.strip() for item in (await notes(memory)).values()}
            assert told == {taken.strip(), "It says something else now."}


async def test_a_memory_that_nobody_has_used_yet_is_filled(tmp_path: Path) -> None:
    docs = Docs(tmp_path / "docs")
    docs.write("quay.md", "The crane is at the quay.")
    async with watching(tmp_path, docs) as (memory, watcher):
        assert not (tmp_path / "memory").exists()
        assert await watcher.tend() > 0
        assert len(await notes(memory)) == 1


async def test_a_disk_that_is_not_mounted_retires_nothing(tmp_path: Path) -> None:
    docs = Docs(tmp_path / "docs")
    for number in range(8):
        docs.write(f"{number}.md", f"Quay {number} is long.")
    async with watching(tmp_path, docs) as (memory, watcher):
        await watcher.look()
        shutil.move(docs.root, tmp_path / "elsewhere")
        await watcher.look()
        docs.root.mkdir()
        for _ in range(3):
            await watcher.look()
        assert not [item for item in (await notes(memory)).values() if item.note.is_outdated]


async def test_what_somebody_edited_here_is_left_alone(tmp_path: Path) -> None:
    docs = Docs(tmp_path / "docs")
    docs.write("quay.md", "The quay is long.")
    async with watching(tmp_path, docs) as (memory, watcher):
        await watcher.look()
        file = next((tmp_path / "memory" / "memories" / "docs").glob("*.md"))
        file.write_text(file.read_text("utf-8").replace("is long", "is short"), "utf-8")
        os.utime(file, (time.time() - 100, time.time() - 100))
        docs.write("quay.md", "The quay is longer.")
        await watcher.look()
        assert (await notes(memory))["quay"].note.content.strip() == "The quay is short."


async def test_another_process_goes_on_where_one_was_and_only_one_watches(tmp_path: Path) -> None:
    docs = Docs(tmp_path / "docs")
    docs.write("quay.md", "The quay is long.")
    async with watching(tmp_path, docs) as (memory, watcher):
        with patch.object(watcher.folders, "put", side_effect=KeyboardInterrupt), pytest.raises(BaseException):  # noqa: B017, PT011 - as a kill
            await watcher.look()
        assert set(await notes(memory)) == {"quay"}
        async with (
            watching(tmp_path, docs) as (_, other),
            watcher.folders.turn() as mine,
            other.folders.turn() as its,
        ):
            assert (mine, its) == (True, False)
            assert await other.look() == 1
            assert len(await notes(memory)) == 1
            assert await watcher.look() == 0
