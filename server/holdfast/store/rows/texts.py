"""Notes and pages as rows: how a row is read as a note, and the statements that a change consists of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from holdfast.model.records import FileChange
from holdfast.store.codec import Surroundings, content_hash, note_of
from holdfast.store.filesystem import Signature
from holdfast.store.folder import Folder
from holdfast.store.frontmatter import MalformedError, parse
from holdfast.store.rows.database import Question, Row, Transaction
from holdfast.store.stored import LARGEST_FILE, TOO_LONG, Page, Stored, Unreadable, time_of

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


def note_question(tenant: str, paths: Sequence[str]) -> Question:
    return Question(
        "SELECT path, note, hash, modified_ns, seq, data FROM holdfast.notes WHERE tenant = %s AND path = ANY(%s)",
        (tenant, list(paths)),
    )


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
