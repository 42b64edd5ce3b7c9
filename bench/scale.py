"""How it holds up as a memory grows: rebuild, scan, start, recall latency and memory at several sizes.

    python bench/scale.py [--sizes 1000,10000,100000] [--clients 1,8,64] [--seed 7] [--index-only]

Notes, queries and vectors are made up from the seed. Queries get a random vector, so both legs run; the time of
encoding is left out, since it does not depend on the size. With --index-only there are no files: the notes go right
into the index, which is how a million of them can be looked at in a quarter of an hour.
"""

from __future__ import annotations

import argparse
import itertools
import random
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import numpy as np

from holdfast.app import build_memory
from holdfast.encode.provider import VectorSet
from holdfast.engine.agent.recall import Recall, recall
from holdfast.engine.ports import Caller
from holdfast.engine.runtime import Memory
from holdfast.index.projection import MadeVectors, NoteRow, Update
from holdfast.index.rows import FileRow
from holdfast.model.note import Note
from holdfast.running import configure_logs
from holdfast.settings import load_settings
from worlds import notes, queries, unit_vector, write_folder

CALLER = Caller("space-1", "bench", "bench")
ASKED = 200
BATCH = 2000
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
    configure_logs("warning")
    memory = build_memory(
        load_settings({"HOLDFAST_HOME": str(home), "HOLDFAST_ENCODER": "none", "HOLDFAST_VAULT_ENABLED": "no"})
    )
    memory.ports = replace(memory.ports, encoder=RandomEncoder(seed))
    return memory


async def give_vectors(memory: Memory, seed: int) -> None:
    """A vector for every note, without the queue."""
    generator = np.random.default_rng(seed)
    key = RandomEncoder.vector_set.key
    while waiting := await memory.ports.index.pending_vectors(key, BATCH):
        values = generator.standard_normal((len(waiting), RandomEncoder.vector_set.dimension), np.float32)
        values /= np.linalg.norm(values, axis=1, keepdims=True)
        made = [
            MadeVectors(item.id, item.encode_hash, key, [vector.tobytes()])
            for item, vector in zip(waiting, values, strict=True)
        ]
        await memory.ports.index.apply(Update(vectors=made))


async def fill_index(memory: Memory, count: int, seed: int) -> None:
    """The notes that `write_folder` would write, as if their files had been read."""
    await memory.ports.index.open()
    for batch in batched(notes(count, seed), BATCH):
        rows = [
            NoteRow(note, note.id, FileRow(f"{note.space}/note.{note.id}.md", "1", 1, 1, note.id)) for note in batch
        ]
        await memory.ports.index.apply(Update(notes=rows))
    await memory.ports.index.mark_built()


def batched(items: Iterator[Note], size: int) -> Iterator[list[Note]]:
    while batch := list(islice(items, size)):
        yield batch


async def ask_all(memory: Memory, texts: list[str], clients: int, *, files: bool = True) -> tuple[list[float], float]:
    """Seconds of each recall, and of all together; without `files` nobody looks for changes of them first."""
    waiting = list(texts)
    seconds: list[float] = []

    async def client() -> None:
        while waiting:
            request = Recall(waiting.pop())
            began = time.perf_counter()
            verb = partial(recall, caller=CALLER, request=request)
            await (memory.attend(verb) if files else verb(memory.ports))
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
        await ask_all(memory, queries(20, seed), 1)
        print(f"{count:>9,} notes  rebuild {rebuilt:7.2f} s ({count / rebuilt:,.0f} files/s)", end="")
        began = time.perf_counter()
        await memory.ports.store.scan()
        print(f"   scan {(time.perf_counter() - began) * 1e3:7.1f} ms   RSS {resident_megabytes():5.0f} MB")
        for number in clients:
            await report(memory, number, seed)
    began = time.perf_counter()
    memory = build(home, seed)
    async with memory.running():
        await memory.attend(lambda ports: recall(ports, CALLER, Recall("first question")))
        print(f"{'':>12} opened again, first answer after {time.perf_counter() - began:.2f} s")


async def measure_index(home: Path, count: int, clients: list[int], seed: int) -> None:
    memory = build(home, seed)
    began = time.perf_counter()
    await fill_index(memory, count, seed)
    filled = time.perf_counter() - began
    await give_vectors(memory, seed)
    await memory.aclose()
    memory = build(home, seed)
    await memory.ports.index.open()
    began = time.perf_counter()
    await ask_all(memory, queries(1, seed), 1, files=False)
    first = time.perf_counter() - began
    await ask_all(memory, queries(20, seed), 1, files=False)
    size = sum(path.stat().st_size for path in (home / ".holdfast").iterdir()) / 1e9
    print(f"{count:>9,} notes  index of {size:.1f} GB filled in {filled:.0f} s   RSS {resident_megabytes():5.0f} MB")
    for number in clients:
        await report(memory, number, seed, files=False)
    print(f"{'':>12} opened again, first answer after {first:.2f} s")
    await memory.aclose()


async def report(memory: Memory, clients: int, seed: int, *, files: bool = True) -> None:
    used = time.process_time()
    seconds, total = await ask_all(memory, queries(ASKED, seed), clients, files=files)
    used = (time.process_time() - used) / len(seconds) * 1e3  # what else the machine does is no part of it
    ranked = sorted(seconds)
    p50, p95 = statistics.median(ranked) * 1e3, ranked[int(len(ranked) * 0.95)] * 1e3
    rate = f"{len(seconds) / total:6.0f} recalls/s"
    print(f"{clients:>12} clients  p50 {p50:7.1f} ms   p95 {p95:7.1f} ms   {rate}   processor {used:6.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--clients", default="1,8,64")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--index-only", action="store_true", help="no files, only their index")
    options = parser.parse_args()
    clients = [int(number) for number in options.clients.split(",")]
    for size in (int(number) for number in options.sizes.split(",")):
        with TemporaryDirectory(dir=Path.cwd(), prefix="bench-") as folder:
            if options.index_only:
                anyio.run(measure_index, Path(folder), size, clients, options.seed)
                continue
            write_folder(Path(folder), size, options.seed)
            anyio.run(measure, Path(folder), size, clients, options.seed)


if __name__ == "__main__":
    main()
