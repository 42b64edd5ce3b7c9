"""Conversations that were exported elsewhere, into the queue: the newest first, as far as there is room, none twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyio.to_thread import run_sync

from holdfast.engine.ports import Ports
from holdfast.engine.presence.queueing import Transcripts
from holdfast.engine.presence.taking import without_secrets
from holdfast.errors import StorageError
from holdfast.model.transcripts.exports import turns_in
from holdfast.model.transcripts.turns import Turn
from holdfast.store.transcripts.exports import read_export


@dataclass(slots=True)
class Brought:
    """What became of an export: for `later` conversations there was no room, they can be brought at another time."""

    conversations: int = 0
    turns: int = 0
    later: int = 0


async def bring_export(
    ports: Ports,
    queue: Transcripts,
    path: Path,
    space: str,
    told: Callable[[int, int], None] = lambda _done, _total: None,
    *,
    dry_run: bool = False,
) -> Brought:
    """Let the conversations of an export wait to be distilled.

    Args:
        ports: the world.
        queue: where turns wait.
        path: the export.
        space: for what is made of it.
        told: how far it is, in conversations.
        dry_run: only say what is new.

    Raises:
        InvalidArgumentError: it is no export.
        StorageError: it cannot be read, or the queue not be written; what came until then stays.
    """
    try:
        conversations = await run_sync(_turns_of_all, path)
    except OSError as error:
        raise StorageError(f"The export cannot be read: {error.strerror or type(error).__name__}.") from error
    brought = Brought()
    for number, turns in enumerate(conversations, 1):
        new = await queue.unknown(turns)
        size = sum(len(turn.text.encode()) for turn in new)
        if new and (brought.later or not await queue.has_room(size)):
            brought.later += 1
        elif new:
            if not dry_run:
                await queue.add(await without_secrets(ports, new), str(path), space, ports.now)
            brought.conversations += 1
            brought.turns += len(new)
        told(number, len(conversations))
    return brought


def _turns_of_all(path: Path) -> Sequence[list[Turn]]:
    """The turns of every conversation, that in which something was said last first."""
    found: list[Mapping[str, Any]] = read_export(path)
    turns = [turns_in(conversation) for conversation in found]
    return sorted(filter(None, turns), key=lambda said: max(turn.at for turn in said), reverse=True)
