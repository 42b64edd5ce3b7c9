"""How sure answers are of what is stored, and of what is not.

    python bench/doubt.py [--plain] [--data devmem|none|FILE] [--locomo FILE] [--json OUT]

Three sorts of questions: those that the notes answer; those of `data/unstored.json`, and the data's own, about nothing
stored; and every answerable one asked again while its evidence is out of the store. By halves (of a hash of the text:
lines were chosen on half A of DevMem, B is held out) it prints how many got a strong hit, a hit at all, and none; of
the answerable ones how many got their evidence as a strong hit; and how well the first hit's relevance tells the
answerable questions from each of the others (the area under the ROC curve). Then the same for other lines.

With the evidence taken out a strong hit is not always wrong: some notes near the evidence say part of it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import anyio

from ablation import build, store
from datasets import APART, BenchQuery, Dataset, add_arguments, chosen_datasets
from holdfast.engine.agent.recall import Recall, recall
from holdfast.engine.ports import Caller
from holdfast.engine.runtime import Memory
from holdfast.index.projection import MadeVectors, NoteRow, Update
from holdfast.index.rows import FileRow
from holdfast.model.ranking import GATE, WEAK
from scoring import HALVES, auc, half, mean

UNSTORED = Path(__file__).parent / "data" / "unstored.json"
HITS = 10
DAY = datetime(2026, 11, 6)  # noqa: DTZ001 - of the questions about nothing stored, as of the data's own
LINES = (0.6, WEAK, 0.74, 0.78, 0.82)

Sort = Literal["answerable", "about nothing stored", "evidence taken out"]


@dataclass(frozen=True, slots=True)
class Asked:
    """`first`, `best` and `evidence` are relevances: of the first hit, the highest, and the highest of the evidence."""

    sort: Sort
    half: str
    kind: str
    first: float
    best: float
    evidence: float


@dataclass(frozen=True, slots=True)
class Row:
    """Shares of some questions. `auc` tells the answerable ones of the same half from them; 0 for themselves."""

    questions: int
    strong: float
    evidence_strong: float
    silent: float
    auc: float


def unstored(spaces: Sequence[str], *, confined: bool) -> list[BenchQuery]:
    """Questions about nothing stored, asked in one of the data's spaces where the data's own are."""
    texts = [(kind, text) for kind, each in json.loads(UNSTORED.read_text("utf-8")).items() for text in each]
    return [
        BenchQuery(text, kind, text, (), arguments={"spaces": [spaces[place % len(spaces)]]} if confined else {})
        for place, (kind, text) in enumerate(texts)
    ]


async def ask(memory: Memory, query: BenchQuery, evidence: frozenset[str], sort: Sort) -> Asked:
    day = datetime.fromisoformat(query.asked_day) if query.asked_day else DAY
    request = Recall(query.text, HITS, explain=True, **query.arguments)
    caller = Caller(query.space, "bench", "bench")
    found = await memory.attend(lambda ports: recall(replace(ports, asked_at=day), caller, request))
    worth = [hit.ranked.relevance for hit in found.hits]
    own = [hit.ranked.relevance for hit in found.hits if hit.note.id in evidence]
    best = max(worth, default=0.0)
    return Asked(sort, half(query.text), query.kind, worth[0] if worth else 0.0, best, max(own, default=0.0))


async def ask_without(
    memory: Memory, query: BenchQuery, evidence: frozenset[str], files: Mapping[str, FileRow]
) -> Asked:
    """The question while its evidence is out of the index, where it is put back afterwards."""
    index = memory.ports.index
    encoder = memory.ports.encoder
    key = encoder.vector_set.key if encoder else ""
    notes = await index.notes(evidence)
    vectors = await index.read(lambda view: view.first_vectors(key, sorted(evidence))) if key else {}
    await index.apply(Update(gone=sorted(evidence)))
    asked = await ask(memory, query, frozenset(), "evidence taken out")
    rows = [NoteRow(notes[each].note, files[each].mark, files[each]) for each in sorted(notes)]
    await index.apply(Update(notes=rows))
    made = [
        MadeVectors(row.note.id, row.encode_hash, key, [vectors[row.note.id]]) for row in rows if row.note.id in vectors
    ]
    await index.apply(Update(vectors=made))
    return asked


async def answers_of(home: Path, data: Dataset) -> list[Asked]:
    memory = build(home)
    spaces = sorted({note.arguments["space"] for note in data.notes})
    confined = all(query.spaces for query in data.queries)
    async with memory.running():
        ids = await store(memory, data)
        files = {row.note or "": row for row in (await memory.ports.index.files_of(list(ids.values()))).values()}
        asked = [
            await ask(memory, query, frozenset(), "about nothing stored")
            for query in unstored(spaces, confined=confined)
        ]
        for query in data.queries:
            if query.kind in APART:
                continue
            evidence = frozenset(ids[note] for note in query.evidence)
            asked.append(await ask(memory, query, evidence, "answerable" if evidence else "about nothing stored"))
            if evidence:
                asked.append(await ask_without(memory, query, evidence, files))
    return asked


def row(asked: Sequence[Asked], answerable: Sequence[Asked], line: float = WEAK) -> Row:
    is_same = bool(asked) and asked[0].sort == "answerable"
    return Row(
        len(asked),
        mean([float(each.best >= line) for each in asked]),
        mean([float(each.evidence >= line) for each in asked]),
        mean([float(each.best < GATE) for each in asked]),
        0.0 if is_same else auc([each.first for each in answerable], [each.first for each in asked]),
    )


def rows(asked: Sequence[Asked]) -> dict[str, Row]:
    found: dict[str, Row] = {}
    for side in HALVES:
        own = [each for each in asked if each.half == side]
        answerable = [each for each in own if each.sort == "answerable"]
        for sort in dict.fromkeys(each.sort for each in own):
            found[f"{side} {sort}"] = row([each for each in own if each.sort == sort], answerable)
    return found


def table(asked: Sequence[Asked]) -> str:
    lines = [f"{'':26}{'questions':>10}{'strong':>8}{'evidence':>10}{'silent':>8}{'AUC':>7}"]
    lines += [
        f"{name:26}{each.questions:10}{each.strong:8.3f}{each.evidence_strong:10.3f}{each.silent:8.3f}{each.auc:7.3f}"
        for name, each in rows(asked).items()
    ]
    answerable = [each for each in asked if each.sort == "answerable"]
    others = [each for each in asked if each.sort == "about nothing stored"]
    for line in LINES:
        ours, theirs = row(answerable, [], line), row(others, answerable, line)
        lines.append(
            f"line {line:.2f}: answerable {ours.strong:.3f}, with its evidence {ours.evidence_strong:.3f}, "
            f"about nothing stored {theirs.strong:.3f}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write the figures to this file")
    options = parser.parse_args()
    told = {}
    for data in chosen_datasets(options):
        with TemporaryDirectory(prefix="holdfast-bench-", ignore_cleanup_errors=True) as folder:
            asked = anyio.run(answers_of, Path(folder), data)
        print(f"\n{data.name}\n{table(asked)}")
        told[data.name] = {name: asdict(each) for name, each in rows(asked).items()}
    if options.json:
        options.json.write_text(json.dumps(told, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
