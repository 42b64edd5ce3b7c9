"""Facts in the middle of long notes, told anew later: which comes first, what `remember` and maintenance say of them.

    python bench/long_notes.py [--half a|b] [--failures]

Notes of twelve domains by somebody who did not know the code (bench/data/long_notes_a.json and long_notes_b.json): in
each some long ones of 110 to 260 words that tell six to ten facts, six of which change later, in a short note or in
another long one; and pairs that look alike of which neither speaks against the other. All notes of a domain are stored
with `remember` at their times, as texts alone, in a space of their own. Of half b only counts were looked at.

Counted are, of the facts: how often the newer note comes before the older where the fact is asked for, how often
`remember` named the older as told anew, how often maintenance offered the two as a conflict or a merge. And beside it:
how many other pairs `remember` named and maintenance offered so, and how many of them are of those that look alike.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio

from holdfast.app import build_memory
from holdfast.engine.agent.recall import Recall, recall
from holdfast.engine.agent.remember import NoteStored
from holdfast.engine.maintenance.batches import Verdicts, find_work, judge
from holdfast.engine.maintenance.verdicts import EdgeVerdict
from holdfast.engine.ports import Caller
from holdfast.engine.runtime import Memory
from holdfast.running import configure_logs
from holdfast.settings import load_settings
from versions import ASKED, DATA, FIRST_DAY, remembered

AGENT = Caller(None, "bench", "bench")
Pair = tuple[str, str]


async def judged(domains: list[dict[str, Any]], *, tell: bool) -> Counter[str]:
    counts: Counter[str] = Counter()
    with TemporaryDirectory(prefix="holdfast-bench-") as home:
        given = {"HOLDFAST_HOME": home, "HOLDFAST_NOW": ASKED, "HOLDFAST_VAULT_ENABLED": "no"}
        memory = build_memory(load_settings(given))
        async with memory.running():
            named: dict[str, Pair] = {}
            texts: dict[Pair, str] = {}
            for domain in domains:
                asked = await _stored(memory, domain, named)
                texts |= {(domain["domain"], note["id"]): note["text"] for note in domain["notes"]}
                _count("remember", asked, domain, counts, texts if tell else None)
                for fact in domain["facts"]:
                    await _ask(memory, domain["domain"], fact, named, counts, tell=tell)
            offered = await _offered(memory, named)
            for domain in domains:
                mine = {pair for pair in offered if next(iter(pair))[0] == domain["domain"]}
                _count("maintenance", mine, domain, counts, texts if tell else None)
    return counts


async def _stored(memory: Memory, domain: dict[str, Any], named: dict[str, Pair]) -> set[frozenset[Pair]]:
    """Store a domain's notes; the pairs that `remember` named as versions of each other."""
    pairs = set()
    space = re.sub(r"\W+", "-", domain["domain"].lower())
    for place, note in enumerate(sorted(domain["notes"], key=lambda item: item["day"])):
        at = FIRST_DAY + timedelta(days=note["day"], minutes=20 * place)
        caller = Caller(space, "the bench", "bench")
        stored = await remembered(memory, caller, at, note["text"])
        assert isinstance(stored, NoteStored), note["text"]
        mine = named[stored.note.id] = (domain["domain"], note["id"])
        told = {each for text in stored.notices if "supersede" in text for each in re.findall(r"mem_\w+", text)}
        pairs |= {frozenset({mine, named[each]}) for each in told - {stored.note.id}}
    return pairs


async def _ask(
    memory: Memory, domain: str, fact: dict[str, str], named: dict[str, Pair], counts: Counter[str], *, tell: bool
) -> None:
    space = re.sub(r"\W+", "-", domain.lower())
    caller = Caller(space, "the bench", "bench")
    found = await memory.attend(lambda ports: recall(ports, caller, Recall(fact["question"])))
    shown = [named[hit.note.id][1] for hit in found.hits]
    behind = {named[item.note.id][1] for hit in found.hits for item in hit.earlier}
    places = [shown.index(note) if note in shown else len(shown) for note in (fact["newer"], fact["older"])]
    leads = fact["older"] in behind or places[0] < places[1]
    counts["facts"] += 1
    counts["newer first"] += leads
    counts["newer is the first of all"] += places[0] == 0
    if tell and not leads:
        print(f"    older first: {domain}: {fact}")


def _count(
    what: str,
    pairs: set[frozenset[Pair]],
    domain: dict[str, Any],
    counts: Counter[str],
    texts: dict[Pair, str] | None,
) -> None:
    name = domain["domain"]
    facts = {frozenset({(name, fact["older"]), (name, fact["newer"])}) for fact in domain["facts"]}
    alike = {frozenset({(name, one), (name, other)}) for one, other in domain["others"]}
    counts[f"{what}: facts named"] += len(pairs & facts)
    counts[f"{what}: facts to name"] += len(facts)
    counts[f"{what}: others named"] += len(pairs - facts)
    counts[f"{what}: of these labelled as alike"] += len(pairs & alike)
    if texts is not None:
        for pair in pairs - facts:
            print(f"    {what}: wrong: {' | '.join(sorted(texts[each] for each in pair))!r}")
        for pair in facts - pairs:
            print(f"    {what}: missed: {' | '.join(sorted(texts[each] for each in pair))!r}")


async def _offered(memory: Memory, named: dict[str, Pair]) -> set[frozenset[Pair]]:
    """Judge batch after batch, all of it `none`; the pairs of a conflict or a merge."""
    pairs = set()
    while (batch := await memory.attend(lambda ports: find_work(ports, AGENT))).id is not None:
        offered = [item for kind, items in batch.items.items() if kind != "consolidations" for item in items]
        told = [item for kind in ("conflicts", "merges") for item in batch.items.get(kind, ())]
        pairs |= {frozenset(named[note] for note in item.ids) for item in told}
        edges = [EdgeVerdict(*(text.note.id for text in item.texts), "none") for item in offered]
        await judge(memory, AGENT, Verdicts(edges, [], []), batch.id)
    return pairs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("a", "b"), default="a")
    parser.add_argument("--file", type=Path, help="other data of the same form")
    parser.add_argument("--failures", action="store_true")
    given = parser.parse_args()
    configure_logs("ERROR")
    file = given.file or DATA / f"long_notes_{given.half}.json"
    counts = anyio.run(lambda: judged(json.loads(file.read_text("utf-8")), tell=given.failures))
    for name, number in counts.items():
        print(f"{number:>6}  {name}")


if __name__ == "__main__":
    main()
