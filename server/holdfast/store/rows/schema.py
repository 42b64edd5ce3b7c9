"""Connections to PostgreSQL, and the tables: who may use them, and whether this Holdfast may.

The tables are made in numbered steps that are each taken once.
Every key begins with the tenant, no table refers to another, nothing is numbered by the database: so the tables can be
spread over many machines by tenant. Row-level security holds each transaction to the tenant that it names.

A connection is made to the primary, and given up where nothing is heard any more. TCP notices silence on a line whose
other end is gone (see `tcp_user_timeout`). It does not where something between confirms what arrives and passes nothing
on: a proxy, a pooler, a server that stands still.

What is asked before every answer is one message there and one back, waited for in no thread. What else is asked goes
through threads and psycopg, which takes longer than the database does for this.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import anyio
import psycopg
from psycopg import sql
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq.abc import Escaping, PGresult
from psycopg.waiting import Ready

from holdfast.errors import SettingsError, StorageError

Connection = psycopg.Connection[tuple[Any, ...]]

_FIRST_TABLES: Final = ("tenants", "notes", "pages", "journal", "touched", "texts", "trash", "leases")
_SECOND_TABLES: Final = ("tokens", "recalls", "encodings")
_THIRD_TABLES: Final = ("backups", "backup_parts")
TABLES: Final = _FIRST_TABLES + _SECOND_TABLES + _THIRD_TABLES
COMPATIBLE_FROM: Final = 1  # the oldest schema whose servers may go on beside this one
ASK_VERSION: Final = "SELECT version, compatible_from FROM holdfast.meta"
_LOCK: Final = 0x686F6C64  # of those who change the tables

_ROW_SECURITY: Final = (
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
    *(statement.format(table) for table in _FIRST_TABLES for statement in _ROW_SECURITY),
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
    *(statement.format(table) for table in _SECOND_TABLES for statement in _ROW_SECURITY),
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
    *(statement.format(table) for table in _THIRD_TABLES for statement in _ROW_SECURITY),
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
        if 0 < before < COMPATIBLE_FROM:  # who has read the version in a transaction under way ends that first
            connection.execute("LOCK TABLE holdfast.meta IN ACCESS EXCLUSIVE MODE")
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
    check_version(_version(connection))
    if _bypasses_row_security(connection):
        raise StorageError(
            "The role of HOLDFAST_STORE is above row-level security, which keeps memories apart.",
            "Make one without SUPERUSER and BYPASSRLS, and run `holdfast store init --role` for it.",
        )


def check_version(told: Sequence[int] | None) -> None:
    """Make sure that this Holdfast can work with tables of which `ASK_VERSION` has told this.

    Raises:
        StorageError: it cannot.
    """
    version, oldest = told or (0, 0)
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
    settings: dict[str, str] = dict(
        connection.execute(
            "SELECT name, setting FROM pg_settings WHERE name = ANY(%s)",
            (["synchronous_commit", "synchronous_standby_names", "fsync", "full_page_writes"],),
        ).fetchall()
    )
    problems += [
        f"{name} is off: what is acknowledged can be lost." for name, set_to in settings.items() if set_to == "off"
    ]
    if not settings.get("synchronous_standby_names"):
        problems.append(
            "synchronous_standby_names is empty: if the server's disk is lost, the latest changes are lost with it."
        )
    return Checked(version, tuple(problems), works)


def _version(connection: Connection) -> tuple[int, int]:
    try:
        row = connection.execute(ASK_VERSION).fetchone()
    except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName, psycopg.errors.InsufficientPrivilege):
        return 0, 0
    return (int(row[0]), int(row[1])) if row else (0, 0)


def _check_not_newer(version: int, oldest: int) -> None:
    if version > VERSION and oldest > VERSION:
        raise StorageError(
            f"A newer Holdfast made the tables of the database: schema {version}, and this one knows {VERSION}.",
            "Update this Holdfast; nothing was changed.",
        )


def _bypasses_row_security(connection: Connection) -> bool:
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


Answer = TypeVar("Answer")

CONNECT_SECONDS: Final = 5
UNHEARD_MILLISECONDS: Final = 10_000  # after which a database that confirms nothing of what it was sent is away
_WRITABLE: Final = "read-write"  # of several hosts the one to ask: a standby hides what was acknowledged a moment ago
_OF_STANDBYS: Final = {"standby", "prefer-standby", "read-only"}
UNANSWERED_SECONDS: Final = 15.0  # longer than the database lets a statement wait for a lock, so that it is heard first


class SilentError(psycopg.OperationalError):
    """Nothing came for too long. Whether the last statement was carried out is not known."""


class HeardConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that waits only so long without a byte coming or going; it is closed when that was too long."""

    def wait(self, gen: PQGen[Answer], *args: Any, **given: Any) -> Answer:
        """As in psycopg, which waits here for whatever it has to wait for.

        Raises:
            SilentError: nothing came for too long.
        """
        try:
            return super().wait(_heard(gen), *args, **given)
        except SilentError:
            self.pgconn.finish()  # what comes late is not taken for the answer to something else
            raise


def _heard(gen: PQGen[Answer]) -> PQGen[Answer]:
    """What psycopg waits for, step by step; it looks up several times a second though nothing came."""
    last = time.monotonic()
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            now = time.monotonic()
            if ready != Ready.NONE:
                last = now
            elif now - last >= UNANSWERED_SECONDS:
                gen.close()
                raise SilentError("the database says nothing")
            wanted = gen.send(ready)
    except StopIteration as end:
        answer: Answer = end.value
        return answer


def check_address(url: str) -> None:
    """Return unless an address asks for a standby; one that cannot be read is told when it is connected to.

    Raises:
        SettingsError: it does.
    """
    try:
        wanted = conninfo_to_dict(url).get("target_session_attrs")
    except psycopg.ProgrammingError:
        return
    if wanted in _OF_STANDBYS:
        raise SettingsError(
            f"HOLDFAST_STORE asks for a standby: target_session_attrs={wanted}.",
            "Leave that out: of the hosts that it names the one that can be written to is asked.",
        )


def connect(url: str, kind: type[Connection] = psycopg.Connection) -> Connection:
    """A connection to the one of its hosts that can be written to, whose transactions are begun by hand.

    Raises:
        StorageError: the address cannot be read.
        SettingsError: it asks for a standby.
    """
    check_address(url)
    try:
        return kind.connect(
            url,
            autocommit=True,
            prepare_threshold=None,  # a pooler between gives each transaction another connection
            target_session_attrs=_WRITABLE,
            connect_timeout=CONNECT_SECONDS,
            keepalives_idle=5,  # a database that is cut off is noticed within 11 seconds
            keepalives_interval=2,
            keepalives_count=3,
            tcp_user_timeout=UNHEARD_MILLISECONDS,
        )
    except psycopg.ProgrammingError as error:
        raise StorageError("HOLDFAST_STORE cannot be read as the address of a database.", "Check it.") from error


_WENT_WELL: Final = {psycopg.pq.ExecStatus.COMMAND_OK, psycopg.pq.ExecStatus.TUPLES_OK}


def scope(tenant: str) -> str:
    """The statement that holds a transaction to a tenant."""
    if not tenant.isalnum():
        raise ValueError("a tenant is hexadecimal digits")
    return f"SET LOCAL holdfast.tenant = '{tenant}'"


def message(connection: Connection, asked: Mapping[str, tuple[str, Sequence[object]]]) -> bytes:
    """A question of each of these tenants, with its values in it, behind the tenant's scope, in one transaction.

    The last of the rows that it finds is that of `ASK_VERSION`.
    """
    escaping = psycopg.pq.Escaping(connection.pgconn)
    questions = [f"{scope(tenant)}; {_whole(escaping, *question)}" for tenant, question in asked.items()]
    return "; ".join((*questions, ASK_VERSION)).encode()


def _whole(escaping: Escaping, statement: str, values: Sequence[object]) -> str:
    literals = tuple(
        value if isinstance(value, int) else escaping.escape_literal(str(value).encode()).decode() for value in values
    )
    return statement % literals


async def answered(connection: Connection, message: bytes) -> list[tuple[str | None, ...]] | None:
    """The rows that the statements of a message find, as texts; None where one was refused.

    Raises:
        psycopg.OperationalError: the connection is lost.
    """
    line = connection.pgconn
    line.send_query(message)
    if line.flush():  # so full that a few bytes find no room
        return None
    rows: list[tuple[str | None, ...]] = []
    is_whole = True
    while True:
        while line.is_busy():
            await anyio.wait_readable(line.socket)
            line.consume_input()
        result = line.get_result()
        if result is None:
            break
        is_whole = is_whole and result.status in _WENT_WELL
        rows += (tuple(_text(result, row, at) for at in range(result.nfields)) for row in range(result.ntuples))
    return rows if is_whole else None


def _text(result: PGresult, row: int, column: int) -> str | None:
    value = result.get_value(row, column)
    return None if value is None else value.decode()
