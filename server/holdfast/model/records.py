"""What one line of the journal says, and the pages beside the notes that it may speak of.

`docs/journal.md` describes every line and each of its fields. A line is written once and stays: what is read here may
have been written by any earlier version, or by nobody of ours. `holdfast.store.records` turns these values into the
objects of a line and back.

Pages are the text files beside the notes, by their path relative to the memory folder:

* NOW files and MEMORY.md.
* Daily logs: one file for each UTC day, in OMI's form: `# 2026-11-20`, then entries, each below a line
  `## [2026-11-20T10:15:00.000+00:00]`.
* State capsules: what was known at one moment, as one JSON object with a checksum over it.

The lines in their order tell how each page is to look (`baselines`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, Final

from holdfast.model.note import GLOBAL_SPACE
from holdfast.model.now import lines_of, stamp
from holdfast.model.words import regex

NOW, MEMORY = "NOW.md", "MEMORY.md"
NOW_FOLDER, DAILY, CAPSULES = "now", "daily", "capsules"
PROPOSALS = "proposals"
_KEY = "page:"
_PAGE = regex(
    r"NOW\.md|MEMORY\.md|now/[^/]+\.md|daily/\d{4}-\d\d-\d\d\.md|(?:capsules|proposals)/[^/]+\.json", re.ASCII
)
_DAY = regex(r"daily/(\d{4}-\d\d-\d\d)\.md", re.ASCII)


def now_page(space: str | None) -> str:
    """The NOW file of a space; the common one for no space."""
    return NOW if space in (None, GLOBAL_SPACE) else f"{NOW_FOLDER}/{space}.md"


def daily_page(day: date) -> str:
    """The log of one UTC day."""
    return f"{DAILY}/{day.isoformat()}.md"


def day_of(path: str) -> date | None:
    """The day of a daily log; None for any other page."""
    found = _DAY.fullmatch(path)
    try:
        return date.fromisoformat(found.group(1)) if found else None
    except ValueError:  # the 31st of February
        return None


def is_page(path: str) -> bool:
    """Whether a path is one that a page may have."""
    return _PAGE.fullmatch(path) is not None


def page_key(path: str) -> str:
    """The lock of a page, which also stands in the journal where a note's id does."""
    return _KEY + path


def is_page_key(key: str) -> bool:
    """Whether a lock or a name in the journal is a page's."""
    return key.startswith(_KEY)


_ENTRY = regex(r"[ \t]*\\*## \[")


def log_title(day: date) -> str:
    """How a log begins."""
    return f"# {day.isoformat()}\n"


def log_entry(content: str, at: datetime) -> str:
    """What is added to a log. No line of `content` looks like the beginning of another entry."""
    lines = (f"\\{line}" if _ENTRY.match(line) else line for line in lines_of(content).split("\n"))
    return f"\n\n## [{stamp(at)}]\n\n" + "\n".join(lines) + "\n"


VERSION = "1.0"


def sealed(capsule: dict[str, Any]) -> bytes:
    """A capsule as it is written: with `version`, and `checksum`, the SHA-256 of all else as canonical JSON."""
    whole = {"version": VERSION, **capsule}
    return json.dumps({**whole, "checksum": checksum(whole)}, ensure_ascii=False, indent=2).encode() + b"\n"


def without_memory(data: bytes, note_id: str) -> bytes | None:
    """A capsule that tells nothing of a note, sealed anew; None for bytes that are no capsule."""
    try:
        capsule: dict[str, Any] = json.loads(data)
        beliefs = [item for item in capsule["beliefs"] if item["memory_id"] != note_id]
        recent = [item for item in capsule["recent"] if item != note_id]
        rest = {key: value for key, value in capsule.items() if key not in ("version", "checksum")}
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return sealed({**rest, "beliefs": beliefs, "recent": recent})


def checksum(capsule: dict[str, Any]) -> str:
    """SHA-256 of the capsule without its checksum: JSON with sorted keys, ASCII only, as Python writes it."""
    rest = {key: value for key, value in capsule.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def capsule_name(at: datetime) -> str:
    """A name that sorts by time."""
    return f"{at.astimezone(UTC):%Y%m%dT%H%M%S.%f}Z.json"


NO_HASH = "0" * 64  # stands for the hash of a text that was purged

# Operations whose lines are no change of notes or pages. The name is also the key of what such a line says.
USE, FEEDBACK, JOB, CONTRADICTION, GIVEN, FORGOTTEN = "use", "feedback", "job", "contradiction", "given", "forgotten"
MAINTENANCE, JUDGE, MAINTENANCE_BATCH = "maintenance", "judge", "maintenance_batch"
PAGES_SEEN, ACCEPT_INTEGRITY, RESTORE, PURGE = "pages_seen", "accept_integrity", "restore", "purge"
OPERATIONS: Final = (
    USE, FEEDBACK, JOB, CONTRADICTION, GIVEN, FORGOTTEN, MAINTENANCE, JUDGE, MAINTENANCE_BATCH, PAGES_SEEN,
    ACCEPT_INTEGRITY, RESTORE, PURGE,
)  # fmt: skip
LONGEST_QUESTION = 500  # characters of a question that a line keeps
LONGEST_EVENT = 64
ADOPT = "adopt"  # a change that only writes a note's id into its file
UPDATE = "admin_update_memory"  # a change of what a note says


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
        line = {
            "note": self.note, "path": self.path, "before": self.before, "after": self.after, "aside": self.aside,
        }  # fmt: skip
        return line if self.size is None else {**line, "size": self.size}


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
        same_text: of a change that a person made: neither the title nor the text of a note was changed.
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
    same_text: bool = False
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


THEN = ", then "  # between what was done to a page
BLANK = frozenset(
    hashlib.sha256(data).hexdigest() for data in (b"", b"\n", b"\r\n")
)  # the hashes of pages without a text


@dataclass(frozen=True, slots=True)
class Baseline:
    """How a page is to look: its hash and bytes, None where it is to be missing.

    `foreign` says what somebody else did to it before a write of ours, which went on from that and is no consent to
    it: "edited", "made", "emptied" or "deleted", several of them joined by `THEN` in their order, each once.
    """

    hash: str | None
    size: int | None = None
    foreign: str = ""


def baselines(records: Iterable[JournalRecord], before: Mapping[str, Baseline] | None = None) -> dict[str, Baseline]:
    """The baselines of pages, by path, from the journal's lines in order.

    Every change of ours sets one. What it found in place of the last one was somebody else's, and that stays known
    until it is accepted. A restore sets them all. A page that was seen before any change of ours is trusted as it was
    then.

    Args:
        records: lines of the journal.
        before: the baselines that follow from the lines before these.
    """
    lines = list(records)
    void = {change for line in lines for change in line.void}
    void -= {change for line in lines for change in line.done}  # its own writer knows best
    found = dict(before or {})
    for line in lines:
        found = with_line(found, line, void=line.change in void)
    return found


def with_line(before: Mapping[str, Baseline], line: JournalRecord, *, void: bool) -> dict[str, Baseline]:
    """The baselines behind one line; `void` says that its change never happened."""
    found = dict(before)
    for path, mark in _watched(line.seen):
        found.setdefault(path, mark)
    if line.restored is not None:  # the pages of a backup are in the place of all that were there
        found = {path: Baseline(mark) for path, mark in line.restored.items() if is_watched(path)}
    if not void:
        for file in line.files:
            if file.is_page and is_watched(file.path):
                found[file.path] = _following(found.get(file.path), file)
    found.update(_watched(line.accepted))
    return found


def is_watched(path: str) -> bool:
    """Whether a path is that of a page whose changes by others are reported: NOW files, MEMORY.md and logs."""
    return is_page(path) and (path in (NOW, MEMORY) or path.startswith((f"{NOW_FOLDER}/", f"{DAILY}/")))


def _following(last: Baseline | None, file: FileChange) -> Baseline:
    if last is None or file.before == last.hash:
        return Baseline(file.after, file.size, last.foreign if last else "")
    before = last.foreign.split(THEN) if last.foreign else []
    return Baseline(file.after, file.size, THEN.join(dict.fromkeys([*before, _kind(last.hash, file.before)])))


def _kind(expected: str | None, found: str | None) -> str:
    """What was done to a page that is not as it was left."""
    if found is None:
        return "deleted"
    if expected is None:
        return "made"
    return "emptied" if found in BLANK else "edited"


def marks_of(pages: Mapping[str, Baseline]) -> tuple[PageMark, ...]:
    """Baselines as a journal line tells them."""
    return tuple(PageMark(path, mark.hash, mark.size) for path, mark in sorted(pages.items()))


def _watched(marks: Iterable[PageMark]) -> list[tuple[str, Baseline]]:
    return [(mark.path, Baseline(mark.hash, mark.size)) for mark in marks if is_watched(mark.path)]
