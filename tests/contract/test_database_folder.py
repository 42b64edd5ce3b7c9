"""`holdfast store`: a folder moves into a database and out of it, byte for byte, and answers there as it did before."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psycopg
import pytest
from anyio import from_thread, to_thread

import postgres
from conftest import Effort
from forked import run
from holdfast.app import build_memory
from holdfast.encode.builtin import BuiltinEncoder
from holdfast.engine.admin.gate import Confirmations
from holdfast.engine.admin.imports import ImportFrom, export_memory, import_memory
from holdfast.engine.agent.feedback import MarkOutdated, mark_outdated
from holdfast.engine.agent.recall import Recall, recall
from holdfast.engine.ports import Caller
from holdfast.engine.runtime import Memory
from holdfast.errors import InvalidArgumentError
from holdfast.model.access import tenant_key
from holdfast.settings import load_settings
from holdfast.store.rows.database import PATIENCE_SECONDS, Database
from holdfast.store.rows.moving import dump
from holdfast.store.rows.schema import VERSION
from processes import HOLDFAST, environment_in, own_port
from worlds import CALLER, keep

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not postgres.is_there(), reason=postgres.MISSING)]

DEVMEM = Path(__file__).parents[2] / "bench" / "data" / "devmem.json"
SELF = 1  # the note of the user, which the first note makes
PARTS = ("memories", "journal", "history", "trash", "now", "daily", "capsules")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    given = {"HOLDFAST_STORE": postgres.shared().url, "HOLDFAST_TENANT": str(tmp_path)}
    return environment_in(tmp_path) | given


def memory_on(environment: dict[str, str]) -> Memory:
    return build_memory(load_settings({name: value for name, value in environment.items() if "HOLDFAST_" in name}))


def store(environment: dict[str, str], *arguments: str, code: int = 0) -> Any:
    """What `holdfast store` says as JSON; what it says on stderr where it fails."""
    command = [*HOLDFAST, "store", *arguments, "--json"]
    done = run(command, environment, code)
    return json.loads(done.stdout) if not code else done.stderr.decode() or json.loads(done.stdout)


def files_in(home: Path) -> dict[str, bytes]:
    """What a memory consists of, by path."""
    found = [path for part in PARTS for path in (home / part).rglob("*") if path.is_file()]
    found += [path for path in home.glob("*.md") if path.is_file()]
    return {path.relative_to(home).as_posix(): path.read_bytes() for path in found}


def times_in(home: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (home / "memories").rglob("*.md")}


async def filled(home: Path) -> None:
    """A folder with notes, a replaced text, a retired note, a note by hand and one that cannot be read."""
    folder = {"HOLDFAST_HOME": str(home), "HOLDFAST_ENCODER": "none"}
    memory = memory_on(folder)
    async with memory.running():
        first = await keep(memory, "The tide gauge stands at the old pier.")
        await keep(memory, "The tide gauge stands at the new pier.", supersedes=(first.note.id,))
        second = await keep(memory, "The crane lifts forty tonnes. Größe: zwölf Füße.")
        await memory.attend(lambda ports: mark_outdated(ports, CALLER, MarkOutdated(second.note.id, "scrapped")))
    _by_hand(home)


def _by_hand(home: Path) -> None:
    (home / "memories" / "work" / "by-hand.md").write_text("Written by hand, about the ferry.\n", "utf-8")
    (home / "memories" / "work" / "harmed.md").write_bytes(b"---\nid: [\n---\nnobody reads this\n")
    os.utime(home / "memories" / "work" / "by-hand.md", ns=(1_700_000_000_123_456_789, 1_700_000_000_123_456_789))


async def test_a_folder_moves_into_a_database_and_out_of_it_byte_for_byte(
    environment: dict[str, str], tmp_path: Path
) -> None:
    home, out = tmp_path / "old", tmp_path / "new"
    await filled(home)
    moved = store(environment, "load", str(home))
    assert moved["files"] == moved["fresh"]
    before = files_in(home)  # as it was when nobody was in it any more
    store(environment, "dump", str(out))
    after = files_in(out)
    last = max(name for name in before if name.startswith("journal/"))
    assert before.pop(last).startswith(after.pop(last))  # the folder's journal goes on with what `load` settled
    assert after == before
    assert times_in(out) == times_in(home)


async def test_what_was_interrupted_goes_on_and_a_memory_is_never_loaded_over(
    environment: dict[str, str], tmp_path: Path
) -> None:
    home = tmp_path / "old"
    await filled(home)
    shutil.copytree(home, tmp_path / "part")
    some = sorted((tmp_path / "part" / "memories").rglob("*.md"))
    some[0].write_text("This changed before the second try.\n", "utf-8")
    store(environment, "load", str(tmp_path / "part"))
    with psycopg.connect(postgres.shared().owner, autocommit=True) as connection:  # as if it had died before its end
        key = (tenant_key(environment["HOLDFAST_TENANT"]),)
        connection.execute("UPDATE holdfast.tenants SET loading = true WHERE tenant = %s", key)
    memory = memory_on(environment)
    async with memory.running():
        with pytest.raises(Exception, match="being loaded"):
            await keep(memory, "This comes too early.")
    moved = store(environment, "load", str(home))
    assert 0 < moved["fresh"] < moved["files"]
    assert "There is a memory of this name" in store(environment, "load", str(home), code=2)
    out = tmp_path / "new"
    store(environment, "dump", str(out))
    (out / ".dump").write_text("as if it had been interrupted", "utf-8")
    victim = next((out / "memories").rglob("*.md"))
    victim.unlink()
    assert store(environment, "dump", str(out))["fresh"] == 1
    assert "not empty" in store(environment, "dump", str(out), code=2)


async def test_a_memory_of_the_database_is_a_folder_like_any_other_afterwards(
    environment: dict[str, str], tmp_path: Path
) -> None:
    memory = memory_on(environment)
    async with memory.running():
        old = await keep(memory, "The harbour master is Astrid.")
        await keep(memory, "The harbour master is Birgit.", supersedes=(old.note.id,))
    out = tmp_path / "new"
    store(environment, "dump", str(out))
    folder = memory_on({"HOLDFAST_HOME": str(out), "HOLDFAST_ENCODER": "none"})
    async with folder.running():
        answer = await folder.attend(lambda ports: recall(ports, CALLER, Recall("harbour master")))
        assert [hit.note.content for hit in answer.hits][:1] == ["The harbour master is Birgit."]
        await keep(folder, "The harbour master's boat is red.")


async def test_answers_about_devmem_are_those_of_the_folder_id_for_id_and_score_for_score(
    environment: dict[str, str], tmp_path: Path, effort: Effort
) -> None:
    """With the embedded encoder: what is derived, and vectors, is made anew from the same bytes.

    A second server reads the vectors that the first has made, and answers as it does to the last digit.
    """
    told = json.loads(DEVMEM.read_text("utf-8"))
    home = tmp_path / "old"
    folder = {"HOLDFAST_HOME": str(home), "HOLDFAST_ENCODER": "builtin", "HOLDFAST_NOW": "2026-12-01T00:00:00+00:00"}
    from_folder = memory_on(folder)
    async with from_folder.running():
        for note in told["notes"][: effort.of(40, 339)]:
            given = {name: note[name] for name in ("type", "title", "space", "session")}
            await keep(from_folder, note["content"], **given, tags=tuple(note["tags"]))
        await from_folder.catch_up()
        asked = told["queries"][:: effort.of(16, 1)]
        answers = [await _answer(from_folder, query) for query in asked]
    store(environment, "load", str(home))
    fleet = environment | {name: value for name, value in folder.items() if name != "HOLDFAST_HOME"}
    from_rows = memory_on(fleet)
    async with from_rows.running():
        await _answer(from_rows, asked[0])
        await from_rows.catch_up()
        assert [await _answer(from_rows, query) for query in asked] == answers
        exact = [await _answer(from_rows, query, 17) for query in asked]
    assert any(answers)
    another = memory_on(fleet | {"HOLDFAST_HOME": str(tmp_path / "another")})
    encode = BuiltinEncoder.encode_documents

    async def encode_nothing_known(self: BuiltinEncoder, texts: Sequence[str]) -> list[list[bytes]]:
        made = await encode(self, texts)
        assert not any(made), "it was encoded before"  # a text that it cannot read has no vector to share
        return made

    with patch.object(BuiltinEncoder, "encode_documents", encode_nothing_known):
        async with another.running():
            await _answer(another, asked[0])
            await another.catch_up()
            assert [await _answer(another, query, 17) for query in asked] == exact


async def _answer(memory: Memory, query: dict[str, Any], digits: int = 4) -> list[tuple[str, float, float]]:
    """Ids with score and relevance, as finely as a person could tell them apart."""
    caller = Caller(query["space"], "a test", "pytest")
    answer = await memory.attend(lambda ports: recall(ports, caller, Recall(query["query"])))
    ranked = [(hit.note.id, hit.ranked) for hit in answer.hits]
    return [(note, round(each.score, digits), round(each.relevance, digits)) for note, each in ranked]


def test_the_tables_are_made_once_and_looked_at(tmp_path: Path) -> None:
    pg = postgres.shared()
    name = f"made_{tenant_key(str(tmp_path))}"
    with psycopg.connect(pg.owner, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    owner = environment_in(tmp_path) | {"HOLDFAST_STORE": pg.owner.replace("/postgres", f"/{name}")}
    serving = owner | {"HOLDFAST_STORE": pg.url.replace("/postgres", f"/{name}")}
    assert "holdfast store init" in str(store(serving, "check", code=1))
    assert store(owner, "init", "--role", postgres.ROLE) == {"before": 0, "schema": VERSION}
    assert store(owner, "migrate", "--role", postgres.ROLE) == {"before": VERSION, "schema": VERSION}
    assert "row-level security" in str(store(owner, "check", code=1))
    told = str(store(serving, "check", code=1))
    assert "row-level security" not in told
    assert "synchronous_standby_names" in told
    assert "no such role" in store(owner, "init", "--role", "nobody_at_all", code=2)


def test_without_a_database_the_command_says_what_to_set(tmp_path: Path) -> None:
    assert "HOLDFAST_STORE" in store(environment_in(tmp_path), "check", code=2)
    wrong = environment_in(tmp_path) | {"HOLDFAST_STORE": "mysql://pilot:hush@somewhere/none"}
    said = store(wrong, "check", code=2)
    assert "postgresql://" in said
    assert "hush" not in said


@pytest.mark.parametrize("action", [("init", "--role", "x"), ("check",), ("migrate",), ("dump", "out"), ("load", ".")])
def test_without_the_driver_each_command_says_what_to_install(tmp_path: Path, action: tuple[str, ...]) -> None:
    (tmp_path / "memories").mkdir()
    program = (
        "import sys; sys.modules['psycopg'] = None; from holdfast.__main__ import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", program, "store", *action]
    named = environment_in(tmp_path) | {"HOLDFAST_STORE": "postgresql://nobody@127.0.0.1:1/none"}
    ran = subprocess.run(command, env=named, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert ran.returncode == 2
    assert "requirements-postgres.txt" in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("recall", "crane"),
        ("remember", "The crane is red."),
        ("stats",),
        ("store", "load", "."),
        ("store", "dump", "out"),
    ],
)
def test_a_command_whose_database_is_not_there_says_so_and_what_to_look_at_and_does_not_wait_for_it(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    (tmp_path / "memories").mkdir()
    with own_port() as port:
        named = environment_in(tmp_path) | {"HOLDFAST_STORE": f"postgresql://pilot:hush@127.0.0.1:{port}/none"}
        began = time.monotonic()
        ended = run([*HOLDFAST, *(str(tmp_path) if each == "." else each for each in arguments)], named, 2)
    assert (
        time.monotonic() - began < 2 * PATIENCE_SECONDS
    )  # a server waits so long for each question, and these ask three
    said = ended.stderr.decode()
    assert "HOLDFAST_STORE names cannot be reached" in said
    assert "host and port" in said
    assert "hush" not in said
    assert "Traceback" not in said


def test_a_command_whom_the_database_does_not_let_in_says_what_the_database_says(tmp_path: Path) -> None:
    url = postgres.shared().url.replace(postgres.ROLE, "nobody_at_all")
    said = run([*HOLDFAST, "stats"], environment_in(tmp_path) | {"HOLDFAST_STORE": url}, 2).stderr.decode()
    assert "refuses the user" in said
    assert "pg_hba.conf" in said


def test_a_server_and_a_command_that_have_no_place_for_their_index_say_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file", "utf-8")
    below = {"HOLDFAST_STORE": postgres.shared().url, "HOLDFAST_HOME": str(tmp_path / "file" / "memory")}
    for arguments in (("stats",), ("--http", "--port", "0"), ()):
        said = run([*HOLDFAST, *arguments], environment_in(tmp_path) | below, 2).stderr.decode()
        assert "holdfast: " in said
        assert "cannot be made" in said
        assert "HOLDFAST_HOME" in said
        assert "Traceback" not in said


async def test_files_are_taken_in_and_an_export_goes_elsewhere_with_a_database_too(
    environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "crane.md").write_text("The crane lifts forty tonnes.\n", "utf-8")
    run([*HOLDFAST, "ingest", str(tmp_path / "docs"), "--json"], environment)
    memory = memory_on(environment)
    async with memory.running():
        assert await _found(memory, "crane") == ["The crane lifts forty tonnes."]
        made = (await export_memory(memory, CALLER, "all.tar.gz")).answer
        nowhere = ImportFrom(str(tmp_path / "docs"))
        with pytest.raises(InvalidArgumentError, match=r"Put it into stores/\w+/imports in HOLDFAST_HOME"):
            await import_memory(memory, CALLER, Confirmations(), nowhere, _unwatched)
    archive = Path(environment["HOLDFAST_HOME"]) / made.path
    assert archive.name == "all.tar.gz"
    assert made.path.startswith("stores/")
    elsewhere = environment | {"HOLDFAST_TENANT": f"{tmp_path} elsewhere"}
    one, two = memory_on(elsewhere), memory_on(elsewhere | {"HOLDFAST_HOME": str(tmp_path / "two")})
    async with one.running(), two.running():  # who confirms asks another server
        source = ImportFrom(str(archive), anywhere=True)
        dry = await import_memory(one, CALLER, Confirmations(), source, _unwatched)
        sure = replace(source, confirm=dry.confirm)
        done = await import_memory(two, CALLER, Confirmations(), sure, _unwatched)
        assert (done.report.kind, done.report.notes, done.report.refused) == ("holdfast", 1 + SELF, [])
        assert await _found(one, "crane") == ["The crane lifts forty tonnes."]
        with pytest.raises(InvalidArgumentError, match="confirm is not a token"):
            await import_memory(one, CALLER, Confirmations(), sure, _unwatched)


async def test_a_dump_is_the_memory_at_one_moment_though_others_write_meanwhile(
    environment: dict[str, str], tmp_path: Path
) -> None:
    memory, later = memory_on(environment), list[str]()
    async with memory.running():
        first = await keep(memory, "The tide gauge stands at the old pier.")

        def write_another(_done: int, _total: int) -> None:
            from_thread.run(keep, memory, f"Ship {len(later)} came in.")
            later.append(f"Ship {len(later)} came in.")

        database = Database(environment["HOLDFAST_STORE"])
        tenant = tenant_key(environment["HOLDFAST_TENANT"])
        await to_thread.run_sync(dump, database, tenant, tmp_path / "out", write_another)
        await database.aclose()
        assert sorted(await _found(memory, "ship came in")) == sorted(later)
    written = files_in(tmp_path / "out")
    assert later
    assert not [path for path, data in written.items() if b"came in" in data]
    [line] = [json.loads(line) for line in written[_journal(written)].splitlines()]
    assert line["change"] == first.change_id
    assert not (tmp_path / "out" / ".dump").exists()


def _journal(files: dict[str, bytes]) -> str:
    return next(path for path in files if path.startswith("journal/"))


async def _found(memory: Memory, query: str) -> list[str]:
    answer = await memory.attend(lambda ports: recall(ports, CALLER, Recall(query)))
    return [hit.note.content.strip() for hit in answer.hits]


async def _unwatched(_done: int, _total: int) -> None:
    """Nobody is told how far it is."""
