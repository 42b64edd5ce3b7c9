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

import anyio
import structlog

from holdfast.errors import HoldfastError
from holdfast.index.maintenance import UseRow
from holdfast.index.note_index import IndexLostError
from holdfast.index.projection import Update
from holdfast.model.note import SELF_ID, is_note_id
from holdfast.model.times import read_instant

if TYPE_CHECKING:
    from holdfast.engine.ports import Caller, Ports

_USE = "use"
PATIENT_SECONDS = 0.05  # how long an answer waits for the line of its own use where no other is being written

log = structlog.get_logger()


class Uses:
    """Uses of one memory that wait to be written."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str], dict[str, Any]] = {}  # by note and day, until they are written
        self._news = anyio.Event()
        self._written = anyio.Event()
        self._writing = anyio.Lock()
        self._is_followed = False

    async def add(self, ports: Ports, note_id: str, line: dict[str, Any]) -> None:
        """Have a line written; returns when it is, or others wait too, or it takes long."""
        key = (note_id, line["at"][:10])
        if key in self._waiting:
            return
        is_alone, written = not self._waiting, self._written
        self._waiting[key] = line
        if not self._is_followed:
            await self.flush(ports)
            return
        self._news.set()
        if is_alone:
            with anyio.move_on_after(PATIENT_SECONDS):
                await written.wait()

    async def write_behind(self, ports: Ports) -> None:
        """Write what comes, for as long as the memory runs."""
        self._is_followed = True
        try:
            while True:
                await self._news.wait()
                self._news = anyio.Event()
                with anyio.CancelScope(shield=True):  # or the last of them would be written once more
                    await self.flush(ports)
        finally:
            self._is_followed = False

    async def flush(self, ports: Ports) -> None:
        """Write what waits. What cannot be written is given up: nobody is kept from reading for it."""
        async with self._writing:
            taken = dict(self._waiting)
            uses: list[UseRow] = []
            try:
                async with anyio.create_task_group() as tasks:  # the journal takes in one go what comes at once
                    for (note, _), line in taken.items():
                        tasks.start_soon(_record_use, ports, note, line, uses)
                if uses:
                    await ports.index.apply(Update(uses=uses))
            except (HoldfastError, OSError) as error:  # whatever it is, the memory goes on
                log.warning("use_not_recorded", reason=str(error))
            except IndexLostError as error:
                log.info("index_lost", reason=str(error))  # whoever makes it anew finds the lines in the journal
            finally:
                self._waiting = {key: line for key, line in self._waiting.items() if key not in taken}
                self._written.set()
                self._written = anyio.Event()


async def _record_use(ports: Ports, note_id: str, line: dict[str, Any], uses: list[UseRow]) -> None:
    """Write one line, and put the use among those that the index is to know."""
    try:
        uses.append(UseRow(note_id, line["at"], await ports.store.record(line)))
    except (HoldfastError, OSError) as error:
        log.warning("use_not_recorded", reason=str(error))


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
