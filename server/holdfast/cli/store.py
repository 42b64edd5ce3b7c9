"""store: the tables of a database, and a memory folder into it and out of it; see `docs/fleet.md`."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, closing
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import anyio
import anyio.to_thread

from holdfast.app import open_database, reach_database
from holdfast.cli.terminal import DONE, NOTHING, as_json, clean, err, out
from holdfast.cli.verbs import settings_here
from holdfast.engine.ports import new_change_id, now
from holdfast.engine.sync.batch import given_ids
from holdfast.errors import InvalidArgumentError, SettingsError, StorageError
from holdfast.model.access import tenant_key
from holdfast.model.words import counted
from holdfast.settings import Settings
from holdfast.store.filesystem import FileSystem
from holdfast.store.folder import Folder
from holdfast.store.notes import NoteFiles

if TYPE_CHECKING:
    from holdfast.store.rows.moving import Moved
    from holdfast.store.rows.schema import Connection

Answer = TypeVar("Answer")
MOST_NAMED: Final = 20


def run_store(options: argparse.Namespace) -> int:
    """Do what is asked of the database that HOLDFAST_STORE names."""
    settings = settings_here(warn=False)
    if not settings.store:
        raise SettingsError("HOLDFAST_STORE names no database.", "Set it to postgresql://user@host/database.")
    open_database(settings)  # says so where the driver is missing
    match options.action:
        case "init" | "migrate":
            return _migrate(settings, options)
        case "check":
            return _check(settings, options)
        case "load":
            return _load(settings, options)
        case _:
            return _dump(settings, options)


def connected(settings: Settings, work: Callable[[Connection], Answer]) -> Answer:
    """Work on one connection, of the role that HOLDFAST_STORE names.

    Raises:
        StorageError: the database cannot be reached, or refused.
    """
    import psycopg  # noqa: PLC0415 - most have none

    from holdfast.store.rows.database import refused  # noqa: PLC0415 - as above
    from holdfast.store.rows.schema import connect  # noqa: PLC0415 - as above

    try:
        with closing(connect(settings.store.get())) as connection:
            return work(connection)
    except psycopg.Error as error:
        raise refused(error) from error


def _migrate(settings: Settings, options: argparse.Namespace) -> int:
    from holdfast.store.rows.schema import migrate  # noqa: PLC0415 - as above

    before, after = connected(settings, lambda connection: migrate(connection, options.role or ""))
    if options.json:
        out().say(as_json({"before": before, "schema": after}))
    elif before == after:
        out().say(f"The tables are there: schema {after}.")
    else:
        out().say(f"The tables are made: schema {after}." if not before else f"Schema {before} became {after}.")
    return DONE


def _check(settings: Settings, options: argparse.Namespace) -> int:
    from holdfast.store.rows.schema import check  # noqa: PLC0415 - as above

    found = connected(settings, check)
    if options.json:
        out().say(as_json({"schema": found.version, "problems": found.problems}))
    else:
        out().say(f"Schema {found.version}.")
        for problem in found.problems:
            out().say(f"  {problem}")
        if not found.problems:
            out().say("Nothing is wrong.")
    return NOTHING if found.problems else DONE


def _load(settings: Settings, options: argparse.Namespace) -> int:
    from holdfast.store.rows.moving import check_whole  # noqa: PLC0415 - as above

    home = Path(options.folder).resolve()
    if not (home / "memories").is_dir():
        raise InvalidArgumentError("That is no memory folder: it has no folder memories/.", "Nothing was loaded.")
    check_whole(home)
    moved = _in_loop(partial(_load_quietly, settings, home))
    if not options.json and moved.left:
        out().say(f"{counted(len(moved.left), 'file')} of the folder stayed there, being none of a memory:")
        for name in moved.left[:MOST_NAMED]:
            out().say(f"  {clean(name)}")
    return _tell(moved, options, "loaded")


async def _load_quietly(settings: Settings, home: Path) -> Moved:
    from holdfast.store.rows.backups import load_backups  # noqa: PLC0415 - as above
    from holdfast.store.rows.moving import load  # noqa: PLC0415 - as above

    await reach_database(settings)
    database, tenant, screen = open_database(settings), tenant_key(settings.tenant), err()
    backups, harmed = 0, tuple[str, ...]()
    store = NoteFiles(Folder(home), FileSystem(), now, new_change_id)

    def tell(done: int, total: int) -> None:
        screen.progress(done, total, "files")

    def beside() -> None:
        nonlocal backups, harmed
        backups, harmed = load_backups(database, tenant, Folder(home))

    try:
        await store.open()
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(store.alone())
            await stack.enter_async_context(store.quiet())
            given = given_ids(await store.past.records())
            work = partial(load, database, tenant, Folder(home), given, tell, beside)
            moved = await anyio.to_thread.run_sync(work)
            return replace(moved, left=(*moved.left, *harmed), backups=backups)
    finally:
        screen.clear()
        await store.aclose()
        await database.aclose()


def _dump(settings: Settings, options: argparse.Namespace) -> int:
    moved = _in_loop(partial(_dump_whole, settings, Path(options.folder).resolve()))
    return _tell(moved, options, "written")


async def _dump_whole(settings: Settings, home: Path) -> Moved:
    from holdfast.store.rows.backups import dump_backups  # noqa: PLC0415 - as above
    from holdfast.store.rows.moving import check_named, dump  # noqa: PLC0415 - as above

    await reach_database(settings)
    database, tenant, backups = open_database(settings), tenant_key(settings.tenant), 0

    def beside() -> None:
        nonlocal backups
        backups = dump_backups(database, tenant, Folder(home))

    try:
        await anyio.to_thread.run_sync(check_named, database, tenant)
        moved = await anyio.to_thread.run_sync(partial(dump, database, tenant, home, beside=beside))
        return replace(moved, backups=backups)
    finally:
        await database.aclose()


def _in_loop(work: Callable[[], Awaitable[Moved]]) -> Moved:
    """Run it; what the system refuses has the name that errors have here.

    Raises:
        StorageError: a file cannot be read or written.
    """
    try:
        return anyio.run(work)
    except OSError as error:
        raise StorageError(
            f"A file cannot be read or written: {error.strerror}.", "The same call goes on with what is left."
        ) from error


def _tell(moved: Moved, options: argparse.Namespace, verb: str) -> int:
    if options.json:
        out().say(as_json(asdict(moved)))
    else:
        out().say(
            f"{counted(moved.files, 'file')} and {counted(moved.lines, 'line')} of the journal {verb}; "
            f"{moved.fresh:,} of the files were not there yet. {counted(moved.backups, 'backup')} went along."
        )
        if moved.is_open:
            out().say("Others on this machine may read it: the disk has no modes that can be set, as it is mounted.")
    return DONE
