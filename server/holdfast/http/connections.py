"""The connections of an HTTP server: how many there are, how many of one address, and what must be plain and in time.

Places are shared between addresses, before anybody has said who they are. An address has at most a quarter of all, so
that no host can take them alone, but not fewer than 64, so that a machine whose agents each keep a few is not slowed.
When all places are taken, an idle connection of the address that has most makes room for one that has fewer.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from functools import lru_cache
from http import HTTPStatus
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any, ClassVar, Final

import h11
from starlette.types import Scope
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

MOST_HEAD: Final = 32 * 1024  # bytes
LEAST_READ: Final = 64 * 1024  # bytes, in the time that a request may take to arrive
LEAST_SHARE: Final = 64  # connections that any address may have, where there are so many
CONNECTION: Final = "holdfast.connection"  # where a request finds the connection that it came by
_LINGER_SECONDS: Final = 0.5  # for whoever is refused to read why
_MOST_LINGERING: Final = 64
_WHOLE_HEAD: Final = re.compile(rb"\n\r?\n")
_FRAMING: Final = re.compile(rb"^(content-length|transfer-encoding)[ \t]*:[ \t]*([^\r]*)", re.IGNORECASE | re.MULTILINE)


@lru_cache(maxsize=4096)
def network_of(address: str) -> str:
    """Whom an address counts for: itself, or the /64 of an IPv6 address, which is one customer's or one machine's."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address[:64]
    if not isinstance(found, IPv6Address):
        return str(found)
    return str(found.ipv4_mapped or ip_network((int(found) >> 64 << 64, 64)))


def address_of(scope: Scope) -> str:
    """Where a request comes from, as `network_of` counts it."""
    client: Any = scope.get("client")
    return network_of(str(client[0])) if client else "unknown"


class Places:
    """Who has the places of a server.

    Args:
        most: how many connections there can be.
        is_proxy: whether an address is a proxy's. Its connections count for the client that each request comes from.
    """

    def __init__(self, most: int, is_proxy: Callable[[str], bool]) -> None:
        self._most = most
        self._share = min(most, max(LEAST_SHARE, most // 4))
        self.is_proxy = is_proxy
        self._owners: dict[HttpConnection, str] = {}
        self._of: dict[str, dict[HttpConnection, None]] = {}
        self.lingering = 0

    def refused(self, connection: HttpConnection, address: str) -> str:
        """Take a connection in; or say why not."""
        owner = "" if self.is_proxy(address) else network_of(address)
        if owner and len(self._of.get(owner, ())) >= self._share:
            return f"Your address has {self._share} connections already."
        if len(self._owners) >= self._most and not self._make_room(owner):
            return f"The server has {self._most} connections already."
        self._enter(connection, owner)
        return ""

    def hand_over(self, connection: HttpConnection, owner: str) -> bool:
        """Count a proxy's connection for the client that asks through it; False where that one has too many."""
        if connection not in self._owners:  # it was closed meanwhile
            return True
        if self._owners[connection] != owner:
            self.leave(connection)
            self._enter(connection, owner)
        return len(self._of[owner]) <= self._share

    def leave(self, connection: HttpConnection) -> None:
        owner = self._owners.pop(connection, None)
        if owner is not None:
            del self._of[owner][connection]
            if not self._of[owner]:
                del self._of[owner]

    def _enter(self, connection: HttpConnection, owner: str) -> None:
        self._owners[connection] = owner
        self._of.setdefault(owner, {})[connection] = None

    def _make_room(self, owner: str) -> bool:
        """Whether somebody who has at least two more than the newcomer gave a place back."""
        named = [name for name in self._of if name]
        heaviest = max(named, key=lambda name: len(self._of[name]), default="")
        if len(self._of.get(heaviest, ())) < len(self._of.get(owner, ())) + 2:
            return False
        idle = next((each for each in self._of[heaviest] if each.is_idle), None)
        if idle is None:
            return False
        self.leave(idle)
        idle.give_way()
        return True


class Framing(h11.Connection):
    """Reads requests that say once where they end: one that says it twice may end elsewhere for a proxy before us."""

    problem = ""

    def next_event(self) -> Any:
        if self.their_state is h11.IDLE:
            self.problem = _ambiguity(self.trailing_data[0])
            if self.problem:
                raise h11.RemoteProtocolError(self.problem)
        return super().next_event()


def _ambiguity(received: bytes) -> str:
    """Why the head of a request could be read in two ways; empty where it could not, or is not there as a whole."""
    end = _WHOLE_HEAD.search(received)
    if end is None:
        return ""
    head = received[: end.end()]
    if not head.count(b"\r") == head.count(b"\n") == head.count(b"\r\n"):
        return "A line of the head does not end with CR and LF."
    if b"\r\n " in head or b"\r\n\t" in head:
        return "A header goes on in a second line."
    return _two_ends(head)


def _two_ends(head: bytes) -> str:
    found = [(name.lower(), value) for name, value in _FRAMING.findall(head)]
    lengths = [value for name, value in found if name == b"content-length"]
    codings = [value for name, value in found if name == b"transfer-encoding"]
    if lengths and codings:
        return "Content-Length and Transfer-Encoding exclude each other."
    if len(lengths) > 1 or len(codings) > 1 or b"," in b"".join(lengths):
        return "It is said twice how long the body is."
    if codings and head.partition(b"\r\n")[0].endswith(b"HTTP/1.0"):
        return "HTTP/1.0 has no Transfer-Encoding."
    return ""


class HttpConnection(H11Protocol):
    """A connection of a server with places for so many, each of which must say in time what it wants, and hear it."""

    places: ClassVar[Places]
    head_seconds: ClassVar[float]
    _late: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None
    _refused: bool = False
    _by_proxy: bool = False
    _resting: float = 0.0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn: Framing = Framing(h11.SERVER, MOST_HEAD)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        address = str(self.client[0]) if self.client else "unknown"
        self._by_proxy = self.places.is_proxy(address)
        if reason := self.places.refused(self, address):
            self._refuse(503, reason, "retry-after: 1\r\n")
            return
        self._late = self.loop.call_later(self.head_seconds, self._too_late)

    def connection_lost(self, exc: Exception | None) -> None:
        self.places.leave(self)
        self._in_time()
        self._is_read()
        super().connection_lost(exc)

    @property
    def is_idle(self) -> bool:
        """Whether no request of this connection is being read or answered."""
        cycle = self._asked
        return cycle is None or cycle.response_complete

    @property
    def _asked(self) -> RequestResponseCycle | None:
        """The latest request; None before there was one, for which the base class has no type."""
        return self.cycle

    def give_way(self) -> None:
        """Make room for another address; whoever never asked is told so."""
        if self._asked is None:
            self._refuse(503, "The place is needed for another address.", "retry-after: 1\r\n")
        else:
            self.transport.close()

    def asked_by(self, owner: str) -> bool:
        """Count for the client that a proxy names, if one does; False where that one has too many connections."""
        return not self._by_proxy or self.places.hand_over(self, owner)

    def rest(self, seconds: float) -> None:
        """Read nothing for a while after the answer that is due."""
        self._resting = seconds

    def on_response_complete(self) -> None:
        if not self._resting or self.transport.is_closing():
            super().on_response_complete()
            return
        self.flow.pause_reading()
        self.loop.call_later(self._resting, super().on_response_complete)
        self._resting = 0.0

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._unread is None:  # an answer that waits to be sent takes the place of another
            self._watch_reading()

    def resume_writing(self) -> None:
        self._is_read()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        if self._refused or self.transport.is_closing():
            return
        super().data_received(data)
        if not self.is_idle:
            self._in_time()
        elif self._late is None and not self._refused:
            self._late = self.loop.call_later(self.head_seconds, self._too_late)

    def handle_events(self) -> None:
        super().handle_events()
        if self._asked is not None:
            self.scope[CONNECTION] = self  # type: ignore[typeddict-unknown-key] # before its task runs

    def send_400_response(self, msg: str) -> None:
        if self.conn.problem:
            self._refuse(400, self.conn.problem, error="InvalidArgumentError")
        elif len(self.conn.trailing_data[0]) > MOST_HEAD:
            self._refuse(431, f"The headers are longer than {MOST_HEAD // 1024} KiB.")
        else:
            self._refuse(400, msg, error="InvalidArgumentError")

    def eof_received(self) -> None:
        if self._refused:
            self.transport.close()

    def _in_time(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _watch_reading(self) -> None:
        left = self.transport.get_write_buffer_size()
        self._unread = self.loop.call_later(self.head_seconds, self._check_reading, left)

    def _check_reading(self, before: int) -> None:
        if before - self.transport.get_write_buffer_size() < LEAST_READ:
            self.transport.abort()
        else:
            self._watch_reading()

    def _is_read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _too_late(self) -> None:
        self._refuse(408, f"The headers did not arrive within {self.head_seconds:g} seconds.")

    def _refuse(self, status: int, sentence: str, header: str = "", error: str = "LimitExceededError") -> None:
        """Say why, and hang up; where an answer is on its way there is nothing more to be said."""
        self._refused = True
        self._in_time()
        self.places.leave(self)
        if not self.is_idle and self.cycle.response_started:
            self.transport.abort()
            return
        body = json.dumps({"error": f"{error}: {sentence}"})
        head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: application/json\r\n{header}"
        answer = f"{head}content-length: {len(body)}\r\nconnection: close\r\n\r\n{body}"
        self.transport.write(answer.encode())
        self._linger()

    def _linger(self) -> None:
        """Hang up a moment later: what still comes in would make the other side's system drop what it was told."""
        if self.places.lingering >= _MOST_LINGERING or not self.transport.can_write_eof():
            self.transport.close()
            return
        self.places.lingering += 1
        self.transport.write_eof()
        self.loop.call_later(_LINGER_SECONDS, self._leave)

    def _leave(self) -> None:
        self.places.lingering -= 1
        self.transport.close()


def connection(places: Places, head_seconds: float) -> type[HttpConnection]:
    """The kind of connection that a server with these limits has."""
    return type("LimitedConnection", (HttpConnection,), {"places": places, "head_seconds": head_seconds})
