"""Folders with a vault to test with: filled by hand, looked at byte by byte, wrecked."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from holdfast.app import new_change_id, now
from holdfast.backup.vault import FolderVault
from holdfast.model.note import note_id
from holdfast.store.filesystem import FileSystem
from holdfast.store.folder import Folder
from holdfast.store.notes import NoteFiles
from holdfast.store.stored import REPLACED

Tree = dict[str, tuple[bytes, int]]  # bytes and time of change by path

NOTE = """---
id: "{id}"
type: "fact"
title: "Note {number}"
tier: "working"
space: "harbour"
created: "2026-11-20T10:15:00Z"
updated: "2026-11-20T10:15:00Z"
source: "a test"
---
The crane at berth {number} lifts forty tonnes.
"""


@dataclass
class Store:
    """Notes and vault of one folder, as a process has them."""

    folder: Folder
    notes: NoteFiles
    vault: FolderVault


@asynccontextmanager
async def opened(
    home: Path, *, clock: Callable[[], datetime] = now, files: FileSystem | None = None, retention_days: int = 90
) -> AsyncIterator[Store]:
    folder, disk = Folder(home), files or FileSystem()
    notes = NoteFiles(folder, disk, clock, new_change_id)
    vault = FolderVault(folder, disk, notes, clock, retention_days)
    await notes.open()
    try:
        yield Store(folder, notes, vault)
    finally:
        await notes.aclose()
        vault.close()


def fill(home: Path, count: int) -> None:
    """Notes, and one of everything else that a person may have."""
    folder = home / "memories" / "harbour"
    folder.mkdir(parents=True)
    for number in range(count):
        name = note_id(1_700_000_000_000 + number, number)
        (folder / f"note-{number}.{name}.md").write_text(NOTE.format(id=name, number=number), "utf-8")
    for path, text in {
        "memories/Überseehafen/von Hand.md": "Schreibt der Mensch, mit Umlauten.\n",
        "memories/deep/er/still/hand.md": "No frontmatter here.\r\nTwo line ends.",
        "memories/picture.png": "\x00\x01 not a note",
        "memories/.hidden/kept.md": "A folder that begins with a dot.",
        "memories/empty.md": "",
        "NOW.md": "# NOW - 2026-11-20T10:15:00Z\n",
        "now/harbour.md": "# NOW of a space\n",
        "MEMORY.md": "Written by a person.\n",
        "daily/2026-11-20.md": "# 2026-11-20\n",
        "capsules/20261120T101500Z.json": "{}",
        "trash/deleted.md": "Deleted, and kept.",
        "history/" + "0" * 64 + ".md": "Replaced.",
    }.items():
        file = home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())


def tree(home: Path, tops: tuple[str, ...] = REPLACED) -> Tree:
    """Every file of the folder that a restore replaces."""
    files = [file for top in tops for file in (home / top, *(home / top).rglob("*")) if file.is_file()]
    return {str(file.relative_to(home)): (file.read_bytes(), file.stat().st_mtime_ns) for file in files}


def wreck(home: Path) -> None:
    """Delete, scribble over, cut, rename, add."""
    files = sorted((home / "memories").rglob("*.md"))
    for number, file in enumerate(files):
        match number % 4:
            case 0:
                file.unlink()
            case 1:
                file.write_text("scribbled")
            case 2:
                file.rename(file.with_name(f"renamed-{number}.md"))
    (home / "memories" / "new.md").write_text("Stored later.")
    shutil.rmtree(home / "now")
    (home / "NOW.md").write_text("wrecked")
    (home / "daily" / "2026-11-21.md").write_text("later")
