"""Forgetting, which is off unless it is switched on: the trash first, and after a month not even that.

A note goes only if every sign says so: archival and untouched for 90 days, faded to a twentieth, of little importance,
with few and light links, never said to have helped, and not what another note was made from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from holdfast.engine.ports import Ports
from holdfast.engine.tending import FORGET, HOUSE, change_if, life_of
from holdfast.index.lifecycle import Living
from holdfast.model.lifecycle import may_be_forgotten
from holdfast.model.times import instant

KEPT_DAYS = 30  # in the trash
_PURGED = "forgotten"


def is_forgettable(note: Living, ports: Ports) -> bool:
    """Whether a note may go, as far as its life tells."""
    return note.tier == "archival" and may_be_forgotten(life_of(note, ports.clock()), note.degree, 0.0)


async def forget(ports: Ports, note_id: str) -> str | None:
    """Put a note into the trash if it may be forgotten; returns the change's id.

    Raises:
        ConflictError, StorageError: nothing was written.
    """
    links = await ports.index.links([note_id])
    heaviest = max((link.weight for link in links), default=0.0)
    helped = await ports.index.read(lambda view: any(row.signal > 0 for row in view.feedback(note_id)))
    if helped:
        return None

    def is_due(note: Living) -> bool:
        state = life_of(note, ports.clock())
        return note.tier == "archival" and not note.is_summed and may_be_forgotten(state, note.degree, heaviest)

    return await change_if(ports, note_id, FORGET, is_due, lambda _: None)


async def purge_forgotten(ports: Ports) -> int:
    """Take what was forgotten a month ago out of the trash, and its last text out of the history."""
    if ports.upkeep is None:
        return 0
    lines = await ports.store.past.told([f'"op":"{FORGET}"', f'"{_PURGED}":', '"void":', '"undoes":'])
    due = _due(lines, instant(ports.clock() - timedelta(days=KEPT_DAYS)))
    if not due:
        return 0
    texts = {line["change"]: [file["before"] for file in line["files"] if file.get("before")] for line in due}
    gone = await ports.upkeep.purge_trash(texts)
    changes = list(texts)
    await ports.store.record(
        {"op": _PURGED, "at": ports.now, "by": HOUSE.principal, "source": HOUSE.source, _PURGED: changes}
    )
    return gone


def _due(lines: Sequence[Mapping[str, Any]], before: str) -> list[Mapping[str, Any]]:
    over = {change for line in lines for key in (_PURGED, "void") for change in line.get(key) or ()}
    over |= {line["undoes"] for line in lines if isinstance(line.get("undoes"), str)}
    return [
        line
        for line in lines
        if line.get("op") == FORGET and line.get("change") and line["change"] not in over and line["at"] <= before
    ]
