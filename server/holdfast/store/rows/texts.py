"""Lines, notes and pages as rows, and what they were before: how each is read, written and erased.

The journal as rows: each has the very line that the file form would have, so that it can be taken out as it is.

A reader's place is a number and the tag of the line there. Numbers are given out by the tenant's row, which is held
until the commit: so lines become visible in their order, and who has read up to a number has missed none before it. The
tag is drawn anew for each line: where a database lost its end or was put back, the place of a reader does not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio.to_thread

from holdfast.errors import IntegrityError
from holdfast.model.note import instant
from holdfast.model.records import CAPSULES, NO_HASH, PROPOSALS, PURGE, FileChange, JournalRecord, without_memory
from holdfast.store.codec import MalformedError, Surroundings, content_hash, note_of, parse
from holdfast.store.filesystem import Signature
from holdfast.store.folder import Folder
from holdfast.store.history import Erasure, PastText, Remains, past_text, redacted
from holdfast.store.journal import line_of, read_line
from holdfast.store.records import as_line, read_record
from holdfast.store.rows.database import Asked, Database, Question, Row, TenantRows, Transaction
from holdfast.store.rows.shared import forget
from holdfast.store.stored import LARGEST_FILE, TOO_LONG, Page, Stored, Unreadable, time_of

START: Final = "0:"
PURGES: Final = "purges"  # the row of `leases` that each purge changes
WHOLE: Final = "*"  # under this key a change was made of which every other one has to know
_UNREADABLE = JournalRecord()


@dataclass(frozen=True, slots=True)
class RowReading:
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


def tell_purge(transaction: Transaction, tenant: str) -> None:
    """Have every backup that is being made begin anew, for what it has seen is not to be kept any more."""
    transaction.ask(
        "INSERT INTO holdfast.leases AS l (tenant, name, holder, fence, until) VALUES (%s, %s, '', 0, now())"
        " ON CONFLICT (tenant, name) DO UPDATE SET fence = l.fence + 1",
        tenant, PURGES,
    )  # fmt: skip


def check_unpurged(transaction: Transaction, tenant: str) -> None:
    """Have the database refuse this transaction if a purge has ended since the moment that it sees."""
    transaction.ask("UPDATE holdfast.leases SET until = now() WHERE tenant = %s AND name = %s", tenant, PURGES)


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

    async def since(self, known: str, most: int) -> Sequence[RowReading] | None:
        """The next lines behind a place; None where the journal does not go on from there."""
        after = number_of(known)
        if after and await self._ends_at(known):
            return ()
        rows = await self._rows(
            "SELECT seq, tag, line FROM holdfast.journal WHERE tenant = %s AND seq >= %s ORDER BY seq LIMIT %s",
            after,
            most + 1,
        )
        if not after:
            return await _readings(rows[:most])
        if not rows or place_of(rows[0][0], rows[0][1]) != known:
            return None
        return await _readings(rows[1:])

    async def _ends_at(self, known: str) -> bool:
        """Whether a place is behind the last line: what is asked before every answer."""
        question = Question(
            "SELECT seq, tag FROM holdfast.journal WHERE tenant = %s AND seq >= %s ORDER BY seq LIMIT 2",
            (self._tenant, number_of(known)),
        )
        return [place_of(*row) for row in await self._database.glance(self._tenant, question)] == [known]

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


_MANY = 64  # lines; so many are read in a thread, and nobody waits behind them


async def _readings(rows: Sequence[Row]) -> list[RowReading]:
    if len(rows) < _MANY:
        return _read_all(rows)
    return await anyio.to_thread.run_sync(_read_all, rows)


def _read_all(rows: Sequence[Row]) -> list[RowReading]:
    return [RowReading(record_of(line), place_of(seq, tag)) for seq, tag, line in rows]


LAYOUT: Final = Folder(Path("memory"))  # of names and paths, which are those that an export would have
_OF_HASH: Final = 15  # hexadecimal digits, as many as a number of the index holds


@dataclass(frozen=True, slots=True)
class Text:
    """A note's or page's row before a change."""

    hash: str
    modified_ns: int
    data: bytes


def signature_of(modified_ns: int, seq: int, hash_: str, size: int) -> Signature:
    """Names a version: no other has the same number of a change and the same hash."""
    return Signature(modified_ns, int(hash_[:_OF_HASH], 16), size, seq)


_NOTES = "SELECT path, note, hash, modified_ns, seq, data FROM holdfast.notes WHERE tenant = %s"


def note_question(tenant: str, paths: Sequence[str]) -> Question:
    return Question(f"{_NOTES} AND path = ANY(%s)", (tenant, list(paths)))


def next_notes_question(tenant: str, path: str, most: int) -> Question:
    """The notes behind a path, so many of them, in the order of the key."""
    return Question(f"{_NOTES} AND path > %s ORDER BY path LIMIT %s", (tenant, path, most))


def page_question(tenant: str, paths: Iterable[str]) -> Question:
    return Question(
        "SELECT path, hash, modified_ns, data FROM holdfast.pages WHERE tenant = %s AND path = ANY(%s)",
        (tenant, list(paths)),
    )


def read_note(row: Row, known_ids: Mapping[str, str]) -> Stored | Unreadable:
    """The note that a row of `note_question` holds."""
    path, note_id, hash_, modified_ns, seq, data = row
    signature = signature_of(modified_ns, seq, hash_, len(data))
    try:
        if content_hash(data) != hash_:
            return Unreadable(path, "its row was changed by other means", signature)
        if len(data) > LARGEST_FILE:
            return Unreadable(path, TOO_LONG, signature)
        document = parse(data)
        modified = "" if "created" in document.values else time_of(signature)
        around = Surroundings(LAYOUT.space_of(path), modified)
        note = note_of(document, around, known_ids.get(path) or note_id or None)
    except MalformedError as error:
        return Unreadable(path, str(error), signature)
    return Stored(note, path, hash_, signature, document, "id" in document.values)


def read_page(row: Row) -> Page:
    """The page that a row of `page_question` holds."""
    path, hash_, modified_ns, data = row
    return Page(path, bytes(data), hash_, time_of(signature_of(modified_ns, 0, hash_, len(data))))


def put(transaction: Transaction, tenant: str, seq: int, file: FileChange, data: bytes, modified_ns: int) -> None:
    """Write the new bytes of a note or page."""
    if file.is_page:
        transaction.ask(
            "INSERT INTO holdfast.pages (tenant, path, hash, modified_ns, data) VALUES (%s, %s, %s, %s, %s)"
            " ON CONFLICT (tenant, path) DO UPDATE SET"
            " hash = excluded.hash, modified_ns = excluded.modified_ns, data = excluded.data",
            tenant, file.path, file.after, modified_ns, data,
        )  # fmt: skip
        return
    transaction.ask(
        "INSERT INTO holdfast.notes (tenant, path, note, hash, modified_ns, seq, data)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s)"
        " ON CONFLICT (tenant, path) DO UPDATE SET note = excluded.note, hash = excluded.hash,"
        " modified_ns = excluded.modified_ns, seq = excluded.seq, data = excluded.data",
        tenant, file.path, file.note, file.after, modified_ns, seq, data,
    )  # fmt: skip


def keep(transaction: Transaction, tenant: str, before: Text) -> None:
    """Keep the text that a change takes away."""
    transaction.ask(
        "INSERT INTO holdfast.texts (tenant, hash, data) VALUES (%s, %s, %s) ON CONFLICT (tenant, hash) DO NOTHING",
        tenant, before.hash, before.data,
    )  # fmt: skip


def delete(transaction: Transaction, tenant: str, file: FileChange, before: Text) -> None:
    """Put a note into the trash."""
    transaction.ask("DELETE FROM holdfast.notes WHERE tenant = %s AND path = %s", tenant, file.path)
    transaction.ask(
        "INSERT INTO holdfast.trash (tenant, aside, hash, modified_ns, data) VALUES (%s, %s, %s, %s, %s)"
        " ON CONFLICT (tenant, aside) DO NOTHING",
        tenant, file.aside, before.hash, before.modified_ns, before.data,
    )  # fmt: skip


def touch(transaction: Transaction, tenant: str, seq: int, keys: Iterable[str]) -> None:
    """Say of keys that a change was made under them: whoever decided something on what was before comes too late."""
    transaction.ask(
        "INSERT INTO holdfast.touched (tenant, key, seq) SELECT %s, key, %s FROM unnest(%s::text[]) AS key"
        " ON CONFLICT (tenant, key) DO UPDATE SET seq = excluded.seq",
        tenant, seq, sorted(set(keys)),
    )  # fmt: skip


class RowPast:
    """See `holdfast.store.history.FolderHistory`, which has the same for a folder.

    Args:
        database: where it is.
        tenant: whose.
        journal: the tenant's.
        clock: the time now.
        change_id: gives the tag of a line.
    """

    def __init__(
        self,
        database: Database,
        tenant: str,
        journal: RowJournal,
        clock: Callable[[], datetime],
        change_id: Callable[[], str],
    ) -> None:
        self._database = database
        self._tenant = tenant
        self._journal = journal
        self._clock = clock
        self._change_id = change_id

    async def records(self, ops: Collection[str] = ()) -> list[JournalRecord]:
        """The lines of some verbs, or of all, in order; without changes that never happened."""
        lines = await self._journal.of_verbs(tuple(ops))
        done = {change for line in lines for change in line.done}
        void = {change for line in lines for change in line.void} - done
        return [line for line in lines if (not ops or line.op in ops) and line.change not in void]

    async def lines(self, numbers: Iterable[int]) -> dict[int, JournalRecord]:
        """The lines of these numbers, by number."""
        return await self._journal.numbered(list(numbers))

    async def replaced(self, file: FileChange, created: str = "") -> PastText:
        """The text that a change took away.

        Raises:
            IntegrityError: it is not kept any more.
        """
        deleted, kept = await self._database.read(
            self._tenant,
            Question(
                "SELECT modified_ns, data FROM holdfast.trash WHERE tenant = %s AND aside = %s AND hash = %s",
                (self._tenant, file.aside, file.before),
            ),
            Question("SELECT data FROM holdfast.texts WHERE tenant = %s AND hash = %s", (self._tenant, file.before)),
        )
        in_trash = deleted[0] if deleted and file.after is None else None
        data = kept[0][0] if kept else in_trash[1] if in_trash else None
        if data is None:
            raise IntegrityError("The text from before this change is not kept any more: it was purged.")
        space, touched = LAYOUT.space_of(file.path), in_trash[0] if in_trash else None
        return past_text(file, bytes(data), space, touched, created)

    async def drop(self, deletion: FileChange) -> None:
        """Take a note out of the trash, if it is still the one that was put there."""
        await self._database.run(
            self._tenant,
            lambda transaction: transaction.ask(
                "DELETE FROM holdfast.trash WHERE tenant = %s AND aside = %s AND hash = %s",
                self._tenant, deletion.aside, deletion.before,
            ),
        )  # fmt: skip

    async def remains(self, note: str, paths: Sequence[str]) -> Remains:
        """Everything that is kept of a note; `paths` are its own."""
        return await self._database.run(self._tenant, partial(_remains, self._tenant, note, tuple(paths)))

    async def erase(self, erasure: Erasure) -> None:
        """Erase a note from notes, history, trash and journal, in one transaction. The caller is alone."""
        said = replace(erasure.said, op=PURGE, note=erasure.note, at=erasure.said.at or instant(self._clock()))
        work = partial(_erase, self._tenant, self._change_id(), erasure, said)
        await self._database.run(self._tenant, work)


def _lines_with(transaction: Transaction, tenant: str, words: Collection[str]) -> list[tuple[int, bytes]]:
    """Number and bytes of the lines that hold one of these words."""
    if not words:
        return []
    cursor = transaction.ask(
        "SELECT DISTINCT seq, line FROM holdfast.journal, unnest(%s::bytea[]) AS word"
        " WHERE tenant = %s AND position(word IN line) > 0 ORDER BY seq",
        [word.encode() for word in sorted(words)], tenant,
    )  # fmt: skip
    return [(int(row[0]), bytes(row[1])) for row in cursor.fetchall()]


def _remains(tenant: str, note: str, paths: tuple[str, ...], transaction: Transaction) -> Remains:
    lines = [record_of(line) for _, line in _lines_with(transaction, tenant, [note])]
    named = [file for line in lines for file in line.files if file.note == note]
    hashes = {value for file in named for value in (file.before, file.after) if value and value != NO_HASH}
    others = {
        value
        for _, line in _lines_with(transaction, tenant, hashes)
        for file in record_of(line).files
        if file.note != note
        for value in (file.before, file.after)
    }
    own = hashes - others
    here = transaction.ask(
        "SELECT path, data FROM holdfast.notes WHERE tenant = %s AND (note = %s OR path = ANY(%s))",
        tenant, note, list(paths),
    )  # fmt: skip
    proposals = transaction.ask(
        "SELECT path FROM holdfast.pages WHERE tenant = %s AND starts_with(path, %s)"
        " AND position(%s::bytea IN data) > 0",
        tenant, f"{PROPOSALS}/", note.encode(),
    )  # fmt: skip
    kept = transaction.ask(
        "SELECT hash, data FROM holdfast.texts WHERE tenant = %s AND hash = ANY(%s)", tenant, sorted(own)
    )
    trash = transaction.ask(
        "SELECT aside, data FROM holdfast.trash WHERE tenant = %s AND (aside = ANY(%s) OR hash = ANY(%s))",
        tenant, [file.aside for file in named if file.after is None], sorted(own),
    )  # fmt: skip
    files, past, gone = here.fetchall(), kept.fetchall(), trash.fetchall()
    texts = {said for _, data in (*files, *past, *gone) if (said := _said(bytes(data), note)) is not None}
    return Remains(
        (*(Path(row[0]) for row in files), *(Path(row[0]) for row in proposals.fetchall())),
        tuple(Path(row[0]) for row in past),
        tuple(Path(row[0]) for row in gone),
        frozenset(own),
        frozenset(texts),
        len(lines),
    )


def _said(data: bytes, note: str) -> tuple[str, str] | None:
    try:
        found = note_of(parse(data), Surroundings(), note)
    except MalformedError:
        return None
    return found.title, found.content


def _erase(tenant: str, tag: str, erasure: Erasure, said: JournalRecord, transaction: Transaction) -> None:
    number = take_number(transaction, tenant).fetchone()
    if number is None:
        make_tenant(transaction, tenant)
        number = take_number(transaction, tenant).fetchone()
    known = transaction.ask("SELECT seq FROM holdfast.journal WHERE tenant = %s AND tag = %s", tenant, tag).fetchone()
    if known is not None or number is None:
        transaction.ask("UPDATE holdfast.tenants SET seq = seq - 1 WHERE tenant = %s", tenant)
        return
    tell_purge(transaction, tenant)
    remains = _remains(tenant, erasure.note, erasure.paths, transaction)
    _delete_all(transaction, tenant, remains)
    _clear_capsules(transaction, tenant, erasure.note)
    _redact(transaction, tenant, erasure.note)
    forget(tenant, erasure.encoded, transaction)  # what another server shared since it was asked to forget, too
    seq = int(number[0])
    write_line(transaction, tenant, tag, replace(said, seq=seq))
    touch(transaction, tenant, seq, [erasure.note])


def _delete_all(transaction: Transaction, tenant: str, remains: Remains) -> None:
    files = [path.as_posix() for path in remains.files]
    for statement, names in (
        ("DELETE FROM holdfast.notes WHERE tenant = %s AND path = ANY(%s)", files),
        ("DELETE FROM holdfast.pages WHERE tenant = %s AND path = ANY(%s)", files),
        ("DELETE FROM holdfast.texts WHERE tenant = %s AND hash = ANY(%s)", sorted(remains.hashes)),
        ("DELETE FROM holdfast.trash WHERE tenant = %s AND aside = ANY(%s)", [p.as_posix() for p in remains.trash]),
    ):
        transaction.ask(statement, tenant, names)


def _clear_capsules(transaction: Transaction, tenant: str, note: str) -> None:
    """Take the note out of what was known at some moment; a capsule that cannot be read goes."""
    rows = transaction.ask(
        "SELECT path, data FROM holdfast.pages WHERE tenant = %s AND starts_with(path, %s)"
        " AND position(%s::bytea IN data) > 0",
        tenant, f"{CAPSULES}/", note.encode(),
    ).fetchall()  # fmt: skip
    for path, data in rows:
        cleared = without_memory(bytes(data), note)
        if cleared is None:
            transaction.ask("DELETE FROM holdfast.pages WHERE tenant = %s AND path = %s", tenant, path)
        else:
            transaction.ask(
                "UPDATE holdfast.pages SET data = %s, hash = %s WHERE tenant = %s AND path = %s",
                cleared, content_hash(cleared), tenant, path,
            )  # fmt: skip


def _redact(transaction: Transaction, tenant: str, note: str) -> None:
    """Take out of the journal whatever may come from the note's text; every line keeps its length."""
    own = _lines_with(transaction, tenant, [note])
    ratings = [record_of(line).feedback for _, line in own]
    questions = {rating.question.key for rating in ratings if rating and rating.note == note and rating.question}
    for seq, line in _lines_with(transaction, tenant, {note, *questions}):
        changed: tuple[Any, ...] = (redacted(line, note, questions), tenant, seq)
        transaction.ask("UPDATE holdfast.journal SET line = %s WHERE tenant = %s AND seq = %s", *changed)
