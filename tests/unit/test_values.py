# ruff: noqa: RUF001 - spaces and marks as people set them
"""A value that is spelled in another way is the same value, and another value is not, however alike it is written."""

from __future__ import annotations

import errno
import sys
from datetime import date, timedelta
from itertools import pairwise, permutations
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model import doubts, identifiers
from holdfast.model import values as values_module
from holdfast.model.claims import parts_that_differ, say_the_same
from holdfast.model.note import Note
from holdfast.model.opposition import compared
from holdfast.model.values import MOST, spelled_as, values
from holdfast.model.versions import ReadTogether, judged, likelihood_together
from holdfast.model.words import lowered

ONE_VALUE = [  # each with each of its line, in a sentence
    "19:30 | half past seven in the evening | 7.30 pm | 19.30 Uhr | 19h30 | 7:30 p.m. | 7:30 in the evening",
    "a quarter past two in the morning | 02:15 | 2:15 am | Viertel nach zwei nachts",
    "quarter to nine in the evening | 20:45 | 8:45 pm | Viertel vor neun abends",
    "20 past 2 | 2:20",
    "noon | 12:00 | midday | 12 noon | 12 pm",
    "midnight | 00:00 | 24:00 | Mitternacht | 12 am",
    "14:00 | 2 pm | 14 Uhr | 14h",
    "14:00 | two o'clock | 2 o’clock",
    "2 pm | two o'clock | 2:00 | 2:00 p.m.",
    "02:00 | two o'clock | 2 Uhr",
    "halb acht | 7:30",
    "halb acht | 19:30",
    "halb acht | half past seven | sept heures et demie | siete y media de la tarde",
    "1 March | March 1st | 2026-03-01 | 1.3.2026 | 1. März | 1er mars | 1 de marzo de 2026 | the first of March",
    "1 March 2026 | March 1, 2026 | 01/03/2026 | 01.03.26 | Mar 1",
    "12 June 2026 | 2026-06-12 | 12 giugno 2026 | 12 de junho de 2026 | 12 Juni 2026",
    "3 January 2026 | 01/03/2026",
    "31/12/2026 | New Year's Eve 2026 | 12/31/2026 | Silvester | 31 December",
    "24 December | Christmas Eve | Heiligabend | 24.12.2026 | 24/12/2026",
    "March 2026 | 2026-03 | März 2026",
    "14 days | two weeks | a fortnight | 14 Tage | zwei Wochen | deux semaines | dos semanas | 2-week",
    "90 minutes | 1.5 hours | an hour and a half | 1h30 | 1 h 30 min | one and a half hours | 1½ hours | 90 min",
    "90 minutes | anderthalb Stunden | 1,5 Stunden | une heure et demie | una hora y media",
    "48 hours | two days | 2 days",
    "18 months | a year and a half | 18-month | anderthalb Jahre | dix-huit mois",
    "30 minutes | half an hour | 30 min | eine halbe Stunde | une demi-heure | media hora",
    "45 minutes | three quarters of an hour",
    "2 kg | 2000 g | two kilos | 2.000 g | 2,000 grams",
    "5 km | 5000 m | five kilometres | 5,000 metres",
    "0.5 l | 500 ml | half a litre | 0,5 Liter | einen halben Liter",
    "25 MB | 25,000 KB | 25 megabytes",
    "2 GB | 2048 MB",
    "1,000 square metres | 1000 m² | 1.000 qm | 1 000 m²",
    "12,50 € | EUR 12.50 | 12.50 euros | €12.50 | 12,50 Euro",
    "$1,200 | 1200 USD | 1,200 dollars | $1.2k | US$1,200 | twelve hundred dollars",
    "1.250,00 EUR | €1,250 | 1.250 Euro | 1 250 €",
    "$3 million | 3,000,000 dollars | $3m | 3 Mio. $",
    "15% | 15 percent | 15 Prozent | fifteen per cent | 15 %",
    "a dozen | 12 | twelve | zwölf | douze",
    "two | 2 | zwei | deux | dos",
    "25 | twenty-five | fünfundzwanzig | vingt-cinq | veinticinco",
    "2,500 | two thousand five hundred | 2500",
    "twice | two times | 2x | zweimal | deux fois",
]
TWO_VALUES = [
    "19:30 | 7:30 in the morning",
    "19:30 | 7:30 am",
    "19:30 | 7:30",
    "19:30 | 07:30 | 19:31 | half past eight",
    "half past seven | half past eight | quarter past seven | 7:45 pm | ten past seven",
    "halb acht | 8:30 | 20:30",
    "two o'clock | 3 pm | 2:30",
    "noon | midnight | 1 pm",
    "1 March | 3 January | 2 March | 1 May | 31 March",
    "1 March 2026 | 2027-03-01 | 2 March 2026",
    "01/03/2026 | 03/01/2026 | 02/03/2026",
    "Christmas Eve | 25 December | New Year's Eve",
    "March 2026 | April 2026 | 2027-03",
    "2 kg | 2 g | 2 mg | two pounds",
    "$1,200 | €1,200 | £1,200 | $1,250 | $12.00",
    "2 weeks | 12 days | 2 days | 2 months | 15 days",
    "90 minutes | 90 seconds | 1h40 | 19 minutes | 1.9 hours",
    "18 months | two years | 18 days | 18 weeks",
    "5 km | 5 m | 5 miles | 50 km",
    "25 MB | 25 KB | 25 GB | 25 MiB",
    "1,000 square metres | 1000 metres | 1000 square feet",
    "12.50 euros | 12.05 euros | 1250 euros | 125 euros",
    "15% | 15 | 50% | 0.15",
    "a dozen | two dozen | 11 | ten",
    "two | 3 | twelve | 20 | 2 kg",
    "version 2 | two | Python 2",
    "version 2 | 2",
    "version 3.10 | version 3.1",
    "3.10 | 3.1 | 3",
    "first | 2nd | one",
    "5m | 5 Mbit",
    "192.168.0.1 | 192.168.0.10",
    "1.2.3 | 1.2.30 | 123",
    "INC-12 | INC-120 | 12",
    "0012 | 12",
]


def pairs(lines: list[str]) -> list[tuple[str, str]]:
    return [pair for line in lines for pair in permutations(line.split(" | "), 2)]


def sentence(value: str) -> str:
    return f"The thing is {value} for all."


@pytest.mark.parametrize(("one", "other"), pairs(ONE_VALUE))
def test_one_value_in_another_spelling_is_spelled_as_in_the_other_text(one: str, other: str) -> None:
    assert spelled_as(sentence(one), sentence(other)) == sentence(one)


@pytest.mark.parametrize(("one", "other"), pairs(TWO_VALUES))
def test_another_value_stays_what_it_is(one: str, other: str) -> None:
    assert spelled_as(sentence(one), sentence(other)) == sentence(other)


TWO_FACTS = [
    "Opa's pill is at eight. | Opa's pill moved from 8:00 to 20:00.",
    "The lease ends on 1 March. | The lease is extended from 1 March 2026 to 1 March 2027.",
    "Tom takes the tablet every 24 hours. | Tom takes the tablet twice a day.",
    "The plan costs 20 € a month. | The plan costs €1 a month.",
    "La formation dure deux heures. | La formation dure 14 heures.",
    "Headcount is at seven now. | Headcount is at 19 now.",
    "Guardamos las dos copias. | Guardamos las 14 copias.",
    "He takes 2 in the morning and 1 at night. | He takes 1 in the morning and 2 at night.",
    "The delay is null. | The delay is 0.",
    "Treffen ist um 12 Uhr am Tor. | Treffen ist um 0 Uhr am Tor.",
    "Die Miete ist 1.000 €. | Die Miete ist 1 €.",
    "The drive takes 1.50 h. | The drive takes 1h50.",
    "The uplink does 1000 Mb/s. | The uplink does 1 GB/s.",
    "Anna works half a day on Fridays. | Anna works 12 hours on Fridays.",
    "It takes two or three weeks. | It takes 21 days.",
    "The nurse comes at 20:00. | The nurse comes at 8, in the evening Anna helps.",
    "We were offline 15 days. | We were 14 days and 24 hours offline.",
    "It is \u22125 °C. | It is 5 °C.",
]


@pytest.mark.parametrize(("one", "other"), pairs(TWO_FACTS))
def test_what_is_another_value_or_none_is_not_taken_for_the_same(one: str, other: str) -> None:
    assert spelled_as(one, other) == other


@pytest.mark.parametrize(
    "text",
    [
        "Das kostet 5 US-Dollar.", "80 square-metres", "5 per-cent", "half\nan hour", "quarter\npast seven",
        "15 per\ncent", "12\nnoon", "new\nyear's eve", "half a\ndozen", "quatre\nvingt", "ten\tpast\nten",
    ],
)  # fmt: skip
def test_words_that_a_line_or_a_hyphen_divides_are_read(text: str) -> None:
    assert isinstance(spelled_as("It is 5 dollars, 80 m2, 15%, noon, a dozen, 30 minutes, 7:15.", text), str)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Anna is our contact at the bank.", "Our contact at the bank is Anna."),
        ("", "The pier has two cranes."),
        ("The pier has two cranes.", ""),
        ("The pier has 2 cranes, at 19:30.", "The pier has 2 cranes, at 19:30."),
        ("会議は毎週金曜日", "The meeting is on Fridays at 9:00."),
    ],
)
def test_a_text_without_such_values_is_the_very_same(one: str, other: str) -> None:
    assert spelled_as(one, other) is other


@pytest.mark.parametrize(
    ("one", "other", "spelled"),
    [
        (
            "Dinner is at 19:30, bring 2 kg of rice.",
            "Bring 2000 g of rice. Dinner is at 7:30 p.m. Anna cooks for 6.",
            "Bring 2 kg of rice. Dinner is at 19:30. Anna cooks for 6.",
        ),
        ("Dinner is at 19:30.", "At 7:30 p.m. we dine, at 9 we go.", "At 19:30 we dine, at 9 we go."),
        ("It lasts 90 minutes.", "It lasts 1 hour and 30 minutes or 2 hours.", "It lasts 90 minutes or 2 hours."),
        ("The İstanbul office opens at 9 am.", "It opens at 09:00 in İzmir.", "It opens at 9 am in İzmir."),
        ("Dinner is at 19:30 on 1 May.", "On May 1 dine at 7:30 PM in İzmir.", "On 1 May dine at 19:30 in İzmir."),
        ("We meet at 7.", "We meet at seven o'clock.", "We meet at 7."),
        ("From ten to two people come.", "From 1:50 people come.", "From 1:50 people come."),
        ("You may 2 times a day.", "On 2 May we went.", "On 2 May we went."),
    ],
)
def test_values_are_found_where_they_stand(one: str, other: str, spelled: str) -> None:
    assert spelled_as(one, other) == spelled


def test_of_a_long_table_the_first_values_are_read() -> None:
    table = " ".join(f"{row}.5 kg," for row in range(1000))
    assert [value.written for value in values(table)] == [f"{row}.5 kg" for row in range(MOST)]


@given(
    one=st.integers(0, 99_999),
    other=st.integers(0, 99_999),
    unit=st.sampled_from(
        [
            "{} days",
            "{} min",
            "{:,} g",
            "{} km",
            "{} m²",
            "{} ml",
            "{} MB",
            "€{:,}",
            "{} dollars",
            "{}%",
            "{:,}",
            "{} x",
        ]
    ),
)
def test_two_numbers_of_one_unit_are_never_one_value(one: int, other: int, unit: str) -> None:
    mine, its = sentence(unit.format(one)), sentence(unit.format(other))
    assert spelled_as(mine, its) == its


def test_two_times_of_one_clock_and_two_days_of_one_calendar_are_never_one_value() -> None:
    clock = [f"{minute // 60:02}:{minute % 60:02}" for minute in range(0, 1440, 7)]
    days = [date(2026, 1, 1) + timedelta(day) for day in range(0, 365, 5)]
    for kind in (clock, [f"{day:%d.%m.%Y}" for day in days], [f"{day:%d/%m/%Y}" for day in days], list(map(str, days))):
        read = [values(sentence(each))[0] for each in kind]
        assert not [(a.written, b.written) for a, b in permutations(read, 2) if a.is_like(b)]


def test_places_in_a_text_are_those_of_its_plainer_form_whatever_letters_it_has() -> None:
    letters = map(chr, range(sys.maxunicode + 1))
    assert not [letter for letter in letters if len(lowered(letter)) != 1]


@given(text=st.text(alphabet="0123456789.,:/- \u00bd€$%abhmkpqruinotdswzxßİ’", max_size=60))
def test_any_text_is_read_and_its_values_stand_in_it_in_order(text: str) -> None:
    found = values(text)
    assert all(text[value.start : value.end] == value.written for value in found)
    assert all(one.end <= other.start for one, other in pairwise(found))
    assert spelled_as(text, text) is text


OLDER = "The choir rehearses on Mondays at half past seven in the evening."
NEWER = "The choir rehearses on Mondays at 19:30."
ANOTHER = "The choir rehearses on Mondays at 20:30."


def test_the_same_value_in_another_spelling_is_no_difference_between_notes() -> None:
    told = "2026-05-01T10:00:00Z"
    one, other, another = (Note(f"n{text}", text, "Choir", told, told) for text in (OLDER, NEWER, ANOTHER))
    assert compared(one, other).difference == compared(other, one).difference == "none"
    assert compared(one, another).difference == "value"
    assert compared(one, other).passages == (OLDER, NEWER)


def test_what_says_the_same_value_says_the_same_and_is_told_so() -> None:
    assert say_the_same(OLDER, NEWER)
    assert not say_the_same(OLDER, ANOTHER)
    assert parts_that_differ(OLDER, NEWER) is None
    assert parts_that_differ(NEWER, ANOTHER) == ("19:30", "20:30")


def test_a_likely_version_is_judged_as_if_its_values_were_spelled_alike() -> None:
    assert judged(OLDER, NEWER, 0.8) == judged(OLDER, OLDER, 0.8)
    read = ReadTogether(1.0, 1.0)
    assert likelihood_together(OLDER, NEWER, 0.8, read) == likelihood_together(OLDER, OLDER, 0.8, read)


def test_tables_that_the_first_question_takes_apart_need_no_file_handle_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for later in (values_module._units, doubts._table, identifiers._tables):
        later.cache_clear()
        with monkeypatch.context() as full:
            full.setattr(Path, "open", Mock(side_effect=OSError(errno.EMFILE, "Too many open files")))
            assert later()
