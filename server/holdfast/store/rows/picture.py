"""A memory's rows as the files that its folder would have, read piece by piece in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from holdfast.model.records import is_page
from holdfast.store.folder import SUFFIX
from holdfast.store.rows.database import Row, Transaction
from holdfast.store.rows.moving import KINDS, NOTES, PAGES, TEXTS, TRASH, Kind
from holdfast.store.stored import is_ours

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


def is_month(path: str) -> bool:
    """Whether it is a file of the journal."""
    return path.startswith(f"{_MONTHS}/") and path.endswith(_LINES)


def path_of(kind: Kind, key: str) -> str:
    """The file that a row is in the folder."""
    name = f"{key}{SUFFIX}" if kind is TEXTS else key
    return f"{kind.folder}/{name}" if kind.folder else name


def files_of(transaction: Transaction, tenant: str, left_out: list[str]) -> Iterator[RowFile]:
    """Every file, the journal first; rows whose names no file may have are `left_out`."""
    yield from _journal(transaction, tenant)
    for kind in KINDS:
        for group in _groups(transaction, tenant, kind, left_out):
            yield from _group(transaction, tenant, kind, group)


def _is_text(path: str) -> bool:
    try:
        return bool(path.encode())
    except UnicodeEncodeError:
        return False


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
