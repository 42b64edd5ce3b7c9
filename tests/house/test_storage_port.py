"""The storage is a port: files, folders and locks are known to the store and to the folder's own synchroniser."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "server" / "holdfast"
CONTRACT = Path(__file__).parents[1] / "contract"
SYNC = ("engine/sync/",)  # the folder's synchroniser
NEUTRAL = [
    path
    for layer in ("engine", "index", "tools")
    for path in sorted((PACKAGE / layer).rglob("*.py"))
    if not path.relative_to(PACKAGE).as_posix().startswith(SYNC)
]
# What the engine takes from the store: the format of notes and pages, values of the port, backups, moving in and out.
# A list that may only become shorter.
TAKEN = {"codec", "stored", "history"}
TRANSCRIPTS = "transcripts."  # of clients on this machine: files, wherever the notes are
OF_FILES = {"signature", "inode", "changed_ns", "st_mtime_ns", "st_mtime", "st_ino", "aside"}
FILE_MODULES = {"pathlib", "os", "shutil", "stat", "fcntl", "tempfile", "glob"}
# Files that are not the memory's: the index of the process itself, clients' transcripts, a hook's folder.
OWN_FILES = {
    "index/database.py", "index/note_index.py", "index/recalls.py",
    "cli/ingest.py", "engine/ports.py", "engine/presence/taking.py", "tools/presence.py",
}  # fmt: skip


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


@pytest.mark.parametrize("path", NEUTRAL, ids=name_of)
def test_only_the_synchroniser_and_the_store_know_how_a_folder_is_made(path: Path) -> None:
    beginning = "holdfast.store."
    taken = {name.removeprefix(beginning) for name in imported(path) if name.startswith(beginning)}
    assert not sorted(name for name in taken - TAKEN if not name.startswith(TRANSCRIPTS))
    assert "holdfast.engine.sync.batch" not in imported(path)


@pytest.mark.parametrize("path", NEUTRAL, ids=name_of)
def test_engine_index_and_tools_touch_no_file_of_the_memory(path: Path) -> None:
    if name_of(path) not in OWN_FILES:
        assert not sorted(imported(path) & FILE_MODULES)


@pytest.mark.parametrize("path", NEUTRAL, ids=name_of)
def test_a_version_is_an_opaque_mark_outside_of_the_store(path: Path) -> None:
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    if name_of(path) in OWN_FILES:
        return
    assert not sorted({node.attr for node in nodes if isinstance(node, ast.Attribute)} & OF_FILES)


def test_nothing_is_listed_that_the_engine_does_without() -> None:
    used = {name.removeprefix("holdfast.store.") for path in NEUTRAL for name in imported(path)}
    assert used >= TAKEN


def test_every_module_of_the_contract_runs_on_every_storage_or_says_why_not() -> None:
    told = runpy.run_path(str(CONTRACT / "conftest.py"))
    modules, on_the_folder = {path.stem for path in CONTRACT.glob("test_*.py")}, told["ON_THE_FOLDER"]
    assert not (told["IN_MEMORY"] | told["OF_PROCESSES"] | on_the_folder.keys()) - modules
    assert not told["IN_MEMORY"] & on_the_folder.keys()
    assert all(on_the_folder.values())
