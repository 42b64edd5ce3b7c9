"""The storages that tests of the contract run on: the folder, one in memory, and a real PostgreSQL."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psycopg
import pytest
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
from holdfast.store.journal import line_of
from holdfast.store.records import as_line
from holdfast.store.rows.database import Database
from holdfast.store.rows.notes import RowNotes
from memory_store import Locks, MemoryNotes, State
from pictures import Texts, forget_below, shown

FOLDER, MEMORY, ROWS = "folder", "memory", "rows"
STORAGES = (FOLDER, MEMORY, ROWS)
MakeStorage = Callable[..., Storage]
Kept = dict[Path, tuple[State, Locks]]
_TABLES = (
    "SELECT table_name::text FROM information_schema.columns WHERE table_schema = 'holdfast' AND column_name = 'tenant'"
)
_AS_FILES = (
    "SELECT 'memories/' || path, data, modified_ns FROM holdfast.notes WHERE tenant = %s",
    "SELECT path, data, modified_ns FROM holdfast.pages WHERE tenant = %s",
    "SELECT 'history/' || hash || '.md', data, 0 FROM holdfast.texts WHERE tenant = %s",
    "SELECT aside, data, modified_ns FROM holdfast.trash WHERE tenant = %s",
    """SELECT 'journal/' || month || '.jsonl', string_agg(line || '\x0a', '' ORDER BY seq), 0
    FROM holdfast.journal WHERE tenant = %s GROUP BY month""",
)


@contextmanager
def stored_in(name: str) -> Iterator[list[Path]]:
    """Memories that are built inside are kept there; those of one folder's name share what is kept.

    With rows that are those too of servers in processes that are begun inside. Yields the folders that were asked for.
    """
    used: list[Path] = []
    if name == FOLDER:
        yield used
        return
    with ExitStack() as around:
        pictures = Path(around.enter_context(tempfile.TemporaryDirectory(prefix="holdfast-seen-")))
        around.callback(forget_below, pictures)
        if name == MEMORY:
            kept: Kept = {}
            around.enter_context(patch.object(holdfast.app, "_folder_storage", _in_memory(kept)))
            around.enter_context(patch.object(served, "beside", partial(_of_memory, kept)))
            around.enter_context(patch.object(served, "pictured", partial(_memory_as_files, kept, pictures)))
        else:
            url = postgres.shared().url
            around.enter_context(patch.object(holdfast.app, "_folder_storage", partial(in_rows, url, used)))
            around.enter_context(patch.object(processes, "stored_at", partial(_at, url, used)))
            around.enter_context(patch.object(served, "beside", _of_rows))
            around.enter_context(patch.object(served, "pictured", partial(_rows_as_files, url, pictures)))
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


def storage_asked_for(request: pytest.FixtureRequest) -> Iterator[str]:
    """A fixture: what keeps the notes while it lasts, the folder, unless a parameter says otherwise."""
    name = str(getattr(request, "param", FOLDER))
    with stored_in(name) as used:
        yield name
        assert name != ROWS or used, "nothing of it is kept in rows: mark it `files`, with the reason"


def tenants_holding(text: str) -> set[str]:
    """The tenants in whose rows a text stands, in whatever table."""
    found = set[str]()
    for (table,) in _owner().execute(_TABLES.encode()).fetchall():
        asked = sql.SQL(
            "SELECT DISTINCT tenant FROM holdfast.{} AS t WHERE strpos(t::text, %s) + strpos(t::text, %s) > 0"
        )
        rows = _owner().execute(asked.format(sql.Identifier(table)), (text, text.encode().hex()))
        found |= {tenant for (tenant,) in rows.fetchall()}
    return found


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


def _rows_as_files(url: str, pictures: Path, home: Path) -> Path:
    tenant = tenant_key(str(home))
    return shown(
        pictures / tenant, partial(_texts_of_rows, tenant), lambda: RowNotes(Database(url), tenant, _now, new_change_id)
    )


@cache
def _owner() -> psycopg.Connection[tuple[Any, ...]]:
    """A connection that looks at everything, for as long as the tests' server lives."""
    connection = psycopg.connect(postgres.shared().owner, autocommit=True)
    connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    postgres.before_the_end(connection.close)
    return connection


def _texts_of_rows(tenant: str) -> Texts:
    """What an export of the tenant's memory would hold, as it is at one moment."""
    with _owner().transaction():
        asked = [_owner().execute(statement, (tenant,), binary=True) for statement in _AS_FILES]
        return {path: (data, time) for rows in asked for path, data, time in rows.fetchall()}


def _memory_as_files(kept: Kept, pictures: Path, home: Path) -> Path:
    state, locks = kept.setdefault(home, (State(), Locks()))
    return shown(
        pictures / tenant_key(str(home)),
        partial(_texts_of_memory, state),
        lambda: MemoryNotes(state, locks, _now, new_change_id),
    )


def _texts_of_memory(state: State) -> Texts:
    texts = {f"memories/{path}": text for path, text in state.notes.items()} | state.pages | state.trash
    months: dict[str, bytes] = {}
    for record in state.records:
        name = f"journal/{record.at[:7]}.jsonl"
        months[name] = months.get(name, b"") + line_of(as_line(record))
    whole = {f"history/{hash_}.md": data for hash_, data in state.replaced.items()} | months
    return {path: (text.data, text.touched_ns) for path, text in texts.items()} | {
        path: (data, 0) for path, data in whole.items()
    }


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
