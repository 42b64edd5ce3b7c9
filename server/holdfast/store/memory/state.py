"""What a memory without a disk consists of: the bytes of notes and pages, what was replaced, and the journal."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from holdfast.model.records import FileChange, JournalRecord
from holdfast.model.times import moment
from holdfast.store.codec import Surroundings, content_hash, note_of
from holdfast.store.filesystem import Signature
from holdfast.store.frontmatter import MalformedError, parse
from holdfast.store.stored import Page, Stored, Unreadable, time_of


@dataclass(frozen=True, slots=True)
class Text:
    """The bytes of a note or page: `version` is another one each time that they change."""

    data: bytes
    touched_ns: int
    version: int

    @property
    def hash(self) -> str:
        return content_hash(self.data)

    @property
    def signature(self) -> Signature:
        return Signature(self.touched_ns, self.touched_ns, len(self.data), self.version)


@dataclass(slots=True)
class State:
    """A memory: several stores may share one, as servers share a database. Paths are those that an export would have.

    Attributes:
        notes: texts by path.
        pages: texts by path.
        replaced: texts that changes took away, by their hash.
        trash: notes that were deleted, by the `aside` of their change.
        records: the journal; the number of each is its place, from 1.
    """

    notes: dict[str, Text] = field(default_factory=dict)
    pages: dict[str, Text] = field(default_factory=dict)
    replaced: dict[str, bytes] = field(default_factory=dict)
    trash: dict[str, Text] = field(default_factory=dict)
    records: list[JournalRecord] = field(default_factory=list)
    versions: int = 0

    def append(self, record: JournalRecord, at: str) -> JournalRecord:
        """Write a line; one that tells no time has `at`."""
        written = replace(record, seq=len(self.records) + 1, at=record.at or at)
        self.records.append(written)
        return written

    def text(self, data: bytes, touched_ns: int) -> Text:
        """New bytes, as a version that no other has."""
        self.versions += 1
        return Text(data, touched_ns, self.versions)

    def texts_of(self, file: FileChange) -> dict[str, Text]:
        """Where a file of a change belongs."""
        return self.pages if file.is_page else self.notes

    def read(self, path: str, known_id: str | None) -> Stored | Unreadable | None:
        """A note as it is now; None where there is none."""
        text = self.notes.get(path)
        if text is None:
            return None
        try:
            document = parse(text.data)
            around = Surroundings(path.partition("/")[0], time_of(text.signature))
            note = note_of(document, around, known_id)
        except MalformedError as error:
            return Unreadable(path, str(error), text.signature)
        return Stored(note, path, text.hash, text.signature, document, "id" in document.values)

    def page(self, path: str) -> Page | None:
        """A page as it is now; None where there is none."""
        text = self.pages.get(path)
        return None if text is None else Page(path, text.data, text.hash, time_of(text.signature))

    def void(self) -> set[str]:
        """Changes that never happened."""
        return {change for record in self.records for change in record.void}


def nanoseconds(at: str) -> int:
    """An instant in nanoseconds since 1970."""
    return round(moment(at).timestamp() * 1_000_000_000)
