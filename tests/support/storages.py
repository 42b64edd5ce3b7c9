"""The storages that tests of the contract run on: the folder, one in memory, and a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psycopg
from psycopg import sql

import holdfast.app
import postgres
import processes
import served
from holdfast.app import Storage, new_change_id, row_storage
from holdfast.engine.sync.follow import following
from holdfast.model.access import tenant_key
from holdfast.settings import Settings
from holdfast.store.folder import Folder
from holdfast.store.memory import Locks, MemoryNotes, State
from holdfast.store.rows.database import Database
from holdfast.store.rows.notes import RowNotes

FOLDER, MEMORY, ROWS = "folder", "memory", "rows"
STORAGES = (FOLDER, MEMORY, ROWS)
MakeStorage = Callable[..., Storage]
Kept = dict[Path, tuple[State, Locks]]
_TABLES = (
    "SELECT table_name::text FROM information_schema.columns WHERE table_schema = 'holdfast' AND column_name = 'tenant'"
)


@contextmanager
def stored_in(name: str) -> Iterator[list[Path]]:
    """Memories that are built inside are kept there; those of one folder's name share what is kept.

    With rows that are those too of servers in processes that are begun inside. Yields the folders that were asked for.
    """
    used: list[Path] = []
    if name == FOLDER:
        yield used
    elif name == MEMORY:
        kept: Kept = {}
        with (
            patch.object(holdfast.app, "_folder_storage", _in_memory(kept)),
            patch.object(served, "beside", partial(_of_memory, kept)),
        ):
            yield used
    else:
        url = postgres.shared().url
        with (
            patch.object(holdfast.app, "_folder_storage", partial(in_rows, url, used)),
            patch.object(processes, "stored_at", partial(_at, url, used)),
            patch.object(served, "beside", _of_rows),
        ):
            yield used


def _at(url: str, used: list[Path], home: Path) -> dict[str, str]:
    used.append(home)
    return {"HOLDFAST_STORE": url, "HOLDFAST_TENANT": str(home)}


def in_rows(url: str, used: list[Path], settings: Settings, folder: Folder, *, alone: bool) -> Storage:
    """The memory of a folder's name as rows, with all that servers share; each has an index of its own."""
    del alone
    used.append(folder.home)
    folder.derived.mkdir(parents=True, exist_ok=True)  # of the index, which is a file in any case
    database, tenant = Database(url), tenant_key(str(folder.home))
    store = RowNotes(database, tenant, _now, new_change_id)
    return replace(row_storage(database, tenant, settings), store=store, keeper=following(store))


def rows_of(store: RowNotes, statement: str, *values: object) -> list[tuple[Any, ...]]:
    """What a statement finds whose first value is the tenant."""
    return store._database.transact(
        store._tenant, lambda transaction: transaction.ask(statement, store._tenant, *values).fetchall()
    )


def _of_rows(home: Path) -> dict[str, bytes]:
    """Every row of the memory of a folder's name with all values; notes and pages also as they are, by their paths."""
    tenant, found = tenant_key(str(home)), {}
    with psycopg.connect(postgres.shared().owner, autocommit=True) as connection:
        for (table,) in connection.execute(_TABLES).fetchall():
            asked = sql.SQL("SELECT * FROM holdfast.{} WHERE tenant = %s").format(sql.Identifier(table))
            rows = connection.execute(asked, (tenant,))
            for number, row in enumerate(rows.fetchall()):
                values = [value if isinstance(value, bytes) else str(value).encode() for value in row[1:]]
                found[f"row of {table}/{number}"] = b"\n".join(values)
        for table in ("notes", "pages"):
            named = sql.SQL("SELECT {} || '/' || path, data FROM holdfast.{} WHERE tenant = %s")
            rows = connection.execute(named.format(sql.Literal(table), sql.Identifier(table)), (tenant,))
            found |= dict(rows.fetchall())
        return found


def _of_memory(kept: Kept, home: Path) -> dict[str, bytes]:
    """The notes and pages of a memory, by path."""
    if home not in kept:
        return {}
    state = kept[home][0]
    notes = {f"notes/{path}": text.data for path, text in state.notes.items()}
    return notes | {f"pages/{path}": text.data for path, text in state.pages.items()}


def _in_memory(kept: Kept) -> MakeStorage:
    def make(settings: Settings, folder: Folder, *, alone: bool) -> Storage:
        del settings, alone
        folder.derived.mkdir(parents=True, exist_ok=True)  # as above
        state, locks = kept.setdefault(folder.home, (State(), Locks()))
        store = MemoryNotes(state, locks, _now, new_change_id)
        return Storage(store, following(store))

    return make


def _now() -> datetime:
    return holdfast.app.now()  # which a test may have moved since
