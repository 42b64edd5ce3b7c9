"""What ranked answers are worth: recall, reciprocal rank, stale errors, false positives. Pure functions.

Notes are known by any one kind of id, as long as an answer uses the same kind throughout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Answer:
    """One ranking for one query, best first; `strong` counts the hits that were not marked as weak."""

    kind: str
    ranked: tuple[str, ...]
    evidence: tuple[str, ...]
    stale: tuple[str, ...] = ()
    strong: int = 0


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
    stale = [(name, stale_error(answers)) for name, answers in systems.items()]
    wrong = [(name, false_positives(answers)) for name, answers in systems.items()]
    stale_shares = ", ".join(f"{name} {share:.3f}" for name, share in stale if share is not None)
    wrong_shares = "; ".join(
        f"{name} {share.strong:.3f} not weak, {share.returned:.3f} at all" for name, share in wrong if share
    )
    lines = [f"stale error: {stale_shares}"] if stale_shares else []
    return [*lines, f"off-topic queries with a hit: {wrong_shares}"] if wrong_shares else lines
