"""The words of time: English, and the commonest of German, French and Spanish. Tables, and a pattern of any word."""

from __future__ import annotations

import re
from collections.abc import Iterable

MONTHS: dict[str, int] = {
    name: number
    for names in (
        "january february march april may june july august september october november december",
        "januar februar märz april mai juni juli august september oktober november dezember",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    )
    for number, name in enumerate(names.split(), 1)
}
SHORT_MONTHS: dict[str, int] = {
    name: number
    for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)  # noqa: SIM905
} | {"sept": 9}
ALSO_WORDS = frozenset({"may", "march", "mars"})  # a verb, a verb, a planet
ALSO_NAMES = frozenset({"april", "june", "august", "avril", "julio"})  # people

WEEKDAYS: dict[str, int] = {
    name: number
    for names in (
        "monday tuesday wednesday thursday friday saturday sunday",
        "montag dienstag mittwoch donnerstag freitag samstag sonntag",
        "lundi mardi mercredi jeudi vendredi samedi dimanche",
        "lunes martes miércoles jueves viernes sábado domingo",
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
        "day": "day days tag tage tagen jour jours día días",
        "week": "week weeks woche wochen semaine semaines semana semanas",
        "weekend": "weekend weekends wochenende week-end",
        "month": "month months monat monate monaten mois mes meses",
        "quarter": "quarter quarters quartal trimestre",
        "year": "year years jahr jahre jahren année années ans año años",
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
    "vorgestern": (-2, -2), "gestern": (-1, -1), "heute": (0, 0), "übermorgen": (2, 2),
    "avant-hier": (-2, -2), "hier soir": (-1, -1), "hier matin": (-1, -1), "aujourd'hui": (0, 0),
    "anteayer": (-2, -2), "ayer": (-1, -1), "anoche": (-1, 0), "hoy": (0, 0),
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
THIS = r"this|current|diese[nrsm]?|cette|ce|esta|este"
NEXT = r"next|coming|upcoming|nächste[nrsm]?|kommende[nrsm]?"
LAST_BEHIND = r"pasad[oa]|derni(?:er|ère)|passée?"

# What a preposition makes of the period behind it: within it, everything up to it, everything from it on.
RELATIONS: dict[str, str] = {
    word: relation
    for relation, words in {
        "before": "before|prior to|vor|avant|antes de|antes del|avant le|avant la",
        "after": "after|nach|après|después de|después del",
        "since": "since|ever since|starting|seit|depuis|desde",
        "until": "until|till|up to|by|through|as of|bis|jusqu'en|jusqu'à|jusqu'au|hasta",
        "during": "in|on|of|at|from|for|during|throughout|over|within|around|about|im|am|in der|in den|während|en|au|"
        "du|le|el|pendant|durante",
    }.items()
    for word in words.split("|")
}

PAST_MARKS = (
    r"originally|initially|back then|at (?:the|that) time(?! of)|previously|formerly|"
    r"in the (?:past|beginning)(?=\s*(?:[?.!,;]|$))|"
    r"at first(?=\s*(?:[?.!,;]|$)|\s+(?:we|i|it|they|he|she|did|was|were|when|and|but)\b)|"
    r"(?<!is )(?<!are )(?<!was )(?:we|i|you|they|he|she|it|there|did \w+|did \w+ \w+) (?P<mark>used to)|"
    r"früher|ursprünglich|damals|anfangs|autrefois|auparavant|à l'origine|à l'époque|au début(?! d)|"
    r"originalmente|al principio|anteriormente|en aquel entonces"
)

# Verbs that say that something has happened, where a window that reaches today is then meant as one.
PAST_VERBS = (
    r"did|was|were|had|have|has|been|happened|changed|decided|learn(?:ed|t)|done|fixed|deployed|shipped|merged|released|"
    r"added|removed|broke|went|said|told|made|got|wrote|discussed|agreed|found|worked|met|used|"
    r"war|waren|haben|hat|hatten?|wurden?|avons|avait|hemos|fue|hicimos"
)

# The event's own words that tell that it happened once, so that what was before it is over.
TURNING_POINTS = (
    r"migration|migrating|move|switch|upgrade|rewrite|refactor\w*|cutover|redesign|split|rename|incident|outage|reorg|"
    r"acquisition|rollout|launch|umzug|umstellung|migración|déménagement"
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
