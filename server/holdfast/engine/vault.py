"""Backups: on request, once a day, and back again; every step of a restore is confirmed and journalled."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

from holdfast.engine.ports import Caller, Ports, Vault
from holdfast.errors import HoldfastError, InvalidArgumentError, StorageError
from holdfast.store.manifest import Backup
from holdfast.store.vault import Effect, Restored

Answer = TypeVar("Answer")

DAY = timedelta(days=1)
PAUSE_SECONDS = 0.05  # after each two hundredth of a second of work on a daily backup
LIFETIME = timedelta(minutes=5)
MOST_OPEN = 100


@dataclass(slots=True)
class Confirmations:
    """Tokens that were given for something that destroys: bound to what exactly, for one use, for five minutes."""

    _given: dict[str, tuple[tuple[str, ...], datetime]] = field(default_factory=dict)

    def give(self, about: tuple[str, ...], now: datetime) -> str:
        """A token for what `about` says: principal, operation, arguments and what they meet."""
        self._given = {token: entry for token, entry in self._given.items() if entry[1] > now}
        while len(self._given) >= MOST_OPEN:
            self._given.pop(next(iter(self._given)))
        token = secrets.token_hex(8)
        self._given[token] = (about, now + LIFETIME)
        return token

    def take(self, token: str, about: tuple[str, ...], now: datetime) -> None:
        """Use a token up.

        Raises:
            InvalidArgumentError: it was given for something else, is used, too old or unknown.
        """
        found = self._given.pop(token, None)
        if found is None or found[0] != about or not found[1] - LIFETIME <= now < found[1]:
            raise InvalidArgumentError(
                "confirm is not a token for this call.",
                "Call once without confirm, then with the token it gives.",
            )


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a restore would do, and the token that makes it happen."""

    backup: Backup
    effect: Effect
    confirm: str


async def back_up(ports: Ports, caller: Caller) -> Backup:
    """Make a backup now."""
    return await journalled(ports, caller, "admin_backup", {}, lambda: _vault(ports).back_up("asked for"))


async def back_up_daily(ports: Ports) -> Backup | None:
    """Make the day's backup if it is due and there is a note to keep."""
    if ports.vault is None or not ports.daily_backups or not await ports.index.count_files():
        return None
    return await ports.vault.back_up_when_due(DAY, "daily", PAUSE_SECONDS)


async def list_backups(ports: Ports) -> list[Backup]:
    """Every backup, newest first."""
    return await _vault(ports).backups()


async def restore_backup(
    ports: Ports, caller: Caller, tokens: Confirmations, backup_id: str, confirm: str | None
) -> DryRun | Restored:
    """Check a backup and say what restoring it would do; with the token that this gives, do it.

    Raises:
        BackupNotFoundError: there is none of this id.
        IntegrityError: it is harmed or was changed.
        InvalidArgumentError: the token is not one of this call.
    """
    op = "admin_restore_backup"

    async def dry_run() -> DryRun:
        backup = await _vault(ports).verify(backup_id)
        effect = await _vault(ports).effect(backup_id)
        return DryRun(backup, effect, tokens.give((caller.principal, op, backup_id, backup.checksum), ports.clock()))

    async def execute() -> Restored:
        about = next((b.checksum for b in await _vault(ports).backups() if b.backup_id == backup_id), "")
        tokens.take(confirm or "", (caller.principal, op, backup_id, about), ports.clock())
        return await _vault(ports).restore(backup_id, {"by": caller.principal, "source": caller.source})

    if confirm is None:
        return await journalled(ports, caller, op, {"dry_run": True}, dry_run)
    return await journalled(ports, caller, op, {}, execute)


async def journalled(
    ports: Ports, caller: Caller, op: str, detail: dict[str, object], call: Callable[[], Awaitable[Answer]]
) -> Answer:
    """Run an admin call and tell the journal that it was made, by whom and how it ended."""
    line = {"admin": op, "op": op, "by": caller.principal, "source": caller.source, **detail}
    try:
        answer = await call()
    except HoldfastError as error:
        await ports.store.record({**line, "outcome": type(error).__name__})
        raise
    await ports.store.record({**line, "outcome": "done", **_told(answer)})
    return answer


def _told(answer: object) -> dict[str, str]:
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
