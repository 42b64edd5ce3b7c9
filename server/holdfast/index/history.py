"""How far the index knows the journal, and what it keeps of it beside rows of its own.

Kept in `meta`, so that a version that does not know of it passes it over:

    journal          a place in it, as text of the store's: every change up to there is known to be done or void
    pages            the number of the last record whose pages are counted in
    page <path>      [hash, bytes, foreign]: how a page is to look
    void <change>    a change up to there that never happened
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from holdfast.index.journal import drop_changes
from holdfast.model.omi import Baseline

_PLACE, _PAGES, _PAGE, _VOID = "journal", "pages", "page ", "void "
_PROJECTED = ("journal", "concerned", "feedback", "uses", "job_runs", "judged", "batches", "cursors")


@dataclass(frozen=True, slots=True)
class Known:
    """How far the journal is known: `place` is empty where nothing is. `pages` are those up to record `pages_seq`."""

    place: str = ""
    void: frozenset[str] = frozenset()
    pages_seq: int = 0
    pages: Mapping[str, Baseline] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Advance:
    """That the journal is known from one place to the next; does nothing where it is no longer known up to `since`.

    `anew` says that what was known is to be forgotten first, with every row that came from the journal.
    """

    since: str
    place: str
    void: Collection[str] = ()
    pages_seq: int = 0
    pages: Mapping[str, Baseline] = field(default_factory=dict)
    gone_pages: bool = False
    anew: bool = False


def known_journal(connection: sqlite3.Connection) -> Known:
    """How far the journal is known."""
    kept = dict(connection.execute("SELECT key, value FROM meta WHERE key IN (?, ?)", (_PLACE, _PAGES)).fetchall())
    void = frozenset(key.removeprefix(_VOID) for key, _ in _named(connection, _VOID))
    pages = {key.removeprefix(_PAGE): Baseline(*json.loads(value)) for key, value in _named(connection, _PAGE)}
    return Known(str(kept.get(_PLACE, "")), void, int(kept.get(_PAGES, 0)), pages)


def advance(connection: sqlite3.Connection, step: Advance) -> None:
    """Take a step; see `Advance`."""
    if step.anew:
        for table in _PROJECTED:
            connection.execute(f"DELETE FROM {table}")  # noqa: S608 - own names
        connection.execute("DELETE FROM meta WHERE key IN (?, ?)", (_PLACE, _PAGES))
        _drop(connection, _VOID)
        _drop(connection, _PAGE)
    elif _place(connection) != step.since:
        return  # another process has gone on, or begun anew
    if step.gone_pages:
        _drop(connection, _PAGE)
    if step.void:
        drop_changes(connection, step.void)
    rows: list[tuple[str, object]] = [(_PLACE, step.place), (_PAGES, step.pages_seq)]
    rows += [(f"{_VOID}{change}", 1) for change in step.void]
    rows += [(f"{_PAGE}{path}", json.dumps([base.hash, base.size, base.foreign])) for path, base in step.pages.items()]
    connection.executemany("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", rows)


def _place(connection: sqlite3.Connection) -> str:
    found = connection.execute("SELECT value FROM meta WHERE key = ?", (_PLACE,)).fetchone()
    return str(found[0]) if found else ""


def _named(connection: sqlite3.Connection, begin: str) -> list[tuple[str, str]]:
    return connection.execute(
        "SELECT key, value FROM meta WHERE key >= ? AND key < ?", (begin, begin[:-1] + chr(ord(begin[-1]) + 1))
    ).fetchall()


def _drop(connection: sqlite3.Connection, begin: str) -> None:
    connection.executemany("DELETE FROM meta WHERE key = ?", [(key,) for key, _ in _named(connection, begin)])
