"""The index's tables, as a list of small named steps. A file with more steps than we know is from a newer Holdfast."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from holdfast.errors import IndexSchemaError
from holdfast.index.projection import content_key

# Tables without row ids have the columns of their key first, in its order: SQLite's quick_check misjudges others.
TOKENIZER = "porter unicode61 remove_diacritics 2 categories ''L* N* Co Mn Mc''"


def _notes(connection: sqlite3.Connection) -> None:
    _run(
        connection,
        f"""
        CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
        CREATE TABLE notes (
            rowid INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE, changed INTEGER NOT NULL,
            type TEXT NOT NULL, tier TEXT NOT NULL, space TEXT NOT NULL, session TEXT, seq INTEGER, subject TEXT,
            confidence REAL NOT NULL, outdated INTEGER NOT NULL, superseded_by TEXT, merged_into TEXT,
            created TEXT NOT NULL, updated TEXT NOT NULL, happened TEXT NOT NULL,
            event_time TEXT, valid_from TEXT, valid_until TEXT, outdated_reason TEXT,
            about_self INTEGER NOT NULL, source TEXT NOT NULL,
            path TEXT NOT NULL, hash TEXT NOT NULL,
            content_key TEXT NOT NULL, encode_hash TEXT NOT NULL, encoded_by TEXT,
            title TEXT NOT NULL, tags TEXT NOT NULL, content TEXT NOT NULL  -- long ones last: most reads stop before
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
            path TEXT PRIMARY KEY, modified INTEGER NOT NULL, changed INTEGER NOT NULL, size INTEGER NOT NULL,
            inode INTEGER NOT NULL, note TEXT, problem TEXT, has_id INTEGER NOT NULL DEFAULT 1
        ) WITHOUT ROWID;
        CREATE TABLE history (
            note TEXT NOT NULL, seq INTEGER NOT NULL, change TEXT NOT NULL, op TEXT NOT NULL, at TEXT NOT NULL,
            PRIMARY KEY (note, seq)
        ) WITHOUT ROWID;
        """,
    )
    make_indexes(connection)


def _feedback(connection: sqlite3.Connection) -> None:
    _run(
        connection,
        """
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
        """,
    )


def _vector_sets(connection: sqlite3.Connection) -> None:
    """Until here a note knew one set, the one that had encoded it last."""
    _run(
        connection,
        """
        CREATE TABLE vector_sets (
            key TEXT PRIMARY KEY, described TEXT NOT NULL, ready INTEGER NOT NULL, begun INTEGER NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE pending (
            vector_set TEXT NOT NULL, note INTEGER NOT NULL, PRIMARY KEY (vector_set, note)
        ) WITHOUT ROWID;
        INSERT INTO vector_sets SELECT DISTINCT encoded_by, '', 1, 0 FROM notes WHERE encoded_by IS NOT NULL;
        INSERT INTO pending SELECT s.key, n.rowid FROM vector_sets s, notes n WHERE n.encoded_by IS NOT s.key;
        DROP INDEX IF EXISTS notes_encoded;
        """,
    )


def _lifecycle(connection: sqlite3.Connection) -> None:
    _run(
        connection,
        """
        CREATE TABLE IF NOT EXISTS uses (
            note TEXT NOT NULL, day TEXT NOT NULL, at TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (note, day)
        ) WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS importance (note TEXT PRIMARY KEY, value REAL NOT NULL) WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS job_runs (
            name TEXT NOT NULL, seq INTEGER NOT NULL, at TEXT NOT NULL, outcome TEXT NOT NULL,
            changed INTEGER NOT NULL, milliseconds INTEGER NOT NULL, PRIMARY KEY (name, seq)
        ) WITHOUT ROWID;
        INSERT OR IGNORE INTO uses SELECT note, substr(at, 1, 10), min(at), min(seq) FROM feedback
            WHERE signal = 1 AND explicit GROUP BY note, substr(at, 1, 10);
        """,
    )


def _maintenance(connection: sqlite3.Connection) -> None:
    _run(
        connection,
        """
        CREATE TABLE IF NOT EXISTS aliases (
            alias TEXT NOT NULL, note TEXT NOT NULL, PRIMARY KEY (alias, note)
        ) WITHOUT ROWID;
        CREATE INDEX IF NOT EXISTS aliases_note ON aliases (note);
        CREATE TABLE IF NOT EXISTS judged (
            a TEXT NOT NULL, b TEXT NOT NULL, scope TEXT NOT NULL, hash_a TEXT NOT NULL, hash_b TEXT NOT NULL,
            verdict TEXT NOT NULL, change TEXT, seq INTEGER NOT NULL, PRIMARY KEY (a, b, scope)
        ) WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS batches (
            id TEXT PRIMARY KEY, principal TEXT NOT NULL, made TEXT NOT NULL, expires TEXT NOT NULL, items TEXT NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS cursors (
            kind TEXT PRIMARY KEY, newest TEXT NOT NULL, swept TEXT NOT NULL, seq INTEGER NOT NULL
        ) WITHOUT ROWID;
        """,
    )


def _content_keys(connection: sqlite3.Connection) -> None:
    """Until here notes had the key of a call, so that only its repetition was known."""
    if any(row[1] == "retry_key" for row in connection.execute("PRAGMA table_info(notes)")):
        connection.create_function("content_key", 3, content_key, deterministic=True)
        connection.execute("DROP INDEX IF EXISTS notes_retry")
        connection.execute("ALTER TABLE notes RENAME COLUMN retry_key TO content_key")
        connection.execute("UPDATE notes SET content_key = content_key(content, type, space)")
    make_indexes(connection)


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
    "files_problem": "files (path) WHERE problem IS NOT NULL",
    "files_adopt": "files (path) WHERE has_id = 0",
}


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


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (
    _notes,
    _feedback,
    _vector_sets,
    _lifecycle,
    _maintenance,
    _content_keys,
)


def migrate(connection: sqlite3.Connection) -> None:
    """Bring a database file up to this version's tables, each step in its own transaction.

    Raises:
        IndexSchemaError: the file was written by a newer version.
    """
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > len(MIGRATIONS):
        raise IndexSchemaError(
            f"The index has schema {version}; this version of Holdfast knows {len(MIGRATIONS)}.",
            "Start the newer Holdfast, or stop all of them and delete .holdfast/: it is rebuilt from the notes.",
        )
    for number in range(version, len(MIGRATIONS)):
        with connection:  # commits what was done, or undoes what failed half way
            connection.execute("BEGIN IMMEDIATE")
            if connection.execute("PRAGMA user_version").fetchone()[0] == number:
                MIGRATIONS[number](connection)
                connection.execute(f"PRAGMA user_version = {number + 1}")
