"""What presence costs a prompt: the hook's tool in a memory of some size, and the command beside an empty Python.

    python bench/presence_latency.py [--notes 10000] [--asked 200] [--runs 15] [--seed 7]

The tool is called over the protocol, with the built-in encoder at work on every prompt; each prompt is another one. The
notes have made-up vectors, since how they were encoded does not matter here. The command is a process of its own, once
with a server that it asks over the socket, once without.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import anyio
import numpy as np
from fastmcp import Client

from holdfast.app import build_memory, build_server
from holdfast.engine.runtime import Memory
from holdfast.index.projection import MadeVectors, Update
from holdfast.running import configure_logs
from holdfast.settings import Settings, load_settings
from worlds import queries, write_folder

BATCH = 2000
SERVER = Path(__file__).parents[1] / "server"
SPACE = "/srv/space-1"


class Took(NamedTuple):
    """Milliseconds: on the clock, and of the processor, which say more where others work on the same machine."""

    clock: float
    processor: float


async def give_vectors(memory: Memory, seed: int) -> None:
    """A vector for every note in the set of the encoder that is in use, without the queue."""
    encoder = memory.ports.encoder
    assert encoder is not None
    made_with, generator = encoder.vector_set, np.random.default_rng(seed)
    while waiting := await memory.ports.index.pending_vectors(made_with.key, BATCH):
        values = generator.standard_normal((len(waiting), made_with.dimension), np.float32)
        values /= np.linalg.norm(values, axis=1, keepdims=True)
        made = [
            MadeVectors(item.id, item.encode_hash, made_with.key, [vector.tobytes()])
            for item, vector in zip(waiting, values, strict=True)
        ]
        await memory.ports.index.apply(Update(vectors=made))


async def asked(client: Client[Any], prompt: str, session: str) -> Took:
    """What one answer took."""
    begun, spent = time.perf_counter(), time.process_time()
    await client.call_tool_mcp("whisper", {"prompt": prompt, "session_id": session, "cwd": SPACE})
    return Took((time.perf_counter() - begun) * 1000, (time.process_time() - spent) * 1000)


async def measure(settings: Settings, count: int, seed: int) -> dict[str, list[Took]]:
    """Times by what was asked: the very first prompt of the process, first prompts of sessions, later ones."""
    memory = build_memory(settings)
    texts = queries(2 * count + 1, seed)
    async with memory.running(), Client(build_server(settings, memory)) as client:
        await client.call_tool_mcp("recall", {"query": "*", "limit": 1})
        await give_vectors(memory, seed)
        await memory.catch_up()  # what the encoder had begun
        very_first = [await asked(client, texts[0], "warm")]
        assert memory.ports.presence is not None
        assert await memory.ports.presence.warmth.is_ready(60)
        await asked(client, texts[0], "warm-2")
        first = [await asked(client, text, f"s{number}") for number, text in enumerate(texts[1 : count + 1])]
        later = [await asked(client, text, f"s{number}") for number, text in enumerate(texts[count + 1 :])]
        return {"the process's first prompt": very_first, "a session's first prompt": first, "a later prompt": later}


def line(name: str, times: Sequence[Took]) -> str:
    clock, processor = sorted(each.clock for each in times), [each.processor for each in times]
    p95 = clock[min(len(clock) - 1, int(len(clock) * 0.95))]
    figures = (statistics.median(clock), p95, clock[-1], statistics.median(processor))
    return f"{name:28} {len(clock):6,} {' '.join(f'{figure:10.1f}' for figure in figures)}"


def timed(command: Sequence[str], given: str, environment: dict[str, str]) -> Took:
    begun, spent = time.perf_counter(), spent_by_children()
    subprocess.run(command, input=given.encode(), env=environment, capture_output=True, check=True)
    return Took((time.perf_counter() - begun) * 1000, spent_by_children() - spent)


def spent_by_children() -> float:
    """Milliseconds of the processor that ended processes took."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1000


def commands(home: Path, runs: int, seed: int) -> dict[str, list[Took]]:
    """Times of processes by what they are."""
    environment = os.environ | {"HOLDFAST_HOME": str(home), "PYTHONPATH": str(SERVER), "HOLDFAST_ENCODER": "none"}
    texts = iter(queries(4 * runs, seed + 1))
    inject = (sys.executable, "-m", "holdfast", "whisper", "inject", "--seconds", "60")

    def hook() -> str:
        return json.dumps({"prompt": next(texts), "session_id": f"c{time.monotonic_ns()}", "cwd": SPACE})

    def several(command: Sequence[str], given: Callable[[], str]) -> list[Took]:
        timed(command, given(), environment)
        return [timed(command, given(), environment) for _ in range(runs)]

    found = {"python -c pass": several((sys.executable, "-c", "pass"), str)}
    found["inject, no server"] = several(inject, hook)
    server = subprocess.Popen(
        [sys.executable, "-m", "holdfast"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        env=environment | {"HOLDFAST_PRESENCE": "on"},
    )  # fmt: skip
    try:
        sockets = home / ".holdfast" / "sockets"
        deadline = time.monotonic() + 60
        while not list(sockets.glob(f"{server.pid}-*")):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        found["inject, a server runs"] = several(inject, hook)
    finally:
        assert server.stdin is not None
        server.stdin.close()
        server.wait(30)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--asked", type=int, default=200, help="prompts of each kind")
    parser.add_argument("--runs", type=int, default=15, help="runs of each command")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    configure_logs("error")
    with TemporaryDirectory() as folder:
        home = Path(folder) / "memory"
        write_folder(home, options.notes, options.seed)
        settings = load_settings(
            {
                "HOLDFAST_HOME": str(home),
                "HOLDFAST_PRESENCE": "on",
                "HOLDFAST_VAULT_ENABLED": "no",
                "HOLDFAST_JOBS": "no",
            }
        )
        print(f"{options.notes:,} notes, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; milliseconds")
        print(f"{'':28} {'count':>6} {'median':>10} {'p95':>10} {'most':>10} {'processor':>10}")
        for name, times in anyio.run(measure, settings, options.asked, options.seed).items():
            print(line(name, times))
        for name, times in commands(home, options.runs, options.seed).items():
            print(line(name, times))


if __name__ == "__main__":
    main()
