"""What further phrasings of a question by the asking agent are worth, and what they cost.

    python bench/phrasings.py [--plain] [--locomo FILE] [--beam DIR] [--phrasings FILE]

DevMem's questions are asked alone, then with one and with two of the phrasings in `data/phrasings.json`, which a
language model wrote from the questions alone, without seeing a note. For LoCoMo and BEAM there are none that could be
shipped: FILE has a list of one to three for each id of a question, and only questions that have some
are asked. A row shows recall@5, recall@10 and MRR of all
answerable questions and of the kinds that share few words with their notes; the shares of answerable and off-topic
questions with a strong hit; strong hits beside the point, which are those of answerable questions without their
evidence; and how long a recall takes. Then recall@10 of each kind, alone and with all phrasings.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from ablation import build, store
from datasets import APART, BenchQuery, Dataset, add_arguments, chosen_datasets
from holdfast.engine.agent.recall import Recall, Recalled, recall
from holdfast.engine.ports import Caller
from holdfast.engine.runtime import Memory
from scoring import Answer, abstention, by_kind, figures, percentile

PHRASINGS = Path(__file__).parent / "data" / "phrasings.json"
HITS = 10
FEW_WORDS_SHARED = ("paraphrase", "multilingual")
EACH = 3  # times every question is asked, of which the fastest counts


@dataclass(frozen=True, slots=True)
class Asked:
    """An answer, whether any hit beside the evidence is strong, and the milliseconds it took."""

    answer: Answer
    beside: bool
    took: float


async def ask(memory: Memory, query: BenchQuery, also: Sequence[str], ids: dict[str, str]) -> Asked:
    day = datetime.fromisoformat(query.asked_day) if query.asked_day else None
    request = Recall(query.text, HITS, explain=True, also=also, **query.arguments)
    caller = Caller(query.space, "bench", "bench")

    async def asked() -> tuple[Recalled, float]:
        begin = time.perf_counter()
        found = await memory.attend(lambda ports: recall(replace(ports, asked_at=day), caller, request))
        return found, (time.perf_counter() - begin) * 1000

    tries = [await asked() for _ in range(EACH)]
    hits = tries[0][0].hits
    evidence = tuple(ids[note] for note in query.evidence)
    answer = Answer(
        query.kind,
        tuple(hit.note.id for hit in hits),
        evidence,
        strong=sum(not hit.ranked.weak for hit in hits),
        query=query.id,
        nearest=tuple(hit.ranked.relevance for hit in hits),
    )
    beside = any(not hit.ranked.weak for hit in hits if hit.note.id not in evidence)
    return Asked(answer, beside, min(took for _, took in tries))


def row(name: str, asked: Sequence[Asked]) -> str:
    answerable = [each for each in asked if each.answer.evidence]
    others = [each for each in asked if not each.answer.evidence]
    whole = figures([each.answer for each in answerable])
    few = figures([each.answer for each in answerable if each.answer.kind in FEW_WORDS_SHARED])
    doubt = abstention([each.answer for each in asked])
    shares = (
        sum(each.answer.strong > 0 for each in answerable) / len(answerable),
        sum(each.answer.strong > 0 for each in others) / max(1, len(others)),
        sum(each.beside for each in answerable) / len(answerable),
        doubt.auc_first if doubt else 0.0,
        percentile([each.took for each in asked], 0.5),
    )
    measures = (whole.recall5, whole.recall10, whole.mrr, few.recall5, few.recall10, few.mrr)
    return f"{name:14}" + "".join(f"{value:8.3f}" for value in (*measures, *shares))


async def rows(home: Path, data: Dataset, phrasings: dict[str, list[str]]) -> list[str]:
    memory = build(home)
    queries = [query for query in data.queries if query.kind not in APART and phrasings.get(query.id)]
    told: list[str] = []
    kinds = []
    async with memory.running():
        ids = await store(memory, data)
        for count, name in enumerate(("alone", "one more", "two more")):
            asked = [await ask(memory, query, phrasings[query.id][:count], ids) for query in queries]
            told.append(row(name, asked))
            kinds.append(by_kind([each.answer for each in asked]))
    for kind, alone in kinds[0].items():
        with_all = kinds[-1][kind]
        told.append(f"{kind:24}{alone.queries:5} R@10 {alone.recall10:.3f} alone, {with_all.recall10:.3f} with two")
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--phrasings", type=Path, default=PHRASINGS, metavar="FILE", help="by the id of a question")
    options = parser.parse_args()
    phrasings = json.loads(options.phrasings.read_text("utf-8"))
    heads = ("R@5", "R@10", "MRR", "few R@5", "R@10", "MRR", "strong", "off", "beside", "AUC", "ms p50")
    for data in chosen_datasets(options):
        if not any(query.id in phrasings for query in data.queries):
            print(f"{data.name} left out: {options.phrasings.name} has no phrasing of its questions.")
            continue
        with TemporaryDirectory(prefix="holdfast-bench-", ignore_cleanup_errors=True) as folder:
            found = anyio.run(rows, Path(folder), data, phrasings)
        print(f"\n{data.name}\n{'':14}" + "".join(f"{head:>8}" for head in heads))
        print("\n".join(found), flush=True)


if __name__ == "__main__":
    main()
