"""The storage is a port: files, folders and locks are known to the store and to the folder's own synchroniser."""

from __future__ import annotations

import ast
import runpy
from itertools import product
from pathlib import Path

import pytest

from served import ERAS
from storages import FOLDER, ROWS

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
KEPT = {"memories", "journal", "history", "trash", "daily", "capsules", "now"}  # folders of a memory
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
    assert not (told["IN_MEMORY"] | on_the_folder.keys()) - modules
    assert not told["IN_MEMORY"] & on_the_folder.keys()
    assert all(on_the_folder.values())


@pytest.mark.parametrize("eras", [ERAS, ERAS[:1], ERAS[1:]])
@pytest.mark.parametrize("storages", [(FOLDER, ROWS), (FOLDER,)])
def test_the_short_form_runs_each_case_and_the_first_in_both_eras_and_on_both_storages(
    eras: tuple[str, ...], storages: tuple[str, ...]
) -> None:
    is_kept = runpy.run_path(str(CONTRACT / "conftest.py"))["is_kept"]
    ways = {*product(eras, storages)}
    first, *further = ([way for way in ways if is_kept(number, way, ways)] for number in range(4))
    assert ({era for era, _ in first}, {storage for _, storage in first}) == ({*eras}, {*storages})
    assert [len(kept) for kept in further] == [1, 1, 1]
    assert {storage for ((_, storage),) in further} == {*storages}


def is_path_past_the_storage(node: ast.AST) -> bool:
    """Whether it names a folder of a memory otherwise than by `served.kept_in`, or `files` of an agent."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        place, name = node.left, node.right
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("glob", "rglob"):
        place, name = node.func.value, node.args[0]
    else:
        return False
    first = name.values[0] if isinstance(name, ast.JoinedStr) else name
    if not isinstance(first, ast.Constant) or str(first.value).partition("/")[0] not in KEPT:
        return False
    return not any(word in ast.unparse(place) for word in ("kept_in(", ".files"))


def test_what_runs_on_rows_looks_into_what_is_kept_and_not_into_an_empty_folder() -> None:
    on_the_folder = runpy.run_path(str(CONTRACT / "conftest.py"))["ON_THE_FOLDER"]
    modules = [path for path in sorted(CONTRACT.glob("test_*.py")) if path.stem not in on_the_folder]
    for path in modules:
        for test in ast.parse(path.read_text("utf-8")).body:
            marks = [ast.unparse(mark) for mark in getattr(test, "decorator_list", ())]
            if not any("mark.files(" in mark for mark in marks):
                found = [ast.unparse(node) for node in ast.walk(test) if is_path_past_the_storage(node)]
                assert not found, f"{path.name}, {getattr(test, 'name', '')}: use kept_in, or mark it `files`"
