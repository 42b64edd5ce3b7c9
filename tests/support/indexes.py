"""An index for tests: notes that nobody wrote, vectors by hand, an open database."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.index.note_index import NoteIndex
from holdfast.index.projection import MadeVectors, NoteRow
from holdfast.index.rows import FileRow
from holdfast.model.note import Note, note_id
from holdfast.model.ranking import Filter

NOW = "2026-11-20T12:00:00Z"
ANY = Filter(now=NOW)
SET = "0123456789abcdef"
WIDTH = 16


def an_id(number: int) -> str:
    return note_id(1_700_000_000_000 + number, number * 7919)


def row(number: int, content: str, **given: Any) -> NoteRow:
    """A note that nobody wrote; `number` gives its id, its place and its time."""
    created = f"2026-11-{number // 1440 % 20 + 1:02}T{number // 60 % 24:02}:{number % 60:02}:00Z"
    values: dict[str, Any] = {"title": content[:40], "created": created, "updated": created, "space": "work", **given}
    note = Note(id=an_id(number), content=content, **values)
    return NoteRow(
        note, hashlib.sha256(content.encode()).hexdigest(), FileRow(f"work/{number}.md", str(number), 1, 1, note.id)
    )


def unit(*numbers: float) -> bytes:
    vector = np.zeros(WIDTH, "<f4")
    vector[: len(numbers)] = numbers
    return bytes((vector / np.linalg.norm(vector)).astype("<f4").tobytes())


def random_units(count: int, seed: int) -> list[bytes]:
    vectors = np.random.default_rng(seed).normal(size=(count, WIDTH))
    return [bytes(item) for item in (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype("<f4")]


def made(item: NoteRow, *chunks: bytes) -> MadeVectors:
    return MadeVectors(item.note.id, item.encode_hash, SET, chunks)


@asynccontextmanager
async def opened(path: Path, *, extension: bool = True) -> AsyncIterator[NoteIndex]:
    index = NoteIndex(path, extension=extension)
    if not await index.open():
        await index.mark_built()
    try:
        yield index
    finally:
        await index.aclose()


STATEMENTS = {
    "notes": "SELECT id, path, hash, type, tier, space, title, content, tags, confidence, source, created, updated, "
    "happened, session, seq, subject, event_time, valid_from, valid_until, outdated, outdated_reason, superseded_by, "
    "about_self, content_key, encode_hash FROM notes ORDER BY id",
    "tags": "SELECT n.id, t.tag FROM tags t LEFT JOIN notes n ON n.rowid = t.note ORDER BY 1, 2",
    "links": "SELECT * FROM links ORDER BY source, target, type, owner",
    "texts": "SELECT n.id, t.title, t.body, t.tags, t.subject, t.earlier, t.later FROM texts t "
    "LEFT JOIN notes n ON n.rowid = t.rowid ORDER BY 1",
    "files": "SELECT path, problem IS NULL, CASE WHEN problem IS NULL THEN note END, has_id FROM files ORDER BY path",
    "quarantine": "SELECT path, problem FROM files WHERE problem IS NOT NULL ORDER BY path",
    "feedback": "SELECT f.note, f.event, f.seq, f.signal, f.explicit, f.at, q.* FROM feedback f "
    "LEFT JOIN questions q ON q.key = f.question ORDER BY 1, 2",
    "history": "SELECT note, seq, change, op, at FROM history ORDER BY note, seq",
    "journal": "SELECT * FROM journal ORDER BY seq",
    "concerned": "SELECT * FROM concerned ORDER BY seq, place",
    "vectors": "SELECT count(*) FROM vectors LEFT JOIN notes ON notes.rowid = vectors.note WHERE notes.id IS NULL",
}


def contents(path: Path) -> dict[str, list[Any]]:
    """What an index file holds, without row numbers and counters."""
    with closing(sqlite3.connect(path)) as connection:
        return {name: connection.execute(statement).fetchall() for name, statement in STATEMENTS.items()}
