"""The vault: backups of the folder, made and brought back.

Each is `<id>.tar.gz` with its manifest `<id>.json` beside it, which makes it count. Whatever else lies there stays.
"""

from __future__ import annotations

import functools
import hashlib
import re
import secrets
import shutil
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import anyio
import structlog
from anyio.to_thread import run_sync

from holdfast.backup.archive import (
    CHUNK,
    ArchiveWriter,
    FolderSnapshot,
    Taker,
    UnreadableError,
    add_history,
    check_sum,
    marks,
    picturing,
    replaced,
    take_snapshot,
    unpacking,
)
from holdfast.backup.export import MOST_LEFT_OUT, masked
from holdfast.errors import BackupNotFoundError, IntegrityError, StorageError
from holdfast.model.note import instant, moment
from holdfast.model.records import JournalRecord
from holdfast.store.filesystem import FileSystem
from holdfast.store.folder import Folder
from holdfast.store.locks import LONG_PATIENCE_SECONDS, Lock
from holdfast.store.notes import NoteFiles
from holdfast.store.records import as_line
from holdfast.store.restore import ADDED, NEW, STAGING, RestorePlan, going_forward
from holdfast.store.stored import (
    BACKUP_ID,
    CONFIG,
    HEAD,
    REPLACED,
    Backup,
    Manifest,
    Packed,
    read_head,
    read_manifest,
)

_DEAD = re.compile(r"\.(omi_backup_full_[0-9a-f_]+)\.tmp")


class BackupFolder:
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
            return has_file(self.manifest(backup_id), name, hashes)
        except IntegrityError:
            return True

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


def has_file(manifest: Manifest, name: str, hashes: Collection[str]) -> bool:
    """Whether a file of a backup has `name` in its own, or one of these SHA-256 sums."""
    return any(name in path or packed.sha256 in hashes for path, packed in manifest.files.items())


Answer = TypeVar("Answer")

log = structlog.get_logger()

SLICE_SECONDS = 0.005  # how long one piece of the work keeps a thread
BRIEF_SECONDS = 0.05  # how long a daily backup waits for whoever works in the vault
ROUNDS = 3  # attempts to find nobody writing between a safety backup and the restore


@dataclass(frozen=True, slots=True)
class Effect:
    """What a restore would do to notes, pages and logs, in files."""

    back: int  # not there now
    changed: int
    gone: int  # there now, and not in the backup
    same: int
    strange: int = 0  # files of a folder in the backup that a database has no place for


@dataclass(frozen=True, slots=True)
class Restored:
    """A restore that is done; `safety` is a backup of what was there before, `files` what was put back."""

    backup: Backup
    safety: Backup
    files: int


class FolderVault:
    """Backups of one folder, in its `vault/`.

    Args:
        folder: the layout.
        files: the file system.
        notes: whose locks say when the folder is whole.
        clock: the time now.
        retention_days: how long a backup is kept; the newest always is.
    """

    def __init__(
        self,
        folder: Folder,
        files: FileSystem,
        notes: NoteFiles,
        clock: Callable[[], datetime],
        retention_days: int = 90,
    ) -> None:
        self._folder = folder
        self._files = files
        self._notes = notes
        self._backups = BackupFolder(folder, files)
        self._clock = clock
        self._days = retention_days
        self._lock = Lock(folder.locks / "vault", LONG_PATIENCE_SECONDS)

    async def back_up(self, reason: str, *, pause: float = 0.0) -> Backup:
        """Make a backup of the folder as it is at one moment, then remove those that are too old.

        Args:
            reason: told in its manifest.
            pause: seconds to wait after each two hundredth of a second of work, for the sake of others.

        Raises:
            StorageError: the disk refused; there is no new backup then.
        """
        async with self._lock.hold():
            return await self._back_up(reason, pause)

    async def back_up_when_due(self, every: timedelta, reason: str, pause: float) -> Backup | None:
        """Make a backup if none is younger than `every`; None where one is, or another process is at it.

        One that a wrong clock has put into the future counts as little as an old one.
        """
        if not await self._is_due(every):
            return None
        async with AsyncExitStack() as stack:
            with anyio.move_on_after(BRIEF_SECONDS) as waiting:
                await stack.enter_async_context(self._lock.hold())
            if waiting.cancelled_caught or not await self._is_due(every):
                return None
            return await self._back_up(reason, pause)

    async def backups(self) -> list[Backup]:
        """Every backup whose archive is there, newest first. Their archives are not read."""
        return await _on_disk(self._backups.list)

    async def verify(self, backup_id: str) -> Backup:
        """Read a backup through and compare every checksum.

        Raises:
            BackupNotFoundError: there is none of this id.
            IntegrityError: it is harmed or was changed.
        """
        manifest = await _on_disk(self._backups.manifest, backup_id)
        await self._read_through(manifest, lambda _path, _packed: None)
        return manifest.backup

    async def effect(self, backup_id: str) -> Effect:
        """What restoring a backup would change now.

        Raises:
            BackupNotFoundError: there is none of this id.
            IntegrityError: its manifest is harmed.
        """
        manifest = await _on_disk(self._backups.manifest, backup_id)
        return await _on_disk(self._effect, manifest)

    async def restore(self, backup_id: str, said: JournalRecord) -> Restored:
        """Put a backup in the place of what is there, of which a safety backup is made first.

        Notes, NOW files, MEMORY.md, daily logs, capsules and proposals become what they were, byte for byte. Journal,
        history and trash keep what they have and get back what they lack. Settings stay; a lost config.yaml comes back.

        Args:
            backup_id: which one.
            said: what the journal's line is to say of it.

        Raises:
            BackupNotFoundError: there is none of this id.
            IntegrityError: it is harmed or was changed; nothing was changed.
            StorageError: the disk refused; nothing was changed, or the restore is carried on at the next request.
        """
        async with self._lock.hold():
            await self._notes.finish_restore()
            await _on_disk(self._backups.tidy)
            manifest = await _on_disk(self._backups.manifest, backup_id)
            staging = self._folder.vault / f".restore_{secrets.token_hex(8)}.tmp"
            try:
                await self._unpack(manifest, staging)
                return await self._exchange(manifest, staging, as_line(said))
            finally:
                with anyio.CancelScope(shield=True):
                    await _tidied(self._drop_unless_planned, staging)

    @asynccontextmanager
    async def resting(self) -> AsyncIterator[None]:
        """No backup is made or brought back meanwhile, and none is half done. Taken before all other locks."""
        async with self._lock.hold():
            await _on_disk(self._backups.tidy)
            yield

    async def holding(self, name: str, hashes: Collection[str]) -> list[str]:
        """The ids of backups that have a file with `name` in its own, or with one of these SHA-256 sums."""
        backups = await self.backups()
        return [b.backup_id for b in backups if await _on_disk(self._backups.holds, b.backup_id, name, hashes)]

    def close(self) -> None:
        self._lock.close()

    async def _exchange(self, manifest: Manifest, staging: Path, said: dict[str, Any]) -> Restored:
        """Safety backup, then the exchange, with nobody writing in between."""
        for attempt in range(ROUNDS):
            patient = attempt < ROUNDS - 1
            safety, picture = await self._make("before restore", 0.0) if patient else (None, None)
            async with self._notes.alone(), self._notes.quiet():
                if safety is None or picture is None:
                    safety, picture = await self._make("before restore", 0.0, is_quiet=True)
                elif replaced(picture.marks) != await _on_disk(marks, self._folder):
                    await _on_disk(self._backups.remove, safety.backup_id)
                    continue
                with (
                    anyio.CancelScope(shield=True),
                    going_forward("restore", self._files, self._folder.restore_plan),
                ):
                    await run_sync(self._write_plan, self._plan(manifest, safety, staging, said))
                    await self._notes.carry_out()
            return Restored(manifest.backup, safety, manifest.backup.file_count)
        raise AssertionError("unreachable: the last attempt is made with every lock held")

    def _plan(self, manifest: Manifest, safety: Backup, staging: Path, said: dict[str, Any]) -> RestorePlan:
        there = {path.partition("/")[0] for path in manifest.files} | {self._folder.memories.name}
        return RestorePlan(
            backup_id=manifest.backup.backup_id,
            safety_id=safety.backup_id,
            staging=staging.name,
            tops=tuple(top for top in REPLACED if top in there),
            pages=manifest.pages,
            said=said,
            keep_old=bool(safety.left_out),
        )

    def _write_plan(self, plan: RestorePlan) -> None:
        fresh = self._folder.vault / plan.staging / "plan"
        self._files.create(fresh, plan.render())
        self._files.move(fresh, self._folder.restore_plan)
        self._files.flush_folder(self._folder.vault)

    def _drop_unless_planned(self, staging: Path) -> None:
        if not self._files.exists(self._folder.restore_plan):
            self._files.remove_tree(staging)

    async def _unpack(self, manifest: Manifest, staging: Path) -> None:
        """Bring every file out, checked, and to the disk; what is only added, where it is missing."""
        size = manifest.backup.size
        if await _on_disk(lambda: shutil.disk_usage(self._folder.vault).free) < size:
            raise StorageError(f"There is no room to unpack {size:,} bytes.", "Nothing was changed. Make room first.")
        await _on_disk(self._files.make_folder, staging / NEW / self._folder.memories.name)
        lacking = await _on_disk(self._lacking, manifest)
        out: dict[Path, int] = {}

        def take(path: str, packed: Packed) -> BinaryIO | None:
            top = path.partition("/")[0]
            if top not in REPLACED and path not in lacking:
                return None
            target = staging / (NEW if top in REPLACED else ADDED) / path
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            out[target] = packed.modified_ns
            return self._files.begin(target)

        await self._read_through(manifest, take)
        await _on_disk(self._settle_files, staging, out)

    def _settle_files(self, staging: Path, out: dict[Path, int]) -> None:
        for path, modified_ns in out.items():
            self._files.set_time(path, modified_ns)
        self._files.flush_tree(staging)
        self._files.flush_folder(staging.parent)

    def _lacking(self, manifest: Manifest) -> set[str]:
        """Files that are added, not replaced, and are not there as they were; all of the journal."""
        kept = [path for path in manifest.files if path.partition("/")[0] not in REPLACED]
        lacking = {path for path in kept if path.startswith(("journal/", "history/"))}
        lacking -= {path for path in lacking if path.startswith("history/") and self._is_same(path, manifest)}
        lacking |= {path for path in kept if not self._files.exists(self._folder.inside(path))}
        return lacking - ({CONFIG} if manifest.backup.masked else set())

    def _is_same(self, path: str, manifest: Manifest) -> bool:
        packed = manifest.files[path]
        file = self._folder.inside(path)
        return self._files.size(file) == packed.size and _hash_of(self._files, file) == packed.sha256

    def _effect(self, manifest: Manifest) -> Effect:
        here = marks(self._folder)
        kept = [path for path in manifest.files if path.partition("/")[0] in REPLACED]
        same = sum(path in here and self._is_same(path, manifest) for path in kept)
        there = sum(path in here for path in kept)
        return Effect(back=len(kept) - there, changed=there - same, gone=len(here) - there, same=same)

    async def _read_through(self, manifest: Manifest, take: Taker) -> None:
        path = self._backups.archive(manifest.backup.backup_id)
        with await _on_disk(self._files.open, path) as file:
            await _on_disk(check_sum, file, manifest)
            with unpacking(file, manifest, take) as step:
                await _in_slices(step, 0.0)

    async def _back_up(self, reason: str, pause: float) -> Backup:
        await self._notes.finish_restore()
        await _on_disk(self._backups.tidy)
        backup, _ = await self._make(reason, pause)
        await _tidied(self._backups.prune, instant(self._clock() - timedelta(days=self._days)))
        return backup

    async def _make(self, reason: str, pause: float, *, is_quiet: bool = False) -> tuple[Backup, FolderSnapshot]:
        now = self._clock()
        backup_id = new_backup_id(now)
        staging = self._folder.vault / f".{backup_id}.tmp"
        await _on_disk(self._files.make_folder, staging)
        try:
            ahead = None if is_quiet else await self._look_ahead(staging, pause)
            async with nullcontext() if is_quiet else self._notes.quiet():
                picture = await _on_disk(take_snapshot, self._folder, self._files, staging, ahead)
            await _on_disk(add_history, self._folder, self._files, picture)
            backup = await self._pack(backup_id, instant(now), reason, picture, pause)
            await self._clear(staging, pause)
        finally:
            with anyio.CancelScope(shield=True):
                await _tidied(self._files.remove_tree, staging)
        return backup, picture

    async def _clear(self, staging: Path, pause: float) -> None:
        with suppress(StorageError):  # what stays is taken away by the next backup
            names = iter(await _on_disk(self._files.list_folder, staging))
            await _in_slices(lambda: self._remove_next(staging, names), pause)

    async def _look_ahead(self, staging: Path, pause: float) -> FolderSnapshot:
        """A picture that is taken while others write, so that the true one takes the locks for little more."""
        picture = FolderSnapshot()
        steps = picturing(self._folder, self._files, staging, picture)
        await _in_slices(lambda: next(steps, self) is not self, pause)
        return picture

    def _remove_next(self, staging: Path, names: Iterator[str]) -> bool:
        name = next(names, None)
        if name is not None:
            self._files.remove(staging / name)
        return name is not None

    async def _pack(self, backup_id: str, created: str, reason: str, picture: FolderSnapshot, pause: float) -> Backup:
        aside = self._folder.vault / f".{backup_id}.tmp" / "archive"
        writer = await _on_disk(ArchiveWriter, self._files, aside)
        try:
            waiting = iter(sorted(picture.sources.items()))
            changed: list[bool] = []
            step = functools.partial(self._pack_one, writer, picture, waiting, changed)
            await _in_slices(step, pause)
            checksum, file_size = await _on_disk(writer.finish)
        finally:
            writer.abandon()
        backup = Backup(
            backup_id=backup_id,
            backup_type="full",
            reason=reason,
            created_at=created,
            file_count=len(writer.files),
            size=sum(file.size for file in writer.files.values()),
            file_size=file_size,
            checksum=checksum,
            retention_days=self._days,
            left_out=tuple(picture.left_out[:MOST_LEFT_OUT]),
            masked=any(changed),
        )
        await _on_disk(self._backups.keep, Manifest(backup, writer.files), aside)
        return backup

    def _pack_one(
        self, writer: ArchiveWriter, picture: FolderSnapshot, waiting: Iterator[tuple[str, Path]], changed: list[bool]
    ) -> bool:
        path, source = next(waiting, ("", self._folder.home))
        if not path:
            return False
        try:
            if path == CONFIG:
                changed.append(writer.add_changed(path, source, masked))
            else:
                writer.add(path, source, picture.lengths.get(path))
        except UnreadableError:
            if self._files.exists(self._folder.inside(path)):  # else a person, or a purge, took it away just now
                picture.left_out.append(path)
        return True

    async def _is_due(self, every: timedelta) -> bool:
        return is_due(await self.backups(), self._clock(), every)


def new_backup_id(now: datetime) -> str:
    """An id that no other backup has."""
    return f"omi_backup_full_{now:%Y%m%d_%H%M%S_%f}_{secrets.token_hex(4)}"


def is_due(backups: Iterable[Backup], now: datetime, every: timedelta) -> bool:
    """Whether none of these is younger than `every`, nor as far in the future."""
    return not any(abs(now - moment(backup.created_at)) < every for backup in backups)


def _hash_of(disk: FileSystem, path: Path) -> str | None:
    """SHA-256 of a file, bit by bit; None where it cannot be read."""
    try:
        total = hashlib.sha256()
        with disk.open(path) as file:
            while data := file.read(CHUNK):
                total.update(data)
        return total.hexdigest()
    except OSError:
        return None


def _in_slice(step: Callable[[], bool]) -> bool:
    """Repeat a step for a little while; False when it is through."""
    end = time.perf_counter() + SLICE_SECONDS
    while step():
        if time.perf_counter() > end:
            return True
    return False


async def _in_slices(step: Callable[[], bool], pause: float) -> None:
    """Repeat a step until it is through, off the event loop and so that others get their turn."""
    while await _on_disk(_in_slice, step):  # noqa: ASYNC110 - nothing is waited for
        await anyio.sleep(pause)


async def _tidied(call: Callable[..., object], *arguments: Any) -> None:
    """Take away what is not needed any more; what cannot be is taken away another time."""
    try:
        await run_sync(call, *arguments)
    except OSError as error:
        log.warning("vault_not_tidied", reason=error.strerror)


async def _on_disk(call: Callable[..., Answer], *arguments: Any) -> Answer:
    try:
        return await run_sync(call, *arguments)
    except OSError as error:
        raise StorageError(
            f"The vault cannot be used: {error.strerror or type(error).__name__}.",
            "Nothing was changed. Check the free space and the permissions of the folder vault/.",
        ) from error
