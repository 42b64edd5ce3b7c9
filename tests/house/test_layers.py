"""Imports point in one direction: tools -> engine -> {store, index, encode} -> model."""

from __future__ import annotations

import ast
import sys
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
    "engine": SHARED | {"store", "index", "encode", "model"},
    "store": SHARED | {"model"},
    "index": SHARED | {"model"},
    "encode": SHARED | {"model"},
    "model": {"errors"},
    "settings": {"", "errors", "model", "config_file", "remarks"},
    "batching": {"errors"},
    "errors": set[str](),
    "": set[str](),
}


def dotted(path: Path) -> str:
    parts = ("holdfast", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


KNOWN = {dotted(path) for path in MODULES}


def layer(name: str) -> str:
    """The first component below `holdfast`; empty for the package itself."""
    return [*name.split("."), ""][1]


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and dotted name of each import, also inside functions and under TYPE_CHECKING."""
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
    """app.py, __main__.py and the command-line modules: the top level, apart from what is shared, and cli/."""
    return (path.parent == PACKAGE and layer(dotted(path)) not in SHARED) or path.parent == PACKAGE / "cli"


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_only_the_arguments_lead_to_the_command_line(path: Path) -> None:
    if layer(dotted(path)) in {"cli", "__main__"}:
        return
    assert not [name for _, name in imported(ast.parse(path.read_text("utf-8"))) if layer(name) == "cli"]


def test_there_is_a_package_to_judge() -> None:
    assert len(MODULES) > 3


@pytest.mark.parametrize("path", [path for path in MODULES if not sees_everything(path)], ids=dotted)
def test_a_module_imports_only_the_layers_below_its_own(path: Path) -> None:
    own = layer(dotted(path))
    assert own in ALLOWED, f"{own} is not a layer of the design"
    wrong = [
        f"line {line}: {name}"
        for line, name in imported(ast.parse(path.read_text("utf-8")))
        if ours(name) and layer(name) != own and layer(name) not in ALLOWED[own]
    ]
    assert not wrong


@pytest.mark.parametrize("path", sorted((PACKAGE / "model").rglob("*.py")), ids=dotted)
def test_the_model_imports_nothing_from_third_parties(path: Path) -> None:
    foreign = [
        f"line {line}: {name}"
        for line, name in imported(ast.parse(path.read_text("utf-8")))
        if not ours(name) and root(name) not in sys.stdlib_module_names
    ]
    assert not foreign
