"""An index for tests: notes that nobody wrote, vectors by hand, an open database."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.index.note_index import NoteIndex
from holdfast.index.projection import FileRow, MadeVectors, NoteRow
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
