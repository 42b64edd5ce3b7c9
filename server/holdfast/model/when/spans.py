"""Stretches of whole days, and the words for them: weeks from Monday, months, quarters, seasons, years, their parts.

No day leaves the years 1 to 9999: what would is cut off there.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, timedelta, tzinfo

from holdfast.model.note import instant
from holdfast.model.words import any_of, regex, table_text, tables

_SECOND = timedelta(seconds=1)
_SEARCHED_YEARS = 9  # a leap day is at most eight years away

# Days in a unit, near enough to widen or to shift by.
UNIT_DAYS = {
    "hour": 0, "day": 1, "week": 7, "weekend": 7, "fortnight": 14, "month": 30, "quarter": 91, "half": 182, "year": 365
}  # fmt: skip
_UNIT_MONTHS = {"month": 1, "quarter": 3, "half": 6, "year": 12}


@dataclass(frozen=True, slots=True)
class Span:
    """From `first` to `last`, both included; None is open."""

    first: date | None
    last: date | None


Yearly = Callable[[int], Span | None]  # what a year has of it; None where it has none (29 February)
Again = Callable[[int], Span | None]  # the same so many times further, of what comes round again


def related(span: Span, relation: str) -> Span:
    match relation:
        case "before":
            return Span(None, span.first and shift(span.first, -1))
        case "after":
            return Span(span.last and shift(span.last, 1), None)
        case "since":
            return Span(span.first, None)
        case "until":
            return Span(None, span.last)
    return span


def composed(again: Again | None, made: Callable[[Span], Span | None]) -> Again | None:
    """What is made of a period, of those too that come round again."""
    return None if again is None else lambda count: made(span) if (span := again(count)) else None


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
        case "quarter" | "half":
            count = _UNIT_MONTHS[unit]
            moved = add_months(day.replace(month=day.month - (day.month - 1) % count, day=1), count * offset)
            return months_from(moved.year, moved.month - (moved.month - 1) % count, count)
        case "year":
            return months_from(day.year + offset, 1, 12)
    return Span(shift(day, offset), shift(day, offset))


def back(unit: str, day: date, count: int) -> date:
    """The day `count` units before `day`, calendar months and years as such."""
    if unit in _UNIT_MONTHS:
        return add_months(day, -count * _UNIT_MONTHS[unit])
    return shift(day, -count * UNIT_DAYS[unit])


def last_weekday(name: str, today: date) -> date:
    """The last such day before today."""
    return shift(today, -((today.weekday() - WEEKDAYS[name] - 1) % 7 + 1))


def amount_of(match: re.Match[str]) -> tuple[str, int, int]:
    """The unit of a length of time, and how many of it there are at the least and at the most."""
    if match["half"]:
        return "half", 1, 1
    unit, (least, most) = UNITS.get(match["unit"], "year"), count_of(match["count"])
    return (unit, -(-least // 60), -(-most // 60)) if match["unit"] in MINUTES else (unit, least, most)


def count_of(text: str) -> tuple[int, int]:
    """The least and the most that a count means: "two" is (2, 2), "a few" is (2, 6)."""
    if text in UNCERTAIN:
        return UNCERTAIN[text]
    number = int(text) if text.isdecimal() else NUMBERS[text]
    return number, number


def distance(unit: str, least: int, most: int, day: date) -> Span:
    """That many units before `day`, widened by half a unit (a day for days), or a sixth of the way if that is more.

    What was more than three hours ago may have been on the day before, whatever the time is.
    """
    if unit == "hour":
        return Span(back("day", day, (most + 20) // 24), back("day", day, least // 24))
    days = {"weekend": 7 * least}.get(unit, UNIT_DAYS[unit] * least)
    slack = max({"day": 1, "fortnight": 3, "half": 30}.get(unit, UNIT_DAYS[unit] // 2), abs(days) // 6)
    stride = "week" if unit == "weekend" else unit
    return widened(Span(back(stride, day, most), back(stride, day, least)), slack)


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


def nth(thing: str, which: int, span: Span) -> Span | None:
    """The `which`-th week, weekend, quarter, half or weekday of a longer span, from 0, and -1 the last."""
    first, last = span.first, span.last
    if first is None or last is None or (last - first).days < UNIT_DAYS["week"]:
        return None
    if thing in ("quarter", "half"):
        of = UNIT_DAYS["year"] // UNIT_DAYS[thing]
        return share(span, which % of, of) if which < of else None
    if thing == "week":
        begin = shift(last, -6) if which < 0 else shift(first, 7 * which)
        return Span(begin, shift(begin, 6)) if begin <= last else None
    weekday = 5 if thing == "weekend" else WEEKDAYS[thing]
    begin = shift(first, (weekday - first.weekday()) % 7 + 7 * max(which, 0))
    if which < 0:
        begin = shift(last, -((last.weekday() - weekday) % 7))
    return Span(begin, shift(begin, 1 if thing == "weekend" else 0)) if begin <= last else None


def beside(name: str, day: date, *, before: bool) -> Span:
    """The last weekend, or such a weekday, that is over before a day; or the first that begins after it."""
    weekday, more = (5, 1) if name == "weekend" else (WEEKDAYS[name], 0)
    last = shift(day, -1 - more if before else 7)
    first = shift(last, -((last.weekday() - weekday) % 7))
    return Span(first, shift(first, more))


def joined(one: Span, other: Span) -> Span:
    """From the first day of `one` to the last of `other`, whichever way round they stand."""
    if one.first and other.last and one.first > other.last:
        return Span(other.first, one.last)
    return replace(one, last=other.last)


def named(span: Span, *, years: bool = True) -> str:
    """Days as a person would say them: "March 2026", "3 to 9 March 2026", "up to 9 March 2026"."""
    first, last = span.first, span.last
    if first is None or last is None:
        return f"since {_day(first, years)}" if first else f"up to {_day(last, years)}" if last else ""
    if first.day == 1 and shift(last, 1).day == 1:
        if (first.month, last.month, first.year) == (1, 12, last.year) and years:
            return str(first.year)
        said = [f"{_month_name(day)} {day.year}" if years else _month_name(day) for day in (first, last)]
        return said[0] if said[0] == said[1] else " to ".join(said)
    if first == last:
        return _day(first, years)
    alike = (first.year, first.month) == (last.year, last.month)
    begin = str(first.day) if alike else _day(first, years and first.year != last.year)
    return f"{begin} to {_day(last, years)}"


def years_of(span: Span) -> set[int]:
    """The years of its first and its last day."""
    return {day.year for day in (span.first, span.last) if day}


def _day(day: date, years: bool) -> str:
    return f"{day.day} {_month_name(day)}" + (f" {day.year}" if years else "")


def _month_name(day: date) -> str:
    return list(MONTHS)[day.month - 1].capitalize()


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


_WORDS = tables(table_text(__file__, "words.txt"))


def _numbers(table: str) -> dict[str, int]:
    return {
        word: int(means.removesuffix("..")) + (place if means.endswith("..") else 0)
        for word, means, place in _WORDS[table]
    }


def _pairs(table: str) -> dict[str, tuple[int, int]]:
    return {word: (int(first), int(last)) for word, (first, last) in _open_pairs(table).items() if first is not None}


def _open_pairs(table: str) -> dict[str, tuple[int | None, int]]:
    found = ((word, means.split(",")) for word, means, _ in _WORDS[table])
    return {word: (None if first == "none" else int(first), int(last)) for word, (first, last) in found}


MONTHS, SHORT_MONTHS, WEEKDAYS = _numbers("months"), _numbers("short_months"), _numbers("weekdays")
# The Portuguese March is left out: without its sign it is Marco, who is a person.
ALSO_WORDS = frozenset({"may", "march", "mars"})  # a verb, a verb, a planet
ALSO_NAMES = frozenset({"april", "june", "august", "avril", "julio"})  # people

# Weekdays that are time without a word before them, as in "il vient vendredi"; with one of these they come again.
ALONE = frozenset({"lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"})
NOT_ALONE = regex(r"\b(?:le|les|du|au|aux|de|des|un|chaque|tous|d'un|ou|et) $")

SEASONS = _numbers("seasons")  # northern hemisphere: the first month of each
UNITS = {word: unit for word, unit, _ in _WORDS["units"]}
MINUTES = frozenset(word for word, _, _ in _WORDS["minutes"])
MANY = frozenset(word for word, _, _ in _WORDS["many"])  # of these, plurals that are no singular of another language
NUMBERS = _numbers("numbers")
UNCERTAIN = _pairs("uncertain")  # how many units an uncertain number may stand for
DAYS = _pairs("days")  # which days around today a word means
VAGUE = _open_pairs("vague")  # the days around today that a vague word most likely means; None is open
ORDINALS = _numbers("ordinals")  # the how-manieth, from 0; -1 is the last
PARTS = _pairs("parts")  # shares of a longer stretch: the how-manieth of how many


def easter(year: int) -> date:
    """Easter Sunday of the Gregorian calendar, as Meeus, Jones and Butcher count it."""
    century, rest = divmod(year, 100)
    golden = year % 19
    moon = (19 * golden + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    weekday = (32 + 2 * (century % 4) + 2 * (rest // 4) - moon - rest % 4) % 7
    late = (golden + 11 * moon + 22 * weekday) // 451
    month, day = divmod(moon + weekday - 7 * late + 114, 31)
    return date(year, month, day + 1)


def _feast(means: str) -> Yearly:
    """By its month and days, by the days around Easter, or by month, weekday and the how-manieth of these."""
    of, first, last = means.split(",")
    if of == "easter":
        return lambda year: Span(shift(easter(year), int(first)), shift(easter(year), int(last)))
    if first in WEEKDAYS:
        return lambda year: nth(first, int(last), months_from(year, int(of), 1))
    return lambda year: Span(date(year, int(of), int(first)), date(year, int(of), int(last)))


HOLIDAYS = {word: _feast(means) for word, means, _ in _WORDS["holidays"]}


def holidays_in(first: date, last: date) -> list[str]:
    """The names of holidays that have a day from `first` to `last`, both included."""
    found = ((name, feast(year)) for name, feast in HOLIDAYS.items() for year in {first.year, last.year})
    return [
        name for name, each in found if each and each.first and each.last and each.first <= last and first <= each.last
    ]


LAST = r"last|previous|letzte[nrsm]?|vergangene[nrsm]?|vorige[nrsm]?|afgelopen|scors[oa]"
THIS = r"this|current|diese[nrsm]?|cette|ce|esta|este|questa|questo|deze|dit"
NEXT = r"next|coming|upcoming|nächste[nrsm]?|kommende[nrsm]?|próxim[oa]|prochaine?|prossim[oa]|volgende?|komende?"
NEXT_BEHIND = r"prochaine?|suivante?|d'après|siguiente|próxim[oa]|que vi?ene|que vem|entrante|prossim[oa]"
# "morgen" and "mañana" are mornings as well.
TOMORROW = (
    r"(?<!am )(?<!guten )(?<!heute )(?<!jeden )(?<!diesen )(?<!gestern )morgen(?: früh)?|(?<!la )(?<!esta )mañana"
)
HOURS = (  # of a day, which a window does not tell apart
    r"(?: (?:(?:late |early )?(?:morning|afternoon|evening|night)|lunchtime|noon|früh|vormittag|mittag|nachmittag|"
    r"abend|nacht|matin|midi|après-midi|soir|por la (?:mañana|tarde|noche)))?"
)
LAST_BEHIND = r"pass?ad[oa]|scors[oa]|derni(?:er|ère)|passée?"
THE = r"(?:the |den |die |les |los |las )?"
LASTS_OR_NEXTS = (
    r"(?:last|past|previous|letzten|vergangenen|dernières?|derniers|últim[oa]s|"
    r"(?P<next>(?<!what's )(?<!is )next|(?<=the )coming|nächsten|kommenden|prochaine?s|próxim[oa]s))"
)
LASTS_OR_NEXTS_BEHIND = r"(?:dernières?|derniers|últim[oa]s|(?P<next>prochaine?s|próxim[oa]s))"  # "les deux dernières"
YEAR_FROM_NOW = (
    rf"(?:of |de |del |d'|im |in )?(?:(?P<year_ago>(?:{LAST}) (?:year|jahre?s?)|l'année (?:dernière|passée)|"
    r"l'an dernier|(?:el )?año pasado)|(?P<year_on>(?:next|nächste[nrsm]?|kommende[nrsm]?) (?:year|jahre?s?)|"
    r"l'année prochaine|(?:el )?(?:año próximo|próximo año|año que viene)))"
)
# What may stand behind a number, or a name, that is a time: else it goes on, as in "2025 units", "Easter egg".
CLOSES = (
    r"(?=\s*(?:$|[?.!,;:)]|'s\b|(?:we|i|you|they|he|she|it|the|a|our|my|what|which|who|how|why|when|where|did|was|were|is|"
    r"are|and|or|to|for|on|at|with|by|about|from|until|vs|but|that|as|has|had|have|compared|before|after|through|"
    r"geplant|fällig|gemacht|los|an|vor|haben?|hat|wir|ich|ist|sind|war|und|oder|bis|fait|prévue?s?|nous|je|est|et|ou|"
    r"au|à|hicimos|hay|tengo|tenemos|y|o|al|hasta)\b))"
)
# Those of these that lie one further.
BEFORE_LAST, AFTER_NEXT = r"vorletzte[nrsm]?|avant-derni(?:er|ère)|penúltim[oa]", r"übernächste[nrsm]?"
BEFORE_LAST_BEHIND, AFTER_NEXT_BEHIND = r"before last|antepasad[oa]", r"after next"

# What a preposition makes of the period behind it: within it, everything up to it, everything from it on.
RELATIONS = {word: relation for word, relation, _ in _WORDS["relations"]}

# What asks for how a thing was, without a date: at the very first, or before it became what it is.
FIRST_MARKS = (
    r"originally|initially|(?:in the beginning|at the start)(?=\s*(?:[?.!,;]|$))|"
    r"at first(?=\s*(?:[?.!,;]|$)|\s+(?:we|i|it|they|he|she|did|was|were|when|and|but)\b)|"
    r"(?<=was the )very first|(?<=was our )very first|(?<=were the )very first|allererste[nrs]?|tout premier|"
    r"toute première|primerísim[oa]|"
    r"ursprünglich|anfangs|anfänglich|à l'origine|initialement|au début(?! d)|originalmente|inicialmente|al principio"
)
PAST_MARKS = (
    r"back then|at (?:the|that) time(?! of)|previously|formerly|in the past(?=\s*(?:[?.!,;]|$))|"
    r"(?<!is )(?<!are )(?<!was )(?:who|we|i|you|they|he|she|it|there|did \w+|did \w+ \w+|"
    r"(?:which|what)(?: (?!is |are |was |were )[\w-]+){0,2}) (?P<mark>used to)|(?<=did )[\w -]{1,60}? (?P<use>use to)|"
    r"(?:last|previous) (?:(?:school|academic) year|season|term)|(?:letzte[ns]?|vorige[ns]?) (?:schuljahr|saison)|"
    r"früher|damals|autrefois|auparavant|à l'époque|anteriormente|en aquel entonces|vroeger|voorheen|in passato"
)
# These do so only beside a verb in the past ("what was it before?"): alone they may speak of the order of steps.
PAST_MARKS_BESIDE_VERB = (
    r"(?:before|earlier|until then|until now|vorher|zuvor|davor|bis dahin|bisher|antes|avant|prima|eerder)"
    r"(?=\s*(?:[?.!,;]|$))|avant(?= \w+\s*(?:[?.!,;]|$))|"
    r"(?:vorher|zuvor|davor|antes|prima)(?=(?: (?:der|die|das|den|el|la|los|las|il|lo))? \w+\s*(?:[?.!,;]|$))|"
    r"(?<=(?:the|our|his|her) )(?:old|previous|former|prior|original|initial)"
    r"(?= (?!(?:session|conversation|chat|message|meeting|sprint|agent|step)s?\b)\w)|"
    r"(?:alte|vorige|vorherige|bisherige|frühere|ehemalige)[nrs]?(?= \w)|"
    r"(?:l')?ancien(?:ne)?(?= \w)|précédente?|anterior|antigu[oa]"
)
VERBS_OF_BEFORE = (
    r"did|was|were|had|war|waren|hatten?|wurden?|hat|haben|habe|galt|wohnten?|lebten?|kosteten?|hieß|arbeiteten?|"
    r"fue|fueron|eran?|\w{2,}(?:aba|aban|ábamos|ía|ían|íamos)|\w{2,}ai(?:t|ent|s)|\w{2,}ions|\w{2,}ava(?:no)?|aveva"
)
UNSPACED_FIRST_MARKS = "最初|起初|一开始|一開始|当初|처음|원래"
UNSPACED_PAST_MARKS = "以前|之前|从前|從前|过去|過去|曾经|曾經|かつて|예전|이전"


def _patterns(table: str) -> str:
    return "|".join(word for word, _, _ in _WORDS[table])


# Verbs that say that something has happened, where a window that reaches today is then meant as one; more that say so,
# in participles and other tenses; and of the first those that may as well speak of what is or comes.
PAST_VERBS, DONE = _patterns("past_verbs"), _patterns("done")
HELPING_VERBS = "have|has|haben|hat|avons|hemos"
# What asks for what is yet to be: duties and plans; verbs in the future tense are in `FUTURE`.
DUE = _patterns("due")
# Duties, which are to be done before the time that comes; what tells how long something takes, and not when it is.
DUTIES, LENGTHS, NTH_ASKED = _patterns("duties"), _patterns("lengths"), _patterns("nth_asked")
# Verbs of what was so, whenever that was; and of these those beside which nothing is yet to be.
BEFORE_NOW, WAS, PAST_ENDINGS = _patterns("before_now"), _patterns("was"), _patterns("past_endings")
# What asks for what was noted at a time, whenever that happens; and for what is new, which is noted since a time.
STORED, NEW = _patterns("stored"), _patterns("new")
# What may follow the German "was", which asks, and does not follow the English one, which is a verb.
GERMAN_BEHIND_WHAT = _patterns("german_behind_what")
# The event's own words that tell that it happened once, so that what was before it is over.
TURNING_POINTS = _patterns("turning_points")
# A number or date right behind one of these names a thing.
LABELS = frozenset(word for word, _, _ in _WORDS["labels"])
# Before one of these the name of an event ends.
STOPS = frozenset(word for word, _, _ in _WORDS["stops"])
# Questions for what may, can or should be done, but not to be shown what is stored.
ASKS_LEAVE = (
    r"\A\W*(?:[\w'-]+ ){0,2}?(?:(?:may|can|could|should|shall|will|must) (?!you\b)|"
    r"(?:darf|dürfen|kann|können|soll(?:en|te)?|werden?|muss|müssen) (?!du\b|ihr\b|sie\b)|"
    r"(?:puis|peut|pouvons|dois|doit|devons)[ -](?:je|on|nous) |(?:puedo|podemos|puede|debo|debemos|posso|possiamo) )"
    r"(?!.*\b(?:see|show|find|read|list|get|look|recall|check|review|know|hear|learn|tell|say|said|"
    r"sehen|zeigen|finden|wissen|voir|savoir|trouver|ver|saber|encontrar)\b)"
)
FUTURE = (
    r"\b(?:\w+(?:ar|er|ir|dr)(?:á|án)|\w+(?:ar|ir)emos|\w+(?:rà|ranno|rão))\b|"
    r"\b(?:combien|quand|qui|quel\w*|où|comment|qu'est-ce)\b.*\b\w+(?:[eid]|au)(?:ra|ront|rons|rez)\b"
)

# --- patterns of these words -----------------------------------------------------------------------

MONTH, WEEKDAY = any_of(MONTHS), any_of(WEEKDAYS)
EITHER_MONTH = rf"{MONTH}|{any_of(SHORT_MONTHS)}"
OF = r"(?:of|de|del|di|,)?"
YEAR = r"(?P<year>(?:19|20)\d\d)"
BY_YEAR = rf"(?:\s*{OF}\s*{YEAR}(?![\w-]))?"
DAY = r"(?:st|nd|rd|th|er|\.)?"
ON = rf"(?:(?:{WEEKDAY}),? (?:the )?)?"
UNIT = any_of(UNITS)
COUNT = rf"(?P<count>\d{{1,3}}|{any_of(NUMBERS)}|{any_of(UNCERTAIN)})"
AMOUNT = rf"(?:{COUNT} (?P<unit>{UNIT}|an)|(?P<half>half a year|medio año))"
QUALIFIER = (
    rf"(?:(?P<before_last>{BEFORE_LAST})|(?P<last>{LAST})|(?P<this>{THIS})|(?P<next>{NEXT})|"
    rf"(?P<after_next>{AFTER_NEXT}))"
)
BEHIND = (
    rf"(?:(?P<before_last_behind>{BEFORE_LAST_BEHIND})|(?P<last_behind>{LAST_BEHIND})|"
    rf"(?P<next_behind>{NEXT_BEHIND})|(?P<after_next_behind>{AFTER_NEXT_BEHIND})"
    rf"(?! (?:{UNIT}|{WEEKDAY}|sprint|release|meeting|session|call|step)\b))"
)
A_WEEKDAY = rf"(?:{QUALIFIER} )?(?P<weekday>{WEEKDAY})(?P<on> week{CLOSES})?(?: {BEHIND})?{HOURS}"
OFFSETS = {"before_last": -2, "last": -1, "this": 0, "next": 1, "after_next": 2}
HOW_LONG = regex(
    r"\bhow (?:many|much|long|often|far)\b|\b(?:twice|times)\b|\bwie ?(?:viele?|lange|oft)\b|\bcu[aá]nt|\bcombien\b"
)
IS_DUE = regex(rf"\b(?:{_patterns('is_due')})\b")
NTH = regex(rf"(?<![\w-])(?:(?:the|la|le|el|die|der|den) )?(?P<which>{any_of(ORDINALS)}) (?P<thing>{UNIT}|{WEEKDAY})$")
OF_ONE = regex(r" (?:(?:of|on|in|im|am|des|der|de|du|del) |d')?(?:the |la |le |el |l')?")
ARTICLE = r"(?:the |dem |den |der |das |le |la |les |el |il |o |l'|last |this |next )?"
LEAD = regex(rf"(?<![\w'-])(?:(?:right|just|shortly|soon|back|all|even) )?(?P<word>{any_of(RELATIONS)}) {ARTICLE}$")
PART = regex(
    rf"(?<![\w'-])(?:(?:the|der|die|la) )?(?P<part>{any_of(PARTS)})(?:[ -]|$)"
    r"(?:(?:in|the|des|der|de|du|vom|von|la|el) |d'|l')*$"
)
OFFSET = regex(
    rf"(?<![\w'-])(?:(?:in|on|at|the|last|am|an|der|die|dem|la|le|el) )*(?:{COUNT} )?"
    rf"(?P<unit>{any_of([*(word for word, unit in UNITS.items() if unit != 'hour'), *WEEKDAYS])}) "
    r"(?P<side>before|vor|avant|antes del?|after|nach|après|después del?|(?P<there>from|(?<=(?:week|ight) )on)) "
    r"(?:the |dem |der |el |la |le )?$"
)
ITS_END = regex(r"(?:(?:the|la|el) )?(?:end of|ende|fin|fines|finale?s? del?)\b")
WITHOUT_PARTS = frozenset({"day", "date", "yesterday", "today", "weekday", "holiday", "vague"})
WEEK_OF = regex(r"\b(?:the )?week of (?:the )?$|\b(?:die )?woche (?:vom|um) $|\b(?:la )?semaine (?:du|de) $")
REPEATED = regex(
    r"\b(?:every|each|any|most|least|more|how|many|jeden|jede[sr]?|chaque|cada|per)(?: the| last| first)? $"
)
RECURRING = regex(r"(?:'s)?\s+(?:mornings|afternoons|evenings|nights|used\b)")
RETAINED = regex(r"\s+(?:of|retention)\b")
ENDS = regex(CLOSES)
NO_SEASON = regex(
    r"\s+(?:\d|mode\b|boot|framework|cloud|data|security|mvc|bean|batch|cleaning|intern\w*|school|job|time|back)\b"
)
DAY_LEADS = frozenset(
    "on am le el il before by until till since vor bis seit nach avant hasta after depuis desde".split()  # noqa: SIM905
) | {"bis zum", "antes del", "prima del", "antes do", "d'ici", "d'ici le"}
YEAR_LEADS = frozenset({"in", "during", "throughout", "from", "im", "en", "within"})
JOINS = {"to", "until", "till", "through", "-", "bis", "hasta", "au", "a", "à", "al"}
TRAILING = regex(r" (?:the|le|la|el|den|der|dem|zum)\Z")
PAIRS = {"and", "or", "und", "y", "et", "&"}
PAIR_LEAD = regex(r"\b(?:between|from|in|during|zwischen|von|entre|de|del|desde|du)(?: the| le| el)? $")


_OVER = regex(rf"\b(?!(?:{HELPING_VERBS})\b)(?:{PAST_VERBS}|{DONE})\b")


def is_over(text: str) -> bool:
    """Whether a verb of lower-case `text` says that something has happened."""
    return _OVER.search(text) is not None


def offset_of(match: re.Match[str]) -> int | None:
    """How many units further a word such as "last" before or behind it means; None where there is none."""
    found = match.groupdict()
    named = (offset for name, offset in OFFSETS.items() if found.get(name) or found.get(f"{name}_behind"))
    return next(named, None)


# --- the parts of a text that may name days ---------------------------------------------------------

_LONGEST_TEXT, _LONG_PART, _AROUND = 1200, 200, 60
_MAY_NAME_DAYS = regex(  # what stands in every text that names any, to look no further into most others
    rf"\d[-/.]\s?\d|\d(?:st|nd|rd|th)\b|\b(?:am|le|el|día) \d|{TOMORROW}|(?:woche|hälfte)\b|"
    rf"\b(?:{any_of([*MONTHS, *SHORT_MONTHS, *SEASONS, *WEEKDAYS, *UNITS, *DAYS, *HOLIDAYS])})s?\b"
)
_SENTENCE_END = regex(r"(?:(?<!\d)[.!?]\s+|\n\s*)(?=[^\W\d_]|[-*#])")  # not that of "12." nor "Dec. 2026"
_TO_BLANK = regex(r"\S*")


def lowered(text: str) -> str:
    """Lower case of the same length: of all letters only this one has a longer one."""
    return text.replace("\u0130", "i").lower()


def parts_that_name_days(text: str) -> Iterator[str]:
    """The parts of a text that may name days: to read all of a long one takes long.

    What is near each other is of one part, or of some whole sentences: no date is read without its day or year.
    """
    near = text[: _LONGEST_TEXT + 2 * _AROUND]
    start = end = last = 0
    for found in _MAY_NAME_DAYS.finditer(lowered(near), 0, _LONGEST_TEXT):
        begin, stop = _around(near, found.start(), found.end())
        is_long = found.start() - start > _LONG_PART
        if is_long and (whole := _SENTENCE_END.search(near, last, found.start())):
            begin = end = whole.end()
        if begin >= end:
            yield from _one_line(near[start:end])
            start = begin
        end, last = stop, found.end()
    yield from _one_line(near[start:end])


def around(text: str, start: int, end: int) -> str:
    """What stands from `start` to `end`, with so much on both sides as may change what days it names."""
    begin, stop = _around(text, start, end)
    return text[begin:stop]


def _around(text: str, start: int, end: int) -> tuple[int, int]:
    """Some characters more on both sides, in whole words."""
    before = max(0, start - _AROUND)
    behind = _TO_BLANK.match(text, end + _AROUND)
    return max(text.rfind(blank, 0, before) for blank in " \t\n") + 1, behind.end() if behind else len(text)


def _one_line(part: str) -> Iterator[str]:
    if part:
        yield " ".join(part.split())


EDGES = "()[]{}*\u201c\u201d\u201e«»'\".,:!?…"
_STRAIGHT = str.maketrans("\u2019", "'")
_WEEKDAYS = frozenset({*WEEKDAYS, "weekend", "weekends", "wochenende", "week-end"})
NAMED = frozenset({*MONTHS, *SHORT_MONTHS, *SEASONS})
_DATE = regex(r"\d{4}(?:-\d\d(?:-\d\d)?)?|\d{4}-?w\d\d|(?:\d{4}-?)?q[1-4]")


def day_names(words: str, *, all_of_them: bool = True) -> list[str]:
    """Of words of time those that a note may use as well: names of weekdays and seasons; of months, dates and years."""
    found = (token.strip(EDGES).removesuffix("'s") for token in words.lower().translate(_STRAIGHT).split())
    always = _WEEKDAYS | SEASONS.keys() | HOLIDAYS.keys()
    return [word for word in found if word in always or (all_of_them and (word in NAMED or _DATE.fullmatch(word)))]
