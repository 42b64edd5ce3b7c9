"""Locks that hold between tasks and between processes, whatever their version.

Within a process every key has a lock of its own. Between processes keys are hashed to stripes, each a file that is
never unlinked. How many there are and how keys are hashed is the same in every version of Holdfast: an older and a
newer one that run on one folder must lock the same file for the same note.

Programs that know nothing of our locks are noticed where the system tells: Linux grants a read lease only where nobody
has the file open for writing. Elsewhere, on a network disk or for a file of another user this is not known.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import zlib
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import Self
from weakref import WeakValueDictionary

import anyio

from holdfast.errors import StorageError

_F_SETSIG = 10
_REFUSED = frozenset({errno.EAGAIN, errno.EWOULDBLOCK})


@contextmanager
def lone_reader(path: Path) -> Iterator[bool | None]:
    """Yields whether nobody has the file open for writing, None where that cannot be known.

    Where it is True, whoever opens the file for writing meanwhile waits until the block has ended.

    Raises:
        OSError: the file cannot be opened.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        yield _leased(handle)
    finally:
        os.close(handle)  # this gives the lease back


def _leased(handle: int) -> bool | None:
    if sys.platform != "linux":
        return None
    import fcntl  # noqa: PLC0415 - there is none on Windows

    try:
        fcntl.fcntl(handle, _F_SETSIG, signal.SIGURG)  # which is ignored: the usual signal would end the process
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return False if error.errno in _REFUSED else None
    return True


STRIPES = 64
PATIENCE_SECONDS = 30.0
LONG_PATIENCE_SECONDS = 1800.0  # for work on the whole folder
_FIRST_WAIT, _LONGEST_WAIT = 0.0005, 0.01
_ONE_TRY = 0.05  # seconds: enough to take what nobody holds
TOGETHER_SECONDS = 0.25  # how long tasks of one process join each other on a stripe before others get their turn
_OWN_LOCKS = Path("/proc/locks")  # Linux tells there who holds what

if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: int) -> bool:
        try:
            os.lseek(handle, 0, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(handle: int) -> None:
        os.lseek(handle, 0, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)


class LockFile:
    """A file that one process at a time holds. Waiting is polling, so that it can be cancelled and needs no thread."""

    def __init__(self, path: Path, patience: float = PATIENCE_SECONDS) -> None:
        self._path = path
        self._patience = patience
        self._handle: int | None = None
        self._held = False

    def close(self) -> None:
        """Let go of the file. A lock that is held stays locked until its holder is done, or the process is."""
        if self._handle is not None and not self._held:
            os.close(self._handle)
            self._handle = None

    async def _acquire(self, deadline: float) -> None:
        wait = _FIRST_WAIT
        while True:
            handle = self._open()
            if _try_lock(handle):
                if self._still_there(handle):
                    self._held = True
                    return
                _unlock(handle)
                self.close()  # somebody replaced the file: lock the one that others will lock
                continue
            if anyio.current_time() > deadline:
                raise self._too_long()
            await anyio.sleep(wait)
            wait = min(wait * 1.5, _LONGEST_WAIT)

    def _release(self) -> None:
        self._held = False
        if self._handle is not None:
            _unlock(self._handle)

    def _open(self) -> int:
        if self._handle is None:
            try:
                self._path.parent.mkdir(mode=0o700, exist_ok=True)
                self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            except OSError as error:
                raise StorageError(
                    f"The lock file {self._path.name} cannot be opened: {error.strerror}.",
                    "Check that the memory folder is there and can be written to.",
                ) from error
        return self._handle

    def _still_there(self, handle: int) -> bool:
        try:
            return os.path.samestat(os.fstat(handle), self._path.stat())
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return False  # opening it anew says what is wrong

    def _too_long(self) -> StorageError:
        """Says who holds it, as far as that can be known."""
        holder = os.getpid() if self._held else _holder_of(self._path)
        if holder == os.getpid():
            return _busy(self._patience)
        named = f"process {holder}" if holder else "another process"
        return StorageError(
            f"The lock {self._path.name} has been held for {self._patience:.0f} s by {named}.",
            f"Call again when its work is done. If it hangs, stop {named if holder else 'that Holdfast process'}.",
        )


class Lock(LockFile):
    """One lock file, for the tasks of this process one after the other, in the order in which they came."""

    def __init__(self, path: Path, patience: float = PATIENCE_SECONDS) -> None:
        super().__init__(path, patience)
        self._task_lock = anyio.Lock()

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        """Own the lock among all tasks and all processes.

        Raises:
            StorageError: somebody else held it for longer than the patience, or the file cannot be opened.
        """
        deadline = anyio.current_time() + self._patience
        if not await _queue(self._task_lock, deadline):  # the waiting of those in front counts as ours
            raise self._too_long()
        try:
            await self._acquire(deadline)
            try:
                yield
            finally:
                self._release()
        finally:
            self._task_lock.release()

    @asynccontextmanager
    async def hold_if_free(self) -> AsyncIterator[bool]:
        """Own the lock if nobody does; yields whether. It is free again when its holder dies.

        Raises:
            StorageError: the file cannot be opened.
        """
        try:
            self._task_lock.acquire_nowait()
        except anyio.WouldBlock:
            yield False
            return
        try:
            handle = self._open()
            if not _try_lock(handle):
                yield False
                return
            self._held = True
            try:
                yield self._still_there(handle)
            finally:
                self._release()
        finally:
            self._task_lock.release()


class OwnLock(LockFile):
    """A lock that this process keeps for long, or does not get; when it dies it is free again."""

    def take(self) -> bool:
        """Have it, if nobody else has; whether it is had. One whose file was taken away meanwhile is not had any more.

        Raises:
            StorageError: the file cannot be opened.
        """
        if self._held and self._handle is not None and self._still_there(self._handle):
            return True
        self.leave()
        handle = self._open()
        if _try_lock(handle):
            self._held = self._still_there(handle)
            if self._held:
                return True
            _unlock(handle)
        self.close()
        return False

    def leave(self) -> None:
        """Let others have it."""
        if self._held:
            self._release()
        self.close()


class _Stripe(LockFile):
    """A lock file that tasks of this process hold together: the locks of their keys keep them apart.

    When they have held it for some time without a break nobody more joins until all have let go, and then others
    have a moment to take it.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._holders = 0
        self._since = 0.0
        self._gate = anyio.Lock()  # of those who cannot join at once
        self._left = anyio.Event()

    @asynccontextmanager
    async def join(self) -> AsyncIterator[None]:
        """Hold it beside whatever tasks of this process hold it."""
        if self._gate.locked() or not self._is_open:
            await self._enter()
        else:
            self._holders += 1
        try:
            yield
        finally:
            self._leave()

    @asynccontextmanager
    async def own(self) -> AsyncIterator[None]:
        """Hold it alone, among all tasks and all processes."""
        deadline = anyio.current_time() + self._patience
        if not await _queue(self._gate, deadline):
            raise self._too_long()
        try:
            await self._emptied(deadline)
            await self._acquire(deadline)
            try:
                yield
            finally:
                self._release()
        finally:
            self._gate.release()

    @property
    def _is_open(self) -> bool:
        """Whether one more may join those who hold it."""
        return self._holders > 0 and anyio.current_time() < self._since + TOGETHER_SECONDS

    async def _enter(self) -> None:
        deadline = anyio.current_time() + self._patience
        if not await _queue(self._gate, deadline):
            raise self._too_long()
        try:
            if not self._is_open:
                if self._holders:
                    await self._emptied(deadline)
                    await anyio.sleep(_LONGEST_WAIT * 1.5)  # other processes look as often as that
                await self._acquire(deadline)
                self._since = anyio.current_time()
            self._holders += 1
        finally:
            self._gate.release()

    async def _emptied(self, deadline: float) -> None:
        """Wait until all tasks that joined have left."""
        with anyio.CancelScope(deadline=deadline) as waiting:
            while self._holders:
                await self._left.wait()
        if waiting.cancelled_caught:
            raise self._too_long()

    def _leave(self) -> None:
        self._holders -= 1
        if not self._holders:
            self._release()
            self._left.set()
            self._left = anyio.Event()


class _Key:
    """The lock of one key, for as long as somebody holds it or waits for it."""

    def __init__(self) -> None:
        self.lock = anyio.Lock()

    @asynccontextmanager
    async def own(self, deadline: float) -> AsyncIterator[Self]:
        if not await _queue(self.lock, deadline):
            raise _busy(PATIENCE_SECONDS)
        try:
            yield self
        finally:
            self.lock.release()


def _stripe(key: str) -> int:
    return zlib.crc32(key.encode()) % STRIPES


@asynccontextmanager
async def if_free(lock: anyio.Lock) -> AsyncIterator[bool]:
    """Own a lock of this process if no task does; yields whether."""
    if lock.locked():
        yield False
        return
    async with lock:
        yield True


class Stripes:
    """Locks of keys. Always taken in one order, a stripe's keys before the stripe, so that none waits in a ring.

    For the same reason who holds keys takes no more: all that a change needs are taken at once.
    """

    def __init__(self, folder: Path) -> None:
        self._stripes = [_Stripe(folder / f"{number:02x}") for number in range(STRIPES)]
        self._keys: WeakValueDictionary[str, _Key] = WeakValueDictionary()

    @asynccontextmanager
    async def hold(self, keys: Iterable[str]) -> AsyncIterator[None]:
        """Own these keys among all tasks and all processes.

        Raises:
            StorageError: somebody else held one of them for longer than the patience.
        """
        async with AsyncExitStack() as stack:
            for number, own in groupby(sorted(set(keys), key=_order), _stripe):
                for key in own:
                    await stack.enter_async_context(self._key(key).own(anyio.current_time() + PATIENCE_SECONDS))
                await stack.enter_async_context(self._stripes[number].join())
            yield

    @asynccontextmanager
    async def try_hold(self, keys: Iterable[str], patience: float) -> AsyncIterator[set[str]]:
        """Own those of the keys that others let go of in time; yields what is owned."""
        wanted = set(keys)
        deadline = anyio.current_time() + patience
        missed: set[str] = set()
        async with AsyncExitStack() as stack:
            for number, own in groupby(sorted(wanted, key=_order), _stripe):
                missed |= await self._join_free(number, list(own), deadline, stack)
            yield wanted - missed

    async def _join_free(self, number: int, keys: list[str], deadline: float, stack: AsyncExitStack) -> set[str]:
        """Put those of one stripe's keys that are free in time on the stack; returns the others."""
        async with AsyncExitStack() as taking:
            missed: set[str] = set()
            for key in keys:
                try:
                    await taking.enter_async_context(self._key(key).own(deadline))
                except StorageError:
                    missed.add(key)
            if missed.issuperset(keys):
                return missed
            with anyio.CancelScope(deadline=max(deadline, anyio.current_time() + _ONE_TRY)) as waiting:
                await taking.enter_async_context(self._stripes[number].join())
            if waiting.cancelled_caught:
                return set(keys)
            stack.push_async_exit(taking.pop_all())
            return missed

    @asynccontextmanager
    async def hold_all(self) -> AsyncIterator[None]:
        """Own every key: nobody is in the middle of a change."""
        async with AsyncExitStack() as stack:
            for stripe in self._stripes:
                await stack.enter_async_context(stripe.own())
            yield

    def close(self) -> None:
        for stripe in self._stripes:
            stripe.close()

    def _key(self, key: str) -> _Key:
        found = self._keys.get(key)
        if found is None:
            found = self._keys[key] = _Key()
        return found


def _order(key: str) -> tuple[int, str]:
    return _stripe(key), key


async def _queue(lock: anyio.Lock, deadline: float) -> bool:
    """Take a lock behind the tasks in front; False where that took too long."""
    with suppress(anyio.WouldBlock):
        lock.acquire_nowait()
        return True
    with anyio.CancelScope(deadline=deadline) as waiting:
        await lock.acquire()
    return not waiting.cancelled_caught


def _busy(patience: float) -> StorageError:
    return StorageError(
        f"Other requests of this server have been at work on the same notes for {patience:.0f} s.",
        "Call again in a moment, with fewer calls at once.",
    )


def _holder_of(path: Path) -> int:
    """The process that holds a lock file; 0 where the system does not tell."""
    try:
        inode = path.stat().st_ino
        locks = [line.split() for line in _OWN_LOCKS.read_text("ascii").splitlines()]
    except (OSError, UnicodeDecodeError):
        return 0
    held = (words for words in locks if words[1] == "FLOCK" and words[5].endswith(f":{inode}"))
    return next((int(words[4]) for words in held if words[4].isdigit()), 0)
