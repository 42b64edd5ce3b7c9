"""What each term of the ranking is worth: everything is asked again with one of them taken out, on every data set.

    python bench/ablation.py [--data devmem|none|FILE] [--locomo FILE] [--limit N]

In one process, without a server: the notes are stored once, in a folder that is thrown away, and every answerable query
is asked of the engine for each variant, at its own time and from its own space. A row shows recall@5, recall@10 and MRR
over the queries of a data set without the term, and what that changes against the whole: below 0, the term helps. The
lines of relevance stay in force, so what lowers relevance may also silence; the rows "gate" and "floor" take them out.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import anyio

from datasets import APART, BenchQuery, Dataset, add_arguments, chosen_datasets
from holdfast.app import build_memory
from holdfast.encode.provider import VectorSet
from holdfast.engine.agent.recall import Recall, recall
from holdfast.engine.agent.remember import Remember, remember
from holdfast.engine.encoding import drain
from holdfast.engine.ports import Caller, Encoder
from holdfast.engine.runtime import Memory
from holdfast.index.recalls import RecallLog
from holdfast.index.search import snapshot as words
from holdfast.index.view import IndexView
from holdfast.model.note import RANDOM_BITS, note_id
from holdfast.model.ranking import WEIGHTS, Filter, Ranked, Weights
from holdfast.model.records import RecallEvent
from holdfast.running import configure_logs
from holdfast.settings import load_settings
from scoring import SEED, Answer, Interval, differences, intervals

HITS = 10
WHOLE = "(the whole)"
UNRATED = "affinity"  # there is no feedback in these data


@dataclass(frozen=True, slots=True)
class Variant:
    """A ranking with something taken out: other weights, or other things in the places that `patches` names."""

    name: str
    weights: Weights = WEIGHTS
    patches: Mapping[str, object] = field(default_factory=dict)

    @contextmanager
    def in_force(self) -> Iterator[None]:
        with ExitStack() as stack:
            for place, thing in {"holdfast.index.search.finder.WEIGHTS": self.weights, **self.patches}.items():
                stack.enter_context(mock.patch(place, thing))
            yield


def variants() -> list[Variant]:
    """The whole first, then each weight by its name, then what is no weight."""
    terms = [each.name for each in fields(Weights) if each.type == "float" and each.name != UNRATED]
    return [
        Variant(WHOLE),
        *(Variant(f"weight {name}", without_weight(name)) for name in terms),
        Variant("fading of time", replace(WEIGHTS, fading=timedelta.resolution)),
        Variant("time window as filter", patches={"holdfast.engine.agent.answer.hard_filter": lambda _asking: None}),
        Variant("time reading", patches={"holdfast.engine.agent.question.read_time": lambda _query, _asked: None}),
        Variant("session's words", patches={"holdfast.index.search.snapshot._SCORED": without_session_columns()}),
        Variant(
            "names out of vector", patches={"holdfast.engine.agent.recall.without_names": lambda text, _names: text}
        ),
        Variant("heirs of the replaced", patches={"holdfast.engine.agent.answer._replaced": without_heirs}),
        Variant("gate", patches={"holdfast.model.ranking.GATE": 0.0}),
        Variant("floor", patches={"holdfast.model.ranking.FLOOR": 0.0}),
        Variant("vector leg", patches={"holdfast.engine.encoding.encode_query": without_vector}),
        Variant("word leg", patches={"holdfast.index.search.finder.search_words": without_words}),
    ]


def without_weight(name: str) -> Weights:
    taken: dict[str, Any] = {name: 0.0}
    return replace(WEIGHTS, **taken)


def without_session_columns() -> str:
    """The statement of the word leg in which a note's neighbours count for nothing."""
    statement = words._SCORED.replace("0.45, 0.3)", "0.0, 0.0)")  # noqa: SLF001 - what is measured
    assert statement != words._SCORED  # noqa: SLF001
    return statement


def without_heirs(
    _view: IndexView, _asking: object, ranked: Sequence[Ranked], _chains: object, wanted: Filter
) -> list[Ranked]:
    """What was replaced is left out, so nothing inherits from it."""
    return [item for item in ranked if wanted.include_outdated or not item.candidate.outdated]


async def without_vector(*_arguments: object) -> tuple[None, str]:
    return None, ""


def without_words(
    connection: Any, snapshot: Any, _words: list[str], passes: Any, most: int, *_rare: object
) -> words.Lexical:
    return words.search_words(connection, snapshot, [], passes, most)


class Remembering:
    """An encoder that encodes a query once."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._queries: dict[str, bytes] = {}

    @property
    def vector_set(self) -> VectorSet:
        return self._encoder.vector_set

    async def identify(self) -> VectorSet:
        return await self._encoder.identify()

    @property
    def backlog(self) -> int:
        return self._encoder.backlog

    async def encode_documents(self, texts: Sequence[str]) -> list[list[bytes]]:
        return await self._encoder.encode_documents(texts)

    async def encode_query(self, text: str) -> bytes:
        if text not in self._queries:
            self._queries[text] = await self._encoder.encode_query(text)
        return self._queries[text]

    async def aclose(self) -> None:
        await self._encoder.aclose()


class Forgetting(RecallLog):
    """A log of recalls that keeps none."""

    async def add(self, event: RecallEvent) -> bool:
        del event
        return True


def build(home: Path) -> Memory:
    configure_logs("warning")
    memory = build_memory(load_settings(os.environ | {"HOLDFAST_HOME": str(home)}))
    encoder = memory.ports.encoder
    memory.ports = replace(
        memory.ports,
        encoder=Remembering(encoder) if encoder else None,
        recalls=Forgetting(home / "recalls.db"),
        new_id=seeded_ids(random.Random(SEED)),  # noqa: S311 - ids decide which notes are sampled as background
    )
    return memory


def seeded_ids(generator: random.Random) -> Callable[[], str]:
    return lambda: note_id(time.time_ns() // 1_000_000, generator.getrandbits(RANDOM_BITS))


async def store(memory: Memory, dataset: Dataset) -> dict[str, str]:
    """Remembers every note in order and waits for the last vector; Holdfast's ids by those of the data set."""
    ids: dict[str, str] = {}
    caller = Caller(None, "bench", "bench")
    for note in dataset.notes:
        request = Remember(**note.arguments, supersedes=[ids[old] for old in note.supersedes])
        stored = await memory.attend(partial(remember, caller=caller, request=request))
        ids[note.id] = stored.note.id
    while await drain(memory.ports):
        pass
    return ids


async def ask(memory: Memory, query: BenchQuery, weights: Weights) -> tuple[str, ...]:
    """The ids of the hits, best first."""
    caller = Caller(query.space, "bench", "bench")
    request = Recall(query.text, HITS, **query.arguments)
    asked = datetime.fromisoformat(query.asked_day) if query.asked_day else None
    found = await memory.attend(
        lambda ports: recall(replace(ports, asked_at=asked), caller, request, weights),
    )
    return tuple(hit.note.id for hit in found.hits)


async def answers_of(home: Path, dataset: Dataset) -> dict[str, list[Answer]]:
    """The answers of every variant to the queries that count."""
    queries = [query for query in dataset.queries if query.evidence and query.kind not in APART]
    answers: dict[str, list[Answer]] = {}
    memory = build(home)
    async with memory.running():
        ids = await store(memory, dataset)
        wanted = {query.id: tuple(dict.fromkeys(ids[note] for note in query.evidence)) for query in queries}
        for variant in variants():
            with variant.in_force():
                found = [(query, await ask(memory, query, variant.weights)) for query in queries]
            answers[variant.name] = [
                Answer(query.kind, ranked, wanted[query.id], query=query.id) for query, ranked in found
            ]
    return answers


def measured(dataset: Dataset) -> dict[str, list[Answer]]:
    with TemporaryDirectory(prefix="holdfast-bench-", ignore_cleanup_errors=True) as folder:
        return anyio.run(answers_of, Path(folder), dataset)


@dataclass(frozen=True, slots=True)
class Row:
    """One variant on one data set: each measure, its difference to the whole, and how many answers are others."""

    figures: Mapping[str, Interval]
    changes: Mapping[str, Interval]
    others: int

    def changed(self, sign: int) -> list[str]:
        """The measures that lie beyond doubt on one side of those of the whole."""
        return [name for name, each in self.changes.items() if each.excludes_zero and each.mean * sign > 0]


def rows_of(answers: Mapping[str, Sequence[Answer]]) -> dict[str, Row]:
    whole = answers[WHOLE]
    return {
        name: Row(
            intervals(mine),
            differences(mine, whole),
            sum(ours.ranked != theirs.ranked for ours, theirs in zip(mine, whole, strict=True)),
        )
        for name, mine in answers.items()
    }


def table(rows: Mapping[str, Mapping[str, Row]]) -> str:
    """A line for each variant; data sets side by side."""
    first = next(iter(rows.values()))
    measures = tuple(next(iter(first.values())).figures)
    head = "".join(f"{name:>6}" for name in measures) + "  " + "".join(f"{name:^8}" for name in measures) + " other"
    lines = [
        f"{'':22}" + "".join(f" | {name:^{len(head)}}" for name in rows).rstrip(),
        f"{'without':22}" + f" | {head}" * len(rows),
        "-" * (22 + len(rows) * (len(head) + 3)),
    ]
    lines += [f"{name:22}" + "".join(f" | {row_text(each[name])}" for each in rows.values()) for name in first]
    legend = "* the 95 % bootstrap interval of the paired difference excludes 0; other: queries with another answer"
    return "\n".join([*lines, legend])


def row_text(row: Row) -> str:
    figures = "".join(f"{each.mean:6.3f}" for each in row.figures.values())
    changes = (f"{round(each.mean, 3) + 0.0:+.3f}{'*' if each.excludes_zero else ' '}" for each in row.changes.values())
    return figures + "  " + "".join(f"{change:^8}" for change in changes) + f"{row.others:6}"


def verdicts(rows: Mapping[str, Mapping[str, Row]]) -> str:
    """Which terms earn their place, and on which data."""
    names = [name for name in next(iter(rows.values())) if name != WHOLE]
    helps = {name: sides(rows, name, -1) for name in names}
    harms = {name: sides(rows, name, +1) for name in names}
    shown = [f"  {name}: {told}" for name, told in helps.items() if told]
    against = [f"  {name}: {told}" for name, told in harms.items() if told]
    idle = [name for name in names if not any(each[name].others for each in rows.values())]
    unshown = [name for name in names if not helps[name] and not harms[name] and name not in idle]
    return "\n".join(
        [
            "Taking it out costs:",
            *(shown or ["  nothing does"]),
            "Taking it out gains:",
            *(against or ["  nothing does"]),
            f"Shown neither way: {', '.join(unshown) or 'none'}",
            f"Not put to the test, no answer changes: {', '.join(idle) or 'none'}",
        ]
    )


def sides(rows: Mapping[str, Mapping[str, Row]], name: str, sign: int) -> str:
    told = {dataset: each[name].changed(sign) for dataset, each in rows.items()}
    return "; ".join(f"{dataset} {', '.join(measures)}" for dataset, measures in told.items() if measures)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    datasets = chosen_datasets(parser.parse_args())
    rows = {dataset.name: rows_of(measured(dataset)) for dataset in datasets}
    if rows:
        print(f"{table(rows)}\n{verdicts(rows)}")


if __name__ == "__main__":
    main()
