"""Confirmed uses: that a note was looked at whole, or was said to have helped. Once for each note and day.

Kept in the journal as one line without `files`, so that it is no change of the note; written without a flush: it
outlives the process, and a power cut within seconds may take it.

    {"op": "use", "at": instant, "by": principal, "source": client, "use": {"note": id}}

An explicit positive signal is one too; see `holdfast.engine.feedback`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import structlog

from holdfast.engine.ports import Caller, Ports
from holdfast.errors import StorageError
from holdfast.index.lifecycle import UseRow
from holdfast.index.note_index import IndexLostError
from holdfast.index.update import Update
from holdfast.model.ids import SELF_ID, is_note_id
from holdfast.model.times import read_instant

_OP = "use"

log = structlog.get_logger()


async def confirm_use(ports: Ports, caller: Caller, note_id: str) -> None:
    """Record that a note was of use today. Nobody is kept from reading where that cannot be written."""
    now = ports.now
    if note_id == SELF_ID or await ports.index.read(lambda view: view.used_on(note_id, now[:10])):
        return
    line = {"op": _OP, "at": now, "by": caller.principal, "source": caller.source, _OP: {"note": note_id}}
    try:
        use = UseRow(note_id, now, await ports.store.record(line))
        await ports.index.apply(Update(uses=[use]))
    except StorageError as error:
        log.warning("use_not_recorded", reason=str(error))
    except IndexLostError as error:
        log.info("index_lost", reason=str(error))  # whoever makes it anew finds the line in the journal


def use_row(record: Mapping[str, Any]) -> UseRow | None:
    """The use that a line of the journal tells, or None where it tells none or is none of ours."""
    given = record.get(_OP)
    if record.get("op") != _OP or not isinstance(given, Mapping):
        return None
    note = given.get("note")
    if not isinstance(note, str) or not is_note_id(note):
        return None
    try:
        return UseRow(note, read_instant(record.get("at")), record["seq"])
    except ValueError:
        return None
