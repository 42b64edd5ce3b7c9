"""A note and the edges that leave it: values, id, space, instants as text, and how two that say the same become one.

An id is `mem_` and 16 characters of lower-case Crockford base32: 48 bits of milliseconds, 30 random bits.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any, Final, Literal, get_args

from holdfast.model.words import folded, regex, typewritten

SAME_TIME: Final = timedelta(hours=1)  # what is stored within it is rather a list than a correction
_CANONICAL = regex(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)


def instant(moment: datetime) -> str:
    """`moment` as canonical text; a naive one is read as UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat() + "Z"


def read_instant(value: object) -> str:
    """Canonical text of an ISO-8601 date or time, or of a date or datetime object.

    Raises:
        ValueError: it is none of these.
    """
    match value:
        case datetime():
            return instant(value)
        case date():
            return f"{value.isoformat()}T00:00:00Z"
        case str():
            return _read_text(value)
    raise ValueError("not an ISO-8601 time")


@lru_cache(maxsize=1024)  # of a note's times most are the same, and so are those of notes that came together
def _read_text(value: str) -> str:
    try:
        moment = datetime.fromisoformat(value.strip())
        return value if _CANONICAL.fullmatch(value) else instant(moment)
    except OverflowError as error:
        raise ValueError("out of range") from error


def end_of(value: str) -> str:
    """The last second that `value` covers: a bare date means its whole day."""
    return read_instant(value)[:10] + "T23:59:59Z" if len(value.strip()) == len("2026-01-31") else read_instant(value)


def moment(text: str) -> datetime:
    """The aware datetime of a canonical instant."""
    return datetime.fromisoformat(text)


ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
PREFIX = "mem_"
LENGTH = 16
RANDOM_BITS = 30
SELF_ID = PREFIX + "0" * LENGTH

_DIGITS = str.maketrans(ALPHABET, "0123456789abcdefghijklmnopqrstuv")  # as Python counts in base 32
_FULL = regex(rf"{PREFIX}[{ALPHABET}]{{{LENGTH}}}\Z")
_PART = regex(rf"(?:{PREFIX})?([{ALPHABET}]{{0,{LENGTH}}})\Z")


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
_FORBIDDEN = regex(r"[^\w.-]+", re.UNICODE)
_DASHES = regex(r"-{2,}")
_WORD = regex(r"\w+")
_SLUG_BYTES = 40  # bytes: file systems count those


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
    """A readable file name stem of at most 40 bytes of UTF-8, in any script; cosmetic, never an identity."""
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", title).lower())
    # signs that belong to the letter before them, as Hindi's vowels do, are part of a word
    kept = (sign if sign.isalnum() or unicodedata.category(sign).startswith("M") else " " for sign in text)
    stem = ""
    for word in "".join(kept).split():
        longer = f"{stem}-{word}" if stem else _start_of(word, _SLUG_BYTES)
        if len(longer.encode()) > _SLUG_BYTES:
            break
        stem = longer
    return f"note-{stem}" if stem in DEVICES else stem or "note"


def _start_of(word: str, size: int) -> str:
    """As much of a word as so many bytes hold: Chinese and Japanese sentences are one."""
    return word.encode()[:size].decode(errors="ignore")


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
# Types are never translated in storage: OMI's tools see their own four.
MemoryType = Literal["fact", "experience", "belief", "decision"]
MEMORY_TYPES: tuple[str, ...] = get_args(MemoryType)
_SEEN_AS = {
    "decision": "decision",
    "goal": "decision",
    "experience": "experience",
    "event": "experience",
    "observation": "experience",
    "belief": "belief",
}  # the rest are facts
TIERS: tuple[str, ...] = get_args(Tier)
EDGE_TYPES: tuple[str, ...] = get_args(EdgeType)

GLOBAL_SPACE = "global"
TITLE_LENGTH = 60


def memory_type(note_type: str) -> str:
    """What OMI's tools call a note of this type."""
    return _SEEN_AS.get(note_type, "fact")


def note_types(memory_type_: str) -> tuple[str, ...]:
    """The stored types that OMI's tools call `memory_type_`."""
    return tuple(name for name in NOTE_TYPES if memory_type(name) == memory_type_)


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
    def tells_when(self) -> bool:
        """Whether its time is that of what it tells, and not only when it was noted."""
        return self.type == "event" or self.event_time is not None

    def is_current(self, now: str) -> bool:
        """Neither retired nor past its `valid_until`; the index's own words for it are in `index/current.py`."""
        return not self.is_outdated and (self.valid_until is None or self.valid_until > now)

    @property
    def own_title(self) -> str:
        """What it is called, where its text does not begin with that; else empty."""
        return "" if self.title == title_of(self.content) else self.title

    @property
    def shown_title(self) -> str:
        """The same, but empty too where it is most likely what the text began with before somebody edited it."""
        return "" if _is_left_over(self.title, self.content) else self.own_title

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


def _is_left_over(title: str, content: str) -> bool:
    """Whether a title is a sentence, or the beginning of one, of mostly the same words as the text begins with now."""
    if not title.endswith((*".!?\u2026\u3002",)):
        return False
    mine, its = (frozenset(_WORD.findall(text.casefold())) for text in (title, title_of(content)))
    return 2 * len(mine & its) > len(mine)


# What happens can happen again: in another session it is another note. What holds, holds in every session.
OCCURRENCES = ("event", "observation", "experience")
_PLAIN_TIER = "working"


@dataclass(frozen=True, slots=True)
class Joined:
    """A note with what was told of it again; `added` names what is new, `kept` says what was told and not taken."""

    note: Note
    added: tuple[str, ...]
    kept: tuple[str, ...]


def same_text(content: str) -> str:
    """The one spelling of texts that say the same: without case, runs of white space as one blank."""
    if content.isascii():
        return " ".join(content.lower().split())
    plain = unicodedata.normalize("NFC", unicodedata.normalize("NFC", content).casefold())
    return " ".join(plain.split())


def are_distinct(one: Note, other: Note) -> bool:
    """Whether two notes with the same text are two all the same; see `holdfast.index.rows.same_note`."""
    differs = [
        bool(a and b and a.casefold() != b.casefold())
        for a, b in ((one.event_time, other.event_time), (one.subject, other.subject))
    ]
    elsewhere = one.session and other.session and one.session != other.session
    return any(differs) or bool(elsewhere and one.type in OCCURRENCES)


def have_two_titles(one: Note, other: Note) -> bool:
    """Whether both have a title of their own, and not the same: two files of one text, named for two persons."""
    own = [title.casefold() for note in (one, other) if (title := note.own_title)]
    return len(set(own)) > 1


def joined(
    before: Note, given: Note, links: Sequence[Link], now: str, most_tags: int, confidence: float | None = None
) -> Joined:
    """The note as it is once `given` was said, too.

    Tags and links are joined, the higher tier counts, what the note lacks is filled in. Its text and title stay.

    Args:
        before: the note that is kept.
        given: what was said again.
        links: the edges that were asked for.
        now: when, an instant.
        most_tags: how many tags a note may have.
        confidence: how sure the caller is, None where that was not said.
    """
    tags = _union(before.tags, given.tags)
    kept = [f"it has {most_tags} tags already, the rest was left out"] if len(tags) > most_tags else []
    after = replace(
        before,
        tags=(*before.tags, *tags[len(before.tags) : max(len(before.tags), most_tags)]),
        connections=_with_links(before, links),
        tier=min(before.tier, given.tier, key=TIERS.index),
        about_self=before.about_self or given.about_self,
        session=before.session or given.session,
        confidence=before.confidence if confidence is None or before.evidence else confidence,
        **filled(before, given),
    )
    added = tuple(name for name, changed in _differences(before, after) if changed)
    if added:
        after = replace(after, updated=max(now, before.updated))
    return Joined(after, added, (*kept, *_kept(after, given)))


def filled(before: Note, given: Note) -> dict[str, Any]:
    """What a note takes over from another one of the same matter, where it has none of its own."""
    return {name: getattr(before, name) or getattr(given, name) for name in FILLED}


def _union(before: Sequence[str], given: Iterable[str]) -> tuple[str, ...]:
    known = {tag_key(tag) for tag in before}
    return (*before, *(tag for tag in given if tag_key(tag) not in known))


def tags_once(tags: Iterable[str]) -> tuple[str, ...]:
    """Each tag once, as it is written first."""
    first: dict[str, str] = {}
    for tag in tags:
        first.setdefault(tag_key(tag), tag)
    return tuple(first.values())


def tag_key(tag: str) -> str:
    """What stands for a tag where tags are compared, in the index too: "Café" and "cafe" are one."""
    return folded(tag)


def _with_links(before: Note, links: Sequence[Link]) -> tuple[Link, ...]:
    known = {(link.to, link.type) for link in before.connections}
    fresh = (link for link in links if link.to != before.id and (link.to, link.type) not in known)
    return (*before.connections, *fresh)


def _differences(before: Note, after: Note) -> list[tuple[str, bool]]:
    return [
        ("tags", before.tags != after.tags),
        ("links", before.connections != after.connections),
        (f"tier {after.tier}", before.tier != after.tier),
        ("about_self", before.about_self != after.about_self),
        *((name, getattr(before, name) != getattr(after, name)) for name in FILLED),
        ("session", before.session != after.session),
        (f"confidence {after.confidence:g}", before.confidence != after.confidence),
    ]


def _kept(after: Note, given: Note) -> list[str]:
    """What the note has otherwise than it was told now."""
    kept = [
        ("its title", given.title not in (after.title, title_of(given.content))),
        (f"tier {after.tier}", given.tier not in (after.tier, _PLAIN_TIER)),
        (f"confidence {after.confidence:g}", given.confidence != after.confidence),
        ("the session that it was stored in", given.session not in (None, after.session)),
    ]
    return [f"it keeps {name}" for name, differs in kept if differs]


_YEAR, _REST, _LONGEST_ONCE = r"(?:19|20)\d\d", r"[^.;!?\n]*", 400  # characters
_ONCE = regex(
    rf"(?:(?!.{{0,80}}(?:\b(?:am|is|are|get|got|be|was|were)|'m|'re) used to){_REST}"
    r"\bused to (?!(?:it|the|this|that)\b)\w+"
    rf"|(?:(?:before|until|till|up to|back in) (?:{_YEAR}|last (?:year|month|spring|summer|autumn|fall|winter)|then)"
    rf"|formerly|previously|originally|in the past)\b{_REST}"
    r"\b(?:was|were|had|did|cost|paid|lived|worked|met|ran|went)\b"
    rf"|(?:{_REST}\b(?:told|said|says|mentioned|remembers?|recalls?|recalled)\b{_REST}\b)?"
    rf"(?:in {_YEAR}|in the (?:19|20)?(?:\d0s|(?:twen|thir|for|fif|six|seven|eigh|nine)ties)|years ago|back then"
    r"|as an? (?:student|child|kid|boy|girl|teenager|trainee|apprentice|intern)"
    rf"|when (?:i|we|he|she|they) (?:was|were|lived|worked|studied))\b{_REST}"
    r"\b(?:had|cost|paid|lived|ran|took|used|earned|weighed|(?:was|were)(?! \w+(?:ed|en)\b))\b"
    rf"|{_REST}\bremembers? \w+ing\b{_REST}\bin {_YEAR}\b"
    rf"|(?:fruher|damals|ursprunglich|(?:vor|bis) {_YEAR}|bis letztes jahr)\b{_REST}"
    r"\b(?:war|waren|hatten?|kostete|betrug|lag|lief|wohnten?|galt)\b"
    rf"|(?:autrefois|avant|a l'origine|jusqu'en {_YEAR}|en {_YEAR})\b{_REST}\b(?:avait|coutait|\w+aient|etait)\b"
    rf"|(?:antes|originalmente|hasta {_YEAR}|en {_YEAR})\b{_REST}\b(?:era|eran|habia|\w+aban?)\b)"
)
_AND_NOW = regex(
    r"\b(?:now|today|nowadays|currently|since|no longer|any ?more|but|instead|these days|meanwhile|changed|jetzt|heute"
    r"|nun|inzwischen|mittlerweile|seit\w*|sondern|aber|nicht mehr|maintenant|desormais|depuis|mais|aujourd'hui"
    r"|ahora|hoy|pero|desde|ya no)\b"
)


@lru_cache(4096)
def tells_of_once(text: str) -> bool:
    """Whether a text says how something was, and nothing of how it is now."""
    plain = typewritten(text[:_LONGEST_ONCE]).lstrip()
    return _ONCE.match(plain) is not None and _AND_NOW.search(plain) is None


def in_time(one: Note, other: Note) -> tuple[Note, Note]:
    """The older and the newer of two notes.

    What is yet to happen is told of before: a date that was moved forward is the newer word for all that. What tells
    only of what was so once is the older, whenever it was told: "the fee used to be 60 euros".
    """
    first, second = (one, other) if _when(one) <= _when(other) else (other, one)
    if tells_of_once(second.content) and not tells_of_once(first.content):
        return second, first
    if _is_planned(first, second) and first.created > second.created:
        return second, first
    return first, second


def surely_later(one: Note, other: Note) -> bool:
    """Whether the first of two notes is the newer one whatever is said: not of plans that were told in one go."""
    if _is_planned(one, other) and are_near(one.created, other.created):
        return False
    return one.happened != other.happened and in_time(one, other)[1] is one


def _is_planned(one: Note, other: Note) -> bool:
    return one.happened > one.created or other.happened > other.created


def _when(note: Note) -> tuple[str, str, str]:
    return said_at(note), note.created, note.id


def successor_of(note: Note) -> str:
    """What a superseded note says that replaced it, in the server's words: an id, for a file may say anything there."""
    given = note.superseded_by or ""
    return given if is_note_id(given) else "what is no note"


def said_at(note: Note) -> str:
    """Since when it holds."""
    return note.valid_from or note.happened


def may_be_versions(older: Note, newer: Note) -> bool:
    """Whether nothing but their texts can speak against it."""
    if older.space != newer.space or SELF_ID in (older.id, newer.id):
        return False
    if older.subject and newer.subject and older.subject != newer.subject:
        return False
    if older.session and newer.session:  # with a subject they are turns of a talk, of which none replaces another
        return older.session != newer.session and not (older.subject or newer.subject)
    return True


def are_near(one: str, other: str, time: timedelta = SAME_TIME) -> bool:
    """Whether two instants are less than that apart."""
    return abs(moment(one) - moment(other)) < time


def majority_space(notes: Sequence[Note]) -> str:
    """The space that most of the notes have; of equal ones the first."""
    spaces = [note.space for note in notes]
    return max(dict.fromkeys(spaces), key=spaces.count)
