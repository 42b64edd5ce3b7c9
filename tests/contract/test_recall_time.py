"""recall and time: how a question's words of time are read, what they keep out, and what was true back then.

In one era of the protocol: what is read from a question does not depend on it, and test_recall.py asks in both.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast.engine.agent.doubting import held_then
from holdfast.engine.agent.listing import words_of_days
from holdfast.model.note import Note
from holdfast.model.ranking import Question
from holdfast.model.when.told import DaysAsked
from served import ERAS, Agent, Answer, Clock, serving

pytestmark = pytest.mark.anyio

ASKED = datetime(2026, 11, 4, 15, 30, tzinfo=UTC)  # a Wednesday

SCREENS = (
    "Colours are Leila's matter, she draws our screens since spring.",
    "Screens are drawn by Tomasz, mornings only.",
)
SEATS = ("We pay 20 euros for seats of the tool.", "In September 2026 the cost of a seat was 24 euros.")
IN_MARCH, LAST_WEEK, YESTERDAY, LONG_AGO = "2026-03-14", "2026-10-28", "2026-11-03", "2024-06-01"


@pytest.fixture
async def agent(anyio_backend: str, tmp_path: Path) -> AsyncIterator[Agent]:
    """An agent of a fresh memory without an encoder, on a Wednesday afternoon in November."""
    async with serving(tmp_path / "home", ERAS[-1], clock=Clock(ASKED)) as asking:
        yield asking


async def crane(agent: Agent, event_time: str | None = None, text: str = "The crane was moved.", **given: str) -> str:
    """A note about the crane; each in a space of its own, so that none is taken for a repeated call."""
    space = given.pop("space", f"at-{event_time}")
    return str((await agent.remember(text, event_time=event_time, space=space, **given))["id"])


def window(answer: Answer) -> tuple[str | None, str | None]:
    return answer["read_as"]["after"], answer["read_as"]["before"]


def days(answer: Answer) -> tuple[str, ...]:
    return tuple((moment or "")[:10] for moment in window(answer))


def said(answer: Answer) -> str:
    """The notices, which the text repeats."""
    assert all(notice in answer.text for notice in answer["notices"])
    return " ".join(answer["notices"])


# --- windows --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "expected", "first", "last"),
    [
        ("what was said of the crane that moved last week?", LAST_WEEK, "2026-10-26", "2026-11-01"),
        ("crane moved in March", IN_MARCH, "2026-03-01", "2026-03-31"),
        ("crane moved on 2026-03-14", IN_MARCH, "2026-03-14", "2026-03-14"),
        ("crane moved yesterday", YESTERDAY, "2026-11-03", "2026-11-03"),
        ("crane moved before 2025", LONG_AGO, "", "2024-12-31"),
    ],
)
async def test_words_of_time_become_a_window_and_only_what_happened_in_it_answers(
    agent: Agent, query: str, expected: str, first: str, last: str
) -> None:
    ids = {day: await crane(agent, day) for day in sorted({IN_MARCH, LAST_WEEK, LONG_AGO, expected})}
    answer = await agent.recall(query)
    assert answer.found == [ids[expected]]
    assert days(answer) == (first, last)
    assert f"{last}T23:59:59Z" in answer.text


async def test_whether_something_may_be_done_on_a_day_is_not_answered_as_of_the_last_one(agent: Agent) -> None:
    rule = await crane(agent, "2026-10-30", "The crane may move while the ferry is away.")
    answer = await agent.recall("May I move the crane on Friday?")
    assert answer.found == [rule]
    assert days(answer) == ("", "")
    assert "2026-10-30T" not in answer.text.partition("\n")[0]


async def test_a_note_without_an_event_happened_when_it_was_written_down(agent: Agent) -> None:
    agent.clock.set(datetime(2026, 3, 14, 9, tzinfo=UTC))
    written = await crane(agent)
    foretold = await crane(agent, "2026-10-28")  # written in March, but it tells of October
    agent.clock.set(ASKED)
    assert (await agent.recall("crane moved in March")).found == [written]
    assert (await agent.recall("crane moved last week")).found == [foretold]


async def test_where_nothing_is_from_the_window_other_times_answer_and_a_notice_says_so(agent: Agent) -> None:
    elsewhen = await crane(agent, LONG_AGO)
    await agent.remember("A buoy.", event_time=IN_MARCH)
    answer = await agent.recall("crane moved in March")
    assert answer.found == [elsewhen]
    assert days(answer) == ("", "")
    assert "2026-03" not in answer.text.splitlines()[0]
    assert 'Nothing that fits is from "in March"' in said(answer)


async def test_a_window_that_is_answered_needs_no_notice(agent: Agent) -> None:
    await crane(agent, IN_MARCH)
    assert "in March" not in said(await agent.recall("crane moved in March"))


async def test_a_window_that_only_a_weak_hit_is_from_is_not_claimed(agent: Agent) -> None:
    strong = await crane(agent, "2026-09-03", "The autoclave had a problem with its door seal.")
    weak = await crane(agent, "2026-05-11", "The roof had a leak and no problem since.")
    answer = await agent.recall("what was the autoclave seal problem in spring?")
    assert {hit["id"]: hit["weak"] for hit in answer["results"]} == {strong: False, weak: True}
    assert days(answer) == ("", "")
    held_then = await agent.recall("what was the autoclave seal problem in October?")
    assert held_then.found[0] == strong


@pytest.mark.parametrize(
    ("told", "query"),
    [
        ("In the storm of March the crane lost its hook.", "what happened to the crane in March?"),
        ("On 14 March 2026 the crane also lost its hook.", "what happened to the crane in March?"),
        ("On 14 March the crane also lost its hook.", "what happened to the crane on 14 March 2026?"),
    ],
)
async def test_what_was_told_later_of_the_time_asked_about_stands_with_what_is_from_it(
    agent: Agent, told: str, query: str
) -> None:
    then = await crane(agent, IN_MARCH)
    later = await crane(agent, YESTERDAY, told)
    await crane(agent, LAST_WEEK, "The crane was painted, and its driver fell ill.")
    answer = await agent.recall(query)
    assert set(answer.found) == {then, later}
    assert days(answer)[0][:7] == "2026-03"


async def test_a_month_of_an_earlier_year_that_is_told_of_with_its_year_is_not_that_of_the_last(agent: Agent) -> None:
    then = await crane(agent, IN_MARCH)
    await crane(agent, YESTERDAY, "In March 2021 the crane lost its hook.")
    assert (await agent.recall("what happened to the crane in March?")).found == [then]


async def test_what_is_from_the_same_month_of_an_earlier_year_stands_behind_what_is_from_the_last(agent: Agent) -> None:
    sooner = await crane(agent, "2025-03-02", "The crane club chose Wiebke as its treasurer.")
    last = await crane(agent, IN_MARCH, "The crane club raised its fee.")
    await crane(agent, LAST_WEEK, "The crane club bought a rope.")
    assert (await agent.recall("what did the crane club do in March?")).found == [last, sooner]
    assert (await agent.recall("what did the crane club do in March 2026?")).found == [last]
    assert (await agent.recall("what did the crane club do in March last year?")).found == [sooner]


async def test_a_question_without_time_has_no_window(agent: Agent) -> None:
    await crane(agent, IN_MARCH)
    assert window(await agent.recall("where was the crane moved?")) == (None, None)


@pytest.mark.parametrize(
    "query", ["May I repaint the crane on Friday?", "can we repaint on Fridays", "who repaints on the weekend?"]
)
async def test_days_that_a_note_names_are_words_as_well_as_a_time(agent: Agent, query: str) -> None:
    rule = await crane(agent, IN_MARCH, "No repainting on Fridays, and none on weekends.")
    await crane(agent, LONG_AGO, "The boom's hook was replaced.")
    answer = await agent.recall(query)
    assert answer.found[0] == rule
    assert window(answer) == (None, None)


async def test_a_month_that_only_the_note_names_is_found_where_nothing_is_from_it(agent: Agent) -> None:
    closed = await crane(agent, LONG_AGO, "The harbour office is closed in August.")
    await crane(agent, LONG_AGO, "The harbour office has a new crane and a gull of its own.")
    assert (await agent.recall("is anybody in the harbour office in August?")).found[0] == closed


async def test_a_month_without_a_year_finds_that_of_each_year_the_latest_first(agent: Agent) -> None:
    notes = [
        await crane(agent, f"{year}-03-14", f"The crane was moved to berth {year - 2020}.")
        for year in (2024, 2026, 2025)
    ]
    answer = await agent.recall("to which berth was the crane moved in March?")
    assert answer.found[0] == notes[1]
    assert set(answer.found) == set(notes)


async def test_what_was_told_later_and_speaks_of_that_time_is_found_too(agent: Agent) -> None:
    """A month leans the order and keeps nothing out: this was written down in August."""
    await crane(agent, "2026-07-09", "The ferry had a new lamp.")
    later = await crane(agent, "2026-08-05", "Last month the crane dropped a container of oranges.")
    assert later in (await agent.recall("what did the crane drop in July?")).found


async def test_what_only_weakly_fits_the_time_gives_way_to_what_clearly_fits_from_another(agent: Agent) -> None:
    weak = await crane(agent, LAST_WEEK, "The crane slept while a gull, a buoy and a lamp argued about the weather.")
    strong = await crane(agent, LONG_AGO, "The crane's gearbox oil was changed to grade 220.")
    answer = await agent.recall("which crane gearbox oil grade was changed last week?")
    assert answer.found[0] == strong
    assert window(answer) == (None, None)
    assert "from other times" in said(answer)
    assert (await agent.recall("did the crane sleep last week, lamp?")).found == [weak]


async def test_what_fits_the_time_only_weakly_hides_nothing_that_fits_as_well(agent: Agent) -> None:
    await crane(agent, IN_MARCH, "Le pain fut complet.")
    right = str((await agent.remember("À partir de mars, le pain complet passe à 4 euros."))["id"])
    answer = await agent.recall("Quel est le tarif du pain complet en mars ?")
    assert right in answer.found


async def test_where_nothing_fits_at_all_no_time_is_claimed(agent: Agent) -> None:
    await crane(agent, LAST_WEEK)
    answer = await agent.recall("which pancakes were eaten last week?")
    assert (answer.found, window(answer)) == ([], (None, None))
    assert 'Nothing that fits is from "last week".' in said(answer)


# --- windows and filters --------------------------------------------------------------------------


async def test_explicit_times_hold_beside_a_time_in_the_question(agent: Agent) -> None:
    early, late = await crane(agent, "2026-03-02"), await crane(agent, "2026-03-28")
    assert (await agent.recall("crane moved in March", created_after="2026-03-15")).found == [late]
    assert (await agent.recall("crane moved in March", created_before="2026-03-15")).found == [early]
    nowhere = await agent.recall("crane moved last week", created_before="2025-12-31", explain=True)
    assert nowhere.found == []


async def test_the_answer_tells_the_time_that_both_the_arguments_and_the_question_leave(agent: Agent) -> None:
    await crane(agent, "2026-03-02")
    answer = await agent.recall("crane moved in March", created_after="2026-01-01", created_before="2026-03-15")
    assert days(answer) == ("2026-03-01", "2026-03-15")


async def test_where_the_question_speaks_of_another_time_than_the_arguments_the_arguments_are_told(
    agent: Agent,
) -> None:
    kept = await crane(agent, "2026-10-28")
    answer = await agent.recall("crane moved in March", created_after="2026-10-01")
    assert answer.found == [kept]
    assert days(answer) == ("2026-10-01", "")
    assert "other times" in said(answer)


async def test_explicit_times_hold_for_successors(agent: Agent) -> None:
    old = await agent.remember("The crane hangs on hemp.", event_time="2026-02-01")
    new = await agent.remember("Steel cable now.", event_time="2026-06-01", supersedes=[old["id"]])
    assert (await agent.recall("crane hangs on hemp", created_before="2026-12-31")).found == [new["id"]]
    assert (await agent.recall("crane hangs on hemp", created_before="2026-03-01")).found == []


async def test_explicit_times_hold_for_neighbours(agent: Agent) -> None:
    stored = await agent.remember("The crane lifts forty tonnes.", event_time=IN_MARCH)
    await agent.remember("Gulls nest there.", links=[stored["id"]], event_time=LONG_AGO)
    assert len((await agent.recall("crane tonnes"))["related"]) == 1
    assert (await agent.recall("crane tonnes", created_after="2026-01-01"))["related"] == []
    assert (await agent.recall("crane tonnes in March"))["related"] == []


# --- events ---------------------------------------------------------------------------------------

ON_THE_DAY = "2026-05-20T00:00:00Z"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("crane driver before the migration", (None, ON_THE_DAY)),
        ("crane driver after the migration", (ON_THE_DAY, None)),
        ("crane driver since the migration", (ON_THE_DAY, None)),
        ("crane driver during the migration", ("2026-05-17T00:00:00Z", "2026-05-23T00:00:00Z")),
    ],
)
async def test_an_event_that_a_note_tells_of_is_read_by_the_time_of_that_note(
    agent: Agent, query: str, expected: tuple[str | None, str | None]
) -> None:
    event = await agent.remember("The migration to the new quay.", type="event", event_time="2026-05-20")
    for day in ("2026-02-01", "2026-05-21", "2026-09-01"):
        await crane(agent, day, f"The crane driver of {day} is Bob.")
    answer = await agent.recall(query)
    assert window(answer) == expected
    assert f'the migration" was read by the time of {event["id"]}' in said(answer)


async def test_what_was_before_the_event_comes_before_what_was_after_it(agent: Agent) -> None:
    await agent.remember("The migration to the new quay.", type="event", event_time="2026-05-20")
    after = await crane(agent, "2026-09-01", "The crane driver is Ann.")
    before = await crane(agent, "2026-02-01", "The crane driver is Bob.")
    asked = [
        note for note in (await agent.recall("crane driver before the migration")).found if note in (after, before)
    ]
    assert asked == [before, after]
    asked = [note for note in (await agent.recall("crane driver after the migration")).found if note in (after, before)]
    assert asked == [after, before]


async def test_without_such_a_note_an_event_is_read_as_words(agent: Agent) -> None:
    await agent.remember("Nothing of the migration is planned.")  # neither an event nor dated
    stored = await crane(agent, text="The crane driver before the migration is Bob.")
    answer = await agent.recall("crane driver before the migration")
    assert window(answer) == (None, None)
    assert "was read by" not in said(answer)
    assert answer.found[0] == stored


async def test_an_event_of_another_space_does_not_say_when_where_spaces_are_given(agent: Agent) -> None:
    await agent.remember("The migration to the new quay.", type="event", event_time="2026-05-20", space="elsewhere")
    await agent.remember("The crane driver is Bob.")
    answer = await agent.recall("crane driver before the migration", spaces=["harbour"])
    assert window(answer) == (None, None)


# --- what was true then ---------------------------------------------------------------------------

PAST = [
    "what did the crane hang on in March?",
    "what did the crane hang on before the move?",
    "what did the crane hang on originally?",
    "what was the very first thing that the crane hung on?",
    "what we used to hang the crane on",
    "what did the crane hang on before it was changed?",
]


@pytest.mark.parametrize("query", PAST)
async def test_a_question_about_the_past_finds_what_was_true_then_and_marks_it(agent: Agent, query: str) -> None:
    old = await agent.remember("The crane hangs on hemp rope.", event_time="2026-03-10")
    new = await agent.remember("The crane hangs on steel cable.", event_time="2026-06-10", supersedes=[old["id"]])
    answer = await agent.recall(query)
    outdated = {hit["id"]: hit["outdated"] for hit in answer["results"]}
    assert outdated[old["id"]] is True
    assert outdated.get(new["id"], False) is False
    (line,) = [line for line in answer.text.splitlines() if f" {old['id']} " in line]
    assert " OUTDATED since " in line


async def test_asked_in_the_past_tense_what_a_note_replaced_stands_behind_it_in_one_line(agent: Agent) -> None:
    old = await agent.remember("The crane hangs on hemp rope.")
    agent.clock.forward(days=40)
    new = await agent.remember("The crane hangs on steel cable.", supersedes=[old["id"]])
    day = new["created"][:10]
    answer = await agent.recall("what was the crane hanging on?")
    assert answer.found == [new["id"]]
    assert answer["results"][0]["earlier"] == [f"until {day}: The crane hangs on hemp rope … ({old['id']})"]
    assert f"until {day}: The crane hangs on hemp rope" in answer.text
    assert answer["tensions"] == []
    now = await agent.recall("what is the crane hanging on?")
    assert (now.found, now["results"][0].get("earlier")) == ([new["id"]], None)


RATES = (
    ("2026-03-02", "The API rate limit is 100 requests per minute."),
    ("2026-07-02", "We raised the API rate limit to 300 requests per minute."),
    ("2026-10-02", "The API rate limit is 800 requests per minute now."),
)
PARKING = (
    ("2026-02-05", "Le parking coûte 60 euros par mois."),
    ("2026-08-05", "Le parking a été augmenté à 75 euros par mois."),
)
SHIFTS = (("2026-01-06", "Paula runs the night shift."), ("2026-05-06", "Omar runs the night shift since Paula left."))


@pytest.mark.parametrize(
    ("notes", "query", "first"),
    [
        (RATES, "what was the API rate limit before we raised it?", 0),
        (RATES, "what was the API rate limit before the change?", 1),
        (RATES, "what is the API rate limit?", 2),
        (SHIFTS, "who ran the night shift before Paula left?", 0),
        (PARKING, "combien coûtait le parking avant l'augmentation ?", 0),
        (PARKING, "combien coûte le parking ?", 1),
        (SHIFTS, "who runs the night shift?", 1),
    ],
)
async def test_what_was_before_a_change_is_what_was_so_before_the_note_that_tells_of_that_change(
    agent: Agent, notes: tuple[tuple[str, str], ...], query: str, first: int
) -> None:
    ids = [str((await agent.remember(text, event_time=day))["id"]) for day, text in notes]
    assert (await agent.recall(query)).found[0] == ids[first]


async def test_the_same_question_about_today_finds_only_what_is_true_now(agent: Agent) -> None:
    old = await agent.remember("The crane hangs on hemp rope.", event_time="2026-03-10")
    new = await agent.remember("The crane hangs on steel cable.", event_time="2026-06-10", supersedes=[old["id"]])
    answer = await agent.recall("what does the crane hang on?")
    assert answer.found == [new["id"]]
    assert "OUTDATED" not in answer.text


async def test_what_was_outdated_without_a_successor_answers_about_the_past_alone(agent: Agent) -> None:
    old = await agent.remember("The crane hangs on hemp rope.", event_time="2026-03-10")
    await agent.outdate(old["id"], reason="scrapped")
    assert (await agent.recall("what did the crane hang on in March?"))["results"][0]["outdated"] is True
    assert (await agent.recall("what does the crane hang on?")).found == []


async def test_of_two_that_were_both_written_by_then_the_later_one_was_true(agent: Agent) -> None:
    old = await agent.remember("In March the crane hangs on hemp rope, says Ann.", event_time="2026-03-02")
    new = await agent.remember("The crane hangs on steel.", event_time="2026-03-28", supersedes=[old["id"]])
    answer = await agent.recall("what did the crane hang on, as Ann says, in March?")
    assert answer.found == [new["id"], old["id"]]


async def test_a_neighbour_that_is_no_longer_true_is_marked_too(agent: Agent) -> None:
    stored = await agent.remember("The crane hangs on hemp rope.", event_time="2026-03-10")
    beside = await agent.remember("Gulls nest there.", links=[stored["id"]], event_time="2026-03-11")
    await agent.outdate(beside["id"])
    answer = await agent.recall("what did the crane hang on in March?")
    assert [(item["id"], item["outdated"]) for item in answer["related"]] == [(beside["id"], True)]
    (line,) = [line for line in answer.text.splitlines() if line.startswith(f"Related: {beside['id']} ")]
    assert " OUTDATED since " in line


# --- what is no time ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "crane release 2026-03 of build v2024.11",
        "crane moved in CVE-2026-03-14",
        "crane moved in /var/log/2026-03-14/app.log",
        'the crane said "moved last week"',
        "2026-03-14 12:00:00 ERROR crane moved\n2026-03-14 12:00:01 ERROR crane moved\n2026-03-14 12:00:02 INFO ok",
        "may the crane be moved",
        "crane moved before you commit",
    ],
)
async def test_pastes_and_identifiers_are_no_time(agent: Agent, query: str) -> None:
    await crane(agent, LONG_AGO, "The crane release was moved: v2024.11, CVE, app.log, error.")
    answer = await agent.recall(query)
    assert window(answer) == (None, None)
    assert len(answer.found) == 1


# --- whatever is from a time ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "query", ["what happened last week?", "what did we decide last week", "anything new last week"]
)
async def test_a_question_for_whatever_is_from_a_time_is_answered_with_that_newest_first(
    agent: Agent, query: str
) -> None:
    sooner = await crane(agent, "2026-10-27", "Ada signed the lease.")
    later = await crane(agent, "2026-10-29", "The crane was moved.")
    await crane(agent, LONG_AGO, "What happened was that we decided to do something.")
    answer = await agent.recall(query)
    assert answer.found == [later, sooner]
    assert days(answer) == ("2026-10-26", "2026-11-01")
    assert not any(hit["weak"] for hit in answer["results"])
    assert [hit["why"] for hit in answer["results"]] == ["listed", "listed"]


async def test_where_nothing_is_from_that_time_such_a_question_finds_nothing(agent: Agent) -> None:
    await crane(agent, LONG_AGO)
    assert (await agent.recall("what happened last week?")).found == []


async def test_such_a_question_keeps_to_filters_and_limit(agent: Agent) -> None:
    for day in (26, 27, 28):
        await crane(agent, f"2026-10-{day}", f"Report number {day}.", space="site")
    await crane(agent, "2026-10-29", "Elsewhere it rained.", space="other")
    answer = await agent.recall("what happened last week?", spaces=["site"], limit=2)
    assert [hit["content"] for hit in answer["results"]] == ["Report number 28.", "Report number 27."]


async def test_a_question_that_names_something_is_no_such_question(agent: Agent) -> None:
    await crane(agent, "2026-10-27", "Ada signed the lease.")
    moved = await crane(agent, "2026-10-28")
    assert (await agent.recall("what happened to the crane last week?")).found == [moved]


async def test_what_was_before_an_event_is_not_looked_for_by_the_words_of_the_event(agent: Agent) -> None:
    before = await crane(agent, "2026-01-10", "We deploy to Heroku by hand.")
    agent.clock.forward(seconds=2)
    event = await crane(agent, "2026-03-01", "The move to Fly.io is done: deploy and hosting run there.", type="event")
    answer = await agent.recall("where did we deploy before the move to Fly.io")
    assert answer.found[0] == before
    assert event in said(answer)


async def test_what_was_told_of_another_in_that_month_hides_nothing_that_held_then(agent: Agent) -> None:
    mine = (await agent.remember("Marte's cat is called Nisse.", event_time="2026-02-16"))["id"]
    other = (await agent.remember("Ingrid's cat is called Luna.", event_time="2026-05-18"))["id"]
    await agent.remember("The oven was bought from Debag.", event_time="2026-05-20")
    found = await agent.recall("what was Marte's cat called in May?")
    assert found.found[0] == mine
    assert other not in found.found[:1]


async def test_what_was_said_in_that_month_stays_before_what_was_said_earlier(agent: Agent) -> None:
    await agent.remember("Anna said the budget is too small.", event_time="2026-03-16")
    then = (await agent.remember("Anna said the budget will be cut in half.", event_time="2026-05-18"))["id"]
    assert (await agent.recall("what was said by Anna about the budget in May?")).found[0] == then


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("The crane starts at eight.", "when does the crane start in July?"),
        ("We use the crane at the quay.", "which crane do we use in July?"),
        ("The crane is in use until ten.", "Is the crane in use in July?"),
        ("Das Bad öffnet um acht.", "wann öffnet das Bad im Juli?"),
        ("La piscina abre a las ocho.", "¿cuándo abre la piscina en julio?"),
    ],
)
async def test_what_holds_now_answers_a_question_of_the_next_july_without_a_word_of_other_times(
    agent: Agent, text: str, query: str
) -> None:
    """In November last July is nearer than the next."""
    note = str((await agent.remember(text))["id"])
    answer = await agent.recall(query)
    assert answer.found == [note]
    assert "other times" not in said(answer)


async def test_what_was_on_one_day_is_of_another_time_than_the_next_july(agent: Agent) -> None:
    await crane(agent, IN_MARCH, "The crane starts late.")
    assert "from other times" in said(await agent.recall("when does the crane start in July?"))


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("The tug was late on 8 October.", "was the tug late on 8 October?"),
        ("The tug was late in week 41 because of fog.", "what happened to the tug in week 41?"),
        ("Der Schlepper kam am 8. Oktober zu spät.", "kam der Schlepper am 8. Oktober zu spät?"),
        ("The tug was late last week because of fog.", "what happened to the tug last week?"),
    ],
)
async def test_of_what_names_the_time_that_is_asked_about_nothing_is_said_of_other_times(
    agent: Agent, text: str, query: str
) -> None:
    note = str((await agent.remember(text))["id"])
    answer = await agent.recall(query)
    assert answer.found == [note]
    assert "other times" not in said(answer)


async def test_of_what_has_another_time_of_its_own_it_is_said(agent: Agent) -> None:
    await crane(agent, "2026-08-24", "The tug was late last week because of fog.")
    assert "other times" in said(await agent.recall("what happened to the tug last week?"))


async def test_what_happened_on_a_weekday_is_over_and_what_is_to_be_done_by_one_is_due(agent: Agent) -> None:
    failed = str((await agent.remember("The boiler failed on Saturday."))["id"])
    called = str((await agent.remember("Ben called on Tuesday and cancelled the contract."))["id"])
    report = str((await agent.remember("Send the report to Karin by Friday."))["id"])
    assert (await agent.recall("what happened on Saturday?")).found == [failed]
    assert (await agent.recall("what happened on Tuesday?")).found == [called]
    assert (await agent.recall("what is due this week?")).found == [report]
    assert (await agent.recall("what is due by Friday?")).found == [report]


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("what is due before Christmas?", 1),
        ("what is due before Christmas in all projects?", 2),
        ("what is due before Christmas in quayside?", 1),
    ],
)
async def test_a_holiday_ends_a_time_before_the_name_of_a_place_too(agent: Agent, query: str, count: int) -> None:
    await agent.remember("TODO: rotate the deploy token before 15 December.")
    await agent.remember("TODO: rotate the token of the map before 16 December.", space="quayside")
    answer = await agent.recall(query)
    assert len(answer.found) == count
    assert "soonest first" in answer.text


async def test_a_verb_beside_the_name_of_a_space_is_no_slip_of_it(agent: Agent) -> None:
    await agent.remember("The keys rotate on Mondays.", space="tollgate")
    assert "No note is in the space" not in said(await agent.recall("who led Tollgate in October?"))


async def test_what_was_said_last_july_is_asked_of_that_one(agent: Agent) -> None:
    await agent.remember("The crane starts at eight.")
    told = await agent.recall("what was said of the crane in July?")
    assert 'Nothing that fits is from "in July"; these notes are from other times.' in said(told)


async def test_a_time_is_asked_about_where_notes_have_its_words_in_every_language(agent: Agent) -> None:
    """A week has some eighty words; that a memory knew more than 32 of them was an error."""
    words = words_of_days(DaysAsked(ASKED.date(), ASKED.date() + timedelta(days=4), openly=True))
    await agent.remember(f"On our calendar every word of a week is printed: {words}.")
    dentist = (await agent.remember("The dentist expects me on 6 November."))["id"]
    for query in ("What is on this week?", "Was steht diese Woche an?"):
        answer = await agent.recall(query)
        assert dentist in answer.found


@pytest.mark.parametrize(
    ("query", "earlier", "later", "is_earlier_first"),
    [
        ("who drew the screens in September?", *SCREENS, True),
        ("what did a seat cost in September?", *SEATS, False),
    ],
)
async def test_what_came_after_the_time_asked_about_stands_behind_what_may_have_held_then(
    agent: Agent, query: str, earlier: str, later: str, *, is_earlier_first: bool
) -> None:
    """Also where it is not seen that the one tells the other anew; but for what speaks of that time."""
    ids = [
        (await agent.remember(text, event_time=day))["id"]
        for day, text in (("2026-07-20", earlier), ("2026-10-20", later))
    ]
    assert (await agent.recall(query)).found[0] == ids[not is_earlier_first]


TOLD_ANEW = (
    ("Invoices above 2,000 euros need Ines's approval.", "harbour"),
    ("Invoices above 3,500 euros need Ines's approval.", "harbour"),
    ("Invoices above 5,000 euros need Ines's approval.", "harbour"),
    ("We order fish for all three restaurants from Brightwater Seafoods.", "harbour"),
    ("We order fish for all three restaurants from Holm & Sons now.", "harbour"),
    ("Tomasz Wilk leads the rendering team.", "harbour"),
    ("Aiko Mori leads the rendering team.", "harbour"),
    ("Oscar Lindqvist is responsible for the clean room.", "cryolab"),
    ("Cleaner: Frau Nowak comes on Thursdays.", "harbour"),
    ("Somebody new does the cleaning: Daria, on Saturdays.", "harbour"),
)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("What was the approval limit for invoices before 5,000 euros?", 1),
        ("What was the approval limit for invoices before 3,500 euros?", 0),
        ("What is the approval limit for invoices?", 2),
        ("Who was our fish supplier before Holm & Sons?", 3),
        ("Who led the rendering team before Aiko Mori?", 5),
        ("Who leads the rendering team?", 6),
        ("Who cleaned our house before Daria?", 8),
    ],
)
async def test_what_was_so_before_a_value_or_somebody_is_the_version_before_that(
    era: str, tmp_path: Path, query: str, first: int
) -> None:
    notes = [(text, {"space": space}) for text, space in TOLD_ANEW]
    hit = await first_hit(tmp_path / "home", era, notes, query)
    assert (hit["content"], hit["weak"]) == (TOLD_ANEW[first][0], False)


async def first_hit(home: Path, era: str, notes: Sequence[tuple[str, dict[str, str]]], query: str) -> Mapping[str, Any]:
    """What a question has first of notes that were stored some days apart, with the encoder in the package."""
    clock = Clock(datetime(2026, 8, 1, 9, tzinfo=UTC))
    async with serving(home, era, encoder="builtin", clock=clock) as agent:
        for text, given in notes:
            await agent.remember(text, **given)
            clock.forward(days=6)
        (hit, *_) = (await agent.recall(query))["results"]
        return dict(hit)


CHAINS = (
    ("Sabine Roth leads the club project.", "fact"),
    ("Tom Adeyemi leads the club project while Sabine is on leave.", "fact"),
    ("Lucie Marchand has taken over the club project from Tom.", "fact"),
    ("Lucie and Tom met the tax adviser on Monday.", "event"),
    ("The shop's database is MariaDB 10.6.", "fact"),
    ("The shop's database is PostgreSQL 15.", "fact"),
    ("We upgraded the shop's database to PostgreSQL 17; it took eleven minutes.", "fact"),
    ("Die Buchhaltung läuft über Lexware.", "fact"),
    ("Die Buchhaltung läuft über DATEV.", "fact"),
    ("El importador en España es Bodegas Sol.", "fact"),
    ("El importador en España es Vinalia.", "fact"),
    ("Le transporteur pour la France est Chronopost.", "fact"),
    ("Le transporteur pour la France est Colissimo.", "fact"),
    ("Ann Vogel leads the lock team.", "fact"),
    ("The lock team is led by Bob Ritter, outage or not.", "fact"),
    ("The outage of the locks took all night.", "event"),
    ("Cleo Thorn leads the lock team now.", "fact"),
    ("Club president = Rolf Ahlers. Letters need his signature.", "person"),
    ("Club president = Sabine Orth. Letters need her signature.", "person"),
)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("who led the club project before Lucie?", 1),
        ("who led the club project before Tom?", 0),
        ("which database did we have before PostgreSQL?", 4),
        ("which database did we use before PostgreSQL 15?", 4),
        ("what was the database before PostgreSQL 17?", 5),
        ("Womit machten wir die Buchhaltung vor DATEV?", 7),
        ("¿quién era el importador en España antes de Vinalia?", 9),
        ("quel était le transporteur pour la France avant Colissimo ?", 11),
        ("who led the lock team before the outage?", 14),
        ("who led the lock team before Cleo?", 14),
        ("Who was club president before Sabine Orth?", 17),
    ],
)
async def test_of_several_the_one_before_the_first_that_tells_of_it_is_meant(
    era: str, tmp_path: Path, query: str, first: int
) -> None:
    """Whoever came later speaks of who had it too, and who has it may be met at any time."""
    notes = [(text, {"type": kind}) for text, kind in CHAINS]
    hit = await first_hit(tmp_path / "home", era, notes, query)
    assert (hit["content"], hit["weak"]) == (CHAINS[first][0], False)


@pytest.mark.parametrize(
    "query",
    [
        "which teacher used to have the class in the mornings?",
        "who was teacher of the class last school year?",
        "wer war letztes Schuljahr teacher of the class?",
        "who used to be teacher of the class?",
    ],
)
async def test_who_used_to_be_what_another_is_now_is_told_first(agent: Agent, query: str) -> None:
    """Also where somebody else of that place was told between the two."""
    before, _, _ = [
        (await agent.remember(text, event_time=day))["id"]
        for day, text in (
            ("2026-02-20", "The teacher of the class is Mr Brandt."),
            ("2026-06-20", "Nurse of the class: Ms Dale"),
            ("2026-08-20", "The teacher of the class is Ms Okafor."),
        )
    ]
    assert (await agent.recall(query)).found[0] == before


async def test_a_thing_whose_name_is_made_of_ordinary_words_is_asked_for_and_not_all_of_a_month(
    era: str, tmp_path: Path
) -> None:
    notes = [
        (text, {"event_time": "2026-04-09"})
        for text in ("The stand-up is at half past nine.", "Oskar is the son of Kat.", "Logs are kept for 14 days.")
    ]
    hit = await first_hit(tmp_path / "home", era, notes, "at what time was the stand-up back in April?")
    assert hit["content"] == notes[0][0]


async def test_a_note_of_the_time_asked_about_with_no_word_of_the_question_stands_behind_what_has_some(
    era: str, tmp_path: Path
) -> None:
    """What was told before that time may have held then."""
    notes = [
        ("Gareth, the builder, charges 220 pounds a day, and wants them every second Friday.", "2026-02-20"),
        ("Opened a savings account for each of my godchildren, 25 pounds a month apiece.", "2026-04-04"),
        ("For Siurana we rented a flat in Cornudella, 540 euros for the week for four people.", "2026-04-20"),
        ("Gareth began to plaster the kitchen on Monday.", "2026-07-20"),
        ("Gareth wants the keys back by noon.", "2026-07-21"),
        ("Gareth's van is parked in the yard.", "2026-07-22"),
    ]
    given = [(text, {"event_time": day}) for text, day in notes]
    hit = await first_hit(tmp_path / "home", era, given, "what was Gareth's rate in spring?")
    assert hit["content"] == notes[0][0]


async def test_what_was_there_before_a_thing_is_not_doubted_for_being_another_of_its_sort(
    era: str, tmp_path: Path
) -> None:
    notes = [
        ("Marrow publishes its ledger events over RabbitMQ, one queue for each consumer.", {}),
        ("Every endpoint of marrow requires a key, which is remembered for 48 hours.", {}),
        ("Cut-over finished: the messages travel through NATS, the rabbits were switched off.", {"type": "event"}),
    ]
    for place, query in enumerate(
        ("what carried marrow's events before nats", "how did marrow do events before nats?")
    ):
        hit = await first_hit(tmp_path / f"home {place}", era, notes, query)
        assert (hit["content"], hit["weak"]) == (notes[0][0], False)


@pytest.mark.parametrize(
    ("told", "query"),
    [
        (
            "Before the summer camp the tents have to be dried by Ben.",
            "what has to be dried before the Winter camp?",
        ),
        (
            "Before release 2.4 the migration of the orders has to be tested on staging by Ida.",
            "what has to be tested before release 2.5?",
        ),
    ],
)
async def test_what_is_to_be_done_before_a_thing_is_not_told_by_what_is_before_another(
    era: str, tmp_path: Path, told: str, query: str
) -> None:
    hit = await first_hit(tmp_path / "home", era, [("The canteen closes at three.", {}), (told, {})], query)
    assert (hit["content"], hit["weak"]) == (told, True)


async def three_in_a_row(agent: Agent) -> list[str]:
    """The ids of three notes of which each replaces the one before, told in February, June and October."""
    ids: list[str] = []
    for day, name in (("2026-02-01", "Carla"), ("2026-06-20", "Ines"), ("2026-10-01", "Omar")):
        text = f"The engineer on call for the pumps is {name}."
        ids.append((await agent.remember(text, event_time=day, supersedes=ids[-1:]))["id"])
    return ids


async def test_what_was_replaced_after_the_time_asked_about_is_of_that_time(agent: Agent) -> None:
    first, second, _ = await three_in_a_row(agent)
    for query, right in (("who was on call for the pumps in May?", first), ("who was on call in August?", second)):
        answer = await agent.recall(query)
        assert answer.found[0] == right
        assert "other times" not in said(answer)


@pytest.mark.parametrize("encoder", ["none", "builtin"])
async def test_the_first_of_several_is_told_first_though_it_was_replaced(
    era: str, tmp_path: Path, encoder: str
) -> None:
    async with serving(tmp_path / "home", era, encoder=encoder) as agent:
        first, *_ = await three_in_a_row(agent)
        for other in ("The canteen closes at three.", "The logo is green.", "Jan reviews the payments code."):
            await agent.remember(other)
        for query in ("who was the first engineer on call for the pumps?", "who was the first engineer on call?"):
            assert (await agent.recall(query)).found[0] == first


async def test_what_has_first_in_its_name_is_none_of_several_and_what_was_wrong_was_never_the_first(
    agent: Agent,
) -> None:
    kitchen = (await agent.remember("The first aid kit is in the kitchen."))["id"]
    hall = (await agent.remember("The first aid kit is in the hall.", supersedes=[kitchen]))["id"]
    assert (await agent.recall("where was the first aid kit?")).found == [hall]
    wrong = (await agent.remember("The first appointment with Dr. Kern was at nine on Monday."))["id"]
    await agent.call("mark_outdated", node_id=wrong, reason="it was never so")
    right = (await agent.remember("The first appointment with Dr. Kern was at ten on Friday."))["id"]
    found = (await agent.recall("when was the first appointment with Dr. Kern?")).found
    assert (found[0], wrong in found) == (right, False)


@pytest.mark.parametrize(
    ("given", "held"),
    [
        ({}, True),
        ({"valid_until": "2026-05-02T00:00:00Z"}, True),  # for a day
        ({"valid_until": "2026-04-30T00:00:00Z"}, False),
        ({"event_time": "2026-06-01T00:00:00Z"}, False),
        ({"superseded_by": None}, False),  # it was wrong
        ({"type": "event"}, False),
    ],
)
def test_what_another_note_replaced_held_until_then_but_no_event(given: dict[str, Any], *, held: bool) -> None:
    note = Note(
        "mem_1",
        "Carla does support.",
        "Support",
        "2026-02-01T00:00:00Z",
        "2026-02-01T00:00:00Z",
        outdated=True,
        superseded_by="mem_2",
        valid_until="2026-06-20T00:00:00Z",
    )
    may = Question("who did support?", None, "2026-05-01T00:00:00Z", "2026-05-31T23:59:59Z", past=True)
    assert held_then(replace(note, **given), may) is held
