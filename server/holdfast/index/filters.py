"""Filters as SQL over `notes n`; they apply before any cut, in every leg."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.model.query import Filter


@dataclass(frozen=True, slots=True)
class Where:
    """A condition on `notes n` and its values."""

    clause: str
    values: tuple[object, ...]


def where_of(wanted: Filter) -> Where:
    """The condition that a note must meet."""
    clauses = ["n.merged_into IS NULL"]
    values: list[object] = []

    def one_of(column: str, allowed: tuple[str, ...]) -> None:
        if allowed:
            clauses.append(f"n.{column} IN ({', '.join('?' * len(allowed))})")
            values.extend(allowed)

    one_of("space", wanted.spaces)
    one_of("type", wanted.types)
    one_of("tier", wanted.tiers)
    if wanted.tags:
        marks = ", ".join("?" * len(wanted.tags))
        clauses.append(f"EXISTS (SELECT 1 FROM tags WHERE tags.note = n.rowid AND tags.tag IN ({marks}))")  # noqa: S608 - marks only
        values.extend(tag.lower() for tag in wanted.tags)
    if wanted.after:
        clauses.append("n.happened >= ?")
        values.append(wanted.after)
    if wanted.before:
        clauses.append("n.happened <= ?")
        values.append(wanted.before)
    if not wanted.include_outdated:
        clauses.append("n.outdated = 0 AND (n.valid_until IS NULL OR n.valid_until > ?)")
        values.append(wanted.now)
    return Where(" AND ".join(clauses), tuple(values))
