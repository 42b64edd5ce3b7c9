"""What comes round on a day of the week, as "choir every Tuesday"; and what other words make of the days of a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from typing import NamedTuple

from holdfast.model.when import spans as say
from holdfast.model.when.periods import PeriodPhrase
from holdfast.model.when.spans import Span, composed, shift
from holdfast.model.words import regex

_WEEK = 7  # days
_NAMES = "|".join(sorted(say.WEEKDAYS, key=len, reverse=True))
_TURN = regex(
    r"\b(?:every|each|jeden|jede|chaque|tous les|cada|todos los|los)(?P<second> (?:second|other|zweiten|2nd))? "
    rf"(?P<day>{_NAMES})s?\b|\b(?P<days>(?:{_NAMES})s)\b"
)
_MOVED = regex(
    r"\b(?:moved|postponed|rescheduled|shifted|pushed|brought forward|verschoben|verlegt|reportée?s?|déplacée?s?"
    r"|(?:aplaz|retras|cambi)ad[oa]s?|movid[oa]s?)\b[^.;!?\n]{0,40}\Z"
)
_ENDS = regex(r"[.;!?\n]")
_NOT_THEN = regex(
    r"\b(?:no|never|not|except|closed|geschlossen|ferm[ée]e?s?|cerrad[oa]s?|keine?|nie|nicht|ausser|pas|jamais|sauf|nunca|salvo)\b"
)


class Turn(NamedTuple):
    """A day of the week, 0 for Monday, on which something comes round `every` so many weeks."""

    weekday: int
    every: int


def turns_in(plain: str) -> list[Turn]:
    """Those that a lower-case text names; none where it says what there is not then."""
    if _NOT_THEN.search(plain):
        return []
    found = [(each["day"] or each["days"], each["second"]) for each in _TURN.finditer(plain)]
    days = [(say.WEEKDAYS.get(name, say.WEEKDAYS.get(name.removesuffix("s"))), second) for name, second in found]
    return [Turn(day, 2 if second else 1) for day, second in days if day is not None]


def days_of_turns(turns: Sequence[Turn], phrases: Sequence[PeriodPhrase], first: date, last: date) -> Iterator[date]:
    """The days from `first` to `last` on which something comes round, in order.

    They are within the times that the phrases name beside it, and counted from a day that one of them names.
    """
    known = [list(_of_each_year(each)) for each in phrases]
    times = [[span for span in spans if span[0] != span[1]] for spans in known]
    named = [one for spans in known for one, end in spans if one == end]
    for day in (shift(first, count) for count in range((last - first).days + 1)):
        is_in_time = all(any(begin <= day <= end for begin, end in spans) for spans in times if spans)
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
