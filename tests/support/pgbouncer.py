"""A real PgBouncer in transaction mode before a PostgreSQL: each transaction may be given another connection."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

import postgres
from processes import PATIENCE, listens, own_port, until

PROGRAM = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin:/opt/homebrew/bin")
MISSING = "NO PGBOUNCER TO BE HAD: a pooler before the database was not tried. Install Debian's package pgbouncer."


@dataclass
class PgBouncer:
    """A pooler that may be killed and started again."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = field(default=None)

    @property
    def url(self) -> str:
        return f"postgresql://{postgres.ROLE}@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            self.process = process = subprocess.Popen(
                [str(PROGRAM), str(self.folder / "pgbouncer.ini")], stdout=log, stderr=log, **postgres.unprivileged()
            )
        until(lambda: listens(self.port, process))

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        assert self.process.wait(PATIENCE) == -signal.SIGKILL

    def asked(self, command: str) -> list[tuple[object, ...]]:
        """What its own console answers."""
        address = f"postgresql://{postgres.OWNER}@127.0.0.1:{self.port}/pgbouncer"
        with psycopg.connect(address, autocommit=True) as connection, psycopg.ClientCursor(connection) as cursor:
            return cursor.execute(command.encode()).fetchall()


@contextmanager
def before(server: postgres.Postgres, connections: int) -> Iterator[PgBouncer]:
    """A pooler with so many connections to this server."""
    folder = Path(tempfile.mkdtemp(prefix="holdfast-pgbouncer-"))
    user = postgres.unprivileged()
    try:
        with own_port() as port:
            (folder / "users").write_text(f'"{postgres.ROLE}" ""\n"{postgres.OWNER}" ""\n')
            (folder / "pgbouncer.ini").write_text(_settings(folder, server.port, port, connections))
            if user:
                for path in (folder, *folder.iterdir()):
                    os.chown(path, user["user"], user["group"])
            pooler = PgBouncer(folder, port)
            pooler.start()
            try:
                yield pooler
            finally:
                if pooler.process is not None and pooler.process.poll() is None:
                    pooler.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _settings(folder: Path, target: int, port: int, connections: int) -> str:
    return f"""
[databases]
postgres = host=127.0.0.1 port={target}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {folder}/users
admin_users = {postgres.OWNER}
pidfile = {folder}/pid
pool_mode = transaction
default_pool_size = {connections}
max_client_conn = 200
"""
