"""What stands between a server and its database in a test, which can cut the line without a word."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import TypeVar

import postgres
from processes import own_port

MOST = 1 << 16
_WRITES = b"INSERT INTO holdfast.journal"


class Between(threading.Thread):
    """Listens in the place of another port, and serves each client in a thread of its own."""

    def __init__(self, port: int, target: int) -> None:
        super().__init__(daemon=True)
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", port))

    def run(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def close(self) -> None:
        """Let nobody in any more."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self, client: socket.socket) -> None:
        raise NotImplementedError


Kind = TypeVar("Kind", bound=Between)


@contextmanager
def before(pg: postgres.Postgres, kind: Callable[[int, int], Kind]) -> Iterator[tuple[Kind, str]]:
    """What stands before a database, and the address on its other side."""
    with own_port() as port:
        between = kind(port, pg.port)
        between.start()
        try:
            yield between, pg.url.replace(f":{pg.port}", f":{port}")
        finally:
            between.close()


class Forwarder(Between):
    """Passes bytes on in both directions, until it is cut: then it takes them and closes nothing.

    What it holds when it is mended is passed on then, as late as it is.
    """

    def __init__(self, port: int, target: int) -> None:
        super().__init__(port, target)
        self._passes = threading.Event()
        self._passes.set()

    def cut(self) -> None:
        self._passes.clear()

    def mend(self) -> None:
        self._passes.set()

    def close(self) -> None:
        """Let nobody in any more, and let everybody go."""
        super().close()
        self.mend()

    def _serve(self, client: socket.socket) -> None:
        self._passes.wait()
        with closing(client), closing(socket.create_connection(("127.0.0.1", self._target))) as backend:
            answers = threading.Thread(target=self._pass_on, args=(backend, client), daemon=True)
            answers.start()
            self._pass_on(client, backend)
            answers.join()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(MOST):
                self._passes.wait()
                target.sendall(data)
        self._passes.wait()  # the end of a line is not heard of either
        for line in (source, target):
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)


class CuttingProxy(Between):
    """Stands between a server and the database; cuts the line when a COMMIT passes, before it or behind it.

    Those of transactions that tell the journal something, and send what `meant` says besides.
    """

    meant = b""

    def __init__(self, port: int, target: int) -> None:
        super().__init__(port, target)
        self.cuts: list[str] = []  # what is still to be done with commits, in turn
        self.done = 0
        self.ended = 0  # of those that were cut: the database has carried out what it is to carry out
        self.stays_down = False  # from the next cut on every line is cut, and nobody is let in, until this is not so
        self._is_down = False
        self._lines: list[socket.socket] = []

    def _serve(self, client: socket.socket) -> None:
        if self._is_down and self.stays_down:
            client.close()
            return
        self._lines.append(client)
        backend = socket.create_connection(("127.0.0.1", self._target))
        answers = threading.Thread(target=_pump, args=(backend, client), daemon=True)
        answers.start()
        with closing(client), closing(backend), _cut_off(backend):
            sent = b""  # in the transaction under way
            while data := _received(client):
                sent += data
                if self.cuts and b"COMMIT" in data and _WRITES in sent and self.meant in sent:
                    how = self.cuts.pop(0)
                    self.done += 1
                    self._cut(client)
                    if how == "behind":
                        backend.sendall(data)
                        backend.shutdown(socket.SHUT_WR)  # it does what was sent, and ends
                        answers.join(postgres.PATIENCE)
                    self.ended += 1
                    return
                sent = b"" if b"COMMIT" in data else sent
                backend.sendall(data)

    def _cut(self, client: socket.socket) -> None:
        self._is_down = self.stays_down
        for line in self._lines if self._is_down else [client]:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)


@contextmanager
def _cut_off(line: socket.socket) -> Iterator[None]:
    """Whoever reads from it is told when the block ends."""
    try:
        yield
    finally:
        with suppress(OSError):
            line.shutdown(socket.SHUT_RDWR)


def _received(line: socket.socket) -> bytes:
    try:
        return line.recv(1 << 20)
    except OSError:
        return b""


def _pump(source: socket.socket, target: socket.socket) -> None:
    while data := _received(source):
        try:
            target.sendall(data)
        except OSError:
            return
