"""What a process that died left lying aside before it announced a change."""

from __future__ import annotations

from pathlib import Path

from holdfast.store.filesystem import KEPT, FileSystem
from holdfast.store.folder import Folder, is_laid_aside
from holdfast.store.intents import hash_of


def laid_aside(folder: Folder, files: FileSystem) -> list[Path]:
    """Every file that has a name which only a change under way gives."""
    beside = [folder.home / name for name in files.list_folder(folder.home)]
    roots = (folder.memories, folder.history, *folder.pages, folder.journal, folder.locks, folder.derived)
    below = (path for root in roots for path in files.list_hidden(root))
    return [path for path in (*beside, *below) if is_laid_aside(path.name)]


def discard(path: Path, folder: Folder, files: FileSystem) -> None:
    """Remove such a file; a text that is kept nowhere else is filed with the conflicts."""
    if path.suffix == KEPT and not files.exists(folder.history / f"{hash_of(files, path)}.md"):
        files.make_folder(folder.conflicts)
        files.move(path, folder.conflict_path(path.name.strip("."), "swap"))
    else:
        files.remove(path)
