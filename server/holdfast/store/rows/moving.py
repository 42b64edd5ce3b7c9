"""A memory folder into a database and out of it again, byte for byte. What was interrupted goes on where it was."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from holdfast.errors import StorageError
from holdfast.model.records import is_page
from holdfast.store.codec import MalformedError, content_hash, parse
from holdfast.store.filesystem import FILE_MODE, FOLDER_MODE, FileSystem
from holdfast.store.folder import SUFFIX, Folder, id_in_name
from holdfast.store.journal import read_line
from holdfast.store.records import read_record
from holdfast.store.rows.database import Database, Row, Transaction
from holdfast.store.rows.texts import make_tenant
from holdfast.store.stored import LARGEST_PAGE

_BATCH: Final = 200
_MARK: Final = ".dump"  # there until a dump is whole
_NO_MODES: Final = {errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EOPNOTSUPP}
_PART: Final = ".part"  # ends the name of a file that is being written
_DUMPED: Final = {"memories", "history", "trash", "journal"}
_STAYS: Final = {".holdfast", "locks", "vault", "config.yaml", "exports", "imports", ".DS_Store"}


@dataclass(frozen=True, slots=True)
class Kind:
    """One table of texts: its key column, and the folder that its keys are relative to ("" for the memory folder)."""

    table: str
    key: str
    folder: str
    dated: bool = True  # whether a text's own time counts

    def path(self, home: Path, key: str) -> Path:
        """The file of a key.

        Raises:
            StorageError: it would lie outside of the folder.
        """
        if key.startswith("/") or ".." in key.split("/"):
            raise StorageError("A row of the database has a path that leaves the folder.", "Nothing of it was written.")
        name = f"{key}{SUFFIX}" if self is TEXTS else key
        return home / self.folder / name


NOTES: Final = Kind("notes", "path", "memories")
PAGES: Final = Kind("pages", "path", "")
TEXTS: Final = Kind("texts", "hash", "history", dated=False)
TRASH: Final = Kind("trash", "aside", "")
KINDS: Final = (NOTES, PAGES, TEXTS, TRASH)


def kind_of(path: str) -> tuple[Kind, str] | None:
    """The table and the key of a file of a memory folder; None for the journal, and for what no table has."""
    first, _, rest = path.partition("/")
    name = path.rpartition("/")[2]
    if not _is_text(path):
        return None
    if first == NOTES.folder and path.endswith(SUFFIX) and not name.startswith("."):
        return NOTES, rest
    if is_page(path):
        return PAGES, path
    if first == TEXTS.folder and rest.endswith(SUFFIX) and "/" not in rest:
        return TEXTS, rest.removesuffix(SUFFIX)
    if first == "trash" and path != "trash/purge.json":
        return TRASH, path
    return None


def path_of(kind: Kind, key: str) -> str:
    """The file that a row is in the folder."""
    name = f"{key}{SUFFIX}" if kind is TEXTS else key
    return f"{kind.folder}/{name}" if kind.folder else name


def _is_text(path: str) -> bool:
    try:
        return bool(path.encode())
    except UnicodeEncodeError:
        return False


@dataclass(frozen=True, slots=True)
class Moved:
    """How much was moved, of it how much anew, and the files of the folder that are no part of a memory's rows.

    `is_open` says of a dump that others may read it: its disk keeps no modes, or does not let this user set them.
    """

    files: int
    fresh: int
    lines: int
    left: tuple[str, ...] = ()
    backups: int = 0
    is_open: bool = False


Tell = Callable[[int, int], None]
Beside = Callable[[], None]


def _unwatched(_done: int, _total: int) -> None:
    """Nobody watches."""


def _alone() -> None:
    """Nothing is moved beside it."""


def load(
    database: Database, tenant: str, folder: Folder, given: Mapping[str, str], tell: Tell, beside: Beside = _alone
) -> Moved:
    """Bring a folder into the database. The caller sees to it that nobody changes the folder meanwhile.

    Args:
        database: where to.
        tenant: whose memory it becomes; it has none yet, or one whose loading was interrupted.
        folder: where from.
        given: ids of notes by path that do not carry them.
        tell: hears how many of how many files are done.
        beside: moves what is no part of the memory itself; called again where it was interrupted.

    Raises:
        StorageError: there is a memory already, the folder is a dump that is not whole, or its journal cannot be read.
        OSError: a file cannot be read.
    """
    check_whole(folder.home)
    database.transact(tenant, lambda transaction: _begin(transaction, tenant))
    found, left = _files_of(folder)
    fresh = done = 0
    total = sum(map(len, found.values()))
    for kind, keys in found.items():
        for start in range(0, len(keys), _BATCH):
            part = keys[start : start + _BATCH]
            fresh += _load(database, tenant, folder.home, kind, part, given)
            done += len(part)
            tell(done, total)
        _drop_others(database, tenant, kind, keys)
    beside()
    lines = _load_journal(database, tenant, folder)
    return Moved(total, fresh, lines, left)


def check_whole(home: Path) -> None:
    """Return if a folder is none that a dump has begun and not ended.

    Raises:
        StorageError: it is.
    """
    if (home / _MARK).exists():
        raise StorageError(
            "The dump in this folder has not come to its end: some of the memory is missing there.",
            "Call `holdfast store dump` for it again; nothing was loaded.",
        )


def check_named(database: Database, tenant: str) -> None:
    """Return if there is a memory of this name, of which something was ever written.

    Raises:
        StorageError: there is none, or the database does not answer.
    """
    if database.read_whole(tenant, lambda transaction: _is_loading(transaction, tenant)) is None:
        raise StorageError(
            "There is no memory of this name in the database.", "Check HOLDFAST_TENANT; nothing was written."
        )


def _is_loading(transaction: Transaction, tenant: str) -> bool | None:
    """Whether a load has begun and not ended; None where there is no such memory."""
    row = transaction.ask("SELECT loading FROM holdfast.tenants WHERE tenant = %s", tenant).fetchone()
    return None if row is None else bool(row[0])


def dump(database: Database, tenant: str, home: Path, tell: Tell = _unwatched, beside: Beside = _alone) -> Moved:
    """Write a memory of the database, as it is at one moment, as a folder: an empty one or one of an interrupted dump.

    Raises:
        StorageError: the folder holds something else, a load of the memory has not ended, or the database does not
            answer.
        OSError: a file cannot be written.
    """
    mark = home / _MARK
    if home.exists() and any(home.iterdir()) and not mark.exists():
        raise StorageError("The folder for the dump is not empty.", "Name one that does not exist.")
    moved = database.read_whole(tenant, lambda transaction: _dump(transaction, tenant, home, tell))
    beside()
    FileSystem().flush_tree(home)
    mark.unlink()
    return moved


def _dump(transaction: Transaction, tenant: str, home: Path, tell: Tell) -> Moved:
    if _is_loading(transaction, tenant):
        raise StorageError(
            "The memory is being loaded, and not whole yet.", "Call `holdfast store load` to its end before."
        )
    written = _Written(home)
    for kind in KINDS:
        for row in _rows(transaction, tenant, kind):
            written.write(kind.path(home, row[0]), bytes(row[1]), row[2] if kind.dated else None)
            tell(len(written.files), 0)
    files, fresh = len(written.files), written.fresh
    lines = _dump_journal(transaction, tenant, written)
    written.remove_others()
    return Moved(files, fresh, lines, is_open=written.is_open)


class _Written:
    """What a dump has written into its folder, which is for its user alone, as the files in it are.

    Args:
        home: the folder; there is a mark in it before anything else is.
    """

    def __init__(self, home: Path) -> None:
        self.files: set[Path] = set()
        self.journal = home / "journal"
        self.fresh = 0
        self.is_open = False
        self._home = home
        self._folders: set[Path] = set()
        self._disk = FileSystem()
        self._disk.make_folder(home)
        if not (home / _MARK).exists():
            self._disk.create(home / _MARK, b"a dump of a database that is not whole yet\n")
            self._disk.flush_folder(home)
        self._make(home / "memories")

    def write(self, path: Path, data: bytes, modified_ns: int | None) -> None:
        """Write a file, unless it is there as it should be.

        It is not flushed here: that is done once, for all of them.
        """
        self._make(path.parent)
        if not (path.is_file() and path.read_bytes() == data):
            self.fresh += 1
            fresh = path.with_name(f".{path.name[-100:]}{_PART}")
            fresh.unlink(missing_ok=True)
            with self._disk.begin(fresh) as file:
                file.write(data)
            fresh.replace(path)
        self._make_private(path, FILE_MODE)
        if modified_ns is not None:
            self._disk.set_time(path, modified_ns)
        self.files.add(path)

    def _make(self, folder: Path) -> None:
        if folder in self._folders:
            return
        if folder != self._home:
            self._make(folder.parent)
        folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
        self._make_private(folder, FOLDER_MODE)
        self._folders.add(folder)

    def _make_private(self, path: Path, mode: int) -> None:
        """Let nobody else read it, or know that somebody may."""
        if path.stat().st_mode & 0o777 == mode:
            return
        try:
            path.chmod(mode)
        except OSError as error:
            if error.errno not in _NO_MODES:
                raise
        self.is_open = self.is_open or bool(path.stat().st_mode & 0o077)

    def remove_others(self) -> None:
        """Take away what an interrupted dump wrote and the database has no more."""
        for path in list(self._home.rglob("*")):
            relative = path.relative_to(self._home)
            ours = relative.parts[0] in _DUMPED or is_page(relative.as_posix()) or path.name.endswith(_PART)
            if ours and path not in self.files and not path.is_dir():
                path.unlink()


def _begin(transaction: Transaction, tenant: str) -> None:
    make_tenant(transaction, tenant)
    row = transaction.ask("SELECT seq, loading FROM holdfast.tenants WHERE tenant = %s FOR UPDATE", tenant).fetchone()
    if row is not None and row[0] and not row[1]:
        raise StorageError(
            "There is a memory of this name in the database already.", "Name another one with HOLDFAST_TENANT."
        )
    transaction.ask("UPDATE holdfast.tenants SET loading = true WHERE tenant = %s", tenant)


def _files_of(folder: Folder) -> tuple[dict[Kind, list[str]], tuple[str, ...]]:
    """The files of a folder by what they are, and those that are left where they are."""
    found: dict[Kind, list[str]] = {kind: [] for kind in KINDS}
    left: list[str] = []
    for place, folders, names in os.walk(folder.home):
        folders[:] = sorted(name for name in folders if Path(place) != folder.home or name not in _STAYS)
        for path in (Path(place) / name for name in sorted(names)):
            relative = path.relative_to(folder.home).as_posix()
            row = kind_of(relative)
            if path.is_symlink() or path.stat().st_size > LARGEST_PAGE:
                left.append(relative)
            elif row is not None:
                found[row[0]].append(row[1])
            elif relative.partition("/")[0] not in {"journal", *_STAYS}:
                left.append(relative)
    return found, tuple(left)


def _load(database: Database, tenant: str, home: Path, kind: Kind, keys: list[str], given: Mapping[str, str]) -> int:
    """Bring in these texts, as far as they are not there yet; returns how many were not."""
    read = {key: (path.read_bytes(), path.stat().st_mtime_ns) for key in keys for path in [kind.path(home, key)]}

    def work(transaction: Transaction) -> int:
        statement = f"SELECT {kind.key}, hash FROM holdfast.{kind.table} WHERE tenant = %s AND {kind.key} = ANY(%s)"  # noqa: S608 - names of ours
        known: dict[str, str] = dict(transaction.ask(statement, tenant, keys).fetchall()) if kind is not TEXTS else {}
        new = [key for key in keys if known.get(key) != content_hash(read[key][0])]
        transaction.each(INSERT[kind], [_row_of(tenant, kind, key, *read[key], given.get(key, "")) for key in new])
        return len(new)

    return database.transact(tenant, work)


INSERT: Final = {
    NOTES: "INSERT INTO holdfast.notes (tenant, path, note, hash, modified_ns, seq, data)"
    " VALUES (%s, %s, %s, %s, %s, 0, %s) ON CONFLICT (tenant, path) DO UPDATE SET note = excluded.note,"
    " hash = excluded.hash, modified_ns = excluded.modified_ns, data = excluded.data",
    PAGES: "INSERT INTO holdfast.pages (tenant, path, hash, modified_ns, data) VALUES (%s, %s, %s, %s, %s)"
    " ON CONFLICT (tenant, path) DO UPDATE SET hash = excluded.hash, modified_ns = excluded.modified_ns,"
    " data = excluded.data",
    TEXTS: "INSERT INTO holdfast.texts (tenant, hash, data) VALUES (%s, %s, %s)"
    " ON CONFLICT (tenant, hash) DO UPDATE SET data = excluded.data",
    TRASH: "INSERT INTO holdfast.trash (tenant, aside, hash, modified_ns, data) VALUES (%s, %s, %s, %s, %s)"
    " ON CONFLICT (tenant, aside) DO UPDATE SET hash = excluded.hash, modified_ns = excluded.modified_ns,"
    " data = excluded.data",
}


def _row_of(tenant: str, kind: Kind, key: str, data: bytes, modified_ns: int, given: str) -> tuple[object, ...]:
    if kind is TEXTS:
        return tenant, key, data
    hash_ = content_hash(data)
    if kind is NOTES:
        return tenant, key, id_of(key, data) or given, hash_, modified_ns, data
    return tenant, key, hash_, modified_ns, data


def id_of(path: str, data: bytes) -> str:
    """The id that a note's file carries, or its name; empty where neither does."""
    try:
        note_id = parse(data).values.get("id")
    except MalformedError:
        note_id = None
    return note_id if isinstance(note_id, str) else id_in_name(path) or ""


def _drop_others(database: Database, tenant: str, kind: Kind, keys: list[str]) -> None:
    """Take out what an interrupted load brought in and the folder has no more."""
    statement = (  # not `NOT key = ANY(...)`, for which PostgreSQL 14 goes through the array again for each row
        f"DELETE FROM holdfast.{kind.table} AS t WHERE t.tenant = %s"  # noqa: S608 - as above
        f" AND NOT EXISTS (SELECT 1 FROM unnest(%s::text[]) AS kept (key) WHERE kept.key = t.{kind.key})"
    )
    database.transact(tenant, lambda transaction: transaction.ask(statement, tenant, keys))


def _load_journal(database: Database, tenant: str, folder: Folder) -> int:
    count, last = 0, 0
    rows: list[tuple[object, ...]] = []
    for seq, line, month in _lines_of(folder):
        if seq <= last:
            raise StorageError("The numbers of the folder's journal do not grow.", "Nothing can be loaded from it.")
        record = read_record(read_line(line.partition(b"\n")[0]) or {})
        about = record.is_about_pages or bool(record.void)
        tag = record.change or f"{seq}-{content_hash(line)[:8]}"
        rows.append((tenant, seq, tag, record.op, about, month, line))
        count, last = count + 1, seq
        if len(rows) == _BATCH:
            _insert_lines(database, tenant, rows)
            rows.clear()
    _insert_lines(database, tenant, rows)
    database.transact(tenant, lambda transaction: _end_load(transaction, tenant, last))
    return count


def _insert_lines(database: Database, tenant: str, rows: list[tuple[object, ...]]) -> None:
    statement = (
        "INSERT INTO holdfast.journal (tenant, seq, tag, op, pages, month, line) VALUES (%s, %s, %s, %s, %s, %s, %s)"
        " ON CONFLICT (tenant, seq) DO UPDATE SET tag = excluded.tag, op = excluded.op, pages = excluded.pages,"
        " month = excluded.month, line = excluded.line"
    )
    database.transact(tenant, lambda transaction: transaction.each(statement, rows))


def _end_load(transaction: Transaction, tenant: str, last: int) -> None:
    transaction.ask("DELETE FROM holdfast.journal WHERE tenant = %s AND seq > %s", tenant, last)
    transaction.ask("UPDATE holdfast.tenants SET seq = %s, loading = false WHERE tenant = %s", last, tenant)


def _lines_of(folder: Folder) -> Iterator[tuple[int, bytes, str]]:
    """Number, bytes and month of each line; one that is harmed goes with the whole one before it.

    Raises:
        StorageError: the first line of all is harmed.
    """
    waiting: tuple[int, bytes, str] | None = None
    for path in sorted(folder.journal.glob("????-??.jsonl")):
        for line in path.read_bytes().split(b"\n")[:-1]:
            record = read_line(line)
            if record is not None:
                if waiting is not None:
                    yield waiting
                waiting = (int(record["seq"]), line, path.stem)
            elif waiting is not None and waiting[2] == path.stem:
                waiting = (waiting[0], waiting[1] + b"\n" + line, waiting[2])
            else:
                raise StorageError(
                    f"The first line of journal/{path.name} cannot be read.", "Restore it from a backup before."
                )
    if waiting is not None:
        yield waiting


def _rows(transaction: Transaction, tenant: str, kind: Kind) -> Iterator[Row]:
    """Key, bytes and time of each text."""
    dated = "modified_ns" if kind.dated else "0"
    statement = (
        f"SELECT {kind.key}, data, {dated} FROM holdfast.{kind.table}"  # noqa: S608 - names of ours
        f" WHERE tenant = %s AND {kind.key} > %s ORDER BY {kind.key} LIMIT {_BATCH}"
    )
    last = ""
    while rows := transaction.ask(statement, tenant, last).fetchall():
        yield from rows
        last = rows[-1][0]


def _dump_journal(transaction: Transaction, tenant: str, written: _Written) -> int:
    months: dict[str, list[bytes]] = {}
    last, month, count = 0, "", 0
    statement = "SELECT seq, month, line FROM holdfast.journal WHERE tenant = %s AND seq > %s ORDER BY seq LIMIT %s"
    while rows := transaction.ask(statement, tenant, last, _BATCH).fetchall():
        for seq, dated, line in rows:
            month, last, count = max(month, dated), seq, count + 1  # clocks of servers may differ at midnight
            months.setdefault(month, []).append(bytes(line) + b"\n")
    for name, lines in months.items():
        written.write(written.journal / f"{name}.jsonl", b"".join(lines), None)
    return count
