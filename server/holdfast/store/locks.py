"""Locks that hold between tasks and between processes: hashed stripes, each a file that is never unlinked."""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio

from holdfast.errors import StorageError

STRIPES = 64
PATIENCE_SECONDS = 30.0
LONG_PATIENCE_SECONDS = 1800.0  # for work on the whole folder
_FIRST_WAIT, _LONGEST_WAIT = 0.0005, 0.01
_ONE_TRY = 0.05  # seconds: enough to take what nobody holds

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


class Lock:
    """One lock file. Waiting is polling, so that it can be cancelled and needs no thread."""

    def __init__(self, path: Path, patience: float = PATIENCE_SECONDS) -> None:
        self._path = path
        self._patience = patience
        self._task_lock = anyio.Lock()
        self._handle: int | None = None
        self._held = False

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        """Own the lock among all tasks and all processes.

        Raises:
            StorageError: somebody else held it for longer than the patience, or the file cannot be opened.
        """
        deadline = anyio.current_time() + self._patience
        await self._queue(deadline)
        try:
            handle = await self._acquire(deadline)
            self._held = True
            try:
                yield
            finally:
                self._held = False
                _unlock(handle)
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
                self._held = False
                _unlock(handle)
        finally:
            self._task_lock.release()

    def close(self) -> None:
        """Let go of the file. A lock that is held stays locked until its holder is done, or the process is."""
        if self._handle is not None and not self._held:
            os.close(self._handle)
            self._handle = None

    async def _queue(self, deadline: float) -> None:
        """Wait for the tasks in front, whose waiting for another process counts as ours."""
        try:
            self._task_lock.acquire_nowait()
        except anyio.WouldBlock:
            with anyio.CancelScope(deadline=deadline) as waiting:
                await self._task_lock.acquire()
            if waiting.cancelled_caught:
                raise self._too_long() from None

    def _too_long(self) -> StorageError:
        return StorageError(
            f"The lock {self._path.name} has been held for {self._patience:.0f} s, probably by another process.",
            "Stop the Holdfast process that hangs, then try again.",
        )

    async def _acquire(self, deadline: float) -> int:
        wait = _FIRST_WAIT
        while True:
            handle = self._open()
            if _try_lock(handle):
                if self._still_there(handle):
                    return handle
                _unlock(handle)
                self.close()  # somebody replaced the file: lock the one that others will lock
                continue
            if anyio.current_time() > deadline:
                raise self._too_long()
            await anyio.sleep(wait)
            wait = min(wait * 1.5, _LONGEST_WAIT)

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


def _stripe(key: str) -> int:
    return zlib.crc32(key.encode()) % STRIPES


class Stripes:
    """A fixed number of locks; a key is hashed to one of them. Always taken in order, so that none waits in a ring."""

    def __init__(self, folder: Path) -> None:
        self._locks = [Lock(folder / f"{number:02x}") for number in range(STRIPES)]

    @asynccontextmanager
    async def hold(self, keys: Iterable[str]) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for stripe in sorted({_stripe(key) for key in keys}):
                await stack.enter_async_context(self._locks[stripe].hold())
            yield

    @asynccontextmanager
    async def hold_free(self, keys: Iterable[str], patience: float) -> AsyncIterator[set[str]]:
        """Own those of the keys that others let go of in time; yields the rest, which are not owned."""
        wanted = set(keys)
        deadline = anyio.current_time() + patience
        missed: set[int] = set()
        async with AsyncExitStack() as stack:
            for stripe in sorted({_stripe(key) for key in wanted}):
                with anyio.CancelScope(deadline=max(deadline, anyio.current_time() + _ONE_TRY)) as waiting:
                    await stack.enter_async_context(self._locks[stripe].hold())
                if waiting.cancelled_caught:
                    missed.add(stripe)
            yield {key for key in wanted if _stripe(key) in missed}

    @asynccontextmanager
    async def hold_all(self) -> AsyncIterator[None]:
        """Own every key: nobody is in the middle of a change."""
        async with AsyncExitStack() as stack:
            for lock in self._locks:
                await stack.enter_async_context(lock.hold())
            yield

    def close(self) -> None:
        for lock in self._locks:
            lock.close()
