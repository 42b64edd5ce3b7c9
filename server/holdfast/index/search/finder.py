"""One search over both legs, and what earlier answers tell of the notes that it found."""

from __future__ import annotations

import json
import math
import re
import sqlite3
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np

from holdfast.index.recalls import FeedbackRow, RatedQuestion, feedback_since, pending_questions, vectors_of
from holdfast.index.rows import all_aliases
from holdfast.index.search.snapshot import (
    Floats,
    Lexical,
    Mask,
    Positions,
    Rare,
    Snapshot,
    are_known,
    document_count,
    rare_words,
    search_words,
)
from holdfast.index.search.vectors import Background, VectorTable
from holdfast.model.identifiers import content_of, counts_fully, idf, shows_another_language
from holdfast.model.lifecycle import Signal, affinity, by_meaning, by_words
from holdfast.model.note import moment
from holdfast.model.ranking import WEIGHTS, Filter, Found, QueryVector, RankCandidate, Timeline
from holdfast.model.words import folded, numbered, query_terms, question_key

SESSION_BEST = 3
# Chosen on half A of the questions of bench/languages.py, with the model that `HOLDFAST_MULTILINGUAL=e5` names.
SECOND_LIFT, SECOND_STEEPNESS = 1.1, 1.4


class Finder:
    """Searches one database; what it keeps in memory is shared by all connections and brought up to date by each.

    Args:
        extension: whether sqlite-vec is loaded into the connections.
    """

    def __init__(self, *, extension: bool) -> None:
        self._extension = extension
        self._lock = threading.Lock()
        self._snapshot = Snapshot()
        self._vectors: dict[str, VectorTable] = {}  # by set: that of the settings, and that beside it
        self._background = Background()

    def search(
        self,
        connection: sqlite3.Connection,
        query: str,
        vector: QueryVector | None,
        wanted: Filter,
        pool_size: int,
        most_terms: int,
        most: int,
        extraordinary: frozenset[str] = frozenset(),
        beside: QueryVector | None = None,
    ) -> Found:
        """The notes that either leg finds, at most `pool_size` from each, with coverage and z.

        Told are at most `most`, by the part of their score that is known here. Of the query's words, those that are
        `extraordinary` count fully in a long note, as identifiers do. `beside` is the same question in the set that
        stands beside that of `vector`; where a note has z of both they are averaged.

        The caller has begun a transaction: both legs, and all that is read with them, must see one state.
        """
        asked = [each for each in (vector, beside) if each is not None]
        snapshot, tables = self._current(connection, [each.key for each in asked])
        passes = snapshot.mask(connection, wanted)
        terms = query_terms(query)
        places = self._places(connection, snapshot, query, extraordinary) if not wanted.spaces else {}
        named = {term for of_it in places.values() for term in of_it}  # several spaces may share a word of their names
        placed = {term: np.unique(np.concatenate([of[term] for of in places.values() if term in of])) for term in named}
        rare = [
            item for item in rare_words(connection, snapshot, query, passes) if not item.unit.terms <= placed.keys()
        ]
        telling = _telling(rare, query, extraordinary)
        lexical = search_words(connection, snapshot, terms, passes, most_terms, telling, placed)
        held = _held(snapshot.size, rare)
        z = np.full(snapshot.size, np.nan, np.float32)
        session_z = z
        best = snapshot.best(lexical.coverage + WEIGHTS.rare * held, 0.0, pool_size)
        if asked:
            z = self._meant(connection, snapshot, list(zip(asked, tables, strict=True)), passes, best, pool_size)
        found = np.zeros(snapshot.size, np.bool_)
        found[best] = found[snapshot.best(z, -np.inf, pool_size)] = True
        pool = np.flatnonzero(found)
        if asked:
            session_z = _session_means(snapshot, passes, z, pool)
        worth = lexical.coverage[pool] + WEIGHTS.z * _or_0(z[pool]) + WEIGHTS.session * _or_0(session_z[pool])
        worth += WEIGHTS.rare * held[pool]
        pool = pool[snapshot.first(pool, worth, most)]
        candidates = _candidates(connection, snapshot, pool, lexical, rare, z, session_z)
        unknown, counts = lexical.unknown - placed.keys(), {item.unit.label: item.count for item in rare}
        looked_for = {
            *lexical.words,
            *lexical.unknown,
        }  # a common word is not: then it is not known who names the space
        told = {name: frozenset(of) for name, of in places.items() if of.keys() <= looked_for}
        return Found(candidates, unknown, counts, snapshot.count, told)

    def by_time(
        self, connection: sqlite3.Connection, wanted: Filter, most: int, offset: int = 0, *, soonest: bool = False
    ) -> Timeline:
        """The notes that the filter lets through but for Self, the last first by the time that the filter means.

        Those of one second are in the order in which they were made. With `soonest` what comes first is first.
        """
        snapshot, _ = self._current(connection, [])
        rows = snapshot.rows
        found = np.flatnonzero(snapshot.mask(connection, wanted) & (rows["mark"][: snapshot.size] != 0))
        order = np.lexsort((rows["mark"][found], rows["created"][found], snapshot.times(wanted)[found]))
        ordered = found[order if soonest else order[::-1]]
        shown = rows["rowid"][ordered[offset : offset + most]]
        statement = "SELECT n.id FROM json_each(?) w JOIN notes n ON n.rowid = w.value ORDER BY w.key"
        ids = tuple(note_id for (note_id,) in connection.execute(statement, (json.dumps(shown.tolist()),)))
        return Timeline(ids, len(found))

    def hides(self, connection: sqlite3.Connection, wanted: Filter) -> bool:
        """Whether the filter keeps any note out."""
        snapshot, _ = self._current(connection, [])
        return int(np.count_nonzero(snapshot.mask(connection, wanted))) < snapshot.count

    def held(self, connection: sqlite3.Connection, keys: Sequence[str]) -> tuple[int, int] | None:
        """How many vectors are in memory, and how many of the same sets are in the database.

        Args:
            connection: to the database.
            keys: the sets, which are read if they are not in memory; none for those that were compared last.

        Returns:
            None where no vectors have been compared yet.
        """
        _, tables = self._current(connection, list(keys or self._vectors))
        if not tables:
            return None
        there = connection.execute(
            "SELECT count(*) FROM vectors v JOIN notes n ON n.rowid = v.note "
            "WHERE v.vector_set IN (SELECT value FROM json_each(?))",
            (json.dumps([table.key for table in tables]),),
        )
        return sum(table.count for table in tables), int(there.fetchone()[0])

    def knows(self, connection: sqlite3.Connection, words: Iterable[str]) -> bool:
        """Whether each of these words stands in some note."""
        return are_known(connection, self._current(connection, [])[0], words)

    def subjects(self, connection: sqlite3.Connection, words: Collection[str]) -> list[str]:
        """See `holdfast.index.search.snapshot.Snapshot.subjects`."""
        return self._current(connection, [])[0].subjects(words)

    def _current(self, connection: sqlite3.Connection, keys: Sequence[str]) -> tuple[Snapshot, list[VectorTable]]:
        """What is in memory, with the vectors of these sets, brought up to the state that the connection sees."""
        with self._lock:
            snapshot = self._snapshot.refreshed(connection)
            if not snapshot.is_past:
                self._snapshot = snapshot
            if not keys:
                return snapshot, []
            tables = [
                (self._vectors.get(key) or VectorTable(key, extension=self._extension)).refreshed(connection, snapshot)
                for key in keys
            ]
            others = self._vectors if self._vectors.keys() >= set(keys) else {}  # with a new set comes a new pair
            self._vectors = others | {table.key: table for table in tables}
            return snapshot, tables

    def _places(
        self, connection: sqlite3.Connection, snapshot: Snapshot, query: str, extraordinary: frozenset[str]
    ) -> dict[str, dict[str, Positions]]:
        """The spaces that a question names by words of their own, if it asks for what some note knows besides."""
        found = snapshot.placed(query_terms(query), extraordinary)
        places = {name: of_it for name, of_it in found.items() if _is_said(of_it, query)}
        named = {term for of_it in places.values() for term in of_it}
        said = content_of(query) if shows_another_language(query) else query_terms(query)
        is_asking = any(are_known(connection, snapshot, [term]) for term in said if term not in named)
        return places if places and is_asking else {}

    def _meant(
        self,
        connection: sqlite3.Connection,
        snapshot: Snapshot,
        asked: Sequence[tuple[QueryVector, VectorTable]],
        passes: Mask,
        best: Positions,
        pool_size: int,
    ) -> Floats:
        """How alike each note and the question are, in deviations; NaN where that is not known."""
        cosines = [table.cosines(connection, snapshot, each.vector, passes, pool_size) for each, table in asked]
        if len(asked) > 1:  # on a large store each leg knows those that are near in it
            best = np.unique(np.concatenate([best, *(snapshot.best(each, -np.inf, pool_size) for each in cosines)]))
        legs = []
        for (each, table), found in zip(asked, cosines, strict=True):
            table.exact(connection, each.vector, best, found)
            z = self._deviations(connection, each, found, snapshot.seen)
            legs.append((each, _lifted(z) if each.is_second else z))
        return legs[0][1] if len(legs) == 1 else _together(*legs)

    def _deviations(self, connection: sqlite3.Connection, vector: QueryVector, cosines: Floats, seen: int) -> Floats:
        """Cosines as deviations above the background; NaN where they are not known."""
        prior = (vector.mean, vector.deviation)
        mean, deviation = self._background.statistics(connection, vector.key, prior, seen)
        return (cosines - np.float32(mean)) / np.float32(deviation)


def _is_said(terms: Iterable[str], query: str) -> bool:
    """Whether these words stand there as a name, and not as a part of a path, an address or a longer name."""
    name = r"[-_. ]?".join(map(re.escape, terms))
    return re.search(rf"(?<![\w./@:-]){name}(?![\w/@:-]|\.\w)", folded(query)) is not None


def _telling(rare: Sequence[Rare], query: str, extraordinary: frozenset[str]) -> list[Rare]:
    """Those that count fully however long a note is."""
    return [item for item in rare if counts_fully(item.unit, query, len(rare), extraordinary)]


def _held(size: int, rare: Sequence[Rare]) -> Floats:
    """By position the share of the rare words that a note holds."""
    held = np.zeros(size, np.float32)
    for item in rare:
        held[item.positions] += 1 / len(rare)
    return held


def _session_means(snapshot: Snapshot, passes: Mask, z: Floats, pool: Positions) -> Floats:
    """For each note of the pool the mean of the three best of its session that pass.

    Of a note without a session, or a long one, its own z.
    """
    means = z.copy()
    sessions = snapshot.rows["session"][: snapshot.size]
    here = sessions[pool]
    asked = np.zeros(len(snapshot.sessions) + 1, np.bool_)  # the last is for notes of no session, which have -1
    asked[here[here >= 0]] = True
    members = np.flatnonzero(~np.isnan(z))  # on a large store few, so they are looked at first
    members = members[asked[sessions[members]] & passes[members]]
    if not len(members):
        return means
    members = members[np.lexsort((-z[members], sessions[members]))]
    ordered = sessions[members]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    groups, sizes = ordered[starts], np.diff(starts, append=len(members))
    rank = np.arange(len(members)) - np.repeat(starts, sizes)
    best = rank < SESSION_BEST
    totals = np.add.reduceat(np.where(best, z[members], 0.0), starts)
    by_group = totals / np.minimum(sizes, SESSION_BEST)
    of_session = pool[(here >= 0) & ~snapshot.rows["long"][pool]]
    means[of_session] = by_group[np.searchsorted(groups, sessions[of_session]).clip(max=len(groups) - 1)]
    return means


def _candidates(
    connection: sqlite3.Connection,
    snapshot: Snapshot,
    pool: Positions,
    lexical: Lexical,
    rare: Sequence[Rare],
    z: Floats,
    session_z: Floats,
) -> tuple[RankCandidate, ...]:
    rowids = snapshot.rows["rowid"][pool].tolist()
    coverage, matched = lexical.coverage[pool].tolist(), lexical.matched[pool].tolist()
    words = {bits: lexical.words_of(bits) for bits in set(matched)}
    held = _holds(pool, rare)
    found = zip(
        coverage, _as_list(z[pool]), _as_list(session_z[pool]), [words[bits] for bits in matched], held, strict=True
    )
    known = dict(zip(rowids, found, strict=True))
    return tuple(RankCandidate._make(row + known[row[0]]) for row in snapshot.candidate_rows.of(connection, rowids))


def _holds(pool: Positions, rare: Sequence[Rare]) -> list[tuple[str, ...]]:
    """For each note of the pool the rare words that it holds."""
    held: list[tuple[str, ...]] = [()] * len(pool)
    for item in rare:
        for place in np.flatnonzero(np.isin(pool, item.positions)).tolist():
            held[place] += (item.unit.label,)
    return held


def _or_0(values: Floats) -> Floats:
    """The same, with 0 for what is not known."""
    return np.where(np.isnan(values), np.float32(0), values)


def _lifted(z: Floats) -> Floats:
    """Z of the second set on the scale of the first: what answers across languages lies lower above the background."""
    return (z + np.float32(SECOND_LIFT)) * np.float32(SECOND_STEEPNESS)


def _together(first: tuple[QueryVector, Floats], second: tuple[QueryVector, Floats]) -> Floats:
    """The mean of both where a note has both, else the one that it has; a question that is read by one has that one."""
    (asked, one), (_, other) = first, second
    both = (one + other) / np.float32(2) if asked.is_read else other
    return np.where(np.isnan(one), other, np.where(np.isnan(other), one, both))


def _as_list(values: Floats) -> list[float | None]:
    """The same, with None for what is not known."""
    return [None if math.isnan(value) else value for value in values.tolist()]


_SECONDS_PER_DAY = 86_400.0
_MOST_VECTORS = 20_000  # kept in memory, 30 MB; they are read again where they are missing


@dataclass(frozen=True, slots=True)
class _Given:
    """A signal with its time in seconds since 1970."""

    question: str
    signal: int
    explicit: bool
    at: float


@dataclass(frozen=True, slots=True)
class _Words:
    """What a question asks with; `telling` must stand in any question like it: names, and words with digits."""

    all: frozenset[str]
    telling: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Known:
    """Everything up to the change number `seen`; never changed, only replaced."""

    seen: int = -1
    notes: Mapping[str, Mapping[str, _Given]] = field(default_factory=dict)  # by note and event
    questions: Mapping[str, RatedQuestion] = field(default_factory=dict)
    merged: Mapping[str, Sequence[str]] = field(
        default_factory=dict
    )  # by note, the rated ones that were merged into it


@dataclass(frozen=True, slots=True)
class _Weights:
    """Weights by word in the state `seen` of the index, which has `total` notes."""

    seen: int = -1
    total: int = 0
    of: dict[str, float] = field(default_factory=dict)


class FeedbackIndex:
    """The signals of one database, shared by all connections.

    Without any for the notes that are asked about, an answer costs one look at a number; with them, time by how many
    there are for these notes.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known = _Known()
        self._vectors: dict[tuple[str, str], Floats] = {}  # by vector set and question: never change
        self._words: dict[str, _Words] = {}  # by question: never change
        self._weights = _Weights()
        self._complete: dict[str, int] = {}  # vector sets that lacked no question as of a change number

    def affinities(
        self, connection: sqlite3.Connection, ids: Sequence[str], query: str, vector: QueryVector | None, now: str
    ) -> dict[str, float]:
        """Affinity in -0.15..0.15 of those notes that have one for the query.

        Args:
            connection: to the database.
            ids: the notes.
            query: the question as it is asked now.
            vector: its embedding; without it, or where an earlier question has none, their words are compared.
            now: an instant.
        """
        known, latest = self._current(connection)
        rated = _rated(known, ids)
        if not rated:
            return {}
        earlier = {given.question for signals in rated.values() for given in signals}
        similar = self._similarities(connection, known, latest, earlier, query, vector)
        today = _seconds(now)
        found = {
            note: affinity(
                _signal(given, similar[given.question], today) for given in signals if given.question in similar
            )
            for note, signals in rated.items()
        }
        return {note: value for note, value in found.items() if value}

    def pending(self, connection: sqlite3.Connection, key: str, since: str, most: int) -> list[RatedQuestion]:
        """Questions that lack a vector of the set `key`; see `pending_questions`. Costs a look where none can."""
        latest = connection.execute("SELECT max(changed) FROM feedback").fetchone()[0]
        if latest is None or self._complete.get(key) == latest:
            return []
        found = pending_questions(connection, key, since, most)
        if not found:
            self._complete[key] = latest
        return found

    def _current(self, connection: sqlite3.Connection) -> tuple[_Known, int]:
        """What is known, and the change number that the connection sees, which may be an earlier one."""
        with self._lock:
            row = connection.execute("SELECT value FROM meta WHERE key = 'change_seq'").fetchone()
            latest = int(row[0]) if row else 0
            if latest > self._known.seen:
                fresh = feedback_since(connection, self._known.seen)
                known = _with(self._known, fresh, latest) if fresh else replace(self._known, seen=latest)
                self._known = replace(known, merged=_merged(connection, known)) if known.notes else known
            return self._known, latest

    def _similarities(
        self,
        connection: sqlite3.Connection,
        known: _Known,
        latest: int,
        earlier: Iterable[str],
        query: str,
        vector: QueryVector | None,
    ) -> dict[str, float]:
        """How like the query each earlier question is, above 0 and up to 1; those that are not at all are left out."""
        asked = frozenset(query_terms(query))
        numbers = numbered(asked)
        key = question_key(query)
        words = {question: self._words_of(known.questions[question]) for question in earlier if question != key}
        alike = [name for name, said in words.items() if said.telling <= asked and numbers <= said.telling]
        similar = self._meant(connection, alike, vector) if vector is not None else {}
        for name in alike:
            if name not in similar and not asked.isdisjoint(words[name].all):
                weights = self._weighed_words(connection, latest, asked | words[name].all)
                similar[name] = by_words(asked, words[name].all, weights)
        similar[key] = 1.0
        return {name: value for name, value in similar.items() if value > 0}

    def _words_of(self, question: RatedQuestion) -> _Words:
        found = self._words.get(question.key)
        if found is None:
            words = frozenset(query_terms(question.asked))
            found = _Words(words, numbered(words) | (words - frozenset(query_terms(question.embedded))))
            self._words[question.key] = found
        return found

    def _meant(self, connection: sqlite3.Connection, questions: Sequence[str], vector: QueryVector) -> dict[str, float]:
        """Similarity by meaning of those questions that have a vector of the query's set."""
        missing = [question for question in questions if (vector.key, question) not in self._vectors]
        if missing:
            if len(self._vectors) > _MOST_VECTORS:
                self._vectors = {}
                missing = list(questions)
            vectors = self._vectors
            for question, blob in vectors_of(connection, vector.key, missing):
                vectors[vector.key, question] = np.frombuffer(blob, "<f4")
        vectors = self._vectors
        there = [question for question in questions if (vector.key, question) in vectors]
        if not there:
            return {}
        cosines = np.stack([vectors[vector.key, question] for question in there]) @ np.frombuffer(vector.vector, "<f4")
        return {
            question: by_meaning(cosine, vector.mean) for question, cosine in zip(there, cosines.tolist(), strict=True)
        }

    def _weighed_words(self, connection: sqlite3.Connection, latest: int, words: Iterable[str]) -> dict[str, float]:
        """Weights of words by how few notes have them (BM25's idf), counted once for each change of the index."""
        weights = self._weights
        if weights.seen != latest:
            (notes,) = connection.execute("SELECT count(*) FROM notes").fetchone()
            weights = self._weights = _Weights(latest, notes)
        for word in words:
            if word not in weights.of:
                weights.of[word] = idf(weights.total, document_count(connection, word))
        return weights.of


def _rated(known: _Known, ids: Sequence[str]) -> dict[str, list[_Given]]:
    """The signals on each note, and on those that were merged into it."""
    names = {note: (note, *known.merged.get(note, ())) for note in ids}
    rated = {
        note: [given for name in own if name in known.notes for given in known.notes[name].values()]
        for note, own in names.items()
    }
    return {note: signals for note, signals in rated.items() if signals}


def _merged(connection: sqlite3.Connection, known: _Known) -> dict[str, list[str]]:
    merged: dict[str, list[str]] = {}
    for alias, note in all_aliases(connection):
        if alias in known.notes:
            merged.setdefault(note, []).append(alias)
    return merged


def _with(known: _Known, rows: Sequence[FeedbackRow], latest: int) -> _Known:
    notes = dict(known.notes)
    questions = dict(known.questions)
    for row in rows:
        if row.question is not None:
            given = _Given(row.question.key, row.signal, row.explicit, _seconds(row.at))
            notes[row.note] = {**notes.get(row.note, {}), row.event: given}
            questions[row.question.key] = row.question
    return _Known(latest, notes, questions)


def _signal(given: _Given, similarity: float, today: float) -> Signal:
    return Signal(given.question, given.signal, given.explicit, (today - given.at) / _SECONDS_PER_DAY, similarity)


def _seconds(instant: str) -> float:
    return datetime.timestamp(moment(instant))
