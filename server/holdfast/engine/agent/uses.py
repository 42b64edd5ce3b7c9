"""Confirmed uses: that a note was looked at whole, or was said to have helped. Once for each note and day.

Kept in the journal as one line without `files`, so that it is no change of the note; written without a flush: it
outlives the process, and a power cut within seconds may take it. Nobody waits for it while others are being written: it
follows the answer within moments, and at the latest when the memory is closed. A kill in between may take it.

    {"op": "use", "at": instant, "by": principal, "source": client, "use": {"note": id}}

An explicit positive signal is one too; see `holdfast.engine.agent.feedback`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holdfast.index.maintenance import UseRow
from holdfast.model.note import SELF_ID, is_note_id
from holdfast.model.times import read_instant

if TYPE_CHECKING:
    from holdfast.engine.ports import Caller, Ports

_USE = "use"


async def confirm_use(ports: Ports, caller: Caller, note_id: str) -> None:
    """Record that a note was of use today. Nobody is kept from reading where that cannot be written."""
    now = ports.now
    if note_id == SELF_ID or await ports.index.read(lambda view: view.used_on(note_id, now[:10])):
        return
    line = {"op": _USE, "at": now, "by": caller.principal, "source": caller.source, _USE: {"note": note_id}}
    await ports.uses.add(ports, note_id, line)


def use_row(record: Mapping[str, Any]) -> UseRow | None:
    """The use that a line of the journal tells, or None where it tells none or is none of ours."""
    given = record.get(_USE)
    if record.get("op") != _USE or not isinstance(given, Mapping):
        return None
    note = given.get("note")
    if not isinstance(note, str) or not is_note_id(note):
        return None
    try:
        return UseRow(note, read_instant(record.get("at")), record["seq"])
    except ValueError:
        return None
