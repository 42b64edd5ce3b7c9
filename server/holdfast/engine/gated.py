"""What all admin calls share: a token before anything is destroyed, and a line in the journal."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

from holdfast.engine.ports import Caller, Ports
from holdfast.errors import HoldfastError, InvalidArgumentError
from holdfast.model.ids import is_note_id

Answer = TypeVar("Answer")

LIFETIME = timedelta(minutes=5)
MOST_OPEN = 100
READ = "admin_read_"  # how the operation of a look begins


@dataclass(slots=True)
class Confirmations:
    """Tokens that were given for something that destroys: bound to what exactly, for one use, for five minutes.

    No principal's tokens take the place of another's.
    """

    _given: dict[str, tuple[tuple[str, ...], datetime]] = field(default_factory=dict)

    def give(self, about: tuple[str, ...], now: datetime) -> str:
        """A token for what `about` says: principal first, then operation, arguments and what they meet."""
        self._given = {token: entry for token, entry in self._given.items() if entry[1] > now}
        own = [token for token, (what, _) in self._given.items() if what[0] == about[0]]
        if len(own) >= MOST_OPEN:
            del self._given[own[0]]
        token = secrets.token_hex(8)
        self._given[token] = (about, now + LIFETIME)
        return token

    def take(self, token: str, about: tuple[str, ...], now: datetime) -> None:
        """Use a token up; one of another principal stays theirs.

        Raises:
            InvalidArgumentError: it was given for something else, is used, too old or unknown.
        """
        found = self._given.get(token)
        if found is not None and found[0][0] == about[0]:
            del self._given[token]
        if found is None or found[0] != about or not found[1] - LIFETIME <= now < found[1]:
            raise InvalidArgumentError(
                "confirm is not a token for this call.",
                "Call once without confirm, then with the token it gives.",
            )


def named(node_id: str) -> dict[str, object]:
    """What the journal may tell of an argument that should be a note's id: nothing, if it is none."""
    return {"note": node_id} if is_note_id(node_id) else {}


async def looked(ports: Ports, caller: Caller, name: str, detail: Mapping[str, object]) -> None:
    """Tell the journal that somebody read a resource of the admin namespace.

    Args:
        ports: the world.
        caller: who read it.
        name: the resource's, which is ours.
        detail: the note that was asked for.

    Raises:
        StorageError: it cannot be told.
    """
    op = READ + name
    line = {"admin": op, "op": op, "by": caller.principal, "source": caller.source, **detail}
    await ports.store.record({**line, "outcome": "done"})


async def journalled(
    ports: Ports,
    caller: Caller,
    op: str,
    detail: Mapping[str, object],
    call: Callable[[], Awaitable[Answer]],
    told: Callable[[Answer], Mapping[str, object]] = lambda _: {},
) -> Answer:
    """Run an admin call and tell the journal that it was made, by whom and how it ended.

    Args:
        ports: the world.
        caller: who calls.
        op: the tool.
        detail: what the call is about: ids, never text.
        call: what it does.
        told: more keys for the line, of an answer.
    """
    line = {"admin": op, "op": op, "by": caller.principal, "source": caller.source, **detail}
    try:
        answer = await call()
    except HoldfastError as error:
        await ports.store.record({**line, "outcome": type(error).__name__})
        raise
    await ports.store.record({**line, "outcome": "done", **told(answer)})
    return answer
