"""What comes from another memory, in our terms. Nothing here reads or writes; see `holdfast.importers`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from holdfast.model.note import EDGE_TYPES, RANDOM_BITS, note_id
from holdfast.model.words import regex

SourceKind = Literal["ormah", "omi", "memory-server", "markdown", "holdfast"]
IMPORTED_FROM, IMPORTED_KEYS = "imported_from", "imported_keys"  # frontmatter of a note that was imported
IMPORTED_TEXT, IMPORTED_SECTIONS = "imported_text", "imported_sections"  # of a section: a hash; of its file: ids
_EARLY_BITS = 40  # such an id's time is before 2005: it sorts before every id that was given to a new note
_NO_WORD = regex(r"[^a-z]+")
_EDGE_WORDS = {  # how others name what is one of ours
    "is part of": "part_of", "belongs to": "part_of", "contained in": "part_of", "member of": "part_of",
    "requires": "depends_on", "needs": "depends_on", "uses": "depends_on",
    "is a": "instance_of", "is an": "instance_of", "is instance of": "instance_of",
    "is derived from": "derived_from", "based on": "derived_from",
    "is caused by": "caused_by", "follows": "preceded_by", "replaces": "evolved_from", "evolves from": "evolved_from",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tie:
    """An edge to another thing of the same source, by its key there. `weight` is in 0..1."""

    to: str
    type: str = "related_to"
    weight: float = 0.5
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A note to be made. `key` is its identity at its source, `where` how a person finds it there.

    Times are instants or empty. `addresses` are by the names of the note's fields. `extra` are frontmatter keys that
    are not ours and stay, `unmapped` sentences on what could not be taken over.
    """

    key: str
    where: str
    content: str
    created: str
    title: str = ""
    updated: str = ""
    type: str = "fact"
    tier: str = "working"
    space: str = ""
    tags: tuple[str, ...] = ()
    confidence: float = 1.0
    source: str = ""
    subject: str = ""
    event_time: str = ""
    valid_from: str = ""
    valid_until: str = ""
    outdated_reason: str | None = None  # None where it is not outdated
    superseded_by: str = ""  # the key of what replaced it, empty for nothing
    session: str = ""
    about_self: bool = False
    addresses: Mapping[str, str] = field(default_factory=dict)
    ties: tuple[Tie, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    unmapped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ArrivedFile:
    """A note of another Holdfast: the file as it is, with the id that it has there; `key` for one without."""

    key: str
    where: str
    data: bytes
    modified: str


@dataclass(frozen=True, slots=True)
class ArrivedDocument:
    """A text with headings: `whole` as one note, and its `parts`: a note of the whole first, then one for each section.

    A short one comes as one note, unless it came in sections before.
    """

    where: str
    whole: Arrival
    parts: tuple[Arrival, ...]
    is_long: bool


@dataclass(frozen=True, slots=True)
class ArrivedPage:
    """A text beside the notes; `path` is where it belongs here."""

    path: str
    where: str
    data: bytes


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that is not taken over, and why. `broken` where it should have been."""

    where: str
    reason: str
    broken: bool = True


Item: TypeAlias = Arrival | ArrivedDocument | ArrivedFile | ArrivedPage | LeftOut


def imported_id(key: str) -> str:
    """The id that a thing gets here: always the same for the same key, so that nothing is imported twice.

    70 bits of SHA-256: among a million things two have the same id once in two billion imports.
    """
    bits = int.from_bytes(hashlib.sha256(key.encode()).digest()[:10], "big")
    return note_id((bits >> RANDOM_BITS) % (1 << _EARLY_BITS) | 1, bits)


def edge_type(name: str) -> str:
    """Which of our edge types a free name such as "depends on" or "DEPENDS_ON" means; empty for none."""
    words = _NO_WORD.sub(" ", name.lower()).strip()
    plain = words.replace(" ", "_")
    return plain if plain in EDGE_TYPES else _EDGE_WORDS.get(words, "")
