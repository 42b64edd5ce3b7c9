"""What one process keeps of a memory between requests; its event bus; whether its encoder is loaded.

* `Tips`: what the user may want to know once, said with an answer.
* `Refusals`: texts that a provider does not take, put aside for a while so that they hold up no other.
* `Quota`: how many notes a memory may hold, and how much they may take. What is there is asked of the index each time,
  which knows hand edits and is right after a restart; what others in this process are writing is counted on top.
* `Stages`: how long the parts of a request took, for the log at level debug. Times and counts, never text.
* `Computing`: what computes long runs in threads, shared fairly by principals. Threads do not make Python faster: while
  two compute, the event loop gets a third of the time. So there are few, and one principal never has all.
* `DueSignal`: when the user was last told that maintenance is worthwhile.
* `Uses`: confirmed uses that wait to be written to the journal.
"""

from __future__ import annotations

import functools
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, Protocol, TypeAlias, TypeVar

import anyio
import anyio.to_thread
import structlog

from holdfast.errors import EncoderError, HoldfastError, QuotaExceededError, StorageError
from holdfast.index.note_index import IndexLostError
from holdfast.index.projection import Update
from holdfast.index.rows import PendingVector
from holdfast.model.lifecycle import Event
from holdfast.model.note import SELF_ID, instant
from holdfast.model.records import JournalRecord
from holdfast.store.stored import Change, PageChange


class TellsOnce(Protocol):
    """Remembers for the whole folder what was said."""

    async def tell_once(self, name: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class Tip:
    """A sentence, and the name under which it is said once in a folder."""

    name: str
    sentence: str


class Tips:
    """Sentences that wait for an answer to be told with."""

    def __init__(self) -> None:
        self._waiting: deque[Tip] = deque()

    def add(self, tip: Tip) -> None:
        self._waiting.append(tip)

    async def take(self, memory: TellsOnce) -> str:
        """The next sentence, unless it was told before; empty where there is none."""
        while self._waiting:
            tip = self._waiting.popleft()
            try:
                if await memory.tell_once(tip.name):
                    return tip.sentence
            except StorageError:
                self._waiting.appendleft(tip)  # for a later answer: none fails for that
                return ""
        return ""


AGAIN_SECONDS = 600.0  # then it is tried once more: the provider may have other limits by now
MOST = 10_000


class Refusals:
    """Which notes were refused lately, by the hash of what was to be encoded: a text that is changed is another."""

    def __init__(self) -> None:
        self._until: dict[tuple[str, str], float] = {}

    def __len__(self) -> int:
        return len(self._until)

    def add(self, items: Iterable[PendingVector], now: float) -> None:
        """Put these aside; `now` is in seconds of the event loop."""
        if len(self._until) >= MOST:
            self._until.clear()
        self._until |= {(item.id, item.encode_hash): now + AGAIN_SECONDS for item in items}

    def without(self, waiting: Sequence[PendingVector], now: float) -> list[PendingVector]:
        """What of this queue may be tried now."""
        self._until = {key: until for key, until in self._until.items() if until > now}
        return [item for item in waiting if (item.id, item.encode_hash) not in self._until]


MEBIBYTE = 1024 * 1024
_REMEDY = (
    "Have run_maintenance merge notes, delete some (admin_delete_memory, or their files), or have the limit raised; "
    "reading, retiring and deleting go on."
)


@dataclass(frozen=True, slots=True)
class Usage:
    """Notes, without Self, and the bytes of their texts or files."""

    notes: int = 0
    size: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.notes + other.notes, self.size + other.size)

    def __sub__(self, other: Usage) -> Usage:
        return Usage(self.notes - other.notes, self.size - other.size)


def added(changes: Sequence[Change | PageChange]) -> Usage:
    """What these changes add together; negative where they free something. Pages are not counted."""
    total = Usage()
    for change in changes:
        if isinstance(change, Change):
            before = change.before.note if change.before else None
            after = Usage(change.after.id != SELF_ID, len(change.after.content.encode())) if change.after else Usage()
            total += after - (Usage(before.id != SELF_ID, len(before.content.encode())) if before else Usage())
    return total


class Quota:
    """The limits of one memory; 0 is none.

    Args:
        notes: how many notes.
        mebibytes: how much they may take.
    """

    def __init__(self, notes: int = 0, mebibytes: int = 0) -> None:
        self._most = Usage(notes, mebibytes * MEBIBYTE)
        self._coming = Usage()
        self._ended = anyio.Event()
        self._count = 0  # of changes that have ended: what was read before one did may lack it

    @asynccontextmanager
    async def room(
        self, changes: Sequence[Change | PageChange], usage: Callable[[], Awaitable[tuple[int, int]]]
    ) -> AsyncIterator[None]:
        """Keep room for these changes until the block ends, when the index knows them or nothing was written.

        Raises:
            QuotaExceededError: there is not so much room.
        """
        more = added(changes) if self._most != Usage() else Usage()
        wanted = Usage(max(0, more.notes) if self._most.notes else 0, max(0, more.size) if self._most.size else 0)
        if wanted == Usage():
            yield
            return
        await self._take(wanted, usage)
        try:
            yield
        finally:
            self._coming -= wanted
            self._count += 1
            self._ended.set()
            self._ended = anyio.Event()

    async def _take(self, wanted: Usage, usage: Callable[[], Awaitable[tuple[int, int]]]) -> None:
        while True:
            count, ended = self._count, self._ended
            used = Usage(*await usage())
            if count != self._count:
                continue
            full = self._full(used + wanted + self._coming, wanted)
            if not full:
                self._coming += wanted
                return
            if self._coming == Usage():
                raise QuotaExceededError(full, _REMEDY)
            await ended.wait()  # what comes may be counted twice just now, or fail

    def _full(self, then: Usage, wanted: Usage) -> str:
        """Which limit would be passed; empty where none would."""
        if wanted.notes and then.notes > self._most.notes:
            return f"This memory holds as many notes as it may: {self._most.notes:,} (HOLDFAST_MAX_NOTES)."
        if wanted.size and then.size > self._most.size:
            mebibytes = self._most.size // MEBIBYTE
            return (
                f"The notes of this memory take as much room as they may: {mebibytes:,} MiB (HOLDFAST_MAX_NOTES_MIB)."
            )
        return ""


log = structlog.get_logger()


class Stages:
    """A stopwatch for one request."""

    def __init__(self) -> None:
        self._began = self._last = time.perf_counter()
        self._spent: dict[str, float] = {}

    def ended(self, stage: str) -> float:
        """What was done since the last stage ended was this one; returns its seconds."""
        now = time.perf_counter()
        spent, self._last = now - self._last, now
        self._spent[f"{stage}_ms"] = round(spent * 1000, 2)
        return spent

    def tell(self, event: str, **counts: int) -> None:
        """Log all stages with their times in milliseconds, unless nobody has said yet where logs go."""
        if structlog.is_configured():
            total = round((self._last - self._began) * 1000, 2)
            log.debug(event, **self._spent, total_ms=total, **counts)


Value = TypeVar("Value")

THREADS: Final = 2  # of all principals together
SHARE: Final = 1  # of one of them
SMALL: Final = 2048  # characters that are dealt with faster than a thread is reached


class Computing:
    """Places for computing. Who waits is served in turn by principal, the calls of one principal in their order."""

    def __init__(self, threads: int = THREADS, share: int = SHARE) -> None:
        self._limiter: anyio.CapacityLimiter | None = None
        self._threads = threads
        self._share = share
        self._running: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[anyio.Event]] = OrderedDict()

    async def run(self, principal: str, size: int, work: Callable[[], Value]) -> Value:
        """What `work` returns; done at once where the text that it looks at has few characters.

        Args:
            principal: who asks.
            size: how many characters are looked at.
            work: touches nothing that others change meanwhile.

        Raises:
            Exception: whatever `work` raises.
        """
        if size <= SMALL:
            return work()
        await self._enter(principal)
        try:
            if self._limiter is None:  # it belongs to an event loop
                self._limiter = anyio.CapacityLimiter(self._threads)
            return await anyio.to_thread.run_sync(work, limiter=self._limiter)
        finally:
            self._leave(principal)

    async def _enter(self, principal: str) -> None:
        if self._is_free(principal) and principal not in self._waiting:
            self._running[principal] += 1
            return
        turn = anyio.Event()
        self._waiting.setdefault(principal, deque()).append(turn)
        came = False
        try:
            await turn.wait()
            came = True
        finally:
            if not came:  # cancelled
                self._give_up(principal, turn)

    def _give_up(self, principal: str, turn: anyio.Event) -> None:
        """Leave the queue, or give the place on that was given in the same moment."""
        if turn.is_set():
            self._leave(principal)
            return
        queue = self._waiting[principal]
        queue.remove(turn)
        if not queue:
            del self._waiting[principal]

    def _leave(self, principal: str) -> None:
        self._running[principal] -= 1
        if not self._running[principal]:
            del self._running[principal]
        for name in list(self._waiting):
            if self._is_free(name):
                self._admit(name)

    def _admit(self, principal: str) -> None:
        """Give the next call of a principal its place; the principal's others wait behind those of everybody else."""
        queue = self._waiting.pop(principal)
        self._running[principal] += 1
        queue.popleft().set()
        if queue:
            self._waiting[principal] = queue

    def _is_free(self, principal: str) -> bool:
        return self._running.total() < self._threads and self._running[principal] < self._share


LOOK_SECONDS = 600.0  # between two looks at how many notes wait for maintenance
PATIENT_SECONDS = 0.05  # how long an answer waits for the line of its own use where no other is being written


@dataclass(slots=True)
class DueSignal:
    """When a caller was last told that maintenance is worthwhile, and when this process last counted what waits."""

    reminded_on: str = ""
    looked_at: float = -1e9

    def rests(self, today: str) -> bool:
        return self.reminded_on == today or time.monotonic() - self.looked_at < LOOK_SECONDS


class Writing(Protocol):
    """What waiting lines are written to: see `holdfast.engine.ports.Ports`."""

    @property
    def store(self) -> Lines: ...
    @property
    def index(self) -> Rows: ...


class Lines(Protocol):
    """A journal; see `holdfast.engine.ports.Store`."""

    async def record(self, record: JournalRecord, *, flush: bool = ...) -> int: ...


class Rows(Protocol):
    """An index; see `holdfast.engine.ports.Index`."""

    async def apply(self, update: Update) -> None: ...


class Uses:
    """Uses of one memory that wait to be written."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str], JournalRecord] = {}  # by note and day, until they are written
        self._news = anyio.Event()
        self._written = anyio.Event()
        self._writing = anyio.Lock()
        self._is_followed = False

    async def add(self, ports: Writing, note_id: str, line: JournalRecord) -> None:
        """Have a line written; returns when it is, or others wait too, or it takes long."""
        key = (note_id, line.at[:10])
        if key in self._waiting:
            return
        is_alone, written = not self._waiting, self._written
        self._waiting[key] = line
        if not self._is_followed:
            await self.flush(ports)
            return
        self._news.set()
        if is_alone:
            with anyio.move_on_after(PATIENT_SECONDS):
                await written.wait()

    async def write_behind(self, ports: Writing) -> None:
        """Write what comes, for as long as the memory runs."""
        self._is_followed = True
        try:
            while True:
                await self._news.wait()
                self._news = anyio.Event()
                with anyio.CancelScope(shield=True):  # or the last of them would be written once more
                    await self.flush(ports)
        finally:
            self._is_followed = False

    async def flush(self, ports: Writing) -> None:
        """Write what waits. What cannot be written is given up: nobody is kept from reading for it."""
        async with self._writing:
            taken = dict(self._waiting)
            written: list[JournalRecord] = []
            try:
                async with anyio.create_task_group() as tasks:  # the journal takes in one go what comes at once
                    for line in taken.values():
                        tasks.start_soon(_record_use, ports, line, written)
                if written:
                    await ports.index.apply(Update(records=written))
            except (HoldfastError, OSError) as error:  # whatever it is, the memory goes on
                log.warning("use_not_recorded", reason=str(error))
            except IndexLostError as error:
                log.info("index_lost", reason=str(error))  # whoever makes it anew finds the lines in the journal
            finally:
                self._waiting = {key: line for key, line in self._waiting.items() if key not in taken}
                self._written.set()
                self._written = anyio.Event()


async def _record_use(ports: Writing, line: JournalRecord, written: list[JournalRecord]) -> None:
    """Write one line, and put it among those that the index is to know."""
    try:
        written.append(replace(line, seq=await ports.store.record(line)))
    except (HoldfastError, OSError) as error:
        log.warning("use_not_recorded", reason=str(error))


Callback: TypeAlias = Callable[[Any], object]
EVERYTHING = "*"


def _now() -> datetime:
    return datetime.now(UTC)


class EventBus:
    """Calls subscribers in the thread that publishes, in the order in which they subscribed.

    A subscriber that fails is logged and stops nobody. Used from any thread; callbacks may subscribe and unsubscribe.
    """

    def __init__(self, clock: Callable[[], datetime] = _now) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._subscribers: list[tuple[str, Callback]] = []

    def subscribe(self, what: type[Event] | str, callback: Callback) -> None:
        """Call `callback` with each event of a class, of a type such as `memory.stored`, or with all (`*`)."""
        with self._lock:
            self._subscribers.append((_name(what), callback))

    def unsubscribe(self, what: type[Event] | str, callback: Callback) -> bool:
        """Take one such subscription back; False where there is none."""
        with self._lock:
            try:
                self._subscribers.remove((_name(what), callback))
            except ValueError:
                return False
            return True

    def clear(self) -> None:
        """Forget every subscriber."""
        with self._lock:
            self._subscribers.clear()

    def subscriber_count(self, what: type[Event] | str | None = None) -> int:
        """How many subscriptions there are, of all kinds or exactly of this one."""
        with self._lock:
            return sum(what is None or name == _name(what) for name, _ in self._subscribers)

    def publish(self, event: Event) -> None:
        """Tell everybody who subscribed to its type or to everything; stamps it with the time where it has none."""
        with self._lock:
            wanted = (event.event_type, EVERYTHING)
            callbacks = [callback for name, callback in self._subscribers if name in wanted]
        if callbacks and not event.timestamp:
            event = replace(event, timestamp=instant(self._clock()))
        for callback in callbacks:
            try:
                callback(event)
            except Exception as error:  # noqa: BLE001 - whatever a stranger's function raises
                log.warning("event_subscriber_failed", event_type=event.event_type, error=type(error).__name__)


@functools.cache
def get_event_bus() -> EventBus:
    """The bus that all of this process share, for those who do not hold a memory's own."""
    return EventBus()


def _name(what: type[Event] | str) -> str:
    return what if isinstance(what, str) else what.event_type


WARM_AGAIN_SECONDS: Final = 60.0  # after a failure
_TRIED: Final = "Is it ready?"


class _Encoder(Protocol):
    async def encode_query(self, text: str) -> bytes: ...


class _Reader(Protocol):
    async def loaded(self) -> object: ...


class Warmth:
    """Knows when an encoder has made its first vector in this process.

    Args:
        encoder: None where there is none; then it is never ready.
        beside: one that is loaded too; where that fails the other is ready all the same.
        answers: what reads questions with notes, likewise.
    """

    def __init__(
        self, encoder: _Encoder | None, beside: _Encoder | None = None, answers: _Reader | None = None
    ) -> None:
        self._encoder = encoder
        self._beside = beside
        self._answers = answers
        self._wanted = anyio.Event()
        self._ready = anyio.Event()

    async def is_ready(self, seconds: float) -> bool:
        """Whether the encoder answers, or does within so many seconds; from now on it is being loaded."""
        if self._encoder is None:
            return False
        self._wanted.set()
        with anyio.move_on_after(seconds):
            await self._ready.wait()
        return self._ready.is_set()

    async def run(self) -> None:
        """Load the encoder when it is first wanted, and again a while after a failure; until that has worked."""
        while self._encoder is not None and not self._ready.is_set():
            await self._wanted.wait()
            try:
                await self._encoder.encode_query(_TRIED)
            except EncoderError as error:
                log.warning("encoder_not_loaded", reason=error.sentence)
                await anyio.sleep(WARM_AGAIN_SECONDS)
            else:
                await self._load_beside()
                self._ready.set()

    async def _load_beside(self) -> None:
        try:
            if self._beside is not None:
                await self._beside.encode_query(_TRIED)
            if self._answers is not None:
                await self._answers.loaded()
        except EncoderError as error:
            log.warning("encoder_not_loaded", reason=error.sentence)
