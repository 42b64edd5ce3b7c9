"""How sure answers are of what is stored, and of what is not.

    python bench/doubt.py [--plain] [--data devmem|none|FILE] [--locomo FILE] [--json OUT] [--show]

Four sorts of questions: those that the notes answer; those of `data/unstored.json`, and the data's own, about nothing
stored; those that ask of a thing in the notes what no note says of it ("near", where the data has any); and every
answerable one asked again while its evidence is out of the store. By halves (of a hash of the text, or as the data
says: lines were chosen on half A of DevMem, B is held out) it prints how many got a strong hit, and how many none at
all; of the answerable ones how many got their evidence as a strong hit; and how well the first hit's relevance tells
the answerable questions from each of the others (the area under the ROC curve). Then the same for other lines.

`data/unsaid.json` has 132 notes of a radio station, a house, a marine station and a shop, 88 questions that they
answer, 80 near ones and 50 far from all of them. The first two are its half A; of the others only figures were looked
at. `data/another_attribute.json` has 160 notes of one sentence, each with a question that it answers, half of them in
other words, and one that asks of the same thing what the note does not say: of a family, errands, a billing service and
a choir (A), of an office, travels, servers and a garden (B). Of B figures were looked at, and the names of doubts.
`data/of_others.json`: of several who share an attribute each is asked for, and somebody unknown; of people who are
known, what only another's note has; of things, what is told of their like. Its half B was looked at once.
`--show` prints the questions of half A that have a strong hit and should not, or none and should.

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
from holdfast.model.ranking import WEAK
from scoring import HALVES, auc, half, mean

UNSTORED = Path(__file__).parent / "data" / "unstored.json"
HITS = 10
DAY = datetime(2026, 11, 6)  # noqa: DTZ001 - of the questions about nothing stored, as of the data's own
LINES = (0.6, WEAK, 0.74, 0.78, 0.82)

NEAR = "near"  # the kind of such questions in the data

Sort = Literal["answerable", "about nothing stored", "near what is stored", "evidence taken out"]


@dataclass(frozen=True, slots=True)
class Asked:
    """`first`, `best` and `evidence` are relevances: of the first hit, the highest, and the highest of the evidence.

    They are those of the nearest notes, also where none of them is shown: then it is `silent`.
    """

    sort: Sort
    half: str
    kind: str
    text: str
    first: float
    best: float
    evidence: float
    silent: bool


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
    request = Recall(query.text, HITS, **query.arguments)
    caller = Caller(query.space, "bench", "bench")
    found = await memory.attend(lambda ports: recall(replace(ports, asked_at=day), caller, request))
    is_silent = not found.hits
    if is_silent:
        nearest = replace(request, explain=True)
        found = await memory.attend(lambda ports: recall(replace(ports, asked_at=day), caller, nearest))
    worth = [hit.ranked.relevance for hit in found.hits]
    own = [hit.ranked.relevance for hit in found.hits if hit.note.id in evidence]
    best = max(worth, default=0.0)
    side, first = query.half or half(query.text), worth[0] if worth else 0.0
    return Asked(sort, side, query.kind, query.text, first, best, max(own, default=0.0), is_silent)


def sort_of(query: BenchQuery) -> Sort:
    if query.evidence:
        return "answerable"
    return "near what is stored" if query.kind == NEAR else "about nothing stored"


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
            asked.append(await ask(memory, query, evidence, sort_of(query)))
            if evidence:
                asked.append(await ask_without(memory, query, evidence, files))
    return asked


def row(asked: Sequence[Asked], answerable: Sequence[Asked], line: float = WEAK) -> Row:
    is_same = bool(asked) and asked[0].sort == "answerable"
    return Row(
        len(asked),
        mean([float(each.best >= line) for each in asked]),
        mean([float(each.evidence >= line) for each in asked]),
        mean([float(each.silent) for each in asked]),
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
    others = [each for each in asked if each.sort in ("about nothing stored", "near what is stored")]
    for line in LINES:
        ours, theirs = row(answerable, [], line), row(others, answerable, line)
        lines.append(
            f"line {line:.2f}: answerable {ours.strong:.3f}, with its evidence {ours.evidence_strong:.3f}, "
            f"not stored {theirs.strong:.3f}"
        )
    return "\n".join(lines)


def shown(asked: Sequence[Asked]) -> str:
    """The questions of half A that were answered as they should not be."""
    looked = [each for each in asked if each.half == "A" and each.sort != "evidence taken out"]
    wrong = [each for each in looked if (each.best < WEAK if each.sort == "answerable" else each.best >= WEAK)]
    return "\n".join(f"{each.best:.2f} {'-' if each.silent else ' '} {each.sort}: {each.text}" for each in wrong)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write the figures to this file")
    parser.add_argument("--show", action="store_true", help="also print what went wrong, of half A")
    options = parser.parse_args()
    told = {}
    for data in chosen_datasets(options):
        with TemporaryDirectory(prefix="holdfast-bench-", ignore_cleanup_errors=True) as folder:
            asked = anyio.run(answers_of, Path(folder), data)
        print(f"\n{data.name}\n{table(asked)}")
        if options.show:
            print(shown(asked))
        told[data.name] = {name: asdict(each) for name, each in rows(asked).items()}
    if options.json:
        options.json.write_text(json.dumps(told, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
