"""The index's tables. The index is derived: one of another version is not carried on but made anew from the notes."""

from __future__ import annotations

import sqlite3

from holdfast.errors import IndexSchemaError
from holdfast.index import journal
from holdfast.index.current import SCHEMA
from holdfast.model.note import FIELDS

# Tables without row ids have the columns of their key first, in its order: SQLite's quick_check misjudges others.
_LONG = ("title", "tags", "content")  # come last: most reads of a row stop before
TOKENIZER = "porter unicode61 remove_diacritics 2 categories ''L* N* Co Mn Mc''"
_TABLES = f"""
    CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
    CREATE TABLE notes (
        rowid INTEGER PRIMARY KEY AUTOINCREMENT,
        {", ".join(f"{field.name} {field.column}" for field in FIELDS if field.column and field.name not in _LONG)},
        changed INTEGER NOT NULL, happened TEXT NOT NULL, long INTEGER NOT NULL, path TEXT NOT NULL, hash TEXT NOT NULL,
        content_key TEXT NOT NULL, encode_hash TEXT NOT NULL, encoded_by TEXT,
        {", ".join(f"{name} TEXT NOT NULL" for name in _LONG)}
    );
    CREATE TABLE tombstones (
        changed INTEGER NOT NULL, note INTEGER NOT NULL, PRIMARY KEY (changed, note)
    ) WITHOUT ROWID;
    CREATE TABLE tags (tag TEXT NOT NULL, note INTEGER NOT NULL, PRIMARY KEY (tag, note)) WITHOUT ROWID;
    CREATE TABLE links (
        source TEXT NOT NULL, target TEXT NOT NULL, type TEXT NOT NULL, owner TEXT NOT NULL,
        weight REAL NOT NULL, reason TEXT NOT NULL, created TEXT NOT NULL,
        PRIMARY KEY (source, target, type, owner)
    ) WITHOUT ROWID;
    CREATE VIRTUAL TABLE texts USING fts5 (
        title, body, tags, subject, earlier, later, tokenize = '{TOKENIZER}'
    );
    CREATE TABLE vectors (
        note INTEGER NOT NULL, vector_set TEXT NOT NULL, chunk INTEGER NOT NULL, vector BLOB NOT NULL,
        PRIMARY KEY (vector_set, note, chunk)
    );
    CREATE TABLE files (
        path TEXT PRIMARY KEY, mark TEXT NOT NULL, touched INTEGER NOT NULL, size INTEGER NOT NULL,
        note TEXT, problem TEXT, has_id INTEGER NOT NULL DEFAULT 1
    ) WITHOUT ROWID;
    CREATE TABLE questions (key TEXT PRIMARY KEY, asked TEXT NOT NULL, embedded TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE question_vectors (
        vector_set TEXT NOT NULL, question TEXT NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (vector_set, question)
    ) WITHOUT ROWID;
    CREATE TABLE feedback (
        note TEXT NOT NULL, event TEXT NOT NULL, seq INTEGER NOT NULL, signal INTEGER NOT NULL,
        explicit INTEGER NOT NULL, at TEXT NOT NULL, question TEXT, changed INTEGER NOT NULL,
        PRIMARY KEY (note, event)
    ) WITHOUT ROWID;
    CREATE INDEX feedback_changed ON feedback (changed);
    CREATE INDEX feedback_at ON feedback (at, question);
    CREATE TABLE vector_sets (
        key TEXT PRIMARY KEY, described TEXT NOT NULL, ready INTEGER NOT NULL, begun INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE pending (
        vector_set TEXT NOT NULL, note INTEGER NOT NULL, PRIMARY KEY (vector_set, note)
    ) WITHOUT ROWID;
    CREATE TABLE uses (
        note TEXT NOT NULL, day TEXT NOT NULL, at TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (note, day)
    ) WITHOUT ROWID;
    CREATE TABLE importance (note TEXT PRIMARY KEY, value REAL NOT NULL) WITHOUT ROWID;
    CREATE TABLE job_runs (
        name TEXT NOT NULL, seq INTEGER NOT NULL, at TEXT NOT NULL, outcome TEXT NOT NULL,
        changed INTEGER NOT NULL, milliseconds INTEGER NOT NULL, PRIMARY KEY (name, seq)
    ) WITHOUT ROWID;
    CREATE TABLE aliases (alias TEXT NOT NULL, note TEXT NOT NULL, PRIMARY KEY (alias, note)) WITHOUT ROWID;
    CREATE INDEX aliases_note ON aliases (note);
    CREATE TABLE judged (
        a TEXT NOT NULL, b TEXT NOT NULL, scope TEXT NOT NULL, hash_a TEXT NOT NULL, hash_b TEXT NOT NULL,
        verdict TEXT NOT NULL, change TEXT, seq INTEGER NOT NULL, PRIMARY KEY (a, b, scope)
    ) WITHOUT ROWID;
    CREATE TABLE unread (note INTEGER PRIMARY KEY);
    CREATE TABLE readings (
        a TEXT NOT NULL, b TEXT NOT NULL, hash_a TEXT NOT NULL, hash_b TEXT NOT NULL, likely REAL NOT NULL,
        anew REAL NOT NULL, again REAL NOT NULL, PRIMARY KEY (a, b)
    ) WITHOUT ROWID;
    CREATE TABLE batches (
        id TEXT PRIMARY KEY, principal TEXT NOT NULL, made TEXT NOT NULL, expires TEXT NOT NULL, items TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE cursors (
        kind TEXT PRIMARY KEY, newest TEXT NOT NULL, swept TEXT NOT NULL, seq INTEGER NOT NULL
    ) WITHOUT ROWID;
"""

_INDEXES = {
    "notes_session": "notes (space, session, coalesce(seq, -1), created, id) WHERE session IS NOT NULL",
    "notes_space": "notes (space, created, id)",
    "notes_content": "notes (content_key)",
    "notes_changed": "notes (changed)",
    "notes_sample": "notes (substr(id, -6))",
    "tags_note": "tags (note)",
    "links_target": "links (target)",
    "links_owner": "links (owner)",
    "files_note": "files (note)",
    "readings_b": "readings (b)",
    "files_problem": "files (path) WHERE problem IS NOT NULL",
    "files_adopt": "files (path) WHERE has_id = 0",
} | journal.INDEXES


def make_indexes(connection: sqlite3.Connection) -> None:
    for name, columns in _INDEXES.items():
        connection.execute(f"CREATE INDEX IF NOT EXISTS {name} ON {columns}")


def drop_indexes(connection: sqlite3.Connection) -> None:
    """What is filled from empty is filled faster without; `make_indexes` must follow."""
    for name in _INDEXES:
        connection.execute(f"DROP INDEX IF EXISTS {name}")


def _run(connection: sqlite3.Connection, script: str) -> None:
    """Statement by statement: `executescript` would end the transaction."""
    for statement in script.split(";\n"):
        connection.execute(statement)


def version(connection: sqlite3.Connection) -> int:
    """The version of a file's tables; 0 where it has none.

    Raises:
        IndexSchemaError: a newer Holdfast made them.
    """
    found = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if found > SCHEMA:
        raise IndexSchemaError(
            f"The index has schema {found}; this version of Holdfast knows {SCHEMA}.",
            "Start the newer Holdfast, or stop all of them and delete .holdfast/: it is rebuilt from the notes.",
        )
    return found


def make_tables(connection: sqlite3.Connection) -> None:
    """Make the tables in an empty file, all of them or none."""
    if version(connection) == SCHEMA:
        return
    with connection:  # commits what was done, or undoes what failed half way
        connection.execute("BEGIN IMMEDIATE")
        if version(connection) == 0:
            _run(connection, _TABLES)
            _run(connection, journal.TABLES)
            make_indexes(connection)
            connection.execute(f"PRAGMA user_version = {SCHEMA}")
