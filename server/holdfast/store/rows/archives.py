"""Backups between a folder's `vault/` and a database, byte for byte; what is there already is left as it is."""

from __future__ import annotations

from functools import partial
from typing import Final

from holdfast.errors import IntegrityError
from holdfast.store.filesystem import FileSystem
from holdfast.store.folder import Folder
from holdfast.store.rows.backups import ARCHIVE, MANIFEST, PART, PartReader, PartWriter, bytes_of, keep, known, listed
from holdfast.store.rows.database import Database, Transaction
from holdfast.store.stored import BACKUP_ID, Manifest, read_manifest

_ARCHIVE: Final = ".tar.gz"
_MANIFEST: Final = ".json"


def load_backups(database: Database, tenant: str, folder: Folder) -> tuple[int, tuple[str, ...]]:
    """Bring the backups of a folder into the database, each in one transaction.

    Returns how many are there then, and the manifests of those that are none: harmed, or without an archive.

    Raises:
        StorageError: the database does not answer.
        OSError: an archive cannot be read.
    """
    disk, found, left = FileSystem(), 0, list[str]()
    for name in disk.list_folder(folder.vault):
        backup_id = name.removesuffix(_MANIFEST)
        if name.endswith(_MANIFEST) and BACKUP_ID.fullmatch(backup_id):
            try:
                data = disk.read(folder.vault / name)
                disk.open(folder.vault / f"{backup_id}{_ARCHIVE}").close()
                database.transact(tenant, partial(_load, tenant, folder, data, _checked(data, backup_id)))
                found += 1
            except (IntegrityError, FileNotFoundError):
                left.append(folder.below_home(folder.vault / name))
    return found, tuple(left)


def _checked(data: bytes, backup_id: str) -> Manifest:
    manifest = read_manifest(data)
    if manifest.backup.backup_id != backup_id:
        raise IntegrityError("The manifest is another backup's.", "Nothing was changed.")
    return manifest


def _load(tenant: str, folder: Folder, data: bytes, manifest: Manifest, transaction: Transaction) -> None:
    backup_id = manifest.backup.backup_id
    if known(transaction, tenant, backup_id) is not None:
        return
    parts = PartWriter(transaction, tenant, backup_id, ARCHIVE)
    with FileSystem().open(folder.vault / f"{backup_id}{_ARCHIVE}") as archive:
        while piece := archive.read(PART):
            parts.write(piece)
    parts.close()
    keep(transaction, tenant, manifest.backup, data)


def dump_backups(database: Database, tenant: str, folder: Folder) -> int:
    """Write every backup of the database into a folder's vault; returns how many are there then.

    They are not flushed here. The manifest comes last: it is what makes a backup count.

    Raises:
        StorageError: the database does not answer.
        OSError: a file cannot be written.
    """
    backups = database.read_whole(tenant, lambda transaction: listed(transaction, tenant))
    disk = FileSystem()
    for backup_id in [backup.backup_id for backup in backups]:
        if not disk.exists(folder.vault / f"{backup_id}{_MANIFEST}"):
            disk.make_folder(folder.vault)
            database.read_whole(tenant, partial(_dump, tenant, folder, backup_id))
    return len(backups)


def _dump(tenant: str, folder: Folder, backup_id: str, transaction: Transaction) -> None:
    disk, aside = FileSystem(), folder.vault / f".{backup_id}.part"
    manifest = bytes_of(transaction, tenant, backup_id, MANIFEST)
    if not manifest:
        return  # its time has come since it was listed
    disk.remove(aside)
    archive = PartReader(transaction, tenant, backup_id, ARCHIVE)
    with disk.begin(aside) as file:
        while piece := archive.read():
            file.write(piece)
    disk.remove(folder.vault / f"{backup_id}{_ARCHIVE}")  # of a dump that was interrupted here
    disk.move(aside, folder.vault / f"{backup_id}{_ARCHIVE}")
    disk.create(aside, manifest)
    disk.move(aside, folder.vault / f"{backup_id}{_MANIFEST}")
