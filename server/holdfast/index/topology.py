"""What the graph looks like as a whole: notes that stand alone, and what a hub's links and uses are."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.index.aliases import meant
from holdfast.model.ids import SELF_ID

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
    """Days on which somebody said that the note helped."""
    rows = connection.execute(
        "SELECT note, count(DISTINCT substr(at, 1, 10)) FROM feedback "
        "WHERE signal = 1 AND explicit AND note IN (SELECT value FROM json_each(?)) GROUP BY note",
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
