"""Questions in one language about notes in another: how many are found, with and without the second encoder.

    python bench/languages.py [--with off|e5|ollama|ollama:MODEL ...] [--keep DIR] [--fit OUT]

In one process, without a server: the 56 notes of `data/languages.json` in eight languages are stored beside DevMem's,
content alone, and asked for by its 40 questions (32 in another language than their note), by DevMem's own (10 in
another language), and by questions about nothing stored: 24 in the eight languages, 140 in English. Lines are by kind
and by half of a hash of the text (what was chosen, was chosen on half A): recall@5, recall@10, MRR and the share with
a strong hit, which is an error where nothing is stored. Below: the median of a recall with its first and third
quartile, and how much memory the process holds more than before its first note. With --keep the memories are made in
that folder and stay: a run that was broken off goes on where it was, since what is stored and encoded is not again.

With --fit it writes the directions in which languages differ, from the parallel sentences of `data/parallel.json`, as
`holdfast.encode.computed.read_languages` reads them.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import numpy as np

from ablation import build, store
from datasets import APART, BenchNote, BenchQuery, Dataset, read_devmem
from doubt import DAY, unstored
from holdfast.encode.builtin import packaged
from holdfast.encode.computed import E5
from holdfast.engine.agent.recall import Recall, recall
from holdfast.engine.encoding import drain
from holdfast.engine.ports import Caller
from holdfast.engine.runtime import Memory
from scale import resident_megabytes
from scoring import HALVES, half, mean

DATA = Path(__file__).parent / "data"
HITS, DIRECTIONS = 10, 12
OTHERS = ("another language", "DevMem in another language")


@dataclass(frozen=True, slots=True)
class Asked:
    """One question: its kind, how its answer stands, and how long it took."""

    kind: str
    half: str
    recall5: float
    recall10: float
    first: float
    strong: bool
    seconds: float


def data() -> tuple[Dataset, dict[str, str]]:
    """All notes with all questions, and the kind of each question by its id."""
    raw = json.loads((DATA / "languages.json").read_text("utf-8"))
    devmem = read_devmem()
    notes = [BenchNote(note["id"], {"content": note["content"], "space": "global"}) for note in raw["notes"]]
    kinds = {query.id: _kind_of(query) for query in devmem.queries if query.kind not in APART}
    queries = [query for query in devmem.queries if query.id in kinds]
    for number, asked in enumerate(raw["questions"]):
        is_same = asked["evidence"].startswith(asked["language"])
        kinds[f"l{number}"] = "its own language" if is_same else OTHERS[0]
        queries.append(BenchQuery(f"l{number}", "", asked["query"], (asked["evidence"],)))
    for number, asked in enumerate(raw["unstored"]):
        kinds[f"u{number}"] = "nothing stored, eight languages"
        queries.append(BenchQuery(f"u{number}", "", asked["query"], ()))
    for query in unstored(["global"], confined=False):
        kinds[query.id] = "nothing stored, English"
        queries.append(query)
    return Dataset("languages", (*devmem.notes, *notes), tuple(queries)), kinds


def _kind_of(query: BenchQuery) -> str:
    if not query.evidence:
        return "nothing stored, DevMem's own"
    return OTHERS[1] if query.kind == "multilingual" else "DevMem in its own language"


async def ask(memory: Memory, query: BenchQuery, kind: str, evidence: frozenset[str]) -> Asked:
    day = datetime.fromisoformat(query.asked_day) if query.asked_day else DAY
    request = Recall(query.text, HITS, **query.arguments)
    began = time.perf_counter()
    found = await memory.attend(
        lambda ports: recall(replace(ports, asked_at=day), Caller(query.space, "bench", "bench"), request)
    )
    seconds = time.perf_counter() - began
    ids = [hit.note.id for hit in found.hits]
    place = next((place for place, note in enumerate(ids, 1) if note in evidence), 0)
    of = max(1, len(evidence))
    strong = any(not hit.ranked.weak for hit in found.hits)
    found5, found10 = (len(evidence.intersection(ids[:most])) / of for most in (5, HITS))
    return Asked(kind, half(query.text), found5, found10, 1 / place if place else 0.0, strong, seconds)


async def measure(home: Path) -> tuple[list[Asked], float]:
    before = resident_megabytes()
    dataset, kinds = data()
    memory = build(home)
    async with memory.running():
        ids = await store(memory, dataset)
        await memory.catch_up()
        while await drain(memory.ports):
            pass
        asked = [
            await ask(memory, query, kinds[query.id], frozenset(ids[each] for each in query.evidence))
            for query in dataset.queries
        ]
    return asked, resident_megabytes() - before


def lines(asked: list[Asked], megabytes: float) -> Iterator[str]:
    yield f"{'':34}{'n':>5}{'R@5':>7}{'R@10':>7}{'MRR':>7}{'strong':>8}"
    kinds = list(dict.fromkeys(each.kind for each in asked))
    groups = [(kind, [each for each in asked if each.kind == kind]) for kind in kinds]
    groups.append(("both in another language", [each for each in asked if each.kind in OTHERS]))
    for kind, whole in groups:
        for side in ("", *HALVES):
            own = [each for each in whole if side in ("", each.half)]
            if own:
                figures = (mean([getattr(each, name) for each in own]) for name in ("recall5", "recall10", "first"))
                strong = mean([float(each.strong) for each in own])
                text = "".join(f"{figure:7.3f}" for figure in figures)
                yield f"{f'{kind} {side}'.strip():34}{len(own):5}{text}{strong:8.3f}"
    first, middle, third = statistics.quantiles([each.seconds * 1000 for each in asked], n=4)
    yield f"a recall: {middle:.1f} ms ({first:.1f} to {third:.1f}); {megabytes:.0f} MB more than before"


def fit(out: Path) -> None:
    path = packaged()
    assert path is not None, "install requirements-multilingual.txt"
    model = E5(path, None)
    languages = json.loads((DATA / "parallel.json").read_text("utf-8"))
    means = np.array(
        [
            np.mean([np.frombuffer(model.query_vectors([text])[0], "<f4") for text in texts], axis=0)
            for texts in languages.values()
        ]
    )
    middle = means.mean(axis=0)
    directions = np.linalg.svd(means - middle, full_matrices=False)[2][:DIRECTIONS]
    np.concatenate([middle[None], directions]).astype("<f4").tofile(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--with", dest="settings", nargs="*", default=["off", "e5"], metavar="SETTING")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="make the memories in this folder, and leave them")
    parser.add_argument("--fit", type=Path, metavar="OUT", help="write the directions of languages, and ask nothing")
    options = parser.parse_args()
    if options.fit:
        fit(options.fit)
        return
    for setting in options.settings:
        os.environ["HOLDFAST_MULTILINGUAL"] = setting
        began = time.perf_counter()
        with TemporaryDirectory(prefix="holdfast-bench-", ignore_cleanup_errors=True) as folder:
            home = options.keep / setting.replace(":", "-") if options.keep else Path(folder)
            home.mkdir(parents=True, exist_ok=True)
            asked, megabytes = anyio.run(measure, home)
        print(f"\nHOLDFAST_MULTILINGUAL={setting}, in {time.perf_counter() - began:.0f} s", flush=True)
        print("\n".join(lines(asked, megabytes)), flush=True)


if __name__ == "__main__":
    main()
