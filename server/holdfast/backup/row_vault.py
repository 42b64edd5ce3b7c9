"""The vault of a memory that is kept in a database: backups in its tables, in the form of a folder's.

A backup is one transaction that sees one moment and holds up nobody; a restore is one too, in which nobody else writes.
What is interrupted never happened. Whatever is read goes through this process piece by piece.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final, TypeAlias, TypeVar

import anyio
from anyio.from_thread import check_cancelled

from holdfast.backup.archive import ArchiveStream, Taker, check_sum, unpacking
from holdfast.backup.export import MOST_LEFT_OUT
from holdfast.backup.vault import (
    ROUNDS,
    SLICE_SECONDS,
    Effect,
    Restored,
    has_file,
    is_due,
    new_backup_id,
)
from holdfast.errors import BackupNotFoundError, IntegrityError, StorageError
from holdfast.model.note import instant
from holdfast.model.records import JournalRecord
from holdfast.store.locks import LONG_PATIENCE_SECONDS
from holdfast.store.rows.backups import (
    ARCHIVE,
    PartReader,
    PartWriter,
    Pieces,
    RowFile,
    files_of,
    keep,
    known,
    listed,
    make_turns,
    manifest_of,
    prune,
    remove,
    take_turn,
)
from holdfast.store.rows.database import Database, TenantRows, Transaction
from holdfast.store.rows.restoring import (
    Exchange,
    begin,
    call_off,
    here,
    is_replaced,
    last_number,
    line_about,
    safety_backup_of,
    strangers,
)
from holdfast.store.rows.texts import check_unpurged
from holdfast.store.stored import Backup, Manifest

Answer = TypeVar("Answer")
_AGAIN_SECONDS: Final = 0.1  # between looks whether whoever works in the vault is done


@dataclass(frozen=True, slots=True)
class _Taken:
    """Another server works in the vault."""


@dataclass(frozen=True, slots=True)
class _Changed:
    """Somebody has written since the safety backup was made."""


@dataclass(frozen=True, slots=True)
class _Made:
    """A backup, and the number of the memory's last change that is in it."""

    backup: Backup
    number: int


@dataclass(frozen=True, slots=True)
class _Plan:
    """A backup that is to be made. `every` is None where it is made in any case, else how old the last must be."""

    backup_id: str
    reason: str
    now: datetime
    pause: float = 0.0
    every: timedelta | None = None
    keeps_all: bool = False  # older ones stay, however old


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A restore that is to be done; `plan` is that of its safety backup, `tag` that of its line."""

    backup_id: str
    tag: str
    said: JournalRecord
    plan: _Plan


Work: TypeAlias = Callable[[Transaction], Answer]


class RowVault(TenantRows):
    """Backups of one memory in a database; see `holdfast.backup.vault.FolderVault`.

    Args:
        database: where it is.
        tenant: whose.
        clock: the time now.
        change_id: gives the tag of a line.
        retention_days: how long a backup is kept; the newest always is.
    """

    def __init__(
        self,
        database: Database,
        tenant: str,
        clock: Callable[[], datetime],
        change_id: Callable[[], str],
        retention_days: int = 90,
    ) -> None:
        super().__init__(database, tenant)
        self._clock = clock
        self._change_id = change_id
        self._days = retention_days

    async def back_up(self, reason: str, *, pause: float = 0.0) -> Backup:
        """As `FolderVault.back_up`; a StorageError too where another server is at it for too long."""
        return (await self._made(self._planned(reason, pause))).backup

    async def back_up_when_due(self, every: timedelta, reason: str, pause: float) -> Backup | None:
        """As `FolderVault.back_up_when_due`; None too where another server is at it."""
        if not is_due(await self.backups(), self._clock(), every):
            return None
        plan = replace(self._planned(reason, pause), every=every)
        made = await self._tried(partial(self._back_up, plan), one_moment=True)
        return made.backup if isinstance(made, _Made) else None

    async def backups(self) -> list[Backup]:
        """Every backup, newest first. Their archives are not read."""
        return await self._database.at_one_moment(self._tenant, lambda transaction: listed(transaction, self._tenant))

    async def verify(self, backup_id: str) -> Backup:
        """As `FolderVault.verify`."""
        return await self._database.at_one_moment(self._tenant, partial(self._verified, backup_id))

    async def effect(self, backup_id: str) -> Effect:
        """As `FolderVault.effect`."""
        return await self._database.at_one_moment(self._tenant, partial(self._effect, backup_id))

    async def restore(self, backup_id: str, said: JournalRecord) -> Restored:
        """As `FolderVault.restore`; after a StorageError nothing is known to be changed."""
        await self._database.at_one_moment(self._tenant, partial(self._verified, backup_id))
        tag = self._change_id()
        for attempt in range(ROUNDS):
            wanted = _Wanted(backup_id, tag, said, replace(self._planned("before restore"), keeps_all=True))
            safety = await self._made(wanted.plan) if attempt < ROUNDS - 1 else None
            done = await self._patiently(partial(self._restore, wanted, safety), one_moment=False)
            if isinstance(done, Restored):
                return done
            if safety is not None:
                gone = safety.backup.backup_id
                await self._database.run(self._tenant, partial(_remove, self._tenant, gone))
        raise AssertionError("unreachable: the last attempt is made where nobody else can write")

    @asynccontextmanager
    async def resting(self) -> AsyncIterator[None]:
        """A purge needs not wait: a backup that is being made meanwhile begins anew."""
        yield

    async def holding(self, name: str, hashes: Collection[str]) -> list[str]:
        """The ids of backups that have a file with `name` in its own, or with one of these SHA-256 sums."""
        return [
            backup.backup_id
            for backup in await self.backups()
            if await self._database.at_one_moment(self._tenant, partial(self._holds, backup.backup_id, name, hashes))
        ]

    def close(self) -> None:
        """There is nothing to let go of."""

    def _planned(self, reason: str, pause: float = 0.0) -> _Plan:
        now = self._clock()
        return _Plan(new_backup_id(now), reason, now, pause)

    async def _made(self, plan: _Plan) -> _Made:
        made = await self._patiently(partial(self._back_up, plan), one_moment=True)
        if made is None:
            raise AssertionError("unreachable: it was asked for in any case")
        return made

    async def _patiently(self, work: Work[Answer], *, one_moment: bool) -> Answer:
        """Do some work when it is this server's turn in the vault."""
        until = anyio.current_time() + LONG_PATIENCE_SECONDS
        while isinstance(answer := await self._tried(work, one_moment=one_moment), _Taken):
            if anyio.current_time() > until:
                raise StorageError("Another server works in the vault.", "Nothing was changed; call again later.")
            await anyio.sleep(_AGAIN_SECONDS)
        return answer

    async def _tried(self, work: Work[Answer], *, one_moment: bool) -> Answer | _Taken:
        """Do some work, unless it is another server's turn."""

        def taken(transaction: Transaction) -> Answer | _Taken:
            return work(transaction) if take_turn(transaction, self._tenant) else _Taken()

        await self._database.run(self._tenant, lambda transaction: make_turns(transaction, self._tenant))
        if one_moment:
            return await self._database.at_one_moment(self._tenant, taken)
        return await self._database.run(self._tenant, taken)

    def _back_up(self, plan: _Plan, transaction: Transaction) -> _Made | None:
        """Make a backup, unless it is not due; one that an earlier try has made, whose answer was lost, is it."""
        number = last_number(transaction, self._tenant)
        made = known(transaction, self._tenant, plan.backup_id)
        if made is not None:
            return _Made(made, number)
        if plan.every is not None and not is_due(listed(transaction, self._tenant), plan.now, plan.every):
            return None
        backup = self._write(plan, transaction)
        if not plan.keeps_all:
            prune(transaction, self._tenant, instant(plan.now - timedelta(days=self._days)), plan.backup_id)
        check_unpurged(transaction, self._tenant)
        return _Made(backup, number)

    def _write(self, plan: _Plan, transaction: Transaction) -> Backup:
        """Write an archive of what the transaction sees, with its manifest."""
        parts = PartWriter(transaction, self._tenant, plan.backup_id, ARCHIVE)
        stream, left_out = ArchiveStream(parts), list[str]()
        dated = round(plan.now.timestamp()) * 1_000_000_000
        end = time.perf_counter() + SLICE_SECONDS
        for file in files_of(transaction, self._tenant, left_out):
            _pack(stream, file, dated)
            check_cancelled()
            if plan.pause and time.perf_counter() > end:
                time.sleep(plan.pause)
                end = time.perf_counter() + SLICE_SECONDS
        checksum, file_size = stream.end()
        parts.close()
        backup = Backup(
            backup_id=plan.backup_id,
            backup_type="full",
            reason=plan.reason,
            created_at=instant(plan.now),
            file_count=len(stream.files),
            size=sum(packed.size for packed in stream.files.values()),
            file_size=file_size,
            checksum=checksum,
            retention_days=self._days,
            left_out=tuple(left_out[:MOST_LEFT_OUT]),
        )
        keep(transaction, self._tenant, backup, Manifest(backup, stream.files).render())
        return backup

    def _verified(self, backup_id: str, transaction: Transaction) -> Backup:
        manifest = manifest_of(transaction, self._tenant, backup_id)
        self._read_through(manifest, transaction, lambda _path, _packed: None)
        return manifest.backup

    def _read_through(self, manifest: Manifest, transaction: Transaction, take: Taker) -> None:
        archive = PartReader(transaction, self._tenant, manifest.backup.backup_id, ARCHIVE)
        check_sum(archive, manifest)
        with unpacking(archive, manifest, take) as step:
            while step():
                transaction.stay()  # much of it may be as it was, and needs no statement

    def _effect(self, backup_id: str, transaction: Transaction) -> Effect:
        manifest = manifest_of(transaction, self._tenant, backup_id)
        now = here(transaction, self._tenant)
        kept = {path: packed.sha256 for path, packed in manifest.files.items() if is_replaced(path, packed)}
        there = kept.keys() & now.keys()
        same = sum(now[path].hash == kept[path] for path in there)
        return Effect(
            back=len(kept) - len(there),
            changed=len(there) - same,
            gone=len(now) - len(there),
            same=same,
            strange=len(strangers(manifest)),
        )

    def _holds(self, backup_id: str, name: str, hashes: Collection[str], transaction: Transaction) -> bool:
        try:
            return has_file(manifest_of(transaction, self._tenant, backup_id), name, hashes)
        except BackupNotFoundError:  # its time has come since it was listed
            return False
        except IntegrityError:
            return True

    def _restore(self, wanted: _Wanted, safety: _Made | None, transaction: Transaction) -> Restored | _Changed:
        """Exchange everything, if nobody has written since the safety backup; without one it is made here."""
        number = begin(transaction, self._tenant)
        manifest = manifest_of(transaction, self._tenant, wanted.backup_id)
        earlier = safety_backup_of(transaction, self._tenant, wanted.tag)
        if earlier is not None and (safe := known(transaction, self._tenant, earlier)) is not None:
            call_off(transaction, self._tenant)
            return self._restored(manifest, safe)
        if safety is not None and safety.number != number - 1:
            call_off(transaction, self._tenant)
            return _Changed()
        safe = self._write(wanted.plan, transaction) if safety is None else safety.backup
        said = line_about(manifest, safe, replace(wanted.said, at=instant(wanted.plan.now)))
        exchange = Exchange(transaction, self._tenant, number, said)
        self._read_through(manifest, transaction, exchange.take)
        exchange.end(wanted.tag)
        return self._restored(manifest, safe)

    @staticmethod
    def _restored(manifest: Manifest, safety: Backup) -> Restored:
        return Restored(manifest.backup, safety, manifest.backup.file_count - len(strangers(manifest)))


def _remove(tenant: str, backup: str, transaction: Transaction) -> None:
    remove(transaction, tenant, [backup])


def _pack(stream: ArchiveStream, file: RowFile, dated: int) -> None:
    if isinstance(file.data, Pieces):
        stream.add_read(file.path, file.data, file.size, file.modified_ns or dated)
    else:
        stream.add_bytes(file.path, file.data, file.modified_ns or dated)
