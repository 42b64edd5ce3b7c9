"""Finding what there is to judge: near notes by the vectors that are stored, a slice of the notes at a time.

Each kind has its own place in a round over all notes, by id, and first looks at ids that came after everything it
has seen: neither a large memory nor one that grows keeps any note waiting for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from holdfast.encode.vectorset import VectorSet, read_set
from holdfast.engine.ports import Ports, View
from holdfast.engine.remember import AUTO_REASONS
from holdfast.engine.vectorsets import identity
from holdfast.index.maintenance import JudgedRow
from holdfast.index.rows import IndexedNote, LinkRow
from holdfast.model.ids import SELF_ID
from holdfast.model.maintenance import (
    Candidate,
    Kind,
    Near,
    Text,
    candidates,
    cosine,
    within_budget,
    without,
)
from holdfast.model.memory import GLOBAL_SPACE
from holdfast.model.query import Filter, QueryVector
from holdfast.model.ranking import relevance

SEEDS = 32  # notes whose surroundings one call looks at, for each kind
MOST = 64  # of all kinds together, which mostly look at the same ones; each kind looks at some
HOP = 8  # of them at a time, so that recalls need not wait for all
NEAREST, TERMS = 16, 8
Around = tuple[Text, list[Near]]


@dataclass(slots=True)
class Round:
    """One kind's part of a call: `seeds` in order, the first `fresh` of them new; `found` has numbers of seeds."""

    kind: Kind
    newest: str
    swept: str
    seeds: list[str]
    fresh: int
    found: list[tuple[int, Candidate]] = field(default_factory=list)
    looked: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether every note there is was looked at."""
        return self.looked == len(self.seeds) < SEEDS

    @property
    def items(self) -> list[Candidate]:
        return [item for _, item in self.found]

    def cut(self, count: int) -> None:
        """Show only the first `count`; the seeds of the rest are looked at again, but never all of them."""
        if count < len(self.found):
            self.looked = max(1, self.found[count][0])
            del self.found[count:]

    @property
    def place(self) -> list[str]:
        """Where the next call goes on: (newest, swept)."""
        new = self.seeds[: min(self.fresh, self.looked)]
        round_ = self.seeds[self.fresh : self.looked]
        return [max([self.newest, *new]), round_[-1] if round_ else self.swept]


async def look(ports: Ports, principal: str, kinds: Sequence[Kind], limit: int) -> list[Round]:
    """What there is to judge of each kind, at most `limit` of each and all within the token budget."""
    vectors = stored_set(ports)
    seen: dict[str, Around] = {}
    rounds = []
    for kind in kinds:
        now = ports.now
        round_ = await ports.index.read(lambda view, kind=kind, now=now: _round(view, kind, now))  # type: ignore[misc]
        await _look_around(ports, principal, round_, limit, vectors, seen)
        rounds.append(round_)
    for round_, count in zip(rounds, within_budget([round_.items for round_ in rounds]), strict=True):
        round_.cut(count)
    return rounds


def stored_set(ports: Ports) -> VectorSet | None:
    """The vector set that stored notes are compared in: that of the settings where it is ready, else another."""
    own = identity(ports.encoder)
    ready = {row.key: read_set(row.described) for row in ports.index.vector_sets if row.ready}
    if own is not None and (own.key in ready or not ready):
        return own
    return next((told for told in ready.values() if told is not None), None)


def likeness(view: View, vectors: VectorSet | None, one: str, other: str) -> float:
    """How alike two notes are by their stored vectors, in 0..1; 0 where one has none."""
    found = view.first_vectors(vectors.key, [one, other]) if vectors else {}
    if vectors is None or len(found) < 2:  # noqa: PLR2004 - a pair
        return 0.0
    z = (cosine(found[one], found[other]) - vectors.background_mean) / vectors.background_deviation
    return relevance(0.0, z)


def _round(view: View, kind: Kind, now: str) -> Round:
    cursor = view.cursor(kind)
    newest, swept = (cursor.newest, cursor.swept) if cursor else (view.last_id(), "")
    fresh = view.ids_after(newest, now, SEEDS // 2)
    ahead = view.ids_after(swept, now, SEEDS)
    again = view.ids_after("", now, SEEDS) if len(ahead) < SEEDS else []
    sweep = [note_id for note_id in dict.fromkeys((*ahead, *again)) if note_id not in fresh]
    return Round(kind, newest, swept, [*fresh, *sweep][:SEEDS], len(fresh))


async def _look_around(
    ports: Ports, principal: str, round_: Round, limit: int, vectors: VectorSet | None, seen: dict[str, Around]
) -> None:
    """Look at one seed after the other until there is enough."""
    for start in range(0, len(round_.seeds), HOP):
        seeds = round_.seeds[start : start + HOP]
        missing = [note_id for note_id in seeds if note_id not in seen]
        if missing and start and len(seen) >= MOST:
            return
        if missing:
            now = ports.now
            found = await ports.index.read(lambda view, ids=missing, now=now: _around(view, ids, vectors, now))  # type: ignore[misc]
            seen.update(found)
        for number, note_id in enumerate(seeds, start):
            if note_id in seen:
                around = seen[note_id]
                find = partial(candidates, round_.kind, *around)
                _take(round_, number, await ports.computing.run(principal, _length(*around), find), limit)
            round_.looked = number + 1
            if len(round_.found) >= limit:
                return


def _length(seed: Text, near: Sequence[Near]) -> int:
    return sum(len(text.note.content) for text in (seed, *(item.text for item in near)))


def _take(round_: Round, number: int, items: Sequence[Candidate], limit: int) -> None:
    """Add what is not there yet; a note is in one cluster only."""
    if round_.kind == "consolidations":
        items = without(items, frozenset().union(*(item.ids for item in round_.items)))
    known = {item.ids for item in round_.items}
    fresh = [item for item in items if item.ids not in known]
    round_.found += [(number, item) for item in fresh[: limit - len(round_.found)]]


def _around(view: View, ids: Sequence[str], vectors: VectorSet | None, now: str) -> dict[str, Around]:
    notes = view.notes(ids)
    stored = view.first_vectors(vectors.key, ids) if vectors else {}
    return {
        note_id: _near(view, notes[note_id], _query(vectors, stored.get(note_id)), now)
        for note_id in ids
        if note_id in notes
    }


def _query(vectors: VectorSet | None, vector: bytes | None) -> QueryVector | None:
    if vectors is None or vector is None:
        return None
    return QueryVector(vectors.key, vector, vectors.background_mean, vectors.background_deviation)


def _near(view: View, seed: IndexedNote, vector: QueryVector | None, now: str) -> Around:
    """A note and those near it by meaning, or by words where it has no vector: of its own space and of none."""
    note = seed.note
    wanted = Filter(now=now, spaces=tuple(dict.fromkeys((note.space, GLOBAL_SPACE))))
    found = view.search("" if vector else note.content, vector, wanted, NEAREST, TERMS)
    scored = {
        item.id: relevance(0.0 if vector else item.coverage, item.z)
        for item in found.candidates
        if item.id not in (note.id, SELF_ID)
    }
    notes = view.notes(scored)
    judged = view.judged(note.id, list(notes))
    links: dict[str, list[LinkRow]] = {}
    for link in view.links([note.id]):
        links.setdefault(link.target if link.source == note.id else link.source, []).append(link)
    near = [
        Near(
            Text(item.note, item.encode_hash),
            scored[other],
            _standing(judged.get(other, ()), seed, item),
            frozenset(link.type for link in links.get(other, ())),
            frozenset(link.type for link in links.get(other, ()) if link.reason in AUTO_REASONS),
        )
        for other, item in notes.items()
    ]
    return Text(note, seed.encode_hash), near


def _standing(rows: Sequence[JudgedRow], one: IndexedNote, other: IndexedNote) -> frozenset[str]:
    """The verdicts on these very texts."""
    hashes = {one.note.id: one.encode_hash, other.note.id: other.encode_hash}
    return frozenset(row.verdict for row in rows if (row.hash_a, row.hash_b) == (hashes[row.a], hashes[row.b]))
