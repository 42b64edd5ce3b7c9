"""Confirmed uses: that a note was looked at whole, or was said to have helped. Once for each note and day.

Kept in the journal as one line without `files`, so that it is no change of the note; written without a flush: it
outlives the process, and a power cut within seconds may take it. Nobody waits for it while others are being written: it
follows the answer within moments, and at the latest when the memory is closed. A kill in between may take it.

An explicit positive signal is one too; see `holdfast.engine.agent.feedback`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.model.note import SELF_ID
from holdfast.model.records import USE, JournalRecord

if TYPE_CHECKING:
    from holdfast.engine.ports import Caller, Ports


async def confirm_use(ports: Ports, caller: Caller, note_id: str) -> None:
    """Record that a note was of use today. Nobody is kept from reading where that cannot be written."""
    now = ports.now
    if note_id == SELF_ID or await ports.index.read(lambda view: view.used_on(note_id, now[:10])):
        return
    line = JournalRecord(USE, now, caller.principal, caller.source, use=note_id)
    await ports.uses.add(ports, note_id, line)
