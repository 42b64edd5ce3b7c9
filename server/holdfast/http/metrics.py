"""What a server counts, for Prometheus: requests, how long they take, catching up, the pool, what waits.

Labels are names of our own (methods, tools, outcomes, statuses). No principal, tenant, space or text is one of them.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    PlatformCollector,
    ProcessCollector,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from starlette.datastructures import Headers
from starlette.responses import Response

from holdfast.engine.encoding import identity
from holdfast.engine.runtime import Memory
from holdfast.engine.tenants import Memories
from holdfast.index.note_index import IndexLostError

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from holdfast.store.rows.database import Pool

_QUICK: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)  # seconds
_NOW: Final = {  # what is so at one moment
    "memories_open": "Memories that this server has open.",
    "requests_under_way": "HTTP requests that are worked on.",
    "vectors_waiting": "Notes of open memories that wait for their vector.",
    "database_away": "1 while the database is known not to be reachable.",
    "database_connections_most": "Connections to the database that there may be.",
    "database_connections_used": "Connections to the database that work is done on.",
    "database_connections_idle": "Connections to the database that are open and unused.",
    "database_awaited": "Pieces of work that wait for a connection to the database.",
}


class Metrics(Collector):
    """The counts of one server; `/metrics` tells them to whoever has the token.

    Args:
        token: what a request must bring as its bearer token.
        memory: whose.
        pool: the state of the connections to the database, where there is one.
    """

    def __init__(self, token: str, memory: Memories, pool: Callable[[], Pool] | None = None) -> None:
        self._token = token.encode()
        self._memory = memory
        self._pool = pool
        self._registry = CollectorRegistry(auto_describe=True)
        self._last: dict[str, float] = {}
        self._requests = Counter(
            "holdfast_requests", "Requests of the protocol.", ("method", "tool", "outcome"), registry=self._registry
        )
        self._seconds = Histogram(
            "holdfast_request_seconds", "How long a request took.", ("method", "tool"),
            registry=self._registry, buckets=_QUICK,
        )  # fmt: skip
        self._refused = Counter(
            "holdfast_http_refused", "HTTP requests that were refused before that.", ("status",),
            registry=self._registry,
        )  # fmt: skip
        self._caught_up = Histogram(
            "holdfast_catch_up_seconds", "How long the index took to know all notes, before a request.",
            registry=self._registry, buckets=_QUICK,
        )  # fmt: skip
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        self._registry.register(self)
        memory.tell_catching_up(self._caught_up.observe)

    def request(self, method: str, tool: str, outcome: str, seconds: float) -> None:
        """A request of the protocol was answered; `tool` is empty where it called none."""
        self._requests.labels(method, tool, outcome).inc()
        self._seconds.labels(method, tool).observe(seconds)

    def refused(self, status: int) -> None:
        """An HTTP request was refused before it was one of the protocol."""
        self._refused.labels(str(status)).inc()

    def is_asked_by(self, scope: Scope) -> bool:
        """Whether a request brings the token."""
        given = Headers(scope=scope).get("authorization", "")
        return hmac.compare_digest(given.encode("latin-1"), b"Bearer " + self._token)

    async def answer(self, under_way: int, scope: Scope, receive: Receive, send: Send) -> None:
        """Tell all of them; `under_way` is how many requests are worked on."""
        memories = self._memory.those_open()
        waiting = sum([await _waiting(each) for each in memories])
        self._last = {"memories_open": len(memories), "requests_under_way": under_way, "vectors_waiting": waiting}
        encode, kind = choose_encoder(Headers(scope=scope).get("accept", ""))
        await Response(encode(self._registry), media_type=kind)(scope, receive, send)

    def collect(self) -> Iterator[Metric]:
        """What is so now and is not counted; the library asks for it."""
        gauges = dict(self._last)
        if self._pool is not None:
            pool = self._pool()
            gauges |= {
                "database_away": pool.is_away,
                "database_connections_most": pool.most,
                "database_connections_used": pool.used,
                "database_connections_idle": pool.idle,
                "database_awaited": pool.awaited,
            }
            tried = "Work on the database that was tried again after what failed in passing."
            yield CounterMetricFamily("holdfast_database_tries_again", tried, pool.tries_again)
        for name, value in gauges.items():
            yield GaugeMetricFamily(f"holdfast_{name}", _NOW[name], value)

    def describe(self) -> Iterable[Metric]:
        """Nothing: what is told depends on what is there."""
        return ()


async def _waiting(memory: Memory) -> int:
    """How many notes wait for their vector; 0 where that cannot be known without asking a provider."""
    made = identity(memory.ports.encoder)
    if made is None or memory.ports.index.lost:
        return 0
    try:
        return await memory.ports.index.count_pending(made.key)
    except IndexLostError:  # it is just being closed or made anew
        return 0
