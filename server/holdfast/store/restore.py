"""Putting a backup in the place of what is there: announced by a plan, so that a crash in the middle is carried on.

Everything is unpacked and checked before the plan is written. From then on the restore can only go forward: whoever
next needs the folder, this process or another, finishes it before anything else. Where a step stands is told by which
names are there, so that each can be made twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import structlog
from anyio.to_thread import run_sync

from holdfast.errors import StorageError
from holdfast.store.filesystem import FileSystem
from holdfast.store.folder import Folder
from holdfast.store.journal import Journal, Record, line_of, read_line, unnumbered
from holdfast.store.stored import REPLACED

log = structlog.get_logger()

STAGING = re.compile(r"\.restore_[0-9a-f]{16}\.tmp")
NEW, ADDED, OLD = "new", "added", "old"  # in the staging folder: what replaces, what is added, what was replaced


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """A restore that is decided. `staging` is a folder in the vault, `tops` are the names that it replaces with.

    `pages` are SHA-256 sums of the files that are watched for foreign changes, as they will be; `keep_old` says that
    something of what was there could not be backed up, so that it is kept.
    """

    backup_id: str
    safety_id: str
    staging: str
    tops: tuple[str, ...]
    pages: dict[str, str]
    said: dict[str, Any]
    keep_old: bool

    def render(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"

    def record(self) -> Record:
        """What the journal keeps of it."""
        return {"op": "restore", "backup": self.backup_id, "safety": self.safety_id, "pages": self.pages, **self.said}


def read_plan(data: bytes) -> RestorePlan:
    """Read a plan that was found.

    Raises:
        StorageError: it is none; nothing may be done before a person has looked.
    """
    try:
        said = json.loads(data)
        plan = RestorePlan(**{**said, "tops": tuple(said["tops"])})
        sound = STAGING.fullmatch(plan.staging) is not None and set(plan.tops) <= set(REPLACED)
        record = line_of({"seq": 1, **plan.record()})
    except (ValueError, TypeError, KeyError) as error:
        raise _unreadable() from error
    if not sound or read_line(record.rstrip(b"\n")) is None:
        raise _unreadable()
    return plan


@contextmanager
def going_forward(what: str, disk: FileSystem, plan: Path) -> Iterator[None]:
    """Carry out something that is decided once its plan is there: an error says on which side of that it came.

    Raises:
        StorageError: nothing was changed, or it is begun and carried on by the next request.
    """
    try:
        yield
    except (OSError, StorageError) as error:
        reason = error.sentence if isinstance(error, StorageError) else f"{error.strerror or type(error).__name__}."
        if _is_decided(disk, plan):
            raise StorageError(
                f"The {what} is begun, and the disk failed in the middle: {reason}",
                "The next request carries it on; look before you repeat it.",
            ) from error
        raise StorageError(
            f"The {what} could not begin: {reason}", "Nothing was changed. Check the free space and the permissions."
        ) from error


def _is_decided(disk: FileSystem, plan: Path) -> bool:
    try:
        return disk.exists(plan)
    except OSError:
        return True  # or nobody knows


async def carry_out(folder: Folder, disk: FileSystem, journal: Journal) -> int:
    """Do what the plan in the vault says, from wherever it stands. The caller holds every lock.

    Returns the number of the last journal record that tells of what was there before.
    """
    plan = await run_sync(lambda: read_plan(disk.read(folder.restore_plan)))
    await run_sync(_put_in_place, plan, folder, disk)
    await journal.append_all(await run_sync(_lost_records, plan, folder, disk))
    seq = await journal.append(plan.record())
    await journal.append({"settled": seq})  # no change of before is open any more: its files are not there
    await run_sync(disk.remove, folder.restore_plan)
    await run_sync(_tidy, plan, folder, disk)
    return seq


def _tidy(plan: RestorePlan, folder: Folder, disk: FileSystem) -> None:
    """The restore is done; what cannot be taken away now is taken away before the next one."""
    try:
        disk.flush_folder(folder.vault)
        _clear(plan, folder, disk)
    except OSError as error:
        log.warning("restore_not_tidied", reason=error.strerror)


def _put_in_place(plan: RestorePlan, folder: Folder, disk: FileSystem) -> None:
    """Exchange what is there for what was unpacked, and add what is missing. The caller holds every lock."""
    staging = folder.vault / plan.staging
    disk.make_folder(staging / OLD)
    for top in REPLACED:
        _exchange(folder.home / top, staging / NEW / top, staging / OLD / top, disk, wanted=top in plan.tops)
    disk.flush_folder(staging / OLD)
    disk.flush_folder(folder.home)
    for path in _unpacked(staging / ADDED):
        top = path.partition("/")[0]
        if top != "journal":
            _add(folder.home / path, staging / ADDED / path, disk, replace=top == "history")


def _clear(plan: RestorePlan, folder: Folder, disk: FileSystem) -> None:
    """Take away what the restore leaves behind; what no backup has goes to the trash."""
    staging = folder.vault / plan.staging
    aside = folder.trash / f"replaced.{plan.safety_id}"
    if plan.keep_old and disk.exists(staging / OLD) and not disk.exists(aside):
        disk.make_folder(folder.trash)
        disk.move(staging / OLD, aside)
        disk.flush_folder(folder.trash)
    disk.remove_tree(staging)


def _lost_records(plan: RestorePlan, folder: Folder, disk: FileSystem) -> list[Record]:
    """Journal records of the backup that are not in the journal any more, in their order; without their numbers."""
    kept = folder.vault / plan.staging / ADDED / "journal"
    lost: list[Record] = []
    names = [name for name in disk.list_folder(kept) if not _is_beginning(kept / name, folder.journal / name, disk)]
    if not names:
        return lost
    there = {_identity(record) for record in _records(folder.journal, disk)}
    for record in _records(kept, disk):
        identity = _identity(record)
        if identity not in there:
            there.add(identity)
            lost.append(unnumbered(record))
    return lost


def _records(folder: Path, disk: FileSystem) -> list[Record]:
    lines = (line for name in disk.list_folder(folder) for line in disk.read(folder / name).split(b"\n"))
    found = [record for line in lines if line and (record := read_line(line)) is not None]
    return sorted(found, key=lambda record: int(record["seq"]))


def _identity(record: Record) -> str:
    if "change" in record:  # a purge may have taken words out of the line that is there
        return str(record["change"])
    return json.dumps(unnumbered(record), sort_keys=True)


def _is_beginning(kept: Path, current: Path, disk: FileSystem) -> bool:
    """Whether the journal's file goes on from what the backup has of it."""
    size = disk.size(kept)
    return disk.size(current) >= size and disk.read(current, size) == disk.read(kept)


def _exchange(here: Path, new: Path, old: Path, disk: FileSystem, *, wanted: bool) -> None:
    """Put `new` in the place of `here`, which becomes `old`; or only take `here` away."""
    if disk.exists(new) if wanted else not disk.exists(old):
        if disk.exists(here):
            disk.move(here, _free(old, disk))
        if wanted:
            disk.move(new, here)


def _add(here: Path, new: Path, disk: FileSystem, *, replace: bool) -> None:
    if disk.exists(here) and not replace:
        return
    disk.make_folder(here.parent)
    disk.remove(here)
    disk.move(new, here)


def _free(path: Path, disk: FileSystem) -> Path:
    names = (path if number == 0 else path.with_name(f"{path.name}.{number}") for number in range(1000))
    return next(name for name in names if not disk.exists(name))


def _unpacked(root: Path) -> Iterator[str]:
    """Files below a folder of ours, relative to it."""
    if root.is_dir():
        yield from sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def _unreadable() -> StorageError:
    return StorageError(
        "A restore was interrupted, and vault/restore.json, which says how to finish it, cannot be read.",
        "Look at the folders in vault/ whose names begin with .restore_, then move restore.json away.",
    )
