"""The same note said twice is one note: which texts are the same, and what the second saying adds to the first."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from holdfast.model.note import FILLED, TIERS, Link, Note, title_of

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


def are_told_apart(one: Note, other: Note) -> bool:
    """Whether two notes with the same text are two all the same; see `holdfast.index.rows.same_note`."""
    differs = [
        bool(a and b and a.casefold() != b.casefold())
        for a, b in ((one.event_time, other.event_time), (one.subject, other.subject))
    ]
    elsewhere = one.session and other.session and one.session != other.session
    return any(differs) or bool(elsewhere and one.type in OCCURRENCES)


def have_two_titles(one: Note, other: Note) -> bool:
    """Whether both have a title of their own, and not the same: two files of one text, named for two persons."""
    own = [note.title.casefold() for note in (one, other) if note.title != title_of(note.content)]
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
    known = {tag.lower() for tag in before}
    return (*before, *(tag for tag in given if tag.lower() not in known))


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
    told = [
        ("its title", given.title not in (after.title, title_of(given.content))),
        (f"tier {after.tier}", given.tier not in (after.tier, _PLAIN_TIER)),
        (f"confidence {after.confidence:g}", given.confidence != after.confidence),
        ("the session that it was stored in", given.session not in (None, after.session)),
    ]
    return [f"it keeps {name}" for name, differs in told if differs]
