"""How it holds up as a memory grows: rebuild, scan, start, recall latency and memory at several sizes.

    python bench/scale.py [--sizes 1000,10000,100000] [--clients 1,8,64] [--seed 7]

Notes, queries and vectors are made up from the seed. Queries get a random vector, so both legs run; the time of
encoding is left out, since it does not depend on the size.
"""

from __future__ import annotations

import argparse
import itertools
import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from holdfast.app import build_memory
from holdfast.encode.vectorset import VectorSet
from holdfast.engine.memory import Memory
from holdfast.engine.ports import Caller
from holdfast.engine.recall import Recall, recall
from holdfast.index.projection import MadeVectors
from holdfast.index.update import Update
from holdfast.settings import load_settings
from worlds import queries, unit_vector, write_folder

CALLER = Caller("space-1", "bench", "bench")
ASKED = 200
DIRECTIONS = 512


class RandomEncoder:
    """Vectors of random direction, at once: the encoder's time is not what is measured here."""

    vector_set = VectorSet("bench", "random", "0", 384, ("", ""), 0.0, 0.05)
    backlog = 0

    def __init__(self, seed: int) -> None:
        generator = random.Random(seed)  # noqa: S311 - made-up data
        self._vectors = itertools.cycle([unit_vector(generator) for _ in range(DIRECTIONS)])

    async def encode_documents(self, texts: Sequence[str]) -> list[list[bytes]]:
        return [[next(self._vectors)] for _ in texts]

    async def encode_query(self, _text: str) -> bytes:
        return next(self._vectors)

    async def aclose(self) -> None:
        """Nothing to let go of."""


def build(home: Path, seed: int) -> Memory:
    memory = build_memory(
        load_settings({"HOLDFAST_HOME": str(home), "HOLDFAST_ENCODER": "none", "HOLDFAST_VAULT_ENABLED": "no"})
    )
    memory.ports = replace(memory.ports, encoder=RandomEncoder(seed))
    return memory


async def give_vectors(memory: Memory, seed: int) -> None:
    """A vector for every note, without the queue."""
    generator = random.Random(seed)  # noqa: S311 - made-up data
    key = RandomEncoder.vector_set.key
    while waiting := await memory.ports.index.pending_vectors(key, 2000):
        made = [MadeVectors(item.id, item.encode_hash, key, [unit_vector(generator)]) for item in waiting]
        await memory.ports.index.apply(Update(vectors=made))


async def ask_all(memory: Memory, texts: list[str], clients: int) -> tuple[list[float], float]:
    """Seconds of each recall, and of all together."""
    waiting = list(texts)
    seconds: list[float] = []

    async def client() -> None:
        while waiting:
            request = Recall(waiting.pop())
            began = time.perf_counter()
            await memory.attend(partial(recall, caller=CALLER, request=request))
            seconds.append(time.perf_counter() - began)

    began = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for _ in range(clients):
            tasks.start_soon(client)
    return seconds, time.perf_counter() - began


def resident_megabytes() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


async def measure(home: Path, count: int, clients: list[int], seed: int) -> None:
    memory = build(home, seed)
    async with memory.running():
        began = time.perf_counter()
        await memory.attend(lambda ports: recall(ports, CALLER, Recall("first question")))
        rebuilt = time.perf_counter() - began
        await give_vectors(memory, seed)
        texts = queries(ASKED, seed)
        await ask_all(memory, texts[:20], 1)
        print(f"{count:>9,} notes  rebuild {rebuilt:7.2f} s ({count / rebuilt:,.0f} files/s)", end="")
        began = time.perf_counter()
        await memory.ports.store.scan()
        print(f"   scan {(time.perf_counter() - began) * 1e3:7.1f} ms   RSS {resident_megabytes():5.0f} MB")
        for number in clients:
            seconds, total = await ask_all(memory, texts, number)
            ranked = sorted(seconds)
            p50, p95 = statistics.median(ranked) * 1e3, ranked[int(len(ranked) * 0.95)] * 1e3
            rate = len(seconds) / total
            print(f"{number:>12} clients  p50 {p50:7.1f} ms   p95 {p95:7.1f} ms   {rate:6.0f} recalls/s")
    began = time.perf_counter()
    memory = build(home, seed)
    async with memory.running():
        await memory.attend(lambda ports: recall(ports, CALLER, Recall("first question")))
        print(f"{'':>12} opened again, first answer after {time.perf_counter() - began:.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--clients", default="1,8,64")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    clients = [int(number) for number in options.clients.split(",")]
    for size in (int(number) for number in options.sizes.split(",")):
        with TemporaryDirectory(dir=Path.cwd(), prefix="bench-") as folder:
            write_folder(Path(folder), size, options.seed)
            anyio.run(measure, Path(folder), size, clients, options.seed)


if __name__ == "__main__":
    main()
