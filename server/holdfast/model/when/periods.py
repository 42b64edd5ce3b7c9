"""Periods of time that a text names ("three days ago", "March 2026", a date), with the words that belong to them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from functools import partial

from holdfast.model.when import spans
from holdfast.model.when import spans as say
from holdfast.model.when.spans import Span, Yearly


@dataclass(frozen=True, slots=True)
class Period:
    """A named period at [`start`, `end`) of the text.

    `kind` is the class of expression; `rank` is higher the less the expression depends on when it is read (3: with a
    year, 2: a date without, 1: counted from today, 0: vague). `bare` ones are time only behind a word such as "in".
    `yearly` gives the same period of another year where none was named.
    """

    start: int
    end: int
    span: Span
    kind: str
    rank: int
    bare: bool = False
    yearly: Yearly | None = None


@dataclass(frozen=True, slots=True)
class FoundPeriod:
    """What a rule made of its match; None instead of it where it was no time after all."""

    span: Span | None
    kind: str
    rank: int = 3
    bare: bool = False
    yearly: Yearly | None = None


_TOMORROW = (1, 1)
_OVER = re.compile(rf"\b(?!(?:{say.HELPING_VERBS})\b)(?:{say.PAST_VERBS}|{say.DONE})\b")

Rule = Callable[[re.Match[str], date], FoundPeriod | None]


_MONTH = say.any_of(say.MONTHS)
_EITHER_MONTH = rf"{_MONTH}|{say.any_of(say.SHORT_MONTHS)}"
_OF = r"(?:of|de|del|di|,)?"
_MONTHS_OF_A_YEAR = 12
_FIRST_YEAR = 1970  # a smaller number is a number
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_BY_YEAR = rf"(?:\s*{_OF}\s*{_YEAR}(?![\w-]))?"
_DAY = r"(?:st|nd|rd|th|er|\.)?"
_ON = rf"(?:(?:{say.any_of(say.WEEKDAYS)}),? (?:the )?)?"
_UNIT = say.any_of(say.UNITS)
_COUNT = rf"(?P<count>\d{{1,3}}|{say.any_of(say.NUMBERS)}|{say.any_of(say.UNCERTAIN)})"
_THE = r"(?:the |den |die |les |los |las )?"
_LASTS_OR_NEXTS = (
    r"(?:last|past|previous|letzten|vergangenen|dernières?|derniers|últim[oa]s|"
    r"(?P<next>(?<!what's )(?<!is )next|(?<=the )coming|nächsten|kommenden|prochaine?s|próxim[oa]s))"
)
_LASTS_OR_NEXTS_BEHIND = r"(?:dernières?|derniers|últim[oa]s|(?P<next>prochaine?s|próxim[oa]s))"  # "les deux dernières"
_YEAR_FROM_NOW = (
    rf"(?:of |de |del |d'|im |in )?(?:(?P<year_ago>(?:{say.LAST}) (?:year|jahre?s?)|l'année (?:dernière|passée)|"
    r"l'an dernier|(?:el )?año pasado)|(?P<year_on>(?:next|nächste[nrsm]?|kommende[nrsm]?) (?:year|jahre?s?)|"
    r"l'année prochaine|(?:el )?(?:año próximo|próximo año|año que viene)))"
)
_QUALIFIER = rf"(?:(?P<last>{say.LAST})|(?P<this>{say.THIS})|(?P<next>{say.NEXT}))"


def _year_of(match: re.Match[str]) -> int | None:
    year = match.groupdict().get("year")
    return int(year) if year else None


def _yearly(match: re.Match[str], today: date, kind: str, yearly: Yearly, *, bare: bool = False) -> FoundPeriod:
    """Of the year that is named, else of the one that a word such as "last" picks, else the latest that has begun."""
    if year := _year_of(match):
        return FoundPeriod(yearly(year), kind)
    picked = match.groupdict()
    if picked.get("year_ago") or picked.get("year_on"):
        return FoundPeriod(yearly(today.year + (1 if picked["year_on"] else -1)), kind)
    if picked.get("last"):
        return FoundPeriod(spans.ended(yearly, today), kind, 2)
    if picked.get("next"):
        return FoundPeriod(spans.coming(yearly, today), kind, 2)
    if picked.get("this"):
        return FoundPeriod(yearly(today.year), kind, 2)
    return FoundPeriod(spans.latest(yearly, today), kind, 2, bare, yearly)


def _month_number(name: str) -> int:
    return say.MONTHS.get(name) or say.SHORT_MONTHS[name]


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
    month, day = say.MONTHS[match["month"]], say.ORDINALS[match["day"]] + 1
    return _yearly(match, today, "day", partial(spans.one_day, month=month, day=day))


def _month(match: re.Match[str], today: date) -> FoundPeriod:
    yearly = partial(spans.months_from, month=_month_number(match["month"]), count=1)
    return _yearly(match, today, "month", yearly, bare=True)


def _week_of_month(match: re.Match[str], today: date) -> FoundPeriod:
    month, which = _month_number(match["month"]), match["which"]

    def week(year: int) -> Span | None:
        whole = spans.months_from(year, month, 1)
        if whole.first is None or whole.last is None:
            return None
        if which == "last":
            return Span(spans.shift(whole.last, -6), whole.last)
        first = spans.shift(whole.first, 7 * say.ORDINALS[which])
        return Span(first, spans.shift(first, 6))

    return _yearly(match, today, "part", week)


def _quarter(match: re.Match[str], today: date) -> FoundPeriod:
    number = int(match["q"]) if match["q"].isdigit() else say.ORDINALS[match["q"]] + 1
    return _yearly(match, today, "quarter", partial(spans.months_from, month=3 * number - 2, count=3))


def _half(match: re.Match[str], today: date) -> FoundPeriod:
    return _yearly(match, today, "quarter", partial(spans.months_from, month=6 * int(match["h"]) - 5, count=6))


def _season(match: re.Match[str], today: date) -> FoundPeriod:
    yearly = partial(spans.months_from, month=say.SEASONS[match["season"]], count=3)
    found = _yearly(match, today, "season", yearly, bare=True)
    return found if _year_of(match) else replace(found, kind="in season")


def _year(match: re.Match[str], today: date) -> FoundPeriod | None:
    year = int(match["year"])
    known = _FIRST_YEAR <= year <= max(today.year, _FIRST_YEAR) + 5
    return FoundPeriod(spans.months_from(year, 1, 12), "year", 3, bare=True) if known else None


def _near_day(match: re.Match[str], today: date) -> FoundPeriod:
    first, last = say.DAYS.get(match[0], _TOMORROW)
    kind = "today" if (first, last) == (0, 0) else "yesterday"
    return FoundPeriod(Span(spans.shift(today, first), spans.shift(today, last)), kind, 1)


def _unit(match: re.Match[str], today: date) -> FoundPeriod | None:
    """The calendar's for "last week"; "the past month" and "in the last month" reach up to today."""
    unit = say.UNITS[match["unit"]]
    if unit in ("hour", "day") or (match["unit"].endswith("s") and match["unit"] not in ("mois", "mes")):
        return None
    if match["rolling"]:
        return FoundPeriod(Span(spans.back("day" if unit == "weekend" else unit, today, 1), today), "rolling", 1)
    offset = 0 if match["this"] else 1 if match["next"] else -1
    span = spans.unit_around(unit, today, offset)
    if match["side"] and match["this"]:
        span = Span(today, span.last) if match["side"] == "later" else Span(span.first, today)
    return FoundPeriod(span, "last year" if unit == "year" else unit, 1)


def _unit_behind(match: re.Match[str], today: date) -> FoundPeriod | None:
    """As in "la semana pasada", "l'an dernier", "la semaine prochaine"."""
    unit = say.UNITS.get(match["unit"], "year")
    if unit in ("hour", "day"):
        return None
    offset = 1 if match["next"] else -1
    return FoundPeriod(spans.unit_around(unit, today, offset), "last year" if unit == "year" else unit, 1)


def _before_last(match: re.Match[str], today: date) -> FoundPeriod:
    return FoundPeriod(spans.unit_around(say.UNITS[match["unit"]], today, -2), say.UNITS[match["unit"]], 1)


def _the_unit(match: re.Match[str], today: date) -> FoundPeriod:
    """As in "the end of the year", and "over the weekend", which is the last one that has begun."""
    unit = match["unit"]
    offset = -1 if unit == "weekend" and today.weekday() < 5 else 0  # noqa: PLR2004 - Saturday
    return FoundPeriod(spans.unit_around(unit, today, offset), "the " + unit, 1, bare=True)


def is_over(text: str) -> bool:
    """Whether a verb of lower-case `text` says that something has happened."""
    return _OVER.search(text) is not None


_HOW_LONG = re.compile(
    r"\bhow (?:many|much|long|often|far)\b|\b(?:twice|times)\b|\bwie ?(?:viele?|lange|oft)\b|\bcu[aá]nt|\bcombien\b"
)
_IS_DUE = re.compile(r"\b(?:due|coming up|planned|fällig|steht .*\ban\b|prévue?s?|vencen?|scade)\b")


def _ahead(match: re.Match[str], today: date) -> FoundPeriod | None:
    """As in "what is on in two weeks?"; "what did we do in two weeks?" and "how many in two weeks" tell how long."""
    unit, (least, most) = say.UNITS[match["unit"]], spans.count_of(match["count"])
    is_span = _HOW_LONG.search(match.string) or (most == 1 and not _IS_DUE.search(match.string))
    if unit == "hour" or is_over(match.string) or is_span:
        return None
    wide = spans.joined(spans.distance(unit, -least, -least, today), spans.distance(unit, -most, -most, today))
    return FoundPeriod(Span(wide.first and max(wide.first, today), wide.last), "in a while", 1)


def _ago(match: re.Match[str], today: date) -> FoundPeriod:
    least, most = spans.count_of(match["count"])
    wide = spans.distance(say.UNITS[match["unit"]], least, most, today)
    sure = least == most and say.UNITS[match["unit"]] in ("hour", "day", "week")
    return FoundPeriod(
        Span(wide.first, wide.last and min(wide.last, today)), "ago" if sure else "about", int(least == most)
    )


def _rolling(match: re.Match[str], today: date) -> FoundPeriod | None:
    if match["count"] in ("a", "an"):  # "how long does it last an hour"
        return None
    _, most = spans.count_of(match["count"])
    unit = say.UNITS[match["unit"]]
    if match.groupdict().get("next"):
        return None if unit == "hour" else FoundPeriod(Span(today, spans.back(unit, today, -most)), "coming", 1)
    if unit == "hour":
        return FoundPeriod(Span(spans.shift(today, -((most + 23) // 24)), today), "rolling", 1)
    return FoundPeriod(Span(spans.back(unit, today, most), today), "rolling", 1)


def _fortnight(match: re.Match[str], today: date) -> FoundPeriod:
    if match["next"]:
        return FoundPeriod(Span(today, spans.shift(today, 14)), "coming", 1)
    return FoundPeriod(Span(spans.shift(today, -14), today), "rolling", 1)


def _numbered_week(match: re.Match[str], today: date) -> FoundPeriod:
    """Of this year, where none is named, but not one to come where something has happened in it."""
    yearly, year = partial(spans.iso_week, week=int(match["w"])), _year_of(match)
    span = yearly(year or today.isocalendar().year)
    if year is None and (span is None or (span.first and span.first > today and is_over(match.string))):
        span = spans.latest(yearly, today)
    return FoundPeriod(span, "week", 2, bare=match["sure"] is None)


def _weekdays_ago(match: re.Match[str], today: date) -> FoundPeriod | None:
    """As in "two Thursdays ago": the last one before today is one."""
    count, most = spans.count_of(match["count"])
    if count != most:
        return None
    day = spans.shift(_last_weekday(match["weekday"], today), -7 * (count - 1))
    return FoundPeriod(Span(day, day), "yesterday", 1)


def _weekday_of_week(match: re.Match[str], today: date) -> FoundPeriod:
    """As in "Thursday of last week", "Donnerstag letzter Woche", "el jueves de la semana pasada"."""
    offset = 0 if match["this"] else 1 if match["next"] or match["next_behind"] else -1
    monday = spans.shift(today, 7 * offset - today.weekday())
    day = spans.shift(monday, say.WEEKDAYS[match["weekday"]])
    return FoundPeriod(Span(day, day), "yesterday" if day < today else "day", 1)


def _last_weekday(name: str, today: date) -> date:
    """The last such day before today."""
    return spans.shift(today, -((today.weekday() - say.WEEKDAYS[name] - 1) % 7 + 1))


def _weekday(match: re.Match[str], today: date) -> FoundPeriod:
    weekday = say.WEEKDAYS[match["weekday"]]
    monday = spans.shift(today, -today.weekday())
    day = _last_weekday(match["weekday"], today)
    if match["this"]:
        day = spans.shift(monday, weekday)
    elif match["next"]:
        day = spans.shift(today, (weekday - today.weekday() - 1) % 7 + 1)
    named = match["last"] or match["behind"]
    explicit = named or match["this"] or match["next"]
    return FoundPeriod(Span(day, day), "yesterday" if named else "weekday", 1, bare=not explicit)


def _vague(match: re.Match[str], today: date) -> FoundPeriod:
    first, last = say.VAGUE[match[0]]
    return FoundPeriod(Span(None if first is None else spans.shift(today, first), spans.shift(today, last)), "vague", 0)


def _rule(pattern: str, rule: Rule) -> tuple[re.Pattern[str], Rule]:
    return re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])"), rule


# Where two overlap, the longer one that begins first is taken.
_RULES: tuple[tuple[re.Pattern[str], Rule], ...] = (
    _rule(r"(?P<y>\d{4})([-/])(?P<m>\d\d)\2(?P<d>\d\d)", _iso_date),
    _rule(r"(?P<y>\d{4})-?w(?P<w>\d\d)", _iso_week),
    _rule(r"(?P<one>\d{1,2})(?P<by>[/.])(?P<two>\d{1,2})(?P=by)(?P<y>\d{4})", _slashed),
    _rule(r"(?P<one>\d{1,2})/(?P<two>\d{1,2})|(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?!\d)", _day_of_month),
    _rule(r"(?P<y>(?:19|20)\d\d)-(?P<m>\d\d)", _iso_month),
    _rule(rf"(?:the )?(?P<day>first|second|third) of (?P<month>{_MONTH}){_BY_YEAR}", _ordinal_day),
    _rule(
        rf"{_ON}(?P<day>\d{{1,2}})(?P<ordinal>{_DAY})(?:\s*(?:-|to|and|bis)\s*(?P<to>\d{{1,2}}){_DAY})?\s*{_OF}\s*"
        rf"(?P<month>{_EITHER_MONTH})\.?{_BY_YEAR}",
        _month_day,
    ),
    _rule(
        rf"{_ON}(?P<month>{_EITHER_MONTH})\.?\s+(?:the\s+)?(?P<day>\d{{1,2}})(?P<ordinal>st|nd|rd|th)?"
        rf"(?:\s*(?:-|to)\s*(?P<to>\d{{1,2}}){_DAY})?{_BY_YEAR}",
        _month_day,
    ),
    _rule(rf"(?P<month>{_EITHER_MONTH})\.?\s*{_OF}\s*{_YEAR}", _month),
    _rule(rf"{_QUALIFIER}\s+(?P<month>{_MONTH})", _month),
    _rule(rf"(?P<month>{_MONTH})", _month),
    _rule(rf"(?P<month>{_EITHER_MONTH})\.? {_YEAR_FROM_NOW}", _month),
    _rule(rf"(?P<season>{say.any_of(say.SEASONS)}) {_YEAR_FROM_NOW}", _season),
    _rule(
        rf"(?:(?:in |during )?the )?(?P<which>first|second|third|fourth|last) week (?:of|in) "
        rf"(?P<month>{_MONTH}){_BY_YEAR}",
        _week_of_month,
    ),
    _rule(rf"(?:{_QUALIFIER} )?q(?P<q>[1-4])(?:[\s/-]*(?:of )?{_YEAR})?", _quarter),
    _rule(rf"{_YEAR}[\s-]?q(?P<q>[1-4])", _quarter),
    _rule(rf"(?P<q>first|second|third|fourth) quarter of {_YEAR}", _quarter),
    _rule(rf"h(?P<h>[12])[\s/-]?{_YEAR}", _half),
    _rule(rf"(?:{_QUALIFIER}\s+)?(?P<season>{say.any_of(say.SEASONS)})(?:\s+{_OF}\s*{_YEAR})?", _season),
    _rule(rf"(?:(?:the year|jahr|el año|l'année) )?{_YEAR}", _year),
    _rule(say.any_of(say.DAYS), _near_day),
    _rule(say.TOMORROW, _near_day),
    _rule(
        rf"(?:(?P<side>earlier|later|so far|sooner) )?(?P<rolling>(?:in|over|within|during|for) the (?:last|past) |"
        rf"(?:the )?past )?(?(rolling)|(?:the |la |a |el |le )?{_QUALIFIER} )(?P<unit>{_UNIT})",
        _unit,
    ),
    _rule(rf"(?:l'|le |la |el )?(?P<unit>{_UNIT}|an) (?:{say.LAST_BEHIND}|(?P<next>{say.NEXT_BEHIND}))", _unit_behind),
    _rule(rf"(?:the )?(?P<unit>{_UNIT}) before last", _before_last),
    _rule(rf"(?:l'|la )?(?:vorletzte[nrsm]?|avant-dernière) (?P<unit>{_UNIT})", _before_last),
    _rule(rf"(?:la |el )?(?P<unit>{_UNIT}) antepasad[oa]", _before_last),
    _rule(
        r"(?:(?:in |over |during |within )?(?:the )?)(?:last|past|previous|(?P<next>next|coming)) fortnight", _fortnight
    ),
    _rule(
        rf"(?:(?P<sure>calendar week|kalenderwoche)|kw|week|woche|semaine|semana) (?P<w>(?(sure)\d\d?|\d\d)){_BY_YEAR}"
        r"(?! (?:of|der|des|de|du)\b)",
        _numbered_week,
    ),
    _rule(r"(?:the )?(?P<unit>week|weekend|month|quarter|year)", _the_unit),
    _rule(rf"(?:(?:in|within|over) )?{_THE}{_LASTS_OR_NEXTS} {_COUNT} (?P<unit>{_UNIT})", _rolling),
    _rule(rf"(?:dans |en )?{_THE}{_COUNT} {_LASTS_OR_NEXTS_BEHIND} (?P<unit>{_UNIT})", _rolling),
    _rule(rf"{_COUNT} (?P<unit>{_UNIT}) ago", _ago),
    _rule(rf"(?:vor|hace|il y a) {_COUNT} (?P<unit>{_UNIT})", _ago),
    _rule(rf"(?:in|dans|en|dentro de|daqui a|tra|fra) {_COUNT} (?P<unit>{_UNIT})(?: time)?", _ahead),
    _rule(rf"{_COUNT} (?P<weekday>{say.any_of(say.WEEKDAYS)})s? ago", _weekdays_ago),
    _rule(
        rf"(?P<weekday>{say.any_of(say.WEEKDAYS)}) (?:of |in |der |in der |de )?(?:the |la )?(?:{_QUALIFIER} "
        rf"(?:week|woche|semana|semaine)|(?:semana|semaine) (?:{say.LAST_BEHIND}|(?P<next_behind>{say.NEXT_BEHIND})))",
        _weekday_of_week,
    ),
    _rule(rf"(?:{_QUALIFIER} )?(?P<weekday>{say.any_of(say.WEEKDAYS)})(?P<behind> (?:{say.LAST_BEHIND}))?", _weekday),
    _rule(say.any_of(say.VAGUE), _vague),
)


def periods(text: str, today: date) -> list[Period]:
    """The periods that lower-case `text` names, in order and without overlap."""
    candidates = sorted(_matches(text, today), key=lambda period: (period.start, -period.end))
    chosen: list[Period] = []
    for period in candidates:
        if not chosen or period.start >= chosen[-1].end:
            chosen.append(period)
    return chosen


def _matches(text: str, today: date) -> Iterator[Period]:
    for pattern, rule in _RULES:
        for match in pattern.finditer(text):
            found = rule(match, today)
            if found and found.span:
                yield Period(match.start(), match.end(), found.span, found.kind, found.rank, found.bare, found.yearly)


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


_ARTICLE = r"(?:the |dem |den |der |das |le |la |les |el |il |o |l'|last |this |next )?"
_LEAD = re.compile(
    rf"(?<![\w'-])(?:(?:right|just|shortly|soon|back|all|even) )?(?P<word>{say.any_of(say.RELATIONS)}) {_ARTICLE}$"
)
_PART = re.compile(rf"(?<![\w'-])(?:the )?(?P<part>{say.any_of(say.PARTS)})[ -](?:in |the |des |der |de |du )?$")
_OFFSET = re.compile(
    r"(?<![\w'-])(?:(?:in|the|last) )*(?:(?P<count>\d{1,3}|a|one|two|three|four|five|six|few) )?"
    r"(?P<unit>day|week|weekend|month|year)s? (?P<side>before|after) (?:the )?$"
)
_ITS_END = re.compile(r"(?:the )?(?:end of|ende|fin|finales de)\b")
_WEEK_OF = re.compile(r"\b(?:the )?week of (?:the )?$")
_REPEATED = re.compile(
    r"\b(?:every|each|any|most|least|more|how|many|jeden|jede[sr]?|chaque|cada|per)(?: the| last| first)? $"
)
_RECURRING = re.compile(r"(?:'s)?\s+(?:mornings|afternoons|evenings|nights|used\b)")
_RETAINED = re.compile(r"\s+(?:of|retention)\b")
_NO_SEASON = re.compile(
    r"\s+(?:\d|mode\b|boot|framework|cloud|data|security|mvc|bean|batch|cleaning|intern\w*|school|job|time|back)\b"
)
_YEAR_ENDS = re.compile(
    r"\s*(?:$|[?.!,;:)]|'s\b|(?:we|i|you|they|he|she|it|the|a|our|my|what|which|who|how|why|when|where|did|was|were|is|"
    r"are|and|or|to|for|on|at|with|by|about|from|until|vs|but|that|as|has|had|have|compared|before|after|through)\b)"
)
_DAY_LEADS = frozenset(
    "on am le el il before by until till since vor bis seit nach avant hasta after".split()  # noqa: SIM905
) | {"bis zum", "antes del", "prima del", "antes do"}
_YEAR_LEADS = frozenset({"in", "during", "throughout", "from", "im", "en", "within"})
_JOINS = {"to", "until", "till", "through", "-", "bis", "hasta", "au", "a", "à", "al"}
_PAIRS = {"and", "or", "und", "y", "et", "&"}
_PAIR_LEAD = re.compile(r"\b(?:between|from|in|during|zwischen|von|entre|de|del|desde|du)(?: the| le| el)? $")


def windows(text: str, today: date) -> list[PeriodPhrase]:
    found = periods(text, today)
    read: list[PeriodPhrase] = []
    at = 0
    while at < len(found):
        pair = _pair(text, found[at], found[at + 1]) if at + 1 < len(found) else None
        window = pair or _window(text, found[at])
        at += 2 if pair else 1
        if window:
            read.append(window)
    return read


def _pair(text: str, one: Period, other: Period) -> PeriodPhrase | None:
    """As in "between March and May", "2026-01-01 to 2026-01-31"; a year that is said once is for both."""
    between, lead = text[one.end : other.start].strip(), _PAIR_LEAD.search(text[: one.start])
    sure = not (one.bare or other.bare)
    if not ((between in _JOINS and (lead or sure)) or (between in _PAIRS and lead)) or not other.span.last:
        return None
    if "year" in (one.kind, other.kind) and not _YEAR_ENDS.match(text, other.end):
        return None
    first = (one.yearly and other.span.first and spans.latest(one.yearly, other.span.first)) or one.span
    start = lead.start() if lead else one.start
    both = spans.joined(first, other.span)
    return PeriodPhrase(start, other.end, both, both, other.kind, max(one.rank, other.rank))


def _window(text: str, period: Period) -> PeriodPhrase | None:
    """The period with what stands before it: a part of it, a preposition; None where it is no time after all."""
    before = text[: period.start]
    if _REPEATED.search(before) or _RECURRING.match(text, period.end) or _named_thing(before, period):
        return None
    if period.kind == "rolling" and _RETAINED.match(text, period.end):
        return None
    if offset := _OFFSET.search(before):
        return _offset(offset, period)
    span, kind, start = _narrowed(before, period)
    lead = _LEAD.search(text[:start])
    relation = say.RELATIONS[lead["word"]] if lead else "during"
    if lead and lead["word"] == "by" and kind == "weekday" and span.last:
        span = spans.unit_around("day", span.last, 7)  # "by Friday" is the next one
    if kind in ("vague", "ago", "about") and relation == "during":
        lead = None
    if not _is_time(text, period, lead["word"] if lead else None, part=kind == "part"):
        kind = "mention"
        if not _is_mention(text, period):
            return None
    if (
        lead
        and lead["word"] == "from"
        and (onwards := re.match(r" (?:on|onwards?|forward|(?:to|until|till) now)\b", text[period.end :]))
    ):
        return PeriodPhrase(
            lead.start(), period.end + onwards.end(), Span(span.first, None), span, kind, period.rank, "since"
        )
    if kind == "part" and relation == "before" and _ITS_END.match(text, start):
        span = Span(span.last and spans.shift(span.last, 1), span.last)  # before the end, and not before the last part
    start, rank = lead.start() if lead else start, 0 if kind == "mention" else period.rank
    return PeriodPhrase(start, period.end, related(span, relation), span, kind, rank, relation)


def _narrowed(before: str, period: Period) -> tuple[Span, str, int]:
    """The part of the period, or the week of the day, that the words before it mean: its days, kind and start."""
    if (part := _PART.search(before)) and period.kind not in ("day", "yesterday", "today", "weekday", "vague"):
        return spans.share(period.span, *say.PARTS[part["part"]]), "part", part.start()
    if (week := _WEEK_OF.search(before)) and period.span.first:
        return spans.unit_around("week", period.span.first), "week", week.start()
    return period.span, period.kind, period.start


def _named_thing(before: str, period: Period) -> bool:
    """Whether a number is the name of something: "version 2024-01", "RFC 2025"."""
    words = before.split()
    return period.kind in ("day", "month", "week", "year") and bool(words) and words[-1].strip(":.#'") in say.LABELS


def _is_time(text: str, period: Period, lead: str | None, *, part: bool) -> bool:
    match period.kind:
        case "day" if period.bare:
            return lead in _DAY_LEADS
        case "year" if period.bare:
            related = lead and (lead in _YEAR_LEADS or say.RELATIONS[lead] != "during")
            return bool(part or related) and bool(_YEAR_ENDS.match(text, period.end))
        case "season" | "in season":
            return (part or not period.bare or bool(lead)) and not _NO_SEASON.match(text, period.end)
        case "the weekend":
            return bool(lead)
        case kind if kind.startswith("the "):
            return part
    return part or not period.bare or bool(lead) or period.kind == "quarter"


def _is_mention(text: str, period: Period) -> bool:
    """As in "the August close", "July incident": a month leans the ranking, unless it may be a person's name."""
    name = text[period.start : period.end]
    sure = name not in say.ALSO_NAMES | say.ALSO_WORDS or text[: period.start].endswith("the ")
    return period.kind == "month" and sure


def _offset(match: re.Match[str], period: Period) -> PeriodPhrase | None:
    """As in "the week before 16 November", "two weeks before 11 August"."""
    anchor = period.span.first if match["side"] == "before" else period.span.last
    if anchor is None:
        return None
    least, most = spans.count_of(match["count"] or "a")
    sign = 1 if match["side"] == "before" else -1
    nearest, furthest = sorted((sign * least, sign * most))
    if match["count"] in (None, "a"):
        days = {"day": 1, "week": 7, "weekend": 7, "month": 30, "year": 365}[match["unit"]]
        far, near = spans.shift(anchor, -sign * days), spans.shift(anchor, -sign)
        span = Span(min(far, near), max(far, near))
    else:
        span = spans.distance(match["unit"], nearest, furthest, anchor)
    return PeriodPhrase(match.start(), period.end, span, span, "offset", period.rank)


def related(span: Span, relation: str) -> Span:
    match relation:
        case "before":
            return Span(None, span.first and spans.shift(span.first, -1))
        case "after":
            return Span(span.last and spans.shift(span.last, 1), None)
        case "since":
            return Span(span.first, None)
        case "until":
            return Span(None, span.last)
    return span
