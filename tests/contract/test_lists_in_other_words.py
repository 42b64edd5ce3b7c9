"""Lists of what is overdue, undecided, or new since something, and in the words in which people ask for them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from served import ERAS, Agent, Clock, serving

pytestmark = pytest.mark.anyio

BEGIN = datetime(2026, 10, 5, 9, tzinfo=UTC)  # a Monday
TOLD = (
    (0, "We host the shop on Hetzner."),
    (3, "Release 2.0 of the shop went out on 8 October 2026."),
    (5, "Orders failed for an hour on 10 October because the certificate broke."),
    (8, "We switched the search to Meilisearch."),
    (12, "Should we support Apple Pay? Not decided yet."),
    (14, "The tax report has to be filed by 21 October 2026."),
    (15, "Open question: who owns the on-call rota after Mira leaves?"),
    (16, "Photo shoot for the autumn catalogue on 3 November 2026."),
    (17, "Todo: call the printer by Friday."),
    (18, "I moved to Leipzig on 17 October 2026."),
    (19, "Todo: renew the domain by 30 November 2026."),
    (21, "The dentist appointment was moved to the afternoon."),
)
RELEASE, OUTAGE, SEARCH, PAY, TAX, ROTA, SHOOT, PRINTER, MOVED, DOMAIN, DENTIST = range(1, 12)


@pytest.fixture
async def agent(anyio_backend: str, tmp_path: Path) -> AsyncIterator[Agent]:
    """An agent whose notes were told day after day; it is Tuesday, 27 October, and the printer's Friday is over."""
    async with serving(tmp_path / "home", ERAS[-1], clock=Clock(BEGIN)) as asking:
        for days, text in TOLD:
            asking.clock.set(BEGIN + timedelta(days=days))
            await asking.remember(text)
        asking.clock.set(BEGIN + timedelta(days=22))
        yield asking


async def listed(agent: Agent, query: str) -> tuple[set[int], str]:
    answer = await agent.call("recall", query=query, limit=20)
    places = {text: place for place, (_, text) in enumerate(TOLD)}
    assert all(hit["why"] == "listed" for hit in answer["results"]), answer.text
    return {places[hit["content"]] for hit in answer["results"]}, answer.text.splitlines()[0]


@pytest.mark.parametrize(
    ("query", "first", "since"),
    [
        ("what changed since the release?", RELEASE, "8 October 2026"),
        ("what has happened after the release?", RELEASE, "8 October 2026"),
        ("what happened since the outage?", OUTAGE, "10 October 2026"),
        ("what's new since I moved?", PAY, "17 October 2026"),
        ("was ist seit dem Release passiert?", RELEASE, "8 October 2026"),
    ],
)
async def test_since_something_that_a_note_tells_of_is_a_list_of_all_since_then(
    agent: Agent, query: str, first: int, since: str
) -> None:
    found, heading = await listed(agent, query)
    assert {*range(first, SHOOT)} <= found
    assert found.isdisjoint(range(first))
    assert f"since {since}" in heading


@pytest.mark.parametrize("query", ["what happened since the outage?", "what happened after the outage?"])
async def test_on_a_list_of_what_was_on_one_side_of_an_event_it_is_said_which_note_tells_of_that(
    agent: Agent, query: str
) -> None:
    told = (await agent.recall("orders failed because the certificate broke")).found[0]
    notices = (await agent.call("recall", query=query, limit=20))["notices"]
    assert any(f'the outage" was read by the time of {told}.' in notice for notice in notices)


async def test_what_was_moved_by_somebody_is_no_move_of_who_asks(agent: Agent) -> None:
    assert DOMAIN in (await listed(agent, "what happened since I moved?"))[0]


async def test_what_is_done_after_something_each_time_is_searched_for(agent: Agent) -> None:
    procedure = str((await agent.remember("After the release we bump the version of the shop."))["id"])
    answer = await agent.call("recall", query="what do we do after the release?")
    assert answer.found[0] == procedure
    assert answer["results"][0]["why"] != "listed"


async def test_since_something_that_no_note_tells_of_is_searched_for(agent: Agent) -> None:
    answer = await agent.call("recall", query="what changed since the audit?")
    assert all(hit["weak"] for hit in answer["results"])


@pytest.mark.parametrize(
    "query", ["what is overdue?", "is anything overdue?", "overdue tasks", "was ist überfällig?", "tâches en retard"]
)
async def test_what_is_overdue_is_what_was_to_be_done_by_a_day_that_is_over(agent: Agent, query: str) -> None:
    found, heading = await listed(agent, query)
    assert found == {TAX, PRINTER}
    assert heading.startswith("2 overdue to-dos")


async def test_what_is_told_when_its_day_is_over_is_overdue_at_once(agent: Agent) -> None:
    await agent.remember("Todo: pay the invoice by 20 October 2026.")
    await agent.remember("Todo: pay the insurance by 5 November.")
    answer = await agent.call("recall", query="what is overdue?")
    assert answer["total"] == 3
    assert answer["results"][0]["content"] == "Todo: pay the invoice by 20 October 2026."


async def test_what_is_done_is_not_overdue(agent: Agent) -> None:
    await agent.remember("Todo: pay the fine by 20 October 2026. Done.")
    assert (await listed(agent, "what's overdue?"))[0] == {TAX, PRINTER}


@pytest.mark.parametrize(
    "query",
    ["open questions", "which questions are still open?", "what is still undecided?", "what do we have to decide?",
     "offene Fragen", "preguntas abiertas"],
)  # fmt: skip
async def test_open_questions_are_those_that_no_note_answers(agent: Agent, query: str) -> None:
    await agent.remember("The bakery is open on Sundays.")
    await agent.remember("What does the bakery sell on Sundays? Only rolls.")
    found, heading = await listed(agent, query)
    assert found == {PAY, ROTA}
    assert heading.startswith("2 open questions")


async def test_what_was_decided_is_no_open_question(agent: Agent) -> None:
    decided = str((await agent.remember("We decided to support Apple Pay.", type="decision"))["id"])
    assert (await agent.call("recall", query="what have we decided?")).found == [decided]


@pytest.mark.parametrize("query", ["upcoming events", "next events", "what's next on my calendar?"])
async def test_what_comes_need_be_of_no_type(agent: Agent, query: str) -> None:
    assert {SHOOT} <= (await listed(agent, query))[0] <= {SHOOT, DOMAIN}


@pytest.mark.parametrize(
    "query", ["what did I store last?", "what have you saved most recently?", "was habe ich zuletzt gespeichert?"]
)
async def test_what_was_stored_last_comes_first(agent: Agent, query: str) -> None:
    answer = await agent.call("recall", query=query)
    assert answer["results"][0]["content"] == TOLD[-1][1]


@pytest.mark.parametrize("query", ["reminders", "which reminders do I have?", "Aufgaben"])
async def test_reminders_are_what_is_to_do(agent: Agent, query: str) -> None:
    assert (await listed(agent, query))[0] == {TAX, DOMAIN, PRINTER}


@pytest.mark.parametrize(
    "query",
    [
        "qué pasó ayer",
        "qué hicimos ayer",
        "que s'est-il passé hier",
        "qu'est-ce qui s'est passé hier ?",
        "cosa è successo ieri",
        "cosa abbiamo fatto ieri?",
        "wat is er gisteren gebeurd",
        "wat hebben we gisteren gedaan?",
    ],
)
async def test_what_happened_yesterday_is_a_list_with_and_without_the_sign_of_a_question(
    agent: Agent, query: str
) -> None:
    agent.clock.set(BEGIN + timedelta(days=22))
    assert (await listed(agent, query))[0] == {DENTIST}


@pytest.mark.parametrize(
    "query",
    [
        "whats due next month?",
        "ci sono scadenze il mese prossimo?",
        "zijn er volgende maand deadlines?",
    ],
)
async def test_deadlines_of_the_next_month_are_a_list_in_more_languages(agent: Agent, query: str) -> None:
    assert (await listed(agent, query))[0] == {SHOOT, DOMAIN}


@pytest.mark.parametrize(
    "query",
    [
        "qu'est-ce qu'on a décidé récemment ?",
        "qu'avons-nous décidé récemment ?",
        "wat hebben we onlangs besloten?",
        "wat hebben we vorige week besloten",
        "che cosa abbiamo deciso la scorsa settimana?",
    ],
)
async def test_what_was_decided_is_a_list_in_more_languages(agent: Agent, query: str) -> None:
    agent.clock.set(BEGIN + timedelta(days=19))
    ids = [str((await agent.remember(text))["id"]) for text in ("We decided to paint it.", "Besloten: wij huren.")]
    agent.clock.set(BEGIN + timedelta(days=22))
    assert sorted((await agent.recall(query)).found) == sorted(ids)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("incident 2291", "Incident 2291: the freezer door stood open."),
        ("what was incident 90417 about?", "Postmortem of INC-90417: the disk was full."),
        ("Vorfall Nr. 90417", "Postmortem of INC-90417: the disk was full."),
        ("what is decision 42?", "ADR decision 42: services talk over NATS."),
    ],
)
async def test_a_number_behind_what_it_is_one_of_asks_for_that_one(agent: Agent, query: str, text: str) -> None:
    for other in ("Incident 2292: the pump ran dry.", "Decision 17: logs are JSON."):
        await agent.remember(other)
    wanted = str((await agent.remember(text))["id"])
    answer = await agent.recall(query)
    assert answer.found[0] == wanted
    assert [hit["id"] for hit in answer["results"] if not hit["weak"]] == [wanted]


async def test_what_is_coming_up_is_not_what_comes_from_somewhere(agent: Agent) -> None:
    await agent.remember("The linen comes from Belgium.")
    assert {SHOOT, DOMAIN} <= (await listed(agent, "what is coming up?"))[0]


@pytest.mark.parametrize("query", ["what's new?", "catch me up", "was gibt es Neues?", "quoi de neuf ?"])
async def test_what_is_new_is_what_was_noted_last(agent: Agent, query: str) -> None:
    answer = await agent.call("recall", query=query, limit=2)
    assert [hit["content"] for hit in answer["results"]] == [text for _, text in TOLD[:-3:-1]]


@pytest.mark.parametrize(
    ("query", "there", "heading"),
    [
        ("which dentist appointments are there this week?", ("dentist",), "1 note of 26 October"),
        ("are there any piano appointments this week?", (), 'no "piano"; 2 notes of 26 October'),
    ],
)
async def test_of_what_is_due_what_has_the_word_that_is_asked_for_is_told_or_that_none_has_it(
    agent: Agent, query: str, there: tuple[str, ...], heading: str
) -> None:
    """That there is no space of that name says nothing of what is due."""
    await agent.remember("Felix, dentist: 29 October 14:40.")
    await agent.remember("The auditor comes on 30 October at 9:00.")
    answer = await agent.call("recall", query=query, limit=20)
    assert heading in answer.text.splitlines()[0]
    assert all(word in hit["content"] for word in there for hit in answer["results"])
    assert all(hit["weak"] is not bool(there) for hit in answer["results"])


async def test_what_must_be_sent_is_to_do(agent: Agent) -> None:
    wanted = str((await agent.remember("Must send Lorna my travel receipts."))["id"])
    rule = str((await agent.remember("Must be quiet after ten."))["id"])
    found = (await agent.recall("what do I still have to do?")).found
    assert wanted in found
    assert rule not in found


OF_KINDS = (
    ("preference", "Ivo likes the crusts cut off, never squares."),
    ("preference", "Ivo hates wool on the neck, buy fleece scarves."),
    ("fact", "Ivo drinks oat milk, the barista sort."),
    ("preference", "Greta wants the window open at night."),
    ("procedure", "Workshop, bleeding disc brakes: funnel on top, mineral oil."),
    ("procedure", "Workshop, storing batteries in winter: 60 percent charge, metal shelf."),
    ("procedure", "Museum, closing: lights off, alarm on."),
    ("project", "Museum project 'Glass plates': digitise the 4,200 glass negatives."),
    ("project", "Museum project 'Quiet Hall': sensors that count people."),
    ("project", "Tree house in the old walnut."),
    ("event", "The clamp of repair stand 2 snapped with an e-bike hanging in it."),
    ("fact", "Renew the certificate of the radius server, due 2026-10-14."),
    ("fact", "Turn in the time sheet at the workshop, due 2026-10-09."),
)


@pytest.fixture
async def knowing(anyio_backend: str, tmp_path: Path) -> AsyncIterator[Agent]:
    """An agent of a museum, a family and a workshop on a Monday."""
    async with serving(tmp_path / "home", ERAS[-1], clock=Clock(BEGIN)) as asking:
        for kind, text in OF_KINDS:
            await asking.call("remember", content=text, type=kind)
        yield asking


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("What are Ivo's preferences?", (0, 1)),
        ("Which workshop procedures do we have written down?", (4, 5)),
        ("What procedures are there for the workshop?", (4, 5)),
        ("Which projects does the museum have?", (7, 8)),
        ("Welche Projekte hat das Museum?", (7, 8)),
        ("Which tasks are due next week?", (11,)),
        ("Which tasks are due?", (11, 12)),
        ("Tasks due by Friday", (12,)),
        ("what broke today?", (10,)),
    ],
)
async def test_what_is_of_a_kind_with_a_word_comes_first_and_strong(
    knowing: Agent, query: str, expected: tuple[int, ...]
) -> None:
    answer = await knowing.call("recall", query=query)
    places = {text: place for place, (_, text) in enumerate(OF_KINDS)}
    strong = [places[hit["content"]] for hit in answer["results"] if "content" in hit and not hit.get("weak")]
    assert {*strong[: len(expected)]} == {*expected}, answer.text


async def test_what_is_of_a_kind_and_has_one_word_of_two_does_not_come_first_for_that(knowing: Agent) -> None:
    one = await knowing.call("recall", query="Which workshop procedures do we have?", explain=True)
    two = await knowing.call("recall", query="Which rowing workshop procedures do we have?", explain=True)
    assert "of the kind that was asked for" in str(one["results"])
    assert "of the kind that was asked for" not in str(two["results"])


async def test_a_filter_a_time_and_a_denial_keep_a_kind_from_coming_first(knowing: Agent) -> None:
    only_facts = await knowing.call("recall", query="What are Ivo's preferences?", types=["fact"])
    assert {hit["content"] for hit in only_facts["results"]} <= {text for kind, text in OF_KINDS if kind == "fact"}
    for query in ("Which museum projects did we start last year?", "Which museum projects have no sensors?"):
        found = await knowing.call("recall", query=query, explain=True)
        assert "of the kind that was asked for" not in str(found["results"])
    undated = await knowing.call("recall", query="Which tasks have no due date?")
    assert "listed" not in str(undated["results"])


async def test_what_is_of_the_kind_that_was_asked_for_is_not_doubted(knowing: Agent) -> None:
    answer = await knowing.call("recall", query="What are Ivo's preferences?")
    told = [line for line in answer.text.splitlines() if " preference 20" in line and "WEAK" not in line]
    assert len(told) == 2
    assert "(" not in "".join(told)
