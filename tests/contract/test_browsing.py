"""Lists: what the filters let through, by time and in pages, and questions that ask for such a list."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from served import ERAS, Agent, Answer, Clock, serving

pytestmark = pytest.mark.anyio

ASKED = datetime(2026, 11, 4, 12, tzinfo=UTC)  # a Wednesday


@pytest.fixture
async def agent(anyio_backend: str, tmp_path: Path) -> AsyncIterator[Agent]:
    """An agent in the space `harbour`, at noon in November."""
    async with serving(tmp_path / "home", ERAS[-1], clock=Clock(ASKED)) as asking:
        yield asking


async def put(agent: Agent, text: str, days_ago: int = 0, **given: object) -> str:
    event = (ASKED - timedelta(days=days_ago)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return str((await agent.remember(text, event_time=event, **given))["id"])


async def seventeen(agent: Agent) -> list[str]:
    """Decisions of one space, the newest first, among other notes."""
    ids = [await put(agent, f"Decided on matter {n}.", n, type="decision", space="tollgate") for n in range(17)]
    await put(agent, "A fact of the same space.", space="tollgate")
    await put(agent, "A decision of another space.", type="decision", space="quay")
    return ids


def texts(answer: Answer) -> list[str]:
    return [hit["content"] for hit in answer["results"]]


# --- without a question ---------------------------------------------------------------------------


@pytest.mark.parametrize("query", [{}, {"query": ""}, {"query": " * "}])
async def test_filters_without_a_question_list_by_time_in_pages_with_the_total(
    agent: Agent, query: dict[str, str]
) -> None:
    ids = await seventeen(agent)
    wanted = {**query, "types": ["decision"], "spaces": ["tollgate"]}
    first = await agent.call("recall", **wanted)
    assert first.found == ids[:10]
    assert first["total"] == 17
    assert first.text.startswith("17 decisions in tollgate, newest first; 10 shown, next: recall(offset=10, …).")
    assert all(hit["why"] == "listed" and not hit["weak"] for hit in first["results"])
    assert "relevance" not in first.text
    second = await agent.call("recall", **wanted, offset=10)
    assert second.found == ids[10:]
    assert "7 shown from 11 on." in second.text
    behind = await agent.call("recall", **wanted, offset=17)
    assert (behind.found, behind["total"]) == ([], 17)


async def test_a_list_keeps_to_every_filter_and_to_its_budget(agent: Agent) -> None:
    kept = await put(agent, "Red and recent.", 1, tags=["red"], tier="archival")
    await put(agent, "Red and old.", 400, tags=["red"])
    gone = await put(agent, "Red and gone.", tags=["red"])
    await agent.outdate(gone)
    listed = await agent.call("recall", tags=["red"], created_after="2026-01-01")
    assert (listed.found, listed["total"]) == ([kept], 1)
    assert listed.text.startswith("1 note tagged red, newest first.")
    assert (await agent.call("recall", tags=["red"], include_outdated=True)).found[0] == gone
    assert (await agent.call("recall", tiers=["archival"])).found == [kept]
    short = await agent.call("recall", tags=["red"], include_outdated=True, budget=1)
    assert (short.found, short["total"], short["omitted"]["count"]) == ([], 3, 3)
    assert "Not shown: " in short.text


async def test_of_notes_of_one_second_the_one_stored_last_is_first(agent: Agent) -> None:
    ids = [str((await agent.remember(f"Buoy {n}."))["id"]) for n in range(5)]
    assert (await agent.call("recall")).found == ids[::-1]


async def test_an_empty_memory_has_an_empty_list(agent: Agent) -> None:
    answer = await agent.call("recall", types=["goal"])
    assert (answer.found, answer["total"]) == ([], 0)
    assert answer.text.startswith("0 goals, newest first.")


async def test_what_a_search_finds_comes_in_pages_too(agent: Agent) -> None:
    for n in range(5):
        await put(agent, f"The crane lifts {n} tonnes.", n)
    whole = (await agent.recall("crane tonnes")).found
    pages = [(await agent.recall("crane tonnes", limit=2, offset=at)).found for at in (0, 2, 4, 6)]
    assert pages == [whole[:2], whole[2:4], whole[4:], []]
    assert (await agent.recall("crane"))["total"] is None


async def test_an_offset_below_nothing_is_refused(agent: Agent) -> None:
    assert "InvalidArgumentError" in await agent.refused("recall", offset=-1)


async def test_memory_recall_lists_for_a_star(agent: Agent) -> None:
    older, newer = await agent.remember("A buoy."), await agent.remember("A crane.", type="decision")
    listed = await agent.omi("memory_recall", query="*")
    assert {item["memory_id"] for item in listed} == {older["id"], newer["id"]}
    assert [item["relevance"] for item in listed] == [1.0, 1.0]
    assert [item["memory_id"] for item in await agent.omi("memory_recall", query="*", memory_type="decision")] == [
        newer["id"]
    ]


# --- questions that ask for a list ----------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "list all decisions in tollgate",
        "What decisions are there in tollgate?",
        "recent tollgate decisions",
        "show me the latest decisions of project tollgate",
        "Zeig mir alle Entscheidungen in tollgate",
        "toutes les décisions dans tollgate",
        "últimas decisiones en tollgate",
    ],
)
async def test_a_question_for_a_list_is_answered_with_it(agent: Agent, query: str) -> None:
    ids = await seventeen(agent)
    answer = await agent.recall(query)
    assert (answer.found, answer["total"]) == (ids[:10], 17)
    assert (await agent.recall(query, offset=10)).found == ids[10:]


async def test_a_list_of_a_tag_or_of_a_number_of_notes(agent: Agent) -> None:
    ids = await seventeen(agent)
    red = await put(agent, "A red buoy.", 3, tags=["red-ones"])
    assert (await agent.recall("all notes tagged red-ones")).found == [red]
    assert (await agent.recall("the last 3 decisions in tollgate")).found == ids[:3]


@pytest.mark.parametrize(
    "query",
    ["recent decisions", "latest decisions", "what did we decide lately?", "Was haben wir kürzlich beschlossen?"],
)
async def test_recent_decisions_are_those_of_the_project_newest_first_however_old(agent: Agent, query: str) -> None:
    old = await put(agent, "Steel cable for the crane.", 300, type="decision")
    new = await put(agent, "No gulls on the quay.", 90, type="decision")
    await put(agent, "The recent decisions are written down.", 1)
    await put(agent, "Elsewhere.", 2, type="decision", space="tollgate")
    answer = await agent.recall(query)
    assert answer.found == [new, old]
    assert "1 more in other projects" in " ".join(answer["notices"])


@pytest.mark.parametrize("query", ["what's new in the tollgate project?", "What did we do in project tollgate?"])
async def test_the_word_project_beside_its_name_asks_for_no_type(agent: Agent, query: str) -> None:
    fact = await put(agent, "Tolls are paid in coins.", 3, space="tollgate")
    event = await put(agent, "The barrier was painted.", 2, type="event", space="tollgate")
    await put(agent, "Elsewhere.", 1, type="project", space="pier")
    assert (await agent.recall(query)).found == [event, fact]


async def test_what_we_did_is_that_of_the_current_project_and_says_how_much_more_there_is(agent: Agent) -> None:
    mine = [await put(agent, f"Painted pier {n}.", 7 + n) for n in range(2)]
    others = [await put(agent, f"Elsewhere {n}.", 7, space=f"site-{n}") for n in range(3)]
    answer = await agent.recall("What did we do last week?")
    assert answer.found == mine
    assert "3 more in other projects" in answer.text
    assert (await agent.recall("What did we do in this project last week?")).found == mine
    assert "more in other" not in (await agent.recall("what happened last week in this project")).text
    assert set((await agent.recall("What did we do last week in all projects?")).found) == {*mine, *others}
    assert (await agent.recall("What did we do last week?", spaces=["site-1"])).found == [others[1]]


async def test_where_the_current_project_has_nothing_the_others_answer(agent: Agent) -> None:
    other = await put(agent, "Elsewhere.", 7, space="site")
    assert (await agent.recall("What did we do last week?")).found == [other]
    assert (await agent.recall("What did we do last week in this project?")).found == []


@pytest.mark.parametrize("query", ["Any deadlines next month?", "what is planned for next month", "upcoming deadlines"])
async def test_what_is_to_come_is_found_by_its_own_time_soonest_first(agent: Agent, query: str) -> None:
    later = await put(agent, "Insurance papers go to the port authority.", -50)
    sooner = await put(agent, "Renew the crane's licence.", -30)
    await put(agent, "Painted the pier.", 1)
    assert (await agent.recall(query)).found[:2] == [sooner, later]


async def test_a_deadline_that_only_the_words_know_is_told_too(agent: Agent) -> None:
    written = str((await agent.remember("The deadlines for the crane papers are in the calendar."))["id"])
    dated = await put(agent, "Renew the crane's licence.", -30)
    assert (await agent.recall("Any deadlines?")).found == [dated, written]


@pytest.mark.parametrize(
    "query",
    [
        "you decide",
        "make a decision",
        "what's next?",
        "list all",
        "show recent changes",
        "status",
        "tell me everything",
    ],
)
async def test_what_asks_memory_nothing_is_no_list(agent: Agent, query: str) -> None:
    await put(agent, "Steel cable for the crane.", 1, type="decision")
    assert (await agent.recall(query)).found == []


async def test_a_question_about_a_matter_is_searched_and_not_listed(agent: Agent) -> None:
    await put(agent, "No gulls on the quay.", 1, type="decision")
    cable = await put(agent, "Steel cable for the crane.", 9, type="decision")
    for query in ("what did we decide about the crane cable?", "recent decisions about the crane cable"):
        answer = await agent.recall(query)
        assert (answer.found[0], answer["total"]) == (cable, None)
