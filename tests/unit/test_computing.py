"""What takes long leaves the event loop alone, and no principal keeps the others from computing."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from holdfast.engine.admin.notes import Edit, update_note
from holdfast.engine.agent.recall import Recall, recall
from holdfast.engine.agent.remember import Remember, remember
from holdfast.engine.omi.now import NowUpdate, append_daily, now_update
from holdfast.engine.ports import Ports
from holdfast.engine.state import SMALL, Computing
from holdfast.model.secrets import Redaction
from worlds import CALLER, living

pytestmark = pytest.mark.anyio

LONG = SMALL + 1
PATIENCE = 30.0


async def test_little_is_done_at_once() -> None:
    assert await Computing().run("a", SMALL, threading.get_ident) == threading.get_ident()
    assert await Computing().run("a", LONG, threading.get_ident) != threading.get_ident()


async def test_what_the_work_raises_is_raised_and_its_place_is_free_again() -> None:
    computing = Computing(threads=1)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            await computing.run("a", LONG, lambda: 1 // 0)
    assert await computing.run("a", LONG, lambda: 1) == 1


async def test_one_principal_never_has_all_threads() -> None:
    computing, gate = Computing(threads=2, share=1), threading.Event()
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(computing.run, "greedy", LONG, lambda: gate.wait(PATIENCE))
            await anyio.wait_all_tasks_blocked()
            assert await computing.run("other", LONG, lambda: "served") == "served"
            gate.set()


async def test_who_waits_is_served_in_turn_by_principal() -> None:
    computing, gate, order = Computing(threads=1), threading.Event(), list[str]()
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(computing.run, "first", LONG, lambda: gate.wait(PATIENCE))
            await anyio.wait_all_tasks_blocked()
            for name in ("greedy 1", "greedy 2", "greedy 3", "other 1"):
                tasks.start_soon(computing.run, name.split()[0], LONG, lambda name=name: order.append(name))
                await anyio.wait_all_tasks_blocked()
            gate.set()
    assert order == ["greedy 1", "other 1", "greedy 2", "greedy 3"]


async def test_who_gives_up_waiting_leaves_no_gap() -> None:
    computing, gate = Computing(threads=1), threading.Event()
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(computing.run, "a", LONG, lambda: gate.wait(PATIENCE))
            await anyio.wait_all_tasks_blocked()
            with anyio.move_on_after(0.01):
                await computing.run("b", LONG, lambda: "never")
            gate.set()
        assert await computing.run("b", LONG, lambda: "served") == "served"
        assert await computing.run("a", LONG, lambda: "served") == "served"


TEXT = "word " * SMALL

CALLS: dict[str, Callable[[Ports, str], Awaitable[Any]]] = {
    "remember": lambda ports, _: remember(ports, CALLER, Remember(TEXT)),
    "recall": lambda ports, _: recall(ports, CALLER, Recall(TEXT)),
    "now_update": lambda ports, _: now_update(ports, CALLER, NowUpdate(current_task=TEXT)),
    "daily_append": lambda ports, _: append_daily(ports, CALLER, TEXT),
    "admin_update_memory": lambda ports, note: update_note(ports, CALLER, Edit(note, content=TEXT)),
}


@pytest.mark.parametrize("tool", CALLS)
async def test_the_loop_goes_on_while_a_long_text_is_looked_at(tool: str, tmp_path: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def door(text: str) -> Redaction:
        begun.set()
        assert go_on.wait(PATIENCE)  # on the loop nobody could say so
        return Redaction(text, ())

    async with living(tmp_path) as memory:
        kept = await memory.attend(lambda ports: remember(ports, CALLER, Remember("a first note")))
        memory.ports = replace(memory.ports, redact=door)

        async def watch() -> None:
            while not begun.is_set():  # noqa: ASYNC110 - it is set in a thread
                await anyio.sleep(0.001)
            go_on.set()

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(watch)
                await memory.attend(lambda ports: CALLS[tool](ports, kept.note.id))
