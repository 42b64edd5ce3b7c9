"""Stretches of whole days, and the words for them: weeks from Monday, months, quarters, seasons, years, their parts.

No day leaves the years 1 to 9999: what would is cut off there.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, timedelta, tzinfo

from holdfast.model.note import instant

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


def count_of(text: str) -> tuple[int, int]:
    """The least and the most that a count means: "two" is (2, 2), "a few" is (2, 6)."""
    if text in UNCERTAIN:
        return UNCERTAIN[text]
    number = int(text) if text.isdecimal() else NUMBERS[text]
    return number, number


def distance(unit: str, least: int, most: int, day: date) -> Span:
    """That many units before `day`, widened by half a unit (a day for days), or a sixth of the way if that is more."""
    days = {"hour": least // 24, "weekend": 7 * least}.get(unit, UNIT_DAYS[unit] * least)
    slack = max({"hour": 0, "day": 1}.get(unit, UNIT_DAYS[unit] // 2), abs(days) // 6)
    stride = "day" if unit == "hour" else "week" if unit == "weekend" else unit
    scale = 24 if unit == "hour" else 1
    return widened(Span(back(stride, day, most // scale), back(stride, day, least // scale)), slack)


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


MONTHS: dict[str, int] = {
    name: number
    for names in (
        "january february march april may june july august september october november december",
        "januar februar märz april mai juni juli august september oktober november dezember",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        "janeiro fevereiro marzo abril maio junho julho agosto setembro outubro novembro dezembro",
    )
    for number, name in enumerate(names.split(), 1)
}
SHORT_MONTHS: dict[str, int] = {
    name: number
    for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)  # noqa: SIM905
} | {"sept": 9}
# The Portuguese March is left out: without its sign it is Marco, who is a person.
ALSO_WORDS = frozenset({"may", "march", "mars"})  # a verb, a verb, a planet
ALSO_NAMES = frozenset({"april", "june", "august", "avril", "julio"})  # people

WEEKDAYS: dict[str, int] = {
    name: number
    for names in (
        "monday tuesday wednesday thursday friday saturday sunday",
        "montag dienstag mittwoch donnerstag freitag samstag sonntag",
        "lundi mardi mercredi jeudi vendredi samedi dimanche",
        "lunes martes miércoles jueves viernes sábado domingo",
        "lunedì martedì mercoledì giovedì venerdì sabato domenica",
        "segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo",
    )
    for number, name in enumerate(names.split())
}

# Northern hemisphere: the first month of each.
SEASONS: dict[str, int] = {
    "spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12,
    "frühling": 3, "frühjahr": 3, "sommer": 6, "herbst": 9,
    "printemps": 3, "été": 6, "automne": 9, "hiver": 12,
    "primavera": 3, "verano": 6, "otoño": 9, "invierno": 12,
}  # fmt: skip

UNITS: dict[str, str] = {
    word: unit
    for unit, words in {
        "hour": "minute minutes hour hours stunde stunden heure heures hora horas",
        "day": "day days tag tage tagen jour jours día días giorno giorni dia dias",
        "week": "week weeks woche wochen semaine semaines semana semanas settimana settimane",
        "weekend": "weekend weekends wochenende week-end",
        "month": "month months monat monate monaten mois mes meses mese mesi mês",
        "quarter": "quarter quarters quartal trimestre",
        "year": "year years jahr jahre jahren année années ans año años anno anni ano anos",
    }.items()
    for word in words.split()
}

NUMBERS: dict[str, int] = {
    word: number
    for words in (
        "one two three four five six seven eight nine ten eleven twelve",
        "ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        "un deux trois quatre cinq six sept huit neuf dix onze douze",
        "uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
        "un due tre quattro cinque sei sette otto nove dieci undici dodici",
        "um dois três quatro cinco seis sete oito nove dez onze doze", "uma duas",
        "a", "an", "eine", "einem", "einer", "une", "una",
    )
    for number, word in enumerate(words.split(), 1)
}  # fmt: skip

# How many units an uncertain number may stand for.
UNCERTAIN: dict[str, tuple[int, int]] = {
    "a few": (2, 6), "few": (2, 6), "some": (2, 6), "several": (3, 9), "a couple of": (1, 4), "a couple": (1, 4),
    "couple of": (1, 4), "einigen": (2, 6), "ein paar": (1, 4), "quelques": (2, 6), "unos": (2, 6), "unas": (2, 6),
}  # fmt: skip

# Which days around today a word means.
DAYS: dict[str, tuple[int, int]] = {
    "the day before yesterday": (-2, -2), "day before yesterday": (-2, -2), "yesterday": (-1, -1),
    "the day after tomorrow": (2, 2), "day after tomorrow": (2, 2), "tomorrow": (1, 1), "last night": (-1, 0),
    "today": (0, 0), "tonight": (0, 0), "this morning": (0, 0), "this afternoon": (0, 0), "this evening": (0, 0),
    "demain": (1, 1), "après-demain": (2, 2), "pasado mañana": (2, 2), "domani": (1, 1),
    "vorgestern": (-2, -2), "gestern": (-1, -1), "heute": (0, 0), "übermorgen": (2, 2),
    "avant-hier": (-2, -2), "hier soir": (-1, -1), "hier matin": (-1, -1), "aujourd'hui": (0, 0),
    "oggi": (0, 0), "ieri": (-1, -1), "dopodomani": (2, 2), "hoje": (0, 0), "ontem": (-1, -1), "amanhã": (1, 1),
    "depois de amanhã": (2, 2), "anteayer": (-2, -2), "ayer": (-1, -1), "anoche": (-1, 0), "hoy": (0, 0),
}  # fmt: skip

# Vague words and the days around today that they most likely mean; None is open.
VAGUE: dict[str, tuple[int | None, int]] = {
    "recently": (-14, 0), "lately": (-14, 0), "of late": (-14, 0), "the other day": (-7, -1),
    "a while ago": (None, -14), "a while back": (None, -14), "some time ago": (None, -14),
    "a long time ago": (None, -60), "long ago": (None, -60), "ages ago": (None, -60),
    "weeks ago": (-70, -14), "months ago": (-365, -45),
    "years ago": (None, -550),
    "neulich": (-14, 0), "kürzlich": (-14, 0), "vor kurzem": (-14, 0), "récemment": (-14, 0), "recientemente": (-14, 0),
}  # fmt: skip

ORDINALS: dict[str, int] = {"first": 0, "1st": 0, "second": 1, "2nd": 1, "third": 2, "3rd": 2, "fourth": 3, "4th": 3}

# Shares of a longer stretch: the how-manieth of how many.
PARTS: dict[str, tuple[int, int]] = {
    word: which
    for which, words in {
        (0, 3): "early,beginning of,start of,anfang,début,principios de",
        (1, 3): "mid,middle of,mitte,mi,mediados de",
        (2, 3): "late,end of,ende,fin,finales de",
        (0, 2): "first half of,1st half of",
        (1, 2): "second half of,2nd half of",
    }.items()
    for word in words.split(",")
}

LAST = r"last|previous|letzte[nrsm]?|vergangene[nrsm]?|vorige[nrsm]?"
THIS = r"this|current|diese[nrsm]?|cette|ce|esta|este|questa|questo"
NEXT = r"next|coming|upcoming|nächste[nrsm]?|kommende[nrsm]?|próxim[oa]|prochaine?|prossim[oa]"
NEXT_BEHIND = r"prochaine?|suivante?|próxim[oa]|que vi?ene|que vem|entrante|prossim[oa]"
# "morgen" and "mañana" are mornings as well.
TOMORROW = (
    r"(?<!am )(?<!guten )(?<!heute )(?<!jeden )(?<!diesen )(?<!gestern )morgen(?: früh)?|(?<!la )(?<!esta )mañana"
)
LAST_BEHIND = r"pass?ad[oa]|scors[oa]|derni(?:er|ère)|passée?"

# What a preposition makes of the period behind it: within it, everything up to it, everything from it on.
RELATIONS: dict[str, str] = {
    word: relation
    for relation, words in {
        "before": "before|prior to|vor|avant|antes de|antes del|avant le|avant la|bevor|avant qu|antes de que|"
        "antes da|antes do|prima di|prima del|prima della",
        "after": "after|nach|après|después de|después del|dopo|depois de",
        "since": "since|ever since|starting|seit|depuis|desde",
        "until": "until|till|up to|by|through|as of|bis|bis zum|jusqu'en|jusqu'à|jusqu'au|hasta|"
        "entro|fino a|fino al|até",
        "during": "in|on|of|at|from|for|during|throughout|over|within|around|about|im|am|in der|in den|während|en|au|"
        "du|le|el|pendant|durante|il|em|na|nella|nel",
    }.items()
    for word in words.split("|")
}

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
    r"(?<!is )(?<!are )(?<!was )(?:who|we|i|you|they|he|she|it|there|did \w+|did \w+ \w+) (?P<mark>used to)|"
    r"(?<=did )[\w -]{1,60}? (?P<use>use to)|"
    r"früher|damals|autrefois|auparavant|à l'époque|anteriormente|en aquel entonces|vroeger|voorheen|in passato"
)
# These do so only beside a verb in the past ("what was it before?"): alone they may speak of the order of steps.
PAST_MARKS_BESIDE_VERB = (
    r"(?:before|earlier|until then|until now|vorher|zuvor|davor|bis dahin|bisher|antes|avant|prima|eerder)"
    r"(?=\s*(?:[?.!,;]|$))|(?:vorher|zuvor|davor|antes|avant|prima)(?= \w+\s*(?:[?.!,;]|$))|"
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

# Verbs that say that something has happened, where a window that reaches today is then meant as one.
PAST_VERBS = (
    r"did|was|were|had|have|has|been|happened|changed|decided|learn(?:ed|t)|done|fixed|deployed|shipped|merged|released|"
    r"added|removed|broke|went|said|told|made|got|wrote|discussed|agreed|found|worked|met|used|"
    r"ran|took|gave|chose|came|knew|began|drove|spoke|(?<=who )(?:(?!need|feed)\w{2,}ed|led|held|kept|paid|sent|built)|"
    r"war|waren|haben|hat|hatten?|wurden?|avons|avait|hemos|fue|hicimos"
)

# What asks for what is yet to be: duties and plans, and verbs in the future tense.
DUE = (
    r"will|shall|going to|planned|plan|plans|upcoming|deadlines?|due|should|"
    r"wird|werden|wirst|werde|fällig\w*|geplant|(?:est|sont) due?s?|(?:est|sont) dûe?s?|échoi(?:t|ent)|prévue?s?|"
    r"vencen?|vencem|caducan?|pendientes?|previst[oaie]s?|scad(?:e|ono|enze?)|va a|van a|vamos a|hay que"
)
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

# What asks for what was noted at a time, whenever that happens; and for what is new, which is noted since a time.
STORED = (
    r"noted|stored|saved|recorded|remembered|written down|"
    r"did (?:i|we|you) (?:note|store|save|record|remember|write|tell)|"
    r"notiert|gespeichert|gemerkt|aufgeschrieben|notée?s?|enregistrée?s?|mémorisée?s?|"
    r"anotad[oa]s?|anotamos|guardad[oa]s?|guardamos|apuntad[oa]s?|annotat[oaie]|salvat[oaie]"
)
NEW = r"new|news|neu|neue[mnrs]?|nouveaux?|nouvelles?|neuf|nuev[oa]s?|novedades|nuov[oaie]|novità|nov[oa]s?|novidades"

HELPING_VERBS = "have|has|haben|hat|avons|hemos"  # of these, those that may as well speak of what is or comes
# More that say so, in participles and other tenses.
DONE = (
    r"accomplished|achieved|finished|completed|passiert|gemacht|geschafft|geschehen|entschieden|besprochen|gab|lief|ging|"
    r"passé|fait|décidé|pasó|hice|hizo|hicieron|hubo|decidimos|pasaron"
)

# What may follow the German "was", which asks, and does not follow the English one, which is a verb.
GERMAN_BEHIND_WHAT = (
    r"ist|sind|war|waren|wird|werden|wurden?|ich|wir|du|ihr|man|sie|er|es|genau|alles|für|kann|können|konnten?|darf|"
    r"dürfen|muss|müssen|mussten?|soll\w*|will|wollen|wollten?|mag|gibt|gab|gilt|galt|läuft|lief|ging|geht|weiß|weißt|"
    r"wissen|heißt|hieß|tun|passiert|(?:steh|hab|hat|komm|kam|lieg|mach|plan|brauch|kost|bedeut|fehl|sag|stand)\w*"
)

# The event's own words that tell that it happened once, so that what was before it is over.
TURNING_POINTS = (
    r"migration|migrating|move|switch|upgrade|rewrite|refactor\w*|cutover|redesign|split|rename|incident|outage|reorg|"
    r"acquisition|rollout|launch|umzug|umstellung|migración|déménagement|"
    r"increase|raise|rise|hike|\w*erhöhung|anhebung|\w*senkung|änderung|augmentation|hausse|baisse|changement|"
    r"subida|aumento|bajada|rebaja|cambio"
)

# A number or date right behind one of these names a thing.
LABELS = frozenset(
    """version versions v tag tags build revision rev schema edition rfc api nightly toolchain branch commit port ports
    error code codes issue ticket pr line lines id ids row rows range page pages release python node kernel image
    """.split()  # noqa: SIM905
)


def any_of(words: Iterable[str]) -> str:
    """The pattern of any of these words; of two that begin alike the longer one is tried first."""
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


# --- the parts of a text that may name days ---------------------------------------------------------

_LONGEST_TEXT, _LONG_PART, _AROUND = 1200, 200, 60
_MAY_NAME_DAYS = re.compile(  # what stands in every text that names any, to look no further into most others
    rf"\d[-/.]\s?\d|\b(?:{any_of([*MONTHS, *SHORT_MONTHS, *SEASONS, *WEEKDAYS, *UNITS, *DAYS])})\b|{TOMORROW}"
)
_SENTENCE_END = re.compile(r"(?:(?<!\d)[.!?]\s+|\n\s*)(?=[^\W\d_]|[-*#])")  # not that of "12." nor "Dec. 2026"
_TO_BLANK = re.compile(r"\S*")


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
_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?|\d{4}-?w\d\d|(?:\d{4}-?)?q[1-4]")


def day_names(words: str, *, all_of_them: bool = True) -> list[str]:
    """Of words of time those that a note may use as well: names of weekdays and seasons; of months, dates and years."""
    found = (token.strip(EDGES).removesuffix("'s") for token in words.lower().translate(_STRAIGHT).split())
    always = _WEEKDAYS | SEASONS.keys()
    return [word for word in found if word in always or (all_of_them and (word in NAMED or _DATE.fullmatch(word)))]
