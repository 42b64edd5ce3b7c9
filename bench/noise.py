"""What prompts cost that ask memory nothing, beside short questions like them and questions about what is not stored.

    python bench/noise.py [--json OUT]

DevMem is stored plainly; then each prompt of `data/noise.json` is asked (small talk, sums, "do the same again", orders
that name nothing in particular, in sixteen languages; and short questions that a memory may answer), and DevMem's own
questions, answerable and off-topic. A row tells how many got a strong hit, how many any hit, and how many hits and
strong hits an answer had in the mean. "evidence taken out" asks every answerable question again and counts what is
left without its evidence: strong hits there are beside the point, though some of them are near it. The prompts of
half A were looked at while the lists of words were written, those of half B were not.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from ablation import build, store
from datasets import BenchQuery, read_devmem
from holdfast.engine.agent.recall import Recall, recall
from holdfast.engine.ports import Caller
from holdfast.engine.runtime import Memory
from holdfast.model.prompts import idle

PROMPTS = Path(__file__).parent / "data" / "noise.json"
HITS = 10


@dataclass(frozen=True, slots=True)
class Asked:
    """One question: the ids of its hits in order, and which of them are strong."""

    ids: tuple[str, ...]
    strong: tuple[bool, ...]

    def without(self, ids: frozenset[str]) -> Asked:
        kept = [place for place, each in enumerate(self.ids) if each not in ids]
        return Asked(tuple(self.ids[place] for place in kept), tuple(self.strong[place] for place in kept))


@dataclass(frozen=True, slots=True)
class Row:
    """Shares of the questions, and means over them."""

    questions: int
    strong: float
    returned: float
    hits: float
    strong_hits: float


def row(answers: Sequence[Asked]) -> Row:
    count = len(answers)
    return Row(
        count,
        sum(any(each.strong) for each in answers) / count,
        sum(bool(each.ids) for each in answers) / count,
        sum(len(each.ids) for each in answers) / count,
        sum(sum(each.strong) for each in answers) / count,
    )


async def ask(memory: Memory, text: str, query: BenchQuery | None = None) -> Asked:
    request = Recall(text, HITS, **(query.arguments if query else {}))
    day = datetime.fromisoformat(query.asked_day) if query and query.asked_day else None
    caller = Caller(query.space if query else None, "bench", "bench")
    found = await memory.attend(lambda ports: recall(replace(ports, asked_at=day), caller, request))
    return Asked(tuple(hit.note.id for hit in found.hits), tuple(not hit.ranked.weak for hit in found.hits))


async def rows(home: Path) -> dict[str, Row]:
    prompts = json.loads(PROMPTS.read_text("utf-8"))
    data = read_devmem()
    memory = build(home)
    answers: dict[str, list[Asked]] = {}
    async with memory.running():
        ids = await store(memory, data)
        for number, prompt in enumerate(prompts):
            kind = "asks" if prompt["asks"] else "asks nothing"
            answers.setdefault(f"{kind}, half {'AB'[number % 2]}", []).append(await ask(memory, prompt["text"]))
        for query in data.queries:
            asked = await ask(memory, query.text, query)
            answers.setdefault("answerable" if query.evidence else "off-topic", []).append(asked)
            if query.evidence:
                left = asked.without(frozenset(ids[note] for note in query.evidence))
                answers.setdefault("evidence taken out", []).append(left)
    return {name: row(each) for name, each in answers.items()}


def known() -> str:
    """How many prompts the lists of words know, by whether they ask."""
    prompts = json.loads(PROMPTS.read_text("utf-8"))
    told = []
    for asks, name in ((False, "ask nothing"), (True, "ask")):
        for half in (0, 1):
            texts = [each["text"] for place, each in enumerate(prompts) if each["asks"] is asks and place % 2 == half]
            told.append(f"{sum(idle(text) is not None for text in texts)} of {len(texts)} that {name} ({'AB'[half]})")
    return f"Known by their words to name nothing: {', '.join(told)}"


def table(found: dict[str, Row]) -> str:
    lines = [f"{'':24}{'questions':>10}{'strong':>8}{'any':>8}{'hits':>8}{'strong hits':>13}"]
    lines += [
        f"{name:24}{each.questions:10}{each.strong:8.3f}{each.returned:8.3f}{each.hits:8.2f}{each.strong_hits:13.2f}"
        for name, each in found.items()
    ]
    return "\n".join([*lines, known()])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write the figures to this file")
    options = parser.parse_args()
    with TemporaryDirectory(prefix="holdfast-bench-", ignore_cleanup_errors=True) as folder:
        found = anyio.run(rows, Path(folder))
    print(table(found))
    if options.json:
        options.json.write_text(json.dumps({name: asdict(each) for name, each in found.items()}, indent=2), "utf-8")


if __name__ == "__main__":
    main()
