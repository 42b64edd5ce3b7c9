"""What one line of the journal says, as typed values. `docs/journal.md` describes every line and each of its fields.

A line is written once and stays: what is read here may have been written by any earlier version, or by nobody of ours.
`holdfast.store.records` turns these values into the objects of a line and back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.model.pages import is_page_key

NO_HASH = "0" * 64  # stands for the hash of a text that was purged

# Operations whose lines are no change of notes or pages. The name is also the key of what such a line says.
USE, FEEDBACK, JOB, CONTRADICTION, GIVEN, FORGOTTEN = "use", "feedback", "job", "contradiction", "given", "forgotten"
MAINTENANCE, JUDGE, MAINTENANCE_BATCH = "maintenance", "judge", "maintenance_batch"
PAGES_SEEN, ACCEPT_INTEGRITY, RESTORE, PURGE = "pages_seen", "accept_integrity", "restore", "purge"
LONGEST_QUESTION = 500  # characters of a question that a line keeps
LONGEST_EVENT = 64
ADOPT = "adopt"  # a change that only writes a note's id into its file


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file of a change. `before` and `after` are content hashes; None where there is no file.

    `note` is a note's id, or a page's key; `size` are the bytes of a page's new text. `aside` is relative to the
    folder: where the new text waits, then where the old one is kept.
    """

    note: str
    path: str
    before: str | None
    after: str | None
    aside: str
    size: int | None = None

    @property
    def is_page(self) -> bool:
        return is_page_key(self.note)

    def record(self) -> dict[str, Any]:
        """As the journal's line has it."""
        told = {
            "note": self.note, "path": self.path, "before": self.before, "after": self.after, "aside": self.aside,
        }  # fmt: skip
        return told if self.size is None else {**told, "size": self.size}


@dataclass(frozen=True, slots=True)
class PageMark:
    """How a page looked: its hash and bytes; no hash where it was missing."""

    path: str
    hash: str | None
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that a note was rated for: its key, its text, and the part of that which is embedded."""

    key: str
    asked: str
    embedded: str


@dataclass(frozen=True, slots=True)
class Rating:
    """A signal on a note: 1 where it helped with what was asked, -1 where it did not."""

    note: str
    event: str
    signal: int
    explicit: bool
    question: Asked | None = None


@dataclass(frozen=True, slots=True)
class Ran:
    """A run of a job: `outcome` is `done` or the name of an error, `changed` counts notes."""

    name: str
    outcome: str
    changed: int
    milliseconds: int


@dataclass(frozen=True, slots=True)
class Maintained:
    """That maintenance was seen to, by the verdicts on a batch where there was one."""

    batch: str | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """A pair that was judged: `a` sorts before `b`; the hashes name the texts that were shown."""

    a: str
    b: str
    hash_a: str
    hash_b: str
    verdict: str


@dataclass(frozen=True, slots=True)
class Offered:
    """A batch of maintenance that was handed out: its items are (kind, ((note, hash of its text), ...))."""

    id: str
    expires: str
    items: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Opposed:
    """Two notes that contradict each other, and how that was seen."""

    one: str
    other: str
    pattern: str


@dataclass(frozen=True, slots=True)
class GivenId:
    """The id that was given to a file which does not carry one; `path` is below `memories/`."""

    note: str
    path: str


@dataclass(frozen=True, slots=True)
class JournalRecord:
    """One line. Whatever is not said has its default; `seq` is 0 until the line is written.

    Attributes:
        op: the verb, or what the line is about; empty for lines that only tell how changes ended.
        at, by, source: when, which principal, through which program.
        seq: its number; in one sequence for the whole memory, whoever writes.
        change: the id of the change that the line announces; None for a line that announces none.
        files: what that change does, file by file.
        guards: further keys that its writer held.
        done, void: changes that are whole, and changes that never happened.
        settled: every change up to this number is one or the other.
        undoes: the change that this one takes back.
        unplaced: the note was stored without a space because its caller had none.
        admin: the tool of the admin namespace that was called.
        outcome: how a call ended: `done`, or the name of an error.
        change_id: the change that an admin call made.
        dry_run: nothing was done, it was only said what would be.
        note: the note that a line without `files` is about.
        maintenance, item, judged, batch, cursors: see `docs/maintenance.md`.
        kept, discarded: the notes of a merge.
        attempt: at which try notes were made of a piece of a transcript.
        use: the note that was of use.
        feedback, job, found, given, forgotten: what such lines say; `forgotten` are changes.
        seen, accepted: pages as they were first seen, and as they were taken for right.
        restored: the pages of a backup that took the place of all, hashes by path.
        more: every other key: details for those who read the file, which no program goes by.
    """

    op: str = ""
    at: str = ""
    by: str = ""
    source: str = ""
    seq: int = 0
    change: str | None = None
    files: tuple[FileChange, ...] = ()
    guards: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    void: tuple[str, ...] = ()
    settled: int = 0
    undoes: str | None = None
    unplaced: bool = False
    admin: str | None = None
    outcome: str | None = None
    change_id: str | None = None
    dry_run: bool = False
    note: str | None = None
    maintenance: Maintained | None = None
    item: str | None = None
    judged: tuple[Judged, ...] = ()
    batch: Offered | None = None
    cursors: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    kept: str | None = None
    discarded: str | None = None
    attempt: str | None = None
    use: str | None = None
    feedback: Rating | None = None
    job: Ran | None = None
    found: tuple[Opposed, ...] = ()
    given: tuple[GivenId, ...] = ()
    forgotten: tuple[str, ...] = ()
    seen: tuple[PageMark, ...] = ()
    accepted: tuple[PageMark, ...] = ()
    restored: Mapping[str, str] | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_about_pages(self) -> bool:
        """Whether it may say how a page is to look."""
        return bool(self.seen or self.accepted or self.restored is not None) or any(file.is_page for file in self.files)


def judgement(one: tuple[str, str], other: tuple[str, str], verdict: str) -> Judged:
    """What a line says of two judged notes, each (id, hash of its text)."""
    (a, hash_a), (b, hash_b) = sorted((one, other))
    return Judged(a, b, hash_a, hash_b, verdict)


@dataclass(frozen=True, slots=True)
class RecallEvent:
    """One recall: what was asked and which notes were shown. `vector` is the query's, empty without an encoder.

    `principal` is who asked.
    """

    id: str
    at: str
    query: str
    space: str | None
    shown: Sequence[tuple[str, float]]  # note id, relevance
    vector_set: str = ""
    vector: bytes = b""
    principal: str = "local"
