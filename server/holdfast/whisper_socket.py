"""A socket in the memory folder, where hooks that are commands ask a running server instead of starting one.

Each server has its own, so that none has to give way to another; one that a killed server left behind is taken away by
the next that starts. Only the same user gets an answer. Where there can be no socket there is none, and hooks find
notes by their words.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import anyio
import structlog
from anyio.abc import SocketAttribute, SocketListener, SocketStream, TaskGroup

from holdfast.engine.presence.entries import filled
from holdfast.engine.presence.whisper import Whisper
from holdfast.sockets import MOST_READ, SOCKETS, is_of_this_user, reachable
from holdfast.tools.agent import ServedMemory
from holdfast.tools.fitting import hook_answer
from holdfast.tools.presence import in_folder, whispered

PATIENCE_SECONDS: Final = 10.0  # for a question and its answer
LOOK_SECONDS: Final = 5.0  # between two looks whether the socket is still there
MOST_AT_ONCE: Final = 16
SOURCE: Final = "hook"

log = structlog.get_logger()


class WhisperSocket:
    """The socket of one server.

    Args:
        served: where it asks.
        home: the memory folder.
        http: the server is for several clients, so that only the hook knows the project.
    """

    def __init__(self, served: ServedMemory, home: Path, *, http: bool) -> None:
        self._served = served
        self._home = home
        self._folder = home / SOCKETS
        self._http = http
        self._path = self._folder / f"{os.getpid()}-{os.urandom(3).hex()}.sock"
        self._limit = anyio.CapacityLimiter(MOST_AT_ONCE)

    async def run(self) -> None:
        """Listen until cancelled, as soon as the memory folder is there, and anew where the socket was taken away."""
        if sys.platform == "win32":
            return
        logged = ""
        async with anyio.create_task_group() as answering:
            while True:
                await self._derived_is_there()
                try:
                    listener = await self._listener()
                except OSError as error:  # the folder may have gone this moment, or be mended
                    reason = error.strerror or str(error)
                    if reason != logged:
                        log.info("no_whisper_socket", reason=reason)
                    logged = reason
                    await anyio.sleep(LOOK_SECONDS)
                else:
                    await self._listen(listener, answering)

    async def _derived_is_there(self) -> None:
        derived = self._home / ".holdfast"  # which is made with the first note, and anew where somebody deletes it
        while not await anyio.to_thread.run_sync(derived.is_dir):  # noqa: ASYNC110 - the disk tells nobody
            await anyio.sleep(PATIENCE_SECONDS / 10)

    async def _listener(self) -> SocketListener:
        """A socket that is ready, under its own name.

        Raises:
            OSError: there can be none.
        """
        await anyio.to_thread.run_sync(self._prepare)
        made = self._path.with_suffix(".new")  # nobody connects, or takes it for a left one, before it listens
        with reachable(str(made)) as short:
            listener = await anyio.create_unix_listener(short, mode=0o600)
        try:
            await anyio.to_thread.run_sync(made.rename, self._path)
        except BaseException:
            await anyio.aclose_forcefully(listener)
            raise
        return listener

    async def _listen(self, listener: SocketListener, answering: TaskGroup) -> None:
        """Take questions for as long as the socket is there; those that were taken are answered in any case."""
        try:
            async with listener, anyio.create_task_group() as taking:
                taking.start_soon(listener.serve, self._serve, answering)
                while await anyio.to_thread.run_sync(os.path.exists, self._path):  # noqa: ASYNC110 - as above
                    await anyio.sleep(LOOK_SECONDS)
                taking.cancel_scope.cancel()
        finally:
            with suppress(OSError):
                self._path.unlink()

    def _prepare(self) -> None:
        """Make the folder, for this user alone, and take sockets away that nobody listens at any more."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        if self._folder.is_symlink() or self._folder.stat().st_uid != os.getuid():
            raise OSError("the folder for sockets is somebody else's")
        for path in self._folder.glob("*.sock"):
            if not _listens(path):
                with suppress(OSError):
                    path.unlink()

    async def _serve(self, stream: SocketStream) -> None:
        """Answer one question. Whatever goes wrong with it, the others and the server go on."""
        async with stream:
            try:
                with anyio.move_on_after(PATIENCE_SECONDS):
                    if is_of_this_user(stream.extra(SocketAttribute.raw_socket)):  # noqa: S610 - no query
                        async with self._limit:
                            await stream.send((await self._answer(await _line(stream))).encode())
            except (OSError, anyio.BrokenResourceError, anyio.EndOfStream):  # who asked has gone
                pass
            except Exception as error:  # noqa: BLE001 - one strange question must not end the server
                log.warning("whisper_failed", error=type(error).__name__)

    async def _answer(self, given: dict[str, str]) -> str:
        request = Whisper(given.get("prompt", ""), given.get("session_id", ""), given.get("event", ""))
        who = await in_folder(self._served, self._served.asker(None, SOURCE), filled(given.get("cwd")), http=self._http)
        event = filled(request.event) or "UserPromptSubmit"
        return hook_answer(await whispered(self._served, who, request), event)


async def _line(stream: SocketStream) -> dict[str, str]:
    """What is asked; nothing where it is not in the form that it should have."""
    data = bytearray()
    while not data.endswith(b"\n") and len(data) <= MOST_READ:
        data += await stream.receive()
    try:
        asked: Any = json.loads(data)
    except (ValueError, RecursionError):  # no JSON, or lists in lists in lists
        return {}
    return (
        {str(name): value for name, value in asked.items() if isinstance(value, str)} if isinstance(asked, dict) else {}
    )


def _listens(path: Path) -> bool:
    """Whether somebody takes a connection there."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking, reachable(str(path)) as short:
            asking.settimeout(1.0)
            asking.connect(short)
    except ConnectionRefusedError:
        return False
    except OSError:  # it is busy, or nobody's business
        return True
    return True
