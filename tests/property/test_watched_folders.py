"""Watched folders: whatever is done to the files, the notes say what a memory says that sees them the first time."""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import pytest

from conftest import Effort
from holdfast.engine.runtime import Memory
from holdfast.engine.sync import watched as hippocampus
from holdfast.engine.sync.watched import Hippocampus
from holdfast.importers.markdown import Watched, WatchedFolders
from holdfast.model.note import SELF_ID
from transcripts_worker import built

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]

PAD = "The harbour handbook says so, and so it is. " * 120  # long enough for each file to become notes by section


@dataclass
class Files:
    """A folder of a user, and what stands in each file: the texts of its sections by their headings."""

    root: Path
    dice: random.Random
    texts: dict[str, dict[str, str]] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    made: int = 0

    def new(self) -> str:
        self.made += 1
        return f"Crane CR-{1000 + self.made} is {self.dice.choice(['red', 'blue', 'green'])}. {PAD}"

    def change(self) -> None:
        """Something that a user does."""
        name = self.dice.choice(sorted(self.texts)) if self.texts else ""
        what = self.dice.choice(
            ("write", "edit", "add", "drop", "drop", "order", "rename", "rename and edit", "remove")
        )
        if what == "write" or not name:
            name = f"{self.made} file.md"
            self.titles[name] = f"Handbook {self.made}"
            self.texts[name] = {f"Part {self.made}": self.new() for _ in range(self.dice.randint(1, 5))}
        elif what == "remove":
            del self.texts[name]
            (self.root / name).unlink()
        elif what.startswith("rename"):
            new = f"{self.dice.choice(['', 'deep/', 'deep/er/'])}{self.made} again {len(self.texts)}.md"
            self.texts[new], self.titles[new] = self.texts.pop(name), self.titles.pop(name)
            (self.root / new).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).rename(self.root / new)
            name = new if "edit" in what else ""
        if name in self.texts and what not in ("write", "remove", "rename"):
            self.edit(self.texts[name], what)
        self.write()

    def edit(self, sections: dict[str, str], what: str) -> None:
        heading = self.dice.choice(sorted(sections))
        if what == "add":
            sections[f"Part {self.made}"] = self.new()
        elif what == "drop" and len(sections) > 1:
            del sections[heading]
        elif what == "order":
            sections[heading] = sections.pop(heading)
        else:
            sections[heading] = self.new()

    def write(self) -> None:
        for name, sections in self.texts.items():
            parts = "".join(f"## {heading}\n\n{text}\n\n" for heading, text in sections.items())
            text = f"# {self.titles[name]}\n\nWhat {self.titles[name]} holds.\n\n{parts}"
            path = self.root / name
            if not path.exists() or path.read_text("utf-8") != text:
                path.write_text(text, "utf-8")
                self.made += 1
                os.utime(path, (1e9 + self.made, 1e9 + self.made))

    def bytes(self) -> dict[Path, tuple[bytes, int]]:
        return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in self.root.rglob("*.md")}


async def settled(memory: Memory, home: Path, files: Files) -> None:
    """Look until nothing is left to do."""
    watcher = Hippocampus(memory, WatchedFolders(home / "memory", [Watched(files.root, "docs")], (), 1 << 20))
    for _ in range(4):
        while await watcher.look():
            pass


async def current(memory: Memory) -> dict[str, str]:
    """The texts of all notes that are not retired, by id."""
    ids = await memory.attend(lambda ports: ports.index.read(lambda view: view.ids_before("", ports.now, 1000)))
    found = await memory.attend(lambda ports: ports.index.notes(ids))
    notes = (item.note for item in found.values() if item.note.id != SELF_ID)
    return {note.id: note.content.strip() for note in notes if not note.is_outdated}


@pytest.mark.parametrize("seed", range(2))
async def test_after_any_changes_of_files_the_notes_are_those_of_a_memory_that_sees_them_anew(
    seed: int, tmp_path: Path, effort: Effort
) -> None:
    files = Files(tmp_path / "docs", random.Random(seed))  # noqa: S311 - no secret
    files.root.mkdir()
    memory = built(tmp_path / "one")
    with patch.object(hippocampus, "GONE_SECONDS", 0.0):
        async with memory.running():
            for step in range(effort.of(5, 100)):
                for _ in range(files.dice.randint(2, 9)):
                    files.change()
                before, had = files.bytes(), await current(memory)
                await settled(memory, tmp_path / "one", files)
                now = await current(memory)
                fresh = built(tmp_path / f"fresh {step}")
                async with fresh.running():
                    await settled(fresh, tmp_path / f"fresh {step}", files)
                    expected = await current(fresh)
                assert Counter(now.values()) == Counter(expected.values())
                same = {note for note, text in had.items() if text in now.values()}
                assert same <= now.keys(), "a section that says the same is the same note"
                assert files.bytes() == before, "no file is touched"
