"""Which modules a verb enters, and how often it comes back to one that it had left: what a reader has to follow.

    python bench/walk.py [-v]

Each verb runs once on a small memory without an encoder, after one run that is not counted (what is made once is made
by then). Calls are told by the interpreter, in every thread, and those alone count that were made for the verb: what
earlier verbs left to be done is none of it.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import anyio

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "support")]

from holdfast.engine.agent.feedback import MarkOutdated, mark_outdated  # noqa: E402
from holdfast.engine.runtime import Memory  # noqa: E402
from holdfast.index.recalls import RecallLog  # noqa: E402
from worlds import CALLER, ask, keep, living, show  # noqa: E402 - the path comes first

PACKAGE = str(ROOT / "server" / "holdfast")
NOTES = 30

# True for a verb and the tasks that it starts, False for those that were there before; unknown to the index's threads.
WALKING: ContextVar[bool | None] = ContextVar("walking", default=None)


@dataclass(slots=True)
class Walk:
    """Modules in the order in which they were entered first; calls; returns to a module that had been left."""

    modules: dict[str, int] = field(default_factory=dict)
    calls: int = 0
    returns: int = 0
    is_counting: bool = False
    _last: str = ""

    def step(self, frame: FrameType, event: str, _argument: Any) -> None:
        name = frame.f_code.co_filename
        if event != "call" or not name.startswith(PACKAGE):
            return
        is_walking = WALKING.get()
        if not (self.is_counting if is_walking is None else is_walking):
            return
        self.calls += 1
        if name != self._last:
            self.returns += name in self.modules
            self._last = name
        self.modules[name] = self.modules.get(name, 0) + 1


async def walked(walk: Walk, memory: Memory, verb: Callable[[], Awaitable[object]]) -> None:
    await verb()
    assert isinstance(memory.ports.recalls, RecallLog)
    await memory.ports.recalls.flush()  # it has a thread of its own, which would do that during the verb
    walk.modules, walk.calls, walk.returns, walk.is_counting = {}, 0, 0, True
    token = WALKING.set(True)
    try:
        await verb()
    finally:
        walk.is_counting = False
        WALKING.reset(token)


async def verbs(memory: Memory) -> dict[str, Callable[[], Awaitable[object]]]:
    ids = [
        (await keep(memory, f"Pump {number} of the north harbour is checked on day {number}.")).note.id
        for number in range(NOTES)
    ]
    numbers = iter(range(NOTES, 2 * NOTES))
    return {
        "remember": lambda: keep(memory, f"Crane {next(numbers)} stands at the east quay since it was painted."),
        "recall": lambda: ask(memory, "which pump is checked on day 7?"),
        "recall_node": lambda: show(memory, ids[3]),
        "mark_outdated": lambda: memory.attend(
            lambda ports: mark_outdated(ports, CALLER, MarkOutdated(ids[next(numbers) - NOTES], "gone"))
        ),
    }


async def main() -> None:
    walk = Walk()
    sys.setprofile(walk.step)
    threading.setprofile(walk.step)  # before any thread of the memory starts
    WALKING.set(False)
    print(f"{'verb':<16}{'modules':>8}{'calls':>8}{'returns':>9}")
    with tempfile.TemporaryDirectory() as home:
        async with living(Path(home)) as memory:
            for name, verb in (await verbs(memory)).items():
                await walked(walk, memory, verb)
                print(f"{name:<16}{len(walk.modules):>8}{walk.calls:>8}{walk.returns:>9}")
                if "-v" in sys.argv:
                    print("    " + "\n    ".join(Path(each).relative_to(PACKAGE).as_posix() for each in walk.modules))


if __name__ == "__main__":
    anyio.run(main)
