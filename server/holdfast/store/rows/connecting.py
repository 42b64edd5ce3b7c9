"""Connections to PostgreSQL: to the primary, and given up where nothing is heard any more.

TCP notices silence on a line whose other end is gone (see `tcp_user_timeout` where connections are made). It does not
where something between confirms what arrives and passes nothing on: a proxy, a pooler, a server that stands still.
"""

from __future__ import annotations

import time
from typing import Any, Final, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict
from psycopg.waiting import Ready

from holdfast.errors import SettingsError, StorageError
from holdfast.store.rows.schema import Connection

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
