"""Transcripts on their way into the queue: handed over by a hook, or found where the clients keep them.

A client's hook says where the transcript is when a turn ends or its context is compressed. Only that is taken: it is
read from where it was read to before, and what is new waits in a queue in the memory folder until an agent distils it
(`holdfast.engine.presence.distilling`). Nothing becomes a note here. Claude Code writes its transcript a tenth of a
second behind, so that the hook may be called before the turn is in the file: then the last answer is waited for. What a
client writes when no hook is called any more, as at the end of a session, is read with the next turn that is handed
over, of whatever session.

Sessions that nobody handed over are looked for by a command or by a watcher. The watcher looks once a minute, in one
process at a time. It takes a session that was still for a minute and in which the user spoke often enough; one that was
begun before the time that it looks back is left alone unless it was taken before.

New turns are freed of secrets, and kept with the cursor: both become durable together. Whoever dies between the two has
changed nothing, and of two processes that read the same transcript at once one finds the cursor moved, and reads on
from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Final, Literal

import anyio
import structlog

from holdfast.engine.ports import Caller, Ports
from holdfast.engine.runtime import PASSING, Memory
from holdfast.model.note import instant
from holdfast.model.transcripts.turns import LONGEST_NAME, Setting, Turn, only_turn, shown_of
from holdfast.store.transcripts.queue import TranscriptQueue
from holdfast.store.transcripts.reading import Located, MissingTranscriptError, NoTranscriptError

PRINCIPAL = "transcripts"  # whose turn it is where texts are freed of secrets


@dataclass(frozen=True, slots=True)
class Took:
    """What became of a transcript: turns that were kept, whether all of it was read, and why it was not taken.

    `answer` is the last thing that the agent said in what was read. `is_unreadable`: the file is there, and cannot be
    read now.
    """

    turns: int = 0
    is_whole: bool = True
    refused: str = ""
    is_missing: bool = False
    is_unreadable: bool = False
    answer: str = ""


async def take_in(ports: Ports, queue: TranscriptQueue, path: str, space: str = "", seconds: float = 60.0) -> Took:
    """Read what is new in a transcript into the queue.

    Args:
        ports: storage, index, encoder, clock and ids.
        queue: where turns wait.
        path: the transcript, as somebody outside names it.
        space: where its notes belong; empty where the working folder of each turn tells it.
        seconds: after which no more is begun; the rest is read at the next call.

    Raises:
        StorageError: the queue cannot be written; the cursor stays where it was.
    """
    deadline, took = anyio.current_time() + seconds, Took()
    try:
        found = queue.locate(path)
        while True:
            new = await _take_chunk(ports, queue, found, space)
            took = Took(took.turns + new.turns, new.is_whole, answer=new.answer or took.answer)
            if took.is_whole or anyio.current_time() >= deadline:
                return took
    except NoTranscriptError as error:
        reason = f"Not taken for a transcript: {error}."
        return replace(took, refused=reason, is_missing=isinstance(error, MissingTranscriptError))
    except OSError as error:
        reason = f"The transcript cannot be read now: {error.strerror or type(error).__name__}."
        return replace(took, refused=reason, is_unreadable=True)


async def was_taken(ports: Ports, queue: TranscriptQueue, path: str, answer: str) -> bool:
    """Whether this answer is the last that was taken from a transcript just now, by whatever hook or process.

    What was taken longer ago is an earlier answer in the same words: "Done."

    Raises:
        StorageError: the queue cannot be read.
    """
    try:
        return await queue.last_said(queue.locate(path), instant(ports.clock() - OF_ONE_TURN)) == answer
    except (NoTranscriptError, OSError):
        return False


async def _take_chunk(ports: Ports, queue: TranscriptQueue, found: Located, space: str) -> Took:
    """Take in the next lines; none where another process has read on meanwhile."""
    chunk = await queue.read(found)
    turns = await without_secrets(ports, chunk.turns)
    answer = next((turn.text for turn in reversed(chunk.turns) if turn.role == "assistant"), "")
    kept = await queue.keep(found, chunk, turns, space, ports.now)
    return Took(is_whole=False, answer=answer) if kept is None else Took(kept, chunk.is_last, answer=answer)


async def without_secrets(ports: Ports, turns: Sequence[Turn]) -> list[Turn]:
    """Turns with placeholders for secrets: nobody has given them to be stored, so none is refused for one."""
    if ports.secrets == "allow" or not turns:
        return list(turns)
    length = sum(len(turn.text) for turn in turns)
    return await ports.computing.run(
        PRINCIPAL, length, lambda: [replace(turn, text=ports.redact(turn.text).text) for turn in turns]
    )


OF_ONE_TURN: Final = timedelta(seconds=2)  # between the hooks that are called at its end
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


async def latest(queue: TranscriptQueue) -> list[Path]:
    """The transcript that was changed last; none where there is none."""
    return [path for path, _, _ in (await queue.transcripts())[:1]]


async def take_sessions(
    ports: Ports,
    queue: TranscriptQueue,
    wanted: Wanted,
    *,
    seen: dict[Path, tuple[float, int]] | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> list[Session]:
    """Read what is new in all sessions of a kind into the queue, the oldest first.

    Args:
        ports: storage, index, encoder, clock and ids.
        queue: where turns wait.
        wanted: which.
        seen: how files looked when nothing was new in them, which need no second look; brought up to date.
        progress: how far it is, in files.
    """
    now = ports.clock().timestamp()
    oldest = None if wanted.hours is None else now - wanted.hours * 3600
    seen = {} if seen is None else seen
    files = [item for item in reversed(await queue.transcripts()) if seen.get(item[0]) != item[1:]]
    taken: list[Session] = []
    for number, (path, changed, size) in enumerate(files, 1):
        if now - changed < wanted.still:
            continue
        progress(number, len(files))
        if await _is_wanted(queue, path, wanted, is_old=oldest is not None and changed < oldest):
            taken.append(Session(str(path), await take_in(ports, queue, str(path))))
            if taken[-1].took.is_unreadable:  # it is looked at again, though it looks the same
                log.warning("session_put_off", reason=taken[-1].took.refused)
                continue
        seen[path] = (changed, size)
    return taken


async def _is_wanted(queue: TranscriptQueue, path: Path, wanted: Wanted, *, is_old: bool) -> bool:
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

    async def _look(self, ports: Ports, queue: TranscriptQueue) -> Sequence[Session]:
        return await take_sessions(ports, queue, self._wanted, seen=self._seen)

    def _tell(self, taken: Sequence[Session]) -> None:
        turns = sum(session.took.turns for session in taken)
        if turns:
            log.info("sessions_taken", sessions=len(taken), turns=turns)


SECONDS: Final = 2.0  # of reading in one call; the rest comes with the next one
WRITTEN_SECONDS: Final = 1.5  # for a client to write down the answer that it has told
_AGAIN: Final = 0.05
_OF_SUBAGENTS: Final = "Subagent"
_NAMED: Final = "HOLDFAST_SPACE"  # who sets this means it for all that the server stores

Status = Literal["kept", "nothing", "refused", "off"]


@dataclass(frozen=True, slots=True)
class HandedOver:
    """What became of it: `turns` were kept by this call, `waiting` turns of users wait in all.

    `reason` is a sentence where nothing was kept.
    """

    status: Status
    turns: int = 0
    waiting: int = 0
    reason: str = ""


async def hand_over(
    ports: Ports, caller: Caller, *, path: str, session: str, cwd: str, event: str, last: str | None
) -> HandedOver:
    """Take what is new in a session's transcript into the queue.

    Args:
        ports: storage, index, encoder, clock and ids.
        caller: who asks; a server whose space is set by hand keeps its sessions in that space.
        path: the transcript, as the client names it; where it is empty, `last` alone is taken.
        session: the client's name of the session.
        cwd: the folder that the session works in.
        event: the hook's name.
        last: the last answer.

    Raises:
        StorageError: the queue cannot be written; the next call begins where this one did.
    """
    queue = ports.transcripts
    if queue is None:
        return HandedOver("off", reason="TranscriptQueue are taken by a server on this machine alone, over stdio.")
    if event.startswith(_OF_SUBAGENTS):
        return HandedOver("nothing", reason="What subagents say among themselves is not kept.")
    ports.store.check_writing()
    space = caller.space if caller.space_from == _NAMED and caller.space else ""
    if not path.strip():
        return await _take_last(ports, queue, caller, Setting(caller.source, _name(session), _name(cwd)), last)
    took = await _take_until(ports, queue, path, space, _name(cwd), shown_of(last or ""))
    more = await _take_rest(ports, queue, path, space, _name(cwd))
    if took.refused and not more:
        return HandedOver("nothing" if took.is_missing else "refused", reason=took.refused)
    return await _handed_over(queue, took.turns + more)


async def _take_until(ports: Ports, queue: TranscriptQueue, path: str, space: str, cwd: str, answer: str) -> Took:
    """What is new in a transcript, up to an answer that the client has told; without it after a while.

    It is not waited for where another hook of this turn, or another process, has taken it.
    """
    deadline = anyio.current_time() + WRITTEN_SECONDS
    took = await take_in(ports, queue, path, space, SECONDS)
    while answer and took.answer != answer and (took.is_missing or not took.refused):
        if await was_taken(ports, queue, path, answer):
            break
        if anyio.current_time() >= deadline:
            await queue.expect(path, cwd, ports.now)
            break
        await anyio.sleep(_AGAIN)
        new = await take_in(ports, queue, path, space, SECONDS)
        took = replace(new, turns=took.turns + new.turns, answer=new.answer or took.answer)
    if took.is_unreadable:
        await queue.expect(path, cwd, ports.now)
    return took


async def _take_rest(ports: Ports, queue: TranscriptQueue, path: str, space: str, cwd: str) -> int:
    """What clients wrote into other transcripts since these were handed over; returns how many turns that were.

    The space of this session is that of another one only where both were handed over in one working folder.
    """
    kept = 0
    deadline = anyio.current_time() + SECONDS
    for other, its_cwd in await queue.behind(path, ports.now):
        if anyio.current_time() < deadline:
            took = await take_in(ports, queue, other, space if cwd and its_cwd == cwd else "", 0)
            kept += took.turns
            if took.is_unreadable:  # it is behind at the next call too
                log.warning("transcript_put_off", reason=took.refused)
    return kept


async def _take_last(
    ports: Ports, queue: TranscriptQueue, caller: Caller, setting: Setting, last: str | None
) -> HandedOver:
    turn = only_turn(last or "", setting, ports.now)
    if turn is None:
        return HandedOver("nothing", reason="There is neither a transcript nor a last answer.")
    space = caller.space if caller.space and not setting.cwd else ""
    return await _handed_over(queue, await queue.add(await without_secrets(ports, [turn]), "", space, ports.now))


async def _handed_over(queue: TranscriptQueue, turns: int) -> HandedOver:
    waiting = await queue.waiting()
    if turns:
        return HandedOver("kept", turns, waiting)
    return HandedOver("nothing", 0, waiting, "Nothing was said since the last time.")


def _name(text: str) -> str:
    return text if len(text) <= LONGEST_NAME and text.isprintable() else ""
