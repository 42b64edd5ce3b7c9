"""What applying any verdict needs: what was shown, the notes as they are, and how each item ended."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from holdfast.engine.commit import load_current
from holdfast.engine.ports import Caller, Ports
from holdfast.engine.remembered import JUDGED
from holdfast.engine.resolve import resolve
from holdfast.errors import ConflictError
from holdfast.index.rows import IndexedNote
from holdfast.store.stored import Stored

Status = Literal["applied", "skipped", "rejected", "conflict"]


@dataclass(frozen=True, slots=True)
class EdgeVerdict:
    """How two notes belong together: `edge_type` is one of `model.maintenance.VERDICTS`."""

    node_a_id: str
    node_b_id: str
    edge_type: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class MergeVerdict:
    """Two notes say the same; the kept one's title and text stay unless others are given."""

    keep_id: str
    discard_id: str
    merged_title: str | None = None
    merged_content: str | None = None


@dataclass(frozen=True, slots=True)
class ConsolidationVerdict:
    """Several notes are better read as one."""

    node_ids: tuple[str, ...]
    title: str
    content: str
    type: str = "fact"


@dataclass(frozen=True, slots=True)
class WrongVerdict:
    """An item that cannot be read as a verdict, and why."""

    reason: str


Verdict = EdgeVerdict | MergeVerdict | ConsolidationVerdict | WrongVerdict


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an item ended. `change_id` undoes it; `proposal_id` names what waits for a person instead."""

    item: str
    status: Status
    reason: str
    change_id: str | None = None
    proposal_id: str | None = None
    judged: tuple[list[str], ...] = field(default=(), repr=False)  # still to be told to the journal


class RefusedError(Exception):
    """An item cannot be applied; raised and caught within maintenance, told as its outcome."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Work:
    """One item's surroundings: `shown` are the notes of the batch's items with the hashes of their texts.

    Without a batch it is None. `approved` says that a person has agreed. `name` is the item's, as `merges[0]`.
    """

    ports: Ports
    caller: Caller
    name: str
    batch_id: str | None = None
    shown: tuple[dict[str, str], ...] | None = None
    dry_run: bool = False
    approved: bool = False

    def outcome(self, status: Status, reason: str, change_id: str | None = None, **more: Any) -> Outcome:
        return Outcome(self.name, status, reason, change_id, **more)

    def detail(self, judged: Sequence[list[str]], **more: Any) -> dict[str, Any]:
        """What the journal's line of the change holds beside it."""
        return {"maintenance": self.batch_id, "item": self.name, JUDGED: list(judged), **more}

    def check(self, notes: Collection[IndexedNote]) -> None:
        """Refuse what the batch did not show, and notes that have changed or retired since."""
        if self.shown is not None:
            ids = {item.note.id for item in notes}
            hashes = next((shown for shown in self.shown if ids <= shown.keys()), None)
            if hashes is None:
                raise RefusedError("rejected", "These notes were not shown together in this batch.")
            if any(hashes[item.note.id] != item.encode_hash for item in notes):
                raise RefusedError("conflict", "A note was changed since the batch was made; ask for a new one.")
        if any(item.note.is_outdated for item in notes):
            raise RefusedError("conflict", "A note is retired; there is nothing to judge.")

    async def resolve(self, given: str, what: str) -> IndexedNote:
        return await resolve(self.ports.index, given, what=what)


async def under_lock(ports: Ports, known: IndexedNote) -> Stored:
    """A note's file; the caller holds its lock.

    Raises:
        ConflictError: it is not as it was looked up.
    """
    found = (await ports.index.notes([known.note.id])).get(known.note.id)
    if found is None or found.hash != known.hash:
        raise ConflictError("The note was changed meanwhile.", "Nothing was written; repeat the call.")
    return await load_current(ports, found)


async def last_change(ports: Ports, note_id: str, op: str) -> str | None:
    """The last change of a note by a verb."""
    return await ports.index.read(lambda view: view.last_change(note_id, op))


def needs_person(ports: Ports, notes: Collection[IndexedNote]) -> bool:
    """Whether taking these notes away waits for a person."""
    return ports.review or any(item.note.tier == "core" or item.note.about_self for item in notes)


def pairs(notes: Sequence[IndexedNote], entry: Callable[..., list[str]], verdict: str) -> list[list[str]]:
    """An entry of the journal's `judged` for every two of the notes."""
    keys = [(item.note.id, item.encode_hash) for item in notes]
    return [entry(one, other, verdict) for number, one in enumerate(keys) for other in keys[number + 1 :]]
