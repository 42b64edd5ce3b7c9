"""What a question says about time, and what only looks like it."""

from __future__ import annotations

import re
import time
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.note import Note, instant, moment, read_instant
from holdfast.model.when.questions import (
    TimeReading,
    looking_ahead,
    outer_window,
    read_time,
    said_once,
    without_time,
)
from holdfast.model.when.told import DaysAsked, other_days, says_when

ASKED = datetime(2026, 11, 4, 15, 30, tzinfo=UTC)  # a Wednesday


def reading(query: str, asked: datetime = ASKED) -> TimeReading:
    found = read_time(query, asked)
    assert found is not None, query
    return found


def days(query: str, asked: datetime = ASKED) -> str:
    """The window as "first day..last day", an open end left empty."""
    found = reading(query, asked)
    assert found.after is None or found.after.endswith("T00:00:00Z")
    assert found.before is None or found.before.endswith("T23:59:59Z")
    return f"{(found.after or '')[:10]}..{(found.before or '')[:10]}"


@pytest.mark.parametrize(
    ("query", "window"),
    [
        ("what is due in March?", "2027-03-01..2027-03-31"),
        ("what deadlines are in March?", "2027-03-01..2027-03-31"),
        ("when will the report be published in March?", "2027-03-01..2027-03-31"),
        ("plans for the release in March", "2027-03-01..2027-03-31"),
        ("¿Cuánto costará la sesión en marzo?", "2027-03-01..2027-03-31"),
        ("Combien coûtera la séance en mars ?", "2027-03-01..2027-03-31"),
        ("Was wird die Stunde im März kosten?", "2027-03-01..2027-03-31"),
        ("Was ist im März fällig?", "2027-03-01..2027-03-31"),
        ("¿Cuánto costó la sesión en marzo?", "2026-03-01..2026-03-31"),
        ("Combien a coûté la séance en mars ?", "2026-03-01..2026-03-31"),
        ("what is due on 29 February", "2027-02-28..2027-02-28"),
        ("What should I know about the backups in October?", "2026-10-01..2026-10-31"),
        ("Which tasks are due that we decided in October?", "2026-10-01..2026-10-31"),
        ("What will we do about the bug found in June?", "2026-06-01..2026-06-30"),
        ("will the tariff we set in June stay?", "2026-06-01..2026-06-30"),
    ],
)
def test_a_month_is_the_coming_one_only_where_what_comes_is_asked_of_it(query: str, window: str) -> None:
    assert days(query) == window


@pytest.mark.parametrize(
    ("query", "coming"),
    [
        ("what is coming up in March?", "2027-03-01"),
        ("what do I have in December?", "2026-12-01"),
        ("what have we scheduled for the 3rd of March?", "2027-03-03"),
        ("what do we have on Tuesday?", None),
        ("was steht im März an?", "2027-03-01"),
        ("was haben wir im Dezember vor?", "2026-12-01"),
        ("¿qué hay en diciembre?", "2026-12-01"),
        ("qu'avons-nous en mars ?", "2027-03-01"),
        ("what did we do in March?", None),
        ("what have we done in March?", None),
        ("what was going on in March?", None),
        ("was haben wir im März gemacht?", None),
        ("¿qué hicimos en marzo?", None),
        ("what do I have in March 2026?", None),
        ("what is there from last March?", None),
        ("what is due in March?", None),
    ],
)
def test_a_month_that_comes_round_again_and_is_in_no_past_tense_may_be_the_coming_one(
    query: str, coming: str | None
) -> None:
    found = read_time(query, ASKED)
    assert found is not None
    if query.endswith("Tuesday?"):
        assert found.coming is not None
        first, last = (moment(text) for text in found.coming if text)
        assert first.strftime("%A") == last.strftime("%A") == "Tuesday"
        assert ASKED.date() <= first.date() < ASKED.date() + timedelta(days=7)
        return
    assert (found.coming and found.coming[0] and found.coming[0][:10]) == coming
    if found.coming:
        ahead = looking_ahead(found)
        assert (ahead.after, ahead.before) == found.coming
        assert (ahead.past, ahead.ahead, ahead.words) == (False, True, found.words)


@pytest.mark.parametrize(
    ("query", "window"),
    [
        ("what is due before Friday?", "2026-11-04T09:30:00Z..2026-11-05T23:59:59Z"),
        ("what do I have to finish before Monday?", "2026-11-04T09:30:00Z..2026-11-08T23:59:59Z"),
        ("was ist bis Freitag zu tun?", "2026-11-04T09:30:00Z..2026-11-06T23:59:59Z"),
        ("was ist bis zum Freitag fällig?", "2026-11-04T09:30:00Z..2026-11-06T23:59:59Z"),
        ("¿Qué vence antes del domingo?", "2026-11-04T09:30:00Z..2026-11-07T23:59:59Z"),
        ("¿Qué vence hasta el domingo?", "2026-11-04T09:30:00Z..2026-11-08T23:59:59Z"),
        ("Qu'est-ce qui est dû avant dimanche ?", "2026-11-04T09:30:00Z..2026-11-07T23:59:59Z"),
        ("che cosa scade entro domenica?", "2026-11-04T09:30:00Z..2026-11-08T23:59:59Z"),
        ("what's due before 10 December?", "2026-11-04T09:30:00Z..2026-12-09T23:59:59Z"),
        ("events until 10 December", "2026-11-04T09:30:00Z..2026-12-10T23:59:59Z"),
        ("citas antes del 10 de diciembre", "2026-11-04T09:30:00Z..2026-12-09T23:59:59Z"),
        ("notes before Friday", "2026-11-04T09:30:00Z..2026-11-05T23:59:59Z"),
        ("events after 5 December", "2026-12-06T00:00:00Z.."),
        ("deadlines before the end of the year", "2026-11-04T09:30:00Z..2026-12-31T23:59:59Z"),
        ("events before the end of the month", "2026-11-04T09:30:00Z..2026-11-30T23:59:59Z"),
        ("what did we do before Monday?", "..2026-11-01T23:59:59Z"),
        ("what was decided before the end of March?", "..2026-03-31T23:59:59Z"),
        ("what happened before 10 December?", "..2025-12-09T23:59:59Z"),
    ],
)
def test_what_is_before_or_after_a_day_that_comes_begins_or_ends_with_what_is_to_come(query: str, window: str) -> None:
    found = read_time(query, ASKED.replace(hour=9, minute=30))
    assert found is not None
    assert found.ahead is bool(re.search(r"due|have to|zu tun|deadlines|fällig|vence|dû|scade", query)), (
        "else the last one may be meant"
    )
    assert (found.coming is not None) is bool(re.search(r"^(?:events|citas|notes)", query))
    after, before = found.coming or (found.after, found.before)
    assert f"{after or ''}..{before or ''}" == window


@pytest.mark.parametrize("query", ["deadlines before today", "what is due before November?", "due before this month"])
def test_what_was_due_before_a_time_that_has_begun_is_overdue_and_not_to_come(query: str) -> None:
    found = reading(query)
    assert found.after is None
    assert found.before is not None
    assert found.before < "2026-11-04"


def test_the_words_in_so_many_days_are_looked_for_as_well() -> None:
    query = "which customers pay in 30 days?"
    assert without_time(query, reading(query)) == query


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("was steht in KW 47 an?", "2026-11-16"),
        ("what was done in KW 40?", "2026-09-28"),
        ("what was done in week 50?", "2025-12-08"),
    ],
)
def test_a_numbered_week_is_one_of_this_year_unless_what_happened_in_it_is_asked_before_it(
    query: str, first: str
) -> None:
    found = reading(query)
    assert found.after is not None
    assert found.after[:10] == first


@pytest.mark.parametrize(
    ("query", "window"),
    [
        ("was habe ich morgen?", "2026-11-05..2026-11-05"),
        ("cosa c'è domani?", "2026-11-05..2026-11-05"),
        ("o que há amanhã?", "2026-11-05..2026-11-05"),
        ("la prossima settimana", "2026-11-09..2026-11-15"),
        ("a próxima semana", "2026-11-09..2026-11-15"),
        ("la settimana scorsa", "2026-10-26..2026-11-01"),
        ("na semana passada", "2026-10-26..2026-11-01"),
        ("il 3 novembre", "2026-11-03..2026-11-03"),
        ("em outubro", "2026-10-01..2026-10-31"),
        ("what was done on 24/10?", "2026-10-24..2026-10-24"),
        ("was war am 3.11. los?", "2026-11-03..2026-11-03"),
        ("was habe ich morgen früh?", "2026-11-05..2026-11-05"),
        ("¿qué hay para mañana?", "2026-11-05..2026-11-05"),
        ("qu'est-ce que j'ai demain ?", "2026-11-05..2026-11-05"),
        ("¿qué tenemos la próxima semana?", "2026-11-09..2026-11-15"),
        ("¿qué hay la semana que viene?", "2026-11-09..2026-11-15"),
        ("qu'est-ce que j'ai la semaine prochaine ?", "2026-11-09..2026-11-15"),
    ],
)
def test_what_comes_is_read_in_each_language(query: str, window: str) -> None:
    assert days(query) == window


@pytest.mark.parametrize(
    ("query", "is_past"),
    [
        ("was muss ich vor dem Upload wissen, welches Limit gilt vorher?", False),
        ("Was ist das alte Limit?", False),
        ("was war das Limit vorher?", True),
        ("¿cuánto costaba antes el curso?", True),
        ("was kostete vorher die Miete?", True),
        ("¿qué hay que hacer antes del curso?", False),
        ("was kostete das früher?", True),
        ("was the limit higher before?", True),
        ("what was the old limit?", True),
    ],
)
def test_the_german_was_is_no_verb_in_the_past(query: str, *, is_past: bool) -> None:
    found = read_time(query, ASKED)
    assert (found is not None and found.past) == is_past


@pytest.mark.parametrize("query", ["was mache ich am Morgen?", "guten Morgen", "trabajo por la mañana", "esta mañana"])
def test_a_morning_is_not_tomorrow(query: str) -> None:
    assert read_time(query, ASKED) is None


@pytest.mark.parametrize(
    ("query", "window"),
    [
        ("what happened on 2026-03-14", "2026-03-14..2026-03-14"),
        ("notes of 2026-03", "2026-03-01..2026-03-31"),
        ("what did we do in 2025", "2025-01-01..2025-12-31"),
        ("2026-W12", "2026-03-16..2026-03-22"),
        ("March 14", "2026-03-14..2026-03-14"),
        ("14 March 2025", "2025-03-14..2025-03-14"),
        ("the 3rd of May", "2026-05-03..2026-05-03"),
        ("the second of March", "2026-03-02..2026-03-02"),
        ("Dec 1,2023", "2023-12-01..2023-12-01"),
        ("on Tuesday, 3 March 2026", "2026-03-03..2026-03-03"),
        ("March 3-5, 2026", "2026-03-03..2026-03-05"),
        ("on 29 February", "2024-02-29..2024-02-29"),
        ("13/03/2026", "2026-03-13..2026-03-13"),
        ("03/13/2026", "2026-03-13..2026-03-13"),
        ("am 14.03.2026", "2026-03-14..2026-03-14"),
        ("March 2025", "2025-03-01..2025-03-31"),
        ("in March", "2026-03-01..2026-03-31"),
        ("in december", "2025-12-01..2025-12-31"),
        ("in november", "2026-11-01..2026-11-30"),
        ("last November", "2025-11-01..2025-11-30"),
        ("this March", "2026-03-01..2026-03-31"),
        ("next March", "2027-03-01..2027-03-31"),
        ("Q1 numbers", "2026-01-01..2026-03-31"),
        ("Q3 2025", "2025-07-01..2025-09-30"),
        ("in spring", "2026-03-01..2026-05-31"),
        ("last summer", "2026-06-01..2026-08-31"),
        ("in February last year", "2025-02-01..2025-02-28"),
        ("in March of next year", "2027-03-01..2027-03-31"),
        ("summer of last year", "2025-06-01..2025-08-31"),
        ("im März letzten Jahres", "2025-03-01..2025-03-31"),
        ("en mai de l'année dernière", "2025-05-01..2025-05-31"),
        ("en mayo del año pasado", "2025-05-01..2025-05-31"),
        ("in winter", "2025-12-01..2026-02-28"),
        ("winter 2023", "2023-12-01..2024-02-29"),
        ("early March", "2026-03-01..2026-03-10"),
        ("mid-March", "2026-03-11..2026-03-20"),
        ("late March", "2026-03-21..2026-03-31"),
        ("end of 2025", "2025-09-01..2025-12-31"),
        ("at the beginning of the year", "2026-01-01..2026-04-30"),
        ("in early spring", "2026-03-01..2026-03-31"),
        ("the first week of November", "2026-11-01..2026-11-07"),
        ("the week of March 9", "2026-03-09..2026-03-15"),
    ],
)
def test_dates_months_quarters_and_seasons_are_read(query: str, window: str) -> None:
    assert days(query) == window


@pytest.mark.parametrize(
    ("query", "window"),
    [
        ("today", "2026-11-04..2026-11-04"),
        ("yesterday's incident", "2026-11-03..2026-11-03"),
        ("the day before yesterday", "2026-11-02..2026-11-02"),
        ("tomorrow", "2026-11-05..2026-11-05"),
        ("last night", "2026-11-03..2026-11-04"),
        ("last week", "2026-10-26..2026-11-01"),
        ("this week's changes", "2026-11-02..2026-11-08"),
        ("the week before last", "2026-10-19..2026-10-25"),
        ("in the past week", "2026-10-28..2026-11-04"),
        ("last month", "2026-10-01..2026-10-31"),
        ("last quarter", "2026-07-01..2026-09-30"),
        ("last year", "2025-01-01..2025-12-31"),
        ("next year", "2027-01-01..2027-12-31"),
        ("last weekend", "2026-10-31..2026-11-01"),
        ("over the weekend", "2026-10-31..2026-11-01"),
        ("last Tuesday", "2026-11-03..2026-11-03"),
        ("on Wednesday", "2026-10-28..2026-10-28"),
        ("by Friday", "..2026-11-06"),
        ("two days ago", "2026-11-01..2026-11-03"),
        ("two weeks ago", "2026-10-18..2026-10-24"),
        ("a month ago", "2026-09-19..2026-10-19"),
        ("two years ago", "2024-05-06..2025-05-05"),
        ("ten minutes ago", "2026-11-04..2026-11-04"),
        ("in the last 10 days", "2026-10-25..2026-11-04"),
        ("past two weeks", "2026-10-21..2026-11-04"),
        ("earlier this year", "2026-01-01..2026-11-04"),
        ("a few weeks ago", "2026-09-20..2026-10-24"),
        ("the other day", "2026-10-28..2026-11-03"),
        ("recently", "2026-10-21..2026-11-04"),
        ("events in the next two weeks", "2026-11-04..2026-11-18"),
        ("in den nächsten 14 Tagen", "2026-11-04..2026-11-18"),
        ("las próximas dos semanas", "2026-11-04..2026-11-18"),
        ("dans les deux prochaines semaines", "2026-11-04..2026-11-18"),
        ("las últimas dos semanas", "2026-10-21..2026-11-04"),
        ("les deux dernières semaines", "2026-10-21..2026-11-04"),
        ("in the last fortnight", "2026-10-21..2026-11-04"),
        ("what happens in two weeks?", "2026-11-15..2026-11-21"),
        ("what's on in a couple of weeks?", "2026-11-08..2026-12-06"),
        ("dans trois jours", "2026-11-06..2026-11-08"),
        ("two Thursdays ago", "2026-10-22..2026-10-22"),
        ("two Wednesdays ago", "2026-10-21..2026-10-21"),
        ("on the Wednesday of last week", "2026-10-28..2026-10-28"),
        ("am Freitag letzter Woche", "2026-10-30..2026-10-30"),
        ("el lunes de la próxima semana", "2026-11-09..2026-11-09"),
        ("le jeudi de la semaine dernière", "2026-10-29..2026-10-29"),
        ("vorletzte Woche", "2026-10-19..2026-10-25"),
        ("l'avant-dernière semaine", "2026-10-19..2026-10-25"),
        ("la semana antepasada", "2026-10-19..2026-10-25"),
        ("in KW 40", "2026-09-28..2026-10-04"),
        ("in week 40 of 2025", "2025-09-29..2025-10-05"),
        ("90 minutes ago", "2026-11-04..2026-11-04"),
        ("vor 20 Minuten", "2026-11-04..2026-11-04"),
        ("five hours ago", "2026-11-03..2026-11-04"),
        ("36 hours ago", "2026-11-02..2026-11-03"),
        ("twenty days ago", "2026-10-12..2026-10-18"),
        ("vor zwanzig Tagen", "2026-10-12..2026-10-18"),
        ("in the last 30 minutes", "2026-11-03..2026-11-04"),
        ("from May 3 to today", "2026-05-03..2026-11-04"),
        ("between 1 May and today", "2026-05-01..2026-11-04"),
        ("In May who visited the museum", "2026-05-01..2026-05-31"),
        ("on 3 May who visited us", "2026-05-03..2026-05-03"),
        ("am 24. Dez. 2025", "2025-12-24..2025-12-24"),
        ("am 3. Okt 2025", "2025-10-03..2025-10-03"),
    ],
)
def test_what_is_said_from_today_is_counted_from_the_day_of_asking(query: str, window: str) -> None:
    assert days(query) == window


@pytest.mark.parametrize(
    ("query", "window"),
    [
        ("since Monday", "2026-11-02.."),
        ("since 2026-01-01", "2026-01-01.."),
        ("from March onwards", "2026-03-01.."),
        ("before May", "..2026-04-30"),
        ("until June", "..2026-06-30"),
        ("as of 27 March, 2022", "..2022-03-27"),
        ("after the 5th of June", "2026-06-06.."),
        ("between March and May", "2026-03-01..2026-05-31"),
        ("between october and february", "2025-10-01..2026-02-28"),
        ("from 1 March to 10 March", "2026-03-01..2026-03-10"),
        ("between August 11 and August 15 2023", "2023-08-11..2023-08-15"),
        ("2026-01-01 to 2026-01-31", "2026-01-01..2026-01-31"),
        ("the week before 16 November 2025", "2025-11-09..2025-11-15"),
    ],
)
def test_prepositions_open_close_and_join_windows(query: str, window: str) -> None:
    assert days(query) == window


@pytest.mark.parametrize(
    ("query", "window"),
    [
        ("was haben wir gestern entschieden", "2026-11-03..2026-11-03"),
        ("letzte Woche", "2026-10-26..2026-11-01"),
        ("im März", "2026-03-01..2026-03-31"),
        ("Anfang Mai 2025", "2025-05-01..2025-05-10"),
        ("vor zwei Wochen", "2026-10-18..2026-10-24"),
        ("la semaine dernière", "2026-10-26..2026-11-01"),
        ("l'an dernier", "2025-01-01..2025-12-31"),
        ("en mars 2024", "2024-03-01..2024-03-31"),
        ("il y a trois jours", "2026-10-31..2026-11-02"),
        ("¿qué pasó ayer?", "2026-11-03..2026-11-03"),
        ("el mes pasado", "2026-10-01..2026-10-31"),
        ("en marzo de 2025", "2025-03-01..2025-03-31"),
        ("hace dos semanas", "2026-10-18..2026-10-24"),
    ],
)
def test_the_commonest_of_german_french_and_spanish_are_read(query: str, window: str) -> None:
    assert days(query) == window


@pytest.mark.parametrize(
    "query",
    [
        *("may I deploy", "users may upload", "this may fail", "may 3 users log in", "at least 3 may fail", "May I?"),
        *("march through the steps", "march 3 miles", "second try", "sun microsystems", "sat nav", "mon repos"),
        *("fall back", "fall through", "spring boot", "beans in spring boot", "summer intern project", "winter time"),
        *("last argument", "last commit", "last an hour", "next step", "current sprint", "two commits ago"),
        *("version 2024.1", "version 2024-01", "port 2025", "python 3.11", "RFC 2025", "error 2024", "in #2025"),
        *("in 2048 bit mode", "after 2000 ms", "after 2000 retries", "in 2025 rows", "commit 20260314abc", "0x2026"),
        *(
            "/var/log/2026-03-14/app.log",
            "`2026-03-14`",
            "https://localhost/2026/03/14",
            "CVE-2026-03",
            'says "in March"',
        ),
        *("2026-03-14 12:00:00 ERROR timeout", "Mar 14 12:00:00 host sshd[1]: failed", "git log --since yesterday"),
        *("weekday jobs", "daily", "date parsing", "rate limit per week", "every Monday", "on Monday mornings"),
        *(
            "most recently used",
            "how long ago was it",
            "keep the last 7 days of logs",
            "today() function",
            "03/04/2026",
        ),
        *("before you commit", "since it is slow", "before deploying", "before I push", "before each deploy"),
        *("5 minutes after boot", "how many days after capture", "at first glance", "which key is used to sign"),
        *("who looks after the warehouse?", "the owner looked after Tom", "who takes after Anna?"),
        *("how many visits are there in a week?", "what did we get done in two weeks?", "how long is it in 3 weeks"),
        *("rerun settlement for a few past days", "limit of exams in one week", "the exercises of week 2"),
        *("what is taught in week 10 of the course?", "wallbox kw 22", "is Anna coming two weeks after"),
        *("which till system do we use?", "how does the till software handle refunds", "who has the before photo?"),
        *(
            "is the shop open 24/7?",
            "what is on 24/7?",
            "what changed in 3.12?",
            "what changed on 3.12",
            "who is on 1/2?",
        ),
        *("how does June like her coffee", "April said hello", "may this go out today?"),
    ],
)
def test_what_only_looks_like_time_is_left_alone(query: str) -> None:
    assert read_time(query, ASKED) is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("The inspector comes on 12 December at ten.", "then"),
        ("Closed from 10 to 14 December.", "then"),
        ("Closed between 10 December and 3 January.", "then"),
        ("The party is on 11 December. The inspector comes on 12 December.", "then"),
        ("The agreed day is 12 December.", "then"),
        ("The hens lay two eggs in December.", "around"),
        ("The fair is open until 20 December.", "around"),
        ("In winter the glue is in the cellar.", "around"),
        ("Lena was born on 12 December 1985.", "around"),
        ("The VAT return is due on 11 December.", "elsewhen"),
        ("The prices of 12 January hold.", "elsewhen"),
        ("The plumber comes on Friday.", "elsewhen"),
        ("The farrier comes every six weeks.", None),
        ("Customers pay in 30 days.", None),
        ("12 of the hens were sold.", None),
        ("We have used it since 2019.", None),
    ],
)
def test_a_text_names_a_day_that_is_asked_about_or_a_time_around_it_or_others(text: str, says: str | None) -> None:
    day = DaysAsked(date(2026, 12, 12), date(2026, 12, 12), openly=True)
    found = says_when(text, ASKED.date(), day)
    assert (found and found.says) == says


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("The audit is in a week.", 11),
        ("Trip to Graz in two weeks.", 18),
        ("In zehn Tagen kommt der Schornsteinfeger.", 14),
        ("Dans une semaine, on part à Lyon.", 11),
        ("En una semana llega mi hermana.", 11),
        ("Customers pay in ten days.", None),
        ("The shed was built in a week.", None),
        ("Das dauert in einer Woche nur einen Tag.", None),
        ("The book can be read in two weeks.", None),
        ("The lease ends in a month.", None),
    ],
)
def test_a_text_that_says_in_a_week_names_the_day_a_week_from_when_it_was_told(text: str, day: int | None) -> None:
    told = [
        each
        for each in range(1, 30)
        if (found := says_when(text, ASKED.date(), _only(date(2026, 11, each)))) and found.says == "then"
    ]
    assert told == ([day] if day else [])


@pytest.mark.parametrize("length", range(80))
def test_a_date_that_follows_another_one_is_read_whole_at_any_distance(length: int) -> None:
    between = "the printer was moved to the other end of the long hall by two of us and stays "[:length].strip()
    text = f"On Monday {between} until the fair on 15 March 2027 begins."
    says = [says_when(text, ASKED.date(), _only(date(year, 3, 15))) for year in (2026, 2027)]
    assert [each and each.says for each in says] == ["around", "then"]


def test_a_date_in_the_midst_of_which_the_text_is_cut_off_is_read_whole() -> None:
    for length in range(1160, 1200):
        text = f"{('word ' * 240)[:length].strip()} on 12 December 2027."
        says = [says_when(text, ASKED.date(), _only(date(year, 12, 12))) for year in (2026, 2027)]
        assert [each and each.says for each in says] in (["around", "then"], [None, None])


def test_a_verb_far_from_a_date_does_not_make_it_past() -> None:
    text = "The inspector was here. " + "The hall is heated on Monday and on Friday, too. " * 3 + "Fair: 12 December."
    found = says_when(text, date(2025, 12, 15), _only(date(2026, 12, 12)))
    assert found is not None
    assert found.says == "then"


@pytest.mark.parametrize("letter", ["I", "\u0130"])
def test_a_letter_whose_lower_case_is_longer_hides_no_date(letter: str) -> None:
    found = says_when(f"{letter * 100} party on 12 December 2026 at nine", ASKED.date(), _only(date(2026, 12, 12)))
    assert found is not None
    assert found.says == "then"
    assert days(f"{letter} party: what did we decide in March?") == "2026-03-01..2026-03-31"


@pytest.mark.parametrize("date_of_it", ["12. Dezember 2027", "Dec. 12, 2027", "12 Dec. 2027", "12\nDecember\n2027"])
def test_of_many_dates_each_is_read_whole(date_of_it: str) -> None:
    for count in range(12):
        text = "The hall is closed on Monday. We meet on Friday\n" * count + f"The fair is on {date_of_it}. Bye."
        says = [says_when(text, ASKED.date(), _only(date(year, 12, 12))) for year in (2026, 2027)]
        assert [each and each.says for each in says] == ["around", "then"]


def _only(day: date) -> DaysAsked:
    return DaysAsked(day, day, openly=True)


@pytest.mark.parametrize(
    ("text", "asked", "doubt"),
    [
        ("Dentist on 12 December 2025 at nine.", (12, 12), "12 December 2025, not 12 December 2026"),
        ("Dentist on 12 December 2025 at nine.", (1, 31), "12 December 2025, not December 2026"),
        ("Dentist on 4 January 2027 at nine.", (12, 12), "4 January 2027, not 12 December 2026"),
        ("Dentist on 11 December 2026 at nine.", (12, 12), "11 December, not 12 December"),
        ("Dentist on 12 December 2026 at nine.", (12, 12), ""),
    ],
)
def test_a_doubt_about_days_names_the_years_where_these_differ(text: str, asked: tuple[int, int], doubt: str) -> None:
    told = instant(ASKED)
    note = Note("n1", text, "", told, told)
    first, last = (date(2026, 12, day) for day in asked)
    assert other_days(note, DaysAsked(first, last, openly=True)) == doubt


@pytest.mark.parametrize(
    ("text", "year", "doubt"),
    [
        ("The licence is renewed on 12 December.", 2026, "12 December, not March"),
        ("The licence is renewed on 12 December.", 2027, "12 December, not March"),
        ("The licence is renewed in October.", 2027, "October, not March"),
        ("The licence is renewed on 12 December 2026.", 2027, "12 December 2026, not March 2027"),
        ("The licence has to be renewed before March.", 2027, ""),
        ("The pier is closed until March 2026.", 2026, ""),
    ],
)
def test_a_doubt_names_two_different_days_of_one_year_where_the_text_names_none(
    text: str, year: int, doubt: str
) -> None:
    told = instant(ASKED)
    asked = DaysAsked(date(year, 3, 1), date(year, 3, 31), openly=True)
    assert other_days(Note("n1", text, "", told, told), asked) == doubt


@pytest.mark.parametrize(
    "query",
    [
        "May I deploy on Friday?",
        "can we have the crane on Friday?",
        "When could the tests run on Friday?",
        "should we meet on Friday?",
        "will the crane be there on Friday?",
        "darf ich am Freitag deployen?",
        "Kann man am Freitag parken?",
        "soll ich am Freitag anrufen?",
        "werde ich am Freitag abgeholt?",
        "puis-je déployer ce vendredi ?",
        "¿puedo pagar el viernes?",
        "¿podemos salir el viernes?",
        "¿debo llamar el viernes?",
    ],
)
def test_what_may_or_should_be_done_on_a_day_is_asked_of_the_next_one(query: str) -> None:
    reading = read_time(query, ASKED)
    assert reading is not None
    assert days(query) == "2026-11-06..2026-11-06"
    assert not reading.past
    assert not reading.strict


@pytest.mark.parametrize(
    "query",
    [
        "can you tell me what we did on Friday?",
        "could you list what happened on Friday?",
        "can I see the notes of Friday?",
        "may I know who came on Friday?",
        "kann ich sehen, was am Freitag war?",
    ],
)
def test_who_asks_to_be_told_of_a_day_is_told_of_the_last_one(query: str) -> None:
    reading = read_time(query, ASKED)
    assert reading is not None
    assert days(query) == "2026-10-30..2026-10-30"


def test_a_day_without_a_year_that_is_lately_over_is_not_the_next_one() -> None:
    day = DaysAsked(date(2026, 12, 12), date(2026, 12, 12), openly=True)
    told = says_when("The inspector was here on 12 December.", date(2025, 12, 15), day)
    assert told is not None
    assert told.says != "then"


def test_a_month_named_without_a_preposition_only_leans() -> None:
    found = reading("how did the August close go")
    assert (found.words, found.strict) == ("August", False)


@pytest.mark.parametrize(
    "query",
    ["what broke on 2026-03-14", "decisions in March", "last week", "between March and May", "since Monday", "Q2 2026",
     "three days ago", "what did I do today", "in the last 10 days", "what did we say on Monday"],
)  # fmt: skip
def test_explicit_windows_are_strict(query: str) -> None:
    assert reading(query).strict


@pytest.mark.parametrize(
    "query",
    ["recently", "a while ago", "the other day", "a few weeks ago", "late March", "last weekend", "next week", "today",
     "two years ago", "last year", "what was the rate limit in March", "which ad blocker did we run in May",
     "did tickets fall to the target we set in June", "what is planned for December", "weekly sync on Thursday"],
)  # fmt: skip
def test_vague_windows_plans_and_states_of_things_are_not_strict(query: str) -> None:
    assert not reading(query).strict


def test_the_surest_expression_counts() -> None:
    assert days("what did she start recently, as said on 3 June 2023") == "2023-06-03..2023-06-03"


@pytest.mark.parametrize(
    ("query", "event", "relation", "past"),
    [
        ("what did we use before Postgres", "Postgres", "before", True),
        ("what did we use before we moved to Postgres", "moved to Postgres", "before", True),
        ("database before the migration", "the migration", "before", True),
        ("where did we deploy before the move to Fly.io", "the move to Fly.io", "before", True),
        ("what was slow before the switch from npm to pnpm", "the switch from npm to pnpm", "before", True),
        ("what broke after login", "login", "after", False),
        ("after the meeting", "the meeting", "after", False),
        ("latency since the upgrade", "the upgrade", "since", False),
        ("during the outage?", "the outage", "during", False),
        ("vor dem Umzug", "dem Umzug", "before", True),
        ("what was the rent before they increased it?", "increased", "before", True),
        ("what was the limit before they cut it?", "cut", "before", True),
        ("wie hoch war der Beitrag vor der Erhöhung?", "der Erhöhung", "before", True),
        ("wie hoch war der Beitrag, bevor er erhöht wurde?", "erhöht", "before", True),
        ("quel était le loyer avant l'augmentation ?", "l'augmentation", "before", True),
        ("combien coûtait le loyer avant qu'ils l'augmentent ?", "l'augmentent", "before", True),
        ("¿cuánto era la cuota antes de la subida?", "la subida", "before", True),
        ("¿cuánto costaba antes de que la subieran?", "subieran", "before", True),
        ("pendant la migration", "la migration", "during", False),
    ],
)
def test_what_is_no_date_is_an_event_to_look_up(query: str, event: str, relation: str, *, past: bool) -> None:
    found = reading(query)
    assert (found.event, found.relation, found.past, found.strict) == (event, relation, past, False)
    assert found.after is found.before is None


@pytest.mark.parametrize(
    "query",
    [
        "what should I check before they cut it?",
        "was prüfe ich, bevor ich es freigebe?",
        "que vérifier avant qu'on publie ?",
        "¿qué reviso antes de que lo suban?",
    ],
)
def test_a_step_before_one_that_is_yet_to_be_is_no_time(query: str) -> None:
    assert read_time(query, ASKED) is None


def test_a_month_bounds_the_event_that_it_stands_with() -> None:
    move = reading("how did we handle secrets before the August move")
    assert (move.event, move.relation, move.before, move.past) == (
        "the August move", "before", "2026-08-31T23:59:59Z", True,
    )  # fmt: skip
    upgrade = reading("problems right after the Airflow upgrade in July")
    assert (upgrade.event, upgrade.after, upgrade.before) == ("the Airflow upgrade", "2026-07-01T00:00:00Z", None)


@pytest.mark.parametrize(
    "query", ["in March", "last week", "before June", "where did tokens live originally", "we used to deploy by hand",
              "what did Ann used to do", "at first we had Redis", "back then", "wie war es früher"],
)  # fmt: skip
def test_questions_about_what_was_are_told_from_others(query: str) -> None:
    assert reading(query).past


@pytest.mark.parametrize("query", ["since March", "today", "next week", "in the last 10 days", "deadline 15 December"])
def test_what_reaches_today_is_not_past(query: str) -> None:
    assert not reading(query).past


@pytest.mark.parametrize(
    ("query", "rest"),
    [
        ("what did we decide about auth last week?", "what did we decide about auth?"),
        ("yesterday's incident", "incident"),
        ("in 2025, what changed", "what changed"),
        ("secrets before the move", "secrets the move"),
        ("last week", "last week"),
    ],
)
def test_a_query_without_its_time_keeps_the_rest(query: str, rest: str) -> None:
    assert without_time(query, reading(query)) == rest


def test_days_are_those_of_the_asker() -> None:
    found = reading("yesterday", datetime(2026, 11, 4, 0, 30, tzinfo=timezone(timedelta(hours=2))))
    assert (found.after, found.before) == ("2026-11-02T22:00:00Z", "2026-11-03T21:59:59Z")


@pytest.mark.parametrize(
    ("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-06-01", 24)], ids=["spring", "autumn", "summer"]
)
def test_a_day_is_as_long_as_its_zone_makes_it(day: str, hours: int) -> None:
    found = reading(f"on {day}", datetime(2026, 11, 4, tzinfo=ZoneInfo("Europe/Oslo")))
    length = datetime.fromisoformat(found.before or "") - datetime.fromisoformat(found.after or "")
    assert length == timedelta(hours=hours, seconds=-1)


def test_the_hard_window_leaves_room_for_what_was_written_down_later() -> None:
    assert outer_window(reading("on 2026-03-14")) == ("2026-03-11T00:00:00Z", "2026-03-17T23:59:59Z")
    assert outer_window(reading("before May")) == (None, "2026-04-30T23:59:59Z")


def test_of_a_paste_only_the_askers_own_lines_are_read() -> None:
    log = "\n".join(f"2026-03-{day:02} 12:00:00 ERROR since yesterday" for day in range(1, 20))
    assert read_time(log, ASKED) is None
    assert reading(f"{log}\nthis broke last week").words == "last week"
    assert reading(f"why did it fail on Monday?\n{log}").words == "on Monday"
    assert read_time("we met last week " * 30, ASKED) is None


EDGES = [
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC),
    datetime(2024, 2, 29, tzinfo=UTC),
]
ZONES = [UTC, timezone(timedelta(hours=14)), timezone(timedelta(hours=-12)), ZoneInfo("America/Havana")]
PHRASES = [
    "last week", "next year", "last winter", "next summer", "two years ago", "999 years ago", "in the last 999 months",
    "a few days ago", "later last month", "few weeks after 3 March", "since last quarter", "before last month",
    "tomorrow", "years ago", "early next year", "on 29 feb",
    "after today", "before today", "the week before last", "next Monday", "9999-12-31", "0001-01-01", "0000-00-00",
    "9999-w53", "last december", "31/31/9999", "between 31 december and 1 january", "the year before 0001-01-01",
]  # fmt: skip


@pytest.mark.parametrize("asked", EDGES)
@pytest.mark.parametrize("zone", ZONES, ids=str)
@pytest.mark.parametrize("phrase", PHRASES)
def test_no_expression_leaves_the_calendar(phrase: str, zone: ZoneInfo, asked: datetime) -> None:
    found = read_time(phrase, asked.replace(tzinfo=zone))
    if found:
        outer_window(found)
        assert (found.after or "") <= (found.before or "a")
        assert all(read_instant(text) == text for text in (found.after, found.before) if text)


FRAGMENTS = """in on the last next this before after since until between and may March 2025 2026-03-14 week days 3
    two ago early end of summer Monday's Q3 gestern vor hace used to we did ` " ' ( ) , . İ ﬁ 14. /a/b past few"""
WORDS = st.sampled_from([*re.findall(r"\S+", FRAGMENTS), "\n"])
ANYTHING = st.one_of(st.text(max_size=400), st.lists(WORDS, max_size=40).map(" ".join))


@given(ANYTHING, st.datetimes(timezones=st.sampled_from(ZONES)))
def test_any_text_is_read_or_left_without_an_error(query: str, asked: datetime) -> None:
    found = read_time(query, asked)
    if found is None:
        return
    assert found.words
    assert found.words in query
    assert without_time(query, found).strip()
    assert found.after is None or found.before is None or found.after <= found.before
    assert (found.event is None) == (found.relation is None)
    for text in (found.after, found.before):
        assert text is None or re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", text)


@pytest.mark.parametrize(
    "piece",
    ["a", "1 ", "in ", "before the ", "\n", "may\n", "2026-03-14 ", "`", "' ", "last week ", "-", "did we run "],
)
def test_a_long_query_costs_little(piece: str) -> None:
    """Bounds the work, not the machine: 64 kB take no longer than some hundred short questions do."""
    started = time.process_time()
    for _ in range(300):
        read_time("what did we decide about retries before the migration last week?", ASKED)
    short = time.process_time() - started
    started = time.process_time()
    read_time(piece * (65_536 // len(piece)), ASKED)
    assert time.process_time() - started < short


@pytest.mark.parametrize(
    ("query", "window"),
    [
        ("what is due in December?", "2026-12-01..2026-12-31"),
        ("what will we do in March?", "2027-03-01..2027-03-31"),
        ("what was due in December?", "2025-12-01..2025-12-31"),
        ("what is due in December 2025?", "2025-12-01..2025-12-31"),
        ("what is due in November?", "2026-11-01..2026-11-30"),
    ],
)
def test_what_is_yet_to_be_is_asked_of_the_month_that_comes(query: str, window: str) -> None:
    assert days(query) == window


TODAY = datetime(2026, 6, 17, 10, 0, tzinfo=UTC)  # a Wednesday


@pytest.mark.parametrize(
    ("query", "window"),
    [
        ("what is planned the week after next?", "2026-06-29..2026-07-05"),
        ("what is planned the weekend after next?", "2026-07-04..2026-07-05"),
        ("what is planned the month after next?", "2026-08-01..2026-08-31"),
        ("what is planned the Friday after next?", "2026-06-26..2026-06-26"),
        ("what did we do the month before last?", "2026-04-01..2026-04-30"),
        ("was ist übernächste Woche geplant?", "2026-06-29..2026-07-05"),
        ("was ist übernächstes Wochenende geplant?", "2026-07-04..2026-07-05"),
        ("was haben wir vorletzten Monat gemacht?", "2026-04-01..2026-04-30"),
        ("qu'est-ce qui est prévu la semaine d'après ?", "2026-06-22..2026-06-28"),
        ("qu'avons-nous fait l'avant-dernière semaine ?", "2026-06-01..2026-06-07"),
        ("qu'avons-nous fait l'été dernier ?", "2025-06-01..2025-08-31"),
        ("¿qué hicimos el verano pasado?", "2025-06-01..2025-08-31"),
        ("¿qué está previsto el viernes que viene?", "2026-06-19..2026-06-19"),
        ("¿qué está previsto este fin de semana?", "2026-06-20..2026-06-21"),
        ("¿qué hicimos antes de ayer?", "2026-06-15..2026-06-15"),
    ],
)
def test_before_last_and_after_next_are_one_further(query: str, window: str) -> None:
    assert days(query, TODAY) == window


@pytest.mark.parametrize(
    ("query", "window"),
    [
        ("what is planned in the first week of December?", "2026-12-01..2026-12-07"),
        ("what did we do in the last week of May?", "2026-05-25..2026-05-31"),
        ("what is planned in the first week of next month?", "2026-07-01..2026-07-07"),
        ("what is planned on the last Friday of the month?", "2026-06-26..2026-06-26"),
        ("what is due on the last Friday of December?", "2026-12-25..2026-12-25"),
        ("what is planned during the last weekend of June?", "2026-06-27..2026-06-28"),
        ("what did we do in the third quarter of 2025?", "2025-07-01..2025-09-30"),
        ("was ist in der ersten Woche im Dezember geplant?", "2026-12-01..2026-12-07"),
        ("was ist in der ersten Dezemberwoche geplant?", "2026-12-01..2026-12-07"),
        ("was ist in der zweiten Julihälfte geplant?", "2026-07-16..2026-07-31"),
        ("was war im ersten Halbjahr 2026?", "2026-01-01..2026-06-30"),
        ("qu'avons-nous fait la dernière semaine de mai ?", "2026-05-25..2026-05-31"),
        ("¿qué está previsto la primera semana de diciembre?", "2026-12-01..2026-12-07"),
        ("what is planned next week on Tuesday?", "2026-06-23..2026-06-23"),
        ("was ist nächste Woche Dienstag geplant?", "2026-06-23..2026-06-23"),
        ("was ist Ende nächsten Monats geplant?", "2026-07-21..2026-07-31"),
        ("¿qué está previsto a finales del mes que viene?", "2026-07-21..2026-07-31"),
        ("qu'est-ce qui est prévu à la fin du mois ?", "2026-06-21..2026-06-30"),
        ("what is planned on the second Tuesday in November?", "2026-11-10..2026-11-10"),
        ("¿qué hicimos el último fin de semana de mayo?", "2026-05-30..2026-05-31"),
    ],
)
def test_a_part_of_a_longer_time_is_that_part(query: str, window: str) -> None:
    assert days(query, TODAY) == window


@pytest.mark.parametrize(
    ("query", "window"),
    [
        ("what is planned a week from Friday?", "2026-06-26..2026-06-26"),
        ("what is planned a week on Monday?", "2026-06-29..2026-06-29"),
        ("what is planned two weeks from today?", "2026-07-01..2026-07-01"),
        ("what is planned on Monday week?", "2026-06-29..2026-06-29"),
        ("what is on on Thursday week?", "2026-06-25..2026-06-25"),
        ("what is planned on Wednesday week?", "2026-07-01..2026-07-01"),
        ("what is planned a fortnight on Monday?", "2026-07-06..2026-07-06"),
        ("am Freitag in einer Woche?", "2026-06-26..2026-06-26"),
        ("what is on in a week?", "2026-06-21..2026-06-27"),
        ("was ist in einer Woche los?", "2026-06-21..2026-06-27"),
        ("what did we do a week ago today?", "2026-06-10..2026-06-10"),
        ("was ist heute in einer Woche geplant?", "2026-06-24..2026-06-24"),
        ("what is planned in a fortnight?", "2026-06-28..2026-07-04"),
        ("was haben wir vor vierzehn Tagen gemacht?", "2026-06-01..2026-06-05"),
        ("what did we do half a year ago?", "2025-11-17..2026-01-16"),
        ("¿qué está previsto en quince días?", "2026-06-30..2026-07-04"),
        ("what did we do between Monday and Wednesday?", "2026-06-15..2026-06-17"),
        ("¿qué hicimos entre el lunes y el miércoles?", "2026-06-15..2026-06-17"),
        ("qu'est-ce qui est prévu d'ici vendredi ?", "2026-06-17..2026-06-19"),
    ],
)
def test_a_distance_may_be_counted_from_a_named_day(query: str, window: str) -> None:
    found = reading(query, TODAY)
    ahead = looking_ahead(found) if found.kept else found
    assert f"{ahead.days.first}..{ahead.days.last}" == window


@pytest.mark.parametrize(
    ("query", "window"),
    [
        ("what did we do on the 3rd?", "2026-06-03..2026-06-03"),
        ("what is planned on the 3rd?", "2026-07-03..2026-07-03"),
        ("what is planned on the 20th?", "2026-06-20..2026-06-20"),
        ("was ist am 20. geplant?", "2026-06-20..2026-06-20"),
        ("qu'est-ce qui est prévu le 20 ?", "2026-06-20..2026-06-20"),
        ("¿qué está previsto el día 20?", "2026-06-20..2026-06-20"),
        ("what did we do since Easter?", "2026-04-03.."),
        ("what is planned at Easter?", "2027-03-26..2027-03-29"),
        ("what did we do last Christmas?", "2025-12-24..2025-12-26"),
        ("was ist an Weihnachten geplant?", "2026-12-24..2026-12-26"),
        ("what is due the week before Christmas?", "2026-12-17..2026-12-23"),
        ("what is planned for the weekend before Christmas?", "2026-12-19..2026-12-20"),
        ("was ist am Wochenende vor Weihnachten geplant?", "2026-12-19..2026-12-20"),
        ("qu'est-ce qui est prévu le week-end avant Noël ?", "2026-12-19..2026-12-20"),
        ("¿qué está previsto el fin de semana antes de Navidad?", "2026-12-19..2026-12-20"),
        ("what did we do the weekend after Easter?", "2026-04-11..2026-04-12"),
        ("what is planned on the Friday before Christmas?", "2026-12-18..2026-12-18"),
        ("was ist am Dienstag nach Ostern geplant?", "2027-03-30..2027-03-30"),
        ("qu'avons-nous fait depuis Pâques ?", "2026-04-03.."),
        ("¿qué está previsto en Navidad?", "2026-12-24..2026-12-26"),
        ("what is planned for winter?", "2026-12-01..2027-02-28"),
    ],
)
def test_days_of_a_month_and_holidays_are_the_last_or_the_next_ones(query: str, window: str) -> None:
    assert days(query, TODAY) == window


@pytest.mark.parametrize(
    "query",
    [
        "who works on the 3rd floor?",
        "what did the 2nd attempt show?",
        "where is the Christmas tree?",
        "what was bought for the Easter brunch?",
        "what does she earn for a weekend?",
        "at last an answer came",
        "los fines de semana",
    ],
)
def test_floors_trees_and_habits_are_no_days(query: str) -> None:
    assert read_time(query, TODAY) is None


@pytest.mark.parametrize(
    ("query", "window"),
    [
        ("what is planned tomorrow evening?", "2026-06-18..2026-06-18"),
        ("what is due on Friday morning?", "2026-06-19..2026-06-19"),
        ("was ist am Freitag Abend geplant?", "2026-06-19..2026-06-19"),
        ("¿qué está previsto mañana por la tarde?", "2026-06-18..2026-06-18"),
        ("qu'avons-nous fait hier soir ?", "2026-06-16..2026-06-16"),
    ],
)
def test_a_part_of_a_day_is_of_that_day(query: str, window: str) -> None:
    assert days(query, TODAY) == window
    words = reading(query, TODAY).words
    assert words.split()[-1].strip("?") in ("evening", "morning", "Abend", "tarde", "soir")


def test_the_day_before_an_event_is_counted_from_it() -> None:
    found = reading("what did we do the day before the release?", TODAY)
    assert (found.event, found.relation, found.apart) == ("the release", "before", (-1, -1))
    assert reading("what happened in the week after the move?", TODAY).apart == (1, 7)
    assert reading("what happened before the move?", TODAY).apart is None
    assert read_time("how many days before the release do we freeze?", TODAY) is None


@pytest.mark.parametrize(
    ("text", "first", "last", "says"),
    [
        ("The rehearsal is the week after next.", "2026-06-29", "2026-07-05", "then"),
        ("Dentist on the 23rd.", "2026-06-22", "2026-06-28", "then"),
        ("We go hiking at the weekend.", "2026-06-20", "2026-06-21", "then"),
        ("Inventory is counted on the last Friday of December.", "2026-12-25", "2026-12-25", "then"),
        ("Guests come over Easter.", "2027-03-22", "2027-03-28", "around"),
        ("Die Abgabe ist in der ersten Dezemberwoche.", "2026-12-01", "2026-12-07", "then"),
        ("La entrega es el viernes que viene.", "2026-06-19", "2026-06-19", "then"),
        ("Acme pays within 30 days.", "2026-07-01", "2026-07-10", None),
    ],
)
def test_a_note_names_its_days_in_the_same_words(text: str, first: str, last: str, says: str | None) -> None:
    said = says_when(text, TODAY.date(), DaysAsked(date.fromisoformat(first), date.fromisoformat(last), openly=True))
    assert (said.says if said else None) == says


@pytest.mark.parametrize(
    ("query", "is_read"),
    [
        ("qu'est-ce qu'on a fait hier ?", True),
        ("que s'est-il passé hier ?", True),
        ("wer hat hier die Schlüssel?", False),
        ("was ist hier passiert?", False),
        ("what does hier mean?", False),
    ],
)
def test_hier_is_yesterday_in_french_alone(query: str, *, is_read: bool) -> None:
    assert (read_time(query, ASKED) is not None) is is_read


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Friday is pizza night.", 6),
        ("Thursday evenings are for the boats.", 5),
        ("On Monday mornings the bins are put out.", 9),
        ("Tuesday's lunch is with the board.", 10),
        ("The lunch of the board was on Tuesday.", 0),
        ("Friday was a long day.", 0),
    ],
)
def test_what_is_said_of_a_weekday_comes_round(text: str, day: int) -> None:
    rounds = [
        each
        for each in range(5, 12)
        if (found := says_when(text, date(2026, 11, 4), _only(date(2026, 11, each)))) and found.comes_round
    ]
    assert rounds == ([day] if day else [])


@pytest.mark.parametrize(
    ("query", "words", "rest", "first"),
    [
        (
            "What do I have to do next week, from 7 to 13 December?",
            "next week, from 7 to 13 December",
            "What do I have to do?",
            date(2026, 12, 7),
        ),
        (
            "What is due next week (7 to 13 December)?",
            "next week (7 to 13 December)",
            "What is due?",
            date(2026, 12, 7),
        ),
        (
            "Was ist nächste Woche (7. bis 13. Dezember) fällig?",
            "nächste Woche (7. bis 13. Dezember)",
            "Was ist fällig?",
            date(2026, 12, 7),
        ),
        (
            "next week, 7 to 13 December",
            "next week, 7 to 13 December",
            "next week, 7 to 13 December",
            date(2026, 12, 7),
        ),
    ],
)
def test_a_time_that_is_named_twice_is_one(query: str, words: str, rest: str, first: date) -> None:
    now = datetime(2026, 12, 1, 9, 0, tzinfo=UTC)
    time, text = said_once(query, reading(query, now), now)
    assert (time.words, text, time.days.first) == (words, rest, first)


@pytest.mark.parametrize(
    "query",
    [
        "what was the old rent in May 2026?",
        "what used to be the rent last summer?",
        "what did we formerly pay last week?",
        "who was the previous landlord in 2024?",
        "wie hoch war die Miete früher im Mai?",
        "what did we pay in the past, in 2024?",
        "What did we agree last week?\n> what was the old rent",
        "What did we say last week of the fair in May?",
        "Who has the van tomorrow, for the fair on 2 December?",
        "what changed since March?",
    ],
)
def test_other_words_of_time_take_nothing_from_the_time_that_is_asked_for(query: str) -> None:
    now = datetime(2026, 12, 1, 9, 0, tzinfo=UTC)
    found = reading(query, now)
    assert said_once(query, found, now) == (found, without_time(query, found))
