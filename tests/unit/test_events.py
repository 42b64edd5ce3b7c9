"""Events and the bus that carries them."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from structlog.testing import capture_logs

from holdfast.engine.state import EventBus, get_event_bus
from holdfast.model.lifecycle import (
    BeliefUpdatedEvent,
    ContradictionDetectedEvent,
    MemoryRecalledEvent,
    MemoryStoredEvent,
)

STORED = MemoryStoredEvent("mem_1", "We ship on Tuesdays.", "decision", 1.0)
UPDATED = BeliefUpdatedEvent("mem_2", 0.5, 0.5675, "mem_1")


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        (
            STORED,
            {
                "event_type": "memory.stored",
                "memory_id": "mem_1",
                "content": "We ship on Tuesdays.",
                "memory_type": "decision",
                "confidence": 1.0,
            },
        ),
        (
            MemoryRecalledEvent("when?", 1, ({"memory_id": "mem_1", "score": 0.9},)),
            {
                "event_type": "memory.recalled",
                "query": "when?",
                "result_count": 1,
                "top_results": [{"memory_id": "mem_1", "score": 0.9}],
            },
        ),
        (
            UPDATED,
            {
                "event_type": "belief.updated",
                "belief_id": "mem_2",
                "old_confidence": 0.5,
                "new_confidence": 0.5675,
                "evidence_id": "mem_1",
            },
        ),
        (
            ContradictionDetectedEvent("mem_1", "mem_2", "always/never"),
            {
                "event_type": "belief.contradiction_detected",
                "memory_id_1": "mem_1",
                "memory_id_2": "mem_2",
                "contradiction_pattern": "always/never",
            },
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_event_is_told_in_the_documents_words(event: Any, payload: dict[str, Any]) -> None:
    assert event.to_dict() == payload | {"timestamp": "", "metadata": {}}
    json.dumps(event.to_dict())


def test_an_event_cannot_be_changed_by_who_hears_of_it() -> None:
    with pytest.raises(AttributeError):
        STORED.memory_id = "mem_9"  # type: ignore[misc]


@pytest.mark.parametrize("what", [MemoryStoredEvent, "memory.stored", "*"])
def test_a_subscriber_hears_of_what_it_asked_for(what: Any) -> None:
    bus, heard = EventBus(), []
    bus.subscribe(what, heard.append)
    bus.publish(STORED)
    bus.publish(UPDATED)
    assert [event.event_type for event in heard] == (
        ["memory.stored", "belief.updated"] if what == "*" else ["memory.stored"]
    )
    assert all(event.timestamp.endswith("Z") for event in heard)


def test_a_subscriber_that_fails_is_logged_and_stops_nobody() -> None:
    bus, heard = EventBus(), []

    def fail(_event: MemoryStoredEvent) -> None:
        raise RuntimeError(STORED.content)

    bus.subscribe("*", fail)
    bus.subscribe("*", heard.append)
    with capture_logs() as logged:
        bus.publish(STORED)
    assert len(heard) == 1
    assert [entry["event"] for entry in logged] == ["event_subscriber_failed"]
    assert STORED.content not in str(logged)


def test_a_subscription_can_be_counted_and_taken_back() -> None:
    bus, heard = EventBus(), []
    bus.subscribe(MemoryStoredEvent, heard.append)
    bus.subscribe("*", heard.append)
    assert (bus.subscriber_count(), bus.subscriber_count("memory.stored"), bus.subscriber_count("belief.updated")) == (
        2,
        1,
        0,
    )
    assert bus.unsubscribe("memory.stored", heard.append)
    assert not bus.unsubscribe("memory.stored", heard.append)
    bus.publish(STORED)
    assert len(heard) == 1
    bus.clear()
    bus.publish(STORED)
    assert (len(heard), bus.subscriber_count()) == (1, 0)


def test_a_callback_may_take_its_own_subscription_back() -> None:
    bus, heard = EventBus(), []

    def once(event: MemoryStoredEvent) -> None:
        heard.append(event)
        bus.unsubscribe("*", once)

    bus.subscribe("*", once)
    bus.publish(STORED)
    bus.publish(STORED)
    assert len(heard) == 1


def test_no_event_is_lost_between_threads() -> None:
    bus, heard = EventBus(), []
    bus.subscribe("*", heard.append)

    def work() -> None:
        for _ in range(200):
            bus.subscribe("memory.stored", [].append)
            bus.publish(STORED)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(heard) == 800
    assert bus.subscriber_count() == 801


def test_there_is_one_bus_for_those_who_hold_no_memory() -> None:
    assert get_event_bus() is get_event_bus()
