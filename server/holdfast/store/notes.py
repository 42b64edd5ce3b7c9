"""The store: note files in a folder, read, scanned, locked and changed."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import anyio.to_thread

from holdfast.errors import StorageError
from holdfast.model.note import Note
from holdfast.model.records import JournalRecord, is_page, is_page_key
from holdfast.store import history as erasing
from holdfast.store.codec import content_hash, new_document, with_id
from holdfast.store.filesystem import NO_SIGNATURE, Entry, FileSystem, spelled
from holdfast.store.folder import SUFFIX, Folder, News, Watch, Writable, on_disk, unreadable
from holdfast.store.history import FolderHistory
from holdfast.store.journal import Journal
from holdfast.store.locks import LONG_PATIENCE_SECONDS, Lock, Stripes
from holdfast.store.records import START, Reading, as_line, read_position, read_record
from holdfast.store.restore import carry_out
from holdfast.store.settle import (
    LOOK_SECONDS,
    AnnouncedChange,
    OpenIntents,
    PlannedFile,
    Stillness,
    SwappedOut,
    conflict_report,
    discard,
    hash_of,
    laid_aside,
    plans_of,
    settle,
)
from holdfast.store.stored import (
    Change,
    Committed,
    Mark,
    Page,
    PageChange,
    Stored,
    Unreadable,
    read_note,
    read_page,
    weigh_notes,
    weigh_pages,
)
from holdfast.store.writer import Writer

BRIEF_SECONDS = 0.1  # how long looking again waits for a note that somebody else holds
MARK_AFTER = 500  # records; then the next start need not read them again
FEW_PATHS = 64  # are looked at without a thread
_OF_PAGES = (b'"note":"page:', b'"pages', b'"void":')  # what no other line has
_ENCODING = {False: "encode", True: "encode-remote"}


class NoteFiles:
    """All notes of one folder.

    Args:
        folder: the layout.
        files: the file system.
        clock: the time now.
        change_id: gives a new id for each change.
    """

    def __init__(
        self, folder: Folder, files: FileSystem, clock: Callable[[], datetime], change_id: Callable[[], str]
    ) -> None:
        self._folder = folder
        self._files = files
        self._stripes = Stripes(folder.locks)
        self._whole = Lock(folder.locks / "folder", LONG_PATIENCE_SECONDS)
        self._encoding = {remote: Lock(folder.locks / name) for remote, name in _ENCODING.items()}
        self._journal = Journal(folder, files, clock)
        self._intents = OpenIntents()
        self._watch = Watch(folder.memories)
        self._swapped = SwappedOut(folder, files)
        self._stillness = Stillness(files)
        self._writer = Writer(
            folder, files, self._journal, self._intents, self._watch, self._swapped, self._stillness, change_id
        )
        self._writable = Writable(folder, files)
        self._exchanged = False  # a backup took the folder's place since that was last asked
        self.past = FolderHistory(folder, files, self._journal)

    @property
    def open_changes(self) -> int:
        """How many announced changes have no outcome yet: others are at them, or they cannot be settled."""
        return len(self._intents.all())

    @property
    def reading_only(self) -> str:
        """Why nothing can be written, in a few words; empty where it can."""
        return self._writable.obstacle

    async def write_again(self) -> None:
        """Take writing for possible; `open` follows."""
        self._writable.obstacle = ""

    async def read_only(self, reason: str) -> None:
        """From now on nothing is written and no lock is needed, until `write_again`."""
        self._writable.obstacle = reason

    async def why_not_written(self) -> str:
        """Try whether every part of the folder can be written to; why not, empty where it can."""
        return await self._writable.find_obstacle()

    async def open(self, known: str = "") -> None:
        """Make the folder where it is missing, and settle every change that a crash left open.

        Args:
            known: a place in the journal up to which every change is known to be done or void, see `journal_since`.

        Raises:
            StorageError: the folder cannot be made or read.
        """
        try:
            await anyio.to_thread.run_sync(self._make_folders)
            await self._journal.open(read_position(known))
        except OSError as error:
            raise StorageError(
                f"The memory folder cannot be opened: {error.strerror}.",
                "Set HOLDFAST_HOME to a folder that can be written to.",
            ) from error
        await self.finish_restore()
        await self._learn()
        upto = self._journal.position.seq
        for intent in self._intents.all():
            async with self.hold(intent.keys):
                pass
        await self._sweep()
        with suppress(StorageError):  # a full disk keeps nobody from reading, and the next start looks again
            await self._writer.write_outcomes()  # before it is said that all of them are known
            await self._journal.mark_settled(upto, MARK_AFTER)

    @property
    def is_there(self) -> bool:
        """Whether `memories/` is a folder now: its disk may have been unmounted.

        Raises:
            StorageError: that may not be looked at.
        """
        try:
            return self._folder.memories.is_dir()
        except OSError as error:
            raise unreadable(error) from error

    async def aclose(self) -> None:
        """Tell the journal what is whole, then let go of the folder.

        Raises:
            StorageError: the journal cannot be written; the folder is let go of all the same.
        """
        try:
            if self.is_there and not self._writable.obstacle:  # a folder that is gone is not begun anew for that
                await self._writer.write_outcomes()
        finally:
            self._stripes.close()
            for lock in (self._whole, *self._encoding.values()):
                lock.close()
            self._journal.close()
            self._watch.close()

    @asynccontextmanager
    async def hold(self, keys: Iterable[str]) -> AsyncIterator[frozenset[str]]:
        """Own these keys (note ids, sessions, ...) among all tasks and processes, with no open change behind them.

        Yields the notes of changes without an outcome that turned out to be made; the index may not know them yet.
        """
        wanted = set(keys)
        while True:
            if self._writable.obstacle:
                yield frozenset()
                return
            await self.finish_restore()
            async with self._stripes.hold(wanted):
                if self._is_interrupted():
                    continue
                await self._learn()
                open_here = self._intents.touching(wanted)
                further = {key for intent in open_here for key in intent.keys} - wanted
                if not further:
                    made = [note for intent in open_here for note in await self._settle(intent)]
                    yield frozenset(made)
                    return
            wanted |= further

    @asynccontextmanager
    async def try_hold(self, keys: Iterable[str], patience: float) -> AsyncIterator[frozenset[str]]:
        """As `hold`, for those of the keys that others let go of in so many seconds; yields what is owned."""
        wanted = set(keys)
        while True:
            if self._writable.obstacle:  # nobody writes, so there is nothing to own it against
                yield frozenset(wanted)
                return
            await self.finish_restore()
            async with self._stripes.try_hold(wanted, patience) as owned:
                if self._is_interrupted():
                    continue
                await self._learn()
                open_here = self._intents.touching(owned)
                further = {key for intent in open_here for key in intent.keys} - wanted
                if not further:
                    stuck = [intent for intent in open_here if not intent.keys <= owned]
                    for intent in open_here:
                        if intent not in stuck:
                            await self._settle(intent)
                    yield frozenset(owned.difference(*(intent.keys for intent in stuck)))
                    return
            wanted |= further

    async def settled(self, keys: Iterable[str], patience: float) -> None:
        """Settle what others left open of these keys; their locks are taken only for that, if they are free in time."""
        wanted = set(keys)
        if self._writable.obstacle:
            return
        await self.finish_restore()
        await self._learn()
        if self._intents.touching(wanted):
            async with self.try_hold(wanted, patience):
                pass

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Be the only one that works on the whole folder. Taken before `hold`, never inside it."""
        if self._writable.obstacle:
            yield
            return
        async with self._whole.hold():
            if self._is_interrupted():
                async with self._stripes.hold_all():
                    await self.carry_out()
            yield

    @asynccontextmanager
    async def quiet(self) -> AsyncIterator[None]:
        """Own every key, with every change settled: what lies in the folder is whole, and stays as it is."""
        while True:
            self.check_writing()
            await self.finish_restore()
            async with self._stripes.hold_all():
                if self._is_interrupted():
                    continue
                await self._learn()
                for unsettled in self._intents.all():
                    await self._settle(unsettled)
                yield
                return

    async def exchanged(self) -> bool:
        """Whether this process put a backup in the folder's place since it was last asked; finishes what is begun."""
        await self.finish_restore()
        exchanged, self._exchanged = self._exchanged, False
        return exchanged

    async def carry_out(self) -> None:
        """Do what a plan says, of a restore or a purge. The caller is alone and owns every key."""
        try:
            if self._files.exists(self._folder.restore_plan):
                seq = await carry_out(self._folder, self._files, self._journal)
                self._intents.learn([{"seq": seq + 1, "settled": seq}])
                self._exchanged = True
            if self._files.exists(self._folder.purge_plan):
                await erasing.carry_out(self._folder, self._files, self._journal)
        except OSError as error:
            raise unreadable(error) from error

    async def finish_restore(self) -> None:
        """Wait for a restore or purge that is under way, or carry on one whose process died in the middle."""
        if self._is_interrupted():
            async with self.alone():
                pass

    def _is_interrupted(self) -> bool:
        """Whether a restore or purge is decided and not finished; if its process holds no lock, that has died."""
        try:
            return any(map(self._files.exists, (self._folder.restore_plan, self._folder.purge_plan)))
        except OSError as error:
            raise unreadable(error) from error

    def encoding_turn(self, *, remote: bool) -> AbstractAsyncContextManager[bool]:
        """Be the only process that encodes the queue, with its own model or a remote one; yields whether it is."""
        return nullcontext(True) if self._writable.obstacle else self._encoding[remote].hold_if_free()  # noqa: FBT003

    def check_writing(self) -> None:
        """Make sure that changes can be written at all.

        Raises:
            StorageError: nothing can be written now.
        """
        self._writable.check()

    def commit(
        self, op: str, changes: Sequence[Change | PageChange], said: JournalRecord
    ) -> AbstractAsyncContextManager[Committed]:
        """Write a change of one or more notes and pages; `said` goes into its line too. See `Writer.commit`.

        Raises:
            StorageError: nothing can be written now.
        """
        self.check_writing()
        return self._writer.commit(op, changes, as_line(said))

    async def pages(self, paths: Iterable[str]) -> dict[str, Page]:
        """Text files beside the notes, by path relative to the folder; those that are not there are left out.

        Raises:
            StorageError: one of them cannot be read, or is too long.
        """
        found = await on_disk(lambda: [read_page(self._folder, self._files, path) for path in paths])
        return {page.path: page for page in found if page is not None}

    async def list_pages(self, folder: str) -> list[str]:
        """The pages of one folder, in order."""
        names = await on_disk(self._files.list_folder, self._folder.inside(folder))
        return [path for name in names if is_page(path := f"{folder}/{name}")]

    async def page_marks(self, paths: Iterable[str]) -> dict[str, Mark]:
        """Hash and bytes of pages, by path; those that are not there are left out, what cannot be read has no hash."""
        return await on_disk(weigh_pages, self._folder, self._files, paths)

    def pages_in_change(self) -> dict[str, PlannedFile]:
        """The pages that this process is changing just now, by path: each is as before that, or as after it."""
        return dict(self._writer.pages)

    async def note_hashes(self, paths: Iterable[str]) -> dict[str, str]:
        """The content hashes of note files as they are now, by path."""
        return await on_disk(weigh_notes, self._folder, self._files, paths)

    async def drop_page(self, path: str) -> None:
        """Take away a page that is one of many and worth no history."""
        self.check_writing()
        await on_disk(self._files.remove, self._folder.inside(path))

    async def load(self, paths: Sequence[str], known_ids: Mapping[str, str]) -> list[Stored | Unreadable]:
        """Read files; one that is gone is left out.

        Args:
            paths: relative to `memories/`.
            known_ids: ids by path for files whose frontmatter has none yet; they must cover all such files that
                are to be read, the others are told as unreadable.
        """
        return await on_disk(self._load_all, paths, known_ids)

    async def scan(self) -> dict[str, Entry]:
        """Everything in `memories/` that is or looks like a note, by path; `news` goes on from here."""
        self._watch.begin()
        return await on_disk(self._scan)

    @property
    def watches(self) -> bool:
        """Whether `news` tells of every change, so that scans are not needed for it."""
        return self._watch.on

    async def news(self) -> dict[str, Entry | None] | None:
        """What others changed since the last `scan` or `news`: by path what stands there now, None for nothing.

        A file that was written in place has `NO_SIGNATURE`: its own may say that it is as it was. A path that ends
        in / is a new folder: what is not told of it is not in it. Returns None where only a scan can tell.
        """
        news = self._watch.news()
        if news is None or len(news.folders) > FEW_PATHS:
            self._watch.close()
            return None
        if not news.folders and len(news.paths) <= FEW_PATHS:
            try:
                return self._looked_at(news)
            except OSError as error:
                raise unreadable(error) from error
        return await on_disk(self._looked_at, news)

    async def look(self, paths: Iterable[str]) -> dict[str, Entry]:
        """What a scan would find at these paths."""
        found = await on_disk(lambda: {path: self._look(str(self._folder.absolute(path))) for path in paths})
        return {path: entry for path, entry in found.items() if entry is not None}

    async def marks(self, paths: Iterable[str]) -> dict[str, str]:
        """Which versions of these files are there now, by path; see `Stored.mark`."""
        return {path: entry.mark for path, entry in (await self.look(paths)).items()}

    async def adopt(self, stored: Stored) -> Stored | None:
        """Write the id into a hand-written file, every other byte untouched. The caller holds its id.

        Returns the file as it is then, or None where somebody is still writing it.

        Raises:
            ConflictError, StorageError: nothing was written.
        """
        self.check_writing()
        path = self._folder.absolute(stored.path)
        if await on_disk(hash_of, self._files, path) != stored.hash:
            return None
        data = await on_disk(self._files.read, path)
        change = Change(stored, stored.note, with_id(data, stored.document, stored.note.id))
        async with self._writer.commit("adopt", [change], {}) as done:
            return replace(done.stored[0], has_id=True)

    def check_still(self, stored: Stored) -> None:
        """Make sure that nobody is in the middle of saving a note's file.

        Raises:
            ConflictError: it changed within the last second, and not by us.
            StorageError: it cannot be looked at.
        """
        try:
            self._stillness.check(self._folder.absolute(stored.path), stored.hash)
        except OSError as error:
            raise unreadable(error) from error

    async def look_again(self) -> float | None:
        """Look at what changes took away while an editor had it open; returns seconds until that is worth while again.

        Raises:
            StorageError: the disk refused; it is looked at again.
        """
        for path, plan in () if self._writable.obstacle else self._swapped.waiting:
            if await on_disk(self._swapped.is_due, path, plan):
                async with self.try_hold({plan.note}, BRIEF_SECONDS) as owned:
                    if plan.note in owned:
                        await on_disk(self._look_again, path, plan)
        return LOOK_SECONDS if self._swapped.waiting else None

    def take_reports(self) -> list[str]:
        """What the user is to be told of texts that met a change, each once."""
        reports, self._swapped.reports = self._swapped.reports, []
        return reports

    async def keep_text(self, note: Note, path: str, text: str) -> None:
        """Keep the last text of a file that holds none any more in the history, and report it.

        Args:
            note: what was known of it; the file may have said more.
            path: the file, relative to `memories/`.
            text: the hash of what it held.

        Raises:
            StorageError: the disk refused.
        """
        self.check_writing()
        kept = await on_disk(self._keep_text, note, text)
        report = f"memories/{path} is empty or no note any more; its last text is in {self._folder.below_home(kept)}."
        self._swapped.reports.append(report)

    def _keep_text(self, note: Note, text: str) -> Path:
        kept = self._folder.history / f"{text}.md"
        if self._files.exists(kept):
            return kept
        data = new_document(note).render()
        return kept.with_stem(self._swapped.keep_text(data, f"chg_{content_hash(data)}.{note.id}"))

    async def record(self, record: JournalRecord, *, flush: bool = False) -> int:
        """Add a line to the journal, without waiting for the disk unless asked to; returns its number.

        Raises:
            StorageError: nothing can be written now, or the disk refused.
        """
        self.check_writing()
        return await self._journal.append(as_line(replace(record, seq=0)), flush=flush)  # the journal numbers it

    async def tell_outcomes(self) -> None:
        """Tell the journal how this process's own changes ended.

        Raises:
            StorageError: it cannot be written.
        """
        await self._writer.write_outcomes()

    @property
    def journal_bytes(self) -> int:
        """How much of the journal this process has read or written."""
        return sum(self._journal.position.months.values())

    @property
    def journal_start(self) -> str:
        """The place before all lines."""
        return START.render()

    async def journal_since(self, known: str, most: int) -> list[Reading] | None:
        """The next lines behind a place, each with its own; none at the end. None where the journal was changed.

        Args:
            known: a `Reading.place`; empty for the beginning.
            most: how many lines at the most.
        """
        position = read_position(known) if known else START

        def look() -> list[Reading] | None:
            if position is None or not self._journal.fits(position):
                return None
            return [Reading(read) for read in itertools.islice(self._journal.reads_since(position), most)]

        return await on_disk(look)

    def damage_before(self, place: str) -> tuple[int, tuple[str, ...]]:
        """How many lines before a place could not be read when they were, and where the first of them are."""
        position = read_position(place)
        return (position.damaged, position.harmed) if position else (0, ())

    async def page_records(self, known: str) -> tuple[list[JournalRecord], str] | None:
        """The records behind a place that tell of pages, or of what never happened; and the place behind them.

        None where the journal was changed since. No lock is held meanwhile.
        """
        position = read_position(known) if known else START

        def look() -> tuple[list[JournalRecord], str] | None:
            if position is None or not self._journal.fits(position):
                return None
            records, end = self._journal.records_since(position, _OF_PAGES)
            return [read_record(record) for record in records], end.render()

        return await on_disk(look)

    async def damaged_lines(self) -> tuple[int, tuple[str, ...]]:
        """How many lines of the whole journal cannot be read, and where the first of them are."""

        def look() -> tuple[int, tuple[str, ...]]:
            newest = deque(self._journal.reads_since(START), maxlen=1)
            return (newest[0].damaged, newest[0].harmed) if newest else (0, ())

        return await on_disk(look)

    def _make_folders(self) -> None:
        for path in self._folder.all:
            self._files.make_folder(path)

    async def _learn(self) -> None:
        try:
            while records := await self._journal.news():
                self._intents.learn(records)
                self._stillness.learn(records)
        except OSError as error:
            raise unreadable(error) from error

    async def _sweep(self) -> None:
        """Remove what dead processes laid aside and no intent speaks of: they died before they announced it."""
        if not await on_disk(laid_aside, self._folder, self._files):
            return
        async with self._stripes.hold_all():  # whatever lies aside while nobody changes anything is nobody's
            await self._learn()
            spoken_of = {file.aside for intent in self._intents.all() for file in intent.files}
            left = await on_disk(laid_aside, self._folder, self._files)
            plans = await on_disk(plans_of, left, self._journal)
            for path in left:
                if path in plans:
                    self._swapped.found(path, plans[path])
                    await on_disk(self._look_again, path, plans[path])
                elif self._folder.below_home(path) not in spoken_of:
                    await on_disk(discard, path, self._folder, self._files)

    def _look_again(self, path: Path, plan: PlannedFile) -> None:
        if self._swapped.is_due(path, plan):
            self._swapped.give_back(path, plan)

    async def _settle(self, intent: AnnouncedChange) -> Iterable[str]:
        """Carry a change through or call it void; returns the notes that it made or changed."""
        outcome = await on_disk(settle, intent, self._folder, self._files, self._swapped)
        self._intents.forget(intent.change)
        self._swapped.reports += [conflict_report("a note or page", kept) for kept in outcome.conflicts]
        word = "done" if outcome.done else "void"
        try:
            await self._journal.append({word: [intent.change]}, flush=False)
        except StorageError:
            self._writer.tell_later(word, intent.change)  # a full disk keeps nobody from reading
        return [file.note for file in intent.files if outcome.done and file.after and not is_page_key(file.note)]

    def _scan(self, below: str = "") -> dict[str, Entry]:
        found = self._files.scan(self._folder.memories, SUFFIX, below=below, entered=self._watch.add)
        return {self._folder.relative(entry.path): entry for entry in found}

    def _looked_at(self, news: News) -> dict[str, Entry | None]:
        seen: dict[str, Entry | None] = {}
        for path, written in news.paths.items():
            entry = self._look(path)
            if not written and self._watch.is_ours(path, entry.signature if entry else None):
                continue
            if written and entry and entry.kind == "file":
                entry = entry._replace(signature=NO_SIGNATURE)
            seen[self._folder.relative(spelled(path))] = entry
        for folder in news.folders:
            name = self._folder.relative(spelled(folder))
            seen |= {name: None, f"{name}/": None}
            seen |= self._scan(folder)
        return seen

    def _look(self, path: str) -> Entry | None:
        return self._files.look(path, self._folder.memories, SUFFIX)

    def _load_all(self, paths: Sequence[str], known_ids: Mapping[str, str]) -> list[Stored | Unreadable]:
        found = (read_note(self._folder, self._files, path, known_ids.get(path)) for path in paths)
        return [item for item in found if item is not None]
