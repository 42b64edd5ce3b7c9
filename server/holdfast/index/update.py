"""One change of the index, and how it is written: inside a write transaction, all of it or nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

from holdfast.index.history import Advance, advance
from holdfast.index.lifecycle import JobRun, UseRow, put_importance, put_runs, put_uses
from holdfast.index.maintenance import Remembered, put_remembered
from holdfast.index.projection import FileRow, MadeVectors, NoteRow, put_file, put_vectors, remove_notes
from holdfast.index.questions import FeedbackRow, QuestionVector, put_feedback, put_question_vectors
from holdfast.index.sets import SetRow, drop_set, open_set, queue_all, settle_sets


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One change of one note, as the journal tells it."""

    note: str
    seq: int
    change: str
    op: str
    at: str


_UNSEEN = ("uses", "importance", "journal")


@dataclass(frozen=True, slots=True)
class Update:
    """What one change does to the index; all of it or nothing."""

    notes: Sequence[NoteRow] = ()
    gone: Sequence[str] = ()
    files: Sequence[FileRow] = ()
    gone_files: Sequence[str] = ()
    history: Sequence[HistoryRow] = ()
    vectors: Sequence[MadeVectors] = ()
    feedback: Sequence[FeedbackRow] = ()
    question_vectors: Sequence[QuestionVector] = ()
    opened: Sequence[SetRow] = ()
    dropped: Sequence[str] = ()
    requeued: Sequence[str] = ()  # sets whose vectors are all made anew
    uses: Sequence[UseRow] = ()
    runs: Sequence[JobRun] = ()
    importance: Sequence[tuple[str, float]] = ()  # note and score
    remembered: Sequence[Remembered] = ()
    journal: Sequence[Advance] = ()

    @property
    def is_seen(self) -> bool:
        """Whether a search or a resource may answer otherwise after it: uses and importance are for the daily jobs."""
        return any(getattr(self, field.name) for field in fields(self) if field.name not in _UNSEEN)


def apply_update(
    connection: sqlite3.Connection,
    update: Update,
    seq: int,
    put: Callable[[sqlite3.Connection, Sequence[NoteRow], int], None],
) -> None:
    """Write an update under the change number `seq`; `put` writes its notes."""
    for step in update.journal:
        advance(connection, step)
    for row in update.opened:
        open_set(connection, row, seq)
    for key in update.requeued:
        queue_all(connection, key)
    remove_notes(connection, update.gone, seq)
    connection.executemany("DELETE FROM files WHERE path = ?", [(path,) for path in update.gone_files])
    put(connection, update.notes, seq)
    for file in update.files:
        put_file(connection, file)
    connection.executemany(
        "INSERT OR IGNORE INTO history (note, seq, change, op, at) VALUES (?, ?, ?, ?, ?)",
        [(row.note, row.seq, row.change, row.op, row.at) for row in update.history],
    )
    for made in update.vectors:
        put_vectors(connection, made, seq)
    settle_sets(connection, {made.vector_set for made in update.vectors})
    put_feedback(connection, update.feedback, seq)
    put_question_vectors(connection, update.question_vectors)
    helped = [UseRow(row.note, row.at, row.seq) for row in update.feedback if row.explicit and row.signal > 0]
    put_uses(connection, [*update.uses, *helped])
    put_runs(connection, update.runs)
    put_importance(connection, update.importance, update.gone)
    for rows in update.remembered:
        put_remembered(connection, rows)
    for key in update.dropped:
        drop_set(connection, key)
