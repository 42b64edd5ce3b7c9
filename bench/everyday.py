"""How questions of everyday use are answered, of an engineer in two projects and of a family: by kind of question.

    python bench/everyday.py [team|home] [--failures]

The notes of `data/everyday_team.json` and `data/everyday_home.json` (110 and 100) are stored with `remember`, plainly
and on the day that they were told; then their 200 and 190 questions are asked, from the space of what they ask for.
They were written by a language model that had seen neither code nor other data; both were looked at on 2026-11-30.

For each kind: how often a right note comes first, first and strong, among five, among ten; how often an older version
stands before its successor, and a look-alike is strong. Of lists the notes that are on them, and how many are beside.
Of what is not stored, and of prompts that ask nothing: how many get a strong hit. Then how many of the changed facts
`remember` named the older note of.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio

from holdfast.app import build_memory
from holdfast.engine.agent.recall import Recall, Recalled, recall
from holdfast.engine.agent.remember import Remember, remember
from holdfast.engine.encoding import drain
from holdfast.engine.ports import Caller
from holdfast.engine.runtime import Memory
from holdfast.running import configure_logs
from holdfast.settings import load_settings

DATA = Path(__file__).parent / "data"
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
ELSEWHERE = "quayside"  # where those stand who ask for what is not stored
SILENT = ("nothing", "noise")  # kinds of questions that have no answer


@dataclass(frozen=True, slots=True)
class Told:
    """Ids of the data by those of the memory, and the notices of `remember` by the former."""

    names: dict[str, str]
    notices: dict[str, str]


async def stored(memory: Memory, notes: list[dict[str, Any]]) -> Told:
    told = Told({}, {})
    for place, note in enumerate(sorted(notes, key=lambda note: -int(note["days_ago"]))):
        at = NOW - timedelta(days=note["days_ago"], hours=4) + timedelta(minutes=place)
        given = {name: note[name] for name in ("type", "space", "about_self") if name in note}
        await memory.attend(_nothing)
        ports = replace(memory.ports, clock=lambda at=at: at)
        outcome = await remember(ports, Caller(None, "the bench", "bench"), Remember(note["content"], **given))
        told.names[outcome.note.id] = note["id"]
        told.notices[note["id"]] = " ".join(outcome.notices)
        while await drain(memory.ports):
            pass
    return told


async def _nothing(_: object) -> None:
    """Only what every request does first."""


def judged(question: dict[str, Any], found: Recalled, names: dict[str, str]) -> Counter[str]:
    """What is counted of an answer."""
    right, older, wrong = (set(question[name]) for name in ("right", "older", "wrong"))
    order = [names.get(hit.note.id, "self") for hit in found.hits]
    strong = {names.get(hit.note.id, "self") for hit in found.hits if not hit.ranked.weak}
    behind = {names[item.note.id] for hit in found.hits for item in hit.earlier}
    counts = Counter({"asked": 1, "strong": bool(strong)})
    if question["kind"] in SILENT:
        return counts
    if question["kind"] == "list":
        there = right & {*order, *behind}
        return counts + Counter({"on it": len(there), "of": len(right), "beside": len(strong - right - older)})
    place = next((place for place, end in enumerate(order) if end in right), len(order) + 10)
    counts += Counter({"first": place == 0, "first, strong": place == 0 and order[0] in strong})
    counts += Counter({"in 5": place < 5, "in 10": place < 10, "look-alike strong": bool(wrong & strong)})
    return counts + Counter({"older first": any(end in older for end in order[: min(place, len(order))])})


async def measured(name: str, *, failures: bool) -> None:
    data = json.loads((DATA / f"everyday_{name}.json").read_text("utf-8"))
    spaces = {note["id"]: note.get("space") for note in data["notes"]}
    configure_logs("error")
    with TemporaryDirectory(prefix="holdfast-bench-") as home:
        given = os.environ | {"HOLDFAST_HOME": home, "HOLDFAST_VAULT_ENABLED": "no", "HOLDFAST_ENCODER": "builtin"}
        memory = build_memory(load_settings(given))
        async with memory.running():
            told = await stored(memory, data["notes"])
            table: dict[str, Counter[str]] = defaultdict(Counter)
            for question in data["questions"]:
                of = [spaces[end] for end in (*question["right"], *question["wrong"], *question["older"])]
                space = next(filter(None, of), ELSEWHERE if any(spaces.values()) else None)
                found = await memory.attend(
                    lambda ports, asked=question["question"], space=space: recall(  # type: ignore[misc]
                        replace(ports, asked_at=NOW, clock=lambda: NOW),
                        Caller(space, "the bench", "bench"),
                        Recall(asked),
                    )
                )
                counts = judged(question, found, told.names)
                table[question["kind"]] += counts
                if failures and not (counts["first"] or question["kind"] in (*SILENT, "list")):
                    print(f"  not first ({question['kind']}): {question['question']}")
    for kind, counts in table.items():
        print(f"{kind:11}", ", ".join(f"{what} {count}" for what, count in counts.items()))
    ids = {end: note_id for note_id, end in told.names.items()}
    changed = [
        (old, new) for q in data["questions"] if q["kind"] == "current" for new in q["right"] for old in q["older"]
    ]
    named = sum(ids[old] in told.notices[new] for old, new in changed)
    print(f"of {len(changed)} changed facts remember named the older note of {named}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=("team", "home"), nargs="?", default="team")
    parser.add_argument("--failures", action="store_true", help="also print the questions whose answer is not first")
    options = parser.parse_args()

    async def run() -> None:
        await measured(options.name, failures=options.failures)

    anyio.run(run)


if __name__ == "__main__":
    main()
