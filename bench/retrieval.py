"""How well the real server finds what it was given, over stdio, beside BM25, cosines alone and grep on the same notes.

    python bench/retrieval.py [--data devmem|none|FILE] [--locomo FILE] [--limit N] [--json OUT]

FILE is any file in the format of DevMem or of LoCoMo. It prints, for each kind of query and over all: recall@5,
recall@10 and MRR; then counts of what must not go wrong; 95 % bootstrap intervals, whole, by halves of the queries
(weights are chosen on half A of DevMem) and less BM25; how well the best hit's relevance tells queries that nothing
answers from the others; and how long calls took. A query that says when it is asked is asked on that day.

Whatever the figures, it ends with 0. With --check it ends with 1 when Holdfast's recall@10 is below BM25's in
the same run, or below a floor such as `--floor devmem=0.90`. HOLDFAST_ENCODER and the like reach the server.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from baselines import baseline_answers
from datasets import APART, BenchQuery, Dataset, add_arguments, chosen_datasets
from scoring import (
    Answer,
    abstention,
    by_kind,
    counted_by,
    differences,
    false_positives,
    figures,
    intervals,
    macro,
    percentile,
    stale_error,
    table,
)
from summary import by_half, summary

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from scoring import Count, Interval

SERVER = Path(__file__).parents[1] / "server"
HITS = 10
ENCODING_SECONDS = 600.0
POLL_SECONDS = 0.5

Session = Client[StdioTransport]


@dataclass(frozen=True, slots=True)
class Stored:
    """The server's ids of the data set's notes, and the seconds of each `remember`."""

    ids: dict[str, str]
    seconds: list[float]


@dataclass(frozen=True, slots=True)
class Run:
    """One data set: the server's answers, the seconds of each call, and whether all was encoded."""

    dataset: Dataset
    answers: list[Answer]
    recall_seconds: list[float]
    remember_seconds: list[float]
    encoded: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """A run beside the baselines: the answers of every system, ours first."""

    run: Run
    answers: dict[str, list[Answer]]

    @property
    def counted(self) -> dict[str, list[Answer]]:
        """Without the kinds that are shown apart."""
        return {
            name: [answer for answer in answers if answer.kind not in APART] for name, answers in self.answers.items()
        }


def environment(folder: Path, space: str | None, day: str | None) -> dict[str, str]:
    """The caller's, but with a home folder and a memory of its own, asked from no space but `space`, on `day`."""
    ours = {"HOLDFAST_HOME", "HOLDFAST_SPACE", "HOLDFAST_NOW"}
    inherited = {name: value for name, value in os.environ.items() if name not in ours}
    paths = [str(SERVER), *filter(None, [os.environ.get("PYTHONPATH")])]
    own = {
        "HOLDFAST_HOME": str(folder / "memory"),
        "HOME": str(folder),
        "USERPROFILE": str(folder),
        "PYTHONPATH": os.pathsep.join(paths),
    }
    asked = {"HOLDFAST_SPACE": space, "HOLDFAST_NOW": day}
    return inherited | own | {name: value for name, value in asked.items() if value}


@asynccontextmanager
async def server(folder: Path, space: str | None = None, day: str | None = None) -> AsyncIterator[Session]:
    """A server process on the memory in `folder`, which is its home and so gives it no space of its own."""
    transport = StdioTransport(
        command=sys.executable,
        args=["-m", "holdfast"],
        env=environment(folder, space, day),
        cwd=str(folder),
        keep_alive=False,
        log_file=folder / "server.log",
    )
    async with Client(transport, timeout=120) as session:
        yield session


async def call(session: Session, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    answer = await session.call_tool(tool, arguments)
    assert answer.structured_content is not None, f"{tool} gave no structured content"
    return answer.structured_content


async def store(session: Session, dataset: Dataset) -> Stored:
    """Remembers every note in order. A retry (same words, same session) keeps the id of the first."""
    ids: dict[str, str] = {}
    seconds: list[float] = []
    for note in dataset.notes:
        older = {"supersedes": [ids[old] for old in note.supersedes]} if note.supersedes else {}
        begin = time.perf_counter()
        stored = await call(session, "remember", note.arguments | older)
        seconds.append(time.perf_counter() - begin)
        ids[note.id] = stored["id"]
    return Stored(ids, seconds)


async def wait_until_encoded(session: Session) -> bool:
    """Waits until recall no longer reports vectors that are pending; False when the time was not enough."""
    deadline = time.monotonic() + ENCODING_SECONDS
    while time.monotonic() < deadline:
        answer = await call(session, "recall", {"query": "anything", "limit": 1})
        if not any("pending" in str(notice).lower() for notice in answer.get("notices", ())):
            return True
        await asyncio.sleep(POLL_SECONDS)
    return False


async def ask(session: Session, query: BenchQuery, ids: dict[str, str]) -> tuple[Answer, float]:
    """The answer in the server's ids, and the seconds it took. Silence is asked again for what was nearest."""
    arguments = {"query": query.text, "limit": HITS} | query.arguments
    begin = time.perf_counter()
    hits = (await call(session, "recall", arguments))["results"]
    seconds = time.perf_counter() - begin
    nearest = hits or (await call(session, "recall", arguments | {"explain": True}))["results"]
    answer = Answer(
        kind=query.kind,
        ranked=tuple(hit["id"] for hit in hits),
        evidence=server_ids(query.evidence, ids),
        stale=server_ids(query.stale, ids),
        strong=sum(not hit["weak"] for hit in hits),
        query=query.id,
        nearest=tuple(hit["relevance"] for hit in nearest),
    )
    return answer, seconds


def server_ids(notes: Sequence[str], ids: dict[str, str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ids[note] for note in notes))


async def run(dataset: Dataset, folder: Path) -> Run:
    """Stores, waits, asks: one server process for each space and day of asking, one after the other, on one memory."""
    async with server(folder) as session:
        stored = await store(session, dataset)
        encoded = await wait_until_encoded(session)
    asked: dict[str, tuple[Answer, float]] = {}
    for space, day in dict.fromkeys((query.space, query.asked_day) for query in dataset.queries):
        async with server(folder, space, day) as session:
            await call(session, "recall", {"query": "anything", "limit": 1})  # loads the encoder, untimed
            for query in dataset.queries:
                if (query.space, query.asked_day) == (space, day):
                    asked[query.id] = await ask(session, query, stored.ids)
    in_order = [asked[query.id] for query in dataset.queries]
    return Run(
        dataset=dataset,
        answers=[answer for answer, _ in in_order],
        recall_seconds=[seconds for _, seconds in in_order],
        remember_seconds=stored.seconds,
        encoded=encoded,
    )


def report(outcome: Outcome) -> str:
    dataset = outcome.run.dataset
    lines = [
        f"\n{dataset.name}: {len(dataset.notes)} notes, {len(dataset.queries)} queries",
        table(outcome.answers, APART),
        summary(outcome.counted),
        timing("recall", outcome.run.recall_seconds),
        timing("remember", outcome.run.remember_seconds),
    ]
    return "\n".join(lines if outcome.run.encoded else [*lines, "asked before all vectors were there"])


def timing(tool: str, seconds: Sequence[float]) -> str:
    p50, p95 = percentile(seconds, 0.5) * 1000, percentile(seconds, 0.95) * 1000
    return f"{tool}: {p50:.1f} ms p50, {p95:.1f} ms p95, over {len(seconds)} calls"


def as_json(outcome: Outcome) -> dict[str, Any]:
    counted, seconds = outcome.counted, outcome.run.recall_seconds
    doubt = abstention(counted["Holdfast"])
    return {
        "systems": {name: system_json(outcome.answers[name], answers) for name, answers in counted.items()},
        "counts": as_dicts(counted_by(counted)),
        "halves": {name: asdict(figures(answers)) for name, answers in by_half(counted["Holdfast"]).items()},
        "intervals": as_dicts(
            {
                "Holdfast": intervals(counted["Holdfast"]),
                "less BM25": differences(counted["Holdfast"], counted["BM25"]),
            }
        ),
        "abstention": asdict(doubt) if doubt else None,
        "recall_ms": {name: percentile(seconds, share) * 1000 for name, share in (("p50", 0.5), ("p95", 0.95))},
        "encoded": outcome.run.encoded,
    }


def as_dicts(rows: Mapping[str, Mapping[str, Count] | Mapping[str, Interval]]) -> dict[str, dict[str, Any]]:
    return {title: {name: asdict(value) for name, value in row.items()} for title, row in rows.items()}


def system_json(answers: Sequence[Answer], counted: Sequence[Answer]) -> dict[str, Any]:
    wrong = false_positives(answers)
    return {
        "kinds": {kind: asdict(row) for kind, row in by_kind(answers).items()},
        "macro": asdict(macro(by_kind(counted))),
        "micro": asdict(figures(counted)),
        "stale_error": stale_error(answers),
        "off_topic": asdict(wrong) if wrong else None,
    }


def shortfalls(outcome: Outcome, floors: dict[str, float]) -> list[str]:
    """Sentences about what a check does not accept; none when all is well."""
    recall = {name: figures(answers).recall10 for name, answers in outcome.counted.items()}
    name, ours = outcome.run.dataset.name, recall["Holdfast"]
    found = []
    if ours < recall["BM25"]:
        found.append(f"{name}: recall@10 {ours:.3f} is below BM25's {recall['BM25']:.3f}")
    if ours < floors.get(name, 0.0):
        found.append(f"{name}: recall@10 {ours:.3f} is below the floor {floors[name]:.3f}")
    return found


def floor(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    return name, float(value)


def parsed_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write the figures to this file")
    parser.add_argument("--check", action="store_true", help="end with 1 when a figure is too low")
    parser.add_argument(
        "--floor",
        type=floor,
        action="append",
        default=[],
        metavar="NAME=SHARE",
        help="for --check: least recall@10",
    )
    return parser.parse_args()


def measure(dataset: Dataset) -> Outcome:
    with TemporaryDirectory(prefix="holdfast-bench-", ignore_cleanup_errors=True) as folder:
        ours = asyncio.run(run(dataset, Path(folder)))
    outcome = Outcome(ours, {"Holdfast": ours.answers, **baseline_answers(dataset)})
    print(report(outcome), flush=True)
    return outcome


def main() -> int:
    options = parsed_options()
    outcomes = [measure(dataset) for dataset in chosen_datasets(options)]
    if options.json:
        by_name = {outcome.run.dataset.name: as_json(outcome) for outcome in outcomes}
        options.json.write_text(json.dumps(by_name, indent=2) + "\n", "utf-8")
    if not options.check:
        return 0
    failures = [line for outcome in outcomes for line in shortfalls(outcome, dict(options.floor))]
    print("\n".join(["", *failures] if failures else ["", "check passed"]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
