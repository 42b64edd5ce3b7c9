"""One process that stores, recalls and looks for maintenance at once keeps every vector in memory that it stored."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import anyio
import pytest

from conftest import Effort
from holdfast.engine.maintenance.batches import find_work
from worlds import CALLER, WordBag, ask, keep, living

pytestmark = pytest.mark.anyio

RECALLERS = 3


async def test_stores_beside_three_recallers_and_one_who_looks_for_maintenance_cost_no_search_a_vector(
    tmp_path: Path, effort: Effort, tally: Counter[str]
) -> None:
    count = effort.of(40, 300)
    async with living(tmp_path, encoder=WordBag()) as memory, anyio.create_task_group() as beside:

        async def recalls(number: int) -> None:
            while True:
                await ask(memory, f"the winch of berth {number}")

        async def looks() -> None:
            while True:
                await memory.attend(lambda ports: find_work(ports, CALLER))

        for number in range(RECALLERS):
            beside.start_soon(recalls, number)
        beside.start_soon(looks)
        for number in range(count):
            await keep(memory, f"Berth{number} has the winch with oil of kind{number}.")
        beside.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await ask(memory, "winch")
            in_memory, stored = await memory.ports.index.read(lambda view: view.held()) or (0, -1)
            assert in_memory == stored == count + 1, "with the note about the user"
    tally["stores beside recallers"] += count
