"""Finding what there is to judge, and what to read together: near notes by the vectors that are stored.

A small memory is looked at as a whole by each call. Of a larger one a call looks at a slice: first at what was stored
or changed since the last run, then at the next notes of a round over all of them, the newest first. Neither a large
memory nor one that grows keeps any note waiting for ever.

The calls of one run have batches that are open at the same time; `newest` stays what it was when the run began.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import combinations

from holdfast.encode.provider import VectorSet, read_set
from holdfast.engine.agent.close import Close, close_notes, read_facts, read_together
from holdfast.engine.agent.question import BUILTIN
from holdfast.engine.encoding import identity
from holdfast.engine.ports import Ports, ReadsPairs
from holdfast.errors import EncoderError, StorageError
from holdfast.index.maintenance import BatchRow, JudgedRow
from holdfast.index.projection import Update
from holdfast.index.rows import IndexedNote, LinkRow, PairReading, read_pairs
from holdfast.index.view import IndexView
from holdfast.model.maintenance import (
    FIRST_TO_LAST,
    LEAST,
    NEIGHBOURS,
    Candidate,
    Kind,
    Near,
    Text,
    all_candidates,
    as_read,
    cosine,
    is_in_another_language,
    shared_words,
    within_budget,
    without,
)
from holdfast.model.note import GLOBAL_SPACE, SELF_ID, Note, id_milliseconds, instant, moment, note_id, said_at
from holdfast.model.opposition import ToRead, compared, to_read
from holdfast.model.ranking import Filter, QueryVector, relevance
from holdfast.model.records import UPDATE, JournalRecord
from holdfast.model.versions import AUTO_REASONS, MADE_OF, PERHAPS, ReadTogether

WHOLE = 1000  # notes of a memory that each call looks at as a whole, if it has vectors
SEEDS = 64  # notes of a larger one whose surroundings one call looks at
HOP = 16  # of them at a time, so that recalls need not wait for all
READ, READ_AT_ONCE = 96, 4  # pairs that a call reads together, 20 to 50 ms each, before it looks; of them at a time
MOST_READ = 384  # pairs that a call reads where those before show nothing to judge
NEAREST, TERMS = 16, 8
_PENDING = "Notes that have no vector yet (pending) were compared by their words alone: a call in a minute finds more."
_MORE = "What was read up to here shows nothing to judge, and more is to be read: call again."
Around = tuple[Text, list[Near]]
Scores = Mapping[str, float]


@dataclass(slots=True)
class Look:
    """What one call looks at and what it found: `seeds` in order, the first `changed` of them since the last run.

    `newest` is an id of the time up to which changes were looked at, `swept` the last note of the round. `offered` are
    the pairs and clusters of batches that are still open. `found` has the number of a candidate's seed; of those the
    `unread` are pairs for a later call. `notice` tells where pairs could not be read.
    """

    newest: str
    swept: str
    seeds: list[str]
    changed: dict[str, int]
    is_whole: bool
    offered: frozenset[frozenset[tuple[str, str]]]
    near: Mapping[str, Scores] = field(default_factory=dict)
    found: list[tuple[int, Candidate]] = field(default_factory=list)
    items: dict[Kind, list[Candidate]] = field(default_factory=dict)
    unread: frozenset[frozenset[str]] = frozenset()
    notice: str = ""

    @property
    def pairs(self) -> list[Candidate]:
        """The pairs that were found, each once, in the order in which they are read: of a slice note after note."""
        found = [item for _, item in self.found if item.seen is not None]
        return _distinct(sorted(found, key=self._order) if self.is_whole else found)

    @property
    def shows_any(self) -> bool:
        """Whether there is something to judge that need not be read first."""
        pairs = self._sure_pairs
        return any(self._is_open(item, pairs) for _, item in self.found)

    def take(self, said: Mapping[frozenset[str], ReadTogether]) -> None:
        """Judge pairs also by what was read of them: those that tell of two things are none."""
        self.found = [
            (number, told)
            for number, item in self.found
            if (told := as_read(item, said[item.ids]) if item.ids in said else item) is not None
        ]

    def choose(self, limit: int) -> None:
        """Put into `items` what is shown: at most `limit` of each kind, and all within the token budget."""
        pairs = self._sure_pairs
        self.found = [
            (number, item) for number, item in self.found if item.ids in self.unread or self._is_open(item, pairs)
        ]
        ordered = sorted((item for _, item in self.found if item.ids not in self.unread), key=self._order)
        apart = [_distinct(item for item in ordered if item.kind == kind) for kind in FIRST_TO_LAST]
        lists = [[item for item in items if self._is_open(item, pairs)][:limit] for items in apart]
        counts = within_budget(lists)
        self.items = {
            kind: items[:count] for kind, items, count in zip(FIRST_TO_LAST, lists, counts, strict=True) if count
        }

    @property
    def _sure_pairs(self) -> frozenset[frozenset[str]]:
        """Pairs that are offered now or by a later call; of those still to be read nobody knows it yet."""
        found = (item for _, item in self.found if item.kind in ("conflicts", "merges") and not item.doubtful)
        return frozenset(item.ids for item in found if item.ids not in self.unread)

    def _is_open(self, item: Candidate, pairs: AbstractSet[frozenset[str]]) -> bool:
        """Whether nothing is to be read or judged before it: of a group no conflict, no pair that leaves notes over."""
        if item.kind != "consolidations":
            return item.ids not in self.unread and not item.doubtful
        of_two = {frozenset(pair) for pair in combinations(item.ids, 2)}
        if any(each.contradicts and each.ids in of_two & pairs for _, each in self.found):
            return False
        return frozenset[str]().union(*(of_two & pairs)) in (frozenset(), item.ids) and of_two.isdisjoint(self.unread)

    def _order(self, item: Candidate) -> tuple[object, ...]:
        """First what was not offered yet, judged on other texts, new since the last run, sure, changed last."""
        changed = moment(item.updated).timestamp() * 1000
        fresh = changed > id_milliseconds(self.newest)
        return item.key in self.offered, not item.urgent, not fresh, -round(item.sure, 1), -changed, -item.similarity

    @property
    def place(self) -> list[str]:
        """Where the next call goes on: (newest, swept)."""
        if self.is_whole:
            return [self.newest, ""]
        shown = {item.key for items in self.items.values() for item in items} | self.offered
        waiting = [number for number, item in self.found if item.key not in shown]
        done = self.seeds[: max(1, min(waiting, default=len(self.seeds)))]
        changes = [self.changed[note] for note in done if note in self.changed]
        swept = [note for note in done if note not in self.changed]
        newest = note_id(max(changes), 0) if changes else self.newest
        return [newest, swept[-1] if swept else self.swept]


NOTHING = Look("", "", [], {}, is_whole=True, offered=frozenset())  # where no pairs and no clusters are asked for


async def look(ports: Ports, principal: str, kinds: Sequence[Kind], limit: int) -> Look:
    """What there is to judge of these kinds, at most `limit` of each and all within the token budget."""
    vectors = stored_set(ports)
    now, at = ports.now, _id_of(ports.clock())
    looked = await ports.index.read(lambda view: _begin(view, kinds[0], vectors, now, at))
    await _tell_by_words(ports, principal, vectors, looked)
    for start in range(0, len(looked.seeds), HOP):
        seeds = looked.seeds[start : start + HOP]
        around = await ports.index.read(lambda view, ids=seeds: _around(view, ids, looked.near, vectors, now))  # type: ignore[misc]
        given = [(number, around[note]) for number, note in enumerate(seeds, start) if note in around]
        looked.found += await _judged(ports, principal, given, kinds)
    try:
        await _read(ports, principal, vectors, looked)
    except EncoderError as error:
        looked.unread = frozenset()
        looked.notice = f"Pairs that were not read before were compared by their words: {error}"
    looked.choose(limit)
    return looked


async def _tell_by_words(ports: Ports, principal: str, vectors: VectorSet | None, looked: Look) -> None:
    """Have notes of a small memory that the encoder does not read be near by what words they share."""
    if not looked.near or not _reads_english_alone(vectors):
        return
    notes = [item.note for item in (await ports.index.notes(looked.near)).values()]
    length = sum(len(note.content) for note in notes)
    by_words = await ports.computing.run(principal, length, partial(shared_words, notes))
    if by_words:
        looked.near = {note: _as_far_as_read(near, by_words) for note, near in looked.near.items()} | by_words


async def _read(ports: Ports, principal: str, vectors: VectorSet | None, looked: Look) -> None:
    """Judge pairs also by reading the two together: of each that once, as long as both notes say what they say.

    Of many some are left for later calls. So is what has no vectors yet, unless the rest shows nothing to judge; of a
    slice that is compared by its words.

    Raises:
        EncoderError: they cannot be read.
    """
    key = vectors.key if vectors is not None else ""
    pairs = looked.pairs
    ids = list({text.note.id for item in pairs for text in item.texts})
    known, stored, pending = await ports.index.read(
        lambda view: (view.said(ids), view.first_vectors(key, ids), view.count_pending(key))
    )
    length = sum(len(text.note.content) for item in pairs for text in item.texts)
    await ports.computing.run(principal, length, partial(looked.take, known))
    if ports.pairs is None:
        return
    fresh = [item for item in pairs if item.ids not in known]
    unread = [item for item in fresh if item.ids <= stored.keys()]
    waits = pending > 0 and looked.is_whole
    lacking = {item.ids for item in fresh if waits and not item.ids <= stored.keys()}
    looked.unread = frozenset(lacking.union(item.ids for item in unread))
    for start in range(0, min(len(unread), MOST_READ), READ):
        said = await _told(ports, ports.pairs, unread[start : start + READ], stored)
        looked.unread -= said.keys()
        await ports.computing.run(principal, length, partial(looked.take, said))
        if looked.shows_any:
            return
    if looked.shows_any or not looked.unread:
        return
    if looked.unread == lacking:
        looked.unread, looked.notice = frozenset(), _PENDING
    else:
        looked.notice = _MORE


async def _told(
    ports: Ports, reader: ReadsPairs, pairs: Sequence[Candidate], vectors: Mapping[str, bytes]
) -> dict[frozenset[str], ReadTogether]:
    """What reading pairs together tells, which the index keeps too."""
    said, likely = list[ReadTogether](), list[float]()
    told = [_to_read_of(item, vectors) for item in pairs]
    for start in range(0, len(pairs), READ_AT_ONCE):
        more = await read_facts(reader, told[start : start + READ_AT_ONCE])
        said, likely = said + more[0], likely + more[1]
    readings = [_said(*each) for each in zip(pairs, said, likely, strict=True)]
    with suppress(StorageError):  # where nothing can be written they are read once more
        await ports.index.apply(Update(readings=readings))
    return {item.ids: each for item, each in zip(pairs, said, strict=True)}


def _to_read_of(pair: Candidate, vectors: Mapping[str, bytes]) -> ToRead:
    newer, older = (text.note for text in pair.texts)
    return to_read(older, newer, cosine(vectors[older.id], vectors[newer.id]))


def _said(pair: Candidate, said: ReadTogether, likely: float) -> PairReading:
    newer, older = pair.texts
    return _reading({text.note.id: text.hash for text in pair.texts}, newer.note.id, older.note.id, likely, said)


async def look_around(ports: Ports, principal: str, seeds: Sequence[str], kinds: Sequence[Kind]) -> list[Candidate]:
    """What there is to judge of these kinds around a few notes, `HOP` at most; each pair once, the notes in order."""
    vectors, now = stored_set(ports), ports.now
    around = await ports.index.read(lambda view: _around(view, seeds[:HOP], {}, vectors, now))
    given = [(number, around[note]) for number, note in enumerate(seeds) if note in around]
    found = await _judged(ports, principal, given, kinds)
    said = await ports.index.read(lambda view: view.said(list(around)))
    read = (as_read(item, said[item.ids]) if item.ids in said else item for _, item in found)
    return _distinct(item for item in read if item is not None and not item.doubtful)


@dataclass(frozen=True, slots=True)
class _ToRead:
    """A note that is to be read together with those near it that it was not read with; and the hashes of all texts."""

    seed: IndexedNote
    close: Sequence[Close]
    hashes: Mapping[str, str]


async def read_behind(ports: Ports) -> bool:
    """Read one of the notes that came as files, or before notes were read, together with those near it.

    What that says is kept in the index, for as long as both notes say what they say. Returns whether there was one.

    Raises:
        EncoderError: the notes cannot be read.
    """
    vectors, now = stored_set(ports), ports.now
    if ports.pairs is None or vectors is None:
        return False
    found = await ports.index.read(lambda view: _to_read(view, vectors, now))
    if found is None:
        return False
    note = found.seed.note
    close, failed = await read_together(ports, note, found.close)
    if failed:
        raise EncoderError(failed)
    readings = [
        _reading(found.hashes, note.id, item.note.id, item.likely, item.said) for item in close if item.said is not None
    ]
    await ports.index.apply(Update(readings=readings, read=[(note.id, found.seed.encode_hash)]))
    return True


def _to_read(view: IndexView, vectors: VectorSet, now: str) -> _ToRead | None:
    waiting = view.unread()
    if waiting is None:
        return None
    seed = view.notes([waiting])[waiting]
    query = _query(vectors, view.first_vectors(vectors.key, [waiting]).get(waiting))
    is_wanted = query is not None and seed.note.is_current(now)
    close = close_notes(view, seed.note, query, now) if is_wanted else []
    notes = view.notes([waiting, *(each.note.id for each in close)])
    known = view.readings([waiting]).keys() | read_pairs(view.links([waiting]), notes).keys()
    fresh = [each for each in close if {waiting, each.note.id} not in known]
    return _ToRead(seed, fresh, {end: item.encode_hash for end, item in notes.items()})


def _reading(hashes: Mapping[str, str], one: str, other: str, likely: float, said: ReadTogether) -> PairReading:
    a, b = sorted((one, other))
    rounded = ReadTogether(round(said.anew, 2), round(said.again, 2))
    return PairReading(a, b, hashes[a], hashes[b], round(likely, 2), rounded)


async def _judged(
    ports: Ports, principal: str, given: Sequence[tuple[int, Around]], kinds: Sequence[Kind]
) -> list[tuple[int, Candidate]]:
    length = sum(_length(*surroundings) for _, surroundings in given)
    return await ports.computing.run(principal, length, partial(_found, given, kinds))


def _found(given: Sequence[tuple[int, Around]], kinds: Sequence[Kind]) -> list[tuple[int, Candidate]]:
    return [(number, item) for number, around in given for item in all_candidates(*around, kinds)]


def _begin(view: IndexView, kind: Kind, vectors: VectorSet | None, now: str, at: str) -> Look:
    """What this call is to look at; `at` is an id of the very moment."""
    cursor = view.cursor(kind)
    batches = view.batches()
    open_now = [batch for batch in batches if batch.expires > now]
    offered = frozenset(
        frozenset((note, text) for note, text in texts) for batch in open_now for _, texts in json.loads(batch.items)
    )
    count = view.count_notes()
    near = _whole(view, vectors, now) if count <= WHOLE else {}
    is_whole = count <= WHOLE and count - len(near) <= SEEDS  # what has no vector is searched for
    swept = cursor.swept if cursor else ""
    if is_whole:
        newest = cursor.newest if cursor and (open_now or not batches) else _last_run(batches)
        seeds = view.ids_before("", now, WHOLE + 1)
        return Look(newest or note_id(0, 0), "", seeds, {}, is_whole, offered, near)
    newest = cursor.newest if cursor else at
    changed = dict(view.ids_changed_since(id_milliseconds(newest) if newest else 0, now, SEEDS // 2))
    ahead = view.ids_before(swept, now, SEEDS)
    again = view.ids_before("", now, SEEDS) if len(ahead) < SEEDS else []
    sweep = [note for note in dict.fromkeys((*ahead, *again)) if note not in changed]
    return Look(newest, swept, [*changed, *sweep][:SEEDS], changed, is_whole, offered)


def _last_run(batches: Sequence[BatchRow]) -> str:
    """An id of the time of the last run; empty where there was none."""
    return _id_of(moment(max(batch.made for batch in batches))) if batches else ""


def _id_of(time: datetime) -> str:
    """An id of a time; only its time says something."""
    return note_id(round(time.timestamp() * 1000), 0)


def _distinct(items: Iterable[Candidate]) -> list[Candidate]:
    """Each pair once; a note is in one cluster only."""
    kept: dict[frozenset[str], Candidate] = {}
    clustered: set[str] = set()
    for item in items:
        for fresh in without([item], clustered) if item.kind == "consolidations" else [item]:
            kept.setdefault(fresh.ids, fresh)
            if fresh.kind == "consolidations":
                clustered |= fresh.ids
    return list(kept.values())


def stored_set(ports: Ports) -> VectorSet | None:
    """The vector set that stored notes are compared in: that of the settings where it is ready, else another."""
    own = identity(ports.encoder)
    ready = {row.key: read_set(row.described) for row in ports.index.vector_sets if row.ready}
    if own is not None and (own.key in ready or not ready):
        return own
    return next((vectors for vectors in ready.values() if vectors is not None), None)


async def last_edits(ports: Ports, notes: Collection[IndexedNote]) -> dict[str, str]:
    """When the texts of notes were edited after they were stored, by id; of those that were.

    The journal tells it: it has the hash of each file as a tool left it. `updated` does not: links, evidence and tiers
    move it, and a person's edit does not. What is behind the last change of a note is dated by its file.
    """
    numbers, touched = await ports.index.read(lambda view: view.lines_of_notes([item.note.id for item in notes]))
    records = await ports.store.past.lines(numbers)
    found: dict[str, str] = {}
    left: dict[str, set[str | None]] = {}
    for number in numbers:
        record = records.get(number, JournalRecord())
        for file in record.files:
            known = left.setdefault(file.note, set())
            if known and ((record.op == UPDATE and not record.same_text) or file.before not in known):
                found[file.note] = record.at
            known.add(file.after)
    for item in notes:
        note = item.note.id
        if note in touched and item.hash not in left.get(note, {item.hash}):
            found[note] = instant(datetime.fromtimestamp(touched[note] // 10**9, UTC))
    return {item.note.id: found[item.note.id] for item in notes if item.note.id in found}


async def is_said_between(ports: Ports, older: Note, newer: Note) -> bool:
    """Whether a note of a time between two others says something else than the older of them."""
    vectors, first, last = stored_set(ports), said_at(older), said_at(newer)

    def close(view: IndexView) -> list[Close]:
        stored = view.first_vectors(vectors.key, [older.id]) if vectors else {}
        return close_notes(view, older, _query(vectors, stored.get(older.id)), ports.now)

    found = (each.note for each in await ports.index.read(close) if each.likely >= PERHAPS and each.note.id != newer.id)
    return any(first < said_at(note) < last and compared(note, older).difference != "none" for note in found)


def likeness(view: IndexView, vectors: VectorSet | None, one: str, other: str) -> float:
    """How alike two notes are by their stored vectors, in 0..1; 0 where one has none."""
    found = view.first_vectors(vectors.key, [one, other]) if vectors else {}
    if vectors is None or len(found) < 2:  # noqa: PLR2004 - a pair
        return 0.0
    z = (cosine(found[one], found[other]) - vectors.background_mean) / vectors.background_deviation
    return relevance(0.0, z)


def _length(seed: Text, near: Sequence[Near]) -> int:
    return sum(len(text.note.content) for text in (seed, *(item.text for item in near)))


def _whole(view: IndexView, vectors: VectorSet | None, now: str) -> dict[str, Scores]:
    """How near the notes of a small memory are to each other; without those that have no vector."""
    if vectors is None:
        return {}
    mean, deviation = vectors.background_mean, vectors.background_deviation
    found = view.near_each_other(vectors.key, now, NEIGHBOURS)
    scored = (
        (note, {other: relevance(0.0, (value - mean) / deviation) for other, value in near})
        for note, near in found.items()
    )
    return {note: {other: score for other, score in near.items() if score >= LEAST} for note, near in scored}


def _reads_english_alone(vectors: VectorSet | None) -> bool:
    """Whether nothing reads notes in other languages."""
    return vectors is None or vectors.provider == BUILTIN


def _as_far_as_read(scores: Scores, others: Collection[str]) -> Scores:
    """Without notes in other languages: by vectors these are near whatever there is."""
    return {note: score for note, score in scores.items() if note not in others}


def _around(
    view: IndexView, ids: Sequence[str], known: Mapping[str, Scores], vectors: VectorSet | None, now: str
) -> dict[str, Around]:
    """The notes with those near them, as is known or as a search finds; without what a whole tells."""
    seeds = view.notes(ids)
    missing = [note for note in seeds if note not in known]
    stored = view.first_vectors(vectors.key, missing) if vectors else {}
    scores = {
        note: known[note] if note in known else _searched(view, seeds[note], vectors, stored.get(note), now)
        for note in seeds
    }
    notes = view.notes({other for near in scores.values() for other in near})
    links = _links(view, list(seeds))
    told = _told_by_a_whole(view, seeds | notes, now)
    return {
        note: (
            Text(seed.note, seed.encode_hash),
            _with_verdicts(
                view,
                seed,
                {other: notes[other] for other in scores[note] if other in notes and other not in told},
                scores[note],
                links,
                english=_reads_english_alone(vectors),
            ),
        )
        for note, seed in seeds.items()
        if note not in told
    }


def _told_by_a_whole(view: IndexView, notes: Mapping[str, IndexedNote], now: str) -> set[str]:
    """The archived originals of consolidations whose whole is current: that is judged in their place."""
    archived = {note for note, item in notes.items() if item.note.tier == "archival"}
    links = [link for link in view.links(list(archived)) if link.reason == MADE_OF and link.target in archived]
    wholes = view.notes({link.source for link in links}) if links else {}
    return {link.target for link in links if link.source in wholes and wholes[link.source].note.is_current(now)}


def _query(vectors: VectorSet | None, vector: bytes | None) -> QueryVector | None:
    if vectors is None or vector is None:
        return None
    return QueryVector(vectors.key, vector, vectors.background_mean, vectors.background_deviation)


def _searched(view: IndexView, seed: IndexedNote, vectors: VectorSet | None, vector: bytes | None, now: str) -> Scores:
    """Those near a note of a larger memory, and what has no vector."""
    if not _reads_english_alone(vectors):
        return _near(view, seed, _query(vectors, vector), now)
    is_read = not is_in_another_language(seed.note.content)
    near = _near(view, seed, _query(vectors, vector) if is_read else None, now)
    notes = [item.note for item in view.notes(near).values()]
    if is_read:
        return _as_far_as_read(near, [note.id for note in notes if is_in_another_language(note.content)])
    return shared_words([seed.note, *notes])[seed.note.id]


def _near(view: IndexView, seed: IndexedNote, vector: QueryVector | None, now: str) -> Scores:
    """Those near a note by meaning, or by words where it has no vector: of its own space and of none."""
    note = seed.note
    wanted = Filter(now=now, spaces=tuple(dict.fromkeys((note.space, GLOBAL_SPACE))))
    found = view.search("" if vector else note.content, vector, wanted, NEAREST, TERMS)
    return {
        item.id: relevance(0.0 if vector else item.coverage, item.z)
        for item in found.candidates
        if item.id not in (note.id, SELF_ID)
    }


def _links(view: IndexView, ids: Sequence[str]) -> dict[frozenset[str], list[LinkRow]]:
    """The edges of some notes by their ends."""
    found: dict[frozenset[str], list[LinkRow]] = {}
    for link in view.links(ids):
        found.setdefault(frozenset((link.source, link.target)), []).append(link)
    return found


def _with_verdicts(
    view: IndexView,
    seed: IndexedNote,
    notes: Mapping[str, IndexedNote],
    scores: Scores,
    links: Mapping[frozenset[str], Sequence[LinkRow]],
    *,
    english: bool,
) -> list[Near]:
    """Those near a note with what was said of the two; `english`: nothing else is read."""
    is_other = english and is_in_another_language(seed.note.content)
    judged = view.judged(seed.note.id, list(notes))
    near = []
    for other, item in notes.items():
        pair = frozenset((seed.note.id, other))
        rows, edges = judged.get(other, ()), links.get(pair, ())
        standing = _standing(rows, seed, item)
        near.append(
            Near(
                Text(item.note, item.encode_hash),
                scores[other],
                standing,
                frozenset(link.type for link in edges),
                frozenset(link.type for link in edges if link.reason in AUTO_REASONS),
                bool(rows) and not standing,
                read_pairs(edges, {seed.note.id: seed, other: item}).get(pair),
                is_other or (english and is_in_another_language(item.note.content)),
            )
        )
    return near


def _standing(rows: Sequence[JudgedRow], one: IndexedNote, other: IndexedNote) -> frozenset[str]:
    """The verdicts on these very texts."""
    hashes = {one.note.id: one.encode_hash, other.note.id: other.encode_hash}
    return frozenset(row.verdict for row in rows if (row.hash_a, row.hash_b) == (hashes[row.a], hashes[row.b]))
