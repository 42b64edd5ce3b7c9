"""What was, as rows: lines of the journal, texts that were replaced, the trash; and their erasure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from holdfast.errors import IntegrityError
from holdfast.model.pages import CAPSULES, PROPOSALS, without_memory
from holdfast.model.records import NO_HASH, PURGE, FileChange, JournalRecord
from holdfast.model.times import instant, moment
from holdfast.store.codec import Surroundings, content_hash, note_of
from holdfast.store.erasure import Erasure, Remains, redacted
from holdfast.store.frontmatter import MalformedError, parse
from holdfast.store.history import PastText
from holdfast.store.rows.database import Database, Question, Transaction
from holdfast.store.rows.journal import RowJournal, make_tenant, record_of, take_number, write_line
from holdfast.store.rows.texts import LAYOUT, signature_of, touch
from holdfast.store.stored import time_of


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
        told = await self._journal.of_verbs(tuple(ops))
        done = {change for line in told for change in line.done}
        void = {change for line in told for change in line.void} - done
        return [line for line in told if (not ops or line.op in ops) and line.change not in void]

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
        touched = in_trash[0] if in_trash else _nanoseconds(created)
        return _past_text(file, bytes(data), touched)

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


def _past_text(file: FileChange, data: bytes, touched_ns: int | None) -> PastText:
    try:
        document = parse(data)
        dated = "created" in document.values
        around = Surroundings(LAYOUT.space_of(file.path))
        if not dated and touched_ns is not None:
            around = replace(around, modified=time_of(signature_of(touched_ns, 0, NO_HASH, 0)))
        return PastText(note_of(document, around, file.note), data, None if dated else touched_ns)
    except MalformedError as error:
        raise IntegrityError("The text from before this change cannot be read as a note.") from error


def _nanoseconds(created: str) -> int | None:
    return int(moment(created).timestamp()) * 1_000_000_000 if created else None


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
    told = transaction.ask(
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
        (*(Path(row[0]) for row in files), *(Path(row[0]) for row in told.fetchall())),
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
    remains = _remains(tenant, erasure.note, erasure.paths, transaction)
    _delete_all(transaction, tenant, remains)
    _clear_capsules(transaction, tenant, erasure.note)
    _redact(transaction, tenant, erasure.note)
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
