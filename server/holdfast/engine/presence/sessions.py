"""Sessions that nobody handed over: looked for where the clients keep them, by a command or by a watcher.

The watcher looks once a minute, in one process at a time. It takes a session that was still for a minute and in which
the user spoke often enough; one that was begun before the time that it looks back is left alone unless it was taken
before. What it takes goes the same way as what a hook hands over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio
import structlog

from holdfast.engine.ports import Ports
from holdfast.engine.presence.queueing import Transcripts
from holdfast.engine.presence.taking import Took, take_in
from holdfast.engine.runtime import PASSING, Memory
from holdfast.store.transcripts.roots import NoTranscriptError

LOOK_SECONDS: Final = 60.0
STILL_SECONDS: Final = 60.0  # since the last change: a client that writes is left to it
START_SECONDS: Final = 20.0  # a new server has better things to do at first

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which sessions: changed within `hours` (None: whenever), with `asked` turns of the user, `still` seconds ago."""

    hours: float | None = 72.0
    asked: int = 5
    still: float = 0.0


@dataclass(frozen=True, slots=True)
class Session:
    """A transcript, and what became of it."""

    path: str
    took: Took


async def latest(queue: Transcripts) -> list[Path]:
    """The transcript that was changed last; none where there is none."""
    return [path for path, _, _ in (await queue.transcripts())[:1]]


async def take_sessions(
    ports: Ports,
    queue: Transcripts,
    wanted: Wanted,
    *,
    seen: dict[Path, tuple[float, int]] | None = None,
    told: Callable[[int, int], None] = lambda _done, _total: None,
) -> list[Session]:
    """Read what is new in all sessions of a kind into the queue, the oldest first.

    Args:
        ports: the world.
        queue: where turns wait.
        wanted: which.
        seen: how files looked when nothing was new in them, which need no second look; brought up to date.
        told: how far it is, in files.
    """
    now = ports.clock().timestamp()
    oldest = None if wanted.hours is None else now - wanted.hours * 3600
    seen = {} if seen is None else seen
    files = [item for item in reversed(await queue.transcripts()) if seen.get(item[0]) != item[1:]]
    taken: list[Session] = []
    for number, (path, changed, size) in enumerate(files, 1):
        if now - changed < wanted.still:
            continue
        told(number, len(files))
        if await _is_wanted(queue, path, wanted, is_old=oldest is not None and changed < oldest):
            taken.append(Session(str(path), await take_in(ports, queue, str(path))))
            if taken[-1].took.is_unreadable:  # it is looked at again, though it looks the same
                log.warning("session_put_off", reason=taken[-1].took.refused)
                continue
        seen[path] = (changed, size)
    return taken


async def _is_wanted(queue: Transcripts, path: Path, wanted: Wanted, *, is_old: bool) -> bool:
    """Whether a session was taken before, or is new enough and long enough."""
    try:
        found = queue.locate(str(path))
        if (await queue.place(found)).version:
            return True
        return not is_old and await queue.asked(found, wanted.asked) >= wanted.asked
    except NoTranscriptError:
        return False
    except OSError:  # what takes it in says why it cannot
        return not is_old


class SessionWatcher:
    """Looks for sessions for as long as a memory runs.

    Args:
        memory: the memory.
        wanted: which sessions are taken.
    """

    def __init__(self, memory: Memory, wanted: Wanted) -> None:
        self._memory = memory
        self._wanted = wanted
        self._seen: dict[Path, tuple[float, int]] = {}

    async def run(self) -> None:
        """Look again and again, unless another process does."""
        queue = self._memory.ports.transcripts
        if queue is None:
            return
        await anyio.sleep(START_SECONDS)
        while True:
            try:
                if self._memory.ports.store.is_there:
                    async with queue.turn() as mine:
                        if mine:
                            self._tell(await self._memory.peek(lambda ports: self._look(ports, queue)))
            except PASSING as error:
                log.warning("sessions_put_off", error=type(error).__name__, reason=str(error))
            await anyio.sleep(LOOK_SECONDS)

    async def _look(self, ports: Ports, queue: Transcripts) -> Sequence[Session]:
        return await take_sessions(ports, queue, self._wanted, seen=self._seen)

    def _tell(self, taken: Sequence[Session]) -> None:
        turns = sum(session.took.turns for session in taken)
        if turns:
            log.info("sessions_taken", sessions=len(taken), turns=turns)
