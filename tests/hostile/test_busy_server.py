"""Twelve tools under 64 clients at once: everybody is answered, and nobody is refused for having waited too long."""

from __future__ import annotations

import random
import statistics
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from conftest import Effort
from crowd import Asked, Ported, RefusedError, Server, cleared

pytestmark = pytest.mark.timeout(300)

CLIENTS = 64
WORDS = ("crane", "quay", "lamp", "rope", "pump", "tide", "buoy", "anchor", "harbour", "signal")


class Shared:
    """What all clients know: notes and beliefs that are there."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.beliefs: list[str] = []
        self.seconds: defaultdict[str, list[float]] = defaultdict(list)
        self.refusals: Counter[str] = Counter()
        self._turn = threading.Lock()

    def told(self, tool: str, answer: dict[str, Any]) -> None:
        with self._turn:
            if tool == "remember":
                (self.beliefs if answer["type"] == "belief" else self.notes).append(answer["id"])

    def took(self, tool: str, seconds: float) -> None:
        with self._turn:
            self.seconds[tool].append(seconds)

    def refused(self, tool: str, said: str) -> None:
        with self._turn:
            self.refusals[f"{tool}: {said[:160]}"] += 1


def calls(shared: Shared, client: int) -> Iterator[Asked]:
    """What one client asks, one after the other, each tool in turn."""
    chance = random.Random(client)  # noqa: S311 - the same again
    for number in range(1_000_000):
        words = " ".join(chance.choices(WORDS, k=6)) + f" c{client}n{number}"
        note = chance.choice(shared.notes)
        once = "belief" if number % 8 == 0 else "fact"
        yield from chance.sample(
            [
                ("remember", {"content": words, "type": once, "session": f"talk {client}"}),
                ("recall", {"query": words}),
                ("recall_node", {"node_id": note}),
                ("mark_outdated", {"node_id": note, "reason": "No longer true."}),
                ("submit_feedback", {"node_id": note, "signal": 1}),
                ("run_maintenance", {"limit": 2}),
                ("memory_recall", {"query": words}),
                ("memory_store", {"content": f"stored {words}"}),
                (
                    "belief_update",
                    {
                        "belief_id": chance.choice(shared.beliefs),
                        "evidence_memory_id": note,
                        "supports": True,
                        "strength": 0.5,
                    },
                ),
                ("now_read", {}),
                ("now_update", {"current_task": words, "recent_completions": [words]}),
                ("integrity_check", {}),
            ],
            12,
        )


def work(server: Server, shared: Shared, client: int, until: float) -> None:
    for tool, arguments in calls(shared, client):
        if time.monotonic() > until:
            return
        began = time.monotonic()
        try:
            shared.told(tool, server.ask(tool, **arguments))
        except RefusedError as error:
            shared.refused(tool, str(error))
        shared.took(tool, time.monotonic() - began)


def p95(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=20)[18] if len(seconds) > 1 else max(seconds)


def report(shared: Shared) -> str:
    """Figures to be read and judged by nobody: how fast a machine is fails no test."""
    told = [
        f"{tool:16} {len(seconds):7,} calls   p50 {statistics.median(seconds) * 1e3:7.0f} ms   "
        f"p95 {p95(seconds) * 1e3:7.0f} ms"
        for tool, seconds in sorted(shared.seconds.items())
    ]
    told.append(f"now_update's p95 is {ratio(shared):.1f} times remember's")
    told += [f"{count:7,} x {said}" for said, count in shared.refusals.most_common(8)]
    return "\n".join(["", *told, ""])


def ratio(shared: Shared) -> float:
    return p95(shared.seconds["now_update"]) / p95(shared.seconds["remember"])


def test_twelve_tools_under_64_clients_refuse_nobody_for_having_waited(
    environment: dict[str, str], effort: Effort, tally: Counter[str]
) -> None:
    shared = Shared()
    more = {"HOLDFAST_RATE_LIMIT": "0"}
    with cleared() as servers, ThreadPoolExecutor(CLIENTS) as pool:
        server = Ported({**environment, **more})
        servers.append(server)
        for number in range(20):
            kind = "belief" if number % 4 == 0 else "fact"
            answer = server.ask("remember", content=f"The {WORDS[number % 10]} has number {number}.", type=kind)
            shared.told("remember", answer)
        until = time.monotonic() + effort.of(8, 600)
        list(pool.map(lambda client: work(server, shared, client, until), range(CLIENTS)))
        server.end()
    sys.stdout.write(report(shared))
    tally["calls by 64 clients at once"] += sum(map(len, shared.seconds.values()))
    tally["percent of remember's p95 that now_update's is, with 64 clients"] = round(100 * ratio(shared))
    impatient = [said for said in shared.refusals if "has been held for" in said or "have been at work on" in said]
    assert impatient == []
    assert len(shared.seconds) == 12
