"""What stands between a server and its database in a test, which can cut the line without a word."""

from __future__ import annotations

import socket
import threading
from contextlib import closing, suppress

MOST = 1 << 16


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
