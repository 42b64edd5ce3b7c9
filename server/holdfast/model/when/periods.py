"""Periods of time that a text names ("three days ago", "March 2026", a date), with the words that belong to them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import MAXYEAR, date
from functools import partial

from holdfast.model.when import spans
from holdfast.model.when.spans import Again, Span, Yearly, composed
from holdfast.model.words import any_of, regex


@dataclass(frozen=True, slots=True)
class Period:
    """A named period at [`start`, `end`) of the text.

    `kind` is the class of expression; `rank` is higher the less the expression depends on when it is read (3: with a
    year, 2: a date without, 1: counted from today, 0: vague). `bare` ones are time only behind a word such as "in".
    `again` gives the same period of another time where it comes round again and none was named: by how many times.
    """

    start: int
    end: int
    span: Span
    kind: str
    rank: int
    bare: bool = False
    again: Again | None = None


@dataclass(frozen=True, slots=True)
class FoundPeriod:
    """What a rule made of its match; None instead of it where it was no time after all."""

    span: Span | None
    kind: str
    rank: int = 3
    bare: bool = False
    again: Again | None = None


_TOMORROW = (1, 1)
_MONTHS_OF_A_YEAR, _FIRST_YEAR = 12, 1970  # a smaller number than that year is a number

Rule = Callable[[re.Match[str], date], FoundPeriod | None]


def _year_of(match: re.Match[str]) -> int | None:
    year = match.groupdict().get("year")
    return int(year) if year else None


def _yearly(match: re.Match[str], today: date, kind: str, yearly: Yearly, *, bare: bool = False) -> FoundPeriod:
    """Of the year that is named, else of the one that a word such as "last" picks, else the latest that has begun."""
    if year := _year_of(match):
        return FoundPeriod(yearly(year), kind)
    picked, offset = match.groupdict(), spans.offset_of(match)
    if picked.get("year_ago") or picked.get("year_on"):
        return FoundPeriod(yearly(today.year + (1 if picked["year_on"] else -1)), kind)
    if offset is None:
        return FoundPeriod(span := spans.latest(yearly, today), kind, 2, bare, _yearly_again(yearly, span))
    near = yearly(today.year) if offset == 0 else (spans.ended if offset < 0 else spans.coming)(yearly, today)
    if abs(offset) > 1 and near and near.first:
        near = yearly(near.first.year + offset // abs(offset))
    return FoundPeriod(near, kind, 2)


def _yearly_again(yearly: Yearly, span: Span | None) -> Again | None:
    if span is None or span.first is None or span.last is None:
        return None
    first, last = span.first, span.last

    def again(count: int) -> Span | None:
        if not 0 < first.year + count < MAXYEAR:
            return None
        near = Span(spans.add_months(first, 12 * count), spans.add_months(last, 12 * count))  # of 29 February
        return yearly(first.year + count) or near

    return again


def _month_number(name: str) -> int:
    return spans.MONTHS.get(name) or spans.SHORT_MONTHS[name]


def _iso_date(match: re.Match[str], _: date) -> FoundPeriod:
    return FoundPeriod(spans.one_day(int(match["y"]), int(match["m"]), int(match["d"])), "day")


def _iso_month(match: re.Match[str], _: date) -> FoundPeriod | None:
    year, month = int(match["y"]), int(match["m"])
    return FoundPeriod(spans.months_from(year, month, 1), "month") if 1 <= month <= _MONTHS_OF_A_YEAR else None


def _iso_week(match: re.Match[str], _: date) -> FoundPeriod:
    return FoundPeriod(spans.iso_week(int(match["y"]), int(match["w"])), "week")


def _slashed(match: re.Match[str], _: date) -> FoundPeriod | None:
    """Day and month in either order, so only where one of them can be no month; with dots it is day, month, year."""
    one, two, year = int(match["one"]), int(match["two"]), int(match["y"])
    readings = [spans.one_day(year, two, one)]
    if match["by"] == "/":
        readings.append(spans.one_day(year, one, two))
    certain = {reading for reading in readings if reading}
    return FoundPeriod(certain.pop(), "day") if len(certain) == 1 else None


def _month_day(match: re.Match[str], today: date) -> FoundPeriod:
    month, first, last = _month_number(match["month"]), int(match["day"]), int(match["to"] or match["day"])

    def days_of(year: int) -> Span | None:
        begin, end = spans.one_day(year, month, first), spans.one_day(year, month, last)
        return Span(begin.first, end.last) if begin and end and first <= last else None

    return _yearly(match, today, "day", days_of)


def _day_of_month(match: re.Match[str], today: date) -> FoundPeriod | None:
    """As in "12.12.", and "24/12" where one of both can be no month, or both are the same."""
    if match["one"]:
        day, month = sorted((int(match["one"]), int(match["two"])), reverse=True)
        if day != month and (day <= _MONTHS_OF_A_YEAR or match[0] == "24/7"):
            return None
    else:
        day, month = int(match["day"]), int(match["month"])
    return _yearly(match, today, "day", partial(spans.one_day, month=month, day=day), bare=True)


def _ordinal_day(match: re.Match[str], today: date) -> FoundPeriod:
    month, day = spans.MONTHS[match["month"]], spans.ORDINALS[match["day"]] + 1
    return _yearly(match, today, "day", partial(spans.one_day, month=month, day=day))


def _month(match: re.Match[str], today: date) -> FoundPeriod:
    yearly = partial(spans.months_from, month=_month_number(match["month"]), count=1)
    return _yearly(match, today, "month", yearly, bare=True)


def _part_of_month(match: re.Match[str], today: date) -> FoundPeriod:
    """As in "erste Dezemberwoche", "zweite Julihälfte"."""
    month, which = _month_number(match["month"]), spans.ORDINALS[match["which"]]

    def part(year: int) -> Span | None:
        whole = spans.months_from(year, month, 1)
        return spans.share(whole, which % 2, 2) if match["half"] else spans.nth("week", which, whole)

    return _yearly(match, today, "part", part)


def _holiday(match: re.Match[str], today: date) -> FoundPeriod:
    return _yearly(match, today, "holiday", spans.HOLIDAYS[match["name"]], bare=match["at"] is None)


def _date(match: re.Match[str], today: date) -> FoundPeriod | None:
    """As in "on the 20th", "am 20.", "le 20", "el día 20": the last one, today's too."""
    number, sign = int(match["day"]), match["sign"]
    is_ordinal = sign == "." if match["am"] is not None else sign in ("st", "nd", "rd", "th")
    if is_ordinal is (match["am"] is None and match["the"] is None):
        return None
    begin = spans.add_months(today.replace(day=1), 0 if number <= today.day else -1)

    def again(count: int) -> Span | None:
        month = spans.add_months(begin, count)
        return spans.one_day(month.year, month.month, number)

    return FoundPeriod(again(0) or again(-1), "date", 2, bare=True, again=again)


def _quarter(match: re.Match[str], today: date) -> FoundPeriod:
    number = int(match["q"])
    return _yearly(match, today, "quarter", partial(spans.months_from, month=3 * number - 2, count=3))


def _half(match: re.Match[str], today: date) -> FoundPeriod:
    return _yearly(match, today, "quarter", partial(spans.months_from, month=6 * int(match["h"]) - 5, count=6))


def _season(match: re.Match[str], today: date) -> FoundPeriod:
    yearly = partial(spans.months_from, month=spans.SEASONS[match["season"]], count=3)
    found = _yearly(match, today, "season", yearly, bare=True)
    return found if _year_of(match) else replace(found, kind="in season")


def _year(match: re.Match[str], today: date) -> FoundPeriod | None:
    year = int(match["year"])
    known = _FIRST_YEAR <= year <= max(today.year, _FIRST_YEAR) + 5
    return FoundPeriod(spans.months_from(year, 1, 12), "year", 3, bare=True) if known else None


def _near_day(match: re.Match[str], today: date) -> FoundPeriod:
    first, last = spans.DAYS.get(match["near"], _TOMORROW)
    kind = "today" if (first, last) == (0, 0) else "yesterday"
    return FoundPeriod(Span(spans.shift(today, first), spans.shift(today, last)), kind, 1)


def _unit(match: re.Match[str], today: date) -> FoundPeriod | None:
    """The calendar's for "last week", "la semana pasada"; "the past month" and "in the last month" reach up to today.

    By itself it is time with a part of it, as in "the end of the year"; "over the weekend" is the last that has begun.
    """
    word, offset = match["unit"], spans.offset_of(match)
    unit = spans.UNITS.get(word, "year")
    if unit in ("hour", "day") or (word.endswith("s") and unit + "s" == word) or word in spans.MANY:
        return None
    if match["rolling"] or (unit == "fortnight" and offset == -1):
        return FoundPeriod(Span(spans.back("day" if unit == "weekend" else unit, today, 1), today), "rolling", 1)
    if unit == "fortnight":
        return FoundPeriod(Span(today, spans.shift(today, 14)), "coming", 1) if offset == 1 else None
    if offset is None and match[0].startswith("a "):
        return None
    if offset is None:
        now = -1 if unit == "weekend" and today.weekday() < spans.WEEKDAYS["saturday"] else 0
        again = partial(_weekend_again, today, now) if unit == "weekend" else None
        return FoundPeriod(spans.unit_around(unit, today, now), "the " + unit, 1, bare=True, again=again)
    span = spans.unit_around(unit, today, offset)
    if match["side"] and offset == 0:
        span = Span(today, span.last) if match["side"] == "later" else Span(span.first, today)
    return FoundPeriod(span, "last year" if unit == "year" else unit, 1)


def _weekend_again(today: date, now: int, count: int) -> Span:
    return spans.unit_around("weekend", today, now + count)


def _ahead(match: re.Match[str], today: date) -> FoundPeriod | None:
    """As in "what is on in two weeks?"; "how many in two weeks" tells how long, "in a week" mostly too."""
    unit, least, most = spans.amount_of(match)
    is_open = match["hence"] is None
    if spans.is_over(match.string) or (is_open and (unit == "hour" or spans.HOW_LONG.search(match.string))):
        return None
    if match["within"]:
        return FoundPeriod(Span(today, spans.back(unit, today, -most)), "in a while", 1)
    wide = spans.joined(spans.distance(unit, -least, -least, today), spans.distance(unit, -most, -most, today))
    kind = "in a spell" if is_open and most == 1 and not spans.IS_DUE.search(match.string) else "in a while"
    return FoundPeriod(Span(wide.first and max(wide.first, today), wide.last), kind, 1)


def _ago(match: re.Match[str], today: date) -> FoundPeriod:
    unit, least, most = spans.amount_of(match)
    wide = spans.distance(unit, least, most, today)
    sure = least == most and unit in ("hour", "day", "week", "fortnight")
    return FoundPeriod(
        Span(wide.first, wide.last and min(wide.last, today)), "ago" if sure else "about", int(least == most)
    )


def _rolling(match: re.Match[str], today: date) -> FoundPeriod | None:
    if match["count"] in ("a", "an"):  # "how long does it last an hour"
        return None
    _, most = spans.count_of(match["count"])
    unit = spans.UNITS[match["unit"]]
    if match.groupdict().get("next"):
        return None if unit == "hour" else FoundPeriod(Span(today, spans.back(unit, today, -most)), "coming", 1)
    if unit == "hour":
        hours = -(-most // 60) if match["unit"] in spans.MINUTES else most
        return FoundPeriod(Span(spans.back("day", today, (hours + 23) // 24), today), "rolling", 1)
    return FoundPeriod(Span(spans.back(unit, today, most), today), "rolling", 1)


def _numbered_week(match: re.Match[str], today: date) -> FoundPeriod:
    """Of this year, where none is named, but not one to come where something has happened in it."""
    yearly, year = partial(spans.iso_week, week=int(match["w"])), _year_of(match)
    span = yearly(year or today.isocalendar().year)
    if year is None and (span is None or (span.first and span.first > today and spans.is_over(match.string))):
        span = spans.latest(yearly, today)
    return FoundPeriod(span, "week", 2, bare=match["sure"] is None)


def _weekdays_ago(match: re.Match[str], today: date) -> FoundPeriod | None:
    """As in "two Thursdays ago": the last one before today is one."""
    count, most = spans.count_of(match["count"])
    day = spans.shift(spans.last_weekday(match["weekday"], today), -7 * (count - 1))
    return FoundPeriod(Span(day, day), "yesterday", 1) if count == most else None


def _weekday(match: re.Match[str], today: date) -> FoundPeriod:
    offset, last = spans.offset_of(match), spans.last_weekday(match["weekday"], today)
    offset = 2 if match["on"] else offset  # "Monday week" is the one behind the next

    def again(count: int) -> Span:
        day = spans.shift(last, 7 * count)
        return Span(day, day)

    if offset is None:
        said_alone = match["weekday"] in spans.ALONE and not spans.NOT_ALONE.search(match.string, 0, match.start())
        return FoundPeriod(again(0), "weekday", 1, bare=not said_alone, again=again)
    if offset == 0:
        day = spans.shift(today, spans.WEEKDAYS[match["weekday"]] - today.weekday())
        return FoundPeriod(Span(day, day), "weekday", 1)
    if offset > 0:  # "next" is the first one behind today
        return FoundPeriod(again(offset + (again(1).first == today)), "weekday", 1)
    return FoundPeriod(again(offset + 1), "yesterday", 1)


def _vague(match: re.Match[str], today: date) -> FoundPeriod:
    first, last = spans.VAGUE[match[0]]
    return FoundPeriod(Span(None if first is None else spans.shift(today, first), spans.shift(today, last)), "vague", 0)


def _rule(pattern: str, rule: Rule) -> tuple[re.Pattern[str], Rule]:
    return regex(rf"(?<![\w-])(?:{pattern})(?![\w-])"), rule


# Where two overlap, the longer one that begins first is taken.
_RULES: tuple[tuple[re.Pattern[str], Rule], ...] = (
    _rule(r"(?P<y>\d{4})([-/])(?P<m>\d\d)\2(?P<d>\d\d)", _iso_date),
    _rule(r"(?P<y>\d{4})-?w(?P<w>\d\d)", _iso_week),
    _rule(r"(?P<one>\d{1,2})(?P<by>[/.])(?P<two>\d{1,2})(?P=by)(?P<y>\d{4})", _slashed),
    _rule(r"(?P<one>\d{1,2})/(?P<two>\d{1,2})|(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?!\d)", _day_of_month),
    _rule(r"(?P<y>(?:19|20)\d\d)-(?P<m>\d\d)", _iso_month),
    _rule(rf"(?:the )?(?P<day>first|second|third) of (?P<month>{spans.MONTH}){spans.BY_YEAR}", _ordinal_day),
    _rule(
        rf"{spans.ON}(?P<day>\d{{1,2}}){spans.DAY}(?:\s*(?:-|to|and|bis)\s*(?P<to>\d{{1,2}}){spans.DAY})?\s*{spans.OF}\s*"
        rf"(?P<month>{spans.EITHER_MONTH})\.?{spans.BY_YEAR}",
        _month_day,
    ),
    _rule(
        rf"{spans.ON}(?P<month>{spans.EITHER_MONTH})\.?\s+(?:the\s+)?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?"
        rf"(?:\s*(?:-|to)\s*(?P<to>\d{{1,2}}){spans.DAY})?{spans.BY_YEAR}",
        _month_day,
    ),
    _rule(rf"(?P<month>{spans.EITHER_MONTH})\.?\s*{spans.OF}\s*{spans.YEAR}", _month),
    _rule(rf"(?:{spans.QUALIFIER}\s+)?(?P<month>{spans.MONTH})(?: {spans.BEHIND})?", _month),
    _rule(rf"(?P<month>{spans.EITHER_MONTH})\.? {spans.YEAR_FROM_NOW}", _month),
    _rule(rf"(?P<season>{any_of(spans.SEASONS)}) {spans.YEAR_FROM_NOW}", _season),
    _rule(rf"(?P<which>{any_of(spans.ORDINALS)}) (?P<month>{spans.MONTH})(?:woche|(?P<half>hälfte))", _part_of_month),
    _rule(
        rf"(?P<at>(?:an|zu|a la|this|around) )?(?:{spans.QUALIFIER} )?(?P<name>{any_of(spans.HOLIDAYS)})"
        rf"(?: {spans.BEHIND})?{spans.BY_YEAR}(?:{spans.CLOSES}|(?= in\b))",
        _holiday,
    ),
    _rule(
        rf"(?:(?P<the>(?<=the ))|(?P<am>(?<=am |um |om ))|(?<=le |el )|(?<=el )día )(?P<day>\d\d?)"
        rf"(?P<sign>st|nd|rd|th|\.)?{spans.CLOSES}",
        _date,
    ),
    _rule(rf"(?:{spans.QUALIFIER} )?q(?P<q>[1-4])(?:[\s/-]*(?:of )?{spans.YEAR})?", _quarter),
    _rule(rf"{spans.YEAR}[\s-]?q(?P<q>[1-4])", _quarter),
    _rule(rf"h(?P<h>[12])[\s/-]?{spans.YEAR}", _half),
    _rule(
        rf"(?:{spans.QUALIFIER}\s+|l')?(?P<season>{any_of(spans.SEASONS)})(?: {spans.BEHIND})?"
        rf"(?:\s+{spans.OF}\s*{spans.YEAR})?",
        _season,
    ),
    _rule(rf"(?:(?:the year|jahr|el año|l'année) )?{spans.YEAR}", _year),
    _rule(rf"(?P<near>{any_of(spans.DAYS)}|{spans.TOMORROW}){spans.HOURS}", _near_day),
    _rule(
        rf"(?:(?P<side>earlier|later|so far|sooner) )?(?P<rolling>(?:in|over|within|during|for) the (?:last|past) |"
        rf"(?:the )?past )?(?(rolling)|(?:the |la |a |el |le |l')?(?:{spans.QUALIFIER} )?)"
        rf"(?P<unit>{spans.UNIT}|an(?= (?:dernier|passé|prochain)\b))(?: {spans.BEHIND})?",
        _unit,
    ),
    _rule(
        rf"(?:(?P<sure>calendar week|kalenderwoche)|kw|week|woche|semaine|semana) (?P<w>(?(sure)\d\d?|\d\d))"
        rf"{spans.BY_YEAR}(?! (?:of|der|des|de|du)\b)",
        _numbered_week,
    ),
    _rule(rf"(?:(?:in|within|over) )?{spans.THE}{spans.LASTS_OR_NEXTS} {spans.COUNT} (?P<unit>{spans.UNIT})", _rolling),
    _rule(rf"(?:dans |en )?{spans.THE}{spans.COUNT} {spans.LASTS_OR_NEXTS_BEHIND} (?P<unit>{spans.UNIT})", _rolling),
    _rule(rf"{spans.AMOUNT} ago", _ago),
    _rule(rf"(?:vor|hace|il y a) {spans.AMOUNT}", _ago),
    _rule(
        rf"(?:in|dans|en|(?P<within>within|innerhalb(?: von)?|binnen|d'ici|en menos de)|dentro de|daqui a|tra|fra) "
        rf"{spans.AMOUNT}'?(?: time)?(?P<hence>\0)?",
        _ahead,
    ),
    _rule(rf"(?P<within>\0)?{spans.AMOUNT} (?P<hence>from now|hence)", _ahead),
    _rule(rf"{spans.COUNT} (?P<weekday>{spans.WEEKDAY})s? ago", _weekdays_ago),
    _rule(spans.A_WEEKDAY, _weekday),
    _rule(any_of(spans.VAGUE), _vague),
)


def periods(text: str, today: date) -> list[Period]:
    """The periods that lower-case `text` names, in order and without overlap."""
    candidates = sorted(_matches(text, today), key=lambda period: (period.start, -period.end))
    chosen: list[Period] = []
    for period in candidates:
        if not chosen or period.start >= chosen[-1].end:
            chosen.append(period)
    joined: list[Period] = []
    for period in chosen:
        whole = _together(text, today, joined[-1], period) if joined else None
        joined[-1:] = [whole] if whole else [*joined[-1:], period]
    return joined


def _matches(text: str, today: date) -> Iterator[Period]:
    for pattern, rule in _RULES:
        for match in pattern.finditer(text):
            found = rule(match, today)
            if found and found.span:
                yield Period(match.start(), match.end(), found.span, found.kind, found.rank, found.bare, found.again)


@dataclass(frozen=True, slots=True)
class PeriodPhrase:
    """A period with the words around it that belong to it, at [`start`, `end`) of the text.

    `span` is what the relation makes of `whole`, the period itself.
    """

    start: int
    end: int
    span: Span
    whole: Span
    kind: str
    rank: int
    relation: str = "during"
    again: Again | None = None


def _together(text: str, today: date, one: Period, other: Period) -> Period | None:
    """Two periods that are one: "the last Friday of March", "Tuesday next week", "today in a week"; else None."""
    if not spans.OF_ONE.fullmatch(text, one.end, other.start):
        return None
    if nth := spans.NTH.search(text, 0, one.end):
        return _nth(nth, other)
    kinds, day = {one.kind, other.kind}, None
    if kinds == {"weekday", "week"}:
        week, named = (one, other) if one.kind == "week" else (other, one)
        if named.bare and named.span.first and week.span.first:
            day = spans.shift(week.span.first, named.span.first.weekday())
    elif len(kinds & {"today", "weekday"}) == len(kinds & {"ago", "in a while", "in a spell"}) == 1:
        length, named = (other, one) if one.kind in ("today", "weekday") else (one, other)
        anchor = named.again(int(length.kind != "ago")) if named.again else named.span
        if anchor and anchor.first and length.span.first and length.span.last:
            middle = (length.span.first.toordinal() + length.span.last.toordinal()) // 2
            day = spans.shift(anchor.first, middle - today.toordinal())
    if day is None:
        return None
    return Period(one.start, other.end, Span(day, day), "yesterday" if day < today else "day", 1)


def _nth(match: re.Match[str], whole: Period) -> Period | None:
    """As in "the first week of December", "the last Friday of the month", "the third quarter of 2025"."""
    thing, which = spans.UNITS.get(match["thing"], match["thing"]), spans.ORDINALS[match["which"]]
    if thing not in ("week", "weekend", "quarter", "half", *spans.WEEKDAYS):
        return None

    def made(span: Span) -> Span | None:
        return spans.nth(thing, which, span)

    span, kind = made(whole.span), "quarter" if thing in ("quarter", "half") else "part"
    again = composed(whole.again, made)
    return Period(match.start(), whole.end, span, kind, whole.rank, again=again) if span else None


def windows(text: str, today: date) -> list[PeriodPhrase]:
    found = periods(text, today)
    read: list[PeriodPhrase] = []
    at = 0
    while at < len(found):
        pair = _pair(text, today, found[at], found[at + 1]) if at + 1 < len(found) else None
        window = pair or _window(text, found[at])
        at += 2 if pair else 1
        if window:
            read.append(window)
    return read


def _pair(text: str, today: date, one: Period, other: Period) -> PeriodPhrase | None:
    """As in "between March and May", "2026-01-01 to 2026-01-31"; a year that is said once is for both."""
    between, lead = (
        spans.TRAILING.sub("", text[one.end : other.start].rstrip()).strip(),
        spans.PAIR_LEAD.search(text[: one.start]),
    )
    sure = not (one.bare or other.bare)
    if not ((between in spans.JOINS and (lead or sure)) or (between in spans.PAIRS and lead)) or not other.span.last:
        return None
    if "year" in (one.kind, other.kind) and not spans.ENDS.match(text, other.end):
        return None
    start = lead.start() if lead else one.start
    till_today = other.kind == "weekday" and other.again is not None and other.again(1) == Span(today, today)

    def again(count: int) -> Span | None:
        count += till_today
        end = other.again(count) if other.again else other.span
        return end and spans.joined(_before(one, end.first, count), end)

    both = again(0) or other.span
    found = again if other.again else None
    return PeriodPhrase(start, other.end, both, both, other.kind, max(one.rank, other.rank), again=found)


def _before(period: Period, day: date | None, count: int) -> Span:
    """The last one that has begun on a day, not more times further than one more than `count`."""
    again = period.again
    if again is None or day is None:
        return period.span
    found = (again(each) for each in range(count + 1, count - 9, -1))
    return next((each for each in found if each and each.first and each.first <= day), period.span)


def _window(text: str, period: Period) -> PeriodPhrase | None:
    """The period with what stands before it: a part of it, a preposition; None where it is no time after all."""
    before = text[: period.start]
    if spans.REPEATED.search(before) or spans.RECURRING.match(text, period.end) or _named_thing(before, period):
        return None
    if period.kind == "rolling" and spans.RETAINED.match(text, period.end):
        return None
    if (found := spans.OFFSET.search(before)) and (offset := _offset(found, period)):
        return offset
    narrow, kind, start = _narrowed(before, period)
    span, again = narrow(period.span), composed(period.again, narrow)
    lead = spans.LEAD.search(text[:start])
    relation = spans.RELATIONS[lead["word"]] if lead else "during"
    if lead and lead["word"] in ("by", "d'ici") and kind == "weekday" and (coming := again and again(1)):
        span = coming  # "by Friday" is the next one
    if kind in ("vague", "ago", "about") and relation == "during":
        lead = None
    if not _is_time(text, period, lead["word"] if lead else None, part=kind != period.kind):
        kind = "mention"
        if not _is_mention(text, period):
            return None
    if (
        lead
        and lead["word"] == "from"
        and (onwards := re.match(r" (?:on|onwards?|forward|(?:to|until|till) now)\b", text[period.end :]))
    ):
        return PeriodPhrase(
            lead.start(), period.end + onwards.end(), Span(span.first, None), span, kind, period.rank, "since", again
        )
    if kind == "part" and relation == "before" and spans.ITS_END.match(text, start):
        span = Span(span.last and spans.shift(span.last, 1), span.last)  # before the end, and not before the last part
    start, rank = lead.start() if lead else start, 0 if kind == "mention" else period.rank
    return PeriodPhrase(start, period.end, spans.related(span, relation), span, kind, rank, relation, again)


def _narrowed(before: str, period: Period) -> tuple[Callable[[Span], Span], str, int]:
    """What the words before a period make of it, a part, or the week of the day; its kind and start."""
    if (part := spans.PART.search(before)) and period.kind not in spans.WITHOUT_PARTS:
        which, of = spans.PARTS[part["part"]]
        return lambda span: spans.share(span, which, of), "part", part.start()
    if (week := spans.WEEK_OF.search(before)) and period.span.first:
        return lambda span: spans.unit_around("week", span.first) if span.first else span, "week", week.start()
    return lambda span: span, period.kind, period.start


def _named_thing(before: str, period: Period) -> bool:
    """Whether a number is the name of something: "version 2024-01", "RFC 2025"."""
    words = before.split()
    return period.kind in ("day", "month", "week", "year") and bool(words) and words[-1].strip(":.#'") in spans.LABELS


def _is_time(text: str, period: Period, lead: str | None, *, part: bool) -> bool:
    match period.kind:
        case "day" | "date" if period.bare:
            return lead in spans.DAY_LEADS
        case "year" if period.bare:
            related = lead and (lead in spans.YEAR_LEADS or spans.RELATIONS[lead] != "during")
            return bool(part or related) and bool(spans.ENDS.match(text, period.end))
        case "season" | "in season":
            return (part or not period.bare or bool(lead)) and not spans.NO_SEASON.match(text, period.end)
        case "the weekend":
            return lead not in (None, "en") or text.startswith("el ", period.start)
        case kind if kind.startswith("the "):
            return part
    return part or not period.bare or bool(lead) or period.kind == "quarter"


def _is_mention(text: str, period: Period) -> bool:
    """As in "the August close", "July incident": a month leans the ranking, unless it may be a person's name."""
    name = text[period.start : period.end]
    sure = name not in spans.ALSO_NAMES | spans.ALSO_WORDS or text[: period.start].endswith("the ")
    return period.kind == "month" and sure


def _offset(match: re.Match[str], period: Period) -> PeriodPhrase | None:
    """As in "the week before 16 November", "two weeks before 11 August", "a week from Friday"."""
    unit, there = spans.UNITS.get(match["unit"], match["unit"]), match["there"]
    if match["count"] and unit in spans.WEEKDAYS:
        return None
    if there and (not match["count"] or period.kind not in ("weekday", "today", "yesterday")):
        return None
    least, most = spans.count_of(match["count"] or "a")
    back = re.match("before|vor|avant|antes", match["side"]) is not None
    sign = 1 if back else -1

    def made(span: Span) -> Span | None:
        anchor = span.first if back else span.last
        if anchor is None:
            return None
        if not match["count"] and unit in ("weekend", *spans.WEEKDAYS):
            return spans.beside(unit, anchor, before=back)
        if there:
            return Span(spans.back(unit, anchor, -least), spans.back(unit, anchor, -most))
        if match["count"] in (None, "a"):
            return Span(*sorted((spans.shift(anchor, -sign * spans.UNIT_DAYS[unit]), spans.shift(anchor, -sign))))
        return spans.distance(unit, min(sign * least, sign * most), max(sign * least, sign * most), anchor)

    anchored = period.again(1) if there and period.again and period.kind == "weekday" else period.span
    span, again = anchored and made(anchored), None if there else composed(period.again, made)
    return PeriodPhrase(match.start(), period.end, span, span, "offset", period.rank, again=again) if span else None
