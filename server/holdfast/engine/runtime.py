"""The engine's lifetime: every request meets a fresh index, and what waits is done in the background."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from traceback import extract_tb
from typing import Any, TypeVar

import anyio
import anyio.lowlevel
import structlog
from anyio.abc import TaskGroup

from holdfast.engine.admin.gate import back_up_daily
from holdfast.engine.encoding import drain, identity, open_own
from holdfast.engine.maintenance.candidates import read_behind
from holdfast.engine.omi.integrity import look_over, record_first_seen
from holdfast.engine.ports import Feed, Ports
from holdfast.engine.state import Stages, Tip
from holdfast.errors import ConflictError, EncoderError, HoldfastError, StorageError
from holdfast.index.note_index import IndexLostError, IndexUnopenedError

Answer = TypeVar("Answer")

ATTEMPTS = 4
UNFORCED = 2  # of these; the later ones scan, whatever is known
SETTLE_SECONDS = 2.5  # how long a request waits in all for what another program saves
START_SECONDS = 1.0  # nothing happens in the background before a client has had its first answers
IDLE_SECONDS = 30.0
ELSEWHERE_SECONDS = 5.0  # another process encodes the queue: it may die
AILING_SECONDS = 10.0  # the encoder fails: what waits for it is tried again
_FOLDERS = re.compile(r".*[/\\]", re.DOTALL)
_ALIKE = 24  # characters
PAUSE_SECONDS = 0.1  # from a request to what is done behind it, so that a burst of them is followed once
READING_SHARE = 3.0  # of the time that reading two notes together took, nothing is read after it
AGAIN_SECONDS = 30.0  # until background work is begun anew that ended with an error which it should not have met
BACKUP_START_SECONDS = 10.0  # a new server has better things to do at first than a daily backup
BACKUP_LOOK_SECONDS = 300.0  # between two looks whether a backup is due
PASSING = (HoldfastError, IndexLostError, OSError)  # what background work may meet and tries again later

log = structlog.get_logger()


def reason_of(error: BaseException) -> dict[str, str]:
    """What an error is and where it comes from, the innermost call last; of several the first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    calls = ((_FOLDERS.sub("", call.filename), call.lineno) for call in extract_tb(error.__traceback__))
    return {"error": type(error).__name__, "at": " > ".join(f"{name}:{line}" for name, line in calls)}


async def kept_going(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run background work to its end; where an error ends it that it does not know of, say so and begin it anew.

    Nothing of what it does is worth a server that ends, which takes all requests with it.
    """
    while True:
        if await came_to_its_end(work):
            return
        await anyio.sleep(AGAIN_SECONDS)


async def came_to_its_end(work: Callable[[], Coroutine[Any, Any, None]]) -> bool:
    """Run background work; False, and said in the log, where an error ended it that it does not know of."""
    try:
        await work()
    except Exception as error:  # noqa: BLE001 - what goes wrong in the background ends no server
        named = getattr(work, "__qualname__", type(work).__name__)
        log.error("background_work_failed", work=named, **reason_of(error))  # noqa: TRY400 - its text may be a note's
        return False
    return True


class Memory:
    """One folder's notes, for as long as a server runs."""

    def __init__(self, ports: Ports) -> None:
        self.ports = ports
        self._reconciler = ports.keeper(ports, self._verbs_done)
        self._wake = anyio.Event()
        self._draining = False
        self._drained = anyio.Event()  # the vectors that waited when that began
        self._backing_up = False
        self._look_for_backups_at = 0.0
        self._under_way = 0
        self._idle = anyio.Event()
        self._verbs = 0
        self._verb_done = anyio.Event()
        self._stopping = False
        self._beside: list[Callable[[], Coroutine[Any, Any, None]]] = []
        self._opened = ""  # the vector set that this process has made known
        self._opened_beside = ""  # and the one beside it
        self._again = ELSEWHERE_SECONDS  # at the most until the queue is looked at again
        self._caught_up: Callable[[float], None] = _unheard
        self._encoded = anyio.Event()  # what waits to be read together can be
        self._ailing = ""  # how the report of an encoder began that fails since

    def beside(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Have this run in the background too, as long as the memory does; begun anew where it fails."""
        self._beside.append(work)

    def tell_catching_up(self, observer: Callable[[float], None]) -> None:
        """Have this told how many seconds the index took to know all notes, at each request."""
        self._caught_up = observer

    @property
    def feed(self) -> Feed | None:
        """What tells whether this memory has changed."""
        return self.ports.fleet.feed if self.ports.fleet is not None else None

    def those_open(self) -> Sequence[Memory]:
        """This memory; see `holdfast.engine.tenants` for others."""
        return (self,)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Work in the background until the block ends, then close everything."""
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._tend, tasks)
                tasks.start_soon(kept_going, lambda: self.ports.uses.write_behind(self.ports))
                for work in (self.ports.recalls.write_behind, *self._beside):
                    tasks.start_soon(kept_going, work)
                try:
                    yield
                finally:
                    tasks.cancel_scope.cancel()
        finally:  # not before the last thread of that work has ended
            with anyio.CancelScope(shield=True):
                await self.aclose()

    async def stop(self) -> None:
        """Take no more requests, let those under way end, then close."""
        self._stopping = True
        while self._under_way:
            self._idle = anyio.Event()
            await self._idle.wait()
        await self.aclose()

    async def aclose(self) -> None:
        """Tell the journal what is whole, then let go of files and connections."""
        await self.ports.uses.flush(self.ports)
        await self.ports.recalls.aclose()  # which may be kept where the notes are
        try:
            await self.ports.store.aclose()
        except StorageError as error:  # the next start finds out by itself what was not told
            _report(error)
        await self.ports.index.leave()
        if self.ports.presence is not None:
            await self.ports.presence.sessions.aclose()
        if self.ports.vault is not None:
            self.ports.vault.close()
        if self.ports.upkeep is not None:
            self.ports.upkeep.close()
        for encoders in (self.ports.encoder, self.ports.beside, self.ports.kept):
            if encoders is not None:
                await encoders.aclose()

    async def attend(
        self, verb: Callable[[Ports], Awaitable[Answer]], *, anew: bool = False, past: bool = True
    ) -> Answer:
        """Answer one request on an index that knows every file; look again where something changed meanwhile.

        Args:
            verb: the request.
            anew: it may make a folder anew that has vanished.
            past: it may ask what became of notes before; one that does not need not wait until that is read.

        Raises:
            HoldfastError: whatever the verb raises.
        """
        with self._counted(), self._truthful() as ports:
            return await self._answer(verb, ports, anew=anew, past=past)

    async def attend_folder(self, verb: Callable[[Ports], Awaitable[Answer]]) -> Answer:
        """Answer one request that is about the folder as such, whatever has become of its notes and of the index.

        Raises:
            HoldfastError: whatever the verb raises.
        """
        with self._counted(), self._truthful() as ports:
            await self._reconciler.open_store()
            return await verb(ports)

    @property
    def is_busy(self) -> bool:
        """Whether a request is under way."""
        return self._under_way > 0

    @asynccontextmanager
    async def own(self) -> AsyncIterator[Memory]:
        """The memory of whoever asks, for requests of several steps: this one."""
        yield self

    @asynccontextmanager
    async def lease(self, _principal: str) -> AsyncIterator[Memory]:
        """This memory: it is that of everybody who asks, see `holdfast.engine.tenants` for others."""
        yield self

    @asynccontextmanager
    async def glance(self, _principal: str) -> AsyncIterator[Memory | None]:
        """This memory, as it is open for as long as it runs."""
        yield self

    @contextmanager
    def _counted(self) -> Iterator[None]:
        if self._stopping:
            raise StorageError("The server is stopping.", "Call again when it is back.")
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            self._idle.set()
            self._wake.set()

    async def peek(self, verb: Callable[[Ports], Awaitable[Answer]]) -> Answer:
        """As `attend`, for reading in the background: it wakes nobody, and nobody waits for it to end.

        Raises:
            HoldfastError: whatever the verb raises.
        """
        if self._stopping:
            raise StorageError("The server is stopping.")
        return await self._answer(verb, replace(self.ports, made=[]), anew=False)

    @contextmanager
    def _truthful(self) -> Iterator[Ports]:
        """The ports of one request. What fails once it has made a change cannot say that nothing was done."""
        ports = replace(self.ports, made=[])
        try:
            yield ports
        except HoldfastError as error:
            if not ports.made:
                raise
            raise StorageError(
                f"The change {', '.join(ports.made)} was made, and then something failed: {error.sentence}",
                "It stays; look before you repeat it.",
            ) from error

    async def _answer(
        self, verb: Callable[[Ports], Awaitable[Answer]], ports: Ports, *, anew: bool, past: bool = True
    ) -> Answer:
        attempt, patience = 0, SETTLE_SECONDS
        while True:
            attempt += 1
            try:
                stages = Stages()
                await self._reconciler.fresh(force=attempt > UNFORCED, anew=anew, past=past)
                self._report_conflicts()
                self._caught_up(stages.ended("fresh"))
                stages.tell("index_is_fresh")
                return await self._run(verb, ports)
            except IndexLostError as error:
                if attempt == ATTEMPTS:
                    raise _lost_again(error) from error
            except ConflictError as conflict:
                if conflict.settles_in > patience or attempt == ATTEMPTS:
                    raise
                patience -= conflict.settles_in
                attempt -= conflict.settles_in > 0
                await self.ports.sleep(conflict.settles_in)

    def _report_conflicts(self) -> None:
        """Have the next recall say what became of texts that met a change."""
        for sentence in self.ports.store.take_reports():
            log.warning("saved_while_changed", report=sentence)
            self.ports.tips.add(Tip(sentence, sentence))

    async def _run(self, verb: Callable[[Ports], Awaitable[Answer]], ports: Ports) -> Answer:
        self._verbs += 1
        try:
            return await verb(ports)
        finally:
            self._verbs -= 1
            self._verb_done.set()

    async def _verbs_done(self) -> None:
        """Wait until nobody works with the index: one is not exchanged for another in the middle of a request."""
        while self._verbs:
            self._verb_done = anyio.Event()
            await self._verb_done.wait()

    async def _tend(self, tasks: TaskGroup) -> None:
        """Adopt new files and make missing vectors, after requests and now and then."""
        await anyio.sleep(START_SECONDS)
        tasks.start_soon(came_to_its_end, self._look_over)
        self._look_for_backups_at = anyio.current_time() + BACKUP_START_SECONDS
        tasks.start_soon(came_to_its_end, self._look_around)
        tasks.start_soon(kept_going, self._keep_reading)
        await kept_going(lambda: self._keep_tending(tasks))

    async def _keep_tending(self, tasks: TaskGroup) -> None:
        woken = False
        while True:
            due: float | None = None
            try:
                if not woken:  # a request has just looked
                    await self._look_behind_others()
                due = await self._reconciler.tend()
            except PASSING as error:
                _report(error)
            if not self._backing_up and anyio.current_time() >= self._look_for_backups_at:
                tasks.start_soon(came_to_its_end, self._back_up)
            if not self._draining:  # an encoder may take its time: nothing else waits for it
                tasks.start_soon(came_to_its_end, self._drain)
            until_look = self._look_for_backups_at - anyio.current_time()
            rest = min(due or IDLE_SECONDS, self._again, until_look if until_look > 0 else IDLE_SECONDS)
            with anyio.move_on_after(rest):
                await self._wake.wait()
            woken = self._wake.is_set()
            if woken:
                await anyio.sleep(PAUSE_SECONDS)
            self._wake = anyio.Event()

    async def _look_behind_others(self) -> None:
        """Bring the index up to date; where it had to be built anew, pause, so that waiting requests run first."""
        began = anyio.current_time()
        await self._reconciler.fresh(past=False)
        if anyio.current_time() - began > PAUSE_SECONDS:
            await anyio.sleep(START_SECONDS)

    async def _look_over(self) -> None:
        """Once, behind the first requests: note how pages look that nothing is known of, and say what is wrong."""
        try:
            await self._look_behind_others()
            await self._answer(record_first_seen, self.ports, anew=False)
            if self.ports.check_on_start:
                await self._answer(look_over, self.ports, anew=False)
        except PASSING as error:
            _report(error)

    async def _back_up(self) -> None:
        self._backing_up = True
        try:
            await back_up_daily(self.ports)
        except PASSING as error:
            _report(error)
        finally:
            self._backing_up = False
            self._look_for_backups_at = anyio.current_time() + BACKUP_LOOK_SECONDS

    async def catch_up(self) -> None:
        """Make the vectors that wait, unless the encoder fails or another process is at it: that is for later then."""
        if self._draining:
            await self._drained.wait()
        else:
            await self._drain()

    async def _drain(self) -> None:
        ports = self.ports
        self._draining, self._drained = True, anyio.Event()
        try:
            if ports.encoder is None or not ports.store.is_there:
                return
            own = identity(ports.encoder)
            async with ports.store.encoding_turn(remote=own is None or own.is_remote) as mine:
                self._again = IDLE_SECONDS if mine else ELSEWHERE_SECONDS
                if mine:
                    await self._drain_all()
                if ports.fleet is not None and ports.fleet.vectors.elsewhere:
                    self._again = ELSEWHERE_SECONDS
            self._ailing = ""
        except EncoderError as error:
            self._again = AILING_SECONDS
            if str(error)[:_ALIKE] != self._ailing:  # once, and not at every try
                _report(error)
            self._ailing = str(error)[:_ALIKE]
        except PASSING as error:
            _report(error)
        finally:
            self._encoded.set()  # what it could encode
            self._draining = False
            self._drained.set()

    async def _drain_all(self) -> None:
        with suppress(EncoderError):  # told by what follows, unless a kept set can be worked on meanwhile
            self._opened = await open_own(self.ports, self.ports.encoder, self._opened)
        with suppress(EncoderError):  # as above
            self._opened_beside = await open_own(self.ports, self.ports.beside, self._opened_beside)
        while await drain(self.ports):
            await anyio.lowlevel.checkpoint()

    async def _keep_reading(self) -> None:
        """Read notes together that nobody read when they were stored, a quarter of the time and one at a time."""
        while True:
            await self._encoded.wait()
            self._encoded = anyio.Event()
            try:
                while await self._read_one():
                    pass
            except EncoderError as error:
                _report(error)
                return  # a file of the package is not as it should be: the next start tries again
            except PASSING as error:
                _report(error)

    async def _read_one(self) -> bool:
        """Read one note, if there is one and nobody else of this process reads any; then pause."""
        began, is_busy = anyio.current_time(), self.ports.pairs is not None and self.ports.pairs.is_busy
        there_may_be_more = is_busy or await read_behind(self.ports)
        if there_may_be_more:
            await anyio.sleep(max(PAUSE_SECONDS, READING_SHARE * (anyio.current_time() - began)))
        return there_may_be_more

    async def _look_around(self) -> None:
        if self.ports.nearby is not None and (found := await self.ports.nearby()):
            self.ports.tips.add(Tip("nearby", found))


def _unheard(_seconds: float) -> None:
    """For a memory whose `tell_catching_up` was not called."""


def _lost_again(error: IndexLostError) -> StorageError:
    if isinstance(error, IndexUnopenedError):
        return StorageError(
            f"The index cannot be used: {error}.", "Nothing was stored. Check free space, then try again."
        )
    return StorageError(
        "The index is deleted again and again while it is used.", "Leave .holdfast/ alone for a moment."
    )


def _report(error: Exception) -> None:
    if isinstance(error, IndexLostError):
        log.info("index_lost", reason=str(error))  # the next request opens or rebuilds it
    else:
        log.warning("background_work_failed", error=type(error).__name__, reason=str(error))
