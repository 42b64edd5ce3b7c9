"""ingest-session: what was said in past sessions waits to be distilled, each turn once, however often it is called."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from holdfast.cli.session import run, settings_here
from holdfast.cli.terminal import DONE, NOTHING, Screen, as_json, clean, err, out
from holdfast.engine.ports import Ports
from holdfast.engine.presence.exports import bring_export
from holdfast.engine.presence.queueing import Transcripts
from holdfast.engine.presence.sessions import Session, Wanted, latest, take_sessions
from holdfast.engine.presence.taking import Took, take_in
from holdfast.engine.runtime import Memory
from holdfast.errors import InvalidArgumentError, StorageError
from holdfast.model.words import counted
from holdfast.store.transcripts.exports import is_export
from holdfast.store.transcripts.queue import Waiting

_HOURS: Final = {"h": 1, "d": 24, "w": 168}
_SPAN: Final = re.compile(r"(\d{1,5})([hdw])")
_MOST_TOLD: Final = 20


def run_ingest_session(options: argparse.Namespace) -> int:
    """Take in sessions; 1 where there was nothing new."""
    settings = settings_here()
    hours = hours_in(options.since) if options.since else float(settings.session_hours)
    asked = [str(Path(path).absolute()) for path in options.paths]
    wanted = Wanted(hours or None, settings.session_turns)
    request = _Request(asked, wanted, options.space or "", options.latest, options.dry_run)
    taken, state = run(settings, lambda memory: _ingest(memory, request))
    if options.json:
        told = [{"path": each.path, "turns": each.took.turns, "refused": each.took.refused} for each in taken]
        out().say(as_json({"sessions": told, "waiting": state.turns, "dropped": state.dropped}))
    else:
        _tell(out(), taken, state, "would be taken in" if options.dry_run else "taken in")
    return DONE if any(each.took.turns for each in taken) else NOTHING


@dataclass(frozen=True, slots=True)
class _Request:
    """What is asked for: transcripts and exports by their paths, else the sessions of a time, or the latest."""

    paths: Sequence[str]
    wanted: Wanted
    space: str
    newest: bool
    dry_run: bool


def hours_in(span: str) -> float:
    """How many hours `7d`, `72h` or `2w` are.

    Raises:
        InvalidArgumentError: it is none of these.
    """
    found = _SPAN.fullmatch(span.strip())
    if found is None:
        raise InvalidArgumentError("--since is no span of time.", "Write 72h, 7d or 2w.")
    return float(found[1]) * _HOURS[found[2]]


async def _ingest(memory: Memory, request: _Request) -> tuple[list[Session], Waiting]:
    screen = err()

    async def work(ports: Ports) -> tuple[list[Session], Waiting]:
        queue = ports.transcripts
        if queue is None:
            raise StorageError("Sessions are taken in on this machine alone.")
        ports.store.check_writing()
        paths = [str(path) for path in await latest(queue)] if request.newest else list(request.paths)
        if request.dry_run and not all(is_export(Path(path)) for path in paths or [""]):
            raise InvalidArgumentError("--dry-run is for exports alone.", "Name the export's archive or file.")
        if paths or request.newest:
            taken = [await _take(ports, queue, path, request, screen) for path in paths]
        else:
            taken = await take_sessions(
                ports, queue, request.wanted, told=lambda done, total: screen.progress(done, total, "sessions")
            )
        return taken, await queue.state()

    try:
        return await memory.attend_folder(work)
    finally:
        screen.clear()


async def _take(ports: Ports, queue: Transcripts, path: str, request: _Request, screen: Screen) -> Session:
    if not is_export(Path(path)):
        return Session(path, await take_in(ports, queue, path, request.space))

    def told(done: int, total: int) -> None:
        screen.progress(done, total, "conversations")

    brought = await bring_export(ports, queue, Path(path), request.space, told, dry_run=request.dry_run)
    later = f"{brought.later:,} conversations find no room: distil some, then call again." if brought.later else ""
    return Session(path, Took(brought.turns, not brought.later, later))


def _tell(screen: Screen, taken: Sequence[Session], state: Waiting, verb: str) -> None:
    told = [each for each in taken if each.took.turns or each.took.refused]
    for each in told[:_MOST_TOLD]:
        became = f"{counted(each.took.turns, 'turn')} {verb}." if each.took.turns else ""
        screen.say(f"{clean(each.path)}: {became} {each.took.refused}".rstrip())
    if len(told) > _MOST_TOLD:
        screen.say(f"and {len(told) - _MOST_TOLD:,} more sessions")
    if not told:
        screen.say("Nothing new was said.")
    screen.say(f'{counted(state.turns, "turn")} wait to be distilled: tell your agent "tend the memory".')
