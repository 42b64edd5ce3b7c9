"""Sessions of the older era over HTTP: how many one client may have open.

A session costs memory for as long as it is idle, and many clients never end theirs. Who opens more than so many loses
the one that was used longest ago; a client whose session is gone opens another, as the protocol says.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_SESSIONS: Final = 512
IDLE_SECONDS: Final = 1800.0  # after which the framework ends one by itself
_NAME: Final = b"mcp-session-id"


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
