"""Rows read back as values; ids of merged notes; vector sets and the queue of each; what pairs of notes say.

The queue of a vector set has the notes that lack a vector of it. A set is ready once none did; from then on it may
answer. Notes that come later wait in its queue and are found by their words meanwhile. All are rows of the database, so
every process sees a set become ready at once.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from holdfast.index.current import CURRENT
from holdfast.model.note import FIELDS, OCCURRENCES, SELF_ID, Note, in_time, same_text
from holdfast.model.versions import ANEW, APART, MAYBE, ReadTogether

_READ_ALREADY = json.dumps([ANEW, MAYBE, APART])
_LAST = 8  # of what is to be read together


def meant(column: str) -> str:
    """SQL for the id that an id in `column` stands for."""
    return (
        f"coalesce((SELECT min(x.note) FROM aliases x WHERE x.alias = {column} "  # noqa: S608 - own columns
        f"AND NOT EXISTS (SELECT 1 FROM notes y WHERE y.id = x.alias)), {column})"
    )


def put_aliases(connection: sqlite3.Connection, notes: Iterable[Note]) -> None:
    """Write what was merged into these notes."""
    for note in notes:
        drop_aliases(connection, note.id)
        connection.executemany(
            "INSERT OR IGNORE INTO aliases (alias, note) VALUES (?, ?)", [(alias, note.id) for alias in note.merged]
        )


def drop_aliases(connection: sqlite3.Connection, note_id: str) -> None:
    connection.execute("DELETE FROM aliases WHERE note = ?", (note_id,))


def aliases_of(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, str]:
    """The ids that mean one of these notes now, each with that note's."""
    rows = connection.execute(
        "SELECT a.alias, min(a.note) FROM json_each(?) w CROSS JOIN aliases a ON a.note = w.value "
        "WHERE NOT EXISTS (SELECT 1 FROM notes n WHERE n.id = a.alias) GROUP BY a.alias ORDER BY 1",
        (json.dumps(list(ids)),),
    )
    return dict(rows.fetchall())


def all_aliases(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """Every id that means another note, with that note's."""
    return connection.execute(
        "SELECT a.alias, min(a.note) FROM aliases a "
        "WHERE NOT EXISTS (SELECT 1 FROM notes n WHERE n.id = a.alias) GROUP BY a.alias"
    ).fetchall()


def matching(connection: sqlite3.Connection, low: str, high: str, most: int) -> list[tuple[str, str]]:
    """Notes whose id, or that of one merged into them, lies in a range: ids with titles, in order.

    Raises:
        sqlite3.DatabaseError: there is none, and yet a file that holds one: pages of the index were lost.
    """
    rows = connection.execute(
        "SELECT id, title FROM notes WHERE id BETWEEN ?1 AND ?2 UNION "
        "SELECT n.id, n.title FROM aliases a JOIN notes n ON n.id = a.note WHERE a.alias BETWEEN ?1 AND ?2 "
        "AND NOT EXISTS (SELECT 1 FROM notes m WHERE m.id = a.alias) ORDER BY id LIMIT ?3",
        (low, high, most),
    ).fetchall()
    if not rows and _is_in_a_file(connection, low, high):
        raise sqlite3.DatabaseError("a note is missing whose file is known")
    return rows


def _is_in_a_file(connection: sqlite3.Connection, low: str, high: str) -> bool:
    """Whether a readable file holds a note of this range; its row is written in one transaction with the note's."""
    found = connection.execute(
        "SELECT 1 FROM files WHERE note BETWEEN ? AND ? AND problem IS NULL LIMIT 1", (low, high)
    )
    return found.fetchone() is not None


_KEY_LENGTH = 32


@dataclass(frozen=True, slots=True)
class FileRow:
    """What the index remembers of a stored text: which version it knows, and what it holds.

    Attributes:
        path: its place, which only the storage goes by.
        mark: names the version, see `holdfast.store.stored.Stored.mark`; `NO_MARK` equals that of none.
        touched_ns: when it was last changed, in nanoseconds since 1970.
        size: its bytes.
        note: the note that it holds or claims to hold.
        problem: why it is quarantined.
        has_id: whether it carries the note's id itself.
    """

    path: str
    mark: str
    touched_ns: int
    size: int
    note: str | None = None
    problem: str | None = None
    has_id: bool = True


def digest(*parts: str | None) -> str:
    """A short stable key of several texts."""
    return hashlib.sha256("\0".join(part or "" for part in parts).encode()).hexdigest()[:_KEY_LENGTH]


def content_key(content: str, type_: str, space: str) -> str:
    """Equal for notes that say the same, case and white space aside."""
    return digest(same_text(content), type_, space)


_PLACE = ("path", "hash", "encode_hash", "encoded_by")
_COLUMNS = (*_PLACE, "content", *(field.name for field in FIELDS if field.column))
_FLAGS = tuple(field.name for field in FIELDS if field.column and field.kind == "flag")

_SAME = f"""
    SELECT id FROM notes WHERE content_key = :key AND {CURRENT} AND id NOT IN (:own, '{SELF_ID}')
        AND id NOT IN (SELECT value FROM json_each(:but))
        AND (event_time IS NULL OR :event IS NULL OR event_time = :event)
        AND (subject IS NULL OR :subject IS NULL OR lower(subject) = lower(:subject))
        AND (session IS NULL OR :session IS NULL OR session = :session OR NOT :recurs)
    ORDER BY session IS :session DESC, event_time IS :event DESC, subject IS :subject DESC, created, id LIMIT 1
"""  # noqa: S608 - own id


@dataclass(frozen=True, slots=True)
class IndexedNote:
    """A note as the index has it: without connections and evidence, with its place and what was encoded."""

    note: Note
    path: str
    hash: str
    encode_hash: str
    encoded_by: str | None


class LinkRow(NamedTuple):
    """An edge between two notes that are there; `made` is an instant."""

    source: str
    target: str
    type: str
    weight: float
    reason: str
    made: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """What a new note meets.

    `same` is the current note that says the same, `retired` one that did and was retired; `before` is the newest note
    of the space. `seq` is the highest number given out in the session, 0 where there is none.
    """

    same: IndexedNote | None
    retired: str | None
    before: str | None
    seq: int


def place_of(connection: sqlite3.Connection, note: Note, now: str) -> Place:
    same = same_note(connection, note, now)
    before = connection.execute(
        "SELECT id FROM notes WHERE space = ? ORDER BY created DESC, id DESC LIMIT 1",
        (note.space,),
    ).fetchone()
    (seq,) = connection.execute(
        "SELECT coalesce(max(seq), 0) FROM notes WHERE space = ? AND session = ?", (note.space, note.session)
    ).fetchone()
    found = note_rows(connection, [same]).get(same) if same else None
    return Place(found, _retired(connection, note), before[0] if before else None, seq)


def same_note(connection: sqlite3.Connection, note: Note, now: str, but: Collection[str] = ()) -> str | None:
    """The current note that says the same as this one: the same content, type and space.

    Another time of the event, another subject, and for what happens another session tell two notes apart where both
    have one.
    """
    found = connection.execute(
        _SAME,
        {
            "key": content_key(note.content, note.type, note.space),
            "now": now,
            "event": note.event_time,
            "subject": note.subject,
            "session": note.session,
            "recurs": note.type in OCCURRENCES,
            "own": note.id,
            "but": json.dumps(list(but)),
        },
    ).fetchone()
    return found[0] if found else None


def _retired(connection: sqlite3.Connection, note: Note) -> str | None:
    found = connection.execute(
        "SELECT id FROM notes WHERE content_key = ? AND outdated ORDER BY updated DESC, id DESC LIMIT 1",
        (content_key(note.content, note.type, note.space),),
    ).fetchone()
    return found[0] if found else None


def change_number(connection: sqlite3.Connection) -> int:
    """Another one after each change of the index."""
    found = connection.execute("SELECT value FROM meta WHERE key = 'change_seq'").fetchone()
    return int(found[0]) if found else 0


def note_rows(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, IndexedNote]:
    rows = connection.execute(
        f"SELECT {', '.join(_COLUMNS)} FROM notes WHERE id IN (SELECT value FROM json_each(?))",  # noqa: S608 - own names
        (json.dumps(ids),),
    )
    found = (_indexed(dict(zip(_COLUMNS, _unharmed(row), strict=True))) for row in rows)
    return {item.note.id: item for item in found}


def links_of(connection: sqlite3.Connection, ids: Sequence[str]) -> list[LinkRow]:
    wanted = json.dumps([*ids, *aliases_of(connection, ids)])
    columns = "a.id, b.id, l.type, max(l.weight), l.reason, l.created"
    ends = (
        f"JOIN notes a ON a.id = {meant('l.source')} JOIN notes b ON b.id = {meant('l.target')} "
        "WHERE a.id <> b.id GROUP BY a.id, b.id, l.type"
    )
    rows = connection.execute(
        f"SELECT {columns} FROM links l JOIN json_each(?) w ON w.value = l.source {ends} "  # noqa: S608 - own clauses
        f"UNION SELECT {columns} FROM links l JOIN json_each(?) w ON w.value = l.target {ends} "
        "ORDER BY 4 DESC, 3, 1, 2",
        (wanted, wanted),
    )
    return [LinkRow(*_unharmed(row)) for row in rows]


def lost_successors(connection: sqlite3.Connection, ids: Sequence[str]) -> set[str]:
    """Those of these notes that were superseded by what is no note any more, nor was merged into one."""
    rows = connection.execute(
        "SELECT n.id FROM json_each(?) w JOIN notes n ON n.id = w.value "  # noqa: S608 - own clause
        "WHERE n.superseded_by IS NOT NULL "
        f"AND NOT EXISTS (SELECT 1 FROM notes m WHERE m.id = {meant('n.superseded_by')}) "
        "AND NOT EXISTS (SELECT 1 FROM files f WHERE f.note = n.superseded_by)",  # in quarantine
        (json.dumps(list(ids)),),
    )
    return {note for (note,) in rows}


def evolved(connection: sqlite3.Connection, ids: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of these notes of which the first evolved from the second, or superseded it."""
    merged = aliases_of(connection, ids)
    rows = connection.execute(
        "SELECT DISTINCT l.source, l.target FROM json_each(?) w CROSS JOIN links l ON l.source = w.value "
        "WHERE l.type = 'evolved_from' ORDER BY 1, 2",
        (json.dumps([*ids, *merged]),),
    )
    pairs = dict.fromkeys((merged.get(new, new), merged.get(old, old)) for new, old in rows)
    return [(new, old) for new, old in pairs if old in set(ids) and new != old]


def file_rows(connection: sqlite3.Connection, clause: str, values: Sequence[str]) -> dict[str, FileRow]:
    """Rows of `files` that meet a condition."""
    rows: sqlite3.Cursor = connection.execute(
        f"SELECT path, mark, touched, size, note, problem, has_id FROM files WHERE {clause}",  # noqa: S608 - own clauses
        values,
    )
    return {row[0]: _file_row(row) for row in rows}


def problems(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """Quarantined files with their reasons, by path."""
    return connection.execute("SELECT path, problem FROM files WHERE problem IS NOT NULL ORDER BY path").fetchall()


def _file_row(row: tuple[Any, ...]) -> FileRow:
    path, mark, touched_ns, size, note, problem, has_id = row
    return FileRow(path, mark, touched_ns, size, note, problem, bool(has_id))


def _unharmed(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row of texts and numbers; a bit that flipped can make a text a blob, and the index is then made anew."""
    if bytes in map(type, row):
        raise sqlite3.DatabaseError("a text is none")
    return row


def _indexed(row: dict[str, object]) -> IndexedNote:
    place = {name: row.pop(name) for name in _PLACE}
    row["tags"] = tuple(json.loads(str(row["tags"])))
    row |= {name: bool(row[name]) for name in _FLAGS}
    return IndexedNote(Note(**row), **place)  # type: ignore[arg-type] # columns are named after the fields


STALE = 256  # notes; a set that lacks more than that, and more than another, is built up again before it answers

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
    connection.execute("DELETE FROM unread WHERE note = ?", (rowid,))
    connection.execute("INSERT OR IGNORE INTO pending SELECT key, ? FROM vector_sets", (rowid,))


def forget_vectors(connection: sqlite3.Connection, rowid: int) -> None:
    connection.execute("DELETE FROM vectors WHERE vector_set IN (SELECT key FROM vector_sets) AND note = ?", (rowid,))


def has_vectors(connection: sqlite3.Connection, rowid: int) -> bool:
    """Whether there are any of a note's text as it is."""
    found = "SELECT 1 FROM vectors WHERE vector_set IN (SELECT key FROM vector_sets) AND note = ? LIMIT 1"
    return connection.execute(found, (rowid,)).fetchone() is not None


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


@dataclass(frozen=True, slots=True)
class PairReading:
    """Two notes that were read together, `a` before `b`, with hashes of their texts: what was `said` of them.

    `likely` is how likely they tell one fact.
    """

    a: str
    b: str
    hash_a: str
    hash_b: str
    likely: float
    said: ReadTogether


def put_readings(connection: sqlite3.Connection, readings: Iterable[PairReading]) -> None:
    """Keep what reading said, but of notes that are gone or say something else by now."""
    connection.executemany(
        "INSERT OR REPLACE INTO readings (a, b, hash_a, hash_b, likely, anew, again) SELECT x.id, y.id, x.encode_hash, "
        "y.encode_hash, ?, ?, ? FROM notes x, notes y "
        "WHERE x.id = ? AND x.encode_hash = ? AND y.id = ? AND y.encode_hash = ?",
        [(row.likely, *row.said, row.a, row.hash_a, row.b, row.hash_b) for row in readings],
    )


def readings_of(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[frozenset[str], float]:
    """How likely two notes, one of them among these, tell one fact; only of those that say what they said then."""
    return {frozenset((a, b)): likely for a, b, likely, _, _ in _read_with(connection, ids)}


def said_of(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[frozenset[str], ReadTogether]:
    """The same, with what was said of the two."""
    return {frozenset((a, b)): ReadTogether(anew, again) for a, b, _, anew, again in _read_with(connection, ids)}


def _read_with(connection: sqlite3.Connection, ids: Sequence[str]) -> sqlite3.Cursor:
    return connection.execute(
        "WITH wanted AS (SELECT value AS id FROM json_each(?)), found AS ("
        "SELECT r.* FROM wanted CROSS JOIN readings r ON r.a = wanted.id UNION "
        "SELECT r.* FROM wanted CROSS JOIN readings r ON r.b = wanted.id) "
        "SELECT f.a, f.b, f.likely, f.anew, f.again FROM found f "
        "CROSS JOIN notes x ON x.id = f.a AND x.encode_hash = f.hash_a "
        "CROSS JOIN notes y ON y.id = f.b AND y.encode_hash = f.hash_b",
        (json.dumps(list(ids)),),
    )


def judged_apart(connection: sqlite3.Connection, ids: Iterable[str]) -> set[frozenset[str]]:
    """The pairs of these notes of which was judged, as they are written now, that nothing ties them."""
    rows = connection.execute(
        "WITH w AS (SELECT value AS id FROM json_each(?)) "
        "SELECT j.a, j.b FROM w CROSS JOIN judged j ON j.a = w.id "
        "JOIN notes x ON x.id = j.a JOIN notes y ON y.id = j.b WHERE j.b IN (SELECT id FROM w) AND j.verdict = 'none' "
        "AND (x.encode_hash, y.encode_hash) = (j.hash_a, j.hash_b)",
        (json.dumps(list(ids)),),
    )
    return set(map(frozenset, rows))


def queue_reading(connection: sqlite3.Connection, rowid: int) -> None:
    """Have a note read together with those near it, unless that was done when it was stored as it is."""
    connection.execute(
        f"INSERT OR IGNORE INTO unread (note) SELECT n.rowid FROM notes n WHERE n.rowid = ? AND n.id <> '{SELF_ID}' "  # noqa: S608 - own word
        "AND (n.updated > n.created OR NOT EXISTS "
        "(SELECT 1 FROM links l WHERE l.owner = n.id AND l.reason IN (SELECT value FROM json_each(?))))",
        (rowid, _READ_ALREADY),
    )


def forget_readings(connection: sqlite3.Connection, rowid: int, note_id: str) -> None:
    connection.execute("DELETE FROM unread WHERE note = ?", (rowid,))
    connection.execute("DELETE FROM readings WHERE a = ?1 OR b = ?1", (note_id,))


def unread(connection: sqlite3.Connection) -> str | None:
    """One of the last notes that are to be read; whichever of them, so that several processes read several."""
    row = connection.execute(
        "SELECT n.id FROM (SELECT note FROM unread ORDER BY note DESC LIMIT ?) u JOIN notes n ON n.rowid = u.note "
        "ORDER BY random() LIMIT 1",
        (_LAST,),
    ).fetchone()
    return None if row is None else str(row[0])


def read_pairs(links: Iterable[LinkRow], notes: Mapping[str, IndexedNote]) -> dict[frozenset[str], float]:
    """How likely two notes are versions of one fact, of those that were read together and have not changed since."""
    return {
        frozenset((link.source, link.target)): 0.0 if link.reason == APART else link.weight
        for link in links
        if link.reason in (ANEW, MAYBE, APART)
        and _is_as_it_was(notes.get(link.source), link.made)
        and _is_as_it_was(notes.get(link.target), link.made)
    }


def contradicting(links: Iterable[LinkRow], notes: Mapping[str, IndexedNote]) -> list[tuple[str, str]]:
    """Pairs of which somebody said, or their words show, that one contradicts the other; the older's id comes first.

    Evidence against a belief takes no place of it: how far that is still held the belief tells itself.
    """
    ends = ((link.source, link.target) for link in links if link.type == "contradicts")
    pairs = (in_time(notes[one].note, notes[other].note) for one, other in ends if one in notes and other in notes)
    return [(older.id, newer.id) for older, newer in pairs if "belief" not in (older.type, newer.type)]


def _is_as_it_was(item: IndexedNote | None, then: str) -> bool:
    """Whether a note is there and has not changed since."""
    return item is not None and item.note.updated <= then
