"""Durable stores a second, with 1 and 50 writers, beside a naive path on the same disk in the same run.

    python bench/writes.py [--stores N] [--flush-ms 0,5,10,20]

Naive is what one would write first: a temporary file, flush, rename, flush the folder, a flushed journal line; one
store after the other. Ours does the same and answers no earlier; it shares flushes among those who wait.

`--flush-ms` makes every flush of both that much longer than it is on this disk: the disks of laptops take 1 to 10 ms,
spinning ones 10 to 30.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import anyio

from holdfast.app import build_memory
from holdfast.engine.agent.remember import Remember, remember
from holdfast.engine.ports import Caller
from holdfast.engine.runtime import Memory
from holdfast.model.note import Note
from holdfast.running import configure_logs
from holdfast.settings import load_settings
from holdfast.store.codec import new_document
from holdfast.store.journal import line_of
from worlds import notes

CALLER = Caller("bench", "bench", "bench")


def naive_store(home: Path, note: Note) -> None:
    data = new_document(note).render()
    target = home / f"{note.id}.md"
    temporary = target.with_suffix(".tmp")
    _flushed(temporary, os.O_CREAT | os.O_EXCL, data)
    temporary.rename(target)
    folder = os.open(home, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
    _flushed(home / "journal.jsonl", os.O_CREAT | os.O_APPEND, line_of({"seq": 1, "note": note.id}))


def _flushed(path: Path, flags: int, data: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | flags, 0o600)
    os.write(handle, data)
    os.fsync(handle)
    os.close(handle)


def naive(home: Path, count: int) -> list[float]:
    seconds = []
    for note in notes(count):
        began = time.perf_counter()
        naive_store(home, note)
        seconds.append(time.perf_counter() - began)
    return seconds


async def ours(home: Path, count: int, writers: int) -> tuple[float, list[float]]:
    """Seconds for all stores, and of each."""
    configure_logs("warning")
    memory = build_memory(
        load_settings({"HOLDFAST_HOME": str(home), "HOLDFAST_ENCODER": "none", "HOLDFAST_VAULT_ENABLED": "no"})
    )
    waiting = [note.content for note in notes(count)]
    seconds: list[float] = []
    async with memory.running():
        await _store(memory, "the first store makes the folder", [])
        began = time.perf_counter()
        async with anyio.create_task_group() as tasks:
            for _ in range(writers):
                tasks.start_soon(_writer, memory, waiting, seconds)
        return time.perf_counter() - began, seconds


async def _writer(memory: Memory, waiting: list[str], seconds: list[float]) -> None:
    while waiting:
        await _store(memory, waiting.pop(), seconds)


async def _store(memory: Memory, content: str, seconds: list[float]) -> None:
    began = time.perf_counter()
    await memory.attend(lambda ports: remember(ports, CALLER, Remember(content)))
    seconds.append(time.perf_counter() - began)


@contextmanager
def longer_flushes(milliseconds: float) -> Iterator[None]:
    """Every `os.fsync` of this process takes this much longer."""
    flush = os.fsync

    def slow(handle: int) -> None:
        time.sleep(milliseconds / 1e3)
        flush(handle)

    with mock.patch("os.fsync", slow if milliseconds else flush):
        yield


def row(name: str, rate: float, against: float, seconds: list[float]) -> str:
    ranked = sorted(seconds)
    median, late = statistics.median(ranked), ranked[int(len(ranked) * 0.95)]
    ratio = f"{rate / against:5.1f} x naive"
    return f"{name:24} {rate:7.0f}/s {ratio}   p50 {median * 1e3:7.2f} ms   p95 {late * 1e3:7.2f} ms"


def measure(home: Path, count: int) -> None:
    (home / "naive").mkdir(parents=True)
    seconds = naive(home / "naive", count)
    against = count / sum(seconds)
    print(row("naive, one by one", against, against, seconds))
    for writers in (1, 50):
        total, seconds = anyio.run(partial(ours, home / f"writers-{writers}", count, writers))
        print(row(f"holdfast, {writers} writer{'s'[: writers > 1]}", count / total, against, seconds), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--stores", type=int, default=400)
    parser.add_argument("--flush-ms", default="0")
    options = parser.parse_args()
    with TemporaryDirectory(dir=Path.cwd(), prefix="bench-") as folder:  # on this disk: /tmp may be memory
        for longer in options.flush_ms.split(","):
            print(f"flushes {float(longer):g} ms longer than this disk's" if float(longer) else "this disk")
            with longer_flushes(float(longer)):
                measure(Path(folder) / longer, options.stores)


if __name__ == "__main__":
    main()
