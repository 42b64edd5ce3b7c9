"""Reading by name, without a question: recall_node shows one note whole; notes, spaces, pages and days."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from holdfast.engine.commit import load_current, resolve, space_named
from holdfast.engine.encoding import count_waiting
from holdfast.engine.omi.now import settled_page
from holdfast.engine.ports import Caller, Ports
from holdfast.errors import InvalidArgumentError, MemoryNotFoundError
from holdfast.index.queries import ListedNote, Statistics
from holdfast.index.view import IndexView
from holdfast.model.note import GLOBAL_SPACE, SELF_ID, Note, id_range, successor_of
from holdfast.model.passages import count_pages, page_at, passage
from holdfast.model.records import DAILY, USE, JournalRecord, day_of, now_page
from holdfast.model.tokens import most_tokens
from holdfast.model.words import counted

MOST_NEIGHBOURS = 10
PAGE_TOKENS = 12_000  # of a note's text; some clients take no answer of more than 25,000


@dataclass(frozen=True, slots=True)
class Connection:
    """An edge of the note; `direction` is out where it leaves it, in where it reaches it."""

    id: str
    title: str
    type: str
    weight: float
    direction: Literal["in", "out"]
    reason: str


@dataclass(frozen=True, slots=True)
class Node:
    """A note with its surroundings; `text` is the page of its content that is shown.

    `changes` is how many changes its history has.
    """

    note: Note
    text: str
    path: str
    connections: tuple[Connection, ...]
    neighbours: tuple[Note, ...]
    changes: int
    notices: tuple[str, ...] = ()


async def use_node(ports: Ports, caller: Caller, node_id: str, page: int = 1) -> Node:
    """As `recall_node`, for somebody who has a use for the note: that is recorded, once for each day.

    Raises:
        MemoryNotFoundError, AmbiguousIdError, QuarantinedError: there is no such note to show.
        InvalidArgumentError: it has no such page.
    """
    found = await recall_node(ports, node_id)
    content = found.note.content
    shown = await ports.computing.run(caller.principal, len(content), lambda: page_at(content, page, PAGE_TOKENS))
    if shown is None:
        pages = await ports.computing.run(caller.principal, len(content), lambda: count_pages(content, PAGE_TOKENS))
        raise InvalidArgumentError(f"page is {page:,}, and the note has {counted(pages, 'page')}.")
    if page > 1 or shown.left:
        more = f", {shown.left:,} more characters: page={page + 1} goes on" if shown.left else ", the last"
        found = replace(found, text=shown.text, notices=(f"Page {page}{more}.", *found.notices))
    if not ports.reading_notice:
        await confirm_use(ports, caller, found.note.id)
    return found


async def recall_node(ports: Ports, node_id: str) -> Node:
    """Look a note up by its id or a prefix of it.

    Raises:
        MemoryNotFoundError, AmbiguousIdError, QuarantinedError: there is no such note to show.
    """
    found = await resolve(ports.index, node_id)
    notices, successor = _notices(ports, found.note.id, node_id), found.note.superseded_by
    lost = await ports.index.read(lambda view: view.lost_successors([found.note.id])) if successor else ()
    if lost:
        notices.append(f"It was superseded by {successor_of(found.note)}, which is gone.")
        found = replace(found, note=replace(found.note, superseded_by=""))
    links = await ports.index.links([found.note.id])
    ends = {link.target if link.source == found.note.id else link.source for link in links}
    notes = await ports.index.notes(ends)
    connections = []
    for link in links:
        out = link.source == found.note.id
        end = link.target if out else link.source
        if end in notes:
            title = notes[end].note.title
            connections.append(Connection(end, title, link.type, link.weight, "out" if out else "in", link.reason))
    connections.sort(key=lambda item: item.direction == "in")  # its own first: of a hub not all can be shown
    current = [notes[item.id].note for item in connections if not notes[item.id].note.is_outdated]
    return Node(
        found.note,
        found.note.content,
        found.path,
        tuple(connections),
        tuple({note.id: note for note in current}.values())[:MOST_NEIGHBOURS],
        await ports.index.changes(found.note.id),
        tuple(notices),
    )


def _notices(ports: Ports, note_id: str, given: str) -> list[str]:
    notices = [ports.reading_notice] if ports.reading_notice else []
    return notices if _is_own(note_id, given) else [*notices, f"The note of that id was merged into {note_id}."]


def _is_own(note_id: str, given: str) -> bool:
    low, high = id_range(given) or ("", "")
    return low <= note_id <= high


async def confirm_use(ports: Ports, caller: Caller, note_id: str) -> None:
    """Record that a note was looked at whole: of use, once for each note and day.

    One line of the journal without `files`, so that it is no change of the note; written without a flush: it outlives
    the process, and a power cut within seconds may take it. Nobody waits for it while others are being written, and
    nobody is kept from reading where it cannot be written.
    """
    now = ports.now
    if note_id == SELF_ID or await ports.index.read(lambda view: view.used_on(note_id, now[:10])):
        return
    line = JournalRecord(USE, now, caller.principal, caller.source, use=note_id)
    await ports.uses.add(ports, note_id, line)


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

    def look(view: IndexView) -> tuple[Statistics, int]:
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


async def context(ports: Ports, space: str) -> tuple[str, AlwaysRelevant]:
    """What work in a space should know at once: core notes, then the working ones that were changed last.

    Returns the space's one spelling with them.

    Raises:
        InvalidArgumentError: it cannot be a space's name.
    """
    name = space_named("space", space)

    def read(view: IndexView) -> AlwaysRelevant:
        core = view.standing("core", name, ports.now, MOST_STANDING)
        recent = view.standing("recent", name, ports.now, MOST_STANDING)
        return _fitting(view, [*core, *recent])

    return name, await ports.index.read(read)


async def about_self(ports: Ports) -> AlwaysRelevant:
    """The Self note and what is about the user."""
    return await ports.index.read(
        lambda view: _fitting(view, view.standing("self", GLOBAL_SPACE, ports.now, MOST_STANDING))
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
    page = await settled_page(ports, path)
    return None if page is None else page.data.decode("utf-8", "replace")


def _fitting(view: IndexView, ids: Sequence[str]) -> AlwaysRelevant:
    """The first notes that the budget holds, of each at most a share of it: a long one keeps no shorter ones out."""
    notes: list[Note] = []
    texts: list[str] = []
    omitted: list[str] = []
    left = CONTEXT_TOKENS
    for start in range(0, len(ids), _STEP):
        if left < ENTRY_TOKENS:
            omitted += ids[start:]
            break
        found = view.notes(ids[start : start + _STEP])
        for note_id in ids[start : start + _STEP]:
            note = found[note_id].note
            text = _shown(note, CONTEXT_TOKENS // LARGEST_SHARE)
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
