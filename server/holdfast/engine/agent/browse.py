"""Reading without a search: recall_node shows one note whole; notes, spaces and pages by name; lists by time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from holdfast.engine.agent.question import Asking, TimeWindow, narrowed, passes
from holdfast.engine.commit import load_current, resolve
from holdfast.engine.commit import space as space_named
from holdfast.engine.encoding import count_waiting
from holdfast.engine.omi.now import SETTLE_SECONDS
from holdfast.engine.ports import Caller, Ports
from holdfast.errors import InvalidArgumentError, MemoryNotFoundError
from holdfast.index.queries import ListedNote, Statistics
from holdfast.index.view import IndexView
from holdfast.model.intent import HAPPENS, Intent, is_recency, taste_of
from holdfast.model.note import GLOBAL_SPACE, SELF_ID, Note, id_range, space_name, successor_of
from holdfast.model.passages import count_pages, page_at, passage
from holdfast.model.ranking import Filter
from holdfast.model.records import DAILY, USE, JournalRecord, day_of, now_page, page_key
from holdfast.model.tokens import most_tokens
from holdfast.model.when.questions import days_asked, tells_when, words_of_days
from holdfast.model.when.spans import named
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
    await ports.store.settled({page_key(path)}, SETTLE_SECONDS)  # what a crash left half done
    page = (await ports.store.pages([path])).get(path)
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


# --- lists that a question asks for ------------------------------------------------------------------

MOST_PERSONAL, MOST_DUE, MOST_SAYING = 200, 500, 48
_PLURALS = {"person": "people"}


@dataclass(frozen=True, slots=True)
class Listing:
    """What the notes of a list are some of: `total` notes, of which one is `one`, several are `many`.

    `which` says of what time, of which space and in which order; `lacking` what was asked for in vain. `elsewhere` is
    that of other projects. With `capped` not all notes were looked at whose text may name the time: there may be more.
    """

    total: int
    offset: int
    one: str
    many: str
    which: str
    elsewhere: Listing | None = None
    lacking: str = ""
    capped: bool = False

    @property
    def described(self) -> str:
        """As in "17 decisions of March 2026 in tollgate, newest first"."""
        return f"{self.lacking}{counted(self.total, self.one, self.many)}{self.which}"


@dataclass(frozen=True, slots=True)
class Listed:
    """The notes to show, or with `whole` all there are. With `searched` what the words find belongs to them too.

    `window` is the time that they are from, where the question speaks of one; `lacking` are the types that were asked
    for where none is from then, so that these are others.
    """

    ids: tuple[str, ...]
    listing: Listing
    whole: bool = False
    searched: bool = False
    window: TimeWindow | None = None
    lacking: tuple[str, ...] = ()


def listed(view: IndexView, asking: Asking, limit: int, offset: int) -> Listed | None:
    """The list that is asked for; None where none is, or where there is nothing on it: then the words are searched."""
    if asking.is_browsing:
        return _by_time(view, asking.wanted, limit, offset)
    intent = asking.intent
    if intent is not None and intent.kind == "self":
        searched = bool(intent.topic) or intent.liking
        return _personal(view, asking.wanted, offset, searched=searched, openly=not (searched or intent.tastes))
    if intent is None and asking.open:
        intent = Intent("list", timely=True)
    if intent is None or intent.kind != "list":
        return None
    return _of_notes(view, asking, intent, min(limit, intent.at_most or limit), offset)


def _personal(view: IndexView, wanted: Filter, offset: int, *, searched: bool, openly: bool) -> Listed | None:
    """What is about the user, then their preferences, of whatever space; who asks `openly` is told first who they are.

    As by "who am I?".
    """
    ids = view.personal(wanted.now, MOST_PERSONAL)
    notes = view.notes(ids)
    ids = sorted(ids, key=lambda end: _place_among_own(notes[end].note)) if openly else ids
    shown = [note_id for note_id in ids if note_id in notes and passes(notes[note_id], wanted)]
    if not shown:
        return None
    listing = Listing(len(shown), offset, "note", "notes", " about the user and their preferences")
    return Listed(tuple(shown), listing, whole=True, searched=searched)


def _place_among_own(note: Note) -> int:
    """First who somebody is, then what is a fact of them, then all else; what they prefer last."""
    if note.type == "preference":
        return 3
    return ("person", "fact").index(note.type) if note.about_self and note.type in ("person", "fact") else 2


def tastes_first(notes: Mapping[str, Note], space: str | None) -> dict[str, int]:
    """Places among the user's preferences: their own, those of this space, then what else is about them.

    A preference of another space stands before that only where none is marked as the user's own.
    """
    tastes = {end: taste_of(note.content, is_preference=note.type == "preference") for end, note in notes.items()}
    own = {end for end, note in notes.items() if note.about_self and (note.type == "preference" or tastes[end] == 0)}

    def place(end: str) -> int:
        note = notes[end]
        if end in own:
            return 0
        if tastes[end] == 0:
            return 1 if note.space in (space, GLOBAL_SPACE) else 4 if own else 2
        return 5 if tastes[end] > 1 else 3 if note.about_self else 4

    return {end: place(end) for end in notes}


def _of_notes(view: IndexView, asking: Asking, intent: Intent, limit: int, offset: int) -> Listed | None:
    """The list of an intent, of the current project where no other is named."""
    window = _window_of_list(asking)
    scopes = _scopes(view, asking, intent)
    if scopes is None or (asking.time is not None and window is None and not _is_latest(asking)):
        return None
    if intent.timely and window is None and not asking.wanted.types:
        return None
    wanted = replace(asking.wanted, tags=asking.wanted.tags or intent.tags, dated=_dated(asking, intent))
    wished = intent.types or (HAPPENS if intent.over and window is not None else ())
    kinds = [wished] if wished and not wanted.types else []
    for types in [*kinds, *([()] if window is not None or not kinds else [])]:
        typed = replace(wanted, types=types or wanted.types)
        is_ahead = asking.time is not None and asking.time.ahead  # "was passiert im Mai?"
        until = narrowed(typed, None, typed.now) if intent.over and not is_ahead else typed
        for timed, when in _timed(until, asking, window):
            found = _in_scopes(view, timed, when, scopes, intent, limit, offset)
            if found is not None:
                return replace(found, window=when, lacking=intent.types if kinds and not types else ())
    return None


def _dated(asking: Asking, intent: Intent) -> Literal["happened", "known", "noted"]:
    """Which time of a note counts where nothing that is to come is asked for: what is to come is known since noted."""
    return "noted" if asking.is_of_what_was_noted else "happened" if intent.over else "known"


def _timed(wanted: Filter, asking: Asking, window: TimeWindow | None) -> Iterator[tuple[Filter, TimeWindow | None]]:
    """The question's time, then the one that it may have meant instead, each with the filter."""
    yield wanted, window
    if window is not None and (lapsed := asking.lapsed) is not None:
        instead = TimeWindow(lapsed.after, lapsed.before, lapsed.words, days=lapsed.days)
        yield replace(wanted, include_outdated=True), instead


def _in_scopes(
    view: IndexView,
    wanted: Filter,
    when: TimeWindow | None,
    scopes: Sequence[tuple[str, ...]],
    intent: Intent,
    limit: int,
    offset: int,
) -> Listed | None:
    """The list of the first of these groups of spaces that has one, with how much more the others have."""
    for number, spaces in enumerate(scopes):
        found = _list_in(view, replace(wanted, spaces=spaces), when, intent, limit, offset)
        if found is not None:
            others = () if number or len(scopes) == 1 else tuple(set(view.spaces()).difference(spaces))
            more = _list_in(view, replace(wanted, spaces=others), when, intent, 0, 0) if others else None
            return replace(found, listing=replace(found.listing, elsewhere=more.listing if more else None))
    return None


def _list_in(
    view: IndexView, wanted: Filter, when: TimeWindow | None, intent: Intent, limit: int, offset: int
) -> Listed | None:
    timed = narrowed(wanted, when.after, when.before) if when else wanted
    today = wanted.now[:10]
    coming = timed.after is not None and timed.after >= today and (timed.before or "~")[:10] > today
    if coming or intent.due or (timed.dated == "known" and timed.before is not None):
        timed = replace(timed, dated="happened")
    by_days = timed.dated != "noted" and (coming or not intent.types)
    said, capped = _said(view, wanted, when) if when and by_days else ({}, False)
    if not intent.due:
        found = _by_time(view, timed, limit, offset, soonest=coming, when=when)
        if not said or found.listing.total > MOST_DUE:
            return replace(found, listing=replace(found.listing, capped=capped)) if found.listing.total else None
    dated = _due(view, timed) if intent.due else view.by_time(timed, MOST_DUE, soonest=coming).ids
    ids = _merged(view, dated, said, soonest=coming or intent.due) if said else list(dated)
    listing = _listing(len(ids), offset, wanted, "soonest" if coming or intent.due else "newest", when)
    listing = replace(listing, capped=capped)
    return Listed(tuple(ids), listing, whole=True, searched=intent.due and when is None) if ids else None


def _said(view: IndexView, wanted: Filter, when: TimeWindow) -> tuple[dict[str, str], bool]:
    """Notes whose text names a day of this time, whenever they were told, each with the first day that it names.

    With it whether so many have its words that not all were looked at.
    """
    days = days_asked(when.days, when.words, openly=True)
    if days is None:
        return {}, False
    found = view.search(words_of_days(days), None, wanted, MOST_SAYING, MOST_SAYING).candidates
    notes = view.notes(item.id for item in found)
    said = {end: tells_when(item.note, days) for end, item in notes.items() if item.note.event_time is None}
    firsts = {end: str(each.days.first) for end, each in said.items() if each is not None and each.says == "then"}
    return firsts, len(found) >= MOST_SAYING


def _merged(view: IndexView, dated: Sequence[str], said: Mapping[str, str], *, soonest: bool) -> list[str]:
    happened = {end: item.note.happened for end, item in view.notes(dated).items()}
    whens = {**said, **happened}
    return sorted(whens, key=lambda end: whens[end], reverse=not soonest)


def _by_time(
    view: IndexView,
    wanted: Filter,
    limit: int,
    offset: int,
    *,
    soonest: bool = False,
    when: TimeWindow | None = None,
) -> Listed:
    page = view.by_time(wanted, limit, offset, soonest=soonest)
    return Listed(page.ids, _listing(page.total, offset, wanted, "soonest" if soonest else "newest", when))


def _due(view: IndexView, wanted: Filter) -> list[str]:
    """What is still to come: a note of today that has no time of its own is no such thing."""
    ahead = narrowed(wanted, wanted.now, None)
    if ahead.before is not None and ahead.before < wanted.now:
        return []
    ids = view.by_time(ahead, MOST_DUE, soonest=True).ids
    notes = view.notes(ids)
    return [note_id for note_id in ids if note_id in notes and notes[note_id].note.event_time is not None]


def _window_of_list(asking: Asking) -> TimeWindow | None:
    return None if _is_latest(asking) else asking.window


def _is_latest(asking: Asking) -> bool:
    """Whether its words of time only say that what is latest comes first."""
    return asking.time is not None and is_recency(asking.time.words)


def _scopes(view: IndexView, asking: Asking, intent: Intent) -> list[tuple[str, ...]] | None:
    """The spaces to list, one after the other until one has notes; None where a space is named that there is not."""
    given = asking.wanted.spaces
    if given and not intent.place:
        return [given]
    if intent.place:
        known = set(given or view.spaces())
        meant = [name for name in _spellings(intent.place) if name in known]
        return [(meant[0],)] if meant else None
    space = asking.question.space
    if space is None or intent.everywhere:
        return [()]
    return [(space,)] if intent.here else [(space, GLOBAL_SPACE), ()]


def _spellings(words: Sequence[str]) -> list[str]:
    """How a space may be written that these words name."""
    try:
        return [space_name(sign.join(words)) for sign in ("-", "_", ".", "")]
    except ValueError:
        return []


def _listing(total: int, offset: int, wanted: Filter, order: str, when: TimeWindow | None) -> Listing:
    kind = wanted.types[0] if len(wanted.types) == 1 else "note"
    where = f" in {' and '.join(wanted.spaces)}" if wanted.spaces else ""
    tagged = f" tagged {' or '.join(wanted.tags)}" if wanted.tags else ""
    tier = f"{' or '.join(wanted.tiers)} " if wanted.tiers else ""
    many = f"{tier}{_PLURALS.get(kind, kind + 's')}"
    return Listing(total, offset, f"{tier}{kind}", many, f"{_of_days(when)}{where}{tagged}, {order} first")


def _of_days(when: TimeWindow | None) -> str:
    """As in " of March 2026"; nothing where the days are not known."""
    days = named(when.days) if when else ""
    return f" of {days}" if days and when and when.days.first and when.days.last else f" {days}" if days else ""
