"""A connection that gives up a database which says nothing any more, though nobody closed the line.

TCP notices that on a line whose other end is gone (see `tcp_user_timeout` where connections are made). It does not
where something between confirms what arrives and passes nothing on: a proxy, a pooler, a server that stands still.
"""

from __future__ import annotations

import time
from typing import Any, Final, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.waiting import Ready

Answer = TypeVar("Answer")

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
