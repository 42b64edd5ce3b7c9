"""Changes that are not known to be whole, and files that somebody else may be writing: what becomes of each.

Files that an editor may be saving just now are left alone until they are still, and kept when a change replaced one. An
editor that saves in place opens a file, cuts it and writes. Where a change puts another file under that name meanwhile,
the editor writes into the one that was taken away. That one is removed only when nobody has it open for writing and it
holds what the change found. Else it waits beside its place, under a hidden name, and in the end

    it is as it was                       it goes
    somebody wrote into it                it is the note or page again; what the change had put there is in history/
    it is empty, or cut, or no note, or
    its place was taken further           it is filed under trash/conflicts/ (nothing is left of an empty one)

A server that starts looks at what others have left waiting.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from holdfast.errors import ConflictError
from holdfast.model.records import FileChange, is_page_key
from holdfast.store.codec import MalformedError, content_hash, parse
from holdfast.store.filesystem import KEPT, Entry, FileSystem, Signature
from holdfast.store.folder import SUFFIX, Folder, id_in_name, is_laid_aside
from holdfast.store.journal import Journal, Record
from holdfast.store.stored import LARGEST_FILE

FileState = Literal["applied", "pending", "untouched", "foreign"]


PlannedFile = FileChange  # as the journal announces it


@dataclass(slots=True)
class AnnouncedChange:
    """A change as the journal announced it."""

    change: str
    seq: int
    files: tuple[PlannedFile, ...]
    guards: frozenset[str] = frozenset()  # further keys that its writer held: what it decided under them must be known
    passed: set[str] = field(default_factory=set)  # paths that a later change took further

    @property
    def keys(self) -> set[str]:
        """The locks that guard its files."""
        return {file.note for file in self.files}


def intent_of(record: Record) -> AnnouncedChange | None:
    """The intent that a journal record announces, or None where it is none or cannot be trusted."""
    files = record.get("files")
    if not isinstance(files, list) or not isinstance(record.get("change"), str):
        return None
    try:
        planned = tuple(PlannedFile(**_only(file)) for file in files)
    except TypeError:
        return None
    return AnnouncedChange(record["change"], record["seq"], planned, frozenset(record.get("guards", ())))


def _only(file: dict[str, Any]) -> dict[str, Any]:
    return {name: file.get(name) for name in ("note", "path", "before", "after", "aside", "size")}


class OpenIntents:
    """The changes of other processes, living or dead, that have no outcome in the journal yet."""

    def __init__(self) -> None:
        self._open: dict[str, AnnouncedChange] = {}
        self._ends: dict[tuple[str, str | None], set[str]] = {}  # changes by what they say

    def learn(self, records: Iterable[Record]) -> None:
        for record in records:
            self._close(record)
            intent = intent_of(record)
            if intent is not None:
                for file in intent.files:
                    for earlier in self._ends.get((file.path, file.before), ()):
                        self._open[earlier].passed.add(file.path)
                self._open[intent.change] = intent
                for file in intent.files:
                    self._ends.setdefault((file.path, file.after), set()).add(intent.change)

    def forget(self, change: str) -> None:
        intent = self._open.pop(change, None)
        for file in intent.files if intent else ():
            end = (file.path, file.after)
            others = self._ends[end] = self._ends[end] - {change}
            if not others:
                del self._ends[end]

    def touching(self, keys: set[str]) -> list[AnnouncedChange]:
        return [intent for intent in self._open.values() if (intent.keys | intent.guards) & keys]

    def all(self) -> list[AnnouncedChange]:
        return sorted(self._open.values(), key=lambda intent: intent.seq)

    def _close(self, record: Record) -> None:
        for change in (*record.get("done", ()), *record.get("void", ())):
            self.forget(change)
        settled = record.get("settled")
        if isinstance(settled, int):
            for change in [name for name, intent in self._open.items() if intent.seq <= settled]:
                self.forget(change)


def state_of(file: PlannedFile, intent: AnnouncedChange, folder: Folder, files: FileSystem) -> FileState:
    """What became of one file of an intent whose writer is gone.

    The new text waits aside until it is exchanged with the file; after that the old text lies there until it is
    removed. So a missing text aside means that the exchange happened, unless the file is still as before; a torn one
    means that it did not. A new note that is neither here nor there may have been given another name by a person.
    """
    current = hash_of(files, folder.place(file.note, file.path))
    if current == file.after or file.path in intent.passed:
        return "applied"
    if file.after is None:
        return "pending" if current == file.before else "foreign"
    waiting = hash_of(files, folder.inside(file.aside))
    if waiting == file.after:
        return "pending" if current == file.before else "foreign"
    if current == file.before:
        gone = current is None and waiting is None and not is_page_key(file.note)
        return "applied" if gone and _is_elsewhere(file.note, folder, files) else "untouched"
    return "applied" if waiting in (None, file.before) else "foreign"


def _is_elsewhere(note: str, folder: Folder, files: FileSystem) -> bool:
    """Whether a file of any name holds this note. Read are those whose names tell no other."""
    return any(
        entry.kind == "file" and id_in_name(entry.path) in (None, note) and _id_in(entry, files) == note
        for entry in files.scan(folder.memories, SUFFIX)
    )


def _id_in(entry: Entry, files: FileSystem) -> object:
    """The id that a file carries; None where it cannot be read as a note."""
    if entry.signature.size > LARGEST_FILE:
        return None
    try:
        return parse(files.read(entry.path, LARGEST_FILE)).values.get("id")
    except (MalformedError, FileNotFoundError, PermissionError):
        return None


def hash_of(files: FileSystem, path: Path) -> str | None:
    """The content hash of a file; None where there is none."""
    try:
        return content_hash(files.read(path))
    except (FileNotFoundError, NotADirectoryError):
        return None


STILL_NS = 1_000_000_000
_REMEMBERED_NS = 2 * STILL_NS
_MANY = 512
_MOST = 1 << 14  # texts; of who wrote one before so many others it is asked that it be a second old


class Stillness:
    """Knows what was written by this program lately, and asks of everything else that it be a second old.

    Args:
        files: the file system, whose clock counts.
    """

    def __init__(self, files: FileSystem) -> None:
        self._files = files
        self._own: dict[str, int] = {}  # hashes of texts that were written, and when that was heard of, in this order
        self._ahead: dict[Path, tuple[Signature, int]] = {}  # files dated in the future, and when they were seen first

    def wrote(self, text: str) -> None:
        """A change put a text of this hash in its place."""
        now = self._files.now_ns()
        self._own.pop(text, None)
        self._own[text] = now
        while len(self._own) > _MANY:
            oldest, since = next(iter(self._own.items()))
            if now - since < _REMEMBERED_NS and len(self._own) <= _MOST:
                return
            del self._own[oldest]

    def learn(self, records: Iterable[Mapping[str, Any]]) -> None:
        """What other processes wrote, by their journal records."""
        for record in records:
            for file in record.get("files", ()):
                if file.get("after"):
                    self.wrote(file["after"])

    def check(self, place: Path, text: str) -> None:
        """Make sure that nobody is in the middle of saving a file.

        Args:
            place: the file.
            text: the hash of what was read there.

        Raises:
            ConflictError: it changed within the last second, and not by us.
            OSError: it cannot be looked at.
        """
        found = self._files.signature(place)
        if found is None or text in self._own:
            return
        left = STILL_NS - self._age(place, found)
        if left > 0:
            raise ConflictError(
                "The note or page was saved by another program less than a second ago, and may still be written.",
                "Nothing was written; save and close it there, then repeat the call.",
                settles_in=left / 1e9,
            )
        self._ahead.pop(place, None)

    def _age(self, place: Path, found: Signature) -> int:
        """How long ago, in ns, the file was last written, as far as that is known."""
        now = self._files.now_ns()
        for at in (found.modified_ns, found.changed_ns):  # a person may have set any time of change
            if at <= now:
                return now - at
        seen, since = self._ahead.get(place, (None, 0))
        if seen != found:
            if len(self._ahead) >= _MANY:
                self._ahead.clear()
            self._ahead[place] = found, now
            return 0
        return max(now - since, 0)


KEPT_NS = 30_000_000_000  # where it is not known who has a file open
LOOK_SECONDS = 2.0
_NAMED = re.compile(r"\.(?P<change>chg_[^.]+)\.(?P<number>\d+)\.tmp\.old")


class SwappedOut:
    """The files of one folder that changes took away and that are not known to be done with.

    Args:
        folder: the layout.
        files: the file system.
    """

    def __init__(self, folder: Folder, files: FileSystem) -> None:
        self._folder = folder
        self._files = files
        self._waiting: dict[Path, PlannedFile] = {}
        self.reports: list[str] = []  # sentences for the user

    @property
    def waiting(self) -> list[tuple[Path, PlannedFile]]:
        return list(self._waiting.items())

    def let_go(self, path: Path, plan: PlannedFile) -> None:
        """Remove a file that a change took away, or have it wait. The caller holds its lock.

        Raises:
            OSError: the disk refused.
        """
        if self._is_removed(path, plan):
            return
        kept = path.with_name(path.name + KEPT)
        self._files.move(path, kept)
        self._files.flush_folder(kept.parent)
        self._waiting[kept] = plan

    def let_go_to_trash(self, path: Path, plan: PlannedFile, name: str) -> None:
        """As `let_go`, for a file that stays in the trash: a second name for it waits, if somebody may write into it.

        Raises:
            OSError: the disk refused.
        """
        with suppress(FileNotFoundError), self._files.lone_reader(path) as alone:
            if alone and hash_of(self._files, path) == plan.before:
                return
        place = self._folder.place(plan.note, plan.path)
        kept = place.with_name(name + KEPT)
        self._files.make_folder(kept.parent)
        try:
            self._files.link(path, kept)
        except (FileExistsError, FileNotFoundError):
            return
        self._files.flush_folder(kept.parent)
        self._waiting[kept] = plan

    def found(self, path: Path, plan: PlannedFile) -> None:
        """Another process has left this waiting."""
        self._waiting[path] = plan

    def is_due(self, path: Path, plan: PlannedFile) -> bool:
        """Look at one that waits; whether `give_back` is due. It goes, if it is as it was and nobody writes into it.

        Raises:
            OSError: the disk refused.
        """
        try:
            if self._is_removed(path, plan):
                self._waiting.pop(path, None)
                return False
            text = hash_of(self._files, path)
            return text not in (plan.before, plan.after) and self._is_unchanged_for(path, STILL_NS, by_name=False)
        except FileNotFoundError:
            self._waiting.pop(path, None)
            return False

    def give_back(self, path: Path, plan: PlannedFile) -> None:
        """Somebody wrote into it: let that be the note or page, or file it. The caller holds its lock.

        Raises:
            OSError: the disk refused.
        """
        try:
            data = self._files.read(path)
        except FileNotFoundError:
            self._waiting.pop(path, None)
            return
        if not data.strip():
            self._drop_empty(path)  # if it is empty still; else it is looked at again
        elif not (self._is_whole(data, plan) and self._put_back(path, plan, data)):
            self._file(path, plan)

    def keep_text(self, data: bytes, name: str) -> str:
        """Keep a text under its hash in the history; `name` is one that nobody else uses. Returns the hash.

        Raises:
            OSError: the disk refused.
        """
        text = content_hash(data)
        kept = self._folder.history / f"{text}.md"
        if self._files.size(kept) == len(data):
            self._files.flush_folder(kept.parent)  # whoever laid it there may have died before it came to that
            return text
        self._files.make_folder(kept.parent)
        fresh = kept.with_name(f".{name.strip('.')}.tmp")
        self._files.create(fresh, data)
        self._files.remove(kept)
        try:
            self._files.move(fresh, kept)
        except FileExistsError:  # another process keeps the same text
            self._files.remove(fresh)
        self._files.flush_folder(kept.parent)
        return text

    def _is_removed(self, path: Path, plan: PlannedFile) -> bool:
        """Remove a file that is as it was, if nobody can write into it any more; whether it is gone."""
        with suppress(FileNotFoundError), self._files.lone_reader(path) as alone:
            if hash_of(self._files, path) not in (plan.before, plan.after):
                return False
            if alone:
                self._files.remove(path)
                return True
        if not self._files.exists(path):
            return True
        if alone is None and self._is_unchanged_for(path, KEPT_NS, by_name=True):
            self._files.remove(path)
            return True
        return False

    def _drop_empty(self, path: Path) -> None:
        """Take away what an editor cut and never wrote; while it may still write, or wrote meanwhile, it waits."""
        with self._files.lone_reader(path) as alone:
            done = alone or (alone is None and self._is_unchanged_for(path, KEPT_NS, by_name=True))
            if done and not self._files.read(path).strip():
                self._files.remove(path)
                self._waiting.pop(path, None)

    def _is_unchanged_for(self, path: Path, span_ns: int, *, by_name: bool) -> bool:
        """Whether a file's text, or with `by_name` its name too, is that old by the clock that files are dated by."""
        found = self._files.signature(path)
        if found is None:
            return False
        last = max(found.modified_ns, found.changed_ns) if by_name else found.modified_ns
        return abs(self._files.now_ns() - last) >= span_ns

    def _is_whole(self, data: bytes, plan: PlannedFile) -> bool:
        """Whether a text can stand for the note or page: it is not the beginning of the old one, and has its id."""
        if plan.before is not None:
            old = self._folder.history / f"{plan.before}.md"
            if self._files.size(old) > len(data) and self._files.read(old, len(data)) == data:
                return False
        if is_page_key(plan.note):
            return True
        try:
            held = parse(data).values.get("id", id_in_name(plan.path))
        except MalformedError:
            return False
        return bool(held == plan.note)

    def _put_back(self, path: Path, plan: PlannedFile, data: bytes) -> bool:
        """Exchange it with what the change put in its place, if that still stands; whether that was done."""
        place = self._folder.place(plan.note, plan.path)
        try:
            standing = self._files.read(place)
        except FileNotFoundError:
            return False
        if content_hash(standing) not in (plan.before, plan.after):
            return False
        kept = self.keep_text(standing, path.name)
        self._files.swap(path, place)
        if hash_of(self._files, path) != kept:  # somebody saved there in this moment, too
            self._files.swap(path, place)
            return False
        self._files.flush_folder(place.parent)
        self.reports.append(
            f"{_shown(plan)} was being saved by another program while a tool changed it: the saved text stands, "
            f"the tool's is in history/{kept}.md."
        )
        self._waiting[path] = PlannedFile(plan.note, plan.path, kept, content_hash(data), plan.aside)
        self.is_due(path, self._waiting[path])
        return True

    def _file(self, path: Path, plan: PlannedFile) -> None:
        """Put a text where texts go that lost a race; whoever has it open goes on writing into it there."""
        kept = self._folder.conflict_path(plan.path, path.name.strip("."))
        self._files.make_folder(kept.parent)
        self._files.move(path, kept)
        self._files.flush_folder(kept.parent)
        self._waiting.pop(path, None)
        self.reports.append(conflict_report(_shown(plan), self._folder.below_home(kept)))


def conflict_report(what: str, kept: str) -> str:
    """Says where a text is that lost a race."""
    return f"Another program saved {what} while a tool changed it: that text is in {kept}; look whether it is needed."


def change_named(name: str) -> tuple[str, int] | None:
    """The change, and the number of its file, that a waiting file's name tells."""
    found = _NAMED.fullmatch(name)
    return (found["change"], int(found["number"])) if found else None


def _shown(plan: PlannedFile) -> str:
    return plan.path if is_page_key(plan.note) else f"memories/{plan.path}"


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
