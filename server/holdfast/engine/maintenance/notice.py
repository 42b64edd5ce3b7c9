"""That maintenance is worthwhile: said with an answer, once a day for a folder, and not for a few notes.

It was last seen to when a verdict was applied or a search for candidates found none: the last journal line with a key
`maintenance`. What waits are the notes that were stored since.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast.errors import StorageError
from holdfast.index.projection import Update
from holdfast.model.note import note_id
from holdfast.model.records import MAINTENANCE, JournalRecord, Maintained
from holdfast.model.times import moment

if TYPE_CHECKING:
    from holdfast.engine.ports import Caller, Ports, View

LEAST = 20  # notes; fewer are not worth a word
MOST_COUNTED = 1000
_SECOND = 1000  # milliseconds: the journal tells whole seconds, and what was stored in that one was there to see


async def due_notice(ports: Ports) -> str:
    """A sentence, or nothing."""
    today = ports.now[:10]
    if ports.due.rests(today):
        return ""
    ports.due.looked_at = time.monotonic()
    waiting = await ports.index.read(waiting_notes)
    if waiting < LEAST:
        return ""
    ports.due.told_on = today
    try:
        if not await ports.index.tell_once(f"{MAINTENANCE} {today}"):
            return ""
    except StorageError:
        return ""  # no answer fails for that
    many = f"{waiting:,} or more" if waiting == MOST_COUNTED else str(waiting)
    return (
        f"Maintenance is worthwhile: {many} notes were stored since it was last done; run_maintenance when convenient."
    )


def waiting_notes(view: View) -> int:
    """How many notes were stored since the last maintenance, counted up to a bound."""
    _, runs = view.job_runs(MAINTENANCE)
    first = note_id(round(moment(runs[0].at).timestamp() * 1000) + _SECOND, 0) if runs else ""
    return view.count_behind(first, MOST_COUNTED)


async def mark_maintained(ports: Ports, caller: Caller, batch_id: str | None) -> None:
    """Tell the journal that maintenance was seen to: a batch was judged, or there was nothing to judge.

    Nothing is told where no note was stored since; the line is not flushed, for it only saves a notice.

    Raises:
        StorageError: the journal cannot be written.
    """
    if not await ports.index.read(waiting_notes):
        return
    said = Maintained(batch_id)
    line = JournalRecord(MAINTENANCE, ports.now, caller.principal, caller.source, maintenance=said)
    line = replace(line, seq=await ports.store.record(line, flush=False))
    await ports.index.apply(Update(records=[line]))
