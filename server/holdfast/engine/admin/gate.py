"""What all admin calls share: a token before anything is destroyed, a line in the journal, the audit log; and backups.

The audit log shows changes, feedback and admin calls, without any note's text.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

import structlog

from holdfast.backup.vault import Effect, Restored
from holdfast.engine.commit import check_range
from holdfast.engine.ports import Attending, Caller, Ports, Vault
from holdfast.engine.sync.replay import look_back
from holdfast.errors import ConflictError, HoldfastError, InvalidArgumentError, StorageError
from holdfast.index.journal import LineRow, LinesWanted
from holdfast.index.note_index import IndexLostError
from holdfast.model.note import id_range, instant, is_note_id
from holdfast.model.records import JournalRecord
from holdfast.store.stored import Backup

DEFAULT_ENTRIES, MOST_ENTRIES = 20, 50
READ = "admin_read_"  # how the operation of a look begins
_LOOKS = ("admin_list_", READ)  # looking at the log would fill it


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """Which entries are asked for: of one note (an id or the beginning of one), of one verb."""

    limit: int = DEFAULT_ENTRIES
    node_id: str | None = None
    operation: str | None = None


AuditLine = LineRow


async def audit_log(ports: Ports, query: AuditQuery) -> list[AuditLine]:
    """Lines of the journal, newest first.

    Raises:
        InvalidArgumentError: `limit` is out of range, or `node_id` can be no id.
    """
    check_range("limit", query.limit, MOST_ENTRIES)
    bounds = id_range(query.node_id) if query.node_id else None
    if query.node_id and bounds is None:
        raise InvalidArgumentError("node_id is not a note id.", "Ids look like mem_ and 16 letters and digits.")
    verb = (query.operation or "").strip().lower()
    silent = _LOOKS[:1] if verb == "read" else _LOOKS
    wanted = LinesWanted(query.limit, verb=verb, notes=bounds, silent=silent)
    return await look_back(ports, lambda view: view.lines(wanted))


Answer = TypeVar("Answer")

log = structlog.get_logger()

LIFETIME = timedelta(minutes=5)
MOST_OPEN = 100
_SAID = ("note", "dry_run", "outcome", "change_id")  # what a program goes by of what is said of a call


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
            raise _not_a_token()

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


def _not_a_token() -> InvalidArgumentError:
    return InvalidArgumentError(
        "confirm is not a token for this call.", "Call once without confirm, then with the token it gives."
    )


async def give_token(ports: Ports, tokens: Confirmations, about: tuple[str, ...]) -> str:
    """A token that any server of the memory takes; from `tokens` where the memory has but one.

    Raises:
        StorageError: it cannot be kept.
    """
    if ports.tokens is None:
        return tokens.give(about, ports.clock())
    token = secrets.token_hex(8)
    await ports.tokens.keep(token, about, instant(ports.clock() + LIFETIME))
    return token


@asynccontextmanager
async def using_token(ports: Ports, tokens: Confirmations, token: str, about: tuple[str, ...]) -> AsyncIterator[None]:
    """Use a token up for what the block does. A try that did nothing and is made again keeps it.

    Raises:
        InvalidArgumentError: it was given for something else, is used, too old or unknown.
        StorageError: nobody can say.
    """
    if ports.tokens is None:
        with tokens.using(token, about, ports.clock()):
            yield
        return
    if not await ports.tokens.take(token, about, ports.now):
        raise _not_a_token()
    try:
        yield
    except (ConflictError, IndexLostError):
        await ports.tokens.keep(token, about, instant(ports.clock() + LIFETIME))
        raise


def named(node_id: str) -> dict[str, object]:
    """What the journal may tell of an argument that should be a note's id: nothing, if it is none."""
    return {"note": node_id} if is_note_id(node_id) else {}


async def looked(ports: Ports, caller: Caller, name: str, detail: Mapping[str, object]) -> None:
    """Tell the journal that somebody read a resource of the admin namespace.

    Args:
        ports: storage, index, encoder, clock and ids.
        caller: who read it.
        name: the resource's, which is ours.
        detail: the note that was asked for.

    Raises:
        StorageError: it cannot be told.
    """
    await ports.store.record(_line(AdminCall(caller, READ + name, detail), {"outcome": "done"}))


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
    detail: Callable[[Answer], Mapping[str, object]] = lambda _: {},
) -> Journalled[Answer]:
    """Make an admin call, and tell the journal once, however many tries it took, how it ended.

    A change of notes, a purge and a restore have lines of their own, written before the deed. This one is written
    after it: where that fails, the answer stands and says so.

    Args:
        memory: the memory.
        call: who calls what.
        verb: what it does.
        detail: more keys for the line, of an answer.
    """
    try:
        answer = await (memory.attend_folder(verb) if call.anywhere else memory.attend(verb))
    except HoldfastError as error:
        notices = await write_outcome(memory, call, {"outcome": type(error).__name__})
        if notices:
            raise error.also(*notices) from error
        raise
    return Journalled(answer, await write_outcome(memory, call, {"outcome": "done", **detail(answer)}))


async def write_outcome(memory: Attending, call: AdminCall, outcome: Mapping[str, object]) -> tuple[str, ...]:
    """Tell the journal how a call ended; returns what to say where that cannot be told."""
    line = _line(call, outcome)
    try:
        await memory.attend_folder(lambda ports: ports.store.record(line))
    except HoldfastError as error:
        log.warning("call_not_journalled", tool=call.op, error=type(error).__name__)
        return (f"How this call ended could not be written to the audit log: {error.sentence}",)
    return ()


def _line(call: AdminCall, outcome: Mapping[str, object]) -> JournalRecord:
    said: dict[str, Any] = {**call.about, **outcome}
    known = {name: said.pop(name) for name in _SAID if name in said}
    who = call.caller
    return JournalRecord(call.op, by=who.principal, source=who.source, admin=call.op, **known, more=said)


async def afterwards(work: Awaitable[Answer]) -> tuple[Answer | None, tuple[str, ...]]:
    """Do what only follows an admin call that is done; a failure becomes a notice, for the call itself stands."""
    try:
        return await work, ()
    except HoldfastError as error:
        return None, (f"It is done; what comes after it failed: {error.sentence}",)


DAY = timedelta(days=1)
PAUSE_SECONDS = 0.05  # after each two hundredth of a second of work on a daily backup


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a restore would do, and the token that makes it happen."""

    backup: Backup
    effect: Effect
    confirm: str


async def back_up(memory: Attending, caller: Caller) -> Journalled[Backup]:
    """Make a backup now."""
    call = AdminCall(caller, "admin_backup")
    return await journalled(memory, call, lambda ports: _vault(ports).back_up("asked for"), _as_record)


async def back_up_daily(ports: Ports) -> Backup | None:
    """Make the day's backup if it is due and there is a note to keep."""
    if ports.vault is None or not ports.daily_backups or not await ports.index.count_files():
        return None
    return await ports.vault.back_up_when_due(DAY, "daily", PAUSE_SECONDS)


async def list_backups(ports: Ports) -> list[Backup]:
    """Every backup, newest first."""
    return await _vault(ports).backups()


async def restore_backup(
    memory: Attending, caller: Caller, tokens: Confirmations, backup_id: str, confirm: str | None
) -> Journalled[DryRun | Restored]:
    """Check a backup and say what restoring it would do; with the token that this gives, do it.

    Raises:
        BackupNotFoundError: there is none of this id.
        IntegrityError: it is harmed or was changed.
        InvalidArgumentError: the token is not one of this call.
    """
    op = "admin_restore_backup"

    async def dry_run(ports: Ports) -> DryRun | Restored:
        backup = await _vault(ports).verify(backup_id)
        effect = await _vault(ports).effect(backup_id)
        about = (caller.principal, op, backup_id, backup.checksum)
        return DryRun(backup, effect, await give_token(ports, tokens, about))

    async def execute(ports: Ports) -> DryRun | Restored:
        checksum = next((b.checksum for b in await _vault(ports).backups() if b.backup_id == backup_id), "")
        said = JournalRecord(by=caller.principal, source=caller.source)
        async with using_token(ports, tokens, confirm or "", (caller.principal, op, backup_id, checksum)):
            return await _vault(ports).restore(backup_id, said)

    about, verb = ({"dry_run": True}, dry_run) if confirm is None else ({}, execute)
    return await journalled(memory, AdminCall(caller, op, about, anywhere=True), verb, _as_record)


def _as_record(answer: object) -> dict[str, str]:
    match answer:
        case Backup(backup_id=backup_id):
            return {"backup": backup_id}
        case DryRun(backup=backup) | Restored(backup=backup):
            return {"backup": backup.backup_id}
        case _:
            return {}


def _vault(ports: Ports) -> Vault:
    if ports.vault is None:
        raise StorageError("This storage keeps no backups.", "It is gone with the process that holds it.")
    return ports.vault
