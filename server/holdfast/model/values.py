"""Values as they are spelled: which times, days, durations, measures, sums and counts of two texts are the same.

"Half past seven in the evening" and 19:30, 1 March and 2026-03-01, two weeks and 14 days are one value each. A value
has readings: 01/03 is a day of January or of March, "8 h" eight hours or eight o'clock. Two values are alike where a
reading of one agrees with one of the other. Nothing is known beyond the text: a day without a year agrees with that
of any year, an hour without a part of the day with either.

English is read in full; of German, French and Spanish the words for numbers, units, months and times of the day; of
Italian and Portuguese those for months.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from holdfast.model.numbers import (
    ANY_MONTH,
    BEHIND_DIGITS,
    FIRST_ELSEWHERE,
    FIRST_TO_TWELFTH,
    NUMBER_WORDS,
    NUMBERED,
    PARTS,
    SCALES,
    by_words,
    one_of,
    written_numbers,
)
from holdfast.model.words import any_of, lowered, plainly, regex, table_text

LONGEST, MOST = 4000, 100  # characters of a text that are looked at, and values of it


class Reading(NamedTuple):
    """What a value may be: of a kind, so much of it, and what tells it apart besides.

    Of a time of the day `much` are the minutes and `more` how it is told (`_ANY_HALF` and so on); of a day `much` is
    month * 100 + day and `more` the year or 0; of a bare number `more` counts the digits behind its point.
    """

    kind: str
    much: Fraction | int
    more: int = 0


_ANY_HALF, _PERHAPS_24, _OF_12, _OF_24 = range(4)  # "two o'clock"; "7:30"; "7:30 pm"; "19:30", "07:30", "noon"
_UNITS = table_text(__file__, "units.txt")
_CURRENCY_FIRST = "US$ $ € £ ¥ EUR USD GBP CHF JPY"
_MONTHS_OR_WORDS = frozenset({"may", "mar"})  # months with a capital alone
_NAMED = {
    Reading("day", 1231): "new year's eve|silvester|saint-sylvestre|nochevieja",
    Reading("day", 101): "new year's day|neujahr|neujahrstag|jour de l'an|año nuevo",
    Reading("day", 1224): "christmas eve|heiligabend|heiliger abend|veille de noël|nochebuena",
    Reading("day", 1225): "christmas day|jour de noël|día de navidad",
    Reading("day", 1226): "boxing day",
    Reading("day", 1031): "halloween",
    Reading("day", 214): "valentine's day|valentinstag|saint-valentin|san valentín",
    Reading("clock", 720, _OF_24): "noon|12 noon|twelve noon|midday|mediodía|midi",
    Reading("clock", 0, _OF_24): "midnight|12 midnight|mitternacht|minuit|medianoche",
    Reading("times", 2): "twice|zweimal",
    Reading("times", 3): "thrice|dreimal",
}
_PARTS_OF_DAY = {
    "am": "in the morning|in the early morning|morgens|vormittags|früh|am morgen|am vormittag|du matin|de la mañana|"
    "de la madrugada",
    "pm": "in the afternoon|in the early afternoon|in the evening|in the early evening|nachmittags|abends|mittags|"
    "am nachmittag|am abend|de l'après-midi|du soir|de la tarde",
    "night": "at night|nachts|in der nacht|de la nuit|de la noche",
}
_BEFORE_HOUR = {  # and how many minutes it adds
    "half past": 30, "half": 30, "halb": -30, "dreiviertel": -15, "fünf vor halb": -35, "fünf nach halb": -25,
    "quarter to": -15, "a quarter to": -15, "quarter past": 15, "a quarter past": 15,
    **{f"{word}{unit} past": much for word, much in (("five", 5), ("ten", 10), ("twenty", 20), ("twenty five", 25))
       for unit in ("", " minutes")},
    **{f"{word} minutes to": -much for word, much in (("five", 5), ("ten", 10), ("twenty", 20), ("twenty five", 25))},
    **{f"{word} nach": much for word, much in (("fünf", 5), ("zehn", 10), ("viertel", 15), ("zwanzig", 20))},
    **{f"{word} vor": -much for word, much in (("fünf", 5), ("zehn", 10), ("viertel", 15), ("zwanzig", 20))},
}  # fmt: skip
_BEHIND_HOUR = {
    "et quart": 15, "et demi": 30, "et demie": 30, "moins quart": -15, "moins le quart": -15,
    "y media": 30, "y cuarto": 15, "menos cuarto": -15,
}  # fmt: skip
_LABELS = NUMBERED | frozenset("version v release python node java port gate berth bus tram pier".split())  # noqa: SIM905 - as above
_NO_COUNT = frozenset("this that the other which each every no any another new old next last".split())  # noqa: SIM905 - as above
_DAY, _HALF_DAY, _HOURS, _NOON = 1440, 720, 24, 12  # minutes, and hours
_MOST_OF_ARTICLES, _MOST_DAYS, _MOST_MONTHS = 2, 31, 12
_LOOKED_BACK = 30  # characters in which stands what belongs to a number


@dataclass(frozen=True, slots=True)
class Value:
    """A value in a text: where it stands, how it is written, and its readings."""

    start: int
    end: int
    written: str
    readings: tuple[Reading, ...]

    def is_like(self, other: Value) -> bool:
        """Whether they may be the same. Of two that are unclear in the same way, both are read in one."""
        if [each.kind for each in self.readings] == [each.kind for each in other.readings]:
            both = map(_agree, self.readings, other.readings)
            return all(both) if self.readings[0].kind == "clock" else any(both)
        return any(_agree(one, its) for one in self.readings for its in other.readings)


def spelled_as(one: str, other: str) -> str:
    """The other text, with each value of it that the one text spells in another way spelled as there.

    Where they have no such values it is the very same string.
    """
    mine = values(one)
    its = values(other) if mine else ()
    if not its or _kinds(one[:LONGEST]).isdisjoint(_kinds(other[:LONGEST])):
        return other
    spellings = {plainly(value.written) for value in mine}
    parts, at = [], 0
    for value in its:
        like = [] if plainly(value.written) in spellings else [each for each in mine if each.is_like(value)]
        one_value = [*like, *(each for each in its if like and each.is_like(like[0]))]
        is_one = all(each.is_like(value) and each.is_like(like[0]) for each in one_value)  # not "from 8:00 to 20:00"
        if like and is_one:
            parts += [other[at : value.start], like[0].written]
            at = value.end
    return "".join([*parts, other[at:]]) if parts else other


def values(text: str) -> tuple[Value, ...]:
    """The values of the beginning of a text, in order."""
    return _values(text[:LONGEST])


@lru_cache(2048)
def _kinds(text: str) -> frozenset[str]:
    """What the values of a text may be: those of no kind in common are not like each other."""
    return frozenset(each.kind for value in _values(text) for each in value.readings)


def _agree(one: Reading, other: Reading) -> bool:
    if one.kind != other.kind:
        return False
    if one.kind == "clock":
        return _are_one_time(*sorted((one, other), key=lambda each: each.more))
    if one.kind in {"day", "month of"}:
        return one.much == other.much and (one.more == other.more or 0 in (one.more, other.more))
    return one[1:] == other[1:]


def _are_one_time(less: Reading, more: Reading) -> bool:
    """Two times of the day, the one that says less of the half of the day first."""
    if less.more == _ANY_HALF or (less.more == _PERHAPS_24 and more.more == _OF_12):
        return less.much % _HALF_DAY == more.much % _HALF_DAY
    return less.much == more.much


# --- times of the day and days --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Text:
    """A text to be read: `low` is in small plain letters, `cased` as it is; a place in one is that in the other."""

    low: str
    cased: str

    def value(self, start: int, end: int, *readings: Reading) -> Value:
        """Without the point that ends a sentence behind "p.m."."""
        if self.low[end - 1] == "." and self.cased[end + 1 : end + 2].isupper():
            end -= 1
        return Value(start, end, self.cased[start:end], readings)


@cache
def _hour_patterns() -> tuple[re.Pattern[str], ...]:
    """Of a time with a colon or a point; of what stands behind an hour; of what stands before one."""
    tail = (
        r"(?:\s?(?:(?P<half>[ap])\.?\s?m(?!\w|\s\w+(?:tag|woch|abend|morgen)\b)(?:\.(?=,|\s[a-z]))?|"
        rf"(?P<part>{one_of(_PART_OF_DAY)})(?!\w)))?"
    )
    colon = (
        r"(?<![\w:.,/])(?P<hour>\d{1,2})(?P<mark>[:.])(?P<minute>[0-5]\d)(?!\d|[:.,]\d)(?P<unit>\s?(?:uhr|h)(?!\w))?"
    )
    behind = (
        r"(?:\s?(?P<unit>uhr(?!\w)|heures?(?!\w)|o'?\s?clock(?!\w)|h(?![^\W\d]))"
        r"(?:\s?(?P<minute>[0-5]\d)(?!\w|[:.,/]\d|\s?min))?)?"
        rf"(?:\s(?P<more>{one_of(_BEHIND_HOUR)})(?!\w))?"
    )
    phrases = one_of(_BEFORE_HOUR.keys() - {"half"})
    minutes = r"(?P<minutes>\d\d?)(?:\sminutes?\s(?P<to>to)|(?:\sminutes?)?\spast)"
    before = rf"(?<!\w)(?:(?P<phrase>{phrases}|(?<=at\s)half)|{minutes})\s\Z"
    return tuple(map(re.compile, (colon + tail, behind + tail, before)))


_PART_OF_DAY = by_words(_PARTS_OF_DAY)
_MINUTES = {plainly(words): minutes for words, minutes in (*_BEFORE_HOUR.items(), *_BEHIND_HOUR.items())}
_AT, _AT_SPANISH = regex(r"(?<!\w)(?:at|um)\s\Z"), regex(r"(?<!\w)a\slas?\s\Z")
_FROM = regex(r"(?<!\w)(?:at|by|from|to|till?|until|around|about|um|ab|bis|gegen|a|de|vers|las?)\s\Z")
_NO_NOUN = regex(
    r"\W*\Z|[.,;:!?)]|\s(?:on|every|each|in|for|today|tomorrow|tonight|and|or|to|till|until|because|since|so|as|now|from"
    r"|instead|sharp|im|bis|und)\b"
)


def _clocks(text: _Text) -> Iterator[Value]:
    """Times of the day with their minutes."""
    for found in _hour_patterns()[0].finditer(text.low):
        hour = int(found["hour"])
        told = _OF_24 if found["hour"][0] == "0" or hour == _NOON else _PERHAPS_24  # nobody writes 00:00 as 12:00
        is_told = found["mark"] == ":" or "uhr" in (found["unit"] or "") or found["half"] or found["part"]
        if is_told and (time := _time(hour, int(found["minute"]), found, told)):
            yield text.value(*found.span(), time)


def _clock(text: _Text, number: Number) -> Value | None:
    """A time of the day of which the hour is this number."""
    hour, start = number.whole, number.start
    found = _hour_patterns()[1].match(text.low, number.end)
    if not 0 <= hour <= _HOURS or number.form == "ordinal" or found is None:
        return None
    unit = found["unit"] or ""
    phrase = _hour_patterns()[2].search(text.low, max(0, start - _LOOKED_BACK), start)
    is_of_day = found["part"] and (unit or _FROM.search(text.low, max(0, start - 8), start))  # not "2 in the morning"
    is_told = phrase or found["half"] or found["more"] or is_of_day or (unit and (unit[0] != "h" or hour < _HOURS))
    is_bare = (
        found.end() == number.end
        and _AT.search(text.low, max(0, start - 3), start)
        and _NO_NOUN.match(text.low, number.end)
    )
    if not (is_told or is_bare or _AT_SPANISH.search(text.low, max(0, start - 6), start)):
        return None
    minutes, is_open = int(found["minute"] or _MINUTES.get(plainly(found["more"] or ""), 0)), number.form == "words"
    if phrase:
        its = _MINUTES[plainly(phrase["phrase"])] if phrase["phrase"] else int(phrase["minutes"])
        minutes, start, is_open = -its if phrase["to"] else its, phrase.start(), True
    is_open = is_open or "clock" in unit or bool(found["more"])
    time = _time(hour, minutes, found, _OF_24 if number.padded else _ANY_HALF if is_open else _PERHAPS_24)
    readings: tuple[Reading, ...] = (time,) if time else ()
    if unit[:1] == "h" and not (found["part"] or found["half"]):
        readings += (Reading("s", 3600 * number.amounts[0] + 60 * minutes),)
    if is_bare or not is_told:
        readings += _counted(text, number)
    return text.value(start, found.end(), *readings) if time else None


def _time(hour: int, minutes: int, found: re.Match[str], told: int) -> Reading | None:
    """The minutes of an hour, by what stands behind it of the half or the part of the day."""
    if hour > _HOURS:
        return None
    is_half = found["half"] and "uhr" not in (found["unit"] or "")  # "um 12 Uhr am Tor"
    half = f"{found['half']}m" if is_half else _PART_OF_DAY.get(plainly(found["part"] or ""), "")
    if half == "night":
        half = "pm" if _NOON / 2 <= hour < _NOON else "am"
    if half and hour <= _NOON:
        hour, told = hour % _NOON + (_NOON if half == "pm" else 0), _OF_12
    elif hour > _NOON or hour == 0:
        told = _OF_24
    return Reading("clock", (60 * hour + minutes) % _DAY, told)


@cache
def _day_patterns() -> tuple[re.Pattern[str], ...]:
    """Of days in figures, of a month's name behind a day, of one before it, and of what has a name of its own."""
    year = r"(?P<year>(?:19|20)\d\d)(?!\d|[.,]\d)"
    figures = (
        r"(?<![\w./:-])(?:(?P<y>\d{4})(?P<first>[-/.])(?P<m>\d\d)(?P=first)(?P<d>\d\d)"
        r"|(?P<one>\d\d?)(?P<mark>[./-])(?P<two>\d\d?)(?P=mark)(?P<last>\d{4}|\d\d)"
        r"|(?P<only>\d\d?)/(?P<other>\d\d?)|(?P<ym>\d{4})-(?P<my>\d\d))(?![\w/:-]|[.,]\d)"
        r"|(?<=\b(?:am|ab)\s)(?P<day>\d\d?)\.(?P<month>\d\d?)\.(?!\d)"
    )
    behind = rf"(?:er|\.|\u00ba)?\s(?:of\s|de\s)?(?P<month>{one_of(ANY_MONTH)})(?!\w)(?:\.?,?\s(?:del?\s)?{year})?"
    before = rf"(?<!\w)(?P<month>{one_of(ANY_MONTH)})\.?\s(?:the\s)?\Z"
    named = rf"(?<!\w)(?P<name>{one_of(_NAME)})(?!\w)(?:,?\s{year})?"
    return tuple(map(re.compile, (figures, behind, before, named, rf",?\s{year}")))


_NAME = by_words(_NAMED)


def _days(text: _Text) -> Iterator[Value]:
    """Days and months in figures, and what has a name. Of 01/03 either may be the month."""
    for found in _day_patterns()[0].finditer(text.low):
        year = found["y"] or found["last"] or found["ym"] or "0"
        more = int(year) + (2000 if len(year) == len("26") else 0)
        day = int(found["d"] or found["one"] or found["only"] or found["day"] or 0)
        month = int(found["m"] or found["two"] or found["other"] or found["month"] or found["my"])
        orders = [(day, month), (month, day)] if found["mark"] in {"/", "-"} or found["only"] else [(day, month)]
        readings = [_day(*order, more) for order in orders]
        if found["my"] and 0 < month <= _MOST_MONTHS:
            readings = [Reading("month of", month, more)]
        if readings := [each for each in readings if each.much]:
            yield text.value(*found.span(), *readings)
    for found in _day_patterns()[3].finditer(text.low):
        named = _NAME[plainly(found["name"])]
        if named.kind == "day":
            yield text.value(*found.span(), named._replace(more=int(found["year"] or 0)))
        else:
            yield text.value(*found.span("name"), named)


def _day(day: int, month: int, year: int) -> Reading:
    """A day; of what is none nothing is much."""
    is_day = 0 < day <= _MOST_DAYS and 0 < month <= _MOST_MONTHS
    return Reading("day", 100 * month + day if is_day else 0, year)


def _date(text: _Text, number: Number) -> Value | None:
    """A day of a month with a name, before or behind it; or a month of a year."""
    _, behind, before, _, year_behind = _day_patterns()
    start, end, whole, year = number.start, number.end, number.whole, ""
    found = behind.match(text.low, end) if 0 < whole <= _MOST_DAYS else None
    if found:
        year, end = found["year"] or "", found.end()
        start -= 4 * text.low.endswith("the ", 0, start)
    elif found := before.search(text.low, max(0, start - _LOOKED_BACK), start):
        start, its_year = found.start(), year_behind.match(text.low, end)
        year, end = (its_year["year"], its_year.end()) if its_year else (year, end)
    if not found or not (text.cased[found.start("month")].isupper() or found["month"] not in _MONTHS_OR_WORDS):
        return None
    month = ANY_MONTH[found["month"]]
    if 1900 <= whole < 2100:  # noqa: PLR2004 - years
        return text.value(start, number.end, Reading("month of", month, whole))
    day = _day(whole, month, int(year or 0))
    return text.value(start, end, day) if day.much else None


# --- measures, sums and counts --------------------------------------------------------------------


@cache
def _units() -> dict[str, tuple[tuple[str, Fraction], ...]]:
    """Of each word the kinds that it may measure, and how much it is."""
    units: dict[str, tuple[tuple[str, Fraction], ...]] = {}
    for found in re.finditer(r"^(\S+): (.*(?:\n .*)*)", _UNITS, re.MULTILINE):
        for unit in found[2].split(";"):
            factor, *words = unit.split()
            for word in dict.fromkeys(plainly(word.replace("_", " ")) for word in words):
                units[word] = (*units.get(word, ()), (found[1], Fraction(factor)))
    return units


_AND_A_HALF = r"\s(?:and\sa\shalf|et\sdemie?|y\smedi[ao])(?!\w)"


@cache
def _unit_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Of a unit behind a number, and of a currency before one."""
    behind = rf"[ -]?(?P<unit>{one_of(_units())})(?!\w)(?P<half>{_AND_A_HALF})?"
    return re.compile(behind), re.compile(rf"(?<![^\W\d])(?P<unit>{one_of(_CURRENCY_FIRST.split())})\s?\Z")


def _measure(text: _Text, number: Number) -> Value | None:
    """A number with its unit or currency."""
    start, end = number.start, number.end
    found = _unit_patterns()[0].match(text.low, end)
    first = None if number.form == "article" else _unit_patterns()[1].search(text.low, max(0, start - 5), start)
    if found and not _is_unit(text, number, found):
        found = None
    told = first or found
    if number.form == "ordinal" or told is None:
        return None
    units, more, times = _units()[plainly(told["unit"])], Fraction(0), 1
    if first:
        start, times = first.start(), 10**6 if found and found.group() == "m" else 1
        found = found if found and (times > 1 or _units()[plainly(found["unit"])] == units) else None
    elif found and found.group() == "m":  # as of a timeout
        units = (*units, ("s", Fraction(60)))
    if found and found["half"]:
        more = Fraction(1, 2)
    most = (max(number.amounts),)  # 1.000 euros are a thousand
    readings = (
        Reading(kind, (amount + more) * times * of)
        for kind, of in units
        for amount in (most if kind.isupper() else number.amounts)
    )
    return text.value(start, found.end() if found else end, *readings)


_OFTEN = regex(
    r"(?:\b(?:times|once|twice|often|much|hours?|minutes?|days?|weeks?|euros?|dollars?|pounds?|k?g|mg|ml|l|km|miles)|[€$£%])\s\Z"
)
_OR = regex(r"\b(?:\d+|an?|one|two|three|four|five|six|eine?|zwei|drei|vier)\s(?:to|or|and|bis|oder|und|ou|o|y)\s\Z")


def _is_unit(text: _Text, number: Number, found: re.Match[str]) -> bool:
    """Not "a second office", "an m", "5 M", "twice a day", "two or three weeks", "half a day"."""
    before = text.low[max(0, number.start - _LOOKED_BACK) : number.start]
    is_half_a_day = found["unit"] in {"day", "tag"} and number.amounts[0].denominator > 1
    if is_half_a_day or _OR.search(before) or (number.form == "article" and _OFTEN.search(before)):
        return False
    if number.form == "article" and (len(found["unit"]) < len("day") or found["unit"] in {"second", "times", "mal"}):
        return False
    return text.cased[slice(*found.span("unit"))] not in {*"MTGSDH", "Kb", "kb", "Mb", "Gb", "Tb"}


def _count(text: _Text, number: Number) -> Value | None:
    """A number alone: how many there are, or the number that something has."""
    readings = _counted(text, number)
    return text.value(number.start, number.end, *readings) if readings else None


_WORD_BEFORE = regex(r"(?P<word>[^\W\d_][\w-]*)\.?\s(?:no\.\s|#)?\Z")
_NOUN_BEHIND = regex(r"[\s-](?!of\b)\w")


def _counted(text: _Text, number: Number) -> tuple[Reading, ...]:
    if number.form == "ordinal":
        return (Reading("ordinal", number.amounts[0]),)
    is_in_a_word = text.low[number.end : number.end + 1].isalnum()
    if number.form == "article" or number.padded or is_in_a_word:
        return ()
    found = _WORD_BEFORE.search(text.cased, max(0, number.start - _LOOKED_BACK), number.start)
    word = plainly(found["word"]) if found else ""
    if found and (word in _LABELS or (found["word"][0].isupper() and _is_inside(text.cased[: found.start()]))):
        return (Reading(f"number of {word}", max(number.amounts), number.decimals),)
    is_one = number.form == "words" and number.whole == 1
    if is_one and (word in _NO_COUNT or not _NOUN_BEHIND.match(text.low, number.end)):
        return ()
    return (Reading("count", max(number.amounts), number.decimals),)


def _is_inside(before: str) -> bool:
    """Whether a sentence has begun before."""
    before = before.rstrip(" *_-#>")
    return bool(before) and before[-1] not in ".!?:\n"


# --- the values of a text -------------------------------------------------------------------------

_FIGURE = regex(r"[\d\u00bd\u00bc\u00be]|halb|und\w*zig|hundert|tausend")


@cache
def _telling() -> frozenset[str]:
    """Words of which one is in every text that has a value without a figure."""
    keys = (*_units(), *FIRST_TO_TWELFTH, *FIRST_ELSEWHERE, *_NAME, *NUMBER_WORDS, *SCALES, "half")
    return frozenset(word for key in keys for word in re.split(r"[ ']", key) if len(word) > len("am"))


_JOINED = regex(r"\s|\s(?:and|und|et|y)\s")
_OF_A_SUM = 3600  # seconds and such: "14 days and 24 hours" are two values
_SUMS = frozenset({"s", "month", "g", "oz", "mm", "inch", "ml"})


@lru_cache(2048)  # one text is compared with many
def _values(text: str) -> tuple[Value, ...]:
    low = lowered(text)
    if not _FIGURE.search(low) and _telling().isdisjoint(re.findall(r"[^\W\d_]+", low)):
        return ()
    return _summed(_read(_Text(low, text)), low, text)[:MOST]


def _read(text: _Text) -> list[Value]:
    found: list[Value] = []
    for value in sorted((*_days(text), *_clocks(text)), key=lambda value: (value.start, -value.end)):
        if not found or value.start >= found[-1].end:
            found.append(value)
    taken = frozenset(place for value in found for place in range(value.start, value.end))
    read: list[Value] = []
    for number in numbers(text.low, text.cased):
        if not taken.isdisjoint(range(number.start, number.end)) or (read and number.start < read[-1].end):
            continue
        each = next(filter(None, (kind(text, number) for kind in (_date, _clock, _measure, _count))), None)
        if each is not None:
            while read and read[-1].end > each.start:
                read.pop()
            read.append(each)
    return sorted((*found, *read), key=lambda value: value.start)


def _summed(found: Sequence[Value], low: str, cased: str) -> tuple[Value, ...]:
    """With "1 hour 30 minutes" as one value."""
    summed: list[Value] = []
    for value in found:
        last = summed[-1] if summed else value
        more = tuple(
            Reading(one.kind, one.much + other.much)
            for one in last.readings
            for other in value.readings
            if one.kind == other.kind and one.kind in _SUMS and other.much < min(one.much, _OF_A_SUM)
        )
        if more and _JOINED.fullmatch(low, last.end, value.start):
            summed[-1] = Value(last.start, value.end, cased[last.start : value.end], more)
        else:
            summed.append(value)
    return tuple(summed)


def _number_of(words: str) -> Fraction:
    """The number that such words tell."""
    total, current = 0, 0
    for word in re.findall(any_of((*NUMBER_WORDS, *SCALES)), words.lower().replace("-", " ")):
        if word not in SCALES:
            current += NUMBER_WORDS[word]
        elif SCALES[word] < SCALES["thousand"]:
            current = (current or 1) * SCALES[word]
        else:
            total, current = total + (current or 1) * SCALES[word], 0
    return Fraction(total + current)


def _amounts(digits: str) -> tuple[tuple[Fraction, ...], int]:
    """What digits may stand for, none for what is no number; and how many stand behind the point.

    Three digits behind a comma are thousands, and behind a point they may be: as 1.250 is written in German.
    """
    plain = re.sub(r"[ ']", "", digits)
    marks = [mark for mark in plain if mark in ".,"]
    if not marks:
        return (Fraction(plain),), 0
    head, tail = re.split(r"[.,](?=\d*\Z)", plain)
    groups = re.split(r"[.,]", head)
    are_thousands = 0 < len(groups[0]) <= 3 and groups[0][0] != "0" and all(len(each) == 3 for each in groups[1:])  # noqa: PLR2004
    whole, point = "".join(groups), Fraction(f"{''.join(groups)}.{tail}")
    if len(marks) > 1:
        if not are_thousands or len(set(marks[:-1])) > 1:
            return (), 0
        if marks[-1] != marks[0]:
            return (point,), len(tail)
        return ((Fraction(whole + tail),), 0) if len(tail) == 3 else ((), 0)  # noqa: PLR2004 - a group
    if len(tail) == 3 and are_thousands:  # noqa: PLR2004 - as above
        return ((Fraction(whole + tail),), 0) if marks == [","] else ((Fraction(whole + tail), point), 0)
    return (point,), len(tail)


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a text: where it stands, what it may be, how many digits stand behind its point.

    `form` tells how it is written. An article ("an hour", "half a litre") is a number before a unit alone.
    """

    start: int
    end: int
    amounts: tuple[Fraction, ...]
    form: Literal["digits", "words", "ordinal", "article"]
    decimals: int = 0
    padded: bool = False

    @property
    def whole(self) -> int:
        """Of what may be an hour or a day of a month; -1 for what can be none."""
        is_whole = self.amounts[0].denominator == 1 and not self.decimals and self.form != "article"
        return int(self.amounts[0]) if is_whole and len(self.amounts) == 1 else -1


def numbers(low: str, cased: str) -> Iterator[Number]:
    """The numbers of a text, given as it is and in small plain letters (`lowered`)."""
    for found in written_numbers().finditer(low):
        half = Fraction(1, 2) if found["half"] else Fraction(0)
        if found["digits"]:
            read, decimals = _amounts(found["digits"])
            more, times = half + PARTS.get(found["part"], 0), BEHIND_DIGITS.get(found["scale"], 1)
            form: Literal["digits", "ordinal"] = "ordinal" if found["suffix"] else "digits"
            is_padded = found["digits"][0] == "0" and found["digits"][1:2].isdecimal()
            if read:
                given = tuple((amount + more) * times for amount in read)
                yield Number(*found.span(), given, form, decimals if times == 1 else 0, is_padded)
        elif found["words"]:
            if not cased[slice(*found.span("words"))].isupper() and found["words"] != "null":  # DOS
                yield Number(*found.span(), (_number_of(found["words"]) + half,), "words")
        elif found["ordinal"]:
            place = FIRST_TO_TWELFTH.index(found["ordinal"]) if found["ordinal"] in FIRST_TO_TWELFTH else 0
            yield Number(*found.span(), (Fraction(place + 1),), "ordinal")
        else:
            amount = PARTS[plainly(found["some"] or found["article"])] + half
            yield Number(*found.span(), (amount,), "words" if amount > _MOST_OF_ARTICLES else "article")


_AVERSE = regex(r"\b(?:can(?:'t|not) stand|(?:do|does)(?:n't| not) like|(?:hate|detest|loathe)s?(?: to \w+)?)\b")
_NUMBER_OF, _BEGIN = regex(r"\bno\.? (?=\d)", re.IGNORECASE), regex(r"\bbegin(s?)\b")
_BECAUSE = regex(r"(?<=\w),? because (?!of\b)[^.;!?]*", re.IGNORECASE)


def in_one_wording(text: str) -> str:
    """A sentence without its reason, and with one word for what several say: "begins", "starts"; "can't stand"."""
    plain = _NUMBER_OF.sub("number ", _BECAUSE.sub("", text.replace("\u2019", "'")))
    return _BEGIN.sub(r"start\1", _AVERSE.sub("dislikes", plain))


_HALF_HOUR = regex(r"\bhalf(?: an |-)hour\b", re.IGNORECASE)
_CONTRACTED = regex(r"\b(?:(can)'t|(\w+)n't)\b", re.IGNORECASE)


def unshortened(text: str) -> str:
    """A text with "not" for "n't", and a half hour in minutes."""
    return _CONTRACTED.sub(r"\1\2 not", _HALF_HOUR.sub("30 minutes", text.replace("\u2019", "'")))


_TURNED = (("most", "least"), ("before", "after"), ("above", "below"), ("over", "under"), ("from", "until"))


def are_turned(words: Collection[str], others: Collection[str]) -> bool:
    """Whether one text has a word that turns what the other says: "at most", "at least"."""
    return any((a in words) != (a in others) and (b in words) != (b in others) for a, b in _TURNED)
