"""Looked up without a question: notes of a space, what is always relevant, names by their beginning, counts, hubs."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.index.aliases import meant
from holdfast.index.current import CURRENT, NOT_RETIRED
from holdfast.index.projection import HistoryRow
from holdfast.model.note import SELF_ID, id_range


@dataclass(frozen=True, slots=True)
class ListedNote:
    """A note as a listing shows it; `hash` names what its file holds."""

    id: str
    title: str
    type: str
    tier: str
    updated: str
    hash: str


def change_number(connection: sqlite3.Connection) -> int:
    """Another one after each change of the index."""
    found = connection.execute("SELECT value FROM meta WHERE key = 'change_seq'").fetchone()
    return int(found[0]) if found else 0


def listed(connection: sqlite3.Connection, space: str, now: str, most: int) -> tuple[list[ListedNote], int]:
    """Current notes of a space, the last changed first, and how many there are in all."""
    values = {"space": space, "now": now, "most": most}
    (count,) = connection.execute(f"SELECT count(*) FROM notes WHERE space = :space AND {CURRENT}", values).fetchone()  # noqa: S608 - own clauses
    rows = connection.execute(
        f"SELECT id, title, type, tier, updated, hash FROM notes WHERE space = :space AND {CURRENT} "  # noqa: S608 - own clauses
        "ORDER BY updated DESC, id DESC LIMIT :most",
        values,
    )
    return [ListedNote(*row) for row in rows], int(count)


def personal(connection: sqlite3.Connection, now: str, most: int) -> list[str]:
    """Ids of current notes about the user, then of their preferences; core ones first, then what happened last."""
    rows = connection.execute(
        f"SELECT id FROM notes WHERE (about_self = 1 OR type = 'preference') AND id <> '{SELF_ID}' AND {CURRENT} "  # noqa: S608 - own clauses
        "ORDER BY about_self DESC, tier <> 'core', happened DESC, id DESC LIMIT :most",
        {"now": now, "most": most},
    )
    return [note_id for (note_id,) in rows]


def completing(connection: sqlite3.Connection, typed: str, only_type: str | None, most: int) -> list[str]:
    """Ids that begin with what was typed, then those of notes whose titles hold its words, the last changed first."""
    ids: dict[str, None] = {}
    bounds = id_range(typed)
    if bounds is not None:
        found = connection.execute(
            "SELECT id FROM notes WHERE id BETWEEN ?1 AND ?2 AND (?3 IS NULL OR type = ?3) ORDER BY id LIMIT ?4",
            (*bounds, only_type, most),
        )
        ids.update(dict.fromkeys(note_id for (note_id,) in found))
    words = [] if typed.strip().lower() in ("m", "me", "mem", "mem_") else typed.casefold().split()
    titles = connection.execute(
        f"SELECT id, title FROM notes WHERE {NOT_RETIRED} AND (?1 IS NULL OR type = ?1) "  # noqa: S608 - own clause
        "ORDER BY updated DESC, id DESC",
        (only_type,),
    )
    for note_id, title in titles:
        if len(ids) >= most:
            break
        if all(word in title.casefold() for word in words):
            ids[note_id] = None
    return list(ids)


def spaces(connection: sqlite3.Connection) -> list[str]:
    """Names of all spaces that hold notes."""
    return [space for (space,) in connection.execute("SELECT DISTINCT space FROM notes ORDER BY space")]


def latest_changes(connection: sqlite3.Connection, most: int) -> list[tuple[HistoryRow, bool]]:
    """The last changes of notes, newest first, each with whether it is the first that is known of its note."""
    rows: Sequence[tuple[str, int, str, str, str, int]] = connection.execute(
        "SELECT note, seq, change, op, at, seq = (SELECT min(seq) FROM history f WHERE f.note = h.note) "
        "FROM history h ORDER BY seq DESC, note LIMIT ?",
        (most,),
    ).fetchall()
    return [(HistoryRow(*row[:5]), bool(row[5])) for row in rows]


_MOST_SPACES = 200


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts of the index. `notes` counts all, the three that follow what is current; `vectors` are chunks by set."""

    notes: int
    retired: int
    by_type: dict[str, int]
    by_tier: dict[str, int]
    by_space: dict[str, int]
    links: dict[str, int]
    vectors: dict[str, int]
    uses: int
    feedback: int


def statistics(connection: sqlite3.Connection) -> Statistics:
    """All of them, of one state of the index."""
    total, current = (_one(connection, f"SELECT count(*) FROM notes WHERE {which}") for which in ("true", NOT_RETIRED))  # noqa: S608 - own clauses
    by = {
        column: _counts(connection, f"SELECT {column}, count(*) FROM notes WHERE {NOT_RETIRED} GROUP BY 1")  # noqa: S608 - own clauses
        for column in ("type", "tier", "space")
    }
    return Statistics(
        total,
        total - current,
        by["type"],
        by["tier"],
        dict(list(by["space"].items())[:_MOST_SPACES]),
        _counts(connection, "SELECT type, count(*) FROM links GROUP BY 1"),
        _counts(connection, "SELECT vector_set, count(*) FROM vectors GROUP BY 1"),
        _one(connection, "SELECT count(*) FROM uses"),
        _one(connection, "SELECT count(*) FROM feedback"),
    )


def _one(connection: sqlite3.Connection, query: str) -> int:
    return int(connection.execute(query).fetchone()[0])


def _counts(connection: sqlite3.Connection, query: str) -> dict[str, int]:
    """By name, the most frequent first."""
    return dict(connection.execute(f"{query} ORDER BY 2 DESC, 1").fetchall())


_NEAR_SECONDS = 10  # between the time in a link and that of the change which made it


@dataclass(frozen=True, slots=True)
class Hub:
    """A note that many links lead to: `links` are (source, when), by time; `uses` counts its confirmed uses."""

    id: str
    type: str
    path: str
    links: tuple[tuple[str, str], ...]
    uses: int


def orphans(connection: sqlite3.Connection, most: int) -> tuple[int, list[str]]:
    """How many notes have no link to or from another one, and the ids of the first of them. Self is none."""
    alone = (
        "FROM notes n WHERE n.id <> ? "  # noqa: S608 - own clause
        f"AND NOT EXISTS (SELECT 1 FROM links l JOIN notes m ON m.id = {meant('l.target')} "
        "WHERE l.source = n.id AND m.id <> n.id) "
        "AND NOT EXISTS (SELECT 1 FROM links l JOIN notes m ON m.id = l.source WHERE l.target = n.id AND m.id <> n.id) "
        "AND NOT EXISTS (SELECT 1 FROM aliases a JOIN links l ON l.target = a.alias JOIN notes m ON m.id = l.source "
        "WHERE a.note = n.id AND m.id <> n.id)"
    )
    count = int(connection.execute(f"SELECT count(*) {alone}", (SELF_ID,)).fetchone()[0])
    rows = connection.execute(f"SELECT n.id {alone} ORDER BY n.id LIMIT ?", (SELF_ID, most))
    return count, [note for (note,) in rows]


def hubs(
    connection: sqlite3.Connection,
    least: int,
    most_uses: int,
    own_reasons: Sequence[str],
    own_ops: Sequence[str],
    moving_ops: Sequence[str],
) -> list[Hub]:
    """Notes with at least `least` links to them that somebody asked for, and fewer uses than `most_uses`.

    Args:
        connection: one state of the index.
        least: links; each counts from when it was made, else from when its note was.
        most_uses: days on which the note is known to have helped.
        own_reasons: what links say that were made by themselves.
        own_ops: verbs whose links are no sign of haste; a link is theirs if its note was changed by one then.
        moving_ops: verbs that bring notes with the links that these had elsewhere, all at once.
    """
    rows = connection.execute(
        "SELECT t.id, t.type, t.path, l.source, coalesce(nullif(l.created, ''), o.created) AS at "
        "FROM links l JOIN notes s ON s.id = l.source JOIN notes t ON t.id = l.target JOIN notes o ON o.id = l.owner "
        "WHERE l.target IN (SELECT target FROM links GROUP BY target HAVING count(*) >= ?) "
        "AND l.source <> l.target AND t.id <> ? AND l.reason NOT IN (SELECT value FROM json_each(?)) "
        "AND NOT EXISTS (SELECT 1 FROM history h WHERE h.note = l.owner AND l.created <> '' "
        " AND h.op IN (SELECT value FROM json_each(?)) "
        " AND abs(strftime('%s', h.at) - strftime('%s', l.created)) <= ?) "
        "AND NOT EXISTS (SELECT 1 FROM history h WHERE h.note = l.owner AND l.created <= h.at "
        " AND h.op IN (SELECT value FROM json_each(?))) "
        "ORDER BY t.id, at, l.source",
        (
            least,
            SELF_ID,
            json.dumps(list(own_reasons)),
            json.dumps(list(own_ops)),
            _NEAR_SECONDS,
            json.dumps(list(moving_ops)),
        ),
    )
    found: dict[str, tuple[str, str, list[tuple[str, str]]]] = {}
    for note, kind, path, source, at in rows:
        found.setdefault(note, (kind, path, []))[2].append((source, at))
    many = {note: item for note, item in found.items() if len(item[2]) >= least}
    uses = _uses(connection, list(many))
    return [
        Hub(note, kind, path, tuple(links), uses.get(note, 0))
        for note, (kind, path, links) in many.items()
        if uses.get(note, 0) < most_uses
    ]


def _uses(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, int]:
    """Days on which the note was confirmed to be of use."""
    rows = connection.execute(
        "SELECT note, count(*) FROM uses WHERE note IN (SELECT value FROM json_each(?)) GROUP BY note",
        (json.dumps(list(ids)),),
    )
    return dict(rows.fetchall())


def hashes(connection: sqlite3.Connection) -> list[tuple[str, str, str]]:
    """Id, path and content hash of every note."""
    return connection.execute("SELECT id, path, hash FROM notes ORDER BY id").fetchall()


def beliefs(connection: sqlite3.Connection) -> list[str]:
    """The paths of all beliefs."""
    return [path for (path,) in connection.execute("SELECT path FROM notes WHERE type = 'belief' ORDER BY id")]


def check(connection: sqlite3.Connection) -> bool:
    """Whether SQLite finds its file in order."""
    return bool(connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
