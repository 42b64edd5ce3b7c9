"""Backups: on request, once a day, and back again; every step of a restore is confirmed and journalled."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from holdfast.backup.vault import Effect, Restored
from holdfast.engine.admin.gate import AdminCall, Confirmations, Journalled, give_token, journalled, using_token
from holdfast.engine.ports import Attending, Caller, Ports, Vault
from holdfast.errors import StorageError
from holdfast.model.records import JournalRecord
from holdfast.store.manifest import Backup

DAY = timedelta(days=1)
PAUSE_SECONDS = 0.05  # after each two hundredth of a second of work on a daily backup


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a restore would do, and the token that makes it happen."""

    backup: Backup
    effect: Effect
    confirm: str


async def back_up(memory: Attending, caller: Caller) -> Journalled[Backup]:
    """Make a backup now."""
    call = AdminCall(caller, "admin_backup")
    return await journalled(memory, call, lambda ports: _vault(ports).back_up("asked for"), _as_record)


async def back_up_daily(ports: Ports) -> Backup | None:
    """Make the day's backup if it is due and there is a note to keep."""
    if ports.vault is None or not ports.daily_backups or not await ports.index.count_files():
        return None
    return await ports.vault.back_up_when_due(DAY, "daily", PAUSE_SECONDS)


async def list_backups(ports: Ports) -> list[Backup]:
    """Every backup, newest first."""
    return await _vault(ports).backups()


async def restore_backup(
    memory: Attending, caller: Caller, tokens: Confirmations, backup_id: str, confirm: str | None
) -> Journalled[DryRun | Restored]:
    """Check a backup and say what restoring it would do; with the token that this gives, do it.

    Raises:
        BackupNotFoundError: there is none of this id.
        IntegrityError: it is harmed or was changed.
        InvalidArgumentError: the token is not one of this call.
    """
    op = "admin_restore_backup"

    async def dry_run(ports: Ports) -> DryRun | Restored:
        backup = await _vault(ports).verify(backup_id)
        effect = await _vault(ports).effect(backup_id)
        about = (caller.principal, op, backup_id, backup.checksum)
        return DryRun(backup, effect, await give_token(ports, tokens, about))

    async def execute(ports: Ports) -> DryRun | Restored:
        checksum = next((b.checksum for b in await _vault(ports).backups() if b.backup_id == backup_id), "")
        said = JournalRecord(by=caller.principal, source=caller.source)
        async with using_token(ports, tokens, confirm or "", (caller.principal, op, backup_id, checksum)):
            return await _vault(ports).restore(backup_id, said)

    about, verb = ({"dry_run": True}, dry_run) if confirm is None else ({}, execute)
    return await journalled(memory, AdminCall(caller, op, about, anywhere=True), verb, _as_record)


def _as_record(answer: object) -> dict[str, str]:
    match answer:
        case Backup(backup_id=backup_id):
            return {"backup": backup_id}
        case DryRun(backup=backup) | Restored(backup=backup):
            return {"backup": backup.backup_id}
        case _:
            return {}


def _vault(ports: Ports) -> Vault:
    if ports.vault is None:
        raise StorageError("This storage keeps no backups of its own.", "Back up the database that it is in.")
    return ports.vault
