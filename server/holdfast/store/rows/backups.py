"""Backups as rows: an archive in parts, its manifest, what is put into it, and whose turn it is to make one.

A backup is made in one transaction, so that one which was interrupted leaves nothing. Its turn is a row that stays
locked until that transaction ends, however it ends: a server that dies holds up nobody.

They go into a folder's `vault/` and come from there, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from holdfast.errors import BackupNotFoundError, IntegrityError
from holdfast.store.filesystem import FileSystem
from holdfast.store.folder import Folder
from holdfast.store.rows.database import Database, Row, Transaction
from holdfast.store.rows.moving import KINDS, Kind, path_of
from holdfast.store.rows.texts import PURGES
from holdfast.store.stored import BACKUP_ID, Backup, Manifest, head_of, is_ours, read_head, read_manifest

PART: Final = 1 << 20  # bytes; a row is to be well below 4 MiB
ARCHIVE, MANIFEST = "archive", "manifest"
VAULT: Final = "vault"  # the row of `leases` that whoever works in the vault holds


def make_turns(transaction: Transaction, tenant: str) -> None:
    """Make the rows that turns are taken with, where they are not there yet."""
    names = [VAULT, PURGES]
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
    manifest = read_manifest(_manifest_bytes(transaction, tenant, backup))
    if manifest.backup.backup_id != backup:
        raise IntegrityError("The manifest is another backup's.", "Nothing was changed.")
    return manifest


def _manifest_bytes(transaction: Transaction, tenant: str, backup: str) -> bytes:
    reader, found = PartReader(transaction, tenant, backup, MANIFEST), bytearray()
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


_LISTED: Final = 1000  # rows whose keys are asked for at a time
_TOGETHER: Final = 4 << 20  # bytes that are asked for at a time, but for one row that has more
_MONTHS: Final = "journal"
_LINES: Final = ".jsonl"


class Pieces:
    """Reads what comes in pieces as a file is read."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._rest = b""

    def read(self, size: int = -1, /) -> bytes:
        """So many bytes; fewer only at the end."""
        found = bytearray(self._rest)
        while size < 0 or len(found) < size:
            piece = next(self._pieces, None)
            if piece is None:
                break
            found += piece
        wanted = len(found) if size < 0 else size
        self._rest = bytes(found[wanted:])
        return bytes(found[:wanted])


@dataclass(frozen=True, slots=True)
class RowFile:
    """A file that the folder would have. `modified_ns` is 0 for those whose time nobody keeps."""

    path: str
    size: int
    modified_ns: int
    data: bytes | Pieces


def is_month(path: str) -> bool:
    """Whether it is a file of the journal."""
    return path.startswith(f"{_MONTHS}/") and path.endswith(_LINES)


def files_of(transaction: Transaction, tenant: str, left_out: list[str]) -> Iterator[RowFile]:
    """Every file, the journal first; rows whose names no file may have are `left_out`."""
    yield from _journal(transaction, tenant)
    for kind in KINDS:
        for group in _groups(transaction, tenant, kind, left_out):
            yield from _group(transaction, tenant, kind, group)


def _groups(transaction: Transaction, tenant: str, kind: Kind, left_out: list[str]) -> Iterator[list[Row]]:
    """Key, bytes and time of rows, as many together as are read at a time."""
    dated = "modified_ns" if kind.dated else "0"
    statement = (
        f"SELECT {kind.key}, octet_length(data), {dated} FROM holdfast.{kind.table}"  # noqa: S608 - names of ours
        f" WHERE tenant = %s AND {kind.key} > %s ORDER BY {kind.key} LIMIT {_LISTED}"
    )
    last = ""
    while rows := transaction.ask(statement, tenant, last).fetchall():
        last = rows[-1][0]
        group: list[Row] = []
        for row in rows:
            if not is_ours(path_of(kind, row[0])):
                left_out.append(path_of(kind, row[0]))
                continue
            if group and sum(each[1] for each in group) + row[1] > _TOGETHER:
                yield group
                group = []
            group.append(row)
        if group:
            yield group


def _group(transaction: Transaction, tenant: str, kind: Kind, group: list[Row]) -> Iterator[RowFile]:
    statement = f"SELECT {kind.key}, data FROM holdfast.{kind.table} WHERE tenant = %s AND {kind.key} = ANY(%s)"  # noqa: S608 - as above
    found: dict[str, bytes] = dict(transaction.ask(statement, tenant, [row[0] for row in group]).fetchall())
    for key, _, modified_ns in group:
        if key in found:
            data = bytes(found.pop(key))
            yield RowFile(path_of(kind, key), len(data), modified_ns, data)


@dataclass(slots=True)
class _Month:
    """The lines of a month: their bytes, and the numbers up to which they are read at a time."""

    name: str
    after: int
    size: int = 0
    ends: list[int] = field(default_factory=list)
    piece: int = 0  # bytes of the last piece so far

    def add(self, seq: int, size: int) -> None:
        if self.ends and self.piece + size <= _TOGETHER:
            self.ends[-1], self.piece = seq, self.piece + size
        else:
            self.ends.append(seq)
            self.piece = size
        self.size += size


def _journal(transaction: Transaction, tenant: str) -> Iterator[RowFile]:
    for month in _months(transaction, tenant):
        pieces = Pieces(_lines(transaction, tenant, month))
        yield RowFile(f"{_MONTHS}/{month.name}{_LINES}", month.size, 0, pieces)


def _months(transaction: Transaction, tenant: str) -> list[_Month]:
    months: list[_Month] = []
    last = 0
    statement = (
        "SELECT seq, month, octet_length(line) FROM holdfast.journal WHERE tenant = %s AND seq > %s ORDER BY seq"
        " LIMIT %s"
    )
    while rows := transaction.ask(statement, tenant, last, _LISTED).fetchall():
        for seq, name, size in rows:
            if not months or name > months[-1].name:  # clocks of servers may differ at midnight
                months.append(_Month(name, last))
            months[-1].add(seq, size + 1)
            last = seq
    return months


def _lines(transaction: Transaction, tenant: str, month: _Month) -> Iterator[bytes]:
    after = month.after
    for end in month.ends:
        rows = transaction.ask(
            "SELECT line FROM holdfast.journal WHERE tenant = %s AND seq > %s AND seq <= %s ORDER BY seq",
            tenant, after, end,
        ).fetchall()  # fmt: skip
        yield b"".join(bytes(line) + b"\n" for (line,) in rows)
        after = end


_PACKED: Final = ".tar.gz"
_SIDECAR: Final = ".json"


def load_backups(database: Database, tenant: str, folder: Folder) -> tuple[int, tuple[str, ...]]:
    """Bring the backups of a folder into the database, each in one transaction.

    Returns how many are there then, and the manifests of those that are none: harmed, or without an archive.

    Raises:
        StorageError: the database does not answer.
        OSError: an archive cannot be read.
    """
    disk, found, left = FileSystem(), 0, list[str]()
    for name in disk.list_folder(folder.vault):
        backup_id = name.removesuffix(_SIDECAR)
        if name.endswith(_SIDECAR) and BACKUP_ID.fullmatch(backup_id):
            try:
                data = disk.read(folder.vault / name)
                disk.open(folder.vault / f"{backup_id}{_PACKED}").close()
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
    with FileSystem().open(folder.vault / f"{backup_id}{_PACKED}") as archive:
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
        if not disk.exists(folder.vault / f"{backup_id}{_SIDECAR}"):
            disk.make_folder(folder.vault)
            database.read_whole(tenant, partial(_dump, tenant, folder, backup_id))
    return len(backups)


def _dump(tenant: str, folder: Folder, backup_id: str, transaction: Transaction) -> None:
    disk, aside = FileSystem(), folder.vault / f".{backup_id}.part"
    manifest = _manifest_bytes(transaction, tenant, backup_id)
    if not manifest:
        return  # its time has come since it was listed
    disk.remove(aside)
    archive = PartReader(transaction, tenant, backup_id, ARCHIVE)
    with disk.begin(aside) as file:
        while piece := archive.read():
            file.write(piece)
    disk.remove(folder.vault / f"{backup_id}{_PACKED}")  # of a dump that was interrupted here
    disk.move(aside, folder.vault / f"{backup_id}{_PACKED}")
    disk.create(aside, manifest)
    disk.move(aside, folder.vault / f"{backup_id}{_SIDECAR}")
