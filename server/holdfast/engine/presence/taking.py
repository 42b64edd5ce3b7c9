"""A transcript's new turns on their way into the queue: read behind the cursor, freed of secrets, kept with the cursor.

The cursor and the turns that it passes become durable together. Whoever dies between the two has changed nothing, and
of two processes that read the same transcript at once one finds the cursor moved, and reads on from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import anyio

from holdfast.engine.ports import Ports
from holdfast.engine.presence.queueing import Transcripts
from holdfast.model.transcripts.turns import Turn
from holdfast.store.transcripts.roots import Located, MissingTranscriptError, NoTranscriptError

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


async def take_in(ports: Ports, queue: Transcripts, path: str, space: str = "", seconds: float = 60.0) -> Took:
    """Read what is new in a transcript into the queue.

    Args:
        ports: the world.
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


async def was_taken(queue: Transcripts, path: str, answer: str) -> bool:
    """Whether this answer is the last that was taken from a transcript, by whatever hook or process.

    Raises:
        StorageError: the queue cannot be read.
    """
    try:
        return await queue.last_said(queue.locate(path)) == answer
    except (NoTranscriptError, OSError):
        return False


async def _take_chunk(ports: Ports, queue: Transcripts, found: Located, space: str) -> Took:
    """What became of the next lines; of none where somebody else has read on meanwhile."""
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
