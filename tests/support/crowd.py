"""Real servers that are asked many things at once, and that can be killed while they answer."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, TypeAlias

from processes import HOLDFAST, MODERN, Stdio, http
from served import ERAS

HANG = 120.0  # only a failure takes as long
MOST_AT_ONCE = 256

Answer: TypeAlias = dict[str, Any]
Asked: TypeAlias = tuple[str, dict[str, Any]]  # a tool and its arguments
Script: TypeAlias = Generator[Asked, Answer, None]


class LostError(Exception):
    """The server was killed before it answered."""


class RefusedError(Exception):
    """The tool said no."""


class Server(ABC):
    """A server in a process of its own."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.killed = False
        self._stderr = Path(environment["HOME"]) / "stderr"

    @property
    @abstractmethod
    def process(self) -> subprocess.Popen[bytes]: ...

    @abstractmethod
    def call(self, tool: str, **arguments: Any) -> Future[Answer]:
        """Ask without waiting; the answer is a `LostError` where the server is killed first."""

    @abstractmethod
    def _let_go(self) -> None: ...

    def ask(self, tool: str, **arguments: Any) -> Answer:
        return self.call(tool, **arguments).result(HANG)

    def kill(self) -> None:
        """SIGKILL; whatever it had said before is still heard."""
        assert self.process.poll() is None, "it ended by itself"
        self.killed = True
        self.process.kill()
        assert self.process.wait(HANG) == -signal.SIGKILL
        self._let_go()

    def end(self) -> None:
        """SIGTERM, and it ends as it should."""
        self.killed = True
        self.process.terminate()
        assert self.process.wait(HANG) == 0
        self._let_go()
        assert "Traceback" not in self._stderr.read_text("utf-8")


class Piped(Server):
    """Over stdio; answers are heard by a thread of their own."""

    def __init__(self, environment: dict[str, str], era: str = ERAS[1], command: Sequence[str] = HOLDFAST) -> None:
        super().__init__(environment)
        self._stdio = Stdio(environment, era, command)
        self._stdio.begin()
        self._turn = threading.Lock()
        self._waiting: dict[int, Future[Answer]] = {}
        self._over = False
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def process(self) -> subprocess.Popen[bytes]:
        return self._stdio.process

    def call(self, tool: str, **arguments: Any) -> Future[Answer]:
        future: Future[Answer] = Future()
        with self._turn:
            if not self._over:
                with suppress(BrokenPipeError):
                    self._waiting[self._stdio.send("tools/call", name=tool, arguments=arguments)] = future
                    return future
        future.set_exception(LostError())
        return future

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if not line.endswith(b"\n"):
                break  # killed within a line: nobody was told
            message = json.loads(line)
            with self._turn:
                future = self._waiting.pop(message["id"])
            _tell(future, message)
        with self._turn:
            self._over = True
            lost, self._waiting = self._waiting, {}
        for future in lost.values():
            future.set_exception(LostError() if self.killed else AssertionError("it ended by itself"))

    def _let_go(self) -> None:
        self._listener.join(HANG)
        assert not self._listener.is_alive()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()


class Ported(Server):
    """Over HTTP, each request on a thread of its own."""

    def __init__(self, environment: dict[str, str]) -> None:
        super().__init__(environment)
        self._stack = ExitStack()
        self._process, port = self._stack.enter_context(http(environment))
        self._pool = self._stack.enter_context(ThreadPoolExecutor(MOST_AT_ONCE))
        self._port = port

    @property
    def process(self) -> subprocess.Popen[bytes]:
        return self._process

    def call(self, tool: str, **arguments: Any) -> Future[Answer]:
        future: Future[Answer] = Future()
        try:
            self._pool.submit(self._post, future, tool, arguments)
        except RuntimeError:  # the pool of a killed server takes nothing more
            future.set_exception(LostError())
        return future

    def _post(self, future: Future[Answer], tool: str, arguments: dict[str, Any]) -> None:
        parameters = {"name": tool, "arguments": arguments, **MODERN}
        headers = {
            "Accept": "application/json, text/event-stream", "Content-Type": "application/json",
            "MCP-Protocol-Version": ERAS[1], "Mcp-Method": "tools/call", "Mcp-Name": tool,
        }  # fmt: skip
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters}
        try:
            with closing(HTTPConnection("127.0.0.1", self._port, timeout=HANG)) as connection:
                connection.request("POST", "/mcp", json.dumps(message), headers)
                answer = json.loads(connection.getresponse().read())
            _tell(future, answer)
        except Exception as error:  # noqa: BLE001 - told by whoever asked
            lost = self.killed and isinstance(error, OSError | HTTPException)
            future.set_exception(LostError() if lost else error)

    def _let_go(self) -> None:
        self._stack.close()


def _tell(future: Future[Answer], message: dict[str, Any]) -> None:
    if "result" not in message:
        future.set_exception(AssertionError(message))
    elif message["result"]["isError"]:
        future.set_exception(RefusedError(message["result"]["content"][0]["text"]))
    else:
        future.set_result(message["result"]["structuredContent"])


@contextmanager
def cleared() -> Iterator[list[Server]]:
    """Servers that are put on this list do not outlive the block."""
    servers: list[Server] = []
    try:
        yield servers
    finally:
        for server in servers:
            if server.process.poll() is None:
                server.kill()


def play(server: Server, script: Script) -> None:
    """Carry out one script to its end, or until the server is killed."""
    answer: Answer | RefusedError | None = None
    with suppress(StopIteration):
        while True:
            tool, arguments = _next(script, answer)
            try:
                answer = server.ask(tool, **arguments)
            except RefusedError as error:
                answer = error


class Crowd:
    """Scripts that one server carries out side by side; `answers` is released once for each answer."""

    def __init__(self, server: Server, scripts: Iterable[Script]) -> None:
        self.answers = threading.Semaphore(0)
        self.failures: list[BaseException] = []
        self._server = server
        for script in scripts:
            self._step(script, None)

    def _step(self, script: Script, answer: Answer | RefusedError | None) -> None:
        try:
            tool, arguments = _next(script, answer)
        except StopIteration:
            return
        self._server.call(tool, **arguments).add_done_callback(lambda future: self._answered(script, future))

    def _answered(self, script: Script, future: Future[Answer]) -> None:
        try:
            try:
                self._step(script, future.result())
            except RefusedError as error:
                self._step(script, error)
        except LostError:
            return
        except BaseException as error:  # noqa: BLE001 - told by the test's own thread
            self.failures.append(error)
        finally:
            self.answers.release()


def _next(script: Script, answer: Answer | RefusedError | None) -> Asked:
    if isinstance(answer, RefusedError):
        return script.throw(answer)
    return next(script) if answer is None else script.send(answer)
