"""What was: lines of the journal, texts that were replaced, and notes in the trash; and their erasure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import anyio.to_thread

from holdfast.errors import IntegrityError
from holdfast.model.note import Note
from holdfast.model.records import JournalRecord
from holdfast.model.times import instant, moment
from holdfast.store.codec import Surroundings, content_hash, note_of
from holdfast.store.erasure import Erasure, Remains, carry_out, remains_of, write_plan
from holdfast.store.filesystem import FileSystem
from holdfast.store.folder import Folder, on_disk
from holdfast.store.frontmatter import MalformedError, parse
from holdfast.store.intents import PlannedFile
from holdfast.store.journal import Journal, Record, read_line
from holdfast.store.lookup import records_at
from holdfast.store.records import read_record
from holdfast.store.restore import going_forward


@dataclass(frozen=True, slots=True)
class PastText:
    """A file as it was. `modified_ns` is its time where the note has no other date."""

    note: Note
    data: bytes
    modified_ns: int | None


@dataclass(frozen=True, slots=True)
class Deletion:
    """How a note came into the trash: the change, its verb, when, and the file."""

    change: str
    op: str
    at: str
    file: PlannedFile


class FolderHistory:
    """The history of one folder.

    Args:
        folder: the layout.
        files: the file system.
        journal: the folder's.
    """

    def __init__(self, folder: Folder, files: FileSystem, journal: Journal) -> None:
        self._folder = folder
        self._files = files
        self._journal = journal

    async def records(self, ops: Collection[str] = ()) -> list[JournalRecord]:
        """The lines of some verbs, or of all, in order; without changes that never happened."""
        return await on_disk(self._records, ops)

    async def lines(self, numbers: Iterable[int]) -> dict[int, JournalRecord]:
        """The lines of these numbers, by number; those that are not there are left out."""
        return await on_disk(lambda: {number: read_record(raw) for number, raw in self._lines(numbers).items()})

    async def replaced(self, file: PlannedFile, created: str = "") -> PastText:
        """The text that a change took away.

        Args:
            file: the change's plan for it.
            created: when the note was made, for a file that does not say so.

        Raises:
            IntegrityError: it is not kept any more.
        """
        return await on_disk(self._replaced, file, created)

    async def drop(self, deletion: PlannedFile) -> None:
        """Take a file out of the trash, if it is still the one that was put there."""
        await on_disk(self._drop, deletion)

    async def remains(self, note: str, paths: Sequence[str]) -> Remains:
        """Everything that is kept of a note; `paths` are its files below `memories/`."""
        return await on_disk(remains_of, note, paths, self._folder, self._files, self._journal)

    async def erase(self, erasure: Erasure) -> None:
        """Erase a note from files, history, trash and journal. The caller is alone and owns every key.

        Once begun it is carried on by whoever next needs the folder.
        """
        with going_forward("purge", self._files, self._folder.purge_plan):
            await anyio.to_thread.run_sync(write_plan, erasure, self._folder, self._files)
            await carry_out(self._folder, self._files, self._journal)

    def _records(self, ops: Collection[str]) -> list[JournalRecord]:
        """Only lines that can be of these verbs, or that tell of an outcome, are taken apart."""
        words = [f'"op":"{op}"'.encode() for op in ops]
        told = list(self._journal.records([*words, b'"void":'] if ops else (b"",)))
        void = void_changes(told)
        wanted = (record for record in told if not ops or record.get("op") in ops)
        return [read_record(record) for record in wanted if record.get("change") not in void]

    def _lines(self, numbers: Iterable[int]) -> dict[int, Record]:
        return records_at(numbers, self._folder.journal, self._files, read_line)

    def _replaced(self, file: PlannedFile, created: str) -> PastText:
        kept = self._folder.history / f"{file.before}.md"
        trash = self._folder.inside(file.aside)
        for path in (kept, trash) if file.after is None else (kept,):
            data = self._bytes(path)
            if data is not None and content_hash(data) == file.before:
                deleted = self._files.signature(trash) if file.after is None else None
                return self._past_text(file, data, deleted.modified_ns if deleted else _nanoseconds(created))
        raise IntegrityError(
            "The text from before this change is not kept any more: it was purged, or history/ was tidied by hand.",
            "Nothing was changed; a backup may have it.",
        )

    def _past_text(self, file: PlannedFile, data: bytes, modified_ns: int | None) -> PastText:
        around = Surroundings(self._folder.space_of(file.path))
        try:
            document = parse(data)
            if "created" in document.values:
                return PastText(note_of(document, around, file.note), data, None)
            dated = Surroundings(around.space, _date(modified_ns, around.modified))
            return PastText(note_of(document, dated, file.note), data, modified_ns)
        except MalformedError as error:
            raise IntegrityError("The text from before this change cannot be read as a note.") from error

    def _bytes(self, path: Path) -> bytes | None:
        try:
            return self._files.read(path)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _drop(self, deletion: PlannedFile) -> None:
        path = self._folder.inside(deletion.aside)
        data = self._bytes(path)
        if data is not None and content_hash(data) == deletion.before:
            self._files.remove(path)


def void_changes(records: Sequence[Record]) -> set[str]:
    """Changes that never happened; of two lines that differ the one that says so of its own change is right."""
    done = {change for record in records for change in record.get("done", ())}
    return {change for record in records for change in record.get("void", ())} - done


def _nanoseconds(created: str) -> int | None:
    return int(moment(created).timestamp()) * 1_000_000_000 if created else None


def _date(modified_ns: int | None, default: str) -> str:
    return default if modified_ns is None else instant(datetime.fromtimestamp(modified_ns / 1e9, UTC))
