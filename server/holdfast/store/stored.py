"""A note as it lies on the disk, and what a change makes of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from holdfast.model.memory import Note
from holdfast.model.times import instant
from holdfast.store.filesystem import Signature
from holdfast.store.frontmatter import Document

EPOCH = "1970-01-01T00:00:00Z"
LARGEST_FILE = 384 * 1024
LARGEST_PAGE = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Stored:
    """A note and its file. `path` is relative to `memories/`; `hash` is the SHA-256 of the file's bytes.

    `has_id` is False for a hand-written file whose id is not in its frontmatter yet.
    """

    note: Note
    path: str
    hash: str
    signature: Signature
    document: Document
    has_id: bool = True


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that is quarantined: it stays where it is, marked with the reason."""

    path: str
    reason: str
    signature: Signature


@dataclass(frozen=True, slots=True)
class Change:
    """One note made (`before` is None), rewritten, or put into the trash (`after` is None).

    `raw` are the new file's bytes, where they are not the codec's; it then has the time `modified_ns`, else that of
    `before`. `path` is where a note that is made is to lie if nobody has that name.
    """

    before: Stored | None
    after: Note | None
    raw: bytes | None = None
    path: str | None = None
    modified_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """A text file beside the notes as it was read; `modified` is an ISO-8601 UTC instant."""

    path: str
    data: bytes
    hash: str
    modified: str


@dataclass(frozen=True, slots=True)
class PageChange:
    """A page made (`before` is None) or rewritten.

    A text that the new one begins with is not kept apart in the history: it is still there.
    """

    path: str
    before: Page | None
    after: bytes


@dataclass(frozen=True, slots=True)
class Committed:
    """A change that is on the disk, flushed: the notes made or rewritten, in the order asked for, and those gone.

    `pages` are the paths of the pages made or rewritten.
    """

    change_id: str
    seq: int
    op: str
    stored: tuple[Stored, ...]
    gone: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        return (*(item.note.id for item in self.stored), *self.gone)


def time_of(signature: Signature) -> str:
    """When the file was last changed, as far as a calendar goes."""
    try:
        return instant(datetime.fromtimestamp(signature.modified_ns / 1e9, UTC))
    except (ValueError, OverflowError):
        return EPOCH
