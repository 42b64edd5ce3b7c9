"""Enough of what a vault in a database does that every statement of it is sent, and finds rows."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import anyio

from holdfast.app import new_change_id, now
from holdfast.backup.row_vault import RowVault, _Wanted
from holdfast.engine.omi.now import NowUpdate, now_update
from holdfast.engine.runtime import Memory
from holdfast.model.access import tenant_key
from holdfast.model.records import JournalRecord
from holdfast.store.folder import Folder
from holdfast.store.rows.backups import dump_backups, load_backups
from holdfast.store.rows.database import Database, Transaction
from worlds import CALLER, keep


async def backed_up(memory: Memory) -> None:
    """A backup is made and brought back: a note and a page came behind it, another note is gone."""
    vault = memory.ports.vault
    assert vault is not None
    gone = (await keep(memory, "This is brought back by the restore.")).note.id
    backup = await vault.back_up("a test")
    paths = await memory.ports.index.files_of([gone])
    await keep(memory, "This is taken away by the restore.")
    elsewhere = replace(CALLER, space="elsewhere")
    await memory.attend(lambda ports: now_update(ports, elsewhere, NowUpdate(current_task="mend the boat")))
    assert isinstance(vault, RowVault)
    await vault._database.run(vault._tenant, partial(_lose, vault._tenant, list(paths)))
    assert (await vault.effect(backup.backup_id)).back == 1
    assert await vault.back_up_when_due(timedelta(0), "daily", 0.0) is not None
    await vault.restore(backup.backup_id, JournalRecord())
    assert await vault.holding(gone, set())
    assert memory.ports.upkeep is not None
    assert (await memory.ports.upkeep.sizes())["vault"] > backup.file_size


def _lose(tenant: str, paths: list[str], transaction: Transaction) -> None:
    transaction.ask("DELETE FROM holdfast.notes WHERE tenant = %s AND path = ANY(%s)", tenant, paths)


async def brought_elsewhere(database: Database, tenant: str, other: str, folder: Path) -> None:
    """Backups go from one memory to another, whose journal is behind; those whose time is over go."""
    key, its, vault = tenant_key(tenant), tenant_key(other), Folder(folder / "backups")
    own = RowVault(database, key, now, new_change_id)
    latest = await own.back_up("a test")
    wanted = _Wanted(
        latest.backup_id, new_change_id(), JournalRecord(), replace(own._planned("a test"), keeps_all=True)
    )
    done = [await own._patiently(partial(own._restore, wanted, None), one_moment=False) for _ in range(2)]
    assert done[0] == done[1]  # as where its COMMIT was not heard
    latest = await own.back_up("a test")
    count = await anyio.to_thread.run_sync(dump_backups, database, key, vault)
    assert await anyio.to_thread.run_sync(load_backups, database, its, vault) == (count, ())
    late = RowVault(database, its, lambda: now() + timedelta(days=1000), new_change_id)
    await late.restore(latest.backup_id, JournalRecord())
    await late.back_up("a test")
    assert [each.reason for each in await late.backups()] == ["a test", "before restore"]
