"""Questions that were rated, as rows: what was said of which note, and the question it was said about."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.index.aliases import aliases_of


@dataclass(frozen=True, slots=True)
class Question:
    """A question that notes were rated for.

    `key` names it (`holdfast.model.affinity.question_key` of all of it), `asked` is its text without secrets, cut at
    the cap, `embedded` what its vector is made from: `asked` without the names of subjects.
    """

    key: str
    asked: str
    embedded: str


@dataclass(frozen=True, slots=True)
class FeedbackRow:
    """One signal on one note: `signal` is 1 or -1, `event` the recall that it is about, `at` an instant.

    Without a question it moves nothing; `event` is then the day.
    """

    note: str
    event: str
    seq: int
    signal: int
    explicit: bool
    at: str
    question: Question | None


@dataclass(frozen=True, slots=True)
class QuestionVector:
    """A question's embedding (float32 bytes, unit length) in one vector set."""

    question: str
    vector_set: str
    vector: bytes


# An explicit signal outlasts an implicit one; of two of a kind the later counts, in whatever order they are replayed.
_PUT = (
    "INSERT INTO feedback (note, event, seq, signal, explicit, at, question, changed) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (note, event) DO UPDATE SET seq = excluded.seq, signal = excluded.signal, "
    "explicit = excluded.explicit, at = excluded.at, question = excluded.question, changed = excluded.changed "
    "WHERE (excluded.explicit, excluded.seq) > (explicit, seq)"
)
_READ = (
    "SELECT f.note, f.event, f.seq, f.signal, f.explicit, f.at, q.key, q.asked, q.embedded "
    "FROM feedback f LEFT JOIN questions q ON q.key = f.question WHERE"
)


def put_feedback(connection: sqlite3.Connection, rows: Sequence[FeedbackRow], change_seq: int) -> None:
    """Keep signals; one that is known already, or gives way to what is known, changes nothing."""
    questions = [row.question for row in rows if row.question is not None]
    connection.executemany(
        "INSERT OR IGNORE INTO questions (key, asked, embedded) VALUES (?, ?, ?)",
        [(question.key, question.asked, question.embedded) for question in questions],
    )
    connection.executemany(
        _PUT,
        [
            (row.note, row.event, row.seq, row.signal, row.explicit, row.at,
             row.question.key if row.question else None, change_seq)
            for row in rows
        ],
    )  # fmt: skip


def put_question_vectors(connection: sqlite3.Connection, rows: Sequence[QuestionVector]) -> None:
    """Keep vectors; a question's first one in a set stays."""
    connection.executemany(
        "INSERT OR IGNORE INTO question_vectors (question, vector_set, vector) VALUES (?, ?, ?)",
        [(row.question, row.vector_set, row.vector) for row in rows],
    )


def feedback_of(connection: sqlite3.Connection, note_id: str) -> list[FeedbackRow]:
    """All signals on a note, and on those merged into it, in the order of their events."""
    names = json.dumps([note_id, *aliases_of(connection, [note_id])])
    clause = "f.note IN (SELECT value FROM json_each(?)) ORDER BY f.event"
    return [_row(values) for values in connection.execute(f"{_READ} {clause}", (names,))]


def feedback_since(connection: sqlite3.Connection, change_seq: int) -> list[FeedbackRow]:
    """All signals that were written after a change number."""
    return [_row(values) for values in connection.execute(f"{_READ} f.changed > ?", (change_seq,))]


def pending_questions(connection: sqlite3.Connection, key: str, since: str, most: int) -> list[Question]:
    """Questions of signals that are not older than `since` and have no vector of this set, newest first."""
    rows = connection.execute(
        "SELECT q.key, q.asked, q.embedded FROM feedback f JOIN questions q ON q.key = f.question "
        "WHERE f.at >= ? AND NOT EXISTS "
        "(SELECT 1 FROM question_vectors v WHERE v.vector_set = ? AND v.question = q.key) "
        "GROUP BY q.key ORDER BY max(f.seq) DESC LIMIT ?",
        (since, key, most),
    )
    return [Question(*row) for row in rows]


def vectors_of(connection: sqlite3.Connection, key: str, questions: Sequence[str]) -> list[tuple[str, bytes]]:
    """Those of these questions that have a vector of the set `key`, with it."""
    return connection.execute(
        "SELECT v.question, v.vector FROM json_each(?) w JOIN question_vectors v "
        "ON v.vector_set = ? AND v.question = w.value",
        (json.dumps(questions), key),
    ).fetchall()


def _row(values: tuple[str, str, int, int, int, str, str | None, str, str]) -> FeedbackRow:
    note, event, seq, signal, explicit, at, key, asked, embedded = values
    question = None if key is None else Question(key, asked, embedded)
    return FeedbackRow(note, event, seq, signal, bool(explicit), at, question)
