"""Imports point one way, without circles: tools, engine, importers, backup, {store, index, encode}, model."""

from __future__ import annotations

import ast
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(__file__).parents[2] / "server" / "holdfast"
MODULES = sorted(PACKAGE.rglob("*.py"))

# A layer may import itself and what is named here. The empty name is `import holdfast` itself (the version).
SHARED = {"", "settings", "errors", "batching"}
ALLOWED = {
    "tools": SHARED | {"engine", "model"},
    "engine": SHARED | {"backup", "importers", "store", "index", "encode", "model"},
    "importers": SHARED | {"backup", "store", "model"},
    "backup": SHARED | {"store", "model"},
    "store": SHARED | {"model"},
    "index": SHARED | {"model"},
    "encode": SHARED | {"model"},
    "model": {"errors"},
    "settings": {"", "errors", "model"},
    "batching": {"errors"},
    "viewing": set[str](),  # serves any MCP server
    "errors": set[str](),
    "": set[str](),
}
MOST_ROOMS = 16  # modules and folders at the top of engine/


def dotted(path: Path) -> str:
    parts = ("holdfast", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


KNOWN = {dotted(path): path for path in MODULES}


def layer(name: str) -> str:
    """The first component below `holdfast`; empty for the package itself."""
    return [*name.split("."), ""][1]


@cache
def imported(path: Path) -> tuple[tuple[int, str], ...]:
    """Line and dotted name of each import, also inside functions and under TYPE_CHECKING."""
    return tuple(_imported(ast.parse(path.read_text("utf-8"))))


def _imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                for alias in names:
                    inner = f"{module}.{alias.name}"
                    yield node.lineno, inner if inner in KNOWN else module
            case ast.Call(
                func=ast.Name(id="__import__" | "import_module") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(module)), *_],
            ):
                yield node.lineno, module


def root(name: str) -> str:
    return name.partition(".")[0]


def ours(name: str) -> bool:
    return root(name) == "holdfast"


def sees_everything(path: Path) -> bool:
    """What runs a server, apart from what is shared: app.py, __main__.py, cli/, http/, adapters/."""
    return (path.parent == PACKAGE and layer(dotted(path)) not in SHARED) or path.parent.name in {
        "cli",
        "http",
        "adapters",
    }


def test_each_folder_is_a_layer_that_is_known() -> None:
    assert len(MODULES) > 3
    assert {layer(dotted(path)) for path in MODULES if not sees_everything(path)} <= ALLOWED.keys()


def test_a_module_imports_only_the_layers_below_its_own() -> None:
    assert not [
        f"{dotted(path)} line {line}: {name}"
        for path in MODULES
        if not sees_everything(path)
        for line, name in imported(path)
        if ours(name) and layer(name) != layer(dotted(path)) and layer(name) not in ALLOWED[layer(dotted(path))]
    ]


def test_only_the_arguments_lead_to_the_command_line() -> None:
    assert not [
        f"{dotted(path)}: {name}"
        for path in MODULES
        if layer(dotted(path)) not in {"cli", "__main__"}
        for _, name in imported(path)
        if layer(name) == "cli"
    ]


def test_the_model_imports_nothing_from_third_parties() -> None:
    assert not [
        f"{dotted(path)} line {line}: {name}"
        for path in MODULES
        if layer(dotted(path)) == "model"
        for line, name in imported(path)
        if not ours(name) and root(name) not in sys.stdlib_module_names
    ]


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Imports inside functions and for types alone count too; the package's own name (its version) does not."""
    graph = {
        name: {other for _, other in imported(path) if other in KNOWN and other not in {name, "holdfast"}}
        for name, path in KNOWN.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


def test_the_engine_has_few_rooms_at_its_top() -> None:
    top = {
        path.name for path in (PACKAGE / "engine").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert len(top - {"__init__.py"}) <= MOST_ROOMS
