"""memory_store and memory_recall: OMI's shapes over the same notes and the same search as remember and recall."""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest

from processes import stdio
from served import SELF, Agent, Clock, made_up_secret, serving
from worlds import PATIENCE

pytestmark = pytest.mark.anyio

KEYS = ["memory_id", "content", "memory_type", "created_at", "relevance", "final_score", "related_memories"]
NOBODY = "mem_0000000000zzzzzz"


async def store(agent: Agent, content: str, **given: Any) -> str:
    value = await agent.omi("memory_store", content=content, **given)
    assert list(value) == ["memory_id"]
    return str(value["memory_id"])


async def found(agent: Agent, query: str, **given: Any) -> list[str]:
    return [item["memory_id"] for item in await agent.omi("memory_recall", query=query, **given)]


# --- memory_store ---------------------------------------------------------------------------------


@pytest.mark.parametrize("memory_type", ["fact", "experience", "belief", "decision"])
async def test_what_memory_store_keeps_recall_finds_with_its_type(agent: Agent, memory_type: str) -> None:
    note_id = await store(agent, "SQLite supports full-text search via FTS5", memory_type=memory_type)
    answer = await agent.recall("full-text search with SQLite")
    assert [(hit["id"], hit["type"]) for hit in answer["results"]] == [(note_id, memory_type)]
    node = await agent.node(note_id)
    assert (node["tier"], node["space"], node["title"]) == (
        "working",
        "harbour",
        "SQLite supports full-text search via FTS5",
    )


async def test_without_a_type_it_is_an_experience(agent: Agent) -> None:
    assert (await agent.node(await store(agent, "We met the pilot.")))["type"] == "experience"


@pytest.mark.parametrize(
    ("given", "confidence"),
    [
        ({"memory_type": "belief"}, 0.5),
        ({"memory_type": "belief", "confidence": 0.85}, 0.85),
        ({"memory_type": "belief", "confidence": 0.0}, 0.0),
        ({"memory_type": "fact"}, 1.0),
        ({"memory_type": "fact", "confidence": 0.3}, 0.3),
        ({}, 1.0),
    ],
)
async def test_confidence_is_a_half_for_beliefs_and_one_for_the_rest(
    agent: Agent, given: dict[str, Any], confidence: float
) -> None:
    assert (await agent.node(await store(agent, "Async calls help.", **given)))["confidence"] == confidence


async def test_related_memories_are_linked_once_with_half_weight(agent: Agent) -> None:
    first, second = await store(agent, "The auth design."), await store(agent, "The middleware refactor.")
    note_id = await store(agent, "Fixed the login.", related_to=[first, second[:-1], first])
    edges = [
        (edge["id"], edge["type"], edge["weight"])
        for edge in (await agent.node(note_id))["connections"]
        if edge["direction"] == "out"
    ]
    assert edges == [(first, "related_to", 0.5), (second, "related_to", 0.5)]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"related_to": [NOBODY]}, ["MemoryNotFoundError", "related_to"]),
        ({"related_to": ["../../etc"]}, ["MemoryNotFoundError", "related_to"]),
        ({"memory_type": "belief", "confidence": 1.5}, ["InvalidArgumentError", "confidence"]),
        ({"memory_type": "belief", "confidence": -0.1}, ["InvalidArgumentError", "confidence"]),
        ({"memory_type": "opinion"}, ["InvalidArgumentError", "memory_type"]),
        ({"content": "  \n"}, ["InvalidArgumentError", "content"]),
        ({"colour": "red"}, ["InvalidArgumentError"]),
    ],
)
async def test_what_cannot_be_stored_is_refused_and_nothing_is_written(
    agent: Agent, given: dict[str, Any], words: list[str]
) -> None:
    await store(agent, "The auth design.")
    before = agent.notes_on_disk()
    told = await agent.refused("memory_store", **({"content": "Fixed the login."} | given))
    assert all(word in told for word in words)
    assert agent.notes_on_disk() == before


async def test_the_same_call_again_has_the_same_id_and_says_so(agent: Agent) -> None:
    first = await store(agent, "The pilot whistles.")
    value, notices = await agent.omi_told("memory_store", content="The pilot whistles.")
    assert value == {"memory_id": first}
    assert any("is stored already" in notice for notice in notices)
    agent.clock.forward(days=11)
    assert await store(agent, "the pilot  whistles.") == first


async def test_secrets_pass_the_same_door(agent: Agent) -> None:
    secret = made_up_secret()
    _, notices = await agent.omi_told("memory_store", content=f"The token is {secret}.")
    assert any("Secrets were replaced" in notice for notice in notices)
    assert agent.holding(secret) == []


async def test_a_belief_that_contradicts_a_note_is_stored_and_the_contradiction_told(agent: Agent) -> None:
    old = await store(agent, "TypeScript prevents runtime errors", memory_type="belief")
    value, notices = await agent.omi_told(
        "memory_store", content="TypeScript causes runtime errors", memory_type="belief"
    )
    (notice,) = notices
    assert all(word in notice for word in (old, value["memory_id"], "causes vs prevents"))
    assert (await agent.node(old))["outdated"] is False
    assert all(edge["type"] != "contradicts" for edge in (await agent.node(old))["connections"])


async def test_a_fact_is_not_searched_for_contradictions(agent: Agent) -> None:
    await store(agent, "TypeScript prevents runtime errors", memory_type="belief")
    _, notices = await agent.omi_told("memory_store", content="TypeScript causes runtime errors", memory_type="fact")
    assert notices == []


# --- memory_recall --------------------------------------------------------------------------------


async def test_what_falls_short_of_the_line_is_seen_beside_the_array_and_is_not_in_it(agent: Agent) -> None:
    note_id = await store(agent, 'The "crane"\n</note 00000000> lifts forty tonnes.\n\nIt is red.')
    value, notices = await agent.omi_told("memory_recall", query="crane insurance policy renewal")
    assert value == []
    assert re.fullmatch(r"None reaches 0\.7; min_relevance=0\.\d+ returns what is seen just below it\.", notices[0])
    (line,) = [notice for notice in notices if note_id in notice]
    found = re.fullmatch(r'Doubtful, (0\.\d\d): mem_\w{16} ("The \\"crane\\".*")(?: \(.+\))?', line)
    assert found
    assert float(found[1]) < 0.7
    assert "</note" not in line
    assert "red" not in line
    lower = float(notices[0].split("min_relevance=")[1].split()[0])
    again, _ = await agent.omi_told("memory_recall", query="crane insurance policy renewal", min_relevance=lower)
    assert [memory["memory_id"] for memory in again] == [note_id]


async def test_no_more_than_three_are_seen_together_and_none_beside_as_many_as_were_asked_for(agent: Agent) -> None:
    wanted = await store(agent, "The insurance policy of the crane is renewed in March.")
    for name in ("north", "south", "rail", "tower", "dock"):
        await store(agent, f"The {name} crane has an insurance.")
    query = "when is the insurance policy of the crane renewed?"
    value, notices = await agent.omi_told("memory_recall", query=query)
    assert [memory["memory_id"] for memory in value] == [wanted]
    lines = [notice for notice in notices if notice.startswith("Doubtful")]
    assert len(lines) == 2
    assert not any(wanted in line for line in lines)
    assert any(notice.startswith("Few reach 0.7;") for notice in notices)
    value, notices = await agent.omi_told("memory_recall", query=query, limit=1)
    assert len(value) == 1
    assert not any("Doubtful" in notice or "reach" in notice for notice in notices)


async def test_a_memory_has_the_seven_documented_keys(agent: Agent) -> None:
    content = 'A "quoted" line\n</note> ``` \u2028 \U0001f6a2 ] } {'
    note_id = await store(agent, content)
    (memory,) = await agent.omi("memory_recall", query="a quoted line", min_relevance=0.1)
    assert list(memory) == KEYS
    created = (await agent.node(note_id))["created"]
    assert [memory[key] for key in KEYS[:4]] == [note_id, content, "experience", created]
    assert datetime.fromisoformat(created).tzinfo is not None
    assert memory["related_memories"] == [SELF]


@pytest.mark.parametrize(
    ("stored", "seen"),
    [("preference", "fact"), ("event", "experience"), ("goal", "decision"), ("belief", "belief"), ("person", "fact")],
)
async def test_what_remember_keeps_memory_recall_finds_under_one_of_four_types(
    agent: Agent, stored: str, seen: str
) -> None:
    note_id = (await agent.remember("The crane lifts forty tonnes.", type=stored))["id"]
    (memory,) = await agent.omi("memory_recall", query="the crane lifts forty tonnes")
    assert (memory["memory_id"], memory["memory_type"]) == (note_id, seen)
    assert await found(agent, "the crane lifts forty tonnes", memory_type=seen) == [note_id]
    other = "decision" if seen != "decision" else "fact"
    assert await found(agent, "the crane lifts forty tonnes", memory_type=other) == []


async def test_the_type_is_looked_at_before_the_list_is_cut(agent: Agent) -> None:
    for number in range(12):
        await store(agent, f"The crane lifts forty tonnes, says number {number}.", memory_type="fact")
    belief = await store(agent, "Maybe the crane lifts forty tonnes.", memory_type="belief")
    assert await found(agent, "crane lifts forty tonnes", limit=1, memory_type="belief", min_relevance=0.3) == [belief]


async def test_that_the_type_asked_for_hides_the_answer_is_told(agent: Agent) -> None:
    fact = await store(agent, "The crane lifts forty tonnes.", memory_type="fact")
    await store(agent, "Maybe gulls nest on the roof.", memory_type="belief")
    told = f'left out by memory_type (its own is "fact"): {fact} The crane lifts forty tonnes.'
    answer = await agent.client.call_tool(
        "memory_recall", {"query": "how much lifts the crane?", "memory_type": "belief"}
    )
    assert told in str(answer)
    for least in (0.3, 0.999):  # what that leaves out is not left out by its type
        given = {"query": "where do gulls nest?", "memory_type": "belief", "min_relevance": least}
        assert "left out by memory_type" not in str(await agent.client.call_tool("memory_recall", given))


async def test_the_final_score_is_made_of_relevance_and_age(agent: Agent) -> None:
    agent.write_by_hand("harbour/old.md", _dated("2026-01-05T06:07:08Z", "The crane lifts forty tonnes."))
    asked = datetime(2026, 2, 4, 18, 7, 8, tzinfo=UTC)  # 30.5 days later
    agent.clock.set(asked)
    (memory,) = await agent.omi("memory_recall", query="The crane lifts forty tonnes.")
    recency = (memory["final_score"] - 0.7 * memory["relevance"]) / 0.3
    assert memory["created_at"] == "2026-01-05T06:07:08Z"
    assert recency == pytest.approx(math.exp(-30.5 / 30), abs=1e-5)  # it was asked a moment after that


async def test_of_the_same_text_the_newer_comes_first(agent: Agent) -> None:
    agent.write_by_hand("harbour/a.md", _dated("2026-11-01T00:00:00Z", "The crane lifts forty tonnes."))
    agent.write_by_hand("harbour/b.md", _dated("2026-11-10T00:00:00Z", "The crane lifts forty tonnes."))
    agent.write_by_hand("harbour/c.md", _dated("2025-01-01T00:00:00Z", "The crane lifts forty tonnes."))
    memories = await agent.omi("memory_recall", query="crane lifts forty tonnes")
    assert [memory["created_at"][:10] for memory in memories] == ["2026-11-10", "2026-11-01", "2025-01-01"]
    assert [memory["final_score"] for memory in memories] == sorted(
        (memory["final_score"] for memory in memories), reverse=True
    )


WORMS, COPPER = "The lambs die of worms.", "The lambs die of copper poisoning."


@pytest.mark.parametrize("confidence", ["0.08", "0.3"])
@pytest.mark.parametrize(
    ("query", "others", "place"),
    [
        ("what do the lambs die of", [], 1),
        ("what do the lambs die of", ["The lambs die of cold in the valley."], 2),
        ("do the lambs die of worms", [], 0),  # it is asked about itself
    ],
)
async def test_a_belief_that_is_held_no_longer_stands_behind_the_one_that_is_believed(
    agent: Agent, confidence: str, query: str, others: list[str], place: int
) -> None:
    for number, (text, held) in enumerate([(COPPER, "0.85"), *((text, "0.5") for text in others), (WORMS, confidence)]):
        known = f'type: "belief"\nconfidence: {held}\ncreated: "2026-11-0{number + 1}T00:00:00Z"'
        agent.write_by_hand(f"harbour/{number}.md", f"---\n{known}\n---\n{text}\n")
    memories = await agent.omi("memory_recall", query=query, min_relevance=0.3)
    told = [memory["content"].rpartition(".) ")[2] for memory in memories]
    assert sorted(told) == sorted([COPPER, WORMS, *others])
    assert told.index(WORMS) == place
    assert (await agent.omi("memory_recall", query=query, limit=1))[0]["memory_id"] == memories[0]["memory_id"]
    recalled = [hit["content"] for hit in (await agent.recall(query))["results"]]
    assert recalled.index(WORMS) == place


def _dated(created: str, text: str) -> str:
    return f'---\ncreated: "{created}"\n---\n{text}\n'


async def test_only_what_is_relevant_enough_is_shown(agent: Agent) -> None:
    crane = await store(agent, "The crane lifts forty tonnes.")
    lamp = await store(agent, "The crane needs a lamp for the night shift at the northern pier.")
    await store(agent, "Lunch is at noon.")
    every = await agent.omi("memory_recall", query="the crane lifts forty tonnes", min_relevance=0.0)
    assert {memory["memory_id"] for memory in every} >= {crane, lamp}
    by_id = {memory["memory_id"]: memory["relevance"] for memory in every}
    assert by_id[crane] >= 0.85
    assert await found(agent, "the crane lifts forty tonnes") == [crane]
    line = by_id[lamp]
    assert await found(agent, "the crane lifts forty tonnes", min_relevance=line) == [crane, lamp]
    assert await found(agent, "the crane lifts forty tonnes", min_relevance=line + 0.0001) == [crane]


async def test_nothing_relevant_is_an_empty_list(agent: Agent) -> None:
    assert await agent.omi("memory_recall", query="football") == []
    await store(agent, "The crane lifts forty tonnes.")
    assert await agent.omi("memory_recall", query="which football club does Renske support") == []


async def test_at_most_limit_memories_come(agent: Agent) -> None:
    for number in range(13):
        await store(agent, f"The crane lifts {number} tonnes.")
    assert len(await found(agent, "the crane lifts tonnes", min_relevance=0.2)) == 10
    assert len(await found(agent, "the crane lifts tonnes", min_relevance=0.2, limit=2)) == 2
    assert len(await found(agent, "the crane lifts tonnes", min_relevance=0.2, limit=100)) == 13


async def test_what_is_no_longer_true_is_absent(agent: Agent) -> None:
    marked = await store(agent, "The crane lifts forty tonnes.")
    await agent.outdate(marked)
    old = await store(agent, "The crane lifts fifty tonnes.")
    new = (await agent.remember("The crane lifts sixty tonnes.", supersedes=[old]))["id"]
    agent.write_by_hand(
        "harbour/expired.md", '---\nvalid_until: "2026-01-01T00:00:00Z"\n---\nThe crane lifts ten tonnes.\n'
    )
    for query in (
        "the crane lifts tonnes",
        "what did the crane originally lift, in tonnes",
        "the crane lifts fifty tonnes",
    ):
        assert await found(agent, query, min_relevance=0.0) == [new], query


async def test_related_memories_are_neighbours_both_ways_the_strongest_first(agent: Agent) -> None:
    hub = await store(agent, "The crane lifts forty tonnes.", memory_type="belief")
    strong = await store(agent, "A container of thirty-nine tonnes swung.")
    weak = await store(agent, "An apprentice looked on.", related_to=[hub])
    await agent.omi("belief_update", belief_id=hub, evidence_memory_id=strong, supports=True, strength=0.9)
    await agent.omi("belief_update", belief_id=hub, evidence_memory_id=strong, supports=False, strength=0.2)
    (memory,) = await agent.omi("memory_recall", query="the crane lifts forty tonnes", memory_type="belief")
    assert memory["related_memories"] == [strong, weak, SELF]


async def test_at_most_ten_related_memories_are_named(agent: Agent) -> None:
    hub = await store(agent, "The crane lifts forty tonnes.", memory_type="belief")
    for number in range(12):
        await store(agent, f"Shift {number} ended.", related_to=[hub])
    (memory,) = await agent.omi("memory_recall", query="the crane lifts forty tonnes", memory_type="belief")
    assert len(memory["related_memories"]) == len(set(memory["related_memories"])) == 10


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"query": " "}, "query"),
        ({"limit": 0}, "limit"),
        ({"limit": 101}, "limit"),
        ({"min_relevance": 1.01}, "min_relevance"),
        ({"min_relevance": -0.01}, "min_relevance"),
        ({"memory_type": "event"}, "memory_type"),
    ],
)
async def test_what_cannot_be_asked_is_refused(agent: Agent, given: dict[str, Any], word: str) -> None:
    told = await agent.refused("memory_recall", **({"query": "crane"} | given))
    assert told.startswith("InvalidArgumentError")
    assert word in told


async def test_asking_changes_no_note_and_can_be_rated(agent: Agent) -> None:
    note_id = await store(agent, "The crane lifts forty tonnes.")
    before = agent.notes_on_disk()
    assert await found(agent, "the crane lifts forty tonnes") == [note_id]
    assert agent.notes_on_disk() == before
    assert (await agent.rate(note_id, 1))["recorded"] is True


def test_over_a_real_pipe_the_first_block_is_the_array_itself(environment: dict[str, str], era: str) -> None:
    with stdio(environment, era) as server:
        server.begin()
        stored = server.tool("memory_store", content='A crane called "Ida".', memory_type="fact")
        assert json.loads(stored["content"][0]["text"]) == stored["structuredContent"]
        answer = server.tool("memory_recall", query="a crane called Ida")
        (memory,) = json.loads(answer["content"][0]["text"])
        assert answer["structuredContent"] == {"result": [memory]}
        assert memory["memory_id"] == stored["structuredContent"]["memory_id"]
        assert answer["content"][1]["text"] == "\n".join(f"Note: {notice}" for notice in answer["_meta"]["notices"])
        assert server.tool("memory_recall", query="football")["content"][0]["text"] == "[]"
        assert server.end()[0] == 0


@pytest.mark.files("a file that cannot be read is put there by hand")
async def test_what_stands_in_the_way_of_a_whole_answer_is_told_beside_it(agent: Agent) -> None:
    await store(agent, "The crane lifts forty tonnes.")
    agent.write_by_hand("harbour/broken.md", "---\ntier: golden\n---\nA boat.\n")
    _, notices = await agent.omi_told("memory_recall", query="crane")
    assert any("No encoder is set" in notice for notice in notices)
    assert any("Quarantined" in notice and "broken.md" in notice for notice in notices)


async def test_a_deleted_index_changes_no_answer(anyio_backend: str, era: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with serving(home, era, encoder="builtin", clock=Clock()) as agent:
        first = await store(agent, "The crane lifts forty tonnes.", memory_type="fact")
        belief = await store(agent, "Cranes should always be locked at night", memory_type="belief")
        await store(agent, "A crane was moved by the storm", related_to=[first])
        await agent.omi("belief_update", belief_id=belief, evidence_memory_id=first, supports=True, strength=1 / 3)
        queries = ("how much can the crane lift", "are cranes locked at night", "football")
        before = [await agent.omi("memory_recall", query=query) for query in queries]
        (home / ".holdfast" / "index.db").unlink()

        after = before
        with anyio.fail_after(PATIENCE):  # vectors come back from the cache of encodings
            while True:
                after = [await agent.omi("memory_recall", query=query) for query in queries]
                if _same(after, before):
                    break
                await anyio.sleep(0.02)
        assert before[0][0]["memory_id"] == first
        assert (await agent.node(belief))["confidence"] == 0.5 + 0.15 * (1 / 3) * 0.5


def _same(after: list[list[dict[str, Any]]], before: list[list[dict[str, Any]]]) -> bool:
    """Everything but the age, which goes on; relevance within 0.01."""
    return [[_lasting(item) for item in answer] for answer in after] == [
        [_lasting(item) | {"relevance": pytest.approx(item["relevance"], abs=0.01)} for item in answer]
        for answer in before
    ]


def _lasting(item: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key != "final_score"}
