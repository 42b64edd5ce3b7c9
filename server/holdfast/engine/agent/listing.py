"""Lists that a question asks for, or that no question asks for: by time, of a kind, about the user, what is due."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Literal

from holdfast.engine.agent.doubting import bare, place_among_own
from holdfast.engine.agent.matters import close_ones, compared, versions_of
from holdfast.engine.agent.question import MOST_OF_A_FORM, PLAIN_TYPES, Asking, TimeWindow, narrowed, of_form, passes
from holdfast.index.rows import IndexedNote
from holdfast.index.view import IndexView
from holdfast.model.intent import (
    HAPPENS,
    INCIDENT,
    LATE,
    QUESTION,
    TASK,
    TASK_TAGS,
    WHAT_COMES,
    Form,
    Intent,
    is_recency,
    is_to_do,
    names_told,
    taste_of,
)
from holdfast.model.note import GLOBAL_SPACE, Note, moment, space_name
from holdfast.model.ranking import Filter, RankCandidate, Ranked, doubted
from holdfast.model.when import spans
from holdfast.model.when.spans import Span, named
from holdfast.model.when.told import DaysAsked, days_asked, tells_when
from holdfast.model.words import counted, folded_words, query_terms, relatives

PERSONS, PERSON_TERMS = 10, 8
MOST_PERSONAL, MOST_DUE, MOST_SAYING = 200, 500, 48
MOST_VERSIONS, MOST_BESIDE = 1, 15  # that stand behind a note of a list; that its notes are compared with
_AHEAD, _WEEK = 99, 7  # days, see `_ahead`
_FEW, _SOON = 3, 31  # days, see `_is_near` and `_is_late`
NEWEST = "newest"  # of a list's order
_MIDNIGHT = "T00:00:00Z"  # of what is said of a day alone
_PLURALS = {"person": "people"}
_KINDS = {TASK: "to-do", LATE: "overdue to-do", QUESTION: "open question", INCIDENT: "incident"}  # notes of a form
_OF_ANOTHER = 2  # as `taste_of` has it
_HERE_TERMS = frozenset(query_terms("this project repo repository space codebase workspace projekt projet proyecto"))
_RELATIVE_WORDS = (
    "tomorrow week weekend days morgen übermorgen woche wochen tagen demain semaine semaines jours mañana semana "
    "semanas días domani settimana"
)
_NOT_ON_IT = (0.1, "is not on the list that was asked for")


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

    `among` is where that is looked for, if not wherever the caller's filter allows: in the spaces of the list.

    `window` is the time that they are from, where the question speaks of one; `lacking` are the types, or words, that
    were asked for where none is from then, so that these are others.
    """

    ids: tuple[str, ...]
    listing: Listing
    whole: bool = False
    searched: bool = False
    among: Filter | None = None
    window: TimeWindow | None = None
    lacking: tuple[str, ...] = ()


def listed(view: IndexView, asking: Asking, limit: int, offset: int) -> Listed | None:
    """The list that is asked for; None where none is, or where there is nothing on it: then the words are searched."""
    if asking.is_browsing:
        return _by_time(view, asking.wanted, limit, offset)
    intent = asking.intent
    if intent is not None and intent.kind == "self":
        searched = bool(intent.topic) or intent.liking
        openly = not (searched or intent.tastes)
        wishes = of_form(view, _here(asking), "wish") if intent.liking or intent.tastes else {}
        return _personal(view, asking.wanted, offset, wishes, searched=searched, openly=openly, trait=intent.trait)
    if intent is None and asking.open:
        intent = Intent("list", timely=True)
    if intent is None or intent.kind != "list":
        return None
    return _of_notes(view, asking, intent, min(limit, intent.at_most or limit), offset)


def vacant(view: IndexView, asking: Asking) -> str:
    """What is told of a list that a question asks for of a space, where nothing is on it; else empty."""
    intent = asking.intent
    if intent is not None and intent.due and asking.time is not None and asking.window is not None:
        return f'Nothing is due "{asking.time.words}".'
    wanted, narrow = asking.wanted, asking.time is not None and not _is_latest(asking)
    narrow |= bool(wanted.types or wanted.tags or wanted.tiers or wanted.after or wanted.before)
    if intent is None or intent.kind != "list" or not (intent.place or intent.here) or intent.tags or narrow:
        return ""  # it is empty for another reason, or so far as is asked
    kinds = (_KINDS[intent.form],) if intent.form in _KINDS else intent.types
    scopes = _scopes(view, asking, intent) if kinds else None
    return f"No {' or '.join(kinds)} is in {' and '.join(scopes[0])}." if scopes and scopes[0] else ""


def off_the_list(ranked: Sequence[Ranked], asking: Asking) -> list[Ranked]:
    """What was found in place of such a list: first what has a word of the question beside the space's name.

    All else is less relevant. Of other spaces nothing is told but what is strong for such a word. "Due" tells nothing.
    """
    intent = asking.intent
    if intent and intent.due:
        return [doubted(item, *_NOT_ON_IT) for item in ranked]
    place = (*intent.place, intent.another) if intent else ()
    names = {term for word in place for term in query_terms(word)} or _HERE_TERMS
    here = (
        [name for each in _spellings(intent) for name in each] if intent and intent.place else [asking.question.space]
    )

    def tells(item: Ranked) -> bool:
        is_shown = item.candidate.space in here or not item.weak
        return is_shown and not names.issuperset(item.candidate.matched)

    rest = (item for item in ranked if not tells(item) and item.candidate.space in here)
    return [*filter(tells, ranked), *(doubted(item, *_NOT_ON_IT) for item in rest)]


def _personal(
    view: IndexView,
    wanted: Filter,
    offset: int,
    wishes: Mapping[str, Note],
    *,
    searched: bool,
    openly: bool,
    trait: str = "",
) -> Listed | None:
    """What is about the user, then their preferences, of whatever space; who asks `openly` is told first who they are.

    As by "who am I?". `wishes` are other notes that tell how they want to be served.
    """
    notes = view.notes([*view.personal(wanted.now, MOST_PERSONAL), *wishes])
    ids = _without_those_of_others({note_id: item.note for note_id, item in notes.items()})
    ids = sorted(ids, key=lambda end: place_among_own(notes[end].note)) if openly else ids
    shown = [note_id for note_id in ids if passes(notes[note_id], wanted)]
    if not shown and not trait:
        return None
    listing = Listing(len(shown), offset, "note", "notes", " about the user and their preferences")
    return Listed(tuple(shown), listing, whole=True, searched=searched)


@dataclass(frozen=True, slots=True)
class VersionsOn:
    """Of the notes on a list those that stand behind another, by the newer one; and that a newer one says otherwise.

    `notes` are those that were compared.
    """

    behind: dict[str, list[str]]
    doubts: dict[str, str]
    notes: Mapping[str, IndexedNote]


def versions_on(view: IndexView, on_list: Mapping[str, Ranked], wanted: Filter, key: str | None) -> VersionsOn:
    """Of two versions of one fact on a list the older is behind the newer; a newer one beside the list is told.

    More than two that look like versions of one are rather entries of one form ("the queue is written in Rust", "the
    ledger is written in Rust"): each stands for itself. What is beside passes the filter, and has come by now. `key` is
    of the vector set that notes are compared with.
    """
    ids, wanted = list(on_list), narrowed(replace(wanted, types=(), tags=()), None, wanted.now)
    links = view.links(ids)
    near = [end for end in close_ones(links, view.readings(ids), ids) if end not in on_list][:MOST_BESIDE]
    beside = {end: item for end, item in view.notes(near).items() if passes(item, wanted) and not item.note.is_outdated}
    notes = {**view.notes(ids), **beside}
    unlisted = {end: Ranked(bare(item.note), -math.inf, 0.0) for end, item in beside.items()}
    matters = compared(view, notes, links, key, {})
    worth = {end: item.relevance for end, item in on_list.items()}
    behind = {  # what answers is behind nothing that does not
        new: older
        for new, older in versions_of(on_list, matters).items()
        if len(older) <= MOST_VERSIONS and max(worth[end] for end in older) <= worth[new]
    }
    shown = on_list.keys() - {end for older in behind.values() for end in older}
    doubts: dict[str, str] = {}
    for new, older in versions_of({**on_list, **unlisted}, matters).items():
        left = [end for end in older if end in shown]
        if new in beside and len(left) <= MOST_VERSIONS:
            doubts |= dict.fromkeys(left, f"newer: {new} says otherwise")
    return VersionsOn(behind, doubts, notes)


def _without_those_of_others(notes: Mapping[str, Note]) -> list[str]:
    """All but what says of somebody, who is its subject and whom no note about the user names, what they like."""
    own = {word for note in notes.values() if note.about_self for word in query_terms(note.content)}

    def is_of_another(note: Note) -> bool:
        if not own or note.about_self or not note.subject or taste_of(note.content, is_preference=True) < _OF_ANOTHER:
            return False
        return own.isdisjoint(query_terms(note.subject))

    return [note_id for note_id, note in notes.items() if not is_of_another(note)]


def by_fit(view: IndexView, ids: Sequence[str], asking: Asking, ranked: Sequence[Ranked]) -> tuple[str, ...]:
    """A list about the user by how well its notes fit what is asked, so far as that says something; else as it was."""
    intent, strong = asking.intent, [item for item in ranked if not item.weak]
    if intent is None or not (intent.topic or intent.liking):
        return tuple(ids)
    of_all = intent.tastes and " " not in intent.topic  # as by "my preferences", of which that word tells nothing
    fitting = strong if not intent.topic else [] if of_all else ranked
    places = {item.candidate.id: place for place, item in enumerate(fitting)}
    ordered = sorted(ids, key=lambda end: places.get(end, len(places)))
    if intent.tastes:
        fits = {item.candidate.id for item in (strong if intent.liking or not of_all else ())}
        tastes = _tastes_first({end: item.note for end, item in view.notes(ids).items()}, asking.question.space)
        ordered.sort(key=lambda end: (end not in fits, tastes.get(end, len(ids))))
    return tuple(ordered)


def _tastes_first(notes: Mapping[str, Note], space: str | None) -> dict[str, int]:
    """Places among the user's preferences: their own, those of this space, then what else is about them.

    A preference of another space stands before that only where none is marked as the user's own.
    """
    names = {name for note in notes.values() for name in names_told(note.content)}
    tastes = {
        end: taste_of(note.content, is_preference=note.type == "preference", names=names) for end, note in notes.items()
    }
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
    if scopes is None and intent.due and window is not None:  # "doctor" is no space, but says which appointments
        return _with_words(view, _of_notes(view, asking, replace(intent, place=()), limit, offset), intent.place)
    if scopes is None or (asking.time is not None and window is None and not _is_latest(asking)):
        return None
    if intent.timely and window is None and not asking.wanted.types and not intent.form:
        return None
    wanted = replace(asking.wanted, tags=asking.wanted.tags or intent.tags, dated=_dated(asking, intent))
    happened = intent.over and window is not None and not asking.is_of_what_was_noted
    wished = intent.types or (HAPPENS if happened else ())
    kinds = [wished] if wished and not wanted.types else []
    plain = [((), replace(intent, due=False))] if intent.agenda else []
    tried = [(types, _formed(intent, types)) for types in [*kinds, *([()] if window is not None or not kinds else [])]]
    for types, meant in [*tried, *plain]:
        typed = replace(wanted, types=types or wanted.types)
        is_ahead = asking.time is not None and asking.time.ahead  # "was passiert im Mai?"
        until = narrowed(typed, None, typed.now) if intent.over and not is_ahead else typed
        for timed, when in _timed(until, asking, window):
            found = _in_scopes(view, timed, when, scopes, meant, limit, offset)
            if found is not None:
                return replace(found, window=when, lacking=intent.types if kinds and not types else ())
    return None


def _with_words(view: IndexView, found: Listed | None, words: Sequence[str]) -> Listed | None:
    """Those of a list that have one of these words, or one of its family; where none has it, all, told as others."""
    terms = {each for word in words for each in (word, *relatives(word))}
    notes = view.notes(found.ids) if found else {}
    own = tuple(end for end, item in notes.items() if not terms.isdisjoint(folded_words(item.note.content)))
    if found is None or not own:
        return found and replace(found, lacking=(f'"{" ".join(words)}"',))
    return replace(found, ids=own, listing=replace(found.listing, total=len(own), elsewhere=None))


def of_their_kind(view: IndexView, asking: Asking, intent: Intent) -> list[str]:
    """Notes of a kind of which several are asked for, with the words that name no space: "Levi's preferences"."""
    named = " ".join(intent.place)
    found = view.search(named, None, replace(_here(asking), types=intent.types), MOST_SAYING, PERSON_TERMS).candidates
    terms = set(query_terms(named))
    notes = view.notes(item.id for item in found if terms <= set(item.matched))
    return sorted(notes, key=lambda end: (notes[end].note.happened, end), reverse=True)


def _formed(intent: Intent, types: tuple[str, ...]) -> Intent:
    """A list of decisions is of what begins as one too."""
    return replace(intent, form="decision") if types == ("decision",) else intent


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
    if intent.form in (TASK, LATE):
        return _to_do(view, wanted, offset, intent.form)
    timed = narrowed(wanted, when.after, when.before) if when else wanted
    if intent.form in (INCIDENT, QUESTION):
        return _of_its_form(of_form(view, timed, intent.form), intent.form, _listing(0, offset, wanted, NEWEST, when))
    today = wanted.now[:10]
    coming = timed.after is not None and timed.after >= today and (timed.before or "~")[:10] > today
    if coming or intent.due or (timed.dated == "known" and timed.before is not None):
        timed = replace(timed, dated="happened")
    order = "soonest" if coming or intent.due else "oldest" if intent.oldest else NEWEST
    by_days = timed.dated != "noted" and (coming or not intent.types)
    then = when or (_ahead(today) if intent.due else None)
    said, capped = _said(view, wanted, then, intent) if then and by_days else ({}, False)
    if intent.form and not intent.due:
        said = {end: note.happened for end, note in of_form(view, replace(timed, types=()), intent.form).items()}
    if not intent.due and not intent.planned:
        found = _by_time(view, timed, limit, offset, order=order, when=when)
        if not said or found.listing.total > MOST_DUE:
            return replace(found, listing=replace(found.listing, capped=capped)) if found.listing.total else None
    if intent.due:
        dated: Sequence[str] = _due(view, timed, is_day=when is not None)
    else:
        dated = view.by_time(timed, MOST_DUE, soonest=order != NEWEST).ids
        dated = list(_of_their_own_time(view, dated)) if intent.planned else dated
    ids = _merged(view, dated, said, soonest=order != NEWEST) if said else list(dated)
    listing = _listing(len(ids), offset, wanted, order, when)
    listing = replace(listing, capped=capped)
    searched = intent.due and when is None and intent is not WHAT_COMES  # which names nothing to look for
    return Listed(tuple(ids), listing, whole=True, searched=searched, among=wanted) if ids else None


def _ahead(today: str) -> TimeWindow:
    """What is looked for of what is to come, where no time is named."""
    first = date.fromisoformat(today)
    return TimeWindow(None, None, "", days=Span(first, first + timedelta(days=_AHEAD)))


def _said(view: IndexView, wanted: Filter, when: TimeWindow, intent: Intent) -> tuple[dict[str, str], bool]:
    """Notes whose text names a day of a time, whenever they were told, each with the first day that it names.

    What comes round on one of a few days, too, but of what is due only where all that is on then is asked for. Of what
    is due none whose days are over; where only what has happened is asked for, none whose days are to come. Told as
    well is whether so many have its words that not all were looked at.
    """
    begins_now = intent.due and when.days.first is None  # "by the end of the month"
    span = Span(date.fromisoformat(wanted.now[:10]), when.days.last) if begins_now else when.days
    days = days_asked(span, when.words, openly=True)
    if days is None:
        return {}, False
    found = view.search(words_of_days(days), None, wanted, MOST_SAYING, MOST_SAYING).candidates
    notes = view.notes(item.id for item in (*found, *_by_weekdays(view, wanted, days)))
    said = {end: tells_when(item.note, days) for end, item in notes.items() if item.note.event_time is None}
    rounds = (intent.agenda or not intent.due) and _is_near(days, wanted.now)
    firsts = {
        end: str(each.days.first)
        for end, each in said.items()
        if each is not None
        and each.says == "then"
        and each.comes_round <= rounds
        and not ((intent.due or each.comes_round) and str(each.days.last or "~") < wanted.now[:10])
        and not (wanted.before is not None and str(each.days.first or "") > wanted.before)
    }
    return firsts, len(found) >= MOST_SAYING


def _is_near(days: DaysAsked, now: str) -> bool:
    """Whether they are a day or two of the next weeks, for which it helps to know what comes round."""
    ahead = (days.first - date.fromisoformat(now[:10])).days
    return (days.last - days.first).days < _FEW and ahead <= _SOON


def _by_weekdays(view: IndexView, wanted: Filter, days: DaysAsked) -> list[RankCandidate]:
    """What was told lately and may name one of more days than a week by its weekday, or as "tomorrow"."""
    today = date.fromisoformat(wanted.now[:10])
    first = max(days.first, today)
    if (days.last - days.first).days < _WEEK or days.last < today:
        return []
    week = DaysAsked(first, min(days.last, first + timedelta(days=_WEEK - 1)), days.openly)
    lately = narrowed(replace(wanted, dated="noted"), f"{today - timedelta(days=2 * _WEEK)}{_MIDNIGHT}", None)
    return list(view.search(words_of_days(week), None, lately, MOST_SAYING, MOST_SAYING).candidates)


def words_of_days(days: DaysAsked) -> str:
    """Words that a note has which names one of these days, or days around today that they may be."""
    count = (days.last - days.first).days + 1
    each = [spans.shift(days.first, number) for number in range(count)]
    months, numbers = {day.month for day in each}, [str(day.day) for day in each]
    names = [name for name, month in {**spans.MONTHS, **spans.SHORT_MONTHS}.items() if month in months]
    names += spans.holidays_in(days.first, days.last)
    if count <= _WEEK:
        weekdays = {day.weekday() for day in each}
        names += [_RELATIVE_WORDS, *numbers, *(name for name, day in spans.WEEKDAYS.items() if day in weekdays)]
    return " ".join((*names, *sorted({str(day.year) for day in each} | {str(month) for month in months})))


def _to_do(view: IndexView, wanted: Filter, offset: int, form: Literal["todo", "late"]) -> Listed | None:
    """What is something to do by its form or its tags, and is not done, or is `late` too; the newest first."""
    tagged = view.by_time(replace(wanted, tags=tuple(TASK_TAGS)), MOST_DUE).ids if not wanted.tags else ()
    notes = view.notes(dict.fromkeys((*view.beginning(TASK, wanted.spaces, wanted.now, MOST_OF_A_FORM), *tagged)))
    known = {end: item.note for end, item in notes.items() if passes(item, wanted)}
    plain = {end: note for end, note in known.items() if note.type in PLAIN_TYPES or end in tagged}
    to_do = {end: note for end, note in plain.items() if is_to_do(note.content, note.tags)}
    if form == LATE:
        to_do = {end: note for end, note in to_do.items() if _is_late(note, date.fromisoformat(wanted.now[:10]))}
    return _of_its_form(to_do, form, _listing(0, offset, wanted, "newest", None))


def _is_late(note: Note, today: date) -> bool:
    """Whether all days that it names are over; one that was over when it was told is so too."""
    if note.event_time is not None:
        return note.event_time[:10] < str(today)
    begin = moment(note.created).date() - timedelta(days=_SOON)
    past = tells_when(note, DaysAsked(begin, today - timedelta(days=1), openly=True))
    ahead = tells_when(note, DaysAsked(today, today + timedelta(days=_AHEAD), openly=True))
    is_named = past is not None and past.says != "elsewhen" and begin <= (past.days.last or date.max) < today
    return is_named and (ahead is None or ahead.says != "then")


def _of_its_form(notes: Mapping[str, Note], form: Form, listing: Listing) -> Listed | None:
    ids = sorted(notes, key=lambda end: (notes[end].happened, end), reverse=True)
    listing = replace(listing, total=len(ids), one=_KINDS[form], many=f"{_KINDS[form]}s")
    return Listed(tuple(ids), listing, whole=True) if ids else None


def _here(asking: Asking) -> Filter:
    """The caller's filter, of the current space and the global one where it names none."""
    space = asking.question.space
    return replace(asking.wanted, spaces=(space, GLOBAL_SPACE)) if space else asking.wanted


def _merged(view: IndexView, dated: Sequence[str], said: Mapping[str, str], *, soonest: bool) -> list[str]:
    happened = {end: item.note.happened for end, item in view.notes(dated).items()}
    whens = {**said, **happened}
    return sorted(whens, key=lambda end: (whens[end], end), reverse=not soonest)


def _by_time(
    view: IndexView,
    wanted: Filter,
    limit: int,
    offset: int,
    *,
    order: str = NEWEST,
    when: TimeWindow | None = None,
) -> Listed:
    page = view.by_time(wanted, limit, offset, soonest=order != NEWEST)
    return Listed(page.ids, _listing(page.total, offset, wanted, order, when))


def _due(view: IndexView, wanted: Filter, *, is_day: bool) -> list[str]:
    """What is still to come: a note of today that has no time of its own is no such thing.

    What is said of a day, and of no hour of it, is to come until the day is over, and all of today where days are
    asked for.
    """
    today = wanted.now[:10] + _MIDNIGHT
    ahead = narrowed(wanted, today, None)
    if ahead.before is not None and ahead.before < wanted.now:
        return []
    notes = _of_their_own_time(view, view.by_time(ahead, MOST_DUE, soonest=True).ids)

    def is_to_come(happened: str) -> bool:
        return is_day or happened >= wanted.now or happened == today

    return [end for end, note in notes.items() if is_to_come(note.happened)]


def _of_their_own_time(view: IndexView, ids: Sequence[str]) -> dict[str, Note]:
    """Those of which it is known when they take place, in their order: not what was only noted."""
    notes = view.notes(ids)
    return {end: notes[end].note for end in ids if end in notes and notes[end].note.event_time is not None}


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
        meant = [next((name for name in each if name in known), None) for each in _spellings(intent)]
        return None if None in meant else [tuple(filter(None, meant))]
    space = asking.question.space
    if intent.here and space is not None:
        return [(space,)]
    if space in (None, GLOBAL_SPACE) or intent.everywhere:  # who is in no project asks of all
        return [()]
    return [(space, GLOBAL_SPACE), ()]


def _spellings(intent: Intent) -> list[list[str]]:
    """How each space may be written that the words of an intent name."""
    places = [intent.place, (intent.another,)] if intent.another else [intent.place]
    try:
        return [[space_name(sign.join(words)) for sign in ("-", "_", ".", "")] for words in places]
    except ValueError:
        return [[]]


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


def persons(view: IndexView, wanted: Filter, who: str) -> list[str]:
    """The notes that are of the person of this name."""
    wanted = replace(wanted, types=("person",))
    found = view.search(who, None, wanted, PERSONS, PERSON_TERMS).candidates
    notes = view.notes(item.id for item in found)
    name = query_terms(who)
    places = {note_id: _place_of(name, item.note) for note_id, item in notes.items()}
    return sorted((end for end, place in places.items() if place is not None), key=lambda end: (places[end], end))


def _place_of(name: Sequence[str], note: Note) -> int | None:
    """How far behind the beginning a person's note names whom it is about; None where that is somebody else."""
    if set(name) <= set(query_terms(note.subject or "")):
        return 0
    first = next((line for line in note.content.splitlines() if line.strip()), "")
    said = [query_terms(text) for text in (note.title, first)]
    return min((words.index(name[0]) for words in said if set(name) <= set(words)), default=None)
