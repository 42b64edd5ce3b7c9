"""What the verbs tell whoever listens in this process, and what of it can be read later."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.app import build_memory
from holdfast.engine.omi.beliefs import BeliefUpdate, belief_update
from holdfast.engine.omi.memories import MemoryRecall, MemoryStore, memory_recall, memory_store
from holdfast.engine.state import EventBus
from holdfast.model.lifecycle import BeliefUpdatedEvent, Event, MemoryRecalledEvent, MemoryStoredEvent
from holdfast.settings import load_settings
from served import Agent, made_up_secret
from worlds import CALLER, ask, keep, living


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


async def test_storing_is_told_with_the_text_as_it_was_stored(anyio_backend: str, home: Path) -> None:
    secret = made_up_secret()
    async with living(home) as memory:
        heard: list[MemoryStoredEvent] = []
        memory.ports.events.subscribe(MemoryStoredEvent, heard.append)
        stored = await keep(memory, f"The token is {secret}.", type="observation", confidence=0.7)
        (event,) = heard
        assert (event.memory_id, event.memory_type, event.confidence) == (stored.note.id, "experience", 0.7)
        assert event.content == stored.note.content
        assert secret not in event.content


async def test_a_repeated_call_and_a_refused_one_are_not_told(anyio_backend: str, home: Path) -> None:
    async with living(home) as memory:
        heard: list[Event] = []
        memory.ports.events.subscribe("*", heard.append)
        await keep(memory, "The crane is red.")
        await keep(memory, "The crane is red.")
        with pytest.raises(Exception, match="links"):
            await keep(memory, "The buoy is blue.", links=[("mem_01zzzzzzzzzzzzzz", "related_to")])
        assert len(heard) == 1


async def test_recall_is_told_with_ids_and_scores_alone(anyio_backend: str, home: Path) -> None:
    async with living(home) as memory:
        heard: list[MemoryRecalledEvent] = []
        stored = await keep(memory, "The crane is red.")
        memory.ports.events.subscribe(MemoryRecalledEvent, heard.append)
        await ask(memory, "is the crane red?")
        await ask(memory, "who tunes pianos?")
        found, nothing = heard
        assert found.query == "is the crane red?"
        assert [set(item) for item in found.top_results] == [{"memory_id", "score"}]
        assert found.top_results[0]["memory_id"] == stored.note.id
        assert (found.result_count, nothing.result_count, nothing.top_results) == (1, 0, ())


async def test_omis_tools_tell_the_documents_events(anyio_backend: str, home: Path) -> None:
    async with living(home) as memory:
        heard: list[Event] = []
        memory.ports.events.subscribe("*", heard.append)

        async def store(content: str, kind: str, confidence: float | None = None) -> str:
            request = MemoryStore(content, kind, confidence=confidence)
            return (await memory.attend(lambda ports: memory_store(ports, CALLER, request))).note.id

        belief = await store("TypeScript prevents runtime errors", "belief", 0.5)
        evidence = await store("Caught 15 type errors at compile time", "experience")
        request = BeliefUpdate(belief, evidence, supports=True, strength=0.9)
        await memory.attend(lambda ports: belief_update(ports, CALLER, request))
        await memory.attend(
            lambda ports: memory_recall(ports, CALLER, MemoryRecall("TypeScript errors", min_relevance=0))
        )
        kinds = [event.event_type for event in heard]
        assert kinds == ["memory.stored", "memory.stored", "belief.updated", "memory.recalled"]
        updated = heard[2]
        assert isinstance(updated, BeliefUpdatedEvent)
        assert (updated.belief_id, updated.evidence_id, updated.old_confidence) == (belief, evidence, 0.5)
        assert updated.new_confidence == pytest.approx(0.5675)


async def test_a_contradiction_that_is_found_is_told(anyio_backend: str, home: Path) -> None:
    async with living(home) as memory:
        heard: list[Event] = []
        memory.ports.events.subscribe("belief.contradiction_detected", heard.append)
        for content in ("Deploying on Fridays should always be done.", "Deploying on Fridays should never be done."):
            request = MemoryStore(content, "belief")
            await memory.attend(lambda ports, given=request: memory_store(ports, CALLER, given))
        (event,) = heard
        assert set(event.to_dict()) >= {"memory_id_1", "memory_id_2", "contradiction_pattern"}


async def test_the_events_can_be_read_by_the_names_and_payloads_of_the_document(agent: Agent) -> None:
    texts = ("Deploying on Fridays should always be done.", "Deploying on Fridays should never be done.")
    first, second = [
        (await agent.omi("memory_store", content=text, memory_type="belief"))["memory_id"] for text in texts
    ]
    why = (await agent.omi("memory_store", content="Friday went well.", memory_type="experience"))["memory_id"]
    asked = {"belief_id": first, "evidence_memory_id": why, "supports": True, "strength": 0.5}
    await agent.omi("belief_update", **asked)
    await agent.omi("memory_recall", query="deploying on Fridays", min_relevance=0)
    (content,) = await agent.client.read_resource("memory://events")
    told = {event["event"]: event for event in json.loads(content.text) if "event" in event}
    payloads = {
        "MemoryStoredEvent": {"memory_id", "content", "memory_type", "confidence"},
        "MemoryRecalledEvent": {"query", "result_count", "top_results"},
        "BeliefUpdatedEvent": {"belief_id", "old_confidence", "new_confidence", "evidence_id"},
        "ContradictionDetectedEvent": {"memory_id_1", "memory_id_2", "contradiction_pattern"},
    }
    assert told.keys() == payloads.keys()
    assert all(told[name].keys() >= keys for name, keys in payloads.items())
    contradiction = told["ContradictionDetectedEvent"]
    assert {contradiction["memory_id_1"], contradiction["memory_id_2"]} == {first, second}
    assert contradiction["contradiction_pattern"] == "should always vs should never"


async def test_a_listener_that_fails_does_not_fail_the_call(anyio_backend: str, home: Path) -> None:
    def fail(_event: Event) -> None:
        raise RuntimeError

    async with living(home) as memory:
        memory.ports.events.subscribe("*", fail)
        stored = await keep(memory, "The crane is red.")
        assert [hit.note.id for hit in (await ask(memory, "is the crane red?")).hits] == [stored.note.id]


async def test_a_memory_can_be_given_its_bus(anyio_backend: str, home: Path) -> None:
    bus = EventBus()
    settings = load_settings({"HOLDFAST_HOME": str(home), "HOLDFAST_ENCODER": "none"})
    assert build_memory(settings, bus).ports.events is bus
    assert build_memory(settings).ports.events is not bus


async def test_each_update_of_a_belief_can_be_read_as_an_event(agent: Agent) -> None:
    belief = await agent.remember("Fog comes at dawn.", type="belief", confidence=0.5)
    evidence = await agent.remember("Fog at dawn on Monday.", type="experience")
    for supports, strength in ((True, 0.9), (False, 0.6), (True, 0.5)):
        await agent.call(
            "belief_update",
            belief_id=belief["id"],
            evidence_memory_id=evidence["id"],
            supports=supports,
            strength=strength,
        )
    (content,) = await agent.client.read_resource("memory://events")
    updates = [event for event in json.loads(content.text) if event["event_type"] == "belief.updated"]
    (chain,) = await agent.client.read_resource(f"memory://belief/{belief['id']}/evidence")
    entries = json.loads(chain.text)
    assert len(updates) == len(entries) == 3
    for update, entry in zip(updates, entries, strict=True):
        assert (update["belief_id"], update["evidence_id"]) == (belief["id"], evidence["id"])
        assert update["old_confidence"] == entry["old_confidence"]
        assert update["new_confidence"] == entry["new_confidence"]
    assert entries[1]["new_confidence"] == pytest.approx(0.46535)
    stored = {event["memory_id"]: event for event in json.loads(content.text) if event["event_type"] == "memory.stored"}
    assert stored[belief["id"]]["confidence"] == entries[0]["old_confidence"], "what it was when it was stored"
    assert set(entries[0]) == {
        "memory_id",
        "supports",
        "strength",
        "timestamp",
        "old_confidence",
        "new_confidence",
    }


async def test_what_happened_in_another_order_than_it_is_asked_for_is_told_in_its_own(agent: Agent) -> None:
    kept = [await agent.remember(f"Buoy {number}.") for number in range(4)]
    await agent.outdate(kept[1]["id"])
    (content,) = await agent.client.read_resource("memory://events")
    told = [(event["event_type"], event["memory_id"]) for event in json.loads(content.text)]
    assert told == [*(("memory.stored", note["id"]) for note in kept), ("memory.outdated", kept[1]["id"])]
