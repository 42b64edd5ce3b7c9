"""What stays true beside later notes of the same thing, and what no longer is: both on the same facts.

    python bench/beside.py [--encoder builtin|none] [--alone]

Each line of bench/data/beside.jsonl (120, of many fields, 19 of them not in English) has a question, the note that
answers it, two later notes about something else of the same thing, and what was noted when just that fact had changed.
All are stored with `remember`, months apart, in one space and without `supersedes`; with `--alone` each line has a
memory of its own. Asked is twice: before the fact had changed, when the note is to come first, however new the others
are; and after that, when the newer one is. What helps the one count may cost the other: so they stand together.

Counted are also notes that were folded behind one that is no version of theirs, and answers behind which the right one
stands as "earlier". Written before anything was measured on them; only counts were looked at.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from holdfast.app import build_memory
from holdfast.engine.agent.recall import Recall, recall
from holdfast.engine.agent.remember import NoteStored
from holdfast.engine.runtime import Memory
from holdfast.running import configure_logs
from holdfast.settings import load_settings
from versions import ASKED, CALLER, remembered

DATA = Path(__file__).parent / "data" / "beside.jsonl"
ALWAYS = ("note first", "beside first", "answers with a false fold", "the answer is folded behind another")
FIRST_DAY, APART = datetime(2026, 2, 2, 9, 0, tzinfo=UTC), timedelta(days=45)


@dataclass(frozen=True, slots=True)
class Fact:
    """A question, its answer, what else is noted of the thing afterwards, and at last the answer from then on."""

    question: str
    note: str
    beside: tuple[str, ...]
    newer: str


def read() -> list[Fact]:
    lines = map(json.loads, DATA.read_text("utf-8").strip().split("\n"))
    return [Fact(line["question"], line["note"], tuple(line["beside"]), line["newer"]) for line in lines]


async def counted(facts: Sequence[Fact], encoder: str) -> Counter[str]:
    """Store what belongs to these facts, and ask for each before it changed and after that."""
    counts: Counter[str] = Counter()
    with TemporaryDirectory(prefix="holdfast-bench-") as home:
        given = {"HOLDFAST_HOME": home, "HOLDFAST_ENCODER": encoder, "HOLDFAST_NOW": ASKED}
        memory = build_memory(load_settings(given | {"HOLDFAST_VAULT_ENABLED": "no"}))
        async with memory.running():
            said: dict[str, tuple[int, str]] = {}
            for place in range(3):
                texts = [(number, (fact.note, *fact.beside)[place]) for number, fact in enumerate(facts)]
                await _store(memory, texts, place, said)
            counts += await _asked(memory, facts, said, "note")
            await _store(memory, [(number, fact.newer) for number, fact in enumerate(facts)], 3, said)
            counts += await _asked(memory, facts, said, "newer")
    return counts


async def _store(
    memory: Memory, texts: Sequence[tuple[int, str]], place: int, said: dict[str, tuple[int, str]]
) -> None:
    for number, text in texts:
        stored = await remembered(memory, CALLER, FIRST_DAY + place * APART + timedelta(minutes=7 * number), text)
        assert isinstance(stored, NoteStored), text
        said[stored.note.id] = (number, ("note", "beside", "beside", "newer")[place])


async def _asked(memory: Memory, facts: Sequence[Fact], said: dict[str, tuple[int, str]], right: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    for number, fact in enumerate(facts):
        found = await memory.attend(lambda ports, asked=fact.question: recall(ports, CALLER, Recall(asked)))
        first = said[found.hits[0].note.id] if found.hits else (number, "nothing")
        sort = first[1] if first[0] == number else "another thing"
        counts[f"{right}: {sort} first"] += 1
        folded = [(said[item.note.id], said[hit.note.id]) for hit in found.hits for item in hit.earlier]
        counts[f"{right}: answers with a false fold"] += any(
            (old[0], old[1], new[1]) != (new[0], "note", "newer") for old, new in folded
        )
        counts[f"{right}: the answer is folded behind another"] += any(old == (number, right) for old, _ in folded)
    return counts


async def measure(encoder: str, *, alone: bool) -> None:
    facts = read()
    counts: Counter[str] = Counter()
    for group in [[fact] for fact in facts] if alone else [facts]:
        counts += await counted(group, encoder)
    print(f"{len(facts)} facts, {'each alone' if alone else 'all in one memory'}, encoder {encoder}")
    for right in ("note", "newer"):
        sorts = sorted({name for name in counts if name.startswith(right)} | {f"{right}: {sort}" for sort in ALWAYS})
        for name in sorts:
            print(f"{counts[name]:4}  {name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", choices=("builtin", "none"), default="builtin")
    parser.add_argument("--alone", action="store_true", help="each fact in a memory of its own")
    options = parser.parse_args()
    configure_logs("error")

    async def run() -> None:
        await measure(options.encoder, alone=options.alone)

    anyio.run(run)


if __name__ == "__main__":
    main()
