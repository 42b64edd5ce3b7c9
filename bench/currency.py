"""Whether what is current comes first: pairs of versions, look-alikes that are none, chains, questions about the past.

    python bench/currency.py [--half A|B|fresh|usual-A|usual-B] [--failures] [--encoder builtin|none]

Of each pair (bench/data/currency.json) both notes are stored weeks apart with `remember`, without `supersedes`, beside
200 notes of DevMem in the same space. Counted are: the newer before the older; the older folded behind it in one line;
look-alikes that were folded all the same; chains whose version of the time asked about came first, stored with
`supersedes` and without; and what a recall takes with the comparison and without. The weights of
`holdfast.model.versions` were fitted on half A; half B was never looked at but for its counts. The fresh ones are of
other fields and languages and were written before anything was measured on them. The usual ones are said as agents say
such things; they were written before the mechanism was changed, and of usual-B only counts were looked at. With them
are questions about a past without a date, of which the older note is to come first.
"""

from __future__ import annotations

import argparse
import json
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import anyio

from datasets import read_devmem
from holdfast.app import build_memory
from holdfast.engine.agent import answer
from holdfast.engine.agent.recall import Recall, Recalled, recall
from holdfast.engine.ports import Caller
from holdfast.index.projection import MadeVectors, NoteRow, Update, text_to_encode
from holdfast.index.rows import FileRow
from holdfast.model.note import Note, moment, note_id, title_of
from holdfast.running import configure_logs
from holdfast.settings import load_settings
from scoring import percentile
from versions import remembered

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from holdfast.engine.runtime import Memory

DATA = Path(__file__).parent / "data" / "currency.json"
SPACE = "tollgate"
FRESH, USUAL = "fresh", "usual"
TOGETHER = 10  # pairs of questions about the past in one store, for some are about the same
CALLER = Caller(SPACE, "the bench", "bench")
BESIDE = 200
START_MS = 1_790_000_000_000
ASKED = "2026-11-06T12:00:00Z"
FIRST_DAY, STEP = date(2026, 2, 3), 9  # of the older notes; of their newer ones 9, 18, ... days later


@dataclass(frozen=True, slots=True)
class Pair:
    """Two notes and a question that both would answer; `style` is empty for look-alikes."""

    style: str
    question: str
    older: Note
    newer: Note


@dataclass(frozen=True, slots=True)
class Link:
    """One version in a chain: its note, and the month for which a question expects it; empty for now."""

    note: Note
    month: str


@dataclass(frozen=True, slots=True)
class Chain:
    then: str
    now: str
    links: tuple[Link, ...]


def noted(number: int, content: str, day: str, space: str = SPACE) -> Note:
    at = f"{day}T09:{number // 60 % 60:02}:{number % 60:02}Z"
    identity = note_id(START_MS + number * 1000, number * 7919 % (1 << 30))
    return Note(identity, content, title_of(content), at, at, space=space)


def half_of(items: Sequence[Any], half: str) -> list[Any]:
    return [item for place, item in enumerate(items) if (place % 2 == 0) == (half == "A")]


def paired(rows: Sequence[Sequence[str]], first: int) -> list[Pair]:
    pairs = []
    for place, row in enumerate(rows):
        day = FIRST_DAY + timedelta(days=place)
        later = day + timedelta(days=STEP * (1 + place % 12))
        style, question, old, new = row if len(row) > 3 else ("", *row)
        older, newer = noted(first + 2 * place, old, str(day)), noted(first + 2 * place + 1, new, str(later))
        pairs.append(Pair(style, question, older, newer))
    return pairs


def chained(rows: Sequence[Sequence[Any]], first: int, *, superseding: bool) -> list[Chain]:
    chains = []
    for place, (then, now, versions) in enumerate(rows):
        notes = [noted(first + 10 * place + n, text, day) for n, (day, text, _) in enumerate(versions)]
        if superseding:
            successors = [note.id for note in notes[1:]]
            notes = [
                replace(old, superseded_by=new, valid_until=notes[n + 1].created)
                for n, (old, new) in enumerate(zip(notes, successors, strict=False))
            ] + notes[-1:]
        chains.append(Chain(then, now, tuple(map(Link, notes, (month for *_, month in versions)))))
    return chains


def beside() -> list[Note]:
    """Notes of DevMem, all in the space that is asked from, so that they stand in the way."""
    notes = read_devmem().notes[:BESIDE]
    return [
        noted(number, note.arguments["content"], note.arguments["event_time"][:10]) for number, note in enumerate(notes)
    ]


@asynccontextmanager
async def told(encoder: str, notes: Sequence[Note]) -> AsyncIterator[Memory]:
    """A memory in which the texts of these notes were stored with `remember`, each at its note's time."""
    with TemporaryDirectory(prefix="holdfast-bench-") as home:
        given = {"HOLDFAST_HOME": home, "HOLDFAST_ENCODER": encoder, "HOLDFAST_NOW": ASKED}
        memory = build_memory(load_settings(given | {"HOLDFAST_VAULT_ENABLED": "no"}))
        async with memory.running():
            for note in sorted(notes, key=lambda note: note.created):
                await remembered(memory, CALLER, moment(note.created), note.content)
            yield memory


@asynccontextmanager
async def filled(encoder: str, notes: Sequence[Note]) -> AsyncIterator[Memory]:
    """A memory that holds these notes as they are, and no files."""
    with TemporaryDirectory(prefix="holdfast-bench-") as home:
        given = {
            "HOLDFAST_HOME": home,
            "HOLDFAST_ENCODER": encoder,
            "HOLDFAST_NOW": ASKED,
            "HOLDFAST_VAULT_ENABLED": "no",
        }
        memory = build_memory(load_settings(given))
        index, model = memory.ports.index, memory.ports.encoder
        await index.open()
        rows = [NoteRow(note, note.id, FileRow(f"{SPACE}/{note.id}.md", "1", 1, 1, note.id)) for note in notes]
        await index.apply(Update(notes=rows))
        if model is not None:
            chunks = await model.encode_documents([text_to_encode(note.title, note.content) for note in notes])
            key = model.vector_set.key
            made = [
                MadeVectors(row.note.id, row.encode_hash, key, each) for row, each in zip(rows, chunks, strict=True)
            ]
            await index.apply(Update(vectors=made))
        await index.mark_built()
        yield memory
        await memory.aclose()


async def asked(memory: Memory, question: str) -> Recalled:
    return await recall(memory.ports, CALLER, Recall(question))


def place_of(note: Note, found: Recalled) -> int:
    """Its place among the hits; behind all of them where it is none."""
    return next((place for place, hit in enumerate(found.hits) if hit.note.content == note.content), len(found.hits))


def folds(found: Recalled, head: Note, note: Note) -> bool:
    heads = (hit for hit in found.hits if hit.note.content == head.content)
    return any(note.content == item.note.content for hit in heads for item in hit.earlier)


async def count_pairs(encoder: str, pairs: Sequence[Pair], *, tell: bool) -> str:
    first = folded = 0
    async with told(encoder, [*beside(), *(note for pair in pairs for note in (pair.older, pair.newer))]) as memory:
        for pair in pairs:
            found = await asked(memory, pair.question)
            leads = place_of(pair.newer, found) < place_of(pair.older, found)
            first, folded = first + leads, folded + folds(found, pair.newer, pair.older)
            if tell and not (leads and folds(found, pair.newer, pair.older)):
                places = place_of(pair.newer, found), place_of(pair.older, found), len(found.hits)
                print(f"    {'not folded' if leads else 'not first'} {places}: {pair.question} {pair.newer.content!r}")
    return f"versions: newer first {first} of {len(pairs)}, folded {folded} of {len(pairs)}"


async def count_lookalikes(encoder: str, pairs: Sequence[Pair], *, tell: bool) -> str:
    folded = 0
    async with told(encoder, [*beside(), *(note for pair in pairs for note in (pair.older, pair.newer))]) as memory:
        for pair in pairs:
            found = await asked(memory, pair.question)
            if folds(found, pair.newer, pair.older):
                folded += 1
                if tell:
                    print(f"    folded: {pair.older.content!r} behind {pair.newer.content!r}")
    return f"look-alikes: folded {folded} of {len(pairs)}"


async def count_chains(encoder: str, chains: Sequence[Chain], *, tell: bool) -> str:
    right = whole = 0
    async with filled(encoder, [*beside(), *(link.note for chain in chains for link in chain.links)]) as memory:
        for chain in chains:
            for link in chain.links:
                question = chain.then.format(link.month) if link.month else chain.now
                found = await asked(memory, question)
                is_first = place_of(link.note, found) == 0
                right, whole = right + is_first, whole + 1
                if tell and not is_first:
                    print(f"    {question} {link.note.content!r} at {place_of(link.note, found)} of {len(found.hits)}")
    return f"right version first {right} of {whole}"


async def count_past(encoder: str, pairs: Sequence[Pair], *, tell: bool) -> str:
    first = 0
    for start in range(0, len(pairs), TOGETHER):
        some = pairs[start : start + TOGETHER]
        async with told(encoder, [*beside(), *(note for pair in some for note in (pair.older, pair.newer))]) as memory:
            for pair in some:
                found = await asked(memory, pair.question)
                is_first = place_of(pair.older, found) == 0
                first += is_first
                if tell and not is_first:
                    print(f"    not the older one: {pair.question} {pair.older.content!r}")
    return f"the past without a date: older first {first} of {len(pairs)}"


async def timed(encoder: str) -> str:
    """What recalls take at the middle, with the comparison and without, in turns."""
    questions = [query.text for query in read_devmem().queries[:60]]
    seconds: dict[int, list[float]] = {answer.LOOKED: [], 0: []}
    async with filled(encoder, beside()) as memory:
        for question in questions:
            await asked(memory, question)
            for looked, taken in seconds.items():
                answer.LOOKED = looked  # type: ignore[misc] - a constant, but for this
                begin = time.perf_counter()
                await asked(memory, question)
                taken.append(time.perf_counter() - begin)
    with_it, without = (percentile(taken, 0.5) * 1000 for taken in seconds.values())
    return f"a recall of DevMem: p50 {with_it:.2f} ms, {without:.2f} ms without the comparison"


async def measured(options: argparse.Namespace) -> None:
    data = json.loads(DATA.read_text("utf-8"))
    kind, _, half = options.half.rpartition("-")
    prefix = {FRESH: "fresh ", f"{USUAL}-A": "usual ", f"{USUAL}-B": "usual "}.get(options.half, "")
    pairs, alike, past = (paired(data[name], BESIDE) for name in (f"{prefix}pairs", f"{prefix}lookalikes", "past"))
    if options.half != FRESH:
        pairs, alike, past = (half_of(items, half) for items in (pairs, alike, past))
    tell = options.failures
    print(f"half {options.half}, encoder {options.encoder}")
    print(await count_pairs(options.encoder, pairs, tell=tell))
    print(await count_lookalikes(options.encoder, alike, tell=tell))
    if kind == USUAL:
        print(await count_past(options.encoder, past, tell=tell))
        return
    for superseding in (False, True):
        chains = chained(data["chains"], BESIDE, superseding=superseding)
        name = "chains with supersedes" if superseding else "chains without"
        print(f"{name}: {await count_chains(options.encoder, chains, tell=tell)}")
    print(await timed(options.encoder))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", default="B", choices=("A", "B", FRESH, f"{USUAL}-A", f"{USUAL}-B"))
    parser.add_argument("--encoder", default="builtin")
    parser.add_argument("--failures", action="store_true", help="print what went wrong (of half A, to learn from)")
    configure_logs("error")
    options = parser.parse_args()
    anyio.run(lambda: measured(options))


if __name__ == "__main__":
    main()
