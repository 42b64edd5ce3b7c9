"""Several servers of one database, each with a disk of its own, behind a real nginx; any of them may be killed."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

import forked
from processes import HOLDFAST, PATIENCE, ROOT, environment_in, listens, own_port, until

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/opt/homebrew/bin")
MISSING = "NO NGINX TO BE HAD: several servers behind a proxy were not tried. Install Debian's package nginx."
SERVED_BY = "X-Served-By"  # which server answered: the test's own header
_KINDS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


@dataclass
class Replica:
    """A server over HTTP that keeps its port when it is started again."""

    environment: dict[str, str]
    port: int
    process: subprocess.Popen[bytes] | None = field(default=None)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def said(self) -> str:
        """Everything that it logged."""
        return (Path(self.environment["HOME"]) / "stderr").read_text("utf-8")

    def begin(self) -> None:
        """Start it, without waiting until it answers."""
        with (Path(self.environment["HOME"]) / "stderr").open("ab") as sink:
            self.process = forked.begin(
                [*HOLDFAST, "--http", "--port", str(self.port)],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=sink, env=self.environment,
            )  # fmt: skip

    def await_answer(self, path: str = "/health") -> None:
        process = self.process
        assert process is not None
        until(lambda: listens(self.port, process))
        until(lambda: self.status(path) == 200)

    def status(self, path: str) -> int:
        return httpx.get(self.url + path, trust_env=False, timeout=PATIENCE).status_code

    def start(self) -> None:
        self.begin()
        self.await_answer()

    def kill(self) -> None:
        """SIGKILL, in the middle of whatever it does."""
        assert self.process is not None
        self.process.kill()
        assert self.process.wait(PATIENCE) == -signal.SIGKILL

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(PATIENCE)


@contextmanager
def replicas(folder: Path, count: int, given: dict[str, str]) -> Iterator[list[Replica]]:
    """So many servers that answer; what they log when they fail inside is a failure of the test."""
    with ExitStack() as stack:
        running = []
        for number in range(count):
            home = folder / f"server-{number}"
            home.mkdir(parents=True)
            replica = Replica(environment_in(home) | given, stack.enter_context(own_port()))
            stack.callback(replica.stop)
            replica.begin()
            running.append(replica)
        for replica in running:
            replica.await_answer()
        yield running
        for replica in running:
            assert not re.findall(r"Traceback|tenant_failed.*", replica.said), replica.said[-2000:]


def recipe(*, sticky: bool = False) -> str:
    """The lines for nginx in docs/fleet.md; with the line that keeps a client on one server where they are sticky."""
    text = (ROOT / "docs/fleet.md").read_text("utf-8")
    lines, extra = re.findall(r"^ *```nginx\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL)
    return (
        str(lines).replace("upstream memory.example {", f"upstream memory.example {{ {extra.strip()}")
        if sticky
        else str(lines)
    )


def configured(folder: Path, port: int, behind: Sequence[Replica], lines: str) -> Path:
    """A configuration with these lines, on a port of its own without TLS, and what nginx needs around it."""
    text = re.sub(r"^ *ssl_certificate.*\n", "", lines, flags=re.MULTILINE)
    text = text.replace("listen 443 ssl;", f"listen 127.0.0.1:{port}; add_header {SERVED_BY} $upstream_addr always;")
    places = iter(behind)
    text = re.sub(r"server 10\.0\.0\.1\d:8765", lambda _: _server(next(places, None)), text)
    temporary = "\n".join(f"{kind}_temp_path {folder}/{kind};" for kind in _KINDS)
    file = folder / "nginx.conf"
    file.write_text(
        f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/errors;\n"
        f"events {{ worker_connections 1024; }}\nhttp {{ access_log off;\n{temporary}\n{text} }}\n"
    )
    return file


def _server(replica: Replica | None) -> str:
    return "server 127.0.0.1:9 down; #" if replica is None else f"server 127.0.0.1:{replica.port}"


@contextmanager
def proxied(folder: Path, behind: Sequence[Replica], lines: str) -> Iterator[int]:
    """The port of an nginx before these servers."""
    folder.mkdir()
    with own_port() as port:
        file = configured(folder, port, behind, lines)
        nginx = subprocess.Popen([str(NGINX), "-c", str(file), "-e", str(folder / "errors")], stderr=subprocess.DEVNULL)
        try:
            until(lambda: listens(port, nginx))
            yield port
        finally:
            nginx.kill()
            nginx.wait()
