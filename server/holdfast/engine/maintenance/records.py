"""What maintenance keeps in the journal, without text.

    {..., "judged": [[id, id, hash, hash, verdict], ...]}      in the line of the change that followed, or in one apart
    {"op": "maintenance_batch", "at", "by", "source",
     "batch": {"id", "expires", "items": [[kind, [[id, hash], ...]], ...]},
     "cursors": {kind: [newest, swept]}}

The hashes name the texts that were shown (`holdfast.index.projection.NoteRow.encode_hash`). A line that is none of
ours tells nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from holdfast.index.maintenance import BatchRow, CursorRow, JudgedRow, Remembered
from holdfast.model.maintenance import KINDS, SCOPES

JUDGED, BATCH, CURSORS = "judged", "batch", "cursors"
OP = "maintenance_batch"


def remembered(record: Mapping[str, Any]) -> Remembered | None:
    """What a line of the journal tells; None where it tells nothing."""
    judged, batches, cursors = _judged(record), _batches(record), _cursors(record)
    return Remembered(judged, batches, cursors) if judged or batches or cursors else None


def judgement(one: tuple[str, str], other: tuple[str, str], verdict: str) -> list[str]:
    """An entry of `judged`, of two (id, hash)."""
    (a, hash_a), (b, hash_b) = sorted((one, other))
    return [a, b, hash_a, hash_b, verdict]


def _judged(record: Mapping[str, Any]) -> list[JudgedRow]:
    change = str(record["change"]) if "change" in record else None
    entries = [entry for entry in _list(record.get(JUDGED)) if _texts(entry, 5)]
    return [
        JudgedRow(a, b, SCOPES[verdict], hash_a, hash_b, verdict, record["seq"], change)
        for a, b, hash_a, hash_b, verdict in entries
        if verdict in SCOPES
    ]


def _batches(record: Mapping[str, Any]) -> list[BatchRow]:
    given = record.get(BATCH)
    if record.get("op") != OP or not isinstance(given, Mapping):
        return []
    texts = [given.get("id"), record.get("by"), record.get("at"), given.get("expires")]
    if not _texts(texts, 4):
        return []
    batch_id, principal, made, expires = map(str, texts)
    return [BatchRow(batch_id, principal, made, expires, json.dumps(_list(given.get("items"))))]


def _cursors(record: Mapping[str, Any]) -> list[CursorRow]:
    given = record.get(CURSORS)
    if record.get("op") != OP or not isinstance(given, Mapping):
        return []
    return [
        CursorRow(kind, str(place[0]), str(place[1]), record["seq"])
        for kind, place in given.items()
        if kind in KINDS and _texts(place, 2)
    ]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _texts(value: Any, count: int) -> bool:
    return isinstance(value, list) and len(value) == count and all(isinstance(item, str) for item in value)
