"""Maintenance by a scripted agent on DevMem, and the first phase on a large memory.

    python bench/maintain.py [--pairs 200] [--sizes 1000,100000] [--seed 7]

The agent judges by a fixed rule: what is nearly the same is merged with both texts, close clusters are consolidated
with all texts, other close pairs are related, the rest is `none`. Printed: what landed, recall@10 before and after,
whether every original's text is still there, and what ten more runs change. The large memory has random vectors, so
that all of a slice is looked at and nothing is found.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from datasets import BenchQuery, Dataset, read_devmem
from holdfast.app import build_memory
from holdfast.engine.agent.browse import recall_node
from holdfast.engine.agent.recall import Recall, recall
from holdfast.engine.agent.remember import Remember, remember
from holdfast.engine.maintenance.batches import Batch, Verdicts, find_work, judge
from holdfast.engine.maintenance.verdicts import ConsolidationVerdict, EdgeVerdict, MergeVerdict
from holdfast.engine.ports import Caller
from holdfast.engine.runtime import Memory
from holdfast.model.maintenance import Candidate
from holdfast.running import configure_logs
from holdfast.settings import load_settings
from scale import build, give_vectors, resident_megabytes
from worlds import write_folder

AGENT = Caller(None, "bench", "bench")
MERGE_AT, CONSOLIDATE_AT, RELATED_AT = 0.62, 0.75, 0.60
REPETITIONS = 10
HITS = 10


@dataclass
class Script:
    """An agent that judges by a fixed rule and remembers how each verdict ended."""

    memory: Memory
    outcomes: Counter[str] = field(default_factory=Counter)
    batches: list[Verdicts] = field(default_factory=list)
    judged: int = 0
    seconds: list[float] = field(default_factory=list)

    async def run(self, pairs: int) -> None:
        """Judge batch after batch until nothing is offered or there were enough pairs."""
        while self.judged < pairs:
            begin = time.perf_counter()
            batch = await self.memory.attend(lambda ports: find_work(ports, AGENT))
            self.seconds.append(time.perf_counter() - begin)
            if batch.id is None:
                if not await self._more():
                    return
                continue
            await self.submit(verdicts_on(batch), batch.id)

    async def _more(self) -> bool:
        """Whether one of the next slices has something: a batch is empty where only its own slice is done."""
        for _ in range(REPETITIONS):
            batch = await self.memory.attend(lambda ports: find_work(ports, AGENT))
            if batch.id is not None:
                await self.submit(verdicts_on(batch), batch.id)
                return True
        return False

    async def submit(self, verdicts: Verdicts, batch_id: str | None) -> None:
        outcomes = (await judge(self.memory, AGENT, verdicts, batch_id)).outcomes
        self.judged += len(verdicts.edges or ()) + len(verdicts.merges or ())
        self.batches.append(verdicts)
        kinds = (f"{item.item.partition('[')[0]} {item.status}" for item in outcomes)
        self.outcomes.update(kinds)


def verdicts_on(batch: Batch) -> Verdicts:
    merges = [_merge(item) for item in batch.items["merges"] if item.similarity >= MERGE_AT]
    gone = {item.discard_id for item in merges}
    clusters = [item for item in batch.items["consolidations"] if item.similarity >= CONSOLIDATE_AT]
    clusters = [item for item in clusters if not item.ids & gone]
    edges = {item.ids: _edge(item) for kind in ("links", "conflicts", "merges") for item in batch.items[kind]}
    return Verdicts(list(edges.values()), merges, [_consolidation(item) for item in clusters])


def _edge(item: Candidate) -> EdgeVerdict:
    one, other = (text.note.id for text in item.texts)
    return EdgeVerdict(one, other, "related_to" if item.similarity >= RELATED_AT else "none", "scripted")


def _merge(item: Candidate) -> MergeVerdict:
    newer, older = (text.note for text in item.texts)
    return MergeVerdict(newer.id, older.id, newer.title, f"{newer.content}\n\n{older.content}")


def _consolidation(item: Candidate) -> ConsolidationVerdict:
    notes = [text.note for text in item.texts]
    content = "\n\n".join(f"{note.title}: {note.content}" for note in notes)
    return ConsolidationVerdict(tuple(note.id for note in notes), f"About {notes[0].title}", content, notes[0].type)


async def store(memory: Memory, dataset: Dataset) -> dict[str, str]:
    """Remember every note in order; the memory's ids by the data set's."""
    ids: dict[str, str] = {}
    for note in dataset.notes:
        older = [ids[old] for old in note.supersedes]
        request = Remember(**note.arguments, supersedes=older)
        outcome = await memory.attend(lambda ports, request=request: remember(ports, AGENT, request))
        ids[note.id] = outcome.note.id
    return ids


async def found_in_ten(memory: Memory, query: BenchQuery, ids: dict[str, str]) -> float:
    """The share of a query's evidence that recall shows; what was merged is found in the note that it became."""
    caller = replace(AGENT, space=query.space)
    asked = datetime.fromisoformat(f"{query.asked_day}T00:00:00+00:00") if query.asked_day else None
    request = Recall(query.text, limit=HITS, **query.arguments)
    answer = await memory.attend(lambda ports: recall(replace(ports, asked_at=asked), caller, request))
    shown = {hit.note.id for hit in answer.hits}
    wanted = {(await memory.attend(lambda ports, at=at: recall_node(ports, ids[at]))).note.id for at in query.evidence}
    return len(shown & wanted) / len(wanted)


async def recall_at_ten(memory: Memory, dataset: Dataset, ids: dict[str, str]) -> float:
    shares = [await found_in_ten(memory, query, ids) for query in dataset.queries if query.evidence]
    return sum(shares) / len(shares)


def lost_texts(home: Path, dataset: Dataset) -> int:
    """How many of the notes' texts are in no file of the memory, its trash or its history."""
    files = [path for folder in ("memories", "trash", "history") for path in (home / folder).rglob("*.md")]
    everything = "\0".join(path.read_text("utf-8") for path in files)
    return sum(note.arguments["content"].strip() not in everything for note in dataset.notes)


def fingerprint(home: Path) -> str:
    """Of every note file: its name and its bytes."""
    files = sorted((home / "memories").rglob("*.md"))
    return hashlib.sha256(b"\0".join(path.name.encode() + path.read_bytes() for path in files)).hexdigest()


async def on_devmem(home: Path, pairs: int) -> None:
    dataset = read_devmem()
    configure_logs("warning")
    memory = build_memory(load_settings({"HOLDFAST_HOME": str(home), "HOLDFAST_VAULT_ENABLED": "no"}))
    async with memory.running():
        ids = await store(memory, dataset)
        print(f"{dataset.name}: {len(ids)} notes, recall@10 before {await recall_at_ten(memory, dataset, ids):.4f}")
        script = Script(memory)
        await script.run(pairs)
        told = ", ".join(f"{count} {name}" for name, count in sorted(script.outcomes.items()))
        print(f"{script.judged} pairs judged in {len(script.batches)} batches: {told}")
        print(
            f"recall@10 after {await recall_at_ten(memory, dataset, ids):.4f}; texts lost: {lost_texts(home, dataset)}"
        )
        print(f"phase 1: longest {max(script.seconds) * 1e3:.0f} ms")
        before, again = fingerprint(home), Script(memory)
        for _ in range(REPETITIONS):
            for verdicts in script.batches:
                await again.submit(verdicts, None)
        told = ", ".join(f"{count} {name}" for name, count in sorted(again.outcomes.items()))
        print(f"{REPETITIONS} times the same verdicts: {told}; notes changed: {fingerprint(home) != before}")


async def at_size(home: Path, count: int, seed: int) -> None:
    memory = build(home, seed)
    async with memory.running():
        await memory.attend(lambda ports: recall(ports, AGENT, Recall("first question")))
        await give_vectors(memory, seed)
        await memory.attend(lambda ports: recall(ports, AGENT, Recall("second question")))
        before, seconds, busy = resident_megabytes(), [], []
        for _ in range(5):
            begin, worked = time.perf_counter(), time.process_time()
            await memory.attend(lambda ports: find_work(ports, AGENT))
            seconds.append(time.perf_counter() - begin)
            busy.append(time.process_time() - worked)
        grown = resident_megabytes() - before
        times = ", ".join(f"{second:.2f}" for second in seconds)
        print(f"{count:,} notes: phase 1 in {times} s (processor {max(busy):.2f} s), {grown:.0f} MB more memory")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--sizes", default="1000,100000")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    random.seed(options.seed)
    if options.pairs:
        with TemporaryDirectory(prefix="bench-") as folder:
            anyio.run(on_devmem, Path(folder), options.pairs)
    for size in (int(number) for number in options.sizes.split(",") if number):
        with TemporaryDirectory(prefix="bench-") as folder:
            write_folder(Path(folder), size, options.seed)
            anyio.run(at_size, Path(folder), size, options.seed)


if __name__ == "__main__":
    main()
