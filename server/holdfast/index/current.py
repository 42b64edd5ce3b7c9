"""Which notes are current, by which short ids they are told, and of which version the tables are.

Only sqlite3 and the model are imported: a hook that is a command, and runs where no server does, waits for it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Final, Literal

from holdfast.model.note import GLOBAL_SPACE, PREFIX, SELF_ID

SCHEMA: Final = 8  # of the index's tables; whoever changes them counts on
NOT_RETIRED: Final = "outdated = 0"  # superseded ones count as outdated, see `Note.is_outdated`
CURRENT: Final = f"{NOT_RETIRED} AND (valid_until IS NULL OR valid_until > :now)"
TIME_DIGITS: Final = 8  # of an id: a quarter of a second
Standing = Literal["core", "recent", "self"]
_STANDING: Final = {
    "core": f"tier = 'core' AND space IN (:space, '{GLOBAL_SPACE}') AND id <> '{SELF_ID}'",
    "recent": f"tier = 'working' AND space = :space AND id <> '{SELF_ID}'",
    "self": f"(id = '{SELF_ID}' OR id IN (SELECT target FROM links WHERE source = '{SELF_ID}') AND about_self = 1)",  # noqa: S608 - own words
}
_ORDER: Final = {
    "core": "space <> :space, updated DESC, id DESC",
    "recent": "updated DESC, id DESC",
    "self": f"id <> '{SELF_ID}', tier <> 'core', updated DESC, id DESC",
}


def standing(connection: sqlite3.Connection, which: Standing, space: str, now: str, most: int) -> list[str]:
    """Ids of current notes that matter without a question.

    `core` are those of the space and of none; `recent` the working ones of the space, the last changed first; `self`
    the Self note and what is about it.
    """
    rows = connection.execute(
        f"SELECT id FROM notes WHERE {_STANDING[which]} AND {CURRENT} ORDER BY {_ORDER[which]} LIMIT :most",  # noqa: S608 - own clauses
        {"space": space, "now": now, "most": most},
    )
    return [note_id for (note_id,) in rows]


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
