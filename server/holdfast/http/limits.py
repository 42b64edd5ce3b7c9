"""What one client may cost an HTTP server: requests at once, how often, how large, how slow, and how many sessions.

A session of the older era costs memory for as long as it is idle, and many clients never end theirs. Who opens more
than its share loses the one that was used longest ago; such a client opens another, as the protocol says.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import anyio
from anyio import CapacityLimiter
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.http.connections import CONNECTION

READY_SECONDS: Final = 0.5
MOST_SESSIONS: Final = 512
IDLE_SECONDS: Final = 1800.0  # after which the framework ends one by itself
_NAME: Final = b"mcp-session-id"


class Readiness:
    """Whether a server is to be sent requests. However many ask, what keeps the notes is asked twice a second at most.

    Args:
        reaches: whether that can be reached; None where it always can.
    """

    def __init__(self, reaches: Callable[[], Awaitable[bool]] | None) -> None:
        self.ends = False
        self._reaches = reaches
        self._lock = anyio.Lock()
        self._known = False
        self._asked = float("-inf")

    async def is_ready(self) -> bool:
        if self._reaches is None or self.ends:
            return not self.ends
        async with self._lock:
            if time.monotonic() - self._asked >= READY_SECONDS:
                self._known = await self._reaches()
                self._asked = time.monotonic()
        return self._known and not self.ends


class Sessions:
    """The sessions of an endpoint, by who opened them.

    Args:
        app: the endpoint.
        most: how many one client may have.
        clock: seconds that never go back.
    """

    def __init__(self, app: ASGIApp, most: int = MOST_SESSIONS, clock: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._most = most
        self._clock = clock
        self._used: OrderedDict[tuple[str, bytes], float] = OrderedDict()
        self._counts: dict[str, int] = {}

    def of(self, asker: str) -> ASGIApp:
        """The endpoint, for one client."""
        return partial(self._serve, asker)

    async def _serve(self, asker: str, scope: Scope, receive: Receive, send: Send) -> None:
        given = dict(scope["headers"]).get(_NAME, b"")
        if (asker, given) in self._used:
            self._used[asker, given] = self._clock()
            self._used.move_to_end((asker, given))
        opened: list[bytes] = []

        async def noting(message: Message) -> None:
            if not given and message["type"] == "http.response.start":
                opened.extend(value for name, value in message.get("headers", ()) if name.lower() == _NAME)
            await send(message)

        await self._app(scope, receive, noting)
        for name in opened:
            await self._add(asker, name, scope)

    async def _add(self, asker: str, name: bytes, scope: Scope) -> None:
        now = self._clock()
        self._used[asker, name] = now
        self._counts[asker] = self._counts.get(asker, 0) + 1
        while now - next(iter(self._used.values())) > IDLE_SECONDS:
            self._forget(next(iter(self._used)))
        if self._counts[asker] > self._most:
            oldest = next(key for key in self._used if key[0] == asker)
            self._forget(oldest)
            await self._end(oldest[1], scope)

    def _forget(self, key: tuple[str, bytes]) -> None:
        del self._used[key]
        self._counts[key[0]] -= 1
        if not self._counts[key[0]]:
            del self._counts[key[0]]

    async def _end(self, name: bytes, scope: Scope) -> None:
        """End a session as its client would."""

        async def nothing() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def unheard(message: Message) -> None:
            """Nobody asked."""

        kept = [(key, value) for key, value in scope["headers"] if key in (b"host", b"authorization")]
        headers = [*kept, (_NAME, name), (b"accept", b"application/json, text/event-stream")]
        await self._app({**scope, "method": "DELETE", "headers": headers}, nothing, unheard)


MOST_BODY = 4 * 1024 * 1024  # bytes
RETRY_SECONDS = 1
LARGE_BODY = 64 * 1024  # bytes; above, a body is one of few of its client
LARGE_AT_ONCE = 2
TURNS, TURNS_ALONE = 2, 32  # requests of one client that are answered at a time, while others ask too, and else
CONTENDED_SECONDS = 1.0  # after the request of one client, in which others are held to that
MOST_REST = 0.02  # seconds that a turn is left empty while others ask, at most as long as the answer took
APART_SECONDS = 0.002  # between two answers to one client that cost no turn: refusals, and whether the server lives
MOST_WAITING = 10.0  # seconds that such an answer waits; whoever has more of them due is hung up on
STRANGER_RATE = 100  # requests a second of an address, without a token where one is needed
GUESSES = 100  # tokens that are not valid, from one address; then one a second
HAD_TURN = "holdfast.had_turn"  # whether a request was answered in its client's turn
_REPEATED = 8  # of them that are known again
_EVENTS = b"text/event-stream"
_MOST_KNOWN = 10_000  # clients whose pace is remembered
_BURST = 2.0  # seconds' worth of requests that may come at once


def refusal(status: int, sentence: str, **headers: str) -> Response:
    """An answer in which a request is refused: an error of JSON-RPC for no request in particular, with a sentence."""
    error = {"code": -32600, "message": f"LimitExceededError: {sentence}"}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status, headers=headers)


def later(status: int, sentence: str, scope: Scope) -> Response:
    """A refusal of what may be asked again in a second; on the same connection it is not read before."""
    scope[CONNECTION].rest(RETRY_SECONDS)
    return refusal(status, sentence, **{"Retry-After": str(RETRY_SECONDS)})


@dataclass(slots=True)
class Pace:
    """A token bucket for each client: `rate` requests a second, and twice that at once. 0 is no limit."""

    rate: int
    clock: Callable[[], float] = time.monotonic
    _left: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)

    def take(self, client: str) -> bool:
        """Whether this client may ask now; if so, it counts."""
        if not self.rate:
            return True
        now, most = self.clock(), self.rate * _BURST
        left, at = self._left.pop(client, (most, now))
        left = min(most, left + (now - at) * self.rate)
        allowed = left >= 1
        self._left[client] = (left - 1 if allowed else left, now)
        _keep_last(self._left)
        return allowed


@dataclass(slots=True)
class _Guesser:
    """An address that gave tokens which are not valid: how many more it may try, since when, and which it tried."""

    left: float
    at: float
    tried: deque[int]


class Guesses:
    """How often an address may try tokens that are not valid: many at first, then one a second.

    A token that was valid lately, and one that was tried before, is no guess: whoever shares an address with those who
    guess goes on, and a client that repeats its old token keeps nobody out.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._of: OrderedDict[str, _Guesser] = OrderedDict()
        self._good: OrderedDict[int, None] = OrderedDict()

    def may_try(self, address: str, token: bytes) -> bool:
        guesser = self._of.get(address)
        if guesser is None or hash(token) in self._good or hash(token) in guesser.tried:
            return True
        now = self._clock()
        guesser.left = min(GUESSES, guesser.left + now - guesser.at)
        guesser.at = now
        return guesser.left >= 1

    def tried(self, address: str, token: bytes, *, good: bool) -> None:
        """What came of it."""
        if good:
            self._good[hash(token)] = None
            self._good.move_to_end(hash(token))
            _keep_last(self._good)
            return
        guesser = self._of.pop(address, None) or _Guesser(GUESSES, self._clock(), deque(maxlen=_REPEATED))
        self._of[address] = guesser
        _keep_last(self._of)
        if hash(token) not in guesser.tried:
            guesser.left -= 1
            guesser.tried.append(hash(token))


def _keep_last(known: OrderedDict[Any, Any]) -> None:
    if len(known) > _MOST_KNOWN:
        known.popitem(last=False)


class UnderWay:
    """Requests that are worked on, at most so many at once. An answer that has begun, and may last, does not count.

    Args:
        most: how many of all clients.
        share: how many of one of them.
    """

    def __init__(self, most: int, share: int) -> None:
        self._most = most
        self._share = share
        self._count = 0
        self._own: Counter[str] = Counter()
        self._none = anyio.Event()

    @property
    def count(self) -> int:
        """How many are worked on now."""
        return self._count

    async def serve(self, client: str, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Have a request answered, or refuse it with 503."""
        if self._count >= self._most or self._own[client] >= self._share:
            whose, most = ("", self._most) if self._count >= self._most else (" of yours", self._share)
            sentence = f"The server works on {most} requests{whose} already; try again in a moment."
            await later(503, sentence, scope)(scope, receive, send)
            return
        self._count += 1
        self._own[client] += 1
        counted = True

        def done() -> None:
            nonlocal counted
            if counted:
                counted = False
                self._count -= 1
                self._own[client] -= 1
                if not self._own[client]:
                    del self._own[client]
                if not self._count:
                    self._none.set()

        async def sending(message: Message) -> None:
            await send(message)
            if message["type"] == "http.response.body" or is_stream(message):
                done()

        try:
            await app(scope, receive, sending)
        finally:
            done()

    async def ended(self) -> None:
        """Wait until nothing is worked on."""
        while self._count:
            self._none = anyio.Event()
            await self._none.wait()


def is_stream(message: Message) -> bool:
    """Whether an answer begins here that goes on for as long as somebody listens."""
    kind: bytes = dict(message.get("headers", ())).get(b"content-type", b"")
    return message["type"] == "http.response.start" and kind.startswith(_EVENTS)


def lasting(app: ASGIApp, seconds: float) -> ASGIApp:
    """An endpoint whose streams end after a time; what is answered at once is not cut short."""

    async def answering(scope: Scope, receive: Receive, send: Send) -> None:
        ending = anyio.CancelScope()

        async def sending(message: Message) -> None:
            if is_stream(message):
                ending.deadline = anyio.current_time() + seconds
            await send(message)

        with ending:
            await app(scope, receive, sending)
            return
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    return answering


class Lanes:
    """So many at a time of each client; others of the same client wait in line."""

    def __init__(self) -> None:
        self._of: dict[str, CapacityLimiter] = {}
        self._users: Counter[str] = Counter()

    def has_others(self, client: str) -> bool:
        """Whether anybody else is inside or waits."""
        return len(self._users) > (client in self._users)

    @asynccontextmanager
    async def of(self, client: str, most: int) -> AsyncIterator[Callable[[], None]]:
        """Wait until fewer than `most` of this client are inside, and be one of them, until the way out is called."""
        limiter = self._of.setdefault(client, CapacityLimiter(most))
        if limiter.total_tokens != most:
            limiter.total_tokens = most
        self._users[client] += 1
        inside: list[object] = []

        def leave() -> None:
            if inside:
                limiter.release_on_behalf_of(inside.pop())

        try:
            entering = object()
            await limiter.acquire_on_behalf_of(entering)
            inside.append(entering)
            yield leave
        finally:
            leave()
            self._users[client] -= 1
            if not self._users[client]:
                del self._users[client], self._of[client]


class Turns:
    """While several clients ask, few requests of each are answered at a time, so that nobody waits behind a crowd.

    A client that asks alone has as many as keep the processors busy: those that had begun would go before another's.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lanes = Lanes()
        self._latest = self._before = ("", 0.0)  # who asked last and when, and the last other one

    async def serve(self, client: str, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Have a request answered when it is this client's turn; an answer that lasts gives the turn back."""
        most = self._most(client)
        async with self._lanes.of(client, most) as leave:
            began = self._clock()

            async def sending(message: Message) -> None:
                await send(message)
                if is_stream(message):
                    leave()

            await app(scope, receive, sending)
            if most == TURNS:  # half of the time is for others, however little each of their steps takes
                await anyio.sleep(min(MOST_REST, self._clock() - began))

    def _most(self, client: str) -> int:
        now = self._clock()
        if self._latest[0] != client:
            self._before = self._latest
        self._latest = (client, now)
        lately = bool(self._before[0]) and now - self._before[1] < CONTENDED_SECONDS
        return TURNS if lately or self._lanes.has_others(client) else TURNS_ALONE


class Apart:
    """Answers that cost no turn are given one after another to one client, so that many of them leave room for others.

    Until then nothing more is read from the connection.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next: OrderedDict[str, float] = OrderedDict()

    def of(self, client: Callable[[], str], scope: Scope, send: Send) -> Send:
        """A sender that waits with the beginning of an answer; what had its turn has waited."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start" and HAD_TURN not in scope:
                await self._wait(client(), scope)
            await send(message)

        return sending

    async def _wait(self, client: str, scope: Scope) -> None:
        now = self._clock()
        at = max(now, self._next.pop(client, now))
        self._next[client] = at + APART_SECONDS
        _keep_last(self._next)
        if at - now > MOST_WAITING:
            self._next[client] = at
            scope[CONNECTION].transport.abort()
        elif at > now:
            await anyio.sleep(at - now)


@dataclass(slots=True)
class _Arriving:
    """What has come of a body."""

    parts: bytearray = field(default_factory=bytearray)
    is_whole: bool = False


class Bodies:
    """Bodies of requests: how large, how slow, and how many large ones of one client at a time.

    Args:
        seconds: how long a body may take to arrive, and a large one to begin.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lanes = Lanes()

    @asynccontextmanager
    async def whole(self, client: str, scope: Scope, receive: Receive) -> AsyncIterator[bytes | Response]:
        """The body of a request, or the refusal of one that is too large or comes too late."""
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        if not announced.isdigit() or int(announced[:12]) > MOST_BODY:
            yield _too_large()
            return
        body = _Arriving()
        if int(announced) <= LARGE_BODY and (refused := await self._read(body, receive, LARGE_BODY)):
            yield refused
        elif body.is_whole and len(body.parts) <= LARGE_BODY:
            yield bytes(body.parts)
        else:
            async with AsyncExitStack() as lane:
                with anyio.move_on_after(self._seconds) as waiting:
                    await lane.enter_async_context(self._lanes.of(client, LARGE_AT_ONCE))
                yield _crowded() if waiting.cancelled_caught else await self._large(body, receive)

    async def _large(self, body: _Arriving, receive: Receive) -> bytes | Response:
        refused = await self._read(body, receive, MOST_BODY)
        return refused or (_too_large() if len(body.parts) > MOST_BODY else bytes(body.parts))

    async def _read(self, body: _Arriving, receive: Receive, most: int) -> Response | None:
        """Read until it is whole or longer than this; the answer to one that does not come."""
        with anyio.move_on_after(self._seconds):
            while not body.is_whole and len(body.parts) <= most:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return Response(status_code=400)  # nobody is there to read it
                body.parts += message.get("body", b"")
                body.is_whole = not message.get("more_body", False)
            return None
        return refusal(408, f"The body did not arrive within {self._seconds:g} seconds.", Connection="close")


def _crowded() -> Response:
    sentence = f"{LARGE_AT_ONCE} large requests of yours are worked on already."
    return refusal(503, sentence, **{"Retry-After": str(RETRY_SECONDS), "Connection": "close"})


def _too_large() -> Response:
    return refusal(413, f"The body is larger than {MOST_BODY // 1024 // 1024} MiB.", Connection="close")


def replayed(body: bytes, receive: Receive) -> Receive:
    """A receiver that tells a body which was read already, and then what else happens."""
    sent = False

    async def receiving() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receiving
