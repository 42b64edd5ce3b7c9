"""`holdfast store load` and `dump` that are killed, stand still or are pointed at the wrong thing.

What was interrupted goes on, and then is byte for byte what it would have been. Nothing that is half passes for whole.
"""

from __future__ import annotations

import errno
import os
import signal
import stat
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import anyio
import anyio.to_thread
import psycopg
import pytest

import postgres
from conftest import Effort
from forked import begin_program, run
from holdfast.cli.store import run_store
from holdfast.cli.terminal import Screen
from holdfast.engine.admin.notes import Edit, update_note
from holdfast.engine.agent.feedback import MarkOutdated, mark_outdated
from holdfast.errors import StorageError
from holdfast.model.access import tenant_key
from holdfast.store import filesystem
from holdfast.store.folder import Folder
from holdfast.store.rows import database, moving
from holdfast.store.rows.database import Asked, Database, Transaction
from moving_worker import EVER
from processes import HOLDFAST, environment_in, until
from worlds import CALLER, keep, living

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not postgres.is_there(), reason=postgres.MISSING)]

WORKER = Path(__file__).parents[1] / "support" / "moving_worker.py"
TABLES = ("notes", "pages", "texts", "trash", "journal")
PAGES = {
    "NOW.md": "# NOW - 2026-11-24T10:00:00\n\n## Current Task\nMend the crane\n",
    "now/harbour.md": "# NOW - 2026-11-24T10:00:00\n\n## Current Task\nPaint the pier\n",
}


@pytest.fixture
def rows() -> Iterator[Database]:
    opened = Database(postgres.shared().url)
    yield opened
    anyio.run(opened.aclose)


@pytest.fixture
async def home(tmp_path: Path) -> Path:
    """A folder with notes, replaced texts, a retired note, trash and pages, with nobody in it."""
    place = tmp_path / "home"
    async with living(place) as memory:
        gauge = await keep(memory, "The tide gauge stands at the old pier.")
        for number in range(3):
            edit = Edit(gauge.note.id, content=f"The tide gauge stands at pier {number}.")
            await memory.attend(lambda ports, edit=edit: update_note(ports, CALLER, edit))
        crane = await keep(memory, "The crane lifts forty tonnes. Größe: zwölf Füße.")
        await memory.attend(lambda ports: mark_outdated(ports, CALLER, MarkOutdated(crane.note.id, "scrapped")))
        for number in range(5):
            await keep(memory, f"Ship {number} lies at berth {number}.")
    write(place, PAGES | {"trash/20261124T100000.000000Z/gone.md": "Thrown away.\n"})
    return place


def write(root: Path, texts: dict[str, str]) -> None:
    for path, text in texts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")


def load(opened: Database, tenant: str, home: Path) -> moving.Moved:
    return moving.load(opened, tenant_key(tenant), Folder(home), {}, lambda _done, _total: None)


def kept(tenant: str) -> dict[str, list[tuple[object, ...]]]:
    """All rows of a memory, but for whose they are."""
    found = {}
    with psycopg.connect(postgres.shared().owner, autocommit=True) as connection:
        for table in (*TABLES, "tenants"):
            named = f"SELECT * FROM holdfast.{table} WHERE tenant = %s ORDER BY 2, 1".encode()  # noqa: S608 - own names
            told = connection.execute(named, (tenant_key(tenant),)).fetchall()
            found[table] = [row[1:] if table != "tenants" else row[1:3] for row in told]
    return found


def files_in(home: Path) -> dict[str, tuple[bytes, int]]:
    """Bytes and time of every file, by path; the journal's and old texts have no time of their own."""
    found = {}
    for path in home.rglob("*"):
        if path.is_file():
            name = path.relative_to(home).as_posix()
            dated = not name.startswith(("journal/", "history/"))
            found[name] = (path.read_bytes(), path.stat().st_mtime_ns if dated else 0)
    return found


def environment(tmp_path: Path, tenant: str) -> dict[str, str]:
    return environment_in(tmp_path) | {"HOLDFAST_STORE": postgres.shared().url, "HOLDFAST_TENANT": tenant}


def moved(tmp_path: Path, tenant: str, verb: str, folder: Path, code: int = 0) -> str:
    """What `holdfast store` says of a move."""
    done = run([*HOLDFAST, "store", verb, str(folder)], environment(tmp_path, tenant), code)
    return (done.stdout if not code else done.stderr).decode()


def ended(tmp_path: Path, tenant: str, verb: str, folder: Path, step: int) -> tuple[int, int]:
    """How a move ended that was to die at a step, and how many steps it did."""
    command = [sys.executable, str(WORKER), verb, str(folder), str(step)]
    with begin_program(command, env=environment(tmp_path, tenant), stdin=-3, stdout=-1, stderr=-1) as process:
        said, complained = process.communicate()
    assert process.returncode in (0, -signal.SIGKILL), complained.decode()
    return process.returncode, int(said.split()[-1]) if said else 0


def spread(count: int, kills: int) -> list[int]:
    """So many of the steps, from the first to the last."""
    return sorted({round(each * (count - 1) / (kills - 1)) for each in range(kills)})


@pytest.mark.timeout(600)
async def test_a_load_that_is_killed_goes_on_and_has_the_same_rows_in_the_end(
    tmp_path: Path, home: Path, effort: Effort, tally: Counter[str]
) -> None:
    moved(tmp_path, f"{tmp_path} first", "load", home)  # what it settles in the folder is settled then
    code, count = ended(tmp_path, f"{tmp_path} whole", "load", home, EVER)
    assert code == 0
    wanted = kept(f"{tmp_path} whole")
    assert all(wanted.values())
    for step in spread(count, effort.of(5, 50)):
        tenant = f"{tmp_path} {step}"
        assert ended(tmp_path, tenant, "load", home, step)[0] == -signal.SIGKILL
        tally["kills of a load"] += 1
        assert step == 0 or kept(tenant) != wanted
        moved(tmp_path, tenant, "load", home)
        assert kept(tenant) == wanted, step


@pytest.mark.timeout(600)
async def test_a_dump_that_is_killed_goes_on_and_is_the_same_folder_in_the_end(
    tmp_path: Path, home: Path, rows: Database, effort: Effort, tally: Counter[str]
) -> None:
    tenant = str(tmp_path)
    await anyio.to_thread.run_sync(load, rows, tenant, home)
    code, count = ended(tmp_path, tenant, "dump", tmp_path / "whole", EVER)
    assert code == 0
    wanted = files_in(tmp_path / "whole")
    assert {name.split("/", maxsplit=1)[0] for name in wanted} >= {"memories", "history", "trash", "journal", "NOW.md"}
    for step in spread(count, effort.of(5, 50)):
        out = tmp_path / f"out-{step}"
        assert ended(tmp_path, tenant, "dump", out, step)[0] == -signal.SIGKILL
        tally["kills of a dump"] += 1
        assert not out.exists() or not files_in(out) or (out / ".dump").exists()  # never half and called whole
        await anyio.to_thread.run_sync(moving.dump, rows, tenant_key(tenant), out)
        assert files_in(out) == wanted, step


async def test_a_dump_that_goes_on_keeps_nothing_that_is_gone_from_the_memory(
    tmp_path: Path, home: Path, rows: Database
) -> None:
    tenant, out = str(tmp_path), tmp_path / "out"
    load(rows, tenant, home)
    moving.dump(rows, tenant_key(tenant), out)
    gone = ("MEMORY.md", "now/pier.md", "daily/2026-11-23.md", "memories/gone.md", "journal/2020-01.jsonl",
            "history/00.md", "memories/.half.md.part", ".NOW.md.part")  # fmt: skip
    write(out, dict.fromkeys((*gone, ".dump", "read-me.txt"), "from before the dump was interrupted"))
    moving.dump(rows, tenant_key(tenant), out)
    assert not [name for name in gone if (out / name).exists()]
    assert (out / "read-me.txt").exists()  # that is none of a dump's
    assert {name: (out / name).read_text("utf-8") for name in PAGES} == PAGES


async def test_half_a_dump_is_not_loaded_as_a_memory(tmp_path: Path, home: Path, rows: Database) -> None:
    tenant, out = str(tmp_path), tmp_path / "out"
    load(rows, tenant, home)

    def die(done: int, _total: int) -> None:
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        moving.dump(rows, tenant_key(tenant), out, die)
    before = files_in(out)
    said = moved(tmp_path, f"{tenant} other", "load", out, code=2)
    assert "has not come to its end" in said
    assert "holdfast store dump" in said
    assert files_in(out) == before
    assert not any(kept(f"{tenant} other").values())
    with pytest.raises(StorageError, match="has not come to its end"):
        load(rows, f"{tenant} other", out)
    assert moved(tmp_path, tenant, "dump", out)
    assert moved(tmp_path, f"{tenant} other", "load", out)


async def test_a_dump_is_readable_for_its_user_alone_though_its_folder_was_there_already(
    tmp_path: Path, home: Path, rows: Database
) -> None:
    tenant, out = str(tmp_path), tmp_path / "out"
    load(rows, tenant, home)
    out.mkdir(mode=0o755)
    out.chmod(0o755)
    before = os.umask(0o022)
    try:
        moving.dump(rows, tenant_key(tenant), out)
        for path in out.rglob("*"):  # as an earlier Holdfast left what it had begun
            path.chmod(0o755 if path.is_dir() else 0o644)
        write(out, {".dump": "not whole"})
        modes = {path: _mode(path) for path in (out, *out.rglob("*"))}
        assert modes[out] == 0o700
        moving.dump(rows, tenant_key(tenant), out)
    finally:
        os.umask(before)
    assert {_mode(path) for path in out.rglob("*") if path.is_file()} == {0o600}
    assert {_mode(path) for path in (out, *out.rglob("*")) if path.is_dir()} == {0o700}


@pytest.mark.parametrize("refuses", [True, False])
async def test_a_dump_says_so_where_the_disk_keeps_no_modes_and_others_may_read_it(
    tmp_path: Path, home: Path, rows: Database, refuses: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As disks of other systems do: they refuse a mode, or take it and forget it."""

    def forget(_path: Path, _mode: int) -> None:
        if refuses:
            raise PermissionError(errno.EPERM, "no modes here")

    given, heard, warning = environment(tmp_path, str(tmp_path)), list[str](), "Others on this machine may read it"
    load(rows, str(tmp_path), home)
    monkeypatch.setattr(Screen, "say", lambda _self, text: heard.append(text))
    for name, value in given.items():
        monkeypatch.setenv(name, value)

    async def dumped(place: str) -> str:
        heard.clear()
        options = Namespace(action="dump", folder=str(tmp_path / place), json=False)
        assert await anyio.to_thread.run_sync(run_store, options) == 0
        return " ".join(heard)

    assert warning not in await dumped("private")
    monkeypatch.setattr(Path, "chmod", forget)
    assert warning not in await dumped("private as well")  # it has modes, and was made with them
    monkeypatch.setattr(filesystem, "FILE_MODE", 0o644)
    before, umask = os.umask(0o022), os.umask
    monkeypatch.setattr(os, "umask", lambda _: 0o022)
    try:
        assert warning in await dumped("open")
    finally:
        umask(before)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_a_name_of_which_there_is_no_memory_is_not_dumped_as_an_empty_one(tmp_path: Path) -> None:
    said = moved(tmp_path, f"{tmp_path} mistyped", "dump", tmp_path / "out", code=2)
    assert "There is no memory of this name" in said
    assert "HOLDFAST_TENANT" in said
    assert not (tmp_path / "out").exists()


async def test_a_memory_whose_load_has_not_ended_is_not_dumped(tmp_path: Path, home: Path, rows: Database) -> None:
    tenant = str(tmp_path)
    load(rows, tenant, home)
    with psycopg.connect(postgres.shared().owner, autocommit=True) as connection:
        connection.execute("UPDATE holdfast.tenants SET loading = true WHERE tenant = %s", (tenant_key(tenant),))
    assert "being loaded" in moved(tmp_path, tenant, "dump", tmp_path / "out", code=2)
    assert not (tmp_path / "out").exists()


async def test_what_a_folder_has_no_more_is_taken_out_by_one_look_at_what_it_has(
    tmp_path: Path, home: Path, rows: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL 14 goes through all names again for each row that is not one of an array: hours for 100,000 notes."""
    tenant, asking, sent = str(tmp_path), Transaction.ask, list[tuple[str, tuple[object, ...]]]()

    def ask_and_tell(self: Transaction, statement: str, *values: object) -> Asked:
        sent.append((statement, values))
        return asking(self, statement, *values)

    load(rows, tenant, home)
    with psycopg.connect(postgres.shared().owner, autocommit=True) as connection:
        connection.execute("UPDATE holdfast.tenants SET loading = true WHERE tenant = %s", (tenant_key(tenant),))
        gone = min((home / "memories").rglob("*.md"))
        gone.unlink()
        (home / "NOW.md").unlink()
        monkeypatch.setattr(Transaction, "ask", ask_and_tell)
        load(rows, tenant, home)
        found = kept(tenant)
        assert len(found["notes"]) == len(list((home / "memories").rglob("*.md")))
        assert gone.name not in str([row[0] for row in found["notes"]])
        assert [row[0] for row in found["pages"]] == ["now/harbour.md"]
        dropping = [(text, values) for text, values in sent if text.startswith("DELETE") and "journal" not in text]
        assert len(dropping) == len(moving.KINDS)
        for text, values in dropping:
            names = [f"name {number}" for number in range(10_000)]
            explained = connection.execute(f"EXPLAIN {text}".encode(), (values[0], names)).fetchall()
            assert "Anti Join" in str(explained), explained


async def test_a_dump_goes_on_however_long_the_disk_takes_between_two_questions(
    tmp_path: Path, home: Path, rows: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What limits how long a server may stand still while others wait for it is no limit for one that only reads."""
    tenant, opened = str(tmp_path), Database(f"{postgres.shared().url}?application_name=dump{os.getpid()}")
    load(rows, tenant, home)
    monkeypatch.setattr(database, "_IDLE_IN_TRANSACTION", "20ms")
    stood = list[bool]()

    def stand_still(_done: int, _total: int) -> None:
        if not stood:
            until(lambda: _idle(f"dump{os.getpid()}") != "short")
            stood.append(_idle(f"dump{os.getpid()}") == "long")

    moving.dump(opened, tenant_key(tenant), tmp_path / "out", stand_still)
    await opened.aclose()
    assert stood == [True]


def _idle(name: str) -> str:
    """How long the connection of this name has been idle in its transaction."""
    with psycopg.connect(postgres.shared().owner, autocommit=True) as connection:
        asked = "SELECT now() - state_change > '500ms' FROM pg_stat_activity WHERE application_name = %s"
        row = connection.execute(asked, (name,)).fetchone()
    return "gone" if row is None else "long" if row[0] else "short"
