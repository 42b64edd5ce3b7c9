"""What memory_recall finds with its default min_relevance of 0.7, over stdio, whole and by halves of the queries.

    python bench/omi.py [--data devmem|FILE] [--min-relevance 0.7] [--check]

A query with evidence is answered when some of it is among the results; one without is answered by an empty list.
"Seen" also counts what the notices name as just below the line; for a query without evidence, that nothing is named.
Queries whose evidence is superseded are left out: this tool shows only what is current. With --check it ends with 1
where natural and paraphrased queries are answered in fewer than 0.65 of cases, or off-topic ones in fewer than 0.60.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from datasets import DEVMEM, OFF_TOPIC, read_devmem
from retrieval import server, server_ids, store, wait_until_encoded
from scoring import HALVES, half, mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from datasets import BenchQuery, Dataset
    from retrieval import Session

FLOORS = {("natural", "paraphrase"): 0.65, (OFF_TOPIC,): 0.60}
COLUMNS = ("all", *HALVES)
ID = re.compile(r"mem_\w{16}")


@dataclass(frozen=True, slots=True)
class Asked:
    """One query: whether it was answered as it should be, so as to be seen, and with how many results."""

    query: str
    kind: str
    right: bool
    seen: bool
    results: int


async def run(dataset: Dataset, folder: Path, line: float) -> list[Asked]:
    async with server(folder) as session:
        ids = (await store(session, dataset)).ids
        assert await wait_until_encoded(session), "not all notes have a vector"
    asked = []
    current = [query for query in dataset.queries if not query.arguments]
    for space, day in dict.fromkeys((query.space, query.asked_day) for query in current):
        async with server(folder, space, day) as session:
            for query in current:
                if (query.space, query.asked_day) == (space, day):
                    arguments = {"query": query.text, "min_relevance": line}
                    asked.append(await ask(session, query, arguments, set(server_ids(query.evidence, ids))))
    return asked


async def ask(session: Session, query: BenchQuery, arguments: dict[str, Any], evidence: set[str]) -> Asked:
    answer = await session.call_tool("memory_recall", arguments)
    assert answer.structured_content is not None
    found = {hit["memory_id"] for hit in answer.structured_content["result"]}
    named = found | set(ID.findall("\n".join(block.text for block in answer.content[1:])))
    right, seen = (bool(evidence & ids) if evidence else not ids for ids in (found, named))
    return Asked(query.id, query.kind, right, seen, len(found))


def row(name: str, asked: Sequence[Asked]) -> str:
    cells = ""
    for column in COLUMNS:
        members = [each for each in asked if column in ("all", half(each.query))]
        cells += f"{mean([float(each.right) for each in members]):8.3f}"
        cells += f"{mean([float(each.seen) for each in members]):7.3f}{len(members):5}"
    return f"{name:24}{cells}{mean([float(each.results) for each in asked]):9.1f}"


def report(asked: Sequence[Asked]) -> list[str]:
    """The table: a row for each kind, and one for the kinds that share a floor."""
    head = f"{'kind':24}" + "".join(f"{column:>8}{'seen':>7}{'n':>5}" for column in COLUMNS) + f"{'results':>9}"
    groups = [(kind,) for kind in dict.fromkeys(each.kind for each in asked)]
    together = [names for names in FLOORS if len(names) > 1]
    rows = (row(" + ".join(names), [each for each in asked if each.kind in names]) for names in (*groups, *together))
    return [head, *rows]


def shortfalls(asked: Sequence[Asked]) -> list[str]:
    shares = {names: mean([float(each.right) for each in asked if each.kind in names]) for names in FLOORS}
    return [
        f"{' and '.join(names)}: {share:.3f} is below {FLOORS[names]:.2f}"
        for names, share in shares.items()
        if share < FLOORS[names]
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="devmem", help="devmem, or a file in DevMem's format")
    parser.add_argument("--min-relevance", type=float, default=0.7)
    parser.add_argument("--check", action="store_true", help="end with 1 when a share is too low")
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write each query's outcome to this file")
    options = parser.parse_args()
    dataset = read_devmem(DEVMEM if options.data == "devmem" else Path(options.data))
    with TemporaryDirectory(prefix="holdfast-bench-", ignore_cleanup_errors=True) as folder:
        asked = asyncio.run(run(dataset, Path(folder), options.min_relevance))
    print("\n".join([f"{dataset.name}: memory_recall, min_relevance {options.min_relevance:g}", *report(asked)]))
    if options.json:
        rows = [[each.query, each.kind, each.right, each.seen, each.results] for each in asked]
        options.json.write_text(json.dumps(rows) + "\n", "utf-8")
    failures = shortfalls(asked) if options.check else []
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
