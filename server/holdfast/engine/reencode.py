"""admin_reencode: all vectors of the settings' encoder are made anew, and the old ones answer until then."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

import anyio

from holdfast.engine.attending import Attending
from holdfast.engine.gated import AdminCall, Journalled, journalled
from holdfast.engine.memory import Memory
from holdfast.engine.ports import Caller, Ports
from holdfast.engine.vectorsets import identified, progress
from holdfast.errors import EncoderError
from holdfast.index.sets import SetRow
from holdfast.index.update import Update

LOOK_SECONDS = 0.2
LONGEST_SECONDS = 50.0  # many clients give a call up after a minute; the work goes on without it


@dataclass(frozen=True, slots=True)
class Reencoding:
    """How far it is: `done` of `notes` have their new vectors in the set `key`."""

    key: str
    model: str
    done: int
    notes: int

    @property
    def is_whole(self) -> bool:
        return self.done >= self.notes


async def reencode(memory: Attending, caller: Caller) -> Journalled[Reencoding]:
    """Queue every note for the encoder that the settings name. What was queued before counts as not done.

    Raises:
        EncoderError: no encoder is set, or its provider cannot be asked which model it has.
    """

    async def begin(ports: Ports) -> Reencoding:
        encoder = ports.encoder
        if encoder is None:
            raise EncoderError("No encoder is set.", "Set HOLDFAST_ENCODER; auto needs nothing else.")
        own = await identified(encoder)
        await encoder.forget()
        await ports.index.apply(Update(opened=[SetRow(own.key, own.described)], requeued=[own.key]))
        return await _state(ports, own.key)

    return await journalled(memory, AdminCall(caller, "admin_reencode"), begin, lambda begun: {"notes": begun.notes})


async def follow(memory: Memory, begun: Reencoding) -> AsyncIterator[Reencoding]:
    """How far it is, each time that this has changed, until it is whole or a client would give up waiting."""
    last, deadline = begun, time.monotonic() + LONGEST_SECONDS
    while not last.is_whole and time.monotonic() < deadline:
        await anyio.sleep(LOOK_SECONDS)
        state = await memory.peek(lambda ports: _state(ports, begun.key))
        if state != last:
            last = state
            yield state


async def _state(ports: Ports, key: str) -> Reencoding:
    found = next((item for item in await progress(ports) if item.key == key), None)
    if found is None:  # dropped meanwhile
        return Reencoding(key, "", 0, 0)
    return Reencoding(key, found.model, found.done, found.notes)
