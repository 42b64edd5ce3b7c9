"""Vector sets and the queue of each: which notes lack a vector of which set.

A set is ready once no note lacked a vector of it; from then on it may answer. Notes that come later wait in its queue
and are found by their words meanwhile. Both are rows of the database, so every process sees a set become ready at once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

STALE = 256  # notes; a set that lacks more than that, and more than another, is built up again before it answers
DROPPED_AT_ONCE = 2000  # rows

_MISSING = "NOT EXISTS (SELECT 1 FROM vectors v WHERE v.vector_set = s.key AND v.note = n.rowid)"
_WAITING = "EXISTS (SELECT 1 FROM pending WHERE vector_set = key)"


@dataclass(frozen=True, slots=True)
class SetRow:
    """A vector set that the database knows.

    Attributes:
        key: see `holdfast.encode.provider.VectorSet.key`.
        described: what the encoder says of it, as JSON; empty where nobody has told yet.
        ready: whether it may answer.
    """

    key: str
    described: str = ""
    ready: bool = False


@dataclass(frozen=True, slots=True)
class PendingVector:
    """A note that waits to be encoded."""

    id: str
    encode_hash: str
    title: str
    content: str


def set_rows(connection: sqlite3.Connection) -> tuple[SetRow, ...]:
    """All known sets, the one that was begun last first."""
    rows = connection.execute("SELECT key, described, ready FROM vector_sets ORDER BY begun DESC, key").fetchall()
    return tuple(SetRow(key, described, bool(ready)) for key, described, ready in rows)


def open_set(connection: sqlite3.Connection, row: SetRow, change_seq: int) -> None:
    """Make a set known, queue what it lacks, and find out whether it is ready.

    Args:
        connection: in a write transaction.
        row: the set; where it says `ready` what still waits is held to be hopeless.
        change_seq: the number of this change.
    """
    known = connection.execute(
        "INSERT OR IGNORE INTO vector_sets (key, described, ready, begun) VALUES (?, ?, 0, ?)",
        (row.key, row.described, change_seq),
    )
    if known.rowcount:
        connection.execute("DELETE FROM vectors WHERE vector_set = ?", (row.key,))  # what a dropped set left behind
        connection.execute("INSERT INTO pending SELECT ?, rowid FROM notes", (row.key,))
    elif row.described:
        connection.execute("UPDATE vector_sets SET described = ? WHERE key = ?", (row.described, row.key))
    if row.ready:
        connection.execute("UPDATE vector_sets SET ready = 1 WHERE key = ?", (row.key,))
    elif is_stale(connection, row.key):
        connection.execute("UPDATE vector_sets SET ready = 0, begun = ? WHERE key = ?", (change_seq, row.key))
    settle_sets(connection, [row.key])


def settle_sets(connection: sqlite3.Connection, keys: Iterable[str]) -> None:
    """Those of these sets that lack nothing are ready."""
    connection.executemany(
        f"UPDATE vector_sets SET ready = 1 WHERE key = ? AND ready = 0 AND NOT {_WAITING}",  # noqa: S608 - own clause
        [(key,) for key in keys],
    )


def is_stale(connection: sqlite3.Connection, key: str) -> bool:
    """Whether a ready set lacks so much that another one that is ready should answer until it has caught up."""
    row = connection.execute("SELECT ready FROM vector_sets WHERE key = ?", (key,)).fetchone()
    if row is None or not row[0]:
        return False
    behind = count_pending(connection, key)
    others = connection.execute("SELECT key FROM vector_sets WHERE ready = 1 AND key <> ?", (key,)).fetchall()
    return behind > STALE and any(count_pending(connection, other) < behind // 2 for (other,) in others)


def queue_note(connection: sqlite3.Connection, rowid: int) -> None:
    """A note's text is new to every set."""
    forget_vectors(connection, rowid)
    connection.execute("INSERT OR IGNORE INTO pending SELECT key, ? FROM vector_sets", (rowid,))


def forget_vectors(connection: sqlite3.Connection, rowid: int) -> None:
    connection.execute("DELETE FROM vectors WHERE vector_set IN (SELECT key FROM vector_sets) AND note = ?", (rowid,))


def unqueue_note(connection: sqlite3.Connection, rowid: int) -> None:
    """A note is gone."""
    forget_vectors(connection, rowid)
    connection.execute("DELETE FROM pending WHERE vector_set IN (SELECT key FROM vector_sets) AND note = ?", (rowid,))


def queue_again(connection: sqlite3.Connection) -> None:
    """Queue all that has no vector, for an index that was filled without a queue."""
    connection.execute("DELETE FROM pending")
    connection.execute(f"INSERT INTO pending SELECT s.key, n.rowid FROM vector_sets s, notes n WHERE {_MISSING}")  # noqa: S608 - own clause


def count_pending(connection: sqlite3.Connection, key: str) -> int:
    """How many notes have no vector of this set; all of them where the set is not known."""
    if not _is_known(connection, key):
        return int(connection.execute("SELECT count(*) FROM notes").fetchone()[0])
    return int(connection.execute("SELECT count(*) FROM pending WHERE vector_set = ?", (key,)).fetchone()[0])


def count_lacking(connection: sqlite3.Connection, key: str) -> int:
    """How many notes have no vector of this set; fewer than wait where some are only to be made anew."""
    waiting = count_pending(connection, key)
    if waiting == 0:
        return 0
    if waiting <= STALE:
        found = connection.execute(
            "SELECT count(*) FROM pending p WHERE p.vector_set = ?1 AND NOT EXISTS "
            "(SELECT 1 FROM vectors v WHERE v.vector_set = ?1 AND v.note = p.note)",
            (key,),
        ).fetchone()
        return int(found[0]) or (0 if _is_known(connection, key) else waiting)
    there = connection.execute("SELECT count(DISTINCT note) FROM vectors WHERE vector_set = ?", (key,)).fetchone()
    return max(0, int(connection.execute("SELECT count(*) FROM notes").fetchone()[0]) - int(there[0]))


def queue_all(connection: sqlite3.Connection, key: str) -> None:
    """Have the vectors of all notes made anew; those there are answer until then."""
    connection.execute(
        "INSERT OR IGNORE INTO pending SELECT key, n.rowid FROM vector_sets, notes n WHERE key = ?", (key,)
    )


def _is_known(connection: sqlite3.Connection, key: str) -> bool:
    return connection.execute("SELECT 1 FROM vector_sets WHERE key = ?", (key,)).fetchone() is not None


def pending_vectors(connection: sqlite3.Connection, key: str, most: int) -> list[PendingVector]:
    """Notes that have no vector of this set, in the order they came."""
    waiting = "SELECT note FROM pending WHERE vector_set = ?1 ORDER BY note LIMIT ?2"
    if not _is_known(connection, key):
        waiting = "SELECT rowid AS note FROM notes WHERE ?1 = ?1 ORDER BY rowid LIMIT ?2"
    rows = connection.execute(
        f"SELECT id, encode_hash, title, content FROM ({waiting}) w JOIN notes n ON n.rowid = w.note ORDER BY w.note",  # noqa: S608 - own clauses
        (key, most),
    )
    return [PendingVector(*row) for row in rows]


def drop_set(connection: sqlite3.Connection, key: str) -> None:
    """Forget a set and its queue at once, and some of its vectors; `drop_rest` takes the others."""
    connection.execute("DELETE FROM vector_sets WHERE key = ?", (key,))
    connection.execute("DELETE FROM pending WHERE vector_set = ?", (key,))
    connection.execute("DELETE FROM question_vectors WHERE vector_set = ?", (key,))
    drop_rest(connection, key)


def drop_rest(connection: sqlite3.Connection, key: str) -> int:
    """Take away some vectors of a set that is not known any more; returns how many went."""
    gone = connection.execute(
        "DELETE FROM vectors WHERE rowid IN (SELECT rowid FROM vectors WHERE vector_set = ?1 AND NOT EXISTS "
        "(SELECT 1 FROM vector_sets WHERE key = ?1) LIMIT ?2)",
        (key, DROPPED_AT_ONCE),
    )
    return gone.rowcount
