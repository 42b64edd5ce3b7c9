"""recall and silence: what is not stored is not found, what is doubtful says so, and neighbours stay in their place."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from holdfast.engine.agent.feedback import MarkOutdated, mark_outdated
from holdfast.engine.agent.recall import Recalled
from holdfast.engine.runtime import Memory
from holdfast.index.search.vectors import Background
from holdfast.model.note import SELF_ID
from holdfast.model.ranking import FLOOR, GATE, WEAK
from served import Agent
from worlds import CALLER, WordBag, ask, found, keep, living

pytestmark = pytest.mark.anyio

CRANE = "The harbour crane lifts forty tonnes of steel."
NOTES = (
    CRANE,
    "Ann drives the crane on weekdays.",
    "The crane is painted red every spring.",
    "The ferry to the island leaves at nine.",
    "Gulls nest on the roof of the warehouse.",
    "The lighthouse keeper is called Ragnar.",
    "Tide tables hang beside the office door.",
    "Buoys are checked twice a year by divers.",
    "Diesel is delivered on the first day of each month.",
    "The old pier was repaired with oak beams.",
)


@pytest.fixture
async def words(anyio_backend: str, tmp_path: Path) -> AsyncIterator[Memory]:
    """A small memory that compares words alone."""
    async with filled(tmp_path / "words") as memory:
        yield memory


@pytest.fixture
async def meaning(anyio_backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Memory]:
    """The same with an encoder, its calibration frozen."""
    monkeypatch.setattr(Background, "statistics", lambda *_: (0.05, 0.1))
    async with filled(tmp_path / "meaning", encoder=WordBag(hoists="lifts", heavy="tonnes")) as memory:
        yield memory


@asynccontextmanager
async def filled(home: Path, encoder: WordBag | None = None) -> AsyncIterator[Memory]:
    async with living(home, encoder=encoder) as memory:
        for text in NOTES:
            await keep(memory, text)
        yield memory


async def kept(memory: Memory, content: str, **given: Any) -> str:
    return (await keep(memory, content, **given)).note.id


def related(answer: Recalled) -> list[tuple[str, str, str]]:
    """The neighbours: text, edge, and the note that it led from."""
    return [(item.note.content, item.edge, item.via) for item in answer.related]


# --- nothing --------------------------------------------------------------------------------------

NOTHING = [
    "pancake recipe with blueberries",
    "how do I renew my passport abroad?",
    "quarterly revenue forecast spreadsheet",
    "kubernetes ingress certificate rotation",
]


@pytest.mark.parametrize("query", NOTHING)
async def test_what_is_not_stored_is_not_found_by_words_or_by_meaning(
    words: Memory, meaning: Memory, query: str
) -> None:
    for memory in (words, meaning):
        answer = await ask(memory, query)
        assert (answer.hits, answer.related, answer.tensions) == ((), (), ())


async def test_nothing_is_said_in_a_sentence_and_the_nearest_come_under_explain_alone(agent: Agent) -> None:
    for text in NOTES:
        await agent.remember(text)
    query = "crane insurance policy renewal form signature archive lamp copy budget"
    silent = await agent.recall(query)
    assert (silent["results"], silent["related"]) == ([], [])
    assert silent.text.startswith("Nothing relevant is stored.")
    explained = await agent.recall(query, explain=True, limit=2)
    assert len(explained["results"]) == 2
    assert all(hit["weak"] and hit["why"] and hit["relevance"] < GATE for hit in explained["results"])
    assert explained.text.count("WEAK MATCH") == 2


async def test_explain_changes_nothing_where_something_fits(words: Memory) -> None:
    assert found(await ask(words, "who drives the crane", explain=True)) == found(
        await ask(words, "who drives the crane")
    )


async def test_explain_never_shows_what_a_filter_keeps_out(words: Memory) -> None:
    for wanted in ({"spaces": ["elsewhere"]}, {"types": ["goal"]}, {"tags": ["x"]}, {"created_before": "2020-01-01"}):
        assert found(await ask(words, CRANE, explain=True, **wanted)) == []


async def test_a_long_paste_that_shares_one_word_with_a_note_is_at_most_a_weak_match(
    words: Memory, meaning: Memory
) -> None:
    paste = "\n".join(f"worker{number} pool{number} exhausted; retry{number} queued" for number in range(60))
    for memory in (words, meaning):
        hits = (await ask(memory, f"{paste}\nspool of the diesel heater is full")).hits
        assert all(hit.ranked.weak for hit in hits), [(hit.note.content, hit.ranked.relevance) for hit in hits]


# --- names ----------------------------------------------------------------------------------------


async def test_a_name_that_no_note_knows_silences_notes_that_are_merely_alike(meaning: Memory) -> None:
    assert found(await ask(meaning, "does the vossloh crane need insurance?")) != []  # a word like any other
    assert found(await ask(meaning, "does the Vossloh crane need insurance?")) == []


async def test_a_name_that_a_note_knows_silences_nothing(meaning: Memory) -> None:
    await kept(meaning, "The Vossloh is a locomotive.")
    assert NOTES[2] in found(await ask(meaning, "does the Vossloh crane need insurance?"))


async def test_an_ordinary_word_with_a_capital_is_no_name(meaning: Memory) -> None:
    assert found(await ask(meaning, "does the Winter crane need insurance?")) != []


# --- doubt ----------------------------------------------------------------------------------------


async def test_the_lines_of_relevance_decide_what_is_shown_and_what_is_marked(words: Memory, meaning: Memory) -> None:
    queries = ("crane", "the red crane of Ann", "crane insurance policy", "ferry crane gulls buoys", "heavy hoists")
    shown = [hit for memory in (words, meaning) for query in queries for hit in (await ask(memory, query)).hits]
    assert {hit.ranked.weak for hit in shown} == {True, False}
    for hit in shown:
        assert hit.ranked.likeness >= FLOOR
        assert hit.ranked.weak == (hit.ranked.relevance < WEAK)


async def test_a_meaning_without_a_word_is_found_and_is_never_certain(meaning: Memory) -> None:
    (hit,) = (await ask(meaning, "hoists heavy")).hits
    assert hit.note.content == CRANE
    assert hit.ranked.relevance < 0.85
    assert "meaning" in hit.ranked.why


UNRELATED = (
    "Pancakes need flour, eggs and milk.",
    "Grandmother's violin was restored in Cremona by a luthier who prefers spruce from the Dolomites.",
    "x",
    "Quarterly revenue grew. " * 40,
    "東京の天気は晴れ。",
    "Yoga class moved upstairs.",
)


@pytest.mark.parametrize("encoded", [False, True])
async def test_a_new_note_that_has_nothing_to_do_with_it_removes_no_hit(
    words: Memory, meaning: Memory, encoded: bool
) -> None:
    memory = meaning if encoded else words
    queries = (CRANE, "who drives the crane", "crane", "when does the ferry leave", "what hangs beside the office door")
    before = {query: found(await ask(memory, query, limit=50)) for query in queries}
    assert all(before.values())
    for text in UNRELATED:
        await keep(memory, text)
        for query, hits in before.items():
            assert set(hits) <= set(found(await ask(memory, query, limit=50))), text[:40]


# --- what stands around ---------------------------------------------------------------------------


async def test_neighbours_tell_the_typed_edge_and_the_hit_that_led_there_both_ways(words: Memory) -> None:
    hit = await kept(words, "The winch has twelve gears.")
    cause = await kept(words, "Salt ruins everything.")
    outward = await kept(words, "Sand in the bearings.", links=[(hit, "caused_by"), (cause, "supports")])
    answer = await ask(words, "winch gears")
    assert related(answer) == [("Sand in the bearings.", "caused_by", hit)]
    assert {item.note.id for item in answer.related}.isdisjoint({hit, cause})  # one step, not two
    back = await ask(words, "sand in the bearings")
    assert ("The winch has twelve gears.", "caused_by", outward) in related(back)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"space": "elsewhere"}, {"spaces": ["work"]}),
        ({"type": "goal"}, {"types": ["fact"]}),
        ({"tier": "core"}, {"tiers": ["working"]}),
        ({"tags": ["other"]}, {"tags": ["gear"]}),
        ({"event_time": "2020-01-01"}, {"created_after": "2021-01-01"}),
    ],
)
async def test_no_neighbour_and_no_contradiction_goes_past_a_filter(
    words: Memory, given: dict[str, Any], wanted: dict[str, Any]
) -> None:
    hit = await kept(words, "The winch has twelve gears.", tags=["gear"])
    await kept(words, "Ten, says Bob.", links=[(hit, "contradicts")], **{"tags": ["gear"], **given})
    assert len((await ask(words, "winch gears")).tensions) == 1
    answer = await ask(words, "winch gears", **wanted)
    assert found(answer) == ["The winch has twelve gears."]
    assert (answer.related, answer.tensions) == ((), ())


@pytest.mark.parametrize("limit", [1, 3, 10])
async def test_neighbours_are_never_more_than_the_limit_nor_than_five(words: Memory, limit: int) -> None:
    hit = await kept(words, "The winch has twelve gears.")
    for number in range(8):
        await kept(words, f"Remark {number}.", links=[(hit, "supports")])
    assert len((await ask(words, "winch gears", limit=limit)).related) == min(limit, 5)


async def test_contradictions_come_first_and_are_told_with_both_ids(agent: Agent) -> None:
    hit = (await agent.remember("The winch has twelve gears."))["id"]
    for number in range(6):
        await agent.remember(f"Remark {number}.", links=[{"to": hit, "type": "depends_on"}])
    against = (await agent.remember("Ten, says Bob.", links=[{"to": hit, "type": "contradicts"}]))["id"]
    answer = await agent.recall("winch gears")
    assert answer["related"][0]["id"] == against
    assert answer["tensions"] == [{"a": against, "b": hit, "reason": ""}]
    assert f"Contradiction: {against} and {hit}" in answer.text


async def test_a_contradiction_of_what_is_no_longer_true_is_none(agent: Agent) -> None:
    hit = (await agent.remember("The winch has twelve gears."))["id"]
    against = (await agent.remember("Ten, says Bob.", links=[{"to": hit, "type": "contradicts"}]))["id"]
    await agent.outdate(against)
    answer = await agent.recall("winch gears")
    assert (answer["related"], answer["tensions"]) == ([], [])


@pytest.mark.parametrize(
    "prompt",
    ["what is the date today?", "what day is today?", "what is 2+2 today?", "ok, until Monday", "see you tomorrow",
     "finish this by Friday", "let's continue tomorrow"],
)  # fmt: skip
async def test_a_time_beside_what_asks_nothing_lists_nothing(agent: Agent, prompt: str) -> None:
    await agent.remember("Pia resigned, her last day is Friday.")
    await agent.remember("Cash is taken to the bank on Mondays.")
    assert (await agent.recall(prompt)).found == []


@pytest.mark.parametrize("prompt", ["what did we note today?", "what is there from today?", "anything today"])
async def test_what_asks_for_all_of_a_time_lists_it(agent: Agent, prompt: str) -> None:
    note = (await agent.remember("Pia resigned, her last day is Friday."))["id"]
    assert note in (await agent.recall(prompt)).found


# --- budget ---------------------------------------------------------------------------------------


async def test_a_hit_that_the_budget_cut_off_does_not_come_back_as_a_neighbour(agent: Agent) -> None:
    first = (await agent.remember("The winch has twelve gears. " + "It turns. " * 40))["id"]
    links = [{"to": first, "type": "contradicts"}]
    second = (await agent.remember("The winch has gears. " + "It turns. " * 40, links=links))["id"]
    whole = (await agent.recall("winch gears")).found
    answer = await agent.recall("winch gears", budget=340)  # well within: what an id costs differs
    assert answer.found == whole[:1]
    assert answer["related"] == []
    assert answer["omitted"] == {"count": 1, "ids": whole[1:]}
    assert [{pair["a"], pair["b"]} for pair in answer["tensions"]] == [{first, second}]


async def test_neighbours_are_within_the_budget_too_and_the_rest_is_named(agent: Agent) -> None:
    hit = (await agent.remember("The winch has twelve gears."))["id"]
    links = [{"to": hit, "type": "supports"}]
    beside = [(await agent.remember(f"Remark {n}. " + "Long. " * 100, links=links))["id"] for n in range(3)]
    answer = await agent.recall("winch gears", budget=500)
    assert answer.found == [hit]
    shown = [item["id"] for item in answer["related"]]
    assert 0 < len(shown) < 3
    assert {*answer["omitted"]["ids"], *shown} == set(beside)


async def test_the_self_note_is_shown_where_it_fits_well_and_not_where_it_fits_a_little(words: Memory) -> None:
    for query, shown in (
        ("the person this memory belongs to", True),
        ("which person drives a crane on weekdays", False),
    ):
        answer = await ask(words, query)
        assert answer.hits
        assert (SELF_ID in {hit.note.id for hit in answer.hits}) == shown, query


# --- what asks nothing, and what a filter hides ------------------------------------------------------


@pytest.mark.parametrize("prompt", ["what is 2+2?", "ok thanks", "what's next?", "danke, mach weiter", "次は何"])
async def test_a_prompt_that_names_nothing_is_not_looked_for(meaning: Memory, prompt: str) -> None:
    await keep(meaning, "Thanks to 2 cranes and 2 ferries what comes next is ok.")
    answer = await ask(meaning, prompt)
    assert found(answer) == []
    assert any("names nothing" in notice for notice in answer.notices)
    assert found(await ask(meaning, prompt, explain=True))


async def test_an_order_that_names_nothing_gets_few_hits_and_no_strong_one(words: Memory) -> None:
    for number in range(6):
        await keep(words, f"Failing tests are fixed before new code, rule {number}.")
    answer = await ask(words, "fix the failing tests")
    assert 0 < len(answer.hits) <= 3
    assert all(hit.ranked.weak for hit in answer.hits)
    assert not (await ask(words, "how do we deal with failing tests?")).hits[0].ranked.weak


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"types": ["decision"]}, "types (it is a fact)"),
        ({"spaces": ["global"]}, 'spaces (it is in "work")'),
        ({"tags": ["boats"]}, "tags"),
        ({"tiers": ["core"]}, "tiers (it is working)"),
        ({"created_before": "2001-01-01"}, "created_before"),
        ({"types": ["decision"], "tiers": ["core"]}, "types (it is a fact) and tiers (it is working)"),
    ],
)
async def test_silence_says_which_filter_hides_the_answer(words: Memory, given: dict[str, Any], reason: str) -> None:
    answer = await ask(words, "harbour crane forty tonnes steel", **given)
    assert found(answer) == []
    (notice,) = [notice for notice in answer.notices if "left out by" in notice]
    assert reason in notice
    assert CRANE in notice


async def test_silence_says_that_a_filter_hides_what_may_answer(words: Memory) -> None:
    query = "does insurance cover steel, accidents, theft, fire and harbour storms?"
    assert (await ask(words, query)).hits[0].ranked.weak
    answer = await ask(words, query, tiers=["core"])
    assert found(answer) == []
    (notice,) = [notice for notice in answer.notices if "left out by" in notice]
    assert re.match(r"A weak match \(0\.\d\d\) is left out by tiers", notice)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"spaces": ["larkspur"]}, "Nothing relevant is in the space larkspur. Asked from "),
        ({"spaces": ["larkspurr"]}, "Nothing relevant is in the space larkspurr. Asked from "),
        ({"spaces": ["larkspur", "quay"]}, "Nothing relevant is in the spaces larkspur and quay. Asked from "),
        ({"types": ["decision"]}, "Nothing relevant passes the filter by types. Asked from "),
        ({"types": ["decision"], "tags": ["x"]}, "Nothing relevant passes the filter by types and tags. Asked from "),
        ({"created_before": "2020-01-01"}, "Nothing relevant passes the filter by created_before. Asked from "),
    ],
)
async def test_where_a_filter_hides_the_answer_it_is_not_said_that_none_is_stored(
    agent: Agent, given: dict[str, Any], said: str
) -> None:
    await agent.remember("The piano is tuned by Odile every spring.", space="home")
    await agent.remember("Wood pellets arrive in October.", space="larkspur")
    answer = await agent.recall("who tunes the piano?", **given)
    assert answer.text.startswith(said)
    assert "A relevant note is left out by" in answer.text
    nothing = await agent.recall("who bakes the bread?", **given)
    assert nothing.text.startswith("Nothing relevant is stored.")


async def test_where_only_what_is_outdated_answers_it_is_said_that_nothing_current_does(agent: Agent) -> None:
    old = str((await agent.remember("The winch is serviced in Bremerhaven."))["id"])
    await agent.outdate(old)
    answer = await agent.recall("where is the winch serviced, Bremerhaven?")
    assert answer.text.startswith("Nothing relevant is current.")


async def test_of_what_a_filter_hides_that_is_named_which_would_come_first_without_it(agent: Agent) -> None:
    own = await agent.remember("Piet next door has the spare key of the house.", space="harbour")
    await agent.remember("Henk has the spare key of the hut.", space="quay")
    query = "who has our spare key?"
    assert (await agent.recall(query)).found[0] == own["id"]
    for given in ({"types": ["decision"]}, {"spaces": ["larkspur"]}):
        answer = await agent.recall(query, **given)
        (notice,) = [notice for notice in answer["notices"] if "left out by" in notice]
        assert own["id"] in notice


async def test_silence_says_that_the_answer_is_outdated(words: Memory) -> None:
    old = await kept(words, "The winch is serviced in Bremerhaven.")
    await words.attend(lambda ports: mark_outdated(ports, CALLER, MarkOutdated(old)))
    answer = await ask(words, "where is the winch serviced, Bremerhaven?")
    assert any(notice.endswith(f"include_outdated shows it): {old}") for notice in answer.notices)


async def test_a_misspelt_space_is_named_with_the_nearest(words: Memory) -> None:
    await keep(words, "Toll is paid at the gate.", space="tollgate")
    answer = await ask(words, "where is toll paid?", spaces=["tolgate"])
    assert 'No note is in the space "tolgate". The nearest is "tollgate".' in answer.notices


async def test_a_misspelt_space_is_named_beside_one_that_answers_but_none_that_is_only_empty(words: Memory) -> None:
    await keep(words, "Toll is paid at the gate.", space="tollgate")
    answer = await ask(words, "where is toll paid?", spaces=["tollgate", "tolgate"])
    assert not answer.hits[0].ranked.weak
    assert 'No note is in the space "tolgate". The nearest is "tollgate".' in answer.notices
    answer = await ask(words, "where is toll paid?", spaces=["tollgate", "observatory"])
    assert not any("observatory" in notice for notice in answer.notices)


async def test_a_misspelt_space_is_named_where_a_list_is_asked_for(words: Memory) -> None:
    told = 'No note is in the space "tolgate". The nearest is "tollgate".'
    await keep(words, "Toll is paid at the gate.", type="decision", space="tollgate")
    assert told in (await ask(words, "", spaces=["tolgate"])).notices
    assert told in (await ask(words, "list all decisions in tolgate")).notices
    assert told not in (await ask(words, "list all decisions in tollgate")).notices
    assert (await ask(words, "", spaces=["tollgate"], types=["goal"])).notices == ()


async def test_a_filter_that_hides_nothing_relevant_is_not_blamed(words: Memory) -> None:
    answer = await ask(words, "who bakes the bread?", types=["decision"])
    assert not any("left out" in notice for notice in answer.notices)


HOURS = "is open for customers only on Wednesdays and Saturday mornings, at other times somebody has to ring the bell"


async def test_where_nothing_is_strong_the_first_weak_hit_says_all_of_its_sentence_in_both_forms(agent: Agent) -> None:
    for place in ("Bonn", "Mainz", "Trier", "Fulda", "Kassel", "Jena", "Gera", "Halle"):
        await agent.remember(f"The workshop in {place} {HOURS} at the gate of the yard first.")
    answer = await agent.recall("may customers park at the gate before noon on Wednesdays?")
    first, *others = answer["results"]
    assert (first["weak"], HOURS in first["content"]) == (True, True)
    assert not any(HOURS in hit["content"] for hit in others)
    assert [HOURS in line for line in answer.text.split("\n") if "WEAK MATCH" in line] == [True, False, False]
