"""What the requests of one client may cost an HTTP server: how many at once, how often, how large, how slow."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BODY = 4 * 1024 * 1024  # bytes
RETRY_SECONDS = 1
_EVENTS = b"text/event-stream"
_MOST_KNOWN = 10_000  # clients whose pace is remembered
_BURST = 2.0  # seconds' worth of requests that may come at once


def refusal(status: int, sentence: str, **headers: str) -> Response:
    """An answer in which a request is refused: an error of JSON-RPC for no request in particular, with a sentence."""
    error = {"code": -32600, "message": f"LimitExceededError: {sentence}"}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status, headers=headers)


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
        if len(self._left) > _MOST_KNOWN:
            self._left.popitem(last=False)
        return allowed


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

    async def serve(self, client: str, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Have a request answered, or refuse it with 503."""
        if self._count >= self._most or self._own[client] >= self._share:
            whose, most = ("", self._most) if self._count >= self._most else (" of yours", self._share)
            told = f"The server works on {most} requests{whose} already; try again in a moment."
            await refusal(503, told, **{"Retry-After": str(RETRY_SECONDS)})(scope, receive, send)
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


async def whole_body(scope: Scope, receive: Receive, seconds: float) -> bytes | Response:
    """The body of a request, or the refusal of one that is too large or comes too slowly."""
    too_large = refusal(413, f"The body is larger than {MOST_BODY // 1024 // 1024} MiB.", Connection="close")
    announced = dict(scope["headers"]).get(b"content-length", b"0")
    if not announced.isdigit() or int(announced[:12]) > MOST_BODY:
        return too_large
    parts = bytearray()
    with anyio.move_on_after(seconds):
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return Response(status_code=400)  # nobody is there to read it
            parts += message.get("body", b"")
            if len(parts) > MOST_BODY:
                return too_large
            if not message.get("more_body", False):
                return bytes(parts)
    return refusal(408, f"The body did not arrive within {seconds:g} seconds.", Connection="close")


def replayed(body: bytes, receive: Receive) -> Receive:
    """A receiver that tells a body which was read already, and then what else happens."""
    told = False

    async def receiving() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receiving
