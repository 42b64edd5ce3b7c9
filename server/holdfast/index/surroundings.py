"""Which notes of a small memory are near each other by their stored vectors: all pairs at once."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import groupby

import numpy as np
import numpy.typing as npt

from holdfast.index.maintenance import CURRENT
from holdfast.model.ids import SELF_ID
from holdfast.model.memory import GLOBAL_SPACE

Cosines = npt.NDArray[np.float32]


def near_each_other(
    connection: sqlite3.Connection, key: str, now: str, most: int
) -> dict[str, list[tuple[str, float]]]:
    """For each current note that has a vector in this set the nearest of its space or of none, with their cosines.

    Of several vectors of a note the nearest counts.
    """
    rows = connection.execute(
        "SELECT n.id, n.space, v.vector FROM notes n JOIN vectors v ON v.vector_set = ? AND v.note = n.rowid "  # noqa: S608 - own clause
        f"WHERE {CURRENT} AND n.id <> ? ORDER BY n.id, v.chunk",
        (key, now, SELF_ID),
    ).fetchall()
    ids, spaces, starts = [], [], []
    for (note, space), group in groupby(enumerate(rows), key=lambda item: item[1][:2]):
        ids.append(str(note))
        spaces.append(str(space))
        starts.append(next(group)[0])
    if not ids:
        return {}
    vectors = np.frombuffer(b"".join(row[2] for row in rows), np.float32).reshape(len(rows), -1)
    cosines = np.maximum.reduceat(np.maximum.reduceat(vectors @ vectors.T, starts, axis=0), starts, axis=1)
    cosines[~_in_reach(spaces)] = -1.0
    return {note: _nearest(ids, cosines[place], most) for place, note in enumerate(ids)}


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
