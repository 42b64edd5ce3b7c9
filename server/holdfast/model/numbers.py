"""Numbers as they are written, in digits and in words; and months and days of the week by their names.

English is read in full; of German, French and Spanish the words are known, of Italian and Portuguese those for days.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from functools import cache, lru_cache
from typing import TypeVar

from holdfast.model.when import spans
from holdfast.model.words import any_of, folded, plainly, regex

_Key = TypeVar("_Key")

MONTHS = {folded(name): number for name, number in spans.MONTHS.items()}
ANY_MONTH = MONTHS | spans.SHORT_MONTHS
WEEKDAYS = {folded(name): number for name, number in spans.WEEKDAYS.items()} | {"sonnabend": 5}
_ENGLISH = list(WEEKDAYS)[:7]
# Where they are values of a text: "may" is a verb more often.
DAYS = frozenset({*WEEKDAYS, *(f"{day}s" for day in _ENGLISH), *MONTHS, "noon", "midnight"} - {"may"})

_PERIOD = regex(
    rf"\b\d\d?\.?(?: \w+)? ?(?:to|bis|au|al|-|\u2013) ?\d\d?\.? (?:de )?{any_of(spans.MONTHS)}\b", re.IGNORECASE
)

# One of a numbered series and what came of it: "Sprint 41 delivered 23 points", "Invoice 2026-0041: 1200 euros".
_OF_A_SERIES = regex(
    r"\W*(?!(?:from|since|until|as of|ab|seit|bis)\b)"
    r"((?:[^\W\d_]+ )*?(?!(?:from|since|until|till|by|at|on|in|for|to|after|before|about|than|most|least|ab|seit|bis|"
    r"am|im|zum|fur|le|en|el|para)\b)[^\W\d_]+) (?:no\.? |nr\.? |#)?(?!(?:19|20)\d\d\b(?!-))(?=[a-z.-]*\d)([\w.-]*\w)"
    r"(?:[^:.!?]*:\s+\d|\s+(?:was |were |has been |have been )?(?:went|took|brought|had|found|came|gave|got|made|ran|"
    r"cost|sold|drew|saw|lost|won|sent|paid|held|heard|seen|(?!need|us|nam|bas|deploy|install|introduc|activat|adopt|"
    r"replac|enabl|start|mov|schedul|plann|requir|suppos|assign|allow|call|lock|releas|locat)[a-z]{2,}ed|hatte|brachte|"
    r"lieferte|ergab|endete|dauerte)\b)"
)
_HEAD = 200  # characters in which a text says of what it is


@lru_cache(2048)  # one text is compared with many
def period_of(text: str) -> str:
    """From which day to which, as "4 to 10 January"; empty where it says none."""
    found = _PERIOD.search(text)
    return found[0] if found else ""


def came_of_two(one: str, other: str) -> bool:
    """Whether two texts tell what came of two of one numbered series."""
    (first, number), (second, other_number) = _of_a_series(one[:_HEAD]), _of_a_series(other[:_HEAD])
    return bool(first) and first == second and number != other_number


@lru_cache(2048)
def _of_a_series(text: str) -> tuple[str, str]:
    """What a text tells what came of, and its number; both empty where it is of no series."""
    found = _OF_A_SERIES.match(folded(text))
    return (found[1], found[2]) if found else ("", "")


# What a number stands behind that names one of many, as in "sprint 12", and no value of a thing.
NUMBERED = frozenset(
    """step phase part week sprint chapter lesson ticket issue bug incident invoice order room node host shard rack
    line level round iteration milestone quarter question task item case customer section page q kw nr no pr epic story
    schritt teil woche kapitel rechnung auftrag raum etape semaine paso semana fase passo batch branch tag
    size build run job release number numero nummer num""".split()  # noqa: SIM905
)
# Units by what they measure: amounts of two of these are no versions of each other.
MEASURES = (
    """second seconds sec secs ms minute minutes min mins hour hours day days week weeks month months year years
    sekunde sekunden stunde stunden tag tage tagen woche wochen monat monate monaten jahr jahre jahren heure heures
    jour jours semaine semaines mois an ans hora horas minuto minutos dia dias semanas mes meses ano anos""",
    "euro euros eur dollar dollars usd pound pounds gbp chf francs \u20ac $ \u00a3",
    "kb mb gb tb kib mib gib bytes byte",
    "% percent prozent pourcent",
    "am pm uhr \u70b9 o'clock",
    "km m cm mm metres meters miles",
    "kg g mg grams tons",
    "degrees \u00b0c grad",
)
# Numbers by their words, which may stand together: "twenty-five", "fünfundzwanzig", "two hundred and ten".
NUMBER_WORDS = {"ein": 1, "dix sept": 17, "dix huit": 18, "dix neuf": 19, "quatre vingt": 80, "dreisig": 30} | {
    folded(word): number
    for given, number in zip(
        (
            "zero null zéro cero", "one eins uno", "two zwei deux dos", "three drei trois tres",
            "four vier quatre cuatro", "five fünf cinq cinco", "six sechs seis", "seven sieben sept siete",
            "eight acht huit ocho", "nine neun neuf nueve", "ten zehn dix diez", "eleven elf onze",
            "twelve zwölf douze doce", "thirteen dreizehn treize trece", "fourteen vierzehn quatorze catorce",
            "fifteen fünfzehn quinze quince", "sixteen sechzehn seize dieciséis", "seventeen siebzehn diecisiete",
            "eighteen achtzehn dieciocho", "nineteen neunzehn diecinueve", "twenty zwanzig vingt veinte",
            "veintiuno", "veintidós", "veintitrés", "veinticuatro", "veinticinco", "veintiséis", "veintisiete",
            "veintiocho", "veintinueve", "thirty dreißig trente treinta", "forty vierzig quarante cuarenta",
            "fifty fünfzig cinquante cincuenta", "sixty sechzig soixante sesenta", "seventy siebzig setenta",
            "eighty achtzig ochenta", "ninety neunzig noventa",
        ),
        (*range(31), *range(40, 100, 10)),
        strict=True,
    )
    for word in given.split()
}  # fmt: skip
# What a word alone is the number of; "null" is of code, and an article no number.
NUMERALS = {
    word: str(number)
    for word, number in (NUMBER_WORDS | {"une": 1, "due": 2, "tre": 3, "once": 11}).items()
    if number <= 12 and word not in {"ein", "uno", "null", "cero"}  # noqa: PLR2004 - twelve
}
FIRST_TO_TWELFTH = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()  # noqa: SIM905 - a list of words reads better as one text
FIRST_ELSEWHERE = "premier erste ersten erster erstes primero".split()  # noqa: SIM905 - as above
ORDINALS = frozenset({*FIRST_TO_TWELFTH, "fifteenth", "twentieth", "last"})
SCALES = {
    "dozen": 12, "dutzend": 12, "douzaine": 12, "docena": 12, "hundred": 100, "hundert": 100, "cents": 100,
    "thousand": 1000, "tausend": 1000, "mille": 1000, "mil": 1000, "million": 10**6, "billion": 10**9,
}  # fmt: skip
BEHIND_DIGITS = {
    "k": 1000, "thousand": 1000, "tausend": 1000, "tsd": 1000, "mille": 1000, "mil": 1000, "million": 10**6,
    "millions": 10**6, "millionen": 10**6, "mio": 10**6, "millones": 10**6, "mn": 10**6, "billion": 10**9,
    "mrd": 10**9, "milliarden": 10**9, "bn": 10**9, "dozen": 12, "dutzend": 12,
}  # fmt: skip
_PARTS_OF_ONE = {
    Fraction(1): "a|an|one|ein|eine|einen|einem|einer|eines|un|une|una",
    Fraction(1, 2): "half an|half a|half|a half|eine halbe|einer halben|ein halbes|einen halben|halbe|une demi|demi|"
    "un demi|media|medio|una media|\u00bd",
    Fraction(1, 4): "quarter of an|quarter of a|a quarter of an|a quarter of a|un quart de|\u00bc",
    Fraction(3, 4): "three quarters of an|three quarters of a|trois quarts de|\u00be",
    Fraction(3, 2): "anderthalb|eineinhalb",
    Fraction(5, 2): "zweieinhalb",
    Fraction(6): "half a dozen|ein halbes dutzend|une demi-douzaine|media docena",
}
_TWENTY = 20


def one_of(words: Iterable[str]) -> str:
    """A pattern of words without accents, whatever stands between the words of one."""
    return any_of(map(plainly, words)).replace("\\ ", r"[\s-]")


def by_words(table: dict[_Key, str]) -> dict[str, _Key]:
    """The key of each word of a table."""
    return {plainly(word): key for key, words in table.items() for word in words.split("|")}


def _number_words() -> str:
    """A pattern of a number in small words without accents, a space or a hyphen between them."""
    below, tens = (
        any_of(word for word, number in NUMBER_WORDS.items() if word != "ein" and (number < _TWENTY) is small).replace(
            "\\ ", r"[\s-]"
        )
        for small in (True, False)
    )
    word = rf"(?:{tens}(?:[\s-](?:(?:et|y)[\s-])?{below})?|{below}(?:und{tens})?|einund{tens})"
    return (
        rf"(?:(?:(?:{word}|an?|eine?|une?)[\s-]?)?{any_of(SCALES)}(?:[\s-](?:and[\s-])?{word}(?:[\s-]{any_of(SCALES)})?)*"
        rf"|{word})"
    )


PARTS = by_words(_PARTS_OF_ONE)
_ARTICLES = frozenset(_PARTS_OF_ONE[Fraction(1)].split("|"))


@cache
def written_numbers() -> re.Pattern[str]:
    """The pattern of a number in small plain letters (`lowered`); its groups name how it is written."""
    return re.compile(
        r"(?<![\w.,:/@#+-])(?:(?P<digits>(?>\d{1,3}(?:[ ']\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)*))"
        r"(?P<part>[\u00bd\u00bc\u00be])?(?:,-(?!\d))?(?![/:-]\d)"
        rf"(?:\s?(?P<scale>{one_of(BEHIND_DIGITS)})(?!\w)(?:\.(?=\s?[€$£e]))?)?(?P<suffix>(?:st|nd|rd|th)(?!\w))?"
        rf"|(?:(?P<some>{one_of(PARTS.keys() - _ARTICLES)})|(?P<words>{_number_words()})"
        rf"|(?P<ordinal>{one_of((*FIRST_TO_TWELFTH, *FIRST_ELSEWHERE))})|(?P<article>{one_of(_ARTICLES)}))(?!\w))"
        r"(?P<half>\sand\sa\shalf(?!\w))?"
    )
