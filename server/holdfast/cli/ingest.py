"""ingest: files of others become notes, each once, however often it is called; see `holdfast.engine.admin.imports`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

import anyio

from holdfast.cli.session import caller_in, run, settings_here
from holdfast.cli.terminal import DONE, NOTHING, Screen, as_json, clean, err, out
from holdfast.engine.admin.gate import Confirmations
from holdfast.engine.admin.imports import ImportFrom, ImportReport, import_memory
from holdfast.engine.agent.browse import stats
from holdfast.engine.ports import Caller
from holdfast.engine.runtime import Memory
from holdfast.errors import InvalidArgumentError
from holdfast.model.moving import LeftOut
from holdfast.model.note import GLOBAL_SPACE
from holdfast.model.words import counted

MOST_TOLD: Final = 20
TOLD_SECONDS: Final = 0.5


def run_ingest(options: argparse.Namespace) -> int:
    """Import every path; 1 where something in them was refused."""
    settings = settings_here()
    paths = [_checked(Path(path).resolve(), settings.home.resolve()) for path in options.paths]
    who = caller_in(settings)
    given = ImportFrom("", options.kind, options.space or who.space or GLOBAL_SPACE, anywhere=True)
    asked = [replace(given, path=str(path)) for path in paths]
    reports = run(settings, lambda memory: _ingest(memory, who, asked, dry=options.dry_run))
    told = {request.path: report for request, report in zip(asked, reports, strict=True)}
    if options.json:
        out().say(as_json([{"path": path, "dry_run": options.dry_run, **asdict(told[path])} for path in told]))
    else:
        _tell(out(), told, dry=options.dry_run)
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
            await anyio.sleep(TOLD_SECONDS)

    async with anyio.create_task_group() as tasks:
        if total and screen.live:
            tasks.start_soon(tell)
        await memory.catch_up()
        tasks.cancel_scope.cancel()


def _tell(screen: Screen, told: Mapping[str, ImportReport], *, dry: bool) -> None:
    for path, report in told.items():
        verb = "would be stored" if dry else "stored"
        screen.say(
            f"{clean(path)} ({report.kind}): {counted(report.notes, 'note')} {verb}, {report.known:,} known already, "
            f"{report.updated:,} brought up to date, {report.same:,} the same as others, "
            f"{report.refused_count:,} refused"
        )
        _tell_left_out(screen, report.refused, report.refused_count, "yellow")
        _tell_left_out(screen, report.unmapped, report.unmapped_count, "dim")
        for change in reversed(report.changes[-MOST_TOLD:]):
            screen.say(screen.paint(f"  to undo: holdfast outdated --undo {change}", "dim"))
        if report.secrets:
            found: dict[str, Any] = dict(report.secrets)
            screen.say(f"  secrets that were replaced: {', '.join(f'{name} {count}' for name, count in found.items())}")


def _tell_left_out(screen: Screen, items: Sequence[LeftOut], count: int, style: str) -> None:
    """What was refused or passed over, by name."""
    for left in items[:MOST_TOLD]:
        screen.say(screen.paint(f"  {clean(left.where or '-')}: {clean(left.reason)}", style))
    if count > MOST_TOLD:
        screen.say(screen.paint(f"  and {count - MOST_TOLD:,} more; --json tells them", style))
