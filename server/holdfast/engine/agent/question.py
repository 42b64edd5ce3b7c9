"""How a question is read before the index is asked: what it speaks of, when, which notes may answer, or which list.

The asking agent is a language model, and can say a question in the words that a note may use. Each such phrasing is
searched for like the question, and their scores are averaged. Nothing gets stronger than the mean makes it, so
phrasings of a question about nothing stored do not make it confident; what has its own rare words gets no weaker.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Final

from holdfast.engine.agent.doubting import Reading, placed_in, told_by_then_first, with_meaning
from holdfast.engine.commit import LARGEST_QUERY, check_text
from holdfast.engine.encoding import identity
from holdfast.engine.ports import Ports
from holdfast.errors import InvalidArgumentError, LimitExceededError
from holdfast.index.rows import IndexedNote
from holdfast.index.spelling import corrected
from holdfast.index.view import IndexView
from holdfast.model.doubts import Sought, sought
from holdfast.model.identifiers import is_formed, seldom_of, shows_another_language
from holdfast.model.intent import (
    AGENDA_LIST,
    BREAKDOWNS,
    INCIDENT,
    WHAT_COMES,
    Form,
    Intent,
    asked_about,
    asks_of_plans,
    asks_what_is_on,
    has_form,
    intent_of,
    is_recency,
)
from holdfast.model.note import Note, instant, moment, tag_key
from holdfast.model.parts import Lack, lack_of
from holdfast.model.prompts import Idle, asks_something, idle, idle_at_a_time, without_talk
from holdfast.model.ranking import WEIGHTS, Filter, QueryVector, Question, Ranked, Weights, rank
from holdfast.model.when import spans
from holdfast.model.when.questions import (
    TimeReading,
    asks_back,
    looking_ahead,
    outer_window,
    read_time,
    said_once,
    without_time,
)
from holdfast.model.when.spans import Span, instants, shift
from holdfast.model.when.told import days_asked, days_told, is_of_the_same_months, tells_when
from holdfast.model.words import asked_in_english, asks_openly, query_terms, regex

_STORED, _NEW = (regex(rf"\b(?:{each})\b") for each in (spans.STORED, spans.NEW))
_LONGEST_READ = 200  # characters: of more the end, where it asks, would not be read with a note
_BACK_THEN = regex(r"(?:from|of|since|aus|vom?|seit|des|du|depuis|del?|desde)\b", re.IGNORECASE)
_FROM = regex(r"(?:from|of|aus|vom|von|de|del|di) (?P<month>\w+)", re.IGNORECASE)
_TO_COME = regex(r"\b(?:to|due|coming|upcoming|planned|ahead|steht|termine?|appointments?)\b", re.IGNORECASE)
_TO_BE_DONE = regex(rf"\b(?:{spans.DUTIES})\b")
_IS_STILL_TO_BE = regex(rf"\A(?!.*\b(?:did|was|were|had|used)\b).*\b(?:{spans.DUTIES}|do|does|will|should|can|may)\b")
_ASKS_NOW = regex(
    r"\W*(?:(?:and|at|by|for|from|in|on|since|to|until|ab|bis|seit|um|à|de|desde|hasta|jusqu'à) )?"
    r"(?:who|whose|when|where|how|why|what|which|is|are|do|does|can|may|must|wer|wem|wann|wo|wie|was|welche\w*|ist|sind"
    r"|hat|haben|kann|darf|gibt|qui|quand|où|comment|combien|que|qu'est-ce|quel\w*|est-ce|est|quién|cuándo|dónde|cómo"
    r"|cuánt\w+|qué|cuál\w*|hay|está)\b"
)
_PRESENT = regex(r"\b(?:is|are|am|do|does|can|may|must|will|has|have)\b|'s\b")
_SIMPLE_PAST = regex(
    r"\b(?:\w{2,}ed|won|lost|sold|left|sent|paid|fell|held|kept|led|built|bought|caught|ate|rang|brought|felt|wore|rose)\b"
)
_OF_WHAT_WAS = regex(
    r"\b(?:about|know|remember|recall|that (?:we|i|you|they))\b"
    r"|(?<!do )(?<!does )(?<!can )(?<!may )(?<!must )(?<!is )(?<!are )(?<!am )(?<!will )(?<!should )"
    r"\b(?:we|i|you|they|he|she) (?!have\b|need\b)\w+ (?:in|on|at|for) "
    r"|\b(?:hat|habe|haben|ist|sind|wurden?)\b.* ge\w{2,}(?:t|en)\W*\Z"
    r"|\b(?:ha|han|hemos) \w+[ai]do\b|\w{3,}(?:ó|aron|ieron)\b"
    r"|\b(?:ai|a|avons|avez|ont|sommes)(?:-\w+)? (?:\w+ )?\w+ée?s?\b"
)
_NTH_ASKED = regex(spans.NTH_ASKED)
_SOON = timedelta(days=7)
_ARTICLE = regex(r"\A(?:the|dem|der|den|des|la|le|les|el|los|las|(?:our|unsere|notre|nuestr)\w*)\s+", re.IGNORECASE)
_IS_DONE_TO = regex(r"\b(?:was|were|been|got) moved\b")  # an appointment; who moves house does it themselves
_BEHIND = frozenset({"decision", "observation", "experience", "fact", "preference"})  # types of what is over when noted
PLAIN_TYPES = frozenset({"fact", "observation", "experience", "event", "goal", "project"})  # of any form beside
MOST_PHRASINGS = 3
MOST_OF_A_FORM = 500
BUILTIN: Final = "builtin"  # the provider whose model was made of English texts


@dataclass(frozen=True, slots=True)
class Phrasing:
    """Other words for a question; its sets of words are as of `holdfast.model.ranking.Question`."""

    text: str
    extraordinary: frozenset[str]
    formed: frozenset[str]
    seldom: frozenset[str] = frozenset()
    vector: QueryVector | None = None
    beside: QueryVector | None = None


def checked_phrasings(query: str, also: Sequence[str]) -> tuple[str, ...]:
    """Those that say something else than the question, each once.

    Raises:
        LimitExceededError: there are more than three, or one is too long.
        InvalidArgumentError: one is blank, or no valid Unicode.
    """
    if len(also) > MOST_PHRASINGS:
        raise LimitExceededError(f"also takes at most {MOST_PHRASINGS} phrasings.")
    for place, text in enumerate(also):
        if not text.strip():
            raise InvalidArgumentError(f"also[{place}] is blank.", "Leave it out, or say the question in other words.")
        check_text(f"also[{place}]", text.replace("\0", " "), LARGEST_QUERY)
    return tuple(dict.fromkeys(text for text in also if text.split() != query.split()))


def read_phrasing(ports: Ports, text: str) -> Phrasing:
    """What is searched for of a phrasing."""
    extraordinary = frozenset(term for term in query_terms(text) if not ports.is_ordinary(term))
    formed = frozenset(term for term in extraordinary if is_formed(term, ports.is_ordinary))
    return Phrasing(text, extraordinary, formed, seldom_of(query_terms(text), ports.is_common))


def ranked_phrasing(
    view: IndexView, phrasing: Phrasing, question: Question, wanted: Filter, weights: Weights, most: int
) -> list[Ranked]:
    """What a phrasing finds, best first, with all else as the question has it."""
    found = view.search(
        phrasing.text,
        phrasing.vector,
        wanted,
        most=most,
        extraordinary=phrasing.extraordinary | phrasing.seldom,
        beside=phrasing.beside,
    )
    asked = replace(_said_as(question, phrasing), affinity={})  # feedback counts in the question's own score
    return with_meaning(found, rank(found, placed_in(asked, found), weights))


def _said_as(question: Question, phrasing: Phrasing) -> Question:
    """The question in other words."""
    extraordinary, formed, seldom = phrasing.extraordinary, phrasing.formed, phrasing.seldom
    return replace(question, text=phrasing.text, extraordinary=extraordinary, formed=formed, seldom=seldom)


EVENT_POOL, EVENT_TERMS, EVENT_COVERAGE = 10, 8, 0.75
EVENT_DAYS = 3  # what happened "during" an event is told of within these days


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """The time that a question was taken to speak of, and the words that say so."""

    after: str | None
    before: str | None
    words: str
    event: str | None = None  # the id of the note that tells when it was
    days: Span = Span(None, None)  # noqa: RUF009 - it is frozen

    def holds(self, happened: str) -> bool:
        return (self.after is None or happened >= self.after) and (self.before is None or happened <= self.before)


@dataclass(frozen=True, slots=True)
class Asking:
    """A question as it was read.

    `query` is the question as it was asked, `text` the same without its words of time; `text` is what the legs look
    for. `wanted` is what the caller's arguments let through. `time` is None where the question speaks of no time,
    `window` where no days are known for it. With `open` it asks for whatever is from that time. `intent` is what it
    asks for that is no matter of words. With `is_browsing` nothing is asked: all that is wanted is to be listed. `idle`
    says that it asks memory for nothing. `also` is the same in other words. `beside` is its vector in the second set.
    `lapsed` is the time that it may have meant instead: "what is there in June?" asks for the one that comes, or else
    for the last one. `slips` are words that no note has, each with the one in its place. `asks`: by its form it may be
    a question. `by_name`: the last of `also` asks in English who somebody is, and decides what is found.
    `asks_back`: it is put in the past tense. `of_now`: in the present, of a month or day that comes round again. `nth`
    is which it asks for of all that was so one after another: the first (1), the second; else 0. `reading` is how
    it is read with a note; None where it is not.
    """

    query: str
    text: str
    wanted: Filter
    question: Question
    time: TimeReading | None
    window: TimeWindow | None = None
    open: bool = False
    intent: Intent | None = None
    is_browsing: bool = False
    vector: QueryVector | None = None
    beside: QueryVector | None = None
    weights: Weights = WEIGHTS
    idle: Idle | None = None
    also: tuple[Phrasing, ...] = ()
    lapsed: TimeReading | None = None
    slips: Mapping[str, str] = field(default_factory=dict)
    asks: bool = False
    by_name: bool = False
    asks_back: bool = False
    of_now: bool = False
    nth: int = 0
    reading: Reading | None = None

    @property
    def is_of_what_was_noted(self) -> bool:
        """Whether it asks for what was stored, or is new, as "what is new since Monday?"; last week's news happened."""
        asked, is_open = spans.lowered(self.query), self.window is None or self.window.before is None
        return _STORED.search(asked) is not None or (is_open and _NEW.search(asked) is not None)

    @property
    def lists_since(self) -> bool:
        """Whether it asks for a list of all since an event."""
        since = self.time is not None and bool(self.time.event) and self.time.relation in ("since", "after")
        return since and self.intent is not None and self.intent.kind == "list"

    @property
    def person(self) -> str:
        """Who is asked for by name; empty where nobody is."""
        intent = self.intent
        return intent.topic if intent and intent.kind == "person" and not self.wanted.types else ""

    @property
    def may_be_read(self) -> bool:
        """Whether what was learned of questions and their answers can tell something: one in English, for no list.

        "What does Wanda charge?" would ask for a list if that were a project: if it is none, it is searched and read.
        """
        is_short = len(self.text) <= _LONGEST_READ and len(query_terms(self.text)) > 1
        is_plain = self.intent is None or (bool(self.intent.place) and not self.intent.types)
        is_of_now = self.time is None or not (self.time.past or self.time.event)
        return is_short and is_plain and is_of_now and not shows_another_language(self.text)

    @property
    def may_list(self) -> bool:
        """Whether a list may be what it asks for."""
        return self.is_browsing or self.open or (self.intent is not None and self.intent.kind != "person")


def read_question(ports: Ports, query: str, wanted: Filter, space: str | None) -> Asking:
    """The question as its own words say: a question about the past may be answered by what is retired by now."""
    query, now = without_talk(query), ports.asked_at or ports.clock()
    time = _time_of(query, now)
    time, text = said_once(query, time, now) if time else (None, query)
    nothing = idle_at_a_time(query, text) if time else idle(query)
    intent, lapsed, text = _since_then(text, time) or intent_of(text), None, asked_about(text)
    may_be_on = intent is WHAT_COMES or (not nothing and asks_what_is_on(text))
    is_on = time is not None and may_be_on and not _BACK_THEN.match(time.words)
    if time and intent and _is_to_be_done_until(time, query, intent, instant(now)):
        intent = replace(WHAT_COMES)  # equals it, and is not it
    if time and intent and intent.form == "todo" and not is_recency(time.words):  # what is from then may be to do
        intent = replace(intent, form="") if intent.timely else None
    if time and nothing:
        intent, nothing = (intent, None) if intent is WHAT_COMES else (None, nothing)
    of_now = time is not None and time.coming is not None and _is_of_now(query.lower(), time)
    if time and time.coming and not _looks_back(query, time, intent):
        if is_on or asks_for_a_list(text, intent):
            time, lapsed = looking_ahead(time), time
        elif (of_now or _is_nothing_but_time(query, time)) and _is_nearer_ahead(time, now.date()):
            time = looking_ahead(time)
    if time and (intent is WHAT_COMES or _is_nothing_but_time(query, time)):  # "what is due" equals it, and is not it
        intent = Intent("list", timely=True)
    if time and is_on and not time.past and time.before and time.before >= instant(now):
        begins, is_of_plans = time.days.first or date.min, asks_of_plans(query)
        intent = replace(AGENDA_LIST, planned=begins > now.date() or is_of_plans)
        lapsed = None if is_of_plans and (time.days.last or date.max) - begins < _SOON else lapsed
    past = time is not None and time.past
    is_order, one_language = nothing == "order", _reads_english_alone(ports)
    asked = Question(text, None if wanted.spaces else space, past=past, is_order=is_order, one_language=one_language)
    wanted = replace(wanted, include_outdated=wanted.include_outdated or past)
    return Asking(
        query,
        text,
        wanted,
        _said_as(asked, read_phrasing(ports, text)),
        time,
        intent=intent,
        idle=nothing,
        lapsed=lapsed,
        asks=asks_something(query),
        asks_back=asks_back(query),
        of_now=of_now,
        nth=_nth_asked(query),
    )


def in_english(asking: Asking) -> tuple[str, ...]:
    """The question who somebody is in the language that an encoder reads, where it was asked in another one."""
    if asking.intent is None or asking.intent.kind != "person":
        return ()
    english = asked_in_english(asking.text, asking.intent.topic)
    return () if english == asking.text or asking.text.lower().startswith("who") else (english,)


def sought_of(asking: Asking) -> Sought | None:
    """What the question asks for; nothing where it asks who somebody is: any word may tell that."""
    if asking.intent is not None and asking.intent.kind == "person":
        return None
    is_told = asking.time is not None and asking.time.event and asking.time.relation == "before"
    later = asking.time.words if asking.time and is_told and not _IS_STILL_TO_BE.search(asking.query.lower()) else ""
    found = sought(asking.query.replace(later, " ") if later else asking.query)  # what was before that is another
    openly = asking.open or asks_for_a_list(asking.text, asking.intent)
    days = days_asked(asking.time.days, asking.time.words, openly=openly) if asking.time else None
    return replace(found or Sought(), days=days) if days else found


def lacking_of(asking: Asking, notes: Mapping[str, IndexedNote]) -> Callable[[str], Lack]:
    """Tells of a note what of that which is asked for it does not tell."""
    asked = sought_of(asking)
    return cache(lambda end: lack_of(asked, notes[end].note) if end in notes else "")


def _nth_asked(query: str) -> int:
    """Of "what was the first rent?" 1, of "the second" 2; else 0."""
    found = _NTH_ASKED.search(spans.lowered(query))
    return spans.ORDINALS[found.group()] + 1 if found else 0


def _is_to_be_done_until(time: TimeReading, query: str, intent: Intent, now: str) -> bool:
    """As in "what must be done by the end of the month?", which asks for what is due until then."""
    before = max(time.before or "", (time.coming or ("", ""))[1] or "")
    is_open = before >= now and (time.after is None or time.after >= now)
    return (
        is_open and intent.kind == "list" and not intent.types and _TO_BE_DONE.search(spans.lowered(query)) is not None
    )


def _since_then(text: str, time: TimeReading | None) -> Intent | None:
    """The list that is asked for of all since an event, whose name is no place: "what changed since the release?"."""
    if time is None or not time.event or time.relation not in ("since", "after"):
        return None
    intent = intent_of(text.replace(time.event, " ", 1))
    is_list = intent is not None and intent.kind == "list" and not intent.due
    return intent if is_list and intent and (intent.over or intent.types or time.relation == "since") else None


def _time_of(query: str, now: datetime) -> TimeReading | None:
    """The time that a question speaks of: "in 30 days" may be a length too, but not where a list is asked for."""
    time = read_time(query, now)
    if time is None or not time.kept:
        return time
    ahead = looking_ahead(time)
    rest = without_time(query, ahead)
    return ahead if asks_for_a_list(rest, intent_of(rest)) else time


def _looks_back(query: str, time: TimeReading, intent: Intent | None) -> bool:
    """Whether a list is of what was: "decisions from August", but not "decisions to take in September"."""
    if (intent is not None and intent.due) or _TO_COME.search(query):
        return False
    is_of_a_month = (found := _FROM.fullmatch(time.words)) is not None and found["month"].lower() in spans.NAMED
    return is_of_a_month or (intent is not None and bool(intent.types) and {*intent.types} <= _BEHIND)


def _is_of_now(query: str, time: TimeReading) -> bool:
    """Whether it is one of the present, as "when does the ferry leave in July?", but not "the findings in July"."""
    if _BACK_THEN.match(time.words) or not _ASKS_NOW.match(query):
        return False
    return not (_OF_WHAT_WAS.search(query) or (_SIMPLE_PAST.search(query) and not _PRESENT.search(query)))


def _is_nearer_ahead(time: TimeReading, today: date) -> bool:
    """Whether the next time is nearer than the last, or within a week: July is in June, and not in fall."""
    behind, ahead = time.days.last, time.coming_days.first
    return behind is not None and ahead is not None and ahead - today <= max(today - behind, _SOON)


def _is_nothing_but_time(query: str, time: TimeReading) -> bool:
    """As "last week" or "since Monday" by itself: what is from then is asked for. "March 2025" may stand in a note."""
    rest = query.replace(time.words, " ", 1)
    is_a_word = len(spans.day_names(time.words)) == len(time.words.split())
    return bool(time.after) and not re.search(r"\w", rest) and not is_a_word


def asks_for_a_list(text: str, intent: Intent | None) -> bool:
    """Whether a question, its words of time left out, asks for whatever there is, or whatever there is of a kind."""
    return asks_openly(text) if intent is None else intent.kind == "list" and not intent.place


def odd_words(asking: Asking) -> frozenset[str]:
    """The words of a question that may be slips of the pen: no ordinary ones, nor made of such."""
    return asking.question.extraordinary - asking.question.formed


def spelt(asking: Asking, slips: Mapping[str, str]) -> Asking:
    """The question with other words in the place of those that are slips."""
    text = corrected(asking.text, slips)
    question = replace(asking.question, text=text, extraordinary=asking.question.extraordinary - slips.keys())
    return replace(asking, query=corrected(asking.query, slips), text=text, question=question, slips=slips)


def _reads_english_alone(ports: Ports) -> bool:
    used = identity(ports.encoder)
    return used is not None and used.provider == BUILTIN


def browsing(query: str, wanted: Filter) -> Asking:
    """No question at all."""
    return Asking(query, "", wanted, Question(""), None, is_browsing=True)


def window_of(view: IndexView, asking: Asking) -> TimeWindow | None:
    """The days that are meant, where the question says which, or where a note of the event that it names does."""
    time = asking.time
    if time is None:
        return None
    if time.after or time.before:
        return TimeWindow(time.after, time.before, time.words, days=time.days)
    return _around_event(view, asking, time) if time.event else None


def placed(asking: Asking, window: TimeWindow | None) -> Asking:
    """The question with its time known. What was before an event is not told in the event's own words.

    Where its time leaves nothing out, the names of weekdays and seasons in it are looked for like other words.
    """
    if window is None or asking.time is None:
        return asking
    text = rest = asking.text
    if hard_filter(asking) is None:
        text = _with_days(asking, all_of_them=asking.time.ahead)
    if window.event:
        rest = text.replace(asking.time.event or "", " ", 1)
        text = rest if query_terms(rest) and asking.time.relation in ("before", "until") else text
    question = replace(asking.question, text=text, after=window.after, before=window.before)
    return replace(asking, text=text, question=question, window=window, open=asking.idle is None and asks_openly(rest))


def anytime(asking: Asking) -> Asking:
    """The question as it is put to all times: the names of days and months in it are words like the others."""
    text = _with_days(asking, all_of_them=True)
    return replace(asking, text=text, question=replace(asking.question, text=text, after=None, before=None))


def _with_days(asking: Asking, *, all_of_them: bool) -> str:
    days = spans.day_names(asking.time.words, all_of_them=all_of_them) if asking.time else []
    known = query_terms(asking.text)
    return " ".join((asking.text, *(day for day in days if not set(query_terms(day)) <= set(known))))


def outer(asking: Asking) -> TimeWindow | None:
    """The window with the days around it in which a note may still be told of it."""
    if asking.window is None or asking.time is None or asking.window.event:
        return None
    return TimeWindow(*outer_window(asking.time), asking.window.words)


def of_that_time(
    asking: Asking, others: Sequence[Ranked], notes: Mapping[str, IndexedNote]
) -> tuple[list[Ranked], list[Ranked]]:
    """Of what is from other times: what names the time asked about, and what is from that month of another year.

    The former is worth as much as what is from that time. A month that is named without its year is that of any year,
    the latest first.
    """
    window = asking.window
    days = days_asked(window.days, window.words, openly=True) if window else None
    if window is None or days is None:
        return [], []
    telling, sooner = list[Ranked](), list[Ranked]()
    for item in (item for item in others if item.candidate.id in notes):
        note = notes[item.candidate.id].note
        if (said := tells_when(note, days)) and said.says == "then":
            telling.append(item._replace(score=item.score + asking.weights.time))
        elif is_of_the_same_months(days, window.words, moment(note.happened).date()):
            sooner.append(item)
    return telling, sorted(sooner, key=lambda item: item.candidate.happened, reverse=True)


def tells_of_then(asking: Asking, note: Note) -> bool:
    """Whether a note names the time that is asked about, whenever it was told."""
    days = days_asked(of.days, of.words, openly=True) if (of := asking.window) else None
    return days is not None and (said := tells_when(note, days)) is not None and said.says == "then"


def in_time(view: IndexView, asking: Asking, best: list[Ranked]) -> list[Ranked]:
    """The same, but of a past time first what was told by its end, or speaks of it."""
    end = asking.window.before if asking.window and asking.question.past else None
    if end is None:
        return best
    telling, _ = of_that_time(asking, best, view.notes(item.candidate.id for item in best))
    return told_by_then_first(best, end, {item.candidate.id for item in telling})


def hard_filter(asking: Asking) -> Filter | None:
    """The caller's filter, narrowed to the time that is asked for; None where that may only lean the order."""
    time = asking.time
    if time is None or not time.strict or not (time.after or time.before):
        return None
    return narrowed(asking.wanted, *outer_window(time))


def narrowed(wanted: Filter, after: str | None, before: str | None) -> Filter:
    """A filter that lets through only what is from this time as well."""
    return replace(
        wanted,
        after=max(filter(None, (after, wanted.after)), default=None),
        before=min(filter(None, (before, wanted.before)), default=None),
    )


def _around_event(view: IndexView, asking: Asking, time: TimeReading) -> TimeWindow | None:
    """As in "before the migration": a note that tells of the event, in the same spaces, says when that was.

    Where a list of all since then is asked for, the latest that tells of it does, even if only by when it was told.
    """
    wanted = Filter(asking.wanted.now, spaces=asking.wanted.spaces, include_outdated=True)
    event = _ARTICLE.sub("", time.event or "")
    found = view.search(event, None, wanted, EVENT_POOL, EVENT_TERMS).candidates
    likely = {item.id: item.coverage for item in found if item.coverage >= EVENT_COVERAGE}
    notes = {end: item.note for end, item in view.notes(likely).items()}
    dated = {end: note.happened for end, note in notes.items() if note.tells_when}
    if dated and not asking.lists_since:
        best = min(dated, key=lambda end: (-likely[end], notes[end].created, end))
        return _window(dated[best], best, time)
    if not asking.lists_since:
        return None
    if not notes and not BREAKDOWNS.isdisjoint(query_terms(event)):
        notes = of_form(view, wanted, INCIDENT)
    whens = {end: _day_of(note) for end, note in notes.items() if not _IS_DONE_TO.search(note.content) or end in dated}
    past = {end: when for end, when in whens.items() if when <= wanted.now}
    last = max(past, key=lambda end: (likely.get(end, 0.0), past[end], end), default=None)
    return _window(past[last], last, time) if last else None


def _day_of(note: Note) -> str:
    """When it was that a note tells of: its own time, the one day that its text names, else when it was told."""
    told = moment(note.created).date()
    named = {str(day) for day in _days_named(note.content, told)} if note.event_time is None else ()
    return f"{next(iter(named))}T00:00:00Z" if len(named) == 1 else note.happened


def _days_named(text: str, told: date) -> Iterator[date]:
    """The single days that a text names, which was written on `told`; not those of the week, which come round again."""
    for named in (each for part in days_told(text, told) for each in part.named):
        day = named.whole.first
        if day and day == named.whole.last and named.kind in ("day", "yesterday") and named.relation == "during":
            yield day


def _window(happened: str, note_id: str, time: TimeReading) -> TimeWindow:
    if time.apart is not None:
        day = moment(happened).date()
        days = Span(*(shift(day, count) for count in time.apart))
        return TimeWindow(*instants(days, UTC), time.words, note_id, days)
    match time.relation:
        case "before" | "until":
            return TimeWindow(None, happened, time.words, note_id)
        case "after" | "since":
            return TimeWindow(happened, None, time.words, note_id, Span(moment(happened).date(), None))
        case _:
            return TimeWindow(_days(happened, -EVENT_DAYS), _days(happened, EVENT_DAYS), time.words, note_id)


def _days(text: str, days: int) -> str:
    try:
        return instant(moment(text) + timedelta(days=days))
    except OverflowError:
        return text


def passes(item: IndexedNote, wanted: Filter) -> bool:
    """Whether the filter lets a note through, as the index would have it."""
    return not any(kept_out_by(item.note, wanted))


def kept_out_by(note: Note, wanted: Filter) -> Iterator[str]:
    """The arguments that keep a note out, each with what the note has instead."""
    if wanted.spaces and note.space not in wanted.spaces:
        yield f'spaces (it is in "{note.space}")'
    if wanted.types and note.type not in wanted.types:
        yield f"types (it is a {note.type})"
    if wanted.tiers and note.tier not in wanted.tiers:
        yield f"tiers (it is {note.tier})"
    if wanted.tags and set(map(tag_key, wanted.tags)).isdisjoint(map(tag_key, note.tags)):
        yield "tags"
    if wanted.after is not None and note.happened < wanted.after:
        yield f"created_after (it is of {note.happened[:10]})"
    if wanted.before is not None and note.happened > wanted.before:
        yield f"created_before (it is of {note.happened[:10]})"
    if not (wanted.include_outdated or note.is_current(wanted.now)):
        what = "being outdated" if note.is_outdated else f"being over since {(note.valid_until or '')[:10]}"
        yield f"{what} (include_outdated shows it)"


def of_form(view: IndexView, wanted: Filter, form: Form) -> dict[str, Note]:
    """The notes of a form that the filter lets through, but those of which the type says that they are of another."""
    notes = view.notes(view.beginning(form, wanted.spaces, wanted.now, MOST_OF_A_FORM))
    return {
        end: item.note
        for end, item in notes.items()
        if passes(item, wanted) and item.note.type in PLAIN_TYPES and has_form(form, item.note.content)
    }
