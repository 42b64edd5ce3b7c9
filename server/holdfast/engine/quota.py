"""How many notes a memory may hold, and how much they may take: looked at before a change that adds to it.

What is there is asked of the index each time, which knows hand edits and deletions and is right after a restart; what
is being written by others in this process is counted on top, so that many at once do not pass a limit together.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio

from holdfast.errors import QuotaExceededError
from holdfast.model.ids import SELF_ID
from holdfast.store.stored import Change, PageChange

MEBIBYTE = 1024 * 1024
_REMEDY = (
    "Have run_maintenance merge notes, delete some (admin_delete_memory, or their files), or have the limit raised; "
    "reading, retiring and deleting go on."
)


@dataclass(frozen=True, slots=True)
class Usage:
    """Notes, without Self, and the bytes of their texts or files."""

    notes: int = 0
    size: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.notes + other.notes, self.size + other.size)

    def __sub__(self, other: Usage) -> Usage:
        return Usage(self.notes - other.notes, self.size - other.size)


def added(changes: Sequence[Change | PageChange]) -> Usage:
    """What these changes add together; negative where they free something. Pages are not counted."""
    total = Usage()
    for change in changes:
        if isinstance(change, Change):
            before = change.before.note if change.before else None
            after = Usage(change.after.id != SELF_ID, len(change.after.content.encode())) if change.after else Usage()
            total += after - (Usage(before.id != SELF_ID, len(before.content.encode())) if before else Usage())
    return total


class Quota:
    """The limits of one memory; 0 is none.

    Args:
        notes: how many notes.
        mebibytes: how much they may take.
    """

    def __init__(self, notes: int = 0, mebibytes: int = 0) -> None:
        self._most = Usage(notes, mebibytes * MEBIBYTE)
        self._coming = Usage()
        self._ended = anyio.Event()
        self._count = 0  # of changes that have ended: what was read before one did may lack it

    @asynccontextmanager
    async def room(
        self, changes: Sequence[Change | PageChange], usage: Callable[[], Awaitable[tuple[int, int]]]
    ) -> AsyncIterator[None]:
        """Keep room for these changes until the block ends, when the index knows them or nothing was written.

        Raises:
            QuotaExceededError: there is not so much room.
        """
        more = added(changes) if self._most != Usage() else Usage()
        wanted = Usage(max(0, more.notes) if self._most.notes else 0, max(0, more.size) if self._most.size else 0)
        if wanted == Usage():
            yield
            return
        await self._take(wanted, usage)
        try:
            yield
        finally:
            self._coming -= wanted
            self._count += 1
            self._ended.set()
            self._ended = anyio.Event()

    async def _take(self, wanted: Usage, usage: Callable[[], Awaitable[tuple[int, int]]]) -> None:
        while True:
            count, ended = self._count, self._ended
            used = Usage(*await usage())
            if count != self._count:
                continue
            full = self._full(used + wanted + self._coming, wanted)
            if not full:
                self._coming += wanted
                return
            if self._coming == Usage():
                raise QuotaExceededError(full, _REMEDY)
            await ended.wait()  # what comes may be counted twice just now, or fail

    def _full(self, then: Usage, wanted: Usage) -> str:
        """Which limit would be passed; empty where none would."""
        if wanted.notes and then.notes > self._most.notes:
            return f"This memory holds as many notes as it may: {self._most.notes:,} (HOLDFAST_MAX_NOTES)."
        if wanted.size and then.size > self._most.size:
            mebibytes = self._most.size // MEBIBYTE
            return (
                f"The notes of this memory take as much room as they may: {mebibytes:,} MiB (HOLDFAST_MAX_NOTES_MIB)."
            )
        return ""
