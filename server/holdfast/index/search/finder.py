"""One search: both legs over the same filter, and what ranking needs to know of each note found."""

from __future__ import annotations

import json
import math
import sqlite3
import threading
from collections.abc import Collection, Sequence

import numpy as np

from holdfast.index.search.snapshot import Floats, Mask, Positions, Snapshot
from holdfast.index.search.vectors import Background, VectorTable
from holdfast.index.search.words import Lexical, Rare, rare_words, search_words
from holdfast.model.ranking import WEIGHTS, Filter, Found, QueryVector, RankCandidate, Timeline
from holdfast.model.words import query_terms

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
        rare = rare_words(connection, snapshot, query, passes)
        lexical = search_words(
            connection, snapshot, query_terms(query), passes, most_terms, _naming(rare, extraordinary)
        )
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
        return Found(candidates, lexical.unknown, {item.unit.label: item.count for item in rare}, snapshot.count)

    def by_time(
        self, connection: sqlite3.Connection, wanted: Filter, most: int, offset: int = 0, *, soonest: bool = False
    ) -> Timeline:
        """The notes that the filter lets through but for Self, those that happened last first.

        Those of one second are in the order in which they were made. With `soonest` what comes first is first.
        """
        snapshot, _ = self._current(connection, [])
        rows = snapshot.rows
        found = np.flatnonzero(snapshot.mask(connection, wanted) & (rows["mark"][: snapshot.size] != 0))
        order = np.lexsort((rows["mark"][found], rows["created"][found], rows["happened"][found]))
        ordered = found[order if soonest else order[::-1]]
        shown = rows["rowid"][ordered[offset : offset + most]]
        statement = "SELECT n.id FROM json_each(?) w JOIN notes n ON n.rowid = w.value ORDER BY w.key"
        ids = tuple(note_id for (note_id,) in connection.execute(statement, (json.dumps(shown.tolist()),)))
        return Timeline(ids, len(found))

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


def _naming(rare: Sequence[Rare], extraordinary: frozenset[str]) -> list[Rare]:
    """Those that are more likely names than words of any text."""
    return [item for item in rare if item.unit.kind in ("identifier", "name") or item.unit.label in extraordinary]


def _held(size: int, rare: Sequence[Rare]) -> Floats:
    """By position the share of the rare words that a note holds."""
    held = np.zeros(size, np.float32)
    for item in rare:
        held[item.positions] += 1 / len(rare)
    return held


def _session_means(snapshot: Snapshot, passes: Mask, z: Floats, pool: Positions) -> Floats:
    """For each note of the pool the mean of the three best of its session that pass; its own z without a session."""
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
    of_session = pool[here >= 0]
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
    has = [np.isin(pool, item.positions).tolist() for item in rare]
    held = [
        tuple(item.unit.label for item, there in zip(rare, has, strict=True) if there[place])
        for place in range(len(pool))
    ]
    found = zip(
        coverage, _as_list(z[pool]), _as_list(session_z[pool]), (words[bits] for bits in matched), held, strict=True
    )
    known = dict(zip(rowids, found, strict=True))
    rows = connection.execute(
        "SELECT rowid, id, space, session, subject, tier, confidence, outdated, superseded_by, created, happened "
        "FROM notes WHERE rowid IN (SELECT value FROM json_each(?))",
        (json.dumps(rowids),),
    )
    return tuple(RankCandidate._make((*row[:7], bool(row[7]), *row[8:], *known[row[0]])) for row in rows)


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
