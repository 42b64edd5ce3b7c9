"""doctor: looks at folder, SQLite, encoder, settings and the clients' entries, and says what to do about each."""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import anyio

from holdfast import __version__
from holdfast.cli.checks import (
    CheckResult,
    check_clients,
    check_encoders,
    check_folder,
    check_settings,
    check_sqlite,
    check_store,
)
from holdfast.cli.hook_checks import check_presence
from holdfast.cli.session import caller_in, run, settings_here
from holdfast.cli.terminal import DONE, NOTHING, Screen, as_json, clean, out
from holdfast.engine.admin.health import DAMAGED_REMEDY, read_vectors
from holdfast.engine.agent.browse import Stats, stats
from holdfast.engine.omi.integrity import IntegrityReport, Problem, accept_integrity, integrity_check, note_sights
from holdfast.engine.ports import Caller
from holdfast.engine.runtime import Memory
from holdfast.errors import HoldfastError, SettingsError
from holdfast.model.omi import CORE_LINKS, MOST_ORPHANS
from holdfast.model.pages import is_page
from holdfast.model.words import counted
from holdfast.settings import Settings

_COLOURS: Final = {"ok": "green", "warn": "yellow", "fail": "red"}
MOST_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class _Looked:
    """What an open memory told of itself."""

    numbers: Stats
    report: IntegrityReport
    quarantined: tuple[tuple[str, str], ...]
    accepted: tuple[str, ...]
    open_changes: int
    vectors: tuple[int, int] | None
    damaged: int
    damaged_at: tuple[str, ...]


def run_doctor(options: argparse.Namespace) -> int:
    """Look at everything; 1 where something has failed."""
    findings = list(_all(accept=options.accept))
    screen = out()
    failed = any(finding.status == "fail" for finding in findings)
    if options.json:
        screen.say(as_json({"ok": not failed, "checks": [asdict(finding) for finding in findings]}))
    else:
        for finding in findings:
            _tell(screen, finding)
    return NOTHING if failed else DONE


def _tell(screen: Screen, finding: CheckResult) -> None:
    status = screen.paint(f"{finding.status:4}", _COLOURS[finding.status])
    remedy = f" -> {finding.remedy}" if finding.remedy else ""
    screen.say(f"{status}  {finding.what}: {clean(finding.said)}{clean(remedy)}")


def _all(*, accept: bool) -> Iterator[CheckResult]:
    yield CheckResult("holdfast", "ok", f"{__version__}, Python {platform.python_version()}")
    yield from check_sqlite()
    try:
        settings = settings_here(warn=False)
    except SettingsError as error:
        yield CheckResult("settings", "fail", error.sentence, error.remedy)
    else:
        yield from check_settings(settings)
        kept = list(check_store(settings)) if settings.store else []
        yield from kept
        yield from check_folder(settings.home)
        if settings.home.is_dir() and not any(each.status == "fail" for each in kept):
            yield from _memory(settings, accept=accept)
        yield from anyio.run(check_encoders, settings)
    yield from check_clients(os.environ, Path.home())
    yield from check_presence(os.environ, Path.home())


def _memory(settings: Settings, *, accept: bool) -> Iterator[CheckResult]:
    """What is in the folder, by opening it as a server would."""
    who = caller_in(settings)
    try:
        looked = run(settings, lambda memory: _look(memory, who, accept=accept))
    except HoldfastError as error:
        yield CheckResult("notes", "fail", error.sentence, error.remedy)
        return
    numbers = looked.numbers
    yield CheckResult("notes", "ok", f"{counted(numbers.notes, 'note')} in {counted(len(numbers.spaces), 'space')}")
    if looked.accepted:
        yield CheckResult("pages", "ok", f"taken for right: {', '.join(looked.accepted)}")
    yield from _pages(looked.report)
    yield from _files(looked)
    yield _vectors(looked.vectors)
    if not settings.store:  # a database knows no change without an outcome, and makes backups by its own means
        yield from _of_the_folder(looked, settings)
    if looked.damaged:
        places = ", ".join(f"journal/{place}" for place in looked.damaged_at)
        more = " and more" if looked.damaged > len(looked.damaged_at) else ""
        yield CheckResult("journal lines", "warn", f"{looked.damaged:,} cannot be read: {places}{more}", DAMAGED_REMEDY)
    else:
        yield CheckResult("journal lines", "ok", "every line can be read")


def _of_the_folder(looked: _Looked, settings: Settings) -> Iterator[CheckResult]:
    """What only a folder has."""
    yield from _left_open(looked.open_changes, settings.home)
    if settings.vault_enabled and looked.numbers.notes and looked.numbers.last_backup is None:
        yield CheckResult("backup", "warn", "there is none yet", "A running server makes one each day.")


async def _look(memory: Memory, who: Caller, *, accept: bool) -> _Looked:
    accepted: tuple[str, ...] = ()
    await memory.attend(note_sights)  # as a server does when it has started
    if accept:
        accepted = await memory.attend(lambda ports: accept_integrity(ports, who))
    numbers = await memory.attend(stats)
    report = await memory.attend(integrity_check)
    quarantined = await memory.attend(lambda ports: ports.index.problems())
    vectors = await memory.attend(read_vectors)
    store = memory.ports.store
    damaged, places = await store.damaged_lines()
    return _Looked(numbers, report, tuple(quarantined), accepted, store.open_changes, vectors, damaged, places)


def _pages(report: IntegrityReport) -> Iterator[CheckResult]:
    changed = [problem for problem in report.problems if is_page(problem.where)]
    for problem in changed[:MOST_NAMED]:
        yield CheckResult(
            "pages", "warn", f"{problem.where}: {problem.what}", "holdfast doctor --accept, if it is right."
        )
    if not changed:
        yield CheckResult("pages", "ok", "NOW files, MEMORY.md and logs are as they were left")


def _files(looked: _Looked) -> Iterator[CheckResult]:
    for path, reason in looked.quarantined[:MOST_NAMED]:
        yield CheckResult("quarantine", "warn", f"memories/{path}: {reason}", "Mend the file; it is read again then.")
    if len(looked.quarantined) > MOST_NAMED:
        yield CheckResult(
            "quarantine", "warn", f"{counted(len(looked.quarantined), 'file')} in all", "holdfast doctor, when mended."
        )
    if not looked.quarantined:
        yield CheckResult("quarantine", "ok", "every file can be read as a note")
    topology = looked.report.topology
    if topology.sudden_cores or topology.orphan_nodes > MOST_ORPHANS:
        alone, many = f"{topology.orphan_nodes:,}", f"{topology.sudden_cores:,}"
        told = f"notes without a link: {alone}; notes that got {CORE_LINKS} links within a day: {many}"
        yield CheckResult("links", "warn", told, "The tool integrity_check names them.")
    for problem in _broken(looked)[:MOST_NAMED]:
        yield CheckResult("integrity", "fail", f"{problem.where}: {problem.what}", "Look at it, or restore a backup.")


def _broken(looked: _Looked) -> list[Problem]:
    """What is neither a page, nor a file in quarantine, nor an odd place in the graph, of which each has one report."""
    odd = {path for path, _ in looked.quarantined} | set(looked.report.topology.warnings)
    broken = []
    for problem in looked.report.problems:
        if problem.where in odd:
            odd.remove(problem.where)
        elif not is_page(problem.where):
            broken.append(problem)
    return broken


def _vectors(read: tuple[int, int] | None) -> CheckResult:
    """Whether this process gets all vectors of the index into memory; what other processes have nobody can tell."""
    what = "vectors in memory"
    if read is None:
        return CheckResult(what, "ok", "no vector set is ready, so there are none to count")
    here, there = read
    if here != there:
        said = f"{here:,} of {there:,} in the index were read: some notes are not found by meaning"
        return CheckResult(what, "fail", said, "Delete .holdfast/: it is rebuilt from the notes.")
    return CheckResult(
        what, "ok", f"all {there:,} in the index were read; a running server tells its own in admin://health"
    )


def _left_open(changes: int, home: Path) -> Iterator[CheckResult]:
    if changes:
        told = f"{counted(changes, 'change')} without an outcome"
        yield CheckResult("journal", "warn", told, "Another process is at it, or holds their locks; look again.")
    else:
        yield CheckResult("journal", "ok", "no change is left open")
    lost = sum(1 for _ in (home / "trash" / "conflicts").glob("*"))
    if lost:
        yield CheckResult(
            "conflicts",
            "warn",
            f"{counted(lost, 'text')} that lost a race in trash/conflicts",
            "Take what you need of them.",
        )
