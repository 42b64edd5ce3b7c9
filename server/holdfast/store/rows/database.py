"""Transactions on PostgreSQL, and the connections that are kept for them.

Everything here blocks and runs in threads: a request that is cancelled never leaves a connection half read. Each
transaction names its tenant first, which row-level security holds it to. What fails because the server went away, or
because two transactions met, is tried again for a bounded time: work that is done twice must come to the same.
"""

from __future__ import annotations

import math
import random
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, TypeVar

import anyio
import anyio.to_thread
import psycopg
import structlog

from holdfast.errors import HoldfastError, StorageError
from holdfast.store.rows.schema import (
    ASK_VERSION,
    Connection,
    HeardConnection,
    SilentError,
    answered,
    check_address,
    check_schema,
    check_version,
    connect,
    message,
    scope,
)

Answer = TypeVar("Answer")

Row = tuple[Any, ...]

CONNECTIONS: Final = 10
PATIENCE_SECONDS: Final = 20.0  # a failover takes some
HURRIED_SECONDS: Final = 2.0  # of a look that can do without: what the index knows is answered then
_PAUSES: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # between tries, each drawn anew up to twice as long
_IDLE_IN_TRANSACTION: Final = "5s"  # a server that hangs in the middle keeps the others waiting so long
_IDLE_WHILE_READING: Final = "10min"  # one that holds no locks, and writes files between its statements
_STAY_SECONDS: Final = 0.5  # after which one that is at work says so
_IDLE_AT_LENGTH: Final = "1min"  # one that works on all of a memory, and holds up nobody who reads or writes it
_LOCK_TIMEOUT: Final = "10s"
_MOST_AT_LENGTH: Final = 5  # tries of work that takes longer than the patience
_ONE_MOMENT: Final = "REPEATABLE READ READ ONLY"
_PASSING: Final = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    psycopg.errors.ReadOnlySqlTransaction,
    psycopg.errors.IdleInTransactionSessionTimeout,  # this server stood still in the middle
)
_UNKNOWN: Final = psycopg.errors.StatementCompletionUnknown
_TRIED: Final = "connection to server "  # once for each host that was tried
_REFUSAL: Final = re.compile(
    r"(?:FATAL|ERROR):\s+(?:[^\n]*authentication failed for user|no pg_hba\.conf entry|pg_hba\.conf rejects"
    r"|(?:role|database) \"[^\n]*\" does not exist|role \"[^\n]*\" is not permitted to log in"
    r"|permission denied for database"
    r"|no such (?:user|database))|fe_sendauth: no password supplied|password is required"
)
_IS_STANDBY: Final = ("session is read-only", "server is in hot standby mode")
_TOO_LARGE: Final = "54"  # the class of what passes a limit of the program

log = structlog.get_logger()
_hurried: ContextVar[bool] = ContextVar("hurried", default=False)


@contextmanager
def hurried() -> Iterator[None]:
    """Inside, a database that is away is waited for `HURRIED_SECONDS`, and not at all while it is known to be."""
    token = _hurried.set(True)
    try:
        yield
    finally:
        _hurried.reset(token)


@dataclass(frozen=True, slots=True)
class Question:
    """A statement that only reads, and its values."""

    statement: str
    values: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True)
class Pool:
    """How connections are used now: of at most so many; `awaited` is what waits for one."""

    most: int
    used: int
    idle: int
    awaited: int
    tries_again: int
    is_away: bool


class Asked:
    """A statement that was sent; its rows can be fetched while the transaction lasts, and behind its COMMIT."""

    def __init__(self, transaction: Transaction, cursor: psycopg.Cursor[Row]) -> None:
        self._transaction = transaction
        self._cursor = cursor

    def fetchone(self) -> Row | None:
        self._transaction.sync()
        return self._cursor.fetchone()

    def fetchall(self) -> list[Row]:
        self._transaction.sync()
        return self._cursor.fetchall()


class Transaction:
    """A transaction under way. Statements are sent without waiting for the answers of those before.

    Args:
        connection: whose it is.
        pipeline: of that connection.
    """

    def __init__(self, connection: Connection, pipeline: psycopg.Pipeline) -> None:
        self._connection = connection
        self._pipeline = pipeline
        self._is_behind = False
        self._version: Asked | None = None
        self._heard = time.monotonic()  # when the server last heard of us, at the latest

    def ask(self, statement: str, *values: object) -> Asked:
        """Send a statement."""
        self._is_behind = True
        return Asked(self, self._connection.cursor(binary=True).execute(statement, values, prepare=False))

    def sync(self) -> None:
        """Wait for the answers to all that was sent.

        The server then knows that it is our turn: only so does it end a transaction whose owner is not heard of again.
        """
        if self._is_behind:
            self._pipeline.sync()
            self._is_behind = False
            self._heard = time.monotonic()
            self.check_version()

    def ask_version(self) -> None:
        """Have the first answers tell whether this Holdfast knows the tables, which stay as they are to the end."""
        self._version = self.ask(ASK_VERSION)

    def check_version(self) -> None:
        """Make sure that it does, unless that was heard already.

        Raises:
            StorageError: a newer Holdfast has made them since this server was started.
        """
        if self._version is not None:
            asked, self._version = self._version, None
            check_version(asked.fetchone())

    def stay(self) -> None:
        """Have the server know that this side is at work, where it did not hear of it for a moment."""
        if time.monotonic() - self._heard > _STAY_SECONDS:
            self.ask("SELECT 1").fetchone()

    def each(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """Send a statement once for each of these rows."""
        if rows:
            self._connection.cursor().executemany(statement, rows)


class Database:
    """One database for any number of tenants.

    Args:
        url: as libpq has it, with any number of hosts.
        connections: how many are open at the most.
        patience: for how many seconds what fails in passing is tried again.

    Raises:
        SettingsError: the address asks for a database that cannot be written to.
    """

    def __init__(self, url: str, connections: int = CONNECTIONS, patience: float = PATIENCE_SECONDS) -> None:
        check_address(url)
        self._url = url
        self._patience = patience
        self._limit = anyio.CapacityLimiter(connections)
        self._idle: list[tuple[Connection, float]] = []  # with the time at which each came back whole
        self._lock = threading.Lock()
        self._closed = False
        self._tries_again = 0
        self._abandoned = 0  # looks that nobody waits for any more, and that have not ended yet
        self.away_since: datetime | None = None

    @property
    def pool(self) -> Pool:
        """How it is used."""
        tokens = self._limit.statistics()
        return Pool(
            most=int(tokens.total_tokens),
            used=tokens.borrowed_tokens,
            idle=len(self._idle),
            awaited=tokens.tasks_waiting,
            tries_again=self._tries_again,
            is_away=self.away_since is not None,
        )

    async def run(self, tenant: str, work: Callable[[Transaction], Answer], *, flush: bool = True) -> Answer:
        """Do some work in a transaction, in a thread; returns when that is committed.

        Args:
            tenant: whose rows.
            work: is done again where it is not known whether it was committed, so it finds that out itself.
            flush: wait until the commit is on the disk.

        Raises:
            StorageError: the database did not answer in time, or refused.
        """
        return await self._in_thread(partial(self.transact, tenant, work, flush=flush))

    async def at_one_moment(self, tenant: str, work: Callable[[Transaction], Answer]) -> Answer:
        """As `run`, for work that takes its time: whatever it reads is of one moment, and it is to hold up no writer.

        Raises:
            StorageError: the database did not answer in time, or refused.
        """
        begin = partial(_begin, tenant=tenant, isolation="REPEATABLE READ", idle=_IDLE_AT_LENGTH)
        return await self._in_thread(partial(self._lasting, partial(_transacted, begin, work)))

    async def read(self, tenant: str, *questions: Question) -> list[list[Row]]:
        """The rows of each of these questions, all of one moment apart from each other; one trip to the server.

        Raises:
            StorageError: the database did not answer in time, or refused.
        """
        return await self._in_thread(partial(self._lasting, partial(self._read, tenant, questions)))

    async def glance(self, tenant: str, question: Question) -> list[Row]:
        """The rows of one question that is asked all the time, as texts: one message there and one back, in no thread.

        Where that does not go as it should, and where no connection is idle, it is asked as any other.

        Raises:
            StorageError: the database did not answer in time, or refused.
        """
        return await self.glances({tenant: question})

    async def glances(self, asked: Mapping[str, Question]) -> list[Row]:
        """As `glance`, of several tenants in one message: the rows of all, one after the other.

        Raises:
            StorageError: the database did not answer in time, or refused.
        """
        rows = await self._glanced(asked)
        if rows is not None:
            return rows
        read: list[Row] = []
        for tenant, question in asked.items():
            found, [version] = await self.read(tenant, question, Question(ASK_VERSION))
            check_version(version)
            read += found
        return [tuple(None if value is None else str(value) for value in row) for row in read]

    async def _glanced(self, asked: Mapping[str, Question]) -> list[Row] | None:
        borrower = object()
        whole = {tenant: (question.statement, question.values) for tenant, question in asked.items()}
        try:
            self._limit.acquire_on_behalf_of_nowait(borrower)
        except anyio.WouldBlock:
            return None
        rows, connection = None, self._popped() if self.away_since is None else None
        limit = anyio.CancelScope(deadline=anyio.current_time() + HURRIED_SECONDS)
        try:
            if connection is not None:
                with limit, suppress(psycopg.Error):
                    rows = await answered(connection, message(connection, whole))
        finally:
            self._limit.release_on_behalf_of(borrower)
            if connection is not None:
                self._give_back(connection, whole=rows is not None)
        if limit.cancelled_caught and _hurried.get():
            self._is_away()
            raise _away()
        if rows is not None:
            check_version([int(each or 0) for each in rows.pop()])
        return rows

    def _popped(self) -> Connection | None:
        with self._lock:
            return self._idle.pop()[0] if self._idle else None

    async def check(self) -> None:
        """Return if the database can be worked with now; known within seconds.

        Raises:
            StorageError: it cannot, and why.
        """
        with hurried():
            await self._in_thread(partial(self._lasting, _ping))

    async def answers(self) -> bool:
        """Whether the database can be worked with now; known within seconds."""
        try:
            await self.check()
        except StorageError:
            return False
        return True

    async def aclose(self) -> None:
        """Close the connections; those in use close when they are given back."""
        self._closed = True
        self._let_go()

    def _let_go(self, until: float = math.inf) -> None:
        """Close the idle connections that came back before a time."""
        with self._lock:
            idle, self._idle = self._idle, [each for each in self._idle if each[1] >= until]
        for connection, back in idle:
            if back < until:
                connection.close()

    def transact(self, tenant: str, work: Callable[[Transaction], Answer], *, flush: bool = True) -> Answer:
        """As `run`, in this thread."""
        return self._lasting(partial(_transacted, partial(_begin, tenant=tenant, flush=flush), work))

    def read_whole(self, tenant: str, work: Callable[[Transaction], Answer]) -> Answer:
        """As `transact`, for work that only reads, and takes its time: all its statements see one moment."""
        begin = partial(_begin, tenant=tenant, isolation=_ONE_MOMENT, idle=_IDLE_WHILE_READING)
        return self._lasting(partial(_transacted, begin, work))

    async def _in_thread(self, call: Callable[[], Answer]) -> Answer:
        if not _hurried.get():
            return await anyio.to_thread.run_sync(call, limiter=self._limit)
        if self.away_since is not None and (self._abandoned or not self._limit.available_tokens):
            raise _away()
        under_way = False

        def work() -> Answer:
            nonlocal under_way
            under_way = True
            try:
                return call()
            finally:
                with self._lock:
                    under_way = False
                    self._abandoned -= given_up

        given_up = 0
        with anyio.move_on_after(HURRIED_SECONDS * 1.5):
            return await anyio.to_thread.run_sync(work, limiter=self._limit, abandon_on_cancel=True)
        with self._lock:
            given_up = int(under_way)  # one that waited for its turn never begins
            self._abandoned += given_up
        self._is_away()
        raise _away()

    def _is_away(self) -> None:
        if self.away_since is None:
            self.away_since = datetime.now(UTC)
            log.warning("database_away")

    def _is_there(self) -> None:
        if self.away_since is not None:
            log.warning("database_back", away_seconds=round((datetime.now(UTC) - self.away_since).total_seconds(), 1))
            self.away_since = None

    @staticmethod
    def _read(tenant: str, questions: Sequence[Question], connection: Connection) -> list[list[Row]]:
        with connection.pipeline() as pipeline:
            transaction = Transaction(connection, pipeline)
            _begin(transaction, tenant)
            cursors = [transaction.ask(each.statement, *each.values) for each in questions]
            transaction.ask("COMMIT")
            return [cursor.fetchall() for cursor in cursors]

    def _lasting(self, work: Callable[[Connection], Answer]) -> Answer:
        began, patience, tries = time.monotonic(), self._waits(), 0
        is_unheard = False  # a try may have been committed
        while True:
            tried, was_idle = time.monotonic(), False
            try:
                with self._lent() as (connection, was_idle):
                    answer = work(connection)
                self._is_there()
            except psycopg.Error as error:
                ended = time.monotonic()
                if ended - tried > patience and tries < _MOST_AT_LENGTH:
                    began = ended  # it was at work until then, on a whole memory: only from here on it waits
                lasted = ended - began
                is_unheard = is_unheard or _is_absence(error) or isinstance(error, _UNKNOWN)
                if _is_absence(error):  # whatever cut this one off has done so with the others
                    self._let_go(math.inf if isinstance(error, SilentError) else tried)
                is_stale = was_idle and not tries and _is_absence(error) and lasted < HURRIED_SECONDS
                if not is_stale:  # else it may have died long ago, and tells nothing of the database as it is now
                    self._refuse(error, lasted, patience, is_unheard=is_unheard)
            else:
                return answer
            pause = 0.0 if is_stale else _PAUSES[min(tries, len(_PAUSES) - 1)]
            tries += 1
            self._tries_again += 1
            log.info("database_tried_again", tries=tries)
            time.sleep(pause * random.uniform(1, 2))  # noqa: S311 - so that two that met do not meet again

    def _refuse(self, error: psycopg.Error, lasted: float, patience: float, *, is_unheard: bool) -> None:
        """Give up after so many seconds, or where another try would not go better.

        Raises:
            StorageError: it is given up.
        """
        if _is_absence(error) and lasted >= min(patience, HURRIED_SECONDS):
            self._is_away()
        if not _is_passing(error) or lasted >= patience:
            raise refused(error, is_unheard=is_unheard) from error

    def _waits(self) -> float:
        """For how many seconds what fails in passing is tried again."""
        if not _hurried.get():
            return self._patience
        return 0.0 if self.away_since is not None else min(HURRIED_SECONDS, self._patience)

    @contextmanager
    def _lent(self) -> Iterator[tuple[Connection, bool]]:
        """A connection for this thread, and whether it was idle; one that does not work any more is not kept."""
        idle = self._popped()
        connection = idle or self._connect()
        whole = False
        try:
            yield connection, idle is not None
            whole = True
        except HoldfastError:
            whole = True  # it was decided by us, and the transaction was taken back
            raise
        finally:
            self._give_back(connection, whole=whole)

    def _give_back(self, connection: Connection, *, whole: bool) -> None:
        idle = psycopg.pq.TransactionStatus.IDLE
        with self._lock:
            kept = whole and not self._closed and not connection.closed and connection.info.transaction_status == idle
            if kept:
                self._idle.append((connection, time.monotonic()))
        if not kept:
            with suppress(psycopg.Error):
                connection.close()

    def _connect(self) -> Connection:
        if self._closed:
            raise StorageError("The database of the memory is closed.", "The server is stopping.")
        connection = connect(self._url, HeardConnection)
        try:
            check_schema(connection)
        except BaseException as error:
            connection.close()
            if isinstance(error, StorageError):
                self._is_there()
            raise
        return connection


def _away() -> StorageError:
    return StorageError(
        "The database of the memory cannot be reached.", "Nothing is known to be changed; call again in a moment."
    )


def _is_passing(error: psycopg.Error) -> bool:
    """Whether it may go well the next time; what is too long or too large stays so, and who is let in."""
    return isinstance(error, _PASSING) and (error.sqlstate or "")[:2] != _TOO_LARGE and not _is_refusal(error)


def _is_refusal(error: psycopg.Error) -> bool:
    """Whether a database was reached and every one said that it does not let this user in.

    libpq has no code for that, only the server's words; in another language than English it counts as away.
    """
    sentence = str(error)
    return error.sqlstate is None and 0 < sentence.count(_TRIED) <= len(_REFUSAL.findall(sentence))


def is_of_one(error: StorageError) -> bool:
    """Whether the database refused something that it was given, so that without that the rest would have gone well."""
    cause = error.__cause__
    return isinstance(cause, psycopg.Error) and not _is_passing(cause)


def _is_absence(error: psycopg.Error) -> bool:
    """Whether nobody answered, or who did said that the server is not to be had."""
    if error.sqlstate is None:
        return not _is_refusal(error)
    return error.sqlstate[:2] == "08" or error.sqlstate[:3] == "57P"


def refused(error: psycopg.Error, *, is_unheard: bool = False) -> StorageError:
    """What is told of an error of the database: never values, and nothing of its address.

    Args:
        error: what it said.
        is_unheard: an earlier try may have been committed.
    """
    if _is_refusal(error):
        return StorageError(
            "The database refuses the user of HOLDFAST_STORE.",
            "Check name, password and database there, and pg_hba.conf of the server; its own log says which it was.",
        )
    if any(sign in str(error) for sign in _IS_STANDBY):
        return StorageError(
            "The database of the memory can only be read: HOLDFAST_STORE leads to a standby, and to no primary.",
            "Name the primary there too, or promote a standby.",
        )
    if error.sqlstate is None:
        return _away()
    if isinstance(error, psycopg.errors.LockNotAvailable):
        return StorageError(
            "Another server works on the whole of this memory, as a restore does, and has not come to its end.",
            "It is not known whether the change was made; look before you repeat it."
            if is_unheard
            else "Nothing was stored; repeat the call in a moment.",
        )
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return StorageError(
            "The database lets the role of HOLDFAST_STORE not do this.", "Run `holdfast store init --role` for it."
        )
    return StorageError(
        f"The database of the memory refused: {type(error).__name__} ({error.sqlstate}).",
        "Nothing is known to be changed; the database's own log says more.",
    )


def _ping(connection: Connection) -> None:
    check_version(connection.execute(ASK_VERSION).fetchone())


def _begin(
    transaction: Transaction,
    tenant: str,
    *,
    flush: bool = True,
    isolation: str = "READ COMMITTED",
    idle: str = _IDLE_IN_TRANSACTION,
) -> None:
    transaction.ask(f"BEGIN ISOLATION LEVEL {isolation}")
    transaction.ask(scope(tenant))
    transaction.ask(f"SET LOCAL idle_in_transaction_session_timeout = '{idle}'")
    transaction.ask(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'")
    if not flush:
        transaction.ask("SET LOCAL synchronous_commit = off")


def _transacted(
    begin: Callable[[Transaction], None], work: Callable[[Transaction], Answer], connection: Connection
) -> Answer:
    try:
        with connection.pipeline() as pipeline:
            transaction = Transaction(connection, pipeline)
            begin(transaction)
            transaction.ask_version()
            answer = work(transaction)
            transaction.check_version()
            transaction.ask("COMMIT")
            return answer
    except HoldfastError:
        with suppress(psycopg.Error):
            connection.execute("ROLLBACK")
        raise


class TenantRows:
    """What the database holds of one tenant.

    Args:
        database: where it is.
        tenant: whose.
    """

    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant

    async def _rows(self, statement: str, *values: object) -> list[Row]:
        """What one statement finds; its first value is the tenant."""
        [rows] = await self._database.read(self._tenant, Question(statement, (self._tenant, *values)))
        return rows
