"""The journal as rows: each has the very line that the file form would have, so that it can be taken out as it is.

A reader's place is a number and the tag of the line there. Numbers are given out by the tenant's row, which is held
until the commit: so lines become visible in their order, and who has read up to a number has missed none before it. The
tag is drawn anew for each line: where a database lost its end or was put back, the place of a reader does not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from holdfast.model.records import JournalRecord
from holdfast.store.journal import line_of, read_line
from holdfast.store.records import as_line, read_record
from holdfast.store.rows.database import Asked, Question, Row, TenantRows, Transaction

START: Final = "0:"
_UNREADABLE = JournalRecord()


@dataclass(frozen=True, slots=True)
class Told:
    """A line of the journal, and the place behind it."""

    record: JournalRecord
    place: str


def number_of(place: str) -> int:
    """The number of the last line before a place; 0 at the beginning."""
    return int(place.partition(":")[0] or 0)


def place_of(seq: int, tag: str) -> str:
    return f"{seq}:{tag}"


def record_of(line: bytes) -> JournalRecord:
    """What a line says; a harmed one says nothing."""
    found = read_line(bytes(line).partition(b"\n")[0])
    return _UNREADABLE if found is None else read_record(found)


def take_number(transaction: Transaction, tenant: str) -> Asked:
    """Take the next number, and with it the right to write until the commit; whether the memory is being loaded."""
    return transaction.ask("UPDATE holdfast.tenants SET seq = seq + 1 WHERE tenant = %s RETURNING seq, loading", tenant)


def add_numbers(transaction: Transaction, tenant: str, more: int) -> None:
    """Take so many numbers more than the one that was taken; -1 gives that back: numbers have no gaps."""
    if more:
        transaction.ask("UPDATE holdfast.tenants SET seq = seq + %s WHERE tenant = %s", more, tenant)


def make_tenant(transaction: Transaction, tenant: str) -> None:
    """Begin the journal of a tenant; several may do so at once."""
    transaction.ask("INSERT INTO holdfast.tenants (tenant) VALUES (%s) ON CONFLICT (tenant) DO NOTHING", tenant)


def write_line(transaction: Transaction, tenant: str, tag: str, record: JournalRecord) -> JournalRecord:
    """Add a line, whose number was taken; returns it as it stands there.

    Every change before it is made: a database knows no change without an outcome.
    """
    written = replace(record, settled=record.seq - 1)
    transaction.ask(
        "INSERT INTO holdfast.journal (tenant, seq, tag, op, pages, month, line) VALUES (%s, %s, %s, %s, %s, %s, %s)",
        tenant,
        written.seq,
        tag,
        written.op,
        written.is_about_pages,
        written.at[:7],
        line_of(as_line(written))[:-1],
    )
    return written


class RowJournal(TenantRows):
    """Reads the journal of one tenant."""

    async def since(self, known: str, most: int) -> Sequence[Told] | None:
        """The next lines behind a place; None where the journal does not go on from there."""
        after = number_of(known)
        rows = await self._rows(
            "SELECT seq, tag, line FROM holdfast.journal WHERE tenant = %s AND seq >= %s ORDER BY seq LIMIT %s",
            after,
            most + 1,
        )
        if not after:
            return [_told(row) for row in rows[:most]]
        if not rows or place_of(rows[0][0], rows[0][1]) != known:
            return None
        return [_told(row) for row in rows[1:]]

    async def end(self) -> str:
        """The place behind the last line."""
        rows = await self._rows(
            "SELECT seq, tag FROM holdfast.journal WHERE tenant = %s ORDER BY seq DESC LIMIT 1",
        )
        return place_of(*rows[0]) if rows else START

    async def about_pages(self, known: str) -> tuple[list[JournalRecord], str]:
        """The lines behind a place that tell of pages, or of what never happened; and the place behind all lines."""
        end = await self.end()
        rows = await self._rows(
            "SELECT line FROM holdfast.journal WHERE tenant = %s AND pages AND seq > %s AND seq <= %s ORDER BY seq",
            number_of(known),
            number_of(end),
        )
        return [record_of(row[0]) for row in rows], end

    async def of_verbs(self, ops: Sequence[str]) -> list[JournalRecord]:
        """The lines of some verbs, and those that tell how changes ended; all lines where none are named."""
        if ops:
            rows = await self._rows(
                "SELECT line FROM holdfast.journal WHERE tenant = %s AND op = ANY(%s) ORDER BY seq", [*ops, ""]
            )
        else:
            rows = await self._rows("SELECT line FROM holdfast.journal WHERE tenant = %s ORDER BY seq")
        return [record_of(row[0]) for row in rows]

    async def numbered(self, numbers: Sequence[int]) -> dict[int, JournalRecord]:
        """The lines of these numbers, by number."""
        rows = await self._rows(
            "SELECT seq, line FROM holdfast.journal WHERE tenant = %s AND seq = ANY(%s)", list(numbers)
        )
        return {row[0]: record_of(row[1]) for row in rows}

    async def _rows(self, statement: str, *values: object) -> list[Row]:
        [rows] = await self._database.read(self._tenant, Question(statement, (self._tenant, *values)))
        return rows


def _told(row: Row) -> Told:
    return Told(record_of(row[2]), place_of(row[0], row[1]))
