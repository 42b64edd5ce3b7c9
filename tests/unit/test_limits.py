"""Limits of requests over HTTP: whose turn it is, and large bodies."""

from __future__ import annotations

from collections import Counter
from typing import Any

import anyio
import pytest
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from holdfast.http.connections import CONNECTION
from holdfast.http.limits import (
    APART_SECONDS,
    CONTENDED_SECONDS,
    HAD_TURN,
    LARGE_AT_ONCE,
    LARGE_BODY,
    MOST_BODY,
    MOST_REST,
    MOST_WAITING,
    TURNS,
    TURNS_ALONE,
    Apart,
    Bodies,
    Turns,
)

pytestmark = pytest.mark.anyio
CROWD = 100


class Answering:
    """An endpoint that answers when it is told to, and notes how many requests of each client are inside."""

    def __init__(self) -> None:
        self.inside: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.go = anyio.Event()

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        client = scope["who"]
        self.inside[client] += 1
        if scope.get("streams"):
            await send({"type": "http.response.start", "headers": [(b"content-type", b"text/event-stream")]})
        await self.go.wait()
        self.inside[client] -= 1
        self.answered[client] += 1


async def nobody(_message: Message) -> None:
    """Nobody reads the answer."""


async def nothing() -> Message:
    return {"type": "http.disconnect"}


async def settled() -> None:
    """All that can go on without a word from us has done so."""
    for _ in range(20):
        await anyio.lowlevel.checkpoint()


async def test_a_crowd_of_one_client_goes_on_a_few_at_a_time_while_another_asks(anyio_backend: str) -> None:
    now, app = 0.0, Answering()
    turns = Turns(lambda: now)

    async def ask(who: str, **more: Any) -> None:
        await turns.serve(who, app, {"who": who, **more}, nothing, nobody)

    async with anyio.create_task_group() as tasks:
        for _ in range(CROWD):
            tasks.start_soon(ask, "ann")
        await settled()
        assert app.inside["ann"] == TURNS_ALONE
        tasks.start_soon(ask, "bob")
        await settled()
        assert app.inside["bob"] == 1
        for _ in range(CROWD):
            tasks.start_soon(ask, "bob")
        await settled()
        assert app.inside["bob"] == TURNS
        app.go.set()
    assert app.answered == {"ann": CROWD, "bob": CROWD + 1}
    app.go = anyio.Event()
    now = 2 * CONTENDED_SECONDS
    async with anyio.create_task_group() as tasks:
        for _ in range(CROWD):
            tasks.start_soon(ask, "bob")
        await settled()
        assert app.inside["bob"] == TURNS_ALONE, "who asks alone again is not held up"
        app.go.set()
    assert not turns._lanes._of, "nobody is remembered who does not ask"


async def test_while_another_asks_half_of_the_time_of_a_turn_is_left_empty(
    anyio_backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, rests = 0.0, list[float]()

    async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
        nonlocal now
        now += scope["spent"]

    async def rest(seconds: float) -> None:
        rests.append(seconds)

    monkeypatch.setattr("holdfast.http.limits.anyio.sleep", rest)
    turns = Turns(lambda: now)
    for who, spent in (("ann", 0.01), ("ann", 0.01), ("bob", 0.005), ("ann", 0.01), ("ann", 5.0), ("ann", 0.01)):
        await turns.serve(who, app, {"spent": spent}, nothing, nobody)
    assert rests == [pytest.approx(0.005), pytest.approx(0.01), MOST_REST], "who asks alone is not held up"


async def test_answers_that_cost_no_turn_come_one_after_another_to_each_client(
    anyio_backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits, sent, hung_up = list[float](), list[str](), list[bool]()

    class Transport:
        def abort(self) -> None:
            hung_up.append(True)

    class Reached:
        transport = Transport()

    async def wait(seconds: float) -> None:
        waits.append(seconds)

    async def heard(message: Message) -> None:
        sent.append(message["type"])

    monkeypatch.setattr("holdfast.http.limits.anyio.sleep", wait)
    apart = Apart(lambda: 7.0)

    async def refuse(who: str, **had: Any) -> None:
        send = apart.of(lambda: who, {CONNECTION: Reached()} | had, heard)
        await send({"type": "http.response.start"})
        await send({"type": "http.response.body"})

    for who in ("ann", "ann", "bob", "ann"):
        await refuse(who)
    assert waits == [pytest.approx(APART_SECONDS), pytest.approx(2 * APART_SECONDS)]
    await refuse("ann", **{HAD_TURN: True})
    assert len(waits) == 2, "what had its turn has waited"
    assert sent == ["http.response.start", "http.response.body"] * 5
    for _ in range(round(MOST_WAITING / APART_SECONDS) + 10):
        await refuse("ann")
    assert max(waits) <= MOST_WAITING
    assert hung_up


async def test_a_stream_gives_its_turn_back(anyio_backend: str) -> None:
    app = Answering()
    turns = Turns()
    async with anyio.create_task_group() as tasks:
        for _ in range(3 * TURNS_ALONE):
            tasks.start_soon(turns.serve, "ann", app, {"who": "ann", "streams": True}, nothing, nobody)
        await settled()
        await settled()
        assert app.inside["ann"] == 3 * TURNS_ALONE
        app.go.set()


def sending(size: int, *, announced: bool = True) -> tuple[Scope, Receive]:
    parts = [b"x" * min(4096, size - at) for at in range(0, size, 4096)] or [b""]
    left = list(reversed(parts))

    async def receive() -> Message:
        part = left.pop()
        return {"type": "http.request", "body": part, "more_body": bool(left)}

    headers = [(b"content-length", b"%d" % size)] if announced else []
    return {"headers": headers}, receive


@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize("size", [0, 1, LARGE_BODY, LARGE_BODY + 1, MOST_BODY, MOST_BODY + 1])
async def test_a_body_is_read_whole_or_refused(anyio_backend: str, size: int, announced: bool) -> None:
    async with Bodies(5).whole("ann", *sending(size, announced=announced)) as body:
        if size > MOST_BODY:
            assert isinstance(body, Response)
            assert body.status_code == 413
        else:
            assert body == b"x" * size


async def test_a_client_has_two_large_bodies_at_a_time_and_others_have_theirs(anyio_backend: str) -> None:
    bodies, inside, go = Bodies(60), Counter[str](), anyio.Event()

    async def send(who: str, size: int) -> None:
        async with bodies.whole(who, *sending(size)):
            inside[who] += 1
            await go.wait()

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(send, "ann", LARGE_BODY + 1)
        tasks.start_soon(send, "bob", LARGE_BODY + 1)
        await settled()
        await settled()
        assert inside == {"ann": LARGE_AT_ONCE, "bob": 1}
        tasks.start_soon(send, "ann", 10)
        await settled()
        assert inside["ann"] == LARGE_AT_ONCE + 1, "a small one does not wait for large ones"
        go.set()
    assert inside["ann"] == 6


async def test_a_large_body_that_must_wait_for_too_long_is_told_to_come_again(anyio_backend: str) -> None:
    bodies = Bodies(0.01)
    async with (
        bodies.whole("ann", *sending(LARGE_BODY + 1)),
        bodies.whole("ann", *sending(LARGE_BODY + 1)),
        bodies.whole("ann", *sending(LARGE_BODY + 1)) as third,
    ):
        assert isinstance(third, Response)
        assert (third.status_code, third.headers["Retry-After"]) == (503, "1")
