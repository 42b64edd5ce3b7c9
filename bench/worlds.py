"""Made-up memories of any size, the same for the same seed: notes of some forty words with sessions, links and tags."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

from holdfast.model.note import Link, Note, note_id, title_of
from holdfast.store.codec import new_document

START_MS = 1_790_000_000_000
SYLLABLES = ("ka", "lo", "mi", "ter", "san", "vu", "pre", "dol", "in", "ex", "ra", "be", "qui", "sto", "na", "fel")


def vocabulary(generator: random.Random, size: int) -> tuple[list[str], list[float]]:
    """Words, and how often each or one before it is used: a few everywhere, most of them rare."""
    words = list({"".join(generator.choices(SYLLABLES, k=generator.randint(2, 4))): None for _ in range(size * 2)})
    words = words[:size]
    return words, list(accumulate(1 / (rank + 2) for rank in range(len(words))))


def notes(count: int, seed: int = 7) -> Iterator[Note]:
    """`count` notes in 20 spaces, 20 to a session, one link each."""
    generator = random.Random(seed)  # noqa: S311 - made-up data
    words, weights = vocabulary(generator, 20_000)
    made: list[str] = []
    for number in range(count):
        content = " ".join(generator.choices(words, cum_weights=weights, k=40)) + f" mark{number}"
        identity = note_id(START_MS + number * 1000, generator.getrandbits(30))
        links = (Link(generator.choice(made), "related_to", 0.5),) if made else ()
        made.append(identity)
        yield replace(
            Note(identity, content, title_of(content), "2026-10-01T00:00:00Z", "2026-10-01T00:00:00Z"),
            space=f"space-{number % 20}",
            session=f"session-{number // 400}-{number % 20}",
            seq=number // 20 % 20,
            tags=(words[number % 50],),
            connections=links,
        )


def write_folder(home: Path, count: int, seed: int = 7) -> None:
    """A memory folder with `count` note files, as a person would have it after a sync."""
    for note in notes(count, seed):
        folder = home / "memories" / note.space
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"note.{note.id}.md").write_bytes(new_document(note).render())


def unit_vector(generator: random.Random, dimension: int = 384) -> bytes:
    """A random direction as float32 bytes."""
    values = [generator.gauss(0, 1) for _ in range(dimension)]
    length = sum(value * value for value in values) ** 0.5
    return struct.pack(f"<{dimension}f", *(value / length for value in values))


def queries(count: int, seed: int = 7) -> list[str]:
    """Questions of eight words, common and rare, and sometimes the mark of one note."""
    generator = random.Random(seed + 1)  # noqa: S311 - made-up data
    words, weights = vocabulary(random.Random(seed), 20_000)  # noqa: S311 - the notes' own words
    return [
        " ".join((*generator.choices(words, cum_weights=weights, k=7), generator.choice(words))) for _ in range(count)
    ]
