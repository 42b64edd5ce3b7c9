"""doctor: looks at the folder, SQLite, encoder, settings, clients' entries and hooks; says what to do about each."""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sqlite3
import stat
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

import anyio

from holdfast import __version__
from holdfast.app import build_memory
from holdfast.cli import install as entries
from holdfast.cli.hooks import has_hooks, is_on
from holdfast.cli.install import START_SECONDS, Client, clients
from holdfast.cli.store import connected
from holdfast.cli.terminal import DONE, NOTHING, Screen, as_json, clean, out
from holdfast.cli.verbs import caller_in, run, settings_here
from holdfast.engine.admin.health import DAMAGED_REMEDY, read_vectors
from holdfast.engine.agent.browse import Stats, stats
from holdfast.engine.omi.integrity import (
    UNUSUAL,
    IntegrityReport,
    Problem,
    accept_integrity,
    integrity_check,
    record_first_seen,
)
from holdfast.engine.ports import Caller, OwnEncoder
from holdfast.engine.runtime import Memory
from holdfast.errors import EncoderError, HoldfastError, SettingsError
from holdfast.index.database import vector_extension
from holdfast.model.lifecycle import CORE_LINKS, MOST_ORPHANS
from holdfast.model.records import is_page
from holdfast.model.words import counted
from holdfast.settings import Late, Settings
from holdfast.store.folder import is_local

Status = Literal["ok", "warn", "fail"]

ENCODER_SECONDS: Final = 30.0  # a cold provider may load its model first
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What was found of one thing, and what to do about it where it is not ok."""

    what: str
    status: Status
    said: str
    remedy: str = ""


def check_folder(home: Path) -> Iterator[CheckResult]:
    """The memory folder as such."""
    if not home.is_dir():
        if home.exists():
            yield CheckResult("folder", "fail", f"{home} is no folder", "Set HOLDFAST_HOME to another place.")
        else:
            yield _not_there(home)
        return
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        yield CheckResult("folder", "fail", f"{home} cannot be written to", "Give yourself its permissions.")
        return
    yield CheckResult("folder", "ok", str(home))
    if sys.platform != "win32" and home.stat().st_mode & _OTHERS:
        yield CheckResult("permissions", "warn", "other users may look into the folder", f"chmod 700 {home}")
    if sys.platform == "linux" and not is_local(home):
        yield CheckResult(
            "disk", "warn", "the folder is not on a disk that is known to be local",
            "Locks may not hold between machines: keep servers on one, and sync the notes alone.",
        )  # fmt: skip


def _not_there(home: Path) -> CheckResult:
    above = next(place for place in home.parents if place.exists())
    if above.is_dir() and os.access(above, os.W_OK | os.X_OK):
        return CheckResult("folder", "warn", f"{home} is not there yet", "The first note makes it.")
    remedy = "Give yourself its permissions, or set HOLDFAST_HOME to another place."
    return CheckResult("folder", "fail", f"{home} cannot be made: nothing can be put into {above}", remedy)


def check_store(settings: Settings) -> Iterator[CheckResult]:
    """The database that keeps the notes: as `holdfast store check` looks at it."""
    try:
        from holdfast.store.rows.schema import check  # noqa: PLC0415 - most have no driver for it

        found = connected(settings, check)
    except ImportError:
        yield CheckResult(
            "database",
            "fail",
            "the driver of PostgreSQL is missing",
            "Install the clone's requirements-postgres.txt with pip.",
        )
        return
    except HoldfastError as error:
        yield CheckResult("database", "fail", error.sentence, error.remedy)
        return
    if found.works:
        yield CheckResult("database", "ok", f"schema {found.version}: servers can work with it")
    for number, problem in enumerate(found.problems):
        is_fatal = not found.works and number == 0
        yield CheckResult("database" if is_fatal else "durability", "fail" if is_fatal else "warn", problem)


def check_sqlite() -> Iterator[CheckResult]:
    """What SQLite can do here."""
    try:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute("CREATE VIRTUAL TABLE words USING fts5(body)")
    except sqlite3.Error:
        yield CheckResult("sqlite", "fail", "SQLite has no full-text search (FTS5)", "Use another build of Python.")
        return
    yield CheckResult("sqlite", "ok", f"SQLite {sqlite3.sqlite_version} with FTS5")
    how = {"official": "loaded as an extension", "auto": "registered through ctypes"}.get(vector_extension())
    if how:
        yield CheckResult("vectors", "ok", f"sqlite-vec, {how}")
    else:
        yield CheckResult(
            "vectors", "warn", "sqlite-vec cannot be loaded", "numpy compares vectors instead, more slowly."
        )


async def check_encoders(settings: Settings) -> list[CheckResult]:
    """That of the settings, and the one beside it where they want one."""
    ports = build_memory(replace(settings, store=Late("HOLDFAST_STORE"))).ports  # the same, without it
    if ports.encoder is None:
        return [CheckResult("encoder", "ok", "none: notes are found by their words alone")]
    found = [await _check_encoder("encoder", settings.encoder, ports.encoder)]
    if ports.beside is not None:
        found.append(await _check_encoder("multilingual", settings.multilingual, ports.beside))
    return found


async def _check_encoder(what: str, setting: str, encoder: OwnEncoder) -> CheckResult:
    """One text encoded for real: by a loaded model, or by the provider over the network."""
    try:
        with anyio.fail_after(ENCODER_SECONDS):
            made = await encoder.identify()
            await encoder.encode_query("Does it encode?")
    except EncoderError as error:
        return CheckResult(what, "fail", f"{setting}: {error.sentence}", error.remedy)
    except TimeoutError:
        return CheckResult(what, "fail", f"{setting} does not answer", "Start the provider, or check its URL.")
    finally:
        with anyio.CancelScope(shield=True):
            await encoder.aclose()
    return CheckResult(what, "ok", f"{made.provider}, {made.model}, {made.dimension} dimensions: encoded a text")


def check_settings(settings: Settings) -> Iterator[CheckResult]:
    """Keys and variables that nobody reads, and values that are not followed."""
    if settings.unknown:
        names = ", ".join(settings.unknown)
        unread = f"config.yaml or the environment has what nobody reads: {names}"
        yield CheckResult("settings", "warn", unread, "It may be misspelt.")
    for remark in settings.remarks:
        yield CheckResult("settings", "warn", remark)
    if not settings.unknown and not settings.remarks:
        yield CheckResult("settings", "ok", "all are known")


def check_watched(settings: Settings) -> Iterator[CheckResult]:
    """The folders of markdown that are kept in step: each must be there, and the memory a folder too."""
    if settings.watch and settings.store:
        said = "nothing is kept in step with them: the notes are in a database"
        remedy = "Take HOLDFAST_WATCH out; holdfast ingest takes them in, and what has changed each time it is called."
        yield CheckResult("watched folders", "warn", said, remedy)
        return
    for folder in settings.watch:
        if not folder.is_dir():
            said = f"{folder} is {'no folder' if folder.exists() else 'not there'}: nothing is kept in step with it"
            yield CheckResult("watched folders", "warn", said, "Make it, or mend HOLDFAST_WATCH.")
    if settings.watch and all(folder.is_dir() for folder in settings.watch):
        yield CheckResult("watched folders", "ok", counted(len(settings.watch), "folder"))


def check_clients(environ: Mapping[str, str], home: Path) -> Iterator[CheckResult]:
    """Every entry of Holdfast in a client's file, for all projects and for this folder's."""
    count = 0
    for name, client in clients(environ, home).items():
        for path in (client.user, client.project):
            for finding in _check_file(name, client, path, own=path is client.user):
                count += 1
                yield finding
    if not count:
        yield CheckResult("clients", "warn", "no client has Holdfast yet", "holdfast install claude-code, say")


def _check_file(name: str, client: Client, path: Path | None, *, own: bool) -> Iterator[CheckResult]:
    """Findings on a file; what it starts is tried where it is the user's `own`, a project's may be anybody's."""
    if path is None or not path.is_file():
        return
    try:
        servers = entries.read(client, path.read_text("utf-8-sig")).get(client.key, {})
    except (HoldfastError, OSError, ValueError):
        yield CheckResult(name, "warn", f"{path} cannot be read", "Mend it; then look again.")
        return
    for key, entry in servers.items():
        if isinstance(entry, dict) and _is_ours(key, entry):
            finding = _check_entry(name, key, entry, path)
            yield _started(finding, name, entry) if own and finding.status == "ok" else finding


def _is_ours(key: str, entry: Mapping[str, Any]) -> bool:
    parts = [key, Path(str(entry.get("command", ""))).stem, *map(str, entry.get("args") or ())]
    return "holdfast" in parts


def _check_entry(name: str, key: str, entry: Mapping[str, Any], path: Path) -> CheckResult:
    command = entry.get("command")
    if command is None:
        return CheckResult(name, "ok", f"{key} in {path} leads to an address")
    if shutil.which(str(command)) is None:
        return CheckResult(
            name, "fail", f"{key} in {path} starts a command that is not there", f"holdfast install {name} mends it."
        )
    if not Path(str(command)).is_absolute():
        return CheckResult(
            name, "warn", f"{key} in {path} has no absolute path", "Clients started from a desktop may not find it."
        )
    if name == "codex" and entry.get("required") is not True:
        return CheckResult(
            name, "warn", f"{key} in {path} is not required: the first turn may have no memory",
            "holdfast install codex mends it.",
        )  # fmt: skip
    return CheckResult(name, "ok", f"{key} in {path}")


def _started(finding: CheckResult, name: str, entry: Mapping[str, Any]) -> CheckResult:
    """The finding, unless the entry's command is ours and does not so much as tell its version."""
    command, arguments = str(entry.get("command")), [str(argument) for argument in entry.get("args") or ()]
    if Path(command).stem != "holdfast" and arguments[:2] != ["-m", "holdfast"]:
        return finding
    with suppress(OSError, subprocess.SubprocessError):
        tried = [command, *arguments, "--version"]
        subprocess.run(tried, stdin=subprocess.DEVNULL, capture_output=True, timeout=START_SECONDS, check=True)  # noqa: S603 - as the client does
        return finding
    return CheckResult(
        name, "fail", f"{finding.said}: its command does not start", f"holdfast install {name} mends it."
    )


WHAT: Final = "presence"
_EVENT_KEYS: Final = ("user_prompt_submit", "stop", "pre_compact")  # as Codex keeps what it trusts


def check_presence(environ: Mapping[str, str], home: Path) -> Iterator[CheckResult]:
    """A finding for each client in which presence is on, or whose hooks have nothing to call."""
    for name, client in clients(environ, home).items():
        pairs = ((client.user, client.hooks), (client.project, client.project_hooks))
        for path, hooks in pairs:
            if path is not None and hooks is not None and path.is_file():
                yield from _check(name, client, path, hooks)


def _check(name: str, client: Client, path: Path, hooks: Path) -> Iterator[CheckResult]:
    try:
        servers = entries.read(client, path.read_text("utf-8-sig")).get(client.key, {})
        text = hooks.read_text("utf-8-sig") if hooks.is_file() else ""
        for server, entry in servers.items():
            variables = entry.get("env") if isinstance(entry, dict) else None
            on = is_on(variables) if isinstance(variables, dict) else False
            there = has_hooks(text, name, server)
            if on or there:
                yield _finding(name, path, hooks, on=on, there=there)
    except (HoldfastError, OSError, ValueError):
        yield CheckResult(WHAT, "warn", f"{name}: {hooks} cannot be read", "Mend it; then look again.")


def _finding(name: str, path: Path, hooks: Path, *, on: bool, there: bool) -> CheckResult:
    mend = f"holdfast install {name} --presence"
    if not there:
        return CheckResult(WHAT, "warn", f"{name}: it is on in {path}, but its hooks are not in {hooks}", mend)
    if not on:
        return CheckResult(WHAT, "warn", f"{name}: its hooks are in {hooks}, but {path} does not turn it on", mend)
    if name == "codex" and (missing := _untrusted(path, hooks)):
        return CheckResult(
            WHAT, "warn", f"codex: its hooks are in {hooks}, and Codex has not been told to trust {missing} of them",
            'Start codex once and choose "Trust all and continue".',
        )  # fmt: skip
    return CheckResult(WHAT, "ok", f"{name}: on, with its hooks in {hooks}")


def _untrusted(path: Path, hooks: Path) -> int:
    """How many hooks Codex has no word of trust for. Whether that is for the hook as it is now, only Codex knows."""
    state: dict[str, Any] = tomllib.loads(path.read_text("utf-8-sig")).get("hooks", {}).get("state", {})
    trusted = [key for key, kept in state.items() if isinstance(kept, dict) and kept.get("trusted_hash")]
    places = {str(hooks), str(hooks.resolve())}
    known = {key[len(place) :].split(":")[1] for key in trusted for place in places if key.startswith(f"{place}:")}
    return sum(event not in known for event in _EVENT_KEYS)


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
        yield from check_watched(settings)
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
    if not settings.store:  # a database knows no change without an outcome
        yield from _left_open(looked.open_changes, settings.home)
    if settings.vault_enabled and looked.numbers.notes and looked.numbers.last_backup is None:
        yield CheckResult("backup", "warn", "there is none yet", "A running server makes one each day.")
    if looked.damaged:
        places = ", ".join(f"journal/{place}" for place in looked.damaged_at)
        more = " and more" if looked.damaged > len(looked.damaged_at) else ""
        yield CheckResult("journal lines", "warn", f"{looked.damaged:,} cannot be read: {places}{more}", DAMAGED_REMEDY)
    else:
        yield CheckResult("journal lines", "ok", "every line can be read")


async def _look(memory: Memory, who: Caller, *, accept: bool) -> _Looked:
    accepted: tuple[str, ...] = ()
    await memory.attend(record_first_seen)  # as a server does when it has started
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
        found = f"notes without a link: {alone}; notes that got {CORE_LINKS} links within a day: {many}"
        yield CheckResult("links", "warn", found, "The tool integrity_check names them.")
    for problem in looked.report.edited:
        yield CheckResult(
            "beliefs", "warn", f"{problem.where}: {problem.what}", "Nothing is to be done, if it is right."
        )
    for problem in _broken(looked)[:MOST_NAMED]:
        yield CheckResult("integrity", "fail", f"{problem.where}: {problem.what}", "Look at it, or restore a backup.")


def _broken(looked: _Looked) -> list[Problem]:
    """What is no page, no quarantined file, no odd place in the graph and no confidence that a person set: damage."""
    quarantined = {f"memories/{path}" for path, _ in looked.quarantined}
    return [
        problem
        for problem in looked.report.problems
        if problem.what not in UNUSUAL
        and problem not in looked.report.edited
        and problem.where not in quarantined
        and not is_page(problem.where)
    ]


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
        unfinished = f"{counted(changes, 'change')} without an outcome"
        yield CheckResult("journal", "warn", unfinished, "Another process is at it, or holds their locks; look again.")
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
