"""What a question says about time: a window of days, an event to look up, or that it asks for what was true then.

Silence over noise: a word is time only where its neighbours make it so ("in May", not "may I"). Numbers that name
things (ports, versions, codes), anything that is not prose (paths, code, quotations, log lines) and what comes round
again ("every Monday") are no time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Literal, cast

from holdfast.model.note import instant, moment
from holdfast.model.when import spans
from holdfast.model.when.periods import PeriodPhrase, windows
from holdfast.model.when.spans import Span, is_over, related
from holdfast.model.words import languages_of, own_lines, regex

_LETTERS = r"[^\W\d_]"
_PLAIN = regex(
    rf"{_LETTERS}+(?:['-]{_LETTERS}+)*'?|(?:mid|early|late)-\d{{4}}|\d{{1,3}}(?:st|nd|rd|th|er)?|\d{{1,2}}-\d{{1,2}}|"
    r"\d{4}(?:-\d\d(?:-\d\d)?|/\d\d/\d\d)?(?:'s)?|\d{4}-?w\d\d|\d{4}-?q[1-4]|q[1-4](?:[/-]?\d{4})?|"
    r"h[12](?:[/-]\d{4})?|\d{1,2}([/.])\d{1,2}\1\d{4}|\W*",
    re.IGNORECASE,
)
_SHORT_DAY = regex(rf"\d{{1,2}}(?:/\d{{1,2}}|\.\d{{1,2}}\.)[{re.escape(spans.EDGES)}]*")
_TOKEN = regex(r"[^\s,;]+")
_PART_HYPHEN = regex(r"\b(mid|early|late|mi)-(?=\w)")
_QUOTED = regex(r"`[^`]*`|\"[^\"]*\"|(?<!\w)'[^']*'(?!\w)|(?<!\S)--[\w-]+(?:[ =]\S+)?")
_TYPEWRITTEN = str.maketrans("\u2018\u2019\u2013", "''-")


def masked(line: str) -> str:
    """Lower case of the same length, with NULs for whatever is not a word, a number or a date."""
    text = _QUOTED.sub(lambda quoted: "\0" * len(quoted.group()), spans.lowered(line).translate(_TYPEWRITTEN))
    text = _TOKEN.sub(lambda token: token.group() if _is_plain(token.group()) else _blank(token), text)
    text = _PART_HYPHEN.sub(r"\1 ", re.sub(r"\s", " ", text))
    return _ALSO_WORD.sub(lambda word: word.group() if _is_time(word, line) else _blank(word), text)


def _is_plain(token: str) -> bool:
    return "()" not in token and bool(_PLAIN.fullmatch(token.strip(spans.EDGES)) or _SHORT_DAY.fullmatch(token))


def _blank(match: re.Match[str]) -> str:
    return "\0" * len(match.group())


# "may" and "march" are verbs, "mars" is a planet, unless their neighbours make them months; "hier" is German too.
_ALSO_WORD = regex(r"\b(?:may|march|mars|hier(?! soir\b| matin\b))\b")
_SURE_BEFORE = regex(
    r"(?:\b(?:in|last|next|early|mid|late|since|until|till|between|(?:end|start|beginning|middle|week) of)|"
    r"\d(?:st|nd|rd|th)(?: of)?|\b(?:between|from) \S+(?: \S+)? (?:and|to|through)) $"
)
_SURE_BEHIND = regex(
    r",? (?:of )?(?:19|20)\d\d\b|\.? \d{1,2}(?:st|nd|rd|th)\b|\.? \d{1,2}(?:-\d{1,2})?,? (?:19|20)\d\d\b"
)
_LIKELY_BEFORE = regex(r"\b(?:this|before|after|by|for|of|from|during|and|or|to|through|the|on|around|\d{1,2}) $")
_ENDS = regex(r"(?:\.? \d{1,2})?\s*(?:$|[?.!,;:)]|'s\b|(?:to|until|through|and|-) \d)")
_MARS_BEFORE = regex(r"\b(?:en|de|du|début|fin|mi|depuis|avant|après|\d{1,2}|1er) $")


def _is_time(word: re.Match[str], line: str) -> bool:
    """Whether `word` of the lowered `line` is yesterday, or a month: a capital tells, but not at the beginning."""
    before, behind = word.string[: word.start()], word.string[word.end() :]
    if word.group() == "hier":
        return languages_of(line) == (_FRENCH,)
    if word.group() == "mars":
        return bool(_MARS_BEFORE.search(before))
    if _SURE_BEFORE.search(before) or _SURE_BEHIND.match(behind):
        return True
    dated = bool(re.match(r"\.? \d{1,2}\b", behind))
    marked = (line[word.start()].isupper() and bool(before.strip())) or bool(_ENDS.match(behind))
    return marked and (dated or bool(_LIKELY_BEFORE.search(before)))


Relation = Literal["before", "after", "since", "until", "during"]
_ALWAYS = Span(None, None)

# Expressions that say which days are meant, and how many days outside a note may still be told of them: what happens on
# a day is often written down a day or two later. All others only lean the ranking; "last year" and "two years ago" too,
# because they mostly speak of what is in a note and not of when it was written.
_SLACK = {
    "day": 3, "week": 3, "month": 7, "quarter": 14, "year": 31, "season": 14,
    "today": 0, "yesterday": 1, "weekday": 1, "ago": 0, "rolling": 0, "date": 3, "holiday": 3,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TimeReading:
    """A question's time.

    `after` and `before` are canonical instants, both inclusive; None is open. `words` is the part of the question that
    was read, as it stands there. `past`: it asks for what was true then, so what was written earlier and still held,
    or no longer holds, answers it too. `event` is what `relation` relates to where that is no date ("the migration").
    `first`: of all that was true once, it asks for what was so at the very first.
    `strict`: the window, widened by `slack` days, is explicit enough to leave out what is outside; else it should only
    lean the ranking. `ahead`: it asks for what is yet to be, so a month without a year is the one that comes.
    `kept`: its words are looked for all the same: "which customers pay in 30 days?"
    `coming`: the window that would come next of a month, a season or a weekday that is over, where no verb says that
    this one is meant: None where there is no such doubt.
    `apart` is how many days before or after the event begin and end, as in "the day before the migration".
    `days` and `coming_days` are the days of both windows, in the zone of who asks.
    """

    after: str | None
    before: str | None
    words: str
    past: bool
    event: str | None
    relation: Relation | None
    strict: bool
    slack: int
    ahead: bool = False
    first: bool = False
    kept: bool = False
    coming: tuple[str | None, str | None] | None = None
    days: Span = _ALWAYS
    coming_days: Span = _ALWAYS
    apart: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class _Event:
    start: int
    end: int
    name: str
    relation: Relation
    named: bool
    past: bool
    apart: tuple[int, int] | None = None


def read_time(query: str, asked: datetime) -> TimeReading | None:
    """Reads the time that `query` speaks of; None where it speaks of none. Days are those of `asked`'s own zone."""
    for line in own_lines(query):
        if reading := _read_line(line, asked if asked.tzinfo else asked.replace(tzinfo=UTC)):
            return reading
    return None


def asks_back(query: str) -> bool:
    """Whether it asks in the past tense for how something was or what was done, whenever that may have been."""
    return any(_BEFORE_NOW.search(_GERMAN_WHAT.sub(_spaces, line).lower()) for line in own_lines(query))


def looking_ahead(reading: TimeReading) -> TimeReading:
    """The reading with the window that comes next, of one whose `coming` says which that is."""
    after, before = reading.coming or (reading.after, reading.before)
    days = reading.coming_days if reading.coming else reading.days
    ahead = replace(reading, after=after, before=before, past=False, strict=False, ahead=True, coming=None)
    return replace(ahead, days=days, kept=False)


def outer_window(reading: TimeReading) -> tuple[str | None, str | None]:
    """`after` and `before` with the slack added: the hard window of a strict reading."""
    return _moved(reading.after, -reading.slack), _moved(reading.before, reading.slack)


def _moved(text: str | None, days: int) -> str | None:
    try:
        return text and instant(moment(text) + timedelta(days=days))
    except OverflowError:
        return text


def without_time(query: str, reading: TimeReading) -> str:
    """The query without the words that were read as time; an event's name stays. Never empty: else the query itself."""
    start = query.find(reading.words)
    if start < 0 or reading.kept:
        return query
    rest = f"{query[:start]} {reading.event or ''} {query[start + len(reading.words) :]}"
    rest = " ".join(re.sub(r"\s['\u2019]s\b", "", rest).split())
    rest = re.sub(r"\s([?.!,;:])", r"\1", rest).lstrip(",;:. ")
    return rest if re.search(r"\w", rest) else query


_BETWEEN = regex(r"(?P<open>[\s,]*\()?[\s,]*(?:(?:so|that is|from) )?")  # a time and the same in other words
_MOST_BETWEEN = 12  # signs


def said_once(query: str, reading: TimeReading, now: datetime) -> tuple[TimeReading, str]:
    """The time, and the query without it; as one where it is named twice, as in "next week, 7 to 13 December".

    Of days that come round again those are meant that the other words name.
    """
    start = query.find(reading.words)
    if reading.event or reading.kept or start < 0 or reading.days.last is None:
        return reading, without_time(query, reading)
    end = start + len(reading.words)
    again = read_time(f"{query[:start]}{' ' * (end - start)}{query[end:]}", now)
    same = (reading.days, reading.coming_days) if reading.coming else (reading.days,)
    if again is None or again.days.last is None or again.days not in same:
        return reading, without_time(query, reading)
    at = query.find(again.words)
    (first, between), (behind, last) = sorted(((start, end), (at, at + len(again.words))))
    found = _BETWEEN.fullmatch(query[between:behind]) if at >= 0 and 0 <= behind - between <= _MOST_BETWEEN else None
    if found is None:
        return reading, without_time(query, reading)
    last += bool(found["open"]) and query[last : last + 1] == ")"
    whole = replace(reading if again.days == reading.days else again, words=query[first:last])
    return whole, without_time(query, whole)


_PRONOUN = r"(?:we|i|you|they|he|she|it|somebody|someone|people)"
_HAPPENED = (
    r"\w+ed\b|went|got|left|began|bought|took|made|wrote|built|broke|rose|fell|grew|became|gave|sold|came"
    r"|(?:cut|put|set)\b"
)
# Of these those that may as well be of the present, and the beginnings of a clause that leave that open.
_ALSO_NOW, _UNSURE = frozenset({"cut", "put", "set"}), frozenset({"bevor", "avant qu", "antes de que"})
_FIRST_WAS = regex(r"\A\W*was\b")  # which asks, in German
_EVENTS = (
    regex(
        r"(?<![\w'-])(?:(?:right|just|shortly|soon) )?"
        r"(?P<word>before|prior to|after|since|until|till|during|on the night of|on the day of) "
        rf"(?:(?P<clause>{_PRONOUN} (?:had |was |were |got )?(?={_HAPPENED}))|"
        r"(?P<article>the |our |my |his |her |their |that ))?"
    ),
    regex(
        r"(?<![\w'-])(?P<word>vor|nach|seit|avant|après|depuis|während|pendant|durante|antes del?|después del?|desde)"
        r"(?P<clause>\0)? (?P<article>(?<=del )|dem |der |unserem |unserer |la |le |l'|el |nuestra )"
    ),
    regex(  # "bevor sie erhöht wurde", "avant qu'ils l'augmentent", "antes de que lo subieran"
        r"(?<![\w'-])(?P<word>bevor|avant qu|antes de que)(?P<article>\0)?"
        r"(?P<clause>(?:'|e)? ?(?:(?:sie|er|es|man|wir|ich|ils?|elles?|on|nous|je|tu|lo|la|los|las|se|nos|me) )*)"
    ),
)
_BEFORE_A_NAME = regex(r"(?<![\w'-])(?P<word>vor|avant|antes de|prima di)(?P<clause>\0)?(?P<article>\0)? ")
_DURATION = regex(r"\b(?:how (?:long|many \w+|much|soon)|\d+|seconds?|minutes?|hours?|days?|weeks?|months?|years?)\s*$")
_NEXT_TO = regex(  # "the day before the move"
    r"(?<![\w'-])(?:(?:on|in|from) )?(?:the|am|der|in der|le|la|el) (?P<unit>day|week|month|tag|woche|monat|jour|"
    r"semaine|mois|día|semana|mes) \Z"
)
_NO_TIME = regex(r"\b(?:look(?:s|ed|ing)?|takes?|took|named) \Z")  # "who looks after the warehouse?"
_A_NAME = regex(r"\b(?:which|the|an?|our|my|your) \Z")  # "the till system"
_CLAUSE = regex(r" (?:can|could|will|would|is|are|has|have|may|must|should)\b")
_HABIT = regex(r"\w+ing\b|\W*\d(?![\d.,]*\s?(?:€|%|euros?\b|dollars?\b|pounds?\b|percent\b|[kmgt]b\b))")
_TURNING_POINT = regex(rf"\b(?:{spans.TURNING_POINTS})\b")


def _event(text: str, line: str) -> _Event | None:
    """As in "before the migration", "after we moved to Postgres"; what is done again ("before pushing") is none.

    What was before it is past where the question says so, or where the event is one that turns things.
    """
    named_so = (found for found in _BEFORE_A_NAME.finditer(text) if line[found.end() : found.end() + 1].isupper())
    events = (found for pattern in _EVENTS for found in pattern.finditer(text))
    for match in (*events, *(named_so if _WAS_SO.search(text) else ())):
        article, clause = match["article"], match["clause"]
        name = _event_name(line[match.end() :], clause=bool(clause))
        relation = cast("Relation", spans.RELATIONS.get(match["word"], "during"))
        named = bool(article or clause or match["word"].endswith("del"))
        before = text[: match.start()]
        apart = _NEXT_TO.search(before) if named and relation in ("before", "after") else None
        if not name or _CLAUSE.match(text, match.end() + len(name)) or (_DURATION.search(before) and not apart):
            continue
        if not named and (relation == "since" or _HABIT.match(name) or _A_NAME.search(before)):
            continue
        if name.lower() in spans.HOLIDAYS or (match["word"] == "after" and _NO_TIME.search(before)):
            continue
        end = match.end() + len(name)
        rest = before + text[end:]
        rest = _FIRST_WAS.sub("", rest) if match["word"] == "bevor" else rest
        in_past = _PAST_TENSE.search(rest) or _WAS_SO.search(rest) or (clause and _VERB_OF_BEFORE.search(rest))
        over = bool(in_past) or (named and bool(_TURNING_POINT.search(name.lower())))
        if not in_past and (match["word"] in _UNSURE or name.split()[0] in _ALSO_NOW):
            continue
        whole = line[match.start("article") if article else match.end() : end]
        start, near = (apart.start(), _days_apart(apart, relation)) if apart else (match.start(), None)
        return _Event(start, end, whole, relation, named, over and relation in ("before", "until"), near)
    return None


def _days_apart(match: re.Match[str], relation: Relation) -> tuple[int, int]:
    """Of "the week before" the seven days up to an event, of "the day after" the one behind it."""
    days = spans.UNIT_DAYS[spans.UNITS[match["unit"]]]
    return (-days, -1) if relation == "before" else (1, days)


def _event_name(line: str, *, clause: bool) -> str | None:
    """The first words of `line` up to a verb, a preposition or a stop; a clause, or a move, may go on over "to"."""
    end = 0
    onward = clause
    for count, token in enumerate(re.finditer(r"\S+", line)):
        word = token.group().strip(spans.EDGES)
        stops = word.lower() in spans.STOPS and not (onward and word.lower() in ("to", "from", "off"))
        if not word or stops or count == _EVENT_WORDS:
            break
        end = token.start() + token.group().find(word) + len(word)
        onward |= bool(_TURNING_POINT.fullmatch(word.lower()))
        if token.group()[-1] in "?,;:.!":
            break
    return line[:end] if re.search(r"\w", line[:end]) else None


_UNSPACED_MARK = regex(f"{spans.UNSPACED_FIRST_MARKS}|{spans.UNSPACED_PAST_MARKS}")
_FIRST_MARK = regex(rf"(?<![\w'-])(?:{spans.FIRST_MARKS})(?![\w-])|{spans.UNSPACED_FIRST_MARKS}")
_PAST_MARK = regex(rf"(?<![\w'-])(?:{spans.PAST_MARKS})(?![\w-])")
_MARK_BESIDE_VERB = regex(rf"(?<![\w'-])(?:{spans.PAST_MARKS_BESIDE_VERB})(?![\w-])")
_VERB_OF_BEFORE = regex(rf"\b(?:{spans.VERBS_OF_BEFORE})\b")
_PAST_TENSE = regex(rf"\b(?:{spans.PAST_VERBS})\b")
_GERMAN_WHAT = regex(rf"^\W*was(?= (?:{spans.GERMAN_BEHIND_WHAT})\b)", re.IGNORECASE)
_LEAVE = regex(spans.ASKS_LEAVE)
_GERMAN_HAPPENS = regex(r"\A\W*passiert\b")  # "was passiert im Mai?" is of the present, without its first word
_LATER = regex(rf"\b(?:{spans.DUE})\b|{spans.FUTURE}")
_LATER_BEHIND = regex(r"\b(?:fällig\w*|geplant|prévue?s?|previst[oa]s?|pendientes?)\b")
_WAS = regex(rf"\b(?:{spans.WAS})\b")
_WAS_SO = regex(rf"\b(?:{spans.BEFORE_NOW}|{spans.PAST_ENDINGS})\b|\A\W*(?:w\w+|welche\w* \w+) \w{{2,}}te[nt]?\b")
_DUTY = regex(rf"\b(?:{spans.DUTIES})\b")
_BACK = regex(rf"\b(?:about|know|remember|from|that|which|after|since|(?<!be )\w+ed|{spans.PAST_VERBS})\b")
_HELD = regex(
    r"\b(?:do|does|may|can|could) \w+ have\b|\bhave (?:i|we|you|they)(?: got)?\b(?! \w+(?:ed|en)\b)"
)  # no past
_BEFORE_NOW = regex(rf"\b(?:{spans.BEFORE_NOW})\b")
_STATE = regex(
    r"\b(?:what|which|who|where|how)\b.*\b(?:was|were)\b (?:the|our|my|a|an|we|i)\b|"
    r"\bdid\b.*\b(?:run|use|have|handle|keep|store|live|cost|work|look|host|own|pay|need|like|get paid)\b"
)

_RELATIVE = regex(r"(?<!did )(?<!what )(?<!have )\b(?:we|i|you|they|he|she) \w+ $")  # "the target we set in June"
_SAID_OF = regex(
    r"(?<!will )(?<!shall )(?<!should )(?<!may )(?<!can )(?<!could )(?<!must )\b(?:we|i|you|they|he|she) \w+ $"
)
_MODAL = regex(r"\b(?:may|can|could|should|shall|must|would)\b")
_MOST_TIMES = 60  # that a day comes round again until it is one that comes: 29 February, and a question years later
_ENDS_OF_TIME = (date.min, date.max)
_FRENCH = 2  # as `languages_of` counts
DATED = 3  # the rank of a period with its year
SOON = frozenset({"weekday", "the weekend", "date"})  # kinds that are of the nearest time
_EVENT_WORDS = 6


def _read_line(line: str, asked: datetime) -> TimeReading | None:
    line = _GERMAN_WHAT.sub(_spaces, line)  # it is no verb
    text = masked(line)
    event = _event(text, line)
    named = (each for each in windows(text, asked.date()) if each.kind != "in a spell")
    surest = max(named, key=lambda each: each.rank, default=None)  # the first of them
    verbs = _ALSO_WORD.sub(lambda word: _spaces(word) if _is_time(word, line) else word.group(), spans.lowered(line))
    window = None if surest and surest.kind == "today" and _MODAL.search(verbs) else surest
    mark = _mark(text) or _UNSPACED_MARK.search(line)
    later = _LATER.search(verbs) or _LEAVE.match(verbs)
    ahead = later is not None and not mark and not _WAS.search(line.lower())
    if window and ((ahead and _looks_ahead(verbs, window.start)) or _is_until_then(line, window, asked)):
        window, ahead = _coming(window, asked.date()), True
    if event and window and window.start < event.start and event.end <= window.end:  # "the weekend before Easter"
        event = None
    if event and window and event.start <= window.start <= event.end + 1:
        if window.start == event.start and (window.end >= event.end or window.rank == DATED or not event.named):
            event = None
        else:
            window = _around(event, window)
    if window is None and event:
        window = PeriodPhrase(event.start, event.end, _ALWAYS, _ALWAYS, "event", 0)
    if window is None and mark:
        window = PeriodPhrase(*_span_of(mark), _ALWAYS, _ALWAYS, "mark", 0)
    return _reading(line, asked, window, event, marked=bool(mark), ahead=ahead) if window else None


def _spaces(match: re.Match[str]) -> str:
    return " " * len(match.group())


def _mark(text: str) -> re.Match[str] | None:
    """What asks for how something was, without saying when."""
    found = _FIRST_MARK.search(text) or _PAST_MARK.search(text)
    return found or (_MARK_BESIDE_VERB.search(text) if _VERB_OF_BEFORE.search(text) else None)


def _span_of(mark: re.Match[str]) -> tuple[int, int]:
    """Of "we used to" only the last two words, which a note does not have."""
    return mark.span(mark.lastgroup or 0)


def _looks_ahead(line: str, start: int) -> bool:
    """Whether a period is that of what comes: not in "what should I know about June", "due that we decided in June"."""
    words = [found for found in (*_LATER.finditer(line, 0, start), _LEAVE.match(line)) if found]
    line = _HELD.sub(_spaces, line)
    if not words:
        return bool(_LATER_BEHIND.search(line, start)) and not _BACK.search(line, 0, start)
    behind = max(found.end() for found in words)
    return not _BACK.search(line, behind, start) and not _SAID_OF.search(line[:start])


def _is_until_then(line: str, window: PeriodPhrase, asked: datetime) -> bool:
    """As in "what do I have to do before Monday?": no weekday is meant that is over."""
    is_over_by_now = window.whole.last is not None and window.whole.last < asked.date()
    is_until = window.kind in SOON and window.relation in ("before", "until") and is_over_by_now
    return is_until and _DUTY.search(line.lower()) is not None


def _coming(window: PeriodPhrase, today: date) -> PeriodPhrase:
    """As in "what is due in December?", "before Friday": what comes round again, if over, is that of next time.

    That is a month, a season or a day without its year, and a weekday. What is before it begins today.
    """
    whole = _next_one(window, today)
    if whole.last is None or whole.last < today:
        return window
    span = related(whole, window.relation)
    if span.last is not None and span.last < today:  # "before this month"
        return window
    if window.relation in ("before", "until"):
        span = Span(today, span.last)
    return replace(window, span=span, whole=whole) if span != window.span else window


def _next_one(window: PeriodPhrase, today: date) -> Span:
    whole, again = window.whole, window.again
    if again is None or whole.last is None or whole.last >= today:
        return whole
    if window.relation == "since" or window.rank == DATED:
        return whole
    found = (again(count) for count in range(_MOST_TIMES))
    return next((each for each in found if each and each.last and each.last >= today), whole)


def _next_time(line: str, window: PeriodPhrase, asked: datetime) -> PeriodPhrase | None:
    """The window of the next time, where one is over that comes round again, and nothing says that it was meant."""
    if is_over(_GERMAN_HAPPENS.sub("", line.lower())) or _WAS.search(line.lower()):
        return None
    coming = _coming(window, asked.date())
    return None if coming.span == window.span else coming


def _instants(window: PeriodPhrase, asked: datetime) -> tuple[str | None, str | None]:
    """The days of a window; what is to come before a day begins now, and not with what was noted this morning."""
    after, before = spans.instants(window.span, asked.tzinfo or UTC)
    is_to_come = window.relation in ("before", "until") and window.span.first == asked.date() not in _ENDS_OF_TIME
    return (instant(asked) if is_to_come else after), before


def _around(event: _Event, window: PeriodPhrase) -> PeriodPhrase:
    """As in "before the August move", "after the upgrade in July": the month bounds what relates to the event."""
    first, last, is_behind = window.whole.first, window.whole.last, event.relation in ("after", "since")
    first, last = None if event.relation in ("before", "until") else first, None if is_behind else last
    return replace(window, start=event.start, end=max(event.end, window.end), span=Span(first, last), kind="event")


def _reading(
    line: str, asked: datetime, window: PeriodPhrase, event: _Event | None, *, marked: bool, ahead: bool
) -> TimeReading:
    after, before = _instants(window, asked)
    last = window.span.last
    over = last is not None and last < asked.date() and window.kind != "event" and not ahead
    again = None if ahead or marked or event else _next_time(line, window, asked)
    return TimeReading(
        after=after,
        before=before,
        words=line[window.start : window.end],
        past=over or marked or (event is not None and event.past),
        event=event.name if event else None,
        relation=event.relation if event else None,
        strict=not ahead and _is_strict(line, window, asked.date()),
        slack=_SLACK.get(window.kind, 0) if window.relation == "during" else 0,
        ahead=ahead,
        first=marked and bool(_FIRST_MARK.search(line.lower())),
        kept=window.kind == "in a while",
        coming=_instants(again, asked) if again else None,
        apart=event.apart if event else None,
        days=window.span,
        coming_days=again.span if again else _ALWAYS,
    )


def _is_strict(line: str, window: PeriodPhrase, today: date) -> bool:
    """Explicit, and asked of what was noted then: not of plans, of the state of things, or of today as such."""
    text = spans.lowered(line)
    if window.kind not in _SLACK or _LATER.search(text):
        return False
    if window.relation == "during" and (
        window.kind == "holiday" or _STATE.search(text) or _RELATIVE.search(text[: window.start])
    ):
        return False
    first, last = window.span.first, window.span.last
    if first is not None and first > today:
        return False
    over = last is None or last < today or window.kind in ("rolling", "ago")
    return (over and window.kind != "weekday") or window.relation == "since" or bool(_PAST_TENSE.search(text))
