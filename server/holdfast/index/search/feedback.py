"""Affinities of notes for a question, from signals kept in memory and brought up to date by change numbers."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np

from holdfast.index.aliases import all_aliases
from holdfast.index.coverage import idf
from holdfast.index.recalls import FeedbackRow, RatedQuestion, feedback_since, pending_questions, vectors_of
from holdfast.index.search.snapshot import Floats
from holdfast.index.search.words import document_count
from holdfast.model.ranking import QueryVector, Signal, affinity, by_meaning, by_words, numbered, question_key
from holdfast.model.times import moment
from holdfast.model.words import query_terms

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
