"""The storages that tests of the contract run on: the folder, and one in memory."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import holdfast.app
from holdfast.app import Storage, new_change_id
from holdfast.engine.sync.follow import following
from holdfast.store.memory.notes import Locks, MemoryNotes
from holdfast.store.memory.state import State

FOLDER, MEMORY = "folder", "memory"
STORAGES = (FOLDER, MEMORY)
MakeStorage = Callable[[], Storage | None]


def _now() -> datetime:
    return holdfast.app.now()  # which a test may have moved since


def memory_storage(state: State | None = None, locks: Locks | None = None) -> Storage:
    """A storage in memory, of its own unless one is to be shared; times are those of the served memory's clock."""
    store = MemoryNotes(state or State(), locks or Locks(), _now, new_change_id)
    return Storage(store, following(store))


def storage_named(name: str) -> Storage | None:
    """What `build_memory` is given: None for the folder of the settings."""
    return memory_storage() if name == MEMORY else None
