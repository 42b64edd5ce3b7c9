"""What ranked answers are worth: recall, reciprocal rank, counts, abstention, bootstrap intervals. Pure functions.

Notes are known by any one kind of id, as long as an answer uses the same kind throughout.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

RESAMPLES, SEED = 2000, 7
HALVES: tuple[Literal["A", "B"], ...] = ("A", "B")


@dataclass(frozen=True, slots=True)
class Answer:
    """One ranking for one query, best first; `strong` counts the hits that were not marked as weak.

    `nearest` are the relevances of the hits, in order; where the gate let none through, those of the nearest notes.
    """

    kind: str
    ranked: tuple[str, ...]
    evidence: tuple[str, ...]
    stale: tuple[str, ...] = ()
    strong: int = 0
    query: str = ""
    nearest: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Figures:
    """Means over queries, each in 0..1."""

    queries: int
    recall5: float
    recall10: float
    mrr: float


@dataclass(frozen=True, slots=True)
class FalsePositives:
    """Shares of the queries without evidence that still got a hit."""

    queries: int
    strong: float
    returned: float


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over queries and the bounds of its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        return self.low > 0.0 or self.high < 0.0


@dataclass(frozen=True, slots=True)
class Count:
    found: int
    of: int


@dataclass(frozen=True, slots=True)
class Silence:
    """Shares of some queries that got no hit at all, and that got weak hits only."""

    queries: int
    silenced: float
    only_weak: float


@dataclass(frozen=True, slots=True)
class Abstention:
    """How well relevance tells queries that the notes answer from queries that they do not.

    Attributes:
        auc_first: how often the first hit of an answerable query is of higher relevance than that of an off-topic
            one (the area under the ROC curve); ties count a half.
        auc_highest: the same for the highest relevance among the hits.
    """

    auc_first: float
    auc_highest: float
    answerable: Silence
    off_topic: Silence


def recall_at(answer: Answer, depth: int) -> float:
    """The share of the evidence among the first `depth` notes."""
    wanted = set(answer.evidence)
    return len(wanted.intersection(answer.ranked[:depth])) / len(wanted)


def reciprocal_rank(answer: Answer) -> float:
    """1 / rank of the first evidence note, 0 when none was found."""
    best = first_rank(answer.ranked, answer.evidence)
    return 1 / best if best else 0.0


def first_rank(ranked: Sequence[str], wanted: Collection[str]) -> int | None:
    return next((rank for rank, note in enumerate(ranked, start=1) if note in wanted), None)


def is_stale_error(answer: Answer) -> bool:
    """A stale note stands above the best evidence note; one that was not returned is no error."""
    stale = first_rank(answer.ranked, answer.stale)
    best = first_rank(answer.ranked, answer.evidence)
    return stale is not None and (best is None or stale < best)


def figures(answers: Iterable[Answer]) -> Figures:
    """Means over the answerable queries: the micro average of a data set, or the figures of one kind."""
    answerable = [answer for answer in answers if answer.evidence]
    return Figures(
        queries=len(answerable),
        recall5=mean([recall_at(answer, 5) for answer in answerable]),
        recall10=mean([recall_at(answer, 10) for answer in answerable]),
        mrr=mean([reciprocal_rank(answer) for answer in answerable]),
    )


def by_kind(answers: Iterable[Answer]) -> dict[str, Figures]:
    """Figures for each kind of answerable query, in the order of first appearance."""
    grouped: dict[str, list[Answer]] = {}
    for answer in answers:
        if answer.evidence:
            grouped.setdefault(answer.kind, []).append(answer)
    return {kind: figures(members) for kind, members in grouped.items()}


def macro(kinds: Mapping[str, Figures]) -> Figures:
    """The mean of the kinds' figures: every kind counts the same, however many queries it has."""
    members = list(kinds.values())
    return Figures(
        queries=sum(member.queries for member in members),
        recall5=mean([member.recall5 for member in members]),
        recall10=mean([member.recall10 for member in members]),
        mrr=mean([member.mrr for member in members]),
    )


def stale_error(answers: Iterable[Answer]) -> float | None:
    """The share of stale errors among queries with stale notes; None when there is no such query."""
    endangered = [answer for answer in answers if answer.stale and answer.evidence]
    return mean([float(is_stale_error(answer)) for answer in endangered]) if endangered else None


def false_positives(answers: Iterable[Answer]) -> FalsePositives | None:
    """What off-topic queries (those without evidence) still returned; None when there is no such query."""
    off_topic = [answer for answer in answers if not answer.evidence]
    if not off_topic:
        return None
    return FalsePositives(
        queries=len(off_topic),
        strong=mean([float(answer.strong > 0) for answer in off_topic]),
        returned=mean([float(bool(answer.ranked)) for answer in off_topic]),
    )


MEASURES: Mapping[str, Callable[[Answer], float]] = {
    "R@5": lambda answer: recall_at(answer, 5),
    "R@10": lambda answer: recall_at(answer, 10),
    "MRR": reciprocal_rank,
}


def intervals(answers: Iterable[Answer]) -> dict[str, Interval]:
    """Each measure over the answerable queries."""
    answerable = [answer for answer in answers if answer.evidence]
    return {name: bootstrap([measure(answer) for answer in answerable]) for name, measure in MEASURES.items()}


def differences(answers: Sequence[Answer], others: Sequence[Answer]) -> dict[str, Interval]:
    """Each measure of `answers` less that of `others`, which answer the same queries in the same order."""
    pairs = [(ours, theirs) for ours, theirs in zip(answers, others, strict=True) if ours.evidence]
    return {
        name: bootstrap([measure(ours) - measure(theirs) for ours, theirs in pairs])
        for name, measure in MEASURES.items()
    }


def bootstrap(values: Sequence[float], resamples: int = RESAMPLES, seed: int = SEED) -> Interval:
    """The mean with its 95 % percentile interval over resamples of the values; the same for the same seed."""
    if not values:
        return Interval(0.0, 0.0, 0.0)
    generator = np.random.default_rng(seed)
    known = np.asarray(values, np.float64)
    means = np.array([known[generator.integers(0, len(known), len(known))].mean() for _ in range(resamples)])
    low, high = np.quantile(means, (0.025, 0.975))
    return Interval(mean(values), float(low), float(high))


def half(query: str) -> Literal["A", "B"]:
    """Which half of the data a query belongs to, by its id alone: weights are chosen on half A, and B is held out."""
    return HALVES[hashlib.sha256(query.encode()).digest()[0] % 2]


def first_of_all(answers: Iterable[Answer], kind: str) -> Count:
    """How many queries of a kind have evidence at rank 1."""
    return _count(reciprocal_rank(answer) == 1.0 for answer in answers if answer.kind == kind)


def found_at_all(answers: Iterable[Answer], kind: str, depth: int = 10) -> Count:
    """How many queries of a kind have any evidence among the first `depth` notes."""
    return _count(recall_at(answer, depth) > 0.0 for answer in answers if answer.kind == kind)


def stale_errors(answers: Iterable[Answer]) -> Count:
    """How many of the queries with stale notes have one above the evidence."""
    return _count(is_stale_error(answer) for answer in answers if answer.stale and answer.evidence)


def _count(outcomes: Iterable[bool]) -> Count:
    known = list(outcomes)
    return Count(sum(known), len(known))


def abstention(answers: Sequence[Answer]) -> Abstention | None:
    """None where either sort of query is missing: then there is nothing to tell apart."""
    answerable = [answer for answer in answers if answer.evidence]
    off_topic = [answer for answer in answers if not answer.evidence]
    if not answerable or not off_topic:
        return None
    return Abstention(
        auc_first=auc([_first(answer) for answer in answerable], [_first(answer) for answer in off_topic]),
        auc_highest=auc([_highest(answer) for answer in answerable], [_highest(answer) for answer in off_topic]),
        answerable=silence(answerable),
        off_topic=silence(off_topic),
    )


def _first(answer: Answer) -> float:
    return answer.nearest[0] if answer.nearest else 0.0


def _highest(answer: Answer) -> float:
    return max(answer.nearest, default=0.0)


def auc(higher: Sequence[float], lower: Sequence[float]) -> float:
    """The share of pairs in which the value of `higher` is above that of `lower`; ties count a half."""
    return mean([(above > below) + (above == below) / 2 for above in higher for below in lower])


def silence(answers: Sequence[Answer]) -> Silence:
    return Silence(
        queries=len(answers),
        silenced=mean([float(not answer.ranked) for answer in answers]),
        only_weak=mean([float(bool(answer.ranked) and not answer.strong) for answer in answers]),
    )


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of the values do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]


def mean(values: Sequence[float]) -> float:
    """0 for no values, so that an empty kind shows as nothing found."""
    return sum(values) / len(values) if values else 0.0


def table(systems: Mapping[str, Sequence[Answer]], apart: Collection[str] = ()) -> str:
    """Systems side by side, a row for each kind; kinds in `apart` are shown but left out of the averages."""
    counted = {name: [answer for answer in answers if answer.kind not in apart] for name, answers in systems.items()}
    kinds = {name: by_kind(answers) for name, answers in counted.items()}
    first = next(iter(kinds))
    rows = [(kind, {name: kinds[name][kind] for name in systems}) for kind in kinds[first]]
    rows.append(("macro", {name: macro(kinds[name]) for name in systems}))
    rows.append(("micro", {name: figures(counted[name]) for name in systems}))
    beside = {name: by_kind(answers) for name, answers in systems.items()}
    rows += [(f"({kind})", {name: beside[name][kind] for name in systems}) for kind in beside[first] if kind in apart]
    head = f"{'':14}{'n':>5} " + "".join(f" | {name:^20}" for name in systems)
    units = f"{'kind':14}{'':>5} " + f" | {'R@5':>6}{'R@10':>7}{'MRR':>7}" * len(systems)
    lines = [head.rstrip(), units, "-" * len(units), *(row_text(kind, row) for kind, row in rows)]
    return "\n".join([*lines, *share_lines(counted)])


def row_text(kind: str, row: Mapping[str, Figures]) -> str:
    size = next(iter(row.values())).queries
    cells = (f" | {cell.recall5:6.3f}{cell.recall10:7.3f}{cell.mrr:7.3f}" for cell in row.values())
    return f"{kind:14}{size:5} " + "".join(cells)


def share_lines(systems: Mapping[str, Sequence[Answer]]) -> list[str]:
    wrong = [(name, false_positives(answers)) for name, answers in systems.items()]
    wrong_shares = ", ".join(f"{name} {share.strong:.3f}/{share.returned:.3f}" for name, share in wrong if share)
    lines = [line for title, counts in counted_by(systems).items() if (line := count_line(title, counts))]
    return [*lines, f"off-topic queries with a hit, not weak/at all: {wrong_shares}"] if wrong_shares else lines


def counted_by(systems: Mapping[str, Sequence[Answer]]) -> dict[str, dict[str, Count]]:
    """The counts that are read as counts, of each system."""
    return {
        "stale above evidence": {name: stale_errors(answers) for name, answers in systems.items()},
        "exact at rank 1": {name: first_of_all(answers, "exact") for name, answers in systems.items()},
        "multilingual in ten": {name: found_at_all(answers, "multilingual") for name, answers in systems.items()},
    }


def count_line(title: str, counts: Mapping[str, Count]) -> str:
    """Empty where there is no such query."""
    told = [f"{name} {count.found} of {count.of}" for name, count in counts.items() if count.of]
    return f"{title}: {', '.join(told)}" if told else ""
