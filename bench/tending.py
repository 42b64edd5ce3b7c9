"""What a first maintenance run over a memory costs, and what share of its conflicts and duplicates it finds.

    python bench/tending.py [--plain] [--without-labels] [--data devmem|bakery|office|workshop|theatre]
    python bench/tending.py --fit

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
`--data workshop` are 340 short notes of a workshop, a household and a team by somebody who did not know the code, with
25 conflicts, 25 duplicates and 60 that look alike (`dev`); `--data theatre` 240 notes by another one (`fresh`).
`chor`, `ferme` and `taller` are 42, 40 and 40 notes of a choir, a farm and a garage in German, French and Spanish, with
pairs that belong together labelled too (`link`); of the last one only counts were looked at (`fresh`).

`--fit` prints the weights of `holdfast.model.maintenance.TOLD` anew: a multinomial logistic regression (L2 = 3, signs
scaled to a deviation of one) on the pairs of the `dev` halves, those of `workshop` and those that nobody labelled,
which count as two things.
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
import numpy as np
import numpy.typing as npt

from datasets import BenchNote, Dataset, read_devmem
from holdfast.app import build_memory
from holdfast.engine.agent.recall import Recall, recall
from holdfast.engine.maintenance.batches import Batch, Verdicts, find_work, judge
from holdfast.engine.maintenance.verdicts import EdgeVerdict
from holdfast.engine.runtime import Memory
from holdfast.model import maintenance
from holdfast.model.maintenance import FIRST_TO_LAST, TOLD, Candidate, Seen, signs
from holdfast.model.versions import ReadTogether
from holdfast.running import configure_logs
from holdfast.settings import load_settings
from holdfast.tools.maintenance import batch_text
from maintain import AGENT, store

DATA = Path(__file__).parent / "data"
LABELS = DATA / "tending.json"
ELSEWHERE = ("chor", "ferme", "taller")
SETS = {name: DATA / f"tending_{name}.json" for name in ("bakery", "office", "workshop", "theatre", *ELSEWHERE)}
RIGHT = {"conflict": "conflicts", "duplicate": "merges"}
CHARACTERS_PER_TOKEN = 4
MOST_BATCHES = 100
BINS = (0.6, 0.7, 0.75, 0.8, 0.85, 0.9)


@dataclass(frozen=True, slots=True)
class Label:
    """A note beside another one, and what the two are: conflict, duplicate, link or lookalike."""

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
    seen: dict[frozenset[str], Seen] = field(default_factory=dict)  # by the memory's ids
    said: dict[frozenset[str], ReadTogether] = field(default_factory=dict)

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
        if item.seen is not None:
            self.seen[item.ids] = item.seen
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
        ids = [text.note.id for item in pairs for text in item.texts]
        run.said |= await memory.attend(lambda ports, ids=ids: ports.index.read(lambda view: view.said(ids)))  # type: ignore[misc]
        edges = [EdgeVerdict(*(text.note.id for text in item.texts), "none") for item in pairs]
        await judge(memory, AGENT, Verdicts(edges, [], []), batch.id)
    return run


def tell(run: Run, dataset: Dataset, labels: list[Label]) -> None:
    kinds = ", ".join(f"{run.by_kind[kind]} {kind} ({run.tokens_by_kind[kind]:,})" for kind in FIRST_TO_LAST)
    print(f"{run.batches} batches, {run.tokens:,} tokens; of passages: {kinds}")
    print(f"pairs offered twice: {run.twice}; longest search {run.longest * 1e3:.0f} ms")
    useful = {frozenset((label.id, label.of)) for label in labels if label.label != "lookalike"}
    print(f"pairs offered: {len(run.offered)}, of them labelled as useful: {len(useful & run.offered.keys())}")
    for half in dict.fromkeys(label.half for label in labels):
        for label in ("conflict", "duplicate", "link", "lookalike"):
            of = [item for item in labels if (item.half, item.label) == (half, label)]
            shown = [run.offered[pair] for item in of if (pair := frozenset((item.id, item.of))) in run.offered]
            found = [kind for kind, _ in shown if kind in RIGHT.values() or label == "link"]
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
    return chosen_devmem(labelled=not options.without_labels, plain=options.plain)


def chosen_devmem(*, labelled: bool = True, plain: bool = True) -> tuple[Dataset, list[Label]]:
    labels = read_labels() if labelled else []
    return mixed(read_devmem(), labels, plain=plain), labels


Floats = npt.NDArray[np.float64]


def fitted(shown: Floats, sorts: npt.NDArray[np.int64]) -> Floats:
    """Weights of the signs of pairs (a row each) for another value and for the same once more, against two things."""
    mean, deviation = shown.mean(0), shown.std(0)
    mean[0], deviation[0] = 0.0, 1.0
    scaled, wanted = (shown - mean) / deviation, np.eye(3)[sorts]
    weights, step = np.zeros((shown.shape[1], 3)), np.zeros((shown.shape[1], 3))
    held = 3.0 * (np.arange(shown.shape[1]) > 0)[:, None]
    for _ in range(6000):
        odds = scaled @ weights
        likely = np.exp(odds - odds.max(1, keepdims=True))
        likely /= likely.sum(1, keepdims=True)
        step = 0.9 * step - 0.4 / len(shown) * (scaled.T @ (likely - wanted) + held * weights)
        weights += step
    own = weights / deviation[:, None]
    own[0] -= (mean / deviation) @ weights
    told: Floats = own[:, :2] - own[:, 2:]
    return told


async def pairs_of(home: Path, dataset: Dataset, labels: list[Label]) -> list[tuple[list[float], int]]:
    """Signs and sort (0 another value, 1 the same, 2 two things) of each pair that may be learned from."""
    memory = build_memory(load_settings({"HOLDFAST_HOME": str(home), "HOLDFAST_VAULT_ENABLED": "no"}))
    async with memory.running():
        ids = await store(memory, dataset)
        await memory.attend(lambda ports: recall(ports, AGENT, Recall("everything is encoded")))
        run = await run_all(memory, {note: name for name, note in ids.items()})
    of = {frozenset((label.id, label.of)): label for label in labels}
    sorts = {"conflict": 0, "duplicate": 1}
    found = [
        (signs(run.seen[pair], run.said[pair]), of.get(frozenset(run.names[note] for note in pair)))
        for pair in run.seen.keys() & run.said.keys()
    ]
    return [
        (row, sorts.get(label.label, 2) if label else 2) for row, label in found if not label or label.half == "dev"
    ]


async def fit() -> None:
    configure_logs("warning")
    maintenance.LEAST_TOLD = 0.0  # type: ignore[misc] # every pair that is read is offered
    rows: list[tuple[list[float], int]] = []
    for dataset, labels in (texts_alone("workshop"), texts_alone("office"), chosen_devmem()):
        with TemporaryDirectory(prefix="bench-") as folder:
            rows += await pairs_of(Path(folder), dataset, labels)
    weights = fitted(np.array([row for row, _ in rows]), np.array([sort for _, sort in rows]))
    for name, (anew, again) in zip(TOLD, weights, strict=True):
        print(f'    "{name}": ({anew:.2f}, {again:.2f}),')


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
    parser.add_argument("--fit", action="store_true", help="print the weights of pairs that were read")
    options = parser.parse_args()
    if options.fit:
        anyio.run(fit)
        return
    dataset, labels = chosen(options)
    with TemporaryDirectory(prefix="bench-") as folder:
        anyio.run(main_on, Path(folder), dataset, labels)


if __name__ == "__main__":
    main()
