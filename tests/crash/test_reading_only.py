"""Reading goes on when writing cannot: a read-only disk, a folder that may not be written, a full disk."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from holdfast.engine.ports import Ports
from holdfast.store.filesystem import FileSystem
from mounts import MOUNTING, UNPRIVILEGED, can_mount, fill
from processes import Stdio, stdio, until
from worlds import ask, found, memory_on

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="disks can be made read-only on Linux")

NOTICE = "Reading only: "
CLOSED = {"all": ".", "only what is derived": ".holdfast"}
mounted = pytest.mark.skipif(not can_mount(), reason="this user may not mount a disk of its own")
UNPRIVILEGED_ADMIN = (sys.executable, "-c", UNPRIVILEGED, "--admin")
closed = pytest.mark.parametrize("part", CLOSED.values(), ids=CLOSED)


def said(answer: dict[str, Any]) -> str:
    assert not answer.get("isError"), answer
    return str(answer)


def check_reading(server: Stdio, note: str) -> None:
    """Every tool that reads answers, and says that nothing can be stored; every one that writes refuses, truly."""
    for tool, arguments, expected in (
        ("recall", {"query": "which pier has the ferry"}, "pier seven"),
        ("recall_node", {"node_id": note}, "pier seven"),
        ("memory_recall", {"query": "which pier has the ferry"}, "pier seven"),
        ("now_read", {}, "paint the boat"),
        ("integrity_check", {}, "now_md"),
    ):
        answer = said(server.tool(tool, **arguments))
        assert expected in answer, tool
        assert NOTICE in answer, tool
    assert "pier seven" in str(server.ask("resources/read", uri=f"memory://note/{note}"))
    for tool, arguments in (
        ("remember", {"content": "The winch needs oil."}),
        ("mark_outdated", {"node_id": note}),
        ("now_update", {"current_task": "sail"}),
        ("memory_store", {"content": "The winch needs oil."}),
        ("submit_feedback", {"node_id": note, "signal": 1}),
    ):
        answer = server.tool(tool, **arguments)
        assert answer.get("isError"), tool
        text = answer["content"][0]["text"]
        assert text.startswith("StorageError: Nothing can be stored now: "), text
        assert "what is stored can be read" in text
    assert "winch" not in str(server.tool("recall", query="winch")["structuredContent"]["results"])


def check_writing(server: Stdio) -> None:
    answer = server.tool("remember", content="The anchor weighs two tons.")
    assert not answer.get("isError"), answer
    answer = said(server.tool("recall", query="anchor tons"))
    assert "two tons" in answer
    assert NOTICE not in answer


@pytest.fixture
def note(environment: dict[str, str]) -> str:
    """A folder with a note and a NOW page, written by a server that has ended."""
    with stdio(environment) as server:
        server.begin()
        found = server.tool("remember", content="The ferry leaves from pier seven.")
        server.tool("now_update", current_task="paint the boat")
        server.end()
    return str(found["structuredContent"]["id"])


def mount_inside(server: Stdio, *command: str) -> None:
    subprocess.run(["nsenter", f"--mount=/proc/{server.process.pid}/ns/mnt", *command], check=True)


@contextmanager
def on_a_read_only_disk(environment: dict[str, str], part: str) -> Iterator[tuple[Stdio, Path]]:
    """A server for which a part of the folder is read-only."""
    place = Path(environment["HOLDFAST_HOME"]) / part
    script = f'mount --bind "{place}" "{place}" && mount -o remount,bind,ro "{place}" && cd / && '
    script += f'exec "{sys.executable}" -m holdfast'
    with stdio(environment, command=(*MOUNTING, "sh", "-c", script)) as server:
        server.begin()
        yield server, place


@mounted
@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("nsenter") is None, reason="only root enters its mounts again")
@closed
def test_a_read_only_disk_is_read_and_written_again_when_that_is_possible(
    part: str, environment: dict[str, str], note: str, tally: Counter[str]
) -> None:
    with on_a_read_only_disk(environment, part) as (server, place):
        check_reading(server, note)
        mount_inside(server, "mount", "-o", "remount,bind,rw", str(place))
        check_writing(server)
        server.end()
    with stdio(environment) as server:
        server.begin()
        check_writing(server)
    tally["disks that were read-only for a while"] += 1


@contextmanager
def without_write_permission(home: Path, part: str) -> Iterator[None]:
    """A part of the folder, with the files in it, may not be written to meanwhile."""
    places = [home / part] if part != "." else [home, *(path for path in home.rglob("*") if path.is_dir())]
    modes = {path: path.stat().st_mode for path in (*places, *(file for place in places for file in place.glob("*")))}
    for path, mode in modes.items():
        path.chmod(mode & ~0o222)
    try:
        yield
    finally:
        for path, mode in modes.items():
            path.chmod(mode)


@closed
@pytest.mark.parametrize("index", ["there", "gone"])
def test_a_folder_that_may_not_be_written_is_read_whether_there_is_an_index_or_not(
    part: str, index: str, environment: dict[str, str], note: str
) -> None:
    home = Path(environment["HOLDFAST_HOME"])
    if index == "gone":
        for path in (home / ".holdfast").iterdir():
            path.unlink()
    with ExitStack() as closed_off:
        closed_off.enter_context(without_write_permission(home, part))
        with stdio(environment, command=(sys.executable, "-c", UNPRIVILEGED)) as server:
            server.begin()
            check_reading(server, note)
            closed_off.close()
            check_writing(server)
            server.end()


@closed
@pytest.mark.parametrize("first", ["a recall", "the audit log"])
def test_what_an_administrator_reads_is_answered_too_and_health_says_why_nothing_is_stored(
    part: str, first: str, environment: dict[str, str], note: str
) -> None:
    home = Path(environment["HOLDFAST_HOME"])
    with without_write_permission(home, part), stdio(environment, command=UNPRIVILEGED_ADMIN) as server:
        server.begin()
        if first == "a recall":
            assert note in said(server.tool("recall", query="pier seven"))
        assert note in said(server.tool("admin_list_audit_log"))
        assert note in said(server.tool("recall", query="pier seven"))
        for uri in ("admin://audit", "admin://vault", "admin://stats", "admin://jobs"):
            assert "contents" in server.ask("resources/read", uri=uri)
        health = json.loads(server.ask("resources/read", uri="admin://health")["contents"][0]["text"])
        assert not health["ok"]
        assert "cannot be written" in health["reading_only"]
        for tool in ("admin_backup", "admin_export"):
            assert server.tool(tool).get("isError"), tool
        server.end()


class ReadOnly(FileSystem):
    """A disk on which nothing can be made or written."""


def refuse(_disk: FileSystem, path: Path, *_: object, **__: object) -> None:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))


for step in ("create", "begin", "append", "make_folder"):
    setattr(ReadOnly, step, refuse)


@pytest.mark.anyio
async def test_a_request_about_the_folder_that_is_the_first_of_all_is_answered(
    anyio_backend: str, environment: dict[str, str], note: str
) -> None:
    """Before anything in the background has found out that the folder can only be read."""

    async def reason(ports: Ports) -> str:
        return ports.store.reading_only

    memory = memory_on(Path(environment["HOLDFAST_HOME"]), files=ReadOnly())
    try:
        assert "cannot be written" in await memory.attend_folder(reason)
        assert found(await ask(memory, "which pier has the ferry")) == ["The ferry leaves from pier seven."]
    finally:
        await memory.aclose()


@mounted
def test_a_full_disk_is_read_by_a_server_that_starts_on_it_and_sees_edits(
    environment: dict[str, str], note: str
) -> None:
    home = Path(environment["HOLDFAST_HOME"])
    kept = home.with_name("kept")
    home.rename(kept)
    home.mkdir()
    script = (
        f'mount -t tmpfs -o size=8m tmpfs "{home}" && cp -r "{kept}/." "{home}" && rm -rf "{home}/.holdfast" && '
        f'touch "{home}/ready" && while [ ! -e "{home}/go" ]; do sleep 0.05; done && '
        f'exec "{sys.executable}" -m holdfast'
    )
    with stdio(environment, command=(*MOUNTING, "sh", "-c", script)) as server:
        inside = Path(f"/proc/{server.process.pid}/root") / home.relative_to("/")
        until((inside / "ready").exists)
        (inside / "go").touch()
        fill(inside / "ballast", spare=0)
        server.begin()
        check_reading(server, note)
        (file,) = (inside / "memories").rglob(f"*{note}.md")
        with file.open("r+b") as handle:  # in its own block: there is no room for another
            text = handle.read().replace(b"ferry leaves", b"yacht leaves")
            handle.seek(0)
            handle.write(text)
        assert "yacht" in str(server.tool("recall", query="yacht pier"))
        (inside / "ballast").unlink()
        check_writing(server)
        server.end()


@mounted
def test_an_answer_by_meaning_is_given_on_a_read_only_disk_too(environment: dict[str, str], note: str) -> None:
    with on_a_read_only_disk(environment | {"HOLDFAST_ENCODER": "builtin"}, ".") as (server, _):
        query = "from where do the boats to the islands depart"
        until(lambda: note in said(server.tool("recall", query=query)))
        assert NOTICE in said(server.tool("recall", query=query))
        server.end()
