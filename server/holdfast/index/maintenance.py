"""What maintenance and daily jobs keep as rows: uses, importance, runs, judged pairs, open batches, cursors.

Uses, runs and verdicts come from the journal; importance is derived.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from holdfast.index.current import CURRENT, NOT_RETIRED
from holdfast.model.lifecycle import importance
from holdfast.model.note import SELF_ID, id_milliseconds, note_id

THREAD = 0.1  # the weight of a link that says no more than that a note came after another
UNSCORED = importance(0, 0, 0.0)

_CURRENT = f"n.{NOT_RETIRED}"  # whatever the clock says
_LIVING = f"n.id <> '{SELF_ID}' AND NOT n.about_self AND {_CURRENT}"  # these never change by themselves
_NEXT_TO = (  # neighbours by links that mean something, from either end
    f"SELECT l.target AS id, l.weight FROM links l WHERE l.source = n.id AND l.weight > {THREAD} "  # noqa: S608 - own
    f"UNION ALL SELECT l.source, l.weight FROM links l WHERE l.target = n.id AND l.weight > {THREAD}"
)
_FIND = (
    "SELECT n.id, n.tier, n.created, n.updated, coalesce(f.touched, 0), "  # noqa: S608 - own clauses
    f"(SELECT count(DISTINCT m.id) FROM ({_NEXT_TO}) x JOIN notes m ON m.id = x.id WHERE m.id <> n.id), "
    "(SELECT json_group_array(at) FROM uses u WHERE u.note = n.id), "
    "coalesce((SELECT max(seq) FROM uses u WHERE u.note = n.id), 0), "
    "coalesce((SELECT max(seq) FROM history h WHERE h.note = n.id), 0), "
    "coalesce((SELECT max(at) FROM history h WHERE h.note = n.id), ''), "
    "EXISTS (SELECT 1 FROM links l JOIN notes m ON m.id = l.source WHERE l.target = n.id AND l.type = 'derived_from' "
    f" AND m.id <> n.id AND m.{NOT_RETIRED}), i.value "
    "FROM notes n LEFT JOIN files f ON f.path = n.path LEFT JOIN importance i ON i.note = n.id WHERE"
)


@dataclass(frozen=True, slots=True)
class UseRow:
    """That a note was confirmed to be of use, `at` an instant; counted once a day."""

    note: str
    at: str
    seq: int


@dataclass(frozen=True, slots=True)
class JobRun:
    """One run of a job: when it began, how it ended (`done`, or an error's name), what it changed, how long it took."""

    name: str
    seq: int
    at: str
    outcome: str
    changed: int
    milliseconds: int


@dataclass(frozen=True, slots=True)
class Living:
    """A current note as far as its life is concerned; never Self, nor what is about the user.

    Attributes:
        id: the note.
        tier: the one that it is in.
        created: an instant, as `updated`.
        updated: when a tool changed what it says.
        touched_ns: when its text was changed last, by whomever, in nanoseconds since 1970.
        degree: how many notes it is linked with, threads left out.
        uses: when its uses were confirmed.
        used_seq: the journal's number of the last of them, 0 for none.
        changed_seq: the number of its last change.
        changed_at: the latest time of a change; empty where none is known.
        is_summed: whether another note says what this one does.
        importance: as it was scored last; None where it was not yet.
    """

    id: str
    tier: str
    created: str
    updated: str
    touched_ns: int
    degree: int
    uses: tuple[str, ...]
    used_seq: int
    changed_seq: int
    changed_at: str
    is_summed: bool
    importance: float | None


_FIELDS = tuple(field.name for field in fields(Living))


def living(connection: sqlite3.Connection, first: int, last: int, tiers: Sequence[str]) -> list[Living]:
    """Those with row ids above `first` and up to `last` in some tiers, in that order."""
    clause = f"n.rowid > ? AND n.rowid <= ? AND n.tier IN (SELECT value FROM json_each(?)) AND {_LIVING}"  # noqa: S608 - own clauses
    return _living(connection, f"{clause} ORDER BY n.rowid", (first, last, json.dumps(list(tiers))))


def living_among(connection: sqlite3.Connection, ids: Sequence[str]) -> list[Living]:
    """Those of some ids."""
    clause = f"n.id IN (SELECT value FROM json_each(?)) AND {_LIVING} ORDER BY n.id"  # noqa: S608 - own clauses
    return _living(connection, clause, (json.dumps(list(ids)),))


def _living(connection: sqlite3.Connection, clause: str, values: Sequence[object]) -> list[Living]:
    rows = connection.execute(f"{_FIND} {clause}", tuple(values))
    return [_row(*row) for row in rows]


def _row(*values: Any) -> Living:
    row = dict(zip(_FIELDS, values, strict=True))
    return Living(**row | {"uses": tuple(json.loads(row["uses"])), "is_summed": bool(row["is_summed"])})


def last_row(connection: sqlite3.Connection) -> int:
    """The highest row id of a note."""
    return int(connection.execute("SELECT coalesce(max(rowid), 0) FROM notes").fetchone()[0])


def surplus_core(connection: sqlite3.Connection, most: int, spared: str) -> list[str]:
    """Core notes beyond `most`, Self counted among those that stay: the least important ones, the user's own last."""
    (count,) = connection.execute(f"SELECT count(*) FROM notes n WHERE n.tier = 'core' AND {_CURRENT}").fetchone()  # noqa: S608 - own clauses
    rows = connection.execute(
        "SELECT n.id FROM notes n LEFT JOIN importance i ON i.note = n.id "  # noqa: S608 - own clauses
        f"WHERE n.tier = 'core' AND {_CURRENT} AND n.id NOT IN (?, ?) "
        "ORDER BY n.about_self, coalesce(i.value, ?), n.updated, n.id LIMIT ?",
        (SELF_ID, spared, UNSCORED, max(0, count - most)),
    )
    return [note for (note,) in rows]


def without_space(connection: sqlite3.Connection, first: int, last: int) -> list[tuple[str, str, tuple[str, ...]]]:
    """Notes of no space in a span of row ids that have neighbours: id, path, and the space of each neighbour."""
    rows = connection.execute(
        "SELECT n.id, n.path, (SELECT json_group_array(space) FROM "  # noqa: S608 - own clauses
        f" (SELECT DISTINCT m.id, m.space FROM ({_NEXT_TO}) x JOIN notes m ON m.id = x.id "
        f"  WHERE m.id NOT IN (n.id, '{SELF_ID}') AND m.{NOT_RETIRED})) AS votes FROM notes n "
        f"WHERE n.rowid > ? AND n.rowid <= ? AND n.space = 'global' AND {_LIVING} AND votes <> '[]' "
        "AND NOT EXISTS (SELECT 1 FROM history h WHERE h.note = n.id AND h.op = 'cluster') ORDER BY n.rowid",
        (first, last),
    )
    return [(note, path, tuple(json.loads(votes))) for note, path, votes in rows]


def used_on(connection: sqlite3.Connection, note: str, day: str) -> bool:
    """Whether a use of the note was confirmed on a day (YYYY-MM-DD)."""
    return connection.execute("SELECT 1 FROM uses WHERE note = ? AND day = ?", (note, day)).fetchone() is not None


def count_behind(connection: sqlite3.Connection, first: str, most: int) -> int:
    """How many notes have ids behind one, counted up to a bound; Self has none."""
    counted = "SELECT count(*) FROM (SELECT 1 FROM notes WHERE id > ? AND id <> ? LIMIT ?)"
    return int(connection.execute(counted, (first, SELF_ID, most)).fetchone()[0])


def job_runs(connection: sqlite3.Connection, name: str) -> tuple[int, list[JobRun]]:
    """How often a job ran, its last run and its last two that ended well or not, newest first."""
    (count,) = connection.execute("SELECT count(*) FROM job_runs WHERE name = ?", (name,)).fetchone()
    found = "SELECT name, seq, at, outcome, changed, milliseconds FROM job_runs WHERE name = ?"
    rows = connection.execute(
        f"SELECT * FROM ({found} AND outcome = 'done' ORDER BY seq DESC LIMIT 1) "  # noqa: S608 - own clauses
        f"UNION SELECT * FROM ({found} AND outcome <> 'done' ORDER BY seq DESC LIMIT 1) ORDER BY 2 DESC",
        (name, name),
    )
    return int(count), [JobRun(*row) for row in rows]


def put_uses(connection: sqlite3.Connection, rows: Iterable[UseRow]) -> None:
    """Keep uses, the first of a note and day; in whatever order they are replayed."""
    connection.executemany(
        "INSERT INTO uses (note, day, at, seq) VALUES (?, ?, ?, ?) ON CONFLICT (note, day) "
        "DO UPDATE SET at = excluded.at, seq = excluded.seq WHERE excluded.seq < seq",
        [(row.note, row.at[:10], row.at, row.seq) for row in rows],
    )


def put_runs(connection: sqlite3.Connection, rows: Iterable[JobRun]) -> None:
    """Keep runs of jobs; one that is known changes nothing."""
    connection.executemany(
        "INSERT OR IGNORE INTO job_runs (name, seq, at, outcome, changed, milliseconds) VALUES (?, ?, ?, ?, ?, ?)",
        [(row.name, row.seq, row.at, row.outcome, row.changed, row.milliseconds) for row in rows],
    )


def put_importance(connection: sqlite3.Connection, scores: Iterable[tuple[str, float]], gone: Iterable[str]) -> None:
    """Keep scores of notes that are there, and forget those of notes that are gone."""
    connection.executemany(
        "INSERT OR REPLACE INTO importance (note, value) SELECT id, ? FROM notes WHERE id = ?",
        [(value, note) for note, value in scores],
    )
    connection.executemany("DELETE FROM importance WHERE note = ?", [(note,) for note in gone])


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
        "SELECT j.a, j.b, j.scope, j.hash_a, j.hash_b, j.verdict, j.seq, j.change FROM json_each(?) w "
        "CROSS JOIN judged j ON j.a = json_extract(w.value, '$[0]') AND j.b = json_extract(w.value, '$[1]')",
        (json.dumps([list(pair) for pair in pairs]),),
    )
    found: dict[str, list[JudgedRow]] = {}
    for row in rows:
        found.setdefault(pairs[row[0], row[1]], []).append(JudgedRow(*row))
    return found


def batches(connection: sqlite3.Connection) -> list[BatchRow]:
    """The batches that are remembered, whoever has them."""
    return [BatchRow(*row) for row in connection.execute("SELECT id, principal, made, expires, items FROM batches")]


def ids_before(connection: sqlite3.Connection, before: str, now: str, most: int) -> list[str]:
    """Ids of current notes before an id, the last first; of all for an empty one. Self is none of them."""
    rows = connection.execute(
        f"SELECT id FROM notes WHERE (:before = '' OR id < :before) AND {CURRENT} AND id <> '{SELF_ID}' "  # noqa: S608 - own clause
        "ORDER BY id DESC LIMIT :most",
        {"before": before, "now": now, "most": most},
    )
    return [note_id for (note_id,) in rows]


def ids_changed_since(connection: sqlite3.Connection, since: int, now: str, most: int) -> list[tuple[str, int]]:
    """Ids of current notes that were stored, or whose files changed, behind a time; the first first, each with when.

    Times are in milliseconds since the epoch. An id tells when its note was stored.
    """
    rows = connection.execute(
        "SELECT n.id, f.touched / 1000000 FROM notes n JOIN files f ON f.path = n.path "  # noqa: S608 - own clause
        f"WHERE (n.id > :first OR f.touched > :since) AND {CURRENT} AND n.id <> '{SELF_ID}'",
        {"first": note_id(since + 1, 0), "since": since * 1_000_000, "now": now},
    )
    when = ((note, max(id_milliseconds(note), 0 if modified <= since else modified)) for note, modified in rows)
    return sorted(when, key=lambda item: (item[1], item[0]))[:most]


def first_vectors(connection: sqlite3.Connection, key: str, ids: Sequence[str]) -> dict[str, bytes]:
    """The stored vector of the beginning of each of these notes, in one set; what has none is left out."""
    rows = connection.execute(
        "SELECT n.id, v.vector FROM json_each(?) w CROSS JOIN notes n ON n.id = w.value "  # in this order: few, not all
        "CROSS JOIN vectors v ON v.vector_set = ? AND v.note = n.rowid AND v.chunk = 0",
        (json.dumps(list(ids)), key),
    )
    return dict(rows.fetchall())


def lines_of_notes(connection: sqlite3.Connection, ids: Sequence[str]) -> tuple[list[int], dict[str, int]]:
    """The numbers of all lines that changed one of these notes, in order; and when the notes' files were, in ns."""
    wanted = json.dumps(list(ids))
    lines = connection.execute(
        "SELECT DISTINCT seq FROM concerned WHERE note IN (SELECT value FROM json_each(?)) AND became > 0 ORDER BY seq",
        (wanted,),
    )
    touched = connection.execute(
        "SELECT n.id, f.touched FROM json_each(?) w CROSS JOIN notes n ON n.id = w.value "
        "JOIN files f ON f.path = n.path",
        (wanted,),
    )
    return [seq for (seq,) in lines], dict(touched.fetchall())


def last_change(connection: sqlite3.Connection, note_id: str, op: str) -> str | None:
    """The last change of a note by a verb."""
    row = connection.execute(
        "SELECT change FROM history WHERE note = ? AND op = ? ORDER BY seq DESC LIMIT 1", (note_id, op)
    ).fetchone()
    return None if row is None else str(row[0])
