"""A note and the edges that leave it: the values every layer speaks of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

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
    merged_into: str | None = None
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


def title_of(content: str) -> str:
    """The first line that says something, without heading marks, cut at a word within 60 characters."""
    line = next((stripped for raw in content.splitlines() if (stripped := raw.strip().strip(" \t#>*-").strip())), "")
    if len(line) <= TITLE_LENGTH:
        return line or "Untitled"
    head = line[: TITLE_LENGTH + 1]
    cut = head.rfind(" ")
    return (head[:cut] if cut > TITLE_LENGTH // 2 else line[:TITLE_LENGTH]).rstrip(" ,;:").rstrip() + "…"
