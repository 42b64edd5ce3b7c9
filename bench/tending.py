"""What a first maintenance run over a memory costs, and what share of its conflicts and duplicates it finds.

    python bench/tending.py [--plain] [--without-labels] [--data devmem|bakery|office]

DevMem with 90 labelled notes mixed in (bench/data/tending.json): 30 that conflict with a note of DevMem, 30 that say
the same in other words, 30 about the same things that do neither. One half of them was written before anything was
tuned and not looked at since (`held`), the other was in view (`dev`). Every pair that is offered is judged `none`,
until nothing is offered. A pair is found where it is offered as a conflict or a merge; how often as the right one of
the two is told as well. `--plain` stores the texts alone, as agents mostly do. Printed too: what share of the links
that are offered joins notes of one session of DevMem, by similarity.

`--data bakery` is another set (bench/data/tending_bakery.json): 60 notes of a bakery's daily life, texts alone, with 20
conflicts, 20 duplicates and 20 that are neither. It was written whole before anything was measured on it, and nothing
was chosen by it (`fresh`). `--data office` has 36 pairs of short notes in four languages: values, people and days that
changed, the same in other words, and what only looks alike. Of its `held` ones only counts were looked at.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from datasets import BenchNote, Dataset, read_devmem
from holdfast.app import build_memory
from holdfast.engine.agent.recall import Recall, recall
from holdfast.engine.maintenance.batches import Batch, Verdicts, find_work, judge
from holdfast.engine.maintenance.verdicts import EdgeVerdict
from holdfast.engine.runtime import Memory
from holdfast.model.maintenance import FIRST_TO_LAST, Candidate
from holdfast.running import configure_logs
from holdfast.settings import load_settings
from holdfast.tools.maintenance import batch_text
from maintain import AGENT, store

DATA = Path(__file__).parent / "data"
LABELS = DATA / "tending.json"
SETS = {"bakery": DATA / "tending_bakery.json", "office": DATA / "tending_office.json"}
RIGHT = {"conflict": "conflicts", "duplicate": "merges"}
CHARACTERS_PER_TOKEN = 4
MOST_BATCHES = 100
BINS = (0.6, 0.7, 0.75, 0.8, 0.85, 0.9)


@dataclass(frozen=True, slots=True)
class Label:
    """A note beside another one, and what the two are: conflict, duplicate or lookalike."""

    id: str
    half: str
    label: str
    of: str
    content: str


@dataclass
class Run:
    """What was offered in all batches."""

    names: dict[str, str]  # the data set's ids by the memory's
    tokens: int = 0
    batches: int = 0
    longest: float = 0.0
    by_kind: Counter[str] = field(default_factory=Counter)
    tokens_by_kind: Counter[str] = field(default_factory=Counter)
    offered: dict[frozenset[str], tuple[str, int]] = field(default_factory=dict)  # kind, number of the batch
    links: list[tuple[float, frozenset[str]]] = field(default_factory=list)
    twice: int = 0

    def take(self, batch: Batch) -> None:
        self.batches += 1
        self.tokens += len(batch_text(batch)) // CHARACTERS_PER_TOKEN
        for kind, items in batch.items.items():
            for item in items:
                self._take(kind, item)

    def _take(self, kind: str, item: Candidate) -> None:
        self.by_kind[kind] += 1
        self.tokens_by_kind[kind] += sum(map(len, item.passages)) // CHARACTERS_PER_TOKEN
        pair = frozenset(self.names[note] for note in item.ids)
        if kind != "consolidations":
            self.twice += pair in self.offered
            self.offered[pair] = (kind, self.batches)
        if kind == "links":
            self.links.append((item.similarity, pair))


def read_labels() -> list[Label]:
    return [Label(**entry) for entry in json.loads(LABELS.read_text("utf-8"))]


def mixed(devmem: Dataset, labels: list[Label], *, plain: bool) -> Dataset:
    """The labelled notes behind those of DevMem; of both the texts alone where it is plain."""
    kept = {note.id: note.arguments for note in devmem.notes}
    notes = list(devmem.notes)
    for label in labels:
        like = {name: kept[label.of][name] for name in ("type", "space")}
        notes.append(BenchNote(label.id, {"content": label.content, **like}))
    if plain:
        notes = [BenchNote(note.id, {"content": note.arguments["content"]}, note.supersedes) for note in notes]
    return Dataset("devmem", tuple(notes), ())


def texts_alone(name: str) -> tuple[Dataset, list[Label]]:
    """The notes, the labelled ones behind the others, and the labels."""
    told = json.loads(SETS[name].read_text("utf-8"))
    labels = [Label(**entry) for entry in told["labels"]]
    texts = [(note["id"], note["content"]) for note in told["notes"]]
    texts += [(label.id, label.content) for label in labels]
    return Dataset(name, tuple(BenchNote(end, {"content": text}) for end, text in texts), ()), labels


async def run_all(memory: Memory, names: dict[str, str]) -> Run:
    """Judge batch after batch, all of it `none`."""
    run = Run(names)
    while run.batches < MOST_BATCHES:
        begin = time.perf_counter()
        batch = await memory.attend(lambda ports: find_work(ports, AGENT))
        run.longest = max(run.longest, time.perf_counter() - begin)
        if batch.id is None:
            break
        run.take(batch)
        pairs = [item for kind, items in batch.items.items() if kind != "consolidations" for item in items]
        edges = [EdgeVerdict(*(text.note.id for text in item.texts), "none") for item in pairs]
        await judge(memory, AGENT, Verdicts(edges, [], []), batch.id)
    return run


def tell(run: Run, dataset: Dataset, labels: list[Label]) -> None:
    kinds = ", ".join(f"{run.by_kind[kind]} {kind} ({run.tokens_by_kind[kind]:,})" for kind in FIRST_TO_LAST)
    print(f"{run.batches} batches, {run.tokens:,} tokens; of passages: {kinds}")
    print(f"pairs offered twice: {run.twice}; longest search {run.longest * 1e3:.0f} ms")
    for half in dict.fromkeys(label.half for label in labels):
        for label in ("conflict", "duplicate", "lookalike"):
            of = [item for item in labels if (item.half, item.label) == (half, label)]
            shown = [run.offered[pair] for item in of if (pair := frozenset((item.id, item.of))) in run.offered]
            found = [kind for kind, _ in shown if kind in RIGHT.values()]
            right = f", {found.count(RIGHT[label])} as such" if label in RIGHT else ""
            last = max((number for _, number in shown), default=0)
            if of:
                print(f"  {half:5}{label:10}{len(found)} of {len(of)} found{right}; the last in batch {last}")
    notes = {note.id: note.arguments for note in dataset.notes}
    for low, high in zip(BINS, (*BINS[1:], 1.01), strict=True):
        here = [[notes[name] for name in pair] for likeness, pair in run.links if low <= likeness < high]
        if here:
            near = sum(one.get("session") == other.get("session") is not None for one, other in here)
            print(f"  links of {low:.2f} and more: {len(here)}, of one session {near / len(here):.0%}")


def chosen(options: argparse.Namespace) -> tuple[Dataset, list[Label]]:
    if options.data in SETS:
        return texts_alone(options.data)
    labels = [] if options.without_labels else read_labels()
    return mixed(read_devmem(), labels, plain=options.plain), labels


async def main_on(home: Path, dataset: Dataset, labels: list[Label]) -> None:
    configure_logs("warning")
    memory = build_memory(load_settings({"HOLDFAST_HOME": str(home), "HOLDFAST_VAULT_ENABLED": "no"}))
    async with memory.running():
        ids = await store(memory, dataset)
        await memory.attend(lambda ports: recall(ports, AGENT, Recall("everything is encoded")))
        print(f"{dataset.name}: {len(ids)} notes")
        run = await run_all(memory, {note: name for name, note in ids.items()})
    tell(run, dataset, labels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--plain", action="store_true", help="store the texts alone")
    parser.add_argument("--without-labels", action="store_true", help="DevMem alone")
    parser.add_argument("--data", choices=("devmem", *SETS), default="devmem")
    dataset, labels = chosen(parser.parse_args())
    with TemporaryDirectory(prefix="bench-") as folder:
        anyio.run(main_on, Path(folder), dataset, labels)


if __name__ == "__main__":
    main()
