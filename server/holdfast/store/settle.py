"""What a crash left behind: a change is finished or called void, never left half done; files laid aside are cleared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from holdfast.store.filesystem import KEPT, FileSystem
from holdfast.store.folder import Folder, is_laid_aside
from holdfast.store.intents import AnnouncedChange, PlannedFile, hash_of, intent_of, state_of
from holdfast.store.journal import Journal
from holdfast.store.swapped import SwappedOut, change_named


@dataclass(frozen=True, slots=True)
class Settlement:
    """How an open change ended; `conflicts` are texts that were filed under `trash/conflicts/`."""

    change: str
    done: bool
    conflicts: tuple[str, ...] = ()


def settle(intent: AnnouncedChange, folder: Folder, files: FileSystem, swapped: SwappedOut) -> Settlement:
    """Finish or forget one change whose writer is gone. The caller holds the locks of all its notes.

    One file in its new state carries all the others with it; where none is, the change never happened.
    """
    states = {file: state_of(file, intent, folder, files) for file in intent.files}
    done = "applied" in states.values()
    conflicts: list[str] = []
    touched: set[Path] = set()
    for file, state in states.items():
        aside = folder.inside(file.aside)
        target = folder.place(file.note, file.path)
        touched |= {target.parent, aside.parent}  # its writer may not have come as far as to flush them
        if done and state == "pending":
            _carry_through(file, target, aside, files)
        elif state == "pending" and file.after is None and hash_of(files, aside) == file.before:
            files.remove(aside)  # a power cut left the file under both names
        left = None if file.after is None else hash_of(files, aside)
        if left is None:
            continue
        mine = left in (file.before, file.after)
        if state == "foreign" or (state != "untouched" and not mine):  # nobody else has this text
            kept = folder.conflict_path(file.path, aside.stem.strip("."))
            files.make_folder(kept.parent)
            files.move(aside, kept)
            conflicts.append(folder.below_home(kept))
            touched.add(kept.parent)
    for parent in touched:
        if files.exists(parent):
            files.flush_folder(parent)
    for number, (file, state) in enumerate(states.items()):
        replaced = done and (file.after is None or state in ("applied", "pending"))
        _clear(file, f".{intent.change}.{number}.tmp", folder, files, swapped if replaced else None)
    return Settlement(intent.change, done, tuple(conflicts))


def _clear(file: PlannedFile, hidden: str, folder: Folder, files: FileSystem, swapped: SwappedOut | None) -> None:
    """Take away what lies aside: what was replaced, where `swapped` is given, else a new text."""
    aside = folder.inside(file.aside)
    if swapped is not None and file.after is None:
        swapped.let_go_to_trash(aside, file, hidden)
    elif swapped is not None:
        swapped.let_go(aside, file)
    elif file.after is not None:
        files.remove(aside)


def _carry_through(file: PlannedFile, target: Path, aside: Path, files: FileSystem) -> None:
    if file.after is None and hash_of(files, aside) == file.before:
        files.remove(target)  # a power cut left the file under both names
    elif file.after is None:
        files.move(target, aside)
    elif file.before is None:
        files.move(aside, target)
    else:
        files.swap(aside, target)


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


def plans_of(paths: Iterable[Path], journal: Journal) -> dict[Path, PlannedFile]:
    """What the journal says of files that changes took away and that wait; of others nothing."""
    named = {path: found for path in paths if (found := change_named(path.name)) is not None}
    missing = {change for change, _ in named.values()}
    planned: dict[str, Sequence[PlannedFile]] = {}
    for record in journal.backwards() if missing else ():
        intent = intent_of(record)
        if intent is not None and intent.change in missing:
            planned[intent.change] = intent.files
            missing.remove(intent.change)
            if not missing:
                break
    files = {path: (planned.get(change, ()), number) for path, (change, number) in named.items()}
    return {path: known[number] for path, (known, number) in files.items() if number < len(known)}
