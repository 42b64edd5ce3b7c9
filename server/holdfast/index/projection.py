"""From notes to rows: what is written when a note is made, changed or gone. One change is one transaction."""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any

from holdfast.index.current import LONG, NOT_RETIRED
from holdfast.index.journal import Advance, advance, put_lines, put_records
from holdfast.index.maintenance import UseRow, put_importance, put_uses
from holdfast.index.recalls import FeedbackRow, QuestionVector, put_feedback, put_question_vectors
from holdfast.index.rows import (
    _KEY_LENGTH,
    FileRow,
    PairReading,
    SetRow,
    content_key,
    digest,
    drop_aliases,
    forget_readings,
    forget_vectors,
    has_vectors,
    open_set,
    put_aliases,
    put_readings,
    queue_all,
    queue_note,
    queue_reading,
    settle_sets,
    unqueue_note,
)
from holdfast.model.note import FIELDS, SELF_ID, Note, tag_key, title_of
from holdfast.model.records import USE, JournalRecord
from holdfast.model.words import searchable

_OF_NOTE = tuple(field.name for field in FIELDS if field.column)
_own_values = attrgetter(*_OF_NOTE)
_AS_JSON = json.JSONEncoder(ensure_ascii=False).encode
_TAGS, _OUTDATED = _OF_NOTE.index("tags"), _OF_NOTE.index("outdated")
_COLUMNS = (*_OF_NOTE, "content", "happened", "long", "path", "hash", "content_key", "encode_hash", "changed")
_UPSERT = (
    f"INSERT INTO notes ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))}) "  # noqa: S608 - own names
    f"ON CONFLICT (id) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _COLUMNS if name != 'id')}"
)
_PUT_FILE = (
    "INSERT OR REPLACE INTO files (path, mark, touched, size, note, problem, has_id) VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_PUT_LINK = "INSERT OR REPLACE INTO links VALUES (?, ?, ?, ?, ?, ?, ?)"
_PUT_TEXT = "INSERT INTO texts (rowid, title, body, tags, subject, earlier, later) VALUES (?, ?, ?, ?, ?, ?, ?)"
_MERGE_SOME = "INSERT INTO texts (texts, rank) VALUES ('automerge', ?)"
_USUAL_MERGE = 4  # SQLite's own default
TOMBSTONES = 10_000  # the least that are kept
NO_MARK = ""
EARLIER, LATER = 2, 1  # how many notes of the same session lend their words, before and after


@dataclass(frozen=True, slots=True)
class NoteRow:
    """A note with its file, as it is to be indexed."""

    note: Note
    hash: str
    file: FileRow

    @property
    def encode_hash(self) -> str:
        """Names the text that its vectors are made from."""
        return digest(text_to_encode(self.note.title, self.note.content))


@dataclass(frozen=True, slots=True)
class MadeVectors:
    """A note's chunks in one vector set; they count only while the note still has the text they were made from."""

    note: str
    encode_hash: str
    vector_set: str
    chunks: Sequence[bytes]


def encode_hash(text_hash: str) -> str:
    """The key that a note has for a text to encode of which the whole SHA-256 is known, in hexadecimal."""
    return text_hash[:_KEY_LENGTH]


def text_to_encode(title: str, content: str) -> str:
    """Title and body; a title that only repeats the first line is left out."""
    return content if title == title_of(content) else f"{title}\n{content}"


def put_notes(connection: sqlite3.Connection, rows: Sequence[NoteRow], change_seq: int) -> None:
    """Write notes with their tags, links, texts and files; links that lead to them are not touched."""
    stale: set[int] = set()
    for row in rows:
        stale |= _neighbours(connection, row.note.id)
        rowid = _put_note(connection, row, change_seq)
        _put_tags(connection, rowid, row.note)
        _put_links(connection, row.note)
        put_aliases(connection, [row.note])
        put_file(connection, row.file)
        stale.add(rowid)
    for row in rows:
        stale |= _neighbours(connection, row.note.id)
    for rowid in sorted(stale):
        _put_text(connection, rowid)


def fill_notes(connection: sqlite3.Connection, rows: Sequence[NoteRow], change_seq: int) -> None:
    """As `put_notes` for an index that is being built, without the searchable texts: `fill_texts` makes them all."""
    wanted = json.dumps([row.note.id for row in rows])
    again = connection.execute("SELECT rowid, id FROM notes WHERE id IN (SELECT value FROM json_each(?))", (wanted,))
    for rowid, note_id in again.fetchall():
        connection.execute("DELETE FROM tags WHERE note = ?", (rowid,))
        connection.execute("DELETE FROM links WHERE owner = ?", (note_id,))
        drop_aliases(connection, note_id)
        forget_vectors(connection, rowid)
        connection.execute("UPDATE notes SET encoded_by = NULL WHERE rowid = ?", (rowid,))
    connection.executemany(_UPSERT, [_values(row, change_seq) for row in rows])
    connection.executemany(
        "INSERT OR IGNORE INTO tags (note, tag) SELECT rowid, ?2 FROM notes WHERE id = ?1",
        [(row.note.id, tag_key(tag)) for row in rows for tag in row.note.tags],
    )
    connection.executemany(_PUT_LINK, [link for row in rows for link in _edges(row.note)])
    put_aliases(connection, (row.note for row in rows if row.note.merged))
    connection.executemany(_PUT_FILE, [_file_values(row.file) for row in rows])


def fill_texts(connection: sqlite3.Connection) -> None:
    """Write the searchable texts of all notes anew, in one walk along the sessions."""
    connection.execute("DELETE FROM texts")
    connection.execute(_MERGE_SOME, (0,))  # what is written in one go is merged later, a little with each change
    found = connection.execute(
        "SELECT space, session, rowid, title, content, tags, subject, outdated FROM notes "
        "ORDER BY session IS NULL, space, session, coalesce(seq, -1), created, id"
    )
    for (_, session), group in itertools.groupby(found, lambda row: row[:2]):
        notes = (row[2:] for row in group)
        connection.executemany(_PUT_TEXT, map(_alone, notes) if session is None else _in_session(list(notes)))
    connection.execute(_MERGE_SOME, (_USUAL_MERGE,))


def remove_notes(connection: sqlite3.Connection, ids: Iterable[str], change_seq: int) -> None:
    """Forget notes and the links that leave them; links that lead to them stay, in case they come back."""
    stale: set[int] = set()
    for note_id in ids:
        found = connection.execute("SELECT rowid FROM notes WHERE id = ?", (note_id,)).fetchone()
        if found is None:
            continue
        stale |= _neighbours(connection, note_id)
        unqueue_note(connection, found[0])
        forget_readings(connection, found[0], note_id)
        for statement in (
            "DELETE FROM tags WHERE note = ?",
            "DELETE FROM texts WHERE rowid = ?",
            "DELETE FROM notes WHERE rowid = ?",
        ):
            connection.execute(statement, found)
        connection.execute("DELETE FROM links WHERE owner = ?", (note_id,))
        drop_aliases(connection, note_id)
        connection.execute("INSERT OR IGNORE INTO tombstones (note, changed) VALUES (?, ?)", (found[0], change_seq))
        stale.discard(found[0])
    for rowid in sorted(stale):
        if connection.execute("SELECT 1 FROM notes WHERE rowid = ?", (rowid,)).fetchone():
            _put_text(connection, rowid)
    _forget_tombstones(connection)


def _forget_tombstones(connection: sqlite3.Connection) -> None:
    """Once they are many, drop the older ones; who has not read them by then reads all notes again."""
    nth = "SELECT changed FROM tombstones ORDER BY changed DESC LIMIT 1 OFFSET ?"
    if connection.execute(nth, (2 * TOMBSTONES,)).fetchone():
        (last,) = connection.execute(nth, (TOMBSTONES,)).fetchone()
        connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('forgotten', ?)", (last,))
        connection.execute("DELETE FROM tombstones WHERE changed <= ?", (last,))


def put_file(connection: sqlite3.Connection, row: FileRow) -> None:
    connection.execute(_PUT_FILE, _file_values(row))


def _file_values(row: FileRow) -> tuple[object, ...]:
    return row.path, row.mark, row.touched_ns, row.size, row.note, row.problem, row.has_id


def put_vectors(connection: sqlite3.Connection, made: MadeVectors, change_seq: int, *, is_born: bool) -> None:
    """Keep a note's vectors, unless its text has changed since they were made.

    Where its text had none, it is to be read together with those near it; but not where it `is_born` with them: whoever
    stored it has done that.
    """
    found = connection.execute(
        "SELECT rowid FROM notes WHERE id = ? AND encode_hash = ?", (made.note, made.encode_hash)
    ).fetchone()
    if found is None:
        return
    if not connection.execute("SELECT 1 FROM vector_sets WHERE key = ?", (made.vector_set,)).fetchone():
        open_set(connection, SetRow(made.vector_set), change_seq)
    connection.execute("DELETE FROM pending WHERE vector_set = ? AND note = ?", (made.vector_set, found[0]))
    is_read = is_born or has_vectors(connection, found[0])
    connection.execute("DELETE FROM vectors WHERE vector_set = ? AND note = ?", (made.vector_set, found[0]))
    connection.executemany(
        "INSERT INTO vectors (note, vector_set, chunk, vector) VALUES (?, ?, ?, ?)",
        [(found[0], made.vector_set, number, chunk) for number, chunk in enumerate(made.chunks)],
    )
    connection.execute(
        "UPDATE notes SET encoded_by = ?, changed = ? WHERE rowid = ?", (made.vector_set, change_seq, found[0])
    )
    if not is_read:
        queue_reading(connection, found[0])


def _put_note(connection: sqlite3.Connection, row: NoteRow, change_seq: int) -> int:
    note = row.note
    values = _values(row, change_seq)
    encode_hash = values[_COLUMNS.index("encode_hash")]
    before = connection.execute("SELECT rowid, encode_hash FROM notes WHERE id = ?", (note.id,)).fetchone()
    if before is not None and before[1] != encode_hash:
        connection.execute("UPDATE notes SET encoded_by = NULL WHERE rowid = ?", (before[0],))
    connection.execute(_UPSERT, values)
    rowid = int(connection.execute("SELECT rowid FROM notes WHERE id = ?", (note.id,)).fetchone()[0])
    if before is None or before[1] != encode_hash:
        queue_note(connection, rowid)
    return rowid


def _values(row: NoteRow, change_seq: int) -> tuple[object, ...]:
    """One row of `notes`."""
    note = row.note
    own = list(_own_values(note))
    own[_TAGS] = _AS_JSON(note.tags) if note.tags else "[]"
    own[_OUTDATED] = note.is_outdated
    key = content_key(note.content, note.type, note.space)
    is_long = len(note.content) >= LONG
    return (*own, note.content, note.happened, is_long, row.file.path, row.hash, key, row.encode_hash, change_seq)


def _put_tags(connection: sqlite3.Connection, rowid: int, note: Note) -> None:
    connection.execute("DELETE FROM tags WHERE note = ?", (rowid,))
    connection.executemany(
        "INSERT OR IGNORE INTO tags (note, tag) VALUES (?, ?)", [(rowid, tag_key(tag)) for tag in note.tags]
    )


def _put_links(connection: sqlite3.Connection, note: Note) -> None:
    connection.execute("DELETE FROM links WHERE owner = ?", (note.id,))
    connection.executemany(_PUT_LINK, _edges(note))


def _edges(note: Note) -> list[tuple[object, ...]]:
    """The note's own edges, and those that its keys imply: its successor evolved from it, Self is defined by it."""
    rows: list[tuple[object, ...]] = [
        (note.id, link.to, link.type, note.id, link.weight, link.reason, link.created) for link in note.connections
    ]
    if note.superseded_by:
        reason = note.outdated_reason or ""
        rows.append((note.superseded_by, note.id, "evolved_from", note.id, 1.0, reason, note.updated))
    if note.about_self and note.id != SELF_ID:
        rows.append((SELF_ID, note.id, "defines", note.id, 1.0, "", note.created))
    return rows


def _neighbours(connection: sqlite3.Connection, note_id: str) -> set[int]:
    """Notes of the same session whose context columns hold this note's words."""
    found = connection.execute(
        "SELECT space, session, coalesce(seq, -1), created, id FROM notes WHERE id = ? AND session IS NOT NULL",
        (note_id,),
    ).fetchone()
    if found is None:
        return set()
    after = _adjacent(connection, found, later=True, count=EARLIER)
    before = _adjacent(connection, found, later=False, count=LATER)
    return {rowid for rowid, _ in (*after, *before)}


def _adjacent(
    connection: sqlite3.Connection, place: tuple[str, str, int, str, str], *, later: bool, count: int
) -> list[tuple[int, str]]:
    """Current notes next to a place in a session, nearest first, as rowid and content."""
    sign, order = (">", "ASC") if later else ("<", "DESC")
    return connection.execute(
        f"SELECT rowid, content FROM notes WHERE space = ? AND session = ? AND {NOT_RETIRED} "  # noqa: S608 - own words
        f"AND (coalesce(seq, -1), created, id) {sign} (?, ?, ?) "
        f"ORDER BY coalesce(seq, -1) {order}, created {order}, id {order} LIMIT ?",
        (*place, count),
    ).fetchall()


def _put_text(connection: sqlite3.Connection, rowid: int) -> None:
    """Write the searchable texts of one note, with the words of its neighbours in the session."""
    (space, session, seq, created, note_id, title, content, tags, subject, retired) = connection.execute(
        "SELECT space, session, coalesce(seq, -1), created, id, title, content, tags, subject, "
        "outdated FROM notes WHERE rowid = ?",
        (rowid,),
    ).fetchone()
    earlier = later = ""
    if session is not None and not retired:  # a retired note neither lends words nor borrows any
        place = (space, session, seq, created, note_id)
        earlier = _lent(text for _, text in _adjacent(connection, place, later=False, count=EARLIER))
        later = _lent(text for _, text in _adjacent(connection, place, later=True, count=LATER))
    connection.execute("DELETE FROM texts WHERE rowid = ?", (rowid,))
    connection.execute(_PUT_TEXT, _text(rowid, title, content, tags, subject, earlier, later))


def _text(
    rowid: int, title: str, content: str, tags: str, subject: str | None, earlier: str = "", later: str = ""
) -> tuple[object, ...]:
    """One row of `texts`; a title that only repeats the first line is left out.

    A turn of a talk is often understood with those around it alone. A long message says itself what it is about: with
    words of others as long, each would be found for whatever its neighbours tell.
    """
    own_title = "" if title == title_of(content) else title
    if len(content) >= LONG:
        earlier = later = ""
    words = " ".join(json.loads(tags)) if tags != "[]" else ""
    return rowid, *map(searchable, (own_title, content, words, subject or "", earlier, later))


def _lent(texts: Iterable[str]) -> str:
    return "\n".join(text[:LONG] for text in texts)


def _alone(row: Sequence[Any]) -> tuple[object, ...]:
    return _text(*row[:5])


def _in_session(rows: Sequence[Sequence[Any]]) -> Iterator[tuple[object, ...]]:
    """The texts of one session's notes in order; current ones lend their words to their neighbours."""
    current = [content for _, _, content, _, _, retired in rows if not retired]
    place = 0
    for rowid, title, content, tags, subject, retired in rows:
        if retired:
            yield _text(rowid, title, content, tags, subject)
            continue
        earlier, later = current[max(0, place - EARLIER) : place], current[place + 1 : place + 1 + LATER]
        yield _text(rowid, title, content, tags, subject, _lent(reversed(earlier)), _lent(later))
        place += 1


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One change of one note, as the journal tells it."""

    note: str
    seq: int
    change: str
    op: str
    at: str


_UNSEEN = ("uses", "importance", "journal", "records", "readings", "read")


@dataclass(frozen=True, slots=True)
class Update:
    """What one change does to the index; all of it or nothing.

    `records` are lines of the journal, taken in with all that they say; of `announced` ones it is not known yet whether
    they happened.
    """

    notes: Sequence[NoteRow] = ()
    gone: Sequence[str] = ()
    files: Sequence[FileRow] = ()
    gone_files: Sequence[str] = ()
    records: Sequence[JournalRecord] = ()
    announced: Sequence[JournalRecord] = ()
    vectors: Sequence[MadeVectors] = ()
    feedback: Sequence[FeedbackRow] = ()
    question_vectors: Sequence[QuestionVector] = ()
    opened: Sequence[SetRow] = ()
    requeued: Sequence[str] = ()  # sets whose vectors are all made anew
    uses: Sequence[UseRow] = ()
    importance: Sequence[tuple[str, float]] = ()  # note and score
    readings: Sequence[PairReading] = ()
    read: Sequence[tuple[str, str]] = ()  # notes that wait no longer to be read together with others, by id and hash
    journal: Sequence[Advance] = ()

    @property
    def is_seen(self) -> bool:
        """Whether a search or a resource may answer otherwise after it: uses and importance are for the daily jobs."""
        if any(record.op != USE for record in self.records):
            return True
        return any(getattr(self, field.name) for field in fields(self) if field.name not in _UNSEEN)


def apply_update(
    connection: sqlite3.Connection,
    update: Update,
    seq: int,
    put: Callable[[sqlite3.Connection, Sequence[NoteRow], int], None],
) -> None:
    """Write an update under the change number `seq`; `put` writes its notes."""
    for step in update.journal:
        advance(connection, step)
    for row in update.opened:
        open_set(connection, row, seq)
    for key in update.requeued:
        queue_all(connection, key)
    remove_notes(connection, update.gone, seq)
    connection.executemany("DELETE FROM files WHERE path = ?", [(path,) for path in update.gone_files])
    put(connection, update.notes, seq)
    for file in update.files:
        put_file(connection, file)
    put_records(connection, update.records, seq)
    put_lines(connection, update.announced)
    born = {row.note.id for row in update.notes if row.note.updated <= row.note.created}
    for made in update.vectors:
        put_vectors(connection, made, seq, is_born=made.note in born)
    settle_sets(connection, {made.vector_set for made in update.vectors})
    _put_signs(connection, update, seq)
    put_readings(connection, update.readings)
    connection.executemany(
        "DELETE FROM unread WHERE note = (SELECT rowid FROM notes WHERE id = ? AND encode_hash = ?)", update.read
    )


def _put_signs(connection: sqlite3.Connection, update: Update, seq: int) -> None:
    """Write what says how much a note is worth: feedback, uses, importance."""
    if update.feedback:
        put_feedback(connection, update.feedback, seq)
    if update.question_vectors:
        put_question_vectors(connection, update.question_vectors)
    helped = [UseRow(row.note, row.at, row.seq) for row in update.feedback if row.explicit and row.signal > 0]
    if update.uses or helped:
        put_uses(connection, [*update.uses, *helped])
    if update.importance or update.gone:
        put_importance(connection, update.importance, update.gone)
