"""How well questions about time, people and lists are answered: browsing, identity, persons, windows, word families.

    python bench/questions.py [--encoder none|builtin] [--verbose] [--lists]

In one process, without a server, over a made store of several projects, asked from `tollgate` on 18 November 2026.
Prints by kind how many questions are answered as they should be: of those that were at hand while this was built, and
of the third that was not. With --verbose it prints those that are not. With --lists it asks for lists by time of
`data/lists.json` (three small stores, one German, one Spanish) and counts those that are exactly right.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
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

QUESTIONS = Path(__file__).parent / "data" / "questions.json"
LISTS = QUESTIONS.with_name("lists.json")
ASKED = datetime(2026, 11, 18, 10, tzinfo=UTC)  # a Wednesday
CALLER = Caller("tollgate", "the bench", "bench")
TOPICS = ("queue", "ledger", "invoice", "webhook", "tariff", "gate sensor", "plate reader", "refund")

# key: (text, day, further arguments); a decision of each topic and a fact of it are added for each project.
NOTES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "freeze": ("No deployments on Fridays.", "2026-05-04", {"type": "decision"}),
    "standup": ("Standup is at 9:30 on Mondays and Thursdays, in the small room.", "2026-03-02", {}),
    "office": ("The office in Ghent is closed in August.", "2026-01-12", {}),
    "argo": ("Deploys run through ArgoCD from the main branch.", "2026-06-09", {}),
    "migration": ("The migration to Postgres 16 is done.", "2026-11-10", {"type": "event"}),
    "lane": ("Lane four was repainted and its barrier replaced.", "2026-11-11", {}),
    "elsewhere": ("Unloaded the first ship with the new crane.", "2026-11-12", {"space": "quay"}),
    "audit": ("Audit by the ministry; have the ledgers ready.", "2026-12-09", {}),
    "licence": ("The licence of the plate reader ends.", "2026-12-20", {}),
    "fair": ("Trade fair in Lyon.", "2027-02-03", {"type": "event"}),
    "config": ("The configuration of the cache lives in redis.yaml.", "2026-04-07", {}),
    "auth": ("Authentication of drivers goes through the national register.", "2026-04-08", {}),
    "retry": ("A failed payment has three retries, an hour apart.", "2026-04-09", {}),
    "indices": ("Indices of the ledger are rebuilt every night.", "2026-04-10", {}),
    "choice": ("Our choice of broker was NATS, for its small footprint.", "2026-04-11", {"type": "decision"}),
    "self": ("Works as a compiler engineer and lives in Turin.", "2026-02-01", {"about_self": True}),
    "style": ("Four blanks, never tabs; early returns.", "2026-02-02", {"type": "preference"}),
    "tea": ("Answers short and without flattery, please.", "2026-02-03", {"type": "preference", "space": "quay"}),
    "anna": ("Anna Bruni keeps the books and decides on refunds.", "2026-02-04", {"type": "person"}),
    "joost": ("Joost de Wit, electrician, on call for lane four.", "2026-02-05", {"type": "person"}),
    "anna2": ("Anna said that the invoices of March were late.", "2026-09-09", {}),
    "red": ("Spare barriers are in shed B.", "2026-08-08", {"tags": ["spares"]}),
    "red2": ("Spare plates are with Joost.", "2026-08-09", {"tags": ["spares"]}),
}  # fmt: skip

Check = Callable[[Recalled, "Asked"], bool]


@dataclass(frozen=True, slots=True)
class Asked:
    """The ids of the notes by key, and the ids of decisions by project, newest first."""

    ids: dict[str, str]
    decisions: dict[str, list[str]]


def leads(*keys: str, quiet: bool = False) -> Check:
    """These come first, in whatever order, none of them weak; where `quiet`, no window is claimed."""

    def check(found: Recalled, asked: Asked) -> bool:
        first = found.hits[: len(keys)]
        right = {hit.note.id for hit in first} == {asked.ids[key] for key in keys}
        return right and not any(hit.ranked.weak for hit in first) and not (quiet and (found.after or found.before))

    return check


def exactly(*keys: str) -> Check:
    return lambda found, asked: [hit.note.id for hit in found.hits] == [asked.ids[key] for key in keys]


def decisions(space: str, most: int = 10) -> Check:
    return lambda found, asked: [hit.note.id for hit in found.hits] == asked.decisions[space][:most]


def silent(found: Recalled, _: Asked) -> bool:
    return not any(hit.listed or not hit.ranked.weak for hit in found.hits)


def questions() -> Iterator[tuple[str, str, Check]]:
    """Kind, question, and whether the answer is right."""
    for group in json.loads(QUESTIONS.read_text("utf-8")):
        check = check_of(*group["right"])
        yield from ((group["kind"], question, check) for question in group["questions"])


def check_of(name: str, *given: Any) -> Check:
    match name:
        case "leads":
            return leads(*given)
        case "quietly":
            return leads(*given, quiet=True)
        case "exactly":
            return exactly(*given)
        case "decisions":
            return decisions(*given)
    return silent


@contextmanager
def memory_of(encoder: str) -> Iterator[Memory]:
    configure_logs("error")
    with TemporaryDirectory(prefix="holdfast-bench-", ignore_cleanup_errors=True) as home:
        memory = build_memory(
            load_settings(os.environ | {"HOLDFAST_HOME": str(Path(home)), "HOLDFAST_ENCODER": encoder})
        )
        yield memory


async def store(memory: Memory) -> Asked:
    async def put(text: str, day: str, **given: Any) -> str:
        request = Remember(text, event_time=day, **given)
        return str((await memory.attend(partial(remember, caller=CALLER, request=request))).note.id)

    dated: dict[str, list[tuple[str, str]]] = {"tollgate": [], "quay": [], "orchard": []}
    for number, space in enumerate(dated):
        for month, topic in enumerate(TOPICS, 1):
            day = f"2026-{month:02}-{10 + number}"
            text = f"In {space} the {topic} is written in Rust, since it is cheap to run."
            dated[space].append((day, await put(text, day, type="decision", space=space)))
            await put(f"The {topic} of {space} costs {month * 17} euros a month.", day, space=space)
    ids = {key: await put(text, day, **given) for key, (text, day, given) in NOTES.items()}
    own = [(NOTES[key][1], ids[key]) for key in NOTES if NOTES[key][2].get("type") == "decision"]
    dated["tollgate"] += own
    while await drain(memory.ports):
        pass
    return Asked(ids, {space: [note for _, note in sorted(rows, reverse=True)] for space, rows in dated.items()})


async def measured(encoder: str) -> list[tuple[str, str, bool, bool]]:
    """Kind, question, whether it was held out, whether it is answered."""
    rows = []
    with memory_of(encoder) as memory:
        async with memory.running():
            asked = await store(memory)
            for number, (kind, question, check) in enumerate(questions()):
                request = Recall(question)
                found = await memory.attend(
                    lambda ports, request=request: recall(
                        replace(ports, asked_at=ASKED, clock=lambda: ASKED), CALLER, request
                    )  # type: ignore[misc]
                )
                rows.append((kind, question, number % 3 == 0, check(found, asked)))
            rows += [("browsing", f"page at {at}", False, right) for at, right in await pages(memory, asked)]
    return rows


async def pages(memory: Memory, asked: Asked) -> list[tuple[int, bool]]:
    """Whether each page of three decisions is the right one, with the right total."""
    wanted = asked.decisions["tollgate"]
    right = []
    for at in range(0, len(wanted), 3):
        request = Recall(types=["decision"], spaces=["tollgate"], limit=3, offset=at)
        found = await memory.attend(partial(recall, caller=CALLER, request=request))
        total = found.listing.total if found.listing else None
        right.append((at, [hit.note.id for hit in found.hits] == wanted[at : at + 3] and total == len(wanted)))
    return right


async def measured_lists(encoder: str) -> list[tuple[str, str, bool, list[str], list[str]]]:
    """Space, question, whether exactly the right notes are listed; those that are missing, those that are too many."""
    rows = []
    for world in json.loads(LISTS.read_text("utf-8")):
        space, caller = world["space"], Caller(world["space"], "the bench", "bench")
        with memory_of(encoder) as memory:
            async with memory.running():
                keys = {}
                for note in world["notes"]:
                    request = Remember(note["content"], note["type"], event_time=note["event_time"], space=space)
                    stored = await memory.attend(partial(remember, caller=CALLER, request=request))
                    keys[stored.note.id] = note["id"]
                while await drain(memory.ports):
                    pass
                for item in world["questions"]:
                    found = await memory.attend(
                        lambda ports, asked=item["query"], caller=caller: recall(  # type: ignore[misc]
                            replace(ports, asked_at=ASKED, clock=lambda: ASKED), caller, Recall(asked)
                        )
                    )
                    told, right = {keys[hit.note.id] for hit in found.hits if hit.listed}, set(item["right"])
                    rows.append((space, item["query"], told == right, sorted(right - told), sorted(told - right)))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", default="builtin")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--lists", action="store_true", help="the lists by time of data/lists.json alone")
    options = parser.parse_args()
    if options.lists:
        told = anyio.run(measured_lists, options.encoder)
        print(f"lists exactly right: {sum(row[2] for row in told)} of {len(told)}")
        print("\n".join(f"  {row[0]}: {row[1]} (missing {row[3]}, too many {row[4]})" for row in told if not row[2]))
        return
    rows = anyio.run(measured, options.encoder)
    print(f"{'kind':12}{'at hand':>12}{'held out':>12}")
    for kind in [*dict.fromkeys(row[0] for row in rows), "all"]:
        mine = [row for row in rows if kind in (row[0], "all")]
        told = [[row[3] for row in mine if row[2] is held] for held in (False, True)]
        print(f"{kind:12}" + "".join(f"{f'{sum(each)} of {len(each)}':>12}" for each in told))
    if options.verbose:
        print("\n".join(f"  not answered ({kind}): {question}" for kind, question, _, right in rows if not right))


if __name__ == "__main__":
    main()
