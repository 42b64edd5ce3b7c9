"""An index that a server keeps in step with a database, change by change, is the one that a new server fills."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

import postgres
from conftest import Effort
from holdfast.engine import runtime
from holdfast.engine.agent.feedback import Feedback, MarkOutdated, mark_outdated, submit_feedback
from holdfast.engine.ports import Ports
from holdfast.engine.runtime import Memory
from holdfast.engine.sync import follow as following
from holdfast.engine.sync.replay import follow
from holdfast.errors import HoldfastError
from indexes import contents
from tables import server
from worlds import CALLER, ask, found, keep

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not postgres.is_there(), reason=postgres.MISSING)]

WORDS = ("anchor", "buoy", "crane", "dock", "écluse", "Fähre", "ferry 1e5", "港口", "กุ้ง")
SESSIONS = ("talk", "talk", "trip", None)


async def to_the_end_of_the_journal(ports: Ports) -> None:
    """A line that no answer needs is read later: have the index know every one."""
    await follow(ports)


async def anything(memory: Memory, known: list[str], choose: random.Random) -> None:
    """One call of some tool; it may be refused."""
    some = [choose.choice(known)] if known else []
    text = " ".join(choose.choices(WORDS, k=choose.randint(1, 6))) + f" {choose.randint(0, 60)}"
    match choose.randint(0, 9):
        case 0 if some:
            await memory.attend(lambda ports: mark_outdated(ports, CALLER, MarkOutdated(some[0], "no more")))
        case 1 if some:
            await ask(memory, text)
            await memory.attend(lambda ports: submit_feedback(ports, CALLER, Feedback(some[0], choose.choice([1, -1]))))
        case _:
            given: dict[str, Any] = {"session": choose.choice(SESSIONS), "space": choose.choice(["work", "sea"])}
            given |= {"tags": (choose.choice(WORDS),), "confidence": choose.choice([0.1, 0.3, 1.0])}
            given |= {"title": choose.choice([None, text[:7], "Another name"])}
            if choose.random() < 0.3:
                given["supersedes"] = some
            elif some:
                given["links"] = [(some[0], "supports")]
            known.append((await keep(memory, text, **given)).note.id)


async def index_of(home: Path, memory: Memory) -> dict[str, list[Any]]:
    await memory.attend(to_the_end_of_the_journal)
    return index_in(home)


def index_in(home: Path) -> dict[str, list[Any]]:
    [path] = home.rglob("index*.db")
    return contents(path)


def differing(one: dict[str, list[Any]], other: dict[str, list[Any]]) -> dict[str, Sequence[Any]]:
    return {name: (rows, other[name]) for name, rows in one.items() if rows != other[name]}


@pytest.mark.timeout(300)
async def test_an_index_that_was_filled_at_once_is_the_one_that_was_kept_in_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, effort: Effort
) -> None:
    monkeypatch.setattr(runtime, "START_SECONDS", 1e9)  # nothing happens in the background: the order is the test's
    monkeypatch.setattr(following, "_BATCH", 7)  # so that it is filled in several pieces
    monkeypatch.setattr(following, "SLICE", 16)
    url, tenant = postgres.shared().url, str(tmp_path)
    for seed in range(effort.of(1, 40)):
        choose, known = random.Random(seed), list[str]()  # noqa: S311 - the same in every run
        home = tmp_path / str(seed)
        async with AsyncExitStack() as stack:
            kept_up = [
                await stack.enter_async_context(server(home / str(number), url, f"{tenant}-{seed}"))
                for number in range(2)
            ]
            for _ in range(60):
                with suppress(HoldfastError):
                    await anything(choose.choice(kept_up), known, choose)
            filled = await stack.enter_async_context(server(home / "new", url, f"{tenant}-{seed}"))
            for query in WORDS:
                answers = [found(await ask(memory, query)) for memory in (*kept_up, filled)]
                assert answers == [answers[0]] * 3, query
            anew = await index_of(home / "new", filled)
            assert len(anew["notes"]) > 30
            for number, memory in enumerate(kept_up):
                assert differing(await index_of(home / str(number), memory), anew) == {}, seed
