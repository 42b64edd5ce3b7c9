"""What doctor looks at, one finding each: the folder, SQLite, the encoder, the settings, the clients' entries."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

import anyio

from holdfast.app import build_memory
from holdfast.cli import install as entries
from holdfast.cli.install import START_SECONDS, Client, clients
from holdfast.cli.store import connected
from holdfast.engine.ports import OwnEncoder
from holdfast.errors import EncoderError, HoldfastError
from holdfast.index.database import vector_extension
from holdfast.settings import Late, Settings
from holdfast.store.watch import is_local

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
        told = f"config.yaml or the environment has what nobody reads: {names}"
        yield CheckResult("settings", "warn", told, "It may be misspelt.")
    for remark in settings.remarks:
        yield CheckResult("settings", "warn", remark)
    if not settings.unknown and not settings.remarks:
        yield CheckResult("settings", "ok", "all are known")


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
