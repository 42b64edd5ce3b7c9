"""Looked up without a question, for agents and for a person who looks through the memory."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from holdfast.index.current import CURRENT, NOT_RETIRED, current
from holdfast.index.projection import HistoryRow
from holdfast.index.rows import meant
from holdfast.model.intent import BOX, TASK, Form, openings
from holdfast.model.lifecycle import FIRST_CONFIDENCE
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


# How a note begins that says something of the user, where nobody has marked it as such.
_OF_THE_USER = (
    "my name|my pronouns|call me|i am|i m|i prefer|i like|i love|i hate|i dislike|i live|i work|i always|i never|"
    "i usually|i speak|i want you to|user prefers|user likes|user dislikes|user hates|user wants|user is|user lives|"
    "user works|user has|user s name|the user prefers|the user likes|the user dislikes|the user hates|the user wants|"
    "the user is|the user lives|the user works|the user has|the user s name|"
    "ich heiße|mein name ist|ich bin|ich mag|ich bevorzuge|ich wohne|ich arbeite|ich hasse|nenn mich|der nutzer|"
    "die nutzerin|der benutzer|die benutzerin|"
    "je m appelle|mon nom est|je suis|j aime|je préfère|je déteste|j habite|je travaille|appelle moi|l utilisateur|"
    "l utilisatrice|"
    "me llamo|mi nombre es|soy un|soy una|soy de|prefiero|me gusta|me gustan|odio|vivo en|trabajo en|llámame|"
    "el usuario|la usuaria"
)
_TELLS_OF_THE_USER = f"""{{title body}} : (^"{_OF_THE_USER.replace("|", '" OR ^"')}")"""


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
    """Ids of current notes about the user, then of their preferences, then of what begins as one of these does.

    In each the core ones are first, then what happened last.
    """
    of_the_user = (
        "about_self = 1 OR type = 'preference' OR rowid IN (SELECT rowid FROM texts WHERE texts MATCH :telling)"
    )
    rows = connection.execute(
        f"SELECT id FROM notes WHERE ({of_the_user}) AND id <> '{SELF_ID}' AND {CURRENT} "  # noqa: S608 - own clauses
        "ORDER BY about_self DESC, type <> 'preference', tier <> 'core', happened DESC, id DESC LIMIT :most",
        {"now": now, "most": most, "telling": _TELLS_OF_THE_USER},
    )
    return [note_id for (note_id,) in rows]


def beginning(connection: sqlite3.Connection, form: Form, spaces: Sequence[str], now: str, most: int) -> list[str]:
    """Ids of current notes of these spaces, or of all, that may be of a form by how they begin, the latest first."""
    first, within = openings(form)
    asked = " OR ".join((*(f'^"{phrase}"' for phrase in first), *(f'"{phrase}"' for phrase in within)))
    boxed = " UNION SELECT rowid FROM notes WHERE instr(content, :box)" if form == TASK else ""  # no word is in it
    rows = connection.execute(
        f"SELECT id FROM notes WHERE rowid IN (SELECT rowid FROM texts WHERE texts MATCH :asked{boxed}) AND {CURRENT} "  # noqa: S608 - own clauses
        "AND (:spaces = '[]' OR space IN (SELECT value FROM json_each(:spaces))) "
        "ORDER BY happened DESC, id DESC LIMIT :most",
        {"now": now, "most": most, "spaces": json.dumps(spaces), "box": BOX, "asked": f"{{title body}} : ({asked})"},
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
    """Names of all spaces that hold notes, in order: one look into the index for each, however many notes there are."""
    rows: Sequence[tuple[str]] = connection.execute(
        "WITH RECURSIVE names (name) AS (SELECT min(space) FROM notes UNION ALL "
        "SELECT (SELECT min(space) FROM notes WHERE space > name) FROM names WHERE name IS NOT NULL) "
        "SELECT name FROM names WHERE name IS NOT NULL"
    ).fetchall()
    return [name for (name,) in rows]


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
    """A note that many links lead to: `links` are (source, when), by time; `uses` counts its confirmed uses.

    `by_tools` says that each of them was made by a change of the tools.
    """

    id: str
    type: str
    path: str
    links: tuple[tuple[str, str], ...]
    uses: int
    by_tools: bool


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
        "SELECT t.id, t.type, t.path, l.source, coalesce(nullif(l.created, ''), o.created) AS at, "
        "EXISTS (SELECT 1 FROM history h WHERE h.note = l.owner AND l.created <> '' "
        " AND abs(strftime('%s', h.at) - strftime('%s', l.created)) <= ?) "
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
            _NEAR_SECONDS,
            least,
            SELF_ID,
            json.dumps(list(own_reasons)),
            json.dumps(list(own_ops)),
            _NEAR_SECONDS,
            json.dumps(list(moving_ops)),
        ),
    )
    found: dict[str, tuple[str, str, list[tuple[str, str]]]] = {}
    foreign = set()
    for note, kind, path, source, at, by_tools in rows:
        found.setdefault(note, (kind, path, []))[2].append((source, at))
        foreign |= set() if by_tools else {note}
    many = {note: item for note, item in found.items() if len(item[2]) >= least}
    uses = _uses(connection, list(many))
    return [
        Hub(note, kind, path, tuple(links), uses.get(note, 0), note not in foreign)
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


def emptied(connection: sqlite3.Connection, most: int) -> list[str]:
    """Paths of notes that a tool wrote and whose files say nothing any more."""
    rows = connection.execute(
        "SELECT path FROM notes n WHERE trim(content, char(9, 10, 13, 32)) = '' "
        "AND EXISTS (SELECT 1 FROM history h WHERE h.note = n.id) ORDER BY path LIMIT ?",
        (most,),
    )
    return [path for (path,) in rows]


def beliefs(connection: sqlite3.Connection) -> list[str]:
    """The paths of all beliefs."""
    return [path for (path,) in connection.execute("SELECT path FROM notes WHERE type = 'belief' ORDER BY id")]


def check(connection: sqlite3.Connection) -> bool:
    """Whether SQLite finds its file in order."""
    return bool(connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")


_CURRENT = current("n")


@dataclass(frozen=True, slots=True)
class ChangedNotes:
    """A change of notes: its number and id, its verb, when it was made, and the ids of its notes."""

    seq: int
    change: str
    op: str
    at: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Opposed:
    """Two current notes of which the first contradicts the second."""

    first: str
    second: str
    reason: str


def changes_before(connection: sqlite3.Connection, space: str | None, before: int, most: int) -> list[ChangedNotes]:
    """Changes of notes, newest first.

    Args:
        connection: one state of the index.
        space: only changes of notes that are in it; None for all, those of notes that are gone too.
        before: only changes with a smaller number.
        most: how many.
    """
    of_space = "AND EXISTS (SELECT 1 FROM notes n WHERE n.id = h.note AND n.space = :space)" if space else ""
    rows = connection.execute(
        "SELECT h.seq, h.change, h.op, h.at, group_concat(h.note) FROM history h "  # noqa: S608 - own clause
        f"WHERE h.seq < :before {of_space} GROUP BY h.seq ORDER BY h.seq DESC LIMIT :most",
        {"before": before, "space": space, "most": most},
    )
    return [ChangedNotes(seq, change, op, at, tuple(sorted(notes.split(",")))) for seq, change, op, at, notes in rows]


def opposed(connection: sqlite3.Connection, space: str | None, now: str, most: int) -> list[Opposed]:
    """Pairs of current notes with an edge that says they contradict each other; with a space, those that touch it."""
    rows = connection.execute(
        f"SELECT n.id, m.id, max(l.reason) FROM links l JOIN notes n ON n.id = {meant('l.source')} "  # noqa: S608 - own
        f"JOIN notes m ON m.id = {meant('l.target')} WHERE l.type = 'contradicts' AND n.id <> m.id AND {_CURRENT} "
        f"AND {current('m')} AND (:space IS NULL OR :space IN (n.space, m.space)) "
        "GROUP BY n.id, m.id ORDER BY max(n.updated, m.updated) DESC, n.id, m.id LIMIT :most",
        {"now": now, "space": space, "most": most},
    )
    return [Opposed(*row) for row in rows]


def doubted(connection: sqlite3.Connection, space: str | None, now: str, most: int) -> list[str]:
    """Ids of current beliefs that are held no longer, the least believed first."""
    rows = connection.execute(
        f"SELECT n.id FROM notes n WHERE n.type = 'belief' AND n.confidence < :held AND {_CURRENT} "  # noqa: S608 - own
        "AND (:space IS NULL OR n.space = :space) ORDER BY n.confidence, n.updated DESC, n.id LIMIT :most",
        {"now": now, "held": FIRST_CONFIDENCE, "space": space, "most": most},
    )
    return [note for (note,) in rows]


def foremost(connection: sqlite3.Connection, space: str | None, now: str, most: int) -> tuple[list[str], int]:
    """Current notes that stand for a space, or for all: core ones, then by importance; and how many there are."""
    where = f"WHERE {_CURRENT} AND n.id <> '{SELF_ID}' AND (:space IS NULL OR n.space = :space)"
    values = {"now": now, "space": space, "most": most}
    (count,) = connection.execute(f"SELECT count(*) FROM notes n {where}", values).fetchone()  # noqa: S608 - own clause
    rows = connection.execute(
        "SELECT n.id FROM notes n LEFT JOIN importance i ON i.note = n.id "  # noqa: S608 - own clause
        f"{where} ORDER BY n.tier <> 'core', coalesce(i.value, 0) DESC, n.happened DESC, n.id DESC LIMIT :most",
        values,
    )
    return [note for (note,) in rows], int(count)


def replaced_by(connection: sqlite3.Connection, ids: Sequence[str], most: int) -> list[str]:
    """Ids of notes that one of these replaced, the last retired first."""
    rows = connection.execute(
        "SELECT id FROM notes WHERE superseded_by IN (SELECT value FROM json_each(?)) "
        "ORDER BY updated DESC, id LIMIT ?",
        (json.dumps(list(ids)), most),
    )
    return [note for (note,) in rows]


def months(connection: sqlite3.Connection, space: str | None, most: int) -> list[tuple[str, int, int]]:
    """How many notes are about what happened in each month, and how many of them are retired; the newest first."""
    return connection.execute(
        "SELECT substr(happened, 1, 7) AS month, count(*), sum(outdated) FROM notes "
        "WHERE id <> ?1 AND (?2 IS NULL OR space = ?2) "
        "GROUP BY month ORDER BY month DESC LIMIT ?3",
        (SELF_ID, space, most),
    ).fetchall()


def firmest_beliefs(connection: sqlite3.Connection, spaces: Sequence[str], count: int) -> list[tuple[str, str, float]]:
    """Id, title and confidence of the current beliefs of some spaces, those held most firmly first."""
    return connection.execute(
        f"SELECT id, title, confidence FROM notes WHERE type = 'belief' AND {NOT_RETIRED} "  # noqa: S608 - own words
        "AND space IN (SELECT value FROM json_each(?)) "
        "ORDER BY confidence DESC, updated DESC, id LIMIT ?",
        (json.dumps(list(spaces)), count),
    ).fetchall()


def with_history(connection: sqlite3.Connection, ids: Sequence[str]) -> set[str]:
    """Which of these ids a note has or had, whatever became of it."""
    rows = connection.execute(
        "SELECT note FROM history WHERE note IN (SELECT value FROM json_each(?1)) "
        "UNION SELECT alias FROM aliases WHERE alias IN (SELECT value FROM json_each(?1))",
        (json.dumps(ids),),
    )
    return {note for (note,) in rows}


def successors(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, list[str]]:
    """For each note those that replaced it, the last one at the end; notes that nothing replaced are left out."""
    next_one = meant("n.superseded_by")
    rows = connection.execute(
        "WITH RECURSIVE reached (id) AS ("  # noqa: S608 - own clause
        f" SELECT value FROM json_each(?) UNION SELECT {next_one} FROM reached JOIN notes n USING (id)) "
        f"SELECT id, {next_one} FROM reached JOIN notes n USING (id)",
        (json.dumps(ids),),
    )
    following = dict(rows.fetchall())  # None behind the last
    chains = ((first, _chain(following, first)) for first in ids)
    return {first: chain for first, chain in chains if chain}


def _chain(following: Mapping[str, str | None], first: str) -> list[str]:
    """What follows a note, up to the last that is there; a ring is walked once."""
    chain: dict[str, None] = {}
    step = following.get(first)
    while step is not None and step in following and step != first and step not in chain:
        chain[step] = None
        step = following[step]
    return list(chain)


def count_notes(connection: sqlite3.Connection) -> int:
    """How many notes there are."""
    return int(connection.execute("SELECT count(*) FROM notes").fetchone()[0])


def usage(connection: sqlite3.Connection) -> tuple[int, int]:
    """How many notes there are besides Self, those in quarantine included, and how many bytes their files have."""
    row = connection.execute("SELECT count(*), total(size) FROM files WHERE note IS NOT ?", [SELF_ID])
    notes, size = row.fetchone()
    return int(notes), int(size)


def having_text(connection: sqlite3.Connection, encode_hashes: Collection[str]) -> set[str]:
    """Those of these hashes that name the text of a note."""
    wanted = json.dumps(list(encode_hashes))
    found = connection.execute(
        "SELECT DISTINCT encode_hash FROM notes WHERE encode_hash IN (SELECT value FROM json_each(?))", (wanted,)
    )
    return {row[0] for row in found}
