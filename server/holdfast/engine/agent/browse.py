"""What is read without a question: notes, spaces, what always matters, the NOW page, daily logs, evidence, counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.engine.arguments import resolve
from holdfast.engine.arguments import space as space_named
from holdfast.engine.commit import load_current
from holdfast.engine.encoding import count_waiting
from holdfast.engine.omi.now import SETTLE_SECONDS
from holdfast.engine.ports import Ports, View
from holdfast.errors import MemoryNotFoundError
from holdfast.index.queries import ListedNote, Statistics
from holdfast.model.note import GLOBAL_SPACE, Note
from holdfast.model.pages import DAILY, day_of, now_page, page_key
from holdfast.model.passages import passage
from holdfast.model.tokens import most_tokens


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of notes; those of spaces, types and tiers are of current ones.

    `pending_vectors` wait for the encoder of the settings; `last_backup` is an instant.
    """

    notes: int
    spaces: Mapping[str, int]
    types: Mapping[str, int]
    tiers: Mapping[str, int]
    outdated: int
    quarantined: int
    pending_vectors: int
    last_backup: str | None


async def stats(ports: Ports) -> Stats:
    """Count what there is.

    Raises:
        StorageError: the folder cannot be read.
    """

    def look(view: View) -> tuple[Statistics, int]:
        return view.statistics(), len(view.problems())

    counts, quarantined = await ports.index.read(look)
    pending = await count_waiting(ports)
    backups = await ports.vault.backups() if ports.vault is not None else []
    return Stats(
        notes=counts.notes,
        spaces=counts.by_space,
        types=counts.by_type,
        tiers=counts.by_tier,
        outdated=counts.retired,
        quarantined=quarantined,
        pending_vectors=pending,
        last_backup=backups[0].created_at if backups else None,
    )


MOST_LISTED = 500
CONTEXT_TOKENS = 2000
MOST_STANDING = 200
EVIDENCE_KEYS = ("memory_id", "supports", "strength", "timestamp", "old_confidence", "new_confidence")
_STEP = 20
ENTRY_TOKENS, LONGEST_TITLE = 60, 50  # what a note costs beside its text
LARGEST_SHARE = 6  # of the budget, one part at most is one note


@dataclass(frozen=True, slots=True)
class SpaceListing:
    """Current notes of a space, the last changed first; `omitted` is how many there are beside them."""

    notes: tuple[ListedNote, ...]
    omitted: int


@dataclass(frozen=True, slots=True)
class AlwaysRelevant:
    """Notes that matter without a question, as many as the budget holds; `omitted` are the ids of others.

    `texts` is what is shown of each, in their order.
    """

    notes: tuple[Note, ...]
    texts: tuple[str, ...]
    omitted: tuple[str, ...]


async def note_file(ports: Ports, node_id: str) -> str:
    """The file of a note, byte for byte.

    Raises:
        MemoryNotFoundError, AmbiguousIdError, QuarantinedError: there is no such note to show.
    """
    stored = await load_current(ports, await resolve(ports.index, node_id, what="id"))
    return stored.document.render().decode()


async def evidence(ports: Ports, node_id: str) -> list[dict[str, Any]]:
    """What moved a belief, oldest first, each with the six keys of the document.

    Raises:
        MemoryNotFoundError: it is no belief, or as for `note_file`.
    """
    found = await resolve(ports.index, node_id, what="id")
    if found.note.type != "belief":
        raise MemoryNotFoundError("The note is no belief: it has no evidence.", "Read memory://note/ with its id.")
    stored = await load_current(ports, found)
    return [{key: entry.get(key) for key in EVIDENCE_KEYS} for entry in stored.note.evidence]


async def listing(ports: Ports, space: str) -> SpaceListing:
    """The notes of a space; none where nothing was stored in it.

    Raises:
        InvalidArgumentError: it cannot be a space's name.
    """
    name = space_named("space", space)
    notes, count = await ports.index.read(lambda view: view.listed(name, ports.now, MOST_LISTED))
    return SpaceListing(tuple(notes), count - len(notes))


async def context(ports: Ports, space: str, budget: int = CONTEXT_TOKENS) -> tuple[str, AlwaysRelevant]:
    """What work in a space should know at once: core notes, then the working ones that were changed last.

    Returns the space's one spelling with them.

    Raises:
        InvalidArgumentError: it cannot be a space's name.
    """
    name = space_named("space", space)

    def read(view: View) -> AlwaysRelevant:
        core = view.standing("core", name, ports.now, MOST_STANDING)
        recent = view.standing("recent", name, ports.now, MOST_STANDING)
        return _fitting(view, [*core, *recent], budget)

    return name, await ports.index.read(read)


async def about_self(ports: Ports, budget: int = CONTEXT_TOKENS) -> AlwaysRelevant:
    """The Self note and what is about the user."""
    return await ports.index.read(
        lambda view: _fitting(view, view.standing("self", GLOBAL_SPACE, ports.now, MOST_STANDING), budget)
    )


async def now_text(ports: Ports, space: str | None) -> str:
    """The NOW page of a space, or of no space, as it is; empty where there is none."""
    return await _page(ports, now_page(space)) or ""


async def daily_log(ports: Ports, day: str) -> str:
    """The log of a day, as it is.

    Raises:
        MemoryNotFoundError: it is no date, or nothing was logged that day.
    """
    path = f"{DAILY}/{day}.md"
    if day_of(path) is None:
        raise MemoryNotFoundError("That is no day.", "Write it as 2026-01-31.")
    log = await _page(ports, path)
    if log is None:
        raise MemoryNotFoundError("Nothing was logged that day.")
    return log


async def days_logged(ports: Ports) -> list[str]:
    """The days that have a log, the newest first."""
    days = [day_of(path) for path in reversed(await ports.store.list_pages(DAILY))]
    return [day.isoformat() for day in days if day is not None]


async def _page(ports: Ports, path: str) -> str | None:
    await ports.store.settled({page_key(path)}, SETTLE_SECONDS)  # what a crash left half done
    page = (await ports.store.pages([path])).get(path)
    return None if page is None else page.data.decode("utf-8", "replace")


def _fitting(view: View, ids: Sequence[str], budget: int) -> AlwaysRelevant:
    """The first notes that the budget holds, of each at most a share of it: a long one keeps no shorter ones out."""
    notes: list[Note] = []
    texts: list[str] = []
    omitted: list[str] = []
    left = budget
    for start in range(0, len(ids), _STEP):
        if left < ENTRY_TOKENS:
            omitted += ids[start:]
            break
        found = view.notes(ids[start : start + _STEP])
        for note_id in ids[start : start + _STEP]:
            note = found[note_id].note
            text = _shown(note, budget // LARGEST_SHARE)
            cost = ENTRY_TOKENS + min(LONGEST_TITLE, most_tokens(note.title)) + most_tokens(text)
            if cost <= left:
                notes.append(note)
                texts.append(text)
                left -= cost
            else:
                omitted.append(note_id)
    return AlwaysRelevant(tuple(notes), tuple(texts), tuple(omitted))


def _shown(note: Note, most: int) -> str:
    """A note's text, or what it begins with and how much more there is."""
    shown = passage(note.content, (), most)
    return f"{shown.text}\n({shown.cut:,} more characters: recall_node)" if shown.cut else note.content
