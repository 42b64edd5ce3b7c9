"""The backups in the vault: `<id>.tar.gz` with `<id>.json`, which makes it count. Whatever else lies there stays."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from holdfast.errors import BackupNotFoundError, IntegrityError, StorageError
from holdfast.store.filesystem import FileSystem
from holdfast.store.folder import Folder
from holdfast.store.manifest import BACKUP_ID, HEAD, Backup, Manifest, read_head, read_manifest
from holdfast.store.restoring import STAGING

_DEAD = re.compile(r"\.(omi_backup_full_[0-9a-f_]+)\.tmp")


class Shelf:
    """The finished backups of a folder."""

    def __init__(self, folder: Folder, files: FileSystem) -> None:
        self._folder = folder
        self._files = files

    def list(self) -> list[Backup]:
        """Every backup whose archive is there, newest first."""
        names = set(self._files.list_folder(self._folder.vault))
        ids = [name.removesuffix(".json") for name in names if name.endswith(".json")]
        heads = [self._head(each) for each in ids if BACKUP_ID.fullmatch(each) and f"{each}.tar.gz" in names]
        found = [head for head in heads if head is not None]
        return sorted(found, key=lambda backup: (backup.created_at, backup.backup_id), reverse=True)

    def manifest(self, backup_id: str) -> Manifest:
        """What a backup holds.

        Raises:
            BackupNotFoundError: there is none of this id.
            IntegrityError: its manifest is harmed, or its archive is no file.
        """
        if BACKUP_ID.fullmatch(backup_id) is None or not self._files.exists(self._sidecar(backup_id)):
            raise BackupNotFoundError("No backup in the vault has this id.", "See admin://vault for those there are.")
        try:
            manifest = read_manifest(self._files.read(self._sidecar(backup_id)))
            self._files.open(self.archive(backup_id)).close()
        except OSError as error:
            raise IntegrityError("The backup's archive or manifest cannot be read.", "Nothing was changed.") from error
        if manifest.backup.backup_id != backup_id:
            raise IntegrityError("The manifest is another backup's.", "Nothing was changed.")
        return manifest

    def keep(self, manifest: Manifest, aside: Path) -> None:
        """Give archive and manifest their names; the manifest is what makes the backup count."""
        backup_id = manifest.backup.backup_id
        fresh = aside.with_name("manifest")
        self._files.create(fresh, manifest.render())
        self._files.move(aside, self.archive(backup_id))
        self._files.flush_folder(self._folder.vault)
        self._files.move(fresh, self._sidecar(backup_id))
        try:
            self._files.flush_folder(self._folder.vault)
        except OSError as error:
            self._take_back(backup_id, error)
            raise

    def _take_back(self, backup_id: str, error: OSError) -> None:
        try:
            self.remove(backup_id)
        except OSError:
            raise StorageError(
                f"The vault failed while a backup was put into it, and again while it was taken out: {error.strerror}.",
                "It may be there or not: see admin://vault, look before you repeat it.",
            ) from error

    def holds(self, backup_id: str, name: str, hashes: Collection[str]) -> bool:
        """Whether a file of a backup has `name` in its own, or one of these hashes; or nobody can tell."""
        try:
            files = self.manifest(backup_id).files
        except IntegrityError:
            return True
        return any(name in path or packed.sha256 in hashes for path, packed in files.items())

    def prune(self, oldest: str) -> None:
        """Remove backups that are older than an instant; the newest always stays."""
        for backup in self.list()[1:]:
            if backup.created_at < oldest:
                self.remove(backup.backup_id)

    def remove(self, backup_id: str) -> None:
        """Take a backup away; its manifest first, so that none is half there."""
        self._files.remove(self._sidecar(backup_id))
        self._files.remove(self.archive(backup_id))

    def tidy(self) -> None:
        """Take away what dead processes left half done in the vault. The caller holds its lock."""
        planned = self._files.exists(self._folder.restore_plan)
        for name in self._files.list_folder(self._folder.vault):
            dead = _DEAD.fullmatch(name)
            if dead and not self._files.exists(self._sidecar(dead[1])):
                self._files.remove(self.archive(dead[1]))
            if dead or (STAGING.fullmatch(name) and not planned):
                self._files.remove_tree(self._folder.vault / name)

    def _head(self, backup_id: str) -> Backup | None:
        try:
            head = read_head(self._files.read(self._sidecar(backup_id), HEAD))
        except OSError:
            return None  # no regular file, or taken away just now: no backup of ours
        return head if head is not None and head.backup_id == backup_id else None

    def archive(self, backup_id: str) -> Path:
        """Where the archive of a backup lies."""
        return self._folder.vault / f"{backup_id}.tar.gz"

    def _sidecar(self, backup_id: str) -> Path:
        return self._folder.vault / f"{backup_id}.json"
