"""What the engine needs: a store, an index, an encoder, a clock, ids; and who answers a verb of several requests.

A later storage may keep notes and index in a distributed database for fleets of stateless servers: nothing here, and
nothing that is built on it, assumes a local path or a single process.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from secrets import randbits
from typing import Any, Protocol, TypeVar

import anyio

from holdfast.backup.export import Exported
from holdfast.backup.vault import Effect, Restored
from holdfast.batching import Batcher
from holdfast.encode.provider import KeptEncoders, Provider, SharedVectors
from holdfast.engine.state import Computing, DueSignal, EventBus, Quota, Refusals, Tips, Uses, Warmth
from holdfast.importers.files import Source
from holdfast.index.note_index import NoteIndex
from holdfast.index.recalls import SessionLog
from holdfast.model.lifecycle import DAYS
from holdfast.model.note import RANDOM_BITS, instant, note_id
from holdfast.model.records import Baseline, FileChange, JournalRecord, RecallEvent
from holdfast.model.secrets import Redaction
from holdfast.model.versions import ReadTogether
from holdfast.settings import SecretsMode
from holdfast.store.history import Erasure, PastText, Remains
from holdfast.store.stored import Backup, Change, Committed, Mark, Page, PageChange, Stored, Unreadable
from holdfast.store.transcripts.queue import TranscriptQueue

Answer = TypeVar("Answer")
# The `vector_set` of an encoder raises an `EncoderError` until `identify` has asked for it.
Encoder = Provider


class ReadsPairs(Protocol):
    """Reads an older and a newer note at once; see `holdfast.encode.builtin.PairReader`."""

    @property
    def is_busy(self) -> bool:
        """Whether pairs are read in this process just now, by whomever."""
        ...

    async def read(self, pairs: Sequence[tuple[str, str]]) -> list[ReadTogether]: ...


class ReadsAnswers(Protocol):
    """Reads a question with a note; see `holdfast.encode.builtin.AnswerReader`."""

    async def loaded(self) -> Callable[[str, str], float]: ...


def now() -> datetime:
    return datetime.now(UTC)


def new_note_id() -> str:
    return note_id(time.time_ns() // 1_000_000, randbits(RANDOM_BITS))


def new_change_id() -> str:
    return "chg_" + new_note_id().partition("_")[2]


class Reading(Protocol):
    """A line of the journal as it was read; reading goes on behind its place."""

    @property
    def record(self) -> JournalRecord: ...
    @property
    def place(self) -> str: ...


class Store(Protocol):
    """The notes themselves, whatever keeps them: notes by id and version, pages by name, changes that are made as one.

    `hold` and `try_hold` own names (note ids, pages, sessions) among all tasks and processes; `try_hold` yields those
    that it got in time. `alone` and `quiet` are for what concerns all of it. A `mark` names a version and says no more
    than whether it is still the same.
    """

    async def aclose(self) -> None: ...
    @property
    def is_there(self) -> bool: ...
    @property
    def watches(self) -> bool: ...
    @property
    def open_changes(self) -> int: ...
    @property
    def reading_only(self) -> str: ...
    def check_writing(self) -> None: ...
    def take_reports(self) -> list[str]: ...

    def hold(self, keys: Iterable[str]) -> AbstractAsyncContextManager[frozenset[str]]: ...
    def try_hold(self, keys: Iterable[str], patience: float) -> AbstractAsyncContextManager[frozenset[str]]: ...
    def alone(self) -> AbstractAsyncContextManager[None]: ...
    def quiet(self) -> AbstractAsyncContextManager[None]: ...
    async def settled(self, keys: Iterable[str], patience: float) -> None: ...
    def encoding_turn(self, *, remote: bool) -> AbstractAsyncContextManager[bool]: ...

    async def load(self, paths: Sequence[str], known_ids: Mapping[str, str]) -> list[Stored | Unreadable]: ...
    async def marks(self, paths: Iterable[str]) -> dict[str, str]: ...
    async def note_hashes(self, paths: Iterable[str]) -> dict[str, str]: ...
    def check_still(self, stored: Stored) -> None: ...
    async def pages(self, paths: Iterable[str]) -> dict[str, Page]: ...
    async def list_pages(self, folder: str) -> list[str]: ...
    async def drop_page(self, path: str) -> None: ...
    async def page_marks(self, paths: Iterable[str]) -> dict[str, Mark]: ...
    def pages_in_change(self) -> Mapping[str, FileChange]: ...
    def commit(
        self, op: str, changes: Sequence[Change | PageChange], said: JournalRecord
    ) -> AbstractAsyncContextManager[Committed]: ...

    @property
    def past(self) -> Past: ...
    async def record(self, record: JournalRecord, *, flush: bool = ...) -> int: ...
    async def page_records(self, known: str) -> tuple[list[JournalRecord], str] | None: ...
    @property
    def journal_start(self) -> str: ...
    async def journal_since(self, known: str, most: int) -> Sequence[Reading] | None: ...
    def damage_before(self, place: str) -> tuple[int, tuple[str, ...]]: ...
    async def damaged_lines(self) -> tuple[int, tuple[str, ...]]: ...


class Keeper(Protocol):
    """Keeps the index equal to what is stored; see `holdfast.engine.sync.files.Reconciler` for a folder."""

    async def fresh(self, *, force: bool = ..., anew: bool = ..., past: bool = ...) -> None: ...
    async def open_store(self) -> None: ...
    async def tend(self) -> float | None: ...


MakeKeeper = Callable[["Ports", Callable[[], Awaitable[None]]], Keeper]


class Past(Protocol):
    """What was, and its erasure; see `holdfast.store.history.FolderHistory`."""

    async def records(self, ops: Collection[str] = ...) -> list[JournalRecord]: ...
    async def lines(self, numbers: Iterable[int]) -> dict[int, JournalRecord]: ...
    async def replaced(self, file: FileChange, created: str = ...) -> PastText: ...
    async def drop(self, deletion: FileChange) -> None: ...
    async def remains(self, note: str, paths: Sequence[str]) -> Remains: ...
    async def erase(self, erasure: Erasure) -> None: ...


class Recalls(Protocol):
    """What was asked lately; see `holdfast.index.recalls.RecallLog`."""

    async def add(self, event: RecallEvent) -> bool: ...
    async def write_behind(self) -> None: ...
    async def get(self, event_id: str, since: str) -> RecallEvent | None: ...
    async def latest(self, note_id: str, since: str, principal: str) -> RecallEvent | None: ...
    async def recent(self, principal: str, most: int) -> list[RecallEvent]: ...
    async def prune(self) -> int: ...
    async def erase(self) -> None: ...
    async def aclose(self) -> None: ...


class Tokens(Protocol):
    """Tokens of dry runs that any server of the memory may take; see `holdfast.store.rows.shared.RowTokens`.

    `about` is whose it is and what for; `until` is an instant.
    """

    async def keep(self, token: str, about: tuple[str, ...], until: str) -> None: ...
    async def take(self, token: str, about: tuple[str, ...], now: str) -> bool: ...


class Upkeep(Protocol):
    """What keeps the storage in order apart from its notes; see `holdfast.store.upkeep.FolderUpkeep`.

    `has_others` is whether servers with indexes of their own take turns with the jobs.
    """

    @property
    def has_others(self) -> bool: ...
    def turn(self) -> AbstractAsyncContextManager[bool]: ...
    async def sizes(self) -> dict[str, int]: ...
    async def free_bytes(self) -> int | None: ...
    async def purge_trash(self, texts: Mapping[str, Collection[str]]) -> int: ...
    async def sweep(self) -> int: ...
    async def encoded(self, after: tuple[str, str], most: int) -> list[tuple[str, str]]: ...
    async def drop_encoded(self, contents: Collection[tuple[str, str]]) -> int: ...
    def close(self) -> None: ...


class Vault(Protocol):
    """Backups of the whole memory; see `holdfast.backup.vault.FolderVault` and `holdfast.backup.row_vault.RowVault`.

    While a purge is `resting`, no backup that is made counts before that is done, or it lacks what was purged.
    """

    async def back_up(self, reason: str, *, pause: float = 0.0) -> Backup: ...
    async def back_up_when_due(self, every: timedelta, reason: str, pause: float) -> Backup | None: ...
    async def backups(self) -> list[Backup]: ...
    async def verify(self, backup_id: str) -> Backup: ...
    async def effect(self, backup_id: str) -> Effect: ...
    async def restore(self, backup_id: str, said: JournalRecord) -> Restored: ...
    def resting(self) -> AbstractAsyncContextManager[None]: ...
    async def holding(self, name: str, hashes: Collection[str]) -> list[str]: ...
    def close(self) -> None: ...


class Transfers(Protocol):
    """Moving in and out; see `holdfast.importers.open.FolderTransfers`."""

    async def open(self, path: str, kind: str | None, space: str, *, anywhere: bool) -> Source: ...
    async def export(self, name: str | None) -> Exported: ...


class OwnEncoder(Encoder, Protocol):
    """The encoder that the settings name; see `holdfast.encode.provider`. `forget` has vectors made anew."""

    async def forget(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Presence:
    """What it takes to tell a session something without being asked.

    `tokens` is the most for a session's first prompt, `line` how relevant a note must be for a later one.
    """

    sessions: SessionLog
    warmth: Warmth
    tokens: int = 600
    line: float = 0.8


async def _none_kept() -> None:
    """As `_nothing_kept`."""


async def _nothing_kept(_texts: Sequence[str]) -> None:
    """Where no encodings are kept there are none to forget."""


class Reminders(Protocol):
    """Remembers for all servers of a memory on which day something was said last."""

    async def tell_today(self, what: str, today: str) -> bool: ...


class Feed(Protocol):
    """Tells which of many memories have changed: each has a number that every change raises."""

    async def numbers(self, principals: Sequence[str]) -> Mapping[str, int]: ...


@dataclass(frozen=True, slots=True)
class Fleet:
    """What several servers of a memory share beside it."""

    vectors: SharedVectors
    feed: Feed
    reminders: Reminders


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything a verb may use.

    `keeper` makes what keeps the index equal to the store; it is given these ports, and a way to wait until nobody uses
    the index.
    `encoder` is None where the settings ask for none. `redact` replaces secrets in a text that is to be stored.
    `is_ordinary` knows an ordinary English word in lower case, `is_common` one of the most used. `asked_at` is when
    "yesterday" in a question counts from, where that is not the time now: tests and benches ask about what was stored
    long ago. `events` tells those in this process who want to know what happens. `vault` is None where the storage
    keeps no backups.
    `fleet` is None where one server has the memory for itself, or shares all of it as files.
    `beside` encodes into a second set for what `encoder` cannot read; None where the settings ask for none.
    `pairs` reads two notes together, `answers` a question with a note; None where the settings want another encoder
    than the built-in one.
    `kept` encodes for sets of other settings, for as long as the one of these is not ready or its provider fails.
    `moving` is None where the storage is moved in and out of by its own means.
    `upkeep` is None where the storage looks after itself: no jobs run then. `forgetting` lets them put into the trash
    what nobody has used for long.
    `forget` takes the vectors of texts out of what is kept of encodings, `forget_all` all that is beside the index.
    `quota` is how much the memory may hold.
    `computing` has the threads for what takes long; memories of one process share them.
    `sleep` waits for so many seconds.
    `tokens` is None where nobody but this process confirms what it asked.
    `presence` is None where sessions are told nothing without asking.
    `transcripts` are those of the clients on this machine; None where they are none of this server's business.
    `waiting` are turns that wait in the memory folder, whoever put them there: a purge looks through them.
    `nearby` looks for a better encoder on this machine and says so in a sentence, which waits in `tips`.
    """

    store: Store
    keeper: MakeKeeper
    index: NoteIndex
    recalls: Recalls
    encoder: OwnEncoder | None
    clock: Callable[[], datetime]
    new_id: Callable[[], str]
    redact: Callable[[str], Redaction]
    is_ordinary: Callable[[str], bool]
    is_common: Callable[[str], bool]
    secrets: SecretsMode = "redact"
    asked_at: datetime | None = None
    events: EventBus = field(default_factory=EventBus)
    max_now_tokens: int = 1000
    recency_days: float = DAYS  # of memory_recall, see `holdfast.model.lifecycle`
    check_on_start: bool = False
    review: bool = False  # verdicts that take notes away wait for a person
    first_seen: dict[str, Baseline] = field(
        default_factory=dict
    )  # pages as they were first seen, until that is recorded
    vault: Vault | None = None
    daily_backups: bool = False
    fleet: Fleet | None = None
    beside: OwnEncoder | None = None
    pairs: ReadsPairs | None = None
    answers: ReadsAnswers | None = None
    kept: KeptEncoders | None = None
    moving: Transfers | None = None
    forget: Callable[[Sequence[str]], Awaitable[None]] = _nothing_kept
    forget_all: Callable[[], Awaitable[None]] = _none_kept
    nearby: Callable[[], Awaitable[str]] | None = None
    upkeep: Upkeep | None = None
    jobs: bool = True
    forgetting: bool = False
    due: DueSignal = field(default_factory=DueSignal)
    tips: Tips = field(default_factory=Tips)
    quota: Quota = field(default_factory=Quota)
    computing: Computing = field(default_factory=Computing)
    transcripts: TranscriptQueue | None = None
    waiting: TranscriptQueue | None = None
    raw_turns: bool = False  # what nobody distils stays, as it was said
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    bearing: anyio.Lock = field(default_factory=anyio.Lock)  # of whoever stores the Self note with a first one
    refusals: Refusals = field(default_factory=Refusals)  # of the encoder, until they are tried again
    joined: dict[Caller, Batcher[Any, Any]] = field(default_factory=dict)  # updates of NOW that wait for the same page
    uses: Uses = field(default_factory=Uses)  # that follow their answers
    made: list[str] = field(default_factory=list)  # ids of the changes that the request under way has made
    presence: Presence | None = None
    tokens: Tokens | None = None

    @property
    def reading_notice(self) -> str:
        """What an answer says where nothing can be written; empty where it can."""
        reason = self.store.reading_only
        return f"Reading only: {reason}. Nothing can be stored until that is mended." if reason else ""

    @property
    def now(self) -> str:
        """The time now, as canonical text."""
        return instant(self.clock())

    @property
    def asked(self) -> str:
        """The time that questions are asked at, as canonical text: now, but in tests and benches."""
        return instant(self.asked_at or self.clock())


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: `space` is where they work (None where that is nowhere), `space_from` says how that is known."""

    space: str | None
    space_from: str
    source: str
    principal: str = "local"


class Attending(Protocol):
    """See `holdfast.engine.runtime.Memory.attend`."""

    async def attend(self, verb: Callable[[Ports], Awaitable[Answer]]) -> Answer: ...
    async def attend_folder(self, verb: Callable[[Ports], Awaitable[Answer]]) -> Answer: ...


async def ports_now(ports: Ports) -> Ports:
    """The ports of the memory that answers now; a verb of several requests asks each time, for it may close."""
    return ports
