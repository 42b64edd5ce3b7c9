"""Stretches of whole days: weeks from Monday, months, quarters, seasons, years, their parts, and what they are in UTC.

No day leaves the years 1 to 9999: what would is cut off there.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, timedelta, tzinfo

from holdfast.model.times import instant

_SECOND = timedelta(seconds=1)
_SEARCHED_YEARS = 9  # a leap day is at most eight years away

# Days in a unit, near enough to widen or to shift by.
UNIT_DAYS = {"hour": 0, "day": 1, "week": 7, "weekend": 7, "month": 30, "quarter": 91, "year": 365}


@dataclass(frozen=True, slots=True)
class Span:
    """From `first` to `last`, both included; None is open."""

    first: date | None
    last: date | None


Yearly = Callable[[int], Span | None]  # what a year has of it; None where it has none (29 February)


def shift(day: date, days: int) -> date:
    ordinal = day.toordinal() + days
    return date.fromordinal(min(max(ordinal, date.min.toordinal()), date.max.toordinal()))


def add_months(day: date, months: int) -> date:
    """The same day `months` later, or the last one of a shorter month."""
    index = day.year * 12 + day.month - 1 + months
    if index < MINYEAR * 12:
        return date.min
    if index >= (MAXYEAR + 1) * 12:
        return date.max
    year, month = divmod(index, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def months_from(year: int, month: int, count: int) -> Span:
    """`count` whole months from the first of `month`; the year is cut to 1..9999."""
    first = date(min(max(year, MINYEAR), MAXYEAR), month, 1)
    final = add_months(first, count - 1)
    return Span(first, final.replace(day=monthrange(final.year, final.month)[1]))


def one_day(year: int, month: int, day: int) -> Span | None:
    try:
        only = date(year, month, day)
    except ValueError:
        return None
    return Span(only, only)


def iso_week(year: int, week: int) -> Span | None:
    try:
        monday = date.fromisocalendar(year, week, 1)
    except ValueError:
        return None
    return Span(monday, shift(monday, 6))


def unit_around(unit: str, day: date, offset: int = 0) -> Span:
    """The day, week, weekend, month, quarter or year that `day` is in, or the one `offset` further."""
    match unit:
        case "week" | "weekend":
            monday = shift(day, 7 * offset - day.weekday())
            return Span(monday if unit == "week" else shift(monday, 5), shift(monday, 6))
        case "month":
            moved = add_months(day.replace(day=1), offset)
            return months_from(moved.year, moved.month, 1)
        case "quarter":
            moved = add_months(day.replace(month=day.month - (day.month - 1) % 3, day=1), 3 * offset)
            return months_from(moved.year, moved.month - (moved.month - 1) % 3, 3)
        case "year":
            return months_from(day.year + offset, 1, 12)
    return Span(shift(day, offset), shift(day, offset))


def back(unit: str, day: date, count: int) -> date:
    """The day `count` units before `day`, calendar months and years as such."""
    match unit:
        case "month" | "quarter" | "year":
            return add_months(day, -count * {"month": 1, "quarter": 3, "year": 12}[unit])
    return shift(day, -count * UNIT_DAYS[unit])


def widened(span: Span, days: int) -> Span:
    return Span(span.first and shift(span.first, -days), span.last and shift(span.last, days))


def latest(yearly: Yearly, day: date) -> Span | None:
    """The last one that has begun on `day`."""
    return _first_that(yearly, range(day.year, day.year - _SEARCHED_YEARS, -1), lambda first, _: first <= day)


def ended(yearly: Yearly, day: date) -> Span | None:
    """The last one that was over before `day`."""
    return _first_that(yearly, range(day.year, day.year - _SEARCHED_YEARS, -1), lambda _, last: last < day)


def coming(yearly: Yearly, day: date) -> Span | None:
    """The first one that begins after `day`."""
    return _first_that(yearly, range(day.year, day.year + _SEARCHED_YEARS), lambda first, _: first > day)


def _first_that(yearly: Yearly, years: range, fits: Callable[[date, date], bool]) -> Span | None:
    for year in years:
        span = yearly(year) if MINYEAR <= year <= MAXYEAR else None
        if span and span.first and span.last and fits(span.first, span.last):
            return span
    return None


def share(span: Span, index: int, of: int) -> Span:
    """The `index`-th of `of` equal shares: whole months where there are enough, else whole days."""
    if span.first is None or span.last is None:
        return span
    months = (span.last.year - span.first.year) * 12 + span.last.month - span.first.month + 1
    if months % of == 0:
        first = add_months(span.first, months // of * index)
        return months_from(first.year, first.month, months // of)
    days = (span.last - span.first).days + 1
    last = shift(span.first, days * (index + 1) // of - 1)
    return Span(shift(span.first, days * index // of), max(last, span.first))


def joined(one: Span, other: Span) -> Span:
    """From the first day of `one` to the last of `other`, whichever way round they stand."""
    if one.first and other.last and one.first > other.last:
        return Span(other.first, one.last)
    return replace(one, last=other.last)


def instants(span: Span, zone: tzinfo) -> tuple[str | None, str | None]:
    """The first and the last second of the span in `zone`, as canonical instants; a day may have 23 or 25 hours."""
    after = None if span.first is None else instant(_midnight(span.first, zone))
    if span.last is None:
        return after, None
    if span.last == date.max:
        return after, instant(datetime.max)  # noqa: DTZ901 - clamped end
    return after, instant(_midnight(shift(span.last, 1), zone) - _SECOND)


def _midnight(day: date, zone: tzinfo) -> datetime:
    """The day's first moment in UTC; at the ends of the calendar midnight in UTC, where the zone's is out of range."""
    local = datetime(day.year, day.month, day.day, tzinfo=zone)
    try:
        return local.astimezone(UTC)
    except (OverflowError, ValueError):
        return local.replace(tzinfo=UTC)
