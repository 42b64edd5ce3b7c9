"""The storages that tests of the contract run on: the folder, and one in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from unittest.mock import patch

import holdfast.app
from holdfast.app import Storage, new_change_id
from holdfast.engine.sync.follow import following
from holdfast.settings import Settings
from holdfast.store.folder import Folder
from holdfast.store.memory.notes import Locks, MemoryNotes
from holdfast.store.memory.state import State

FOLDER, MEMORY = "folder", "memory"
STORAGES = (FOLDER, MEMORY)
MakeStorage = Callable[..., Storage]


@contextmanager
def stored_in(name: str) -> Iterator[None]:
    """Memories that are built inside are kept in a folder, or in memory: then those of one folder's name share one."""
    if name == FOLDER:
        yield
    else:
        with patch.object(holdfast.app, "_folder_storage", _in_memory()):
            yield


def _in_memory() -> MakeStorage:
    kept: dict[Path, tuple[State, Locks]] = {}

    def make(settings: Settings, folder: Folder, *, alone: bool) -> Storage:
        del settings, alone
        folder.derived.mkdir(parents=True, exist_ok=True)  # of the index, which is a file in any case
        state, locks = kept.setdefault(folder.home, (State(), Locks()))
        store = MemoryNotes(state, locks, _now, new_change_id)
        return Storage(store, following(store))

    return make


def _now() -> datetime:
    return holdfast.app.now()  # which a test may have moved since
