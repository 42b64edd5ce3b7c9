"""Backups as rows: an archive in parts, its manifest, and whose turn it is to make one or to bring one back.

A backup is made in one transaction, so that one which was interrupted leaves nothing. Its turn is a row that stays
locked until that transaction ends, however it ends: a server that dies holds up nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from holdfast.errors import BackupNotFoundError, IntegrityError
from holdfast.store.rows.database import Transaction
from holdfast.store.stored import Backup, Manifest, head_of, read_head, read_manifest

PART: Final = 1 << 20  # bytes; a row is to be well below 4 MiB
ARCHIVE, MANIFEST = "archive", "manifest"
VAULT: Final = "vault"  # the row of `leases` that whoever works in the vault holds
_PURGES: Final = "purges"  # the one that each purge changes


def make_turns(transaction: Transaction, tenant: str) -> None:
    """Make the rows that turns are taken with, where they are not there yet."""
    names = [VAULT, _PURGES]
    there = transaction.ask(
        "SELECT name FROM holdfast.leases WHERE tenant = %s AND name = ANY(%s)", tenant, names
    ).fetchall()
    if len(there) < len(names):  # else it would be waited for whoever holds one of them
        transaction.ask(
            "INSERT INTO holdfast.leases (tenant, name, holder, fence, until) SELECT %s, name, '', 0, now()"
            " FROM unnest(%s::text[]) AS name ON CONFLICT (tenant, name) DO NOTHING",
            tenant, names,
        )  # fmt: skip


def take_turn(transaction: Transaction, tenant: str) -> bool:
    """Be the only one who works in the vault until the transaction ends; False where another one does.

    Whoever has seen the memory as it was before an earlier turn, which has ended meanwhile, is refused by the database
    and begins anew.
    """
    free = transaction.ask(
        "SELECT fence FROM holdfast.leases WHERE tenant = %s AND name = %s FOR UPDATE SKIP LOCKED", tenant, VAULT
    ).fetchone()
    if free is not None:
        transaction.ask("UPDATE holdfast.leases SET fence = fence + 1 WHERE tenant = %s AND name = %s", tenant, VAULT)
    return free is not None


def tell_purge(transaction: Transaction, tenant: str) -> None:
    """Have every backup that is being made begin anew, for what it has seen is not to be kept any more."""
    transaction.ask(
        "INSERT INTO holdfast.leases AS l (tenant, name, holder, fence, until) VALUES (%s, %s, '', 0, now())"
        " ON CONFLICT (tenant, name) DO UPDATE SET fence = l.fence + 1",
        tenant, _PURGES,
    )  # fmt: skip


def check_unpurged(transaction: Transaction, tenant: str) -> None:
    """Have the database refuse this transaction if a purge has ended since the moment that it sees."""
    transaction.ask("UPDATE holdfast.leases SET until = now() WHERE tenant = %s AND name = %s", tenant, _PURGES)


class PartWriter:
    """Where the bytes of a file of a backup go.

    Args:
        transaction: in which it is written.
        tenant: whose.
        backup: its id.
        file: which of its two files.
    """

    def __init__(self, transaction: Transaction, tenant: str, backup: str, file: str) -> None:
        self._transaction = transaction
        self._keys = (tenant, backup, file)
        self._waiting = bytearray()
        self._parts = 0

    def write(self, data: bytes | memoryview, /) -> int:
        self._waiting += data
        while len(self._waiting) >= PART:
            self._send()
        return len(data)

    def close(self) -> None:
        """Write what is left."""
        if self._waiting:
            self._send()

    def _send(self) -> None:
        data = bytes(self._waiting[:PART])
        del self._waiting[:PART]
        self._transaction.ask(
            "INSERT INTO holdfast.backup_parts (tenant, backup, file, part, data) VALUES (%s, %s, %s, %s, %s)",
            *self._keys, self._parts, data,
        )  # fmt: skip
        self._transaction.sync()  # so that no more than one is in this process
        self._parts += 1


class PartReader:
    """Reads a file of a backup part by part; see `PartWriter`."""

    def __init__(self, transaction: Transaction, tenant: str, backup: str, file: str) -> None:
        self._transaction = transaction
        self._keys = (tenant, backup, file)
        self._next = 0
        self._rest = memoryview(b"")

    def read(self, size: int = -1, /) -> bytes:
        """So many bytes, or fewer where a part ends; none at the end of the file."""
        if not self._rest:
            self._rest = memoryview(self._part())
        wanted = len(self._rest) if size < 0 else size
        data, self._rest = bytes(self._rest[:wanted]), self._rest[wanted:]
        return data

    def seek(self, at: int, /) -> int:
        """Begin anew: no other place is asked for."""
        if at:
            raise ValueError("a backup is read from its beginning")
        self._next, self._rest = 0, memoryview(b"")
        return at

    def _part(self) -> bytes:
        row = self._transaction.ask(
            "SELECT data FROM holdfast.backup_parts WHERE tenant = %s AND backup = %s AND file = %s AND part = %s",
            *self._keys, self._next,
        ).fetchone()  # fmt: skip
        self._next += 1
        return b"" if row is None else bytes(row[0])


def keep(transaction: Transaction, tenant: str, backup: Backup, manifest: bytes) -> None:
    """Have a backup count whose archive is written."""
    transaction.ask(
        "INSERT INTO holdfast.backups (tenant, backup, created, head) VALUES (%s, %s, %s, %s)",
        tenant, backup.backup_id, backup.created_at, head_of(manifest),
    )  # fmt: skip
    parts = PartWriter(transaction, tenant, backup.backup_id, MANIFEST)
    parts.write(manifest)
    parts.close()


def listed(transaction: Transaction, tenant: str) -> list[Backup]:
    """Every backup, newest first. Neither archives nor manifests are read."""
    rows = transaction.ask("SELECT head FROM holdfast.backups WHERE tenant = %s", tenant).fetchall()
    found = [head for (data,) in rows if (head := read_head(bytes(data))) is not None]
    return sorted(found, key=lambda backup: (backup.created_at, backup.backup_id), reverse=True)


def known(transaction: Transaction, tenant: str, backup: str) -> Backup | None:
    """The backup of this id; None where there is none."""
    row = transaction.ask(
        "SELECT head FROM holdfast.backups WHERE tenant = %s AND backup = %s", tenant, backup
    ).fetchone()
    return None if row is None else read_head(bytes(row[0]))


def manifest_of(transaction: Transaction, tenant: str, backup: str) -> Manifest:
    """What a backup holds.

    Raises:
        BackupNotFoundError: there is none of this id.
        IntegrityError: its manifest is harmed.
    """
    if "\0" in backup or known(transaction, tenant, backup) is None:
        raise BackupNotFoundError("No backup in the vault has this id.", "See admin://vault for those there are.")
    manifest = read_manifest(bytes_of(transaction, tenant, backup, MANIFEST))
    if manifest.backup.backup_id != backup:
        raise IntegrityError("The manifest is another backup's.", "Nothing was changed.")
    return manifest


def bytes_of(transaction: Transaction, tenant: str, backup: str, file: str) -> bytes:
    """One of the files of a backup as a whole."""
    reader, found = PartReader(transaction, tenant, backup, file), bytearray()
    while data := reader.read():
        found += data
    return bytes(found)


def prune(transaction: Transaction, tenant: str, oldest: str, newest: str) -> None:
    """Remove backups that are older than an instant, but for the newest."""
    rows = transaction.ask(
        "SELECT backup FROM holdfast.backups WHERE tenant = %s AND created < %s AND backup <> %s",
        tenant, oldest, newest,
    )  # fmt: skip
    remove(transaction, tenant, [row[0] for row in rows.fetchall()])


def remove(transaction: Transaction, tenant: str, backups: Sequence[str]) -> None:
    """Take backups away."""
    if backups:
        gone: Iterable[object] = (tenant, list(backups))
        transaction.ask("DELETE FROM holdfast.backups WHERE tenant = %s AND backup = ANY(%s)", *gone)
        transaction.ask("DELETE FROM holdfast.backup_parts WHERE tenant = %s AND backup = ANY(%s)", *gone)
