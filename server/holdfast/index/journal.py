"""The journal in the index: a row for each line, and how far it is known.

A line has a row by its number and one for each note that it concerns. What it says beside that goes into tables of its
own: feedback, uses, runs of jobs, verdicts of maintenance. Nothing else fills any of them, so that an index that is
made anew from the journal has the same rows. No row holds a text.

How far the journal is known is kept in `meta`, so that a version that does not know of it passes it over:

    journal          a place in it, as text of the store's: every change up to there is known to be done or void
    pages            the number of the last record whose pages are counted in
    page <path>      [hash, bytes, foreign]: how a page is to look; once `foreign` was only true or false
    void <change>    a change up to there that never happened
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from holdfast.index.maintenance import (
    BatchRow,
    CursorRow,
    JobRun,
    JudgedRow,
    Remembered,
    UseRow,
    judged_with,
    put_remembered,
    put_runs,
    put_uses,
)
from holdfast.index.recalls import FeedbackRow, RatedQuestion, put_feedback
from holdfast.model.maintenance import SCOPES
from holdfast.model.note import is_note_id, read_instant
from holdfast.model.records import ADOPT, MAINTENANCE, NO_HASH, PURGE, RESTORE, Baseline, JournalRecord

# What a line does to a note that it concerns: it only speaks of it, or its change made, changed or deleted it.
NAMED, MADE, CHANGED, GONE = range(4)

TABLES = f"""
    CREATE TABLE journal (
        seq INTEGER PRIMARY KEY, op TEXT NOT NULL, at TEXT NOT NULL, by TEXT NOT NULL, source TEXT NOT NULL,
        change TEXT, undoes TEXT, outcome TEXT, led_to TEXT, dry_run INTEGER NOT NULL, unplaced INTEGER NOT NULL
    );
    CREATE TABLE concerned (
        seq INTEGER NOT NULL, place INTEGER NOT NULL, note TEXT NOT NULL, became INTEGER NOT NULL,
        PRIMARY KEY (seq, place)
    ) WITHOUT ROWID;
    CREATE VIEW history AS
        SELECT c.note, c.seq, j.change, j.op, j.at FROM concerned c JOIN journal j ON j.seq = c.seq
        WHERE c.became <> {NAMED} AND j.op <> '{ADOPT}';
"""  # noqa: S608 - own words
INDEXES = {
    "journal_change": "journal (change) WHERE change IS NOT NULL",
    "journal_undoes": "journal (undoes) WHERE undoes IS NOT NULL",
    "journal_op": "journal (op, seq)",
    "concerned_note": "concerned (note, seq, became)",
}
_PUT_LINE = (
    "INSERT OR IGNORE INTO journal (seq, op, at, by, source, change, undoes, outcome, led_to, dry_run, unplaced) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_PUT_NOTE = "INSERT OR IGNORE INTO concerned (seq, place, note, became) VALUES (?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class LineRow:
    """A line of the journal as the index has it; `change` is None where it announces none.

    `undone_by` is the change that undid it and is not undone itself; `was_undone` says that there ever was an undo.
    `nodes` are the notes that it concerns.
    """

    seq: int
    op: str
    at: str
    by: str
    source: str
    change: str | None
    undoes: str | None
    outcome: str | None
    dry_run: bool
    undone_by: str | None
    was_undone: bool
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LinesWanted:
    """Which lines are asked for, the newest first; what is not said does not matter.

    Attributes:
        most: how many.
        ops: of these verbs.
        verb: of this verb, whole or its first word behind `admin_`.
        notes: that concern a note between these two ids.
        silent: beginnings of verbs that are left out unless `verb` names one of them.
        until: made up to this instant.
    """

    most: int
    ops: Collection[str] = ()
    verb: str = ""
    notes: tuple[str, str] | None = None
    silent: Sequence[str] = field(default=())
    until: str = "~"


def put_records(connection: sqlite3.Connection, records: Sequence[JournalRecord], change_seq: int) -> None:
    """Take lines in with all that they say; one that is known already changes nothing."""
    put_lines(connection, records)
    feedback = [rated for record in records if (rated := _feedback(record)) is not None]
    if feedback:
        put_feedback(connection, feedback, change_seq)
    helped = [UseRow(row.note, row.at, row.seq) for row in feedback if row.explicit and row.signal > 0]
    if uses := [*(used for record in records if (used := _use(record)) is not None), *helped]:
        put_uses(connection, uses)
    if runs := [run for record in records if (run := _run(record)) is not None]:
        put_runs(connection, runs)
    for record in records:
        if record.judged or record.batch is not None or record.cursors:
            put_remembered(connection, _remembered(record))


def put_lines(connection: sqlite3.Connection, records: Sequence[JournalRecord]) -> None:
    """Take in that lines are there and which notes they concern; what else they say may never have happened."""
    lines = [record for record in records if record.op]
    connection.executemany(_PUT_LINE, map(_line, lines))
    connection.executemany(_PUT_NOTE, (row for record in lines for row in _concerned(record)))


def drop_changes(connection: sqlite3.Connection, changes: Collection[str]) -> None:
    """Take away lines whose changes never happened."""
    wanted = json.dumps(list(changes))
    chosen = "SELECT seq FROM journal WHERE change IN (SELECT value FROM json_each(?))"
    connection.execute(f"DELETE FROM concerned WHERE seq IN ({chosen})", (wanted,))  # noqa: S608 - own clause
    connection.execute("DELETE FROM journal WHERE change IN (SELECT value FROM json_each(?))", (wanted,))


def _line(record: JournalRecord) -> tuple[object, ...]:
    return (
        record.seq, record.op, record.at, record.by, record.source, record.change, record.undoes, record.outcome,
        record.change_id, record.dry_run, record.unplaced,
    )  # fmt: skip


def _concerned(record: JournalRecord) -> Iterable[tuple[int, int, str, int]]:
    if record.change is not None:
        for place, file in enumerate(record.files):
            if not file.is_page:
                yield record.seq, place, file.note, _became(file.before, file.after)
        return
    named = (record.note, record.use, record.feedback.note if record.feedback else None)
    for place, note in enumerate(dict.fromkeys(each for each in named if each and is_note_id(each))):
        yield record.seq, place, note, NAMED


def _became(before: str | None, after: str | None) -> int:
    if after is None:
        return CHANGED if before == NO_HASH else GONE  # what was purged is in no trash
    return MADE if before is None else CHANGED


def _instant(record: JournalRecord) -> str | None:
    try:
        return read_instant(record.at)
    except ValueError:
        return None


def _feedback(record: JournalRecord) -> FeedbackRow | None:
    given, at = record.feedback, _instant(record) if record.feedback else None
    if given is None or at is None:
        return None
    asked = given.question
    question = RatedQuestion(asked.key, asked.asked, asked.embedded) if asked else None
    return FeedbackRow(given.note, given.event, record.seq, given.signal, given.explicit, at, question)


def _use(record: JournalRecord) -> UseRow | None:
    at = _instant(record) if record.use else None
    return UseRow(record.use, at, record.seq) if record.use and at else None


def _run(record: JournalRecord) -> JobRun | None:
    if record.job is None and record.maintenance is None:
        return None
    at = _instant(record)
    if at is None:
        return None
    if record.job is None:
        return JobRun(MAINTENANCE, record.seq, at, "done", 0, 0)
    return JobRun(record.job.name, record.seq, at, record.job.outcome, record.job.changed, record.job.milliseconds)


def _remembered(record: JournalRecord) -> Remembered:
    judged = [
        JudgedRow(
            each.a, each.b, SCOPES[each.verdict], each.hash_a, each.hash_b, each.verdict, record.seq, record.change
        )
        for each in record.judged
        if each.verdict in SCOPES
    ]
    batch = record.batch
    items = json.dumps([[kind, [list(text) for text in texts]] for kind, texts in batch.items]) if batch else ""
    batches = [BatchRow(batch.id, record.by, record.at, batch.expires, items)] if batch and record.at else []
    cursors = [CursorRow(kind, newest, swept, record.seq) for kind, (newest, swept) in record.cursors.items()]
    return Remembered(judged, batches, cursors)


def lines(connection: sqlite3.Connection, wanted: LinesWanted) -> list[LineRow]:
    """Lines of the journal, the newest first; see `LinesWanted`."""
    clauses, values = ["j.at <= ?"], [wanted.until]
    if wanted.ops:
        clauses.append("j.op IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(list(wanted.ops)))
    if wanted.verb:
        clauses.append(f"(j.op = ? OR {_FIRST_WORD} = ?)")
        values += [wanted.verb, wanted.verb]
    if wanted.notes is not None:
        clauses.append("j.seq IN (SELECT seq FROM concerned WHERE note BETWEEN ? AND ?)")
        values += wanted.notes
    for beginning in wanted.silent:
        clauses.append("(substr(j.op, 1, ?) <> ? OR j.op = ?)")
        values += [str(len(beginning)), beginning, wanted.verb]
    clauses.append("(j.change IS NOT NULL OR j.outcome IS NOT 'done' OR j.led_to IS NULL)")  # else the change says it
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM journal j WHERE {' AND '.join(clauses)} ORDER BY j.seq DESC LIMIT ?",  # noqa: S608 - own clauses
        (*values, wanted.most),
    ).fetchall()
    return [_row(connection, row) for row in found]


_COLUMNS = "seq, op, at, by, source, change, undoes, outcome, dry_run"
_WORDS = "CASE WHEN substr(j.op, 1, 6) = 'admin_' THEN substr(j.op, 7) ELSE j.op END || '_'"
_FIRST_WORD = f"substr({_WORDS}, 1, instr({_WORDS}, '_') - 1)"


def line_of_change(connection: sqlite3.Connection, change: str) -> LineRow | None:
    """The line that announced a change; None where there is none, or where it never happened."""
    found = connection.execute(f"SELECT {_COLUMNS} FROM journal WHERE change = ?", (change,)).fetchone()  # noqa: S608 - own columns
    return _row(connection, found) if found else None


def _row(connection: sqlite3.Connection, row: Sequence[object]) -> LineRow:
    seq, op, at, by, source, change, undoes, outcome, dry_run = row
    notes = connection.execute("SELECT note FROM concerned WHERE seq = ? ORDER BY place", (seq,))
    nodes = tuple(dict.fromkeys(note for (note,) in notes if is_note_id(note)))
    undos = undos_of(connection, str(change)) if change else []
    undone_by = _standing(connection, undos)
    return LineRow(seq, op, at, by, source, change, undoes, outcome, bool(dry_run), undone_by, bool(undos), nodes)  # type: ignore[arg-type] # as the table has them


def undos_of(connection: sqlite3.Connection, change: str) -> list[str]:
    """The changes that undid this one, the last one first."""
    found = "SELECT change FROM journal WHERE undoes = ?1 AND change IS NOT NULL AND change <> ?1 ORDER BY seq DESC"
    return [undo for (undo,) in connection.execute(found, (change,))]


def change_since(connection: sqlite3.Connection, notes: Collection[str], seq: int) -> str | None:
    """The last change of any of these notes behind a line of the journal: one that stands, and is no undo."""
    rows = connection.execute(
        "SELECT DISTINCT h.seq, h.change FROM history h JOIN journal j ON j.seq = h.seq "
        "WHERE h.note IN (SELECT value FROM json_each(?)) AND h.seq > ? AND j.undoes IS NULL ORDER BY h.seq DESC",
        (json.dumps(list(notes)), seq),
    )
    return next((each for _, each in rows if _standing(connection, undos_of(connection, each)) is None), None)


def _standing(connection: sqlite3.Connection, undos: Sequence[str]) -> str | None:
    """The undo that was not undone itself."""
    return next((undo for undo in undos if _standing(connection, undos_of(connection, undo)) is None), None)


def judged(connection: sqlite3.Connection, note_id: str, others: Sequence[str]) -> dict[str, list[JudgedRow]]:
    """What was judged of a note and each of the others, by the other's id; a verdict that was undone is none."""
    found = judged_with(connection, note_id, others)
    return {other: left for other, rows in found.items() if (left := [row for row in rows if _stands(connection, row)])}


def _stands(connection: sqlite3.Connection, row: JudgedRow) -> bool:
    return row.change is None or _standing(connection, undos_of(connection, row.change)) is None


def deletions(connection: sqlite3.Connection, low: str, high: str) -> dict[str, int]:
    """The numbers of the lines that last deleted notes with ids between these two, by id."""
    rows = connection.execute(
        "SELECT note, max(seq) FROM concerned WHERE note BETWEEN ? AND ? AND became = ? GROUP BY note",
        (low, high, GONE),
    )
    return dict(rows.fetchall())


def fate(connection: sqlite3.Connection, note: str) -> tuple[str, str, bool] | None:
    """The last change of a note: its verb, when it was, and whether it deleted the note.

    None where there was none, and where the note was purged since, or a backup put in the place of all notes.
    """
    last = connection.execute(
        "SELECT j.seq, j.op, j.at, c.became FROM concerned c JOIN journal j ON j.seq = c.seq "
        "WHERE c.note = ? AND (c.became <> ? OR j.op = ?) AND j.op <> ? ORDER BY c.seq DESC LIMIT 1",
        (note, NAMED, PURGE, ADOPT),
    ).fetchone()
    if last is None or last[1] == PURGE:
        return None
    restored = connection.execute("SELECT 1 FROM journal WHERE op = ? AND seq > ? LIMIT 1", (RESTORE, last[0]))
    return (last[1], last[2], last[3] == GONE) if restored.fetchone() is None else None


def unplaced(connection: sqlite3.Connection, notes: Collection[str]) -> set[str]:
    """Those of these notes that were stored without a space because their caller had none."""
    rows = connection.execute(
        "SELECT DISTINCT c.note FROM json_each(?) w JOIN concerned c ON c.note = w.value "
        "JOIN journal j ON j.seq = c.seq WHERE j.unplaced",
        (json.dumps(list(notes)),),
    )
    return {note for (note,) in rows}


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
    pages = {key.removeprefix(_PAGE): _baseline(*json.loads(value)) for key, value in _named(connection, _PAGE)}
    return Known(str(kept.get(_PLACE, "")), void, int(kept.get(_PAGES, 0)), pages)


def _baseline(mark: str | None, size: int | None, foreign: str | bool) -> Baseline:
    return Baseline(mark, size, "edited" if foreign is True else foreign or "")


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
