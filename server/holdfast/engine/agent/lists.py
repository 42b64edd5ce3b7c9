"""Lists: notes in the order of time, or what is about the user, where that is asked for and not what a word says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from holdfast.engine.agent.question import Asking, TimeWindow, narrowed
from holdfast.engine.ports import View
from holdfast.index.rows import IndexedNote
from holdfast.model.intent import Intent, is_recency
from holdfast.model.note import GLOBAL_SPACE, Note, space_name
from holdfast.model.ranking import Filter
from holdfast.model.words import counted, query_terms

MOST_PERSONAL, MOST_DUE = 200, 500
PERSONS, PERSON_TERMS = 10, 8
_PLURALS = {"person": "people"}


@dataclass(frozen=True, slots=True)
class Listing:
    """What the notes of a list are some of: `total` notes, in words `described`; `elsewhere` are in other projects.

    With `dated` it is of the time that the question speaks of.
    """

    total: int
    offset: int
    described: str
    elsewhere: int = 0
    dated: bool = False


@dataclass(frozen=True, slots=True)
class Listed:
    """The notes to show, or with `whole` all there are. With `searched` what the words find belongs to them too."""

    ids: tuple[str, ...]
    listing: Listing
    whole: bool = False
    searched: bool = False


def listed(view: View, asking: Asking, limit: int, offset: int) -> Listed | None:
    """The list that is asked for; None where none is, or where there is nothing on it: then the words are searched."""
    if asking.is_browsing:
        return _page(view, asking.wanted, limit, offset)
    intent = asking.intent
    if intent is not None and intent.kind == "self":
        return _personal(view, asking.wanted, offset, searched=bool(intent.topic))
    if intent is None and asking.open:
        intent = Intent("list", timely=True)
    if intent is None or intent.kind != "list":
        return None
    return _of_notes(view, asking, intent, min(limit, intent.at_most or limit), offset)


def persons(view: View, asking: Asking) -> list[str]:
    """The notes that are of the person who is asked for by name."""
    intent = asking.intent
    if intent is None or intent.kind != "person" or asking.wanted.types:
        return []
    wanted = replace(asking.wanted, types=("person",))
    found = view.search(intent.topic, None, wanted, PERSONS, PERSON_TERMS).candidates
    notes = view.notes(item.id for item in found)
    name = query_terms(intent.topic)
    places = {note_id: _place_of(name, item.note) for note_id, item in notes.items()}
    return sorted((end for end, place in places.items() if place is not None), key=lambda end: (places[end], end))


def passes(item: IndexedNote, wanted: Filter) -> bool:
    """Whether the filter lets a note through, as the index would have it."""
    note = item.note
    current = not note.is_outdated and (note.valid_until is None or note.valid_until > wanted.now)
    return (
        (current or wanted.include_outdated)
        and (not wanted.spaces or note.space in wanted.spaces)
        and (not wanted.types or note.type in wanted.types)
        and (not wanted.tiers or note.tier in wanted.tiers)
        and (not wanted.tags or bool({tag.lower() for tag in wanted.tags} & {tag.lower() for tag in note.tags}))
        and (wanted.after is None or note.happened >= wanted.after)
        and (wanted.before is None or note.happened <= wanted.before)
    )


def _place_of(name: Sequence[str], note: Note) -> int | None:
    """How far behind the beginning a person's note names whom it is about; None where that is somebody else."""
    if set(name) <= set(query_terms(note.subject or "")):
        return 0
    first = next((line for line in note.content.splitlines() if line.strip()), "")
    said = [query_terms(text) for text in (note.title, first)]
    return min((words.index(name[0]) for words in said if set(name) <= set(words)), default=None)


def _personal(view: View, wanted: Filter, offset: int, *, searched: bool) -> Listed | None:
    """What is about the user, then their preferences, of whatever space."""
    ids = view.personal(wanted.now, MOST_PERSONAL)
    notes = view.notes(ids)
    shown = [note_id for note_id in ids if note_id in notes and passes(notes[note_id], wanted)]
    if not shown:
        return None
    described = f"{counted(len(shown), 'note')} about the user and their preferences"
    return Listed(tuple(shown), Listing(len(shown), offset, described), whole=True, searched=searched)


def _of_notes(view: View, asking: Asking, intent: Intent, limit: int, offset: int) -> Listed | None:
    """The list of an intent, of the current project where no other is named."""
    window = _window(asking)
    scopes = _scopes(view, asking, intent)
    if scopes is None or (asking.time is not None and window is None and not _is_latest(asking)):
        return None
    if intent.timely and window is None:
        return None
    wanted = replace(asking.wanted, tags=asking.wanted.tags or intent.tags)
    if window is not None:
        wanted = narrowed(wanted, window.after, window.before)
    kinds = [intent.types] if intent.types and not wanted.types else []
    for types in [*kinds, *([()] if window is not None or not kinds else [])]:
        typed = replace(wanted, types=types or wanted.types)
        for number, spaces in enumerate(scopes):
            here = replace(typed, spaces=spaces)
            found = _list_in(view, here, intent, limit, offset)
            if found is not None:
                others = 0 if number or len(scopes) == 1 else _count(view, typed, intent) - found.listing.total
                listing = replace(found.listing, elsewhere=others, dated=window is not None)
                return replace(found, listing=listing)
    return None


def _list_in(view: View, wanted: Filter, intent: Intent, limit: int, offset: int) -> Listed | None:
    if intent.due:
        ids = _due(view, wanted)
        described = _described(len(ids), wanted, "soonest")
        return Listed(tuple(ids), Listing(len(ids), offset, described), whole=True, searched=True) if ids else None
    coming = wanted.after is not None and wanted.after > wanted.now
    found = _page(view, wanted, limit, offset, soonest=coming)
    return found if found.listing.total else None


def _page(view: View, wanted: Filter, limit: int, offset: int, *, soonest: bool = False) -> Listed:
    page = view.by_time(wanted, limit, offset, soonest=soonest)
    described = _described(page.total, wanted, "soonest" if soonest else "newest")
    return Listed(page.ids, Listing(page.total, offset, described))


def _due(view: View, wanted: Filter) -> list[str]:
    """What is still to come: a note of today that has no time of its own is no such thing."""
    ahead = narrowed(wanted, wanted.now, None)
    if ahead.before is not None and ahead.before < wanted.now:
        return []
    ids = view.by_time(ahead, MOST_DUE, soonest=True).ids
    notes = view.notes(ids)
    return [note_id for note_id in ids if note_id in notes and notes[note_id].note.event_time is not None]


def _count(view: View, wanted: Filter, intent: Intent) -> int:
    return len(_due(view, wanted)) if intent.due else view.by_time(wanted, 0).total


def _window(asking: Asking) -> TimeWindow | None:
    return None if _is_latest(asking) else asking.window


def _is_latest(asking: Asking) -> bool:
    """Whether its words of time only say that what is latest comes first."""
    return asking.time is not None and is_recency(asking.time.words)


def _scopes(view: View, asking: Asking, intent: Intent) -> list[tuple[str, ...]] | None:
    """The spaces to list, one after the other until one has notes; None where a space is named that there is not."""
    given = asking.wanted.spaces
    if given and not intent.place:
        return [given]
    if intent.place:
        known = set(given or view.spaces())
        named = [name for name in _spellings(intent.place) if name in known]
        return [(named[0],)] if named else None
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


def _described(total: int, wanted: Filter, order: str) -> str:
    """As in "17 decisions in tollgate, newest first"."""
    kind = wanted.types[0] if len(wanted.types) == 1 else "note"
    where = f" in {' and '.join(wanted.spaces)}" if wanted.spaces else ""
    tagged = f" tagged {' or '.join(wanted.tags)}" if wanted.tags else ""
    tier = f"{' or '.join(wanted.tiers)} " if wanted.tiers else ""
    number = counted(total, f"{tier}{kind}", f"{tier}{_PLURALS.get(kind, kind + 's')}")
    return f"{number}{where}{tagged}, {order} first"
