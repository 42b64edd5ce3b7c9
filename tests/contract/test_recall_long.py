"""Long notes, as the messages of a chat are: each is found for what it tells itself."""

from __future__ import annotations

import pytest

from served import Agent

pytestmark = pytest.mark.anyio

TALK = (
    "the rota of the ferry and who stands in for whom in the summer weeks",
    "painting the hull below the water line before the inspectors come",
    "what the café on the quay may sell and which licence it needs for that",
    "the pelican crossing in front of the ticket office and its worn lights",
    "life jackets for children, how many there are and where they hang",
    "the timetable of the last boat on the evenings of the regatta",
)
REST = (
    "We went through it point by point, wrote down who does what and until when, and agreed to look at it again. "
    "Nobody had objections, some had doubts, and most of what was said had been said before in other words. "
)
ASIDE = "Somebody asked about diesel by the way, and that was put off. "
ABOUT = "Diesel is bought in March. The diesel tank holds four weeks, and whoever fills diesel signs the diesel book. "


def long(about: str, said: str = "") -> str:
    return f"This was about {about}. {said}{REST * 3}"


async def told(agent: Agent, *texts: str) -> list[str]:
    return [str((await agent.remember(text, session="meeting"))["id"]) for text in texts]


async def test_a_long_message_is_not_found_for_what_was_said_beside_it(agent: Agent) -> None:
    ids = await told(agent, *map(long, TALK))
    found = await agent.recall("pelican crossing lights")
    assert found.found == [ids[3]]
    assert "pelican" in found["results"][0]["why"]


async def test_a_short_turn_is_still_found_by_those_around_it(agent: Agent) -> None:
    ids = await told(agent, "The pelican crossing needs new lights.", "Yes, I asked the council.", "Let us eat.")
    found = (await agent.recall("pelican crossing lights")).found
    assert found[0] == ids[0]
    assert ids[1] in found


async def test_beside_a_long_message_a_short_one_has_its_beginning_alone(agent: Agent) -> None:
    ids = await told(agent, long(TALK[3], ASIDE * 12 + "The zebra stripes come later. "), "Agreed.")
    assert ids[1] in (await agent.recall("pelican crossing", limit=20)).found
    assert ids[1] not in (await agent.recall("zebra stripes", limit=20)).found


@pytest.mark.parametrize("first", [0, 1])
async def test_what_a_long_message_says_again_and_again_it_is_about(agent: Agent, first: int) -> None:
    texts = [long(TALK[0], ASIDE), long(TALK[1], ABOUT)]
    ids = await told(agent, *map(long, TALK[2:]), texts[first], texts[1 - first])
    about = ids[-2:][1 - first]
    assert (await agent.recall("diesel")).found[0] == about
    assert (await agent.recall("what was said about diesel?")).found[0] == about
