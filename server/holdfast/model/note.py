"""A note and the edges that leave it, its id, and its space: the values every layer speaks of.

An id is `mem_` and 16 characters of lower-case Crockford base32: 48 bits of milliseconds, 30 random bits.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
PREFIX = "mem_"
LENGTH = 16
RANDOM_BITS = 30
SELF_ID = PREFIX + "0" * LENGTH

_DIGITS = str.maketrans(ALPHABET, "0123456789abcdefghijklmnopqrstuv")  # as Python counts in base 32
_FULL = re.compile(rf"{PREFIX}[{ALPHABET}]{{{LENGTH}}}\Z")
_PART = re.compile(rf"(?:{PREFIX})?([{ALPHABET}]{{0,{LENGTH}}})\Z")


def note_id(milliseconds: int, random_bits: int) -> str:
    """An id that sorts by time.

    Args:
        milliseconds: since the epoch, below 2**48.
        random_bits: 30 of them.
    """
    value = (milliseconds % (1 << 48)) << RANDOM_BITS | random_bits % (1 << RANDOM_BITS)
    digits = [ALPHABET[value >> shift & 31] for shift in range(5 * (LENGTH - 1), -1, -5)]
    return PREFIX + "".join(digits)


def id_number(note_id: str) -> int:
    """The 80 bits of an id; they sort as the ids do."""
    return int(note_id.removeprefix(PREFIX).translate(_DIGITS), 32)


def id_milliseconds(note_id: str) -> int:
    """When an id was made, since the epoch."""
    return id_number(note_id) >> RANDOM_BITS


def is_note_id(text: str) -> bool:
    return _FULL.match(text) is not None


def id_range(text: str) -> tuple[str, str] | None:
    """The first and last id that begin with `text`, or None where it can begin no id.

    Upper case and surrounding space are forgiven; `mem_` may be left out; at least one character must remain.
    """
    found = _PART.match(text.strip().lower())
    if found is None or not found.group(1):
        return None
    stem = found.group(1)
    return PREFIX + stem.ljust(LENGTH, "0"), PREFIX + stem.ljust(LENGTH, "z")


LONGEST = 64
DEVICES = frozenset(
    ["con", "prn", "aux", "nul"] + [f"{port}{digit}" for port in ("com", "lpt") for digit in range(1, 10)]
)
_FORBIDDEN = re.compile(r"[^\w.-]+", re.UNICODE)
_DASHES = re.compile(r"-{2,}")


@functools.lru_cache(maxsize=512)
def space_name(text: str) -> str:
    """The one spelling of a space: NFC, lower case, letters and digits of any script, `-`, `_` and `.`.

    Raises:
        ValueError: nothing usable is left, or the name is a device's.
    """
    name = unicodedata.normalize("NFC", text).strip().lower()
    name = _DASHES.sub("-", _FORBIDDEN.sub("-", name)).strip("-.")[:LONGEST].strip("-.")
    name = unicodedata.normalize("NFC", name)
    if not name:
        raise ValueError("a space needs at least one letter or digit")
    if name.split(".")[0] in DEVICES:
        raise ValueError("that name belongs to a device")
    return name


def slug(title: str) -> str:
    """A readable file name stem of at most 40 characters; cosmetic, never an identity."""
    words = re.findall(r"[^\W_]+", unicodedata.normalize("NFC", title).lower(), re.UNICODE)
    stem = ""
    for word in words:
        longer = f"{stem}-{word}" if stem else word
        if len(longer.encode()) > 40:  # noqa: PLR2004 - bytes: file systems count those
            break
        stem = longer
    return f"note-{stem}" if stem in DEVICES else stem or "note"


NoteType = Literal[
    "fact", "decision", "preference", "event", "person", "project",
    "concept", "procedure", "goal", "observation", "experience", "belief",
]  # fmt: skip
Tier = Literal["core", "working", "archival"]
EdgeType = Literal[
    "related_to", "supports", "contradicts", "part_of", "defines", "evolved_from",
    "depends_on", "derived_from", "preceded_by", "caused_by", "instance_of",
]  # fmt: skip

NOTE_TYPES: tuple[str, ...] = get_args(NoteType)
TIERS: tuple[str, ...] = get_args(Tier)
EDGE_TYPES: tuple[str, ...] = get_args(EdgeType)

GLOBAL_SPACE = "global"
TITLE_LENGTH = 60


@dataclass(frozen=True, slots=True)
class Link:
    """A typed edge; it lives in the note that it leaves.

    `weight` is in 0..1. `created` is an ISO-8601 UTC instant or empty.
    """

    to: str
    type: str = "related_to"
    weight: float = 0.5
    reason: str = ""
    created: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """One memory. Times are ISO-8601 UTC strings that end in Z, so that they sort as text."""

    id: str
    content: str
    title: str
    created: str
    updated: str
    type: str = "fact"
    tier: str = "working"
    space: str = GLOBAL_SPACE
    tags: tuple[str, ...] = ()
    confidence: float = 1.0
    source: str = ""
    source_url: str | None = None
    connections: tuple[Link, ...] = ()
    session: str | None = None
    seq: int | None = None
    subject: str | None = None
    event_time: str | None = None
    valid_from: str | None = None
    valid_until: str | None = None
    outdated: bool = False
    outdated_reason: str | None = None
    superseded_by: str | None = None
    merged: tuple[str, ...] = ()  # ids of notes that were merged into this one: they mean it now
    about_self: bool = False
    evidence: tuple[dict[str, Any], ...] = ()

    @property
    def is_outdated(self) -> bool:
        """Retired by a person or an agent, whatever the clock says."""
        return self.outdated or self.superseded_by is not None

    @property
    def happened(self) -> str:
        """When it happened: the event's time, else when it was written down."""
        return self.event_time or self.created


FieldKind = Literal[
    "own", "type", "tier", "tags", "fraction", "word", "text", "count", "time", "flag", "successor", "ids", "evidence",
    "links",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class NoteField:
    """A key of a note's frontmatter, and all that depends on which one it is.

    Attributes:
        name: the key, and the attribute of `Note`.
        kind: what values it may have; `holdfast.store.codec` reads and writes them, an `own` one by a rule of its own.
        column: how the index declares it; empty for what only the file has.
        fills: a note that has none takes it over from one that is merged into it, or that says the same.
        addresses: the keys under which an import looks for a web address to keep here.
        shown: recall_node tells it under its own name, null where the note has none.
    """

    name: str
    kind: FieldKind
    column: str = ""
    fills: bool = False
    addresses: tuple[str, ...] = ()
    shown: bool = False


# In the order in which a file has them. What a note says besides is its body.
FIELDS: Final = (
    NoteField("id", "own", "TEXT NOT NULL UNIQUE"),
    NoteField("type", "type", "TEXT NOT NULL"),
    NoteField("title", "own", "TEXT NOT NULL"),
    NoteField("tier", "tier", "TEXT NOT NULL"),
    NoteField("space", "own", "TEXT NOT NULL"),
    NoteField("tags", "tags", "TEXT NOT NULL"),
    NoteField("confidence", "fraction", "REAL NOT NULL"),
    NoteField("created", "own", "TEXT NOT NULL"),
    NoteField("updated", "own", "TEXT NOT NULL"),
    NoteField("source", "word", "TEXT NOT NULL"),
    NoteField("source_url", "text", "TEXT", fills=True, addresses=("source_url", "url", "source"), shown=True),
    NoteField("session", "text", "TEXT", shown=True),
    NoteField("seq", "count", "INTEGER"),
    NoteField("subject", "text", "TEXT", fills=True, shown=True),
    NoteField("event_time", "time", "TEXT", fills=True),
    NoteField("valid_from", "time", "TEXT"),
    NoteField("valid_until", "time", "TEXT"),
    NoteField("outdated", "flag", "INTEGER NOT NULL"),
    NoteField("outdated_reason", "text", "TEXT"),
    NoteField("superseded_by", "successor", "TEXT"),
    NoteField("merged", "ids"),
    NoteField("about_self", "flag", "INTEGER NOT NULL"),
    NoteField("evidence", "evidence"),
    NoteField("connections", "links"),
)
FILLED: Final = tuple(field.name for field in FIELDS if field.fills)
SHOWN: Final = tuple(field.name for field in FIELDS if field.shown)


def title_of(content: str) -> str:
    """The first line that says something, without heading marks, cut at a word within 60 characters."""
    line = next((stripped for raw in content.splitlines() if (stripped := raw.strip().strip(" \t#>*-").strip())), "")
    if len(line) <= TITLE_LENGTH:
        return line or "Untitled"
    head = line[: TITLE_LENGTH + 1]
    cut = head.rfind(" ")
    return (head[:cut] if cut > TITLE_LENGTH // 2 else line[:TITLE_LENGTH]).rstrip(" ,;:").rstrip() + "…"
