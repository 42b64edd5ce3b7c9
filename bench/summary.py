"""The figures of one run in words: intervals, the two halves of the queries, and when it kept silent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scoring import HALVES, MEASURES, RESAMPLES, SEED, abstention, differences, half, intervals, silence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scoring import Answer, Interval, Silence

CELL = 27


def summary(systems: Mapping[str, Sequence[Answer]], ours: str = "Holdfast", against: str = "BM25") -> str:
    """What stands below the table; `systems` are the answers that count for the averages."""
    return "\n".join([*interval_lines(systems, ours, against), *silence_lines(systems[ours])])


def interval_lines(systems: Mapping[str, Sequence[Answer]], ours: str, against: str) -> list[str]:
    """The micro averages of one system with their intervals, whole, by halves, and less those of another."""
    answers = systems[ours]
    rows = [(ours, size(answers), intervals(answers))]
    rows += [(f"half {name}", size(members), intervals(members)) for name, members in by_half(answers).items()]
    rows.append((f"less {against}", size(answers), differences(answers, systems[against])))
    head = f"{'':14}{'n':>5}  " + "".join(f"{name:^{CELL}}" for name in MEASURES)
    title = f"{ours}, micro, with 95 % bootstrap intervals ({RESAMPLES:,} resamples over queries, seed {SEED})"
    return [title, head.rstrip(), *(interval_row(*row) for row in rows)]


def interval_row(name: str, queries: int, row: Mapping[str, Interval]) -> str:
    signed = "+" if name.startswith("less ") else ""
    cells = (f"{each.mean:{signed}.3f} [{each.low:{signed}.3f}, {each.high:{signed}.3f}]" for each in row.values())
    return f"{name:14}{queries:5}  " + "".join(f"{cell:^{CELL}}" for cell in cells).rstrip()


def by_half(answers: Sequence[Answer]) -> dict[str, list[Answer]]:
    return {name: [answer for answer in answers if half(answer.query) == name] for name in HALVES}


def size(answers: Sequence[Answer]) -> int:
    return sum(bool(answer.evidence) for answer in answers)


def silence_lines(answers: Sequence[Answer]) -> list[str]:
    """When it kept silent, and how well it could have known; the latter only where something is off topic."""
    told = abstention(answers)
    if told is None:
        return [silence_line("answerable", silence(answers))]
    aucs = f"AUC {told.auc_first:.3f} of the first hit's relevance, {told.auc_highest:.3f} of the highest"
    return [
        f"answerable against off-topic: {aucs}",
        silence_line("answerable", told.answerable),
        silence_line("off-topic", told.off_topic),
    ]


def silence_line(name: str, row: Silence) -> str:
    return f"{name}: {row.silenced:.3f} silenced, {row.only_weak:.3f} weak hits only, of {row.queries} queries"
