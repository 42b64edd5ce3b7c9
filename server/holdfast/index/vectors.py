"""The vector leg: cosines of a query with the notes that pass a filter.

Vectors lie in a plain table, so that a filter applies before the cut and a process without sqlite-vec can read what
one with it wrote. Distances are taken by sqlite-vec's functions inside SQLite, or by numpy where it cannot be loaded.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from holdfast.index.filters import Where

SAMPLE = 256  # notes whose mutual cosines are the store's background
_PRIOR_WEIGHT = 20  # notes that the encoder's own background counts for
_MEAN_RANGE, _DEVIATION_RANGE = (0.02, 0.35), (0.06, 0.18)


class VectorSearch(Protocol):
    """Cosines by rowid; a note with several chunks counts with its best."""

    def nearest(
        self, connection: sqlite3.Connection, key: str, query: bytes, where: Where, count: int
    ) -> dict[int, float]: ...

    def cosines(
        self, connection: sqlite3.Connection, key: str, query: bytes, rowids: Iterable[int]
    ) -> dict[int, float]: ...


@dataclass(frozen=True, slots=True)
class _Matrix:
    """All vectors of one set as they were at one change: rows of a matrix, by note."""

    stamp: tuple[str, int]
    places: dict[int, list[int]]
    vectors: object


def change_seq(connection: sqlite3.Connection) -> int:
    """Counts the write transactions of an index."""
    found = connection.execute("SELECT value FROM meta WHERE key = 'change_seq'").fetchone()
    return int(found[0]) if found else 0


class SqliteVectors:
    """Brute force inside SQLite. On unit vectors cos = 1 - d^2 / 2; L2 is the distance that sqlite-vec has SIMD for."""

    def nearest(
        self, connection: sqlite3.Connection, key: str, query: bytes, where: Where, count: int
    ) -> dict[int, float]:
        return _from_distances(
            connection.execute(
                "SELECT v.note, min(vec_distance_L2(v.vector, ?)) AS distance "  # noqa: S608 - own clauses
                f"FROM vectors v JOIN notes n ON n.rowid = v.note WHERE v.vector_set = ? AND {where.clause} "
                "GROUP BY v.note ORDER BY distance, n.created DESC, n.id LIMIT ?",
                (query, key, *where.values, count),
            )
        )

    def cosines(
        self, connection: sqlite3.Connection, key: str, query: bytes, rowids: Iterable[int]
    ) -> dict[int, float]:
        return _from_distances(
            connection.execute(
                "SELECT v.note, min(vec_distance_L2(v.vector, ?)) FROM json_each(?) wanted "
                "CROSS JOIN vectors v ON v.vector_set = ? AND v.note = wanted.value GROUP BY v.note",
                (query, json.dumps(list(rowids)), key),
            )
        )


class NumpyVectors:
    """All vectors of one set in memory, read again when the index has changed: the way without an extension."""

    def __init__(self) -> None:
        self._known: _Matrix | None = None  # replaced as a whole: readers are on several threads

    def nearest(
        self, connection: sqlite3.Connection, key: str, query: bytes, where: Where, count: int
    ) -> dict[int, float]:
        allowed = connection.execute(
            f"SELECT n.rowid FROM notes n WHERE {where.clause} ORDER BY n.created DESC, n.id",  # noqa: S608 - own clauses
            where.values,
        )
        found = self.cosines(connection, key, query, [rowid for (rowid,) in allowed])
        best = sorted(found.items(), key=lambda item: -item[1])[:count]  # equal ones stay newest first
        return dict(best)

    def cosines(
        self, connection: sqlite3.Connection, key: str, query: bytes, rowids: Iterable[int]
    ) -> dict[int, float]:
        import numpy as np  # noqa: PLC0415 - start-up stays light

        known = self._loaded(connection, key)
        if not known.places:
            return {}
        scores = np.asarray(known.vectors) @ np.frombuffer(query, dtype="<f4")
        return {
            rowid: float(max(scores[place] for place in known.places[rowid]))
            for rowid in rowids
            if rowid in known.places
        }

    def _loaded(self, connection: sqlite3.Connection, key: str) -> _Matrix:
        import numpy as np  # noqa: PLC0415

        stamp = (key, change_seq(connection))
        known = self._known
        if known is not None and known.stamp == stamp:
            return known
        found = connection.execute(
            "SELECT note, vector FROM vectors WHERE vector_set = ? ORDER BY note, chunk", (key,)
        ).fetchall()
        places: dict[int, list[int]] = {}
        for place, (rowid, _) in enumerate(found):
            places.setdefault(rowid, []).append(place)
        width = len(found[0][1]) // 4 if found else 1
        matrix = np.frombuffer(b"".join(blob for _, blob in found), dtype="<f4").reshape(-1, width)
        self._known = known = _Matrix(stamp, places, matrix)
        return known


def _from_distances(rows: Iterable[tuple[int, float]]) -> dict[int, float]:
    return {rowid: 1.0 - distance * distance / 2.0 for rowid, distance in rows}


class Background:
    """What cosine unrelated notes of this store have: the mean and deviation that make `z` comparable.

    Taken from a sample that depends on the notes alone, so that a rebuilt index gives the same; mixed with the
    encoder's own values while the store is small, and kept within what an encoder can plausibly have, or a store of
    near-identical notes would make the same text look average.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, float, float]] = {}

    def statistics(
        self, connection: sqlite3.Connection, key: str, prior_mean: float, prior_deviation: float
    ) -> tuple[float, float]:
        """Mean and deviation for the vector set `key`, as its vectors are now."""
        stamp = change_seq(connection)
        known = self._known.get(key)
        if known is None or known[0] != stamp:
            known = (stamp, *_measure(connection, key, prior_mean, prior_deviation))
            self._known[key] = known
        return known[1], known[2]


def _measure(
    connection: sqlite3.Connection, key: str, prior_mean: float, prior_deviation: float
) -> tuple[float, float]:
    import numpy as np  # noqa: PLC0415

    blobs = connection.execute(
        "SELECT v.vector FROM notes n CROSS JOIN vectors v ON v.vector_set = ? AND v.note = n.rowid AND v.chunk = 0 "
        "ORDER BY substr(n.id, -6), n.id LIMIT ?",
        (key, SAMPLE),
    ).fetchall()
    count = len(blobs)
    if count < 2:  # noqa: PLR2004 - no pair
        return prior_mean, prior_deviation
    matrix = np.frombuffer(b"".join(blob for (blob,) in blobs), dtype="<f4").reshape(count, -1)
    pairs = (matrix @ matrix.T)[np.triu_indices(count, 1)]
    share = count / (count + _PRIOR_WEIGHT)
    mean = share * float(pairs.mean()) + (1 - share) * prior_mean
    deviation = share * float(pairs.std()) + (1 - share) * prior_deviation
    return _clamp(mean, _MEAN_RANGE), _clamp(deviation, _DEVIATION_RANGE)


def _clamp(value: float, bounds: tuple[float, float]) -> float:
    return min(max(value, bounds[0]), bounds[1]) if math.isfinite(value) else bounds[0]
