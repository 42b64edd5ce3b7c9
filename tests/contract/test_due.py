"""The word that maintenance is worthwhile: once a day for a folder, not for a few notes, not when it was just done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from unittest.mock import patch

import pytest

import holdfast.engine.state
from holdfast.engine.agent.recall import LEAST, mark_maintained, waiting_notes
from holdfast.engine.runtime import Memory
from holdfast.model.note import moment, note_id
from served import ERAS, Agent, serving
from worlds import CALLER, keep, living, memory_on

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def looking() -> Iterator[None]:
    """A process looks each time, and not every ten minutes."""
    with patch.object(holdfast.engine.state, "LOOK_SECONDS", 0.0):
        yield


async def notices(agent: Agent) -> list[str]:
    return [notice for notice in (await agent.recall("crane"))["notices"] if "run_maintenance" in notice]


async def start(agent: Agent) -> str:
    [message] = (await agent.client.get_prompt("session_start")).messages
    return str(message.content.text)


async def store(agent: Agent, count: int) -> None:
    for _ in range(count):
        agent.write_by_hand(f"harbour/{len(list(agent.files.rglob('*.md')))}.md", "The crane is by the quay.")


async def test_it_is_said_once_a_day_with_how_much_waits(agent: Agent) -> None:
    await store(agent, LEAST - 1)
    assert await notices(agent) == []
    await store(agent, 2)
    [told] = await notices(agent)
    assert f" {LEAST + 1} notes " in told
    assert await notices(agent) == []
    assert "run_maintenance" not in await start(agent)
    agent.clock.forward(days=1)
    assert "run_maintenance" in await start(agent)
    assert await notices(agent) == []


@pytest.mark.parametrize("era", ERAS[:1])
async def test_it_is_not_said_in_each_session_nor_after_maintenance(agent: Agent, era: str) -> None:
    for number in range(LEAST):
        await agent.remember(f"Crane {number} is by the quay.")
    assert len(await notices(agent)) == 1
    async with serving(agent.home, era) as other:
        assert await notices(other) == []
    agent.clock.forward(days=1)
    async with living(agent.home) as memory:
        await memory.attend(lambda ports: mark_maintained(ports, CALLER, "bat_1"))
    assert await notices(agent) == []
    for path in (agent.home / ".holdfast").glob("index.db*"):
        path.unlink()
    agent.clock.forward(days=1)
    assert await notices(agent) == []


async def test_what_was_stored_in_the_second_of_maintenance_does_not_wait(tmp_path: Path) -> None:
    second = moment("2026-11-20T12:00:00Z")
    numbers = count()
    ports = replace(
        memory_on(tmp_path).ports,
        clock=lambda: second,
        new_id=lambda: note_id(round(second.timestamp() * 1000) + 999, next(numbers)),
    )
    memory = Memory(ports)
    async with memory.running():
        for number in range(LEAST):
            await keep(memory, f"Crane {number} is by the quay.")
        assert await ports.index.read(waiting_notes) == LEAST
        await memory.attend(lambda ports: mark_maintained(ports, CALLER, "bat_1"))
        assert await ports.index.read(waiting_notes) == 0
