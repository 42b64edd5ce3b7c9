"""What an answer to recall costs a model, in tokens of o200k: the text, and the JSON that some clients pass on instead.

    python bench/answers.py [--data devmem|FILE] [--long N] [--budget TOKENS]

It prints mean, 95th percentile and maximum of both forms, how much of the evidence of each question is shown with its
text, how much is at least named, and what a hit costs beside its own text. With --long the first N notes are made
256 kB long: what they say stands in the middle of other text. It needs `rs-bpe` (requirements-dev.txt).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

from rs_bpe import openai

from datasets import APART, DEVMEM, BenchNote, BenchQuery, Dataset, read_devmem
from retrieval import Session, server, server_ids, store, wait_until_encoded
from scoring import percentile

TOKENIZER = openai.o200k_base()
LONG = 250_000  # characters
FILLER = "The minutes of that day tell of nothing else that anybody would ask for later. "
ID = re.compile(r"mem_\w{16}")


@dataclass(frozen=True, slots=True)
class Cost:
    """One answer: tokens of both forms, of each hit's own line, and the shares of the evidence that it holds."""

    text: int
    structured: int
    entries: tuple[int, ...]
    shown: float
    named: float
    listed: float


def tokens(text: str) -> int:
    return int(TOKENIZER.count(text))


def made_long(note: BenchNote) -> BenchNote:
    around = FILLER * (LONG // 2 // len(FILLER))
    content = f"{around}\n\n{note.arguments['content']}\n\n{around}"
    return replace(note, arguments={**note.arguments, "content": content})


async def ask(session: Session, query: BenchQuery, ids: dict[str, str], more: dict[str, Any]) -> Cost:
    answer = await session.call_tool("recall", {"query": query.text, "limit": 10} | query.arguments | more)
    text = "\n".join(block.text for block in answer.content)
    structured = answer.structured_content or {}
    evidence = set(server_ids(query.evidence, ids))
    entries = re.findall(r"^[0-9a-f]{8} mem_\w{16} (?!.* WEAK MATCH).*$", text, re.MULTILINE)
    shown = {found[0] for found in map(ID.findall, entries) if found}
    named = set(ID.findall(text))
    listed = {hit["id"] for hit in structured["results"]}
    return Cost(
        tokens(text),
        tokens(json.dumps(structured, ensure_ascii=False, separators=(",", ":"))),
        tuple(map(tokens, entries)),
        *(len(evidence & found) / len(evidence) if evidence else -1.0 for found in (shown, named, listed)),
    )


async def run(dataset: Dataset, folder: Path, more: dict[str, Any]) -> list[Cost]:
    async with server(folder) as session:
        stored = await store(session, dataset)
        await wait_until_encoded(session)
    costs = []
    for space, day in dict.fromkeys((query.space, query.asked_day) for query in dataset.queries):
        async with server(folder, space, day) as session:
            mine = [query for query in dataset.queries if (query.space, query.asked_day) == (space, day)]
            costs += [await ask(session, query, stored.ids, more) for query in mine if query.kind not in APART]
    return costs


def row(name: str, figures: Sequence[float]) -> str:
    return f"{name:12}{mean(figures):8.0f}{percentile(figures, 0.95):8.0f}{max(figures):8.0f}"


def report(name: str, costs: Sequence[Cost]) -> str:
    asked = [cost for cost in costs if cost.named >= 0]
    entries = [entry for cost in costs for entry in cost.entries] or [0]
    shares = (mean(getattr(cost, kind) for cost in asked) for kind in ("shown", "named", "listed"))
    head = f"\n{name}, {len(costs)} questions\n{'tokens':12}{'mean':>8}{'p95':>8}{'max':>8}"
    rows = [row("text", [cost.text for cost in costs]), row("JSON", [cost.structured for cost in costs])]
    told = "evidence shown strong {:.3f}, named in the text {:.3f}, in the results of the JSON {:.3f}".format(*shares)
    return "\n".join([head, *rows, row("a hit's line", entries), told])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="devmem", help="devmem, or a file in its format")
    parser.add_argument("--long", type=int, default=0, metavar="N", help="make the first N notes 256 kB long")
    parser.add_argument("--budget", type=int, help="as recall takes it")
    options = parser.parse_args()
    dataset = read_devmem(DEVMEM if options.data == "devmem" else Path(options.data))
    notes = [made_long(note) if place < options.long else note for place, note in enumerate(dataset.notes)]
    dataset = replace(dataset, notes=tuple(notes))
    more = {"budget": options.budget} if options.budget else {}
    with TemporaryDirectory(prefix="holdfast-bench-", ignore_cleanup_errors=True) as folder:
        costs = asyncio.run(run(dataset, Path(folder), more))
    print(report(f"{dataset.name}, {options.long} notes of 256 kB", costs), flush=True)


if __name__ == "__main__":
    main()
