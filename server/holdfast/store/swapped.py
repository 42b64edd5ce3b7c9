"""Files that an editor may be saving just now: left alone until they are still, kept when a change replaced one.

An editor that saves in place opens a file, cuts it and writes. Where a change puts another file under that name
meanwhile, the editor writes into the one that was taken away. That one is removed only when nobody has it open for
writing and it holds what the change found. Else it waits beside its place, under a hidden name, and in the end

    it is as it was                       it goes
    somebody wrote into it                it is the note or page again; what the change had put there is in history/
    it is empty, or cut, or no note, or
    its place was taken further           it is filed under trash/conflicts/ (nothing is left of an empty one)

A server that starts looks at what others have left waiting.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from holdfast.errors import ConflictError
from holdfast.model.pages import is_page_key
from holdfast.store.codec import content_hash
from holdfast.store.filesystem import KEPT, FileSystem, Signature
from holdfast.store.folder import Folder, id_in_name
from holdfast.store.frontmatter import MalformedError, parse
from holdfast.store.intents import PlannedFile, hash_of

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
            self._drop_empty(path)
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
        """Take away what an editor cut and never wrote; while it may still write, it waits."""
        with self._files.lone_reader(path) as alone:
            if alone or (alone is None and self._is_unchanged_for(path, KEPT_NS, by_name=True)):
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
