"""What a client's hook hands over when a turn ends or its context is compressed: where the transcript is.

Only a pointer is taken. The transcript is read from where it was read to before; what is new waits in a queue in the
memory folder until an agent distils it (`holdfast.engine.presence.distilling`). Nothing becomes a note here.

Claude Code writes its transcript a tenth of a second behind, so that the hook may be called before the turn is in the
file: then the last answer is waited for. What a client writes when no hook is called any more, as at the end of a
session, is read with the next turn that is handed over, of whatever session.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

import anyio
import structlog

from holdfast.engine.ports import Caller, Ports
from holdfast.engine.presence.queueing import Transcripts
from holdfast.engine.presence.taking import Took, take_in, was_taken, without_secrets
from holdfast.model.transcripts.turns import LONGEST_NAME, Setting, only_turn, shown_of

SECONDS: Final = 2.0  # of reading in one call; the rest comes with the next one
WRITTEN_SECONDS: Final = 1.5  # for a client to write down the answer that it has told
_AGAIN: Final = 0.05
_OF_SUBAGENTS: Final = "Subagent"
_NAMED: Final = "HOLDFAST_SPACE"  # who sets this means it for all that the server stores

Status = Literal["kept", "nothing", "refused", "off"]

log = structlog.get_logger()


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
        ports: the world.
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
        return HandedOver("off", reason="Transcripts are taken by a server on this machine alone, over stdio.")
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
    return await _told(queue, took.turns + more)


async def _take_until(ports: Ports, queue: Transcripts, path: str, space: str, cwd: str, answer: str) -> Took:
    """What is new in a transcript, up to an answer that the client has told; without it after a while.

    It is not waited for where another hook of this turn, or another process, has taken it.
    """
    deadline = anyio.current_time() + WRITTEN_SECONDS
    took = await take_in(ports, queue, path, space, SECONDS)
    while answer and took.answer != answer and (took.is_missing or not took.refused):
        if await was_taken(queue, path, answer):
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


async def _take_rest(ports: Ports, queue: Transcripts, path: str, space: str, cwd: str) -> int:
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
    ports: Ports, queue: Transcripts, caller: Caller, setting: Setting, last: str | None
) -> HandedOver:
    turn = only_turn(last or "", setting, ports.now)
    if turn is None:
        return HandedOver("nothing", reason="There is neither a transcript nor a last answer.")
    space = caller.space if caller.space and not setting.cwd else ""
    return await _told(queue, await queue.add(await without_secrets(ports, [turn]), "", space, ports.now))


async def _told(queue: Transcripts, turns: int) -> HandedOver:
    waiting = await queue.waiting()
    if turns:
        return HandedOver("kept", turns, waiting)
    return HandedOver("nothing", 0, waiting, "Nothing was said since the last time.")


def _name(text: str) -> str:
    return text if len(text) <= LONGEST_NAME and text.isprintable() else ""
