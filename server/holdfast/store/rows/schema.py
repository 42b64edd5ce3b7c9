"""The tables, in numbered steps that are each taken once; who may use them, and whether this Holdfast may.

Every key begins with the tenant, no table refers to another, nothing is numbered by the database: so the tables can be
spread over many machines by tenant. Row-level security holds each transaction to the tenant that it names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import psycopg
from psycopg import sql

from holdfast.errors import StorageError

Connection = psycopg.Connection[tuple[Any, ...]]

_FIRST_TABLES: Final = ("tenants", "notes", "pages", "journal", "touched", "texts", "trash", "leases")
_SECOND_TABLES: Final = ("tokens", "recalls", "encodings")
_THIRD_TABLES: Final = ("backups", "backup_parts")
TABLES_OF_STEPS: Final = (_FIRST_TABLES, _SECOND_TABLES, _THIRD_TABLES)
TABLES: Final = _FIRST_TABLES + _SECOND_TABLES + _THIRD_TABLES
COMPATIBLE_FROM: Final = 1  # the oldest schema whose servers may go on beside this one
_LOCK: Final = 0x686F6C64  # of those who change the tables

_WALL: Final = (
    "ALTER TABLE holdfast.{} ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE holdfast.{} FORCE ROW LEVEL SECURITY",
    """CREATE POLICY own ON holdfast.{} USING (tenant = current_setting('holdfast.tenant', true))
        WITH CHECK (tenant = current_setting('holdfast.tenant', true))""",
)
_FIRST: Final = (
    """CREATE TABLE holdfast.tenants (
        tenant text NOT NULL, seq bigint NOT NULL DEFAULT 0, loading boolean NOT NULL DEFAULT false,
        made timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (tenant)
    ) WITH (fillfactor = 50)""",
    """CREATE TABLE holdfast.notes (
        tenant text NOT NULL, path text NOT NULL, note text NOT NULL, hash text NOT NULL,
        modified_ns bigint NOT NULL, seq bigint NOT NULL, data bytea NOT NULL, PRIMARY KEY (tenant, path)
    )""",
    "CREATE INDEX ON holdfast.notes (tenant, note)",
    """CREATE TABLE holdfast.pages (
        tenant text NOT NULL, path text NOT NULL, hash text NOT NULL,
        modified_ns bigint NOT NULL, data bytea NOT NULL, PRIMARY KEY (tenant, path)
    )""",
    """CREATE TABLE holdfast.journal (
        tenant text NOT NULL, seq bigint NOT NULL, tag text NOT NULL, op text NOT NULL, pages boolean NOT NULL,
        month text NOT NULL, line bytea NOT NULL, PRIMARY KEY (tenant, seq), UNIQUE (tenant, tag)
    )""",
    "CREATE INDEX ON holdfast.journal (tenant, op, seq)",
    """CREATE TABLE holdfast.touched (
        tenant text NOT NULL, key text NOT NULL, seq bigint NOT NULL, PRIMARY KEY (tenant, key)
    )""",
    """CREATE TABLE holdfast.texts (
        tenant text NOT NULL, hash text NOT NULL, data bytea NOT NULL, PRIMARY KEY (tenant, hash)
    )""",
    """CREATE TABLE holdfast.trash (
        tenant text NOT NULL, aside text NOT NULL, hash text NOT NULL,
        modified_ns bigint NOT NULL, data bytea NOT NULL, PRIMARY KEY (tenant, aside)
    )""",
    """CREATE TABLE holdfast.leases (
        tenant text NOT NULL, name text NOT NULL, holder text NOT NULL, fence bigint NOT NULL,
        until timestamptz NOT NULL, PRIMARY KEY (tenant, name)
    )""",
    *(statement.format(table) for table in _FIRST_TABLES for statement in _WALL),
)
_SECOND: Final = (
    """CREATE TABLE holdfast.tokens (
        tenant text NOT NULL, token text NOT NULL, principal text NOT NULL, about text NOT NULL,
        until text NOT NULL, PRIMARY KEY (tenant, token)
    )""",
    """CREATE TABLE holdfast.recalls (
        tenant text NOT NULL, id text NOT NULL, at text NOT NULL, query text NOT NULL, space text, shown text NOT NULL,
        vector_set text NOT NULL, vector bytea NOT NULL, principal text NOT NULL, server text NOT NULL,
        PRIMARY KEY (tenant, id)
    )""",
    "CREATE INDEX ON holdfast.recalls (tenant, principal, at)",
    """CREATE TABLE holdfast.encodings (
        tenant text NOT NULL, vector_set text NOT NULL, content text NOT NULL, chunk int NOT NULL,
        vector bytea NOT NULL, PRIMARY KEY (tenant, vector_set, content, chunk)
    )""",
    *(statement.format(table) for table in _SECOND_TABLES for statement in _WALL),
)
_THIRD: Final = (
    """CREATE TABLE holdfast.backups (
        tenant text NOT NULL, backup text NOT NULL, created text NOT NULL, head bytea NOT NULL,
        PRIMARY KEY (tenant, backup)
    )""",
    """CREATE TABLE holdfast.backup_parts (
        tenant text NOT NULL, backup text NOT NULL, file text NOT NULL, part int NOT NULL, data bytea NOT NULL,
        PRIMARY KEY (tenant, backup, file, part)
    )""",
    "ALTER TABLE holdfast.backup_parts ALTER COLUMN data SET STORAGE EXTERNAL",  # they are compressed as they come
    *(statement.format(table) for table in _THIRD_TABLES for statement in _WALL),
)
STEPS: Final[tuple[tuple[str, ...], ...]] = (
    _FIRST,
    _SECOND,
    _THIRD,
)  # the first makes schema 1, and so on; a step is never changed
VERSION: Final = len(STEPS)


@dataclass(frozen=True, slots=True)
class Checked:
    """What `check` found: the schema's number (0 for none), and sentences on what is wrong.

    `works` is whether servers can work with it; then what is wrong is how long it keeps what was acknowledged.
    """

    version: int
    problems: tuple[str, ...]
    works: bool = True


def migrate(connection: Connection, role: str = "") -> tuple[int, int]:
    """Take every step that was not taken yet, in one transaction; returns the schema's number before and after.

    Args:
        connection: of a role that may make tables.
        role: that of the servers, which then may use them and nothing else.

    Raises:
        StorageError: a newer Holdfast made them, or there is no such role.
    """
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        connection.execute("CREATE SCHEMA IF NOT EXISTS holdfast")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS holdfast.meta"
            " (one boolean PRIMARY KEY DEFAULT true CHECK (one), version int NOT NULL, compatible_from int NOT NULL)"
        )
        before, oldest = _version(connection)
        _check_not_newer(before, oldest)
        for step in STEPS[before:]:
            for statement in step:
                connection.execute(statement.encode())
        if before < VERSION:
            connection.execute(
                "INSERT INTO holdfast.meta (version, compatible_from) VALUES (%s, %s) ON CONFLICT (one)"
                " DO UPDATE SET version = excluded.version, compatible_from = excluded.compatible_from",
                (VERSION, COMPATIBLE_FROM),
            )
        for name in {role} if role else _roles(connection):
            _grant(connection, name)
    return before, max(before, VERSION)


def check_schema(connection: Connection) -> None:
    """Make sure that this Holdfast can work with the tables, and that row-level security holds its role.

    Raises:
        StorageError: it cannot, or it does not.
    """
    version, oldest = _version(connection)
    _check_not_newer(version, oldest)
    if version < VERSION:
        raise StorageError(
            f"The tables of the database are of schema {version}; this Holdfast needs {VERSION}."
            if version
            else "The database has no tables of Holdfast that the role of HOLDFAST_STORE may use.",
            "Run `holdfast store init` as the owner of the database."
            if not version
            else "Run `holdfast store migrate` as the owner of the tables.",
        )
    if _is_above_the_wall(connection):
        raise StorageError(
            "The role of HOLDFAST_STORE is above row-level security, which keeps memories apart.",
            "Make one without SUPERUSER and BYPASSRLS, and run `holdfast store init --role` for it.",
        )


def check(connection: Connection) -> Checked:
    """Everything that `check_schema` refuses, and what makes an acknowledged change less than durable."""
    version, _ = _version(connection)
    problems: list[str] = []
    works = True
    try:
        check_schema(connection)
    except StorageError as error:
        works = False
        problems.append(str(error))
    told: dict[str, str] = dict(
        connection.execute(
            "SELECT name, setting FROM pg_settings WHERE name = ANY(%s)",
            (["synchronous_commit", "synchronous_standby_names", "fsync", "full_page_writes"],),
        ).fetchall()
    )
    problems += [
        f"{name} is off: what is acknowledged can be lost." for name, set_to in told.items() if set_to == "off"
    ]
    if not told.get("synchronous_standby_names"):
        problems.append(
            "synchronous_standby_names is empty: if the server's disk is lost, the latest changes are lost with it."
        )
    return Checked(version, tuple(problems), works)


def _version(connection: Connection) -> tuple[int, int]:
    try:
        row = connection.execute("SELECT version, compatible_from FROM holdfast.meta").fetchone()
    except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName, psycopg.errors.InsufficientPrivilege):
        return 0, 0
    return (int(row[0]), int(row[1])) if row else (0, 0)


def _check_not_newer(version: int, oldest: int) -> None:
    if version > VERSION and oldest > VERSION:
        raise StorageError(
            f"A newer Holdfast made the tables of the database: schema {version}, and this one knows {VERSION}.",
            "Update this Holdfast; nothing was changed.",
        )


def _is_above_the_wall(connection: Connection) -> bool:
    row = connection.execute(
        "SELECT rolsuper OR rolbypassrls FROM pg_catalog.pg_roles WHERE rolname = current_user"
    ).fetchone()
    return row is None or bool(row[0])


def _roles(connection: Connection) -> set[str]:
    """Those that work with the tables, which are to work with new ones too."""
    rows = connection.execute(
        "SELECT grantee FROM information_schema.role_table_grants WHERE table_schema = 'holdfast'"
        " AND table_name = 'notes' AND privilege_type = 'INSERT' AND grantee NOT IN (current_user, 'PUBLIC')"
        " AND grantee <> (SELECT tableowner FROM pg_catalog.pg_tables"
        " WHERE schemaname = 'holdfast' AND tablename = 'notes')"
    )
    return {str(row[0]) for row in rows}


def _grant(connection: Connection, role: str) -> None:
    name = sql.Identifier(role)
    try:
        connection.execute(sql.SQL("GRANT USAGE ON SCHEMA holdfast TO {}").format(name))
    except psycopg.errors.UndefinedObject as error:
        raise StorageError("There is no such role in the database.", "Make it with CREATE ROLE first.") from error
    connection.execute(sql.SQL("GRANT SELECT ON holdfast.meta TO {}").format(name))
    for table in TABLES:
        connection.execute(
            sql.SQL("GRANT SELECT, INSERT, UPDATE, DELETE ON holdfast.{} TO {}").format(sql.Identifier(table), name)
        )
