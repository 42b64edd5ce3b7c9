"""Changes of one memory that are made together: whatever waits in this server at one moment is one transaction.

The tenant's row, which all servers take turns with, is taken once for all of them, and the disk is waited for once.
Each change ends for itself: one that came second, or that the database does not take, fails alone.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeAlias

import anyio

from holdfast.errors import ConflictError, StorageError
from holdfast.model.records import FileChange, JournalRecord
from holdfast.store.rows.database import Asked, Database, Transaction, is_of_one
from holdfast.store.rows.texts import (
    WHOLE,
    Text,
    add_numbers,
    delete,
    keep,
    make_tenant,
    note_question,
    number_of,
    page_question,
    place_of,
    put,
    record_of,
    take_number,
    touch,
    write_line,
)
from holdfast.store.rows.upkeep import Held, still_mine
from holdfast.store.stored import Change, Followed, PageChange, Planned, touched_ns

MOST_TOGETHER: Final = 64
_AGAIN_SECONDS: Final = (0.01, 0.08)  # until a verb is done again that came second
_NOTE: Final = "mem_"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A change that is decided: its id, its line, and for each text what becomes of it and what time it then has.

    `held` is what its writer rests on; one that is to `flush` is on the disk when it is acknowledged.
    """

    tag: str
    line: JournalRecord
    held: Held
    plans: tuple[Planned, ...] = ()
    items: tuple[Change | PageChange, ...] = ()
    now_ns: int = 0
    flush: bool = True

    @property
    def files(self) -> tuple[FileChange, ...]:
        return tuple(plan.file for plan in self.plans)

    @property
    def touched(self) -> frozenset[str]:
        """Keys under which others must not go on with what they knew: a note that was only read stays as it was."""
        if not self.plans:
            return self.held.keys
        own = {file.note for file in self.files}
        return frozenset(own | set(self.line.guards) | {key for key in self.held.keys if not key.startswith(_NOTE)})

    @property
    def places(self) -> frozenset[str]:
        """What it changes, by whatever name."""
        return self.touched | {file.path for file in self.files}


@dataclass(frozen=True, slots=True)
class Written:
    """A change that was made: its line as it stands in the journal, and the time that each text has."""

    line: JournalRecord
    times: Mapping[FileChange, int]


Outcome: TypeAlias = Written | Exception


@dataclass(slots=True, eq=False)
class _Waiting:
    """A change that waits; `called` when it has its outcome or is the first of the next transaction."""

    wanted: Wanted
    called: anyio.Event = field(default_factory=anyio.Event)
    ended: anyio.Event = field(default_factory=anyio.Event)  # the index knows it, or never will
    outcome: Outcome | None = None
    is_known: bool = False
    leads: bool = False  # it makes the transaction, for all who wait behind it

    def written(self) -> Written:
        if isinstance(self.outcome, Written):
            return self.outcome
        raise self.outcome or _unknown()


def _unknown() -> StorageError:
    return StorageError("It is not known whether the change was made.", "Look before you repeat it.")


class Commits:
    """The changes of one tenant in this server.

    Args:
        database: where they are made.
        tenant: whose.
        followed: how far the index knows the journal. Its lock is held from before a transaction until the index knows
            what that has changed: what follows the journal meets these changes before or after, not between.
    """

    def __init__(self, database: Database, tenant: str, followed: Followed) -> None:
        self._database = database
        self._tenant = tenant
        self._followed = followed
        self._waiting: deque[_Waiting] = deque()
        self._is_led = False  # somebody makes a transaction, for all who wait behind it

    @asynccontextmanager
    async def made(self, wanted: Wanted) -> AsyncIterator[Written]:
        """Make a change, with all others that wait; when it is committed the block brings it into the index.

        Not cancellable until it is known what became of it.

        Raises:
            ConflictError: another server changed what is held, or a text is not what it was; nothing was changed.
            StorageError: the database refused, or is not known to have taken it.
        """
        own, led = _Waiting(wanted), list[_Waiting]()
        try:
            with anyio.CancelScope(shield=True):
                await self._settle(own, led)
            written = own.written()
            wanted.held.wrote(written.line.seq)
            yield written
            own.is_known = True
        finally:
            own.ended.set()
            if led:
                with anyio.CancelScope(shield=True):
                    await self._end(led)
            elif own.outcome is None:
                self._give_up(own)

    async def _settle(self, own: _Waiting, led: list[_Waiting]) -> None:
        """Return when a change has its outcome; `led` then has those that were made together, where this one led them.

        What interrupts it all the same (the end of the event loop) leaves nobody waiting.
        """
        self._waiting.append(own)
        if self._is_led:
            await own.called.wait()
        if own.outcome is not None:
            return
        self._is_led = own.leads = True
        await self._followed.lock.acquire()
        led += self._gathered()
        for each, outcome in zip(led, await self._outcomes([each.wanted for each in led]), strict=True):
            each.outcome = outcome
            each.called.set()

    def _give_up(self, own: _Waiting) -> None:
        """It was interrupted before anything became of it."""
        if own in self._waiting:
            self._waiting.remove(own)
        if own.leads or own.called.is_set():
            self._pass_on()

    def _pass_on(self) -> None:
        """Let the first of those that wait lead the next transaction."""
        self._is_led = bool(self._waiting)
        if self._waiting:
            self._waiting[0].called.set()

    def _gathered(self) -> list[_Waiting]:
        """Those that go together: what rests on something that another one changes waits for the next time."""
        led: list[_Waiting] = []
        later: deque[_Waiting] = deque()
        changed: set[str] = set()
        while self._waiting and len(led) < MOST_TOGETHER:
            each = self._waiting.popleft()
            rests = each.wanted.places | each.wanted.held.keys
            (later if rests & changed else led).append(each)
            changed |= each.wanted.places
        self._waiting.extendleft(reversed(later))
        return led

    async def _outcomes(self, group: Sequence[Wanted]) -> Sequence[Outcome]:
        work = partial(_write_all, self._tenant, group)
        try:
            return await self._database.run(self._tenant, work, flush=any(each.flush for each in group))
        except StorageError as error:
            if len(group) == 1 or not is_of_one(error):
                return [error] * len(group)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is raised to each of them
            return [error] * len(group)
        return [outcome for each in group for outcome in await self._outcomes([each])]

    async def _end(self, led: Sequence[_Waiting]) -> None:
        """When the index knows all of them, or never will: let the next ones go."""
        try:
            for each in led:
                each.outcome = each.outcome or _unknown()
                each.called.set()
            for each in led:
                await each.ended.wait()
            self._advance(led)
        finally:
            self._followed.lock.release()
            self._pass_on()

    def _advance(self, led: Iterable[_Waiting]) -> None:
        """Take what this server wrote for read, up to what its index does not know, unless others wrote before it."""
        for each in led:
            if not isinstance(each.outcome, Written):
                continue
            place, seq = self._followed.place, each.outcome.line.seq
            is_gone = any(file.after is None for file in each.wanted.files)  # taken out of paths by who reads of it
            if not each.is_known or is_gone or not place or number_of(place) != seq - 1:
                return
            self._followed.place = place_of(seq, each.wanted.tag)


def came_second() -> ConflictError:
    return ConflictError(
        "Another server changed the note in the meantime.",
        "Nothing was written; repeat the call.",
        settles_in=random.uniform(*_AGAIN_SECONDS),  # noqa: S311 - so that two do not meet again
    )


@dataclass(frozen=True, slots=True)
class _Seen:
    """What stood in the database when it was the turn of some changes."""

    earlier: Mapping[str, JournalRecord]  # lines of a try that was committed, by the change's id
    newest: Mapping[str, int]  # by key, the number of the last change under it
    before: Mapping[FileChange, Text]


def _write_all(tenant: str, group: Sequence[Wanted], transaction: Transaction) -> list[Outcome]:
    """Take the next numbers, look at what is there, and write what may be written: two trips to the server.

    Raises:
        StorageError: the memory is being loaded.
    """
    number = take_number(transaction, tenant)
    checks = [still_mine(transaction, tenant, each.held.lease) if each.held.lease else None for each in group]
    look = _ask(transaction, tenant, group)
    taken = number.fetchone()
    if taken is None:
        make_tenant(transaction, tenant)
        return _write_all(tenant, group, transaction)
    if taken[1]:
        raise StorageError(
            "This memory is being loaded into the database.", "Let `holdfast store load` come to its end first."
        )
    seen, seq = look(), int(taken[0])
    outcomes: list[Outcome] = []
    for wanted, check in zip(group, checks, strict=True):
        earlier = _earlier(wanted, seen)
        try:
            if earlier is None:
                if check is not None:
                    check()
                _check_first(wanted, seen)
        except (ConflictError, StorageError) as error:
            outcomes.append(error)
            continue
        outcomes.append(earlier or _write(transaction, tenant, seq, wanted, seen))
        seq += earlier is None
    add_numbers(transaction, tenant, seq - int(taken[0]) - 1)
    return outcomes


@dataclass(frozen=True, slots=True)
class _Look:
    """Questions that were sent; called, it waits for their answers."""

    group: Sequence[Wanted]
    lines: Asked
    newest: Asked
    notes: Asked | None
    pages: Asked | None

    def __call__(self) -> _Seen:
        files = [file for each in self.group for file in each.files]
        notes = {row[0]: Text(row[2], row[3], row[5]) for row in self.notes.fetchall()} if self.notes else {}
        pages = {row[0]: Text(row[1], row[2], row[3]) for row in self.pages.fetchall()} if self.pages else {}
        found = ((file, (pages if file.is_page else notes).get(file.path)) for file in files)
        return _Seen(
            {row[0]: record_of(row[1]) for row in self.lines.fetchall()},
            {row[0]: row[1] for row in self.newest.fetchall()},
            {file: text for file, text in found if text is not None},
        )


def _ask(transaction: Transaction, tenant: str, group: Sequence[Wanted]) -> _Look:
    files = [file for each in group for file in each.files]
    questions = [
        question(tenant, paths) if paths else None
        for question, paths in (
            (note_question, [file.path for file in files if not file.is_page]),
            (page_question, [file.path for file in files if file.is_page]),
        )
    ]
    lines = transaction.ask(
        "SELECT tag, line FROM holdfast.journal WHERE tenant = %s AND tag = ANY(%s)",
        tenant, [each.tag for each in group],
    )  # fmt: skip
    newest = transaction.ask(
        "SELECT key, seq FROM holdfast.touched WHERE tenant = %s AND key = ANY(%s)",
        tenant, sorted({WHOLE, *(key for each in group for key in each.held.keys)}),
    )  # fmt: skip
    notes, pages = (transaction.ask(each.statement, *each.values) if each else None for each in questions)
    return _Look(group, lines, newest, notes, pages)


def _earlier(wanted: Wanted, seen: _Seen) -> Written | None:
    """What an earlier try made, whose COMMIT was not heard: whatever others did since, it is made."""
    if wanted.tag not in seen.earlier:
        return None
    times = {file: seen.before[file].modified_ns for file in wanted.files if file in seen.before}
    return Written(seen.earlier[wanted.tag], times)


def _check_first(wanted: Wanted, seen: _Seen) -> None:
    """Make sure that nobody changed what a change rests on.

    Raises:
        ConflictError: somebody came first.
    """
    base = wanted.held.base
    if base is not None and any(seen.newest.get(key, 0) > base for key in (WHOLE, *wanted.held.keys)):
        raise came_second()
    for file in wanted.files:
        text = seen.before.get(file)
        if (None if text is None else text.hash) != file.before:
            raise came_second()


def _write(transaction: Transaction, tenant: str, seq: int, wanted: Wanted, seen: _Seen) -> Written:
    times: dict[FileChange, int] = {}
    for plan, item in zip(wanted.plans, wanted.items, strict=True):
        old = seen.before.get(plan.file)
        times[plan.file] = touched_ns(item, old.modified_ns if old else None, wanted.now_ns)
        if old is not None:
            keep(transaction, tenant, old)
        if plan.data is not None:
            put(transaction, tenant, seq, plan.file, plan.data, times[plan.file])
        elif old is not None:
            delete(transaction, tenant, plan.file, old)
    line = write_line(transaction, tenant, wanted.tag, replace(wanted.line, seq=seq))
    if wanted.touched:
        touch(transaction, tenant, seq, wanted.touched)
    return Written(line, times)
