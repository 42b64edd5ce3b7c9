"""What is on a day, as people write it down: what comes round, what was moved, a weekday of next week, a bare date."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from served import ERAS, Agent, Answer, Clock, serving

pytestmark = pytest.mark.anyio

ASKED = datetime(2026, 6, 10, 10, tzinfo=UTC)  # a Wednesday
TOLD = {
    "dinner": (16, "Dinner with Lea on 11 June."),
    "flyers": (15, "The flyers went to print on 20 May."),
    "plumber": (6, "Next week the plumber comes for the boiler, on Thursday between 8 and 10."),
    "choir": (13, "Choir rehearsal every Tuesday at 19:30."),
    "bins": (12, "Restmüll wird jeden zweiten Donnerstag geholt, das nächste Mal am 4. Juni."),
    "physio": (11, "The physio appointment was moved from 10 June to 17 June."),
    "course": (10, "Ida's swimming course: Saturdays at 9:15, from 30 May to 11 July."),
    "renewal": (9, "I have to renew the membership by 30 June."),
    "salt": (8, "Call with Nordlicht on 28 May: they want the subtitles for Salt by the end of June."),
    "market": (7, "Le marché bio a lieu tous les samedis matin."),
    "never": (7, "No deliveries on Saturdays."),
    "closed": (7, "Der Laden hat dienstags geschlossen."),
    "treasurer": (4, "Anna is the new treasurer."),
}


@pytest.fixture
async def agent(anyio_backend: str, tmp_path: Path) -> AsyncIterator[Agent]:
    """An agent whose notes were told in the last weeks."""
    async with serving(tmp_path / "home", ERAS[-1], clock=Clock(ASKED)) as asking:
        for ago, text in TOLD.values():
            asking.clock.set(ASKED - timedelta(days=ago))
            await asking.remember(text)
        asking.clock.set(ASKED)
        yield asking


def listed(answer: Answer) -> set[str]:
    """The names of what stands on the list."""
    names = {text: name for name, (_, text) in TOLD.items()}
    return {names[hit["content"]] for hit in answer["results"] if hit["why"] == "listed"}


@pytest.mark.parametrize(
    ("query", "there"),
    [
        ("11 June", {"dinner", "plumber"}),
        ("am 11. Juni", {"dinner", "plumber"}),
        ("20 May", {"flyers"}),
        ("anything on Thursday?", {"dinner", "plumber"}),
        ("anything on 18 June?", {"bins"}),
        ("anything on 16 June?", {"choir"}),
        ("was steht am Dienstag an?", {"choir"}),
        ("what's on Saturday?", {"course", "market"}),
        ("what is on 4 July?", {"course", "market"}),
        ("what is on 19 December?", set()),
        ("what is on this week?", {"dinner", "plumber"}),
        ("what is on 17 June?", {"physio"}),
        ("what is on on Sunday?", set()),
    ],
)
async def test_a_day_has_what_is_said_to_be_on_it(agent: Agent, query: str, there: set[str]) -> None:
    answer = await agent.call("recall", query=query)
    assert listed(answer) == there
    assert "2025" not in answer.text.splitlines()[0]


@pytest.mark.parametrize(
    ("query", "there"),
    [
        ("what must be done by the end of the month?", {"dinner", "plumber", "physio", "renewal", "salt"}),
        ("what do I have to finish by 30 June?", {"dinner", "plumber", "physio", "renewal", "salt"}),
        ("what do I have to finish by Friday?", {"dinner", "plumber"}),
    ],
)
async def test_what_is_to_be_done_until_then_is_what_is_due_until_then(
    agent: Agent, query: str, there: set[str]
) -> None:
    answer = await agent.call("recall", query=query)
    assert listed(answer) == there
    assert "soonest first" in answer.text.splitlines()[0]


async def test_a_weekday_in_another_sentence_is_of_no_week_that_is_spoken_of_before(agent: Agent) -> None:
    await agent.remember("Next week the plumber is away. On Thursday the roofer comes.")
    roofer = "the roofer comes"
    tomorrow, later = [await agent.call("recall", query=f"what is on {day}?") for day in ("tomorrow", "18 June")]
    assert any(roofer in hit["content"] for hit in tomorrow["results"])
    assert not any(roofer in hit["content"] for hit in later["results"] if hit["why"] == "listed")


async def test_a_time_of_several_days_to_which_something_was_moved_is_all_of_them(agent: Agent) -> None:
    moved = str((await agent.remember("The regatta was moved to the week of 22 June."))["id"])
    listed = await agent.call("recall", query="what is on from 22 to 28 June?")
    assert moved in listed.found
    sunday = await agent.call("recall", query="what is on 28 June?")
    assert not any(hit["id"] == moved and hit["why"] == "listed" for hit in sunday["results"])


async def test_what_comes_round_did_not_happen_for_that(agent: Agent) -> None:
    answer = await agent.call("recall", query="what happened last Saturday?")
    assert not {hit["content"] for hit in answer["results"]} & {TOLD["course"][1], TOLD["market"][1]}
