"""A backup in the place of a memory's rows, in one transaction under the memory's number: all of it, or nothing."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from holdfast.errors import StorageError
from holdfast.model.records import RESTORE, JournalRecord
from holdfast.store.codec import content_hash
from holdfast.store.journal import Record, line_of, read_line, unnumbered
from holdfast.store.records import read_record
from holdfast.store.rows.backups import is_month
from holdfast.store.rows.database import Transaction
from holdfast.store.rows.moving import INSERT, NOTES, PAGES, TEXTS, TRASH, Kind, id_of, kind_of, path_of
from holdfast.store.rows.texts import WHOLE, add_numbers, make_tenant, record_of, take_number, touch, write_line
from holdfast.store.stored import LARGEST_PAGE, Backup, Manifest, Packed

_TOGETHER: Final = 4 << 20  # bytes of rows that are written at a time
_MOST: Final = 500  # of them
_REPLACED: Final = (NOTES, PAGES)
_SAFETY: Final = "safety"

_PUT: Final = {
    **INSERT,
    NOTES: "INSERT INTO holdfast.notes (tenant, path, note, hash, modified_ns, seq, data)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT (tenant, path) DO UPDATE SET note = excluded.note,"
    " hash = excluded.hash, modified_ns = excluded.modified_ns, seq = excluded.seq, data = excluded.data",
}


@dataclass(frozen=True, slots=True)
class Here:
    """A note or page as it is now: the key of its row, its hash, its time, and the id that a note was given."""

    kind: Kind
    key: str
    hash: str
    modified_ns: int
    note: str = ""


def here(transaction: Transaction, tenant: str) -> dict[str, Here]:
    """What a restore replaces, by its path in the folder."""
    notes = transaction.ask("SELECT path, hash, modified_ns, note FROM holdfast.notes WHERE tenant = %s", tenant)
    pages = transaction.ask("SELECT path, hash, modified_ns FROM holdfast.pages WHERE tenant = %s", tenant)
    found = [Here(kind, *row) for kind, rows in ((NOTES, notes), (PAGES, pages)) for row in rows.fetchall()]
    return {path_of(each.kind, each.key): each for each in found}


def is_replaced(path: str, packed: Packed) -> bool:
    """Whether a file of a backup is a note or a page as rows have them."""
    found = kind_of(path)
    return found is not None and found[0] in _REPLACED and packed.size <= LARGEST_PAGE


def strangers(manifest: Manifest) -> list[str]:
    """Files of a backup that no table has: they came from a folder, and stay in the backup."""
    return [
        path
        for path, packed in manifest.files.items()
        if not is_month(path) and (kind_of(path) is None or packed.size > LARGEST_PAGE)
    ]


def last_number(transaction: Transaction, tenant: str) -> int:
    """The number of the memory's last change that the transaction sees.

    Raises:
        StorageError: the memory is being loaded.
    """
    row = transaction.ask("SELECT seq, loading FROM holdfast.tenants WHERE tenant = %s", tenant).fetchone()
    if row is not None and row[1]:
        raise _loading()
    return 0 if row is None else int(row[0])


def begin(transaction: Transaction, tenant: str) -> int:
    """Take the memory's next number, behind which nobody else writes until the end.

    Raises:
        StorageError: the memory is being loaded.
    """
    taken = take_number(transaction, tenant).fetchone()
    if taken is None:
        make_tenant(transaction, tenant)
        return begin(transaction, tenant)
    if taken[1]:
        raise _loading()
    return int(taken[0])


def call_off(transaction: Transaction, tenant: str) -> None:
    """Give the number back: nothing was done under it."""
    add_numbers(transaction, tenant, -1)


def safety_backup_of(transaction: Transaction, tenant: str, tag: str) -> str | None:
    """The safety backup of a restore whose line has this tag; None where it was not done."""
    row = transaction.ask("SELECT line FROM holdfast.journal WHERE tenant = %s AND tag = %s", tenant, tag).fetchone()
    return None if row is None else str(record_of(row[0]).more.get(_SAFETY))


def line_about(manifest: Manifest, safety: Backup, said: JournalRecord) -> JournalRecord:
    """The journal's line of a restore."""
    more = {"backup": manifest.backup.backup_id, _SAFETY: safety.backup_id}
    return replace(said, op=RESTORE, restored=manifest.pages, more=more)


def _loading() -> StorageError:
    return StorageError(
        "This memory is being loaded into the database.", "Let `holdfast store load` come to its end first."
    )


class _Whole(io.BytesIO):
    """Takes a file as a whole, and hands it on when it is closed."""

    def __init__(self, done: Callable[[bytes], None]) -> None:
        super().__init__()
        self._done = done

    def close(self) -> None:
        if not self.closed:
            data = self.getvalue()
            super().close()
            self._done(data)


class _Lines:
    """Takes a file of the journal, and hands on its lines, some at a time."""

    def __init__(self, done: Callable[[Sequence[bytes]], None]) -> None:
        self._done = done
        self._rest = bytearray()

    def write(self, data: bytes | memoryview, /) -> int:
        self._rest += data
        if len(self._rest) >= _TOGETHER:
            whole, _, rest = self._rest.rpartition(b"\n")
            self._done(bytes(whole).split(b"\n"))
            self._rest = bytearray(rest)
        return len(data)

    def close(self) -> None:
        self._done(bytes(self._rest).split(b"\n"))
        self._rest.clear()


class LostLines:
    """Lines of a backup's journal that the journal has no more; they are added to it behind all others.

    Args:
        transaction: the one under way.
        tenant: whose.
        first: the number that the first of them gets.
        month: the one in which they are added.
    """

    def __init__(self, transaction: Transaction, tenant: str, first: int, month: str) -> None:
        self.given: dict[str, str] = {}  # ids of notes by path that do not carry them
        self.next = first
        self._transaction = transaction
        self._tenant = tenant
        self._month = month
        self._added: set[str] = set()
        self._others: set[bytes] | None = None  # of the lines that announce no change, where they have to be known

    def add(self, lines: Sequence[bytes]) -> None:
        """Add those of these lines that are not there; a harmed one says nothing."""
        records = [record for line in lines if line and (record := read_line(line)) is not None]
        for start in range(0, len(records), _MOST):
            self._add(records[start : start + _MOST])

    def _add(self, records: Sequence[dict[str, Any]]) -> None:
        for record in records:
            self.given |= {each.path: each.note for each in read_record(record).given}
        lost = self._lost_changes(records) | self._lost_others([each for each in records if "change" not in each])
        rows = []
        for record in records:
            if record["seq"] in lost:
                rows.append(self._row(record))
                self.next += 1
        self._transaction.each(
            "INSERT INTO holdfast.journal (tenant, seq, tag, op, pages, month, line)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s)",
            rows,
        )
        self._transaction.sync()

    def _lost_changes(self, records: Sequence[dict[str, Any]]) -> set[int]:
        changes = {str(each["change"]): int(each["seq"]) for each in records if "change" in each}
        there = self._transaction.ask(
            "SELECT tag FROM holdfast.journal WHERE tenant = %s AND tag = ANY(%s)", self._tenant, list(changes)
        )
        lost = changes.keys() - {row[0] for row in there.fetchall()} - self._added
        self._added |= lost
        return {changes[change] for change in lost}

    def _lost_others(self, records: Sequence[dict[str, Any]]) -> set[int]:
        """Those that announce no change have no name: most stand at their number still."""
        numbers = [int(each["seq"]) for each in records]
        at = self._transaction.ask(
            "SELECT seq, line FROM holdfast.journal WHERE tenant = %s AND seq = ANY(%s)", self._tenant, numbers
        )
        same = {seq for seq, line in at.fetchall() if _identity_of(line) in {_identity(each) for each in records}}
        moved = [each for each in records if each["seq"] not in same]
        if not moved:
            return set()
        if self._others is None:
            self._others = self._identities()
        lost = {int(each["seq"]) for each in moved if _identity(each) not in self._others}
        self._others |= {_identity(each) for each in moved}
        return lost

    def _identities(self) -> set[bytes]:
        found, last = set[bytes](), 0
        statement = "SELECT seq, line FROM holdfast.journal WHERE tenant = %s AND seq > %s ORDER BY seq LIMIT %s"
        while rows := self._transaction.ask(statement, self._tenant, last, _MOST).fetchall():
            found |= {_identity_of(line) for _, line in rows}
            last = rows[-1][0]
        return found

    def _row(self, record: dict[str, Any]) -> tuple[object, ...]:
        line = line_of({"seq": self.next, **unnumbered(record), "settled": self.next - 1})[:-1]
        read = read_record(record)
        tag = read.change or f"{self.next}-{content_hash(line)[:8]}"
        about = read.is_about_pages or bool(read.void)
        return self._tenant, self.next, tag, read.op, about, self._month, line


def _identity(record: Record) -> bytes:
    return hashlib.sha256(json.dumps(unnumbered(record), sort_keys=True).encode()).digest()[:16]


def _identity_of(line: bytes) -> bytes:
    return _identity(read_line(bytes(line).partition(b"\n")[0]) or {})


class Exchange:
    """A restore under way, in the transaction that has taken the memory's next number.

    Notes and pages become those of the backup; journal, replaced texts and trash keep what they have and get back what
    they lack. What is as it was is not written.

    Args:
        transaction: the one under way.
        tenant: whose.
        number: the one that was taken.
        said: the journal's line of it.
    """

    def __init__(self, transaction: Transaction, tenant: str, number: int, said: JournalRecord) -> None:
        self._transaction = transaction
        self._tenant = tenant
        self._number = number
        self._said = said
        self._here = here(transaction, tenant)
        self._kept = {kind: self._keys(kind) for kind in (TEXTS, TRASH)}
        self._lines = LostLines(transaction, tenant, number, said.at[:7])
        self._waiting: dict[Kind, list[tuple[object, ...]]] = {kind: [] for kind in _PUT}
        self._bytes = 0
        self._wanted: set[str] = set()

    def take(self, path: str, packed: Packed) -> _Whole | _Lines | None:
        """Where a file of the backup goes; None where it needs not be written."""
        if is_month(path):
            return _Lines(self._lines.add)
        found = kind_of(path)
        if found is None or packed.size > LARGEST_PAGE:
            return None
        kind, key = found
        if kind in _REPLACED:
            self._wanted.add(path)
            now = self._here.get(path)
            if now is not None and (now.hash, now.modified_ns) == (packed.sha256, packed.modified_ns):
                return None
        elif key in self._kept[kind]:
            return None
        return _Whole(lambda data: self._put(kind, key, packed, data))

    def _keys(self, kind: Kind) -> set[str]:
        statement = f"SELECT {kind.key} FROM holdfast.{kind.table} WHERE tenant = %s"  # noqa: S608 - names of ours
        return {row[0] for row in self._transaction.ask(statement, self._tenant).fetchall()}

    def _put(self, kind: Kind, key: str, packed: Packed, data: bytes) -> None:
        self._waiting[kind].append(self._row(kind, key, packed, data))
        self._bytes += len(data)
        if self._bytes >= _TOGETHER or len(self._waiting[kind]) >= _MOST:
            self._write()

    def _row(self, kind: Kind, key: str, packed: Packed, data: bytes) -> tuple[object, ...]:
        if kind is TEXTS:
            return self._tenant, key, data
        if kind is not NOTES:
            return self._tenant, key, packed.sha256, packed.modified_ns, data
        now = self._here.get(path_of(NOTES, key))
        note = id_of(key, data) or self._lines.given.get(key) or (now.note if now else "")
        return self._tenant, key, note, packed.sha256, packed.modified_ns, self._number, data

    def _write(self) -> None:
        for kind, rows in self._waiting.items():
            self._transaction.each(_PUT[kind], rows)
            rows.clear()
        self._transaction.sync()
        self._bytes = 0

    def end(self, tag: str) -> None:
        """Take away what the backup has not, and tell the journal, behind whose line every index is compared anew."""
        self._write()
        gone = [each for path, each in self._here.items() if path not in self._wanted]
        for kind in _REPLACED:
            self._transaction.ask(
                f"DELETE FROM holdfast.{kind.table} WHERE tenant = %s AND path = ANY(%s)",  # noqa: S608 - as above
                self._tenant, [each.key for each in gone if each.kind is kind],
            )  # fmt: skip
        number = self._lines.next
        add_numbers(self._transaction, self._tenant, number - self._number)
        write_line(self._transaction, self._tenant, tag, replace(self._said, seq=number))
        touch(self._transaction, self._tenant, number, [WHOLE])
