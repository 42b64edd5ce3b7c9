"""The vector leg: cosines of a query with the notes, and of the notes of a small memory with each other.

Vectors lie in a plain table of the database, so that any process can read what another wrote. In memory they are
float32 while the store is small. When it is large, one bit for each dimension chooses and eight bits for each compare;
when it is very large only the bits stay in memory, and exact distances come from the table, through sqlite-vec inside
SQLite, or through numpy where it cannot be loaded.
"""

from __future__ import annotations

import copy
import json
import math
import sqlite3
from collections.abc import Sequence
from itertools import groupby
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from holdfast.index.current import CURRENT
from holdfast.index.search.snapshot import Floats, Mask, Positions, Snapshot
from holdfast.model.note import GLOBAL_SPACE, SELF_ID

Cosines = npt.NDArray[np.float32]
_AT_A_TIME = 64  # notes whose vectors are compared with all others


def near_each_other(
    connection: sqlite3.Connection, key: str, now: str, most: int
) -> dict[str, list[tuple[str, float]]]:
    """For each current note that has a vector in this set the nearest of its space or of none, with their cosines.

    Of several vectors of a note the nearest counts.
    """
    rows = connection.execute(
        "SELECT n.id, n.space, v.vector FROM notes n JOIN vectors v ON v.vector_set = :key AND v.note = n.rowid "  # noqa: S608 - own clause
        f"WHERE {CURRENT} AND n.id <> '{SELF_ID}' ORDER BY n.id, v.chunk",
        {"key": key, "now": now},
    ).fetchall()
    ids, spaces, starts = [], [], []
    for (note, space), group in groupby(enumerate(rows), key=lambda item: item[1][:2]):
        ids.append(str(note))
        spaces.append(str(space))
        starts.append(next(group)[0])
    if not ids:
        return {}
    vectors = np.frombuffer(b"".join(row[2] for row in rows), np.float32).reshape(len(rows), -1)
    cosines = _of_each_with_each(vectors, np.array(starts))
    cosines[~_in_reach(spaces)] = -1.0
    return {note: _nearest(ids, cosines[place], most) for place, note in enumerate(ids)}


def _of_each_with_each(vectors: Cosines, starts: npt.NDArray[np.int64]) -> Cosines:
    """The cosines of notes, of which each has its vectors from its start on, by those two that are nearest.

    A few notes at a time are compared, with themselves and those behind them: of long notes the cosines of all vectors
    would take a gigabyte.
    """
    cosines = np.empty((len(starts), len(starts)), np.float32)
    for first in range(0, len(starts), _AT_A_TIME):
        some, others = starts[first : first + _AT_A_TIME], starts[first:] - starts[first]
        until = starts[first + len(some)] if len(some) < len(others) else len(vectors)
        among = vectors[some[0] : until] @ vectors[some[0] :].T
        nearest = np.maximum.reduceat(np.maximum.reduceat(among, some - some[0], axis=0), others, axis=1)
        cosines[first : first + len(some), first:] = nearest
        cosines[first:, first : first + len(some)] = nearest.T
    return cosines


def likenesses(vectors: Sequence[bytes | None]) -> list[list[float]]:
    """The cosine of each note with each, to four places: the same whatever else is compared. NaN without a vector."""
    there = [place for place, vector in enumerate(vectors) if vector is not None]
    cosines = np.full((len(vectors), len(vectors)), np.nan)
    if there:
        table = np.frombuffer(b"".join(filter(None, vectors)), np.float32).reshape(len(there), -1)
        cosines[np.ix_(there, there)] = np.round(np.inner(table, table).astype(np.float64), 4)
    found: list[list[float]] = cosines.tolist()
    return found


def _in_reach(spaces: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Which pairs are of one space, or one of them of none; a note is not in reach of itself."""
    names = np.array(spaces)
    everywhere = names == GLOBAL_SPACE
    reach = (names[:, None] == names[None, :]) | everywhere[:, None] | everywhere[None, :]
    np.fill_diagonal(reach, False)  # noqa: FBT003 - numpy has it so
    return np.asarray(reach, np.bool_)


def _nearest(ids: Sequence[str], cosines: Cosines, most: int) -> list[tuple[str, float]]:
    order = np.argsort(-cosines, kind="stable")[:most].tolist()
    return [(ids[place], float(cosines[place])) for place in order if cosines[place] > -1.0]


EXACT_NOTES = 4_000  # up to here float32 in memory: the fastest, and 6 MB at the most
HELD_VECTORS = 250_000  # up to here eight bits for each dimension in memory, 96 MB at the most
SAMPLE = 256  # notes whose mutual cosines are the store's background
_PRIOR_WEIGHT = 20  # notes that the encoder's own background counts for, beside long ones
_SHORT = 500  # bytes: a note that is about as long as what is asked, and says one thing
_DILUTED = 0.2  # deviations by which a question is less like a long text, which says many things
_BELOW, _ABOVE = 0.9, 2.4  # how far the mean may lie from the encoder's own, in its deviations
_NARROWEST, _WIDEST = 0.6, 1.8  # the deviation, as parts of the encoder's own
_OVERSAMPLING = 2
_BATCH = 4096
_GAPS = 1024  # replaced vectors that may stay in memory
_BLOCK = 16_384  # codes that are compared at a time: a core's own cache holds them

_LARGEST_BYTE = 127

Codes = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.int8]
Scalar = TypeVar("Scalar", bound=np.generic)


class VectorTable:
    """The vectors of one set, each with the position of its note; of a note's chunks the best counts.

    Args:
        key: the vector set.
        extension: whether sqlite-vec is loaded into the connections.
        exact_notes: up to how many notes are kept as float32.
        held_vectors: up to how many vectors are kept with eight bits for each dimension.
    """

    def __init__(
        self, key: str, *, extension: bool, exact_notes: int = EXACT_NOTES, held_vectors: int = HELD_VECTORS
    ) -> None:
        self.key = key
        self._extension = extension
        self._exact_notes = exact_notes
        self._held_vectors = held_vectors
        self._large = False
        self._seen = -1  # the change number up to which the vectors of every note are here
        self._numbering: object = None  # of the snapshots whose positions these are
        self._size = 0
        self._notes = np.zeros(0, np.intp)  # -1 where the vector was replaced
        self._rows = np.zeros(0, np.int64)
        self._values: Floats | None = None
        self._bytes: Bytes | None = None
        self._scales = np.zeros(0, np.float32)  # what one step of a byte is worth
        self._codes: tuple[Codes, ...] = ()  # by word of 64 dimensions: one long array each is what numpy is fast on
        self._centre: Floats | None = None
        self._alive = np.zeros(0, np.intp)  # where `_notes` is not -1

    def refreshed(self, connection: sqlite3.Connection, snapshot: Snapshot) -> VectorTable:
        """This table, or a newer one that has the vectors of every note of the state that the connection sees."""
        same = self._numbering is snapshot.numbering
        if same and self._seen >= snapshot.seen:
            return self
        large = snapshot.size > self._exact_notes
        if not same or large != self._large or self._has_shrunk:
            fresh = VectorTable(
                self.key,
                extension=self._extension,
                exact_notes=self._exact_notes,
                held_vectors=self._held_vectors,
            )
        else:
            fresh = copy.copy(self)
        fresh._read(connection, snapshot, large=large)  # noqa: SLF001 - a copy of its own
        return fresh

    @property
    def count(self) -> int:
        """How many vectors are compared."""
        return len(self._alive)

    @property
    def _has_shrunk(self) -> bool:
        """Whether there are so few vectors by now that eight bits of each could be held again."""
        return self._large and self._bytes is None and 0 < self.count <= self._held_vectors // 2

    def _read(self, connection: sqlite3.Connection, snapshot: Snapshot, *, large: bool) -> None:
        self._large = large
        self._notes = self._notes.copy()  # the only array that changes below its size
        self._let_go(connection, snapshot)
        cursor = connection.execute(
            "SELECT v.rowid, v.note, v.vector FROM notes n JOIN vectors v ON v.vector_set = ? AND v.note = n.rowid "
            "WHERE n.changed > ? ORDER BY v.note, v.chunk",
            (self.key, self._seen),
        )
        while batch := cursor.fetchmany(_BATCH):
            self._take(snapshot, batch)
        self._close_gaps()
        self._alive = np.flatnonzero(self._notes[: self._size] >= 0)
        self._seen, self._numbering = snapshot.seen, snapshot.numbering

    def _let_go(self, connection: sqlite3.Connection, snapshot: Snapshot) -> None:
        """Forget the vectors of notes that changed, whether or not they have new ones, and of those that are gone."""
        if self._size:
            rows = connection.execute("SELECT rowid FROM notes WHERE changed > ?", (self._seen,))
            stays = snapshot.rows["live"][: snapshot.size].copy()
            stays[snapshot.positions(rowid for (rowid,) in rows)] = False
            notes = self._notes[: self._size]
            notes[~stays[notes]] = -1

    def _close_gaps(self) -> None:
        """Give back the memory of replaced vectors once they are many."""
        kept = np.flatnonzero(self._notes[: self._size] >= 0)
        if self._size - len(kept) <= max(_GAPS, len(kept) // 8):
            return
        self._notes, self._rows = self._notes[kept], self._rows[kept]
        self._values = None if self._values is None else self._values[kept]
        if self._bytes is not None:
            self._bytes, self._scales = self._bytes[kept], self._scales[kept]
        self._codes = tuple(word[kept] for word in self._codes)
        self._size = len(kept)

    def cosines(
        self, connection: sqlite3.Connection, snapshot: Snapshot, query: bytes, passes: Mask, most: int
    ) -> Floats:
        """Cosine by position; NaN where a note has no vector, or on a large store was not among the nearest."""
        best = np.full(snapshot.size, np.nan, np.float32)
        alive = self._alive[passes[self._notes[self._alive]]]
        if not len(alive):
            return best
        if self._values is not None:
            # `@` is shared out to threads, and each waits in a loop for the slowest
            scores = np.vecdot(self._values[: self._size], np.frombuffer(query, "<f4"))
            np.fmax.at(best, self._notes[alive], scores[alive])
        else:
            chosen = self._nearest_codes(query, alive, most * _OVERSAMPLING)
            np.fmax.at(best, self._notes[chosen], self._compared(connection, query, chosen))
        return best

    def exact(self, connection: sqlite3.Connection, query: bytes, positions: Positions, best: Floats) -> None:
        """Fill in the cosines of these notes where they are missing."""
        if self._values is None:
            missing = np.zeros(len(best), np.bool_)
            missing[positions] = np.isnan(best[positions])
            chosen = self._alive[missing[self._notes[self._alive]]]
            if len(chosen):
                np.fmax.at(best, self._notes[chosen], self._compared(connection, query, chosen))

    def _take(self, snapshot: Snapshot, batch: Sequence[tuple[int, int, bytes]]) -> None:
        values = np.frombuffer(b"".join(vector for _, _, vector in batch), "<f4").reshape(len(batch), -1)
        notes, known = snapshot.places(np.array([note for _, note, _ in batch], np.int64))
        notes[~known] = -1  # gone by now, for a connection that still sees it
        end = self._size + len(batch)
        self._notes = _put(self._notes, self._size, notes)
        self._rows = _put(self._rows, self._size, np.array([row for row, _, _ in batch], np.int64))
        if self._large:
            self._centre = values.mean(axis=0) if self._centre is None else self._centre
            fresh = _signs(values - self._centre)
            codes = self._codes or (None,) * fresh.shape[1]
            self._codes = tuple(_put(old, self._size, new) for old, new in zip(codes, fresh.T, strict=True))
            self._hold(values)
        else:
            self._values = _put(self._values, self._size, values)
        self._size = end

    def _nearest_codes(self, query: bytes, alive: Positions, count: int) -> Positions:
        if not self._codes or self._centre is None:
            return alive[:0]
        if len(alive) <= count:
            return alive
        asked = _signs((np.frombuffer(query, "<f4") - self._centre)[None, :])[0]
        distances = _distances(self._codes, asked, self._size)[alive]
        furthest = np.searchsorted(np.cumsum(np.bincount(distances)), count)  # not far apart: cheaper than sorting
        return alive[distances <= furthest]

    def _hold(self, values: Floats) -> None:
        """Keep some more vectors with eight bits for each dimension, or none any more."""
        if self._size + len(values) > self._held_vectors or (self._size and self._bytes is None):
            self._bytes = None
            return
        scales = np.maximum(np.abs(values).max(axis=1), np.finfo(np.float32).tiny) / np.float32(_LARGEST_BYTE)
        self._bytes = _put(self._bytes, self._size, np.rint(values / scales[:, None]).astype(np.int8))
        self._scales = _put(self._scales, self._size, scales)

    def _compared(self, connection: sqlite3.Connection, query: bytes, chosen: Positions) -> Floats:
        """Cosines of some vectors. With eight bits a cosine is off by less than .001, a fiftieth of what it varies."""
        if self._bytes is None:
            return self._exact(connection, query, self._rows[chosen])
        dots: Floats = np.vecdot(self._bytes[chosen].astype(np.float32), np.frombuffer(query, "<f4"))
        return dots * self._scales[chosen]

    def _exact(self, connection: sqlite3.Connection, query: bytes, rows: npt.NDArray[np.int64]) -> Floats:
        """Cosines of rows of the table. On unit vectors cos = 1 - d^2 / 2; L2 is what sqlite-vec has SIMD for."""
        wanted = json.dumps(rows.tolist())
        if self._extension:
            found = connection.execute(
                "SELECT w.key, vec_distance_L2(v.vector, ?) FROM json_each(?) w JOIN vectors v ON v.rowid = w.value",
                (query, wanted),
            ).fetchall()
            distances = np.array([distance for _, distance in found], np.float32)
            cosines = 1.0 - distances * distances / 2.0
        else:
            found = connection.execute(
                "SELECT w.key, v.vector FROM json_each(?) w JOIN vectors v ON v.rowid = w.value", (wanted,)
            ).fetchall()
            asked = np.frombuffer(query, "<f4")
            cosines = np.frombuffer(b"".join(blob for _, blob in found), "<f4").reshape(len(found), len(asked)) @ asked
        exact = np.full(len(rows), np.nan, np.float32)  # what the connection does not see stays unknown
        exact[[key for key, _ in found]] = cosines
        return exact


def _put(array: npt.NDArray[Scalar] | None, start: int, values: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """The array with `values` from `start` on."""
    roomy = _room(values[:0] if array is None else array, start + len(values))
    roomy[start : start + len(values)] = values
    return roomy


def _room(array: npt.NDArray[Scalar], size: int) -> npt.NDArray[Scalar]:
    """The array with room for `size` entries; it grows by half, so that appending stays cheap."""
    if len(array) >= size:
        return array
    larger = np.zeros((size + size // 2, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


def _distances(codes: Sequence[Codes], asked: Codes, size: int) -> npt.NDArray[np.uint16]:
    """In how many bits each of the first `size` codes differs from the one that is asked for, block by block."""
    distances = np.zeros(size, np.uint16)
    differing, counted = np.empty(_BLOCK, np.uint64), np.empty(_BLOCK, np.uint8)
    for start in range(0, size, _BLOCK):
        total = distances[start : start + _BLOCK]
        bits, ones = differing[: len(total)], counted[: len(total)]
        for column, code in zip(codes, asked, strict=True):
            np.bitwise_xor(column[start : start + len(total)], code, out=bits)
            total += np.bitwise_count(bits, out=ones)
    return distances


def _signs(values: Floats) -> Codes:
    """One bit for each dimension, 64 to a word."""
    bits = np.packbits(values > 0, axis=1)
    spare = -bits.shape[1] % 8
    return np.ascontiguousarray(np.pad(bits, ((0, 0), (0, spare)))).view(np.uint64)


class Background:
    """What cosine a question has with notes that do not answer it: the mean and deviation that make `z` comparable.

    Short notes stand for questions: taken are the cosines among those of a sample that depends on the notes alone, so
    that a rebuilt index gives the same. Long ones are no measure: they say many things and so are all alike, while no
    question is like any of them. The encoder's own values stand for them, and count while there are few notes. The
    result is kept within what an encoder can plausibly have, or near-identical notes would make the same text average.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, object, float, float]] = {}  # by set: change number, sample, result

    def statistics(
        self, connection: sqlite3.Connection, key: str, prior: tuple[float, float], seen: int
    ) -> tuple[float, float]:
        """Mean and deviation for the vector set `key`, measured again when a note of the sample has changed.

        `seen` is the number of the last change that the connection sees: where it is the same nothing has.
        """
        known = self._known.get(key)
        if known is None or known[0] != seen:
            known = self._known[key] = (seen, *self._measured(connection, key, prior))
        return known[2:]

    def _measured(
        self, connection: sqlite3.Connection, key: str, prior: tuple[float, float]
    ) -> tuple[object, float, float]:
        sample = connection.execute(
            "SELECT count(*), sum(rowid), max(changed) FROM "
            "(SELECT rowid, changed FROM notes n INDEXED BY notes_sample "
            "WHERE EXISTS (SELECT 1 FROM vectors v WHERE v.vector_set = ? AND v.note = n.rowid AND v.chunk = 0) "
            "ORDER BY substr(id, -6), id LIMIT ?)",
            (key, SAMPLE),
        ).fetchone()
        known = self._known.get(key)
        return known[1:] if known and known[1] == sample else (sample, *_measure(connection, key, prior))


def _measure(connection: sqlite3.Connection, key: str, prior: tuple[float, float]) -> tuple[float, float]:
    sample = connection.execute(
        "SELECT length(CAST(n.content AS BLOB)) <= ?, v.vector FROM notes n "
        "CROSS JOIN vectors v ON v.vector_set = ? AND v.note = n.rowid AND v.chunk = 0 "
        "ORDER BY substr(n.id, -6), n.id LIMIT ?",
        (_SHORT, key, SAMPLE),
    ).fetchall()
    blobs = [blob for is_short, blob in sample if is_short]
    total, count = len(sample), len(blobs)
    long = (total - count) / max(1, total)
    usual, spread = prior[0] - _DILUTED * prior[1] * long, prior[1]
    if count < 2:  # noqa: PLR2004 - no pair
        return usual, spread
    matrix = np.frombuffer(b"".join(blobs), dtype="<f4").reshape(count, -1)
    pairs = (matrix @ matrix.T)[np.triu_indices(count, 1)]
    share = count / (total + _PRIOR_WEIGHT)
    mean = share * float(pairs.mean()) + (1 - share) * usual
    deviation = share * float(pairs.std()) + (1 - share) * spread
    low, high = prior[0] - _BELOW * prior[1], prior[0] + _ABOVE * prior[1]
    return _clamp(mean, (low, high)), _clamp(deviation, (_NARROWEST * prior[1], _WIDEST * prior[1]))


def _clamp(value: float, bounds: tuple[float, float]) -> float:
    return min(max(value, bounds[0]), bounds[1]) if math.isfinite(value) else bounds[0]
