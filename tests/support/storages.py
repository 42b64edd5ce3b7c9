"""The storages that tests of the contract run on: the folder, one in memory, and a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import holdfast.app
import postgres
from holdfast.app import Storage, new_change_id, tenant_key
from holdfast.engine.sync.follow import following
from holdfast.settings import Settings
from holdfast.store.folder import Folder
from holdfast.store.memory import Locks, MemoryNotes, State
from holdfast.store.rows.database import Database
from holdfast.store.rows.notes import RowNotes
from holdfast.store.rows.shared import RowRecalls, RowTokens

FOLDER, MEMORY, ROWS = "folder", "memory", "rows"
STORAGES = (FOLDER, MEMORY, ROWS)
MakeStorage = Callable[..., Storage]


@contextmanager
def stored_in(name: str) -> Iterator[None]:
    """Memories that are built inside are kept there; those of one folder's name share what is kept."""
    if name == FOLDER:
        yield
    else:
        made = _in_memory() if name == MEMORY else partial(in_rows, postgres.shared().url)
        with patch.object(holdfast.app, "_folder_storage", made):
            yield


def in_rows(url: str, settings: Settings, folder: Folder, *, alone: bool) -> Storage:
    del settings, alone
    folder.derived.mkdir(parents=True, exist_ok=True)  # of the index, which is a file in any case
    database, tenant = Database(url), tenant_key(str(folder.home))
    store = RowNotes(database, tenant, _now, new_change_id)
    return Storage(store, following(store), recalls=RowRecalls(database, tenant), tokens=RowTokens(database, tenant))


def rows_of(store: RowNotes, statement: str) -> list[tuple[Any, ...]]:
    """What a statement with the tenant as its one value finds."""
    return store._database.transact(
        store._tenant, lambda transaction: transaction.ask(statement, store._tenant).fetchall()
    )


def _in_memory() -> MakeStorage:
    kept: dict[Path, tuple[State, Locks]] = {}

    def make(settings: Settings, folder: Folder, *, alone: bool) -> Storage:
        del settings, alone
        folder.derived.mkdir(parents=True, exist_ok=True)  # as above
        state, locks = kept.setdefault(folder.home, (State(), Locks()))
        store = MemoryNotes(state, locks, _now, new_change_id)
        return Storage(store, following(store))

    return make


def _now() -> datetime:
    return holdfast.app.now()  # which a test may have moved since
