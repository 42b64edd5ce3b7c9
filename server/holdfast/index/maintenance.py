"""What maintenance remembers, as rows: judged pairs, open batches, how far it has looked. The journal has it all."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.model.ids import PREFIX, SELF_ID, id_milliseconds, note_id

TIME_DIGITS = 8  # of an id: a quarter of a second


@dataclass(frozen=True, slots=True)
class JudgedRow:
    """A pair that was judged: `a` sorts before `b`; the hashes name the texts that were judged.

    `scope` is what the verdict is about. `change` is the change that followed from it, None for none.
    """

    a: str
    b: str
    scope: str
    hash_a: str
    hash_b: str
    verdict: str
    seq: int
    change: str | None = None


@dataclass(frozen=True, slots=True)
class BatchRow:
    """A batch that was handed out at `made`: `items` is JSON of [[kind, [[note id, hash of its text], ...]], ...]."""

    id: str
    principal: str
    made: str
    expires: str
    items: str


@dataclass(frozen=True, slots=True)
class CursorRow:
    """How far one kind was looked for: every id up to `newest` once, and the round over all up to `swept`."""

    kind: str
    newest: str
    swept: str
    seq: int


@dataclass(frozen=True, slots=True)
class Remembered:
    """All three kinds, as one line of the journal tells them."""

    judged: Sequence[JudgedRow] = ()
    batches: Sequence[BatchRow] = ()
    cursors: Sequence[CursorRow] = ()


def put_remembered(connection: sqlite3.Connection, rows: Remembered) -> None:
    """Keep rows; of two about the same the later one counts, in whatever order they are replayed."""
    connection.executemany(
        "INSERT INTO judged (a, b, scope, hash_a, hash_b, verdict, seq, change) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (a, b, scope) DO UPDATE SET hash_a = excluded.hash_a, hash_b = excluded.hash_b, "
        "verdict = excluded.verdict, change = excluded.change, seq = excluded.seq WHERE excluded.seq >= seq",
        [(row.a, row.b, row.scope, row.hash_a, row.hash_b, row.verdict, row.seq, row.change) for row in rows.judged],
    )
    for batch in rows.batches:
        connection.execute("DELETE FROM batches WHERE expires < ?", (batch.made,))
        connection.execute(
            "INSERT OR IGNORE INTO batches (id, principal, made, expires, items) VALUES (?, ?, ?, ?, ?)",
            (batch.id, batch.principal, batch.made, batch.expires, batch.items),
        )
    connection.executemany(
        "INSERT INTO cursors (kind, newest, swept, seq) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (kind) DO UPDATE SET newest = excluded.newest, swept = excluded.swept, seq = excluded.seq "
        "WHERE excluded.seq >= seq",
        [(row.kind, row.newest, row.swept, row.seq) for row in rows.cursors],
    )


def batch_of(connection: sqlite3.Connection, batch_id: str) -> BatchRow | None:
    row = connection.execute(
        "SELECT id, principal, made, expires, items FROM batches WHERE id = ?", (batch_id,)
    ).fetchone()
    return None if row is None else BatchRow(*row)


def cursor_of(connection: sqlite3.Connection, kind: str) -> CursorRow | None:
    row = connection.execute("SELECT kind, newest, swept, seq FROM cursors WHERE kind = ?", (kind,)).fetchone()
    return None if row is None else CursorRow(*row)


def judged_with(connection: sqlite3.Connection, note_id: str, others: Sequence[str]) -> dict[str, list[JudgedRow]]:
    """What was judged of a note and each of the others, by the other's id."""
    pairs = {(min(note_id, other), max(note_id, other)): other for other in others}
    rows = connection.execute(
        "SELECT j.a, j.b, j.scope, j.hash_a, j.hash_b, j.verdict, j.seq, j.change FROM json_each(?) w JOIN judged j "
        "ON j.a = json_extract(w.value, '$[0]') AND j.b = json_extract(w.value, '$[1]')",
        (json.dumps([list(pair) for pair in pairs]),),
    )
    found: dict[str, list[JudgedRow]] = {}
    for row in rows:
        found.setdefault(pairs[row[0], row[1]], []).append(JudgedRow(*row))
    return found


CURRENT = "outdated = 0 AND merged_into IS NULL AND (valid_until IS NULL OR valid_until > ?)"


def batches(connection: sqlite3.Connection) -> list[BatchRow]:
    """The batches that are remembered, whoever has them."""
    return [BatchRow(*row) for row in connection.execute("SELECT id, principal, made, expires, items FROM batches")]


def ids_before(connection: sqlite3.Connection, before: str, now: str, most: int) -> list[str]:
    """Ids of current notes before an id, the last first; of all for an empty one. Self is none of them."""
    rows = connection.execute(
        f"SELECT id FROM notes WHERE (?1 = '' OR id < ?1) AND {CURRENT.replace('?', '?2')} AND id <> ?3 "  # noqa: S608 - own clause
        "ORDER BY id DESC LIMIT ?4",
        (before, now, SELF_ID, most),
    )
    return [note_id for (note_id,) in rows]


def ids_changed_since(connection: sqlite3.Connection, since: int, now: str, most: int) -> list[tuple[str, int]]:
    """Ids of current notes that were stored, or whose files changed, behind a time; the first first, each with when.

    Times are in milliseconds since the epoch. An id tells when its note was stored.
    """
    rows = connection.execute(
        "SELECT n.id, f.modified / 1000000 FROM notes n JOIN files f ON f.path = n.path "  # noqa: S608 - own clause
        f"WHERE (n.id > ?1 OR f.modified > ?2) AND {CURRENT.replace('?', '?3')} AND n.id <> ?4",
        (note_id(since + 1, 0), since * 1_000_000, now, SELF_ID),
    )
    when = ((note, max(id_milliseconds(note), 0 if modified <= since else modified)) for note, modified in rows)
    return sorted(when, key=lambda item: (item[1], item[0]))[:most]


def short_ids(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, str]:
    """For each of these ids the shortest beginning that no other id has; one of a later note has another time."""
    rows = connection.execute(
        "SELECT w.value, "
        "(SELECT max(id) FROM notes WHERE id < w.value), (SELECT min(id) FROM notes WHERE id > w.value), "
        "(SELECT max(alias) FROM aliases WHERE alias < w.value), (SELECT min(alias) FROM aliases WHERE alias > w.value)"
        " FROM json_each(?) w",
        (json.dumps(list(ids)),),
    )
    return {note: _beginning(note, [other for other in others if other]) for note, *others in rows}


def _beginning(note: str, others: Sequence[str]) -> str:
    longest = max((next(at for at in range(len(note)) if note[at] != other[at]) for other in others), default=0)
    return note[: max(longest + 1, len(PREFIX) + TIME_DIGITS)]


def first_vectors(connection: sqlite3.Connection, key: str, ids: Sequence[str]) -> dict[str, bytes]:
    """The stored vector of the beginning of each of these notes, in one set; what has none is left out."""
    rows = connection.execute(
        "SELECT n.id, v.vector FROM json_each(?) w JOIN notes n ON n.id = w.value "
        "JOIN vectors v ON v.vector_set = ? AND v.note = n.rowid AND v.chunk = 0",
        (json.dumps(list(ids)), key),
    )
    return dict(rows.fetchall())


def last_change(connection: sqlite3.Connection, note_id: str, op: str) -> str | None:
    """The last change of a note by a verb."""
    row = connection.execute(
        "SELECT change FROM history WHERE note = ? AND op = ? ORDER BY seq DESC LIMIT 1", (note_id, op)
    ).fetchone()
    return None if row is None else str(row[0])
