"""The write path: announce, lay aside, exchange, flush (design: writing). All files of a change, or none."""

from __future__ import annotations

import errno
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from holdfast.batching import Batcher, together
from holdfast.errors import ConflictError, StorageError
from holdfast.model.note import Note
from holdfast.model.records import page_key
from holdfast.store.codec import Document, content_hash
from holdfast.store.filesystem import NO_SIGNATURE, FileSystem, Signature
from holdfast.store.folder import Folder, Watch
from holdfast.store.journal import Journal, Record
from holdfast.store.records import read_record
from holdfast.store.settle import OpenIntents, PlannedFile, Stillness, SwappedOut, hash_of
from holdfast.store.stored import Change, Committed, PageChange, Stored, document_of, rendered

Answer = TypeVar("Answer")
FLUSH_THREADS = 8


@dataclass(frozen=True, slots=True)
class _Step:
    """One file of a change, ready to be written. `document` and `data` are None for a deletion.

    `hidden` is a name that only this change gives. `change` is None for a page. `grown` says that a page's new text
    begins with the old one.
    """

    plan: PlannedFile
    target: Path
    aside: Path
    hidden: str
    data: bytes | None
    change: Change | None = None
    document: Document | None = None
    grown: bool = False


class Writer:
    """Commits changes of several notes as one. The caller holds the locks of every note that is touched.

    Args:
        folder: the layout.
        files: the file system; every step of the path goes through it.
        journal: where intents are announced.
        unsettled: where a change goes that the disk let neither end nor be taken back; the next holder settles it.
        watch: is told what we change ourselves, so that it is no news.
        swapped: takes what was replaced, in which an editor may still write.
        stillness: says whether a file may be rewritten now.
        change_id: gives a new id for each change.
    """

    def __init__(
        self,
        folder: Folder,
        files: FileSystem,
        journal: Journal,
        unsettled: OpenIntents,
        watch: Watch,
        swapped: SwappedOut,
        stillness: Stillness,
        change_id: Callable[[], str],
    ) -> None:
        self._folder = folder
        self._files = files
        self._journal = journal
        self._unsettled = unsettled
        self._watch = watch
        self._swapped = swapped
        self._stillness = stillness
        self._change_id = change_id
        self._threads = anyio.CapacityLimiter(FLUSH_THREADS)
        self._flushes: Batcher[Path, None] = Batcher(self._flush_folders)
        self._outcomes: dict[str, list[str]] = {}
        self.pages: dict[str, PlannedFile] = {}  # pages whose changes are under way, by path

    @asynccontextmanager
    async def commit(self, op: str, changes: Sequence[Change | PageChange], detail: Record) -> AsyncIterator[Committed]:
        """Write the files, then hand over to the block, which makes them findable.

        When the block raises, the files are put back as they were. Cannot be cancelled half way.

        Raises:
            LimitExceededError: a note's file would be too long; nothing was changed.
            ConflictError: a file is no longer what `before` says, or is being saved; nothing was changed.
            StorageError: the disk refused a step; nothing was changed, or it says that this is not known.
        """
        change = self._change_id()
        try:
            steps = [self._step(change, number, item) for number, item in enumerate(changes)]
            for step in steps:
                if step.plan.before is not None:
                    self._stillness.check(step.target, step.plan.before)
        except OSError as error:
            raise _refusal(error) from error
        announced: list[Record] = []
        exchanged: list[_Step] = []
        known: dict[Path, Signature] = {}
        pages = {step.plan.path: step.plan for step in steps if step.change is None}
        self.pages.update(pages)
        with anyio.CancelScope(shield=True):
            try:
                await self._prepare({"op": op, "change": change, **detail}, steps, announced)
                committed = await self._run(self._exchange_all, steps, exchanged, announced[0])
                await together(*(partial(self._flushes.submit, folder) for folder in _parents(steps)))
                yield committed
                known = {self._folder.absolute(stored.path): stored.signature for stored in committed.stored}
            except BaseException as error:
                undone = await self._run(self._take_back, steps, exchanged)
                self._end("void", change, announced, whole=undone)
                with suppress(StorageError):  # at once: whoever makes the index anew counts every change but these
                    await self.write_outcomes()
                if not undone and exchanged:
                    raise _unknown() from error
                if isinstance(error, OSError):
                    raise _refusal(error) from error
                raise
            finally:
                self._watch.changed_by_us((step.target for step in steps), known)
                self.pages = {path: plan for path, plan in self.pages.items() if path not in pages}
            for step in steps:
                if step.plan.after is not None:
                    self._stillness.wrote(step.plan.after)
            old = [step for step in steps if step.plan.before]
            self._end("done", change, announced, whole=not old or await self._run(self._clear, old))

    def _end(self, outcome: str, change: str, announced: Sequence[Record], *, whole: bool) -> None:
        if whole:
            self.tell_later(outcome, change)
        else:
            self._unsettled.learn(announced)

    def tell_later(self, outcome: str, change: str) -> None:
        """Note down how a change ended, to be told to the journal with whatever is written next."""
        self._outcomes.setdefault(outcome, []).append(change)

    async def write_outcomes(self) -> None:
        """Tell the journal which changes are whole, so that nobody has to look again."""
        if self._outcomes:
            await self._append({}, flush=False)

    async def _append(self, record: Record, *, flush: bool = True) -> int:
        """Write a line that also tells how changes ended; as long as none can be written, that is kept."""
        outcomes, self._outcomes = self._outcomes, {}
        try:
            return await self._journal.append({**record, **outcomes}, flush=flush)
        except StorageError:
            for outcome, changes in outcomes.items():
                self._outcomes.setdefault(outcome, []).extend(changes)
            raise

    async def _run(self, call: Callable[..., Answer], *arguments: Any) -> Answer:
        return await anyio.to_thread.run_sync(call, *arguments, limiter=self._threads)

    def _step(self, change_id: str, number: int, change: Change | PageChange) -> _Step:
        if isinstance(change, PageChange):
            return self._page_step(change_id, number, change)
        before, after = change.before, change.after
        hidden = f".{change_id}.{number}.tmp"
        if after is not None:
            document = document_of(change, after)
            data = rendered(document) if change.raw is None else change.raw
            path = before.path if before else self._free_path(after, change_id, change.path)
            target = self._folder.absolute(path)
            aside = target.with_name(hidden)
            note = after.id
        elif before is not None:
            document, data, path, note = None, None, before.path, before.note.id
            target = self._folder.absolute(path)
            aside = self._folder.trash_path(path, f"{change_id}.{number}")
        else:
            raise ValueError("a change makes, rewrites or deletes a note")
        plan = PlannedFile(
            note=note,
            path=path,
            before=before.hash if before else None,
            after=None if data is None else content_hash(data),
            aside=self._folder.below_home(aside),
        )
        return _Step(plan, target, aside, hidden, data, change, document)

    def _page_step(self, change_id: str, number: int, change: PageChange) -> _Step:
        before, target = change.before, self._folder.inside(change.path)
        hidden = f".{change_id}.{number}.tmp"
        aside = target.with_name(hidden)
        plan = PlannedFile(
            note=page_key(change.path),
            path=change.path,
            before=before.hash if before else None,
            after=content_hash(change.after),
            aside=self._folder.below_home(aside),
            size=len(change.after),
        )
        grown = before is not None and change.after.startswith(before.data)
        return _Step(plan, target, aside, hidden, change.after, grown=grown)

    def _free_path(self, note: Note, change_id: str, wanted: str | None) -> str:
        """The name asked for or the canonical one of a new note, or another where a person's file has that one."""
        path = wanted or self._folder.note_path(note.space, note.title, note.id)
        if not self._files.exists(self._folder.absolute(path)):
            return path
        return self._folder.note_path(note.space, f"{change_id[-4:]} {note.title}", note.id)

    async def _prepare(self, record: Record, steps: Sequence[_Step], announced: list[Record]) -> None:
        """Announce the change and lay every new text aside, all flushed at the same time."""
        intent = {**record, "files": [step.plan.record() for step in steps]}

        async def announce() -> None:
            announced.append({**intent, "seq": await self._append(intent)})

        await together(announce, *(partial(self._run, self._lay_aside, step) for step in steps))
        if len(steps) > 1:  # whoever settles this must find what waits aside, even after a power cut
            await together(*(partial(self._flushes.submit, folder) for folder in _parents(steps)))

    def _lay_aside(self, step: _Step) -> None:
        if step.plan.before is not None:
            self._keep_history(step, step.plan.before)
        if step.data is None:
            self._files.make_folder(step.aside.parent)
            return
        folder = step.target.parent
        if folder not in (self._folder.memories, self._folder.home) and folder.is_symlink():
            raise OSError(errno.ELOOP, "the folder of its space is a symbolic link", str(folder))
        self._files.make_folder(folder)
        self._files.create(step.aside, step.data)
        modified_ns = _file_time(step.change)
        if modified_ns is not None:
            self._files.set_time(step.aside, modified_ns)

    def _keep_history(self, step: _Step, before: str) -> None:
        """Check that the file is still what was read, and keep its text under its hash."""
        try:
            data = self._files.read(step.target)
        except FileNotFoundError as error:
            raise _conflict() from error
        if content_hash(data) != before:
            raise _conflict()
        if step.grown:
            return
        self._swapped.keep_text(data, step.aside.name)

    def _exchange_all(self, steps: Sequence[_Step], exchanged: list[_Step], announced: Record) -> Committed:
        """Put every new text in place; a conflict if one took the place of anything but `before`."""
        for step in steps:
            aside = None if step.data is None else self._files.signature(step.aside)
            self._watch.expect(step.target, aside.inode if aside else 0)
            self._exchange(step)
            exchanged.append(step)
            before = step.plan.before
            if before is not None and content_hash(self._files.read(step.aside)) != before:
                raise _conflict()
        return self._committed(announced, steps)

    def _exchange(self, step: _Step) -> None:
        try:
            if step.plan.before is None:
                self._files.move(step.aside, step.target)
            elif step.data is None:
                self._files.move(step.target, step.aside)
            else:
                self._files.swap(step.aside, step.target)
        except (FileNotFoundError, FileExistsError) as error:
            raise _conflict() from error

    def _take_back(self, steps: Sequence[_Step], exchanged: Sequence[_Step]) -> bool:
        """Put everything back as it was; False where the disk refuses that too, and nothing more is touched then."""
        try:
            for step in reversed(exchanged):
                self._undo(step)
            for folder in _parents(exchanged):
                self._files.flush_folder(folder)
        except OSError:
            return False
        return self._clear_refused(steps, exchanged)

    def _undo(self, step: _Step) -> None:
        if step.plan.before is None:
            self._files.move(step.target, step.aside)
        elif step.data is None:
            self._files.move(step.aside, step.target)
        else:
            self._files.swap(step.aside, step.target)
        if step.data is not None and content_hash(self._files.read(step.aside)) != step.plan.after:
            # an editor saved over the new text in between: its text is nobody's but the person's
            kept = self._folder.conflict_path(step.plan.path, step.aside.stem.strip("."))
            self._files.make_folder(kept.parent)
            self._files.move(step.aside, kept)

    def _clear(self, steps: Sequence[_Step]) -> bool:
        """Let go of what was replaced or deleted; False where the disk refuses, for whoever settles the change."""
        try:
            for step in steps:
                if step.data is None:
                    self._swapped.let_go_to_trash(step.aside, step.plan, step.hidden)
                else:
                    self._swapped.let_go(step.aside, step.plan)
        except OSError:
            return False
        return True

    def _clear_refused(self, steps: Sequence[_Step], exchanged: Sequence[_Step]) -> bool:
        """As `_clear`, for new texts that were taken back, or never put in place."""
        try:
            for step in steps:
                if step in exchanged and step.data is not None:
                    self._swapped.let_go(step.aside, step.plan)
                elif step.data is not None:
                    self._files.remove(step.aside)
        except OSError:
            return False
        return True

    async def _flush_folders(self, folders: Sequence[Path]) -> Sequence[None]:
        await together(*(partial(self._run, self._files.flush_folder, folder) for folder in dict.fromkeys(folders)))
        return [None] * len(folders)

    def _committed(self, record: Record, steps: Sequence[_Step]) -> Committed:
        stored = []
        for step in steps:
            if step.change and step.change.after and step.document and step.plan.after:
                signature = self._signature(step.target, step.plan.after)
                note, document = step.change.after, step.document
                has_id = "id" in document.values
                stored.append(Stored(note, step.plan.path, step.plan.after, signature, document, has_id))
        gone = tuple(step.plan.note for step in steps if step.data is None)
        pages = tuple(step.plan.path for step in steps if step.change is None)
        written = read_record(record)
        return Committed(record["change"], record["seq"], record["op"], tuple(stored), gone, pages, written)

    def _signature(self, path: Path, expected: str) -> Signature:
        """The file's signature, or one that no file has where somebody has saved over it already."""
        signature = self._files.signature(path)
        return signature if signature and hash_of(self._files, path) == expected else NO_SIGNATURE


def _file_time(change: Change | None) -> int | None:
    """The time that a file of given bytes must have: one without a date of its own is dated by it."""
    if change is None or change.raw is None:
        return None
    if change.modified_ns is None and change.before is not None:
        return change.before.signature.modified_ns
    return change.modified_ns


def _parents(steps: Sequence[_Step]) -> list[Path]:
    return list(dict.fromkeys(folder for step in steps for folder in (step.target.parent, step.aside.parent)))


def _conflict() -> ConflictError:
    return ConflictError(
        "The note was changed on disk in the meantime.", "Nothing was written; read it again and repeat the call."
    )


def _unknown() -> StorageError:
    return StorageError(
        "The memory folder failed in the middle of a change, and again while it was taken back.",
        "The change is completed or dropped as a whole before the notes are next written; look before you repeat it.",
    )


def _refusal(error: OSError) -> StorageError:
    """The disk's own error in the project's words."""
    return StorageError(
        f"The memory folder cannot be written: {error.strerror or type(error).__name__}.",
        "Nothing was changed. Check free space and permissions.",
    )
