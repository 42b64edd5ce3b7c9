"""Rows read back as values."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.index.aliases import aliases_of, meant
from holdfast.index.current import CURRENT
from holdfast.index.projection import FileRow, content_key
from holdfast.model.joining import OCCURRENCES
from holdfast.model.note import FIELDS, SELF_ID, Note

_PLACE = ("path", "hash", "encode_hash", "encoded_by")
_COLUMNS = (*_PLACE, "content", *(field.name for field in FIELDS if field.column))
_FLAGS = tuple(field.name for field in FIELDS if field.column and field.kind == "flag")

_SAME = f"""
    SELECT id FROM notes WHERE content_key = :key AND {CURRENT} AND id NOT IN (:own, '{SELF_ID}')
        AND id NOT IN (SELECT value FROM json_each(:but))
        AND (event_time IS NULL OR :event IS NULL OR event_time = :event)
        AND (subject IS NULL OR :subject IS NULL OR lower(subject) = lower(:subject))
        AND (session IS NULL OR :session IS NULL OR session = :session OR NOT :recurs)
    ORDER BY session IS :session DESC, event_time IS :event DESC, subject IS :subject DESC, created, id LIMIT 1
"""  # noqa: S608 - own id


@dataclass(frozen=True, slots=True)
class IndexedNote:
    """A note as the index has it: without connections and evidence, with its place and what was encoded."""

    note: Note
    path: str
    hash: str
    encode_hash: str
    encoded_by: str | None


@dataclass(frozen=True, slots=True)
class LinkRow:
    """An edge between two notes that are there."""

    source: str
    target: str
    type: str
    weight: float
    reason: str


@dataclass(frozen=True, slots=True)
class Place:
    """What a new note meets.

    `same` is the current note that says the same, `retired` one that did and was retired; `before` is the newest note
    of the space. `seq` is the highest number given out in the session, 0 where there is none.
    """

    same: IndexedNote | None
    retired: str | None
    before: str | None
    seq: int


def place_of(connection: sqlite3.Connection, note: Note, now: str) -> Place:
    same = same_note(connection, note, now)
    before = connection.execute(
        "SELECT id FROM notes WHERE space = ? ORDER BY created DESC, id DESC LIMIT 1",
        (note.space,),
    ).fetchone()
    (seq,) = connection.execute(
        "SELECT coalesce(max(seq), 0) FROM notes WHERE space = ? AND session = ?", (note.space, note.session)
    ).fetchone()
    found = note_rows(connection, [same]).get(same) if same else None
    return Place(found, _retired(connection, note), before[0] if before else None, seq)


def same_note(connection: sqlite3.Connection, note: Note, now: str, but: Collection[str] = ()) -> str | None:
    """The current note that says the same as this one: the same content, type and space.

    Another time of the event, another subject, and for what happens another session tell two notes apart where both
    have one.
    """
    found = connection.execute(
        _SAME,
        {
            "key": content_key(note.content, note.type, note.space),
            "now": now,
            "event": note.event_time,
            "subject": note.subject,
            "session": note.session,
            "recurs": note.type in OCCURRENCES,
            "own": note.id,
            "but": json.dumps(list(but)),
        },
    ).fetchone()
    return found[0] if found else None


def _retired(connection: sqlite3.Connection, note: Note) -> str | None:
    found = connection.execute(
        "SELECT id FROM notes WHERE content_key = ? AND outdated ORDER BY updated DESC, id DESC LIMIT 1",
        (content_key(note.content, note.type, note.space),),
    ).fetchone()
    return found[0] if found else None


def note_rows(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, IndexedNote]:
    rows = connection.execute(
        f"SELECT {', '.join(_COLUMNS)} FROM notes WHERE id IN (SELECT value FROM json_each(?))",  # noqa: S608 - own names
        (json.dumps(ids),),
    )
    found = (_indexed(dict(zip(_COLUMNS, _unharmed(row), strict=True))) for row in rows)
    return {item.note.id: item for item in found}


def links_of(connection: sqlite3.Connection, ids: Sequence[str]) -> list[LinkRow]:
    wanted = json.dumps([*ids, *aliases_of(connection, ids)])
    columns = "a.id, b.id, l.type, max(l.weight), l.reason"
    ends = (
        f"JOIN notes a ON a.id = {meant('l.source')} JOIN notes b ON b.id = {meant('l.target')} "
        "WHERE a.id <> b.id GROUP BY a.id, b.id, l.type"
    )
    rows = connection.execute(
        f"SELECT {columns} FROM links l JOIN json_each(?) w ON w.value = l.source {ends} "  # noqa: S608 - own clauses
        f"UNION SELECT {columns} FROM links l JOIN json_each(?) w ON w.value = l.target {ends} "
        "ORDER BY 4 DESC, 3, 1, 2",
        (wanted, wanted),
    )
    return [LinkRow(*_unharmed(row)) for row in rows]


def file_rows(connection: sqlite3.Connection, clause: str, values: Sequence[str]) -> dict[str, FileRow]:
    """Rows of `files` that meet a condition."""
    rows: sqlite3.Cursor = connection.execute(
        f"SELECT path, mark, touched, size, note, problem, has_id FROM files WHERE {clause}",  # noqa: S608 - own clauses
        values,
    )
    return {row[0]: _file_row(row) for row in rows}


def _file_row(row: tuple[Any, ...]) -> FileRow:
    path, mark, touched_ns, size, note, problem, has_id = row
    return FileRow(path, mark, touched_ns, size, note, problem, bool(has_id))


def _unharmed(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row of texts and numbers; a bit that flipped can make a text a blob, and the index is then made anew."""
    if bytes in map(type, row):
        raise sqlite3.DatabaseError("a text is none")
    return row


def _indexed(row: dict[str, object]) -> IndexedNote:
    place = {name: row.pop(name) for name in _PLACE}
    row["tags"] = tuple(json.loads(str(row["tags"])))
    row |= {name: bool(row[name]) for name in _FLAGS}
    return IndexedNote(Note(**row), **place)  # type: ignore[arg-type] # columns are named after the fields
