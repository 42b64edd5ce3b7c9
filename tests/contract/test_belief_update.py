"""belief_update: evidence moves a belief's confidence, and both notes say so afterwards."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import anyio
import pytest

from holdfast.engine.omi.beliefs import OPPOSITE_EVIDENCE, EvidenceChain, check_contradiction, evidence_chain
from holdfast.errors import InvalidArgumentError, MemoryNotFoundError
from holdfast.store.codec import Surroundings, note_of, parse
from served import ERAS, Agent, serving
from worlds import WordBag, living

pytestmark = pytest.mark.anyio

NOBODY = "mem_0000000000zzzzzz"
ENTRY = ["memory_id", "supports", "strength", "timestamp", "old_confidence", "new_confidence"]


async def believe(agent: Agent, belief: str, evidence: str, strength: float, *, supports: bool = True) -> float:
    arguments = {"belief_id": belief, "evidence_memory_id": evidence, "supports": supports, "strength": strength}
    value = await agent.omi("belief_update", **arguments)
    assert list(value) == ["new_confidence"]
    return float(value["new_confidence"])


async def store(agent: Agent, content: str, **given: Any) -> str:
    return str((await agent.omi("memory_store", content=content, **given))["memory_id"])


async def belief(agent: Agent, content: str = "TypeScript prevents runtime errors", confidence: float = 0.5) -> str:
    return await store(agent, content, memory_type="belief", confidence=confidence)


def on_disk(agent: Agent, note_id: str) -> Any:
    return note_of(parse(agent.file_of(note_id).read_bytes()), Surroundings())


async def test_the_reference_example_comes_out(agent: Agent) -> None:
    belief_id = await belief(agent)
    caught = await store(agent, "Caught 15 type errors at compile time that would have been runtime bugs")
    counter = await store(agent, "Still got a runtime type error from JSON parsing")
    assert await believe(agent, belief_id, caught, 0.9) == pytest.approx(0.5675, abs=1e-12)
    assert await believe(agent, belief_id, counter, 0.6, supports=False) == pytest.approx(0.46535, abs=1e-12)
    assert (await agent.node(belief_id))["confidence"] == pytest.approx(0.46535, abs=1e-12)


async def test_the_reference_series_comes_out(agent: Agent) -> None:
    belief_id = await belief(agent, "GraphQL is better than REST for our use case")
    told = []
    for content, supports, strength in (
        ("Reduced API calls by 60% using GraphQL batching", True, 0.8),
        ("Hit N+1 query problem, had to add DataLoader", False, 0.6),
        ("Client teams love the flexibility of query selection", True, 0.7),
        ("Struggling with caching compared to REST", False, 0.5),
    ):
        evidence = await store(agent, content, memory_type="experience")
        told.append(await believe(agent, belief_id, evidence, strength, supports=supports))
    assert [round(value, 5) for value in told] == [0.56, 0.4592, 0.51598, 0.43859]


async def test_a_reader_gets_a_confidence_to_four_places_and_a_program_the_sum_itself(tmp_path: Path) -> None:
    async with serving(tmp_path, ERAS[0], view="always") as agent:
        belief_id = await belief(agent, "The crane is safe.")
        seen = await store(agent, "A test of the hook went well.")
        await believe(agent, belief_id, seen, 0.8)
        told = await believe(agent, belief_id, seen, 0.8, supports=False)
        assert told == (await agent.node(belief_id))["confidence"] == on_disk(agent, belief_id).confidence
        assert len(str(told)) > len("0.4256"), "the sum is not a short one"
        [hit] = [hit for hit in (await agent.recall("crane safe", explain=True))["results"] if hit["id"] == belief_id]
        assert str(hit["confidence"]) == "0.4256"
        cards = [note for change in (await agent.call("view_recent"))["changes"] for note in change["notes"]]
        assert {str(card["confidence"]) for card in cards if card["id"] == belief_id} == {"0.4256"}
        assert "confidence 0.4256\n" in (await agent.call("recall_node", node_id=belief_id)).text


async def test_a_model_that_reads_text_alone_is_told_four_places(tmp_path: Path, era: str) -> None:
    async with serving(tmp_path, era, answers="text") as agent:
        told = [
            (await agent.client.call_tool_mcp("memory_store", {"content": text, "memory_type": kind})).content[0].text
            for text, kind in (("The crane is safe.", "belief"), ("The hook holds.", "fact"))
        ]
        ids = [json.loads(text.splitlines()[0])["memory_id"] for text in told]
        given = {"belief_id": ids[0], "evidence_memory_id": ids[1], "strength": 0.8}
        for supports, line in ((True, '{"new_confidence": 0.56}'), (False, '{"new_confidence": 0.4256}')):
            answer = await agent.client.call_tool_mcp("belief_update", given | {"supports": supports})
            first, *more = answer.content[0].text.splitlines()
            assert first == line
            assert any("undo" in each for each in more)


async def test_the_list_of_evidence_grows_by_one_entry_a_call(agent: Agent) -> None:
    belief_id, evidence = await belief(agent), await store(agent, "A build went well.")
    first = await believe(agent, belief_id, evidence, 0.9)
    again = await believe(agent, belief_id, evidence, 0.9)
    entries = on_disk(agent, belief_id).evidence
    assert [list(entry) for entry in entries] == [ENTRY, ENTRY]
    assert [(entry["old_confidence"], entry["new_confidence"]) for entry in entries] == [(0.5, first), (first, again)]
    assert {(entry["memory_id"], entry["supports"], entry["strength"]) for entry in entries} == {(evidence, True, 0.9)}
    assert again > first  # every call counts


async def test_of_each_polarity_one_edge_leads_from_the_evidence_to_the_belief(agent: Agent) -> None:
    belief_id = await belief(agent)
    evidence = await store(agent, "A build went well.", related_to=[belief_id])
    for strength, supports in ((0.9, True), (0.2, False), (0.4, True)):
        await believe(agent, belief_id, evidence, strength, supports=supports)
    edges = [(edge.to, edge.type, edge.weight) for edge in on_disk(agent, evidence).connections]
    assert edges == [(belief_id, "related_to", 0.5), (belief_id, "supports", 0.4), (belief_id, "contradicts", 0.2)]
    assert [edge for edge in on_disk(agent, belief_id).connections if edge.to == evidence] == []


async def test_nothing_else_of_either_note_changes_but_when_it_was_updated(agent: Agent) -> None:
    belief_id, evidence = await belief(agent), await store(agent, "A build went well.")
    before = [on_disk(agent, note_id) for note_id in (belief_id, evidence)]
    agent.clock.forward(minutes=5)
    await believe(agent, belief_id, evidence, 0.9)
    for old, note_id in zip(before, (belief_id, evidence), strict=True):
        new = on_disk(agent, note_id)
        changed = {name for name in type(old).__slots__ if getattr(old, name) != getattr(new, name)}
        assert changed == (
            {"confidence", "evidence", "updated"} if note_id == belief_id else {"connections", "updated"}
        )
        assert new.updated > old.updated


async def test_both_notes_change_in_one_step(agent: Agent) -> None:
    belief_id, evidence = await belief(agent), await store(agent, "A build went well.")
    await believe(agent, belief_id, evidence, 0.9)
    lines = [
        json.loads(line) for path in (agent.files / "journal").iterdir() for line in path.read_bytes().splitlines()
    ]
    (change,) = [line for line in lines if line.get("op") == "belief_update"]
    assert {item["note"] for item in change["files"]} == {belief_id, evidence}


async def test_evidence_without_strength_is_kept_and_moves_nothing(agent: Agent) -> None:
    belief_id, evidence = await belief(agent, confidence=1 / 3), await store(agent, "A build went well.")
    assert await believe(agent, belief_id, evidence, 0.0, supports=False) == 1 / 3
    assert len(on_disk(agent, belief_id).evidence) == 1
    edges = [link["type"] for link in (await agent.node(evidence))["connections"] if link["id"] == belief_id]
    assert "contradicts" not in edges, "what has no strength speaks neither for it nor against it"
    await believe(agent, belief_id, evidence, 0.5, supports=False)
    await believe(agent, belief_id, evidence, 0.0, supports=False)
    [weight] = [link["weight"] for link in (await agent.node(evidence))["connections"] if link["type"] == "contradicts"]
    assert weight == 0.5


async def test_a_confidence_near_nothing_survives_its_file_to_the_last_bit(agent: Agent) -> None:
    belief_id, evidence = await belief(agent, confidence=1e-7), await store(agent, "A build went well.")
    for _ in range(3):
        told = await believe(agent, belief_id, evidence, 0.7, supports=False)
    assert on_disk(agent, belief_id).confidence == told < 1e-7
    text = agent.file_of(belief_id).read_text("utf-8")
    agent.file_of(belief_id).write_text(
        text.replace('tier: "working"', "tier: working"), "utf-8"
    )  # block YAML from now on
    assert on_disk(agent, belief_id).confidence == told
    assert await believe(agent, belief_id, evidence, 0.0) == told


async def test_the_next_update_starts_from_what_a_person_wrote(agent: Agent) -> None:
    belief_id, evidence = await belief(agent), await store(agent, "A build went well.")
    await believe(agent, belief_id, evidence, 0.9)
    path = agent.file_of(belief_id)
    path.write_text(path.read_text("utf-8").replace("confidence: 0.5675", "confidence: 0.9", 1), "utf-8")
    assert await believe(agent, belief_id, evidence, 1.0, supports=False) == pytest.approx(0.63, abs=1e-12)
    old = [entry["old_confidence"] for entry in on_disk(agent, belief_id).evidence]
    assert old == [0.5, 0.9]


@pytest.mark.parametrize("wrong", ["NaN", "Infinity", "-Infinity", math.nan, math.inf, 1.01, -0.01, "strong", None])
async def test_what_is_no_strength_is_told_that_a_number_from_0_to_1_is_wanted(agent: Agent, wrong: object) -> None:
    belief_id, evidence = await belief(agent), await store(agent, "A build went well.")
    given = {"belief_id": belief_id, "evidence_memory_id": evidence, "supports": True, "strength": wrong}
    told = await agent.refused("belief_update", **given)
    assert told == "InvalidArgumentError: strength: input should be a number from 0 to 1. Nothing was done."
    assert on_disk(agent, belief_id).confidence == 0.5


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"belief_id": NOBODY}, ["MemoryNotFoundError", "belief_id"]),
        ({"evidence_memory_id": NOBODY}, ["MemoryNotFoundError", "evidence_memory_id"]),
        ({"belief_id": "nonsense!"}, ["MemoryNotFoundError", "belief_id"]),
        ({"strength": 1.01}, ["InvalidArgumentError", "strength"]),
        ({"strength": -0.01}, ["InvalidArgumentError", "strength"]),
        ({"strength": "strong"}, ["InvalidArgumentError", "strength"]),
        ({"supports": "perhaps"}, ["InvalidArgumentError", "supports"]),
    ],
)
async def test_what_cannot_be_applied_is_refused_and_nothing_is_written(
    agent: Agent, wrong: dict[str, Any], words: list[str]
) -> None:
    belief_id, evidence = await belief(agent), await store(agent, "A build went well.")
    before = agent.notes_on_disk()
    right = {"belief_id": belief_id, "evidence_memory_id": evidence, "supports": True, "strength": 0.5}
    told = await agent.refused("belief_update", **(right | wrong))
    assert all(word in told for word in words)
    assert agent.notes_on_disk() == before


async def test_only_a_belief_has_evidence_and_not_itself(agent: Agent) -> None:
    belief_id, evidence = await belief(agent), await store(agent, "A build went well.")
    before = agent.notes_on_disk()
    for first, second, word in ((evidence, belief_id, "not a belief"), (belief_id, belief_id, "the belief itself")):
        told = await agent.refused(
            "belief_update", belief_id=first, evidence_memory_id=second, supports=True, strength=0.5
        )
        assert told.startswith("InvalidArgumentError")
        assert word in told
    assert agent.notes_on_disk() == before


async def test_a_full_file_takes_no_more_evidence_and_stays_readable(agent: Agent) -> None:
    belief_id = await store(agent, "A long belief. " + "x" * 250_000, memory_type="belief")
    evidence = await store(agent, "A build went well.")
    path = agent.file_of(belief_id)
    path.write_text(
        path.read_text("utf-8").replace("\nconfidence", f'\nnotes: "{"y" * 141_000}"\nconfidence', 1), "utf-8"
    )
    told = ""
    for _ in range(20):
        result = await agent.client.call_tool_mcp(
            "belief_update", {"belief_id": belief_id, "evidence_memory_id": evidence, "supports": True, "strength": 0.1}
        )
        if result.is_error:
            told = result.content[0].text
            break
    assert told.startswith("LimitExceededError")
    kept = on_disk(agent, belief_id)
    assert kept.confidence == kept.evidence[-1]["new_confidence"] == (await agent.node(belief_id))["confidence"]


async def test_what_is_outdated_is_counted_and_said_to_be_so(agent: Agent) -> None:
    belief_id, evidence = await belief(agent), await store(agent, "A build went well.")
    await agent.outdate(evidence)
    _, notices = await agent.omi_told(
        "belief_update", belief_id=belief_id, evidence_memory_id=evidence, supports=True, strength=0.5
    )
    assert any("evidence is outdated" in notice for notice in notices)


# --- contradictions -------------------------------------------------------------------------------


async def test_a_note_that_speaks_for_one_belief_and_against_another_is_told(agent: Agent) -> None:
    fast, slow = await belief(agent, "The new index is fast"), await belief(agent, "Postgres is the bottleneck")
    evidence = await store(agent, "A query took two milliseconds.")
    await believe(agent, fast, evidence, 0.8)
    _, notices = await agent.omi_told(
        "belief_update", belief_id=slow, evidence_memory_id=evidence, supports=False, strength=0.8
    )
    (notice,) = notices
    assert all(word in notice for word in (fast, slow, OPPOSITE_EVIDENCE))
    assert [edge["type"] for edge in (await agent.node(fast))["connections"] if edge["id"] == slow] == ["preceded_by"]


async def test_a_note_nearby_that_says_the_opposite_is_told_and_left_as_it_is(agent: Agent) -> None:
    belief_id = await belief(agent)
    opposite = await store(agent, "TypeScript causes runtime errors", memory_type="fact")
    evidence = await store(agent, "A build went well.")
    before = agent.file_of(opposite).read_bytes()
    _, notices = await agent.omi_told(
        "belief_update", belief_id=belief_id, evidence_memory_id=evidence, supports=True, strength=0.5
    )
    assert any(opposite in notice and "causes vs prevents" in notice for notice in notices)
    assert agent.file_of(opposite).read_bytes() == before


async def test_evidence_against_a_belief_is_no_news_when_it_says_the_opposite(agent: Agent) -> None:
    belief_id = await belief(agent)
    opposite = await store(agent, "TypeScript causes runtime errors", memory_type="experience")
    arguments = {"belief_id": belief_id, "evidence_memory_id": opposite, "strength": 0.5}
    assert (await agent.omi_told("belief_update", supports=False, **arguments))[1] == []
    assert (await agent.omi_told("belief_update", supports=True, **arguments))[1] != []


# --- from inside ----------------------------------------------------------------------------------


async def test_the_evidence_chain_is_read_from_the_file_in_the_order_of_time(agent: Agent, tmp_path: Path) -> None:
    belief_id = await belief(agent)
    sources = [await store(agent, f"Build {number} went well.") for number in range(3)]
    for place, source in enumerate(sources):
        agent.clock.forward(minutes=-10 if place == 1 else 5)  # the clock goes back once
        await believe(agent, belief_id, source, 0.5, supports=place != 1)
    (agent.home / ".holdfast" / "index.db").unlink()
    async with living(agent.home) as memory:
        chain: EvidenceChain = await memory.attend(lambda ports: evidence_chain(ports, belief_id[:-1]))
        with pytest.raises(InvalidArgumentError):
            await memory.attend(lambda ports: evidence_chain(ports, sources[0]))
        with pytest.raises(MemoryNotFoundError):
            await memory.attend(lambda ports: evidence_chain(ports, NOBODY))
    assert [entry.as_entry() for entry in chain.evidence] == list(on_disk(agent, belief_id).evidence)
    assert [entry.memory_id for entry in chain.evidence] == sources
    assert [entry.supports for entry in chain.evidence] == [True, False, True]
    assert sorted(entry.timestamp for entry in chain.evidence) == [entry.timestamp for entry in chain.evidence]
    assert chain.unread == 0


async def test_an_entry_that_is_no_evidence_is_counted_and_outlives_the_next_update(agent: Agent) -> None:
    belief_id, evidence = await belief(agent), await store(agent, "A build went well.")
    await believe(agent, belief_id, evidence, 0.5)
    path = agent.file_of(belief_id)
    path.write_text(path.read_text("utf-8").replace("evidence: [", 'evidence: [{"said": "my aunt"}, ', 1), "utf-8")
    await believe(agent, belief_id, evidence, 0.5)
    async with living(agent.home) as memory:
        chain = await memory.attend(lambda ports: evidence_chain(ports, belief_id))
    assert (len(chain.evidence), chain.unread) == (2, 1)


@pytest.mark.parametrize("encoder", [None, WordBag()])
async def test_two_notes_are_compared_by_their_words_and_by_their_evidence(
    anyio_backend: str, agent: Agent, encoder: WordBag | None
) -> None:
    one, other = await belief(agent), await belief(agent, "TypeScript causes runtime errors")
    fast = await belief(agent, "The new index is fast")
    evidence = await store(agent, "A query took two milliseconds.")
    await believe(agent, one, evidence, 0.8)
    await believe(agent, fast, evidence, 0.8, supports=False)
    async with living(agent.home, encoder=encoder) as memory:

        async def check(first: str, second: str) -> str | None:
            told = await memory.attend(lambda ports: check_contradiction(ports, first, second))
            assert told.contradiction is (told.pattern is not None)
            return told.pattern

        with anyio.fail_after(60):
            assert await check(one, other) == await check(other, one) == "causes vs prevents"
            assert await check(one, fast) == await check(fast, one) == OPPOSITE_EVIDENCE
            assert await check(other, fast) is None
            assert await check(one, one) is None
        with pytest.raises(MemoryNotFoundError, match="memory2_id"):
            await check(one, NOBODY)
