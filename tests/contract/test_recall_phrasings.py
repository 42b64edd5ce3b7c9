"""recall with `also`: the same question in other words, scores averaged."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from statistics import fmean

import pytest

from holdfast.encode.builtin import BuiltinEncoder
from holdfast.engine.runtime import Memory
from holdfast.errors import InvalidArgumentError, LimitExceededError
from served import Agent
from worlds import WordBag, ask, found, keep, living

pytestmark = pytest.mark.anyio

CRANE = "The harbour crane lifts forty tonnes of steel."
FERRY = "The ferry to the island leaves at nine."
NOTES = (CRANE, FERRY, *(f"Shed {number} holds ropes, paint and lamps." for number in range(20)))


@pytest.fixture(params=["words", "meaning"])
async def memory(anyio_backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Memory]:
    """The same notes, without an encoder and with one."""
    async with living(tmp_path, encoder=WordBag() if request.param == "meaning" else None) as ready:
        for text in NOTES:
            await keep(ready, text)
        yield ready


async def test_what_only_another_phrasing_names_is_found(memory: Memory) -> None:
    asked = "which machine hoists the heavy load?"
    assert CRANE not in found(await ask(memory, asked))
    assert found(await ask(memory, asked, also=["harbour crane lifts tonnes of steel"]))[0] == CRANE


async def test_a_phrasing_that_finds_nothing_leaves_what_the_question_found(memory: Memory) -> None:
    alone = await ask(memory, "when does the ferry to the island leave?")
    both = await ask(memory, "when does the ferry to the island leave?", also=["boat timetable"])
    assert found(alone)[0] == found(both)[0] == FERRY


async def test_phrasings_of_what_is_not_stored_find_nothing_strong(memory: Memory) -> None:
    answer = await ask(memory, "who bakes the bread?", also=["bakery staff", "the baker of our loaves"])
    assert not any(not hit.ranked.weak for hit in answer.hits)


@pytest.mark.parametrize(
    ("query", "note", "also"),
    [
        (
            "ERC-88213",
            "Grant ERC-88213 pays for two postdocs.",
            ["who funds the researchers", "money for young people"],
        ),
        ("what is ERC-88213?", "Grant ERC-88213 pays for two postdocs.", ["funding of the institute"]),
        ("Mordechai", "Mordechai keeps the bees behind the chapel.", ["the man with the hives", "who does the honey"]),
        ("Zwetschgendatschi", "Zwetschgendatschi takes 200 g of butter.", ["plum cake ingredients"]),
    ],
)
async def test_what_has_the_rare_words_of_the_question_is_no_weaker_for_phrasings_that_leave_them_out(
    memory: Memory, query: str, note: str, also: list[str]
) -> None:
    await keep(memory, note)
    alone = (await ask(memory, query)).hits[0]
    both = (await ask(memory, query, also=also)).hits[0]
    assert (alone.note.content, both.note.content) == (note, note)
    assert not alone.ranked.weak
    assert both.ranked.relevance >= alone.ranked.relevance


async def test_what_is_sure_for_the_question_is_no_weaker_for_phrasings_that_miss(tmp_path: Path) -> None:
    note = "Commit messages are in the imperative and end with the ticket number in brackets."
    others = ("The tug lies at pier 4.", "Backups are tested once a quarter.", "Ruth does the bookkeeping.")
    async with living(tmp_path, encoder=BuiltinEncoder()) as memory:
        for content in (note, *others, "Commits are signed by the bot.", "Messages to the crew go by radio."):
            await keep(memory, content)
        alone = (await ask(memory, "how do commit messages end?")).hits[0]
        both = (await ask(memory, "how do commit messages end?", also=["style of the log", "zzz qqq"])).hits[0]
        assert (alone.note.content, both.note.content) == (note, note)
        assert both.ranked.relevance >= alone.ranked.relevance > 0.95


async def test_the_score_is_the_mean_of_what_each_phrasing_gives(memory: Memory) -> None:
    asked = ["which crane lifts steel?", "harbour crane for tonnes"]
    alone = [(await ask(memory, text)).hits[0] for text in asked]
    both = (await ask(memory, asked[0], also=asked[1:])).hits[0]
    assert {hit.note.content for hit in (*alone, both)} == {CRANE}
    assert both.ranked.score == pytest.approx(fmean(hit.ranked.score for hit in alone))


async def test_a_repetition_of_the_question_is_no_other_phrasing(memory: Memory) -> None:
    alone = await ask(memory, "island ferry")
    again = await ask(memory, "island ferry", also=["island  ferry"])
    assert [hit.ranked.score for hit in again.hits] == [hit.ranked.score for hit in alone.hits]


async def test_too_many_and_blank_ones_are_named(memory: Memory) -> None:
    with pytest.raises(LimitExceededError, match="at most 3"):
        await ask(memory, "ferry", also=["a", "b", "c", "d"])
    with pytest.raises(InvalidArgumentError, match=r"also\[1\] is blank"):
        await ask(memory, "ferry", also=["boat", " "])


async def test_the_tool_takes_them_as_a_list_or_as_text_of_one(agent: Agent) -> None:
    await agent.call("remember", content=CRANE)
    for also in (["crane tonnes"], '["crane tonnes"]'):
        answer = await agent.call("recall", query="heavy loads", also=also)
        assert [hit["content"] for hit in answer["results"]] == [CRANE]


@pytest.mark.parametrize("query", ["", " ", "*"])
@pytest.mark.parametrize(
    "also", [["which crane lifts steel?"], ["which crane lifts steel?", "harbour crane for tonnes"]]
)
async def test_without_a_question_the_first_phrasing_is_it(memory: Memory, query: str, also: list[str]) -> None:
    alone = await ask(memory, also[0], also=also[1:])
    answer = await ask(memory, query, also=also)
    assert [(hit.note.id, hit.ranked.score) for hit in answer.hits] == [
        (hit.note.id, hit.ranked.score) for hit in alone.hits
    ]
    assert (found(answer)[0], answer.listing) == (CRANE, None)
    repeated = await ask(memory, query, also=[also[0], *also])
    assert [hit.ranked.score for hit in repeated.hits] == [hit.ranked.score for hit in alone.hits]


async def test_a_phrasing_that_asks_nothing_is_no_question(memory: Memory) -> None:
    assert (await ask(memory, "", also=["*"])).listing is not None
    assert found(await ask(memory, "", also=["*", "which crane lifts steel?"]))[0] == CRANE
    assert found(await ask(memory, "", also=["who bakes the bread?"])) == []
