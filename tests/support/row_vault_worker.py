"""A process that backs up or restores a memory of a database, and kills itself: url, tenant, verb, backup, step.

A step is a statement that is sent, or an answer that is waited for. Told more steps than there are it says how many.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import anyio

from holdfast.app import new_change_id, now
from holdfast.backup.row_vault import RowVault
from holdfast.model.access import tenant_key
from holdfast.model.records import JournalRecord
from holdfast.store.rows.database import Database, Transaction

left, done = -1, 0
STEPS = ("ask", "each", "sync")


def _step(name: str) -> Any:
    usual = getattr(Transaction, name)

    def step(self: Transaction, *arguments: Any) -> Any:
        global left, done
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left, done = left - 1, done + 1
        return usual(self, *arguments)

    return step


async def work(url: str, tenant: str, verb: str, backup_id: str, at: int) -> None:
    global left, done  # noqa: PLW0603 - one count for all that the process sends
    database = Database(url)
    vault = RowVault(database, tenant_key(tenant), now, new_change_id)
    left, done = at, 0
    if verb == "restore":
        await vault.restore(backup_id, JournalRecord())
    else:
        await vault.back_up("a test")
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left = -1
    await database.aclose()
    sys.stdout.write(str(done))


if __name__ == "__main__":
    for _name in STEPS:
        setattr(Transaction, _name, _step(_name))
    anyio.run(work, *sys.argv[1:5], int(sys.argv[5]))
