"""Taking in what there is already: files of others as notes; past sessions and exported ones as turns that wait."""

from __future__ import annotations

import argparse
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import anyio
from anyio.to_thread import run_sync

from holdfast.cli.terminal import DONE, NOTHING, Screen, as_json, clean, err, out
from holdfast.cli.verbs import caller_in, run, settings_here
from holdfast.engine.admin.gate import Confirmations
from holdfast.engine.admin.imports import ImportFrom, ImportReport, import_memory
from holdfast.engine.agent.browse import stats
from holdfast.engine.ports import Caller, Ports
from holdfast.engine.presence.taking import Session, Took, Wanted, latest, take_in, take_sessions, without_secrets
from holdfast.engine.runtime import Memory
from holdfast.errors import InvalidArgumentError, StorageError
from holdfast.model.moving import LeftOut
from holdfast.model.note import GLOBAL_SPACE
from holdfast.model.transcripts.turns import Turn, conversations_in, turns_in
from holdfast.model.words import counted
from holdfast.store.transcripts.queue import TranscriptQueue, Waiting

SUFFIXES: Final = (".json", ".zip")
LARGEST: Final = 1 << 30  # bytes of one file
_NAMED: Final = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")


def is_export(path: Path) -> bool:
    """Whether a path may be that of an export."""
    return path.suffix.lower() in SUFFIXES or path.is_dir()


def read_export(path: Path) -> list[Mapping[str, Any]]:
    """The conversations of an export.

    Raises:
        InvalidArgumentError: there are none, or it is too large.
        OSError: it cannot be read.
    """
    found: list[Mapping[str, Any]] = []
    try:
        for data in _files(path):
            found += conversations_in(json.loads(data))
    except (ValueError, RecursionError, zipfile.BadZipFile) as error:
        raise InvalidArgumentError("The export cannot be read: it is harmed, or no export.", "Export anew.") from error
    if not found:
        raise InvalidArgumentError(
            "The path holds no conversations.", "Name the export's archive or conversations.json."
        )
    return found


def _files(path: Path) -> Iterator[bytes]:
    """The files of conversations, each whole."""
    if path.is_dir():
        for inner in sorted(path.glob("conversations*.json")):
            yield from _files(inner)
    elif path.suffix.lower() == ".zip":
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                if _NAMED.fullmatch(entry.filename):
                    _check(entry.file_size)
                    with archive.open(entry) as file:
                        yield file.read(LARGEST)
    elif path.is_file():
        _check(path.stat().st_size)
        yield path.read_bytes()


def _check(size: int) -> None:
    if size > LARGEST:
        raise InvalidArgumentError(f"A file of the export is larger than {LARGEST >> 20:,} MiB.", "Import it in parts.")


@dataclass(slots=True)
class Brought:
    """What became of an export: for `later` conversations there was no room, they can be brought at another time."""

    conversations: int = 0
    turns: int = 0
    later: int = 0


async def bring_export(
    ports: Ports,
    queue: TranscriptQueue,
    path: Path,
    space: str,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
    *,
    dry_run: bool = False,
) -> Brought:
    """Let the conversations of an export wait to be distilled.

    Args:
        ports: storage, index, encoder, clock and ids.
        queue: where turns wait.
        path: the export.
        space: for what is made of it.
        progress: how far it is, in conversations.
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
        progress(number, len(conversations))
    return brought


def _turns_of_all(path: Path) -> Sequence[list[Turn]]:
    """The turns of every conversation, that in which something was said last first."""
    found: list[Mapping[str, Any]] = read_export(path)
    turns = [turns_in(conversation) for conversation in found]
    return sorted(filter(None, turns), key=lambda said: max(turn.at for turn in said), reverse=True)


MOST_REPORTED: Final = 20
PROGRESS_SECONDS: Final = 0.5


def run_ingest(options: argparse.Namespace) -> int:
    """Import every path; 1 where something in them was refused."""
    settings = settings_here()
    paths = [_checked(Path(path).resolve(), settings.home.resolve()) for path in options.paths]
    who = caller_in(settings)
    given = ImportFrom("", options.kind, options.space or who.space or GLOBAL_SPACE, anywhere=True)
    asked = [replace(given, path=str(path)) for path in paths]
    reports = run(settings, lambda memory: _ingest(memory, who, asked, dry=options.dry_run))
    found = {request.path: report for request, report in zip(asked, reports, strict=True)}
    if options.json:
        out().say(as_json([{"path": path, "dry_run": options.dry_run, **asdict(found[path])} for path in found]))
    else:
        _tell(out(), found, dry=options.dry_run)
    return NOTHING if any(report.refused_count for report in reports) else DONE


def _checked(path: Path, home: Path) -> Path:
    """A path that leads to something that is not in the memory already."""
    if not path.exists():
        raise InvalidArgumentError("A path leads to no file and no folder.", "Nothing was stored; check the paths.")
    if path.is_relative_to(home) or home.is_relative_to(path):
        raise InvalidArgumentError("A path holds the memory folder, or lies in it.", "Name what is beside it.")
    return path


async def _ingest(memory: Memory, who: Caller, asked: Sequence[ImportFrom], *, dry: bool) -> list[ImportReport]:
    tokens, screen, reports = Confirmations(), err(), []

    async def progress(done: int, total: int) -> None:
        screen.progress(done, total, "files")

    for request in asked:
        done = await import_memory(memory, who, tokens, request, progress)
        if not dry:
            done = await import_memory(memory, who, tokens, replace(request, confirm=done.confirm), progress)
        reports.append(done.report)
    if not dry:
        await _encode(memory, screen)
    screen.clear()
    return reports


async def _encode(memory: Memory, screen: Screen) -> None:
    """Make the notes' vectors before the command ends: there may be no server that would."""
    total = (await memory.attend(stats)).pending_vectors

    async def tell() -> None:
        while True:
            left = (await memory.peek(stats)).pending_vectors
            screen.progress(max(0, total - left), total, "vectors")
            await anyio.sleep(PROGRESS_SECONDS)

    async with anyio.create_task_group() as tasks:
        if total and screen.live:
            tasks.start_soon(tell)
        await memory.catch_up()
        tasks.cancel_scope.cancel()


def _tell(screen: Screen, reports: Mapping[str, ImportReport], *, dry: bool) -> None:
    for path, report in reports.items():
        verb = "would be stored" if dry else "stored"
        screen.say(
            f"{clean(path)} ({report.kind}): {counted(report.notes, 'note')} {verb}, {report.known:,} known already, "
            f"{report.updated:,} brought up to date, {report.same:,} the same as others, "
            f"{report.refused_count:,} refused"
        )
        if report.differing:
            screen.say(f"  {counted(report.differing, 'note')} different here and there, and left as they are here")
        if report.gone:
            screen.say(f"  {counted(report.gone, 'note')} not stored again: deleted, merged or taken back here since")
        _tell_left_out(screen, report.refused, report.refused_count, "yellow")
        _tell_left_out(screen, report.unmapped, report.unmapped_count, "dim")
        for change in reversed(report.changes[-MOST_REPORTED:]):
            screen.say(screen.paint(f"  to undo: holdfast outdated --undo {change}", "dim"))
        if report.secrets:
            found: dict[str, Any] = dict(report.secrets)
            screen.say(f"  secrets that were replaced: {', '.join(f'{name} {count}' for name, count in found.items())}")


def _tell_left_out(screen: Screen, items: Sequence[LeftOut], count: int, style: str) -> None:
    """What was refused or passed over, by name."""
    for left in items[:MOST_REPORTED]:
        screen.say(screen.paint(f"  {clean(left.where or '-')}: {clean(left.reason)}", style))
    if count > MOST_REPORTED:
        screen.say(screen.paint(f"  and {count - MOST_REPORTED:,} more; --json tells them", style))


_HOURS: Final = {"h": 1, "d": 24, "w": 168}
_SPAN: Final = re.compile(r"(\d{1,5})([hdw])")


def run_ingest_session(options: argparse.Namespace) -> int:
    """Take in sessions; 1 where there was nothing new."""
    settings = settings_here()
    hours = hours_in(options.since) if options.since else float(settings.session_hours)
    asked = [str(Path(path).absolute()) for path in options.paths]
    wanted = Wanted(hours or None, settings.session_turns)
    request = _Request(asked, wanted, options.space or "", options.latest, options.dry_run)
    taken, state = run(settings, lambda memory: _ingest_sessions(memory, request))
    if options.json:
        sessions = [{"path": each.path, "turns": each.took.turns, "refused": each.took.refused} for each in taken]
        out().say(as_json({"sessions": sessions, "waiting": state.turns, "dropped": state.dropped}))
    else:
        _tell_taken(out(), taken, state, "would be taken in" if options.dry_run else "taken in")
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


async def _ingest_sessions(memory: Memory, request: _Request) -> tuple[list[Session], Waiting]:
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
                ports, queue, request.wanted, progress=lambda done, total: screen.progress(done, total, "sessions")
            )
        return taken, await queue.state()

    try:
        return await memory.attend_folder(work)
    finally:
        screen.clear()


async def _take(ports: Ports, queue: TranscriptQueue, path: str, request: _Request, screen: Screen) -> Session:
    if not is_export(Path(path)):
        return Session(path, await take_in(ports, queue, path, request.space))

    def progress(done: int, total: int) -> None:
        screen.progress(done, total, "conversations")

    brought = await bring_export(ports, queue, Path(path), request.space, progress, dry_run=request.dry_run)
    later = f"{brought.later:,} conversations find no room: distil some, then call again." if brought.later else ""
    return Session(path, Took(brought.turns, not brought.later, later))


def _tell_taken(screen: Screen, taken: Sequence[Session], state: Waiting, verb: str) -> None:
    shown = [each for each in taken if each.took.turns or each.took.refused]
    for each in shown[:MOST_REPORTED]:
        became = f"{counted(each.took.turns, 'turn')} {verb}." if each.took.turns else ""
        screen.say(f"{clean(each.path)}: {became} {each.took.refused}".rstrip())
    if len(shown) > MOST_REPORTED:
        screen.say(f"and {len(shown) - MOST_REPORTED:,} more sessions")
    if not shown:
        screen.say("Nothing new was said.")
    screen.say(f'{counted(state.turns, "turn")} wait to be distilled: tell your agent "tend the memory".')
