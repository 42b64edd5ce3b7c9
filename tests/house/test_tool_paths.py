"""A tool's path is short: its signature stands in one module of `tools/`, from which one step leads to the engine."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "server" / "holdfast"
MODULES = sorted((PACKAGE / "tools").rglob("*.py"))
Function = ast.FunctionDef | ast.AsyncFunctionDef
ASKS_NOTHING = {"memory_view"}  # it only opens the page, whose own tools ask


def tools_in(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    """Each function that `@tool(server, "its name", ...)` makes a tool of, with that name."""
    for node in ast.walk(tree):
        if not isinstance(node, Function):
            continue
        for decorator in node.decorator_list:
            match decorator:
                case ast.Call(func=ast.Name(id="tool"), args=[_, ast.Constant(value=str(name)), *_]):
                    yield name, node
                case _:
                    pass


def of_the_engine(tree: ast.Module) -> set[str]:
    """Names that a module has from the engine."""
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("holdfast.engine.")
        for alias in node.names
        if alias.name[0].islower()
    }


def reached(function: Function, tree: ast.Module) -> set[str]:
    """Names that a tool uses, itself or by functions that stand in its own module."""
    own = {node.name: node for node in tree.body if isinstance(node, Function)}
    found: set[str] = set()
    waiting: list[ast.AST] = [function]
    while waiting:
        names = {node.id for node in ast.walk(waiting.pop()) if isinstance(node, ast.Name)} - found
        found |= names
        waiting += [own[name] for name in names & own.keys()]
    return found


TREES = {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text("utf-8")) for path in MODULES}


def test_a_tool_stands_in_one_module() -> None:
    names = [name for tree in TREES.values() for name, _ in tools_in(tree)]
    assert len(names) > 20
    assert len(names) == len(set(names))


def test_a_tool_leads_to_the_engine_in_one_step() -> None:
    assert not [
        f"{module}: {name}"
        for module, tree in TREES.items()
        for name, function in tools_in(tree)
        if name not in ASKS_NOTHING and not reached(function, tree) & of_the_engine(tree)
    ]
