"""The audit log: what the journal tells of changes, feedback and admin calls, without any note's text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.engine.gated import READ
from holdfast.engine.ports import Ports
from holdfast.errors import InvalidArgumentError
from holdfast.model.ids import id_range, is_note_id
from holdfast.model.pages import is_page_key

DEFAULT_ENTRIES, MOST_ENTRIES = 20, 50


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """Which entries are asked for: of one note (an id or the beginning of one), of one verb."""

    limit: int = DEFAULT_ENTRIES
    node_id: str | None = None
    operation: str | None = None


async def audit_log(ports: Ports, query: AuditQuery) -> list[Mapping[str, Any]]:
    """Entries of the journal, newest first.

    Each has seq, at, operation, by, source, change_id (None where nothing was changed), nodes (ids), outcome, dry_run,
    undoes and undone_by (change ids).

    Raises:
        InvalidArgumentError: `limit` is out of range, or `node_id` can be no id.
    """
    if not 1 <= query.limit <= MOST_ENTRIES:
        raise InvalidArgumentError(f"limit is outside 1 to {MOST_ENTRIES}.")
    bounds = id_range(query.node_id) if query.node_id else None
    if query.node_id and bounds is None:
        raise InvalidArgumentError("node_id is not a note id.", "Ids look like mem_ and 16 letters and digits.")
    operation = (query.operation or "").strip().lower()
    return await ports.store.past.latest(query.limit, _Reader(bounds, operation).entry)


class _Reader:
    """Makes entries of lines that come newest first, so that what became of a change is known before it."""

    def __init__(self, bounds: tuple[str, str] | None, operation: str) -> None:
        self._bounds = bounds
        self._operation = operation
        self._void: set[str] = set()
        self._done: set[str] = set()
        self._undone: dict[str, str] = {}

    def entry(self, line: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The entry that a line makes, or None where it makes none or is not asked for."""
        self._done.update(line.get("done", ()))
        self._void.update(change for change in line.get("void", ()) if change not in self._done)
        change, op, undoes = line.get("change"), line.get("op"), line.get("undoes")
        if not isinstance(op, str) or change in self._void:
            return None
        if isinstance(undoes, str) and isinstance(change, str) and change not in self._undone:
            self._undone[undoes] = change
        if change is None and line.get("outcome") == "done" and line.get("change_id"):
            return None  # the change that the call made is told by itself
        nodes = _nodes(line)
        if not self._is_asked_for(op, nodes):
            return None
        return {
            "seq": line["seq"],
            "at": str(line.get("at", "")),
            "operation": op,
            "by": str(line.get("by", "")),
            "source": str(line.get("source", "")),
            "change_id": change,
            "nodes": nodes,
            "outcome": str(line.get("outcome", "done")),
            "dry_run": line.get("dry_run") is True,
            "undoes": undoes if isinstance(undoes, str) else None,
            "undone_by": self._undone.get(change) if isinstance(change, str) else None,
        }

    def _is_asked_for(self, op: str, nodes: list[str]) -> bool:
        if op.startswith(("admin_list_", READ)) and self._operation not in (op, "read" * op.startswith(READ)):
            return False  # looking at the log would fill it
        if self._operation and self._operation not in (op, op.removeprefix("admin_").partition("_")[0]):
            return False
        return self._bounds is None or any(self._bounds[0] <= node <= self._bounds[1] for node in nodes)


def _nodes(line: Mapping[str, Any]) -> list[str]:
    """The notes that a line is about, each once."""
    files = line.get("files")
    named = [file.get("note") for file in files] if isinstance(files, list) else []
    rated = line.get("feedback")
    named += [line.get("note"), rated.get("note") if isinstance(rated, dict) else None]
    whole = [each for each in named if isinstance(each, str) and not is_page_key(each) and is_note_id(each)]
    return list(dict.fromkeys(whole))
