"""What a text says of days: those that it names, and what comes round on a weekday, as "choir every Tuesday"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from holdfast.model.note import Note, moment
from holdfast.model.when import spans
from holdfast.model.when.periods import PeriodPhrase, windows
from holdfast.model.when.questions import DATED, SOON, masked
from holdfast.model.when.spans import Span, composed, is_over, related, shift
from holdfast.model.words import regex

_WEEK = 7  # days
Says = Literal["then", "around", "elsewhen"]

_SAYS: Final[tuple[Says, ...]] = ("then", "around", "elsewhen")
_MOST_DAYS = 100
_NO_DAYS = frozenset("vague,about,ago,rolling,year,last year,quarter,the year,the quarter".split(","))  # noqa: SIM905
_IN_A_WHILE = frozenset({"in a while", "in a spell"})
_RECENT = timedelta(days=31)
_LENGTH = regex(rf"\b(?:{spans.LENGTHS})\b")
_OF_WHICH_YEAR = regex(rf"\d|\b(?:{spans.LAST}|{spans.THIS}|{spans.NEXT}|year|année|an|año)\b")
_NAMES = "|".join(sorted(spans.WEEKDAYS, key=len, reverse=True))
_TURN = regex(
    r"\b(?:every|each|jeden|jede|chaque|tous les|cada|todos los|los)(?P<second> (?:second|other|zweiten|2nd))? "
    rf"(?P<day>{_NAMES})s?\b|\b(?P<days>(?:{_NAMES})s)\b|\b(?P<part>{_NAMES}) (?:morning|evening|afternoon|night)s\b"
    rf"|(?:\A|[.!?] )(?P<is>{_NAMES})(?: (?:is|are|ist|sind|est|es)\b|'s \w+ (?:is|are)\b)"
)
_MOVED = regex(
    r"\b(?:moved|postponed|rescheduled|shifted|pushed|brought forward|verschoben|verlegt|reportée?s?|déplacée?s?"
    r"|(?:aplaz|retras|cambi)ad[oa]s?|movid[oa]s?)\b[^.;!?\n]{0,40}\Z"
)
_ENDS = regex(r"[.;!?\n]")
_NOT_THEN = regex(
    r"\b(?:no|never|not|except|closed|geschlossen|ferm[ée]e?s?|cerrad[oa]s?|keine?|nie|nicht|ausser|pas|jamais|sauf|nunca|salvo)\b"
)


@dataclass(frozen=True, slots=True)
class DaysAsked:
    """The days that a question asks of, few enough to compare them with those that a note names.

    With `openly` it asks for whatever is then; else it names a day, and what a note says of its month holds then too.
    """

    first: date
    last: date
    openly: bool

    @property
    def span(self) -> Span:
        return Span(self.first, self.last)


def days_asked(span: Span, words: str, *, openly: bool) -> DaysAsked | None:
    """Those of a question whose words of time are `words`; None where it names no days, or too many."""
    first, last = span.first, span.last
    if first is None or last is None or (last - first).days > _MOST_DAYS:
        return None
    names_a_day = first == last and re.search(r"\d", words) is not None
    return DaysAsked(first, last, openly) if openly or names_a_day else None


def is_of_the_same_months(asked: DaysAsked, words: str, day: date) -> bool:
    """Whether a day of another year lies in the months that are asked about, if no word says of which year they are."""
    months = {spans.shift(asked.first, count).month for count in range((asked.last - asked.first).days + 1)}
    named = not spans.NAMED.isdisjoint(spans.day_names(words)) and _OF_WHICH_YEAR.search(spans.lowered(words)) is None
    return named and day.month in months and not asked.first <= day <= asked.last


class Said(NamedTuple):
    """What a text says of the days that are asked about, the days that it names for it, and whether they come round."""

    says: Says
    days: Span
    comes_round: bool = False


def says_when(text: str, told: date, asked: DaysAsked) -> Said | None:
    """What a text that was written on `told` says of the days asked about.

    "then": it names days among them. "around": a longer time that they are in, or one that reaches over them, as "until
    20 December" does. "elsewhen": other times alone. None where it names no time. A day without its year is of any
    year from then on, unless it tells of one that was lately. What comes round ("on Saturdays, from May to July") is
    of each such day of its time.
    """
    found: dict[Says, Said] = {}
    for part in days_told(text, told):
        for named, over in part.phrases:
            for each in _each_time(named, told, asked, over=over):
                found.setdefault(_grade(each, asked), Said(_grade(each, asked), each.whole))
        for day in days_of_turns(part.turns, part.named, max(told, asked.first), asked.last) if part.turns else ():
            found.setdefault("then", Said("then", Span(day, day), comes_round=True))
    return next((found[says] for says in _SAYS if says in found), None)


class DaysTold(NamedTuple):
    """The days that a part of a text names, what comes round, and the days apart from that, told as over or not."""

    named: Sequence[PeriodPhrase]
    turns: Sequence[Turn]
    phrases: Sequence[tuple[PeriodPhrase, bool]]


@lru_cache(2048)  # a time is asked of the nearest notes, and several times while one question is answered
def days_told(text: str, told: date) -> tuple[DaysTold, ...]:
    """The days of a text that was written on `told`, part by part."""
    return tuple(_days_of_part(part, told) for part in spans.parts_that_name_days(text))


def _days_of_part(part: str, told: date) -> DaysTold:
    named, turns = settled(spans.lowered(part), windows(masked(part), told)), turns_in(spans.lowered(part))
    own = (each for each in named if each.kind not in _NO_DAYS and not (turns and each.whole.first != each.whole.last))
    return DaysTold(named, turns, [(each, _is_told_as_over(part, each)) for each in own])


def _is_told_as_over(part: str, named: PeriodPhrase) -> bool:
    near = spans.lowered(spans.around(part, named.start, named.end))
    return is_over(near) or (named.kind in _IN_A_WHILE and _LENGTH.search(near) is not None)


def tells_when(note: Note, asked: DaysAsked) -> Said | None:
    """What a note says of the days asked about, which was written when it was made."""
    return says_when(f"{note.title}\n{note.content}", moment(note.created).date(), asked)


def other_days(note: Note, asked: DaysAsked) -> str:
    """What days a note names in place of those that are asked about, as "11 December, not 12 December"; else empty.

    They have their years where these differ; of a day without its year that is the question's. One that happened then,
    or was told then, speaks of them all the same, as does one that names them in another way: "until March".
    """
    if asked.first.isoformat() <= note.happened[:10] <= asked.last.isoformat():
        return ""
    said = tells_when(note, asked)
    if said is None or said.says == "then" or (said.says == "around" and not asked.openly):
        return ""
    years = spans.years_of(said.days) != spans.years_of(asked.span)
    theirs, mine = (spans.named(each, years=years) for each in (said.days, asked.span))
    return f"{theirs}, not {mine}" if theirs != mine else ""


def _grade(named: PeriodPhrase, asked: DaysAsked) -> Says:
    first, last = named.whole.first or date.min, named.whole.last or date.max
    among = asked.first <= first and last <= asked.last
    touches = first <= asked.last and asked.first <= last
    yearly = named.kind == "day" and (first.month, first.day) == (asked.first.month, asked.first.day)
    is_deadline = named.kind == "part" and named.relation in ("before", "until") and asked.first <= last <= asked.last
    if (
        (touches and named.kind in ("day", "weekday", "yesterday"))
        or (among and named.relation == "during")
        or is_deadline
    ):
        return "then"
    begin, end = named.span.first or date.min, named.span.last or date.max
    return "around" if touches or yearly or (begin <= asked.last and asked.first <= end) else "elsewhen"


def _each_time(named: PeriodPhrase, told: date, asked: DaysAsked, *, over: bool) -> Iterator[PeriodPhrase]:
    """The times that are meant by a name: of a weekday the last or the next, of a day without its year each year's."""
    first, last, again = named.whole.first, named.whole.last, named.again
    if named.kind in _IN_A_WHILE:
        yield from () if over else _in_a_while(named, asked)
    elif first is None or last is None or again is None or (over and last <= told <= last + _RECENT):
        yield named
    elif named.kind in SOON:
        yield named if over or last >= told else _moved_to(named, again(1))
    elif named.rank == DATED:
        yield named
    else:
        for year in sorted(range(asked.first.year - 1, asked.last.year + 1), reverse=True):  # the question's own first
            if year >= told.year - 1:
                yield _moved_to(named, again(year - first.year))


def _in_a_while(named: PeriodPhrase, asked: DaysAsked) -> Iterator[PeriodPhrase]:
    """The day that "in a week" means, where it is asked about: else it rather tells how long something takes."""
    first, last = named.whole.first or date.min, named.whole.last or date.max
    day = spans.shift(first, (last - first).days // 2)
    if (last - first).days < _WEEK and asked.first <= day <= asked.last:
        yield replace(_moved_to(named, Span(day, day)), kind="day")


def _moved_to(named: PeriodPhrase, whole: Span | None) -> PeriodPhrase:
    return replace(named, whole=whole, span=related(whole, named.relation)) if whole else named


class Turn(NamedTuple):
    """A day of the week, 0 for Monday, on which something comes round `every` so many weeks."""

    weekday: int
    every: int


def turns_in(plain: str) -> list[Turn]:
    """Those that a lower-case text names; none where it says what there is not then."""
    if _NOT_THEN.search(plain):
        return []
    found = [
        (each["day"] or each["days"] or each["part"] or each["is"], each["second"]) for each in _TURN.finditer(plain)
    ]
    days = [(spans.WEEKDAYS.get(name, spans.WEEKDAYS.get(name.removesuffix("s"))), second) for name, second in found]
    return [Turn(day, 2 if second else 1) for day, second in days if day is not None]


def days_of_turns(turns: Sequence[Turn], phrases: Sequence[PeriodPhrase], first: date, last: date) -> Iterator[date]:
    """The days from `first` to `last` on which something comes round, in order.

    They are within the times that the phrases name beside it, and counted from a day that one of them names.
    """
    known = [list(_of_each_year(each)) for each in phrases]
    times = [[span for span in each if span[0] != span[1]] for each in known]
    named = [one for each in known for one, end in each if one == end]
    for day in (shift(first, count) for count in range((last - first).days + 1)):
        is_in_time = all(any(begin <= day <= end for begin, end in each) for each in times if each)
        for turn in turns if is_in_time else ():
            counted = [one for one in named if one.weekday() == turn.weekday]
            is_its_week = not counted or (day - counted[0]).days % (turn.every * _WEEK) == 0
            if day.weekday() == turn.weekday and is_its_week:
                yield day


def _of_each_year(named: PeriodPhrase) -> Iterator[tuple[date, date]]:
    """A time that comes round again: as it was read, and the next one."""
    for span in (named.whole, named.again(1) if named.again else None):
        if span and span.first and span.last:
            yield span.first, span.last


def settled(plain: str, phrases: Sequence[PeriodPhrase]) -> list[PeriodPhrase]:
    """The same, but a weekday behind a week is that week's, and what was moved from one day to another is on that.

    As in "next week the plumber comes, on Thursday", "the dentist was moved from 10 to 17 June"; `plain` is the text.
    """
    found: list[PeriodPhrase] = []
    week: PeriodPhrase | None = None
    for named in phrases:
        week = named if named.kind == "week" else week
        is_days = named.kind in ("day", "weekday")
        if week and named.kind == "weekday" and not _ENDS.search(plain, week.end, named.start):
            day = _day_in(week, named)
            found.append(replace(named, span=day, whole=day, kind="day", again=None))
        elif is_days and named.whole.first != named.whole.last and _MOVED.search(plain, 0, named.start):
            day = _end_of(named.whole)
            found.append(replace(named, span=day, whole=day, again=composed(named.again, _end_of)))
        else:
            found.append(named)
    return found


def _day_in(week: PeriodPhrase, named: PeriodPhrase) -> Span:
    first, day = week.whole.first, named.whole.first
    return Span(*[shift(first, day.weekday())] * 2) if first and day else named.whole


def _end_of(span: Span) -> Span:
    return Span(span.last, span.last)
