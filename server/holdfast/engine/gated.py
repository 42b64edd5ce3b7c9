"""What all admin calls share: a token before anything is destroyed, and a line in the journal."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Generic, TypeVar

import structlog

from holdfast.engine.attending import Attending
from holdfast.engine.ports import Caller, Ports
from holdfast.errors import ConflictError, HoldfastError, InvalidArgumentError
from holdfast.index.note_index import IndexLostError
from holdfast.model.ids import is_note_id

Answer = TypeVar("Answer")

log = structlog.get_logger()

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

    @contextmanager
    def using(self, token: str, about: tuple[str, ...], now: datetime) -> Iterator[None]:
        """As `take`, for what the block does. A try that did nothing and is made again keeps the token.

        Raises:
            InvalidArgumentError: as `take` does.
        """
        entry = self._given.get(token)
        self.take(token, about, now)
        try:
            yield
        except (ConflictError, IndexLostError):
            if entry is not None:
                self._given[token] = entry
            raise


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


@dataclass(frozen=True, slots=True)
class AdminCall:
    """Who calls which tool, and what it is about: ids, never text. An `anywhere` call needs no sound index."""

    caller: Caller
    op: str
    about: Mapping[str, object] = field(default_factory=dict)
    anywhere: bool = False


@dataclass(frozen=True, slots=True)
class Journalled(Generic[Answer]):
    """What an admin call came to, and what is to be said beside it."""

    answer: Answer
    notices: tuple[str, ...] = ()


async def journalled(
    memory: Attending,
    call: AdminCall,
    verb: Callable[[Ports], Awaitable[Answer]],
    told: Callable[[Answer], Mapping[str, object]] = lambda _: {},
) -> Journalled[Answer]:
    """Make an admin call, and tell the journal once, however many tries it took, how it ended.

    A change of notes, a purge and a restore have lines of their own, written before the deed. This one is written
    after it: where that fails, the answer stands and says so.

    Args:
        memory: the memory.
        call: who calls what.
        verb: what it does.
        told: more keys for the line, of an answer.
    """
    try:
        answer = await (memory.attend_folder(verb) if call.anywhere else memory.attend(verb))
    except HoldfastError as error:
        notices = await write_outcome(memory, call, {"outcome": type(error).__name__})
        if notices:
            raise error.also(*notices) from error
        raise
    return Journalled(answer, await write_outcome(memory, call, {"outcome": "done", **told(answer)}))


async def write_outcome(memory: Attending, call: AdminCall, outcome: Mapping[str, object]) -> tuple[str, ...]:
    """Tell the journal how a call ended; returns what to say where that cannot be told."""
    who = call.caller
    line = {"admin": call.op, "op": call.op, "by": who.principal, "source": who.source, **call.about, **outcome}
    try:
        await memory.attend_folder(lambda ports: ports.store.record(line))
    except HoldfastError as error:
        log.warning("call_not_journalled", tool=call.op, error=type(error).__name__)
        return (f"How this call ended could not be written to the audit log: {error.sentence}",)
    return ()


async def afterwards(work: Awaitable[Answer]) -> tuple[Answer | None, tuple[str, ...]]:
    """What is only done after the deed: its failure is something to say, and takes nothing back."""
    try:
        return await work, ()
    except HoldfastError as error:
        return None, (f"It is done; what comes after it failed: {error.sentence}",)
